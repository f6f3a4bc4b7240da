// A certificate: one record per line, words separated by spaces, first line
// `egraph-certificate 1 KIND`. Numbers are integers or C hexadecimal floats, and
// therefore exact. Lines are read once, from first to last; nothing is trusted.
// SPDX-License-Identifier: Apache-2.0
#ifndef CHECK_CERTIFICATE_H
#define CHECK_CERTIFICATE_H

#include "tools/check_certificate/input.h"

typedef struct certificate {
  input in;
  char *next_line; // NULL: the current line is the last one
  char *at;        // next character of the current line
  size_t line;     // from 1
  input *problem;  // the problem's text, if it is already in memory; or NULL
} certificate;

/// Results of a check, as text: costs are doubles in some kinds and integers in others.
typedef struct verdict {
  char cost[64], bound[64], remark[160];
} verdict;

/// Checks a certificate of one kind. `problem` is the path of the problem's file, or
/// NULL. True: all claims of the certificate were derived, and *out contains them. False:
/// a reason was noted (certificate_refuse).
typedef bool certificate_check(certificate *c, const char *problem, verdict *out);
certificate_check check_plain, check_sharding, check_layout;

/// Reads the head line and runs the check of its kind. The certificate is an open input.
bool certificate_run(input *in, const char *problem, verdict *out);
/// Runs the check with a problem in memory: an open input, whose text is changed.
bool certificate_run_on(input *in, input *problem, verdict *out);

/// Goes to the next line that is not empty; false at the end.
bool certificate_next(certificate *c);
/// Returns the next word of the line, NUL-terminated, or NULL at the end of the line.
/// Borrowed until close.
const char *certificate_word(certificate *c);

// The functions below note a reason and return false when the next word is absent or of
// another form; `what` names the word in the message.

bool certificate_name(certificate *c, const char *what, const char **out);
/// Reads an integer below `limit`.
bool certificate_index(certificate *c, const char *what, uint32_t limit, uint32_t *out);
bool certificate_int64(certificate *c, const char *what, int64_t *out);
/// Reads a finite number, hexadecimal or decimal.
bool certificate_double(certificate *c, const char *what, double *out);
/// True when no word follows in the line.
bool certificate_line_ends(certificate *c);
/// Notes "PATH:LINE: what is wrong"; always returns false.
bool certificate_refuse(certificate *c, const char *format, ...) CHECK_PRINTF(2, 3);

#endif
