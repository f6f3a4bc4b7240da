// SPDX-License-Identifier: Apache-2.0
#include "tools/trained_weights.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lists.h"
#include "tools/rank_tensors.h"

enum { MOST_NAMES = 8 }; // names printed for one reason

typedef struct weight_row {
  const char *name, *why; // why NULL: unknown
} weight_row;

typedef struct weight_list {
  const rank_run *run; // run whose plan determines the trained weights; NULL: the
                       // library does
  weight_row *rest;
  size_t rest_count, room;
  uint64_t trained;
  int64_t elements;
} weight_list;

static void add_rest(weight_list *list, const char *name, const char *why) {
  list->rest = list_grow(list->rest, list->rest_count, &list->room, sizeof *list->rest);
  list->rest[list->rest_count++] = (weight_row){name, why};
}

static void note_weight(void *user, const egraph_model_weight *weight) {
  weight_list *list = user;
  bool is_trained = weight->is_trained;
  if (list->run != NULL) {
    int32_t input = rank_run_find_input(list->run, weight->name);
    is_trained = input >= 0 && rank_run_carries(list->run, (uint32_t)input);
  }
  if (!is_trained)
    add_rest(list, weight->name, weight->is_trained ? "frozen" : weight->why);
  else
    list->trained++;
  list->elements += is_trained ? weight->elements : 0;
}

static bool is_float(egraph_dtype dtype) {
  return dtype == EGRAPH_FLOAT32 || dtype == EGRAPH_FLOAT64 || dtype == EGRAPH_FLOAT16 ||
         dtype == EGRAPH_BFLOAT16;
}

/// Lists the trained weights of a plan without a model. Unlike a model, a plan does not
/// say why other weights are not trained.
static void note_plan(weight_list *list) {
  const rank_run *r = list->run;
  for (uint32_t i = 0; i < r->input_count; i++) {
    if (!rank_run_carries(r, i) || rank_run_is_state(r, i)) continue;
    int64_t elements = 1;
    for (uint32_t d = 0; d < r->inputs[i].rank; d++)
      elements *= r->inputs[i].dims[d];
    list->trained++;
    list->elements += elements;
  }
  for (uint32_t i = 0; i < egraph_graph_info_of(r->graph).weights; i++) {
    const char *name;
    egraph_tensor weight;
    if (egraph_graph_weight(r->graph, i, &name, &weight) == EGRAPH_OK &&
        is_float(weight.dtype))
      add_rest(list, name, NULL);
  }
}

static bool same_why(const weight_row *a, const weight_row *b) {
  return a->why == b->why ||
         (a->why != NULL && b->why != NULL && strcmp(a->why, b->why) == 0);
}

/// Prints all weights with the same reason for not being trained as row `first`.
static void print_reason(const weight_list *list, size_t first) {
  size_t count = 0;
  for (size_t i = first; i < list->rest_count; i++) {
    if (!same_why(&list->rest[i], &list->rest[first])) continue;
    if (count++ < MOST_NAMES)
      show(stdout, "%s%s", count == 1 ? "" : ", ", list->rest[i].name);
  }
  if (count > MOST_NAMES) printf(", %zu more", count - MOST_NAMES);
  if (list->rest[first].why != NULL) printf(" (%s)", list->rest[first].why);
}

static void print_weights_text(const weight_list *list) {
  const char *separator = "; not: ";
  printf("trains      %" PRIu64 " %s of %" PRId64 " elements", list->trained,
         list->trained == 1 ? "weight" : "weights", list->elements);
  for (size_t i = 0; i < list->rest_count; i++) {
    bool is_first = true;
    for (size_t j = 0; j < i && is_first; j++)
      is_first = !same_why(&list->rest[i], &list->rest[j]);
    if (!is_first) continue;
    printf("%s", separator);
    print_reason(list, i);
    separator = "; ";
  }
  printf("\n");
}

static void print_weights_json(const weight_list *list) {
  JSON_MEMBERS(JSON("trained", list->trained),
               JSON("trained_elements", (uint64_t)list->elements));
  JSON_EACH("untrained", i, list->rest_count)
    JSON_OBJECT(NULL, JSON("name", list->rest[i].name), JSON("why", list->rest[i].why));
}

static egraph_status print_list(weight_list *list, egraph_status status, bool json) {
  if (status == EGRAPH_OK) (json ? print_weights_json : print_weights_text)(list);
  free(list->rest);
  return status;
}

egraph_status print_trained(const egraph_graph *model, const egraph_training *training) {
  weight_list list = {.run = NULL};
  egraph_status status = egraph_training_weights(model, training, note_weight, &list);
  return print_list(&list, status, false);
}

/// Prints how many weights have no values in a file and are drawn at random.
static void print_drawn(const rank_run *r) {
  uint64_t drawn = (uint64_t)r->drawn + egraph_graph_info_of(r->graph).absent_weights;
  if (r->flags->json)
    json_int("drawn_weights", drawn);
  else if (drawn != 0)
    printf("weights     %" PRIu64 " have no data and are drawn from seed %" PRIu64 "%s\n",
           drawn, r->flags->seed,
           r->model == NULL ? "; give the model with --weights" : "");
}

void rank_run_print_weights(const rank_run *r) {
  weight_list list = {.run = r};
  if (r->loss >= 0) {
    egraph_status status = EGRAPH_OK;
    if (r->model != NULL)
      status = egraph_training_weights(r->model, NULL, note_weight, &list);
    else
      note_plan(&list);
    (void)print_list(&list, status, r->flags->json);
    if (r->flags->json && r->model != NULL) (void)json_ties(NULL, r->model);
  }
  print_drawn(r);
}
