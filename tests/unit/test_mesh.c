// Meshes, shardings and their transitions.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/parallel/mesh.h"
#include "tests/testing.h"

static eg_mesh mesh_of(const char *text) {
  eg_mesh mesh;
  assert_ok(eg_mesh_parse(text, &mesh));
  return mesh;
}

static eg_layout sharding_of(const eg_mesh *mesh, const char *text) {
  eg_layout layout;
  assert_ok(eg_layout_parse(mesh, text, &layout));
  return layout;
}

static void meshes_are_read_and_printed(void **state) {
  (void)state;
  static const char *const good[] = {"", "gpu=8", "node=2,gpu=4",
                                     "a=1,b=2,c=3,d=4,e=5,f=6"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    eg_mesh mesh = mesh_of(good[i]);
    eg_text text;
    eg_text_init(&text, eg_allocator_heap());
    assert_ok(eg_mesh_print(&text, &mesh));
    assert_string_equal(eg_text_of(&text), good[i]);
    eg_text_deinit(&text);
  }
  static const char *const bad[] = {"gpu",
                                    "gpu=",
                                    "gpu=0",
                                    "=2",
                                    "gpu=2,",
                                    "gpu=2;b=2",
                                    "gpu=2,gpu=2",
                                    "a=1,b=1,c=1,d=1,e=1,f=1,g=1",
                                    "gpu=99999999999",
                                    "a=2048,b=2048",
                                    "averyveryverylongname=2",
                                    "g u=2"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    eg_mesh mesh;
    assert_int_equal(eg_mesh_parse(bad[i], &mesh), EGRAPH_E_PARSE);
  }
}

static void ranks_count_row_major(void **state) {
  (void)state;
  eg_mesh mesh = mesh_of("a=2,b=3,c=4");
  assert_int_equal(eg_mesh_devices(&mesh), 24);
  for (uint32_t rank = 0; rank < 24; rank++) {
    uint32_t sum = 0;
    for (uint32_t a = 0; a < 3; a++)
      sum += eg_mesh_coordinate(&mesh, rank, a) * eg_mesh_stride(&mesh, a);
    assert_int_equal(sum, rank);
  }
  eg_mesh single = mesh_of("");
  assert_int_equal(eg_mesh_devices(&single), 1);
}

static void shardings_are_checked(void **state) {
  (void)state;
  eg_mesh mesh = mesh_of("node=2,gpu=4");
  eg_type type = eg_type_of(EGRAPH_FLOAT32, 2, (int64_t[]){8, 12});
  eg_type flags = eg_type_of(EGRAPH_BOOL, 1, (int64_t[]){8});
  static const struct {
    const char *text;
    int64_t dims[2]; // of the part; 0: not legal
    eg_sharding_fault fault;
  } cases[] = {
      {"R,R", {8, 12}, EG_SHARDING_LEGAL},   {"S0,S1", {4, 3}, EG_SHARDING_LEGAL},
      {"S0,S0", {1, 12}, EG_SHARDING_LEGAL}, {"P,M", {8, 12}, EG_SHARDING_LEGAL},
      {"S1,S1", {0, 0}, EG_SHARDING_UNEVEN}, {"R,S2", {0, 0}, EG_SHARDING_NO_DIM},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    eg_layout layout = sharding_of(&mesh, cases[i].text);
    assert_int_equal(eg_sharding_check(&mesh, &type, &layout), cases[i].fault);
    if (cases[i].fault != EG_SHARDING_LEGAL) continue;
    eg_type local = eg_sharding_local(&mesh, &type, &layout);
    assert_int_equal(local.dims[0], cases[i].dims[0]);
    assert_int_equal(local.dims[1], cases[i].dims[1]);
    eg_text text;
    eg_text_init(&text, eg_allocator_heap());
    assert_ok(eg_layout_print(&text, &mesh, &layout));
    assert_string_equal(eg_text_of(&text), cases[i].text);
    eg_text_deinit(&text);
  }
  eg_layout partial = sharding_of(&mesh, "P,R");
  assert_int_equal(eg_sharding_check(&mesh, &flags, &partial), EG_SHARDING_NOT_NUMBER);
  static const char *const bad[] = {"", "R", "R,R,R", "S,R", "X,R", "S99,R", "R;R"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    eg_layout layout;
    assert_int_equal(eg_layout_parse(&mesh, bad[i], &layout), EGRAPH_E_PARSE);
  }
}

static void transitions_change_one_axis(void **state) {
  (void)state;
  eg_mesh mesh = mesh_of("node=2,gpu=4");
  eg_type type = eg_type_of(EGRAPH_FLOAT32, 2, (int64_t[]){8, 8}); // 256 bytes
  static const struct {
    const char *from, *to, *kind; // NULL: none
    double bytes;
  } cases[] = {
      {"R,S0", "R,R", "all-gather", 256},
      {"S1,S0", "S1,R", "all-gather", 128},
      {"R,P", "R,R", "all-reduce", 256},
      {"R,P", "R,S1", "reduce-scatter", 256},
      {"S0,P", "S0,S0", "reduce-scatter", 128},
      {"R,S0", "R,S1", "all-to-all", 256},
      {"R,R", "R,S0", "slice", 0},
      {"R,R", "R,P", "mask", 0},
      {"M,R", "R,R", "all-reduce", 256},
      {"R,R", "M,R", NULL, 0},
      {"S0,S0", "R,S0", NULL, 0},
      {"S0,S0", "S0,R", "all-gather", 128},
      {"R,S0", "S0,S0", NULL, 0},
      {"S0,R", "S0,S0", "slice", 0},
      {"S0,S1", "S1,S0", NULL, 0},
      {"R,R", "R,R", NULL, 0},
      {"P,R", "M,R", NULL, 0},
      {"S0,R", "P,R", NULL, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    eg_layout from = sharding_of(&mesh, cases[i].from),
              to = sharding_of(&mesh, cases[i].to);
    eg_transition transition;
    bool exists = eg_transition_between(&mesh, NULL, &from, &to, &transition);
    assert_int_equal(exists, cases[i].kind != NULL);
    if (!exists) continue;
    assert_string_equal(eg_transition_name(transition.kind), cases[i].kind);
    assert_true(eg_transition_bytes(&mesh, &type, &from, &transition) == cases[i].bytes);
  }
}

static void formats_change_where_shardings_are_equal(void **state) {
  (void)state;
  eg_mesh mesh = mesh_of("a=2,b=2");
  eg_layout from = sharding_of(&mesh, "S0,R"), to = from,
            other = sharding_of(&mesh, "R,R");
  eg_type type = eg_type_of(EGRAPH_FLOAT32, 4, (int64_t[]){4, 12, 2, 2});
  eg_transition transition;
  to.format = other.format = EG_FORMAT_NCHW8C;
  assert_true(eg_transition_between(&mesh, &type, &from, &to, &transition));
  assert_int_equal(transition.kind, EG_TRANSITION_REORDER);
  assert_int_equal(transition.from, EG_FORMAT_PLAIN);
  assert_int_equal(transition.to, EG_FORMAT_NCHW8C);
  assert_true(eg_transition_bytes(&mesh, &type, &from, &transition) == 0);
  assert_false(eg_transition_between(&mesh, &type, &from, &other, &transition));
  assert_true(eg_transition_between(&mesh, &type, &to, &other, &transition));
  assert_int_equal(transition.kind, EG_TRANSITION_ALL_GATHER);
  eg_layout channels = sharding_of(&mesh, "S1,R"); // 6 of them, no whole block
  channels.format = EG_FORMAT_NCHW8C;
  assert_false(eg_transition_between(&mesh, &type, &channels, &other, &transition));
  eg_type local = eg_sharding_local(&mesh, &type, &to);
  assert_int_equal(local.dims[0], 2);
  assert_int_equal(eg_type_bytes(&local), 2 * 16 * 4 * 4); // two blocks of channels
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(formats_change_where_shardings_are_equal),
      cmocka_unit_test(meshes_are_read_and_printed),
      cmocka_unit_test(ranks_count_row_major),
      cmocka_unit_test(shardings_are_checked),
      cmocka_unit_test(transitions_change_one_axis),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
