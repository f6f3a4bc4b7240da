// Operands first: Kahn's algorithm. Ready nodes wait in a heap by position, so that a
// file in order keeps its order.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/onnx/onnx_reader.h"

typedef struct sorter {
  eg_onnx_reader *reader;
  uint32_t begin, count; // the nodes to be sorted; those before are done
  eg_u32s users;         // [tensor pairs] nodes that wait for a node: (first, next) lists
  uint32_t *missing;     // [count] operands that are not made yet
  uint32_t *first;       // [count] head of the list of users, or UINT32_MAX
  eg_u32s heap;
} sorter;

static egraph_status heap_push(eg_u32s *heap, uint32_t node) {
  EG_TRY(eg_u32s_push(heap, node));
  size_t at = heap->len - 1;
  while (at != 0 && heap->data[(at - 1) / 2] > heap->data[at]) {
    uint32_t parent = heap->data[(at - 1) / 2];
    heap->data[(at - 1) / 2] = heap->data[at];
    heap->data[at] = parent;
    at = (at - 1) / 2;
  }
  return EGRAPH_OK;
}

static uint32_t heap_pop(eg_u32s *heap) {
  uint32_t top = heap->data[0], last = eg_u32s_pop(heap);
  size_t at = 0;
  if (heap->len == 0) return top;
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= heap->len) break;
    if (child + 1 < heap->len && heap->data[child + 1] < heap->data[child]) child++;
    if (heap->data[child] >= last) break;
    heap->data[at] = heap->data[child];
    at = child;
  }
  heap->data[at] = last;
  return top;
}

static egraph_status add_dependency(sorter *s, uint32_t node, eg_onnx_ref ref) {
  eg_onnx_tensor *tensor = eg_onnx_tensor_at(s->reader, ref);
  tensor->used = true;
  if (tensor->made) return EGRAPH_OK;
  if (tensor->producer == UINT32_MAX || tensor->producer < s->begin) // a body's result
    return eg_onnx_in_node(
        s->reader, s->begin + node,
        EG_FAIL(EGRAPH_E_PARSE, "its operand '%.200s' does not exist", tensor->name));
  uint32_t *first = &s->first[tensor->producer - s->begin];
  s->missing[node]++;
  EG_TRY(eg_u32s_push(&s->users, node));
  EG_TRY(eg_u32s_push(&s->users, *first));
  *first = (uint32_t)s->users.len - 2;
  return EGRAPH_OK;
}

static egraph_status add_dependencies(sorter *s, uint32_t n, eg_onnx_refs *captures) {
  eg_onnx_reader *r = s->reader;
  const Onnx__NodeProto *node = r->nodes.data[s->begin + n].node;
  eg_onnx_ref ref;
  for (size_t i = 0; i < node->n_input; i++) {
    if (node->input[i][0] == '\0') continue;
    if (!eg_onnx_find_tensor(r, node->input[i], &ref))
      return eg_onnx_in_node(
          r, s->begin + n,
          EG_FAIL(EGRAPH_E_PARSE, "its operand '%.200s' does not exist", node->input[i]));
    EG_TRY(add_dependency(s, n, ref));
  }
  captures->len = 0;
  EG_TRY(eg_onnx_captures(r, node, captures));
  for (size_t i = 0; i < captures->len; i++)
    EG_TRY(add_dependency(s, n, captures->data[i]));
  return EGRAPH_OK;
}

static egraph_status sort_ready(sorter *s) {
  eg_onnx_reader *r = s->reader;
  for (uint32_t n = 0; n < s->count; n++)
    if (s->missing[n] == 0) EG_TRY(heap_push(&s->heap, n));
  while (s->heap.len != 0) {
    uint32_t node = heap_pop(&s->heap);
    EG_TRY(eg_u32s_push(&r->order, s->begin + node));
    for (uint32_t at = s->first[node]; at != UINT32_MAX; at = s->users.data[at + 1])
      if (--s->missing[s->users.data[at]] == 0)
        EG_TRY(heap_push(&s->heap, s->users.data[at]));
  }
  for (uint32_t n = 0; n < s->count; n++)
    if (s->missing[n] != 0)
      return eg_onnx_in_node(
          r, s->begin + n,
          EG_FAIL(EGRAPH_E_PARSE, "it is on a cycle, or needs a node that is"));
  return EGRAPH_OK;
}

egraph_status eg_onnx_sort_nodes(eg_onnx_reader *r, uint32_t first) {
  sorter s = {.reader = r, .begin = first, .count = (uint32_t)r->nodes.len - first};
  eg_onnx_refs captures;
  EG_TRY(eg_arena_alloc(&r->arena, s.count, sizeof *s.missing, &s.missing));
  EG_TRY(eg_arena_alloc(&r->arena, s.count, sizeof *s.first, &s.first));
  eg_u32s_init(&s.users, r->alloc);
  eg_u32s_init(&s.heap, r->alloc);
  eg_onnx_refs_init(&captures, r->alloc);
  egraph_status status = EGRAPH_OK;
  for (uint32_t n = 0; n < s.count; n++)
    s.first[n] = UINT32_MAX;
  for (uint32_t n = 0; status == EGRAPH_OK && n < s.count; n++)
    status = add_dependencies(&s, n, &captures);
  if (status == EGRAPH_OK) status = sort_ready(&s);
  eg_onnx_refs_deinit(&captures);
  eg_u32s_deinit(&s.heap);
  eg_u32s_deinit(&s.users);
  return status;
}
