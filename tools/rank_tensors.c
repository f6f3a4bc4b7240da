// A tensor that passes from step to step has the same name as input and as output
// (pcg/training/training.h). Weights begin with the model's values, and their copies
// "w.copy" with them; sums "w.sum" and optimizer states "w.m" begin as zeros. Drawn
// inputs differ between micro-batches but not between steps, except "step".
// SPDX-License-Identifier: Apache-2.0
#include "tools/rank_tensors.h"

#include <stdlib.h>
#include <string.h>

#include "tools/lists.h"
#include "tools/tensor_files.h"

static int32_t find_text(const char *const *names, uint32_t count, const char *name) {
  for (uint32_t i = 0; i < count; i++)
    if (strcmp(names[i], name) == 0) return (int32_t)i;
  return -1;
}

int32_t rank_run_find_input(const rank_run *r, const char *name) {
  return find_text(r->input_names, r->input_count, name);
}

bool rank_run_carries(const rank_run *r, uint32_t input) {
  return find_text(r->output_names, r->output_count, r->input_names[input]) >= 0;
}

// True for names like "w.m", if "w" is an input, too.
bool rank_run_is_state(const rank_run *r, uint32_t input) {
  const char *name = r->input_names[input], *dot = strrchr(name, '.');
  for (uint32_t i = 0; dot != NULL && i < r->input_count; i++) {
    size_t length = strlen(r->input_names[i]);
    if (length == (size_t)(dot - name) && strncmp(name, r->input_names[i], length) == 0)
      return rank_run_carries(r, i);
  }
  return false;
}

bool rank_tensors_allocate(const rank_run *r, egraph_tensor *tensors, uint32_t count,
                           uint32_t index, bool all_rows) {
  for (uint32_t m = 0; m < r->rows; m++) {
    egraph_tensor *tensor = &tensors[m * count + index];
    *tensor = tensors[index];
    tensor->data = NULL;
    if (m != 0 && !all_rows) continue;
    size_t bytes = egraph_tensor_bytes(tensor);
    tensor->data = calloc(bytes != 0 ? bytes : 1, 1);
    if (tensor->data == NULL) return false;
  }
  return true;
}

bool rank_run_is_copy(const rank_run *r, uint32_t input) {
  return rank_run_is_state(r, input) && text_ends_with(r->input_names[input], ".copy");
}

/// Fills the copies of weights that no file gives, when all weights are filled.
static void fill_copies(const rank_run *r) {
  for (uint32_t i = 0; i < r->input_count; i++) {
    bool is_given = tensor_file(&r->flags->inputs, r->input_names[i]) != NULL;
    if (is_given || !rank_run_is_copy(r, i)) continue;
    size_t length = strlen(r->input_names[i]) - strlen(".copy");
    for (uint32_t w = 0; w < r->input_count; w++)
      if (strlen(r->input_names[w]) == length &&
          strncmp(r->input_names[w], r->input_names[i], length) == 0)
        egraph_tensor_convert(&r->inputs[w], &r->inputs[i]);
  }
}

/// Fills a trained weight with first values: of checkpoint or model, or drawn.
static void fill_carried(rank_run *r, uint32_t index) {
  const char *name = r->input_names[index];
  const egraph_tensor *tensor = &r->inputs[index];
  egraph_tensor from = {.data = NULL};
  if (r->resumed != NULL && egraph_arrays_find(r->resumed, name, &from)) {
    memcpy(tensor->data, from.data, egraph_tensor_bytes(tensor));
    return;
  }
  if (rank_run_is_state(r, index)) return; // zeros
  if (r->model != NULL && egraph_graph_find_weight(r->model, name, &from) == EGRAPH_OK &&
      from.data != NULL && egraph_tensor_bytes(&from) == egraph_tensor_bytes(tensor)) {
    memcpy(tensor->data, from.data, egraph_tensor_bytes(tensor));
    return;
  }
  egraph_draw_weight(name, r->flags->seed, tensor);
  r->drawn++;
}

static void fill_input(rank_run *r, uint32_t index) {
  const char *name = r->input_names[index];
  const egraph_tensor *first = &r->inputs[index];
  bool is_scalar = first->dtype == EGRAPH_FLOAT64 && first->rank == 0 && r->loss >= 0;
  if (rank_run_carries(r, index)) {
    fill_carried(r, index);
    return;
  }
  for (uint32_t m = 0; m < r->rows; m++) {
    const egraph_tensor *tensor = &r->inputs[m * r->input_count + index];
    if (is_scalar && strcmp(name, "learning_rate") == 0)
      *(double *)tensor->data = r->flags->rate;
    else if (is_scalar && strcmp(name, "step") == 0)
      *(double *)tensor->data = (double)r->first_step + 1;
    else
      egraph_draw_input(name, r->flags->seed + m, tensor);
  }
}

void rank_run_take_batch(const rank_run *r, uint64_t step) {
  for (uint32_t i = 0; r->batches != NULL && i < r->input_count; i++) {
    egraph_tensor all;
    if (rank_run_carries(r, i) ||
        tensor_file(&r->flags->inputs, r->input_names[i]) != NULL ||
        !egraph_arrays_find(r->batches, r->input_names[i], &all))
      continue;
    size_t bytes = egraph_tensor_bytes(&r->inputs[i]);
    uint64_t count = bytes != 0 ? egraph_tensor_bytes(&all) / bytes : 1;
    for (uint32_t m = 0; m < r->rows; m++) {
      uint64_t batch = ((r->first_step + step) * r->rows + m) % count;
      memcpy(r->inputs[m * r->input_count + i].data,
             (const char *)all.data + batch * bytes, bytes);
    }
  }
}

/// Reads an input from a file that contains the rows of all micro-batches, one after
/// the other.
static bool read_input(const rank_run *r, uint32_t index, const char *path) {
  uint32_t rows = rank_run_carries(r, index) ? 1 : r->rows;
  size_t bytes = egraph_tensor_bytes(&r->inputs[index]);
  char *data = malloc(rows * bytes + 1);
  bool is_read = data != NULL && tensor_read(path, data, rows * bytes);
  for (uint32_t m = 0; is_read && m < rows; m++)
    memcpy(r->inputs[m * r->input_count + index].data, data + m * bytes, bytes);
  free(data);
  return is_read;
}

static bool is_wanted(const rank_run *r, uint32_t output) {
  bool is_kept = r->flags->checkpoint != NULL || r->flags->save != NULL;
  return r->flags->verify || (int32_t)output == r->loss ||
         (is_kept && r->entry[output] >= 0) ||
         tensor_file(&r->flags->outputs, r->output_names[output]) != NULL;
}

/// Allocates outputs: outputs that flags name have data for the last micro-batch, the
/// loss has data for every micro-batch.
static bool make_outputs(rank_run *r) {
  for (uint32_t o = 0; o < r->output_count; o++) {
    if (!rank_tensors_allocate(r, r->outputs, r->output_count, o, true)) return false;
    for (uint32_t m = 0; m < r->rows; m++) {
      egraph_tensor *tensor = &r->outputs[m * r->output_count + o];
      bool is_checked = r->flags->verify && r->entry[o] < 0;
      if ((int32_t)o == r->loss || is_checked || (is_wanted(r, o) && m + 1 == r->rows))
        continue;
      free(tensor->data);
      tensor->data = NULL;
    }
  }
  return true;
}

egraph_status rank_run_describe(rank_run *r) {
  egraph_graph_info info = egraph_graph_info_of(r->graph);
  r->rows = egraph_plan_info_of(r->plan).micro_batches;
  r->input_count = info.inputs;
  r->output_count = info.outputs;
  r->step_count = r->flags->train != 0 ? r->flags->train : r->flags->repeats + 1;
#define ROOM(field, count)                                                               \
  ((r->field = calloc((size_t)(count) + 1, sizeof *r->field)) != NULL)
  if (!ROOM(inputs, (size_t)r->rows * info.inputs) ||
      !ROOM(outputs, (size_t)r->rows * info.outputs) || !ROOM(input_names, info.inputs) ||
      !ROOM(output_names, info.outputs) || !ROOM(entry, info.outputs) ||
      !ROOM(seconds, r->step_count) || !ROOM(busy, r->step_count) ||
      !ROOM(alone, r->step_count))
    return EGRAPH_E_MEMORY;
  for (uint32_t i = 0; i < info.inputs; i++)
    EG_TRY(egraph_graph_input(r->graph, i, &r->input_names[i], &r->inputs[i]));
  for (uint32_t o = 0; o < info.outputs; o++)
    EG_TRY(egraph_graph_output(r->graph, o, &r->output_names[o], &r->outputs[o]));
  for (uint32_t o = 0; o < info.outputs; o++)
    r->entry[o] = find_text(r->input_names, info.inputs, r->output_names[o]);
  bool trains = find_text(r->input_names, info.inputs, "learning_rate") >= 0;
  r->loss = trains ? find_text(r->output_names, info.outputs, "loss") : -1;
  return EGRAPH_OK;
}

egraph_status rank_run_fill(rank_run *r, bool *out_read) {
  if (!make_outputs(r)) return EGRAPH_E_MEMORY;
  for (uint32_t i = 0; i < r->input_count; i++) {
    const char *path = tensor_file(&r->flags->inputs, r->input_names[i]);
    if (!rank_tensors_allocate(r, r->inputs, r->input_count, i, !rank_run_carries(r, i)))
      return EGRAPH_E_MEMORY;
    fill_input(r, i);
    if (path != NULL && !read_input(r, i, path)) *out_read = false;
  }
  fill_copies(r);
  rank_run_take_batch(r, 0);
  return EGRAPH_OK;
}

void rank_tensors_free(const rank_run *r, egraph_tensor *tensors, uint32_t count) {
  for (size_t i = 0; tensors != NULL && i < (size_t)r->rows * count; i++)
    free(tensors[i].data);
  free(tensors);
}

void rank_run_close(rank_run *r) {
  rank_tensors_free(r, r->inputs, r->input_count);
  rank_tensors_free(r, r->outputs, r->output_count);
  void *const rooms[] = {r->input_names, r->output_names, r->entry,
                         r->seconds,     r->busy,         r->alone};
  for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
    free(rooms[i]);
  egraph_step_check_destroy(r->check);
  egraph_arrays_destroy(r->batches);
  egraph_arrays_destroy(r->resumed);
  egraph_graph_destroy(r->model);
  egraph_plan_destroy(r->plan);
}

void rank_run_count_step(const rank_run *r, double number) {
  int32_t index = find_text(r->input_names, r->input_count, "step");
  for (uint32_t m = 0; r->loss >= 0 && index >= 0 && m < r->rows; m++) {
    const egraph_tensor *tensor = &r->inputs[m * r->input_count + (uint32_t)index];
    if (tensor->dtype == EGRAPH_FLOAT64 && tensor->rank == 0)
      *(double *)tensor->data = number;
  }
}
