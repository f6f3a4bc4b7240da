// The windows of pooling and of its gradient, as oneDNN wants them.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_POOL_WINDOW_H
#define EG_EXEC_CPU_POOL_WINDOW_H

#include "exec/cpu/cpu_program.h"

typedef struct eg_pool_window {
  dnnl_alg_kind_t alg;
  uint32_t spatial;
  int64_t kernel[EGRAPH_MAX_RANK], strides[EGRAPH_MAX_RANK], dilates[EGRAPH_MAX_RANK],
      begin[EGRAPH_MAX_RANK], end[EGRAPH_MAX_RANK];
} eg_pool_window;

/// Fails with EGRAPH_E_UNSUPPORTED where oneDNN has no pooling of tensors of this rank.
egraph_status eg_pool_check_rank(uint32_t rank);
/// Of max-pool, average-pool, or a gradient of one. Fails with EGRAPH_E_UNSUPPORTED where
/// oneDNN has no such window.
egraph_status eg_pool_window_of(const eg_node_spec *spec, eg_pool_window *out);
/// Whether a primitive has a kernel made for its shape.
bool eg_cpu_is_jitted(const_dnnl_primitive_desc_t primitive);
/// The same type in channels-last memory.
eg_type eg_type_channels_last(const eg_type *type);
/// Adds to builder->run a pass that raises the invalid flag where one of the elements is
/// the lowest number, which oneDNN makes of the maximum of negative infinities. Its
/// generated kernels raise the flag themselves where they lose NaN; for the others, as
/// some compilers make them, see eg_cpu_add_nan_flag. The reference kernel follows in
/// builder->again.
egraph_status eg_cpu_add_again(eg_cpu_builder *builder, eg_place maxima, int64_t count);
/// Adds to builder->run a pass that raises the invalid flag where an element is NaN.
egraph_status eg_cpu_add_nan_flag(eg_cpu_builder *builder, eg_place x, int64_t count);

#endif
