// Nodes from text for the tests of ops/: attributes as in rule files, types as in graphs.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_UNIT_OPS_FIXTURE_H
#define EG_TESTS_UNIT_OPS_FIXTURE_H

#include "base/sexpr.h"
#include "ops/ops.h"
#include "tests/testing.h"

enum { FIXTURE_MAX_TYPES = 24, FIXTURE_MAX_SLOTS = 12 };

/// One row of ops_cases.def or of a table of failures.
typedef struct ops_case {
  eg_op op;
  const char *attrs;   // ":axis 1 :keepdims 0"
  const char *inputs;  // "float32[2,3] int64[4]"
  const char *results; // types, or what the message must contain
} ops_case;

/// A case read from its text. Lives until fixture_deinit.
typedef struct fixture {
  eg_arena arena;
  eg_attr slots[FIXTURE_MAX_SLOTS];
  eg_attrs attrs;
  eg_type inputs[FIXTURE_MAX_TYPES];
  uint32_t count;
} fixture;

EG_MAYBE_UNUSED static uint32_t read_types(const char *text, eg_type *out) {
  char word[256];
  uint32_t count = 0;
  for (const char *at = text; *at != '\0';) {
    size_t length = strcspn(at, " ");
    assert_true(length < sizeof word && count < FIXTURE_MAX_TYPES);
    memcpy(word, at, length);
    word[length] = '\0';
    if (length != 0) assert_ok(eg_type_parse("test", word, &out[count++]));
    at += length;
    while (*at == ' ')
      at++;
  }
  return count;
}

EG_MAYBE_UNUSED static void read_attr(fixture *f, const char *name,
                                      const eg_sexpr *value) {
  uint16_t slot = 0;
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  assert_true(eg_op_find_attr((eg_op)f->attrs.op, name, &slot));
  assert_ok(eg_sexpr_print(&text, value));
  assert_ok(eg_attr_parse(&f->arena, (eg_op)f->attrs.op, slot, eg_text_of(&text),
                          &f->slots[slot]));
  eg_text_deinit(&text);
}

EG_MAYBE_UNUSED static void fixture_init(fixture *f, const ops_case *row) {
  const eg_op_info *info = eg_op_info_of(row->op);
  eg_sexpr file;
  assert_true(info->attr_count <= FIXTURE_MAX_SLOTS);
  *f = (fixture){.attrs = {.op = (uint16_t)row->op, .count = info->attr_count}};
  f->attrs.slots = f->slots;
  eg_arena_init(&f->arena, eg_allocator_heap());
  eg_attrs_defaults(row->op, f->slots);
  assert_ok(eg_sexpr_parse(&f->arena, "test", row->attrs, strlen(row->attrs), &file));
  assert_int_equal(file.count % 2, 0);
  for (uint32_t i = 0; i < file.count; i += 2)
    read_attr(f, file.children[i].text + 1, &file.children[i + 1]);
  f->count = read_types(row->inputs, f->inputs);
}

EG_MAYBE_UNUSED static void fixture_deinit(fixture *f) { eg_arena_deinit(&f->arena); }

EG_MAYBE_UNUSED static const ops_case ops_cases[] = {
#define CASE(ID, ATTRS, INPUTS, RESULTS) {EG_OP_##ID, ATTRS, INPUTS, RESULTS},
#include "tests/unit/ops_cases.def"
};

enum { OPS_CASES = sizeof ops_cases / sizeof *ops_cases };

#endif
