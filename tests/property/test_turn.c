// Transpositions on a kernel of egraph (exec/cpu/turn.c, turn in tiles.h): matrices of
// all sizes and random permutations are those of the definition, on several threads, too,
// and nothing is written beside the result.
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "exec/cpu/tiles.h"
#include "tests/unit/session_kit.h"

static int64_t draw(eg_rng *rng, int64_t first, int64_t last) {
  return first + (int64_t)eg_rng_below(rng, (uint64_t)(last - first + 1));
}

enum { MOST = 70, STEP = 80 }; // rows and columns of a matrix; floats of a row in memory

static void check_turn(eg_rng *rng, eg_turn turn) {
  static _Alignas(64) float from[MOST * STEP], to[MOST * STEP + 64];
  int64_t rows = draw(rng, 0, MOST), columns = draw(rng, 0, MOST);
  int64_t to_row = draw(rng, 0, 1) == 0 ? STEP : draw(rng, rows, STEP);
  float *first = to + (draw(rng, 0, 1) == 0 ? 0 : draw(rng, 0, 60));
  for (int i = 0; i < MOST * STEP; i++)
    from[i] = (float)(i + 1);
  memset(to, 0, sizeof to);
  turn(from, rows, columns, STEP, first, to_row);
  for (int64_t i = 0; i < MOST * STEP + 64; i++) {
    int64_t at = i - (first - to), c = at >= 0 ? at / (to_row + (to_row == 0)) : 0;
    int64_t r = at - c * to_row;
    bool is_inside = at >= 0 && c < columns && r >= 0 && r < rows;
    assert_true(to[i] == (is_inside ? from[r * STEP + c] : 0));
  }
}

static void matrices_are_transposed(void **unused) {
  (void)unused;
  eg_rng rng = {test_seed(1)};
  const eg_tile_set *set;
  size_t rounds = test_rounds(300);
  for (uint32_t k = 0; (set = eg_tile_set_at(k)) != NULL; k++)
    for (size_t i = 0; i < rounds; i++) {
      check_turn(&rng, set->turn);
      check_turn(&rng, set->turn_past_caches);
    }
}

/// Writes a permutation of random dimensions; one in eight results is large.
static void write_permutation(eg_rng *rng, char *text, size_t bytes) {
  int rank = (int)draw(rng, 2, 5), perm[5] = {0, 1, 2, 3, 4};
  bool is_large = eg_rng_below(rng, 8) == 0;
  char dims[64] = "", order[64] = "";
  for (int i = 0, at = 0, to = 0; i < rank; i++) {
    int k = (int)draw(rng, i, rank - 1), chosen = perm[k];
    perm[k] = perm[i];
    perm[i] = chosen;
    int size = (int)(is_large ? (i < 2 ? draw(rng, 600, 900) : draw(rng, 1, 2))
                     : i < 3  ? draw(rng, 1, 70)
                              : draw(rng, 1, 4));
    at += snprintf(dims + at, sizeof dims - (size_t)at, "%s%d", i == 0 ? "" : ",", size);
    to += snprintf(order + to, sizeof order - (size_t)to, " %d", chosen);
  }
  (void)snprintf(text, bytes,
                 "(egraph-graph 1)(input x \"float32[%s]\")(let y (transpose :perm [%s] "
                 "x))(output y)",
                 dims, order);
}

static void permutations_are_those_of_the_reference(void **unused) {
  (void)unused;
  char text[512];
  uint64_t seed = test_seed(1);
  size_t rounds = test_rounds(60);
  for (size_t i = 0; i < rounds; i++) {
    eg_rng rng = {seed + i};
    write_permutation(&rng, text, sizeof text);
    kit_check_cpu(text, 2 + (uint32_t)((seed + i) % 3), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(matrices_are_transposed),
      cmocka_unit_test(permutations_are_those_of_the_reference)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
