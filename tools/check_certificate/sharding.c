// Certificates of sharding problems. Everything is exact: integers of 128 bits, and a
// refusal where even those overflow.
//
// Claim: no choice within the limit costs less than the cutoff, which is the cost of the
// given choice (for infeasibility: one more than any choice can cost). The state contains
// the strategies (alive) and pairs of strategies (finite table entry) that such a choice
// may still use. A record removes some, for a reason that is checked here:
//
// - a strategy without a partner in some table goes (arc consistency), without a record;
// - merge N G: every strategy of N has at most one partner in G: G is a function of N.
//   The costs, tables and memory of G are added to N;
// - memory: a strategy goes if, with the least memory of all other nodes, it exceeds the
//   limit at some time;
// - filter: any messages m and prices p >= 0 prove that a choice costs at least
//     sum over nodes of min (cost + charge + messages)
//     + sum over tables of min (entry - both messages) - sum of p * limit,
//   and a choice with a given strategy or pair at least that plus its reduced costs; what
//   reaches the cutoff goes;
// - branch N K S ...: N takes one of these strategies, or another one: two cases, one
//   after the other; closed: the current case has no choice left.
//
// A bound below the cutoff is claimed for the filters before the first branch.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/check_certificate/sharding_state.h"

// Tables and messages are below this limit: sums of three fit 64 bits.
#define MOST_SCALED (INT64_C(1) << 60)
enum { MOST_DEPTH = 10000 };

static bool check_merge(checker *k) {
  uint32_t n, g;
  return certificate_index(k->c, "a node", k->p->nodes, &n) &&
         certificate_index(k->c, "a node", k->p->nodes, &g) &&
         certificate_line_ends(k->c) && sharding_merge(k, n, g);
}

// ---- memory --------------------------------------------------------------------------

// A slot of time in which a node's memory use changes, and the item that causes it.
typedef struct border {
  uint32_t slot, item;
  bool ends;
} border;

static int compare_borders(const void *left, const void *right) {
  const border *a = left, *b = right;
  if (a->slot != b->slot) return a->slot < b->slot ? -1 : 1;
  if (a->item != b->item) return a->item < b->item ? -1 : 1;
  return (int)a->ends - (int)b->ends;
}

typedef struct profile {
  border *at;
  size_t count, capacity;
} profile;

static bool list_borders(checker *k, uint32_t n, profile *list) {
  list->count = 0;
  for (uint32_t i = k->s.item[n]; i != NONE; i = k->s.items[i].next) {
    if (!input_grow(&list->at, &list->capacity, list->count + 2, sizeof *list->at))
      return certificate_refuse(k->c, "out of memory");
    list->at[list->count++] = (border){k->s.items[i].first, i, false};
    list->at[list->count++] = (border){k->s.items[i].last, i, true};
  }
  qsort(list->at, list->count, sizeof *list->at, compare_borders);
  return true;
}

// Returns the largest memory load in time slots [first, last), which is not empty, by a
// tree over the slots.
static wide most_load(const checker *k, uint32_t first, uint32_t last) {
  wide most = k->load[k->p->slots + first];
  for (size_t a = (size_t)first + k->p->slots, b = (size_t)last + k->p->slots; a < b;
       a /= 2, b /= 2) {
    if (a & 1) most = k->load[a] > most ? k->load[a] : most, a++;
    if (b & 1) b--, most = k->load[b] > most ? k->load[b] : most;
  }
  return most;
}

// Visits the intervals in which a node's memory use is constant: adds its least use to
// the load, or (`drop`) removes strategies that do not fit next to the least use of the
// other nodes.
static void walk_profile(checker *k, uint32_t n, const profile *list, bool drop) {
  uint32_t count = width(k, n);
  const uint8_t *alive = k->s.alive + k->p->begin[n];
  wide *load = k->load + k->p->slots;
  memset(k->sum, 0, count * sizeof *k->sum);
  for (uint32_t v = 0; v < count; v++)
    k->of[v] = alive[v]; // as they were when the load was added up
  for (size_t i = 0; i < list->count;) {
    uint32_t slot = list->at[i].slot;
    for (; i < list->count && list->at[i].slot == slot; i++) {
      const int64_t *usage = k->s.usage.at + k->s.items[list->at[i].item].usage;
      for (uint32_t v = 0; v < count; v++)
        k->sum[v] += list->at[i].ends ? -(wide)usage[v] : usage[v];
    }
    if (i == list->count) return;
    wide least = -1;
    for (uint32_t v = 0; v < count; v++)
      if (k->of[v] && (least < 0 || k->sum[v] < least)) least = k->sum[v];
    if (least < 0) return; // no strategy of the node is left
    if (!drop) {
      load[slot] += least;
      load[list->at[i].slot] -= least; // there is one slot after the last
      continue;
    }
    wide most = most_load(k, slot, list->at[i].slot);
    for (uint32_t v = 0; v < count; v++)
      if (alive[v] && most - least + k->sum[v] > k->p->limit) sharding_kill(k, n, v);
  }
}

static bool walk_profiles(checker *k, profile *list, bool drop) {
  for (uint32_t n = 0; n < k->p->nodes; n++) {
    if (k->s.gone[n] || k->s.item[n] == NONE) continue;
    if (!list_borders(k, n, list)) return false;
    walk_profile(k, n, list, drop);
  }
  return true;
}

static bool check_memory(checker *k) {
  state *s = &k->s;
  if (!certificate_line_ends(k->c)) return false;
  sharding_make_consistent(k);
  if (s->closed || k->p->limit == INT64_MAX || k->p->slots == 0) return true;
  size_t slots = k->p->slots;
  memset(k->load, 0, (2 * slots + 1) * sizeof *k->load);
  profile list = {NULL, 0, 0};
  bool good = walk_profiles(k, &list, false);
  for (size_t i = 1; i < slots; i++)
    k->load[slots + i] += k->load[slots + i - 1];
  for (size_t i = slots; i-- > 1;)
    k->load[i] =
        k->load[2 * i] > k->load[2 * i + 1] ? k->load[2 * i] : k->load[2 * i + 1];
  if (good && most_load(k, 0, (uint32_t)slots) > k->p->limit) s->closed = true;
  good = good && (s->closed || walk_profiles(k, &list, true));
  free(list.at);
  return good;
}

// ---- filter --------------------------------------------------------------------------

typedef struct filter {
  uint32_t scale, shift;
  wide total; // the bound, in units of 2^-(scale + shift)
  wide most;  // the most that a choice below the cutoff can cost
  bool overflow;
} filter;

static void add(filter *f, wide *to, wide value) {
  if (__builtin_add_overflow(*to, value, to)) f->overflow = true;
}

static void add_wide_product(filter *f, wide *to, wide a, wide b) {
  wide product;
  if (__builtin_mul_overflow(a, b, &product)) f->overflow = true;
  if (!f->overflow) add(f, to, product);
}

static bool read_price(checker *k, filter *f, uint32_t slots) {
  int64_t time, price;
  if (!certificate_int64(k->c, "a time", &time) ||
      !certificate_int64(k->c, "a price", &price) || !certificate_line_ends(k->c))
    return false;
  if (price < 0) return certificate_refuse(k->c, "a negative price");
  if (slots == 0 || time < k->p->time[0] || time >= k->p->time[slots])
    return certificate_refuse(k->c, "a price where no node is alive");
  uint32_t low = sharding_slot(k->p, time);
  if (price > INT64_MAX - k->price[low + 1]) return certificate_refuse(k->c, "overflow");
  k->price[low + 1] += price;
  if (k->p->limit == INT64_MAX)
    return certificate_refuse(k->c, "a price without a limit");
  add_wide_product(f, &f->total, -(wide)price, k->p->limit);
  return true;
}

static bool read_messages(checker *k, uint32_t h) {
  uint32_t n = k->s.edges[h >> 1].ends[h & 1], count, v;
  int64_t *message = k->message.at + k->s.edges[h >> 1].message[h & 1];
  if (!certificate_index(k->c, "a number of messages", width(k, n) + 1, &count))
    return false;
  for (uint32_t i = 0; i < count; i++) {
    int64_t value;
    if (!certificate_index(k->c, "a strategy", width(k, n), &v) ||
        !certificate_int64(k->c, "a message", &value))
      return false;
    if (value > MOST_SCALED || value < -MOST_SCALED)
      return certificate_refuse(k->c, "a message that is too large");
    message[v] = value;
  }
  return true;
}

static bool read_edge(checker *k) {
  uint32_t a, b;
  if (!certificate_index(k->c, "a node", k->p->nodes, &a) ||
      !certificate_index(k->c, "a node", k->p->nodes, &b))
    return false;
  if (k->s.closed) return true;
  uint32_t h = k->s.gone[a] || k->s.gone[b] ? NONE : sharding_find_half(&k->s, a, b);
  if (h == NONE) return certificate_refuse(k->c, "nodes %u and %u have no table", a, b);
  return read_messages(k, h) && read_messages(k, h ^ 1) && certificate_line_ends(k->c);
}

static bool read_filter(checker *k, filter *f) {
  const sharding_problem *p = k->p;
  if (!certificate_index(k->c, "the scale", 21, &f->scale) ||
      !certificate_index(k->c, "the shift", 61, &f->shift) ||
      !certificate_line_ends(k->c))
    return false;
  if (k->cutoff > MOST_SCALED >> f->scale)
    return certificate_refuse(k->c, "the scale is too large for such costs");
  size_t messages = 0;
  for (uint32_t e = 0; e < k->s.edge_count; e++)
    for (int side = 0; k->s.edges[e].ends[0] != NONE && side < 2; side++) {
      k->s.edges[e].message[side] = messages;
      messages += width(k, k->s.edges[e].ends[side]);
    }
  if (!sharding_grow(k, &k->message, messages) || !sharding_grow(k, &k->line, messages) ||
      !sharding_grow(k, &k->least, k->s.edge_count))
    return false;
  if (messages != 0) memset(k->message.at, 0, messages * sizeof *k->message.at);
  memset(k->price, 0, ((size_t)p->slots + 2) * sizeof *k->price);
  const char *word;
  while (certificate_next(k->c) && certificate_name(k->c, "a record", &word)) {
    if (strcmp(word, "end") == 0) break;
    bool is_price = strcmp(word, "price") == 0;
    if (!is_price && strcmp(word, "edge") != 0)
      return certificate_refuse(k->c, "'%.40s' in a filter", word);
    if (is_price ? !read_price(k, f, p->slots) : !read_edge(k)) return false;
  }
  for (size_t i = 1; i <= (size_t)p->slots + 1; i++)
    if (__builtin_add_overflow(k->price[i], k->price[i - 1], &k->price[i]))
      return certificate_refuse(k->c, "the prices are too large");
  return true;
}

// Computes the reduced costs of the strategies of node n in k->sum. Subtracts the least
// one from all of them, and adds it to the lower bound.
static void price_node(checker *k, filter *f, uint32_t n) {
  state *s = &k->s;
  uint32_t begin = k->p->begin[n];
  wide unit = (wide)1 << (f->scale + f->shift), least = 0;
  bool found = false;
  for (uint32_t v = 0; v < width(k, n); v++) {
    wide *sum = &k->sum[begin + v], messages = 0;
    *sum = 0;
    if (!s->alive[begin + v]) continue;
    add_wide_product(f, sum, s->cost[begin + v], unit);
    for (uint32_t i = s->item[n]; i != NONE; i = s->items[i].next)
      add_wide_product(f, sum, s->usage.at[s->items[i].usage + v],
                       k->price[s->items[i].last] - k->price[s->items[i].first]);
    EACH_HALF(s, n, h) messages += k->message.at[s->edges[h >> 1].message[h & 1] + v];
    add_wide_product(f, sum, messages, (wide)1 << f->shift);
    if (!found || *sum < least) least = *sum;
    found = true;
  }
  add(f, &f->total, least);
  for (uint32_t v = 0; v < width(k, n); v++)
    if (s->alive[begin + v]) add(f, &k->sum[begin + v], -least);
}

static int64_t residual(const checker *k, const filter *f, uint32_t e, uint32_t v,
                        uint32_t w) {
  const edge *d = &k->s.edges[e];
  return *entry(k, &k->s, 2 * e, v, w) * (INT64_C(1) << f->scale) -
         k->message.at[d->message[0] + v] - k->message.at[d->message[1] + w];
}

// Adds the least reduced cost in an edge's table to the lower bound, and computes by how
// much the least reduced cost of each of the table's lines is above it.
static void price_edge(checker *k, filter *f, uint32_t e) {
  const edge *d = &k->s.edges[e];
  const uint8_t *alive[2];
  int64_t *line[2], least = INT64_MAX;
  for (int side = 0; side < 2; side++) {
    alive[side] = k->s.alive + k->p->begin[d->ends[side]];
    line[side] = k->line.at + d->message[side];
    for (uint32_t v = 0; v < width(k, d->ends[side]); v++)
      line[side][v] = INT64_MAX;
  }
  for (uint32_t v = 0; v < width(k, d->ends[0]); v++)
    for (uint32_t w = 0; alive[0][v] && w < width(k, d->ends[1]); w++) {
      if (!alive[1][w] || *entry(k, &k->s, 2 * e, v, w) >= k->cutoff) continue;
      int64_t value = residual(k, f, e, v, w);
      if (value < line[0][v]) line[0][v] = value;
      if (value < line[1][w]) line[1][w] = value;
      if (value < least) least = value;
    }
  k->least.at[e] = least;
  if (least == INT64_MAX) k->s.closed = true; // no pair is below the cutoff
  if (least == INT64_MAX) return;
  for (int side = 0; side < 2; side++)
    for (uint32_t v = 0; v < width(k, d->ends[side]); v++)
      if (line[side][v] != INT64_MAX) line[side][v] -= least;
  add_wide_product(f, &f->total, least, (wide)1 << f->shift);
  for (int side = 0; side < 2; side++)
    for (uint32_t v = 0; v < width(k, d->ends[side]); v++) {
      if (!alive[side][v]) continue;
      if (line[side][v] == INT64_MAX)
        sharding_kill(k, d->ends[side], v);
      else
        add_wide_product(f, &k->sum[k->p->begin[d->ends[side]] + v], line[side][v],
                         (wide)1 << f->shift);
    }
}

// Forbids pairs of strategies whose reduced cost reaches the cutoff.
static void drop_pairs(checker *k, filter *f, uint32_t e) {
  const edge *d = &k->s.edges[e];
  const wide *sum[2] = {k->sum + k->p->begin[d->ends[0]],
                        k->sum + k->p->begin[d->ends[1]]};
  const uint8_t *alive[2] = {k->s.alive + k->p->begin[d->ends[0]],
                             k->s.alive + k->p->begin[d->ends[1]]};
  const int64_t *line[2] = {k->line.at + d->message[0], k->line.at + d->message[1]};
  wide spare = f->most - f->total;
  bool found = false;
  for (uint32_t v = 0; v < width(k, d->ends[0]); v++)
    for (uint32_t w = 0; alive[0][v] && w < width(k, d->ends[1]); w++) {
      int64_t *at = entry(k, &k->s, 2 * e, v, w);
      if (!alive[1][w] || *at >= FORBIDDEN) continue;
      bool goes = *at >= k->cutoff;
      if (!goes) {
        wide lines =
            (wide)residual(k, f, e, v, w) - k->least.at[e] - line[0][v] - line[1][w];
        wide reduced = lines * ((wide)1 << f->shift);
        goes = sum[0][v] + sum[1][w] + reduced > spare;
      }
      if (!goes) continue;
      *at = FORBIDDEN;
      found = true;
    }
  if (!found) return;
  sharding_touch(k, d->ends[0]);
  sharding_touch(k, d->ends[1]);
}

static bool check_filter(checker *k) {
  filter f = {.total = 0};
  state *s = &k->s;
  sharding_make_consistent(k);
  if (!read_filter(k, &f)) return false;
  if (s->closed) return true;
  for (uint32_t n = 0; n < k->p->nodes; n++)
    if (!s->gone[n]) price_node(k, &f, n);
  for (uint32_t e = 0; e < s->edge_count; e++)
    if (s->edges[e].ends[0] != NONE) price_edge(k, &f, e);
  f.most = (wide)(k->cutoff - 1) * ((wide)1 << (f.scale + f.shift));
  wide room = (wide)1 << 124; // sums of a few such numbers cannot overflow
  if (f.overflow || f.total > room || f.total < -room || f.most > room)
    return certificate_refuse(k->c, "the filter's numbers are too large");
  for (size_t i = 0; i < k->p->cost.count; i++)
    if (s->alive[i] && k->sum[i] > room) k->sum[i] = room;
  wide unit = (wide)1 << (f.scale + f.shift), bound = f.total / unit;
  if (bound * unit < f.total) bound++; // costs are integers
  if (bound >= k->cutoff) s->closed = true;
  if (!k->branched && bound > k->bound)
    k->bound = bound < k->cutoff ? (int64_t)bound : k->cutoff;
  if (s->closed) return true;
  for (uint32_t e = 0; e < s->edge_count; e++)
    if (s->edges[e].ends[0] != NONE) drop_pairs(k, &f, e);
  for (uint32_t n = 0; n < k->p->nodes; n++)
    for (uint32_t v = 0; !s->gone[n] && v < width(k, n); v++)
      if (s->alive[k->p->begin[n] + v] && k->sum[k->p->begin[n] + v] > f.most - f.total)
        sharding_kill(k, n, v);
  return true;
}

// ---- cases ---------------------------------------------------------------------------

static bool branch(checker *k) {
  uint32_t n, count, v;
  sharding_make_consistent(k);
  if (!certificate_index(k->c, "a node", k->p->nodes, &n) ||
      !certificate_index(k->c, "a number of strategies", width(k, n) + 1, &count))
    return false;
  if (k->open.count == MOST_DEPTH) return certificate_refuse(k->c, "too many cases");
  if (!k->s.closed && k->s.gone[n])
    return certificate_refuse(k->c, "node %u is merged", n);
  memset(k->of, 0, width(k, n) * sizeof *k->of);
  for (uint32_t i = 0; i < count; i++) {
    if (!certificate_index(k->c, "a strategy", width(k, n), &v)) return false;
    k->of[v] = 1;
  }
  if (!certificate_line_ends(k->c)) return false;
  if (!input_grow(&k->open.at, &k->open.capacity, k->open.count + 1, sizeof *k->open.at))
    return certificate_refuse(k->c, "out of memory");
  state *other = &k->open.at[k->open.count++];
  *other = (state){.closed = true};
  k->branched = true;
  if (k->s.closed) return true;
  if (!sharding_copy(k, other)) return false;
  for (v = 0; v < width(k, n); v++) {
    if (k->of[v])
      other->alive[k->p->begin[n] + v] = 0;
    else
      sharding_kill(k, n, v);
  }
  return true;
}

static bool close_case(checker *k) {
  if (!certificate_line_ends(k->c)) return false;
  sharding_make_consistent(k);
  if (!k->s.closed) return certificate_refuse(k->c, "choices are left in this case");
  sharding_free(k, &k->s);
  if (k->open.count == 0) {
    k->complete = true;
    return true;
  }
  k->s = k->open.at[--k->open.count];
  memset(k->queued, 0, k->p->nodes);
  k->queue_count = 0;
  for (uint32_t n = 0; n < k->p->nodes && !k->s.closed; n++)
    if (!k->s.gone[n]) sharding_touch(k, n);
  return true;
}

// ---- the whole -----------------------------------------------------------------------

static bool run_record(checker *k, const char *word) {
  static const struct {
    const char *name;
    bool (*check)(checker *k);
  } RECORDS[] = {{"merge", check_merge},
                 {"memory", check_memory},
                 {"filter", check_filter},
                 {"branch", branch},
                 {"closed", close_case}};
  if (k->complete) return certificate_refuse(k->c, "a record after the last case");
  for (size_t i = 0; i < sizeof RECORDS / sizeof *RECORDS; i++)
    if (strcmp(word, RECORDS[i].name) == 0) return RECORDS[i].check(k);
  return certificate_refuse(k->c, "unknown record '%.40s'", word);
}

static bool run_records(checker *k) {
  const char *word;
  if (!sharding_start(k)) return false;
  while (certificate_next(k->c)) {
    if (!certificate_name(k->c, "a record", &word)) return false;
    if (strcmp(word, "end") == 0)
      return certificate_line_ends(k->c) &&
             (!certificate_next(k->c) ||
              certificate_refuse(k->c, "a record after the end"));
    if (!run_record(k, word)) return false;
  }
  return certificate_refuse(k->c, "the certificate is cut off");
}

// Reads a line that begins with `name`.
static bool expect_line(certificate *c, const char *name) {
  const char *word;
  if (!certificate_next(c) || !certificate_name(c, name, &word)) return false;
  return strcmp(word, name) == 0 || certificate_refuse(c, "'%s' is expected here", name);
}

// Reads an integer, or `none`, which is FORBIDDEN.
static bool read_amount(certificate *c, const char *what, int64_t *out) {
  char *at = c->at + strspn(c->at, " ");
  *out = FORBIDDEN;
  if (strcmp(at, "none") != 0)
    return certificate_int64(c, what, out) && certificate_line_ends(c);
  return true;
}

static bool check_choice(checker *k, problem_json *json, int64_t claimed) {
  uint32_t *choice;
  int64_t cost, peak;
  if (!INPUT_ROOM(&k->c->in, choice, (size_t)k->p->nodes + 1) ||
      !expect_line(k->c, "choice"))
    return false;
  for (uint32_t n = 0; n < k->p->nodes; n++)
    if (!certificate_index(k->c, "a strategy", width(k, n), &choice[n])) return false;
  if (!certificate_line_ends(k->c) ||
      !sharding_evaluate(json, k->p, choice, &cost, &peak))
    return false;
  if (cost != claimed || cost >= FORBIDDEN)
    return certificate_refuse(k->c, "the choice costs %lld", (long long)cost);
  return peak <= k->p->limit ||
         certificate_refuse(k->c, "the choice takes %lld of memory, the limit is %lld",
                            (long long)peak, (long long)k->p->limit);
}

static bool check_all(checker *k, problem_json *json, verdict *out) {
  int64_t cost, bound;
  if (!expect_line(k->c, "cost") || !read_amount(k->c, "the cost", &cost)) return false;
  if (cost < FORBIDDEN && !check_choice(k, json, cost)) return false;
  k->cutoff = cost;
  if (cost >= FORBIDDEN) {
    int64_t most = sharding_most(k->p);
    k->cutoff = most < FORBIDDEN ? most + 1 : FORBIDDEN;
  }
  if (!expect_line(k->c, "bound") || !read_amount(k->c, "the bound", &bound) ||
      !run_records(k))
    return false;
  int64_t derived = k->complete ? cost : k->bound;
  if (bound > derived)
    return certificate_refuse(k->c, "the bound is %lld, but %lld was derived",
                              (long long)bound, (long long)derived);
  if (cost < FORBIDDEN)
    (void)snprintf(out->cost, sizeof out->cost, "%" PRId64, cost);
  else
    (void)snprintf(out->cost, sizeof out->cost, "none");
  if (derived < FORBIDDEN)
    (void)snprintf(out->bound, sizeof out->bound, "%" PRId64, derived);
  else
    (void)snprintf(out->bound, sizeof out->bound, "none");
  (void)snprintf(out->remark, sizeof out->remark, "%s",
                 derived < cost     ? ""
                 : cost < FORBIDDEN ? "optimal"
                                    : "infeasible");
  return true;
}

bool check_sharding(certificate *c, const char *problem, verdict *out) {
  if (problem == NULL)
    return certificate_refuse(
        c, "a certificate of a sharding needs the problem's file, too");
  problem_json json = {.at = 0};
  if (c->problem == NULL && !input_open(&json.in, problem, c->in.why)) return false;
  if (c->problem != NULL) json.in = *c->problem;
  sharding_problem p;
  checker k = {.c = c, .p = &p};
  bool good = sharding_read(&json, &p) && check_all(&k, &json, out);
  if (k.s.alive != NULL) sharding_free(&k, &k.s);
  for (size_t i = 0; i < k.open.count; i++)
    sharding_free(&k, &k.open.at[i]);
  free(k.open.at);
  free(k.scratch.at);
  free(k.message.at);
  free(k.line.at);
  free(k.least.at);
  sharding_close(&p);
  if (c->problem == NULL)
    input_close(&json.in);
  else
    c->problem->blocks = json.in.blocks; // the owner of the input frees them
  return good;
}
