// Builds ONNX messages: nodes of the model or of a function, their attributes
// and constants.
//
// Everything lives in the writer's arena or is borrowed from the graph; nothing is freed
// one by one.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_ONNX_WRITE_WRITER_H
#define EG_ONNX_WRITE_WRITER_H

#include "base/owner.h"
#include "base/strmap.h"
#include "onnx/sets/versions.h"
#include "pcg/graph/graph.h"

enum { EG_ONNX_FUNCTIONS_IR = 8 }; // the first version of the format with functions

EG_VEC_DEFINE(eg_onnx_nodes, Onnx__NodeProto *);
EG_VEC_DEFINE(eg_onnx_functions, Onnx__FunctionProto *);
EG_VEC_DEFINE(eg_onnx_opsets, Onnx__OperatorSetIdProto *);
EG_VEC_DEFINE(eg_onnx_messages, ProtobufCMessage *);

typedef struct eg_onnx_writer {
  const eg_graph *graph; // NULL: single functions
  int64_t opset;         // the set that is written
  bool is_faulty;        // the set lacks a node that would be written
  uint32_t unloaded;     // nodes that ONNX Runtime does not load in the set
  egraph_allocator alloc;
  eg_arena arena;
  eg_onnx_heap heap; // memory of unpacked records
  eg_onnx_messages records;
  const Onnx__ModelProto **record_of; // [nodes] records of opaque nodes that are unpacked
  eg_onnx_initializers initializers;
  eg_onnx_infos inputs, outputs, infos;
  eg_onnx_functions functions;
  eg_onnx_opsets opsets;
  eg_onnx_entries metadata;
  eg_strmap names; // names of tensors; 0: in the model, EG_ONNX_INNER_NAME: in sub-graphs
  eg_strmap signatures;     // signature of a function that we write -> its index
  const char **value_names; // [values]
  bool *is_output;          // [values] an output under the tensor's own name
  bool *is_read;            // [values] an operand or an output
} eg_onnx_writer;

/// The list to which nodes are added: of the model, with initializers as constants, or of
/// a function, with nodes as constants.
typedef struct eg_onnx_body {
  eg_onnx_writer *writer;
  eg_onnx_nodes nodes;
  bool is_function;        // its names are separate from the model's
  bool has_constant_nodes; // false: constants are initializers of the model
  const char *stem;        // beginning of made-up names
  uint32_t made;           // number of made-up names
} eg_onnx_body;
EG_OWNER_DEFINE_MEMBERS(eg_onnx_body, (eg_onnx_nodes, nodes))

/// A node to be written, with its types and names.
typedef struct eg_onnx_item {
  const char *name;
  const eg_attrs *attrs;
  const eg_type *inputs;
  uint32_t input_count;
  const eg_type *results;
  uint32_t result_count;
  const char *const *input_names;
  const char *const *result_names;
  bool has_one_result; // nothing reads its other results
} eg_onnx_item;

/// Return an attribute of the item's operator.
static inline eg_ints eg_item_ints(const eg_onnx_item *item, eg_attr_slot slot) {
  return eg_attr_at(item->attrs, slot)->ints;
}
static inline int64_t eg_item_int(const eg_onnx_item *item, eg_attr_slot slot) {
  return eg_attr_at(item->attrs, slot)->i;
}
static inline double eg_item_float(const eg_onnx_item *item, eg_attr_slot slot) {
  return eg_attr_at(item->attrs, slot)->f;
}

void eg_onnx_writer_init(eg_onnx_writer *writer, egraph_allocator alloc,
                         const eg_graph *graph, int64_t opset);
void eg_onnx_writer_deinit(eg_onnx_writer *writer);

/// Appends a node with these operands and results (strings are borrowed).
egraph_status eg_onnx_put_node(eg_onnx_body *body, const char *op_type,
                               const char *const *inputs, uint32_t input_count,
                               const char *const *outputs, uint32_t output_count,
                               Onnx__NodeProto **out);
/// Appends the node to be written, by its name and results, with these operands.
egraph_status eg_onnx_put_item(eg_onnx_body *body, const char *op_type,
                               const char *const *inputs, uint32_t input_count,
                               const eg_onnx_item *item, Onnx__NodeProto **out);
/// Gives a node the name of an item, if it has one.
void eg_onnx_name_node(Onnx__NodeProto *node, const eg_onnx_item *item);
/// Appends a node with one result. `result` NULL: a made-up name, returned in *out_result
/// (may be NULL otherwise).
egraph_status eg_onnx_put(eg_onnx_body *body, const char *op_type,
                          const char *const *inputs, uint32_t input_count,
                          const char *result, const char **out_result,
                          Onnx__NodeProto **out);
/// Copies the nodes of the body to a list that lives as long as the writer.
egraph_status eg_onnx_take_nodes(const eg_onnx_body *body, Onnx__NodeProto ***out,
                                 size_t *out_count);

egraph_status eg_onnx_put_int(eg_onnx_body *body, Onnx__NodeProto *node, const char *name,
                              int64_t value);
egraph_status eg_onnx_put_float(eg_onnx_body *body, Onnx__NodeProto *node,
                                const char *name, double value);
egraph_status eg_onnx_put_ints(eg_onnx_body *body, Onnx__NodeProto *node,
                               const char *name, const int64_t *data, uint32_t len);
egraph_status eg_onnx_put_floats(eg_onnx_body *body, Onnx__NodeProto *node,
                                 const char *name, eg_floats list);
egraph_status eg_onnx_put_string(eg_onnx_body *body, Onnx__NodeProto *node,
                                 const char *name, const char *value);
egraph_status eg_onnx_put_strings(eg_onnx_body *body, Onnx__NodeProto *node,
                                  const char *name, const char *const *values,
                                  uint32_t count);
egraph_status eg_onnx_put_tensor(eg_onnx_body *body, Onnx__NodeProto *node,
                                 const char *name, Onnx__TensorProto *value);
/// Appends an attribute of our operator under its name, in the kind that ONNX has for it.
egraph_status eg_onnx_put_slot(eg_onnx_body *body, Onnx__NodeProto *node,
                               const eg_attr_info *info, const eg_attr *value);

/// Fails with EGRAPH_E_UNSUPPORTED, and sets is_faulty, if the operator set that is
/// written lacks one of the body's nodes from index `first` on. Element types are
/// inferred from the item's operands, node by node.
egraph_status eg_onnx_check_nodes(eg_onnx_body *body, size_t first,
                                  const eg_onnx_item *item);
/// Counts a node if ONNX Runtime does not load it. `dtype` as for eg_onnx_fault.
void eg_onnx_note_loading(eg_onnx_writer *writer, const Onnx__NodeProto *node,
                          const int *dtype);
/// Sets operand `at`; operands that are added before it are absent.
egraph_status eg_onnx_put_operand(eg_onnx_body *body, Onnx__NodeProto *node, size_t at,
                                  const char *name);
/// Appends a list of integers to a node: as an operand from operator set `since` on, as
/// attribute `name` before.
egraph_status eg_onnx_put_list(eg_onnx_body *body, Onnx__NodeProto *node,
                               const char *name, int64_t since, eg_ints list);
/// Add a constant list of int64 or float32, or a scalar; *out is its name.
egraph_status eg_onnx_constant_ints(eg_onnx_body *body, const int64_t *data, uint32_t len,
                                    const char **out);
egraph_status eg_onnx_constant_floats(eg_onnx_body *body, eg_floats list,
                                      const char **out);
egraph_status eg_onnx_constant_scalar(eg_onnx_body *body, egraph_dtype dtype,
                                      double value, const char **out);
/// Lists the names of graph values, in memory of the writer. (write/export.c)
egraph_status eg_onnx_names_of(eg_onnx_writer *writer, const eg_value *values,
                               uint32_t count, const char ***out);
/// Makes up a tensor name that is unused in the model (or the function).
egraph_status eg_onnx_made_up(eg_onnx_body *body, const char **out);

/// Appends the metadata "<prefix><name>" = value; `value` is borrowed.
egraph_status eg_onnx_put_metadata(eg_onnx_writer *writer, const char *prefix,
                                   const char *name, const char *value);
/// Unpacks a record of the graph: of an opaque node, or its header. The writer owns *out.
egraph_status eg_onnx_unpack_record(eg_onnx_writer *writer, const char *what,
                                    const void *bytes, size_t size,
                                    const Onnx__ModelProto **out);
/// Imports an operator set once; `domain` is borrowed.
egraph_status eg_onnx_add_opset(eg_onnx_writer *writer, const char *domain,
                                int64_t version);
/// Narrows operator sets to those in which an opaque node means the same as in its file,
/// or (`converts`) means the same after conversion.
egraph_status eg_onnx_narrow_to_opaque(eg_onnx_writer *writer, eg_graph_node node,
                                       bool converts, eg_onnx_span *inout);
/// Returns the sets to which an operator of this set can be converted with the
/// same meaning.
eg_onnx_sets eg_onnx_reach_of(const char *op_type, int64_t opset);
/// Adds the operator sets and functions that an opaque node needs, and reserves the names
/// in its sub-graphs, so that no made-up name equals one of them.
egraph_status eg_onnx_reserve_opaque(eg_onnx_writer *writer, eg_graph_node node);
/// Renames within the graphs of an opaque node; `inout` is a copy. Captured tensors get
/// their present names (`captures` [inputs of the record]), and a defined name that would
/// hide another one gets a new name. (read/opaque_names.c)
egraph_status eg_onnx_rename_within(eg_onnx_body *body, const Onnx__GraphProto *record,
                                    const char *const *captures, Onnx__NodeProto *inout);
/// Writes an opaque node from its record.
egraph_status eg_onnx_write_opaque(eg_onnx_body *body, eg_graph_node node);
/// Writes the item as a node of standard ONNX, or as a call of one of our functions.
egraph_status eg_onnx_write_item(eg_onnx_body *body, const eg_onnx_item *item);
/// Compares a function of a file with the one that we write for the item in the operator
/// set that the function names; *out: they are the same.
egraph_status eg_onnx_is_own_body(egraph_allocator alloc, const eg_onnx_item *item,
                                  const Onnx__FunctionProto *function, bool *out);
/// Appends a clip of x; a bound of -infinity below or infinity above is no bound.
egraph_status eg_onnx_put_clip(eg_onnx_body *body, const char *x, egraph_dtype dtype,
                               double low, double high, const char *result,
                               Onnx__NodeProto **out);
/// Appends x padded according to `mode`, with the number `value` for "constant".
egraph_status eg_onnx_put_pad(eg_onnx_body *body, const char *x, egraph_dtype dtype,
                              eg_ints pads, double value, const char *mode,
                              const char *result, const char **out_result,
                              Onnx__NodeProto **out);
/// Writes the standard form of an operator that has one.
egraph_status eg_onnx_write_standard(eg_onnx_body *body, const eg_onnx_item *item);
/// Writes a recurrent layer. (read/op_recurrent.c)
egraph_status eg_onnx_write_recurrent(eg_onnx_body *body, const eg_onnx_item *item);
/// True when the item has no standard form in the set: unknown to ONNX, newer, or fused.
bool eg_onnx_needs_function(const eg_onnx_item *item, int64_t opset);
/// Writes the meaning of the item in standard operators; operands and results have the
/// item's names.
egraph_status eg_onnx_write_meaning(eg_onnx_body *body, const eg_onnx_item *item);
/// The same for attention. (write/meaning_attention.c)
egraph_status eg_onnx_mean_attention(eg_onnx_body *body, const eg_onnx_item *item);
/// True when attention is ONNX's Attention in this set; else it is written as its
/// meaning. (write/meaning_attention.c)
bool eg_onnx_is_attention(const eg_onnx_item *item, int64_t opset);
egraph_status eg_onnx_write_attention(eg_onnx_body *body, const eg_onnx_item *item);
/// True when rope is RotaryEmbedding in this set; else it is written as its meaning.
/// (write/rope.c)
bool eg_onnx_is_rotary(const eg_onnx_item *item, int64_t opset);
egraph_status eg_onnx_write_rope(eg_onnx_body *body, const eg_onnx_item *item);
egraph_status eg_onnx_mean_rope(eg_onnx_body *body, const eg_onnx_item *item);

/// Changes a complete model so that it computes its open sizes. Fails with
/// EGRAPH_E_UNSUPPORTED, and the name, if a size is open that ONNX needs as a
/// number. (write/open_sizes.c)
egraph_status eg_onnx_open_body(eg_onnx_body *body);

/// Checks the written model by reading it back. Fails with EGRAPH_E_INTERNAL, and the
/// name, if a name is defined twice or used before it is defined, a declared element type
/// differs from the computed one, or the model has other inputs or outputs than the
/// graph. (write/readback.c)
egraph_status eg_onnx_check_written(eg_onnx_writer *writer,
                                    const Onnx__ModelProto *model);

#endif
