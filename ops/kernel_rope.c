// Rotary position embedding, row by row, in the type of the elements. Products and sums
// are rounded as those of its parts are.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "ops/kernels.h"
#include "ops/rope.h"

// Rotates the pairs of a row. Elements FIRST and SECOND, with the columns C and D of the
// tables, form pair i. Each round reads and writes one pair only, so that y may be x.
#define PAIRS(name, type, FIRST, SECOND, C, D)                                           \
  EG_KERNEL_CLONES static void name(const type *x, const type *c, const type *s,         \
                                    int64_t pairs, type *y) {                            \
    EG_KERNEL_INDEPENDENT                                                                \
    for (int64_t i = 0; i < pairs; i++) {                                                \
      type a = x[FIRST], b = x[SECOND];                                                  \
      y[FIRST] = a * c[C] - b * s[C];                                                    \
      y[SECOND] = b * c[D] + a * s[D];                                                   \
    }                                                                                    \
  }

#define ROTATE(suffix, type)                                                             \
  PAIRS(halves_##suffix, type, i, pairs + i, i, i)                                       \
  PAIRS(each_half_##suffix, type, i, pairs + i, i, pairs + i)                            \
  PAIRS(neighbours_##suffix, type, 2 * i, 2 * i + 1, i, i)                               \
  PAIRS(each_neighbour_##suffix, type, 2 * i, 2 * i + 1, 2 * i, 2 * i + 1)               \
  void eg_rope_rotate_##suffix(const eg_rope *rope, const type *x, const type *cosines,  \
                               const type *sines, type *y, int64_t begin, int64_t end) { \
    static void (*const rotate[2][2])(const type *, const type *, const type *, int64_t, \
                                      type *) = {                                        \
        {halves_##suffix, each_half_##suffix},                                           \
        {neighbours_##suffix, each_neighbour_##suffix}};                                 \
    int64_t rest = rope->depth - 2 * rope->pairs;                                        \
    x += begin * rope->inner * rope->depth;                                              \
    y += begin * rope->inner * rope->depth;                                              \
    for (int64_t unit = begin; unit < end; unit++) {                                     \
      const type *c = cosines + table_row(rope, 0, unit);                                \
      const type *s = sines + table_row(rope, 1, unit);                                  \
      for (int64_t row = 0; row < rope->inner; row++) {                                  \
        rotate[rope->is_interleaved][rope->is_per_element](x, c, s, rope->pairs, y);     \
        if (x != y && rest != 0)                                                         \
          memcpy(y + 2 * rope->pairs, x + 2 * rope->pairs, (size_t)rest * sizeof *y);    \
        x += rope->depth;                                                                \
        y += rope->depth;                                                                \
        c += rope->inner_step;                                                           \
        s += rope->inner_step;                                                           \
      }                                                                                  \
    }                                                                                    \
  }

// Returns where the rows of a table begin that unit number `unit` reads.
static int64_t table_row(const eg_rope *rope, uint32_t table, int64_t unit) {
  int64_t place = unit % rope->outer * rope->outer_step, rest = unit / rope->outer;
  for (uint32_t dim = rope->leading; dim-- > 0;) {
    place += rest % rope->dims[dim] * rope->strides[table][dim];
    rest /= rope->dims[dim];
  }
  return place;
}

ROTATE(f32, float)
ROTATE(f64, double)

egraph_status eg_kernel_rope(const eg_kernel_call *call) {
  const eg_tensor *in = call->inputs;
  const eg_type types[] = {in[EG_ROPE_X].type, in[EG_ROPE_COS].type,
                           in[EG_ROPE_SIN].type};
  const eg_rope rope = eg_rope_of(call->attrs, types);
  if (eg_type_elements(&types[EG_ROPE_X]) == 0) return EGRAPH_OK;
  EG_KERNEL_FLOATS(call, types[EG_ROPE_X].dtype, eg_rope_rotate, &rope,
                   in[EG_ROPE_X].data, in[EG_ROPE_COS].data, in[EG_ROPE_SIN].data,
                   call->outputs[0].data, 0, rope.batch * rope.outer);
  return EGRAPH_OK;
}
