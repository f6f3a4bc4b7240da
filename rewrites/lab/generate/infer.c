// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/generate/infer.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "rewrites/lab/basis/owned.h"
#include "rewrites/lab/guards/guards.h"
#include "rewrites/language/rules.h"
#include "rewrites/saturation/rule_eval.h"

// Limits: choices of expressions that are verified, and choices for which conditions are
// searched. At least one of GUARD_SHARE instances must satisfy a guard.
enum { MAX_CHOICES = 24, MAX_GUARDED = 2, GUARD_SHARE = 512, MAX_PLACES = 64 };

/// The settings of each attempt to infer a rule. If `is_shared`, attributes with equal
/// values in all members share a variable; otherwise each attribute has its own.
static const struct {
  bool is_shared, is_guarded;
  uint32_t choices;
} STEPS[EG_INFER_STEPS] = {
    [EG_INFER_PLAIN] = {false, false, MAX_CHOICES},
    [EG_INFER_SHARED_FIRST] = {true, false, 1},
    [EG_INFER_GUARDED] = {false, true, MAX_GUARDED},
    [EG_INFER_SHARED] = {true, false, MAX_CHOICES},
    [EG_INFER_SHARED_GUARDED] = {true, true, MAX_GUARDED},
};

EG_VEC_DEFINE(atom_vec, eg_fit_atom);
EG_VEC_DEFINE(target_vec, eg_fit_target);

/// Texts that replace attribute values of both sides, by number of the attribute in
/// writing order; NULL: the value stays.
typedef struct place_texts {
  const char *left[MAX_PLACES], *right[MAX_PLACES];
} place_texts;

typedef struct inference {
  const eg_judge_options *options;
  eg_arena *arena;
  const eg_draft *members[EG_FIT_MEMBERS];
  uint32_t count, must; // number of members, and the member that is the draft
  eg_draft_places left[EG_FIT_MEMBERS], right[EG_FIT_MEMBERS]; // places of each member
  eg_draft *draft;
  eg_lift lift;
  place_texts texts;
  atom_vec atoms;
  target_vec targets;
  uint32_t target_places[MAX_PLACES]; // places on the right side
} inference;

static void inference_init(inference *n, egraph_allocator alloc) {
  *n = (inference){.count = 0};
  atom_vec_init(&n->atoms, alloc);
  target_vec_init(&n->targets, alloc);
  for (uint32_t i = 0; i < EG_FIT_MEMBERS; i++) {
    eg_draft_places_init(&n->left[i], alloc);
    eg_draft_places_init(&n->right[i], alloc);
  }
}

static void inference_deinit(inference *n) {
  for (uint32_t i = 0; i < EG_FIT_MEMBERS; i++) {
    eg_draft_places_deinit(&n->left[i]);
    eg_draft_places_deinit(&n->right[i]);
  }
  target_vec_deinit(&n->targets);
  atom_vec_deinit(&n->atoms);
}

static eg_rule_value place_value(const eg_draft_place *place) {
  return eg_rule_value_of_attr(place->op, place->slot, place->value);
}

static eg_space_term left_of(const eg_draft *draft) {
  eg_space_term left;
  (void)eg_term_space_decode(draft->space, draft->left, &left);
  return left;
}

static const char *attribute_name(const eg_draft_place *place) {
  return eg_op_info_of(place->op)->attrs[place->slot].name;
}

static egraph_status print_into(eg_arena *arena, const char *form, uint32_t number,
                                const char **out) {
  char text[32];
  int length = snprintf(text, sizeof text, form, (unsigned)number);
  return eg_arena_string(arena, text, (size_t)length, out);
}

// ---- values of the left side ------------------------------------------------------

static bool all_defaults(const inference *n, const eg_draft_places *all, size_t place) {
  for (uint32_t i = 0; i < n->count; i++)
    if (!eg_draft_places_at(&all[i], place)->is_default) return false;
  return true;
}

/// True when two attributes (places) have equal values in every member.
static bool are_equal_places(const inference *n, const eg_draft_places *a, size_t place_a,
                             const eg_draft_places *b, size_t place_b) {
  const eg_draft_place *first = eg_draft_places_at(a, place_a),
                       *second = eg_draft_places_at(b, place_b);
  if (strcmp(attribute_name(first), attribute_name(second)) != 0 ||
      first->value->kind != second->value->kind)
    return false;
  for (uint32_t i = 0; i < n->count; i++) {
    eg_rule_value x = place_value(eg_draft_places_at(&a[i], place_a));
    eg_rule_value y = place_value(eg_draft_places_at(&b[i], place_b));
    if (!eg_rule_values_identical(&x, &y)) return false;
  }
  return true;
}

static bool has_one_value(const inference *n, const eg_draft_places *all, size_t place) {
  eg_rule_value first = place_value(eg_draft_places_at(&all[0], place));
  for (uint32_t i = 1; i < n->count; i++) {
    eg_rule_value other = place_value(eg_draft_places_at(&all[i], place));
    if (!eg_rule_values_identical(&first, &other)) return false;
  }
  return true;
}

static egraph_status list_values(const inference *n, const eg_draft_places *all,
                                 size_t place, const eg_rule_value **out) {
  eg_rule_value *values;
  EG_NEW(n->arena, n->count, values);
  for (uint32_t i = 0; i < n->count; i++)
    values[i] = place_value(eg_draft_places_at(&all[i], place));
  *out = values;
  return EGRAPH_OK;
}

static bool is_computable(const eg_draft_place *place) {
  eg_attr_kind kind = place->value->kind;
  return kind == EG_ATTR_INT || kind == EG_ATTR_INTS || kind == EG_ATTR_FLOAT ||
         kind == EG_ATTR_DTYPE;
}

static egraph_status add_atom(inference *n, const char *text,
                              const eg_rule_value *values) {
  return atom_vec_push(&n->atoms, (eg_fit_atom){.text = text, .values = values});
}

/// Replaces attribute values of the left side by variables; equal attributes share one,
/// or each has its own. *out_shares: some variable is shared.
static egraph_status lift_left(inference *n, bool is_shared, bool *out_shares) {
  *out_shares = false;
  memset(n->texts.left, 0, sizeof n->texts.left);
  for (size_t p = 0; p < n->left[0].len; p++) {
    if (!is_computable(eg_draft_places_at(&n->left[0], p)) || all_defaults(n, n->left, p))
      continue;
    for (size_t k = 0; k < p && is_shared && n->texts.left[p] == NULL; k++)
      if (n->texts.left[k] != NULL && are_equal_places(n, n->left, k, n->left, p))
        n->texts.left[p] = n->texts.left[k];
    *out_shares = *out_shares || n->texts.left[p] != NULL;
    if (n->texts.left[p] != NULL) continue;
    EG_TRY(print_into(n->arena, "?v%u", (uint32_t)p + 1, &n->texts.left[p]));
    const eg_rule_value *values;
    EG_TRY(list_values(n, n->left, p, &values));
    EG_TRY(add_atom(n, n->texts.left[p], values));
  }
  return EGRAPH_OK;
}

/// Lets a constant whose number differs between members be any number.
static egraph_status lift_constant(inference *n, uint32_t variable) {
  eg_rule_value *values;
  const char *text;
  bool is_one = true;
  EG_NEW(n->arena, n->count, values);
  for (uint32_t i = 0; i < n->count; i++) {
    eg_space_term left = left_of(n->members[i]);
    const eg_family *family = eg_term_space_family(n->members[i]->space);
    const eg_family_leaf *leaf = &family->leaves[left.vars[variable]];
    if (!leaf->is_constant) return EGRAPH_OK;
    values[i] = (eg_rule_value){.kind = EG_RULE_FLOAT, .f = leaf->number};
    is_one = is_one && leaf->number == values[0].f;
  }
  if (is_one) return EGRAPH_OK;
  n->lift.splats |= 1u << variable;
  EG_TRY(print_into(n->arena, "(splat ?x%u)", variable + 1, &text));
  return add_atom(n, text, values);
}

static egraph_status lift_constants(inference *n) {
  eg_space_term left = left_of(n->draft);
  n->lift.splats = 0;
  for (uint32_t i = 0; i < left.var_count; i++)
    EG_TRY(lift_constant(n, i));
  return EGRAPH_OK;
}

// ---- sizes ------------------------------------------------------------------------

/// Returns the type of a variable, or of an operator, of a draft.
typedef const eg_type *typed_part(const eg_draft *member, uint32_t part);

static const eg_type *type_of_variable(const eg_draft *member, uint32_t part) {
  eg_space_term left = left_of(member);
  return &eg_term_space_family(member->space)->leaves[left.vars[part]].type;
}

// Finds an operator of a term by its number in writing order. The recursion is at most
// EG_TERM_MAX_SIZE deep.
static const eg_space_term *find_operator(const eg_term_space *space,
                                          const eg_space_term *term, uint32_t *left) {
  if (term->variant == EG_TERM_NONE) return NULL;
  if ((*left)-- == 0) return term;
  const uint32_t operands[2] = {term->a, term->b};
  for (uint32_t i = 0; i < 2; i++) {
    const eg_space_term *found =
        operands[i] == EG_TERM_NONE
            ? NULL
            : find_operator(space, eg_term_space_at(space, operands[i]), left);
    if (found != NULL) return found;
  }
  return NULL;
}

static const eg_type *type_of_operator(const eg_draft *member, uint32_t part) {
  eg_space_term left = left_of(member);
  const eg_space_term *found = find_operator(member->space, &left, &part);
  return found == NULL ? NULL : eg_term_space_type(member->space, found->type);
}

static egraph_status add_shapes(inference *n, typed_part *type_of, uint32_t part,
                                const char *shape, const char *rank) {
  eg_rule_value *shapes, *ranks;
  const char *text;
  EG_NEW(n->arena, n->count, shapes);
  EG_NEW(n->arena, n->count, ranks);
  for (uint32_t i = 0; i < n->count; i++) {
    const eg_type *type = type_of(n->members[i], part);
    if (type == NULL) return EGRAPH_OK;
    shapes[i] = (eg_rule_value){.kind = EG_RULE_INTS,
                                .ints = {.data = type->dims, .len = type->rank}};
    ranks[i] = eg_rule_int(type->rank);
  }
  EG_TRY(print_into(n->arena, shape, part + 1, &text));
  EG_TRY(add_atom(n, text, shapes));
  EG_TRY(print_into(n->arena, rank, part + 1, &text));
  return add_atom(n, text, ranks);
}

static egraph_status add_numbers(inference *n) {
  static const struct {
    const char *text;
    eg_rule_value value;
  } NUMBERS[] = {{"0", {.kind = EG_RULE_INT, .i = 0}},
                 {"1", {.kind = EG_RULE_INT, .i = 1}},
                 {"2", {.kind = EG_RULE_INT, .i = 2}},
                 {"0.0", {.kind = EG_RULE_FLOAT, .f = 0}}};
  for (size_t k = 0; k < sizeof NUMBERS / sizeof *NUMBERS; k++) {
    eg_rule_value *values;
    EG_NEW(n->arena, n->count, values);
    for (uint32_t i = 0; i < n->count; i++)
      values[i] = NUMBERS[k].value;
    EG_TRY(add_atom(n, NUMBERS[k].text, values));
  }
  return EGRAPH_OK;
}

static egraph_status add_sizes(inference *n) {
  eg_space_term left = left_of(n->draft);
  for (uint32_t i = 0; i < left.var_count; i++)
    EG_TRY(add_shapes(n, type_of_variable, i, "(shape ?x%u)", "(rank ?x%u)"));
  for (uint32_t i = 0; i < left.size; i++)
    EG_TRY(add_shapes(n, type_of_operator, i, "(shape ?t%u)", "(rank ?t%u)"));
  return add_numbers(n);
}

// ---- values of the right side -----------------------------------------------------

/// Adds the value of an attribute as an option when all members have this value: as the
/// first option when there are many members, as the second when there are few.
static egraph_status add_literal(inference *n, eg_fit_target *target, size_t place) {
  enum { MANY = 3 };
  const eg_draft_place *at = eg_draft_places_at(&n->right[0], place);
  EG_LOCAL(eg_text, text, n->arena->alloc);
  const char *literal;
  EG_TRY(eg_attr_print(&text, at->op, at->slot, at->value));
  EG_TRY(eg_arena_string(n->arena, eg_text_of(&text), text.chars.len, &literal));
  uint32_t to = n->count >= MANY || target->option_count == 0 ? 0 : 1;
  if (target->option_count < EG_FIT_OPTIONS) target->option_count++;
  for (uint32_t i = target->option_count - 1; i > to; i--)
    target->options[i] = target->options[i - 1];
  target->options[to] = literal;
  return EGRAPH_OK;
}

/// True when an option is the variable of a left-side attribute of the same name.
static bool is_namesake(const inference *n, const char *option, size_t place) {
  for (size_t k = 0; k < n->left[0].len; k++)
    if (n->texts.left[k] != NULL && strcmp(n->texts.left[k], option) == 0 &&
        strcmp(attribute_name(eg_draft_places_at(&n->left[0], k)),
               attribute_name(eg_draft_places_at(&n->right[0], place))) == 0)
      return true;
  return false;
}

/// Moves options that are variables of attributes of the same name to the front. Other
/// attributes, such as strides and dilations, have equal values by chance.
static void put_namesakes_first(const inference *n, eg_fit_target *target, size_t place) {
  uint32_t first = 0;
  for (uint32_t i = 0; i < target->option_count; i++) {
    const char *option = target->options[i];
    if (!is_namesake(n, option, place)) continue;
    for (uint32_t k = i; k > first; k--)
      target->options[k] = target->options[k - 1];
    target->options[first++] = option;
  }
}

static egraph_status find_expressions(inference *n, uint32_t depth) {
  n->targets.len = 0;
  memset(n->texts.right, 0, sizeof n->texts.right);
  for (size_t p = 0; p < n->right[0].len; p++) {
    if (!is_computable(eg_draft_places_at(&n->right[0], p)) ||
        all_defaults(n, n->right, p))
      continue;
    const eg_rule_value *values;
    EG_TRY(list_values(n, n->right, p, &values));
    n->target_places[n->targets.len] = (uint32_t)p;
    EG_TRY(target_vec_push(&n->targets, (eg_fit_target){.values = values}));
  }
  const eg_fit fit = {.members = n->count,
                      .must = n->must,
                      .atoms = n->atoms.data,
                      .atom_count = (uint32_t)n->atoms.len,
                      .targets = n->targets.data,
                      .target_count = (uint32_t)n->targets.len,
                      .depth = depth};
  EG_TRY(eg_expressions_fit(n->arena, &fit));
  for (size_t i = 0; i < n->targets.len; i++) {
    if (has_one_value(n, n->right, n->target_places[i]))
      EG_TRY(add_literal(n, &n->targets.data[i], n->target_places[i]));
    put_namesakes_first(n, &n->targets.data[i], n->target_places[i]);
  }
  return EGRAPH_OK;
}

// ---- choosing ---------------------------------------------------------------------

static uint32_t names_in(const char *text, uint32_t bits) {
  for (const char *at = strstr(text, "?t"); at != NULL; at = strstr(at + 1, "?t"))
    bits |= 1u << (at[2] - '1'); // at most EG_TERM_MAX_SIZE operators
  return bits;
}

static void name_operators(inference *n) {
  n->lift.named = names_in(n->lift.conditions, 0);
  for (size_t p = 0; p < n->right[0].len; p++)
    if (n->texts.right[p] != NULL)
      n->lift.named = names_in(n->texts.right[p], n->lift.named);
}

/// Tries a choice of expressions as a rule; sets *out_done to true to end the search.
typedef egraph_status try_choice(inference *n, bool *out_done);

/// Tries all choices of an option for each target from `at` on whose option numbers have
/// the sum `rest`. The recursion is at most MAX_PLACES deep.
static egraph_status try_choices(inference *n, size_t at, uint32_t rest, uint32_t *budget,
                                 try_choice *visit, bool *out_done) {
  if (*budget == 0 || *out_done) return EGRAPH_OK;
  if (at == n->targets.len) {
    if (rest != 0) return EGRAPH_OK;
    --*budget;
    name_operators(n);
    return visit(n, out_done);
  }
  const eg_fit_target *target = &n->targets.data[at];
  for (uint32_t i = 0; i < target->option_count && i <= rest && !*out_done; i++) {
    n->texts.right[n->target_places[at]] = target->options[i];
    EG_TRY(try_choices(n, at + 1, rest - i, budget, visit, out_done));
  }
  return EGRAPH_OK;
}

static egraph_status choose_all(inference *n, uint32_t budget, try_choice *visit,
                                bool *out_done) {
  uint32_t most = (uint32_t)n->targets.len * (EG_FIT_OPTIONS - 1);
  for (uint32_t sum = 0; sum <= most && budget > 0 && !*out_done; sum++)
    EG_TRY(try_choices(n, 0, sum, &budget, visit, out_done));
  return EGRAPH_OK;
}

// ---- judging ----------------------------------------------------------------------

static egraph_status accept_bare(inference *n, bool *out_done) {
  return eg_judge_accepts(n->options, n->draft, out_done);
}

static egraph_status set_conditions(inference *n, const char *guard) {
  EG_LOCAL(eg_text, text, n->arena->alloc);
  EG_TRY(eg_text_printf(&text, " %s", guard));
  return eg_arena_string(n->arena, eg_text_of(&text), text.chars.len,
                         &n->lift.conditions);
}

/// Sets *out to true when the instance of the draft satisfies the guard: the rule with
/// the guard makes both sides equal.
static egraph_status keeps_instance(void *user, const char *guard, bool *out) {
  inference *n = user;
  const eg_draft bare = {
      .space = n->draft->space, .left = n->draft->left, .right = n->draft->right};
  const eg_draft *list[] = {&bare};
  eg_judge_options options = *n->options;
  EG_LOCAL(eg_rules_own, rules, n->arena->alloc);
  EG_TRY(set_conditions(n, guard));
  EG_TRY(eg_judge_read(n->draft, &rules));
  options.math = EGRAPH_MATH_FAST;
  *out = false;
  if (rules == NULL) return EGRAPH_OK;
  egraph_status status = eg_judge_implied(rules, &options, list, 1, out);
  if (status == EGRAPH_E_TYPE) *out = false;
  return status == EGRAPH_E_TYPE ? EGRAPH_OK : status;
}

static egraph_status find_instance_guard(inference *n, const eg_rule *rule,
                                         bool *out_found) {
  const eg_guard_search how = {.seed = n->options->seed,
                               .share = GUARD_SHARE,
                               .others = 2,
                               .wants = keeps_instance,
                               .user = n};
  EG_LOCAL(eg_text, text, n->arena->alloc);
  *out_found = false;
  egraph_status status = eg_guard_find(n->arena->alloc, rule, &how, &text, out_found);
  n->lift.conditions = "";
  return status == EGRAPH_OK && *out_found ? set_conditions(n, eg_text_of(&text))
                                           : status;
}

/// Classifies conditions of an inferred rule. A rule under conditions on attribute values
/// holds wherever they hold; conditions on shapes may fit the instance by chance.
static eg_guard guard_of(const char *conditions) {
  static const char *const SHAPES[] = {"(rank ", "(dim ",      "(elements ",  "(shape ",
                                       "shape ", "broadcasts", "(same-type ", "splat"};
  for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++)
    if (strstr(conditions, SHAPES[i]) != NULL) return EG_GUARD_SHAPES;
  return EG_GUARD_VALUES;
}

static egraph_status accept_guarded(inference *n, bool *out_done) {
  EG_LOCAL(eg_rules_own, rules, n->arena->alloc);
  eg_space_term left = left_of(n->draft);
  n->lift.named = (1u << left.size) - 1; // conditions may also refer to results
  EG_TRY(eg_judge_read(n->draft, &rules));
  if (rules != NULL) EG_TRY(find_instance_guard(n, eg_rules_at(rules, 0), out_done));
  name_operators(n);
  if (!*out_done) return EGRAPH_OK;
  n->draft->guard = guard_of(n->lift.conditions);
  EG_TRY(eg_judge_accepts(n->options, n->draft, out_done));
  if (!*out_done) n->lift.conditions = "";
  return EGRAPH_OK;
}

/// Replaces an attribute value that the rule need not fix (a default, or a symbol) by a
/// variable, also on the right side and, when shared, in other left-side attributes.
static egraph_status lift_place(inference *n, size_t place, bool is_shared) {
  const char *variable;
  EG_TRY(print_into(n->arena, "?v%u", (uint32_t)place + 1, &variable));
  for (size_t k = place; k < n->left[0].len && (k == place || is_shared); k++)
    if (n->texts.left[k] == NULL && are_equal_places(n, n->left, place, n->left, k))
      n->texts.left[k] = variable;
  for (size_t k = 0; k < n->right[0].len; k++)
    if (n->texts.right[k] == NULL && are_equal_places(n, n->left, place, n->right, k))
      n->texts.right[k] = variable;
  return EGRAPH_OK;
}

/// The attributes [first, end) whose values variables should replace, and how.
typedef struct lifting {
  size_t first, end;
  bool is_shared;
  eg_lift_care care;
} lifting;

/// Replaces fixed attribute values of a range by variables, or none if the rule fails.
static egraph_status lift_places(inference *n, const lifting *how, bool *out) {
  const place_texts before = n->texts;
  bool is_any = false;
  for (size_t p = how->first; p < how->end; p++) {
    if (n->texts.left[p] != NULL || !has_one_value(n, n->left, p)) continue;
    EG_TRY(lift_place(n, p, how->is_shared));
    is_any = true;
  }
  *out = true;
  if (!is_any) return EGRAPH_OK;
  EG_TRY(how->care == EG_LIFT_ACCEPTED ? eg_judge_accepts(n->options, n->draft, out)
                                       : eg_judge_may_hold(n->options, n->draft, out));
  if (!*out) n->texts = before;
  return EGRAPH_OK;
}

/// Replaces all remaining attribute values by variables at once. If the rule then fails,
/// replaces single values, and then each value together with equal values.
static egraph_status lift_rest(inference *n, eg_lift_care care) {
  lifting how = {.end = n->left[0].len, .care = care};
  size_t count = how.end;
  bool all = care == EG_LIFT_NOTHING, one;
  if (!all) EG_TRY(lift_places(n, &how, &all));
  for (size_t i = 0; i < 2 * count && !all; i++) {
    how = (lifting){i % count, i % count + 1, i >= count, care};
    EG_TRY(lift_places(n, &how, &one));
  }
  return EGRAPH_OK;
}

/// Replaces as many attribute values as possible by variables and settles the draft's
/// class; if that fails, settles the draft as it was accepted.
static egraph_status settle_draft(inference *n, bool *out_accepted) {
  const place_texts before = n->texts;
  *out_accepted = false;
  for (int care = 0; care <= EG_LIFT_NOTHING && !*out_accepted; care++) {
    n->texts = before;
    n->draft->class_text = "fast";
    n->draft->both_ways = false;
    EG_TRY(lift_rest(n, (eg_lift_care)care));
    bool is_lifted = memcmp(before.left, n->texts.left, sizeof before.left) != 0;
    if (care == EG_LIFT_NOTHING || is_lifted)
      EG_TRY(eg_judge_settle(n->options, n->draft, out_accepted));
  }
  return EGRAPH_OK;
}

/// Tries combinations of the expressions that fit the attribute values as rules.
static egraph_status try_expressions(inference *n, eg_infer_step step, uint32_t depth,
                                     bool *out_accepted) {
  bool is_guarded = STEPS[step].is_guarded, shares;
  n->atoms.len = 0;
  EG_TRY(lift_left(n, STEPS[step].is_shared, &shares));
  if (STEPS[step].is_shared && !shares) return EGRAPH_OK; // an earlier step tried it
  EG_TRY(lift_constants(n));
  bool is_only = n->atoms.len == 0;
  EG_TRY(add_sizes(n));
  EG_TRY(find_expressions(n, depth));
  if (is_only && n->targets.len == 0 && !is_guarded) return EGRAPH_OK;
  return choose_all(n, STEPS[step].choices, is_guarded ? accept_guarded : accept_bare,
                    out_accepted);
}

// ---- members that fit together --------------------------------------------------------

/// Keeps only the drafts (members) whose bits are set, in order.
static void keep_members(inference *n, uint32_t bits) {
  uint32_t to = 0;
  for (uint32_t i = 0; i < n->count; i++) {
    if ((bits >> i & 1) == 0) continue;
    const eg_draft *member = n->members[i];
    eg_draft_places left = n->left[i], right = n->right[i];
    if (i == n->must) n->must = to;
    n->members[i] = n->members[to];
    n->left[i] = n->left[to];
    n->right[i] = n->right[to];
    n->members[to] = member;
    n->left[to] = left;
    n->right[to++] = right;
  }
  n->count = to;
}

/// When no expression of a value fits all members, keeps the members of the expression
/// that fits most: the others are equal for another reason, or have another right side of
/// the same size. Returns false when no member is dropped, or few are left.
static bool give_up_members(inference *n) {
  enum { FEW = 3 };
  for (size_t i = 0; i < n->targets.len; i++) {
    const eg_fit_target *target = &n->targets.data[i];
    if (target->option_count != 0) continue;
    uint32_t before = n->count;
    keep_members(n, target->most);
    return n->count < before && n->count >= FEW;
  }
  return false;
}

/// Infers a rule with small expressions, then, if no condition is searched, larger ones.
static egraph_status infer_draft(inference *n, eg_infer_step step, bool *out_accepted) {
  enum { SMALL = 1, LARGE = 2 };
  uint32_t most = STEPS[step].choices < MAX_CHOICES ? SMALL : LARGE;
  do {
    for (uint32_t depth = SMALL; depth <= most && !*out_accepted; depth++)
      EG_TRY(try_expressions(n, step, depth, out_accepted));
  } while (!*out_accepted && give_up_members(n));
  return *out_accepted ? settle_draft(n, out_accepted) : EGRAPH_OK;
}

// ---- the members ------------------------------------------------------------------

static egraph_status list_members(inference *n, bool *out_fits) {
  *out_fits = true;
  for (uint32_t i = 0; i < n->count; i++) {
    EG_TRY(eg_draft_list_places(n->members[i], n->members[i]->left, &n->left[i]));
    EG_TRY(eg_draft_list_places(n->members[i], n->members[i]->right, &n->right[i]));
    *out_fits = *out_fits && n->left[i].len == n->left[0].len &&
                n->right[i].len == n->right[0].len && n->left[i].len <= MAX_PLACES &&
                n->right[i].len <= MAX_PLACES;
  }
  return EGRAPH_OK;
}

static egraph_status keep_lift(inference *n) {
  eg_lift *kept;
  place_texts *texts;
  EG_NEW(n->arena, 1, kept);
  EG_NEW(n->arena, 1, texts);
  *texts = n->texts;
  *kept = n->lift;
  kept->left = texts->left;
  kept->right = texts->right;
  n->draft->lift = kept;
  return EGRAPH_OK;
}

egraph_status eg_infer(const eg_judge_options *options, eg_arena *arena,
                       const eg_draft *const *members, uint32_t count, eg_infer_step step,
                       eg_draft *draft, bool *out_accepted) {
  uint32_t all = count < EG_FIT_MEMBERS ? count : EG_FIT_MEMBERS;
  assert(count != 0 && step < EG_INFER_STEPS);
  EG_LOCAL(inference, n, arena->alloc);
  n.options = options;
  n.arena = arena;
  n.count = all;
  n.draft = draft;
  const eg_draft before = *draft;
  n.lift = (eg_lift){.left = n.texts.left, .right = n.texts.right, .conditions = ""};
  *draft = (eg_draft){.space = before.space,
                      .left = before.left,
                      .right = before.right,
                      .lift = &n.lift,
                      .class_text = "fast"};
  for (uint32_t i = 0; i < all; i++) {
    n.members[i] = members[i];
    if (members[i]->left == draft->left && members[i]->right == draft->right) n.must = i;
  }
  bool fits;
  *out_accepted = false;
  egraph_status status = list_members(&n, &fits);
  if (status == EGRAPH_OK && fits) status = infer_draft(&n, step, out_accepted);
  if (status == EGRAPH_OK && *out_accepted) status = keep_lift(&n);
  if (status != EGRAPH_OK || !*out_accepted) *draft = before;
  return status;
}
