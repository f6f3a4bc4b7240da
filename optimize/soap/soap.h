// The plans that FlexFlow, OptCNN and Unity search. Every operator of the model has one
// configuration: its split along each axis of the mesh (samples, other dimensions of the
// result, summed dimensions: SOAP). The rest of the step follows from the configurations.
//
// A *lead* is an operator of the forward graph, or an operator of the step that belongs
// to none; its configuration is a strategy. A *follower* is a node that a step makes for
// a lead: gradients, sums, the update of a weight. It takes the strategy that costs least
// with its operands in the lead's layouts, and a cotangent in the layout of the lead's
// result. *Kept* values: an entry is in the layout that its first reader needs; a value
// for a later phase is kept in the layout that the phase needs if it exists in that
// layout, otherwise in the layout in which it was made.
//
// Exchanges follow the cheapest way from the place in which a value is made to each
// needed layout. Every value has one operator: in a problem with several graphs, the
// operator of a known solution. The known solution is then one more option of each lead,
// with its own followers and kept values.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SOAP_SOAP_H
#define EG_OPTIMIZE_SOAP_SOAP_H

#include "base/owner.h"
#include "optimize/search/plan_searcher.h"
#include "pcg/plan/list_schedule.h"

#define EG_SOAP_NONE UINT32_MAX
enum { EG_SOAP_AHEAD = 4 }; // readers that gathers run ahead

/// The cheapest sequence of transitions from one layout of a value to another.
typedef struct eg_soap_way {
  double seconds; // of a step; INFINITY: there is no way
  uint32_t arc;   // the last arc; EG_SOAP_NONE: the way begins here
} eg_soap_way;
EG_VEC_DEFINE(eg_soap_ways, eg_soap_way);

typedef struct eg_soap {
  const eg_plan_question *question;
  const eg_plan_space *space;
  const eg_layout_problem *problem;
  const uint32_t *known; // [problem values] strategies, borrowed; NULL: no solution
  uint64_t work;         // steps done

  // Fixed by the graph:
  eg_u32s place_value;     // [places] problem value
  eg_u32s arc_begin, arcs; // [problem values + 1] arcs of a value
  eg_u32s operator_of;     // [problem values] operator of the problem; NONE: not needed
  eg_u32s order;           // needed problem values, operands first
  eg_u32s lead_of;         // [problem values] number of the lead; NONE: kept
  eg_u32s leads;           // problem values
  eg_u32s member_begin, members; // [leads + 1] problem values in order, the lead first
  eg_u32s option_begin, options; // [leads + 1] strategies of the lead
  eg_u32s kept_strategy;         // [places] strategy that keeps a value, or NONE
  eg_u32s carried_entry;         // [space values] entry that the value becomes, or NONE
  eg_u32s kept; // [problem values] strategy of a kept value; NONE: by the rules above
  uint32_t stream_of_arc_axis[EG_MAX_MESH_AXES], streams; // 0: computing

  // Computed on demand:
  eg_u32s way_row;    // [places] 1 + row in ways; 0: not known
  eg_soap_ways ways;  // [rows][places of the value]
  eg_u32s follow_row; // [options] 1 + row in follow
  eg_u32s follow;     // [rows][members of the lead] strategies
  eg_u32s near;       // [space values] scratch: layout that a lead gives

  // The last evaluation:
  eg_u32s strategy;                          // [problem values]
  eg_u32s need_first, need_next, need_place; // lists of needed places by value
  eg_u32s run_of_place; // 1 + run that makes it; START: exists already; 0: not made
  eg_u32s touched;      // places that are made
  eg_u32s path;
  eg_list_schedule schedule;
  uint32_t computing[EG_SOAP_AHEAD];    // the last runs of stream 0, latest first; NONE
  uint32_t window, windows;             // of the current value; NONE: none
  uint32_t turn;                        // forward pass, or the rest, of each micro-batch
  double memory[EG_LAYOUT_MEMORY_ROWS]; // bytes in the problem's memory rows
} eg_soap;
EG_OWNER_DEFINE_MEMBERS(eg_soap,
                        (eg_u32s, place_value, arc_begin, arcs, operator_of, order,
                         lead_of, leads, member_begin, members, option_begin, options),
                        (eg_u32s, kept_strategy, carried_entry, kept, way_row, follow_row,
                         follow, near, strategy, need_first, need_next, need_place,
                         run_of_place, touched, path),
                        (eg_soap_ways, ways), (eg_list_schedule, schedule))

/// Prepares the data of a search. `known`: strategies of a solution, [problem values], or
/// NULL. Fails with EGRAPH_E_MEMORY, and with EGRAPH_E_UNSUPPORTED if constraints leave a
/// value no operator.
egraph_status eg_soap_init(eg_soap *soap, const eg_plan_question *question,
                           const uint32_t *known);

static inline uint32_t eg_soap_option_count(const eg_soap *soap, uint32_t lead) {
  return soap->option_begin.data[lead + 1] - soap->option_begin.data[lead];
}

/// Fills the options of data parallelism, as far as operators have it: along each
/// axis dimension 0 of a result is split, and weights are whole. `choice`: [lead
/// operators] option.
egraph_status eg_soap_start(const eg_soap *soap, eg_u32s *choice);
/// Fills the options of the known solution. `choice`: [lead operators] option.
egraph_status eg_soap_start_known(const eg_soap *soap, eg_u32s *choice);
/// Finds the strategies of a lead operator and its followers under an option of the lead,
/// in the order of `members`; valid until the next call. Fails with EGRAPH_E_MEMORY.
egraph_status eg_soap_follow(eg_soap *soap, uint32_t lead, uint32_t option,
                             const uint32_t **out);
/// Fills `strategy` for all problem values from the lead operators' options, `choice`.
egraph_status eg_soap_choose(eg_soap *soap, const uint32_t *choice);
/// Estimates the seconds of a step whose exchanges overlap computing, one stream for each
/// class of links: the result of eg_plan_simulate with gathers four readers ahead
/// (pcg/plan/plan_issue.h). Simplified: a writer does not wait for readers of the
/// overwritten value, two sequences of moves share only common moves, and later
/// micro-batches take as long as the second. INFINITY: no plan.
egraph_status eg_soap_simulate(eg_soap *soap, const uint32_t *choice, double *out);
/// Finds the cheapest moves from a place (layout of a value) to each
/// layout: (*out)[layout].
egraph_status eg_soap_ways_from(eg_soap *soap, uint32_t place, const eg_soap_way **out);

#endif
