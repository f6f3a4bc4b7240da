// Replays explanations as texts: an independent checker that reads terms and rules as
// trees of its own, and knows nothing of the library.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_TEXT_REPLAY_H
#define EG_TESTS_TEXT_REPLAY_H

#include <stdbool.h>

#include "tests/testing.h"

enum { TREE_MAX_KIDS = 8, TREE_NAME = 16, TREE_ROOM = 1 << 16, TREE_MAX_VARS = 16 };

typedef struct tree {
  char name[TREE_NAME];
  uint32_t count;
  const struct tree *kids[TREE_MAX_KIDS];
} tree;

/// Trees are taken from here, and all forgotten at once.
typedef struct forest {
  tree room[TREE_ROOM];
  size_t used;
} forest;

static const tree *forest_read(forest *f, const char **text) {
  assert_true(f->used < TREE_ROOM);
  tree *t = &f->room[f->used++];
  *t = (tree){.count = 0};
  while (**text == ' ')
    ++*text;
  bool is_list = **text == '(';
  *text += is_list;
  size_t length = strcspn(*text, " ()");
  assert_true(length != 0 && length < TREE_NAME);
  memcpy(t->name, *text, length);
  *text += length;
  while (is_list && **text != ')') {
    assert_true(t->count < TREE_MAX_KIDS);
    t->kids[t->count] = forest_read(f, text);
    t->count++;
    while (**text == ' ')
      ++*text;
  }
  *text += is_list;
  return t;
}

static inline const tree *tree_of(forest *f, const char *text) {
  return forest_read(f, &text);
}

static bool tree_same(const tree *a, const tree *b) {
  if (strcmp(a->name, b->name) != 0 || a->count != b->count) return false;
  for (uint32_t i = 0; i < a->count; i++)
    if (!tree_same(a->kids[i], b->kids[i])) return false;
  return true;
}

typedef struct tree_bindings {
  const char *names[TREE_MAX_VARS];
  const tree *values[TREE_MAX_VARS];
  uint32_t count;
} tree_bindings;

static bool tree_matches(const tree *pattern, const tree *t, tree_bindings *b) {
  if (pattern->name[0] == '?') {
    for (uint32_t i = 0; i < b->count; i++)
      if (strcmp(b->names[i], pattern->name) == 0) return tree_same(b->values[i], t);
    assert_true(b->count < TREE_MAX_VARS);
    b->names[b->count] = pattern->name;
    b->values[b->count++] = t;
    return true;
  }
  if (strcmp(pattern->name, t->name) != 0 || pattern->count != t->count) return false;
  for (uint32_t i = 0; i < t->count; i++)
    if (!tree_matches(pattern->kids[i], t->kids[i], b)) return false;
  return true;
}

/// Goes down a position in two trees that are the same beside it.
static inline void tree_go_down(const tree **a, const tree **b, const uint32_t *position,
                                uint32_t depth) {
  for (uint32_t level = 0; level < depth; level++) {
    assert_string_equal((*a)->name, (*b)->name);
    assert_int_equal((*a)->count, (*b)->count);
    assert_true(position[level] < (*a)->count);
    for (uint32_t i = 0; i < (*a)->count; i++)
      if (i != position[level]) assert_true(tree_same((*a)->kids[i], (*b)->kids[i]));
    const tree *next = (*a)->kids[position[level]];
    *b = (*b)->kids[position[level]];
    *a = next;
  }
}

/// Whether left = right is an instance of a rule.
static inline bool tree_is_instance(const tree *lhs, const tree *rhs, const tree *left,
                                    const tree *right) {
  tree_bindings bindings = {.count = 0};
  return tree_matches(lhs, left, &bindings) && tree_matches(rhs, right, &bindings);
}

#endif
