// Unit tests of pcg/parallel/machine: reading and printing, shipped machines, links of
// meshes, hostile files, failing allocations.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "pcg/parallel/builtin_machines.h"
#include "pcg/parallel/machine.h"
#include "tests/machine_print.h"
#include "tests/testing.h"

#define DEVICE                                                                           \
  "(device (memory 1e9) (bandwidth 1e10) (overhead 0) (peak (float32 1e12)))\n"
#define LINKS                                                                            \
  "(link fast (latency 1e-6) (bandwidth 1e10))\n"                                        \
  "(link slow (latency 1e-5) (bandwidth 1e9))\n"

static egraph_status parse(const char *text, eg_machine *out) {
  return eg_machine_parse(NULL, "m", text, strlen(text), 0, out);
}

static void print(const eg_machine *machine, eg_text *out) {
  eg_text_init(out, eg_allocator_heap());
  assert_ok(machine_print(out, machine));
}

/// What is printed reads back as a machine that prints the same, with the same meshes.
static void check_round_trip(const eg_machine *machine) {
  eg_text first, second;
  eg_machine again;
  print(machine, &first);
  assert_ok(parse(eg_text_of(&first), &again));
  print(&again, &second);
  assert_string_equal(eg_text_of(&first), eg_text_of(&second));
  assert_string_equal(machine->name, again.name);
  assert_string_equal(machine->device, again.device);
  assert_int_equal(machine->mesh_count, again.mesh_count);
  assert_memory_equal(machine->peak_flops, again.peak_flops, sizeof again.peak_flops);
  for (uint32_t i = 0; i < machine->mesh_count; i++) {
    const eg_machine_mesh *a = &machine->meshes[i], *b = &again.meshes[i];
    assert_int_equal(a->mesh.axis_count, b->mesh.axis_count);
    assert_int_equal(a->collectives, b->collectives);
    for (uint32_t k = 0; k < a->mesh.axis_count; k++) {
      assert_string_equal(a->mesh.axes[k].name, b->mesh.axes[k].name);
      assert_int_equal(a->mesh.axes[k].size, b->mesh.axes[k].size);
      assert_true(a->links[k].latency_seconds == b->links[k].latency_seconds);
      assert_true(a->links[k].seconds_per_byte == b->links[k].seconds_per_byte);
      assert_true(a->links[k].exchange_seconds_per_byte ==
                  b->links[k].exchange_seconds_per_byte);
    }
  }
  eg_machine_deinit(&again);
  eg_text_deinit(&second);
  eg_text_deinit(&first);
}

/// Checks "name=size:link ..." of a mesh.
static void check_mesh(const eg_machine *machine, uint32_t index, const char *expected) {
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  const eg_machine_mesh *mesh = &machine->meshes[index];
  for (uint32_t i = 0; i < mesh->mesh.axis_count; i++)
    assert_ok(eg_text_printf(&text, "%s%s=%u:%s", i == 0 ? "" : " ",
                             mesh->mesh.axes[i].name, mesh->mesh.axes[i].size,
                             machine->links[mesh->links[i].link].name));
  assert_string_equal(eg_text_of(&text), expected);
  eg_text_deinit(&text);
}

// ---- reading ----------------------------------------------------------------------

static void every_clause_is_read(void **state) {
  (void)state;
  eg_machine m;
  assert_ok(
      parse("; comment\n(egraph-machine 1)\n"
            "(mesh (a 2) (b 3 slow))\n" // clauses stand in any order
            "(axis y 3 fast) (name my.machine) (collectives tree)\n"
            "(device (kind \"a \\\"thing\\\"\") (profile \"x/1\") (memory 5e8)\n"
            "  (bandwidth 2e10) (overhead 1e-6) (peak (int8 4e12) (float32 1e12)))\n"
            "(link fast (latency 0) (bandwidth 4e9)) (link slow (alpha 7) (beta 2)\n"
            "  (shared 3)) (axis x nodes slow) (nodes 2)",
            &m));
  assert_string_equal(m.name, "my.machine");
  assert_string_equal(m.device, "a \"thing\"");
  assert_string_equal(m.profile, "x/1");
  assert_true(m.memory_bytes == 5e8 && m.bandwidth_bytes == 2e10);
  assert_true(m.overhead_seconds == 1e-6 && !m.compute_is_free);
  assert_true(m.peak_flops[EGRAPH_FLOAT32] == 1e12 && m.peak_flops[EGRAPH_INT8] == 4e12);
  assert_true(m.peak_flops[EGRAPH_FLOAT16] == 1e12);
  assert_int_equal(m.collectives, EG_COLLECTIVES_TREE);
  assert_int_equal(m.link_count, 2);
  assert_true(m.links[0].seconds_per_byte == 2.5e-10 && m.links[0].sharers == 1);
  assert_true(m.links[1].latency_seconds == 7 && m.links[1].seconds_per_byte == 2);
  assert_int_equal(m.links[1].sharers, 3);
  assert_int_equal(eg_machine_devices(&m), 6);
  assert_int_equal(m.mesh_count, 1);
  assert_int_equal(m.meshes[0].collectives, EG_COLLECTIVES_TREE);
  check_round_trip(&m);
  eg_machine_deinit(&m);
}

static void links_say_how_their_ports_are_joined(void **state) {
  (void)state;
  eg_machine m;
  assert_ok(parse("(egraph-machine 1)(name n)(compute free)(device (beside 1.25))\n"
                  "(link pcie (latency 0) (bandwidth 6e10) (shared 2) (ports switch))\n"
                  "(link nic (latency 0) (bandwidth 5e10) (shared 4)\n"
                  "  (ports fat-tree (16 1) (64 2.5)) (through pcie))\n"
                  "(link ici (latency 0) (bandwidth 1e11) (ports torus))\n"
                  "(link plain (latency 0) (bandwidth 1e11))\n"
                  "(axis rack 2 nic) (axis x 4 ici) (axis y 4 plain)\n",
                  &m));
  assert_true(m.beside == 1.25);
  assert_int_equal(m.links[0].ports, EG_PORTS_SWITCH);
  assert_int_equal(m.links[0].through, EG_LINK_AUTO);
  assert_int_equal(m.links[1].ports, EG_PORTS_FAT_TREE);
  assert_int_equal(m.links[1].through, 0);
  assert_int_equal(m.links[1].level_count, 2);
  assert_int_equal(m.links[1].levels[1].devices, 64);
  assert_true(m.links[1].levels[1].oversubscription == 2.5);
  assert_int_equal(m.links[2].ports, EG_PORTS_TORUS);
  assert_int_equal(m.links[3].ports, EG_PORTS_UNKNOWN);
  check_round_trip(&m);
  eg_machine_deinit(&m);
}

static void free_compute_needs_no_device(void **state) {
  (void)state;
  eg_machine m;
  assert_ok(parse("(egraph-machine 1)(name n)(compute free)", &m));
  assert_true(m.compute_is_free && isinf(m.memory_bytes));
  assert_int_equal(eg_machine_devices(&m), 1);
  assert_int_equal(m.mesh_count, 1);
  assert_int_equal(m.meshes[0].mesh.axis_count, 0);
  check_round_trip(&m);
  eg_machine_deinit(&m);
  assert_ok(parse("(egraph-machine 1)(name n)(compute free)(device (memory 3))", &m));
  assert_true(m.memory_bytes == 3);
  check_round_trip(&m);
  eg_machine_deinit(&m);
}

static void nodes_scale_a_machine(void **state) {
  (void)state;
  static const char text[] = "(egraph-machine 1)(name n)(nodes 3)" DEVICE LINKS
                             "(axis node nodes slow)(axis gpu 4 fast)"
                             "(mesh (node nodes) (gpu 4)) (mesh (all *))"
                             "(mesh (gpu *) (tail 2))";
  eg_machine m;
  assert_ok(parse(text, &m));
  assert_int_equal(eg_machine_devices(&m), 12);
  assert_int_equal(m.mesh_count, 3);
  check_mesh(&m, 0, "node=3:slow gpu=4:fast");
  check_mesh(&m, 1, "all=12:slow");
  check_mesh(&m, 2, "gpu=6:slow tail=2:fast");
  check_round_trip(&m);
  eg_machine_deinit(&m);
  // One node: its axis falls away, and with it the slow link and a mesh that is there
  // twice.
  assert_ok(eg_machine_parse(NULL, "m", text, sizeof text - 1, 1, &m));
  assert_int_equal(m.mesh_count, 2);
  check_mesh(&m, 0, "gpu=4:fast");
  check_mesh(&m, 1, "gpu=2:fast tail=2:fast");
  check_round_trip(&m);
  eg_machine_deinit(&m);
}

// ---- links ------------------------------------------------------------------------

/// The naive meaning: an axis changes the coordinates that differ between some two ranks
/// of one of its groups, and goes over the slowest of their links.
static void check_links(const eg_machine *m, const eg_machine_mesh *mesh) {
  uint32_t devices = eg_machine_devices(m), stride = devices;
  for (uint32_t a = 0; a < mesh->mesh.axis_count; a++) {
    uint32_t size = mesh->mesh.axes[a].size;
    stride /= size;
    double slowest = 0;
    for (uint32_t x = 0; x < devices; x++)
      for (uint32_t y = x + 1; y < devices; y++) {
        bool same_group =
            x % stride == y % stride && x / (stride * size) == y / (stride * size);
        uint32_t left = devices;
        for (uint32_t p = 0; same_group && p < m->axis_count; p++) {
          left /= m->axes[p].size;
          double beta = m->links[m->axes[p].link].seconds_per_byte;
          if (x / left % m->axes[p].size != y / left % m->axes[p].size && beta > slowest)
            slowest = beta;
        }
      }
    assert_true(mesh->links[a].seconds_per_byte == slowest);
  }
}

static void axes_go_over_the_slowest_link_they_cover(void **state) {
  (void)state;
  static const char *const axes[] = {
      "(axis a 2 slow)(axis b 4 fast)", "(axis a 4 fast)(axis b 2 slow)",
      "(axis a 2 slow)(axis b 2 mid)(axis c 2 fast)",
      "(axis a 2 mid)(axis b 1 slow)(axis c 4 fast)", "(axis a 8 mid)"};
  static const char *const meshes =
      "(mesh (x 8))(mesh (x 2) (y 4))(mesh (x 4) (y 2))(mesh (x 2) (y 2) (z 2))";
  for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
    char text[1000];
    eg_machine m;
    (void)snprintf(text, sizeof text,
                   "(egraph-machine 1)(name n)(compute free)" LINKS
                   "(link mid (latency 1e-6) (bandwidth 5e9))%s%s",
                   axes[i], meshes);
    assert_ok(parse(text, &m));
    assert_true(m.mesh_count == 4);
    for (uint32_t k = 0; k < m.mesh_count; k++)
      check_links(&m, &m.meshes[k]);
    eg_machine_deinit(&m);
  }
}

static void a_cut_across_the_axes_is_as_slow_as_its_worst_pair(void **state) {
  (void)state;
  eg_machine m;
  assert_ok(parse("(egraph-machine 1)(name n)(compute free)" LINKS
                  "(axis a 2 slow)(axis b 3 fast)(mesh (x 3) (y 2))",
                  &m));
  check_mesh(&m, 0, "x=3:slow y=2:slow"); // ranks 2 and 3 are a pair of y, across a
  check_links(&m, &m.meshes[0]);
  eg_machine_deinit(&m);
}

static void devices_share_a_port(void **state) {
  (void)state;
  eg_machine m;
  assert_ok(
      parse("(egraph-machine 1)(name n)(compute free)"
            "(link own (alpha 1) (beta 1))(link port (alpha 2) (beta 10) (shared 8))"
            "(axis node 4 port)(axis gpu 8 own)"
            "(mesh (node 4) (gpu 8))(mesh (all 32))(mesh (hosts 16) (pair 2))"
            "(mesh (hosts 8) (quad 4))",
            &m));
  // All eight devices of a node have a ring of their own through the port.
  assert_true(m.meshes[0].links[0].seconds_per_byte == 80);
  assert_true(m.meshes[0].links[0].exchange_seconds_per_byte == 80);
  assert_true(m.meshes[0].links[1].seconds_per_byte == 1);
  // One ring passes it once, but when everybody sends to everybody all eight use it.
  assert_true(m.meshes[1].links[0].seconds_per_byte == 10);
  assert_true(m.meshes[1].links[0].exchange_seconds_per_byte == 80);
  assert_true(m.meshes[2].links[0].seconds_per_byte == 20);
  assert_true(m.meshes[2].links[1].seconds_per_byte == 1);
  assert_true(m.meshes[3].links[0].seconds_per_byte == 40);
  assert_true(m.meshes[3].links[0].latency_seconds == 2);
  check_round_trip(&m);
  eg_machine_deinit(&m);
}

static void a_mesh_of_the_caller_gets_links(void **state) {
  (void)state;
  eg_machine m;
  eg_machine_mesh mesh;
  eg_mesh wanted = {.axis_count = 3, .axes = {{"a", 1}, {"b", 2}, {"c", 4}}};
  const uint32_t links[] = {EG_LINK_AUTO, EG_LINK_AUTO, 1};
  assert_ok(parse("(egraph-machine 1)(name n)(compute free)" LINKS
                  "(axis a 2 slow)(axis b 4 fast)",
                  &m));
  assert_ok(eg_machine_mesh_of(&m, &wanted, NULL, &mesh));
  assert_true(mesh.links[0].link == EG_LINK_AUTO && mesh.links[0].latency_seconds == 0);
  assert_true(mesh.links[1].link == 1 && mesh.links[2].link == 0);
  assert_ok(eg_machine_mesh_of(&m, &wanted, links, &mesh));
  assert_true(mesh.links[2].link == 1 && mesh.links[2].latency_seconds == 1e-5);
  wanted.axes[0].size = 3;
  assert_fails(eg_machine_mesh_of(&m, &wanted, NULL, &mesh), EGRAPH_E_ARGUMENT,
               "24 devices, but the machine 'n' has 8");
  for (int i = 0; i < 3; i++) // would overflow 64 bits
    wanted.axes[i].size = UINT32_MAX;
  assert_fails(eg_machine_mesh_of(&m, &wanted, NULL, &mesh), EGRAPH_E_ARGUMENT, "has 8");
  eg_machine_deinit(&m);
}

// ---- by name ----------------------------------------------------------------------

static void every_shipped_machine_reads_and_prints_back(void **state) {
  (void)state;
  assert_true(eg_builtin_machine_file_count >= 4);
  for (size_t i = 0; i < eg_builtin_machine_file_count; i++) {
    const char *file = eg_builtin_machine_files[i].name;
    for (uint32_t nodes = 0; nodes <= 64; nodes = nodes == 0 ? 1 : nodes * 2) {
      char name[100];
      eg_machine m;
      int stem = (int)(strlen(file) - strlen(".machine"));
      (void)snprintf(name, sizeof name, nodes == 0 ? "%.*s" : "%.*s*%u", stem, file,
                     nodes);
      assert_ok(eg_machine_load(NULL, name, &m));
      assert_true(strncmp(m.name, file, (size_t)stem) == 0 &&
                  (int)strlen(m.name) == stem);
      assert_true(m.mesh_count != 0);
      if (nodes != 0) assert_int_equal(eg_machine_devices(&m) % nodes, 0);
      check_round_trip(&m);
      eg_machine_deinit(&m);
    }
  }
}

static void shipped_machines_have_their_figures(void **state) {
  (void)state;
  eg_machine m;
  assert_ok(eg_machine_load(NULL, "dgx-h100*16", &m));
  assert_int_equal(eg_machine_devices(&m), 128);
  check_mesh(&m, 0, "node=16:infiniband gpu=8:nvlink");
  check_mesh(&m, 1, "node=16:infiniband gpu-outer=2:nvlink gpu-inner=4:nvlink");
  assert_true(m.peak_flops[EGRAPH_BFLOAT16] == 9.89e14 && m.memory_bytes == 80e9);
  eg_machine_deinit(&m);
  assert_ok(eg_machine_load(NULL, "p3-16xlarge", &m));
  assert_int_equal(eg_machine_devices(&m), 64);
  assert_true(m.meshes[0].links[0].seconds_per_byte == 8 / 3.125e9);
  eg_machine_deinit(&m);
  assert_ok(eg_machine_load(NULL, "alpa", &m));
  assert_true(m.compute_is_free && m.collectives == EG_COLLECTIVES_ALPA);
  check_mesh(&m, 0, "mesh0=2:slow mesh1=4:fast");
  check_mesh(&m, 1, "flat=8:fast");
  eg_machine_deinit(&m);
}

static void this_host_is_a_machine(void **state) {
  (void)state;
  eg_machine one, four;
  assert_ok(eg_machine_load(NULL, "host*1", &one));
  assert_int_equal(eg_machine_devices(&one), 1);
  assert_int_equal(one.meshes[0].mesh.axis_count, 0);
  assert_ok(eg_machine_load(NULL, "host*4", &four));
  assert_int_equal(four.mesh_count, 2);
  check_mesh(&four, 0, "cpu=4:memory");
  check_mesh(&four, 1, "outer=2:memory inner=2:memory");
  assert_true(four.memory_bytes * 4 == one.memory_bytes);
  check_round_trip(&four);
  eg_machine_deinit(&four);
  eg_machine_deinit(&one);
  // More ranks than processors share these.
  assert_ok(eg_machine_load(NULL, "host*65536", &one));
  assert_ok(eg_machine_load(NULL, "host*131072", &four));
  assert_true(one.peak_flops[EGRAPH_FLOAT32] == 2 * four.peak_flops[EGRAPH_FLOAT32]);
  assert_true(one.bandwidth_bytes == 2 * four.bandwidth_bytes);
  assert_true(2 * one.slowdown == four.slowdown);
  eg_machine_deinit(&four);
  eg_machine_deinit(&one);
  assert_ok(eg_machine_load(NULL, "host", &one));
  assert_string_equal(one.profile, "host");
  check_round_trip(&one);
  eg_machine_deinit(&one);
}

static void this_host_has_a_name(void **state) {
  (void)state;
  static const char *const others[] = {"hos",    "hosts",  "host*0",       "host*",
                                       "host2",  "host/x", "host.machine", "host*2*2",
                                       "host*x", "",       "dgx-h100*2"};
  uint32_t ranks = 9;
  assert_true(eg_machine_is_host("host", &ranks) && ranks == 0);
  assert_true(eg_machine_is_host("host*12", &ranks) && ranks == 12);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    assert_false(eg_machine_is_host(others[i], &ranks));
}

static void machines_come_from_files(void **state) {
  (void)state;
  eg_machine m;
  assert_ok(eg_machine_load(NULL, EG_SOURCE_DIR "/machines/dgx-a100.machine*2", &m));
  assert_int_equal(eg_machine_devices(&m), 16);
  eg_machine_deinit(&m);
  assert_fails(eg_machine_load(NULL, "absent.machine", &m), EGRAPH_E_IO,
               "absent.machine");
  assert_fails(eg_machine_load(NULL, "dgx", &m), EGRAPH_E_ARGUMENT,
               "no machine 'dgx'; there are host, alpa, dgx-a100");
  assert_fails(eg_machine_load(NULL, "", &m), EGRAPH_E_ARGUMENT, "no machine ''");
  static const char *const counts[] = {"dgx-h100*",   "dgx-h100*0", "dgx-h100*x",
                                       "dgx-h100*-1", "host*0",     "dgx-h100*1048577"};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    assert_fails(eg_machine_load(NULL, counts[i], &m), EGRAPH_E_ARGUMENT,
                 "number of its nodes");
  assert_fails(eg_machine_load(NULL, "dgx-h100*1048576", &m), EGRAPH_E_PARSE,
               "more than 1048576 devices");
}

// ---- what a device reaches --------------------------------------------------------

static const char *const shipped_reached[] = {"dgx-a100*2:reached", "dgx-h100*2:reached",
                                              "dgx-h200*2:reached",
                                              "p3-16xlarge*2:reached"};

/// All shipped machines of GPUs say what they reach: products of 16 bits at less than
/// their peak, links at most at their bandwidth.
static void names_ask_for_what_is_reached(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof shipped_reached / sizeof *shipped_reached; i++) {
    eg_machine peak, m;
    const char *name = shipped_reached[i];
    char plain[32] = "";
    memcpy(plain, name, strlen(name) - strlen(":reached"));
    assert_ok(eg_machine_load(NULL, plain, &peak));
    assert_ok(eg_machine_load(NULL, name, &m));
    assert_true(eg_machine_asks_reached(name) && !eg_machine_asks_reached(plain));
    assert_null(eg_machine_reach(&peak, EG_REACH_PRODUCT, EGRAPH_FLOAT16));
    const eg_reach *reach = eg_machine_reach(&m, EG_REACH_PRODUCT, EGRAPH_FLOAT16);
    assert_non_null(reach);
    double best = 1e15 / m.peak_flops[EGRAPH_FLOAT16];
    double seconds = eg_reach_seconds(reach, 1e15, m.peak_flops[EGRAPH_FLOAT16]);
    assert_true(seconds > best && seconds < 2 * best);
    for (uint32_t k = 0; k < m.mesh_count; k++)
      for (uint32_t a = 0; a < m.meshes[k].mesh.axis_count; a++) {
        const eg_mesh_link *sheet = &peak.meshes[k].links[a],
                           *link = &m.meshes[k].links[a];
        double share = m.links[link->link].reached;
        assert_true(share > 0.5 && share <= 1);
        assert_true(link->seconds_per_byte == sheet->seconds_per_byte / share);
      }
    eg_machine_deinit(&m);
    eg_machine_deinit(&peak);
  }
}

static void a_machine_without_curves_says_so(void **state) {
  (void)state;
  eg_machine m;
  assert_fails(eg_machine_load(NULL, "alpa:reached", &m), EGRAPH_E_ARGUMENT,
               "add (efficiency ...)");
  assert_fails(eg_machine_load(NULL, "host:reached", &m), EGRAPH_E_ARGUMENT,
               "does not say what it reaches");
  assert_fails(eg_machine_load(NULL, ":reached", &m), EGRAPH_E_ARGUMENT,
               "there is no machine");
}

// ---- hostile files ----------------------------------------------------------------

#define HEAD "(egraph-machine 1)(name n)"
#define GOOD HEAD DEVICE LINKS "(axis a 2 slow)(axis b 4 fast)"

typedef struct bad {
  const char *text, *part;
} bad;

static const bad bads[] = {
    {"", "m:1:1: a machine file begins with (egraph-machine 1)"},
    {"(egraph-machine 2)", "m:1:1: a machine file begins"},
    {"(egraph-graph 1)", "m:1:1: a machine file begins"},
    {"(egraph-machine 1", "never closed"},
    {"(egraph-machine 1)\n(name n)\n(colour red)", "m:3:1: expected (name ...)"},
    {HEAD "x", "expected (name ...)"},
    {HEAD "()", "expected (name ...)"},
    {"(egraph-machine 1)" DEVICE, "there is no (name ...)"},
    {HEAD, "there is no (device ...)"},
    {HEAD DEVICE DEVICE, "more than 1 of (device ...)"},
    {HEAD "(name m)" DEVICE, "more than 1 of (name ...)"},
    {"(egraph-machine 1)(name \"n\")" DEVICE, "expected a name"},
    {"(egraph-machine 1)(name a/b)" DEVICE, "expected a name"},
    {"(egraph-machine 1)(name)" DEVICE, "expected (name NAME)"},
    {HEAD DEVICE "(nodes 0)", "whole number from 1"},
    {HEAD DEVICE "(nodes 1.5)", "whole number from 1"},
    {HEAD DEVICE "(nodes)", "expected (nodes NUMBER)"},
    {HEAD "(compute cheap)", "expected (compute free)"},
    {HEAD DEVICE "(collectives best)", "expected (collectives auto|ring|tree|alpa)"},
    {HEAD DEVICE "(collectives)", "expected (collectives auto|ring|tree|alpa)"},
    // device
    {HEAD "(device (memory 1) (bandwidth 1) (overhead 1))", "no (peak ...)"},
    {HEAD "(device (memory 1) (bandwidth 1) (peak (float32 1)))", "no (overhead ...)"},
    {HEAD "(device (memory 1) (overhead 1) (peak (float32 1)))", "no (bandwidth ...)"},
    {HEAD "(device (bandwidth 1) (overhead 1) (peak (float32 1)))", "no (memory ...)"},
    {HEAD "(device (memory 1) (memory 1))", "memory is given twice"},
    {HEAD "(device (price 1))",
     "expected one of (kind ...) (profile ...) (slowdown ...) (beside ...) (memory ...)"},
    {HEAD "(device memory)", "expected one of (kind ...)"},
    {HEAD "(compute free)(device (bandwidth 1))", "so remove (bandwidth ...)"},
    {HEAD "(device (memory 0) (bandwidth 1) (overhead 1) (peak (float32 1)))",
     "memory must lie between 1e-30 and 1e+30"},
    {HEAD "(device (memory -1) (bandwidth 1) (overhead 1) (peak (float32 1)))",
     "memory must lie between"},
    {HEAD "(device (memory inf) (bandwidth 1) (overhead 1) (peak (float32 1)))",
     "memory must lie between"},
    {HEAD "(device (memory nan) (bandwidth 1) (overhead 1) (peak (float32 1)))",
     "memory must lie between"},
    {HEAD "(device (memory 1e400) (bandwidth 1) (overhead 1) (peak (float32 1)))",
     "expected (memory number)"},
    {HEAD "(device (memory 1 2) (bandwidth 1) (overhead 1) (peak (float32 1)))",
     "expected (memory number)"},
    {HEAD "(device (memory 1) (bandwidth 1e-300) (overhead 1) (peak (float32 1)))",
     "bandwidth must lie between"},
    {HEAD "(device (memory 1) (bandwidth 1) (overhead -1) (peak (float32 1)))",
     "or be 0"},
    {HEAD "(device (memory 1) (bandwidth 1) (overhead 1) (peak))",
     "peak of float32 is missing"},
    {HEAD "(device (memory 1) (bandwidth 1) (overhead 1) (peak (float32 1) (float32 1)))",
     "float32 is given twice"},
    {HEAD "(device (memory 1) (bandwidth 1) (overhead 1) (peak (float33 1)))",
     "expected a peak such as"},
    {HEAD "(device (memory 1) (bandwidth 1) (overhead 1) (peak ()))",
     "expected a peak such as"},
    {HEAD "(device (memory 1) (bandwidth 1) (overhead 1) (peak (float32 0)))",
     "float32 must lie between"},
    {HEAD "(compute free)(device (kind thing))", "expected (kind \"text\")"},
    {HEAD "(compute free)(device (profile \"\"))", "expected (profile \"text\")"},
// what a device reaches
#define REACH(text) HEAD DEVICE "(efficiency " text ")"
    {REACH("product"), "expected (efficiency KIND"},
    {REACH("gemm (1 1) (published \"p\")"), "expected (efficiency KIND"},
    {REACH("product (published \"p\") (published \"p\")"), "expected (WORK SHARE)"},
    {REACH("product float32 (published \"p\")"), "the curve has no point"},
    {REACH("product float33 (1 1) (published \"p\")"), "m:2:21: there is no such type"},
    {REACH("product (1 1) (1 1)"), "a figure that a device reaches has a source"},
    {REACH("product (1 1) (published \"\")"), "expected (published \"text\")"},
    {REACH("product (1 0) (published \"p\")"), "above 0 and at most 1"},
    {REACH("product (1 1.01) (published \"p\")"), "above 0 and at most 1"},
    {REACH("product (1 nan) (published \"p\")"), "above 0 and at most 1"},
    {REACH("product (0 1) (published \"p\")"), "expected (WORK SHARE)"},
    {REACH("product (inf 1) (published \"p\")"), "expected (WORK SHARE)"},
    {REACH("product (2 0.5) (1 0.5) (published \"p\")"), "sort the points"},
    {REACH("product (1 0.5) (1 0.5) (published \"p\")"), "sort the points"},
    {REACH("product (1 0.1) (2 0.9) (published \"p\")"), "would take less time"},
    {REACH(
         "product (1 1) (published \"p\")") "(efficiency product (1 1) (measured \"m\"))",
     "this curve is given twice"},
    {REACH("product int8 int8 (1 1) (published \"p\")"), "this curve is given twice"},
    {HEAD "(compute free)(efficiency bytes (1 1) (published \"p\"))",
     "computing is free"},
    {HEAD DEVICE "(link a (alpha 1) (beta 1) (reached 0 (published \"p\")))",
     "expected (reached SHARE"},
    {HEAD DEVICE "(link a (alpha 1) (beta 1) (reached 0.5))", "expected (reached SHARE"},
    {HEAD DEVICE "(link a (alpha 1) (beta 1) (reached 0.5 (guessed \"p\")))",
     "has a source"},
    // links
    {HEAD DEVICE "(link)", "expected (link NAME"},
    {HEAD DEVICE "(link a)", "a link has either"},
    {HEAD DEVICE "(link a (latency 1))", "a link has either"},
    {HEAD DEVICE "(link a (latency 1) (beta 1))", "a link has either"},
    {HEAD DEVICE "(link a (latency 1) (bandwidth 1) (alpha 1))", "a link has either"},
    {HEAD DEVICE "(link a (latency 1) (bandwidth 0))", "bandwidth must lie between"},
    {HEAD DEVICE "(link a (latency -1) (bandwidth 1))", "latency must lie between"},
    {HEAD DEVICE "(link a (alpha 1) (beta 0))", "beta must lie between"},
    {HEAD DEVICE "(link a (alpha 1) (beta 1) (shared 0))", "whole number from 1"},
    {HEAD DEVICE "(link a (alpha 1) (beta 1) (shared))", "expected (shared DEVICES)"},
    {HEAD DEVICE LINKS "(link fast (alpha 1) (beta 1))", "two links 'fast'"},
    {HEAD DEVICE "(link a.b (alpha 1) (beta 1))", "may not have a '.'"},
    {HEAD DEVICE "(link abcdefghijklmnop (alpha 1) (beta 1))", "at most 15 letters"},
// ports
#define PORTS(ports) HEAD DEVICE "(link a (alpha 1) (beta 1) " ports ")"
    {PORTS("(ports)"), "expected (ports switch)"},
    {PORTS("(ports ring)"), "expected (ports switch)"},
    {PORTS("(ports switch 8)"), "expected (ports switch)"},
    {PORTS("(ports fat-tree)"), "expected (ports switch)"},
    {PORTS("(ports fat-tree 8)"), "expected (DEVICES OVERSUBSCRIPTION)"},
    {PORTS("(ports fat-tree (8))"), "expected (DEVICES OVERSUBSCRIPTION)"},
    {PORTS("(ports fat-tree (0 1))"), "whole number from 1"},
    {PORTS("(ports fat-tree (8 0.5))"), "a number from 1 to 1000"},
    {PORTS("(ports fat-tree (8 nan))"), "a number from 1 to 1000"},
    {PORTS("(ports fat-tree (8 1e9))"), "a number from 1 to 1000"},
    {PORTS("(ports fat-tree (8 1) (12 1))"), "let 12 be a multiple of 8"},
    {PORTS("(ports fat-tree (8 1) (8 1))"), "let 8 be a multiple of 8"},
    {PORTS("(shared 4) (ports fat-tree (6 1))"), "let 6 be a multiple of 4"},
    {PORTS("(ports fat-tree (1 1) (2 1) (4 1) (8 1) (16 1))"), "at most 4 levels"},
    {PORTS("(shared 2) (ports torus)"), "remove (shared ...)"},
    {PORTS("(ports switch) (ports switch)"), "ports is given twice"},
    {PORTS("(through b)"), "a link that comes before this one"},
    {PORTS("(ports switch) (through a)"), "a link that comes before this one"},
    {PORTS(") (link b (alpha 1) (beta 1) (ports switch) (through a)"),
     "messages pass the ports of 'a'"},
    {PORTS("(ports switch)) (link b (alpha 1) (beta 1) (through a)"),
     "ports of its own; add (ports"},
    {HEAD "(compute free)(device (beside 0.9))", "beside is a number from 1 to 1000"},
    // axes
    {HEAD DEVICE LINKS "(axis a 2)", "expected (axis NAME SIZE LINK)"},
    {HEAD DEVICE LINKS "(axis a 0 fast)", "whole number from 1"},
    {HEAD DEVICE LINKS "(axis a -2 fast)", "whole number from 1"},
    {HEAD DEVICE LINKS "(axis a 99999999999999999999 fast)", "whole number from 1"},
    {HEAD DEVICE LINKS "(axis a nodes fast)", "number of nodes is not given"},
    {HEAD DEVICE LINKS "(axis a * fast)", "whole number from 1"},
    {HEAD DEVICE LINKS "(axis a 2 wire)", "no such link"},
    {HEAD DEVICE LINKS "(axis a 2 \"fast\")", "no such link"},
    {HEAD DEVICE LINKS "(axis a 2 fast)(axis a 2 fast)", "two axes 'a'"},
    {HEAD DEVICE LINKS "(axis a 1048576 fast)(axis b 1048576 fast)",
     "more than 1048576 devices"},
    {HEAD DEVICE LINKS "(axis a 1 fast)(axis b 1 fast)(axis c 1 fast)(axis d 1 fast)"
                       "(axis e 1 fast)(axis f 1 fast)(axis g 1 fast)",
     "more than 6 of (axis ...)"},
    // meshes
    {GOOD "(mesh)", "multiply to the 8 devices"},
    {GOOD "(mesh (x 4))", "multiply to the 8 devices"},
    {GOOD "(mesh (x *) (y *))", "at most one may be *"},
    {GOOD "(mesh (x *) (y 3))", "multiply to the 8 devices"},
    {GOOD "(mesh (x *) (y 1048576) (z 1048576) (v 1048576) (w 1048576))",
     "multiply to the 8 devices"},
    {GOOD "(mesh (x 0) (y 8))", "whole number from 1"},
    {GOOD "(mesh (x 2) (x 4))", "two axes 'x'"},
    {GOOD "(mesh (x 8 wire))", "no such link"},
    {GOOD "(mesh (x 8 fast slow))", "expected (AXIS SIZE)"},
    {GOOD "(mesh x)", "expected (AXIS SIZE)"},
    {GOOD "(mesh (x 1) (y 1) (z 1) (u 1) (v 1) (w 1) (k 8))", "at most 6 axes"},
};

static void wrong_files_are_refused_with_their_place(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
    eg_machine m;
    egraph_status status = parse(bads[i].text, &m);
    if (status == EGRAPH_OK) printf("accepted: %s\n", bads[i].text);
    assert_fails(status, EGRAPH_E_PARSE, bads[i].part);
    assert_true(strncmp(egraph_last_error(), "m:", 2) == 0);
  }
}

static void too_many_clauses_are_refused(void **state) {
  (void)state;
  eg_text text;
  eg_machine m;
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_text_append(&text, GOOD));
  for (int i = 0; i < 65; i++)
    assert_ok(eg_text_append(&text, "(mesh (x 8))"));
  assert_fails(parse(eg_text_of(&text), &m), EGRAPH_E_PARSE,
               "more than 64 of (mesh ...)");
  eg_text_clear(&text);
  assert_ok(eg_text_append(&text, HEAD DEVICE));
  for (int i = 0; i < 17; i++)
    assert_ok(eg_text_printf(&text, "(link l%d (alpha 1) (beta 1))", i));
  assert_fails(parse(eg_text_of(&text), &m), EGRAPH_E_PARSE,
               "more than 16 of (link ...)");
  eg_text_deinit(&text);
}

static void a_fixed_number_of_nodes_stays(void **state) {
  (void)state;
  eg_machine m;
  assert_fails(eg_machine_parse(NULL, "m", GOOD, strlen(GOOD), 4, &m), EGRAPH_E_ARGUMENT,
               "m: the number of nodes is fixed");
  static const char unused[] = GOOD "(nodes 2)";
  assert_fails(eg_machine_parse(NULL, "m", unused, strlen(unused), 4, &m),
               EGRAPH_E_ARGUMENT, "m: the number of nodes is fixed");
  assert_fails(eg_machine_parse(NULL, "m", GOOD, strlen(GOOD), UINT32_MAX, &m),
               EGRAPH_E_ARGUMENT, "at most 1048576 nodes");
}

static egraph_status load_and_print(egraph_allocator alloc, void *user) {
  eg_machine m;
  EG_TRY(eg_machine_load(&alloc, user, &m));
  eg_text text;
  eg_text_init(&text, alloc);
  egraph_status status = machine_print(&text, &m);
  eg_text_deinit(&text);
  eg_machine_deinit(&m);
  return status;
}

static egraph_status load_nothing(egraph_allocator alloc, void *user) {
  eg_machine m;
  egraph_status status = eg_machine_load(&alloc, user, &m);
  return status == EGRAPH_E_ARGUMENT ? EGRAPH_OK : status;
}

static void failing_allocations_are_survived(void **state) {
  (void)state;
  static char names[][300] = {"dgx-h100*4", "host*4",
                              EG_SOURCE_DIR "/machines/alpa.machine"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    test_every_allocation_failing(load_and_print, names[i]);
  static char unknown[] = "unknown";
  test_every_allocation_failing(load_nothing, unknown);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_ask_for_what_is_reached),
      cmocka_unit_test(a_machine_without_curves_says_so),
      cmocka_unit_test(every_clause_is_read),
      cmocka_unit_test(links_say_how_their_ports_are_joined),
      cmocka_unit_test(free_compute_needs_no_device),
      cmocka_unit_test(nodes_scale_a_machine),
      cmocka_unit_test(axes_go_over_the_slowest_link_they_cover),
      cmocka_unit_test(a_cut_across_the_axes_is_as_slow_as_its_worst_pair),
      cmocka_unit_test(devices_share_a_port),
      cmocka_unit_test(a_mesh_of_the_caller_gets_links),
      cmocka_unit_test(every_shipped_machine_reads_and_prints_back),
      cmocka_unit_test(shipped_machines_have_their_figures),
      cmocka_unit_test(this_host_is_a_machine),
      cmocka_unit_test(this_host_has_a_name),
      cmocka_unit_test(machines_come_from_files),
      cmocka_unit_test(wrong_files_are_refused_with_their_place),
      cmocka_unit_test(too_many_clauses_are_refused),
      cmocka_unit_test(a_fixed_number_of_nodes_stays),
      cmocka_unit_test(failing_allocations_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
