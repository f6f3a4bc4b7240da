// Plans a GPT of four layers, 268 million weights, for eight nodes of eight H100, and
// prints how a training step is split and which bytes are exchanged.
//
//   08_plan_gpt [MACHINE]      a shipped machine or a file: "my.machine*4"
// SPDX-License-Identifier: Apache-2.0
#include "egraph.h"

#include <stdio.h>
#include <string.h>

enum { LAYERS = 4, BATCH = 64, TOKENS = 1024, WIDTH = 2048, HEADS = 16, CLASSES = 32768 };

// A graph under construction. The first failure stays; later calls do nothing.
typedef struct builder {
  egraph_graph *graph;
  egraph_status status;
  int made; // number of weights, for their names
} builder;

static egraph_value weight(builder *b, uint32_t rank, int64_t rows, int64_t columns) {
  egraph_value w = {0};
  char name[16];
  (void)snprintf(name, sizeof name, "w%d", b->made++);
  if (b->status == EGRAPH_OK)
    b->status = egraph_graph_add_weight(b->graph, name, EGRAPH_FLOAT32, rank,
                                        (int64_t[]){rows, columns}, NULL, &w);
  return w;
}

static egraph_value add(builder *b, const char *op, const char *attributes,
                        uint32_t count, const egraph_value *operands) {
  egraph_value value = {0};
  if (b->status == EGRAPH_OK)
    b->status = egraph_graph_add(b->graph, NULL, op, attributes, operands, count, &value);
  return value;
}

static egraph_value product(builder *b, egraph_value x, int64_t rows, int64_t columns) {
  egraph_value w = weight(b, 2, rows, columns);
  return add(b, "matmul", NULL, 2, (egraph_value[]){x, w});
}

static egraph_value normalize(builder *b, egraph_value x) {
  egraph_value scale = weight(b, 1, WIDTH, 0), bias = weight(b, 1, WIDTH, 0);
  return add(b, "layer-normalization", NULL, 3, (egraph_value[]){x, scale, bias});
}

// Reshapes [batch, tokens, width] to [batch, heads, tokens, width / heads].
static egraph_value heads(builder *b, egraph_value x) {
  char shape[64];
  (void)snprintf(shape, sizeof shape, ":shape [%d %d %d %d]", BATCH, TOKENS, HEADS,
                 WIDTH / HEADS);
  egraph_value projected = product(b, x, WIDTH, WIDTH);
  egraph_value split = add(b, "reshape", shape, 1, &projected);
  return add(b, "transpose", ":perm [0 2 1 3]", 1, &split);
}

static egraph_value attend(builder *b, egraph_value x, egraph_value mask) {
  char shape[64];
  (void)snprintf(shape, sizeof shape, ":shape [%d %d %d]", BATCH, TOKENS, WIDTH);
  egraph_value n = normalize(b, x);
  egraph_value q = heads(b, n), k = heads(b, n), v = heads(b, n);
  egraph_value s = add(b, "matmul", ":transB 1", 2, (egraph_value[]){q, k});
  egraph_value masked = add(b, "add", NULL, 2, (egraph_value[]){s, mask});
  egraph_value p = add(b, "softmax", NULL, 1, &masked);
  egraph_value a = add(b, "matmul", NULL, 2, (egraph_value[]){p, v});
  egraph_value t = add(b, "transpose", ":perm [0 2 1 3]", 1, &a);
  egraph_value joined = add(b, "reshape", shape, 1, &t);
  egraph_value out = product(b, joined, WIDTH, WIDTH);
  return add(b, "add", NULL, 2, (egraph_value[]){x, out});
}

static egraph_value perceive(builder *b, egraph_value x) {
  egraph_value wide = product(b, normalize(b, x), WIDTH, 4 * WIDTH);
  egraph_value bent = add(b, "gelu", NULL, 1, &wide);
  egraph_value out = product(b, bent, 4 * WIDTH, WIDTH);
  return add(b, "add", NULL, 2, (egraph_value[]){x, out});
}

// Builds the network from embedded tokens [batch, tokens, width] and the causal mask to
// classes of tokens.
static egraph_status build(builder *b) {
  egraph_value x = {0}, mask = {0};
  b->status = egraph_graph_add_input(b->graph, "x", EGRAPH_FLOAT32, 3,
                                     (int64_t[]){BATCH, TOKENS, WIDTH}, &x);
  if (b->status == EGRAPH_OK)
    b->status = egraph_graph_add_input(b->graph, "mask", EGRAPH_FLOAT32, 2,
                                       (int64_t[]){TOKENS, TOKENS}, &mask);
  for (int i = 0; i < LAYERS; i++)
    x = perceive(b, attend(b, x, mask));
  x = product(b, normalize(b, x), WIDTH, CLASSES);
  return b->status == EGRAPH_OK ? egraph_graph_add_output(b->graph, "y", x) : b->status;
}

// The bytes of all exchanges of one phase along one axis; exchanges are reported by
// phase, then by axis.
typedef struct traffic {
  const char *phase, *axis;
  double bytes;
} traffic;

static void print_traffic(const traffic *t) {
  if (t->bytes >= 1e8) // scalars and vectors do not matter
    printf("  %-9s %4.1f GB along %s\n", t->phase, 1e-9 * t->bytes, t->axis);
}

static void add_exchange(void *user, const egraph_plan_exchange *e) {
  traffic *t = user;
  if (t->bytes > 0 && strcmp(t->phase, e->phase) == 0 && strcmp(t->axis, e->axis) == 0) {
    t->bytes += e->bytes;
  } else {
    print_traffic(t);
    *t = (traffic){e->phase, e->axis, e->bytes};
  }
}

static egraph_status plan_step(const egraph_graph *graph, const char *machine) {
  egraph_options options = egraph_options_default();
  egraph_target target = egraph_target_default();
  egraph_training training = egraph_training_default();
  egraph_search search = egraph_search_default();
  egraph_result *result = NULL;
  traffic sent = {"", "", 0};
  target.machine = machine;
  target.mesh = strcmp(machine, "dgx-h100*8") == 0 ? "node=8,gpu=8" : NULL;
  training.optimizer = "adam";
  training.precision = "bf16";
  search.relative_gap = 0.05;
  search.time_limit = 60;
  options.target = &target;
  options.training = &training;
  options.search = &search;
  egraph_status status = egraph_optimize(NULL, graph, NULL, NULL, &options, &result);
  const egraph_plan *plan = egraph_result_plan(result);
  if (plan != NULL) {
    egraph_plan_info info = egraph_plan_info_of(plan);
    printf("%u devices as %s: a step takes %.0f ms\n", info.devices, info.mesh,
           1e3 * info.cost);
    status = egraph_plan_account(plan, add_exchange, NULL, &sent);
    print_traffic(&sent);
  }
  egraph_result_destroy(result);
  return status;
}

int main(int argc, char **argv) {
  builder b = {.made = 0};
  egraph_status status = egraph_graph_create(NULL, &b.graph);
  if (status == EGRAPH_OK) status = build(&b);
  if (status == EGRAPH_OK) status = plan_step(b.graph, argc > 1 ? argv[1] : "dgx-h100*8");
  if (status != EGRAPH_OK) fprintf(stderr, "%s\n", egraph_last_error());
  egraph_graph_destroy(b.graph);
  return status == EGRAPH_OK ? 0 : 1;
}
