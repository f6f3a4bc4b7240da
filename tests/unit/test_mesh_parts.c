// Parts of machines: which there are, over which links, and which meshes have their
// plans.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/parallel/machine.h"
#include "tests/testing.h"

#define HEAD                                                                             \
  "(egraph-machine 1)(name n)(compute free)(link slow (alpha 1)(beta 1))"                \
  "(link fast (alpha 1)(beta 0.1))"

static void list(const char *text, eg_machine *machine, eg_machine_meshes *parts) {
  assert_ok(eg_machine_parse(NULL, "n", text, strlen(text), 0, machine));
  eg_machine_meshes_init(parts, eg_allocator_heap());
  assert_ok(eg_mesh_parts_add(machine, parts));
}

static void expect_part(const eg_machine_mesh *part, const char *wanted) {
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_mesh_print(&text, &part->mesh));
  assert_string_equal(eg_text_of(&text), wanted);
  assert_int_equal(part->idle, 1);
  assert_int_equal(eg_mesh_idle_places(part), part->mesh.axes[0].size);
  eg_text_deinit(&text);
}

static void parts_go_down_to_one_device(void **state) {
  (void)state;
  static const char *const wanted[] = {"idle=2,node=3,gpu=2", "idle=6,gpu=2", "idle=12"};
  eg_machine m;
  eg_machine_meshes parts;
  list(HEAD "(axis node 6 slow)(axis gpu 2 fast)", &m, &parts);
  assert_int_equal(parts.len, 3);
  for (size_t i = 0; i < parts.len; i++) {
    expect_part(&parts.data[i], wanted[i]);
    assert_int_equal(eg_mesh_covers(&m.meshes[0], &parts.data[i]), i > 0);
  }
  assert_int_equal(parts.data[0].links[1].link, 0);
  assert_int_equal(parts.data[1].links[1].link, 1);
  eg_machine_meshes_deinit(&parts);
  eg_machine_deinit(&m);
}

/// Meshes that look alike within a node have the same parts there; what a file says of
/// the link of a mesh holds for its parts.
static void equal_parts_count_once(void **state) {
  (void)state;
  static const char *const wanted[] = {"idle=2,node=2,gpu=2", "idle=2,all=4",
                                       "idle=4,gpu=2", "idle=8"};
  eg_machine m;
  eg_machine_mesh found;
  eg_machine_meshes parts;
  list(HEAD "(axis node 4 slow)(axis gpu 2 fast)(mesh (node 4)(gpu 2))"
            "(mesh (all * fast))",
       &m, &parts);
  assert_int_equal(parts.len, 4);
  for (size_t i = 0; i < parts.len; i++)
    expect_part(&parts.data[i], wanted[i]);
  assert_int_equal(parts.data[1].links[1].link, 1);
  assert_false(eg_mesh_covers(&m.meshes[0], &parts.data[1]));
  assert_ok(eg_machine_find_mesh(&m, &parts.data[1].mesh, &found));
  assert_int_equal(found.links[1].link, 1);
  assert_int_equal(found.idle, 0);
  eg_machine_meshes_deinit(&parts);
  eg_machine_deinit(&m);
}

/// A mesh of all the axes that there may be has none to spare for what is idle.
static void full_meshes_lose_whole_axes(void **state) {
  (void)state;
  eg_machine m;
  eg_machine_meshes parts;
  list(HEAD "(axis a 4 slow)(axis b 2 slow)(axis c 2 slow)(axis d 2 slow)(axis e 2 slow)"
            "(axis f 2 slow)",
       &m, &parts);
  assert_int_equal(parts.len, 6);
  expect_part(&parts.data[0], "idle=4,b=2,c=2,d=2,e=2,f=2");
  eg_machine_meshes_deinit(&parts);
  eg_machine_deinit(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_go_down_to_one_device),
      cmocka_unit_test(equal_parts_count_once),
      cmocka_unit_test(full_meshes_lose_whole_axes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
