// The graph container: values with types, and the nodes that compute them. It is
// append-only: the order of nodes is always topological, and no cycle is possible.
//
//   value 0: input x        node 0: conv(v0, v1) -> v2
//   value 1: weight w       node 1: relu(v2) -> v3          outputs: v3 "y"
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_GRAPH_H
#define EG_PCG_GRAPH_H

#include "base/owner.h"
#include "ops/ops.h"
#include "pcg/graph/weights.h"

typedef struct eg_value {
  uint32_t id;
} eg_value;
typedef struct eg_graph_node {
  uint32_t id;
} eg_graph_node;
#define EG_VALUE_NONE ((eg_value){UINT32_MAX})

typedef enum eg_value_kind {
  EG_VALUE_INPUT,
  EG_VALUE_WEIGHT,
  EG_VALUE_COMPUTED
} eg_value_kind;

typedef struct eg_value_info {
  eg_value_kind kind;
  bool typed;         // false: the type is not known (result of an opaque node)
  eg_type type;       // layout included
  const char *name;   // unique in the graph, never NULL
  eg_graph_node node; // COMPUTED: the producer and which of its results
  uint32_t result;
  eg_buffer *data; // row-major bytes of a weight, or an input's default; NULL: absent
} eg_value_info;

typedef struct eg_graph_node_info {
  const eg_attrs *attrs; // interned in the graph's pool
  const char *name;      // may be ""
  const eg_value *inputs;
  uint32_t input_count;
  const eg_value *results;
  uint32_t result_count;
} eg_graph_node_info;

typedef struct eg_graph eg_graph;

egraph_status eg_graph_create(const egraph_allocator *alloc, eg_graph **out);
void eg_graph_destroy(eg_graph *graph);
EG_HOLDER_DEFINE(eg_graph)
egraph_allocator eg_graph_allocator(const eg_graph *graph);

/// Adds an input to the graph. Its name must be unique; NULL or "" makes up a name
/// ("v12"). Fails with EGRAPH_E_ARGUMENT on a duplicate.
egraph_status eg_graph_add_input(eg_graph *graph, const char *name, const eg_type *type,
                                 eg_value *out);
/// Gives an input a default value (retained). The input stays variable: nothing is
/// computed from its default ahead. Fails with EGRAPH_E_ARGUMENT when the size is wrong.
egraph_status eg_graph_set_default(eg_graph *graph, eg_value input, eg_buffer *data);
/// Adds a weight to the graph and retains `data` (NULL: absent).
egraph_status eg_graph_add_weight(eg_graph *graph, const char *name, const eg_type *type,
                                  eg_buffer *data, eg_value *out);
/// Adds a node and infers its result types (EGRAPH_E_TYPE when the node is ill-typed,
/// with its name in the message). out_results has room for eg_op_results(attrs). `names`
/// (may be NULL) names the results.
egraph_status eg_graph_add_node(eg_graph *graph, const char *name, const eg_attrs *attrs,
                                const eg_value *inputs, uint32_t count,
                                const char *const *names, eg_value *out_results);
/// Adds an opaque node: an operator that the library does not know. `record` (a
/// serialized ONNX NodeProto, copied) lets the exporter write it back; types may be NULL
/// where unknown. Any node with an untyped operand must be opaque as well.
egraph_status eg_graph_add_opaque(eg_graph *graph, const char *name, const char *op_type,
                                  const void *record, size_t record_size,
                                  const eg_value *inputs, uint32_t count,
                                  const eg_type *const *types, const char *const *names,
                                  uint32_t result_count, eg_value *out_results);
/// Return the operator type and the record of an opaque node (attrs->op == EG_OP_OPAQUE).
const char *eg_graph_opaque_type(const eg_graph *graph, eg_graph_node node);
const void *eg_graph_opaque_record(const eg_graph *graph, eg_graph_node node,
                                   size_t *out_size);
/// Operator types with this prefix represent an input or an initializer of the file that
/// cannot be a tensor here.
#define EG_OPAQUE_LEAF "egraph:"
/// The work of an opaque node that its record shows, besides its operands and results.
typedef struct eg_opaque_work {
  bool has_graphs; // graphs in the node: their bytes replace bytes of record and captures
  uint32_t formals;      // its own operands; the graphs in it capture the later operands
  double bytes;          // moved within the graphs, in all known trips of loops
  const double *results; // [results] bytes, or EG_BYTES_UNKNOWN; NULL: not known
  uint32_t unsized; // values within the graphs whose bytes are not known and count as 0
  const char *unsized_value; // the first such value, or NULL
  uint32_t unknown_trips; // loops of an unknown number of trips, which count as one trip
} eg_opaque_work;
#define EG_BYTES_UNKNOWN (-1.0)
/// Returns the bytes of a value at its example sizes; EG_BYTES_UNKNOWN if neither its
/// type nor the record of its node gives them.
double eg_graph_value_bytes(const eg_graph *graph, eg_value value);
/// Copies the figures of work to an opaque node; copies of the node have them too.
egraph_status eg_graph_set_opaque_work(eg_graph *graph, eg_graph_node node,
                                       const eg_opaque_work *work);
/// The least bytes that an opaque node moves, and what these bytes leave out.
typedef struct eg_opaque_estimate {
  // Bytes of operands, results and record, which contains the initializers that are no
  // tensors here. For a node with graphs: bytes of its own operands, of results, and of
  // the work of the graphs. 0 for EG_OPAQUE_LEAF, which is no node.
  double bytes;
  uint32_t unsized; // results (also of a leaf) and values within that count as 0 bytes
  const char *unsized_value;
  uint32_t unknown_trips;
} eg_opaque_estimate;
eg_opaque_estimate eg_graph_opaque_estimate(const eg_graph *graph, eg_graph_node node);
/// Finds the opaque node with this key, its KEY attribute; false: there is none.
bool eg_graph_find_opaque(const eg_graph *graph, const char *key, eg_graph_node *out);
/// Fails with EGRAPH_E_UNSUPPORTED if an output needs an opaque node, and names the first
/// such node; `what` ("planned") is the action that needs known operators.
egraph_status eg_graph_check_known(const eg_graph *graph, const char *what);
/// Adds a copy of another graph's node (of an opaque node with record and types)
/// on as many other operands. Memory formats of the results are copied. `names` as
/// in eg_graph_add_node.
egraph_status eg_graph_add_copy(eg_graph *graph, const eg_graph *from, eg_graph_node node,
                                const eg_value *inputs, const char *const *names,
                                eg_value *out_results);
/// Adds a copy like eg_graph_add_copy; its results keep their names.
egraph_status eg_graph_add_named_copy(eg_graph *graph, const eg_graph *from,
                                      eg_graph_node node, const eg_value *inputs,
                                      eg_value *out_results);
/// Adds an output; `name` is unique among outputs, NULL or "" takes the value's own name.
egraph_status eg_graph_add_output(eg_graph *graph, const char *name, eg_value value);
/// Sets the memory format of a computed value; EGRAPH_E_TYPE if the type cannot have it.
egraph_status eg_graph_set_format(eg_graph *graph, eg_value value, eg_format format);
/// Gives a value another name and frees the old name. Fails with EGRAPH_E_ARGUMENT where
/// another value has the name.
egraph_status eg_graph_rename_value(eg_graph *graph, eg_value value, const char *name);

/// Return counts and rows; infos, names and attributes stay valid as long as the graph.
uint32_t eg_graph_value_count(const eg_graph *graph);
uint32_t eg_graph_node_count(const eg_graph *graph);
const eg_value_info *eg_graph_value(const eg_graph *graph, eg_value value);
eg_graph_node_info eg_graph_node_at(const eg_graph *graph, eg_graph_node node);
bool eg_graph_find_value(const eg_graph *graph, const char *name, eg_value *out);
/// True when the flag of some result of the node is set; `flags`: [values].
static inline bool eg_node_any_result(const eg_graph_node_info *node, const bool *flags) {
  for (uint32_t r = 0; r < node->result_count; r++)
    if (flags[node->results[r].id]) return true;
  return false;
}
/// Count and return inputs in the order in which they were added.
uint32_t eg_graph_input_count(const eg_graph *graph);
eg_value eg_graph_input(const eg_graph *graph, uint32_t index);
uint32_t eg_graph_output_count(const eg_graph *graph);
eg_value eg_graph_output(const eg_graph *graph, uint32_t index, const char **out_name);
eg_attr_pool *eg_graph_attrs(eg_graph *graph);

/// Returns the parts of the graph's file that are no nodes (producer, documentation,
/// metadata: onnx/header.h); copies of the graph share this buffer. NULL: none.
eg_buffer *eg_graph_header(const eg_graph *graph);
void eg_graph_set_header(eg_graph *graph, eg_buffer *header); // retained

/// Verifies every invariant of the graph; EGRAPH_E_INTERNAL names the first violation.
egraph_status eg_graph_check(const eg_graph *graph);
/// Gives an absent weight its data (retained), of the weight's size.
void eg_graph_set_data(eg_graph *graph, eg_value weight, eg_buffer *data);

// ---- open dimensions (ops/size.h) -----------------------------------------------------

/// Returns the graph's table of open dimensions, which lives as long as the graph; NULL:
/// all sizes are fixed.
const eg_open_sizes *eg_graph_open_sizes(const eg_graph *graph);
/// Fails with EGRAPH_E_UNSUPPORTED if dimensions are open; `what` is the action, such as
/// "planned", that needs their sizes.
egraph_status eg_graph_check_fixed(const eg_graph *graph, const char *what);

// ---- text ---------------------------------------------------------------------------

/// Print and read the text form; parse(print(g)) prints identically. Data of at most 64
/// elements (of a weight, or an input's default) is written.
egraph_status eg_graph_print(const eg_graph *graph, eg_text *out);
egraph_status eg_graph_parse(const egraph_allocator *alloc, const char *file,
                             const char *text, size_t size, eg_graph **out);

#endif
