// Files of published substitutions, by their first bytes: protocol buffers (GraphSubst of
// TASO and of FlexFlow), FlexFlow's JSON of the same, Tensat's equations ("x==y", one
// after the other) and its rules as S-expressions ("x=>y", a line each).
//
// Files are hostile: sizes, nesting and numbers are bounded, operands stand before what
// uses them, variables and results exist.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_IMPORT_SUBSTITUTION_FILE_H
#define EG_REWRITES_IMPORT_SUBSTITUTION_FILE_H

#include "base/vec.h"
#include "rewrites/lab/import/substitution.h"

/// Substitutions of a file, and the largest number of a variable, at most.
enum { EG_SUBST_MOST = 10000, EG_SUBST_VARIABLES = 1000000 };

EG_VEC_DEFINE(eg_substitutions, eg_substitution);

typedef enum eg_subst_origin {
  EG_SUBST_FROM_TASO,   // protocol buffers of TASO
  EG_SUBST_FROM_UNITY,  // of FlexFlow: tensors of copies, rows, columns
  EG_SUBST_FROM_TENSAT, // texts
  EG_SUBST_ORIGINS
} eg_subst_origin;
/// "TASO (SOSP'19)" and so on: for the source of a rule.
const char *eg_subst_origin_words(eg_subst_origin origin);
/// "taso" and so on: how names of rules begin.
const char *eg_subst_origin_prefix(eg_subst_origin origin);

typedef struct eg_subst_file {
  eg_substitutions list;
  eg_subst_origin origin;
} eg_subst_file;

void eg_subst_file_init(eg_subst_file *file, egraph_allocator alloc);
void eg_subst_file_deinit(eg_subst_file *file);
/// Reads a text or bytes in any of the formats into an empty file; `name` is for
/// messages. Fails with EGRAPH_E_PARSE or EGRAPH_E_MEMORY.
egraph_status eg_subst_file_parse(const char *name, const char *bytes, size_t size,
                                  eg_subst_file *out);

// ---- a format each -------------------------------------------------------------------

egraph_status eg_subst_read_protobuf(const char *name, const char *bytes, size_t size,
                                     eg_subst_file *out);
egraph_status eg_subst_read_json(const char *name, const char *bytes, size_t size,
                                 eg_subst_file *out);
egraph_status eg_subst_read_text(const char *name, const char *bytes, size_t size,
                                 eg_subst_file *out);

#endif
