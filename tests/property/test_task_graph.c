// Random task graphs: against a naive simulation, against bounds, and against themselves
// after changes.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "sim/task_graph.h"
#include "tests/testing.h"

enum { MOST_TASKS = 64, MOST_LINKS = 6, MOST_STREAMS = 6, MOST_EDGES = 128 };

// ---- a graph as it was drawn ----------------------------------------------------

typedef struct drawn_task {
  bool is_flow;
  double seconds, bytes;
  uint32_t links[MOST_LINKS], weights[MOST_LINKS], streams[2];
  size_t link_count, stream_count;
} drawn_task;

typedef struct drawn {
  uint32_t task_count, link_count, stream_count, edge_count;
  bool is_shared;            // links belong to several flows at a time
  uint32_t rank[MOST_TASKS]; // edges lead from smaller ranks on; most often the numbers
  double bandwidth[MOST_LINKS], slowed[MOST_LINKS];
  drawn_task tasks[MOST_TASKS];
  struct {
    uint32_t task, on;
  } edges[MOST_EDGES];
} drawn;

/// Small whole numbers, so that many times are equal.
static double draw_figure(eg_rng *rng) { return (double)eg_rng_below(rng, 6); }

/// A third of the flows stands for several, or slows links down that it takes nothing of.
static void draw_weights(eg_rng *rng, const drawn *d, drawn_task *out) {
  bool are_equal = !d->is_shared || eg_rng_below(rng, 3) != 0;
  for (size_t i = 0; i < MOST_LINKS; i++)
    out->weights[i] = are_equal ? 1 : (uint32_t)eg_rng_below(rng, 4);
  if (out->weights[0] == 0) out->weights[0] = 1;
}

static void draw_links(eg_rng *rng, const drawn *d, uint32_t task, drawn_task *out) {
  out->link_count = 0;
  if (!d->is_shared) { // each stream has a link of its own: its flows are in turn
    out->links[out->link_count++] = out->streams[0];
    return;
  }
  for (uint32_t l = 0; l < d->link_count; l++)
    if (eg_rng_below(rng, d->link_count) < 2 ||
        (l + 1 == d->link_count && l == task % d->link_count))
      out->links[out->link_count++] = l;
  if (out->link_count == 0) out->links[out->link_count++] = task % d->link_count;
}

/// An edge to a task from one of a smaller rank, if there is one.
static bool draw_edge(eg_rng *rng, const drawn *d, uint32_t task, uint32_t *out_on) {
  *out_on = (uint32_t)eg_rng_below(rng, d->task_count);
  return d->rank[*out_on] < d->rank[task];
}

/// Tasks without streams in an order that is not that of their numbers.
static void shuffle(eg_rng *rng, drawn *d) {
  for (uint32_t t = d->task_count; t-- > 1;) {
    uint32_t other = (uint32_t)eg_rng_below(rng, t + 1), rank = d->rank[t];
    d->rank[t] = d->rank[other];
    d->rank[other] = rank;
  }
  d->edge_count = 0;
  for (uint32_t t = 0; t < d->task_count; t++) {
    d->tasks[t].stream_count = 0;
    for (int e = 0; e < 4 && d->edge_count < MOST_EDGES; e++) {
      d->edges[d->edge_count].task = t;
      d->edge_count += draw_edge(rng, d, t, &d->edges[d->edge_count].on);
    }
  }
}

static void draw(eg_rng *rng, bool is_shared, drawn *out) {
  *out = (drawn){.task_count = 2 + (uint32_t)eg_rng_below(rng, MOST_TASKS - 2),
                 .link_count = MOST_LINKS,
                 .stream_count = MOST_STREAMS,
                 .is_shared = is_shared};
  for (uint32_t l = 0; l < out->link_count; l++)
    out->slowed[l] = out->bandwidth[l] = 1 + (double)eg_rng_below(rng, 3);
  for (uint32_t l = 0; l < out->link_count && is_shared; l++)
    out->slowed[l] /= 1 + (double)eg_rng_below(rng, 2);
  for (uint32_t t = 0; t < out->task_count; t++) {
    drawn_task *task = &out->tasks[t];
    out->rank[t] = t;
    task->is_flow = eg_rng_below(rng, 2) != 0;
    task->seconds = task->is_flow ? 0.25 * draw_figure(rng) : draw_figure(rng);
    task->bytes = draw_figure(rng);
    task->streams[0] = (uint32_t)eg_rng_below(rng, out->stream_count);
    task->streams[1] = (task->streams[0] + 1) % out->stream_count;
    task->stream_count = is_shared ? eg_rng_below(rng, 3) : 1;
    draw_links(rng, out, t, task);
    draw_weights(rng, out, task);
    for (int e = 0; e < 2 && t != 0 && out->edge_count < MOST_EDGES; e++)
      if (eg_rng_below(rng, 2) != 0) {
        out->edges[out->edge_count].task = t;
        out->edges[out->edge_count++].on = (uint32_t)eg_rng_below(rng, t);
      }
  }
}

static eg_task_graph *build(const drawn *d, double scale, double bandwidth) {
  eg_task_graph *graph;
  uint32_t number;
  assert_ok(eg_task_graph_create(eg_allocator_heap(), &graph));
  for (uint32_t l = 0; l < d->link_count; l++)
    assert_ok(eg_task_graph_add_slowed_link(graph, d->bandwidth[l] * bandwidth,
                                            d->slowed[l] * bandwidth, &number));
  for (uint32_t s = 0; s < d->stream_count; s++)
    assert_ok(eg_task_graph_add_stream(graph, &number));
  for (uint32_t t = 0; t < d->task_count; t++) {
    const drawn_task *task = &d->tasks[t];
    if (task->is_flow)
      assert_ok(eg_task_graph_add_flows(graph, task->seconds * scale, task->bytes * scale,
                                        task->links, task->weights, task->link_count,
                                        task->streams, task->stream_count, &number));
    else
      assert_ok(eg_task_graph_add_compute(graph, task->seconds * scale, task->streams,
                                          task->stream_count, &number));
  }
  for (uint32_t e = 0; e < d->edge_count; e++)
    assert_ok(eg_task_graph_depend(graph, d->edges[e].task, d->edges[e].on));
  return graph;
}

// ---- a naive simulation ---------------------------------------------------------

typedef struct naive {
  const drawn *d;
  bool has_ended[MOST_TASKS];
  double start[MOST_TASKS], end[MOST_TASKS], left[MOST_TASKS], rate[MOST_TASKS];
} naive;

static bool is_on_stream(const drawn_task *task, uint32_t stream) {
  for (size_t i = 0; i < task->stream_count; i++)
    if (task->streams[i] == stream) return true;
  return false;
}

static bool must_precede(const drawn *d, uint32_t before, uint32_t task) {
  for (uint32_t e = 0; e < d->edge_count; e++)
    if (d->edges[e].task == task && d->edges[e].on == before) return true;
  for (uint32_t s = 0; s < d->stream_count && before < task; s++)
    if (is_on_stream(&d->tasks[before], s) && is_on_stream(&d->tasks[task], s))
      return true;
  return false;
}

static bool is_sending(const naive *n, uint32_t t, double now) {
  const drawn_task *task = &n->d->tasks[t];
  return task->is_flow && task->bytes > 0 && !n->has_ended[t] && n->start[t] >= 0 &&
         n->start[t] + task->seconds <= now;
}

/// -1: it does not go over the link.
static double weight_on(const drawn_task *task, uint32_t link) {
  for (size_t i = 0; i < task->link_count; i++)
    if (task->links[i] == link) return task->weights[i];
  return -1;
}

/// A link without what flows take of it.
static double bandwidth_now(const naive *n, uint32_t link, double now) {
  for (uint32_t t = 0; t < n->d->task_count; t++)
    if (is_sending(n, t, now) && weight_on(&n->d->tasks[t], link) == 0)
      return n->d->slowed[link];
  return n->d->bandwidth[link];
}

/// All rates rise together; whoever meets a full link stops.
static void naive_rates(naive *n, double now) {
  bool stopped[MOST_TASKS] = {false};
  for (uint32_t t = 0; t < n->d->task_count; t++)
    n->rate[t] = 0;
  for (;;) {
    double step = INFINITY, free[MOST_LINKS], rising[MOST_LINKS] = {0};
    for (uint32_t l = 0; l < n->d->link_count; l++) {
      free[l] = bandwidth_now(n, l, now);
      for (uint32_t t = 0; t < n->d->task_count; t++) {
        double weight = weight_on(&n->d->tasks[t], l);
        if (!is_sending(n, t, now) || weight <= 0) continue;
        free[l] -= weight * n->rate[t];
        rising[l] += stopped[t] ? 0 : weight;
      }
      if (rising[l] != 0) step = fmin(step, free[l] / rising[l]);
    }
    if (step == INFINITY) return;
    for (uint32_t t = 0; t < n->d->task_count; t++)
      if (is_sending(n, t, now) && !stopped[t]) n->rate[t] += step;
    for (uint32_t l = 0; l < n->d->link_count; l++)
      if (rising[l] != 0 && free[l] / rising[l] <= step * (1 + 1e-12) + 1e-12)
        for (uint32_t t = 0; t < n->d->task_count; t++)
          if (weight_on(&n->d->tasks[t], l) > 0) stopped[t] = true;
  }
}

static void naive_simulate(const drawn *d, naive *n) {
  *n = (naive){.d = d};
  for (uint32_t t = 0; t < d->task_count; t++) {
    n->start[t] = -1;
    n->left[t] = d->tasks[t].bytes;
  }
  for (double now = 0;;) {
    bool is_over = true, has_changed = true;
    while (has_changed) { // what starts or ends now
      has_changed = false;
      for (uint32_t t = 0; t < d->task_count; t++) {
        const drawn_task *task = &d->tasks[t];
        bool is_ready = n->start[t] < 0;
        for (uint32_t b = 0; b < d->task_count && is_ready; b++)
          is_ready = n->has_ended[b] || !must_precede(d, b, t);
        if (is_ready) n->start[t] = now, has_changed = true;
        if (n->start[t] < 0 || n->has_ended[t]) continue;
        bool ends = n->start[t] + task->seconds <= now + 1e-12 &&
                    (!task->is_flow || n->left[t] <= 1e-9);
        if (ends) n->end[t] = now, n->has_ended[t] = has_changed = true;
      }
    }
    naive_rates(n, now);
    double next = INFINITY;
    for (uint32_t t = 0; t < d->task_count; t++) {
      if (n->has_ended[t]) continue;
      is_over = false;
      if (is_sending(n, t, now))
        next = fmin(next, now + n->left[t] / n->rate[t]);
      else if (n->start[t] >= 0)
        next = fmin(next, n->start[t] + d->tasks[t].seconds);
    }
    if (is_over) return;
    for (uint32_t t = 0; t < d->task_count; t++)
      if (is_sending(n, t, now)) n->left[t] -= n->rate[t] * (next - now);
    now = next;
  }
}

static void a_naive_simulation_gives_the_same(void **state) {
  (void)state;
  eg_rng rng = {.state = test_seed(1)};
  for (size_t round = 0; round < test_rounds(600); round++) {
    drawn d;
    naive n;
    draw(&rng, round % 2 != 0, &d);
    naive_simulate(&d, &n);
    eg_task_graph *graph = build(&d, 1, 1);
    assert_ok(eg_task_graph_simulate(graph));
    for (uint32_t t = 0; t < d.task_count; t++) {
      eg_task_times times = eg_task_graph_times(graph, t);
      if (fabs(times.start - n.start[t]) > 1e-6 || fabs(times.end - n.end[t]) > 1e-6)
        fail_msg("round %zu, task %u: %g to %g, not %g to %g", round, t, times.start,
                 times.end, n.start[t], n.end[t]);
    }
    eg_task_graph_destroy(graph);
  }
}

// ---- bounds ---------------------------------------------------------------------

/// The least time of a task: alone on its links.
static double least_seconds(const drawn *d, const drawn_task *task) {
  double slowest = INFINITY;
  if (!task->is_flow) return task->seconds;
  for (size_t i = 0; i < task->link_count; i++)
    if (task->weights[i] != 0)
      slowest = fmin(slowest, d->bandwidth[task->links[i]] / task->weights[i]);
  return task->seconds + task->bytes / slowest;
}

static void the_makespan_has_its_bounds(void **state) {
  (void)state;
  eg_rng rng = {.state = test_seed(2)};
  for (size_t round = 0; round < test_rounds(2000); round++) {
    drawn d;
    double path[MOST_TASKS], longest = 0, loads[MOST_STREAMS] = {0},
                             bytes[MOST_LINKS] = {0};
    draw(&rng, round % 2 != 0, &d);
    eg_task_graph *graph = build(&d, 1, 1), *scaled = build(&d, 3, 1);
    assert_ok(eg_task_graph_simulate(graph));
    assert_ok(eg_task_graph_simulate(scaled));
    double seconds = eg_task_graph_makespan(graph);
    assert_true(fabs(eg_task_graph_makespan(scaled) - 3 * seconds) <= 1e-9 * seconds);
    for (uint32_t t = 0; t < d.task_count; t++) { // edges lead from smaller numbers on
      double least = least_seconds(&d, &d.tasks[t]);
      path[t] = 0;
      for (uint32_t b = 0; b < t; b++)
        if (must_precede(&d, b, t)) path[t] = fmax(path[t], path[b]);
      path[t] += least;
      longest = fmax(longest, path[t]);
      for (size_t i = 0; i < d.tasks[t].stream_count; i++)
        loads[d.tasks[t].streams[i]] += least;
      for (size_t i = 0; i < d.tasks[t].link_count && d.tasks[t].is_flow; i++)
        bytes[d.tasks[t].links[i]] += d.tasks[t].bytes * d.tasks[t].weights[i];
    }
    assert_true(seconds >= longest * (1 - 1e-12));
    for (uint32_t s = 0; s < d.stream_count; s++)
      assert_true(seconds >= loads[s] * (1 - 1e-12));
    for (uint32_t l = 0; l < d.link_count; l++)
      assert_true(seconds >= bytes[l] / d.bandwidth[l] * (1 - 1e-12));
    eg_task_graph_destroy(graph);
    eg_task_graph_destroy(scaled);
  }
}

static void without_sharing_nothing_ends_later_when_a_task_shrinks(void **state) {
  (void)state;
  eg_rng rng = {.state = test_seed(3)};
  for (size_t round = 0; round < test_rounds(1000); round++) {
    drawn d;
    draw(&rng, false, &d);
    eg_task_graph *graph = build(&d, 1, 1);
    assert_ok(eg_task_graph_simulate(graph));
    double ends[MOST_TASKS];
    for (uint32_t t = 0; t < d.task_count; t++)
      ends[t] = eg_task_graph_times(graph, t).end;
    uint32_t shrunk = (uint32_t)eg_rng_below(&rng, d.task_count);
    assert_ok(eg_task_graph_set_seconds(graph, shrunk, d.tasks[shrunk].seconds / 2));
    assert_ok(eg_task_graph_simulate(graph));
    for (uint32_t t = 0; t < d.task_count; t++)
      assert_true(eg_task_graph_times(graph, t).end <= ends[t]);
    eg_task_graph_destroy(graph);
  }
}

// ---- changes --------------------------------------------------------------------

/// One change, or several before the next simulation.
static void change(eg_rng *rng, drawn *d, eg_task_graph *graph) {
  uint32_t t = (uint32_t)eg_rng_below(rng, d->task_count);
  drawn_task *task = &d->tasks[t];
  switch (eg_rng_below(rng, 5)) {
  case 0:
  case 1:
    task->seconds = 0.5 * draw_figure(rng);
    assert_ok(eg_task_graph_set_seconds(graph, t, task->seconds));
    break;
  case 2:
    if (!task->is_flow) break;
    task->bytes = draw_figure(rng);
    assert_ok(eg_task_graph_set_bytes(graph, t, task->bytes));
    break;
  case 3:
    if (!task->is_flow) break;
    draw_links(rng, d, t + (uint32_t)eg_rng_below(rng, 6), task);
    for (size_t i = 0; i < MOST_LINKS; i++)
      task->weights[i] = 1;
    assert_ok(eg_task_graph_set_links(graph, t, task->links, task->link_count));
    break;
  default:
    if (d->edge_count != 0 && eg_rng_below(rng, 2) != 0) {
      uint32_t e = (uint32_t)eg_rng_below(rng, d->edge_count);
      assert_ok(eg_task_graph_undepend(graph, d->edges[e].task, d->edges[e].on));
      d->edges[e] = d->edges[--d->edge_count];
    } else if (d->edge_count < MOST_EDGES) {
      uint32_t on;
      if (!draw_edge(rng, d, t, &on)) break;
      d->edges[d->edge_count].task = t;
      d->edges[d->edge_count++].on = on;
      assert_ok(eg_task_graph_depend(graph, t, on));
    }
  }
}

static void changes_are_followed_to_the_bit(void **state) {
  (void)state;
  eg_rng rng = {.state = test_seed(4)};
  size_t edits = 0, wanted = test_rounds(10000);
  for (size_t round = 0; edits < wanted; round++) {
    drawn d;
    draw(&rng, round % 2 != 0, &d);
    if (round % 8 == 7) shuffle(&rng, &d);
    eg_task_graph *graph = build(&d, 1, 1);
    assert_ok(eg_task_graph_simulate(graph));
    for (int k = 0; k < 25; k++) {
      uint64_t together = 1 + (eg_rng_below(&rng, 4) == 0 ? eg_rng_below(&rng, 4) : 0);
      for (uint64_t i = 0; i < together; i++, edits++)
        change(&rng, &d, graph);
      assert_ok(eg_task_graph_simulate(graph));
      eg_task_graph *anew = build(&d, 1, 1);
      assert_ok(eg_task_graph_simulate(anew));
      for (uint32_t t = 0; t < d.task_count; t++) {
        eg_task_times is = eg_task_graph_times(graph, t),
                      should = eg_task_graph_times(anew, t);
        if (memcmp(&is, &should, sizeof is) != 0)
          fail_msg("round %zu, change %d, task %u: %.17g %.17g %.17g, not %.17g %.17g "
                   "%.17g",
                   round, k, t, is.start, is.begin, is.end, should.start, should.begin,
                   should.end);
      }
      eg_task_graph_destroy(anew);
    }
    eg_task_graph_destroy(graph);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_naive_simulation_gives_the_same),
      cmocka_unit_test(the_makespan_has_its_bounds),
      cmocka_unit_test(without_sharing_nothing_ends_later_when_a_task_shrinks),
      cmocka_unit_test(changes_are_followed_to_the_bit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
