// Enumerates the terms of one size over the kept terms.
//
// A term of size k over a and b has k - 1 operators in a and b together: their sizes add
// up to k - 1 and they share nothing, or one contains the other one's operator, or (k =
// 4) two of size 2 share one. The fingerprint of a term is <weights, value> mod p. For an
// operator that is linear in its first operand a, it equals <c, a> + rest, and c is
// computed once for all a.
//
// Jobs make terms on any number of threads; their terms are compared in the order
// of jobs.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/groups.h"
#include "base/hash.h"
#include "base/owner.h"
#include "base/parallel.h"
#include "rewrites/lab/generate/term_space_internal.h"

enum { SIZES = EG_TERM_MAX_SIZE, BUCKETS = SIZES * 1024, JOBS_AT_ONCE = 128 };
enum { TERMS_OF_A_JOB = 1 << 13, ADJOINT_FROM = 4 };

typedef struct found_term {
  uint64_t fingerprint;
  eg_term_code code;
} found_term;
EG_VEC_DEFINE(found_terms, found_term);

typedef enum job_kind { JOB_UNARY, JOB_CROSS, JOB_OVERLAP } job_kind;
typedef struct job {
  job_kind kind;
  uint8_t size_a, size_b;
  uint32_t typed;      // UNARY, CROSS
  uint32_t begin, end; // UNARY: positions of a in its bucket; CROSS: of b; OVERLAP: terms
} job;
EG_VEC_DEFINE(jobs, job);

/// Kept terms by size and type; terms of size 2 also by their operators.
typedef struct term_index {
  eg_u32s all, canonical; // terms
  uint32_t all_begin[BUCKETS + 1], canonical_begin[BUCKETS + 1];
  eg_u32s by_types;     // typed variants of two operands, by (a, b)
  eg_u32s types_begin;  // [1024 * 1024 + 1]
  eg_u32s pairs_of_app; // terms of size 2 by operator
  eg_u32s pairs_begin;  // [apps + 1]
} term_index;
EG_OWNER_DEFINE_STATIC(term_index, (eg_u32s, all, canonical, by_types, types_begin,
                                    pairs_of_app, pairs_begin))

typedef struct slot {
  uint64_t fingerprint;
  eg_term_code code;
} slot;

typedef struct growth {
  eg_term_space *space;
  uint32_t size, largest;  // size of the terms being made, and of the largest
  bool keeps, is_counting; // keeps: the new terms are kept
  const eg_enumeration *how;
  term_index in;
  jobs list;
  found_terms found[JOBS_AT_ONCE];
  uint64_t counted[JOBS_AT_ONCE];
  size_t first_job;
  uint32_t passes, pass;
  slot *slots; // all bits set: the slot is free
  size_t slot_count;
  eg_term_pairs *pairs;
  size_t pass_pairs; // first pair of this pass; its .first is a fingerprint
  eg_enumeration_counts counts;
} growth;

// ---- index ----------------------------------------------------------------------

static uint32_t bucket_of(uint32_t size, uint16_t type) { return size * 1024u + type; }

static egraph_status index_terms(growth *g, bool canonical_only, eg_u32s *list,
                                 uint32_t begin[BUCKETS + 1]) {
  const eg_term_vec *terms = &g->space->terms;
  memset(begin, 0, (BUCKETS + 1) * sizeof *begin);
  for (size_t i = 0; i < terms->len; i++)
    if (!canonical_only || terms->data[i].is_canonical)
      begin[bucket_of(terms->data[i].size, terms->data[i].type) + 1]++;
  for (uint32_t b = 0; b < BUCKETS; b++)
    begin[b + 1] += begin[b];
  EG_TRY(eg_u32s_resize(list, begin[BUCKETS]));
  uint32_t next[BUCKETS];
  memcpy(next, begin, sizeof next);
  for (size_t i = 0; i < terms->len; i++)
    if (!canonical_only || terms->data[i].is_canonical)
      list->data[next[bucket_of(terms->data[i].size, terms->data[i].type)]++] =
          (uint32_t)i;
  return EGRAPH_OK;
}

static egraph_status index_types(growth *g) {
  const eg_typed_variants *typed = &g->space->typed;
  EG_LOCAL(eg_u32s, row, typed->alloc);
  EG_TRY(eg_u32s_resize(&row, typed->len));
  for (size_t i = 0; i < typed->len; i++) {
    const eg_typed_variant *t = &typed->data[i];
    bool has_two = g->space->variants.data[t->variant].free_count == 2;
    row.data[i] = has_two ? (uint32_t)t->a * 1024 + t->b : UINT32_MAX;
  }
  return eg_group_items(&row, 1024 * 1024, &g->in.types_begin, &g->in.by_types);
}

static egraph_status index_pairs(growth *g) {
  const eg_term_vec *terms = &g->space->terms;
  size_t apps = g->space->apps.len;
  EG_TRY(eg_u32s_resize(&g->in.pairs_begin, apps + 2));
  uint32_t *begin = g->in.pairs_begin.data;
  for (size_t i = 0; i < terms->len; i++)
    for (int k = 0; terms->data[i].size == 2 && k < 2; k++)
      begin[terms->data[i].apps[k] + 2]++;
  for (size_t a = 0; a < apps; a++)
    begin[a + 2] += begin[a + 1];
  EG_TRY(eg_u32s_resize(&g->in.pairs_of_app, begin[apps + 1]));
  for (size_t i = 0; i < terms->len; i++)
    for (int k = 0; terms->data[i].size == 2 && k < 2; k++)
      g->in.pairs_of_app.data[begin[terms->data[i].apps[k] + 1]++] = (uint32_t)i;
  return EGRAPH_OK;
}

// ---- making terms ---------------------------------------------------------------

/// Lists the terms of a size and type that can be first operands. The largest terms are
/// made in canonical form only, so their first operand is canonical.
static void first_operands(const growth *g, uint32_t size, uint16_t type,
                           const uint32_t **out, uint32_t *out_count) {
  uint32_t b = bucket_of(size, type);
  assert(b < BUCKETS);
  const uint32_t *begin = g->keeps ? g->in.all_begin : g->in.canonical_begin;
  *out = (g->keeps ? &g->in.all : &g->in.canonical)->data + begin[b];
  *out_count = begin[b + 1] - begin[b];
}

/// True when operands a and b are leaves where the variant's template requires leaves.
static bool has_leaves(const growth *g, const eg_variant *v, uint32_t a, uint32_t b) {
  uint32_t leaves = g->space->family->templates[v->template].leaves;
  const eg_space_term *terms = g->space->terms.data;
  bool first = (leaves >> v->free[0] & 1) != 0, second = (leaves >> v->free[1] & 1) != 0;
  return (!first || terms[a].variant == EG_TERM_NONE) &&
         (!second || terms[b].variant == EG_TERM_NONE);
}

/// True for x + (y + z) with an operator that commutes. Such terms are made with every
/// choice of leaves. One of them has the value of the canonical term; this is how
/// associativity is found.
static bool is_nested(const growth *g, const eg_variant *v, uint32_t a, uint32_t b) {
  const eg_term_vec *terms = &g->space->terms;
  if (!v->commutes || terms->data[a].size != 0) return false;
  uint32_t inner = terms->data[b].variant;
  return inner != EG_TERM_NONE && g->space->variants.data[inner].template == v->template;
}

static bool is_disjoint(const eg_space_term *a, const eg_space_term *b) {
  for (uint32_t i = 0; i < a->size; i++)
    for (uint32_t k = 0; k < b->size; k++)
      if (a->apps[i] == b->apps[k]) return false;
  return true;
}

/// True when a term over a and b has a leaf that is not a constant, and its leaves are in
/// canonical order: leaves of b and the other operands continue the order of a.
static bool goes_on(const growth *g, const eg_variant *v, const eg_space_term *a,
                    const eg_space_term *b) {
  uint64_t with_b = b != NULL ? a->leaves | b->leaves : a->leaves;
  bool is_known = with_b != 0 && (with_b & ~g->space->family->constants) == 0;
  if (is_known && v->operand_count == v->free_count) return false; // is folded
  if (g->keeps) return true;
  const eg_family_leaf *leaves = g->space->family->leaves;
  uint64_t seen = a->leaves;
  uint32_t vars = b != NULL ? b->var_count : 0, extras = v->operand_count - v->free_count;
  for (uint32_t i = 0; i < vars + extras; i++) {
    uint32_t leaf = i < vars ? b->vars[i] : v->extras[i - vars];
    uint64_t bit = UINT64_C(1) << leaf;
    if ((seen & bit) == 0 && leaves[leaf].rank > 0 && (seen & (bit >> 1)) == 0)
      return false;
    seen |= bit;
  }
  return true;
}

static size_t home(const growth *g, uint64_t value) {
  return (size_t)((eg_field_wide)(value << 1) * g->slot_count >> 64);
}

static uint64_t fingerprint(const growth *g, const eg_typed_variant *typed, uint32_t a,
                            uint32_t b) {
  eg_value_room room;
  uint64_t values[EG_FIELD_MAX_ELEMENTS];
  room.used = 0;
  eg_term_space_run(g->space, typed, a, b, &room, values);
  const eg_typed_type *type = &g->space->types.data[typed->type];
  return eg_term_fingerprint(typed->type,
                             eg_field_dot(type->weights, values, type->elements));
}

typedef struct adjoint {
  bool is_there;
  uint64_t c[EG_FIELD_MAX_ELEMENTS], rest;
} adjoint;

static void prepare(const growth *g, const eg_typed_variant *typed, uint32_t b,
                    adjoint *out) {
  const eg_variant *v = &g->space->variants.data[typed->variant];
  out->is_there = !g->is_counting && typed->plan.kind == EG_FIELD_POLYNOMIAL &&
                  !typed->plan.has_function && v->free[0] == 0;
  if (!out->is_there) return;
  const uint64_t *operands[EG_FIELD_MAX_OPERANDS] = {NULL};
  eg_value_room room;
  room.used = 0;
  for (uint32_t i = 1; i < v->operand_count; i++)
    operands[i] =
        eg_term_values(g->space, eg_variant_operand(v, i, EG_TERM_NONE, b), &room);
  eg_field_plan_adjoint(&typed->plan, operands, g->space->types.data[typed->type].weights,
                        g->space->types.data[typed->a].elements, out->c, &out->rest);
}

static egraph_status emit_term(growth *g, size_t at, uint32_t typed_id, uint32_t a,
                               uint32_t b, const adjoint *c) {
  g->counted[at]++;
  if (g->is_counting) return EGRAPH_OK;
  const eg_typed_variant *typed = &g->space->typed.data[typed_id];
  found_term found = {.code = EG_TERM_CODE(typed->variant, a & 0x3ffffff, b & 0x3ffffff)};
  if (c != NULL && c->is_there) {
    uint32_t elements = g->space->types.data[typed->a].elements;
    eg_value_room room;
    room.used = 0;
    uint64_t dot = eg_field_dot(c->c, eg_term_values(g->space, a, &room), elements);
    found.fingerprint = eg_term_fingerprint(typed->type, eg_field_add(dot, c->rest));
  } else {
    found.fingerprint = fingerprint(g, typed, a, b);
  }
  if (found.fingerprint % g->passes != g->pass) return EGRAPH_OK;
  return found_terms_push(&g->found[at], found);
}

static egraph_status run_unary(growth *g, const job *j, size_t at) {
  const eg_typed_variant *typed = &g->space->typed.data[j->typed];
  const eg_variant *v = &g->space->variants.data[typed->variant];
  if (v->free_count == 0)
    return emit_term(g, at, j->typed, EG_TERM_NONE, EG_TERM_NONE, NULL);
  const uint32_t *firsts;
  uint32_t count;
  first_operands(g, j->size_a, typed->a, &firsts, &count);
  adjoint c = {.is_there = false};
  if (j->end - j->begin >= ADJOINT_FROM) prepare(g, typed, EG_TERM_NONE, &c);
  for (uint32_t i = j->begin; i < j->end; i++)
    if (has_leaves(g, v, firsts[i], 0) &&
        goes_on(g, v, &g->space->terms.data[firsts[i]], NULL))
      EG_TRY(emit_term(g, at, j->typed, firsts[i], EG_TERM_NONE, &c));
  return EGRAPH_OK;
}

static egraph_status run_cross(growth *g, const job *j, size_t at) {
  const eg_typed_variant *typed = &g->space->typed.data[j->typed];
  const eg_variant *v = &g->space->variants.data[typed->variant];
  const eg_space_term *terms = g->space->terms.data;
  const uint32_t *firsts,
      *seconds = g->in.all.data + g->in.all_begin[bucket_of(j->size_b, typed->b)];
  uint32_t count;
  first_operands(g, j->size_a, typed->a, &firsts, &count);
  if (v->commutes && j->size_a == 0) { // a may be any leaf, for is_nested
    uint32_t leaves = bucket_of(0, typed->a);
    firsts = g->in.all.data + g->in.all_begin[leaves];
    count = g->in.all_begin[leaves + 1] - g->in.all_begin[leaves];
  }
  adjoint c;
  for (uint32_t k = j->begin; k < j->end; k++) {
    uint32_t b = seconds[k];
    bool is_prepared = false;
    c.is_there = false;
    for (uint32_t i = 0; i < count; i++) {
      uint32_t a = firsts[i];
      if (v->commutes && a > b) break; // the first operands are sorted
      if (!has_leaves(g, v, a, b)) continue;
      if (!is_nested(g, v, a, b) &&
          !((g->keeps || terms[a].is_canonical) && goes_on(g, v, &terms[a], &terms[b])))
        continue;
      if (!is_disjoint(&terms[a], &terms[b])) continue;
      if (!is_prepared && count >= ADJOINT_FROM) prepare(g, typed, b, &c);
      is_prepared = true;
      EG_TRY(emit_term(g, at, j->typed, a, b, &c));
    }
  }
  return EGRAPH_OK;
}

/// Emits the terms of all operators over a pair of operands that share operators.
static egraph_status emit_pair(growth *g, size_t at, uint32_t a, uint32_t b) {
  const eg_space_term *terms = g->space->terms.data;
  if (!g->keeps && !terms[a].is_canonical) return EGRAPH_OK;
  uint32_t key = (uint32_t)terms[a].type * 1024 + terms[b].type;
  const uint32_t *begin = g->in.types_begin.data;
  for (uint32_t i = begin[key]; i < begin[key + 1]; i++) {
    uint32_t typed = g->in.by_types.data[i];
    const eg_variant *v = &g->space->variants.data[g->space->typed.data[typed].variant];
    if ((v->commutes && a > b) || !has_leaves(g, v, a, b)) continue;
    if (!goes_on(g, v, &terms[a], &terms[b])) continue;
    EG_TRY(emit_term(g, at, typed, a, b, NULL));
  }
  return EGRAPH_OK;
}

/// Emits the terms over a term of size k - 1 and each of its subterms.
static egraph_status emit_contained(growth *g, size_t at, uint32_t whole) {
  const eg_space_term *t = &g->space->terms.data[whole];
  for (uint32_t i = 0; i < t->size; i++) {
    uint32_t part = g->space->apps.data[t->apps[i]].first_term;
    for (; part != EG_TERM_NONE; part = g->space->terms.data[part].next_of_app) {
      EG_TRY(emit_pair(g, at, whole, part));
      // Exchanges the operands. If the sizes are equal, the call for the other term
      // does this.
      if (g->space->terms.data[part].size < t->size)
        EG_TRY(emit_pair(g, at, part, whole));
    }
  }
  return EGRAPH_OK;
}

static egraph_status emit_sharing(growth *g, size_t at, uint32_t a) {
  const eg_space_term *terms = g->space->terms.data;
  const uint32_t *begin = g->in.pairs_begin.data;
  for (uint32_t i = 0; i < 2; i++) {
    uint32_t app = terms[a].apps[i], other = terms[a].apps[1 - i];
    for (uint32_t k = begin[app]; k < begin[app + 1]; k++) {
      uint32_t b = g->in.pairs_of_app.data[k];
      bool same = terms[b].apps[0] == other || terms[b].apps[1] == other;
      if (!same) EG_TRY(emit_pair(g, at, a, b));
    }
  }
  return EGRAPH_OK;
}

static egraph_status run_overlap(growth *g, const job *j, size_t at) {
  for (uint32_t i = j->begin; i < j->end; i++) {
    const eg_space_term *t = &g->space->terms.data[i];
    if (t->size == g->size - 1) EG_TRY(emit_contained(g, at, i));
    if (g->size == 4 && t->size == 2) EG_TRY(emit_sharing(g, at, i));
  }
  return EGRAPH_OK;
}

static egraph_status run_job(void *user, size_t number, uint32_t worker) {
  (void)worker;
  growth *g = user;
  const job *j = &g->list.data[g->first_job + number];
  found_terms_reserve(&g->found[number], 0);
  g->found[number].len = 0;
  g->counted[number] = 0;
  if (j->kind == JOB_UNARY) return run_unary(g, j, number);
  if (j->kind == JOB_CROSS) return run_cross(g, j, number);
  return run_overlap(g, j, number);
}

// ---- jobs -----------------------------------------------------------------------

static egraph_status cut_job(growth *g, job whole, uint32_t count, uint32_t step) {
  if (step == 0) step = 1;
  for (uint32_t at = 0; at < count; at += step) {
    whole.begin = at;
    whole.end = at + step < count ? at + step : count;
    EG_TRY(jobs_push(&g->list, whole));
  }
  return EGRAPH_OK;
}

static egraph_status list_jobs(growth *g) {
  for (uint32_t t = 0; t < g->space->typed.len; t++) {
    const eg_typed_variant *typed = &g->space->typed.data[t];
    uint32_t free_count = g->space->variants.data[typed->variant].free_count;
    const uint32_t *firsts;
    for (uint32_t sa = 0; free_count == 2 && sa < g->size; sa++) {
      uint32_t sb = g->size - 1 - sa, b = bucket_of(sb, typed->b), count;
      first_operands(g, sa, typed->a, &firsts, &count);
      job j = {
          .kind = JOB_CROSS, .typed = t, .size_a = (uint8_t)sa, .size_b = (uint8_t)sb};
      if (count != 0)
        EG_TRY(cut_job(g, j, g->in.all_begin[b + 1] - g->in.all_begin[b],
                       TERMS_OF_A_JOB / count));
    }
    if (free_count == 2 || (free_count == 0 && g->size != 1)) continue;
    uint32_t count = 1;
    if (free_count != 0) first_operands(g, g->size - 1, typed->a, &firsts, &count);
    job j = {.kind = JOB_UNARY, .typed = t, .size_a = (uint8_t)(g->size - 1)};
    EG_TRY(cut_job(g, j, count, TERMS_OF_A_JOB));
  }
  if (g->size == 1) return EGRAPH_OK;
  job overlap = {.kind = JOB_OVERLAP};
  return cut_job(g, overlap, (uint32_t)g->space->terms.len, 64);
}

// ---- meeting --------------------------------------------------------------------

static egraph_status check_bytes(growth *g) {
  size_t bytes = eg_term_space_bytes(g->space) + g->slot_count * sizeof *g->slots +
                 g->pairs->cap * sizeof *g->pairs->data;
  for (int i = 0; i < JOBS_AT_ONCE; i++)
    bytes += g->found[i].cap * sizeof *g->found[i].data;
  if (bytes > g->counts.peak_bytes) g->counts.peak_bytes = bytes;
  if (g->how->byte_limit == 0 || bytes <= g->how->byte_limit) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "terms of %" PRIu32 " operators need more than %zu bytes; raise "
                 "--byte-limit, or take fewer operators or a smaller family",
                 g->size, g->how->byte_limit);
}

static egraph_status push_pair(growth *g, uint64_t first, eg_term_code other) {
  eg_term_pair pair = {.first = first, .other = other};
  return eg_term_pairs_push(g->pairs, pair);
}

static egraph_status keep_found(growth *g, const found_term *found) {
  eg_space_term term;
  if (!eg_term_space_decode(g->space, found->code, &term)) return EGRAPH_OK;
  uint32_t first = eg_term_space_find(g->space, found->fingerprint);
  const eg_variant *v = &g->space->variants.data[term.variant];
  if (first != EG_TERM_NONE) {
    bool is_wanted =
        term.is_canonical || (v->free_count == 2 && is_nested(g, v, term.a, term.b));
    return is_wanted ? push_pair(g, EG_TERM_KEPT(first), found->code) : EGRAPH_OK;
  }
  g->counts.distinct++;
  // Values of canonical terms are read often and are stored; values of other terms are
  // computed on demand.
  if (g->size + 1 == g->largest && !term.is_canonical)
    return eg_term_space_keep(g->space, &term, found->fingerprint, NULL);
  eg_value_room room;
  uint64_t values[EG_FIELD_MAX_ELEMENTS];
  room.used = 0;
  uint16_t b = term.b == EG_TERM_NONE ? 0 : g->space->terms.data[term.b].type;
  uint16_t a = term.a == EG_TERM_NONE ? 0 : g->space->terms.data[term.a].type;
  eg_term_space_run(g->space, eg_term_space_typed(g->space, term.variant, a, b), term.a,
                    term.b, &room, values);
  return eg_term_space_keep(g->space, &term, found->fingerprint, values);
}

static egraph_status meet_found(growth *g, const found_term *found) {
  uint32_t first = eg_term_space_find(g->space, found->fingerprint);
  if (first != EG_TERM_NONE) return push_pair(g, EG_TERM_KEPT(first), found->code);
  size_t at = home(g, found->fingerprint);
  assert(at < g->slot_count);
  for (;; at = at + 1 == g->slot_count ? 0 : at + 1) {
    slot *s = &g->slots[at];
    if (s->code == UINT64_MAX) {
      *s = (slot){.fingerprint = found->fingerprint, .code = found->code};
      g->counts.distinct++;
      return EGRAPH_OK;
    }
    if (s->fingerprint != found->fingerprint) continue;
    eg_term_code other = found->code > s->code ? found->code : s->code;
    if (found->code < s->code) s->code = found->code;
    return push_pair(g, found->fingerprint, other);
  }
}

/// Replaces the fingerprints in pairs by the first term with that value, once all terms
/// have been enumerated.
static void name_firsts(growth *g) {
  for (size_t i = g->pass_pairs; i < g->pairs->len; i++) {
    eg_term_pair *pair = &g->pairs->data[i];
    if (pair->first >> 52 == 0xfff) continue; // already kept: fingerprints have 63 bits
    size_t at = home(g, pair->first);
    while (g->slots[at].fingerprint != pair->first)
      at = at + 1 == g->slot_count ? 0 : at + 1;
    pair->first = g->slots[at].code;
  }
}

static egraph_status ask_progress(growth *g, size_t done) {
  char line[128];
  if (g->how->progress == NULL) return EGRAPH_OK;
  (void)snprintf(line, sizeof line, "%" PRIu32 " operators, %.0f %%%s", g->size,
                 100.0 * (double)done / (double)(g->list.len + 1),
                 g->is_counting ? " counted" : "");
  if (!g->how->progress(g->how->user, line)) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_CANCELLED, "generation was cancelled");
}

static egraph_status meet_batch(growth *g, size_t count) {
  assert(count <= JOBS_AT_ONCE);
  for (size_t i = 0; i < count; i++) {
    g->counts.terms += g->counted[i];
    for (size_t k = 0; !g->is_counting && k < g->found[i].len; k++)
      EG_TRY(g->keeps ? keep_found(g, &g->found[i].data[k])
                      : meet_found(g, &g->found[i].data[k]));
  }
  return EGRAPH_OK;
}

static egraph_status run_jobs(growth *g) {
  for (size_t at = 0; at < g->list.len; at += JOBS_AT_ONCE) {
    size_t left = g->list.len - at, count = left < JOBS_AT_ONCE ? left : JOBS_AT_ONCE;
    g->first_job = at;
    EG_TRY(eg_parallel_for(g->space->alloc, g->how->threads, count, run_job, g));
    EG_TRY(meet_batch(g, count));
    EG_TRY(check_bytes(g));
    EG_TRY(ask_progress(g, at));
  }
  return EGRAPH_OK;
}

// ---- the largest terms ----------------------------------------------------------

/// Opens the table of fingerprints with as many passes over the terms as the memory limit
/// requires; each pass covers a part of the values.
static egraph_status open_table(growth *g, uint64_t terms) {
  EG_TRY(check_bytes(g));
  size_t room = (size_t)(terms + terms / 3 + 64) * sizeof *g->slots;
  size_t used = g->counts.peak_bytes, limit = g->how->byte_limit;
  if (limit != 0) {
    // Half of the remaining memory is for the table of fingerprints, the rest for pairs.
    size_t left = limit > used ? (limit - used) / 2 : 0;
    while (left != 0 && room / g->passes > left && g->passes < 256)
      g->passes *= 2;
  }
  g->slot_count = room / sizeof *g->slots / g->passes + 64;
  return eg_alloc(g->space->alloc, g->slot_count, sizeof *g->slots, &g->slots);
}

static egraph_status grow_last(growth *g) {
  g->is_counting = true;
  EG_TRY(run_jobs(g));
  uint64_t terms = g->counts.terms;
  g->is_counting = false;
  EG_TRY(open_table(g, terms));
  for (g->pass = 0; g->pass < g->passes; g->pass++) {
    memset(g->slots, 0xff, g->slot_count * sizeof *g->slots);
    g->pass_pairs = g->pairs->len;
    EG_TRY(run_jobs(g));
    name_firsts(g);
  }
  g->counts.terms = terms;
  return EGRAPH_OK;
}

static int by_code(const void *a, const void *b) {
  const eg_term_pair *x = a, *y = b;
  return x->other < y->other ? -1 : x->other > y->other;
}

static egraph_status grow_terms(growth *g) {
  EG_TRY(eg_term_space_plan_all(g->space));
  EG_TRY(index_terms(g, false, &g->in.all, g->in.all_begin));
  EG_TRY(index_terms(g, true, &g->in.canonical, g->in.canonical_begin));
  EG_TRY(index_types(g));
  if (g->size == 4) EG_TRY(index_pairs(g));
  EG_TRY(list_jobs(g));
  size_t before = g->pairs->len;
  EG_TRY(g->keeps ? run_jobs(g) : grow_last(g));
  if (g->pairs->len != before)
    qsort(g->pairs->data + before, g->pairs->len - before, sizeof *g->pairs->data,
          by_code);
  g->counts.pairs = g->pairs->len - before;
  g->counts.passes = g->passes;
  return EGRAPH_OK;
}

egraph_status eg_term_space_grow(eg_term_space *space, uint32_t size, uint32_t largest,
                                 const eg_enumeration *how, eg_term_pairs *out,
                                 eg_enumeration_counts *counts) {
  growth *g;
  if (size == 0 || size > largest || largest > EG_TERM_MAX_SIZE)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "terms have 1 to %d operators", EG_TERM_MAX_SIZE);
  EG_TRY(eg_alloc(space->alloc, 1, sizeof *g, &g));
  *g = (growth){.space = space,
                .size = size,
                .largest = largest,
                .keeps = size < largest,
                .how = how,
                .passes = 1,
                .pairs = out};
  term_index_init(&g->in, space->alloc);
  jobs_init(&g->list, space->alloc);
  for (int i = 0; i < JOBS_AT_ONCE; i++)
    found_terms_init(&g->found[i], space->alloc);
  egraph_status status = grow_terms(g);
  *counts = g->counts;
  for (int i = 0; i < JOBS_AT_ONCE; i++)
    found_terms_deinit(&g->found[i]);
  jobs_deinit(&g->list);
  term_index_deinit(&g->in);
  eg_free(space->alloc, g->slots, g->slot_count, sizeof *g->slots);
  eg_free(space->alloc, g, 1, sizeof *g);
  return status;
}
