// Attributes of operators: a fixed list of typed slots per operator (op_table.def),
// interned so that equal attribute lists have one id. Ids are the payloads of e-nodes
// and graph nodes.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPS_ATTRS_H
#define EG_OPS_ATTRS_H

#include "base/flatmap.h"
#include "base/text.h"
#include "ops/tensor.h"

// Kinds of attribute: id, meaning of the text in the table and in rule files.
#define EG_ATTR_KIND_LIST(X)                                                             \
  X(EG_ATTR_INT, "integer")                                                              \
  X(EG_ATTR_INTS, "list of integers in brackets: [1 2 3]")                               \
  X(EG_ATTR_FLOAT, "number")                                                             \
  X(EG_ATTR_SYMBOL, "one of the symbols of its set")                                     \
  X(EG_ATTR_DTYPE, "element type: float32, int64, ...")                                  \
  X(EG_ATTR_STRING, "string in quotes")                                                  \
  X(EG_ATTR_FLOATS, "list of numbers in brackets: [1 0.5]")
#define EG_ATTR_KIND_ENUM(id, text) id,
typedef enum eg_attr_kind { EG_ATTR_KIND_LIST(EG_ATTR_KIND_ENUM) } eg_attr_kind;
#undef EG_ATTR_KIND_ENUM

// Fused activations (attribute `act` with `act_alpha`, `act_beta`): id, spelling,
// operator they equal.
#define EG_ACT_LIST(X)                                                                   \
  X(EG_ACT_NONE, "none", IDENTITY)                                                       \
  X(EG_ACT_RELU, "relu", RELU)                                                           \
  X(EG_ACT_SIGMOID, "sigmoid", SIGMOID)                                                  \
  X(EG_ACT_TANH, "tanh", TANH)                                                           \
  X(EG_ACT_GELU, "gelu", GELU)           /* exact (erf) form */                          \
  X(EG_ACT_GELU_TANH, "gelu-tanh", GELU) /* tanh approximation */                        \
  X(EG_ACT_SILU, "silu", SILU)                                                           \
  X(EG_ACT_HARDSWISH, "hard-swish", HARD_SWISH)                                          \
  X(EG_ACT_CLIP, "clip", CLIP)                   /* act_alpha: min, act_beta: max */     \
  X(EG_ACT_LEAKY_RELU, "leaky-relu", LEAKY_RELU) /* act_alpha: slope */                  \
  X(EG_ACT_ELU, "elu", ELU)                      /* act_alpha */
#define EG_ACT_ENUM(id, name, op) id,
typedef enum eg_act { EG_ACT_LIST(EG_ACT_ENUM) EG_ACT_COUNT } eg_act;
#undef EG_ACT_ENUM

/// Attribute `algorithm` of convolutions and their gradients, in the order of its
/// symbols.
typedef enum eg_conv_algorithm { EG_CONV_DIRECT, EG_CONV_WINOGRAD } eg_conv_algorithm;

typedef struct eg_ints {
  const int64_t *data;
  uint32_t len;
} eg_ints;

typedef struct eg_floats {
  const double *data;
  uint32_t len;
} eg_floats;

/// One attribute value. INTS, FLOATS and STRING point into the pool (or,
/// before interning, anywhere).
typedef struct eg_attr {
  eg_attr_kind kind;
  union {
    int64_t i;        // INT; SYMBOL: index in its set; DTYPE: egraph_dtype
    double f;         // FLOAT
    eg_ints ints;     // INTS
    const char *text; // STRING
    eg_floats floats; // FLOATS
  };
} eg_attr;

/// The slots of one operator, in the order of op_table.def.
typedef struct eg_attrs {
  uint16_t op;    // eg_op
  uint16_t count; // slots
  const eg_attr *slots;
} eg_attrs;

typedef struct eg_attrs_id {
  uint32_t id;
} eg_attrs_id;

/// Interns attribute lists. Pointers stay valid for the life of the pool; ids
/// count up from 0.
typedef struct eg_attr_pool eg_attr_pool;

egraph_status eg_attr_pool_create(const egraph_allocator *alloc, eg_attr_pool **out);
void eg_attr_pool_destroy(eg_attr_pool *pool);
egraph_status eg_attr_pool_add(eg_attr_pool *pool, const eg_attrs *attrs,
                               eg_attrs_id *out);
const eg_attrs *eg_attr_pool_get(const eg_attr_pool *pool, eg_attrs_id id);
uint32_t eg_attr_pool_len(const eg_attr_pool *pool);
size_t eg_attr_pool_bytes(const eg_attr_pool *pool);

bool eg_attr_same(const eg_attr *a, const eg_attr *b); // floats compare bitwise
bool eg_attrs_same(const eg_attrs *a, const eg_attrs *b);
/// A value whose lists and strings are in the arena.
egraph_status eg_attr_copy(eg_arena *arena, const eg_attr *from, eg_attr *to);

#endif
