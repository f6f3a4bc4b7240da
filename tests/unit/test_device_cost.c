// Unit tests of sim/device_cost: where computing is free, the machine's figures, and when
// measured entries are believed instead.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "sim/device_cost.h"
#include "tests/testing.h"
#include "tests/unit/ops_fixture.h"

static const char *const machine_text =
    "(egraph-machine 1)(name n)(device (memory 1) (bandwidth 1e9) (overhead 1e-5)"
    " (peak (float32 1e10) (float16 1e11)))";

/// A node, with the types that inference gives.
typedef struct node {
  fixture fixture;
  eg_type results[4];
  eg_node_spec spec;
} node;

static void node_init(node *n, eg_op op, const char *attrs, const char *inputs) {
  fixture_init(&n->fixture, &(ops_case){op, attrs, inputs, ""});
  fixture *f = &n->fixture;
  f->attrs.slots = f->slots;
  uint32_t results = eg_op_results(&f->attrs);
  assert_true(results <= 4);
  assert_ok(eg_op_infer(&f->attrs, f->inputs, f->count, n->results));
  n->spec = (eg_node_spec){.attrs = &f->attrs,
                           .inputs = f->inputs,
                           .input_count = f->count,
                           .results = n->results,
                           .result_count = results};
}

static double cost_of(const eg_machine *machine, eg_cost_model *model, eg_op op,
                      const char *attrs, const char *inputs, eg_cost_source source) {
  node n;
  eg_device_cost cost;
  double seconds = -1;
  eg_cost_source found;
  node_init(&n, op, attrs, inputs);
  assert_ok(eg_device_cost_init(&cost, machine, model));
  assert_ok(eg_device_cost_seconds(&cost, &n.spec, &seconds, &found));
  assert_int_equal(found, source);
  assert_ok(eg_device_cost_seconds(&cost, &n.spec, &seconds, NULL));
  fixture_deinit(&n.fixture);
  return seconds;
}

static void parse(const char *text, eg_machine *out) {
  assert_ok(eg_machine_parse(NULL, "m", text, strlen(text), 0, out));
}

static void assert_near(double a, double b) { assert_true(fabs(a - b) <= 1e-12 * b); }

static void figures_of_the_machine_give_a_roof(void **state) {
  (void)state;
  eg_machine m;
  parse(machine_text, &m);
  // 2 * 100^3 operations in 0.2 ms; 3 * 4 * 100^2 bytes in 0.12 ms
  assert_near(cost_of(&m, NULL, EG_OP_MATMUL, "", "float32[100,100] float32[100,100]",
                      EG_COST_ESTIMATED),
              2e-4 + 1e-5);
  // ten times the peak and half of the bytes: bound by memory
  assert_near(cost_of(&m, NULL, EG_OP_MATMUL, "", "float16[100,100] float16[100,100]",
                      EG_COST_ESTIMATED),
              6e-5 + 1e-5);
  assert_near(cost_of(&m, NULL, EG_OP_RELU, "", "float32[1000]", EG_COST_ESTIMATED),
              8e-6 + 1e-5);
  assert_true(cost_of(&m, NULL, EG_OP_RESHAPE, ":shape [10 100]", "float32[1000]",
                      EG_COST_FREE) == 0);
  eg_machine_deinit(&m);
}

static const char *const reached_text =
    "(egraph-machine 1)(name n)(device (memory 1) (bandwidth 1e9) (overhead 0)"
    " (peak (float32 1e10) (float16 1e11)))"
    "(efficiency product (1e6 0.25) (3e6 0.5) (measured \"m\"))"
    "(efficiency product float16 (1 1) (published \"p\"))"
    "(efficiency bytes (1 0.5) (published \"p\"))";

static double product(const eg_machine *m, const char *inputs) {
  return cost_of(m, NULL, EG_OP_MATMUL, "", inputs, EG_COST_ESTIMATED);
}

static void curves_count_when_asked_for(void **state) {
  (void)state;
  eg_machine m;
  parse(reached_text, &m);
  assert_near(product(&m, "float32[100,100] float32[100,100]"), 2e-4);
  assert_ok(eg_machine_use_reached(&m));
  // in the middle of 1e6 operations in 0.4 ms and 3e6 in 0.6 ms
  assert_near(product(&m, "float32[100,100] float32[100,100]"), 5e-4);
  // beyond the curve: half of the peak; before it: a quarter
  assert_near(product(&m, "float32[200,200] float32[200,200]"), 16e6 / 5e9);
  assert_near(product(&m, "float32[50,50] float32[50,50]"), 25e4 / 2.5e9);
  // 6e4 bytes at half of the bandwidth; the type's own curve reaches the peak
  assert_near(product(&m, "float16[100,100] float16[100,100]"), 6e4 / 5e8);
  assert_near(cost_of(&m, NULL, EG_OP_RELU, "", "float32[1000]", EG_COST_ESTIMATED),
              8e3 / 5e8);
  eg_machine_deinit(&m);
}

/// More work never takes less time, at and between the points of a curve.
static void seconds_rise_with_work(void **state) {
  (void)state;
  eg_machine m;
  double before = 0;
  parse(reached_text, &m);
  for (double work = 1; work < 1e8; work *= 1.01) {
    double seconds = eg_reach_seconds(&m.reaches[0], work, 1e10);
    assert_true(seconds > before && seconds >= work / 1e10);
    before = seconds;
  }
  eg_machine_deinit(&m);
}

static void free_computing_costs_nothing(void **state) {
  (void)state;
  eg_machine m;
  parse("(egraph-machine 1)(name n)(compute free)", &m);
  assert_true(cost_of(&m, NULL, EG_OP_MATMUL, "", "float32[100,100] float32[100,100]",
                      EG_COST_FREE) == 0);
  eg_machine_deinit(&m);
}

static void heavy_operators_multiply_and_add(void **state) {
  (void)state;
  static const struct {
    eg_op op;
    const char *attrs, *inputs;
    bool heavy;
  } cases[] = {{EG_OP_MATMUL, "", "float32[2,3] float32[3,4]", true},
               {EG_OP_RELU, "", "float32[2,3]", false},
               {EG_OP_ADD, "", "float32[2,3] float32[3]", false},
               {EG_OP_TRANSPOSE, ":perm [1 0]", "float32[2,3]", false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    node n;
    node_init(&n, cases[i].op, cases[i].attrs, cases[i].inputs);
    assert_int_equal(eg_device_cost_is_heavy(&n.spec), cases[i].heavy);
    fixture_deinit(&n.fixture);
  }
}

// ---- measured entries -------------------------------------------------------------

static egraph_status measure(void *self, const eg_node_spec *spec, double *out_seconds,
                             bool *out_supported, eg_evidence *out_evidence) {
  (void)out_evidence;
  (void)self;
  *out_supported = spec->attrs->op != EG_OP_TANH;
  *out_seconds = 1;
  return EGRAPH_OK;
}

static void measure_relus(eg_cost_model *model, uint32_t first, uint32_t end, eg_op op) {
  for (uint32_t i = first; i < end; i++) {
    node n;
    char type[40];
    (void)snprintf(type, sizeof type, "float32[%u]", 1000 * (i + 1));
    node_init(&n, op, "", type);
    assert_ok(eg_cost_request(model, &n.spec));
    fixture_deinit(&n.fixture);
  }
  assert_ok(eg_cost_measure(model, &(eg_measurer){.measure = measure}, NULL, NULL));
}

static void enough_entries_are_believed(void **state) {
  (void)state;
  eg_machine m;
  eg_cost_model *model;
  parse(machine_text, &m);
  assert_ok(eg_cost_model_create(NULL, &(eg_cost_options){.machine = "x"}, &model));
  const uint32_t few = EG_DEVICE_COST_MIN_ENTRIES - 1;
  measure_relus(model, 0, few, EG_OP_RELU);
  measure_relus(model, 0, few, EG_OP_TANH); // not supported: no entries to calibrate with
  assert_near(cost_of(&m, model, EG_OP_RELU, "", "float32[1000]", EG_COST_ESTIMATED),
              8e-6 + 1e-5);
  measure_relus(model, few, few + 1, EG_OP_RELU);
  assert_true(cost_of(&m, model, EG_OP_RELU, "", "float32[1000]", EG_COST_MEASURED) == 1);
  double other = cost_of(&m, model, EG_OP_RELU, "", "float32[77]", EG_COST_ESTIMATED);
  assert_true(other > 0 && isfinite(other));
  assert_true(
      isinf(cost_of(&m, model, EG_OP_TANH, "", "float32[1000]", EG_COST_MEASURED)));
  assert_true(cost_of(&m, model, EG_OP_RESHAPE, ":shape [10 100]", "float32[1000]",
                      EG_COST_FREE) == 0);
  eg_cost_model_destroy(model);
  eg_machine_deinit(&m);
}

static egraph_status probe(void *self, const eg_node_spec *spec, double estimate,
                           double *out_seconds, eg_evidence *out_evidence,
                           bool *out_done) {
  (void)out_evidence;
  (void)self, (void)spec, (void)estimate;
  *out_seconds = 2;
  *out_done = true;
  return EGRAPH_OK;
}

/// One entry will do for a model that measures; where two ranks share the device it
/// counts twice.
static void models_that_measure_are_believed_at_once(void **state) {
  (void)state;
  static const char slow[] =
      "(egraph-machine 1)(name slow)(device (slowdown 2)(memory 1e9)(bandwidth 1e9)"
      "(overhead 0)(peak (float32 1e9)))";
  const eg_cost_prober prober = {.probe = probe};
  eg_machine m;
  eg_cost_model *model;
  parse(slow, &m);
  assert_ok(eg_cost_model_create(NULL, &(eg_cost_options){.machine = "x"}, &model));
  eg_cost_set_prober(model, &prober);
  assert_true(cost_of(&m, model, EG_OP_RELU, "", "float32[1000]", EG_COST_MEASURED) == 4);
  eg_cost_model_destroy(model);
  eg_machine_deinit(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(figures_of_the_machine_give_a_roof),
      cmocka_unit_test(curves_count_when_asked_for),
      cmocka_unit_test(seconds_rise_with_work),
      cmocka_unit_test(free_computing_costs_nothing),
      cmocka_unit_test(heavy_operators_multiply_and_add),
      cmocka_unit_test(enough_entries_are_believed),
      cmocka_unit_test(models_that_measure_are_believed_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
