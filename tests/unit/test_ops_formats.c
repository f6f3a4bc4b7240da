// Memory formats a node may have: choices as text, one "inputs->output" per choice.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/ops_fixture.h"

enum { ALL = 0xf };

static const char letters[EG_FORMAT_COUNT] = {'p', 'h', '8', '6'}; // plain nhwc 8c 16c

// Types are filled in by inference unless the row is a part, which its owner types.
static uint32_t choices(const fixture *f, uint32_t mask, eg_format_choice *out) {
  eg_type results[FIXTURE_MAX_TYPES];
  uint32_t count = eg_op_results(&f->attrs);
  if (f->attrs.op == EG_OP_PART)
    results[0] = f->inputs[0];
  else
    assert_ok(eg_op_infer(&f->attrs, f->inputs, f->count, results));
  return eg_op_formats(&f->attrs, f->inputs, f->count, results, count, mask, out);
}

static void describe(const fixture *f, const eg_format_choice *list, uint32_t count,
                     char *out) {
  for (uint32_t c = 0; c < count; c++) {
    if (c != 0) *out++ = ' ';
    for (uint32_t i = 0; i < f->count; i++)
      *out++ = letters[list[c].input[i]];
    *out++ = '>';
    *out++ = letters[list[c].output];
  }
  *out = '\0';
}

#define CONV3 ":strides [1 1] :pads [1 1 1 1] :dilations [1 1]"

static const ops_case rows[] = {
    {EG_OP_RELU, "", "float32[1,64,7,7]", "p>p h>h 8>8 6>6"},
    {EG_OP_RELU, "", "float32[1,12,7,7]", "p>p h>h 8>8"},
    {EG_OP_RELU, "", "float32[1,7,7,7]", "p>p h>h"},
    {EG_OP_RELU, "", "float32[1,0,7,7]", "p>p"},
    {EG_OP_RELU, "", "float32[1,64,7]", "p>p"},
    {EG_OP_RELU, "", "float64[1,64,7,7]", "p>p"},
    {EG_OP_ADD, "", "float32[1,64,7,7] float32[1,64,7,7]", "pp>p hh>h 88>8 66>6"},
    {EG_OP_ADD, "", "float32[64,1,1] float32[1,64,7,7]", "pp>p ph>h p8>8 p6>6"},
    {EG_OP_ADD, "", "float32[1,64,7,7] float32[1,64,1,1]", "pp>p hp>h 8p>8 6p>6"},
    {EG_OP_ADD, "", "float32[1,64,7,7] float32[]", "pp>p hp>h 8p>8 6p>6"},
    {EG_OP_ADD, "", "float32[1,64,7,7] float32[7]", "pp>p"},
    {EG_OP_ADD, "", "float32[1,64,7,7] float32[1,1,7,7]", "pp>p"},
    {EG_OP_ADD, "", "float32[2,64,7,7] float32[2,64,1,1]", "pp>p"},
    {EG_OP_POW, "", "float32[1,64,7,7] int64[1,64,7,7]", "pp>p"},
    {EG_OP_PART, ":index 0", "float32[1,64,7,7]", "p>p h>h 8>8 6>6"},
    {EG_OP_SOFTMAX, "", "float32[1,64,7,7]", "p>p"},
    {EG_OP_FILL, ":shape [1 64 7 7]", "", ">p"},
    {EG_OP_BATCH_NORM, "",
     "float32[1,64,7,7] float32[64] float32[64] float32[64] float32[64]",
     "ppppp>p hpppp>h 8pppp>8 6pppp>6"},
    {EG_OP_CONV, CONV3, "float32[1,64,7,7] float32[32,64,3,3]", "pp>p hp>h 8p>8 6p>6"},
    {EG_OP_CONV, CONV3,
     "float32[1,64,7,7] float32[32,64,3,3] float32[32] float32[1,32,7,7]",
     "pppp>p hpph>h 8pp8>8 6pp6>6"},
    {EG_OP_CONV, CONV3, "float32[1,64,7,7] float32[12,64,3,3]", "pp>p hp>h 8p>8"},
    {EG_OP_CONV, CONV3, "float32[1,3,7,7] float32[64,3,3,3]", "pp>p hp>h pp>h pp>8 pp>6"},
    {EG_OP_CONV, CONV3,
     "float32[1,3,7,7] float32[64,3,3,3] float32[64] float32[1,64,7,7]",
     "pppp>p hpph>h ppph>h ppp8>8 ppp6>6"},
    {EG_OP_CONV, CONV3 " :group 32", "float32[1,32,7,7] float32[32,1,3,3]",
     "pp>p hp>h 8p>8 6p>6"},
    {EG_OP_CONV, CONV3 " :group 4", "float32[1,32,7,7] float32[32,8,3,3]",
     "pp>p hp>h 8p>8"},
    {EG_OP_CONV, CONV3 " :group 4", "float32[1,32,7,7] float32[16,8,3,3]", "pp>p hp>h"},
    {EG_OP_CONV, CONV3 " :group 3", "float32[1,3,7,7] float32[24,1,3,3]", "pp>p hp>h"},
    {EG_OP_CONV, ":strides [1] :pads [1 1] :dilations [1]",
     "float32[1,32,7] float32[32,32,3]", "pp>p"},
    {EG_OP_CONV, CONV3, "float64[1,3,7,7] float64[64,3,3,3]", "pp>p"},
    {EG_OP_MAX_POOL,
     ":kernel_shape [2 2] :strides [2 2] :pads [0 0 0 0] :dilations [1 1]",
     "float32[1,24,7,7]", "p>p h>h 8>8 6>6"},
    {EG_OP_GLOBAL_AVERAGE_POOL, "", "float32[1,8,7,7]", "p>p h>h 8>8"},
    {EG_OP_CONCAT, ":axis 1", "float32[1,16,7,7] float32[1,32,7,7]",
     "pp>p hh>h 88>8 66>6"},
    {EG_OP_CONCAT, ":axis -3", "float32[1,16,7,7] float32[1,24,7,7]", "pp>p hh>h 88>8"},
    {EG_OP_CONCAT, ":axis 1", "float32[1,16,7,7] float32[1,20,7,7]", "pp>p hh>h"},
    {EG_OP_CONCAT, ":axis 2", "float32[1,20,7,7] float32[1,20,1,7]",
     "pp>p hh>h 88>8 66>6"},
    {EG_OP_CONCAT, ":axis 1", "float32[1,16,7] float32[1,16,7]", "pp>p"},
    {EG_OP_SPLIT, ":axis 1 :sizes [16 8]", "float32[1,24,7,7]", "p>p h>h 8>8"},
    {EG_OP_SPLIT, ":axis 1 :sizes [24 0]", "float32[1,24,7,7]", "p>p"},
    {EG_OP_TRANSPOSE, ":perm [0 2 3 1]", "float32[2,24,7,5]", "p>p h>p"},
    {EG_OP_TRANSPOSE, ":perm [0 3 1 2]", "float32[2,7,5,24]", "p>p p>h"},
    {EG_OP_TRANSPOSE, ":perm [0 3 2 1]", "float32[2,7,5,24]", "p>p"},
    {EG_OP_TRANSPOSE, ":perm [0 2 3 1]", "float64[2,24,7,5]", "p>p"},
    {EG_OP_TRANSPOSE, ":perm [0 2 1]", "float32[2,24,7]", "p>p"},
    {EG_OP_GREATER, "", "float32[1,16,7,7] float32[]", "pp>p hp>h 8p>8 6p>6"},
    {EG_OP_WHERE, "", "bool[1,16,7,7] float32[1,16,7,7] float32[]",
     "ppp>p hhp>h 88p>8 66p>6"},
    {EG_OP_REDUCE_SUM, ":axes [0 2 3] :keepdims 0", "float32[2,16,7,7]",
     "p>p h>p 8>p 6>p"},
    {EG_OP_REDUCE_SUM, ":axes [2 3]", "float32[2,24,7,7]", "p>p h>p 8>p"},
    {EG_OP_REDUCE_SUM, ":axes [1 2 3]", "float32[2,16,7,7]", "p>p"},
    {EG_OP_REDUCE_SUM, ":axes [0 2]", "float32[2,16,7,7]", "p>p"},
    {EG_OP_CONV_TRANSPOSE, CONV3 " :output_padding [0 0]",
     "float32[1,32,7,7] float32[32,16,3,3] float32[16]", "ppp>p hpp>h 8pp>8 6pp>6"},
    {EG_OP_CONV_TRANSPOSE, CONV3 " :output_padding [0 0] :group 4",
     "float32[1,32,7,7] float32[32,2,3,3]", "pp>p hp>h"},
    {EG_OP_CONV_GRAD_WEIGHT, CONV3 " :kernel_shape [3 3]",
     "float32[2,16,7,7] float32[2,32,7,7]", "pp>p hh>p 88>p 66>p"},
    {EG_OP_CONV_GRAD_WEIGHT, CONV3 " :kernel_shape [3 3]",
     "float32[2,3,7,7] float32[2,32,7,7]", "pp>p hh>p ph>p p8>p p6>p"},
    {EG_OP_MAX_POOL_GRAD,
     ":kernel_shape [2 2] :strides [2 2] :pads [0 0 0 0] :dilations [1 1]",
     "float32[1,16,6,6] float32[1,16,3,3]", "pp>p hh>h 88>8 66>6"},
};

static void choices_follow_the_rule_of_the_row(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fixture f;
    eg_format_choice list[EG_MAX_FORMAT_CHOICES];
    char text[512];
    fixture_init(&f, &rows[i]);
    uint32_t count = choices(&f, ALL, list);
    describe(&f, list, count, text);
    if (strcmp(text, rows[i].results) != 0)
      fail_msg("%s %s %s: got '%s', wanted '%s'", eg_op_info_of(rows[i].op)->name,
               rows[i].attrs, rows[i].inputs, text, rows[i].results);
    fixture_deinit(&f);
  }
}

// The format of a choice besides plain: all that is not plain has the same.
static eg_format format_of(const eg_format_choice *choice) {
  uint8_t format = choice->output;
  for (uint32_t i = 0; i < EG_MAX_FORMAT_OPERANDS; i++) {
    if (choice->input[i] == EG_FORMAT_PLAIN) continue;
    assert_true(format == EG_FORMAT_PLAIN || format == choice->input[i]);
    format = choice->input[i];
  }
  return (eg_format)format;
}

// Fewer formats in the mask leave exactly the choices that use no other, and plain.
static void the_mask_filters_choices(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (uint32_t mask = 0; mask <= ALL; mask++) {
      fixture f;
      eg_format_choice all[EG_MAX_FORMAT_CHOICES], some[EG_MAX_FORMAT_CHOICES];
      fixture_init(&f, &rows[i]);
      uint32_t all_count = choices(&f, ALL, all), found = 0;
      uint32_t some_count = choices(&f, mask, some);
      for (uint32_t c = 0; c < all_count; c++) {
        eg_format format = format_of(&all[c]);
        if (format != EG_FORMAT_PLAIN && (mask >> format & 1) == 0) continue;
        assert_true(found < some_count);
        assert_memory_equal(&some[found++], &all[c], sizeof *all);
      }
      assert_int_equal(found, some_count);
      fixture_deinit(&f);
    }
}

// Whatever is not plain fits its value, for every case of the table.
static void every_choice_fits_its_values(void **state) {
  (void)state;
  for (int c = 0; c < OPS_CASES; c++) {
    fixture f;
    eg_type results[FIXTURE_MAX_TYPES];
    eg_format_choice list[EG_MAX_FORMAT_CHOICES];
    fixture_init(&f, &ops_cases[c]);
    assert_ok(eg_op_infer(&f.attrs, f.inputs, f.count, results));
    uint32_t count = choices(&f, ALL, list);
    assert_in_range(count, 1, EG_MAX_FORMAT_CHOICES);
    for (uint32_t k = 0; k < count; k++) {
      for (uint32_t i = 0; i < f.count && i < EG_MAX_FORMAT_OPERANDS; i++)
        assert_true(eg_format_fits(&f.inputs[i], (eg_format)list[k].input[i]));
      for (uint32_t i = 0; i < eg_op_results(&f.attrs); i++)
        assert_true(eg_format_fits(&results[i], (eg_format)list[k].output));
      assert_true((k == 0) == (format_of(&list[k]) == EG_FORMAT_PLAIN));
    }
    fixture_deinit(&f);
  }
}

static void nodes_with_many_operands_stay_plain(void **state) {
  (void)state;
  eg_type parts[EG_MAX_FORMAT_OPERANDS + 1], result;
  eg_format_choice list[EG_MAX_FORMAT_CHOICES];
  eg_attr axis = {.kind = EG_ATTR_INT, .i = 1};
  eg_attrs concat = {.op = EG_OP_CONCAT, .count = 1, .slots = &axis};
  for (uint32_t i = 0; i <= EG_MAX_FORMAT_OPERANDS; i++)
    parts[i] = eg_type_of(EGRAPH_FLOAT32, 4, (int64_t[]){1, 16, 7, 7});
  for (uint32_t count = EG_MAX_FORMAT_OPERANDS; count <= EG_MAX_FORMAT_OPERANDS + 1;
       count++) {
    assert_ok(eg_op_infer(&concat, parts, count, &result));
    uint32_t found = eg_op_formats(&concat, parts, count, &result, 1, ALL, list);
    assert_int_equal(found, count <= EG_MAX_FORMAT_OPERANDS ? 4 : 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(choices_follow_the_rule_of_the_row),
      cmocka_unit_test(the_mask_filters_choices),
      cmocka_unit_test(every_choice_fits_its_values),
      cmocka_unit_test(nodes_with_many_operands_stay_plain),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
