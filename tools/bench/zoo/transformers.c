// BERT, GPT, and a mixture of experts after GShard.
// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/zoo/builders.h"

#include <math.h>

/// Parameters that all blocks of a network share.
typedef struct transformer {
  zoo_net *net;
  int64_t batch, tokens, width, heads, inner; // inner: width of the two dense layers
  zoo_tensor words;                           // embeddings, of first and last layer
  zoo_tensor mask;                            // added to scores
  bool is_causal;                             // there is a mask
} transformer;

/// Splits [batch, tokens, width] into [batch, heads, tokens, part].
static zoo_tensor split_heads(const transformer *t, zoo_tensor x) {
  zoo_tensor wide = zoo_dense(t->net, x, t->width, true, NULL);
  zoo_shape shape = {4, {t->batch, t->tokens, t->heads, t->width / t->heads}};
  return zoo_transpose(t->net, zoo_reshape(t->net, wide, shape), "0213");
}

/// Adds a tensor of one element.
static zoo_tensor number(zoo_net *net, double value) {
  float data = (float)value;
  return zoo_constant(net, (zoo_shape){1, {1}}, &data);
}

static zoo_tensor attention(const transformer *t, zoo_tensor x) {
  zoo_net *net = t->net;
  zoo_tensor q = split_heads(t, x), k = split_heads(t, x), v = split_heads(t, x);
  q = zoo_binary(net, "mul", q,
                 number(net, 1 / sqrt((double)t->width / (double)t->heads)));
  zoo_tensor scores = zoo_matmul(net, q, k, true);
  if (t->is_causal) scores = zoo_binary(net, "add", scores, t->mask);
  zoo_tensor y = zoo_matmul(net, zoo_unary(net, "softmax", scores), v, false);
  y = zoo_transpose(net, y, "0213");
  y = zoo_reshape(net, y, (zoo_shape){3, {t->batch, t->tokens, t->width}});
  return zoo_dense(net, y, t->width, true, NULL);
}

static zoo_tensor feed_forward(const transformer *t, zoo_tensor x) {
  zoo_tensor y = zoo_dense(t->net, x, t->inner, true, "gelu");
  return zoo_dense(t->net, y, t->width, true, NULL);
}

static transformer start_transformer(zoo_net *net, int64_t batch, const zoo_size *size,
                                     int64_t inner) {
  return (transformer){
      .net = net,
      .batch = batch,
      .tokens = size->tokens,
      .width = size->width,
      .heads = size->heads,
      .inner = inner,
      .words = zoo_weight(net, (zoo_shape){2, {size->vocabulary, size->width}})};
}

static zoo_tensor embed(const transformer *t) {
  zoo_net *net = t->net;
  zoo_tensor ids =
      zoo_input(net, "tokens", EGRAPH_INT64, (zoo_shape){2, {t->batch, t->tokens}});
  zoo_tensor places = zoo_weight(net, (zoo_shape){2, {t->tokens, t->width}});
  return zoo_binary(net, "add", zoo_embed(net, t->words, ids), places);
}

// ---- BERT ------------------------------------------------------------------------

/// Builds blocks with a normalization after each sum, and a classifier of masked words
/// over all tokens.
void zoo_build_bert_large(zoo_net *net, int64_t batch, const zoo_size *size) {
  const transformer t = start_transformer(net, batch, size, 4 * size->width);
  zoo_tensor x = zoo_norm(net, embed(&t));
  for (int64_t i = 0; i < size->layers; i++) {
    x = zoo_norm(net, zoo_binary(net, "add", attention(&t, x), x));
    x = zoo_norm(net, zoo_binary(net, "add", feed_forward(&t, x), x));
  }
  x = zoo_norm(net, zoo_dense(net, x, t.width, true, "gelu"));
  x = zoo_matmul(net, x, t.words, true);
  zoo_output(net, zoo_binary(net, "add", x,
                             zoo_weight(net, (zoo_shape){1, {size->vocabulary}})));
}

// ---- GPT -------------------------------------------------------------------------

static transformer start_causal(zoo_net *net, int64_t batch, const zoo_size *size,
                                int64_t inner) {
  transformer t = start_transformer(net, batch, size, inner);
  t.mask = zoo_frozen(net, "mask", (zoo_shape){2, {size->tokens, size->tokens}});
  t.is_causal = true;
  return t;
}

static void predict_words(const transformer *t, zoo_tensor x) {
  zoo_output(t->net, zoo_matmul(t->net, zoo_norm(t->net, x), t->words, true));
}

/// Builds blocks with a normalization before each layer.
void zoo_build_gpt(zoo_net *net, int64_t batch, const zoo_size *size) {
  const transformer t = start_causal(net, batch, size, 4 * size->width);
  zoo_tensor x = embed(&t);
  for (int64_t i = 0; i < size->layers; i++) {
    x = zoo_binary(net, "add", x, attention(&t, zoo_norm(net, x)));
    x = zoo_binary(net, "add", x, feed_forward(&t, zoo_norm(net, x)));
  }
  predict_words(&t, x);
}

// ---- a mixture of experts ----------------------------------------------------------

/// The router of a mixture of experts: tokens in groups; each token goes to two experts,
/// as far as their capacity allows.
typedef struct router {
  int64_t groups, tokens, experts, capacity; // tokens, capacity: of one group
  zoo_tensor off_on;                         // {0, 1}
} router;

enum { GROUP_TOKENS = 2048 };

/// Returns, one-hot over the experts, the expert with the largest gate: [groups,
/// tokens, experts].
static zoo_tensor choose_expert(zoo_net *net, const router *r, zoo_tensor gates) {
  zoo_tensor best = zoo_op(net, "arg-max", ":axis 2 :keepdims 0", &gates, 1,
                           (zoo_shape){2, {r->groups, r->tokens}});
  char attributes[48];
  (void)snprintf(attributes, sizeof attributes, ":depth %lld", (long long)r->experts);
  return zoo_op(net, "one-hot", attributes, (zoo_tensor[]){best, r->off_on}, 2,
                (zoo_shape){3, {r->groups, r->tokens, r->experts}});
}

static zoo_tensor sum_over(zoo_net *net, zoo_tensor x, const char *attributes,
                           zoo_shape shape) {
  return zoo_op(net, "reduce-sum", attributes, &x, 1, shape);
}

/// Returns the position of each token among the tokens of its expert, which is the
/// number of earlier tokens (with the tokens of `before`), one-hot over the capacity of
/// the expert; all zeros beyond the capacity.
static zoo_tensor place_tokens(zoo_net *net, const router *r, zoo_tensor mask,
                               const zoo_tensor *before) {
  zoo_shape whole = {3, {r->groups, r->tokens, r->experts}};
  zoo_tensor place = zoo_op(net, "cum-sum", ":axis 1 :exclusive 1", &mask, 1, whole);
  if (before != NULL) {
    zoo_tensor all = sum_over(net, *before, ":axes [1] :keepdims 1",
                              (zoo_shape){3, {r->groups, 1, r->experts}});
    place = zoo_binary(net, "add", place, all);
  }
  place = sum_over(net, zoo_binary(net, "mul", place, mask), ":axes [2] :keepdims 0",
                   (zoo_shape){2, {r->groups, r->tokens}});
  place =
      zoo_op(net, "cast", ":to int64", &place, 1, (zoo_shape){2, {r->groups, r->tokens}});
  char attributes[48];
  (void)snprintf(attributes, sizeof attributes, ":depth %lld", (long long)r->capacity);
  return zoo_op(net, "one-hot", attributes, (zoo_tensor[]){place, r->off_on}, 2,
                (zoo_shape){3, {r->groups, r->tokens, r->capacity}});
}

/// Returns the gate (weight) of the expert chosen for each token, at the position of the
/// token: [groups, tokens, experts, capacity].
static zoo_tensor combine_weights(zoo_net *net, const router *r, zoo_tensor gates,
                                  zoo_tensor mask, zoo_tensor place) {
  zoo_tensor gate = zoo_binary(net, "mul", gates, mask);
  return zoo_op(net, "einsum", ":equation \"gse,gsc->gsec\"", (zoo_tensor[]){gate, place},
                2, (zoo_shape){4, {r->groups, r->tokens, r->experts, r->capacity}});
}

static zoo_tensor experts_of(const transformer *t, zoo_tensor x, int64_t experts) {
  zoo_net *net = t->net;
  router r = {.groups = t->batch * t->tokens / GROUP_TOKENS,
              .tokens = GROUP_TOKENS,
              .experts = experts,
              .capacity = 2 * GROUP_TOKENS / experts,
              .off_on = zoo_constant(net, (zoo_shape){1, {2}}, (const float[]){0, 1})};
  zoo_shape shape = {3, {r.groups, r.tokens, t->width}};
  x = zoo_reshape(net, x, shape);
  zoo_tensor gates = zoo_unary(net, "softmax", zoo_dense(net, x, experts, false, NULL));
  zoo_tensor first = choose_expert(net, &r, gates);
  zoo_tensor rest = zoo_binary(net, "sub", gates, zoo_binary(net, "mul", gates, first));
  zoo_tensor second = choose_expert(net, &r, rest);
  zoo_tensor combine = zoo_binary(
      net, "add",
      combine_weights(net, &r, gates, first, place_tokens(net, &r, first, NULL)),
      combine_weights(net, &r, gates, second, place_tokens(net, &r, second, &first)));
  // A gate is positive when its token goes to that expert.
  zoo_tensor dispatch = zoo_unary(net, "sign", combine);
  zoo_tensor inner = zoo_weight(net, (zoo_shape){3, {experts, t->width, t->inner}});
  zoo_tensor outer = zoo_weight(net, (zoo_shape){3, {experts, t->inner, t->width}});
  zoo_shape sent = {4, {experts, r.groups, r.capacity, t->width}};
  zoo_tensor y = zoo_op(net, "einsum", ":equation \"gsec,gsm->egcm\"",
                        (zoo_tensor[]){dispatch, x}, 2, sent);
  sent.dims[3] = t->inner;
  y = zoo_op(net, "einsum", ":equation \"egcm,emh->egch\"", (zoo_tensor[]){y, inner}, 2,
             sent);
  y = zoo_unary(net, "gelu", y);
  sent.dims[3] = t->width;
  y = zoo_op(net, "einsum", ":equation \"egch,ehm->egcm\"", (zoo_tensor[]){y, outer}, 2,
             sent);
  y = zoo_op(net, "einsum", ":equation \"gsec,egcm->gsm\"", (zoo_tensor[]){combine, y}, 2,
             shape);
  return zoo_reshape(net, y, (zoo_shape){3, {t->batch, t->tokens, t->width}});
}

/// Builds blocks of which every second one has experts in place of its dense layers.
void zoo_build_moe(zoo_net *net, int64_t batch, const zoo_size *size) {
  const transformer t = start_causal(net, batch, size, 8 * size->width);
  zoo_tensor x = embed(&t);
  for (int64_t i = 0; i < size->layers; i++) {
    x = zoo_binary(net, "add", x, attention(&t, zoo_norm(net, x)));
    zoo_tensor y = zoo_norm(net, x);
    y = i % 2 == 0 ? feed_forward(&t, y) : experts_of(&t, y, size->experts);
    x = zoo_binary(net, "add", x, y);
  }
  predict_words(&t, x);
}
