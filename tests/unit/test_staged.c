// Searches for stages on small models: what they find, and that it adds up.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "baselines/stages/alpa_stages.h"
#include "baselines/stages/megatron_grid.h"
#include "tests/testing.h"

static eg_graph *parse_graph(const char *text) {
  eg_graph *graph;
  assert_ok(eg_graph_parse(NULL, "model", text, strlen(text), &graph));
  return graph;
}

/// `blocks` equal layers, x behind x: a product, and a nonlinear function.
static eg_graph *chain(uint32_t blocks, uint32_t batch, uint32_t width) {
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_text_printf(&text, "(egraph-graph 1)(input x0 \"float32[%u,%u]\")", batch,
                           width));
  for (uint32_t i = 0; i < blocks; i++)
    assert_ok(eg_text_printf(&text, "(weight w%u \"float32[%u,%u]\")", i, width, width));
  for (uint32_t i = 0; i < blocks; i++)
    assert_ok(eg_text_printf(
        &text, "(let p%u (matmul x%u w%u))(let x%u (tanh p%u))", i, i, i, i + 1, i));
  assert_ok(eg_text_printf(&text, "(output x%u)", blocks));
  eg_graph *graph = parse_graph(eg_text_of(&text));
  eg_text_deinit(&text);
  return graph;
}

typedef struct setting {
  eg_graph *graph;
  eg_strmap trained;
  eg_machine machine;
  eg_training_options training;
  egraph_search search;
  eg_plan_search_input input;
  eg_staged staged;
} setting;

/// `far`: bytes a second between nodes.
static void set_up(setting *s, eg_graph *graph, uint32_t micro_batches, const char *far,
                   const char *memory) {
  static const char machine[] =
      "(egraph-machine 1)(name small)(nodes 2)(device (memory %s)(bandwidth 1e12)"
      "(overhead 1e-6)(peak (float32 1e13)))(link near (latency 1e-6)(bandwidth 1e11))"
      "(link far (latency 5e-6)(bandwidth %s))(axis node nodes far)(axis gpu 2 near)";
  eg_text text;
  *s = (setting){.graph = graph,
                 .training = EG_TRAINING_OPTIONS_DEFAULT,
                 .search = egraph_search_default()};
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_text_printf(&text, machine, memory, far));
  assert_ok(eg_machine_parse(NULL, "machine", eg_text_of(&text),
                             strlen(eg_text_of(&text)), 0, &s->machine));
  eg_text_deinit(&text);
  s->training.loss = EG_LOSS_SQUARED_ERROR;
  s->training.micro_batches = micro_batches;
  eg_strmap_init(&s->trained, eg_allocator_heap());
  for (uint32_t v = 0; v < eg_graph_value_count(graph); v++) {
    const eg_value_info *info = eg_graph_value(graph, (eg_value){v});
    if (info->kind == EG_VALUE_WEIGHT)
      assert_ok(eg_strmap_put(&s->trained, info->name, v));
  }
  s->training.parameters.chosen = &s->trained;
  s->input = (eg_plan_search_input){.alloc = eg_allocator_heap(),
                               .forward = graph,
                               .training = &s->training,
                               .machine = &s->machine,
                               .memory_limit = s->machine.memory_bytes,
                               .search = &s->search};
  eg_staged_init(&s->staged, eg_allocator_heap());
}

static void tear_down(setting *s) {
  eg_staged_deinit(&s->staged);
  eg_machine_deinit(&s->machine);
  eg_strmap_deinit(&s->trained);
  eg_graph_destroy(s->graph);
}

static void print(const eg_staged *staged) {
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_staged_print(&text, staged, true));
  printf("%s", eg_text_of(&text));
  eg_text_deinit(&text);
}

static const eg_staged_row *best_of(const eg_staged *staged) {
  assert_true(staged->best < staged->rows.len);
  return &staged->rows.data[staged->best];
}

/// With a slow network weights stay where they are, and activations travel.
static void a_slow_network_makes_stages(void **state) {
  (void)state;
  setting s;
  set_up(&s, chain(8, 64, 1024), 16, "1e8", "80e9");
  assert_ok(eg_alpa_stages(&s.input, &s.staged));
  print(&s.staged);
  assert_true(s.staged.stages.len >= 2);
  assert_true(best_of(&s.staged)->seconds > best_of(&s.staged)->busiest);
  tear_down(&s);
}

static void the_grid_has_every_factorization(void **state) {
  (void)state;
  setting s;
  set_up(&s, chain(8, 64, 1024), 16, "1e8", "80e9");
  assert_ok(eg_megatron_grid(&s.input, &s.staged));
  print(&s.staged);
  tear_down(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_slow_network_makes_stages),
      cmocka_unit_test(the_grid_has_every_factorization),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
