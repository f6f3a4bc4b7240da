// Helpers for choosing a random node: random numbers, list memory, attributes by name.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/instances/instance_choose.h"

#include <assert.h>
#include <string.h>

uint32_t eg_verify_below(eg_verify_choice *choice, uint32_t bound) {
  return (uint32_t)eg_rng_below(choice->rng, bound);
}

bool eg_verify_chance(eg_verify_choice *choice, uint32_t percent) {
  return eg_verify_below(choice, 100) < percent;
}

int64_t eg_verify_dim(eg_verify_choice *choice) {
  static const int64_t dims[] = {1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6};
  if (choice->dim_count > 0 && eg_verify_chance(choice, 50))
    return choice->dims[eg_verify_below(choice, choice->dim_count)];
  if (choice->is_roomy && eg_verify_chance(choice, 50))
    return 4 + eg_verify_below(choice, 6);
  return dims[eg_verify_below(choice, sizeof dims / sizeof *dims)];
}

int64_t *eg_verify_list(eg_verify_choice *choice, uint32_t count) {
  eg_verify_lists *lists = choice->lists;
  assert(count <= EG_VERIFY_INTS);
  if (count > EG_VERIFY_INTS - lists->used) lists->used = 0;
  int64_t *list = lists->ints + lists->used;
  lists->used += count;
  return list;
}

double *eg_verify_floats(eg_verify_choice *choice, uint32_t count) {
  eg_verify_lists *lists = choice->lists;
  assert(count <= EG_VERIFY_FLOATS);
  if (count > EG_VERIFY_FLOATS - lists->used_floats) lists->used_floats = 0;
  double *list = lists->floats + lists->used_floats;
  lists->used_floats += count;
  return list;
}

static bool find_slot(const eg_verify_choice *choice, const char *name, uint16_t *out) {
  for (uint16_t i = 0; i < choice->info->attr_count; i++) {
    const char *known = choice->info->attrs[i].name;
    if (known[0] != name[0] || strcmp(known, name) != 0) continue;
    *out = i;
    return true;
  }
  return false;
}

const eg_attr *eg_verify_known(const eg_verify_choice *choice, const char *name) {
  uint16_t slot;
  return find_slot(choice, name, &slot) && choice->slot_set[slot] ? &choice->slots[slot]
                                                                  : NULL;
}

// Returns the attribute and marks it as set, because the caller sets it.
eg_attr *eg_verify_missing(eg_verify_choice *choice, const char *name) {
  uint16_t slot;
  if (!find_slot(choice, name, &slot) || choice->slot_set[slot]) return NULL;
  choice->slot_set[slot] = true;
  choice->slots[slot] = (eg_attr){.kind = choice->info->attrs[slot].kind};
  return &choice->slots[slot];
}
