// egraph bench extract: one row of measurements per instance in a folder.
//
// Every instance runs in its own process, as `egraph extract --json`. A row is appended
// to the output when an instance ends; instances with a row are not run again. A long
// measurement can therefore be interrupted and resumed.
// SPDX-License-Identifier: Apache-2.0
#define _DEFAULT_SOURCE // wait4
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/arguments.h"
#include "tools/csv.h"
#include "tools/optimize_call.h"
#include "tools/text_file.h"

// ---- children -------------------------------------------------------------------

// The output of children goes to unlinked temporary files, which unlike pipes need
// no reader.

typedef struct child {
  pid_t pid; // 0: none
  FILE *output, *errors;
  double started, patience; // seconds
  bool killed;
} child;

typedef struct child_end {
  bool killed; // by this process: patience ran out
  int exit;    // exit status, or -signal
  double wall_seconds, cpu_seconds;
  uint64_t peak_bytes; // peak of resident memory
  char *output;        // all of standard output; free() it
  char *message;       // last line of standard error; free() it
} child_end;

enum { MAX_ARGUMENTS = 24 };

static void close_files(child *c) {
  if (c->output != NULL) (void)fclose(c->output);
  if (c->errors != NULL) (void)fclose(c->errors);
  c->output = c->errors = NULL;
}

/// Starts `egraph arguments...` (NULL-terminated). False, with a message on standard
/// error, when that fails.
static bool start_child(child *c, const char *const *arguments, double patience_seconds) {
  char *argv[MAX_ARGUMENTS + 2] = {"egraph"};
  for (size_t i = 0; i < MAX_ARGUMENTS && arguments[i] != NULL; i++)
    argv[i + 1] = (char *)(uintptr_t)arguments[i]; // execv reads them only
  *c = (child){.output = tmpfile(), .errors = tmpfile(), .patience = patience_seconds};
  if (c->output != NULL && c->errors != NULL) {
    (void)fflush(NULL);
    c->started = eg_clock_seconds();
    c->pid = fork();
    if (c->pid == 0) { // only async-signal-safe calls between fork and exec
      if (dup2(fileno(c->output), STDOUT_FILENO) >= 0 &&
          dup2(fileno(c->errors), STDERR_FILENO) >= 0)
        (void)execv("/proc/self/exe", argv);
      _exit(127);
    }
    if (c->pid > 0) return true;
  }
  (void)complain("no child process can be started: %s", strerror(errno));
  c->pid = 0;
  close_files(c);
  return false;
}

static void keep_last_line(char *text) {
  size_t length = strlen(text);
  while (length != 0 && text[length - 1] == '\n')
    text[--length] = '\0';
  char *line = strrchr(text, '\n');
  if (line != NULL) memmove(text, line + 1, strlen(line + 1) + 1);
}

static double seconds_of(struct timeval t) {
  return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/// Returns whether a child has ended, and fills `out`. Kills it when its time is over.
static bool poll_child(child *c, child_end *out) {
  int status;
  struct rusage used;
  if (!c->killed && eg_clock_seconds() - c->started > c->patience) {
    c->killed = true;
    (void)kill(c->pid, SIGKILL);
  }
  pid_t ended = wait4(c->pid, &status, WNOHANG, &used);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
  *out = (child_end){.killed = c->killed, .exit = 127};
  if (ended > 0) {
    out->exit = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    out->cpu_seconds = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
    out->peak_bytes = (uint64_t)used.ru_maxrss * 1024;
  }
  out->wall_seconds = eg_clock_seconds() - c->started;
  rewind(c->output);
  rewind(c->errors);
  out->output = text_stream_read(c->output);
  out->message = text_stream_read(c->errors);
  if (out->message != NULL) keep_last_line(out->message);
  close_files(c);
  c->pid = 0;
  return true;
}

// ---- the table ------------------------------------------------------------------

typedef struct result_table {
  text_array columns; // "name" first; "status", "cost" and "cpu_seconds" are counted
  text_array done;    // names of the rows that the file had before
  text_array peers;   // name, cost, seconds in turn
  FILE *file;         // NULL: rows are only counted
  int write_error;    // errno of the first row that could not be written, or 0
  uint32_t measured;  // rows of this run; the members below count all rows
  uint32_t counts[4]; // counts of optimal, feasible, infeasible and failed rows
  uint32_t worse;     // rows with a higher cost than the peer's
  double cpu_seconds;
} result_table;

enum { OPTIMAL, FEASIBLE, INFEASIBLE, FAILED };

static size_t find_cell(const text_array *cells, const char *name) {
  size_t i = 0;
  while (i < cells->count && strcmp(cells->items[i], name) != 0)
    i++;
  return i;
}

/// Returns the cost (`which` 1) or the seconds (2) that another solver's table has for an
/// instance; "" without such a table.
static const char *peer_cell(const result_table *t, const char *name, size_t which) {
  for (size_t i = 0; i < t->peers.count; i += 3)
    if (strcmp(t->peers.items[i], name) == 0) return t->peers.items[i + which];
  return "";
}

static const char *cell_of(const result_table *t, const text_array *cells,
                           const char *column) {
  return cells->items[find_cell(&t->columns, column)];
}

/// Adds a result row to the counts of optimal, feasible, infeasible and failed instances.
static void count_row(result_table *t, const text_array *cells) {
  static const struct {
    const char *status;
    int counter;
  } STATUSES[] = {{"optimal", OPTIMAL},       {"feasible", FEASIBLE},
                  {"infeasible", INFEASIBLE}, {"failed", FAILED},
                  {"killed", FAILED},         {"crashed", FAILED}};
  const char *cost = cell_of(t, cells, "cost");
  const char *peer = peer_cell(t, cell_of(t, cells, "name"), 1);
  for (size_t i = 0; i < sizeof STATUSES / sizeof *STATUSES; i++)
    if (strcmp(cell_of(t, cells, "status"), STATUSES[i].status) == 0)
      t->counts[STATUSES[i].counter]++;
  t->cpu_seconds += strtod(cell_of(t, cells, "cpu_seconds"), NULL);
  if (*cost == '\0' || *peer == '\0') return;
  double own = strtod(cost, NULL), other = strtod(peer, NULL);
  t->worse += own > other + 1e-6 * fabs(other);
}

static void write_cells(result_table *t, const text_array *cells) {
  if (t->file == NULL) return;
  for (size_t i = 0; i < cells->count; i++)
    csv_write(t->file, i == 0, cells->items[i]);
  (void)fputc('\n', t->file);
  if (fflush(t->file) != 0 && t->write_error == 0) t->write_error = errno;
}

/// Reads the names of the rows in the file; cuts off the bytes after the last whole row.
static bool read_rows(result_table *t, const char *path) {
  text_array cells = {NULL, 0, 0};
  bool complete = true, fine = true;
  long whole = 0;
  rewind(t->file);
  for (size_t row = 0; csv_read(t->file, &cells, &complete) && complete; row++) {
    fine = fine && cells.count == t->columns.count;
    for (size_t i = 0; row == 0 && fine && i < cells.count; i++)
      fine = strcmp(cells.items[i], t->columns.items[i]) == 0;
    if (row != 0 && fine) {
      text_array_add(&t->done, cells.items[0], strlen(cells.items[0]));
      count_row(t, &cells);
    }
    whole = ftell(t->file);
  }
  fine = fine && (whole != 0 || cells.count == 0);
  text_array_free(&cells);
  if (!fine)
    return complain("%s: no table of this command; choose another --output", path);
  return fseek(t->file, whole, SEEK_SET) == 0 && ftruncate(fileno(t->file), whole) == 0;
}

/// Opens or creates `path`; cuts off the bytes after its last whole row. NULL: standard
/// output, or nowhere when `quiet`. `columns` must be filled. False, with a message, when
/// the file cannot be opened or is no such table.
static bool open_table(result_table *t, const char *path, bool quiet) {
  if (path == NULL) {
    t->file = quiet ? NULL : stdout;
    write_cells(t, &t->columns);
    return true;
  }
  t->file = fopen(path, "a+");
  if (t->file == NULL) return complain_of_file(path);
  // A device or a pipe has no rows to resume from, and reading it may never end.
  struct stat found;
  bool resumes = fstat(fileno(t->file), &found) == 0 && S_ISREG(found.st_mode);
  if (resumes && !read_rows(t, path)) return false;
  if (!resumes || ftell(t->file) == 0) write_cells(t, &t->columns);
  return true;
}

/// Reads name, cost and seconds (optional) of every row of another solver's table.
/// Called before open_table, because the rows that the result file already has are
/// compared, too.
static bool read_peers(result_table *t, const char *path) {
  FILE *file = fopen(path, "r");
  if (file == NULL) return complain_of_file(path);
  text_array cells = {NULL, 0, 0};
  bool complete, any = csv_read(file, &cells, &complete);
  size_t name = find_cell(&cells, "name"), cost = find_cell(&cells, "cost"),
         seconds = find_cell(&cells, "seconds");
  bool fine = any && name < cells.count && cost < cells.count;
  while (fine && csv_read(file, &cells, &complete))
    for (int i = 0; i < 3; i++) {
      size_t at = i == 0 ? name : i == 1 ? cost : seconds;
      const char *text = at < cells.count ? cells.items[at] : "";
      text_array_add(&t->peers, text, strlen(text));
    }
  text_array_free(&cells);
  (void)fclose(file);
  return fine || complain("%s: the first row has no columns \"name\" and \"cost\"", path);
}

/// Frees the table; false, with a message, when some row could not be written.
static bool close_table(result_table *t, const char *path) {
  text_array_free(&t->peers);
  text_array_free(&t->done);
  text_array_free(&t->columns);
  FILE *file = t->file;
  t->file = NULL;
  if (file == NULL || file == stdout) return true; // main checks standard output
  if (fclose(file) != 0 && t->write_error == 0) t->write_error = errno;
  errno = t->write_error;
  return t->write_error == 0 || complain_of_file(path);
}

enum { MAX_JOBS = 256, MAX_PATH_BYTES = 4096, MAX_CELL = MAX_PATH_BYTES };

// Columns of a row: most are keys of the child's JSON.
#define PART_COLUMN(id, name, text) , name "_seconds"
static const char *const COLUMN_NAMES[] = {
    "name",
    "kind",
    "status",
    "nodes",
    "classes",
    "reduced_nodes",
    "reduced_classes",
    "tree_cost",
    "dag_cost",
    "cost",
    "bound",
    "gap",
    "seconds" EGRAPH_EXTRACT_PART_LIST(PART_COLUMN),
    "cpu_seconds",
    "wall_seconds",
    "peak_bytes",
    "time_limit",
    "peer_cost",
    "peer_seconds",
    "message"};
#undef PART_COLUMN
enum { COLUMN_COUNT = sizeof COLUMN_NAMES / sizeof *COLUMN_NAMES };

typedef struct bench_flags {
  const char *folder, *output, *peer, *extractor;
  double time_limit;
  uint64_t jobs, seed;
  bool json;
} bench_flags;

typedef struct job {
  child process;
  const char *path; // NULL: the slot is free
  bool is_shard;    // the file is an IOPDDL problem
} job;

typedef struct bench {
  const bench_flags *flags;
  text_array paths;
  result_table table;
  job jobs[MAX_JOBS];
  size_t running, finished;
} bench;

// ---- instances -------------------------------------------------------------------

static void look_into(const char *folder, DIR *open, text_array *folders,
                      text_array *paths) {
  for (struct dirent *entry; (entry = readdir(open)) != NULL;) {
    char path[MAX_PATH_BYTES];
    struct stat info;
    if (entry->d_name[0] == '.') continue;
    int length = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (length < 0 || (size_t)length >= sizeof path || lstat(path, &info) != 0) continue;
    if (S_ISDIR(info.st_mode)) text_array_add(folders, path, (size_t)length);
    if (S_ISREG(info.st_mode) &&
        (text_ends_with(path, ".json") || text_ends_with(path, ".json.gz")))
      text_array_add(paths, path, (size_t)length);
  }
}

static bool find_instances(bench *b) {
  text_array folders = {NULL, 0, 0};
  size_t length = strlen(b->flags->folder);
  while (length > 1 && b->flags->folder[length - 1] == '/')
    length--;
  text_array_add(&folders, b->flags->folder, length);
  bool fine = true;
  for (size_t i = 0; fine && i < folders.count; i++) {
    DIR *open = opendir(folders.items[i]);
    fine = open != NULL || complain_of_file(folders.items[i]);
    if (open == NULL) break;
    look_into(folders.items[i], open, &folders, &b->paths);
    (void)closedir(open);
  }
  text_array_free(&folders);
  text_array_sort(&b->paths);
  if (fine && b->paths.count == 0)
    return complain("%s: no file *.json or *.json.gz in it", b->flags->folder);
  return fine;
}

/// Writes the path below the folder, without ".json" and ".gz".
static void name_of_file(const bench *b, const char *path, char name[MAX_PATH_BYTES]) {
  size_t skip = strlen(b->flags->folder);
  while (skip > 1 && b->flags->folder[skip - 1] == '/')
    skip--;
  (void)snprintf(name, MAX_PATH_BYTES, "%s", path + skip + (path[skip] == '/'));
  if (text_ends_with(name, ".gz")) name[strlen(name) - strlen(".gz")] = '\0';
  if (text_ends_with(name, ".json")) name[strlen(name) - strlen(".json")] = '\0';
}

// ---- one instance ----------------------------------------------------------------

/// Finds the value of a key in the child's JSON, a flat object that this program prints;
/// "" when the key is absent or null.
static void json_cell(const char *json, const char *key, char cell[MAX_CELL]) {
  char pattern[64];
  (void)snprintf(pattern, sizeof pattern, "\"%s\":", key);
  const char *at = json != NULL ? strstr(json, pattern) : NULL;
  cell[0] = '\0';
  if (at == NULL) return;
  at += strlen(pattern);
  bool quoted = *at == '"';
  at += quoted;
  size_t length = strcspn(at, quoted ? "\"" : ",}]");
  if (length >= MAX_CELL || strncmp(at, "null", length) == 0) return;
  memcpy(cell, at, length);
  cell[length] = '\0';
}

static const char *status_of(const child_end *end, char cell[MAX_CELL]) {
  if (end->killed) return "killed";
  if (end->exit < 0) return "crashed";
  if (end->exit != 0) return "failed";
  json_cell(end->output, "status", cell);
  return cell;
}

static void fill_cell(const bench *b, const job *j, const child_end *end,
                      const char *column, char cell[MAX_CELL]) {
  char name[MAX_PATH_BYTES];
  name_of_file(b, j->path, name);
  const char *text = NULL;
  if (strcmp(column, "name") == 0) text = name;
  if (strcmp(column, "kind") == 0) text = j->is_shard ? "shard" : "extract";
  if (strcmp(column, "status") == 0) text = status_of(end, cell);
  if (strcmp(column, "peer_cost") == 0) text = peer_cell(&b->table, name, 1);
  if (strcmp(column, "peer_seconds") == 0) text = peer_cell(&b->table, name, 2);
  if (strcmp(column, "message") == 0) text = end->message != NULL ? end->message : "";
  if (text == cell) return;
  if (text != NULL)
    (void)snprintf(cell, MAX_CELL, "%s", text);
  else if (strcmp(column, "cpu_seconds") == 0)
    (void)snprintf(cell, MAX_CELL, "%.3f", end->cpu_seconds);
  else if (strcmp(column, "wall_seconds") == 0)
    (void)snprintf(cell, MAX_CELL, "%.3f", end->wall_seconds);
  else if (strcmp(column, "peak_bytes") == 0)
    (void)snprintf(cell, MAX_CELL, "%llu", (unsigned long long)end->peak_bytes);
  else if (strcmp(column, "time_limit") == 0)
    (void)snprintf(cell, MAX_CELL, "%g", b->flags->time_limit);
  else
    json_cell(end->output, column, cell);
}

static void write_row(bench *b, const job *j, const child_end *end) {
  text_array cells = {NULL, 0, 0};
  char cell[MAX_CELL];
  for (size_t i = 0; i < COLUMN_COUNT; i++) {
    fill_cell(b, j, end, COLUMN_NAMES[i], cell);
    text_array_add(&cells, cell, strlen(cell));
  }
  write_cells(&b->table, &cells);
  b->table.measured++;
  count_row(&b->table, &cells);
  text_array_free(&cells);
}

static bool start_job(bench *b, job *j, const char *path, bool is_shard) {
  char limit[32], seed[32];
  (void)snprintf(limit, sizeof limit, "%.17g", b->flags->time_limit);
  (void)snprintf(seed, sizeof seed, "%llu", (unsigned long long)b->flags->seed);
  const char *extract[] = {"extract", "--json",      "--time-limit",      limit, "--seed",
                           seed,      "--extractor", b->flags->extractor, "--",  path,
                           NULL};
  const char *shard[] = {"shard", "--json", "--time-limit", limit, "--", path, NULL};
  // The time limit is only for solving; reading takes additional time.
  double patience = 2 * b->flags->time_limit + 60;
  j->path = path;
  j->is_shard = is_shard;
  return start_child(&j->process, is_shard ? shard : extract, patience);
}

/// Writes the result row of a child process that ended, or restarts it as `egraph shard`.
/// False when a process cannot be started.
static bool finish_job(bench *b, job *j, child_end *end) {
  const char *message = end->message != NULL ? end->message : "";
  bool again = !j->is_shard && end->exit == EXIT_FAILED && !end->killed &&
               strstr(message, "egraph shard") != NULL;
  if (!again && !interrupted()) {
    write_row(b, j, end);
    b->finished++;
  }
  free(end->output);
  free(end->message);
  if (again && !interrupted()) return start_job(b, j, j->path, true);
  j->path = NULL;
  b->running--;
  return true;
}

// ---- all of them -----------------------------------------------------------------

static void show_progress(const bench *b, const char *path) {
  char name[MAX_PATH_BYTES];
  name_of_file(b, path, name);
  (void)progress_line("bench", "%zu of %zu done, %zu running: %s", b->finished,
                      b->paths.count, b->running, name);
}

/// Starts the next instance without a row, in job `j`, which has no process; *inout_next
/// is the first path that was not considered yet.
static bool fill_slot(bench *b, job *j, size_t *inout_next) {
  while (*inout_next < b->paths.count && !interrupted()) {
    const char *path = b->paths.items[(*inout_next)++];
    char name[MAX_PATH_BYTES];
    name_of_file(b, path, name);
    if (text_array_has(&b->table.done, name)) {
      b->finished++;
      continue;
    }
    b->running++;
    show_progress(b, path);
    return start_job(b, j, path, false);
  }
  return true;
}

static bool run_all(bench *b) {
  size_t next = 0;
  bool fine = true;
  do {
    for (size_t i = 0; fine && i < b->flags->jobs; i++) {
      job *j = &b->jobs[i];
      child_end end;
      if (j->path != NULL && poll_child(&j->process, &end)) fine = finish_job(b, j, &end);
      if (fine && j->path == NULL) fine = fill_slot(b, j, &next);
    }
    if (fine && b->running != 0)
      (void)nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
  } while (fine && b->running != 0);
  progress_clear();
  return fine;
}

/// Prints figures of the whole table, rows of earlier runs included.
static void print_summary(const bench *b) {
  const result_table *t = &b->table;
  const uint32_t *counts = t->counts;
  if (b->flags->json) {
    JSON_PRINT(JSON("instances", b->paths.count), JSON("measured", t->measured),
               JSON("optimal", counts[OPTIMAL]), JSON("feasible", counts[FEASIBLE]),
               JSON("infeasible", counts[INFEASIBLE]), JSON("failed", counts[FAILED]),
               JSON("worse_than_peer", t->worse), JSON("cpu_seconds", t->cpu_seconds));
    return;
  }
  FILE *file = t->file == stdout ? stderr : stdout;
  fprintf(file,
          "%zu instances, %u measured now: %u optimal, %u feasible, %u infeasible, %u "
          "failed; %.1f CPU seconds",
          b->paths.count, t->measured, counts[OPTIMAL], counts[FEASIBLE],
          counts[INFEASIBLE], counts[FAILED], t->cpu_seconds);
  if (t->peers.count != 0) fprintf(file, "; %u dearer than the peer", t->worse);
  fprintf(file, "\n");
}

static int run_bench(const bench_flags *flags) {
  bench *b = calloc(1, sizeof *b);
  if (b == NULL) return EXIT_FAILED;
  b->flags = flags;
  for (size_t i = 0; i < COLUMN_COUNT; i++)
    text_array_add(&b->table.columns, COLUMN_NAMES[i], strlen(COLUMN_NAMES[i]));
  install_interrupt();
  bool fine = find_instances(b) &&
              (flags->peer == NULL || read_peers(&b->table, flags->peer)) &&
              open_table(&b->table, flags->output, flags->json) && run_all(b);
  if (fine) print_summary(b);
  fine = close_table(&b->table, flags->output) && fine;
  text_array_free(&b->paths);
  free(b);
  return fine ? EXIT_DONE : EXIT_FAILED;
}

int command_bench_extract(int argc, char **argv) {
  bench_flags flags = {.extractor = "ilp", .time_limit = 20, .jobs = 1, .seed = 1};
  command cmd =
      new_command("bench extract", "FOLDER [--output FILE] [options]", 1, 1,
                  "Measures extraction on every *.json and *.json.gz below a folder, "
                  "each in its own process: a table of comma-separated values.");
  add_heading(&cmd, "Search");
  add_real(&cmd, "--time-limit X", &flags.time_limit, 1e-3, 1e6,
           "seconds for each instance");
  add_choice(&cmd, "--extractor ilp|dag|tree", &flags.extractor,
             "extract exactly (ilp) or greedily");
  add_uint(&cmd, "--seed N", &flags.seed, 0, 0, "seed of the heuristics");
  add_uint(&cmd, "--jobs N", &flags.jobs, 1, MAX_JOBS, "instances at once");
  add_heading(&cmd, "Output");
  add_text(&cmd, "--output FILE", &flags.output,
           "append the rows to this table; instances with a row are skipped");
  add_text(&cmd, "--peer FILE", &flags.peer,
           "compare with the costs of another solver: a table with the columns name, "
           "cost, seconds");
  add_switch(&cmd, "--json", &flags.json, "print the summary as one JSON object");
  PARSE_ARGUMENTS(folder, &cmd, argc, argv);
  flags.folder = folder.items[0];
  return run_bench(&flags);
}
