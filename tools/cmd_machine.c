// egraph machine: measures this host and writes a machine file.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "tools/arguments.h"
#include "tools/optimize_call.h"
#include "tools/owned.h"
#include "tools/tensor_files.h"

/// Writes the machine file, with curves of what operators reach if a database is given.
static egraph_status measure_machine(uint32_t ranks, const char *database, char **out) {
  if (database == NULL) return egraph_machine_probe(NULL, ranks, out);
  OWNED(egraph_costs, costs);
  const egraph_costs_options options = {
      .size = sizeof options, .database = database, .read_only = true};
  egraph_status status = egraph_costs_create(NULL, &options, &costs);
  return status == EGRAPH_OK ? egraph_costs_machine_file(costs, ranks, out) : status;
}

int command_machine(int argc, char **argv) {
  uint32_t ranks = 2;
  const char *output = NULL, *database = NULL;
  command cmd = new_command(
      "machine", "[--ranks N] [--from PROFILE.db] [-o FILE]", 0, 0,
      "Measures this host, and prints it as a machine file for egraph plan --machine.");
  add_uint32(&cmd, "--ranks N", &ranks, 1, 256, "threads that exchange messages");
  add_text(&cmd, "--from FILE", &database,
           "profile database: the file says what the operators measured there reach, and "
           "my.machine:reached prices by it");
  add_text(&cmd, "-o FILE", &output, "write the file there: my.machine");
  PARSE_ARGUMENTS(none, &cmd, argc, argv);
  OWNED_TEXT(text);
  egraph_status status = measure_machine(ranks, database, &text);
  if (status != EGRAPH_OK) return report_failure(status);
  if (output != NULL)
    return tensor_write(output, text, strlen(text)) ? EXIT_DONE : EXIT_FAILED;
  printf("%s", text);
  return EXIT_DONE;
}
