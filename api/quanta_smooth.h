// Runs a graph whose quantizations scale and saturate, but do not round. Two graphs that
// differ only in the order of sums then agree within rounding errors, through any number
// of layers; rounding to quanta would turn such errors into whole steps.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_QUANTA_SMOOTH_H
#define EG_API_QUANTA_SMOOTH_H

#include "api/tensors.h"

/// The relative change of scales that shows the noise of a graph: rounding errors of
/// float32 sums of some thousand products.
#define EG_QUANTA_ROUNDING 0x1p-18

/// Runs the graph without rounding; `out` gets its outputs, quantized ones in float32.
/// `noise` 0: no change; otherwise computed values are scaled before quantization, up or
/// down by EG_QUANTA_ROUNDING, as drawn. *out_done is false when an operator needs quanta
/// as integers.
egraph_status eg_smooth_run(const eg_graph *graph, const eg_session_options *options,
                            const eg_tensors *inputs, uint64_t noise, eg_tensors *out,
                            bool *out_done);

/// Returns whether two graphs have the same quantizations: equal counts for each scale,
/// zero point and element type. A computed scale equals no other scale.
egraph_status eg_smooth_same_quantizers(const eg_graph *a, const eg_graph *b, bool *out);

/// Copies an input or a weight under its name, by which its data is drawn; does nothing
/// for other values.
egraph_status eg_smooth_copy_leaf(const eg_graph *from, eg_value value, eg_graph *to,
                                  eg_value *out);

/// Returns the type of a scale or zero point of DequantizeLinear or QuantizeLinear, in
/// the shape in which it broadcasts against operand 0.
eg_type eg_smooth_axis_view(const eg_graph *graph, const eg_graph_node_info *node);
/// True when QuantizeLinear or DequantizeLinear has a scale for blocks.
bool eg_smooth_has_blocks(const eg_graph_node_info *node);

#endif
