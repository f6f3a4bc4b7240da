// Training steps (pcg/training/training.h) on ranks and on one device: the same inputs,
// several micro-batches and steps.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_UNIT_RANK_TRAINING_H
#define EG_TESTS_UNIT_RANK_TRAINING_H

#include "exec/local/local_channel.h"
#include "exec/rank_program.h"
#include "pcg/training/training.h"
#include "tests/unit/session_kit.h"

enum { MICRO_BATCHES = 2, STEPS = 3, MOST_PAIRS = 256 };

/// What leaves a step and enters the next one, or the next micro-batch.
typedef struct pair {
  uint32_t output, input; // indices
  bool is_sum;
} pair;

typedef struct problem {
  eg_graph *forward;
  eg_training training;
  eg_phase *phases;
  pair pairs[MOST_PAIRS];
  uint32_t pair_count;
  kit_tensors inputs[MICRO_BATCHES];
  eg_tensor rows[MICRO_BATCHES * KIT_MAX_TENSORS];
  uint32_t micro_batches;
  const eg_plan *plan; // of the step, or of a graph equal to it
  bool overlaps;       // with exchanges beside computing
  eg_issue issue;      // then
  kit_tensors have;
} problem;

static inline void add_pair(problem *p, eg_training_state state, bool is_sum) {
  if (state.entry.id == EG_VALUE_NONE.id) return;
  const eg_graph *graph = p->training.graph;
  pair found = {.is_sum = is_sum};
  assert_true(p->pair_count < MOST_PAIRS);
  while (eg_graph_output(graph, found.output, NULL).id != state.exit.id)
    found.output++;
  while (eg_graph_input(graph, found.input).id != state.entry.id)
    found.input++;
  p->pairs[p->pair_count++] = found;
}

static inline void draw_inputs(problem *p) {
  const eg_graph *graph = p->training.graph;
  uint32_t count = eg_graph_input_count(graph);
  for (uint32_t m = 0; m < p->micro_batches; m++) {
    kit_inputs_draw(graph, &p->inputs[m]);
    for (uint32_t i = 0; i < count; i++) {
      const eg_tensor *tensor = &p->inputs[m].items[i];
      eg_value value = eg_graph_input(graph, i);
      bool is_data = value.id == p->training.target.id ||
                     strcmp(eg_graph_value(graph, value)->name, "x") == 0;
      int64_t elements = eg_type_elements(&tensor->type);
      for (int64_t e = 0; is_data && m == 1 && e < elements / 2; e++) // other data
        eg_tensor_set_double(tensor, e, eg_tensor_get_double(tensor, elements - 1 - e));
      if (value.id == p->training.learning_rate.id) eg_tensor_set_double(tensor, 0, 0.01);
      if (value.id == p->training.step.id) eg_tensor_set_double(tensor, 0, 1);
      p->rows[m * count + i] = *tensor;
    }
  }
  // Moments begin as zeros, and so do the sums.
  for (uint32_t i = 0; i < p->pair_count; i++) {
    const eg_tensor *tensor = &p->inputs[0].items[p->pairs[i].input];
    const char *name =
        eg_graph_value(graph, eg_graph_input(graph, p->pairs[i].input))->name;
    if (strchr(name, '.') != NULL) memset(tensor->data, 0, eg_type_bytes(&tensor->type));
  }
}

static inline void problem_init(problem *p, const char *forward,
                                const eg_training_options *options) {
  *p = (problem){.forward = kit_parse("forward", forward),
                 .micro_batches = options->micro_batches};
  assert_true(p->micro_batches <= MICRO_BATCHES);
  assert_ok(eg_training_step(p->forward, options, &p->training));
  uint32_t nodes = eg_graph_node_count(p->training.graph);
  p->phases = malloc(nodes * sizeof *p->phases);
  for (uint32_t n = 0; n < nodes; n++)
    p->phases[n] = eg_training_phase(&p->training, (eg_graph_node){n});
  for (uint32_t i = 0; i < p->training.param_count; i++) {
    const eg_training_param *param = &p->training.params[i];
    add_pair(p, param->value, false);
    add_pair(p, param->sum, true);
    for (uint32_t s = 0; s < p->training.state_count; s++)
      add_pair(p, param->state[s], false);
  }
  draw_inputs(p);
  kit_outputs_alloc(p->training.graph, &p->have);
}

static inline void problem_deinit(problem *p) {
  for (uint32_t m = 0; m < p->micro_batches; m++)
    kit_tensors_deinit(&p->inputs[m]);
  kit_tensors_deinit(&p->have);
  eg_training_deinit(&p->training);
  eg_graph_destroy(p->forward);
  free(p->phases);
}

// ---- one device -----------------------------------------------------------------------

static inline void copy_tensor(const eg_tensor *to, const eg_tensor *from) {
  memcpy(to->data, from->data, eg_type_bytes(&from->type));
}

static inline bool is_carried(const problem *p, uint32_t input) {
  for (uint32_t i = 0; i < p->pair_count; i++)
    if (p->pairs[i].input == input) return true;
  return false;
}

static inline void carry(const problem *p, bool is_sum, const kit_tensors *out,
                         const kit_tensors *in) {
  for (uint32_t i = 0; i < p->pair_count; i++)
    if (p->pairs[i].is_sum == is_sum)
      copy_tensor(&in->items[p->pairs[i].input], &out->items[p->pairs[i].output]);
}

static inline void train_alone(const problem *p, kit_tensors *out) {
  eg_session *session;
  eg_session_options options = {.backend = "reference", .threads = 1, .seed = 7};
  kit_tensors in;
  kit_inputs_draw(p->training.graph, &in);
  kit_outputs_alloc(p->training.graph, out);
  assert_ok(eg_session_create(NULL, p->training.graph, &options, &session));
  for (uint32_t i = 0; i < in.count; i++)
    copy_tensor(&in.items[i], &p->inputs[0].items[i]);
  for (uint32_t step = 0; step < STEPS; step++) {
    for (uint32_t i = 0; i < p->pair_count; i++) // as they were given: zeros
      if (p->pairs[i].is_sum)
        copy_tensor(&in.items[p->pairs[i].input], &p->inputs[0].items[p->pairs[i].input]);
    for (uint32_t m = 0; m < p->micro_batches; m++) {
      for (uint32_t i = 0; i < in.count; i++)
        if (!is_carried(p, i)) copy_tensor(&in.items[i], &p->inputs[m].items[i]);
      assert_ok(eg_session_run(session, in.items, out->items));
      carry(p, true, out, &in);
    }
    carry(p, false, out, &in);
  }
  kit_tensors_deinit(&in);
  eg_session_destroy(session);
}

// ---- ranks ----------------------------------------------------------------------------

static inline egraph_status run_steps(const problem *p, eg_rank_program *program,
                                      bool writes) {
  EG_TRY(eg_rank_program_load(program));
  for (uint32_t i = 0; i < p->pair_count; i++)
    EG_TRY(eg_rank_program_put(program, eg_graph_input(p->plan->graph, p->pairs[i].input),
                               &p->inputs[0].items[p->pairs[i].input]));
  for (uint32_t step = 0; step < STEPS; step++)
    EG_TRY(eg_rank_program_run(program, p->rows));
  for (uint32_t i = 0; i < p->have.count; i++) {
    eg_tensor to = p->have.items[i];
    if (!writes) to.data = NULL;
    EG_TRY(eg_rank_program_fetch(program, i, &to));
  }
  return EGRAPH_OK;
}

static inline egraph_status train(void *user, eg_channel *channel) {
  const problem *p = user;
  eg_rank_program *program;
  eg_rank_options options = {.backend = "reference",
                             .threads = 1,
                             .seed = 7,
                             .overlaps = p->overlaps,
                             .issue = p->issue};
  EG_TRY(eg_rank_program_create(NULL, p->plan, channel, &options, &program));
  egraph_status status = run_steps(p, program, channel->rank == 0);
  eg_rank_program_destroy(program);
  return status;
}

/// Trains on the plan's ranks; rank 0 keeps the outputs in `have`.
static inline void train_on_ranks(problem *p) {
  eg_channel_options options = EG_CHANNEL_OPTIONS_DEFAULT;
  assert_ok(eg_local_ranks_run(NULL, &p->plan->mesh, &options, train, p));
}

#endif
