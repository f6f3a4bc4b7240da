// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "base/json_text.h"
#include "pcg/plan/plan_summary.h"

typedef egraph_status (*exchange_row)(eg_text *text, const eg_plan_summary *summary,
                                      eg_phase phase, uint32_t axis, uint32_t kind);

static egraph_status each_exchange(eg_text *text, const eg_plan_summary *summary,
                                   const char *head, const char *separator,
                                   exchange_row row) {
  bool is_first = true;
  for (int p = 0; p < EG_PHASE_COUNT; p++)
    for (uint32_t a = 0; a < summary->mesh.axis_count; a++)
      for (uint32_t k = 0; k < EG_EXCHANGES; k++) {
        if (summary->exchange[p][a][k].count == 0 || !eg_exchange_is_remote(k)) continue;
        EG_TRY(eg_text_append(text, is_first ? head : separator));
        is_first = false;
        EG_TRY(row(text, summary, (eg_phase)p, a, k));
      }
  return EGRAPH_OK;
}

// ---- text -----------------------------------------------------------------------------

/// Fills a column that began at character `start`.
static egraph_status pad(eg_text *text, size_t start, size_t width) {
  do
    EG_TRY(eg_text_append(text, " "));
  while (text->chars.len - start < width);
  return EGRAPH_OK;
}

static egraph_status print_exchange(eg_text *text, const eg_plan_summary *summary,
                                    eg_phase phase, uint32_t axis, uint32_t kind) {
  static const char *const WORDS[EG_EXCHANGES] = {
      [EG_TRANSITION_ALL_GATHER] = "parts become whole",
      [EG_TRANSITION_REDUCE_SCATTER] = "partial sums become parts",
      [EG_TRANSITION_ALL_REDUCE] = "partial sums become whole",
      [EG_TRANSITION_ALL_TO_ALL] = "parts become parts of another dimension",
      [EG_EXCHANGE_HALO] = "borders of parts; seconds are in those of operators"};
  const eg_exchange_sum *sum = &summary->exchange[phase][axis][kind];
  EG_TRY(eg_text_printf(text, "%-9s %-15s %-10s %6" PRIu64 "  ", eg_phase_name(phase),
                        eg_exchange_name(kind), summary->mesh.axes[axis].name,
                        sum->count));
  size_t start = text->chars.len;
  EG_TRY(eg_text_bytes(text, sum->bytes));
  EG_TRY(pad(text, start, 9));
  start = text->chars.len;
  EG_TRY(eg_text_seconds(text, sum->seconds));
  EG_TRY(pad(text, start, 9));
  start = text->chars.len;
  EG_TRY(
      eg_text_percent(text, summary->seconds > 0 ? sum->seconds / summary->seconds : 0));
  EG_TRY(pad(text, start, 8));
  return eg_text_printf(text, "%s\n", WORDS[kind]);
}

egraph_status eg_plan_exchanges_print(eg_text *text, const eg_plan_summary *summary) {
  static const char head[] = "\nEXCHANGES of a step\n"
                             "phase     kind            axis        times  bytes    "
                             "seconds  share   result\n";
  return each_exchange(text, summary, head, "", print_exchange);
}

egraph_status eg_plan_summary_print(eg_text *text, const eg_plan_summary *summary) {
  EG_TRY(eg_text_append(text, "SECONDS of a step: "));
  EG_TRY(eg_text_seconds(text, summary->seconds));
  EG_TRY(eg_text_append(text, "\n"));
  for (int p = 0; p < EG_PHASE_COUNT; p++) {
    if (summary->node_seconds[p] <= 0 && summary->move_seconds[p] <= 0) continue;
    EG_TRY(eg_text_printf(text, "  %-30s", eg_phase_name((eg_phase)p)));
    EG_TRY(eg_text_seconds(text, summary->node_seconds[p]));
    EG_TRY(eg_text_append(text, " computing, "));
    EG_TRY(eg_text_seconds(text, summary->move_seconds[p]));
    EG_TRY(eg_text_append(text, " exchanging\n"));
  }
  EG_TRY(eg_text_append(text, "MEMORY of a device: "));
  EG_TRY(eg_text_bytes(text, summary->peak));
  EG_TRY(eg_text_printf(text, " at the peak, in step %" PRIu32 "\n", summary->peak_step));
  for (int s = 0; s < EG_STORES; s++) {
    if (summary->most[s] <= 0) continue;
    EG_TRY(eg_text_printf(text, "  %-30s", eg_store_words((eg_store)s)));
    EG_TRY(eg_text_bytes(text, summary->at_peak[s]));
    EG_TRY(eg_text_append(text, " at the peak, "));
    EG_TRY(eg_text_bytes(text, summary->most[s]));
    EG_TRY(eg_text_append(text, " at most\n"));
  }
  return EGRAPH_OK;
}

// ---- JSON -----------------------------------------------------------------------------

static egraph_status write_number(eg_text *text, const char *key, double value) {
  EG_TRY(eg_text_printf(text, "\"%s\": ", key));
  return eg_text_json_double(text, value);
}

static egraph_status write_exchange(eg_text *text, const eg_plan_summary *summary,
                                    eg_phase phase, uint32_t axis, uint32_t kind) {
  const eg_exchange_sum *sum = &summary->exchange[phase][axis][kind];
  EG_TRY(eg_text_printf(text,
                        "{\"phase\": \"%s\", \"kind\": \"%s\", \"axis\": \"%s\", "
                        "\"count\": %" PRIu64 ", ",
                        eg_phase_name(phase), eg_exchange_name(kind),
                        summary->mesh.axes[axis].name, sum->count));
  EG_TRY(write_number(text, "bytes", sum->bytes));
  EG_TRY(eg_text_append(text, ", "));
  EG_TRY(write_number(text, "seconds", sum->seconds));
  return eg_text_append(text, "}");
}

static egraph_status write_phases(eg_text *text, const eg_plan_summary *summary) {
  EG_TRY(eg_text_append(text, ", \"phases\": ["));
  for (int p = 0; p < EG_PHASE_COUNT; p++) {
    EG_TRY(eg_text_printf(text, "%s{\"phase\": \"%s\", ", p == 0 ? "" : ", ",
                          eg_phase_name((eg_phase)p)));
    EG_TRY(write_number(text, "node_seconds", summary->node_seconds[p]));
    EG_TRY(eg_text_append(text, ", "));
    EG_TRY(write_number(text, "move_seconds", summary->move_seconds[p]));
    EG_TRY(eg_text_append(text, "}"));
  }
  return eg_text_append(text, "], ");
}

static egraph_status write_memory(eg_text *text, const eg_plan_summary *summary) {
  EG_TRY(write_number(text, "memory_bytes", summary->peak));
  EG_TRY(eg_text_append(text, ", \"memory\": {"));
  for (int s = 0; s < EG_STORES; s++) {
    EG_TRY(eg_text_printf(text, "%s\"%s\": {", s == 0 ? "" : ", ",
                          eg_store_name((eg_store)s)));
    EG_TRY(write_number(text, "at_peak", summary->at_peak[s]));
    EG_TRY(eg_text_append(text, ", "));
    EG_TRY(write_number(text, "most", summary->most[s]));
    EG_TRY(eg_text_append(text, "}"));
  }
  return eg_text_printf(text, "}, \"peak_step\": %" PRIu32, summary->peak_step);
}

egraph_status eg_plan_summary_write_members(eg_text *text,
                                            const eg_plan_summary *summary) {
  EG_TRY(eg_text_printf(text,
                        "\"devices\": %" PRIu32 ", \"micro_batches\": %" PRIu32 ", ",
                        eg_mesh_devices(&summary->mesh), summary->micro_batches));
  EG_TRY(write_number(text, "seconds", summary->seconds));
  EG_TRY(write_phases(text, summary));
  EG_TRY(write_memory(text, summary));
  EG_TRY(eg_text_append(text, ", \"collectives\": ["));
  EG_TRY(each_exchange(text, summary, "", ", ", write_exchange));
  return eg_text_append(text, "]");
}

egraph_status eg_plan_summary_write_json(eg_text *text, const eg_plan_summary *summary) {
  EG_TRY(eg_text_append(text, "{"));
  EG_TRY(eg_plan_summary_write_members(text, summary));
  return eg_text_append(text, "}");
}
