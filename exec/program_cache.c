// SPDX-License-Identifier: Apache-2.0
#include "exec/program_cache.h"

void eg_program_cache_init(eg_program_cache *cache, egraph_allocator alloc) {
  eg_program_refs_init(&cache->programs, alloc);
  eg_strmap_init(&cache->index, alloc);
}

void eg_program_cache_deinit(eg_program_cache *cache) {
  for (size_t i = 0; i < cache->programs.len; i++)
    eg_program_destroy(cache->programs.data[i]);
  eg_program_refs_deinit(&cache->programs);
  eg_strmap_deinit(&cache->index);
}

egraph_status eg_program_cache_find(eg_program_cache *cache, eg_backend *backend,
                                    const eg_compile_request *request, eg_program **out) {
  eg_text key;
  eg_text_init(&key, cache->programs.alloc);
  uint32_t index;
  egraph_status status = eg_node_spec_print(&key, request->spec);
  EG_TRY_GOTO(status, status, done);
  EG_TRY_GOTO(status,
              eg_text_printf(&key, " dying %llx", (unsigned long long)request->dying),
              done);
  if (eg_strmap_find(&cache->index, eg_text_of(&key), &index)) {
    *out = cache->programs.data[index];
    goto done;
  }
  index = (uint32_t)cache->programs.len;
  EG_TRY_GOTO(status, eg_program_refs_reserve(&cache->programs, index + 1u), done);
  EG_TRY_GOTO(status, backend->vtable->compile(backend, request, out), done);
  cache->programs.data[cache->programs.len++] = *out;
  status = eg_strmap_put(&cache->index, eg_text_of(&key), index);
done:
  eg_text_deinit(&key);
  return status;
}
