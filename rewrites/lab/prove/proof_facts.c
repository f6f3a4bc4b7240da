// Derives consequences of the facts by linear arithmetic over products of symbols; each
// product is a variable (elimination by Fourier and Motzkin, with integer bounds
// rounded). "True" is always proved; "false" may mean that no proof was found.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "rewrites/lab/prove/proof_work.h"

enum {
  VARIABLES = 40,   // largest number of products in a question
  ROWS = 160,       // largest number of inequalities at a time
  ROUNDS = 3,       // how many steps from the question facts may be
  DEPTH = 2,        // nesting of questions
  NESTED = 64,      // nesting of canonical forms
  LARGEST = 1 << 20 // largest factor in a row; rows with larger factors are left out
};

static const eg_polynomial *poly(const eg_proof *p, eg_poly a) {
  return &p->polys.data[a];
}

// ---- canonical forms --------------------------------------------------------------

static eg_poly canonical_symbol(eg_proof *p, uint32_t at) {
  eg_symbol s = p->symbols.data[at];
  if (s.instead != EG_PROOF_NONE) return eg_poly_canonical(p, s.instead);
  if (s.kind == EG_SYMBOL_FREE) return EG_PROOF_NONE;
  eg_poly a = eg_poly_canonical(p, s.a), b = eg_poly_canonical(p, s.b);
  switch ((int)s.kind) {
  case EG_SYMBOL_DIV: return eg_poly_div(p, a, b);
  case EG_SYMBOL_AT: return eg_poly_at(p, a, b);
  case EG_SYMBOL_STRETCHED: return eg_poly_stretched(p, a, b);
  default: return eg_poly_extreme(p, s.kind, a, b);
  }
}

static bool is_settled(const eg_proof *p, eg_poly a) {
  const eg_polynomial *n = poly(p, a);
  for (uint32_t i = 0; i < n->count; i++)
    for (uint32_t k = 0; k < n->terms[i].degree; k++) {
      const eg_symbol *s = &p->symbols.data[n->terms[i].symbols[k]];
      if (s->kind != EG_SYMBOL_FREE || s->instead != EG_PROOF_NONE) return false;
    }
  return true;
}

static eg_poly single(const eg_proof *p, uint32_t symbol) {
  return p->symbols.data[symbol].own;
}

static eg_poly rebuild_poly(eg_proof *p, eg_poly a) {
  eg_poly sum = eg_poly_const(p, 0);
  for (uint32_t i = 0; i < poly(p, a)->count; i++) {
    const eg_product *term = &poly(p, a)->terms[i]; // in the arena, so it stays valid
    eg_poly part = eg_poly_const(p, term->factor);
    for (uint32_t k = 0; k < term->degree; k++) {
      eg_poly value = canonical_symbol(p, term->symbols[k]);
      part = eg_poly_mul(p, part,
                         value == EG_PROOF_NONE ? single(p, term->symbols[k]) : value);
    }
    sum = eg_poly_add(p, sum, part);
  }
  return sum;
}

// Stores a result about polynomial `at`, valid for the current version of the facts.
static void note(eg_proof *p, eg_memos *memos, eg_poly at, eg_memo memo) {
  if (memos->len <= at && eg_memos_resize(memos, p->polys.len + 64) != EGRAPH_OK)
    eg_proof_leave(p, EG_PROOF_MEMORY, "memory");
  memos->data[at] = memo;
}

eg_poly eg_poly_canonical(eg_proof *p, eg_poly a) {
  if (is_settled(p, a)) return a;
  if (a < p->canonical.len && p->canonical.data[a].version == p->version)
    return p->canonical.data[a].result;
  uint32_t version = p->version;
  if (++p->nested > NESTED)
    eg_proof_leave(p, EG_PROOF_GIVEN_UP, "sizes that are nested too deeply");
  eg_poly result = rebuild_poly(p, a);
  p->nested--;
  note(p, &p->canonical, a, (eg_memo){.version = version, .result = result});
  return result;
}

// ---- operations that polynomials do not say ---------------------------------------

// True when the facts imply a = *whole b + *rest with 0 <= rest < b.
static bool divided(eg_proof *p, eg_poly a, eg_poly b, eg_poly *whole, eg_poly *rest) {
  int64_t x, y;
  if (eg_poly_is_const(p, a, &x) && eg_poly_is_const(p, b, &y) && y >= 1) {
    int64_t floor = x / y - (x % y != 0 && x < 0);
    *whole = eg_poly_const(p, floor);
    *rest = eg_poly_const(p, x - floor * y);
    return true;
  }
  if (eg_poly_divide(p, a, b, whole)) {
    *rest = eg_poly_const(p, 0);
    return true;
  }
  if (!eg_poly_split(p, a, b, whole, rest)) {
    *whole = eg_poly_const(p, 0);
    *rest = a;
  }
  eg_poly last = eg_poly_sub(p, eg_poly_sub(p, b, eg_poly_const(p, 1)), *rest);
  return eg_is_natural(p, *rest) && eg_is_natural(p, last);
}

eg_poly eg_poly_div(eg_proof *p, eg_poly a, eg_poly b) {
  eg_poly whole, rest;
  if (divided(p, a, b, &whole, &rest)) return whole;
  // Move multiples of b out of the quotient: floor((q b + r) / b) = q + floor(r / b).
  if (!eg_poly_split(p, a, b, &whole, &rest)) {
    whole = eg_poly_const(p, 0);
    rest = a;
  }
  eg_poly made = eg_poly_opaque(p, EG_SYMBOL_DIV, rest, b);
  return eg_poly_add(p, whole, made);
}

eg_poly eg_poly_mod(eg_proof *p, eg_poly a, eg_poly b) {
  return eg_poly_sub(p, a, eg_poly_mul(p, b, eg_poly_div(p, a, b)));
}

eg_poly eg_poly_extreme(eg_proof *p, eg_symbol_kind kind, eg_poly a, eg_poly b) {
  if (a == b) return a;
  bool least = kind == EG_SYMBOL_MIN;
  if (eg_is_natural(p, eg_poly_sub(p, b, a))) return least ? a : b;
  if (eg_is_natural(p, eg_poly_sub(p, a, b))) return least ? b : a;
  eg_poly low = a < b ? a : b, high = a < b ? b : a;
  return eg_poly_opaque(p, kind, low, high);
}

eg_poly eg_poly_at(eg_proof *p, eg_poly index, eg_poly size) {
  int64_t number;
  eg_poly one = eg_poly_const(p, 1);
  if (eg_poly_is_const(p, index, &number) && number == 0) return index;
  if (size == one) return eg_poly_const(p, 0);
  eg_poly room = eg_poly_sub(p, eg_poly_sub(p, size, index), one);
  for (size_t i = 0; i < p->facts.len; i++) // the index is one of the operand itself
    if (p->facts.data[i].n == room && p->facts.data[i].kind == EG_FACT_NATURAL)
      return index;
  if (eg_is_nonzero(p, eg_poly_sub(p, size, one))) return index;
  return eg_poly_opaque(p, EG_SYMBOL_AT, index, size);
}

eg_poly eg_poly_stretched(eg_proof *p, eg_poly a, eg_poly b) {
  eg_poly one = eg_poly_const(p, 1);
  if (a == b || b == one) return a;
  if (a == one) return b;
  if (eg_is_nonzero(p, eg_poly_sub(p, a, one))) return a;
  if (eg_is_nonzero(p, eg_poly_sub(p, b, one))) return b;
  for (size_t i = 0; i < p->pairings.len && !p->in_pairings; i++) {
    eg_pairing pair = p->pairings.data[i];
    if (!pair.one_way) continue;
    p->in_pairings = true; // sizes of pairings may be results of broadcasting
    eg_poly from = eg_poly_canonical(p, pair.a), to = eg_poly_canonical(p, pair.b);
    p->in_pairings = false;
    if (from == a && to == b) return b;
    if (from == b && to == a) return a;
  }
  return eg_poly_opaque(p, EG_SYMBOL_STRETCHED, a < b ? a : b, a < b ? b : a);
}

// ---- questions --------------------------------------------------------------------

static bool symbol_is_natural(eg_proof *p, uint32_t at, uint32_t depth);

// True when every term is a natural number because all of its factors are.
static bool is_plainly_natural(eg_proof *p, eg_poly a, uint32_t depth) {
  for (uint32_t i = 0; i < poly(p, a)->count; i++) {
    const eg_product *term = &poly(p, a)->terms[i];
    if (term->factor < 0) return false;
    for (uint32_t k = 0; k < term->degree; k++)
      if (!symbol_is_natural(p, term->symbols[k], depth)) return false;
  }
  return true;
}

static bool symbol_is_natural(eg_proof *p, uint32_t at, uint32_t depth) {
  eg_symbol s = p->symbols.data[at];
  if (depth == 0) return false;
  switch ((int)s.kind) {
  case EG_SYMBOL_FREE: return s.is_natural;
  case EG_SYMBOL_STRETCHED: return true; // a size
  case EG_SYMBOL_MAX:
    return is_plainly_natural(p, s.a, depth - 1) || is_plainly_natural(p, s.b, depth - 1);
  case EG_SYMBOL_MIN:
    return is_plainly_natural(p, s.a, depth - 1) && is_plainly_natural(p, s.b, depth - 1);
  default: return is_plainly_natural(p, s.a, depth - 1); // DIV, AT
  }
}

/// A set of linear inequalities; the question is whether they contradict each other.
struct eg_question {
  eg_product variables[VARIABLES];
  uint32_t variable_count;
  int64_t rows[ROWS][VARIABLES + 1]; // each states sum >= 0: factors, then constant
  uint32_t row_count;
};
typedef eg_question question;

static bool same_symbols(const eg_product *a, const eg_product *b) {
  if (a->degree != b->degree) return false;
  for (uint32_t i = 0; i < a->degree; i++)
    if (a->symbols[i] != b->symbols[i]) return false;
  return true;
}

static uint32_t find_variable(question *q, const eg_product *term, bool add) {
  for (uint32_t i = 0; i < q->variable_count; i++)
    if (same_symbols(&q->variables[i], term)) return i;
  if (!add || q->variable_count == VARIABLES) return EG_PROOF_NONE;
  q->variables[q->variable_count] = *term;
  return q->variable_count++;
}

static void add_inequality(eg_proof *p, question *q, eg_poly n) {
  int64_t row[VARIABLES + 1] = {0};
  for (uint32_t i = 0; i < poly(p, n)->count; i++) {
    const eg_product *term = &poly(p, n)->terms[i];
    if (term->factor > LARGEST || term->factor < -LARGEST) return;
    uint32_t at = term->degree == 0 ? VARIABLES : find_variable(q, term, true);
    if (at == EG_PROOF_NONE) return; // then the question has one fact less
    row[at] = term->factor;
  }
  if (q->row_count < ROWS / 2) memcpy(q->rows[q->row_count++], row, sizeof row);
}

static bool touches(eg_proof *p, question *q, eg_poly n) {
  for (uint32_t i = 0; i < poly(p, n)->count; i++) {
    const eg_product *term = &poly(p, n)->terms[i];
    if (term->degree != 0 && find_variable(q, term, false) != EG_PROOF_NONE) return true;
  }
  return false;
}

// Adds the inequalities that define a symbol for a quotient, remainder, minimum, ...
static void add_definition(eg_proof *p, question *q, uint32_t at) {
  eg_symbol s = p->symbols.data[at];
  eg_poly own = single(p, at), one = eg_poly_const(p, 1);
  switch ((int)s.kind) {
  case EG_SYMBOL_DIV: {
    eg_poly rest = eg_poly_sub(p, s.a, eg_poly_mul(p, own, s.b));
    add_inequality(p, q, rest);
    add_inequality(p, q, eg_poly_sub(p, eg_poly_sub(p, s.b, one), rest));
    break;
  }
  case EG_SYMBOL_MIN:
    add_inequality(p, q, eg_poly_sub(p, s.a, own));
    add_inequality(p, q, eg_poly_sub(p, s.b, own));
    break;
  case EG_SYMBOL_MAX:
    add_inequality(p, q, eg_poly_sub(p, own, s.a));
    add_inequality(p, q, eg_poly_sub(p, own, s.b));
    break;
  case EG_SYMBOL_AT: // the value is 0 or the index
    if (is_plainly_natural(p, s.a, 3)) add_inequality(p, q, eg_poly_sub(p, s.a, own));
    break;
  case EG_SYMBOL_FREE:
  case EG_SYMBOL_STRETCHED: break;
  }
}

// Adds a fact about a symbol, multiplied by the other (natural) symbols of a product with
// that symbol.
static void add_multiples(eg_proof *p, question *q, const eg_product *of, eg_poly fact) {
  for (uint32_t k = 0; k < of->degree; k++) {
    if (k != 0 && of->symbols[k] == of->symbols[k - 1]) continue;
    if (!eg_poly_has(p, fact, of->symbols[k])) continue;
    eg_poly rest = eg_poly_const(p, 1);
    bool natural = true;
    for (uint32_t i = 0; i < of->degree; i++) {
      if (i == k) continue;
      natural = natural && symbol_is_natural(p, of->symbols[i], 3);
      rest = eg_poly_mul(p, rest, single(p, of->symbols[i]));
    }
    if (natural) add_inequality(p, q, eg_poly_mul(p, rest, fact));
  }
}

static void gather_facts(eg_proof *p, question *q) {
  bool taken[256] = {false};
  size_t count = p->facts.len < 256 ? p->facts.len : 256;
  for (uint32_t round = 0, seen = 0; round < ROUNDS; round++) {
    uint32_t end = q->variable_count;
    for (; seen < end; seen++) {
      eg_product variable = q->variables[seen];
      for (uint32_t k = 0; k < variable.degree; k++)
        add_definition(p, q, variable.symbols[k]);
      if (variable.degree < 2 || variable.degree > 4) continue;
      for (size_t i = 0; i < count; i++)
        if (p->facts.data[i].kind == EG_FACT_NATURAL &&
            poly(p, p->facts.data[i].n)->count <= 3)
          add_multiples(p, q, &variable, eg_poly_canonical(p, p->facts.data[i].n));
    }
    for (size_t i = 0; i < count; i++) {
      if (taken[i] || p->facts.data[i].kind != EG_FACT_NATURAL) continue;
      eg_poly n = eg_poly_canonical(p, p->facts.data[i].n);
      if (!touches(p, q, n)) continue;
      taken[i] = true;
      add_inequality(p, q, n);
    }
  }
  for (uint32_t i = 0; i < q->variable_count && q->row_count < ROWS; i++) {
    bool natural = true;
    for (uint32_t k = 0; k < q->variables[i].degree; k++)
      natural = natural && symbol_is_natural(p, q->variables[i].symbols[k], 3);
    if (!natural) continue;
    memset(q->rows[q->row_count], 0, sizeof *q->rows);
    q->rows[q->row_count++][i] = 1;
  }
}

static int64_t gcd(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

// Divides an inequality by its common factor and rounds the constant down. Returns false
// when the inequality always holds or its numbers are too large.
static bool tidy(int64_t *row, uint32_t variables) {
  int64_t common = 0;
  for (uint32_t i = 0; i < variables; i++) {
    if (row[i] > LARGEST || row[i] < -LARGEST) return false;
    common = gcd(common, row[i]);
  }
  if (common == 0) return row[VARIABLES] < 0;
  if (common == 1)
    return row[VARIABLES] < INT64_C(1) << 40 && row[VARIABLES] > -(INT64_C(1) << 40);
  for (uint32_t i = 0; i < variables; i++)
    row[i] /= common;
  int64_t c = row[VARIABLES];
  row[VARIABLES] = c / common - (c % common != 0 && c < 0);
  return true;
}

static bool is_contradiction(const int64_t *row, uint32_t variables) {
  for (uint32_t i = 0; i < variables; i++)
    if (row[i] != 0) return false;
  return row[VARIABLES] < 0;
}

// Eliminates the variable whose elimination combines the fewest pairs of inequalities.
// Returns 1 for a contradiction, 0 to go on, -1 when no variable is left.
static int eliminate_variable(question *q, bool *done) {
  uint32_t best = EG_PROOF_NONE, best_pairs = UINT32_MAX;
  for (uint32_t v = 0; v < q->variable_count; v++) {
    if (done[v]) continue;
    uint32_t plus = 0, minus = 0;
    for (uint32_t r = 0; r < q->row_count; r++) {
      plus += q->rows[r][v] > 0;
      minus += q->rows[r][v] < 0;
    }
    if (plus * minus < best_pairs) {
      best_pairs = plus * minus;
      best = v;
    }
  }
  if (best == EG_PROOF_NONE) return -1;
  done[best] = true;
  uint32_t count = q->row_count, kept = 0;
  for (uint32_t a = 0; a < count; a++) {
    if (q->rows[a][best] <= 0) continue;
    for (uint32_t b = 0; b < count && q->row_count < ROWS; b++) {
      if (q->rows[b][best] >= 0) continue;
      int64_t *made = q->rows[q->row_count];
      int64_t x = q->rows[a][best], y = -q->rows[b][best];
      for (uint32_t i = 0; i < q->variable_count; i++)
        made[i] = q->rows[a][i] * y + q->rows[b][i] * x;
      made[VARIABLES] = q->rows[a][VARIABLES] * y + q->rows[b][VARIABLES] * x;
      if (!tidy(made, q->variable_count)) continue;
      if (is_contradiction(made, q->variable_count)) return 1;
      q->row_count++;
    }
  }
  for (uint32_t r = 0; r < q->row_count; r++) {
    if (q->rows[r][best] != 0) continue;
    if (kept != r) memcpy(q->rows[kept], q->rows[r], sizeof *q->rows);
    kept++;
  }
  q->row_count = kept;
  return 0;
}

// True when the facts imply a >= 0.
static bool follows(eg_proof *p, eg_poly a) {
  assert(p->depth != 0 && p->depth <= DEPTH);
  question **own = &p->questions[p->depth - 1];
  if (*own == NULL) *own = eg_proof_memory(p, 1, sizeof **own);
  question *q = *own;
  q->variable_count = q->row_count = 0;
  add_inequality(p, q, eg_poly_sub(p, eg_poly_const(p, -1), a));
  if (q->row_count == 0) return false;
  gather_facts(p, q);
  bool done[VARIABLES] = {false};
  for (;;) {
    int state = eliminate_variable(q, done);
    if (state != 0) return state == 1;
  }
}

bool eg_is_natural(eg_proof *p, eg_poly a) {
  eg_proof_step(p);
  int64_t number;
  if (p->is_impossible) return true;
  a = eg_poly_canonical(p, a);
  if (eg_poly_is_const(p, a, &number)) return number >= 0;
  if (is_plainly_natural(p, a, 4)) return true;
  if (a < p->natural.len && p->natural.data[a].version == p->version)
    return p->natural.data[a].result != 0;
  if (p->depth >= DEPTH) return false;
  uint32_t version = p->version;
  p->depth++;
  bool result = follows(p, a);
  p->depth--;
  // Do not store a negative answer to a nested question, or to one about a fact: it may
  // be too weak.
  if (result || (p->depth == 0 && !p->in_facts && !p->in_pairings))
    note(p, &p->natural, a, (eg_memo){.version = version, .result = result});
  return result;
}

bool eg_is_zero(eg_proof *p, eg_poly a) {
  int64_t number;
  if (p->is_impossible) return true;
  a = eg_poly_canonical(p, a);
  if (eg_poly_is_const(p, a, &number)) return number == 0;
  return eg_is_natural(p, a) && eg_is_natural(p, eg_poly_scale(p, a, -1));
}

bool eg_is_nonzero(eg_proof *p, eg_poly a) {
  int64_t number;
  if (p->is_impossible) return true;
  a = eg_poly_canonical(p, a);
  if (eg_poly_is_const(p, a, &number)) return number != 0;
  eg_poly minus = eg_poly_scale(p, a, -1);
  for (size_t i = 0; i < p->facts.len && !p->in_facts; i++) {
    if (p->facts.data[i].kind != EG_FACT_NONZERO) continue;
    p->in_facts = true; // a fact must not be used to prove itself
    eg_poly n = eg_poly_canonical(p, p->facts.data[i].n);
    p->in_facts = false;
    if (n == a || n == minus) return true;
  }
  if (p->depth >= DEPTH) return false;
  eg_poly one = eg_poly_const(p, 1);
  return eg_is_natural(p, eg_poly_sub(p, a, one)) ||
         eg_is_natural(p, eg_poly_sub(p, minus, one));
}

// ---- assumptions ------------------------------------------------------------------

eg_branch eg_branch_open(eg_proof *p) {
  return (eg_branch){.facts = p->facts.len,
                     .replaced = p->replaced.len,
                     .pairings = p->pairings.len,
                     .version = p->version,
                     .is_impossible = p->is_impossible};
}

void eg_branch_close(eg_proof *p, eg_branch branch) {
  assert(p->facts.len >= branch.facts && p->pairings.len >= branch.pairings);
  while (p->replaced.len > branch.replaced)
    p->symbols.data[eg_u32s_pop(&p->replaced)].instead = EG_PROOF_NONE;
  p->facts.len = branch.facts;
  p->pairings.len = branch.pairings;
  p->is_impossible = branch.is_impossible;
  p->version = branch.version;
}

static void changed(eg_proof *p) { p->version = ++p->versions; }

static void push_fact(eg_proof *p, eg_fact fact) {
  eg_proof_need(p, eg_proof_facts_push(&p->facts, fact));
  changed(p);
}

void eg_replace(eg_proof *p, uint32_t symbol, eg_poly by) {
  assert(p->symbols.data[symbol].instead == EG_PROOF_NONE);
  p->symbols.data[symbol].instead = by;
  eg_proof_need(p, eg_u32s_push(&p->replaced, symbol));
  changed(p);
  if (p->symbols.data[symbol].is_natural) eg_assume_natural(p, by);
}

void eg_assume_natural(eg_proof *p, eg_poly a) {
  int64_t number;
  a = eg_poly_canonical(p, a);
  if (eg_poly_is_const(p, a, &number)) {
    if (number < 0) p->is_impossible = true;
    return;
  }
  push_fact(p, (eg_fact){.kind = EG_FACT_NATURAL, .n = a});
}

// Returns the symbol for which the equation a = 0 can be solved, or EG_PROOF_NONE.
static uint32_t solved_symbol(eg_proof *p, eg_poly a, eg_poly *out_value) {
  const eg_polynomial *n = poly(p, a);
  for (uint32_t i = n->count; i-- > 0;) {
    const eg_product *term = &n->terms[i];
    if (term->degree != 1 || (term->factor != 1 && term->factor != -1)) continue;
    uint32_t symbol = term->symbols[0];
    if (p->symbols.data[symbol].kind != EG_SYMBOL_FREE) continue;
    eg_poly own = single(p, symbol);
    eg_poly rest = eg_poly_sub(p, a, eg_poly_scale(p, own, term->factor));
    if (eg_poly_has(p, rest, symbol)) continue;
    *out_value = eg_poly_scale(p, rest, -term->factor);
    return symbol;
  }
  return EG_PROOF_NONE;
}

// Finds out whether a replacement of a symbol has made a fact false.
static void check_facts(eg_proof *p) {
  for (size_t i = 0; i < p->facts.len && !p->is_impossible; i++) {
    int64_t number;
    eg_fact fact = p->facts.data[i];
    if (!eg_poly_is_const(p, eg_poly_canonical(p, fact.n), &number)) continue;
    p->is_impossible = fact.kind == EG_FACT_NATURAL ? number < 0 : number == 0;
  }
}

bool eg_facts_contradict(eg_proof *p) {
  for (size_t i = 0; i < p->facts.len; i++) {
    eg_poly n = p->facts.data[i].n, minus = eg_poly_scale(p, n, -1);
    bool natural = p->facts.data[i].kind == EG_FACT_NATURAL;
    if (natural ? eg_is_natural(p, eg_poly_sub(p, minus, eg_poly_const(p, 1)))
                : eg_is_zero(p, n))
      return true;
  }
  return p->is_impossible;
}

/// Assumes a = b unless it is known: an equation that cannot be solved for a symbol would
/// be assumed again and again.
static void assume_equal(eg_proof *p, eg_poly a, eg_poly b) {
  eg_poly difference = eg_poly_sub(p, a, b);
  if (eg_is_zero(p, difference)) return;
  if (++p->nested > NESTED)
    eg_proof_leave(p, EG_PROOF_GIVEN_UP, "equalities that follow from each other");
  eg_assume_zero(p, difference);
  p->nested--;
}

static void settle_pair(eg_proof *p, eg_pairing pair) {
  eg_poly one = eg_poly_const(p, 1);
  eg_poly a = eg_poly_canonical(p, pair.a), b = eg_poly_canonical(p, pair.b);
  if (a == b || a == one) return;
  if (b == one) {
    if (pair.one_way) assume_equal(p, a, one);
    return;
  }
  if (!eg_is_nonzero(p, eg_poly_sub(p, a, one))) return;
  if (!pair.one_way && !eg_is_nonzero(p, eg_poly_sub(p, b, one))) return;
  assume_equal(p, a, b);
}

static void settle_pairings(eg_proof *p) {
  for (size_t i = 0; i < p->pairings.len && !p->is_impossible; i++)
    settle_pair(p, p->pairings.data[i]);
}

static bool is_known_pairing(const eg_proof *p, eg_pairing pair) {
  for (size_t i = 0; i < p->pairings.len; i++) {
    const eg_pairing *known = &p->pairings.data[i];
    if (known->a == pair.a && known->b == pair.b && known->one_way >= pair.one_way)
      return true;
  }
  return false;
}

// If a = s b with a symbol s that is not 0, returns b: a = 0 then means b = 0.
static eg_poly without_factors(eg_proof *p, eg_poly a) {
  if (poly(p, a)->count == 0) return a;
  eg_product first = poly(p, a)->terms[0],
             last = poly(p, a)->terms[poly(p, a)->count - 1];
  const eg_product *least = first.degree < last.degree ? &first : &last;
  for (uint32_t i = 0; i < least->degree; i++) {
    eg_poly rest, factor = single(p, least->symbols[i]);
    if (eg_is_nonzero(p, factor) && eg_poly_divide(p, a, factor, &rest)) a = rest;
  }
  return a;
}

// If a = 0 says that a product of natural numbers is 1, assumes that each factor is 1 and
// returns true.
static bool assume_ones(eg_proof *p, eg_poly a) {
  const eg_polynomial *n = poly(p, a);
  if (n->count != 2 || n->terms[0].degree != 0 || n->terms[1].degree < 2) return false;
  eg_product product = n->terms[1];
  if (n->terms[0].factor * product.factor != -1) return false;
  for (uint32_t i = 0; i < product.degree; i++)
    if (p->symbols.data[product.symbols[i]].kind != EG_SYMBOL_FREE ||
        !p->symbols.data[product.symbols[i]].is_natural)
      return false;
  for (uint32_t i = 0; i < product.degree; i++)
    eg_assume_zero(p, eg_poly_sub(p, single(p, product.symbols[i]), eg_poly_const(p, 1)));
  return true;
}

void eg_assume_zero(eg_proof *p, eg_poly a) {
  eg_proof_step(p);
  int64_t number;
  a = without_factors(p, eg_poly_canonical(p, a));
  if (eg_poly_is_const(p, a, &number)) {
    if (number != 0) p->is_impossible = true;
    return;
  }
  if (assume_ones(p, a)) return;
  eg_poly value;
  uint32_t symbol = solved_symbol(p, a, &value);
  if (symbol != EG_PROOF_NONE) {
    eg_replace(p, symbol, value);
  } else {
    eg_assume_natural(p, a);
    eg_assume_natural(p, eg_poly_scale(p, a, -1));
  }
  check_facts(p);
  settle_pairings(p);
}

void eg_assume_nonzero(eg_proof *p, eg_poly a) {
  int64_t number;
  a = eg_poly_canonical(p, a);
  if (eg_poly_is_const(p, a, &number)) {
    if (number == 0) p->is_impossible = true;
    return;
  }
  push_fact(p, (eg_fact){.kind = EG_FACT_NONZERO, .n = a});
  settle_pairings(p);
}

void eg_assume_pairing(eg_proof *p, eg_poly a, eg_poly b, bool one_way) {
  int64_t x, y;
  a = eg_poly_canonical(p, a);
  b = eg_poly_canonical(p, b);
  if (a == b) return;
  if (eg_poly_is_const(p, a, &x) && x == 1) return;
  if (eg_poly_is_const(p, b, &y) && y == 1) {
    if (one_way) eg_assume_zero(p, eg_poly_sub(p, a, b));
    return;
  }
  eg_pairing pair = {.a = a, .b = b, .one_way = one_way};
  if (is_known_pairing(p, pair)) return;
  eg_proof_need(p, eg_pairings_push(&p->pairings, pair));
  if (one_way) changed(p); // the others change no canonical form
  settle_pair(p, pair);
}

void eg_assume_below(eg_proof *p, eg_poly a, eg_poly b) {
  eg_assume_natural(p, eg_poly_sub(p, eg_poly_sub(p, b, a), eg_poly_const(p, 1)));
}

eg_poly eg_poly_undecided(eg_proof *p, eg_poly a) {
  eg_poly one = eg_poly_const(p, 1);
  a = eg_poly_canonical(p, a);
  for (uint32_t i = 0; i < poly(p, a)->count; i++)
    for (uint32_t k = 0; k < poly(p, a)->terms[i].degree; k++) {
      eg_symbol s = p->symbols.data[poly(p, a)->terms[i].symbols[k]];
      if (s.kind == EG_SYMBOL_FREE) continue;
      eg_poly inner = eg_poly_undecided(p, s.a);
      if (inner == EG_PROOF_NONE) inner = eg_poly_undecided(p, s.b);
      if (inner != EG_PROOF_NONE) return inner;
      if (s.kind != EG_SYMBOL_AT && s.kind != EG_SYMBOL_STRETCHED) continue;
      eg_poly sizes[2] = {s.b, s.a};
      for (uint32_t j = 0; j < (s.kind == EG_SYMBOL_AT ? 1U : 2U); j++) {
        eg_poly size = eg_poly_canonical(p, sizes[j]);
        if (size != one && !eg_is_nonzero(p, eg_poly_sub(p, size, one))) return size;
      }
    }
  return EG_PROOF_NONE;
}
