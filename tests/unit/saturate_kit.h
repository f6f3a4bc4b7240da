// A tensor e-graph, its rules and their saturation, for tests.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_UNIT_SATURATE_KIT_H
#define EG_TESTS_UNIT_SATURATE_KIT_H

#include "rewrites/lab/rule_checks.h"
#include "rewrites/saturation/saturate.h"
#include "tests/testing.h"

#define HEAD "(egraph-rules 1)\n"
#define GRAPH "(egraph-graph 1)\n"

typedef struct fixture {
  eg_graph *graph;
  eg_tensor_egraph *egraph;
  eg_rules *rules;
  eg_saturation_options options;
  eg_saturation_report report;
} fixture;

static inline void open_fixture(fixture *f, const char *graph, const char *rules) {
  *f = (fixture){.options = EG_SATURATION_OPTIONS_DEFAULT};
  assert_ok(eg_graph_parse(NULL, "t.graph", graph, strlen(graph), &f->graph));
  assert_ok(eg_tensor_egraph_create(NULL, f->graph, &f->egraph));
  assert_ok(eg_rules_create_checked(NULL, &f->rules));
  assert_ok(eg_rules_parse(f->rules, "t.rules", rules, strlen(rules)));
}

static inline void close_fixture(fixture *f) {
  eg_saturation_report_deinit(&f->report);
  eg_rules_destroy(f->rules);
  eg_tensor_egraph_destroy(f->egraph);
  eg_graph_destroy(f->graph);
}

static inline void saturate(fixture *f) {
  eg_saturation_report_deinit(&f->report);
  assert_ok(eg_saturate(f->egraph, f->rules, &f->options, &f->report));
  assert_true(eg_engine_is_clean(eg_tensor_egraph_engine(f->egraph)));
  assert_ok(eg_engine_check(eg_tensor_egraph_engine(f->egraph)));
}

static inline eg_class class_of(const fixture *f, const char *name) {
  eg_value value;
  assert_true(eg_graph_find_value(f->graph, name, &value));
  return eg_tensor_egraph_value_class(f->egraph, value);
}
static inline bool equal(const fixture *f, const char *a, const char *b) {
  return eg_class_same(class_of(f, a), class_of(f, b));
}

static inline const eg_rule_stats *stats_of(const fixture *f, const char *rule) {
  uint32_t index;
  assert_true(eg_rules_find(f->rules, rule, &index));
  return &f->report.rules[index];
}

#endif
