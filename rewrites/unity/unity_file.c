// SPDX-License-Identifier: Apache-2.0
#include "rewrites/unity/unity_file.h"

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
