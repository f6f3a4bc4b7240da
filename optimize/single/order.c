// SPDX-License-Identifier: Apache-2.0
#include "optimize/single/order.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"

typedef struct settling {
  const eg_order_input *in;
  eg_extract_result *best;
  double deadline;
  uint32_t entry_count;
  bool *is_used, *decides; // [entries] by the best choice; in one of two choices only
  double *costs;           // [nodes] while the problem has others
} settling;

static double left(const settling *s) { return s->deadline - eg_clock_seconds(); }

/// Marks the entries of a choice.
static void mark_used(const settling *s, const eg_u32s *choice, bool *out) {
  memset(out, 0, s->entry_count * sizeof *out);
  for (size_t c = 0; c < choice->len; c++) {
    uint32_t node = choice->data[c];
    if (node == EG_EXTRACT_NONE) continue;
    uint32_t entry = eg_single_price(s->in->single, node)->entry;
    if (entry != EG_COST_NO_ENTRY) out[entry] = true;
  }
}

/// Costs of the best choice become larger by their errors, others smaller.
static void disturb(const settling *s) {
  eg_single_problem *single = s->in->single;
  for (uint32_t n = 0; n < single->nodes.len; n++) {
    uint32_t entry = eg_single_price(single, n)->entry;
    s->costs[n] = single->problem.cost.data[n];
    if (entry == EG_COST_NO_ENTRY) continue;
    double error = eg_cost_error(s->in->source->costs, entry);
    single->problem.cost.data[n] =
        fmax(0, s->costs[n] + (s->is_used[entry] ? error : -error));
  }
}

static egraph_status solve(const settling *s, double seconds, eg_extract_result *out) {
  eg_extract_options options = *s->in->extract;
  if (seconds < options.time_limit_seconds) options.time_limit_seconds = seconds;
  options.incumbent = s->best->choice.data;
  options.progress = NULL;
  return eg_extract_solve(s->in->alloc, &s->in->single->problem, &options, out);
}

/// *out_count: entries in which a rival differs, and which can be measured.
static egraph_status find_deciding(const settling *s, uint32_t *out_count) {
  eg_extract_result rival;
  double own;
  *out_count = 0;
  mark_used(s, &s->best->choice, s->is_used);
  eg_extract_result_init(&rival, s->in->alloc);
  disturb(s);
  egraph_status status = solve(s, fmax(left(s), 1e-3), &rival);
  if (status == EGRAPH_OK)
    status = eg_extract_certify(s->in->alloc, &s->in->single->problem,
                                s->best->choice.data, &own);
  eg_extract_problem *problem = &s->in->single->problem;
  memcpy(problem->cost.data, s->costs, s->in->single->nodes.len * sizeof *s->costs);
  if (status == EGRAPH_OK && rival.cost < own * (1 - 1e-9)) {
    mark_used(s, &rival.choice, s->decides);
    for (uint32_t e = 0; e < s->entry_count; e++) {
      s->decides[e] =
          s->decides[e] != s->is_used[e] && eg_cost_error(s->in->source->costs, e) > 0;
      *out_count += s->decides[e];
    }
  }
  eg_extract_result_deinit(&rival);
  return status;
}

static bool is_over(void *user, uint32_t done, uint32_t total) {
  (void)done, (void)total;
  return left(user) <= 0;
}

static egraph_status measure_again(settling *s, eg_order_report *out) {
  const eg_order_input *in = s->in;
  eg_cost_model *costs = in->source->costs;
  EG_TRY(eg_single_problem_request_again(in->alloc, in->source, s->decides));
  uint32_t requested = eg_cost_requested(costs);
  EG_TRY(eg_cost_measure(costs, in->measurer, is_over, s));
  out->again += requested - eg_cost_requested(costs);
  // What the time did not reach keeps its cost: a later round must not change it under
  // the proof of this one.
  eg_cost_withdraw(costs);
  eg_single_problem_reprice(in->single, costs);
  eg_extract_result found;
  eg_extract_result_init(&found, in->alloc);
  // What is proven of the new costs is the result: it has all the time of extraction.
  egraph_status status = solve(s, (double)INFINITY, &found);
  if (status == EGRAPH_OK) {
    eg_extract_result old = *s->best;
    *s->best = found;
    found = old;
  }
  eg_extract_result_deinit(&found);
  return status;
}

egraph_status eg_order_settle(const eg_order_input *input, eg_extract_result *inout,
                              eg_order_report *out) {
  settling s = {.in = input,
                .best = inout,
                .deadline = eg_clock_seconds() + input->seconds,
                .entry_count = eg_cost_entry_count(input->source->costs)};
  egraph_allocator alloc = input->alloc;
  size_t nodes = input->single->nodes.len;
  *out = (eg_order_report){.again = 0};
  egraph_status status = eg_alloc(alloc, s.entry_count, sizeof *s.is_used, &s.is_used);
  if (status == EGRAPH_OK)
    status = eg_alloc(alloc, s.entry_count, sizeof *s.decides, &s.decides);
  if (status == EGRAPH_OK) status = eg_alloc(alloc, nodes, sizeof *s.costs, &s.costs);
  while (status == EGRAPH_OK) {
    uint32_t deciding = 0;
    status = find_deciding(&s, &deciding);
    out->is_clear = status == EGRAPH_OK && deciding == 0;
    if (out->is_clear || left(&s) <= 0) break;
    if (status == EGRAPH_OK) status = measure_again(&s, out);
  }
  eg_free(alloc, s.costs, nodes, sizeof *s.costs);
  eg_free(alloc, s.decides, s.entry_count, sizeof *s.decides);
  eg_free(alloc, s.is_used, s.entry_count, sizeof *s.is_used);
  return status;
}
