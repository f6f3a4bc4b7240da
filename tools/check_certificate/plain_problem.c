// SPDX-License-Identifier: Apache-2.0
#include "tools/check_certificate/plain_problem.h"

#include <string.h>

#include "tools/check_certificate/problem_json.h"

#define NONE UINT32_MAX

// Names and their numbers, in the order in which the file first has them.
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
  bool seen[3]; // members of the current node
} reader;

static uint32_t hash_of(const char *name) {
  uint64_t hash = 14695981039346656037u;
  for (; *name != '\0'; name++)
    hash = (hash ^ (unsigned char)*name) * 1099511628211u;
  return (uint32_t)(hash ^ hash >> 32);
}

// Makes a table for at most `room` names.
static bool table_open(reader *r, name_table *table, uint32_t room) {
  table->slots = 16;
  while (table->slots / 2 < room)
    table->slots *= 2;
  return INPUT_ROOM(&r->json.in, table->name, room) &&
         INPUT_ROOM(&r->json.in, table->slot, table->slots);
}

static uint32_t *table_slot(const name_table *table, const char *name) {
  uint32_t at = hash_of(name) & (table->slots - 1);
  while (table->slot[at] != 0 && strcmp(table->name[table->slot[at] - 1], name) != 0)
    at = (at + 1) & (table->slots - 1);
  return &table->slot[at];
}

// Returns the number of a name; a new name gets the next number. size_rooms counted
// every name; the table therefore always has a free slot.
static uint32_t table_number(name_table *table, const char *name) {
  uint32_t *slot = table_slot(table, name);
  if (*slot == 0) {
    table->name[table->count++] = name;
    *slot = table->count;
  }
  return *slot - 1;
}

// Allocates memory for upper limits of the numbers of nodes, names and children in a
// file: each of them has a colon or a quoted string.
static bool size_rooms(reader *r) {
  input *in = &r->json.in;
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
  if (!INPUT_ROOM(in, p->cost, r->max_nodes) ||
      !INPUT_ROOM(in, p->class_of, r->max_nodes) ||
      !INPUT_ROOM(in, p->child_begin, (size_t)r->max_nodes + 1) ||
      !INPUT_ROOM(in, p->child, names) || !INPUT_ROOM(in, r->root_name, names) ||
      !INPUT_ROOM(in, r->class_of_id, names))
    return false;
  for (uint32_t i = 0; i < names; i++)
    r->class_of_id[i] = NONE;
  return table_open(r, &r->ids, names) && table_open(r, &r->classes, names);
}

// Reads a child. Children are numbers of names until every node is known.
static bool read_child(problem_json *json, void *user) {
  reader *r = user;
  const char *name;
  if (!json_string(json, &name)) return false;
  if (r->edges == r->max_edges) return json_refuse(json, "too many children");
  r->problem->child[r->edges++] = table_number(&r->ids, name);
  return true;
}

// Reads a member of the last counted node.
static bool read_field(problem_json *json, const char *key, void *user) {
  static const char *const KEYS[] = {"eclass", "children", "cost"};
  reader *r = user;
  uint32_t node = r->problem->nodes - 1;
  const char *name;
  size_t which = 0;
  while (which < 3 && strcmp(key, KEYS[which]) != 0)
    which++;
  if (which == 3) return json_skip(json);
  if (r->seen[which]) return json_refuse(json, "\"%s\" twice", key);
  r->seen[which] = true;
  if (which == 1) return json_array(json, read_child, r);
  if (which == 2) return json_double(json, &r->problem->cost[node]);
  if (!json_string(json, &name)) return false;
  r->problem->class_of[node] = table_number(&r->classes, name);
  return true;
}

static bool read_node(problem_json *json, const char *name, void *user) {
  reader *r = user;
  plain_problem *p = r->problem;
  if (p->nodes == r->max_nodes) return json_refuse(json, "too many nodes");
  uint32_t id = table_number(&r->ids, name), node = p->nodes++;
  if (r->class_of_id[id] != NONE) return json_refuse(json, "a node named twice");
  p->cost[node] = 1; // when the file has no cost
  memset(r->seen, 0, sizeof r->seen);
  if (!json_object(json, read_field, r)) return false;
  if (!r->seen[0]) return json_refuse(json, "a node has no \"eclass\"");
  r->class_of_id[id] = p->class_of[node];
  p->child_begin[node + 1] = r->edges;
  return true;
}

static bool read_root_name(problem_json *json, void *user) {
  reader *r = user;
  if (r->root_names == r->max_roots) return json_refuse(json, "too many roots");
  return json_string(json, &r->root_name[r->root_names++]);
}

static bool read_section(problem_json *json, const char *key, void *user) {
  reader *r = user;
  if (strcmp(key, "nodes") == 0)
    return r->problem->nodes == 0 ? json_object(json, read_node, r)
                                  : json_refuse(json, "\"nodes\" for the second time");
  if (strcmp(key, "root_eclasses") != 0) return json_skip(json);
  return r->root_names == 0 ? json_array(json, read_root_name, r)
                            : json_refuse(json, "roots for the second time");
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
  bool *seen;
  if (!INPUT_ROOM(&r->json.in, p->root, r->root_names) ||
      !INPUT_ROOM(&r->json.in, seen, p->classes))
    return false;
  for (uint32_t i = 0; i < r->root_names; i++) {
    uint32_t slot = *table_slot(&r->classes, r->root_name[i]);
    if (slot == 0) p->roots_left_out++;
    if (slot == 0 || seen[slot - 1]) continue;
    seen[slot - 1] = true;
    p->root[p->roots++] = slot - 1;
  }
  return p->roots != 0 || input_refuse(&r->json.in, 0, "no root is the class of a node");
}

static bool index_rows(reader *r) {
  plain_problem *p = r->problem;
  input *in = &r->json.in;
  uint32_t *owner;
  if (!input_group(in, p->class_of, p->nodes, p->classes, &p->member_begin, &p->member) ||
      !input_group(in, p->child, r->edges, p->classes, &p->user_begin, &p->user) ||
      !INPUT_ROOM(in, owner, r->edges))
    return false;
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
  bool good = size_rooms(&r) && json_object(&r.json, read_section, &r) &&
              json_end(&r.json) && resolve(&r) && index_rows(&r);
  in->blocks = r.json.in.blocks;
  return good;
}
