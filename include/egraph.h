// egraph: optimizes deep-learning graphs by equality saturation.
//
// This is the whole public API. Conventions:
// - Fallible functions return egraph_status; egraph_last_error() describes the last failure of the
//   calling thread and is meaningful only right after it. Outputs are untouched on failure.
// - A returned pointer is borrowed from the object it came from. `T **out` of a create, load or run
//   function is owned by the caller: destroy it. `const T *` arguments are not kept.
// - Objects are thread-compatible: different objects may be used from different threads.
// - Times are in seconds, sizes in bytes, shapes in elements, row-major, ONNX operator semantics.
// - The library never prints, exits, reads the environment, or keeps mutable globals.
// SPDX-License-Identifier: Apache-2.0
#ifndef EGRAPH_H
#define EGRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define EGRAPH_API __attribute__((visibility("default")))
#define EGRAPH_NODISCARD __attribute__((warn_unused_result))
#else
#define EGRAPH_API
#define EGRAPH_NODISCARD
#endif

#define EGRAPH_VERSION_MAJOR 0
#define EGRAPH_VERSION_MINOR 1
#define EGRAPH_VERSION_PATCH 0

// ---- status ------------------------------------------------------------------------------------

// id, name. Use: ARGUMENT for misuse of a call; PARSE for malformed files and text; TYPE for shapes,
// dtypes and attributes that do not fit an operator; IO for the file system; MEMORY when an
// allocation fails; UNSUPPORTED for valid input beyond this build; BUSY when another process holds
// a database; CANCELLED when a callback asked to stop before there was a result; INTERNAL for a
// failing library underneath.
#define EGRAPH_STATUS_LIST(X)                                                            \
  X(EGRAPH_OK, "ok")                                                                     \
  X(EGRAPH_E_ARGUMENT, "invalid argument")                                               \
  X(EGRAPH_E_PARSE, "malformed input")                                                   \
  X(EGRAPH_E_TYPE, "type error")                                                         \
  X(EGRAPH_E_IO, "input/output error")                                                   \
  X(EGRAPH_E_MEMORY, "out of memory")                                                    \
  X(EGRAPH_E_UNSUPPORTED, "unsupported")                                                 \
  X(EGRAPH_E_BUSY, "busy")                                                               \
  X(EGRAPH_E_CANCELLED, "cancelled")                                                     \
  X(EGRAPH_E_INTERNAL, "internal error")

#define EGRAPH_STATUS_ENUM(id, name) id,
typedef enum egraph_status { EGRAPH_STATUS_LIST(EGRAPH_STATUS_ENUM) } egraph_status_code;
#undef EGRAPH_STATUS_ENUM
typedef egraph_status_code egraph_status;

/// "out of memory" and so on; never NULL.
EGRAPH_API const char *egraph_status_name(egraph_status status);
/// Message of the last failure of this thread: what is wrong, where, and what to do about it.
EGRAPH_API const char *egraph_last_error(void);
/// "0.1.0".
EGRAPH_API const char *egraph_version(void);

// ---- memory ------------------------------------------------------------------------------------

/// One function does it all. new_size 0 frees (and returns NULL); pointer NULL allocates; otherwise
/// the block of old_size bytes is moved. Returning NULL for a new_size > 0 means out of memory; the
/// old block then stays valid. Passing NULL for an allocator means the C heap.
typedef struct egraph_allocator {
  void *self;
  void *(*resize)(void *self, void *pointer, size_t old_size, size_t new_size);
} egraph_allocator;

// ---- tensors -----------------------------------------------------------------------------------

// id, spelling, bytes per element, ONNX TensorProto.DataType. float16 and bfloat16 are storage
// types: arithmetic happens in float32.
#define EGRAPH_DTYPE_LIST(X)                                                             \
  X(EGRAPH_FLOAT32, "float32", 4, 1)                                                     \
  X(EGRAPH_FLOAT64, "float64", 8, 11)                                                    \
  X(EGRAPH_FLOAT16, "float16", 2, 10)                                                    \
  X(EGRAPH_BFLOAT16, "bfloat16", 2, 16)                                                  \
  X(EGRAPH_INT8, "int8", 1, 3)                                                           \
  X(EGRAPH_INT16, "int16", 2, 5)                                                         \
  X(EGRAPH_INT32, "int32", 4, 6)                                                         \
  X(EGRAPH_INT64, "int64", 8, 7)                                                         \
  X(EGRAPH_UINT8, "uint8", 1, 2)                                                         \
  X(EGRAPH_UINT16, "uint16", 2, 4)                                                       \
  X(EGRAPH_UINT32, "uint32", 4, 12)                                                      \
  X(EGRAPH_UINT64, "uint64", 8, 13)                                                      \
  X(EGRAPH_BOOL, "bool", 1, 9)

#define EGRAPH_DTYPE_ENUM(id, name, bytes, onnx) id,
typedef enum egraph_dtype { EGRAPH_DTYPE_LIST(EGRAPH_DTYPE_ENUM) EGRAPH_DTYPE_COUNT } egraph_dtype;
#undef EGRAPH_DTYPE_ENUM

/// Largest rank of a tensor.
enum { EGRAPH_MAX_RANK = 12 };

#ifdef __cplusplus
}
#endif
#endif
