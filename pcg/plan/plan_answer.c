// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_answer.h"

#include <inttypes.h>
#include <math.h>

#include "pcg/plan/plan_blocks.h"
#include "pcg/plan/plan_worth.h"

static const double NOTHING = 1.0005; // a speedup that rounds to 1
static const double FULL = 0.95;      // of the memory: less might cost more seconds
static const double TOLD = 0.005;     // shares below it are not told

static egraph_status print_step(eg_text *text, const eg_plan_summary *summary) {
  uint32_t devices = eg_mesh_devices(&summary->mesh);
  EG_TRY(eg_text_append(text, "step        "));
  EG_TRY(eg_text_seconds(text, summary->seconds));
  EG_TRY(eg_text_append(text, " on "));
  if (devices == 1) {
    EG_TRY(eg_text_append(text, "one device"));
  } else {
    EG_TRY(eg_mesh_print(text, &summary->mesh));
    EG_TRY(eg_text_printf(text, ": %" PRIu32 " devices", devices));
  }
  if (summary->micro_batches > 1)
    EG_TRY(eg_text_printf(text, ", %" PRIu32 " micro-batches", summary->micro_batches));
  return eg_text_append(text, "\n");
}

static egraph_status print_speedup(eg_text *text, const eg_plan *plan,
                                   const eg_plan_summary *summary) {
  if (eg_mesh_devices(&plan->mesh) == 1) return EGRAPH_OK;
  if (!(plan->single_seconds > 0 && summary->seconds > 0))
    return eg_text_append(text, "speedup     unknown: one device was not planned, which "
                                "takes a search without constraints\n");
  EG_TRY(eg_text_append(text, "speedup     "));
  EG_TRY(eg_text_digits(text, plan->single_seconds / summary->seconds));
  EG_TRY(eg_text_append(text, " times as fast as one device ("));
  EG_TRY(eg_text_seconds(text, plan->single_seconds));
  return eg_text_append(text, ")\n");
}

static egraph_status print_peak(eg_text *text, const eg_plan *plan,
                                const eg_plan_summary *summary) {
  double share = summary->seconds > 0 ? plan->peak_seconds / summary->seconds : 0;
  EG_TRY(eg_text_append(text, "peak        "));
  if (!(share > 0))
    return eg_text_append(text, "unknown: no peak of the machine is known\n");
  if (share > 1)
    return eg_text_append(text, "unknown: the step computes more than the peak that the "
                                "machine is said to have\n");
  EG_TRY(eg_text_percent(text, share));
  return eg_text_append(text, " of the machine's peak\n");
}

static egraph_status print_memory(eg_text *text, const eg_plan_summary *summary,
                                  double limit) {
  EG_TRY(eg_text_append(text, "memory      "));
  EG_TRY(eg_text_bytes(text, summary->peak));
  if (!isinf(limit)) {
    EG_TRY(eg_text_append(text, " of "));
    EG_TRY(eg_text_bytes(text, limit));
  }
  return eg_text_append(
      text, eg_mesh_devices(&summary->mesh) == 1 ? "\n" : " on every device\n");
}

/// Seconds of computing, then of the exchanges over each axis; the longest first.
static egraph_status print_bottleneck(eg_text *text, const eg_plan_summary *summary,
                                      double limit) {
  double seconds[1 + EG_MAX_MESH_AXES] = {0};
  uint32_t count = 1 + summary->mesh.axis_count, told = 0;
  for (int p = 0; p < EG_PHASE_COUNT; p++) {
    seconds[0] += summary->node_seconds[p];
    for (uint32_t a = 0; a < summary->mesh.axis_count; a++)
      for (uint32_t k = 0; k < EG_EXCHANGES; k++)
        if (k != EG_TRANSITION_REORDER)
          seconds[1 + a] += summary->exchange[p][a][k].seconds;
  }
  if (!(summary->seconds > 0)) return EGRAPH_OK;
  EG_TRY(eg_text_append(text, "bottleneck  "));
  for (; told < count; told++) {
    uint32_t most = 0;
    for (uint32_t i = 1; i < count; i++)
      if (seconds[i] > seconds[most]) most = i;
    double share = seconds[most] / summary->seconds;
    if (share < TOLD) break;
    if (told != 0) EG_TRY(eg_text_append(text, ", "));
    if (most == 0)
      EG_TRY(eg_text_append(text, "computing "));
    else
      EG_TRY(
          eg_text_printf(text, "exchanges over %s ", summary->mesh.axes[most - 1].name));
    EG_TRY(eg_text_percent(text, share));
    if (told == 0) EG_TRY(eg_text_append(text, " of the seconds"));
    seconds[most] = 0;
  }
  if (summary->peak > FULL * limit) {
    EG_TRY(eg_text_append(text, "; memory is "));
    EG_TRY(eg_text_percent(text, summary->peak / limit));
    EG_TRY(eg_text_append(text, " full"));
  }
  return eg_text_append(text, "\n");
}

// ---- warnings -------------------------------------------------------------------------

static egraph_status warn_of_idle(eg_text *text, const eg_plan *plan) {
  uint32_t idle = eg_plan_idle_axes(plan), devices = eg_plan_useful_devices(plan);
  if (idle == 0) return EGRAPH_OK;
  EG_TRY(eg_text_append(text, "warning     all devices along"));
  for (uint32_t a = 0; a < plan->mesh.axis_count; a++)
    if ((idle >> a & 1) != 0)
      EG_TRY(eg_text_printf(text, " %s=%" PRIu32, plan->mesh.axes[a].name,
                            plan->mesh.axes[a].size));
  return eg_text_printf(
      text, " repeat the same work: %" PRIu32 " device%s of %" PRIu32 " would do\n",
      devices, devices == 1 ? "" : "s", eg_mesh_devices(&plan->mesh));
}

static egraph_status warn_of_speedup(eg_text *text, const eg_plan *plan,
                                     const eg_plan_summary *summary) {
  if (eg_mesh_devices(&plan->mesh) == 1 || !(plan->single_seconds > 0) ||
      plan->single_seconds > NOTHING * summary->seconds)
    return EGRAPH_OK;
  return eg_text_append(text, "warning     this plan wins nothing over one device\n");
}

static egraph_status warn_of_guesses(eg_text *text, const eg_plan *plan,
                                     const eg_plan_summary *summary) {
  double guessed = 0;
  for (size_t i = 0; i < plan->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    if (step->basis == EG_PRICE_GUESSED)
      guessed +=
          eg_phase_runs(plan, step->phase) * eg_plan_step_blocks(step) * step->seconds;
  }
  if (guessed <= TOLD * summary->seconds) return EGRAPH_OK;
  EG_TRY(eg_text_append(text, "warning     "));
  EG_TRY(eg_text_percent(text, guessed / summary->seconds));
  return eg_text_append(text, " of the seconds are costs of operators guessed from the "
                              "machine's figures, not measured\n");
}

egraph_status eg_plan_answer_print(eg_text *text, const eg_plan *plan,
                                   const eg_plan_summary *summary, double memory_limit) {
  EG_TRY(print_step(text, summary));
  EG_TRY(print_speedup(text, plan, summary));
  EG_TRY(print_peak(text, plan, summary));
  EG_TRY(print_memory(text, summary, memory_limit));
  EG_TRY(print_bottleneck(text, summary, memory_limit));
  EG_TRY(warn_of_idle(text, plan));
  EG_TRY(warn_of_speedup(text, plan, summary));
  EG_TRY(warn_of_guesses(text, plan, summary));
  EG_TRY(eg_plan_blocks_print(text, plan));
  return eg_plan_exchanges_print(text, summary);
}
