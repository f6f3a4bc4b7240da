// Which weights of a model are trained: by each kind of use, and as a user wants them.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/training/parameters.h"
#include "tests/unit/session_kit.h"

#define IN(name, dims) "(input " name " \"float32[" dims "]\")"
#define W(name, dims) "(weight " name " \"float32[" dims "]\")"

typedef struct use_case {
  const char *text, *weight;
  eg_weight_fate fate;
} use_case;

static eg_weight_fate fate_in(const eg_graph *graph, const char *weight,
                              const eg_parameter_wish *wish) {
  eg_weight_fate fates[64] = {EG_FATE_NONE};
  bool needed[64];
  eg_value value;
  assert_true(eg_graph_value_count(graph) <= 64);
  assert_ok(
      eg_parameters_find(graph, eg_graph_output(graph, 0, NULL), wish, fates, needed));
  assert_true(eg_graph_find_value(graph, weight, &value));
  return fates[value.id];
}

static void each_use_decides(void **state) {
  (void)state;
  static const use_case rows[] = {
      {IN("x", "2,3") W("w", "3,4") "(let y (matmul x w))", "w", EG_FATE_TRAINED},
      {IN("x", "2,3") W("w", "4,3") "(let t (transpose :perm [1 0] w))"
                                    "(let y (matmul x t))",
       "w", EG_FATE_TRAINED},
      {IN("x", "2,3") W("w", "12") "(let r (reshape :shape [3 4] w))"
                                   "(let c (cast :to float32 r))(let y (matmul x c))",
       "w", EG_FATE_TRAINED},
      {IN("x", "2,3") W("w", "3,1") W("b", "1") "(let y (gemm x w b))", "b",
       EG_FATE_TRAINED},
      {IN("x", "1,2,4,4") W("w", "3,2,1,1")
           W("b",
             "3") "(let y (conv :strides [1 1] :pads [0 0 0 0] :dilations [1 1] x w b))",
       "b", EG_FATE_TRAINED},
      {IN("x", "1,2,4") W("s", "2") W("b", "2") W("m", "2")
           W("v", "2") "(let y (batch-normalization x s b m v))",
       "s", EG_FATE_TRAINED},
      {IN("x", "1,2,4") W("s", "2") W("b", "2") W("m", "2")
           W("v", "2") "(let y (batch-normalization x s b m v))",
       "v", EG_FATE_STATISTIC},
      {IN("x", "2,4") W("s", "4") W("b", "4") "(let y (layer-normalization x s b))", "b",
       EG_FATE_TRAINED},
      {"(input i \"int64[5]\")" W("w", "9,4") "(let y (gather :axis 0 w i))", "w",
       EG_FATE_TRAINED},
      // Bias, position embedding, scale per channel, class token.
      {IN("x", "2,4") W("b", "4") "(let y (add x b))", "b", EG_FATE_TRAINED},
      {IN("x", "2,8,4") W("p", "1,8,4") "(let y (add x p))", "p", EG_FATE_TRAINED},
      {IN("x", "1,3,2,2") W("g", "3,1,1") "(let y (mul x g))", "g", EG_FATE_TRAINED},
      {IN("x", "2,8,4") W("c", "2,1,4") "(let y (concat :axis 1 c x))", "c",
       EG_FATE_TRAINED},
      // Masks: what is added to scores varies in two dimensions; a bias does not.
      {IN("x", "2,8,8") W("m", "1,8,8") "(let a (add x m))(let y (softmax a))", "m",
       EG_FATE_MASK},
      {IN("x", "2,8,8") W("m", "8,8") "(let a (mul x m))(let r (reshape :shape [16 8] a))"
                                      "(let y (softmax r))",
       "m", EG_FATE_MASK},
      {IN("x", "2,8,8")
           W("m", "9,9") "(let s (slice :starts [0 0] :ends [8 8] :steps [1 1] m))"
                         "(let a (add x s))(let y (softmax a))",
       "m", EG_FATE_MASK},
      {IN("x", "2,8") W("b", "8") "(let a (add x b))(let y (softmax a))", "b",
       EG_FATE_TRAINED},
      // A table of position biases is gathered, then added to scores.
      {IN("x", "4,4") "(weight i \"int64[4]\")" W(
           "t", "7,4") "(let g (gather :axis 0 t i))(let a (add x g))(let y (softmax a))",
       "t", EG_FATE_TRAINED},
      // Scales have one element; other operators take constants.
      {IN("x", "2,4") W("s", "1") "(let y (mul x s))", "s", EG_FATE_SCALE},
      {IN("x", "2,4") W("s", "") "(let y (mul x s))", "s", EG_FATE_SCALE},
      {IN("x", "2,4") W("s", "4") "(let y (div x s))", "s", EG_FATE_CONSTANT},
      {IN("x", "2,4") W("s", "4") "(let y (sub x s))", "s", EG_FATE_CONSTANT},
      {IN("x", "2,4") W("s", "4") "(let y (max x s))", "s", EG_FATE_CONSTANT},
      {IN("x", "2,4") W("e", "4") "(let y (pow x e))", "e", EG_FATE_CONSTANT},
      // The strongest use counts; no use is none.
      {IN("x", "4,4") W("w", "4,4") "(let d (div x w))(let y (matmul d w))", "w",
       EG_FATE_TRAINED},
      {IN("x", "2,4") W("w", "4") "(let d (add x w))(let y (relu x))", "w", EG_FATE_NONE},
      {"(input x \"float32[2,3]\")(weight w \"int64[3]\")"
       "(let c (cast :to float32 w))(let y (mul x c))",
       "w", EG_FATE_NONE},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[1024];
    const eg_parameter_wish all = {.freeze = NULL};
    snprintf(text, sizeof text, "(egraph-graph 1)%s(output y)", rows[i].text);
    eg_graph *graph = kit_parse("model", text);
    if (fate_in(graph, rows[i].weight, &all) != rows[i].fate)
      fail_msg("%s: '%s' is %s", text, rows[i].weight,
               eg_weight_fate_why(fate_in(graph, rows[i].weight, &all)));
    eg_graph_destroy(graph);
  }
}

#define LAYERS                                                                           \
  "(egraph-graph 1)" IN("x", "2,4") W("h.0.w", "4,4") W("h.1.w", "4,4") W("h.1.b", "4")  \
      W("s", "1") "(let a (matmul x h.0.w))(let b (matmul a h.1.w))"                     \
                  "(let c (add b h.1.b))(let y (mul c s))(output y)"

static void patterns_choose_of_the_parameters(void **state) {
  (void)state;
  static const struct {
    const char *freeze, *only;
    const char *fates; // of h.0.w, h.1.w, h.1.b, s: t trained, f frozen, s scale
  } rows[] = {
      {NULL, NULL, "ttts"},    {"h.0.*", NULL, "ftts"}, {"*.w", NULL, "ffts"},
      {NULL, "h.1.*", "ftts"}, {"*.b", "h.1*", "ftfs"}, {NULL, "*", "ttts"},
      {NULL, "s", "ffft"},     {"s", NULL, "ttts"},     {"h.1.b", "h.1.*", "ftfs"}};
  static const char *const names[] = {"h.0.w", "h.1.w", "h.1.b", "s"};
  eg_graph *graph = kit_parse("model", LAYERS);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const eg_parameter_wish wish = {&rows[i].freeze, &rows[i].only,
                                    rows[i].freeze != NULL, rows[i].only != NULL, NULL};
    for (int w = 0; w < 4; w++) {
      char want = rows[i].fates[w];
      eg_weight_fate fate = fate_in(graph, names[w], &wish);
      assert_int_equal(fate, want == 't'   ? EG_FATE_TRAINED
                             : want == 'f' ? EG_FATE_FROZEN
                                           : EG_FATE_SCALE);
    }
  }
  eg_graph_destroy(graph);
}

static void patterns_without_a_match_name_the_closest(void **state) {
  (void)state;
  static const struct {
    const char *pattern, *message;
  } rows[] = {{"h.0.v", "did you mean 'h.0.w'?"},
              {"encoder.*", "take the names of the model's weights"},
              {"x", "'x'"}};
  eg_graph *graph = kit_parse("model", LAYERS);
  eg_weight_fate fates[64];
  bool needed[64];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    eg_parameter_wish wish = {.freeze = &rows[i].pattern, .freeze_count = 1};
    eg_value output = eg_graph_output(graph, 0, NULL);
    assert_fails(eg_parameters_find(graph, output, &wish, fates, needed),
                 EGRAPH_E_ARGUMENT, rows[i].message);
    wish = (eg_parameter_wish){.train_only = &rows[i].pattern, .train_only_count = 1};
    assert_fails(eg_parameters_find(graph, output, &wish, fates, needed),
                 EGRAPH_E_ARGUMENT, rows[i].message);
  }
  // A star does not reach what is no parameter.
  const char *const star = "s*";
  const eg_parameter_wish wish = {.train_only = &star, .train_only_count = 1};
  assert_fails(
      eg_parameters_find(graph, eg_graph_output(graph, 0, NULL), &wish, fates, needed),
      EGRAPH_E_ARGUMENT, "'s*'");
  eg_graph_destroy(graph);
}

static egraph_status find_in(egraph_allocator alloc, void *user) {
  (void)user;
  static const char text[] = LAYERS;
  eg_graph *graph;
  eg_weight_fate fates[64];
  bool needed[64];
  const eg_parameter_wish all = {.freeze = NULL};
  EG_TRY(eg_graph_parse(&alloc, "model", text, sizeof text - 1, &graph));
  egraph_status status =
      eg_parameters_find(graph, eg_graph_output(graph, 0, NULL), &all, fates, needed);
  eg_graph_destroy(graph);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_failing(find_in, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_use_decides),
      cmocka_unit_test(patterns_choose_of_the_parameters),
      cmocka_unit_test(patterns_without_a_match_name_the_closest),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
