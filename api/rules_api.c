// Public functions of rewrite rules and plain expressions.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "rewrites/symbolic.h"
#include "rewrites/verify.h"

egraph_status egraph_rules_create(const egraph_allocator *alloc, egraph_rules **out) {
  return eg_rules_create(alloc, out);
}

void egraph_rules_destroy(egraph_rules *rules) { eg_rules_destroy(rules); }

egraph_status egraph_rules_add_builtin(egraph_rules *rules) {
  return eg_rules_add_builtin(rules);
}

egraph_status egraph_rules_add_file(egraph_rules *rules, const char *path) {
  return eg_rules_load(rules, path);
}

egraph_status egraph_rules_add_text(egraph_rules *rules, const char *name,
                                    const char *text) {
  return eg_rules_parse(rules, name, text, strlen(text));
}

egraph_status egraph_rules_enable(egraph_rules *rules, const char *name, bool on) {
  return eg_rules_enable(rules, name, on);
}

uint32_t egraph_rules_count(const egraph_rules *rules) { return eg_rules_count(rules); }

egraph_rule_info egraph_rules_at(const egraph_rules *rules, uint32_t index) {
  return (egraph_rule_info){.name = eg_rule_name(rules, index),
                            .source = eg_rule_source(rules, index),
                            .file = eg_rule_file(rules, index),
                            .line = eg_rule_line(rules, index)};
}

egraph_status egraph_rules_verify(const egraph_rules *rules, uint64_t seed,
                                  void (*report)(void *user, const char *rule,
                                                 bool accepted, const char *detail),
                                  void *user, uint32_t *out_rejected) {
  return eg_rules_verify(rules, seed, report, user, out_rejected);
}

egraph_status egraph_rules_text(const egraph_allocator *alloc, const egraph_rules *rules,
                                char **out) {
  eg_text text;
  eg_text_init(&text, eg_allocator_or_heap(alloc));
  egraph_status status = eg_rules_print(rules, &text);
  if (status == EGRAPH_OK) status = eg_text_take(&text, out);
  eg_text_deinit(&text);
  return status;
}

// ---- plain expressions ----------------------------------------------------------

// The node limit alone ends the search (and the bytes that a machine can spare): with a
// time limit the answer would depend on the machine.
static egraph_status saturate(eg_symbolic *symbolic, uint32_t node_limit) {
  eg_saturation_options options = EG_SATURATION_OPTIONS_DEFAULT;
  options.node_limit = node_limit;
  options.iteration_limit = UINT32_MAX;
  options.time_limit_seconds = INFINITY;
  eg_saturation_report report;
  egraph_status status = eg_symbolic_saturate(symbolic, &options, &report);
  eg_saturation_report_deinit(&report);
  return status;
}

static egraph_status simplify(eg_symbolic *symbolic, const char *rules_text,
                              const char *term, uint32_t node_limit, eg_text *out) {
  eg_class root;
  uint64_t size;
  EG_TRY(eg_symbolic_add_rules(symbolic, "rules", rules_text, strlen(rules_text)));
  EG_TRY(eg_symbolic_add_term(symbolic, "term", term, strlen(term), &root));
  EG_TRY(saturate(symbolic, node_limit));
  return eg_symbolic_smallest(symbolic, root, out, &size);
}

egraph_status egraph_expression_simplify(const egraph_allocator *alloc,
                                         const char *rules_text, const char *term,
                                         uint32_t node_limit, char **out) {
  eg_symbolic *symbolic;
  EG_TRY(eg_symbolic_create(alloc, &symbolic));
  eg_text text;
  eg_text_init(&text, eg_allocator_or_heap(alloc));
  egraph_status status = simplify(symbolic, rules_text, term, node_limit, &text);
  if (status == EGRAPH_OK) status = eg_text_take(&text, out);
  eg_text_deinit(&text);
  eg_symbolic_destroy(symbolic);
  return status;
}
