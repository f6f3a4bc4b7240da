// Tensors between public and internal types, and what runs have in common: buffers for
// all inputs or all outputs of a graph, options.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_TENSORS_H
#define EG_API_TENSORS_H

#include "exec/session.h"

/// Fails with EGRAPH_E_ARGUMENT or EGRAPH_E_TYPE when the tensor has no valid type.
egraph_status eg_type_from_tensor(const egraph_tensor *tensor, eg_type *out);
/// Data is NULL.
egraph_tensor eg_tensor_from_type(const eg_type *type);

EG_VEC_DEFINE(eg_tensors, eg_tensor);

/// Tensors with data of their own, which eg_owned_tensors_deinit frees.
typedef eg_tensors eg_owned_tensors;
static inline void eg_owned_tensors_init(eg_owned_tensors *tensors,
                                         egraph_allocator alloc) {
  eg_tensors_init(tensors, alloc);
}
void eg_owned_tensors_deinit(eg_owned_tensors *tensors);
/// Appends row-major inputs filled from the seed and their names.
egraph_status eg_tensors_draw_inputs(const eg_graph *graph, uint64_t seed,
                                     eg_owned_tensors *out);
/// Appends row-major zeroed outputs. Fails with EGRAPH_E_UNSUPPORTED when the type of one
/// is unknown.
egraph_status eg_tensors_make_outputs(const eg_graph *graph, eg_owned_tensors *out);
/// The caller's tensors as ours; their data is borrowed. Fails with EGRAPH_E_ARGUMENT for
/// a type that is none.
egraph_status eg_tensors_take(const egraph_tensor *given, uint32_t count, eg_tensor *out);

/// Runs a graph once; `out` gets its outputs.
egraph_status eg_tensors_run(const eg_graph *graph, const eg_session_options *options,
                             const eg_tensors *inputs, eg_owned_tensors *out);

/// Options of a session as a caller gives them; NULL and 0: the defaults.
eg_session_options eg_session_options_of(const char *backend, uint32_t threads,
                                         uint64_t seed);

#endif
