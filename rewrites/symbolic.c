// A right side is looked up before anything of it is added, so that a budget is never
// exceeded by half of one.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/symbolic.h"

#include <string.h>

#include "rewrites/driver.h"
#include "rewrites/symbolic_rules.h"

EG_VEC_DEFINE(symbolic_rules, eg_symbolic_rule);

struct eg_symbolic {
  egraph_allocator alloc;
  eg_arena arena;
  eg_atoms atoms;
  symbolic_rules rules;
  eg_engine *engine;
};

egraph_status eg_symbolic_create(const egraph_allocator *alloc, eg_symbolic **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_symbolic *symbolic;
  EG_TRY(eg_alloc(heap, 1, sizeof *symbolic, &symbolic));
  symbolic->alloc = heap;
  eg_arena_init(&symbolic->arena, heap);
  eg_atoms_init(&symbolic->atoms, &symbolic->arena, heap);
  symbolic_rules_init(&symbolic->rules, heap);
  egraph_status status = eg_engine_create(&heap, NULL, &symbolic->engine);
  if (status != EGRAPH_OK) {
    eg_symbolic_destroy(symbolic);
    return status;
  }
  *out = symbolic;
  return EGRAPH_OK;
}

void eg_symbolic_destroy(eg_symbolic *symbolic) {
  if (symbolic == NULL) return;
  eg_engine_destroy(symbolic->engine);
  symbolic_rules_deinit(&symbolic->rules);
  eg_atoms_deinit(&symbolic->atoms);
  eg_arena_deinit(&symbolic->arena);
  eg_free(symbolic->alloc, symbolic, 1, sizeof *symbolic);
}

eg_engine *eg_symbolic_engine(eg_symbolic *symbolic) { return symbolic->engine; }
const eg_engine *eg_symbolic_engine_of(const eg_symbolic *symbolic) {
  return symbolic->engine;
}
const char *eg_symbolic_atom(const eg_symbolic *symbolic, uint32_t op) {
  return eg_atom_vec_at(&symbolic->atoms.list, op)->text;
}
uint32_t eg_symbolic_rule_count(const eg_symbolic *symbolic) {
  return (uint32_t)symbolic->rules.len;
}

// ---- reading ---------------------------------------------------------------------

static egraph_status add_rule(eg_symbolic *symbolic, const char *file,
                              const eg_sexpr *form, bool reversed, bool *out_both_ways) {
  eg_symbolic_rule rule;
  EG_TRY(eg_symbolic_read_rule(&symbolic->atoms, symbolic->alloc, file, form, reversed,
                               &rule, out_both_ways));
  for (size_t i = 0; i < symbolic->rules.len; i++)
    if (strcmp(symbolic->rules.data[i].name, rule.name) == 0)
      return eg_sexpr_fail(file, form, "there is a rule %s already; use another name",
                           rule.name);
  return symbolic_rules_push(&symbolic->rules, rule);
}

static egraph_status add_forms(eg_symbolic *symbolic, const char *file,
                               const eg_sexpr *text) {
  eg_sexpr start = {.line = 1, .column = 1};
  const eg_sexpr *header = text->count > 0 ? &text->children[0] : &start;
  if (text->count == 0 || !eg_sexpr_is_form(header, "egraph-rules") ||
      header->count != 3 || !eg_sexpr_is_atom(&header->children[1], "1") ||
      !eg_sexpr_is_atom(&header->children[2], "symbolic"))
    return eg_sexpr_fail(file, header,
                         "rules over symbols begin with (egraph-rules 1 symbolic)");
  for (uint32_t i = 1; i < text->count; i++) {
    const eg_sexpr *form = &text->children[i];
    if (!eg_sexpr_is_form(form, "rule"))
      return eg_sexpr_fail(file, form, "unknown form; write (rule name ...)");
    bool both_ways;
    EG_TRY(add_rule(symbolic, file, form, false, &both_ways));
    if (both_ways) EG_TRY(add_rule(symbolic, file, form, true, &both_ways));
  }
  return EGRAPH_OK;
}

egraph_status eg_symbolic_add_rules(eg_symbolic *symbolic, const char *file,
                                    const char *text, size_t size) {
  eg_sexpr forms;
  EG_TRY(eg_sexpr_parse(&symbolic->arena, file, text, size, &forms));
  size_t count = symbolic->rules.len;
  egraph_status status = add_forms(symbolic, file, &forms);
  if (status != EGRAPH_OK) symbolic->rules.len = count;
  return status;
}

// ---- building --------------------------------------------------------------------

// The node of a term, its operands taken from `built`.
static eg_term node_of(const eg_pattern_term *term, const uint32_t *children,
                       const eg_class *built, eg_class *operands) {
  for (uint32_t i = 0; i < term->arity; i++)
    operands[i] = built[children[term->children + i]];
  return (eg_term){.op = term->op, .arity = term->arity, .children = operands};
}

static egraph_status add_terms(eg_symbolic *symbolic, const eg_symbolic_terms *terms,
                               eg_classes *built, eg_classes *operands) {
  EG_TRY(eg_classes_resize(built, terms->terms.len));
  EG_TRY(eg_classes_resize(operands, terms->children.len));
  for (size_t i = 0; i < terms->terms.len; i++) {
    eg_term node =
        node_of(&terms->terms.data[i], terms->children.data, built->data, operands->data);
    EG_TRY(eg_engine_add(symbolic->engine, &node, EG_REASON_SEED, &built->data[i]));
  }
  return EGRAPH_OK;
}

static egraph_status read_and_add(eg_symbolic *symbolic, const char *file,
                                  const eg_sexpr *expr, eg_symbolic_terms *terms,
                                  eg_class *out) {
  uint32_t root;
  EG_TRY(eg_symbolic_read_term(&symbolic->atoms, file, expr, EG_SYMBOLIC_NONE, terms,
                               &root));
  eg_classes built, operands;
  eg_classes_init(&built, symbolic->alloc);
  eg_classes_init(&operands, symbolic->alloc);
  egraph_status status = add_terms(symbolic, terms, &built, &operands);
  if (status == EGRAPH_OK) *out = built.data[root];
  eg_classes_deinit(&built);
  eg_classes_deinit(&operands);
  return status;
}

egraph_status eg_symbolic_add_term(eg_symbolic *symbolic, const char *file,
                                   const char *text, size_t size, eg_class *out) {
  eg_sexpr forms;
  EG_TRY(eg_sexpr_parse(&symbolic->arena, file, text, size, &forms));
  if (forms.count != 1)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: one term is wanted, but there are %u", file,
                   forms.count);
  eg_symbolic_terms terms;
  eg_symbolic_terms_init(&terms, symbolic->alloc);
  egraph_status status = read_and_add(symbolic, file, &forms.children[0], &terms, out);
  eg_symbolic_terms_deinit(&terms);
  return status;
}

// ---- saturation ------------------------------------------------------------------

typedef struct saturation {
  eg_symbolic *symbolic;
  eg_matcher **programs; // NULL: off, or a bare variable
  bool *enabled;
  eg_classes built, operands;
  eg_u32s packed; // classes of variables, then of roots
} saturation;

typedef struct rule_search {
  saturation *all;
  const eg_symbolic_rule *rule;
  eg_driver *driver;
} rule_search;

static bool is_enabled(void *self, uint32_t rule) {
  const saturation *all = self;
  return all->enabled[rule];
}

static uint32_t words_of(void *self, uint32_t rule) {
  const saturation *all = self;
  const eg_symbolic_rule *r = &all->symbolic->rules.data[rule];
  return r->var_count + r->root_count;
}

static size_t bytes_of(void *self) {
  const saturation *all = self;
  return eg_engine_bytes(all->symbolic->engine) + all->symbolic->arena.bytes;
}

static egraph_status on_match(void *user, const eg_match *match, bool *out_stop) {
  const rule_search *search = user;
  uint32_t *words = search->all->packed.data;
  for (uint32_t i = 0; i < search->rule->var_count; i++)
    *words++ = match->vars[i].id;
  for (uint32_t i = 0; i < search->rule->root_count; i++)
    *words++ = match->roots[i].id;
  return eg_driver_take(search->driver, search->all->packed.data, out_stop);
}

static bool is_cancelled(void *user) {
  const rule_search *search = user;
  return eg_driver_is_stopped(search->driver);
}

static egraph_status take_every_class(const eg_engine *engine, eg_driver *driver) {
  bool stop = false;
  for (eg_class c = eg_engine_first(engine); c.id != EG_CLASS_NONE.id && !stop;
       c = eg_engine_next(engine, c)) {
    uint32_t words[2] = {c.id, c.id};
    EG_TRY(eg_driver_take(driver, words, &stop));
  }
  return EGRAPH_OK;
}

static egraph_status search(void *self, uint32_t rule, eg_driver *driver) {
  saturation *all = self;
  rule_search state = {
      .all = all, .rule = &all->symbolic->rules.data[rule], .driver = driver};
  if (state.rule->any_class) return take_every_class(all->symbolic->engine, driver);
  eg_search how = {.on_match = on_match, .is_cancelled = is_cancelled, .user = &state};
  return eg_matcher_search(all->programs[rule], all->symbolic->engine, &how);
}

// Looks terms up first, so that a right side which would exceed the budget adds nothing.
static uint32_t count_missing(saturation *all, const eg_symbolic_rule *rule,
                              const uint32_t *match) {
  uint32_t missing = 0;
  for (uint32_t i = rule->lhs_term_count; i < rule->term_count; i++) {
    const eg_pattern_term *term = &rule->terms[i];
    eg_class *place = &all->built.data[i];
    if (term->kind == EG_PATTERN_VAR) {
      place->id = match[term->var];
      continue;
    }
    bool known = true;
    for (uint32_t k = 0; k < term->arity && known; k++)
      known = all->built.data[rule->children[term->children + k]].id != EG_CLASS_NONE.id;
    eg_term node = node_of(term, rule->children, all->built.data, all->operands.data);
    if (known && eg_engine_find_term(all->symbolic->engine, &node, place)) continue;
    *place = EG_CLASS_NONE;
    missing++;
  }
  return missing;
}

static egraph_status apply(void *self, uint32_t index, const uint32_t *match,
                           uint32_t max_new_nodes, eg_apply_result *out) {
  saturation *all = self;
  eg_engine *engine = all->symbolic->engine;
  const eg_symbolic_rule *rule = &all->symbolic->rules.data[index];
  if (count_missing(all, rule, match) > max_new_nodes) {
    out->outcome = EG_APPLY_NO_ROOM;
    return EGRAPH_OK;
  }
  for (uint32_t i = rule->lhs_term_count; i < rule->term_count; i++) {
    if (all->built.data[i].id != EG_CLASS_NONE.id) continue;
    eg_term node =
        node_of(&rule->terms[i], rule->children, all->built.data, all->operands.data);
    EG_TRY(eg_engine_add(engine, &node, index, &all->built.data[i]));
  }
  for (uint32_t i = 0; i < rule->root_count; i++) {
    bool changed;
    eg_class root = {.id = match[rule->var_count + i]};
    EG_TRY(eg_engine_unite(engine, root, all->built.data[rule->rhs[i]], index, &changed));
    out->unions += changed;
  }
  return EGRAPH_OK;
}

static egraph_status prepare_rule(saturation *all, uint32_t index) {
  const eg_symbolic_rule *rule = &all->symbolic->rules.data[index];
  all->enabled[index] = true;
  if (all->built.len < rule->term_count)
    EG_TRY(eg_classes_resize(&all->built, rule->term_count));
  if (all->operands.len < rule->child_count)
    EG_TRY(eg_classes_resize(&all->operands, rule->child_count));
  if (all->packed.len < rule->var_count + rule->root_count)
    EG_TRY(eg_u32s_resize(&all->packed, rule->var_count + rule->root_count));
  if (rule->any_class) return EGRAPH_OK;
  eg_pattern pattern = {.terms = rule->terms,
                        .term_count = rule->lhs_term_count,
                        .children = rule->children,
                        .child_count = rule->lhs_child_count,
                        .roots = rule->lhs,
                        .root_count = rule->root_count,
                        .var_count = rule->var_count};
  return eg_matcher_create(&all->symbolic->alloc, &pattern, &all->programs[index]);
}

static egraph_status prepare(saturation *all, const eg_saturation_options *options) {
  uint32_t count = eg_symbolic_rule_count(all->symbolic);
  egraph_allocator alloc = all->symbolic->alloc;
  EG_TRY(eg_alloc(alloc, count, sizeof(eg_matcher *), &all->programs));
  EG_TRY(eg_alloc(alloc, count, sizeof *all->enabled, &all->enabled));
  for (uint32_t i = 0; i < count; i++)
    if (options->use_rule == NULL || options->use_rule(options->use_rule_user, i))
      EG_TRY(prepare_rule(all, i));
  return EGRAPH_OK;
}

static void release(saturation *all) {
  uint32_t count = eg_symbolic_rule_count(all->symbolic);
  egraph_allocator alloc = all->symbolic->alloc;
  for (uint32_t i = 0; all->programs != NULL && i < count; i++)
    eg_matcher_destroy(all->programs[i]);
  eg_free(alloc, all->programs, count, sizeof(eg_matcher *));
  eg_free(alloc, all->enabled, count, sizeof *all->enabled);
  eg_classes_deinit(&all->built);
  eg_classes_deinit(&all->operands);
  eg_u32s_deinit(&all->packed);
}

egraph_status eg_symbolic_saturate(eg_symbolic *symbolic,
                                   const eg_saturation_options *options,
                                   eg_saturation_report *out_report) {
  *out_report = (eg_saturation_report){.alloc = symbolic->alloc};
  saturation all = {.symbolic = symbolic};
  eg_classes_init(&all.built, symbolic->alloc);
  eg_classes_init(&all.operands, symbolic->alloc);
  eg_u32s_init(&all.packed, symbolic->alloc);
  eg_driver_rules rules = {.self = &all,
                           .count = eg_symbolic_rule_count(symbolic),
                           .enabled = is_enabled,
                           .match_words = words_of,
                           .search = search,
                           .apply = apply,
                           .bytes = bytes_of};
  egraph_status status = prepare(&all, options);
  if (status == EGRAPH_OK)
    status =
        eg_driver_run(&symbolic->alloc, symbolic->engine, &rules, options, out_report);
  release(&all);
  return status;
}
