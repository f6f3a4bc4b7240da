// The gradient of every operator against finite differences in float64: the graph of its
// vjp, run by the reference executor, and the operator's kernel beside it.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "pcg/training/gradient.h"
#include "tests/unit/ops_fixture.h"
#include "tests/unit/session_kit.h"

enum { MAX_OPERANDS = 8 };

typedef struct vjp_case {
  ops_case node;
  double low, high;
} vjp_case;

static const vjp_case cases[] = {
#define VJP(ID, ATTRS, INPUTS, LOW, HIGH) {{EG_OP_##ID, ATTRS, INPUTS, ""}, LOW, HIGH},
#define VJP_NONE(ID)
#include "tests/unit/vjp_cases.def"
#undef VJP
#undef VJP_NONE
};
static const eg_op without[] = {
#define VJP(ID, ATTRS, INPUTS, LOW, HIGH)
#define VJP_NONE(ID) EG_OP_##ID,
#include "tests/unit/vjp_cases.def"
#undef VJP
#undef VJP_NONE
};

// ---- the graph ------------------------------------------------------------------

/// A node on inputs, cotangents of its results as further inputs; the outputs are the
/// gradients of the floating-point operands that have one.
typedef struct vjp_graph {
  eg_graph *graph;
  uint32_t operands, results;
  int output[MAX_OPERANDS]; // -1: zero
} vjp_graph;

static bool is_float(const eg_type *type) { return eg_dtype_is_float(type->dtype); }

static egraph_status add_gradients(vjp_graph *g, eg_node_cons *cons,
                                   const eg_value *inputs, const eg_value *results) {
  eg_gradient_seed seeds[MAX_OPERANDS];
  eg_value wrt[MAX_OPERANDS], found[MAX_OPERANDS];
  uint32_t seed_count = 0, wrt_count = 0, at = 0;
  for (uint32_t i = 0; i < g->results; i++) {
    const eg_type *type = &eg_graph_value(g->graph, results[i])->type;
    if (!is_float(type)) continue;
    seeds[seed_count].value = results[i];
    EG_TRY(eg_graph_add_input(g->graph, NULL, type, &seeds[seed_count++].cotangent));
  }
  for (uint32_t i = 0; i < g->operands; i++)
    if (is_float(&eg_graph_value(g->graph, inputs[i])->type))
      wrt[wrt_count++] = inputs[i];
  EG_TRY(eg_graph_gradient(cons, seeds, seed_count, wrt, wrt_count, found));
  for (uint32_t i = 0, n = 0; i < g->operands; i++) {
    g->output[i] = -1;
    if (!is_float(&eg_graph_value(g->graph, inputs[i])->type)) continue;
    eg_value gradient = found[n++];
    if (gradient.id == EG_VALUE_NONE.id) continue;
    char name[16];
    snprintf(name, sizeof name, "d%u", i);
    g->output[i] = (int)at++;
    EG_TRY(eg_graph_add_output(g->graph, name, gradient));
  }
  return EGRAPH_OK;
}

static egraph_status vjp_graph_init(vjp_graph *g, const fixture *f,
                                    const egraph_allocator *alloc) {
  eg_value inputs[MAX_OPERANDS], results[MAX_OPERANDS];
  eg_node_cons cons;
  *g = (vjp_graph){.operands = f->count, .results = eg_op_results(&f->attrs)};
  EG_TRY(eg_graph_create(alloc, &g->graph));
  egraph_status status = eg_node_cons_init(&cons, g->graph);
  for (uint32_t i = 0; status == EGRAPH_OK && i < f->count; i++)
    status = eg_graph_add_input(g->graph, NULL, &f->inputs[i], &inputs[i]);
  if (status == EGRAPH_OK)
    status = eg_node_cons_add(&cons, NULL, &f->attrs, inputs, f->count, NULL, results);
  if (status == EGRAPH_OK) status = add_gradients(g, &cons, inputs, results);
  eg_node_cons_deinit(&cons);
  if (status != EGRAPH_OK) eg_graph_destroy(g->graph);
  return status;
}

// ---- finite differences ---------------------------------------------------------

static void draw(eg_rng *rng, const vjp_case *c, const eg_tensor *tensor) {
  for (int64_t i = 0; i < eg_type_elements(&tensor->type); i++) {
    double value = is_float(&tensor->type)
                       ? c->low + (c->high - c->low) * eg_rng_unit(rng)
                   : tensor->type.dtype == EGRAPH_BOOL ? (double)eg_rng_below(rng, 2)
                                                       : (double)eg_rng_below(rng, 3);
    eg_tensor_set_double(tensor, i, value);
  }
}

static void run_node(const fixture *f, const eg_tensor *inputs, const kit_tensors *out) {
  eg_kernel_call call = {.attrs = &f->attrs,
                         .inputs = inputs,
                         .input_count = f->count,
                         .outputs = out->items,
                         .output_count = out->count,
                         .alloc = eg_allocator_heap()};
  assert_ok(eg_op_run(&call));
}

// The products of cotangents and floating-point results, added up.
static double product(const eg_tensor *cotangents, const kit_tensors *results) {
  double sum = 0;
  uint32_t n = 0;
  for (uint32_t r = 0; r < results->count; r++) {
    const eg_tensor *y = &results->items[r];
    if (!is_float(&y->type)) continue;
    for (int64_t i = 0; i < eg_type_elements(&y->type); i++)
      sum += eg_tensor_get_double(y, i) * eg_tensor_get_double(&cotangents[n], i);
    n++;
  }
  return sum;
}

static double slope(const fixture *f, const kit_tensors *inputs, uint32_t operand,
                    int64_t element, const kit_tensors *results) {
  const double step = 1e-5;
  const eg_tensor *x = &inputs->items[operand];
  double at = eg_tensor_get_double(x, element), sums[2];
  for (int side = 0; side < 2; side++) {
    eg_tensor_set_double(x, element, side == 0 ? at - step : at + step);
    run_node(f, inputs->items, results);
    sums[side] = product(&inputs->items[f->count], results);
  }
  eg_tensor_set_double(x, element, at);
  return (sums[1] - sums[0]) / (2 * step);
}

// Central differences of step 1e-5: an error of the order of 1e-10 by curvature, 1e-11 by
// rounding.
static void compare(const vjp_case *c, const fixture *f, const vjp_graph *g,
                    const kit_tensors *inputs, const kit_tensors *gradients) {
  kit_tensors results = {.count = 0};
  eg_type types[MAX_OPERANDS];
  assert_ok(eg_op_infer(&f->attrs, f->inputs, f->count, types));
  for (uint32_t i = 0; i < g->results; i++)
    kit_tensors_add(&results, &types[i]);
  for (uint32_t i = 0; i < f->count; i++) {
    if (!is_float(&f->inputs[i])) continue;
    for (int64_t e = 0; e < eg_type_elements(&f->inputs[i]); e++) {
      double want = slope(f, inputs, i, e, &results);
      double have =
          g->output[i] < 0 ? 0 : eg_tensor_get_double(&gradients->items[g->output[i]], e);
      if (!(fabs(want - have) <= 1e-7 * fmax(1, fabs(want))))
        fail_msg("%s %s: element %lld of operand %u: %.12g, by differences %.12g",
                 eg_op_info_of(c->node.op)->name, c->node.attrs, (long long)e, i, have,
                 want);
    }
  }
  kit_tensors_deinit(&results);
}

static void check_case(const vjp_case *c, eg_rng *rng) {
  fixture f;
  vjp_graph g;
  kit_tensors inputs, gradients;
  fixture_init(&f, &c->node);
  assert_ok(vjp_graph_init(&g, &f, NULL));
  assert_ok(eg_graph_check(g.graph));
  kit_inputs_draw(g.graph, &inputs);
  for (uint32_t i = 0; i < inputs.count; i++)
    draw(rng, c, &inputs.items[i]);
  kit_run(g.graph, "reference", 1, &inputs, &gradients);
  compare(c, &f, &g, &inputs, &gradients);
  kit_tensors_deinit(&gradients);
  kit_tensors_deinit(&inputs);
  eg_graph_destroy(g.graph);
  fixture_deinit(&f);
}

static void gradients_agree_with_finite_differences(void **state) {
  (void)state;
  eg_rng rng = {test_seed(3)};
  for (size_t round = 0; round < test_rounds(2); round++)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
      check_case(&cases[i], &rng);
}

static void every_operator_has_a_case_or_is_listed_without_gradient(void **state) {
  (void)state;
  for (int op = 0; op < EG_OP_COUNT; op++) {
    int listed = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases && listed == 0; i++)
      listed = (int)cases[i].node.op == op;
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
      listed += (int)without[i] == op;
    if (listed != 1)
      fail_msg("%s must have a case, or be listed without gradient",
               eg_op_info_of((eg_op)op)->name);
  }
}

static bool is_listed_without(eg_op op) {
  for (size_t i = 0; i < sizeof without / sizeof *without; i++)
    if (without[i] == op) return true;
  return false;
}

// On the typed nodes of ops_cases.def: no gradient, or none because nothing is floating
// point; and every other operator has one.
static void operators_without_gradient_say_so(void **state) {
  (void)state;
  uint32_t refused = 0;
  for (int c = 0; c < OPS_CASES; c++) {
    fixture f;
    vjp_graph g;
    eg_type results[MAX_OPERANDS];
    fixture_init(&f, &ops_cases[c]);
    bool small = f.count < MAX_OPERANDS && eg_op_results(&f.attrs) < MAX_OPERANDS;
    if (!small || !is_listed_without(ops_cases[c].op) || f.count == 0) {
      fixture_deinit(&f);
      continue;
    }
    assert_ok(eg_op_infer(&f.attrs, f.inputs, f.count, results));
    bool has_float = false;
    for (uint32_t i = 0; i < eg_op_results(&f.attrs); i++)
      has_float = has_float || is_float(&results[i]);
    if (has_float) {
      assert_fails(vjp_graph_init(&g, &f, NULL), EGRAPH_E_UNSUPPORTED,
                   "is not differentiable");
      refused++;
    } else {
      assert_ok(vjp_graph_init(&g, &f, NULL));
      for (uint32_t i = 0; i < g.operands; i++)
        assert_int_equal(g.output[i], -1);
      eg_graph_destroy(g.graph);
    }
    fixture_deinit(&f);
  }
  assert_true(refused >= 6);
}

static void unsupported_uses_say_so(void **state) {
  (void)state;
  static const ops_case rows[] = {
      {EG_OP_TOP_K, ":k 1", "float64[1,1,1,1,1,1,1,1,1,1,1,2]", "of the highest rank"},
      {EG_OP_SLICE,
       ":starts [0 0 0 0 0 0 0 0 0 0 0 0] :ends [1 1 1 1 1 1 1 1 1 1 1 3]"
       " :steps [1 1 1 1 1 1 1 1 1 1 1 2]",
       "float64[1,1,1,1,1,1,1,1,1,1,1,3]", "of the highest rank"},
      {EG_OP_TILE, ":repeats [2 2 2 2 2 2 2]", "float64[1,1,1,1,1,1,1]",
       "so many repeated dimensions"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fixture f;
    vjp_graph g;
    fixture_init(&f, &rows[i]);
    assert_fails(vjp_graph_init(&g, &f, NULL), EGRAPH_E_UNSUPPORTED, rows[i].results);
    fixture_deinit(&f);
  }
}

static egraph_status build_all(egraph_allocator alloc, void *user) {
  vjp_graph g;
  EG_TRY(vjp_graph_init(&g, user, &alloc));
  eg_graph_destroy(g.graph);
  return EGRAPH_OK;
}

static void every_rule_survives_each_allocation_failing(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fixture f;
    fixture_init(&f, &cases[i].node);
    test_every_allocation_failing(build_all, &f);
    fixture_deinit(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_operator_has_a_case_or_is_listed_without_gradient),
      cmocka_unit_test(gradients_agree_with_finite_differences),
      cmocka_unit_test(operators_without_gradient_say_so),
      cmocka_unit_test(unsupported_uses_say_so),
      cmocka_unit_test(every_rule_survives_each_allocation_failing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
