// Public functions that write e-graphs of plain terms to files and read them.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "api/require.h"
#include "api/terms.h"
#include "rewrites/terms/symbolic_file.h"

egraph_status egraph_terms_save(const egraph_terms *terms, const char *path) {
  EG_REQUIRE(terms, path);
  EG_TRY(eg_terms_check_clean(terms));
  return eg_symbolic_save(terms->symbolic, path);
}

/// `symbolic`, which has no rules yet, becomes the e-graph.
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

/// Rules that were read as text are added last.
static egraph_status finish(egraph_allocator alloc, const char *path,
                            eg_symbolic *symbolic, const eg_text *rules,
                            egraph_terms **out) {
  egraph_terms *terms;
  EG_TRY(wrap(alloc, symbolic, &terms));
  egraph_status status =
      eg_symbolic_add_rules(symbolic, path, eg_text_of(rules), rules->chars.len);
  if (status == EGRAPH_OK)
    *out = terms;
  else
    egraph_terms_destroy(terms);
  return status;
}

egraph_status egraph_terms_load(const egraph_allocator *alloc, const char *path,
                                egraph_terms **out) {
  EG_REQUIRE(path, out);
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_symbolic *symbolic;
  eg_text rules;
  eg_text_init(&rules, heap);
  egraph_status status = eg_symbolic_load(&heap, path, &rules, &symbolic);
  if (status == EGRAPH_OK) status = finish(heap, path, symbolic, &rules, out);
  eg_text_deinit(&rules);
  return status;
}

// ---- memory ----------------------------------------------------------------------

egraph_status egraph_terms_parse(const egraph_allocator *alloc, const char *name,
                                 const void *bytes, size_t size, egraph_terms **out) {
  EG_REQUIRE(name, bytes, out);
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_symbolic *symbolic;
  eg_text rules;
  eg_text_init(&rules, heap);
  egraph_status status = eg_symbolic_parse(&heap, name, bytes, size, &rules, &symbolic);
  if (status == EGRAPH_OK) status = finish(heap, name, symbolic, &rules, out);
  eg_text_deinit(&rules);
  return status;
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

static egraph_status print_json(const egraph_terms *terms, const egraph_class *roots,
                                uint32_t count, eg_classes *own, eg_text *text) {
  EG_TRY(eg_classes_resize(own, count));
  for (uint32_t i = 0; i < count; i++)
    own->data[i].id = roots[i].id;
  return eg_symbolic_print_json(terms->symbolic, own->data, count, text);
}

egraph_status egraph_terms_save_json(const egraph_terms *terms, const egraph_class *roots,
                                     uint32_t root_count, const char *path) {
  EG_REQUIRE(terms, path);
  EG_REQUIRE_ARRAY(roots, root_count);
  EG_TRY(eg_terms_check_clean(terms));
  eg_classes own;
  eg_text text;
  eg_classes_init(&own, terms->alloc);
  eg_text_init(&text, terms->alloc);
  egraph_status status = print_json(terms, roots, root_count, &own, &text);
  if (status == EGRAPH_OK) status = eg_file_write(path, text.chars.data, text.chars.len);
  eg_text_deinit(&text);
  eg_classes_deinit(&own);
  return status;
}

egraph_status egraph_terms_load_json(const egraph_allocator *alloc, const char *path,
                                     void (*on_root)(void *user, egraph_class root),
                                     void *user, egraph_terms **out) {
  EG_REQUIRE(path, out);
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_symbolic *symbolic;
  eg_classes roots;
  eg_classes_init(&roots, heap);
  egraph_status status = eg_symbolic_read_json(&heap, path, &roots, &symbolic);
  if (status == EGRAPH_OK) status = wrap(heap, symbolic, out);
  for (size_t i = 0; status == EGRAPH_OK && on_root != NULL && i < roots.len; i++)
    on_root(user, (egraph_class){roots.data[i].id});
  eg_classes_deinit(&roots);
  return status;
}
