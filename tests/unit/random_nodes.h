// Graphs of one random node, as text. Shapes are small and awkward: ones, odd channel
// counts, broadcasts, uneven pads.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_RANDOM_NODES_H
#define EG_TESTS_RANDOM_NODES_H

#include "base/hash.h"
#include "base/text.h"
#include "tests/testing.h"

typedef struct random_node {
  eg_rng rng;
  eg_text text;
} random_node;

static inline int64_t draw_below(random_node *r, uint64_t bound) {
  return (int64_t)eg_rng_below(&r->rng, bound);
}
static inline int64_t draw_of(random_node *r, const int64_t *values, uint64_t count) {
  return values[eg_rng_below(&r->rng, count)];
}

#define PUT(...) assert_ok(eg_text_printf(&r->text, __VA_ARGS__))

static inline void put_list(random_node *r, const char *name, const int64_t *values,
                            uint32_t count) {
  PUT(" :%s [", name);
  for (uint32_t i = 0; i < count; i++)
    PUT("%s%d", i == 0 ? "" : " ", (int)values[i]);
  PUT("]");
}

/// (input a "float32[..]"), or a weight one time in three.
static inline void put_leaf(random_node *r, const char *name, const int64_t *dims,
                            uint32_t rank) {
  PUT("(%s %s \"float32[", draw_below(r, 3) == 0 ? "weight" : "input", name);
  for (uint32_t i = 0; i < rank; i++)
    PUT("%s%d", i == 0 ? "" : ",", (int)dims[i]);
  PUT("]\")");
}

static inline uint32_t draw_dims(random_node *r, int64_t *dims, uint32_t least) {
  static const int64_t sizes[] = {1, 1, 2, 3, 5, 8, 17, 32};
  uint32_t rank = least + (uint32_t)draw_below(r, 5 - least);
  for (uint32_t i = 0; i < rank; i++)
    dims[i] = draw_of(r, sizes, 8);
  return rank;
}

// Drops leading dimensions and turns others into ones.
static inline void put_broadcast(random_node *r, const char *name, const int64_t *dims,
                                 uint32_t rank) {
  int64_t own[8];
  uint32_t skip = (uint32_t)draw_below(r, rank + 1u);
  for (uint32_t i = skip; i < rank; i++)
    own[i - skip] = draw_below(r, 3) == 0 ? 1 : dims[i];
  put_leaf(r, name, own, rank - skip);
}

static inline void random_binary(random_node *r) {
  static const char *const ops[] = {"add", "sub", "mul", "max", "min"};
  int64_t dims[8];
  uint32_t rank = draw_dims(r, dims, 0);
  bool full = draw_below(r, 2) == 0;
  const char *full_name = draw_below(r, 2) == 0 ? "a" : "b";
  for (int i = 0; i < 2; i++) {
    const char *name = i == 0 ? "a" : "b";
    if (full && strcmp(name, full_name) == 0)
      put_leaf(r, name, dims, rank);
    else
      put_broadcast(r, name, dims, rank);
  }
  PUT("(let y (%s a b))(output y)", ops[draw_below(r, 5)]);
}

/// Letters of a term of an einsum, shuffled; some fall out, one may come twice.
static inline uint32_t draw_term(random_node *r, uint32_t letters, bool may_repeat,
                                 char *out) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < letters; i++) {
    if (draw_below(r, 3) == 0) continue;
    uint32_t at = (uint32_t)draw_below(r, count + 1u);
    memmove(out + at + 1, out + at, count++ - at);
    out[at] = (char)('a' + i);
  }
  if (count == 0) out[count++] = 'a';
  if (may_repeat && draw_below(r, 6) == 0) {
    out[count] = out[0];
    count++;
  }
  out[count] = '\0';
  return count;
}

/// One to three operands; the result has letters of theirs only.
static inline void random_einsum(random_node *r) {
  enum { LETTERS = 5 };
  static const int64_t sizes[] = {1, 2, 3, 4, 7};
  static const char *const names[] = {"p", "q", "r"};
  int64_t of[LETTERS], dims[LETTERS + 1];
  char terms[3][LETTERS + 2], wanted[LETTERS + 2], result[LETTERS + 2];
  uint32_t operands = draw_below(r, 3) != 0 ? 2 : 1 + (uint32_t)draw_below(r, 3);
  uint32_t kept = 0;
  for (int i = 0; i < LETTERS; i++)
    of[i] = draw_of(r, sizes, 5);
  for (uint32_t i = 0; i < operands; i++) {
    uint32_t rank = draw_term(r, LETTERS, true, terms[i]);
    for (uint32_t d = 0; d < rank; d++)
      dims[d] = of[terms[i][d] - 'a'];
    put_leaf(r, names[i], dims, rank);
  }
  uint32_t count = draw_term(r, LETTERS, false, wanted);
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t k = 0, met = 0; k < operands && met == 0; k++)
      if (strchr(terms[k], wanted[i]) != NULL) {
        met = 1;
        result[kept++] = wanted[i];
      }
  result[kept] = '\0';
  PUT("(let y (einsum :equation \"%s", terms[0]);
  for (uint32_t i = 1; i < operands; i++)
    PUT(",%s", terms[i]);
  PUT("->%s\"", result);
  for (uint32_t i = 0; i < operands; i++)
    PUT(" %s", names[i]);
  PUT("))(output y)");
}

static inline void random_matmul(random_node *r) {
  static const char *const acts[] = {"none", "relu", "tanh", "silu"};
  int64_t batch[4], a[6], b[6], y[6], m = 1 + draw_below(r, 9), k = 1 + draw_below(r, 40),
                                      n = 1 + draw_below(r, 40);
  uint32_t rank = (uint32_t)draw_below(r, 3), skip = (uint32_t)draw_below(r, rank + 1u);
  bool ta = draw_below(r, 2), tb = draw_below(r, 2);
  for (uint32_t i = 0; i < rank; i++) {
    batch[i] = y[i] = 1 + draw_below(r, 3);
    a[i] = draw_below(r, 4) == 0 ? 1 : batch[i];
    if (i >= skip) b[i - skip] = a[i] != 1 && draw_below(r, 4) == 0 ? 1 : batch[i];
    if (i < skip) y[i] = a[i];
  }
  a[rank] = ta ? k : m;
  a[rank + 1] = ta ? m : k;
  b[rank - skip] = tb ? n : k;
  b[rank - skip + 1] = tb ? k : n;
  y[rank] = m;
  y[rank + 1] = n;
  put_leaf(r, "a", a, rank + 2);
  put_leaf(r, "b", b, rank - skip + 2);
  int operands = (int)draw_below(r, 3);
  if (operands > 0) put_broadcast(r, "c", y, rank + 2);
  if (operands > 1) put_leaf(r, "z", y, rank + 2);
  PUT("(let y (matmul :transA %d :transB %d :act %s a b%s%s))(output y)", ta, tb,
      acts[draw_below(r, 4)], operands > 0 ? " c" : "", operands > 1 ? " z" : "");
}

static inline void random_conv(random_node *r) {
  static const int64_t channels[] = {3, 8, 16, 20, 32, 48};
  static const char *const acts[] = {"none", "relu", "hard-swish",
                                     "leaky-relu :act_alpha 0.1"};
  static const char *const algorithms[] = {"direct", "winograd", "winograd-4x4"};
  int64_t group = draw_below(r, 3) == 0 ? 4 : 1;
  int64_t in = draw_of(r, channels, 6), out = draw_of(r, channels, 6);
  if (group != 1) {
    in = 16 * (1 + draw_below(r, 4));
    group = draw_below(r, 2) ? in : group;
    out = draw_below(r, 2) ? in : 2 * in;
  }
  int64_t size[2], kernel[2], strides[2], dilations[2], pads[4], y[4] = {1, out};
  for (int i = 0; i < 2; i++) {
    kernel[i] = 1 + draw_below(r, 3);
    dilations[i] = 1 + (draw_below(r, 4) == 0);
    strides[i] = 1 + (draw_below(r, 3) == 0);
    size[i] = 5 + draw_below(r, 8);
    pads[i] = draw_below(r, kernel[i] < 2 ? 1 : 2);
    pads[i + 2] = draw_below(r, kernel[i] < 2 ? 1 : 2);
    int64_t extent = (kernel[i] - 1) * dilations[i] + 1;
    y[i + 2] = (size[i] + pads[i] + pads[i + 2] - extent) / strides[i] + 1;
  }
  put_leaf(r, "x", (int64_t[]){1, in, size[0], size[1]}, 4);
  put_leaf(r, "w", (int64_t[]){out, in / group, kernel[0], kernel[1]}, 4);
  int operands = (int)draw_below(r, 3);
  if (operands > 0) put_leaf(r, "b", &out, 1);
  if (operands > 1) put_leaf(r, "z", y, 4);
  PUT("(let y (conv :group %d :act %s", (int)group, acts[draw_below(r, 4)]);
  put_list(r, "strides", strides, 2);
  put_list(r, "pads", pads, 4);
  put_list(r, "dilations", dilations, 2);
  PUT(" :algorithm %s", algorithms[draw_below(r, 3)]);
  PUT(" x w%s%s))(output y)", operands > 0 ? " b" : "", operands > 1 ? " z" : "");
}

static inline void random_pool(random_node *r) {
  static const int64_t channels[] = {3, 8, 16, 20, 32};
  int64_t dims[4] = {1 + draw_below(r, 2), draw_of(r, channels, 5)};
  int64_t kernel[2], strides[2], pads[4], dilations[2] = {1, 1};
  for (int i = 0; i < 2; i++) {
    dims[i + 2] = 5 + draw_below(r, 8);
    kernel[i] = 2 + draw_below(r, 2);
    strides[i] = 1 + draw_below(r, 2);
    pads[i] = draw_below(r, 2);
    pads[i + 2] = draw_below(r, 2);
  }
  bool is_max = draw_below(r, 2);
  put_leaf(r, "x", dims, 4);
  PUT("(let y (%s :ceil_mode %d", is_max ? "max-pool" : "average-pool",
      (int)draw_below(r, 2));
  put_list(r, "kernel_shape", kernel, 2);
  put_list(r, "strides", strides, 2);
  put_list(r, "pads", pads, 4);
  if (is_max)
    put_list(r, "dilations", dilations, 2);
  else
    PUT(" :count_include_pad %d", (int)draw_below(r, 2));
  PUT(" x))(output y)");
}

static inline void random_reduction(random_node *r) {
  static const char *const ops[] = {"sum", "mean", "max", "min", "prod"};
  int64_t dims[8], axes[8];
  uint32_t rank = draw_dims(r, dims, 1), count = 0;
  for (uint32_t i = 0; i < rank; i++)
    if (draw_below(r, 2)) axes[count++] = i;
  put_leaf(r, "x", dims, rank);
  PUT("(let y (reduce-%s :keepdims %d", ops[draw_below(r, 5)], (int)draw_below(r, 2));
  put_list(r, "axes", axes, count);
  PUT(" x))(output y)");
}

static inline void random_transpose(random_node *r) {
  int64_t dims[8], perm[8];
  uint32_t rank = draw_dims(r, dims, 1);
  for (uint32_t i = 0; i < rank; i++)
    perm[i] = i;
  for (uint32_t i = rank; i-- > 1;) {
    int64_t j = draw_below(r, i + 1u), keep = perm[i];
    perm[i] = perm[j];
    perm[j] = keep;
  }
  put_leaf(r, "x", dims, rank);
  PUT("(let y (transpose");
  put_list(r, "perm", perm, rank);
  PUT(" x))(output y)");
}

static inline void random_slice(random_node *r) {
  int64_t dims[8], starts[8], ends[8], steps[8];
  uint32_t rank = draw_dims(r, dims, 1);
  for (uint32_t i = 0; i < rank; i++) {
    bool whole = draw_below(r, 2);
    steps[i] = whole ? 1 : 1 + draw_below(r, 2);
    starts[i] = whole ? 0 : draw_below(r, (uint64_t)dims[i]);
    ends[i] =
        whole ? dims[i] : starts[i] + 1 + draw_below(r, (uint64_t)(dims[i] - starts[i]));
  }
  put_leaf(r, "x", dims, rank);
  PUT("(let y (slice");
  put_list(r, "starts", starts, rank);
  put_list(r, "ends", ends, rank);
  put_list(r, "steps", steps, rank);
  PUT(" x))(let z (neg y))(output y)(output z)");
}

static inline void random_concat_split(random_node *r) {
  int64_t dims[8], sizes[3];
  uint32_t rank = draw_dims(r, dims, 1), axis = (uint32_t)draw_below(r, rank);
  for (int i = 0; i < 3; i++) {
    static const int64_t parts[] = {1, 3, 16, 32};
    dims[axis] = sizes[i] = draw_of(r, parts, 4);
    put_leaf(r, i == 0 ? "a" : i == 1 ? "b" : "c", dims, rank);
  }
  PUT("(let n (neg a))(let y (concat :axis %d n b c))(let [p q s] (split :axis %d",
      (int)axis, (int)axis);
  put_list(r, "sizes", (int64_t[]){sizes[2], sizes[0], sizes[1]}, 3);
  PUT(" y))(let t (relu q))(output p)(output t)(output s)");
}

/// Few steps: errors of states grow with them. Results are read, or not.
static inline void random_recurrent(random_node *r) {
  static const char *const ops[] = {"rnn", "gru", "lstm"};
  static const char *const directions[] = {"forward", "reverse", "bidirectional"};
  static const int64_t sizes[] = {1, 3, 8, 13, 16, 24, 40, 64};
  uint32_t op = (uint32_t)draw_below(r, 3), direction = (uint32_t)draw_below(r, 3);
  int64_t gates = op == 0 ? 1 : op + 2, ways = direction == 2 ? 2 : 1;
  int64_t inputs = draw_of(r, sizes, 8), hidden = draw_of(r, sizes, 8);
  if (draw_below(r, 8) == 0) hidden = 256; // enough for several threads
  int64_t steps = 1 + draw_below(r, 7), batch = 1 + draw_below(r, 5);
  bool is_batch_first = draw_below(r, 2);
  int operands = (int)draw_below(r, op == 2 ? 4 : 3);
  int64_t x[] = {steps, batch, inputs}, state[] = {ways, batch, hidden};
  if (is_batch_first) {
    x[0] = state[0] = batch;
    x[1] = steps;
    state[1] = ways;
  }
  put_leaf(r, "x", x, 3);
  PUT("(weight w \"float32[%d,%d,%d]\")", (int)ways, (int)(gates * hidden), (int)inputs);
  PUT("(weight r \"float32[%d,%d,%d]\")", (int)ways, (int)(gates * hidden), (int)hidden);
  if (operands > 0)
    PUT("(weight b \"float32[%d,%d]\")", (int)ways, (int)(2 * gates * hidden));
  if (operands > 1) put_leaf(r, "h", state, 3);
  if (operands > 2) put_leaf(r, "c", state, 3);
  PUT("(let [y p%s] (%s :direction %s :layout %d", op == 2 ? " q" : "", ops[op],
      directions[direction], is_batch_first);
  if (op == 1) PUT(" :linear_before_reset %d", (int)draw_below(r, 2));
  if (op == 2) PUT(" :input_forget %d", draw_below(r, 4) == 0);
  PUT(" x w r%s%s%s))", operands > 0 ? " b" : "", operands > 1 ? " h" : "",
      operands > 2 ? " c" : "");
  uint32_t read = 1 + (uint32_t)draw_below(r, 7);
  if ((read & 1) != 0 || op != 2) PUT("(output y)");
  if ((read & 2) != 0) PUT("(output p)");
  if ((read & 4) != 0 && op == 2) PUT("(output q)");
}

// Over one element log-softmax is 0, which has no scale that an error could be compared
// with.
static inline void random_softmax(random_node *r) {
  int64_t dims[8];
  uint32_t rank = draw_dims(r, dims, 1), axis = (uint32_t)draw_below(r, rank);
  dims[axis]++;
  put_leaf(r, "x", dims, rank);
  PUT("(let y (%s :axis %d x))(output y)", draw_below(r, 2) ? "softmax" : "log-softmax",
      (int)axis);
}

static inline void random_resize(random_node *r) {
  static const char *const modes[] = {"nearest", "linear", "cubic"};
  static const char *const coordinates[] = {"half-pixel", "asymmetric", "align-corners",
                                            "pytorch-half-pixel", "half-pixel-symmetric"};
  static const int64_t sizes[] = {1, 2, 3, 7, 16, 33};
  int64_t dims[8], shape[8];
  uint32_t rank = draw_dims(r, dims, 1);
  for (uint32_t i = 0; i < rank; i++)
    shape[i] = draw_below(r, 2) ? dims[i] : draw_of(r, sizes, 6);
  put_leaf(r, "x", dims, rank);
  uint32_t mode = (uint32_t)draw_below(r, 3);
  PUT("(let y (resize :mode %s :coordinates %s", modes[mode],
      coordinates[draw_below(r, 5)]);
  if (mode > 0) PUT(" :antialias %d", (int)draw_below(r, 2));
  if (mode > 1) PUT(" :exclude_outside %d", (int)draw_below(r, 2));
  put_list(r, "shape", shape, rank);
  PUT(" x))(output y)");
}

static inline void random_norm(random_node *r) {
  int64_t dims[8];
  uint32_t rank = draw_dims(r, dims, 1), axis = (uint32_t)draw_below(r, rank);
  put_leaf(r, "x", dims, rank);
  put_leaf(r, "s", dims + axis, rank - axis);
  put_leaf(r, "b", dims + axis, rank - axis);
  PUT("(let y (layer-normalization :axis %d x s b))(output y)", (int)axis);
}

#undef PUT

#endif
