// A draw walks the left side in its order, children first. For every term it chooses what
// is still free (attributes, types of class variables that occur first here), infers its
// type, and evaluates the conditions that are decidable by then, and chooses again a few
// times when something does not fit. The cost is therefore the sum, not the product, of
// the tries for all terms and conditions. Most tries fail and a walk only needs the facts
// of tensors, so only complete left sides are added to an e-graph.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/instances/instance_draw_internal.h"

#include <math.h>

#include "base/status.h"
#include "rewrites/lab/instances/instance_numbers.h"

// PART_AXES: concatenated operands may differ in one of the last PART_AXES dimensions.
enum { TRIES_PER_TERM = 24, DTYPE_TRIES = 8, PART_AXES = 4 };

// ---- choosing one term --------------------------------------------------------------

static bool eval(eg_verify_draws *draws, uint32_t expr, eg_rule_value *out) {
  return eg_verify_can_eval(draws, expr) && eg_rule_eval(&draws->env, expr, out);
}

// Sets the attributes of a term whose values are known before anything is chosen.
static void set_known_slots(eg_verify_draws *draws, const eg_rule_term *term) {
  eg_verify_choice *choice = &draws->choice;
  for (uint16_t i = 0; i < choice->info->attr_count; i++) {
    const eg_rule_slot *slot = &term->slots[i];
    eg_rule_value value;
    choice->slot_set[i] = false;
    if (slot->form == EG_RULE_SLOT_LITERAL) {
      choice->slots[i] = slot->literal;
      choice->slot_set[i] = true;
    } else if (slot->form == EG_RULE_SLOT_VAR && eg_verify_is_bound(draws, slot->index)) {
      choice->slot_set[i] = eg_rule_attr_of_value(
          term->op, i, &draws->env.vars[slot->index], &choice->slots[i]);
    } else if (slot->form == EG_RULE_SLOT_EXPR && eval(draws, slot->index, &value)) {
      choice->slot_set[i] = eg_rule_attr_of_value(term->op, i, &value, &choice->slots[i]);
    } else if (slot->form == EG_RULE_SLOT_VAR &&
               (choice->aim == NULL || choice->aim->slot != i) &&
               draws->hints.vars[slot->index].equals != EG_RULE_NONE &&
               eg_rng_below(&draws->rng, 100) < 80 &&
               eval(draws, draws->hints.vars[slot->index].equals, &value)) {
      choice->slot_set[i] = eg_rule_attr_of_value(term->op, i, &value, &choice->slots[i]);
    }
  }
}

/// Steers the choice of a tensor variable if the class of instances `aim` is about it.
static void aim_at_leaf(eg_verify_draws *draws, uint32_t var, uint32_t operand) {
  const eg_instance_aim *aim = draws->aim;
  eg_verify_choice *choice = &draws->choice;
  bool is_rank = aim != NULL && aim->subject == EG_INSTANCE_RANK;
  bool is_dims = aim != NULL && aim->subject == EG_INSTANCE_DIMS;
  if ((!is_rank && !is_dims) || aim->var != var) return;
  choice->fit_aim[operand] = aim;
  if (is_rank)
    choice->min_rank[operand] = choice->max_rank[operand] = eg_instance_rank(aim, choice);
}

/// Requires a rank of a drawn operand, if the operand may have it. 0: any rank.
static void require_rank(eg_verify_choice *choice, uint32_t operand, uint32_t rank) {
  if (rank >= choice->min_rank[operand] && rank <= choice->max_rank[operand] && rank > 0)
    choice->min_rank[operand] = choice->max_rank[operand] = rank;
}

/// True for the term that the current class of instances is about, and often for other
/// terms with its operator, which may have to follow.
static bool fits_operands(eg_verify_draws *draws, const eg_rule_term *term) {
  const eg_instance_aim *aim = draws->aim;
  if (aim == NULL || aim->subject != EG_INSTANCE_OPERANDS) return false;
  const eg_rule_term *aimed = &draws->rule->terms[aim->term];
  return term == aimed || (term->op == aimed->op && eg_rng_below(&draws->rng, 4) != 0);
}

static void set_known_types(eg_verify_draws *draws, const eg_rule_term *term) {
  eg_verify_choice *choice = &draws->choice;
  choice->count = term->child_count;
  eg_verify_follow_first(draws, term);
  for (uint32_t i = 0; i < term->child_count; i++) {
    const eg_rule_term *child = &draws->rule->terms[term->children[i]];
    bool fresh = child->is_var && !eg_verify_is_bound(draws, child->var);
    choice->type_set[i] = !fresh;
    choice->fit_aim[i] = NULL;
    uint32_t like = fresh ? draws->hints.vars[child->var].like : EG_RULE_NONE;
    bool has_like = like != EG_RULE_NONE && eg_verify_is_bound(draws, like);
    choice->like[i] = has_like ? &draws->leaves[like].type : NULL;
    choice->wanted[i] = fresh ? eg_verify_operand_of_layer(draws, child->var) : NULL;
    choice->min_rank[i] = fresh ? draws->hints.vars[child->var].min_rank : 0;
    choice->max_rank[i] =
        fresh ? draws->hints.vars[child->var].max_rank : EGRAPH_MAX_RANK;
    if (fresh) require_rank(choice, i, choice->rank);
    if (fresh && i == 0) require_rank(choice, 0, eg_verify_axis_rank(draws));
    if (fresh) aim_at_leaf(draws, child->var, i);
    if (fresh && fits_operands(draws, term)) choice->fit_aim[i] = draws->aim;
    if (fresh) continue;
    choice->types[i] = draws->facts[eg_verify_operand_of(draws, term, i).id].type;
  }
}

static double ordinary_splat(eg_verify_draws *draws) {
  static const double values[] = {-1, -2, -0.5, 0, 1, 2, 0.5, 3, 6, 0.25, 1e-5};
  static const double beside[] = {0.5, 1, 1.5, 2};
  uint32_t count = draws->hints.number_count;
  if (count > 0 && eg_rng_below(&draws->rng, 100) < 15) {
    double near = draws->hints.numbers[eg_rng_below(&draws->rng, count)];
    near *= beside[eg_rng_below(&draws->rng, 4)];
    if (isfinite(near)) return near;
  }
  return values[eg_rng_below(&draws->rng, sizeof values / sizeof *values)];
}

/// Draws the number that fills a tensor; its reciprocal does not overflow, unless the
/// class asks for special constants. Next to operands without elements, half of the
/// numbers are 0 or -1, at which functions may become infinite.
static double random_splat(eg_verify_draws *draws, uint32_t var, egraph_dtype dtype) {
  eg_special special = eg_verify_special_of(draws->aim);
  bool is_empty = draws->aim != NULL && eg_instance_is_empty(draws->aim);
  if (is_empty && eg_rng_below(&draws->rng, 2) == 0)
    return -(double)eg_rng_below(&draws->rng, 2);
  if (special != EG_SPECIAL_NONE && eg_special_is_constant(draws->rule, var) &&
      eg_rng_below(&draws->rng, 4) != 0)
    return eg_special_draw(&draws->rng, special, dtype);
  double number = ordinary_splat(draws);
  bool is_tiny = number != 0 && fabs(number) < 1e-3;
  return is_tiny && dtype == EGRAPH_FLOAT16 ? 1e-3 : number;
}

static bool wanted(eg_verify_draws *draws, wish_state wish, uint32_t percent) {
  if (wish != WISH_MAYBE) return wish == WISH_YES;
  return eg_rng_below(&draws->rng, 100) < percent;
}

static void set_role(eg_verify_draws *draws, uint32_t var, eg_verify_leaf *leaf) {
  const var_hint *hint = &draws->hints.vars[var];
  leaf->constant = hint->weight == WISH_YES;
  leaf->weight = wanted(draws, hint->weight, 25);
  leaf->splat = leaf->index_bound == 0 && hint->weight != WISH_NO &&
                eg_type_elements(&leaf->type) <= EG_VERIFY_SPLAT_ELEMENTS &&
                wanted(draws, hint->splat, 8);
  if (!leaf->splat) return;
  leaf->weight = true;
  leaf->splat_value = random_splat(draws, var, leaf->type.dtype);
  if (leaf->variance) leaf->splat_value = fabs(leaf->splat_value);
  eg_rule_value value;
  if (hint->splat_value != EG_RULE_NONE && eval(draws, hint->splat_value, &value))
    leaf->splat_value = eg_rule_number(&value);
}

// True when all types are valid: sizes near the sizes that a rule requires may overflow.
static bool types_fit(const eg_verify_choice *choice) {
  for (uint32_t i = 0; i < choice->count; i++)
    if (choice->types[i].rank > EGRAPH_MAX_RANK ||
        eg_type_check(&choice->types[i]) != EGRAPH_OK)
      return false;
  return true;
}

/// Makes a leaf that is filled with one number a valid index for every dimension, if the
/// rule requires one number.
static void set_index_role(eg_verify_draws *draws, uint32_t var, const eg_type *table,
                           eg_verify_leaf *leaf) {
  if (draws->hints.vars[var].splat != WISH_YES || table->rank == 0) return;
  int64_t least = table->dims[0];
  for (uint32_t i = 1; i < table->rank; i++)
    if (table->dims[i] < least) least = table->dims[i];
  if (least == 0) return;
  leaf->weight = leaf->splat = true;
  leaf->splat_value =
      (double)eg_rng_below(&draws->rng, 2 * (uint64_t)least) - (double)least;
}

static void bind_fresh_leaves(eg_verify_draws *draws, const eg_rule_term *term) {
  eg_verify_choice *choice = &draws->choice;
  for (uint32_t i = 0; i < term->child_count; i++) {
    const eg_rule_term *child = &draws->rule->terms[term->children[i]];
    if (!child->is_var || eg_verify_is_bound(draws, child->var)) continue;
    eg_verify_leaf *leaf = &draws->leaves[child->var];
    *leaf = (eg_verify_leaf){.type = choice->types[i]};
    bool is_index = eg_op_role(term->op, i) == EG_ROLE_INDICES;
    if (is_index) leaf->index_bound = 1;
    leaf->variance = eg_op_role(term->op, i) == EG_ROLE_VARIANCE;
    set_role(draws, child->var, leaf);
    if (is_index && term->op == EG_OP_GATHER)
      set_index_role(draws, child->var, &choice->types[0], leaf);
    eg_verify_bind_leaf(draws, child->var);
    draws->bound |= UINT64_C(1) << child->var;
  }
}

// Returns the type of one of the tensor variables drawn so far, or NULL.
static const eg_type *draw_model(eg_verify_draws *draws) {
  const eg_type *model = NULL;
  uint32_t seen = 0;
  for (uint32_t i = 0; i < draws->rule->var_count; i++)
    if (draws->rule->vars[i].pattern_var != EG_RULE_NONE &&
        eg_verify_is_bound(draws, i) && eg_rng_below(&draws->rng, ++seen) == 0)
      model = &draws->leaves[i].type;
  return model;
}

// Returns the first attribute slot up to `slot` that has the same variable as `slot`.
static uint16_t first_slot_of(const eg_rule_term *term, uint16_t slot) {
  for (uint16_t i = 0; i < slot; i++)
    if (term->slots[i].form == EG_RULE_SLOT_VAR &&
        term->slots[i].index == term->slots[slot].index)
      return i;
  return slot;
}

// Sets attributes of a term that must equal a known value: computed attributes, variables
// that the term has twice, and mostly variables for which a condition requires a value.
static void settle_slots(eg_verify_draws *draws, const eg_rule_term *term) {
  eg_verify_choice *choice = &draws->choice;
  for (uint16_t i = 0; i < choice->info->attr_count; i++) {
    const eg_rule_slot *slot = &term->slots[i];
    uint32_t expr = EG_RULE_NONE;
    eg_rule_value value;
    if (slot->form == EG_RULE_SLOT_EXPR) expr = slot->index;
    bool is_aimed = choice->aim != NULL && choice->aim->slot == i;
    if (slot->form == EG_RULE_SLOT_VAR && !eg_verify_is_bound(draws, slot->index) &&
        !is_aimed && eg_rng_below(&draws->rng, 100) < 80)
      expr = draws->hints.vars[slot->index].equals;
    if (slot->form == EG_RULE_SLOT_VAR)
      choice->slots[i] = choice->slots[first_slot_of(term, i)];
    eg_attr attr;
    if (expr != EG_RULE_NONE && eval(draws, expr, &value) &&
        eg_rule_attr_of_value(term->op, i, &value, &attr))
      choice->slots[i] = attr;
  }
}

/// Infers the type of the chosen node; *out_ok is false when it has none.
static egraph_status infer_node(eg_verify_draws *draws, uint32_t index, bool *out_ok) {
  const eg_rule_term *term = &draws->rule->terms[index];
  const eg_verify_choice *choice = &draws->choice;
  const eg_tensor_fact *operands[EG_VERIFY_MAX_OPERANDS];
  for (uint32_t i = 0; i < term->child_count; i++)
    operands[i] = &draws->facts[eg_verify_operand_of(draws, term, i).id];
  eg_attrs attrs = {.op = (uint16_t)term->op,
                    .count = choice->info->attr_count,
                    .slots = choice->slots};
  eg_class tensor = eg_verify_tensor_of_term(draws, index);
  egraph_status status = eg_tensor_egraph_infer(
      draws->egraph, &attrs, operands, term->child_count, &draws->facts[tensor.id]);
  *out_ok = status == EGRAPH_OK;
  if (!*out_ok) return status == EGRAPH_E_TYPE ? EGRAPH_OK : status;
  eg_attrs_id id;
  EG_TRY(eg_attr_pool_add(eg_tensor_egraph_attrs(draws->egraph), &attrs, &id));
  draws->attrs[index] = eg_tensor_egraph_attrs_at(draws->egraph, id.id);
  draws->classes[index] = tensor;
  return EGRAPH_OK;
}

// ---- conditions -----------------------------------------------------------------

// True when attributes of a term equal the rule's expressions for them, if these
// are known.
static bool slots_agree(eg_verify_draws *draws, uint32_t index) {
  const eg_rule_term *term = &draws->rule->terms[index];
  for (uint16_t i = 0; i < draws->attrs[index]->count; i++) {
    eg_rule_value is, wants;
    if (term->slots[i].form != EG_RULE_SLOT_EXPR ||
        !eg_verify_can_eval(draws, term->slots[i].index))
      continue;
    is = eg_rule_value_of_attr(term->op, i, &draws->attrs[index]->slots[i]);
    if (!eg_rule_eval(&draws->env, term->slots[i].index, &wants) ||
        !eg_rule_values_equal(&draws->env, &is, &wants))
      return false;
  }
  return true;
}

static bool conditions_hold(eg_verify_draws *draws, uint32_t index) {
  if (!eg_verify_bind_lets(draws)) return false;
  for (uint32_t i = 0; i <= index; i++)
    if (!draws->rule->terms[i].is_var && !slots_agree(draws, i)) return false;
  for (uint32_t i = 0; i < draws->rule->condition_count; i++)
    if (draws->hints.condition_terms[i] == index &&
        !eg_rule_holds(&draws->env, draws->rule->conditions[i])) {
      draws->refused = i;
      return false;
    }
  return true;
}

// ---- the walk -------------------------------------------------------------------

/// Limits index tensors of a term to valid indices of the dimension that they index.
static void bound_indices(eg_verify_draws *draws, const eg_rule_term *term) {
  const eg_attr *whole = eg_verify_known(&draws->choice, "whole");
  for (uint32_t i = 0; i < term->child_count; i++) {
    const eg_rule_term *child = &draws->rule->terms[term->children[i]];
    if (!child->is_var || eg_op_role(term->op, i) != EG_ROLE_INDICES) continue;
    int64_t *bound = &draws->leaves[child->var].index_bound;
    *bound = whole != NULL ? whole->i : 0;
    if (*bound == 0) *bound = eg_verify_entries(&draws->choice);
  }
}

/// False when conditions have set a flag attribute to a number other than 0 and 1.
static bool flags_fit(const eg_verify_choice *choice) {
  for (uint16_t i = 0; i < choice->info->attr_count; i++)
    if (choice->info->attrs[i].role == EG_AR_SWITCH &&
        (choice->slots[i].i < 0 || choice->slots[i].i > 1) &&
        eg_instance_is_flag(choice->info->attrs[i].name))
      return false;
  return true;
}

/// Chooses attributes, operand types and leaves of a term; keeps variables in `bound`.
static bool choose_term(eg_verify_draws *draws, const eg_rule_term *term,
                        uint64_t bound) {
  draws->repaired = 0;
  set_known_slots(draws, term);
  set_known_types(draws, term);
  eg_verify_set_equation(draws, term);
  eg_verify_choose(&draws->choice);
  if (!types_fit(&draws->choice)) return false;
  bind_fresh_leaves(draws, term);
  settle_slots(draws, term);
  eg_verify_repair(draws, term, bound);
  return true;
}

static egraph_status try_term(eg_verify_draws *draws, uint32_t index, bool *out_ok) {
  const eg_rule_term *term = &draws->rule->terms[index];
  eg_verify_choice *choice = &draws->choice;
  choice->op = term->op;
  choice->info = eg_op_info_of(term->op);
  choice->dtype = draws->dtype;
  choice->model = draw_model(draws);
  uint64_t bound = draws->bound;
  draws->refused = EG_RULE_NONE;
  eg_verify_steer(draws, index);
  draws->env.scratch->int_count = 0;
  draws->env.scratch->value_count = 0;
  *out_ok = choose_term(draws, term, bound);
  uint64_t repaired = draws->repaired;
  if (*out_ok && repaired != 0) { // attributes and other operands must follow
    draws->bound = bound | repaired;
    *out_ok = choose_term(draws, term, bound | repaired);
  }
  if (*out_ok) *out_ok = flags_fit(choice);
  if (!*out_ok) return EGRAPH_OK;
  EG_TRY(infer_node(draws, index, out_ok));
  if (!*out_ok) return EGRAPH_OK;
  bound_indices(draws, term);
  eg_verify_bind_slots(draws, term, draws->attrs[index]->slots);
  if (term->var != EG_RULE_NONE) {
    draws->env.vars[term->var] =
        (eg_rule_value){.kind = EG_RULE_TENSOR, .tensor = draws->classes[index]};
    draws->bound |= UINT64_C(1) << term->var;
  }
  *out_ok = conditions_hold(draws, index);
  return EGRAPH_OK;
}

static egraph_status draw_term(eg_verify_draws *draws, uint32_t index, bool *out_ok) {
  uint64_t bound = draws->bound;
  uint32_t lists = draws->lists.used, floats = draws->lists.used_floats;
  *out_ok = false;
  for (uint32_t i = 0; i < TRIES_PER_TERM && !*out_ok; i++) {
    draws->bound = bound;
    draws->lists.used = lists;
    draws->lists.used_floats = floats;
    EG_TRY(try_term(draws, index, out_ok));
    if (!*out_ok) eg_verify_note_obstacle(draws, index);
  }
  return EGRAPH_OK;
}

// Draws a left side that is a bare variable, as in rules about layouts: any tensor.
static bool try_variable(eg_verify_draws *draws, uint32_t index) {
  eg_verify_choice *choice = &draws->choice;
  uint32_t var = draws->rule->terms[index].var;
  choice->op = EG_OP_IDENTITY;
  choice->info = eg_op_info_of(choice->op);
  choice->dtype = draws->dtype;
  choice->model = draw_model(draws);
  choice->count = 1;
  choice->type_set[0] = false;
  choice->fit_aim[0] = NULL;
  choice->like[0] = choice->wanted[0] = NULL;
  choice->min_rank[0] = draws->hints.vars[var].min_rank;
  choice->max_rank[0] = draws->hints.vars[var].max_rank;
  eg_verify_steer(draws, index);
  require_rank(choice, 0, choice->rank);
  aim_at_leaf(draws, var, 0);
  eg_verify_choose(choice);
  if (!types_fit(choice)) return false;
  draws->leaves[var] = (eg_verify_leaf){.type = choice->types[0]};
  set_role(draws, var, &draws->leaves[var]);
  eg_verify_bind_leaf(draws, var);
  draws->bound |= UINT64_C(1) << var;
  return conditions_hold(draws, index);
}

static bool draw_variable(eg_verify_draws *draws, uint32_t index) {
  uint32_t var = draws->rule->terms[index].var;
  bool is_root = false;
  for (uint32_t i = 0; i < draws->rule->root_count; i++)
    is_root = is_root || draws->rule->lhs[i].term == index;
  if (!is_root) return true;
  if (eg_verify_is_bound(draws, var)) return conditions_hold(draws, index);
  bool found = false;
  for (uint32_t i = 0; i < TRIES_PER_TERM && !found; i++) {
    draws->bound &= ~(UINT64_C(1) << var);
    found = try_variable(draws, index);
  }
  return found;
}

/// Returns one of the element types that the rule compares with.
static egraph_dtype named_dtype(eg_verify_draws *draws) {
  uint32_t seen = 0;
  egraph_dtype found = EGRAPH_FLOAT64;
  for (uint32_t i = 0; i < EGRAPH_DTYPE_COUNT; i++)
    if ((draws->hints.named_dtypes >> i & 1) != 0 &&
        eg_rng_below(&draws->rng, ++seen) == 0)
      found = (egraph_dtype)i;
  return found;
}

static egraph_dtype random_integer(eg_verify_draws *draws) {
  egraph_dtype dtype;
  do
    dtype = (egraph_dtype)eg_rng_below(&draws->rng, EGRAPH_DTYPE_COUNT);
  while (eg_dtype_is_float(dtype) || dtype == EGRAPH_BOOL);
  return dtype;
}

/// Draws an element type, mostly float64, which separates rounding from mistakes best.
static egraph_dtype draw_dtype(eg_verify_draws *draws) {
  const eg_instance_aim *aim = draws->aim;
  if (aim != NULL && aim->subject == EG_INSTANCE_DTYPE) return (egraph_dtype)aim->value;
  if (draws->hints.named_dtypes != 0 && eg_rng_below(&draws->rng, 4) == 0)
    return named_dtype(draws);
  uint32_t kind = (uint32_t)eg_rng_below(&draws->rng, 100);
  bool is_empty = aim != NULL && eg_instance_is_empty(aim); // rounding is impossible
  if (is_empty) kind = 100;
  bool is_whole = aim != NULL && aim->subject == EG_INSTANCE_BETWEEN && aim->value != 0;
  if (is_whole) return random_integer(draws);
  if (kind < 50) return EGRAPH_FLOAT64;
  if (kind < 64) return EGRAPH_FLOAT32;
  return (egraph_dtype)eg_rng_below(&draws->rng, EGRAPH_DTYPE_COUNT);
}

static egraph_status draw_left(eg_verify_draws *draws, bool *out_found) {
  draws->choice.rng = &draws->rng;
  draws->choice.lists = &draws->lists;
  draws->env.tensors = &draws->tensors;
  draws->lists.used = draws->lists.used_floats = 0;
  draws->bound = 0;
  draws->dtype = draw_dtype(draws);
  bool is_dtype_aimed = draws->aim != NULL && draws->aim->subject == EG_INSTANCE_DTYPE;
  if (draws->aim != NULL && draws->aim->subject == EG_INSTANCE_BETWEEN)
    draws->choice.whole = (double)eg_rng_below(&draws->rng, 6) - 2;
  if (draws->hints.has_parts)
    draws->choice.part_axis = (uint32_t)eg_rng_below(&draws->rng, PART_AXES);
  for (uint32_t i = 0; i < DTYPE_TRIES && !is_dtype_aimed; i++)
    if ((draws->hints.dtypes >> draws->dtype & 1) == 0) draws->dtype = draw_dtype(draws);
  if (draws->aim != NULL && draws->hints.has_layers) eg_verify_steer(draws, 0);
  eg_verify_draw_layers(draws);
  *out_found = true;
  for (uint32_t i = 0; i < draws->rule->pattern_term_count && *out_found; i++)
    if (draws->rule->terms[i].is_var)
      *out_found = draw_variable(draws, i);
    else
      EG_TRY(draw_term(draws, i, out_found));
  return EGRAPH_OK;
}

egraph_status eg_verify_draw(eg_verify_draws *draws, bool *out_found, bool *out_typed,
                             eg_verify_instance *out) {
  const eg_rule *rule = draws->rule;
  uint32_t missing;
  *out_typed = false;
  EG_TRY(eg_verify_renew_egraph(draws));
  bool before = eg_type_messages_enable(false); // messages would take much time
  egraph_status status = draw_left(draws, out_found);
  if (status == EGRAPH_OK && *out_found) {
    status = eg_verify_add_left(draws);
    if (status == EGRAPH_OK)
      status =
          eg_rule_plan(&draws->builder, &draws->env, draws->egraph,
                       rule->pattern_term_count, rule->term_count, out_typed, &missing);
  }
  (void)eg_type_messages_enable(before);
  EG_TRY(status);
  if (!*out_found) return EGRAPH_OK;
  *out = (eg_verify_instance){.rule = rule,
                              .leaves = draws->leaves,
                              .attrs = draws->attrs,
                              .classes = draws->classes,
                              .env = &draws->env,
                              .builder = &draws->builder,
                              .egraph = draws->egraph};
  eg_special special = eg_verify_special_of(draws->aim);
  if (special != EG_SPECIAL_NONE && eg_verify_has_special(out, special))
    out->special = special;
  return EGRAPH_OK;
}
