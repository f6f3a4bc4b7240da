// From the e-graph of a tensor program to an extraction problem over
// (class, memory format).
//
//   e-class of a value          problem classes
//   c7: conv(c1,w)       ->     (c7,plain) (c7,nhwc) (c7,16c)
//                                ^----reorder----^ ...
//
// Between them: a node per legal assignment of formats, a reorder per pair of formats.
//
// Weight-only classes cost nothing at run time: they are left out of the problem, and
// their cheapest derivation is chosen apart (choose_weights). Formats other than plain
// are given only to values connected to a convolution through operators that keep a
// format, so that no useless transition is priced. DESIGN section 5; notes on why
// reorders are nodes here: optimize/README.md.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_EXPAND_H
#define EG_OPTIMIZE_EXPAND_H

#include "extract/problem.h"
#include "rewrites/tensor_egraph.h"
#include "sim/cost.h"

/// What a node of the problem stands for.
typedef struct eg_variant {
  eg_node node;        // e-node; EG_NODE_NONE for a reorder
  uint8_t from_format; // of a reorder
  uint8_t format;      // of the result
  double seconds;
  eg_cost_source source;
  bool is_guess;  // estimated without any measurement, or no back-end runs it
  uint32_t entry; // its measurement (sim/cost.h), or EG_COST_NO_ENTRY
} eg_variant;

EG_VEC_DEFINE(eg_variants, eg_variant);

typedef struct eg_expansion {
  eg_extract_problem problem;
  eg_variants variants; // [problem nodes]
  uint32_t *place; // [class_limit][EG_FORMAT_COUNT] problem class, or EG_EXTRACT_NONE
  uint32_t class_limit;
  eg_u32s class_of;     // [problem classes] e-class
  eg_u32s format_of;    // [problem classes] eg_format
  uint64_t unsupported; // variants dropped because no back-end runs them
  egraph_allocator alloc;
} eg_expansion;

/// Enumerates the variants and asks the model to note every cost (eg_cost_request).
/// `formats` is a bit mask of eg_format.
egraph_status eg_expansion_init(eg_expansion *expansion, egraph_allocator alloc,
                                eg_tensor_egraph *egraph, eg_cost_model *costs,
                                uint32_t formats);
/// Prices the variants and builds the problem; call when everything that will be
/// measured has been.
egraph_status eg_expansion_price(eg_expansion *expansion, eg_tensor_egraph *egraph,
                                 eg_cost_model *costs);
/// Notes that variants whose measurement is marked are measured again (the smaller cost
/// stays). `again`: [entries of the cost model].
egraph_status eg_expansion_request_again(eg_expansion *expansion,
                                         eg_tensor_egraph *egraph, eg_cost_model *costs,
                                         const bool *again);
/// Prices measured variants anew.
void eg_expansion_reprice(eg_expansion *expansion, const eg_cost_model *costs);
void eg_expansion_deinit(eg_expansion *expansion);

/// The choice that is the original graph: [problem classes] node or EG_EXTRACT_NONE.
/// *out_as_given: in the formats that it carries; false: all plain, because the problem
/// lacks one of them.
egraph_status eg_expansion_original(const eg_expansion *expansion,
                                    eg_tensor_egraph *egraph, uint32_t *out_choice,
                                    bool *out_as_given);

#endif
