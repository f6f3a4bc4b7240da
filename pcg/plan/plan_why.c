// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_why.h"

#include <inttypes.h>
#include <string.h>

#include "base/json_text.h"

#define NAME(id, name) name,
static const char *const OUTCOMES[EG_RIVAL_OUTCOMES] = {EG_RIVAL_LIST(NAME)};
#undef NAME

static const char *outcome_name(eg_rival_outcome outcome) { return OUTCOMES[outcome]; }

bool eg_rival_outcome_find(const char *name, eg_rival_outcome *out) {
  for (int o = 0; o < EG_RIVAL_OUTCOMES; o++)
    if (strcmp(OUTCOMES[o], name) == 0) {
      *out = (eg_rival_outcome)o;
      return true;
    }
  return false;
}

static const char *kind_name(uint32_t exchange) {
  return exchange == EG_EXCHANGES ? "work" : eg_exchange_name(exchange);
}

const char *eg_rival_reason_kind(const eg_rival_reason *reason) {
  return kind_name(reason->exchange);
}

bool eg_rival_reason_find(const char *kind, uint32_t *out_exchange) {
  for (uint32_t k = 0; k <= EG_EXCHANGES; k++)
    if (strcmp(kind_name(k), kind) == 0) {
      *out_exchange = k;
      return true;
    }
  return false;
}

// ---- reasons --------------------------------------------------------------------------

/// Keeps the reasons with the most seconds; of equal ones the first.
static void offer(eg_plan_rival *rival, const eg_rival_reason *reason) {
  if (reason->seconds <= 0) return;
  uint32_t at = rival->reason_count;
  while (at > 0 && rival->reasons[at - 1].seconds < reason->seconds)
    at--;
  if (at == EG_RIVAL_REASONS) return;
  if (rival->reason_count < EG_RIVAL_REASONS) rival->reason_count++;
  for (uint32_t i = rival->reason_count - 1; i > at; i--)
    rival->reasons[i] = rival->reasons[i - 1];
  rival->reasons[at] = *reason;
}

static double seconds_of(const eg_plan_summary *summary, const eg_rival_reason *reason) {
  for (uint32_t a = 0; a < summary->mesh.axis_count; a++)
    if (strcmp(summary->mesh.axes[a].name, reason->axis) == 0)
      return summary->exchange[reason->phase][a][reason->exchange].seconds;
  return 0;
}

static double work_of(const eg_plan_summary *summary) {
  double seconds = 0;
  for (int p = 0; p < EG_PHASE_COUNT; p++)
    seconds += summary->node_seconds[p];
  return seconds;
}

static void offer_axis(eg_plan_rival *rival, const eg_plan_summary *plan,
                       const eg_plan_summary *of_rival, eg_phase phase, uint32_t axis) {
  for (uint32_t k = 0; k < EG_EXCHANGES; k++) {
    const eg_exchange_sum *sum = &of_rival->exchange[phase][axis][k];
    eg_rival_reason reason = {.exchange = k, .phase = phase, .bytes = sum->bytes};
    memcpy(reason.axis, of_rival->mesh.axes[axis].name, sizeof reason.axis);
    reason.seconds = sum->seconds - seconds_of(plan, &reason);
    offer(rival, &reason);
  }
}

void eg_plan_rival_explain(eg_plan_rival *rival, const eg_plan_summary *plan,
                           const eg_plan_summary *of_rival) {
  rival->reason_count = 0;
  eg_rival_reason work = {.exchange = EG_EXCHANGES,
                          .seconds = work_of(of_rival) - work_of(plan)};
  offer(rival, &work);
  for (int p = 0; p < EG_PHASE_COUNT; p++)
    for (uint32_t a = 0; a < of_rival->mesh.axis_count; a++)
      offer_axis(rival, plan, of_rival, (eg_phase)p, a);
}

// ---- text -----------------------------------------------------------------------------

/// "12 ms (34 % more)"
static egraph_status print_seconds(eg_text *text, double seconds, double than) {
  EG_TRY(eg_text_seconds(text, seconds));
  double percent = than > 0 ? 100 * (seconds / than - 1) : 0;
  if (!(percent >= 0.5)) return EGRAPH_OK;
  if (percent > 1e6) return eg_text_append(text, " (over 10000 times as long)");
  return eg_text_printf(text, " (%" PRId64 " %% more)", (int64_t)(percent + 0.5));
}

/// "all-reduce over gpu in backward +13.9 ms (3 GB)"
static egraph_status print_reason(eg_text *text, const eg_rival_reason *reason) {
  bool is_work = reason->exchange == EG_EXCHANGES;
  if (is_work)
    EG_TRY(eg_text_append(text, "computing"));
  else
    EG_TRY(eg_text_printf(text, "%s over %s in %s", eg_rival_reason_kind(reason),
                          reason->axis, eg_phase_name(reason->phase)));
  EG_TRY(eg_text_append(text, " +"));
  EG_TRY(eg_text_seconds(text, reason->seconds));
  if (is_work) return EGRAPH_OK;
  EG_TRY(eg_text_append(text, " ("));
  EG_TRY(eg_text_bytes(text, reason->bytes));
  return eg_text_append(text, ")");
}

static egraph_status print_found(eg_text *text, const eg_plan_rival *rival,
                                 const eg_plan_summary *summary) {
  EG_TRY(print_seconds(text, rival->seconds, summary->seconds));
  EG_TRY(eg_text_append(text, ", "));
  EG_TRY(eg_text_bytes(text, rival->memory));
  EG_TRY(eg_text_append(text, ", fits"));
  for (uint32_t i = 0; i < rival->reason_count; i++) {
    EG_TRY(eg_text_append(text, i == 0 ? "; more seconds: " : ", "));
    EG_TRY(print_reason(text, &rival->reasons[i]));
  }
  return EGRAPH_OK;
}

static egraph_status print_too_large(eg_text *text, const eg_plan_rival *rival) {
  EG_TRY(eg_text_append(text, "does not fit: it takes at least "));
  EG_TRY(eg_text_bytes(text, rival->least_memory));
  if (rival->excess > 0) {
    EG_TRY(eg_text_append(text, ", "));
    EG_TRY(eg_text_bytes(text, rival->excess));
    EG_TRY(eg_text_append(text, " beyond the limit"));
  }
  if (rival->seconds <= 0) return EGRAPH_OK;
  EG_TRY(eg_text_append(text, "; without the limit "));
  EG_TRY(eg_text_seconds(text, rival->seconds));
  EG_TRY(eg_text_append(text, " and "));
  return eg_text_bytes(text, rival->memory);
}

static egraph_status print_uneven(eg_text *text, const eg_plan_rival *rival) {
  if (rival->batch == 0)
    return eg_text_printf(text, "no weight divides by %" PRIu32, rival->parts);
  return eg_text_printf(text, "the batch of %" PRIu32 " does not divide by %" PRIu32,
                        rival->batch, rival->parts);
}

static egraph_status print_outcome(eg_text *text, const eg_plan_rival *rival,
                                   const eg_plan_summary *summary) {
  switch (rival->outcome) {
  case EG_RIVAL_FITS: return print_found(text, rival, summary);
  case EG_RIVAL_TOO_LARGE: return print_too_large(text, rival);
  case EG_RIVAL_IMPOSSIBLE: return eg_text_append(text, "not possible for this step");
  case EG_RIVAL_FORBIDDEN:
    return eg_text_append(text, "not possible under the constraints");
  case EG_RIVAL_UNKNOWN:
    return eg_text_append(text, "none was found within the limits of the search");
  case EG_RIVAL_UNEVEN: return print_uneven(text, rival);
  case EG_RIVAL_OUTCOMES: break;
  }
  return EGRAPH_OK;
}

static egraph_status print_rival(eg_text *text, const eg_plan_rival *rival,
                                 const eg_plan_summary *summary) {
  EG_TRY(eg_text_printf(text, "baseline    %s", rival->name));
  if (!eg_mesh_same(&rival->mesh, &summary->mesh)) {
    EG_TRY(eg_text_append(text, " on "));
    EG_TRY(eg_mesh_print(text, &rival->mesh));
  }
  EG_TRY(eg_text_append(text, ": "));
  EG_TRY(print_outcome(text, rival, summary));
  return eg_text_append(text, "\n");
}

egraph_status eg_plan_rivals_print(eg_text *text, const eg_plan *plan,
                                   const eg_plan_summary *summary) {
  for (size_t i = 0; i < plan->rivals.len; i++)
    EG_TRY(print_rival(text, &plan->rivals.data[i], summary));
  return EGRAPH_OK;
}

// ---- JSON -----------------------------------------------------------------------------

static egraph_status write_number(eg_text *text, const char *key, double value) {
  EG_TRY(eg_text_printf(text, "\"%s\": ", key));
  return eg_text_json_double(text, value);
}

static egraph_status write_reason(eg_text *text, const eg_rival_reason *reason) {
  EG_TRY(eg_text_printf(text, "{\"kind\": \"%s\", ", eg_rival_reason_kind(reason)));
  if (reason->exchange != EG_EXCHANGES) {
    EG_TRY(eg_text_printf(text, "\"phase\": \"%s\", \"axis\": \"%s\", ",
                          eg_phase_name(reason->phase), reason->axis));
    EG_TRY(write_number(text, "bytes", reason->bytes));
    EG_TRY(eg_text_append(text, ", "));
  }
  EG_TRY(write_number(text, "seconds", reason->seconds));
  return eg_text_append(text, "}");
}

static egraph_status write_rival(eg_text *text, const eg_plan_rival *rival) {
  EG_TRY(eg_text_append(text, "{\"name\": "));
  EG_TRY(eg_text_json_string(text, rival->name));
  EG_TRY(eg_text_printf(text, ", \"outcome\": \"%s\", \"mesh\": \"",
                        outcome_name(rival->outcome)));
  EG_TRY(eg_mesh_print(text, &rival->mesh));
  EG_TRY(eg_text_append(text, "\", "));
  EG_TRY(write_number(text, "seconds", rival->seconds));
  EG_TRY(eg_text_append(text, ", "));
  EG_TRY(write_number(text, "memory_bytes", rival->memory));
  EG_TRY(eg_text_append(text, ", "));
  EG_TRY(write_number(text, "least_memory_bytes", rival->least_memory));
  if (rival->outcome == EG_RIVAL_TOO_LARGE) {
    EG_TRY(eg_text_append(text, ", "));
    EG_TRY(write_number(text, "excess_bytes", rival->excess));
  }
  if (rival->outcome == EG_RIVAL_UNEVEN)
    EG_TRY(eg_text_printf(text, ", \"batch\": %" PRIu32 ", \"parts\": %" PRIu32,
                          rival->batch, rival->parts));
  EG_TRY(eg_text_append(text, ", \"why\": ["));
  for (uint32_t i = 0; i < rival->reason_count; i++) {
    if (i != 0) EG_TRY(eg_text_append(text, ", "));
    EG_TRY(write_reason(text, &rival->reasons[i]));
  }
  return eg_text_append(text, "]}");
}

egraph_status eg_plan_rivals_write_json(eg_text *text, const eg_plan_rivals *rivals) {
  EG_TRY(eg_text_append(text, "["));
  for (size_t i = 0; i < rivals->len; i++) {
    EG_TRY(eg_text_append(text, i == 0 ? "\n  " : ",\n  "));
    EG_TRY(write_rival(text, &rivals->data[i]));
  }
  return eg_text_append(text, "]");
}
