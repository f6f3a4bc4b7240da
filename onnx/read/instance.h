// Instances of bodies: the nodes of a function, a branch or a loop, copied into the graph
// that they run in, under names that nothing else has.
//
// The files are hostile: bodies may call each other so that their copies grow
// exponentially. All copies of an import together have a limit of memory.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_ONNX_READ_INSTANCE_H
#define EG_ONNX_READ_INSTANCE_H

#include "onnx/read/reader.h"
#include "onnx/read/scopes.h"

typedef struct eg_onnx_instance {
  eg_onnx_reader *reader;
  const eg_onnx_scope *scope; // of its nodes
  const char *stem;           // of its names
  // A function has attributes by reference, and names of its own only. Both NULL: a graph
  // within a node, which sees the names around it.
  const Onnx__NodeProto *call;
  const Onnx__FunctionProto *function;
  eg_onnx_scopes index; // name in the body -> place in `names`
  eg_onnx_strings names;
} eg_onnx_instance;

/// Begins an instance of a graph within a node that is under import.
void eg_onnx_instance_init(eg_onnx_instance *instance, const eg_onnx_call *call);
void eg_onnx_instance_deinit(eg_onnx_instance *instance);
/// Binds a name of the body to `name`, which is borrowed.
egraph_status eg_onnx_instance_bind(eg_onnx_instance *instance, const char *formal,
                                    const char *name);
bool eg_onnx_instance_is_bound(const eg_onnx_instance *instance, const char *formal);
/// The name for a name of the body (NULL is ""): what it is bound to; else a new one in a
/// function, and itself in a graph.
egraph_status eg_onnx_instance_name(eg_onnx_instance *instance, const char *formal,
                                    const char **out);
/// Binds a name of the body to a new one.
egraph_status eg_onnx_instance_make(eg_onnx_instance *instance, const char *formal,
                                    const char **out);
/// A copy of a tensor under this name; data is shared, and strings that readers rely on
/// are there.
egraph_status eg_onnx_instance_tensor(eg_onnx_instance *instance,
                                      const Onnx__TensorProto *old, const char *name,
                                      Onnx__TensorProto **out);
/// Appends copies of the nodes to the reader's, with their results registered. Fails with
/// EGRAPH_E_PARSE where copies get too many.
egraph_status eg_onnx_instance_add(eg_onnx_instance *instance,
                                   Onnx__NodeProto *const *nodes, size_t count);
/// Adds the types that a body declares for its tensors.
egraph_status eg_onnx_instance_declare(eg_onnx_instance *instance,
                                       Onnx__ValueInfoProto *const *infos, size_t count);
/// Says before an import that the tensor of this name is to become `to`: it is used, and
/// what the file declares for `to` holds for it.
egraph_status eg_onnx_expect(eg_onnx_reader *reader, const char *name, eg_onnx_ref to);
/// Makes `to` the same tensor as the one of this name, which must exist.
egraph_status eg_onnx_alias(eg_onnx_reader *reader, const char *name, eg_onnx_ref to);

#endif
