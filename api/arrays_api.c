// Public functions on named arrays.
// SPDX-License-Identifier: Apache-2.0
#include "api/arguments.h"
#include "api/tensors.h"
#include "base/owner.h"
#include "onnx/onnx.h"

EG_HOLDER_DEFINE(egraph_arrays)

struct egraph_arrays {
  eg_arrays arrays;
};

egraph_status egraph_arrays_create(const egraph_allocator *alloc, egraph_arrays **out) {
  EG_REQUIRE(out);
  egraph_arrays *made;
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  EG_TRY(eg_alloc(heap, 1, sizeof *made, &made));
  eg_arrays_init(&made->arrays, heap);
  *out = made;
  return EGRAPH_OK;
}

void egraph_arrays_destroy(egraph_arrays *arrays) {
  if (arrays == NULL) return;
  egraph_allocator alloc = arrays->arrays.rows.alloc;
  eg_arrays_deinit(&arrays->arrays);
  eg_free(alloc, arrays, 1, sizeof *arrays);
}

egraph_status egraph_arrays_load(const egraph_allocator *alloc, const char *path,
                                 egraph_arrays **out) {
  EG_REQUIRE(path, out);
  EG_HELD(egraph_arrays, made);
  EG_TRY(egraph_arrays_create(alloc, &made));
  EG_HAND_OVER(eg_arrays_read(&made->arrays, path), made, out);
}

egraph_status egraph_arrays_save(const egraph_arrays *arrays, const char *path) {
  EG_REQUIRE(arrays, path);
  return eg_arrays_write(&arrays->arrays, path);
}

uint32_t egraph_arrays_count(const egraph_arrays *arrays) {
  return arrays != NULL ? (uint32_t)arrays->arrays.rows.len : 0;
}

static egraph_tensor tensor_of(const eg_array *array) {
  egraph_tensor tensor = eg_tensor_from_type(&array->tensor.type);
  tensor.data = array->tensor.data;
  return tensor;
}

egraph_tensor egraph_arrays_at(const egraph_arrays *arrays, uint32_t index,
                               const char **out_name) {
  bool is_there = index < egraph_arrays_count(arrays);
  const eg_array *array = is_there ? &arrays->arrays.rows.data[index] : NULL;
  if (out_name != NULL) *out_name = is_there ? array->name : NULL;
  if (!is_there) return (egraph_tensor){.data = NULL};
  return tensor_of(array);
}

bool egraph_arrays_find(const egraph_arrays *arrays, const char *name,
                        egraph_tensor *out) {
  if (arrays == NULL || name == NULL || out == NULL) return false;
  const eg_array *array = eg_arrays_find(&arrays->arrays, name);
  if (array == NULL) return false;
  *out = tensor_of(array);
  return true;
}

egraph_status egraph_arrays_add(egraph_arrays *arrays, const char *name,
                                const egraph_tensor *tensor) {
  EG_REQUIRE(arrays, name, tensor);
  eg_type type;
  EG_TRY(eg_type_from_tensor(tensor, &type));
  return eg_arrays_add(&arrays->arrays, name, &type, tensor->data);
}

egraph_status egraph_model_save(const egraph_allocator *alloc, const char *model,
                                const egraph_arrays *arrays, const char *path) {
  EG_REQUIRE(model, arrays, path);
  return eg_onnx_replace_weights(eg_allocator_or_heap(alloc), model, &arrays->arrays,
                                 path);
}
