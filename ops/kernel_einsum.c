// Einsum: a loop nest over the labels of the equation, labels of the result outside,
// summed labels inside. A label has one stride per operand, the sum of the strides of its
// dimensions; therefore diagonals and broadcast "..." need no special case.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>

#include "ops/einsum.h"
#include "ops/kernels.h"

enum { LOOPS = EG_MAX_LABELS + 1 };

typedef struct eg_nest {
  const eg_tensor *inputs;
  uint32_t operands;
  uint32_t results, labels; // loops [0, results) are the result's, the others are summed
  int64_t size[LOOPS];
  int64_t *stride[LOOPS]; // stride[l]: of each operand in loop l
} eg_nest;

static void add_loop(eg_nest *nest, int64_t size, int64_t *stride) {
  assert(nest->labels < LOOPS && stride != NULL);
  nest->size[nest->labels] = size;
  nest->stride[nest->labels++] = stride;
}

// Sets strides[label] for the labels of an operand. A dimension of size 1 has stride 0,
// even if the label has another size elsewhere.
static egraph_status note_operand(const eg_kernel_call *call, uint32_t operand,
                                  const eg_labels *labels, int64_t **strides) {
  const eg_type *type = &call->inputs[operand].type;
  int64_t steps[EGRAPH_MAX_RANK] = {0};
  eg_dims_strides(type->rank, type->dims, steps);
  for (uint32_t d = 0; d < type->rank; d++) {
    int64_t **stride = &strides[labels->label[d]];
    if (*stride == NULL)
      EG_TRY(eg_arena_alloc(call->scratch, call->input_count, sizeof **stride, stride));
    if (type->dims[d] != 1) (*stride)[operand] += steps[d];
  }
  return EGRAPH_OK;
}

static egraph_status read_nest(const eg_kernel_call *call, eg_nest *nest) {
  uint32_t count = call->input_count, rank = call->outputs[0].type.rank;
  int64_t *strides[LOOPS] = {NULL}, *none;
  eg_einsum einsum;
  eg_type *types;
  EG_TRY(eg_arena_alloc(call->scratch, count, sizeof *types, &types));
  EG_TRY(eg_arena_alloc(call->scratch, count, sizeof *einsum.operands, &einsum.operands));
  for (uint32_t i = 0; i < count; i++)
    types[i] = call->inputs[i].type;
  EG_TRY(eg_einsum_labels(call->attrs, types, count, &einsum));
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(note_operand(call, i, &einsum.operands[i], strides));
  *nest = (eg_nest){.inputs = call->inputs, .operands = count, .results = rank};
  for (uint32_t d = 0; d < rank; d++) {
    uint8_t label = einsum.result.label[d];
    add_loop(nest, einsum.sizes[label], strides[label]);
    strides[label] = NULL;
  }
  for (uint32_t label = 0; label < EG_MAX_LABELS; label++)
    if (strides[label] != NULL) add_loop(nest, einsum.sizes[label], strides[label]);
  if (nest->labels > rank) return EGRAPH_OK;
  EG_TRY(eg_arena_alloc(call->scratch, count, sizeof *none, &none));
  add_loop(nest, 1, none); // no label is summed: a loop of one step
  return EGRAPH_OK;
}

// Advances the index of loops [from, to) to the next combination, and the operands'
// offsets with it; false when the index wraps.
static bool next_place(const eg_nest *nest, uint32_t from, uint32_t to, int64_t *index,
                       int64_t *offsets) {
  for (uint32_t loop = to; loop-- > from;) {
    bool carries = ++index[loop] == nest->size[loop];
    int64_t steps = carries ? 1 - nest->size[loop] : 1;
    for (uint32_t i = 0; i < nest->operands; i++)
      offsets[i] += steps * nest->stride[loop][i];
    if (!carries) return true;
    index[loop] = 0;
  }
  return false;
}

// Sums the products over the last loop, from the operands' current offsets on. Two
// operands have a separate loop because nearly every equation has two.
#define EINSUM(suffix, type, sum)                                                        \
  static sum sum_row_##suffix(const eg_nest *nest, const int64_t *offsets) {             \
    const int64_t count = nest->size[nest->labels - 1];                                  \
    const int64_t *stride = nest->stride[nest->labels - 1];                              \
    sum total = 0;                                                                       \
    if (nest->operands == 2) {                                                           \
      const type *a = (const type *)nest->inputs[0].data + offsets[0];                   \
      const type *b = (const type *)nest->inputs[1].data + offsets[1];                   \
      for (int64_t k = 0; k < count; k++)                                                \
        total += (sum)a[k * stride[0]] * (sum)b[k * stride[1]];                          \
      return total;                                                                      \
    }                                                                                    \
    for (int64_t k = 0; k < count; k++) {                                                \
      sum product = 1;                                                                   \
      for (uint32_t i = 0; i < nest->operands; i++)                                      \
        product *=                                                                       \
            (sum)((const type *)nest->inputs[i].data)[offsets[i] + k * stride[i]];       \
      total += product;                                                                  \
    }                                                                                    \
    return total;                                                                        \
  }                                                                                      \
  static void einsum_##suffix(const eg_nest *nest, int64_t *index, int64_t *offsets,     \
                              type *y) {                                                 \
    do {                                                                                 \
      sum total = 0;                                                                     \
      do {                                                                               \
        total += sum_row_##suffix(nest, offsets);                                        \
      } while (next_place(nest, nest->results, nest->labels - 1, index, offsets));       \
      *y++ = (type)total;                                                                \
    } while (next_place(nest, 0, nest->results, index, offsets));                        \
  }
EINSUM(f32, float, double)
EINSUM(f64, double, double)
EINSUM(int, uint64_t, uint64_t)

static bool has_empty_sum(const eg_nest *nest) {
  for (uint32_t loop = nest->results; loop < nest->labels; loop++)
    if (nest->size[loop] == 0) return true;
  return false;
}

egraph_status eg_kernel_einsum(const eg_kernel_call *call) {
  eg_nest nest;
  int64_t index[LOOPS] = {0}, *offsets = NULL;
  const eg_tensor *y = &call->outputs[0];
  eg_wide wide = EG_WIDE_F32;
  if (!eg_wide_find(y->type.dtype, &wide)) return eg_kernel_refuse(call, y->type.dtype);
  EG_TRY(read_nest(call, &nest));
  EG_TRY(eg_arena_alloc(call->scratch, nest.operands, sizeof *offsets, &offsets));
  if (has_empty_sum(&nest))
    eg_tensor_fill(y, 0.0);
  else if (wide == EG_WIDE_F32)
    einsum_f32(&nest, index, offsets, y->data);
  else if (wide == EG_WIDE_F64)
    einsum_f64(&nest, index, offsets, y->data);
  else
    einsum_int(&nest, index, offsets, y->data);
  return EGRAPH_OK;
}
