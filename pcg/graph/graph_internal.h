// The layout of the graph container, for the files of this module only.
//
// Values, node rows, names and operand lists live in one arena and never move, so
// pointers handed out stay valid for the life of the graph.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_GRAPH_INTERNAL_H
#define EG_PCG_GRAPH_INTERNAL_H

#include "base/strmap.h"
#include "base/vec.h"
#include "pcg/graph/graph.h"

/// An operator that the operator table does not contain.
typedef struct eg_opaque {
  const char *key;  // value of the KEY attribute, unique in the graph
  const char *type; // operator type, "LSTM"
  const void *record;
  size_t record_size;
  eg_graph_node node;
  const eg_opaque_work *work; // NULL: nothing is known
} eg_opaque;

#define EG_NO_OPAQUE UINT32_MAX
typedef struct eg_node_row {
  eg_graph_node_info info;
  uint32_t opaque; // index in `opaques`, or EG_NO_OPAQUE
} eg_node_row;

typedef struct eg_graph_output_row {
  const char *name;
  eg_value value;
} eg_graph_output_row;

EG_VEC_DEFINE(eg_value_rows, eg_value_info *);
EG_VEC_DEFINE(eg_node_rows, eg_node_row *);
EG_VEC_DEFINE(eg_output_rows, eg_graph_output_row);
EG_VEC_DEFINE(eg_opaque_rows, eg_opaque);
EG_VEC_DEFINE(eg_values, eg_value);

struct eg_graph {
  egraph_allocator alloc;
  eg_arena arena;
  eg_attr_pool *pool;
  eg_value_rows values;
  eg_node_rows nodes;
  eg_output_rows outputs;
  eg_opaque_rows opaques;
  eg_values inputs;
  // Name to value. An entry left behind by a failed addition names a value that does not
  // exist or has another name; look-ups confirm the name, so that it is never seen.
  eg_strmap names;
  eg_strmap opaque_keys;
  eg_strmap output_names;
  eg_open_sizes *open_sizes; // shared; NULL: all sizes are fixed
  eg_buffer *header;         // or NULL
};

typedef struct eg_new_node {
  const char *name;
  const eg_attrs *attrs;
  const eg_value *inputs;
  uint32_t input_count;
  const eg_type *const *types; // [result_count] NULL: type not known
  const char *const *names;    // [result_count], or NULL: names are made up
  uint32_t result_count;
  uint32_t opaque; // index in `opaques`, or EG_NO_OPAQUE
} eg_new_node;

/// Appends a node with its results, or nothing.
egraph_status eg_graph_append_node(eg_graph *graph, const eg_new_node *node,
                                   eg_value *out_results);
/// Fails unless a node's operands are values of the graph and, if `typed`, have types.
egraph_status eg_graph_check_operands(const eg_graph *graph, const eg_value *inputs,
                                      uint32_t count, bool typed);

/// Writes "conv 'conv1'" or "conv (node 7)" for messages; the text is cut to the buffer.
void eg_graph_describe_node(const char *name, const char *op, uint32_t id, char *buffer,
                            size_t size);

/// Weights of at most this many elements are written with their data.
enum { EG_GRAPH_TEXT_ELEMENTS = 64, EG_GRAPH_TEXT_VERSION = 1 };

#endif
