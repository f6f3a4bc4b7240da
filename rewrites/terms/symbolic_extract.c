// Finds the smallest term of a class: costs go up from the leaves through a queue of
// nodes; a node is queued again whenever an operand becomes cheaper. Sizes only fall and
// are integers, so the search ends; between equal sizes the first node found wins, so it
// is deterministic.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "base/owner.h"
#include "rewrites/terms/symbolic.h"

EG_VEC_DEFINE(node_vec, eg_node);

typedef struct best {
  uint64_t size; // UINT64_MAX: none known
  eg_node node;
} best;
EG_VEC_DEFINE(best_vec, best);

typedef struct size_search {
  const eg_engine *engine;
  best_vec best; // by class id
  node_vec queue;
  size_t next;
} size_search;
EG_OWNER_DEFINE_STATIC(size_search, (best_vec, best), (node_vec, queue))

static uint64_t size_of(const size_search *s, eg_node node) {
  eg_term term = eg_engine_term(s->engine, node);
  uint64_t total = 1;
  for (uint32_t i = 0; i < term.arity; i++) {
    uint64_t size = s->best.data[term.children[i].id].size;
    if (size > UINT64_MAX - 1 - total) return UINT64_MAX;
    total += size;
  }
  return total;
}

static egraph_status improve_class(size_search *s, eg_node node) {
  eg_class class = eg_engine_class_of(s->engine, node);
  best *known = &s->best.data[class.id];
  uint64_t size = size_of(s, node);
  if (size >= known->size) return EGRAPH_OK;
  *known = (best){.size = size, .node = node};
  for (eg_parent p = eg_engine_parents(s->engine, class); p.node.id != EG_NODE_NONE.id;
       p = eg_engine_next_parent(s->engine, p))
    EG_TRY(node_vec_push(&s->queue, p.node));
  return EGRAPH_OK;
}

// Drops the part of the queue that was read, when it is more than half of the queue.
static void compact(size_search *s) {
  if (s->next < 1024 || s->next < s->queue.len / 2) return;
  memmove(s->queue.data, s->queue.data + s->next,
          (s->queue.len - s->next) * sizeof *s->queue.data);
  s->queue.len -= s->next;
  s->next = 0;
}

static egraph_status find_sizes(size_search *s) {
  uint32_t limit = eg_engine_class_limit(s->engine);
  EG_TRY(best_vec_resize(&s->best, limit));
  for (uint32_t i = 0; i < limit; i++)
    s->best.data[i] = (best){.size = UINT64_MAX, .node = EG_NODE_NONE};
  for (eg_node node = eg_engine_first_node(s->engine); node.id != EG_NODE_NONE.id;
       node = eg_engine_next_node(s->engine, node))
    if (eg_engine_term(s->engine, node).arity == 0) EG_TRY(improve_class(s, node));
  while (s->next < s->queue.len) {
    EG_TRY(improve_class(s, s->queue.data[s->next++]));
    compact(s);
  }
  return EGRAPH_OK;
}

// ---- printing --------------------------------------------------------------------

typedef struct frame {
  eg_node node;
  uint32_t next; // operand
} frame;
EG_VEC_DEFINE(frame_vec, frame);

static egraph_status open_class(const eg_symbolic *symbolic, const size_search *s,
                                eg_class class, frame_vec *stack, eg_text *out) {
  eg_node node = s->best.data[eg_engine_find(s->engine, class).id].node;
  eg_term term = eg_engine_term(s->engine, node);
  const char *atom = eg_symbolic_atom(symbolic, term.op);
  if (term.arity == 0) return eg_text_append(out, atom);
  EG_TRY(eg_text_printf(out, "(%s", atom));
  return frame_vec_push(stack, (frame){.node = node});
}

// Prints the smallest term of a class with a vector as its stack: terms can be deeper
// than any call stack.
static egraph_status print_best(const eg_symbolic *symbolic, const size_search *s,
                                eg_class class, frame_vec *stack, eg_text *out) {
  EG_TRY(open_class(symbolic, s, class, stack, out));
  while (stack->len > 0) {
    frame *top = &stack->data[stack->len - 1];
    eg_term term = eg_engine_term(s->engine, top->node);
    if (top->next == term.arity) {
      eg_text_append(out, ")");
      stack->len--;
      continue;
    }
    eg_text_append(out, " ");
    EG_TRY(open_class(symbolic, s, term.children[top->next++], stack, out));
  }
  return eg_text_status(out);
}

egraph_status eg_symbolic_smallest_each(const eg_symbolic *symbolic,
                                        egraph_allocator alloc, const eg_class *classes,
                                        size_t count, eg_smallest_report report,
                                        void *user) {
  if (count == 0) return EGRAPH_OK;
  EG_LOCAL(size_search, s, alloc);
  EG_LOCAL(frame_vec, stack, alloc);
  EG_LOCAL(eg_text, text, alloc);
  s.engine = eg_symbolic_engine_of(symbolic);
  assert(eg_engine_is_clean(s.engine));
  EG_TRY(find_sizes(&s));
  for (size_t i = 0; i < count; i++) {
    uint64_t size = s.best.data[eg_engine_find(s.engine, classes[i]).id].size;
    bool is_written = size <= EG_SYMBOLIC_MAX_PRINTED;
    eg_text_clear(&text);
    if (is_written) EG_TRY(print_best(symbolic, &s, classes[i], &stack, &text));
    report(user, i, is_written ? eg_text_of(&text) : NULL, size);
  }
  return EGRAPH_OK;
}

typedef struct single_term {
  eg_text *out;
  uint64_t size;
  egraph_status status;
} single_term;

static void keep_term(void *user, size_t index, const char *text, uint64_t size) {
  single_term *single = user;
  (void)index;
  single->size = size;
  if (text != NULL) single->status = eg_text_append(single->out, text);
}

egraph_status eg_symbolic_smallest(const eg_symbolic *symbolic, eg_class class,
                                   eg_text *out, uint64_t *out_size) {
  single_term single = {.out = out};
  EG_TRY(eg_symbolic_smallest_each(symbolic, out->chars.alloc, &class, 1, keep_term,
                                   &single));
  *out_size = single.size;
  if (single.size > EG_SYMBOLIC_MAX_PRINTED)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "the smallest term has %llu nodes; at most %d are written",
                   (unsigned long long)single.size, EG_SYMBOLIC_MAX_PRINTED);
  return single.status;
}
