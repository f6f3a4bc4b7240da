// The public API, part: walking graphs and plans. Conventions as in egraph.h, which
// includes this.
//
// Values, nodes, states and steps are numbers from 0, in topological order. Texts and
// lists are borrowed from the graph or plan. Past the end of a list, and for a NULL graph
// or plan, functions return 0, false or NULL, or EGRAPH_NONE for a value or a state.
// SPDX-License-Identifier: Apache-2.0
#ifndef EGRAPH_WALK_H
#define EGRAPH_WALK_H

#include "egraph.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A plan (egraph_plan.h).
typedef struct egraph_plan egraph_plan;

/// Stands for no value, or no state.
#define EGRAPH_NONE UINT32_MAX

// ---- graphs -----------------------------------------------------------------------

/// A node (an operator on values) of a graph.
typedef struct egraph_node {
  uint32_t id;
} egraph_node;

/// Returns the number of nodes, or of values, of a graph.
EGRAPH_API uint32_t egraph_graph_node_count(const egraph_graph *graph);
EGRAPH_API uint32_t egraph_graph_value_count(const egraph_graph *graph);
/// Returns the index-th input or output as a value.
EGRAPH_API egraph_value egraph_graph_input_value(const egraph_graph *graph,
                                                 uint32_t index);
EGRAPH_API egraph_value egraph_graph_output_value(const egraph_graph *graph,
                                                  uint32_t index);
/// Finds a value by name; returns false when there is none.
EGRAPH_API bool egraph_graph_find_value(const egraph_graph *graph, const char *name,
                                        egraph_value *out);

/// The origin of a value.
typedef enum egraph_value_kind {
  EGRAPH_VALUE_INPUT,
  EGRAPH_VALUE_WEIGHT,
  EGRAPH_VALUE_COMPUTED // computed by a node
} egraph_value_kind;
/// Returns the kind of a value; INPUT past the end.
EGRAPH_API egraph_value_kind egraph_value_kind_of(const egraph_graph *graph,
                                                  egraph_value value);
/// Returns the name of a value, unique in the graph.
EGRAPH_API const char *egraph_value_name(const egraph_graph *graph, egraph_value value);
/// Fills *out with the type of a value; `data` is the row-major bytes of a weight or of
/// the default of an input (read only; NULL: absent, or computed). Returns false when the
/// type is unknown: a result of an opaque node.
EGRAPH_API bool egraph_value_type(const egraph_graph *graph, egraph_value value,
                                  egraph_tensor *out);
/// Returns the memory format of a computed value: "plain" (row-major), "nhwc", "nChw8c"
/// or "nChw16c".
EGRAPH_API const char *egraph_value_format(const egraph_graph *graph, egraph_value value);
/// Finds the node that computes a value, and the number of the result (out_result may be
/// NULL); returns false for inputs and weights.
EGRAPH_API bool egraph_value_producer(const egraph_graph *graph, egraph_value value,
                                      egraph_node *out, uint32_t *out_result);

/// Returns the name of a node; "" without a name.
EGRAPH_API const char *egraph_node_name(const egraph_graph *graph, egraph_node node);
/// Returns the operator of a node, as the operator table spells it ("conv"); for an
/// opaque node as in its file ("NonMaxSuppression").
EGRAPH_API const char *egraph_node_operator(const egraph_graph *graph, egraph_node node);
EGRAPH_API uint32_t egraph_node_operand_count(const egraph_graph *graph,
                                              egraph_node node);
EGRAPH_API egraph_value egraph_node_operand(const egraph_graph *graph, egraph_node node,
                                            uint32_t index);
EGRAPH_API uint32_t egraph_node_result_count(const egraph_graph *graph, egraph_node node);
EGRAPH_API egraph_value egraph_node_result(const egraph_graph *graph, egraph_node node,
                                           uint32_t index);
/// Returns whether the operator is outside the table. Such a node has no attributes but a
/// record: the serialized NodeProto of its ONNX file, with attributes and the bodies of
/// loops and branches. Values of the graph that these bodies use are among its operands.
EGRAPH_API bool egraph_node_is_opaque(const egraph_graph *graph, egraph_node node);
EGRAPH_API const void *egraph_node_record(const egraph_graph *graph, egraph_node node,
                                          size_t *out_size);

/// The kind of an attribute, and the member of egraph_attribute that holds its value.
typedef enum egraph_attribute_kind {
  EGRAPH_ATTRIBUTE_INTEGER,  // integers[0]
  EGRAPH_ATTRIBUTE_INTEGERS, // integers[count]
  EGRAPH_ATTRIBUTE_NUMBER,   // numbers[0]
  EGRAPH_ATTRIBUTE_NUMBERS,  // numbers[count]
  EGRAPH_ATTRIBUTE_SYMBOL,   // text: one of a fixed set, "relu"
  EGRAPH_ATTRIBUTE_DTYPE,    // text: "float32"
  EGRAPH_ATTRIBUTE_TEXT      // text
} egraph_attribute_kind;
/// An attribute of a node.
typedef struct egraph_attribute {
  const char *name; // name in rule files and in the text form
  egraph_attribute_kind kind;
  bool is_default; // the value is the default
  uint32_t count;  // number of integers or numbers
  const int64_t *integers;
  const double *numbers;
  const char *text;
} egraph_attribute;
/// Returns the number of attributes of a node.
EGRAPH_API uint32_t egraph_node_attribute_count(const egraph_graph *graph,
                                                egraph_node node);
/// Fills *out with the index-th attribute, in the order of the operator table; returns
/// false past the end.
EGRAPH_API bool egraph_node_attribute(const egraph_graph *graph, egraph_node node,
                                      uint32_t index, egraph_attribute *out);

/// The origin of a node of the optimized graph: the rule that made it, "original",
/// "congruence" (its operands equal the given operands), or "change of memory format";
/// and its predicted seconds. For a plan, and past the last node: NULL, 0.
typedef struct egraph_origin {
  const char *made_by; // borrowed from the result
  double seconds;
} egraph_origin;
/// Returns the origin of a node of egraph_result_graph. O(1).
EGRAPH_API egraph_origin egraph_result_origin(const egraph_result *result,
                                              egraph_node node);

// ---- plans ------------------------------------------------------------------------

enum { EGRAPH_MAX_AXES = 6 };

/// A value in one layout: an entry of the step, or the result of a step.
typedef struct egraph_state {
  uint32_t id;
} egraph_state;

/// The layout of a value along one axis of the mesh.
typedef enum egraph_digit_kind {
  EGRAPH_DIGIT_REPLICATED, // R: every device holds the whole
  EGRAPH_DIGIT_SHARDED,    // S0, S1, ...: a dimension is cut into equal blocks
  EGRAPH_DIGIT_SUM,        // P: the value is the sum over the devices
  EGRAPH_DIGIT_MAX         // M: the value is the maximum over the devices
} egraph_digit_kind;
/// A layout along one axis.
typedef struct egraph_digit {
  egraph_digit_kind kind;
  uint32_t dim; // the sharded dimension, for SHARDED
} egraph_digit;
/// The layout of a value: a digit per axis of the mesh.
typedef struct egraph_layout {
  uint32_t axis_count;
  egraph_digit digits[EGRAPH_MAX_AXES]; // by axis
  const char *format; // memory format of a device's block: "plain" (row-major), "nhwc",
                      // "nChw16c"
  char text[48]; // "S0,R", with a format other than plain "S0,R:nhwc"; "" on a single
                 // device
} egraph_layout;

/// The action of an operator along one axis of the mesh.
typedef enum egraph_action_kind {
  EGRAPH_ACTION_REPLICATE,  // every device does the same
  EGRAPH_ACTION_SPLIT,      // loop `index` of the operator is split
  EGRAPH_ACTION_PASS,       // partial sums of operand `index` pass through
  EGRAPH_ACTION_PASS_JOINT, // partial sums of all operands in which the operator is
                            // jointly linear pass through
} egraph_action_kind;
/// The action of an operator along one axis, with its factor.
typedef struct egraph_action {
  egraph_action_kind kind;
  uint32_t index;
  char text[16]; // "split 2"
} egraph_action;

/// Return the number of axes of the mesh (0: a single device), and the name and the size
/// of an axis. The coarsest axis comes first.
EGRAPH_API uint32_t egraph_plan_axis_count(const egraph_plan *plan);
EGRAPH_API const char *egraph_plan_axis(const egraph_plan *plan, uint32_t axis,
                                        uint32_t *out_size);

/// Returns the number of states of a plan.
EGRAPH_API uint32_t egraph_plan_state_count(const egraph_plan *plan);
/// Returns the value of a state, in egraph_plan_graph.
EGRAPH_API egraph_value egraph_plan_state_value(const egraph_plan *plan,
                                                egraph_state state);
/// Fills *out with the layout of a state; returns false past the end.
EGRAPH_API bool egraph_plan_state_layout(const egraph_plan *plan, egraph_state state,
                                         egraph_layout *out);
/// Fills *out with the type of the block that one device holds (data is NULL); returns
/// false past the end.
EGRAPH_API bool egraph_plan_state_type(const egraph_plan *plan, egraph_state state,
                                       egraph_tensor *out);
/// Finds the step that produces a state; returns false for an entry of the step.
EGRAPH_API bool egraph_plan_state_step(const egraph_plan *plan, egraph_state state,
                                       uint32_t *out_step);
/// Returns the state in which the index-th output leaves the step.
EGRAPH_API egraph_state egraph_plan_output_state(const egraph_plan *plan, uint32_t index);
/// Values that leave a step may enter the next step in the same layout. The first
/// function counts such values; the second finds the output and the input or weight of
/// one, and returns false past the end.
EGRAPH_API uint32_t egraph_plan_carried_count(const egraph_plan *plan);
EGRAPH_API bool egraph_plan_carried(const egraph_plan *plan, uint32_t index,
                                    uint32_t *out_output, egraph_value *out_value);

/// Steps in order of execution: a node on states, or a move of a state to another layout
/// along one axis or to another memory format, operand 0 to result 0.
EGRAPH_API uint32_t egraph_plan_step_count(const egraph_plan *plan);
EGRAPH_API bool egraph_plan_step_is_move(const egraph_plan *plan, uint32_t step);
/// Returns the phase of a step: "forward", "backward", or "update".
EGRAPH_API const char *egraph_plan_step_phase(const egraph_plan *plan, uint32_t step);
/// Returns the operator, or the kind of the move: "slice", "mask", "reorder" (to another
/// memory format), "all-gather", "reduce-scatter", "all-reduce", or "all-to-all".
EGRAPH_API const char *egraph_plan_step_operator(const egraph_plan *plan, uint32_t step);
/// Finds the node of a step, in egraph_plan_graph; returns false for a move.
EGRAPH_API bool egraph_plan_step_node(const egraph_plan *plan, uint32_t step,
                                      egraph_node *out);
EGRAPH_API uint32_t egraph_plan_step_operand_count(const egraph_plan *plan,
                                                   uint32_t step);
EGRAPH_API egraph_state egraph_plan_step_operand(const egraph_plan *plan, uint32_t step,
                                                 uint32_t index);
EGRAPH_API uint32_t egraph_plan_step_result_count(const egraph_plan *plan, uint32_t step);
EGRAPH_API egraph_state egraph_plan_step_result(const egraph_plan *plan, uint32_t step,
                                                uint32_t index);
/// Fills *out with the action of a node along an axis; returns false for a move, and past
/// the end.
EGRAPH_API bool egraph_plan_step_action(const egraph_plan *plan, uint32_t step,
                                        uint32_t axis, egraph_action *out);
/// Returns the axis of a move; EGRAPH_NONE for a node, and for a reorder.
EGRAPH_API uint32_t egraph_plan_step_axis(const egraph_plan *plan, uint32_t step);
/// Returns the bytes of the whole tensor that a group of devices exchanges in a move; 0
/// for a node, and for a move without communication.
EGRAPH_API double egraph_plan_step_bytes(const egraph_plan *plan, uint32_t step);
/// Returns the predicted seconds of one execution of a step, in one block.
EGRAPH_API double egraph_plan_step_seconds(const egraph_plan *plan, uint32_t step);
/// Returns the number of blocks of a folded plan that the step represents; otherwise 1.
EGRAPH_API uint32_t egraph_plan_step_blocks(const egraph_plan *plan, uint32_t step);
/// Calls `each` for every step with the bytes that a device holds while it runs.
/// O(states). Fails with ARGUMENT when there is no plan, MEMORY.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_visit_memory(
    const egraph_plan *plan, void (*each)(void *user, uint32_t step, double bytes),
    void *user);

#ifdef __cplusplus
}
#endif
#endif
