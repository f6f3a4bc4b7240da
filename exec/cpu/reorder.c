// Changes of memory format (identity between formats), copies, and transpositions.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/copy.h"
#include "exec/cpu/families.h"

egraph_status eg_cpu_identity(eg_cpu_builder *builder) {
  const eg_type *from = &builder->spec->inputs[0], *to = &builder->spec->results[0];
  if (from->layout.format == to->layout.format) {
    eg_loop_nest nest;
    eg_loop_nest_init(&nest, to);
    if (!eg_loop_nest_add(&nest, to, 1, from))
      return EG_FAIL(EGRAPH_E_UNSUPPORTED, "identity: operand and result differ");
    return eg_cpu_add_copy(builder, &nest, to->dtype, eg_cpu_read(builder, 0),
                           eg_place_result(0));
  }
  const_dnnl_memory_desc_t from_desc, to_desc;
  EG_TRY(eg_dnnl_desc(&builder->descs, from, &from_desc));
  EG_TRY(eg_dnnl_desc(&builder->descs, to, &to_desc));
  return eg_cpu_add_reorder(builder, &builder->run, eg_cpu_read(builder, 0), from_desc,
                            eg_place_result(0), to_desc);
}

egraph_status eg_cpu_transpose(eg_cpu_builder *builder) {
  const eg_type *from = &builder->spec->inputs[0], *to = &builder->spec->results[0];
  const int64_t *perm = eg_attr_at(builder->spec->attrs, EG_A_TRANSPOSE_PERM)->ints.data;
  int64_t strides[EGRAPH_MAX_RANK];
  eg_loop_nest nest = {.rank = to->rank};
  if (eg_type_is_blocked(from) || eg_type_is_blocked(to))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "transpose: no kernel for blocked formats");
  eg_type_strides(from, strides);
  eg_type_strides(to, nest.strides[0]);
  for (uint32_t d = 0; d < to->rank; d++) {
    nest.dims[d] = to->dims[d];
    nest.strides[1][d] = strides[perm[d]];
  }
  return eg_cpu_add_copy(builder, &nest, to->dtype, eg_cpu_read(builder, 0),
                         eg_place_result(0));
}
