// Nodes are visited from the last to the first, so that the uses of a result are known
// before its operands are visited.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/training/parameters.h"

#include <assert.h>
#include <string.h>

#include "base/spelling.h"
#include "pcg/graph/graph_copy.h"

// ---- uses ---------------------------------------------------------------------------

// How an operator uses a weight as an operand: a letter for each operand, the last letter
// for all later operands. p parameter, a addend, s statistic, c constant. Operators
// without a row: c.
static const char *const use_of[EG_OP_COUNT] = {
    [EG_OP_MATMUL] = "pppa",
    [EG_OP_GEMM] = "p",
    [EG_OP_CONV] = "pppa",
    [EG_OP_CONV_TRANSPOSE] = "p",
    [EG_OP_EINSUM] = "p",
    [EG_OP_BATCH_NORM] = "cpps",
    [EG_OP_LAYER_NORM] = "cp",
    [EG_OP_RMS_NORM] = "cp",
    [EG_OP_GROUP_NORM] = "cp",
    [EG_OP_INSTANCE_NORM] = "cp",
    [EG_OP_PRELU] = "cp",
    [EG_OP_GATHER] = "pc",
    [EG_OP_ADD] = "a",
    [EG_OP_MUL] = "a",
    [EG_OP_RNN] = "cpppc",
    [EG_OP_GRU] = "cpppc",
    [EG_OP_LSTM] = "cpppc",
    [EG_OP_GATHER_ND] = "pc",
    [EG_OP_GATHER_ELEMENTS] = "pc",
    [EG_OP_CONCAT] = "p",
    [EG_OP_OPAQUE] = "p",
};

// Flags of operators through which a score reaches a softmax, or which apply a mask.
static const bool leads_on[EG_OP_COUNT] = {
    [EG_OP_ADD] = true,     [EG_OP_SUB] = true,       [EG_OP_MUL] = true,
    [EG_OP_DIV] = true,     [EG_OP_WHERE] = true,     [EG_OP_MAX] = true,
    [EG_OP_MIN] = true,     [EG_OP_CLIP] = true,      [EG_OP_CAST] = true,
    [EG_OP_RESHAPE] = true, [EG_OP_SQUEEZE] = true,   [EG_OP_UNSQUEEZE] = true,
    [EG_OP_FLATTEN] = true, [EG_OP_TRANSPOSE] = true, [EG_OP_IDENTITY] = true,
};

// Uses of a weight, the weakest first; the strongest use counts.
typedef enum weight_use {
  USE_NONE,
  USE_CONSTANT,
  USE_STATISTIC,
  USE_MASK,
  USE_ADDEND,
  USE_PARAMETER
} weight_use;

typedef struct finder {
  const eg_graph *graph;
  const eg_parameter_wish *wish;
  eg_weight_fate *fates;
  bool *needed;
  bool *constant; // [values] computed from weights alone
  bool *scores;   // [values] operand of a softmax, directly or through operators
  uint8_t *use;   // [values] of type weight_use
} finder;

static char use_letter(eg_op op, uint32_t operand) {
  const char *letters = use_of[op];
  if (letters == NULL) return 'c';
  size_t last = strlen(letters) - 1;
  return letters[operand < last ? operand : last];
}

static bool varies_in_two(const eg_type *type) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < type->rank; i++)
    count += type->dims[i] > 1;
  return count >= 2;
}

static weight_use use_by(const finder *f, const eg_graph_node_info *node,
                         uint32_t operand) {
  const eg_type *type = &eg_graph_value(f->graph, node->inputs[operand])->type;
  switch (use_letter((eg_op)node->attrs->op, operand)) {
  case 'p': return USE_PARAMETER;
  case 's': return USE_STATISTIC;
  case 'a':
    return f->scores[node->results[0].id] && varies_in_two(type) ? USE_MASK : USE_ADDEND;
  default: return USE_CONSTANT;
  }
}

/// Returns how a node uses a weight. Operands of a node that reads only weights have the
/// uses of its results, except a table from which rows are gathered.
static weight_use use_of_operand(const finder *f, const eg_graph_node_info *node,
                                 uint32_t operand) {
  bool is_table = node->attrs->op == EG_OP_GATHER && operand == 0 &&
                  eg_graph_value(f->graph, node->inputs[0])->type.rank > 1;
  bool is_ahead = f->constant[node->results[0].id];
  if (!is_ahead || is_table) return use_by(f, node, operand);
  weight_use use = USE_NONE;
  for (uint32_t i = 0; i < node->result_count; i++)
    if (f->use[node->results[i].id] > use) use = (weight_use)f->use[node->results[i].id];
  return use;
}

static void mark_operands(const finder *f, const eg_graph_node_info *node) {
  eg_op op = (eg_op)node->attrs->op;
  bool is_score = op == EG_OP_SOFTMAX || op == EG_OP_LOG_SOFTMAX;
  is_score = is_score || (leads_on[op] && f->scores[node->results[0].id]);
  for (uint32_t i = 0; i < node->input_count; i++) {
    uint32_t operand = node->inputs[i].id;
    f->needed[operand] = true;
    f->scores[operand] = f->scores[operand] || is_score;
    if (!f->constant[operand]) continue;
    weight_use use = use_of_operand(f, node, i);
    if (use > f->use[operand]) f->use[operand] = (uint8_t)use;
  }
}

static void mark_uses(const finder *f, eg_value output) {
  f->needed[output.id] = true;
  f->use[output.id] = USE_PARAMETER;
  for (uint32_t n = eg_graph_node_count(f->graph); n-- > 0;) {
    eg_graph_node_info node = eg_graph_node_at(f->graph, (eg_graph_node){n});
    if (eg_node_any_result(&node, f->needed)) mark_operands(f, &node);
  }
}

// ---- wishes -------------------------------------------------------------------------

static bool is_named(const eg_parameter_wish *wish, const char *name) {
  bool named = false;
  for (uint32_t i = 0; i < wish->train_only_count && !named; i++)
    named = strcmp(wish->train_only[i], name) == 0;
  return named;
}

static bool is_trained(const eg_parameter_wish *wish, const char *name,
                       bool is_parameter) {
  uint32_t found;
  if (wish->chosen != NULL) return eg_strmap_find(wish->chosen, name, &found);
  bool is_wanted =
      wish->train_only_count == 0
          ? is_parameter
          : is_named(wish, name) ||
                (is_parameter &&
                 eg_wildcard_any(wish->train_only, wish->train_only_count, name));
  return is_wanted && !eg_wildcard_any(wish->freeze, wish->freeze_count, name);
}

static eg_weight_fate fate_of(const finder *f, uint32_t v) {
  static const eg_weight_fate fates[] = {
      [USE_NONE] = EG_FATE_NONE,           [USE_CONSTANT] = EG_FATE_CONSTANT,
      [USE_STATISTIC] = EG_FATE_STATISTIC, [USE_MASK] = EG_FATE_MASK,
      [USE_ADDEND] = EG_FATE_TRAINED,      [USE_PARAMETER] = EG_FATE_TRAINED};
  const eg_value_info *info = eg_graph_value(f->graph, (eg_value){v});
  if (info->kind != EG_VALUE_WEIGHT || !f->needed[v] ||
      !eg_dtype_is_float(info->type.dtype))
    return EG_FATE_NONE;
  bool is_scalar = info->type.rank == 0 ||
                   (f->use[v] == USE_ADDEND && eg_type_elements(&info->type) == 1);
  eg_weight_fate fate =
      is_scalar && fates[f->use[v]] == EG_FATE_TRAINED ? EG_FATE_SCALE : fates[f->use[v]];
  bool is_parameter = fate == EG_FATE_TRAINED;
  if (is_trained(f->wish, info->name, is_parameter)) return EG_FATE_TRAINED;
  return is_parameter ? EG_FATE_FROZEN : fate;
}

/// Checks that a pattern matches a weight; `only_parameters`: a parameter, or a weight
/// with this very name.
static egraph_status check_pattern(const finder *f, const char *pattern,
                                   bool only_parameters) {
  eg_spelling spelling = eg_spelling_start(pattern);
  for (uint32_t v = 0; v < eg_graph_value_count(f->graph); v++) {
    const char *name = eg_graph_value(f->graph, (eg_value){v})->name;
    eg_weight_fate fate = f->fates[v];
    bool may_be_meant =
        fate != EG_FATE_NONE &&
        (!only_parameters || fate >= EG_FATE_FROZEN || strcmp(pattern, name) == 0);
    if (!may_be_meant) continue;
    if (eg_wildcard_matches(pattern, name)) return EGRAPH_OK;
    eg_spelling_offer(&spelling, name);
  }
  if (spelling.best != NULL)
    return EG_FAIL(
        EGRAPH_E_ARGUMENT,
        "no weight that could be trained has a name like '%.200s'; did you mean "
        "'%.200s'?",
        pattern, spelling.best);
  return EG_FAIL(
      EGRAPH_E_ARGUMENT,
      "no weight that could be trained has a name like '%.200s'; take the names "
      "of the model's weights",
      pattern);
}

static egraph_status check_wish(const finder *f) {
  const eg_parameter_wish *wish = f->wish;
  for (uint32_t i = 0; i < wish->freeze_count; i++)
    EG_TRY(check_pattern(f, wish->freeze[i], false));
  for (uint32_t i = 0; i < wish->train_only_count; i++)
    EG_TRY(check_pattern(f, wish->train_only[i], true));
  return EGRAPH_OK;
}

// ---- parameters ---------------------------------------------------------------------

egraph_status eg_parameters_find(const eg_graph *graph, eg_value output,
                                 const eg_parameter_wish *wish, eg_weight_fate *fates,
                                 bool *needed) {
  uint32_t values = eg_graph_value_count(graph);
  assert(output.id < values);
  finder f = {.graph = graph, .wish = wish, .fates = fates, .needed = needed};
  EG_LOCAL(eg_arena, scratch, eg_graph_allocator(graph));
  memset(needed, 0, values * sizeof *needed);
  EG_NEW(&scratch, values, f.constant);
  EG_NEW(&scratch, values, f.scores);
  EG_NEW(&scratch, values, f.use);
  EG_TRY(eg_graph_weight_only(graph, f.constant));
  mark_uses(&f, output);
  for (uint32_t v = 0; v < values; v++)
    fates[v] = fate_of(&f, v);
  return wish->chosen != NULL ? EGRAPH_OK : check_wish(&f);
}

egraph_status eg_parameters_names(const eg_graph *graph, const eg_weight_fate *fates,
                                  eg_strmap *out) {
  for (uint32_t v = 0; v < eg_graph_value_count(graph); v++)
    if (fates[v] == EG_FATE_TRAINED)
      EG_TRY(eg_strmap_put(out, eg_graph_value(graph, (eg_value){v})->name, v));
  return EGRAPH_OK;
}

EG_NAME_DEFINE(eg_weight_fate, eg_weight_fate_why, EG_WEIGHT_FATE_LIST)
