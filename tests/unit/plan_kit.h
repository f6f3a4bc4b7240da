// Plans for tests: small graphs, planned. Values named B... are of phase BACKWARD, U...
// of UPDATE; output "Uw" leaves the step and enters the next one as w.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_PLAN_KIT_H
#define EG_TESTS_PLAN_KIT_H

#include <math.h>

#include "optimize/model/plan_emit.h"
#include "tests/testing.h"

typedef struct plan_case {
  const char *graph, *mesh;
  uint32_t micro_batches;
  double seconds_per_byte; // of transitions
} plan_case;

// Parameters of two layers and a running mean; backward uses what forward has made.
#define PLAN_TRAINING                                                                    \
  "(egraph-graph 1)"                                                                     \
  "(input x \"float32[16,8]\") (input t \"float32[16,8]\")"                              \
  "(input w1 \"float32[8,32]\") (input w2 \"float32[32,8]\") (input m \"float32[8]\")"   \
  "(let Fa (matmul x w1)) (let Fr (relu Fa)) (let Fy (matmul Fr w2))"                    \
  "(let Bd (sub Fy t)) (let Bw2 (matmul :transA 1 Fr Bd))"                               \
  "(let Br (matmul :transB 1 Bd w2)) (let Ba (mul Br Fr))"                               \
  "(let Bw1 (matmul :transA 1 x Ba))"                                                    \
  "(let Uw1 (sub w1 Bw1)) (let Uw2 (sub w2 Bw2))"                                        \
  "(let Bs (reduce-sum :axes [0] :keepdims 0 Bd)) (let Um (add m Bs))"                   \
  "(output Uw1) (output Uw2) (output Um) (output Fy)"
// A window that needs its neighbours' rows, two results of a node, names with blanks.
#define PLAN_WINDOW                                                                      \
  "(egraph-graph 1)"                                                                     \
  "(input \"an image \\\"x\\\"\" \"float32[1,4,64,64]\")"                                \
  "(weight k \"float32[4,4,3,3]\") (weight b \"float32[4]\" [0.5 -1.0 0.25 2.0])"        \
  "(let y (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1]"                         \
  " \"an image \\\"x\\\"\" k b))"                                                        \
  "(let [\"the left\" right] (split :axis 1 :sizes [2 2] y))"                            \
  "(let z (mul \"the left\" right)) (output result z) (output right)"

// Entries that are read after what takes their place is made, that leave in forward, and
// that leave as they came.
#define PLAN_ENTRIES                                                                     \
  "(egraph-graph 1)"                                                                     \
  "(input x \"float32[8,8]\") (input w \"float32[8,8]\")"                                \
  "(input v \"float32[8]\") (input m \"float32[8]\") (input k \"float32[8]\")"           \
  "(let Fy (matmul x w)) (let Fs (reduce-sum :axes [0] :keepdims 0 Fy))"                 \
  "(let Fm (add m Fs)) (let Fk (mul k Fm))"                                              \
  "(let Bg (matmul :transA 1 x Fy)) (let Bm (mul m Fk))"                                 \
  "(let Uv (add v Fs)) (let Uz (mul v Bm)) (let Uw (sub w Bg))"                          \
  "(output Uw) (output Uv) (output z Uz) (output Um Fm) (output Uk k)"

static const plan_case PLAN_CASES[] = {
    {PLAN_TRAINING, "gpu=4", 1, 1e-12},
    {PLAN_TRAINING, "gpu=4", 3, 1e-12},
    {PLAN_TRAINING, "node=2,gpu=2", 2, 1e-11},
    {PLAN_TRAINING, "node=2,gpu=2", 1, 1e-9},
    {PLAN_TRAINING, "", 2, 1e-9},
    {PLAN_WINDOW, "gpu=4", 1, 1e-13},
    {PLAN_WINDOW, "node=2,gpu=4", 1, 1e-13},
    {PLAN_ENTRIES, "gpu=4", 1, 1e-9},
    {PLAN_ENTRIES, "node=2,gpu=2", 2, 1e-11},
};
enum { PLAN_CASE_COUNT = sizeof PLAN_CASES / sizeof *PLAN_CASES };

static inline egraph_status plan_price_node(void *self, const eg_node_spec *local,
                                            eg_node_price *out) {
  (void)self;
  out->seconds = eg_node_spec_flops(local) * 1e-9 + eg_node_spec_bytes(local) * 1e-11;
  return EGRAPH_OK;
}

static inline double plan_price_move(void *self, const eg_transition *transition,
                                     double bytes) {
  const plan_case *c = self;
  return (transition->kind == EG_TRANSITION_ALL_REDUCE ? 2 : 1) *
         (1e-9 + bytes * c->seconds_per_byte);
}

static inline double plan_price_halo(void *self, const eg_halo *halo,
                                     const eg_type *local) {
  eg_type rows = *local;
  rows.dims[halo->dim] = halo->before + halo->after;
  return (double)eg_type_bytes(&rows) * ((const plan_case *)self)->seconds_per_byte;
}

static inline eg_phase plan_phase_of(const char *name) {
  return name[0] == 'B'   ? EG_PHASE_BACKWARD
         : name[0] == 'U' ? EG_PHASE_UPDATE
                          : EG_PHASE_FORWARD;
}

/// Plans a case; free with eg_emitted_plan_deinit.
static inline void plan_make(const plan_case *c, eg_emitted_plan *out) {
  enum { MOST = 32 };
  const egraph_allocator heap = eg_allocator_heap();
  eg_phase phases[MOST];
  eg_carried_value carried[MOST];
  eg_graph *graph;
  eg_tensor_egraph *egraph;
  eg_mesh mesh;
  eg_plan_space space;
  eg_plan_model model;
  eg_layout_result result;
  plan_case mine = *c;
  assert_ok(eg_graph_parse(NULL, "case", c->graph, strlen(c->graph), &graph));
  assert_ok(eg_mesh_parse(c->mesh, &mesh));
  assert_ok(eg_tensor_egraph_create(&heap, graph, &egraph));
  assert_ok(eg_engine_rebuild(eg_tensor_egraph_engine(egraph)));
  eg_step_info info = {.micro_batches = c->micro_batches,
                       .phases = phases,
                       .carried = carried,
                       .memory_limit = INFINITY};
  assert_true(eg_graph_node_count(graph) <= MOST && eg_graph_output_count(graph) <= MOST);
  for (uint32_t i = 0; i < eg_graph_node_count(graph); i++) {
    eg_value first = eg_graph_node_at(graph, (eg_graph_node){i}).results[0];
    phases[i] = plan_phase_of(eg_graph_value(graph, first)->name);
  }
  for (uint32_t i = 0; i < eg_graph_output_count(graph); i++) {
    const char *name;
    eg_value entry;
    (void)eg_graph_output(graph, i, &name);
    if (name[0] == 'U' && eg_graph_find_value(graph, name + 1, &entry))
      carried[info.carried_count++] = (eg_carried_value){.entry = entry, .output = i};
  }
  eg_plan_costs costs = {.self = &mine,
                         .node = plan_price_node,
                         .transition = plan_price_move,
                         .halo = plan_price_halo};
  assert_ok(eg_plan_space_init(&space, heap, egraph, &info, &mesh, &costs));
  assert_ok(eg_plan_model_init(&model, heap, &space));
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  eg_layout_result_init(&result, heap);
  assert_ok(eg_layout_solve(heap, &model.problem, &options, &result));
  assert_true(result.solutions.len != 0);
  assert_ok(eg_plan_emit(&model, heap, &result.solutions.data[0], out));
  eg_layout_result_deinit(&result);
  eg_plan_model_deinit(&model);
  eg_plan_space_deinit(&space);
  eg_tensor_egraph_destroy(egraph);
  eg_graph_destroy(graph);
}

#endif
