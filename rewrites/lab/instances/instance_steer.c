// Steers draws to a class of instances, decides whether an instance is in the class, and
// reports the condition or term at which tries failed.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "rewrites/lab/instances/instance_draw_internal.h"
#include "rewrites/lab/instances/instance_numbers.h"
#include "rewrites/lab/instances/instance_ways.h"

static bool is_of_term(const eg_instance_aim *aim) {
  return aim->subject == EG_INSTANCE_ATTR || aim->subject == EG_INSTANCE_KERNEL ||
         aim->subject == EG_INSTANCE_OPERANDS || aim->subject == EG_INSTANCE_VALUE ||
         aim->subject == EG_INSTANCE_NAMED;
}

enum { MOST_SIZES = 8 };

/// Makes the random choice prefer dimensions that the rule names, and their doubles.
static void add_named_sizes(const eg_verify_draws *draws, eg_verify_choice *choice) {
  const rule_hints *hints = &draws->hints;
  for (uint32_t i = 0; i < hints->size_count && choice->dim_count < MOST_SIZES; i++)
    choice->dims[choice->dim_count++] = hints->sizes[i];
  for (uint32_t i = 0; i < hints->size_count && choice->dim_count < MOST_SIZES; i += 2)
    choice->dims[choice->dim_count++] = 2 * hints->sizes[i];
}

/// Prepares the random choice for a class about an expression's outcome, which may depend
/// on a size that the rule names, on equal dimensions, or on a window, which needs space.
static void prepare_way(eg_verify_draws *draws, eg_verify_choice *choice) {
  uint32_t kind = eg_verify_below(choice, 8);
  if (kind < 3) add_named_sizes(draws, choice);
  if (kind == 3) choice->dims[choice->dim_count++] = 2;
  choice->is_window = kind >= 4;
  choice->is_roomy = kind >= 6;
}

void eg_verify_steer(eg_verify_draws *draws, uint32_t index) {
  eg_verify_choice *choice = &draws->choice;
  choice->aim = NULL;
  choice->put = eg_instance_put;
  choice->fit = eg_instance_fit;
  choice->is_dtype_aimed = draws->aim != NULL && draws->aim->subject == EG_INSTANCE_DTYPE;
  choice->is_roomy = choice->is_grouped = choice->is_window = false;
  choice->is_between = draws->aim != NULL && draws->aim->subject == EG_INSTANCE_BETWEEN;
  choice->special = eg_verify_special_of(draws->aim);
  choice->dim_count = 0;
  choice->rank = 0;
  choice->same_dim = 0;
  choice->few = choice->channels = 0;
  choice->step = choice->start = 0;
  memset(choice->kernel, 0, sizeof choice->kernel);
  if (draws->hints.rank > 0 && eg_rng_below(&draws->rng, 4) != 0)
    choice->rank = eg_rank_beside(draws->hints.rank, choice);
  if (draws->aim == NULL) {
    uint32_t count = draws->hints.size_count;
    bool is_asked = count > 0 && eg_rng_below(&draws->rng, 4) == 0;
    for (uint32_t i = 0; is_asked && i < count; i++)
      choice->dims[choice->dim_count++] = draws->hints.sizes[i];
    if (draws->preferred_dim == 0 || eg_rng_below(&draws->rng, 2) == 0) return;
    choice->dim_count = 2;
    choice->few = choice->dims[0] = draws->preferred_dim;
    choice->dims[1] = 2 * draws->preferred_dim;
    return;
  }
  eg_instance_prepare(draws->aim, choice);
  if (draws->aim->subject == EG_INSTANCE_WAY) prepare_way(draws, choice);
  if (is_of_term(draws->aim) && draws->aim->term == index) choice->aim = draws->aim;
}

void eg_verify_note_obstacle(eg_verify_draws *draws, uint32_t index) {
  const eg_instance_aim *aim = draws->aim;
  const eg_verify_choice *choice = &draws->choice;
  if (aim == NULL) return;
  bool is_in = aim->subject == EG_INSTANCE_DTYPE;
  if (aim->subject == EG_INSTANCE_WAY) {
    is_in = draws->refused != EG_RULE_NONE && eg_verify_can_eval(draws, aim->expr);
  } else if (aim->subject == EG_INSTANCE_BETWEEN || aim->subject == EG_INSTANCE_SPECIAL) {
    is_in = draws->refused != EG_RULE_NONE;
  } else if (is_of_term(aim)) {
    eg_instance_node node = {choice->op, choice->slots, choice->types, choice->count};
    is_in =
        index > aim->term || (index == aim->term && eg_instance_node_is_in(aim, &node));
  } else if (!is_in) {
    is_in = eg_verify_is_bound(draws, aim->var) &&
            eg_instance_type_is_in(aim, &draws->leaves[aim->var].type);
  }
  if (is_in && draws->refused != EG_RULE_NONE)
    draws->refusals[draws->refused]++;
  else if (is_in)
    draws->ill_typed[index]++;
}

eg_special eg_verify_special_of(const eg_instance_aim *aim) {
  if (aim == NULL) return EG_SPECIAL_NONE;
  if (aim->subject == EG_INSTANCE_SPECIAL) return (eg_special)aim->value;
  return eg_instance_is_empty(aim) ? EG_SPECIAL_NOT_FINITE : EG_SPECIAL_NONE;
}

static bool has_special_attr(const eg_verify_instance *instance, uint32_t term,
                             eg_special kind) {
  const eg_rule *rule = instance->rule;
  if (rule->terms[term].is_var) return false;
  const eg_op_info *op = eg_op_info_of(rule->terms[term].op);
  for (uint16_t k = 0; k < op->attr_count; k++)
    if (eg_instance_is_open_number(rule, term, k) &&
        eg_special_is_of_attr(instance->attrs[term]->slots[k].f, kind, op->attrs[k].name))
      return true;
  return false;
}

bool eg_verify_has_special(const eg_verify_instance *instance, eg_special kind) {
  const eg_rule *rule = instance->rule;
  for (uint32_t i = 0; i < rule->var_count; i++) {
    const eg_verify_leaf *leaf = &instance->leaves[i];
    if (eg_verify_is_leaf(rule, i) && leaf->splat && eg_special_is_constant(rule, i) &&
        eg_special_is(leaf->splat_value, kind, leaf->type.dtype))
      return true;
  }
  for (uint32_t i = 0; i < rule->pattern_term_count; i++)
    if (has_special_attr(instance, i, kind)) return true;
  return false;
}

void eg_verify_prefer_dim(eg_verify_draws *draws, int64_t dim) {
  draws->preferred_dim = dim;
}

void eg_verify_aim(eg_verify_draws *draws, const eg_instance_aim *aim) {
  draws->aim = aim;
  for (uint32_t i = 0; i < draws->rule->condition_count; i++)
    draws->refusals[i] = 0;
  for (uint32_t i = 0; i < draws->rule->pattern_term_count; i++)
    draws->ill_typed[i] = 0;
}

bool eg_verify_excludes(const eg_verify_draws *draws, const eg_instance_aim *aim) {
  const rule_hints *hints = &draws->hints;
  if (aim->subject == EG_INSTANCE_DTYPE) return (hints->dtypes >> aim->value & 1) == 0;
  if (aim->subject != EG_INSTANCE_RANK) return false;
  return eg_instance_least_rank(aim) > hints->vars[aim->var].max_rank ||
         eg_instance_most_rank(aim) < hints->vars[aim->var].min_rank;
}

// Returns the condition or term at which tries failed, at the last term that a try
// reached: the condition that was false most often there, or else the ill-typed term.
eg_verify_obstacle eg_verify_obstacle_of(const eg_verify_draws *draws) {
  eg_verify_obstacle found = {EG_RULE_NONE, EG_RULE_NONE};
  uint32_t last = 0, most = 0;
  for (uint32_t i = 0; i < draws->rule->pattern_term_count; i++)
    if (draws->ill_typed[i] > 0) found.term = last = i;
  for (uint32_t i = 0; i < draws->rule->condition_count; i++) {
    uint32_t term = draws->hints.condition_terms[i], count = draws->refusals[i];
    if (count == 0 || term < last || (term == last && count <= most)) continue;
    last = term;
    most = count;
    found = (eg_verify_obstacle){i, EG_RULE_NONE};
  }
  return found;
}

static bool has_integers(const eg_verify_instance *instance) {
  const eg_rule *rule = instance->rule;
  for (uint32_t i = 0; i < rule->var_count; i++)
    if (eg_verify_is_leaf(rule, i) && eg_dtype_is_float(instance->leaves[i].type.dtype))
      return false;
  return true;
}

static bool leaves_are_in(const eg_verify_instance *instance, egraph_dtype dtype) {
  const eg_rule *rule = instance->rule;
  for (uint32_t i = 0; i < rule->var_count; i++)
    if (eg_verify_is_leaf(rule, i) && instance->leaves[i].index_bound == 0 &&
        instance->leaves[i].type.dtype == dtype)
      return true;
  return false;
}

bool eg_verify_is_in(const eg_verify_instance *instance, const eg_instance_aim *aim) {
  if (aim->subject == EG_INSTANCE_DTYPE)
    return leaves_are_in(instance, (egraph_dtype)aim->value);
  if (aim->subject == EG_INSTANCE_WAY) return eg_way_is_gone(instance->env, aim);
  if (aim->subject == EG_INSTANCE_BETWEEN)
    return has_integers(instance) == (aim->value != 0) &&
           eg_instance_are_between(instance->rule, instance->attrs);
  if (aim->subject == EG_INSTANCE_SPECIAL)
    return instance->special == (eg_special)aim->value;
  if (!is_of_term(aim))
    return eg_instance_type_is_in(aim, &instance->leaves[aim->var].type);
  const eg_rule_term *term = &instance->rule->terms[aim->term];
  eg_type types[EG_VERIFY_MAX_OPERANDS];
  eg_verify_operand_types(instance, aim->term, types);
  eg_instance_node node = {term->op, instance->attrs[aim->term]->slots, types,
                           term->child_count};
  return eg_instance_node_is_in(aim, &node);
}

uint32_t eg_verify_axis_rank(eg_verify_draws *draws) {
  const eg_instance_aim *aim = draws->aim;
  if (aim == NULL || aim->subject != EG_INSTANCE_NAMED) return 0;
  const eg_op_info *op = eg_op_info_of(draws->rule->terms[aim->term].op);
  if (strcmp(op->attrs[aim->slot].name, "axis") != 0) return 0;
  double axis = aim->number + (double)aim->value, least = axis < 0 ? -axis : axis + 1;
  uint32_t rank = least <= EGRAPH_MAX_RANK ? (uint32_t)least : EGRAPH_MAX_RANK;
  return rank < EGRAPH_MAX_RANK ? rank + eg_verify_below(&draws->choice, 2) : rank;
}
