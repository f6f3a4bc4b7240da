// Rules together: e-graphs that hold an instance of a rule's left side are saturated with
// all rules, the exploring ones included, and then every node of every class is computed
// with the reference kernels. All nodes of a class must have one value.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdlib.h>

#include "rewrites/lab/instances/instance_draw.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/saturation/saturate.h"
#include "tests/testing.h"

enum { DRAWS = 400, NODES = 400, ITERATIONS = 3 };
// Of the largest number in the e-graph: rounding errors scale with it. Beyond the largest
// scale, the bounds say nothing.
static const double bounds[EGRAPH_DTYPE_COUNT] = {[EGRAPH_FLOAT64] = 1e-9,
                                                  [EGRAPH_FLOAT32] = 1e-4,
                                                  [EGRAPH_FLOAT16] = 2e-2,
                                                  [EGRAPH_BFLOAT16] = 1e-1};
#define LARGEST_SCALE 1e6

/// Results of a class; count 0: not known (yet).
typedef struct class_value {
  eg_tensor *parts;
  uint32_t count;
  eg_node node; // that computed it
} class_value;

typedef struct evaluation {
  const eg_tensor_egraph *egraph;
  const eg_engine *engine;
  eg_arena arena;
  class_value *classes; // by canonical class id
  bool *done;           // by node id
  uint64_t seed;
  bool positive;
  double scale;
  uint32_t compared;
} evaluation;

// ---- data -----------------------------------------------------------------------

static eg_tensor new_tensor(evaluation *run, const eg_type *type) {
  eg_tensor tensor = {.type = *type};
  size_t bytes = eg_type_bytes(type);
  assert_ok(eg_arena_alloc(&run->arena, bytes > 0 ? bytes : 1, 1, &tensor.data));
  return tensor;
}

static void note_scale(evaluation *run, const eg_tensor *tensor) {
  for (int64_t i = 0; i < eg_type_elements(&tensor->type); i++) {
    double value = fabs(eg_tensor_get_double(tensor, i));
    if (isfinite(value) && value > run->scale) run->scale = value;
  }
}

static void fill_leaf(evaluation *run, const char *name, eg_tensor *out) {
  eg_value value;
  const eg_graph *graph = eg_tensor_egraph_graph(run->egraph);
  assert_true(eg_graph_find_value(graph, name, &value));
  const eg_value_info *info = eg_graph_value(graph, value);
  *out = new_tensor(run, &info->type);
  if (info->data != NULL) {
    memcpy(out->data, eg_buffer_data(info->data), eg_type_bytes(&info->type));
    return;
  }
  eg_rng rng = {.state = eg_hash_bytes(run->seed, name, strlen(name))};
  for (int64_t i = 0; i < eg_type_elements(&info->type); i++) {
    double unit = eg_rng_unit(&rng);
    eg_tensor_set_double(out, i, run->positive ? 0.25 + 2 * unit : floor(5 * unit) - 2);
  }
}

// ---- nodes ----------------------------------------------------------------------

static bool operands_known(const evaluation *run, const eg_term *term) {
  for (uint32_t i = 0; i < term->arity; i++)
    if (run->classes[term->children[i].id].count == 0) return false;
  return true;
}

static bool run_operator(evaluation *run, const eg_attrs *attrs, const eg_term *term,
                         class_value *out) {
  eg_type types[8];
  eg_tensor inputs[8];
  uint32_t results = eg_op_results(attrs);
  if (term->arity > 8 || results > 8) return false;
  for (uint32_t i = 0; i < term->arity; i++) {
    inputs[i] = run->classes[term->children[i].id].parts[0];
    types[i] = inputs[i].type;
  }
  eg_type result_types[8];
  assert_ok(eg_op_infer(attrs, types, term->arity, result_types));
  assert_ok(eg_arena_alloc(&run->arena, results, sizeof *out->parts, &out->parts));
  out->count = results;
  for (uint32_t i = 0; i < results; i++)
    out->parts[i] = new_tensor(run, &result_types[i]);
  eg_kernel_call call = {.attrs = attrs,
                         .inputs = inputs,
                         .input_count = term->arity,
                         .outputs = out->parts,
                         .output_count = results,
                         .alloc = eg_allocator_heap()};
  return eg_op_run(&call) == EGRAPH_OK;
}

static bool compute(evaluation *run, eg_node node, class_value *out) {
  eg_term term = eg_engine_term(run->engine, node);
  const eg_attrs *attrs = eg_tensor_egraph_attrs_at(run->egraph, term.payload);
  out->node = node;
  if (term.op == EG_OP_INPUT || term.op == EG_OP_WEIGHT) {
    assert_ok(eg_arena_alloc(&run->arena, 1, sizeof *out->parts, &out->parts));
    out->count = 1;
    fill_leaf(run, attrs->slots[0].text, out->parts);
    return true;
  }
  if (term.op != EG_OP_PART) return run_operator(run, attrs, &term, out);
  const class_value *tuple = &run->classes[term.children[0].id];
  out->parts = &tuple->parts[attrs->slots[0].i];
  out->count = 1;
  return true;
}

// ---- comparison -----------------------------------------------------------------

static void fail_on_class(const evaluation *run, eg_node a, eg_node b, double x,
                          double y) {
  eg_term left = eg_engine_term(run->engine, a), right = eg_engine_term(run->engine, b);
  fail_msg("nodes %u (%s) and %u (%s) of one class: %.17g and %.17g, added by rules %u "
           "and %u",
           a.id, eg_op_info_of((eg_op)left.op)->name, b.id,
           eg_op_info_of((eg_op)right.op)->name, x, y,
           eg_engine_node_reason(run->engine, a), eg_engine_node_reason(run->engine, b));
}

static double bound_of(const evaluation *run, egraph_dtype dtype) {
  return bounds[dtype] * fmax(1, run->scale); // integers: 0
}

static void compare(evaluation *run, const class_value *a, const class_value *b) {
  assert_int_equal(a->count, b->count);
  for (uint32_t k = 0; k < a->count; k++) {
    assert_true(eg_type_same(&a->parts[k].type, &b->parts[k].type));
    for (int64_t i = 0; i < eg_type_elements(&a->parts[k].type); i++) {
      double x = eg_tensor_get_double(&a->parts[k], i);
      double y = eg_tensor_get_double(&b->parts[k], i);
      // Rules hold for numbers: x - x = 0 says nothing of an x that was divided by zero.
      if (!isfinite(x) || !isfinite(y)) continue;
      if (fabs(x - y) > bound_of(run, a->parts[k].type.dtype))
        fail_on_class(run, a->node, b->node, x, y);
    }
  }
  run->compared++;
}

// Values spread from the leaves upwards until nothing is added.
static void evaluate_all(evaluation *run) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (eg_class class = eg_engine_first(run->engine); class.id != EG_CLASS_NONE.id;
         class = eg_engine_next(run->engine, class)) {
      uint32_t count;
      const eg_node *nodes = eg_engine_class_nodes(run->engine, class, &count);
      for (uint32_t i = 0; i < count; i++) {
        eg_term term = eg_engine_term(run->engine, nodes[i]);
        class_value value = {.count = 0}, *known = &run->classes[class.id];
        if (run->done[nodes[i].id] || !operands_known(run, &term)) continue;
        run->done[nodes[i].id] = changed = true;
        if (!compute(run, nodes[i], &value)) continue;
        for (uint32_t k = 0; k < value.count; k++)
          note_scale(run, &value.parts[k]);
        if (known->count == 0)
          *known = value;
        else if (run->scale <= LARGEST_SCALE)
          compare(run, known, &value);
      }
    }
  }
}

static uint32_t check_classes(const eg_tensor_egraph *egraph, uint64_t seed) {
  evaluation run = {.egraph = egraph,
                    .engine = eg_tensor_egraph_engine_of(egraph),
                    .seed = seed,
                    .positive = seed % 2 == 0};
  eg_arena_init(&run.arena, eg_allocator_heap());
  assert_ok(eg_arena_alloc(&run.arena, eg_engine_class_limit(run.engine),
                           sizeof *run.classes, &run.classes));
  assert_ok(eg_arena_alloc(&run.arena, eg_engine_node_limit(run.engine), sizeof *run.done,
                           &run.done));
  evaluate_all(&run);
  eg_arena_deinit(&run.arena);
  return run.compared;
}

// ---- instances ------------------------------------------------------------------

static bool draw(eg_verify_draws *draws, eg_verify_instance *out) {
  for (uint32_t i = 0; i < DRAWS; i++) {
    bool found, typed;
    assert_ok(eg_verify_draw(draws, &found, &typed, out));
    if (found && typed) return true;
  }
  return false;
}

static uint32_t check_rule(const eg_rules *rules, uint32_t rule, uint64_t seed) {
  eg_verify_draws *draws;
  eg_verify_instance instance;
  assert_ok(eg_verify_draws_create(NULL, eg_rules_at(rules, rule), seed, &draws));
  uint32_t compared = 0;
  if (draw(draws, &instance)) {
    eg_saturation_options options = EG_SATURATION_OPTIONS_DEFAULT;
    options.math = EGRAPH_MATH_FAST;
    options.iteration_limit = ITERATIONS;
    options.node_limit = NODES;
    eg_saturation_report report;
    assert_ok(eg_saturate(instance.egraph, rules, &options, &report));
    eg_saturation_report_deinit(&report);
    compared = check_classes(instance.egraph, seed);
  }
  eg_verify_draws_destroy(draws);
  return compared;
}

static void all_nodes_of_a_class_have_one_value(void **state) {
  (void)state;
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  for (uint32_t i = 0; i < eg_rules_count(rules); i++)
    assert_ok(eg_rules_enable(rules, eg_rule_name(rules, i), true));
  uint64_t seed = test_seed(5);
  uint32_t compared = 0;
  for (size_t round = 0; round < test_rounds(1); round++)
    for (uint32_t i = 0; i < eg_rules_count(rules); i++)
      compared += check_rule(rules, i, seed + round);
  printf("%u pairs of equal nodes agree\n", compared);
  assert_true(compared > 500);
  eg_rules_destroy(rules);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_nodes_of_a_class_have_one_value),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
