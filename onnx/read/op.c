// Shared functions of importers, and the generic importer: same operator, attributes of
// the same names.
// SPDX-License-Identifier: Apache-2.0
#include "onnx/read/op.h"
#include "onnx/sets/versions.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

egraph_status eg_onnx_decline(const char *why) {
  return EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s", why);
}

// ---- shared functions of importers --------------------------------------------------

bool eg_onnx_is_used(const eg_onnx_call *call, uint32_t output) {
  eg_onnx_ref ref = eg_onnx_output(call, output);
  return ref.id != EG_ONNX_NONE.id && eg_onnx_tensor_at(call->reader, ref)->used;
}

eg_attr_list eg_onnx_list(eg_op op, const eg_onnx_slot *slots, size_t count) {
  eg_attr_list list;
  eg_attr_list_init(&list, op);
  eg_attrs attrs = eg_attr_list_attrs(&list);
  for (size_t i = 0; i < count; i++) {
    eg_attr *slot = &list.slots[eg_attr_at(&attrs, slots[i].slot) - list.slots];
    assert(slot->kind == slots[i].value.kind);
    if (slot->kind == EG_ATTR_SYMBOL)
      eg_attr_list_set_symbol(&list, slots[i].slot, slots[i].value.text);
    else
      *slot = slots[i].value;
  }
  return list;
}

egraph_status eg_onnx_emit_plain(const eg_onnx_call *call, eg_op op,
                                 const eg_onnx_ref *operands, uint32_t count,
                                 eg_onnx_ref result) {
  eg_attr_list list = eg_onnx_list(op, NULL, 0);
  return eg_onnx_emit(call, &list, operands, count, &result, 1);
}

egraph_status eg_onnx_emit_fresh(const eg_onnx_call *call, eg_attr_list list,
                                 const eg_onnx_ref *operands, uint32_t count,
                                 eg_onnx_ref *out) {
  EG_TRY(eg_onnx_fresh(call, out));
  return eg_onnx_emit(call, &list, operands, count, out, 1);
}

egraph_status eg_onnx_emit_on(const eg_onnx_call *call, const eg_onnx_ref *operands,
                              uint32_t count, eg_attr_list list) {
  eg_attrs attrs = eg_attr_list_attrs(&list);
  uint32_t results = eg_op_results(&attrs);
  eg_onnx_ref *refs;
  EG_NEW(&call->reader->arena, results, refs);
  for (uint32_t i = 0; i < results; i++)
    refs[i] = eg_onnx_output(call, i);
  return eg_onnx_emit(call, &list, operands, count, refs, results);
}

egraph_status eg_onnx_emit_first(const eg_onnx_call *call, uint32_t count,
                                 eg_attr_list list) {
  eg_onnx_ref operands[4];
  assert(count <= sizeof operands / sizeof *operands);
  for (uint32_t i = 0; i < count; i++)
    operands[i] = eg_onnx_input(call, i);
  return eg_onnx_emit_on(call, operands, count, list);
}

egraph_status eg_onnx_emit_node(const eg_onnx_call *call, eg_attr_list list) {
  uint32_t count = call->input_count;
  while (count > 0 && call->inputs[count - 1].id == EG_ONNX_NONE.id)
    count--;
  eg_attrs attrs = eg_attr_list_attrs(&list);
  for (uint32_t i = eg_op_results(&attrs); i < call->output_count; i++)
    if (eg_onnx_is_used(call, i))
      return eg_onnx_decline("a result is used that this operator does not have here");
  return eg_onnx_emit_on(call, call->inputs, count, list);
}

egraph_status eg_onnx_known_operand(const eg_onnx_call *call, uint32_t index,
                                    const char *why, eg_tensor *out) {
  EG_TRY(eg_onnx_input_type(call, index, &out->type));
  const eg_onnx_tensor *tensor = eg_onnx_tensor_at(call->reader, call->inputs[index]);
  if (tensor->data == NULL) return eg_onnx_decline(why);
  *out = eg_onnx_view(tensor);
  return EGRAPH_OK;
}

egraph_status eg_onnx_const_int(const eg_onnx_call *call, uint32_t index,
                                const char *what, bool is_optional, int64_t *inout) {
  eg_ints list;
  bool present;
  EG_TRY(eg_onnx_const_ints(call, index, &present, &list));
  if (!present && is_optional) return EGRAPH_OK;
  if (list.len != 1) return EG_FAIL(EGRAPH_E_PARSE, "%s is no scalar", what);
  *inout = list.data[0];
  return EGRAPH_OK;
}

egraph_status eg_onnx_const_double(const eg_onnx_call *call, uint32_t index,
                                   const char *what, bool is_optional, double *inout) {
  const double *list;
  uint32_t count;
  bool present;
  EG_TRY(eg_onnx_const_doubles(call, index, &present, &list, &count));
  if (!present && is_optional) return EGRAPH_OK;
  if (count != 1) return EG_FAIL(EGRAPH_E_PARSE, "%s is no scalar", what);
  *inout = list[0];
  return EGRAPH_OK;
}

egraph_status eg_onnx_attr_axis(const eg_onnx_call *call, int64_t fallback, uint32_t rank,
                                int64_t *out) {
  EG_TRY(eg_onnx_attr_int(call, "axis", fallback, out));
  return eg_onnx_axis(*out, rank, out);
}

egraph_status eg_onnx_matrix_axis(const eg_onnx_call *call, const char *what,
                                  uint32_t rank, bool *out_old, int64_t *out) {
  *out_old = call->reader->opset < 13;
  EG_TRY(eg_onnx_attr_int(call, "axis", *out_old ? 1 : -1, out));
  if (*out_old && rank != 0 && *out == (int64_t)rank)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s over no dimension", what);
  return eg_onnx_axis(*out, rank, out);
}

bool eg_onnx_find_dtype(int64_t number, egraph_dtype *out) {
  return number >= 0 && number <= INT32_MAX && eg_dtype_from_onnx((int)number, out);
}

egraph_status eg_onnx_ints(const eg_onnx_call *call, const char *name, uint32_t index,
                           bool *out_present, eg_ints *out) {
  EG_TRY(eg_onnx_attr_ints(call, name, out_present, out));
  return *out_present ? EGRAPH_OK : eg_onnx_const_ints(call, index, out_present, out);
}

egraph_status eg_onnx_sizes(const eg_onnx_call *call, const char *name, uint32_t index,
                            bool *out_present, eg_ints *out) {
  EG_TRY(eg_onnx_attr_ints(call, name, out_present, out));
  return *out_present ? EGRAPH_OK : eg_onnx_const_sizes(call, index, out_present, out);
}

static int compare_ints(const void *a, const void *b) {
  int64_t x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return (x > y) - (x < y);
}

egraph_status eg_onnx_sorted_axes(const eg_onnx_call *call, eg_ints axes, uint32_t rank,
                                  eg_ints *out) {
  int64_t *sorted;
  EG_NEW(&call->reader->arena, axes.len, sorted);
  for (uint32_t i = 0; i < axes.len; i++)
    EG_TRY(eg_onnx_axis(axes.data[i], rank, &sorted[i]));
  if (axes.len > 1) qsort(sorted, axes.len, sizeof *sorted, compare_ints);
  for (uint32_t i = 1; i < axes.len; i++)
    if (sorted[i] == sorted[i - 1])
      return EG_FAIL(EGRAPH_E_PARSE, "axis %" PRId64 " is given twice", sorted[i]);
  *out = (eg_ints){.data = sorted, .len = axes.len};
  return EGRAPH_OK;
}

egraph_status eg_onnx_repeat(const eg_onnx_call *call, int64_t value, uint32_t count,
                             int64_t **out) {
  EG_NEW(&call->reader->arena, count, *out);
  for (uint32_t i = 0; i < count; i++)
    (*out)[i] = value;
  return EGRAPH_OK;
}

egraph_status eg_onnx_array(const eg_onnx_call *call, const eg_type *type,
                            eg_onnx_ref *inout, eg_tensor *out) {
  eg_buffer *buffer;
  if (eg_type_is_open(type))
    return eg_onnx_decline("it has a constant whose size is an open dimension");
  if (inout->id == EG_ONNX_NONE.id) EG_TRY(eg_onnx_fresh(call, inout));
  EG_TRY(eg_type_check(type));
  EG_TRY(eg_buffer_create(&call->reader->alloc, eg_type_bytes(type), &buffer));
  *out = (eg_tensor){.type = *type, .data = eg_buffer_writable(buffer)};
  egraph_status status = eg_onnx_define_constant(call->reader, *inout, type, buffer);
  eg_buffer_release(buffer);
  return status;
}

egraph_status eg_onnx_define_result(const eg_onnx_call *call, uint32_t index,
                                    const eg_type *type, const void *data) {
  eg_onnx_ref result = eg_onnx_output(call, index);
  eg_tensor tensor;
  if (result.id == EG_ONNX_NONE.id) return EGRAPH_OK;
  EG_TRY(eg_onnx_array(call, type, &result, &tensor));
  if (eg_type_bytes(type) != 0) memcpy(tensor.data, data, eg_type_bytes(type));
  return EGRAPH_OK;
}

egraph_status eg_onnx_scalar(const eg_onnx_call *call, egraph_dtype dtype, double value,
                             eg_onnx_ref *out) {
  eg_type type = eg_type_of(dtype, 0, NULL);
  eg_tensor tensor;
  *out = EG_ONNX_NONE;
  EG_TRY(eg_onnx_array(call, &type, out, &tensor));
  eg_tensor_set_double(&tensor, 0, value);
  return EGRAPH_OK;
}

egraph_status eg_onnx_constant_list(const eg_onnx_call *call, const int64_t *data,
                                    uint32_t count, eg_onnx_ref *out) {
  eg_type type = eg_type_of(EGRAPH_INT64, 1, (const int64_t[]){count});
  eg_tensor tensor;
  *out = EG_ONNX_NONE;
  EG_TRY(eg_onnx_array(call, &type, out, &tensor));
  if (count != 0) memcpy(tensor.data, data, count * sizeof *data);
  return EGRAPH_OK;
}

egraph_status eg_onnx_emit_reshape(const eg_onnx_call *call, eg_onnx_ref operand,
                                   const int64_t *dims, uint32_t rank,
                                   eg_onnx_ref result) {
  eg_attr_list list = EG_LIST(RESHAPE, EG_INTS(RESHAPE_SHAPE, dims, rank));
  return eg_onnx_emit(call, &list, &operand, 1, &result, 1);
}

// ---- the generic importer -----------------------------------------------------------

static egraph_status read_symbol(const eg_onnx_call *call, const eg_attr_info *info,
                                 eg_attr *out) {
  const char *text;
  EG_TRY(eg_onnx_attr_string(call, info->name, info->symbols[out->i], &text));
  for (int64_t i = 0; info->symbols[i] != NULL; i++)
    if (strcmp(info->symbols[i], text) == 0) {
      out->i = i;
      return EGRAPH_OK;
    }
  return EG_FAIL(EGRAPH_E_UNSUPPORTED, "attribute '%s' is '%.100s'", info->name, text);
}

static egraph_status read_dtype(const eg_onnx_call *call, const eg_attr_info *info,
                                eg_attr *out) {
  int64_t number;
  egraph_dtype dtype;
  EG_TRY(
      eg_onnx_attr_int(call, info->name, eg_dtype_onnx((egraph_dtype)out->i), &number));
  if (!eg_onnx_find_dtype(number, &dtype))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "element type %" PRId64, number);
  out->i = dtype;
  return EGRAPH_OK;
}

static egraph_status read_float(const eg_onnx_call *call, const char *name,
                                eg_attr *out) {
  const Onnx__AttributeProto *attr = eg_onnx_attr(call, name);
  const char *text;
  if (attr != NULL && attr->has_s && strcmp(call->node->domain, EG_ONNX_DOMAIN) == 0) {
    EG_TRY(eg_onnx_attr_string(call, name, "", &text)); // our nodes keep all 64 bits
    if (!eg_parse_double(text, &out->f))
      return EG_FAIL(EGRAPH_E_PARSE, "attribute '%s' is '%.40s'", name, text);
    return EGRAPH_OK;
  }
  return eg_onnx_attr_float(call, name, out->f, &out->f);
}

// Reads an attribute of our operator from ONNX's of the same name, or keeps the default.
static egraph_status read_slot(const eg_onnx_call *call, const eg_attr_info *info,
                               eg_attr *inout) {
  bool present;
  switch (info->kind) {
  case EG_ATTR_INT: return eg_onnx_attr_int(call, info->name, inout->i, &inout->i);
  case EG_ATTR_INTS: return eg_onnx_attr_ints(call, info->name, &present, &inout->ints);
  case EG_ATTR_FLOATS:
    return eg_onnx_attr_floats(call, info->name, &present, &inout->floats);
  case EG_ATTR_FLOAT: return read_float(call, info->name, inout);
  case EG_ATTR_SYMBOL: return read_symbol(call, info, inout);
  case EG_ATTR_DTYPE: return read_dtype(call, info, inout);
  case EG_ATTR_STRING:
    return eg_onnx_attr_string(call, info->name, inout->text, &inout->text);
  }
  return EGRAPH_OK;
}

egraph_status eg_onnx_read_slots(const eg_onnx_call *call, eg_attr_list *list) {
  const eg_op_info *op = eg_op_info_of(list->op);
  for (uint16_t i = 0; i < op->attr_count; i++) {
    const eg_attr_info *info = &op->attrs[i];
    if (info->default_text[0] == '\0' && eg_onnx_attr(call, info->name) == NULL)
      return EG_FAIL(EGRAPH_E_PARSE, "attribute '%s' is missing", info->name);
    EG_TRY(read_slot(call, info, &list->slots[i]));
  }
  return EGRAPH_OK;
}

// Counts the axis from the front, so that equal nodes have equal attributes.
static egraph_status normalize_axis(const eg_onnx_call *call, eg_attr_list *list) {
  uint16_t slot;
  if (!eg_op_find_attr(list->op, "axis", &slot)) return EGRAPH_OK;
  EG_ONNX_TYPE(type, call, 0);
  return eg_onnx_axis(list->slots[slot].i, type.rank, &list->slots[slot].i);
}

// Declines a node on integers if ONNX allows integers there, as for roots and
// logarithms: our operators take floating point only.
egraph_status eg_onnx_want_floats(const eg_onnx_call *call) {
  EG_ONNX_TYPE(x, call, 0);
  const int dtypes[2] = {eg_dtype_onnx(x.dtype)};
  if (eg_dtype_is_float(x.dtype) || call->node->n_input > 2 ||
      eg_onnx_fault(call->node, dtypes, call->reader->opset) != NULL)
    return EGRAPH_OK;
  return eg_onnx_decline("the element type is not supported");
}

egraph_status eg_onnx_import_same(const eg_onnx_call *call) {
  if ((eg_op_info_of(call->op)->flags & EG_OPF_FLOAT) != 0)
    EG_TRY(eg_onnx_want_floats(call));
  uint16_t slot;
  for (size_t i = 0; i < call->node->n_attribute; i++)
    if (!eg_op_find_attr(call->op, call->node->attribute[i]->name, &slot))
      return eg_onnx_decline("it has an attribute that the table does not know");
  eg_attr_list list = eg_onnx_list(call->op, NULL, 0);
  EG_TRY(eg_onnx_read_slots(call, &list));
  EG_TRY(normalize_axis(call, &list));
  return eg_onnx_emit_node(call, list);
}
