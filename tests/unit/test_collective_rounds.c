// Unit tests of sim/collective_rounds and sim/exchange_flows: exchanges on ports that a
// hand can follow; what every schedule delivers; against the closed forms.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/rounds_kit.h"

#define HEAD "(egraph-machine 1)(name n)(compute free)"
#define ONE_SWITCH(n)                                                                    \
  HEAD "(link port (latency 0.1) (bandwidth 1) (ports switch))(axis d " n " port)"

enum { N_MAX = 20 };

// ---- by hand ----------------------------------------------------------------------

#define GATHER EG_TRANSITION_ALL_GATHER
#define SCATTER EG_TRANSITION_REDUCE_SCATTER
#define REDUCE EG_TRANSITION_ALL_REDUCE
#define SWAP EG_TRANSITION_ALL_TO_ALL
#define RING EG_ALGORITHM_RING
#define HALVING EG_ALGORITHM_HALVING
#define DOUBLING EG_ALGORITHM_DOUBLING
#define TREE EG_ALGORITHM_TREE
#define LEVELS EG_ALGORITHM_HIERARCHICAL

// Two nodes of four devices, 10 bytes per second within a node, 1 between nodes.
#define NODES(nic)                                                                       \
  HEAD "(link fast (latency 0) (bandwidth 10) (ports switch))"                           \
       "(link nic (latency 0) (bandwidth 1) " nic ")(axis node 2 nic)(axis gpu 4 fast)"
#define OWN NODES("(ports switch)")
#define SHARED_BY_2 NODES("(shared 2) (ports switch)")
#define SHARED_BY_4 NODES("(shared 4) (ports switch)")
#define TREE_OF(ports)                                                                   \
  HEAD "(link port (latency 0) (bandwidth 1) (ports fat-tree " ports "))(axis d 8 port)"
#define TORUS(x, y)                                                                      \
  HEAD "(link wire (latency 0.5) (bandwidth 1) (ports torus))(axis x " x                 \
       " wire)(axis y " y " wire)"
#define PCIE                                                                             \
  HEAD "(link pcie (latency 0) (bandwidth 1.5) (shared 2) (ports switch))"               \
       "(link nic (latency 0) (bandwidth 1) (ports switch) (through pcie))"              \
       "(link fast (latency 0) (bandwidth 10) (ports switch))"                           \
       "(axis node 2 nic)(axis gpu 4 fast)"

typedef struct hand_case {
  const char *machine, *mesh;
  exchange_case exchanges[2]; // the second one, if it has bytes, at the same time
  double seconds;
  uint32_t classes; // of devices
} hand_case;

static const hand_case hand_cases[] = {
    // 2 (n - 1) rounds of an n-th of 8 bytes, 0.1 of latency each
    {ONE_SWITCH("2"), "d=2", {{0, REDUCE, RING, 8}}, 8.2, 1},
    {ONE_SWITCH("4"), "d=4", {{0, REDUCE, RING, 8}}, 12.6, 1},
    {ONE_SWITCH("8"), "d=8", {{0, REDUCE, RING, 8}}, 15.4, 1},
    {ONE_SWITCH("8"), "d=8", {{0, GATHER, RING, 8}}, 7.7, 1},
    {ONE_SWITCH("8"), "d=8", {{0, SCATTER, RING, 8}}, 7.7, 1},
    {ONE_SWITCH("8"), "d=8", {{0, SWAP, RING, 64}}, 7.7, 1}, // 7 rounds of 1 byte
    // ring against tree: fewer rounds of as much data; few rounds of all data
    {ONE_SWITCH("8"), "d=8", {{0, GATHER, HALVING, 8}}, 7.3, 1},
    {ONE_SWITCH("8"), "d=8", {{0, REDUCE, HALVING, 8}}, 14.6, 1},
    {ONE_SWITCH("8"), "d=8", {{0, REDUCE, DOUBLING, 8}}, 24.3, 1},
    {ONE_SWITCH("8"), "d=8", {{0, REDUCE, DOUBLING, 0.08}}, 0.54, 1},
    {ONE_SWITCH("8"), "d=8", {{0, REDUCE, RING, 0.08}}, 1.54, 1},
    {ONE_SWITCH("5"), "d=5", {{0, GATHER, HALVING, 5}}, 4.3, 1},
    {ONE_SWITCH("5"), "d=5", {{0, SCATTER, HALVING, 5}}, 4.3, 1},
    {ONE_SWITCH("5"), "d=5", {{0, SWAP, HALVING, 25}}, 5.3, 1}, // 2, 2, 1 blocks of 1
    {ONE_SWITCH("3"),
     "d=3",
     {{0, REDUCE, DOUBLING, 8}},
     24.3,
     3}, // to a partner and back
    // 8 pieces of half a byte up and down in two trees: one way in the first and last
    // round
    {ONE_SWITCH("2"), "d=2", {{0, REDUCE, TREE, 8}}, 2 * 0.6 + 7 * 1.1, 1},
    // a NIC for each: groups of two, side by side
    {OWN, "node=2,gpu=4", {{0, REDUCE, RING, 8}}, 8, 1},
    {SHARED_BY_2, "node=2,gpu=4", {{0, REDUCE, RING, 8}}, 16, 1},
    {SHARED_BY_4, "node=2,gpu=4", {{0, REDUCE, RING, 8}}, 32, 1},
    {OWN, "node=2,gpu=4", {{1, REDUCE, RING, 40}}, 6, 1},
    // axes that share nothing do not wait for each other
    {OWN, "node=2,gpu=4", {{0, REDUCE, RING, 8}, {1, REDUCE, RING, 40}}, 8, 1},
    // two axes over one class of links do: 8 bytes along each, 4 s each alone, 1 round of
    // 4 s at half the rate
    {ONE_SWITCH("4"), "a=2,b=2", {{0, GATHER, RING, 8}, {1, GATHER, RING, 8}}, 8.1, 1},
    // a ring through both nodes: 7 rounds, each as long as the hop between nodes
    {OWN, "d=8", {{0, GATHER, RING, 8}}, 7, 4},
    {SHARED_BY_4, "d=8", {{0, GATHER, RING, 8}}, 7, 4},
    // level by level: 3 rounds of a byte at 10, then one of 4 bytes between nodes
    {OWN, "d=8", {{0, GATHER, LEVELS, 8}}, 1 + 3 * 0.2, 1},
    {OWN, "d=8", {{0, SCATTER, LEVELS, 8}}, 3 * 0.2 + 1, 1},
    {OWN, "d=8", {{0, REDUCE, LEVELS, 8}}, 3.2, 1},
    {OWN, "d=8", {{0, SWAP, LEVELS, 64}}, 3 * 0.2 + 4, 1},
    {SHARED_BY_4, "d=8", {{0, GATHER, LEVELS, 8}}, 4 + 0.6, 1},
    // messages to the other node pass PCIe, which two devices share
    {PCIE, "node=2,gpu=4", {{0, GATHER, RING, 6}}, 4, 1},
    {PCIE, "node=2,gpu=4", {{1, GATHER, RING, 40}}, 3, 1},
    // four devices below a switch, twice too narrow: 4 flows over links of 2
    {TREE_OF("(4 2)"), "a=2,b=4", {{0, GATHER, RING, 8}}, 8, 1},
    {TREE_OF("(4 1)"), "a=2,b=4", {{0, GATHER, RING, 8}}, 4, 1},
    {TREE_OF("(4 2)"), "a=2,b=4", {{1, GATHER, RING, 8}}, 6, 1},
    {TREE_OF("(2 2) (4 2)"), "a=2,b=4", {{0, GATHER, RING, 8}}, 8, 1},
    {TREE_OF("(2 4) (4 1)"), "a=2,b=4", {{0, GATHER, RING, 8}}, 16, 1},
    // a ring in the order of ranks passes it with one flow, which it carries at full rate
    {TREE_OF("(4 2)"), "d=8", {{0, GATHER, RING, 8}}, 7, 4},
    {TREE_OF("(4 8)"), "d=8", {{0, GATHER, RING, 8}}, 14, 4},
    // along a torus neighbours have wires of their own, both axes at once
    {TORUS("4", "4"), "x=4,y=4", {{0, GATHER, RING, 8}}, 3 * 2.5, 1},
    {TORUS("4", "4"), "x=4,y=4", {{0, GATHER, RING, 8}, {1, GATHER, RING, 8}}, 7.5, 1},
    {TORUS("4", "4"), "d=16", {{0, GATHER, LEVELS, 16}}, 3 * 1.5 + 3 * 4.5, 1},
    // distance 2: over two wires, each of which two flows pass
    {TORUS("4", "1"), "x=4", {{0, SWAP, RING, 16}}, 1.5 + 3 + 1.5, 1},
};

static void exchanges_take_what_a_hand_computes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof hand_cases / sizeof *hand_cases; i++) {
    const hand_case *c = &hand_cases[i];
    size_t count = c->exchanges[1].bytes > 0 ? 2 : 1;
    uint32_t classes;
    eg_machine machine;
    load_machine(c->machine, &machine);
    eg_machine_mesh mesh = mesh_on(&machine, c->mesh);
    double all = run_exchanges(&machine, &mesh.mesh, c->exchanges, count, true, NULL);
    double some =
        run_exchanges(&machine, &mesh.mesh, c->exchanges, count, false, &classes);
    if (fabs(all - c->seconds) > 1e-9 || fabs(some - c->seconds) > 1e-9 ||
        classes != c->classes)
      fail_msg("case %zu takes %.12g, by %u classes %.12g, not %.12g by %u", i, all,
               classes, some, c->seconds, c->classes);
    eg_machine_deinit(&machine);
  }
}

// ---- what schedules deliver --------------------------------------------------------

static void make(eg_collective_algorithm algorithm, eg_transition_kind kind, uint32_t n,
                 eg_rounds *out) {
  const uint32_t levels[] = {n % 2 == 0 ? 2 : n, n % 2 == 0 ? n / 2 : 1};
  eg_rounds_init(out, eg_allocator_heap());
  assert_ok(eg_rounds_make(algorithm, kind, n, levels, 2, out));
}

/// Repeated ones counted each.
static uint32_t count_rounds(const eg_rounds *rounds) {
  uint32_t count = 0;
  for (size_t i = 0; i < rounds->rounds.len; i++)
    count += rounds->rounds.data[i].repeat;
  return count;
}

/// One after the other; `backwards` in time.
static const eg_round *round_at(const eg_rounds *rounds, uint32_t turn, bool backwards) {
  uint32_t r = 0, turns = count_rounds(rounds);
  if (backwards) turn = turns - 1 - turn;
  while (turn >= rounds->rounds.data[r].repeat)
    turn -= rounds->rounds.data[r++].repeat;
  return &rounds->rounds.data[r];
}

/// Every device has a block. A message is as large as what its receiver lacks of what its
/// sender has; at the end all have all. A reduce-scatter is that backwards.
static void check_gathers(const eg_rounds *rounds, uint32_t n, bool backwards) {
  bool has[N_MAX][N_MAX] = {{false}}, next[N_MAX][N_MAX];
  for (uint32_t d = 0; d < n; d++)
    has[d][d] = true;
  for (uint32_t turn = 0; turn < count_rounds(rounds); turn++) {
    const eg_round *round = round_at(rounds, turn, backwards);
    memcpy(next, has, sizeof has);
    for (uint32_t i = round->first; i < round->first + round->count; i++) {
      const eg_message *m = &rounds->messages.data[i];
      uint32_t from = backwards ? m->to : m->from, to = backwards ? m->from : m->to;
      uint32_t lacks = 0;
      for (uint32_t block = 0; block < n; block++) {
        lacks += has[from][block] && !has[to][block];
        next[to][block] |= has[from][block];
      }
      assert_close(m->share, (double)lacks / n);
    }
    memcpy(has, next, sizeof has);
  }
  for (uint32_t d = 0; d < n; d++)
    for (uint32_t block = 0; block < n; block++)
      assert_true(has[d][block]);
}

static const eg_collective_algorithm by_blocks[] = {RING, HALVING, LEVELS};

static void gathers_and_scatters_deliver_every_block(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof by_blocks / sizeof *by_blocks; i++)
    for (uint32_t n = 2; n <= N_MAX; n++)
      for (int scatters = 0; scatters < 2; scatters++) {
        eg_rounds rounds;
        make(by_blocks[i], scatters ? SCATTER : GATHER, n, &rounds);
        check_gathers(&rounds, n, scatters != 0);
        eg_rounds_deinit(&rounds);
      }
}

static double sent_by(const eg_rounds *rounds, uint32_t from) {
  double sum = 0;
  for (size_t r = 0; r < rounds->rounds.len; r++)
    for (uint32_t i = 0; i < rounds->rounds.data[r].count; i++) {
      const eg_message *m = &rounds->messages.data[rounds->rounds.data[r].first + i];
      if (m->from == from) sum += m->share * rounds->rounds.data[r].repeat;
    }
  return sum;
}

/// An all-reduce by blocks is a reduce-scatter, then an all-gather.
static void reductions_by_blocks_are_both(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof by_blocks / sizeof *by_blocks; i++)
    for (uint32_t n = 2; n <= N_MAX; n++) {
      eg_rounds scatter, gather, both;
      make(by_blocks[i], SCATTER, n, &scatter);
      make(by_blocks[i], GATHER, n, &gather);
      make(by_blocks[i], REDUCE, n, &both);
      uint32_t first = count_rounds(&scatter), second = count_rounds(&gather);
      assert_int_equal(count_rounds(&both), first + second);
      for (uint32_t turn = 0; turn < first + second; turn++) {
        const eg_rounds *half = turn < first ? &scatter : &gather;
        const eg_round *a = round_at(&both, turn, false);
        const eg_round *b = round_at(half, turn < first ? turn : turn - first, false);
        assert_int_equal(a->count, b->count);
        assert_memory_equal(both.messages.data + a->first, half->messages.data + b->first,
                            a->count * sizeof(eg_message));
      }
      eg_rounds_deinit(&both);
      eg_rounds_deinit(&gather);
      eg_rounds_deinit(&scatter);
    }
}

/// By doubling, what two devices have of the sum never overlaps; what comes back at the
/// end is all of it.
static void doubling_adds_up_each_device_once(void **state) {
  (void)state;
  for (uint32_t n = 2; n <= N_MAX; n++) {
    uint32_t has[N_MAX], next[N_MAX], all = (UINT32_C(1) << n) - 1;
    eg_rounds rounds;
    make(DOUBLING, REDUCE, n, &rounds);
    for (uint32_t d = 0; d < n; d++)
      has[d] = next[d] = UINT32_C(1) << d;
    for (size_t r = 0; r < rounds.rounds.len; r++) {
      const eg_round *round = &rounds.rounds.data[r];
      for (uint32_t i = round->first; i < round->first + round->count; i++) {
        const eg_message *m = &rounds.messages.data[i];
        assert_true(has[m->from] == all || (has[m->from] & has[m->to]) == 0);
        next[m->to] |= has[m->from];
      }
      memcpy(has, next, sizeof has);
    }
    for (uint32_t d = 0; d < n; d++)
      assert_true(has[d] == all);
    eg_rounds_deinit(&rounds);
  }
}

/// Of two trees a device sends in one to two others and up, in the other up alone, so
/// that nobody sends more than all data up and all data down.
static void two_trees_share_the_work(void **state) {
  (void)state;
  for (uint32_t n = 2; n <= N_MAX; n++) {
    double sum = 0, most = 0;
    eg_rounds rounds;
    make(TREE, REDUCE, n, &rounds);
    for (uint32_t d = 0; d < n; d++) {
      double sent = sent_by(&rounds, d);
      sum += sent;
      most = fmax(most, sent);
    }
    assert_close(sum, 2 * (n - 1)); // each edge of both trees, up and down
    assert_true(most <= 2 + 1e-12);
    eg_rounds_deinit(&rounds);
  }
}

static void all_to_alls_send_what_is_asked_for(void **state) {
  (void)state;
  for (uint32_t n = 2; n <= N_MAX; n++) {
    eg_rounds one, levels;
    make(RING, SWAP, n, &one);
    make(LEVELS, SWAP, n, &levels);
    assert_close(sent_by(&one, n - 1), (n - 1.0) / n / n);
    // Each level passes on all but what stays: the data of a device, (size - 1) / size.
    assert_close(sent_by(&levels, 0),
                 n % 2 == 0 ? (0.5 + (n / 2.0 - 1) / (n / 2.0)) / n : (n - 1.0) / n / n);
    eg_rounds_deinit(&levels);
    eg_rounds_deinit(&one);
  }
}

static void broadcasts_and_halos_reach_whom_they_should(void **state) {
  (void)state;
  for (uint32_t n = 1; n <= N_MAX; n++) {
    bool has[N_MAX] = {true};
    eg_rounds rounds;
    eg_rounds_init(&rounds, eg_allocator_heap());
    assert_ok(eg_rounds_make_broadcast(n, &rounds));
    for (size_t i = 0; i < rounds.messages.len; i++) {
      const eg_message *m = &rounds.messages.data[i];
      assert_true(has[m->from] && !has[m->to]);
      has[m->to] = true;
    }
    assert_int_equal(rounds.messages.len, n - 1);
    eg_rounds_deinit(&rounds);
    assert_ok(eg_rounds_make_neighbours(n, &rounds));
    assert_int_equal(rounds.messages.len, 2 * (n - 1));
    assert_int_equal(rounds.rounds.len, n == 1 ? 0 : 2);
    for (size_t i = 0; i < rounds.messages.len; i++)
      assert_int_equal(rounds.messages.data[i].from + (i < n - 1),
                       rounds.messages.data[i].to + (i >= n - 1));
    eg_rounds_deinit(&rounds);
  }
}

// ---- closed forms -----------------------------------------------------------------

static void rounds_end_when_the_closed_form_says(void **state) {
  (void)state;
  static const char *const collectives[] = {"ring", "tree", "auto"};
  for (size_t c = 0; c < 3; c++)
    for (uint32_t n = 2; n <= N_MAX; n++) {
      char text[256];
      eg_machine machine;
      (void)snprintf(text, sizeof text, ONE_SWITCH("%u") "(collectives %s)", n,
                     collectives[c]);
      load_machine(text, &machine);
      const eg_machine_mesh *mesh = &machine.meshes[0];
      for (int kind = EG_TRANSITION_ALL_GATHER; kind < EG_TRANSITION_KINDS; kind++)
        for (double bytes = 0; bytes < 1e4; bytes = bytes * 10 + 0.01) {
          eg_transition transition = {.kind = (eg_transition_kind)kind, .axis = 0};
          eg_collective_algorithm algorithm =
              eg_collective_algorithm_of(mesh, &transition, bytes);
          // Rounds for devices beyond a power of two are not in the formula.
          if (algorithm == DOUBLING && kind == REDUCE && (n & (n - 1)) != 0) continue;
          const exchange_case exchange = {0, transition.kind, algorithm, bytes};
          assert_close(run_exchanges(&machine, &mesh->mesh, &exchange, 1, false, NULL),
                       eg_collective_seconds(mesh, &transition, bytes));
        }
      eg_machine_deinit(&machine);
    }
}

static void axes_without_ports_are_not_known(void **state) {
  (void)state;
  eg_machine m;
  load_machine(HEAD "(link fast (latency 0) (bandwidth 10))"
                    "(link nic (latency 0) (bandwidth 1) (ports switch))"
                    "(axis node 2 nic)(axis gpu 4 fast)",
               &m);
  eg_machine_mesh own = mesh_on(&m, "node=2,gpu=4"), flat = mesh_on(&m, "d=8");
  assert_true(eg_exchange_is_known(&m, &own, 0));
  assert_false(eg_exchange_is_known(&m, &own, 1));
  assert_false(eg_exchange_is_known(&m, &flat, 0)); // some of its messages stay in a node
  own.links[0].link = 0; // a file may name another link for an axis
  assert_false(eg_exchange_is_known(&m, &own, 0));
  eg_machine_deinit(&m);
}

static egraph_status expand(egraph_allocator alloc, void *user) {
  const eg_machine *machine = user;
  eg_exchange_flows flows;
  eg_task_graph *graph = NULL;
  uint32_t shape, stream, enter, leave;
  eg_exchange_flows_init(&flows, alloc);
  egraph_status status = eg_task_graph_create(alloc, &graph);
  if (status == EGRAPH_OK)
    status = eg_exchange_flows_shape(&flows, 0, GATHER, LEVELS, &shape);
  if (status == EGRAPH_OK)
    status = eg_exchange_flows_make(&flows, machine, &machine->meshes[0].mesh, false);
  if (status == EGRAPH_OK) status = eg_exchange_flows_add_links(&flows, graph);
  if (status == EGRAPH_OK) status = eg_task_graph_add_stream(graph, &stream);
  if (status == EGRAPH_OK)
    status = eg_task_graph_add_compute(graph, 0, &stream, 1, &enter);
  const eg_exchange_ends ends = {&enter, &leave, &stream, NULL};
  if (status == EGRAPH_OK) status = eg_exchange_flows_add(&flows, graph, shape, 8, &ends);
  if (status == EGRAPH_OK) status = eg_task_graph_simulate(graph);
  eg_task_graph_destroy(graph);
  eg_exchange_flows_deinit(&flows);
  return status;
}

static void failing_allocations_are_survived(void **state) {
  (void)state;
  eg_machine machine;
  load_machine(OWN "(mesh (d *))", &machine);
  test_every_allocation_failing(expand, &machine);
  eg_machine_deinit(&machine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exchanges_take_what_a_hand_computes),
      cmocka_unit_test(gathers_and_scatters_deliver_every_block),
      cmocka_unit_test(reductions_by_blocks_are_both),
      cmocka_unit_test(doubling_adds_up_each_device_once),
      cmocka_unit_test(two_trees_share_the_work),
      cmocka_unit_test(all_to_alls_send_what_is_asked_for),
      cmocka_unit_test(broadcasts_and_halos_reach_whom_they_should),
      cmocka_unit_test(rounds_end_when_the_closed_form_says),
      cmocka_unit_test(axes_without_ports_are_not_known),
      cmocka_unit_test(failing_allocations_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
