// Formulas: "(mul d (sub 1 (square y)))" is read from left to right with a stack of the
// operators whose operands are being collected.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "ops/build.h"

enum { MAX_DEPTH = 16, MAX_OPERANDS = 3, MAX_WORD = 32 };

typedef struct frame {
  eg_op op;
  uint32_t count;
  eg_ref operands[MAX_OPERANDS];
} frame;

static const char *skip_spaces(const char *at) {
  while (*at == ' ')
    at++;
  return at;
}

// Copies the word at `at` and returns what follows it.
static const char *read_word(const char *at, char out[MAX_WORD]) {
  size_t length = strcspn(at, " ()");
  assert(length != 0 && length < MAX_WORD && "a formula of this program");
  memcpy(out, at, length);
  out[length] = '\0';
  return at + length;
}

static bool is_variable(const char *word) {
  return isalpha((unsigned char)word[0]) && word[1] == '\0';
}

static eg_ref atom(eg_builder *b, const char *word, const char *names,
                   const eg_ref *values) {
  double number = 0;
  if (!is_variable(word)) {
    bool parsed = eg_parse_double(word, &number);
    assert(parsed && "a number or a letter");
    (void)parsed;
    return eg_build_number(b, number);
  }
  const char *name = strchr(names, word[0]);
  assert(name != NULL && "every variable of a formula has a value");
  return values[name - names];
}

eg_ref eg_build_formula(eg_builder *b, const char *formula, const char *names,
                        const eg_ref *values) {
  frame stack[MAX_DEPTH];
  uint32_t depth = 0;
  const char *at = skip_spaces(formula);
  for (;; at = skip_spaces(at)) {
    char word[MAX_WORD];
    eg_ref value;
    if (*at == '(') {
      assert(depth < MAX_DEPTH);
      stack[depth] = (frame){.count = 0};
      at = read_word(at + 1, word);
      bool found = eg_op_find(word, &stack[depth].op);
      assert(found && "an operator of the table");
      (void)found;
      depth++;
      continue;
    }
    if (*at == ')') {
      assert(depth > 0);
      at++;
      const frame *top = &stack[--depth];
      value = eg_build_node(b, top->op, NULL, top->operands, top->count);
    } else {
      at = read_word(at, word);
      value = atom(b, word, names, values);
    }
    if (depth == 0) return value;
    frame *top = &stack[depth - 1];
    assert(top->count < MAX_OPERANDS);
    top->operands[top->count++] = value;
  }
}

bool eg_formula_uses(const char *formula, char name) {
  for (const char *at = formula; *at != '\0';) {
    size_t length = strcspn(at, " ()");
    if (length == 1 && *at == name) return true;
    at += length != 0 ? length : 1;
  }
  return false;
}
