// The workspace: memory, leaving, and the choices that make up a case.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/prove/proof_work.h"

#include <string.h>

void eg_proof_leave(eg_proof *p, eg_proof_exit exit, const char *reason) {
  p->reason = reason;
  longjmp(p->leave, (int)exit);
}

void *eg_proof_memory(eg_proof *p, size_t count, size_t size) {
  void *memory = NULL;
  if (eg_arena_alloc(&p->arena, count == 0 ? 1 : count, size, &memory) != EGRAPH_OK)
    eg_proof_leave(p, EG_PROOF_MEMORY, "memory");
  return memory;
}

void eg_proof_step(eg_proof *p) {
  if (p->steps == 0) eg_proof_leave(p, EG_PROOF_GIVEN_UP, "too many steps");
  p->steps--;
}

static void init_tables(eg_proof *p) {
  eg_arena_init(&p->arena, p->alloc);
  eg_polynomials_init(&p->polys, p->alloc);
  eg_symbols_init(&p->symbols, p->alloc);
  eg_proof_facts_init(&p->facts, p->alloc);
  eg_pairings_init(&p->pairings, p->alloc);
  eg_u32s_init(&p->replaced, p->alloc);
  eg_memos_init(&p->canonical, p->alloc);
  eg_memos_init(&p->natural, p->alloc);
  eg_scalar_nodes_init(&p->scalars, p->alloc);
  eg_memos_init(&p->simple, p->alloc);
  eg_scalar_pairs_init(&p->orders, p->alloc);
  eg_tensor_sizes_init(&p->tensors, p->alloc);
}

void eg_proof_init(eg_proof *p, egraph_allocator alloc) {
  memset(p, 0, sizeof *p);
  p->alloc = alloc;
  init_tables(p);
}

void eg_proof_clear(eg_proof *p) {
  eg_arena_deinit(&p->arena);
  p->polys.len = p->symbols.len = p->facts.len = p->pairings.len = 0;
  p->replaced.len = p->canonical.len = p->natural.len = p->scalars.len = 0;
  p->simple.len = p->orders.len = p->tensors.len = 0;
  memset(p->questions, 0, sizeof p->questions);
  memset(p->poly_heads, 0xff, sizeof p->poly_heads);
  memset(p->scalar_heads, 0xff, sizeof p->scalar_heads);
  p->is_impossible = p->in_pairings = p->in_facts = false;
  p->domain = EG_DOMAIN_REAL;
  p->laws = (eg_laws){.cancels = false};
  p->is_weight = NULL;
  p->finite_reals = p->ordered_reals = 0;
  p->nested = 0;
  p->version = p->versions = 1;
  p->depth = p->reals = p->chosen = p->index_count = 0;
  p->reason = NULL;
  p->splits = 0;
}

void eg_proof_deinit(eg_proof *p) {
  eg_arena_deinit(&p->arena);
  eg_polynomials_deinit(&p->polys);
  eg_symbols_deinit(&p->symbols);
  eg_proof_facts_deinit(&p->facts);
  eg_pairings_deinit(&p->pairings);
  eg_u32s_deinit(&p->replaced);
  eg_memos_deinit(&p->canonical);
  eg_memos_deinit(&p->natural);
  eg_scalar_nodes_deinit(&p->scalars);
  eg_memos_deinit(&p->simple);
  eg_scalar_pairs_deinit(&p->orders);
  eg_tensor_sizes_deinit(&p->tensors);
}

static bool same_laws(eg_laws a, eg_laws b) {
  return a.cancels == b.cancels && a.distributes == b.distributes &&
         a.is_fast == b.is_fast;
}

eg_laws_before eg_laws_set(eg_proof *p, eg_laws laws) {
  eg_laws_before before = {.laws = p->laws, .version = p->version, .inner = p->version};
  if (same_laws(laws, p->laws)) return before;
  p->laws = laws;
  p->version = before.inner = ++p->versions;
  return before;
}

eg_laws_before eg_laws_narrow(eg_proof *p, bool hides) {
  return eg_laws_set(p, hides ? (eg_laws){.is_fast = false} : p->laws);
}

void eg_laws_restore(eg_proof *p, eg_laws_before before) {
  if (same_laws(p->laws, before.laws)) return;
  p->laws = before.laws;
  // With facts that were added in between nothing of before is the same version.
  p->version = p->version == before.inner ? before.version : ++p->versions;
}

uint32_t eg_proof_choose(eg_proof *p, uint32_t count) {
  if (count == 0) eg_proof_leave(p, EG_PROOF_VACUOUS, "");
  if (count == 1) return 0;
  if (p->chosen == EG_PROOF_CHOICES)
    eg_proof_leave(p, EG_PROOF_GIVEN_UP, "too many choices in a case");
  uint32_t at = p->chosen++;
  if (at == p->choices) {
    p->choice[at] = 0;
    p->options[at] = count;
    p->choices++;
  }
  return p->choice[at];
}

bool eg_proof_next_case(eg_proof *p) {
  p->choices = p->chosen; // what was not reached is open again
  while (p->choices != 0) {
    uint32_t last = p->choices - 1;
    if (++p->choice[last] < p->options[last]) return true;
    p->choices--;
  }
  return false;
}
