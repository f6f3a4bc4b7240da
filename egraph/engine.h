// The e-graph: a set of terms closed under congruence. Language-agnostic: an
// operator is a number, a payload an interned id that the engine only compares
// (attributes, names, literals).
//
//   class c5 { add(c1,c2)  add(c2,c1) }      node = (operator, payload, child classes)
//   hash-cons: node -> class                 union-find over class ids, deferred rebuild
//
// Cost: add O(arity) expected; unite O(1); rebuild follows what changed: the new nodes,
// and the parents and members of the smaller class of each union.  Source: egg (POPL'21)
// section 3; deferred rebuilding section 3.2.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EGRAPH_ENGINE_H
#define EG_EGRAPH_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/owner.h"
#include "base/text.h"

typedef struct eg_class {
  uint32_t id;
} eg_class;
typedef struct eg_node {
  uint32_t id;
} eg_node;
#define EG_CLASS_NONE ((eg_class){UINT32_MAX})
#define EG_NODE_NONE ((eg_node){UINT32_MAX})

EG_VEC_DEFINE(eg_classes, eg_class);

static inline bool eg_class_same(eg_class a, eg_class b) { return a.id == b.id; }

/// The reason of an addition or a union: a rule number of the caller, EG_REASON_SEED,
/// or EG_REASON_CONGRUENCE.
#define EG_REASON_SEED (UINT32_MAX >> 1)
#define EG_REASON_CONGRUENCE (EG_REASON_SEED - 1)

/// A term to add, or a view of a stored node (then the children are borrowed until the
/// next change).
typedef struct eg_term {
  uint32_t op, payload, arity;
  const eg_class *children;
} eg_term;

typedef struct eg_engine eg_engine;

/// Operators are small numbers, because they index a table.
enum { EG_ENGINE_MAX_OP = (1 << 20) - 1, EG_ENGINE_MAX_ARITY = (1 << 20) - 1 };

/// Facts per class (egg's e-class analysis); a NULL analysis means none. Data are plain
/// bytes that the engine copies, data_size > 0. `make` computes the data of a term from
/// the data of its children; it may refuse with EGRAPH_E_TYPE: eg_engine_add then fails
/// with this status and adds nothing. When the data of a class change, rebuild computes
/// the data of the terms above the class again and joins the result. `join` merges
/// `from` into `into`, reports if `into` changed, and fails with EGRAPH_E_TYPE when the
/// two contradict each other; the calling union (or rebuild) then fails and unites
/// nothing. Rebuild calls `modify` (may be NULL), once congruence holds, for each class
/// that is new or whose data changed; `modify` may read data, look up, add and unite,
/// but not rebuild.
typedef struct eg_analysis {
  void *self;
  size_t data_size; // bytes per class
  egraph_status (*make)(void *self, const eg_engine *engine, const eg_term *term,
                        void *out_data);
  egraph_status (*join)(void *self, void *into, const void *from, bool *out_changed);
  egraph_status (*modify)(void *self, eg_engine *engine, eg_class class);
} eg_analysis;

typedef struct eg_engine_options {
  const eg_analysis *analysis; // copied; may be NULL
  bool record;                 // keep the reasons of nodes and the log of unions
} eg_engine_options;

/// Creates an e-graph engine. options NULL: neither an analysis nor a record of reasons.
egraph_status eg_engine_create(const egraph_allocator *alloc,
                               const eg_engine_options *options, eg_engine **out);
void eg_engine_destroy(eg_engine *engine);
EG_HOLDER_DEFINE(eg_engine)

/// Interns a term; records `reason` (at most EG_REASON_SEED) when the term is new.
/// *out_class is canonical. A new term becomes a node of a new class; the indexes
/// contain both after the next rebuild. Fails with EGRAPH_E_ARGUMENT (operator, arity or
/// reason too large, unknown child), EGRAPH_E_MEMORY, or as the analysis does, and then
/// adds nothing.
egraph_status eg_engine_add(eg_engine *engine, const eg_term *term, uint32_t reason,
                            eg_class *out_class);
/// States that a term is in a class: adds the term there, or unites the term's class with
/// `class`. Cheaper than adding and uniting: a new term needs no class of its own.
/// *out_changed: false when the engine already knew this. Fails as eg_engine_add and
/// eg_engine_unite; after a failure the term may have been added.
egraph_status eg_engine_add_to(eg_engine *engine, const eg_term *term, eg_class class,
                               uint32_t reason, bool *out_changed);

/// Terms with one operator, payload and arity, to be added together: their look-ups
/// overlap, which halves the time on large e-graphs.
enum { EG_ENGINE_BATCH = 64 };
typedef struct eg_term_batch {
  uint32_t op, payload, arity;
  uint32_t count;           // at most EG_ENGINE_BATCH
  const eg_class *children; // [count * arity]
} eg_term_batch;

/// Do the same as eg_engine_add and eg_engine_add_to for each term in turn. After a
/// failure, the terms before the failing term have been added. *out_changed counts the
/// terms that changed the engine.
egraph_status eg_engine_add_batch(eg_engine *engine, const eg_term_batch *batch,
                                  uint32_t reason, eg_class *out_classes);
egraph_status eg_engine_add_batch_to(eg_engine *engine, const eg_term_batch *batch,
                                     const eg_class *classes, uint32_t reason,
                                     uint32_t *out_changed);
/// Looks a term up without adding it.
bool eg_engine_find_term(const eg_engine *engine, const eg_term *term,
                         eg_class *out_class);
/// States that two classes are equal. The next rebuild restores congruence. The class
/// with more parents and members survives; between equals, the older one. Unites nothing
/// on failure.
egraph_status eg_engine_unite(eg_engine *engine, eg_class a, eg_class b, uint32_t reason,
                              bool *out_changed);
/// Restores congruence, the hash-cons, the operator index and the analysis; then
/// eg_engine_is_clean is true. After a failure (EGRAPH_E_MEMORY, or an analysis that
/// contradicts itself) the engine is dirty but consistent: eg_engine_check holds, the
/// caller may add more, and may call rebuild again to continue. Without options.record it
/// may renumber nodes (their order stays); classes keep their ids.
egraph_status eg_engine_rebuild(eg_engine *engine);
/// Return the number of heads (operator, payload, number of operands) of all nodes so
/// far, numbered in order of appearance; and operator and number of operands of a head.
uint32_t eg_engine_head_count(const eg_engine *engine);
void eg_engine_head_at(const eg_engine *engine, uint32_t head, uint32_t *out_op,
                       uint32_t *out_arity);
/// Returns the nodes of an operator that were live at the last rebuild, oldest first,
/// borrowed until the next rebuild.
const uint32_t *eg_engine_op_nodes(const eg_engine *engine, uint32_t op,
                                   uint32_t *out_count);
/// True when a rebuild has no work.
bool eg_engine_is_clean(const eg_engine *engine);

/// Begins an epoch: from now on a node is fresh when it is created, or when rebuild
/// changes its class, its children or their data. Incremental search (pattern.h) finds
/// the matches with a fresh node or class. May be called while additions and unions wait
/// for a rebuild: their changes are fresh in the new epoch. O(nodes fresh before).
void eg_engine_start_epoch(eg_engine *engine);
/// Returns the number of epochs begun.
uint32_t eg_engine_epochs(const eg_engine *engine);

/// Returns the canonical representative of a class.
eg_class eg_engine_find(const eg_engine *engine, eg_class class);
/// False for a class that eg_engine_prune has dropped; the caller must not use a dropped
/// class any more.
bool eg_engine_has_class(const eg_engine *engine, eg_class class);
/// Return the numbers of canonical classes and of distinct canonical nodes of the
/// e-graph; exact after a rebuild.
uint32_t eg_engine_class_count(const eg_engine *engine);
uint32_t eg_engine_node_count(const eg_engine *engine);
/// Return limits for arrays: every class id and every node id is below its limit; not
/// every number below a limit is an id.
uint32_t eg_engine_class_limit(const eg_engine *engine);
uint32_t eg_engine_node_limit(const eg_engine *engine);
/// Returns the bytes that the e-graph uses, including the pushed states.
size_t eg_engine_bytes(const eg_engine *engine);

/// Iterates canonical classes in increasing id: `for (eg_class c = eg_engine_first(g);
/// c.id != EG_CLASS_NONE.id; c = eg_engine_next(g, c))`.
eg_class eg_engine_first(const eg_engine *engine);
eg_class eg_engine_next(const eg_engine *engine, eg_class class);
// The functions below read indexes as the last rebuild left them; do not call them after
// a failed rebuild.

/// Returns the distinct nodes of a class, oldest first (large classes: by head, and
/// oldest first among equal heads); borrowed until the next rebuild.
const eg_node *eg_engine_class_nodes(const eg_engine *engine, eg_class class,
                                     uint32_t *out_count);
/// Iterates the live nodes, oldest first: `for (eg_node n = eg_engine_first_node(g);
/// n.id != EG_NODE_NONE.id; n = eg_engine_next_node(g, n))`.
eg_node eg_engine_first_node(const eg_engine *engine);
eg_node eg_engine_next_node(const eg_engine *engine, eg_node node);
/// Returns a view of a node; its children are canonical on a clean engine.
eg_term eg_engine_term(const eg_engine *engine, eg_node node);
eg_class eg_engine_class_of(const eg_engine *engine, eg_node node);
/// A parent of a class: a (node, child position) pair whose child is this class. Iterate
/// in a fixed order with `for (eg_parent p = eg_engine_parents(g, c); p.node.id !=
/// EG_NODE_NONE.id; p = eg_engine_next_parent(g, p))`, which skips dead nodes.
typedef struct eg_parent {
  eg_node node;
  uint32_t position;
  uint32_t slot; // internal number of this pair
} eg_parent;
eg_parent eg_engine_parents(const eg_engine *engine, eg_class class);
eg_parent eg_engine_next_parent(const eg_engine *engine, eg_parent parent);
/// Returns the caller's reason for which the node was added. Needs options.record.
uint32_t eg_engine_node_reason(const eg_engine *engine, eg_node node);
/// Returns the analysis data of a class (any of its ids), borrowed until the next change;
/// NULL without analysis.
const void *eg_engine_data(const eg_engine *engine, eg_class class);
/// Joins the caller's analysis data into the data of a class; as after a union,
/// rebuild then computes the data of the terms above the class again. Fails as `join`,
/// or with EGRAPH_E_MEMORY.
egraph_status eg_engine_join_data(eg_engine *engine, eg_class class, const void *data);

/// A union in the log (empty without options.record; oldest first): the two classes (as
/// given by the caller; for congruence the two nodes' own classes) and the reason.
/// Explanations are derived from these unions and the nodes' reasons.
typedef struct eg_union {
  eg_class a, b;
  uint32_t reason;
} eg_union;

/// Verifies every invariant of the e-graph (union-find, hash-cons, congruence, indexes,
/// counts) in O(size). Fails with EGRAPH_E_INTERNAL naming the first violation.
egraph_status eg_engine_check(const eg_engine *engine);

/// Appends the e-graph as Graphviz text, one cluster per class; `spell` appends the text
/// of a node's head (any characters; the printer escapes them). Clean engine.
egraph_status eg_engine_dot(const eg_engine *engine,
                            egraph_status (*spell)(void *user, const eg_term *,
                                                   eg_text *),
                            void *user, eg_text *out);

// ---- states -------------------------------------------------------------------------
// Copies of an engine, and a stack of its earlier states.
//
//   eg_engine_push(e);  ...additions, unions, rebuilds...  eg_engine_pop(e);
//
// A restored engine equals the pushed one, to the last id: it then behaves as if the
// calls in between had not happened. Dirty engines can be pushed, too. Analysis data are
// copied as bytes; the caller owns data that they point to, which must outlive the state.
// Cost: copying is O(size), a memcpy of the flat arrays without their spare room; pop and
// drop copy nothing.

/// Creates a separate engine in the same state, without the pushed states. Equal calls
/// then give equal results on both. Fails with EGRAPH_E_MEMORY.
egraph_status eg_engine_clone(const eg_engine *engine, eg_engine **out);

/// Saves the state of the e-graph. Fails with EGRAPH_E_MEMORY and then saves nothing.
egraph_status eg_engine_push(eg_engine *engine);
/// Restores the state of the e-graph that was pushed last, and drops the saved copy.
/// Fails with EGRAPH_E_ARGUMENT when no state is saved. Borrowed pointers into the engine
/// become invalid.
egraph_status eg_engine_pop(eg_engine *engine);
/// Keeps the e-graph's state and drops the state pushed last. Fails as eg_engine_pop.
egraph_status eg_engine_drop(eg_engine *engine);

// ---- pruning ------------------------------------------------------------------------
// Removing nodes: a smaller e-graph with fewer terms, whose known equalities still hold.
//
// Dead nodes are removed, too, and the memory shrinks to the rest. Nodes get new ids, in
// the same order; classes keep their ids. A class that loses its last node is dropped
// (eg_engine_has_class), and with it the nodes that have it as a child, and so on. Fresh
// nodes stay fresh; reasons, the log of unions, the log of explanations (explain_log.h)
// and analysis data stay. Pushed states do not change.

/// Keeps the live nodes for which `keep` is true; NULL: all. Fills *out_map (initialized,
/// or NULL) with the new id of each node, [old eg_engine_node_limit], EG_NODE_NONE for
/// removed nodes. Clean engine. O(size of the engine); holds a second copy during the
/// call. Fails with EGRAPH_E_ARGUMENT (a dirty engine) or EGRAPH_E_MEMORY, and then
/// removes nothing.
egraph_status eg_engine_prune(eg_engine *engine,
                              bool (*keep)(void *user, const eg_engine *, eg_node),
                              void *user, eg_u32s *out_map);

#endif
