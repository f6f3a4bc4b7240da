// Values are visited in their order, which is topological. Operators of one operand on
// the way from a tied weight to a use are copied when the use needs them, so that no
// unused copy remains.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/training/ties.h"

#include <stdlib.h>
#include <string.h>

#include "base/owner.h"
#include "base/spelling.h"
#include "pcg/graph/graph_internal.h"

static const uint32_t NONE = UINT32_MAX;

// ---- uses ---------------------------------------------------------------------------

/// True when uses of a node's result are uses of the weight that the node reads.
static bool hands_on(const eg_graph_node_info *node) {
  return node->input_count == 1 && node->result_count == 1 &&
         node->attrs->op != EG_OP_OPAQUE;
}

/// Fills origin[values]: the weight that a value is, or from which operators of one
/// operand compute it.
static void find_origins(const eg_graph *graph, uint32_t *origin) {
  for (uint32_t v = 0; v < eg_graph_value_count(graph); v++) {
    const eg_value_info *info = eg_graph_value(graph, (eg_value){v});
    origin[v] = info->kind == EG_VALUE_WEIGHT ? v : NONE;
    if (info->kind != EG_VALUE_COMPUTED) continue;
    eg_graph_node_info node = eg_graph_node_at(graph, info->node);
    if (hands_on(&node)) origin[v] = origin[node.inputs[0].id];
  }
}

typedef struct tie_finder {
  const eg_graph *graph;
  eg_weight_fate *fates;
  bool *needed;
  uint32_t *origin, *last; // [values]; last: node that used a weight last
} tie_finder;

static egraph_status add_uses(const tie_finder *f, uint32_t n, eg_tie_uses *out) {
  eg_graph_node_info node = eg_graph_node_at(f->graph, (eg_graph_node){n});
  if (!eg_node_any_result(&node, f->needed) ||
      (hands_on(&node) && f->origin[node.inputs[0].id] != NONE))
    return EGRAPH_OK;
  for (uint32_t i = 0; i < node.input_count; i++) {
    uint32_t weight = f->origin[node.inputs[i].id];
    if (weight == NONE || f->fates[weight] != EG_FATE_TRAINED || f->last[weight] == n)
      continue;
    f->last[weight] = n;
    EG_TRY(eg_tie_uses_push(out, (eg_tie_use){{weight}, {n}}));
  }
  return EGRAPH_OK;
}

static int compare_uses(const void *a, const void *b) {
  const eg_tie_use *x = a, *y = b;
  if (x->weight.id != y->weight.id) return x->weight.id < y->weight.id ? -1 : 1;
  return (x->node.id > y->node.id) - (x->node.id < y->node.id);
}

/// Removes from sorted uses the uses of weights that are used once.
static void keep_tied(eg_tie_uses *uses) {
  size_t kept = 0;
  for (size_t i = 0; i < uses->len; i++) {
    uint32_t weight = uses->data[i].weight.id;
    bool is_tied = (i != 0 && uses->data[i - 1].weight.id == weight) ||
                   (i + 1 < uses->len && uses->data[i + 1].weight.id == weight);
    if (is_tied)
      uses->data[kept++] = uses->data[i]; // kept <= i: entry i - 1 is unchanged
  }
  uses->len = kept;
}

egraph_status eg_ties_find(const eg_graph *graph, eg_value output,
                           const eg_parameter_wish *wish, eg_tie_uses *out) {
  uint32_t values = eg_graph_value_count(graph);
  tie_finder f = {.graph = graph};
  EG_LOCAL(eg_arena, scratch, eg_graph_allocator(graph));
  EG_NEW(&scratch, values, f.fates);
  EG_NEW(&scratch, values, f.needed);
  EG_NEW(&scratch, values, f.origin);
  EG_NEW(&scratch, values, f.last);
  EG_TRY(eg_parameters_find(graph, output, wish, f.fates, f.needed));
  find_origins(graph, f.origin);
  for (uint32_t v = 0; v < values; v++)
    f.last[v] = NONE;
  for (uint32_t n = 0; n < eg_graph_node_count(graph); n++)
    EG_TRY(add_uses(&f, n, out));
  if (out->len != 0) qsort(out->data, out->len, sizeof *out->data, compare_uses);
  keep_tied(out);
  return EGRAPH_OK;
}

// ---- patterns -----------------------------------------------------------------------

static egraph_status check_tie_pattern(const eg_graph *graph, const eg_tie_uses *uses,
                                       const char *pattern) {
  eg_spelling spelling = eg_spelling_start(pattern);
  if (strcmp(pattern, "*") == 0) return EGRAPH_OK;
  for (size_t i = 0; i < uses->len; i++) {
    const char *name = eg_graph_value(graph, uses->data[i].weight)->name;
    if (eg_wildcard_matches(pattern, name)) return EGRAPH_OK;
    eg_spelling_offer(&spelling, name);
  }
  if (spelling.best != NULL)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "no tied weight has a name like '%.200s'; did you mean '%.200s'?",
                   pattern, spelling.best);
  return EG_FAIL(
      EGRAPH_E_ARGUMENT,
      "no tied weight has a name like '%.200s'; take the names of weights that "
      "several operators share",
      pattern);
}

// ---- the copy -----------------------------------------------------------------------

typedef struct untier {
  const eg_graph *from;
  eg_graph *to;
  uint32_t *origin; // [values]
  uint32_t *own; // [values] 0: no use of the weight is untied; otherwise 1 + uses so far
  eg_value *map; // [values] of `to`; EG_VALUE_NONE: not there (yet)
  uint32_t *reader; // [values] the last node that read a weight
  eg_value *fresh;  // [values] weight that this node reads instead, or EG_VALUE_NONE
  const eg_tie_uses *uses;
  eg_arena arena;
  eg_values operands, results, chain;
  eg_text name;
} untier;
EG_OWNER_DEFINE_STATIC(untier, (eg_arena, arena), (eg_values, operands, results, chain),
                       (eg_text, name))

/// Picks `name` for a weight if it is free in the copy; otherwise name_2, name_3, ...:
/// the first name that is free in both graphs.
static egraph_status pick_name(untier *u, const char *name, const char **out) {
  eg_value there;
  u->name.chars.len = 0;
  EG_TRY(eg_text_append(&u->name, name));
  for (uint32_t n = 2;
       eg_graph_find_value(u->to, eg_text_of(&u->name), &there) ||
       (n > 2 && eg_graph_find_value(u->from, eg_text_of(&u->name), &there));
       n++) {
    u->name.chars.len = 0;
    EG_TRY(eg_text_printf(&u->name, "%s_%u", name, n));
  }
  *out = eg_text_of(&u->name);
  return EGRAPH_OK;
}

static eg_graph_node_info maker_of(const untier *u, eg_value value) {
  return eg_graph_node_at(u->from, eg_graph_value(u->from, value)->node);
}

/// Fills u->chain with the values from `value` back to its weight; the weight is last.
static egraph_status walk_back(untier *u, eg_value value) {
  u->chain.len = 0;
  EG_TRY(eg_values_push(&u->chain, value));
  while (eg_graph_value(u->from, value)->kind == EG_VALUE_COMPUTED) {
    value = maker_of(u, value).inputs[0];
    EG_TRY(eg_values_push(&u->chain, value));
  }
  return EGRAPH_OK;
}

static egraph_status copy_link(untier *u, eg_value value, eg_value operand,
                               eg_value *out) {
  const char *name;
  EG_TRY(pick_name(u, eg_graph_value(u->from, value)->name, &name));
  return eg_graph_add_copy(u->to, u->from, eg_graph_value(u->from, value)->node, &operand,
                           &name, out);
}

/// Copies a value of a weight that stays shared, and the values before it.
static egraph_status shared_value(untier *u, eg_value value, eg_value *out) {
  EG_TRY(walk_back(u, value));
  size_t at = 0;
  while (u->map[u->chain.data[at].id].id == EG_VALUE_NONE.id)
    at++;
  for (; at > 0; at--) {
    eg_value next = u->chain.data[at - 1];
    EG_TRY(copy_link(u, next, u->map[u->chain.data[at].id], &u->map[next.id]));
  }
  *out = u->map[value.id];
  return EGRAPH_OK;
}

static bool is_identity(const untier *u, eg_value value) {
  return maker_of(u, value).attrs->op == EG_OP_IDENTITY;
}

/// Adds a separate weight for a use that reads `value` and is no longer tied. The weight
/// takes the name of an Identity next to the tied weight, if there is one.
static egraph_status add_own_weight(untier *u, eg_value value, eg_value *out) {
  EG_TRY(walk_back(u, value));
  size_t at = u->chain.len - 1;
  const eg_value_info *weight = eg_graph_value(u->from, u->chain.data[at]);
  while (at > 0 && is_identity(u, u->chain.data[at - 1]))
    at--;
  const char *name;
  EG_TRY(pick_name(u, eg_graph_value(u->from, u->chain.data[at])->name, &name));
  return eg_graph_add_weight(u->to, name, &weight->type, weight->data, out);
}

/// Computes `value` from the separate weight of a use instead of the tied weight;
/// Identity nodes are omitted.
static egraph_status own_value(untier *u, eg_value value, eg_value weight,
                               eg_value *out) {
  EG_TRY(walk_back(u, value));
  *out = weight;
  for (size_t at = u->chain.len - 1; at > 0; at--)
    if (!is_identity(u, u->chain.data[at - 1]))
      EG_TRY(copy_link(u, u->chain.data[at - 1], *out, out));
  return EGRAPH_OK;
}

static bool is_use(const untier *u, uint32_t weight, uint32_t node) {
  const eg_tie_use use = {{weight}, {node}};
  return u->uses->len != 0 &&
         bsearch(&use, u->uses->data, u->uses->len, sizeof use, compare_uses) != NULL;
}

/// Begins a use of a tied weight by a node: every use after the first gets its own.
static egraph_status begin_use(untier *u, uint32_t weight, uint32_t node,
                               eg_value operand) {
  u->reader[weight] = node;
  u->fresh[weight] = EG_VALUE_NONE;
  if (!is_use(u, weight, node) || u->own[weight]++ == 1) return EGRAPH_OK;
  return add_own_weight(u, operand, &u->fresh[weight]);
}

static egraph_status find_operands(untier *u, uint32_t id) {
  eg_graph_node_info node = eg_graph_node_at(u->from, (eg_graph_node){id});
  EG_TRY(eg_values_resize(&u->operands, node.input_count));
  for (uint32_t i = 0; i < node.input_count; i++) {
    eg_value input = node.inputs[i], *operand = &u->operands.data[i];
    uint32_t weight = u->origin[input.id];
    *operand = u->map[input.id];
    if (weight == NONE || u->own[weight] == 0) continue;
    if (u->reader[weight] != id) EG_TRY(begin_use(u, weight, id, input));
    if (u->fresh[weight].id == EG_VALUE_NONE.id)
      EG_TRY(shared_value(u, input, operand));
    else
      EG_TRY(own_value(u, input, u->fresh[weight], operand));
  }
  return EGRAPH_OK;
}

static egraph_status copy_untied_node(untier *u, uint32_t id) {
  eg_graph_node_info node = eg_graph_node_at(u->from, (eg_graph_node){id});
  EG_TRY(find_operands(u, id));
  EG_TRY(eg_values_resize(&u->results, node.result_count));
  EG_TRY(eg_graph_add_named_copy(u->to, u->from, (eg_graph_node){id}, u->operands.data,
                                 u->results.data));
  for (uint32_t i = 0; i < node.result_count; i++)
    u->map[node.results[i].id] = u->results.data[i];
  return EGRAPH_OK;
}

static egraph_status copy_leaf(untier *u, uint32_t v) {
  const eg_value_info *info = eg_graph_value(u->from, (eg_value){v});
  if (info->kind == EG_VALUE_WEIGHT)
    return eg_graph_add_weight(u->to, info->name, &info->type, info->data, &u->map[v]);
  EG_TRY(eg_graph_add_input(u->to, info->name, &info->type, &u->map[v]));
  return eg_graph_set_default(u->to, u->map[v], info->data);
}

/// Makes a copy without the ties that match a pattern; the caller owns *out, also after
/// a failure.
static egraph_status copy_untied(const eg_graph *graph, const eg_tie_uses *uses,
                                 const char *const *patterns, uint32_t count,
                                 eg_graph **out) {
  egraph_allocator alloc = eg_graph_allocator(graph);
  uint32_t values = eg_graph_value_count(graph);
  EG_LOCAL(untier, u, alloc);
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(check_tie_pattern(graph, uses, patterns[i]));
  u.from = graph;
  u.uses = uses;
  EG_NEW(&u.arena, values, u.origin);
  EG_NEW(&u.arena, values, u.own);
  EG_NEW(&u.arena, values, u.map);
  EG_NEW(&u.arena, values, u.reader);
  EG_NEW(&u.arena, values, u.fresh);
  find_origins(graph, u.origin);
  for (uint32_t v = 0; v < values; v++) {
    u.map[v] = u.fresh[v] = EG_VALUE_NONE;
    u.reader[v] = NONE;
  }
  for (size_t i = 0; i < uses->len; i++) {
    eg_value weight = uses->data[i].weight;
    if (eg_wildcard_any(patterns, count, eg_graph_value(graph, weight)->name))
      u.own[weight.id] = 1;
  }
  EG_TRY(eg_graph_create(&alloc, out));
  u.to = *out;
  eg_graph_set_header(u.to, eg_graph_header(graph));
  for (uint32_t v = 0; v < eg_graph_value_count(u.from); v++) {
    const eg_value_info *info = eg_graph_value(u.from, (eg_value){v});
    bool is_link =
        info->kind == EG_VALUE_COMPUTED && u.origin[v] != NONE && u.own[u.origin[v]] != 0;
    if (info->kind != EG_VALUE_COMPUTED)
      EG_TRY(copy_leaf(&u, v));
    else if (info->result == 0 && !is_link)
      EG_TRY(copy_untied_node(&u, info->node.id));
  }
  for (uint32_t o = 0; o < eg_graph_output_count(u.from); o++) {
    const char *name;
    eg_value value = eg_graph_output(u.from, o, &name), copy = u.map[value.id];
    if (copy.id == EG_VALUE_NONE.id) EG_TRY(shared_value(&u, value, &copy));
    EG_TRY(eg_graph_add_output(u.to, name, copy));
  }
  return EGRAPH_OK;
}

egraph_status eg_ties_untie(const eg_graph *graph, eg_value output,
                            const eg_parameter_wish *wish, const char *const *patterns,
                            uint32_t pattern_count, eg_graph **out) {
  EG_LOCAL(eg_tie_uses, uses, eg_graph_allocator(graph));
  EG_HELD(eg_graph, copy);
  EG_TRY(eg_ties_find(graph, output, wish, &uses));
  EG_HAND_OVER(copy_untied(graph, &uses, patterns, pattern_count, &copy), copy, out);
}
