// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/generate/term_space.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/owner.h"
#include "rewrites/lab/generate/term_space_internal.h"

// ---- types ----------------------------------------------------------------------

static egraph_status add_type(eg_term_space *space, const eg_type *type, uint16_t *out) {
  for (size_t i = 0; i < space->types.len; i++)
    if (eg_type_same(&space->types.data[i].type, type)) {
      *out = (uint16_t)i;
      return EGRAPH_OK;
    }
  if (space->types.len == EG_TERM_MAX_TYPES)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "family %s: terms have more than %d types; lower (elements N) or take "
                   "fewer operators",
                   space->family->name, EG_TERM_MAX_TYPES);
  eg_typed_type made = {.type = *type, .elements = (uint32_t)eg_type_elements(type)};
  EG_NEW(&space->arena, made.elements, made.weights);
  eg_rng rng = {.state = eg_hash_combine(space->seed, eg_type_hash(type))};
  for (uint32_t i = 0; i < made.elements; i++)
    made.weights[i] = eg_rng_next(&rng) % EG_FIELD_P;
  *out = (uint16_t)space->types.len;
  return eg_typed_types_push(&space->types, made);
}

// ---- variants -------------------------------------------------------------------

/// Lists the operands of a template that may be any term: if there are more than two
/// operands, the first two that are not leaves.
static void list_free(const eg_family_template *from, eg_variant *out) {
  uint32_t leaves = from->operand_count > 2 ? from->leaves : 0;
  out->free[1] = 1;
  for (uint32_t i = 0; i < from->operand_count && out->free_count < 2; i++)
    if ((leaves >> i & 1) == 0) out->free[out->free_count++] = i;
}

/// Adds the variants of a template: one for every choice of leaves for the operands that
/// must be leaves.
static egraph_status add_variants(eg_term_space *space, uint32_t template) {
  const eg_family_template *from = &space->family->templates[template];
  uint32_t leaves = space->family->leaf_count, extras[EG_TERM_MAX_EXTRAS] = {0}, at;
  uint32_t extra_count = from->operand_count > 2 ? from->operand_count - 2 : 0;
  uint32_t results = eg_op_results(&from->attrs);
  do {
    for (uint32_t r = 0; r < results; r++) {
      eg_variant made = {
          .template = template, .result = r, .operand_count = from->operand_count};
      list_free(from, &made);
      memcpy(made.extras, extras, sizeof extras);
      unsigned flags = eg_op_info_of((eg_op)from->attrs.op)->flags;
      made.commutes = (flags & EG_OPF_COMMUTES) != 0 && made.free[1] == 1;
      if (space->variants.len == EG_TERM_MAX_VARIANTS)
        return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                       "family %s: more than %d operators with their leaves; have fewer",
                       space->family->name, EG_TERM_MAX_VARIANTS);
      EG_TRY(eg_variants_push(&space->variants, made));
    }
    for (at = 0; at < extra_count; at++) {
      if (++extras[at] < leaves) break;
      extras[at] = 0;
    }
  } while (at < extra_count);
  return EGRAPH_OK;
}

typedef struct typed_key {
  uint32_t variant;
  uint16_t a, b;
} typed_key;

static uint64_t hash_typed(const typed_key *key) {
  return eg_hash_combine(key->variant, (uint64_t)key->a << 16 | key->b);
}
static bool same_typed(const void *user, uint32_t id, const void *key) {
  const eg_typed_variant *have = &((const eg_term_space *)user)->typed.data[id];
  const typed_key *want = key;
  return have->variant == want->variant && have->a == want->a && have->b == want->b;
}

const eg_typed_variant *eg_term_space_typed(const eg_term_space *space, uint32_t variant,
                                            uint16_t a, uint16_t b) {
  typed_key key = {.variant = variant, .a = a, .b = b};
  uint32_t id;
  if (!eg_flatmap_find(&space->typed_map, hash_typed(&key), &key, same_typed, space, &id))
    return NULL;
  return &space->typed.data[id];
}

static bool fits_ends(const eg_ints *ends, const eg_type *type) {
  if (ends->len > type->rank) return false;
  for (uint32_t i = 0; i < ends->len; i++)
    if (type->dims[type->rank - ends->len + i] != ends->data[i]) return false;
  return true;
}

static egraph_status plan_variant(eg_term_space *space, uint32_t number, uint16_t a,
                                  uint16_t b) {
  const eg_variant *v = &space->variants.data[number];
  const eg_attrs *attrs = &space->family->templates[v->template].attrs;
  eg_type types[EG_FIELD_MAX_OPERANDS] = {{0}}, *results;
  for (uint32_t i = 0; i < v->operand_count; i++) {
    bool is_free =
        (v->free_count > 0 && i == v->free[0]) || (v->free_count > 1 && i == v->free[1]);
    uint32_t at = eg_variant_operand(v, i, a, b);
    types[i] = is_free ? space->types.data[at].type : space->family->leaves[at].type;
  }
  if (!fits_ends(&space->family->templates[v->template].ends, &types[1]))
    return EGRAPH_OK;
  EG_NEW(&space->arena, eg_op_results(attrs), results);
  egraph_status status = eg_op_infer(attrs, types, v->operand_count, results);
  if (status == EGRAPH_E_TYPE) return EGRAPH_OK;
  EG_TRY(status);
  int64_t elements = eg_type_elements(&results[v->result]);
  if (elements > space->family->max_elements || elements == 0) return EGRAPH_OK;
  eg_typed_variant made = {.variant = number, .a = a, .b = b};
  status = eg_field_plan_make(&space->arena, attrs, types, v->operand_count, v->result,
                              space->seed, &made.plan);
  if (status == EGRAPH_E_TYPE) return EGRAPH_OK;
  if (status != EGRAPH_OK)
    return eg_fail_context(status, "family %s", space->family->name);
  EG_TRY(add_type(space, &made.plan.type, &made.type));
  typed_key key = {.variant = number, .a = a, .b = b};
  EG_TRY(eg_flatmap_reserve_one(&space->typed_map));
  EG_TRY(eg_typed_variants_push(&space->typed, made));
  eg_flatmap_put(&space->typed_map, hash_typed(&key), (uint32_t)space->typed.len - 1);
  return EGRAPH_OK;
}

egraph_status eg_term_space_plan_all(eg_term_space *space) {
  // Types of results of the largest terms come after the types of the kept terms.
  uint32_t have = 0, tried = space->tried_types;
  for (size_t i = 0; i < space->terms.len; i++)
    if (space->terms.data[i].type >= have) have = space->terms.data[i].type + 1u;
  for (uint32_t v = 0; v < space->variants.len; v++) {
    uint32_t free_count = space->variants.data[v].free_count;
    if (free_count == 0 && tried == 0) EG_TRY(plan_variant(space, v, 0, 0));
    for (uint32_t a = 0; a < (free_count == 0 ? 0 : have); a++)
      for (uint32_t b = 0; b < (free_count == 2 ? have : 1); b++)
        if (a >= tried || (free_count == 2 && b >= tried))
          EG_TRY(plan_variant(space, v, (uint16_t)a, (uint16_t)b));
  }
  space->tried_types = have;
  return EGRAPH_OK;
}

// ---- terms ----------------------------------------------------------------------

// Values of terms with at most two operators are stored, so the recursion is at most
// three deep.
const uint64_t *eg_term_values(const eg_term_space *space, uint32_t term,
                               eg_value_room *room) {
  const eg_space_term *t = &space->terms.data[term];
  if (t->values != EG_TERM_NO_VALUES) return space->values.data + t->values;
  assert(room->used < sizeof room->values / sizeof *room->values);
  uint64_t *out = room->values[room->used++];
  uint16_t a = t->a == EG_TERM_NONE ? 0 : space->terms.data[t->a].type;
  uint16_t b = t->b == EG_TERM_NONE ? 0 : space->terms.data[t->b].type;
  const eg_typed_variant *typed = eg_term_space_typed(space, t->variant, a, b);
  eg_term_space_run(space, typed, t->a, t->b, room, out);
  return out;
}

void eg_term_space_run(const eg_term_space *space, const eg_typed_variant *typed,
                       uint32_t a, uint32_t b, eg_value_room *room, uint64_t *out) {
  assert(typed != NULL);
  const eg_variant *v = &space->variants.data[typed->variant];
  const uint64_t *operands[EG_FIELD_MAX_OPERANDS] = {NULL};
  uint32_t used = room->used;
  for (uint32_t i = 0; i < v->operand_count; i++)
    operands[i] = eg_term_values(space, eg_variant_operand(v, i, a, b), room);
  eg_field_plan_run(&typed->plan, operands, out);
  room->used = used;
}

static bool add_variable(const eg_term_space *space, eg_space_term *term, uint32_t leaf) {
  uint64_t bit = UINT64_C(1) << leaf;
  if ((term->leaves & bit) != 0) return true;
  if (term->var_count == EG_TERM_MAX_VARS) return false;
  if (space->family->leaves[leaf].rank > 0 && (term->leaves & (bit >> 1)) == 0)
    term->is_canonical = false;
  term->leaves |= bit;
  term->vars[term->var_count++] = (uint8_t)leaf;
  return true;
}

/// Merges the sorted operator lists of two terms; returns false when the result has more
/// than EG_TERM_MAX_SIZE entries.
static bool unite_apps(const eg_space_term *a, const eg_space_term *b,
                       eg_space_term *out) {
  uint32_t i = 0, k = 0, count = 0;
  while (i < a->size || k < b->size) {
    bool take_a = k == b->size || (i < a->size && a->apps[i] <= b->apps[k]);
    uint32_t app = take_a ? a->apps[i] : b->apps[k];
    if (i < a->size && a->apps[i] == app) i++;
    if (k < b->size && b->apps[k] == app) k++;
    if (count == EG_TERM_MAX_SIZE) return false;
    out->apps[count++] = app;
  }
  out->size = (uint8_t)count;
  return true;
}

/// Fills variables, operators (apps) and size of a term; returns false when it has more
/// than EG_TERM_MAX_SIZE operators or EG_TERM_MAX_VARS leaves. The size counts the term's
/// own operator, which is not in apps.
static bool describe_term(const eg_term_space *space, uint32_t variant, uint32_t a,
                          uint32_t b, eg_space_term *out) {
  assert(variant < space->variants.len);
  const eg_variant *v = &space->variants.data[variant];
  static const eg_space_term NOTHING = {.size = 0};
  const eg_space_term *first = v->free_count > 0 ? &space->terms.data[a] : &NOTHING;
  const eg_space_term *second = v->free_count > 1 ? &space->terms.data[b] : &NOTHING;
  *out = (eg_space_term){.variant = variant,
                         .a = v->free_count > 0 ? a : EG_TERM_NONE,
                         .b = v->free_count > 1 ? b : EG_TERM_NONE,
                         .app = EG_TERM_NONE,
                         .next_of_app = EG_TERM_NONE,
                         .is_canonical = true};
  if (!unite_apps(first, second, out) || out->size == EG_TERM_MAX_SIZE) return false;
  for (uint32_t i = 0; i < first->var_count; i++)
    if (!add_variable(space, out, first->vars[i])) return false;
  for (uint32_t i = 0; i < second->var_count; i++)
    if (!add_variable(space, out, second->vars[i])) return false;
  for (uint32_t i = v->free_count; i < v->operand_count; i++)
    if (!add_variable(space, out, v->extras[i - v->free_count])) return false;
  out->size++;
  return true;
}

static bool same_fingerprint(const void *user, uint32_t id, const void *key) {
  return ((const eg_term_space *)user)->fingerprints.data[id] == *(const uint64_t *)key;
}

uint32_t eg_term_space_find(const eg_term_space *space, uint64_t fingerprint) {
  uint32_t id;
  bool found = eg_flatmap_find(&space->by_value, fingerprint, &fingerprint,
                               same_fingerprint, space, &id);
  return found ? id : EG_TERM_NONE;
}

static bool same_app(const void *user, uint32_t id, const void *key) {
  const eg_application *have = &((const eg_term_space *)user)->apps.data[id];
  const eg_application *want = key;
  return have->template == want->template && have->a == want->a && have->b == want->b &&
         memcmp(have->extras, want->extras, sizeof want->extras) == 0;
}

static egraph_status add_app(eg_term_space *space, const eg_space_term *term,
                             uint32_t *out) {
  const eg_variant *v = &space->variants.data[term->variant];
  eg_application made = {
      .template = v->template, .a = term->a, .b = term->b, .first_term = EG_TERM_NONE};
  memcpy(made.extras, v->extras, sizeof made.extras);
  uint64_t hash = eg_hash_combine(made.template, (uint64_t)made.a << 32 | made.b);
  for (uint32_t i = 0; i < EG_TERM_MAX_EXTRAS; i++)
    hash = eg_hash_combine(hash, made.extras[i]);
  if (eg_flatmap_find(&space->app_map, hash, &made, same_app, space, out))
    return EGRAPH_OK;
  EG_TRY(eg_flatmap_reserve_one(&space->app_map));
  EG_TRY(eg_applications_push(&space->apps, made));
  *out = (uint32_t)space->apps.len - 1;
  eg_flatmap_put(&space->app_map, hash, *out);
  return EGRAPH_OK;
}

static void insert_app(eg_space_term *term, uint32_t app) {
  uint32_t at = term->size - 1u;
  for (; at > 0 && term->apps[at - 1] > app; at--)
    term->apps[at] = term->apps[at - 1];
  term->apps[at] = app;
}

egraph_status eg_term_space_keep(eg_term_space *space, const eg_space_term *term,
                                 uint64_t fingerprint, const uint64_t *values) {
  assert(term->type < space->types.len && term->size <= EG_TERM_MAX_SIZE);
  eg_space_term made = *term;
  if (space->terms.len == EG_TERM_MAX_TERMS)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "family %s: too many terms; take fewer operators",
                   space->family->name);
  if (made.size > 0) {
    EG_TRY(add_app(space, &made, &made.app));
    insert_app(&made, made.app);
    made.next_of_app = space->apps.data[made.app].first_term;
  }
  uint32_t elements = space->types.data[made.type].elements;
  made.values = values != NULL ? space->values.len : EG_TERM_NO_VALUES;
  EG_TRY(eg_flatmap_reserve_one(&space->by_value));
  EG_TRY(eg_term_vec_reserve(&space->terms, space->terms.len + 1));
  EG_TRY(eg_values_push(&space->fingerprints, fingerprint));
  if (values != NULL) EG_TRY(eg_values_append(&space->values, values, elements));
  EG_TRY(eg_term_vec_push(&space->terms, made));
  uint32_t id = (uint32_t)space->terms.len - 1;
  if (made.size > 0) space->apps.data[made.app].first_term = id;
  if (eg_term_space_find(space, fingerprint) == EG_TERM_NONE)
    eg_flatmap_put(&space->by_value, fingerprint, id);
  return EGRAPH_OK;
}

// ---- leaves and constants -------------------------------------------------------

/// Sets all elements of a constant to its number.
static void set_constant(const eg_type *type, double number, uint64_t *out) {
  uint64_t value = 0;
  (void)eg_field_of_double(number, false, &value); // succeeds as it did in reading
  for (int64_t i = 0; i < eg_type_elements(type); i++)
    out[i] = value;
}

/// Fills a leaf with numbers of both signs whose sums, and quotients by small numbers,
/// equal those of integers.
static void draw_leaf(const eg_type *type, uint64_t seed, uint32_t leaf, uint64_t *out) {
  const uint64_t unit = 96, largest = (UINT64_C(1) << 56) / unit;
  eg_rng rng = {.state = eg_hash_combine(seed, leaf)};
  for (int64_t i = 0; i < eg_type_elements(type); i++)
    out[i] = type->dtype == EGRAPH_BOOL
                 ? eg_rng_next(&rng) % 2
                 : eg_field_mul(unit,
                                eg_field_sub(eg_rng_next(&rng) % (2 * largest), largest));
}

static egraph_status add_leaf_term(eg_term_space *space, uint32_t leaf) {
  const eg_family_leaf *from = &space->family->leaves[leaf];
  uint64_t values[EG_FIELD_MAX_ELEMENTS];
  eg_space_term term = {.variant = EG_TERM_NONE,
                        .a = leaf,
                        .b = EG_TERM_NONE,
                        .app = EG_TERM_NONE,
                        .next_of_app = EG_TERM_NONE,
                        .is_canonical = true};
  EG_TRY(add_type(space, &from->type, &term.type));
  (void)add_variable(space, &term, leaf);
  if (from->is_constant)
    set_constant(&from->type, from->number, values);
  else
    draw_leaf(&from->type, space->seed, leaf, values);
  const eg_typed_type *type = &space->types.data[term.type];
  uint64_t dot = eg_field_dot(type->weights, values, type->elements);
  return eg_term_space_keep(space, &term, eg_term_fingerprint(term.type, dot), values);
}

#define SPACE_MEMBERS                                                                    \
  (eg_arena, arena), (eg_typed_types, types), (eg_variants, variants),                   \
      (eg_typed_variants, typed), (eg_flatmap, typed_map, app_map, by_value),            \
      (eg_term_vec, terms), (eg_values, values, fingerprints, scratch_values),           \
      (eg_applications, apps)

egraph_status eg_term_space_create(const egraph_allocator *alloc, const eg_family *family,
                                   uint64_t seed, eg_term_space **out) {
  egraph_allocator from = eg_allocator_or_heap(alloc);
  eg_term_space *space;
  EG_TRY(eg_alloc(from, 1, sizeof *space, &space));
  space->alloc = from;
  space->family = family;
  space->seed = seed;
  EG_INIT_MEMBERS(space, from, SPACE_MEMBERS)
  egraph_status status = EGRAPH_OK;
  for (uint32_t i = 0; i < family->leaf_count && status == EGRAPH_OK; i++)
    status = add_leaf_term(space, i);
  for (uint32_t t = 0; t < family->template_count && status == EGRAPH_OK; t++)
    status = add_variants(space, t);
  if (status == EGRAPH_OK)
    *out = space;
  else
    eg_term_space_destroy(space);
  return status;
}

void eg_term_space_destroy(eg_term_space *space) {
  if (space == NULL) return;
  EG_DEINIT_MEMBERS(space, SPACE_MEMBERS)
  eg_free(space->alloc, space, 1, sizeof *space);
}

const eg_family *eg_term_space_family(const eg_term_space *space) {
  return space->family;
}
uint32_t eg_term_space_count(const eg_term_space *space) {
  return (uint32_t)space->terms.len;
}
const eg_space_term *eg_term_space_at(const eg_term_space *space, uint32_t term) {
  return eg_term_vec_at(&space->terms, term);
}
const eg_variant *eg_term_space_variant(const eg_term_space *space, uint32_t variant) {
  return eg_variants_at(&space->variants, variant);
}
const eg_type *eg_term_space_type(const eg_term_space *space, uint32_t type) {
  return &eg_typed_types_at(&space->types, type)->type;
}

size_t eg_term_space_bytes(const eg_term_space *space) {
  const eg_flatmap *maps[] = {&space->typed_map, &space->app_map, &space->by_value};
  size_t bytes = space->arena.bytes + space->terms.cap * sizeof *space->terms.data +
                 (space->values.cap + space->fingerprints.cap) * sizeof(uint64_t) +
                 space->apps.cap * sizeof *space->apps.data +
                 space->typed.cap * sizeof *space->typed.data;
  for (int i = 0; i < 3; i++)
    bytes += maps[i]->capacity * sizeof *maps[i]->slots;
  return bytes;
}

// ---- codes ----------------------------------------------------------------------

bool eg_term_space_decode(const eg_term_space *space, eg_term_code code,
                          eg_space_term *out) {
  uint32_t variant = (uint32_t)(code >> 52), kept = (uint32_t)space->terms.len;
  if (variant == 0xfff) {
    uint64_t id = code & ((UINT64_C(1) << 52) - 1);
    if (id >= kept) return false;
    *out = space->terms.data[id];
    return true;
  }
  uint32_t a = eg_term_a(code), b = eg_term_b(code);
  if (variant >= space->variants.len) return false;
  uint32_t free_count = space->variants.data[variant].free_count;
  if ((free_count == 0) != (a == EG_TERM_NONE) ||
      (free_count == 2) != (b != EG_TERM_NONE))
    return false;
  if ((free_count > 0 && a >= kept) || (free_count == 2 && b >= kept)) return false;
  uint16_t type_a = free_count == 0 ? 0 : space->terms.data[a].type;
  uint16_t type_b = free_count == 2 ? space->terms.data[b].type : 0;
  const eg_typed_variant *typed = eg_term_space_typed(space, variant, type_a, type_b);
  if (typed == NULL || !describe_term(space, variant, a, b, out)) return false;
  out->type = typed->type;
  return true;
}

// ---- values at other points -----------------------------------------------------

/// The subterms of a term (by its code), each once, operands before users, with values.
typedef struct point_run {
  uint32_t terms[64];
  size_t places[64]; // indices in `values`
  uint32_t count;
  eg_values *values;
} point_run;

// Lists the terms below a term. The recursion is at most EG_TERM_MAX_SIZE deep.
static void list_terms(const eg_term_space *space, uint32_t term, uint32_t given,
                       point_run *out) {
  if (term == EG_TERM_NONE) return;
  for (uint32_t i = 0; i < out->count; i++)
    if (out->terms[i] == term) return;
  const eg_space_term *t = &space->terms.data[term];
  if (t->variant != EG_TERM_NONE && term != given) {
    const eg_variant *v = &space->variants.data[t->variant];
    for (uint32_t i = 0; i < v->operand_count; i++)
      list_terms(space, eg_variant_operand(v, i, t->a, t->b), given, out);
  }
  assert(out->count < sizeof out->terms / sizeof *out->terms);
  out->terms[out->count++] = term;
}

static void run_variant(const eg_term_space *space, point_run *run, uint32_t variant,
                        uint32_t a, uint32_t b, uint64_t *out) {
  const eg_variant *v = &space->variants.data[variant];
  const uint64_t *operands[EG_FIELD_MAX_OPERANDS] = {NULL};
  for (uint32_t i = 0; i < v->operand_count; i++) {
    uint32_t operand = eg_variant_operand(v, i, a, b), at = 0;
    while (run->terms[at] != operand)
      at++;
    assert(at < run->count);
    operands[i] = run->values->data + run->places[at];
  }
  uint16_t type_a = v->free_count > 0 ? space->terms.data[a].type : 0;
  uint16_t type_b = v->free_count > 1 ? space->terms.data[b].type : 0;
  eg_field_plan_run(&eg_term_space_typed(space, variant, type_a, type_b)->plan, operands,
                    out);
}

egraph_status eg_term_space_value(eg_term_space *space, eg_term_code code,
                                  const eg_term_point *point, eg_values *out) {
  eg_space_term root;
  if (!eg_term_space_decode(space, code, &root))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "there is no term of that code");
  point_run run = {.values = &space->scratch_values};
  bool is_kept = code >> 52 == 0xfff;
  if (is_kept) {
    list_terms(space, (uint32_t)code, point->given, &run);
  } else {
    const eg_variant *v = &space->variants.data[root.variant];
    for (uint32_t i = 0; i < v->operand_count; i++)
      list_terms(space, eg_variant_operand(v, i, root.a, root.b), point->given, &run);
  }
  size_t room = 0;
  for (uint32_t i = 0; i < run.count; i++) {
    run.places[i] = room;
    room += space->types.data[space->terms.data[run.terms[i]].type].elements;
  }
  EG_TRY(eg_values_resize(run.values, room));
  for (uint32_t i = 0; i < run.count; i++) {
    uint32_t id = run.terms[i];
    const eg_space_term *t = &space->terms.data[id];
    uint64_t *to = run.values->data + run.places[i];
    bool is_leaf = t->variant == EG_TERM_NONE && id != point->given;
    if (is_leaf && space->family->leaves[t->a].is_constant)
      set_constant(&space->types.data[t->type].type, space->family->leaves[t->a].number,
                   to);
    else if (is_leaf || id == point->given)
      draw_leaf(&space->types.data[t->type].type, point->seed, id, to);
    else
      run_variant(space, &run, t->variant, t->a, t->b, to);
  }
  uint32_t elements = space->types.data[root.type].elements;
  EG_TRY(eg_values_resize(out, elements));
  if (is_kept)
    memcpy(out->data, run.values->data + run.places[run.count - 1],
           elements * sizeof *out->data);
  else
    run_variant(space, &run, root.variant, root.a, root.b, out->data);
  return EGRAPH_OK;
}
