// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fused.h"

#include <assert.h>

#include "exec/cpu/kernel_threads.h"

// ---- the choice -----------------------------------------------------------------------

egraph_status eg_fused_describe(eg_cpu_builder *builder, const eg_fused_plan *plan,
                                bool sums, dnnl_primitive_desc_t *out) {
  assert(!sums || plan->has_z);
  dnnl_primitive_attr_t attr;
  EG_TRY(eg_cpu_attr_with_epilogue(plan->has_z ? plan->result : NULL, sums, &plan->act,
                                   &attr));
  egraph_status status = plan->describe(builder, plan, plan->any_weights, attr, out);
  dnnl_primitive_attr_destroy(attr);
  return status;
}

/// Describes the kernel that repeats the work when a fused activation has lost NaN.
static egraph_status describe_again(eg_cpu_builder *builder, const eg_fused_plan *plan,
                                    eg_fused_choice *choice) {
  if (!eg_eltwise_loses_nan(&plan->act)) return EGRAPH_OK;
  if (!eg_invalid_flag_works(eg_omp_threads()))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s: lost NaN would go unnoticed", plan->op);
  return plan->describe(builder, plan, eg_dnnl_weights_of(choice->primitive),
                        builder->plain, &choice->again);
}

egraph_status eg_fused_choose(eg_cpu_builder *builder, const eg_fused_plan *plan,
                              eg_fused_choice *inout) {
  assert(plan->describe != NULL && plan->op != NULL);
  if (inout->is_fused) {
    bool nothing_to_fuse = !plan->has_z && plan->act.count == 0;
    egraph_status status =
        eg_fused_describe(builder, plan, inout->sums, &inout->primitive);
    if (status == EGRAPH_OK) {
      if (nothing_to_fuse) return EGRAPH_OK;
      status =
          eg_cpu_fuses_well(inout->primitive)
              ? describe_again(builder, plan, inout)
              : EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s: fused, it would be slow", plan->op);
      if (status == EGRAPH_OK) return EGRAPH_OK;
    }
    if (status != EGRAPH_E_UNSUPPORTED || nothing_to_fuse) return status;
  }
  inout->is_fused = inout->sums = false;
  return plan->describe(builder, plan, plan->any_weights, builder->plain,
                        &inout->primitive);
}

// ---- stages ---------------------------------------------------------------------------

/// Appends the oneDNN primitive; when `adds_z` is true, it reads the addend z.
static egraph_status add_kernel(eg_cpu_builder *builder, const eg_fused_plan *plan,
                                const_dnnl_primitive_desc_t primitive, eg_place weights,
                                bool adds_z) {
  eg_stage_arg args[5] = {{DNNL_ARG_SRC, eg_cpu_read(builder, EG_FUSED_X), plan->x},
                          {DNNL_ARG_WEIGHTS, weights, eg_dnnl_weights_of(primitive)},
                          {DNNL_ARG_DST, eg_place_result(0), plan->result}};
  uint32_t count = 3;
  if (plan->bias != NULL)
    args[count++] =
        (eg_stage_arg){DNNL_ARG_BIAS, eg_cpu_read(builder, EG_FUSED_BIAS), plan->bias};
  if (adds_z)
    args[count++] = (eg_stage_arg){DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1,
                                   eg_cpu_read(builder, EG_FUSED_Z), plan->result};
  return eg_cpu_add_primitive(builder, &builder->run, primitive, args, count);
}

/// Appends passes for bias, addend z and activation that the primitive lacks.
static egraph_status add_passes(eg_cpu_builder *builder, const eg_fused_plan *plan,
                                bool is_fused) {
  eg_epilogue epilogue = {.act = plan->act_pass.count != 0 || is_fused ? plan->act_pass
                                                                       : plan->act};
  if (!is_fused && plan->bias_follows) epilogue.addends[epilogue.count++] = EG_FUSED_BIAS;
  if (!is_fused && plan->has_z) epilogue.addends[epilogue.count++] = EG_FUSED_Z;
  return eg_cpu_add_epilogue(builder, &epilogue);
}

egraph_status eg_cpu_add_fused(eg_cpu_builder *builder, const eg_fused_plan *plan,
                               const eg_fused_choice *choice) {
  assert(choice->primitive != NULL && (!choice->sums || plan->has_z));
  eg_place weights;
  if (choice->sums) builder->overlay = EG_FUSED_Z;
  EG_TRY(eg_cpu_read_as(builder, EG_FUSED_W, plan->weights,
                        eg_dnnl_weights_of(choice->primitive), &weights));
  EG_TRY(eg_cpu_name(builder, choice->primitive));
  EG_TRY(add_kernel(builder, plan, choice->primitive, weights,
                    plan->has_z && choice->is_fused && !choice->sums));
  EG_TRY(add_passes(builder, plan, choice->is_fused));
  if (choice->again == NULL) return EGRAPH_OK;
  eg_cpu_exchange_lists(builder);
  egraph_status status = add_kernel(builder, plan, choice->again, weights, false);
  if (status == EGRAPH_OK) status = add_passes(builder, plan, false);
  eg_cpu_exchange_lists(builder);
  return status;
}

// ---- epilogues ------------------------------------------------------------------------

static egraph_status add_in_place(eg_cpu_builder *builder, uint32_t operand,
                                  const eg_eltwise_chain *act) {
  const eg_node_spec *spec = builder->spec;
  eg_placed out = {eg_place_result(0), &spec->results[0]};
  eg_placed addend = {eg_cpu_read(builder, operand), &spec->inputs[operand]};
  return eg_cpu_add_binary(builder, dnnl_binary_add, out, addend, out, act);
}

egraph_status eg_cpu_add_epilogue(eg_cpu_builder *builder, const eg_epilogue *epilogue) {
  assert(epilogue->count <= 2);
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

eg_epilogue eg_cpu_epilogue_of_own(eg_cpu_builder *builder, const eg_fused_plan *plan,
                                   float *low, float *high) {
  eg_epilogue epilogue = {.act = plan->act_pass.count != 0 ? plan->act_pass : plan->act};
  eg_eltwise_take_clip(&epilogue.act, low, high);
  if (plan->has_z && eg_cpu_may_overlay(builder, EG_FUSED_Z))
    builder->overlay = EG_FUSED_Z;
  return epilogue;
}
