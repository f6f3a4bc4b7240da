// SPDX-License-Identifier: Apache-2.0
#include "tools/simulate_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/repeated_batches.h"

// ---- files ------------------------------------------------------------------------

static bool complain_of_writing(const char *path) {
  return complain("%s: cannot be written: %s; choose another file", path,
                  strerror(errno));
}

static bool close_whole(FILE *file, const char *path) {
  bool whole = ferror(file) == 0;
  whole = fclose(file) == 0 && whole;
  if (whole) return true;
  (void)complain_of_writing(path);
  struct stat info;
  if (stat(path, &info) == 0 && S_ISREG(info.st_mode)) (void)remove(path);
  return false;
}

static FILE *open_file(const char *path) {
  FILE *file = fopen(path, "wb");
  if (file == NULL) (void)complain_of_writing(path);
  return file;
}

const char *const issue_names[] = {[EGRAPH_ISSUE_AHEAD_4] = "ahead-4",
                                   [EGRAPH_ISSUE_AHEAD_2] = "ahead-2",
                                   [EGRAPH_ISSUE_AHEAD] = "ahead",
                                   [EGRAPH_ISSUE_REDUCTIONS] = "reductions",
                                   [EGRAPH_ISSUE_IN_ORDER] = "in-order"};

// ---- figures ----------------------------------------------------------------------

/// Writes one line for all devices, because all devices do the same.
static void write_devices(const simulated_plan *s, const egraph_simulation_info *info) {
  const egraph_simulation *simulation = s->simulation;
  json_open("devices", '[');
  json_open(NULL, '{');
  JSON_MEMBERS(JSON("count", egraph_plan_info_of(s->plan).devices),
               JSON("busy", egraph_simulation_stream_at(simulation, 0).busy),
               JSON("peak_bytes", info->peak_bytes),
               JSON("peak_seconds", info->peak_seconds));
  JSON_EACH("streams", i, info->streams) {
    egraph_simulation_stream stream = egraph_simulation_stream_at(simulation, i);
    JSON_OBJECT(NULL, JSON("name", stream.name), JSON("busy", stream.busy),
                JSON("idle", stream.idle));
  }
  JSON_EACH("waits", i, info->waits) {
    egraph_simulation_wait wait = egraph_simulation_wait_at(simulation, i);
    JSON_OBJECT(NULL, JSON("phase", wait.phase), JSON("kind", wait.kind),
                JSON("axis", wait.axis), JSON("seconds", wait.seconds),
                JSON("count", wait.count));
  }
  JSON_EACH("alive", i, info->alive) {
    egraph_simulation_alive alive = egraph_simulation_alive_at(simulation, i);
    JSON_OBJECT(NULL, JSON("name", alive.name), JSON("store", alive.store),
                JSON("bytes", alive.bytes));
  }
  json_close('}');
  json_close(']');
}

void simulation_json(const simulated_plan *s) {
  egraph_simulation_info info = egraph_simulation_info_of(s->simulation);
  double critical = 0;
  for (uint32_t t = 0; t < info.tasks; t++) {
    egraph_simulation_task task = egraph_simulation_task_at(s->simulation, t);
    if (task.is_critical) critical += task.end - task.start;
  }
  JSON_MEMBERS(JSON("issue", issue_names[info.issue]), JSON("seconds", info.seconds),
               JSON("in_order", info.in_order), JSON("most_busy", info.most_busy),
               JSON("critical_path", critical), JSON("closed_form", info.closed_form),
               JSON("tasks", info.tasks), JSON("messages", info.messages),
               JSON("kinds", info.kinds), JSON("closed_exchanges", info.closed),
               JSON("beside", info.beside > 0 ? info.beside : 1),
               JSON("beside_known", (bool)(info.beside > 0)));
  write_devices(s, &info);
}

// ---- trace ------------------------------------------------------------------------

static void write_row_name(const char *kind, uint32_t row, const char *name) {
  json_open(NULL, '{');
  JSON_MEMBERS(JSON("ph", "M"), JSON("name", kind), JSON("pid", 0u), JSON("tid", row));
  JSON_OBJECT("args", JSON("name", name));
  json_close('}');
}

/// Writes a complete event, up to its arguments.
static void open_span(const char *name, const char *category, uint32_t row, double from,
                      double until) {
  json_open(NULL, '{');
  JSON_MEMBERS(JSON("ph", "X"), JSON("name", name), JSON("cat", category),
               JSON("pid", 0u), JSON("tid", row), JSON("ts", 1e6 * from),
               JSON("dur", 1e6 * (until - from)));
}

static void write_event(const egraph_simulation_task *task) {
  char name[256];
  (void)snprintf(name, sizeof name, "%s %s", task->what, task->name);
  open_span(name, task->phase, task->stream, task->start, task->end);
  json_open("args", '{');
  json_int("micro_batch", task->micro_batch);
  if (task->axis[0] != '\0')
    JSON_MEMBERS(JSON("axis", task->axis), JSON("bytes", task->bytes));
  json_bool("critical", task->is_critical);
  json_close('}');
  json_close('}');
}

static void write_memory_event(egraph_simulation_memory point) {
  json_open(NULL, '{');
  JSON_MEMBERS(JSON("ph", "C"), JSON("name", "memory"), JSON("pid", 0u),
               JSON("ts", 1e6 * point.seconds));
  JSON_OBJECT("args", JSON("bytes", point.bytes));
  json_close('}');
}

static bool report_no_memory(const char *path) {
  return complain("%s: there is not enough memory for it", path);
}

/// Writes an event for omitted micro-batches that repeat another one, on its own line.
static void write_left_out_event(const repeated_batches *left, uint32_t row) {
  char name[96];
  (void)snprintf(name, sizeof name, "micro-batches %u to %u repeat the one before",
                 left->first, left->first + left->count - 1);
  write_row_name("thread_name", row, "left out");
  open_span(name, "left out", row, left->from, left->until);
  json_close('}');
}

bool trace_write(const char *path, const simulated_plan *s) {
  egraph_simulation_info info = egraph_simulation_info_of(s->simulation);
  repeated_batches left;
  if (!repeated_batches_find(s->simulation, &left)) return report_no_memory(path);
  FILE *file = open_file(path);
  if (file == NULL) return false;
  json_to(file);
  json_begin();
  json_text("displayTimeUnit", "ms");
  json_open("traceEvents", '[');
  write_row_name("process_name", 0, "every device");
  for (uint32_t i = 0; i < info.streams; i++)
    write_row_name("thread_name", i, egraph_simulation_stream_at(s->simulation, i).name);
  for (uint32_t t = 0; t < info.tasks; t++) {
    egraph_simulation_task task = egraph_simulation_task_at(s->simulation, t);
    if (task.stream != EGRAPH_NONE && !repeated_batches_have(&left, task.micro_batch))
      write_event(&task);
  }
  if (left.count != 0) write_left_out_event(&left, info.streams);
  for (uint32_t i = 0; i < info.memory_points; i++) {
    egraph_simulation_memory point = egraph_simulation_memory_at(s->simulation, i);
    if (!repeated_batches_have_time(&left, point.seconds)) write_memory_event(point);
  }
  json_close(']');
  json_end();
  json_to(NULL);
  return close_whole(file, path);
}

// ---- report -----------------------------------------------------------------------

/// A table of texts that tasks share, each text once.
typedef struct text_table {
  const char **texts;
  uint32_t count;
} text_table;

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool list_texts(const egraph_simulation *simulation, uint32_t tasks,
                       text_table *out) {
  out->texts = malloc((2 * (size_t)tasks + 1) * sizeof *out->texts);
  if (out->texts == NULL) return false;
  uint32_t count = 0;
  for (uint32_t t = 0; t < tasks; t++) {
    egraph_simulation_task task = egraph_simulation_task_at(simulation, t);
    out->texts[count++] = task.name;
    out->texts[count++] = task.what;
  }
  qsort(out->texts, count, sizeof *out->texts, by_text);
  for (uint32_t i = 0; i < count; i++)
    if (out->count == 0 || strcmp(out->texts[out->count - 1], out->texts[i]) != 0)
      out->texts[out->count++] = out->texts[i];
  return true;
}

static uint32_t text_number(const text_table *table, const char *text) {
  const char **found =
      bsearch(&text, table->texts, table->count, sizeof *table->texts, by_text);
  return (uint32_t)(found - table->texts);
}

/// Writes a task as [name, what, axis, phase, micro-batch, stream, start, seconds, bytes,
/// critical], which keeps the page of a large plan small.
static void write_task(const text_table *texts, const egraph_simulation_task *task) {
  json_open(NULL, '[');
  json_int(NULL, text_number(texts, task->name));
  json_int(NULL, text_number(texts, task->what));
  json_text(NULL, task->axis);
  json_text(NULL, task->phase);
  json_int(NULL, task->micro_batch);
  json_int(NULL, task->stream);
  json_short(NULL, task->start);
  json_short(NULL, task->end - task->start);
  json_short(NULL, task->bytes);
  json_int(NULL, task->is_critical);
  json_close(']');
}

static void write_memory(const egraph_simulation *simulation, const char *key,
                         const repeated_batches *left) {
  JSON_EACH(key, i, egraph_simulation_info_of(simulation).memory_points) {
    egraph_simulation_memory point = egraph_simulation_memory_at(simulation, i);
    if (repeated_batches_have_time(left, point.seconds)) continue;
    json_short(NULL, point.seconds);
    json_short(NULL, point.bytes);
  }
}

typedef struct report_parts {
  text_table texts;
  char *explanation;
  repeated_batches left, left_in_order; // repeated micro-batches of the two simulations
} report_parts;

static void write_data(const simulated_plan *s, const report_parts *parts) {
  const repeated_batches *left = &parts->left;
  egraph_plan_info plan = egraph_plan_info_of(s->plan);
  JSON_BEGIN(JSON("plan", s->path), JSON("mesh", plan.mesh),
             JSON("memory_limit", plan.memory_limit));
  simulation_json(s);
  // The micro-batches that are left out do the same as micro-batch `first` - 1. In its
  // sums the HTML page that reads this JSON counts the tasks of micro-batch `first` - 1
  // once more for each of them.
  JSON_OBJECT("left_out", JSON("first", left->first), JSON("count", left->count),
              JSON("from", left->from), JSON("until", left->until));
  write_memory(s->simulation, "memory", left);
  write_memory(s->in_order, "memory_in_order", &parts->left_in_order);
  json_text("explanation", parts->explanation);
  JSON_EACH("texts", i, parts->texts.count)
    json_text(NULL, parts->texts.texts[i]);
  JSON_EACH("timeline", t, egraph_simulation_info_of(s->simulation).tasks) {
    egraph_simulation_task task = egraph_simulation_task_at(s->simulation, t);
    if (task.stream != EGRAPH_NONE && !repeated_batches_have(left, task.micro_batch))
      write_task(&parts->texts, &task);
  }
  json_end();
}

static bool write_page(const char *path, const simulated_plan *s,
                       const report_parts *parts) {
  static const char mark[] = "@DATA@";
  const char *page = (const char *)report_files[0].text, *at = strstr(page, mark);
  FILE *file = open_file(path);
  if (file == NULL) return false;
  (void)fwrite(page, 1, (size_t)(at - page), file);
  json_to(file);
  write_data(s, parts);
  json_to(NULL);
  (void)fputs(at + sizeof mark - 1, file);
  return close_whole(file, path);
}

bool report_write(const char *path, const simulated_plan *s) {
  report_parts parts = {.explanation = NULL};
  uint32_t tasks = egraph_simulation_info_of(s->simulation).tasks;
  bool is_ready =
      egraph_plan_remarks(NULL, s->plan, false, &parts.explanation) == EGRAPH_OK &&
      list_texts(s->simulation, tasks, &parts.texts) &&
      repeated_batches_find(s->simulation, &parts.left) &&
      repeated_batches_find(s->in_order, &parts.left_in_order);
  bool written = is_ready ? write_page(path, s, &parts) : report_no_memory(path);
  egraph_string_free(NULL, parts.explanation);
  free(parts.texts.texts);
  return written;
}
