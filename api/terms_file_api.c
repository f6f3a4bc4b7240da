// Public functions that write e-graphs of plain terms to files and read them.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "api/arguments.h"
#include "api/terms.h"
#include "base/owner.h"
#include "rewrites/terms/symbolic_file.h"

EG_HOLDER_DEFINE(egraph_terms)

egraph_status egraph_terms_save(const egraph_terms *terms, const char *path) {
  EG_REQUIRE(terms, path);
  EG_TRY(eg_terms_check_clean(terms));
  return eg_symbolic_save(terms->symbolic, path);
}

/// Makes the public e-graph from `symbolic`, which has no rules yet.
static egraph_status wrap(egraph_allocator alloc, eg_symbolic *symbolic,
                          egraph_terms **out) {
  egraph_terms *terms;
  egraph_status status = egraph_terms_create(&alloc, &terms);
  if (status != EGRAPH_OK) {
    eg_symbolic_destroy(symbolic);
    return status;
  }
  eg_symbolic_destroy(terms->symbolic);
  terms->symbolic = symbolic;
  *out = terms;
  return EGRAPH_OK;
}

/// Completes an e-graph: adds the rules that were read as text.
static egraph_status finish(egraph_allocator alloc, const char *path,
                            eg_symbolic *symbolic, const eg_text *rules,
                            egraph_terms **out) {
  EG_HELD(egraph_terms, terms);
  EG_TRY(wrap(alloc, symbolic, &terms));
  EG_HAND_OVER(eg_symbolic_add_rules(symbolic, path, eg_text_of(rules), rules->chars.len),
               terms, out);
}

egraph_status egraph_terms_load(const egraph_allocator *alloc, const char *path,
                                egraph_terms **out) {
  EG_REQUIRE(path, out);
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_symbolic *symbolic;
  EG_LOCAL(eg_text, rules, heap);
  EG_TRY(eg_symbolic_load(&heap, path, &rules, &symbolic));
  return finish(heap, path, symbolic, &rules, out);
}

// ---- memory ----------------------------------------------------------------------

egraph_status egraph_terms_parse(const egraph_allocator *alloc, const char *name,
                                 const void *bytes, size_t size, egraph_terms **out) {
  EG_REQUIRE(name, bytes, out);
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_symbolic *symbolic;
  EG_LOCAL(eg_text, rules, heap);
  EG_TRY(eg_symbolic_parse(&heap, name, bytes, size, &rules, &symbolic));
  return finish(heap, name, symbolic, &rules, out);
}

egraph_status egraph_terms_pack(const egraph_allocator *alloc, const egraph_terms *terms,
                                void **out, size_t *out_size) {
  EG_REQUIRE(terms, out, out_size);
  EG_TRY(eg_terms_check_clean(terms));
  eg_chunk_writer writer;
  char *bytes;
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  egraph_status status = eg_symbolic_pack(terms->symbolic, heap, &writer);
  if (status == EGRAPH_OK) status = eg_alloc(heap, writer.bytes.len, 1, &bytes);
  if (status == EGRAPH_OK) {
    memcpy(bytes, writer.bytes.data, writer.bytes.len);
    *out = bytes;
    *out_size = writer.bytes.len;
  }
  eg_chunk_writer_deinit(&writer);
  return status;
}

// ---- JSON ------------------------------------------------------------------------

egraph_status egraph_terms_save_json(const egraph_terms *terms, const egraph_class *roots,
                                     uint32_t root_count, const char *path) {
  EG_REQUIRE(terms, path);
  EG_REQUIRE_ARRAY(roots, root_count);
  EG_TRY(eg_terms_check_clean(terms));
  EG_LOCAL(eg_classes, own, terms->alloc);
  EG_LOCAL(eg_text, text, terms->alloc);
  EG_TRY(eg_classes_resize(&own, root_count));
  for (uint32_t i = 0; i < root_count; i++)
    own.data[i].id = roots[i].id;
  EG_TRY(eg_symbolic_print_json(terms->symbolic, own.data, root_count, &text));
  return eg_file_write(path, text.chars.data, text.chars.len);
}

egraph_status egraph_terms_load_json(const egraph_allocator *alloc, const char *path,
                                     void (*on_root)(void *user, egraph_class root),
                                     void *user, egraph_terms **out) {
  EG_REQUIRE(path, out);
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_symbolic *symbolic;
  EG_LOCAL(eg_classes, roots, heap);
  EG_TRY(eg_symbolic_read_json(&heap, path, &roots, &symbolic));
  EG_TRY(wrap(heap, symbolic, out));
  for (size_t i = 0; on_root != NULL && i < roots.len; i++)
    on_root(user, (egraph_class){roots.data[i].id});
  return EGRAPH_OK;
}
