// Writes corrected rules of a pair that is equal on a box of its result: the right side
// inside of the box and the left side outside of it, concatenated.
//
//      0   from  to  size            (concat :axis 0
//   0  +----------------+              LEFT[0, from)
//      |      left      |              (concat :axis 1 LEFT (slice RIGHT) LEFT)
//      +----+-----+-----+              LEFT[to, size))
//      |left|right|left |
//      +----+-----+-----+            One rule for each set of sides that have a left
//      |      left      |            part.
//      +----------------+
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/correct/correct.h"

#include <inttypes.h>
#include <string.h>

#include "base/sexpr.h"
#include "rewrites/lab/correct/region.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/lab/verify/verify.h"

/// The borders of the box in which both sides agree, by dimension of the result.
typedef struct eg_box {
  eg_border from[EGRAPH_MAX_RANK], to[EGRAPH_MAX_RANK];
} eg_box;

enum { EG_MOST_CORRECTED = 4 };

/// The sets of box sides beyond which the left side is computed. A set has two bits a
/// dimension: before, behind. The most frequent set comes first; rare ones are left out.
typedef struct eg_box_sides {
  uint32_t count, sides[EG_MOST_CORRECTED];
} eg_box_sides;

// LEAST_SHARE: a set of sides of the box (beyond which the left side is computed) gets a
// rule when at least one of LEAST_SHARE instances has this set.
enum { LEAST_SHARE = 20, MOST_SETS = 64 };

typedef struct assembly {
  eg_region_writer writer;
  const eg_partial *partial;
  const eg_box *box;
  uint32_t sides;
  const eg_sexpr *right;
  const char *from[EGRAPH_MAX_RANK], *to[EGRAPH_MAX_RANK]; // names of the borders
  const char *whole;
  eg_text *text;
} assembly;
EG_OWNER_DEFINE_STATIC(assembly, (eg_region_writer, writer))

static uint32_t before_bit(uint32_t d) { return 1U << (2 * d); }
static uint32_t behind_bit(uint32_t d) { return 2U << (2 * d); }

// ---- sides ----------------------------------------------------------------------------

/// Finds the sides of one instance's box beyond which the result goes on. Returns false
/// when the borders make the box empty.
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

/// Collects the sets of box sides beyond which results go on, most frequent first, and
/// drops rare sets.
static eg_box_sides box_sides_of(const eg_partial *partial, const eg_box *box) {
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
  eg_text_append(a->text, " ");
  return eg_region_term(&a->writer, a->partial->rule->lhs[0].term, region, a->text);
}

static egraph_status print_right(assembly *a, const eg_region *region) {
  EG_LOCAL(eg_text, right, a->text->chars.alloc);
  EG_TRY(eg_sexpr_print(&right, a->right));
  eg_text_append(a->text, " ");
  eg_region_slice(a->text, a->partial->rank, region, a->whole, eg_text_of(&right));
  return eg_text_status(a->text);
}

/// Appends the part of the result that is within the box in dimensions before `d`.
static egraph_status assemble(assembly *a, uint32_t d, eg_region *region) {
  while (d < a->partial->rank && (a->sides & (before_bit(d) | behind_bit(d))) == 0)
    d++;
  if (d == a->partial->rank) return print_right(a, region);
  const char *size;
  EG_TRY(eg_region_name(&a->writer, &size, "(dim %s %" PRIu32 ")", a->whole, d));
  eg_text_printf(a->text, " (concat :axis %" PRIu32, d);
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

/// Appends all clauses `(head ...)` of a rule or, if `inner`, only their contents.
static egraph_status copy_clauses(const eg_sexpr *form, const char *head, bool inner,
                                  eg_text *text) {
  for (uint32_t i = 0; i < form->count; i++) {
    const eg_sexpr *child = &form->children[i];
    if (!eg_sexpr_is_form(child, head)) continue;
    if (!inner) {
      eg_text_append(text, "  ");
      EG_TRY(eg_sexpr_print(text, child));
      eg_text_append(text, "\n");
    }
    for (uint32_t k = 1; inner && k < child->count; k++) {
      eg_text_append(text, " ");
      EG_TRY(eg_sexpr_print(text, &child->children[k]));
    }
  }
  return eg_text_status(text);
}

/// Names the borders of the box, and appends conditions for the box sides that the
/// rule covers.
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
      eg_text_printf(conditions, " (%s %s 0)",
                     (a->sides & before_bit(d)) != 0 ? ">" : "<=", a->from[d]);
    if (may_end)
      eg_text_printf(conditions, " (%s %s %s)",
                     (a->sides & behind_bit(d)) != 0 ? "<" : ">=", a->to[d], size);
    if (is_cut) eg_text_printf(conditions, " (< %s %s)", a->from[d], a->to[d]);
  }
  return eg_text_status(conditions);
}

/// Appends the corrected rule for one set of box sides. `form` is the printed original.
static egraph_status print_rule(assembly *a, uint32_t number, const eg_sexpr *form,
                                eg_text *out) {
  const eg_rule *rule = a->partial->rule;
  eg_region region = {{NULL}, {NULL}};
  EG_TRY(eg_region_class(&a->writer, rule->lhs[0].term, &a->whole));
  eg_text_printf(out, "(rule %s-corrected", rule->name);
  if (number != 0) eg_text_printf(out, "-%" PRIu32, number + 1);
  eg_text_append(out, "\n");
  EG_TRY(copy_clauses(form, "source", false, out));
  eg_text_append(out, "  (class associative spreads)\n  (lhs ");
  EG_TRY(eg_region_pattern(&a->writer, rule->lhs[0].term, out));
  eg_text_append(out, ")\n");
  EG_TRY(copy_clauses(form, "let", false, out));
  EG_TRY(name_borders(a));
  EG_TRY(assemble(a, 0, &region));
  EG_TRY(eg_text_status(&a->writer.lets));
  eg_text_append(out, eg_text_of(&a->writer.lets));
  eg_text_printf(out, "  (rhs%s)\n  (when", eg_text_of(a->text));
  EG_TRY(copy_clauses(form, "when", true, out));
  EG_TRY(eg_text_status(&a->writer.conditions));
  return eg_text_printf(out, "%s))\n", eg_text_of(&a->writer.conditions));
}

typedef struct correcting {
  egraph_allocator alloc;
  uint64_t seed;
  eg_arena arena;
  eg_sexpr forms; // all rules, as printed
  eg_text *out, detail;
  uint32_t rules;    // number of rules written for this pair
  uint32_t verified; // number of instances on which the last rule was verified
  bool is_whole;
} correcting;

EG_OWNER_DEFINE_STATIC(correcting, (eg_arena, arena), (eg_text, detail))

static const char *const reasons[] = {
    [EG_PARTIAL_EVERYWHERE] =
        "the sides agree everywhere: it is a rule, and needs no correction",
    [EG_PARTIAL_NOWHERE] = "the sides agree nowhere: there is nothing to correct",
    [EG_PARTIAL_NO_BOX] = "the sides agree on no box of more than half of the result",
    [EG_PARTIAL_FEW] = "too few instances were found in which the sides agree on a part; "
                       "make its conditions weaker"};

// ---- verifying ------------------------------------------------------------------------

static const char file_head[] = "(egraph-rules 1)\n";

// Number of seeds for verification: borders of the box that fit the drawn instances may
// be wrong for others.
enum { SEEDS = 3 };

typedef struct verdict {
  eg_text *reason;
  uint32_t instances;
} verdict;

static void on_evidence(void *user, const egraph_rule_evidence *evidence) {
  verdict *to = user;
  to->instances += evidence->instances;
  if (!evidence->is_accepted) eg_text_append(to->reason, evidence->detail);
}

/// Verifies a file of rules with several seeds; appends the reason of a rejection
/// to `reason`.
static egraph_status verify_rules(correcting *c, const eg_text *file, eg_text *reason,
                                  bool *out_holds) {
  EG_LOCAL(eg_rules_own, rules, c->alloc);
  uint32_t rejected = 0;
  verdict to = {.reason = reason};
  eg_verify_options options = {
      .instances = EG_VERIFY_INSTANCES, .evidence = on_evidence, .evidence_user = &to};
  EG_TRY(eg_rules_try_text(c->alloc, "corrected", file, &rules));
  if (rules == NULL) // the pair already uses a name that is written
    return eg_text_append(reason, egraph_last_error());
  for (uint32_t i = 0; i < SEEDS && rejected == 0; i++) {
    options.seed = c->seed + i;
    EG_TRY(eg_rules_verify(rules, &options, NULL, NULL, &rejected));
  }
  *out_holds = rejected == 0;
  c->verified = to.instances;
  return eg_text_status(reason);
}

static egraph_status write_rule(correcting *c, const eg_partial *partial,
                                const eg_box *box, uint32_t sides, const eg_sexpr *form,
                                eg_text *reason) {
  bool holds = false;
  EG_LOCAL(eg_text, body, c->alloc);
  EG_LOCAL(eg_text, text, c->alloc);
  EG_LOCAL(assembly, a, c->alloc);
  a.partial = a.writer.partial = partial;
  a.box = box;
  a.sides = sides;
  a.text = &body;
  for (uint32_t i = 0; i < form->count; i++)
    if (eg_sexpr_is_form(&form->children[i], "rhs") && form->children[i].count == 2)
      a.right = &form->children[i].children[1];
  if (a.right == NULL)
    return EG_FAIL(EGRAPH_E_INTERNAL, "a printed rule has no right side");
  eg_text_append(&text, file_head);
  EG_TRY(print_rule(&a, c->rules, form, &text));
  EG_TRY(verify_rules(c, &text, reason, &holds));
  if (!holds) return EGRAPH_OK;
  c->rules++;
  c->is_whole = c->is_whole || a.writer.is_whole;
  return eg_text_printf(c->out, "\n%s", eg_text_of(&text) + strlen(file_head));
}

// ---- one pair -------------------------------------------------------------------------

static egraph_status find_borders(eg_partial *partial, eg_box *out, eg_text *detail,
                                  bool *out_found) {
  *out_found = true;
  for (uint32_t d = 0; d < partial->rank && *out_found; d++) {
    EG_TRY(eg_border_find(partial, d, false, &out->from[d], out_found));
    if (*out_found) EG_TRY(eg_border_find(partial, d, true, &out->to[d], out_found));
    if (!*out_found)
      return eg_text_printf(detail,
                            "no expression of the table gives the borders of the box "
                            "along dimension %" PRIu32 "; name more numbers by let",
                            d);
  }
  return EGRAPH_OK;
}

/// Appends the box in words: "dimension 3 from (at ?p 1) to (- (dim ?whole 3) (at
/// ?p 3))".
static egraph_status print_box(const eg_partial *partial, const eg_box *box,
                               eg_text *text) {
  bool is_first = true;
  for (uint32_t d = 0; d < partial->rank; d++) {
    const eg_border *from = &box->from[d], *to = &box->to[d];
    if (strcmp(from->text, "0") == 0 && strcmp(to->text, partial->atoms.data[d]) == 0)
      continue;
    eg_text_printf(text, "%s dimension %" PRIu32 " from %s to %s%s",
                   is_first ? "equal within" : ",", d, from->text, to->text,
                   from->is_exact && to->is_exact ? "" : " (or further)");
    is_first = false;
  }
  return eg_text_printf(text, ", as %zu of %" PRIu32 " instances have it",
                        partial->rows.len, partial->instances);
}

static egraph_status write_rules(correcting *c, eg_partial *partial,
                                 const eg_sexpr *form) {
  eg_box box;
  bool found;
  EG_TRY(find_borders(partial, &box, &c->detail, &found));
  if (!found) return EGRAPH_OK;
  EG_TRY(print_box(partial, &box, &c->detail));
  eg_box_sides sides = box_sides_of(partial, &box);
  EG_LOCAL(eg_text, reason, c->alloc);
  uint32_t least = UINT32_MAX;
  for (uint32_t i = 0; i < sides.count; i++) {
    uint32_t before = c->rules;
    eg_text_clear(&reason);
    EG_TRY(write_rule(c, partial, &box, sides.sides[i], form, &reason));
    if (c->rules != before && c->verified < least) least = c->verified;
  }
  if (c->rules == 0)
    return eg_text_printf(&c->detail, "; the corrected rule is refused: %s",
                          eg_text_of(&reason));
  return eg_text_printf(&c->detail, "; verified on %" PRIu32 " instances%s", least,
                        c->is_whole ? "; the left side is computed whole beside it" : "");
}

static const eg_sexpr *form_of(const correcting *c, const char *name) {
  for (uint32_t i = 0; i < c->forms.count; i++) {
    const eg_sexpr *form = &c->forms.children[i];
    if (eg_sexpr_is_form(form, "rule") && form->count > 1 &&
        eg_sexpr_is_atom(&form->children[1], name))
      return form;
  }
  return NULL;
}

static egraph_status correct_one(correcting *c, const eg_rule *rule) {
  uint32_t var = rule->terms[rule->lhs[0].term].var;
  const char *whole = var == EG_RULE_NONE ? "?whole" : rule->vars[var].name;
  eg_partial_outcome outcome;
  const eg_sexpr *form = form_of(c, rule->name);
  if (form == NULL) return EG_FAIL(EGRAPH_E_INTERNAL, "a rule is not among the printed");
  c->rules = 0;
  c->is_whole = false;
  eg_text_clear(&c->detail);
  EG_LOCAL(eg_partial, partial, c->alloc);
  partial.rule = rule;
  EG_TRY(eg_partial_find(&partial, whole, c->seed, &outcome));
  if (outcome == EG_PARTIAL_BOXES) return write_rules(c, &partial, form);
  return eg_text_append(&c->detail, outcome == EG_PARTIAL_UNFIT ? eg_text_of(&partial.why)
                                                                : reasons[outcome]);
}

egraph_status eg_rules_correct(const eg_rules *rules, uint64_t seed,
                               void (*report)(void *user, const eg_correction *found),
                               void *user, eg_text *out) {
  EG_LOCAL(correcting, c, eg_rules_allocator(rules));
  c.alloc = eg_rules_allocator(rules);
  c.seed = seed;
  c.out = out;
  EG_LOCAL(eg_text, printed, c.alloc);
  EG_TRY(eg_rules_print(rules, &printed));
  EG_TRY(eg_sexpr_parse(&c.arena, "rules", eg_text_of(&printed), printed.chars.len,
                        &c.forms));
  eg_text_append(out, file_head);
  for (uint32_t i = 0; i < eg_rules_count(rules); i++) {
    const eg_rule *rule = eg_rules_at(rules, i);
    if (rule->reversed) continue;
    EG_TRY(correct_one(&c, rule));
    const eg_correction found = {.rule = rule->name,
                                 .is_corrected = c.rules != 0,
                                 .detail = eg_text_of(&c.detail),
                                 .rules = c.rules};
    if (report != NULL) report(user, &found);
  }
  return eg_text_status(out);
}
