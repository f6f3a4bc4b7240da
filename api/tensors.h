// Converts tensors between public and internal types; functions that runs share: buffers
// for all inputs or all outputs of a graph, options.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_TENSORS_H
#define EG_API_TENSORS_H

#include "exec/session.h"

/// Reads the type of a tensor. Fails with EGRAPH_E_ARGUMENT or EGRAPH_E_TYPE when it
/// is invalid.
egraph_status eg_type_from_tensor(const egraph_tensor *tensor, eg_type *out);
/// Returns a tensor of a type; its data is NULL.
egraph_tensor eg_tensor_from_type(const eg_type *type);
/// Returns a value, which has a type, as a tensor that borrows the data (NULL: none).
egraph_tensor eg_tensor_from_value(const eg_value_info *value);

EG_VEC_DEFINE(eg_tensors, eg_tensor);

/// Tensors that own their data; eg_owned_tensors_deinit frees it.
typedef eg_tensors eg_owned_tensors;
static inline void eg_owned_tensors_init(eg_owned_tensors *tensors,
                                         egraph_allocator alloc) {
  eg_tensors_init(tensors, alloc);
}
void eg_owned_tensors_deinit(eg_owned_tensors *tensors);
/// Appends row-major inputs, filled with values drawn from the seed and their names.
egraph_status eg_tensors_draw_inputs(const eg_graph *graph, uint64_t seed,
                                     eg_owned_tensors *out);
/// Appends row-major zeroed outputs. Fails with EGRAPH_E_UNSUPPORTED when the type of an
/// output is unknown.
egraph_status eg_tensors_make_outputs(const eg_graph *graph, eg_owned_tensors *out);
/// Converts the caller's tensors; their data is borrowed. Fails with EGRAPH_E_ARGUMENT
/// for an invalid type.
egraph_status eg_tensors_take(const egraph_tensor *given, uint32_t count, eg_tensor *out);

/// Runs a graph once; `out` gets its outputs.
egraph_status eg_tensors_run(const eg_graph *graph, const eg_session_options *options,
                             const eg_tensors *inputs, eg_owned_tensors *out);

/// Converts options of a session; NULL and 0 mean the defaults.
eg_session_options eg_session_options_of(const char *backend, uint32_t threads,
                                         uint64_t seed);

#endif
