// Normalizations.
//
// Batch normalization with constant statistics is x s + t per channel, one of egraph's
// passes (chain.h); s and t are computed at load. oneDNN's ncsp_bnorm takes 0.82 ms for
// 256x56x56 where two passes take 0.14.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "exec/cpu/chain.h"
#include "exec/cpu/families.h"
#include "exec/cpu/kernel_threads.h"
#include "exec/cpu/pointwise.h"

enum { OPERAND_X, OPERAND_SCALE, OPERAND_SHIFT, OPERAND_MEAN, OPERAND_VARIANCE };

static egraph_status add_named(eg_cpu_builder *builder,
                               const_dnnl_primitive_desc_t primitive,
                               const eg_stage_arg *args, uint32_t count) {
  if (eg_cpu_is_slow(primitive))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "normalization: no fast kernel");
  EG_TRY(eg_cpu_name(builder, primitive));
  return eg_cpu_add_primitive(builder, &builder->run, primitive, args, count);
}

static egraph_status add_batch_norm(eg_cpu_builder *builder, int64_t channels) {
  const_dnnl_memory_desc_t x, row;
  EG_TRY(eg_dnnl_desc(&builder->descs, &builder->spec->inputs[OPERAND_X], &x));
  EG_TRY(eg_dnnl_desc_dims(&builder->descs, 1, &channels, &row));
  dnnl_primitive_desc_t primitive = NULL;
  dnnl_status_t made = dnnl_batch_normalization_forward_primitive_desc_create(
      &primitive, builder->engine, dnnl_forward_inference, x, x,
      (float)eg_attr_at(builder->spec->attrs, EG_A_BATCH_NORM_EPSILON)->f,
      dnnl_use_global_stats | dnnl_use_scale | dnnl_use_shift, builder->plain);
  EG_TRY(eg_dnnl_own(&builder->descs, made, primitive, "batch normalization"));
  if (eg_cpu_may_overlay(builder, OPERAND_X)) builder->overlay = OPERAND_X;
  eg_stage_arg args[] = {{DNNL_ARG_SRC, eg_cpu_read(builder, OPERAND_X), x},
                         {DNNL_ARG_SCALE, eg_cpu_read(builder, OPERAND_SCALE), row},
                         {DNNL_ARG_SHIFT, eg_cpu_read(builder, OPERAND_SHIFT), row},
                         {DNNL_ARG_MEAN, eg_cpu_read(builder, OPERAND_MEAN), row},
                         {DNNL_ARG_VARIANCE, eg_cpu_read(builder, OPERAND_VARIANCE), row},
                         {DNNL_ARG_DST, eg_place_result(0), x}};
  return add_named(builder, primitive, args, 6);
}

egraph_status eg_cpu_batch_norm(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *type = &spec->inputs[OPERAND_X];
  const eg_compile_request alone = {.spec = spec};
  for (uint32_t i = OPERAND_SCALE; i <= OPERAND_VARIANCE; i++)
    if (spec->inputs[i].dtype != EGRAPH_FLOAT32 || type->dtype != EGRAPH_FLOAT32)
      return EG_FAIL(EGRAPH_E_UNSUPPORTED, "batch-normalization: not float32");
  if (eg_cpu_chain_fits(&alone)) return eg_cpu_chain(builder, &alone);
  return add_batch_norm(builder, type->rank > 1 ? type->dims[1] : 1);
}

// ---- layer normalization: rows of everything behind the axis --------------------

egraph_status eg_cpu_layer_norm(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *type = &spec->inputs[0];
  if (spec->attrs->op != EG_OP_LAYER_NORM || type->dtype != EGRAPH_FLOAT32)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "normalization: no kernel");
  uint32_t axis = eg_axis_of(type, eg_attr_at(spec->attrs, EG_A_LAYER_NORM_AXIS)->i);
  int64_t dims[2] = {1, 1};
  for (uint32_t d = 0; d < type->rank; d++)
    dims[d < axis ? 0 : 1] *= type->dims[d];
  bool has_shift = spec->input_count > OPERAND_SHIFT;
  for (uint32_t i = 1; i < spec->input_count; i++)
    if (eg_type_elements(&spec->inputs[i]) != dims[1])
      return EG_FAIL(EGRAPH_E_UNSUPPORTED, "layer-normalization: scale must be full");
  const_dnnl_memory_desc_t x, row;
  EG_TRY(eg_dnnl_desc_dims(&builder->descs, 2, dims, &x));
  EG_TRY(eg_dnnl_desc_dims(&builder->descs, 1, &dims[1], &row));
  dnnl_primitive_desc_t primitive = NULL;
  dnnl_status_t made = dnnl_layer_normalization_forward_primitive_desc_create(
      &primitive, builder->engine, dnnl_forward_inference, x, x, NULL,
      (float)eg_attr_at(spec->attrs, EG_A_LAYER_NORM_EPSILON)->f,
      dnnl_use_scale | (has_shift ? dnnl_use_shift : 0u), builder->plain);
  EG_TRY(eg_dnnl_own(&builder->descs, made, primitive, "layer normalization"));
  if (eg_cpu_may_overlay(builder, OPERAND_X)) builder->overlay = OPERAND_X;
  eg_stage_arg args[4] = {{DNNL_ARG_SRC, eg_cpu_read(builder, OPERAND_X), x},
                          {DNNL_ARG_SCALE, eg_cpu_read(builder, OPERAND_SCALE), row},
                          {DNNL_ARG_DST, eg_place_result(0), x}};
  uint32_t count = 3;
  if (has_shift)
    args[count++] =
        (eg_stage_arg){DNNL_ARG_SHIFT, eg_cpu_read(builder, OPERAND_SHIFT), row};
  return add_named(builder, primitive, args, count);
}

// ---- local response normalization over channels ---------------------------------

egraph_status eg_cpu_lrn(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  int64_t size = eg_attr_at(spec->attrs, EG_A_LRN_SIZE)->i;
  if (size % 2 == 0 || spec->inputs[0].rank != 4) // oneDNN centres only odd windows
    return eg_cpu_refuse(builder, "no kernel for an even window");
  const_dnnl_memory_desc_t x;
  EG_TRY(eg_dnnl_desc(&builder->descs, &spec->inputs[0], &x));
  dnnl_primitive_desc_t primitive = NULL;
  dnnl_status_t made = dnnl_lrn_forward_primitive_desc_create(
      &primitive, builder->engine, dnnl_forward_inference, dnnl_lrn_across_channels, x, x,
      size, (float)eg_attr_at(spec->attrs, EG_A_LRN_ALPHA)->f,
      (float)eg_attr_at(spec->attrs, EG_A_LRN_BETA)->f,
      (float)eg_attr_at(spec->attrs, EG_A_LRN_BIAS)->f, builder->plain);
  EG_TRY(eg_dnnl_own(&builder->descs, made, primitive, "lrn"));
  eg_stage_arg args[] = {{DNNL_ARG_SRC, eg_cpu_read(builder, OPERAND_X), x},
                         {DNNL_ARG_DST, eg_place_result(0), x}};
  return add_named(builder, primitive, args, 2);
}

// ---- softmax ------------------------------------------------------------------------

// Computes softmax and log-softmax over one axis, with dimensions merged to [outer, axis,
// inner]. Softmax of short rows is one of egraph's passes (chain.h). Both functions along
// columns (inner is not 1) also run in egraph: oneDNN 2.6 has no fast kernel for columns
// (coat_lite_tiny's [1,8,3136,8] over 3136 takes 21 ms there).

// ---- columns --------------------------------------------------------------------------

typedef struct column_plan {
  eg_column_function function;
  int64_t outer, axis, inner;
  int64_t chunk; // columns of a part
  uint32_t threads;
} column_plan;

typedef struct column_work {
  const column_plan *plan;
  const float *x;
  float *y;
} column_work;

static int64_t chunks_of(const column_plan *p) {
  return (p->inner + p->chunk - 1) / p->chunk;
}

/// Describes all columns of a block. Where columns are few, elements of several
/// neighbours on the softmax axis form one row, so that loops are long.
static eg_columns whole_columns(const column_plan *p) {
  enum { LONG = 64 };
  int64_t joined = (LONG + p->inner - 1) / p->inner;
  if (joined > p->axis) joined = p->axis;
  int64_t width = joined * p->inner;
  int64_t rows = (p->axis + joined - 1) / joined;
  return (eg_columns){.rows = rows,
                      .stride = width,
                      .width = width,
                      .last = p->axis * p->inner - (rows - 1) * width,
                      .period = p->inner};
}

static void run_chunks(const void *user, int64_t begin, int64_t end) {
  const column_work *work = user;
  const column_plan *p = work->plan;
  int64_t chunks = chunks_of(p);
  for (int64_t part = begin; part < end; part++) {
    int64_t first = part % chunks * p->chunk;
    int64_t count = p->inner - first < p->chunk ? p->inner - first : p->chunk;
    int64_t at = part / chunks * p->axis * p->inner + first;
    eg_columns columns = {.rows = p->axis,
                          .stride = p->inner,
                          .width = count,
                          .last = count,
                          .period = count};
    if (chunks == 1) columns = whole_columns(p);
    p->function(work->x + at, work->y + at, &columns);
  }
}

// Runs softmax along columns; addresses: y, x.
static egraph_status run_columns(const void *payload, void *const *addresses) {
  const column_plan *p = payload;
  const column_work work = {.plan = p, .x = addresses[1], .y = addresses[0]};
  eg_parts_each(p->outer * chunks_of(p), 1, p->threads, run_chunks, &work);
  return EGRAPH_OK;
}

/// Returns the number of columns that a thread takes at once: their elements fit the
/// cache, and fill at least a cache line of each row.
static int64_t chunk_of(const column_plan *p) {
  enum { CACHED = 1 << 16, LINE = 16 };
  int64_t chunk = CACHED / p->axis / LINE * LINE;
  int64_t most = eg_parts_size((p->inner + LINE - 1) / LINE, EG_MOST_COLUMNS / LINE,
                               p->outer >= p->threads ? 1 : p->threads);
  if (chunk > most * LINE) chunk = most * LINE;
  return chunk < LINE ? LINE : chunk;
}

static egraph_status add_columns(eg_cpu_builder *builder, const int64_t *dims,
                                 bool is_log) {
  column_plan *plan;
  EG_TRY(eg_arena_alloc(builder->arena, 1, sizeof *plan, &plan));
  *plan = (column_plan){.function = eg_softmax_columns_of(is_log),
                        .outer = dims[0],
                        .axis = dims[1],
                        .inner = dims[2],
                        .threads = eg_omp_threads()};
  plan->chunk = chunk_of(plan);
  if (!is_log && eg_cpu_may_overlay(builder, 0)) builder->overlay = 0;
  builder->kernel = "vector loop";
  eg_place places[] = {eg_place_result(0), eg_cpu_read(builder, 0)};
  return eg_cpu_add_function(builder, &builder->run, run_columns, plan, places, 2);
}

// ---- rows -----------------------------------------------------------------------------

// Writes NaN over rows of which oneDNN made only a part NaN. The whole row must be NaN
// where it has NaN, positive infinity, or only negative infinity.
static egraph_status spread_nan(const void *payload, void *const *addresses) {
  const int64_t *dims = payload; // rows, length
  float *y = addresses[0];
  for (int64_t r = 0; r < dims[0]; r++, y += dims[1]) {
    bool is_nan = false;
    for (int64_t k = 0; k < dims[1]; k++)
      is_nan = is_nan || isnan(y[k]);
    for (int64_t k = 0; is_nan && k < dims[1]; k++)
      y[k] = NAN;
  }
  return EGRAPH_OK;
}

static egraph_status add_spread(eg_cpu_builder *builder, const int64_t *dims) {
  int64_t *payload;
  EG_TRY(eg_arena_alloc(builder->arena, 2, sizeof *payload, &payload));
  memcpy(payload, dims, 2 * sizeof *dims);
  eg_place result = eg_place_result(0);
  return eg_cpu_add_function(builder, &builder->again, spread_nan, payload, &result, 1);
}

static egraph_status add_rows(eg_cpu_builder *builder, const int64_t *dims, bool is_log) {
  const_dnnl_memory_desc_t desc;
  EG_TRY(eg_dnnl_desc_dims(&builder->descs, 2, dims, &desc));
  dnnl_primitive_desc_t primitive = NULL;
  dnnl_status_t made = dnnl_softmax_forward_primitive_desc_create(
      &primitive, builder->engine, dnnl_forward_inference,
      is_log ? dnnl_softmax_log : dnnl_softmax_accurate, desc, desc, 1, builder->plain);
  EG_TRY(eg_dnnl_own(&builder->descs, made, primitive, "softmax"));
  EG_TRY(eg_cpu_name(builder, primitive));
  if (eg_cpu_may_overlay(builder, 0)) builder->overlay = 0;
  eg_stage_arg args[] = {{DNNL_ARG_SRC, eg_cpu_read(builder, 0), desc},
                         {DNNL_ARG_DST, eg_place_result(0), desc}};
  EG_TRY(eg_cpu_add_primitive(builder, &builder->run, primitive, args, 2));
  return add_spread(builder, dims);
}

egraph_status eg_cpu_softmax(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_compile_request alone = {.spec = spec};
  if (eg_cpu_chain_fits(&alone)) return eg_cpu_chain(builder, &alone);
  const eg_type *type = &spec->inputs[0];
  bool is_log = spec->attrs->op == EG_OP_LOG_SOFTMAX;
  uint32_t axis = eg_axis_of(type, eg_attr_of_role(spec->attrs, EG_AR_AXIS)->i);
  if (type->dtype != EGRAPH_FLOAT32 || type->layout.format != EG_FORMAT_PLAIN)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "softmax: no kernel for this element type");
  int64_t dims[3] = {1, type->dims[axis], 1}; // outer, axis, inner
  for (uint32_t d = 0; d < type->rank; d++)
    if (d != axis) dims[d < axis ? 0 : 2] *= type->dims[d];
  return dims[2] == 1 ? add_rows(builder, dims, is_log)
                      : add_columns(builder, dims, is_log);
}
