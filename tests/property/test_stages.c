// Stages and layers that Alpa's dynamic programs choose, against every partition there
// is.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "baselines/stages/interop.h"
#include "baselines/stages/layered.h"
#include "baselines/stages/min_cut.h"
#include "tests/testing.h"

enum { MOST_LAYERS = 5, MOST_SHAPES = 8, MOST_OPERATORS = 9 };

static uint32_t below(eg_rng *rng, uint32_t bound) {
  return (uint32_t)eg_rng_below(rng, bound);
}

// ---- stages -----------------------------------------------------------------------

typedef struct drawn {
  eg_interop_problem problem;
  eg_submeshes shapes;
  eg_stage_cell cells[MOST_LAYERS * MOST_LAYERS * MOST_SHAPES];
} drawn;

/// Some cells have no plan, some bear few stages behind them, many take equally long.
static void draw(eg_rng *rng, drawn *out) {
  uint32_t nodes = below(rng, 3) + 1, width = 1U << below(rng, 3);
  eg_submeshes_init(&out->shapes, eg_allocator_heap());
  assert_ok(eg_submeshes_of(nodes, width, &out->shapes));
  assert_true(out->shapes.len <= MOST_SHAPES);
  out->problem = (eg_interop_problem){.layers = 1 + below(rng, MOST_LAYERS),
                                      .devices = nodes * width,
                                      .micro_batches = 1 + below(rng, 8),
                                      .shapes = out->shapes.data,
                                      .shape_count = (uint32_t)out->shapes.len,
                                      .cells = out->cells,
                                      .epsilon = below(rng, 2) == 0 ? 0 : 0.5};
  for (size_t i = 0; i < sizeof out->cells / sizeof *out->cells; i++) {
    bool has_plan = below(rng, 5) != 0, is_tight = below(rng, 3) == 0;
    out->cells[i].seconds = has_plan ? 1 + below(rng, 40) / 4.0 : INFINITY;
    out->cells[i].most_behind = is_tight ? below(rng, 4) : UINT32_MAX;
  }
}

/// The formula's least seconds of all choices that go on as given. Stages are counted
/// from the front, so a choice fits only once its last stage is known: `taken` remembers
/// them.
static double brute(const eg_interop_problem *p, uint32_t first, uint32_t devices,
                    const eg_stage_cell **taken, uint32_t count) {
  double best = INFINITY, sum = 0, longest = 0;
  if (first == p->layers || count == MOST_LAYERS) {
    for (uint32_t i = 0; i < count; i++) {
      if (taken[i]->most_behind < count - 1 - i) return INFINITY;
      sum += taken[i]->seconds;
      longest = fmax(longest, taken[i]->seconds);
    }
    return devices == 0 ? sum + (p->micro_batches - 1) * longest : INFINITY;
  }
  for (uint32_t last = first; last < p->layers; last++)
    for (uint32_t shape = 0; shape < p->shape_count; shape++) {
      uint32_t size = eg_submesh_devices(p->shapes[shape]);
      taken[count] =
          &p->cells[eg_interop_cell_at(p->layers, p->shape_count, first, last, shape)];
      if (size > devices || isinf(taken[count]->seconds)) continue;
      best = fmin(best, brute(p, last + 1, devices - size, taken, count + 1));
    }
  return best;
}

/// What a choice says of itself: each layer once, all devices, memory.
static void check_choice(const eg_interop_problem *p, const eg_interop_choice *choice) {
  uint32_t next = 0, devices = 0;
  size_t count = choice->stages.len;
  double sum = 0, longest = 0;
  for (size_t i = 0; i < count; i++) {
    const eg_interop_stage *stage = &choice->stages.data[i];
    const eg_stage_cell *cell = &p->cells[eg_interop_cell_at(
        p->layers, p->shape_count, stage->first, stage->last, stage->shape)];
    assert_int_equal(stage->first, next);
    assert_true(cell->most_behind >= count - 1 - i);
    next = stage->last + 1;
    devices += eg_submesh_devices(p->shapes[stage->shape]);
    sum += cell->seconds;
    longest = fmax(longest, cell->seconds);
  }
  assert_true(next == p->layers && devices == p->devices);
  assert_true(fabs(sum + (p->micro_batches - 1) * longest - choice->seconds) < 1e-9);
}

static void stages_are_the_best_of_all(void **state) {
  (void)state;
  eg_rng rng = {test_seed(1)};
  size_t without = 0, rounds = test_rounds(600);
  for (size_t round = 0; round < rounds; round++) {
    drawn d;
    eg_interop_choice choice;
    const eg_stage_cell *taken[MOST_LAYERS];
    draw(&rng, &d);
    const eg_interop_problem *p = &d.problem;
    eg_interop_choice_init(&choice, eg_allocator_heap());
    assert_ok(eg_interop_choose(p, eg_allocator_heap(), &choice));
    double best = brute(p, 0, p->devices, taken, 0);
    assert_int_equal(isinf(best), isinf(choice.seconds));
    assert_int_equal(isinf(best), choice.stages.len == 0);
    if (isinf(best))
      without++;
    else {
      assert_true(choice.seconds >= best - 1e-9);
      assert_true(choice.seconds <= best + (p->micro_batches - 1) * p->epsilon + 1e-9);
      check_choice(p, &choice);
    }
    eg_interop_choice_deinit(&choice);
    eg_submeshes_deinit(&d.shapes);
  }
  assert_true(without > 0 && without < rounds / 2);
}

static void submeshes_are_parts_of_a_node_or_whole_nodes(void **state) {
  (void)state;
  eg_submeshes shapes;
  static const uint32_t expected[][2] = {{1, 1}, {1, 2}, {1, 4}, {1, 8},
                                         {2, 8}, {4, 8}, {6, 8}};
  eg_submeshes_init(&shapes, eg_allocator_heap());
  assert_ok(eg_submeshes_of(6, 8, &shapes));
  assert_int_equal(shapes.len, 7);
  for (size_t i = 0; i < shapes.len; i++)
    assert_true(shapes.data[i].nodes == expected[i][0] &&
                shapes.data[i].width == expected[i][1]);
  eg_submeshes_deinit(&shapes);
}

// ---- layers -----------------------------------------------------------------------

typedef struct operators {
  eg_layer_problem problem;
  double work[MOST_OPERATORS];
  uint32_t begin[MOST_OPERATORS + 1];
  eg_layer_reads reads;
} operators;

/// Operator i makes value i, of which later ones read.
static void draw_operators(eg_rng *rng, operators *out) {
  uint32_t count = 1 + below(rng, MOST_OPERATORS);
  double bytes[MOST_OPERATORS];
  eg_layer_reads_init(&out->reads, eg_allocator_heap());
  for (uint32_t i = 0; i < count; i++) {
    out->work[i] = below(rng, 4);
    bytes[i] = 1 + below(rng, 5);
    out->begin[i] = (uint32_t)out->reads.len;
    for (uint32_t r = 0; i > 0 && r < 1 + below(rng, 2); r++) {
      uint32_t of = below(rng, i);
      assert_ok(eg_layer_reads_push(&out->reads, (eg_layer_read){of, of, bytes[of]}));
    }
  }
  out->begin[count] = (uint32_t)out->reads.len;
  out->problem = (eg_layer_problem){.operators = count,
                                    .values = count,
                                    .layers = 1 + below(rng, 4),
                                    .work = out->work,
                                    .reads_begin = out->begin,
                                    .reads = out->reads.data,
                                    .slack = 0.5};
}

/// Bytes that layer [first, end) receives; INFINITY: it has more work than allowed.
static double layer_bytes(const operators *o, uint32_t first, uint32_t end,
                          double limit) {
  double bytes = 0, work = 0;
  bool is_counted[MOST_OPERATORS] = {false};
  for (uint32_t i = first; i < end; i++) {
    work += o->work[i];
    for (uint32_t r = o->begin[i]; r < o->begin[i + 1]; r++) {
      const eg_layer_read *read = &o->reads.data[r];
      if (read->maker >= first || is_counted[read->value]) continue;
      is_counted[read->value] = true;
      bytes += read->bytes;
    }
  }
  return work > limit && end - first > 1 ? INFINITY : bytes;
}

static double brute_layers(const operators *o, uint32_t first, uint32_t layers,
                           double limit) {
  double best = INFINITY;
  if (layers == 0) return first == o->problem.operators ? 0 : INFINITY;
  for (uint32_t end = first + 1; end <= o->problem.operators; end++)
    best = fmin(best, fmax(layer_bytes(o, first, end, limit),
                           brute_layers(o, end, layers - 1, limit)));
  return best;
}

static void layers_receive_as_little_as_can_be(void **state) {
  (void)state;
  eg_rng rng = {test_seed(2)};
  for (size_t round = 0; round < test_rounds(500); round++) {
    operators o;
    eg_u32s first;
    draw_operators(&rng, &o);
    const eg_layer_problem *p = &o.problem;
    eg_u32s_init(&first, eg_allocator_heap());
    assert_ok(eg_layers_cluster(p, eg_allocator_heap(), &first));
    uint32_t layers = p->layers < p->operators ? p->layers : p->operators;
    assert_int_equal(first.len, layers);
    double work = 0, most = 0, best = INFINITY, limit;
    for (uint32_t i = 0; i < p->operators; i++)
      work += p->work[i];
    limit = (1 + p->slack) * work / p->layers;
    for (; isinf(best = brute_layers(&o, 0, layers, limit));)
      limit = limit > 0 ? 2 * limit : INFINITY;
    for (size_t i = 0; i < first.len; i++)
      most = fmax(most, layer_bytes(&o, first.data[i],
                                    i + 1 < first.len ? first.data[i + 1] : p->operators,
                                    limit));
    assert_true(most == best && first.data[0] == 0);
    eg_u32s_deinit(&first);
    eg_layer_reads_deinit(&o.reads);
  }
}

// ---- cuts -------------------------------------------------------------------------

enum { MOST_VERTICES = 10, MOST_NETS = 14 };

typedef struct cut_drawn {
  eg_cut_problem problem;
  double weight[MOST_VERTICES], bytes[MOST_NETS];
  uint32_t begin[MOST_NETS + 1], pins[MOST_NETS * 3];
} cut_drawn;

static void draw_cut(eg_rng *rng, cut_drawn *out) {
  uint32_t vertices = 2 + below(rng, MOST_VERTICES - 1), nets = 1 + below(rng, MOST_NETS);
  out->begin[0] = 0;
  for (uint32_t v = 0; v < vertices; v++)
    out->weight[v] = 1;
  for (uint32_t n = 0; n < nets; n++) {
    uint32_t first = below(rng, vertices), end = out->begin[n];
    for (uint32_t i = 0; i < 2 + below(rng, 2) && i < vertices; i++)
      out->pins[end++] = (first + i * (1 + n % 2)) % vertices;
    if (end - out->begin[n] > 1 && out->pins[end - 1] == first) end--; // each once
    out->bytes[n] = 1 + below(rng, 9);
    out->begin[n + 1] = end;
  }
  out->problem = (eg_cut_problem){vertices,   nets,       2,         out->weight,
                                  out->bytes, out->begin, out->pins, 0.1};
}

static double cut_of(const eg_cut_problem *p, const uint32_t *part) {
  double bytes = 0;
  for (uint32_t n = 0; n < p->nets; n++) {
    bool is_cut = false;
    for (uint32_t i = p->begin[n]; i < p->begin[n + 1]; i++)
      is_cut = is_cut || part[p->pins[i]] != part[p->pins[p->begin[n]]];
    if (is_cut) bytes += p->bytes[n];
  }
  return bytes;
}

static bool is_half(const eg_cut_problem *p, const uint32_t *part) {
  double ones = 0;
  for (uint32_t v = 0; v < p->vertices; v++)
    ones += part[v];
  double most = p->vertices / 2.0 + fmax(0.05 * p->vertices, 0.5);
  return ones <= most && p->vertices - ones <= most;
}

static double brute_cut(const eg_cut_problem *p) {
  double best = INFINITY;
  for (uint32_t bits = 0; bits < 1U << p->vertices; bits++) {
    uint32_t part[MOST_VERTICES];
    for (uint32_t v = 0; v < p->vertices; v++)
      part[v] = bits >> v & 1;
    if (is_half(p, part)) best = fmin(best, cut_of(p, part));
  }
  return best;
}

/// A heuristic: halves always, and nearly always the least cut.
static void cuts_are_near_the_least(void **state) {
  (void)state;
  eg_rng rng = {test_seed(3)};
  size_t least = 0, rounds = test_rounds(400);
  for (size_t round = 0; round < rounds; round++) {
    cut_drawn d;
    uint32_t part[MOST_VERTICES], again[MOST_VERTICES];
    draw_cut(&rng, &d);
    const eg_cut_problem *p = &d.problem;
    assert_ok(eg_min_cut(p, eg_allocator_heap(), part));
    assert_ok(eg_min_cut(p, eg_allocator_heap(), again));
    assert_memory_equal(part, again, p->vertices * sizeof *part);
    assert_true(is_half(p, part));
    double best = brute_cut(p), is = cut_of(p, part);
    assert_true(is >= best);
    least += is == best;
  }
  printf("least cut in %zu of %zu\n", least, rounds);
  assert_true(least * 10 >= rounds * 9);
}

/// A chain of many vertices falls into pieces: about one net is cut between two parts.
static void a_chain_is_cut_hardly_more_than_it_must(void **state) {
  (void)state;
  enum { COUNT = 1000 };
  static double weight[COUNT], bytes[COUNT];
  static uint32_t begin[COUNT], pins[2 * COUNT], part[COUNT];
  for (uint32_t v = 0; v < COUNT; v++) {
    weight[v] = 1;
    bytes[v] = 1;
    begin[v] = 2 * v;
    pins[2 * v] = v;
    pins[2 * v + 1] = v + 1;
  }
  const eg_cut_problem problem = {COUNT, COUNT - 1, 8, weight, bytes, begin, pins, 0.1};
  assert_ok(eg_min_cut(&problem, eg_allocator_heap(), part));
  uint32_t size[8] = {0};
  for (uint32_t v = 0; v < COUNT; v++) {
    assert_true(part[v] < 8);
    size[part[v]]++;
  }
  for (uint32_t i = 0; i < 8; i++)
    assert_true(size[i] >= 80 && size[i] <= 170);
  assert_true(cut_of(&problem, part) <= 8); // 7 is the least
}

static egraph_status choose_and_cut(egraph_allocator alloc, void *user) {
  (void)user;
  eg_rng rng = {4};
  uint32_t part[MOST_VERTICES];
  cut_drawn cut;
  operators o;
  eg_u32s first;
  draw_cut(&rng, &cut);
  draw_operators(&rng, &o);
  eg_u32s_init(&first, alloc);
  egraph_status status = eg_layers_cluster(&o.problem, alloc, &first);
  if (status == EGRAPH_OK) status = eg_min_cut(&cut.problem, alloc, part);
  eg_u32s_deinit(&first);
  eg_layer_reads_deinit(&o.reads);
  drawn d;
  eg_interop_choice choice;
  draw(&rng, &d);
  eg_interop_choice_init(&choice, alloc);
  if (status == EGRAPH_OK) status = eg_interop_choose(&d.problem, alloc, &choice);
  eg_interop_choice_deinit(&choice);
  eg_submeshes_deinit(&d.shapes);
  return status;
}

static void failing_allocations_lose_nothing(void **state) {
  (void)state;
  test_every_allocation_failing(choose_and_cut, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stages_are_the_best_of_all),
      cmocka_unit_test(submeshes_are_parts_of_a_node_or_whole_nodes),
      cmocka_unit_test(layers_receive_as_little_as_can_be),
      cmocka_unit_test(cuts_are_near_the_least),
      cmocka_unit_test(a_chain_is_cut_hardly_more_than_it_must),
      cmocka_unit_test(failing_allocations_lose_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
