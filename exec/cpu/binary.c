// Most are a pass of ours (chain.h). Otherwise, and for what follows a fused operator:
// oneDNN's jitted binary kernel takes a full first operand and a second one that
// repeats along few dimensions; other patterns fall to a kernel 500 times slower
// (measured). So loops are merged first (loop_nest.h), a first operand that repeats is
// swapped or expanded into the result, and a second one whose pattern stays slow is
// expanded into scratch.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/binary.h"

#include "exec/cpu/chain.h"
#include "exec/cpu/copy.h"
#include "exec/cpu/families.h"
#include "exec/cpu/pointwise.h"

static bool repeats(const eg_loop_nest *nest, uint32_t tensor) {
  for (uint32_t d = 0; d < nest->rank; d++)
    if (nest->dims[d] != 1 && nest->strides[tensor][d] == 0) return true;
  return false;
}

// Descriptor of a tensor of the nest: repeated dimensions have length 1.
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

static egraph_status describe(eg_cpu_builder *builder, dnnl_alg_kind_t alg,
                              const eg_loop_nest *nest, const eg_eltwise_chain *act,
                              binary_descs *out) {
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

// Copies a repeated tensor of the nest to `to`, dense like the result; the nest then
// describes that copy.
static egraph_status expand(eg_cpu_builder *builder, eg_loop_nest *nest, uint32_t tensor,
                            eg_place from, eg_place to) {
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
  EG_TRY(describe(builder, alg, nest, act, &descs));
  if (eg_cpu_is_slow(descs.primitive) && repeats(nest, 2)) {
    eg_place dense = eg_cpu_scratch(builder, nest_bytes(nest));
    EG_TRY(expand(builder, nest, 2, b, dense));
    b = dense;
    EG_TRY(describe(builder, alg, nest, act, &descs));
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
  eg_loop_nest nest;
  eg_loop_nest_init(&nest, out.type);
  if (!eg_loop_nest_add(&nest, out.type, 1, a.type) ||
      !eg_loop_nest_add(&nest, out.type, 2, b.type))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "the operands' memory formats do not combine");
  eg_loop_nest_merge(&nest, 3);
  if (repeats(&nest, 1) && !repeats(&nest, 2) && commutes(alg))
    swap_operands(&nest, &a.place, &b.place);
  if (repeats(&nest, 1)) {
    EG_TRY(expand(builder, &nest, 1, a.place, out.place));
    a.place = out.place;
  }
  return add_merged(builder, alg, &nest, a.place, b.place, out.place, act);
}

static egraph_status add_in_place(eg_cpu_builder *builder, uint32_t operand,
                                  const eg_eltwise_chain *act) {
  const eg_node_spec *spec = builder->spec;
  eg_placed out = {eg_place_result(0), &spec->results[0]};
  eg_placed addend = {eg_cpu_read(builder, operand), &spec->inputs[operand]};
  return eg_cpu_add_binary(builder, dnnl_binary_add, out, addend, out, act);
}

egraph_status eg_cpu_add_epilogue(eg_cpu_builder *builder, const eg_epilogue *epilogue) {
  const eg_eltwise_chain none = {0}, *act = &epilogue->act;
  bool fuses = epilogue->count != 0 && act->count != 0 && !eg_eltwise_has_loop(act);
  for (uint32_t i = 0; i < epilogue->count; i++)
    EG_TRY(add_in_place(builder, epilogue->addends[i],
                        fuses && i + 1 == epilogue->count ? act : &none));
  if (fuses || act->count == 0) return EGRAPH_OK;
  int64_t elements = (int64_t)(eg_type_bytes(&builder->spec->results[0]) / sizeof(float));
  return eg_cpu_add_eltwise(builder, act, elements, eg_place_result(0),
                            eg_place_result(0));
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
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s: no kernel for these operands",
                   eg_op_info_of(op)->name);
  const eg_compile_request alone = {.spec = spec};
  if (eg_cpu_chain_fits(&alone)) return eg_cpu_chain(builder, &alone);
  // Padding channels must stay zero, so an operand that repeats over channels cannot be
  // combined with them.
  for (uint32_t i = 0; i < 2; i++)
    if (eg_type_has_padding(&spec->results[0]) &&
        !eg_type_same(&spec->inputs[i], &spec->results[0]))
      return EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s: padded channels cannot broadcast",
                     eg_op_info_of(op)->name);
  // A first operand that is expanded into the result must not find the second one there.
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
