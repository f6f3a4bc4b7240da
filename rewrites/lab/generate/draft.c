// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/generate/draft.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static bool decode(const eg_draft *draft, eg_term_code side, eg_space_term *out) {
  return eg_term_space_decode(draft->space, side, out);
}

static const eg_family_leaf *leaf_of(const eg_term_space *space, uint32_t leaf) {
  return &eg_term_space_family(space)->leaves[leaf];
}

/// Finds a variable of the left side that is not a constant and has the shape (NULL: any
/// shape); returns var_count when there is none.
static uint32_t find_variable(const eg_term_space *space, const eg_space_term *left,
                              const eg_type *shape) {
  uint32_t i = 0;
  for (; i < left->var_count; i++) {
    const eg_family_leaf *leaf = leaf_of(space, left->vars[i]);
    if (leaf->is_constant) continue;
    if (shape == NULL || eg_type_same_shape(&leaf->type, shape)) break;
  }
  return i;
}

/// True when the left side binds every variable of the right side. The right side can
/// create a missing constant when it is a scalar, or when a variable has its shape.
static bool binds(const eg_term_space *space, const eg_space_term *left,
                  const eg_space_term *right) {
  const eg_family *family = eg_term_space_family(space);
  uint64_t missing = right->leaves & ~left->leaves;
  if (left->variant == EG_TERM_NONE || (missing & ~family->constants) != 0) return false;
  for (uint32_t i = 0; i < family->leaf_count; i++) {
    const eg_type *type = &family->leaves[i].type;
    if ((missing >> i & 1) != 0 &&
        find_variable(space, left, type->rank == 0 ? NULL : type) == left->var_count)
      return false;
  }
  return true;
}

bool eg_draft_of(const eg_term_space *space, eg_term_code a, eg_term_code b,
                 eg_draft *out) {
  eg_space_term first, second;
  if (!eg_term_space_decode(space, a, &first) || !eg_term_space_decode(space, b, &second))
    return false;
  bool a_binds = binds(space, &first, &second), b_binds = binds(space, &second, &first);
  const eg_family *family = eg_term_space_family(space);
  if (!a_binds && !b_binds) return false;
  // Take as the left side the term that has the constants: they become conditions.
  bool a_fills = (second.leaves & ~first.leaves & family->constants) != 0;
  bool b_fills = (first.leaves & ~second.leaves & family->constants) != 0;
  bool is_better = a_fills == b_fills ? first.size >= second.size : b_fills;
  bool from_a = a_binds && (!b_binds || is_better);
  *out = (eg_draft){.space = space,
                    .left = from_a ? a : b,
                    .right = from_a ? b : a,
                    .class_text = "fast"};
  // A left side that is only a constant is not a valid pattern.
  return (from_a ? first : second).size > 0;
}

bool eg_draft_can_turn(const eg_draft *draft) {
  eg_space_term left, right;
  if (!decode(draft, draft->left, &left) || !decode(draft, draft->right, &right))
    return false;
  for (uint32_t i = 0; i < draft->group_count; i++)
    if ((draft->lifted & 1u << i) != 0 && !draft->groups[i].on_right) return false;
  return left.leaves == right.leaves && right.size > 0;
}

static const eg_attrs *attrs_of(const eg_draft *draft, const eg_space_term *term) {
  const eg_variant *v = eg_term_space_variant(draft->space, term->variant);
  return &eg_term_space_family(draft->space)->templates[v->template].attrs;
}

// ---- groups ---------------------------------------------------------------------

/// Writes an attribute value as text; *out_fits is false when it is too long to compare.
static egraph_status print_slot(const eg_attrs *attrs, uint16_t slot, eg_text *text,
                                bool *out_fits) {
  eg_text_clear(text);
  EG_TRY(eg_attr_print(text, (eg_op)attrs->op, slot, &attrs->slots[slot]));
  *out_fits = text->chars.len < EG_DRAFT_VALUE;
  return EGRAPH_OK;
}

static bool is_default(const eg_attrs *attrs, uint16_t slot) {
  const eg_attr_info *info = &eg_op_info_of((eg_op)attrs->op)->attrs[slot];
  eg_attr usual = eg_attr_default((eg_op)attrs->op, slot);
  return info->default_text[0] != '\0' && eg_attr_same(&usual, &attrs->slots[slot]);
}

uint32_t eg_draft_groups_of(const eg_draft *draft, bool are_defaults) {
  uint32_t bits = 0;
  for (uint32_t i = 0; i < draft->group_count; i++)
    if (draft->groups[i].is_default == are_defaults) bits |= 1u << i;
  return bits;
}

static uint32_t find_group(const eg_draft *draft, const char *name, const char *value,
                           bool usual) {
  for (uint32_t i = 0; i < draft->group_count; i++)
    if (draft->groups[i].is_default == usual &&
        strcmp(draft->groups[i].name, name) == 0 &&
        strcmp(draft->groups[i].value, value) == 0)
      return i;
  return EG_DRAFT_GROUPS;
}

typedef struct listing {
  eg_draft *draft;
  bool on_left;
  eg_text *text;
} listing;

/// Lists the attribute values of a term, after the values of its operands. The recursion
/// is at most EG_TERM_MAX_SIZE deep.
static egraph_status list_slots(const listing *l, const eg_space_term *term) {
  if (term->variant == EG_TERM_NONE) return EGRAPH_OK;
  const uint32_t operands[2] = {term->a, term->b};
  for (uint32_t i = 0; i < 2; i++)
    if (operands[i] != EG_TERM_NONE)
      EG_TRY(list_slots(l, eg_term_space_at(l->draft->space, operands[i])));
  const eg_attrs *attrs = attrs_of(l->draft, term);
  const eg_op_info *info = eg_op_info_of((eg_op)attrs->op);
  for (uint16_t slot = 0; slot < attrs->count; slot++) {
    bool fits;
    bool usual = is_default(attrs, slot);
    EG_TRY(print_slot(attrs, slot, l->text, &fits));
    if (!fits) continue;
    const char *value = eg_text_of(l->text);
    uint32_t at = find_group(l->draft, info->attrs[slot].name, value, usual);
    if (at == EG_DRAFT_GROUPS) {
      if (!l->on_left || l->draft->group_count == EG_DRAFT_GROUPS) continue;
      at = l->draft->group_count++;
      eg_draft_group *made = &l->draft->groups[at];
      *made = (eg_draft_group){.name = info->attrs[slot].name, .is_default = usual};
      memcpy(made->value, value, strlen(value) + 1);
    }
    *(l->on_left ? &l->draft->groups[at].on_left : &l->draft->groups[at].on_right) = true;
  }
  return EGRAPH_OK;
}

egraph_status eg_draft_list_groups(eg_draft *draft) {
  eg_space_term left, right;
  if (!decode(draft, draft->left, &left) || !decode(draft, draft->right, &right))
    return EGRAPH_OK;
  EG_LOCAL(eg_text, text, eg_allocator_heap());
  listing l = {.draft = draft, .on_left = true, .text = &text};
  draft->group_count = 0;
  EG_TRY(list_slots(&l, &left));
  l.on_left = false;
  return list_slots(&l, &right);
}

// ---- printing -------------------------------------------------------------------

static uint32_t variable_of(const eg_space_term *left, uint32_t leaf) {
  for (uint32_t i = 0; i < left->var_count; i++)
    if (left->vars[i] == leaf) return i + 1;
  return 0;
}

/// The state while one side of a draft is written.
typedef struct printer {
  const eg_draft *draft;
  eg_space_term left; // left side of the rule
  eg_text *out, *scratch;
  const char *const *lifted;     // by place; NULL: by groups
  uint32_t named;                // bits of the operators that get a name
  uint32_t place, next_operator; // next numbers
  bool is_shape; // of values, only symbols and the details of `detail` are written
  eg_draft_detail detail;
} printer;

/// Finds the text that replaces the attribute value that is written next; NULL: the
/// value stays.
static egraph_status find_lifted(printer *p, const eg_attrs *attrs, uint16_t slot,
                                 bool usual, const char **out) {
  static const char *const NAMES[EG_DRAFT_GROUPS] = {
      "?v1", "?v2",  "?v3",  "?v4",  "?v5",  "?v6",  "?v7",  "?v8",
      "?v9", "?v10", "?v11", "?v12", "?v13", "?v14", "?v15", "?v16"};
  bool fits;
  EG_TRY(print_slot(attrs, slot, p->scratch, &fits));
  *out = NULL;
  if (p->lifted != NULL) *out = p->lifted[p->place];
  p->place++;
  if (p->draft->lift != NULL || !fits) return EGRAPH_OK;
  uint32_t group = find_group(p->draft, eg_op_info_of((eg_op)attrs->op)->attrs[slot].name,
                              eg_text_of(p->scratch), usual);
  if (group < EG_DRAFT_GROUPS && (p->draft->lifted & 1u << group) != 0)
    *out = NAMES[group];
  return EGRAPH_OK;
}

static egraph_status print_attributes(printer *p, const eg_attrs *attrs) {
  const eg_op_info *info = eg_op_info_of((eg_op)attrs->op);
  for (uint16_t slot = 0; slot < attrs->count; slot++) {
    bool usual = is_default(attrs, slot);
    eg_attr_kind kind = info->attrs[slot].kind;
    bool is_word = kind == EG_ATTR_SYMBOL || kind == EG_ATTR_STRING;
    const char *lifted;
    EG_TRY(find_lifted(p, attrs, slot, usual, &lifted));
    if (p->is_shape && p->detail == EG_DRAFT_LENGTHS && kind == EG_ATTR_INTS)
      eg_text_printf(p->out, " %" PRIu32, attrs->slots[slot].ints.len);
    if (p->is_shape && !is_word) continue;
    if (lifted == NULL && usual) continue;
    if (lifted == NULL) lifted = eg_text_of(p->scratch);
    eg_text_printf(p->out, " :%s %s", info->attrs[slot].name, lifted);
  }
  return EGRAPH_OK;
}

/// Appends the number of a constant of the draft, or the text that replaces the number.
static void print_number(printer *p, const eg_family_leaf *leaf) {
  const char *lifted = p->lifted != NULL ? p->lifted[p->place] : NULL;
  p->place++;
  if (lifted != NULL)
    eg_text_append(p->out, lifted);
  else
    eg_text_printf(p->out, "%.17g", leaf->number);
}

/// Appends a constant of the right side that the left side does not have.
static void print_fill(printer *p, const eg_family_leaf *leaf) {
  bool is_scalar = leaf->type.rank == 0;
  uint32_t like =
      find_variable(p->draft->space, &p->left, is_scalar ? NULL : &leaf->type) + 1;
  eg_text_printf(p->out, "(fill :dtype (dtype ?x%" PRIu32 ") :shape ", like);
  if (is_scalar)
    eg_text_append(p->out, "[]");
  else
    eg_text_printf(p->out, "(shape ?x%" PRIu32 ")", like);
  if (!p->is_shape || p->detail != EG_DRAFT_OPERATORS) {
    eg_text_append(p->out, " :value ");
    print_number(p, leaf);
  }
  eg_text_append(p->out, ")");
}

static egraph_status print_subterm(printer *p, const eg_space_term *term);

static void print_variable(printer *p, const eg_space_term *term) {
  const eg_family_leaf *leaf = leaf_of(p->draft->space, term->a);
  uint32_t var = variable_of(&p->left, term->a);
  if (var == 0) {
    print_fill(p, leaf);
    return;
  }
  eg_text_printf(p->out, "?x%" PRIu32, var);
  if (!p->is_shape || !leaf->is_constant) return;
  eg_text_append(p->out, "=");
  if (p->detail != EG_DRAFT_OPERATORS) eg_text_printf(p->out, "%.17g", leaf->number);
}

static egraph_status print_operator(printer *p, const eg_space_term *term) {
  const eg_variant *v = eg_term_space_variant(p->draft->space, term->variant);
  const eg_attrs *attrs = attrs_of(p->draft, term);
  eg_text_printf(p->out, "(%s", eg_op_info_of((eg_op)attrs->op)->name);
  EG_TRY(print_attributes(p, attrs));
  for (uint32_t i = 0; i < v->operand_count; i++) {
    uint32_t operand = eg_variant_operand(v, i, term->a, term->b);
    eg_text_append(p->out, " ");
    EG_TRY(print_subterm(p, eg_term_space_at(p->draft->space, operand)));
  }
  return eg_text_append(p->out, ")");
}

// Appends a term as text. The recursion is at most EG_TERM_MAX_SIZE deep.
static egraph_status print_subterm(printer *p, const eg_space_term *term) {
  if (term->variant == EG_TERM_NONE) {
    print_variable(p, term);
    return EGRAPH_OK;
  }
  uint32_t number = p->next_operator++;
  const eg_variant *v = eg_term_space_variant(p->draft->space, term->variant);
  bool is_part = eg_op_info_of((eg_op)attrs_of(p->draft, term)->op)->results != 1;
  bool is_named = number < 32 && (p->named & 1u << number) != 0;
  if (is_named) eg_text_printf(p->out, "(as ?t%" PRIu32 " ", number + 1);
  if (is_part) eg_text_printf(p->out, "(part :index %" PRIu32 " ", v->result);
  EG_TRY(print_operator(p, term));
  if (is_part) eg_text_append(p->out, ")");
  return eg_text_append(p->out, is_named ? ")" : "");
}

/// Appends one side of the draft; `how` selects how attribute values are written.
static egraph_status print_side(const eg_draft *draft, bool is_left, const printer *how,
                                eg_text *out) {
  EG_LOCAL(eg_text, scratch, out->chars.alloc);
  printer p = *how;
  eg_space_term term;
  p.draft = draft;
  p.out = out;
  p.scratch = &scratch;
  if (draft->lift != NULL && !p.is_shape) {
    p.lifted = is_left ? draft->lift->left : draft->lift->right;
    p.named = is_left ? draft->lift->named : 0;
  }
  if (!decode(draft, draft->left, &p.left) ||
      !decode(draft, is_left ? draft->left : draft->right, &term))
    return EG_FAIL(EGRAPH_E_INTERNAL, "a draft of terms that are not there");
  return print_subterm(&p, &term);
}

static egraph_status print_both(const eg_draft *draft, const printer *how, eg_text *out) {
  EG_TRY(print_side(draft, true, how, out));
  eg_text_append(out, " = ");
  EG_TRY(print_side(draft, false, how, out));
  return eg_text_status(out);
}

egraph_status eg_draft_print_sides(const eg_draft *draft, eg_text *out) {
  return print_both(draft, &(printer){.is_shape = false}, out);
}

egraph_status eg_draft_print_shape(const eg_draft *draft, eg_draft_detail detail,
                                   eg_text *out) {
  return print_both(draft, &(printer){.is_shape = true, .detail = detail}, out);
}

static egraph_status list_places(const eg_draft *draft, const eg_space_term *left,
                                 const eg_space_term *term, eg_draft_places *out);

/// Appends the attributes of a leaf (eg_draft_place), in the order in which print_number
/// and print_attributes write them.
static egraph_status list_leaf(const eg_draft *draft, const eg_space_term *left,
                               uint32_t number, eg_draft_places *out) {
  uint16_t slot;
  if (variable_of(left, number) != 0 || !eg_op_find_attr(EG_OP_FILL, "value", &slot))
    return EGRAPH_OK;
  return eg_draft_places_push(
      out, (eg_draft_place){.op = EG_OP_FILL,
                            .slot = slot,
                            .value = &leaf_of(draft->space, number)->fill});
}

// Appends the attributes of a term's operators. Recursion is at most
// EG_TERM_MAX_SIZE deep.
static egraph_status list_places(const eg_draft *draft, const eg_space_term *left,
                                 const eg_space_term *term, eg_draft_places *out) {
  if (term->variant == EG_TERM_NONE) return list_leaf(draft, left, term->a, out);
  const eg_variant *v = eg_term_space_variant(draft->space, term->variant);
  const eg_attrs *attrs = attrs_of(draft, term);
  for (uint16_t slot = 0; slot < attrs->count; slot++)
    EG_TRY(eg_draft_places_push(out,
                                (eg_draft_place){.op = (eg_op)attrs->op,
                                                 .slot = slot,
                                                 .value = &attrs->slots[slot],
                                                 .is_default = is_default(attrs, slot)}));
  for (uint32_t i = 0; i < v->operand_count; i++) {
    uint32_t operand = eg_variant_operand(v, i, term->a, term->b);
    EG_TRY(list_places(draft, left, eg_term_space_at(draft->space, operand), out));
  }
  return EGRAPH_OK;
}

egraph_status eg_draft_list_places(const eg_draft *draft, eg_term_code side,
                                   eg_draft_places *out) {
  eg_space_term term, left;
  if (!decode(draft, side, &term) || !decode(draft, draft->left, &left)) return EGRAPH_OK;
  return list_places(draft, &left, &term, out);
}

static const eg_type *type_of_var(const eg_draft *draft, const eg_space_term *left,
                                  uint32_t var) {
  return &eg_term_space_family(draft->space)->leaves[left->vars[var]].type;
}

static void print_same_shapes(const eg_draft *draft, const eg_space_term *left,
                              eg_text *out) {
  for (uint32_t i = 0; i < left->var_count; i++)
    for (uint32_t k = i + 1; k < left->var_count; k++) {
      if (!eg_type_same_shape(type_of_var(draft, left, i), type_of_var(draft, left, k)))
        continue;
      eg_text_printf(out, " (same-shape ?x%" PRIu32 " ?x%" PRIu32 ")", i + 1, k + 1);
      break; // one chain covers all variables
    }
}

/// Appends conditions that fix the kernel sizes of weights (dimensions after the second).
static void print_kernels(const eg_draft *draft, const eg_space_term *left,
                          eg_text *out) {
  for (uint32_t i = 0; i < left->var_count; i++) {
    const eg_type *type = type_of_var(draft, left, i);
    const eg_family *family = eg_term_space_family(draft->space);
    if (type->rank < 3 || !family->leaves[left->vars[i]].is_weight) continue;
    eg_text_printf(out, " (= (drop (shape ?x%" PRIu32 ") 2) [", i + 1);
    for (uint32_t d = 2; d < type->rank; d++)
      eg_text_printf(out, "%s%" PRId64, d == 2 ? "" : " ", type->dims[d]);
    eg_text_append(out, "])");
  }
}

/// Appends conditions that a variable is a constant of any number and broadcasts like the
/// constant of the instance.
static void print_any_number(const eg_draft *draft, const eg_space_term *left,
                             uint32_t var, eg_text *out) {
  uint32_t to = find_variable(draft->space, left, NULL);
  eg_text_printf(out, " (splat? ?x%" PRIu32 ")", var + 1);
  if (to == left->var_count) return;
  eg_text_printf(out, " (broadcasts-to ?x%" PRIu32 " ?x%" PRIu32 ")", var + 1, to + 1);
}

/// Appends conditions that say which variables are constants.
static void print_constants(const eg_draft *draft, const eg_space_term *left,
                            eg_text *out) {
  uint32_t splats = draft->lift != NULL ? draft->lift->splats : 0;
  for (uint32_t i = 0; i < left->var_count; i++) {
    const eg_family_leaf *leaf = leaf_of(draft->space, left->vars[i]);
    if ((splats & 1u << i) != 0)
      print_any_number(draft, left, i, out);
    else if (leaf->is_constant)
      eg_text_printf(out, " (splat-is ?x%" PRIu32 " %.17g)", i + 1, leaf->number);
  }
}

static void print_broadcasts(const eg_draft *draft, const eg_space_term *left,
                             eg_text *out) {
  uint32_t to = find_variable(draft->space, left, NULL);
  for (uint32_t i = 0; i < left->var_count && to < left->var_count; i++)
    if (leaf_of(draft->space, left->vars[i])->is_constant)
      eg_text_printf(out, " (broadcasts-to ?x%" PRIu32 " ?x%" PRIu32 ")", i + 1, to + 1);
}

typedef struct guard_parts {
  bool ranks, is_float, same_shapes, kernels, broadcasts;
} guard_parts;

static const guard_parts PARTS[EG_GUARD_COUNT] = {
    [EG_GUARD_FLOAT] = {.is_float = true},
    [EG_GUARD_SAME_SHAPE] = {.same_shapes = true},
    [EG_GUARD_RANK] = {.ranks = true},
    [EG_GUARD_RANK_FLOAT] = {.ranks = true, .is_float = true},
    [EG_GUARD_RANK_SAME_SHAPE] = {.ranks = true, .same_shapes = true},
    [EG_GUARD_KERNEL] = {.ranks = true, .kernels = true},
    [EG_GUARD_BROADCASTS] = {.broadcasts = true},
    [EG_GUARD_BROADCASTS_FLOAT] = {.broadcasts = true, .is_float = true}};

static void print_guard(const eg_draft *draft, const eg_space_term *left, eg_text *out) {
  const guard_parts *parts = &PARTS[draft->guard];
  assert(draft->guard < EG_GUARD_COUNT);
  size_t before = out->chars.len;
  eg_text_append(out, "\n  (when");
  size_t empty = out->chars.len;
  print_constants(draft, left, out);
  for (uint32_t i = 0; parts->ranks && i < left->var_count; i++)
    eg_text_printf(out, " (= (rank ?x%" PRIu32 ") %" PRIu32 ")", i + 1,
                   type_of_var(draft, left, i)->rank);
  if (parts->is_float && left->var_count != 0)
    eg_text_printf(out, " (is-float ?x%" PRIu32 ")",
                   find_variable(draft->space, left, NULL) % left->var_count + 1);
  if (parts->same_shapes) print_same_shapes(draft, left, out);
  if (parts->kernels) print_kernels(draft, left, out);
  if (parts->broadcasts) print_broadcasts(draft, left, out);
  if (draft->lift != NULL) eg_text_append(out, draft->lift->conditions);
  if (eg_text_status(out) != EGRAPH_OK || out->chars.len != empty) {
    eg_text_append(out, ")");
    return;
  }
  out->chars.len = before; // there are no conditions
  out->chars.data[before] = '\0';
}

egraph_status eg_draft_print(const eg_draft *draft, const char *name, const char *source,
                             eg_text *out) {
  const printer how = {.is_shape = false};
  eg_space_term left;
  if (!decode(draft, draft->left, &left))
    return EG_FAIL(EGRAPH_E_INTERNAL, "a draft of terms that are not there");
  eg_text_printf(out, "(rule %s\n  (source ", name);
  eg_text_quoted(out, source);
  eg_text_printf(out, ")\n  (class %s)\n  (lhs ", draft->class_text);
  EG_TRY(print_side(draft, true, &how, out));
  eg_text_append(out, ")\n  (rhs ");
  EG_TRY(print_side(draft, false, &how, out));
  eg_text_append(out, ")");
  print_guard(draft, &left, out);
  return eg_text_append(out, draft->both_ways ? "\n  both-ways)\n" : ")\n");
}
