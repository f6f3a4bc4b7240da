// The identity of a file is checked before anything is written to it: application_id
// identifies profile databases, user_version the schema. In WAL mode readers and one
// writer work at the same time; with synchronous NORMAL a killed process does no damage.
// SPDX-License-Identifier: Apache-2.0
#include "sim/profile_db.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"

enum { APPLICATION_ID = 0x45475052 }; // "EGPR"
enum { FIRST_SCHEMA = 1 };            // its entries have no evidence

struct eg_profile_db {
  egraph_allocator alloc;
  sqlite3 *handle;
  char *path;
  bool read_only;
  double busy_seconds;
  bool has_evidence; // schema 2
};

// Turns a code of SQLite into a status with a message. No other function does so.
static egraph_status sqlite_fail(const eg_profile_db *db, int code) {
  const char *text =
      db->handle != NULL ? sqlite3_errmsg(db->handle) : sqlite3_errstr(code);
  switch (code & 0xff) {
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return EG_FAIL(EGRAPH_E_BUSY,
                   "%s: another process holds the profile database (%s); wait for it or "
                   "name another file",
                   db->path, text);
  case SQLITE_NOTADB:
    return EG_FAIL(
        EGRAPH_E_PARSE,
        "%s: not a profile database (%s); name another file or delete this one", db->path,
        text);
  case SQLITE_ERROR: // of our statements: tables or columns differ from those we create
  case SQLITE_SCHEMA:
  case SQLITE_TOOBIG:
  case SQLITE_MISMATCH:
  case SQLITE_CORRUPT:
    return EG_FAIL(
        EGRAPH_E_PARSE,
        "%s: the profile database is damaged (%s); delete it and measure again", db->path,
        text);
  case SQLITE_NOMEM:
    return EG_FAIL(EGRAPH_E_MEMORY, "%s: out of memory in SQLite", db->path);
  case SQLITE_CANTOPEN:
  case SQLITE_READONLY:
  case SQLITE_IOERR:
  case SQLITE_FULL:
  case SQLITE_PERM:
    return EG_FAIL(
        EGRAPH_E_IO,
        "%s: %s; check that the folder exists, is writable and has room, or name "
        "another file",
        db->path, text);
  default:
    return EG_FAIL(EGRAPH_E_INTERNAL, "%s: SQLite: %s (%s)", db->path, text,
                   sqlite3_errstr(code));
  }
}

static egraph_status execute(const eg_profile_db *db, const char *sql) {
  int code = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
  return code == SQLITE_OK ? EGRAPH_OK : sqlite_fail(db, code);
}

static egraph_status prepare_statement(const eg_profile_db *db, const char *sql,
                                       sqlite3_stmt **out) {
  int code = sqlite3_prepare_v2(db->handle, sql, -1, out, NULL);
  return code == SQLITE_OK ? EGRAPH_OK : sqlite_fail(db, code);
}

static egraph_status query_int(const eg_profile_db *db, const char *sql, int64_t *out) {
  sqlite3_stmt *statement;
  EG_TRY(prepare_statement(db, sql, &statement));
  int code = sqlite3_step(statement);
  egraph_status status = EGRAPH_OK;
  if (code == SQLITE_ROW)
    *out = sqlite3_column_int64(statement, 0);
  else
    status = sqlite_fail(db, code);
  (void)sqlite3_finalize(statement);
  return status;
}

// ---- opening --------------------------------------------------------------------

static egraph_status open_handle(eg_profile_db *db, const char *name, int flags) {
  int code = sqlite3_open_v2(name, &db->handle, flags, NULL);
  if (code != SQLITE_OK) return sqlite_fail(db, code);
  (void)sqlite3_extended_result_codes(db->handle, 1);
  code = sqlite3_busy_timeout(db->handle, (int)(1000 * db->busy_seconds));
  return code == SQLITE_OK ? EGRAPH_OK : sqlite_fail(db, code);
}

// Ends a database transaction: commits when all calls succeeded, otherwise rolls back and
// keeps the error message.
static egraph_status end_transaction(const eg_profile_db *db, egraph_status status) {
  if (status == EGRAPH_OK) status = execute(db, "COMMIT");
  if (status != EGRAPH_OK) (void)sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
  return status;
}

// Decides if a database file is fresh or a profile database; refuses other files. Runs in
// a transaction, so that the answers belong to one moment: another process may be
// creating the tables.
static egraph_status identify_within(eg_profile_db *db, bool *out_fresh) {
  int64_t application = 0, version = 0, tables = 0;
  EG_TRY(query_int(db, "PRAGMA application_id", &application));
  EG_TRY(query_int(db, "PRAGMA user_version", &version));
  EG_TRY(query_int(db, "SELECT count(*) FROM sqlite_master", &tables));
  bool fresh = application == 0 && version == 0 && tables == 0;
  if (!fresh && application != APPLICATION_ID)
    return EG_FAIL(EGRAPH_E_PARSE,
                   "%s: a database of another program; name another file for the profile "
                   "database",
                   db->path);
  db->has_evidence = version != FIRST_SCHEMA;
  if (!fresh && version != EG_PROFILE_DB_SCHEMA && version != FIRST_SCHEMA)
    return EG_FAIL(
        EGRAPH_E_PARSE,
        "%s: schema version %lld, this build reads version %d; name another file "
        "or delete this one and measure again",
        db->path, (long long)version, EG_PROFILE_DB_SCHEMA);
  *out_fresh = fresh;
  return EGRAPH_OK;
}

static egraph_status identify(eg_profile_db *db, bool *out_fresh) {
  EG_TRY(execute(db, "BEGIN"));
  return end_transaction(db, identify_within(db, out_fresh));
}

// Switches the database to WAL. This needs exclusive access for a moment, and SQLite does
// not always wait for that by itself.
static egraph_status enable_wal(const eg_profile_db *db) {
  double start = eg_clock_seconds();
  int code;
  do {
    code =
        sqlite3_exec(db->handle, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL",
                     NULL, NULL, NULL);
    if ((code & 0xff) != SQLITE_BUSY) break;
    (void)sqlite3_sleep(5);
  } while (eg_clock_seconds() - start < db->busy_seconds);
  return code == SQLITE_OK ? EGRAPH_OK : sqlite_fail(db, code);
}

static egraph_status extend_tables(const eg_profile_db *db) {
  return execute(db, "ALTER TABLE entry ADD COLUMN samples INTEGER;"
                     "ALTER TABLE entry ADD COLUMN spread REAL;"
                     "ALTER TABLE entry ADD COLUMN load REAL;"
                     "ALTER TABLE entry ADD COLUMN date INTEGER;"
                     "PRAGMA user_version = 2");
}

static egraph_status create_tables(const eg_profile_db *db) {
  char sql[900];
  (void)snprintf(
      sql, sizeof sql,
      "CREATE TABLE entry ("
      "  machine TEXT NOT NULL, hash INTEGER NOT NULL, spec TEXT NOT NULL,"
      "  op TEXT NOT NULL, formatted INTEGER NOT NULL,"
      "  flops REAL NOT NULL, bytes REAL NOT NULL,"
      "  seconds REAL,"                                          // NULL: unsupported
      "  samples INTEGER, spread REAL, load REAL, date INTEGER," // NULL: unknown
      "  PRIMARY KEY (machine, hash, spec)) WITHOUT ROWID;"
      "PRAGMA application_id = %d; PRAGMA user_version = %d;",
      APPLICATION_ID, EG_PROFILE_DB_SCHEMA);
  return execute(db, sql);
}

// Creates or extends the tables of the database. Two processes may find the same fresh
// file; the second one checks again under the lock.
static egraph_status prepare_schema(eg_profile_db *db) {
  bool fresh;
  EG_TRY(execute(db, "BEGIN IMMEDIATE"));
  egraph_status status = identify_within(db, &fresh);
  if (status == EGRAPH_OK && fresh) status = create_tables(db);
  if (status == EGRAPH_OK && !fresh && !db->has_evidence) status = extend_tables(db);
  status = end_transaction(db, status);
  if (status == EGRAPH_OK) db->has_evidence = true;
  return status;
}

static egraph_status open_writable(eg_profile_db *db) {
  EG_TRY(open_handle(db, db->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  // Without write permission SQLite silently opens the file for reading.
  if (sqlite3_db_readonly(db->handle, "main") == 1)
    return EG_FAIL(EGRAPH_E_IO,
                   "%s: the profile database is not writable; open it read-only or name "
                   "another file",
                   db->path);
  bool fresh;
  EG_TRY(identify(db, &fresh));
  EG_TRY(enable_wal(db));
  return fresh || !db->has_evidence ? prepare_schema(db) : EGRAPH_OK;
}

// Opens a WAL database in a folder without write permission; SQLite can read the file
// only as one that never changes.
static egraph_status open_immutable(eg_profile_db *db) {
  EG_LOCAL(eg_text, uri, db->alloc);
  eg_text_append(&uri, "file:");
  for (const char *c = db->path; *c != '\0'; c++)
    if (strchr("%?#", *c) != NULL)
      eg_text_printf(&uri, "%%%02X", (unsigned)*c);
    else
      eg_text_append_bytes(&uri, c, 1);
  EG_TRY(eg_text_append(&uri, "?immutable=1"));
  return open_handle(db, eg_text_of(&uri), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

static egraph_status open_readable(eg_profile_db *db) {
  bool fresh = true;
  if (access(db->path, F_OK) != 0 && errno == ENOENT)
    return EG_FAIL(EGRAPH_E_IO,
                   "%s: there is no such file, and one that is only read is not created; "
                   "measure into it first, or name another file",
                   db->path);
  egraph_status status = open_handle(db, db->path, SQLITE_OPEN_READONLY);
  if (status == EGRAPH_OK) status = identify(db, &fresh);
  if (status == EGRAPH_E_IO && db->handle != NULL) {
    (void)sqlite3_close(db->handle);
    db->handle = NULL;
    EG_TRY(open_immutable(db));
    status = identify(db, &fresh);
  }
  EG_TRY(status);
  if (fresh)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: an empty file; measure into it first", db->path);
  return EGRAPH_OK;
}

egraph_status eg_profile_db_create(const egraph_allocator *alloc,
                                   const eg_profile_db_options *options,
                                   eg_profile_db **out) {
  egraph_allocator memory = eg_allocator_or_heap(alloc);
  eg_profile_db *db;
  EG_TRY(eg_alloc(memory, 1, sizeof *db, &db));
  db->alloc = memory;
  db->read_only = options->read_only;
  db->busy_seconds = options->busy_seconds;
  const char *path = options->path != NULL ? options->path : ":memory:";
  egraph_status status = eg_string_copy(memory, path, &db->path);
  // An in-memory database that is read-only would be empty.
  bool readable = db->read_only && strcmp(path, ":memory:") != 0;
  if (status == EGRAPH_OK) status = readable ? open_readable(db) : open_writable(db);
  if (status == EGRAPH_OK)
    *out = db;
  else
    eg_profile_db_destroy(db);
  return status;
}

void eg_profile_db_destroy(eg_profile_db *db) {
  if (db == NULL) return;
  (void)sqlite3_close(db->handle);
  eg_string_free(db->alloc, db->path);
  eg_free(db->alloc, db, 1, sizeof *db);
}

// ---- entries --------------------------------------------------------------------

static bool is_figure(sqlite3_stmt *row, int column, double *out) {
  int type = sqlite3_column_type(row, column);
  *out = sqlite3_column_double(row, column);
  return (type == SQLITE_FLOAT || type == SQLITE_INTEGER) && isfinite(*out) && *out >= 0;
}

/// Returns a text without zero bytes, owned by the row; NULL for any other column.
static const char *text_column(sqlite3_stmt *row, int column) {
  if (sqlite3_column_type(row, column) != SQLITE_TEXT) return NULL;
  const char *text = (const char *)sqlite3_column_text(row, column);
  bool is_whole =
      text != NULL && strlen(text) == (size_t)sqlite3_column_bytes(row, column);
  return is_whole ? text : NULL;
}

// Other programs may have written the database file, so every column is checked.

/// Reads the evidence of a measurement (samples, ...); 0 where columns are NULL: unknown.
static bool read_evidence(sqlite3_stmt *row, int first, eg_evidence *out) {
  double samples, date;
  *out = (eg_evidence){.samples = 0};
  if (sqlite3_column_type(row, first) == SQLITE_NULL) return true;
  if (!is_figure(row, first, &samples) || !is_figure(row, first + 1, &out->spread) ||
      !is_figure(row, first + 2, &out->load) || !is_figure(row, first + 3, &date) ||
      samples > UINT32_MAX || date > 0x1p53)
    return false;
  out->samples = (uint32_t)samples;
  out->date = (int64_t)date;
  return true;
}

static egraph_status read_entry_row(const eg_profile_db *db, sqlite3_stmt *row,
                                    eg_profile_entry *out) {
  double formatted;
  out->spec = text_column(row, 0);
  out->op = text_column(row, 1);
  bool sound = is_figure(row, 2, &formatted) && out->spec != NULL && out->op != NULL;
  out->formatted = formatted != 0;
  sound = is_figure(row, 3, &out->flops) && sound;
  sound = is_figure(row, 4, &out->bytes) && sound;
  if (sqlite3_column_type(row, 5) == SQLITE_NULL)
    out->seconds = (double)INFINITY;
  else
    sound = is_figure(row, 5, &out->seconds) && sound;
  sound = read_evidence(row, 6, &out->evidence) && sound;
  if (!sound)
    return EG_FAIL(EGRAPH_E_PARSE,
                   "%s: damaged entry '%s'; delete the file and measure again", db->path,
                   out->spec != NULL ? out->spec : "");
  return EGRAPH_OK;
}

#define SELECT_ENTRY(EVIDENCE)                                                           \
  "SELECT spec, op, formatted, flops, bytes, seconds, " EVIDENCE " FROM entry"

egraph_status eg_profile_db_load(eg_profile_db *db, const char *machine,
                                 egraph_status (*each)(void *user,
                                                       const eg_profile_entry *entry),
                                 void *user) {
  sqlite3_stmt *rows;
  EG_TRY(prepare_statement(
      db,
      db->has_evidence
          ? SELECT_ENTRY(
                "samples, spread, load, date") " WHERE machine = ?1 ORDER BY hash, spec"
          : SELECT_ENTRY(
                "NULL, NULL, NULL, NULL") " WHERE machine = ?1 ORDER BY hash, spec",
      &rows));
  int code = sqlite3_bind_text(rows, 1, machine, -1, SQLITE_STATIC);
  egraph_status status = code == SQLITE_OK ? EGRAPH_OK : sqlite_fail(db, code);
  while (status == EGRAPH_OK && (code = sqlite3_step(rows)) == SQLITE_ROW) {
    eg_profile_entry entry;
    status = read_entry_row(db, rows, &entry);
    if (status == EGRAPH_OK) status = each(user, &entry);
  }
  if (status == EGRAPH_OK && code != SQLITE_DONE) status = sqlite_fail(db, code);
  (void)sqlite3_finalize(rows);
  return status;
}

static int64_t hash_of_spec(const char *spec) {
  uint64_t hash = eg_hash_bytes(0, spec, strlen(spec));
  int64_t column;
  memcpy(&column, &hash, sizeof column);
  return column;
}

static int bind_key(sqlite3_stmt *statement, const char *machine, const char *spec) {
  int code = sqlite3_bind_text(statement, 1, machine, -1, SQLITE_STATIC);
  if (code == SQLITE_OK) code = sqlite3_bind_int64(statement, 2, hash_of_spec(spec));
  if (code == SQLITE_OK) code = sqlite3_bind_text(statement, 3, spec, -1, SQLITE_STATIC);
  return code;
}

static int bind_evidence(sqlite3_stmt *insert, int first, const eg_evidence *evidence) {
  if (evidence->samples == 0) { // overwrites values bound for the previous entry
    for (int i = 0; i < 4; i++) {
      int code = sqlite3_bind_null(insert, first + i);
      if (code != SQLITE_OK) return code;
    }
    return SQLITE_OK;
  }
  int code = sqlite3_bind_int64(insert, first, evidence->samples);
  if (code == SQLITE_OK) code = sqlite3_bind_double(insert, first + 1, evidence->spread);
  if (code == SQLITE_OK) code = sqlite3_bind_double(insert, first + 2, evidence->load);
  if (code == SQLITE_OK) code = sqlite3_bind_int64(insert, first + 3, evidence->date);
  return code;
}

static int insert_entry(sqlite3_stmt *insert, const char *machine,
                        const eg_profile_entry *entry) {
  int code = bind_key(insert, machine, entry->spec);
  if (code == SQLITE_OK)
    code = sqlite3_bind_text(insert, 4, entry->op, -1, SQLITE_STATIC);
  if (code == SQLITE_OK) code = sqlite3_bind_int(insert, 5, entry->formatted);
  if (code == SQLITE_OK) code = sqlite3_bind_double(insert, 6, entry->flops);
  if (code == SQLITE_OK) code = sqlite3_bind_double(insert, 7, entry->bytes);
  if (code == SQLITE_OK)
    code = isinf(entry->seconds) ? sqlite3_bind_null(insert, 8)
                                 : sqlite3_bind_double(insert, 8, entry->seconds);
  if (code == SQLITE_OK) code = bind_evidence(insert, 9, &entry->evidence);
  if (code == SQLITE_OK) code = sqlite3_step(insert);
  int reset = sqlite3_reset(insert);
  return code == SQLITE_DONE ? reset : code;
}

static egraph_status read_stored(const eg_profile_db *db, sqlite3_stmt *select,
                                 const char *machine, eg_profile_entry *entry) {
  int code = bind_key(select, machine, entry->spec);
  if (code == SQLITE_OK) code = sqlite3_step(select);
  egraph_status status = EGRAPH_OK;
  eg_profile_entry stored;
  if (code == SQLITE_ROW)
    status = read_entry_row(db, select, &stored);
  else
    status = sqlite_fail(db, code);
  if (status == EGRAPH_OK) {
    entry->seconds = stored.seconds;
    entry->evidence = stored.evidence;
  }
  (void)sqlite3_reset(select);
  return status;
}

static egraph_status store_all(const eg_profile_db *db, sqlite3_stmt *insert,
                               sqlite3_stmt *select, const char *machine,
                               eg_profile_entry *entries, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    int code = insert_entry(insert, machine, &entries[i]);
    if (code != SQLITE_OK) return sqlite_fail(db, code);
    if (sqlite3_changes(db->handle) == 0)
      EG_TRY(read_stored(db, select, machine, &entries[i]));
  }
  return EGRAPH_OK;
}

#define INSERT_ENTRY(OR)                                                                 \
  "INSERT OR " OR " INTO entry (machine, hash, spec, op, formatted, flops, bytes,"       \
  " seconds, samples, spread, load, date)"                                               \
  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"

egraph_status eg_profile_db_store(eg_profile_db *db, const char *machine,
                                  eg_profile_entry *entries, uint32_t count,
                                  bool replaces) {
  sqlite3_stmt *insert = NULL, *select = NULL;
  egraph_status status = prepare_statement(
      db, replaces ? INSERT_ENTRY("REPLACE") : INSERT_ENTRY("IGNORE"), &insert);
  if (status == EGRAPH_OK)
    status = prepare_statement(
        db,
        SELECT_ENTRY("samples, spread, load, date") " WHERE machine = ?1 AND "
                                                    "hash = ?2 AND spec = ?3",
        &select);
  if (status == EGRAPH_OK) status = execute(db, "BEGIN IMMEDIATE");
  if (status == EGRAPH_OK)
    status = end_transaction(db, store_all(db, insert, select, machine, entries, count));
  (void)sqlite3_finalize(insert);
  (void)sqlite3_finalize(select);
  return status;
}
