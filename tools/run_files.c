// Files of a training run: batches, the checkpoint to resume from, the checkpoint that it
// writes, the model with trained weights.
//
// A checkpoint is a NumPy archive. It contains every weight and every optimizer state,
// whole and under its name in the plan, and "egraph.step", the number of steps done.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/lists.h"
#include "tools/owned.h"
#include "tools/rank_tensors.h"
#include "tools/tensor_files.h"

static const char STEP_NAME[] = "egraph.step";

/// True for inputs that a checkpoint contains. Left out are sums of gradients, zeros at
/// the start of each step, and copies, which follow from the weights.
static bool is_kept(const rank_run *r, uint32_t input) {
  bool is_sum =
      rank_run_is_state(r, input) && text_ends_with(r->input_names[input], ".sum");
  return rank_run_carries(r, input) && !is_sum && !rank_run_is_copy(r, input);
}

static void print_type(const egraph_tensor *type) {
  fprintf(stderr, "%s[", egraph_dtype_name(type->dtype));
  for (uint32_t i = 0; i < type->rank; i++)
    fprintf(stderr, i == 0 ? "%" PRId64 : ",%" PRId64, type->dims[i]);
  fprintf(stderr, "]");
}

/// Complains: "array 'x' is float32[2] where the plan has float32[4]; the remedy".
static bool complain_of_type(const char *path, const char *name,
                             const egraph_tensor *have, const egraph_tensor *want,
                             const char *remedy) {
  show(stderr, "egraph: %s: array '%s' is ", path, name);
  print_type(have);
  fprintf(stderr, " where the plan has ");
  print_type(want);
  fprintf(stderr, "; %s\n", remedy);
  return false;
}

// ---- batches --------------------------------------------------------------------

/// True for inputs that --data may contain: all inputs of a step that do not come from
/// the step before, except scalars.
static bool is_fed(const rank_run *r, uint32_t input) {
  const char *name = r->input_names[input];
  bool is_scalar = strcmp(name, "learning_rate") == 0 || strcmp(name, "step") == 0;
  return !rank_run_carries(r, input) && !(is_scalar && r->inputs[input].rank == 0);
}

static void list_fed(const rank_run *r) {
  for (uint32_t i = 0; i < r->input_count; i++)
    if (is_fed(r, i)) show(stderr, " %s", r->input_names[i]);
  fprintf(stderr, "\n");
}

/// Counts the batches of an array, which follow each other along the first dimension.
/// False, with a message, when there is none.
static bool count_batches(const rank_run *r, const char *name, const egraph_tensor *all,
                          const egraph_tensor *one, uint64_t *out) {
  static const char remedy[] =
      "give it as many batches, one behind the other along the first dimension";
  bool is_series = one->rank == 0 && all->rank == 1; // a series of scalars
  bool fits = all->dtype == one->dtype && (is_series || all->rank == one->rank);
  for (uint32_t i = 1; fits && i < one->rank; i++)
    fits = all->dims[i] == one->dims[i];
  int64_t rows = one->rank == 0 ? 1 : one->dims[0];
  int64_t have = all->rank == 0 ? 1 : all->dims[0];
  if (!fits || (all->rank != 0 && (rows == 0 || have < rows)))
    return complain_of_type(r->flags->data, name, all, one, remedy);
  if (have % rows != 0)
    return complain("%s: array '%s' has %" PRId64 " rows, which batches of %" PRId64
                    " do not divide; leave the last %" PRId64 " out",
                    r->flags->data, name, have, rows, have % rows);
  *out = (uint64_t)(have / rows);
  return true;
}

static bool check_array(rank_run *r, const char *name, const egraph_tensor *all) {
  int32_t input = rank_run_find_input(r, name);
  if (input < 0 || !is_fed(r, (uint32_t)input)) {
    fprintf(stderr,
            "egraph: %s: array '%s' is no input of the plan; name arrays as inputs, and "
            "labels 'target':",
            r->flags->data, name);
    list_fed(r);
    return false;
  }
  uint64_t count = 0;
  if (!count_batches(r, name, all, &r->inputs[input], &count)) return false;
  if (count != 1 && r->batch_count > 1 && count != r->batch_count)
    return complain("%s: array '%s' has %" PRIu64 " batches, others %" PRIu64
                    "; give all of them as many",
                    r->flags->data, name, count, r->batch_count);
  if (count > r->batch_count) r->batch_count = count;
  return true;
}

static bool check_batches(rank_run *r) {
  for (uint32_t i = 0; i < egraph_arrays_count(r->batches); i++) {
    const char *name;
    egraph_tensor all = egraph_arrays_at(r->batches, i, &name);
    if (!check_array(r, name, &all)) return false;
  }
  for (uint32_t i = 0; i < r->input_count; i++) {
    egraph_tensor all;
    if (!is_fed(r, i) || tensor_file(&r->flags->inputs, r->input_names[i]) != NULL ||
        egraph_arrays_find(r->batches, r->input_names[i], &all))
      continue;
    fprintf(stderr,
            "egraph: %s has no array '%s'; it needs one for each of:", r->flags->data,
            r->input_names[i]);
    list_fed(r);
    return false;
  }
  return true;
}

// ---- checkpoints ----------------------------------------------------------------

static bool read_step(rank_run *r) {
  egraph_tensor number;
  if (!egraph_arrays_find(r->resumed, STEP_NAME, &number) ||
      number.dtype != EGRAPH_INT64 || number.rank != 0 || *(int64_t *)number.data < 0)
    return complain(
        "%s is no checkpoint: it has no '%s'; give a file that --checkpoint wrote",
        r->flags->resume, STEP_NAME);
  r->first_step = (uint64_t) * (int64_t *)number.data;
  return true;
}

static bool check_checkpoint(const rank_run *r) {
  static const char remedy[] =
      "give the checkpoint of the same model, trained by the same optimizer";
  const char *path = r->flags->resume;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < r->input_count; i++) {
    egraph_tensor have;
    if (!is_kept(r, i)) continue;
    kept++;
    if (!egraph_arrays_find(r->resumed, r->input_names[i], &have))
      return complain_of("%s has no '%s'; %s", path, r->input_names[i], remedy);
    const egraph_tensor *want = &r->inputs[i];
    if (have.dtype != want->dtype || have.rank != want->rank ||
        memcmp(have.dims, want->dims, want->rank * sizeof *want->dims) != 0)
      return complain_of_type(path, r->input_names[i], &have, want, remedy);
  }
  if (kept + 1 == egraph_arrays_count(r->resumed)) return true;
  for (uint32_t i = 0; i < egraph_arrays_count(r->resumed); i++) {
    const char *name;
    (void)egraph_arrays_at(r->resumed, i, &name);
    int32_t input = rank_run_find_input(r, name);
    if (strcmp(name, STEP_NAME) != 0 && (input < 0 || !is_kept(r, (uint32_t)input)))
      show(stderr, "egraph: %s has '%s', which the plan does not train; %s\n", path, name,
           remedy);
  }
  return false;
}

static bool open_arrays(const char *path, egraph_arrays **out) {
  if (path == NULL) return true;
  return outcome_of(egraph_arrays_load(NULL, path, out)) == EXIT_DONE;
}

bool rank_run_open_files(rank_run *r) {
  const run_flags *f = r->flags;
  if (!open_arrays(f->data, &r->batches) || !open_arrays(f->resume, &r->resumed))
    return false;
  return (f->data == NULL || check_batches(r)) &&
         (f->resume == NULL || (read_step(r) && check_checkpoint(r)));
}

// ---- what a run leaves ----------------------------------------------------------

/// Adds weights, and with `states` optimizer states, to arrays, as after the last step.
static egraph_status collect(const rank_run *r, bool states, egraph_arrays *out) {
  const egraph_tensor *last = r->outputs + (size_t)(r->rows - 1) * r->output_count;
  for (uint32_t o = 0; o < r->output_count; o++)
    if (r->entry[o] >= 0 && is_kept(r, (uint32_t)r->entry[o]) &&
        (states || !rank_run_is_state(r, (uint32_t)r->entry[o])))
      EG_TRY(egraph_arrays_add(out, r->output_names[o], &last[o]));
  return EGRAPH_OK;
}

static egraph_status write_checkpoint(const rank_run *r) {
  int64_t steps = (int64_t)(r->first_step + r->done);
  const egraph_tensor number = {.dtype = EGRAPH_INT64, .data = &steps};
  OWNED(egraph_arrays, arrays);
  EG_TRY(egraph_arrays_create(NULL, &arrays));
  EG_TRY(collect(r, true, arrays));
  EG_TRY(egraph_arrays_add(arrays, STEP_NAME, &number));
  return egraph_arrays_save(arrays, r->flags->checkpoint);
}

enum { MOST_PATH = 4096 };

/// Writes the name of a file next to another, with space for ".data"; false: too long.
static bool name_beside(const char *path, const char *end, char out[MOST_PATH]) {
  int length = snprintf(out, MOST_PATH, "%s.%ld.%s.onnx", path, (long)getpid(), end);
  return length > 0 && (size_t)length + sizeof ".data" <= MOST_PATH;
}

static void remove_model(char *path) {
  size_t length = strlen(path);
  (void)remove(path);
  memcpy(path + length, ".data", sizeof ".data");
  (void)remove(path);
}

/// Saves a copy of the model with the trained weights. An untied model is first written
/// next to the copy, because the model's file lacks some of its weights.
static egraph_status save_model(const rank_run *r, const char *path) {
  char whole[MOST_PATH];
  OWNED(egraph_arrays, arrays);
  EG_TRY(egraph_arrays_create(NULL, &arrays));
  EG_TRY(collect(r, false, arrays));
  if (!r->is_untied) return egraph_model_save(NULL, r->model_path, arrays, path);
  if (!name_beside(path, "untied", whole)) return EGRAPH_E_ARGUMENT;
  egraph_status status = egraph_graph_save(r->model, whole);
  if (status == EGRAPH_OK) status = egraph_model_save(NULL, whole, arrays, path);
  remove_model(whole);
  return status;
}

bool rank_run_can_save(const rank_run *r) {
  char path[MOST_PATH];
  if (r->flags->save == NULL || !name_beside(r->flags->save, "try", path)) return true;
  egraph_status status = save_model(r, path);
  remove_model(path);
  return outcome_of(status) == EXIT_DONE ||
         complain("--save would fail after training; nothing was trained");
}

bool rank_run_write_files(const rank_run *r) {
  const run_flags *f = r->flags;
  bool good = f->checkpoint == NULL || outcome_of(write_checkpoint(r)) == EXIT_DONE;
  return (f->save == NULL || outcome_of(save_model(r, f->save)) == EXIT_DONE) && good;
}
