// Random graphs under the shipped rules: every node of every class must have the class's
// type, and computed by the reference kernels from its operands' classes, the class's
// value. That holds exactly when the rules that fired are right for this data.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdlib.h>

#include "egraph/engine_internal.h"
#include "pcg/graph/weights.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/saturation/saturate.h"
#include "tests/testing.h"

enum { MAX_VALUES = 48, MAX_DIMS = 4 };

// ---- random graphs ---------------------------------------------------------------

typedef struct maker {
  eg_rng rng;
  eg_graph *graph;
  eg_value values[MAX_VALUES];
  uint32_t count;
  int64_t numbers[16]; // of attribute lists
  eg_attr slots[16];
} maker;

static uint32_t pick(maker *m, uint32_t bound) {
  return (uint32_t)eg_rng_below(&m->rng, bound);
}

static void add_leaf(maker *m, uint32_t rank, const int64_t *dims, bool weight) {
  char name[16];
  (void)snprintf(name, sizeof name, "%c%u", weight ? 'w' : 'x', m->count);
  eg_type type = eg_type_of(EGRAPH_FLOAT64, rank, dims);
  eg_value *out = &m->values[m->count++];
  if (!weight) {
    assert_ok(eg_graph_add_input(m->graph, name, &type, out));
    return;
  }
  static const double constants[] = {0, 1, 2, 0.5, -1};
  eg_buffer *data;
  assert_ok(eg_buffer_create(NULL, eg_type_bytes(&type), &data));
  eg_tensor tensor = {.type = type, .data = eg_buffer_writable(data)};
  eg_weight_draw(name, 1, &tensor);
  if (pick(m, 3) == 0) {
    double value = constants[pick(m, 5)];
    for (int64_t i = 0; i < eg_type_elements(&type); i++)
      eg_tensor_set_double(&tensor, i, value);
  }
  assert_ok(eg_graph_add_weight(m->graph, name, &type, data, out));
  eg_buffer_release(data);
}

static void add_leaves(maker *m) {
  static const int64_t shapes[][MAX_DIMS] = {{3, 3}, {3, 3}, {3}, {1}, {1, 2, 5, 5}};
  static const uint32_t ranks[] = {2, 2, 1, 1, 4};
  static const int64_t kernels[][MAX_DIMS] = {{2, 2, 3, 3}, {2, 2, 1, 1}, {2, 2, 3, 3}};
  bool image = pick(m, 2) == 0;
  for (int i = 0; i < 5; i++) {
    uint32_t shape = image && i < 2 ? 4 : pick(m, 4);
    add_leaf(m, ranks[shape], shapes[shape], i >= 3);
  }
  static const int64_t channels[] = {2};
  for (int i = 0; image && i < 3; i++)
    add_leaf(m, 4, kernels[i], true);
  for (int i = 0; image && i < 4; i++)
    add_leaf(m, 1, channels, true);
}

static eg_ints random_numbers(maker *m, uint32_t first, uint32_t len, int64_t low,
                              uint32_t bound) {
  for (uint32_t i = 0; i < len; i++)
    m->numbers[first + i] = low + (int64_t)pick(m, bound);
  return (eg_ints){.data = m->numbers + first, .len = len};
}

static eg_ints random_perm(maker *m, uint32_t rank) {
  for (uint32_t i = 0; i < rank; i++) {
    uint32_t j = pick(m, i + 1);
    m->numbers[i] = m->numbers[j];
    m->numbers[j] = i;
  }
  return (eg_ints){.data = m->numbers, .len = rank};
}

#define SLOT(slot) m->slots[EG_A_##slot - base]

// Attributes that often fit; the graph refuses the others.
static void random_attrs(maker *m, eg_op op, const eg_type *x) {
  eg_attrs_defaults(op, m->slots);
  eg_attr_slot base;
  if (op == EG_OP_TRANSPOSE) {
    base = EG_A_BASE_TRANSPOSE;
    SLOT(TRANSPOSE_PERM).ints = random_perm(m, x->rank);
  } else if (op == EG_OP_RESHAPE) {
    base = EG_A_BASE_RESHAPE;
    m->numbers[0] = eg_type_elements(x);
    m->numbers[1] = 1;
    SLOT(RESHAPE_SHAPE).ints = (eg_ints){m->numbers, 1 + pick(m, 2)};
  } else if (op == EG_OP_CONCAT) {
    base = EG_A_BASE_CONCAT;
    SLOT(CONCAT_AXIS).i = pick(m, 2);
  } else if (op == EG_OP_SOFTMAX) {
    base = EG_A_BASE_SOFTMAX;
    SLOT(SOFTMAX_AXIS).i = pick(m, x->rank);
  } else if (op == EG_OP_REDUCE_SUM || op == EG_OP_REDUCE_MEAN) {
    m->numbers[0] = pick(m, x->rank);
    m->slots[0].ints = (eg_ints){m->numbers, 1};
    m->slots[1].i = pick(m, 2);
  } else if (op == EG_OP_CONV) {
    base = EG_A_BASE_CONV;
    SLOT(CONV_STRIDES).ints = random_numbers(m, 0, 2, 1, 1);
    SLOT(CONV_DILATIONS).ints = random_numbers(m, 2, 2, 1, 1);
    m->numbers[4] = pick(m, 2);
    for (int i = 5; i < 8; i++)
      m->numbers[i] = m->numbers[4];
    SLOT(CONV_PADS).ints = (eg_ints){m->numbers + 4, 4};
  } else if (op == EG_OP_SLICE) {
    base = EG_A_BASE_SLICE;
    for (uint32_t i = 0; i < x->rank; i++) {
      m->numbers[i] = x->dims[i] > 1 ? pick(m, 2) : 0;
      m->numbers[4 + i] = x->dims[i];
      m->numbers[8 + i] = 1;
    }
    SLOT(SLICE_STARTS).ints = (eg_ints){m->numbers, x->rank};
    SLOT(SLICE_ENDS).ints = (eg_ints){m->numbers + 4, x->rank};
    SLOT(SLICE_STEPS).ints = (eg_ints){m->numbers + 8, x->rank};
  } else if (op == EG_OP_SPLIT) {
    base = EG_A_BASE_SPLIT;
    uint32_t axis = pick(m, x->rank);
    m->numbers[0] = 1;
    m->numbers[1] = x->dims[axis] - 1;
    SLOT(SPLIT_AXIS).i = axis;
    SLOT(SPLIT_SIZES).ints = (eg_ints){m->numbers, 2};
  } else if (op == EG_OP_CAST) {
    base = EG_A_BASE_CAST;
    SLOT(CAST_TO).i = EGRAPH_FLOAT64;
  }
}

// Continuous and total operators, so that rounding cannot make a difference that is no
// mistake.
static const eg_op operators[] = {
    EG_OP_RELU,       EG_OP_NEG,         EG_OP_SIGMOID, EG_OP_TANH,   EG_OP_ABS,
    EG_OP_SQUARE,     EG_OP_IDENTITY,    EG_OP_GELU,    EG_OP_SILU,   EG_OP_ADD,
    EG_OP_ADD,        EG_OP_SUB,         EG_OP_MUL,     EG_OP_MUL,    EG_OP_MAX,
    EG_OP_MIN,        EG_OP_MATMUL,      EG_OP_MATMUL,  EG_OP_MATMUL, EG_OP_TRANSPOSE,
    EG_OP_TRANSPOSE,  EG_OP_RESHAPE,     EG_OP_CONCAT,  EG_OP_CONCAT, EG_OP_SOFTMAX,
    EG_OP_REDUCE_SUM, EG_OP_REDUCE_MEAN, EG_OP_CONV,    EG_OP_CONV,   EG_OP_CONV,
    EG_OP_BATCH_NORM, EG_OP_SLICE,       EG_OP_SPLIT,   EG_OP_CAST};

// Half of the operands are recent values: chains are what rules look for.
static uint32_t random_operand(maker *m) {
  uint32_t recent = m->count < 5 ? m->count : 5;
  return pick(m, 2) == 0 ? m->count - 1 - pick(m, recent) : pick(m, m->count);
}

// Operands of one type go together more often than chance would have it.
static uint32_t matching_operand(maker *m, eg_value first) {
  const eg_type *type = &eg_graph_value(m->graph, first)->type;
  uint32_t operand = 0;
  for (int tries = 0; tries < 6; tries++) {
    operand = random_operand(m);
    if (eg_type_same(type, &eg_graph_value(m->graph, m->values[operand])->type)) break;
  }
  return operand;
}

static bool try_node(maker *m) {
  eg_op op = operators[pick(m, sizeof operators / sizeof *operators)];
  const eg_op_info *info = eg_op_info_of(op);
  uint32_t count = info->max_inputs < 0 ? 2 : (uint32_t)info->min_inputs;
  eg_value inputs[5], results[2];
  for (uint32_t i = 0; i < count; i++)
    inputs[i] = m->values[i == 0 ? random_operand(m) : matching_operand(m, inputs[0])];
  const eg_type *x = &eg_graph_value(m->graph, inputs[0])->type;
  if (x->rank == 0 || x->rank > MAX_DIMS) return false;
  random_attrs(m, op, x);
  eg_attrs attrs = {.op = (uint16_t)op, .count = info->attr_count, .slots = m->slots};
  if (op == EG_OP_SPLIT && x->dims[m->slots[0].i] < 2) return false;
  if (eg_graph_add_node(m->graph, NULL, &attrs, inputs, count, NULL, results) !=
      EGRAPH_OK)
    return false;
  m->values[m->count++] = results[0];
  if (op == EG_OP_SPLIT) m->values[m->count++] = results[1];
  return true;
}

static eg_graph *random_graph(uint64_t seed) {
  maker m = {.rng = {.state = seed}};
  assert_ok(eg_graph_create(NULL, &m.graph));
  add_leaves(&m);
  uint32_t wanted = 10 + pick(&m, 22);
  for (uint32_t made = 0, tries = 0; made < wanted && tries < 2000; tries++)
    if (m.count + 2 < MAX_VALUES) made += try_node(&m);
  assert_ok(eg_graph_add_output(m.graph, "out", m.values[m.count - 1]));
  return m.graph;
}

// ---- values of classes -----------------------------------------------------------

typedef struct class_value {
  eg_tensor *parts; // NULL while unknown
  uint32_t count;
} class_value;

typedef struct evaluation {
  eg_tensor_egraph *egraph;
  const eg_engine *engine;
  const eg_graph *graph;
  class_value *values; // by class id
  uint32_t limit;
} evaluation;

static const eg_type *part_type(const eg_tensor_fact *fact, uint32_t part) {
  return fact->part_count == 0 ? &fact->type : &fact->parts[part];
}

static class_value make_value(const eg_tensor_fact *fact) {
  class_value value = {.count = fact->part_count == 0 ? 1 : fact->part_count};
  value.parts = calloc(value.count, sizeof *value.parts);
  assert_non_null(value.parts);
  for (uint32_t i = 0; i < value.count; i++) {
    value.parts[i].type = *part_type(fact, i);
    value.parts[i].data = calloc(1, eg_type_bytes(&value.parts[i].type) + 1);
    assert_non_null(value.parts[i].data);
  }
  return value;
}

static void free_value(class_value *value) {
  for (uint32_t i = 0; i < value->count && value->parts != NULL; i++)
    free(value->parts[i].data);
  free(value->parts);
  *value = (class_value){.parts = NULL};
}

static void compute_leaf(const evaluation *e, const eg_attrs *attrs, eg_tensor *out) {
  bool is_input = attrs->op == EG_OP_INPUT;
  const char *name =
      eg_attr_at(attrs, is_input ? EG_A_INPUT_NAME : EG_A_WEIGHT_NAME)->text;
  eg_value value;
  assert_true(eg_graph_find_value(e->graph, name, &value));
  const eg_value_info *info = eg_graph_value(e->graph, value);
  if (info->data == NULL)
    eg_input_draw(name, 7, out);
  else
    memcpy(out->data, eg_buffer_data(info->data), eg_type_bytes(&out->type));
}

// False when an operand is not known yet.
static bool compute_node(const evaluation *e, eg_node node, class_value *out) {
  eg_term term = eg_engine_term(e->engine, node);
  const eg_attrs *attrs = eg_tensor_egraph_attrs_at(e->egraph, term.payload);
  eg_tensor inputs[16];
  assert_true(term.arity <= 16);
  for (uint32_t i = 0; i < term.arity; i++) {
    if (e->values[term.children[i].id].parts == NULL) return false;
    inputs[i] = e->values[term.children[i].id].parts[0];
  }
  *out =
      make_value(eg_tensor_egraph_fact(e->egraph, eg_engine_class_of(e->engine, node)));
  if (attrs->op == EG_OP_INPUT || attrs->op == EG_OP_WEIGHT) {
    compute_leaf(e, attrs, &out->parts[0]);
  } else if (attrs->op == EG_OP_PART) {
    int64_t index = eg_attr_at(attrs, EG_A_PART_INDEX)->i;
    memcpy(out->parts[0].data, e->values[term.children[0].id].parts[index].data,
           eg_type_bytes(&out->parts[0].type));
  } else {
    eg_kernel_call call = {.attrs = attrs,
                           .inputs = inputs,
                           .input_count = term.arity,
                           .outputs = out->parts,
                           .output_count = out->count,
                           .alloc = eg_allocator_heap()};
    assert_ok(eg_op_run(&call));
  }
  return true;
}

static double largest(const eg_tensor *tensor) {
  double most = 1;
  for (int64_t i = 0; i < eg_type_elements(&tensor->type); i++)
    most = fmax(most, fabs(eg_tensor_get_double(tensor, i)));
  return most;
}

// Rules compare constants up to 1e-6, everything else is float64.
static bool agree(const class_value *a, const class_value *b) {
  for (uint32_t part = 0; part < a->count; part++) {
    double bound = 1e-5 * largest(&a->parts[part]);
    for (int64_t i = 0; i < eg_type_elements(&a->parts[part].type); i++) {
      double x = eg_tensor_get_double(&a->parts[part], i);
      double y = eg_tensor_get_double(&b->parts[part], i);
      if (!(fabs(x - y) <= bound) && !(isnan(x) && isnan(y)) && x != y) return false;
    }
  }
  return true;
}

static void report(const evaluation *e, const eg_rules *rules, eg_node node) {
  eg_term term = eg_engine_term(e->engine, node);
  uint32_t reason = eg_engine_node_reason(e->engine, node);
  print_error("node %u (%s) of class %u, made by %s, has another value\n", node.id,
              eg_op_info_of((eg_op)term.op)->name, eg_engine_class_of(e->engine, node).id,
              reason < eg_rules_count(rules) ? eg_rule_name(rules, reason) : "the graph");
  for (uint32_t i = 0; i < term.arity; i++)
    print_error("  operand class %u\n", term.children[i].id);
  for (size_t i = 0; i < e->engine->unions.len; i++) {
    eg_union u = e->engine->unions.data[i];
    if (!eg_class_same(eg_engine_find(e->engine, u.a),
                       eg_engine_class_of(e->engine, node)))
      continue;
    print_error("  its class united %u and %u by %s\n", u.a.id, u.b.id,
                u.reason < eg_rules_count(rules) ? eg_rule_name(rules, u.reason)
                                                 : "congruence");
  }
}

// Values by rounds until no class is left that can be computed; then every node is
// compared.
static uint32_t check_values(evaluation *e, const eg_rules *rules) {
  for (bool again = true; again;) {
    again = false;
    for (eg_class c = eg_engine_first(e->engine); c.id != EG_CLASS_NONE.id;
         c = eg_engine_next(e->engine, c)) {
      uint32_t count;
      const eg_node *nodes = eg_engine_class_nodes(e->engine, c, &count);
      for (uint32_t i = 0; i < count && e->values[c.id].parts == NULL; i++)
        again |= compute_node(e, nodes[i], &e->values[c.id]);
    }
  }
  uint32_t compared = 0;
  for (eg_class c = eg_engine_first(e->engine); c.id != EG_CLASS_NONE.id;
       c = eg_engine_next(e->engine, c)) {
    uint32_t count;
    const eg_node *nodes = eg_engine_class_nodes(e->engine, c, &count);
    assert_non_null(e->values[c.id].parts); // every class has a term
    for (uint32_t i = 0; i < count; i++) {
      class_value value;
      assert_true(compute_node(e, nodes[i], &value));
      bool same = agree(&e->values[c.id], &value);
      free_value(&value);
      if (!same) report(e, rules, nodes[i]);
      assert_true(same);
      compared++;
    }
  }
  return compared;
}

static void check_types(const evaluation *e) {
  for (eg_class c = eg_engine_first(e->engine); c.id != EG_CLASS_NONE.id;
       c = eg_engine_next(e->engine, c)) {
    uint32_t count;
    const eg_node *nodes = eg_engine_class_nodes(e->engine, c, &count);
    for (uint32_t i = 0; i < count; i++) {
      eg_term term = eg_engine_term(e->engine, nodes[i]);
      const eg_tensor_fact *children[16];
      for (uint32_t k = 0; k < term.arity; k++)
        children[k] = eg_tensor_egraph_fact(e->egraph, term.children[k]);
      eg_tensor_fact fact;
      assert_ok(eg_tensor_egraph_infer(e->egraph,
                                       eg_tensor_egraph_attrs_at(e->egraph, term.payload),
                                       children, term.arity, &fact));
      assert_true(eg_tensor_fact_same_type(&fact, eg_tensor_egraph_fact(e->egraph, c)));
    }
  }
}

static uint32_t run_round(const eg_rules *rules, uint64_t seed) {
  eg_graph *graph = random_graph(seed);
  eg_tensor_egraph *egraph;
  assert_ok(eg_tensor_egraph_create(NULL, graph, &egraph));
  eg_saturation_options options = EG_SATURATION_OPTIONS_DEFAULT;
  options.node_limit = 600;
  options.iteration_limit = 4;
  options.match_limit = 100;
  eg_saturation_report report;
  assert_ok(eg_saturate(egraph, rules, &options, &report));
  eg_saturation_report_deinit(&report);
  evaluation e = {.egraph = egraph,
                  .engine = eg_tensor_egraph_engine(egraph),
                  .graph = graph,
                  .limit = eg_engine_class_limit(eg_tensor_egraph_engine(egraph))};
  assert_ok(eg_engine_check(e.engine));
  check_types(&e);
  e.values = calloc(e.limit, sizeof *e.values);
  assert_non_null(e.values);
  uint32_t compared = check_values(&e, rules);
  for (uint32_t i = 0; i < e.limit; i++)
    free_value(&e.values[i]);
  free(e.values);
  eg_tensor_egraph_destroy(egraph);
  eg_graph_destroy(graph);
  return compared;
}

static void every_node_of_a_class_has_its_value(void **state) {
  (void)state;
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  eg_rng rng = {.state = test_seed(20250611)};
  size_t rounds = test_rounds(100);
  uint64_t compared = 0;
  for (size_t i = 0; i < rounds; i++) {
    uint64_t seed = eg_rng_next(&rng);
    compared += run_round(rules, seed);
  }
  print_message("%llu nodes compared\n", (unsigned long long)compared);
  assert_true(compared > 35 * rounds);
  eg_rules_destroy(rules);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_node_of_a_class_has_its_value),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
