// What an e-graph keeps so that its equalities can be explained: of each class, the term
// that made it, and the unions that were asked for. A class number stands for that term,
// for ever; other terms have none. Nothing else is kept: congruences follow again from
// the equations, in an explainer that is made when something is asked.
//
// Equations that come from rules are kept by whoever applies the rules, as rule and
// classes of the variables; a node that is added straight to a class then needs no
// number.
//
// The log belongs to the state that is pushed, popped, cloned and pruned; files do not
// have it. Memory: (1 + arity) words per class ever made, 3 words per union.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EGRAPH_EXPLAIN_LOG_H
#define EG_EGRAPH_EXPLAIN_LOG_H

#include "egraph/engine.h"
#include "egraph/explain.h"

/// Keeps a log from now on. Unions, and additions to classes, for reasons below
/// `own_reasons` are left out: the caller keeps their equations. Fails with
/// EGRAPH_E_ARGUMENT when the e-graph has classes already, or an analysis that unites.
egraph_status eg_engine_start_log(eg_engine *engine, uint32_t own_reasons);
bool eg_engine_has_log(const eg_engine *engine);
/// The unions of the log, oldest first: none without a log.
size_t eg_engine_logged_count(const eg_engine *engine);
eg_union eg_engine_logged_at(const eg_engine *engine, size_t index);

/// Words of the caller that belong to the state of the e-graph, as its log does: they are
/// saved and restored with it. What a caller keeps of its own equations goes here.
egraph_status eg_engine_note(eg_engine *engine, const uint32_t *words, size_t count);
/// All of them, oldest first; borrowed until the next one.
const uint32_t *eg_engine_notes(const eg_engine *engine, size_t *out_count);
/// Takes the last ones back.
void eg_engine_forget_notes(eg_engine *engine, size_t count);

/// A log being read into an explainer; both are borrowed. What was read before is not
/// read again, so that an explainer can follow an e-graph that grows; it cannot follow
/// one back to a saved state.
typedef struct eg_log_reader {
  const eg_engine *engine;
  eg_explainer *explainer;
  eg_u32s terms;   // of the explainer, per class
  eg_u32s kids;    // scratch
  size_t word;     // of the next class in the log
  size_t equation; // next one
} eg_log_reader;

void eg_log_reader_init(eg_log_reader *reader, const eg_engine *engine,
                        eg_explainer *explainer, egraph_allocator alloc);
void eg_log_reader_deinit(eg_log_reader *reader);
/// The term that made a class.
egraph_status eg_log_reader_term(eg_log_reader *reader, eg_class class, uint32_t *out);
/// States the unions of the log, with their reasons.
egraph_status eg_log_reader_state(eg_log_reader *reader);

#endif
