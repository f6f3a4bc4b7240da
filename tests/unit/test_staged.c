// Searches for stages on small models: what they find, and that it adds up.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "baselines/stages/stage_report.h"
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
    assert_ok(eg_text_printf(&text, "(let p%u (matmul x%u w%u))(let x%u (tanh p%u))", i,
                             i, i, i + 1, i));
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
  eg_request request;
  eg_plan_call call;
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
  s->search.work_limit = 200; // plans need not be proven
  s->training.loss = EG_LOSS_SQUARED_ERROR;
  s->training.micro_batches = micro_batches;
  eg_strmap_init(&s->trained, eg_allocator_heap());
  for (uint32_t v = 0; v < eg_graph_value_count(graph); v++) {
    const eg_value_info *info = eg_graph_value(graph, (eg_value){v});
    if (info->kind == EG_VALUE_WEIGHT)
      assert_ok(eg_strmap_put(&s->trained, info->name, v));
  }
  s->training.parameters.chosen = &s->trained;
  s->request = (eg_request){.alloc = eg_allocator_heap(), .search = &s->search};
  s->call = (eg_plan_call){.request = &s->request,
                           .context = {.machine = &s->machine},
                           .forward = graph,
                           .training = &s->training,
                           .budget = eg_budget_begin(&s->search)};
  s->call.budget.memory = s->machine.memory_bytes;
  eg_staged_init(&s->staged, eg_allocator_heap());
}

static void tear_down(setting *s) {
  eg_staged_deinit(&s->staged);
  eg_machine_deinit(&s->machine);
  eg_strmap_deinit(&s->trained);
  eg_graph_destroy(s->graph);
}

static const eg_staged_row *best_of(const eg_staged *staged) {
  assert_true(staged->best < staged->rows.len);
  return &staged->rows.data[staged->best];
}

static const eg_staged_row *row_named(const eg_staged *staged, const char *name) {
  for (size_t i = 0; i < staged->rows.len; i++)
    if (strcmp(staged->rows.data[i].name, name) == 0) return &staged->rows.data[i];
  fail_msg("there is no row '%s'", name);
  return NULL;
}

/// With a slow network whole layers lie on a node, and only activations travel.
static void a_slow_network_makes_stages(void **state) {
  (void)state;
  setting s;
  set_up(&s, chain(2, 64, 1024), 16, "1e8", "80e9");
  assert_ok(eg_alpa_stages(&s.call, &s.staged));
  const eg_staged *staged = &s.staged;
  assert_int_equal(staged->layers, 4);
  assert_true(staged->stages.len >= 2);
  uint32_t next = 0, devices = 0;
  for (size_t i = 0; i < staged->stages.len; i++) {
    const eg_staged_stage *stage = &staged->stages.data[i];
    assert_int_equal(stage->first, next);
    assert_int_equal(stage->in_flight, staged->stages.len - i);
    next = stage->last + 1;
    devices += eg_stage_devices(&stage->place);
  }
  assert_true(next == 4 && devices == 4);
  assert_true(best_of(staged)->seconds > best_of(staged)->busiest);
  assert_true(best_of(staged)->excess == 0);
  tear_down(&s);
}

/// Layers of equal blocks are whole blocks, and equal slices of them have one text.
static void equal_slices_have_equal_texts(void **state) {
  (void)state;
  setting s;
  eg_layered layered;
  eg_slice slices[4];
  set_up(&s, chain(8, 64, 1024), 4, "1e9", "80e9");
  assert_ok(eg_layered_init(&layered, eg_allocator_heap(), s.graph, &s.training, 16));
  assert_int_equal(eg_layered_count(&layered), 8);
  for (uint32_t i = 0; i < 7; i++) {
    assert_true(layered.first.data[i] == 2 * i);
    assert_true(eg_layered_crossing_bytes(&layered, i) == 64 * 1024 * 4);
  }
  assert_true(eg_layered_crossing_bytes(&layered, 7) == 0);
  for (uint32_t i = 0; i < 4; i++)
    assert_ok(eg_slice_init(&slices[i], &layered, &s.training, 2 * i, 2 * i + 1));
  assert_string_equal(eg_text_of(&slices[1].key), eg_text_of(&slices[2].key));
  assert_string_not_equal(eg_text_of(&slices[0].key), eg_text_of(&slices[1].key));
  assert_string_not_equal(eg_text_of(&slices[2].key), eg_text_of(&slices[3].key));
  assert_int_equal(slices[0].sent_back_count, 0);
  assert_int_equal(slices[1].sent_back_count, 1);
  assert_true(slices[2].training.is_inner && !slices[3].training.is_inner);
  assert_int_equal(eg_strmap_len(&slices[3].trained), 2);
  for (uint32_t i = 0; i < 4; i++)
    eg_slice_deinit(&slices[i]);
  eg_layered_deinit(&layered);
  tear_down(&s);
}

/// Weights that do not fit on a device are no stage on one.
static void stages_fit_with_all_that_is_in_flight(void **state) {
  (void)state;
  setting s;
  set_up(&s, chain(2, 64, 1024), 16, "1e8", "80e9");
  assert_ok(eg_alpa_stages(&s.call, &s.staged));
  double bytes = best_of(&s.staged)->bytes;
  eg_staged_deinit(&s.staged);
  eg_staged_init(&s.staged, eg_allocator_heap());
  s.call.budget.memory = bytes - 1;
  assert_ok(eg_alpa_stages(&s.call, &s.staged));
  assert_true(best_of(&s.staged)->bytes < bytes);
  assert_true(best_of(&s.staged)->excess == 0);
  eg_staged_deinit(&s.staged);
  eg_staged_init(&s.staged, eg_allocator_heap());
  s.call.budget.memory = 1e6; // a weight has four times as much
  assert_ok(eg_alpa_stages(&s.call, &s.staged));
  const eg_staged_row *large = best_of(&s.staged);
  assert_true(large->excess > 0 && large->bytes - large->excess == 1e6);
  assert_true(s.staged.memory_limit == 1e6);
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_staged_print(&text, &s.staged, true));
  assert_non_null(strstr(eg_text_of(&text), "too large by"));
  eg_text_deinit(&text);
  tear_down(&s);
}

/// Over a slow link whole weights are faster, and do not fit: the same point of the grid
/// with some of them split does.
static void points_of_the_grid_are_fitted(void **state) {
  (void)state;
  setting s;
  set_up(&s, chain(4, 64, 1024), 1, "1e8", "80e9");
  s.machine.axes[0].size = 1;
  s.machine.axes[1].link = s.machine.axes[0].link;
  assert_ok(eg_megatron_grid(&s.call, &s.staged));
  assert_string_equal(best_of(&s.staged)->name, "t=2 p=1 d=1");
  double bytes = best_of(&s.staged)->bytes, seconds = best_of(&s.staged)->seconds;
  eg_staged_deinit(&s.staged);
  eg_staged_init(&s.staged, eg_allocator_heap());
  s.call.budget.memory = 0.9 * bytes;
  assert_ok(eg_megatron_grid(&s.call, &s.staged));
  const eg_staged_row *large = row_named(&s.staged, "t=2 p=1 d=1"),
                      *fitted = row_named(&s.staged, "t=2 p=1 d=1 fitted");
  assert_true(large->seconds == seconds && large->excess > 0);
  assert_true(fitted->is_possible && fitted->excess == 0 && fitted->seconds > seconds);
  assert_true(best_of(&s.staged)->excess == 0);
  assert_true(best_of(&s.staged)->seconds <= fitted->seconds);
  tear_down(&s);
}

static void the_grid_has_every_factorization(void **state) {
  (void)state;
  setting s;
  set_up(&s, chain(4, 64, 1024), 16, "1e8", "80e9");
  s.search.work_limit = 0; // a row for each point
  s.call.budget.steps = eg_budget_begin(&s.search).steps;
  assert_ok(eg_megatron_grid(&s.call, &s.staged));
  static const char *const names[] = {
      "t=1 p=1 d=4",     "t=1 p=1 d=4 zero-1", "t=1 p=2 d=2", "t=1 p=2 d=2 zero-1",
      "t=1 p=2 d=2 v=2", "t=1 p=4 d=1",        "t=2 p=1 d=2", "t=2 p=1 d=2 zero-1",
      "t=2 p=2 d=1",     "t=2 p=2 d=1 v=2"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    assert_true(row_named(&s.staged, names[i])->is_possible);
  assert_int_equal(s.staged.rows.len, 15); // and more chunks
  const eg_staged_row *plain = row_named(&s.staged, "t=1 p=1 d=4"),
                      *zero = row_named(&s.staged, "t=1 p=1 d=4 zero-1"),
                      *once = row_named(&s.staged, "t=1 p=2 d=2"),
                      *twice = row_named(&s.staged, "t=1 p=2 d=2 v=2");
  assert_true(zero->bytes < plain->bytes);
  assert_true(fabs(plain->seconds - plain->formula) < 1e-9); // one stage: no bubble
  assert_true(twice->formula < once->formula);               // half of the bubble
  assert_true(twice->seconds > once->seconds); // more messages over a slow network
  tear_down(&s);
}

/// Rows say by how much they do not fit, and one that fits wins.
static void rows_that_do_not_fit_stay(void **state) {
  (void)state;
  setting s;
  set_up(&s, chain(2, 64, 1024), 16, "1e11", "80e9");
  s.call.budget.memory = 20e6;
  assert_ok(eg_megatron_grid(&s.call, &s.staged));
  const eg_staged_row *large = row_named(&s.staged, "t=1 p=1 d=4");
  assert_true(large->excess > 0 && large->bytes - large->excess == 20e6);
  assert_true(best_of(&s.staged)->excess == 0);
  for (size_t i = 0; i < s.staged.rows.len; i++) {
    const eg_staged_row *row = &s.staged.rows.data[i];
    if (row->is_possible && row->excess == 0)
      assert_true(row->seconds >= best_of(&s.staged)->seconds);
  }
  tear_down(&s);
}

/// All on one device, the step takes its operators' sum, and holds what its plan does.
static void one_device_is_cut_nowhere(void **state) {
  (void)state;
  setting s;
  eg_layered layered;
  eg_stage_planner planner;
  eg_stage_plan plan;
  set_up(&s, chain(4, 64, 1024), 3, "1e8", "80e9");
  s.machine.axes[0].size = s.machine.axes[1].size = 1;
  assert_ok(eg_min_cut_placement(&s.call, &s.staged));
  const eg_staged_row *row = best_of(&s.staged);
  assert_true(fabs(row->seconds - row->formula) < 1e-12 && row->busiest == row->seconds);
  assert_ok(eg_layered_init(&layered, eg_allocator_heap(), s.graph, &s.training, 1));
  assert_ok(eg_stage_planner_init(&planner, &s.call, &layered));
  const eg_stage_place place = {1, 1, 1, EG_STAGE_FREE};
  assert_ok(eg_stage_planner_plan(&planner, 0, 0, &place, &plan));
  double seconds = 3 * (plan.forward + plan.backward) + plan.update;
  assert_true(fabs(row->seconds - seconds) < 1e-9 * seconds);
  double bytes = plan.fixed_bytes + plan.flight_bytes;
  if (fabs(row->bytes - bytes) > 0.05 * bytes)
    fail_msg("%g is not %g", row->bytes, bytes);
  eg_stage_planner_deinit(&planner);
  eg_layered_deinit(&layered);
  tear_down(&s);
}

/// Four chains that meet at the end only are placed one on each device.
static void chains_are_placed_apart(void **state) {
  (void)state;
  eg_text text;
  setting s;
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_text_append(&text, "(egraph-graph 1)(input x \"float32[64,512]\")"));
  for (int c = 0; c < 4; c++)
    for (int i = 0; i < 4; i++)
      assert_ok(eg_text_printf(&text, "(weight w%d_%d \"float32[512,512]\")", c, i));
  for (int c = 0; c < 4; c++) {
    assert_ok(eg_text_printf(&text, "(let h%d_0 (matmul x w%d_0))", c, c));
    for (int i = 1; i < 4; i++)
      assert_ok(eg_text_printf(&text, "(let h%d_%d (matmul h%d_%d w%d_%d))", c, i, c,
                               i - 1, c, i));
  }
  assert_ok(eg_text_append(&text, "(let a (add h0_3 h1_3))(let b (add h2_3 h3_3))"
                                  "(let y (add a b))(output y)"));
  set_up(&s, parse_graph(eg_text_of(&text)), 4, "1e11", "80e9");
  eg_text_deinit(&text);
  assert_ok(eg_min_cut_placement(&s.call, &s.staged));
  const eg_staged_row *row = best_of(&s.staged);
  assert_true(row->busiest < 0.4 * row->formula); // a quarter each, and what joins them
  assert_true(row->seconds < 0.6 * row->formula && row->seconds >= row->busiest);
  assert_int_equal(s.staged.stages.len, 4);
  tear_down(&s);
}

static void reports_are_text_and_json(void **state) {
  (void)state;
  setting s;
  eg_text text;
  set_up(&s, chain(2, 64, 512), 4, "1e9", "80e9");
  assert_ok(eg_megatron_grid(&s.call, &s.staged));
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_staged_write_json(&text, &s.staged));
  assert_non_null(strstr(eg_text_of(&text), "\"algorithm\": \"megatron-grid\""));
  assert_non_null(strstr(eg_text_of(&text), "\"first_layer\": 0"));
  eg_text_clear(&text);
  assert_ok(eg_staged_print(&text, &s.staged, false));
  const char *row = strstr(eg_text_of(&text), "simulated");
  assert_true(row != NULL && strstr(row + 1, "simulated") == NULL); // the best alone
  eg_text_clear(&text);
  assert_ok(eg_staged_print(&text, &s.staged, true));
  assert_non_null(strstr(eg_text_of(&text), "t=2 p=2 d=1"));
  eg_text_deinit(&text);
  tear_down(&s);
}

static void machines_of_many_axes_are_refused(void **state) {
  (void)state;
  setting s;
  set_up(&s, chain(2, 64, 512), 4, "1e9", "80e9");
  s.machine.axis_count = 3;
  assert_fails(eg_megatron_grid(&s.call, &s.staged), EGRAPH_E_UNSUPPORTED,
               "take a machine of one or two axes");
  assert_fails(eg_min_cut_placement(&s.call, &s.staged), EGRAPH_E_UNSUPPORTED,
               "take a machine of one or two axes");
  tear_down(&s);
}

static bool stop(void *user, const char *phase, const char *line) {
  (void)phase, (void)line;
  return ++*(int *)user > 5;
}

static void searches_can_be_cancelled(void **state) {
  (void)state;
  setting s;
  int calls = 0;
  set_up(&s, chain(2, 64, 512), 4, "1e9", "80e9");
  s.call.budget.progress = stop;
  s.call.budget.user = &calls;
  assert_ok(eg_megatron_grid(&s.call, &s.staged));
  assert_true(s.staged.is_cancelled);
  tear_down(&s);
}

typedef struct failing {
  setting *setting;
  eg_stage_search *search;
} failing;

static egraph_status search_failing(egraph_allocator alloc, void *user) {
  const failing *f = user;
  eg_request request = *f->setting->call.request;
  eg_plan_call call = f->setting->call;
  eg_staged staged;
  eg_text text;
  request.alloc = alloc;
  call.request = &request;
  eg_staged_init(&staged, alloc);
  eg_text_init(&text, alloc);
  egraph_status status = f->search(&call, &staged);
  if (status == EGRAPH_OK) status = eg_staged_print(&text, &staged, true);
  if (status == EGRAPH_OK) status = eg_staged_write_json(&text, &staged);
  eg_text_deinit(&text);
  eg_staged_deinit(&staged);
  return status;
}

static void failing_allocations_lose_nothing(void **state) {
  (void)state;
  setting s;
  set_up(&s, chain(1, 4, 8), 2, "1e9", "80e9");
  static eg_stage_search *const all[] = {eg_alpa_stages, eg_megatron_grid,
                                         eg_min_cut_placement};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    failing f = {&s, all[i]};
    test_every_allocation_failing(search_failing, &f);
  }
  tear_down(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_slow_network_makes_stages),
      cmocka_unit_test(equal_slices_have_equal_texts),
      cmocka_unit_test(stages_fit_with_all_that_is_in_flight),
      cmocka_unit_test(the_grid_has_every_factorization),
      cmocka_unit_test(rows_that_do_not_fit_stay),
      cmocka_unit_test(points_of_the_grid_are_fitted),
      cmocka_unit_test(one_device_is_cut_nowhere),
      cmocka_unit_test(chains_are_placed_apart),
      cmocka_unit_test(reports_are_text_and_json),
      cmocka_unit_test(machines_of_many_axes_are_refused),
      cmocka_unit_test(searches_can_be_cancelled),
      cmocka_unit_test(failing_allocations_lose_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
