// Does to a database what another process might:
//   cli_database FILE hold       locks it until standard input ends; says "held" when it
//   does cli_database FILE exec SQL   executes statements
// SPDX-License-Identifier: Apache-2.0
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

static int execute(sqlite3 *db, const char *sql) {
  char *message = NULL;
  if (sqlite3_exec(db, sql, NULL, NULL, &message) == SQLITE_OK) return 0;
  fprintf(stderr, "%s: %s\n", sql, message);
  return 1;
}

static int hold(sqlite3 *db) {
  if (execute(db, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;"
                  "CREATE TABLE held_by_another (x)"))
    return 1;
  puts("held");
  (void)fflush(stdout);
  while (getchar() != EOF)
    continue;
  return execute(db, "ROLLBACK");
}

int main(int argc, char **argv) {
  sqlite3 *db;
  if (argc < 3 || sqlite3_open(argv[1], &db) != SQLITE_OK) return 2;
  (void)sqlite3_busy_timeout(db, 5000);
  int outcome = strcmp(argv[2], "hold") == 0 ? hold(db)
                : argc == 4                  ? execute(db, argv[3])
                                             : 2;
  (void)sqlite3_close(db);
  return outcome;
}
