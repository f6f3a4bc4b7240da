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

/// An e-graph over plain symbols, and rewrite rules for it. A term is a symbol (any text
/// without blanks, brackets, quotes and ;) or a list "(symbol term ...)"; symbols mean
/// nothing, and the same one may have any number of operands. No types, no conditions.
typedef struct egraph_terms egraph_terms;
/// A class of equal terms. It stays valid when classes are united; the e-graph hands out
/// the canonical one of several (egraph_terms_find).
typedef struct egraph_class {
  uint32_t id;
} egraph_class;
/// A symbol by its number.
typedef struct egraph_symbol {
  uint32_t id;
} egraph_symbol;

/// An e-graph without terms and rules.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_create(const egraph_allocator *alloc, egraph_terms **out);
/// Frees it; NULL is allowed.
EGRAPH_API void egraph_terms_destroy(egraph_terms *terms);

/// Adds the rules of a text, "(egraph-rules 1 symbolic) (rule name (lhs ...) (rhs ...))"
/// with variables ?x; `name` stands for the file in messages. A rule with several
/// left sides matches all of them at once (multi-pattern). Fails with PARSE,
/// "file:line:col: what is wrong; what to do", and then adds none of them.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_add_rule_text(egraph_terms *terms,
                                                                     const char *name,
                                                                     const char *text);
/// As egraph_terms_add_rule_text, from a file. Fails with IO too.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_add_rule_file(egraph_terms *terms,
                                                                     const char *path);
/// Directions count separately: a two-way rule is two.
EGRAPH_API uint32_t egraph_terms_rule_count(const egraph_terms *terms);

/// Adds one term without variables. Fails with PARSE as rules do.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_add(egraph_terms *terms,
                                                           const char *name,
                                                           const char *text,
                                                           egraph_class *out);

/// The same without text, for programs that make many terms. The number of a symbol: a
/// new one, or that which it has. Fails with ARGUMENT for a text that is no symbol,
/// UNSUPPORTED beyond 2^20 symbols.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_symbol(egraph_terms *terms,
                                                              const char *text,
                                                              egraph_symbol *out);
/// Adds the node symbol(children...), or finds it. O(count) expected. Fails with ARGUMENT
/// for an unknown symbol or class.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_add_node(egraph_terms *terms, egraph_symbol symbol,
                      const egraph_class *children, uint32_t count, egraph_class *out);
/// As egraph_terms_add_node for `count` nodes of one symbol, the children of each behind
/// those of the one before ([count * arity]). Their look-ups overlap: on large e-graphs
/// that takes a third of the time. On failure those before the failing one may be added.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_add_nodes(egraph_terms *terms, egraph_symbol symbol, uint32_t arity,
                       const egraph_class *children, size_t count, egraph_class *out);
/// Whether the node is there; sets *out (may be NULL) when it is. Exact when the e-graph
/// is rebuilt. Unknown symbols and classes are not; nor is a node of more than 8 children
/// found when there is no memory to look for it.
EGRAPH_API bool egraph_terms_find_node(const egraph_terms *terms, egraph_symbol symbol,
                                       const egraph_class *children, uint32_t count,
                                       egraph_class *out);
/// States that two classes are equal; *out_changed (may be NULL) tells whether that is
/// new. What follows by congruence is left to egraph_terms_rebuild. Fails with ARGUMENT
/// for an unknown class.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_unite(egraph_terms *terms,
                                                             egraph_class a,
                                                             egraph_class b,
                                                             bool *out_changed);
/// Restores congruence: the cost follows what changed. Saturation begins and ends with
/// it; searching, printing and the smallest term want it after additions and unions
/// (they fail with ARGUMENT otherwise).
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_rebuild(egraph_terms *terms);
/// The canonical class; an unknown class is returned as it is.
EGRAPH_API egraph_class egraph_terms_find(const egraph_terms *terms, egraph_class class_);
/// Whether two classes are known to be equal; exact when the e-graph is rebuilt.
EGRAPH_API bool egraph_terms_are_equal(const egraph_terms *terms, egraph_class a,
                                       egraph_class b);

/// The size of an e-graph.
typedef struct egraph_terms_info {
  uint32_t nodes, classes; // distinct canonical ones; exact when the e-graph is rebuilt
  size_t bytes;            // that the e-graph holds
} egraph_terms_info;
/// The size of an e-graph now.
EGRAPH_API egraph_terms_info egraph_terms_info_of(const egraph_terms *terms);

/// Counts at the end of one iteration, and CPU seconds of its parts (all threads).
typedef struct egraph_terms_iteration {
  uint32_t iteration, nodes, classes; // iteration counts from 0
  uint64_t matches; // found; those that are new where the search is incremental
  double search_seconds, apply_seconds, rebuild_seconds;
} egraph_terms_iteration;

/// The answer of the caller about a rule.
typedef struct egraph_rule_policy {
  bool enabled;
  int32_t priority; // rules with more come first in every iteration; otherwise in order
  double cost;      // > 0: a match counts as so many under a match limit
} egraph_rule_policy;

/// Limits end the search, as results; 0 is a limit like others.
typedef struct egraph_terms_options {
  size_t size; // of this struct; set by its default
  uint32_t node_limit, iteration_limit;
  double time_limit; // seconds; INFINITY: none
  size_t byte_limit;
  const char
      *scheduler; // "backoff": a rule with more matches than match_limit (doubled
                  // each time) rests for ban_length iterations (also doubled);
                  // "yield": the same, with matches weighed by the share of
                  // nodes that the rule adds; or "simple": every rule in every iteration
  uint32_t match_limit, ban_length; // of "backoff" and "yield"
  bool naive;       // search for all matches again in every iteration, not for new ones;
                    // the e-graph is the same after each (but not with "yield")
  uint32_t threads; // of the search; 0: 1. The e-graph does not depend on it
  bool rollback;    // an iteration that is ended in the middle is taken back: the e-graph
                    // is as after the one before. Takes a copy of it per iteration
  /// Called after every iteration; returns true to stop. May be NULL, as may `progress`.
  bool (*on_iteration)(void *user, const egraph_terms_iteration *iteration);
  /// Called now and then inside iterations too; returns true to stop.
  bool (*progress)(void *user, uint32_t iteration, uint32_t nodes, uint32_t classes);
  /// The answer about a rule (index as in egraph_terms_rule). May be NULL.
  egraph_rule_policy (*policy)(void *user, uint32_t rule);
  void *user;
} egraph_terms_options;
/// 20000 nodes, 20 iterations, 20 seconds, 2 GiB, "backoff" with 1000 matches and 5
/// iterations.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_TERMS_OPTIONS, egraph_terms_options)

/// The result of saturation, and its effort.
typedef struct egraph_terms_report {
  const char *stop; // why it ended: as egraph_report.stop
  uint32_t iterations, nodes, classes;
  uint64_t matches; // of all rules and iterations
  double seconds;
  size_t peak_bytes; // of e-graph and matches together
  bool rolled_back;  // by options.rollback; the iteration is not counted
} egraph_terms_report;
/// Applies the rules until nothing changes or a limit ends it. `options` may be NULL: the
/// defaults; out_report may be NULL. Fails with ARGUMENT for an unknown scheduler or a
/// negative time limit, MEMORY; the e-graph is then whole, with what was added so far.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_saturate(egraph_terms *terms, const egraph_terms_options *options,
                      egraph_terms_report *out_report);
/// The effect of a rule in the last saturation; only its name when there was none, or the
/// rule is newer. index < egraph_terms_rule_count.
EGRAPH_API egraph_rule_report egraph_terms_rule(const egraph_terms *terms,
                                                uint32_t index);

/// One match of patterns; borrowed during the call.
typedef struct egraph_terms_match {
  const egraph_class *roots;     // one for each pattern
  const egraph_class *variables; // in order of first occurrence
  const char *const *names;      // of the variables, "?x"
  uint32_t root_count, variable_count;
} egraph_terms_match;
/// Searches for one pattern, or for several at once that share variables: "(* ?x ?y) (*
/// ?x ?z)". Calls `report` (may be NULL) for each match until it returns true, and counts
/// them (out_count may be NULL). A match is one choice of nodes. Fails with PARSE,
/// "pattern:line:col: ...".
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_search(egraph_terms *terms, const char *pattern,
                    bool (*report)(void *user, const egraph_terms_match *match),
                    void *user, uint64_t *out_count);

/// The smallest term of a class as text, and its nodes, each occurrence counted (out_size
/// may be NULL). Each call computes the sizes of all classes, O(nodes) in practice; for
/// several classes egraph_terms_smallest_each does that once. Free with
/// egraph_string_free. Fails with ARGUMENT for an unknown class, UNSUPPORTED when it has
/// more than 2^20 nodes.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_smallest(const egraph_allocator *alloc, const egraph_terms *terms,
                      egraph_class class_, char **out, uint64_t *out_size);
/// Calls `report` in order for each of `count` classes, with its smallest term as text,
/// borrowed during the call (NULL: it has more than 2^20 nodes), and its nodes, each
/// occurrence counted. Computes the sizes of all classes once, O(nodes) in practice, and
/// then takes O(length) for each text. `alloc` (may be NULL) is for the work only. Fails
/// with ARGUMENT for an unknown class, before any report.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_smallest_each(
    const egraph_allocator *alloc, const egraph_terms *terms, const egraph_class *classes,
    size_t count,
    void (*report)(void *user, size_t index, const char *text, uint64_t size),
    void *user);
/// The e-graph for Graphviz, one cluster per class. Free with egraph_string_free.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_dot(const egraph_allocator *alloc,
                                                           const egraph_terms *terms,
                                                           char **out);
/// Verifies every invariant of the e-graph. O(its size). Fails with INTERNAL naming the
/// first violation.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_check(const egraph_terms *terms);

/// Saves the state of an e-graph: a copy in memory, O(its size). May be nested. Fails
/// with MEMORY; nothing was saved then.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_push(egraph_terms *terms);
/// Goes back to the state saved last, which is no longer saved then: terms, unions and
/// rules that came since are gone, and what is added from now on gets the same classes as
/// if they had never been. Symbols keep their numbers. Fails with ARGUMENT when no state
/// is saved.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_pop(egraph_terms *terms);
/// Keeps the present state and forgets the one saved last. Fails with ARGUMENT.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_drop(egraph_terms *terms);

/// Writes the e-graph with its symbols and rules to a binary file, atomically. Pushed
/// states, what explanations need, and the last report are not saved. Fails with ARGUMENT
/// (unions await a rebuild), IO, MEMORY; the file is then as it was.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_save(const egraph_terms *terms,
                                                            const char *path);
/// Reads such a file: symbols, classes and rules have the numbers that they had. The file
/// need not be trusted: it is verified, and the memory is at most a small multiple of its
/// size. Fails with IO, PARSE ("path: section: what; remedy"), MEMORY.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_load(const egraph_allocator *alloc,
                                                            const char *path,
                                                            egraph_terms **out);
/// The file in memory; free with egraph_bytes_free. Fails as egraph_terms_save.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_pack(const egraph_allocator *alloc,
                                                            const egraph_terms *terms,
                                                            void **out, size_t *out_size);
/// Reads the file from memory; `name` stands for it in messages.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_parse(const egraph_allocator *alloc, const char *name, const void *bytes,
                   size_t size, egraph_terms **out);
/// Writes the e-graph as egraph-serialize JSON, the format of extraction-gym ("nodes"
/// with op, children, eclass and cost 1, and "root_eclasses"). Fails with ARGUMENT
/// (unknown root, unions await a rebuild), IO, MEMORY.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_save_json(const egraph_terms *terms, const egraph_class *roots,
                       uint32_t root_count, const char *path);
/// Reads such a file, plain or gzip, into a new e-graph without rules, and restores
/// congruence; costs are dropped. Calls `on_root` (may be NULL) for each root, in order.
/// Fails with IO, PARSE ("path:line:col: ..."), MEMORY.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_load_json(
    const egraph_allocator *alloc, const char *path,
    void (*on_root)(void *user, egraph_class root), void *user, egraph_terms **out);

/// Keeps from now on what explanations need; before the first term is added, otherwise it
/// fails with ARGUMENT. Files do not have it. The e-graph then takes about a quarter
/// more memory; one that was not asked for pays nothing.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_keep_explanations(egraph_terms *terms);
/// One step: a rule applied at one place. The place is named by child numbers from 0 on,
/// down from the root of the term. Borrowed during the call.
typedef struct egraph_terms_step {
  const char *rule;         // its name; NULL: egraph_terms_unite was called for these two
  bool backward;            // applied from its right to its left side
  const uint32_t *position; // [depth]
  uint32_t depth;
  const char *before, *after; // the whole term; NULL when it has more than 2^20 nodes
} egraph_terms_step;
/// Why two terms are equal: steps that lead from one to the other, few but not always the
/// fewest, and no term twice. The terms are texts as for egraph_terms_add; the e-graph
/// need not have them. Calls `report` (may be NULL) for each step until it returns true,
/// and counts all steps (out_count may be NULL). Every explanation has been replayed by a
/// checker that knows the rules and nothing else. Replays what was applied until the two
/// became equal: the time of that, and a multiple of its memory, which is given back.
/// Fails with ARGUMENT when the terms are not known to be equal or no explanations are
/// kept, PARSE, UNSUPPORTED when the steps together are too large, MEMORY.
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
