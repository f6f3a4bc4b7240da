// Running training steps in tests: inputs by name, outputs carried back to the inputs of
// the same name.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_UNIT_TRAINING_KIT_H
#define EG_TESTS_UNIT_TRAINING_KIT_H

#include "pcg/training/training.h"
#include "tests/unit/session_kit.h"

/// A step, its inputs (zero at first) and the outputs of the last run.
typedef struct stepper {
  eg_graph *forward;
  eg_training step;
  eg_session *session;
  kit_tensors inputs, outputs;
} stepper;

static inline void stepper_init(stepper *s, const char *text,
                                const eg_training_options *options) {
  *s = (stepper){.forward = kit_parse("model", text)};
  assert_ok(eg_training_step(s->forward, options, &s->step));
  assert_ok(eg_graph_check(s->step.graph));
  eg_session_options session = {.backend = "reference", .threads = 1, .seed = 7};
  assert_ok(eg_session_create(NULL, s->step.graph, &session, &s->session));
  for (uint32_t i = 0; i < eg_graph_input_count(s->step.graph); i++) {
    eg_value input = eg_graph_input(s->step.graph, i);
    kit_tensors_add(&s->inputs, &eg_graph_value(s->step.graph, input)->type);
    const eg_tensor *tensor = &s->inputs.items[i];
    memset(tensor->data, 0, eg_type_bytes(&tensor->type));
  }
  kit_outputs_alloc(s->step.graph, &s->outputs);
}

static inline void stepper_deinit(stepper *s) {
  kit_tensors_deinit(&s->outputs);
  kit_tensors_deinit(&s->inputs);
  eg_session_destroy(s->session);
  eg_training_deinit(&s->step);
  eg_graph_destroy(s->forward);
}

static inline eg_tensor *stepper_input(stepper *s, const char *name) {
  for (uint32_t i = 0; i < s->inputs.count; i++) {
    eg_value value = eg_graph_input(s->step.graph, i);
    if (strcmp(eg_graph_value(s->step.graph, value)->name, name) == 0)
      return &s->inputs.items[i];
  }
  fail_msg("the step has no input '%s'", name);
  return NULL;
}

static inline eg_tensor *stepper_output(stepper *s, const char *name) {
  for (uint32_t i = 0; i < s->outputs.count; i++) {
    const char *at;
    (void)eg_graph_output(s->step.graph, i, &at);
    if (strcmp(at, name) == 0) return &s->outputs.items[i];
  }
  fail_msg("the step has no output '%s'", name);
  return NULL;
}

static inline void stepper_set(stepper *s, const char *name, double value) {
  eg_tensor *tensor = stepper_input(s, name);
  for (int64_t i = 0; i < eg_type_elements(&tensor->type); i++)
    eg_tensor_set_double(tensor, i, value);
}

/// Floating-point inputs from [-1, 1), integers from [0, below).
static inline void stepper_draw(stepper *s, const char *name, eg_rng *rng,
                                uint64_t below) {
  eg_tensor *tensor = stepper_input(s, name);
  for (int64_t i = 0; i < eg_type_elements(&tensor->type); i++)
    eg_tensor_set_double(tensor, i,
                         eg_dtype_is_float(tensor->type.dtype)
                             ? 2 * eg_rng_unit(rng) - 1
                             : (double)eg_rng_below(rng, below));
}

/// Runs the whole graph; the loss.
static inline double stepper_run(stepper *s) {
  assert_ok(eg_session_run(s->session, s->inputs.items, s->outputs.items));
  return eg_tensor_get_double(stepper_output(s, "loss"), 0);
}

/// Copies an output to the input of the same name.
static inline void stepper_carry(stepper *s, const char *name) {
  const eg_tensor *from = stepper_output(s, name), *to = stepper_input(s, name);
  memcpy(to->data, from->data, eg_type_bytes(&from->type));
}

#endif
