// The operator table as text, for people who write graphs and rules.
// SPDX-License-Identifier: Apache-2.0
#include "api/convert.h"
#include "api/require.h"
#include "base/text.h"
#include "ops/ops.h"

static egraph_status append_attribute(eg_text *text, const eg_attr_info *attr) {
  EG_TRY(eg_text_printf(text, " :%s ", attr->name));
  if (attr->default_text[0] != '\0') EG_TRY(eg_text_append(text, attr->default_text));
  if (attr->default_text[0] == '\0') EG_TRY(eg_text_append(text, "(required)"));
  if (attr->kind != EG_ATTR_SYMBOL) return EGRAPH_OK;
  for (const char *const *symbol = attr->symbols; *symbol != NULL; symbol++)
    EG_TRY(eg_text_printf(text, "%s%s", symbol == attr->symbols ? " {" : "|", *symbol));
  return eg_text_append(text, "}");
}

static egraph_status append_operator(eg_text *text, const eg_op_info *info) {
  EG_TRY(eg_text_printf(text, "%-24s ", info->name));
  if (info->max_inputs < 0)
    EG_TRY(eg_text_printf(text, "%d.. operands", info->min_inputs));
  else if (info->max_inputs != info->min_inputs)
    EG_TRY(eg_text_printf(text, "%d..%d operands", info->min_inputs, info->max_inputs));
  else
    EG_TRY(eg_text_printf(text, "%d operand%s", info->min_inputs,
                          info->min_inputs == 1 ? "" : "s"));
  if (info->results != 1) EG_TRY(eg_text_append(text, ", several results"));
  for (uint16_t i = 0; i < info->attr_count; i++)
    EG_TRY(append_attribute(text, &info->attrs[i]));
  if (info->onnx[0] != '\0') EG_TRY(eg_text_printf(text, "  ; ONNX %s", info->onnx));
  return eg_text_append(text, "\n");
}

// Inputs, weights, parts and opaque nodes are made by functions of their own.
static bool is_written_by_name(eg_op op) {
  return op != EG_OP_INPUT && op != EG_OP_WEIGHT && op != EG_OP_PART &&
         op != EG_OP_OPAQUE;
}

egraph_status egraph_operators_text(const egraph_allocator *alloc, char **out) {
  EG_REQUIRE(out);
  eg_text text;
  eg_text_init(&text, eg_allocator_or_heap(alloc));
  egraph_status status = EGRAPH_OK;
  for (unsigned op = 0; status == EGRAPH_OK && op < EG_OP_COUNT; op++)
    if (is_written_by_name((eg_op)op))
      status = append_operator(&text, eg_op_info_of((eg_op)op));
  return eg_text_hand_over(status, &text, out);
}
