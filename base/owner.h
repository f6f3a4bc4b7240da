// EG_OWNER_DEFINE(type, groups): type_init and type_deinit of a structure that owns its
// members. A group is a type and the names of the members of that type; the type has
// functions _init(member, alloc) and _deinit(member), as vectors have. Other fields
// become zero.
//
//   typedef struct eg_arcs { eg_u32s from, to; eg_doubles cost; bool is_sorted; }
//   eg_arcs; EG_OWNER_DEFINE(eg_arcs, (eg_u32s, from, to), (eg_doubles, cost))
//
// EG_OWNER_DEFINE_STATIC defines both as inline functions: in a header next to the
// structure, or for a structure of one file. Handwritten functions use EG_INIT_MEMBERS
// and EG_DEINIT_MEMBERS.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_OWNER_H
#define EG_BASE_OWNER_H

#include "base/memory.h"

/// Declares a local variable of zeros that type_deinit(&name) frees at every exit of its
/// scope. It replaces EG_LOCAL for types that a function fills, or whose initialization
/// can fail. type_deinit must accept zeros.
#define EG_OWNED(type, name) __attribute__((cleanup(type##_deinit))) type name = {0}

/// Returns `made`, the status of filling *self, an object of `type`; frees the object
/// after a failure.
#define EG_RETURN_FILLED(made, type, self)                                               \
  do {                                                                                   \
    egraph_status eg_filled_ = (made);                                                   \
    if (eg_filled_ != EGRAPH_OK) type##_deinit(self);                                    \
    return eg_filled_;                                                                   \
  } while (0)

#define EG_OWNER_DEFINE(type, ...) EG_OWNER_DEFINE_FROM(type, (0), __VA_ARGS__)
/// Like EG_OWNER_DEFINE, with initial values of other fields: (.cost = INFINITY, .alloc
/// = alloc).
#define EG_OWNER_DEFINE_FROM(type, values, ...)                                          \
  void type##_init(type *self, egraph_allocator alloc) {                                 \
    *self = (type){EG_UNPACK_ values};                                                   \
    EG_INIT_MEMBERS(self, alloc, __VA_ARGS__)                                            \
  }                                                                                      \
  void type##_deinit(type *self) { EG_DEINIT_MEMBERS(self, __VA_ARGS__) }

/// Declares a local pointer, at first NULL. type_destroy frees its object at the end of
/// the scope, unless EG_HAND_OVER gives the object to the caller. EG_HOLDER_DEFINE(type)
/// must come before.
#define EG_HELD(type, name) __attribute__((cleanup(type##_unhold))) type *name = NULL
#define EG_HOLDER_DEFINE(type)                                                           \
  __attribute__((unused)) static inline void type##_unhold(type **held) {                \
    type##_destroy(*held);                                                               \
  }

/// Returns `made`, the status of filling the object of `held`, an EG_HELD pointer. After
/// EGRAPH_OK the caller owns the object, in *out.
#define EG_HAND_OVER(made, held, out)                                                    \
  do {                                                                                   \
    egraph_status eg_made_ = (made);                                                     \
    if (eg_made_ == EGRAPH_OK) {                                                         \
      *(out) = (held);                                                                   \
      (held) = NULL;                                                                     \
    }                                                                                    \
    return eg_made_;                                                                     \
  } while (0)
/// Like EG_HAND_OVER for an object without EG_HELD pointer, such as a `base` with a
/// virtual destroy function: destroy(object) frees it after a failure.
#define EG_HAND_OVER_OR_DESTROY(made, object, destroy, out)                              \
  do {                                                                                   \
    egraph_status eg_made_ = (made);                                                     \
    if (eg_made_ == EGRAPH_OK)                                                           \
      *(out) = (object);                                                                 \
    else                                                                                 \
      destroy(object);                                                                   \
    return eg_made_;                                                                     \
  } while (0)

/// Like EG_LOCAL, with values of other fields: EG_LOCAL_WITH(writer, w, alloc, .out =
/// out); for types of EG_OWNER_DEFINE_STATIC or EG_OWNER_DEFINE_MEMBERS.
#define EG_LOCAL_WITH(type, name, alloc, ...)                                            \
  __attribute__((cleanup(type##_deinit))) type name = {__VA_ARGS__};                     \
  type##_init_members(&name, alloc)

#define EG_OWNER_DEFINE_STATIC(type, ...)                                                \
  EG_OWNER_DEFINE_STATIC_FROM(type, (0), __VA_ARGS__)
#define EG_OWNER_DEFINE_STATIC_FROM(type, values, ...)                                   \
  EG_OWNER_DEFINE_MEMBERS(type, __VA_ARGS__)                                             \
  __attribute__((unused)) static inline void type##_init(type *self,                     \
                                                         egraph_allocator alloc) {       \
    *self = (type){EG_UNPACK_ values};                                                   \
    type##_init_members(self, alloc);                                                    \
  }
/// Defines type_init_members and type_deinit, for a type whose type_init has other
/// parameters.
#define EG_OWNER_DEFINE_MEMBERS(type, ...)                                               \
  __attribute__((unused)) static inline void type##_init_members(                        \
      type *self, egraph_allocator alloc) {                                              \
    EG_INIT_MEMBERS(self, alloc, __VA_ARGS__)                                            \
  }                                                                                      \
  __attribute__((unused)) static inline void type##_deinit(type *self) {                 \
    EG_DEINIT_MEMBERS(self, __VA_ARGS__)                                                 \
  }

/// Initialize or free all members of all groups of *self, as statements.
#define EG_INIT_MEMBERS(self, alloc, ...)                                                \
  EG_GROUPS_(EG_INIT_MEMBER_, self, alloc, __VA_ARGS__)
#define EG_DEINIT_MEMBERS(self, ...)                                                     \
  EG_GROUPS_(EG_DEINIT_MEMBER_, self, unused, __VA_ARGS__)

#define EG_INIT_MEMBER_(self, alloc, type, member) type##_init(&(self)->member, alloc);
#define EG_DEINIT_MEMBER_(self, alloc, type, member) type##_deinit(&(self)->member);

// Up to 12 groups of up to 16 members: the count of arguments picks the macro that
// begins.
// clang-format off
#define EG_GROUPS_(M, s, a, ...) \
  EG_PICK_(__VA_ARGS__, x, x, x, x, EG_G12_, EG_G11_, EG_G10_, EG_G9_, EG_G8_, EG_G7_, EG_G6_, \
           EG_G5_, EG_G4_, EG_G3_, EG_G2_, EG_G1_, x)(M, s, a, __VA_ARGS__)
#define EG_GROUP_(M, s, a, group) EG_EXPAND_(EG_GROUP_OF_ EG_OPEN_(M, s, a, EG_UNPACK_ group))
#define EG_UNPACK_(...) __VA_ARGS__
#define EG_OPEN_(...) (__VA_ARGS__)
#define EG_EXPAND_(...) __VA_ARGS__
#define EG_GROUP_OF_(M, s, a, T, ...) \
  EG_PICK_(__VA_ARGS__, EG_M16_, EG_M15_, EG_M14_, EG_M13_, EG_M12_, EG_M11_, EG_M10_, EG_M9_, \
           EG_M8_, EG_M7_, EG_M6_, EG_M5_, EG_M4_, EG_M3_, EG_M2_, EG_M1_, x)(M, s, a, T, __VA_ARGS__)
#define EG_PICK_(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, pick, ...) pick
#define EG_G1_(M, s, a, g) EG_GROUP_(M, s, a, g)
#define EG_G2_(M, s, a, g, ...) EG_GROUP_(M, s, a, g) EG_G1_(M, s, a, __VA_ARGS__)
#define EG_G3_(M, s, a, g, ...) EG_GROUP_(M, s, a, g) EG_G2_(M, s, a, __VA_ARGS__)
#define EG_G4_(M, s, a, g, ...) EG_GROUP_(M, s, a, g) EG_G3_(M, s, a, __VA_ARGS__)
#define EG_G5_(M, s, a, g, ...) EG_GROUP_(M, s, a, g) EG_G4_(M, s, a, __VA_ARGS__)
#define EG_G6_(M, s, a, g, ...) EG_GROUP_(M, s, a, g) EG_G5_(M, s, a, __VA_ARGS__)
#define EG_G7_(M, s, a, g, ...) EG_GROUP_(M, s, a, g) EG_G6_(M, s, a, __VA_ARGS__)
#define EG_G8_(M, s, a, g, ...) EG_GROUP_(M, s, a, g) EG_G7_(M, s, a, __VA_ARGS__)
#define EG_G9_(M, s, a, g, ...) EG_GROUP_(M, s, a, g) EG_G8_(M, s, a, __VA_ARGS__)
#define EG_G10_(M, s, a, g, ...) EG_GROUP_(M, s, a, g) EG_G9_(M, s, a, __VA_ARGS__)
#define EG_G11_(M, s, a, g, ...) EG_GROUP_(M, s, a, g) EG_G10_(M, s, a, __VA_ARGS__)
#define EG_G12_(M, s, a, g, ...) EG_GROUP_(M, s, a, g) EG_G11_(M, s, a, __VA_ARGS__)
#define EG_M1_(M, s, a, T, m) M(s, a, T, m)
#define EG_M2_(M, s, a, T, m, ...) M(s, a, T, m) EG_M1_(M, s, a, T, __VA_ARGS__)
#define EG_M3_(M, s, a, T, m, ...) M(s, a, T, m) EG_M2_(M, s, a, T, __VA_ARGS__)
#define EG_M4_(M, s, a, T, m, ...) M(s, a, T, m) EG_M3_(M, s, a, T, __VA_ARGS__)
#define EG_M5_(M, s, a, T, m, ...) M(s, a, T, m) EG_M4_(M, s, a, T, __VA_ARGS__)
#define EG_M6_(M, s, a, T, m, ...) M(s, a, T, m) EG_M5_(M, s, a, T, __VA_ARGS__)
#define EG_M7_(M, s, a, T, m, ...) M(s, a, T, m) EG_M6_(M, s, a, T, __VA_ARGS__)
#define EG_M8_(M, s, a, T, m, ...) M(s, a, T, m) EG_M7_(M, s, a, T, __VA_ARGS__)
#define EG_M9_(M, s, a, T, m, ...) M(s, a, T, m) EG_M8_(M, s, a, T, __VA_ARGS__)
#define EG_M10_(M, s, a, T, m, ...) M(s, a, T, m) EG_M9_(M, s, a, T, __VA_ARGS__)
#define EG_M11_(M, s, a, T, m, ...) M(s, a, T, m) EG_M10_(M, s, a, T, __VA_ARGS__)
#define EG_M12_(M, s, a, T, m, ...) M(s, a, T, m) EG_M11_(M, s, a, T, __VA_ARGS__)
#define EG_M13_(M, s, a, T, m, ...) M(s, a, T, m) EG_M12_(M, s, a, T, __VA_ARGS__)
#define EG_M14_(M, s, a, T, m, ...) M(s, a, T, m) EG_M13_(M, s, a, T, __VA_ARGS__)
#define EG_M15_(M, s, a, T, m, ...) M(s, a, T, m) EG_M14_(M, s, a, T, __VA_ARGS__)
#define EG_M16_(M, s, a, T, m, ...) M(s, a, T, m) EG_M15_(M, s, a, T, __VA_ARGS__)
// clang-format on

#endif
