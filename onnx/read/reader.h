// The state of an import, and its functions for importers of single operators.
//
//   ONNX tensor name -> eg_onnx_tensor: its type, its bytes when they are known, its
//   graph value once it has one
//
// Small tensors whose bytes are known are computed while importing ("Shape -> Gather ->
// Concat -> Reshape" disappears); a tensor gets a graph value only when something needs
// one.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_ONNX_READ_READER_H
#define EG_ONNX_READ_READER_H

#include "base/strmap.h"
#include "onnx/message.h"
#include "onnx/onnx.h"
#include "pcg/graph/attr_list.h"

/// A tensor of the import, by its index.
typedef struct eg_onnx_ref {
  uint32_t id;
} eg_onnx_ref;
#define EG_ONNX_NONE ((eg_onnx_ref){UINT32_MAX})

typedef struct eg_onnx_tensor {
  const char *name; // "" for an intermediate result without a name
  bool used;        // an output of the model, or an output depends on it
  bool made;        // an input, an initializer, or the result of a node that was imported
  bool typed;
  eg_type type;
  eg_buffer *data; // known bytes, or NULL
  // Elements, as sizes (ops/size.h), of a small tensor of integers that a node computes
  // from open dimensions (read/sizes.c), or NULL
  const int64_t *sizes;
  bool constant;  // becomes a weight when a node needs it (data may be absent)
  eg_value value; // EG_VALUE_NONE until it is needed
  const Onnx__ValueInfoProto *declared;
  uint32_t producer; // index of the ONNX node, or UINT32_MAX
} eg_onnx_tensor;

EG_VEC_DEFINE(eg_onnx_tensors, eg_onnx_tensor);
EG_VEC_DEFINE(eg_onnx_refs, eg_onnx_ref);

EG_VEC_DEFINE(eg_onnx_dims, eg_onnx_dim);

/// Limits the depth of bodies within bodies (functions, branches, loops), which are read
/// by recursion.
enum { EG_ONNX_MAX_BODIES = 100 };

/// The operator sets for the nodes of the model, or of one call of a function.
typedef struct eg_onnx_scope {
  const struct eg_onnx_scope *outer;   // scope of the call; NULL: the model
  const Onnx__FunctionProto *function; // NULL: the model
  Onnx__OperatorSetIdProto *const *imports;
  size_t import_count;
  int64_t opset; // version of the standard domain; 0: none
} eg_onnx_scope;

/// A node to be imported, and its scope.
typedef struct eg_onnx_place {
  const Onnx__NodeProto *node;
  const eg_onnx_scope *scope;
} eg_onnx_place;
EG_VEC_DEFINE(eg_onnx_places, eg_onnx_place);

typedef struct eg_onnx_reader {
  const char *file; // for messages
  const char *base; // directory of external data, or NULL
  eg_onnx_import_options options;
  egraph_allocator alloc;
  eg_onnx_unpacked unpacked;
  eg_arena arena;
  Onnx__ModelProto *model;    // = unpacked.model
  eg_onnx_scope whole;        // the model's
  const eg_onnx_scope *scope; // scope of the node under import
  int64_t opset;              // opset of that scope
  eg_onnx_places nodes;       // the model's, then nodes of bodies that were inlined
  eg_onnx_tensors tensors;
  eg_strmap names;
  eg_strmap reserved;  // names within sub-graphs of nodes
  eg_strmap functions; // functions of the model, by domain, name and overload
  size_t copied_bytes; // bytes of bodies that were inlined
  uint32_t depth;      // nesting of bodies under import
  eg_strmap absent;    // inputs that replace weights without data
  eg_onnx_dims dims;   // sizes of symbolic dimensions (read/dims.c)
  eg_u32s order;       // numbers in `nodes`: the model's, topological; then body by body
  eg_graph *graph;
  bool needs_pruning;
} eg_onnx_reader;

/// Reads the bytes of a tensor of the model (eg_onnx_tensor_data). Fails with EGRAPH_E_IO
/// if their file does not exist, unless the options draw weights.
egraph_status eg_onnx_data_of(const eg_onnx_reader *reader,
                              const Onnx__TensorProto *proto, const eg_type *type,
                              eg_buffer **out);

/// Computes the dense bytes of a sparse initializer of the model; the caller owns them.
/// Fails with EGRAPH_E_PARSE where its indices do not fit. (read/sparse.c)
egraph_status eg_onnx_sparse_data(const eg_onnx_reader *reader,
                                  const Onnx__SparseTensorProto *proto, eg_type *out_type,
                                  eg_buffer **out);

/// One node under import. Absent optional operands and unused results are EG_ONNX_NONE.
typedef struct eg_onnx_call {
  eg_onnx_reader *reader;
  const Onnx__NodeProto *node;
  eg_op op; // operator of the row
  const eg_onnx_ref *inputs;
  uint32_t input_count;
  const eg_onnx_ref *outputs;
  uint32_t output_count;
} eg_onnx_call;

// ---- tensors ------------------------------------------------------------------------

eg_onnx_tensor *eg_onnx_tensor_at(eg_onnx_reader *reader, eg_onnx_ref ref);
/// Returns the known bytes of a tensor, only for reading.
eg_tensor eg_onnx_view(const eg_onnx_tensor *tensor);
/// Return operand or result number `index`, or EG_ONNX_NONE.
eg_onnx_ref eg_onnx_input(const eg_onnx_call *call, uint32_t index);
eg_onnx_ref eg_onnx_output(const eg_onnx_call *call, uint32_t index);
/// Reads the type of an operand. Fails with EGRAPH_E_PARSE if the operand is absent, with
/// EGRAPH_E_UNSUPPORTED if its type is not known: the node then becomes opaque.
egraph_status eg_onnx_input_type(const eg_onnx_call *call, uint32_t index, eg_type *out);
/// Makes a nameless tensor, for the result of an intermediate node.
egraph_status eg_onnx_fresh(const eg_onnx_call *call, eg_onnx_ref *out);
/// Makes `ref` a constant with these bytes (retained; NULL: absent).
egraph_status eg_onnx_define_constant(eg_onnx_reader *reader, eg_onnx_ref ref,
                                      const eg_type *type, eg_buffer *data);
/// Finds the graph value of a tensor; a constant becomes a weight.
egraph_status eg_onnx_value(eg_onnx_reader *reader, eg_onnx_ref ref, eg_value *out);
/// Reads the type that the file declares for a tensor; false when it is absent, is not a
/// tensor type, or has open dimensions.
bool eg_onnx_declared_type(const eg_onnx_reader *reader,
                           const Onnx__ValueInfoProto *declared, eg_type *out);
/// Reads the declared type of a result of an opaque node. Each dimension without a
/// number becomes a new open size, whatever its name, because nothing checks the
/// declarations of files.
egraph_status eg_onnx_kept_type(const eg_onnx_reader *reader,
                                const Onnx__ValueInfoProto *declared, bool *out_known,
                                eg_type *out);

// ---- open dimensions (read/sizes.c) ---------------------------------------------------

/// True when a size or an element of the node's operands depends on an open dimension.
bool eg_onnx_reads_open(const eg_onnx_call *call);
/// Computes the integers that a node computes from sizes. *out_done: all are numbers, and
/// the result is a constant; otherwise notes them in the result, and the caller imports
/// the node.
egraph_status eg_onnx_compute_sizes(const eg_onnx_call *call, bool *out_done);

// ---- symbolic dimensions --------------------------------------------------------------

/// A symbolic dimension of the inputs of a model.
typedef struct eg_onnx_symbol {
  const char *name; // in the file, or "INPUT.AXIS"
  bool is_named;    // in the file
  const char *input;
  uint32_t axis; // its axis in `input`
  uint32_t rank; // rank of `input`
} eg_onnx_symbol;
EG_VEC_DEFINE(eg_onnx_symbols, eg_onnx_symbol);

/// Lists the symbolic dimensions of all inputs without an initializer, each once, in
/// order; names live in the arena. (read/dims.c)
egraph_status eg_onnx_list_symbols(eg_arena *arena, const Onnx__ModelProto *model,
                                   eg_onnx_symbols *out);
/// Lists the symbolic dimensions of a file. (read/load.c)
egraph_status eg_onnx_file_symbols(eg_arena *arena, const char *path,
                                   const eg_onnx_import_options *options,
                                   eg_onnx_symbols *out);
/// True when the options give the size of a symbolic dimension.
bool eg_onnx_has_size(const eg_onnx_import_options *options, const char *name);
/// Fills reader->dims from the options. Fails with EGRAPH_E_ARGUMENT for a name that no
/// dimension has, and for a batch if several dimensions have no size.
egraph_status eg_onnx_resolve_dims(eg_onnx_reader *reader);
/// Finds the size of a dimension of a declared type: its number, or the size of its
/// symbol; false if it has neither. `input` is the graph input with this dimension,
/// or NULL.
bool eg_onnx_dim_size(const eg_onnx_reader *reader,
                      const Onnx__TensorShapeProto__Dimension *dim, const char *input,
                      uint32_t axis, int64_t *out);
/// Returns a failure which says that the symbolic dimension has no size.
egraph_status eg_onnx_refuse_open(const Onnx__TensorShapeProto__Dimension *dim,
                                  const char *input, uint32_t axis);

// ---- names ---------------------------------------------------------------------------

bool eg_onnx_find_tensor(const eg_onnx_reader *reader, const char *name,
                         eg_onnx_ref *out);
/// Registers initializers and graph inputs as tensors with values. (read/names.c)
egraph_status eg_onnx_register_leaves(eg_onnx_reader *reader);
/// Registers an initializer as a tensor under this name (borrowed), with its value.
egraph_status eg_onnx_read_initializer(eg_onnx_reader *reader, Onnx__TensorProto *proto,
                                       const char *name);
/// Registers the results of the nodes from index `first` on as tensors of the import.
egraph_status eg_onnx_register_results(eg_onnx_reader *reader, uint32_t first);
/// Notes the declaration of a file for the tensor of this name, if the tensor exists;
/// only the first declaration counts.
void eg_onnx_declare(eg_onnx_reader *reader, const char *name,
                     const Onnx__ValueInfoProto *declared);
/// Reads a model without weighing its opaque nodes (eg_onnx_weigh). `base` is the folder
/// of external data; NULL: none. Fails as eg_onnx_parse.
egraph_status eg_onnx_read(egraph_allocator alloc, const char *name, const void *data,
                           size_t size, const char *base,
                           const eg_onnx_import_options *options, eg_graph **out);
/// Sorts and imports the nodes from index `first` on; their results are registered.
egraph_status eg_onnx_import_from(eg_onnx_reader *reader, uint32_t first);
/// Puts the file, `what` ("input", "initializer", ...) and its name in front of the
/// message of a failure.
egraph_status eg_onnx_about(const eg_onnx_reader *reader, egraph_status status,
                            const char *what, const char *name);
/// Puts the file and one of its nodes in front of the message of a failure.
egraph_status eg_onnx_in_node(const eg_onnx_reader *reader, uint32_t index,
                              egraph_status status);

// ---- constant operands --------------------------------------------------------------

/// Reads the integers of a small operand whose bytes are known (rank 0 or 1, any integer
/// type) into arena memory. *out_present is false for an absent operand; fails with
/// EGRAPH_E_UNSUPPORTED if the operand is computed.
egraph_status eg_onnx_const_ints(const eg_onnx_call *call, uint32_t index,
                                 bool *out_present, eg_ints *out);
/// Reads the integers of a small operand as eg_onnx_const_ints does; some may be open
/// sizes (expressions of symbolic dimensions).
egraph_status eg_onnx_const_sizes(const eg_onnx_call *call, uint32_t index,
                                  bool *out_present, eg_ints *out);
/// Reads floating-point numbers of a small operand, as eg_onnx_const_ints reads integers.
egraph_status eg_onnx_const_doubles(const eg_onnx_call *call, uint32_t index,
                                    bool *out_present, const double **out,
                                    uint32_t *out_count);

// ---- attributes ---------------------------------------------------------------------

const Onnx__AttributeProto *eg_onnx_attr(const eg_onnx_call *call, const char *name);
/// Read an attribute. Each function fails with EGRAPH_E_PARSE when the attribute is of
/// another kind. Lists and strings live as long as the import. An absent list has data
/// NULL and len 0; an absent string is the fallback.
egraph_status eg_onnx_attr_int(const eg_onnx_call *call, const char *name,
                               int64_t fallback, int64_t *out);
egraph_status eg_onnx_attr_float(const eg_onnx_call *call, const char *name,
                                 double fallback, double *out);
egraph_status eg_onnx_attr_ints(const eg_onnx_call *call, const char *name,
                                bool *out_present, eg_ints *out);
egraph_status eg_onnx_attr_floats(const eg_onnx_call *call, const char *name,
                                  bool *out_present, eg_floats *out);
egraph_status eg_onnx_attr_string(const eg_onnx_call *call, const char *name,
                                  const char *fallback, const char **out);
/// Converts an axis that may be negative to one in [0, rank). Fails with EGRAPH_E_PARSE.
egraph_status eg_onnx_axis(int64_t axis, uint32_t rank, int64_t *out);

// ---- emission -----------------------------------------------------------------------

/// Adds a node to the graph, or computes it when its operands are small and known.
/// Defines the results; a result that is EG_ONNX_NONE gets a nameless tensor. Fails with
/// EGRAPH_E_UNSUPPORTED when an operand has no type.
egraph_status eg_onnx_emit(const eg_onnx_call *call, const eg_attr_list *list,
                           const eg_onnx_ref *operands, uint32_t count,
                           const eg_onnx_ref *results, uint32_t result_count);
egraph_status eg_onnx_emit_attrs(const eg_onnx_call *call, const eg_attrs *attrs,
                                 const eg_onnx_ref *operands, uint32_t count,
                                 const eg_onnx_ref *results, uint32_t result_count);

/// Finds the function of the model that a node calls; UINT32_MAX:
/// none. (read/functions.c)
egraph_status eg_onnx_function_of(const eg_onnx_reader *reader,
                                  const Onnx__NodeProto *node, uint32_t *out);
/// Fills reader->functions. Fails with EGRAPH_E_PARSE if functions call themselves, or
/// inlining all calls makes the model too large.
egraph_status eg_onnx_register_functions(eg_onnx_reader *reader);
/// Imports the body of a function in place of a call. (read/bodies.c)
egraph_status eg_onnx_import_function(const eg_onnx_call *call,
                                      const Onnx__FunctionProto *function);
/// Imports an If with a known condition, and a Loop with a known number of steps, as the
/// nodes that run. EGRAPH_E_UNSUPPORTED for any other node. (read/bodies.c)
egraph_status eg_onnx_import_control(const eg_onnx_call *call);

/// Imports a node by the table of operators (read/dispatch.c). Fails with
/// EGRAPH_E_UNSUPPORTED when nothing in the table covers it.
egraph_status eg_onnx_import_node(const eg_onnx_call *call);
/// Imports a node of the domain "egraph" as our operator, if its function (NULL: the file
/// has none) is the one that export writes.
egraph_status eg_onnx_import_own(const eg_onnx_call *call,
                                 const Onnx__FunctionProto *function);
/// Adds the node as an opaque node, with its record.
egraph_status eg_onnx_import_opaque(const eg_onnx_call *call);
/// Adds a graph input or an initializer (the other one is NULL), whose type we lack, as
/// an opaque node without operands.
egraph_status eg_onnx_import_foreign(eg_onnx_reader *reader, Onnx__ValueInfoProto *input,
                                     Onnx__TensorProto *initializer);
/// Lists the tensors of the model that sub-graphs of a node use, each once, in the order
/// of first use.
egraph_status eg_onnx_captures(eg_onnx_reader *reader, const Onnx__NodeProto *node,
                               eg_onnx_refs *out);

#endif
