// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/parts.h"

#include "exec/cpu/omp_runtime.h"

int64_t eg_parts_size(int64_t whole, int64_t most, uint32_t threads) {
  if (whole <= most) return most;
  int64_t rounds = (whole + most * threads - 1) / (most * threads);
  return (whole + rounds * threads - 1) / (rounds * threads);
}

void eg_parts_run(eg_parts *parts, int64_t count, void (*body)(void *), void *argument,
                  uint32_t threads) {
  uint32_t used = count < (int64_t)threads ? (uint32_t)count : threads;
  if (used == 0) used = 1;
  parts->count = count;
  parts->shares = used < EG_MAX_SHARES ? used : EG_MAX_SHARES;
  atomic_init(&parts->entered, 0);
  for (uint32_t i = 0; i < parts->shares; i++)
    atomic_init(&parts->taken[i], 0);
  eg_omp_run(body, argument, used);
}

uint32_t eg_parts_enter(eg_parts *parts) {
  eg_team_piece piece;
  uint32_t number = eg_team_piece_of_caller(&piece) && piece.count != 1
                        ? piece.index
                        : atomic_fetch_add(&parts->entered, 1);
  return number % parts->shares;
}

static int64_t begin_of(const eg_parts *parts, uint32_t share) {
  int64_t each = parts->count / parts->shares, more = parts->count % parts->shares;
  return each * share + (share < more ? share : more);
}

bool eg_parts_take(eg_parts *parts, uint32_t *share, int64_t *out) {
  for (uint32_t i = 0; i < parts->shares; i++) {
    int64_t left = begin_of(parts, *share + 1) - begin_of(parts, *share);
    int64_t taken = atomic_fetch_add(&parts->taken[*share], 1);
    if (taken < left) {
      *out = begin_of(parts, *share) + taken;
      return true;
    }
    *share = (*share + 1) % parts->shares;
  }
  return false;
}
