// Terms of families in the field: arithmetic, operators against their kernels, values
// against polynomials written out, and which pairs become candidates.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "tests/testing.h"

#include "rewrites/lab/generate/candidates.h"
#include "rewrites/lab/generate/infer.h"

// ---- the field ------------------------------------------------------------------

static void products_and_inverses_are_those_of_the_field(void **state) {
  (void)state;
  eg_rng rng = {.state = test_seed(1)};
  for (size_t i = 0; i < test_rounds(2000); i++) {
    uint64_t a = eg_rng_next(&rng) % EG_FIELD_P, b = eg_rng_next(&rng) % EG_FIELD_P;
    uint64_t product = (uint64_t)((eg_field_wide)a * b % EG_FIELD_P);
    assert_int_equal(eg_field_mul(a, b), product);
    assert_int_equal(eg_field_add(eg_field_sub(a, b), b), a);
    if (a == 0) continue;
    assert_int_equal(eg_field_mul(a, eg_field_inverse(a)), 1);
    assert_int_equal(eg_field_pow(a, EG_FIELD_P - 1), 1);
    uint64_t square = eg_field_mul(a, a), root = eg_field_sqrt(square);
    assert_int_equal(eg_field_mul(root, root), square);
    assert_int_equal(eg_field_log(eg_field_exp(a)), a);
    assert_int_equal(eg_field_exp(eg_field_log(a)), a);
    assert_int_equal(eg_field_mul(eg_field_exp(a), eg_field_exp(eg_field_neg(a))), 1);
    uint64_t x = a >> 2, y = eg_field_neg(b >> 2); // their sum is that of integers
    assert_int_equal(eg_field_mul(eg_field_exp(x), eg_field_exp(y)),
                     eg_field_exp(eg_field_add(x, y)));
  }
  uint64_t most = EG_FIELD_P - 1;
  assert_int_equal(eg_field_mul(most, most), 1);
  assert_int_equal(eg_field_inverse(0), 0);
}

static void quotients_are_recognized(void **state) {
  (void)state;
  const struct {
    double value;
    bool is_single;
    int64_t n, d;
  } good[] = {{0, false, 0, 1},
              {3, false, 3, 1},
              {-2.5, false, -5, 2},
              {1.0 / 9, false, 1, 9},
              {(float)1e-5, true, 1, 100000},
              {1.0f / 3, true, 1, 3},
              {-1.0 / 16777216, false, -1, 16777216}};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    uint64_t value;
    assert_true(eg_field_of_double(good[i].value, good[i].is_single, &value));
    assert_int_equal(eg_field_mul(value, eg_field_of_int(good[i].d)),
                     eg_field_of_int(good[i].n));
  }
  const double bad[] = {NAN, INFINITY, -INFINITY, 1e30, 3.14159265358979};
  uint64_t value;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_false(eg_field_of_double(bad[i], false, &value));
}

static void powers_are_products_quotients_and_roots(void **state) {
  (void)state;
  eg_rng rng = {.state = test_seed(9)};
  uint64_t one_half, two_thirds;
  assert_true(eg_field_of_double(0.5, false, &one_half));
  assert_true(eg_field_of_double(2.0 / 3, false, &two_thirds));
  for (size_t i = 0; i < test_rounds(200); i++) {
    uint64_t x = 1 + eg_rng_next(&rng) % (EG_FIELD_P - 1);
    assert_int_equal(eg_field_power(x, 0), 1);
    assert_int_equal(eg_field_power(x, 1), x);
    assert_int_equal(eg_field_power(x, 3), eg_field_mul(x, eg_field_mul(x, x)));
    assert_int_equal(eg_field_mul(eg_field_power(x, eg_field_neg(2)), eg_field_mul(x, x)),
                     1);
    assert_int_equal(eg_field_power(x, one_half), eg_field_sqrt(x));
    assert_int_equal(
        eg_field_mul(eg_field_power(x, eg_field_neg(one_half)), eg_field_sqrt(x)), 1);
    // Others keep no identity, but are a function.
    assert_int_equal(eg_field_power(x, two_thirds), eg_field_power(x, two_thirds));
    assert_int_not_equal(eg_field_power(x, two_thirds), eg_field_power(x, 9));
  }
}

static uint64_t apply(eg_op op, uint64_t x) {
  eg_attr slots[4];
  eg_attrs_defaults(op, slots);
  const eg_attrs attrs = {
      .op = (uint16_t)op, .count = eg_op_info_of(op)->attr_count, .slots = slots};
  EG_LOCAL(eg_arena, arena, eg_allocator_heap());
  eg_field_function f;
  bool is_known;
  assert_ok(eg_field_function_of(&arena, &attrs, 5, &f, &is_known));
  assert_true(is_known);
  return eg_field_apply(&f, &x);
}

static void functions_keep_the_identities_that_are_promised(void **state) {
  (void)state;
  eg_rng rng = {.state = test_seed(2)};
#define F(OP, x) apply(EG_OP_##OP, x)
  for (size_t i = 0; i < test_rounds(500); i++) {
    uint64_t x = eg_rng_next(&rng) % EG_FIELD_P, y = eg_rng_next(&rng) % EG_FIELD_P;
    uint64_t minus = eg_field_neg(x);
    assert_int_equal(F(TANH, minus), eg_field_neg(F(TANH, x)));
    assert_int_equal(F(COS, minus), F(COS, x));
    assert_int_equal(eg_field_add(F(SIGMOID, x), F(SIGMOID, minus)), 1);
    assert_int_equal(F(SILU, x), eg_field_mul(x, F(SIGMOID, x)));
    assert_int_equal(eg_field_sub(F(RELU, x), F(RELU, minus)), x);
    assert_int_equal(eg_field_mul(F(SIGN, x), x), F(ABS, x));
    assert_int_equal(F(FLOOR, F(FLOOR, x)), F(FLOOR, x));
    assert_int_equal(F(CEIL, F(FLOOR, x)), F(FLOOR, x));
    assert_int_equal(F(ROUND, minus), eg_field_neg(F(ROUND, x)));
    assert_int_equal(F(SQRT, eg_field_mul(x, y)), eg_field_mul(F(SQRT, x), F(SQRT, y)));
    assert_int_not_equal(F(EXP, x), F(TANH, x));
  }
#undef F
}

// ---- operators ------------------------------------------------------------------

/// A call of an operator: attributes as in graph text, types of operands.
typedef struct operator_case {
  const char *op, *attributes[8][2], *types[4];
} operator_case;

static void read_attributes(eg_arena *arena, const operator_case *c, eg_attrs *out) {
  eg_op op;
  assert_true(eg_op_find(c->op, &op));
  eg_attr *slots;
  uint16_t count = eg_op_info_of(op)->attr_count;
  assert_ok(eg_arena_alloc(arena, count + 1u, sizeof *slots, &slots));
  eg_attrs_defaults(op, slots);
  for (int i = 0; c->attributes[i][0] != NULL; i++) {
    uint16_t slot;
    assert_true(eg_op_find_attr(op, c->attributes[i][0], &slot));
    assert_ok(eg_attr_parse(arena, op, slot, c->attributes[i][1], &slots[slot]));
  }
  *out = (eg_attrs){.op = (uint16_t)op, .count = count, .slots = slots};
}

static void draw_operand(eg_arena *arena, eg_rng *rng, const eg_type *type, double **real,
                         uint64_t **field) {
  size_t count = (size_t)eg_type_elements(type);
  assert_ok(eg_arena_alloc(arena, count, sizeof **real, real));
  assert_ok(eg_arena_alloc(arena, count, sizeof **field, field));
  for (size_t i = 0; i < count; i++) {
    int64_t value = (int64_t)eg_rng_below(rng, 15) - 7;
    if (value == 0) value = 8; // to be divided by
    if (type->dtype == EGRAPH_BOOL) value = value > 0;
    eg_tensor_set_double(&(eg_tensor){.type = *type, .data = *real}, (int64_t)i,
                         (double)value);
    (*field)[i] = eg_field_of_int(value);
  }
}

/// Whole numbers in, whole numbers (or quotients) out: the field says what the kernel
/// says. Relu and maxima decide by signs that small numbers keep.
static void check_operator(const operator_case *c, eg_rng *rng) {
  EG_LOCAL(eg_arena, arena, eg_allocator_heap());
  eg_attrs attrs;
  read_attributes(&arena, c, &attrs);
  eg_type types[4], result;
  eg_tensor inputs[4];
  const uint64_t *operands[4] = {NULL};
  uint32_t count = 0;
  for (; count < 4 && c->types[count] != NULL; count++) {
    double *real;
    uint64_t *field;
    assert_ok(eg_type_parse("case", c->types[count], &types[count]));
    draw_operand(&arena, rng, &types[count], &real, &field);
    inputs[count] = (eg_tensor){.type = types[count], .data = real};
    operands[count] = field;
  }
  eg_field_plan plan;
  assert_ok(eg_field_plan_make(&arena, &attrs, types, count, 0, 3, &plan));
  assert_ok(eg_op_infer(&attrs, types, count, &result));
  double *wanted;
  uint64_t *got;
  assert_ok(eg_arena_alloc(&arena, plan.elements, sizeof *wanted, &wanted));
  assert_ok(eg_arena_alloc(&arena, plan.elements, sizeof *got, &got));
  eg_tensor output = {.type = result, .data = wanted};
  eg_kernel_call call = {.attrs = &attrs,
                         .inputs = inputs,
                         .input_count = count,
                         .outputs = &output,
                         .output_count = 1,
                         .alloc = eg_allocator_heap()};
  assert_ok(eg_op_run(&call));
  eg_field_plan_run(&plan, operands, got);
  for (uint32_t i = 0; i < plan.elements; i++) {
    uint64_t value;
    assert_true(eg_field_of_double(wanted[i], false, &value));
    assert_int_equal(got[i], value);
  }
  if (plan.kind == EG_FIELD_POLYNOMIAL && !plan.has_function) {
    uint64_t adjoint[EG_FIELD_MAX_ELEMENTS], weights[EG_FIELD_MAX_ELEMENTS], rest;
    uint32_t first = (uint32_t)eg_type_elements(&types[0]);
    for (uint32_t i = 0; i < plan.elements; i++)
      weights[i] = eg_rng_next(rng) % EG_FIELD_P;
    eg_field_plan_adjoint(&plan, operands, weights, first, adjoint, &rest);
    assert_int_equal(eg_field_add(eg_field_dot(adjoint, operands[0], first), rest),
                     eg_field_dot(weights, got, plan.elements));
  }
}

static void operators_mean_what_their_kernels_compute(void **state) {
  (void)state;
  static const operator_case cases[] = {
      {"matmul", {{NULL}}, {"float64[2,3]", "float64[3,2]"}},
      {"matmul", {{"transA", "1"}, {"act", "relu"}}, {"float64[3,2]", "float64[3,2]"}},
      {"matmul", {{NULL}}, {"float64[2,3]", "float64[3,2]", "float64[2]"}},
      {"einsum", {{"equation", "ij,kj->ki"}}, {"float64[2,3]", "float64[4,3]"}},
      {"einsum", {{"equation", "bij->bi"}}, {"float64[2,3,2]"}},
      {"conv",
       {{"strides", "[2 1]"}, {"pads", "[1 0 1 2]"}, {"dilations", "[1 1]"}},
       {"float64[1,2,4,3]", "float64[3,2,2,2]", "float64[3]"}},
      {"conv",
       {{"strides", "[1 1]"},
        {"pads", "[1 1 1 1]"},
        {"dilations", "[1 1]"},
        {"group", "2"}},
       {"float64[1,2,3,3]", "float64[2,1,3,3]"}},
      {"conv-transpose",
       {{"strides", "[2 2]"},
        {"pads", "[0 0 0 0]"},
        {"dilations", "[1 1]"},
        {"output_padding", "[0 0]"}},
       {"float64[1,2,2,2]", "float64[2,2,2,2]"}},
      {"add", {{NULL}}, {"float64[2,3]", "float64[3]"}},
      {"sub", {{NULL}}, {"float64[2,1]", "float64[1,3]"}},
      {"mul", {{NULL}}, {"float64[2,3]", "float64[]"}},
      {"div", {{NULL}}, {"float64[4]", "float64[4]"}},
      {"max", {{NULL}}, {"float64[2,3]", "float64[3]"}},
      {"relu", {{NULL}}, {"float64[5]"}},
      {"leaky-relu", {{"alpha", "0.25"}}, {"float64[5]"}},
      {"prelu", {{NULL}}, {"float64[2,3]", "float64[3]"}},
      {"where", {{NULL}}, {"bool[2,3]", "float64[3]", "float64[2,1]"}},
      {"where", {{NULL}}, {"bool[3]", "float64[]", "float64[2,3]"}},
      {"clip", {{"min", "-1.0"}, {"max", "3.0"}}, {"float64[9]"}},
      {"softsign", {{NULL}}, {"float64[9]"}},
      {"reduce-sum", {{"axes", "[0 2]"}}, {"float64[2,3,2]"}},
      {"reduce-mean", {{"axes", "[1]"}, {"keepdims", "0"}}, {"float64[2,3,2]"}},
      {"reduce-max", {{"axes", "[1]"}}, {"float64[2,3,2]"}},
      {"reduce-min", {{"axes", "[0]"}}, {"float64[2,3,2]"}},
      {"cum-sum", {{"axis", "1"}, {"reverse", "1"}}, {"float64[2,3]"}},
      {"max-pool",
       {{"kernel_shape", "[2 3]"},
        {"strides", "[1 2]"},
        {"pads", "[1 1 0 1]"},
        {"dilations", "[1 1]"}},
       {"float64[1,2,3,4]"}},
      {"average-pool",
       {{"kernel_shape", "[3 3]"}, {"strides", "[1 1]"}, {"pads", "[1 1 1 1]"}},
       {"float64[1,1,4,3]"}},
      {"global-average-pool", {{NULL}}, {"float64[1,2,2,3]"}},
      {"transpose", {{"perm", "[2 0 1]"}}, {"float64[2,3,2]"}},
      {"concat", {{"axis", "1"}}, {"float64[2,3]", "float64[2,1]"}},
      {"split", {{"axis", "0"}, {"sizes", "[4]"}}, {"float64[4]"}},
      {"slice",
       {{"starts", "[1 0]"}, {"ends", "[3 4]"}, {"steps", "[1 2]"}},
       {"float64[3,4]"}},
      {"pad", {{"pads", "[1 0 0 2]"}}, {"float64[2,2]"}},
      {"resize", {{"shape", "[3 4]"}}, {"float64[2,2]"}},
      {"resize", {{"shape", "[4]"}, {"mode", "linear"}}, {"float64[2]"}},
      {"enlarge", {{"kernel_shape", "[3 3]"}}, {"float64[1,1,1,3]"}}};
  eg_rng rng = {.state = test_seed(3)};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int round = 0; round < 4; round++)
      check_operator(&cases[i], &rng);
}

static void what_the_field_does_not_know_is_named(void **state) {
  (void)state;
  const struct {
    operator_case c;
    const char *part;
  } cases[] = {
      {{"arg-max", {{NULL}}, {"float64[4]"}}, "arg-max has no meaning in the field"},
      {{"pad", {{"pads", "[1 1]"}, {"value", "2.0"}}, {"float64[4]"}}, "pad is no poly"},
      {{"pad", {{"pads", "[1 1]"}, {"value", "-inf"}}, {"float64[4]"}},
       "pad puts -inf where no element is"},
      {{"relu", {{NULL}}, {"float64[4000]"}}, "more than 1024 elements"},
      {{"max-pool",
        {{"kernel_shape", "[2]"},
         {"strides", "[1]"},
         {"pads", "[0 0]"},
         {"dilations", "[2]"}},
        {"float64[1,1,6]"}},
       "dilations have no meaning"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    EG_LOCAL(eg_arena, arena, eg_allocator_heap());
    eg_attrs attrs;
    eg_type type;
    eg_field_plan plan;
    read_attributes(&arena, &cases[i].c, &attrs);
    assert_ok(eg_type_parse("case", cases[i].c.types[0], &type));
    assert_fails(eg_field_plan_make(&arena, &attrs, &type, 1, 0, 3, &plan),
                 EGRAPH_E_UNSUPPORTED, cases[i].part);
  }
}

// ---- expressions ----------------------------------------------------------------

enum { MEMBERS = 4 };

static void lists_of(int64_t rows[MEMBERS][2], eg_rule_value *out) {
  for (int i = 0; i < MEMBERS; i++)
    out[i] = (eg_rule_value){.kind = EG_RULE_INTS, .ints = {.data = rows[i], .len = 2}};
}

static bool has_option(const eg_fit_target *target, const char *text) {
  for (uint32_t i = 0; i < target->option_count; i++)
    if (strcmp(target->options[i], text) == 0) return true;
  return false;
}

/// An expression fits all instances, or is none: one that contradicts is enough.
static void expressions_fit_every_instance(void **state) {
  (void)state;
  int64_t p[MEMBERS][2] = {{1, 0}, {2, 5}, {0, 7}, {4, 4}};
  int64_t q[MEMBERS][2] = {{3, 1}, {0, 6}, {9, 2}, {1, 8}};
  int64_t sums[MEMBERS][2];
  for (int i = 0; i < MEMBERS; i++)
    for (int k = 0; k < 2; k++)
      sums[i][k] = p[i][k] + q[i][k];
  eg_rule_value a[MEMBERS], b[MEMBERS], wanted[MEMBERS];
  lists_of(p, a);
  lists_of(q, b);
  lists_of(sums, wanted);
  const eg_fit_atom atoms[] = {{"?p", a}, {"?q", b}};
  for (int contradicts = 0; contradicts < 2; contradicts++) {
    eg_fit_target target = {.values = wanted};
    const eg_fit fit = {.members = MEMBERS,
                        .atoms = atoms,
                        .atom_count = 2,
                        .targets = &target,
                        .target_count = 1,
                        .depth = 1};
    EG_LOCAL(eg_arena, arena, eg_allocator_heap());
    sums[2][1] += contradicts;
    assert_ok(eg_expressions_fit(&arena, &fit));
    assert_int_equal(has_option(&target, "(+ ?p ?q)"), contradicts == 0);
  }
}

// ---- terms ----------------------------------------------------------------------

typedef struct terms_kit {
  eg_arena arena;
  eg_family family;
  eg_term_space *space;
  eg_term_pairs pairs;
  eg_enumeration_counts counts[EG_TERM_MAX_SIZE];
} terms_kit;

static egraph_status take_family(void *user, const eg_family *family) {
  *(eg_family *)user = *family;
  return EGRAPH_OK;
}

static void open_kit(terms_kit *kit, const char *text) {
  eg_arena_init(&kit->arena, eg_allocator_heap());
  assert_ok(eg_families_read(&kit->arena, "kit", text, strlen(text), take_family,
                             &kit->family));
  assert_ok(eg_term_space_create(NULL, &kit->family, 1, &kit->space));
  eg_term_pairs_init(&kit->pairs, eg_allocator_heap());
}

static egraph_status grow_kit(terms_kit *kit, uint32_t largest, uint32_t threads,
                              size_t byte_limit) {
  eg_enumeration how = {.threads = threads, .byte_limit = byte_limit};
  for (uint32_t size = 1; size <= largest; size++)
    EG_TRY(eg_term_space_grow(kit->space, size, largest, &how, &kit->pairs,
                              &kit->counts[size - 1]));
  return EGRAPH_OK;
}

static void close_kit(terms_kit *kit) {
  eg_term_pairs_deinit(&kit->pairs);
  eg_term_space_destroy(kit->space);
  eg_arena_deinit(&kit->arena);
}

static const char POLYNOMIALS[] =
    "(egraph-families 1) (family polynomials (inputs (x 2 \"float32[2]\"))"
    " (operators (add) (sub) (mul) (neg) (square)))";

enum { DEGREES = 17 };
/// Coefficients of x1^i x2^k.
typedef struct polynomial {
  int64_t c[DEGREES][DEGREES];
} polynomial;

static void expand(const terms_kit *kit, const eg_space_term *term, polynomial *out);

static void expand_kept(const terms_kit *kit, uint32_t term, polynomial *out) {
  expand(kit, eg_term_space_at(kit->space, term), out);
}

static void multiply(const polynomial *a, const polynomial *b, polynomial *out) {
  memset(out, 0, sizeof *out);
  for (int i = 0; i < DEGREES; i++)
    for (int k = 0; k < DEGREES; k++)
      for (int m = 0; a->c[i][k] != 0 && m < DEGREES - i; m++)
        for (int n = 0; n < DEGREES - k; n++)
          out->c[i + m][k + n] += a->c[i][k] * b->c[m][n];
}

static void expand(const terms_kit *kit, const eg_space_term *term, polynomial *out) {
  polynomial a, b;
  memset(out, 0, sizeof *out);
  if (term->variant == EG_TERM_NONE) {
    out->c[term->a == 0][term->a == 1] = 1;
    return;
  }
  const eg_variant *v = eg_term_space_variant(kit->space, term->variant);
  unsigned op = kit->family.templates[v->template].attrs.op;
  expand_kept(kit, term->a, &a);
  if (term->b != EG_TERM_NONE) expand_kept(kit, term->b, &b);
  if (op == EG_OP_MUL || op == EG_OP_SQUARE) {
    multiply(&a, op == EG_OP_MUL ? &b : &a, out);
    return;
  }
  int64_t sign_a = op == EG_OP_NEG ? -1 : 1, sign_b = op == EG_OP_SUB ? -1 : 1;
  for (int i = 0; i < DEGREES; i++)
    for (int k = 0; k < DEGREES; k++)
      out->c[i][k] =
          sign_a * a.c[i][k] + (term->b != EG_TERM_NONE ? sign_b * b.c[i][k] : 0);
}

/// Equal in the field exactly when equal when written out: pairs are, and of the terms
/// that are kept, one of each value, no two are.
static void values_are_equal_where_polynomials_are(void **state) {
  (void)state;
  terms_kit kit;
  open_kit(&kit, POLYNOMIALS);
  assert_ok(grow_kit(&kit, 3, 1, 0));
  assert_true(kit.pairs.len > 100);
  for (size_t i = 0; i < kit.pairs.len; i++) {
    eg_space_term first, other;
    polynomial a, b;
    assert_true(eg_term_space_decode(kit.space, kit.pairs.data[i].first, &first));
    assert_true(eg_term_space_decode(kit.space, kit.pairs.data[i].other, &other));
    expand(&kit, &first, &a);
    expand(&kit, &other, &b);
    assert_memory_equal(&a, &b, sizeof a);
  }
  uint32_t count = eg_term_space_count(kit.space);
  polynomial *all = calloc(count, sizeof *all);
  assert_non_null(all);
  for (uint32_t i = 0; i < count; i++) {
    expand_kept(&kit, i, &all[i]);
    for (uint32_t k = 0; k < i; k++)
      assert_memory_not_equal(&all[k], &all[i], sizeof *all);
  }
  free(all);
  close_kit(&kit);
}

/// The same in floating-point numbers, up to rounding.
static void numbers_differ_where_polynomials_do(void **state) {
  (void)state;
  terms_kit kit;
  bool differ;
  open_kit(&kit, POLYNOMIALS);
  assert_ok(grow_kit(&kit, 3, 1, 0));
  for (size_t i = 0; i < kit.pairs.len; i++) {
    const eg_term_pair *pair = &kit.pairs.data[i];
    assert_ok(eg_terms_differ(kit.space, pair->first, pair->other, i, &differ));
    assert_false(differ);
  }
  for (uint32_t i = 0; i < eg_term_space_count(kit.space); i++)
    for (uint32_t k = 0; k < i; k++) {
      eg_term_code a = EG_TERM_KEPT(i), b = EG_TERM_KEPT(k);
      assert_ok(eg_terms_differ(kit.space, a, b, i, &differ));
      assert_true(differ);
    }
  close_kit(&kit);
}

/// Bounds that hardly any number of the field is between: no candidate is made of that.
static void what_only_the_field_takes_for_equal_is_an_accident(void **state) {
  (void)state;
  terms_kit kit;
  eg_candidates found;
  eg_candidate_counts counts = {.pairs = 0};
  open_kit(&kit, "(egraph-families 1) (family bounds (elements 4)"
                 " (inputs (x 2 \"float32[2]\"))"
                 " (operators (clip :min 0.25 :max 2.0) (add) (neg)))");
  assert_ok(grow_kit(&kit, 2, 1, 0));
  eg_candidates_init(&found, eg_allocator_heap());
  assert_ok(eg_candidates_sift(kit.space, &kit.pairs, &found, &counts));
  assert_true(counts.accidents > 0);
  for (size_t i = 0; i < found.len; i++) {
    bool differ;
    assert_ok(eg_terms_differ(kit.space, found.data[i].left, found.data[i].right, 77 + i,
                              &differ));
    assert_false(differ);
  }
  eg_candidates_deinit(&found);
  close_kit(&kit);
}

/// Every canonical term of two operators, by hand: the terms made are all there are.
static void every_term_is_made_once(void **state) {
  (void)state;
  terms_kit kit;
  open_kit(&kit, "(egraph-families 1) (family few (inputs (x 2 \"float32[2]\"))"
                 " (operators (add) (exp)))");
  assert_ok(grow_kit(&kit, 2, 1, 0));
  // of size 1: add(x1,x1), add(x1,x2), add(x2,x2), exp(x1), exp(x2)
  assert_int_equal(kit.counts[0].terms, 5);
  // over one of them, canonical: exp(add(x1,x1)), exp(add(x1,x2)), exp(exp(x1));
  // add of a leaf and a term: x1 + (x1+x1), x1 + (x1+x2), x1 + (x2+x2), x1 + exp(x1),
  // x1 + exp(x2), and with other names, for associativity, x2 + (..): three; add of a
  // term to itself: three
  assert_int_equal(kit.counts[1].terms, 3 + 5 + 3 + 3);
  // x2 + (x1+x1) = x1 + (x1+x2) and x2 + (x1+x2) = x1 + (x2+x2)
  assert_int_equal(kit.counts[1].pairs, 2);
  close_kit(&kit);
}

static const char TWO_INPUTS[] =
    "(egraph-families 1) (family small (elements 64)"
    " (inputs (a 3 \"float32[2,3]\") (b 3 \"float32[3,2]\"))"
    " (operators (matmul) (add) (sub) (transpose :perm [1 0]) (concat :axis (each 0 1))"
    " (split :axis 1 :sizes [3 3]) (relu)))";

/// Threads, and passes for a limit of memory, change nothing.
static void pairs_do_not_depend_on_threads_or_memory(void **state) {
  (void)state;
  terms_kit one, two, little;
  open_kit(&one, TWO_INPUTS);
  open_kit(&two, TWO_INPUTS);
  open_kit(&little, TWO_INPUTS);
  assert_ok(grow_kit(&one, 3, 1, 0));
  assert_ok(grow_kit(&two, 3, 2, 0));
  size_t limit = one.counts[2].peak_bytes * 9 / 10;
  assert_ok(grow_kit(&little, 3, 1, limit));
  assert_int_equal(one.counts[2].passes, 1);
  assert_true(little.counts[2].passes > 1);
  assert_true(little.counts[2].peak_bytes <= limit);
  assert_true(one.pairs.len > 1000);
  const terms_kit *others[] = {&two, &little};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(others[i]->pairs.len, one.pairs.len);
    assert_memory_equal(others[i]->pairs.data, one.pairs.data,
                        one.pairs.len * sizeof *one.pairs.data);
    assert_int_equal(others[i]->counts[2].distinct, one.counts[2].distinct);
  }
  close_kit(&little);
  close_kit(&two);
  close_kit(&one);
}

static void too_little_memory_is_told(void **state) {
  (void)state;
  terms_kit kit;
  open_kit(&kit, TWO_INPUTS);
  assert_fails(grow_kit(&kit, 3, 1, 100000), EGRAPH_E_ARGUMENT, "raise --byte-limit");
  close_kit(&kit);
}

// ---- candidates -----------------------------------------------------------------

static bool reads_as(terms_kit *kit, const eg_candidate *c, const char *one,
                     const char *other) {
  eg_draft draft;
  eg_text sides, wanted;
  eg_text_init(&sides, eg_allocator_heap());
  eg_text_init(&wanted, eg_allocator_heap());
  assert_true(eg_draft_of(kit->space, c->left, c->right, &draft));
  assert_ok(eg_draft_print_sides(&draft, &sides));
  assert_ok(eg_text_printf(&wanted, "%s = %s", one, other));
  bool same = strcmp(eg_text_of(&sides), eg_text_of(&wanted)) == 0;
  eg_text_deinit(&sides);
  eg_text_deinit(&wanted);
  return same;
}

static void assert_found(terms_kit *kit, const eg_candidates *all, const char *left,
                         const char *right) {
  for (size_t i = 0; i < all->len; i++)
    if (reads_as(kit, &all->data[i], left, right)) return;
  fail_msg("no candidate %s = %s", left, right);
}

static void known_rules_are_candidates(void **state) {
  (void)state;
  static const char *const known[][2] = {
      {"(transpose :perm [1 0] (transpose :perm [1 0] ?x1))", "?x1"},
      {"(relu (relu ?x1))", "(relu ?x1)"},
      {"(add ?x1 (add ?x2 ?x3))", "(add ?x3 (add ?x1 ?x2))"},
      {"(matmul (matmul ?x1 ?x2) ?x3)", "(matmul ?x1 (matmul ?x2 ?x3))"},
      {"(add (matmul ?x1 ?x2) (matmul ?x1 ?x3))", "(matmul ?x1 (add ?x2 ?x3))"},
      {"(matmul (transpose :perm [1 0] ?x1) (transpose :perm [1 0] ?x2))",
       "(transpose :perm [1 0] (matmul ?x2 ?x1))"},
      {"(relu (transpose :perm [1 0] ?x1))", "(transpose :perm [1 0] (relu ?x1))"},
      {"(part :index 0 (split :axis 1 :sizes [3 3] (concat :axis 1 ?x1 ?x2)))", "?x1"},
      {"(part :index 1 (split :axis 1 :sizes [3 3] (concat :axis 1 ?x1 ?x2)))", "?x2"},
      {"(add (matmul ?x1 ?x2) (matmul ?x3 ?x4))",
       "(matmul (concat :axis 1 ?x1 ?x3) (concat :axis 0 ?x2 ?x4))"}};
  terms_kit kit;
  open_kit(&kit, TWO_INPUTS);
  assert_ok(grow_kit(&kit, 3, 2, 0));
  eg_candidates all;
  eg_candidate_counts counts = {0};
  eg_candidates_init(&all, eg_allocator_heap());
  assert_ok(eg_candidates_sift(kit.space, &kit.pairs, &all, &counts));
  assert_int_equal(counts.pairs, kit.pairs.len);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    assert_found(&kit, &all, known[i][0], known[i][1]);
  // What follows by putting a term for a variable is none, and no text comes twice.
  for (size_t i = 0; i < all.len; i++)
    assert_false(reads_as(&kit, &all.data[i], "(relu (relu (relu ?x1)))", "(relu ?x1)"));
  assert_true(counts.generalized > 0);
  assert_true(counts.repeated > 0);
  assert_int_equal(all.len + counts.generalized + counts.repeated + counts.accidents +
                       counts.undirected,
                   counts.pairs);
  eg_candidates_deinit(&all);
  close_kit(&kit);
}

/// Left and right side of a convolution are linear, and kernels are fused.
static void rules_of_convolutions_are_candidates(void **state) {
  (void)state;
  static const char text[] =
      "(egraph-families 1) (family conv (inputs (x 2 \"float32[1,2,3,3]\"))"
      " (weights (w 2 \"float32[2,2,1,1]\"))"
      " (operators (conv :strides [1 1] :dilations [1 1] :pads [0 0 0 0] :act (each none"
      " relu)) (add) (relu) (concat :axis (each 0 1))))";
#define CONV "(conv :strides [1 1] :pads [0 0 0 0] :dilations [1 1]"
  static const char *const known[][2] = {
      {"(add " CONV " ?x1 ?x2) " CONV " ?x3 ?x2))", CONV " (add ?x1 ?x3) ?x2)"},
      {"(add " CONV " ?x1 ?x2) " CONV " ?x1 ?x3))", CONV " ?x1 (add ?x2 ?x3))"},
      {"(relu " CONV " ?x1 ?x2))", CONV " :act relu ?x1 ?x2)"},
      {"(concat :axis 1 " CONV " ?x1 ?x2) " CONV " ?x1 ?x3))",
       CONV " ?x1 (concat :axis 0 ?x2 ?x3))"}};
#undef CONV
  terms_kit kit;
  open_kit(&kit, text);
  assert_ok(grow_kit(&kit, 3, 1, 0));
  eg_candidates all;
  eg_candidate_counts counts = {0};
  eg_candidates_init(&all, eg_allocator_heap());
  assert_ok(eg_candidates_sift(kit.space, &kit.pairs, &all, &counts));
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    assert_found(&kit, &all, known[i][0], known[i][1]);
  eg_candidates_deinit(&all);
  close_kit(&kit);
}

/// What the field keeps of exponentials and of orders; the third operand of `where` is
/// computed where the second one is a leaf.
static void functions_of_sums_are_candidates(void **state) {
  (void)state;
  static const struct {
    const char *family, *left, *right;
  } known[] = {{"(inputs (x 2 \"float32[3]\")) (operators (exp) (add) (mul))",
                "(mul (exp ?x1) (exp ?x2))", "(exp (add ?x1 ?x2))"},
               {"(inputs (x 3 \"float32[3]\")) (operators (max) (add))",
                "(max (add ?x1 ?x2) (add ?x1 ?x3))", "(add ?x1 (max ?x2 ?x3))"},
               {"(inputs (x 1 \"float32[3]\")) (constants (o \"float32[]\" 0)"
                " (c \"float32[]\" 0.25)) (operators (where :leaves [1]) (greater) (mul)"
                " (leaky-relu :alpha 0.25))",
                "(where (greater ?x1 ?x2) ?x1 (mul ?x1 ?x3))",
                "(leaky-relu :alpha 0.25 ?x1)"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    char text[400];
    terms_kit kit;
    eg_candidates all;
    eg_candidate_counts counts = {0};
    (void)snprintf(text, sizeof text, "(egraph-families 1) (family f %s)",
                   known[i].family);
    open_kit(&kit, text);
    assert_ok(grow_kit(&kit, 3, 1, 0));
    eg_candidates_init(&all, eg_allocator_heap());
    assert_ok(eg_candidates_sift(kit.space, &kit.pairs, &all, &counts));
    assert_found(&kit, &all, known[i].left, known[i].right);
    eg_candidates_deinit(&all);
    close_kit(&kit);
  }
}

// ---- families -------------------------------------------------------------------

static void wrong_families_are_told_where(void **state) {
  (void)state;
#define IN(inputs, operators)                                                            \
  "(egraph-families 1)\n(family f (inputs " inputs ") (operators " operators "))"
  static const char *const wrong[][2] = {
      {"(family f)", "kit:1:1: a file of families begins with"},
      {"(egraph-families 1) (rule x)", "kit:1:21: write (family NAME ...)"},
      {IN("(x 2 \"float32[2]\")", "(nothing)"), "kit:2:50: a template begins with an op"},
      {IN("(x 2 \"float32[2]\")", "(input :name \"x\")"), "begins with an operator"},
      {IN("(x 2 \"float32[2]\")", "(concat :axle 1)"), "concat has no attribute :axle"},
      {IN("(x 2 \"float32[2]\")", "(concat)"), "concat needs :axis"},
      {IN("(x 2 \"float32[2]\")", "(concat :axis)"), "attributes are :name value"},
      {IN("(x 2 \"float32[2]\")", "(concat :axis (each))"), "write one value"},
      {IN("(x 2 \"float32[2]\")", "(relu :operands 3)"), "relu does not take 3 operands"},
      {IN("(x 2 \"float32[2]\")", "(add :leaves 1)"), "the numbers of operands"},
      {IN("(x 2 \"float32[2]\")", "(where :leaves [0 2])"), "are to be no :leaves"},
      {IN("(x 2 \"float32[2]\")", "(add :kernel [x])"), "a whole number from 0"},
      {IN("(x 20 \"float32[2]\")", "(add)"), "a whole number from 0 to 9"},
      {IN("(x 2 \"float32[0]\")", "(add)"), "a leaf has 1 to 1024 elements"},
      {IN("(x 2 \"float32[1000,1000]\")", "(add)"), "a leaf has 1 to 1024 elements"},
      {IN("(x 1 \"float32[2]\") (x 1 \"float32[3]\")", "(add)"), "is a leaf x1 already"},
      {IN("(x 2 float32)", "(add)"), "a leaf is (NAME COUNT"},
      {IN("", "(add)"), "a family needs inputs and operators"},
      {"(egraph-families 1) (family f (constants (c \"float32[]\")))",
       "a constant is (NAME"},
      {"(egraph-families 1) (family f (constants (c \"float32[]\" x)))",
       "a constant is (NAME"},
      {"(egraph-families 1) (family f (constants (c \"float32[]\" 1e30)))",
       "a constant is a quotient of whole numbers"},
      {"(egraph-families 1) (family f (constants (c \"float32[0]\" 1)))",
       "a leaf has 1 to 1024 elements"}};
#undef IN
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    EG_LOCAL(eg_arena, arena, eg_allocator_heap());
    eg_family family;
    assert_fails(eg_families_read(&arena, "kit", wrong[i][0], strlen(wrong[i][0]),
                                  take_family, &family),
                 EGRAPH_E_PARSE, wrong[i][1]);
  }
}

static uint64_t count_terms(const eg_family *family, uint32_t largest) {
  eg_term_space *space;
  eg_term_pairs pairs;
  eg_enumeration how = {.threads = 1};
  eg_enumeration_counts counts;
  uint64_t terms = 0;
  eg_term_pairs_init(&pairs, eg_allocator_heap());
  assert_ok(eg_term_space_create(NULL, family, 1, &space));
  for (uint32_t size = 1; size <= largest; size++) {
    assert_ok(eg_term_space_grow(space, size, largest, &how, &pairs, &counts));
    terms += counts.terms;
  }
  eg_term_space_destroy(space);
  eg_term_pairs_deinit(&pairs);
  return terms;
}

/// Every template is of use: some operands fit it, inputs or results of others.
static egraph_status enter_field(void *user, const eg_family *family) {
  uint32_t *count = user;
  uint64_t terms = count_terms(family, 1);
  if (terms < family->template_count) terms = count_terms(family, 2);
  if (terms < family->template_count)
    fail_msg("%s: %" PRIu64 " terms, %u templates", family->name, terms,
             family->template_count);
  ++*count;
  return EGRAPH_OK;
}

static void shipped_families_are_known_to_the_field(void **state) {
  (void)state;
  EG_LOCAL(eg_arena, arena, eg_allocator_heap());
  eg_family family;
  uint32_t count = 0;
  assert_ok(eg_families_read_builtin(&arena, enter_field, &count));
  assert_true(count >= 8);
  assert_ok(eg_family_find(&arena, "taso", &family));
  assert_int_equal(family.template_count, 26);
  assert_fails(eg_family_find(&arena, "nobody", &family), EGRAPH_E_ARGUMENT,
               "there is no family nobody; --families lists ");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_and_inverses_are_those_of_the_field),
      cmocka_unit_test(quotients_are_recognized),
      cmocka_unit_test(powers_are_products_quotients_and_roots),
      cmocka_unit_test(functions_keep_the_identities_that_are_promised),
      cmocka_unit_test(operators_mean_what_their_kernels_compute),
      cmocka_unit_test(expressions_fit_every_instance),
      cmocka_unit_test(what_the_field_does_not_know_is_named),
      cmocka_unit_test(values_are_equal_where_polynomials_are),
      cmocka_unit_test(numbers_differ_where_polynomials_do),
      cmocka_unit_test(what_only_the_field_takes_for_equal_is_an_accident),
      cmocka_unit_test(every_term_is_made_once),
      cmocka_unit_test(pairs_do_not_depend_on_threads_or_memory),
      cmocka_unit_test(too_little_memory_is_told),
      cmocka_unit_test(known_rules_are_candidates),
      cmocka_unit_test(rules_of_convolutions_are_candidates),
      cmocka_unit_test(functions_of_sums_are_candidates),
      cmocka_unit_test(wrong_families_are_told_where),
      cmocka_unit_test(shipped_families_are_known_to_the_field)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
