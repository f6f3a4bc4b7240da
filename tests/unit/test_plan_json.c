// Plans as files: saved, loaded and saved again; broken by hand.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan.h"
#include "pcg/plan/plan_json.h"
#include "tests/unit/plan_kit.h"

static void save(const eg_plan *plan, eg_text *out) {
  eg_text_init(out, eg_allocator_heap());
  assert_ok(eg_plan_write_json(plan, out));
}

static void save_case(uint32_t number, eg_text *out) {
  eg_emitted_plan made;
  plan_make(&PLAN_CASES[number], &made);
  save(&made.plan, out);
  eg_emitted_plan_deinit(&made);
}

static egraph_status load(const char *text, eg_loaded_plan *out) {
  return eg_plan_parse_json(eg_allocator_heap(), "p.json", text, strlen(text), out);
}

static void same_steps(const eg_plan *a, const eg_plan *b) {
  assert_int_equal(a->steps.len, b->steps.len);
  for (size_t i = 0; i < a->steps.len; i++) {
    const eg_plan_step *x = &a->steps.data[i], *y = &b->steps.data[i];
    assert_int_equal(x->is_move, y->is_move);
    assert_int_equal(x->phase, y->phase);
    assert_true(x->seconds == y->seconds);
    if (x->is_move) {
      assert_int_equal(x->from, y->from);
      assert_int_equal(x->to, y->to);
      assert_int_equal(x->transition.kind, y->transition.kind);
      assert_int_equal(x->transition.axis, y->transition.axis);
    } else {
      assert_memory_equal(x->action, y->action, a->mesh.axis_count);
      assert_int_equal(x->node.id, y->node.id);
    }
  }
}

static void same_states(const eg_plan *a, const eg_plan *b) {
  assert_int_equal(a->states.len, b->states.len);
  for (size_t i = 0; i < a->states.len; i++) {
    assert_int_equal(a->states.data[i].value.id, b->states.data[i].value.id);
    assert_int_equal(a->states.data[i].step, b->states.data[i].step);
    assert_true(
        eg_layout_same(&a->mesh, &a->states.data[i].layout, &b->states.data[i].layout));
  }
}

static void same_numbers(const eg_u32s *a, const eg_u32s *b) {
  assert_int_equal(a->len, b->len);
  if (a->len != 0) assert_memory_equal(a->data, b->data, a->len * sizeof *a->data);
}

static uint64_t digest_of(const eg_plan *plan) {
  uint64_t digest;
  assert_ok(eg_plan_digest(plan, eg_allocator_heap(), &digest));
  return digest;
}

static void a_loaded_plan_is_the_saved_one(void **state) {
  (void)state;
  for (uint32_t i = 0; i < PLAN_CASE_COUNT; i++) {
    eg_emitted_plan made;
    eg_loaded_plan loaded;
    eg_text first, second;
    plan_make(&PLAN_CASES[i], &made);
    save(&made.plan, &first);
    assert_ok(load(eg_text_of(&first), &loaded));
    assert_true(eg_mesh_same(&made.plan.mesh, &loaded.plan.mesh));
    assert_int_equal(made.plan.micro_batches, loaded.plan.micro_batches);
    same_states(&made.plan, &loaded.plan);
    same_steps(&made.plan, &loaded.plan);
    same_numbers(&made.plan.operands, &loaded.plan.operands);
    same_numbers(&made.plan.output_states, &loaded.plan.output_states);
    same_numbers(&made.plan.carried, &loaded.plan.carried);
    assert_true(digest_of(&made.plan) == digest_of(&loaded.plan));
    save(&loaded.plan, &second);
    assert_string_equal(eg_text_of(&first), eg_text_of(&second));
    eg_text_deinit(&first);
    eg_text_deinit(&second);
    eg_loaded_plan_deinit(&loaded);
    eg_emitted_plan_deinit(&made);
  }
}

static void a_file_is_read_as_its_text_is(void **state) {
  (void)state;
  eg_text first, second;
  eg_loaded_plan loaded;
  save_case(0, &first);
  assert_ok(eg_file_write("plan_json_test.json", eg_text_of(&first), first.chars.len));
  assert_ok(eg_plan_read_json(eg_allocator_heap(), "plan_json_test.json", &loaded));
  save(&loaded.plan, &second);
  assert_string_equal(eg_text_of(&first), eg_text_of(&second));
  (void)remove("plan_json_test.json");
  assert_fails(eg_plan_read_json(eg_allocator_heap(), "plan_json_test.json", &loaded),
               EGRAPH_E_IO, "plan_json_test.json");
  eg_text_deinit(&first);
  eg_text_deinit(&second);
  eg_loaded_plan_deinit(&loaded);
}

// ---- by hand --------------------------------------------------------------------------

#define HEAD "{\"egraph-plan\": 1, \"mesh\": \"gpu=2\", \"micro_batches\": 1, "
#define GRAPH                                                                            \
  "\"graph\": [\"(egraph-graph 1)\", \"(input x \\\"float32[4,4]\\\")\","                \
  " \"(let y (relu x))\", \"(output y)\"], "
#define STATES                                                                           \
  "\"states\": [{\"value\": \"x\", \"layout\": \"S0\"}, {\"value\": \"y\", "             \
  "\"layout\": \"S0\"}, {\"value\": \"y\", \"layout\": \"R\"}], "
#define NODE                                                                             \
  "{\"phase\": \"forward\", \"node\": \"y\", \"actions\": {\"gpu\": \"split 0\"}, "      \
  "\"operands\": [0], \"results\": [1], \"seconds\": 0.5}"
#define MOVE                                                                             \
  "{\"phase\": \"forward\", \"move\": \"all-gather\", \"axis\": \"gpu\", \"from\": 1, "  \
  "\"to\": 2, \"bytes\": 64.0, \"seconds\": 1}"
#define STEPS "\"steps\": [" NODE ", " MOVE "], "
#define TAIL "\"outputs\": [2], \"carried\": []}"
#define WHOLE HEAD GRAPH STATES STEPS TAIL

/// WHOLE with the first `from` replaced by `to`.
static void edited(const char *from, const char *to, eg_text *out) {
  const char *at = strstr(WHOLE, from);
  assert_non_null(at);
  eg_text_init(out, eg_allocator_heap());
  assert_ok(eg_text_append_bytes(out, WHOLE, (size_t)(at - WHOLE)));
  assert_ok(eg_text_append(out, to));
  assert_ok(eg_text_append(out, at + strlen(from)));
}

typedef struct edit {
  const char *from, *to, *message;
} edit;

static const edit BROKEN[] = {
    {"\"egraph-plan\": 1", "\"egraph-plan\": 2", "version 2"},
    {"\"egraph-plan\": 1, ", "", "no key \"egraph-plan\"; add it; at $"},
    {"\"egraph-plan\": 1", "\"egraph-plan\": 1, \"extra\": 0", "unknown key \"extra\""},
    {"\"egraph-plan\": 1", "\"egraph-plan\": 1, \"egraph-plan\": 1", "a second"},
    {"\"gpu=2\"", "\"gpu=0\"", "at $.mesh"},
    {"\"gpu=2\"", "7", "at $.mesh"},
    {"\"gpu=2\"", "\"gpu=3\"", "layout does not fit"},
    {"\"micro_batches\": 1", "\"micro_batches\": 0", "at $.micro_batches"},
    {"\"micro_batches\": 1", "\"micro_batches\": 4294967296", "at $.micro_batches"},
    {"\"micro_batches\": 1", "\"micro_batches\": 1e3", "at $.micro_batches"},
    {"(relu x)", "(relu q)", "line of $.graph:3"},
    {"\"(egraph-graph 1)\"", "[[[[[[", "at $.graph[0]"},
    {"\"value\": \"y\"", "\"value\": \"q\"", "no value 'q'; at $.states[1].value"},
    {"\"layout\": \"S0\"", "\"layout\": \"T0\"", "at $.states[0].layout"},
    {"\"layout\": \"S0\"", "\"layout\": \"S0,R\"", "at $.states[0].layout"},
    {"\"layout\": \"S0\"", "\"layout\": \"S3\"", "layout does not fit"},
    {"\"layout\": \"S0\"", "\"lay\\u006fut\": 3", "at $.states[0].layout"},
    {"\"phase\": \"forward\"", "\"phase\": \"sideways\"", "at $.steps[0].phase"},
    {"\"phase\": \"forward\"", "\"phase\": \"update\"", "a phase that was over"},
    {"\"phase\": \"forward\", ", "", "no key \"phase\"; add it; at $.steps[0]"},
    {"\"node\": \"y\"", "\"node\": \"x\"", "at $.steps[0].node"},
    {"\"node\": \"y\", ", "", "at $.steps[0]"},
    {"\"node\": \"y\"", "\"node\": \"y\", \"move\": \"mask\"", "at $.steps[0]"},
    {"\"node\": \"y\"", "\"node\": \"y\", \"axis\": \"gpu\"", "at $.steps[0]"},
    {"\"gpu\": \"split 0\"", "\"gpu\": \"split 9\"", "actions that do not combine"},
    {"\"gpu\": \"split 0\"", "\"gpu\": \"split 99\"", "at $.steps[0].actions.gpu"},
    {"\"gpu\": \"split 0\"", "\"gpu\": \"split  0\"", "at $.steps[0].actions.gpu"},
    {"\"gpu\": \"split 0\"", "\"gpu\": \"pass joint\"", "actions that do not combine"},
    {"\"gpu\": \"split 0\"", "", "another layout than the strategy's"},
    {"\"gpu\": \"split 0\"", "\"cpu\": \"split 0\"", "at $.steps[0].actions"},
    {"{\"gpu\": \"split 0\"}", "{\"gpu\": \"split 0\", \"gpu\": \"split 0\"}", "twice"},
    {"\"operands\": [0]", "\"operands\": []", "at $.steps[0]"},
    {"\"operands\": [0]", "\"operands\": [2]", "an operand is made later"},
    {"\"operands\": [0]", "\"operands\": [7]", "no state"},
    {"\"operands\": [0]", "\"operands\": [-1]", "at $.steps[0].operands[0]"},
    {"\"results\": [1]", "\"results\": [2]", "at $.steps[1]"},
    {"\"results\": [1]", "\"results\": [9]", "there is no state 9"},
    {"\"results\": [1]", "\"results\": [0]", "a state that nothing makes"},
    {"\"seconds\": 0.5", "\"seconds\": -0.5", "below zero; at $.steps[0].seconds"},
    {"\"seconds\": 0.5", "\"seconds\": 1e999", "at $.steps[0].seconds"},
    {"\"seconds\": 0.5", "\"seconds\": 1e300",
     "above 1e+21, more than any amount is; at "
     "$.steps[0].seconds"},
    {"\"seconds\": 0.5", "\"seconds\": \"NaN\"", "at $.steps[0].seconds"},
    {"\"seconds\": 0.5", "\"seconds\": 0.5, \"basis\": \"dreamt\"",
     "'dreamt' is no basis of a cost; write given, measured, estimated, reached or "
     "guessed; at "
     "$.steps[0].basis"},
    {"\"move\": \"all-gather\"", "\"move\": \"teleport\"", "at $.steps[1].move"},
    {"\"move\": \"all-gather\"", "\"move\": \"slice\"", "is not slice along gpu"},
    {"\"axis\": \"gpu\"", "\"axis\": \"cpu\"", "at $.steps[1].axis"},
    {"\"from\": 1", "\"from\": 0", "another value"},
    {"\"from\": 1", "\"from\": 5", "at $.steps[1].from"},
    {"\"to\": 2", "\"to\": 1", "made by step 0 already"},
    {"\"bytes\": 64.0", "\"bytes\": 65", "64 bytes; correct"},
    {"\"outputs\": [2]", "\"outputs\": [0]", "state of another value"},
    {"\"outputs\": [2]", "\"outputs\": []", "an output without a state"},
    {"\"outputs\": [2]", "\"outputs\": [3]", "an operand that is no state"},
    {"\"carried\": []", "\"carried\": [{\"output\": 4, \"entry\": \"x\"}]", "no output"},
    {"\"carried\": []", "\"carried\": [{\"output\": 0, \"entry\": \"y\"}]",
     "at $.carried[0].entry"},
    {"\"carried\": []", "\"carried\": [{\"output\": 0, \"entry\": \"x\"}]",
     "another layout than it entered"},
    {"\"carried\": []}", "\"carried\": []} x", "p.json:1:"},
    {"\"carried\": []}", "\"carried\": []", "p.json:1:"},
};

static void broken_files_are_refused_with_path_and_reason(void **state) {
  (void)state;
  eg_loaded_plan loaded;
  assert_ok(load(WHOLE, &loaded));
  eg_loaded_plan_deinit(&loaded);
  for (size_t i = 0; i < sizeof BROKEN / sizeof *BROKEN; i++) {
    eg_text text;
    edited(BROKEN[i].from, BROKEN[i].to, &text);
    assert_fails(load(eg_text_of(&text), &loaded), EGRAPH_E_PARSE, BROKEN[i].message);
    assert_non_null(strstr(egraph_last_error(), "p.json"));
    eg_text_deinit(&text);
  }
}

static void keys_may_stand_in_any_order(void **state) {
  (void)state;
  static const char turned[] = "{\"carried\": [], \"outputs\": [2], \"steps\": ["
                               "{\"seconds\": 0.5, \"results\": [1], \"operands\": [0], "
                               "\"actions\": {\"gpu\": \"split 0\"}, \"node\": \"y\", "
                               "\"phase\": \"forward\"}, " MOVE "], " STATES GRAPH
                               "\"micro_batches\": 1, \"mesh\": \"gpu=2\", "
                               "\"egraph-plan\": 1}";
  eg_loaded_plan a, b;
  eg_text first, second;
  assert_ok(load(WHOLE, &a));
  assert_ok(load(turned, &b));
  save(&a.plan, &first);
  save(&b.plan, &second);
  assert_string_equal(eg_text_of(&first), eg_text_of(&second));
  eg_text_deinit(&first);
  eg_text_deinit(&second);
  eg_loaded_plan_deinit(&a);
  eg_loaded_plan_deinit(&b);
}

static void every_cut_and_every_missing_byte_is_survived(void **state) {
  (void)state;
  eg_text text;
  save_case(0, &text);
  char *bytes = text.chars.data;
  size_t size = text.chars.len;
  eg_loaded_plan loaded;
  for (size_t cut = 0; cut + 2 < size; cut += 7)
    assert_fails(eg_plan_parse_json(eg_allocator_heap(), "p", bytes, cut, &loaded),
                 EGRAPH_E_PARSE, "p:");
  for (size_t at = 0; at < size; at += 5) {
    char kept = bytes[at];
    bytes[at] = '3';
    egraph_status status =
        eg_plan_parse_json(eg_allocator_heap(), "p", bytes, size, &loaded);
    assert_int_not_equal(status, EGRAPH_E_INTERNAL);
    if (status == EGRAPH_OK) eg_loaded_plan_deinit(&loaded);
    bytes[at] = kept;
  }
  eg_text_deinit(&text);
}

static void names_that_json_has_not_are_refused(void **state) {
  (void)state;
  static const char graph[] = "(egraph-graph 1) (input \"\xff\" \"float32[4]\")"
                              "(let y (relu \"\xff\")) (output y)";
  static const plan_case bytes = {graph, "gpu=2", 1, 1e-9};
  eg_emitted_plan made;
  eg_text text;
  plan_make(&bytes, &made);
  eg_text_init(&text, eg_allocator_heap());
  assert_fails(eg_plan_write_json(&made.plan, &text), EGRAPH_E_ARGUMENT, "UTF-8");
  eg_text_deinit(&text);
  eg_emitted_plan_deinit(&made);
}

// ---- digests ------------------------------------------------------------------------

/// Fails unless the digest tells that a number is another one; puts it back.
static void tells(const eg_plan *plan, uint32_t *number) {
  uint64_t before = digest_of(plan);
  *number += 1;
  assert_true(digest_of(plan) != before);
  *number -= 1;
  assert_true(digest_of(plan) == before);
}

static void digests_tell_what_runs_otherwise(void **state) {
  (void)state;
  eg_emitted_plan made;
  plan_make(&PLAN_CASES[2], &made);
  eg_plan *plan = &made.plan;
  uint64_t before = digest_of(plan);
  tells(plan, &plan->micro_batches);
  tells(plan, &plan->mesh.axes[0].size);
  for (size_t i = 0; i < plan->operands.len; i++)
    tells(plan, &plan->operands.data[i]);
  for (size_t i = 0; i < plan->output_states.len; i++)
    tells(plan, &plan->output_states.data[i]);
  for (size_t i = 0; i < plan->states.len; i++) {
    tells(plan, &plan->states.data[i].value.id);
    plan->states.data[i].layout.sharding[0] ^= 1;
    assert_true(digest_of(plan) != before);
    plan->states.data[i].layout.sharding[0] ^= 1;
  }
  for (size_t i = 0; i < plan->steps.len; i++) {
    eg_plan_step *step = &plan->steps.data[i];
    if (step->is_move) {
      tells(plan, &step->from);
      tells(plan, &step->to);
    } else {
      tells(plan, &step->node.id);
      step->action[0] ^= 1;
      assert_true(digest_of(plan) != before);
      step->action[0] ^= 1;
    }
    step->seconds += 1; // another machine's
  }
  assert_true(digest_of(plan) == before);
  eg_emitted_plan_deinit(&made);
}

// ---- allocations ----------------------------------------------------------------------

static egraph_status read_and_write(egraph_allocator alloc, void *user) {
  const eg_text *text = user;
  eg_loaded_plan loaded;
  eg_text again;
  EG_TRY(eg_plan_parse_json(alloc, "p", eg_text_of(text), text->chars.len, &loaded));
  eg_text_init(&again, alloc);
  egraph_status status = eg_plan_write_json(&loaded.plan, &again);
  if (status == EGRAPH_OK) assert_string_equal(eg_text_of(&again), eg_text_of(text));
  uint64_t digest;
  if (status == EGRAPH_OK) status = eg_plan_digest(&loaded.plan, alloc, &digest);
  eg_text_deinit(&again);
  eg_loaded_plan_deinit(&loaded);
  return status;
}

static void failing_allocations_are_survived(void **state) {
  (void)state;
  eg_text text;
  save_case(2, &text);
  test_every_allocation_failing(read_and_write, &text);
  eg_text_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_loaded_plan_is_the_saved_one),
      cmocka_unit_test(a_file_is_read_as_its_text_is),
      cmocka_unit_test(broken_files_are_refused_with_path_and_reason),
      cmocka_unit_test(keys_may_stand_in_any_order),
      cmocka_unit_test(every_cut_and_every_missing_byte_is_survived),
      cmocka_unit_test(names_that_json_has_not_are_refused),
      cmocka_unit_test(digests_tell_what_runs_otherwise),
      cmocka_unit_test(failing_allocations_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
