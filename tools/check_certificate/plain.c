// Plain extraction: choose nodes so that every root class has one, every child class of a
// chosen node has one, and the choice is acyclic; the cost is the sum over chosen nodes.
//
// A proof that nothing costs less than `bound` walks a tree. Its state is a smaller
// problem of the same kind: the nodes still alive, and the needed classes. Each record
// below is checked alone and keeps this invariant: if a solution below `bound` exists,
// one exists in the current state or in a side of a split that comes later.
//
//   worse n m          node n goes: m of its class costs no more and needs nothing else
//   needs e k S...     (before worse) every derivation of class e contains class k
//   cut w S...         in the sum below: weight w times  sum of K(S) >= 1
//   row w c S...       the same with  sum of K(S) >= sum of the nodes of c with a child
//                      in S; nodes of c in K(S) are left out
//   use w c            the same with  sum of the users of c >= sum of the nodes of c
//   bound              the weighted sum of these rows bounds the cost; what it puts at
//                      `bound` or above goes, and if that is everything the state closes
//   split class c used|unused, split node n without|only
//                      two states, the one named first
//   closed             the present state is closed; on to the other side of a split
//
// K(S) are the alive nodes of the classes in S that have no child in S. If S contains a
// class that is needed, an acyclic choice has a node in K(S): below the class, always to
// a child in S, the walk must end. Rows with `use` hold because a choice without
// superfluous classes is among the cheapest.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/check_certificate/certificate.h"
#include "tools/check_certificate/plain_problem.h"
#include "tools/check_certificate/rounding.h"

enum { MOST_SPLITS = 1 << 25, MOST_FACTS = 1 << 29 };

// Kinds of splits; the two sides of a split differ in the lowest bit.
typedef enum split_kind { CLASS_USED, CLASS_UNUSED, NODE_WITHOUT, NODE_ONLY } split_kind;

typedef struct split {
  split_kind now; // the current side
  uint32_t item;
  bool last; // the other side is done
} split;

typedef struct proof {
  certificate *c;
  const plain_problem *p;
  double bound;        // the claimed bound
  double unit;         // every cost is a multiple of the unit; 0: there is no unit
  bool may_exchange;   // no cost is negative
  uint32_t *gone_at;   // [node] 1 + depth of the split at which the node was dropped;
                       // 0: alive
  uint32_t *needed_at; // [class] 1 + depth at which it became needed; 0: not needed
  split *splits;
  uint32_t depth;
  size_t room; // capacity of `splits`
  bool closed, clean;
  bool done; // the last state is closed
  // The set of the current record.
  uint32_t *set, *stamp_of, stamp, set_size;
  // The weighted sum of the rows since the last `bound`.
  double sum;
  double *rest; // [node] at most cost - weights
  bool summing;
  uint32_t (*fact)[2];
  uint32_t facts;
  size_t max_facts;
  // Scratch memory of clean_up.
  uint32_t *waiting, *queue;
  uint8_t *derived, *reached;
} proof;

// ---- the claim and the solution -----------------------------------------------------

static bool expect_word(certificate *c, const char *wanted) {
  const char *word;
  if (!certificate_next(c))
    return certificate_refuse(c, "the file ends before '%s'", wanted);
  return certificate_name(c, wanted, &word) &&
         (strcmp(word, wanted) == 0 ||
          certificate_refuse(c, "'%s' is expected here, not '%.40s'", wanted, word));
}

static bool read_counts(certificate *c, const plain_problem *p) {
  const uint32_t have[] = {p->nodes, p->classes, p->roots};
  static const char *const NAMES[] = {"nodes", "classes", "roots"};
  if (!expect_word(c, "problem")) return false;
  for (int i = 0; i < 3; i++) {
    int64_t count;
    if (!certificate_int64(c, NAMES[i], &count)) return false;
    if (count != have[i])
      return certificate_refuse(c, "the certificate is of a problem with %lld %s, not %u",
                                (long long)count, NAMES[i], have[i]);
  }
  return certificate_line_ends(c);
}

static void reach(proof *q, uint32_t class, uint32_t *count) {
  if (q->reached[class]) return;
  q->reached[class] = 1;
  q->queue[(*count)++] = class;
}

/// Checks that a choice of e-nodes covers the root classes, covers the children of its
/// nodes, and is acyclic: all classes can be removed, each after its children. *low,
/// *high: bounds of its cost.
static bool check_choice(proof *q, const uint32_t *choice, double *low, double *high) {
  const plain_problem *p = q->p;
  uint32_t count = 0, done = 0;
  uint32_t *waiting = q->waiting;
  memset(q->reached, 0, p->classes);
  for (uint32_t i = 0; i < p->roots; i++)
    reach(q, p->root[i], &count);
  *low = *high = 0;
  for (uint32_t at = 0; at < count; at++) {
    uint32_t class = q->queue[at], n = choice[class];
    if (n == UINT32_MAX)
      return certificate_refuse(q->c, "class %u is needed and has no node", class);
    *low = add_down(*low, p->cost[n]);
    *high = add_up(*high, p->cost[n]);
    waiting[class] = p->child_begin[n + 1] - p->child_begin[n];
    for (uint32_t i = p->child_begin[n]; i < p->child_begin[n + 1]; i++)
      reach(q, p->child[i], &count);
  }
  uint32_t needed = count;
  count = 0;
  for (uint32_t class = 0; class < p->classes; class ++)
    if (q->reached[class] && waiting[class] == 0) q->queue[count++] = class;
  for (; done < count; done++)
    for (uint32_t i = p->user_begin[q->queue[done]];
         i < p->user_begin[q->queue[done] + 1]; i++) {
      uint32_t user = p->user[i], class = p->class_of[user];
      if (q->reached[class] && choice[class] == user && --waiting[class] == 0)
        q->queue[count++] = class;
    }
  return count == needed || certificate_refuse(q->c, "the choice is cyclic");
}

static bool read_solution(proof *q, uint32_t *choice, double *cost) {
  certificate *c = q->c;
  const plain_problem *p = q->p;
  int64_t count;
  double low, high;
  if (!expect_word(c, "cost") || !certificate_double(c, "a cost", cost) ||
      !certificate_line_ends(c) || !expect_word(c, "choice") ||
      !certificate_int64(c, "a number of nodes", &count))
    return false;
  for (uint32_t class = 0; class < p->classes; class ++)
    choice[class] = UINT32_MAX;
  for (int64_t i = 0; i < count; i++) {
    uint32_t n;
    if (!certificate_index(c, "a node", p->nodes, &n)) return false;
    if (choice[p->class_of[n]] != UINT32_MAX)
      return certificate_refuse(c, "two nodes of class %u", p->class_of[n]);
    choice[p->class_of[n]] = n;
  }
  if (!certificate_line_ends(c) || !check_choice(q, choice, &low, &high)) return false;
  if (*cost >= low && *cost <= high) return true;
  return certificate_refuse(c, "the choice costs %.17g, not %.17g", low, *cost);
}

static uint64_t common_divisor(uint64_t a, uint64_t b) {
  while (b != 0) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// Returns the unit of costs that are integers with an exact sum; 0: there is none.
static double unit_of(const plain_problem *p) {
  uint64_t unit = 0;
  double sum = 0;
  for (uint32_t n = 0; n < p->nodes; n++) {
    double cost = fabs(p->cost[n]);
    sum += cost;
    if (floor(cost) != cost || !(sum <= 0x1p50)) return 0;
    unit = common_divisor(unit, (uint64_t)cost);
  }
  return (double)unit;
}

// True when no solution of cost at least `value` is below the claimed bound: costs are
// rounded up to multiples of the unit, if there is one.
static bool reaches(const proof *q, double value) {
  return value >= q->bound || (q->unit > 0 && value > q->bound - q->unit);
}

// ---- the state ----------------------------------------------------------------------

static bool is_alive(const proof *q, uint32_t n) { return q->gone_at[n] == 0; }

static void drop(proof *q, uint32_t n) {
  if (q->gone_at[n] != 0) return;
  q->gone_at[n] = q->depth + 1;
  q->clean = false;
}

static void derive_classes(proof *q) {
  const plain_problem *p = q->p;
  uint32_t count = 0;
  memset(q->derived, 0, p->classes);
  for (uint32_t n = 0; n < p->nodes; n++) {
    q->waiting[n] = p->child_begin[n + 1] - p->child_begin[n];
    if (q->waiting[n] != 0 || !is_alive(q, n) || q->derived[p->class_of[n]]) continue;
    q->derived[p->class_of[n]] = 1;
    q->queue[count++] = p->class_of[n];
  }
  for (uint32_t at = 0; at < count; at++)
    for (uint32_t i = p->user_begin[q->queue[at]]; i < p->user_begin[q->queue[at] + 1];
         i++) {
      uint32_t n = p->user[i], class = p->class_of[n];
      if (--q->waiting[n] != 0 || !is_alive(q, n) || q->derived[class]) continue;
      q->derived[class] = 1;
      q->queue[count++] = class;
    }
}

// Drops e-nodes that cannot be derived, and nodes that no needed class reaches. A needed
// class without a derivation closes the current state: no solution is left.
static void clean_up(proof *q) {
  const plain_problem *p = q->p;
  if (q->clean) return;
  derive_classes(q);
  uint32_t count = 0;
  memset(q->reached, 0, p->classes);
  for (uint32_t class = 0; class < p->classes; class ++) {
    if (q->needed_at[class] == 0) continue;
    if (!q->derived[class]) q->closed = true;
    reach(q, class, &count);
  }
  for (uint32_t at = 0; at < count; at++)
    for (uint32_t m = p->member_begin[q->queue[at]];
         m < p->member_begin[q->queue[at] + 1]; m++) {
      uint32_t n = p->member[m];
      if (!is_alive(q, n) || q->waiting[n] != 0) continue;
      for (uint32_t i = p->child_begin[n]; i < p->child_begin[n + 1]; i++)
        reach(q, p->child[i], &count);
    }
  for (uint32_t n = 0; n < p->nodes; n++)
    if (is_alive(q, n) && (q->waiting[n] != 0 || !q->reached[p->class_of[n]])) drop(q, n);
  q->clean = true;
}

// ---- rows ---------------------------------------------------------------------------

// Reads a set of e-classes, the rest of the line; the classes are distinct.
static bool read_set(proof *q) {
  q->set_size = 0;
  if (++q->stamp == 0) {
    memset(q->stamp_of, 0, q->p->classes * sizeof *q->stamp_of);
    q->stamp = 1;
  }
  while (q->c->at[strspn(q->c->at, " \t\r")] != '\0') {
    uint32_t class;
    if (!certificate_index(q->c, "a class", q->p->classes, &class)) return false;
    if (q->stamp_of[class] == q->stamp) continue;
    q->stamp_of[class] = q->stamp;
    q->set[q->set_size++] = class;
  }
  return true;
}

static bool in_set(const proof *q, uint32_t class) {
  return q->stamp_of[class] == q->stamp;
}

static bool has_child_in_set(const proof *q, uint32_t n) {
  for (uint32_t i = q->p->child_begin[n]; i < q->p->child_begin[n + 1]; i++)
    if (in_set(q, q->p->child[i])) return true;
  return false;
}

static void start_sum(proof *q) {
  clean_up(q);
  if (q->summing) return;
  q->summing = true;
  q->sum = 0;
  memcpy(q->rest, q->p->cost, q->p->nodes * sizeof *q->rest);
}

static bool read_weight(proof *q, double *weight) {
  if (!certificate_double(q->c, "a weight", weight)) return false;
  return *weight >= 0 ||
         certificate_refuse(q->c, "the weight %.17g is negative", *weight);
}

// Subtracts the weight from the costs of K(S), the nodes of the set's classes without a
// child in the set, except nodes of class `except`.
static void take_off_cut(proof *q, double weight, uint32_t except) {
  const plain_problem *p = q->p;
  for (uint32_t s = 0; s < q->set_size; s++) {
    uint32_t class = q->set[s];
    if (class == except) continue;
    for (uint32_t m = p->member_begin[class]; m < p->member_begin[class + 1]; m++) {
      uint32_t n = p->member[m];
      if (is_alive(q, n) && !has_child_in_set(q, n))
        q->rest[n] = add_down(q->rest[n], -weight);
    }
  }
}

static bool read_cut(proof *q) {
  double weight;
  start_sum(q);
  if (!read_weight(q, &weight) || !read_set(q)) return false;
  bool needed = false;
  for (uint32_t s = 0; s < q->set_size && !needed; s++)
    needed = q->needed_at[q->set[s]] != 0;
  if (!needed) return certificate_refuse(q->c, "no class of the cut is needed");
  take_off_cut(q, weight, UINT32_MAX);
  q->sum = add_down(q->sum, weight);
  return true;
}

static bool read_row(proof *q) {
  const plain_problem *p = q->p;
  double weight;
  uint32_t class;
  start_sum(q);
  if (!read_weight(q, &weight) ||
      !certificate_index(q->c, "a class", p->classes, &class) || !read_set(q))
    return false;
  take_off_cut(q, weight, class);
  for (uint32_t m = p->member_begin[class]; m < p->member_begin[class + 1]; m++)
    if (is_alive(q, p->member[m]) && has_child_in_set(q, p->member[m]))
      q->rest[p->member[m]] = add_down(q->rest[p->member[m]], weight);
  return true;
}

static bool read_use(proof *q) {
  const plain_problem *p = q->p;
  double weight;
  uint32_t class;
  start_sum(q);
  if (!read_weight(q, &weight) ||
      !certificate_index(q->c, "a class", p->classes, &class) ||
      !certificate_line_ends(q->c))
    return false;
  if (q->needed_at[class] != 0)
    return certificate_refuse(q->c, "class %u is needed, used or not", class);
  // A user that contains the class twice loses the weight twice: the bound is lower, but
  // still true.
  for (uint32_t i = p->user_begin[class]; i < p->user_begin[class + 1]; i++)
    q->rest[p->user[i]] = add_down(q->rest[p->user[i]], -weight);
  for (uint32_t m = p->member_begin[class]; m < p->member_begin[class + 1]; m++)
    q->rest[p->member[m]] = add_down(q->rest[p->member[m]], weight);
  return true;
}

// Reads `bound`. A class has one chosen node, so that its least remaining cost counts.
static bool read_bound(proof *q) {
  const plain_problem *p = q->p;
  if (!certificate_line_ends(q->c)) return false;
  start_sum(q);
  q->summing = false;
  double total = q->sum;
  for (uint32_t class = 0; class < p->classes; class ++) {
    double least = 0;
    for (uint32_t m = p->member_begin[class]; m < p->member_begin[class + 1]; m++)
      if (is_alive(q, p->member[m]) && q->rest[p->member[m]] < least)
        least = q->rest[p->member[m]];
    if (least < 0) total = add_down(total, least);
  }
  if (reaches(q, total)) q->closed = true;
  for (uint32_t n = 0; n < p->nodes; n++)
    if (is_alive(q, n) && q->rest[n] > 0 && reaches(q, add_down(total, q->rest[n])))
      drop(q, n);
  return true;
}

// ---- nodes that others replace ------------------------------------------------------

// Reads a record `needs`: every derivation of a class contains class k. Without k,
// nothing in S can be derived: every other class has a child in S in each of its nodes.
static bool read_needs(proof *q) {
  const plain_problem *p = q->p;
  uint32_t class, needed;
  if (!certificate_index(q->c, "a class", p->classes, &class) ||
      !certificate_index(q->c, "a class", p->classes, &needed) || !read_set(q))
    return false;
  if (class != needed && !in_set(q, class))
    return certificate_refuse(q->c, "the set does not contain class %u", class);
  for (uint32_t s = 0; s < q->set_size; s++)
    for (uint32_t m = p->member_begin[q->set[s]]; m < p->member_begin[q->set[s] + 1]; m++)
      if (q->set[s] != needed && is_alive(q, p->member[m]) &&
          !has_child_in_set(q, p->member[m]))
        return certificate_refuse(q->c, "node %u derives class %u without class %u",
                                  p->member[m], q->set[s], needed);
  if (q->facts == MOST_FACTS ||
      !input_grow(&q->fact, &q->max_facts, (size_t)q->facts + 1, sizeof *q->fact))
    return certificate_refuse(q->c, "no memory");
  q->fact[q->facts][0] = class;
  q->fact[q->facts++][1] = needed;
  return true;
}

static bool node_needs(const proof *q, uint32_t n, uint32_t class) {
  const plain_problem *p = q->p;
  for (uint32_t i = p->child_begin[n]; i < p->child_begin[n + 1]; i++) {
    if (p->child[i] == class) return true;
    for (uint32_t f = 0; f < q->facts; f++)
      if (q->fact[f][0] == p->child[i] && q->fact[f][1] == class) return true;
  }
  return false;
}

static bool read_worse(proof *q) {
  const plain_problem *p = q->p;
  uint32_t n, m;
  if (!certificate_index(q->c, "a node", p->nodes, &n) ||
      !certificate_index(q->c, "a node", p->nodes, &m) || !certificate_line_ends(q->c))
    return false;
  if (!q->may_exchange)
    return certificate_refuse(q->c, "no node replaces another where costs are negative");
  if (n == m || p->class_of[n] != p->class_of[m] || !is_alive(q, m))
    return certificate_refuse(q->c, "node %u cannot stand for node %u", m, n);
  if (p->cost[m] > p->cost[n])
    return certificate_refuse(q->c, "node %u is dearer than node %u", m, n);
  for (uint32_t i = p->child_begin[m]; i < p->child_begin[m + 1]; i++)
    if (!node_needs(q, n, p->child[i]))
      return certificate_refuse(q->c, "node %u needs class %u, node %u does not", m,
                                p->child[i], n);
  drop(q, n);
  q->facts = 0;
  return true;
}

// ---- the tree -----------------------------------------------------------------------

static void enter_side(proof *q, split_kind side, uint32_t item) {
  const plain_problem *p = q->p;
  uint32_t class = side == NODE_ONLY ? p->class_of[item] : item;
  switch (side) {
  case CLASS_USED:
    if (q->needed_at[class] == 0) q->needed_at[class] = q->depth + 1;
    break;
  case NODE_WITHOUT: drop(q, item); break;
  case CLASS_UNUSED:
  case NODE_ONLY:
    for (uint32_t m = p->member_begin[class]; m < p->member_begin[class + 1]; m++)
      if (side == CLASS_UNUSED || p->member[m] != item) drop(q, p->member[m]);
    break;
  }
  q->clean = q->closed = q->summing = false;
  q->facts = 0;
}

static bool read_split(proof *q) {
  static const struct {
    const char *what, *side;
    split_kind kind;
  } SIDES[] = {{"class", "used", CLASS_USED},
               {"class", "unused", CLASS_UNUSED},
               {"node", "without", NODE_WITHOUT},
               {"node", "only", NODE_ONLY}};
  const char *what, *side;
  uint32_t item;
  if (!certificate_name(q->c, "'class' or 'node'", &what)) return false;
  bool of_class = strcmp(what, "class") == 0;
  if (!certificate_index(q->c, what, of_class ? q->p->classes : q->p->nodes, &item) ||
      !certificate_name(q->c, "a side", &side) || !certificate_line_ends(q->c))
    return false;
  size_t i = 0;
  while (i < 4 && (strcmp(what, SIDES[i].what) != 0 || strcmp(side, SIDES[i].side) != 0))
    i++;
  if (i == 4) return certificate_refuse(q->c, "no split '%.20s %.20s'", what, side);
  if (q->depth == MOST_SPLITS ||
      !input_grow(&q->splits, &q->room, (size_t)q->depth + 1, sizeof *q->splits))
    return certificate_refuse(q->c, "no memory");
  q->splits[q->depth++] = (split){.now = SIDES[i].kind, .item = item};
  enter_side(q, SIDES[i].kind, item);
  return true;
}

// Restores e-nodes and classes that changed at the current depth of the proof or below.
static void undo(proof *q) {
  for (uint32_t n = 0; n < q->p->nodes; n++)
    if (q->gone_at[n] > q->depth) q->gone_at[n] = 0;
  for (uint32_t class = 0; class < q->p->classes; class ++)
    if (q->needed_at[class] > q->depth) q->needed_at[class] = 0;
}

static bool read_closed(proof *q) {
  if (!certificate_line_ends(q->c)) return false;
  clean_up(q);
  if (!q->closed)
    return certificate_refuse(q->c, "solutions below the bound are not ruled out here");
  while (q->depth != 0 && q->splits[q->depth - 1].last) {
    undo(q);
    q->depth--;
  }
  q->done = q->depth == 0;
  if (q->done) return true;
  split *top = &q->splits[q->depth - 1];
  undo(q);
  top->last = true;
  top->now ^= 1; // the other side
  enter_side(q, top->now, top->item);
  return true;
}

static bool read_record(proof *q) {
  static const struct {
    const char *name;
    bool (*read)(proof *q);
  } RECORDS[] = {{"cut", read_cut},     {"row", read_row},      {"use", read_use},
                 {"bound", read_bound}, {"needs", read_needs},  {"worse", read_worse},
                 {"split", read_split}, {"closed", read_closed}};
  const char *word;
  if (!certificate_next(q->c))
    return certificate_refuse(q->c, "the file ends before the proof does");
  if (!certificate_name(q->c, "a record", &word)) return false;
  for (size_t i = 0; i < sizeof RECORDS / sizeof *RECORDS; i++)
    if (strcmp(word, RECORDS[i].name) == 0) return RECORDS[i].read(q);
  return certificate_refuse(q->c, "no record is called '%.40s'", word);
}

static bool prepare_proof(proof *q) {
  const plain_problem *p = q->p;
  input *in = &q->c->in;
  uint32_t most = p->nodes > p->classes ? p->nodes : p->classes;
  if (!INPUT_ROOM(in, q->gone_at, p->nodes) ||
      !INPUT_ROOM(in, q->needed_at, p->classes) || !INPUT_ROOM(in, q->set, p->classes) ||
      !INPUT_ROOM(in, q->stamp_of, p->classes) || !INPUT_ROOM(in, q->rest, p->nodes) ||
      !INPUT_ROOM(in, q->waiting, most) || !INPUT_ROOM(in, q->queue, p->classes) ||
      !INPUT_ROOM(in, q->derived, p->classes) || !INPUT_ROOM(in, q->reached, p->classes))
    return false;
  q->may_exchange = true;
  for (uint32_t n = 0; n < p->nodes; n++)
    if (p->cost[n] < 0) q->may_exchange = false;
  q->unit = unit_of(p);
  for (uint32_t i = 0; i < p->roots; i++)
    q->needed_at[p->root[i]] = 1;
  return true;
}

// Checks that there is no solution: a root has no derivation; proves nothing else.
static bool check_infeasible(proof *q, verdict *out) {
  clean_up(q);
  if (!q->closed) return certificate_refuse(q->c, "every root can be derived");
  if (certificate_next(q->c)) return certificate_refuse(q->c, "nothing is expected here");
  (void)snprintf(out->cost, sizeof out->cost, "none");
  (void)snprintf(out->bound, sizeof out->bound, "none");
  (void)snprintf(out->remark, sizeof out->remark, "infeasible");
  return true;
}

static bool check_claims(proof *q, verdict *out) {
  certificate *c = q->c;
  const char *word;
  if (!read_counts(c, q->p)) return false;
  uint32_t *choice;
  if (!INPUT_ROOM(&c->in, choice, q->p->classes) || !expect_word(c, "status") ||
      !certificate_name(c, "a status", &word) || !certificate_line_ends(c))
    return false;
  if (strcmp(word, "infeasible") == 0) return check_infeasible(q, out);
  if (strcmp(word, "solved") != 0)
    return certificate_refuse(c, "the status is 'solved' or 'infeasible'");
  double cost;
  if (!read_solution(q, choice, &cost) || !expect_word(c, "bound") ||
      !certificate_double(c, "a bound", &q->bound) || !certificate_line_ends(c))
    return false;
  if (q->unit > 0 && fmod(q->bound, q->unit) != 0) q->unit = 0;
  while (!q->done)
    if (!read_record(q)) return false;
  if (certificate_next(c)) return certificate_refuse(c, "the proof is over");
  (void)snprintf(out->cost, sizeof out->cost, "%.17g", cost);
  (void)snprintf(out->bound, sizeof out->bound, "%.17g", q->bound);
  double gap = cost - q->bound, scale = fabs(cost) > 1e-300 ? fabs(cost) : 1e-300;
  if (gap <= 2.5e-9 * scale)
    (void)snprintf(out->remark, sizeof out->remark, "optimal");
  else
    (void)snprintf(out->remark, sizeof out->remark, "gap at most %.3g %%",
                   100 * gap / scale);
  size_t used = strlen(out->remark);
  if (q->p->roots_left_out != 0)
    (void)snprintf(out->remark + used, sizeof out->remark - used,
                   "; %u roots that are the class of no node were left out",
                   q->p->roots_left_out);
  return true;
}

bool check_plain(certificate *c, const char *problem, verdict *out) {
  if (problem == NULL)
    return certificate_refuse(c,
                              "a plain certificate needs the file of the problem, too");
  input file;
  plain_problem p;
  if (c->problem == NULL && !input_open(&file, problem, c->in.why)) return false;
  proof q = {.c = c, .p = &p};
  bool good = plain_problem_read(c->problem != NULL ? c->problem : &file, &p) &&
              prepare_proof(&q) && check_claims(&q, out);
  free(q.splits);
  free(q.fact);
  if (c->problem == NULL) input_close(&file);
  return good;
}
