// What the targets of files of substitutions share: any bytes are refused with a reason,
// or give substitutions; those that have a meaning are written as rules, which parse or
// are refused with a reason.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_FUZZ_SUBSTITUTIONS_H
#define EG_TESTS_FUZZ_SUBSTITUTIONS_H

#include "rewrites/lab/import/substitution.h"
#include "rewrites/lab/import/tensor_form.h"
#include "rewrites/lab/import/unity.h"
#include "rewrites/lab/rule_checks.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_RULES = 16, MOST_GUARDS = 8 };

typedef egraph_status fuzz_reader(const char *name, const char *bytes, size_t size,
                                  eg_subst_file *out);

static void check_parse(const eg_text *text) {
  eg_rules *rules;
  FUZZ_CHECK(eg_rules_create_checked(NULL, &rules) == EGRAPH_OK);
  egraph_status status = eg_rules_parse(rules, "f", eg_text_of(text), text->chars.len);
  if (status != EGRAPH_OK) fuzz_check_failure(status); // no rule of this language
  eg_rules_destroy(rules);
}

static void check_unity(const eg_substitution *subst, eg_text *text) {
  for (uint32_t i = 0; i < 4; i++) {
    bool fits;
    const eg_unity_form form = {.math = EGRAPH_MATH_FAST,
                                .axes = (eg_unity_axes)(i % 3),
                                .second = 1,
                                .same_shapes = i != 0,
                                .as_tiles = i == 3};
    bool is_said = eg_unity_fault(subst, form.as_tiles) == NULL;
    if (!is_said || eg_unity_parallel_count(subst) > 8) continue;
    FUZZ_CHECK(eg_unity_write(subst, i, &form, text, &fits) == EGRAPH_OK);
    if (fits) check_parse(text);
  }
}

static void check_form(const eg_tensor_form *form, eg_text *text) {
  const char *fault;
  FUZZ_CHECK(eg_tensor_form_write(form, "r", "s", text, &fault) == EGRAPH_OK);
  if (fault == NULL) check_parse(text);
}

static void check_tensors(const eg_substitution *subst, eg_text *text) {
  char buffer[96];
  eg_tensor_form form;
  eg_guard guards[EG_FORM_GUARDS];
  if (eg_tensor_form_read(subst, &form, buffer) != NULL) return;
  check_form(&form, text);
  uint32_t count = eg_tensor_form_guards(&form, guards);
  FUZZ_CHECK(count <= EG_FORM_GUARDS);
  form.guard_count = 1;
  for (uint32_t i = 0; i < count && i < MOST_GUARDS; i++) {
    form.guards[0] = guards[i];
    check_form(&form, text);
  }
  form.freedoms = form.possible;
  check_form(&form, text);
  form.guard_count = 0;
  form.freedoms = 0;
  if (eg_tensor_form_flip(&form)) check_form(&form, text);
}

static int fuzz_substitutions(fuzz_reader *read, const uint8_t *data, size_t size) {
  eg_subst_file file;
  eg_text text;
  eg_subst_file_init(&file, eg_allocator_heap());
  eg_text_init(&text, eg_allocator_heap());
  egraph_status status = read("f", (const char *)data, size, &file);
  if (status != EGRAPH_OK) fuzz_check_failure(status);
  for (size_t i = 0; status == EGRAPH_OK && i < file.list.len && i < MOST_RULES; i++) {
    const eg_substitution *subst = &file.list.data[i];
    FUZZ_CHECK(eg_subst_canonical(subst, eg_allocator_heap(), &text) == EGRAPH_OK);
    check_unity(subst, &text);
    check_tensors(subst, &text);
  }
  eg_text_deinit(&text);
  eg_subst_file_deinit(&file);
  return 0;
}

#endif
