// What rules with parallel operators claim of layouts, against running them: random terms
// with random parallel operators on both sides are executed on RANKS ranks, each with its
// own matrices and without any notion of factors or strategies. A value is known to lie
// in a layout when the matrices of the ranks, put together that way, are the value; an
// operator is defined when its result does. Verdicts must be equal, and the layouts that
// the claim finds must be those that the ranks have.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/claims/layout_claim.h"
#include "rewrites/language/rule_forms.h"
#include "tests/parallel_terms.h"
#include "tests/rank_matrices.h"
#include "tests/testing.h"

enum { DATA = 6 };

// ---- operators on one rank ------------------------------------------------------------

static bool run_one(node_kind k, const matrix *a, const matrix *b, matrix *out) {
  *out = *a;
  if ((k == ADD || k == MUL) && (a->rows != b->rows || a->cols != b->cols)) return false;
  if (k == MATMUL && a->cols != b->rows) return false;
  if (k == TOTAL) out->rows = 1;
  if (k == MATMUL) out->cols = b->cols;
  if (k == TRANSPOSE) *out = (matrix){.rows = a->cols, .cols = a->rows};
  for (int i = 0; i < out->rows; i++)
    for (int j = 0; j < out->cols; j++) {
      double x = k == TRANSPOSE ? a->at[j][i] : a->at[i][j];
      if (k == RELU) x = x > 0 ? x : 0;
      if (k == NEG) x = -x;
      if (k == ADD) x += b->at[i][j];
      if (k == MUL) x *= b->at[i][j];
      if (k == TOTAL || k == MATMUL) x = 0;
      for (int n = 0; k == TOTAL && n < a->rows; n++)
        x += a->at[n][j];
      for (int n = 0; k == MATMUL && n < a->cols; n++)
        x += a->at[i][n] * b->at[n][j];
      out->at[i][j] = x;
    }
  return true;
}

static bool run_move(const eg_parallel_op *op, spread_matrix *m, eg_rng *rng) {
  lying split = op->dim == 0 ? ROWS : COLUMNS;
  switch (op->kind) {
  case EG_PARALLEL_PARTITION: return m->how == WHOLE && lay_out(m, split, rng);
  case EG_PARALLEL_COMBINE: return m->how == split && lay_out(m, WHOLE, rng);
  case EG_PARALLEL_REPLICATE:
    return m->how == WHOLE && lay_out(m, op->keeps_one ? SUM : WHOLE, rng);
  case EG_PARALLEL_REDUCE: return m->how == SUM && lay_out(m, WHOLE, rng);
  case EG_PARALLEL_KINDS: break;
  }
  return false;
}

// ---- running --------------------------------------------------------------------------

typedef struct rules_run {
  spread_matrix vars[VARS];
  lying core[NODES]; // of every node, without its parallel operators
  bool is_dull;      // some value is zero, which lies in every way
} rules_run;

static bool is_zero(const matrix *m) {
  for (int i = 0; i < m->rows; i++)
    for (int j = 0; j < m->cols; j++)
      if (m->at[i][j] != 0) return false;
  return true;
}

/// How the result lies; NOWHERE if some operator is not defined.
static lying run_side(const side *s, rules_run *run, eg_rng *rng) {
  static spread_matrix values[NODES];
  for (int i = 0; i < s->count; i++) {
    const node *n = &s->nodes[i];
    spread_matrix *v = &values[i];
    if (n->kind == VAR) {
      *v = run->vars[n->var];
    } else {
      const spread_matrix *a = &values[n->child[0]], *b = &values[n->child[1]];
      if (!run_one(n->kind, &a->truth, &b->truth, &v->truth)) return NOWHERE;
      for (int r = 0; r < RANKS; r++)
        if (!run_one(n->kind, &a->of[r], &b->of[r], &v->of[r])) return NOWHERE;
      v->how = find_lying(v);
    }
    run->core[i] = v->how;
    run->is_dull = run->is_dull || is_zero(&v->truth);
    if (v->how == NOWHERE) return NOWHERE;
    for (int m = 0; m < n->move_count; m++)
      if (!run_move(&n->move[m], v, rng)) return NOWHERE;
  }
  return values[s->count - 1].how;
}

static void draw_vars(rules_run *run, const lying *how, eg_rng *rng) {
  for (int v = 0; v < VARS; v++) {
    run->vars[v].truth = (matrix){.rows = SIDE, .cols = SIDE};
    for (int i = 0; i < SIDE; i++)
      for (int j = 0; j < SIDE; j++)
        run->vars[v].truth.at[i][j] = (double)eg_rng_below(rng, 15) - 7;
    (void)lay_out(&run->vars[v], how[v], rng);
  }
}

/// How both sides lie for an assignment: as several data agree on, so that nothing holds
/// by chance.
static void run_both(const side sides[2], const lying *how, eg_rng *rng, lying out[2],
                     lying core[2][NODES], bool *inout_dull) {
  for (int d = 0; d < DATA; d++) {
    rules_run run = {.is_dull = false};
    draw_vars(&run, how, rng);
    for (int k = 0; k < 2; k++) {
      lying found = run_side(&sides[k], &run, rng);
      if (d == 0 || found == NOWHERE) out[k] = found;
      if (out[k] != found) out[k] = NOWHERE;
      memcpy(core[k], run.core, sizeof run.core);
    }
    *inout_dull = *inout_dull || run.is_dull;
  }
}

static bool uses(const side *s, int var) {
  for (int i = 0; i < s->count; i++)
    if (s->nodes[i].kind == VAR && s->nodes[i].var == var) return true;
  return false;
}

static eg_claim_verdict naive_verdict(const side sides[2], eg_rng *rng,
                                      bool *inout_dull) {
  eg_claim_verdict verdict = EG_CLAIM_EMPTY;
  for (int code = 0; code < 64; code++) { // three variables of four layouts each
    const lying how[VARS] = {(lying)(WHOLE + code % 4), (lying)(WHOLE + code / 4 % 4),
                             (lying)(WHOLE + code / 16)};
    lying out[2], core[2][NODES];
    bool is_new = true;
    for (int v = 0; v < VARS; v++)
      is_new = is_new && (how[v] == WHOLE || uses(&sides[0], v));
    if (!is_new) continue;
    run_both(sides, how, rng, out, core, inout_dull);
    if (out[0] == NOWHERE || out[1] == NOWHERE) continue;
    if (out[0] != out[1]) return EG_CLAIM_BROKEN;
    verdict = EG_CLAIM_HOLDS;
  }
  return verdict;
}

// ---- the claim ------------------------------------------------------------------------

static void write_side(eg_text *text, const side *s, int at) {
  static const char *const names[EG_PARALLEL_KINDS] = {"partition", "combine",
                                                       "replicate", "reduce"};
  const node *n = &s->nodes[at];
  for (int m = n->move_count; m-- > 0;) {
    const eg_parallel_op *op = &n->move[m];
    assert_ok(eg_text_printf(text, "(%s ", names[op->kind]));
    if (eg_parallel_has_dim(op->kind))
      assert_ok(eg_text_printf(text, ":dim %u ", op->dim));
    if (op->keeps_one) assert_ok(eg_text_append(text, ":others zero "));
  }
  assert_ok(eg_text_append(text, spelt[n->kind]));
  if (n->kind == VAR) assert_ok(eg_text_printf(text, "?x%d", n->var));
  for (int i = 0; i < operands_of(n->kind); i++) {
    assert_ok(eg_text_append(text, i == 0 ? "" : " "));
    write_side(text, s, n->child[i]);
  }
  for (int m = n->kind == VAR ? 0 : -1; m < n->move_count; m++)
    assert_ok(eg_text_append(text, ")"));
}

static void read_rule(eg_arena *arena, const eg_text *text, eg_rule *out) {
  const eg_rule_source_text from = {
      .arena = arena, .scratch = eg_allocator_heap(), .file = "t"};
  eg_sexpr forms;
  assert_ok(eg_sexpr_parse(arena, "t", eg_text_of(text), text->chars.len, &forms));
  assert_ok(eg_rule_read(&from, &forms.children[0], false, out));
}

/// Every variable is a square matrix; terms are typed one after the other.
static void type_terms(const eg_rule *rule, eg_arena *arena, eg_claim_term *out) {
  static const int64_t dims[] = {SIDE, SIDE};
  for (uint32_t t = 0; t < rule->term_count; t++) {
    const eg_rule_term *term = &rule->terms[t];
    eg_type *type, inputs[2];
    assert_ok(eg_arena_alloc(arena, 1, sizeof *type, &type));
    *type = eg_type_of(EGRAPH_FLOAT64, 2, dims);
    out[t] = (eg_claim_term){.types = type, .type_count = 1};
    if (term->is_var) continue;
    eg_attrs *attrs;
    eg_attr *slots;
    uint16_t count = eg_op_info_of(term->op)->attr_count;
    assert_ok(eg_arena_alloc(arena, 1, sizeof *attrs, &attrs));
    assert_ok(eg_arena_alloc(arena, count, sizeof *slots, &slots));
    for (uint16_t i = 0; i < count; i++)
      slots[i] = term->slots[i].literal;
    *attrs = (eg_attrs){.op = (uint16_t)term->op, .count = count, .slots = slots};
    for (uint32_t i = 0; i < term->child_count; i++)
      inputs[i] = out[term->children[i]].types[0];
    assert_ok(eg_op_infer(attrs, inputs, term->child_count, type));
    out[t].attrs = attrs;
  }
}

static void set_case(const eg_rule *rule, const side sides[2], eg_arena *arena,
                     eg_claim_case *out) {
  eg_claim_term *terms;
  eg_parallel_op *moves;
  assert_ok(eg_arena_alloc(arena, rule->term_count, sizeof *terms, &terms));
  assert_ok(eg_arena_alloc(arena, rule->move_count, sizeof *moves, &moves));
  type_terms(rule, arena, terms);
  uint32_t count = 0;
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < sides[k].count; i++)
      for (int m = 0; m < sides[k].nodes[i].move_count; m++)
        moves[count++] = sides[k].nodes[i].move[m];
  assert_int_equal(count, rule->move_count);
  *out =
      (eg_claim_case){.rule = rule,
                      .mesh = {.axis_count = 1, .axes = {{.name = "a", .size = RANKS}}},
                      .terms = terms,
                      .moves = moves};
}

static lying lying_of(const eg_layout *layout) {
  static const lying by_digit[] = {WHOLE, SUM, NOWHERE, ROWS, COLUMNS};
  return by_digit[layout->sharding[0]];
}

/// The layouts of the claim are those of the ranks. Terms are in the order of nodes.
static void check_layouts(const side sides[2], const eg_layout *layouts, eg_rng *rng) {
  lying how[VARS] = {WHOLE, WHOLE, WHOLE}, out[2], core[2][NODES];
  bool dull = false;
  for (int i = 0; i < sides[0].count; i++)
    if (sides[0].nodes[i].kind == VAR) how[sides[0].nodes[i].var] = lying_of(&layouts[i]);
  for (int v = 0; v < VARS; v++)
    if (how[v] == NOWHERE)
      return; // partial maxima, of a variable that is reduced at once
  run_both(sides, how, rng, out, core, &dull);
  if (dull) return;
  assert_int_not_equal(out[0], NOWHERE);
  assert_int_equal(out[0], out[1]);
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < sides[k].count; i++)
      assert_int_equal(core[k][i], lying_of(&layouts[k * sides[0].count + i]));
}

static void write_rule(eg_text *text, const side sides[2]) {
  assert_ok(eg_text_append(text, "(rule r (source \"s\") (lhs "));
  write_side(text, &sides[0], sides[0].count - 1);
  assert_ok(eg_text_append(text, ") (rhs "));
  write_side(text, &sides[1], sides[1].count - 1);
  assert_ok(eg_text_append(text, "))"));
}

static void check_claim(const side sides[2], const eg_text *text, eg_claim_verdict wanted,
                        eg_rng *rng) {
  eg_arena arena;
  eg_text why;
  eg_rule rule;
  eg_claim_case of;
  eg_layout *layouts;
  eg_claim_verdict verdict;
  eg_arena_init(&arena, eg_allocator_heap());
  eg_text_init(&why, eg_allocator_heap());
  read_rule(&arena, text, &rule);
  set_case(&rule, sides, &arena, &of);
  assert_ok(eg_arena_alloc(&arena, rule.term_count, sizeof *layouts, &layouts));
  eg_claim_way way = {.layouts = layouts};
  assert_ok(eg_claim_run(&of, &arena, &way, &verdict));
  if (verdict != wanted)
    fail_msg("%s is %d, wanted %d", eg_text_of(text), (int)verdict, (int)wanted);
  if (verdict == EG_CLAIM_HOLDS) {
    check_layouts(sides, layouts, rng);
  } else {
    uint32_t move;
    bool is_size;
    assert_ok(eg_claim_explain(&of, &arena, &why, &move, &is_size));
    assert_non_null(strstr(eg_text_of(&why), " "));
  }
  eg_text_deinit(&why);
  eg_arena_deinit(&arena);
}

static void a_claim_holds_if_ranks_that_run_it_agree(void **state) {
  (void)state;
  eg_rng rng = {.state = test_seed(20261122)};
  size_t rounds = test_rounds(3000), seen[EG_CLAIM_LARGE] = {0};
  for (size_t round = 0; round < rounds; round++) {
    side sides[2];
    bool is_dull = false;
    eg_text text;
    draw_sides(sides, &rng);
    eg_claim_verdict wanted = naive_verdict(sides, &rng, &is_dull);
    if (is_dull) continue;
    eg_text_init(&text, eg_allocator_heap());
    write_rule(&text, sides);
    check_claim(sides, &text, wanted, &rng);
    eg_text_deinit(&text);
    seen[wanted]++;
  }
  print_message("%zu hold, %zu have no layouts, %zu are broken\n", seen[EG_CLAIM_HOLDS],
                seen[EG_CLAIM_EMPTY], seen[EG_CLAIM_BROKEN]);
  for (int v = 0; v < EG_CLAIM_LARGE; v++)
    assert_true(seen[v] * 25 >= rounds);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_claim_holds_if_ranks_that_run_it_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
