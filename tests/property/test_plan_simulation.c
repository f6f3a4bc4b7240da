// Simulated steps of random plans: training steps of two layers in any layouts, with
// random seconds, over several micro-batches. What is claimed of every simulation is
// checked against the plan and against a simulation that knows no streams.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "pcg/plan/plan_cost.h"
#include "pcg/plan/plan_words.h"
#include "sim/plan/plan_simulation.h"
#include "tests/unit/random_plans.h"
#include "tests/unit/rank_training.h"

static const char forward_text[] =
    "(egraph-graph 1)(input x \"float32[8,4]\")(weight v \"float32[4,8]\")"
    "(weight b \"float32[8]\")(weight w \"float32[8,4]\")"
    "(let p (matmul x v))(let q (add p b))(let h (relu q))(let y (matmul h w))(output y)";

static const char *const meshes[] = {"a=2", "a=4", "a=2,b=2", "a=2,b=2,c=2"};

/// Seconds in sixteenths, so that sums are exact; a fourth of the steps takes none.
static void draw_seconds(eg_plan *plan, eg_rng *rng) {
  for (size_t i = 0; i < plan->steps.len; i++)
    plan->steps.data[i].seconds =
        eg_rng_below(rng, 4) == 0 ? 0 : (double)(1 + eg_rng_below(rng, 64)) / 16;
}

static void make_plan(const problem *p, uint32_t round, uint64_t seed, eg_plan *out) {
  eg_rng rng = {seed + 77};
  eg_plan_init(out, eg_allocator_heap());
  out->graph = p->training.graph;
  out->micro_batches = 1 + round % 3;
  assert_ok(eg_mesh_parse(meshes[round % 4], &out->mesh));
  for (uint32_t i = 0; i < p->pair_count; i++) {
    assert_ok(eg_u32s_push(&out->carried, p->pairs[i].output));
    assert_ok(
        eg_u32s_push(&out->carried, eg_graph_input(out->graph, p->pairs[i].input).id));
  }
  plan_maker maker = {
      .plan = out, .rng = {seed}, .phases = p->phases, .strategy = UINT32_MAX};
  plan_make(&maker);
  draw_seconds(out, &rng);
}

/// Axis c over the links of axis a.
static eg_machine_mesh links_of(const eg_plan *plan) {
  eg_machine_mesh links = {.mesh = plan->mesh};
  for (uint32_t a = 0; a < plan->mesh.axis_count; a++)
    links.links[a].link = a % 2;
  return links;
}

static double add_up(const eg_plan *plan) {
  double sum = 0;
  for (size_t i = 0; i < plan->steps.len; i++)
    sum += plan->steps.data[i].seconds * eg_phase_runs(plan, plan->steps.data[i].phase);
  return sum;
}

// ---- what holds for every simulation ------------------------------------------------

static eg_task_times times_of(const eg_plan_simulation *s, size_t task) {
  return s->tasks.is_in_rounds ? eg_plan_task_times(&s->tasks, (uint32_t)task)
                               : eg_task_graph_times(s->tasks.graph, (uint32_t)task);
}

static bool makes(const eg_plan *plan, const eg_plan_step *reader, uint32_t maker) {
  if (reader->is_move) return plan->states.data[reader->from].step == maker;
  uint32_t count = eg_graph_node_at(plan->graph, reader->node).input_count;
  for (uint32_t i = 0; i < count; i++)
    if (plan->states.data[plan->operands.data[reader->operands + i]].step == maker)
      return true;
  return false;
}

/// Every run of every step is one task, takes its seconds, and begins after what makes
/// its operands has ended; no two tasks of a stream run at once.
static void check_tasks(const eg_plan *plan, const eg_plan_simulation *s) {
  size_t expected = 0;
  for (size_t i = 0; i < plan->steps.len; i++)
    expected += eg_phase_runs(plan, plan->steps.data[i].phase);
  assert_int_equal(s->tasks.tasks.len, expected);
  for (size_t i = 0; i < s->tasks.tasks.len; i++) {
    const eg_plan_task *a = &s->tasks.tasks.data[i];
    const eg_plan_step *step = &plan->steps.data[a->step];
    eg_task_times own = times_of(s, i);
    assert_true(own.end - own.start == step->seconds);
    for (size_t j = 0; j < s->tasks.tasks.len; j++) {
      const eg_plan_task *b = &s->tasks.tasks.data[j];
      eg_task_times other = times_of(s, j);
      if (a->micro_batch == b->micro_batch && makes(plan, step, b->step))
        assert_true(own.start >= other.end);
      if (i != j && a->stream != EG_PLAN_NO_STREAM && a->stream == b->stream)
        assert_true(own.end <= other.start || other.end <= own.start);
    }
  }
}

/// Computing of the backward pass begins when that of the forward pass has ended.
static void check_passes(const eg_plan *plan, const eg_plan_simulation *s) {
  for (uint32_t b = 0; b < plan->micro_batches; b++) {
    double ended = 0, begun = INFINITY;
    for (size_t i = 0; i < s->tasks.tasks.len; i++) {
      const eg_plan_task *task = &s->tasks.tasks.data[i];
      const eg_plan_step *step = &plan->steps.data[task->step];
      if (task->micro_batch != b || step->is_move) continue;
      if (step->phase != EG_PHASE_FORWARD)
        begun = fmin(begun, times_of(s, i).start);
      else if (step->seconds > 0)
        ended = fmax(ended, times_of(s, i).end);
    }
    assert_true(ended <= begun);
  }
}

static uint32_t task_of(const eg_plan_simulation *s, uint32_t step,
                        uint32_t micro_batch) {
  for (uint32_t i = 0; i < s->tasks.tasks.len; i++)
    if (s->tasks.tasks.data[i].step == step &&
        s->tasks.tasks.data[i].micro_batch == micro_batch)
      return i;
  return EG_PLAN_NONE;
}

/// What leaves the step in the storage of an entry is made when all have ended that read
/// the entry before it in the plan.
static void check_entries(const eg_plan *plan, const eg_plan_simulation *s) {
  uint32_t last = plan->micro_batches - 1;
  for (size_t c = 0; c < plan->carried.len; c += 2) {
    uint32_t leaves = plan->output_states.data[plan->carried.data[c]];
    uint32_t writer = plan->states.data[leaves].step;
    if (writer == EG_PLAN_NONE) continue;
    double begun = times_of(s, task_of(s, writer, last)).start;
    for (uint32_t r = 0; r < writer; r++)
      for (uint32_t i = 0; i < eg_plan_step_operand_count(plan, &plan->steps.data[r]);
           i++) {
        const eg_plan_state *operand =
            &plan->states.data[eg_plan_step_operand(plan, &plan->steps.data[r], i)];
        if (operand->step == EG_PLAN_NONE &&
            operand->value.id == plan->carried.data[c + 1])
          assert_true(times_of(s, task_of(s, r, last)).end <= begun);
      }
  }
}

static double waited(const eg_plan_simulation *s) {
  double sum = 0;
  for (int p = 0; p < EG_PHASE_COUNT; p++)
    for (int a = 0; a < EG_MAX_MESH_AXES; a++)
      for (int k = 0; k < EG_TRANSITION_KINDS; k++)
        sum += s->wait[p][a][k].seconds;
  return sum;
}

/// The critical path is a chain without gaps, from the beginning to the end.
static void check_critical(const eg_plan_simulation *s) {
  double at = 0;
  for (size_t i = 0; i < s->critical.len; i++) {
    eg_task_times times = times_of(s, s->critical.data[i]);
    assert_true(times.start == at);
    at = times.end;
  }
  assert_true(at == s->seconds);
}

static bool uses_state(const eg_plan *plan, const eg_plan_step *step, uint32_t state) {
  if (step->is_move) return step->from == state;
  uint32_t count = eg_graph_node_at(plan->graph, step->node).input_count;
  for (uint32_t o = 0; o < count; o++)
    if (plan->operands.data[step->operands + o] == state) return true;
  return false;
}

/// Bytes of a life that are held at a time, in one micro-batch.
static double held_of(const eg_plan *plan, const eg_plan_simulation *s,
                      const eg_life *life, uint32_t micro_batch, double at) {
  bool is_whole = life->store == EG_STORE_CARRIED || life->store == EG_STORE_INPUT;
  bool is_sum = life->store == EG_STORE_ACCUMULATOR && life->from == 0;
  double from = is_whole || is_sum ? 0 : INFINITY, until = 0;
  for (size_t t = 0; t < s->tasks.tasks.len; t++) {
    const eg_plan_task *task = &s->tasks.tasks.data[t];
    eg_task_times times = times_of(s, t);
    if (task->micro_batch != micro_batch || task->step < life->from ||
        task->step > life->until)
      continue;
    if (task->step == life->from && !is_whole && !is_sum) from = times.start;
    bool uses = task->step == life->until ||
                (life->state != EG_PLAN_NONE &&
                 uses_state(plan, &plan->steps.data[task->step], life->state));
    if (uses && times.end > until) until = times.end;
  }
  if (is_whole || life->store == EG_STORE_OUTPUT) until = INFINITY;
  return from <= at && at < until ? life->bytes : 0;
}

/// Bytes held at a time, added up life by life.
static double held_at(const eg_plan *plan, const eg_plan_simulation *s, double at) {
  eg_lives lives;
  double bytes = 0;
  eg_lives_init(&lives, eg_allocator_heap());
  assert_ok(eg_plan_lives(plan, eg_allocator_heap(), &lives));
  for (size_t i = 0; i < lives.len; i++) {
    const eg_life *life = &lives.data[i];
    bool is_of_each = plan->steps.data[life->from].phase != EG_PHASE_UPDATE &&
                      (life->store == EG_STORE_TRANSIENT ||
                       life->store == EG_STORE_STASH || life->store == EG_STORE_SCRATCH);
    uint32_t last = plan->micro_batches - 1;
    for (uint32_t b = is_of_each ? 0 : last; b <= last; b++)
      bytes += held_of(plan, s, life, b, at);
  }
  eg_lives_deinit(&lives);
  return bytes;
}

static void check_memory(const eg_plan *plan, const eg_plan_simulation *s) {
  double alive = 0;
  for (size_t i = 0; i < s->memory.len; i++) {
    assert_true(i == 0 || s->memory.data[i - 1].seconds < s->memory.data[i].seconds);
    assert_true(s->memory.data[i].bytes == held_at(plan, s, s->memory.data[i].seconds));
    assert_true(s->memory.data[i].bytes <= s->peak_bytes);
  }
  for (size_t i = 0; i < s->alive.len; i++)
    alive += s->alive.data[i].bytes;
  assert_true(alive == s->peak_bytes);
}

static void check(const eg_plan *plan, eg_issue issue, eg_plan_simulation *out) {
  eg_machine_mesh links = links_of(plan);
  eg_plan_simulation_init(out, eg_allocator_heap());
  assert_ok(eg_plan_simulate(plan, &links, issue, out));
  check_tasks(plan, out);
  check_passes(plan, out);
  check_entries(plan, out);
  check_critical(out);
  check_memory(plan, out);
  assert_true(out->busy[0] + waited(out) == out->seconds);
  for (uint32_t i = 0; i < out->tasks.stream_count; i++)
    assert_true(out->busy[i] <= out->seconds);
}

static void a_step_is_what_its_streams_allow(void **state) {
  (void)state;
  uint64_t seed = test_seed(50);
  uint32_t shorter = 0, higher = 0;
  problem p;
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  problem_init(&p, forward_text, &options);
  for (uint32_t round = 0; round < test_rounds(60); round++) {
    eg_plan plan;
    eg_plan_summary summary;
    eg_plan_simulation in_order, reductions, overlapped, ahead;
    make_plan(&p, round, seed + round, &plan);
    assert_ok(eg_plan_summary_make(&plan, eg_allocator_heap(), &summary));
    check(&plan, EG_ISSUE_IN_ORDER, &in_order);
    check(&plan, EG_ISSUE_REDUCTIONS, &reductions);
    check(&plan, EG_ISSUE_AHEAD, &overlapped);
    for (int issue = EG_ISSUE_AHEAD_4; issue < EG_ISSUE_AHEAD; issue++) {
      check(&plan, (eg_issue)issue, &ahead);
      assert_true(ahead.seconds <= in_order.seconds);
      eg_plan_simulation_deinit(&ahead);
    }
    assert_true(in_order.seconds == add_up(&plan));
    assert_true(overlapped.seconds <= in_order.seconds);
    assert_true(overlapped.seconds >= overlapped.most_busy);
    assert_true(reductions.seconds <= in_order.seconds);
    assert_true(in_order.peak_bytes <= summary.peak);
    shorter += overlapped.seconds < in_order.seconds;
    higher += overlapped.peak_bytes > in_order.peak_bytes;
    eg_plan_simulation_deinit(&in_order);
    eg_plan_simulation_deinit(&reductions);
    eg_plan_simulation_deinit(&overlapped);
    eg_plan_deinit(&plan);
  }
  problem_deinit(&p);
  print_message("%u steps are shorter overlapped, %u hold more\n", shorter, higher);
  assert_true(shorter > 0);
}

// ---- in rounds --------------------------------------------------------------------

enum { TEXT = 1024 };

/// A machine whose axes are those of the plan's mesh, over a class of links each.
static void load_machine(const eg_plan *plan, const char *ports, eg_machine *out,
                         eg_machine_mesh *out_links) {
  char text[TEXT] = "(egraph-machine 1)(name n)(compute free)"
                    "(link pcie (latency 0) (bandwidth 100) (shared 2) (ports switch))";
  for (uint32_t a = 0; a < plan->mesh.axis_count; a++) {
    size_t len = strlen(text);
    (void)snprintf(text + len, TEXT - len,
                   "(link l%u (latency %u) (bandwidth %u) %s)(axis %s %u l%u)", a, a,
                   40 << a, ports, plan->mesh.axes[a].name, plan->mesh.axes[a].size, a);
  }
  assert_ok(eg_machine_parse(NULL, "m", text, strlen(text), 0, out));
  assert_ok(eg_machine_mesh_of(out, &plan->mesh, NULL, out_links));
}

/// Exchanges take their closed forms.
static void price_exchanges(eg_plan *plan, const eg_machine_mesh *links) {
  for (size_t i = 0; i < plan->steps.len; i++) {
    eg_plan_step *step = &plan->steps.data[i];
    if (step->is_move)
      step->seconds =
          eg_collective_seconds(links, &step->transition, eg_plan_move_bytes(plan, step));
  }
}

enum { CHECKED = 100 }; // tasks: memory is checked in cubic time

static double simulate_as(const eg_plan *plan, const eg_simulation_setup *setup,
                          double *out_flows, uint32_t *out_classes) {
  eg_plan_simulation s;
  eg_plan_simulation_init(&s, eg_allocator_heap());
  assert_ok(eg_plan_simulate_as(plan, setup, &s));
  check_critical(&s);
  if (s.tasks.tasks.len < CHECKED) check_memory(plan, &s);
  double seconds = s.seconds;
  assert_true(fabs(s.busy[0] + waited(&s) - seconds) <= 1e-9 * seconds);
  assert_true(s.most_busy <= seconds * (1 + 1e-12));
  *out_flows = s.tasks.flow_count;
  if (out_classes != NULL) *out_classes = s.tasks.class_count;
  eg_plan_simulation_deinit(&s);
  return seconds;
}

static void assert_same_seconds(double a, double b) {
  if (fabs(a - b) > 1e-9 * (a + b)) fail_msg("%.15g s are not %.15g s", a, b);
}

/// Where no two axes share a link, rounds take what closed forms do, in every order of
/// issue. Where they do, one device of each class still has the times of all.
static void rounds_agree_with_closed_forms_and_with_all_devices(void **state) {
  static const char *const ports[] = {"(ports switch)", "(ports switch) (through pcie)",
                                      "(shared 2) (ports switch) (through pcie)",
                                      "(ports fat-tree (2 3))", "(ports torus)"};
  (void)state;
  uint64_t seed = test_seed(60);
  uint32_t others = 0, several = 0;
  problem p;
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  problem_init(&p, forward_text, &options);
  for (uint32_t round = 0; round < test_rounds(30); round++) {
    eg_plan plan;
    eg_machine machine;
    eg_machine_mesh links;
    double flows, all_flows;
    uint32_t classes;
    make_plan(&p, round, seed + round, &plan);
    load_machine(&plan, ports[round % 5], &machine, &links);
    price_exchanges(&plan, &links);
    eg_simulation_setup setup = {.links = &links,
                                 .issue = (eg_issue)(round / 5 % EG_ISSUES)};
    double closed = simulate_as(&plan, &setup, &flows, NULL);
    assert_true(flows == 0);
    setup.machine = &machine;
    double rounds = simulate_as(&plan, &setup, &flows, &classes);
    if (round % 5 == 0) assert_same_seconds(rounds, closed);
    others += fabs(rounds - closed) > 1e-6 * closed;
    several += classes > 1;
    setup.all_devices = true;
    assert_same_seconds(simulate_as(&plan, &setup, &all_flows, NULL), rounds);
    assert_true(all_flows == flows);
    setup.algorithm = EG_ALGORITHM_HIERARCHICAL;
    setup.beside = 1.5;
    double slowed = simulate_as(&plan, &setup, &all_flows, NULL);
    setup.all_devices = false;
    assert_same_seconds(simulate_as(&plan, &setup, &flows, NULL), slowed);
    eg_machine_deinit(&machine);
    eg_plan_deinit(&plan);
  }
  problem_deinit(&p);
  print_message("%u steps take other times in rounds, of %u devices differ\n", others,
                several);
  assert_true(others > 0 && several > 0);
}

/// Computing that is slowed down beside exchanges only makes a step longer than without,
/// in closed forms, and not by more than the factor.
static void computing_beside_exchanges_takes_longer(void **state) {
  (void)state;
  uint64_t seed = test_seed(70);
  uint32_t longer = 0;
  problem p;
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  problem_init(&p, forward_text, &options);
  for (uint32_t round = 0; round < test_rounds(30); round++) {
    eg_plan plan;
    double flows;
    make_plan(&p, round, seed + round, &plan);
    eg_machine_mesh links = links_of(&plan);
    eg_simulation_setup setup = {.links = &links, .issue = (eg_issue)(round % EG_ISSUES)};
    double plain = simulate_as(&plan, &setup, &flows, NULL);
    setup.beside = 1;
    assert_true(simulate_as(&plan, &setup, &flows, NULL) == plain);
    setup.beside = 1.25;
    double slowed = simulate_as(&plan, &setup, &flows, NULL);
    assert_true(slowed >= plain && slowed <= 1.25 * plain);
    assert_true(setup.issue != EG_ISSUE_IN_ORDER || slowed == plain);
    longer += slowed > plain;
    eg_plan_deinit(&plan);
  }
  problem_deinit(&p);
  assert_true(longer > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_step_is_what_its_streams_allow),
      cmocka_unit_test(rounds_agree_with_closed_forms_and_with_all_devices),
      cmocka_unit_test(computing_beside_exchanges_takes_longer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
