// Graphs of one fused node with a random body, as text.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_RANDOM_BODIES_H
#define EG_TESTS_RANDOM_BODIES_H

#include "tests/unit/random_nodes.h"

#define PUT(...) assert_ok(eg_text_printf(&r->text, __VA_ARGS__))

enum { BODY_OPERANDS = 3, BODY_DEPTH = 4 };

/// A body while it is drawn; `mixed`: axes of its reductions, or "": it has none.
typedef struct drawn_body {
  random_node *r;
  const char *mixed;
  uint32_t axis; // of softmax, if `mixed` is its only axis
  bool may_normalize;
  bool used[BODY_OPERANDS];
} drawn_body;

static inline void put_operand(drawn_body *b) {
  uint32_t i = (uint32_t)draw_below(b->r, BODY_OPERANDS);
  random_node *r = b->r;
  b->used[i] = true;
  PUT("%c", (char)('a' + i));
}

static inline void put_call(drawn_body *b, uint32_t depth);

static inline void put_term(drawn_body *b, uint32_t depth) {
  static const char *const numbers[] = {"0.5", "-1.25", "0.0", "2"};
  random_node *r = b->r;
  int64_t kind = draw_below(r, 8);
  if (depth == 0 ? kind < 6 : kind < 2)
    put_operand(b);
  else if (depth == 0)
    PUT("%s", numbers[draw_below(r, 4)]);
  else
    put_call(b, depth);
}

static inline void put_terms(drawn_body *b, const char *name, uint32_t count,
                             uint32_t depth) {
  random_node *r = b->r;
  PUT("(%s", name);
  for (uint32_t i = 0; i < count; i++) {
    PUT(" ");
    put_term(b, depth - 1);
  }
  PUT(")");
}

// Comparisons are of operands, because results that differ in their last bits could be
// smaller here and larger there.
static inline void put_choice(drawn_body *b, uint32_t depth) {
  random_node *r = b->r;
  PUT("(where (%s ", draw_below(r, 2) == 0 ? "greater" : "less");
  put_operand(b);
  PUT(" ");
  put_operand(b);
  for (uint32_t i = 0; i < 2; i++) {
    PUT("%s", i == 0 ? ") " : " ");
    put_term(b, depth - 1);
  }
  PUT(")");
}

static inline void put_call(drawn_body *b, uint32_t depth) {
  static const char *const one[] = {"tanh", "neg",  "abs",     "sigmoid",
                                    "relu", "gelu", "softsign"};
  static const char *const two[] = {"add", "sub", "mul", "max", "min"};
  static const char *const rows[] = {"reduce-mean", "reduce-max", "reduce-min"};
  random_node *r = b->r;
  char name[80];
  switch (draw_below(r, 6)) {
  case 0: put_terms(b, one[draw_below(r, 7)], 1, depth); return;
  case 1:
    if (b->may_normalize && draw_below(r, 3) == 0)
      (void)snprintf(name, sizeof name, "softmax :axis %u", b->axis);
    else if (b->mixed[0] != '\0')
      (void)snprintf(name, sizeof name, "%s :axes [%s] :keepdims 1",
                     rows[draw_below(r, 3)], b->mixed);
    else
      (void)snprintf(name, sizeof name, "square");
    PUT("(%s (add a (tanh ", name); // with all dimensions
    put_term(b, depth - 1);
    PUT(")))");
    return;
  case 2: put_choice(b, depth); return;
  default: put_terms(b, two[draw_below(r, 5)], 2, depth); return;
  }
}

/// Writes a graph of one fused node whose operands broadcast to one another. Operand a
/// has all dimensions.
static inline void put_body_graph(random_node *r) {
  int64_t dims[8];
  uint32_t rank = draw_dims(r, dims, 1);
  char mixed[16];
  drawn_body b = {.r = r, .mixed = "", .used = {true, true, true}};
  int64_t kind = draw_below(r, 3);
  if (kind == 1) { // the last dimension
    (void)snprintf(mixed, sizeof mixed, "%u", rank - 1);
    b = (drawn_body){r, mixed, rank - 1, true, {true, true, true}};
  } else if (kind == 2 && rank > 1) {
    (void)snprintf(mixed, sizeof mixed, "%u %u", rank - 2, rank - 1);
    b.mixed = mixed;
  }
  PUT("(egraph-graph 1)");
  put_leaf(r, "x", dims, rank);
  put_broadcast(r, "y", dims, rank);
  put_broadcast(r, "z", dims, rank);
  PUT("(let f (fused :body \"(sub (add a (mul b 0.25)) (min c ");
  put_term(&b, BODY_DEPTH);
  PUT("))\" x y z))(output f)");
}

/// Writes a graph of a fused node on images in another format than the plain one.
static inline void put_body_images(random_node *r) {
  static const char *const formats[] = {"nhwc", "nChw8c", "nChw16c"};
  static const char *const channels[] = {"16,1,1", "1,16,1,1", "1"};
  const char *format = formats[draw_below(r, 3)];
  int height = 1 + (int)draw_below(r, 6), width = 1 + (int)draw_below(r, 9);
  drawn_body b = {.r = r, .mixed = "", .used = {true, true, true}};
  PUT("(egraph-graph 1)(input x \"float32[2,16,%d,%d]\")", height, width);
  PUT("(input y \"float32[2,16,%d,%d]\")", height, width);
  PUT("(input z \"float32[%s]\")", channels[draw_below(r, 3)]);
  PUT("(let x0 (identity x) :formats [%s])(let y0 (identity y) :formats [%s])", format,
      format);
  PUT("(let f0 (fused :body \"(sub (add a (mul b 0.25)) (min c ");
  put_term(&b, BODY_DEPTH);
  PUT("))\" x0 y0 z) :formats [%s])(let f (identity f0))(output f)", format);
}

#undef PUT

#endif
