// egraph machine: this host as a machine file, measured.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "tools/planning.h"
#include "tools/tensor_files.h"

int command_machine(int argc, char **argv) {
  uint64_t ranks = 2;
  const char *output = NULL;
  const flag rows[] = {
      {"--ranks", FLAG_UINT, &ranks, "N", "threads that exchange messages (default 2)", 1,
       256},
      {"-o", FLAG_TEXT, &output, "FILE", "write it there: my.machine", 0, 0}};
  const command cmd = {"machine",
                       "[--ranks N] [-o FILE]",
                       "Measures this host, and prints it as a machine file for egraph "
                       "plan --machine.",
                       rows,
                       sizeof rows / sizeof *rows,
                       0,
                       0};
  positional none;
  parse_outcome parsed = parse_arguments(&cmd, argc, argv, &none);
  if (parsed != PARSE_RUN) return parsed == PARSE_HELP ? EXIT_DONE : EXIT_USAGE;
  char *text = NULL;
  egraph_status status = egraph_machine_probe(NULL, (uint32_t)ranks, &text);
  if (status != EGRAPH_OK) return report_failure(status);
  bool written = true;
  if (output != NULL)
    written = tensor_write(output, text, strlen(text));
  else
    printf("%s", text);
  egraph_string_free(NULL, text);
  return written ? EXIT_DONE : EXIT_FAILED;
}
