// Random small planning problems: a graph of a step with phases and carried values, a
// mesh and prices. Sizes are such that exhaustive search (plan_brute.h) ends.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_PLAN_CASES_H
#define EG_TESTS_PLAN_CASES_H

#include <math.h>

#include "optimize/price/plan_price.h"
#include "optimize/space/step_info.h"
#include "rewrites/saturation/tensor_egraph.h"
#include "tests/testing.h"

enum {
  CASE_VALUES = 24,
  CASE_NODES = 8,
  CASE_CARRIED = 4,   // that are drawn
  CASE_TRAINED = 2,   // weights
  CASE_STEP_NODES = 3 // of one: its gradient, their sum, its update
};

typedef struct case_value {
  uint32_t rank, phase;
  int64_t dims[4];
  bool is_leaf, is_used;
} case_value;

typedef struct case_prices {
  double latency[EG_MAX_MESH_AXES], per_byte[EG_MAX_MESH_AXES];
  double factor[EG_TRANSITION_KINDS]; // of both
  double per_flop, per_node, halo;
  uint64_t formats; // of what a node in memory formats costs beside one without
  bool is_free, has_free_views;
} case_prices;

/// What the random cases may have.
typedef struct case_limits {
  uint32_t nodes, axes; // at most
  bool has_phases;
  uint32_t formats; // memory formats beside plain, a bit each; not 0: graphs of images
  bool is_training; // steps of Adam, from sums over micro-batches where there are several
  bool makes_again; // BACKWARD may make values of FORWARD again
} case_limits;

typedef struct plan_case {
  eg_rng rng;
  case_limits limits;
  eg_text text;
  case_value values[CASE_VALUES];
  uint32_t value_count, node_count, trained_count;
  eg_phase phases[CASE_NODES + CASE_TRAINED * CASE_STEP_NODES];
  eg_carried_value carried[CASE_CARRIED + 4 * CASE_TRAINED];
  uint32_t micro_batches;
  eg_mesh mesh;
  case_prices prices;
  eg_plan_costs costs;
  eg_step_info info;
  eg_graph *graph;
  eg_tensor_egraph *egraph;
} plan_case;

static inline uint32_t case_below(plan_case *c, uint32_t bound) {
  return (uint32_t)eg_rng_below(&c->rng, bound);
}

// ---- prices -------------------------------------------------------------------------

/// What a node in memory formats costs beside a plain one: a number of its operator and
/// formats; now and then there is no kernel.
static inline double case_format_factor(const case_prices *prices,
                                        const eg_node_spec *local) {
  uint64_t hash = eg_hash_combine(prices->formats, local->attrs->op);
  bool is_plain = true;
  for (uint32_t i = 0; i < local->input_count + local->result_count; i++) {
    const eg_type *type = i < local->input_count
                              ? &local->inputs[i]
                              : &local->results[i - local->input_count];
    hash = eg_hash_combine(hash, type->layout.format);
    is_plain = is_plain && type->layout.format == EG_FORMAT_PLAIN;
  }
  if (is_plain) return 1;
  if (hash % 16 == 0) return (double)INFINITY;
  return (double)(1 + hash % 8) / 4;
}

static inline egraph_status case_price_node(void *self, const eg_node_spec *local,
                                            eg_node_price *out) {
  const case_prices *prices = self;
  double factor = case_format_factor(prices, local);
  double seconds = prices->per_node + eg_node_spec_flops(local) * prices->per_flop;
  bool is_free = prices->is_free ||
                 (prices->has_free_views && eg_op_keeps_order((eg_op)local->attrs->op));
  out->seconds = isinf(factor) ? factor : is_free ? 0 : seconds * factor;
  return EGRAPH_OK;
}

static inline double case_price_transition(void *self, const eg_transition *transition,
                                           double bytes) {
  const case_prices *prices = self;
  uint32_t axis = transition->axis;
  return (prices->latency[axis] + bytes * prices->per_byte[axis]) *
         prices->factor[transition->kind];
}

static inline double case_price_halo(void *self, const eg_halo *halo,
                                     const eg_type *local) {
  const case_prices *prices = self;
  double bytes = (double)eg_type_bytes(local) / (double)local->dims[halo->dim] *
                 (double)(halo->before + halo->after);
  return prices->halo *
         (prices->latency[halo->axis] + bytes * prices->per_byte[halo->axis]);
}

/// Small integers now and then: many plans of equal cost.
static inline double case_amount(plan_case *c, bool integers) {
  if (case_below(c, 5) == 0) return 0;
  return integers ? 1 + case_below(c, 3) : eg_rng_unit(&c->rng) * 3;
}

static inline void case_draw_prices(plan_case *c) {
  case_prices *p = &c->prices;
  bool integers = case_below(c, 3) == 0;
  for (uint32_t a = 0; a < EG_MAX_MESH_AXES; a++) {
    p->latency[a] = case_amount(c, integers) * 8;
    p->per_byte[a] = case_amount(c, integers);
  }
  for (uint32_t k = 0; k < EG_TRANSITION_KINDS; k++)
    if (k != EG_TRANSITION_REORDER) // which is priced as a node
      p->factor[k] = case_below(c, 3) == 0 ? case_amount(c, integers) : 1;
  p->per_flop = case_amount(c, integers);
  p->per_node = case_amount(c, integers);
  p->halo = case_amount(c, integers);
  p->is_free = case_below(c, 3) == 0;
  c->costs = (eg_plan_costs){.self = p,
                             .node = case_price_node,
                             .transition = case_price_transition,
                             .halo = case_price_halo,
                             .compute_is_free = p->is_free,
                             .formats = c->limits.formats};
  if (c->limits.formats != 0) p->formats = eg_rng_next(&c->rng);
}

static inline void case_draw_mesh(plan_case *c) {
  static const char *const meshes[] = {"gpu=2", "gpu=4", "a=2,b=2"};
  assert_ok(eg_mesh_parse(meshes[case_below(c, c->limits.axes == 1 ? 2 : 3)], &c->mesh));
}

// ---- graphs -------------------------------------------------------------------------

static inline int64_t case_size(plan_case *c) {
  static const int64_t sizes[] = {2, 4, 8, 2, 4, 8, 4, 6, 3};
  return sizes[case_below(c, sizeof sizes / sizeof *sizes)];
}

static inline uint32_t case_add_value(plan_case *c, uint32_t rank, const int64_t *dims) {
  assert_true(c->value_count < CASE_VALUES);
  case_value *value = &c->values[c->value_count];
  *value = (case_value){.rank = rank};
  memcpy(value->dims, dims, rank * sizeof *dims);
  return c->value_count++;
}

/// A value of this shape: one that is there, or a new input or weight.
static inline uint32_t case_operand(plan_case *c, uint32_t rank, const int64_t *dims) {
  uint32_t first = case_below(c, c->value_count + 1);
  for (uint32_t i = 0; i < c->value_count && case_below(c, 3) != 0; i++) {
    uint32_t v = (first + i) % c->value_count;
    if (c->values[v].rank == rank &&
        memcmp(c->values[v].dims, dims, rank * sizeof *dims) == 0)
      return v;
  }
  uint32_t leaf = case_add_value(c, rank, dims);
  c->values[leaf].is_leaf = true;
  assert_ok(eg_text_printf(&c->text, "(%s v%u \"float32[",
                           case_below(c, 2) ? "input" : "weight", leaf));
  for (uint32_t d = 0; d < rank; d++)
    assert_ok(eg_text_printf(&c->text, "%s%d", d == 0 ? "" : ",", (int)dims[d]));
  assert_ok(eg_text_append(&c->text, "]\")\n"));
  return leaf;
}

/// A computed value if there is one, else a leaf; of the rank.
static inline uint32_t case_any(plan_case *c, uint32_t rank) {
  for (uint32_t v = c->value_count; v-- > 0;)
    if (c->values[v].rank == rank && case_below(c, 3) != 0) return v;
  int64_t dims[4];
  for (uint32_t d = 0; d < rank; d++)
    dims[d] = case_size(c);
  return case_operand(c, rank, dims);
}

static inline void case_node(plan_case *c, const char *op, const uint32_t *operands,
                             uint32_t count, uint32_t rank, const int64_t *dims) {
  uint32_t phase = EG_PHASE_FORWARD;
  uint32_t result = case_add_value(c, rank, dims);
  assert_ok(eg_text_printf(&c->text, "(let v%u (%s", result, op));
  for (uint32_t i = 0; i < count; i++) {
    case_value *operand = &c->values[operands[i]];
    operand->is_used = true;
    if (operand->phase > phase) phase = operand->phase;
    assert_ok(eg_text_printf(&c->text, " v%u", operands[i]));
  }
  assert_ok(eg_text_append(&c->text, "))\n"));
  if (c->limits.has_phases && phase < EG_PHASE_UPDATE && case_below(c, 3) == 0) phase++;
  c->values[result].phase = phase;
  c->phases[c->node_count++] = (eg_phase)phase;
}

static inline void case_matmul(plan_case *c) {
  char op[64];
  uint32_t a = case_any(c, 2), swap_a = case_below(c, 3) == 0,
           swap_b = case_below(c, 3) == 0;
  int64_t m = c->values[a].dims[swap_a], k = c->values[a].dims[1 - swap_a],
          n = case_size(c);
  uint32_t b = case_operand(c, 2, swap_b ? (int64_t[]){n, k} : (int64_t[]){k, n});
  (void)snprintf(op, sizeof op, "matmul :transA %u :transB %u", swap_a, swap_b);
  if (case_below(c, 4) == 0) {
    uint32_t bias = case_operand(c, 1, &n);
    case_node(c, op, (uint32_t[]){a, b, bias}, 3, 2, (int64_t[]){m, n});
  } else {
    case_node(c, op, (uint32_t[]){a, b}, 2, 2, (int64_t[]){m, n});
  }
}

static inline void case_pair(plan_case *c) {
  uint32_t a = case_any(c, 1 + case_below(c, 2)), b;
  case_value *value = &c->values[a];
  if (value->rank == 2 && case_below(c, 4) == 0)
    b = case_operand(c, 1, &value->dims[1]);
  else
    b = case_operand(c, value->rank, value->dims);
  case_node(c, case_below(c, 2) ? "add" : "mul", (uint32_t[]){a, b}, 2, value->rank,
            value->dims);
}

static inline void case_pointwise(plan_case *c) {
  uint32_t a = case_any(c, 1 + case_below(c, 2));
  case_node(c, "relu", &a, 1, c->values[a].rank, c->values[a].dims);
}

static inline void case_softmax(plan_case *c) {
  uint32_t a = case_any(c, 2);
  case_node(c, case_below(c, 2) ? "softmax :axis 1" : "softmax :axis 0", &a, 1, 2,
            c->values[a].dims);
}

static inline void case_reduce(plan_case *c) {
  uint32_t a = case_any(c, 2), axis = case_below(c, 2);
  char op[64];
  (void)snprintf(op, sizeof op, "%s :axes [%u] :keepdims 0",
                 case_below(c, 4) == 0 ? "reduce-max" : "reduce-sum", axis);
  case_node(c, op, &a, 1, 1, &c->values[a].dims[1 - axis]);
}

static inline void case_transpose(plan_case *c) {
  uint32_t a = case_any(c, 2);
  int64_t dims[2] = {c->values[a].dims[1], c->values[a].dims[0]};
  case_node(c, "transpose :perm [1 0]", &a, 1, 2, dims);
}

static inline void case_reshape(plan_case *c) {
  char op[64];
  if (case_below(c, 2) == 0) {
    uint32_t a = case_any(c, 2);
    int64_t all = c->values[a].dims[0] * c->values[a].dims[1];
    if (all > 16) return;
    (void)snprintf(op, sizeof op, "reshape :shape [%d]", (int)all);
    case_node(c, op, &a, 1, 1, &all);
  } else {
    uint32_t a = case_any(c, 1);
    if (c->values[a].dims[0] % 2 != 0) return;
    int64_t dims[2] = {2, c->values[a].dims[0] / 2};
    (void)snprintf(op, sizeof op, "reshape :shape [2 %d]", (int)dims[1]);
    case_node(c, op, &a, 1, 2, dims);
  }
}

/// Rows are exchanged when the image is cut.
static inline void case_conv(plan_case *c) {
  if (c->limits.nodes > 3 && case_below(c, 3) != 0) return;
  int64_t n = case_below(c, 2) ? 1 : 2, channels = 2, filters = case_below(c, 2) ? 2 : 3;
  uint32_t x = case_operand(c, 4, (int64_t[]){n, channels, 4, 3});
  uint32_t w = case_operand(c, 4, (int64_t[]){filters, channels, 3, 3});
  case_node(c, "conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1]", (uint32_t[]){x, w},
            2, 4, (int64_t[]){n, filters, 4, 3});
}

/// Images of eight channels, of a size that one axis cuts.
static inline uint32_t case_image(plan_case *c) {
  for (uint32_t v = c->value_count; v-- > 0;)
    if (c->values[v].rank == 4 && c->values[v].dims[3] == 1 && case_below(c, 3) != 0)
      return v;
  return case_operand(c, 4, (int64_t[]){1, 8, 2, 1});
}

static inline void case_image_node(plan_case *c) {
  uint32_t x = case_image(c);
  const int64_t *dims = c->values[x].dims;
  switch (case_below(c, 5)) {
  case 0: case_node(c, "relu", &x, 1, 4, dims); return;
  case 1: case_node(c, "add", (uint32_t[]){x, case_image(c)}, 2, 4, dims); return;
  case 2:
    case_node(c,
              "max-pool :kernel_shape [3 3] :strides [1 1] :pads [1 1 1 1] :dilations [1 "
              "1] :ceil_mode 0",
              &x, 1, 4, dims);
    return;
  default: break;
  }
  uint32_t w = case_operand(c, 4, (int64_t[]){8, 8, 3, 3});
  case_node(c, "conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1]", (uint32_t[]){x, w},
            2, 4, dims);
}

static inline void case_draw_nodes(plan_case *c) {
  static void (*const draw[])(plan_case *) = {
      case_matmul,  case_matmul, case_matmul,    case_pair,    case_pair, case_pointwise,
      case_softmax, case_reduce, case_transpose, case_reshape, case_conv};
  uint32_t wanted = 1 + case_below(c, c->limits.nodes);
  while (c->node_count < wanted)
    if (c->limits.formats != 0)
      case_image_node(c);
    else
      draw[case_below(c, sizeof draw / sizeof *draw)](c);
}

/// A weight of a product takes a step of Adam, by its gradient: of an input and what
/// comes back. With several micro-batches that is added up in BACKWARD.
static inline void case_train(plan_case *c, uint32_t back) {
  static const char *const entries[] = {"weight w", "input m", "input r", "input s"};
  const int rows = (int)c->values[back].dims[0], columns = (int)c->values[back].dims[1];
  const bool has_sum = c->micro_batches > 1;
  uint32_t n = c->trained_count++;
  assert_ok(eg_text_printf(&c->text, "(input x%u \"float32[%d,32]\")\n", n, rows));
  for (size_t i = 0; i < (has_sum ? 4 : 3); i++)
    assert_ok(
        eg_text_printf(&c->text, "(%s%u \"float32[32,%d]\")\n", entries[i], n, columns));
  assert_ok(eg_text_printf(&c->text, "(let g%u (matmul :transA 1 :transB 0 x%u v%u))\n",
                           n, n, back));
  c->phases[c->node_count++] = EG_PHASE_BACKWARD;
  if (has_sum) {
    assert_ok(
        eg_text_printf(&c->text, "(let u%u (add s%u g%u)) (output u%u)\n", n, n, n, n));
    c->phases[c->node_count++] = EG_PHASE_BACKWARD;
  }
  assert_ok(eg_text_printf(&c->text,
                           "(let [a%u b%u c%u] (adam-update w%u m%u r%u %s%u l t))\n"
                           "(output a%u) (output b%u) (output c%u)\n",
                           n, n, n, n, n, n, has_sum ? "u" : "g", n, n, n, n));
  c->phases[c->node_count++] = EG_PHASE_UPDATE;
}

/// By matrices of the phases before UPDATE.
static inline void case_draw_training(plan_case *c) {
  c->micro_batches = 1 + case_below(c, 3);
  assert_ok(
      eg_text_append(&c->text, "(input l \"float64[]\") (input t \"float64[]\")\n"));
  uint32_t wanted = 1 + case_below(c, CASE_TRAINED);
  for (uint32_t v = c->value_count; v-- > 0 && c->trained_count < wanted;)
    if (!c->values[v].is_leaf && c->values[v].phase != EG_PHASE_UPDATE &&
        c->values[v].rank == 2)
      case_train(c, v);
}

static inline void case_draw_outputs(plan_case *c) {
  for (uint32_t v = 0; v < c->value_count; v++)
    if (!c->values[v].is_leaf && (!c->values[v].is_used || case_below(c, 6) == 0))
      assert_ok(eg_text_printf(&c->text, "(output v%u)\n", v));
}

/// An output of this name enters the next step as the entry does.
static inline void case_carry(plan_case *c, const char *entry, const char *output,
                              uint32_t n) {
  char names[2][16];
  (void)snprintf(names[0], sizeof names[0], "%s%u", entry, n);
  (void)snprintf(names[1], sizeof names[1], "%s%u", output, n);
  eg_carried_value *carried = &c->carried[c->info.carried_count++];
  *carried = (eg_carried_value){.is_sum = *entry == 's'};
  while (strcmp(eg_graph_value(c->graph, carried->entry)->name, names[0]) != 0)
    carried->entry.id++;
  for (const char *name = "";; carried->output++) {
    (void)eg_graph_output(c->graph, carried->output, &name);
    if (strcmp(name, names[1]) == 0) break;
  }
}

static inline void case_carry_trained(plan_case *c) {
  for (uint32_t n = 0; n < c->trained_count; n++) {
    case_carry(c, "w", "a", n);
    case_carry(c, "m", "b", n);
    case_carry(c, "r", "c", n);
    if (c->micro_batches > 1) case_carry(c, "s", "u", n);
  }
}

/// An output of the shape of an input or weight may enter the next step as it.
static inline void case_draw_carried(plan_case *c) {
  bool is_taken[CASE_VALUES] = {false};
  for (uint32_t o = 0; o < eg_graph_output_count(c->graph); o++) {
    const eg_value_info *output =
        eg_graph_value(c->graph, eg_graph_output(c->graph, o, NULL));
    for (uint32_t v = 0; v < eg_graph_value_count(c->graph); v++) {
      const eg_value_info *entry = eg_graph_value(c->graph, (eg_value){v});
      if (entry->kind == EG_VALUE_COMPUTED || is_taken[v] ||
          !eg_type_same(&entry->type, &output->type) || case_below(c, 2) == 0 ||
          c->info.carried_count == CASE_CARRIED)
        continue;
      is_taken[v] = true;
      c->carried[c->info.carried_count++] = (eg_carried_value){.entry = {v}, .output = o};
      break;
    }
  }
}

// ---- cases --------------------------------------------------------------------------

/// The case of a graph's text, all in the forward phase.
static inline void plan_case_read(plan_case *c, const char *text) {
  egraph_allocator heap = eg_allocator_heap();
  assert_ok(eg_graph_parse(&heap, "case", text, strlen(text), &c->graph));
  assert_ok(eg_tensor_egraph_create(&heap, c->graph, &c->egraph));
  assert_ok(eg_engine_rebuild(eg_tensor_egraph_engine(c->egraph)));
  c->info = (eg_step_info){.micro_batches = 1,
                           .phases = c->phases,
                           .carried = c->carried,
                           .makes_again = c->limits.makes_again,
                           .memory_limit = (double)INFINITY};
}

static inline void plan_case_init(plan_case *c, uint64_t seed,
                                  const case_limits *limits) {
  *c = (plan_case){.rng = {seed}, .limits = *limits};
  eg_text_init(&c->text, eg_allocator_heap());
  assert_ok(eg_text_append(&c->text, "(egraph-graph 1)\n"));
  case_draw_mesh(c);
  case_draw_prices(c);
  case_draw_nodes(c);
  case_draw_outputs(c);
  if (limits->is_training) case_draw_training(c);
  plan_case_read(c, eg_text_of(&c->text));
  c->info.micro_batches = limits->is_training ? c->micro_batches : 1 + case_below(c, 3);
  if (limits->is_training)
    case_carry_trained(c);
  else
    case_draw_carried(c);
}

static inline void plan_case_deinit(plan_case *c) {
  eg_tensor_egraph_destroy(c->egraph);
  eg_graph_destroy(c->graph);
  eg_text_deinit(&c->text);
}

#endif
