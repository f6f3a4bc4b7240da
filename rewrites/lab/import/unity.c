// Writes substitutions of Unity as rules with parallel operators.
//
// Their tensors have three dimensions: copies, rows, columns. A substitution has a
// meaning on a mesh when it replicates and reduces along copies only, and partitions and
// combines along the other dimensions. The other substitutions are about tiles and stacks
// of copies. The files do not name the mesh axis of a parallel operator; axes are tried
// until the layouts fit.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/import/unity.h"

#include <inttypes.h>

#include "pcg/parallel/mesh.h"
#include "rewrites/lab/import/import_internal.h"

// ---- text ---------------------------------------------------------------------------

// Largest length of a rule's text: shared terms are written in full and may be many.
enum { MAX_TEXT = 1 << 14 };

typedef struct writer {
  const eg_substitution *rule;
  uint32_t number;
  const eg_unity_form *form;
  eg_text *text;
  bool is_too_long;
} writer;

// ---- what has no meaning --------------------------------------------------------------

static bool is_parallel(const eg_subst_op *op) {
  return op->kind >= EG_SUBST_PARTITION && op->kind <= EG_SUBST_REDUCE;
}

/// Returns the reason why an operator has no meaning on a mesh (or as tiles), or NULL.
/// Dimensions of tiles are 0, 1, 2 and are equivalent.
static const char *fault_of(const eg_subst_op *op, bool as_tiles) {
  int32_t dim = op->parameter[EG_SUBST_PM_PARALLEL_DIM],
          axis = op->parameter[EG_SUBST_PM_AXIS];
  if (as_tiles && (dim < 0 || dim > 2 || axis < 0 || axis > 2))
    return "has an unknown dimension";
  uint32_t operands = 1;
  switch (op->kind) {
  case EG_SUBST_REPLICATE:
  case EG_SUBST_REDUCE:
    if (dim != 0 && !as_tiles)
      return "copies or sums along a dimension of the data, which are tiles";
    break;
  case EG_SUBST_PARTITION:
  case EG_SUBST_COMBINE:
    if ((dim < 1 || dim > 2) && !as_tiles) return "partitions or combines copies";
    break;
  case EG_SUBST_CONCAT:
  case EG_SUBST_SPLIT:
    if ((axis < 1 || axis > 2) && !as_tiles) return "concatenates or splits copies";
    operands = op->kind == EG_SUBST_CONCAT ? 2 : 1;
    break;
  case EG_SUBST_LINEAR:
    if (op->parameter[EG_SUBST_PM_ACTIVATION] % 2 != 0)
      return "has an unknown activation";
    operands = 2;
    break;
  case EG_SUBST_ADD:
  case EG_SUBST_MUL: operands = 2; break;
  case EG_SUBST_RELU: break;
  default: return "has an unknown operator";
  }
  return op->input_count == operands ? NULL : "has an unknown number of operands";
}

static const char *fault_of_side(const eg_subst_side *side, const eg_subst_side *other,
                                 bool as_tiles) {
  for (uint32_t i = 0; i < side->op_count; i++) {
    const char *fault = fault_of(&side->ops[i], as_tiles);
    if (fault != NULL) return fault;
    for (uint32_t k = 0; other != NULL && k < side->ops[i].input_count; k++)
      if (side->ops[i].inputs[k].op < 0 &&
          !eg_subst_side_has(other, 0, side->ops[i].inputs[k].op))
        return "has a variable on the right side alone";
  }
  return NULL;
}

// ---- writing --------------------------------------------------------------------------

static uint32_t parallel_before(const writer *w, const eg_subst_side *side, int32_t op) {
  uint32_t count = 0;
  const eg_subst_side *left = &w->rule->left;
  for (uint32_t i = 0; side != left && i < left->op_count; i++)
    count += is_parallel(&left->ops[i]);
  for (int32_t i = 0; i < op; i++)
    count += is_parallel(&side->ops[i]);
  return count;
}

static egraph_status write_tensor(writer *w, const eg_subst_side *side,
                                  eg_subst_tensor tensor);

/// A tensor of a side of the substitution, whose size is written.
typedef struct sized {
  const eg_subst_side *side;
  eg_subst_tensor tensor;
} sized;

/// Returns the first of the dimensions copies, rows, columns that the rule's
/// tensors have.
static int first_dim(const writer *w) { return w->form->as_tiles ? 0 : 1; }

static egraph_status write_dim(writer *w, const eg_subst_side *side,
                               eg_subst_tensor tensor, int dim);

/// Appends the size of two tensors along a dimension, with a blank between them.
static egraph_status write_two_dims(writer *w, const char *head, sized a, sized b,
                                    int dim, const char *tail) {
  eg_text_append(w->text, head);
  write_dim(w, a.side, a.tensor, dim);
  eg_text_append(w->text, " ");
  write_dim(w, b.side, b.tensor, dim);
  return eg_text_append(w->text, tail);
}

static egraph_status write_dim(writer *w, const eg_subst_side *side,
                               eg_subst_tensor tensor, int dim) {
  w->is_too_long = w->is_too_long || w->text->chars.len > MAX_TEXT;
  if (w->is_too_long) return EGRAPH_OK;
  if (tensor.op < 0) return eg_text_printf(w->text, "(dim ?x%d %d)", -tensor.op, dim);
  const eg_subst_op *op = &side->ops[tensor.op];
  int along = dim + first_dim(w); // in the numbering of the file
  bool is_cut = op->parameter[EG_SUBST_PM_AXIS] == along;
  bool is_moved = op->parameter[EG_SUBST_PM_PARALLEL_DIM] == along && w->form->as_tiles;
  if (op->kind == EG_SUBST_LINEAR && along == 2)
    return write_dim(w, side, op->inputs[1], dim - 1);
  if (op->kind == EG_SUBST_CONCAT && is_cut) {
    return write_two_dims(w, "(+ ", (sized){side, op->inputs[0]},
                          (sized){side, op->inputs[1]}, dim, ")");
  }
  bool is_half =
      (op->kind == EG_SUBST_SPLIT && is_cut) || (op->kind == EG_SUBST_REDUCE && is_moved);
  bool is_twice = op->kind == EG_SUBST_REPLICATE && is_moved;
  eg_text_append(w->text, is_half ? "(/ " : is_twice ? "(* " : "");
  write_dim(w, side, op->inputs[0], dim);
  return eg_text_append(w->text, is_half || is_twice ? " 2)" : "");
}

static egraph_status write_split(writer *w, const eg_subst_side *side,
                                 eg_subst_tensor tensor) {
  int axis = side->ops[tensor.op].parameter[EG_SUBST_PM_AXIS] - first_dim(w);
  eg_text_printf(w->text, "(part :index %" PRId32 " (split :axis %d :sizes [",
                 tensor.output, axis);
  write_dim(w, side, tensor, axis);
  eg_text_append(w->text, " ");
  write_dim(w, side, tensor, axis);
  return eg_text_append(w->text, "]");
}

static egraph_status write_parallel(writer *w, const eg_subst_side *side, int32_t index) {
  static const eg_parallel_kind kinds[] = {EG_PARALLEL_PARTITION, EG_PARALLEL_COMBINE,
                                           EG_PARALLEL_REPLICATE, EG_PARALLEL_REDUCE};
  const eg_subst_op *op = &side->ops[index];
  eg_parallel_kind kind = kinds[op->kind - EG_SUBST_PARTITION];
  eg_text_printf(w->text, "(%s", eg_parallel_name(kind));
  if (eg_parallel_has_dim(kind))
    eg_text_printf(w->text, " :dim %" PRId32,
                   op->parameter[EG_SUBST_PM_PARALLEL_DIM] - 1);
  static const char *const by_dimension[] = {" :axis copies", " :axis rows",
                                             " :axis columns"};
  if (w->form->axes == EG_UNITY_ONE_AXIS) return EGRAPH_OK;
  if (w->form->axes == EG_UNITY_BY_DIMENSION)
    return eg_text_append(w->text, by_dimension[op->parameter[EG_SUBST_PM_PARALLEL_DIM]]);
  bool is_second = (w->form->second >> parallel_before(w, side, index) & 1) != 0;
  return eg_text_append(w->text, is_second ? " :axis b" : " :axis a");
}

/// Writes the beginning of an operator: "(matmul :transB 1", and so on.
static egraph_status write_unity_head(writer *w, const eg_subst_side *side,
                                      eg_subst_tensor tensor) {
  const eg_subst_op *op = &side->ops[tensor.op];
  if (is_parallel(op)) return write_parallel(w, side, tensor.op);
  switch (op->kind) {
  case EG_SUBST_LINEAR:
    return eg_text_append(w->text, op->parameter[EG_SUBST_PM_ACTIVATION] != 0
                                       ? "(matmul :transB 1 :act relu"
                                       : "(matmul :transB 1");
  case EG_SUBST_CONCAT:
    return eg_text_printf(w->text, "(concat :axis %" PRId32,
                          op->parameter[EG_SUBST_PM_AXIS] - first_dim(w));
  case EG_SUBST_SPLIT: return write_split(w, side, tensor);
  case EG_SUBST_ADD: return eg_text_append(w->text, "(add");
  case EG_SUBST_MUL: return eg_text_append(w->text, "(mul");
  default: return eg_text_append(w->text, "(relu");
  }
}

/// Writes one half (by `index`) of an operand along a dimension.
static egraph_status write_half(writer *w, const eg_subst_side *side, eg_subst_tensor of,
                                int dim, int index) {
  EG_TRY(
      eg_text_printf(w->text, "(part :index %d (split :axis %d :sizes [(/ ", index, dim));
  write_dim(w, side, of, dim);
  eg_text_append(w->text, " 2) (/ ");
  write_dim(w, side, of, dim);
  eg_text_append(w->text, " 2)] ");
  write_tensor(w, side, of);
  return eg_text_append(w->text, "))");
}

static egraph_status write_tiles(writer *w, const eg_subst_side *side,
                                 const eg_subst_op *op) {
  int dim = op->parameter[EG_SUBST_PM_PARALLEL_DIM];
  if (op->kind == EG_SUBST_PARTITION || op->kind == EG_SUBST_COMBINE)
    return write_tensor(w, side, op->inputs[0]);
  if (op->kind == EG_SUBST_REPLICATE) {
    eg_text_printf(w->text, "(concat :axis %d ", dim);
    write_tensor(w, side, op->inputs[0]);
    eg_text_append(w->text, " ");
    write_tensor(w, side, op->inputs[0]);
    return eg_text_append(w->text, ")");
  }
  eg_text_append(w->text, "(add ");
  write_half(w, side, op->inputs[0], dim, 0);
  eg_text_append(w->text, " ");
  write_half(w, side, op->inputs[0], dim, 1);
  return eg_text_append(w->text, ")");
}

// Writes a tensor as a term. The recursion is at most EG_SUBST_OPS deep: operands precede
// their users.
static egraph_status write_tensor(writer *w, const eg_subst_side *side,
                                  eg_subst_tensor tensor) {
  w->is_too_long = w->is_too_long || w->text->chars.len > MAX_TEXT;
  if (w->is_too_long) return EGRAPH_OK;
  if (tensor.op < 0) return eg_text_printf(w->text, "?x%d", -tensor.op);
  const eg_subst_op *op = &side->ops[tensor.op];
  if (w->form->as_tiles && is_parallel(op)) return write_tiles(w, side, op);
  write_unity_head(w, side, tensor);
  for (uint32_t i = 0; i < op->input_count; i++) {
    eg_text_append(w->text, " ");
    write_tensor(w, side, op->inputs[i]);
  }
  return eg_text_append(w->text, op->kind == EG_SUBST_SPLIT ? "))" : ")");
}

static void write_side(writer *w, const char *clause, const eg_subst_side *side) {
  eg_text_printf(w->text, "\n  (%s", clause);
  for (uint32_t i = 0; i < w->rule->result_count; i++) {
    eg_text_append(w->text, " ");
    write_tensor(w, side, side->results[i]);
  }
  eg_text_append(w->text, ")");
}

/// Writes the condition " (= size size)" for each dimension unless it is trivial.
static void write_same_shape(writer *w, sized a, sized b) {
  for (int dim = 0; dim + first_dim(w) < 3; dim++) {
    size_t start = w->text->chars.len;
    eg_text_append(w->text, " (= ");
    size_t first = w->text->chars.len;
    write_dim(w, a.side, a.tensor, dim);
    size_t length = w->text->chars.len - first;
    eg_text_append(w->text, " ");
    write_dim(w, b.side, b.tensor, dim);
    if (eg_text_status(w->text) != EGRAPH_OK) return;
    const char *text = eg_text_of(w->text) + first;
    if (w->text->chars.len - first == 2 * length + 1 &&
        memcmp(text, text + length + 1, length) == 0)
      w->text->chars.len = start;
    eg_text_append(w->text, w->text->chars.len == start ? "" : ")");
  }
}

/// Writes conditions that operands of sums and products have equal shapes: in these files
/// nothing is broadcast.
static void write_same_operands(writer *w, const eg_subst_side *side) {
  for (uint32_t i = 0; i < side->op_count; i++) {
    const eg_subst_op *op = &side->ops[i];
    if (op->kind == EG_SUBST_ADD || op->kind == EG_SUBST_MUL)
      write_same_shape(w, (sized){side, op->inputs[0]}, (sized){side, op->inputs[1]});
  }
}

/// Writes conditions that operand and weight have equal numbers of copies: each copy is a
/// separate product.
static void write_same_copies(writer *w, const eg_subst_side *side) {
  for (uint32_t i = 0; i < side->op_count && w->form->as_tiles; i++) {
    const eg_subst_op *op = &side->ops[i];
    if (op->kind != EG_SUBST_LINEAR) continue;
    write_two_dims(w, " (= ", (sized){side, op->inputs[0]}, (sized){side, op->inputs[1]},
                   0, ")");
  }
}

static bool is_first_use(const eg_subst_side *side, uint32_t op, uint32_t input) {
  for (uint32_t i = 0; i <= op; i++)
    for (uint32_t k = 0; k < (i == op ? input : side->ops[i].input_count); k++)
      if (side->ops[i].inputs[k].op == side->ops[op].inputs[input].op) return false;
  return true;
}

static void write_ranks(writer *w) {
  const eg_subst_side *side = &w->rule->left;
  for (uint32_t i = 0; i < side->op_count; i++)
    for (uint32_t k = 0; k < side->ops[i].input_count; k++)
      if (side->ops[i].inputs[k].op < 0 && is_first_use(side, i, k) &&
          eg_subst_side_needs(side, w->rule->result_count, i))
        eg_text_printf(w->text, " (= (rank ?x%d) %d)", -side->ops[i].inputs[k].op,
                       3 - first_dim(w));
}

static void write_rule(writer *w) {
  eg_text_printf(w->text,
                 "(egraph-rules 1)\n(rule unity-%" PRIu32
                 "\n  (source \"Unity (OSDI'22), published substitution %" PRIu32
                 "\")\n  (class %s)",
                 w->number, w->number, eg_rule_class_name(w->form->math));
  write_side(w, "lhs", &w->rule->left);
  write_side(w, "rhs", &w->rule->right);
  eg_text_append(w->text, "\n  (when");
  write_ranks(w);
  write_same_operands(w, &w->rule->left);
  write_same_operands(w, &w->rule->right);
  write_same_copies(w, &w->rule->left);
  write_same_copies(w, &w->rule->right);
  // Some substitutions hold only for results of equal shapes.
  for (uint32_t i = 0; w->form->same_shapes && i < w->rule->result_count; i++)
    write_same_shape(w, (sized){&w->rule->left, w->rule->left.results[i]},
                     (sized){&w->rule->right, w->rule->right.results[i]});
  eg_text_append(w->text, "))\n");
}

// ---- the whole -------------------------------------------------------------------

const char *eg_unity_fault(const eg_substitution *rule, bool as_tiles) {
  if (rule->is_too_large) return "is too large";
  const char *fault = fault_of_side(&rule->left, NULL, as_tiles);
  return fault != NULL ? fault : fault_of_side(&rule->right, &rule->left, as_tiles);
}

uint32_t eg_unity_parallel_count(const eg_substitution *rule) {
  const writer w = {.rule = rule};
  return parallel_before(&w, &rule->right, (int32_t)rule->right.op_count);
}

egraph_status eg_unity_write(const eg_substitution *rule, uint32_t number,
                             const eg_unity_form *form, eg_text *text, bool *out_fits) {
  writer w = {.rule = rule, .number = number, .form = form, .text = text};
  eg_text_clear(text);
  write_rule(&w);
  *out_fits = !w.is_too_long;
  return eg_text_status(text);
}

// ---- verdicts -----------------------------------------------------------------------

enum { MAX_PARALLEL = 8, TILE_INSTANCES = 24 };

/// Moves to the next choice of mesh axes of the operators; returns false after the last.
static bool next_axes(eg_unity_form *form, uint32_t count) {
  if (count < 2 ||
      (form->axes == EG_UNITY_TWO_AXES && ++form->second >> (count - 1) != 0))
    return false;
  if (form->axes == EG_UNITY_BY_DIMENSION) form->second = 1;
  if (form->axes != EG_UNITY_TWO_AXES) form->axes++;
  return true;
}

static egraph_status try_form(eg_importer *in, const eg_unity_form *form,
                              eg_import_trial *out) {
  bool fits;
  EG_TRY(eg_unity_write(in->subst, in->number, form, &in->text, &fits));
  uint32_t instances = form->as_tiles ? TILE_INSTANCES : EG_IMPORT_INSTANCES;
  if (fits) return eg_import_try(in, instances, 1, out, NULL);
  *out = EG_TRIAL_NO_RULE;
  return eg_import_decide(in, EG_IMPORT_FOREIGN, "is too large");
}

/// Tries the substitution as published, then with the guard that both sides have equal
/// sizes. Sides may differ in numbers that are not finite (class fast). A guard that no
/// instance satisfies does not count.
static egraph_status try_guards(eg_importer *in, eg_unity_form *form,
                                eg_import_trial *out) {
  static const egraph_math classes[] = {EGRAPH_MATH_ASSOCIATIVE, EGRAPH_MATH_FAST};
  EG_LOCAL(eg_text, first, in->alloc);
  *out = EG_TRIAL_DIFFERENT;
  for (uint32_t i = 0; i < 4 && *out == EG_TRIAL_DIFFERENT; i++) {
    form->same_shapes = i >= 2;
    form->math = classes[i % 2];
    EG_TRY(try_form(in, form, out));
    if (i == 1) EG_TRY(eg_text_append(&first, eg_text_of(&in->detail)));
  }
  if (!form->same_shapes || *out != EG_TRIAL_NO_INSTANCES) return EGRAPH_OK;
  *out = EG_TRIAL_DIFFERENT;
  return eg_import_decide(in, EG_IMPORT_REFUTED, eg_text_of(&first));
}

/// Judges a substitution that has no meaning on a mesh as a statement about tiles. It
/// becomes no rule, even if the statement is true.
static egraph_status judge_tiles(eg_importer *in, const char *fault) {
  eg_unity_form form = {.as_tiles = true};
  eg_import_trial trial;
  EG_TRY(try_guards(in, &form, &trial));
  in->outcome = EG_IMPORT_REFUTED;
  if (trial == EG_TRIAL_DIFFERENT) return EGRAPH_OK;
  EG_TRY(eg_import_decide(in, EG_IMPORT_FOREIGN, fault));
  return eg_text_append(&in->detail,
                        trial != EG_TRIAL_HOLDS ? "; of tiles it cannot be said"
                        : form.same_shapes
                            ? "; of tiles it holds if both sides have the same sizes"
                            : "; of tiles it holds");
}

egraph_status eg_import_unity(eg_importer *in) {
  const char *fault = eg_unity_fault(in->subst, false);
  if (fault != NULL && eg_unity_fault(in->subst, true) == NULL)
    return judge_tiles(in, fault);
  if (fault != NULL) return eg_import_decide(in, EG_IMPORT_FOREIGN, fault);
  uint32_t count = eg_unity_parallel_count(in->subst);
  if (count > MAX_PARALLEL)
    return eg_import_decide(in, EG_IMPORT_FOREIGN, "has too many parallel operators");
  EG_LOCAL(eg_text, why,
           in->alloc); // text of the first choice: most substitutions mean one axis
  eg_unity_form form = {.axes = EG_UNITY_ONE_AXIS};
  do {
    eg_import_trial trial;
    EG_TRY(try_guards(in, &form, &trial));
    if (trial == EG_TRIAL_HOLDS) {
      EG_TRY(eg_import_decide(in, EG_IMPORT_TESTED,
                              form.same_shapes ? "both sides of the same sizes" : ""));
      return eg_import_add(in, form.same_shapes ? EG_IMPORT_GUARDED : EG_IMPORT_TESTED);
    }
    if (trial == EG_TRIAL_DIFFERENT) {
      in->outcome = EG_IMPORT_REFUTED;
      return EGRAPH_OK;
    }
    if (form.axes == EG_UNITY_ONE_AXIS)
      EG_TRY(eg_text_append(&why, eg_text_of(&in->detail)));
  } while (next_axes(&form, count));
  return judge_tiles(in, eg_text_of(&why));
}
