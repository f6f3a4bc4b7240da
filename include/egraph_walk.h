// The public API, part: walking graphs and plans. Conventions as in egraph.h, which
// includes this.
//
// Values, nodes, states and steps are numbers that count from 0 in an order in which
// everything comes after what it needs. Texts and lists are borrowed from the graph or
// plan. Past the end of a list, and of a NULL graph or plan, functions say 0, false or
// NULL; a value or a state is then EGRAPH_NONE.
// SPDX-License-Identifier: Apache-2.0
#ifndef EGRAPH_WALK_H
#define EGRAPH_WALK_H

#include "egraph.h"

#ifdef __cplusplus
extern "C" {
#endif

/// As in egraph_plan.h.
typedef struct egraph_plan egraph_plan;

/// No value, or no state.
#define EGRAPH_NONE UINT32_MAX

// ---- graphs -----------------------------------------------------------------------

/// A node (an operator on values) of a graph.
typedef struct egraph_node {
  uint32_t id;
} egraph_node;

/// Nodes and values of a graph.
EGRAPH_API uint32_t egraph_graph_node_count(const egraph_graph *graph);
EGRAPH_API uint32_t egraph_graph_value_count(const egraph_graph *graph);
/// The index-th input or output as a value.
EGRAPH_API egraph_value egraph_graph_input_value(const egraph_graph *graph,
                                                 uint32_t index);
EGRAPH_API egraph_value egraph_graph_output_value(const egraph_graph *graph,
                                                  uint32_t index);
/// The value of that name; false when there is none.
EGRAPH_API bool egraph_graph_find_value(const egraph_graph *graph, const char *name,
                                        egraph_value *out);

/// Where a value comes from.
typedef enum egraph_value_kind {
  EGRAPH_VALUE_INPUT,
  EGRAPH_VALUE_WEIGHT,
  EGRAPH_VALUE_COMPUTED // by a node
} egraph_value_kind;
/// INPUT past the end.
EGRAPH_API egraph_value_kind egraph_value_kind_of(const egraph_graph *graph,
                                                  egraph_value value);
/// Unique in the graph.
EGRAPH_API const char *egraph_value_name(const egraph_graph *graph, egraph_value value);
/// Its type, and in `data` the row-major bytes of a weight or of an input's default
/// (NULL: absent, or computed), which are not to be written to. False when the type is
/// unknown: of a result of an opaque node.
EGRAPH_API bool egraph_value_type(const egraph_graph *graph, egraph_value value,
                                  egraph_tensor *out);
/// The memory format of a computed value: "plain" (row-major), "nhwc", "nChw8c" or
/// "nChw16c".
EGRAPH_API const char *egraph_value_format(const egraph_graph *graph, egraph_value value);
/// The node that computes a value, and which of its results it is (out_result may be
/// NULL); false for inputs and weights.
EGRAPH_API bool egraph_value_producer(const egraph_graph *graph, egraph_value value,
                                      egraph_node *out, uint32_t *out_result);

/// "" where it has none.
EGRAPH_API const char *egraph_node_name(const egraph_graph *graph, egraph_node node);
/// The spelling of the operator table ("conv"); of an opaque node the operator of its
/// file ("NonMaxSuppression").
EGRAPH_API const char *egraph_node_operator(const egraph_graph *graph, egraph_node node);
EGRAPH_API uint32_t egraph_node_operand_count(const egraph_graph *graph,
                                              egraph_node node);
EGRAPH_API egraph_value egraph_node_operand(const egraph_graph *graph, egraph_node node,
                                            uint32_t index);
EGRAPH_API uint32_t egraph_node_result_count(const egraph_graph *graph, egraph_node node);
EGRAPH_API egraph_value egraph_node_result(const egraph_graph *graph, egraph_node node,
                                           uint32_t index);
/// Whether the operator is outside the table. Such a node has no attributes, but the
/// NodeProto of its ONNX file, serialized, with its attributes and the bodies of loops
/// and branches; values that bodies use from outside are among the operands.
EGRAPH_API bool egraph_node_is_opaque(const egraph_graph *graph, egraph_node node);
EGRAPH_API const void *egraph_node_record(const egraph_graph *graph, egraph_node node,
                                          size_t *out_size);

/// The kind of a value of an attribute, and the member of egraph_attribute that has it.
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
  const char *name; // as rule files and the text form spell it
  egraph_attribute_kind kind;
  bool is_default; // has the value that it has where nothing is said
  uint32_t count;  // of integers or numbers
  const int64_t *integers;
  const double *numbers;
  const char *text;
} egraph_attribute;
/// Attributes of a node.
EGRAPH_API uint32_t egraph_node_attribute_count(const egraph_graph *graph,
                                                egraph_node node);
/// In the order of the operator table; false past the end.
EGRAPH_API bool egraph_node_attribute(const egraph_graph *graph, egraph_node node,
                                      uint32_t index, egraph_attribute *out);

/// How a node of the optimized graph came to be: the rule that made it, "original",
/// "congruence" (with operands that are equal to the given ones), or "change of memory
/// format"; and its predicted seconds. Of a plan, and past the last node: NULL, 0.
typedef struct egraph_origin {
  const char *made_by; // borrowed from the result
  double seconds;
} egraph_origin;
/// The origin of a node of egraph_result_graph. O(1).
EGRAPH_API egraph_origin egraph_result_origin(const egraph_result *result,
                                              egraph_node node);

// ---- plans ------------------------------------------------------------------------

enum { EGRAPH_MAX_AXES = 6 };

/// A value in one layout: there from the start, or made by a step.
typedef struct egraph_state {
  uint32_t id;
} egraph_state;

/// How a value lies along one axis of the mesh.
typedef enum egraph_digit_kind {
  EGRAPH_DIGIT_REPLICATED, // R: every device has the same
  EGRAPH_DIGIT_SHARDED,    // S0, S1, ...: a dimension is cut into equal blocks
  EGRAPH_DIGIT_SUM,        // P: the value is the sum over the devices
  EGRAPH_DIGIT_MAX         // M: ... the maximum
} egraph_digit_kind;
/// A layout along one axis.
typedef struct egraph_digit {
  egraph_digit_kind kind;
  uint32_t dim; // of SHARDED
} egraph_digit;
/// How a value lies on the mesh: a digit for each axis.
typedef struct egraph_layout {
  uint32_t axis_count;
  egraph_digit digits[EGRAPH_MAX_AXES]; // by axis
  const char *format; // of what one device holds: "plain" (row-major), "nhwc", "nChw16c"
  char text[48];      // "S0,R", with a format other than plain "S0,R:nhwc"; "" on a
                      // single device
} egraph_layout;

/// The action of an operator along one axis of the mesh.
typedef enum egraph_action_kind {
  EGRAPH_ACTION_REPLICATE,  // every device does the same
  EGRAPH_ACTION_SPLIT,      // loop `index` of the operator is split
  EGRAPH_ACTION_PASS,       // partial sums of operand `index` pass through
  EGRAPH_ACTION_PASS_JOINT, // ... of all operands that the operator is linear in together
} egraph_action_kind;
/// The action of an operator along one axis, with its factor.
typedef struct egraph_action {
  egraph_action_kind kind;
  uint32_t index;
  char text[16]; // "split 2"
} egraph_action;

/// The axes of the mesh, the first one coarsest; 0: a single device. The name and the
/// size of one.
EGRAPH_API uint32_t egraph_plan_axis_count(const egraph_plan *plan);
EGRAPH_API const char *egraph_plan_axis(const egraph_plan *plan, uint32_t axis,
                                        uint32_t *out_size);

/// Values of a plan in their layouts.
EGRAPH_API uint32_t egraph_plan_state_count(const egraph_plan *plan);
/// Of egraph_plan_graph.
EGRAPH_API egraph_value egraph_plan_state_value(const egraph_plan *plan,
                                                egraph_state state);
/// False past the end.
EGRAPH_API bool egraph_plan_state_layout(const egraph_plan *plan, egraph_state state,
                                         egraph_layout *out);
/// The type of what one device holds (data is NULL); false past the end.
EGRAPH_API bool egraph_plan_state_type(const egraph_plan *plan, egraph_state state,
                                       egraph_tensor *out);
/// The step that makes a state; false where it is there from the start.
EGRAPH_API bool egraph_plan_state_step(const egraph_plan *plan, egraph_state state,
                                       uint32_t *out_step);
/// The state in which the index-th output leaves the step.
EGRAPH_API egraph_state egraph_plan_output_state(const egraph_plan *plan, uint32_t index);
/// A value that leaves a step and enters the next one, in the same layout: the number of
/// an output, and an input or weight. False past the end.
EGRAPH_API uint32_t egraph_plan_carried_count(const egraph_plan *plan);
EGRAPH_API bool egraph_plan_carried(const egraph_plan *plan, uint32_t index,
                                    uint32_t *out_output, egraph_value *out_value);

/// Steps in order of execution: a node on states, or a move of a state to another layout
/// along one axis or to another memory format, operand 0 to result 0.
EGRAPH_API uint32_t egraph_plan_step_count(const egraph_plan *plan);
EGRAPH_API bool egraph_plan_step_is_move(const egraph_plan *plan, uint32_t step);
/// "forward", "backward", or "update".
EGRAPH_API const char *egraph_plan_step_phase(const egraph_plan *plan, uint32_t step);
/// The operator, or the kind of the move: "slice", "mask", "reorder" (to another memory
/// format), "all-gather", "reduce-scatter", "all-reduce", or "all-to-all".
EGRAPH_API const char *egraph_plan_step_operator(const egraph_plan *plan, uint32_t step);
/// The node, of egraph_plan_graph; false for a move.
EGRAPH_API bool egraph_plan_step_node(const egraph_plan *plan, uint32_t step,
                                      egraph_node *out);
EGRAPH_API uint32_t egraph_plan_step_operand_count(const egraph_plan *plan,
                                                   uint32_t step);
EGRAPH_API egraph_state egraph_plan_step_operand(const egraph_plan *plan, uint32_t step,
                                                 uint32_t index);
EGRAPH_API uint32_t egraph_plan_step_result_count(const egraph_plan *plan, uint32_t step);
EGRAPH_API egraph_state egraph_plan_step_result(const egraph_plan *plan, uint32_t step,
                                                uint32_t index);
/// The action of a node along an axis; false for a move, and past the end.
EGRAPH_API bool egraph_plan_step_action(const egraph_plan *plan, uint32_t step,
                                        uint32_t axis, egraph_action *out);
/// The axis of a move; EGRAPH_NONE for a node, and a reorder.
EGRAPH_API uint32_t egraph_plan_step_axis(const egraph_plan *plan, uint32_t step);
/// Bytes that a move is about: of the whole tensor that a group of devices exchanges; 0
/// for a node, and a move that communicates nothing.
EGRAPH_API double egraph_plan_step_bytes(const egraph_plan *plan, uint32_t step);
/// Predicted seconds of one execution, in one block.
EGRAPH_API double egraph_plan_step_seconds(const egraph_plan *plan, uint32_t step);
/// Blocks of a folded plan that the step stands for; 1 elsewhere.
EGRAPH_API uint32_t egraph_plan_step_blocks(const egraph_plan *plan, uint32_t step);
/// Calls back for every step with the bytes that a device holds while it runs. O(states).
/// Fails with ARGUMENT when there is no plan, MEMORY.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_visit_memory(
    const egraph_plan *plan, void (*each)(void *user, uint32_t step, double bytes),
    void *user);

#ifdef __cplusplus
}
#endif
#endif
