// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json_text.h"
#include "pcg/plan/plan_analysis.h"
#include "pcg/plan/plan_words.h"

static const double NO_SPEEDUP = 1.0005; // a speedup that rounds to 1
static const double FULL =
    0.95; // part of the memory limit above which more memory might shorten the step
static const double LEAST_SHARE = 0.005; // least share of the seconds that is printed

// ---- the answer -----------------------------------------------------------------------

static void print_step_seconds(eg_text *text, const eg_plan_summary *summary) {
  uint32_t devices = eg_mesh_devices(&summary->mesh);
  eg_text_append(text, "step        ");
  eg_text_seconds(text, summary->seconds);
  eg_text_append(text, " on ");
  if (devices == 1) {
    eg_text_append(text, "one device");
  } else {
    eg_mesh_print(text, &summary->mesh);
    eg_text_printf(text, ": %" PRIu32 " devices", devices);
  }
  if (summary->micro_batches > 1)
    eg_text_printf(text, ", %" PRIu32 " micro-batches", summary->micro_batches);
  eg_text_append(text, "\n");
}

static void print_speedup(eg_text *text, const eg_plan *plan,
                          const eg_plan_summary *summary) {
  if (eg_mesh_devices(&plan->mesh) == 1) return;
  eg_text_append(text, "speedup     ");
  if (!(plan->single_seconds > 0 && summary->seconds > 0)) {
    eg_text_append(text, "unknown: one device was not planned, which takes a search "
                         "without constraints\n");
    return;
  }
  eg_text_digits(text, plan->single_seconds / summary->seconds);
  eg_text_append(text, " times as fast as one device (");
  eg_text_seconds(text, plan->single_seconds);
  eg_text_append(text, ")\n");
}

static void print_peak(eg_text *text, const eg_plan *plan,
                       const eg_plan_summary *summary) {
  double share = summary->seconds > 0 ? plan->peak_seconds / summary->seconds : 0;
  eg_text_append(text, "peak        ");
  if (share > 0 && share <= 1) {
    eg_text_percent(text, share);
    eg_text_append(text, " of the machine's peak\n");
  } else {
    eg_text_append(text, share > 1 ? "unknown: the step computes more than the peak that "
                                     "the machine is said to have\n"
                                   : "unknown: no peak of the machine is known\n");
  }
}

static void print_memory(eg_text *text, const eg_plan_summary *summary, double limit) {
  eg_text_append(text, "memory      ");
  eg_text_bytes(text, summary->peak);
  if (!isinf(limit)) {
    eg_text_append(text, " of ");
    eg_text_bytes(text, limit);
  }
  eg_text_append(text,
                 eg_mesh_devices(&summary->mesh) == 1 ? "\n" : " on every device\n");
}

/// True when a step of BACKWARD makes a value of FORWARD again, under a name of its own
/// (optimize/model/plan_emit.c).
static bool makes_again(const eg_plan *plan, const eg_plan_step *step) {
  static const char ENDING[] = ".again";
  if (step->is_move || step->phase != EG_PHASE_BACKWARD) return false;
  eg_value made = eg_graph_node_at(plan->graph, step->node).results[0];
  const char *name = eg_graph_value(plan->graph, made)->name;
  size_t length = strlen(name), ending = sizeof ENDING - 1;
  return length > ending && strcmp(name + length - ending, ENDING) == 0;
}

static void print_again(eg_text *text, const eg_plan *plan,
                        const eg_plan_summary *summary) {
  uint64_t count = 0;
  double seconds = 0;
  for (size_t i = 0; i < plan->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    if (!makes_again(plan, step)) continue;
    count += 1 + step->more_blocks;
    seconds += eg_plan_step_seconds(plan, step);
  }
  if (count == 0) return;
  eg_text_printf(text, "made again  %" PRIu64 " operators of the forward pass, in ",
                 count);
  eg_text_seconds(text, seconds);
  eg_text_append(text, " (");
  eg_text_percent(text, summary->seconds > 0 ? seconds / summary->seconds : 0);
  eg_text_append(text, " of the seconds)\n");
}

/// Prints the seconds of computing and of the exchanges over each axis, the
/// longest first.
static void print_bottleneck(eg_text *text, const eg_plan_summary *summary,
                             double limit) {
  double seconds[1 + EG_MAX_MESH_AXES] = {0};
  uint32_t count = 1 + summary->mesh.axis_count;
  for (int p = 0; p < EG_PHASE_COUNT; p++) {
    seconds[0] += summary->node_seconds[p];
    for (uint32_t a = 0; a < summary->mesh.axis_count; a++)
      for (uint32_t k = 0; k < EG_EXCHANGES; k++)
        if (k != EG_TRANSITION_REORDER)
          seconds[1 + a] += summary->exchange[p][a][k].seconds;
  }
  if (!(summary->seconds > 0)) return;
  eg_text_append(text, "bottleneck  ");
  for (uint32_t printed = 0; printed < count; printed++) {
    uint32_t most = 0;
    for (uint32_t i = 1; i < count; i++)
      if (seconds[i] > seconds[most]) most = i;
    double share = seconds[most] / summary->seconds;
    if (share < LEAST_SHARE) break;
    if (printed != 0) eg_text_append(text, ", ");
    if (most == 0)
      eg_text_append(text, "computing ");
    else
      eg_text_printf(text, "exchanges over %s ", summary->mesh.axes[most - 1].name);
    eg_text_percent(text, share);
    if (printed == 0) eg_text_append(text, " of the seconds");
    seconds[most] = 0;
  }
  if (summary->peak > FULL * limit) {
    eg_text_append(text, "; memory is ");
    eg_text_percent(text, summary->peak / limit);
    eg_text_append(text, " full");
  }
  eg_text_append(text, "\n");
}

static void warn_of_idle_axes(eg_text *text, const eg_plan *plan) {
  uint32_t idle = eg_plan_idle_axes(plan), devices = eg_plan_useful_devices(plan);
  if (idle == 0) return;
  eg_text_append(text, "warning     all devices along");
  for (uint32_t a = 0; a < plan->mesh.axis_count; a++)
    if ((idle >> a & 1) != 0)
      eg_text_printf(text, " %s=%" PRIu32, plan->mesh.axes[a].name,
                     plan->mesh.axes[a].size);
  eg_text_printf(text,
                 " repeat the same work: %" PRIu32 " device%s of %" PRIu32 " would do\n",
                 devices, devices == 1 ? "" : "s", eg_mesh_devices(&plan->mesh));
}

static void warn_of_speedup(eg_text *text, const eg_plan *plan,
                            const eg_plan_summary *summary) {
  bool is_faster = plan->single_seconds > NO_SPEEDUP * summary->seconds;
  if (eg_mesh_devices(&plan->mesh) > 1 && plan->single_seconds > 0 && !is_faster)
    eg_text_append(text, "warning     this plan wins nothing over one device\n");
}

static double seconds_by_basis(const eg_plan *plan, eg_price_basis basis) {
  double seconds = 0;
  for (size_t i = 0; i < plan->steps.len; i++)
    if (plan->steps.data[i].basis == (uint32_t)basis)
      seconds += eg_plan_step_seconds(plan, &plan->steps.data[i]);
  return seconds;
}

/// Says which share of the seconds is by what devices reach, and which is a guess.
static void tell_sources(eg_text *text, const eg_plan *plan,
                         const eg_plan_summary *summary) {
  double reached = seconds_by_basis(plan, EG_PRICE_REACHED);
  double guessed = seconds_by_basis(plan, EG_PRICE_GUESSED);
  if (reached > 0) {
    eg_text_append(text, "reached     ");
    eg_text_percent(text, reached / summary->seconds);
    eg_text_append(
        text, " of the seconds are costs of operators by what such devices are known "
              "to reach\n");
  }
  if (guessed <= LEAST_SHARE * summary->seconds) return;
  eg_text_append(text, "warning     ");
  eg_text_percent(text, guessed / summary->seconds);
  eg_text_append(text,
                 " of the seconds are costs of operators guessed from the machine's "
                 "figures, not measured\n");
}

// ---- exchanges ------------------------------------------------------------------------

/// The exchanges of one kind along one axis in one phase.
typedef struct exchange_row {
  const char *phase, *kind, *axis;
  uint32_t number; // of the kind of exchange
  const eg_exchange_sum *sum;
} exchange_row;

/// Finds the next exchange between devices, from *inout_at on; false: there is none.
static bool find_exchange(const eg_plan_summary *summary, uint32_t *inout_at,
                          exchange_row *out) {
  uint32_t axes = summary->mesh.axis_count, count = EG_PHASE_COUNT * axes * EG_EXCHANGES;
  while (*inout_at < count) {
    uint32_t at = (*inout_at)++, kind = at % EG_EXCHANGES;
    uint32_t axis = at / EG_EXCHANGES % axes, phase = at / EG_EXCHANGES / axes;
    const eg_exchange_sum *sum = &summary->exchange[phase][axis][kind];
    if (sum->count == 0 || !eg_exchange_is_remote(kind)) continue;
    *out = (exchange_row){eg_phase_name((eg_phase)phase), eg_exchange_name(kind),
                          summary->mesh.axes[axis].name, kind, sum};
    return true;
  }
  return false;
}

/// Fills a column that began at character `start` with blanks, at least one.
static void fill_column(eg_text *text, size_t start, size_t width) {
  size_t length = text->chars.len - start;
  eg_text_printf(text, "%*s", length < width ? (int)(width - length) : 1, "");
}

egraph_status eg_plan_exchanges_print(eg_text *text, const eg_plan_summary *summary) {
  static const char *const RESULTS[EG_EXCHANGES] = {
      [EG_TRANSITION_ALL_GATHER] = "parts become whole",
      [EG_TRANSITION_REDUCE_SCATTER] = "partial sums become parts",
      [EG_TRANSITION_ALL_REDUCE] = "partial sums become whole",
      [EG_TRANSITION_ALL_TO_ALL] = "parts become parts of another dimension",
      [EG_EXCHANGE_HALO] = "borders of parts; seconds are in those of operators"};
  exchange_row row;
  bool is_first = true;
  for (uint32_t at = 0; find_exchange(summary, &at, &row); is_first = false) {
    if (is_first)
      eg_text_append(text, "\nEXCHANGES of a step\n"
                           "phase     kind            axis        times  bytes    "
                           "seconds  share   result\n");
    eg_text_printf(text, "%-9s %-15s %-10s %6" PRIu64 "  ", row.phase, row.kind, row.axis,
                   row.sum->count);
    size_t start = text->chars.len;
    eg_text_bytes(text, row.sum->bytes);
    fill_column(text, start, 9);
    start = text->chars.len;
    eg_text_seconds(text, row.sum->seconds);
    fill_column(text, start, 9);
    start = text->chars.len;
    eg_text_percent(text, summary->seconds > 0 ? row.sum->seconds / summary->seconds : 0);
    fill_column(text, start, 8);
    eg_text_printf(text, "%s\n", RESULTS[row.number]);
  }
  return eg_text_status(text);
}

egraph_status eg_plan_answer_print(eg_text *text, const eg_plan *plan,
                                   const eg_plan_summary *summary, double memory_limit) {
  assert(memory_limit >= 0 && eg_mesh_same(&plan->mesh, &summary->mesh));
  print_step_seconds(text, summary);
  print_speedup(text, plan, summary);
  print_peak(text, plan, summary);
  print_memory(text, summary, memory_limit);
  print_again(text, plan, summary);
  print_bottleneck(text, summary, memory_limit);
  warn_of_idle_axes(text, plan);
  warn_of_speedup(text, plan, summary);
  tell_sources(text, plan, summary);
  EG_TRY(eg_plan_blocks_print(text, plan));
  return eg_plan_exchanges_print(text, summary);
}

egraph_status eg_plan_summary_print(eg_text *text, const eg_plan_summary *summary) {
  eg_text_append(text, "SECONDS of a step: ");
  eg_text_seconds(text, summary->seconds);
  eg_text_append(text, "\n");
  for (int p = 0; p < EG_PHASE_COUNT; p++) {
    if (summary->node_seconds[p] <= 0 && summary->move_seconds[p] <= 0) continue;
    eg_text_printf(text, "  %-30s", eg_phase_name((eg_phase)p));
    eg_text_seconds(text, summary->node_seconds[p]);
    eg_text_append(text, " computing, ");
    eg_text_seconds(text, summary->move_seconds[p]);
    eg_text_append(text, " exchanging\n");
  }
  eg_text_append(text, "MEMORY of a device: ");
  eg_text_bytes(text, summary->peak);
  eg_text_printf(text, " at the peak, in step %" PRIu32 "\n", summary->peak_step);
  for (int s = 0; s < EG_STORES; s++) {
    if (summary->most[s] <= 0) continue;
    eg_text_printf(text, "  %-30s", eg_store_words((eg_store)s));
    eg_text_bytes(text, summary->at_peak[s]);
    eg_text_append(text, " at the peak, ");
    eg_text_bytes(text, summary->most[s]);
    eg_text_append(text, " at most\n");
  }
  return eg_text_status(text);
}

// ---- JSON -----------------------------------------------------------------------------

egraph_status eg_plan_summary_write_members(eg_text *text,
                                            const eg_plan_summary *summary) {
  eg_text_printf(text, "\"devices\": %" PRIu32 ", \"micro_batches\": %" PRIu32 ", ",
                 eg_mesh_devices(&summary->mesh), summary->micro_batches);
  eg_text_json_figure(text, "seconds", summary->seconds, ", \"phases\": [");
  for (int p = 0; p < EG_PHASE_COUNT; p++) {
    eg_text_printf(text, "%s{\"phase\": \"%s\", ", p == 0 ? "" : ", ",
                   eg_phase_name((eg_phase)p));
    eg_text_json_figure(text, "node_seconds", summary->node_seconds[p], ", ");
    eg_text_json_figure(text, "move_seconds", summary->move_seconds[p], "}");
  }
  eg_text_append(text, "], ");
  eg_text_json_figure(text, "memory_bytes", summary->peak, ", \"memory\": {");
  for (int s = 0; s < EG_STORES; s++) {
    eg_text_printf(text, "%s\"%s\": {", s == 0 ? "" : ", ", eg_store_name((eg_store)s));
    eg_text_json_figure(text, "at_peak", summary->at_peak[s], ", ");
    eg_text_json_figure(text, "most", summary->most[s], "}");
  }
  eg_text_printf(text, "}, \"peak_step\": %" PRIu32 ", \"collectives\": [",
                 summary->peak_step);
  exchange_row row;
  const char *separator = "";
  for (uint32_t at = 0; find_exchange(summary, &at, &row); separator = ", ") {
    eg_text_printf(text,
                   "%s{\"phase\": \"%s\", \"kind\": \"%s\", \"axis\": \"%s\", "
                   "\"count\": %" PRIu64 ", ",
                   separator, row.phase, row.kind, row.axis, row.sum->count);
    eg_text_json_figure(text, "bytes", row.sum->bytes, ", ");
    eg_text_json_figure(text, "seconds", row.sum->seconds, "}");
  }
  return eg_text_append(text, "]");
}

egraph_status eg_plan_summary_write_json(eg_text *text, const eg_plan_summary *summary) {
  eg_text_append(text, "{");
  eg_plan_summary_write_members(text, summary);
  return eg_text_append(text, "}");
}
