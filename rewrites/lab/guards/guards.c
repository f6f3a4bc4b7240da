// Draws instances of a rule with its own conditions, and evaluates all conditions of the
// list on each instance. A bad instance (the rule fails) should be dropped by a guard,
// and a good one (the rule holds) kept.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/guards/guards.h"

#include <assert.h>

#include "base/owner.h"
#include "base/sexpr.h"
#include "rewrites/lab/instances/instance_draw.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/lab/verify/verify.h"
#include "rewrites/language/rule_forms.h"

// INSTANCES on which the rule holds, and as many on which it fails, are stored. FEW
// conditions are tried in pairs and threes, TRIALS guards with SEEDS seeds each.
enum { INSTANCES = 4096, WORDS = INSTANCES / 64, FEW = 48, TRIALS = 16, SEEDS = 3 };
// MAX_PARTS: most conditions of a guard. For SET_PARTS or fewer, every set is tried.
enum { MAX_PARTS = 6, SET_PARTS = 3 };

/// A condition that may be part of a guard, and the instances on which it is true.
typedef struct condition {
  const char *text;
  uint64_t *kept[2]; // bits of bad and good instances
  uint32_t count[2];
} condition;

typedef struct search {
  egraph_allocator alloc;
  eg_arena arena;
  const eg_rule *rule;
  const eg_sexpr *form;
  uint64_t seed;
  const eg_guard_search *how; // NULL: the caller accepts any guard
  bool *is_left_out;          // [conditions of the rule]
  condition *list;
  uint32_t count, own; // own: number of the rule's conditions that stay
  uint32_t seen[2];    // numbers of bad and good instances
} search;
EG_OWNER_DEFINE_STATIC(search, (eg_arena, arena))

const char *eg_guard_outcome_name(eg_guard_outcome outcome) {
  static const char *const names[] = {"holds", "weaker", "holds-if", "refuted"};
  assert(outcome <= EG_GUARD_REFUTED);
  return names[outcome];
}

// ---- variants of a rule ---------------------------------------------------------------

/// Writes the rule without the conditions marked in s->is_left_out, and with `count`
/// additional conditions.
static egraph_status write_variant(const search *s, const char *const *more,
                                   uint32_t count, eg_text *out) {
  const eg_sexpr *when = NULL;
  eg_text_append(out, "(egraph-rules 1) (");
  for (uint32_t i = 0; i < s->form->count; i++) {
    const eg_sexpr *part = &s->form->children[i];
    if (eg_sexpr_is_form(part, "when")) when = part;
    if (part == when) continue;
    eg_text_append(out, " ");
    EG_TRY(eg_sexpr_print(out, part));
  }
  eg_text_append(out, " (when (= 0 0)");
  for (uint32_t i = 0; i < s->rule->condition_count; i++) {
    if (s->is_left_out[i]) continue;
    eg_text_append(out, " ");
    EG_TRY(eg_sexpr_print(out, &when->children[i + 1]));
  }
  for (uint32_t i = 0; i < count; i++)
    eg_text_printf(out, " %s", more[i]);
  return eg_text_append(out, "))");
}

/// Reads the rule with `count` more conditions; *out is NULL when it cannot be read.
static egraph_status read_variant(const search *s, const char *const *more,
                                  uint32_t count, eg_rules **out) {
  EG_LOCAL(eg_text, text, s->alloc);
  *out = NULL;
  EG_TRY(write_variant(s, more, count, &text));
  return eg_rules_try_text(s->alloc, s->rule->file, &text, out);
}

typedef struct judgement {
  bool is_rejected;
  eg_text *detail; // reason of the first rejection; may be NULL
} judgement;

static void note_verdict(void *user, const char *rule, bool accepted,
                         const char *detail) {
  judgement *found = user;
  (void)rule;
  if (accepted || found->is_rejected) return;
  found->is_rejected = true;
  if (found->detail != NULL) eg_text_append(found->detail, detail);
}

/// Verifies the variant of the rule that write_variant writes, with `seeds` seeds.
static egraph_status verify_variant(const search *s, const char *const *more,
                                    uint32_t count, uint32_t seeds, eg_text *detail,
                                    bool *out_holds) {
  EG_LOCAL(eg_rules_own, rules, s->alloc);
  judgement found = {.detail = detail};
  *out_holds = false;
  EG_TRY(read_variant(s, more, count, &rules));
  for (uint32_t i = 0; rules != NULL && i < seeds && !found.is_rejected; i++) {
    const eg_verify_options options = {.seed = s->seed + i,
                                       .instances = EG_VERIFY_INSTANCES};
    EG_TRY(eg_rules_verify(rules, &options, note_verdict, &found, NULL));
  }
  *out_holds = rules != NULL && !found.is_rejected;
  return detail == NULL ? EGRAPH_OK : eg_text_status(detail);
}

// ---- instances ------------------------------------------------------------------------

static void on_instance(void *user, const eg_verify_instance *instance, bool holds) {
  search *s = user;
  eg_rule_env env = *instance->env;
  uint32_t at = s->seen[holds];
  if (at == INSTANCES) return;
  s->seen[holds]++;
  uint32_t first = instance->rule->condition_count;
  uint32_t ints = env.scratch->int_count, values = env.scratch->value_count;
  for (uint32_t i = 0; i < s->count; i++) {
    env.scratch->int_count = ints;
    env.scratch->value_count = values;
    if (!eg_rule_holds(&env, instance->rule->conditions[first + i])) continue;
    s->list[i].kept[holds][at / 64] |= UINT64_C(1) << at % 64;
    s->list[i].count[holds]++;
  }
}

/// Drops conditions that cannot be read together with the rule; tries them one by one if
/// they cannot be read all together.
static egraph_status read_conditions(search *s, eg_guard_texts *texts, eg_rules **out) {
  EG_TRY(read_variant(s, texts->data, (uint32_t)texts->len, out));
  if (*out != NULL) return EGRAPH_OK;
  size_t kept = 0;
  for (size_t i = 0; i < texts->len; i++) {
    EG_LOCAL(eg_rules_own, one, s->alloc);
    EG_TRY(read_variant(s, &texts->data[i], 1, &one));
    if (one != NULL) texts->data[kept++] = texts->data[i];
  }
  texts->len = kept;
  return read_variant(s, texts->data, (uint32_t)kept, out);
}

static egraph_status make_list(search *s, const eg_guard_texts *texts) {
  s->count = (uint32_t)texts->len;
  s->seen[0] = s->seen[1] = 0;
  EG_NEW(&s->arena, s->count, s->list);
  for (uint32_t i = 0; i < s->count; i++) {
    s->list[i].text = texts->data[i];
    for (int k = 0; k < 2; k++)
      EG_NEW(&s->arena, WORDS, s->list[i].kept[k]);
  }
  return EGRAPH_OK;
}

/// Draws instances of the rule and records which conditions hold on which instances.
/// `beside` (may be NULL) becomes the first condition of the list.
static egraph_status draw_guard_instances(search *s, const char *beside) {
  EG_LOCAL(eg_guard_texts, texts, s->alloc);
  EG_LOCAL(eg_rules_own, rules, s->alloc);
  if (beside != NULL) EG_TRY(eg_guard_texts_push(&texts, beside));
  EG_TRY(eg_guard_list(s->rule, &s->arena, &texts));
  EG_TRY(read_conditions(s, &texts, &rules));
  if (rules == NULL) return EGRAPH_OK;
  EG_TRY(make_list(s, &texts));
  eg_rule limited = *eg_rules_at(rules, 0);
  const eg_verify_options options = {.seed = s->seed, .instances = EG_VERIFY_INSTANCES};
  assert(limited.condition_count >= s->count);
  limited.condition_count -= s->count;
  return eg_rule_witness(s->alloc, &limited, &options, on_instance, s);
}

// ---- choosing -------------------------------------------------------------------------

#define NONE UINT32_MAX
typedef struct guard {
  uint32_t parts[MAX_PARTS], part_count;
  uint32_t keeps; // number of good instances that it keeps
} guard;

/// Counts the instances on which the rule holds (or fails, by `holds`) and all conditions
/// of a guard are true.
static uint32_t count_kept(const search *s, const guard *g, int holds) {
  uint32_t count = 0;
  if (g->part_count == 0) return s->seen[holds];
  for (uint32_t i = 0; i < WORDS; i++) {
    uint64_t kept = UINT64_MAX;
    for (uint32_t k = 0; k < g->part_count; k++)
      kept &= s->list[g->parts[k]].kept[holds][i];
    count += (uint32_t)__builtin_popcountll(kept);
  }
  return count;
}

/// Returns the value of a guard: higher the more instances it keeps on which the rule
/// holds, lower the more conditions it has.
static double value_of_guard(const guard *g) {
  return (double)g->keeps / (8 + g->part_count);
}

/// Inserts a guard into the list of the best; of two equal guards, the earlier is first.
static void offer_guard(guard *best, uint32_t *inout_count, guard found) {
  uint32_t at = *inout_count;
  while (at > 0 && value_of_guard(&best[at - 1]) < value_of_guard(&found))
    at--;
  if (at == TRIALS || found.keeps == 0) return;
  if (*inout_count < TRIALS) ++*inout_count;
  for (uint32_t i = *inout_count - 1; i > at; i--)
    best[i] = best[i - 1];
  best[at] = found;
}

static uint32_t choose_single(const search *s, uint32_t first, guard *best) {
  uint32_t count = 0;
  for (uint32_t i = first; i < s->count; i++)
    if (s->list[i].count[0] == 0)
      offer_guard(best, &count,
                  (guard){.parts = {i}, .part_count = 1, .keeps = s->list[i].count[1]});
  return count;
}

/// Returns the share of instances that a condition keeps among those on which the rule
/// holds, minus the share among those on which it fails.
static double value_of_condition(const search *s, const condition *c) {
  if (s->seen[0] == 0 || s->seen[1] == 0) return 0;
  return (double)c->count[1] / s->seen[1] - (double)c->count[0] / s->seen[0];
}

/// Chooses the FEW conditions that best tell instances where the rule holds from others.
static uint32_t choose_few(const search *s, uint32_t few[FEW]) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < s->count; i++) {
    double own = value_of_condition(s, &s->list[i]);
    if (own <= 0) continue;
    uint32_t at = count;
    while (at > 0 && value_of_condition(s, &s->list[few[at - 1]]) < own)
      at--;
    if (at == FEW) continue;
    if (count < FEW) count++;
    for (uint32_t k = count - 1; k > at; k--)
      few[k] = few[k - 1];
    few[at] = i;
  }
  return count;
}

/// Extends `part` by conditions of few[from .. few_count) to `size` conditions, in every
/// combination, and offers each guard that excludes all instances on which the rule
/// fails. The recursion is at most MAX_PARTS deep.
static void offer_sets(const search *s, const uint32_t *few, uint32_t few_count,
                       uint32_t from, uint32_t size, guard part, guard *best,
                       uint32_t *inout_count) {
  if (part.part_count == size) {
    if (count_kept(s, &part, 0) != 0) return;
    part.keeps = count_kept(s, &part, 1);
    offer_guard(best, inout_count, part);
    return;
  }
  for (uint32_t i = from; i < few_count; i++) {
    guard more = part;
    more.parts[more.part_count++] = few[i];
    offer_sets(s, few, few_count, i + 1, size, more, best, inout_count);
  }
}

static egraph_status print_guard(const search *s, const guard *g, eg_text *out) {
  for (uint32_t i = 0; i < g->part_count; i++)
    eg_text_printf(out, "%s%s", out->chars.len == 0 ? "" : " ",
                   s->list[g->parts[i]].text);
  return eg_text_status(out);
}

/// Asks the caller of the search whether a condition may be used as a guard.
static egraph_status ask_caller(const search *s, const guard *g, bool *out) {
  *out = true;
  if (s->how == NULL || s->how->wants == NULL) return EGRAPH_OK;
  EG_LOCAL(eg_text, text, s->alloc);
  EG_TRY(print_guard(s, g, &text));
  return s->how->wants(s->how->user, eg_text_of(&text), out);
}

/// Finds the first of the best guards that the caller accepts and verification confirms.
static egraph_status confirm(search *s, const guard *best, uint32_t count,
                             const guard **out) {
  *out = NULL;
  for (uint32_t i = 0; i < count && *out == NULL; i++) {
    const char *texts[MAX_PARTS];
    bool holds;
    for (uint32_t k = 0; k < best[i].part_count; k++)
      texts[k] = s->list[best[i].parts[k]].text;
    EG_TRY(ask_caller(s, &best[i], &holds));
    if (holds) EG_TRY(verify_variant(s, texts, best[i].part_count, SEEDS, NULL, &holds));
    if (holds) *out = &best[i];
  }
  return EGRAPH_OK;
}

/// Returns the condition for which good / (good kept by `g` + 1) - bad / (bad kept by
/// `g`) is largest: numbers of instances that `g` with the condition keeps and on which
/// the rule holds (good) or fails (bad). NONE when no condition drops a bad one.
static uint32_t choose_next(const search *s, const guard *g, const bool *is_passed_over) {
  double best = 0;
  uint32_t next = NONE, bad = count_kept(s, g, 0), good = count_kept(s, g, 1);
  for (uint32_t i = 0; i < s->count; i++) {
    guard more = *g;
    if (is_passed_over[i]) continue;
    more.parts[more.part_count++] = i;
    uint32_t bad_left = count_kept(s, &more, 0), good_left = count_kept(s, &more, 1);
    double own = (double)good_left / (good + 1) - (double)bad_left / bad;
    if (bad_left == bad || own <= best) continue;
    best = own;
    next = i;
  }
  return next;
}

/// Builds a guard of several conditions one after the other; the caller must accept each.
static egraph_status choose_one_by_one(search *s, guard *out, uint32_t *out_count) {
  guard g = {.part_count = 0};
  bool *is_passed_over;
  *out_count = 0;
  EG_NEW(&s->arena, s->count, is_passed_over);
  while (count_kept(s, &g, 0) != 0 && g.part_count < MAX_PARTS) {
    uint32_t next = choose_next(s, &g, is_passed_over);
    if (next == NONE) break;
    bool is_accepted;
    is_passed_over[next] = true;
    g.parts[g.part_count++] = next;
    EG_TRY(ask_caller(s, &g, &is_accepted));
    if (!is_accepted) g.part_count--;
  }
  g.keeps = count_kept(s, &g, 1);
  if (count_kept(s, &g, 0) == 0) offer_guard(out, out_count, g);
  return EGRAPH_OK;
}

// ---- alternatives of a guard ----------------------------------------------------------

/// True when the guard names a tensor; alternatives are searched only then.
static bool speaks_of_tensors(const search *s, const guard *g) {
  for (uint32_t i = 0; i < s->rule->var_count; i++)
    for (uint32_t k = 0; k < g->part_count; k++)
      if (s->rule->vars[i].kind == EG_RULE_TENSOR &&
          strstr(s->list[g->parts[k]].text, s->rule->vars[i].name) != NULL)
        return true;
  return false;
}

/// Returns the condition that keeps most instances that hold and that `covered` lacks,
/// and none that fails; NULL when it keeps too few.
static const condition *choose_other(const search *s, const uint64_t covered[WORDS]) {
  const condition *best = NULL;
  uint32_t most = s->seen[1] / s->how->share;
  for (uint32_t i = 0; i < s->count; i++) {
    uint32_t count = 0;
    for (uint32_t k = 0; k < WORDS && s->list[i].count[0] == 0; k++)
      count += (uint32_t)__builtin_popcountll(s->list[i].kept[1][k] & ~covered[k]);
    if (count <= most) continue;
    most = count;
    best = &s->list[i];
  }
  return best;
}

/// Appends alternative conditions that verification confirms on their own. Instances of a
/// refuted condition count as covered, too, so no other condition is tried for them.
static egraph_status print_others(const search *s, const guard *g, eg_text *out) {
  uint64_t covered[WORDS];
  for (uint32_t i = 0; i < WORDS; i++) {
    covered[i] = UINT64_MAX;
    for (uint32_t k = 0; k < g->part_count; k++)
      covered[i] &= s->list[g->parts[k]].kept[1][i];
  }
  for (uint32_t n = 0; n < s->how->others; n++) {
    const condition *other = choose_other(s, covered);
    bool holds;
    if (other == NULL) return EGRAPH_OK;
    EG_TRY(verify_variant(s, &other->text, 1, SEEDS, NULL, &holds));
    if (holds) EG_TRY(eg_text_printf(out, " %s", other->text));
    for (uint32_t i = 0; i < WORDS; i++)
      covered[i] |= other->kept[1][i];
  }
  return EGRAPH_OK;
}

/// Prints the guard, or (or GUARD CONDITION ...) when other conditions can replace it.
static egraph_status print_with_others(const search *s, const guard *g, eg_text *out) {
  if (s->how == NULL || !speaks_of_tensors(s, g)) return print_guard(s, g, out);
  EG_LOCAL(eg_text, own, s->alloc);
  EG_LOCAL(eg_text, others, s->alloc);
  EG_TRY(print_guard(s, g, &own));
  EG_TRY(print_others(s, g, &others));
  if (others.chars.len == 0) return eg_text_append(out, eg_text_of(&own));
  return eg_text_printf(out, g->part_count > 1 ? "(or (and %s)%s)" : "(or %s%s)",
                        eg_text_of(&own), eg_text_of(&others));
}

// ---- a rule that does not hold --------------------------------------------------------

/// Returns how many of the best guards keep at least one of `share` instances on which
/// the rule holds.
static uint32_t drop_narrow(const search *s, const guard *best, uint32_t count,
                            uint32_t share) {
  while (count > 0 && best[count - 1].keeps * share < s->seen[0] + s->seen[1])
    count--;
  return count;
}

/// Finds a guard that keeps at least one of `share` instances on which the rule holds.
static egraph_status find_widest_guard(search *s, uint32_t share, eg_text *text,
                                       eg_text *detail, bool *out) {
  guard best[TRIALS];
  const guard *found;
  EG_TRY(draw_guard_instances(s, NULL));
  uint32_t count = choose_single(s, 0, best);
  uint32_t few[FEW], few_count = choose_few(s, few);
  for (uint32_t size = 2; size <= SET_PARTS; size++)
    offer_sets(s, few, few_count, 0, size, (guard){.part_count = 0}, best, &count);
  EG_TRY(confirm(s, best, drop_narrow(s, best, count, share), &found));
  if (found == NULL && s->how != NULL) {
    EG_TRY(choose_one_by_one(s, best, &count));
    EG_TRY(confirm(s, best, drop_narrow(s, best, count, share), &found));
  }
  *out = found != NULL;
  if (found == NULL) return EGRAPH_OK;
  EG_TRY(print_with_others(s, found, text));
  return detail == NULL
             ? EGRAPH_OK
             : eg_text_printf(detail, "%s; kept by %u of %u instances on which it holds",
                              eg_text_of(text), found->keeps, s->seen[1]);
}

// ---- conditions of a rule that holds -------------------------------------------------

/// True for a condition that says when a rule is useful, not when it holds.
static bool is_steering(const eg_rule *rule, uint32_t expr) {
  return eg_rule_calls(rule, expr, EG_RULE_FN_BEFORE) ||
         eg_rule_calls(rule, expr, EG_RULE_FN_IS_CONCAT) ||
         eg_rule_calls(rule, expr, EG_RULE_FN_IS_CONV) ||
         eg_rule_calls(rule, expr, EG_RULE_FN_WEIGHT_ONLY);
}

/// Finds a weaker replacement of condition `at` of the rule. Sets *out_weaker when there
/// is one; an empty `text` means that no condition is necessary.
static egraph_status weaken(search *s, uint32_t at, const char *own, eg_text *text,
                            bool *out_weaker) {
  guard best[TRIALS];
  const guard *found;
  *out_weaker = false;
  s->is_left_out[at] = true;
  EG_TRY(draw_guard_instances(s, own));
  if (s->count == 0 || s->seen[1] == 0) return EGRAPH_OK;
  if (s->seen[0] == 0) {
    EG_TRY(verify_variant(s, NULL, 0, SEEDS, NULL, out_weaker));
    return EGRAPH_OK;
  }
  uint32_t count = choose_single(s, 1, best);
  while (count > 0 && best[count - 1].keeps <= s->list[0].count[1])
    count--;
  EG_TRY(confirm(s, best, count, &found));
  *out_weaker = found != NULL;
  return found != NULL ? print_guard(s, found, text) : EGRAPH_OK;
}

/// Replaces conditions of a rule by weaker ones in turn; earlier replacements stay.
static egraph_status weaken_all(search *s, eg_text *guard_text, eg_text *detail,
                                bool *out_weaker) {
  *out_weaker = false;
  for (uint32_t i = 0; i < s->rule->condition_count; i++) {
    bool is_weaker;
    if (is_steering(s->rule, s->rule->conditions[i])) continue;
    EG_LOCAL(eg_text, own, s->alloc);
    EG_LOCAL(eg_text, text, s->alloc);
    EG_TRY(eg_rule_print_expr(&own, s->rule, s->rule->conditions[i]));
    EG_TRY(weaken(s, i, eg_text_of(&own), &text, &is_weaker));
    bool is_dropped = is_weaker && text.chars.len == 0;
    s->is_left_out[i] = is_dropped;
    if (!is_weaker) continue;
    eg_text_printf(detail, is_dropped ? "%s%s is not needed" : "%s%s may be %s",
                   *out_weaker ? "; " : "", eg_text_of(&own), eg_text_of(&text));
    if (!is_dropped)
      eg_text_printf(guard_text, "%s%s", *out_weaker ? " " : "", eg_text_of(&text));
    *out_weaker = true;
  }
  EG_TRY(eg_text_status(guard_text));
  return eg_text_status(detail);
}

// ---- one rule -------------------------------------------------------------------------

/// Reads the first case of the rule, as printed.
static egraph_status set_rule(search *s, const eg_rule *from) {
  eg_sexpr *forms;
  eg_rule *rule;
  EG_NEW(&s->arena, 1, rule);
  *rule = *from;
  rule->schema = NULL;
  s->rule = rule;
  EG_NEW(&s->arena, 1, forms);
  EG_NEW(&s->arena, (size_t)rule->condition_count + 1, s->is_left_out);
  EG_LOCAL(eg_text, text, s->alloc);
  EG_TRY(eg_rule_print(&text, rule));
  EG_TRY(eg_sexpr_parse(&s->arena, rule->file, eg_text_of(&text), text.chars.len, forms));
  s->form = &forms->children[0];
  return EGRAPH_OK;
}

typedef struct answer {
  eg_guard_outcome outcome;
  eg_text guard, detail;
} answer;

EG_OWNER_DEFINE_STATIC(answer, (eg_text, guard, detail))

static egraph_status check_rule(egraph_allocator alloc, const eg_rule *rule,
                                uint64_t seed, answer *out) {
  EG_LOCAL(search, s, alloc);
  s.alloc = alloc;
  bool holds, found = false;
  s.seed = seed;
  EG_TRY(set_rule(&s, rule));
  EG_TRY(verify_variant(&s, NULL, 0, 1, &out->detail, &holds));
  if (holds) {
    EG_TRY(weaken_all(&s, &out->guard, &out->detail, &found));
    out->outcome = found ? EG_GUARD_WEAKER : EG_GUARD_HOLDS;
    return EGRAPH_OK;
  }
  EG_LOCAL(eg_text, why, alloc);
  EG_TRY(find_widest_guard(&s, INSTANCES, &out->guard, &why, &found));
  out->outcome = found ? EG_GUARD_HOLDS_IF : EG_GUARD_REFUTED;
  if (!found) return EGRAPH_OK;
  eg_text_clear(&out->detail);
  return eg_text_append(&out->detail, eg_text_of(&why));
}

egraph_status eg_guards_check(const eg_rules *rules, uint64_t seed,
                              void (*report)(void *user, const eg_guard_finding *finding),
                              void *user) {
  egraph_allocator alloc = eg_rules_allocator(rules);
  for (uint32_t i = 0; i < eg_rules_count(rules); i++) {
    const eg_rule *rule = eg_rules_at(rules, i);
    if (rule->reversed || rule->move_count != 0) continue;
    EG_LOCAL(answer, found, alloc);
    EG_LOCAL(eg_text, text, alloc);
    EG_TRY(check_rule(alloc, rule, seed, &found));
    bool has_detail = found.detail.chars.len > 0;
    if (rule->schema != NULL) // only one case of a rule with parameters was checked
      eg_text_append(&text, has_detail ? "its first case: " : "its first case");
    EG_TRY(eg_text_append(&text, eg_text_of(&found.detail)));
    report(user, &(eg_guard_finding){.rule = rule->name,
                                     .outcome = found.outcome,
                                     .guard = eg_text_of(&found.guard),
                                     .detail = eg_text_of(&text)});
  }
  return EGRAPH_OK;
}

egraph_status eg_guard_find(egraph_allocator alloc, const eg_rule *rule,
                            const eg_guard_search *how, eg_text *guard_text,
                            bool *out_found) {
  assert(how->share > 0);
  EG_LOCAL(search, s, alloc);
  s.alloc = alloc;
  s.seed = how->seed;
  s.how = how;
  *out_found = false;
  EG_TRY(set_rule(&s, rule));
  return find_widest_guard(&s, how->share, guard_text, NULL, out_found);
}
