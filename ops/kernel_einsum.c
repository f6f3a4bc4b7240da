// Einsum: a loop nest over the labels of the equation, those of the result outside and
// the summed ones inside. A label has one stride per operand, the sum over its
// dimensions, so diagonals and broadcast "..." need no case of their own. The equation is
// read again here: inference has accepted it, so nothing can be wrong with it.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "ops/kernels.h"

// Letters, then the dimensions under "..." counted from the last one.
enum { LETTERS = 52, LABELS = LETTERS + EGRAPH_MAX_RANK };

static int letter_of_nest(char c) {
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const char *at = c == '\0' ? NULL : strchr(alphabet, c);
  return at == NULL ? -1 : (int)(at - alphabet);
}

// Reads the labels of a term with `rank` dimensions; returns the text behind the term.
static const char *read_term(const char *at, uint32_t rank, int labels[EGRAPH_MAX_RANK]) {
  uint32_t letters = 0, count = 0;
  const char *end = at;
  for (; *end != '\0' && *end != ',' && *end != '-'; end++)
    letters += letter_of_nest(*end) >= 0;
  for (; at < end; at++) {
    if (letter_of_nest(*at) >= 0) {
      labels[count++] = letter_of_nest(*at);
    } else if (*at == '.') {
      for (uint32_t dots = rank - letters; dots-- > 0;)
        labels[count++] = LETTERS + (int)dots;
      at += 2;
    }
  }
  return end;
}

typedef struct eg_nest {
  const eg_tensor *inputs;
  uint32_t operands;
  uint32_t results, labels; // loops [0, results) are the result's, the others are summed
  int64_t size[LABELS];
  int64_t *stride[LABELS]; // per operand
} eg_nest;

typedef struct eg_label {
  int64_t size;
  uint32_t uses;
  int64_t *stride;
} eg_label;

static egraph_status note_operand(eg_arena *arena, const eg_nest *nest, uint32_t operand,
                                  const int *labels, eg_label *all) {
  const eg_type *type = &nest->inputs[operand].type;
  int64_t strides[EGRAPH_MAX_RANK] = {0};
  eg_dims_strides(type->rank, type->dims, strides);
  for (uint32_t d = 0; d < type->rank; d++) {
    eg_label *label = &all[labels[d]];
    if (label->stride == NULL) {
      EG_TRY(eg_arena_alloc(arena, nest->operands, sizeof(int64_t), &label->stride));
      label->size = 1;
    }
    label->uses++;
    // A dimension of size 1 is not stepped through, whatever size the label has
    // elsewhere.
    if (type->dims[d] == 1) continue;
    label->size = type->dims[d];
    label->stride[operand] += strides[d];
  }
  return EGRAPH_OK;
}

// Without "->": the dimensions of "...", then the letters that occur once, in order.
static void implicit_result(const eg_label *all, uint32_t rank, int *labels) {
  uint32_t letters = 0, count = 0;
  for (int i = 0; i < LETTERS; i++)
    letters += all[i].uses == 1;
  for (uint32_t dots = rank - letters; dots-- > 0;)
    labels[count++] = LETTERS + (int)dots;
  for (int i = 0; i < LETTERS; i++)
    if (all[i].uses == 1) labels[count++] = i;
}

static void add_loop(eg_nest *nest, eg_label *label) {
  nest->size[nest->labels] = label->size;
  nest->stride[nest->labels++] = label->stride;
  label->stride = NULL;
}

static egraph_status read_nest(const eg_kernel_call *call, eg_arena *arena,
                               eg_nest *nest) {
  const char *at = eg_attr_at(call->attrs, EG_A_EINSUM_EQUATION)->text;
  uint32_t rank = call->outputs[0].type.rank;
  int labels[EGRAPH_MAX_RANK] = {0};
  eg_label all[LABELS] = {{0}};
  *nest = (eg_nest){.inputs = call->inputs, .operands = call->input_count};
  for (uint32_t i = 0; i < call->input_count; i++) {
    at = read_term(at, call->inputs[i].type.rank, labels);
    EG_TRY(note_operand(arena, nest, i, labels, all));
    if (*at == ',') at++;
  }
  if (*at == '\0')
    implicit_result(all, rank, labels);
  else
    read_term(at + 2, rank, labels);
  for (uint32_t d = 0; d < rank; d++)
    add_loop(nest, &all[labels[d]]);
  nest->results = rank;
  for (int i = 0; i < LABELS; i++)
    if (all[i].stride != NULL) add_loop(nest, &all[i]);
  if (nest->labels == nest->results) { // nothing is summed: a loop of one step
    eg_label one = {.size = 1};
    EG_TRY(eg_arena_alloc(arena, nest->operands, sizeof(int64_t), &one.stride));
    add_loop(nest, &one);
  }
  return EGRAPH_OK;
}

// Moves one step of an odometer over loops [from, to), and the operands' offsets with it.
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

// The sum of products over the last loop, from the current offsets on. Two operands have
// their own loop because nearly every equation has two.
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
  int64_t index[LABELS] = {0}, *offsets = NULL;
  const eg_tensor *y = &call->outputs[0];
  eg_wide wide = EG_WIDE_F32;
  if (!eg_wide_find(y->type.dtype, &wide)) return eg_kernel_refuse(call, y->type.dtype);
  EG_TRY(read_nest(call, call->scratch, &nest));
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
