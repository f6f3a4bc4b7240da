// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_rivals.h"

#include <inttypes.h>
#include <string.h>

#include "base/json_text.h"
#include "pcg/plan/plan_words.h"

EG_NAME_DEFINE(eg_rival_outcome, eg_rival_outcome_name, EG_RIVAL_LIST)
EG_FIND_DEFINE(eg_rival_outcome, eg_rival_outcome_find, EG_RIVAL_LIST)

static const char *kind_name(uint32_t exchange) {
  return exchange == EG_EXCHANGES ? "work" : eg_exchange_name(exchange);
}

const char *eg_rival_reason_kind(const eg_rival_reason *reason) {
  assert(reason->exchange <= EG_EXCHANGES);
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

/// Keeps the reasons that explain most of a rival's seconds; among equal ones the first.
static void offer_reason(eg_plan_rival *rival, const eg_rival_reason *reason) {
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

/// Returns the seconds that another plan takes for the exchange of a reason; 0: its mesh
/// has no such axis.
static double exchange_seconds(const eg_plan_summary *summary,
                               const eg_rival_reason *reason) {
  uint32_t axis;
  return eg_mesh_find_axis(&summary->mesh, reason->axis, &axis)
             ? summary->exchange[reason->phase][axis][reason->exchange].seconds
             : 0;
}

static double work_seconds(const eg_plan_summary *summary) {
  double seconds = 0;
  for (int p = 0; p < EG_PHASE_COUNT; p++)
    seconds += summary->node_seconds[p];
  return seconds;
}

void eg_plan_rival_explain(eg_plan_rival *rival, const eg_plan_summary *plan,
                           const eg_plan_summary *of_rival) {
  rival->reason_count = 0;
  eg_rival_reason work = {.exchange = EG_EXCHANGES,
                          .seconds = work_seconds(of_rival) - work_seconds(plan)};
  offer_reason(rival, &work);
  for (int p = 0; p < EG_PHASE_COUNT; p++)
    for (uint32_t a = 0; a < of_rival->mesh.axis_count; a++)
      for (uint32_t k = 0; k < EG_EXCHANGES; k++) {
        const eg_exchange_sum *sum = &of_rival->exchange[p][a][k];
        eg_rival_reason reason = {
            .exchange = k, .phase = (eg_phase)p, .bytes = sum->bytes};
        memcpy(reason.axis, of_rival->mesh.axes[a].name, sizeof reason.axis);
        reason.seconds = sum->seconds - exchange_seconds(plan, &reason);
        offer_reason(rival, &reason);
      }
}

// ---- text -----------------------------------------------------------------------------

/// Prints "12 ms (34 % more)".
static void print_seconds(eg_text *text, double seconds, double than) {
  eg_text_seconds(text, seconds);
  double percent = than > 0 ? 100 * (seconds / than - 1) : 0;
  if (percent > 1e6)
    eg_text_append(text, " (over 10000 times as long)");
  else if (percent >= 0.5)
    eg_text_printf(text, " (%" PRId64 " %% more)", (int64_t)(percent + 0.5));
}

/// Prints "all-reduce over gpu in backward +13.9 ms (3 GB)".
static void print_reason(eg_text *text, const eg_rival_reason *reason) {
  bool is_work = reason->exchange == EG_EXCHANGES;
  if (is_work)
    eg_text_append(text, "computing");
  else
    eg_text_printf(text, "%s over %s in %s", eg_rival_reason_kind(reason), reason->axis,
                   eg_phase_name(reason->phase));
  eg_text_append(text, " +");
  eg_text_seconds(text, reason->seconds);
  if (is_work) return;
  eg_text_append(text, " (");
  eg_text_bytes(text, reason->bytes);
  eg_text_append(text, ")");
}

static void print_fitting(eg_text *text, const eg_plan_rival *rival,
                          const eg_plan_summary *summary) {
  print_seconds(text, rival->seconds, summary->seconds);
  eg_text_append(text, ", ");
  eg_text_bytes(text, rival->memory);
  eg_text_append(text, ", fits");
  for (uint32_t i = 0; i < rival->reason_count; i++) {
    eg_text_append(text, i == 0 ? "; more seconds: " : ", ");
    print_reason(text, &rival->reasons[i]);
  }
}

static void print_too_large(eg_text *text, const eg_plan_rival *rival) {
  eg_text_append(text, "does not fit: ");
  if (rival->least_memory > 0) {
    eg_text_append(text, "it takes at least ");
    eg_text_bytes(text, rival->least_memory);
  } else
    eg_text_append(text, "proven; the least peak of such plans is not known");
  if (rival->excess > 0) {
    eg_text_append(text, ", ");
    eg_text_bytes(text, rival->excess);
    eg_text_append(text, " beyond the limit");
  }
  if (rival->seconds <= 0) return;
  eg_text_append(text, "; without the limit ");
  eg_text_seconds(text, rival->seconds);
  eg_text_append(text, " and ");
  eg_text_bytes(text, rival->memory);
}

static void print_outcome(eg_text *text, const eg_plan_rival *rival,
                          const eg_plan_summary *summary) {
  static const char *const WORDS[EG_RIVAL_OUTCOMES] = {
      [EG_RIVAL_IMPOSSIBLE] = "not possible for this step",
      [EG_RIVAL_FORBIDDEN] = "not possible under the constraints",
      [EG_RIVAL_UNKNOWN] = "none was found within the limits of the search"};
  if (rival->outcome == EG_RIVAL_FITS)
    print_fitting(text, rival, summary);
  else if (rival->outcome == EG_RIVAL_TOO_LARGE)
    print_too_large(text, rival);
  else if (rival->outcome != EG_RIVAL_UNEVEN)
    eg_text_append(text, WORDS[rival->outcome]);
  else if (rival->batch == 0)
    eg_text_printf(text, "no weight divides by %" PRIu32, rival->parts);
  else
    eg_text_printf(text, "the batch of %" PRIu32 " does not divide by %" PRIu32,
                   rival->batch, rival->parts);
}

egraph_status eg_plan_rivals_print(eg_text *text, const eg_plan *plan,
                                   const eg_plan_summary *summary) {
  for (size_t i = 0; i < plan->rivals.len; i++) {
    const eg_plan_rival *rival = &plan->rivals.data[i];
    assert(rival->outcome < EG_RIVAL_OUTCOMES);
    eg_text_printf(text, "baseline    %s", rival->name);
    if (!eg_mesh_same(&rival->mesh, &summary->mesh)) {
      eg_text_append(text, " on ");
      eg_mesh_print(text, &rival->mesh);
    }
    eg_text_append(text, ": ");
    print_outcome(text, rival, summary);
    eg_text_append(text, "\n");
  }
  return eg_text_status(text);
}

// ---- JSON -----------------------------------------------------------------------------

static void write_reason(eg_text *text, const eg_rival_reason *reason) {
  eg_text_printf(text, "{\"kind\": \"%s\", ", eg_rival_reason_kind(reason));
  if (reason->exchange != EG_EXCHANGES) {
    eg_text_printf(text, "\"phase\": \"%s\", \"axis\": \"%s\", ",
                   eg_phase_name(reason->phase), reason->axis);
    eg_text_json_figure(text, "bytes", reason->bytes, ", ");
  }
  eg_text_json_figure(text, "seconds", reason->seconds, "}");
}

static void write_rival(eg_text *text, const eg_plan_rival *rival) {
  eg_text_append(text, "{");
  eg_text_json_member(text, "name", rival->name, ", ");
  eg_text_printf(text, "\"outcome\": \"%s\", \"mesh\": \"",
                 eg_rival_outcome_name(rival->outcome));
  eg_mesh_print(text, &rival->mesh);
  eg_text_append(text, "\", ");
  eg_text_json_figure(text, "seconds", rival->seconds, ", ");
  eg_text_json_figure(text, "memory_bytes", rival->memory, ", ");
  eg_text_json_figure(text, "least_memory_bytes", rival->least_memory, ", ");
  if (rival->outcome == EG_RIVAL_TOO_LARGE)
    eg_text_json_figure(text, "excess_bytes", rival->excess, ", ");
  if (rival->outcome == EG_RIVAL_UNEVEN)
    eg_text_printf(text, "\"batch\": %" PRIu32 ", \"parts\": %" PRIu32 ", ", rival->batch,
                   rival->parts);
  eg_text_append(text, "\"why\": [");
  for (uint32_t i = 0; i < rival->reason_count; i++) {
    if (i != 0) eg_text_append(text, ", ");
    write_reason(text, &rival->reasons[i]);
  }
  eg_text_append(text, "]}");
}

egraph_status eg_plan_rivals_write_json(eg_text *text, const eg_plan_rivals *rivals) {
  eg_text_append(text, "[");
  for (size_t i = 0; i < rivals->len; i++) {
    eg_text_append(text, i == 0 ? "\n  " : ",\n  ");
    write_rival(text, &rivals->data[i]);
  }
  return eg_text_append(text, "]");
}
