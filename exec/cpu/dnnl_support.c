// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/dnnl_support.h"

#include <assert.h>
#include <dnnl_debug.h>

#include "base/status.h"

egraph_status eg_dnnl_check(dnnl_status_t status, const char *what) {
  egraph_status code = EGRAPH_E_INTERNAL;
  if (status == dnnl_success) return EGRAPH_OK;
  if (status == dnnl_out_of_memory) code = EGRAPH_E_MEMORY;
  if (status == dnnl_invalid_arguments || status == dnnl_unimplemented)
    code = EGRAPH_E_UNSUPPORTED;
  return EG_FAIL(code, "oneDNN: %s: %s", what, dnnl_status2str(status));
}

// ---- descriptors ------------------------------------------------------------------

typedef struct eg_desc_cell {
  struct eg_desc_cell *before;
  dnnl_primitive_desc_t primitive; // NULL: the entry is a memory descriptor
  dnnl_memory_desc_t memory;       // a value in oneDNN 2, a handle in oneDNN 3
} eg_desc_cell;

#if DNNL_VERSION_MAJOR == 2
static const_dnnl_memory_desc_t memory_of(const eg_desc_cell *cell) {
  return &cell->memory;
}
static void destroy_memory(eg_desc_cell *cell) { (void)cell; }
#else
static const_dnnl_memory_desc_t memory_of(const eg_desc_cell *cell) {
  return cell->memory;
}
static void destroy_memory(eg_desc_cell *cell) {
  (void)dnnl_memory_desc_destroy(cell->memory);
}
#endif

void eg_descs_deinit(eg_descs *descs) {
  for (eg_desc_cell *cell = descs->last; cell != NULL; cell = cell->before)
    if (cell->primitive != NULL)
      dnnl_primitive_desc_destroy(cell->primitive);
    else
      destroy_memory(cell);
  descs->last = NULL;
}

static egraph_status alloc_cell(eg_descs *descs, eg_desc_cell **out) {
  return eg_arena_alloc(descs->arena, 1, sizeof **out, out);
}

static void keep_cell(eg_descs *descs, eg_desc_cell *cell) {
  cell->before = descs->last;
  descs->last = cell;
}

egraph_status eg_dnnl_own(eg_descs *descs, dnnl_status_t status,
                          dnnl_primitive_desc_t primitive, const char *what) {
  eg_desc_cell *cell;
  EG_TRY(eg_dnnl_check(status, what));
  egraph_status allocated = alloc_cell(descs, &cell);
  if (allocated != EGRAPH_OK) {
    dnnl_primitive_desc_destroy(primitive);
    return allocated;
  }
  cell->primitive = primitive;
  keep_cell(descs, cell);
  return EGRAPH_OK;
}

#if DNNL_VERSION_MAJOR == 2
static dnnl_status_t make_next(const_dnnl_primitive_desc_t primitive,
                               dnnl_primitive_desc_t *out) {
  return dnnl_v2_next_impl(primitive, out);
}
#else
static dnnl_status_t make_next(const_dnnl_primitive_desc_t primitive,
                               dnnl_primitive_desc_t *out) {
  dnnl_status_t status = dnnl_primitive_desc_clone(out, primitive);
  if (status != dnnl_success) return status;
  status = dnnl_primitive_desc_next_impl(*out);
  if (status != dnnl_success) dnnl_primitive_desc_destroy(*out);
  return status == dnnl_last_impl_reached ? dnnl_unimplemented : status;
}
#endif

egraph_status eg_dnnl_next(eg_descs *descs, const_dnnl_primitive_desc_t primitive,
                           const char *what, dnnl_primitive_desc_t *out) {
  dnnl_status_t made = make_next(primitive, out);
  return eg_dnnl_own(descs, made, *out, what);
}

// Keeps a memory descriptor; `status` is the status of the call that made the descriptor.
static egraph_status keep_memory(eg_descs *descs, eg_desc_cell *cell,
                                 dnnl_status_t status, const_dnnl_memory_desc_t *out) {
  EG_TRY(eg_dnnl_check(status, "memory descriptor"));
  keep_cell(descs, cell);
  *out = memory_of(cell);
  return EGRAPH_OK;
}

static egraph_status add_tagged(eg_descs *descs, uint32_t rank, const int64_t *dims,
                                dnnl_format_tag_t tag, const_dnnl_memory_desc_t *out) {
  eg_desc_cell *cell;
  EG_TRY(alloc_cell(descs, &cell));
  return keep_memory(
      descs, cell,
      dnnl_memory_desc_create_with_tag(&cell->memory, (int)rank, dims, dnnl_f32, tag),
      out);
}

static egraph_status find_tag(eg_format format, dnnl_format_tag_t *out) {
  switch (format) {
  case EG_FORMAT_NHWC: *out = dnnl_nhwc; return EGRAPH_OK;
  case EG_FORMAT_NCHW8C: *out = dnnl_nChw8c; return EGRAPH_OK;
  case EG_FORMAT_NCHW16C: *out = dnnl_nChw16c; return EGRAPH_OK;
  case EG_FORMAT_PLAIN:
  case EG_FORMAT_COUNT: break;
  }
  return EG_FAIL(EGRAPH_E_INTERNAL, "memory format %d has no oneDNN tag", (int)format);
}

egraph_status eg_dnnl_desc(eg_descs *descs, const eg_type *type,
                           const_dnnl_memory_desc_t *out) {
  if (type->dtype != EGRAPH_FLOAT32)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "oneDNN kernels here take float32, not %s",
                   eg_dtype_name(type->dtype));
  if (type->layout.format == EG_FORMAT_PLAIN)
    return eg_dnnl_desc_dims(descs, type->rank, type->dims, out);
  dnnl_format_tag_t tag = dnnl_format_tag_undef;
  EG_TRY(find_tag((eg_format)type->layout.format, &tag));
  return add_tagged(descs, type->rank, type->dims, tag, out);
}

egraph_status eg_dnnl_desc_strided(eg_descs *descs, uint32_t rank, const int64_t *dims,
                                   const int64_t *strides,
                                   const_dnnl_memory_desc_t *out) {
  if (rank > DNNL_MAX_NDIMS)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "oneDNN takes at most %d dimensions, not %u",
                   DNNL_MAX_NDIMS, rank);
  eg_desc_cell *cell;
  EG_TRY(alloc_cell(descs, &cell));
  return keep_memory(descs, cell,
                     dnnl_memory_desc_create_with_strides(&cell->memory, (int)rank, dims,
                                                          dnnl_f32, strides),
                     out);
}

egraph_status eg_dnnl_desc_dims(eg_descs *descs, uint32_t rank, const int64_t *dims,
                                const_dnnl_memory_desc_t *out) {
  // oneDNN has no scalars: a tensor of rank 0 becomes a tensor of one element.
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
  return eg_dnnl_desc_strided(descs, rank, dims, strides, out);
}

egraph_status eg_dnnl_desc_any(eg_descs *descs, uint32_t rank, const int64_t *dims,
                               const_dnnl_memory_desc_t *out) {
  return add_tagged(descs, rank, dims, dnnl_format_tag_any, out);
}

egraph_status eg_dnnl_desc_copy(eg_descs *descs, const_dnnl_memory_desc_t desc,
                                const_dnnl_memory_desc_t *out) {
  eg_desc_cell *cell;
  EG_TRY(alloc_cell(descs, &cell));
  return keep_memory(descs, cell, dnnl_memory_desc_clone(&cell->memory, desc), out);
}
