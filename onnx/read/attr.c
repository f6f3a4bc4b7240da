// Reads attributes of ONNX nodes and checks their kinds.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "onnx/read/reader.h"

const Onnx__AttributeProto *eg_onnx_attr(const eg_onnx_call *call, const char *name) {
  return eg_onnx_find_attribute(call->node->attribute, call->node->n_attribute, name);
}

static egraph_status wrong_kind(const char *name, const char *wanted) {
  return EG_FAIL(EGRAPH_E_PARSE, "attribute '%s' must be %s", name, wanted);
}

// True when an attribute has this kind. Old files lack the kind: then `present` decides,
// the presence of a value.
static bool has_kind(const Onnx__AttributeProto *attr,
                     Onnx__AttributeProto__AttributeType kind, bool present) {
  return attr->has_type ? attr->type == kind : present;
}

egraph_status eg_onnx_attr_int(const eg_onnx_call *call, const char *name,
                               int64_t fallback, int64_t *out) {
  const Onnx__AttributeProto *attr = eg_onnx_attr(call, name);
  *out = fallback;
  if (attr == NULL) return EGRAPH_OK;
  if (!has_kind(attr, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT, attr->has_i))
    return wrong_kind(name, "an integer");
  *out = attr->i;
  return EGRAPH_OK;
}

egraph_status eg_onnx_attr_float(const eg_onnx_call *call, const char *name,
                                 double fallback, double *out) {
  const Onnx__AttributeProto *attr = eg_onnx_attr(call, name);
  *out = fallback;
  if (attr == NULL) return EGRAPH_OK;
  if (!has_kind(attr, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT, attr->has_f))
    return wrong_kind(name, "a number");
  *out = (double)attr->f;
  return EGRAPH_OK;
}

egraph_status eg_onnx_attr_ints(const eg_onnx_call *call, const char *name,
                                bool *out_present, eg_ints *out) {
  const Onnx__AttributeProto *attr = eg_onnx_attr(call, name);
  *out_present = attr != NULL;
  *out = (eg_ints){NULL, 0};
  if (attr == NULL) return EGRAPH_OK;
  if (!has_kind(attr, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS, true) ||
      attr->n_ints > UINT32_MAX)
    return wrong_kind(name, "a list of integers");
  *out = (eg_ints){.data = attr->ints, .len = (uint32_t)attr->n_ints};
  return EGRAPH_OK;
}

egraph_status eg_onnx_attr_floats(const eg_onnx_call *call, const char *name,
                                  bool *out_present, eg_floats *out) {
  const Onnx__AttributeProto *attr = eg_onnx_attr(call, name);
  double *data;
  *out_present = attr != NULL;
  *out = (eg_floats){NULL, 0};
  if (attr == NULL) return EGRAPH_OK;
  if (!has_kind(attr, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS, true) ||
      attr->n_floats > UINT32_MAX)
    return wrong_kind(name, "a list of numbers");
  EG_NEW(&call->reader->arena, attr->n_floats, data);
  for (size_t i = 0; i < attr->n_floats; i++)
    data[i] = (double)attr->floats[i];
  *out = (eg_floats){.data = data, .len = (uint32_t)attr->n_floats};
  return EGRAPH_OK;
}

egraph_status eg_onnx_attr_string(const eg_onnx_call *call, const char *name,
                                  const char *fallback, const char **out) {
  const Onnx__AttributeProto *attr = eg_onnx_attr(call, name);
  *out = fallback;
  if (attr == NULL) return EGRAPH_OK;
  if (!has_kind(attr, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING, attr->has_s))
    return wrong_kind(name, "a string");
  return eg_arena_string(&call->reader->arena,
                         attr->s.data != NULL ? (const char *)attr->s.data : "",
                         attr->s.len, out);
}

egraph_status eg_onnx_axis(int64_t axis, uint32_t rank, int64_t *out) {
  int64_t count = (int64_t)rank;
  if (axis < -count || axis >= count)
    return EG_FAIL(EGRAPH_E_PARSE, "axis %" PRId64 " is outside of rank %" PRIu32, axis,
                   rank);
  *out = axis < 0 ? axis + count : axis;
  return EGRAPH_OK;
}
