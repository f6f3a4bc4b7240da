// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_diffusion.h"

#include <math.h>

#include "base/owner.h"

#define NONE EG_RELATION_NONE

EG_OWNER_DEFINE_STATIC(eg_label_costs, (eg_u32s, begin), (eg_doubles, cost))

#define OWNED                                                                            \
  (eg_label_costs, costs), (eg_u32s, first, entry, next), (eg_doubles, least),           \
      (eg_relations, relations), (eg_bytes, used), (eg_labels, fixed),                   \
      (eg_relation_maker, maker)

void eg_cost_network_init(eg_cost_network *n, egraph_allocator alloc) {
  EG_INIT_MEMBERS(n, alloc, OWNED)
  n->is_empty = false;
}

void eg_cost_network_deinit(eg_cost_network *n) {
  for (size_t i = 0; i < n->relations.len; i++)
    eg_relation_deinit(&n->relations.data[i]);
  EG_DEINIT_MEMBERS(n, OWNED)
}

// ---- building -----------------------------------------------------------------------

egraph_status eg_cost_network_add_var(eg_cost_network *n, uint32_t labels, double cost,
                                      uint32_t *out) {
  if (n->costs.begin.len == 0) EG_TRY(eg_u32s_push(&n->costs.begin, 0));
  uint32_t begin = n->costs.begin.data[n->costs.begin.len - 1];
  EG_TRY(eg_doubles_resize(&n->costs.cost, (size_t)begin + labels));
  for (uint32_t l = 0; l < labels; l++)
    n->costs.cost.data[begin + l] = cost;
  EG_TRY(eg_u32s_push(&n->first, NONE));
  EG_TRY(eg_labels_push(&n->fixed, EG_NETWORK_FREE));
  *out = eg_cost_network_vars(n);
  return eg_u32s_push(&n->costs.begin, begin + labels);
}

/// Enters relation number `number` in the lists of its variables.
static egraph_status enter(eg_cost_network *n, uint32_t number) {
  const eg_u32s *vars = &n->relations.data[number].vars;
  for (size_t i = 0; i < vars->len; i++) {
    EG_TRY(eg_u32s_push(&n->next, n->first.data[vars->data[i]]));
    n->first.data[vars->data[i]] = (uint32_t)n->entry.len;
    EG_TRY(eg_u32s_push(&n->entry, number));
  }
  return EGRAPH_OK;
}

egraph_status eg_cost_network_add(eg_cost_network *n, eg_relation *relation) {
  egraph_status status = eg_bytes_push(&n->used, 0);
  if (status == EGRAPH_OK) status = eg_relations_push(&n->relations, *relation);
  if (status != EGRAPH_OK) {
    eg_relation_deinit(relation);
    return status;
  }
  uint32_t number = (uint32_t)n->relations.len - 1;
  eg_relation_lower(&n->costs, &n->relations.data[number]);
  return enter(n, number);
}

egraph_status eg_cost_network_begin(eg_cost_network *n, const uint32_t *vars,
                                    uint32_t count) {
  eg_relation relation;
  eg_relation_init(&relation, n->entry.alloc);
  EG_TRY(eg_relations_push(&n->relations, relation));
  EG_TRY(eg_bytes_push(&n->used, 0));
  return eg_relation_begin(&n->maker, &n->relations.data[n->relations.len - 1], vars,
                           count, false);
}

egraph_status eg_cost_network_finish(eg_cost_network *n) {
  uint32_t number = (uint32_t)n->relations.len - 1;
  EG_TRY(eg_relation_finish(&n->maker));
  eg_relation_lower(&n->costs, &n->relations.data[number]);
  return enter(n, number);
}

// ---- moving costs -------------------------------------------------------------------

/// Moves what rows with a label cost at least to the label.
static egraph_status collect(eg_cost_network *n, eg_relation *r, size_t column) {
  size_t width = r->vars.len, rows = eg_relation_rows(r);
  uint32_t var = r->vars.data[column];
  uint32_t labels = n->costs.begin.data[var + 1] - n->costs.begin.data[var];
  double *own = eg_cost_network_costs(n, var), *cost = r->cost.data;
  EG_TRY(eg_doubles_resize(&n->least, labels));
  double *least = n->least.data;
  for (uint32_t l = 0; l < labels; l++)
    least[l] = INFINITY;
  n->maker.steps += (uint64_t)rows + labels;
  const uint16_t *label = r->labels.data + column;
  for (size_t row = 0; row < rows; row++, label += width)
    if (cost[row] < least[*label]) least[*label] = cost[row];
  label = r->labels.data + column;
  for (size_t row = 0; row < rows; row++, label += width)
    if (cost[row] < INFINITY) cost[row] -= least[*label];
  for (uint32_t l = 0; l < labels; l++)
    own[l] += least[l];
  return EGRAPH_OK;
}

/// Moves what all labels of a variable cost at least to the base.
static void sink(eg_cost_network *n, uint32_t var) {
  double *cost = eg_cost_network_costs(n, var), all = INFINITY;
  uint32_t labels = n->costs.begin.data[var + 1] - n->costs.begin.data[var];
  for (uint32_t l = 0; l < labels; l++)
    all = fmin(all, cost[l]);
  if (!(all < INFINITY)) return;
  for (uint32_t l = 0; l < labels; l++)
    cost[l] -= all;
  n->maker.base += all;
}

/// A relation of no variables goes to the base.
static void finish(eg_cost_network *n, uint32_t number) {
  eg_relation *r = &n->relations.data[number];
  n->used.data[number] = 1;
  if (eg_relation_rows(r) == 0) return;
  n->maker.base += r->cost.data[0];
  r->cost.data[0] = 0;
}

egraph_status eg_cost_network_settle(eg_cost_network *n, uint32_t number) {
  eg_relation *relation = &n->relations.data[number];
  if (relation->vars.len == 0 && eg_relation_rows(relation) != 0) finish(n, number);
  for (size_t i = 0; i < relation->vars.len; i++) {
    EG_TRY(collect(n, relation, i));
    sink(n, relation->vars.data[i]);
  }
  return EGRAPH_OK;
}

/// Whether a relation has a variable that comes later in a pass.
static bool goes_on(const eg_relation *r, uint32_t var, bool forward) {
  for (size_t i = 0; i < r->vars.len; i++)
    if (forward ? r->vars.data[i] > var : r->vars.data[i] < var) return true;
  return false;
}

static size_t column_of(const eg_relation *r, uint32_t var) {
  size_t column = 0;
  while (r->vars.data[column] != var)
    column++;
  return column;
}

/// Moves a part of what labels cost to the rows that have them.
static void hand_out(eg_cost_network *n, eg_relation *r, uint32_t var, double part) {
  const double *cost = eg_cost_network_costs(n, var);
  const uint16_t *label = r->labels.data + column_of(r, var);
  for (size_t row = 0; row < eg_relation_rows(r); row++, label += r->vars.len)
    r->cost.data[row] += part * cost[*label];
}

/// What is known of a variable's labels goes to the relations that come later; in the
/// last pass it stays.
static egraph_status diffuse_variable(eg_cost_network *n, uint32_t var, bool forward,
                                      bool is_last) {
  uint32_t later = 0;
  for (uint32_t i = n->first.data[var]; i != NONE; i = n->next.data[i]) {
    eg_relation *r = &n->relations.data[n->entry.data[i]];
    if (n->used.data[n->entry.data[i]]) continue;
    EG_TRY(collect(n, r, column_of(r, var)));
    later += goes_on(r, var, forward);
  }
  sink(n, var);
  if (later == 0 || is_last) return EGRAPH_OK;
  for (uint32_t i = n->first.data[var]; i != NONE; i = n->next.data[i]) {
    eg_relation *r = &n->relations.data[n->entry.data[i]];
    if (!n->used.data[n->entry.data[i]] && goes_on(r, var, forward))
      hand_out(n, r, var, 1.0 / later);
  }
  double *cost = eg_cost_network_costs(n, var);
  for (uint32_t l = n->costs.begin.data[var]; l < n->costs.begin.data[var + 1];
       l++, cost++)
    if (*cost < INFINITY) *cost = 0;
  return EGRAPH_OK;
}

// ---- variables of one label ---------------------------------------------------------

/// The only label of a variable that has room, or EG_NETWORK_FREE.
static uint16_t only_label(const eg_cost_network *n, uint32_t var) {
  const double *cost = eg_cost_network_costs(n, var);
  uint32_t labels = n->costs.begin.data[var + 1] - n->costs.begin.data[var];
  uint16_t only = EG_NETWORK_FREE;
  for (uint32_t l = 0; l < labels; l++) {
    if (!(cost[l] + n->maker.base <= n->maker.room)) continue;
    if (only != EG_NETWORK_FREE) return EG_NETWORK_FREE;
    only = (uint16_t)l;
  }
  return only;
}

/// Other labels have no room.
static void fix(eg_cost_network *n, uint32_t var, uint16_t label) {
  double *cost = eg_cost_network_costs(n, var);
  n->fixed.data[var] = label;
  for (uint32_t l = 0; l < n->costs.begin.data[var + 1] - n->costs.begin.data[var]; l++) {
    if (l == label || !(cost[l] < INFINITY)) continue;
    eg_relation_lose(&n->maker, cost[l]);
    cost[l] = INFINITY;
  }
  for (uint32_t i = n->first.data[var]; i != NONE; i = n->next.data[i]) {
    uint32_t number = n->entry.data[i];
    eg_relation *r = &n->relations.data[number];
    if (n->used.data[number]) continue;
    eg_relation_fix(&n->maker, r, var, label);
    if (eg_relation_rows(r) == 0) n->is_empty = true;
    if (r->vars.len == 0) finish(n, number);
  }
  n->first.data[var] = NONE;
}

static void fix_variables(eg_cost_network *n) {
  for (uint32_t v = 0; v < eg_cost_network_vars(n); v++) {
    if (n->first.data[v] == NONE) continue;
    uint16_t label = only_label(n, v);
    if (label != EG_NETWORK_FREE) fix(n, v, label);
  }
}

egraph_status eg_cost_network_diffuse(eg_cost_network *n, uint32_t passes) {
  uint32_t vars = eg_cost_network_vars(n);
  for (uint32_t pass = 0; pass < passes; pass++)
    for (uint32_t i = 0; i < vars; i++) {
      bool forward = pass % 2 == 0;
      EG_TRY(
          diffuse_variable(n, forward ? i : vars - 1 - i, forward, pass + 1 == passes));
    }
  for (size_t r = 0; r < n->relations.len; r++) {
    if (n->used.data[r]) continue;
    eg_relation_raise(&n->maker, &n->costs, &n->relations.data[r]);
    eg_relation_lower(&n->costs, &n->relations.data[r]);
  }
  fix_variables(n);
  return EGRAPH_OK;
}
