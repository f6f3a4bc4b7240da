// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/dnnl_support.h"

#include "base/status.h"

static const char *status_name(dnnl_status_t status) {
  switch (status) {
  case dnnl_success: return "success";
  case dnnl_out_of_memory: return "out of memory";
  case dnnl_invalid_arguments: return "invalid arguments";
  case dnnl_unimplemented: return "unimplemented";
  case dnnl_iterator_ends: return "iterator ends";
  case dnnl_runtime_error: return "runtime error";
  case dnnl_not_required: return "not required";
  }
  return "unknown status";
}

egraph_status eg_dnnl_check(dnnl_status_t status, const char *what) {
  egraph_status code = EGRAPH_E_INTERNAL;
  switch (status) {
  case dnnl_success: return EGRAPH_OK;
  case dnnl_out_of_memory: code = EGRAPH_E_MEMORY; break;
  case dnnl_invalid_arguments:
  case dnnl_unimplemented: code = EGRAPH_E_UNSUPPORTED; break;
  case dnnl_iterator_ends:
  case dnnl_runtime_error:
  case dnnl_not_required: break;
  }
  return EG_FAIL(code, "oneDNN: %s: %s", what, status_name(status));
}

static egraph_status format_tag(eg_format format, dnnl_format_tag_t *out) {
  switch (format) {
  case EG_FORMAT_NHWC: *out = dnnl_nhwc; return EGRAPH_OK;
  case EG_FORMAT_NCHW8C: *out = dnnl_nChw8c; return EGRAPH_OK;
  case EG_FORMAT_NCHW16C: *out = dnnl_nChw16c; return EGRAPH_OK;
  case EG_FORMAT_PLAIN:
  case EG_FORMAT_COUNT: break;
  }
  return EG_FAIL(EGRAPH_E_INTERNAL, "memory format %d has no oneDNN tag", (int)format);
}

egraph_status eg_dnnl_desc(const eg_type *type, dnnl_memory_desc_t *out) {
  if (type->dtype != EGRAPH_FLOAT32)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "oneDNN kernels here take float32, not %s",
                   eg_dtype_name(type->dtype));
  if (type->layout.format == EG_FORMAT_PLAIN)
    return eg_dnnl_desc_dims(type->rank, type->dims, out);
  dnnl_format_tag_t tag = dnnl_format_tag_undef;
  EG_TRY(format_tag((eg_format)type->layout.format, &tag));
  return eg_dnnl_check(
      dnnl_memory_desc_init_by_tag(out, (int)type->rank, type->dims, dnnl_f32, tag),
      "memory descriptor");
}

egraph_status eg_dnnl_desc_strided(uint32_t rank, const int64_t *dims,
                                   const int64_t *strides, dnnl_memory_desc_t *out) {
  if (rank > DNNL_MAX_NDIMS)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "oneDNN takes at most %d dimensions, not %u",
                   DNNL_MAX_NDIMS, rank);
  return eg_dnnl_check(
      dnnl_memory_desc_init_by_strides(out, (int)rank, dims, dnnl_f32, strides),
      "memory descriptor");
}

egraph_status eg_dnnl_desc_dims(uint32_t rank, const int64_t *dims,
                                dnnl_memory_desc_t *out) {
  // oneDNN has no scalars: a tensor of rank 0 is one of a single element.
  int64_t one = 1;
  if (rank == 0) {
    rank = 1;
    dims = &one;
  }
  int64_t strides[EGRAPH_MAX_RANK];
  int64_t stride = 1;
  for (uint32_t d = rank; d-- > 0;) {
    strides[d] = stride;
    stride *= dims[d];
  }
  return eg_dnnl_desc_strided(rank, dims, strides, out);
}

egraph_status eg_dnnl_desc_any(uint32_t rank, const int64_t *dims,
                               dnnl_memory_desc_t *out) {
  return eg_dnnl_check(
      dnnl_memory_desc_init_by_tag(out, (int)rank, dims, dnnl_f32, dnnl_format_tag_any),
      "memory descriptor");
}
