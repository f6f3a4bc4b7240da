// SPDX-License-Identifier: Apache-2.0
#include "extract/exact.h"

egraph_status eg_exact_run(egraph_allocator alloc, eg_incumbent *incumbent,
                           eg_extract_result *result) {
  (void)alloc;
  result->reduced_nodes = eg_extract_node_count(incumbent->problem);
  result->reduced_classes = incumbent->problem->class_count;
  return EGRAPH_OK;
}
