// Reads and writes tensors of egraph run as raw row-major files.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_TENSOR_FILES_H
#define EG_TOOLS_TENSOR_FILES_H

#include "include/egraph.h"
#include "tools/flag_table.h"

typedef egraph_status (*tensor_getter)(const egraph_graph *, uint32_t, const char **,
                                       egraph_tensor *);

/// Returns the file for `name` in a list of "name=file", or NULL.
const char *tensor_file(const text_list *list, const char *name);
/// Read or write exactly `size` bytes; false with a message.
bool tensor_read(const char *path, void *data, size_t size);
bool tensor_write(const char *path, const void *data, size_t size);
/// Writes the tensors that have a file in the list; false with a message.
bool tensors_write(const text_list *list, const char *const *names,
                   const egraph_tensor *tensors, uint32_t count);
/// Complains of an item "name=file" that names no input or output of the graph.
bool tensors_are_named(const text_list *list, const egraph_graph *graph, uint32_t count,
                       tensor_getter get, const char *what);
/// Returns the largest relative error at which results count as equal, from the rounding
/// error of the coarsest type of the outputs.
double tensor_tolerance(const egraph_graph *graph);

#endif
