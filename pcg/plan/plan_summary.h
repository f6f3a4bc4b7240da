// A plan in figures: what is communicated, how long it takes, and what a device holds.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_SUMMARY_H
#define EG_PCG_PLAN_SUMMARY_H

#include "pcg/plan/plan_life.h"
#include "pcg/plan/plan_words.h"

/// Of one kind, in a step of training: every micro-batch counts, and every block that a
/// step stands for.
typedef struct eg_exchange_sum {
  uint64_t count;
  double bytes;   // as eg_transition_bytes has them; of a halo, both sides'
  double seconds; // 0 for halos, whose time is in that of their nodes
} eg_exchange_sum;

typedef struct eg_plan_summary {
  uint32_t micro_batches;
  eg_mesh mesh;
  eg_exchange_sum exchange[EG_PHASE_COUNT][EG_MAX_MESH_AXES][EG_EXCHANGES];
  // of a step of training, one thing after the other
  double node_seconds[EG_PHASE_COUNT]; // with reorders
  double move_seconds[EG_PHASE_COUNT];
  double seconds;
  // bytes of a device (plan_life.h)
  double most[EG_STORES];    // that there ever is of each
  double at_peak[EG_STORES]; // at peak_step; together: peak
  double peak;
  uint32_t peak_step; // the first such one
} eg_plan_summary;

/// Sums up a plan that passes eg_plan_check.
egraph_status eg_plan_summary_make(const eg_plan *plan, egraph_allocator alloc,
                                   eg_plan_summary *out);
/// Calls back for every step, or once where there is none, with the bytes of each store.
egraph_status eg_plan_visit_memory(const eg_plan *plan, egraph_allocator alloc,
                                   void (*each)(void *user, uint32_t step,
                                                const double now[EG_STORES]),
                                   void *user);
/// Text for people: a table of the exchanges between devices, after an empty line;
/// nothing where there are none. (plan_summary_print.c)
egraph_status eg_plan_exchanges_print(eg_text *text, const eg_plan_summary *summary);
/// Text for people: seconds by phase, memory by purpose. (plan_summary_print.c)
egraph_status eg_plan_summary_print(eg_text *text, const eg_plan_summary *summary);
/// One JSON object:
///   {"devices", "micro_batches", "seconds", "phases": [{"phase", "node_seconds",
///    "move_seconds"}], "memory_bytes", "memory": {store: {"at_peak", "most"}},
///    "peak_step", "collectives": [{"phase", "kind", "axis", "count", "bytes",
///    "seconds"}]}
/// Collectives are those that communicate. (plan_summary_print.c)
egraph_status eg_plan_summary_write_json(eg_text *text, const eg_plan_summary *summary);
/// The same without the braces. (plan_summary_print.c)
egraph_status eg_plan_summary_write_members(eg_text *text,
                                            const eg_plan_summary *summary);

#endif
