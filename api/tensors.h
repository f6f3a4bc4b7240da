// What runs have in common: buffers for all inputs or all outputs of a graph, options.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_TENSORS_H
#define EG_API_TENSORS_H

#include "exec/session.h"

EG_VEC_DEFINE(eg_tensors, eg_tensor);

/// Row-major inputs filled from the seed and their names. Free with eg_tensors_free, also
/// after a failure.
egraph_status eg_tensors_draw_inputs(const eg_graph *graph, uint64_t seed,
                                     eg_tensors *out);
/// Row-major zeroed outputs. Fails with EGRAPH_E_UNSUPPORTED when the type
/// of one is unknown.
egraph_status eg_tensors_make_outputs(const eg_graph *graph, eg_tensors *out);
void eg_tensors_free(eg_tensors *tensors);
/// The caller's tensors as ours; their data is borrowed. Fails with EGRAPH_E_ARGUMENT for
/// a type that is none.
egraph_status eg_tensors_take(const egraph_tensor *given, uint32_t count, eg_tensor *out);

/// Options of a session as a caller gives them; NULL and 0: the defaults.
eg_session_options eg_session_options_of(const char *backend, uint32_t threads,
                                         uint64_t seed);

#endif
