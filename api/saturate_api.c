// Public functions that saturate and search e-graphs of plain terms.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "api/arguments.h"
#include "api/terms.h"
#include "rewrites/terms/symbolic.h"

// ---- saturation ------------------------------------------------------------------

// The caller's functions, and whether one of them asked to stop.
typedef struct listener {
  const egraph_terms_options *options;
  uint32_t iteration;
  bool stop;
} listener;

static void on_iteration(void *user, const eg_iteration_stats *stats) {
  listener *l = user;
  egraph_terms_iteration iteration = {.iteration = l->iteration++,
                                      .nodes = stats->nodes,
                                      .classes = stats->classes,
                                      .matches = stats->matches,
                                      .search_seconds = stats->search_seconds,
                                      .apply_seconds = stats->apply_seconds,
                                      .rebuild_seconds = stats->rebuild_seconds};
  if (l->options->on_iteration != NULL &&
      l->options->on_iteration(l->options->user, &iteration))
    l->stop = true;
}

static bool on_progress(void *user, uint32_t iteration, uint32_t nodes,
                        uint32_t classes) {
  const listener *l = user;
  return l->stop || (l->options->progress != NULL &&
                     l->options->progress(l->options->user, iteration, nodes, classes));
}

static bool use_rule(void *user, uint32_t rule) {
  const listener *l = user;
  return l->options->policy(l->options->user, rule).enabled;
}

static eg_rule_policy policy_of(void *user, uint32_t rule) {
  const listener *l = user;
  egraph_rule_policy policy = l->options->policy(l->options->user, rule);
  return (eg_rule_policy){.priority = policy.priority, .cost = policy.cost};
}

static egraph_status translate(const egraph_terms_options *from,
                               eg_saturation_options *out) {
  const char *scheduler = from->scheduler != NULL ? from->scheduler : "backoff";
  eg_scheduler kind;
  EG_TRY(eg_scheduler_find(scheduler, &kind));
  if (isnan(from->time_limit) || from->time_limit < 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "the time limit must be 0 or more seconds");
  *out = (eg_saturation_options){.node_limit = from->node_limit,
                                 .iteration_limit = from->iteration_limit,
                                 .time_limit_seconds = from->time_limit,
                                 .byte_limit = from->byte_limit,
                                 .scheduler = kind,
                                 .match_limit = from->match_limit,
                                 .ban_length = from->ban_length,
                                 .naive = from->naive,
                                 .threads = from->threads,
                                 .rollback = from->rollback,
                                 .progress = on_progress,
                                 .on_iteration = on_iteration};
  return EGRAPH_OK;
}

static egraph_terms_report report_of(const eg_saturation_report *r) {
  egraph_terms_report report = {.stop = eg_stop_name(r->stop),
                                .iterations = r->iterations,
                                .nodes = r->nodes,
                                .classes = r->classes,
                                .seconds = r->seconds,
                                .peak_bytes = r->peak_bytes,
                                .rolled_back = r->rolled_back};
  for (uint32_t i = 0; i < r->rule_count; i++)
    report.matches += r->rules[i].matches;
  return report;
}

egraph_status egraph_terms_saturate(egraph_terms *terms,
                                    const egraph_terms_options *options,
                                    egraph_terms_report *out_report) {
  EG_REQUIRE(terms);
  egraph_terms_options own;
  EG_TRY(eg_options_take(EGRAPH_TERMS_OPTIONS, options, &own));
  listener l = {.options = &own};
  eg_saturation_options inner;
  EG_TRY(translate(l.options, &inner));
  inner.user = inner.on_iteration_user = inner.use_rule_user = inner.policy_user = &l;
  if (l.options->policy != NULL) {
    inner.use_rule = use_rule;
    inner.policy = policy_of;
  }
  eg_saturation_report_deinit(&terms->last);
  EG_TRY(eg_symbolic_saturate(terms->symbolic, &inner, &terms->last));
  if (out_report != NULL) *out_report = report_of(&terms->last);
  return EGRAPH_OK;
}

egraph_rule_report egraph_terms_rule(const egraph_terms *terms, uint32_t index) {
  if (index >= egraph_terms_rule_count(terms)) return (egraph_rule_report){.name = NULL};
  egraph_rule_report report = {.name = eg_symbolic_rule_at(terms->symbolic, index)->name};
  if (index >= terms->last.rule_count) return report;
  const eg_rule_stats *stats = &terms->last.rules[index];
  report.matches = stats->matches;
  report.rejected = stats->rejected;
  report.nodes = stats->nodes;
  report.unions = stats->unions;
  report.bans = stats->bans;
  report.seconds = stats->seconds;
  return report;
}

// ---- search ----------------------------------------------------------------------

typedef struct search {
  bool (*report)(void *user, const egraph_terms_match *match);
  void *user;
  egraph_terms_match match;
  egraph_class *classes; // roots, then variables
  uint64_t count;
} search;

static egraph_status on_match(void *user, const eg_match *match, bool *stop) {
  search *s = user;
  s->count++;
  if (s->report == NULL) return EGRAPH_OK;
  uint32_t roots = s->match.root_count;
  for (uint32_t i = 0; i < roots; i++)
    s->classes[i].id = match->roots[i].id;
  for (uint32_t i = 0; i < s->match.variable_count; i++)
    s->classes[roots + i].id = match->vars[i].id;
  *stop = s->report(s->user, &s->match);
  return EGRAPH_OK;
}

static egraph_status search_compiled(egraph_terms *terms,
                                     const eg_symbolic_pattern *pattern, search *s) {
  EG_LOCAL(eg_arena, arena, terms->alloc);
  EG_NEW(&arena, (size_t)pattern->root_count + pattern->var_count, s->classes);
  s->match = (egraph_terms_match){.roots = s->classes,
                                  .variables = s->classes + pattern->root_count,
                                  .names = pattern->names,
                                  .root_count = pattern->root_count,
                                  .variable_count = pattern->var_count};
  eg_search how = {.on_match = on_match, .user = s};
  return eg_matcher_search(pattern->matcher, eg_symbolic_engine_of(terms->symbolic),
                           &how);
}

egraph_status egraph_terms_search(egraph_terms *terms, const char *pattern,
                                  bool (*report)(void *user,
                                                 const egraph_terms_match *match),
                                  void *user, uint64_t *out_count) {
  EG_REQUIRE(terms, pattern);
  EG_TRY(eg_terms_check_clean(terms));
  eg_symbolic_pattern compiled;
  search s = {.report = report, .user = user};
  egraph_status status = eg_symbolic_pattern_init(
      &compiled, terms->symbolic, terms->alloc, "pattern", pattern, strlen(pattern));
  if (status == EGRAPH_OK) status = search_compiled(terms, &compiled, &s);
  eg_symbolic_pattern_deinit(&compiled);
  if (status == EGRAPH_OK && out_count != NULL) *out_count = s.count;
  return status;
}

// ---- plain expressions -----------------------------------------------------------

// Simplifies one term. Only the node limit (and the available memory) ends the search:
// with a time limit the answer would depend on the machine.
static egraph_status simplify(egraph_terms *terms, const char *rules_text,
                              const char *term, uint32_t node_limit, char **out) {
  egraph_class root;
  egraph_terms_options options = egraph_terms_options_default();
  options.node_limit = node_limit;
  options.iteration_limit = UINT32_MAX;
  options.time_limit = INFINITY;
  EG_TRY(egraph_terms_add_rule_text(terms, "rules", rules_text));
  EG_TRY(egraph_terms_add(terms, "term", term, &root));
  EG_TRY(egraph_terms_saturate(terms, &options, NULL));
  return egraph_terms_smallest(&terms->alloc, terms, root, out, NULL);
}

egraph_status egraph_expression_simplify(const egraph_allocator *alloc,
                                         const char *rules_text, const char *term,
                                         uint32_t node_limit, char **out) {
  EG_REQUIRE(rules_text, term, out);
  egraph_terms *terms;
  EG_TRY(egraph_terms_create(alloc, &terms));
  egraph_status status = simplify(terms, rules_text, term, node_limit, out);
  egraph_terms_destroy(terms);
  return status;
}
