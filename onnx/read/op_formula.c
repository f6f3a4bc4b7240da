// Import of operators that are a formula (read/formulas.def).
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "onnx/read/build.h"

typedef struct formula {
  const char *name, *text, *attributes;
  double defaults[2];
} formula;

static const formula formulas[] = {
#define EG_ONNX_FORMULA(NAME, TEXT, ATTRIBUTES, A, B) {NAME, TEXT, ATTRIBUTES, {A, B}},
#include "onnx/read/formulas.def"
};

static const formula *formula_of(const char *name) {
  for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
    if (strcmp(formulas[i].name, name) == 0) return &formulas[i];
  return NULL;
}

// The value of attribute number `index` of the list.
static egraph_status read_number(const eg_onnx_call *call, const formula *f,
                                 uint32_t index, double *out) {
  char name[16];
  const char *at = f->attributes;
  for (uint32_t i = 0; i < index && *at != '\0'; i++)
    at += strcspn(at, " ") + (at[strcspn(at, " ")] != '\0');
  size_t length = strcspn(at, " ");
  assert(length < sizeof name);
  memcpy(name, at, length);
  name[length] = '\0';
  *out = f->defaults[index];
  return length == 0 ? EGRAPH_OK : eg_onnx_attr_float(call, name, *out, out);
}

egraph_status eg_onnx_import_formula(const eg_onnx_call *call) {
  const formula *f = formula_of(call->node->op_type);
  eg_type x;
  eg_ref values[4] = {EG_REF_NONE, EG_REF_NONE, EG_REF_NONE, EG_REF_NONE};
  eg_onnx_builder write;
  assert(f != NULL);
  EG_TRY(eg_onnx_input_type(call, 0, &x));
  if (eg_formula_uses(f->text, 'y')) EG_TRY(eg_onnx_input_type(call, 1, &x));
  if (!eg_dtype_is_float(x.dtype)) return eg_onnx_decline("it is not of floating point");
  eg_onnx_builder_init(&write, call);
  for (uint32_t i = 0; i < 2; i++) {
    double number;
    EG_TRY(read_number(call, f, i, &number));
    values[i] = eg_onnx_operand(&write, i);
    if (eg_formula_uses(f->text, "ab"[i]))
      values[2 + i] = eg_build_number(&write.b, number);
  }
  return eg_onnx_finish(&write, 0, eg_build_formula(&write.b, f->text, "xyab", values));
}
