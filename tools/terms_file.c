// The kind follows from the first byte: JSON begins with a bracket, perhaps behind
// blanks, or is gzip. Everything else, a file that cannot be read too, is left to the
// reader of binary files, which says what is wrong.
// SPDX-License-Identifier: Apache-2.0
#include "tools/terms_file.h"

#include <stdlib.h>
#include <string.h>

enum { GZIP_FIRST = 0x1f };

typedef struct root_list {
  egraph_class *items;
  size_t count, room;
  bool complete; // there was memory for all
} root_list;

static void add_root(void *user, egraph_class root) {
  root_list *roots = user;
  if (roots->count == roots->room) {
    size_t room = 2 * roots->room + 8;
    egraph_class *grown = realloc(roots->items, room * sizeof *grown);
    roots->complete = roots->complete && grown != NULL;
    if (grown == NULL) return;
    roots->items = grown;
    roots->room = room;
  }
  roots->items[roots->count++] = root;
}

static bool is_json(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return false;
  int byte;
  do
    byte = fgetc(file);
  while (byte > 0 && strchr(" \t\r\n", byte) != NULL);
  (void)fclose(file);
  return byte == '{' || byte == '[' || byte == GZIP_FIRST;
}

static egraph_status
hand_over(const egraph_terms *terms, const root_list *roots,
          void (*added)(void *user, const char *term, egraph_class root), void *user) {
  for (size_t i = 0; i < roots->count; i++) {
    char *text = NULL;
    egraph_status status =
        egraph_terms_smallest(NULL, terms, roots->items[i], &text, NULL);
    if (status != EGRAPH_OK && status != EGRAPH_E_UNSUPPORTED) return status;
    added(user, text != NULL ? text : "(a term too large to write)", roots->items[i]);
    egraph_string_free(NULL, text);
  }
  return roots->complete ? EGRAPH_OK : EGRAPH_E_MEMORY;
}

egraph_status terms_file_load(const char *path,
                              void (*added)(void *user, const char *term,
                                            egraph_class root),
                              void *user, egraph_terms **out) {
  if (!is_json(path)) return egraph_terms_load(NULL, path, out);
  root_list roots = {.complete = true};
  egraph_terms *terms = NULL;
  egraph_status status = egraph_terms_load_json(NULL, path, add_root, &roots, &terms);
  if (status == EGRAPH_OK) status = hand_over(terms, &roots, added, user);
  if (status == EGRAPH_OK)
    *out = terms;
  else
    egraph_terms_destroy(terms);
  free(roots.items);
  return status;
}
