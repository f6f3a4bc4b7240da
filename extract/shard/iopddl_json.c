// The tables of the largest problems have ten million entries and come before the nodes
// they belong to: rows go straight to where the problem keeps them, and their lengths are
// compared when all is read.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/iopddl_json.h"

#include "base/json_scan.h"
#include "base/owner.h"

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
  // Where the rows of a part go: row i is values begin[i] .. begin[i + 1].
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

static egraph_status read_row(eg_json_scan *scan, eg_i64s *values) {
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

static egraph_status read_rows(eg_json_scan *scan, eg_i64s *values, eg_sizes *begin) {
  size_t count = 0;
  EG_TRY(eg_json_scan_enter(scan, '['));
  for (bool more;;) {
    EG_TRY(eg_json_scan_next(scan, ']', &count, &more));
    if (!more) return EGRAPH_OK;
    EG_TRY(read_row(scan, values));
    EG_TRY(eg_sizes_push(begin, values->len));
  }
}

static egraph_status read_members(reader *r, part parent);

static egraph_status read_part(reader *r, part p) {
  if (p == PARTS) return eg_json_scan_skip(&r->scan);
  if (r->seen[p])
    return eg_json_scan_fail(&r->scan, "a second \"%s\"; which of the two counts?",
                             PART_OF[p].name);
  r->seen[p] = true;
  if (p == LIMIT) return eg_json_scan_int64(&r->scan, &r->problem->limit);
  if (r->rows[p].values != NULL)
    return read_rows(&r->scan, r->rows[p].values, r->rows[p].begin);
  return read_members(r, p);
}

// Recurses through PART_OF only.
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

static size_t rows_of(const eg_sizes *begin) { return begin->len - 1; }
static size_t row_length(const eg_sizes *begin, size_t row) {
  return begin->data[row + 1] - begin->data[row];
}

static egraph_status check_counts(const reader *r) {
  const char *path = r->scan.file.path;
  size_t nodes = rows_of(&r->cost_begin), edges = rows_of(&r->edge_begin);
  if (rows_of(&r->interval_begin) != nodes || rows_of(&r->usage_begin) != nodes)
    return EG_FAIL(EGRAPH_E_PARSE,
                   "%s: %zu intervals, %zu costs and %zu usages in nodes; every node "
                   "needs one of each",
                   path, rows_of(&r->interval_begin), nodes, rows_of(&r->usage_begin));
  if (rows_of(&r->problem->table_begin) != edges)
    return EG_FAIL(EGRAPH_E_PARSE,
                   "%s: %zu nodes and %zu costs in edges; every edge needs one of each",
                   path, edges, rows_of(&r->problem->table_begin));
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

static egraph_status build(reader *r) {
  size_t nodes = rows_of(&r->cost_begin), edges = rows_of(&r->edge_begin);
  EG_TRY(check_counts(r));
  for (size_t node = 0; node < nodes; node++)
    EG_TRY(build_node(r, node));
  for (size_t edge = 0; edge < edges; edge++)
    EG_TRY(build_edge(r, edge, nodes));
  egraph_status status = eg_shard_problem_check(r->problem);
  if (status != EGRAPH_E_ARGUMENT) return status;
  return eg_fail_context(EGRAPH_E_PARSE, "%s", r->scan.file.path);
}

static egraph_status read_file(reader *r) {
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
  return build(r);
}

#define READER_MEMBERS                                                                   \
  (eg_i64s, intervals, edge_nodes),                                                      \
      (eg_sizes, interval_begin, cost_begin, usage_begin, edge_begin)

static void init_rows(reader *r, egraph_allocator alloc) {
  EG_INIT_MEMBERS(r, alloc, READER_MEMBERS);
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
}

// Reads from r->scan, which it closes.
static egraph_status read_problem(reader *r) {
  init_rows(r, r->scan.alloc);
  egraph_status status = read_file(r);
  EG_DEINIT_MEMBERS(r, READER_MEMBERS);
  eg_json_scan_close(&r->scan);
  return status;
}

egraph_status eg_iopddl_read(const char *path, eg_shard_problem *problem) {
  reader r = {.problem = problem};
  EG_TRY(eg_json_scan_open(&r.scan, problem->cost.alloc, path, MAX_BYTES));
  return read_problem(&r);
}

egraph_status eg_iopddl_parse(const char *name, const char *text, size_t size,
                              eg_shard_problem *problem) {
  reader r = {.problem = problem};
  EG_TRY(eg_json_scan_open_bytes(&r.scan, problem->cost.alloc, name, text, size));
  return read_problem(&r);
}
