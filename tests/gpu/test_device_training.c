// Training steps on the back-end for CUDA, over the emulator, or on a device: every node
// has a kernel on the device, and a step gives what the reference gives.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "exec/backend.h"
#include "tests/gpu/device_name.h"
#include "tests/unit/training_kit.h"

#define LET(name, term) "(let " name " (" term "))"
#define F32(kind, name, dims) "(" kind " " name " \"float32[" dims "]\")"

static const char images[] =
    "(egraph-graph 1)" F32("input", "x", "2,2,8,8") F32("weight", "w1", "4,2,3,3")
        F32("weight", "c1", "4") F32("weight", "w2", "6,4,3,3") F32("weight", "w3", "5,6")
            LET("a", "conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] x w1 c1")
                LET("r", "relu a")
                    LET("m", "max-pool :kernel_shape [3 3] :strides [2 2] :pads [1 1 1 1]"
                             " :dilations [1 1] r")
                        LET("c", "conv :strides [2 2] :pads [1 1 1 1] :dilations [1 1]"
                                 " :act relu m w2")
                            LET("p", "average-pool :kernel_shape [2 2] :strides [1 1]"
                                     " :pads [0 0 0 0] c") LET("f", "flatten p")
                                LET("y", "gemm :transB 1 f w3") "(output y)";

// The table is used twice, as an embedding and as the classifier.
static const char words[] = "(egraph-graph 1)(input r \"float32[2,4,5]\")" F32(
    "weight", "table", "5,4") F32("weight", "s1", "4") F32("weight", "b1", "4")
    F32("weight", "wq", "4,4") F32("weight", "wk", "4,4") F32("weight", "wv", "4,4")
        F32("weight", "s2", "4") F32("weight", "w1", "4,6") F32("weight", "w2", "6,4")
            LET("ids", "arg-max :axis 2 :keepdims 0 r") LET("e", "gather table ids")
                LET("n", "layer-normalization e s1 b1") LET("q", "matmul n wq")
                    LET("k", "matmul n wk") LET("v", "matmul n wv")
                        LET("scores", "matmul :transB 1 q k")
                            LET("weights", "softmax scores") LET("o", "matmul weights v")
                                LET("r1", "add e o") LET("n2", "rms-normalization r1 s2")
                                    LET("h", "matmul :act gelu n2 w1")
                                        LET("z", "matmul h w2") LET("r2", "add r1 z")
                                            LET("y",
                                                "matmul :transB 1 r2 table") "(output y)";

typedef struct model {
  const char *name, *text;
  eg_loss loss;
} model;
static const model models[] = {{"images", images, EG_LOSS_CROSS_ENTROPY},
                               {"images", images, EG_LOSS_SQUARED_ERROR},
                               {"words", words, EG_LOSS_CROSS_ENTROPY},
                               {"words", words, EG_LOSS_CROSS_ENTROPY_OF}};

enum { MOST_TENSORS = 32 };

/// Weights made of constants are computed once, at load, wherever that is.
static bool is_of_constants(const eg_graph *graph, const eg_graph_node_info *info) {
  for (uint32_t i = 0; i < info->input_count; i++)
    if (eg_graph_value(graph, info->inputs[i])->kind != EG_VALUE_WEIGHT) return false;
  return true;
}

static void check_node(eg_backend *backend, const char *name, const eg_graph *graph,
                       eg_graph_node node) {
  eg_graph_node_info info = eg_graph_node_at(graph, node);
  eg_type inputs[MOST_TENSORS], results[MOST_TENSORS];
  eg_program *program;
  assert_true(info.input_count <= MOST_TENSORS && info.result_count <= MOST_TENSORS);
  for (uint32_t i = 0; i < info.input_count; i++)
    inputs[i] = eg_graph_value(graph, info.inputs[i])->type;
  for (uint32_t i = 0; i < info.result_count; i++)
    results[i] = eg_graph_value(graph, info.results[i])->type;
  const eg_node_spec spec = {.attrs = info.attrs,
                             .inputs = inputs,
                             .input_count = info.input_count,
                             .results = results,
                             .result_count = info.result_count};
  assert_ok(
      backend->vtable->compile(backend, &(eg_compile_request){.spec = &spec}, &program));
  if (!program->info.native && !is_of_constants(graph, &info))
    fail_msg("%s: %s '%s' has no kernel on the device", name,
             eg_op_info_of((eg_op)info.attrs->op)->name, info.name);
  eg_program_destroy(program);
}

/// Second moments are not negative, and steps count from 1.
static void draw(const eg_training *step, kit_tensors *inputs) {
  kit_inputs_draw(step->graph, inputs);
  for (uint32_t i = 0; i < inputs->count; i++) {
    const eg_tensor *tensor = &inputs->items[i];
    eg_value value = eg_graph_input(step->graph, i);
    bool is_step = value.id == step->step.id;
    for (int64_t e = 0; e < eg_type_elements(&tensor->type); e++)
      eg_tensor_set_double(tensor, e,
                           is_step ? 3 : fabs(eg_tensor_get_double(tensor, e)));
  }
}

static void check_step(eg_backend *backend, const model *m, eg_optimizer optimizer,
                       double clip_norm) {
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  eg_graph *forward = kit_parse(m->name, m->text);
  eg_training step;
  kit_tensors inputs, want, have;
  options.loss = m->loss;
  options.optimizer = optimizer;
  options.clip_norm = clip_norm;
  options.weight_decay = 0.01;
  assert_ok(eg_training_step(forward, &options, &step));
  for (uint32_t i = 0; i < eg_graph_node_count(step.graph); i++)
    check_node(backend, m->name, step.graph, (eg_graph_node){i});
  draw(&step, &inputs);
  kit_run(step.graph, "reference", 1, &inputs, &want);
  kit_run(step.graph, device_name(), 1, &inputs, &have);
  double error = kit_error(&want, &have);
  if (!(error <= 1e-4))
    fail_msg("%s, %s: error %g", m->name, eg_optimizer_name(optimizer), error);
  kit_tensors_deinit(&inputs);
  kit_tensors_deinit(&want);
  kit_tensors_deinit(&have);
  eg_training_deinit(&step);
  eg_graph_destroy(forward);
}

static void training_steps_run_on_the_device_only(void **state) {
  (void)state;
  eg_backend *backend;
  eg_backend_options options = {.threads = 1};
  assert_ok(eg_backend_create(NULL, device_name(), &options, &backend));
  for (size_t i = 0; i < sizeof models / sizeof *models; i++)
    for (int optimizer = 0; optimizer < EG_OPTIMIZER_COUNT; optimizer++)
      for (int clips = 0; clips < 2; clips++)
        check_step(backend, &models[i], (eg_optimizer)optimizer, clips);
  eg_backend_destroy(backend);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(training_steps_run_on_the_device_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
