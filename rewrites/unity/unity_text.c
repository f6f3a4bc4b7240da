// SPDX-License-Identifier: Apache-2.0
#include "rewrites/unity/unity_text.h"

#include <inttypes.h>

#include "pcg/parallel/parallel_op.h"
#include "rewrites/language/rules.h"

// ---- files --------------------------------------------------------------------------

/// A stretch of the file: a message.
typedef struct span {
  const unsigned char *at, *end;
} span;

typedef struct field {
  uint32_t number;
  int64_t value; // of a number
  span message;  // of a message
} field;

static bool read_varint(span *s, uint64_t *out) {
  *out = 0;
  for (unsigned shift = 0; shift < 64 && s->at != s->end; shift += 7) {
    unsigned char byte = *s->at++;
    *out |= (uint64_t)(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

static bool read_field(span *s, field *out) {
  uint64_t key, value;
  if (!read_varint(s, &key) || !read_varint(s, &value)) return false;
  *out = (field){.number = (uint32_t)(key >> 3)};
  if ((key & 7) == 0) {
    out->value = value <= INT64_MAX ? (int64_t)value : -(int64_t)(UINT64_MAX - value) - 1;
    return true;
  }
  if ((key & 7) != 2 || value > (uint64_t)(s->end - s->at)) return false;
  out->message = (span){.at = s->at, .end = s->at + value};
  s->at += value;
  return true;
}

/// Fields 1 to `count` of a message of numbers; out of range is -1, which nothing has.
static bool read_numbers(span message, int32_t *out, uint32_t count) {
  while (message.at != message.end) {
    field f;
    if (!read_field(&message, &f)) return false;
    bool is_small = f.value >= -1000000 && f.value <= 1000000;
    if (f.number >= 1 && f.number <= count)
      out[f.number - 1] = is_small ? (int32_t)f.value : -1;
  }
  return true;
}

static bool read_op(span message, eg_unity_op *out, bool *out_too_large) {
  *out = (eg_unity_op){.kind = 0};
  while (message.at != message.end) {
    field f;
    int32_t pair[2] = {0, 0};
    if (!read_field(&message, &f)) return false;
    if (f.number == 1) out->kind = f.value >= 0 && f.value < 1000 ? (int32_t)f.value : -1;
    if (f.number != 2 && f.number != 3) continue;
    if (!read_numbers(f.message, pair, 2)) return false;
    if (f.number == 3 && pair[0] >= 0 && pair[0] < EG_UNITY_PARAMETERS)
      out->parameter[pair[0]] = pair[1];
    if (f.number == 3) continue;
    if (out->input_count == EG_UNITY_TENSORS) {
      *out_too_large = true;
      continue;
    }
    out->inputs[out->input_count++] = (eg_unity_tensor){.op = pair[0], .output = pair[1]};
  }
  return true;
}

static bool add_op(span message, eg_unity_side *side, bool *out_too_large) {
  eg_unity_op op;
  if (!read_op(message, &op, out_too_large)) return false;
  for (uint32_t i = 0; i < op.input_count; i++)
    if (op.inputs[i].op >= (int32_t)side->op_count) return false;
  if (side->op_count == EG_UNITY_OPS)
    *out_too_large = true;
  else
    side->ops[side->op_count++] = op;
  return true;
}

/// Left operator and result, then right ones: fields 1, 3, 2, 4.
static bool add_result(span message, eg_unity_rule *inout) {
  int32_t n[4] = {0, 0, 0, 0};
  if (!read_numbers(message, n, 4)) return false;
  if (inout->result_count == EG_UNITY_TENSORS) {
    inout->is_too_large = true;
    return true;
  }
  uint32_t at = inout->result_count++;
  inout->left.results[at] = (eg_unity_tensor){.op = n[0], .output = n[2]};
  inout->right.results[at] = (eg_unity_tensor){.op = n[1], .output = n[3]};
  return true;
}

static bool results_exist(const eg_unity_rule *rule) {
  for (uint32_t i = 0; i < rule->result_count; i++)
    if (rule->left.results[i].op >= (int32_t)rule->left.op_count ||
        rule->right.results[i].op >= (int32_t)rule->right.op_count)
      return false;
  return rule->result_count != 0;
}

static bool read_rule(span message, eg_unity_rule *out) {
  *out = (eg_unity_rule){.result_count = 0};
  while (message.at != message.end) {
    field f;
    if (!read_field(&message, &f)) return false;
    bool is_good = true;
    if (f.number == 1) is_good = add_op(f.message, &out->left, &out->is_too_large);
    if (f.number == 2) is_good = add_op(f.message, &out->right, &out->is_too_large);
    if (f.number == 3) is_good = add_result(f.message, out);
    if (!is_good) return false;
  }
  return out->is_too_large || results_exist(out);
}

egraph_status eg_unity_file_next(eg_unity_file *file, bool *out_any, eg_unity_rule *out) {
  span s = {.at = file->at, .end = file->end};
  field f = {.number = 0};
  bool is_good = true;
  *out_any = false;
  while (is_good && !*out_any && s.at != s.end) {
    is_good = read_field(&s, &f) && f.number == 1 && read_rule(f.message, out);
    *out_any = is_good;
  }
  file->at = s.at;
  if (is_good) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_PARSE,
                 "%s: this is no file of substitutions in protocol buffers, or it is cut "
                 "off; FlexFlow's graph_subst_3_v2.pb is one",
                 file->name);
}

// ---- text ---------------------------------------------------------------------------

// Terms that are shared are written out, which may be many.
enum { MAX_TEXT = 1 << 14 };

typedef struct writer {
  const eg_unity_rule *rule;
  uint32_t number;
  egraph_math math;
  eg_unity_axes choice;
  uint32_t axes; // EG_UNITY_TWO_AXES: bits
  eg_text *text;
  bool is_too_long;
} writer;

// ---- what has no meaning --------------------------------------------------------------

static bool is_parallel(const eg_unity_op *op) {
  return op->kind >= EG_UNITY_PARTITION && op->kind <= EG_UNITY_REDUCE;
}

/// Why an operator has none, or NULL.
static const char *fault_of(const eg_unity_op *op) {
  int32_t dim = op->parameter[EG_UNITY_PARALLEL_DIM], axis = op->parameter[EG_UNITY_AXIS];
  uint32_t operands = 1;
  switch (op->kind) {
  case EG_UNITY_REPLICATE:
  case EG_UNITY_REDUCE:
    if (dim != 0) return "copies or sums along a dimension of the data, which are tiles";
    break;
  case EG_UNITY_PARTITION:
  case EG_UNITY_COMBINE:
    if (dim < 1 || dim > 2) return "partitions or combines copies";
    break;
  case EG_UNITY_CONCAT:
  case EG_UNITY_SPLIT:
    if (axis < 1 || axis > 2) return "concatenates or splits copies";
    operands = op->kind == EG_UNITY_CONCAT ? 2 : 1;
    break;
  case EG_UNITY_LINEAR:
    if (op->parameter[EG_UNITY_ACTIVATION] % 2 != 0) return "has an unknown activation";
    operands = 2;
    break;
  case EG_UNITY_ADD:
  case EG_UNITY_MUL: operands = 2; break;
  case EG_UNITY_RELU: break;
  default: return "has an unknown operator";
  }
  return op->input_count == operands ? NULL : "has an unknown number of operands";
}

static bool has_variable(const eg_unity_side *side, int32_t var) {
  for (uint32_t i = 0; i < side->op_count; i++)
    for (uint32_t k = 0; k < side->ops[i].input_count; k++)
      if (side->ops[i].inputs[k].op == var) return true;
  return false;
}

static const char *fault_of_side(const eg_unity_side *side, const eg_unity_side *other) {
  for (uint32_t i = 0; i < side->op_count; i++) {
    const char *fault = fault_of(&side->ops[i]);
    if (fault != NULL) return fault;
    for (uint32_t k = 0; other != NULL && k < side->ops[i].input_count; k++)
      if (side->ops[i].inputs[k].op < 0 &&
          !has_variable(other, side->ops[i].inputs[k].op))
        return "has a variable on the right side alone";
  }
  return NULL;
}

// ---- writing --------------------------------------------------------------------------

static uint32_t parallel_before(const writer *w, const eg_unity_side *side, int32_t op) {
  uint32_t count = 0;
  const eg_unity_side *left = &w->rule->left;
  for (uint32_t i = 0; side != left && i < left->op_count; i++)
    count += is_parallel(&left->ops[i]);
  for (int32_t i = 0; i < op; i++)
    count += is_parallel(&side->ops[i]);
  return count;
}

static egraph_status write_tensor(writer *w, const eg_unity_side *side,
                                  eg_unity_tensor tensor);

static egraph_status write_dim(writer *w, const eg_unity_side *side,
                               eg_unity_tensor tensor, int dim) {
  w->is_too_long = w->is_too_long || w->text->chars.len > MAX_TEXT;
  if (w->is_too_long) return EGRAPH_OK;
  if (tensor.op < 0) return eg_text_printf(w->text, "(dim ?x%d %d)", -tensor.op, dim);
  const eg_unity_op *op = &side->ops[tensor.op];
  bool is_cut = op->parameter[EG_UNITY_AXIS] == dim + 1;
  if (op->kind == EG_UNITY_LINEAR && dim == 1)
    return write_dim(w, side, op->inputs[1], 0);
  if ((op->kind != EG_UNITY_CONCAT && op->kind != EG_UNITY_SPLIT) || !is_cut)
    return write_dim(w, side, op->inputs[0], dim);
  EG_TRY(eg_text_append(w->text, op->kind == EG_UNITY_CONCAT ? "(+ " : "(/ "));
  EG_TRY(write_dim(w, side, op->inputs[0], dim));
  EG_TRY(eg_text_append(w->text, " "));
  if (op->kind == EG_UNITY_SPLIT) return eg_text_append(w->text, "2)");
  EG_TRY(write_dim(w, side, op->inputs[1], dim));
  return eg_text_append(w->text, ")");
}

static egraph_status write_split(writer *w, const eg_unity_side *side,
                                 eg_unity_tensor tensor) {
  int axis = side->ops[tensor.op].parameter[EG_UNITY_AXIS] - 1;
  EG_TRY(eg_text_printf(w->text, "(part :index %" PRId32 " (split :axis %d :sizes [",
                        tensor.output, axis));
  EG_TRY(write_dim(w, side, tensor, axis));
  EG_TRY(eg_text_append(w->text, " "));
  EG_TRY(write_dim(w, side, tensor, axis));
  return eg_text_append(w->text, "]");
}

static egraph_status write_parallel(writer *w, const eg_unity_side *side, int32_t index) {
  static const eg_parallel_kind kinds[] = {EG_PARALLEL_PARTITION, EG_PARALLEL_COMBINE,
                                           EG_PARALLEL_REPLICATE, EG_PARALLEL_REDUCE};
  const eg_unity_op *op = &side->ops[index];
  eg_parallel_kind kind = kinds[op->kind - EG_UNITY_PARTITION];
  EG_TRY(eg_text_printf(w->text, "(%s", eg_parallel_name(kind)));
  if (eg_parallel_has_dim(kind))
    EG_TRY(eg_text_printf(w->text, " :dim %" PRId32,
                          op->parameter[EG_UNITY_PARALLEL_DIM] - 1));
  static const char *const by_dimension[] = {" :axis copies", " :axis rows",
                                             " :axis columns"};
  if (w->choice == EG_UNITY_ONE_AXIS) return EGRAPH_OK;
  if (w->choice == EG_UNITY_BY_DIMENSION)
    return eg_text_append(w->text, by_dimension[op->parameter[EG_UNITY_PARALLEL_DIM]]);
  bool is_second = (w->axes >> parallel_before(w, side, index) & 1) != 0;
  return eg_text_append(w->text, is_second ? " :axis b" : " :axis a");
}

/// "(matmul :transB 1", and so on.
static egraph_status write_head(writer *w, const eg_unity_side *side,
                                eg_unity_tensor tensor) {
  const eg_unity_op *op = &side->ops[tensor.op];
  if (is_parallel(op)) return write_parallel(w, side, tensor.op);
  switch (op->kind) {
  case EG_UNITY_LINEAR:
    return eg_text_append(w->text, op->parameter[EG_UNITY_ACTIVATION] != 0
                                       ? "(matmul :transB 1 :act relu"
                                       : "(matmul :transB 1");
  case EG_UNITY_CONCAT:
    return eg_text_printf(w->text, "(concat :axis %" PRId32,
                          op->parameter[EG_UNITY_AXIS] - 1);
  case EG_UNITY_SPLIT: return write_split(w, side, tensor);
  case EG_UNITY_ADD: return eg_text_append(w->text, "(add");
  case EG_UNITY_MUL: return eg_text_append(w->text, "(mul");
  default: return eg_text_append(w->text, "(relu");
  }
}

// Recursion ends after EG_UNITY_OPS: operands stand before what uses them.
static egraph_status write_tensor(writer *w, const eg_unity_side *side,
                                  eg_unity_tensor tensor) {
  w->is_too_long = w->is_too_long || w->text->chars.len > MAX_TEXT;
  if (w->is_too_long) return EGRAPH_OK;
  if (tensor.op < 0) return eg_text_printf(w->text, "?x%d", -tensor.op);
  const eg_unity_op *op = &side->ops[tensor.op];
  EG_TRY(write_head(w, side, tensor));
  for (uint32_t i = 0; i < op->input_count; i++) {
    EG_TRY(eg_text_append(w->text, " "));
    EG_TRY(write_tensor(w, side, op->inputs[i]));
  }
  return eg_text_append(w->text, op->kind == EG_UNITY_SPLIT ? "))" : ")");
}

static egraph_status write_side(writer *w, const char *clause,
                                const eg_unity_side *side) {
  EG_TRY(eg_text_printf(w->text, "\n  (%s", clause));
  for (uint32_t i = 0; i < w->rule->result_count; i++) {
    EG_TRY(eg_text_append(w->text, " "));
    EG_TRY(write_tensor(w, side, side->results[i]));
  }
  return eg_text_append(w->text, ")");
}

/// A tensor of a side.
typedef struct sized {
  const eg_unity_side *side;
  eg_unity_tensor tensor;
} sized;

/// " (= size size)" for both dimensions, unless that goes without saying.
static egraph_status write_same_shape(writer *w, sized a, sized b) {
  for (int dim = 0; dim < 2; dim++) {
    size_t start = w->text->chars.len;
    EG_TRY(eg_text_append(w->text, " (= "));
    size_t first = w->text->chars.len;
    EG_TRY(write_dim(w, a.side, a.tensor, dim));
    size_t length = w->text->chars.len - first;
    EG_TRY(eg_text_append(w->text, " "));
    EG_TRY(write_dim(w, b.side, b.tensor, dim));
    const char *text = eg_text_of(w->text) + first;
    if (w->text->chars.len - first == 2 * length + 1 &&
        memcmp(text, text + length + 1, length) == 0)
      w->text->chars.len = start;
    EG_TRY(eg_text_append(w->text, w->text->chars.len == start ? "" : ")"));
  }
  return EGRAPH_OK;
}

/// Sums and products are of equal shapes there: nothing is broadcast.
static egraph_status write_same_operands(writer *w, const eg_unity_side *side) {
  for (uint32_t i = 0; i < side->op_count; i++) {
    const eg_unity_op *op = &side->ops[i];
    if (op->kind == EG_UNITY_ADD || op->kind == EG_UNITY_MUL)
      EG_TRY(write_same_shape(w, (sized){side, op->inputs[0]},
                              (sized){side, op->inputs[1]}));
  }
  return EGRAPH_OK;
}

/// Some substitutions hold for operands of matching sizes only.
static egraph_status write_same_results(writer *w) {
  const eg_unity_side *left = &w->rule->left, *right = &w->rule->right;
  for (uint32_t i = 0; i < w->rule->result_count; i++)
    EG_TRY(write_same_shape(w, (sized){left, left->results[i]},
                            (sized){right, right->results[i]}));
  return EGRAPH_OK;
}

static bool is_first_use(const eg_unity_side *side, uint32_t op, uint32_t input) {
  for (uint32_t i = 0; i <= op; i++)
    for (uint32_t k = 0; k < (i == op ? input : side->ops[i].input_count); k++)
      if (side->ops[i].inputs[k].op == side->ops[op].inputs[input].op) return false;
  return true;
}

/// Whether a result of the rule needs the operator.
static bool is_reached(const eg_unity_side *side, uint32_t results, uint32_t op) {
  bool reached[EG_UNITY_OPS] = {false};
  for (uint32_t i = 0; i < results; i++)
    if (side->results[i].op >= 0) reached[side->results[i].op] = true;
  for (uint32_t i = side->op_count; i-- > 0;)
    for (uint32_t k = 0; reached[i] && k < side->ops[i].input_count; k++)
      if (side->ops[i].inputs[k].op >= 0) reached[side->ops[i].inputs[k].op] = true;
  return reached[op];
}

static egraph_status write_ranks(writer *w) {
  const eg_unity_side *side = &w->rule->left;
  for (uint32_t i = 0; i < side->op_count; i++)
    for (uint32_t k = 0; k < side->ops[i].input_count; k++)
      if (side->ops[i].inputs[k].op < 0 && is_first_use(side, i, k) &&
          is_reached(side, w->rule->result_count, i))
        EG_TRY(eg_text_printf(w->text, " (= (rank ?x%d) 2)", -side->ops[i].inputs[k].op));
  return EGRAPH_OK;
}

static egraph_status write_rule(writer *w) {
  EG_TRY(eg_text_printf(w->text,
                        "(egraph-rules 1)\n(rule unity-%" PRIu32
                        "\n  (source \"Unity (OSDI'22), published substitution %" PRIu32
                        "\")\n  (class %s)",
                        w->number, w->number, eg_rule_class_name(w->math)));
  EG_TRY(write_side(w, "lhs", &w->rule->left));
  EG_TRY(write_side(w, "rhs", &w->rule->right));
  EG_TRY(eg_text_append(w->text, "\n  (when"));
  EG_TRY(write_ranks(w));
  EG_TRY(write_same_operands(w, &w->rule->left));
  EG_TRY(write_same_operands(w, &w->rule->right));
  EG_TRY(write_same_results(w));
  return eg_text_append(w->text, "))\n");
}

// ---- the whole -------------------------------------------------------------------

const char *eg_unity_fault(const eg_unity_rule *rule) {
  if (rule->is_too_large) return "is too large";
  const char *fault = fault_of_side(&rule->left, NULL);
  return fault != NULL ? fault : fault_of_side(&rule->right, &rule->left);
}

uint32_t eg_unity_parallel_count(const eg_unity_rule *rule) {
  const writer w = {.rule = rule};
  return parallel_before(&w, &rule->right, (int32_t)rule->right.op_count);
}

egraph_status eg_unity_write(const eg_unity_rule *rule, uint32_t number, egraph_math math,
                             eg_unity_axes axes, uint32_t second, eg_text *text,
                             bool *out_fits) {
  writer w = {.rule = rule,
              .number = number,
              .math = math,
              .choice = axes,
              .axes = second,
              .text = text};
  eg_text_clear(text);
  EG_TRY(write_rule(&w));
  *out_fits = !w.is_too_long;
  return EGRAPH_OK;
}
