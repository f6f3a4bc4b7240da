// The log from which equalities of an e-graph are explained: the term that created each
// class, and the unions requested. A class number names this term forever; other terms
// have no number. The log has no congruences: an explainer, created for a question,
// derives them again from the equations.
//
// The caller who applies rules keeps the equations of the rules, as rule and classes of
// the variables; a node that is added directly to a class then needs no number.
//
// The log is part of the state that is pushed, popped, cloned and pruned; files do not
// contain it. Memory: (1 + arity) words per class ever made, 3 words per union.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EGRAPH_EXPLAIN_LOG_H
#define EG_EGRAPH_EXPLAIN_LOG_H

#include "egraph/engine.h"
#include "egraph/explain.h"

/// Starts the log for explanations. From now on the log gets every new class, and every
/// union whose reason (a number) is at least `own_reasons`, except congruences. The
/// caller keeps the equations with smaller reasons: unions of two classes, and nodes that
/// are added to an existing class. Fails with EGRAPH_E_ARGUMENT when the e-graph has
/// classes already, or an analysis that unites.
egraph_status eg_engine_start_log(eg_engine *engine, uint32_t own_reasons);
bool eg_engine_has_log(const eg_engine *engine);
/// Return the number of unions in the log (0 without a log), and a union; the oldest
/// is first.
size_t eg_engine_logged_count(const eg_engine *engine);
eg_union eg_engine_logged_at(const eg_engine *engine, size_t index);

/// Appends words of the caller (notes) to the log, which are saved and restored with the
/// state of the e-graph. Use: the caller's own equations.
egraph_status eg_engine_note(eg_engine *engine, const uint32_t *words, size_t count);
/// Returns all words of eg_engine_note, oldest first; borrowed until the next note.
const uint32_t *eg_engine_notes(const eg_engine *engine, size_t *out_count);
/// Removes the last `count` words of eg_engine_note.
void eg_engine_forget_notes(eg_engine *engine, size_t count);

/// Reads the log of an e-graph into an explainer; both are borrowed. It reads each class
/// and union once, so the e-graph may grow between reads, but must not go back to a
/// saved state.
typedef struct eg_log_reader {
  const eg_engine *engine;
  eg_explainer *explainer;
  eg_u32s terms;   // [class] its term in the explainer
  eg_u32s kids;    // scratch
  size_t word;     // place of the next class in the log
  size_t equation; // the next
} eg_log_reader;

void eg_log_reader_init(eg_log_reader *reader, const eg_engine *engine,
                        eg_explainer *explainer, egraph_allocator alloc);
void eg_log_reader_deinit(eg_log_reader *reader);
/// Finds the term that created a class, and adds it to the explainer.
egraph_status eg_log_reader_term(eg_log_reader *reader, eg_class class, uint32_t *out);
/// States the unions of the log to the explainer, with their reasons.
egraph_status eg_log_reader_state(eg_log_reader *reader);

#endif
