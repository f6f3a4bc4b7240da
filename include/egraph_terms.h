// The public API, part: e-graphs of plain terms, and plain expressions. Conventions as in
// egraph.h, which includes this.
// SPDX-License-Identifier: Apache-2.0
#ifndef EGRAPH_TERMS_H
#define EGRAPH_TERMS_H

#include "egraph.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- e-graphs of plain terms ------------------------------------------------------

/// An e-graph over plain symbols, with rewrite rules. A term is a symbol (any text
/// without blanks, brackets, quotes and ;) or a list "(symbol term ...)". Symbols have no
/// meaning, and the same symbol may have any number of operands. No types, no conditions.
typedef struct egraph_terms egraph_terms;
/// A class of equal terms. It stays valid when classes are united; functions return the
/// canonical class (egraph_terms_find).
typedef struct egraph_class {
  uint32_t id;
} egraph_class;
/// A symbol by its number.
typedef struct egraph_symbol {
  uint32_t id;
} egraph_symbol;

/// Creates an e-graph without terms and rules.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_create(const egraph_allocator *alloc, egraph_terms **out);
/// Frees the e-graph; NULL is allowed.
EGRAPH_API void egraph_terms_destroy(egraph_terms *terms);

/// Adds the rules of a text, "(egraph-rules 1 symbolic) (rule name (lhs ...) (rhs ...))"
/// with variables ?x; `name` is the file name in messages. A rule with several left sides
/// matches all of them at once (multi-pattern). Fails with PARSE, "file:line:col: what is
/// wrong; what to do", and then adds no rule.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_add_rule_text(egraph_terms *terms,
                                                                     const char *name,
                                                                     const char *text);
/// Adds the rules of a file, otherwise like egraph_terms_add_rule_text. Fails with
/// IO too.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_add_rule_file(egraph_terms *terms,
                                                                     const char *path);
/// Counts rules; a two-way rule counts as two.
EGRAPH_API uint32_t egraph_terms_rule_count(const egraph_terms *terms);

/// Adds one term without variables. Fails with PARSE as rules do.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_add(egraph_terms *terms,
                                                           const char *name,
                                                           const char *text,
                                                           egraph_class *out);

/// Returns the number of a symbol, a new one if it is unknown; for programs that build
/// many terms without text. Fails with ARGUMENT for a text that is not a symbol,
/// UNSUPPORTED beyond 2^20 symbols.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_symbol(egraph_terms *terms,
                                                              const char *text,
                                                              egraph_symbol *out);
/// Adds the node symbol(children...), or finds it. O(count) expected. Fails with ARGUMENT
/// for an unknown symbol or class.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_add_node(egraph_terms *terms, egraph_symbol symbol,
                      const egraph_class *children, uint32_t count, egraph_class *out);
/// Adds `count` nodes of one symbol, like egraph_terms_add_node; `children` holds the
/// children of each node in turn ([count * arity]). Look-ups overlap: on large e-graphs
/// this takes a third of the time. On failure, nodes before the failing node may have
/// been added.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_add_nodes(egraph_terms *terms, egraph_symbol symbol, uint32_t arity,
                       const egraph_class *children, size_t count, egraph_class *out);
/// Returns whether the e-graph contains the node, and sets *out (may be NULL) if it does.
/// Exact when the e-graph is rebuilt. Returns false for unknown symbols and classes, and
/// for a node of more than 8 children when memory for the search is lacking.
EGRAPH_API bool egraph_terms_find_node(const egraph_terms *terms, egraph_symbol symbol,
                                       const egraph_class *children, uint32_t count,
                                       egraph_class *out);
/// Unites two classes; *out_changed (may be NULL) is set to whether they were different.
/// Congruence is restored by egraph_terms_rebuild. Fails with ARGUMENT for an unknown
/// class.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_unite(egraph_terms *terms,
                                                             egraph_class a,
                                                             egraph_class b,
                                                             bool *out_changed);
/// Restores congruence, in time proportional to the changes. Saturation begins and ends
/// with a rebuild; searching, printing and the smallest term need one after additions and
/// unions (without it they fail with ARGUMENT).
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_rebuild(egraph_terms *terms);
/// Returns the canonical class; an unknown class is returned as it is.
EGRAPH_API egraph_class egraph_terms_find(const egraph_terms *terms, egraph_class class_);
/// Returns whether two classes are known to be equal; exact when the e-graph is rebuilt.
EGRAPH_API bool egraph_terms_are_equal(const egraph_terms *terms, egraph_class a,
                                       egraph_class b);

/// The size of an e-graph.
typedef struct egraph_terms_info {
  uint32_t nodes, classes; // distinct and canonical; exact when the e-graph is rebuilt
  size_t bytes;            // bytes of memory
} egraph_terms_info;
/// Returns the current size of an e-graph.
EGRAPH_API egraph_terms_info egraph_terms_info_of(const egraph_terms *terms);

/// Counts at the end of one iteration, and CPU seconds of its parts (all threads).
typedef struct egraph_terms_iteration {
  uint32_t iteration, nodes, classes; // iteration counts from 0
  uint64_t matches;                   // matches found; with incremental search only
                                      // new matches
  double search_seconds, apply_seconds, rebuild_seconds;
} egraph_terms_iteration;

/// The policy for a rule, which options.policy returns.
typedef struct egraph_rule_policy {
  bool enabled;
  int32_t priority; // in every iteration rules of higher priority come first
  double cost;      // > 0: the weight of a match under a match limit
} egraph_rule_policy;

/// Options of saturation. Reaching a limit is no error; 0 is a limit like any
/// other number.
typedef struct egraph_terms_options {
  size_t size; // size of this struct; its _default function sets it
  uint32_t node_limit, iteration_limit;
  double time_limit; // seconds; INFINITY: none
  size_t byte_limit;
  const char
      *scheduler; // "backoff": a rule with more matches than match_limit (doubled
                  // each time) rests for ban_length iterations (also doubled);
                  // "yield": the same, with matches weighed by the share of
                  // nodes that the rule adds; or "simple": every rule in every iteration
  uint32_t match_limit, ban_length; // limits of "backoff" and "yield"
  bool naive;       // search for all matches in every iteration, not only for new ones;
                    // the e-graph is the same after each iteration (except with "yield")
  uint32_t threads; // threads of the search; 0: 1. The e-graph does not depend on
                    // their number
  bool rollback;    // undo an iteration that ends in the middle: the e-graph is as after
                    // the iteration before. Copies the e-graph in every iteration
  /// Called after every iteration; returns true to stop. May be NULL, as may `progress`.
  bool (*on_iteration)(void *user, const egraph_terms_iteration *iteration);
  /// Called now and then, also within iterations; returns true to stop.
  bool (*progress)(void *user, uint32_t iteration, uint32_t nodes, uint32_t classes);
  /// Returns the policy for a rule (index as in egraph_terms_rule). May be NULL.
  egraph_rule_policy (*policy)(void *user, uint32_t rule);
  void *user;
} egraph_terms_options;
/// Defines egraph_terms_options_default: 20000 nodes, 20 iterations, 20 seconds, 2 GiB,
/// "backoff" with 1000 matches and 5 iterations.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_TERMS_OPTIONS, egraph_terms_options)

/// The result of saturation, and its effort.
typedef struct egraph_terms_report {
  const char *stop; // why saturation ended: as egraph_report.stop
  uint32_t iterations, nodes, classes;
  uint64_t matches; // matches of all rules and iterations
  double seconds;
  size_t peak_bytes; // peak bytes of e-graph and matches together
  bool rolled_back; // the last iteration was undone (options.rollback) and is not counted
} egraph_terms_report;
/// Applies the rules until nothing changes or a limit strikes. `options` may be NULL: the
/// defaults; out_report may be NULL. Fails with ARGUMENT for an unknown scheduler or a
/// negative time limit, MEMORY; the e-graph is then consistent, with the additions so
/// far.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_saturate(egraph_terms *terms, const egraph_terms_options *options,
                      egraph_terms_report *out_report);
/// Returns the effect of a rule in the last saturation; only its name when there was no
/// saturation, or the rule was added later. index < egraph_terms_rule_count.
EGRAPH_API egraph_rule_report egraph_terms_rule(const egraph_terms *terms,
                                                uint32_t index);

/// One match of patterns; borrowed during the call.
typedef struct egraph_terms_match {
  const egraph_class *roots;     // one per pattern
  const egraph_class *variables; // in order of first occurrence
  const char *const *names;      // names of the variables, "?x"
  uint32_t root_count, variable_count;
} egraph_terms_match;
/// Searches for one pattern, or for several patterns at once that share variables: "(* ?x
/// ?y) (* ?x ?z)". Calls `report` (may be NULL) for each match until `report` returns
/// true, and counts the matches (out_count may be NULL). A match is one choice of nodes.
/// Fails with PARSE, "pattern:line:col: ...".
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_search(egraph_terms *terms, const char *pattern,
                    bool (*report)(void *user, const egraph_terms_match *match),
                    void *user, uint64_t *out_count);

/// Returns the smallest term of a class as text, and its number of nodes, each occurrence
/// counted (out_size may be NULL). Each call computes the sizes of all classes, O(nodes)
/// in practice; egraph_terms_smallest_each does this once for several classes. Free with
/// egraph_string_free. Fails with ARGUMENT for an unknown class, UNSUPPORTED when the
/// term has more than 2^20 nodes.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_smallest(const egraph_allocator *alloc, const egraph_terms *terms,
                      egraph_class class_, char **out, uint64_t *out_size);
/// Calls `report` for each of `count` classes, in order, with the text of its smallest
/// term, borrowed during the call (NULL: more than 2^20 nodes), and its number of nodes,
/// each occurrence counted. Computes the sizes of all classes once, O(nodes) in practice,
/// then O(length) for each text. `alloc` (may be NULL) is for temporary memory. Fails
/// with ARGUMENT for an unknown class, before any report.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_smallest_each(
    const egraph_allocator *alloc, const egraph_terms *terms, const egraph_class *classes,
    size_t count,
    void (*report)(void *user, size_t index, const char *text, uint64_t size),
    void *user);
/// Writes the e-graph for Graphviz, one cluster per class. Free with egraph_string_free.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_dot(const egraph_allocator *alloc,
                                                           const egraph_terms *terms,
                                                           char **out);
/// Verifies every invariant of the e-graph. O(size of the e-graph). Fails with INTERNAL
/// naming the first violation.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_check(const egraph_terms *terms);

/// Saves the state of an e-graph: a copy in memory, O(size of the e-graph). Calls may be
/// nested. Fails with MEMORY and then saves nothing.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_push(egraph_terms *terms);
/// Restores the state saved last and removes it from the saved states: terms, unions and
/// rules that were added since are gone, and later additions get the same classes as if
/// those had never existed. Symbols keep their numbers. Fails with ARGUMENT when no state
/// is saved.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_pop(egraph_terms *terms);
/// Keeps the current state and removes the state saved last. Fails with ARGUMENT when no
/// state is saved.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_drop(egraph_terms *terms);

/// Writes the e-graph with its symbols and rules to a binary file, atomically. Saved
/// states, data of explanations, and the last report are not written. Fails with ARGUMENT
/// (a rebuild is needed), IO, MEMORY; the file is then unchanged.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_save(const egraph_terms *terms,
                                                            const char *path);
/// Reads a file of egraph_terms_save; symbols, classes and rules keep their numbers. The
/// file may be hostile: it is verified, and memory stays within a small multiple of its
/// size. Fails with IO, PARSE ("path: section: what; remedy"), MEMORY.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_load(const egraph_allocator *alloc,
                                                            const char *path,
                                                            egraph_terms **out);
/// Writes the content of that file to memory; free it with egraph_bytes_free. Fails
/// as egraph_terms_save.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_pack(const egraph_allocator *alloc,
                                                            const egraph_terms *terms,
                                                            void **out, size_t *out_size);
/// Reads an e-graph from memory, otherwise like egraph_terms_load; `name` replaces the
/// file name in messages.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_parse(const egraph_allocator *alloc, const char *name, const void *bytes,
                   size_t size, egraph_terms **out);
/// Writes the e-graph as egraph-serialize JSON, the format of extraction-gym ("nodes"
/// with op, children, eclass and cost 1, and "root_eclasses"). Fails with ARGUMENT
/// (unknown root, a rebuild is needed), IO, MEMORY.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_save_json(const egraph_terms *terms, const egraph_class *roots,
                       uint32_t root_count, const char *path);
/// Reads a JSON file of that format, plain or gzip, into a new e-graph without rules, and
/// restores congruence; costs are ignored. Calls `on_root` (may be NULL) for each root,
/// in order. Fails with IO, PARSE ("path:line:col: ..."), MEMORY.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_load_json(
    const egraph_allocator *alloc, const char *path,
    void (*on_root)(void *user, egraph_class root), void *user, egraph_terms **out);

/// Records the data of explanations from now on. Call this function before the first term
/// is added; later it fails with ARGUMENT. Files do not contain this data. The data takes
/// about a quarter more memory; an e-graph without it pays nothing.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_keep_explanations(egraph_terms *terms);
/// One step: a rule applied at one position, given by child numbers (from 0) down from
/// the root of the term. Borrowed during the call.
typedef struct egraph_terms_step {
  const char *rule;         // name of the rule; NULL: egraph_terms_unite united the
                            // two terms
  bool backward;            // applied from its right to its left side
  const uint32_t *position; // [depth]
  uint32_t depth;
  const char *before, *after; // the whole term; NULL when it has more than 2^20 nodes
} egraph_terms_step;
/// Explains why two terms are equal, by steps that lead from one to the other, few but
/// not always the fewest, without repeating a term. The terms are texts as for
/// egraph_terms_add; the e-graph need not contain them. Calls `report` (may be NULL) for
/// each step until `report` returns true, and counts all steps (out_count may be NULL). A
/// checker that knows only the rules has replayed every explanation. The call replays
/// saturation up to the point at which the terms became equal: it takes that time, and
/// temporarily a multiple of that memory. Fails with ARGUMENT when the terms are not
/// known to be equal or no explanations are recorded, PARSE, UNSUPPORTED when the steps
/// together are too large, MEMORY.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_explain(egraph_terms *terms, const char *from, const char *to,
                     bool (*report)(void *user, const egraph_terms_step *step),
                     void *user, uint64_t *out_count);

// ---- plain expressions ----------------------------------------------------------

/// Saturates one symbolic term with symbolic rules ("(egraph-rules 1 symbolic)") and
/// returns the smallest equal term, for instance "(* a 1)" -> "a". node_limit bounds the
/// e-graph. Free with egraph_string_free.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_expression_simplify(const egraph_allocator *alloc, const char *rules_text,
                           const char *term, uint32_t node_limit, char **out);

#ifdef __cplusplus
}
#endif
#endif
