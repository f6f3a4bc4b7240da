// Copies and fills within the memory of a back-end; in host memory they are done here.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "exec/backend.h"

egraph_status eg_backend_copy_rows(eg_backend *backend, void *to, size_t to_step,
                                   const void *from, size_t from_step, size_t bytes,
                                   size_t count) {
  char *target = to;
  const char *source = from;
  if (bytes == 0 || count == 0) return EGRAPH_OK;
  if (backend != NULL && backend->vtable->copy_rows != NULL)
    return backend->vtable->copy_rows(backend, to, to_step, from, from_step, bytes,
                                      count);
  for (size_t i = 0; i < count; i++)
    memcpy(target + i * to_step, source + i * from_step, bytes);
  return EGRAPH_OK;
}

/// The lowest number there is stands for -infinity where there is none.
static void fill_element(const eg_tensor *element, double value) {
  egraph_dtype dtype = element->type.dtype;
  size_t bytes = eg_dtype_bytes(dtype);
  bool has_sign = dtype == EGRAPH_INT8 || dtype == EGRAPH_INT16 ||
                  dtype == EGRAPH_INT32 || dtype == EGRAPH_INT64;
  if (eg_dtype_is_float(dtype) || !isinf(value))
    eg_tensor_set_double(element, 0, value);
  else
    eg_tensor_set_int(element, 0, has_sign ? INT64_MIN >> (64 - 8 * bytes) : 0);
}

egraph_status eg_backend_fill(eg_backend *backend, void *to, egraph_dtype dtype,
                              double value, size_t count) {
  size_t bytes = eg_dtype_bytes(dtype);
  int64_t room = 0;
  if (count == 0) return EGRAPH_OK;
  if (backend != NULL && backend->vtable->fill != NULL)
    return backend->vtable->fill(backend, to, dtype, value, count);
  fill_element(&(eg_tensor){.type = {.dtype = dtype}, .data = &room}, value);
  memcpy(to, &room, bytes);
  for (size_t done = bytes, all = count * bytes; done < all;) { // what is filled doubles
    size_t next = all - done < done ? all - done : done;
    memcpy((char *)to + done, to, next);
    done += next;
  }
  return EGRAPH_OK;
}
