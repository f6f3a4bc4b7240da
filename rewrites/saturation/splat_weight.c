// SPDX-License-Identifier: Apache-2.0
#include "rewrites/saturation/splat_weight.h"

egraph_status eg_graph_add_splat(eg_graph *graph, const char *name, const eg_type *type,
                                 double number, eg_value *out) {
  egraph_allocator alloc = eg_graph_allocator(graph);
  eg_buffer *data;
  EG_TRY(eg_buffer_create(&alloc, eg_type_bytes(type), &data));
  eg_tensor tensor = {.type = *type, .data = eg_buffer_writable(data)};
  for (int64_t i = 0; i < eg_type_elements(type); i++)
    eg_tensor_set_double(&tensor, i, number);
  egraph_status status = eg_graph_add_weight(graph, name, type, data, out);
  eg_buffer_release(data);
  return status;
}
