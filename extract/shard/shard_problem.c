// Problems are built node by node and edge by edge; below are the independent certificate
// of a choice, and the reader of files.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_problem.h"

#include <stdlib.h>

#include "base/json_scan.h"

egraph_status eg_shard_problem_init(eg_shard_problem *problem, egraph_allocator alloc) {
  eg_shard_problem_init_members(problem, alloc);
  problem->limit = INT64_MAX;
  EG_TRY(eg_u32s_push(&problem->strategy_begin, 0));
  return eg_sizes_push(&problem->table_begin, 0);
}

// Reserves before it writes, so that a failure leaves the rows consistent.
egraph_status eg_shard_problem_add_node(eg_shard_problem *problem, int64_t first,
                                        int64_t last, const int64_t *cost,
                                        const int64_t *usage, uint32_t count) {
  size_t nodes = problem->first.len, end = problem->cost.len + count;
  if (end >= UINT32_MAX || nodes >= UINT32_MAX - 1)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "a sharding problem has at most %u nodes and strategies; split it",
                   UINT32_MAX - 1);
  EG_TRY(eg_u32s_reserve(&problem->strategy_begin, nodes + 2));
  EG_TRY(eg_i64s_reserve(&problem->first, nodes + 1));
  EG_TRY(eg_i64s_reserve(&problem->last, nodes + 1));
  EG_TRY(eg_i64s_reserve(&problem->cost, end));
  EG_TRY(eg_i64s_reserve(&problem->usage, end));
  EG_TRY(eg_u32s_push(&problem->strategy_begin, (uint32_t)end));
  EG_TRY(eg_i64s_push(&problem->first, first));
  EG_TRY(eg_i64s_push(&problem->last, last));
  EG_TRY(eg_i64s_append(&problem->cost, cost, count));
  return eg_i64s_append(&problem->usage, usage, count);
}

static size_t strategy_count(const eg_shard_problem *problem, uint32_t node) {
  assert(node < eg_shard_node_count(problem));
  return problem->strategy_begin.data[node + 1] - problem->strategy_begin.data[node];
}

egraph_status eg_shard_problem_add_edge(eg_shard_problem *problem, uint32_t a, uint32_t b,
                                        const int64_t *table) {
  assert(a != b);
  // No overflow: both factors are below 2^32.
  size_t size = strategy_count(problem, a) * strategy_count(problem, b);
  size_t edges = problem->table_begin.len - 1;
  if (edges >= UINT32_MAX - 1 || size > SIZE_MAX / sizeof *table - problem->table.len)
    return EG_FAIL(EGRAPH_E_MEMORY, "the tables of a sharding problem are too large");
  EG_TRY(eg_u32s_reserve(&problem->edge_ends, 2 * (edges + 1)));
  EG_TRY(eg_sizes_reserve(&problem->table_begin, edges + 2));
  EG_TRY(eg_i64s_append(&problem->table, table, size));
  EG_TRY(eg_u32s_push(&problem->edge_ends, a));
  EG_TRY(eg_u32s_push(&problem->edge_ends, b));
  return eg_sizes_push(&problem->table_begin, problem->table.len);
}

static egraph_status check_lengths(const eg_shard_problem *problem) {
  size_t nodes = problem->first.len, edges = problem->edge_ends.len / 2;
  if (problem->strategy_begin.len != nodes + 1 || problem->last.len != nodes ||
      problem->table_begin.len != edges + 1 || problem->edge_ends.len % 2 != 0 ||
      problem->usage.len != problem->cost.len ||
      problem->strategy_begin.data[nodes] != problem->cost.len ||
      problem->table_begin.data[edges] != problem->table.len ||
      problem->strategy_begin.data[0] != 0 || problem->table_begin.data[0] != 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "the rows of the sharding problem differ in length; build it with "
                   "eg_shard_problem_add_node and eg_shard_problem_add_edge");
  return EGRAPH_OK;
}

static egraph_status check_strategies(const eg_shard_problem *problem, uint32_t node) {
  uint32_t begin = problem->strategy_begin.data[node];
  uint32_t end = problem->strategy_begin.data[node + 1];
  if (begin >= end || end > problem->cost.len)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "node %u has no strategy; give it one of cost 0 or leave the node out",
                   node);
  for (uint32_t i = begin; i < end; i++) {
    if (problem->cost.data[i] < 0)
      return EG_FAIL(EGRAPH_E_ARGUMENT,
                     "the cost of strategy %u of node %u is %lld; add a constant to all "
                     "costs of the node so that none is negative",
                     i - begin, node, (long long)problem->cost.data[i]);
    if (problem->usage.data[i] < 0)
      return EG_FAIL(EGRAPH_E_ARGUMENT,
                     "the usage of strategy %u of node %u is %lld, but memory in use "
                     "cannot be negative",
                     i - begin, node, (long long)problem->usage.data[i]);
  }
  return EGRAPH_OK;
}

static egraph_status check_ends(const eg_shard_problem *problem, uint32_t edge) {
  uint32_t nodes = eg_shard_node_count(problem);
  const uint32_t *ends = &problem->edge_ends.data[2 * (size_t)edge];
  for (int i = 0; i < 2; i++)
    if (ends[i] >= nodes)
      return EG_FAIL(EGRAPH_E_ARGUMENT, "edge %u ends in node %u of %u; add the node",
                     edge, ends[i], nodes);
  if (ends[0] == ends[1])
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "edge %u joins node %u with itself; add the diagonal of its table to "
                   "the costs of the node",
                   edge, ends[0]);
  return EGRAPH_OK;
}

static egraph_status check_table(const eg_shard_problem *problem, uint32_t edge) {
  const uint32_t *ends = &problem->edge_ends.data[2 * (size_t)edge];
  size_t begin = problem->table_begin.data[edge];
  size_t end = problem->table_begin.data[edge + 1];
  size_t rows = strategy_count(problem, ends[0]),
         columns = strategy_count(problem, ends[1]);
  if (begin > end || end > problem->table.len || end - begin != rows * columns)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "the table of edge %u has %zu entries, but its ends have %zu and %zu "
                   "strategies",
                   edge, begin > end ? (size_t)0 : end - begin, rows, columns);
  for (size_t i = begin; i < end; i++)
    if (problem->table.data[i] < 0)
      return EG_FAIL(EGRAPH_E_ARGUMENT,
                     "entry %zu in the table of edge %u is %lld; add a constant to the "
                     "table so that none is negative",
                     i - begin, edge, (long long)problem->table.data[i]);
  return EGRAPH_OK;
}

egraph_status eg_shard_problem_check(const eg_shard_problem *problem) {
  EG_TRY(check_lengths(problem));
  for (uint32_t node = 0; node < eg_shard_node_count(problem); node++)
    EG_TRY(check_strategies(problem, node));
  for (uint32_t edge = 0; edge < eg_shard_edge_count(problem); edge++) {
    EG_TRY(check_ends(problem, edge));
    EG_TRY(check_table(problem, edge));
  }
  if (problem->limit < 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "the usage limit is %lld; it cannot be negative",
                   (long long)problem->limit);
  return EGRAPH_OK;
}

// ---- certificate ------------------------------------------------------------------

// Cost: every term is below EG_SHARD_INFINITE or makes the sum infinite, and the sum
// stops there, so that no addition can overflow. Peak: nodes enter and leave in the
// order of time; at the same time leaving comes first, because lifetimes are half open.
// Up to 2^32 usages of 63 bits may be alive at once: their halves of 32 bits have
// separate sums.

typedef struct change {
  int64_t time;
  uint64_t usage;
  bool enters;
} change;

EG_VEC_DEFINE(changes, change);

static egraph_status check_choice(const eg_shard_problem *problem,
                                  const uint32_t *choice) {
  const uint32_t *begin = problem->strategy_begin.data;
  for (uint32_t node = 0; node < eg_shard_node_count(problem); node++)
    if (choice[node] >= begin[node + 1] - begin[node])
      return EG_FAIL(EGRAPH_E_INTERNAL, "node %u has strategy %u of %u", node,
                     choice[node], begin[node + 1] - begin[node]);
  return EGRAPH_OK;
}

static int64_t add_cost(int64_t sum, int64_t cost) {
  if (sum >= EG_SHARD_INFINITE || cost >= EG_SHARD_INFINITE - sum)
    return EG_SHARD_INFINITE;
  return sum + cost;
}

static int64_t sum_costs(const eg_shard_problem *problem, const uint32_t *choice) {
  const uint32_t *begin = problem->strategy_begin.data;
  int64_t sum = 0;
  for (uint32_t node = 0; node < eg_shard_node_count(problem); node++)
    sum = add_cost(sum, problem->cost.data[begin[node] + choice[node]]);
  for (uint32_t edge = 0; edge < eg_shard_edge_count(problem); edge++) {
    uint32_t a = problem->edge_ends.data[2 * (size_t)edge];
    uint32_t b = problem->edge_ends.data[2 * (size_t)edge + 1];
    size_t entry = (size_t)choice[a] * (begin[b + 1] - begin[b]) + choice[b];
    sum = add_cost(sum, problem->table.data[problem->table_begin.data[edge] + entry]);
  }
  return sum;
}

static egraph_status list_changes(const eg_shard_problem *problem, const uint32_t *choice,
                                  changes *list) {
  assert(list->len == 0);
  for (uint32_t node = 0; node < eg_shard_node_count(problem); node++) {
    int64_t first = problem->first.data[node], last = problem->last.data[node];
    int64_t usage =
        problem->usage.data[problem->strategy_begin.data[node] + choice[node]];
    if (first >= last || usage == 0) continue;
    EG_TRY(changes_push(list, (change){first, (uint64_t)usage, true}));
    EG_TRY(changes_push(list, (change){last, (uint64_t)usage, false}));
  }
  return EGRAPH_OK;
}

static int compare_changes(const void *left, const void *right) {
  const change *a = left, *b = right;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  return (int)a->enters - (int)b->enters;
}

static int64_t find_peak(const changes *list) {
  assert(list->len % 2 == 0);
  uint64_t low = 0, high = 0, peak_low = 0, peak_high = 0;
  for (size_t i = 0; i < list->len; i++) {
    const change *c = &list->data[i];
    low += c->enters ? c->usage & UINT32_MAX : 0 - (c->usage & UINT32_MAX);
    high += c->enters ? c->usage >> 32 : 0 - (c->usage >> 32);
    uint64_t carried = high + (low >> 32), rest = low & UINT32_MAX;
    if (carried < peak_high || (carried == peak_high && rest <= peak_low)) continue;
    peak_high = carried;
    peak_low = rest;
  }
  if (peak_high > (uint64_t)INT64_MAX >> 32) return INT64_MAX;
  return (int64_t)(peak_high << 32 | peak_low);
}

egraph_status eg_shard_certify(egraph_allocator alloc, const eg_shard_problem *problem,
                               const uint32_t *choice, int64_t *out_cost,
                               int64_t *out_peak) {
  assert(eg_shard_edge_count(problem) * (size_t)2 == problem->edge_ends.len);
  EG_TRY(check_choice(problem, choice));
  EG_LOCAL(changes, list, alloc);
  EG_TRY(list_changes(problem, choice, &list));
  if (list.len > 1) qsort(list.data, list.len, sizeof *list.data, compare_changes);
  *out_cost = sum_costs(problem, choice);
  *out_peak = find_peak(&list);
  return EGRAPH_OK;
}

// ---- files --------------------------------------------------------------------------
// Reads files. The tables of the largest problems have ten million entries and come
// before their nodes; therefore rows go straight into the problem, and their lengths are
// compared at the end.

static const uint64_t MAX_BYTES = (uint64_t)1 << 30;

typedef enum part {
  FILE_PART,
  PROBLEM,
  NODES,
  INTERVALS,
  COSTS,
  USAGES,
  EDGES,
  ENDS,
  TABLES,
  LIMIT,
  PARTS
} part;

static const struct {
  part parent;
  const char *name;
} PART_OF[PARTS] = {
    [FILE_PART] = {FILE_PART, "the file"},
    [PROBLEM] = {FILE_PART, "problem"},
    [NODES] = {PROBLEM, "nodes"},
    [INTERVALS] = {NODES, "intervals"},
    [COSTS] = {NODES, "costs"},
    [USAGES] = {NODES, "usages"},
    [EDGES] = {PROBLEM, "edges"},
    [ENDS] = {EDGES, "nodes"},
    [TABLES] = {EDGES, "costs"},
    [LIMIT] = {PROBLEM, "usage_limit"},
};

typedef struct reader {
  eg_json_scan scan;
  eg_shard_problem *problem;
  bool seen[PARTS];
  eg_i64s intervals, edge_nodes;
  eg_sizes interval_begin, cost_begin, usage_begin, edge_begin;
  // Arrays that hold the rows of a JSON member: row i is values begin[i] .. begin[i + 1].
  struct {
    eg_i64s *values;
    eg_sizes *begin;
  } rows[PARTS];
} reader;

static part find_part(part parent, const char *name) {
  for (part p = PROBLEM; p < PARTS; p++)
    if (PART_OF[p].parent == parent && strcmp(PART_OF[p].name, name) == 0) return p;
  return PARTS;
}

static egraph_status read_number_row(eg_json_scan *scan, eg_i64s *values) {
  size_t count = 0;
  EG_TRY(eg_json_scan_enter(scan, '['));
  for (bool more;;) {
    int64_t value = 0;
    EG_TRY(eg_json_scan_next(scan, ']', &count, &more));
    if (!more) return EGRAPH_OK;
    EG_TRY(eg_json_scan_int64(scan, &value));
    EG_TRY(eg_i64s_push(values, value));
  }
}

static egraph_status read_number_rows(eg_json_scan *scan, eg_i64s *values,
                                      eg_sizes *begin) {
  size_t count = 0;
  EG_TRY(eg_json_scan_enter(scan, '['));
  for (bool more;;) {
    EG_TRY(eg_json_scan_next(scan, ']', &count, &more));
    if (!more) return EGRAPH_OK;
    EG_TRY(read_number_row(scan, values));
    EG_TRY(eg_sizes_push(begin, values->len));
  }
}

static egraph_status read_members(reader *r, part parent);

static egraph_status read_part(reader *r, part p) {
  assert(p <= PARTS);
  if (p == PARTS) return eg_json_scan_skip(&r->scan);
  if (r->seen[p])
    return eg_json_scan_fail(&r->scan, "a second \"%s\"; which of the two counts?",
                             PART_OF[p].name);
  r->seen[p] = true;
  if (p == LIMIT) return eg_json_scan_int64(&r->scan, &r->problem->limit);
  if (r->rows[p].values != NULL)
    return read_number_rows(&r->scan, r->rows[p].values, r->rows[p].begin);
  return read_members(r, p);
}

// Reads the members of a JSON object. Recurses through PART_OF only.
static egraph_status read_members(reader *r, part parent) {
  size_t count = 0;
  EG_TRY(eg_json_scan_enter(&r->scan, '{'));
  for (bool more;;) {
    char name[16];
    EG_TRY(eg_json_scan_next(&r->scan, '}', &count, &more));
    if (!more) return EGRAPH_OK;
    EG_TRY(eg_json_scan_key(&r->scan, name, sizeof name));
    EG_TRY(read_part(r, find_part(parent, name)));
  }
}

static size_t row_count(const eg_sizes *begin) { return begin->len - 1; }
static size_t row_length(const eg_sizes *begin, size_t row) {
  return begin->data[row + 1] - begin->data[row];
}

static egraph_status check_counts(const reader *r) {
  const char *path = r->scan.file.path;
  size_t nodes = row_count(&r->cost_begin), edges = row_count(&r->edge_begin);
  if (row_count(&r->interval_begin) != nodes || row_count(&r->usage_begin) != nodes)
    return EG_FAIL(EGRAPH_E_PARSE,
                   "%s: %zu intervals, %zu costs and %zu usages in nodes; every node "
                   "needs one of each",
                   path, row_count(&r->interval_begin), nodes,
                   row_count(&r->usage_begin));
  if (row_count(&r->problem->table_begin) != edges)
    return EG_FAIL(EGRAPH_E_PARSE,
                   "%s: %zu nodes and %zu costs in edges; every edge needs one of each",
                   path, edges, row_count(&r->problem->table_begin));
  if (r->problem->cost.len >= UINT32_MAX || edges >= UINT32_MAX)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: more than 2^32 strategies or edges; split it",
                   path);
  return EGRAPH_OK;
}

static egraph_status build_node(reader *r, size_t node) {
  eg_shard_problem *problem = r->problem;
  size_t costs = row_length(&r->cost_begin, node);
  size_t usages = row_length(&r->usage_begin, node);
  if (costs != usages)
    return EG_FAIL(EGRAPH_E_PARSE,
                   "%s: node %zu has %zu costs and %zu usages; every strategy needs one "
                   "of each",
                   r->scan.file.path, node, costs, usages);
  if (row_length(&r->interval_begin, node) != 2)
    return EG_FAIL(EGRAPH_E_PARSE,
                   "%s: the interval of node %zu has %zu numbers; write [first, last), "
                   "or [0, 0] when it takes no memory",
                   r->scan.file.path, node, row_length(&r->interval_begin, node));
  EG_TRY(eg_i64s_push(&problem->first, r->intervals.data[2 * node]));
  EG_TRY(eg_i64s_push(&problem->last, r->intervals.data[2 * node + 1]));
  return eg_u32s_push(&problem->strategy_begin, (uint32_t)r->cost_begin.data[node + 1]);
}

static egraph_status build_edge(reader *r, size_t edge, size_t nodes) {
  if (row_length(&r->edge_begin, edge) != 2)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: edge %zu has %zu nodes instead of 2",
                   r->scan.file.path, edge, row_length(&r->edge_begin, edge));
  for (size_t i = 0; i < 2; i++) {
    int64_t node = r->edge_nodes.data[2 * edge + i];
    if (node < 0 || (uint64_t)node >= nodes)
      return EG_FAIL(EGRAPH_E_PARSE,
                     "%s: edge %zu ends in node %lld of %zu; count from 0",
                     r->scan.file.path, edge, (long long)node, nodes);
    EG_TRY(eg_u32s_push(&r->problem->edge_ends, (uint32_t)node));
  }
  return EGRAPH_OK;
}

static egraph_status build_problem(reader *r) {
  assert(r->seen[NODES] && r->seen[EDGES]);
  size_t nodes = row_count(&r->cost_begin), edges = row_count(&r->edge_begin);
  EG_TRY(check_counts(r));
  for (size_t node = 0; node < nodes; node++)
    EG_TRY(build_node(r, node));
  for (size_t edge = 0; edge < edges; edge++)
    EG_TRY(build_edge(r, edge, nodes));
  egraph_status status = eg_shard_problem_check(r->problem);
  if (status != EGRAPH_E_ARGUMENT) return status;
  return eg_fail_context(EGRAPH_E_PARSE, "%s", r->scan.file.path);
}

static egraph_status read_iopddl(reader *r) {
  eg_sizes *owned[] = {&r->interval_begin, &r->cost_begin, &r->usage_begin,
                       &r->edge_begin};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
    EG_TRY(eg_sizes_push(owned[i], 0));
  EG_TRY(read_members(r, FILE_PART));
  EG_TRY(eg_json_scan_end(&r->scan));
  for (part p = PROBLEM; p < LIMIT; p++)
    if (!r->seen[p])
      return EG_FAIL(EGRAPH_E_PARSE, "%s: no \"%s\" in %s; is it an IOPDDL problem?",
                     r->scan.file.path, PART_OF[p].name, PART_OF[PART_OF[p].parent].name);
  return build_problem(r);
}

#define READER_MEMBERS                                                                   \
  (eg_i64s, intervals, edge_nodes),                                                      \
      (eg_sizes, interval_begin, cost_begin, usage_begin, edge_begin)

static void reader_deinit(reader *r) {
  EG_DEINIT_MEMBERS(r, READER_MEMBERS);
  eg_json_scan_close(&r->scan);
}

/// Reads the problem from the JSON text of r->scan.
static egraph_status read_problem(reader *r, eg_shard_problem *problem) {
  EG_INIT_MEMBERS(r, r->scan.alloc, READER_MEMBERS);
  r->problem = problem;
  r->rows[INTERVALS].values = &r->intervals;
  r->rows[INTERVALS].begin = &r->interval_begin;
  r->rows[COSTS].values = &r->problem->cost;
  r->rows[COSTS].begin = &r->cost_begin;
  r->rows[USAGES].values = &r->problem->usage;
  r->rows[USAGES].begin = &r->usage_begin;
  r->rows[ENDS].values = &r->edge_nodes;
  r->rows[ENDS].begin = &r->edge_begin;
  r->rows[TABLES].values = &r->problem->table;
  r->rows[TABLES].begin = &r->problem->table_begin;
  return read_iopddl(r);
}

egraph_status eg_iopddl_read(const char *path, eg_shard_problem *problem) {
  EG_OWNED(reader, r);
  EG_TRY(eg_json_scan_open(&r.scan, problem->cost.alloc, path, MAX_BYTES));
  return read_problem(&r, problem);
}

egraph_status eg_iopddl_parse(const char *name, const char *text, size_t size,
                              eg_shard_problem *problem) {
  EG_OWNED(reader, r);
  EG_TRY(eg_json_scan_open_bytes(&r.scan, problem->cost.alloc, name, text, size));
  return read_problem(&r, problem);
}
