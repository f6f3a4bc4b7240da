// Attributes: the rows of the table, text form, and the pool.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "ops/ops.h"
#include "tests/testing.h"

enum { MAX_SLOTS = 12 };

// A value of the slot's kind, different for every `variant`; lists and strings outlive
// the test.
static eg_attr value_of(const eg_attr_info *info, int variant) {
  static const int64_t numbers[] = {-1, 0, 7, INT64_MAX, INT64_MIN, 3};
  static const double reals[] = {-0.0, 1.0 / 3.0, (double)INFINITY, 1e-300, -5, 0.1};
  static const char *const names[] = {"", "a b", "quo\"te\\", "line\nbreak", "#", "x"};
  eg_attr value = {.kind = info->kind};
  uint32_t symbols = 0;
  switch (info->kind) {
  case EG_ATTR_INT: value.i = numbers[variant]; break;
  case EG_ATTR_INTS: value.ints = (eg_ints){numbers, (uint32_t)variant}; break;
  case EG_ATTR_FLOAT: value.f = reals[variant]; break;
  case EG_ATTR_SYMBOL:
    while (info->symbols[symbols] != NULL)
      symbols++;
    value.i = variant % (int)symbols;
    break;
  case EG_ATTR_DTYPE: value.i = variant; break;
  case EG_ATTR_FLOATS: value.floats = (eg_floats){reals, (uint32_t)variant}; break;
  case EG_ATTR_STRING: value.text = names[variant]; break;
  }
  return value;
}

enum { VARIANTS = 6 };

static void every_slot_prints_and_parses_back(void **state) {
  (void)state;
  for (int op = 0; op < EG_OP_COUNT; op++) {
    const eg_op_info *info = eg_op_info_of((eg_op)op);
    for (uint16_t slot = 0; slot < info->attr_count; slot++)
      for (int variant = 0; variant < VARIANTS; variant++) {
        eg_attr value = value_of(&info->attrs[slot], variant), back;
        eg_text text;
        eg_arena arena;
        eg_text_init(&text, eg_allocator_heap());
        eg_arena_init(&arena, eg_allocator_heap());
        assert_ok(eg_attr_print(&text, (eg_op)op, slot, &value));
        assert_ok(eg_attr_parse(&arena, (eg_op)op, slot, eg_text_of(&text), &back));
        if (!eg_attr_same(&value, &back))
          fail_msg("%s :%s %s came back changed", info->name, info->attrs[slot].name,
                   eg_text_of(&text));
        eg_arena_deinit(&arena);
        eg_text_deinit(&text);
      }
  }
}

static void every_row_of_the_table_is_sound(void **state) {
  (void)state;
  uint32_t slots = 0;
  for (int op = 0; op < EG_OP_COUNT; op++) {
    const eg_op_info *info = eg_op_info_of((eg_op)op);
    eg_op found;
    assert_true(eg_op_find(info->name, &found));
    assert_int_equal(found, op); // spellings are distinct
    assert_true(info->max_inputs == -1 || info->max_inputs >= info->min_inputs);
    assert_true(info->attr_count <= MAX_SLOTS);
    slots += info->attr_count;
    for (uint16_t slot = 0; slot < info->attr_count; slot++) {
      uint16_t at;
      assert_true(eg_op_find_attr((eg_op)op, info->attrs[slot].name, &at));
      assert_int_equal(at, slot); // names are distinct
      assert_int_equal(info->attrs[slot].kind == EG_ATTR_SYMBOL,
                       info->attrs[slot].symbols != NULL);
    }
  }
  assert_int_equal(slots, EG_A_COUNT);
  eg_op op;
  uint16_t slot;
  assert_false(eg_op_find("matmull", &op));
  assert_false(eg_op_find_attr(EG_OP_CONV, "stride", &slot));
}

// Families read a slot by its place (EG_SHARED), so it must be the same in all their
// operators.
static void families_agree_on_the_slots_they_share(void **state) {
  (void)state;
  static const struct {
    eg_op first, last; // neighbours in the table
    uint16_t slots;
  } families[] = {
      {EG_OP_FILL, EG_OP_CONV_IDENTITY, 1},     {EG_OP_MAX_POOL, EG_OP_AVERAGE_POOL, 3},
      {EG_OP_LAYER_NORM, EG_OP_RMS_NORM, 2},    {EG_OP_SOFTMAX, EG_OP_LOG_SOFTMAX, 1},
      {EG_OP_REDUCE_SUM, EG_OP_REDUCE_PROD, 2}, {EG_OP_ARG_MAX, EG_OP_ARG_MIN, 3}};
  for (size_t f = 0; f < sizeof families / sizeof *families; f++)
    for (int op = (int)families[f].first; op <= (int)families[f].last; op++)
      for (uint16_t slot = 0; slot < families[f].slots; slot++) {
        const eg_attr_info *a = &eg_op_info_of(families[f].first)->attrs[slot];
        const eg_attr_info *b = &eg_op_info_of((eg_op)op)->attrs[slot];
        assert_string_equal(a->name, b->name);
        assert_int_equal(a->kind, b->kind);
      }
}

// Defaults are not parsed by eg_attr_parse, so this compares the two readings of the
// table.
static void defaults_are_what_their_text_says(void **state) {
  (void)state;
  for (int op = 0; op < EG_OP_COUNT; op++) {
    const eg_op_info *info = eg_op_info_of((eg_op)op);
    eg_attr slots[MAX_SLOTS];
    eg_attrs_defaults((eg_op)op, slots);
    for (uint16_t slot = 0; slot < info->attr_count; slot++) {
      const char *text = info->attrs[slot].default_text;
      eg_arena arena;
      eg_attr parsed;
      assert_int_equal(slots[slot].kind, info->attrs[slot].kind);
      if (*text == '\0') continue;
      eg_arena_init(&arena, eg_allocator_heap());
      assert_ok(eg_attr_parse(&arena, (eg_op)op, slot, text, &parsed));
      assert_true(eg_attr_same(&parsed, &slots[slot]));
      eg_arena_deinit(&arena);
    }
  }
}

static eg_attrs conv_attrs(eg_attr *slots) {
  static const int64_t twos[] = {2, 2}, ones[] = {1, 1, 1, 1};
  eg_attrs_defaults(EG_OP_CONV, slots);
  slots[0].ints = (eg_ints){twos, 2};
  slots[1].ints = (eg_ints){ones, 4};
  slots[2].ints = (eg_ints){ones, 2};
  return (eg_attrs){
      .op = EG_OP_CONV, .count = eg_op_info_of(EG_OP_CONV)->attr_count, .slots = slots};
}

static void only_differences_from_the_defaults_are_printed(void **state) {
  (void)state;
  eg_attr slots[MAX_SLOTS];
  eg_attrs attrs = conv_attrs(slots);
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_attrs_print(&text, &attrs));
  assert_string_equal(eg_text_of(&text),
                      " :strides [2 2] :pads [1 1 1 1] :dilations [1 1]");
  slots[3].i = 4;
  slots[4].i = EG_ACT_LEAKY_RELU;
  slots[5].f = 0.1;
  eg_text_clear(&text);
  assert_ok(eg_attrs_print(&text, &attrs));
  assert_string_equal(eg_text_of(&text),
                      " :strides [2 2] :pads [1 1 1 1] :dilations [1 1] :group 4 "
                      ":act leaky-relu :act_alpha 0.1");
  assert_int_equal(eg_attr_at(&attrs, EG_A_CONV_GROUP)->i, 4);
  assert_int_equal(eg_attr_at(&attrs, EG_A_CONV_PADS)->ints.len, 4);
  // A required value is printed even when it is the zero of its kind.
  eg_attr shape;
  eg_attrs_defaults(EG_OP_RESHAPE, &shape);
  attrs = (eg_attrs){.op = EG_OP_RESHAPE, .count = 1, .slots = &shape};
  eg_text_clear(&text);
  assert_ok(eg_attrs_print(&text, &attrs));
  assert_string_equal(eg_text_of(&text), " :shape []");
  eg_text_deinit(&text);
}

static void malformed_values_are_refused_with_operator_and_attribute(void **state) {
  (void)state;
  static const struct {
    eg_op op;
    const char *attr, *text, *message;
  } rows[] = {
      {EG_OP_CONV, "group", "two",
       "conv: attribute group wants a value of the form: integer"},
      {EG_OP_CONV, "group", "99999999999999999999", "got '99999999999999999999'"},
      {EG_OP_CONV, "strides", "2",
       "conv: attribute strides wants a value of the form: list"},
      {EG_OP_CONV, "strides", "[2 x]", "got '[2 x]'"},
      {EG_OP_CONV, "strides", "[2 2", "got '[2 2'"},
      {EG_OP_CONV, "strides", "[2 2]]", "got '[2 2]]'"},
      {EG_OP_CONV, "strides", "[2,2]", "got '[2,2]'"},
      {EG_OP_CONV, "strides", "[111111111111111111111111111]", "attribute strides"},
      {EG_OP_CONV, "strides", "", "attribute strides"},
      {EG_OP_CONV, "act", "relu6", "conv: attribute act is one of: none relu sigmoid"},
      {EG_OP_PAD, "mode", "wrap", "one of: constant reflect edge; got 'wrap'"},
      {EG_OP_CLIP, "min", "low", "clip: attribute min wants a value of the form: number"},
      {EG_OP_CAST, "to", "float",
       "cast: attribute to wants a value of the form: element"},
      {EG_OP_EINSUM, "equation", "\"open", "string"},
      {EG_OP_EINSUM, "equation", "\"two\" \"of them\"", "is not one string in quotes"},
  };
  eg_arena arena;
  eg_arena_init(&arena, eg_allocator_heap());
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint16_t slot;
    eg_attr value;
    assert_true(eg_op_find_attr(rows[i].op, rows[i].attr, &slot));
    assert_fails(eg_attr_parse(&arena, rows[i].op, slot, rows[i].text, &value),
                 EGRAPH_E_PARSE, rows[i].message);
  }
  eg_arena_deinit(&arena);
}

static void strings_may_stand_without_quotes(void **state) {
  (void)state;
  eg_arena arena;
  eg_attr value;
  eg_arena_init(&arena, eg_allocator_heap());
  assert_ok(eg_attr_parse(&arena, EG_OP_EINSUM, 0, "ij,jk->ik", &value));
  assert_string_equal(value.text, "ij,jk->ik");
  eg_arena_deinit(&arena);
}

// ---- pool -----------------------------------------------------------------------

static void equal_lists_have_one_id_and_distinct_ones_do_not(void **state) {
  (void)state;
  test_heap heap = {0};
  egraph_allocator alloc = test_heap_allocator(&heap);
  eg_attr_pool *pool;
  eg_attr slots[MAX_SLOTS];
  assert_ok(eg_attr_pool_create(&alloc, &pool));
  eg_attrs attrs = conv_attrs(slots);
  eg_attrs_id first, again, other;
  assert_ok(eg_attr_pool_add(pool, &attrs, &first));
  int64_t copy[] = {2, 2};
  slots[0].ints.data = copy;
  assert_ok(eg_attr_pool_add(pool, &attrs, &again));
  assert_int_equal(first.id, again.id);
  copy[1] = 1;
  assert_ok(eg_attr_pool_add(pool, &attrs, &other));
  assert_int_not_equal(first.id, other.id);
  slots[5].f = -0.0; // differs from 0.0 in its bits
  assert_ok(eg_attr_pool_add(pool, &attrs, &again));
  assert_int_not_equal(again.id, other.id);
  const eg_attrs *kept = eg_attr_pool_get(pool, other);
  copy[1] = 99;
  assert_int_equal(eg_attr_at(kept, EG_A_CONV_STRIDES)->ints.data[1], 1);
  assert_true(eg_attr_pool_bytes(pool) <= heap.live_bytes);
  eg_attr_pool_destroy(pool);
  eg_attr_pool_destroy(NULL);
  assert_int_equal(heap.live_bytes, 0);
}

// Many lists that differ in one slot: ids count up, pointers stay, the index grows.
static void the_pool_keeps_thousands_apart(void **state) {
  (void)state;
  enum { MANY = 5000 };
  eg_attr_pool *pool;
  const eg_attrs **kept;
  assert_ok(eg_attr_pool_create(NULL, &pool));
  assert_ok(eg_alloc(eg_allocator_heap(), MANY, sizeof *kept, &kept));
  for (int round = 0; round < 2; round++)
    for (uint32_t i = 0; i < MANY; i++) {
      char name[16];
      (void)snprintf(name, sizeof name, "w%u", i);
      eg_attr slot = {.kind = EG_ATTR_STRING, .text = name};
      eg_attrs attrs = {.op = EG_OP_WEIGHT, .count = 1, .slots = &slot};
      eg_attrs_id id;
      assert_ok(eg_attr_pool_add(pool, &attrs, &id));
      assert_int_equal(id.id, i);
      if (round == 0) kept[i] = eg_attr_pool_get(pool, id);
      assert_ptr_equal(kept[i], eg_attr_pool_get(pool, id));
      assert_string_equal(kept[i]->slots[0].text, name);
    }
  eg_free(eg_allocator_heap(), kept, MANY, sizeof *kept);
  eg_attr_pool_destroy(pool);
}

static void lists_that_do_not_fit_their_operator_are_refused(void **state) {
  (void)state;
  eg_attr_pool *pool;
  eg_attrs_id id;
  assert_ok(eg_attr_pool_create(NULL, &pool));
  eg_attr slots[MAX_SLOTS];
  eg_attrs attrs = conv_attrs(slots);
  attrs.count = 2;
  assert_fails(eg_attr_pool_add(pool, &attrs, &id), EGRAPH_E_ARGUMENT,
               "conv: got 2 attributes, the operator table has");
  attrs = conv_attrs(slots);
  slots[3].kind = EG_ATTR_FLOAT;
  assert_fails(eg_attr_pool_add(pool, &attrs, &id), EGRAPH_E_ARGUMENT,
               "conv: attribute group has a value of the wrong kind");
  eg_attr name = {.kind = EG_ATTR_STRING, .text = NULL};
  attrs = (eg_attrs){.op = EG_OP_INPUT, .count = 1, .slots = &name};
  assert_fails(eg_attr_pool_add(pool, &attrs, &id), EGRAPH_E_ARGUMENT,
               "input: attribute");
  attrs = (eg_attrs){.op = EG_OP_COUNT};
  assert_fails(eg_attr_pool_add(pool, &attrs, &id), EGRAPH_E_ARGUMENT,
               "no operator number");
  eg_attr_pool_destroy(pool);
}

static egraph_status add_many(eg_attr_pool *pool, uint32_t *out_added) {
  eg_attr slots[MAX_SLOTS];
  eg_attrs attrs = conv_attrs(slots);
  for (int64_t i = 0; i < 40; i++) {
    eg_attrs_id id, again;
    slots[3].i = i;
    EG_TRY(eg_attr_pool_add(pool, &attrs, &id));
    ++*out_added;
    EG_TRY(eg_attr_pool_add(pool, &attrs, &again));
    assert_int_equal(id.id, i);
    assert_int_equal(again.id, i);
  }
  return EGRAPH_OK;
}

static egraph_status fill_a_pool(egraph_allocator alloc, void *user) {
  (void)user;
  eg_attr_pool *pool;
  EG_TRY(eg_attr_pool_create(&alloc, &pool));
  uint32_t added = 0;
  egraph_status status = add_many(pool, &added);
  // Whatever was added before the failure is whole.
  for (uint32_t i = 0; i < added; i++)
    assert_int_equal(
        eg_attr_at(eg_attr_pool_get(pool, (eg_attrs_id){i}), EG_A_CONV_GROUP)->i, i);
  eg_attr_pool_destroy(pool);
  return status;
}

static egraph_status parse_and_print(egraph_allocator alloc, void *user) {
  (void)user;
  static const char *const texts[] = {"[1 2 3]", "\"quoted \\\"text\\\"\""};
  static const eg_op ops[] = {EG_OP_RESHAPE, EG_OP_EINSUM};
  eg_arena arena;
  eg_text text;
  egraph_status status = EGRAPH_OK;
  eg_arena_init(&arena, alloc);
  eg_text_init(&text, alloc);
  for (int i = 0; i < 2 && status == EGRAPH_OK; i++) {
    eg_attr value;
    status = eg_attr_parse(&arena, ops[i], 0, texts[i], &value);
    eg_attrs attrs = {.op = (uint16_t)ops[i], .count = 1, .slots = &value};
    if (status == EGRAPH_OK) status = eg_attrs_print(&text, &attrs);
  }
  eg_text_deinit(&text);
  eg_arena_deinit(&arena);
  return status;
}

static void pool_and_text_survive_failing_allocations(void **state) {
  (void)state;
  test_every_allocation_failing(fill_a_pool, NULL);
  test_every_allocation_failing(parse_and_print, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_slot_prints_and_parses_back),
      cmocka_unit_test(every_row_of_the_table_is_sound),
      cmocka_unit_test(families_agree_on_the_slots_they_share),
      cmocka_unit_test(defaults_are_what_their_text_says),
      cmocka_unit_test(only_differences_from_the_defaults_are_printed),
      cmocka_unit_test(malformed_values_are_refused_with_operator_and_attribute),
      cmocka_unit_test(strings_may_stand_without_quotes),
      cmocka_unit_test(equal_lists_have_one_id_and_distinct_ones_do_not),
      cmocka_unit_test(the_pool_keeps_thousands_apart),
      cmocka_unit_test(lists_that_do_not_fit_their_operator_are_refused),
      cmocka_unit_test(pool_and_text_survive_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
