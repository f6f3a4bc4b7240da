// Unary operators. Tensors are treated as flat: the memory format matters only through
// its padding channels, which must stay zero. Therefore a function with f(0) != 0 is not
// applied to a padded tensor.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/eltwise.h"

#include <assert.h>
#include <math.h>

#include "exec/cpu/chain.h"
#include "exec/cpu/families.h"
#include "exec/cpu/kernel_threads.h"
#include "exec/cpu/loop_nest.h"
#include "exec/cpu/pointwise.h"
#include "ops/meaning.h"

static eg_eltwise_chain chain_of(dnnl_alg_kind_t alg, double alpha, double beta) {
  return (eg_eltwise_chain){
      .step = {{.alg = alg, .alpha = (float)alpha, .beta = (float)beta}}, .count = 1};
}

static void push_step(eg_eltwise_chain *chain, dnnl_alg_kind_t alg, double alpha,
                      double beta) {
  assert(chain->count < EG_MAX_ELTWISE_CHAIN);
  chain->step[chain->count++] =
      (eg_eltwise){.alg = alg, .alpha = (float)alpha, .beta = (float)beta};
}

eg_eltwise_chain eg_eltwise_of_act(const eg_attrs *attrs) {
  const eg_fused_act fused = eg_fused_act_of(attrs);
  double alpha = fused.alpha, beta = fused.beta;
  switch (fused.act) {
  case EG_ACT_RELU: return chain_of(dnnl_eltwise_relu, 0, 0);
  case EG_ACT_SIGMOID: return chain_of(dnnl_eltwise_logistic, 0, 0);
  case EG_ACT_TANH: return chain_of(dnnl_eltwise_tanh, 0, 0);
  case EG_ACT_GELU: return chain_of(dnnl_eltwise_gelu_erf, 0, 0);
  case EG_ACT_GELU_TANH: return chain_of(dnnl_eltwise_gelu_tanh, 0, 0);
  case EG_ACT_SILU: return chain_of(dnnl_eltwise_swish, 1, 0);
  case EG_ACT_HARDSWISH: return chain_of(dnnl_eltwise_hardswish, 1.0 / 6, 0.5);
  case EG_ACT_CLIP: // oneDNN refuses infinite bounds, so egraph's loop runs them
    return alpha == 0 && isinf(beta) && beta > 0
               ? chain_of(dnnl_eltwise_relu, 0, 0)
               : chain_of(dnnl_eltwise_clip_v2, alpha, beta);
  case EG_ACT_LEAKY_RELU: return chain_of(dnnl_eltwise_relu, alpha, 0);
  case EG_ACT_ELU: return chain_of(dnnl_eltwise_elu, alpha, 0);
  case EG_ACT_NONE:
  case EG_ACT_COUNT: break;
  }
  return (eg_eltwise_chain){0};
}

static double float_attr(const eg_attrs *attrs, eg_attr_slot slot) {
  return eg_attr_at(attrs, slot)->f;
}

// Operators without attributes that oneDNN computes; chain_of_op has the operators with
// attributes. All others run as egraph's loops (pointwise.c): oneDNN turns NaN into
// numbers in relu, exp and clip, its logarithm of 2 is not the closest float, and its
// tanh is slow.
typedef struct simple_row {
  eg_op op;
  eg_eltwise step;
} simple_row;
static const simple_row simple_rows[] = {
    {EG_OP_ROUND, {dnnl_eltwise_round, 0, 0}},
    {EG_OP_SOFTPLUS, {dnnl_eltwise_soft_relu, 1, 0}},
    {EG_OP_MISH, {dnnl_eltwise_mish, 0, 0}},
    {EG_OP_HARD_SWISH, {dnnl_eltwise_hardswish, 1.0f / 6, 0.5f}},
};

/// Finds the oneDNN functions that compute a unary operator; false when oneDNN has none.
static bool chain_of_op(const eg_attrs *attrs, eg_eltwise_chain *out) {
  eg_op op = (eg_op)attrs->op;
  for (size_t i = 0; i < sizeof simple_rows / sizeof simple_rows[0]; i++)
    if (simple_rows[i].op == op) {
      *out = (eg_eltwise_chain){.step = {simple_rows[i].step}, .count = 1};
      return true;
    }
  if (op == EG_OP_GELU) {
    bool exact = eg_attr_at(attrs, EG_A_GELU_APPROXIMATE)->i == 0;
    *out = chain_of(exact ? dnnl_eltwise_gelu_erf : dnnl_eltwise_gelu_tanh, 0, 0);
  } else if (op == EG_OP_SELU) { // selu(x) = gamma elu_alpha(x)
    *out = chain_of(dnnl_eltwise_elu, float_attr(attrs, EG_A_SELU_ALPHA), 0);
    push_step(out, dnnl_eltwise_linear, float_attr(attrs, EG_A_SELU_GAMMA), 0);
  } else if (op == EG_OP_CELU) { // celu_a(x) = a elu_1(x / a)
    double alpha = float_attr(attrs, EG_A_CELU_ALPHA);
    *out = chain_of(dnnl_eltwise_linear, 1 / alpha, 0);
    push_step(out, dnnl_eltwise_elu, 1, 0);
    push_step(out, dnnl_eltwise_linear, alpha, 0);
  } else if (op == EG_OP_LEAKY_RELU) {
    *out = chain_of(dnnl_eltwise_relu, float_attr(attrs, EG_A_LEAKY_RELU_ALPHA), 0);
  } else if (op == EG_OP_ELU) {
    *out = chain_of(dnnl_eltwise_elu, float_attr(attrs, EG_A_ELU_ALPHA), 0);
  } else {
    return false;
  }
  return true;
}

/// Appends pointwise functions to the post-ops of a primitive.
static egraph_status append_chain(dnnl_post_ops_t post_ops,
                                  const eg_eltwise_chain *chain) {
  for (uint32_t i = 0; i < chain->count; i++)
    EG_TRY(eg_dnnl_check(dnnl_post_ops_append_eltwise(post_ops, chain->step[i].alg,
                                                      chain->step[i].alpha,
                                                      chain->step[i].beta),
                         "eltwise post-op"));
  return EGRAPH_OK;
}

egraph_status eg_cpu_attr_with_epilogue(const_dnnl_memory_desc_t z, bool sums,
                                        const eg_eltwise_chain *chain,
                                        dnnl_primitive_attr_t *out) {
  dnnl_post_ops_t post_ops;
  EG_TRY(eg_dnnl_check(dnnl_post_ops_create(&post_ops), "post-ops"));
  egraph_status status = EGRAPH_OK;
  if (z != NULL)
    status =
        eg_dnnl_check(sums ? dnnl_post_ops_append_sum(post_ops, 1.0f, 0, dnnl_f32)
                           : dnnl_post_ops_append_binary(post_ops, dnnl_binary_add, z),
                      "addend post-op");
  if (status == EGRAPH_OK) status = append_chain(post_ops, chain);
  if (status == EGRAPH_OK) status = eg_cpu_attr_create(out);
  if (status == EGRAPH_OK) {
    status = eg_dnnl_check(dnnl_primitive_attr_set_post_ops(*out, post_ops), "post-ops");
    if (status != EGRAPH_OK) dnnl_primitive_attr_destroy(*out);
  }
  dnnl_post_ops_destroy(post_ops);
  return status;
}

egraph_status eg_cpu_attr_with_chain(const eg_eltwise_chain *chain,
                                     dnnl_primitive_attr_t *out) {
  return eg_cpu_attr_with_epilogue(NULL, false, chain, out);
}

static egraph_status add_eltwise_step(eg_cpu_builder *builder, const eg_eltwise *step,
                                      const_dnnl_memory_desc_t flat, eg_place from,
                                      eg_place to) {
  dnnl_primitive_desc_t desc = NULL;
  dnnl_status_t made = dnnl_eltwise_forward_primitive_desc_create(
      &desc, builder->engine, dnnl_forward_inference, step->alg, flat, flat, step->alpha,
      step->beta, builder->plain);
  EG_TRY(eg_dnnl_own(&builder->descs, made, desc, "eltwise"));
  if (builder->kernel == NULL) EG_TRY(eg_cpu_name(builder, desc));
  eg_stage_arg args[] = {{DNNL_ARG_SRC, from, flat}, {DNNL_ARG_DST, to, flat}};
  return eg_cpu_add_primitive(builder, &builder->run, desc, args, 2);
}

static bool step_loses_nan(const eg_eltwise *step) {
  return step->alg == dnnl_eltwise_clip_v2 ||
         (step->alg == dnnl_eltwise_relu && step->alpha == 0);
}

bool eg_eltwise_loses_nan(const eg_eltwise_chain *chain) {
  for (uint32_t i = 0; i < chain->count; i++)
    if (step_loses_nan(&chain->step[i])) return true;
  return false;
}

// True for oneDNN 3's gelu, which turns infinities into NaN (3.2, AVX-512).
static bool step_loses_infinities(const eg_eltwise *step) {
  return DNNL_VERSION_MAJOR >= 3 && step->alg == dnnl_eltwise_gelu_erf;
}

bool eg_eltwise_loses_infinities(const eg_eltwise_chain *chain) {
  return chain->count == 1 && step_loses_infinities(&chain->step[0]);
}

static bool step_is_slow(const eg_eltwise *step) {
  return step->alg == dnnl_eltwise_gelu_erf;
}

bool eg_eltwise_is_slow(const eg_eltwise_chain *chain) {
  return chain->count == 1 && step_is_slow(&chain->step[0]);
}

bool eg_eltwise_has_loop(const eg_eltwise_chain *chain) {
  return eg_eltwise_loses_nan(chain) || eg_eltwise_loses_infinities(chain) ||
         eg_eltwise_is_slow(chain);
}

// Returns egraph's loop that computes one pointwise function.
static eg_row loop_of_step(const eg_eltwise *step) {
  eg_op op = step->alg == dnnl_eltwise_gelu_erf ? EG_OP_GELU
             : step->alg == dnnl_eltwise_relu   ? EG_OP_RELU
                                                : EG_OP_CLIP;
  return (eg_row){.function = eg_row_function_of(op),
                  .parameters = {step->alpha, step->beta}};
}

// Appends a stage per function: oneDNN 2.6 accepts eltwise post-ops after eltwise but
// computes something else.
egraph_status eg_cpu_add_eltwise(eg_cpu_builder *builder, const eg_eltwise_chain *chain,
                                 int64_t elements, eg_place from, eg_place to) {
  assert(elements > 0);
  const_dnnl_memory_desc_t flat;
  EG_TRY(eg_dnnl_desc_dims(&builder->descs, 1, &elements, &flat));
  for (uint32_t i = 0; i < chain->count; i++) {
    const eg_eltwise *step = &chain->step[i];
    eg_place source = i == 0 ? from : to;
    if (step_is_slow(step) || step_loses_nan(step) || step_loses_infinities(step)) {
      eg_row row = loop_of_step(step);
      EG_TRY(eg_cpu_add_row(builder, &row, elements, source, to));
    } else {
      EG_TRY(add_eltwise_step(builder, step, flat, source, to));
    }
  }
  return EGRAPH_OK;
}

void eg_eltwise_take_clip(eg_eltwise_chain *chain, float *out_low, float *out_high) {
  const eg_eltwise *step = &chain->step[0];
  bool is_relu = step->alg == dnnl_eltwise_relu && step->alpha == 0;
  *out_low = -INFINITY;
  *out_high = INFINITY;
  if (chain->count != 1 || !(is_relu || step->alg == dnnl_eltwise_clip_v2)) return;
  *out_low = is_relu ? 0 : step->alpha;
  if (!is_relu) *out_high = step->beta;
  chain->count = 0;
}

static double apply_at_zero(const eg_eltwise *step, double x) {
  switch ((int)step->alg) {
  case dnnl_eltwise_linear: return (double)step->alpha * x + (double)step->beta;
  case dnnl_eltwise_clip_v2:
    return fmin(fmax(x, (double)step->alpha), (double)step->beta);
  case dnnl_eltwise_relu:
  case dnnl_eltwise_tanh:
  case dnnl_eltwise_elu:
  case dnnl_eltwise_gelu_tanh:
  case dnnl_eltwise_gelu_erf:
  case dnnl_eltwise_swish:
  case dnnl_eltwise_round:
  case dnnl_eltwise_hardswish: return x; // f(0) = 0
  default: return 1;                     // oneDNN's enum: no other function keeps 0
  }
}

bool eg_eltwise_keeps_zero(const eg_eltwise_chain *chain) {
  assert(chain->count <= EG_MAX_ELTWISE_CHAIN);
  double x = 0;
  for (uint32_t i = 0; i < chain->count; i++) {
    x = apply_at_zero(&chain->step[i], x);
    if (x != 0) return false;
  }
  return true;
}

egraph_status eg_cpu_eltwise(eg_cpu_builder *builder) {
  const eg_type *type = &builder->spec->inputs[0], *result = &builder->spec->results[0];
  eg_eltwise_chain chain;
  if (!chain_of_op(builder->spec->attrs, &chain)) return eg_cpu_pointwise(builder);
  if (type->dtype != EGRAPH_FLOAT32 || !eg_type_same(type, result) ||
      (eg_type_has_padding(type) && !eg_eltwise_keeps_zero(&chain)))
    return eg_cpu_refuse(builder, "no kernel for this element type or format");
  if (eg_cpu_may_overlay(builder, 0)) builder->overlay = 0;
  int64_t elements = (int64_t)(eg_type_bytes(type) / sizeof(float));
  return eg_cpu_add_eltwise(builder, &chain, elements, eg_cpu_read(builder, 0),
                            eg_place_result(0));
}

// ---- binary operators ---------------------------------------------------------------

// Most binary operators are one of egraph's passes (chain.h). The others, and the
// epilogues of fused operators, run on oneDNN's binary kernel. This kernel is generated
// for a full first operand and a second operand that repeats along few dimensions; other
// patterns run on a kernel that is 500 times slower (measured). Therefore loops are
// merged first (loop_nest.h), a first operand that repeats is swapped or expanded into
// the result, and a second operand whose pattern stays slow is expanded into scratch.

static bool repeats(const eg_loop_nest *nest, uint32_t tensor) {
  for (uint32_t d = 0; d < nest->rank; d++)
    if (nest->dims[d] != 1 && nest->strides[tensor][d] == 0) return true;
  return false;
}

// Describes a tensor of the loop nest to oneDNN: repeated dimensions have length 1.
static egraph_status nest_desc(eg_descs *descs, const eg_loop_nest *nest, uint32_t tensor,
                               const_dnnl_memory_desc_t *out) {
  int64_t dims[EG_MAX_LOOPS], strides[EG_MAX_LOOPS];
  for (uint32_t d = 0; d < nest->rank; d++) {
    bool repeated = nest->strides[tensor][d] == 0;
    dims[d] = repeated ? 1 : nest->dims[d];
    strides[d] = repeated ? 1 : nest->strides[tensor][d];
  }
  return eg_dnnl_desc_strided(descs, nest->rank, dims, strides, out);
}

typedef struct binary_descs {
  const_dnnl_memory_desc_t out, a, b;
  dnnl_primitive_desc_t primitive;
} binary_descs;

static egraph_status describe_binary(eg_cpu_builder *builder, dnnl_alg_kind_t alg,
                                     const eg_loop_nest *nest,
                                     const eg_eltwise_chain *act, binary_descs *out) {
  EG_TRY(nest_desc(&builder->descs, nest, 0, &out->out));
  EG_TRY(nest_desc(&builder->descs, nest, 1, &out->a));
  EG_TRY(nest_desc(&builder->descs, nest, 2, &out->b));
  dnnl_primitive_attr_t attr;
  EG_TRY(eg_cpu_attr_with_chain(act, &attr));
  dnnl_status_t made = dnnl_binary_primitive_desc_create(
      &out->primitive, builder->engine, alg, out->a, out->b, out->out, attr);
  dnnl_primitive_attr_destroy(attr);
  return eg_dnnl_own(&builder->descs, made, out->primitive, "binary");
}

// Copies a tensor that repeats along some dimensions to `to`, dense like the result; the
// loop nest then has the copy's strides.
static egraph_status expand_repeats(eg_cpu_builder *builder, eg_loop_nest *nest,
                                    uint32_t tensor, eg_place from, eg_place to) {
  eg_loop_nest copy = *nest;
  memcpy(copy.strides[1], nest->strides[tensor], sizeof copy.strides[1]);
  const char *kernel = builder->kernel;
  EG_TRY(eg_cpu_add_copy(builder, &copy, EGRAPH_FLOAT32, from, to));
  builder->kernel = kernel;
  memcpy(nest->strides[tensor], nest->strides[0], sizeof nest->strides[0]);
  eg_loop_nest_merge(nest, 3);
  return EGRAPH_OK;
}

static size_t nest_bytes(const eg_loop_nest *nest) {
  size_t bytes = sizeof(float);
  for (uint32_t d = 0; d < nest->rank; d++)
    bytes *= (size_t)nest->dims[d];
  return bytes;
}

static egraph_status add_merged(eg_cpu_builder *builder, dnnl_alg_kind_t alg,
                                eg_loop_nest *nest, eg_place a, eg_place b, eg_place out,
                                const eg_eltwise_chain *act) {
  binary_descs descs;
  EG_TRY(describe_binary(builder, alg, nest, act, &descs));
  if (eg_cpu_is_slow(descs.primitive) && repeats(nest, 2)) {
    eg_place dense = eg_cpu_scratch(builder, nest_bytes(nest));
    EG_TRY(expand_repeats(builder, nest, 2, b, dense));
    b = dense;
    EG_TRY(describe_binary(builder, alg, nest, act, &descs));
  }
  if (builder->kernel == NULL) EG_TRY(eg_cpu_name(builder, descs.primitive));
  eg_stage_arg args[] = {{DNNL_ARG_SRC_0, a, descs.a},
                         {DNNL_ARG_SRC_1, b, descs.b},
                         {DNNL_ARG_DST, out, descs.out}};
  return eg_cpu_add_primitive(builder, &builder->run, descs.primitive, args, 3);
}

static bool commutes(dnnl_alg_kind_t alg) {
  return alg == dnnl_binary_add || alg == dnnl_binary_mul || alg == dnnl_binary_max ||
         alg == dnnl_binary_min;
}

static void swap_operands(eg_loop_nest *nest, eg_place *a, eg_place *b) {
  int64_t strides[EG_MAX_LOOPS];
  memcpy(strides, nest->strides[1], sizeof strides);
  memcpy(nest->strides[1], nest->strides[2], sizeof strides);
  memcpy(nest->strides[2], strides, sizeof strides);
  eg_place place = *a;
  *a = *b;
  *b = place;
}

egraph_status eg_cpu_add_binary(eg_cpu_builder *builder, dnnl_alg_kind_t alg, eg_placed a,
                                eg_placed b, eg_placed out, const eg_eltwise_chain *act) {
  assert(out.type->rank >= a.type->rank && out.type->rank >= b.type->rank);
  eg_loop_nest nest;
  eg_loop_nest_init(&nest, out.type);
  if (!eg_loop_nest_add(&nest, out.type, 1, a.type) ||
      !eg_loop_nest_add(&nest, out.type, 2, b.type))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "the operands' memory formats do not combine");
  eg_loop_nest_merge(&nest, 3);
  if (repeats(&nest, 1) && !repeats(&nest, 2) && commutes(alg))
    swap_operands(&nest, &a.place, &b.place);
  if (repeats(&nest, 1)) {
    EG_TRY(expand_repeats(builder, &nest, 1, a.place, out.place));
    a.place = out.place;
  }
  return add_merged(builder, alg, &nest, a.place, b.place, out.place, act);
}

static bool find_algorithm(eg_op op, dnnl_alg_kind_t *out) {
  static const struct {
    eg_op op;
    dnnl_alg_kind_t alg;
  } rows[] = {{EG_OP_ADD, dnnl_binary_add},
              {EG_OP_SUB, dnnl_binary_sub},
              {EG_OP_MUL, dnnl_binary_mul},
              {EG_OP_DIV, dnnl_binary_div}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (rows[i].op == op) {
      *out = rows[i].alg;
      return true;
    }
  return false;
}

egraph_status eg_cpu_binary(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  eg_op op = (eg_op)spec->attrs->op;
  if (op == EG_OP_POW) return eg_cpu_pow(builder);
  dnnl_alg_kind_t alg;
  bool division_of_padding = op == EG_OP_DIV && eg_type_has_padding(&spec->results[0]);
  if (!find_algorithm(op, &alg) || spec->inputs[0].dtype != EGRAPH_FLOAT32 ||
      division_of_padding)
    return eg_cpu_refuse(builder, "no kernel for these operands");
  const eg_compile_request alone = {.spec = spec};
  if (eg_cpu_chain_fits(&alone)) return eg_cpu_chain(builder, &alone);
  // Padding channels must stay zero, so an operand that repeats over channels cannot be
  // combined with padded channels.
  for (uint32_t i = 0; i < 2; i++)
    if (eg_type_has_padding(&spec->results[0]) &&
        !eg_type_same(&spec->inputs[i], &spec->results[0]))
      return eg_cpu_refuse(builder, "padded channels cannot broadcast");
  // The second operand must not lie where the first one is expanded.
  bool second_stays = commutes(alg) || eg_type_same(&spec->inputs[0], &spec->results[0]);
  if (eg_cpu_may_overlay(builder, 0))
    builder->overlay = 0;
  else if (eg_cpu_may_overlay(builder, 1) && second_stays)
    builder->overlay = 1;
  const eg_eltwise_chain none = {0};
  eg_placed a = {eg_cpu_read(builder, 0), &spec->inputs[0]};
  eg_placed b = {eg_cpu_read(builder, 1), &spec->inputs[1]};
  eg_placed out = {eg_place_result(0), &spec->results[0]};
  return eg_cpu_add_binary(builder, alg, a, b, out, &none);
}
