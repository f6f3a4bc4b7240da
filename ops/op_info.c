// Makes C arrays of the operator table: rows, attribute slots, sets of symbols.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/spelling.h"
#include "ops/ops.h"

// One struct per operator with a member per attribute, only to count attributes: its size
// is the number of attributes + 1.
#define EG_OP(ID, ...)                                                                   \
  char end;                                                                              \
  }                                                                                      \
  ;                                                                                      \
  struct slots_##ID {
#define EG_ATTR(ID, SLOT, ...) char SLOT;
struct slots_before_the_first {
#include "ops/op_table.def"
  char end;
};

#define ACT_NAME(id, name, op) name,
#define EG_ACT_NAMES EG_ACT_LIST(ACT_NAME) NULL

// Members are set one by one because later rows of the table complete the entries of
// earlier rows.
#define EG_ATTR(ID, SLOT, NAME, KIND, DEFAULT, ROLE)                                     \
  [EG_A_##ID##_##SLOT].name = NAME, [EG_A_##ID##_##SLOT].kind = EG_ATTR_##KIND,          \
  [EG_A_##ID##_##SLOT].role = EG_AR_##ROLE, [EG_A_##ID##_##SLOT].default_text = DEFAULT,
#define EG_SYMBOLS(ID, SLOT, ...)                                                        \
  [EG_A_##ID##_##SLOT].symbols = (const char *const[]){__VA_ARGS__, NULL},
static const eg_attr_info attr_rows[EG_A_COUNT] = {
#include "ops/op_table.def"
};

#define EG_OP(ID, NAME, ONNX, MIN, MAX, RESULTS, FAMILY, FORMATS, FLAGS)                 \
  [EG_OP_##ID].name = NAME, [EG_OP_##ID].onnx = ONNX, [EG_OP_##ID].min_inputs = MIN,     \
  [EG_OP_##ID].max_inputs = MAX, [EG_OP_##ID].results = RESULTS,                         \
  [EG_OP_##ID].formats = EG_FORMATS_##FORMATS, [EG_OP_##ID].flags = EG_OPF_##FLAGS,      \
  [EG_OP_##ID].attrs = attr_rows + EG_A_BASE_##ID,                                       \
  [EG_OP_##ID].attr_count = sizeof(struct slots_##ID) - 1,
#define EG_ELEMENT(ID, MATH, TEXT)                                                       \
  [EG_OP_##ID].formula = TEXT, [EG_OP_##ID].formula_math = EGRAPH_MATH_##MATH,
#define EG_GRADIENT(ID, COMMON, ...)                                                     \
  [EG_OP_##ID].gradient[0] = {.common = COMMON, .operand = {__VA_ARGS__}},
#define EG_GRADIENT_ELSE(ID, COMMON, ...)                                                \
  [EG_OP_##ID].gradient[1] = {.common = COMMON, .operand = {__VA_ARGS__}},
#define EG_OPERANDS(ID, ...)                                                             \
  [EG_OP_##ID].roles = (const eg_role[]){__VA_ARGS__},                                   \
  [EG_OP_##ID].role_count = sizeof((const eg_role[]){__VA_ARGS__}) / sizeof(eg_role),
#define EG_WHOLE(ID, WHY) [EG_OP_##ID].why_whole = WHY,
static const eg_op_info op_rows[EG_OP_COUNT] = {
#include "ops/op_table.def"
};

const eg_op_info *eg_op_info_of(eg_op op) {
  assert(op < EG_OP_COUNT);
  return &op_rows[op];
}

// Scans about a hundred short names: an index would need a mutable global.
bool eg_op_find(const char *name, eg_op *out) {
  for (int i = 0; i < EG_OP_COUNT; i++)
    if (strcmp(op_rows[i].name, name) == 0) {
      *out = (eg_op)i;
      return true;
    }
  return false;
}

const char *eg_op_nearest(const char *name) {
  eg_spelling spelling = eg_spelling_start(name);
  for (int op = 0; op < EG_OP_COUNT; op++)
    eg_spelling_offer(&spelling, op_rows[op].name);
  return spelling.best;
}

const char *eg_op_nearest_attr(eg_op op, const char *name) {
  const eg_op_info *info = eg_op_info_of(op);
  eg_spelling spelling = eg_spelling_start(name);
  for (uint16_t i = 0; i < info->attr_count; i++)
    eg_spelling_offer(&spelling, info->attrs[i].name);
  return spelling.best;
}

uint32_t eg_op_in_place(eg_op op) {
  const eg_op_info *info = eg_op_info_of(op);
  if ((info->flags & EG_OPF_UPDATES) != 0) return (UINT32_C(1) << info->results) - 1;
  bool computes = (info->flags & EG_OPF_MOVES) == 0 && op != EG_OP_WHERE;
  return (info->flags & EG_OPF_POINTWISE) != 0 && computes;
}

bool eg_op_find_attr(eg_op op, const char *name, uint16_t *out_slot) {
  assert(name != NULL);
  const eg_op_info *info = eg_op_info_of(op);
  for (uint16_t i = 0; i < info->attr_count; i++)
    if (strcmp(info->attrs[i].name, name) == 0) {
      *out_slot = i;
      return true;
    }
  return false;
}

bool eg_op_find_role(eg_op op, eg_attr_role role, uint16_t *out_slot) {
  const eg_op_info *info = eg_op_info_of(op);
  for (uint16_t i = 0; i < info->attr_count; i++)
    if (info->attrs[i].role == role) {
      *out_slot = i;
      return true;
    }
  return false;
}

const eg_attr *eg_attr_of_role(const eg_attrs *attrs, eg_attr_role role) {
  assert(attrs->count == eg_op_info_of((eg_op)attrs->op)->attr_count);
  uint16_t slot;
  return eg_op_find_role((eg_op)attrs->op, role, &slot) ? &attrs->slots[slot] : NULL;
}

eg_role eg_op_role(eg_op op, uint32_t operand) {
  const eg_op_info *info = eg_op_info_of(op);
  if (info->role_count == 0) return EG_ROLE_DATA;
  return info->roles[operand < info->role_count ? operand : info->role_count - 1];
}

bool eg_op_keeps_order(eg_op op) {
  return (eg_op_info_of(op)->flags & EG_OPF_VIEW) != 0 && op != EG_OP_PART;
}

const char *eg_op_why_whole(eg_op op) {
  const char *why = eg_op_info_of(op)->why_whole;
  return why != NULL ? why : "";
}

void eg_op_axis_from_front(eg_op op, uint32_t rank, eg_attr *slots) {
  uint16_t slot;
  if (!eg_op_find_attr(op, "axis", &slot)) return;
  int64_t dims = (int64_t)rank + (op == EG_OP_ONE_HOT), axis = slots[slot].i;
  if (axis < 0 && axis >= -dims) slots[slot].i = axis + dims;
}

bool eg_op_makes_products(eg_op op) {
  return op == EG_OP_MUL || op == EG_OP_DIV || op == EG_OP_SQUARE ||
         op == EG_OP_RECIPROCAL || op == EG_OP_POW || op == EG_OP_EXP;
}

const eg_attr *eg_attr_at(const eg_attrs *attrs, eg_attr_slot slot) {
  const eg_op_info *info = eg_op_info_of((eg_op)attrs->op);
  ptrdiff_t index = &attr_rows[slot] - info->attrs;
  assert(index >= 0 && index < attrs->count && "a slot of this operator");
  return &attrs->slots[index];
}

uint32_t eg_op_results(const eg_attrs *attrs) {
  assert(attrs->op < EG_OP_COUNT);
  int fixed = eg_op_info_of((eg_op)attrs->op)->results;
  if (fixed != 0) return (uint32_t)fixed;
  return attrs->op == EG_OP_SPLIT ? eg_attr_at(attrs, EG_A_SPLIT_SIZES)->ints.len : 0;
}

static eg_attr default_of(const eg_attr_info *info) {
  const char *text = info->default_text;
  eg_attr value = {.kind = info->kind};
  bool parsed = true;
  switch (info->kind) {
  case EG_ATTR_INT: parsed = *text == '\0' || eg_parse_int64(text, &value.i); break;
  case EG_ATTR_FLOAT: parsed = *text == '\0' || eg_parse_double(text, &value.f); break;
  case EG_ATTR_SYMBOL:
    while (*text != '\0' && strcmp(info->symbols[value.i], text) != 0)
      value.i++;
    break;
  case EG_ATTR_DTYPE: {
    egraph_dtype dtype = EGRAPH_FLOAT32;
    parsed = *text == '\0' || eg_dtype_find(text, &dtype);
    value.i = dtype;
    break;
  }
  case EG_ATTR_INTS: value.ints = (eg_ints){NULL, 0}; break;
  case EG_ATTR_FLOATS: value.floats = (eg_floats){NULL, 0}; break;
  case EG_ATTR_STRING: value.text = text; break;
  }
  assert(parsed && "defaults of the table are well-formed");
  (void)parsed;
  return value;
}

eg_attr eg_attr_default(eg_op op, uint16_t slot) {
  const eg_op_info *info = eg_op_info_of(op);
  assert(slot < info->attr_count);
  return default_of(&info->attrs[slot]);
}

void eg_attrs_defaults(eg_op op, eg_attr *slots) {
  for (uint16_t i = 0; i < eg_op_info_of(op)->attr_count; i++)
    slots[i] = eg_attr_default(op, i);
}
