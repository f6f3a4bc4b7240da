// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "base/json_text.h"
#include "pcg/plan/plan_summary.h"

bool eg_exchange_is_remote(uint32_t exchange) {
  return exchange == EG_EXCHANGE_HALO ||
         !eg_transition_is_local((eg_transition_kind)exchange);
}

const char *eg_exchange_name(uint32_t exchange) {
  return exchange == EG_EXCHANGE_HALO ? "halo"
                                      : eg_transition_name((eg_transition_kind)exchange);
}

/// What is done for every kind of exchange that there is.
typedef egraph_status (*exchange_row)(eg_text *text, const eg_mesh *mesh, eg_phase phase,
                                      uint32_t axis, uint32_t kind,
                                      const eg_exchange_sum *sum);

static egraph_status each_exchange(eg_text *text, const eg_plan_summary *summary,
                                   const char *separator, exchange_row row) {
  bool is_first = true;
  for (int p = 0; p < EG_PHASE_COUNT; p++)
    for (uint32_t a = 0; a < summary->mesh.axis_count; a++)
      for (uint32_t k = 0; k < EG_EXCHANGES; k++) {
        const eg_exchange_sum *sum = &summary->exchange[p][a][k];
        if (sum->count == 0 || !eg_exchange_is_remote(k)) continue;
        if (!is_first) EG_TRY(eg_text_append(text, separator));
        is_first = false;
        EG_TRY(row(text, &summary->mesh, (eg_phase)p, a, k, sum));
      }
  return EGRAPH_OK;
}

// ---- text -----------------------------------------------------------------------------

static egraph_status print_exchange(eg_text *text, const eg_mesh *mesh, eg_phase phase,
                                    uint32_t axis, uint32_t kind,
                                    const eg_exchange_sum *sum) {
  EG_TRY(eg_text_printf(text, "%-10s%" PRIu64 " %s on %s, ", eg_phase_name(phase),
                        sum->count, eg_exchange_name(kind), mesh->axes[axis].name));
  EG_TRY(eg_text_bytes(text, sum->bytes));
  if (kind != EG_EXCHANGE_HALO) {
    EG_TRY(eg_text_append(text, ", "));
    EG_TRY(eg_text_seconds(text, sum->seconds));
  }
  return eg_text_append(text, "\n");
}

static egraph_status print_seconds(eg_text *text, const eg_plan_summary *summary) {
  EG_TRY(eg_text_append(text, "time      "));
  EG_TRY(eg_text_seconds(text, summary->seconds));
  EG_TRY(eg_text_append(text, "\n"));
  for (int p = 0; p < EG_PHASE_COUNT; p++) {
    if (summary->node_seconds[p] <= 0 && summary->move_seconds[p] <= 0) continue;
    EG_TRY(eg_text_printf(text, "%-10s", eg_phase_name((eg_phase)p)));
    EG_TRY(eg_text_seconds(text, summary->node_seconds[p]));
    EG_TRY(eg_text_append(text, " of work, "));
    EG_TRY(eg_text_seconds(text, summary->move_seconds[p]));
    EG_TRY(eg_text_append(text, " of moves\n"));
  }
  return EGRAPH_OK;
}

static egraph_status print_memory(eg_text *text, const eg_plan_summary *summary) {
  EG_TRY(eg_text_append(text, "memory    "));
  EG_TRY(eg_text_bytes(text, summary->peak));
  EG_TRY(eg_text_printf(text, " at step %" PRIu32, summary->peak_step));
  const char *separator = ": ";
  for (int s = 0; s < EG_STORES; s++) {
    if (summary->at_peak[s] <= 0) continue;
    EG_TRY(eg_text_printf(text, "%s%s ", separator, eg_store_name((eg_store)s)));
    EG_TRY(eg_text_bytes(text, summary->at_peak[s]));
    separator = ", ";
  }
  return eg_text_append(text, "\n");
}

egraph_status eg_plan_summary_print(eg_text *text, const eg_plan_summary *summary) {
  EG_TRY(print_seconds(text, summary));
  EG_TRY(each_exchange(text, summary, "", print_exchange));
  return print_memory(text, summary);
}

// ---- JSON -----------------------------------------------------------------------------

static egraph_status write_number(eg_text *text, const char *key, double value) {
  EG_TRY(eg_text_printf(text, "\"%s\": ", key));
  return eg_text_json_double(text, value);
}

static egraph_status write_exchange(eg_text *text, const eg_mesh *mesh, eg_phase phase,
                                    uint32_t axis, uint32_t kind,
                                    const eg_exchange_sum *sum) {
  EG_TRY(eg_text_printf(text,
                        "{\"phase\": \"%s\", \"kind\": \"%s\", \"axis\": \"%s\", "
                        "\"count\": %" PRIu64 ", ",
                        eg_phase_name(phase), eg_exchange_name(kind),
                        mesh->axes[axis].name, sum->count));
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
  EG_TRY(each_exchange(text, summary, ", ", write_exchange));
  return eg_text_append(text, "]");
}

egraph_status eg_plan_summary_write_json(eg_text *text, const eg_plan_summary *summary) {
  EG_TRY(eg_text_append(text, "{"));
  EG_TRY(eg_plan_summary_write_members(text, summary));
  return eg_text_append(text, "}");
}
