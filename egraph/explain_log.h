// What an e-graph keeps so that its equalities can be explained: of each class, the term
// that made it, and the unions that were asked for. A class number stands for that term,
// for ever; other terms have none. Nothing else is kept: congruences follow again from
// the equations, in an explainer that is made when something is asked.
//
// Equations that come from rules are kept by whoever applies the rules, as rule and
// classes of the variables; a node that is added straight to a class then needs no
// number.
//
// Memory: (1 + arity) words per class ever made, 3 words per union.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EGRAPH_EXPLAIN_LOG_H
#define EG_EGRAPH_EXPLAIN_LOG_H

#include "egraph/engine.h"
#include "egraph/explain.h"

/// Keeps a log from now on. Unions, and additions to classes, for reasons below
/// `own_reasons` are left out: the caller keeps their equations. Fails with
/// EGRAPH_E_ARGUMENT when the e-graph has classes already, or an analysis that unites.
egraph_status eg_engine_start_log(eg_engine *engine, uint32_t own_reasons);
/// The unions of the log, oldest first: none without a log.
size_t eg_engine_logged_count(const eg_engine *engine);
eg_union eg_engine_logged_at(const eg_engine *engine, size_t index);

/// A log being read into an explainer; both are borrowed. What was read before is not
/// read again, so that an explainer can follow an e-graph that grows.
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
/// Explains why the terms that made two classes are equal, by the unions of the log.
/// Fails as eg_explainer_explain; EGRAPH_E_ARGUMENT without a log. O(log).
egraph_status eg_engine_explain(const eg_engine *engine, eg_class a, eg_class b,
                                eg_explanation *out);

#endif
