// SPDX-License-Identifier: Apache-2.0
#include "base/json_text.h"
#include "pcg/plan/plan_diff.h"

typedef egraph_status (*print_amount)(eg_text *text, double amount);

// ---- text -----------------------------------------------------------------------------

static const char *or_nothing(const char *layouts) {
  return layouts != NULL ? layouts : "nothing";
}

static egraph_status print_move(eg_text *text, const eg_move_change *move) {
  EG_TRY(eg_text_print_names(text, "%c %s %s %s %s -> %s over %s",
                             move->is_added ? '+' : '-', eg_phase_name(move->phase),
                             eg_transition_name(move->kind), move->value, move->from,
                             move->to, move->axis));
  if (move->bytes > 0) {
    EG_TRY(eg_text_append(text, ", "));
    EG_TRY(eg_text_bytes(text, move->bytes));
  }
  if (move->seconds > 0) {
    EG_TRY(eg_text_append(text, ", "));
    EG_TRY(eg_text_seconds(text, move->seconds));
  }
  return eg_text_append(text, "\n");
}

static bool same_number(double a, double b) { return !(a < b) && !(a > b); }

static egraph_status print_total(eg_text *text, const char *what, const char *of,
                                 double before, double after, print_amount print) {
  if (same_number(before, after)) return EGRAPH_OK;
  EG_TRY(eg_text_printf(text, "%s%s: ", what, of));
  EG_TRY(print(text, before));
  EG_TRY(eg_text_append(text, " -> "));
  EG_TRY(print(text, after));
  return eg_text_append(text, "\n");
}

static egraph_status print_mesh(eg_text *text, const eg_plan_summary *summary) {
  if (summary->mesh.axis_count == 0) EG_TRY(eg_text_append(text, "one device"));
  EG_TRY(eg_mesh_print(text, &summary->mesh));
  return eg_text_printf(text, ", micro-batches %u", summary->micro_batches);
}

static egraph_status print_totals(eg_text *text, const eg_plan_summary *before,
                                  const eg_plan_summary *after) {
  EG_TRY(print_total(text, "time", "", before->seconds, after->seconds, eg_text_seconds));
  for (int p = 0; p < EG_PHASE_COUNT; p++) {
    const char *name = eg_phase_name((eg_phase)p);
    EG_TRY(print_total(text, name, ", computing", before->node_seconds[p],
                       after->node_seconds[p], eg_text_seconds));
    EG_TRY(print_total(text, name, ", exchanging", before->move_seconds[p],
                       after->move_seconds[p], eg_text_seconds));
  }
  EG_TRY(print_total(text, "memory", "", before->peak, after->peak, eg_text_bytes));
  for (int s = 0; s < EG_STORES; s++)
    EG_TRY(print_total(text, "memory, most for ", eg_store_words((eg_store)s),
                       before->most[s], after->most[s], eg_text_bytes));
  return EGRAPH_OK;
}

egraph_status eg_plan_diff_print(eg_text *text, const eg_plan_diff *diff) {
  size_t before = text->chars.len;
  if (!eg_mesh_same(&diff->before.mesh, &diff->after.mesh) ||
      diff->before.micro_batches != diff->after.micro_batches) {
    EG_TRY(print_mesh(text, &diff->before));
    EG_TRY(eg_text_append(text, " -> "));
    EG_TRY(print_mesh(text, &diff->after));
    EG_TRY(eg_text_append(text, "\n"));
  }
  for (size_t i = 0; i < diff->layouts.len; i++) {
    const eg_layout_change *change = &diff->layouts.data[i];
    EG_TRY(eg_text_print_names(text, "%s: %s -> %s\n", change->value,
                               or_nothing(change->before), or_nothing(change->after)));
  }
  for (size_t i = 0; i < diff->outputs.len; i++) {
    const eg_layout_change *change = &diff->outputs.data[i];
    EG_TRY(eg_text_print_names(text, "output %s, delivered: %s -> %s\n", change->value,
                               or_nothing(change->before), or_nothing(change->after)));
  }
  for (size_t i = 0; i < diff->moves.len; i++)
    EG_TRY(print_move(text, &diff->moves.data[i]));
  EG_TRY(print_totals(text, &diff->before, &diff->after));
  if (text->chars.len > before) return EGRAPH_OK;
  return eg_text_append(text, "the plans are the same: layouts, exchanges, seconds and "
                              "memory\n");
}

// ---- JSON -----------------------------------------------------------------------------

static egraph_status write_text(eg_text *text, const char *key, const char *value) {
  EG_TRY(eg_text_printf(text, "\"%s\": ", key));
  return value != NULL ? eg_text_json_string(text, value) : eg_text_append(text, "null");
}

/// A JSON array of changes, each named by `key`.
static egraph_status write_layouts(eg_text *text, const char *key,
                                   const eg_layout_changes *changes) {
  EG_TRY(eg_text_append(text, "["));
  for (size_t i = 0; i < changes->len; i++) {
    const eg_layout_change *change = &changes->data[i];
    EG_TRY(eg_text_append(text, i == 0 ? "{" : ", {"));
    EG_TRY(write_text(text, key, change->value));
    EG_TRY(eg_text_append(text, ", "));
    EG_TRY(write_text(text, "before", change->before));
    EG_TRY(eg_text_append(text, ", "));
    EG_TRY(write_text(text, "after", change->after));
    EG_TRY(eg_text_append(text, "}"));
  }
  return eg_text_append(text, "]");
}

static egraph_status write_move(eg_text *text, const eg_move_change *move) {
  EG_TRY(eg_text_printf(text,
                        "{\"change\": \"%s\", \"phase\": \"%s\", \"kind\": \"%s\", ",
                        move->is_added ? "added" : "removed", eg_phase_name(move->phase),
                        eg_transition_name(move->kind)));
  EG_TRY(write_text(text, "value", move->value));
  EG_TRY(eg_text_printf(
      text, ", \"axis\": \"%s\", \"from\": \"%s\", \"to\": \"%s\", \"bytes\": ",
      move->axis, move->from, move->to));
  EG_TRY(eg_text_json_double(text, move->bytes));
  EG_TRY(eg_text_append(text, ", \"seconds\": "));
  EG_TRY(eg_text_json_double(text, move->seconds));
  return eg_text_append(text, "}");
}

egraph_status eg_plan_diff_write_json(eg_text *text, const eg_plan_diff *diff) {
  EG_TRY(eg_text_append(text, "{\"layouts\": "));
  EG_TRY(write_layouts(text, "value", &diff->layouts));
  EG_TRY(eg_text_append(text, ", \"outputs\": "));
  EG_TRY(write_layouts(text, "output", &diff->outputs));
  EG_TRY(eg_text_append(text, ", \"moves\": ["));
  for (size_t i = 0; i < diff->moves.len; i++) {
    if (i != 0) EG_TRY(eg_text_append(text, ", "));
    EG_TRY(write_move(text, &diff->moves.data[i]));
  }
  EG_TRY(eg_text_append(text, "], \"before\": "));
  EG_TRY(eg_plan_summary_write_json(text, &diff->before));
  EG_TRY(eg_text_append(text, ", \"after\": "));
  EG_TRY(eg_plan_summary_write_json(text, &diff->after));
  return eg_text_append(text, "}");
}
