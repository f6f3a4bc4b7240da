// egraph machine: measures this host and writes a machine file.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "tools/arguments.h"
#include "tools/optimize_call.h"
#include "tools/owned.h"
#include "tools/tensor_files.h"

int command_machine(int argc, char **argv) {
  uint32_t ranks = 2;
  const char *output = NULL;
  command cmd = new_command(
      "machine", "[--ranks N] [-o FILE]", 0, 0,
      "Measures this host, and prints it as a machine file for egraph plan --machine.");
  add_uint32(&cmd, "--ranks N", &ranks, 1, 256, "threads that exchange messages");
  add_text(&cmd, "-o FILE", &output, "write the file there: my.machine");
  PARSE_ARGUMENTS(none, &cmd, argc, argv);
  OWNED_TEXT(text);
  egraph_status status = egraph_machine_probe(NULL, ranks, &text);
  if (status != EGRAPH_OK) return report_failure(status);
  if (output != NULL)
    return tensor_write(output, text, strlen(text)) ? EXIT_DONE : EXIT_FAILED;
  printf("%s", text);
  return EXIT_DONE;
}
