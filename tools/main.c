// The egraph command.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "tools/planning.h"

// name, function, one line.
#define COMMANDS(X)                                                                      \
  X("optimize", command_optimize, "find the cheapest graph of a model, or plan of it")   \
  X("plan", command_plan, "the same, for the devices of a machine")                      \
  X("machine", command_machine, "measure this host, to plan for it")                     \
  X("run", command_run, "execute a model or a plan, or compare two models")              \
  X("profile", command_profile, "measure operators into the profile database")           \
  X("extract", command_extract, "find the cheapest choice in an e-graph of a file")      \
  X("shard", command_shard, "find the cheapest strategies of a sharding problem")        \
  X("saturate", command_saturate, "rewrite plain terms by rules until nothing changes")  \
  X("bench", command_bench, "measure extraction or saturation")                          \
  X("rules", command_rules, "list, print or verify rewrite rules")                       \
  X("explain", command_explain, "say which rule made every operator, or what a plan does")

static void print_usage(FILE *file) {
  fprintf(file,
          "egraph %s: optimizes deep-learning graphs by equality saturation\n\n"
          "usage: egraph COMMAND [arguments]\n\n",
          egraph_version());
#define LINE(name, function, text) fprintf(file, "  %-10s %s\n", name, text);
  COMMANDS(LINE)
#undef LINE
  fprintf(file, "\negraph COMMAND --help describes a command.\n");
}

static int run_command(int argc, char **argv) {
  if (argc < 2) {
    print_usage(stderr);
    return EXIT_USAGE;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
    print_usage(stdout);
    return EXIT_DONE;
  }
  if (strcmp(argv[1], "--version") == 0) {
    printf("egraph %s\n", egraph_version());
    return EXIT_DONE;
  }
#define DISPATCH(name, function, text)                                                   \
  if (strcmp(argv[1], name) == 0) return function(argc - 2, argv + 2);
  COMMANDS(DISPATCH)
#undef DISPATCH
  fprintf(stderr, "egraph: unknown command '%s'; see egraph --help\n", argv[1]);
  return EXIT_USAGE;
}

int main(int argc, char **argv) {
  int outcome = run_command(argc, argv);
  if (fflush(stdout) == 0 && ferror(stdout) == 0) return outcome;
  fprintf(stderr, "egraph: standard output cannot be written; is the disk full?\n");
  return EXIT_FAILED;
}
