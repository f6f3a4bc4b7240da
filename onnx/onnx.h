// ONNX files: import (all operator sets) and export (checker-clean).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_ONNX_ONNX_H
#define EG_ONNX_ONNX_H

#include "pcg/graph/arrays.h"
#include "pcg/graph/graph.h"

/// A graph input whose value is known: the input becomes a weight, and shapes that are
/// computed from it become constants.
typedef struct eg_onnx_fixed_input {
  const char *name;
  eg_type type;
  eg_buffer *data; // retained
} eg_onnx_fixed_input;

// Prefixes of keys in a model's metadata_props; the name of a tensor follows. They give
// the memory format of a value, and mark an input that replaces a weight whose data was
// absent when the model was written.
#define EG_ONNX_FORMAT_PREFIX "egraph.format:"
#define EG_ONNX_ABSENT_PREFIX "egraph.absent:"

/// The size of a symbolic dimension, whose name is the one in the file, or "INPUT.AXIS".
typedef struct eg_onnx_dim {
  const char *name;
  int64_t size;
} eg_onnx_dim;

typedef struct eg_onnx_import_options {
  int64_t batch; // size of the only symbolic dimension not in `dims`; 0: none
  const eg_onnx_dim *dims;
  uint32_t dim_count;
  const eg_onnx_dim *examples; // sizes of open dimensions to try first
  uint32_t example_count;
  size_t max_bytes;  // largest file
  const void *bytes; // the model; then the path only names it and locates external
  size_t size;       // data. NULL: the model is in the file
  const eg_onnx_fixed_input *fixed;
  uint32_t fixed_count;
  bool draws_weights;  // missing external data makes an absent weight, whose values are
                       // drawn when needed; false: an error
  bool fixes_defaults; // inputs with a default value are weights of that value
  // The owner of open dimensions; `dims` has their handles. NULL: all sizes are fixed.
  eg_open_sizes *sizes;
  // The graph as read with the batch of the file, when another batch is read
  // (onnx/read/open.c); NULL: the batch is the file's.
  const eg_graph *as_in_file;
  // Receive the number of symbolic dimensions, and of those without a size; may be NULL.
  uint32_t *out_symbolic, *out_open;
} eg_onnx_import_options;
#define EG_ONNX_IMPORT_OPTIONS_DEFAULT                                                   \
  { .batch = 0, .max_bytes = (size_t)1 << 31 }

/// Reads a model. Calls of model functions are inlined. A node whose operator is not in
/// ops/op_table.def, or is not supported in the form that the node uses, becomes an
/// opaque node, which is written back unchanged. External data is searched next to the
/// file and mapped. Fails with EGRAPH_E_IO, EGRAPH_E_PARSE ("x.onnx: node 'conv1': ...").
egraph_status eg_onnx_load(const egraph_allocator *alloc, const char *path,
                           const eg_onnx_import_options *options, eg_graph **out);
/// Reads a model in which symbolic dimensions without a size in `options` stay open
/// (ops/size.h). Nodes that need the size of an open dimension are kept unchanged.
egraph_status eg_onnx_load_open(const egraph_allocator *alloc, const char *path,
                                const eg_onnx_import_options *options, eg_graph **out);
/// Reads a model without symbolic dimensions, which eg_onnx_load read into `graph`, with
/// another batch: the first dimension of all inputs. Constant shapes of the file that
/// contain the batch change, too. Fails with EGRAPH_E_UNSUPPORTED, and the name, if
/// inputs differ in their first dimension, a node does not allow another batch, or an
/// output does not change with the batch.
egraph_status eg_onnx_load_batch(const egraph_allocator *alloc, const char *path,
                                 const eg_onnx_import_options *options,
                                 const eg_graph *graph, int64_t batch, eg_graph **out);
/// Reads a model from memory as eg_onnx_load does; `base` is the directory of external
/// data (NULL: none).
egraph_status eg_onnx_parse(const egraph_allocator *alloc, const char *name,
                            const void *data, size_t size, const char *base,
                            const eg_onnx_import_options *options, eg_graph **out);

/// Stores in a graph the work of each opaque node (eg_graph_set_opaque_work), as far as
/// the node's stored ONNX message gives it: bytes of tensors of foreign types, and the
/// work of graphs within the node. Each inner graph is read as a model of its own, with
/// operands at their example sizes; if it cannot be read, its results have unknown size.
/// Messages that are not ONNX add nothing. Fails only with EGRAPH_E_MEMORY.
egraph_status eg_onnx_weigh(eg_graph *graph);

/// Compares the stored ONNX messages of two opaque nodes (read/opaque.h); *out: they have
/// the same bytes, or the nodes have the same operator, attributes, present operands and
/// results, in operator sets in which the operator means the same. The names of the nodes
/// and of their tensors may differ; sub-graphs, the names that they capture, and the
/// functions that they call must be the same. Fails with EGRAPH_E_MEMORY.
egraph_status eg_onnx_is_same_record(egraph_allocator alloc, const void *a, size_t a_size,
                                     const void *b, size_t b_size, bool *out);

/// Writes a model that passes the ONNX checker. Fused operators are written as nodes of
/// the domain "egraph" with a model-local function of standard operators; memory formats
/// go to metadata_props. Data above the protobuf limit (or `external`) goes to
/// `<path>.data`; an absent weight is written as an input that metadata_props marks: the
/// model is complete, and the reader makes it an absent weight again.
typedef struct eg_onnx_export_options {
  bool external;
} eg_onnx_export_options;
egraph_status eg_onnx_save(const eg_graph *graph, const char *path,
                           const eg_onnx_export_options *options);

/// Writes a copy of a model file with other values for initializers and for constants of
/// the main graph, by name; a node with a known value (a copy of an initializer) becomes
/// a constant. All else is unchanged, except that external data moves into the copy, or
/// above the protobuf limit into `<path>.data`. Fails with EGRAPH_E_ARGUMENT for an array
/// whose name or type has no match in the model; EGRAPH_E_IO, EGRAPH_E_PARSE.
egraph_status eg_onnx_replace_weights(egraph_allocator alloc, const char *model,
                                      const eg_arrays *arrays, const char *path);

/// Writes a graph as eg_onnx_save does, but into memory, with the data of all weights;
/// free with eg_free and the graph's allocator. Fails with EGRAPH_E_UNSUPPORTED above the
/// protobuf limit.
egraph_status eg_onnx_pack(const eg_graph *graph, unsigned char **out, size_t *out_size);

#endif
