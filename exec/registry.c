// Lists the back-ends of this build, followed by the back-end that is a plugin.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "exec/backend.h"

static const eg_backend_vtable *const backends[] = {
    &eg_reference_backend,
    &eg_cpu_backend,
};

enum { BACKEND_COUNT = sizeof backends / sizeof backends[0] };

const eg_backend_vtable *eg_backend_at(uint32_t index, const char *plugin) {
  const eg_backend_vtable *loaded;
  if (index < BACKEND_COUNT) return backends[index];
  bool is_there = index == BACKEND_COUNT && plugin != NULL &&
                  eg_cuda_plugin_open(plugin, &loaded) == EGRAPH_OK;
  return is_there ? loaded : NULL;
}

static egraph_status fail_unknown_backend(const char *name) {
  char list[160] = "";
  for (uint32_t i = 0; i < BACKEND_COUNT; i++) {
    size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s'%s'", i == 0 ? "" : ", ",
             backends[i]->name);
  }
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "no back-end '%s' in this build; there are %s, and '%s' as a plugin",
                 name, list, EG_CUDA_BACKEND_NAME);
}

egraph_status eg_backend_create(const egraph_allocator *alloc, const char *name,
                                const eg_backend_options *options, eg_backend **out) {
  if (name == NULL) name = "cpu";
  for (uint32_t i = 0; i < BACKEND_COUNT; i++)
    if (strcmp(backends[i]->name, name) == 0)
      return backends[i]->create(eg_allocator_or_heap(alloc), options, out);
  if (!eg_cuda_plugin_is_asked(name)) return fail_unknown_backend(name);
  const eg_backend_vtable *plugin;
  EG_TRY(eg_cuda_plugin_open(name, &plugin));
  return plugin->create(eg_allocator_or_heap(alloc), options, out);
}
