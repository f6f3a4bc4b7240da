// Unit tests of sim/profile_db: what is stored is found again, by any number of
// processes, after any interruption; what is not ours is refused and left alone.
// SPDX-License-Identifier: Apache-2.0
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/file.h"
#include "sim/profile_db.h"
#include "tests/testing.h"

static char folder[200], path[300];

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/egraph-profile-XXXXXX");
  if (mkdtemp(folder) == NULL) return -1;
  (void)snprintf(path, sizeof path, "%s/costs.db", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
  char name[400];
  for (size_t i = 0; i < 4; i++) {
    (void)snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
    (void)unlink(name);
  }
  return rmdir(folder);
}

static eg_profile_db_options options_of(bool read_only, double busy_seconds) {
  return (eg_profile_db_options){
      .path = path, .read_only = read_only, .busy_seconds = busy_seconds};
}

static eg_profile_db *open_db(void) {
  eg_profile_db *db;
  eg_profile_db_options options = options_of(false, 20);
  assert_ok(eg_profile_db_create(NULL, &options, &db));
  return db;
}

static void assert_refused(bool read_only, egraph_status code, const char *part) {
  eg_profile_db *db = NULL;
  eg_profile_db_options options = options_of(read_only, 0.1);
  assert_fails(eg_profile_db_create(NULL, &options, &db), code, part);
  assert_non_null(strstr(egraph_last_error(), path));
  assert_null(db);
}

static void run_sql(const char *sql) {
  sqlite3 *handle;
  assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
  char *error = NULL;
  if (sqlite3_exec(handle, sql, NULL, NULL, &error) != SQLITE_OK) fail_msg("%s", error);
  assert_int_equal(sqlite3_close(handle), SQLITE_OK);
}

typedef struct seen {
  uint32_t count, unsupported;
  double seconds; // sum of the finite ones
  char last[100];
} seen;

static egraph_status note_entry(void *user, const eg_profile_entry *entry) {
  seen *s = user;
  s->count++;
  if (isinf(entry->seconds))
    s->unsupported++;
  else
    s->seconds += entry->seconds;
  (void)snprintf(s->last, sizeof s->last, "%s|%s|%d|%g|%g|%g", entry->spec, entry->op,
                 entry->formatted, entry->flops, entry->bytes, entry->seconds);
  return EGRAPH_OK;
}

static seen load(eg_profile_db *db, const char *machine) {
  seen s = {0};
  assert_ok(eg_profile_db_load(db, machine, note_entry, &s));
  return s;
}

static eg_profile_entry entry_of(const char *spec, double seconds) {
  return (eg_profile_entry){.spec = spec,
                            .op = "conv",
                            .formatted = true,
                            .flops = 100,
                            .bytes = 20,
                            .seconds = seconds};
}

static void entries_persist_per_machine(void **state) {
  (void)state;
  eg_profile_db *db = open_db();
  eg_profile_entry entries[] = {entry_of("conv a", 0.5), entry_of("conv b", 0.25),
                                entry_of("conv c", (double)INFINITY)};
  assert_ok(eg_profile_db_store(db, "cpu one", entries, 3, false));
  assert_ok(eg_profile_db_store(db, "cpu two", entries, 1, false));
  eg_profile_db_destroy(db);

  db = open_db();
  seen one = load(db, "cpu one"), two = load(db, "cpu two");
  assert_int_equal(one.count, 3);
  assert_int_equal(one.unsupported, 1);
  assert_true(one.seconds == 0.75);
  assert_string_equal(two.last, "conv a|conv|1|100|20|0.5");
  assert_int_equal(load(db, "cpu").count, 0);
  eg_profile_db_destroy(db);
}

static void the_first_measurement_of_a_key_stays(void **state) {
  (void)state;
  eg_profile_db *db = open_db();
  eg_profile_entry entry = entry_of("conv a", 0.5);
  assert_ok(eg_profile_db_store(db, "m", &entry, 1, false));
  eg_profile_entry later[] = {entry_of("conv b", 1), entry_of("conv a", 0.75)};
  assert_ok(eg_profile_db_store(db, "m", later, 2, false));
  assert_true(later[0].seconds == 1 && later[1].seconds == 0.5);
  assert_true(load(db, "m").seconds == 1.5);
  eg_profile_db_destroy(db);
}

static void a_database_in_memory_leaves_nothing(void **state) {
  (void)state;
  const char *const names[] = {":memory:", NULL};
  for (size_t i = 0; i < 2; i++) {
    eg_profile_db *db;
    eg_profile_db_options options = {.path = names[i], .read_only = i == 1};
    assert_ok(eg_profile_db_create(NULL, &options, &db));
    eg_profile_entry entry = entry_of("conv a", 0.5);
    assert_ok(eg_profile_db_store(db, "m", &entry, 1, false));
    assert_int_equal(load(db, "m").count, 1);
    eg_profile_db_destroy(db);
  }
  assert_int_not_equal(access(":memory:", F_OK), 0);
}

static egraph_status refuse(void *user, const eg_profile_entry *entry) {
  uint32_t *calls = user;
  ++*calls;
  return EG_FAIL(EGRAPH_E_CANCELLED, "enough of %s", entry->op);
}

static void a_failing_reader_stops_the_load(void **state) {
  (void)state;
  eg_profile_db *db = open_db();
  eg_profile_entry entries[] = {entry_of("conv a", 1), entry_of("conv b", 1)};
  assert_ok(eg_profile_db_store(db, "m", entries, 2, false));
  uint32_t calls = 0;
  assert_fails(eg_profile_db_load(db, "m", refuse, &calls), EGRAPH_E_CANCELLED,
               "enough of conv");
  assert_int_equal(calls, 1);
  assert_ok(
      eg_profile_db_store(db, "m", entries, 2, false)); // the statement is not left open
  eg_profile_db_destroy(db);
}

static void what_is_not_a_database_is_refused_and_kept(void **state) {
  (void)state;
  static char text[4096];
  memset(text, 'x', sizeof text);
  assert_ok(eg_file_write(path, text, sizeof text));
  assert_refused(false, EGRAPH_E_PARSE, "not a profile database");
  assert_refused(true, EGRAPH_E_PARSE, "not a profile database");
  char *data;
  size_t size;
  assert_ok(eg_file_read(eg_allocator_heap(), path, 1 << 20, &data, &size));
  assert_int_equal(size, sizeof text);
  assert_memory_equal(data, text, size);
  eg_free(eg_allocator_heap(), data, size + 1, 1);
}

static void databases_of_other_programs_and_schemas_are_refused(void **state) {
  (void)state;
  run_sql("CREATE TABLE photos (name TEXT)");
  assert_refused(false, EGRAPH_E_PARSE, "a database of another program; name another");
  (void)unlink(path);
  eg_profile_db_destroy(open_db());
  run_sql("PRAGMA user_version = 77");
  assert_refused(false, EGRAPH_E_PARSE,
                 "schema version 77, this build reads version 2; name another file or "
                 "delete this one and measure again");
  assert_refused(true, EGRAPH_E_PARSE, "schema version 77");
}

/// A database of schema 1 is read as it is, and extended when it may be written.
static void databases_of_schema_1_are_extended(void **state) {
  (void)state;
  eg_profile_db_destroy(open_db());
  run_sql(
      "DROP TABLE entry; CREATE TABLE entry (machine TEXT NOT NULL, hash INTEGER NOT "
      "NULL, spec TEXT NOT NULL, op TEXT NOT NULL, formatted INTEGER NOT NULL, flops "
      "REAL NOT NULL, bytes REAL NOT NULL, seconds REAL, PRIMARY KEY (machine, hash, "
      "spec)) WITHOUT ROWID; INSERT INTO entry VALUES ('m', 1, 'conv a', 'conv', 0, 1, "
      "1, 0.5); PRAGMA user_version = 1");
  for (int pass = 0; pass < 3; pass++) {
    const eg_profile_db_options options = {
        .path = path, .read_only = pass != 1, .busy_seconds = 1};
    eg_profile_db *db;
    seen s = {0};
    assert_ok(eg_profile_db_create(NULL, &options, &db));
    assert_ok(eg_profile_db_load(db, "m", note_entry, &s));
    assert_int_equal(s.count, 1);
    eg_profile_db_destroy(db);
  }
}

static egraph_status note_evidence(void *user, const eg_profile_entry *entry) {
  *(eg_profile_entry *)user = *entry;
  return EGRAPH_OK;
}

static void evidence_is_kept_and_replaced(void **state) {
  (void)state;
  eg_profile_db *db = open_db();
  eg_profile_entry entry = entry_of("conv a", 0.5), found = {.op = NULL};
  entry.evidence = (eg_evidence){.samples = 7, .spread = 0.01, .load = 1.5, .date = 1234};
  assert_ok(eg_profile_db_store(db, "m", &entry, 1, false));
  eg_profile_entry later = entry_of("conv a", 0.25);
  later.evidence = (eg_evidence){.samples = 9, .spread = 0.02, .date = 2345};
  eg_profile_entry first = later;
  assert_ok(eg_profile_db_store(db, "m", &first, 1, false)); // the first one stays
  assert_true(first.seconds == 0.5 && first.evidence.samples == 7 &&
              first.evidence.load == 1.5 && first.evidence.date == 1234);
  assert_ok(eg_profile_db_store(db, "m", &later, 1, true));
  assert_ok(eg_profile_db_load(db, "m", note_evidence, &found));
  assert_true(found.seconds == 0.25 && found.evidence.samples == 9 &&
              found.evidence.spread == 0.02 && found.evidence.date == 2345);
  // What is not known of an entry is not taken from the one that was bound before.
  eg_profile_entry pair[] = {later, entry_of("conv b", 1)};
  assert_ok(eg_profile_db_store(db, "n", pair, 2, true));
  assert_ok(eg_profile_db_load(db, "n", note_evidence, &found));
  eg_profile_db_destroy(db);
}

static void damaged_entries_are_named(void **state) {
  (void)state;
  static const char *const damage[] = {"seconds = 'soon'",
                                       "seconds = -1",
                                       "seconds = 9e999",
                                       "seconds = -9e999",
                                       "seconds = x'3132'",
                                       "flops = -5",
                                       "flops = 'many'",
                                       "flops = 9e999",
                                       "bytes = x'00'",
                                       "bytes = -1",
                                       "bytes = -9e999",
                                       "samples = -3",
                                       "samples = 'few'",
                                       "samples = 9e18",
                                       "samples = 3, spread = -1",
                                       "samples = 3, spread = 'x'",
                                       "samples = 3, load = -1",
                                       "samples = 3, date = 'now'",
                                       "formatted = 'yes'",
                                       "op = x'ff'"};
  for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
    eg_profile_db *db = open_db();
    eg_profile_entry entry = entry_of("conv a", 0.5);
    assert_ok(eg_profile_db_store(db, "m", &entry, 1, false));
    eg_profile_db_destroy(db);
    char sql[100];
    (void)snprintf(sql, sizeof sql, "UPDATE entry SET %s", damage[i]);
    run_sql(sql);
    db = open_db();
    seen s = {0};
    assert_fails(eg_profile_db_load(db, "m", note_entry, &s), EGRAPH_E_PARSE,
                 "damaged entry 'conv a'");
    eg_profile_db_destroy(db);
    (void)unlink(path);
  }
}

static void a_damaged_file_is_named(void **state) {
  (void)state;
  eg_profile_db *db = open_db();
  char spec[32];
  for (int i = 0; i < 2000; i++) {
    (void)snprintf(spec, sizeof spec, "conv %d", i);
    eg_profile_entry entry = entry_of(spec, 0.5);
    assert_ok(eg_profile_db_store(db, "m", &entry, 1, false));
  }
  eg_profile_db_destroy(db);
  int file = open(path, O_WRONLY);
  assert_true(file >= 0);
  static const char noise[20000] = {7};
  assert_int_equal(pwrite(file, noise, sizeof noise, 8192), sizeof noise);
  assert_int_equal(close(file), 0);
  db = open_db();
  seen s = {0};
  assert_fails(eg_profile_db_load(db, "m", note_entry, &s), EGRAPH_E_PARSE,
               "the profile database is damaged");
  eg_profile_db_destroy(db);
}

/// What opening and reading a file says; PARSE or IO where it is wrong.
static egraph_status try_reading(void) {
  eg_profile_db *db;
  eg_profile_db_options options = options_of(true, 0.1);
  seen s = {0};
  EG_TRY(eg_profile_db_create(NULL, &options, &db));
  egraph_status status = eg_profile_db_load(db, "m", note_entry, &s);
  eg_profile_db_destroy(db);
  return status;
}

static void assert_unreadable(const char *what) {
  egraph_status status = try_reading();
  bool is_told = (status == EGRAPH_E_PARSE || status == EGRAPH_E_IO) &&
                 strstr(egraph_last_error(), path) != NULL;
  if (!is_told)
    fail_msg("%s: %s", what, status == EGRAPH_OK ? "taken" : egraph_last_error());
}

static void store_some(void) {
  eg_profile_db *db = open_db();
  for (int i = 0; i < 400; i++) {
    char spec[32];
    (void)snprintf(spec, sizeof spec, "conv %d", i);
    eg_profile_entry entry = entry_of(spec, 0.5);
    assert_ok(eg_profile_db_store(db, "m", &entry, 1, false));
  }
  eg_profile_db_destroy(db);
}

static void databases_that_are_cut_short_are_named(void **state) {
  (void)state;
  store_some();
  char *data;
  size_t size;
  assert_ok(eg_file_read(eg_allocator_heap(), path, 1 << 24, &data, &size));
  for (size_t part = 1; part < 16; part++) {
    assert_ok(eg_file_write(path, data, size * part / 16));
    assert_unreadable("cut short");
  }
  eg_free(eg_allocator_heap(), data, size + 1, 1);
}

static void databases_of_other_tables_are_named(void **state) {
  (void)state;
  static const char *const changes[] = {"DROP TABLE entry",
                                        "ALTER TABLE entry RENAME TO entries",
                                        "ALTER TABLE entry RENAME COLUMN spec TO name",
                                        "ALTER TABLE entry DROP COLUMN seconds",
                                        "ALTER TABLE entry DROP COLUMN samples",
                                        "ALTER TABLE entry DROP COLUMN formatted",
                                        "PRAGMA application_id = 7",
                                        "PRAGMA user_version = -1",
                                        "PRAGMA user_version = 0"};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    store_some();
    run_sql(changes[i]);
    assert_unreadable(changes[i]);
    (void)unlink(path);
  }
}

static void a_locked_database_is_busy(void **state) {
  (void)state;
  eg_profile_db_destroy(open_db());
  sqlite3 *other;
  assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
  assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
  // Readers and the opening go on; a writer waits, then says so.
  eg_profile_db *db;
  eg_profile_db_options options = options_of(false, 0.1);
  assert_ok(eg_profile_db_create(NULL, &options, &db));
  assert_int_equal(load(db, "m").count, 0);
  eg_profile_entry entry = entry_of("conv a", 0.5);
  assert_fails(eg_profile_db_store(db, "m", &entry, 1, false), EGRAPH_E_BUSY,
               "another process holds the profile database");
  assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
  assert_ok(eg_profile_db_store(db, "m", &entry, 1, false));
  eg_profile_db_destroy(db);
  assert_int_equal(sqlite3_exec(other,
                                "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; "
                                "DELETE FROM entry",
                                NULL, NULL, NULL),
                   SQLITE_OK);
  assert_refused(false, EGRAPH_E_BUSY, "wait for it");
  assert_int_equal(sqlite3_close(other), SQLITE_OK);
}

static void absent_and_empty_files_cannot_be_read(void **state) {
  (void)state;
  assert_refused(true, EGRAPH_E_IO, "there is no such file, and one that is only read");
  assert_ok(eg_file_write(path, "", 0));
  assert_refused(true, EGRAPH_E_PARSE, "an empty file");
  eg_profile_db_destroy(open_db()); // but may be filled
}

static void a_missing_folder_is_named(void **state) {
  (void)state;
  eg_profile_db *db;
  eg_profile_db_options options = {.path = "/nowhere/x.db"};
  assert_fails(
      eg_profile_db_create(NULL, &options, &db), EGRAPH_E_IO,
      "/nowhere/x.db: unable to open database file; check that the folder exists");
}

// Runs `body` in a child without privileges; its assertions end the child with a failure.
static void run_unprivileged(void (*body)(void)) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    bool changed = geteuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0);
    if (!changed) _exit(77);
    body();
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) skip();
  assert_int_equal(WEXITSTATUS(status), 0);
}

static void expect(bool condition, int code) {
  if (!condition) {
    print_error("expectation %d: %s\n", code, egraph_last_error());
    _exit(code);
  }
}

static void read_without_rights(void) {
  eg_profile_db *db;
  eg_profile_db_options writable = options_of(false, 0.1),
                        readable = options_of(true, 0.1);
  expect(eg_profile_db_create(NULL, &writable, &db) == EGRAPH_E_IO, 1);
  expect(strstr(egraph_last_error(), path) != NULL, 2);
  expect(eg_profile_db_create(NULL, &readable, &db) == EGRAPH_OK, 3);
  seen s = {0};
  expect(eg_profile_db_load(db, "m", note_entry, &s) == EGRAPH_OK && s.count == 1, 4);
  eg_profile_entry entry = entry_of("conv b", 0.5);
  expect(eg_profile_db_store(db, "m", &entry, 1, false) == EGRAPH_E_IO, 5);
  eg_profile_db_destroy(db);
}

static void create_without_rights(void) {
  eg_profile_db *db;
  eg_profile_db_options options = options_of(false, 0.1);
  expect(eg_profile_db_create(NULL, &options, &db) == EGRAPH_E_IO, 1);
  expect(strstr(egraph_last_error(), "writable") != NULL, 2);
}

static void an_unwritable_folder_can_be_read_from_and_is_named(void **state) {
  (void)state;
  assert_int_equal(chmod(folder, 0555), 0);
  run_unprivileged(create_without_rights);
  assert_int_equal(chmod(folder, 0755), 0);
  eg_profile_db *db = open_db();
  eg_profile_entry entry = entry_of("conv a", 0.5);
  assert_ok(eg_profile_db_store(db, "m", &entry, 1, false));
  eg_profile_db_destroy(db);
  assert_int_equal(chmod(path, 0444), 0);
  assert_int_equal(chmod(folder, 0555), 0);
  run_unprivileged(read_without_rights);
  assert_int_equal(chmod(folder, 0755), 0);
}

enum { WRITERS = 4, ROUNDS = 60, PER_ROUND = 4 };

// Half of each writer's keys are its own, half are everybody's.
static void write_much(uint32_t writer) {
  eg_profile_db *db;
  eg_profile_db_options options = options_of(false, 60);
  if (eg_profile_db_create(NULL, &options, &db) != EGRAPH_OK) {
    print_error("writer %u: %s\n", writer, egraph_last_error());
    _exit(1);
  }
  for (uint32_t round = 0; round < ROUNDS; round++) {
    char names[PER_ROUND][40];
    eg_profile_entry entries[PER_ROUND];
    for (uint32_t i = 0; i < PER_ROUND; i++) {
      uint32_t owner = i % 2 == 0 ? writer + 1 : 0;
      (void)snprintf(names[i], sizeof names[i], "conv %u %u %u", owner, round, i);
      entries[i] = entry_of(names[i], 1 + writer);
    }
    if (eg_profile_db_store(db, "m", entries, PER_ROUND, false) != EGRAPH_OK) {
      print_error("writer %u: %s\n", writer, egraph_last_error());
      _exit(2);
    }
  }
  eg_profile_db_destroy(db);
  _exit(0);
}

static void four_processes_write_at_once(void **state) {
  (void)state;
  pid_t children[WRITERS];
  for (uint32_t i = 0; i < WRITERS; i++) {
    children[i] = fork();
    assert_true(children[i] >= 0);
    if (children[i] == 0) write_much(i);
  }
  for (uint32_t i = 0; i < WRITERS; i++) {
    int status;
    assert_int_equal(waitpid(children[i], &status, 0), children[i]);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  eg_profile_db *db = open_db();
  assert_int_equal(load(db, "m").count, (WRITERS + 1) * ROUNDS * PER_ROUND / 2);
  eg_profile_db_destroy(db);
}

static void a_killed_writer_loses_no_finished_transaction(void **state) {
  (void)state;
  uint32_t before = 0;
  for (int round = 0; round < 5; round++) {
    int reports[2];
    assert_int_equal(pipe(reports), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      eg_profile_db *db = open_db();
      for (uint32_t i = 0;; i++) {
        char a[40], b[40];
        (void)snprintf(a, sizeof a, "conv %d %u a", round, i);
        (void)snprintf(b, sizeof b, "conv %d %u b", round, i);
        eg_profile_entry entries[] = {entry_of(a, 1), entry_of(b, 1)};
        if (eg_profile_db_store(db, "m", entries, 2, false) != EGRAPH_OK) _exit(1);
        if (write(reports[1], "x", 1) != 1) _exit(2);
      }
    }
    assert_int_equal(close(reports[1]), 0);
    uint32_t finished = 0;
    for (char c; finished < 20 + 7 * (uint32_t)round; finished++)
      assert_int_equal(read(reports[0], &c, 1), 1);
    assert_int_equal(kill(child, SIGKILL), 0);
    for (char c; read(reports[0], &c, 1) == 1;)
      finished++;
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(close(reports[0]), 0);
    eg_profile_db *db = open_db();
    uint32_t now = load(db, "m").count;
    eg_profile_db_destroy(db);
    // Whole transactions of two; the last one may have been stored but not reported.
    assert_int_equal(now % 2, 0);
    assert_in_range(now, before + 2 * finished, before + 2 * finished + 2);
    before = now;
  }
}

static egraph_status use_once(egraph_allocator alloc, void *user) {
  eg_profile_db *db;
  eg_profile_db_options options = {.path = user};
  EG_TRY(eg_profile_db_create(&alloc, &options, &db));
  eg_profile_entry entry = entry_of("conv a", 0.5);
  egraph_status status = eg_profile_db_store(db, "m", &entry, 1, false);
  eg_profile_db_destroy(db);
  return status;
}

static void it_survives_each_allocation_failing(void **state) {
  (void)state;
  test_every_allocation_failing(use_once, path);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_FOLDER(entries_persist_per_machine),
      IN_FOLDER(the_first_measurement_of_a_key_stays),
      cmocka_unit_test(a_database_in_memory_leaves_nothing),
      IN_FOLDER(a_failing_reader_stops_the_load),
      IN_FOLDER(what_is_not_a_database_is_refused_and_kept),
      IN_FOLDER(databases_of_other_programs_and_schemas_are_refused),
      IN_FOLDER(databases_of_schema_1_are_extended),
      IN_FOLDER(evidence_is_kept_and_replaced),
      IN_FOLDER(damaged_entries_are_named),
      IN_FOLDER(a_damaged_file_is_named),
      IN_FOLDER(databases_that_are_cut_short_are_named),
      IN_FOLDER(databases_of_other_tables_are_named),
      IN_FOLDER(a_locked_database_is_busy),
      IN_FOLDER(absent_and_empty_files_cannot_be_read),
      IN_FOLDER(a_missing_folder_is_named),
      IN_FOLDER(an_unwritable_folder_can_be_read_from_and_is_named),
      IN_FOLDER(four_processes_write_at_once),
      IN_FOLDER(a_killed_writer_loses_no_finished_transaction),
      IN_FOLDER(it_survives_each_allocation_failing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
