// Operands of a layer are drawn before the walk, and again where what the walk has found
// by then is none of them. An equation that is open is drawn with them.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "rewrites/lab/instances/instance_draw_internal.h"
#include "rewrites/lab/instances/instance_layers.h"

enum { TRIES_PER_EQUATION = 40 };

static eg_type *operands_of_layer(eg_verify_draws *draws, uint32_t term) {
  return draws->layers + (size_t)term * EG_VERIFY_MAX_OPERANDS;
}

/// What the rule or a term before says, or NULL.
static const char *known_equation(const eg_verify_draws *draws, uint32_t index,
                                  uint16_t slot) {
  const eg_rule_slot *at = &draws->rule->terms[index].slots[slot];
  if (at->form == EG_RULE_SLOT_LITERAL) return at->literal.text;
  if (at->form != EG_RULE_SLOT_VAR) return NULL;
  if (eg_verify_is_bound(draws, at->index)) return draws->env.vars[at->index].text;
  for (uint32_t i = 0; i < index; i++) {
    const eg_rule_term *term = &draws->rule->terms[i];
    uint16_t other;
    if (!term->is_var && eg_equation_slot(term, &other) &&
        term->slots[other].form == EG_RULE_SLOT_VAR &&
        term->slots[other].index == at->index)
      return draws->equations[i];
  }
  return NULL;
}

/// In the class that is aimed at, if that is of this equation.
static const char *draw_equation(eg_verify_draws *draws, uint32_t index, uint16_t slot,
                                 const eg_type *first) {
  char *equation = draws->drawn_equations[index];
  const eg_instance_aim *aim = draws->aim;
  bool is_aimed = aim != NULL && aim->subject == EG_INSTANCE_ATTR && aim->term == index &&
                  aim->slot == slot;
  bool is_in = false;
  for (uint32_t i = 0; !is_in && i < TRIES_PER_EQUATION; i++) {
    eg_equation_draw(&draws->choice, draws->rule->terms[index].child_count, first,
                     equation);
    eg_attr attr = {.kind = EG_ATTR_STRING, .text = equation};
    eg_instance_node node = {.op = EG_OP_EINSUM, .slots = &attr};
    is_in = !is_aimed || eg_instance_node_is_in(aim, &node);
  }
  return equation;
}

static void draw_layer(eg_verify_draws *draws, uint32_t index, const eg_type *first) {
  const eg_rule_term *term = &draws->rule->terms[index];
  uint16_t slot;
  if (eg_equation_slot(term, &slot)) {
    const char *known = known_equation(draws, index, slot);
    draws->equations[index] =
        known != NULL ? known : draw_equation(draws, index, slot, first);
    draws->choice.equation = draws->equations[index];
  }
  eg_layer_operands(&draws->choice, term, first, operands_of_layer(draws, index));
}

void eg_verify_draw_layers(eg_verify_draws *draws) {
  if (!draws->hints.has_layers) return;
  draws->choice.dtype = draws->dtype;
  for (uint32_t i = 0; i < draws->rule->pattern_term_count; i++) {
    const eg_rule_term *term = &draws->rule->terms[i];
    if (!term->is_var && eg_is_layer(draws->rule, term)) draw_layer(draws, i, NULL);
  }
}

void eg_verify_follow_first(eg_verify_draws *draws, const eg_rule_term *term) {
  if (!draws->hints.has_layers || !eg_is_layer(draws->rule, term)) return;
  uint32_t index = (uint32_t)(term - draws->rule->terms);
  const eg_rule_term *child = &draws->rule->terms[term->children[0]];
  bool is_fresh = child->is_var && !eg_verify_is_bound(draws, child->var);
  const eg_type *types = operands_of_layer(draws, index);
  const eg_type *first =
      is_fresh ? NULL : &draws->facts[eg_verify_operand_of(draws, term, 0).id].type;
  uint16_t slot;
  const char *known =
      eg_equation_slot(term, &slot) ? known_equation(draws, index, slot) : NULL;
  bool has_changed = known != NULL && strcmp(known, draws->equations[index]) != 0;
  if (has_changed || (first != NULL && (!eg_type_same_shape(first, types) ||
                                        first->dtype != types->dtype)))
    draw_layer(draws, index, first);
}

void eg_verify_set_equation(eg_verify_draws *draws, const eg_rule_term *term) {
  eg_verify_choice *choice = &draws->choice;
  uint16_t slot;
  if (!draws->hints.has_layers || !eg_equation_slot(term, &slot) ||
      choice->slot_set[slot])
    return;
  choice->slots[slot] =
      (eg_attr){.kind = EG_ATTR_STRING,
                .text = draws->equations[(uint32_t)(term - draws->rule->terms)]};
  choice->slot_set[slot] = true;
}

const eg_type *eg_verify_operand_of_layer(eg_verify_draws *draws, uint32_t var) {
  const var_hint *hint = &draws->hints.vars[var];
  if (hint->layer == EG_RULE_NONE || eg_rng_below(&draws->rng, 100) < 10) return NULL;
  return operands_of_layer(draws, hint->layer) + hint->layer_operand;
}
