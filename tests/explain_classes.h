// Explains why the terms that made two classes are equal, by the unions of the log.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_EXPLAIN_CLASSES_H
#define EG_TESTS_EXPLAIN_CLASSES_H

#include "egraph/explain_log.h"

static inline egraph_status explain_read(eg_log_reader *reader, eg_class a, eg_class b,
                                         eg_explanation *out) {
  uint32_t from, to;
  EG_TRY(eg_log_reader_term(reader, a, &from));
  EG_TRY(eg_log_reader_term(reader, b, &to));
  EG_TRY(eg_log_reader_state(reader));
  return eg_explainer_explain(reader->explainer, from, to, EG_EXPLAIN_MAX_WORDS, out);
}

/// Memory comes from the allocator of `out`.
static inline egraph_status explain_classes(const eg_engine *engine, eg_class a,
                                            eg_class b, eg_explanation *out) {
  egraph_allocator alloc = out->steps.alloc;
  eg_explainer *explainer;
  eg_log_reader reader;
  EG_TRY(eg_explainer_create(&alloc, &explainer));
  eg_log_reader_init(&reader, engine, explainer, alloc);
  egraph_status status = explain_read(&reader, a, b, out);
  eg_log_reader_deinit(&reader);
  eg_explainer_destroy(explainer);
  return status;
}

#endif
