// Broadcasting: the loop nest over operands of different shapes, and the kernels with two
// and three operands that use it. Neighbouring dimensions that no operand treats
// differently are merged: [8,128,768] + [768] is 1024 rows of 768, and a scalar operand
// leaves one row. An operand with one element per row is repeated into a strip, so that
// every row function is a plain contiguous loop.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "ops/kernels.h"

enum { STRIP = 512 };

void eg_broadcast_strides(const eg_type *result, const eg_type *input, int64_t *strides) {
  int64_t stride = 1;
  assert(input->rank <= result->rank);
  uint32_t lead = result->rank - input->rank;
  for (uint32_t d = result->rank; d-- > 0;) {
    strides[d] = 0;
    if (d < lead || input->dims[d - lead] == 1) continue;
    strides[d] = stride;
    stride *= input->dims[d - lead];
  }
}

// True when dimension `at` can be merged with loop dimension `last` for all operands.
static bool continues(const eg_broadcast *loop, uint32_t last, int64_t dim,
                      int64_t strides[EG_BROADCAST_OPERANDS][EGRAPH_MAX_RANK],
                      uint32_t at) {
  for (uint32_t i = 0; i < loop->operands; i++)
    if (loop->strides[i][last] != strides[i][at] * dim) return false;
  return true;
}

static void begin_broadcast(eg_broadcast *loop, const eg_type *result,
                            const eg_tensor *inputs, uint32_t count) {
  int64_t strides[EG_BROADCAST_OPERANDS][EGRAPH_MAX_RANK] = {{0}};
  assert(count <= EG_BROADCAST_OPERANDS);
  *loop = (eg_broadcast){.operands = count};
  for (uint32_t i = 0; i < count; i++)
    eg_broadcast_strides(result, &inputs[i].type, strides[i]);
  for (uint32_t d = 0; d < result->rank; d++) {
    int64_t dim = result->dims[d];
    if (dim == 1) continue;
    uint32_t at = loop->rank;
    if (at != 0 && continues(loop, at - 1, dim, strides, d)) {
      at--;
      loop->dims[at] *= dim;
    } else {
      loop->dims[at] = dim;
      loop->rank++;
    }
    for (uint32_t i = 0; i < count; i++)
      loop->strides[i][at] = strides[i][d];
  }
  if (loop->rank == 0) loop->dims[loop->rank++] = 1;
}

static bool next_broadcast(eg_broadcast *loop) {
  for (uint32_t d = loop->rank - 1; d-- > 0;) {
    for (uint32_t i = 0; i < loop->operands; i++)
      loop->offsets[i] += loop->strides[i][d];
    if (++loop->index[d] < loop->dims[d]) return true;
    for (uint32_t i = 0; i < loop->operands; i++)
      loop->offsets[i] -= loop->strides[i][d] * loop->dims[d];
    loop->index[d] = 0;
  }
  return false;
}

// An operand's elements for a row: in the tensor, or one element repeated in a strip.
typedef struct eg_row_source {
  const unsigned char *data;
  size_t step; // bytes from strip to strip
} eg_row_source;

// Repeats one element, whose size the compiler knows.
#define REPEAT(name, type)                                                               \
  static void name(const unsigned char *from, uint64_t *to, size_t count) {              \
    type element;                                                                        \
    memcpy(&element, from, sizeof element);                                              \
    for (size_t i = 0; i < count; i++)                                                   \
      memcpy((unsigned char *)to + i * sizeof element, &element, sizeof element);        \
  }
REPEAT(repeat_1, uint8_t)
REPEAT(repeat_2, uint16_t)
REPEAT(repeat_4, uint32_t)
REPEAT(repeat_8, uint64_t)

typedef void (*repeat_element)(const unsigned char *, uint64_t *, size_t);
static const repeat_element repeats[] = {
    [1] = repeat_1, [2] = repeat_2, [4] = repeat_4, [8] = repeat_8};

static eg_row_source row_source(const eg_broadcast *loop, uint32_t operand,
                                const eg_tensor *tensor, uint64_t *strip) {
  assert(operand < loop->operands);
  size_t size = eg_dtype_bytes(tensor->type.dtype);
  const unsigned char *data =
      (const unsigned char *)tensor->data + (size_t)loop->offsets[operand] * size;
  if (loop->strides[operand][loop->rank - 1] != 0)
    return (eg_row_source){.data = data, .step = STRIP * size};
  size_t count = (size_t)eg_broadcast_row(loop);
  repeats[size](data, strip, count < STRIP ? count : STRIP);
  return (eg_row_source){.data = (const unsigned char *)strip, .step = 0};
}

static void run_rows(const eg_kernel_call *call, eg_row_binary row,
                     const double params[2]) {
  assert(row != NULL && call->input_count == 2);
  uint64_t strips[2][STRIP];
  eg_broadcast loop;
  begin_broadcast(&loop, &call->outputs[0].type, call->inputs, 2);
  unsigned char *out = call->outputs[0].data;
  size_t out_size = eg_dtype_bytes(call->outputs[0].type.dtype);
  size_t count = (size_t)eg_broadcast_row(&loop);
  do {
    eg_row_source a = row_source(&loop, 0, &call->inputs[0], strips[0]);
    eg_row_source b = row_source(&loop, 1, &call->inputs[1], strips[1]);
    size_t some = a.step != 0 && b.step != 0 ? count : STRIP;
    for (size_t at = 0; at < count; at += some) {
      if (some > count - at) some = count - at;
      row(a.data, b.data, out, some, params);
      a.data += a.step;
      b.data += b.step;
      out += some * out_size;
    }
  } while (next_broadcast(&loop));
}

// Computes pow of a base and an exponent of different types in float64; the result has
// the base's type.
static egraph_status mixed_pow(const eg_kernel_call *call) {
  eg_arena *arena = call->scratch;
  eg_tensor wide[3] = {call->inputs[0], call->inputs[1], call->outputs[0]};
  for (size_t i = 0; i < 3; i++) {
    size_t count = (size_t)eg_type_elements(&wide[i].type);
    wide[i].type.dtype = EGRAPH_FLOAT64;
    EG_TRY(eg_arena_alloc(arena, count, sizeof(double), &wide[i].data));
    if (i < 2) eg_tensor_convert(&call->inputs[i], &wide[i]);
  }
  eg_kernel_call inner = *call;
  inner.inputs = wide;
  inner.outputs = &wide[2];
  const double params[2] = {0.0, 0.0};
  run_rows(&inner, eg_row_binary_of(EG_OP_POW, EG_WIDE_F64), params);
  eg_tensor_convert(&wide[2], &call->outputs[0]);
  return EGRAPH_OK;
}

egraph_status eg_kernel_binary(const eg_kernel_call *call) {
  eg_op op = eg_kernel_op(call);
  egraph_dtype dtype = call->inputs[0].type.dtype;
  eg_wide wide = EG_WIDE_F32;
  eg_row_binary row = NULL;
  if (dtype == EGRAPH_BOOL) {
    row = eg_row_logic_of(op);
  } else if (eg_wide_find(dtype, &wide)) {
    if (op == EG_OP_POW && call->inputs[1].type.dtype != dtype) return mixed_pow(call);
    row = eg_row_binary_of(op, wide);
  }
  if (row == NULL) return eg_kernel_refuse(call, dtype);
  double params[2];
  eg_row_params(call->attrs, params);
  run_rows(call, row, params);
  return EGRAPH_OK;
}

// Selects elements of a size, of any type; memcpy of a constant size is one instruction.
#define WHERE_ROW(name, type)                                                            \
  static void name(const uint8_t *choose, const unsigned char *x,                        \
                   const unsigned char *y, unsigned char *out, size_t count) {           \
    for (size_t i = 0; i < count; i++) {                                                 \
      type if_true, if_false;                                                            \
      memcpy(&if_true, x + i * sizeof(type), sizeof(type));                              \
      memcpy(&if_false, y + i * sizeof(type), sizeof(type));                             \
      if_true = choose[i] != 0 ? if_true : if_false;                                     \
      memcpy(out + i * sizeof(type), &if_true, sizeof(type));                            \
    }                                                                                    \
  }
WHERE_ROW(where_1, uint8_t)
WHERE_ROW(where_2, uint16_t)
WHERE_ROW(where_4, uint32_t)
WHERE_ROW(where_8, uint64_t)

typedef void (*where_row)(const uint8_t *, const unsigned char *, const unsigned char *,
                          unsigned char *, size_t);

static const where_row where_rows[] = {
    [1] = where_1, [2] = where_2, [4] = where_4, [8] = where_8};

egraph_status eg_kernel_where(const eg_kernel_call *call) {
  uint64_t strips[3][STRIP];
  eg_row_source from[3];
  eg_broadcast loop;
  begin_broadcast(&loop, &call->outputs[0].type, call->inputs, 3);
  size_t size = eg_dtype_bytes(call->outputs[0].type.dtype);
  where_row row = where_rows[size];
  unsigned char *out = call->outputs[0].data;
  size_t count = (size_t)eg_broadcast_row(&loop);
  do {
    for (uint32_t i = 0; i < 3; i++)
      from[i] = row_source(&loop, i, &call->inputs[i], strips[i]);
    for (size_t at = 0; at < count; at += STRIP) {
      size_t some = count - at < STRIP ? count - at : STRIP;
      row(from[0].data, from[1].data, from[2].data, out, some);
      for (size_t i = 0; i < 3; i++)
        from[i].data += from[i].step;
      out += some * size;
    }
  } while (next_broadcast(&loop));
  return EGRAPH_OK;
}
