// Instances of bodies: copies the nodes of a function, a branch or a loop into the graph
// in which they run, under unique names.
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
  const eg_onnx_scope *scope; // scope of its nodes
  const char *stem;           // beginning of its new names
  // For a function, which may refer to attributes of its call and sees only its own
  // names. Both NULL: a graph within a node, which sees the names around it.
  const Onnx__NodeProto *call;
  const Onnx__FunctionProto *function;
  eg_onnx_scopes index; // name in the body -> its index in `names`
  eg_onnx_strings names;
} eg_onnx_instance;

/// Begins an instance of a graph within a node that is under import.
void eg_onnx_instance_init(eg_onnx_instance *instance, const eg_onnx_call *call);
void eg_onnx_instance_deinit(eg_onnx_instance *instance);
/// Binds a name of the body to `name`, which is borrowed.
egraph_status eg_onnx_instance_bind(eg_onnx_instance *instance, const char *formal,
                                    const char *name);
bool eg_onnx_instance_is_bound(const eg_onnx_instance *instance, const char *formal);
/// Finds the name for a name of the body (NULL is ""): the name that it is bound to. An
/// unbound name gets a new name in a function, and stays the same in a graph.
egraph_status eg_onnx_instance_name(eg_onnx_instance *instance, const char *formal,
                                    const char **out);
/// Binds a name of the body to a new name.
egraph_status eg_onnx_instance_make(eg_onnx_instance *instance, const char *formal,
                                    const char **out);
/// Copies a tensor under this name; the copy shares the data, and strings that readers
/// rely on are never NULL.
egraph_status eg_onnx_instance_tensor(eg_onnx_instance *instance,
                                      const Onnx__TensorProto *old, const char *name,
                                      Onnx__TensorProto **out);
/// Appends copies of the nodes to the reader's nodes, and registers their results. Fails
/// with EGRAPH_E_PARSE if the copies of an import get too large.
egraph_status eg_onnx_instance_add(eg_onnx_instance *instance,
                                   Onnx__NodeProto *const *nodes, size_t count);
/// Adds the types that a body declares for its tensors.
egraph_status eg_onnx_instance_declare(eg_onnx_instance *instance,
                                       Onnx__ValueInfoProto *const *infos, size_t count);
/// Announces, before an import, that the tensor of this name will be the tensor `to`:
/// marks it as used, and gives it the type that the file declares for `to`.
egraph_status eg_onnx_expect(eg_onnx_reader *reader, const char *name, eg_onnx_ref to);
/// Makes `to` the same tensor as the tensor of this name, which must exist.
egraph_status eg_onnx_alias(eg_onnx_reader *reader, const char *name, eg_onnx_ref to);

#endif
