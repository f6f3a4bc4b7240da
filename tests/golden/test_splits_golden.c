// Along which dimensions every operator can be split, as ops/SPLITS.md tells users: from
// the case of ops_cases.def with the most splits. Why a dimension is not split is what
// eg_op_why_whole says, and it must say so. EG_TEST_UPDATE=1 writes that file anew;
// review the difference.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/parallel/strategy.h"
#include "tests/unit/ops_fixture.h"

#define GOLDEN EG_SOURCE_DIR "/ops/SPLITS.md"

static const char head[] =
    "# What can be split\n\n"
    "Written by `tests/golden/test_splits_golden.c` from the factors of the operators. "
    "Layouts of the operands and the result along one axis of\n"
    "a mesh: `S1`: dimension 1 is cut; `R`: all have it; `P`: partial sums, `M`: partial "
    "maxima; `+ rows`: with those of neighbours. Other axes\n"
    "may do something else at the same time; sizes must divide. Partial sums pass where "
    "an operator is linear. Whole are the dimensions of operand\n"
    "0, or of the result (`→`), that no split cuts here, and why that may be. Every row "
    "is "
    "executed on ranks and compared with one device\n"
    "(`tests/property/test_ranks_operators.c`).\n\n"
    "| operator | for example | split | partial sums pass | whole | why |\n"
    "|---|---|---|---|---|---|\n";

/// A case with its node and factors.
typedef struct sample {
  const ops_case *row;
  fixture f;
  eg_type results[FIXTURE_MAX_TYPES];
  eg_node_spec spec;
  eg_spread spread;
} sample;

static void sample_init(sample *s, const ops_case *row) {
  fixture_init(&s->f, row);
  s->row = row;
  assert_ok(eg_op_infer(&s->f.attrs, s->f.inputs, s->f.count, s->results));
  s->spec = (eg_node_spec){.attrs = &s->f.attrs,
                           .inputs = s->f.inputs,
                           .input_count = s->f.count,
                           .results = s->results,
                           .result_count = eg_op_results(&s->f.attrs)};
  assert_ok(eg_spread_init(&s->spec, &s->spread));
}

/// The least number of parts into which a size divides.
static uint32_t parts_of(int64_t size) {
  uint32_t parts = 2;
  while (size % parts != 0 && parts < size)
    parts++;
  return parts;
}

/// Whether the axis of a mesh of so many devices may take an action.
static bool combine(sample *s, uint8_t action, uint32_t parts, eg_mesh *mesh,
                    eg_strategy *out) {
  *mesh = (eg_mesh){.axis_count = 1, .axes = {{.name = "a", .size = parts}}};
  eg_node_spec local;
  return eg_spread_combine(&s->spread, mesh, &action, out) &&
         eg_spread_local(&s->spread, mesh, out, 0, &s->f.arena, &local) == EGRAPH_OK;
}

static void print_layouts(const sample *s, const eg_mesh *mesh,
                          const eg_strategy *strategy, eg_text *out) {
  eg_halo halos[EG_MAX_MESH_AXES];
  for (uint32_t i = 0; i < s->f.count; i++) {
    assert_ok(eg_layout_print(out, mesh, eg_strategy_input(strategy, i)));
    assert_ok(eg_text_append(out, " "));
  }
  assert_ok(eg_text_append(out, "→ "));
  assert_ok(eg_layout_print(out, mesh, &strategy->result));
  if (eg_spread_halos(&s->spread, mesh, strategy, halos) != 0)
    assert_ok(eg_text_append(out, " + rows"));
}

/// Adds an entry to a list unless it is there.
static void add_entry(eg_text *list, const char *entry) {
  char wanted[256];
  snprintf(wanted, sizeof wanted, "`%s`", entry);
  if (strstr(eg_text_of(list), wanted) != NULL) return;
  if (eg_text_of(list)[0] != '\0') assert_ok(eg_text_append(list, ", "));
  assert_ok(eg_text_append(list, wanted));
}

typedef struct lists {
  eg_text split, passes, whole;
  uint32_t splits;
  // dimensions that some split cuts, a bit each
  uint32_t cut[FIXTURE_MAX_TYPES], cut_result;
} lists;

static void lists_init(lists *l) {
  *l = (lists){.splits = 0};
  eg_text_init(&l->split, eg_allocator_heap());
  eg_text_init(&l->passes, eg_allocator_heap());
  eg_text_init(&l->whole, eg_allocator_heap());
}

static void lists_deinit(lists *l) {
  eg_text_deinit(&l->split);
  eg_text_deinit(&l->passes);
  eg_text_deinit(&l->whole);
}

static void list_action(sample *s, uint8_t action, uint32_t parts, eg_text *list,
                        lists *out) {
  eg_mesh mesh;
  eg_strategy strategy;
  eg_text entry;
  if (!combine(s, action, parts, &mesh, &strategy)) return;
  eg_text_init(&entry, eg_allocator_heap());
  print_layouts(s, &mesh, &strategy, &entry);
  add_entry(list, eg_text_of(&entry));
  eg_text_deinit(&entry);
  out->splits += action >= EG_ACTION_SPLIT;
  for (uint32_t i = 0; i < s->f.count; i++) {
    uint8_t digit = eg_strategy_input(&strategy, i)->sharding[0];
    if (eg_digit_is_shard(digit)) out->cut[i] |= 1u << eg_digit_dim(digit);
  }
  if (eg_digit_is_shard(strategy.result.sharding[0]))
    out->cut_result |= 1u << eg_digit_dim(strategy.result.sharding[0]);
}

/// The dimensions that nothing cuts, though a factor that is no broadcast one has them.
static void list_whole(const sample *s, lists *out) {
  for (uint32_t f = 0; f < s->spread.factors.count; f++) {
    const eg_factor *factor = &s->spread.factors.factor[f];
    int from = factor->input_dim[0], to = factor->output_dim[0];
    char entry[32] = "";
    if (factor->size < 2 || factor->kind == EG_FACTOR_PARALLEL) continue;
    if (from != EG_NO_DIM && (out->cut[0] >> from & 1) == 0)
      snprintf(entry, sizeof entry, "%d", from);
    else if (from == EG_NO_DIM && to != EG_NO_DIM && (out->cut_result >> to & 1) == 0)
      snprintf(entry, sizeof entry, "→ %d", to);
    if (entry[0] != '\0') add_entry(&out->whole, entry);
  }
}

static void list_all(sample *s, lists *out) {
  const eg_factors *factors = &s->spread.factors;
  for (uint32_t f = 0; f < factors->count; f++)
    if (factors->factor[f].size > 1)
      list_action(s, (uint8_t)(EG_ACTION_SPLIT + f), parts_of(factors->factor[f].size),
                  &out->split, out);
  for (uint8_t action = EG_ACTION_PASS_JOINT; action < EG_ACTION_SPLIT; action++)
    list_action(s, action, 2, &out->passes, out);
  list_whole(s, out);
}

static void print_row(const ops_case *row, const lists *l, eg_text *out) {
  assert_ok(eg_text_printf(out, "| %s | `%s%s%s` | %s | %s | %s | %s |\n",
                           eg_op_info_of(row->op)->name, row->attrs,
                           row->attrs[0] == '\0' || row->inputs[0] == '\0' ? "" : " ",
                           row->inputs, eg_text_of(&l->split), eg_text_of(&l->passes),
                           eg_text_of(&l->whole), eg_op_why_whole(row->op)));
}

/// False when there is no reason for what is not split, or one for nothing.
static bool add_operator(eg_op op, eg_text *out) {
  lists best;
  const ops_case *row = NULL;
  bool is_whole = false;
  lists_init(&best);
  for (int c = 0; c < OPS_CASES; c++) {
    sample s;
    lists mine;
    if (ops_cases[c].op != op) continue;
    sample_init(&s, &ops_cases[c]);
    lists_init(&mine);
    list_all(&s, &mine);
    is_whole = is_whole || eg_text_of(&mine.whole)[0] != '\0';
    if (row == NULL || mine.splits > best.splits) {
      lists was = best;
      best = mine;
      mine = was;
      row = &ops_cases[c];
    }
    lists_deinit(&mine);
    fixture_deinit(&s.f);
  }
  if (row != NULL) print_row(row, &best, out);
  lists_deinit(&best);
  if (is_whole == (eg_op_why_whole(op)[0] != '\0')) return true;
  print_message("%s: %s\n", eg_op_info_of(op)->name,
                is_whole ? "why is it not split?" : "what is not split?");
  return false;
}

static void splits_are_those_told(void **state) {
  (void)state;
  eg_text have;
  eg_text_init(&have, eg_allocator_heap());
  assert_ok(eg_text_append(&have, head));
  bool has_reasons = true;
  for (int op = 0; op < EG_OP_COUNT; op++)
    has_reasons = add_operator((eg_op)op, &have) && has_reasons;
  assert_true(has_reasons);
  test_golden(GOLDEN, eg_text_of(&have));
  eg_text_deinit(&have);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(splits_are_those_told)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
