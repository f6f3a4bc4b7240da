// Tries a union in an e-graph of plain terms and undoes it: saved states, look-ups, the
// checker of invariants, and the e-graph as bytes.
//
//   13_terms_states
// SPDX-License-Identifier: Apache-2.0
#include "egraph.h"

#include <inttypes.h>

typedef struct scene {
  egraph_terms *terms;
  egraph_symbol f;
  egraph_class a, b;
} scene;

static egraph_status build_scene(scene *s) {
  egraph_class sum;
  egraph_status status = egraph_terms_add(s->terms, "term", "(+ (f a) (f b))", &sum);
  if (status == EGRAPH_OK) status = egraph_terms_add(s->terms, "term", "a", &s->a);
  if (status == EGRAPH_OK) status = egraph_terms_add(s->terms, "term", "b", &s->b);
  if (status == EGRAPH_OK) status = egraph_terms_symbol(s->terms, "f", &s->f);
  return status == EGRAPH_OK ? egraph_terms_rebuild(s->terms) : status;
}

/// Prints whether (f a) and (f b) are in one class.
static void print_images(const scene *s, const char *when) {
  egraph_class of_a = {0}, of_b = {0};
  bool found = egraph_terms_find_node(s->terms, s->f, &s->a, 1, &of_a) &&
               egraph_terms_find_node(s->terms, s->f, &s->b, 1, &of_b);
  printf("%s: (f a) and (f b) are %s\n", when,
         !found ? "absent"
         : egraph_terms_find(s->terms, of_a).id == egraph_terms_find(s->terms, of_b).id
             ? "equal"
             : "different");
}

/// Unites a and b after saving the state; the caller keeps or drops the union.
static egraph_status try_union(scene *s) {
  egraph_status status = egraph_terms_push(s->terms);
  if (status == EGRAPH_OK) status = egraph_terms_unite(s->terms, s->a, s->b, NULL);
  if (status == EGRAPH_OK) status = egraph_terms_rebuild(s->terms);
  print_images(s, "with a = b");
  return status;
}

static egraph_status copy_by_bytes(const scene *s) {
  void *bytes = NULL;
  size_t size = 0;
  egraph_terms *copy = NULL;
  egraph_status status = egraph_terms_pack(NULL, s->terms, &bytes, &size);
  if (status == EGRAPH_OK) status = egraph_terms_parse(NULL, "copy", bytes, size, &copy);
  if (status == EGRAPH_OK) status = egraph_terms_check(copy);
  if (status == EGRAPH_OK)
    printf("the copy has %" PRIu32 " classes\n", egraph_terms_info_of(copy).classes);
  egraph_bytes_free(NULL, bytes, size);
  egraph_terms_destroy(copy);
  return status;
}

static egraph_status run_scene(scene *s) {
  egraph_status status = build_scene(s);
  print_images(s, "at first");
  if (status == EGRAPH_OK) status = try_union(s);
  if (status == EGRAPH_OK) status = egraph_terms_pop(s->terms);
  print_images(s, "taken back");
  if (status == EGRAPH_OK) status = try_union(s);
  if (status == EGRAPH_OK) status = egraph_terms_drop(s->terms);
  print_images(s, "kept");
  return status == EGRAPH_OK ? copy_by_bytes(s) : status;
}

int main(void) {
  scene s = {0};
  egraph_status status = egraph_terms_create(NULL, &s.terms);
  if (status == EGRAPH_OK) status = run_scene(&s);
  if (status != EGRAPH_OK) fprintf(stderr, "%s\n", egraph_last_error());
  egraph_terms_destroy(s.terms);
  return status == EGRAPH_OK ? 0 : 1;
}
