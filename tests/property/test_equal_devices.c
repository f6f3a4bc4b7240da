// One device of each class against all devices, each simulated: random machines, meshes
// and exchanges at once.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "base/hash.h"
#include "tests/unit/rounds_kit.h"

enum { MOST_EXCHANGES = 3, TEXT = 512 };

static const char *const ports[] = {
    "(ports switch)",
    "(shared 2) (ports switch)",
    "(ports fat-tree (2 2))",
    "(ports fat-tree (2 1) (4 3))",
    "(shared 2) (ports fat-tree (4 2))",
    "(ports torus)",
    "(ports switch) (through pcie)",
};
static const char *const meshes[] = {"a=8", "a=2,b=4", "a=4,b=2", "a=2,b=2,c=2"};

/// Eight devices along two axes, over one class of links or two.
static void draw_machine(eg_rng *rng, char *out) {
  unsigned latency[2], bandwidth[2], first = eg_rng_below(rng, 2) != 0 ? 2 : 4;
  const char *joined[2];
  for (int i = 0; i < 2; i++) {
    latency[i] = (unsigned)eg_rng_below(rng, 3);
    bandwidth[i] = 1 + (unsigned)eg_rng_below(rng, 4);
    joined[i] = ports[eg_rng_below(rng, sizeof ports / sizeof *ports)];
  }
  (void)snprintf(out, TEXT,
                 "(egraph-machine 1)(name n)(compute free)"
                 "(link pcie (latency 0) (bandwidth 3) (shared 2) (ports switch))"
                 "(link outer (latency %u) (bandwidth %u) %s)"
                 "(link inner (latency %u) (bandwidth %u) %s)"
                 "(axis x %u outer)(axis y %u %s)",
                 latency[0], bandwidth[0], joined[0], latency[1], bandwidth[1], joined[1],
                 first, 8 / first, eg_rng_below(rng, 3) == 0 ? "outer" : "inner");
}

static void one_device_of_each_class_has_the_times_of_all(void **state) {
  (void)state;
  eg_rng rng = {.state = test_seed(11)};
  uint32_t fewer = 0, single = 0;
  for (size_t round = 0; round < test_rounds(300); round++) {
    char text[TEXT];
    exchange_case cases[MOST_EXCHANGES];
    uint32_t classes, axes;
    size_t count = 1 + eg_rng_below(&rng, MOST_EXCHANGES);
    eg_machine machine;
    draw_machine(&rng, text);
    load_machine(text, &machine);
    eg_machine_mesh mesh = mesh_on(&machine, meshes[eg_rng_below(&rng, 4)]);
    axes = mesh.mesh.axis_count;
    for (size_t i = 0; i < count; i++)
      cases[i] = (exchange_case){
          (uint32_t)eg_rng_below(&rng, axes),
          (eg_transition_kind)(EG_TRANSITION_ALL_GATHER + eg_rng_below(&rng, 4)),
          (eg_collective_algorithm)(EG_ALGORITHM_RING + eg_rng_below(&rng, 5)),
          (double)(1 + eg_rng_below(&rng, 64))};
    double all = run_exchanges(&machine, &mesh.mesh, cases, count, true, NULL);
    double some = run_exchanges(&machine, &mesh.mesh, cases, count, false, &classes);
    if (fabs(all - some) > 1e-9 * all)
      fail_msg("round %zu: %u classes take %.15g, all devices %.15g, on %s", round,
               classes, some, all, text);
    fewer += classes < 8;
    single += classes == 1;
    eg_machine_deinit(&machine);
  }
  print_message("%u have fewer classes than devices, %u have one\n", fewer, single);
  assert_true(fewer > 0 && single > 0 && fewer > single);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_device_of_each_class_has_the_times_of_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
