// check_certificate CERTIFICATE [PROBLEM] derives the claims of a certificate of the
// egraph command from the problem alone. It shares no code with the solvers.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "tools/check_certificate/certificate.h"

enum { VERIFIED = 0, REFUSED = 1, BAD_USAGE = 2 };

static const char USAGE[] =
    "usage: check_certificate CERTIFICATE [PROBLEM]\n\n"
    "Derives the cost of the solution and the lower bound that CERTIFICATE claims, and\n"
    "prints them. PROBLEM is the file that was solved (egraph-serialize or IOPDDL JSON,\n"
    "plain or gzip); a certificate of a plan carries its problem. Exit status: 0\n"
    "verified, 1 refused (with the line and the reason), 2 bad usage.\n";

int main(int argc, char **argv) {
  bool help = argc == 2 && strcmp(argv[1], "--help") == 0;
  if (help || argc < 2 || argc > 3) {
    (void)fputs(USAGE, help ? stdout : stderr);
    return help ? VERIFIED : BAD_USAGE;
  }
  refusal why = {.text = ""};
  input in;
  verdict found;
  if (input_open(&in, argv[1], &why)) {
    bool accepted = certificate_run(&in, argc == 3 ? argv[2] : NULL, &found);
    input_close(&in);
    if (accepted) {
      printf("cost        %s\nbound       %s\nverified%s%s\n", found.cost, found.bound,
             found.remark[0] != '\0' ? ": " : "", found.remark);
      return fflush(stdout) == 0 ? VERIFIED : REFUSED;
    }
  }
  fprintf(stderr, "check_certificate: %s\n", why.text);
  return REFUSED;
}
