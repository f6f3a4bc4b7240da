// Reads protocol buffers without a library: these files only have numbers and messages.
// TASO and FlexFlow share the messages, but use numbers above 25 for different operators.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/import/substitution.h"

/// The bytes of one message in a protocol buffer file.
typedef struct span {
  const unsigned char *at, *end;
} span;

typedef struct field {
  uint32_t number;
  int64_t value; // value of a number
  span message;  // bytes of a message
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

/// Reads fields 1 to `count` of a message of numbers; returns false when a number is out
/// of range.
static bool read_numbers(span message, int32_t *out, uint32_t count) {
  bool are_small = true;
  while (message.at != message.end) {
    field f;
    if (!read_field(&message, &f)) return false;
    bool is_small = f.value >= -EG_SUBST_VARIABLES && f.value <= EG_SUBST_VARIABLES;
    are_small = are_small && is_small;
    if (f.number >= 1 && f.number <= count && is_small)
      out[f.number - 1] = (int32_t)f.value;
  }
  return are_small;
}

static bool read_protobuf_op(span message, eg_subst_op *out, bool *out_too_large) {
  *out = (eg_subst_op){.kind = 0};
  while (message.at != message.end) {
    field f;
    int32_t pair[2] = {0, 0};
    if (!read_field(&message, &f)) return false;
    if (f.number == 1) out->kind = f.value >= 0 && f.value < 100 ? (int32_t)f.value : -1;
    if (f.number != 2 && f.number != 3) continue;
    if (!read_numbers(f.message, pair, 2)) return false;
    if (f.number == 3)
      eg_subst_set(out, pair[0], pair[1]);
    else if (!eg_subst_add_input(out,
                                 (eg_subst_tensor){.op = pair[0], .output = pair[1]}))
      *out_too_large = true;
  }
  return true;
}

static bool add_op(span message, eg_substitution *rule, eg_subst_side *side) {
  eg_subst_op op;
  return read_protobuf_op(message, &op, &rule->is_too_large) &&
         eg_subst_add_op(rule, side, &op);
}

/// Reads a result of a substitution: fields 1 and 3 are the left operator and its output,
/// fields 2 and 4 the right ones.
static bool add_result(span message, eg_substitution *inout) {
  int32_t n[4] = {0, 0, 0, 0};
  if (!read_numbers(message, n, 4)) return false;
  eg_subst_add_result(inout, (eg_subst_tensor){.op = n[0], .output = n[2]},
                      (eg_subst_tensor){.op = n[1], .output = n[3]});
  return true;
}

static bool read_substitution(span message, eg_substitution *out) {
  *out = (eg_substitution){.result_count = 0};
  while (message.at != message.end) {
    field f;
    if (!read_field(&message, &f)) return false;
    bool is_good = true;
    if (f.number == 1) is_good = add_op(f.message, out, &out->left);
    if (f.number == 2) is_good = add_op(f.message, out, &out->right);
    if (f.number == 3) is_good = add_result(f.message, out);
    if (!is_good) return false;
  }
  return eg_subst_is_complete(out);
}

// ---- whose file it is -----------------------------------------------------------------

/// True for operators that only FlexFlow has: its parallel operators have a degree, its
/// products have weights.
static bool is_flexflow_op(const eg_subst_op *op) {
  bool has_degree = (op->said >> EG_SUBST_PM_DEGREE & 1) != 0;
  return op->kind == EG_SUBST_LINEAR ||
         (op->kind + EG_SUBST_FLEXFLOW >= EG_SUBST_PARTITION &&
          op->kind + EG_SUBST_FLEXFLOW <= EG_SUBST_REDUCE && has_degree);
}

static bool is_flexflow(const eg_substitutions *list) {
  for (size_t i = 0; i < list->len; i++)
    for (int k = 0; k < 2; k++) {
      const eg_subst_side *side = k == 0 ? &list->data[i].left : &list->data[i].right;
      for (uint32_t n = 0; n < side->op_count; n++)
        if (is_flexflow_op(&side->ops[n])) return true;
    }
  return false;
}

static void renumber(eg_subst_side *side) {
  for (uint32_t i = 0; i < side->op_count; i++) {
    int32_t *kind = &side->ops[i].kind;
    if (*kind + EG_SUBST_FLEXFLOW >= EG_SUBST_PARTITION &&
        *kind + EG_SUBST_FLEXFLOW <= EG_SUBST_EMBEDDING)
      *kind += EG_SUBST_FLEXFLOW;
  }
}

egraph_status eg_subst_read_protobuf(const char *name, const char *bytes, size_t size,
                                     eg_subst_file *out) {
  span s = {.at = (const unsigned char *)bytes,
            .end = (const unsigned char *)bytes + size};
  while (s.at != s.end) {
    field f;
    eg_substitution rule;
    if (!read_field(&s, &f) || f.number != 1 || !read_substitution(f.message, &rule))
      return EG_FAIL(
          EGRAPH_E_PARSE,
          "%s: this is no file of substitutions in protocol buffers, or it is cut "
          "off; TASO's graph_subst.pb and FlexFlow's graph_subst_3_v2.pb are such",
          name);
    if (out->list.len == EG_SUBST_MOST)
      return EG_FAIL(EGRAPH_E_PARSE, "%s: more than %d substitutions; split the file",
                     name, EG_SUBST_MOST);
    EG_TRY(eg_substitutions_push(&out->list, rule));
  }
  if (!is_flexflow(&out->list)) return EGRAPH_OK;
  out->origin = EG_SUBST_FROM_UNITY;
  for (size_t i = 0; i < out->list.len; i++) {
    renumber(&out->list.data[i].left);
    renumber(&out->list.data[i].right);
  }
  return EGRAPH_OK;
}
