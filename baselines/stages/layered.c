// Cuts a model into layers, and builds slices of layers as models.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/stages/layered.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "pcg/graph/blocks.h"
#include "pcg/graph/graph_copy.h"

// ---- where layers end -------------------------------------------------------------

// G(k, r) is the best merit of r layers of the operators before k:
//
//   G(k, r) = min over i of  G(i, r - 1) joined with layer [i, k)
//
// Layers are enumerated by their first operator, so that received bytes are summed while
// a layer grows.

/// The quantities to minimize, the first one first.
typedef struct merit {
  double most, sum; // most bytes that a layer receives, bytes that all layers receive
  double squares;   // of the work of layers
} merit;
EG_VEC_DEFINE(merits, merit);

static bool has_more_merit(const merit *a, const merit *b) {
  if (a->most != b->most) return a->most < b->most;
  if (a->sum != b->sum) return a->sum < b->sum;
  return a->squares < b->squares;
}

typedef struct clusterer {
  const eg_layer_problem *of;
  uint32_t layers;
  double limit;    // of the work of a layer
  merits best;     // [operators + 1][layers + 1]
  eg_u32s from;    // likewise: where the last layer begins
  eg_u32s counted; // [values] first operator + 1 of the last layer that counted it
} clusterer;

static size_t cluster_state(const clusterer *c, uint32_t before, uint32_t layers) {
  return (size_t)before * (c->layers + 1) + layers;
}

static double received(clusterer *c, uint32_t first, uint32_t op) {
  double bytes = 0;
  for (uint32_t r = c->of->reads_begin[op]; r < c->of->reads_begin[op + 1]; r++) {
    const eg_layer_read *read = &c->of->reads[r];
    uint32_t *counted = &c->counted.data[read->value];
    if (read->maker >= first || *counted == first + 1) continue;
    *counted = first + 1;
    bytes += read->bytes;
  }
  return bytes;
}

/// Tries all layers that begin with operator `first`.
static void grow_layers(clusterer *c, uint32_t first) {
  double bytes = 0, work = 0;
  for (uint32_t last = first; last < c->of->operators; last++) {
    bytes += received(c, first, last);
    work += c->of->work[last];
    if (work > c->limit && last != first) return;
    for (uint32_t r = 1; r <= c->layers; r++) {
      const merit *before = &c->best.data[cluster_state(c, first, r - 1)];
      if (isinf(before->most)) continue;
      merit now = {fmax(before->most, bytes), before->sum + bytes,
                   before->squares + work * work};
      size_t state = cluster_state(c, last + 1, r);
      if (!has_more_merit(&now, &c->best.data[state])) continue;
      c->best.data[state] = now;
      c->from.data[state] = first;
    }
  }
}

/// Appends the first operators of the layers of the best choice. Appends nothing if no
/// choice with this many layers obeys the limit of work.
static egraph_status cluster(clusterer *c, eg_u32s *out) {
  uint32_t operators = c->of->operators;
  EG_TRY(merits_resize(&c->best, cluster_state(c, operators + 1, 0)));
  EG_TRY(eg_u32s_resize(&c->from, c->best.len));
  EG_TRY(eg_u32s_resize(&c->counted, c->of->values));
  for (size_t i = 0; i < c->best.len; i++)
    c->best.data[i] = (merit){INFINITY, INFINITY, INFINITY};
  c->best.data[cluster_state(c, 0, 0)] = (merit){0, 0, 0};
  for (uint32_t first = 0; first < operators; first++)
    grow_layers(c, first);
  uint32_t layers = c->layers;
  if (isinf(c->best.data[cluster_state(c, operators, layers)].most)) return EGRAPH_OK;
  size_t begin = out->len;
  EG_TRY(eg_u32s_resize(out, begin + layers));
  for (uint32_t before = operators; layers > 0; layers--) {
    before = c->from.data[cluster_state(c, before, layers)];
    out->data[begin + layers - 1] = before;
  }
  return EGRAPH_OK;
}

egraph_status eg_layers_cluster(const eg_layer_problem *problem, egraph_allocator alloc,
                                eg_u32s *out_first) {
  assert(problem->layers != 0);
  double work = 0;
  for (uint32_t i = 0; i < problem->operators; i++)
    work += problem->work[i];
  uint32_t most = problem->operators;
  size_t begin = out_first->len;
  egraph_status status = EGRAPH_OK;
  uint32_t layers = problem->layers < most ? problem->layers : most;
  double limit = (1 + problem->slack) * work / problem->layers;
  // Raises the limit of work until some choice obeys it.
  while (status == EGRAPH_OK && layers != 0 && out_first->len == begin) {
    clusterer c = {.of = problem, .layers = layers, .limit = limit};
    merits_init(&c.best, alloc);
    eg_u32s_init(&c.from, alloc);
    eg_u32s_init(&c.counted, alloc);
    status = cluster(&c, out_first);
    eg_u32s_deinit(&c.counted);
    eg_u32s_deinit(&c.from);
    merits_deinit(&c.best);
    limit = limit > 0 ? 2 * limit : INFINITY;
  }
  return status;
}

// ---- the model in layers ----------------------------------------------------------

#define NONE EG_LAYERED_NONE
enum { LEAST_LAYERS = 4, PLAIN_LAYERS = 8 };
// Alpa's delta: how much more than the average a layer may compute.
static const double SLACK = 0.5;

static eg_graph_node_info node_at(const eg_layered *l, uint32_t place) {
  return eg_graph_node_at(l->forward, (eg_graph_node){l->nodes.data[place]});
}

// ---- what runs ----------------------------------------------------------------------

static void mark_operands(const eg_graph *graph, uint32_t node, char *needed) {
  eg_graph_node_info info = eg_graph_node_at(graph, (eg_graph_node){node});
  for (uint32_t i = 0; i < info.input_count; i++)
    needed[info.inputs[i].id] = 1;
}

static bool makes_any(const eg_graph *graph, uint32_t node, const char *flags) {
  eg_graph_node_info info = eg_graph_node_at(graph, (eg_graph_node){node});
  for (uint32_t i = 0; i < info.result_count; i++)
    if (flags[info.results[i].id] != 0) return true;
  return false;
}

/// Lists the nodes that the loss needs, without nodes on weights alone.
static egraph_status list_nodes(eg_layered *l, char *needed) {
  uint32_t count = eg_graph_node_count(l->forward);
  needed[l->loss_of.id] = 1;
  for (uint32_t n = count; n-- > 0;)
    if (makes_any(l->forward, n, needed)) mark_operands(l->forward, n, needed);
  for (uint32_t n = 0; n < count; n++)
    if (makes_any(l->forward, n, needed) && !makes_any(l->forward, n, l->constant.data))
      EG_TRY(eg_u32s_push(&l->nodes, n));
  if (l->nodes.len == 0)
    return EG_FAIL(
        EGRAPH_E_ARGUMENT,
        "output '%.200s' is not computed from any input; stages are cut out of "
        "what computes the loss: name another output",
        eg_graph_value(l->forward, l->loss_of)->name);
  return EGRAPH_OK;
}

static void note_places(eg_layered *l) {
  for (uint32_t p = 0; p < l->nodes.len; p++) {
    eg_graph_node_info node = node_at(l, p);
    for (uint32_t i = 0; i < node.result_count; i++)
      l->place.data[node.results[i].id] = p;
    for (uint32_t i = 0; i < node.input_count; i++)
      l->last_use.data[node.inputs[i].id] = p;
  }
}

static egraph_status find_running(eg_layered *l) {
  uint32_t values = eg_graph_value_count(l->forward);
  EG_LOCAL(eg_chars, needed, l->alloc);
  EG_TRY(eg_chars_resize(&l->constant, values));
  for (uint32_t v = 0; v < values; v++) {
    EG_TRY(eg_u32s_push(&l->place, NONE));
    EG_TRY(eg_u32s_push(&l->last_use, NONE));
  }
  EG_TRY(eg_graph_weight_only(l->forward, (bool *)l->constant.data));
  EG_TRY(eg_chars_resize(&needed, values));
  EG_TRY(list_nodes(l, needed.data));
  note_places(l);
  return EGRAPH_OK;
}

// ---- layers -------------------------------------------------------------------------

static double sent_bytes(const eg_layered *l, uint32_t value) {
  const eg_value_info *info = eg_graph_value(l->forward, (eg_value){value});
  double bytes = (double)eg_type_bytes(&info->type);
  return l->halves && info->type.dtype == EGRAPH_FLOAT32 ? bytes / 2 : bytes;
}

static double work_of(const eg_layered *l, uint32_t place) {
  eg_graph_node_info node = node_at(l, place);
  eg_type types[64];
  if (node.input_count > 64) return 0;
  for (uint32_t i = 0; i < node.input_count; i++)
    types[i] = eg_graph_value(l->forward, node.inputs[i])->type;
  return eg_op_flops(node.attrs, types, node.input_count);
}

/// Finds a number of layers that divides the number of equal blocks, so that equal blocks
/// give equal layers. The first and the last block may read other values. If there are
/// enough nodes outside the equal blocks, these two blocks are counted, too.
static egraph_status layers_that_fit(const eg_layered *l, uint32_t most, uint32_t *out) {
  eg_blocks blocks;
  EG_TRY(eg_blocks_find(l->forward, &blocks));
  *out = PLAIN_LAYERS < most ? PLAIN_LAYERS : most;
  if (blocks.count == 0) return EGRAPH_OK;
  uint32_t others = eg_graph_node_count(l->forward) - blocks.period * blocks.count;
  uint32_t count =
      blocks.count + (others < 2 * blocks.period ? others / blocks.period : 2);
  *out = count < most ? count : most;
  for (uint32_t n = *out; n >= LEAST_LAYERS; n--)
    if (count % n == 0) {
      *out = n;
      return EGRAPH_OK;
    }
  return EGRAPH_OK;
}

typedef struct cutter {
  eg_layered *layered;
  eg_doubles work;
  eg_u32s begin;
  eg_layer_reads reads;
} cutter;
EG_OWNER_DEFINE_STATIC(cutter, (eg_doubles, work), (eg_u32s, begin),
                       (eg_layer_reads, reads))

static egraph_status list_reads(cutter *c) {
  const eg_layered *l = c->layered;
  for (uint32_t p = 0; p < l->nodes.len; p++) {
    eg_graph_node_info node = node_at(l, p);
    EG_TRY(eg_u32s_push(&c->begin, (uint32_t)c->reads.len));
    EG_TRY(eg_doubles_push(&c->work, work_of(l, p)));
    for (uint32_t i = 0; i < node.input_count; i++) {
      uint32_t value = node.inputs[i].id, maker = l->place.data[value];
      if (maker != NONE)
        EG_TRY(eg_layer_reads_push(&c->reads,
                                   (eg_layer_read){maker, value, sent_bytes(l, value)}));
    }
  }
  return eg_u32s_push(&c->begin, (uint32_t)c->reads.len);
}

static egraph_status add_work(eg_layered *l, const eg_doubles *work) {
  for (uint32_t i = 0; i < l->first.len; i++) {
    uint32_t end = i + 1 < l->first.len ? l->first.data[i + 1] : (uint32_t)l->nodes.len;
    double sum = 0;
    for (uint32_t p = l->first.data[i]; p < end; p++)
      sum += work->data[p];
    EG_TRY(eg_doubles_push(&l->work, sum));
  }
  return EGRAPH_OK;
}

static egraph_status cut_layers(eg_layered *l, uint32_t wanted) {
  EG_LOCAL(cutter, c, l->alloc);
  c.layered = l;
  EG_TRY(list_reads(&c));
  const eg_layer_problem problem = {.operators = (uint32_t)l->nodes.len,
                                    .values = eg_graph_value_count(l->forward),
                                    .layers = wanted,
                                    .work = c.work.data,
                                    .reads_begin = c.begin.data,
                                    .reads = c.reads.data,
                                    .slack = SLACK};
  EG_TRY(eg_layers_cluster(&problem, l->alloc, &l->first));
  return add_work(l, &c.work);
}

egraph_status eg_layered_init(eg_layered *layered, egraph_allocator alloc,
                              const eg_graph *forward,
                              const eg_training_options *training, uint32_t most) {
  uint32_t wanted;
  *layered = (eg_layered){.alloc = alloc,
                          .forward = forward,
                          .loss_of = eg_graph_output(forward, training->output, NULL),
                          .halves = training->precision != EG_PRECISION_MODEL};
  eg_layered_init_members(layered, alloc);
  egraph_status status = find_running(layered);
  if (status == EGRAPH_OK) status = layers_that_fit(layered, most, &wanted);
  if (status == EGRAPH_OK) status = cut_layers(layered, wanted);
  EG_RETURN_FILLED(status, eg_layered, layered);
}

/// Returns the index in `nodes` after a layer's last node.
static uint32_t end_of(const eg_layered *l, uint32_t layer) {
  return layer + 1 < l->first.len ? l->first.data[layer + 1] : (uint32_t)l->nodes.len;
}

double eg_layered_crossing_bytes(const eg_layered *l, uint32_t layer) {
  uint32_t end = end_of(l, layer);
  double bytes = 0;
  for (uint32_t v = 0; v < l->place.len; v++) {
    bool is_made = l->place.data[v] != NONE && l->place.data[v] < end;
    bool is_read = l->last_use.data[v] != NONE && l->last_use.data[v] >= end;
    if (is_made && is_read) bytes += sent_bytes(l, v);
  }
  return bytes;
}

// ---- slices -------------------------------------------------------------------------

EG_VEC_DEFINE(value_list, eg_value);

typedef struct slicer {
  const eg_layered *of;
  const eg_parameter_wish *wish;
  eg_slice *out;
  uint32_t begin, end; // places
  eg_u32s map;         // [values of the model] value of the slice, or NONE
  value_list operands, results;
  eg_u32s stack; // nodes on weights alone that must be copied
  eg_u32s sent;  // inputs of the slice
} slicer;
EG_OWNER_DEFINE_STATIC(slicer, (eg_u32s, map, stack, sent),
                       (value_list, operands, results))

static egraph_status add_slice_input(slicer *s, uint32_t v) {
  const eg_value_info *info = eg_graph_value(s->of->forward, (eg_value){v});
  eg_graph *graph = s->out->graph;
  eg_type type = info->type;
  uint32_t number = eg_graph_value_count(graph), found;
  char name[24];
  eg_value made;
  type.layout.format = EG_FORMAT_PLAIN;
  bool is_weight = info->kind == EG_VALUE_WEIGHT;
  (void)snprintf(name, sizeof name, "%c%u", is_weight ? 'w' : 'x', (unsigned)number);
  EG_TRY(is_weight ? eg_graph_add_weight(graph, name, &type, NULL, &made)
                   : eg_graph_add_input(graph, name, &type, &made));
  s->map.data[v] = made.id;
  bool is_trained = is_weight && (s->wish->chosen == NULL ||
                                  eg_strmap_find(s->wish->chosen, info->name, &found));
  if (is_trained) EG_TRY(eg_strmap_put(&s->out->trained, name, made.id));
  bool is_sent = s->of->place.data[v] != NONE && eg_dtype_is_float(type.dtype);
  return is_sent ? eg_u32s_push(&s->sent, made.id) : EGRAPH_OK;
}

static egraph_status copy_slice_node(slicer *s, uint32_t n) {
  eg_graph_node_info node = eg_graph_node_at(s->of->forward, (eg_graph_node){n});
  s->operands.len = 0;
  for (uint32_t i = 0; i < node.input_count; i++)
    EG_TRY(value_list_push(&s->operands, (eg_value){s->map.data[node.inputs[i].id]}));
  s->results.len = 0;
  EG_TRY(value_list_resize(&s->results, node.result_count));
  EG_TRY(eg_graph_add_node(s->out->graph, "", node.attrs, s->operands.data,
                           node.input_count, NULL, s->results.data));
  for (uint32_t i = 0; i < node.result_count; i++)
    s->map.data[node.results[i].id] = s->results.data[i].id;
  return EGRAPH_OK;
}

static bool is_made_here(const slicer *s, uint32_t v) {
  uint32_t place = s->of->place.data[v];
  return place != NONE && place >= s->begin && place < s->end;
}

/// True when the slice must first compute the value from weights.
static bool is_constant_node(const slicer *s, uint32_t v) {
  const eg_value_info *info = eg_graph_value(s->of->forward, (eg_value){v});
  return s->map.data[v] == NONE && info->kind == EG_VALUE_COMPUTED &&
         s->of->constant.data[v] != 0;
}

/// Adds the operands of a node that are leaves of the slice. If an operand is computed
/// from weights alone, pushes its node on the stack, so that it is copied first.
static egraph_status copy_with_constants(slicer *s, uint32_t n) {
  EG_TRY(eg_u32s_push(&s->stack, n));
  while (s->stack.len != 0) {
    uint32_t top = s->stack.data[s->stack.len - 1];
    size_t before = s->stack.len;
    eg_graph_node_info node = eg_graph_node_at(s->of->forward, (eg_graph_node){top});
    for (uint32_t i = 0; i < node.input_count; i++) {
      uint32_t v = node.inputs[i].id;
      if (is_constant_node(s, v))
        EG_TRY(eg_u32s_push(&s->stack,
                            eg_graph_value(s->of->forward, (eg_value){v})->node.id));
      else if (s->map.data[v] == NONE)
        EG_TRY(add_slice_input(s, v));
    }
    if (s->stack.len != before) continue; // these first
    s->stack.len--;
    bool is_there = node.result_count != 0 && s->map.data[node.results[0].id] != NONE;
    if (!is_there) EG_TRY(copy_slice_node(s, top));
  }
  return EGRAPH_OK;
}

static egraph_status add_slice_outputs(slicer *s, bool has_loss) {
  if (has_loss)
    return eg_graph_add_output(s->out->graph, NULL,
                               (eg_value){s->map.data[s->of->loss_of.id]});
  for (uint32_t v = 0; v < s->map.len; v++) {
    uint32_t last = s->of->last_use.data[v];
    if (is_made_here(s, v) && last != NONE && last >= s->end)
      EG_TRY(eg_graph_add_output(s->out->graph, NULL, (eg_value){s->map.data[v]}));
  }
  return EGRAPH_OK;
}

static egraph_status name_sent_back(slicer *s) {
  eg_slice *out = s->out;
  EG_NEW(&out->arena, s->sent.len, out->sent_back);
  for (size_t i = 0; i < s->sent.len; i++)
    out->sent_back[out->sent_back_count++] =
        eg_graph_value(out->graph, (eg_value){s->sent.data[i]})->name;
  return EGRAPH_OK;
}

static egraph_status write_key(eg_slice *out) {
  EG_TRY(eg_graph_print(out->graph, &out->key));
  EG_TRY(eg_text_append(&out->key, out->training.is_inner ? "inner" : "loss"));
  for (uint32_t i = 0; i < out->sent_back_count; i++)
    EG_TRY(eg_text_printf(&out->key, " %s", out->sent_back[i]));
  for (uint32_t v = 0; v < eg_graph_value_count(out->graph); v++) {
    uint32_t found;
    const char *name = eg_graph_value(out->graph, (eg_value){v})->name;
    if (eg_strmap_find(&out->trained, name, &found))
      EG_TRY(eg_text_printf(&out->key, " %s", name));
  }
  return EGRAPH_OK;
}

static egraph_status fill_slice(slicer *s, const eg_training_options *training,
                                bool has_loss) {
  eg_slice *out = s->out;
  for (uint32_t v = 0; v < eg_graph_value_count(s->of->forward); v++)
    EG_TRY(eg_u32s_push(&s->map, NONE));
  for (uint32_t p = s->begin; p < s->end; p++)
    EG_TRY(copy_with_constants(s, s->of->nodes.data[p]));
  EG_TRY(add_slice_outputs(s, has_loss));
  EG_TRY(name_sent_back(s));
  out->training = *training;
  out->training.output = 0;
  out->training.is_inner = !has_loss;
  out->training.sent_back = out->sent_back;
  out->training.sent_back_count = out->sent_back_count;
  out->training.parameters = (eg_parameter_wish){.chosen = &out->trained};
  return write_key(out);
}

egraph_status eg_slice_init(eg_slice *slice, const eg_layered *layered,
                            const eg_training_options *training, uint32_t first,
                            uint32_t last) {
  assert(first <= last && last < eg_layered_count(layered));
  egraph_allocator alloc = layered->alloc;
  EG_LOCAL_WITH(slicer, s, alloc, .of = layered, .wish = &training->parameters,
                .out = slice, .begin = layered->first.data[first],
                .end = end_of(layered, last));
  *slice = (eg_slice){.graph = NULL};
  EG_INIT_MEMBERS(slice, alloc, (eg_strmap, trained), (eg_text, key), (eg_arena, arena))
  egraph_status status = eg_graph_create(&alloc, &slice->graph);
  if (status == EGRAPH_OK)
    status = fill_slice(&s, training, last + 1 == eg_layered_count(layered));
  EG_RETURN_FILLED(status, eg_slice, slice);
}

void eg_slice_deinit(eg_slice *slice) {
  EG_DEINIT_MEMBERS(slice, (eg_strmap, trained), (eg_text, key), (eg_arena, arena))
  eg_graph_destroy(slice->graph);
  slice->graph = NULL;
}
