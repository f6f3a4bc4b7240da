// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/import/tensor_form.h"

#include <assert.h>
#include <stdio.h>

static const char *const freedom_words[EG_FREEDOMS] = {
#define FREEDOM_WORDS(id, words) [id] = words,
    EG_FREEDOM_LIST(FREEDOM_WORDS)
#undef FREEDOM_WORDS
};

const char *eg_freedom_words(eg_freedom freedom) {
  assert(freedom < EG_FREEDOMS);
  return freedom_words[freedom];
}

// ---- operators ------------------------------------------------------------------------

typedef struct op_shape {
  int32_t kind;
  uint32_t operands;
  int8_t rank; // rank of results and operands; UNKNOWN: all have the same; 0: see below
  uint32_t frees; // bits of its freedoms
} op_shape;

#define BIT(id) (UINT32_C(1) << (id))
#define WINDOW (BIT(EG_FREE_STRIDE) | BIT(EG_FREE_PADS) | BIT(EG_FREE_RANK))

static const op_shape op_shapes[] = {
    {EG_SUBST_CONV, 2, 4, WINDOW | BIT(EG_FREE_DILATION) | BIT(EG_FREE_GROUP)},
    {EG_SUBST_MAX_POOL, 1, 4, WINDOW | BIT(EG_FREE_KERNEL) | BIT(EG_FREE_DILATION)},
    {EG_SUBST_AVERAGE_POOL, 1, 4, WINDOW | BIT(EG_FREE_KERNEL) | BIT(EG_FREE_COUNT)},
    {EG_SUBST_ENLARGE, 1, 4, BIT(EG_FREE_ENLARGE)},
    {EG_SUBST_MATMUL, 2, 2, BIT(EG_FREE_RANK)},
    {EG_SUBST_TRANSPOSE, 1, 2, BIT(EG_FREE_PERM) | BIT(EG_FREE_RANK)},
    {EG_SUBST_RELU, 1, EG_FORM_UNKNOWN, 0},
    {EG_SUBST_SIGMOID, 1, EG_FORM_UNKNOWN, 0},
    {EG_SUBST_TANH, 1, EG_FORM_UNKNOWN, 0},
    {EG_SUBST_ADD, 2, EG_FORM_UNKNOWN, BIT(EG_FREE_SHAPES)},
    {EG_SUBST_MUL, 2, EG_FORM_UNKNOWN, BIT(EG_FREE_SHAPES)},
    {EG_SUBST_SCALE, 2, EG_FORM_UNKNOWN, BIT(EG_FREE_SHAPES)},
    {EG_SUBST_CONCAT, 2, EG_FORM_UNKNOWN,
     BIT(EG_FREE_AXIS) | BIT(EG_FREE_AXIS_END) | BIT(EG_FREE_RANK)},
    {EG_SUBST_SPLIT, 1, EG_FORM_UNKNOWN, BIT(EG_FREE_AXIS) | BIT(EG_FREE_AXIS_END)},
    {EG_SUBST_MATMUL_ONE, 0, 2, 0},
    {EG_SUBST_CONV_ONE, 0, 4, BIT(EG_FREE_KERNEL)},
    {EG_SUBST_POOL_KERNEL, 0, 4, BIT(EG_FREE_KERNEL)},
    {EG_SUBST_MUL_ONE, 0, 0, 0},
};

static const op_shape *op_shape_of(int32_t kind) {
  for (size_t i = 0; i < sizeof op_shapes / sizeof *op_shapes; i++)
    if (op_shapes[i].kind == kind) return &op_shapes[i];
  return NULL;
}

static bool is_from_to(int32_t value, int32_t least, int32_t most) {
  return value >= least && value <= most;
}

/// Returns the reason why the library cannot express an operator of a file, or NULL.
static const char *fault_of(const eg_subst_op *op, char buffer[96]) {
  const op_shape *shape = op_shape_of(op->kind);
  const int32_t *p = op->parameter;
  char name[32];
  const char *what = NULL;
  if (shape == NULL)
    what = "is no operator of a rule over tensors";
  else if (op->input_count != shape->operands)
    what = "has an unknown number of operands";
  else if (!is_from_to(p[EG_SUBST_PM_ACTIVATION], 0, EG_SUBST_ACT_TANH))
    what = "has an unknown activation";
  else if (!is_from_to(p[EG_SUBST_PM_PAD], EG_SUBST_SAME, EG_SUBST_VALID))
    what = "has an unknown padding";
  else if (!is_from_to(p[EG_SUBST_PM_AXIS], 0, EGRAPH_MAX_RANK - 1))
    what = "has an axis out of range";
  else if (op->kind == EG_SUBST_CONCAT && p[EG_SUBST_PM_INPUTS] > 2)
    what = "says that it has more operands";
  else if (op->kind == EG_SUBST_TRANSPOSE && op->said != 0)
    what = "has a permutation that is not known";
  if (what == NULL) return NULL;
  (void)snprintf(buffer, 96, "%s %s", eg_subst_kind_name(op->kind, name), what);
  return buffer;
}

/// Returns the reason why strides or kernel of an operator have no meaning, or NULL.
static const char *fault_of_numbers(const eg_subst_op *op, char buffer[96]) {
  const int32_t *p = op->parameter;
  char name[32];
  bool is_pool = op->kind == EG_SUBST_MAX_POOL || op->kind == EG_SUBST_AVERAGE_POOL;
  bool has_window = is_pool || op->kind == EG_SUBST_CONV;
  bool has_kernel = is_pool || op->kind == EG_SUBST_ENLARGE ||
                    op->kind == EG_SUBST_CONV_ONE || op->kind == EG_SUBST_POOL_KERNEL;
  bool is_good = !has_window || (is_from_to(p[EG_SUBST_PM_STRIDE_H], 1, 16) &&
                                 is_from_to(p[EG_SUBST_PM_STRIDE_W], 1, 16));
  if (has_kernel)
    is_good = is_good && is_from_to(p[EG_SUBST_PM_KERNEL_H], 1, 64) &&
              is_from_to(p[EG_SUBST_PM_KERNEL_W], 1, 64);
  if (is_good) return NULL;
  (void)snprintf(buffer, 96, "%s has a stride or kernel out of range",
                 eg_subst_kind_name(op->kind, name));
  return buffer;
}

// ---- variables ------------------------------------------------------------------------

static bool add_variable(eg_tensor_form *form, int32_t variable) {
  for (uint32_t i = 0; i < form->variable_count; i++)
    if (form->variables[i] == variable) return true;
  if (form->variable_count == EG_FORM_VARIABLES) return false;
  form->variables[form->variable_count++] = variable;
  return true;
}

static bool add_variables(eg_tensor_form *form, const eg_subst_side *side) {
  for (uint32_t i = 0; i < side->op_count; i++)
    for (uint32_t k = 0; k < side->ops[i].input_count; k++)
      if (side->ops[i].inputs[k].op < 0 && !add_variable(form, side->ops[i].inputs[k].op))
        return false;
  for (uint32_t i = 0; i < form->subst->result_count; i++)
    if (side->results[i].op < 0 && !add_variable(form, side->results[i].op)) return false;
  return true;
}

/// Returns the index in `form` of a variable of the file; the variable must exist.
static uint32_t find_variable(const eg_tensor_form *form, int32_t variable) {
  uint32_t i = 0;
  assert(form->variable_count > 0);
  while (i + 1 < form->variable_count && form->variables[i] != variable)
    i++;
  return i;
}

/// True when the other side has every variable of this side.
static bool uses_variables_of(const eg_tensor_form *form, const eg_subst_side *side,
                              const eg_subst_side *other) {
  for (uint32_t i = 0; i < form->variable_count; i++)
    if (eg_subst_side_has(side, form->subst->result_count, form->variables[i]) &&
        !eg_subst_side_has(other, form->subst->result_count, form->variables[i]))
      return false;
  return true;
}

static bool can_be_left(const eg_tensor_form *form, const eg_subst_side *left,
                        const eg_subst_side *right) {
  for (uint32_t i = 0; i < form->subst->result_count; i++)
    if (left->results[i].op < 0) return false;
  return uses_variables_of(form, right, left);
}

static void exchange_sides(eg_tensor_form *form) {
  const eg_subst_side *left = form->left;
  form->left = form->right;
  form->right = left;
  form->is_flipped = !form->is_flipped;
}

static uint32_t constants_of(const eg_subst_side *side) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < side->op_count; i++)
    count += side->ops[i].input_count == 0;
  return count;
}

/// Chooses the left side. Constants are better created than matched: if both sides are
/// possible, the right side is the one with more constants.
static const char *choose_left(eg_tensor_form *form) {
  bool can_stay = can_be_left(form, form->left, form->right);
  bool can_flip = can_be_left(form, form->right, form->left);
  if (can_stay && (!can_flip || constants_of(form->left) <= constants_of(form->right)))
    return NULL;
  if (can_flip) {
    exchange_sides(form);
    return NULL;
  }
  return "has a variable on the right side alone, or a left side that is a bare variable";
}

// ---- ranks ----------------------------------------------------------------------------

static int8_t *rank_at(eg_tensor_form *form, const eg_subst_side *side,
                       eg_subst_tensor tensor) {
  if (tensor.op < 0) return &form->variable_ranks[find_variable(form, tensor.op)];
  return side == form->left ? &form->left_ranks[tensor.op]
                            : &form->right_ranks[tensor.op];
}

int8_t eg_tensor_form_rank(const eg_tensor_form *form, const eg_subst_side *side,
                           eg_subst_tensor tensor) {
  if (tensor.op < 0) return form->variable_ranks[find_variable(form, tensor.op)];
  return side == form->left ? form->left_ranks[tensor.op] : form->right_ranks[tensor.op];
}

typedef struct rank_state {
  bool has_changed, is_contradiction;
} rank_state;

static void set_rank(rank_state *state, int8_t *rank, int8_t value) {
  if (value == EG_FORM_UNKNOWN || *rank == value) return;
  state->is_contradiction = state->is_contradiction || *rank != EG_FORM_UNKNOWN;
  state->has_changed = true;
  *rank = value;
}

static void unify_ranks(rank_state *state, int8_t *a, int8_t *b) {
  set_rank(state, a, *b);
  set_rank(state, b, *a);
}

/// True for a term that is one number, which fits every shape: the `one` of Iewmul, and
/// the product of such a term.
static bool is_number_term(const eg_subst_side *side, eg_subst_tensor tensor) {
  if (tensor.op < 0) return false;
  const eg_subst_op *op = &side->ops[tensor.op];
  if (op->kind == EG_SUBST_SCALE) return is_number_term(side, op->inputs[0]);
  return op->kind == EG_SUBST_MUL_ONE;
}

static void rank_op(eg_tensor_form *form, const eg_subst_side *side, uint32_t index,
                    rank_state *state) {
  const eg_subst_op *op = &side->ops[index];
  const op_shape *shape = op_shape_of(op->kind);
  eg_subst_tensor self = {.op = (int32_t)index};
  int8_t *result = rank_at(form, side, self), stated = shape->rank;
  if (op->kind == EG_SUBST_CONCAT && (op->said >> EG_SUBST_PM_RANK & 1) != 0)
    stated = (int8_t)op->parameter[EG_SUBST_PM_RANK];
  if (is_number_term(side, self)) stated = 0;
  set_rank(state, result, stated);
  for (uint32_t k = 0; k < op->input_count; k++) {
    int8_t *operand = rank_at(form, side, op->inputs[k]);
    if (op->kind == EG_SUBST_SCALE && k == 1)
      set_rank(state, operand, 0);
    else if (!is_number_term(side, op->inputs[k]))
      unify_ranks(state, operand, result);
  }
}

/// Assumes rank 2 for concatenations whose rank the file does not determine: such
/// substitutions were found on matrices.
static void assume_matrices(eg_tensor_form *form, const eg_subst_side *side,
                            rank_state *state) {
  for (uint32_t i = 0; i < side->op_count; i++) {
    int8_t *rank = rank_at(form, side, (eg_subst_tensor){.op = (int32_t)i});
    if (side->ops[i].kind == EG_SUBST_CONCAT && *rank == EG_FORM_UNKNOWN &&
        side->ops[i].parameter[EG_SUBST_PM_AXIS] < 2)
      set_rank(state, rank, 2);
  }
}

static const char *infer_ranks(eg_tensor_form *form) {
  rank_state state = {.has_changed = true};
  memset(form->variable_ranks, EG_FORM_UNKNOWN, sizeof form->variable_ranks);
  memset(form->left_ranks, EG_FORM_UNKNOWN, sizeof form->left_ranks);
  memset(form->right_ranks, EG_FORM_UNKNOWN, sizeof form->right_ranks);
  while (state.has_changed && !state.is_contradiction) {
    state.has_changed = false;
    for (uint32_t i = 0; i < form->left->op_count; i++)
      rank_op(form, form->left, i, &state);
    for (uint32_t i = 0; i < form->right->op_count; i++)
      rank_op(form, form->right, i, &state);
    for (uint32_t i = 0; i < form->subst->result_count; i++)
      unify_ranks(&state, rank_at(form, form->left, form->left->results[i]),
                  rank_at(form, form->right, form->right->results[i]));
    if (state.has_changed) continue;
    assume_matrices(form, form->left, &state);
    assume_matrices(form, form->right, &state);
  }
  return state.is_contradiction ? "has a tensor of two ranks" : NULL;
}

bool eg_tensor_form_flip(eg_tensor_form *form) {
  if (!can_be_left(form, form->right, form->left)) return false;
  exchange_sides(form);
  (void)infer_ranks(form); // has succeeded before
  return true;
}

// ---- freedoms of a form ---------------------------------------------------------------

/// Marks variables from which the kernel of a convolution is made.
static void mark_kernels(eg_tensor_form *form, const eg_subst_side *side) {
  bool is_part[EG_SUBST_OPS] = {false};
  for (uint32_t i = side->op_count; i-- > 0;)
    for (uint32_t k = 0; k < side->ops[i].input_count; k++) {
      bool is_kernel = is_part[i] || (side->ops[i].kind == EG_SUBST_CONV && k == 1);
      int32_t from = side->ops[i].inputs[k].op;
      if (!is_kernel || (side->ops[i].kind == EG_SUBST_SCALE && k == 1)) continue;
      if (from >= 0)
        is_part[from] = true;
      else
        form->is_kernel[find_variable(form, from)] = true;
    }
}

static void note_side(eg_tensor_form *form, const eg_subst_side *side) {
  for (uint32_t i = 0; i < side->op_count; i++) {
    const eg_subst_op *op = &side->ops[i];
    bool has_act = op->kind == EG_SUBST_CONV || op->kind == EG_SUBST_MATMUL;
    form->possible |= op_shape_of(op->kind)->frees;
    if (has_act && op->parameter[EG_SUBST_PM_ACTIVATION] == EG_SUBST_ACT_NONE)
      form->possible |= BIT(EG_FREE_NO_ACT);
    if (has_act && op->parameter[EG_SUBST_PM_ACTIVATION] == EG_SUBST_ACT_RELU)
      form->possible |= BIT(EG_FREE_RELU_ACT);
  }
  mark_kernels(form, side);
}

static const char *fault_of_side(const eg_subst_side *side, char buffer[96]) {
  for (uint32_t i = 0; i < side->op_count; i++) {
    const char *fault = fault_of(&side->ops[i], buffer);
    if (fault == NULL) fault = fault_of_numbers(&side->ops[i], buffer);
    if (fault != NULL) return fault;
  }
  return NULL;
}

const char *eg_tensor_form_read(const eg_substitution *subst, eg_tensor_form *out,
                                char buffer[96]) {
  *out = (eg_tensor_form){.subst = subst,
                          .left = &subst->left,
                          .right = &subst->right,
                          .math = EGRAPH_MATH_FAST};
  if (subst->is_too_large) return "is too large";
  const char *fault = fault_of_side(out->left, buffer);
  if (fault == NULL) fault = fault_of_side(out->right, buffer);
  if (fault != NULL) return fault;
  if (!add_variables(out, out->left) || !add_variables(out, out->right))
    return "has too many variables";
  fault = choose_left(out);
  if (fault == NULL) fault = infer_ranks(out);
  if (fault != NULL) return fault;
  note_side(out, out->left);
  note_side(out, out->right);
  return NULL;
}

// ---- guards ---------------------------------------------------------------------------

typedef struct guard_list {
  eg_guard *guards;
  uint32_t count;
} guard_list;

static void add_guard(guard_list *list, eg_guard_kind kind, uint32_t a, uint32_t b,
                      int32_t dim) {
  if (list->count == EG_FORM_GUARDS) return;
  list->guards[list->count++] = (eg_guard){.kind = kind, .a = a, .b = b, .dim = dim};
}

static void add_of_variables(const eg_tensor_form *form, eg_guard_kind kind,
                             guard_list *list) {
  for (uint32_t a = 0; a < form->variable_count; a++)
    for (uint32_t b = a + 1; b < form->variable_count; b++) {
      int8_t rank = form->variable_ranks[a];
      if (rank != form->variable_ranks[b] || rank == 0) continue;
      if (kind == EG_GUARD_SAME_SHAPE) add_guard(list, kind, a, b, 0);
      for (int32_t d = 0; kind == EG_GUARD_SAME_DIM && d < rank; d++)
        add_guard(list, kind, a, b, d);
    }
}

static void add_of_convolutions(const eg_tensor_form *form, eg_guard_kind kind,
                                guard_list *list) {
  for (uint32_t a = 0; a < form->left->op_count; a++)
    for (uint32_t b = a + 1; b < form->left->op_count; b++)
      if (form->left->ops[a].kind == EG_SUBST_CONV &&
          form->left->ops[b].kind == EG_SUBST_CONV)
        add_guard(list, kind, a, b, 0);
}

uint32_t eg_tensor_form_guards(const eg_tensor_form *form, eg_guard *out) {
  guard_list list = {.guards = out};
  bool has_conv = (form->possible & BIT(EG_FREE_GROUP)) != 0;
  add_of_convolutions(form, EG_GUARD_SAME_CHANNELS, &list);
  add_of_convolutions(form, EG_GUARD_SAME_GROUPS, &list);
  if (has_conv) add_guard(&list, EG_GUARD_ODD_KERNELS, 0, 0, 0);
  if (has_conv) add_guard(&list, EG_GUARD_NO_GROUPS, 0, 0, 0);
  add_of_variables(form, EG_GUARD_SAME_DIM, &list);
  add_of_variables(form, EG_GUARD_SAME_SHAPE, &list);
  return list.count;
}
