// Values of one forward value are in a list; such lists are short.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/graph/provenance.h"

#define NONE UINT32_MAX

typedef struct stamp_index {
  eg_u32s first, next; // [values of the forward graph, and none], [values]
} stamp_index;

static uint32_t list_of(const stamp_index *index, uint32_t of) {
  return of == EG_STAMP_OF_NONE ? (uint32_t)index->first.len - 1 : of;
}

static egraph_status fill_index(stamp_index *index, const eg_stamps *stamps) {
  uint32_t lists = 1;
  for (size_t v = 0; v < stamps->len; v++)
    if (stamps->data[v].of != EG_STAMP_OF_NONE && stamps->data[v].of + 2 > lists)
      lists = stamps->data[v].of + 2;
  for (uint32_t i = 0; i < lists; i++)
    EG_TRY(eg_u32s_push(&index->first, NONE));
  for (uint32_t v = 0; v < stamps->len; v++) {
    uint32_t *first = &index->first.data[list_of(index, stamps->data[v].of)];
    EG_TRY(eg_u32s_push(&index->next, *first));
    *first = v;
  }
  return EGRAPH_OK;
}

static uint32_t find(const stamp_index *index, const eg_stamps *stamps, eg_stamp like) {
  uint32_t list = list_of(index, like.of);
  uint32_t v = list < index->first.len ? index->first.data[list] : NONE;
  for (; v != NONE; v = index->next.data[v]) {
    const eg_stamp *stamp = &stamps->data[v];
    if (stamp->made == like.made && stamp->variant == like.variant &&
        stamp->index == like.index)
      break;
  }
  return v;
}

static egraph_status map(const stamp_index *index, const eg_stamps *from,
                         const eg_stamps *to, const eg_u32s *like, eg_u32s *out) {
  for (size_t v = 0; v < from->len; v++) {
    eg_stamp stamp = from->data[v];
    bool is_like = stamp.of == EG_STAMP_OF_NONE || like->data[stamp.of] != NONE;
    if (stamp.of != EG_STAMP_OF_NONE) stamp.of = like->data[stamp.of];
    EG_TRY(eg_u32s_push(out, is_like ? find(index, to, stamp) : NONE));
  }
  return EGRAPH_OK;
}

egraph_status eg_stamps_map(const eg_stamps *from, const eg_stamps *to,
                            const eg_u32s *like, eg_u32s *out) {
  stamp_index index;
  eg_u32s_init(&index.first, out->alloc);
  eg_u32s_init(&index.next, out->alloc);
  egraph_status status = fill_index(&index, to);
  if (status == EGRAPH_OK) status = map(&index, from, to, like, out);
  eg_u32s_deinit(&index.next);
  eg_u32s_deinit(&index.first);
  return status;
}
