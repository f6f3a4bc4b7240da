// SPDX-License-Identifier: Apache-2.0
#include "baselines/stages/min_cut.h"

#include <assert.h>
#include <math.h>

#include "base/owner.h"

#define NONE UINT32_MAX
enum {
  FEW_VERTICES = 48, // graphs of at most so many vertices are cut without joining
  MOST_PINS = 1000,  // a net with more pins is cut anyway, and ignored
  STARTS = 6,        // vertices from which a half is grown
  MOST_PASSES = 8
};

// ---- hypergraphs ----------------------------------------------------------------------

typedef struct hyper {
  uint32_t vertices;
  eg_doubles weight, bytes;
  eg_u32s begin, pins;   // of nets
  eg_u32s nets_at, nets; // nets of each vertex
  eg_u32s coarse;        // [vertices] the vertex of the next level that contains it
  double total, heaviest;
} hyper;
EG_OWNER_DEFINE_STATIC(hyper, (eg_doubles, weight, bytes),
                       (eg_u32s, begin, pins, nets_at, nets, coarse))
EG_VEC_DEFINE(hypers, hyper);

static egraph_status list_nets(hyper *h) {
  uint32_t nets = (uint32_t)h->bytes.len;
  EG_TRY(eg_u32s_resize(&h->nets_at, (size_t)h->vertices + 1));
  EG_TRY(eg_u32s_resize(&h->nets, h->pins.len));
  for (size_t i = 0; i < h->pins.len; i++)
    h->nets_at.data[h->pins.data[i] + 1]++;
  for (uint32_t v = 0; v < h->vertices; v++)
    h->nets_at.data[v + 1] += h->nets_at.data[v];
  for (uint32_t n = 0; n < nets; n++)
    for (uint32_t i = h->begin.data[n]; i < h->begin.data[n + 1]; i++)
      h->nets.data[h->nets_at.data[h->pins.data[i]]++] = n;
  for (uint32_t v = h->vertices; v > 0; v--)
    h->nets_at.data[v] = h->nets_at.data[v - 1];
  if (h->nets_at.len != 0) h->nets_at.data[0] = 0;
  for (uint32_t v = 0; v < h->vertices; v++) {
    h->total += h->weight.data[v];
    h->heaviest = fmax(h->heaviest, h->weight.data[v]);
  }
  return EGRAPH_OK;
}

/// Adds a net with the pins that `map` gives, each once. `seen` is scratch [vertices of
/// out]; `mark` is a number that it does not contain.
static egraph_status add_net(hyper *out, double bytes, const uint32_t *pins,
                             uint32_t count, const uint32_t *map, uint32_t *seen,
                             uint32_t mark) {
  size_t before = out->pins.len;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t to = map[pins[i]];
    if (to == NONE || seen[to] == mark) continue;
    seen[to] = mark;
    EG_TRY(eg_u32s_push(&out->pins, to));
  }
  size_t kept = out->pins.len - before;
  if (kept < 2 || kept > MOST_PINS || bytes <= 0) {
    out->pins.len = before;
    return EGRAPH_OK;
  }
  EG_TRY(eg_doubles_push(&out->bytes, bytes));
  return eg_u32s_push(&out->begin, (uint32_t)out->pins.len);
}

/// Builds the hypergraph of `count` vertices to which a map sends the vertices of
/// another hypergraph.
static egraph_status map_hyper(const hyper *from, const uint32_t *map, uint32_t count,
                               hyper *out) {
  eg_u32s seen;
  out->vertices = count;
  EG_TRY(eg_doubles_resize(&out->weight, count));
  EG_TRY(eg_u32s_push(&out->begin, 0));
  for (uint32_t v = 0; v < from->vertices; v++)
    if (map[v] != NONE) out->weight.data[map[v]] += from->weight.data[v];
  eg_u32s_init(&seen, out->pins.alloc);
  egraph_status status = eg_u32s_resize(&seen, count);
  for (uint32_t n = 0; status == EGRAPH_OK && n < from->bytes.len; n++)
    status =
        add_net(out, from->bytes.data[n], &from->pins.data[from->begin.data[n]],
                from->begin.data[n + 1] - from->begin.data[n], map, seen.data, n + 1);
  eg_u32s_deinit(&seen);
  return status == EGRAPH_OK ? list_nets(out) : status;
}

// ---- halves ---------------------------------------------------------------------------

/// A division of a hypergraph into two sides, and the state of the pass that improves it.
typedef struct halver {
  const hyper *of;
  double most[2]; // weight of a half
  eg_chars side;  // [vertices]
  double weight[2], cut;
  eg_u32s count[2];    // [nets] pins on each side
  eg_doubles gain;     // [vertices] bytes gained by moving it to the other side
  eg_u32s heap, place; // vertices that may move, the highest gain first; [vertices]
  eg_u32s moved;
  eg_chars best; // sides of the best start
} halver;

static bool is_above(const halver *h, uint32_t a, uint32_t b) {
  double x = h->gain.data[a], y = h->gain.data[b];
  return x != y ? x > y : a < b;
}

static void place_vertex(halver *h, uint32_t at, uint32_t vertex) {
  h->heap.data[at] = vertex;
  h->place.data[vertex] = at;
}

static void sift_up(halver *h, uint32_t at) {
  uint32_t vertex = h->heap.data[at];
  for (; at > 0 && is_above(h, vertex, h->heap.data[(at - 1) / 2]); at = (at - 1) / 2)
    place_vertex(h, at, h->heap.data[(at - 1) / 2]);
  place_vertex(h, at, vertex);
}

static void sift_down(halver *h, uint32_t at) {
  uint32_t vertex = h->heap.data[at], count = (uint32_t)h->heap.len;
  for (uint32_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
    if (child + 1 < count && is_above(h, h->heap.data[child + 1], h->heap.data[child]))
      child++;
    if (!is_above(h, h->heap.data[child], vertex)) break;
    place_vertex(h, at, h->heap.data[child]);
    at = child;
  }
  place_vertex(h, at, vertex);
}

static void take_out(halver *h, uint32_t vertex) {
  uint32_t at = h->place.data[vertex], last = h->heap.data[--h->heap.len];
  h->place.data[vertex] = NONE;
  if (last == vertex) return;
  place_vertex(h, at, last);
  sift_up(h, at);
  sift_down(h, h->place.data[last]);
}

static void add_gain(halver *h, uint32_t vertex, double gain) {
  h->gain.data[vertex] += gain;
  if (h->place.data[vertex] == NONE) return;
  sift_up(h, h->place.data[vertex]);
  sift_down(h, h->place.data[vertex]);
}

static void add_gain_of_all(halver *h, uint32_t net, double gain) {
  for (uint32_t i = h->of->begin.data[net]; i < h->of->begin.data[net + 1]; i++)
    add_gain(h, h->of->pins.data[i], gain);
}

/// Adds `gain` to the vertex of a net that is alone on a side.
static void add_gain_of_one(halver *h, uint32_t net, char side, double gain) {
  for (uint32_t i = h->of->begin.data[net]; i < h->of->begin.data[net + 1]; i++)
    if (h->side.data[h->of->pins.data[i]] == side) add_gain(h, h->of->pins.data[i], gain);
}

/// Moves a vertex to the other side; gains of its neighbours follow (Fiduccia and
/// Mattheyses, section 3).
static void move(halver *h, uint32_t vertex) {
  char from = h->side.data[vertex], to = (char)(1 - from);
  h->cut -= h->gain.data[vertex];
  for (uint32_t i = h->of->nets_at.data[vertex]; i < h->of->nets_at.data[vertex + 1];
       i++) {
    uint32_t net = h->of->nets.data[i];
    double bytes = h->of->bytes.data[net];
    uint32_t *there = &h->count[(int)to].data[net],
             *here = &h->count[(int)from].data[net];
    if (*there == 0) add_gain_of_all(h, net, bytes);
    if (*there == 1) add_gain_of_one(h, net, to, -bytes);
    --*here;
    ++*there;
    h->side.data[vertex] = to;
    if (*here == 0) add_gain_of_all(h, net, -bytes);
    if (*here == 1) add_gain_of_one(h, net, from, bytes);
    h->side.data[vertex] = from;
  }
  h->side.data[vertex] = to;
  h->weight[(int)from] -= h->of->weight.data[vertex];
  h->weight[(int)to] += h->of->weight.data[vertex];
}

/// Computes anew the pins of nets on each side, the gains, the weights and the cut.
static void count_all(halver *h) {
  h->weight[0] = h->weight[1] = h->cut = 0;
  for (uint32_t v = 0; v < h->of->vertices; v++) {
    h->weight[(int)h->side.data[v]] += h->of->weight.data[v];
    h->gain.data[v] = 0;
  }
  for (uint32_t n = 0; n < h->of->bytes.len; n++) {
    uint32_t count[2] = {0, 0}, begin = h->of->begin.data[n];
    for (uint32_t i = begin; i < h->of->begin.data[n + 1]; i++)
      count[(int)h->side.data[h->of->pins.data[i]]]++;
    h->count[0].data[n] = count[0];
    h->count[1].data[n] = count[1];
    bool is_cut = count[0] != 0 && count[1] != 0;
    if (is_cut) h->cut += h->of->bytes.data[n];
    for (uint32_t i = begin; i < h->of->begin.data[n + 1]; i++) {
      uint32_t v = h->of->pins.data[i];
      if (!is_cut)
        h->gain.data[v] -= h->of->bytes.data[n];
      else if (count[(int)h->side.data[v]] == 1)
        h->gain.data[v] += h->of->bytes.data[n];
    }
  }
}

static double excess(const halver *h) {
  return fmax(h->weight[0] - h->most[0], 0) + fmax(h->weight[1] - h->most[1], 0);
}

/// True when the move of a vertex keeps the balance of both halves, or restores it.
static bool may_move(const halver *h, uint32_t vertex) {
  int to = 1 - h->side.data[vertex];
  double after = h->weight[to] + h->of->weight.data[vertex];
  return after <= h->most[to] || after < h->weight[1 - to];
}

static void fill_heap(halver *h) {
  h->heap.len = 0;
  h->moved.len = 0;
  for (uint32_t v = 0; v < h->of->vertices; v++) {
    h->heap.data[v] = v;
    h->place.data[v] = v;
  }
  h->heap.len = h->of->vertices;
  for (uint32_t v = h->of->vertices / 2; v-- > 0;)
    sift_down(h, v);
}

/// Moves every vertex at most once, the highest gain first, and takes back the moves
/// after the best cut. True when that cut is better than the cut before.
static bool run_refinement_pass(halver *h) {
  double best_cut = h->cut, best_excess = excess(h), first_cut = h->cut,
         first_excess = best_excess;
  size_t best = 0;
  fill_heap(h);
  while (h->heap.len != 0) {
    uint32_t vertex = h->heap.data[0];
    take_out(h, vertex);
    if (!may_move(h, vertex)) continue;
    move(h, vertex);
    h->moved.data[h->moved.len++] = vertex;
    double over = excess(h);
    if (over < best_excess || (over == best_excess && h->cut < best_cut)) {
      best_cut = h->cut;
      best_excess = over;
      best = h->moved.len;
    }
  }
  while (h->moved.len > best)
    move(h, h->moved.data[--h->moved.len]);
  return best_excess < first_excess || best_cut < first_cut;
}

static void refine(halver *h) {
  count_all(h);
  for (int pass = 0; pass < MOST_PASSES && run_refinement_pass(h); pass++)
    count_all(h); // removes rounding errors
}

/// Grows side 0 from a vertex, always by the vertex with the highest gain, until it has
/// `share` of the weight.
static void grow_side(halver *h, uint32_t start, double share) {
  for (uint32_t v = 0; v < h->of->vertices; v++)
    h->side.data[v] = 1;
  count_all(h);
  fill_heap(h);
  for (uint32_t vertex = start; h->weight[0] < share; vertex = h->heap.data[0]) {
    bool fits = h->weight[0] + h->of->weight.data[vertex] <= h->most[0];
    take_out(h, vertex);
    if (fits || vertex == start)
      move(h, vertex);
    else if (h->weight[1] <= h->most[1])
      break; // the next vertex would not be connected
    if (h->heap.len == 0) break;
  }
}

static egraph_status resize(halver *h, const hyper *of) {
  h->of = of;
  EG_TRY(eg_chars_resize(&h->side, of->vertices));
  EG_TRY(eg_chars_resize(&h->best, of->vertices));
  EG_TRY(eg_doubles_resize(&h->gain, of->vertices));
  EG_TRY(eg_u32s_resize(&h->heap, of->vertices));
  EG_TRY(eg_u32s_resize(&h->place, of->vertices));
  EG_TRY(eg_u32s_reserve(&h->moved, of->vertices));
  EG_TRY(eg_u32s_resize(&h->count[0], of->bytes.len));
  return eg_u32s_resize(&h->count[1], of->bytes.len);
}

/// Grows a side from several start vertices, and keeps the best cut.
static void find_best_start(halver *h, double share) {
  double best_cut = INFINITY, best_excess = INFINITY;
  for (uint32_t i = 0; i < STARTS && i < h->of->vertices; i++) {
    grow_side(h, (uint32_t)((uint64_t)i * h->of->vertices / STARTS), share);
    refine(h);
    double over = excess(h);
    if (over > best_excess || (over == best_excess && h->cut >= best_cut)) continue;
    best_cut = h->cut;
    best_excess = over;
    memcpy(h->best.data, h->side.data, h->of->vertices);
  }
  memcpy(h->side.data, h->best.data, h->of->vertices);
}

// ---- levels ---------------------------------------------------------------------------

/// Returns the neighbour that shares most bytes with a vertex, among vertices not joined.
static uint32_t partner(const hyper *h, uint32_t vertex, const uint32_t *joined,
                        double most, double *shared) {
  uint32_t best = NONE;
  for (uint32_t i = h->nets_at.data[vertex]; i < h->nets_at.data[vertex + 1]; i++) {
    uint32_t net = h->nets.data[i], pins = h->begin.data[net + 1] - h->begin.data[net];
    for (uint32_t p = h->begin.data[net]; p < h->begin.data[net + 1]; p++) {
      uint32_t v = h->pins.data[p];
      if (v == vertex || joined[v] != NONE) continue;
      shared[v] += h->bytes.data[net] / (pins - 1);
      bool is_light = h->weight.data[v] + h->weight.data[vertex] <= most;
      if (is_light && (best == NONE || shared[v] > shared[best])) best = v;
    }
  }
  for (uint32_t i = h->nets_at.data[vertex]; i < h->nets_at.data[vertex + 1]; i++) {
    uint32_t net = h->nets.data[i];
    for (uint32_t p = h->begin.data[net]; p < h->begin.data[net + 1]; p++)
      shared[h->pins.data[p]] = 0;
  }
  return best;
}

/// Joins pairs of vertices; *out_count is the number of vertices after that.
static egraph_status join_pairs(hyper *h, uint32_t *out_count) {
  double most = 4 * h->total / FEW_VERTICES;
  *out_count = 0;
  for (uint32_t v = 0; v < h->vertices; v++)
    EG_TRY(eg_u32s_push(&h->coarse, NONE));
  EG_LOCAL(eg_doubles, shared, h->weight.alloc);
  EG_TRY(eg_doubles_resize(&shared, h->vertices));
  for (uint32_t v = 0; v < h->vertices; v++) {
    if (h->coarse.data[v] != NONE) continue;
    uint32_t with = partner(h, v, h->coarse.data, most, shared.data);
    h->coarse.data[v] = *out_count;
    if (with != NONE) h->coarse.data[with] = *out_count;
    ++*out_count;
  }
  return EGRAPH_OK;
}

/// Adds coarser hypergraphs until few vertices are left or joining removes too few.
static egraph_status coarsen(hypers *levels) {
  for (;;) {
    hyper *finest = &levels->data[levels->len - 1], next;
    uint32_t count;
    if (finest->vertices <= FEW_VERTICES) return EGRAPH_OK;
    EG_TRY(join_pairs(finest, &count));
    if (count > finest->vertices - finest->vertices / 10) return EGRAPH_OK;
    hyper_init(&next, levels->alloc);
    EG_TRY(hypers_push(levels, next));
    finest = &levels->data[levels->len - 2];
    EG_TRY(map_hyper(finest, finest->coarse.data, count, finest + 1));
  }
}

EG_OWNER_DEFINE_STATIC(halver, (eg_chars, side, best), (eg_doubles, gain),
                       (eg_u32s, count[0], count[1], heap, place, moved))

/// Cuts the coarsest level, then refines the cut level by level.
static egraph_status cut_levels(const hypers *levels, double share, double slack,
                                halver *h) {
  for (size_t l = levels->len; l-- > 0;) {
    const hyper *level = &levels->data[l];
    bool is_first = l + 1 == levels->len;
    EG_OWNED(eg_chars, above); // of the coarser level
    above = h->side;
    eg_chars_init(&h->side, above.alloc);
    EG_TRY(resize(h, level));
    for (uint32_t v = 0; !is_first && v < level->vertices; v++)
      h->side.data[v] = above.data[level->coarse.data[v]];
    for (int s = 0; s < 2; s++) {
      double mine = (s == 0 ? share : 1 - share) * level->total;
      h->most[s] = mine + fmax(slack * mine, level->heaviest / 2);
    }
    if (is_first)
      find_best_start(h, share * level->total);
    else
      refine(h);
  }
  return EGRAPH_OK;
}

// ---- parts ----------------------------------------------------------------------------

/// A task: cut vertices [first, first + count) of the order into parts, numbered from
/// `part` on.
typedef struct job {
  uint32_t first, count, part, parts;
} job;
EG_VEC_DEFINE(jobs, job);

typedef struct cutter {
  const eg_cut_problem *of;
  egraph_allocator alloc;
  hyper whole;
  eg_u32s order, scratch, map;
  jobs todo;
} cutter;
EG_OWNER_DEFINE_STATIC(cutter, (hyper, whole), (eg_u32s, order, scratch, map),
                       (jobs, todo))

static egraph_status fill_whole(cutter *c) {
  hyper *h = &c->whole;
  h->vertices = c->of->vertices;
  EG_TRY(eg_doubles_append(&h->weight, c->of->weight, c->of->vertices));
  EG_TRY(eg_u32s_append(&h->begin, c->of->begin, (size_t)c->of->nets + 1));
  EG_TRY(eg_doubles_append(&h->bytes, c->of->bytes, c->of->nets));
  return eg_u32s_append(&h->pins, c->of->pins, c->of->begin[c->of->nets]);
}

/// Splits the vertices of a job by side, in their order, into two jobs.
static egraph_status split_job(cutter *c, const job *at, const eg_chars *side) {
  uint32_t *order = &c->order.data[at->first], left = 0;
  c->scratch.len = 0;
  for (uint32_t i = 0; i < at->count; i++)
    if (side->data[i] == 0)
      order[left++] = order[i];
    else
      EG_TRY(eg_u32s_push(&c->scratch, order[i]));
  for (uint32_t i = 0; i < c->scratch.len; i++)
    order[left + i] = c->scratch.data[i];
  uint32_t half = at->parts / 2;
  EG_TRY(jobs_push(&c->todo, (job){at->first, left, at->part, half}));
  return jobs_push(&c->todo, (job){at->first + left, at->count - left, at->part + half,
                                   at->parts - half});
}

static egraph_status halve_levels(cutter *c, const job *at, hypers *levels) {
  double share = (double)(at->parts / 2) / at->parts;
  EG_TRY(map_hyper(&c->whole, c->map.data, at->count, &levels->data[0]));
  EG_TRY(coarsen(levels));
  EG_LOCAL(halver, h, c->alloc);
  EG_TRY(cut_levels(levels, share, c->of->slack, &h));
  return split_job(c, at, &h.side);
}

static egraph_status halve(cutter *c, const job *at) {
  hypers levels;
  hyper mine;
  for (uint32_t v = 0; v < c->of->vertices; v++)
    c->map.data[v] = NONE;
  for (uint32_t i = 0; i < at->count; i++)
    c->map.data[c->order.data[at->first + i]] = i;
  hypers_init(&levels, c->alloc);
  hyper_init(&mine, c->alloc);
  egraph_status status = hypers_push(&levels, mine);
  if (status == EGRAPH_OK) status = halve_levels(c, at, &levels);
  for (size_t i = 0; i < levels.len; i++)
    hyper_deinit(&levels.data[i]);
  hypers_deinit(&levels);
  return status;
}

static egraph_status cut_all(cutter *c, uint32_t *out_part) {
  EG_TRY(fill_whole(c));
  EG_TRY(eg_u32s_resize(&c->map, c->of->vertices));
  for (uint32_t v = 0; v < c->of->vertices; v++)
    EG_TRY(eg_u32s_push(&c->order, v));
  EG_TRY(jobs_push(&c->todo, (job){0, c->of->vertices, 0, c->of->parts}));
  while (c->todo.len != 0) {
    job at = jobs_pop(&c->todo);
    if (at.parts > 1 && at.count > 1) {
      EG_TRY(halve(c, &at));
      continue;
    }
    for (uint32_t i = 0; i < at.count; i++)
      out_part[c->order.data[at.first + i]] = at.part;
  }
  return EGRAPH_OK;
}

egraph_status eg_min_cut(const eg_cut_problem *problem, egraph_allocator alloc,
                         uint32_t *out_part) {
  assert(problem->parts != 0);
  EG_LOCAL_WITH(cutter, c, alloc, .of = problem, .alloc = alloc);
  return cut_all(&c, out_part);
}
