// What is said of a plan beyond its figures: rivals, why they lost, and splits that sizes
// did not allow; as text, as JSON, and in files.
// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "pcg/plan/plan_analysis.h"
#include "pcg/plan/plan_json.h"
#include "pcg/plan/plan_report.h"
#include "pcg/plan/plan_rivals.h"
#include "tests/unit/plan_kit.h"

static const eg_mesh GPUS = {.axis_count = 1, .axes = {{"gpu", 4}}};

// ---- rivals ---------------------------------------------------------------------------

/// Two figures that differ by work and by exchanges on axes of the same name.
static void the_largest_differences_are_the_reasons(void **state) {
  (void)state;
  static const eg_mesh grid = {.axis_count = 2, .axes = {{"node", 2}, {"gpu", 4}}};
  eg_plan_summary plan = {.mesh = GPUS}, other = {.mesh = grid};
  eg_plan_rival rival = {.reason_count = 7};
  plan.node_seconds[EG_PHASE_FORWARD] = 1;
  other.node_seconds[EG_PHASE_BACKWARD] = 3; // 2 more
  plan.exchange[EG_PHASE_FORWARD][0][EG_TRANSITION_ALL_REDUCE].seconds = 10;
  other.exchange[EG_PHASE_FORWARD][1][EG_TRANSITION_ALL_REDUCE] =
      (eg_exchange_sum){1, 64, 15}; // 5 more, on gpu
  other.exchange[EG_PHASE_UPDATE][0][EG_TRANSITION_ALL_GATHER] =
      (eg_exchange_sum){2, 32, 1}; // 1 more, on node
  other.exchange[EG_PHASE_BACKWARD][1][EG_TRANSITION_ALL_TO_ALL] =
      (eg_exchange_sum){1, 16, 2}; // 2 more, as much as work, and after it
  eg_plan_rival_explain(&rival, &plan, &other);
  assert_int_equal(rival.reason_count, 3);
  assert_string_equal(eg_rival_reason_kind(&rival.reasons[0]), "all-reduce");
  assert_string_equal(rival.reasons[0].axis, "gpu");
  assert_true(rival.reasons[0].seconds == 5 && rival.reasons[0].bytes == 64);
  assert_string_equal(eg_rival_reason_kind(&rival.reasons[1]), "work");
  assert_true(rival.reasons[1].seconds == 2);
  assert_int_equal(rival.reasons[2].phase, EG_PHASE_BACKWARD);
  assert_string_equal(eg_rival_reason_kind(&rival.reasons[2]), "all-to-all");
  eg_plan_rival_explain(&rival, &other, &other);
  assert_int_equal(rival.reason_count, 0);
}

static void add_rival(eg_plan *plan, const eg_plan_rival *rival, const char *name) {
  eg_plan_rival mine = *rival;
  (void)snprintf(mine.name, sizeof mine.name, "%s", name);
  assert_ok(eg_plan_rivals_push(&plan->rivals, mine));
}

static void add_rivals(eg_plan *plan) {
  eg_plan_rival slow = {.outcome = EG_RIVAL_FITS,
                        .mesh = plan->mesh,
                        .seconds = 3,
                        .memory = 2e9,
                        .reason_count = 2,
                        .reasons = {{.exchange = EG_TRANSITION_ALL_REDUCE,
                                     .phase = EG_PHASE_BACKWARD,
                                     .axis = "gpu",
                                     .seconds = 1.25,
                                     .bytes = 4e6},
                                    {.exchange = EG_EXCHANGES, .seconds = 0.5}}};
  add_rival(plan, &slow, "slow");
  eg_plan_rival large = {.outcome = EG_RIVAL_TOO_LARGE,
                         .mesh = {.axis_count = 1, .axes = {{"all", 8}}},
                         .seconds = 4,
                         .memory = 5e9,
                         .least_memory = 3e9,
                         .excess = 1e9};
  add_rival(plan, &large, "large");
  add_rival(plan, &(eg_plan_rival){.outcome = EG_RIVAL_IMPOSSIBLE, .mesh = plan->mesh},
            "odd");
  add_rival(plan, &(eg_plan_rival){.outcome = EG_RIVAL_FORBIDDEN, .mesh = plan->mesh},
            "barred");
  add_rival(plan, &(eg_plan_rival){.outcome = EG_RIVAL_UNKNOWN, .mesh = plan->mesh},
            "late");
  eg_plan_rival uneven = {
      .outcome = EG_RIVAL_UNEVEN, .mesh = plan->mesh, .parts = 8, .batch = 6};
  add_rival(plan, &uneven, "cut");
  uneven.batch = 0;
  add_rival(plan, &uneven, "thin");
}

static void rivals_are_told_line_by_line(void **state) {
  (void)state;
  eg_plan plan;
  eg_text text;
  eg_plan_init(&plan, eg_allocator_heap());
  eg_text_init(&text, eg_allocator_heap());
  plan.mesh = GPUS;
  add_rivals(&plan);
  eg_plan_summary summary = {.mesh = GPUS, .seconds = 2};
  assert_ok(eg_plan_rivals_print(&text, &plan, &summary));
  assert_string_equal(
      eg_text_of(&text),
      "baseline    slow: 3 s (50 % more), 2 GB, fits; more seconds: all-reduce over gpu "
      "in "
      "backward +1.25 s (4 MB), computing +500 ms\n"
      "baseline    large on all=8: does not fit: it takes at least 3 GB, 1 GB beyond the "
      "limit; without the limit 4 s and 5 GB\n"
      "baseline    odd: not possible for this step\n"
      "baseline    barred: not possible under the constraints\n"
      "baseline    late: none was found within the limits of the search\n"
      "baseline    cut: the batch of 6 does not divide by 8\n"
      "baseline    thin: no weight divides by 8\n");
  eg_text_deinit(&text);
  eg_plan_deinit(&plan);
}

static void save(const eg_plan *plan, eg_text *out) {
  eg_text_init(out, eg_allocator_heap());
  assert_ok(eg_plan_write_json(plan, out));
}

static egraph_status load(const char *text, eg_loaded_plan *out) {
  return eg_plan_parse_json(eg_allocator_heap(), "p.json", text, strlen(text), out);
}

static void rivals_are_in_the_file(void **state) {
  (void)state;
  eg_emitted_plan made;
  eg_loaded_plan loaded;
  eg_text first, second;
  plan_make(&PLAN_CASES[0], &made);
  add_rivals(&made.plan);
  made.plan.single_seconds = 7;
  made.plan.peak_seconds = 0.5;
  save(&made.plan, &first);
  assert_ok(load(eg_text_of(&first), &loaded));
  assert_int_equal(loaded.plan.rivals.len, 7);
  const eg_plan_rival *slow = &loaded.plan.rivals.data[0];
  assert_string_equal(slow->name, "slow");
  assert_true(slow->outcome == EG_RIVAL_FITS && slow->seconds == 3 &&
              slow->memory == 2e9);
  assert_int_equal(slow->reason_count, 2);
  assert_true(slow->reasons[0].seconds == 1.25 && slow->reasons[0].bytes == 4e6);
  assert_int_equal(slow->reasons[1].exchange, EG_EXCHANGES);
  assert_string_equal(loaded.plan.rivals.data[1].mesh.axes[0].name, "all");
  assert_true(loaded.plan.rivals.data[1].excess == 1e9);
  assert_true(loaded.plan.rivals.data[5].batch == 6 &&
              loaded.plan.rivals.data[5].parts == 8);
  assert_true(loaded.plan.single_seconds == 7 && loaded.plan.peak_seconds == 0.5);
  save(&loaded.plan, &second);
  assert_string_equal(eg_text_of(&first), eg_text_of(&second));
  eg_text_deinit(&first);
  eg_text_deinit(&second);
  eg_loaded_plan_deinit(&loaded);
  eg_emitted_plan_deinit(&made);
}

/// Loads the file with one piece of text in place of another.
static void fails_with(const char *text, const char *piece, const char *other,
                       const char *message) {
  eg_text broken;
  eg_loaded_plan loaded;
  const char *at = strstr(text, piece);
  assert_non_null(at);
  eg_text_init(&broken, eg_allocator_heap());
  assert_ok(eg_text_append_bytes(&broken, text, (size_t)(at - text)));
  assert_ok(eg_text_append(&broken, other));
  assert_ok(eg_text_append(&broken, at + strlen(piece)));
  assert_fails(load(eg_text_of(&broken), &loaded), EGRAPH_E_PARSE, message);
  eg_text_deinit(&broken);
}

#define TEN "ten lettrs"
static void broken_rivals_are_refused(void **state) {
  (void)state;
  eg_emitted_plan made;
  eg_text text;
  plan_make(&PLAN_CASES[0], &made);
  add_rivals(&made.plan);
  save(&made.plan, &text);
  const char *whole = eg_text_of(&text), *where = "; at $.baselines[0]";
  fails_with(whole, "\"slow\"", "\"\"", where);
  fails_with(
      whole, "\"slow\"",
      "\"" TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
      "\"",
      where);
  fails_with(whole, "\"outcome\": \"fits\"", "\"outcome\": \"wins\"", where);
  fails_with(whole, "\"outcome\": \"fits\", \"mesh\": \"gpu=4\"",
             "\"outcome\": \"fits\", \"mesh\": \"gpu\"", "'gpu' is no mesh");
  fails_with(whole, "\"kind\": \"work\"", "\"kind\": \"sleep\"", where);
  fails_with(whole, "\"kind\": \"work\"", "\"kind\": \"halo\"", where);
  fails_with(whole, "\"kind\": \"work\"", "\"kind\": \"work\", \"axis\": \"gpu\"", where);
  fails_with(whole, "\"phase\": \"backward\", \"axis\": \"gpu\", \"bytes\"",
             "\"phase\": \"backward\", \"axis\": \"cpu\", \"bytes\"", where);
  fails_with(whole, "\"kind\": \"all-reduce\", \"phase\": \"backward\"",
             "\"kind\": \"all-reduce\", \"phase\": \"noon\"", where);
  eg_text_deinit(&text);
  eg_emitted_plan_deinit(&made);
}

// ---- unevens --------------------------------------------------------------------------

// 4 divides 8 rows and 16 inner columns, but not 6 columns, nor anything of z.
#define UNEVEN_GRAPH                                                                     \
  "(egraph-graph 1)(input x \"float32[8,16]\")(weight w \"float32[16,6]\")"              \
  "(input z \"float32[10,3]\")"                                                          \
  "(let y (matmul x w))(let e (exp z))(output y)(output e)"
static const plan_case UNEVEN = {UNEVEN_GRAPH, "gpu=4", 1, 1e-12};

/// exp is repeated, and of both dimensions 10 saves more: a device would have 3 of 10.
/// The product saves nothing, it is split by rows or inner columns instead.
static void splits_that_sizes_forbid_are_found(void **state) {
  (void)state;
  eg_emitted_plan made;
  eg_plan_summary summary;
  eg_text text;
  plan_make(&UNEVEN, &made);
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_plan_summary_make(&made.plan, eg_allocator_heap(), &summary));
  assert_ok(eg_plan_remarks_print(&text, &made.plan, &summary));
  assert_non_null(
      strstr(eg_text_of(&text),
             "uneven      e (exp): dimension 0 of e is 10, which gpu=4 does not "
             "divide; every device repeats "));
  assert_non_null(strstr(eg_text_of(&text),
                         "uneven      3 splits of 2 operators in all do not divide\n"));
  eg_text_clear(&text);
  assert_ok(eg_plan_remarks_write_members(&text, &made.plan));
  static const char begin[] =
      "\"baselines\": [], \"uneven\": {\"operators\": 2, \"splits\": 3, \"worst\": "
      "[{\"value\": \"e\", \"operator\": \"exp\", \"tensor\": \"e\", \"dimension\": 0, "
      "\"size\": 10, \"axis\": \"gpu\", \"devices\": 4, \"splits\": 2, \"seconds\": ";
  static const char between[] = ", \"saved_seconds\": ";
  assert_memory_equal(eg_text_of(&text), begin, sizeof begin - 1);
  char *at;
  double seconds = strtod(eg_text_of(&text) + sizeof begin - 1, &at);
  assert_memory_equal(at, between, sizeof between - 1);
  double saved = strtod(at + sizeof between - 1, &at);
  assert_true(seconds > 0 && fabs(saved - 0.7 * seconds) <= 1e-12 * seconds);
  assert_memory_equal(at, "}]}", 3);
  eg_text_deinit(&text);
  eg_emitted_plan_deinit(&made);
}

// Sums run over everything, so that no part of them can be put together with another.
#define WHOLE_GRAPH                                                                      \
  "(egraph-graph 1)(input x \"float32[64]\")(input s \"float32[]\")"                     \
  "(let y (cum-sum :axis 0 x))(let r (softmax :axis 0 x))(let e (exp s))"                \
  "(output y)(output r)(output e)"

static void operators_that_cannot_be_split_say_why(void **state) {
  (void)state;
  static const plan_case whole = {WHOLE_GRAPH, "node=2,gpu=4", 1, 1e-12};
  eg_emitted_plan made;
  eg_plan_summary summary;
  eg_text text;
  plan_make(&whole, &made);
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_plan_summary_make(&made.plan, eg_allocator_heap(), &summary));
  assert_ok(eg_plan_remarks_print(&text, &made.plan, &summary));
  assert_non_null(strstr(eg_text_of(&text),
                         "repeated    y (cum-sum) cannot be split: every "
                         "element needs all before it; every device repeats "));
  assert_non_null(strstr(eg_text_of(&text),
                         "repeated    r (softmax) cannot be split: every element needs "
                         "the sum of all; the loss is written as sums; every device "
                         "repeats "));
  assert_non_null(
      strstr(eg_text_of(&text), "repeated    2 operators in all cannot be split"));
  eg_text_clear(&text);
  assert_ok(eg_plan_remarks_write_members(&text, &made.plan));
  assert_non_null( // a scalar has no parts
      strstr(eg_text_of(&text), "\"repeated\": {\"operators\": 2, \"worst\": ["));
  assert_non_null(strstr(eg_text_of(&text),
                         "\"operator\": \"cum-sum\", \"why\": \"every element needs all "
                         "before it\", \"seconds\": "));
  eg_text_deinit(&text);
  eg_emitted_plan_deinit(&made);
}

/// Delivers an output of a plan in the layout in which its value is made.
static void leave_as_made(eg_plan *plan, uint32_t output) {
  uint32_t value = plan->states.data[plan->output_states.data[output]].value.id;
  for (uint32_t s = 0; s < plan->states.len; s++)
    if (plan->states.data[s].value.id == value) {
      plan->output_states.data[output] = s;
      return;
    }
}

static void layouts_of_outputs_are_told(void **state) {
  (void)state;
  eg_emitted_plan made;
  eg_plan_summary summary;
  eg_text text;
  static const plan_case even = {
      "(egraph-graph 1)(input x \"float32[64,64]\")(let y (exp x))(output out y)",
      "gpu=4", 1, 1e-15};
  plan_make(&even, &made);
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_plan_summary_make(&made.plan, eg_allocator_heap(), &summary));
  assert_ok(eg_plan_remarks_print(&text, &made.plan, &summary));
  assert_null(strstr(eg_text_of(&text), "delivered")); // whole, as always
  leave_as_made(&made.plan, 0);
  assert_ok(eg_plan_check(&made.plan, eg_allocator_heap()));
  assert_ok(eg_plan_remarks_print(&text, &made.plan, &summary));
  assert_non_null(
      strstr(eg_text_of(&text), "delivered   out: rows (dimension 0) over gpu\n"));
  eg_text_clear(&text);
  assert_ok(eg_plan_remarks_write_members(&text, &made.plan));
  assert_non_null(strstr(eg_text_of(&text),
                         ", \"delivered\": [{\"output\": \"out\", \"layout\": \"S0\"}]"));
  eg_text_deinit(&text);
  eg_emitted_plan_deinit(&made);
}

static void even_plans_have_no_remarks(void **state) {
  (void)state;
  eg_emitted_plan made;
  eg_plan_summary summary;
  eg_text text;
  static const plan_case even = {UNEVEN_GRAPH, "", 1, 1e-12}; // one device
  plan_make(&even, &made);
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_plan_summary_make(&made.plan, eg_allocator_heap(), &summary));
  assert_ok(eg_plan_remarks_print(&text, &made.plan, &summary));
  assert_string_equal(eg_text_of(&text), "");
  eg_text_deinit(&text);
  eg_emitted_plan_deinit(&made);
}

// ---- the answer -----------------------------------------------------------------------

static void print_answer(const eg_plan *plan, double limit, eg_text *out) {
  eg_plan_summary summary;
  assert_ok(eg_plan_summary_make(plan, eg_allocator_heap(), &summary));
  eg_text_clear(out);
  assert_ok(eg_plan_answer_print(out, plan, &summary, limit));
}

static void has(const eg_text *text, const char *part) {
  if (strstr(eg_text_of(text), part) == NULL)
    fail_msg("no '%s' in\n%s", part, eg_text_of(text));
}

static void the_answer_stands_first(void **state) {
  (void)state;
  eg_emitted_plan made;
  eg_plan_summary summary;
  eg_text text;
  plan_make(&UNEVEN, &made);
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_plan_summary_make(&made.plan, eg_allocator_heap(), &summary));
  made.plan.single_seconds = 3 * summary.seconds;
  made.plan.peak_seconds = 0.25 * summary.seconds;
  print_answer(&made.plan, 80e9, &text);
  assert_memory_equal(eg_text_of(&text), "step        ", 12);
  has(&text, " on gpu=4: 4 devices\nspeedup     3 times as fast as one device (");
  has(&text, "\npeak        25 % of the machine's peak\nmemory      ");
  has(&text, " of 80 GB on every device\nbottleneck  computing ");
  has(&text, "\nBLOCKS, ");
  assert_null(strstr(eg_text_of(&text), "warning"));
  for (size_t i = 0; i < made.plan.steps.len; i++)
    made.plan.steps.data[i].basis = EG_PRICE_GUESSED;
  print_answer(&made.plan, summary.peak, &text);
  has(&text, "; memory is 100 % full\n");
  has(&text, " of the seconds are costs of operators guessed from the machine's figures, "
             "not measured\n");
  eg_text_deinit(&text);
  eg_emitted_plan_deinit(&made);
}

static void idle_axes_are_a_warning(void **state) {
  (void)state;
  eg_emitted_plan made;
  eg_text text;
  plan_make(&UNEVEN, &made);
  eg_text_init(&text, eg_allocator_heap());
  assert_int_equal(eg_plan_useful_devices(&made.plan), 4);
  for (size_t i = 0; i < made.plan.states.len; i++)
    made.plan.states.data[i].layout.sharding[0] = EG_SHARD_R;
  made.plan.single_seconds = 1e-12;
  print_answer(&made.plan, INFINITY, &text);
  has(&text, "peak        unknown: ");
  has(&text,
      "warning     all devices along gpu=4 repeat the same work: 1 device of 4 would "
      "do\n");
  has(&text, "warning     this plan wins nothing over one device\n");
  made.plan.single_seconds = 0;
  print_answer(&made.plan, INFINITY, &text);
  has(&text, "speedup     unknown: ");
  eg_text_clear(&text);
  assert_ok(eg_plan_remarks_write_members(&text, &made.plan));
  has(&text, ", \"useful_devices\": 1, \"idle_axes\": [\"gpu\"], "
             "\"single_device_seconds\": null, \"peak_seconds\": null");
  eg_text_deinit(&text);
  eg_emitted_plan_deinit(&made);
}

static void a_peak_is_of_all_operators_on_all_devices(void **state) {
  (void)state;
  eg_emitted_plan made;
  static const plan_case product = {
      "(egraph-graph 1)(input x \"float32[8,16]\")(weight w "
      "\"float32[16,32]\")(let y (matmul x w))(output y)",
      "gpu=4", 2, 1e-12};
  plan_make(&product, &made);
  eg_machine machine = {.peak_flops = {[EGRAPH_FLOAT32] = 1e6}};
  assert_ok(eg_plan_find_peak(&made.plan, eg_allocator_heap(), &machine));
  double flops = 2.0 * 2 * 8 * 16 * 32; // of two micro-batches
  assert_true(fabs(made.plan.peak_seconds - flops / 4e6) < 1e-9);
  eg_emitted_plan_deinit(&made);
}

// Six equal blocks; what is before and behind them.
static void equal_blocks_are_told_once(void **state) {
  (void)state;
  eg_emitted_plan made;
  eg_text graph, text;
  eg_text_init(&graph, eg_allocator_heap());
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_text_append(&graph, "(egraph-graph 1)(input x \"float32[8,10]\")"
                                   "(weight w \"float32[10,16]\")(let h0 (matmul x w))"));
  for (int i = 0; i < 6; i++) {
    assert_ok(eg_text_printf(&graph, "(weight a%d \"float32[16,16]\")", i));
    assert_ok(eg_text_printf(&graph, "(let m%d (matmul h%d a%d))", i, i, i));
    assert_ok(
        eg_text_printf(&graph, "(let r%d (relu m%d))(let s%d (sin r%d))", i, i, i, i));
    assert_ok(eg_text_printf(&graph, "(let h%d (cos s%d))", i + 1, i));
  }
  assert_ok(
      eg_text_append(&graph, "(let y (reduce-sum :axes [0] :keepdims 0 h6))(output y)"));
  const plan_case blocks = {eg_text_of(&graph), "gpu=2", 1, 1};
  plan_make(&blocks, &made);
  print_answer(&made.plan, INFINITY, &text);
  has(&text, "\nbefore the blocks: ");
  has(&text, "\nblocks 1 to 6 (6 times): ");
  has(&text, " each; names are those of block 1\n");
  has(&text, "  activations  m0, r0, s0, h1: ");
  has(&text, "\nbehind the blocks: ");
  eg_text_deinit(&text);
  eg_text_deinit(&graph);
  eg_emitted_plan_deinit(&made);
}

// ---- allocations ----------------------------------------------------------------------

static egraph_status everything(egraph_allocator alloc, void *user) {
  const char *file = user;
  eg_loaded_plan loaded;
  eg_plan_summary summary;
  eg_text text;
  EG_TRY(eg_plan_parse_json(alloc, "p.json", file, strlen(file), &loaded));
  eg_text_init(&text, alloc);
  egraph_status status = eg_plan_summary_make(&loaded.plan, alloc, &summary);
  if (status == EGRAPH_OK)
    status = eg_plan_answer_print(&text, &loaded.plan, &summary, 1e9);
  if (status == EGRAPH_OK) status = eg_plan_remarks_print(&text, &loaded.plan, &summary);
  if (status == EGRAPH_OK) status = eg_plan_remarks_write_members(&text, &loaded.plan);
  if (status == EGRAPH_OK) status = eg_plan_write_json(&loaded.plan, &text);
  eg_text_deinit(&text);
  eg_loaded_plan_deinit(&loaded);
  return status;
}

static void failing_allocations_are_survived(void **state) {
  (void)state;
  eg_emitted_plan made;
  eg_text text;
  plan_make(&UNEVEN, &made);
  add_rivals(&made.plan);
  save(&made.plan, &text);
  test_every_allocation_failing(everything, text.chars.data);
  eg_text_deinit(&text);
  eg_emitted_plan_deinit(&made);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_largest_differences_are_the_reasons),
      cmocka_unit_test(rivals_are_told_line_by_line),
      cmocka_unit_test(rivals_are_in_the_file),
      cmocka_unit_test(broken_rivals_are_refused),
      cmocka_unit_test(splits_that_sizes_forbid_are_found),
      cmocka_unit_test(operators_that_cannot_be_split_say_why),
      cmocka_unit_test(layouts_of_outputs_are_told),
      cmocka_unit_test(even_plans_have_no_remarks),
      cmocka_unit_test(the_answer_stands_first),
      cmocka_unit_test(idle_axes_are_a_warning),
      cmocka_unit_test(a_peak_is_of_all_operators_on_all_devices),
      cmocka_unit_test(equal_blocks_are_told_once),
      cmocka_unit_test(failing_allocations_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
