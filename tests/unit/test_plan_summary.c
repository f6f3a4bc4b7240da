// Plans in figures, against walks over all steps; and what differs in two plans.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_diff.h"
#include "pcg/plan/plan_json.h"
#include "pcg/plan/plan_report.h"
#include "pcg/plan/step_scratch.h"
#include "tests/unit/plan_kit.h"

static void sum_up(const eg_plan *plan, eg_plan_summary *out) {
  assert_ok(eg_plan_summary_make(plan, eg_allocator_heap(), out));
}

// ---- the oracle -----------------------------------------------------------------------

/// A moment of a step of training in which every micro-batch has its own passes.
typedef struct moment {
  uint32_t batch, step;
} moment;

static uint32_t first_update(const eg_plan *plan) {
  uint32_t step = 0;
  while (step < plan->steps.len && plan->steps.data[step].phase != EG_PHASE_UPDATE)
    step++;
  return step;
}

/// Whether a step reads a state.
static bool reads(const eg_plan *plan, uint32_t step, uint32_t state) {
  const eg_plan_step *row = &plan->steps.data[step];
  if (row->is_move) return row->from == state;
  uint32_t count = eg_graph_node_at(plan->graph, row->node).input_count;
  for (uint32_t i = 0; i < count; i++)
    if (plan->operands.data[row->operands + i] == state) return true;
  return false;
}

static bool is_read_within(const eg_plan *plan, uint32_t state, uint32_t from,
                           uint32_t end) {
  for (uint32_t step = from; step < end; step++)
    if (reads(plan, step, state)) return true;
  return false;
}

static bool is_output(const eg_plan *plan, uint32_t state) {
  for (size_t i = 0; i < plan->output_states.len; i++)
    if (plan->output_states.data[i] == state) return true;
  return false;
}

static bool is_entry_of_carried(const eg_plan *plan, uint32_t state) {
  for (size_t i = 0; i < plan->carried.len; i += 2)
    if (plan->states.data[state].value.id == plan->carried.data[i + 1]) return true;
  return false;
}

/// Whether a node writes a state over one of its operands, and reads that but once.
static bool is_in_place(const eg_plan *plan, uint32_t step, uint32_t from, uint32_t to) {
  const eg_plan_step *row = &plan->steps.data[step];
  if (row->is_move) return false;
  eg_graph_node_info node = eg_graph_node_at(plan->graph, row->node);
  const uint32_t *states = plan->operands.data + row->operands;
  for (uint32_t i = 0; i < node.input_count; i++)
    for (uint32_t k = 0; k < i; k++)
      if (states[i] == from && states[k] == from) return false;
  for (uint32_t r = 0; r < node.result_count && r < node.input_count; r++)
    if (states[r] == from && states[node.input_count + r] == to &&
        (eg_op_in_place((eg_op)node.attrs->op) >> r & 1) != 0)
      return true;
  return false;
}

/// Whether the state may be written over the entry it leaves for: nothing reads the entry
/// in any later moment in which it is still what it was.
static bool is_in_entry(const eg_plan *plan, uint32_t state) {
  uint32_t made = plan->states.data[state].step;
  for (size_t i = 0; i < plan->carried.len; i += 2) {
    if (plan->output_states.data[plan->carried.data[i]] != state) continue;
    for (uint32_t e = 0; e < plan->states.len; e++) {
      if (plan->states.data[e].step != EG_PLAN_NONE ||
          plan->states.data[e].value.id != plan->carried.data[i + 1] ||
          is_output(plan, e))
        continue;
      if (reads(plan, made, e) && !is_in_place(plan, made, e, state)) return false;
      return !is_read_within(plan, e, made + 1, (uint32_t)plan->steps.len);
    }
  }
  return false;
}

/// What a state that is made takes at a moment, by stores.
static void add_made(const eg_plan *plan, uint32_t state, moment now, double bytes,
                     double *inout) {
  uint32_t update = first_update(plan), end = (uint32_t)plan->steps.len;
  uint32_t made = plan->states.data[state].step;
  bool is_early = made<update, several = plan->micro_batches> 1;
  bool has_begun = made <= now.step || (is_early && now.batch > 0);
  bool is_kept =
      is_early && (is_output(plan, state) || is_read_within(plan, state, update, end));
  bool in_entry = is_in_entry(plan, state);
  eg_phase phase = plan->steps.data[made].phase;
  if (!has_begun || in_entry) return;
  if (is_output(plan, state)) inout[EG_STORE_OUTPUT] += bytes;
  bool waits = is_read_within(plan, state, now.step < made ? made : now.step, end);
  if (is_kept && !is_output(plan, state) && waits) inout[EG_STORE_ACCUMULATOR] += bytes;
  // What one micro-batch makes for itself.
  bool is_own = is_kept ? several : !is_output(plan, state);
  uint32_t own_end = is_kept ? update : end;
  if (!is_own || made > now.step || (is_early && now.step >= update)) return;
  if (made != now.step && !is_read_within(plan, state, now.step, own_end)) return;
  bool crosses =
      is_early && phase == EG_PHASE_FORWARD && is_read_within(plan, state, made, update);
  if (crosses) {
    crosses = false;
    for (uint32_t s = made; s < update; s++)
      crosses = crosses ||
                (reads(plan, s, state) && plan->steps.data[s].phase == EG_PHASE_BACKWARD);
  }
  inout[crosses ? EG_STORE_STASH : EG_STORE_TRANSIENT] += bytes;
}

/// Bytes of a block when its parts along a dimension are in pieces: it is put in order.
static double bytes_in_pieces(const eg_type *block, uint8_t digit, uint32_t parts) {
  if (!eg_digit_is_shard(digit) || parts == 1) return 0;
  bool is_one = true; // a part is one run of memory
  for (uint32_t d = 0; d < eg_digit_dim(digit); d++)
    is_one = is_one && block->dims[d] == 1;
  return is_one ? 0 : (double)eg_type_bytes(block);
}

static double scratch_of_move(const eg_plan *plan, const eg_plan_step *step) {
  const eg_plan_state *from = &plan->states.data[step->from];
  const eg_type *type = &eg_graph_value(plan->graph, from->value)->type;
  uint32_t parts = plan->mesh.axes[step->transition.axis].size;
  eg_type before = eg_sharding_local(&plan->mesh, type, &from->layout);
  eg_type after =
      eg_sharding_local(&plan->mesh, type, &plan->states.data[step->to].layout);
  if (step->transition.kind == EG_TRANSITION_SLICE) return 0;
  return bytes_in_pieces(&before, step->transition.to, parts) +
         bytes_in_pieces(&after, step->transition.from, parts);
}

static void look(const eg_plan *plan, moment now, eg_plan_summary *inout) {
  double stores[EG_STORES] = {0}, total = 0;
  const eg_plan_step *step = &plan->steps.data[now.step];
  if (step->is_move) stores[EG_STORE_SCRATCH] = scratch_of_move(plan, step);
  for (uint32_t s = 0; s < plan->states.len; s++) {
    const eg_plan_state *state = &plan->states.data[s];
    eg_type local = eg_sharding_local(
        &plan->mesh, &eg_graph_value(plan->graph, state->value)->type, &state->layout);
    double bytes = (double)eg_type_bytes(&local);
    if (state->step == EG_PLAN_NONE)
      stores[is_entry_of_carried(plan, s) ? EG_STORE_CARRIED : EG_STORE_INPUT] += bytes;
    else
      add_made(plan, s, now, bytes, stores);
  }
  for (int k = 0; k < EG_STORES; k++) {
    total += stores[k];
    if (stores[k] > inout->most[k]) inout->most[k] = stores[k];
  }
  if (total > inout->peak) inout->peak = total;
}

static void walk_memory(const eg_plan *plan, eg_plan_summary *out) {
  uint32_t update = first_update(plan);
  *out = (eg_plan_summary){.seconds = 0};
  for (uint32_t batch = 0; batch < plan->micro_batches; batch++)
    for (uint32_t step = 0; step < update; step++)
      look(plan, (moment){batch, step}, out);
  for (uint32_t step = update; step < plan->steps.len; step++)
    look(plan, (moment){plan->micro_batches - 1, step}, out);
}

static bool has_window(const eg_plan *plan) {
  eg_plan_summary summary;
  uint64_t count = 0;
  sum_up(plan, &summary);
  for (uint32_t a = 0; a < plan->mesh.axis_count; a++)
    count += summary.exchange[EG_PHASE_FORWARD][a][EG_EXCHANGE_HALO].count;
  return count != 0;
}

static void compare_memory(const eg_plan *plan) {
  eg_plan_summary fast, slow;
  double sum = 0;
  sum_up(plan, &fast);
  walk_memory(plan, &slow);
  assert_true(fast.peak == slow.peak || (has_window(plan) && fast.peak > slow.peak));
  for (int k = 0; k < EG_STORES; k++) {
    bool has_halo = k == EG_STORE_SCRATCH && has_window(plan); // see below
    if (!has_halo && fast.most[k] != slow.most[k])
      fail_msg("%s: %.0f instead of %.0f", eg_store_name((eg_store)k), fast.most[k],
               slow.most[k]);
    sum += fast.at_peak[k];
    assert_true(fast.at_peak[k] <= fast.most[k]);
  }
  assert_true(sum == fast.peak);
}

// ---- memory ---------------------------------------------------------------------------

static void memory_is_what_a_walk_over_all_moments_finds(void **state) {
  (void)state;
  for (uint32_t i = 0; i < PLAN_CASE_COUNT; i++) {
    eg_emitted_plan made;
    plan_make(&PLAN_CASES[i], &made);
    for (uint32_t batches = 1; batches < 4; batches++) {
      made.plan.micro_batches = batches;
      compare_memory(&made.plan);
    }
    eg_emitted_plan_deinit(&made);
  }
}

/// A plan of random phases: the steps of a training step, cut somewhere else.
static void memory_is_right_wherever_phases_end(void **state) {
  (void)state;
  eg_rng rng = {.state = test_seed(20260101)};
  for (uint32_t i = 0; i < PLAN_CASE_COUNT; i++) {
    eg_emitted_plan made;
    plan_make(&PLAN_CASES[i], &made);
    uint32_t steps = (uint32_t)made.plan.steps.len;
    for (size_t round = 0; round < test_rounds(40); round++) {
      uint32_t a = (uint32_t)eg_rng_below(&rng, steps + 1);
      uint32_t b = a + (uint32_t)eg_rng_below(&rng, steps + 1 - a);
      for (uint32_t s = 0; s < steps; s++)
        made.plan.steps.data[s].phase = s < a   ? EG_PHASE_FORWARD
                                        : s < b ? EG_PHASE_BACKWARD
                                                : EG_PHASE_UPDATE;
      made.plan.micro_batches = 1 + (uint32_t)eg_rng_below(&rng, 3);
      assert_ok(eg_plan_check(&made.plan, eg_allocator_heap()));
      compare_memory(&made.plan);
    }
    eg_emitted_plan_deinit(&made);
  }
}

// ---- exchanges and seconds ------------------------------------------------------------

static void exchanges_are_counted_in_every_micro_batch(void **state) {
  (void)state;
  for (uint32_t i = 0; i < PLAN_CASE_COUNT; i++) {
    eg_emitted_plan made;
    eg_plan_summary summary;
    plan_make(&PLAN_CASES[i], &made);
    const eg_plan *plan = &made.plan;
    sum_up(plan, &summary);
    double seconds = 0, moved = 0;
    uint64_t moves = 0, counted = 0;
    for (uint32_t batch = 0; batch < plan->micro_batches; batch++)
      for (uint32_t s = 0; s < plan->steps.len; s++) {
        const eg_plan_step *step = &plan->steps.data[s];
        if (step->phase == EG_PHASE_UPDATE && batch != 0) continue;
        seconds += step->seconds;
        if (!step->is_move) continue;
        moves++;
        moved += eg_plan_move_bytes(plan, step);
      }
    for (int p = 0; p < EG_PHASE_COUNT; p++)
      for (uint32_t a = 0; a < plan->mesh.axis_count; a++)
        for (uint32_t k = 0; k < EG_TRANSITION_KINDS; k++) {
          counted += summary.exchange[p][a][k].count;
          moved -= summary.exchange[p][a][k].bytes;
        }
    assert_true(moved == 0);
    assert_int_equal(counted, moves);
    assert_true(fabs(summary.seconds - seconds) <= 1e-12 * seconds);
    eg_emitted_plan_deinit(&made);
  }
}

/// Of the first node.
static double scratch_of_node(const eg_plan *plan) {
  size_t s = 0;
  double bytes;
  eg_arena arena;
  while (plan->steps.data[s].is_move)
    s++;
  eg_arena_init(&arena, eg_allocator_heap());
  assert_ok(eg_plan_step_scratch(plan, &plan->steps.data[s], &arena, &bytes));
  eg_arena_deinit(&arena);
  return bytes;
}

static void a_window_exchanges_rows_on_both_sides(void **state) {
  (void)state;
  eg_emitted_plan made;
  eg_plan_summary summary;
  plan_make(&PLAN_CASES[5], &made);
  sum_up(&made.plan, &summary);
  const eg_exchange_sum *halo = &summary.exchange[EG_PHASE_FORWARD][0][EG_EXCHANGE_HALO];
  assert_int_equal(halo->count, 1);
  double rows = 1 * 4 * 2 * 64 * 4.0; // two of float32[1,4,1,64]
  double block = 1 * 4 * 16 * 64 * 4.0;
  assert_true(halo->bytes == rows);
  // The block with them, and the rows themselves on their way out and in.
  assert_true(scratch_of_node(&made.plan) == block + 3 * rows);
  eg_emitted_plan_deinit(&made);
}

// ---- differences ----------------------------------------------------------------------

static void a_plan_does_not_differ_from_itself(void **state) {
  (void)state;
  for (uint32_t i = 0; i < PLAN_CASE_COUNT; i++) {
    eg_emitted_plan made;
    eg_plan_diff diff;
    eg_text text;
    plan_make(&PLAN_CASES[i], &made);
    eg_text_init(&text, eg_allocator_heap());
    assert_ok(eg_plan_diff_make(&made.plan, &made.plan, eg_allocator_heap(), &diff));
    assert_ok(eg_plan_diff_print(&text, &diff));
    assert_non_null(strstr(eg_text_of(&text), "the plans are the same: "));
    eg_text_deinit(&text);
    eg_plan_diff_deinit(&diff);
    eg_emitted_plan_deinit(&made);
  }
}

/// Moves of `a` that `b` has not, each paired with its like once.
static size_t only_in(const eg_plan *a, const eg_plan *b) {
  enum { MOST = 256 };
  bool taken[MOST] = {false};
  size_t count = 0;
  assert_true(b->steps.len <= MOST);
  for (size_t i = 0; i < a->steps.len; i++) {
    const eg_plan_step *x = &a->steps.data[i];
    bool found = !x->is_move;
    for (size_t j = 0; !found && j < b->steps.len; j++) {
      const eg_plan_step *y = &b->steps.data[j];
      if (!y->is_move || taken[j] || x->phase != y->phase ||
          !eg_layout_same(&a->mesh, &a->states.data[x->from].layout,
                          &b->states.data[y->from].layout) ||
          !eg_layout_same(&a->mesh, &a->states.data[x->to].layout,
                          &b->states.data[y->to].layout))
        continue;
      const char *one = eg_graph_value(a->graph, a->states.data[x->from].value)->name;
      const char *two = eg_graph_value(b->graph, b->states.data[y->from].value)->name;
      found = taken[j] = strcmp(one, two) == 0;
    }
    count += !found;
  }
  return count;
}

static void moves_are_told_that_only_one_has(void **state) {
  (void)state;
  static const uint32_t PAIRS[][2] = {{2, 3}, {3, 2}, {0, 1}};
  size_t all = 0;
  for (size_t p = 0; p < 3; p++) {
    eg_emitted_plan a, b;
    eg_plan_diff diff;
    size_t added = 0;
    plan_make(&PLAN_CASES[PAIRS[p][0]], &a);
    plan_make(&PLAN_CASES[PAIRS[p][1]], &b);
    assert_ok(eg_plan_diff_make(&a.plan, &b.plan, eg_allocator_heap(), &diff));
    for (size_t i = 0; i < diff.moves.len; i++)
      added += diff.moves.data[i].is_added;
    assert_int_equal(added, only_in(&b.plan, &a.plan));
    assert_int_equal(diff.moves.len - added, only_in(&a.plan, &b.plan));
    all += diff.moves.len;
    eg_plan_diff_deinit(&diff);
    eg_emitted_plan_deinit(&a);
    eg_emitted_plan_deinit(&b);
  }
  assert_true(all != 0);
}

// ---- allocations ----------------------------------------------------------------------

static egraph_status compare_and_print(egraph_allocator alloc, void *user) {
  const eg_emitted_plan *plans = user;
  eg_plan_diff diff;
  eg_text text;
  EG_TRY(eg_plan_diff_make(&plans[0].plan, &plans[1].plan, alloc, &diff));
  eg_text_init(&text, alloc);
  egraph_status status = eg_plan_diff_print(&text, &diff);
  if (status == EGRAPH_OK) status = eg_plan_diff_write_json(&text, &diff);
  if (status == EGRAPH_OK) status = eg_plan_summary_print(&text, &diff.before);
  eg_text_deinit(&text);
  eg_plan_diff_deinit(&diff);
  return status;
}

static void failing_allocations_are_survived(void **state) {
  (void)state;
  eg_emitted_plan plans[2];
  plan_make(&PLAN_CASES[0], &plans[0]);
  plan_make(&PLAN_CASES[3], &plans[1]);
  test_every_allocation_failing(compare_and_print, plans);
  eg_emitted_plan_deinit(&plans[0]);
  eg_emitted_plan_deinit(&plans[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_is_what_a_walk_over_all_moments_finds),
      cmocka_unit_test(memory_is_right_wherever_phases_end),
      cmocka_unit_test(exchanges_are_counted_in_every_micro_batch),
      cmocka_unit_test(a_window_exchanges_rows_on_both_sides),
      cmocka_unit_test(a_plan_does_not_differ_from_itself),
      cmocka_unit_test(moves_are_told_that_only_one_has),
      cmocka_unit_test(failing_allocations_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
