// Prints the operator table as text, for people who write graphs and rules.
// SPDX-License-Identifier: Apache-2.0
#include "api/arguments.h"
#include "base/text.h"
#include "ops/ops.h"

static void append_attribute(eg_text *text, const eg_attr_info *attr) {
  bool is_required = attr->default_text[0] == '\0';
  (void)eg_text_printf(text, " :%s %s", attr->name,
                       is_required ? "(required)" : attr->default_text);
  if (attr->kind != EG_ATTR_SYMBOL) return;
  for (const char *const *symbol = attr->symbols; *symbol != NULL; symbol++)
    (void)eg_text_printf(text, "%s%s", symbol == attr->symbols ? " {" : "|", *symbol);
  (void)eg_text_append(text, "}");
}

static void append_operator(eg_text *text, const eg_op_info *info) {
  (void)eg_text_printf(text, "%-24s ", info->name);
  if (info->max_inputs < 0)
    (void)eg_text_printf(text, "%d.. operands", info->min_inputs);
  else if (info->max_inputs != info->min_inputs)
    (void)eg_text_printf(text, "%d..%d operands", info->min_inputs, info->max_inputs);
  else
    (void)eg_text_printf(text, "%d operand%s", info->min_inputs,
                         info->min_inputs == 1 ? "" : "s");
  if (info->results != 1) (void)eg_text_append(text, ", several results");
  for (uint16_t i = 0; i < info->attr_count; i++)
    append_attribute(text, &info->attrs[i]);
  if (info->onnx[0] != '\0') (void)eg_text_printf(text, "  ; ONNX %s", info->onnx);
  (void)eg_text_append(text, "\n");
}

egraph_status egraph_operators_text(const egraph_allocator *alloc, char **out) {
  EG_REQUIRE(out);
  EG_LOCAL(eg_text, text, eg_allocator_or_heap(alloc));
  // egraph_graph_add does not add inputs, weights, parts of sequences and opaque nodes.
  for (unsigned op = 0; op < EG_OP_COUNT; op++)
    if (op != EG_OP_INPUT && op != EG_OP_WEIGHT && op != EG_OP_PART && op != EG_OP_OPAQUE)
      append_operator(&text, eg_op_info_of((eg_op)op));
  return eg_text_take(&text, out);
}
