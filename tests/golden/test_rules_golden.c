// The rules that are shipped, by file and name, and what saturation with them makes of
// two small graphs: an unplanned change of rules or search shows as a difference of
// rules.golden. Likewise instances.golden: which instances of them are drawn, which must
// not depend on the compiler. EG_TEST_UPDATE=1 writes these files anew; review the
// difference.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "base/hash.h"
#include "rewrites/lab/instances/instance_draw.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/language/rule_ast.h"
#include "rewrites/saturation/saturate.h"
#include "tests/testing.h"

#define GOLDEN EG_SOURCE_DIR "/tests/golden/rules.golden"
#define INSTANCES EG_SOURCE_DIR "/tests/golden/instances.golden"

static eg_rules *load_rules(void) {
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  return rules;
}

static void list_rules(const eg_rules *rules, eg_text *out) {
  const char *file = "";
  for (uint32_t i = 0; i < eg_rules_count(rules); i++) {
    const eg_rule *rule = eg_rules_at(rules, i);
    if (rule->reversed) continue;
    if (strcmp(rule->file, file) != 0)
      assert_ok(eg_text_printf(out, "%s%s\n", rule->file, rule->enabled ? "" : " (off)"));
    file = rule->file;
    assert_ok(eg_text_printf(out, "  %s%s\n", rule->name,
                             rule->both_ways ? " (both ways)" : ""));
  }
  for (uint32_t i = 0; i < eg_rules_implied_count(rules); i++) {
    const eg_rule *rule = eg_rules_implied_at(rules, i);
    if (strcmp(rule->file, file) != 0)
      assert_ok(eg_text_printf(out, "%s (implied)\n", rule->file));
    file = rule->file;
    assert_ok(eg_text_printf(out, "  %s\n", rule->name));
  }
}

// A block of a convolutional network, and parts of a transformer as exporters spell them.
static const char residual_block[] =
    "(egraph-graph 1)\n"
    "(input x \"float32[1,8,6,6]\")\n"
    "(weight w \"float32[8,8,3,3]\") (weight g \"float32[8]\") (weight b "
    "\"float32[8]\")\n"
    "(weight m \"float32[8]\") (weight v \"float32[8]\")\n"
    "(let c (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] x w))\n"
    "(let n (batch-normalization c g b m v))\n"
    "(let s (add n x))\n"
    "(let r (relu s))\n"
    "(output r)\n";

static const char transformer_parts[] =
    "(egraph-graph 1)\n"
    "(input x \"float32[2,4,8]\")\n"
    "(weight q \"float32[8,8]\") (weight k \"float32[8,8]\") (weight v "
    "\"float32[8,8]\")\n"
    "(weight two \"float32[]\" [2.0]) (weight eps \"float32[]\" [0.0009765625])\n"
    "(weight root \"float32[]\" [1.41421354]) (weight one \"float32[]\" [1.0])\n"
    "(weight half \"float32[]\" [0.5]) (weight scale \"float32[]\" [0.25])\n"
    "(let m (reduce-mean :axes [2] x)) (let d (sub x m)) (let p (pow d two))\n"
    "(let w (reduce-mean :axes [2] p)) (let e (add w eps)) (let s (sqrt e))\n"
    "(let n (div d s))\n"
    "(let a (matmul n q)) (let b (matmul n k)) (let c (matmul n v))\n"
    "(let t (transpose :perm [0 2 1] b)) (let u (matmul a t)) (let y (mul u scale))\n"
    "(let z (softmax :axis -1 y)) (let o (matmul z c))\n"
    "(let f (div o root)) (let h (erf f)) (let i (add h one)) (let j (mul o i))\n"
    "(let g (mul j half))\n"
    "(output g)\n";

static void saturate(const eg_rules *rules, const char *name, const char *text,
                     eg_text *out) {
  eg_graph *graph;
  eg_tensor_egraph *egraph;
  assert_ok(eg_graph_parse(NULL, name, text, strlen(text), &graph));
  assert_ok(eg_tensor_egraph_create(NULL, graph, &egraph));
  eg_saturation_options options = EG_SATURATION_OPTIONS_DEFAULT;
  eg_saturation_report report;
  assert_ok(eg_saturate(egraph, rules, &options, &report));
  assert_ok(eg_text_printf(out, "%s: %u nodes, %u classes, %u iterations, %s\n", name,
                           report.nodes, report.classes, report.iterations,
                           eg_stop_name(report.stop)));
  for (uint32_t i = 0; i < report.rule_count; i++)
    if (report.rules[i].nodes > 0 || report.rules[i].unions > 0)
      assert_ok(eg_text_printf(out, "  %s: %u nodes, %u unions\n", eg_rule_name(rules, i),
                               report.rules[i].nodes, report.rules[i].unions));
  eg_saturation_report_deinit(&report);
  eg_tensor_egraph_destroy(egraph);
  eg_graph_destroy(graph);
}

static void write_report(const eg_rules *rules, eg_text *out) {
  list_rules(rules, out);
  saturate(rules, "residual-block", residual_block, out);
  saturate(rules, "transformer-parts", transformer_parts, out);
}

static void rules_and_search_are_as_recorded(void **state) {
  (void)state;
  eg_rules *rules = load_rules();
  eg_text found;
  eg_text_init(&found, eg_allocator_heap());
  write_report(rules, &found);
  test_golden(GOLDEN, eg_text_of(&found));
  eg_text_deinit(&found);
  eg_rules_destroy(rules);
}

// ---- instances ----------------------------------------------------------------------

typedef struct file_draws {
  uint32_t found, typed;
  uint64_t hash; // of the types of leaves
} file_draws;

static void note_instance(const eg_verify_instance *instance, file_draws *out) {
  const eg_rule *rule = instance->rule;
  out->found++;
  for (uint32_t i = 0; i < rule->var_count; i++) {
    const eg_type *type = &instance->leaves[i].type;
    if (rule->vars[i].kind != EG_RULE_TENSOR ||
        rule->vars[i].origin != EG_RULE_VAR_MATCHED)
      continue;
    out->hash = eg_hash_combine(out->hash, (uint64_t)type->dtype);
    for (uint32_t d = 0; d < type->rank; d++)
      out->hash = eg_hash_combine(out->hash, (uint64_t)type->dims[d]);
  }
}

static void draw_instances(const eg_rule *rule, file_draws *out) {
  enum { DRAWS = 32 };
  egraph_allocator alloc = eg_allocator_heap();
  eg_verify_draws *draws;
  egraph_status status = eg_verify_draws_create(&alloc, rule, 1, &draws);
  if (status == EGRAPH_E_UNSUPPORTED) return; // of parallel operators
  assert_ok(status);
  for (int i = 0; i < DRAWS; i++) {
    bool is_found, is_typed;
    eg_verify_instance instance;
    assert_ok(eg_verify_draw(draws, &is_found, &is_typed, &instance));
    if (!is_found) continue;
    note_instance(&instance, out);
    out->typed += is_typed;
  }
  eg_verify_draws_destroy(draws);
}

static void instances_are_as_recorded(void **state) {
  (void)state;
  eg_rules *rules = load_rules();
  eg_text found;
  eg_text_init(&found, eg_allocator_heap());
  for (uint32_t i = 0; i < eg_rules_count(rules);) {
    const char *file = eg_rules_at(rules, i)->file;
    file_draws draws = {0};
    for (; i < eg_rules_count(rules) && strcmp(eg_rules_at(rules, i)->file, file) == 0;
         i++)
      draw_instances(eg_rules_at(rules, i), &draws);
    assert_ok(eg_text_printf(&found, "%s: %u instances, %u well-typed, %016" PRIx64 "\n",
                             file, draws.found, draws.typed, draws.hash));
  }
  test_golden(INSTANCES, eg_text_of(&found));
  eg_text_deinit(&found);
  eg_rules_destroy(rules);
}

// The canonical form of all rules is read back as the same rules.
static void printing_all_rules_inverts_parsing(void **state) {
  (void)state;
  eg_rules *rules = load_rules(), *again;
  eg_text first, second;
  eg_text_init(&first, eg_allocator_heap());
  eg_text_init(&second, eg_allocator_heap());
  assert_ok(eg_rules_print(rules, &first));
  assert_ok(eg_rules_create_checked(NULL, &again));
  assert_ok(eg_rules_parse(again, "printed.rules", eg_text_of(&first), first.chars.len));
  assert_int_equal(eg_rules_count(again), eg_rules_count(rules));
  assert_ok(eg_rules_print(again, &second));
  assert_string_equal(eg_text_of(&first), eg_text_of(&second));
  eg_text_deinit(&first);
  eg_text_deinit(&second);
  eg_rules_destroy(again);
  eg_rules_destroy(rules);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rules_and_search_are_as_recorded),
      cmocka_unit_test(instances_are_as_recorded),
      cmocka_unit_test(printing_all_rules_inverts_parsing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
