// Pooling and its gradients. oneDNN's gradient of maxima needs a record of its forward
// pass: the place of each maximum. A node has no such record, so the gradient runs the
// forward pass again.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <fenv.h>
#include <float.h>

#include "exec/cpu/families.h"
#include "ops/meaning.h"

// ---- windows ----------------------------------------------------------------------

typedef struct pool_window {
  dnnl_alg_kind_t alg;
  uint32_t spatial;
  int64_t kernel[EGRAPH_MAX_RANK], strides[EGRAPH_MAX_RANK], dilates[EGRAPH_MAX_RANK],
      begin[EGRAPH_MAX_RANK], end[EGRAPH_MAX_RANK];
} pool_window;

static egraph_status check_rank(uint32_t rank) {
  return rank >= 3 && rank <= 5
             ? EGRAPH_OK
             : EG_FAIL(EGRAPH_E_UNSUPPORTED,
                       "pooling: oneDNN has 1 to 3 spatial dimensions");
}

/// Finds the types of the tensor over which windows lie, and of the tensor with one
/// element for each window.
static void find_types(const eg_node_spec *spec, const eg_type **out_large,
                       const eg_type **out_small) {
  eg_op op = (eg_op)spec->attrs->op;
  bool is_gradient = op == EG_OP_MAX_POOL_GRAD || op == EG_OP_AVERAGE_POOL_GRAD;
  *out_large = is_gradient ? &spec->results[0] : &spec->inputs[0];
  *out_small = is_gradient ? &spec->inputs[spec->input_count - 1] : &spec->results[0];
}

// Fills the windows of a pooling. oneDNN requires the padding that makes its size formula
// exact, so the end padding is recomputed from the shapes (ceil_mode lengthens it, a
// remainder shortens it).
static egraph_status window_of(const eg_node_spec *spec, pool_window *out) {
  const eg_attrs *attrs = spec->attrs;
  bool is_max = attrs->op == EG_OP_MAX_POOL || attrs->op == EG_OP_MAX_POOL_GRAD;
  const eg_type *large, *small;
  find_types(spec, &large, &small);
  EG_TRY(check_rank(large->rank));
  eg_windows lists;
  (void)eg_op_windows(attrs, NULL, 0, &lists);
  const int64_t *pads = lists.pads.data;
  bool is_longer = false;
  *out = (pool_window){.alg = dnnl_pooling_max, .spatial = large->rank - 2};
  for (uint32_t i = 0; i < out->spatial; i++) {
    out->kernel[i] = lists.kernel.data[i];
    out->strides[i] = lists.strides.data[i];
    out->dilates[i] = lists.dilations.len != 0 ? lists.dilations.data[i] - 1 : 0;
    out->begin[i] = pads[i];
    int64_t extent = (out->kernel[i] - 1) * (out->dilates[i] + 1) + 1;
    out->end[i] = (small->dims[i + 2] - 1) * out->strides[i] + extent -
                  large->dims[i + 2] - out->begin[i];
    is_longer = is_longer || out->end[i] > pads[out->spatial + i];
  }
  if (is_max) return EGRAPH_OK;
  eg_attr_slot slot = attrs->op == EG_OP_AVERAGE_POOL
                          ? EG_A_AVERAGE_POOL_COUNT_INCLUDE_PAD
                          : EG_A_AVERAGE_POOL_GRAD_COUNT_INCLUDE_PAD;
  bool include = eg_attr_at(attrs, slot)->i != 0;
  out->alg =
      include ? dnnl_pooling_avg_include_padding : dnnl_pooling_avg_exclude_padding;
  // ONNX does not count the cells that only ceil_mode adds; oneDNN would count them.
  if (include && is_longer)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "average-pool: ceil_mode with counted padding");
  return EGRAPH_OK;
}

/// True when a primitive has a kernel generated for its shape.
static bool is_jitted(const_dnnl_primitive_desc_t primitive) {
  return strncmp(eg_cpu_kernel_of(primitive), "jit", 3) == 0;
}

static eg_type channels_last(const eg_type *type) {
  eg_type last = *type;
  last.layout.format = EG_FORMAT_NHWC;
  return last;
}

typedef struct eg_look {
  int64_t count;
  bool for_nan; // it looks for NaN; false: for the lowest number
} eg_look;

/// Raises the invalid flag when a float is NaN, or (for_nan is false) the lowest number.
static egraph_status look_at(const void *payload, void *const *addresses) {
  const eg_look *look = payload;
  const float *x = addresses[0];
  uint32_t found = 0;
  for (int64_t i = 0; look->for_nan && i < look->count; i++)
    found |= x[i] != x[i];
  for (int64_t i = 0; !look->for_nan && i < look->count; i++)
    found |= x[i] == -FLT_MAX;
  if (found != 0) (void)feraiseexcept(FE_INVALID);
  return EGRAPH_OK;
}

/// Adds a pass that raises the invalid flag when one of `count` floats is NaN, or
/// (for_nan is false) the lowest number.
static egraph_status add_look(eg_cpu_builder *builder, bool for_nan, eg_place place,
                              int64_t count) {
  assert(count >= 0);
  eg_look *look;
  EG_NEW(builder->arena, 1, look);
  *look = (eg_look){.count = count, .for_nan = for_nan};
  return eg_cpu_add_function(builder, &builder->run, look_at, look, &place, 1);
}

// Adds the stages that compute maxima again where NaN was lost. oneDNN returns the lowest
// number as the maximum of negative infinities, so one of egraph's passes raises the
// invalid flag for that number. Generated kernels raise the flag where they lose NaN;
// other kernels may not, so a pass searches for NaN.
static egraph_status add_again(eg_cpu_builder *builder, eg_place maxima, int64_t count) {
  EG_TRY(add_look(builder, false, maxima, count));
  eg_cpu_exchange_lists(builder);
  egraph_status status = eg_cpu_add_reference(builder);
  eg_cpu_exchange_lists(builder);
  return status;
}

// ---- pooling ----------------------------------------------------------------------

// A pooling operator, and the primitive that computes it.
typedef struct pooling {
  const_dnnl_memory_desc_t x, result;
  dnnl_alg_kind_t alg;
  dnnl_primitive_desc_t primitive;
} pooling;

static egraph_status describe_pooling(eg_cpu_builder *builder, const pool_window *w,
                                      const eg_type *x, const eg_type *result,
                                      pooling *out) {
  out->alg = w->alg;
  EG_TRY(eg_dnnl_desc(&builder->descs, x, &out->x));
  EG_TRY(eg_dnnl_desc(&builder->descs, result, &out->result));
  dnnl_status_t made = dnnl_pooling_forward_primitive_desc_create(
      &out->primitive, builder->engine, dnnl_forward_inference, w->alg, out->x,
      out->result, w->strides, w->kernel, w->dilates, w->begin, w->end, builder->plain);
  return eg_dnnl_own(&builder->descs, made, out->primitive, "pooling");
}

static egraph_status add_pooling(eg_cpu_builder *builder, const pooling *p, eg_place from,
                                 eg_place to) {
  bool loses_nan = p->alg == dnnl_pooling_max;
  EG_TRY(eg_cpu_name(builder, p->primitive));
  if (loses_nan && !is_jitted(p->primitive))
    EG_TRY(add_look(builder, true, from,
                    (int64_t)(dnnl_memory_desc_get_size(p->x) / sizeof(float))));
  eg_stage_arg args[] = {{DNNL_ARG_SRC, from, p->x}, {DNNL_ARG_DST, to, p->result}};
  return eg_cpu_add_primitive(builder, &builder->run, p->primitive, args, 2);
}

static egraph_status add_through_nhwc(eg_cpu_builder *builder, const pool_window *w,
                                      const pooling *plain) {
  const eg_node_spec *spec = builder->spec;
  eg_type x = channels_last(&spec->inputs[0]);
  eg_type result = channels_last(&spec->results[0]);
  pooling nhwc = {0};
  EG_TRY(describe_pooling(builder, w, &x, &result, &nhwc));
  eg_place from = eg_cpu_scratch(builder, eg_type_bytes(&x));
  eg_place to = eg_cpu_scratch(builder, eg_type_bytes(&result));
  EG_TRY(eg_cpu_add_reorder(builder, &builder->run, eg_cpu_read(builder, 0), plain->x,
                            from, nhwc.x));
  EG_TRY(add_pooling(builder, &nhwc, from, to));
  return eg_cpu_add_reorder(builder, &builder->run, to, nhwc.result, eg_place_result(0),
                            plain->result);
}

static egraph_status add_windows(eg_cpu_builder *builder, const pool_window *w) {
  const eg_type *x = &builder->spec->inputs[0];
  pooling direct = {0};
  EG_TRY(describe_pooling(builder, w, x, &builder->spec->results[0], &direct));
  if (!is_jitted(direct.primitive)) {
    bool is_plain = x->layout.format == EG_FORMAT_PLAIN;
    if (is_plain && w->spatial == 2) return add_through_nhwc(builder, w, &direct);
    if (!is_plain)
      return EG_FAIL(EGRAPH_E_UNSUPPORTED, "pooling: no fast kernel in this format");
  }
  return add_pooling(builder, &direct, eg_cpu_read(builder, 0), eg_place_result(0));
}

static egraph_status add_pool(eg_cpu_builder *builder, const pool_window *w) {
  const eg_type *result = &builder->spec->results[0];
  EG_TRY(add_windows(builder, w));
  return w->alg == dnnl_pooling_max
             ? add_again(builder, eg_place_result(0),
                         (int64_t)(eg_type_bytes(result) / sizeof(float)))
             : EGRAPH_OK;
}

egraph_status eg_cpu_pool(eg_cpu_builder *builder) {
  pool_window w;
  EG_TRY(window_of(builder->spec, &w));
  return add_pool(builder, &w);
}

egraph_status eg_cpu_global_pool(eg_cpu_builder *builder) {
  const eg_type *x = &builder->spec->inputs[0];
  bool average = builder->spec->attrs->op == EG_OP_GLOBAL_AVERAGE_POOL;
  pool_window w = {.alg = average ? dnnl_pooling_avg_include_padding : dnnl_pooling_max,
                   .spatial = x->rank - 2};
  EG_TRY(check_rank(x->rank));
  for (uint32_t i = 0; i < w.spatial; i++)
    w.kernel[i] = w.strides[i] = x->dims[i + 2];
  return add_pool(builder, &w);
}

// ---- gradients --------------------------------------------------------------------

typedef struct gradient {
  pool_window window;
  eg_type x, cotangent; // as the kernels read the tensors, in one format
  const_dnnl_memory_desc_t x_desc, cotangent_desc;
  dnnl_primitive_desc_t forward, backward;
} gradient;

static egraph_status describe_gradient(eg_cpu_builder *builder, gradient *g) {
  const pool_window *w = &g->window;
  eg_descs *descs = &builder->descs;
  EG_TRY(eg_dnnl_desc(descs, &g->x, &g->x_desc));
  EG_TRY(eg_dnnl_desc(descs, &g->cotangent, &g->cotangent_desc));
  dnnl_status_t made = dnnl_pooling_forward_primitive_desc_create(
      &g->forward, builder->engine, dnnl_forward_training, w->alg, g->x_desc,
      g->cotangent_desc, w->strides, w->kernel, w->dilates, w->begin, w->end,
      builder->plain);
  EG_TRY(eg_dnnl_own(descs, made, g->forward, "pooling"));
  made = dnnl_pooling_backward_primitive_desc_create(
      &g->backward, builder->engine, w->alg, g->x_desc, g->cotangent_desc, w->strides,
      w->kernel, w->dilates, w->begin, w->end, g->forward, builder->plain);
  return eg_dnnl_own(descs, made, g->backward, "gradient of pooling");
}

/// Finds the memory in which an operand can be read in the format of the kernels.
static egraph_status read_operand(eg_cpu_builder *builder, uint32_t index,
                                  const_dnnl_memory_desc_t want, eg_place *out) {
  const_dnnl_memory_desc_t have;
  EG_TRY(eg_dnnl_desc(&builder->descs, &builder->spec->inputs[index], &have));
  return eg_cpu_read_as(builder, index, have, want, out);
}

/// Adds the forward pass of max-pooling; *out has the position of each maximum.
static egraph_status add_forward(eg_cpu_builder *builder, const gradient *g,
                                 const_dnnl_memory_desc_t left, eg_place *out) {
  eg_place x, maxima = eg_cpu_scratch(builder, eg_type_bytes(&g->cotangent));
  EG_TRY(read_operand(builder, 0, g->x_desc, &x));
  *out = eg_cpu_scratch(builder, dnnl_memory_desc_get_size(left));
  eg_stage_arg args[] = {{DNNL_ARG_SRC, x, g->x_desc},
                         {DNNL_ARG_DST, maxima, g->cotangent_desc},
                         {DNNL_ARG_WORKSPACE, *out, left}};
  EG_TRY(eg_cpu_add_primitive(builder, &builder->run, g->forward, args, 3));
  return add_again(builder, maxima,
                   (int64_t)(eg_type_bytes(&g->cotangent) / sizeof(float)));
}

static egraph_status add_backward(eg_cpu_builder *builder, const gradient *g,
                                  const_dnnl_memory_desc_t left, eg_place from) {
  const_dnnl_memory_desc_t result;
  eg_place cotangent, to = eg_place_result(0);
  EG_TRY(eg_dnnl_desc(&builder->descs, &builder->spec->results[0], &result));
  EG_TRY(read_operand(builder, builder->spec->input_count - 1, g->cotangent_desc,
                      &cotangent));
  bool is_asked_for = dnnl_memory_desc_equal(g->x_desc, result) != 0;
  if (!is_asked_for) to = eg_cpu_scratch(builder, eg_type_bytes(&g->x));
  eg_stage_arg args[] = {{DNNL_ARG_DIFF_DST, cotangent, g->cotangent_desc},
                         {DNNL_ARG_DIFF_SRC, to, g->x_desc},
                         {DNNL_ARG_WORKSPACE, from, left}};
  EG_TRY(eg_cpu_name(builder, g->backward));
  EG_TRY(eg_cpu_add_primitive(builder, &builder->run, g->backward, args,
                              left == NULL ? 2 : 3));
  return is_asked_for ? EGRAPH_OK
                      : eg_cpu_add_reorder(builder, &builder->run, to, g->x_desc,
                                           eg_place_result(0), result);
}

egraph_status eg_cpu_pool_grad(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  gradient g = {.x = spec->results[0], .cotangent = spec->inputs[spec->input_count - 1]};
  EG_TRY(window_of(spec, &g.window));
  if (g.x.layout.format == EG_FORMAT_PLAIN && g.window.spatial == 2) {
    g.x = channels_last(&g.x); // row-major tensors have no fast kernel
    g.cotangent = channels_last(&g.cotangent);
  }
  EG_TRY(describe_gradient(builder, &g));
  if (!is_jitted(g.backward))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "gradient of pooling: no fast kernel");
  const_dnnl_memory_desc_t left = NULL;
  eg_place from = {.kind = EG_PLACE_SCRATCH};
  if (g.window.alg == dnnl_pooling_max) {
    left = dnnl_primitive_desc_query_md(g.forward, dnnl_query_workspace_md, 0);
    EG_TRY(add_forward(builder, &g, left, &from));
  }
  return add_backward(builder, &g, left, from);
}
