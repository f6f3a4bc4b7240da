// A channel over another one that watches what a rank lends: it must be as it was lent
// when the loan ends, which is where the next collective along the axis begins or where
// the rank settles. So memory that is written too early is found in any order of threads.
// In host memory.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_UNIT_WATCHED_CHANNEL_H
#define EG_TESTS_UNIT_WATCHED_CHANNEL_H

#include "exec/channel.h"
#include "tests/testing.h"

typedef struct watched_loan {
  const void *lent;
  void *copy;
  size_t bytes;
} watched_loan;

enum { WATCHED_SEND, WATCHED_RESULT, WATCHED_LOANS };

typedef struct watched_channel {
  eg_channel base;
  eg_channel *inner;
  watched_loan loans[EG_MAX_MESH_AXES][WATCHED_LOANS];
  uint32_t lent, broken;    // how often, of that written over too early
  uint32_t begun, fails_at; // collectives; which of them fails, from 1; 0: none
} watched_channel;

static inline void watched_end_loan(watched_channel *w, watched_loan *loan) {
  if (loan->bytes != 0 && memcmp(loan->lent, loan->copy, loan->bytes) != 0) w->broken++;
  eg_free(w->base.alloc, loan->copy, loan->bytes, 1);
  *loan = (watched_loan){0};
}

static inline void watched_end_loans(watched_channel *w, uint32_t axis) {
  for (int i = 0; i < WATCHED_LOANS; i++)
    watched_end_loan(w, &w->loans[axis][i]);
}

static inline egraph_status watched_lend(watched_channel *w, watched_loan *loan,
                                         const void *lent, size_t bytes) {
  void *copy;
  EG_TRY(eg_alloc(w->base.alloc, bytes, 1, &copy));
  if (bytes != 0) memcpy(copy, lent, bytes);
  *loan = (watched_loan){lent, copy, bytes};
  w->lent += bytes != 0;
  return EGRAPH_OK;
}

static inline egraph_status watched_run(eg_channel *base, const eg_collective *what) {
  watched_channel *w = (watched_channel *)base;
  if (what->kind == EG_COLLECTIVE_BARRIER) return eg_channel_run(w->inner, what);
  if (++w->begun == w->fails_at) return EG_FAIL(EGRAPH_E_UNSUPPORTED, "told to fail");
  watched_end_loans(w, what->axis);
  EG_TRY(eg_channel_run(w->inner, what));
  if (!what->lends) return EGRAPH_OK;
  bool is_cut = what->kind == EG_COLLECTIVE_REDUCE_SCATTER ||
                what->kind == EG_COLLECTIVE_ALL_TO_ALL;
  size_t count = what->count * (is_cut ? eg_group_of(base, what).size : 1);
  size_t bytes = (count + what->count_back) * eg_dtype_bytes(what->dtype);
  watched_loan *loans = w->loans[what->axis];
  if (what->kind == EG_COLLECTIVE_ALL_REDUCE)
    EG_TRY(watched_lend(w, &loans[WATCHED_RESULT], what->recv, bytes));
  if (what->send == what->recv) return EGRAPH_OK;
  return watched_lend(w, &loans[WATCHED_SEND], what->send, bytes);
}

static inline void watched_settle(eg_channel *base) {
  watched_channel *w = (watched_channel *)base;
  for (uint32_t a = 0; a < EG_MAX_MESH_AXES; a++)
    watched_end_loans(w, a);
  eg_channel_settle(w->inner);
}

static inline bool watched_has_loans(const watched_channel *w) {
  for (uint32_t a = 0; a < EG_MAX_MESH_AXES; a++)
    for (int i = 0; i < WATCHED_LOANS; i++)
      if (w->loans[a][i].bytes != 0) return true;
  return false;
}

static inline void watched_end(eg_channel *base, egraph_status status,
                               const char *message) {
  eg_channel *inner = ((watched_channel *)base)->inner;
  inner->vtable->end(inner, status, message);
}

static inline egraph_status watched_look(eg_channel *base) {
  eg_channel *inner = ((watched_channel *)base)->inner;
  return inner->vtable->look(inner);
}

/// Lives as long as the one given; where loans are left, their copies are not freed.
static inline void watched_init(watched_channel *w, eg_channel *inner) {
  static const eg_channel_vtable vtable = {.name = "watched",
                                           .is_ordered = true,
                                           .run = watched_run,
                                           .settle = watched_settle,
                                           .end = watched_end,
                                           .look = watched_look};
  *w = (watched_channel){.base = *inner, .inner = inner};
  w->base.vtable = &vtable;
}

#endif
