// Counts instances by class, and describes why a rule has no instances in a class.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/verify/coverage.h"

#include "base/owner.h"
#include "rewrites/language/rules.h"

EG_OWNER_DEFINE(eg_coverage, (eg_arena, arena))

egraph_status eg_coverage_open(eg_coverage *coverage, const eg_rule *rule) {
  EG_LOCAL(eg_instance_aims, aims, coverage->arena.alloc);
  coverage->rule = rule;
  EG_TRY(eg_instance_aims_of(rule, &aims));
  EG_NEW(&coverage->arena, aims.len, coverage->rows);
  for (size_t i = 0; i < aims.len; i++)
    coverage->rows[i] =
        (eg_coverage_row){.aim = aims.data[i], .obstacle = {EG_RULE_NONE, EG_RULE_NONE}};
  coverage->count = (uint32_t)aims.len;
  return EGRAPH_OK;
}

void eg_coverage_note(eg_coverage *coverage, const eg_verify_instance *instance,
                      eg_instance_outcome outcome) {
  for (uint32_t i = 0; i < coverage->count; i++) {
    eg_coverage_row *row = &coverage->rows[i];
    if (!eg_verify_is_in(instance, &row->aim)) continue;
    row->compared += outcome == EG_INSTANCE_COMPARED;
    row->unbuilt += outcome == EG_INSTANCE_UNBUILT;
    row->vacuous += outcome == EG_INSTANCE_VACUOUS;
  }
}

uint32_t eg_coverage_reached(const eg_coverage *coverage) {
  uint32_t reached = 0;
  for (uint32_t i = 0; i < coverage->count; i++)
    reached += coverage->rows[i].compared > 0;
  return reached;
}

// ---- in words -----------------------------------------------------------------------

static egraph_status print_reason(const eg_coverage *coverage, const eg_coverage_row *row,
                                  eg_text *text) {
  const eg_rule *rule = coverage->rule;
  if (row->unbuilt > 0) return eg_text_append(text, "the right side is ill-typed");
  if (row->vacuous > 0) return eg_text_append(text, "no finite result");
  if (row->obstacle.condition != EG_RULE_NONE)
    return eg_rule_print_expr(text, rule, rule->conditions[row->obstacle.condition]);
  if (row->obstacle.term == EG_RULE_NONE) return EGRAPH_OK;
  const eg_rule_term *term = &rule->terms[row->obstacle.term];
  if (term->is_var) return EGRAPH_OK;
  return eg_text_printf(text, "%s is ill-typed", eg_op_info_of(term->op)->name);
}

static egraph_status class_of_row(eg_coverage *coverage, const eg_coverage_row *row,
                                  egraph_rule_class *out) {
  EG_LOCAL(eg_text, text, coverage->arena.alloc);
  out->instances = row->compared;
  EG_TRY(eg_instance_aim_print(&text, coverage->rule, &row->aim));
  EG_TRY(
      eg_arena_string(&coverage->arena, eg_text_of(&text), text.chars.len, &out->name));
  if (row->compared > 0) return EGRAPH_OK;
  eg_text_clear(&text);
  EG_TRY(print_reason(coverage, row, &text));
  if (text.chars.len == 0) return EGRAPH_OK;
  return eg_arena_string(&coverage->arena, eg_text_of(&text), text.chars.len,
                         &out->reason);
}

egraph_status eg_coverage_classes(eg_coverage *coverage, egraph_rule_class **out) {
  EG_NEW(&coverage->arena, (size_t)coverage->count + 1, *out);
  for (uint32_t i = 0; i < coverage->count; i++)
    EG_TRY(class_of_row(coverage, &coverage->rows[i], &(*out)[i]));
  return EGRAPH_OK;
}
