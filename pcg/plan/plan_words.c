// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/owner.h"

EG_NAME_DEFINE(eg_phase, eg_phase_name, EG_PHASE_LIST)
EG_FIND_DEFINE(eg_phase, eg_phase_find, EG_PHASE_LIST)
EG_FIND_DEFINE(eg_transition_kind, eg_transition_find, EG_TRANSITION_LIST)

egraph_status eg_action_print(eg_text *text, uint8_t action) {
  if (action == EG_ACTION_REPLICATE) return eg_text_append(text, "replicate");
  if (action == EG_ACTION_PASS_JOINT) return eg_text_append(text, "pass joint");
  if (action < EG_ACTION_SPLIT)
    return eg_text_printf(text, "pass %d", action - EG_ACTION_PASS);
  return eg_text_printf(text, "split %d", action - EG_ACTION_SPLIT);
}

/// True for "word 12" with a number below `limit`.
static bool find_numbered(const char *name, const char *word, int64_t limit,
                          int64_t *out) {
  size_t length = strlen(word);
  return strncmp(name, word, length) == 0 && eg_parse_int64(name + length, out) &&
         *out >= 0 && *out < limit;
}

bool eg_action_find(const char *name, uint8_t *out) {
  int64_t number = 0;
  if (strcmp(name, "replicate") == 0)
    *out = EG_ACTION_REPLICATE;
  else if (strcmp(name, "pass joint") == 0)
    *out = EG_ACTION_PASS_JOINT;
  else if (find_numbered(name, "pass ", EG_FACTOR_ROWS, &number))
    *out = (uint8_t)(EG_ACTION_PASS + number);
  else if (find_numbered(name, "split ", EG_MAX_FACTORS, &number))
    *out = (uint8_t)(EG_ACTION_SPLIT + number);
  else
    return false;
  return true;
}

// ---- layouts and strategies -----------------------------------------------------------

static void print_dim(eg_text *text, uint32_t dim, uint32_t rank) {
  if (rank == 2)
    eg_text_printf(text, "%s (dimension %" PRIu32 ")", dim == 0 ? "rows" : "columns",
                   dim);
  else
    eg_text_printf(text, "dimension %" PRIu32, dim);
}

/// Prints "node and gpu": the axes of several devices that have this sharding letter.
static void print_axes(eg_text *text, const eg_mesh *mesh, const eg_layout *layout,
                       uint8_t digit) {
  bool is_first = true;
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    if (layout->sharding[a] != digit || mesh->axes[a].size == 1) continue;
    eg_text_printf(text, "%s%s", is_first ? "" : " and ", mesh->axes[a].name);
    is_first = false;
  }
}

static void print_digit(eg_text *text, const eg_mesh *mesh, uint32_t rank,
                        const eg_layout *layout, uint8_t digit) {
  if (digit == EG_SHARD_P_SUM) eg_text_append(text, "partial sums");
  if (digit == EG_SHARD_P_MAX) eg_text_append(text, "partial maxima");
  if (eg_digit_is_shard(digit)) print_dim(text, eg_digit_dim(digit), rank);
  eg_text_append(text, digit == EG_SHARD_R ? "the same along " : " over ");
  print_axes(text, mesh, layout, digit);
}

egraph_status eg_layout_words(eg_text *text, const eg_mesh *mesh, uint32_t rank,
                              const eg_layout *layout) {
  uint8_t digits[EG_MAX_MESH_AXES]; // distinct digits of the axes with several devices
  uint32_t count = 0;
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    if (mesh->axes[a].size == 1) continue;
    uint32_t at = 0;
    while (at < count && digits[at] != layout->sharding[a])
      at++;
    digits[at] = layout->sharding[a];
    if (at == count) count++;
  }
  bool is_whole = count == 1 && digits[0] == EG_SHARD_R;
  if (count == 0) eg_text_append(text, "whole");
  if (is_whole) eg_text_append(text, "whole on every device");
  for (uint32_t i = 0; i < count && !is_whole; i++) {
    if (i != 0) eg_text_append(text, ", ");
    print_digit(text, mesh, rank, layout, digits[i]);
  }
  if (layout->format != EG_FORMAT_PLAIN)
    eg_text_printf(text, ", in %s", eg_format_name(layout->format));
  return eg_text_status(text);
}

eg_place eg_plan_factor_place(const eg_plan *plan, const eg_plan_step *step,
                              const eg_factor *factor) {
  assert(!step->is_move);
  eg_graph_node_info info = eg_graph_node_at(plan->graph, step->node);
  for (uint32_t r = 0; r < info.result_count; r++)
    if (factor->output_dim[eg_factor_row(r)] != EG_NO_DIM)
      return (eg_place){info.results[r], (uint32_t)factor->output_dim[eg_factor_row(r)],
                        true};
  eg_place place = {.value = info.results[0]};
  for (uint32_t i = info.input_count; i-- > 0;)
    if (factor->input_dim[eg_factor_row(i)] != EG_NO_DIM)
      place = (eg_place){info.inputs[i], (uint32_t)factor->input_dim[eg_factor_row(i)],
                         false};
  return place;
}

static egraph_status print_split(eg_text *text, const eg_plan *plan,
                                 const eg_plan_step *step, const eg_factor *factor) {
  eg_place place = eg_plan_factor_place(plan, step, factor);
  const eg_value_info *value = eg_graph_value(plan->graph, place.value);
  if (!place.is_result)
    eg_text_append(text, factor->kind == EG_FACTOR_MAX   ? "the maximum's "
                         : factor->kind == EG_FACTOR_SUM ? "the summed "
                                                         : "");
  print_dim(text, place.dim, value->type.rank);
  return eg_text_print_names(text, " of %s", value->name);
}

egraph_status eg_plan_action_words(eg_text *text, const eg_plan *plan,
                                   const eg_plan_step *step, const eg_factors *factors,
                                   uint32_t axis) {
  uint8_t action = step->action[axis];
  if (action == EG_ACTION_REPLICATE) return eg_text_append(text, "repeated");
  if (action == EG_ACTION_PASS_JOINT)
    return eg_text_append(text, "partial results of all operands");
  if (action >= EG_ACTION_SPLIT)
    return print_split(text, plan, step, &factors->factor[action - EG_ACTION_SPLIT]);
  eg_graph_node_info info = eg_graph_node_at(plan->graph, step->node);
  uint32_t operand = (uint32_t)(action - EG_ACTION_PASS);
  return eg_text_print_names(text, "partial results of %s",
                             eg_graph_value(plan->graph, info.inputs[operand])->name);
}

// ---- amounts --------------------------------------------------------------------------

typedef struct unit {
  double size;
  const char *name;
} unit;

/// Prints an amount in the largest unit in which it is at least 1, with integer
/// arithmetic, because "%g" depends on the locale.
static egraph_status print_amount(eg_text *text, double amount, const unit *units,
                                  size_t count) {
  size_t at = 0, last = count - 1;
  while (at < last && amount < units[at].size * 0.9995)
    at++;
  eg_text_digits(text, amount / units[at].size);
  return eg_text_printf(text, " %s", units[at].name);
}

egraph_status eg_text_digits(eg_text *text, double value) {
  if (!(value >= 0)) return eg_text_append(text, "?"); // a plan file may have any number
  if (value >= 1e15) return eg_text_append(text, "over 1000000");
  int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  int64_t scale = decimals == 2 ? 100 : decimals == 1 ? 10 : 1;
  int64_t units = (int64_t)(value * (double)scale + 0.5), rest = units % scale;
  while (rest != 0 && rest % 10 == 0) {
    rest /= 10;
    decimals--;
  }
  eg_text_printf(text, "%" PRId64, units / scale);
  if (rest != 0) eg_text_printf(text, ".%0*" PRId64, decimals, rest);
  return eg_text_status(text);
}

egraph_status eg_text_bytes(eg_text *text, double bytes) {
  static const unit UNITS[] = {
      {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}};
  if (!(bytes > 0)) return eg_text_append(text, "0 B");
  return print_amount(text, bytes, UNITS, sizeof UNITS / sizeof *UNITS);
}

egraph_status eg_text_seconds(eg_text *text, double seconds) {
  static const unit UNITS[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
  if (!(seconds > 0)) return eg_text_append(text, "0 s");
  return print_amount(text, seconds, UNITS, sizeof UNITS / sizeof *UNITS);
}

egraph_status eg_text_percent(eg_text *text, double share) {
  if (share > 0 && share < 5e-5) return eg_text_append(text, "under 0.01 %");
  eg_text_digits(text, 100 * share);
  return eg_text_append(text, " %");
}

// ---- labels ---------------------------------------------------------------------------

static size_t count_digits(const char *text) { return strspn(text, "0123456789"); }

bool eg_name_is_made_up(const char *name) {
  const char *at = name;
  if (strncmp(name, "opt_", 4) == 0)
    at += 4;
  else if (name[0] == 'v')
    at += 1;
  size_t digits = at != name ? count_digits(at) : 0;
  if (digits == 0) return false;
  at += digits;
  if (*at == '_' && count_digits(at + 1) != 0) at += 1 + count_digits(at + 1);
  return *at == '\0';
}

typedef struct labeller {
  const eg_plan *plan;
  eg_plan_labels *out;
  eg_phase *phase_of; // [nodes]
  uint32_t *visited;  // [values] 1 + carried pair that visited it last, or 0
  eg_u32s stack;
} labeller;
EG_OWNER_DEFINE_STATIC(labeller, (eg_u32s, stack))

static egraph_status label_value(labeller *l, eg_value value, const char *what,
                                 const char *name) {
  char text[EG_MESSAGE_BYTES];
  if (l->out->words[value.id] != NULL ||
      !eg_name_is_made_up(eg_graph_value(l->plan->graph, value)->name))
    return EGRAPH_OK;
  int length = snprintf(text, sizeof text, "%s%.300s", what, name);
  return eg_arena_string(&l->out->arena, text, (size_t)length, &l->out->words[value.id]);
}

/// Returns the length of the name of the trained weight to which an input belongs: of "w"
/// for w.m, w.v and w.sum.
static size_t base_length(const eg_graph *graph, const char *entry) {
  const char *dot = strrchr(entry, '.');
  char base[EG_MESSAGE_BYTES];
  eg_value value;
  if (dot == NULL || (size_t)(dot - entry) >= sizeof base) return strlen(entry);
  memcpy(base, entry, (size_t)(dot - entry));
  base[dot - entry] = '\0';
  return eg_graph_find_value(graph, base, &value) ? (size_t)(dot - entry) : strlen(entry);
}

/// Labels the output that becomes an input of the next step: "new w1".
static egraph_status label_exit(labeller *l, eg_value entry, eg_value exit) {
  const char *name = eg_graph_value(l->plan->graph, entry)->name;
  size_t length = base_length(l->plan->graph, name);
  char base[EG_MESSAGE_BYTES];
  if (strcmp(name + length, ".sum") != 0) return label_value(l, exit, "new ", name);
  (void)snprintf(base, sizeof base, "%.*s", (int)length, name);
  return label_value(l, exit, "summed gradient of ", base);
}

/// Labels gradients: walks back from the output that becomes input `entry` of the next
/// step, through the update (for a sum: through the addition to the sum), along values of
/// the input's shape, to results of the backward phase.
static egraph_status label_gradients(labeller *l, eg_value entry, eg_value exit,
                                     uint32_t mark) {
  const eg_graph *graph = l->plan->graph;
  const eg_value_info *info = eg_graph_value(graph, entry);
  char base[EG_MESSAGE_BYTES];
  (void)snprintf(base, sizeof base, "%.*s", (int)base_length(graph, info->name),
                 info->name);
  l->stack.len = 0;
  EG_TRY(eg_u32s_push(&l->stack, exit.id));
  while (l->stack.len != 0) {
    eg_value value = {eg_u32s_pop(&l->stack)};
    const eg_value_info *at = eg_graph_value(graph, value);
    if (l->visited[value.id] == mark || at->kind != EG_VALUE_COMPUTED) continue;
    l->visited[value.id] = mark;
    bool is_sum = value.id == exit.id;
    if (l->phase_of[at->node.id] == EG_PHASE_BACKWARD && !is_sum) {
      EG_TRY(label_value(l, value, "gradient of ", base));
      continue;
    }
    if (l->phase_of[at->node.id] == EG_PHASE_FORWARD) continue;
    eg_graph_node_info node = eg_graph_node_at(graph, at->node);
    for (uint32_t i = 0; i < node.input_count; i++) {
      const eg_value_info *input = eg_graph_value(graph, node.inputs[i]);
      if (input->typed && eg_type_same_shape(&input->type, &info->type))
        EG_TRY(eg_u32s_push(&l->stack, node.inputs[i].id));
    }
  }
  return EGRAPH_OK;
}

EG_OWNER_DEFINE(eg_plan_labels, (eg_arena, arena))

egraph_status eg_plan_labels_find(const eg_plan *plan, eg_plan_labels *out) {
  uint32_t values = eg_graph_value_count(plan->graph);
  EG_LOCAL(eg_arena, scratch, out->arena.alloc);
  EG_LOCAL_WITH(labeller, l, out->arena.alloc, .plan = plan, .out = out);
  EG_NEW(&out->arena, values, out->words);
  EG_NEW(&scratch, eg_graph_node_count(plan->graph), l.phase_of);
  EG_NEW(&scratch, values, l.visited);
  const eg_u32s *carried = &plan->carried;
  const char *name;
  for (size_t i = 0; i < plan->steps.len; i++)
    if (!plan->steps.data[i].is_move)
      l.phase_of[plan->steps.data[i].node.id] = plan->steps.data[i].phase;
  for (size_t i = 0; i + 1 < carried->len; i += 2)
    EG_TRY(label_exit(&l, (eg_value){carried->data[i + 1]},
                      eg_graph_output(plan->graph, carried->data[i], &name)));
  for (size_t i = 0; i + 1 < carried->len; i += 2)
    EG_TRY(label_gradients(&l, (eg_value){carried->data[i + 1]},
                           eg_graph_output(plan->graph, carried->data[i], &name),
                           (uint32_t)(i + 1)));
  for (uint32_t o = 0; o < eg_graph_output_count(plan->graph); o++) {
    eg_value value = eg_graph_output(plan->graph, o, &name);
    EG_TRY(label_value(&l, value, "", name));
  }
  return EGRAPH_OK;
}

// ---- repetitions ----------------------------------------------------------------------

enum { LEAST_COUNT = 4, LEAST_HIDDEN = 16, LONGEST = 512 };

eg_repeat eg_repeat_at(uint32_t first, uint32_t len,
                       bool (*alike)(const void *user, uint32_t a, uint32_t b),
                       const void *user) {
  assert(first <= len);
  eg_repeat best = {.period = 1, .count = 1};
  uint32_t longest = (len - first) / LEAST_COUNT;
  if (longest > LONGEST) longest = LONGEST;
  for (uint32_t period = 1; period <= longest; period++) {
    uint32_t same = 0;
    while (first + same + period < len &&
           alike(user, first + same, first + same + period))
      same++;
    uint32_t count = same / period + 1;
    if (count < LEAST_COUNT || (count - 1) * period < LEAST_HIDDEN) continue;
    if (count * period > best.count * best.period)
      best = (eg_repeat){.period = period, .count = count};
  }
  return best;
}
