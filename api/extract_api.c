// Public functions of extraction from serialized e-graphs.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "api/arguments.h"
#include "base/file.h"
#include "base/owner.h"
#include "extract/presolve/presolve.h"
#include "extract/problem.h"
#include "extract/search/extract.h"
#include "extract/search/lp_format.h"

EG_HOLDER_DEFINE(egraph_extraction)

struct egraph_extraction {
  egraph_allocator alloc;
  eg_extract_problem problem;
  eg_gym_names names;
  eg_extract_result result;
  bool has_run;
  eg_u32s chosen; // classes with a choice
};

#define OWNED (eg_gym_names, names), (eg_extract_result, result), (eg_u32s, chosen)

// ---- the e-graph -----------------------------------------------------------------

egraph_status egraph_extraction_load(const egraph_allocator *alloc, const char *path,
                                     egraph_extraction **out) {
  EG_REQUIRE(path, out);
  EG_HELD(egraph_extraction, extraction);
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  EG_TRY(eg_alloc(heap, 1, sizeof *extraction, &extraction));
  extraction->alloc = heap;
  EG_INIT_MEMBERS(extraction, heap, OWNED)
  egraph_status status = eg_extract_problem_init(&extraction->problem, heap);
  if (status == EGRAPH_OK)
    status = eg_gym_json_read(path, &extraction->problem, &extraction->names);
  EG_HAND_OVER(status, extraction, out);
}

void egraph_extraction_destroy(egraph_extraction *extraction) {
  if (extraction == NULL) return;
  EG_DEINIT_MEMBERS(extraction, OWNED, (eg_extract_problem, problem))
  eg_free(extraction->alloc, extraction, 1, sizeof *extraction);
}

// ---- options ---------------------------------------------------------------------

#define PASS_ROW(id, name, run, stage, text) {name, text},
static const egraph_extract_pass_info PASSES[] = {EG_EXTRACT_PASS_LIST(PASS_ROW)};
#undef PASS_ROW

egraph_extract_pass_info egraph_extract_pass(uint32_t index) {
  return index < EG_PASS_COUNT ? PASSES[index] : (egraph_extract_pass_info){NULL, NULL};
}

static egraph_status find_pass(const char *name, size_t length, uint32_t *out_bit) {
  for (uint32_t i = 0; i < EG_PASS_COUNT; i++)
    if (strlen(PASSES[i].name) == length && memcmp(PASSES[i].name, name, length) == 0) {
      *out_bit = UINT32_C(1) << i;
      return EGRAPH_OK;
    }
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "no presolve pass '%.*s'; the first are %s, %s, %s (see "
                 "egraph_extract_pass)",
                 (int)length, name, PASSES[0].name, PASSES[1].name, PASSES[2].name);
}

// Reads a list of solver passes: "a,b" enables only these, "-a,-b" all but these. A list
// with both forms is an error.
static egraph_status parse_passes(const char *list, uint32_t *out_disabled) {
  uint32_t on = 0, off = 0;
  for (const char *at = list; at != NULL && *at != '\0';) {
    bool minus = *at == '-';
    at += minus;
    size_t length = strcspn(at, ",");
    uint32_t bit = 0;
    EG_TRY(find_pass(at, length, &bit));
    *(minus ? &off : &on) |= bit;
    at += length;
    if (*at == ',') at++;
  }
  if (on != 0 && off != 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "presolve passes '%s': name those to run, or those to leave out, each "
                   "with a '-', not both",
                   list);
  *out_disabled = on != 0 ? ~on : off;
  return EGRAPH_OK;
}

#define METHOD_ROW(id, name, text) name,
static const char *const METHODS[] = {EG_EXTRACT_METHOD_LIST(METHOD_ROW)};
#undef METHOD_ROW

static egraph_status parse_method(const char *name, eg_extract_method *out) {
  for (size_t i = 0; name != NULL && i < sizeof METHODS / sizeof *METHODS; i++)
    if (strcmp(METHODS[i], name) == 0) {
      *out = (eg_extract_method)i;
      return EGRAPH_OK;
    }
  if (name == NULL) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT, "no extractor '%s'; there are ilp, dag and tree",
                 name);
}

static egraph_status convert_options(const egraph_extract_options *given,
                                     eg_extract_options *out) {
  egraph_extract_options options;
  EG_TRY(eg_options_take(EGRAPH_EXTRACT_OPTIONS, given, &options));
  *out = (eg_extract_options)EG_EXTRACT_OPTIONS_DEFAULT;
  EG_TRY(parse_method(options.extractor, &out->method));
  EG_TRY(parse_passes(options.passes, &out->disabled_passes));
  if (options.time_limit != 0) out->time_limit_seconds = options.time_limit;
  out->work_limit = options.work_limit;
  out->relative_gap = options.relative_gap;
  out->seed = options.seed;
  out->threads = options.threads;
  out->progress = options.progress;
  out->user = options.user;
  out->certificate = options.certificate;
  return EGRAPH_OK;
}

// ---- runs and results ------------------------------------------------------------

static void forget(egraph_extraction *extraction) {
  extraction->has_run = false;
  extraction->chosen.len = 0;
  eg_extract_result_deinit(&extraction->result);
  eg_extract_result_init(&extraction->result, extraction->alloc);
}

egraph_status egraph_extraction_run(egraph_extraction *extraction,
                                    const egraph_extract_options *options) {
  EG_REQUIRE(extraction);
  eg_extract_options inner;
  EG_TRY(convert_options(options, &inner));
  if (inner.certificate != NULL) EG_TRY(eg_file_remove(inner.certificate));
  forget(extraction);
  egraph_status status = eg_extract_solve(extraction->alloc, &extraction->problem, &inner,
                                          &extraction->result);
  const eg_u32s *choice = &extraction->result.choice;
  for (uint32_t c = 0; status == EGRAPH_OK && c < choice->len; c++)
    if (choice->data[c] != EG_EXTRACT_NONE) status = eg_u32s_push(&extraction->chosen, c);
  if (status != EGRAPH_OK) forget(extraction);
  extraction->has_run = status == EGRAPH_OK;
  return status;
}

static const char *status_name(eg_extract_status status) {
  switch (status) {
  case EG_EXTRACT_OPTIMAL: return "optimal";
  case EG_EXTRACT_FEASIBLE: return "feasible";
  case EG_EXTRACT_INFEASIBLE: return "infeasible";
  }
  return "none";
}

egraph_extract_report egraph_extraction_report(const egraph_extraction *extraction) {
  if (extraction == NULL) return (egraph_extract_report){.status = "none"};
  const eg_extract_result *r = &extraction->result;
  egraph_extract_report report = {.status = extraction->has_run ? status_name(r->status)
                                                                : "none",
                                  .cost = r->cost,
                                  .bound = r->bound,
                                  .gap = r->gap,
                                  .tree_cost = r->tree_cost,
                                  .dag_cost = r->dag_cost,
                                  .seconds = r->seconds,
                                  .nodes = eg_extract_node_count(&extraction->problem),
                                  .classes = extraction->problem.class_count,
                                  .reduced_nodes = r->reduced_nodes,
                                  .reduced_classes = r->reduced_classes,
                                  .certified = r->certified,
                                  .work = r->work / 1000000,
                                  .roots_left_out = extraction->names.roots_left_out};
  memcpy(report.part_seconds, r->part_seconds, sizeof report.part_seconds);
  return report;
}

uint32_t egraph_extraction_choice_count(const egraph_extraction *extraction) {
  return extraction != NULL ? (uint32_t)extraction->chosen.len : 0;
}

egraph_extract_choice egraph_extraction_choice(const egraph_extraction *extraction,
                                               uint32_t index) {
  if (index >= egraph_extraction_choice_count(extraction))
    return (egraph_extract_choice){NULL, NULL};
  uint32_t class = *eg_u32s_at(&extraction->chosen, index);
  return (egraph_extract_choice){
      eg_gym_class_name(&extraction->names, class),
      eg_gym_node_name(&extraction->names, extraction->result.choice.data[class])};
}

egraph_status egraph_extraction_save_lp(egraph_extraction *extraction,
                                        const egraph_extract_options *options,
                                        const char *path) {
  EG_REQUIRE(extraction, path);
  eg_extract_options inner;
  EG_TRY(convert_options(options, &inner));
  EG_LOCAL(eg_text, text, extraction->alloc);
  EG_TRY(eg_lp_format_reduced(extraction->alloc, &extraction->problem, &inner,
                              extraction->result.cost, &text));
  return eg_file_write(path, eg_text_of(&text), text.chars.len);
}

egraph_status egraph_extraction_try_passes(
    egraph_extraction *extraction, const egraph_extract_options *options,
    void (*report)(void *user, uint32_t pass, const egraph_extract_pass_report *detail),
    void *user) {
  EG_REQUIRE(extraction);
  EG_REQUIRE_CALL(report);
  eg_extract_options inner;
  eg_pass_statistics passes[EG_PASS_COUNT];
  uint32_t nodes, classes;
  EG_TRY(convert_options(options, &inner));
  EG_TRY(eg_pass_statistics_run(extraction->alloc, &extraction->problem, &inner,
                                extraction->result.cost, passes, &nodes, &classes));
  for (uint32_t i = 0; i < EG_PASS_COUNT; i++) {
    const eg_pass_statistics *p = &passes[i];
    egraph_extract_pass_report detail = {p->runs, p->seconds, p->nodes, p->classes,
                                         p->edges};
    report(user, i, &detail);
  }
  return EGRAPH_OK;
}
