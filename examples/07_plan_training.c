// Splits a training step over four devices and runs it on four threads: the losses are
// equal to the losses of one device.
//
//   07_plan_training
// SPDX-License-Identifier: Apache-2.0
#include "egraph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 3, MAX_TENSORS = 16 };

// Builds x[64,32] -> 128 units with relu -> y[64,16].
static egraph_status build(egraph_graph *graph) {
  egraph_value x, w1, w2, y;
  egraph_status s =
      egraph_graph_add_input(graph, "x", EGRAPH_FLOAT32, 2, (int64_t[]){64, 32}, &x);
  if (s == EGRAPH_OK)
    s = egraph_graph_add_weight(graph, "w1", EGRAPH_FLOAT32, 2, (int64_t[]){32, 128},
                                NULL, &w1);
  if (s == EGRAPH_OK)
    s = egraph_graph_add_weight(graph, "w2", EGRAPH_FLOAT32, 2, (int64_t[]){128, 16},
                                NULL, &w2);
  if (s == EGRAPH_OK)
    s = egraph_graph_add(graph, "m", "matmul", NULL, (egraph_value[]){x, w1}, 2, &y);
  if (s == EGRAPH_OK) s = egraph_graph_add(graph, "h", "relu", NULL, &y, 1, &y);
  if (s == EGRAPH_OK)
    s = egraph_graph_add(graph, "y", "matmul", NULL, (egraph_value[]){y, w2}, 2, &y);
  return s == EGRAPH_OK ? egraph_graph_add_output(graph, "y", y) : s;
}

// The tensors that a step reads and writes.
typedef struct buffers {
  egraph_tensor inputs[MAX_TENSORS], outputs[MAX_TENSORS];
  const char *input_names[MAX_TENSORS], *output_names[MAX_TENSORS];
  uint32_t input_count, output_count;
} buffers;

static egraph_status make_buffers(const egraph_graph *step, buffers *b) {
  egraph_graph_info info = egraph_graph_info_of(step);
  egraph_status s = EGRAPH_OK;
  b->input_count = info.inputs;
  b->output_count = info.outputs;
  for (uint32_t i = 0; s == EGRAPH_OK && i < info.inputs; i++) {
    egraph_tensor *t = &b->inputs[i];
    s = egraph_graph_input(step, i, &b->input_names[i], t);
    t->data = calloc(1, egraph_tensor_bytes(t));
    if (t->dtype == EGRAPH_FLOAT32)
      egraph_draw_input(b->input_names[i], 1, t);
    else // the learning rate
      *(double *)t->data = 0.1;
  }
  for (uint32_t i = 0; s == EGRAPH_OK && i < info.outputs; i++) {
    s = egraph_graph_output(step, i, &b->output_names[i], &b->outputs[i]);
    b->outputs[i].data = calloc(1, egraph_tensor_bytes(&b->outputs[i]));
  }
  return s;
}

static void free_buffers(buffers *b) {
  for (uint32_t i = 0; i < MAX_TENSORS; i++) {
    free(b->inputs[i].data);
    free(b->outputs[i].data);
  }
}

// Copies each output to the input of the same name, for the next step. Returns the loss.
static double next_step(buffers *b) {
  double loss = NAN;
  for (uint32_t o = 0; o < b->output_count; o++) {
    if (strcmp(b->output_names[o], "loss") == 0) loss = *(float *)b->outputs[o].data;
    if (egraph_tensor_not_finite(&b->outputs[o]) != 0)
      loss = NAN; // training has diverged
    for (uint32_t i = 0; i < b->input_count; i++)
      if (strcmp(b->output_names[o], b->input_names[i]) == 0)
        memcpy(b->inputs[i].data, b->outputs[o].data, egraph_tensor_bytes(&b->inputs[i]));
  }
  return loss;
}

static egraph_status train_on_four(const egraph_plan *plan, double *losses) {
  buffers b = {.input_count = 0};
  egraph_status s = make_buffers(egraph_plan_graph(plan), &b);
  for (int step = 0; s == EGRAPH_OK && step < STEPS; step++) {
    s = egraph_plan_run_local(NULL, plan, NULL, b.inputs, b.input_count, b.outputs,
                              b.output_count);
    losses[step] = next_step(&b);
  }
  free_buffers(&b);
  return s;
}

static egraph_status train_on_one(const egraph_graph *graph, double *losses) {
  buffers b = {.input_count = 0};
  egraph_session *session = NULL;
  egraph_status s = egraph_session_create(NULL, graph, NULL, &session);
  if (s == EGRAPH_OK) s = make_buffers(graph, &b);
  for (int step = 0; s == EGRAPH_OK && step < STEPS; step++) {
    s = egraph_session_run(session, b.inputs, b.input_count, b.outputs, b.output_count);
    losses[step] = next_step(&b);
  }
  free_buffers(&b);
  egraph_session_destroy(session);
  return s;
}

static void print_exchange(void *user, const egraph_plan_exchange *exchange) {
  (void)user;
  printf("%s: %d %s along %s, %.0f bytes\n", exchange->phase, (int)exchange->count,
         exchange->kind, exchange->axis, exchange->bytes);
}

static egraph_status plan_step(const egraph_graph *graph, egraph_plan **plan) {
  egraph_options options = egraph_options_default();
  egraph_target target = egraph_target_default();
  egraph_training training = egraph_training_default();
  egraph_result *result = NULL;
  double four[STEPS], one[STEPS];
  target.machine = "host*4";
  target.mesh = "cpu=4";
  training.loss = "mean-squared-error";
  options.target = &target;
  options.training = &training;
  egraph_status s = egraph_optimize(NULL, graph, NULL, NULL, &options, &result);
  if (s == EGRAPH_OK)
    printf("%s on %s\n", egraph_result_report(result)->status, target.mesh);
  if (s == EGRAPH_OK) s = egraph_result_take_plan(result, plan);
  egraph_result_destroy(result);
  if (s != EGRAPH_OK) return s;
  s = egraph_plan_account(*plan, print_exchange, NULL, NULL);
  if (s == EGRAPH_OK) s = train_on_four(*plan, four);
  if (s == EGRAPH_OK) s = train_on_one(egraph_plan_graph(*plan), one);
  for (int i = 0; s == EGRAPH_OK && i < STEPS; i++)
    printf("step %d: the losses of four devices and of one are %s\n", i + 1,
           fabs(four[i] - one[i]) <= 1e-5 * fabs(one[i]) ? "the same" : "different");
  if (s == EGRAPH_OK)
    printf("the loss %s\n", four[STEPS - 1] < four[0] ? "falls" : "does not fall");
  return s;
}

int main(void) {
  egraph_graph *graph = NULL;
  egraph_plan *plan = NULL;
  egraph_status status = egraph_graph_create(NULL, &graph);
  if (status == EGRAPH_OK) status = build(graph);
  if (status == EGRAPH_OK) status = plan_step(graph, &plan);
  if (status != EGRAPH_OK) fprintf(stderr, "%s\n", egraph_last_error());
  egraph_plan_destroy(plan);
  egraph_graph_destroy(graph);
  return status == EGRAPH_OK ? 0 : 1;
}
