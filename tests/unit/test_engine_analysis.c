// The analysis of the engine, on integer arithmetic: the data of a class are its constant
// value, if known. `modify` puts the constant into the class as a node (constant
// folding).
// SPDX-License-Identifier: Apache-2.0
#include "tests/testing.h"

#include "egraph/engine_internal.h"

enum { OP_NUMBER, OP_ADD, OP_SYMBOL, OP_REFUSED };

typedef struct value {
  bool is_known;
  int64_t number;
} value;

typedef struct folding {
  test_heap heap;
  eg_engine *engine;
  unsigned modified;
  bool folds;
} folding;

static egraph_status make(void *self, const eg_engine *engine, const eg_term *term,
                          void *out_data) {
  value *out = out_data;
  (void)self;
  if (term->op == OP_REFUSED) return EG_FAIL(EGRAPH_E_TYPE, "this operator is refused");
  out->is_known = false;
  out->number = 0;
  if (term->op == OP_NUMBER) {
    out->is_known = true;
    out->number = term->payload;
  } else if (term->op == OP_ADD) {
    const value *a = eg_engine_data(engine, term->children[0]);
    const value *b = eg_engine_data(engine, term->children[1]);
    out->is_known = a->is_known && b->is_known;
    out->number = out->is_known ? a->number + b->number : 0;
  }
  return EGRAPH_OK;
}

static egraph_status join(void *self, void *into, const void *from, bool *out_changed) {
  value *a = into;
  const value *b = from;
  (void)self;
  *out_changed = b->is_known && !a->is_known;
  if (a->is_known && b->is_known && a->number != b->number)
    return EG_FAIL(EGRAPH_E_TYPE, "%d is not %d", (int)a->number, (int)b->number);
  if (*out_changed) *a = *b;
  return EGRAPH_OK;
}

static egraph_status modify(void *self, eg_engine *engine, eg_class class) {
  folding *f = self;
  const value *v = eg_engine_data(engine, class);
  f->modified++;
  if (!f->folds || !v->is_known) return EGRAPH_OK;
  eg_term number = {.op = OP_NUMBER, .payload = (uint32_t)v->number};
  eg_class constant;
  bool changed;
  EG_TRY(eg_engine_add(engine, &number, 1, &constant));
  return eg_engine_unite(engine, class, constant, 1, &changed);
}

static egraph_status create(folding *f, egraph_allocator alloc, bool folds) {
  eg_analysis analysis = {.self = f,
                          .data_size = sizeof(value),
                          .make = make,
                          .join = join,
                          .modify = modify};
  f->folds = folds;
  eg_engine_options options = {.analysis = &analysis, .record = true};
  return eg_engine_create(&alloc, &options, &f->engine);
}

static int set_up(void **state) {
  static folding f;
  f = (folding){0};
  assert_ok(create(&f, test_heap_allocator(&f.heap), true));
  *state = &f;
  return 0;
}

static int tear_down(void **state) {
  folding *f = *state;
  eg_engine_destroy(f->engine);
  return f->heap.live_bytes == 0 ? 0 : -1;
}

static eg_class add(eg_engine *e, uint32_t op, uint32_t payload, uint32_t arity,
                    const eg_class *children) {
  eg_term term = {.op = op, .payload = payload, .arity = arity, .children = children};
  eg_class class = EG_CLASS_NONE;
  assert_ok(eg_engine_add(e, &term, 0, &class));
  return class;
}
static eg_class number(eg_engine *e, uint32_t n) { return add(e, OP_NUMBER, n, 0, NULL); }
static eg_class symbol(eg_engine *e, uint32_t n) { return add(e, OP_SYMBOL, n, 0, NULL); }
static eg_class sum(eg_engine *e, eg_class a, eg_class b) {
  return add(e, OP_ADD, 0, 2, (eg_class[]){a, b});
}
static const value *value_of(const eg_engine *e, eg_class class) {
  return eg_engine_data(e, class);
}

static void an_incomplete_analysis_is_refused(void **state) {
  (void)state;
  eg_analysis analysis = {.data_size = 0, .make = make, .join = join};
  eg_engine_options options = {.analysis = &analysis};
  eg_engine *e = NULL;
  assert_fails(eg_engine_create(NULL, &options, &e), EGRAPH_E_ARGUMENT, "analysis");
  analysis = (eg_analysis){.data_size = 8, .make = make};
  assert_fails(eg_engine_create(NULL, &options, &e), EGRAPH_E_ARGUMENT, "analysis");
  assert_null(e);
}

static void new_terms_get_data_at_once_and_modify_at_rebuild(void **state) {
  folding *f = *state;
  eg_class five = sum(f->engine, number(f->engine, 2), number(f->engine, 3));
  assert_true(value_of(f->engine, five)->is_known);
  assert_int_equal(value_of(f->engine, five)->number, 5);
  assert_int_equal(f->modified, 0);
  assert_false(eg_engine_is_clean(f->engine));
  assert_ok(eg_engine_rebuild(f->engine));
  assert_true(f->modified >= 3);
  assert_true(eg_class_same(eg_engine_find(f->engine, five),
                            eg_engine_find(f->engine, number(f->engine, 5))));
  assert_ok(eg_engine_check(f->engine));
}

static void news_travel_up_to_all_parents(void **state) {
  folding *f = *state;
  eg_engine *e = f->engine;
  eg_class x = symbol(e, 0), one = number(e, 1), top = x;
  for (int i = 0; i < 50; i++)
    top = sum(e, top, one);
  assert_ok(eg_engine_rebuild(e));
  assert_false(value_of(e, top)->is_known);
  bool changed;
  assert_ok(eg_engine_unite(e, number(e, 7), x, 0, &changed));
  assert_ok(eg_engine_rebuild(e));
  assert_true(value_of(e, top)->is_known);
  assert_int_equal(value_of(e, top)->number, 57);
  assert_true(eg_class_same(eg_engine_find(e, top), eg_engine_find(e, number(e, 57))));
  assert_ok(eg_engine_check(e));
}

static void a_refused_term_is_not_added(void **state) {
  folding *f = *state;
  eg_class x = symbol(f->engine, 0), out = {5};
  eg_term term = {.op = OP_REFUSED, .arity = 1, .children = &x};
  assert_fails(eg_engine_add(f->engine, &term, 0, &out), EGRAPH_E_TYPE, "refused");
  assert_int_equal(out.id, 5);
  assert_int_equal(eg_engine_node_count(f->engine), 1);
  assert_int_equal(eg_engine_parents(f->engine, x).node.id, EG_NODE_NONE.id);
  assert_ok(eg_engine_rebuild(f->engine));
  assert_ok(eg_engine_check(f->engine));
}

static void contradicting_classes_are_not_united(void **state) {
  folding *f = *state;
  eg_engine *e = f->engine;
  eg_class two = number(e, 2), three = number(e, 3);
  bool changed;
  assert_fails(eg_engine_unite(e, two, three, 0, &changed), EGRAPH_E_TYPE, "2 is not 3");
  assert_int_equal(eg_engine_class_count(e), 2);
  assert_int_equal(e->unions.len, 0);
  assert_ok(eg_engine_rebuild(e));
  assert_ok(eg_engine_check(e));
}

static void a_contradiction_found_by_congruence_fails_the_rebuild(void **state) {
  folding *f = *state;
  eg_engine *e = f->engine;
  f->folds = false;
  eg_class x = symbol(e, 0), y = symbol(e, 1), one = number(e, 1);
  eg_class sx = sum(e, x, one), sy = sum(e, y, one);
  bool changed;
  assert_ok(eg_engine_unite(e, sx, number(e, 4), 0, &changed));
  assert_ok(eg_engine_unite(e, sy, number(e, 9), 0, &changed));
  assert_ok(eg_engine_rebuild(e));
  assert_ok(eg_engine_unite(e, x, y, 0, &changed));
  assert_fails(eg_engine_rebuild(e), EGRAPH_E_TYPE, "is not");
  assert_false(eg_engine_is_clean(e));
  assert_ok(eg_engine_check(e));
  assert_fails(eg_engine_rebuild(e), EGRAPH_E_TYPE, "is not");
  assert_ok(eg_engine_check(e));
}

static egraph_status fold_something(eg_engine *e) {
  eg_class x[6], top;
  bool changed;
  for (uint32_t i = 0; i < 6; i++) {
    eg_term leaf = {.op = i < 3 ? OP_NUMBER : OP_SYMBOL, .payload = i};
    EG_TRY(eg_engine_add(e, &leaf, 0, &x[i]));
  }
  top = x[5];
  for (uint32_t i = 0; i < 12; i++) {
    eg_term term = {
        .op = OP_ADD, .arity = 2, .children = (eg_class[]){top, x[i * 5 % 6]}};
    EG_TRY(eg_engine_add(e, &term, 0, &top));
  }
  EG_TRY(eg_engine_rebuild(e));
  for (uint32_t i = 3; i < 6; i++) {
    EG_TRY(eg_engine_unite(e, x[i], x[i - 3], 0, &changed));
    EG_TRY(eg_engine_rebuild(e));
  }
  return EGRAPH_OK;
}

static egraph_status live_and_die(egraph_allocator alloc, void *user) {
  folding f = {0};
  (void)user;
  EG_TRY(create(&f, alloc, true));
  egraph_status status = fold_something(f.engine);
  if (status == EGRAPH_OK) status = eg_engine_check(f.engine);
  eg_engine_destroy(f.engine);
  return status;
}

static void every_failing_allocation_is_survived(void **state) {
  (void)state;
  test_every_allocation_failing(live_and_die, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_incomplete_analysis_is_refused),
      TEST(new_terms_get_data_at_once_and_modify_at_rebuild),
      TEST(news_travel_up_to_all_parents),
      TEST(a_refused_term_is_not_added),
      TEST(contradicting_classes_are_not_united),
      TEST(a_contradiction_found_by_congruence_fails_the_rebuild),
      cmocka_unit_test(every_failing_allocation_is_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
