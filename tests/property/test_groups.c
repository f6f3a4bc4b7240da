// Groups as choices, against an exhaustive search over all groups of a small graph: each
// set of values that are written, and for each of them each set of operators that can be
// inside of its group. The plan with groups is never cheaper than that, never dearer than
// the plan without groups, and nearly always the cheapest. No group crosses equal blocks.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "base/hash.h"
#include "extract/layout/layout_solve.h"
#include "optimize/model/plan_model.h"
#include "optimize/space/groups.h"
#include "pcg/graph/graph.h"
#include "tests/testing.h"

enum { LEAVES = 3, NODES = 6, ROWS = 8, COLUMNS = 16 };

typedef struct drawn_node {
  const char *op;
  uint32_t count, operands[2]; // values: leaves, then nodes
  bool is_column;              // of [ROWS, 1]
  double flops;
} drawn_node;

typedef struct drawn_graph {
  eg_rng rng;
  drawn_node nodes[NODES];
  uint32_t count, outputs; // nodes; a bit per node that is an output
  double latency, per_byte, per_flop;
} drawn_graph;

static uint32_t below(drawn_graph *d, uint32_t bound) {
  return (uint32_t)eg_rng_below(&d->rng, bound);
}

static bool is_column(const drawn_graph *d, uint32_t value) {
  return value >= LEAVES && d->nodes[value - LEAVES].is_column;
}

static double bytes_of(const drawn_graph *d, uint32_t value) {
  return 4.0 * ROWS * (is_column(d, value) ? 1 : COLUMNS);
}

static bool is_drawn_before(const drawn_graph *d, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (d->nodes[i].op == d->nodes[n].op && d->nodes[i].count == d->nodes[n].count &&
        d->nodes[i].operands[0] == d->nodes[n].operands[0] &&
        (d->nodes[n].count == 1 || d->nodes[i].operands[1] == d->nodes[n].operands[1]))
      return true;
  return false;
}

static void draw_node(drawn_graph *d, uint32_t n) {
  static const char *const one[] = {"tanh", "square", "exp", "neg"};
  static const char *const two[] = {"sub", "div"}; // operands do not commute
  drawn_node *node = &d->nodes[n];
  do {
    uint32_t a = below(d, LEAVES + n), b = below(d, LEAVES + n);
    *node = (drawn_node){.count = 1, .operands = {a, b}};
    node->op = one[below(d, 4)];
    if (below(d, 5) == 0 && !is_column(d, a)) node->op = "reduce-mean";
    if (below(d, 2) == 0 && a != b && !(is_column(d, a) && !is_column(d, b))) {
      node->op = two[below(d, 2)];
      node->count = 2;
    }
    bool mixes = strcmp(node->op, "reduce-mean") == 0;
    node->is_column = mixes || is_column(d, a);
    bool is_dear = strcmp(node->op, "tanh") == 0 || strcmp(node->op, "exp") == 0;
    node->flops = (is_dear ? 8.0 : 1.0) * ROWS * (is_column(d, a) ? 1 : COLUMNS);
  } while (is_drawn_before(d, n));
}

static void draw_graph(drawn_graph *d, uint64_t seed) {
  static const double latencies[] = {0, 50}, works[] = {0, 0.5, 4};
  *d = (drawn_graph){.rng = {seed}, .per_byte = 1};
  d->latency = latencies[below(d, 2)];
  d->per_flop = works[below(d, 3)];
  d->count = 3 + below(d, NODES - 2);
  for (uint32_t n = 0; n < d->count; n++)
    draw_node(d, n);
  d->outputs = UINT32_C(1) << (d->count - 1);
  if (below(d, 3) == 0) d->outputs |= UINT32_C(1) << below(d, d->count);
}

// ---- exhaustive search ----------------------------------------------------------------

/// Returns the price of a group: `inside`, a bit per node, ends in node `last`; INFINITY
/// where an operand is neither inside nor written, or what is inside does not reach
/// `last`.
static double group_price(const drawn_graph *d, uint32_t last, uint32_t inside,
                          uint32_t written) {
  double price = d->latency + d->per_byte * bytes_of(d, LEAVES + last);
  uint32_t reached = UINT32_C(1) << last, read = 0;
  for (uint32_t n = last + 1; n-- > 0;) {
    if ((inside >> n & 1) == 0) continue;
    if ((reached >> n & 1) == 0) return INFINITY;
    price += d->per_flop * d->nodes[n].flops;
    for (uint32_t k = 0; k < d->nodes[n].count; k++) {
      uint32_t value = d->nodes[n].operands[k];
      bool is_node = value >= LEAVES;
      if (is_node && (inside >> (value - LEAVES) & 1) != 0) {
        reached |= UINT32_C(1) << (value - LEAVES);
        continue;
      }
      if (is_node && (written >> (value - LEAVES) & 1) == 0) return INFINITY;
      if ((read >> value & 1) == 0) price += d->per_byte * bytes_of(d, value);
      read |= UINT32_C(1) << value;
    }
  }
  return price;
}

/// Returns the least cost of a plan in which these values are written. `has_groups`
/// false: every operator runs alone.
static double cost_of(const drawn_graph *d, uint32_t written, bool has_groups) {
  double cost = 0;
  for (uint32_t v = 0; v < d->count; v++) {
    if ((written >> v & 1) == 0) continue;
    double least = INFINITY;
    for (uint32_t inside = 0; inside < UINT32_C(2) << v; inside++)
      if ((inside >> v & 1) != 0 && (has_groups || inside == UINT32_C(1) << v))
        least = fmin(least, group_price(d, v, inside, written));
    cost += least;
  }
  return cost;
}

static double search_all(const drawn_graph *d, bool has_groups) {
  double least = INFINITY;
  for (uint32_t written = 0; written < UINT32_C(1) << d->count; written++)
    if ((written & d->outputs) == d->outputs)
      least = fmin(least, cost_of(d, written, has_groups));
  return least;
}

// ---- the product's search -------------------------------------------------------------

static egraph_status price_node(void *self, const eg_node_spec *local,
                                eg_node_price *out) {
  const drawn_graph *d = self;
  out->seconds =
      d->latency +
      d->per_byte * eg_op_bytes(local->attrs, local->inputs, local->input_count,
                                local->results, local->result_count) +
      d->per_flop * eg_op_flops(local->attrs, local->inputs, local->input_count);
  return EGRAPH_OK;
}

static double price_nothing(void *self, const eg_transition *transition, double bytes) {
  (void)self, (void)transition, (void)bytes;
  return 0;
}

static void print_graph(const drawn_graph *d, eg_text *text) {
  eg_text_append(text, "(egraph-graph 1)");
  for (uint32_t v = 0; v < LEAVES; v++)
    eg_text_printf(text, "(input v%u \"float32[%d,%d]\")", v, ROWS, COLUMNS);
  for (uint32_t n = 0; n < d->count; n++) {
    const drawn_node *node = &d->nodes[n];
    bool mixes = strcmp(node->op, "reduce-mean") == 0;
    eg_text_printf(text, "(let v%u (%s%s v%u", LEAVES + n, node->op,
                   mixes ? " :axes [1] :keepdims 1" : "", node->operands[0]);
    if (node->count == 2) eg_text_printf(text, " v%u", node->operands[1]);
    eg_text_append(text, "))");
  }
  for (uint32_t n = 0; n < d->count; n++)
    if ((d->outputs >> n & 1) != 0) eg_text_printf(text, "(output v%u)", LEAVES + n);
  assert_ok(eg_text_status(text));
}

static double plan_cost(drawn_graph *d, bool has_groups) {
  EG_LOCAL(eg_text, text, eg_allocator_heap());
  eg_graph *graph;
  eg_tensor_egraph *egraph;
  eg_plan_space space;
  eg_plan_model model;
  eg_layout_result result;
  const eg_mesh mesh = {.axis_count = 0};
  const eg_step_info info = {.micro_batches = 1, .memory_limit = INFINITY};
  const eg_plan_costs costs = {
      .self = d, .node = price_node, .transition = price_nothing};
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  options.relative_gap = 0;
  print_graph(d, &text);
  assert_ok(eg_graph_parse(NULL, "drawn", eg_text_of(&text), strlen(eg_text_of(&text)),
                           &graph));
  assert_ok(eg_tensor_egraph_create(NULL, graph, &egraph));
  assert_ok(eg_engine_rebuild(eg_tensor_egraph_engine(egraph)));
  if (has_groups) assert_ok(eg_groups_add(egraph, &info, true));
  assert_ok(
      eg_plan_space_init(&space, eg_allocator_heap(), egraph, &info, &mesh, &costs));
  assert_ok(eg_plan_model_init(&model, eg_allocator_heap(), &space));
  eg_layout_result_init(&result, eg_allocator_heap());
  assert_ok(eg_layout_solve(eg_allocator_heap(), &model.problem, &options, &result));
  assert_int_equal(result.status, EG_LAYOUT_OPTIMAL);
  double cost = result.solutions.data[0].cost;
  assert_true(result.bound >= cost * (1 - 1e-9));
  eg_layout_result_deinit(&result);
  eg_plan_model_deinit(&model);
  eg_plan_space_deinit(&space);
  eg_tensor_egraph_destroy(egraph);
  eg_graph_destroy(graph);
  return cost;
}

static void groups_are_nearly_always_the_cheapest(void **unused) {
  (void)unused;
  uint64_t seed = test_seed(1);
  size_t rounds = test_rounds(300), equal = 0;
  double excess = 0, gain = 0;
  for (size_t i = 0; i < rounds; i++) {
    drawn_graph d;
    draw_graph(&d, seed + i);
    double alone = plan_cost(&d, false), grouped = plan_cost(&d, true);
    double least = search_all(&d, true);
    assert_true(fabs(alone / search_all(&d, false) - 1) < 1e-9);
    assert_true(grouped >= least * (1 - 1e-9));
    assert_true(grouped <= alone * (1 + 1e-9));
    equal += grouped <= least * (1 + 1e-9);
    excess += grouped / least - 1;
    gain += 1 - least / alone;
  }
  print_message(
      "%zu of %zu plans are the cheapest; mean excess %.2f %%, mean gain of all "
      "groups %.1f %%\n",
      equal, rounds, 100 * excess / (double)rounds, 100 * gain / (double)rounds);
  assert_true(equal * 10 >= rounds * 9 && excess < 0.01 * (double)rounds);
}

// ---- equal blocks ---------------------------------------------------------------------

enum { BLOCKS = 13, BLOCK_NODES = 4 };

/// Returns the most operators that a fused node of the e-graph has.
static uint32_t most_operators(const eg_tensor_egraph *egraph) {
  const eg_engine *engine = eg_tensor_egraph_engine_of(egraph);
  uint32_t most = 0;
  for (eg_node n = eg_engine_first_node(engine); n.id != EG_NODE_NONE.id;
       n = eg_engine_next_node(engine, n)) {
    eg_term term = eg_engine_term(engine, n);
    if (term.op != EG_OP_FUSED) continue;
    const eg_attrs *attrs = eg_tensor_egraph_attrs_at(egraph, term.payload);
    uint32_t count = 0;
    for (const char *at = eg_attr_at(attrs, EG_A_FUSED_BODY)->text; *at != '\0'; at++)
      count += *at == '(';
    if (count > most) most = count;
  }
  return most;
}

/// Equal blocks, and two operators behind them.
static eg_graph *parse_chain(void) {
  static const char *const ops[BLOCK_NODES] = {"tanh", "neg", "square", "sigmoid"};
  EG_LOCAL(eg_text, text, eg_allocator_heap());
  eg_graph *graph;
  eg_text_append(&text, "(egraph-graph 1)(input x \"float32[8,16]\")"
                        "(weight w \"float32[16,16]\")(let v0 (matmul x w))");
  for (int i = 0; i < BLOCKS * BLOCK_NODES; i++)
    eg_text_printf(&text, "(let v%d (%s v%d))", i + 1, ops[i % BLOCK_NODES], i);
  assert_ok(eg_text_printf(&text, "(let a (abs v%d))(let y (neg a))(output y)",
                           BLOCKS * BLOCK_NODES));
  assert_ok(eg_graph_parse(NULL, "chain", eg_text_of(&text), strlen(eg_text_of(&text)),
                           &graph));
  return graph;
}

/// Returns the most operators of a group in the chain whose blocks are folded in groups
/// of `size`; 0: not folded.
static uint32_t most_in_fold(const eg_graph *chain, uint32_t size) {
  eg_blocks blocks;
  eg_folded folded = {.graph = NULL};
  eg_training_info info;
  eg_tensor_egraph *egraph;
  assert_ok(eg_blocks_find(chain, &blocks));
  assert_int_equal(blocks.period, BLOCK_NODES);
  const eg_blocks groups = eg_blocks_group(&blocks, size != 0 ? size : 1);
  if (size != 0) assert_ok(eg_blocks_fold(chain, &groups, (eg_fold_ends){1, 1}, &folded));
  assert_ok(eg_forward_info_init(&info, eg_allocator_heap(), size != 0 ? &folded : NULL));
  const eg_graph *graph = size != 0 ? folded.graph : chain;
  if (size == 0)
    assert_ok(eg_training_info_mark(&info, eg_allocator_heap(), chain, &blocks, NULL));
  else
    assert_ok(eg_training_info_seams(
        &info, eg_allocator_heap(), graph,
        &(eg_blocks){groups.first, BLOCK_NODES,
                     folded.blocks.count * size + blocks.count % size},
        NULL));
  assert_ok(eg_tensor_egraph_create(NULL, graph, &egraph));
  assert_ok(eg_engine_rebuild(eg_tensor_egraph_engine(egraph)));
  assert_ok(eg_groups_add(egraph, &info.info, false));
  uint32_t most = most_operators(egraph);
  eg_tensor_egraph_destroy(egraph);
  eg_training_info_deinit(&info);
  if (size != 0) eg_folded_deinit(&folded);
  return most;
}

/// Nor where a block is in no group of blocks, at the end of a step folded by twos.
static void no_group_crosses_blocks(void **unused) {
  (void)unused;
  eg_graph *chain = parse_chain();
  for (uint32_t size = 0; size <= 3; size++)
    assert_int_equal(most_in_fold(chain, size), BLOCK_NODES);
  eg_graph_destroy(chain);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(groups_are_nearly_always_the_cheapest),
      cmocka_unit_test(no_group_crosses_blocks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
