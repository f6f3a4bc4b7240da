// Perceptrons and recommenders: dense layers, and tables of embeddings.
// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/zoo/builders.h"

// ---- MLP, CANDLE-Uno ---------------------------------------------------------------

static zoo_tensor dense_stack(zoo_net *net, zoo_tensor x, int layers, int64_t units) {
  for (int i = 0; i < layers; i++)
    x = zoo_dense(net, x, units, false, "relu");
  return x;
}

/// Builds two towers of eight layers and adds them up.
void zoo_build_mlp(zoo_net *net, int64_t batch, const zoo_size *size) {
  zoo_tensor sides[2];
  for (int i = 0; i < 2; i++) {
    zoo_tensor x = zoo_input(net, i == 0 ? "left" : "right", EGRAPH_FLOAT32,
                             (zoo_shape){2, {batch, 1024}});
    x = dense_stack(net, x, (int)size->layers - 1, size->width);
    sides[i] = zoo_dense(net, x, size->width, false, NULL);
  }
  zoo_output(net, zoo_binary(net, "add", sides[0], sides[1]));
}

/// Builds towers for five inputs and concatenates their results with two doses.
void zoo_build_candle_uno(zoo_net *net, int64_t batch, const zoo_size *size) {
  static const struct {
    const char *name;
    int64_t features;
    bool has_tower;
  } inputs[] = {{"dose1", 1, false},
                {"dose2", 1, false},
                {"rna", 942, true},
                {"descriptors1", 5270, true},
                {"fingerprints1", 2048, true},
                {"descriptors2", 5270, true},
                {"fingerprints2", 2048, true}};
  enum { INPUTS = sizeof inputs / sizeof *inputs, TOP_LAYERS = 4 };
  zoo_tensor parts[INPUTS];
  for (int i = 0; i < INPUTS; i++) {
    zoo_shape shape = {2, {batch, inputs[i].features}};
    parts[i] = zoo_input(net, inputs[i].name, EGRAPH_FLOAT32, shape);
    if (inputs[i].has_tower)
      parts[i] = dense_stack(net, parts[i], (int)size->layers, size->width);
  }
  zoo_tensor x = zoo_concat(net, parts, INPUTS, 1);
  x = dense_stack(net, x, TOP_LAYERS, size->width);
  zoo_output(net, zoo_dense(net, x, 1, false, NULL));
}

// ---- DLRM, XDL ---------------------------------------------------------------------

enum { TABLES = 4, TABLE_ROWS = 1000000 };

static void embed_all(zoo_net *net, int64_t batch, int64_t width,
                      zoo_tensor parts[TABLES]) {
  for (int i = 0; i < TABLES; i++) {
    char name[24];
    (void)snprintf(name, sizeof name, "indices%d", i);
    zoo_tensor indices = zoo_input(net, name, EGRAPH_INT64, (zoo_shape){1, {batch}});
    zoo_tensor table = zoo_weight(net, (zoo_shape){2, {TABLE_ROWS, width}});
    parts[i] = zoo_embed(net, table, indices);
  }
}

void zoo_build_dlrm(zoo_net *net, int64_t batch, const zoo_size *size) {
  zoo_tensor parts[TABLES + 1];
  zoo_tensor x = zoo_input(net, "dense", EGRAPH_FLOAT32, (zoo_shape){2, {batch, 4}});
  parts[0] = dense_stack(net, x, 2, size->width);
  embed_all(net, batch, size->width, parts + 1);
  x = zoo_concat(net, parts, TABLES + 1, 1);
  x = zoo_dense(net, x, size->width, false, "relu");
  zoo_output(net, zoo_dense(net, x, 2, false, "sigmoid"));
}

void zoo_build_xdl(zoo_net *net, int64_t batch, const zoo_size *size) {
  zoo_tensor parts[TABLES];
  embed_all(net, batch, size->width, parts);
  zoo_tensor x = zoo_concat(net, parts, TABLES, 1);
  x = dense_stack(net, x, 2, TABLES * size->width);
  zoo_output(net, zoo_dense(net, x, 2, false, NULL));
}
