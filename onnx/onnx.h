// ONNX files: import (all operator sets) and export (checker-clean).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_ONNX_ONNX_H
#define EG_ONNX_ONNX_H

#include "pcg/graph/arrays.h"
#include "pcg/graph/graph.h"

/// A graph input whose value is known: it becomes a weight, and shapes computed from it
/// are resolved.
typedef struct eg_onnx_fixed_input {
  const char *name;
  eg_type type;
  eg_buffer *data; // retained
} eg_onnx_fixed_input;

// Keys of a model's metadata_props, each followed by the name of a tensor: the memory
// format of a value, and an input that stands for a weight whose data was absent when the
// model was written.
#define EG_ONNX_FORMAT_PREFIX "egraph.format:"
#define EG_ONNX_ABSENT_PREFIX "egraph.absent:"

/// The size of a symbolic dimension, by its name in the file; "INPUT.AXIS" where it has
/// none.
typedef struct eg_onnx_dim {
  const char *name;
  int64_t size;
} eg_onnx_dim;

typedef struct eg_onnx_import_options {
  int64_t batch; // of the only symbolic dimension that `dims` does not have; 0: none
  const eg_onnx_dim *dims;
  uint32_t dim_count;
  const eg_onnx_dim *examples; // of open dimensions, to be tried first
  uint32_t example_count;
  size_t max_bytes;  // largest file
  const void *bytes; // the model; the path is then only its name, and where external data
  size_t size;       // lies. NULL: it is in the file
  const eg_onnx_fixed_input *fixed;
  uint32_t fixed_count;
  bool draws_weights;  // external data that does not exist makes an absent weight, which
                       // is drawn where it is needed; false: an error
  bool fixes_defaults; // inputs with a default value are weights of that value
  // Who keeps the sizes of open dimensions, which are among `dims`; NULL: all are fixed.
  eg_open_sizes *sizes;
  // The graph with the batch of the file, where another batch is read
  // (onnx/read/open.c); NULL: the batch is the file's.
  const eg_graph *as_in_file;
  // Symbolic dimensions of the model, and those of them without a size; NULL: not wanted.
  uint32_t *out_symbolic, *out_open;
} eg_onnx_import_options;
#define EG_ONNX_IMPORT_OPTIONS_DEFAULT                                                   \
  { .batch = 0, .max_bytes = (size_t)1 << 31 }

/// Reads a model. Calls of its functions are inlined. Operators the table does not know
/// (or that are used in a way it does not cover) become opaque nodes. External data is
/// looked for beside the file and mapped. Fails with EGRAPH_E_IO, EGRAPH_E_PARSE
/// ("x.onnx: node 'conv1': ...").
egraph_status eg_onnx_load(const egraph_allocator *alloc, const char *path,
                           const eg_onnx_import_options *options, eg_graph **out);
/// The same with symbolic dimensions that `options` do not have left open (ops/size.h).
/// Nodes that need the size of such a dimension are kept as they are.
egraph_status eg_onnx_load_open(const egraph_allocator *alloc, const char *path,
                                const eg_onnx_import_options *options, eg_graph **out);
/// A model without symbolic dimensions, read into `graph`, with another batch: the first
/// dimension of all inputs. Shapes that the file has as constants follow it. Fails with
/// EGRAPH_E_UNSUPPORTED, and the name, where inputs differ in their first dimension, a
/// node does not allow another one, or an output does not follow.
egraph_status eg_onnx_load_batch(const egraph_allocator *alloc, const char *path,
                                 const eg_onnx_import_options *options,
                                 const eg_graph *graph, int64_t batch, eg_graph **out);
/// The same as eg_onnx_load from memory; `base` is the directory of external data (NULL:
/// none).
egraph_status eg_onnx_parse(const egraph_allocator *alloc, const char *name,
                            const void *data, size_t size, const char *base,
                            const eg_onnx_import_options *options, eg_graph **out);

/// Notes in a graph the work of all its opaque nodes (eg_graph_set_opaque_work), as far
/// as their records give it: bytes of tensors of foreign types, and what graphs within
/// nodes compute. These are read as models of their own, on operands at their example
/// sizes; results of one that cannot be read are of unknown size. Records that are not of
/// ONNX say nothing. Fails with EGRAPH_E_MEMORY alone.
egraph_status eg_onnx_weigh(eg_graph *graph);

/// True when two records of opaque nodes (read/opaque.h) have the same bytes; or when
/// they are nodes of the same operator with the same attributes, with operands and
/// results in the same places, in operator sets in which that means the same. Names of
/// the node's tensors and its own are free; sub-graphs, the names that they capture, and
/// the functions that they call are the same. Fails with EGRAPH_E_MEMORY.
egraph_status eg_onnx_is_same_record(egraph_allocator alloc, const void *a, size_t a_size,
                                     const void *b, size_t b_size, bool *out);

/// Writes a model that passes the ONNX checker. Fused operators are written as nodes of
/// the domain "egraph" with a model-local function of standard operators; memory formats
/// go to metadata_props. Data above the protobuf limit (or `external`) goes to
/// `<path>.data`; an absent weight is written as an input that metadata_props marks, so
/// that the model is complete, and becomes an absent weight again when it is read.
typedef struct eg_onnx_export_options {
  bool external;
} eg_onnx_export_options;
egraph_status eg_onnx_save(const eg_graph *graph, const char *path,
                           const eg_onnx_export_options *options);

/// Writes a copy of the model in a file in which tensors have other values: initializers,
/// and constants of the main graph, by name; a node of which the value was known (a copy
/// of an initializer) becomes a constant. All else is as it was, but that data which
/// lay beside the model is in the copy, or above the protobuf limit in `<path>.data`.
/// Fails with EGRAPH_E_ARGUMENT for an array that the model has no value for, or one of
/// another type; EGRAPH_E_IO, EGRAPH_E_PARSE.
egraph_status eg_onnx_replace_weights(egraph_allocator alloc, const char *model,
                                      const eg_arrays *arrays, const char *path);

/// A graph as eg_onnx_save writes it, into memory, with the data of all weights; free
/// with eg_free and the graph's allocator. Fails with EGRAPH_E_UNSUPPORTED above the
/// protobuf limit.
egraph_status eg_onnx_pack(const eg_graph *graph, unsigned char **out, size_t *out_size);

#endif
