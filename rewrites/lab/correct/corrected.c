// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/correct/corrected.h"

#include <inttypes.h>
#include <string.h>

#include "rewrites/lab/correct/region.h"

// Of the instances with a box, the share that a set of sides must have to have a rule.
enum { LEAST_SHARE = 20, MOST_SETS = 64 };

typedef struct assembly {
  eg_region_writer writer;
  const eg_partial *partial;
  const eg_box *box;
  uint32_t sides;
  const eg_sexpr *right;
  const char *from[EGRAPH_MAX_RANK], *to[EGRAPH_MAX_RANK]; // borders by name
  const char *whole;
  eg_text *text;
} assembly;

static uint32_t before_bit(uint32_t d) { return 1U << (2 * d); }
static uint32_t behind_bit(uint32_t d) { return 2U << (2 * d); }

// ---- sides ----------------------------------------------------------------------------

/// False: the box of the row is empty as the borders have it.
static bool sides_of_row(const eg_partial *partial, const eg_box *box, size_t row,
                         uint32_t *out) {
  *out = 0;
  for (uint32_t d = 0; d < partial->rank; d++) {
    int64_t from = box->from[d].values[row], to = box->to[d].values[row];
    if (from >= to) return false;
    if (from > 0) *out |= before_bit(d);
    if (to < partial->rows.data[row].size[d]) *out |= behind_bit(d);
  }
  return true;
}

eg_box_sides eg_box_sides_of(const eg_partial *partial, const eg_box *box) {
  uint32_t sets[MOST_SETS], counts[MOST_SETS] = {0}, set_count = 0, all = 0;
  eg_box_sides out = {.count = 0};
  for (size_t row = 0; row < partial->rows.len; row++) {
    uint32_t sides, at = 0;
    if (!sides_of_row(partial, box, row, &sides)) continue;
    while (at < set_count && sets[at] != sides)
      at++;
    if (at == MOST_SETS) continue;
    if (at == set_count) sets[set_count++] = sides;
    counts[at]++;
    all++;
  }
  while (out.count < EG_MOST_CORRECTED) {
    uint32_t best = MOST_SETS;
    for (uint32_t i = 0; i < set_count; i++)
      if (counts[i] * LEAST_SHARE >= all && counts[i] > 0 &&
          (best == MOST_SETS || counts[i] > counts[best]))
        best = i;
    if (best == MOST_SETS) break;
    out.sides[out.count++] = sets[best];
    counts[best] = 0;
  }
  return out;
}

// ---- the right side -------------------------------------------------------------------

static egraph_status print_left(assembly *a, const eg_region *region) {
  EG_TRY(eg_text_append(a->text, " "));
  return eg_region_term(&a->writer, a->partial->rule->lhs[0].term, region, a->text);
}

static egraph_status print_right(assembly *a, const eg_region *region) {
  eg_text right;
  EG_TRY(eg_text_append(a->text, " "));
  eg_text_init(&right, a->text->chars.alloc);
  egraph_status status = eg_sexpr_print(&right, a->right);
  if (status == EGRAPH_OK)
    status =
        eg_region_slice(a->text, a->partial->rank, region, a->whole, eg_text_of(&right));
  eg_text_deinit(&right);
  return status;
}

/// The part of the result where the dimensions before `d` are within the box.
static egraph_status assemble(assembly *a, uint32_t d, eg_region *region) {
  while (d < a->partial->rank && (a->sides & (before_bit(d) | behind_bit(d))) == 0)
    d++;
  if (d == a->partial->rank) return print_right(a, region);
  const char *size;
  EG_TRY(eg_region_name(&a->writer, &size, "(dim %s %" PRIu32 ")", a->whole, d));
  EG_TRY(eg_text_printf(a->text, " (concat :axis %" PRIu32, d));
  if ((a->sides & before_bit(d)) != 0) {
    region->from[d] = "0";
    region->to[d] = a->from[d];
    EG_TRY(print_left(a, region));
  }
  region->from[d] = (a->sides & before_bit(d)) != 0 ? a->from[d] : "0";
  region->to[d] = (a->sides & behind_bit(d)) != 0 ? a->to[d] : size;
  EG_TRY(assemble(a, d + 1, region));
  if ((a->sides & behind_bit(d)) != 0) {
    region->from[d] = a->to[d];
    region->to[d] = size;
    EG_TRY(print_left(a, region));
  }
  region->from[d] = region->to[d] = NULL;
  return eg_text_append(a->text, ")");
}

// ---- the rule -------------------------------------------------------------------------

static const eg_sexpr *clause(const eg_sexpr *form, const char *head) {
  for (uint32_t i = 0; i < form->count; i++)
    if (eg_sexpr_is_form(&form->children[i], head)) return &form->children[i];
  return NULL;
}

/// Appends all clauses of a kind, or (`inner`) what stands in them.
static egraph_status copy_clauses(const eg_sexpr *form, const char *head, bool inner,
                                  eg_text *text) {
  for (uint32_t i = 0; i < form->count; i++) {
    const eg_sexpr *child = &form->children[i];
    if (!eg_sexpr_is_form(child, head)) continue;
    if (!inner) {
      EG_TRY(eg_text_append(text, "  "));
      EG_TRY(eg_sexpr_print(text, child));
      EG_TRY(eg_text_append(text, "\n"));
    }
    for (uint32_t k = 1; inner && k < child->count; k++) {
      EG_TRY(eg_text_append(text, " "));
      EG_TRY(eg_sexpr_print(text, &child->children[k]));
    }
  }
  return EGRAPH_OK;
}

/// Names the borders, and says which sides of the box the rule is for.
static egraph_status name_borders(assembly *a) {
  eg_text *conditions = &a->writer.conditions;
  for (uint32_t d = 0; d < a->partial->rank; d++) {
    const eg_border *from = &a->box->from[d], *to = &a->box->to[d];
    const char *size = a->partial->atoms.data[d];
    bool is_cut = (a->sides & (before_bit(d) | behind_bit(d))) != 0;
    bool may_begin = strcmp(from->text, "0") != 0, may_end = strcmp(to->text, size) != 0;
    a->from[d] = "0";
    a->to[d] = size;
    if (may_begin) EG_TRY(eg_region_name(&a->writer, &a->from[d], "%s", from->text));
    if (may_end) EG_TRY(eg_region_name(&a->writer, &a->to[d], "%s", to->text));
    if (may_begin)
      EG_TRY(eg_text_printf(conditions, " (%s %s 0)",
                            (a->sides & before_bit(d)) != 0 ? ">" : "<=", a->from[d]));
    if (may_end)
      EG_TRY(eg_text_printf(conditions, " (%s %s %s)",
                            (a->sides & behind_bit(d)) != 0 ? "<" : ">=", a->to[d],
                            size));
    if (is_cut) EG_TRY(eg_text_printf(conditions, " (< %s %s)", a->from[d], a->to[d]));
  }
  return EGRAPH_OK;
}

static egraph_status print_rule(assembly *a, uint32_t number, const eg_sexpr *form,
                                eg_text *out) {
  const eg_rule *rule = a->partial->rule;
  eg_region region = {{NULL}, {NULL}};
  EG_TRY(eg_text_printf(out, "(rule %s-corrected", rule->name));
  if (number != 0) EG_TRY(eg_text_printf(out, "-%" PRIu32, number + 1));
  EG_TRY(eg_text_append(out, "\n"));
  EG_TRY(copy_clauses(form, "source", false, out));
  EG_TRY(eg_text_append(out, "  (class associative spreads)\n  (lhs "));
  EG_TRY(eg_region_pattern(&a->writer, rule->lhs[0].term, out));
  EG_TRY(eg_text_append(out, ")\n"));
  EG_TRY(copy_clauses(form, "let", false, out));
  EG_TRY(name_borders(a));
  EG_TRY(assemble(a, 0, &region));
  EG_TRY(eg_text_append(out, eg_text_of(&a->writer.lets)));
  EG_TRY(eg_text_printf(out, "  (rhs%s)\n  (when", eg_text_of(a->text)));
  EG_TRY(copy_clauses(form, "when", true, out));
  return eg_text_printf(out, "%s))\n", eg_text_of(&a->writer.conditions));
}

egraph_status eg_corrected_print(const eg_partial *partial, const eg_box *box,
                                 uint32_t sides, uint32_t number, const eg_sexpr *form,
                                 eg_text *text, bool *out_whole) {
  const eg_sexpr *right = clause(form, "rhs");
  eg_text body;
  if (right == NULL || right->count != 2)
    return EG_FAIL(EGRAPH_E_INTERNAL, "a printed rule has no right side");
  assembly a = {.partial = partial,
                .box = box,
                .sides = sides,
                .right = &right->children[1],
                .text = &body};
  egraph_allocator alloc = text->chars.alloc;
  eg_text_init(&body, alloc);
  eg_region_writer_init(&a.writer, partial, alloc);
  egraph_status status = eg_region_class(&a.writer, partial->rule->lhs[0].term, &a.whole);
  if (status == EGRAPH_OK) status = print_rule(&a, number, form, text);
  *out_whole = a.writer.is_whole;
  eg_region_writer_deinit(&a.writer);
  eg_text_deinit(&body);
  return status;
}
