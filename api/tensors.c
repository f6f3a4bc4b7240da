// SPDX-License-Identifier: Apache-2.0
#include "api/tensors.h"

#include "pcg/graph/weights.h"

egraph_status eg_type_from_tensor(const egraph_tensor *tensor, eg_type *out) {
  if (tensor->rank > EGRAPH_MAX_RANK)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "rank %u exceeds the limit of %d", tensor->rank,
                   EGRAPH_MAX_RANK);
  if (tensor->dtype >= EGRAPH_DTYPE_COUNT)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "unknown element type %d", (int)tensor->dtype);
  eg_type type = eg_type_of(tensor->dtype, tensor->rank, tensor->dims);
  EG_TRY(eg_type_check(&type));
  *out = type;
  return EGRAPH_OK;
}

egraph_tensor eg_tensor_from_type(const eg_type *type) {
  egraph_tensor tensor = {.dtype = type->dtype, .rank = type->rank};
  for (uint32_t i = 0; i < type->rank; i++)
    tensor.dims[i] = eg_size_example(type->dims[i]);
  return tensor;
}

egraph_tensor eg_tensor_from_value(const eg_value_info *value) {
  egraph_tensor tensor = eg_tensor_from_type(&value->type);
  if (value->data != NULL) tensor.data = (void *)(uintptr_t)eg_buffer_data(value->data);
  return tensor;
}

void eg_owned_tensors_deinit(eg_owned_tensors *tensors) {
  for (size_t i = 0; i < tensors->len; i++)
    eg_free(tensors->alloc, tensors->data[i].data, eg_type_bytes(&tensors->data[i].type),
            1);
  eg_tensors_deinit(tensors);
}

static egraph_status add_tensor(eg_tensors *tensors, const eg_type *type) {
  eg_tensor tensor = {.type = *type};
  tensor.type.layout = (eg_layout){.format = EG_FORMAT_PLAIN};
  EG_TRY(eg_tensors_push(tensors, tensor));
  return eg_alloc(tensors->alloc, eg_type_bytes(&tensor.type), 1,
                  &tensors->data[tensors->len - 1].data);
}

egraph_status eg_tensors_draw_inputs(const eg_graph *graph, uint64_t seed,
                                     eg_owned_tensors *out) {
  for (uint32_t i = 0; i < eg_graph_input_count(graph); i++) {
    const eg_value_info *info = eg_graph_value(graph, eg_graph_input(graph, i));
    EG_TRY(add_tensor(out, &info->type));
    eg_input_draw(info->name, seed, &out->data[i]);
  }
  return EGRAPH_OK;
}

egraph_status eg_tensors_make_outputs(const eg_graph *graph, eg_owned_tensors *out) {
  for (uint32_t i = 0; i < eg_graph_output_count(graph); i++) {
    const char *name;
    const eg_value_info *info = eg_graph_value(graph, eg_graph_output(graph, i, &name));
    if (!info->typed)
      return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                     "the type of output '%s' is unknown (opaque operator)", name);
    EG_TRY(add_tensor(out, &info->type));
  }
  return EGRAPH_OK;
}

egraph_status eg_tensors_take(const egraph_tensor *given, uint32_t count,
                              eg_tensor *out) {
  for (uint32_t i = 0; i < count; i++) {
    out[i].data = given[i].data;
    EG_TRY(eg_type_from_tensor(&given[i], &out[i].type));
  }
  return EGRAPH_OK;
}

egraph_status eg_tensors_run(const eg_graph *graph, const eg_session_options *options,
                             const eg_tensors *inputs, eg_owned_tensors *out) {
  const egraph_allocator alloc = eg_graph_allocator(graph);
  eg_session *session;
  EG_TRY(eg_session_create(&alloc, graph, options, &session));
  egraph_status status = eg_tensors_make_outputs(graph, out);
  if (status == EGRAPH_OK) status = eg_session_run(session, inputs->data, out->data);
  eg_session_destroy(session);
  return status;
}

eg_session_options eg_session_options_of(const char *backend, uint32_t threads,
                                         uint64_t seed) {
  eg_session_options options = EG_SESSION_OPTIONS_DEFAULT;
  if (backend != NULL) options.backend = backend;
  if (threads != 0) options.threads = threads;
  options.seed = seed;
  return options;
}
