// Placement by minimal cuts, the usual baseline of device placement (Mirhoseini et al.,
// ICML'17, with Scotch): puts every operator of a training step on one device, so that
// devices compute for about the same time and exchange few bytes. No operator is split,
// and no schedule is chosen: each device runs its operators in the order of the step, one
// micro-batch after the other, as soon as they can begin.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/stages/stage_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/owner.h"
#include "baselines/stages/min_cut.h"
#include "optimize/price/plan_price.h"
#include "pcg/graph/graph_copy.h"
#include "sim/task_graph.h"

#define NONE UINT32_MAX
static const double SLACK = 0.1; // seconds of a half above its share, relative
enum { MOST_PASSES = 4 << 20, LISTED = 64 }; // of operators; devices

typedef struct placer {
  const eg_plan_call *call;
  egraph_allocator alloc;
  eg_training training;
  const eg_graph *step;
  eg_machine_shape shape;
  uint32_t devices, nodes, micro_batches;
  eg_doubles seconds; // [nodes] of one run
  eg_u32s device;     // [nodes]
  eg_u32s order;      // nodes; a gradient is added to its sum as soon as it is made
  eg_chars constant;  // [values] of weights alone: free on every device
  // A carried value (a weight or an optimizer state) is stored on the device of the
  // operator that makes its next value, and sent to other devices once a step.
  eg_u32s exit_of;      // [values] the exit of an entry; NONE: no entry
  eg_u32s begin, users; // [values + 1] into the nodes that read a value, each once
  eg_task_graph *tasks;
  eg_u32s task;           // [nodes] its task in the latest micro-batch
  eg_u32s port;           // [classes][2][devices] links; NONE: not created yet
  eg_u32s sent;           // [devices] scratch: the flow of a value to a device, or NONE
  eg_doubles busy, bytes; // [devices] seconds of a step, most bytes held
  eg_doubles now;         // [devices] bytes
} placer;
EG_OWNER_DEFINE_STATIC(placer, (eg_doubles, seconds, busy, bytes, now),
                       (eg_u32s, device, order, exit_of, begin, users, task, port, sent),
                       (eg_chars, constant))

static const eg_value_info *info_of(const placer *p, uint32_t v) {
  return eg_graph_value(p->step, (eg_value){v});
}
static double value_bytes(const placer *p, uint32_t v) {
  return (double)eg_type_bytes(&info_of(p, v)->type);
}
static eg_graph_node_info node_at(const placer *p, uint32_t n) {
  return eg_graph_node_at(p->step, (eg_graph_node){n});
}
/// Returns how often a node runs in a step.
static double node_runs(const placer *p, uint32_t n) {
  return n >= p->training.phase_begin[EG_PHASE_UPDATE] ? 1 : p->micro_batches;
}

// ---- the step -------------------------------------------------------------------------

static egraph_status price_node(placer *p, const eg_plan_costs *costs, uint32_t n) {
  eg_graph_node_info node = node_at(p, n);
  eg_node_price price = {0, 0};
  eg_type *types;
  EG_LOCAL(eg_arena, arena, p->alloc);
  EG_NEW(&arena, node.input_count + node.result_count, types);
  for (uint32_t i = 0; i < node.input_count; i++)
    types[i] = info_of(p, node.inputs[i].id)->type;
  for (uint32_t i = 0; i < node.result_count; i++)
    types[node.input_count + i] = info_of(p, node.results[i].id)->type;
  const eg_node_spec spec = {.attrs = node.attrs,
                             .inputs = types,
                             .input_count = node.input_count,
                             .results = types + node.input_count,
                             .result_count = node.result_count};
  bool is_ahead = node.result_count != 0 && p->constant.data[node.results[0].id] != 0;
  if (!is_ahead) EG_TRY(costs->node(costs->self, &spec, &price));
  return eg_doubles_push(&p->seconds, price.seconds);
}

static egraph_status price_nodes(placer *p) {
  static const eg_machine_mesh single = {.mesh = {.axis_count = 0}};
  eg_machine_costs costs = {.mesh = &single};
  EG_TRY(eg_device_cost_init(&costs.device, p->call->context.machine,
                             p->call->context.costs));
  costs.device.plain_only = true;
  const eg_plan_costs asked = eg_machine_plan_costs(&costs);
  for (uint32_t n = 0; n < p->nodes; n++)
    EG_TRY(price_node(p, &asked, n));
  return EGRAPH_OK;
}

static void note_exit(placer *p, eg_training_state state) {
  if (state.entry.id != EG_VALUE_NONE.id) p->exit_of.data[state.entry.id] = state.exit.id;
}

static egraph_status find_exits(placer *p) {
  for (uint32_t v = 0; v < eg_graph_value_count(p->step); v++)
    EG_TRY(eg_u32s_push(&p->exit_of, NONE));
  for (uint32_t i = 0; i < p->training.param_count; i++) {
    const eg_training_param *param = &p->training.params[i];
    note_exit(p, param->value);
    note_exit(p, param->sum);
    for (uint32_t s = 0; s < p->training.state_count; s++)
      note_exit(p, param->state[s]);
  }
  return EGRAPH_OK;
}

/// True when operand i of a node differs from all operands before it.
static bool is_new_operand(const eg_graph_node_info *node, uint32_t i) {
  for (uint32_t j = 0; j < i; j++)
    if (node->inputs[j].id == node->inputs[i].id) return false;
  return true;
}

static egraph_status list_users(placer *p) {
  uint32_t values = eg_graph_value_count(p->step);
  EG_TRY(eg_u32s_resize(&p->begin, (size_t)values + 2));
  uint32_t *begin = p->begin.data + 1; // begin[v] advances to the end of v's readers
  for (uint32_t n = 0; n < p->nodes; n++) {
    eg_graph_node_info node = node_at(p, n);
    for (uint32_t i = 0; i < node.input_count; i++)
      if (is_new_operand(&node, i)) begin[node.inputs[i].id + 1]++;
  }
  for (uint32_t v = 1; v <= values; v++)
    begin[v] += begin[v - 1];
  EG_TRY(eg_u32s_resize(&p->users, begin[values]));
  for (uint32_t n = 0; n < p->nodes; n++) {
    eg_graph_node_info node = node_at(p, n);
    for (uint32_t i = 0; i < node.input_count; i++)
      if (is_new_operand(&node, i)) p->users.data[begin[node.inputs[i].id]++] = n;
  }
  return EGRAPH_OK;
}

/// Returns the last node for which a node waits; NONE: none.
static uint32_t latest_maker(const placer *p, uint32_t n) {
  eg_graph_node_info node = node_at(p, n);
  uint32_t latest = NONE;
  for (uint32_t i = 0; i < node.input_count; i++) {
    const eg_value_info *info = eg_graph_value(p->step, node.inputs[i]);
    bool is_later =
        info->kind == EG_VALUE_COMPUTED && (latest == NONE || info->node.id > latest);
    if (is_later) latest = info->node.id;
  }
  return latest;
}

/// True when a node is the only reader of its computed operands.
static bool reads_alone(const placer *p, uint32_t n) {
  eg_graph_node_info node = node_at(p, n);
  for (uint32_t i = 0; i < node.input_count; i++) {
    uint32_t v = node.inputs[i].id;
    bool is_made = info_of(p, v)->kind == EG_VALUE_COMPUTED;
    if (is_made && p->begin.data[v + 1] - p->begin.data[v] > 1) return false;
  }
  return true;
}

/// Fills `next` with the node to run right after each node, which adds its gradient to
/// the sum, or NONE. `is_behind` flags such nodes.
static egraph_status find_gradient_sums(const placer *p, eg_u32s *next,
                                        eg_chars *is_behind) {
  for (uint32_t n = 0; n < p->nodes; n++)
    EG_TRY(eg_u32s_push(next, NONE));
  EG_TRY(eg_chars_resize(is_behind, p->nodes));
  for (uint32_t i = 0; i < p->training.param_count; i++) {
    eg_value exit = p->training.params[i].sum.exit;
    if (exit.id == EG_VALUE_NONE.id) continue;
    uint32_t n = eg_graph_value(p->step, exit)->node.id, maker = latest_maker(p, n);
    if (maker == NONE || next->data[maker] != NONE || !reads_alone(p, n)) continue;
    next->data[maker] = n;
    is_behind->data[n] = 1;
  }
  return EGRAPH_OK;
}

static egraph_status order_nodes(placer *p) {
  EG_LOCAL(eg_u32s, next, p->alloc);
  EG_LOCAL(eg_chars, is_behind, p->alloc);
  EG_TRY(find_gradient_sums(p, &next, &is_behind));
  for (uint32_t n = 0; n < p->nodes; n++) {
    if (is_behind.data[n] != 0) continue;
    EG_TRY(eg_u32s_push(&p->order, n));
    if (next.data[n] != NONE) EG_TRY(eg_u32s_push(&p->order, next.data[n]));
  }
  return EGRAPH_OK;
}

// ---- the cut --------------------------------------------------------------------------

typedef struct nets {
  eg_doubles weight, bytes;
  eg_u32s begin, pins;
} nets;
EG_OWNER_DEFINE_STATIC(nets, (eg_doubles, weight, bytes), (eg_u32s, begin, pins))

/// Returns the node whose device holds a value: the maker of the value, or of its next
/// value if it is carried. NONE: the value is given, and every device has it.
static uint32_t home_node(const placer *p, uint32_t v) {
  uint32_t exit = p->exit_of.data[v] != NONE ? p->exit_of.data[v] : v;
  const eg_value_info *info = info_of(p, exit);
  return info->kind == EG_VALUE_COMPUTED ? info->node.id : NONE;
}

static egraph_status add_net(const placer *p, uint32_t v, nets *out) {
  uint32_t home = home_node(p, v);
  double often = p->exit_of.data[v] != NONE || home == NONE ? 1 : node_runs(p, home);
  if (p->constant.data[v] != 0 || home == NONE) return EGRAPH_OK;
  EG_TRY(eg_u32s_push(&out->pins, home));
  for (uint32_t i = p->begin.data[v]; i < p->begin.data[v + 1]; i++)
    if (p->users.data[i] != home) EG_TRY(eg_u32s_push(&out->pins, p->users.data[i]));
  EG_TRY(eg_doubles_push(&out->bytes, often * value_bytes(p, v)));
  return eg_u32s_push(&out->begin, (uint32_t)out->pins.len);
}

static egraph_status cut_nets(placer *p, nets *n) {
  EG_TRY(eg_u32s_push(&n->begin, 0));
  for (uint32_t v = 0; v < p->nodes; v++)
    EG_TRY(eg_doubles_push(&n->weight, node_runs(p, v) * p->seconds.data[v]));
  for (uint32_t v = 0; v < eg_graph_value_count(p->step); v++)
    EG_TRY(add_net(p, v, n));
  const eg_cut_problem problem = {.vertices = p->nodes,
                                  .nets = (uint32_t)n->bytes.len,
                                  .parts = p->devices,
                                  .weight = n->weight.data,
                                  .bytes = n->bytes.data,
                                  .begin = n->begin.data,
                                  .pins = n->pins.data,
                                  .slack = SLACK};
  EG_TRY(eg_u32s_resize(&p->device, p->nodes));
  return eg_min_cut(&problem, p->alloc, p->device.data);
}

static egraph_status place(placer *p) {
  EG_LOCAL(nets, n, p->alloc);
  return cut_nets(p, &n);
}

// ---- simulation -----------------------------------------------------------------------

/// Finds the link out of a device (`way` 0) or into it (1), of a class of links; devices
/// that share a port share its link.
static egraph_status port_of(placer *p, uint32_t device, uint32_t class, uint32_t way,
                             const eg_machine_link *link, uint32_t *out) {
  uint32_t first = device - device % link->sharers;
  uint32_t *port = &p->port.data[((size_t) class * 2 + way) * p->devices + first];
  if (*port == NONE)
    EG_TRY(eg_task_graph_add_link(p->tasks, 1 / link->seconds_per_byte, port));
  *out = *port;
  return EGRAPH_OK;
}

static egraph_status add_flow(placer *p, uint32_t from, uint32_t to, double bytes,
                              uint32_t *out) {
  const eg_machine *machine = p->call->context.machine;
  uint32_t inner = machine->axis_count - 1, links[2],
           class = from / p->shape.width == to / p->shape.width ? inner : 0;
  const eg_machine_link *link = &machine->links[machine->axes[class].link];
  EG_TRY(port_of(p, from, class, 0, link, &links[0]));
  EG_TRY(port_of(p, to, class, 1, link, &links[1]));
  return eg_task_graph_add_flow(p->tasks, link->latency_seconds, bytes, links, 2, NULL, 0,
                                out);
}

/// Makes the readers [low, high) of a value wait for its maker `task`; readers on other
/// devices wait for the flow to their device. `task` NONE: the value exists from the
/// start.
static egraph_status connect(placer *p, uint32_t v, uint32_t home, uint32_t task,
                             uint32_t low, uint32_t high) {
  uint32_t begin = p->begin.data[v], end = p->begin.data[v + 1];
  egraph_status status = EGRAPH_OK;
  for (uint32_t i = begin; status == EGRAPH_OK && i < end; i++) {
    uint32_t user = p->users.data[i], to = p->device.data[user], from = task;
    if (user < low || user >= high || p->constant.data[v] != 0) continue;
    if (to != p->device.data[home]) {
      if (p->sent.data[to] == NONE) {
        status =
            add_flow(p, p->device.data[home], to, value_bytes(p, v), &p->sent.data[to]);
        if (status == EGRAPH_OK && task != NONE)
          status = eg_task_graph_depend(p->tasks, p->sent.data[to], task);
      }
      from = p->sent.data[to];
    }
    if (status == EGRAPH_OK && from != NONE)
      status = eg_task_graph_depend(p->tasks, p->task.data[user], from);
  }
  for (uint32_t i = begin; i < end; i++)
    p->sent.data[p->device.data[p->users.data[i]]] = NONE;
  return status;
}

static egraph_status add_tasks(placer *p, uint32_t low, uint32_t high) {
  for (uint32_t i = low; i < high; i++) { // sums run in their phase
    uint32_t n = p->order.data[i];
    uint32_t stream = p->device.data[n]; // streams are numbered as devices
    EG_TRY(eg_task_graph_add_compute(p->tasks, p->seconds.data[n], &stream, 1,
                                     &p->task.data[n]));
    p->busy.data[stream] += p->seconds.data[n];
  }
  return EGRAPH_OK;
}

/// Runs nodes [low, high). Nodes wait for values that they read from each other and, in
/// the first micro-batch, for carried values. The update reads results of the last
/// micro-batch, whose tasks are the latest.
static egraph_status run_nodes(placer *p, uint32_t low, uint32_t high, bool is_first) {
  uint32_t update = p->training.phase_begin[EG_PHASE_UPDATE];
  EG_TRY(add_tasks(p, low, high));
  for (uint32_t v = 0; v < eg_graph_value_count(p->step); v++) {
    const eg_value_info *info = info_of(p, v);
    uint32_t home = home_node(p, v);
    bool is_made = info->kind == EG_VALUE_COMPUTED && info->node.id < high &&
                   (low == update || info->node.id >= low);
    bool is_carried = p->exit_of.data[v] != NONE && is_first;
    if (home == NONE || (!is_made && !is_carried)) continue;
    EG_TRY(connect(p, v, home, is_made ? p->task.data[info->node.id] : NONE, low, high));
  }
  return EGRAPH_OK;
}

static egraph_status simulate_placement(placer *p, double *out_seconds) {
  uint32_t update = p->training.phase_begin[EG_PHASE_UPDATE], stream;
  if ((double)p->nodes * p->micro_batches > MOST_PASSES)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "a step of %" PRIu32 " operators and %" PRIu32
                   " micro-batches is too long to simulate operator by operator (more "
                   "than %d passes); take fewer micro-batches",
                   p->nodes, p->micro_batches, (int)MOST_PASSES);
  for (uint32_t d = 0; d < p->devices; d++)
    EG_TRY(eg_task_graph_add_stream(p->tasks, &stream));
  EG_TRY(eg_u32s_resize(&p->task, p->nodes));
  EG_TRY(eg_doubles_resize(&p->busy, p->devices));
  for (size_t i = 0; i < (size_t)4 * p->devices; i++)
    EG_TRY(eg_u32s_push(&p->port, NONE));
  for (uint32_t d = 0; d < p->devices; d++)
    EG_TRY(eg_u32s_push(&p->sent, NONE));
  for (uint32_t m = 0; m < p->micro_batches; m++)
    EG_TRY(run_nodes(p, 0, update, m == 0));
  EG_TRY(run_nodes(p, update, p->nodes, true));
  EG_TRY(eg_task_graph_simulate(p->tasks));
  *out_seconds = eg_task_graph_makespan(p->tasks);
  return EGRAPH_OK;
}

// ---- memory ---------------------------------------------------------------------------

// Counts the memory of one micro-batch, in the order of the step. A value is on its
// maker's device, and on each reader's device until its last reader on that device. Given
// and carried values are held all the time; a carried value is also held on the devices
// of its readers.

static void hold(placer *p, uint32_t device, double bytes) {
  p->now.data[device] += bytes;
  p->bytes.data[device] = fmax(p->bytes.data[device], p->now.data[device]);
}

/// Returns the last reader of a value on a device; `otherwise` if no reader is on it.
static uint32_t last_reader(const placer *p, uint32_t v, uint32_t device,
                            uint32_t otherwise) {
  uint32_t last = otherwise;
  for (uint32_t i = p->begin.data[v]; i < p->begin.data[v + 1]; i++)
    if (p->device.data[p->users.data[i]] == device) last = p->users.data[i];
  return last;
}

/// True when this reader of a value is the first reader on its device, and the value is
/// stored on another device.
static bool arrives_for(const placer *p, uint32_t v, uint32_t reader, uint32_t home) {
  uint32_t device = p->device.data[reader];
  if (home != NONE && p->device.data[home] == device) return false;
  for (uint32_t i = p->begin.data[v]; i < p->begin.data[v + 1]; i++)
    if (p->device.data[p->users.data[i]] == device) return p->users.data[i] == reader;
  return false;
}

static void hold_given(placer *p) {
  for (uint32_t v = 0; v < eg_graph_value_count(p->step); v++) {
    if (info_of(p, v)->kind == EG_VALUE_COMPUTED) continue;
    uint32_t home = home_node(p, v);
    if (home != NONE) hold(p, p->device.data[home], value_bytes(p, v));
    for (uint32_t i = p->begin.data[v]; i < p->begin.data[v + 1]; i++) {
      uint32_t reader = p->users.data[i];
      if (arrives_for(p, v, reader, home))
        hold(p, p->device.data[reader], value_bytes(p, v));
    }
  }
}

/// Counts the results of a node as held, and frees operands after their last reader.
/// `exits` flags carried values, which take the storage of their entries.
static void run_node(placer *p, const eg_chars *exits, uint32_t n) {
  eg_graph_node_info node = node_at(p, n);
  uint32_t device = p->device.data[n];
  for (uint32_t i = 0; i < node.input_count; i++) {
    uint32_t v = node.inputs[i].id;
    bool is_made = info_of(p, v)->kind == EG_VALUE_COMPUTED;
    if (is_made && is_new_operand(&node, i) && arrives_for(p, v, n, home_node(p, v)))
      hold(p, device, value_bytes(p, v));
  }
  for (uint32_t i = 0; i < node.result_count; i++)
    if (exits->data[node.results[i].id] == 0)
      hold(p, device, value_bytes(p, node.results[i].id));
  for (uint32_t i = 0; i < node.input_count; i++) {
    uint32_t v = node.inputs[i].id;
    bool is_made = info_of(p, v)->kind == EG_VALUE_COMPUTED;
    bool is_last = last_reader(p, v, device, n) == n && is_new_operand(&node, i);
    if (is_made && is_last && exits->data[v] == 0)
      p->now.data[device] -= value_bytes(p, v);
  }
  for (uint32_t i = 0; i < node.result_count; i++) {
    uint32_t v = node.results[i].id;
    if (last_reader(p, v, device, NONE) == NONE && exits->data[v] == 0)
      p->now.data[device] -= value_bytes(p, v);
  }
}

static egraph_status count_memory(placer *p) {
  EG_TRY(eg_doubles_resize(&p->bytes, p->devices));
  EG_TRY(eg_doubles_resize(&p->now, p->devices));
  EG_LOCAL(eg_chars, exits, p->alloc);
  EG_TRY(eg_chars_resize(&exits, eg_graph_value_count(p->step)));
  for (uint32_t v = 0; v < p->exit_of.len; v++)
    if (p->exit_of.data[v] != NONE) exits.data[p->exit_of.data[v]] = 1;
  hold_given(p);
  for (uint32_t i = 0; i < p->nodes; i++)
    run_node(p, &exits, p->order.data[i]);
  return EGRAPH_OK;
}

// ---- the result -----------------------------------------------------------------------

/// Returns how many seconds a device computes in a phase of one micro-batch.
static double seconds_on(const placer *p, uint32_t device, eg_phase phase) {
  double seconds = 0;
  for (uint32_t n = p->training.phase_begin[phase];
       n < p->training.phase_begin[phase + 1]; n++)
    if (p->device.data[n] == device) seconds += p->seconds.data[n];
  return seconds;
}

static egraph_status report_placement(const placer *p, double seconds, eg_staged *out) {
  eg_staged_row row = {.is_possible = true, .seconds = seconds};
  (void)snprintf(row.name, sizeof row.name, "%" PRIu32 " devices", p->devices);
  out->micro_batches = p->micro_batches;
  out->devices = p->devices;
  out->memory_limit = p->call->budget.memory;
  out->chunks = 1;
  for (uint32_t n = 0; n < p->nodes; n++)
    row.formula += node_runs(p, n) * p->seconds.data[n]; // one device after the other
  for (uint32_t d = 0; d < p->devices; d++) {
    row.busiest = fmax(row.busiest, p->busy.data[d]);
    row.bytes = fmax(row.bytes, p->bytes.data[d]);
  }
  row.excess = fmax(row.bytes - p->call->budget.memory, 0);
  EG_TRY(eg_staged_rows_push(&out->rows, row));
  out->best = 0;
  for (uint32_t d = 0; d < p->devices && d < LISTED; d++)
    EG_TRY(eg_staged_stages_push(
        &out->stages, (eg_staged_stage){.place = {1, 1, 1, EG_STAGE_FREE},
                                        .forward = seconds_on(p, d, EG_PHASE_FORWARD),
                                        .backward = seconds_on(p, d, EG_PHASE_BACKWARD),
                                        .update = seconds_on(p, d, EG_PHASE_UPDATE),
                                        .in_flight = 1,
                                        .bytes = p->bytes.data[d]}));
  return EGRAPH_OK;
}

static egraph_status search_placement(placer *p, eg_staged *out) {
  double seconds;
  p->step = p->training.graph;
  p->nodes = eg_graph_node_count(p->step);
  EG_TRY(eg_machine_shape_of(p->call->context.machine, &p->shape));
  p->devices = p->shape.nodes * p->shape.width;
  EG_TRY(eg_chars_resize(&p->constant, eg_graph_value_count(p->step)));
  EG_TRY(eg_graph_weight_only(p->step, (bool *)p->constant.data));
  EG_TRY(find_exits(p));
  EG_TRY(list_users(p));
  EG_TRY(order_nodes(p));
  EG_TRY(price_nodes(p));
  EG_TRY(place(p));
  EG_TRY(eg_task_graph_create(p->alloc, &p->tasks));
  EG_TRY(simulate_placement(p, &seconds));
  EG_TRY(count_memory(p));
  return report_placement(p, seconds, out);
}

egraph_status eg_min_cut_placement(const eg_plan_call *call, eg_staged *out) {
  EG_LOCAL(placer, p, call->request->alloc);
  double start = eg_clock_seconds();
  out->algorithm = "min-cut";
  p.call = call;
  p.alloc = call->request->alloc;
  p.micro_batches = call->training->micro_batches;
  EG_TRY(eg_training_step(call->forward, call->training, &p.training));
  egraph_status status = search_placement(&p, out);
  eg_task_graph_destroy(p.tasks);
  eg_training_deinit(&p.training);
  out->search_seconds = eg_clock_seconds() - start;
  return status;
}
