// Draws an einsum equation operand by operand: each dimension is a new letter, or one of
// an earlier operand, seldom of the same operand. The result has some of the letters.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/instances/instance_choose.h"

#include <assert.h>
#include <string.h>

// MOST_RANK: largest rank of a drawn operand. MOST_OPERANDS: most operands of an equation
// whose text fits its memory.
enum { LETTERS = 26, MOST_RANK = 4, MOST_OPERANDS = 6 };

// ---- what an equation is ------------------------------------------------------------

typedef struct equation_letters {
  uint32_t operands[LETTERS]; // number of operands that have the letter
  bool is_twice;              // some operand has a letter twice
  uint32_t seen;              // number of letters seen
  uint32_t first[LETTERS];    // by letter: number of letters seen before it
  uint32_t result[LETTERS];   // letters of the result, in order
  uint32_t count;             // number of letters in the result
} equation_letters;

static bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

static void read_letters(const char *equation, equation_letters *out) {
  *out = (equation_letters){0};
  const char *at = equation;
  uint32_t here = 0; // bits of the letters of this operand
  for (; *at != '\0' && *at != '-'; at++) {
    if (*at == ',') here = 0;
    if (!is_letter(*at)) continue;
    uint32_t letter = (uint32_t)(*at - 'a'), bit = UINT32_C(1) << letter;
    if (out->operands[letter] == 0) out->first[letter] = out->seen++;
    if ((here & bit) != 0)
      out->is_twice = true;
    else
      out->operands[letter]++;
    here |= bit;
  }
  for (; *at != '\0'; at++)
    if (is_letter(*at) && out->count < LETTERS)
      out->result[out->count++] = (uint32_t)(*at - 'a');
}

/// Counts the letters of one operand (or of several) that the result of an einsum has
/// (or lacks).
static uint32_t count_letters(const equation_letters *all, bool of_several,
                              bool in_result) {
  uint32_t count = 0, result = 0; // bits of the letters of the result
  for (uint32_t i = 0; i < all->count; i++)
    result |= UINT32_C(1) << all->result[i];
  for (uint32_t i = 0; i < LETTERS; i++)
    count += all->operands[i] > 0 && (all->operands[i] > 1) == of_several &&
             ((result >> i & 1) != 0) == in_result;
  return count;
}

/// Returns how many letters of the einsum's result precede letter i in the operands.
static uint32_t result_place(const equation_letters *all, uint32_t i) {
  uint32_t place = 0;
  for (uint32_t k = 0; k < all->count; k++)
    place += all->first[all->result[k]] < all->first[all->result[i]];
  return place;
}

static eg_equation_kind order_of(const equation_letters *all) {
  eg_equation_kind order = EG_EQUATION_IN_ORDER;
  for (uint32_t i = 0; i < all->count; i++) {
    uint32_t place = result_place(all, i);
    if (result_place(all, place) != i) return EG_EQUATION_CYCLE;
    if (place != i) order = EG_EQUATION_SWAP;
  }
  return order;
}

bool eg_equation_is(eg_equation_kind kind, const char *equation) {
  equation_letters all;
  read_letters(equation, &all);
  switch (kind) {
  case EG_EQUATION_SUM: return count_letters(&all, false, false) > 0;
  case EG_EQUATION_DIAGONAL: return all.is_twice;
  case EG_EQUATION_DOTS: return strchr(equation, '.') != NULL;
  case EG_EQUATION_PRODUCTS_SUMMED: return count_letters(&all, true, false) > 0;
  case EG_EQUATION_BATCH: return count_letters(&all, true, true) > 0;
  case EG_EQUATION_OUTER: return count_letters(&all, false, true) > 1;
  case EG_EQUATION_IN_ORDER:
  case EG_EQUATION_SWAP:
  case EG_EQUATION_CYCLE: break;
  }
  return order_of(&all) == kind;
}

// ---- one at random --------------------------------------------------------------------

typedef struct equation_draw {
  eg_verify_choice *choice;
  char *at;
  uint32_t letters; // number of letters so far
  bool has_dots;
} equation_draw;

static void write(equation_draw *draw, const char *text) {
  size_t length = strlen(text);
  memcpy(draw->at, text, length + 1);
  draw->at += length;
}

static void write_letter(equation_draw *draw, uint32_t letter) {
  *draw->at++ = (char)('a' + letter);
  *draw->at = '\0';
}

/// Draws a letter of an einsum: a new one, one of an earlier operand that this operand
/// lacks, or seldom one of this operand.
static uint32_t next_letter(equation_draw *draw, uint32_t before, uint32_t *here) {
  uint32_t seldom = eg_verify_below(draw->choice, 100), found = draw->letters;
  if (seldom < 6 && *here != 0) {
    do
      found = eg_verify_below(draw->choice, draw->letters);
    while ((*here >> found & 1) == 0);
  } else if (seldom < 65 && before > 0) {
    uint32_t letter = eg_verify_below(draw->choice, before);
    if ((*here >> letter & 1) == 0) found = letter;
  }
  draw->letters += found == draw->letters;
  *here |= UINT32_C(1) << found;
  return found;
}

static void draw_operand(equation_draw *draw, uint32_t rank) {
  uint32_t here = 0, before = draw->letters;
  if (draw->has_dots) write(draw, "...");
  for (uint32_t i = 0; i < rank; i++)
    write_letter(draw, next_letter(draw, before, &here));
}

/// Draws the result of an einsum equation: all letters or some, in order or not.
static void draw_result(equation_draw *draw) {
  uint32_t letters[LETTERS], count = 0;
  bool has_all = eg_verify_chance(draw->choice, 35);
  for (uint32_t i = 0; i < draw->letters; i++)
    if (has_all || eg_verify_chance(draw->choice, 60)) letters[count++] = i;
  bool is_shuffled = eg_verify_chance(draw->choice, 50);
  for (uint32_t i = count; is_shuffled && i > 1; i--) {
    uint32_t other = eg_verify_below(draw->choice, i), kept = letters[i - 1];
    letters[i - 1] = letters[other];
    letters[other] = kept;
  }
  write(draw, draw->has_dots ? "->..." : "->");
  for (uint32_t i = 0; i < count; i++)
    write_letter(draw, letters[i]);
}

static uint32_t some_rank(equation_draw *draw, uint32_t most) {
  return eg_verify_chance(draw->choice, 6) ? 0 : 1 + eg_verify_below(draw->choice, most);
}

/// Returns the number of letters for the first operand of an einsum; `...` covers its
/// other dimensions.
static uint32_t first_rank(equation_draw *draw, const eg_type *first) {
  if (first == NULL) return some_rank(draw, MOST_RANK);
  if (first->rank > MOST_RANK) draw->has_dots = true;
  uint32_t most = first->rank < MOST_RANK ? first->rank : MOST_RANK;
  return draw->has_dots ? eg_verify_below(draw->choice, most + 1) : first->rank;
}

void eg_equation_draw(eg_verify_choice *choice, uint32_t operands, const eg_type *first,
                      char out[EG_EQUATION_BYTES]) {
  equation_draw draw = {.choice = choice, .at = out};
  assert(operands > 0);
  draw.has_dots = eg_verify_chance(choice, 15);
  uint32_t count = operands < MOST_OPERANDS ? operands : MOST_OPERANDS;
  for (uint32_t i = 0; i < count; i++) {
    if (i > 0) write(&draw, ",");
    draw_operand(&draw,
                 i == 0 ? first_rank(&draw, first) : some_rank(&draw, MOST_RANK - 1));
  }
  draw_result(&draw);
}
