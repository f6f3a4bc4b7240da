// SPDX-License-Identifier: Apache-2.0
#include "tools/check_certificate/plain_problem.h"

#include <string.h>

#include "tools/check_certificate/problem_json.h"

#define NONE UINT32_MAX

// Names and their numbers, in the order of arrival.
typedef struct name_table {
  const char **name; // [count]
  uint32_t *slot;    // [slots] number + 1, 0: free
  uint32_t count, slots;
} name_table;

typedef struct reader {
  problem_json json;
  plain_problem *problem;
  name_table ids, classes;
  uint32_t *class_of_id, *node_of_id; // [ids]
  uint32_t edges, max_nodes, max_edges;
  const char **root_name;
  uint32_t root_names, max_roots;
} reader;

static uint32_t hash_of(const char *name) {
  uint64_t hash = 14695981039346656037u;
  for (; *name != '\0'; name++)
    hash = (hash ^ (unsigned char)*name) * 1099511628211u;
  return (uint32_t)(hash ^ hash >> 32);
}

// `room` names fit.
static bool table_open(reader *r, name_table *table, uint32_t room) {
  table->slots = 16;
  while (table->slots / 2 < room)
    table->slots *= 2;
  table->name = input_allocate(&r->json.in, room, sizeof *table->name);
  table->slot = input_allocate(&r->json.in, table->slots, sizeof *table->slot);
  return table->name != NULL && table->slot != NULL;
}

static uint32_t *table_slot(const name_table *table, const char *name) {
  uint32_t at = hash_of(name) & (table->slots - 1);
  while (table->slot[at] != 0 && strcmp(table->name[table->slot[at] - 1], name) != 0)
    at = (at + 1) & (table->slots - 1);
  return &table->slot[at];
}

// Every name is counted when the rooms are sized, so that there is always a free slot.
static uint32_t table_number(name_table *table, const char *name) {
  uint32_t *slot = table_slot(table, name);
  if (*slot == 0) {
    table->name[table->count++] = name;
    *slot = table->count;
  }
  return *slot - 1;
}

// Upper limits of all counts: every node, name and child has a colon or a quoted string.
static bool size_rooms(reader *r) {
  const input *in = &r->json.in;
  size_t quotes = 0, colons = 0;
  for (size_t i = 0; i < in->size; i++) {
    quotes += in->text[i] == '"';
    colons += in->text[i] == ':';
  }
  if (quotes / 2 >= NONE / 8 || colons >= NONE / 8)
    return json_refuse(&r->json, "more names than this program takes");
  uint32_t names = (uint32_t)(quotes / 2) + 1;
  plain_problem *p = r->problem;
  r->max_nodes = (uint32_t)colons + 1;
  r->max_edges = r->max_roots = names;
  p->cost = input_allocate(&r->json.in, r->max_nodes, sizeof *p->cost);
  p->class_of = input_allocate(&r->json.in, r->max_nodes, sizeof *p->class_of);
  p->child_begin =
      input_allocate(&r->json.in, (size_t)r->max_nodes + 1, sizeof *p->child_begin);
  p->child = input_allocate(&r->json.in, names, sizeof *p->child);
  r->root_name = input_allocate(&r->json.in, names, sizeof *r->root_name);
  r->class_of_id = input_allocate(&r->json.in, names, sizeof *r->class_of_id);
  if (p->cost == NULL || p->class_of == NULL || p->child_begin == NULL ||
      p->child == NULL || r->root_name == NULL || r->class_of_id == NULL)
    return false;
  for (uint32_t i = 0; i < names; i++)
    r->class_of_id[i] = NONE;
  return table_open(r, &r->ids, names) && table_open(r, &r->classes, names);
}

// Children are numbers of names until every node is known.
static bool read_children(reader *r) {
  if (!json_enter(&r->json, '[')) return false;
  for (size_t count = 0;;) {
    bool more;
    const char *name;
    if (!json_next(&r->json, ']', &count, &more)) return false;
    if (!more) return true;
    if (!json_string(&r->json, &name)) return false;
    if (r->edges == r->max_edges) return json_refuse(&r->json, "too many children");
    r->problem->child[r->edges++] = table_number(&r->ids, name);
  }
}

static bool read_fields(reader *r, uint32_t node) {
  bool seen[3] = {false, false, false};
  for (size_t count = 0;;) {
    bool more, good;
    const char *key, *name;
    if (!json_next(&r->json, '}', &count, &more)) return false;
    if (!more) return seen[0] || json_refuse(&r->json, "a node has no \"eclass\"");
    if (!json_key(&r->json, &key)) return false;
    static const char *const KEYS[] = {"eclass", "children", "cost"};
    size_t which = 0;
    while (which < 3 && strcmp(key, KEYS[which]) != 0)
      which++;
    if (which < 3 && seen[which]) return json_refuse(&r->json, "\"%s\" twice", key);
    if (which < 3) seen[which] = true;
    if (which == 0) {
      good = json_string(&r->json, &name);
      if (good) r->problem->class_of[node] = table_number(&r->classes, name);
    } else if (which == 1) {
      good = read_children(r);
    } else if (which == 2) {
      good = json_double(&r->json, &r->problem->cost[node]);
    } else {
      good = json_skip(&r->json);
    }
    if (!good) return false;
  }
}

static bool read_nodes(reader *r) {
  plain_problem *p = r->problem;
  if (p->nodes != 0) return json_refuse(&r->json, "\"nodes\" for the second time");
  if (!json_enter(&r->json, '{')) return false;
  for (size_t count = 0;;) {
    bool more;
    const char *name;
    if (!json_next(&r->json, '}', &count, &more)) return false;
    if (!more) return true;
    if (!json_key(&r->json, &name)) return false;
    if (p->nodes == r->max_nodes) return json_refuse(&r->json, "too many nodes");
    uint32_t id = table_number(&r->ids, name), node = p->nodes++;
    if (r->class_of_id[id] != NONE) return json_refuse(&r->json, "a node named twice");
    p->cost[node] = 1; // where the file has none
    if (!json_enter(&r->json, '{') || !read_fields(r, node)) return false;
    r->class_of_id[id] = p->class_of[node];
    p->child_begin[node + 1] = r->edges;
  }
}

static bool read_root_names(reader *r) {
  if (r->root_names != 0) return json_refuse(&r->json, "roots for the second time");
  if (!json_enter(&r->json, '[')) return false;
  for (size_t count = 0;;) {
    bool more;
    if (!json_next(&r->json, ']', &count, &more)) return false;
    if (!more) return true;
    if (r->root_names == r->max_roots) return json_refuse(&r->json, "too many roots");
    if (!json_string(&r->json, &r->root_name[r->root_names++])) return false;
  }
}

static bool read_file(reader *r) {
  if (!json_enter(&r->json, '{')) return false;
  for (size_t count = 0;;) {
    bool more;
    const char *key;
    if (!json_next(&r->json, '}', &count, &more)) return false;
    if (!more) return json_end(&r->json);
    if (!json_key(&r->json, &key)) return false;
    bool good = strcmp(key, "nodes") == 0           ? read_nodes(r)
                : strcmp(key, "root_eclasses") == 0 ? read_root_names(r)
                                                    : json_skip(&r->json);
    if (!good) return false;
  }
}

static bool resolve(reader *r) {
  plain_problem *p = r->problem;
  for (uint32_t i = 0; i < r->edges; i++) {
    const char *name = r->ids.name[p->child[i]];
    p->child[i] = r->class_of_id[p->child[i]];
    if (p->child[i] == NONE)
      return input_refuse(&r->json.in, 0, "child '%.100s' does not exist", name);
  }
  p->classes = r->classes.count;
  p->root = input_allocate(&r->json.in, r->root_names, sizeof *p->root);
  bool *seen = input_allocate(&r->json.in, p->classes, sizeof *seen);
  if (p->root == NULL || seen == NULL) return false;
  for (uint32_t i = 0; i < r->root_names; i++) {
    uint32_t slot = *table_slot(&r->classes, r->root_name[i]);
    if (slot == 0) p->roots_left_out++;
    if (slot == 0 || seen[slot - 1]) continue;
    seen[slot - 1] = true;
    p->root[p->roots++] = slot - 1;
  }
  return p->roots != 0 || input_refuse(&r->json.in, 0, "no root is the class of a node");
}

// Counting sort of `items` by key.
static bool group(reader *r, const uint32_t *key, uint32_t items, uint32_t **begin,
                  uint32_t **grouped) {
  uint32_t classes = r->problem->classes;
  *begin = input_allocate(&r->json.in, (size_t)classes + 2, sizeof **begin);
  *grouped = input_allocate(&r->json.in, items, sizeof **grouped);
  if (*begin == NULL || *grouped == NULL) return false;
  for (uint32_t i = 0; i < items; i++)
    (*begin)[key[i] + 2]++;
  for (uint32_t class = 2; class < classes + 2; class ++)
    (*begin)[class] += (*begin)[class - 1];
  for (uint32_t i = 0; i < items; i++)
    (*grouped)[(*begin)[key[i] + 1]++] = i;
  return true;
}

static bool index_rows(reader *r) {
  plain_problem *p = r->problem;
  if (!group(r, p->class_of, p->nodes, &p->member_begin, &p->member) ||
      !group(r, p->child, r->edges, &p->user_begin, &p->user))
    return false;
  uint32_t *owner = input_allocate(&r->json.in, r->edges, sizeof *owner);
  if (owner == NULL) return false;
  for (uint32_t n = 0; n < p->nodes; n++)
    for (uint32_t i = p->child_begin[n]; i < p->child_begin[n + 1]; i++)
      owner[i] = n;
  for (uint32_t i = 0; i < r->edges; i++)
    p->user[i] = owner[p->user[i]];
  return true;
}

bool plain_problem_read(input *in, plain_problem *out) {
  *out = (plain_problem){.nodes = 0};
  reader r = {.json = {.in = *in}, .problem = out};
  bool good = size_rooms(&r) && read_file(&r) && resolve(&r) && index_rows(&r);
  in->blocks = r.json.in.blocks;
  return good;
}
