// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "tools/bench_saturate_peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COMMAND = 4096, MAX_LINE = 4096 };

static bool number_of(const char *line, const char *key, double *out) {
  char pattern[64], *end;
  (void)snprintf(pattern, sizeof pattern, "\"%s\":", key);
  const char *at = strstr(line, pattern);
  if (at == NULL) return false;
  at += strlen(pattern);
  *out = strtod(at, &end);
  return end != at && *out >= 0;
}

static bool parse(const char *line, peer_result *out) {
  double nodes, classes, seconds, bytes;
  if (!number_of(line, "nodes", &nodes) || !number_of(line, "classes", &classes) ||
      !number_of(line, "cpu_seconds", &seconds) || !number_of(line, "peak_bytes", &bytes))
    return false;
  *out = (peer_result){.nodes = (uint64_t)nodes,
                       .classes = (uint64_t)classes,
                       .peak_bytes = (uint64_t)bytes,
                       .cpu_seconds = seconds};
  return true;
}

// The last line of the output; the rest is passed over.
static void read_last_line(FILE *output, char line[MAX_LINE]) {
  char next[MAX_LINE];
  line[0] = '\0';
  while (fgets(next, sizeof next, output) != NULL)
    memcpy(line, next, sizeof next);
}

bool peer_run(const char *command, const char *name, peer_result *out) {
  char shell[MAX_COMMAND], line[MAX_LINE];
  int length = snprintf(shell, sizeof shell, "%s %s", command, name);
  if (length < 0 || (size_t)length >= sizeof shell) return false;
  (void)fflush(NULL);
  FILE *output = popen(shell, "r");
  if (output == NULL) return false;
  read_last_line(output, line);
  if (pclose(output) != 0) return false;
  if (parse(line, out)) return true;
  fprintf(stderr, "egraph: the peer's answer to %s is not understood: %s\n", name, line);
  return false;
}
