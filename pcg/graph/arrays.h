// Reads and writes named arrays in NumPy files: .npz archives of .npy entries, as
// numpy.savez and numpy.savez_compressed write them. They hold batches of data
// and checkpoints.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_ARRAYS_H
#define EG_PCG_ARRAYS_H

#include "base/vec.h"
#include "ops/tensor.h"

typedef struct eg_array {
  char *name;
  eg_tensor tensor; // row-major; data is owned
} eg_array;
EG_VEC_DEFINE(eg_array_rows, eg_array);

typedef struct eg_arrays {
  eg_array_rows rows; // in the order of the file
} eg_arrays;

void eg_arrays_init(eg_arrays *arrays, egraph_allocator alloc);
void eg_arrays_deinit(eg_arrays *arrays);
/// Appends an array with a copy of the data (NULL: zeros). Fails with EGRAPH_E_ARGUMENT
/// when an array has this name.
egraph_status eg_arrays_add(eg_arrays *arrays, const char *name, const eg_type *type,
                            const void *data);
/// Returns the array with a name in `arrays`; NULL: there is none.
const eg_array *eg_arrays_find(const eg_arrays *arrays, const char *name);

/// Appends the arrays of an archive in memory; `file` is for messages. Elements have a
/// NumPy type that exists here, little-endian, or are two bytes without a type ("|V2"),
/// which are bfloat16. Fails with EGRAPH_E_PARSE ("data.npz: array 'x': fault; remedy").
egraph_status eg_arrays_parse(eg_arrays *arrays, const char *file, const void *data,
                              size_t size);
/// Appends the arrays of a file. Fails also with EGRAPH_E_IO.
egraph_status eg_arrays_read(eg_arrays *arrays, const char *path);
/// Writes an archive, atomically; equal arrays give equal bytes. Fails with EGRAPH_E_IO.
egraph_status eg_arrays_write(const eg_arrays *arrays, const char *path);

#endif
