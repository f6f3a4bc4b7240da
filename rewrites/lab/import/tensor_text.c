// Writes shared terms in full. Names the first operand of a sum on the left (?t0 ...): in
// the files, operands of sums have equal shapes; in this language they may broadcast.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/import/tensor_form.h"

#include <inttypes.h>

// Largest length of a rule's text: shared terms are written in full and may be many.
enum { MAX_TEXT = 1 << 14 };

typedef struct writer {
  const eg_tensor_form *form;
  const eg_subst_side *side; // side being written
  eg_text *text;
  const char *fault;
  bool is_named[EG_SUBST_OPS]; // ?t<i> of the left side has been written
  bool axis_is_free;           // sizes of parts along an axis that is a variable
  uint32_t depth;              // nesting of sizes that other sizes determine
} writer;

static bool has_freedom(const writer *w, eg_freedom freedom) {
  return (w->form->freedoms >> freedom & 1) != 0;
}

static bool is_left(const writer *w) { return w->side == w->form->left; }

static bool has_ended(writer *w) {
  if (w->fault == NULL && w->text->chars.len > MAX_TEXT) w->fault = "is too large";
  return w->fault != NULL;
}

static const eg_subst_op *op_of(const writer *w, eg_subst_tensor tensor) {
  return tensor.op >= 0 ? &w->side->ops[tensor.op] : NULL;
}

static bool is_constant_op(int32_t kind) {
  return kind == EG_SUBST_MATMUL_ONE || kind == EG_SUBST_CONV_ONE ||
         kind == EG_SUBST_POOL_KERNEL || kind == EG_SUBST_MUL_ONE;
}

// ---- constants ------------------------------------------------------------------------

/// An operator's operand that is a constant tensor; the operator determines its size.
typedef struct use {
  bool is_known;
  eg_subst_tensor sibling, convolved, multiplied;
  bool has_sibling, has_convolved, has_multiplied;
  uint32_t place; // position of the constant in the product: 0 or 1
} use;

/// Finds the operator that reads a constant tensor and so determines its size.
static use use_of(const writer *w, int32_t constant) {
  use found = {.is_known = false};
  for (int32_t i = constant + 1; i < (int32_t)w->side->op_count; i++) {
    const eg_subst_op *op = &w->side->ops[i];
    uint32_t at = 0;
    while (at < op->input_count && op->inputs[at].op != constant)
      at++;
    if (at == op->input_count) continue;
    eg_subst_tensor other = op->inputs[op->input_count == 2 ? 1 - at : at];
    const eg_subst_op *beside = other.op >= 0 ? &w->side->ops[other.op] : NULL;
    bool is_sized = beside == NULL || !is_constant_op(beside->kind);
    if (op->kind == EG_SUBST_CONV) {
      found.convolved = op->inputs[0];
      found.has_convolved = at == 1;
      found.is_known = at == 1 || found.has_sibling;
      return found;
    }
    if (op->kind == EG_SUBST_MATMUL) {
      found.multiplied = other;
      found.place = at;
      found.is_known = found.has_multiplied = is_sized;
      return found;
    }
    bool joins = op->kind == EG_SUBST_ADD || op->kind == EG_SUBST_MUL ||
                 op->kind == EG_SUBST_CONCAT;
    if (joins && is_sized && !found.has_sibling) {
      found.sibling = other;
      found.has_sibling = found.is_known = true;
    }
    constant = i;
  }
  return found;
}

// ---- sizes ----------------------------------------------------------------------------

static egraph_status write_dim(writer *w, eg_subst_tensor tensor, int32_t axis);

/// Appends the sizes of two tensors along dimensions i and k, with a blank between them.
static egraph_status write_two_dims(writer *w, const char *head, eg_subst_tensor a,
                                    int32_t i, eg_subst_tensor b, int32_t k,
                                    const char *tail) {
  eg_text_append(w->text, head);
  write_dim(w, a, i);
  eg_text_append(w->text, " ");
  write_dim(w, b, k);
  return eg_text_append(w->text, tail);
}

/// Returns the first operand of an operator that has the size of its result.
static eg_subst_tensor sized_operand(const writer *w, const eg_subst_op *op) {
  const eg_subst_op *first = op_of(w, op->inputs[0]);
  bool is_two = op->kind == EG_SUBST_ADD || op->kind == EG_SUBST_MUL;
  return op->inputs[is_two && first != NULL && is_constant_op(first->kind) ? 1 : 0];
}

static egraph_status write_kernel_dim(writer *w, const eg_subst_op *op, int32_t axis) {
  return eg_text_printf(w->text, "%" PRId32,
                        op->parameter[EG_SUBST_PM_KERNEL_H + axis - 2]);
}

static egraph_status write_constant_dim(writer *w, int32_t index, int32_t axis) {
  const eg_subst_op *op = &w->side->ops[index];
  use where = use_of(w, index);
  if (axis >= 2) return write_kernel_dim(w, op, axis);
  if (axis == 1 && op->kind == EG_SUBST_POOL_KERNEL) return eg_text_append(w->text, "1");
  if (where.has_multiplied)
    return write_dim(w, where.multiplied, 1 - (int32_t)where.place);
  if (op->kind == EG_SUBST_MATMUL_ONE && where.has_sibling)
    return write_dim(w, where.sibling, 1);
  if (axis == 1 && where.has_sibling) return write_dim(w, where.sibling, 1);
  if (axis == 1 && op->kind == EG_SUBST_CONV_ONE) return eg_text_append(w->text, "1");
  if (where.has_convolved) return write_dim(w, where.convolved, 1);
  if (where.has_sibling) return write_dim(w, where.sibling, axis);
  w->fault = "has a constant of which nothing says the size";
  return EGRAPH_OK;
}

static egraph_status write_variable_dim(writer *w, eg_subst_tensor tensor, int32_t axis) {
  int8_t rank = eg_tensor_form_rank(w->form, w->side, tensor);
  eg_text_printf(w->text, "(dim ?x%" PRId32 " ", -tensor.op);
  if (w->axis_is_free) return eg_text_printf(w->text, "?a%" PRId32 ")", axis);
  return eg_text_printf(w->text, "%" PRId32 ")", rank == 2 ? axis - 2 : axis);
}

/// Finds tensors with the sizes of the two parts of a split: the operands last joined
/// along its axis, or equal halves.
static bool find_halves(const writer *w, eg_subst_tensor tensor, int32_t axis,
                        eg_subst_tensor halves[2], int32_t *out_axis) {
  for (const eg_subst_op *op = op_of(w, tensor); op != NULL; op = op_of(w, tensor)) {
    *out_axis = axis;
    if (op->kind == EG_SUBST_CONCAT && op->parameter[EG_SUBST_PM_AXIS] == axis) {
      halves[0] = op->inputs[0];
      halves[1] = op->inputs[1];
      return true;
    }
    bool is_second =
        (op->kind == EG_SUBST_CONV || op->kind == EG_SUBST_MATMUL) && axis == 1;
    if (op->kind == EG_SUBST_CONV && axis == 1) axis = 0;
    if (op->kind == EG_SUBST_TRANSPOSE) axis = 1 - axis;
    if (op->input_count == 0) return false;
    tensor = is_second ? op->inputs[1] : sized_operand(w, op);
  }
  return false;
}

static egraph_status write_half(writer *w, const eg_subst_op *split, int32_t output) {
  eg_subst_tensor halves[2];
  int32_t axis = split->parameter[EG_SUBST_PM_AXIS], along;
  if (find_halves(w, split->inputs[0], axis, halves, &along))
    return write_dim(w, halves[output != 0], along);
  eg_text_append(w->text, "(/ ");
  write_dim(w, split->inputs[0], axis);
  return eg_text_append(w->text, " 2)");
}

static egraph_status write_op_dim(writer *w, eg_subst_tensor tensor, int32_t axis) {
  const eg_subst_op *op = op_of(w, tensor);
  int32_t along = op->parameter[EG_SUBST_PM_AXIS];
  bool is_same_size = op->parameter[EG_SUBST_PM_PAD] == EG_SUBST_SAME &&
                      op->parameter[EG_SUBST_PM_STRIDE_H] == 1 &&
                      op->parameter[EG_SUBST_PM_STRIDE_W] == 1;
  if (is_constant_op(op->kind)) return write_constant_dim(w, tensor.op, axis);
  if (op->kind == EG_SUBST_CONCAT && along == axis)
    return write_two_dims(w, "(+ ", op->inputs[0], axis, op->inputs[1], axis, ")");
  if (op->kind == EG_SUBST_SPLIT && along == axis)
    return write_half(w, op, tensor.output);
  if (op->kind == EG_SUBST_TRANSPOSE) return write_dim(w, op->inputs[0], 1 - axis);
  if (op->kind == EG_SUBST_MATMUL) return write_dim(w, op->inputs[axis], axis);
  if (op->kind == EG_SUBST_CONV && axis == 1) return write_dim(w, op->inputs[1], 0);
  if (op->kind == EG_SUBST_ENLARGE && axis >= 2) return write_kernel_dim(w, op, axis);
  bool has_window = op->kind == EG_SUBST_CONV || op->kind == EG_SUBST_MAX_POOL ||
                    op->kind == EG_SUBST_AVERAGE_POOL;
  if (has_window && axis >= 2 && !is_same_size) {
    w->fault = "has a size that depends on a stride";
    return EGRAPH_OK;
  }
  return write_dim(w, sized_operand(w, op), axis);
}

// Writes the size of a tensor along an axis. The depth is limited because two constants
// may determine each other's size.
static egraph_status write_dim(writer *w, eg_subst_tensor tensor, int32_t axis) {
  int8_t rank = eg_tensor_form_rank(w->form, w->side, tensor);
  if (w->depth == 2 * EG_SUBST_OPS)
    w->fault = "has a constant of which nothing says the size";
  if (rank != EG_FORM_UNKNOWN && axis >= rank) w->fault = "has an axis that is not there";
  if (has_ended(w)) return EGRAPH_OK;
  w->depth++;
  egraph_status status =
      tensor.op < 0 ? write_variable_dim(w, tensor, axis) : write_op_dim(w, tensor, axis);
  w->depth--;
  return status;
}

// ---- attributes -----------------------------------------------------------------------

static egraph_status write_same_pads(writer *w, eg_subst_tensor kernel) {
  static const char *const halves[] = {"(floor-div (- ", "(floor-div "};
  eg_text_append(w->text, "[");
  for (int32_t i = 0; i < 4; i++) {
    eg_text_printf(w->text, "%s%s", i == 0 ? "" : " ", halves[i / 2]);
    write_dim(w, kernel, 2 + i % 2);
    eg_text_append(w->text, i < 2 ? " 1) 2)" : " 2)");
  }
  return eg_text_append(w->text, "]");
}

static egraph_status write_pads(writer *w, const eg_subst_op *op) {
  const int32_t *p = op->parameter;
  eg_text_append(w->text, " :pads ");
  if (has_freedom(w, EG_FREE_PADS)) return eg_text_append(w->text, "?p");
  if (p[EG_SUBST_PM_PAD] == EG_SUBST_VALID) return eg_text_append(w->text, "[0 0 0 0]");
  if (p[EG_SUBST_PM_STRIDE_H] != 1 || p[EG_SUBST_PM_STRIDE_W] != 1) {
    w->fault = "has padding that depends on a stride";
    return EGRAPH_OK;
  }
  if (op->kind == EG_SUBST_CONV) return write_same_pads(w, op->inputs[1]);
  int32_t h = p[EG_SUBST_PM_KERNEL_H], v = p[EG_SUBST_PM_KERNEL_W];
  return eg_text_printf(w->text, "[%d %d %d %d]", (h - 1) / 2, (v - 1) / 2, h / 2, v / 2);
}

static egraph_status write_window(writer *w, const eg_subst_op *op) {
  const int32_t *p = op->parameter;
  EG_TRY(has_freedom(w, EG_FREE_STRIDE)
             ? eg_text_append(w->text, " :strides ?s")
             : eg_text_printf(w->text, " :strides [%d %d]", p[EG_SUBST_PM_STRIDE_H],
                              p[EG_SUBST_PM_STRIDE_W]));
  write_pads(w, op);
  if (op->kind == EG_SUBST_AVERAGE_POOL)
    return eg_text_append(w->text, has_freedom(w, EG_FREE_COUNT)
                                       ? " :count_include_pad ?c"
                                       : " :count_include_pad 1");
  return eg_text_append(w->text, has_freedom(w, EG_FREE_DILATION) ? " :dilations ?d"
                                                                  : " :dilations [1 1]");
}

static egraph_status write_act(writer *w, const eg_subst_op *op) {
  static const char *const acts[] = {"", " :act sigmoid", " :act relu", " :act tanh"};
  int32_t act = op->parameter[EG_SUBST_PM_ACTIVATION];
  if (act == EG_SUBST_ACT_NONE && has_freedom(w, EG_FREE_NO_ACT))
    return eg_text_append(w->text, " :act ?n :act_alpha ?na :act_beta ?nb");
  if (act == EG_SUBST_ACT_RELU && has_freedom(w, EG_FREE_RELU_ACT))
    return eg_text_append(w->text, " :act ?r :act_alpha ?ra :act_beta ?rb");
  return eg_text_append(w->text, acts[act]);
}

/// Writes the group count of a convolution. Files do not have it: it is the channels of
/// the image divided by the channels of the kernel.
static egraph_status write_group(writer *w, uint32_t index) {
  const eg_subst_op *op = &w->side->ops[index];
  bool is_one = false;
  for (uint32_t i = 0; i < w->form->guard_count; i++)
    is_one = is_one || w->form->guards[i].kind == EG_GUARD_NO_GROUPS;
  uint32_t first = 0; // convolution of the left side
  while (first < w->form->left->op_count &&
         w->form->left->ops[first].kind != EG_SUBST_CONV)
    first++;
  if (is_left(w))
    return is_one ? EGRAPH_OK : eg_text_printf(w->text, " :group ?g%" PRIu32, index);
  if (has_freedom(w, EG_FREE_GROUP)) {
    if (is_one) return EGRAPH_OK;
    if (first < w->form->left->op_count)
      return eg_text_printf(w->text, " :group ?g%" PRIu32, first);
  }
  return write_two_dims(w, " :group (/ ", op->inputs[0], 1, op->inputs[1], 1, ")");
}

static egraph_status write_kernel_shape(writer *w, const eg_subst_op *op) {
  if (has_freedom(w, EG_FREE_KERNEL)) return eg_text_append(w->text, " :kernel_shape ?k");
  return eg_text_printf(w->text, " :kernel_shape [%d %d]",
                        op->parameter[EG_SUBST_PM_KERNEL_H],
                        op->parameter[EG_SUBST_PM_KERNEL_W]);
}

static egraph_status write_axis(writer *w, eg_subst_tensor self) {
  const eg_subst_op *op = op_of(w, self);
  int32_t axis = op->parameter[EG_SUBST_PM_AXIS];
  int8_t rank = eg_tensor_form_rank(w->form, w->side, self);
  if (has_freedom(w, EG_FREE_AXIS)) return eg_text_printf(w->text, " :axis ?a%d", axis);
  bool is_from_end = has_freedom(w, EG_FREE_AXIS_END) && rank != EG_FORM_UNKNOWN;
  return eg_text_printf(w->text, " :axis %d", is_from_end ? axis - rank : axis);
}

/// Pads a kernel with zeros on both sides; if the number of zeros is odd, one more
/// follows the kernel.
static egraph_status write_enlarge(writer *w, const eg_subst_op *op) {
  int32_t size[2] = {op->parameter[EG_SUBST_PM_KERNEL_H],
                     op->parameter[EG_SUBST_PM_KERNEL_W]};
  if (has_freedom(w, EG_FREE_ENLARGE)) {
    eg_text_append(w->text, "(enlarge");
    return eg_text_printf(w->text, " :kernel_shape [%d %d]", size[0], size[1]);
  }
  eg_text_append(w->text, "(pad :pads [0 0");
  for (int32_t i = 0; i < 4; i++) {
    eg_text_append(w->text, i == 2 ? " 0 0" : "");
    eg_text_printf(w->text, i < 2 ? " (floor-div (- %d " : " (floor-div (- %d ",
                   i < 2 ? size[i % 2] : size[i % 2] + 1);
    write_dim(w, op->inputs[0], 2 + i % 2);
    eg_text_append(w->text, ") 2)");
  }
  return eg_text_append(w->text, "]");
}

// ---- terms ----------------------------------------------------------------------------

static egraph_status write_one(writer *w, int32_t index) {
  const eg_subst_op *op = &w->side->ops[index];
  static const char *const heads[] = {"(eye", "(conv-identity", "(fill", "(pool-kernel"};
  eg_text_append(w->text, heads[op->kind - EG_SUBST_MATMUL_ONE]);
  eg_text_printf(w->text, " :dtype (dtype ?x%" PRId32 ")", -w->form->variables[0]);
  if (op->kind == EG_SUBST_MUL_ONE)
    return eg_text_append(w->text, " :shape [] :value 1.0");
  EG_TRY(
      eg_text_append(w->text, op->kind == EG_SUBST_MATMUL_ONE ? " :n " : " :channels "));
  write_constant_dim(w, index, 0);
  if (op->kind == EG_SUBST_MATMUL_ONE) return EGRAPH_OK;
  write_kernel_shape(w, op);
  if (op->kind == EG_SUBST_POOL_KERNEL) return EGRAPH_OK;
  eg_text_append(w->text, " :group (/ ");
  write_constant_dim(w, index, 0);
  eg_text_append(w->text, " ");
  write_constant_dim(w, index, 1);
  return eg_text_append(w->text, ")");
}

/// Writes the beginning of an operator: "(conv :strides [1 1]", and so on.
static egraph_status write_tensor_head(writer *w, eg_subst_tensor self) {
  const eg_subst_op *op = op_of(w, self);
  switch (op->kind) {
  case EG_SUBST_CONV:
    eg_text_append(w->text, "(conv");
    write_window(w, op);
    write_group(w, (uint32_t)self.op);
    return write_act(w, op);
  case EG_SUBST_MAX_POOL:
  case EG_SUBST_AVERAGE_POOL:
    eg_text_append(w->text,
                   op->kind == EG_SUBST_MAX_POOL ? "(max-pool" : "(average-pool");
    write_kernel_shape(w, op);
    return write_window(w, op);
  case EG_SUBST_MATMUL: eg_text_append(w->text, "(matmul"); return write_act(w, op);
  case EG_SUBST_CONCAT: eg_text_append(w->text, "(concat"); return write_axis(w, self);
  case EG_SUBST_TRANSPOSE:
    return eg_text_append(w->text, has_freedom(w, EG_FREE_PERM)
                                       ? "(transpose :perm ?perm"
                                       : "(transpose :perm [1 0]");
  case EG_SUBST_ENLARGE: return write_enlarge(w, op);
  case EG_SUBST_RELU: return eg_text_append(w->text, "(relu");
  case EG_SUBST_SIGMOID: return eg_text_append(w->text, "(sigmoid");
  case EG_SUBST_TANH: return eg_text_append(w->text, "(tanh");
  case EG_SUBST_ADD: return eg_text_append(w->text, "(add");
  case EG_SUBST_MUL:
  case EG_SUBST_SCALE: return eg_text_append(w->text, "(mul");
  default: return write_one(w, self.op);
  }
}

static egraph_status write_split(writer *w, eg_subst_tensor self) {
  const eg_subst_op *op = op_of(w, self);
  eg_text_printf(w->text, "(part :index %d (split", self.output);
  write_axis(w, self);
  eg_text_append(w->text, " :sizes [");
  w->axis_is_free = has_freedom(w, EG_FREE_AXIS);
  write_half(w, op, 0);
  eg_text_append(w->text, " ");
  write_half(w, op, 1);
  w->axis_is_free = false;
  return eg_text_append(w->text, "]");
}

/// True when the left side must name the operator: it is an operand of a sum or product,
/// and conditions mention its shape.
static bool is_operand_of_sum(const writer *w, int32_t index) {
  if (!is_left(w) || has_freedom(w, EG_FREE_SHAPES)) return false;
  for (uint32_t i = 0; i < w->side->op_count; i++) {
    const eg_subst_op *op = &w->side->ops[i];
    bool is_sum = op->kind == EG_SUBST_ADD || op->kind == EG_SUBST_MUL;
    if (is_sum && (op->inputs[0].op == index || op->inputs[1].op == index)) return true;
  }
  return false;
}

// Writes a tensor as a term. The recursion is at most EG_SUBST_OPS deep: operands precede
// their users.
static egraph_status write_tensor(writer *w, eg_subst_tensor tensor) {
  if (has_ended(w)) return EGRAPH_OK;
  if (tensor.op < 0) return eg_text_printf(w->text, "?x%" PRId32, -tensor.op);
  const eg_subst_op *op = op_of(w, tensor);
  bool is_split = op->kind == EG_SUBST_SPLIT;
  bool is_named = !is_split && is_operand_of_sum(w, tensor.op);
  if (is_named && w->is_named[tensor.op])
    return eg_text_printf(w->text, "?t%" PRId32, tensor.op);
  if (is_named) {
    w->is_named[tensor.op] = true;
    eg_text_printf(w->text, "(as ?t%" PRId32 " ", tensor.op);
  }
  EG_TRY(is_split ? write_split(w, tensor) : write_tensor_head(w, tensor));
  for (uint32_t i = 0; i < op->input_count; i++) {
    eg_text_append(w->text, " ");
    write_tensor(w, op->inputs[i]);
  }
  return eg_text_append(w->text, is_split || is_named ? "))" : ")");
}

static void write_side(writer *w, const char *clause, const eg_subst_side *side) {
  w->side = side;
  eg_text_printf(w->text, "\n  (%s", clause);
  for (uint32_t i = 0; i < w->form->subst->result_count; i++) {
    eg_text_append(w->text, " ");
    write_tensor(w, side->results[i]);
  }
  eg_text_append(w->text, ")");
}

// ---- conditions -----------------------------------------------------------------------

static void write_ranks(writer *w) {
  for (uint32_t i = 0; i < w->form->variable_count; i++) {
    int8_t rank = w->form->variable_ranks[i];
    bool is_left_out =
        rank == 0 ? has_freedom(w, EG_FREE_SHAPES) : has_freedom(w, EG_FREE_RANK);
    if (rank != EG_FORM_UNKNOWN && !is_left_out &&
        eg_subst_side_has(w->form->left, w->form->subst->result_count,
                          w->form->variables[i]))
      eg_text_printf(w->text, " (= (rank ?x%" PRId32 ") %d)", -w->form->variables[i],
                     rank);
  }
}

/// True when conditions can name the tensor, an operand of a sum.
static bool can_name(const writer *w, eg_subst_tensor tensor) {
  const eg_subst_op *op = op_of(w, tensor);
  return op == NULL || (is_left(w) && op->kind != EG_SUBST_SPLIT);
}

static void write_name(writer *w, eg_subst_tensor tensor) {
  eg_text_printf(w->text, tensor.op < 0 ? " ?x%" PRId32 : " ?t%" PRId32,
                 tensor.op < 0 ? -tensor.op : tensor.op);
}

/// Writes the condition " (= size size)" on a dimension of two tensors, unless it is
/// trivial or cannot be expressed.
static void write_same_dim(writer *w, eg_subst_tensor a, eg_subst_tensor b, int32_t dim) {
  size_t start = w->text->chars.len;
  const char *fault = w->fault;
  eg_text_append(w->text, " (= ");
  size_t first = w->text->chars.len;
  write_dim(w, a, dim);
  size_t length = w->text->chars.len - first;
  eg_text_append(w->text, " ");
  write_dim(w, b, dim);
  if (eg_text_status(w->text) != EGRAPH_OK) return;
  const char *text = eg_text_of(w->text) + first;
  bool is_same = w->text->chars.len - first == 2 * length + 1 &&
                 memcmp(text, text + length + 1, length) == 0;
  bool is_left_out = is_same || w->fault != NULL;
  if (is_left_out) w->text->chars.len = start;
  w->fault = fault;
  eg_text_append(w->text, is_left_out ? "" : ")");
}

static void write_same_dims(writer *w, eg_subst_tensor a, eg_subst_tensor b) {
  int8_t rank = eg_tensor_form_rank(w->form, w->side, a);
  int8_t other = eg_tensor_form_rank(w->form, w->side, b);
  for (int32_t d = 0; rank == other && d < rank; d++)
    write_same_dim(w, a, b, d);
}

static void write_shapes(writer *w, const eg_subst_side *side) {
  w->side = side;
  for (uint32_t i = 0; i < side->op_count && !has_freedom(w, EG_FREE_SHAPES); i++) {
    const eg_subst_op *op = &side->ops[i];
    if (op->kind != EG_SUBST_ADD && op->kind != EG_SUBST_MUL) continue;
    const eg_subst_op *a = op_of(w, op->inputs[0]), *b = op_of(w, op->inputs[1]);
    if (!eg_subst_side_needs(side, w->form->subst->result_count, i) ||
        op->inputs[0].op == op->inputs[1].op)
      continue;
    bool has_constant =
        (a != NULL && is_constant_op(a->kind)) || (b != NULL && is_constant_op(b->kind));
    if (has_constant || !can_name(w, op->inputs[0]) || !can_name(w, op->inputs[1])) {
      write_same_dims(w, op->inputs[0], op->inputs[1]);
      continue;
    }
    eg_text_append(w->text, " (same-shape");
    write_name(w, op->inputs[0]);
    write_name(w, op->inputs[1]);
    eg_text_append(w->text, ")");
  }
}

static void write_channels(writer *w, uint32_t of, uint32_t other) {
  eg_text_append(w->text, "(* ");
  write_dim(w, w->side->ops[of].inputs[1], 0);
  eg_text_printf(w->text, " ?g%" PRIu32 ")", other);
}

static egraph_status write_odd_kernels(writer *w) {
  for (uint32_t i = 0; i < w->form->variable_count; i++) {
    eg_subst_tensor variable = {.op = w->form->variables[i]};
    bool is_kernel = w->form->is_kernel[i] && w->form->variable_ranks[i] == 4;
    for (int32_t d = 2; is_kernel && d < 4; d++) {
      eg_text_append(w->text, " (odd ");
      write_dim(w, variable, d);
      eg_text_append(w->text, ")");
    }
  }
  return EGRAPH_OK;
}

static egraph_status write_guard(writer *w, const eg_guard *guard) {
  eg_subst_tensor a = {.op = w->form->variables[guard->a % EG_FORM_VARIABLES]};
  eg_subst_tensor b = {.op = w->form->variables[guard->b % EG_FORM_VARIABLES]};
  w->side = w->form->left;
  switch (guard->kind) {
  case EG_GUARD_SAME_DIM:
    return write_two_dims(w, " (= ", a, guard->dim, b, guard->dim, ")");
  case EG_GUARD_SAME_GROUPS:
    return eg_text_printf(w->text, " (= ?g%" PRIu32 " ?g%" PRIu32 ")", guard->a,
                          guard->b);
  case EG_GUARD_SAME_CHANNELS:
    eg_text_append(w->text, " (= ");
    write_channels(w, guard->a, guard->b);
    eg_text_append(w->text, " ");
    write_channels(w, guard->b, guard->a);
    return eg_text_append(w->text, ")");
  case EG_GUARD_ODD_KERNELS: return write_odd_kernels(w);
  case EG_GUARD_SAME_SHAPE:
    eg_text_append(w->text, " (same-shape");
    write_name(w, a);
    write_name(w, b);
    return eg_text_append(w->text, ")");
  case EG_GUARD_NO_GROUPS: break; // expressed by leaving the attribute out
  }
  return EGRAPH_OK;
}

static egraph_status write_conditions(writer *w) {
  size_t start = w->text->chars.len;
  eg_text_append(w->text, "\n  (when");
  size_t before = w->text->chars.len;
  write_ranks(w);
  write_shapes(w, w->form->left);
  write_shapes(w, w->form->right);
  for (uint32_t i = 0; i < w->form->guard_count; i++)
    write_guard(w, &w->form->guards[i]);
  if (w->form->condition != NULL) eg_text_printf(w->text, " %s", w->form->condition);
  if (w->text->chars.len != before) return eg_text_append(w->text, ")");
  w->text->chars.len = start;
  return eg_text_append(w->text, "");
}

egraph_status eg_guard_write(const eg_tensor_form *form, const eg_guard *guard,
                             eg_text *text) {
  writer w = {.form = form, .text = text};
  if (guard->kind == EG_GUARD_NO_GROUPS) return eg_text_append(text, " (= group 1)");
  return write_guard(&w, guard);
}

egraph_status eg_tensor_form_write(const eg_tensor_form *form, const char *name,
                                   const char *source, eg_text *text,
                                   const char **out_fault) {
  writer w = {.form = form, .text = text};
  eg_text_clear(text);
  eg_text_printf(text, "(egraph-rules 1)\n(rule %s\n  (source ", name);
  eg_text_quoted(text, source);
  eg_text_printf(text, ")\n  (class %s)", eg_rule_class_name(form->math));
  write_side(&w, "lhs", form->left);
  write_side(&w, "rhs", form->right);
  write_conditions(&w);
  *out_fault = w.fault;
  return eg_text_append(text, ")\n");
}
