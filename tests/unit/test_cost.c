// Unit tests of sim/cost: the order of the sources, free nodes, measuring and its
// interruptions, determinism.
// SPDX-License-Identifier: Apache-2.0
#define _XOPEN_SOURCE 700
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim/cost.h"
#include "tests/testing.h"

static char folder[200], path[300];

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/egraph-cost-XXXXXX");
  if (mkdtemp(folder) == NULL) return -1;
  (void)snprintf(path, sizeof path, "%s/costs.db", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  static const char *const suffixes[] = {"", "-wal", "-shm"};
  char name[400];
  for (size_t i = 0; i < 3; i++) {
    (void)snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
    (void)unlink(name);
  }
  return rmdir(folder);
}

// ---- nodes to price -------------------------------------------------------------

typedef struct node {
  eg_attr slots[16];
  eg_attrs attrs;
  eg_type inputs[70], results[2];
  eg_node_spec spec;
} node;

static eg_type float_type(int64_t a, int64_t b, int64_t c, int64_t d) {
  const int64_t dims[] = {a, b, c, d};
  return eg_type_of(EGRAPH_FLOAT32, 4, dims);
}

// A node with `count` operands and one result of one shape.
static node *node_of(eg_op op, uint32_t count, int64_t channels) {
  static node nodes[32];
  static uint32_t next;
  node *n = &nodes[next++ % 32];
  *n = (node){0};
  eg_attrs_defaults(op, n->slots);
  n->attrs = (eg_attrs){
      .op = (uint16_t)op, .count = eg_op_info_of(op)->attr_count, .slots = n->slots};
  for (uint32_t i = 0; i < count; i++)
    n->inputs[i] = float_type(1, channels, 28, 28);
  n->results[0] = float_type(1, channels, 28, 28);
  n->spec = (eg_node_spec){.attrs = &n->attrs,
                           .inputs = n->inputs,
                           .input_count = count,
                           .results = n->results,
                           .result_count = 1};
  return n;
}

static const eg_node_spec *relu(int64_t channels) {
  return &node_of(EG_OP_RELU, 1, channels)->spec;
}

// ---- a device that is not there -------------------------------------------------

typedef struct device {
  uint32_t calls, fail_at, pause_microseconds;
  eg_evidence evidence;
  double seconds; // 0: a figure that depends on the channels
  char order[2000];
} device;

static egraph_status measure(void *self, const eg_node_spec *spec, double *out_seconds,
                             bool *out_supported, eg_evidence *out_evidence) {
  device *d = self;
  *out_evidence = d->evidence;
  if (++d->calls == d->fail_at) return EG_FAIL(EGRAPH_E_INTERNAL, "device lost");
  if (d->pause_microseconds != 0)
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000 * (long)d->pause_microseconds},
                    NULL);
  int64_t channels = spec->inputs[0].dims[1];
  if (d->calls < 100) {
    size_t used = strlen(d->order);
    (void)snprintf(d->order + used, sizeof d->order - used, "%s%d ",
                   eg_op_info_of((eg_op)spec->attrs->op)->name, (int)channels);
  }
  *out_supported = spec->attrs->op != EG_OP_SOFTMAX;
  *out_seconds = d->seconds != 0 ? d->seconds : 1e-6 * (double)channels;
  return EGRAPH_OK;
}

static eg_measurer measurer_of(device *d) {
  return (eg_measurer){.measure = measure, .self = d};
}

static eg_cost_model *open_model(const char *database, bool read_only) {
  eg_cost_options options = {
      .database = database, .machine = "test cpu", .read_only = read_only};
  eg_cost_model *model;
  assert_ok(eg_cost_model_create(NULL, &options, &model));
  return model;
}

static double price(eg_cost_model *model, const eg_node_spec *spec,
                    eg_cost_source expected) {
  double seconds = -1;
  eg_cost_source source;
  assert_ok(eg_cost_seconds(model, spec, &seconds, &source));
  assert_int_equal(source, expected);
  return seconds;
}

static void measure_now(eg_cost_model *model, const eg_node_spec *spec, device *d) {
  eg_measurer measurer = measurer_of(d);
  assert_ok(eg_cost_request(model, spec));
  assert_ok(eg_cost_measure(model, &measurer, NULL, NULL));
}

// ---- tests ----------------------------------------------------------------------

static void leaves_views_and_weight_only_nodes_are_free(void **state) {
  (void)state;
  eg_cost_model *model = open_model(NULL, false);
  const eg_op free_ops[] = {EG_OP_INPUT, EG_OP_WEIGHT,   EG_OP_FILL,
                            EG_OP_EYE,   EG_OP_OPAQUE,   EG_OP_RESHAPE,
                            EG_OP_PART,  EG_OP_IDENTITY, EG_OP_SQUEEZE};
  for (size_t i = 0; i < sizeof free_ops / sizeof *free_ops; i++) {
    uint32_t inputs = (eg_op_info_of(free_ops[i])->flags & EG_OPF_LEAF) != 0 ? 0 : 1;
    const eg_node_spec *spec = &node_of(free_ops[i], inputs, 8)->spec;
    assert_true(price(model, spec, EG_COST_FREE) == 0);
    assert_ok(eg_cost_request(model, spec));
  }
  node *add = node_of(EG_OP_ADD, 2, 8);
  add->spec.weight_mask = 3;
  assert_true(price(model, &add->spec, EG_COST_FREE) == 0);
  assert_ok(eg_cost_request(model, &add->spec));
  assert_int_equal(eg_cost_requested(model), 0);
  eg_cost_model_destroy(model);
}

static void everything_else_costs_something(void **state) {
  (void)state;
  eg_cost_model *model = open_model(":memory:", false);
  assert_true(price(model, relu(8), EG_COST_ESTIMATED) > 0);
  node *add = node_of(EG_OP_ADD, 2, 8);
  add->spec.weight_mask = 1;
  assert_true(price(model, &add->spec, EG_COST_ESTIMATED) > 0);
  // A change of memory format moves data.
  node *reorder = node_of(EG_OP_IDENTITY, 1, 8);
  reorder->results[0].layout.format = EG_FORMAT_NHWC;
  assert_true(price(model, &reorder->spec, EG_COST_ESTIMATED) > 0);
  reorder->inputs[0].layout.format = EG_FORMAT_NHWC;
  assert_true(price(model, &reorder->spec, EG_COST_FREE) == 0);
  // Operands past the 64th count as data.
  node *concat = node_of(EG_OP_CONCAT, 65, 8);
  concat->spec.weight_mask = UINT64_MAX;
  assert_true(price(model, &concat->spec, EG_COST_ESTIMATED) > 0);
  concat->spec.input_count = 64;
  assert_true(price(model, &concat->spec, EG_COST_FREE) == 0);
  eg_cost_model_destroy(model);
}

static bool override(void *user, const eg_node_spec *spec, double *out) {
  const double *cost = user;
  if (spec->attrs->op != EG_OP_RELU && spec->attrs->op != EG_OP_INPUT) return false;
  *out = *cost;
  return true;
}

static void the_callers_function_comes_first(void **state) {
  (void)state;
  double cost = 5;
  eg_cost_options options = {.machine = "m", .override_cost = override, .user = &cost};
  eg_cost_model *model;
  assert_ok(eg_cost_model_create(NULL, &options, &model));
  assert_true(price(model, relu(8), EG_COST_USER) == 5);
  assert_true(price(model, &node_of(EG_OP_INPUT, 0, 8)->spec, EG_COST_USER) == 5);
  (void)price(model, &node_of(EG_OP_TANH, 1, 8)->spec, EG_COST_ESTIMATED);
  assert_ok(eg_cost_request(model, relu(8)));
  assert_int_equal(eg_cost_requested(model), 0);
  cost = (double)INFINITY;
  assert_true(isinf(price(model, relu(8), EG_COST_USER)));
  const double bad[] = {-1, (double)NAN};
  for (size_t i = 0; i < 2; i++) {
    cost = bad[i];
    double out;
    assert_fails(eg_cost_seconds(model, relu(8), &out, NULL), EGRAPH_E_ARGUMENT,
                 "relu: the caller's cost function returned");
    assert_fails(eg_cost_request(model, relu(8)), EGRAPH_E_ARGUMENT, "relu");
  }
  eg_cost_model_destroy(model);
}

typedef struct prober {
  uint32_t calls;
  bool declines;
} prober;

static egraph_status probe_node(void *self, const eg_node_spec *spec, double estimate,
                                double *out_seconds, eg_evidence *out_evidence,
                                bool *out_done) {
  (void)out_evidence;
  prober *p = self;
  p->calls++;
  if (spec->attrs->op == EG_OP_NEG) return EG_FAIL(EGRAPH_E_INTERNAL, "device lost");
  *out_seconds = spec->attrs->op == EG_OP_SOFTMAX ? (double)INFINITY : 3 + 0 * estimate;
  *out_done = !p->declines;
  return EGRAPH_OK;
}

static void what_is_asked_for_is_measured_and_kept(void **state) {
  (void)state;
  prober p = {.declines = true};
  const eg_cost_prober asked = {.probe = probe_node, .self = &p};
  eg_cost_options options = {.database = path, .machine = "test cpu"};
  eg_cost_model *model;
  double seconds;
  assert_ok(eg_cost_model_create(NULL, &options, &model));
  eg_cost_set_prober(model, &asked);
  assert_true(eg_cost_is_asked_for(model));
  assert_true(price(model, relu(40), EG_COST_ESTIMATED) != 3); // declined
  p.declines = false;
  assert_true(price(model, relu(40), EG_COST_MEASURED) == 3);
  assert_true(price(model, relu(40), EG_COST_MEASURED) == 3);
  assert_int_equal(p.calls, 2);
  const eg_node_spec *softmax = &node_of(EG_OP_SOFTMAX, 1, 40)->spec;
  assert_true(isinf(price(model, softmax, EG_COST_MEASURED)));
  assert_fails(eg_cost_seconds(model, &node_of(EG_OP_NEG, 1, 40)->spec, &seconds, NULL),
               EGRAPH_E_INTERNAL, "device lost");
  eg_cost_model_destroy(model);
  model = open_model(path, true);
  assert_false(eg_cost_is_asked_for(model));
  assert_true(price(model, relu(40), EG_COST_MEASURED) == 3);
  assert_true(isinf(price(model, softmax, EG_COST_MEASURED)));
  eg_cost_model_destroy(model);
}

static void measured_costs_persist_with_their_machine(void **state) {
  (void)state;
  device d = {0};
  eg_cost_model *model = open_model(path, false);
  double estimate = price(model, relu(8), EG_COST_ESTIMATED);
  measure_now(model, relu(8), &d);
  assert_true(price(model, relu(8), EG_COST_MEASURED) == 8e-6);
  assert_true(estimate != 8e-6);
  measure_now(model, relu(8), &d); // known: not measured again
  assert_int_equal(d.calls, 1);
  eg_cost_model_destroy(model);

  model = open_model(path, true);
  assert_true(price(model, relu(8), EG_COST_MEASURED) == 8e-6);
  (void)price(model, relu(9), EG_COST_ESTIMATED);
  eg_cost_model_destroy(model);
  eg_cost_options other = {.database = path, .machine = "other cpu"};
  assert_ok(eg_cost_model_create(NULL, &other, &model));
  (void)price(model, relu(8), EG_COST_ESTIMATED);
  eg_cost_model_destroy(model);
}

static void unsupported_nodes_cost_infinity_and_are_not_asked_again(void **state) {
  (void)state;
  device d = {0};
  eg_cost_model *model = open_model(path, false);
  const eg_node_spec *softmax = &node_of(EG_OP_SOFTMAX, 1, 8)->spec;
  measure_now(model, softmax, &d);
  measure_now(model, relu(8), &d);
  assert_true(isinf(price(model, softmax, EG_COST_MEASURED)));
  eg_cost_model_destroy(model);
  model = open_model(path, false);
  assert_true(isinf(price(model, softmax, EG_COST_MEASURED)));
  assert_ok(eg_cost_request(model, softmax));
  assert_int_equal(eg_cost_requested(model), 0);
  uint32_t entries, unsupported;
  assert_ok(eg_cost_counts(model, &entries, &unsupported));
  assert_int_equal(entries, 2);
  assert_int_equal(unsupported, 1);
  eg_cost_model_destroy(model);
}

static void requests_are_copied_and_measured_once_in_order(void **state) {
  (void)state;
  device d = {0};
  eg_cost_model *model = open_model(NULL, false);
  node *reshape = node_of(EG_OP_TRANSPOSE, 1, 3);
  int64_t perm[] = {0, 2, 3, 1};
  reshape->slots[0].ints = (eg_ints){.data = perm, .len = 4};
  assert_ok(eg_cost_request(model, &reshape->spec));
  memset(perm, 0, sizeof perm); // the graph it came from is gone
  memset(reshape, 0, sizeof *reshape);
  for (int64_t i = 0; i < 40; i++)
    assert_ok(eg_cost_request(model, relu(40 - i % 20)));
  assert_int_equal(eg_cost_requested(model), 21);
  eg_measurer measurer = measurer_of(&d);
  assert_ok(eg_cost_measure(model, &measurer, NULL, NULL));
  assert_int_equal(d.calls, 21);
  assert_memory_equal(d.order, "transpose3 relu40 relu39 relu38 ", 32);
  assert_int_equal(eg_cost_requested(model), 0);
  eg_cost_model_destroy(model);
}

static bool stop_at(void *user, uint32_t done, uint32_t total) {
  uint32_t *stop = user;
  assert_int_equal(total, 30);
  return done == *stop;
}

static void a_search_may_measure_again_without_changing_estimates(void **state) {
  (void)state;
  eg_cost_model *model = open_model(NULL, false);
  device d = {.seconds = 0};
  eg_measurer measurer = measurer_of(&d);
  for (int64_t channels = 8; channels <= 32; channels *= 2)
    measure_now(model, relu(channels), &d);
  double before = price(model, relu(24), EG_COST_ESTIMATED);
  d.seconds = 1e-3;
  for (int64_t channels = 8; channels <= 32; channels *= 2)
    assert_ok(eg_cost_request_again(model, relu(channels), EG_AGAIN_REPLACE));
  assert_ok(eg_cost_remeasure(model, &measurer, NULL, NULL));
  assert_true(price(model, relu(8), EG_COST_MEASURED) == 1e-3);
  assert_true(price(model, relu(24), EG_COST_ESTIMATED) == before);
  assert_ok(eg_cost_measure(model, &measurer, NULL, NULL)); // nothing but the calibration
  assert_true(price(model, relu(24), EG_COST_ESTIMATED) > 2 * before);
  eg_cost_model_destroy(model);
}

static void measuring_again_keeps_the_smaller_or_replaces(void **state) {
  (void)state;
  eg_cost_model *model = open_model(NULL, false);
  eg_evidence evidence;
  uint32_t entry;
  device d = {.seconds = 2, .evidence = {.samples = 100, .spread = 0.5, .load = 1}};
  eg_measurer measurer = measurer_of(&d);
  assert_ok(eg_cost_request_again(model, relu(8), EG_AGAIN_SMALLER));
  assert_int_equal(eg_cost_requested(model), 0); // not measured yet
  measure_now(model, relu(8), &d);
  assert_int_equal(eg_cost_busy(model), 1);
  assert_ok(eg_cost_measured_entry(model, relu(8), &entry));
  assert_true(fabs(eg_cost_error(model, entry) - 1.858 * 0.5 / 10) < 1e-9);
  const double seconds[] = {3, 1, 1.5}, kept[] = {2, 1, 1.5};
  const uint32_t samples[] = {400, 700, 300};
  for (int i = 0; i < 3; i++) {
    d.seconds = seconds[i];
    d.evidence = (eg_evidence){.samples = 300, .spread = 0.25};
    assert_ok(eg_cost_request_again(model, relu(8),
                                    i < 2 ? EG_AGAIN_SMALLER : EG_AGAIN_REPLACE));
    assert_ok(eg_cost_measure(model, &measurer, NULL, NULL));
    assert_true(price(model, relu(8), EG_COST_MEASURED) == kept[i]);
    assert_ok(eg_cost_evidence(model, relu(8), &evidence));
    assert_int_equal(evidence.samples, samples[i]);
    assert_true(evidence.spread == (i == 0 ? 0.5 : 0.25));
  }
  eg_cost_model_destroy(model);
}

/// Each entry once per model.
static void a_model_of_again_measures_what_is_known(void **state) {
  (void)state;
  device d = {.seconds = 2};
  eg_cost_model *model = open_model(path, false);
  measure_now(model, relu(8), &d);
  eg_cost_model_destroy(model);
  const eg_cost_options options = {
      .database = path, .machine = "test cpu", .again = true};
  assert_ok(eg_cost_model_create(NULL, &options, &model));
  d.seconds = 5;
  measure_now(model, relu(8), &d);
  measure_now(model, relu(8), &d);
  assert_int_equal(d.calls, 2);
  eg_cost_model_destroy(model);
  model = open_model(path, true);
  assert_true(price(model, relu(8), EG_COST_MEASURED) == 5);
  eg_cost_model_destroy(model);
}

static void stopping_early_keeps_what_was_measured(void **state) {
  (void)state;
  device d = {0};
  eg_cost_model *model = open_model(path, false);
  for (int64_t i = 1; i <= 30; i++)
    assert_ok(eg_cost_request(model, relu(i)));
  uint32_t stop = 19;
  eg_measurer measurer = measurer_of(&d);
  assert_ok(eg_cost_measure(model, &measurer, stop_at, &stop));
  assert_int_equal(d.calls, 19);
  assert_int_equal(eg_cost_requested(model), 11);
  (void)price(model, relu(19), EG_COST_MEASURED);
  (void)price(model, relu(20), EG_COST_ESTIMATED);
  assert_ok(eg_cost_request(model, relu(20)));
  assert_int_equal(eg_cost_requested(model), 11);
  assert_ok(eg_cost_measure(model, &measurer, NULL, NULL));
  assert_int_equal(d.calls, 30);
  assert_true(price(model, relu(30), EG_COST_MEASURED) == 1e-6 * 30);
  eg_cost_model_destroy(model);
}

static void a_failing_device_keeps_what_was_measured(void **state) {
  (void)state;
  device d = {.fail_at = 8};
  eg_cost_model *model = open_model(path, false);
  for (int64_t i = 1; i <= 30; i++)
    assert_ok(eg_cost_request(model, relu(i)));
  eg_measurer measurer = measurer_of(&d);
  assert_fails(eg_cost_measure(model, &measurer, NULL, NULL), EGRAPH_E_INTERNAL,
               "measuring relu (float32[1,8,28,28]");
  assert_non_null(strstr(egraph_last_error(), "device lost"));
  assert_int_equal(eg_cost_requested(model), 23);
  eg_cost_model_destroy(model);
  model = open_model(path, true);
  (void)price(model, relu(7), EG_COST_MEASURED);
  (void)price(model, relu(8), EG_COST_ESTIMATED);
  eg_cost_model_destroy(model);
}

static void absurd_measurements_are_refused(void **state) {
  (void)state;
  eg_cost_model *model = open_model(NULL, false);
  const double bad[] = {-1, (double)NAN, (double)INFINITY};
  for (size_t i = 0; i < 3; i++) {
    device d = {.seconds = bad[i]};
    eg_measurer measurer = measurer_of(&d);
    assert_ok(eg_cost_request(model, relu(8)));
    assert_fails(eg_cost_measure(model, &measurer, NULL, NULL), EGRAPH_E_INTERNAL,
                 "seconds");
  }
  (void)price(model, relu(8), EG_COST_ESTIMATED);
  eg_cost_model_destroy(model);
}

static void measurements_calibrate_the_estimates(void **state) {
  (void)state;
  device d = {0}; // one microsecond per channel, for 28 x 28 elements each
  eg_cost_model *model = open_model(path, false);
  double before = price(model, relu(1000), EG_COST_ESTIMATED);
  for (int64_t i = 1; i <= 20; i++)
    assert_ok(eg_cost_request(model, relu(25 * i)));
  eg_measurer measurer = measurer_of(&d);
  assert_ok(eg_cost_measure(model, &measurer, NULL, NULL));
  double after = price(model, relu(1000), EG_COST_ESTIMATED);
  print_message("estimated %g, calibrated %g, true 1e-3\n", before, after);
  assert_true(fabs(after - 1e-3) < 1e-4);
  assert_true(fabs(before - 1e-3) > 1e-4);
  eg_cost_model_destroy(model);
  model = open_model(path, true); // the same database, the same figures
  assert_true(price(model, relu(1000), EG_COST_ESTIMATED) == after);
  eg_cost_model_destroy(model);
}

static void a_read_only_model_measures_for_itself(void **state) {
  (void)state;
  device d = {0};
  eg_cost_model_destroy(open_model(path, false));
  eg_cost_model *model = open_model(path, true);
  measure_now(model, relu(8), &d);
  assert_true(price(model, relu(8), EG_COST_MEASURED) == 8e-6);
  eg_cost_model_destroy(model);
  model = open_model(path, true);
  (void)price(model, relu(8), EG_COST_ESTIMATED);
  eg_cost_model_destroy(model);
}

static void two_models_agree_on_the_first_measurement(void **state) {
  (void)state;
  device first = {.seconds = 1}, second = {.seconds = 2};
  eg_cost_model *a = open_model(path, false), *b = open_model(path, false);
  measure_now(a, relu(8), &first);
  measure_now(b, relu(8), &second);
  assert_true(price(b, relu(8), EG_COST_MEASURED) == 1);
  eg_cost_model_destroy(a);
  eg_cost_model_destroy(b);
}

static void a_killed_run_keeps_its_finished_batches(void **state) {
  (void)state;
  eg_cost_model_destroy(open_model(path, false));
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    device d = {.pause_microseconds = 2000};
    eg_cost_model *model = open_model(path, false);
    for (int64_t i = 1; i <= 4000; i++)
      if (eg_cost_request(model, relu(i)) != EGRAPH_OK) _exit(1);
    eg_measurer measurer = measurer_of(&d);
    (void)eg_cost_measure(model, &measurer, NULL, NULL);
    _exit(0);
  }
  uint32_t entries = 0, unsupported;
  for (int i = 0; i < 2000 && entries < 32; i++) {
    (void)nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    eg_cost_model *model = open_model(path, true);
    assert_ok(eg_cost_counts(model, &entries, &unsupported));
    eg_cost_model_destroy(model);
  }
  assert_int_equal(kill(child, SIGKILL), 0);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
  eg_cost_model *model = open_model(path, false);
  assert_ok(eg_cost_counts(model, &entries, &unsupported));
  assert_in_range(entries, 32, 3999);
  for (int64_t i = 1; i <= (int64_t)entries; i++)
    assert_true(price(model, relu(i), EG_COST_MEASURED) == 1e-6 * (double)i);
  device d = {0};
  measure_now(model, relu(entries + 1), &d);
  eg_cost_model_destroy(model);
}

static void bad_options_are_named(void **state) {
  (void)state;
  eg_cost_model *model;
  eg_cost_options options = {0};
  assert_fails(eg_cost_model_create(NULL, &options, &model), EGRAPH_E_ARGUMENT,
               "machine");
  options = (eg_cost_options){.machine = "m", .busy_seconds = -1};
  assert_fails(eg_cost_model_create(NULL, &options, &model), EGRAPH_E_ARGUMENT,
               "busy_seconds");
  options = (eg_cost_options){.machine = "m", .database = "/nowhere/x.db"};
  assert_fails(eg_cost_model_create(NULL, &options, &model), EGRAPH_E_IO,
               "/nowhere/x.db");
  eg_cost_model_destroy(NULL);
}

static egraph_status use_model(eg_cost_model *model) {
  device d = {0};
  eg_measurer measurer = measurer_of(&d);
  double seconds;
  for (int64_t i = 1; i < 25; i++) {
    EG_TRY(eg_cost_seconds(model, relu(i), &seconds, NULL));
    EG_TRY(eg_cost_request(model, relu(i)));
  }
  EG_TRY(eg_cost_measure(model, &measurer, NULL, NULL));
  return eg_cost_seconds(model, relu(24), &seconds, NULL);
}

static egraph_status use_once(egraph_allocator alloc, void *user) {
  eg_cost_options options = {.database = user, .machine = "m"};
  eg_cost_model *model;
  EG_TRY(eg_cost_model_create(&alloc, &options, &model));
  egraph_status status = use_model(model);
  eg_cost_model_destroy(model);
  return status;
}

static void it_survives_each_allocation_failing(void **state) {
  (void)state;
  static char memory[] = ":memory:";
  test_every_allocation_failing(use_once, memory);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(leaves_views_and_weight_only_nodes_are_free),
      cmocka_unit_test(everything_else_costs_something),
      cmocka_unit_test(the_callers_function_comes_first),
      IN_FOLDER(what_is_asked_for_is_measured_and_kept),
      IN_FOLDER(measured_costs_persist_with_their_machine),
      IN_FOLDER(unsupported_nodes_cost_infinity_and_are_not_asked_again),
      cmocka_unit_test(requests_are_copied_and_measured_once_in_order),
      IN_FOLDER(measuring_again_keeps_the_smaller_or_replaces),
      IN_FOLDER(a_search_may_measure_again_without_changing_estimates),
      IN_FOLDER(a_model_of_again_measures_what_is_known),
      IN_FOLDER(stopping_early_keeps_what_was_measured),
      IN_FOLDER(a_failing_device_keeps_what_was_measured),
      cmocka_unit_test(absurd_measurements_are_refused),
      IN_FOLDER(measurements_calibrate_the_estimates),
      IN_FOLDER(a_read_only_model_measures_for_itself),
      IN_FOLDER(two_models_agree_on_the_first_measurement),
      IN_FOLDER(a_killed_run_keeps_its_finished_batches),
      cmocka_unit_test(bad_options_are_named),
      cmocka_unit_test(it_survives_each_allocation_failing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
