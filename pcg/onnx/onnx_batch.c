// Models whose batch is fixed, read with another one.
//
// Inputs get the new first dimension. Shapes that are computed follow it by themselves;
// constant ones of the file follow by where the batch stands in the operand
// (onnx_op_shape.c), which the model as it is in the file tells. Every output must then
// be what it was but for one dimension, which has grown like the batch.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "pcg/onnx/onnx.h"

static egraph_status find_batch(const eg_graph *graph, const char *file, int64_t *out) {
  *out = 0;
  for (uint32_t i = 0; i < eg_graph_input_count(graph); i++) {
    const eg_value_info *input = eg_graph_value(graph, eg_graph_input(graph, i));
    if (input->type.rank == 0) continue;
    if (*out != 0 && input->type.dims[0] != *out)
      return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                     "%s: the model has no one batch: the first dimension of input "
                     "'%.100s' is %" PRId64 ", of others %" PRId64,
                     file, input->name, input->type.dims[0], *out);
    *out = input->type.dims[0];
  }
  if (*out > 0) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s: no input has a batch", file);
}

/// Whether `now` is `old` with at most one dimension that has grown from `from` to `to`.
static bool has_followed(const eg_type *old, const eg_type *now, int64_t from,
                         int64_t to) {
  uint32_t grown = 0;
  if (old->rank != now->rank || old->dtype != now->dtype) return false;
  for (uint32_t i = 0; i < old->rank; i++) {
    if (old->dims[i] == now->dims[i]) continue;
    if (old->dims[i] % from != 0 || now->dims[i] != old->dims[i] / from * to)
      return false;
    grown++;
  }
  return grown <= 1;
}

static egraph_status check_outputs(const char *file, const eg_graph *old,
                                   const eg_graph *now, int64_t from, int64_t to) {
  for (uint32_t i = 0; i < eg_graph_output_count(old); i++) {
    const char *name;
    const eg_value_info *a = eg_graph_value(old, eg_graph_output(old, i, &name));
    const eg_value_info *b = eg_graph_value(now, eg_graph_output(now, i, NULL));
    if (a->typed && b->typed && has_followed(&a->type, &b->type, from, to)) continue;
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "%s: output '%.200s' does not follow the batch of %" PRId64
                   "; export the model with a symbolic batch",
                   file, name, to);
  }
  return EGRAPH_OK;
}

egraph_status eg_onnx_load_batch(const egraph_allocator *alloc, const char *path,
                                 const eg_onnx_import_options *options,
                                 const eg_graph *graph, int64_t batch, eg_graph **out) {
  int64_t old;
  eg_graph *now;
  EG_TRY(find_batch(graph, path, &old));
  eg_onnx_import_options resized = *options;
  resized.batch = batch;
  resized.as_in_file = graph;
  egraph_status status = eg_onnx_load(alloc, path, &resized, &now);
  if (status == EGRAPH_E_MEMORY) return status;
  if (status != EGRAPH_OK)
    return eg_fail_context(EGRAPH_E_UNSUPPORTED,
                           "a batch of %" PRId64 " in the place of %" PRId64, batch, old);
  status = check_outputs(path, graph, now, old, batch);
  if (status == EGRAPH_OK)
    *out = now;
  else
    eg_graph_destroy(now);
  return status;
}
