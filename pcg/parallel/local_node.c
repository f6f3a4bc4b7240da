// Builds a device's part of a node: local types, and the attributes that hold sizes.
// Lists the strategies and memory formats for which the part is well-typed.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "ops/attention.h"
#include "pcg/parallel/strategy.h"

typedef struct part {
  const eg_spread *spread;
  const eg_strategy *strategy;
  const eg_mesh *mesh;
  uint32_t rank;
  eg_arena *arena;
  eg_attrs *attrs;
  eg_attr *slots; // of attrs
  eg_type *inputs, *results;
} part;

static eg_attr *slot_at(part *p, eg_attr_slot slot, eg_attr_slot base) {
  return &p->slots[(int)slot - (int)base];
}

// ---- attributes that hold sizes -----------------------------------------------------

static egraph_status own_list(part *p, eg_attr *attr, int64_t **out) {
  EG_NEW(p->arena, attr->ints.len, *out);
  if (attr->ints.len != 0) memcpy(*out, attr->ints.data, attr->ints.len * sizeof **out);
  attr->ints.data = *out;
  return EGRAPH_OK;
}

/// Sets a list attribute that holds the shape of the result.
static egraph_status set_shape(part *p, eg_attr *attr) {
  int64_t *list;
  EG_TRY(own_list(p, attr, &list));
  for (uint32_t d = 0; d < attr->ints.len && d < p->results[0].rank; d++)
    list[d] = p->results[0].dims[d];
  return EGRAPH_OK;
}

/// Sets the attribute that holds the end of a slice in each dimension; in a split
/// dimension the size of the device's part.
static egraph_status set_ends(part *p, eg_attr *attr) {
  int64_t *list;
  EG_TRY(own_list(p, attr, &list));
  for (uint32_t d = 0; d < attr->ints.len && d < p->results[0].rank; d++)
    if (p->results[0].dims[d] != p->spread->spec.results[0].dims[d])
      list[d] = p->inputs[0].dims[d];
  return EGRAPH_OK;
}

/// Sets a list attribute that holds the number of copies along each dimension.
static egraph_status set_copies(part *p, eg_attr *attr) {
  int64_t *list;
  EG_TRY(own_list(p, attr, &list));
  for (uint32_t d = 0; d < attr->ints.len && d < p->results[0].rank; d++)
    if (p->inputs[0].dims[d] != 0) list[d] = p->results[0].dims[d] / p->inputs[0].dims[d];
  return EGRAPH_OK;
}

/// Sets a list attribute that holds the sizes of the result from dimension 2 on.
static egraph_status set_spatial(part *p, eg_attr *attr) {
  int64_t *list;
  EG_TRY(own_list(p, attr, &list));
  for (uint32_t d = 0; d < attr->ints.len && d + 2 < p->results[0].rank; d++)
    list[d] = p->results[0].dims[d + 2];
  return EGRAPH_OK;
}

/// Sets the attribute that holds the size of the result's first dimension.
static egraph_status set_length(part *p, eg_attr *attr) {
  attr->i = p->results[0].dims[0];
  return EGRAPH_OK;
}

/// Sets the attribute for the number of groups into which dimension 1 of operand 0 (of a
/// weight: dimension 0) is divided. A part consists of whole groups.
static egraph_status set_groups(part *p, eg_attr *attr) {
  const eg_factors *factors = &p->spread->factors;
  int dim = p->spread->spec.input_count == 1 ? 0 : 1;
  for (uint32_t f = 0; f < factors->count; f++) {
    const eg_factor *factor = &factors->factor[f];
    bool is_group = factor->kind == EG_FACTOR_PARALLEL && factor->input_dim[0] == dim &&
                    (dim == 0 || factor->input_dim[1] == 0);
    for (uint32_t a = 0; is_group && a < p->mesh->axis_count; a++)
      if (p->strategy->action[a] == EG_ACTION_SPLIT + f) attr->i /= p->mesh->axes[a].size;
  }
  return EGRAPH_OK;
}

// ---- attributes that place a part in the whole --------------------------------------

/// Sets the attribute for the elements that a mean counts; 0: those of the operand.
static egraph_status set_count(part *p, eg_attr *attr) {
  const eg_node_spec *spec = &p->spread->spec;
  int64_t results = eg_type_elements(&spec->results[0]);
  int64_t own = eg_type_elements(&p->results[0]);
  if (results == 0 || attr->i != 0) return EGRAPH_OK;
  int64_t count = eg_type_elements(&spec->inputs[0]) / results;
  if (eg_type_elements(&p->inputs[0]) / own != count) attr->i = count;
  return EGRAPH_OK;
}

/// Returns which part of a split dimension a rank has, counted from 0.
static int64_t block_at(const eg_mesh *mesh, uint32_t rank, const eg_layout *layout,
                        uint32_t dim) {
  int64_t block = 0;
  for (uint32_t a = 0; a < mesh->axis_count; a++)
    if (layout->sharding[a] == eg_digit_shard(dim))
      block = block * mesh->axes[a].size + eg_mesh_coordinate(mesh, rank, a);
  return block;
}

static int64_t block_of_rank(const part *p, const eg_layout *layout, uint32_t dim) {
  return block_at(p->mesh, p->rank, layout, dim);
}

/// Sets two attributes of a lookup along a split axis: the size of the whole axis, and
/// the index of the device's first element.
static void set_entries(const part *p, const eg_layout *layout, uint32_t dim,
                        int64_t size, int64_t whole, eg_attr *attr) {
  if (size == whole) return;
  attr[1].i += block_of_rank(p, layout, dim) * size;
  if (attr[0].i == 0) attr[0].i = whole;
}

static egraph_status set_table(part *p, eg_attr *attr) {
  const eg_type *whole = &p->spread->spec.inputs[0];
  int64_t axis = slot_at(p, EG_A_GATHER_AXIS, EG_A_BASE_GATHER)->i;
  uint32_t dim = (uint32_t)(axis < 0 ? axis + whole->rank : axis);
  set_entries(p, &p->strategy->inputs[0], dim, p->inputs[0].dims[dim], whole->dims[dim],
              attr);
  return EGRAPH_OK;
}

static egraph_status set_table_grad(part *p, eg_attr *attr) {
  const eg_type *whole = &p->spread->spec.results[0];
  uint32_t dim = (uint32_t)slot_at(p, EG_A_GATHER_GRAD_AXIS, EG_A_BASE_GATHER_GRAD)->i;
  int64_t size = p->results[0].dims[dim];
  slot_at(p, EG_A_GATHER_GRAD_SIZE, EG_A_BASE_GATHER_GRAD)->i = size;
  set_entries(p, &p->strategy->result, dim, size, whole->dims[dim], attr);
  return EGRAPH_OK;
}

/// Returns which operand of attention or its gradient has the queries.
static uint32_t queries_of(eg_op op) { return op == EG_OP_ATTENTION_GRAD ? 1 : 0; }

/// Sets the attribute for the position of the first query of the rank's part.
static egraph_status set_offset(part *p, eg_attr *attr) {
  uint32_t q = queries_of((eg_op)p->spread->spec.attrs->op);
  const eg_attention a = eg_attention_of(p->spread->spec.attrs, &p->inputs[q]);
  uint32_t dim = eg_attention_row_dim(&a, p->inputs[q].rank);
  attr->i += block_of_rank(p, &p->strategy->inputs[q], dim) * p->inputs[q].dims[dim];
  return EGRAPH_OK;
}

typedef struct sized_attr {
  eg_op op;
  eg_attr_slot slot, base;
  egraph_status (*set)(part *p, eg_attr *attr);
} sized_attr;

#define SIZED(OP, SLOT, SET)                                                             \
  { EG_OP_##OP, EG_A_##OP##_##SLOT, EG_A_BASE_##OP, SET }
static const sized_attr sized_attrs[] = {
    SIZED(RESHAPE, SHAPE, set_shape),
    SIZED(EXPAND, SHAPE, set_shape),
    SIZED(RESIZE, SHAPE, set_shape),
    SIZED(FILL, SHAPE, set_shape),
    SIZED(SLICE, ENDS, set_ends),
    SIZED(TILE, REPEATS, set_copies),
    SIZED(POOL_KERNEL, CHANNELS, set_length),
    SIZED(CONV, GROUP, set_groups),
    SIZED(CONV_TRANSPOSE, GROUP, set_groups),
    SIZED(GROUP_NORM, NUM_GROUPS, set_groups),
    SIZED(MERGE_GCONV, GROUP, set_groups),
    SIZED(AVERAGE_POOL_GRAD, SPATIAL_SHAPE, set_spatial),
    SIZED(REDUCE_MEAN, COUNT, set_count),
    SIZED(GATHER, WHOLE, set_table),
    SIZED(GATHER_GRAD, WHOLE, set_table_grad),
    SIZED(ATTENTION, OFFSET, set_offset),
    SIZED(ATTENTION_GRAD, OFFSET, set_offset),
};

// ---- windows ------------------------------------------------------------------------

typedef struct padded_op {
  eg_op op;
  eg_attr_slot pads, base;
  bool cuts; // pads cut rows off the result (conv-transpose)
} padded_op;
#define PADDED(OP, CUTS)                                                                 \
  { EG_OP_##OP, EG_A_##OP##_PADS, EG_A_BASE_##OP, CUTS }
static const padded_op padded_ops[] = {
    PADDED(CONV, false), PADDED(CONV_TRANSPOSE, true), PADDED(CONV_GRAD_WEIGHT, false),
    PADDED(MAX_POOL, false), PADDED(AVERAGE_POOL, false)};

/// Adds the rows of neighbours to operand 0, and removes the padding that they replace.
static egraph_status add_halo(part *p, const eg_halo *halo) {
  p->inputs[0].dims[halo->dim] += halo->before + halo->after;
  for (size_t i = 0; i < sizeof padded_ops / sizeof *padded_ops; i++) {
    if (padded_ops[i].op != (eg_op)p->spread->spec.attrs->op) continue;
    int64_t *pads;
    eg_attr *attr = slot_at(p, padded_ops[i].pads, padded_ops[i].base);
    EG_TRY(own_list(p, attr, &pads));
    int64_t *begin = pads + (halo->dim - 2), *end = begin + attr->ints.len / 2;
    if (!padded_ops[i].cuts) {
      *begin = *end = 0;
      continue;
    }
    int64_t stride = slot_at(p, EG_A_CONV_TRANSPOSE_STRIDES, EG_A_BASE_CONV_TRANSPOSE)
                         ->ints.data[halo->dim - 2];
    *begin += halo->before * stride;
    *end += halo->after * stride;
  }
  return EGRAPH_OK;
}

// ---- the part -----------------------------------------------------------------------

/// Turns a device's part of a global average pool into a mean over the number of elements
/// of the whole operand.
static egraph_status become_mean(part *p) {
  enum { AXES, KEEPDIMS, COUNT, SLOTS };
  uint32_t axes = p->inputs[0].rank - 2;
  int64_t *list;
  EG_NEW(p->arena, axes, list);
  EG_NEW(p->arena, SLOTS, p->slots);
  for (uint32_t i = 0; i < axes; i++)
    list[i] = i + 2;
  p->slots[AXES] = (eg_attr){.kind = EG_ATTR_INTS, .ints = {.data = list, .len = axes}};
  p->slots[KEEPDIMS] = (eg_attr){.kind = EG_ATTR_INT, .i = 1};
  p->slots[COUNT] = (eg_attr){.kind = EG_ATTR_INT};
  *p->attrs = (eg_attrs){.op = EG_OP_REDUCE_MEAN, .count = SLOTS, .slots = p->slots};
  return set_count(p, &p->slots[COUNT]);
}

static egraph_status localize_attrs(part *p) {
  const eg_node_spec *spec = &p->spread->spec;
  bool is_mean = spec->attrs->op == EG_OP_GLOBAL_AVERAGE_POOL;
  for (uint32_t d = 2; is_mean && d < p->inputs[0].rank; d++)
    if (p->inputs[0].dims[d] != spec->inputs[0].dims[d]) return become_mean(p);
  for (size_t i = 0; i < sizeof sized_attrs / sizeof *sized_attrs; i++)
    if (sized_attrs[i].op == (eg_op)spec->attrs->op)
      EG_TRY(sized_attrs[i].set(p, slot_at(p, sized_attrs[i].slot, sized_attrs[i].base)));
  eg_halo halos[EG_MAX_MESH_AXES];
  uint32_t count = eg_spread_halos(p->spread, p->mesh, p->strategy, halos);
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(add_halo(p, &halos[i]));
  return EGRAPH_OK;
}

/// Checks that a device's node computes the device's part of every result.
static egraph_status check_results(const part *p, const eg_attrs *attrs) {
  const eg_node_spec *spec = &p->spread->spec;
  eg_type *results;
  uint32_t count = eg_op_results(attrs);
  EG_NEW(p->arena, count, results);
  EG_TRY(eg_op_infer(attrs, p->inputs, spec->input_count, results));
  for (uint32_t r = 0; r < count && r < spec->result_count; r++)
    if (!eg_type_same_shape(&results[r], &p->results[r]))
      return EG_FAIL(EGRAPH_E_TYPE, "%s: its part has another shape than its result's",
                     eg_op_info_of((eg_op)attrs->op)->name);
  return EGRAPH_OK;
}

egraph_status eg_spread_local(const eg_spread *spread, const eg_mesh *mesh,
                              const eg_strategy *strategy, uint32_t rank, eg_arena *arena,
                              eg_node_spec *out) {
  const eg_node_spec *spec = &spread->spec;
  part p = {
      .spread = spread, .strategy = strategy, .mesh = mesh, .rank = rank, .arena = arena};
  eg_attrs *attrs;
  EG_NEW(arena, 1, attrs);
  p.attrs = attrs;
  EG_NEW(arena, spec->attrs->count, p.slots);
  EG_NEW(arena, spec->input_count, p.inputs);
  EG_NEW(arena, spec->result_count, p.results);
  *attrs = *spec->attrs;
  if (attrs->count != 0)
    memcpy(p.slots, spec->attrs->slots, attrs->count * sizeof *p.slots);
  attrs->slots = p.slots;
  for (uint32_t i = 0; i < spec->input_count; i++)
    p.inputs[i] =
        eg_sharding_local(mesh, &spec->inputs[i], eg_strategy_input(strategy, i));
  for (uint32_t r = 0; r < spec->result_count; r++) {
    eg_layout layout =
        eg_factors_result_layout(&spread->factors, mesh, &strategy->result, r);
    p.results[r] = eg_sharding_local(mesh, &spec->results[r], &layout);
  }
  EG_TRY(localize_attrs(&p));
  *out = (eg_node_spec){.attrs = attrs,
                        .inputs = p.inputs,
                        .input_count = spec->input_count,
                        .results = p.results,
                        .result_count = spec->result_count,
                        .weight_mask = spec->weight_mask};
  return (eg_op)attrs->op == EG_OP_OPAQUE ? EGRAPH_OK : check_results(&p, attrs);
}

uint32_t eg_spread_busiest(const eg_spread *spread, const eg_mesh *mesh,
                           const eg_strategy *strategy) {
  const eg_node_spec *spec = &spread->spec;
  eg_op op = (eg_op)spec->attrs->op;
  if (op != EG_OP_ATTENTION && op != EG_OP_ATTENTION_GRAD) return 0;
  const eg_type *q = &spec->inputs[queries_of(op)];
  const eg_layout *layout = &strategy->inputs[queries_of(op)];
  eg_attention a = eg_attention_of(spec->attrs, q);
  if (!a.is_causal && a.window == 0) return 0;
  int64_t offset = a.offset;
  uint32_t dim = eg_attention_row_dim(&a, q->rank), busiest = 0;
  a.rows = eg_sharding_local(mesh, q, layout).dims[dim];
  double most = -1;
  for (uint32_t rank = 0; rank < eg_mesh_devices(mesh); rank++) {
    a.offset = offset + block_at(mesh, rank, layout, dim) * a.rows;
    double seen = eg_attention_seen(&a);
    if (seen > most) busiest = rank;
    if (seen > most) most = seen;
  }
  return busiest;
}

// ---- strategies and memory formats ----------------------------------------------------

typedef struct choices {
  uint32_t count[EG_MAX_MESH_AXES], at[EG_MAX_MESH_AXES];
  uint8_t action[EG_MAX_MESH_AXES][EG_MAX_ACTIONS];
} choices;

/// Finds the next combination of actions, one per mesh axis; false after the last.
static bool choose_next(const eg_mesh *mesh, choices *c) {
  for (uint32_t a = mesh->axis_count; a-- > 0;) {
    if (++c->at[a] < c->count[a]) return true;
    c->at[a] = 0;
  }
  return false;
}

static egraph_status try_strategy(const eg_spread *spread, const eg_mesh *mesh,
                                  const uint8_t *actions, eg_arena *scratch,
                                  eg_strategies *inout) {
  eg_strategy strategy;
  if (!eg_spread_combine(spread, mesh, actions, &strategy)) return EGRAPH_OK;
  eg_node_spec local;
  if (spread->factors.count != 0) {
    egraph_status status = eg_spread_local(spread, mesh, &strategy, 0, scratch, &local);
    if (status == EGRAPH_E_TYPE) return EGRAPH_OK;
    EG_TRY(status);
  }
  return eg_strategies_push(inout, strategy);
}

egraph_status eg_spread_strategies(const eg_spread *spread, const eg_mesh *mesh,
                                   eg_arena *scratch, eg_strategies *inout) {
  eg_op op = (eg_op)spread->spec.attrs->op;
  if (op == EG_OP_INPUT || op == EG_OP_WEIGHT) return EGRAPH_OK;
  choices c = {.count = {0}};
  for (uint32_t a = 0; a < mesh->axis_count; a++)
    c.count[a] = eg_spread_actions(spread, mesh, a, c.action[a]);
  do {
    uint8_t actions[EG_MAX_MESH_AXES] = {0};
    for (uint32_t a = 0; a < mesh->axis_count; a++)
      actions[a] = c.action[a][c.at[a]];
    EG_TRY(try_strategy(spread, mesh, actions, scratch, inout));
  } while (choose_next(mesh, &c));
  return EGRAPH_OK;
}

egraph_status eg_spread_formats(const eg_spread *spread, const eg_mesh *mesh,
                                const eg_strategy *strategy, uint32_t mask,
                                eg_arena *scratch,
                                eg_format_choice out[EG_MAX_FORMAT_CHOICES],
                                uint32_t *out_count) {
  eg_node_spec local;
  EG_TRY(eg_spread_local(spread, mesh, strategy, 0, scratch, &local));
  *out_count = eg_op_formats(local.attrs, local.inputs, local.input_count, local.results,
                             local.result_count, mask, out);
  return EGRAPH_OK;
}
