// Each term is read alone; its errors would therefore be in line 1. A term with an error
// is read again, after as many empty lines as the file has lines before it, to correct
// the line of the message.
// SPDX-License-Identifier: Apache-2.0
#include "tools/term_lines.h"

#include <stdlib.h>
#include <string.h>

#include "tools/lists.h"

static egraph_status add_behind_lines(egraph_terms *terms, const char *file,
                                      const char *term, size_t lines, egraph_class *out) {
  size_t length = strlen(term);
  char *text = malloc(lines + length + 1);
  if (text == NULL) return EGRAPH_E_MEMORY;
  memset(text, '\n', lines);
  memcpy(text + lines, term, length + 1);
  egraph_status status = egraph_terms_add(terms, file, text, out);
  free(text);
  return status;
}

egraph_status term_lines_add(egraph_terms *terms, const char *file, const char *text,
                             void (*added)(void *user, const char *term,
                                           egraph_class root),
                             void *user) {
  egraph_status status = EGRAPH_OK;
  for (size_t line = 0; status == EGRAPH_OK && *text != '\0'; line++) {
    size_t length = strcspn(text, "\n"), blanks = strspn(text, " \t\r");
    if (blanks < length && text[blanks] != ';') {
      egraph_class root;
      char *term = text_copy(text, length);
      status = egraph_terms_add(terms, file, term, &root);
      if (status == EGRAPH_E_PARSE)
        status = add_behind_lines(terms, file, term, line, &root);
      if (status == EGRAPH_OK && added != NULL) added(user, term, root);
      free(term);
    }
    text += length + (text[length] == '\n');
  }
  return status;
}
