// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/correct/correct.h"

#include <inttypes.h>
#include <string.h>

#include "rewrites/lab/correct/corrected.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/lab/verify/verify.h"

typedef struct correcting {
  egraph_allocator alloc;
  uint64_t seed;
  eg_arena arena;
  eg_sexpr forms; // of all rules, as they are printed
  eg_text *out, detail;
  uint32_t rules;    // written of this pair
  uint32_t verified; // instances of the last rule
  bool is_whole;
} correcting;

static const char *const reasons[] = {
    [EG_PARTIAL_EVERYWHERE] =
        "the sides agree everywhere: it is a rule, and needs no correction",
    [EG_PARTIAL_NOWHERE] = "the sides agree nowhere: there is nothing to correct",
    [EG_PARTIAL_NO_BOX] = "the sides agree on no box of more than half of the result",
    [EG_PARTIAL_FEW] = "too few instances were found in which the sides agree on a part; "
                       "make its conditions weaker"};

// ---- verifying ------------------------------------------------------------------------

// A border that fits the instances that were drawn may be wrong for others.
enum { SEEDS = 3 };

typedef struct verdict {
  eg_text *reason;
  egraph_status status;
  uint32_t instances;
} verdict;

static void on_evidence(void *user, const egraph_rule_evidence *evidence) {
  verdict *to = user;
  to->instances += evidence->instances;
  if (!evidence->is_accepted && to->status == EGRAPH_OK)
    to->status = eg_text_append(to->reason, evidence->detail);
}

/// Reads one rule, and verifies it with several seeds; why it is none is appended to
/// `reason`.
static egraph_status verify_text(correcting *c, const char *text, eg_text *reason,
                                 bool *out_holds) {
  eg_rules *rules;
  uint32_t rejected = 0;
  eg_text file;
  verdict to = {.reason = reason};
  eg_verify_options options = {
      .instances = EG_VERIFY_INSTANCES, .evidence = on_evidence, .evidence_user = &to};
  *out_holds = false;
  EG_TRY(eg_rules_create_checked(&c->alloc, &rules));
  eg_text_init(&file, c->alloc);
  egraph_status status = eg_text_printf(&file, "(egraph-rules 1)\n%s", text);
  if (status == EGRAPH_OK)
    status = eg_rules_parse(rules, "corrected", eg_text_of(&file), file.chars.len);
  for (uint32_t i = 0; i < SEEDS && status == EGRAPH_OK && rejected == 0; i++) {
    options.seed = c->seed + i;
    status = eg_rules_verify(rules, &options, NULL, NULL, &rejected);
  }
  *out_holds = status == EGRAPH_OK && rejected == 0;
  if (status == EGRAPH_E_PARSE) // a name of the pair is one of those that are written
    status = eg_text_append(reason, egraph_last_error());
  eg_text_deinit(&file);
  eg_rules_destroy(rules);
  c->verified = to.instances;
  return status == EGRAPH_OK ? to.status : status;
}

static egraph_status write_rule(correcting *c, const eg_partial *partial,
                                const eg_box *box, uint32_t sides, const eg_sexpr *form,
                                eg_text *reason) {
  eg_text text;
  bool holds = false, is_whole;
  eg_text_init(&text, c->alloc);
  egraph_status status =
      eg_corrected_print(partial, box, sides, c->rules, form, &text, &is_whole);
  if (status == EGRAPH_OK) status = verify_text(c, eg_text_of(&text), reason, &holds);
  if (status == EGRAPH_OK && holds) {
    c->rules++;
    c->is_whole = c->is_whole || is_whole;
    status = eg_text_printf(c->out, "\n%s", eg_text_of(&text));
  }
  eg_text_deinit(&text);
  return status;
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

/// "dimension 3 from (at ?p 1) to (- (dim ?whole 3) (at ?p 3))".
static egraph_status print_box(const eg_partial *partial, const eg_box *box,
                               eg_text *text) {
  bool is_first = true;
  for (uint32_t d = 0; d < partial->rank; d++) {
    const eg_border *from = &box->from[d], *to = &box->to[d];
    if (strcmp(from->text, "0") == 0 && strcmp(to->text, partial->atoms.data[d]) == 0)
      continue;
    EG_TRY(eg_text_printf(text, "%s dimension %" PRIu32 " from %s to %s%s",
                          is_first ? "equal within" : ",", d, from->text, to->text,
                          from->is_exact && to->is_exact ? "" : " (or further)"));
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
  eg_box_sides sides = eg_box_sides_of(partial, &box);
  eg_text reason;
  eg_text_init(&reason, c->alloc);
  egraph_status status = EGRAPH_OK;
  uint32_t least = UINT32_MAX;
  for (uint32_t i = 0; i < sides.count && status == EGRAPH_OK; i++) {
    uint32_t before = c->rules;
    eg_text_clear(&reason);
    status = write_rule(c, partial, &box, sides.sides[i], form, &reason);
    if (c->rules != before && c->verified < least) least = c->verified;
  }
  if (status == EGRAPH_OK && c->rules == 0)
    status = eg_text_printf(&c->detail, "; the corrected rule is refused: %s",
                            eg_text_of(&reason));
  if (status == EGRAPH_OK && c->rules != 0)
    status =
        eg_text_printf(&c->detail, "; verified on %" PRIu32 " instances%s", least,
                       c->is_whole ? "; the left side is computed whole beside it" : "");
  eg_text_deinit(&reason);
  return status;
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

static const char *whole_name(const eg_rule *rule) {
  uint32_t var = rule->terms[rule->lhs[0].term].var;
  return var == EG_RULE_NONE ? "?whole" : rule->vars[var].name;
}

static egraph_status correct_one(correcting *c, const eg_rule *rule) {
  eg_partial partial;
  eg_partial_outcome outcome;
  const eg_sexpr *form = form_of(c, rule->name);
  if (form == NULL) return EG_FAIL(EGRAPH_E_INTERNAL, "a rule is not among the printed");
  c->rules = 0;
  c->is_whole = false;
  eg_text_clear(&c->detail);
  eg_partial_init(&partial, rule, c->alloc);
  egraph_status status = eg_partial_find(&partial, whole_name(rule), c->seed, &outcome);
  bool is_told = outcome == EG_PARTIAL_UNFIT;
  if (status == EGRAPH_OK && outcome == EG_PARTIAL_BOXES)
    status = write_rules(c, &partial, form);
  else if (status == EGRAPH_OK)
    status =
        eg_text_append(&c->detail, is_told ? eg_text_of(&partial.why) : reasons[outcome]);
  eg_partial_deinit(&partial);
  return status;
}

static egraph_status correct_all(correcting *c, const eg_rules *rules,
                                 void (*report)(void *user, const eg_correction *found),
                                 void *user) {
  eg_text printed;
  eg_text_init(&printed, c->alloc);
  egraph_status status = eg_rules_print(rules, &printed);
  if (status == EGRAPH_OK)
    status = eg_sexpr_parse(&c->arena, "rules", eg_text_of(&printed), printed.chars.len,
                            &c->forms);
  if (status == EGRAPH_OK) status = eg_text_append(c->out, "(egraph-rules 1)\n");
  for (uint32_t i = 0; i < eg_rules_count(rules) && status == EGRAPH_OK; i++) {
    const eg_rule *rule = eg_rules_at(rules, i);
    if (rule->reversed) continue;
    status = correct_one(c, rule);
    const eg_correction found = {.rule = rule->name,
                                 .is_corrected = c->rules != 0,
                                 .detail = eg_text_of(&c->detail),
                                 .rules = c->rules};
    if (status == EGRAPH_OK && report != NULL) report(user, &found);
  }
  eg_text_deinit(&printed);
  return status;
}

egraph_status eg_rules_correct(const eg_rules *rules, uint64_t seed,
                               void (*report)(void *user, const eg_correction *found),
                               void *user, eg_text *out) {
  correcting c = {.alloc = eg_rules_allocator(rules), .seed = seed, .out = out};
  eg_arena_init(&c.arena, c.alloc);
  eg_text_init(&c.detail, c.alloc);
  egraph_status status = correct_all(&c, rules, report, user);
  eg_text_deinit(&c.detail);
  eg_arena_deinit(&c.arena);
  return status;
}
