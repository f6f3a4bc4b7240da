// Unit tests of sim/collective: the formulas against figures computed by hand and against
// schedules played round by round; Alpa's table; ports; halos.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "sim/collective.h"
#include "tests/testing.h"

enum { N_MAX = 40 };
static const double alpha = 10, beta = 2;

static eg_machine_mesh mesh_of(uint32_t n, eg_collectives collectives, double exchange) {
  return (eg_machine_mesh){.mesh = {.axis_count = 2, .axes = {{"other", 3}, {"x", n}}},
                           .collectives = collectives,
                           .links = {{.latency_seconds = 1e9,
                                      .seconds_per_byte = 1e9,
                                      .exchange_seconds_per_byte = 1e9},
                                     {.latency_seconds = alpha,
                                      .seconds_per_byte = beta,
                                      .exchange_seconds_per_byte = exchange}}};
}

static double seconds(uint32_t n, eg_collectives collectives, eg_transition_kind kind,
                      double bytes) {
  eg_machine_mesh mesh = mesh_of(n, collectives, beta);
  return eg_collective_seconds(&mesh, &(eg_transition){.kind = kind, .axis = 1}, bytes);
}

static void assert_near(double a, double b) {
  if (!(fabs(a - b) <= 1e-12 * (fabs(a) + fabs(b)))) fail_msg("%.17g is not %.17g", a, b);
}

// ---- by hand ----------------------------------------------------------------------

typedef struct row {
  eg_collectives collectives;
  eg_transition_kind kind;
  uint32_t n;
  double bytes, seconds;
} row;

// alpha = 10, beta = 2
static const row rows[] = {
    {EG_COLLECTIVES_RING, EG_TRANSITION_ALL_GATHER, 8, 64, 70 + 112},
    {EG_COLLECTIVES_RING, EG_TRANSITION_REDUCE_SCATTER, 8, 64, 70 + 112},
    {EG_COLLECTIVES_RING, EG_TRANSITION_ALL_REDUCE, 8, 64, 140 + 224},
    {EG_COLLECTIVES_RING, EG_TRANSITION_ALL_TO_ALL, 8, 64, 70 + 14},
    {EG_COLLECTIVES_TREE, EG_TRANSITION_ALL_GATHER, 8, 64, 30 + 112},
    {EG_COLLECTIVES_TREE, EG_TRANSITION_ALL_GATHER, 5, 100, 30 + 160},
    {EG_COLLECTIVES_TREE, EG_TRANSITION_REDUCE_SCATTER, 8, 64, 30 + 112},
    {EG_COLLECTIVES_TREE, EG_TRANSITION_ALL_REDUCE, 8, 64, 60 + 224}, // least data
    {EG_COLLECTIVES_TREE, EG_TRANSITION_ALL_REDUCE, 8, 1, 30 + 6},    // few rounds
    {EG_COLLECTIVES_TREE, EG_TRANSITION_ALL_TO_ALL, 8, 64, 30 + 24},  // 12 ones below 8
    {EG_COLLECTIVES_AUTO, EG_TRANSITION_ALL_GATHER, 8, 64, 30 + 112},
    {EG_COLLECTIVES_AUTO, EG_TRANSITION_ALL_TO_ALL, 8, 64, 30 + 24},
    {EG_COLLECTIVES_AUTO, EG_TRANSITION_ALL_TO_ALL, 8, 6400, 70 + 1400},
    {EG_COLLECTIVES_AUTO, EG_TRANSITION_SLICE, 8, 64, 0},
    {EG_COLLECTIVES_ALPA, EG_TRANSITION_MASK, 8, 64, 0},
    // Alpa's table
    {EG_COLLECTIVES_ALPA, EG_TRANSITION_ALL_GATHER, 8, 64, 10 + 112 + 0.1},
    {EG_COLLECTIVES_ALPA, EG_TRANSITION_REDUCE_SCATTER, 8, 64, 10 + 112 + 0.001},
    {EG_COLLECTIVES_ALPA, EG_TRANSITION_ALL_REDUCE, 8, 64, 10 + 224 + 0.01},
    {EG_COLLECTIVES_ALPA, EG_TRANSITION_ALL_TO_ALL, 8, 64, 10 + 56 + 0.001},
    {EG_COLLECTIVES_ALPA, EG_TRANSITION_ALL_TO_ALL, 2, 64, 10 + 32 + 0.001},
};

static void formulas_give_what_a_hand_computes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_near(seconds(rows[i].n, rows[i].collectives, rows[i].kind, rows[i].bytes),
                rows[i].seconds);
}

static void one_device_says_nothing(void **state) {
  (void)state;
  for (int c = 0; c < EG_COLLECTIVES_COUNT; c++)
    for (int kind = 0; kind < EG_TRANSITION_KINDS; kind++)
      assert_true(seconds(1, (eg_collectives)c, (eg_transition_kind)kind, 1e9) == 0);
}

static void auto_is_the_better_of_ring_and_tree(void **state) {
  (void)state;
  for (uint32_t n = 2; n <= N_MAX; n++)
    for (int k = EG_TRANSITION_ALL_GATHER; k < EG_TRANSITION_KINDS; k++)
      for (double bytes = 0, last = 0; bytes < 1e6; bytes = bytes * 3 + 1) {
        eg_transition_kind kind = (eg_transition_kind)k;
        double best = seconds(n, EG_COLLECTIVES_AUTO, kind, bytes);
        assert_true(best == fmin(seconds(n, EG_COLLECTIVES_RING, kind, bytes),
                                 seconds(n, EG_COLLECTIVES_TREE, kind, bytes)));
        assert_true(best > 0 && best >= last);
        last = best;
      }
}

// ---- schedules, round by round ----------------------------------------------------

// Who has which block; a block is bytes / n. Returns the bytes that a device sends in all
// rounds, when all devices send to the one at `distance(round)` what it lacks.
static double play_all_gather(uint32_t n, bool is_ring, uint32_t *out_rounds) {
  bool has[N_MAX][N_MAX] = {{false}}, next[N_MAX][N_MAX];
  uint32_t sent = 0, held = 1;
  for (uint32_t d = 0; d < n; d++)
    has[d][d] = true;
  for (*out_rounds = 0; held < n; ++*out_rounds) {
    uint32_t distance = is_ring ? 1 : 1u << *out_rounds, most = 0;
    memcpy(next, has, sizeof has);
    for (uint32_t d = 0; d < n; d++) {
      uint32_t to = (d + distance) % n, count = 0;
      for (uint32_t block = 0; block < n; block++) {
        count += has[d][block] && !has[to][block];
        next[to][block] = next[to][block] || has[d][block];
      }
      if (count > most) most = count;
    }
    memcpy(has, next, sizeof has);
    sent += most;
    held = 0;
    for (uint32_t block = 0; block < n; block++)
      held += has[0][block];
  }
  return (double)sent / n;
}

static void all_gathers_are_what_their_schedules_send(void **state) {
  (void)state;
  for (uint32_t n = 2; n <= N_MAX; n++)
    for (int ring = 0; ring < 2; ring++) {
      uint32_t rounds;
      double volume = play_all_gather(n, ring != 0, &rounds);
      eg_collectives c = ring != 0 ? EG_COLLECTIVES_RING : EG_COLLECTIVES_TREE;
      double expected = rounds * alpha + volume * 1000 * beta;
      assert_near(seconds(n, c, EG_TRANSITION_ALL_GATHER, 1000), expected);
      assert_near(seconds(n, c, EG_TRANSITION_REDUCE_SCATTER, 1000), expected);
    }
}

// Bruck: block j of a device is to go j devices further; it travels along the ones of j.
static void all_to_alls_are_what_their_schedules_send(void **state) {
  (void)state;
  for (uint32_t n = 2; n <= N_MAX; n++) {
    uint32_t rounds = 0, sent = 0;
    for (uint32_t bit = 1; bit < n; bit *= 2, rounds++)
      for (uint32_t block = 0; block < n; block++)
        sent += (block & bit) != 0;
    double block = 1000.0 / n / n;
    assert_near(seconds(n, EG_COLLECTIVES_TREE, EG_TRANSITION_ALL_TO_ALL, 1000),
                rounds * alpha + sent * block * beta);
    assert_near(seconds(n, EG_COLLECTIVES_RING, EG_TRANSITION_ALL_TO_ALL, 1000),
                (n - 1) * (alpha + block * beta));
  }
}

static void an_all_reduce_is_a_reduce_scatter_and_an_all_gather(void **state) {
  (void)state;
  for (uint32_t n = 2; n <= N_MAX; n++)
    for (int i = EG_COLLECTIVES_RING; i <= EG_COLLECTIVES_TREE; i++) {
      eg_collectives c = (eg_collectives)i;
      double both = seconds(n, c, EG_TRANSITION_REDUCE_SCATTER, 1e6) +
                    seconds(n, c, EG_TRANSITION_ALL_GATHER, 1e6);
      // Two devices that swap everything need one round for it.
      bool swaps = n == 2 && c == EG_COLLECTIVES_TREE;
      assert_near(seconds(n, c, EG_TRANSITION_ALL_REDUCE, 1e6),
                  swaps ? both - alpha : both);
    }
}

// ---- ports and halos --------------------------------------------------------------

static void rings_pass_a_shared_port_once(void **state) {
  (void)state;
  eg_machine_mesh mesh = mesh_of(64, EG_COLLECTIVES_AUTO, 8 * beta);
  eg_transition gather = {.kind = EG_TRANSITION_ALL_GATHER, .axis = 1};
  eg_transition exchange = {.kind = EG_TRANSITION_ALL_TO_ALL, .axis = 1};
  assert_near(eg_collective_seconds(&mesh, &gather, 6400), 630 + 6300 * beta);
  assert_near(eg_collective_seconds(&mesh, &gather, 6.4), 60 + 6.3 * 8 * beta);
  assert_near(eg_collective_seconds(&mesh, &exchange, 640000), 630 + 9843.75 * 8 * beta);
}

static void a_named_machine_prices_its_collectives(void **state) {
  (void)state;
  eg_machine m;
  assert_ok(eg_machine_load(NULL, "dgx-h100*2", &m));
  eg_transition reduce = {.kind = EG_TRANSITION_ALL_REDUCE, .axis = 1};
  assert_near(eg_collective_seconds(&m.meshes[0], &reduce, 8e9),
              6 * 2e-6 + 2 * 7e9 / 4.5e11);
  eg_machine_deinit(&m);
  assert_ok(eg_machine_load(NULL, "alpa*4", &m));
  assert_near(eg_collective_seconds(&m.meshes[0], &reduce, 1e6), 1 + 0.15e6 + 0.01);
  reduce.axis = 0;
  assert_near(eg_collective_seconds(&m.meshes[0], &reduce, 1e6), 1 + 1.5e6 + 0.01);
  assert_near(eg_collective_seconds(&m.meshes[1], &reduce, 1e6), 1 + 0.1875e6 + 0.01);
  eg_machine_deinit(&m);
}

static void halos_pay_for_rows_and_neighbours(void **state) {
  (void)state;
  const int64_t dims[] = {2, 8, 5, 3}; // a row of dimension 2: 2 * 8 * 3 floats
  eg_type local = eg_type_of(EGRAPH_FLOAT32, 4, dims);
  eg_machine_mesh mesh = mesh_of(4, EG_COLLECTIVES_AUTO, 100 * beta);
  eg_halo halo = {.axis = 1, .dim = 2, .before = 1, .after = 2};
  assert_near(eg_collective_halo_seconds(&mesh, &halo, &local),
              2 * alpha + 3 * 192 * beta);
  halo.before = 0;
  assert_near(eg_collective_halo_seconds(&mesh, &halo, &local), alpha + 2 * 192 * beta);
  halo.after = -1; // rows that are there already
  assert_true(eg_collective_halo_seconds(&mesh, &halo, &local) == 0);
  halo.after = 1;
  mesh.mesh.axes[1].size = 1;
  assert_true(eg_collective_halo_seconds(&mesh, &halo, &local) == 0);
  mesh.mesh.axes[1].size = 4;
  local.dims[2] = 0;
  assert_true(eg_collective_halo_seconds(&mesh, &halo, &local) == 0);
}

static void what_was_measured_takes_the_place_of_a_formula(void **state) {
  (void)state;
  eg_machine machine;
  eg_machine_mesh mesh;
  static const char text[] =
      "(egraph-machine 1)(name n)(compute free)(link l (alpha 10) (beta 2))(axis x 4 l)"
      "(mesh (x 4)) (mesh (a 2) (b 2))"
      "(exchange l all-reduce 4 (100 3 0) (1000 5 0.25)) (exchange l halo 4 (8 1 0.5))";
  assert_ok(eg_machine_parse(NULL, "m", text, sizeof text - 1, 0, &machine));
  mesh = machine.meshes[0];
  eg_transition reduce = {.kind = EG_TRANSITION_ALL_REDUCE};
  static const double rows_of_bytes[][2] = {
      {0, 3}, {100, 3}, {101, 5 + 101 * 0.25}, {1e6, 5 + 1e6 * 0.25}};
  for (size_t i = 0; i < sizeof rows_of_bytes / sizeof *rows_of_bytes; i++)
    assert_near(eg_collective_seconds(&mesh, &reduce, rows_of_bytes[i][0]),
                rows_of_bytes[i][1]);
  const eg_type local = {.dtype = EGRAPH_FLOAT32, .rank = 1, .dims = {6}};
  const eg_halo halo = {.axis = 0, .before = 1, .after = 2};
  assert_near(eg_collective_halo_seconds(&mesh, &halo, &local), 1 + 12 * 0.5);
  // Another kind, another number of devices: formulas.
  eg_transition gather = {.kind = EG_TRANSITION_ALL_GATHER};
  assert_near(eg_collective_seconds(&mesh, &gather, 4), 20 + 6);
  assert_near(eg_collective_seconds(&machine.meshes[1], &reduce, 4), 10 + 8);
  eg_machine_deinit(&machine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(formulas_give_what_a_hand_computes),
      cmocka_unit_test(one_device_says_nothing),
      cmocka_unit_test(auto_is_the_better_of_ring_and_tree),
      cmocka_unit_test(all_gathers_are_what_their_schedules_send),
      cmocka_unit_test(all_to_alls_are_what_their_schedules_send),
      cmocka_unit_test(an_all_reduce_is_a_reduce_scatter_and_an_all_gather),
      cmocka_unit_test(rings_pass_a_shared_port_once),
      cmocka_unit_test(a_named_machine_prices_its_collectives),
      cmocka_unit_test(halos_pay_for_rows_and_neighbours),
      cmocka_unit_test(what_was_measured_takes_the_place_of_a_formula),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
