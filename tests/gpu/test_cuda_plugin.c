// The plugin loads, and without a device it says so; with one it opens. Needs no device.
// SPDX-License-Identifier: Apache-2.0
#include "exec/backend.h"
#include "tests/testing.h"

#define PLUGIN EG_CUDA_BACKEND_NAME ":" EG_CUDA_PLUGIN_FILE

static void a_missing_file_is_named(void **state) {
  (void)state;
  const eg_backend_vtable *vtable;
  assert_fails(eg_cuda_plugin_open("cuda:/nowhere/libegraph_cuda.so", &vtable),
               EGRAPH_E_UNSUPPORTED, "/nowhere/libegraph_cuda.so");
}

static void a_file_that_is_no_plugin_is_refused(void **state) {
  (void)state;
  const eg_backend_vtable *vtable;
  assert_fails(eg_cuda_plugin_open("cuda:libm.so.6", &vtable), EGRAPH_E_UNSUPPORTED,
               "no plugin of egraph");
}

static void without_a_device_creation_says_why(void **state) {
  (void)state;
  const eg_backend_vtable *vtable;
  eg_backend *backend;
  eg_backend_options options = {.threads = 1};
  if (eg_cuda_plugin_open(PLUGIN, &vtable) == EGRAPH_OK) {
    assert_string_equal(vtable->name, EG_CUDA_BACKEND_NAME);
    assert_ok(eg_backend_create(NULL, PLUGIN, &options, &backend));
    eg_backend_destroy(backend);
    return;
  }
  print_message("no device: %s\n", egraph_last_error());
  bool is_driver = strstr(egraph_last_error(), "no driver") != NULL;
  assert_fails(eg_backend_create(NULL, PLUGIN, &options, &backend), EGRAPH_E_UNSUPPORTED,
               is_driver ? "no driver" : "no device");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_missing_file_is_named),
      cmocka_unit_test(a_file_that_is_no_plugin_is_refused),
      cmocka_unit_test(without_a_device_creation_says_why),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
