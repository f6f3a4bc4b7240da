// Reads S-expressions with positions: the only text reader of rule files and graph files.
//
//   file := expr*      expr := atom | string | '(' expr* ')' | '[' expr* ']'
//   `;` starts a comment. Strings: "..." with \" \\ \n \t escapes. Atoms: any run of
//   other characters.
//
// Nesting is limited to EG_SEXPR_MAX_DEPTH and parsing is iterative: bad input fails with
// "file:line:col: message".
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_SEXPR_H
#define EG_BASE_SEXPR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/text.h"

enum { EG_SEXPR_MAX_DEPTH = 200 };

typedef enum eg_sexpr_kind {
  EG_SEXPR_ATOM,
  EG_SEXPR_STRING,
  EG_SEXPR_LIST,    // ( ... )
  EG_SEXPR_BRACKETS // [ ... ]
} eg_sexpr_kind;

typedef struct eg_sexpr {
  eg_sexpr_kind kind;
  uint32_t line, column;     // 1-based
  const char *text;          // atom or decoded string; NULL for lists
  struct eg_sexpr *children; // contiguous, `count` of them
  uint32_t count;
} eg_sexpr;

/// Parses a whole text into arena memory; *out is a list of the top-level expressions.
/// `file` is only for messages. Fails with EGRAPH_E_PARSE or EGRAPH_E_MEMORY.
egraph_status eg_sexpr_parse(eg_arena *arena, const char *file, const char *text,
                             size_t size, eg_sexpr *out);

bool eg_sexpr_is_atom(const eg_sexpr *expr, const char *text);
/// True for a list whose first child is the atom `head`.
bool eg_sexpr_is_form(const eg_sexpr *expr, const char *head);
/// Fails with EGRAPH_E_PARSE and "file:line:col: message".
egraph_status eg_sexpr_fail(const char *file, const eg_sexpr *at, const char *format, ...)
    EG_PRINTF(3, 4);
/// Appends a string literal with the escapes that the reader understands.
egraph_status eg_text_quoted(eg_text *text, const char *string);
/// Appends the expression on one line; parse(print(x)) equals x.
egraph_status eg_sexpr_print(eg_text *text, const eg_sexpr *expr);

#endif
