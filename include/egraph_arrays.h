// The public API, part: named arrays in files of NumPy (.npz). Conventions as in
// egraph.h, which includes this.
// SPDX-License-Identifier: Apache-2.0
#ifndef EGRAPH_ARRAYS_H
#define EGRAPH_ARRAYS_H

#include "egraph.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Arrays with names, in order: batches of data, or a checkpoint.
typedef struct egraph_arrays egraph_arrays;

/// Creates an empty list of arrays.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_arrays_create(const egraph_allocator *alloc, egraph_arrays **out);
/// Frees the arrays; NULL is allowed.
EGRAPH_API void egraph_arrays_destroy(egraph_arrays *arrays);
/// Reads a whole archive of numpy.savez or numpy.savez_compressed. Element types are the
/// types of egraph_dtype, little-endian; bfloat16, which NumPy lacks, is stored as two
/// bytes without a type ("|V2"). Fails with IO, PARSE ("data.npz: array 'x': what is
/// wrong; what to do").
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_arrays_load(const egraph_allocator *alloc, const char *path, egraph_arrays **out);
/// Writes the arrays as an archive of numpy.savez, uncompressed and atomically; the same
/// arrays give the same bytes. Fails with IO.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_arrays_save(const egraph_arrays *arrays,
                                                             const char *path);
/// Returns the number of arrays.
EGRAPH_API uint32_t egraph_arrays_count(const egraph_arrays *arrays);
/// Returns name, type and data of the index-th array, borrowed; index
/// < egraph_arrays_count.
EGRAPH_API egraph_tensor egraph_arrays_at(const egraph_arrays *arrays, uint32_t index,
                                          const char **out_name);
/// Finds an array by name; returns false when there is none.
EGRAPH_API bool egraph_arrays_find(const egraph_arrays *arrays, const char *name,
                                   egraph_tensor *out);
/// Appends an array with a copy of the data (NULL: zeros). Fails with ARGUMENT for a name
/// that exists, TYPE.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_arrays_add(egraph_arrays *arrays,
                                                            const char *name,
                                                            const egraph_tensor *tensor);

/// Writes a copy of the ONNX model in the file `model` in which initializers and
/// constants of the main graph take the values of the arrays of the same names: the model
/// after training. Everything else is unchanged: nodes, symbolic dimensions, metadata.
/// External data of the model is copied in, above the limit of 2 GB into "<path>.data".
/// Fails with ARGUMENT for an array without such a tensor, or of another type; IO, PARSE.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_model_save(const egraph_allocator *alloc,
                                                            const char *model,
                                                            const egraph_arrays *arrays,
                                                            const char *path);

#ifdef __cplusplus
}
#endif
#endif
