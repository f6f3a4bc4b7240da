// Plans, summaries and differences as texts, letter by letter.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_diff.h"
#include "pcg/plan/plan_json.h"
#include "pcg/plan/plan_report.h"
#include "pcg/plan/plan_words.h"
#include "tests/testing.h"

#include <math.h>

#define STATE(value, layout) "{\"value\": \"" value "\", \"layout\": \"" layout "\"}"
#define MOVE(phase, kind, from, to)                                                      \
  "{\"phase\": \"" phase "\", \"move\": \"" kind                                         \
  "\", \"axis\": \"gpu\", \"from\": " from ", \"to\": " to ", \"seconds\": 0.0025}"

// Every kind of move, in two micro-batches.
static const char MOVES[] =
    "{\"egraph-plan\": 1, \"mesh\": \"gpu=2\", \"micro_batches\": 2, \"graph\": ["
    "\"(egraph-graph 1)\", \"(input x \\\"float32[4,6]\\\")\","
    "\"(input w \\\"float32[6,8]\\\")\", \"(let y (matmul x w))\", \"(let z (relu x))\","
    "\"(output y)\", \"(output next z)\"], \"states\": [" STATE("x", "S1") "," STATE("w", "S0") "," STATE("y", "P") "," STATE("y", "R") "," STATE("y", "S0") "," STATE("y", "S1") "," STATE(
        "y",
        "R") "," STATE("y",
                       "S1") "," STATE("y",
                                       "P") "," STATE("z",
                                                      "S1") "], \"steps\": ["
                                                            "{\"phase\": \"forward\", "
                                                            "\"node\": \"y\", "
                                                            "\"actions\": {\"gpu\": "
                                                            "\"split 2\"}, "
                                                            "\"operands\": [0, 1], "
                                                            "\"results\": [2], "
                                                            "\"seconds\": "
                                                            "0.0000015}," MOVE("forward", "all-reduce", "2", "3") "," MOVE(
                                                                "forward",
                                                                "reduce-scatter", "2",
                                                                "4") "," MOVE("backward",
                                                                              "all-to-"
                                                                              "all",
                                                                              "4",
                                                                              "5") "," MOVE("backward",
                                                                                            "all-gather",
                                                                                            "5",
                                                                                            "6") "," MOVE("update",
                                                                                                          "slice",
                                                                                                          "6",
                                                                                                          "7") "," MOVE("update",
                                                                                                                        "mask",
                                                                                                                        "6",
                                                                                                                        "8") ","
                                                                                                                             "{\"phase\": \"update\", \"node\": \"z\", \"actions\": {\"gpu\": \"split 1\"}, "
                                                                                                                             "\"operands\": [0], \"results\": [9], \"seconds\": 0}],"
                                                                                                                             "\"outputs\": [3, 9], \"carried\": [{\"output\": 1, \"entry\": \"x\"}]}";

// The same step with x replicated.
static const char FEWER[] =
    "{\"egraph-plan\": 1, \"mesh\": \"gpu=2\", \"micro_batches\": 1, \"graph\": ["
    "\"(egraph-graph 1)\", \"(input x \\\"float32[4,6]\\\")\","
    "\"(input w \\\"float32[6,8]\\\")\", \"(let y (matmul x w))\", \"(let v (neg x))\","
    "\"(output y)\", \"(output next v)\"], \"states\": [" STATE("x", "R") "," STATE(
        "w",
        "S1") "," STATE("y",
                        "S1") "," STATE("y",
                                        "R") "," STATE("v",
                                                       "R") "], \"steps\": ["
                                                            "{\"phase\": \"forward\", "
                                                            "\"node\": \"y\", "
                                                            "\"actions\": {\"gpu\": "
                                                            "\"split 1\"}, "
                                                            "\"operands\": [0, 1], "
                                                            "\"results\": [2], "
                                                            "\"seconds\": "
                                                            "0}," MOVE(
                                                                "backward", "all-gather",
                                                                "2",
                                                                "3") ","
                                                                     "{\"phase\": "
                                                                     "\"update\", "
                                                                     "\"node\": \"v\", "
                                                                     "\"operands\": [0], "
                                                                     "\"results\": [4], "
                                                                     "\"seconds\": 0}],"
                                                                     "\"outputs\": [3, "
                                                                     "4], \"carried\": "
                                                                     "[{\"output\": 1, "
                                                                     "\"entry\": "
                                                                     "\"x\"}]}";

static void load(const char *text, eg_loaded_plan *out) {
  assert_ok(eg_plan_parse_json(eg_allocator_heap(), "p", text, strlen(text), out));
}

static void expect_plan(const char *text, eg_plan_words words, const char *wanted) {
  eg_loaded_plan loaded;
  eg_text out;
  load(text, &loaded);
  eg_text_init(&out, eg_allocator_heap());
  assert_ok(eg_plan_print(&loaded.plan, words, &out));
  assert_string_equal(eg_text_of(&out), wanted);
  eg_text_deinit(&out);
  eg_loaded_plan_deinit(&loaded);
}

static void a_plan_has_a_line_per_step(void **state) {
  (void)state;
  expect_plan(MOVES, EG_PLAN_COLLECTIVES,
              "STEPS on gpu=2, 2 micro-batches\n"
              "inputs, weights and states\n"
              "  x@S1: float32[4,3] of float32[4,6]\n"
              "  w@S0: float32[3,8] of float32[6,8]\n"
              "forward\n"
              "  y@P = matmul x@S1 w@S0 [the summed columns (dimension 1) of x over "
              "gpu], 1.5 us\n"
              "  all-reduce y P -> R over gpu, 128 B, 2.5 ms\n"
              "  reduce-scatter y P -> S0 over gpu, 128 B, 2.5 ms\n"
              "backward\n"
              "  all-to-all y S0 -> S1 over gpu, 128 B, 2.5 ms\n"
              "  all-gather y S1 -> R over gpu, 128 B, 2.5 ms\n"
              "update\n"
              "  slice y R -> S1 over gpu, 2.5 ms\n"
              "  mask y R -> P over gpu, 2.5 ms\n"
              "  z@S1 = relu x@S1 [columns (dimension 1) of z over gpu]\n"
              "outputs\n"
              "  y@R\n"
              "  z@S1 as next, the next x\n");
}

static void unity_has_one_or_two_operators_per_move(void **state) {
  (void)state;
  expect_plan(MOVES, EG_PLAN_UNITY,
              "STEPS on gpu=2, 2 micro-batches\n"
              "inputs, weights and states\n"
              "  x@S1: float32[4,3] of float32[4,6]\n"
              "  w@S0: float32[3,8] of float32[6,8]\n"
              "forward\n"
              "  y@P = matmul x@S1 w@S0 [the summed columns (dimension 1) of x over "
              "gpu], 1.5 us\n"
              "  Reduce(2) y P -> R over gpu, 128 B, 2.5 ms\n"
              "  Reduce(2), Partition(0, 2) y P -> S0 over gpu, 128 B, 2.5 ms\n"
              "backward\n"
              "  Combine(0, 2), Partition(1, 2) y S0 -> S1 over gpu, 128 B, 2.5 ms\n"
              "  Combine(1, 2) y S1 -> R over gpu, 128 B, 2.5 ms\n"
              "update\n"
              "  Partition(1, 2) y R -> S1 over gpu, 2.5 ms\n"
              "  Replicate(2) y R -> P over gpu, 2.5 ms\n"
              "  z@S1 = relu x@S1 [columns (dimension 1) of z over gpu]\n"
              "outputs\n"
              "  y@R\n"
              "  z@S1 as next, the next x\n");
}

// A made-up name says what it is: by the update, which reads the gradient of the shape.
static void made_up_names_say_what_they_are(void **state) {
  (void)state;
  static const char STEP[] =
      "{\"egraph-plan\": 1, \"mesh\": \"gpu=2\", \"micro_batches\": 1, \"graph\": ["
      "\"(egraph-graph 1)\", \"(input x \\\"float32[4,6]\\\")\","
      "\"(input w \\\"float32[4,6]\\\")\", \"(let v1 (mul x w))\","
      "\"(let v2 (neg v1))\", \"(let v3 (sub w v2))\", \"(output loss v1)\","
      "\"(output w v3)\"], \"states\": [" STATE("x", "R") "," STATE("w", "R") "," STATE(
          "v1", "R") "," STATE("v2",
                               "R") "," STATE("v3",
                                              "R") "], \"steps\": ["
                                                   "{\"phase\": \"forward\", \"node\": "
                                                   "\"v1\", \"operands\": [0, 1], "
                                                   "\"results\": [2], \"seconds\": 0},"
                                                   "{\"phase\": \"backward\", \"node\": "
                                                   "\"v2\", \"operands\": [2], "
                                                   "\"results\": [3], \"seconds\": 0},"
                                                   "{\"phase\": \"update\", \"node\": "
                                                   "\"v3\", \"operands\": [1, 3], "
                                                   "\"results\": [4], \"seconds\": 0}],"
                                                   "\"outputs\": [2, 4], \"carried\": "
                                                   "[{\"output\": 1, \"entry\": \"w\"}]}";
  expect_plan(STEP, EG_PLAN_COLLECTIVES,
              "STEPS on gpu=2\n"
              "inputs, weights and states\n"
              "  x@R: float32[4,6]\n"
              "  w@R: float32[4,6]\n"
              "forward\n"
              "  v1@R (loss) = mul x@R w@R [repeated]\n"
              "backward\n"
              "  v2@R (gradient of w) = neg v1@R [repeated]\n"
              "update\n"
              "  v3@R (new w) = sub w@R v2@R [repeated]\n"
              "outputs\n"
              "  v1@R as loss\n"
              "  v3@R as w, the next w\n");
}

// x: 48 bytes of a device, w: 96. The output y@R is a sum of micro-batches, as is what
// update needs of y; the last micro-batch adds to both what it makes, y@P and y@S0.
static void a_summary_tells_time_exchanges_and_memory(void **state) {
  (void)state;
  eg_loaded_plan loaded;
  eg_plan_summary summary;
  eg_text out;
  load(MOVES, &loaded);
  assert_ok(eg_plan_summary_make(&loaded.plan, eg_allocator_heap(), &summary));
  eg_text_init(&out, eg_allocator_heap());
  assert_ok(eg_plan_summary_print(&out, &summary));
  assert_ok(eg_plan_exchanges_print(&out, &summary));
  assert_string_equal(
      eg_text_of(&out),
      "SECONDS of a step: 25 ms\n"
      "  forward                       3 us computing, 10 ms exchanging\n"
      "  backward                      0 s computing, 10 ms exchanging\n"
      "  update                        0 s computing, 5 ms exchanging\n"
      "MEMORY of a device: 720 B at the peak, in step 4\n"
      "  weights, optimizer states     48 B at the peak, 48 B at most\n"
      "  inputs, constants             96 B at the peak, 96 B at most\n"
      "  saved for backward            0 B at the peak, 64 B at most\n"
      "  gradients for the update      128 B at the peak, 128 B at most\n"
      "  outputs                       128 B at the peak, 128 B at most\n"
      "  temporary                     192 B at the peak, 256 B at most\n"
      "  scratch of exchanges          128 B at the peak, 128 B at most\n"
      "\nEXCHANGES of a step\n"
      "phase     kind            axis        times  bytes    seconds  share   result\n"
      "forward   reduce-scatter  gpu             2  256 B    5 ms     20 %    partial "
      "sums "
      "become parts\n"
      "forward   all-reduce      gpu             2  256 B    5 ms     20 %    partial "
      "sums "
      "become whole\n"
      "backward  all-gather      gpu             2  256 B    5 ms     20 %    parts "
      "become "
      "whole\n"
      "backward  all-to-all      gpu             2  256 B    5 ms     20 %    parts "
      "become "
      "parts of another dimension\n");
  eg_text_deinit(&out);
  eg_loaded_plan_deinit(&loaded);
}

static void a_difference_tells_layouts_moves_and_totals(void **state) {
  (void)state;
  eg_loaded_plan before, after;
  eg_plan_diff diff;
  eg_text out;
  load(MOVES, &before);
  load(FEWER, &after);
  assert_ok(eg_plan_diff_make(&before.plan, &after.plan, eg_allocator_heap(), &diff));
  eg_loaded_plan_deinit(&before); // the difference has texts of its own
  eg_loaded_plan_deinit(&after);
  eg_text_init(&out, eg_allocator_heap());
  assert_ok(eg_plan_diff_print(&out, &diff));
  assert_string_equal(eg_text_of(&out),
                      "gpu=2, micro-batches 2 -> gpu=2, micro-batches 1\n"
                      "x: S1 -> R\n"
                      "w: S0 -> S1\n"
                      "y: P R S0 S1 R S1 P -> S1 R\n"
                      "z: S1 -> nothing\n"
                      "v: nothing -> R\n"
                      "- forward all-reduce y P -> R over gpu, 128 B, 2.5 ms\n"
                      "- forward reduce-scatter y P -> S0 over gpu, 128 B, 2.5 ms\n"
                      "- backward all-to-all y S0 -> S1 over gpu, 128 B, 2.5 ms\n"
                      "- update slice y R -> S1 over gpu, 2.5 ms\n"
                      "- update mask y R -> P over gpu, 2.5 ms\n"
                      "time: 25 ms -> 2.5 ms\n"
                      "forward, computing: 3 us -> 0 s\n"
                      "forward, exchanging: 10 ms -> 0 s\n"
                      "backward, exchanging: 10 ms -> 2.5 ms\n"
                      "update, exchanging: 5 ms -> 0 s\n"
                      "memory: 720 B -> 512 B\n"
                      "memory, most for weights, optimizer states: 48 B -> 96 B\n"
                      "memory, most for gradients for the update: 128 B -> 0 B\n"
                      "memory, most for temporary: 256 B -> 0 B\n");
  eg_text_clear(&out);
  diff.before = diff.after;
  diff.layouts.len = 1;
  diff.moves.len = 1;
  assert_ok(eg_plan_diff_write_json(&out, &diff));
#define SUMMARY                                                                          \
  "{\"devices\": 2, \"micro_batches\": 1, \"seconds\": 0.0025, \"phases\": ["            \
  "{\"phase\": \"forward\", \"node_seconds\": 0, \"move_seconds\": 0}, "                 \
  "{\"phase\": \"backward\", \"node_seconds\": 0, \"move_seconds\": 0.0025}, "           \
  "{\"phase\": \"update\", \"node_seconds\": 0, \"move_seconds\": 0}], "                 \
  "\"memory_bytes\": 512, \"memory\": {"                                                 \
  "\"carried\": {\"at_peak\": 96, \"most\": 96}, "                                       \
  "\"inputs\": {\"at_peak\": 96, \"most\": 96}, "                                        \
  "\"stashes\": {\"at_peak\": 64, \"most\": 64}, "                                       \
  "\"accumulators\": {\"at_peak\": 0, \"most\": 0}, "                                    \
  "\"outputs\": {\"at_peak\": 128, \"most\": 128}, "                                     \
  "\"transient\": {\"at_peak\": 0, \"most\": 0}, "                                       \
  "\"scratch\": {\"at_peak\": 128, \"most\": 128}}, \"peak_step\": 1, \"collectives\": " \
  "["                                                                                    \
  "{\"phase\": \"backward\", \"kind\": \"all-gather\", \"axis\": \"gpu\", "              \
  "\"count\": 1, \"bytes\": 128, \"seconds\": 0.0025}]}"
  assert_string_equal(
      eg_text_of(&out),
      "{\"layouts\": [{\"value\": \"x\", \"before\": \"S1\", \"after\": \"R\"}], "
      "\"outputs\": [], \"moves\": [{\"change\": \"removed\", \"phase\": \"forward\", "
      "\"kind\": \"all-reduce\", \"value\": \"y\", \"axis\": \"gpu\", \"from\": \"P\", "
      "\"to\": \"R\", \"bytes\": 128, \"seconds\": 0.0025}], "
      "\"before\": " SUMMARY ", \"after\": " SUMMARY "}");
#undef SUMMARY
  eg_text_deinit(&out);
  eg_plan_diff_deinit(&diff);
}

// ---- words ----------------------------------------------------------------------------

static void actions_are_found_by_their_names(void **state) {
  (void)state;
  for (uint32_t action = 0; action < EG_ACTION_SPLIT + EG_MAX_FACTORS; action++) {
    eg_text text;
    uint8_t found = 255;
    eg_text_init(&text, eg_allocator_heap());
    assert_ok(eg_action_print(&text, (uint8_t)action));
    assert_true(eg_action_find(eg_text_of(&text), &found));
    assert_int_equal(found, action);
    eg_text_deinit(&text);
  }
  static const char *const NONE[] = {"",        "split",   "split -1", "split 24",
                                     "pass 16", "pass  1", "replicat", "split 1 "};
  uint8_t found;
  for (size_t i = 0; i < sizeof NONE / sizeof *NONE; i++)
    assert_false(eg_action_find(NONE[i], &found));
}

static void layouts_are_told_in_words(void **state) {
  (void)state;
  static const eg_mesh grid = {.axis_count = 3,
                               .axes = {{"node", 2}, {"gpu", 4}, {"one", 1}}};
  static const struct {
    uint32_t rank;
    const char *layout, *words;
  } ROWS[] = {{2, "R,R,R", "whole on every device"},
              {2, "S0,S0,R", "rows (dimension 0) over node and gpu"},
              {2, "R,S1,R", "the same along node, columns (dimension 1) over gpu"},
              {3, "S2,P,R", "dimension 2 over node, partial sums over gpu"},
              {4, "M,R,R:nhwc", "partial maxima over node, the same along gpu, in nhwc"}};
  for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
    eg_text text;
    eg_layout layout;
    eg_text_init(&text, eg_allocator_heap());
    assert_ok(eg_layout_parse(&grid, ROWS[i].layout, &layout));
    assert_ok(eg_layout_words(&text, &grid, ROWS[i].rank, &layout));
    assert_string_equal(eg_text_of(&text), ROWS[i].words);
    eg_text_deinit(&text);
  }
}

static void amounts_have_the_largest_unit_that_fits(void **state) {
  (void)state;
  static const struct {
    double amount;
    bool is_bytes;
    const char *text;
  } ROWS[] = {{0, true, "0 B"},
              {999, true, "999 B"},
              {1000, true, "1 kB"},
              {4.25e6, true, "4.25 MB"},
              {999600, true, "1 MB"},
              {123456789, true, "123 MB"},
              {7.25e13, true, "72.5 TB"},
              {1e30, true, "over 1000000 TB"},
              {0, false, "0 s"},
              {2.5e-7, false, "250 ns"},
              {1.57e-3, false, "1.57 ms"},
              {90, false, "90 s"}};
  for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
    eg_text text;
    eg_text_init(&text, eg_allocator_heap());
    assert_ok(ROWS[i].is_bytes ? eg_text_bytes(&text, ROWS[i].amount)
                               : eg_text_seconds(&text, ROWS[i].amount));
    assert_string_equal(eg_text_of(&text), ROWS[i].text);
    eg_text_deinit(&text);
  }
}

/// Files of plans may say any number.
static void shares_of_nothing_are_unknown(void **state) {
  (void)state;
  static const struct {
    double share;
    const char *text;
  } ROWS[] = {{0.125, "12.5 %"},         {0, "0 %"},
              {(double)NAN, "? %"},      {-1e308, "? %"},
              {1e308, "over 1000000 %"}, {(double)INFINITY, "over 1000000 %"}};
  for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
    eg_text text;
    eg_text_init(&text, eg_allocator_heap());
    assert_ok(eg_text_percent(&text, ROWS[i].share));
    assert_string_equal(eg_text_of(&text), ROWS[i].text);
    eg_text_deinit(&text);
  }
}

// ---- allocations ----------------------------------------------------------------------

static egraph_status print_both(egraph_allocator alloc, void *user) {
  const eg_loaded_plan *loaded = user;
  eg_text text;
  eg_text_init(&text, alloc);
  egraph_status status = eg_plan_print(&loaded->plan, EG_PLAN_COLLECTIVES, &text);
  if (status == EGRAPH_OK) status = eg_plan_print(&loaded->plan, EG_PLAN_UNITY, &text);
  eg_text_deinit(&text);
  return status;
}

static void failing_allocations_are_survived(void **state) {
  (void)state;
  eg_loaded_plan loaded;
  load(MOVES, &loaded);
  test_every_allocation_failing(print_both, &loaded);
  eg_loaded_plan_deinit(&loaded);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_plan_has_a_line_per_step),
      cmocka_unit_test(unity_has_one_or_two_operators_per_move),
      cmocka_unit_test(made_up_names_say_what_they_are),
      cmocka_unit_test(a_summary_tells_time_exchanges_and_memory),
      cmocka_unit_test(a_difference_tells_layouts_moves_and_totals),
      cmocka_unit_test(actions_are_found_by_their_names),
      cmocka_unit_test(layouts_are_told_in_words),
      cmocka_unit_test(amounts_have_the_largest_unit_that_fits),
      cmocka_unit_test(shares_of_nothing_are_unknown),
      cmocka_unit_test(failing_allocations_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
