// Sequences of calls on an engine: additions, unions, rebuilds, epochs, push and pop,
// pruning, saving and loading. After each the invariants hold, and as long as nothing was
// pruned, what is equal is what a naive congruence closure says.
//
// Two bytes a step: the low bits of the first choose the call; the rest, and the second,
// its operands.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "egraph/engine.h"
#include "egraph/engine_file.h"
#include "egraph/engine_internal.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_STEPS = 400, MAX_TERMS = 48, MAX_PUSHED = 4, ARITY = 2 };

typedef struct naive_term {
  uint32_t op, arity, children[ARITY]; // children: indices of terms
  eg_class class;
} naive_term;

/// Every term that was added, and their equivalence: the smallest equal term.
typedef struct naive {
  naive_term terms[MAX_TERMS];
  uint32_t count, up[MAX_TERMS];
} naive;

typedef struct world {
  eg_engine *engine;
  naive now, pushed[MAX_PUSHED];
  bool is_pruned; // terms may be gone: only the invariants are verified
  bool was_pruned[MAX_PUSHED];
  uint32_t depth;
} world;

static void unite_naively(naive *n, uint32_t a, uint32_t b) {
  uint32_t keep = n->up[a] < n->up[b] ? n->up[a] : n->up[b];
  uint32_t drop = n->up[a] < n->up[b] ? n->up[b] : n->up[a];
  for (uint32_t i = 0; i < n->count; i++)
    if (n->up[i] == drop) n->up[i] = keep;
}

static bool are_congruent(const naive *n, const naive_term *a, const naive_term *b) {
  if (a->op != b->op || a->arity != b->arity) return false;
  for (uint32_t i = 0; i < a->arity; i++)
    if (n->up[a->children[i]] != n->up[b->children[i]]) return false;
  return true;
}

static void close_naively(naive *n) {
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 0; i < n->count; i++)
      for (uint32_t k = i + 1; k < n->count; k++)
        if (n->up[i] != n->up[k] && are_congruent(n, &n->terms[i], &n->terms[k])) {
          unite_naively(n, i, k);
          changed = true;
        }
  }
}

// ---- calls -----------------------------------------------------------------------

static bool is_usable(const world *w, uint32_t term) {
  return eg_engine_has_class(w->engine, w->now.terms[term].class);
}

static void add(world *w, uint32_t choice, uint32_t operands) {
  naive *n = &w->now;
  if (n->count == MAX_TERMS) return;
  naive_term *term = &n->terms[n->count];
  eg_class children[ARITY];
  *term = (naive_term){.op = choice % 5, .arity = n->count == 0 ? 0 : choice / 5 % 3};
  for (uint32_t i = 0; i < term->arity; i++) {
    term->children[i] = (i == 0 ? operands & 15 : operands >> 4) * 3 % n->count;
    if (!is_usable(w, term->children[i])) return;
    children[i] = n->terms[term->children[i]].class;
  }
  eg_term added = {.op = term->op, .arity = term->arity, .children = children};
  FUZZ_CHECK(eg_engine_add(w->engine, &added, 1, &term->class) == EGRAPH_OK);
  n->up[n->count] = n->count;
  n->count++;
}

static void unite(world *w, uint32_t a, uint32_t b) {
  naive *n = &w->now;
  bool changed;
  if (n->count == 0) return;
  a %= n->count;
  b %= n->count;
  bool usable = is_usable(w, a) && is_usable(w, b);
  egraph_status status =
      eg_engine_unite(w->engine, n->terms[a].class, n->terms[b].class, 2, &changed);
  if (status == EGRAPH_OK) unite_naively(n, a, b);
  // Two terms of one pruned class are equal already.
  FUZZ_CHECK(
      status ==
      (usable || !w->is_pruned || status == EGRAPH_OK ? EGRAPH_OK : EGRAPH_E_ARGUMENT));
}

static void push(world *w) {
  if (w->depth == MAX_PUSHED) return;
  w->pushed[w->depth] = w->now;
  w->was_pruned[w->depth++] = w->is_pruned;
  FUZZ_CHECK(eg_engine_push(w->engine) == EGRAPH_OK);
}

static void pop(world *w, bool keep) {
  FUZZ_CHECK((w->engine->saved != NULL) == (w->depth != 0));
  egraph_status status = keep ? eg_engine_drop(w->engine) : eg_engine_pop(w->engine);
  FUZZ_CHECK((status == EGRAPH_OK) == (w->depth != 0));
  if (status != EGRAPH_OK) return;
  w->depth--;
  if (keep) return;
  w->now = w->pushed[w->depth];
  w->is_pruned = w->was_pruned[w->depth];
}

static bool is_wanted(void *user, const eg_engine *engine, eg_node node) {
  const uint32_t *choice = user;
  return (eg_engine_term(engine, node).op + node.id) % 7 != *choice % 7;
}

static void prune(world *w, uint32_t choice) {
  if (!eg_engine_is_clean(w->engine)) return;
  if ((choice & 1) == 0) { // of the dead only
    FUZZ_CHECK(eg_engine_prune(w->engine, NULL, NULL, NULL) == EGRAPH_OK);
    return;
  }
  FUZZ_CHECK(eg_engine_prune(w->engine, is_wanted, &choice, NULL) == EGRAPH_OK);
  w->is_pruned = true;
}

static void save_and_load(world *w) {
  eg_chunk_writer writer;
  eg_chunk_reader reader;
  eg_engine *loaded;
  if (!eg_engine_is_clean(w->engine) || w->depth != 0) return;
  FUZZ_CHECK(eg_chunks_start(&writer, eg_allocator_heap(), EG_ENGINE_FILE_KIND) ==
             EGRAPH_OK);
  FUZZ_CHECK(eg_engine_put(w->engine, &writer) == EGRAPH_OK);
  FUZZ_CHECK(eg_chunks_finish(&writer) == EGRAPH_OK);
  FUZZ_CHECK(eg_chunks_open_bytes(&reader, "f", writer.bytes.data, writer.bytes.len,
                                  EG_ENGINE_FILE_KIND) == EGRAPH_OK);
  FUZZ_CHECK(eg_engine_get(&reader, eg_allocator_heap(), NULL, &loaded) == EGRAPH_OK);
  eg_chunks_close(&reader);
  eg_chunk_writer_deinit(&writer);
  eg_engine_destroy(w->engine);
  w->engine = loaded;
}

// ---- checks ----------------------------------------------------------------------

static void rebuild(world *w) {
  FUZZ_CHECK(eg_engine_rebuild(w->engine) == EGRAPH_OK);
  naive *n = &w->now;
  if (w->is_pruned) return;
  close_naively(n);
  uint32_t classes = 0;
  for (uint32_t i = 0; i < n->count; i++) {
    classes += n->up[i] == i;
    for (uint32_t k = 0; k < i; k++)
      FUZZ_CHECK((n->up[i] == n->up[k]) ==
                 eg_class_same(eg_engine_find(w->engine, n->terms[i].class),
                               eg_engine_find(w->engine, n->terms[k].class)));
  }
  FUZZ_CHECK(classes == eg_engine_class_count(w->engine));
}

static void step(world *w, uint32_t first, uint32_t second) {
  switch (first % 16) {
  case 8:
  case 9: unite(w, first / 16 * 5 + second / 16, second); break;
  case 10: rebuild(w); break;
  case 11: eg_engine_start_epoch(w->engine); break;
  case 12: push(w); break;
  case 13: pop(w, (second & 3) == 0); break;
  case 14: prune(w, second); break;
  case 15: save_and_load(w); break;
  default: add(w, first / 16 + first % 16 * 16, second); break;
  }
  FUZZ_CHECK(eg_engine_check(w->engine) == EGRAPH_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static world w;
  memset(&w, 0, sizeof w);
  eg_engine_options options = {.record = size % 2 == 1};
  FUZZ_CHECK(eg_engine_create(NULL, &options, &w.engine) == EGRAPH_OK);
  for (size_t i = 0; i + 1 < size && i < 2 * MAX_STEPS; i += 2)
    step(&w, data[i], data[i + 1]);
  rebuild(&w);
  FUZZ_CHECK(eg_engine_check(w.engine) == EGRAPH_OK);
  eg_engine_destroy(w.engine);
  return 0;
}
