// Relations against tables that nested loops fill: joins, variables taken out, the limits
// on room and rows with what they lose; and networks, whose assignments cost the same
// before and after diffusion. Costs of relations are quarters, so that sums are exact.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "extract/layout/layout_relation.h"
#include "tests/testing.h"

enum { VARS = 5, ENTRIES = 24 * 24 * 24, NETWORK_VARS = 6, NETWORK_ENTRIES = 729 };

static uint32_t below(eg_rng *rng, uint32_t bound) {
  return (uint32_t)eg_rng_below(rng, bound);
}

static double draw_cost(eg_rng *rng) { return below(rng, 40) / 4.0; }

// ---- tables -------------------------------------------------------------------------

/// A relation over some of the variables; INFINITY: no row.
typedef struct table {
  uint32_t vars[VARS], count, labels;
  double cost[ENTRIES];
} table;

typedef struct space {
  uint32_t vars, labels; // each variable has as many
  eg_label_costs costs;
} space;

static size_t entries_of(const table *t) {
  size_t entries = 1;
  for (uint32_t i = 0; i < t->count; i++)
    entries *= t->labels;
  return entries;
}

static size_t entry_of(const table *t, const uint16_t *label_of) {
  size_t entry = 0;
  for (uint32_t i = 0; i < t->count; i++)
    entry = entry * t->labels + label_of[t->vars[i]];
  return entry;
}

static void set_labels(const table *t, size_t entry, uint16_t *label_of) {
  for (uint32_t i = t->count; i-- > 0; entry /= t->labels)
    label_of[t->vars[i]] = (uint16_t)(entry % t->labels);
}

static bool has_var(const table *t, uint32_t var) {
  for (uint32_t i = 0; i < t->count; i++)
    if (t->vars[i] == var) return true;
  return false;
}

static void clear_table(const space *s, table *t) {
  t->labels = s->labels;
  t->count = 0;
  for (size_t i = 0; i < ENTRIES; i++)
    t->cost[i] = INFINITY;
}

static void draw_space(eg_rng *rng, space *s, bool is_large) {
  s->vars = is_large ? 3 : 1 + below(rng, VARS);
  s->labels = is_large ? 24 : 1 + below(rng, 4);
  eg_u32s_init(&s->costs.begin, eg_allocator_heap());
  eg_doubles_init(&s->costs.cost, eg_allocator_heap());
  for (uint32_t v = 0; v <= s->vars; v++)
    assert_ok(eg_u32s_push(&s->costs.begin, v * s->labels));
  for (uint32_t i = 0; i < s->vars * s->labels; i++)
    assert_ok(eg_doubles_push(&s->costs.cost, below(rng, 3) ? 0 : draw_cost(rng)));
}

static void drop_space(space *s) {
  eg_u32s_deinit(&s->costs.begin);
  eg_doubles_deinit(&s->costs.cost);
}

static double labels_cost(const space *s, const table *t, const uint16_t *label_of) {
  double sum = 0;
  for (uint32_t i = 0; i < t->count; i++)
    sum += eg_label_cost(&s->costs, t->vars[i], label_of[t->vars[i]]);
  return sum;
}

// Rows in any order, some twice with different costs; the table has the cheaper one.
static void draw_relation(eg_rng *rng, const space *s, eg_relation *relation, table *t) {
  eg_relation_maker maker;
  eg_relation_maker_init(&maker, eg_allocator_heap());
  clear_table(s, t);
  for (uint32_t v = 0; v < s->vars; v++)
    if (below(rng, 2)) t->vars[t->count++] = v;
  assert_ok(eg_relation_begin(&maker, relation, t->vars, t->count, false));
  size_t entries = entries_of(t);
  uint32_t rows = below(rng, 8) == 0 ? 0 : (uint32_t)(2 * entries);
  for (uint32_t i = 0; i < rows; i++) {
    uint16_t label_of[VARS] = {0}, labels[VARS];
    size_t entry = below(rng, (uint32_t)entries);
    double cost = draw_cost(rng);
    set_labels(t, entry, label_of);
    for (uint32_t k = 0; k < t->count; k++)
      labels[k] = label_of[t->vars[k]];
    t->cost[entry] = fmin(t->cost[entry], cost);
    assert_ok(eg_relation_add(&maker, labels, 0, cost));
  }
  assert_ok(eg_relation_finish(&maker));
  assert_true(isinf(maker.lost));
  eg_relation_maker_deinit(&maker);
}

// What a join should have, without base; INFINITY: no row.
static void join_tables(const space *s, const table *a, const table *b, uint32_t out,
                        table *to) {
  table *all = test_malloc(sizeof *all); // the variables of both
  clear_table(s, to);
  clear_table(s, all);
  for (uint32_t v = 0; v < s->vars; v++) {
    if (!has_var(a, v) && !has_var(b, v)) continue;
    all->vars[all->count++] = v;
    if (v != out) to->vars[to->count++] = v;
  }
  for (size_t entry = 0; entry < entries_of(all); entry++) {
    uint16_t label_of[VARS] = {0};
    set_labels(all, entry, label_of);
    double cost = a->cost[entry_of(a, label_of)] + b->cost[entry_of(b, label_of)] +
                  labels_cost(s, all, label_of);
    double *least = &to->cost[entry_of(to, label_of)];
    *least = fmin(*least, cost);
  }
  test_free(all);
}

// ---- joins --------------------------------------------------------------------------

typedef struct join_case {
  space space;
  table a, b, joined;
  eg_relation one, other, result;
  eg_relation_maker maker;
  uint32_t out;
} join_case;

static void draw_join(eg_rng *rng, join_case *c, bool is_large) {
  egraph_allocator alloc = eg_allocator_heap();
  draw_space(rng, &c->space, is_large);
  eg_relation_init(&c->one, alloc);
  eg_relation_init(&c->other, alloc);
  eg_relation_init(&c->result, alloc);
  eg_relation_maker_init(&c->maker, alloc);
  draw_relation(rng, &c->space, &c->one, &c->a);
  draw_relation(rng, &c->space, &c->other, &c->b);
  c->out = EG_RELATION_NONE;
  uint32_t var = below(rng, c->space.vars);
  if (below(rng, 3) != 0 && (has_var(&c->a, var) || has_var(&c->b, var))) c->out = var;
  c->maker.base = draw_cost(rng);
  if (below(rng, 3) != 0) c->maker.room = c->maker.base + draw_cost(rng) * 1.5;
  if (below(rng, 3) != 0) c->maker.rows = 1 + below(rng, is_large ? 700 : 12);
  c->maker.keeps_all = below(rng, 3) == 0;
}

static void drop_join(join_case *c) {
  drop_space(&c->space);
  eg_relation_deinit(&c->one);
  eg_relation_deinit(&c->other);
  eg_relation_deinit(&c->result);
  eg_relation_maker_deinit(&c->maker);
}

static void run_join(join_case *c) {
  const eg_label_costs *costs = &c->space.costs;
  eg_relation_raise(&c->maker, costs, &c->one);
  eg_relation_raise(&c->maker, costs, &c->other);
  assert_ok(eg_relation_join(&c->maker, costs, &c->one, &c->other, c->out, &c->result));
}

// The rows of the result, each with its cost, as a table.
static void read_result(const join_case *c, table *found) {
  const eg_relation *r = &c->result;
  clear_table(&c->space, found);
  memcpy(found->vars, c->joined.vars, sizeof found->vars);
  found->count = c->joined.count;
  assert_int_equal(r->vars.len, found->count);
  assert_int_equal(r->labels.len, found->count * eg_relation_rows(r));
  assert_int_equal(r->choice.len, c->out == EG_RELATION_NONE ? 0 : eg_relation_rows(r));
  for (uint32_t i = 0; i < found->count; i++)
    assert_int_equal(r->vars.data[i], found->vars[i]);
  for (size_t row = 0; row < eg_relation_rows(r); row++) {
    uint16_t label_of[VARS] = {0};
    for (uint32_t i = 0; i < found->count; i++)
      label_of[found->vars[i]] = r->labels.data[row * found->count + i];
    double *cost = &found->cost[entry_of(found, label_of)];
    assert_true(isinf(*cost)); // no labels twice
    *cost = r->cost.data[row];
  }
}

// The choice of a row with these labels costs what the row does.
static void check_choice(const join_case *c, uint16_t *label_of, double cost) {
  uint16_t choice;
  assert_true(eg_relation_choice(&c->result, label_of, &choice));
  assert_true(choice < c->space.labels);
  label_of[c->out] = choice;
  double sum = c->a.cost[entry_of(&c->a, label_of)] +
               c->b.cost[entry_of(&c->b, label_of)] +
               eg_label_cost(&c->space.costs, c->out, choice);
  assert_true(sum + labels_cost(&c->space, &c->joined, label_of) == cost);
}

// It would have left out more than what has no room, or taken long.
static void check_failed(const join_case *c) {
  const eg_relation_maker *m = &c->maker;
  assert_true(m->keeps_all && !m->gave_up);
  assert_true(m->lost > m->room || isinf(m->lost));
}

static void check_join(const join_case *c, size_t round) {
  table *found = test_malloc(sizeof *found);
  const eg_relation_maker *m = &c->maker;
  size_t fitting = 0;
  read_result(c, found);
  for (size_t entry = 0; entry < entries_of(&c->joined); entry++) {
    uint16_t label_of[VARS] = {0};
    double cost = c->joined.cost[entry];
    set_labels(&c->joined, entry, label_of);
    fitting += cost < INFINITY && cost + m->base <= m->room;
    if (found->cost[entry] < INFINITY) {
      if (found->cost[entry] != cost)
        fail_msg("round %zu: a row costs %g, not %g", round, found->cost[entry], cost);
      if (c->out != EG_RELATION_NONE) check_choice(c, label_of, cost);
    } else if (cost + m->base < m->lost) {
      fail_msg("round %zu: %g went, but only %g is lost", round, cost + m->base, m->lost);
    }
  }
  assert_int_equal(eg_relation_rows(&c->result), fitting < m->rows ? fitting : m->rows);
  assert_false(m->keeps_all && fitting > m->rows);
  bool was_cut = fitting > m->rows; // else what went has no room
  if (!was_cut) assert_true(m->lost > m->room || isinf(m->lost));
  for (size_t row = 0; was_cut && row < eg_relation_rows(&c->result); row++)
    assert_true(c->result.cost.data[row] + m->base <= m->lost);
  test_free(found);
}

static void try_joins(uint64_t seed, size_t rounds, bool is_large) {
  join_case *c = test_malloc(sizeof *c);
  size_t failed = 0;
  for (size_t round = 0; round < rounds; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    draw_join(&rng, c, is_large);
    join_tables(&c->space, &c->a, &c->b, c->out, &c->joined);
    run_join(c);
    failed += c->maker.failed;
    if (c->maker.failed)
      check_failed(c);
    else
      check_join(c, round);
    drop_join(c);
  }
  if (!is_large) assert_true(failed > rounds / 100 && failed < rounds / 2);
  test_free(c);
}

static void joins_are_what_nested_loops_find(void **state) {
  (void)state;
  try_joins(test_seed(20260301), test_rounds(3000), false);
}

// Enough rows to be sorted digit by digit.
static void large_joins_are_what_nested_loops_find(void **state) {
  (void)state;
  try_joins(test_seed(20260302), test_rounds(60), true);
}

// ---- edges --------------------------------------------------------------------------

static void add_row(eg_relation_maker *m, const uint16_t *labels, double cost) {
  assert_ok(eg_relation_add(m, labels, 0, cost));
}

static void relations_of_no_variables_add_up(void **state) {
  (void)state;
  eg_relation a, b, sum;
  eg_relation_maker m;
  eg_label_costs costs = {.begin.len = 0};
  egraph_allocator alloc = eg_allocator_heap();
  eg_relation_init(&a, alloc);
  eg_relation_init(&b, alloc);
  eg_relation_init(&sum, alloc);
  eg_relation_maker_init(&m, alloc);
  assert_ok(eg_relation_begin(&m, &a, NULL, 0, false));
  add_row(&m, NULL, 3);
  add_row(&m, NULL, 2); // the same labels: none
  assert_ok(eg_relation_finish(&m));
  assert_int_equal(eg_relation_rows(&a), 1);
  assert_ok(eg_relation_begin(&m, &b, NULL, 0, false));
  assert_ok(eg_relation_join(&m, &costs, &a, &b, EG_RELATION_NONE, &sum));
  assert_int_equal(eg_relation_rows(&sum), 0); // b has no row
  assert_ok(eg_relation_begin(&m, &b, NULL, 0, false));
  add_row(&m, NULL, 5);
  assert_ok(eg_relation_join(&m, &costs, &a, &b, EG_RELATION_NONE, &sum));
  assert_int_equal(eg_relation_rows(&sum), 1);
  assert_true(sum.cost.data[0] == 7);
  assert_true(isinf(m.lost));
  eg_relation_deinit(&a);
  eg_relation_deinit(&b);
  eg_relation_deinit(&sum);
  eg_relation_maker_deinit(&m);
}

// One row of label 0 over variables first .. first + count.
static void make_wide(eg_relation_maker *m, uint32_t first, uint32_t count,
                      eg_relation *out) {
  uint32_t vars[EG_RELATION_VARS];
  const uint16_t labels[EG_RELATION_VARS] = {0};
  for (uint32_t i = 0; i < count; i++)
    vars[i] = first + i;
  assert_ok(eg_relation_begin(m, out, vars, count, false));
  add_row(m, labels, 1);
  assert_ok(eg_relation_finish(m));
}

static void joins_that_are_too_wide_lose_all(void **state) {
  (void)state;
  eg_relation a, b, to;
  eg_relation_maker m;
  eg_label_costs costs;
  egraph_allocator alloc = eg_allocator_heap();
  eg_relation_init(&a, alloc);
  eg_relation_init(&b, alloc);
  eg_relation_init(&to, alloc);
  eg_relation_maker_init(&m, alloc);
  eg_u32s_init(&costs.begin, alloc);
  eg_doubles_init(&costs.cost, alloc);
  for (uint32_t v = 0; v <= EG_RELATION_VARS + 1; v++)
    assert_ok(eg_u32s_push(&costs.begin, v));
  assert_ok(eg_doubles_resize(&costs.cost, EG_RELATION_VARS + 1));
  make_wide(&m, 0, EG_RELATION_VARS, &a);
  make_wide(&m, 1, EG_RELATION_VARS, &b);
  assert_ok(eg_relation_join(&m, &costs, &a, &b, 7, &to)); // one of 65 goes
  assert_int_equal(to.vars.len, EG_RELATION_VARS);
  assert_int_equal(eg_relation_rows(&to), 1);
  assert_true(to.cost.data[0] == 2 && isinf(m.lost) && !m.gave_up);
  assert_ok(eg_relation_join(&m, &costs, &a, &b, EG_RELATION_NONE, &to));
  assert_int_equal(eg_relation_rows(&to), 0);
  assert_true(m.gave_up && m.lost == 0);
  eg_relation_deinit(&a);
  eg_relation_deinit(&b);
  eg_relation_deinit(&to);
  eg_relation_maker_deinit(&m);
  eg_u32s_deinit(&costs.begin);
  eg_doubles_deinit(&costs.cost);
}

static bool stop(void *user) {
  ++*(int *)user;
  return true;
}

static void joins_that_are_stopped_lose_all(void **state) {
  (void)state;
  enum { LABELS = 10000 };
  eg_relation a, b, to;
  eg_relation_maker m;
  eg_label_costs costs;
  int asked = 0;
  egraph_allocator alloc = eg_allocator_heap();
  eg_relation_init(&a, alloc);
  eg_relation_init(&b, alloc);
  eg_relation_init(&to, alloc);
  eg_relation_maker_init(&m, alloc);
  eg_u32s_init(&costs.begin, alloc);
  eg_doubles_init(&costs.cost, alloc);
  assert_ok(eg_u32s_append(&costs.begin, (uint32_t[]){0, LABELS}, 2));
  assert_ok(eg_doubles_resize(&costs.cost, LABELS));
  assert_ok(eg_relation_begin(&m, &a, (uint32_t[]){0}, 1, false));
  for (uint16_t l = 0; l < LABELS; l++)
    add_row(&m, &l, 1);
  assert_ok(eg_relation_begin(&m, &b, NULL, 0, false));
  add_row(&m, NULL, 0);
  m.stop = stop;
  m.user = &asked;
  assert_ok(eg_relation_join(&m, &costs, &a, &b, 0, &to));
  assert_int_equal(asked, 1);
  assert_true(m.gave_up && m.lost == 0);
  eg_relation_deinit(&a);
  eg_relation_deinit(&b);
  eg_relation_deinit(&to);
  eg_relation_maker_deinit(&m);
  eg_u32s_deinit(&costs.begin);
  eg_doubles_deinit(&costs.cost);
}

// ---- networks -----------------------------------------------------------------------

/// Costs of all assignments, by entry; INFINITY: some relation has no row for it.
static void sum_up(const eg_cost_network *n, uint32_t labels, double *out) {
  uint32_t vars = eg_cost_network_vars(n);
  size_t entries = 1;
  for (uint32_t v = 0; v < vars; v++)
    entries *= labels;
  for (size_t entry = 0; entry < entries; entry++) {
    uint32_t label_of[NETWORK_VARS];
    size_t rest = entry;
    out[entry] = n->maker.base;
    for (uint32_t v = 0; v < vars; v++, rest /= labels) {
      label_of[v] = (uint32_t)(rest % labels);
      out[entry] += eg_label_cost(&n->costs, v, label_of[v]);
    }
    for (size_t r = 0; r < n->relations.len; r++) {
      const eg_relation *relation = &n->relations.data[r];
      double own = INFINITY;
      for (size_t row = 0; row < eg_relation_rows(relation); row++) {
        bool fits = true;
        for (size_t i = 0; i < relation->vars.len; i++)
          fits = fits && relation->labels.data[row * relation->vars.len + i] ==
                             label_of[relation->vars.data[i]];
        if (fits) own = fmin(own, relation->cost.data[row]);
      }
      out[entry] += own;
    }
  }
}

static void draw_rows(eg_rng *rng, eg_cost_network *n, uint32_t labels) {
  uint32_t vars[3], count = 0, all = eg_cost_network_vars(n);
  for (uint32_t v = 0; v < all && count < 3; v++)
    if (below(rng, 3) == 0) vars[count++] = v;
  assert_ok(eg_cost_network_begin(n, vars, count));
  uint32_t entries = 1;
  for (uint32_t i = 0; i < count; i++)
    entries *= labels;
  for (uint32_t entry = 0; entry < entries; entry++) {
    uint16_t row[3];
    uint32_t rest = entry;
    double cost = draw_cost(rng);
    for (uint32_t i = 0; i < count; i++, rest /= labels) {
      row[i] = (uint16_t)(rest % labels);
      cost += eg_label_cost(&n->costs, vars[i], row[i]);
    }
    if (cost < INFINITY && below(rng, 6) != 0)
      assert_ok(eg_relation_add(&n->maker, row, 0, cost));
  }
  assert_ok(eg_cost_network_finish(n));
}

static uint32_t draw_network(eg_rng *rng, eg_cost_network *n, egraph_allocator alloc) {
  eg_cost_network_init(n, alloc);
  uint32_t vars = 1 + below(rng, NETWORK_VARS), labels = 1 + below(rng, 3), var;
  for (uint32_t v = 0; v < vars; v++) {
    assert_ok(eg_cost_network_add_var(n, labels, 0, &var));
    assert_int_equal(var, v);
    for (uint32_t l = 0; l < labels; l++)
      eg_cost_network_costs(n, v)[l] = below(rng, 10) ? draw_cost(rng) : INFINITY;
  }
  for (uint32_t i = 1 + below(rng, 6); i > 0; i--)
    draw_rows(rng, n, labels);
  return labels;
}

static void check_lists(const eg_cost_network *n) {
  for (uint32_t v = 0; v < eg_cost_network_vars(n); v++)
    for (size_t r = 0; r < n->relations.len; r++) {
      const eg_u32s *vars = &n->relations.data[r].vars;
      int wanted = 0, listed = 0;
      for (size_t i = 0; i < vars->len; i++)
        wanted += vars->data[i] == v;
      for (uint32_t i = n->first.data[v]; i != EG_RELATION_NONE; i = n->next.data[i])
        listed += n->entry.data[i] == r;
      assert_int_equal(listed, wanted);
    }
}

static void check_costs(const eg_cost_network *n) {
  for (size_t i = 0; i < n->costs.cost.len; i++)
    assert_true(n->costs.cost.data[i] >= 0);
  for (size_t r = 0; r < n->relations.len; r++)
    for (size_t row = 0; row < eg_relation_rows(&n->relations.data[r]); row++)
      assert_true(n->relations.data[r].cost.data[row] >= 0);
}

// Of every assignment: what it cost it costs still, or it is lost and had no room.
static void check_sums(const eg_cost_network *n, uint32_t labels, const double *before,
                       size_t round) {
  static double after[NETWORK_ENTRIES];
  double least = INFINITY;
  size_t entries = (size_t)pow(labels, eg_cost_network_vars(n));
  sum_up(n, labels, after);
  for (size_t i = 0; i < entries; i++) {
    double slack = 1e-12 * (1 + fabs(before[i]));
    least = fmin(least, before[i]);
    if (isinf(before[i]) && isinf(after[i])) continue;
    if (fabs(before[i] - after[i]) <= slack) continue;
    if (!isinf(after[i]))
      fail_msg("round %zu: %.17g has become %.17g", round, before[i], after[i]);
    if (before[i] < fmax(n->maker.room, n->maker.lost) - slack)
      fail_msg("round %zu: %.17g is gone with room %g, lost %g", round, before[i],
               n->maker.room, n->maker.lost);
  }
  if (least <= n->maker.room) assert_true(n->maker.base <= least + 1e-9);
}

/// Variables of one label are in no relation that counts; returns how many there are.
static size_t check_fixed(const eg_cost_network *n, size_t round) {
  size_t fixed = 0;
  for (uint32_t v = 0; v < eg_cost_network_vars(n); v++) {
    uint16_t label = n->fixed.data[v];
    if (label == EG_NETWORK_FREE) continue;
    fixed++;
    for (uint32_t l = 0; l < n->costs.begin.data[v + 1] - n->costs.begin.data[v]; l++)
      assert_int_equal(isinf(eg_cost_network_costs(n, v)[l]), l != label);
    for (size_t r = 0; r < n->relations.len; r++)
      for (size_t i = 0; i < n->relations.data[r].vars.len; i++)
        if (!n->used.data[r] && n->relations.data[r].vars.data[i] == v)
          fail_msg("round %zu: variable %u has one label and a relation", round, v);
  }
  return fixed;
}

static void diffusion_keeps_what_assignments_cost(void **state) {
  (void)state;
  uint64_t seed = test_seed(20260303);
  size_t rounds = test_rounds(3000), raised = 0, fixed = 0;
  for (size_t round = 0; round < rounds; round++) {
    static double before[NETWORK_ENTRIES];
    eg_rng rng = {eg_hash_combine(seed, round)};
    eg_cost_network n;
    uint32_t labels = draw_network(&rng, &n, eg_allocator_heap());
    check_lists(&n);
    for (size_t r = 0; r < n.relations.len; r++)
      n.used.data[r] = below(&rng, 8) == 0;
    sum_up(&n, labels, before);
    n.maker.room = 5 + draw_cost(&rng) * 4;
    double base = n.maker.base;
    assert_ok(eg_cost_network_diffuse(&n, below(&rng, 5)));
    check_sums(&n, labels, before, round);
    check_costs(&n);
    assert_true(n.maker.base >= base);
    raised += n.maker.base > base;
    fixed += check_fixed(&n, round);
    eg_cost_network_deinit(&n);
  }
  assert_true(raised > rounds / 4 && fixed > rounds / 4);
}

static void settling_keeps_what_assignments_cost(void **state) {
  (void)state;
  uint64_t seed = test_seed(20260304);
  size_t rounds = test_rounds(1000);
  for (size_t round = 0; round < rounds; round++) {
    static double before[NETWORK_ENTRIES];
    eg_rng rng = {eg_hash_combine(seed, round)};
    eg_cost_network n;
    uint32_t labels = draw_network(&rng, &n, eg_allocator_heap());
    sum_up(&n, labels, before);
    for (uint32_t r = 0; r < n.relations.len; r++) {
      double base = n.maker.base;
      assert_ok(eg_cost_network_settle(&n, r));
      assert_true(n.maker.base >= base);
      const eg_relation *settled = &n.relations.data[r];
      if (settled->vars.len != 0 || eg_relation_rows(settled) == 0) continue;
      assert_true(n.used.data[r] && settled->cost.data[0] == 0);
    }
    check_sums(&n, labels, before, round);
    check_costs(&n);
    eg_cost_network_deinit(&n);
  }
}

// A chain: the second relation's cheap label is the first one's dear one.
static void diffusion_finds_the_least_of_a_chain(void **state) {
  (void)state;
  eg_cost_network n;
  uint32_t var;
  eg_cost_network_init(&n, eg_allocator_heap());
  assert_int_equal(eg_cost_network_vars(&n), 0);
  for (int i = 0; i < 3; i++)
    assert_ok(eg_cost_network_add_var(&n, 2, 0, &var));
  const double cost[2][4] = {{0, 1, 9, 9}, {9, 9, 4, 2}}; // [first label][second]
  for (uint32_t r = 0; r < 2; r++) {
    assert_ok(eg_cost_network_begin(&n, (uint32_t[]){r, r + 1}, 2));
    for (uint16_t i = 0; i < 4; i++)
      add_row(&n.maker, (uint16_t[]){i / 2, i % 2}, cost[r][i]);
    assert_ok(eg_cost_network_finish(&n));
  }
  n.maker.room = 100;
  assert_ok(eg_cost_network_diffuse(&n, 4));
  assert_true(fabs(n.maker.base - 3) < 1e-9); // 0, 1, 1 costs 1 + 2
  eg_cost_network_deinit(&n);
}

// ---- memory -------------------------------------------------------------------------

static egraph_status fill_network(eg_cost_network *n) {
  uint32_t var;
  for (int i = 0; i < 3; i++)
    EG_TRY(eg_cost_network_add_var(n, 4, 0, &var));
  for (uint32_t r = 0; r < 2; r++) {
    EG_TRY(eg_cost_network_begin(n, (uint32_t[]){r, r + 1}, 2));
    for (uint16_t i = 0; i < 16; i++)
      EG_TRY(eg_relation_add(&n->maker, (uint16_t[]){i / 4, i % 4}, 0, i * 5 % 16));
    EG_TRY(eg_cost_network_finish(n));
  }
  n->maker.room = 40;
  EG_TRY(eg_cost_network_diffuse(n, 2));
  n->maker.rows = 5;
  return EGRAPH_OK;
}

static egraph_status join_in_network(egraph_allocator alloc, void *user) {
  (void)user;
  eg_cost_network n;
  eg_relation result;
  eg_cost_network_init(&n, alloc);
  eg_relation_init(&result, alloc);
  egraph_status status = fill_network(&n);
  if (status == EGRAPH_OK) {
    for (size_t r = 0; r < 2; r++)
      eg_relation_raise(&n.maker, &n.costs, &n.relations.data[r]);
    status = eg_relation_join(&n.maker, &n.costs, &n.relations.data[0],
                              &n.relations.data[1], 1, &result);
  }
  if (status == EGRAPH_OK)
    status = eg_cost_network_add(&n, &result);
  else
    eg_relation_deinit(&result);
  eg_cost_network_deinit(&n);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_failing(join_in_network, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(joins_are_what_nested_loops_find),
      cmocka_unit_test(large_joins_are_what_nested_loops_find),
      cmocka_unit_test(relations_of_no_variables_add_up),
      cmocka_unit_test(joins_that_are_too_wide_lose_all),
      cmocka_unit_test(joins_that_are_stopped_lose_all),
      cmocka_unit_test(diffusion_keeps_what_assignments_cost),
      cmocka_unit_test(settling_keeps_what_assignments_cost),
      cmocka_unit_test(diffusion_finds_the_least_of_a_chain),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
