// Reader of egraph-serialize JSON, the format of extraction-gym:
//
//   {"nodes": {"<id>": {"op": "+", "children": ["<id>", ...], "eclass": "<class>",
//              "cost": 1.0}, ...}, "root_eclasses": ["<class>", ...]}
//
// Children are named by any node of the child class. Other keys are skipped.
//
// The reader makes one pass, value by value: a tree of the file would take twenty times
// the memory of the e-graph. The caller decides how to store classes and nodes. A node
// may name children that come later. Children are therefore numbers of names at first;
// eg_egraph_json_resolve turns them into classes after the whole file has been read.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_EGRAPH_JSON_H
#define EG_BASE_EGRAPH_JSON_H

#include "base/json_scan.h"
#include "base/strmap.h"

#define EG_EGRAPH_JSON_NONE UINT32_MAX

typedef struct eg_egraph_json {
  eg_json_scan scan;
  eg_strmap classes;      // name -> class, in the order of the file
  eg_strmap ids;          // node id -> number, in the order of first mention
  eg_chars names;         // names of classes and nodes, each with its NUL
  eg_sizes class_name;    // [class] where its name begins in `names`
  eg_sizes id_name;       // [number]
  eg_u32s class_of;       // [number] EG_EGRAPH_JSON_NONE: mentioned only
  eg_u32s number_of;      // [node] nodes count in the order of the file
  eg_u32s children;       // numbers, of the node being read
  eg_chars roots;         // names, each with its NUL
  eg_chars id, key, text; // scratch
  uint32_t root_count;
  bool has_nodes, has_roots;
} eg_egraph_json;

/// An e-node that was read; borrowed during the call.
typedef struct eg_egraph_json_node {
  const char *id;
  uint32_t class;
  double cost;              // 1 when the file has none, or costs are not read
  const uint32_t *children; // [child_count] numbers of ids
  uint32_t child_count;
} eg_egraph_json_node;

/// Receives e-classes and e-nodes while the file is read. A failure of a function ends
/// the reading; eg_json_scan_fail(&json->scan, ...) names the position in the file.
typedef struct eg_egraph_json_sink {
  void *user;
  bool has_costs; // costs are read; otherwise they may be any value
  /// Called when an e-class is mentioned for the first time. May be NULL.
  egraph_status (*on_class)(void *user);
  /// Called with the "op" of the next e-node. NULL: "op" may be absent, or any value.
  egraph_status (*on_op)(void *user, const eg_egraph_json *json, const char *op);
  egraph_status (*on_node)(void *user, const eg_egraph_json *json,
                           const eg_egraph_json_node *node);
} eg_egraph_json_sink;

/// Opens a file, plain or gzip, of at most 16 GiB of text; `path` is borrowed until
/// close. Fails with EGRAPH_E_IO or EGRAPH_E_MEMORY; there is then nothing to close.
egraph_status eg_egraph_json_open(eg_egraph_json *json, egraph_allocator alloc,
                                  const char *path);
/// Opens `size` bytes of text in memory (borrowed until close); `path` replaces the file
/// name in messages.
egraph_status eg_egraph_json_open_bytes(eg_egraph_json *json, egraph_allocator alloc,
                                        const char *path, const char *text, size_t size);
void eg_egraph_json_close(eg_egraph_json *json);

// The functions below fail with EGRAPH_E_PARSE, naming the file, the position and
// the node.

/// Reads the whole file. Fails also as the functions of the sink do, or with EGRAPH_E_IO
/// or EGRAPH_E_MEMORY.
egraph_status eg_egraph_json_read(eg_egraph_json *json, const eg_egraph_json_sink *sink);
/// Turns children from numbers of node names into e-classes; children[begin[n] .. begin[n
/// + 1]) are the children of node n.
egraph_status eg_egraph_json_resolve(const eg_egraph_json *json, const uint32_t *begin,
                                     uint32_t *children);
/// Appends the classes of the roots, in order. Roots whose class has no node are skipped
/// and counted in *out_left_out; if `out_left_out` is NULL, such a root is an error. It
/// is also an error when no other root remains.
egraph_status eg_egraph_json_roots(const eg_egraph_json *json, eg_u32s *out,
                                   uint32_t *out_left_out);

static inline uint32_t eg_egraph_json_class_count(const eg_egraph_json *json) {
  return (uint32_t)json->class_name.len;
}

#endif
