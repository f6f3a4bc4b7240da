// Unit tests of sim/topology: the links of a machine, and the ways of messages over them.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "sim/topology.h"
#include "tests/testing.h"

#define HEAD "(egraph-machine 1)(name n)(compute free)"

static void load(const char *text, eg_machine *machine, eg_topology *out) {
  assert_ok(eg_machine_parse(NULL, "m", text, strlen(text), 0, machine));
  assert_ok(eg_topology_make(machine, out));
}

/// A way as "part.link ...": a link by its place in its part, whose number is that in the
/// order of topology.c.
static void check_way(const eg_topology *t, uint32_t from, uint32_t to,
                      const char *expected, double latency) {
  char text[256] = "";
  double is;
  eg_u32s links;
  eg_u32s_init(&links, eg_allocator_heap());
  assert_ok(eg_topology_path(t, from, to, &links, &is));
  for (size_t i = 0; i < links.len; i++) {
    uint32_t part = eg_topology_part_of(t, links.data[i]);
    size_t len = strlen(text);
    (void)snprintf(text + len, sizeof text - len, "%s%u.%u", i == 0 ? "" : " ", part,
                   links.data[i] - t->parts[part].first);
  }
  assert_string_equal(text, expected);
  assert_true(is == latency);
  eg_u32s_deinit(&links);
}

static void messages_pass_ports_and_switches(void **state) {
  (void)state;
  eg_machine m;
  eg_topology t;
  load(HEAD "(link fast (latency 1) (bandwidth 10) (ports switch))"
            "(link nic (latency 2) (bandwidth 3) (shared 2) (ports fat-tree (4 1) (8 2)))"
            "(axis node 4 nic)(axis gpu 4 fast)",
       &m, &t);
  // fast: 0 out, 1 in; nic: 2 out, 3 in, 4 and 5 of shared ports, 6 and 7, 8 and 9 of
  // switches of 4 and of 8
  assert_int_equal(t.part_count, 10);
  assert_true(t.parts[4].bandwidth == 3);
  assert_true(t.parts[6].bandwidth == 2 * 3);
  assert_true(t.parts[8].bandwidth == 4 * 3 / 2.0);
  check_way(&t, 5, 5, "", 0);
  check_way(&t, 4, 7, "0.4 1.7", 1);
  check_way(&t, 1, 6, "2.1 4.0 6.0 7.1 5.3 3.6", 2);
  check_way(&t, 1, 14, "2.1 4.0 6.0 8.0 9.1 7.3 5.7 3.14", 2);
  eg_machine_deinit(&m);
}

static void messages_pass_what_lies_on_the_way(void **state) {
  (void)state;
  eg_machine m;
  eg_topology t;
  load(HEAD "(link pcie (latency 5) (bandwidth 10) (shared 2) (ports switch))"
            "(link nic (latency 2) (bandwidth 3) (ports switch) (through pcie))"
            "(axis node 4 nic)",
       &m, &t);
  // pcie: 0 out, 1 in, 2 and 3 of shared ports; nic: 4 out, 5 in
  check_way(&t, 0, 3, "0.0 2.0 3.1 1.3 4.0 5.3", 2);
  check_way(&t, 0, 1, "0.0 1.1 4.0 5.1", 2); // below one bridge
  eg_machine_deinit(&m);
}

static void messages_go_the_shorter_way_round_a_torus(void **state) {
  (void)state;
  eg_machine m;
  eg_topology t;
  load(HEAD "(link wire (latency 1) (bandwidth 1) (ports torus))"
            "(link fast (latency 0.5) (bandwidth 9) (ports switch))"
            "(axis x 4 wire)(axis y 5 wire)(axis gpu 2 fast)",
       &m, &t);
  // x: 0 forward, 1 back; y: 2 forward, 3 back; fast: 4 out, 5 in
  check_way(&t, 0, 10, "0.0", 1);
  check_way(&t, 0, 30, "1.0", 1);
  check_way(&t, 0, 20, "0.0 0.10", 2);               // as far both ways: forward
  check_way(&t, 0, 38, "1.0 3.30", 2);               // x back, then y back
  check_way(&t, 11, 5, "1.11 2.1 2.3", 3);           // at its own place in gpu
  check_way(&t, 11, 4, "1.11 2.1 2.3 4.5 5.4", 3.5); // and on to the other one
  eg_machine_deinit(&m);
}

static void too_many_links_are_refused(void **state) {
  (void)state;
  char text[2048] = HEAD;
  eg_machine m;
  eg_topology t;
  for (int i = 0; i < 9; i++) {
    size_t len = strlen(text);
    (void)snprintf(text + len, sizeof text - len,
                   "(link l%d (latency 1) (bandwidth 1) (ports switch))", i);
  }
  strcat(text, "(axis x 1048576 l0)");
  assert_ok(eg_machine_parse(NULL, "m", text, strlen(text), 0, &m));
  assert_fails(eg_topology_make(&m, &t), EGRAPH_E_ARGUMENT, "take fewer nodes");
  eg_machine_deinit(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(messages_pass_ports_and_switches),
      cmocka_unit_test(messages_pass_what_lies_on_the_way),
      cmocka_unit_test(messages_go_the_shorter_way_round_a_torus),
      cmocka_unit_test(too_many_links_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
