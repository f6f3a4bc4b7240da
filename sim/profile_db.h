// The profile database: measured seconds per machine and node, in one SQLite file that
// several processes may use at once. Only profile_db.c calls SQLite.
//
//   entry: machine, spec text (and its hash) -> operator, flops, bytes, seconds | NULL,
//                                               samples, spread, load, date
//
// Key invariants: a stored entry changes only when a caller replaces it; otherwise the
// first measurement of a key stays. A killed writer loses at most one transaction.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_PROFILE_DB_H
#define EG_SIM_PROFILE_DB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/evidence.h"
#include "base/memory.h"
#include "base/owner.h"

/// The version of the database, raised whenever the tables or the text of specs change.
enum { EG_PROFILE_DB_SCHEMA = 2 };

typedef struct eg_profile_entry {
  const char *spec; // canonical text of the node
  const char *op;   // spelling of its operator
  bool formatted;   // some operand or result is in a memory format other than plain
  double flops, bytes;
  double seconds; // INFINITY: the machine's back-end cannot run it
  eg_evidence evidence;
} eg_profile_entry;

typedef struct eg_profile_db eg_profile_db;

typedef struct eg_profile_db_options {
  const char *path; // ":memory:" or NULL: nothing on disk
  bool read_only;
  double busy_seconds; // seconds to wait for other processes
} eg_profile_db_options;

/// Opens a database, and creates it unless read_only. A database of schema 1, whose
/// entries have no evidence, is extended to the current schema (or read as it is). Fails
/// with EGRAPH_E_IO (absent, not writable), EGRAPH_E_BUSY (locked longer than
/// busy_seconds), EGRAPH_E_PARSE (not a profile database, another schema, damaged);
/// messages name the path and the remedy.
egraph_status eg_profile_db_create(const egraph_allocator *alloc,
                                   const eg_profile_db_options *options,
                                   eg_profile_db **out);
void eg_profile_db_destroy(eg_profile_db *db);
EG_HOLDER_DEFINE(eg_profile_db)

/// Calls `each` for every entry of a machine, ordered by hash and text. Stops at the
/// first failure of `each` and returns it. The entry's strings are valid only during the
/// call.
egraph_status eg_profile_db_load(eg_profile_db *db, const char *machine,
                                 egraph_status (*each)(void *user,
                                                       const eg_profile_entry *entry),
                                 void *user);
/// Stores measurements in one transaction. Where a key exists, the new value replaces the
/// stored one; with `replaces` false the stored one stays and is written to seconds and
/// evidence of entries[i]. Fails, storing nothing, with EGRAPH_E_BUSY or EGRAPH_E_IO.
egraph_status eg_profile_db_store(eg_profile_db *db, const char *machine,
                                  eg_profile_entry *entries, uint32_t count,
                                  bool replaces);

#endif
