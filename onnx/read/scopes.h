// Names in graphs within nodes: each graph has a scope, and the names that it defines
// hide equal names around it. The order of nodes does not matter: in a valid file no name
// is used before its graph defines it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_ONNX_READ_SCOPES_H
#define EG_ONNX_READ_SCOPES_H

#include "base/strmap.h"
#include "base/vec.h"
#include "third_party/onnx/onnx-ml.pb-c.h"

EG_VEC_DEFINE(eg_onnx_strings, const char *);

/// A name, and its value outside of the scope that defines it.
typedef struct eg_onnx_hidden {
  const char *name; // borrowed
  uint32_t before;
} eg_onnx_hidden;
EG_VEC_DEFINE(eg_onnx_hidden_names, eg_onnx_hidden);

typedef struct eg_onnx_scopes {
  eg_strmap names; // UINT32_MAX: not defined
  eg_onnx_hidden_names hidden;
} eg_onnx_scopes;

void eg_onnx_scopes_init(eg_onnx_scopes *scopes, egraph_allocator alloc);
void eg_onnx_scopes_deinit(eg_onnx_scopes *scopes);
/// Defines a name until the scope is left; `value` is not UINT32_MAX.
egraph_status eg_onnx_scopes_define(eg_onnx_scopes *scopes, const char *name,
                                    uint32_t value);
/// Defines a name permanently; a scope may still hide it.
egraph_status eg_onnx_scopes_keep(eg_onnx_scopes *scopes, const char *name,
                                  uint32_t value);
bool eg_onnx_scopes_find(const eg_onnx_scopes *scopes, const char *name, uint32_t *out);
/// Restores the names that were defined at the mark, an earlier length of `hidden`.
void eg_onnx_scopes_leave(eg_onnx_scopes *scopes, size_t mark);

/// Lists names of a graph; *out_initializers (may be NULL) is the number of initializers.
typedef egraph_status eg_onnx_names_in(const Onnx__GraphProto *graph,
                                       eg_onnx_strings *out, size_t *out_initializers);
/// eg_onnx_initializer_names appends the names of a graph's initializers;
/// eg_onnx_defined_names appends the same names, then the names of operands and results.
eg_onnx_names_in eg_onnx_initializer_names, eg_onnx_defined_names;

#endif
