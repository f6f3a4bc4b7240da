// SPDX-License-Identifier: Apache-2.0
#include "tools/repeated_batches.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TASKS = 20000, KEPT = 2 };

/// The tasks of a step, grouped by micro-batch.
typedef struct batches {
  const egraph_simulation *simulation;
  uint32_t count;
  uint32_t *begin; // [micro-batch] where its tasks begin in `tasks`; one more entry ends
                   // the last
  uint32_t *tasks;
  double tolerance; // seconds; times that differ by less are equal
} batches;

static bool sort_tasks(batches *b, uint32_t task_count) {
  for (uint32_t t = 0; t < task_count; t++) {
    uint32_t of = egraph_simulation_task_at(b->simulation, t).micro_batch;
    if (of >= b->count) b->count = of + 1;
  }
  b->begin = calloc((size_t)b->count + 2, sizeof *b->begin);
  b->tasks = malloc(((size_t)task_count + 1) * sizeof *b->tasks);
  if (b->begin == NULL || b->tasks == NULL) return false;
  for (uint32_t t = 0; t < task_count; t++)
    b->begin[egraph_simulation_task_at(b->simulation, t).micro_batch + 2]++;
  for (uint32_t i = 2; i < b->count + 2; i++)
    b->begin[i] += b->begin[i - 1];
  for (uint32_t t = 0; t < task_count; t++) {
    uint32_t of = egraph_simulation_task_at(b->simulation, t).micro_batch;
    b->tasks[b->begin[of + 1]++] = t;
  }
  return true;
}

static egraph_simulation_task task_of(const batches *b, uint32_t batch, uint32_t index) {
  return egraph_simulation_task_at(b->simulation, b->tasks[b->begin[batch] + index]);
}

static bool is_same_work(const egraph_simulation_task *x,
                         const egraph_simulation_task *y) {
  return strcmp(x->name, y->name) == 0 && strcmp(x->what, y->what) == 0 &&
         strcmp(x->axis, y->axis) == 0 && strcmp(x->phase, y->phase) == 0 &&
         x->stream == y->stream && x->bytes == y->bytes;
}

/// Returns how many seconds later the next micro-batch does the same tasks; NAN if their
/// tasks differ.
static double delay_of_next(const batches *b, uint32_t batch) {
  uint32_t count = b->begin[batch + 1] - b->begin[batch];
  double delay = NAN;
  if (batch + 1 >= b->count || b->begin[batch + 2] - b->begin[batch + 1] != count)
    return NAN;
  for (uint32_t i = 0; i < count; i++) {
    egraph_simulation_task task = task_of(b, batch, i), next = task_of(b, batch + 1, i);
    if (i == 0) delay = next.start - task.start;
    if (!is_same_work(&task, &next) ||
        fabs(next.start - task.start - delay) > b->tolerance ||
        fabs(next.end - task.end - delay) > b->tolerance)
      return NAN;
  }
  return delay;
}

static double first_start(const batches *b, uint32_t batch) {
  double first = INFINITY;
  for (uint32_t i = 0; i < b->begin[batch + 1] - b->begin[batch]; i++)
    first = fmin(first, task_of(b, batch, i).start);
  return first;
}

/// Finds the longest run of equal micro-batches; `out_end` is one after its last.
static void find_run(const batches *b, uint32_t *out_begin, uint32_t *out_end) {
  double delay = NAN;
  uint32_t begin = 0;
  *out_begin = *out_end = 0;
  for (uint32_t i = 0; i + 1 < b->count; i++) {
    double next = delay_of_next(b, i);
    if (!(fabs(next - delay) <= b->tolerance)) {
      begin = i;
      delay = next;
    }
    if (!isnan(next) && i + 2 - begin > *out_end - *out_begin) {
      *out_begin = begin;
      *out_end = i + 2;
    }
  }
}

bool repeated_batches_find(const egraph_simulation *simulation, repeated_batches *out) {
  egraph_simulation_info info = egraph_simulation_info_of(simulation);
  batches b = {.simulation = simulation, .tolerance = 1e-9 * info.seconds};
  *out = (repeated_batches){.count = 0};
  if (info.tasks <= MOST_TASKS) return true;
  bool is_sorted = sort_tasks(&b, info.tasks);
  if (is_sorted) {
    uint32_t begin, end;
    find_run(&b, &begin, &end);
    if (end - begin > 2 * KEPT) {
      out->first = begin + KEPT;
      out->count = end - begin - 2 * KEPT;
      out->from = first_start(&b, out->first);
      out->until = first_start(&b, out->first + out->count);
    }
  }
  free(b.begin);
  free(b.tasks);
  return is_sorted;
}

bool repeated_batches_have(const repeated_batches *out, uint32_t micro_batch) {
  return micro_batch >= out->first && micro_batch - out->first < out->count;
}

bool repeated_batches_have_time(const repeated_batches *out, double seconds) {
  return out->count != 0 && seconds >= out->from && seconds < out->until;
}
