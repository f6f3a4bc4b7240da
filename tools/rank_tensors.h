// The flags of egraph run, a run of a plan, and the tensors that its steps read and
// write: their first values, batches, and files.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_RANK_TENSORS_H
#define EG_TOOLS_RANK_TENSORS_H

#include "include/egraph.h"
#include "tools/optimize_call.h"

/// Flags of egraph run.
typedef struct run_flags {
  bool compare, steps, json;
  const char *backend;
  uint32_t threads;
  uint64_t repeats, seed;
  load_flags load;
  text_list inputs, outputs;
  // plans
  uint64_t ranks, train; // 0: not given
  const char *channel, *optimizer, *loss, *issue;
  double rate, deadline; // deadline: seconds; 0: not given
  bool verify, no_measure;
  const char *database;
  // training
  training_flags training;
  const char *weights; // model that gives weights their first values
  const char *data;    // batches
  const char *save, *checkpoint, *resume;
} run_flags;

/// Returns the options of a session on one device. (run_alone.c)
egraph_session_options run_session_options(const run_flags *flags);

typedef struct rank_run {
  const run_flags *flags;
  egraph_plan *plan;
  const char *model_path;    // path of the model that is run, or of --weights; NULL: only
                             // a plan
  egraph_graph *model;       // the model at that path
  bool is_untied;            // `model` has weights that the file lacks
  egraph_arrays *batches;    // --data
  uint64_t batch_count;      // number of batches in --data
  egraph_arrays *resumed;    // --resume
  uint64_t first_step;       // steps done before this run
  uint32_t drawn;            // weights without data
  const egraph_graph *graph; // graph of the plan
  uint32_t input_count, output_count, rows, rank;
  egraph_tensor *inputs, *outputs; // a row per micro-batch
  const char **input_names, **output_names;
  int32_t *entry; // [outputs] the input that the output becomes in the next step, or -1
  int32_t loss;   // output, or -1
  double *seconds, *busy;
  size_t step_count, done;
  // --verify: training is checked step by step, other runs once afterwards
  egraph_step_check *check;
  egraph_status check_status;
  egraph_step_verdict verdict; // the worst of all steps
  double *alone;               // [steps] seconds on one device
} rank_run;

/// Reads the graph of the plan; r->inputs and r->outputs then have types but no data.
egraph_status rank_run_describe(rank_run *r);
/// Draws or reads the inputs of a run, allocates its outputs. *out_read is false when a
/// file of the user could not be read (already reported).
egraph_status rank_run_fill(rank_run *r, bool *out_read);
/// Frees all that a run owns.
void rank_run_close(rank_run *r);
/// Returns the index of an input; -1: there is no input of that name.
int32_t rank_run_find_input(const rank_run *r, const char *name);
/// True when an input of a step is an output of the previous step.
bool rank_run_carries(const rank_run *r, uint32_t input);
/// Sets the input "step" of the optimizer, if there is one.
void rank_run_count_step(const rank_run *r, double number);
/// Fills the inputs of all micro-batches of a step (from 0, of this run) from --data.
void rank_run_take_batch(const rank_run *r, uint64_t step);
/// True when an input that passes from step to step is an optimizer state or a sum of
/// gradients, not a weight.
bool rank_run_is_state(const rank_run *r, uint32_t input);
/// True for a copy "w.copy" of a weight "w".
bool rank_run_is_copy(const rank_run *r, uint32_t input);
/// Allocates zeroed data for tensors[index] of each micro-batch (r->rows rows of `count`
/// tensors), or of the first micro-batch only; false when memory is lacking.
bool rank_tensors_allocate(const rank_run *r, egraph_tensor *tensors, uint32_t count,
                           uint32_t index, bool all_rows);
void rank_tensors_free(const rank_run *r, egraph_tensor *tensors, uint32_t count);

/// Opens --data and --resume, and compares names and types with the plan; false with a
/// message. (run_files.c)
bool rank_run_open_files(rank_run *r);
/// True when --save will be possible: tries to write next to the file before training
/// starts. False with a message. (run_files.c)
bool rank_run_can_save(const rank_run *r);
/// Writes --checkpoint and --save, after the last step; false with a message.
bool rank_run_write_files(const rank_run *r);
/// Prints which weights are trained, and where weights get their first values, a line for
/// each. (trained_weights.c)
void rank_run_print_weights(const rank_run *r);

/// Opens the comparison with one device (--verify) before a run. (run_alone.c)
egraph_status rank_run_open_check(rank_run *r);
/// Compares a step of training with one device, and stores its results for the check of
/// the next step. False: stop; r->check_status is the reason.
bool rank_run_check_step(rank_run *r, uint32_t step);
/// Verifies a run without training after its end; sets r->verdict.
egraph_status rank_run_verify(rank_run *r);

/// True when a plan will run: the path is a plan, or a model runs on ranks. (run_ranks.c)
bool runs_on_ranks(const run_flags *flags, const char *path);
/// Runs a plan; returns an exit status.
int run_on_ranks(const run_flags *flags, const char *path);

#endif
