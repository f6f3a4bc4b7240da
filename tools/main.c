// The egraph command.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "base/spelling.h"
#include "tools/arguments.h"
#include "tools/help.h"
#include "tools/optimize_call.h"

enum { MAX_NAME = 64, MAX_WORDS = 256 };

static const char TITLE[] = "optimizes deep-learning graphs by equality saturation";

static command_function command_help;

// The commands. In a name of two words the first word names a group.
static const struct command_row {
  const char *name;
  command_function *run;
  const char *text;
} COMMANDS[] = {
    {"optimize", command_optimize, "find the cheapest graph of a model, or its plan"},
    {"plan", command_plan, "find the cheapest plan for the devices of a machine"},
    {"machine", command_machine, "measure this host, to plan for it"},
    {"run", command_run, "execute a model or a plan, or compare two models"},
    {"simulate", command_simulate, "time the step of a plan with overlapping exchanges"},
    {"profile", command_profile, "measure operators into the profile database"},
    {"extract", command_extract, "find the cheapest choice in an e-graph of a file"},
    {"shard", command_shard, "find the cheapest strategies of a sharding problem"},
    {"saturate", command_saturate, "rewrite plain terms by rules"},
    {"rules generate", command_rules_generate, "make rewrite rules by machine"},
    {"rules found", command_rules_found,
     "count the rules of other files that rules imply"},
    {"rules correct", command_rules_correct,
     "correct rules that hold on a part of a result"},
    {"rules minimize", command_rules_minimize,
     "find a small set of rules that implies the others"},
    {"rules stats", command_rules_stats, "count how often rules are used on models"},
    {"rules", command_rules, "list, verify or prove rewrite rules"},
    {"replay", command_replay, "check an optimized graph by its explanation"},
    {"explain", command_explain,
     "print which rule made an operator, or what a plan does"},
    {"bench extract", command_bench_extract, "measure extraction on a folder of files"},
    {"bench saturate", command_bench_saturate,
     "measure saturation, and check its counts"},
    {"bench compare", command_bench_compare, "compare searches for plans"},
    {"help", command_help, "describe a command; write manual pages, completion"}};
enum { COMMAND_COUNT = sizeof COMMANDS / sizeof *COMMANDS };

typedef struct command_row command_row;

// ---- which -----------------------------------------------------------------------

static size_t words_of(const char *name) { return strchr(name, ' ') != NULL ? 2 : 1; }

/// True when the arguments begin with the first `words` words of a name.
static bool begins_with(int argc, char **argv, const char *name, size_t words) {
  size_t first = strcspn(name, " ");
  if (argc < (int)words || strlen(argv[0]) != first || strncmp(argv[0], name, first) != 0)
    return false;
  return words == 1 || strcmp(argv[1], name + first + 1) == 0;
}

static const command_row *find_command(int argc, char **argv) {
  for (size_t i = 0; i < COMMAND_COUNT; i++)
    if (begins_with(argc, argv, COMMANDS[i].name, words_of(COMMANDS[i].name)))
      return &COMMANDS[i];
  return NULL;
}

/// Prints the commands of a group, such as "bench", or, if `group` is NULL, all commands.
static void print_commands(FILE *file, char **group) {
  for (size_t i = 0; i < COMMAND_COUNT; i++)
    if (group == NULL || begins_with(1, group, COMMANDS[i].name, 1))
      fprintf(file, "  %-14s  %s\n", COMMANDS[i].name, COMMANDS[i].text);
}

static void print_usage(FILE *file) {
  fprintf(file, "egraph %s: %s\n\nusage: egraph COMMAND [arguments]\n\n",
          egraph_version(), TITLE);
  print_commands(file, NULL);
  fprintf(file, "\n`egraph help COMMAND` describes a command; -V prints the version.\n");
}

/// True when the first argument is a command, or the first word of a command.
static bool is_group(int argc, char **argv) {
  for (size_t i = 0; i < COMMAND_COUNT; i++)
    if (begins_with(argc, argv, COMMANDS[i].name, 1)) return true;
  return false;
}

/// Prints an error for an unknown command; `group` is the group whose help lists similar
/// commands, or "".
static int refuse_name(const char *given, const char *group) {
  eg_spelling spelling = eg_spelling_start(given);
  for (size_t i = 0; i < COMMAND_COUNT; i++)
    eg_spelling_offer(&spelling, COMMANDS[i].name);
  show(stderr, "egraph: unknown command '%s'", given);
  if (spelling.best != NULL)
    fprintf(stderr, "; did you mean '%s'?\n", spelling.best);
  else
    fprintf(stderr, "; see egraph help%s%s\n", *group != '\0' ? " " : "", group);
  return EXIT_USAGE;
}

/// Prints an error for a group without a command, such as "bench", and lists
/// its commands.
static int refuse_group(char **argv) {
  bool is_first = true;
  show(stderr, "egraph: '%s' needs one more word:", argv[0]);
  for (size_t i = 0; i < COMMAND_COUNT; i++) {
    if (!begins_with(1, argv, COMMANDS[i].name, 1)) continue;
    fprintf(stderr, "%s %s", is_first ? "" : ",", COMMANDS[i].name);
    is_first = false;
  }
  fprintf(stderr, "; see egraph help %s\n", argv[0]);
  return EXIT_USAGE;
}

static int refuse_command(int argc, char **argv) {
  char given[128];
  bool in_group = is_group(argc, argv);
  if (in_group && (argc == 1 || argv[1][0] == '-')) return refuse_group(argv);
  bool has_word = in_group && argc > 1 && argv[1][0] != '-';
  (void)snprintf(given, sizeof given, "%s%s%s", argv[0], has_word ? " " : "",
                 has_word ? argv[1] : "");
  return refuse_name(given, in_group ? argv[0] : "");
}

static bool is_help(const char *argument) {
  return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

static int run_command(int argc, char **argv) {
  if (argc == 0) {
    print_usage(stderr);
    return EXIT_USAGE;
  }
  if (is_help(argv[0])) {
    print_usage(stdout);
    return EXIT_DONE;
  }
  if (strcmp(argv[0], "--version") == 0 || strcmp(argv[0], "-V") == 0) {
    printf("egraph %s\n", egraph_version());
    return EXIT_DONE;
  }
  const command_row *row = find_command(argc, argv);
  if (row != NULL) {
    int words = (int)words_of(row->name);
    return row->run(argc - words, argv + words);
  }
  if (argc > 1 && is_help(argv[1]) && is_group(argc, argv)) {
    print_commands(stdout, argv);
    return EXIT_DONE;
  }
  return refuse_command(argc, argv);
}

// ---- help ------------------------------------------------------------------------

/// Prints the help of a command (one or two words) or of a group, in one of its forms
/// (tools/help.h). No other word of the name reaches a command.
static int describe(const char *name, const char *form) {
  char copy[MAX_NAME], last[16];
  (void)snprintf(copy, sizeof copy, "%s", name);
  (void)snprintf(last, sizeof last, "%s", form);
  char *argv[] = {copy, last};
  for (size_t i = 0; i < COMMAND_COUNT; i++)
    if (strcmp(name, COMMANDS[i].name) == 0) return COMMANDS[i].run(1, argv + 1);
  return strchr(name, ' ') == NULL ? run_command(2, argv) : refuse_name(name, "");
}

/// Prints the name of a manual page, "egraph-bench-extract", in capitals or not.
static void print_page_name(const char *name, bool capitals) {
  char page[MAX_NAME];
  (void)snprintf(page, sizeof page, "egraph%s%s", *name != '\0' ? "-" : "", name);
  for (char *c = page; *c != '\0'; c++)
    *c = (char)(*c == ' ' ? '-' : capitals && *c != '-' ? *c - 'a' + 'A' : *c);
  print_troff(page);
}

static void print_page_head(const char *name, const char *text) {
  printf(".TH ");
  print_page_name(name, true);
  printf(" 1 \"\" \"egraph %s\" \"User Commands\"\n.SH NAME\n", egraph_version());
  print_page_name(name, false);
  printf(" \\- %s\n", text);
}

/// Prints the manual page of a command, or, if `name` is "", of egraph itself.
static int print_manual(const char *name) {
  for (size_t i = 0; i < COMMAND_COUNT; i++) {
    if (strcmp(name, COMMANDS[i].name) != 0) continue;
    print_page_head(name, COMMANDS[i].text);
    return describe(name, "--help=man");
  }
  if (*name != '\0') return describe(name, "--help");
  print_page_head("", TITLE);
  printf(".SH SYNOPSIS\n.B egraph\nCOMMAND [arguments]\n.SH COMMANDS\n");
  for (size_t i = 0; i < COMMAND_COUNT; i++) {
    printf(".TP\n.BR ");
    print_page_name(COMMANDS[i].name, false);
    printf(" (1)\n%s\n", COMMANDS[i].text);
  }
  printf(".SH EXIT STATUS\n0: done; 1: failed; 2: bad usage.\n");
  return EXIT_DONE;
}

/// Lists the words that may come next: the commands of a group, or the first word of
/// every name.
static const char *next_words(const char *group, char out[MAX_WORDS]) {
  const char *last = "";
  int used = 0;
  for (size_t i = 0; i < COMMAND_COUNT; i++) {
    const char *name = COMMANDS[i].name, *blank = strchr(name, ' ');
    size_t length = strcspn(name, " ");
    bool is_next = group == NULL ? strncmp(last, name, length) != 0
                                 : blank != NULL && strncmp(group, name, length) == 0;
    const char *word = group == NULL || blank == NULL ? name : blank + 1;
    if (is_next)
      used += snprintf(out + used, (size_t)(MAX_WORDS - used), "%.*s ",
                       (int)strcspn(word, " "), word);
    last = name;
  }
  return out;
}

static void print_cases(const char *form, const char *before, const char *after) {
  for (size_t i = 0; i < COMMAND_COUNT; i++)
    (void)describe(COMMANDS[i].name, form);
  char words[MAX_WORDS];
  printf("  'bench '*) %s%s%s ;;\n", before, next_words("bench", words), after);
  printf("  ' ') %s%s%s ;;\n  esac\n", before, next_words(NULL, words), after);
}

static int print_completion(const char *shell) {
  if (strcmp(shell, "bash") == 0) {
    printf("# Completion of egraph for bash, made by egraph help --completion bash.\n"
           "_egraph() {\n"
           "  local current=${COMP_WORDS[COMP_CWORD]} "
           "previous=${COMP_WORDS[COMP_CWORD-1]} flags= values=\n"
           "  case \"${COMP_WORDS[*]:1:COMP_CWORD-1} \" in\n");
    print_cases("--help=bash", "values='", "'");
    printf("  [ -n \"$values\" ] || case $current in -*) values=$flags ;; esac\n"
           "  COMPREPLY=($(compgen -W \"$values\" -- \"$current\"))\n"
           "}\n"
           "complete -o default -F _egraph egraph\n");
  } else {
    printf("#compdef egraph\n"
           "# Completion of egraph for zsh, made by egraph help --completion zsh.\n"
           "local line=\"${words[2,CURRENT-1]} \"\n"
           "shift words\n"
           "(( CURRENT-- ))\n"
           "case $line in\n");
    print_cases("--help=zsh", "compadd -- ", "");
  }
  return EXIT_DONE;
}

static int command_help(int argc, char **argv) {
  bool is_manual = false;
  const char *shell = NULL;
  char others[MAX_WORDS];
  command cmd = new_command("help", "[COMMAND] [--man] | --completion bash|zsh", 0, 2,
                            "Describes egraph, or one of its commands.");
  cmd.words = next_words(NULL, others);
  add_switch(&cmd, "--man", &is_manual, "print the manual page instead: | man -l -");
  add_choice(&cmd, "--completion bash|zsh", &shell,
             "print a file that completes commands and options in this shell");
  PARSE_ARGUMENTS(words, &cmd, argc, argv);
  char name[MAX_NAME];
  (void)snprintf(name, sizeof name, "%s%s%s", words.count > 0 ? words.items[0] : "",
                 words.count > 1 ? " " : "", words.count > 1 ? words.items[1] : "");
  if (shell != NULL) return print_completion(shell);
  if (is_manual) return print_manual(name);
  if (words.count != 0) return describe(name, "--help");
  print_usage(stdout);
  return EXIT_DONE;
}

int main(int argc, char **argv) {
  (void)egraph_use_own_threads(); // other processes may share the processors
  int outcome = run_command(argc - 1, argv + 1);
  if (fflush(stdout) == 0 && ferror(stdout) == 0) return outcome;
  fprintf(stderr, "egraph: standard output cannot be written; is the disk full?\n");
  return EXIT_FAILED;
}
