// ONNX messages under construction: nodes of the model or of a function, their attributes
// and constants.
//
// Everything lives in the writer's arena or is borrowed from the graph; nothing is freed
// one by one.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_ONNX_WRITE_WRITER_H
#define EG_ONNX_WRITE_WRITER_H

#include "base/strmap.h"
#include "onnx/sets/versions.h"
#include "pcg/graph/graph.h"

enum { EG_ONNX_FUNCTIONS_IR = 8 }; // the first version of the format with functions

EG_VEC_DEFINE(eg_onnx_nodes, Onnx__NodeProto *);
EG_VEC_DEFINE(eg_onnx_initializers, Onnx__TensorProto *);
EG_VEC_DEFINE(eg_onnx_infos, Onnx__ValueInfoProto *);
EG_VEC_DEFINE(eg_onnx_functions, Onnx__FunctionProto *);
EG_VEC_DEFINE(eg_onnx_opsets, Onnx__OperatorSetIdProto *);
EG_VEC_DEFINE(eg_onnx_entries, Onnx__StringStringEntryProto *);
EG_VEC_DEFINE(eg_onnx_messages, ProtobufCMessage *);

typedef struct eg_onnx_writer {
  const eg_graph *graph; // NULL: single functions
  int64_t opset;         // that is written
  bool is_faulty;        // a node of ours is none of the set
  uint32_t unloaded;     // nodes that ONNX Runtime does not load in the set
  egraph_allocator alloc;
  eg_arena arena;
  eg_onnx_heap heap; // of unpacked records
  eg_onnx_messages records;
  const Onnx__ModelProto **record_of; // [nodes] of opaque nodes, once they are unpacked
  eg_onnx_initializers initializers;
  eg_onnx_infos inputs, outputs, infos;
  eg_onnx_functions functions;
  eg_onnx_opsets opsets;
  eg_onnx_entries metadata;
  eg_strmap names;          // of all tensors; 0: of the model, EG_ONNX_INNER_NAME
  eg_strmap signatures;     // of our functions: text to index in `functions`
  const char **value_names; // [values]
  bool *is_output;          // [values] an output under the tensor's own name
} eg_onnx_writer;

/// Where nodes go: the model, whose constants are initializers, or a function, whose
/// constants are nodes.
typedef struct eg_onnx_body {
  eg_onnx_writer *writer;
  eg_onnx_nodes nodes;
  bool is_function;        // whose names are its own
  bool has_constant_nodes; // false: constants are initializers of the model
  const char *stem;        // of made-up names
  uint32_t made;           // how many there are
} eg_onnx_body;

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
} eg_onnx_item;

void eg_onnx_writer_init(eg_onnx_writer *writer, egraph_allocator alloc,
                         const eg_graph *graph, int64_t opset);
void eg_onnx_writer_deinit(eg_onnx_writer *writer);

/// Appends a node with these operands and results (strings are borrowed).
egraph_status eg_onnx_put_node(eg_onnx_body *body, const char *op_type,
                               const char *const *inputs, uint32_t input_count,
                               const char *const *outputs, uint32_t output_count,
                               Onnx__NodeProto **out);
/// The same with one result. `result` NULL: a made-up name, given in *out_result (may be
/// NULL otherwise).
egraph_status eg_onnx_put(eg_onnx_body *body, const char *op_type,
                          const char *const *inputs, uint32_t input_count,
                          const char *result, const char **out_result,
                          Onnx__NodeProto **out);
/// The nodes as a list that lives as long as the writer.
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
/// An attribute of an operator in the kind that ONNX has for it, by its own name.
egraph_status eg_onnx_put_slot(eg_onnx_body *body, Onnx__NodeProto *node,
                               const eg_attr_info *info, const eg_attr *value);

/// Fails with EGRAPH_E_UNSUPPORTED, and sets is_faulty, where one of the nodes from
/// `first` on is none of the set that is written. Element types are known of the item's
/// operands, and follow of what nodes compute on the way.
egraph_status eg_onnx_check_nodes(eg_onnx_body *body, size_t first,
                                  const eg_onnx_item *item);
/// Counts a node if ONNX Runtime does not load it. `dtype` as of eg_onnx_fault.
void eg_onnx_note_loading(eg_onnx_writer *writer, const Onnx__NodeProto *node,
                          const int *dtype);
/// Appends a list of integers, which is an operand from operator set `since` on and an
/// attribute `name` before.
egraph_status eg_onnx_put_list(eg_onnx_body *body, Onnx__NodeProto *node,
                               const char *name, int64_t since, eg_ints list);
/// A constant list of int64 or float32, or a scalar; *out is its name.
egraph_status eg_onnx_constant_ints(eg_onnx_body *body, const int64_t *data, uint32_t len,
                                    const char **out);
egraph_status eg_onnx_constant_floats(eg_onnx_body *body, eg_floats list,
                                      const char **out);
egraph_status eg_onnx_constant_scalar(eg_onnx_body *body, egraph_dtype dtype,
                                      double value, const char **out);
/// A tensor name that nothing in the model (or the function) has.
egraph_status eg_onnx_made_up(eg_onnx_body *body, const char **out);

/// Metadata "<prefix><name>" = value; `value` is borrowed.
egraph_status eg_onnx_put_metadata(eg_onnx_writer *writer, const char *prefix,
                                   const char *name, const char *value);
/// Unpacks a record of the graph: an opaque node's or its header. *out is the writer's.
egraph_status eg_onnx_unpack_record(eg_onnx_writer *writer, const char *what,
                                    const void *bytes, size_t size,
                                    const Onnx__ModelProto **out);
/// Imports an operator set once; `domain` is borrowed.
egraph_status eg_onnx_add_opset(eg_onnx_writer *writer, const char *domain,
                                int64_t version);
/// Narrows operator sets to those in which an opaque node means what it meant, or
/// (`converts`) can be made to.
egraph_status eg_onnx_narrow_to_opaque(eg_onnx_writer *writer, eg_graph_node node,
                                       bool converts, eg_onnx_span *inout);
/// The sets in which an operator of this set means the same, once it is converted.
eg_onnx_sets eg_onnx_reach_of(const char *op_type, int64_t opset);
/// Adds the operator sets and functions that an opaque node needs, and the names that its
/// sub-graphs have within, so that no name that is made up is one of these.
egraph_status eg_onnx_reserve_opaque(eg_onnx_writer *writer, eg_graph_node node);
/// Gives the graphs within an opaque node, `inout` being a copy, the present names of
/// what they use (`captures` [inputs of the record]), and names of their own where what
/// they define hides something. (read/opaque_names.c)
egraph_status eg_onnx_rename_within(eg_onnx_body *body, const Onnx__GraphProto *record,
                                    const char *const *captures, Onnx__NodeProto *inout);
/// Writes an opaque node from its record.
egraph_status eg_onnx_write_opaque(eg_onnx_body *body, eg_graph_node node);
/// Writes a node of standard ONNX, or as a call of one of our functions.
egraph_status eg_onnx_write_item(eg_onnx_body *body, const eg_onnx_item *item);
/// Returns whether a function of a file is the one that is written for the item, in the
/// operator set that it names.
egraph_status eg_onnx_is_own_body(egraph_allocator alloc, const eg_onnx_item *item,
                                  const Onnx__FunctionProto *function, bool *out);
/// x between bounds; -infinity below and infinity above are none.
egraph_status eg_onnx_put_clip(eg_onnx_body *body, const char *x, egraph_dtype dtype,
                               double low, double high, const char *result,
                               Onnx__NodeProto **out);
/// x with a constant around it.
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
/// Writes what the item means in standard operators; operands and results have the item's
/// names.
egraph_status eg_onnx_write_meaning(eg_onnx_body *body, const eg_onnx_item *item);

/// Changes a model in which everything is written to compute the sizes that are open.
/// Fails with EGRAPH_E_UNSUPPORTED, and the name, where something that ONNX has fixed is
/// open. (write/open_sizes.c)
egraph_status eg_onnx_open_body(eg_onnx_body *body);

/// Reads back what was written, before anyone else does. Fails with EGRAPH_E_INTERNAL,
/// and the name, where a name is made twice or not before it is used, a declared element
/// type is not the computed one, or the model that is read has other inputs or outputs
/// than the graph. (write/readback.c)
egraph_status eg_onnx_check_written(eg_onnx_writer *writer,
                                    const Onnx__ModelProto *model);

#endif
