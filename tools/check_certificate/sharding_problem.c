// SPDX-License-Identifier: Apache-2.0
#include "tools/check_certificate/sharding_problem.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 1 << 24 };

static bool push(problem_json *json, numbers *list, int64_t value) {
  if (!input_grow(&list->at, &list->capacity, list->count + 1, sizeof *list->at))
    return json_refuse(json, "out of memory");
  list->at[list->count++] = value;
  return true;
}

// Lists of lists of numbers: row i is values row[i] .. row[i + 1].
typedef struct lists {
  numbers values, row;
  bool seen;
} lists;

typedef struct parts {
  lists intervals, costs, usages, ends, tables;
  int64_t limit;
  bool limited, found;
} parts;

static bool read_value(problem_json *json, void *user) {
  lists *out = user;
  int64_t value;
  return json_int64(json, &value) && push(json, &out->values, value);
}

static bool read_row(problem_json *json, void *user) {
  lists *out = user;
  return json_array(json, read_value, out) &&
         push(json, &out->row, (int64_t)out->values.count);
}

static bool read_lists(problem_json *json, lists *out) {
  if (out->seen) return json_refuse(json, "a part of the problem occurs twice");
  out->seen = true;
  return push(json, &out->row, 0) && json_array(json, read_row, out);
}

static bool read_of_nodes(problem_json *json, const char *key, void *user) {
  parts *p = user;
  return strcmp(key, "intervals") == 0 ? read_lists(json, &p->intervals)
         : strcmp(key, "costs") == 0   ? read_lists(json, &p->costs)
         : strcmp(key, "usages") == 0  ? read_lists(json, &p->usages)
                                       : json_skip(json);
}

static bool read_of_edges(problem_json *json, const char *key, void *user) {
  parts *p = user;
  return strcmp(key, "nodes") == 0   ? read_lists(json, &p->ends)
         : strcmp(key, "costs") == 0 ? read_lists(json, &p->tables)
                                     : json_skip(json);
}

static bool read_of_problem(problem_json *json, const char *key, void *user) {
  parts *p = user;
  if (strcmp(key, "nodes") == 0) return json_object(json, read_of_nodes, p);
  if (strcmp(key, "edges") == 0) return json_object(json, read_of_edges, p);
  if (strcmp(key, "usage_limit") != 0) return json_skip(json);
  if (p->limited) return json_refuse(json, "two limits");
  return p->limited = json_int64(json, &p->limit);
}

static bool read_section(problem_json *json, const char *key, void *user) {
  parts *p = user;
  if (strcmp(key, "problem") != 0) return json_skip(json);
  if (p->found) return json_refuse(json, "two problems");
  p->found = true;
  return json_object(json, read_of_problem, p);
}

static size_t rows_of(const lists *l) { return l->row.count == 0 ? 0 : l->row.count - 1; }

static int compare_times(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return a < b ? -1 : a > b;
}

uint32_t sharding_slot(const sharding_problem *p, int64_t time) {
  uint32_t low = 0, high = p->slots + 1;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (p->time[middle] <= time)
      low = middle;
    else
      high = middle;
  }
  return low;
}

// Computes the slots of time: the intervals between consecutive times at which a node
// begins or ends to use memory.
static bool take_intervals(problem_json *json, const lists *l, sharding_problem *out) {
  size_t count = 0;
  if (!INPUT_ROOM(&json->in, out->time, 2 * (size_t)out->nodes + 2) ||
      !INPUT_ROOM(&json->in, out->first, out->nodes + 1) ||
      !INPUT_ROOM(&json->in, out->last, out->nodes + 1))
    return false;
  for (size_t i = 0; i < out->nodes; i++) {
    if (l->row.at[i + 1] - l->row.at[i] != 2)
      return json_refuse(json, "interval %zu is none", i);
    const int64_t *ends = l->values.at + l->row.at[i];
    if (ends[0] >= ends[1]) continue;
    out->time[count++] = ends[0];
    out->time[count++] = ends[1];
  }
  qsort(out->time, count, sizeof *out->time, compare_times);
  size_t unique = 0;
  for (size_t i = 0; i < count; i++)
    if (unique == 0 || out->time[unique - 1] != out->time[i])
      out->time[unique++] = out->time[i];
  out->slots = unique == 0 ? 0 : (uint32_t)unique - 1;
  for (size_t i = 0; i < out->nodes; i++) {
    const int64_t *ends = l->values.at + l->row.at[i];
    if (ends[0] >= ends[1]) continue;
    out->first[i] = sharding_slot(out, ends[0]);
    out->last[i] = sharding_slot(out, ends[1]);
  }
  return true;
}

static bool take_strategies(problem_json *json, parts *p, sharding_problem *out) {
  if (!INPUT_ROOM(&json->in, out->begin, (size_t)out->nodes + 1)) return false;
  if (p->costs.values.count >= UINT32_MAX / 2)
    return json_refuse(json, "too many strategies");
  for (size_t i = 0; i < out->nodes; i++) {
    int64_t count = p->costs.row.at[i + 1] - p->costs.row.at[i];
    if (count == 0 || p->usages.row.at[i + 1] - p->usages.row.at[i] != count)
      return json_refuse(json, "node %zu has no strategy, or costs without usages", i);
    out->begin[i + 1] = out->begin[i] + (uint32_t)count;
  }
  for (size_t i = 0; i < p->costs.values.count; i++)
    if (p->costs.values.at[i] < 0 || p->usages.values.at[i] < 0)
      return json_refuse(json, "strategy %zu has a negative cost or usage", i);
  out->cost = p->costs.values;
  out->usage = p->usages.values;
  p->costs.values = p->usages.values = (numbers){NULL, 0, 0};
  return true;
}

static bool take_edges(problem_json *json, parts *p, sharding_problem *out) {
  if (!INPUT_ROOM(&json->in, out->ends, 2 * (size_t)out->edges + 1) ||
      !INPUT_ROOM(&json->in, out->table_begin, (size_t)out->edges + 1))
    return false;
  for (size_t e = 0; e < out->edges; e++) {
    const int64_t *ends = p->ends.values.at + p->ends.row.at[e];
    if (p->ends.row.at[e + 1] - p->ends.row.at[e] != 2 || ends[0] < 0 || ends[1] < 0 ||
        ends[0] >= out->nodes || ends[1] >= out->nodes || ends[0] == ends[1])
      return json_refuse(json, "edge %zu does not join two nodes", e);
    size_t size = 1;
    for (size_t side = 0; side < 2; side++) {
      uint32_t n = out->ends[2 * e + side] = (uint32_t)ends[side];
      size *= out->begin[n + 1] - out->begin[n];
    }
    if ((size_t)(p->tables.row.at[e + 1] - p->tables.row.at[e]) != size)
      return json_refuse(json, "edge %zu has a table of another size", e);
    out->table_begin[e + 1] = out->table_begin[e] + size;
  }
  for (size_t i = 0; i < p->tables.values.count; i++)
    if (p->tables.values.at[i] < 0)
      return json_refuse(json, "entry %zu of the tables is negative", i);
  out->table = p->tables.values;
  p->tables.values = (numbers){NULL, 0, 0};
  return true;
}

static bool take_problem(problem_json *json, parts *p, sharding_problem *out) {
  size_t nodes = rows_of(&p->costs), edges = rows_of(&p->ends);
  if (nodes > MOST_NODES || edges > MOST_NODES)
    return json_refuse(json, "too many nodes or edges");
  if (rows_of(&p->intervals) != nodes || rows_of(&p->usages) != nodes ||
      rows_of(&p->tables) != edges)
    return json_refuse(json, "parts of the problem differ in length");
  out->nodes = (uint32_t)nodes;
  out->edges = (uint32_t)edges;
  out->limit = p->limited ? p->limit : INT64_MAX;
  if (out->limit < 0) return json_refuse(json, "a negative limit");
  return take_intervals(json, &p->intervals, out) && take_strategies(json, p, out) &&
         take_edges(json, p, out);
}

bool sharding_read(problem_json *json, sharding_problem *out) {
  parts p = {.limited = false};
  *out = (sharding_problem){.nodes = 0};
  bool good = json_object(json, read_section, &p) &&
              (p.found ? json_end(json) : json_refuse(json, "no problem")) &&
              take_problem(json, &p, out);
  lists *all[] = {&p.intervals, &p.costs, &p.usages, &p.ends, &p.tables};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    free(all[i]->values.at);
    free(all[i]->row.at);
  }
  return good;
}

void sharding_close(sharding_problem *problem) {
  free(problem->cost.at);
  free(problem->usage.at);
  free(problem->table.at);
}

bool sharding_evaluate(problem_json *json, const sharding_problem *p,
                       const uint32_t *choice, int64_t *out_cost, int64_t *out_peak) {
  wide *load;
  if (!INPUT_ROOM(&json->in, load, (size_t)p->slots + 1)) return false;
  wide cost = 0, sum = 0, peak = 0;
  for (size_t n = 0; n < p->nodes; n++) {
    size_t strategy = (size_t)p->begin[n] + choice[n];
    cost += p->cost.at[strategy];
    if (p->first[n] == p->last[n]) continue;
    load[p->first[n]] += p->usage.at[strategy];
    load[p->last[n]] -= p->usage.at[strategy];
  }
  for (size_t e = 0; e < p->edges; e++) {
    uint32_t a = p->ends[2 * e], b = p->ends[2 * e + 1];
    size_t width = p->begin[b + 1] - p->begin[b];
    cost += p->table.at[p->table_begin[e] + choice[a] * width + choice[b]];
  }
  for (size_t s = 0; s < p->slots; s++) {
    sum += load[s];
    if (sum > peak) peak = sum;
  }
  *out_cost = cost < FORBIDDEN ? (int64_t)cost : FORBIDDEN;
  *out_peak = peak < INT64_MAX ? (int64_t)peak : INT64_MAX;
  return true;
}

// Adds the largest finite number of a row to the sum.
static bool add_largest(const int64_t *at, size_t count, int64_t *sum) {
  int64_t largest = 0;
  for (size_t i = 0; i < count; i++)
    if (at[i] < FORBIDDEN && at[i] > largest) largest = at[i];
  if (largest > (INT64_C(1) << 58) - *sum) return false;
  *sum += largest;
  return true;
}

int64_t sharding_most(const sharding_problem *p) {
  int64_t sum = 0;
  for (size_t n = 0; n < p->nodes; n++)
    if (!add_largest(p->cost.at + p->begin[n], p->begin[n + 1] - p->begin[n], &sum))
      return FORBIDDEN;
  for (size_t e = 0; e < p->edges; e++)
    if (!add_largest(p->table.at + p->table_begin[e],
                     p->table_begin[e + 1] - p->table_begin[e], &sum))
      return FORBIDDEN;
  return sum;
}
