// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/zoo/zoo.h"

#include <string.h>

#include "tools/bench/zoo/builders.h"

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof *(array)))

// ---- sizes -----------------------------------------------------------------------

static const zoo_size ONE_SIZE[] = {{.name = ""}};
static const zoo_size BERT_LARGE[] = {{.name = "",
                                       .layers = 24,
                                       .width = 1024,
                                       .heads = 16,
                                       .tokens = 512,
                                       .vocabulary = 30522}};
static const zoo_size CANDLE_UNO[] = {{.name = "", .layers = 8, .width = 4192}};
static const zoo_size MLP[] = {{.name = "", .layers = 8, .width = 8192}};
static const zoo_size TABLES[] = {{.name = "", .width = 64}};

#define GPT_SIZE(text, gpus, wide, deep, parts)                                          \
  {                                                                                      \
    .name = text, .devices = gpus, .layers = deep, .width = wide, .heads = parts,        \
    .tokens = 1024, .vocabulary = 51200                                                  \
  }
static const zoo_size GPT[] = {
    GPT_SIZE("350M", 1, 1024, 24, 16),  GPT_SIZE("760M", 2, 1536, 24, 16),
    GPT_SIZE("1.3B", 4, 2048, 24, 32),  GPT_SIZE("2.6B", 8, 2560, 32, 32),
    GPT_SIZE("6.7B", 16, 4096, 32, 32), GPT_SIZE("15B", 32, 5120, 48, 40),
    GPT_SIZE("39B", 64, 8192, 48, 64)};

#define MOE_SIZE(text, gpus, wide, deep, most)                                           \
  {                                                                                      \
    .name = text, .devices = gpus, .layers = deep, .width = wide, .heads = 16,           \
    .tokens = 1024, .vocabulary = 32000, .experts = most                                 \
  }
static const zoo_size MOE[] = {
    MOE_SIZE("380M", 1, 768, 8, 8),    MOE_SIZE("690M", 2, 768, 8, 16),
    MOE_SIZE("1.3B", 4, 768, 16, 16),  MOE_SIZE("2.4B", 8, 1024, 16, 16),
    MOE_SIZE("10B", 16, 1536, 16, 32), MOE_SIZE("27B", 32, 2048, 16, 48),
    MOE_SIZE("70B", 64, 2048, 32, 64)};

#define RESNET_SIZE(text, gpus, deep, base, times)                                       \
  { .name = text, .devices = gpus, .layers = deep, .width = base, .factor = times }
static const zoo_size WIDE_RESNET[] = {
    RESNET_SIZE("250M", 1, 50, 160, 2),  RESNET_SIZE("500M", 2, 50, 224, 2),
    RESNET_SIZE("1B", 4, 50, 320, 2),    RESNET_SIZE("2B", 8, 50, 448, 2),
    RESNET_SIZE("4B", 16, 50, 640, 2),   RESNET_SIZE("6.8B", 32, 50, 320, 16),
    RESNET_SIZE("13B", 64, 101, 320, 16)};

// ---- models ----------------------------------------------------------------------

#define UNITY "Unity (OSDI'22), table of its evaluation (batch of a GPU)"
#define ARTIFACT UNITY "; layers and widths of its artifact"
#define ALPA "Alpa (OSDI'22), tables of its end-to-end evaluation"
// A line is a model: name, network, sizes, optimizer, then members that are not 0: loss,
// batch, source, and differences from the source.
#define MODEL(text, network, table, steps_by, ...)                                       \
  {                                                                                      \
    .name = text, .build = network, .sizes = table, .size_count = COUNT(table),          \
    .optimizer = steps_by, __VA_ARGS__                                                   \
  }
#define TENSAT(model, network)                                                           \
  MODEL("tensat-" model, network, ONE_SIZE, NULL, .batch = 1,                            \
        .source = "Tensat (MLSys'21), benchmarks",                                       \
        .note = "no biases; as bench/tensat.py")

static const zoo_model MODELS[] = {
    MODEL("bert-large", zoo_build_bert_large, BERT_LARGE, "adam", .per_device = 4,
          .source = UNITY "; Devlin et al. 2019",
          .note =
              "masked words are predicted at all tokens; no dropout, no next sentence"),
    MODEL("candle-uno", zoo_build_candle_uno, CANDLE_UNO, "sgd",
          .loss = "mean-squared-error", .per_device = 256, .source = ARTIFACT),
    MODEL("mlp", zoo_build_mlp, MLP, "sgd", .per_device = 256, .source = ARTIFACT),
    MODEL("dlrm", zoo_build_dlrm, TABLES, "sgd", .loss = "mean-squared-error",
          .per_device = 1024, .source = ARTIFACT, .note = "bags of one entry"),
    MODEL("xdl", zoo_build_xdl, TABLES, "sgd", .per_device = 1024, .source = ARTIFACT,
          .note = "bags of one entry"),
    MODEL("resnext-50", zoo_build_resnext50, ONE_SIZE, "sgd", .per_device = 64,
          .source = ARTIFACT "; Xie et al. 2017",
          .note = "with residuals, which the artifact lacks; no batch normalization"),
    MODEL("inception-v3", zoo_build_inception, ONE_SIZE, "sgd", .per_device = 64,
          .source = ARTIFACT "; Szegedy et al. 2016",
          .note = "1000 classes and 35x35, where the artifact has 10 and 36x36; relu "
                  "everywhere; no batch normalization"),
    MODEL("gpt", zoo_build_gpt, GPT, "adam", .batch = 1024, .micro_per_device = 1,
          .source = ALPA, .note = "micro-batches are ours; no dropout"),
    MODEL("moe", zoo_build_moe, MOE, "adam", .batch = 1024, .micro_per_device = 2,
          .source = ALPA "; Lepikhin et al. 2021",
          .note = "micro-batches are ours; room for two experts a token, groups of 2048; "
                  "no loss of balance, no dropout"),
    MODEL("wide-resnet", zoo_build_wide_resnet, WIDE_RESNET, "adam", .batch = 1536,
          .micro_batches = 24, .source = ALPA,
          .note =
              "micro-batches and optimizer are ours; no operator makes the statistics "
              "of a batch: they are given"),
    TENSAT("bert", zoo_build_tensat_bert),
    TENSAT("nasrnn", zoo_build_tensat_nasrnn),
    TENSAT("resnext50", zoo_build_tensat_resnext50),
    TENSAT("resnet50", zoo_build_tensat_resnet50),
    TENSAT("nasnet", zoo_build_tensat_nasnet),
    TENSAT("inception", zoo_build_tensat_inception),
    TENSAT("squeezenet", zoo_build_tensat_squeezenet),
    TENSAT("vgg19", zoo_build_tensat_vgg19)};

const zoo_model *zoo_model_at(uint32_t index) {
  return index < COUNT(MODELS) ? &MODELS[index] : NULL;
}

const zoo_model *zoo_find(const char *name) {
  for (uint32_t i = 0; i < COUNT(MODELS); i++)
    if (strcmp(MODELS[i].name, name) == 0) return &MODELS[i];
  return NULL;
}

// ---- cases -----------------------------------------------------------------------

zoo_case zoo_choose(const zoo_model *model, uint32_t devices, bool is_strong) {
  uint32_t scale = is_strong ? ZOO_STRONG_DEVICES : devices, at = 0;
  // Take the largest model size that was published for at most `scale` devices, or the
  // smallest size.
  while (at + 1 < model->size_count && model->sizes[at + 1].devices <= scale)
    at++;
  zoo_case out = {.model = model, .size = &model->sizes[at], .micro_batches = 1};
  int64_t rows = model->per_device != 0 ? model->per_device * scale : model->batch;
  int64_t count = model->micro_batches != 0 ? model->micro_batches : 1;
  if (model->micro_per_device != 0) {
    count = rows / (model->micro_per_device * scale);
    if (count < 1) count = 1;
  }
  out.micro_batches = (uint32_t)count;
  out.batch = rows / count;
  (void)snprintf(out.name, sizeof out.name, "%s%s%s", model->name,
                 out.size->name[0] != '\0' ? "-" : "", out.size->name);
  return out;
}

egraph_status zoo_build(const zoo_case *c, egraph_graph **out) {
  zoo_net net = {.graph = NULL};
  net.status = egraph_graph_create(NULL, &net.graph);
  if (net.status == EGRAPH_OK) c->model->build(&net, c->batch, c->size);
  *out = net.graph;
  return net.status;
}
