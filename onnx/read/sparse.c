// Reads sparse initializers as dense ones, with zeros where no value is given.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "base/owner.h"
#include "onnx/read/reader.h"
#include "onnx/tensor.h"

// Limits dense bytes: a file of some bytes may declare a tensor of any size.
static const size_t max_dense_bytes = (size_t)1 << 30;

typedef struct sparse {
  eg_type dense, values, indices;
  eg_buffer *value_data, *index_data, *result;
} sparse;

static void sparse_deinit(sparse *s) {
  eg_buffer_release(s->value_data);
  eg_buffer_release(s->index_data);
  eg_buffer_release(s->result);
}

static egraph_status read_types(const Onnx__SparseTensorProto *proto, sparse *out) {
  Onnx__TensorProto dense = ONNX__TENSOR_PROTO__INIT;
  bool is_known, has_indices;
  if (proto->values == NULL || proto->indices == NULL)
    return EG_FAIL(EGRAPH_E_PARSE, "it has no values or no indices");
  dense.data_type = proto->values->data_type;
  dense.n_dims = proto->n_dims;
  dense.dims = proto->dims;
  EG_TRY(eg_onnx_tensor_type(&dense, &is_known, &out->dense));
  if (!is_known)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "its element type is not supported");
  EG_TRY(eg_onnx_tensor_type(proto->values, &is_known, &out->values));
  EG_TRY(eg_onnx_tensor_type(proto->indices, &has_indices, &out->indices));
  const eg_type *at = &out->indices;
  bool fits = has_indices && at->dtype == EGRAPH_INT64 && out->values.rank == 1 &&
              (at->rank == 1 || (at->rank == 2 && at->dims[1] == out->dense.rank)) &&
              at->dims[0] == out->values.dims[0];
  if (!fits) return EG_FAIL(EGRAPH_E_PARSE, "its values and indices do not fit");
  return eg_type_bytes(&out->dense) <= max_dense_bytes
             ? EGRAPH_OK
             : EG_FAIL(EGRAPH_E_UNSUPPORTED, "it takes more than %zu bytes when dense",
                       max_dense_bytes);
}

/// Finds the place of a value in the dense tensor, by one index or one index
/// per dimension.
static bool find_place(const sparse *s, int64_t value, int64_t *out) {
  const int64_t *indices = eg_buffer_data(s->index_data);
  *out = indices[value];
  if (s->indices.rank == 1) return *out >= 0 && *out < eg_type_elements(&s->dense);
  *out = 0;
  for (uint32_t i = 0; i < s->dense.rank; i++) {
    int64_t index = indices[value * s->dense.rank + i];
    if (index < 0 || index >= s->dense.dims[i]) return false;
    *out = *out * s->dense.dims[i] + index;
  }
  return true;
}

static egraph_status spread(const sparse *s, unsigned char *to) {
  const size_t width = eg_dtype_bytes(s->dense.dtype);
  const unsigned char *from = eg_buffer_data(s->value_data);
  int64_t place, before = -1;
  memset(to, 0, eg_type_bytes(&s->dense));
  for (int64_t i = 0; i < s->values.dims[0]; i++) {
    if (!find_place(s, i, &place))
      return EG_FAIL(EGRAPH_E_PARSE, "index %" PRId64 " is outside of its shape", i);
    if (place <= before)
      return EG_FAIL(EGRAPH_E_PARSE, "its indices do not ascend at %" PRId64, i);
    before = place;
    memcpy(to + (size_t)place * width, from + (size_t)i * width, width);
  }
  return EGRAPH_OK;
}

egraph_status eg_onnx_sparse_data(const eg_onnx_reader *r,
                                  const Onnx__SparseTensorProto *proto, eg_type *out_type,
                                  eg_buffer **out) {
  EG_OWNED(sparse, s);
  EG_TRY(read_types(proto, &s));
  EG_TRY(eg_onnx_tensor_data(r->alloc, proto->values, &s.values, r->base, &s.value_data));
  EG_TRY(
      eg_onnx_tensor_data(r->alloc, proto->indices, &s.indices, r->base, &s.index_data));
  if (s.value_data == NULL || s.index_data == NULL)
    return EG_FAIL(EGRAPH_E_IO, "its data is in a file that does not exist");
  EG_TRY(eg_buffer_create(&r->alloc, eg_type_bytes(&s.dense), &s.result));
  EG_TRY(spread(&s, eg_buffer_writable(s.result)));
  *out_type = s.dense;
  *out = eg_buffer_retain(s.result);
  return EGRAPH_OK;
}
