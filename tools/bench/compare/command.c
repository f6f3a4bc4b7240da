// egraph bench compare: compares models, machines and searches.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/spelling.h"
#include "tools/arguments.h"
#include "tools/bench/compare/chart.h"
#include "tools/bench/compare/measure.h"
#include "tools/lists.h"
#include "tools/optimize_call.h"
#include "tools/owned.h"

enum { MAX_NODES = 65536, MAX_MACHINE = 128 };

typedef struct compare_flags {
  const char *models, *machines, *nodes, *scaling, *types, *searches;
  const char *csv, *json, *svg;
  uint64_t work, seed, groups;
  double patience;
  bool no_builtin, resumes, lists;
} compare_flags;

/// A row to measure, or a row of an earlier run.
typedef struct compare_entry {
  compare_case what;
  char machine[MAX_MACHINE]; // machine with its number of nodes
  compare_row row;
  bool is_done; // the row has its results
} compare_entry;

/// A run of the benchmark: the lists that flags name, and the rows that result.
typedef struct comparison {
  const compare_flags *flags;
  text_array models, machines, nodes, types, searches;
  compare_entry *entries; // owned
  size_t count, room;
  compare_table table;
  size_t made; // rows of this run; the other rows are of earlier runs
} comparison;

// ---- lists -----------------------------------------------------------------------

static void split_list(const char *text, text_array *out) {
  for (;;) {
    size_t length = strcspn(text, ",");
    text_array_add(out, text, length);
    if (text[length] == '\0') return;
    text += length + 1;
  }
}

/// Returns the index-th name that a list may contain; NULL after the last.
typedef const char *(*names)(uint32_t index);

static const char *model_name(uint32_t i) {
  return zoo_model_at(i) != NULL ? zoo_model_at(i)->name : NULL;
}

static const char *search_name(uint32_t i) {
  return search_at(i) != NULL ? search_at(i)->name : NULL;
}

static const char *type_name(uint32_t i) {
  static const char *const TYPES[] = {"float32", "bfloat16"};
  return i < sizeof TYPES / sizeof *TYPES ? TYPES[i] : NULL;
}

/// Complains about a word of a list that is not one of its names.
static bool refuse_word(const char *spelled, const char *word, names name_at) {
  eg_spelling spelling = eg_spelling_start(word);
  for (uint32_t i = 0; name_at(i) != NULL; i++)
    eg_spelling_offer(&spelling, name_at(i));
  show(stderr, "egraph: %s: there is no '%s'", spelled, word);
  if (spelling.best != NULL)
    fprintf(stderr, "; did you mean '%s'?\n", spelling.best);
  else
    fprintf(stderr, "; egraph bench compare --list has the names\n");
  return false;
}

/// Reads a list of names, each only once; NULL: all names.
static bool read_names(const char *spelled, const char *text, names name_at,
                       text_array *out) {
  if (text != NULL) split_list(text, out);
  for (uint32_t i = 0; text == NULL && name_at(i) != NULL; i++)
    text_array_add(out, name_at(i), strlen(name_at(i)));
  for (size_t i = 0; i < out->count; i++) {
    uint32_t at = 0;
    while (name_at(at) != NULL && strcmp(name_at(at), out->items[i]) != 0)
      at++;
    if (name_at(at) == NULL) return refuse_word(spelled, out->items[i], name_at);
    for (size_t k = 0; k < i; k++)
      if (strcmp(out->items[k], out->items[i]) == 0)
        return complain("%s: '%s' stands there twice", spelled, out->items[i]);
  }
  return true;
}

/// Reads numbers of nodes; NULL: one text "", which stands for all nodes of the machine.
static bool read_nodes(const char *text, text_array *out) {
  split_list(text != NULL ? text : "", out);
  if (text == NULL) return true;
  for (size_t i = 0; i < out->count; i++) {
    const char *word = out->items[i];
    bool is_number = *word != '\0' && *word != '0' && strlen(word) <= 5 &&
                     strspn(word, "0123456789") == strlen(word);
    if (is_number && strtoul(word, NULL, 10) <= MAX_NODES) continue;
    return complain_of("--nodes: '%s' is no number of nodes (1 to %d); give 1,2,4", word,
                       MAX_NODES);
  }
  return true;
}

static bool read_lists(comparison *c) {
  const compare_flags *f = c->flags;
  split_list(f->machines, &c->machines);
  return read_names("--models", f->models, model_name, &c->models) &&
         read_names("--types", f->types, type_name, &c->types) &&
         read_names("--search", f->searches, search_name, &c->searches) &&
         read_nodes(f->nodes, &c->nodes);
}

// ---- rows ------------------------------------------------------------------------

/// Prints a row for people.
static void print_row(const compare_row *row) {
  double seconds = row_seconds(row), cost = row_number(row, COL_COST);
  char result[160];
  if (isfinite(seconds) && *row_cell(row, COL_SIMULATED) != '\0')
    (void)snprintf(result, sizeof result, "%s, in order %s, %s on a device",
                   seconds_text(seconds).text, seconds_text(cost).text,
                   bytes_text(row_number(row, COL_MEMORY)).text);
  else if (isfinite(seconds))
    (void)snprintf(result, sizeof result, "%s", seconds_text(seconds).text);
  else if (isfinite(row_number(row, COL_SHORT)))
    (void)snprintf(result, sizeof result, "does not fit: %s short",
                   bytes_text(row_number(row, COL_SHORT)).text);
  else
    (void)snprintf(result, sizeof result, "%s: %.120s", row_cell(row, COL_STATUS),
                   row_cell(row, COL_MESSAGE));
  show(stdout, "%-18s %5s  %-8s  %-14s  %s\n", row_cell(row, COL_MODEL),
       row_cell(row, COL_DEVICES), row_cell(row, COL_TYPE), row_cell(row, COL_SEARCH),
       result);
  (void)fflush(stdout);
}

// ---- which -----------------------------------------------------------------------

/// The keys that all rows of one model on one machine have in common.
typedef struct entry_place {
  const zoo_model *model;
  const char *machine; // "": one device, with estimated costs
  uint32_t devices;
  const char *type;
} entry_place;

static void add_search(comparison *c, const entry_place *place, const char *name) {
  const compare_flags *f = c->flags;
  const search_entry *search = search_find(name);
  bool trains = zoo_trains(place->model);
  if (trains ? !search->finds_plans : !search->finds_graphs) return;
  c->entries = list_grow(c->entries, c->count, &c->room, sizeof *c->entries);
  compare_entry *entry = &c->entries[c->count++];
  *entry = (compare_entry){.is_done = false};
  compare_row *row = &entry->row;
  (void)snprintf(entry->machine, sizeof entry->machine, "%s", place->machine);
  entry->what = (compare_case){.model = zoo_choose(place->model, place->devices,
                                                   strcmp(f->scaling, "strong") == 0),
                               .is_bfloat16 = strcmp(place->type, "bfloat16") == 0,
                               .search = search,
                               .has_rules = !f->no_builtin,
                               .groups = f->groups,
                               .work_limit = f->work,
                               .seed = f->seed,
                               .patience = f->patience};
  row_set(row, COL_MODEL, entry->what.model.name);
  row_set(row, COL_MACHINE, trains ? place->machine : "estimated");
  row_set_count(row, COL_DEVICES, place->devices);
  row_set(row, COL_SCALING, trains ? f->scaling : "none");
  row_set(row, COL_TYPE, place->type);
  row_set(row, COL_SEARCH, name);
  row_set_count(row, COL_BATCH, (uint64_t)entry->what.model.batch);
  row_set_count(row, COL_MICRO_BATCHES, entry->what.model.micro_batches);
  row_set(row, COL_RULES, f->no_builtin ? "none" : "built-in");
  row_set_count(row, COL_GROUPS, f->groups);
  row_set_count(row, COL_WORK_LIMIT, f->work);
  row_set_count(row, COL_SEED, f->seed);
}

static void add_searches(comparison *c, const entry_place *place) {
  for (size_t i = 0; i < c->searches.count; i++)
    add_search(c, place, c->searches.items[i]);
}

/// Adds rows for the models with a training step, on one machine.
static void add_trained(comparison *c, const char *machine, uint32_t devices) {
  for (size_t m = 0; m < c->models.count; m++) {
    const zoo_model *model = zoo_find(c->models.items[m]);
    for (size_t t = 0; t < c->types.count && zoo_trains(model); t++)
      add_searches(c, &(entry_place){model, machine, devices, c->types.items[t]});
  }
}

/// Lists the rows to measure: model by model on each machine, then graphs for a device.
static bool list_entries(comparison *c) {
  bool trains = false;
  for (size_t m = 0; m < c->models.count; m++)
    trains = trains || zoo_trains(zoo_find(c->models.items[m]));
  for (size_t m = 0; m < c->machines.count && trains; m++)
    for (size_t n = 0; n < c->nodes.count; n++) {
      char machine[MAX_MACHINE];
      uint32_t devices;
      const char *nodes = c->nodes.items[n];
      int length = snprintf(machine, sizeof machine, "%s%s%s", c->machines.items[m],
                            *nodes != '\0' ? "*" : "", nodes);
      if (length < 0 || (size_t)length >= sizeof machine)
        return complain("--machine: a name of more than %d letters", MAX_MACHINE);
      egraph_status status = machine_devices(machine, &devices);
      if (status != EGRAPH_OK) {
        (void)report_failure(status);
        return false;
      }
      add_trained(c, machine, devices);
    }
  for (size_t m = 0; m < c->models.count; m++) {
    const zoo_model *model = zoo_find(c->models.items[m]);
    if (!zoo_trains(model)) add_searches(c, &(entry_place){model, "", 1, type_name(0)});
  }
  for (size_t i = 0; i < c->count; i++) // entries stay where they are from here on
    c->entries[i].what.machine = c->entries[i].machine;
  if (c->count != 0) return true;
  return complain("no search of --search plans a model of --models; egraph bench compare "
                  "--list says which do");
}

/// Copies results that an earlier run measured; false when its settings differ.
static bool take_kept(comparison *c) {
  for (size_t i = 0; i < c->count; i++) {
    compare_entry *entry = &c->entries[i];
    const compare_row *have = table_find(&c->table, &entry->row);
    if (have == NULL) continue;
    if (!table_settings_match(&c->table, have, &entry->row)) return false;
    row_copy(&entry->row, have);
    entry->is_done = true;
  }
  return true;
}

// ---- the run ---------------------------------------------------------------------

static void measure_all(comparison *c) {
  for (size_t i = 0; i < c->count && !interrupted(); i++) {
    compare_entry *entry = &c->entries[i];
    (void)progress_line("bench", "%zu of %zu: %s, %s devices, %s", i + 1, c->count,
                        row_cell(&entry->row, COL_MODEL),
                        row_cell(&entry->row, COL_DEVICES),
                        row_cell(&entry->row, COL_SEARCH));
    if (!entry->is_done && measure_row(&entry->what, &entry->row)) {
      entry->is_done = true;
      c->made++;
      table_write(&c->table, &entry->row);
    }
    progress_clear();
    if (entry->is_done) print_row(&entry->row);
  }
}

/// Prints the rows in which another search beats the product's own search, or has a plan
/// when the product's own search found none.
static void print_behind(const compare_row *const *rows, size_t count) {
  static const double ROUNDING = 1e-6;
  size_t behind = 0;
  for (size_t i = 0; i < count; i++) {
    double own = rows_own_seconds(rows, count, rows[i]), seconds = row_seconds(rows[i]);
    bool is_alone =
        isfinite(seconds) && !isfinite(own) && rows_have_own(rows, count, rows[i]);
    if (!is_alone && !(seconds < own * (1 - ROUNDING))) continue; // NAN, too
    show(stdout, "%s %s %s, %s devices, %s", row_cell(rows[i], COL_SEARCH),
         is_alone ? "has a plan of" : "is ahead on", row_cell(rows[i], COL_MODEL),
         row_cell(rows[i], COL_DEVICES), row_cell(rows[i], COL_TYPE));
    if (is_alone)
      printf(", where egraph has none\n");
    else
      printf(": %.4g of the seconds\n", seconds / own);
    behind++;
  }
  if (behind == 0) printf("egraph is behind no other search\n");
}

static void print_summary(const comparison *c, const compare_row *const *rows,
                          size_t count) {
  size_t counts[COMPARE_STATUSES] = {0};
  for (size_t i = 0; i < count; i++)
    for (size_t s = 0; s < COMPARE_STATUSES; s++)
      counts[s] += row_is(rows[i], (compare_status)s);
  printf("%zu of %zu rows, %zu made now", count, c->count, c->made);
  for (size_t s = 0; s < COMPARE_STATUSES; s++)
    printf("%s %zu %s", s == 0 ? ":" : ",", counts[s],
           compare_status_word((compare_status)s));
  printf("\n");
  print_behind(rows, count);
}

typedef void (*rows_writer)(FILE *file, const compare_row *const *rows, size_t count);

/// Writes the rows to the file that a flag names; does nothing if `path` is NULL.
static bool write_rows(const char *path, rows_writer write,
                       const compare_row *const *rows, size_t count) {
  if (path == NULL) return true;
  FILE *file = fopen(path, "w");
  if (file == NULL) return complain_of_file(path);
  if (write != NULL) write(file, rows, count);
  bool is_written = ferror(file) == 0;
  return (fclose(file) == 0 && is_written) ||
         complain_of("%s: it cannot be written; is the disk full?", path);
}

static bool hand_out(const comparison *c) {
  const compare_row **rows = calloc(c->count, sizeof *rows);
  size_t count = 0;
  if (rows == NULL) return false;
  for (size_t i = 0; i < c->count; i++)
    if (c->entries[i].is_done) rows[count++] = &c->entries[i].row;
  print_summary(c, rows, count);
  bool is_fine = write_rows(c->flags->json, rows_write_json, rows, count);
  is_fine = write_rows(c->flags->svg, rows_write_svg, rows, count) && is_fine;
  free((void *)rows);
  return is_fine;
}

static int run_comparison(const compare_flags *flags) {
  comparison c = {.flags = flags};
  install_interrupt();
  bool is_fine = read_lists(&c);
  int outcome = is_fine ? EXIT_FAILED : EXIT_USAGE;
  is_fine =
      is_fine && list_entries(&c) && table_open(&c.table, flags->csv, flags->resumes);
  // Empty the output files: a file that cannot be written is reported before the run.
  is_fine = is_fine && take_kept(&c) && write_rows(flags->json, NULL, NULL, 0) &&
            write_rows(flags->svg, NULL, NULL, 0);
  if (is_fine) {
    measure_all(&c);
    is_fine = hand_out(&c);
  }
  is_fine = table_close(&c.table) && is_fine;
  if (interrupted())
    fprintf(stderr, "egraph: interrupted%s\n",
            flags->csv != NULL ? "; --resume goes on" : "");
  for (size_t i = 0; i < c.count; i++)
    row_free(&c.entries[i].row);
  free(c.entries);
  text_array *const lists[] = {&c.models, &c.machines, &c.nodes, &c.types, &c.searches};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    text_array_free(lists[i]);
  return is_fine && !interrupted() ? EXIT_DONE : outcome;
}

// ---- words that completion offers -------------------------------------------------

enum { MAX_NAMES = 1024 };

/// Offers all names of a list for the flag added last; `words` must live as long as
/// the flag.
static void offer_names(command *cmd, names name_at, char words[MAX_NAMES]) {
  size_t used = 0;
  words[0] = '\0';
  for (uint32_t i = 0; name_at(i) != NULL && used < MAX_NAMES; i++)
    used += (size_t)snprintf(words + used, MAX_NAMES - used, "%s%s", i != 0 ? " " : "",
                             name_at(i));
  offer_words(cmd, words);
}

// ---- the command -----------------------------------------------------------------

/// Prints a batch, "64 per device" or "1024", and its micro-batches.
static void print_batch(const zoo_model *model) {
  if (model->per_device != 0)
    printf("batch of a device %lld", (long long)model->per_device);
  else
    printf("batch %lld", (long long)model->batch);
  if (model->micro_per_device != 0)
    printf(", %lld of a device in a micro-batch", (long long)model->micro_per_device);
  if (model->micro_batches != 0)
    printf(", %lld micro-batches", (long long)model->micro_batches);
}

/// Prints a model's size: the devices for which it was published, and its dimensions.
static egraph_status print_size(const zoo_model *model, const zoo_size *size) {
  zoo_case c = zoo_choose(model, size->devices != 0 ? size->devices : 1, false);
  OWNED(egraph_graph, graph);
  EG_TRY(zoo_build(&c, &graph));
  egraph_graph_info info = egraph_graph_info_of(graph);
  printf("  %s:", c.name);
  if (size->devices != 0) printf(" of %u devices,", size->devices);
  printf(" %u operators, %.4g million weights\n", info.nodes,
         (double)info.weight_bytes / 4e6);
  return EGRAPH_OK;
}

static egraph_status print_model(const zoo_model *model) {
  printf("%s: %s, ", model->name, zoo_trains(model) ? model->optimizer : "inference");
  print_batch(model);
  printf("\n  %s\n", model->source);
  if (model->note != NULL) printf("  %s\n", model->note);
  for (uint32_t s = 0; s < model->size_count; s++)
    EG_TRY(print_size(model, &model->sizes[s]));
  return EGRAPH_OK;
}

static egraph_status print_lists(void) {
  for (uint32_t i = 0; zoo_model_at(i) != NULL; i++)
    EG_TRY(print_model(zoo_model_at(i)));
  printf("\nsearches for plans:");
  for (uint32_t i = 0; search_at(i) != NULL; i++)
    if (search_at(i)->finds_plans) printf(" %s", search_at(i)->name);
  printf("\nsearches for graphs (tensat-*):");
  for (uint32_t i = 0; search_at(i) != NULL; i++)
    if (search_at(i)->finds_graphs) printf(" %s", search_at(i)->name);
  printf("\n");
  return EGRAPH_OK;
}

int command_bench_compare(int argc, char **argv) {
  char models[MAX_NAMES], searches[MAX_NAMES];
  compare_flags flags = {.machines = "dgx-h100",
                         .scaling = "weak",
                         .types = "float32",
                         .work = 20000,
                         .groups = 1,
                         .seed = 1};
  command cmd = new_command(
      "bench compare", "[--models LIST] [--machine LIST] [--nodes LIST] [options]", 0, 0,
      "Plans training steps of published models for machines by every search there is, "
      "each in a process of its own, simulates the plans, and compares them. Lists are "
      "separated by commas.");
  add_heading(&cmd, "Rows");
  add_switch(&cmd, "--list", &flags.lists,
             "print models, with the source of their configuration, and searches");
  add_text(&cmd, "--models LIST", &flags.models, "models to plan (default: all)");
  offer_names(&cmd, model_name, models);
  add_text(&cmd, "--machine LIST", &flags.machines,
           "machines, as egraph plan takes them");
  offer_words(&cmd, MACHINE_WORDS);
  add_text(&cmd, "--nodes LIST", &flags.nodes,
           "numbers of nodes, or, for the machine host, of ranks (default: as many as "
           "the machine has)");
  add_choice(
      &cmd, "--scaling weak|strong", &flags.scaling,
      "weak: batch or size grow with the devices; strong: batch and size for 64 devices");
  add_text(&cmd, "--types LIST", &flags.types,
           "float32, or bfloat16 with weights and states in float32");
  offer_words(&cmd, "float32 bfloat16");
  add_text(&cmd, "--search LIST", &flags.searches,
           "searches (default: all that can plan the model)");
  offer_names(&cmd, search_name, searches);
  add_heading(&cmd, "Search");
  add_uint(&cmd, "--work N", &flags.work, 1, 1e12,
           "millions of steps of each search, about a millisecond each: the same rows on "
           "a busy machine");
  add_uint(&cmd, "--seed N", &flags.seed, 0, 1e18, "seed of random choices");
  add_switch(&cmd, "--no-builtin", &flags.no_builtin, "plan without rules");
  add_uint(&cmd, "--groups N", &flags.groups, 0, 1,
           "0: plan without groups of operators that run as one kernel");
  add_real(&cmd, "--patience X", &flags.patience, 0, 1e6,
           "seconds after which a row counts as failed (default: no limit)");
  add_heading(&cmd, "Output");
  add_text(&cmd, "--csv FILE", &flags.csv,
           "write each row to this file as soon as it is measured");
  add_switch(&cmd, "--resume", &flags.resumes,
             "keep the rows that the file has, and measure the others");
  add_text(&cmd, "--json FILE", &flags.json, "write the rows as JSON");
  add_text(&cmd, "--svg FILE", &flags.svg, "write a chart, relative to egraph's best");
  PARSE_ARGUMENTS(none, &cmd, argc, argv);
  if (flags.lists) return outcome_of(print_lists());
  if (flags.resumes && flags.csv == NULL)
    return refuse("--resume goes on with the rows of --csv FILE; give both");
  return run_comparison(&flags);
}
