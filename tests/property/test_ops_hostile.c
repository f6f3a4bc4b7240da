// Nodes of the case table with random damage: sizes, ranks, dtypes, attribute values and
// operand counts from a hostile file. Typing must answer with types that hold together or
// with a type error; sanitizers watch the arithmetic.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/ops_fixture.h"

static int64_t hostile_int(eg_rng *rng) {
  static const int64_t values[] = {-1,
                                   0,
                                   1,
                                   2,
                                   3,
                                   4,
                                   7,
                                   16,
                                   -2,
                                   1 << 20,
                                   INT64_MAX,
                                   INT64_MIN,
                                   INT64_MAX / 2,
                                   INT64_C(1) << 33,
                                   -9};
  return values[eg_rng_below(rng, sizeof values / sizeof *values)];
}

static void damage_type(eg_rng *rng, eg_type *type) {
  switch (eg_rng_below(rng, 4)) {
  case 0: type->dtype = (egraph_dtype)eg_rng_below(rng, EGRAPH_DTYPE_COUNT); break;
  case 1:
    type->rank = (uint32_t)eg_rng_below(rng, EGRAPH_MAX_RANK + 1);
    for (uint32_t i = 0; i < EGRAPH_MAX_RANK; i++)
      type->dims[i] = i >= type->rank ? 0 : type->dims[i] == 0 ? 1 : type->dims[i];
    break;
  default:
    if (type->rank != 0) type->dims[eg_rng_below(rng, type->rank)] = hostile_int(rng);
  }
}

/// Room for a damaged list.
typedef struct lists {
  int64_t data[FIXTURE_MAX_SLOTS][EGRAPH_MAX_RANK * 2 + 2];
  double numbers[FIXTURE_MAX_SLOTS][EGRAPH_MAX_RANK * 2 + 2];
  char text[64];
} lists;

static void damage_ints(eg_rng *rng, int64_t *room, eg_ints *ints) {
  uint32_t len = ints->len < EGRAPH_MAX_RANK * 2 ? ints->len : EGRAPH_MAX_RANK * 2;
  if (len != 0) memmove(room, ints->data, len * sizeof *room);
  if (len != 0 && eg_rng_below(rng, 3) != 0) {
    room[eg_rng_below(rng, len)] = hostile_int(rng);
  } else if (eg_rng_below(rng, 2) == 0) {
    room[len++] = hostile_int(rng);
  } else if (len != 0) {
    len--;
  }
  *ints = (eg_ints){room, len};
}

static void damage_floats(eg_rng *rng, double *room, eg_floats *floats) {
  uint32_t len = floats->len < EGRAPH_MAX_RANK * 2 ? floats->len : EGRAPH_MAX_RANK * 2;
  if (len != 0) memmove(room, floats->data, len * sizeof *room);
  if (len != 0 && eg_rng_below(rng, 3) != 0) {
    room[eg_rng_below(rng, len)] = (double)hostile_int(rng);
  } else if (eg_rng_below(rng, 2) == 0) {
    room[len++] = (double)hostile_int(rng);
  } else if (len != 0) {
    len--;
  }
  *floats = (eg_floats){room, len};
}

static void damage_text(eg_rng *rng, char *room, size_t size, const char **text) {
  static const char signs[] = "abijkZ,.->  1";
  (void)snprintf(room, size, "%s", *text);
  size_t length = strlen(room);
  if (length == 0) return;
  room[eg_rng_below(rng, length)] = signs[eg_rng_below(rng, sizeof signs - 1)];
  *text = room;
}

static void damage_slot(eg_rng *rng, const eg_attr_info *info, uint16_t slot, lists *room,
                        eg_attr *value) {
  int64_t symbols = 0;
  switch (value->kind) {
  case EG_ATTR_INT: value->i = hostile_int(rng); break;
  case EG_ATTR_FLOAT: value->f = (double)hostile_int(rng); break;
  case EG_ATTR_DTYPE: value->i = (int64_t)eg_rng_below(rng, EGRAPH_DTYPE_COUNT); break;
  case EG_ATTR_INTS: damage_ints(rng, room->data[slot], &value->ints); break;
  case EG_ATTR_FLOATS: damage_floats(rng, room->numbers[slot], &value->floats); break;
  case EG_ATTR_STRING:
    damage_text(rng, room->text, sizeof room->text, &value->text);
    break;
  case EG_ATTR_SYMBOL:
    while (info->symbols[symbols] != NULL)
      symbols++;
    value->i = (int64_t)eg_rng_below(rng, (uint64_t)symbols);
    break;
  }
}

static void damage(eg_rng *rng, fixture *f, lists *room) {
  const eg_op_info *info = eg_op_info_of((eg_op)f->attrs.op);
  for (uint64_t hits = 1 + eg_rng_below(rng, 3); hits > 0; hits--) {
    uint64_t what = eg_rng_below(rng, 8);
    if (what == 0 && f->count + 1 < FIXTURE_MAX_TYPES) {
      f->inputs[f->count] = f->inputs[f->count == 0 ? 0 : f->count - 1];
      f->count++;
    } else if (what == 1 && f->count != 0) {
      f->count--;
    } else if (what < 5 && f->count != 0) {
      damage_type(rng, &f->inputs[eg_rng_below(rng, f->count)]);
    } else if (f->attrs.count != 0) {
      uint16_t slot = (uint16_t)eg_rng_below(rng, f->attrs.count);
      damage_slot(rng, &info->attrs[slot], slot, room, &f->slots[slot]);
    }
  }
}

static void check_typed(const fixture *f, const eg_type *results, uint32_t count) {
  eg_factors factors;
  eg_format_choice choices[EG_MAX_FORMAT_CHOICES];
  assert_ok(eg_op_factors(&f->attrs, f->inputs, f->count, &factors));
  assert_true(factors.count <= EG_MAX_FACTORS);
  for (uint32_t i = 0; i < count; i++)
    assert_ok(eg_type_check(&results[i]));
  for (uint32_t dim = 0; dim < results[0].rank; dim++) {
    bool covered = false;
    for (uint32_t i = 0; i < factors.count; i++)
      covered = covered || factors.factor[i].output_dim[0] == (int)dim;
    assert_true(covered);
  }
  for (uint32_t i = 0; i < factors.count; i++)
    assert_true(factors.factor[i].size >= 0);
  assert_true(eg_op_flops(&f->attrs, f->inputs, f->count) >= 0);
  assert_true(eg_op_bytes(&f->attrs, f->inputs, f->count, results, count) >= 0);
  uint32_t found =
      eg_op_formats(&f->attrs, f->inputs, f->count, results, count, 0xf, choices);
  assert_in_range(found, 1, EG_MAX_FORMAT_CHOICES);
}

// Blocks of exactly the right size, so that sanitizers see every step outside; any bytes
// are values.
static void make_tensor(eg_rng *rng, const eg_type *type, eg_tensor *out) {
  *out = (eg_tensor){.type = *type};
  size_t bytes = eg_type_bytes(type);
  assert_ok(eg_alloc(eg_allocator_heap(), bytes, 1, &out->data));
  for (size_t i = 0; i < bytes; i++)
    ((unsigned char *)out->data)[i] = (unsigned char)eg_rng_below(rng, 256);
  if (!eg_dtype_is_float(type->dtype) && eg_rng_below(rng, 2) == 0)
    for (int64_t i = 0; i < eg_type_elements(type); i++)
      eg_tensor_set_int(out, i, (int64_t)eg_rng_below(rng, 3));
}

// What inference accepts, the kernel computes within its tensors or refuses. Large nodes
// are left out.
static bool check_run(eg_rng *rng, const fixture *f, const eg_type *results,
                      uint32_t count) {
  enum { MOST_BYTES = 1 << 16, MOST_FLOPS = 1 << 22 };
  eg_tensor inputs[FIXTURE_MAX_TYPES], outputs[FIXTURE_MAX_TYPES * 2];
  if (eg_op_flops(&f->attrs, f->inputs, f->count) > MOST_FLOPS) return false;
  for (uint32_t i = 0; i < f->count; i++)
    if (eg_type_bytes(&f->inputs[i]) > MOST_BYTES) return false;
  for (uint32_t i = 0; i < count; i++)
    if (eg_type_bytes(&results[i]) > MOST_BYTES) return false;
  for (uint32_t i = 0; i < f->count; i++)
    make_tensor(rng, &f->inputs[i], &inputs[i]);
  for (uint32_t i = 0; i < count; i++)
    make_tensor(rng, &results[i], &outputs[i]);
  eg_kernel_call call = {.attrs = &f->attrs,
                         .inputs = inputs,
                         .input_count = f->count,
                         .outputs = outputs,
                         .output_count = count,
                         .alloc = eg_allocator_heap()};
  egraph_status status = eg_op_run(&call);
  if (status != EGRAPH_OK && status != EGRAPH_E_ARGUMENT &&
      status != EGRAPH_E_UNSUPPORTED)
    assert_ok(status);
  for (uint32_t i = 0; i < f->count; i++)
    eg_free(eg_allocator_heap(), inputs[i].data, eg_type_bytes(&inputs[i].type), 1);
  for (uint32_t i = 0; i < count; i++)
    eg_free(eg_allocator_heap(), outputs[i].data, eg_type_bytes(&outputs[i].type), 1);
  return status == EGRAPH_OK;
}

static void damaged_nodes_are_typed_or_refused(void **state) {
  (void)state;
  eg_rng rng = {test_seed(3)};
  size_t rounds = test_rounds(60), typed = 0, refused = 0, computed = 0;
  for (size_t round = 0; round < rounds; round++)
    for (int c = 0; c < OPS_CASES; c++) {
      fixture f;
      lists room;
      eg_type results[FIXTURE_MAX_TYPES * 2];
      fixture_init(&f, &ops_cases[c]);
      damage(&rng, &f, &room);
      uint32_t count = eg_op_results(&f.attrs);
      assert_true(count <= FIXTURE_MAX_TYPES * 2);
      egraph_status status = eg_op_infer(&f.attrs, f.inputs, f.count, results);
      if (status == EGRAPH_OK) {
        check_typed(&f, results, count);
        computed += check_run(&rng, &f, results, count);
        typed++;
      } else {
        assert_int_equal(status, EGRAPH_E_TYPE);
        assert_true(strlen(egraph_last_error()) > 10);
        refused++;
      }
      fixture_deinit(&f);
    }
  print_message("%zu typed, %zu computed, %zu refused\n", typed, computed, refused);
  assert_true(typed > 16 * rounds && computed > 16 * rounds && refused > 16 * rounds);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(damaged_nodes_are_typed_or_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
