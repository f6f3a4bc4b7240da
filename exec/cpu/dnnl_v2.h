// Implements the calls of oneDNN 3 that this folder uses with the calls of oneDNN 2, in
// which one describes an operation first, and then a primitive. With oneDNN 3 this file
// is empty. Only dnnl_support.h includes this file.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_DNNL_V2_H
#define EG_EXEC_CPU_DNNL_V2_H

#include <dnnl.h>
#include <stdbool.h>
#include <string.h>

#if DNNL_VERSION_MAJOR == 2

// ---- memory descriptors are values ------------------------------------------------

typedef const dnnl_memory_desc_t *const_dnnl_memory_desc_t;

#define dnnl_memory_desc_create_with_strides dnnl_memory_desc_init_by_strides
#define dnnl_memory_desc_create_with_tag dnnl_memory_desc_init_by_tag

static inline dnnl_status_t dnnl_memory_desc_clone(dnnl_memory_desc_t *out,
                                                   const_dnnl_memory_desc_t desc) {
  *out = *desc;
  return dnnl_success;
}

// ---- attributes -------------------------------------------------------------------

#define dnnl_post_ops_append_eltwise(post_ops, alg, alpha, beta)                         \
  (dnnl_post_ops_append_eltwise)(post_ops, 1.0f, alg, alpha, beta)
#define dnnl_post_ops_append_sum(post_ops, scale, zero_point, type)                      \
  (dnnl_post_ops_append_sum)(post_ops, scale)

// ---- primitives -------------------------------------------------------------------

/// Finds the kernel that follows `primitive`'s kernel in oneDNN's list for the operation;
/// kernels are compared by name. Returns dnnl_unimplemented when none follows.
static inline dnnl_status_t dnnl_v2_next_impl(const_dnnl_primitive_desc_t primitive,
                                              dnnl_primitive_desc_t *out) {
  const_dnnl_op_desc_t operation;
  const_dnnl_primitive_attr_t attr;
  dnnl_engine_t engine;
  const char *name = NULL;
  dnnl_primitive_desc_iterator_t kernels;
  dnnl_status_t status =
      dnnl_primitive_desc_query(primitive, dnnl_query_op_d, 0, &operation);
  if (status == dnnl_success)
    status = dnnl_primitive_desc_query(primitive, dnnl_query_engine, 0, &engine);
  if (status == dnnl_success)
    status = dnnl_primitive_desc_query(primitive, dnnl_query_impl_info_str, 0, &name);
  if (status == dnnl_success) status = dnnl_primitive_desc_get_attr(primitive, &attr);
  if (status == dnnl_success)
    status = dnnl_primitive_desc_iterator_create(&kernels, operation, attr, engine, NULL);
  if (status != dnnl_success) return status;
  bool is_found = false;
  do {
    const char *other = NULL;
    *out = dnnl_primitive_desc_iterator_fetch(kernels);
    if (is_found) break;
    status = dnnl_primitive_desc_query(*out, dnnl_query_impl_info_str, 0, &other);
    is_found = status == dnnl_success && strcmp(name, other) == 0;
    dnnl_primitive_desc_destroy(*out);
    if (status == dnnl_success) status = dnnl_primitive_desc_iterator_next(kernels);
  } while (status == dnnl_success);
  (void)dnnl_primitive_desc_iterator_destroy(kernels);
  return status == dnnl_iterator_ends ? dnnl_unimplemented : status;
}

// Defines a function of oneDNN 3: its name and the parameters between engine and
// attributes, then oneDNN 2's type of operation, the call that fills `operation`, and the
// forward pass of a backward one.
#define EG_V2_CREATE(name, parameters, type, init, forward)                              \
  static inline dnnl_status_t name(dnnl_primitive_desc_t *out, dnnl_engine_t engine,     \
                                   EG_V2_LIST parameters,                                \
                                   const_dnnl_primitive_attr_t attr) {                   \
    type operation;                                                                      \
    dnnl_status_t status = init;                                                         \
    return status != dnnl_success                                                        \
               ? status                                                                  \
               : dnnl_primitive_desc_create(out, &operation, attr, engine, forward);     \
  }
#define EG_V2_LIST(...) __VA_ARGS__
// Parameters that several functions have. The calls of oneDNN 2 that take no description
// of the result give it the description of x.
#define EG_V2_KIND dnnl_prop_kind_t pass, dnnl_alg_kind_t alg
#define EG_V2_XY const_dnnl_memory_desc_t x, const_dnnl_memory_desc_t y
#define EG_V2_WEIGHTED                                                                   \
  const_dnnl_memory_desc_t x, const_dnnl_memory_desc_t w, const_dnnl_memory_desc_t bias, \
      const_dnnl_memory_desc_t y, const int64_t *strides, const int64_t *dilates,        \
      const int64_t *begin, const int64_t *end
#define EG_V2_POOLED                                                                     \
  EG_V2_XY, const int64_t *strides, const int64_t *kernel, const int64_t *dilates,       \
      const int64_t *begin, const int64_t *end

EG_V2_CREATE(dnnl_binary_primitive_desc_create,
             (dnnl_alg_kind_t alg, const_dnnl_memory_desc_t a, const_dnnl_memory_desc_t b,
              const_dnnl_memory_desc_t y),
             dnnl_binary_desc_t, dnnl_binary_desc_init(&operation, alg, a, b, y), NULL)
EG_V2_CREATE(dnnl_convolution_forward_primitive_desc_create, (EG_V2_KIND, EG_V2_WEIGHTED),
             dnnl_convolution_desc_t,
             dnnl_dilated_convolution_forward_desc_init(&operation, pass, alg, x, w, bias,
                                                        y, strides, dilates, begin, end),
             NULL)
EG_V2_CREATE(dnnl_convolution_backward_weights_primitive_desc_create,
             (dnnl_alg_kind_t alg, EG_V2_WEIGHTED, const_dnnl_primitive_desc_t forward),
             dnnl_convolution_desc_t,
             dnnl_dilated_convolution_backward_weights_desc_init(&operation, alg, x, w,
                                                                 bias, y, strides,
                                                                 dilates, begin, end),
             forward)
EG_V2_CREATE(dnnl_deconvolution_forward_primitive_desc_create,
             (EG_V2_KIND, EG_V2_WEIGHTED), dnnl_deconvolution_desc_t,
             dnnl_dilated_deconvolution_forward_desc_init(&operation, pass, alg, x, w,
                                                          bias, y, strides, dilates,
                                                          begin, end),
             NULL)
EG_V2_CREATE(dnnl_eltwise_forward_primitive_desc_create,
             (EG_V2_KIND, EG_V2_XY, float alpha, float beta), dnnl_eltwise_desc_t,
             ((void)y,
              dnnl_eltwise_forward_desc_init(&operation, pass, alg, x, alpha, beta)),
             NULL)
EG_V2_CREATE(dnnl_matmul_primitive_desc_create,
             (const_dnnl_memory_desc_t a, const_dnnl_memory_desc_t b,
              const_dnnl_memory_desc_t bias, const_dnnl_memory_desc_t y),
             dnnl_matmul_desc_t, dnnl_matmul_desc_init(&operation, a, b, bias, y), NULL)
EG_V2_CREATE(dnnl_batch_normalization_forward_primitive_desc_create,
             (dnnl_prop_kind_t pass, EG_V2_XY, float epsilon, unsigned flags),
             dnnl_batch_normalization_desc_t,
             ((void)y, dnnl_batch_normalization_forward_desc_init(&operation, pass, x,
                                                                  epsilon, flags)),
             NULL)
EG_V2_CREATE(dnnl_layer_normalization_forward_primitive_desc_create,
             (dnnl_prop_kind_t pass, EG_V2_XY, const_dnnl_memory_desc_t statistics,
              float epsilon, unsigned flags),
             dnnl_layer_normalization_desc_t,
             ((void)y,
              dnnl_layer_normalization_forward_desc_init(&operation, pass, x, statistics,
                                                         epsilon, flags)),
             NULL)
EG_V2_CREATE(dnnl_lrn_forward_primitive_desc_create,
             (EG_V2_KIND, EG_V2_XY, int64_t size, float alpha, float beta, float k),
             dnnl_lrn_desc_t,
             ((void)y,
              dnnl_lrn_forward_desc_init(&operation, pass, alg, x, size, alpha, beta, k)),
             NULL)
EG_V2_CREATE(dnnl_pooling_forward_primitive_desc_create, (EG_V2_KIND, EG_V2_POOLED),
             dnnl_pooling_v2_desc_t,
             dnnl_pooling_v2_forward_desc_init(&operation, pass, alg, x, y, strides,
                                               kernel, dilates, begin, end),
             NULL)
EG_V2_CREATE(dnnl_pooling_backward_primitive_desc_create,
             (dnnl_alg_kind_t alg, EG_V2_POOLED, const_dnnl_primitive_desc_t forward),
             dnnl_pooling_v2_desc_t,
             dnnl_pooling_v2_backward_desc_init(&operation, alg, x, y, strides, kernel,
                                                dilates, begin, end),
             forward)
EG_V2_CREATE(dnnl_reduction_primitive_desc_create,
             (dnnl_alg_kind_t alg, EG_V2_XY, float p, float epsilon),
             dnnl_reduction_desc_t,
             dnnl_reduction_desc_init(&operation, alg, x, y, p, epsilon), NULL)
EG_V2_CREATE(dnnl_softmax_forward_primitive_desc_create, (EG_V2_KIND, EG_V2_XY, int axis),
             dnnl_softmax_v2_desc_t,
             dnnl_softmax_v2_forward_desc_init(&operation, pass, alg, x, y, axis), NULL)

#undef EG_V2_CREATE
#undef EG_V2_LIST
#undef EG_V2_KIND
#undef EG_V2_XY
#undef EG_V2_WEIGHTED
#undef EG_V2_POOLED

#endif // DNNL_VERSION_MAJOR == 2

#endif
