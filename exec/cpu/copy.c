// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/copy.h"

typedef struct copy_payload {
  eg_loop_nest outer;                     // strides in bytes
  int64_t length, to_stride, from_stride; // of the innermost loop; strides in bytes
  size_t element;
} copy_payload;

static void copy_row(const copy_payload *p, char *to, const char *from) {
  size_t element = p->element;
  if (p->to_stride == (int64_t)element && p->from_stride == (int64_t)element) {
    memcpy(to, from, (size_t)p->length * element);
    return;
  }
  if (element == sizeof(uint32_t)) { // the common case, with a size the compiler knows
    for (int64_t i = 0; i < p->length; i++)
      memcpy(to + i * p->to_stride, from + i * p->from_stride, sizeof(uint32_t));
    return;
  }
  for (int64_t i = 0; i < p->length; i++)
    memcpy(to + i * p->to_stride, from + i * p->from_stride, element);
}

static bool advance(const eg_loop_nest *nest, int64_t *index, char **to,
                    const char **from) {
  for (uint32_t d = nest->rank; d-- > 0;) {
    *to += nest->strides[0][d];
    *from += nest->strides[1][d];
    if (++index[d] < nest->dims[d]) return true;
    *to -= nest->strides[0][d] * nest->dims[d];
    *from -= nest->strides[1][d] * nest->dims[d];
    index[d] = 0;
  }
  return false;
}

static egraph_status copy_run(const void *payload, void *const *addresses) {
  const copy_payload *p = payload;
  char *to = addresses[0];
  const char *from = addresses[1];
  int64_t index[EG_MAX_LOOPS] = {0};
  do {
    copy_row(p, to, from);
  } while (advance(&p->outer, index, &to, &from));
  return EGRAPH_OK;
}

static egraph_status add_function(eg_cpu_builder *builder, const eg_loop_nest *nest,
                                  size_t element, eg_place from, eg_place to) {
  copy_payload *payload;
  EG_TRY(eg_arena_alloc(builder->arena, 1, sizeof *payload, &payload));
  uint32_t last = nest->rank - 1;
  int64_t bytes = (int64_t)element;
  *payload = (copy_payload){.outer = *nest,
                            .length = nest->dims[last],
                            .to_stride = nest->strides[0][last] * bytes,
                            .from_stride = nest->strides[1][last] * bytes,
                            .element = element};
  payload->outer.rank = last;
  for (uint32_t d = 0; d < last; d++) {
    payload->outer.strides[0][d] *= bytes;
    payload->outer.strides[1][d] *= bytes;
  }
  if (builder->kernel == NULL) builder->kernel = "copy";
  return eg_cpu_add_function(builder, &builder->run, copy_run, payload,
                             (eg_place[]){to, from}, 2);
}

// Measured on [1,128,12,64] -> [1,12,64,128]: the reorder moves 33 GB/s, a loop over
// elements 2 GB/s; for rows of 256 bytes memcpy and reorder are equal (94 GB/s).
static bool suits_reorder(const eg_loop_nest *nest, egraph_dtype dtype) {
  enum { SHORT_ROW = 16 };
  uint32_t last = nest->rank - 1;
  if (dtype != EGRAPH_FLOAT32) return false;
  for (uint32_t d = 0; d < nest->rank; d++)
    if (nest->strides[1][d] <= 0 || nest->strides[0][d] <= 0) return false;
  bool rows = nest->strides[0][last] == 1 && nest->strides[1][last] == 1;
  return !rows || nest->dims[last] < SHORT_ROW;
}

egraph_status eg_cpu_add_copy(eg_cpu_builder *builder, const eg_loop_nest *nest,
                              egraph_dtype dtype, eg_place from, eg_place to) {
  eg_loop_nest merged = *nest;
  eg_loop_nest_merge(&merged, 2);
  if (suits_reorder(&merged, dtype)) {
    const_dnnl_memory_desc_t to_desc, from_desc;
    EG_TRY(eg_dnnl_desc_strided(&builder->descs, merged.rank, merged.dims,
                                merged.strides[0], &to_desc));
    EG_TRY(eg_dnnl_desc_strided(&builder->descs, merged.rank, merged.dims,
                                merged.strides[1], &from_desc));
    return eg_cpu_add_reorder(builder, &builder->run, from, from_desc, to, to_desc);
  }
  return add_function(builder, &merged, eg_dtype_bytes(dtype), from, to);
}

typedef struct fill_payload {
  int64_t elements;
  size_t element;
  unsigned char bytes[sizeof(double)];
} fill_payload;

static egraph_status fill_run(const void *payload, void *const *addresses) {
  const fill_payload *p = payload;
  char *to = addresses[0];
  size_t total = (size_t)p->elements * p->element; // families see no empty tensors
  size_t done = p->element;
  memcpy(to, p->bytes, done);
  while (done < total) { // what is filled doubles
    size_t next = total - done < done ? total - done : done;
    memcpy(to + done, to, next);
    done += next;
  }
  return EGRAPH_OK;
}

egraph_status eg_cpu_add_fill(eg_cpu_builder *builder, const eg_type *type, double value,
                              eg_place to) {
  fill_payload *payload;
  EG_TRY(eg_arena_alloc(builder->arena, 1, sizeof *payload, &payload));
  payload->elements = eg_type_elements(type);
  payload->element = eg_dtype_bytes(type->dtype);
  eg_tensor element = {.type = eg_type_of(type->dtype, 0, NULL), .data = payload->bytes};
  eg_tensor_set_double(&element, 0, value);
  return eg_cpu_add_function(builder, &builder->run, fill_run, payload, &to, 1);
}
