// A back-end owns device memory, compiles single nodes into programs, binds programs to
// memory and runs them. The executor and the profiler both run nodes only through this
// interface, so that the profiler measures the programs that the executor runs.
//
//   node spec --compile--> program --bind(addresses)--> launch --run, run, run
//                             '--prepare(weights)--> constants (packed once at load)
//
// All nodes with equal specs share one program; a launch belongs to one node. Addresses
// are device addresses: callers may add byte offsets to an address but never read from it
// (except for back-ends with host_memory). Thread-compatible: one back-end object per
// thread of use.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_BACKEND_H
#define EG_EXEC_BACKEND_H

#include "base/text.h"
#include "pcg/graph/node_spec.h"

typedef struct eg_backend eg_backend;
typedef struct eg_program eg_program;
typedef struct eg_launch eg_launch;

/// Alignment of device memory, and of every value in it, in bytes.
enum { EG_DEVICE_ALIGNMENT = 64 };
/// Returns `bytes`, rounded up to EG_DEVICE_ALIGNMENT.
static inline size_t eg_device_aligned(size_t bytes) {
  return (bytes + EG_DEVICE_ALIGNMENT - 1) & ~(size_t)(EG_DEVICE_ALIGNMENT - 1);
}

typedef struct eg_device_memory {
  void *address; // aligned to EG_DEVICE_ALIGNMENT; NULL when bytes is 0
  size_t bytes;
  void *owner; // private to the back-end
} eg_device_memory;

typedef struct eg_backend_options {
  uint32_t threads; // host threads a kernel may use; 0: as many as the machine has
  bool is_eager;    // launch every node separately, even where the device could replay a
                    // whole series of runs at once
  uint32_t device;  // number of the device, modulo the number of devices
} eg_backend_options;

/// The queue of a device to which a back-end submits its kernels, for other code that
/// works on the back-end's device memory.
typedef struct eg_device_queue {
  int32_t device; // the driver's number of the device
  void *stream;   // cudaStream_t
} eg_device_queue;

/// A node of a chain after the first one. It is the only reader of the result of the node
/// before it, and reads that result as its operand number `operand`.
typedef struct eg_chain_link {
  const eg_node_spec *spec;
  uint32_t operand;
} eg_chain_link;

/// What to compile: a node, or a chain of nodes with one result each, which run as one
/// kernel. The program of a chain takes the operands of the first node, then the
/// operands of each link except the result passed to it. Its result is the result of
/// the last link.
typedef struct eg_compile_request {
  const eg_node_spec *spec;
  uint64_t dying; // bit i: result 0 may take over the memory of operand i, which has
                  // no later reader
  const eg_chain_link *links;
  uint32_t link_count;
} eg_compile_request;

/// The properties of a program. Its constants are tensors computed from weights at load.
typedef struct eg_program_info {
  const char *kernel; // "oneDNN brgconv:avx512_core", "reference"
  bool native;        // false: the device has no kernel, so the reference kernel runs
  int32_t overlay;   // operand whose memory result 0 must share, or -1: result 0 overlaps
                     // no operand
  uint64_t in_place; // bit r: result r may share the memory of operand r if their types
                     // are equal and operand r has no later reader; without sharing,
                     // neither overlaps other tensors
  uint64_t kept;     // bits of the weight operands that a launch reads unpacked; only
                     // `prepare` reads the other weight operands
  const size_t *constant_bytes;
  uint32_t constant_count;
  size_t scratch_bytes; // bytes of scratch memory while a launch runs; several launches
                        // may share the memory
} eg_program_info;

/// The device addresses of one node's operands, results, constants and scratch memory.
/// Addresses of weights that no launch reads unpacked may be NULL.
typedef struct eg_bindings {
  void *const *operands;
  void *const *results;
  void *const *constants;
  void *scratch;
} eg_bindings;

typedef struct eg_program_vtable {
  void (*destroy)(eg_program *program); // required
  /// optional: NULL means no constants. Computes the constants from the weight operands
  /// (row-major, device addresses; other operands are NULL). Called between begin and end
  /// of the back-end.
  egraph_status (*prepare)(const eg_program *program, void *const *operands,
                           void *const *constants);
  /// required. Binds a program to memory; the launch borrows program and memory.
  egraph_status (*bind)(const eg_program *program, const eg_bindings *bindings,
                        eg_launch **out);
} eg_program_vtable;

struct eg_program {
  const eg_program_vtable *vtable;
  eg_program_info info;
};

typedef struct eg_launch_vtable {
  void (*destroy)(eg_launch *launch); // required
  /// required. Puts the launch's work on the device. Called between begin and end of
  /// the back-end.
  egraph_status (*run)(eg_launch *launch);
} eg_launch_vtable;

struct eg_launch {
  const eg_launch_vtable *vtable;
};

typedef struct eg_backend_vtable {
  const char *name;
  bool host_memory; // device addresses are host addresses
  /// required. Creates a back-end with these options.
  egraph_status (*create)(egraph_allocator alloc, const eg_backend_options *options,
                          eg_backend **out);
  void (*destroy)(eg_backend *backend); // required
  /// required. Appends the properties on which kernels depend: device model, instruction
  /// set, library version, threads.
  egraph_status (*describe)(const eg_backend *backend, eg_text *out);
  /// required. Returns the memory formats worth considering on this device, a bit per
  /// eg_format (plain included).
  uint32_t (*formats)(const eg_backend *backend);
  /// required. Allocates zeroed device memory. Fails with EGRAPH_E_MEMORY.
  egraph_status (*memory_create)(eg_backend *backend, size_t bytes,
                                 eg_device_memory *out);
  void (*memory_destroy)(eg_backend *backend, eg_device_memory *memory); // required
  /// optional: NULL means host_memory, copy with memcpy.
  egraph_status (*upload)(eg_backend *backend, void *to, const void *from, size_t bytes);
  egraph_status (*download)(eg_backend *backend, void *to, const void *from,
                            size_t bytes);
  /// optional: NULL means host_memory. copy_rows and fill work within device memory, in
  /// order with launches. copy_rows copies `count` rows of `bytes` bytes; rows begin
  /// `to_step` and `from_step` bytes apart. fill writes `value` `count` times; -infinity
  /// means the lowest number of the dtype.
  egraph_status (*copy_rows)(eg_backend *backend, void *to, size_t to_step,
                             const void *from, size_t from_step, size_t bytes,
                             size_t count);
  egraph_status (*fill)(eg_backend *backend, void *to, egraph_dtype dtype, double value,
                        size_t count);
  /// optional: NULL means host_memory. Returns the device's queue; work that is put on it
  /// runs after all launches run so far, and before all later ones.
  egraph_status (*queue)(eg_backend *backend, eg_device_queue *out);
  /// required. Compiles any typed node, on its reference kernel if there is no other.
  /// Fails with EGRAPH_E_UNSUPPORTED for opaque nodes and for inputs and weights.
  egraph_status (*compile)(eg_backend *backend, const eg_compile_request *request,
                           eg_program **out);
  /// optional: NULL means no chains. True when `compile` has one kernel for a chain. The
  /// answer depends on the request alone, without `dying`.
  bool (*fuses)(const eg_backend *backend, const eg_compile_request *request);
  /// optional: NULL means nothing to do. begin and end enclose a series of launches on
  /// one thread: begin sets thread count, signals and stream; after end all work is done.
  egraph_status (*begin)(eg_backend *backend);
  egraph_status (*end)(eg_backend *backend);
  /// optional: NULL means run returns when its launch is done. Waits for all launches.
  egraph_status (*wait)(eg_backend *backend);
} eg_backend_vtable;

struct eg_backend {
  const eg_backend_vtable *vtable;
  egraph_allocator alloc;
  uint32_t threads;   // threads of a kernel: the option, or the machine's number if the
                      // option is 0
  size_t cache_bytes; // bytes of the device's last-level cache; 0: unknown or host memory
  size_t total_bytes; // all bytes of the device's memory; 0: host memory or unknown
};

// ---- registry -------------------------------------------------------------------

/// Returns back-end number `index` among those that can run here: first the back-ends of
/// registry.c, then the plugin of this name ("cuda", "cuda:FILE"; NULL: none). NULL past
/// the last back-end.
const eg_backend_vtable *eg_backend_at(uint32_t index, const char *plugin);
/// Creates a back-end by name (NULL: "cpu"; "cuda:FILE": the plugin in FILE). Fails with
/// EGRAPH_E_ARGUMENT, listing the known names, and with EGRAPH_E_UNSUPPORTED when the
/// plugin cannot run.
egraph_status eg_backend_create(const egraph_allocator *alloc, const char *name,
                                const eg_backend_options *options, eg_backend **out);
void eg_backend_destroy(eg_backend *backend); // NULL is allowed

// ---- calls through the vtables --------------------------------------------------

egraph_status eg_backend_upload(eg_backend *backend, void *to, const void *from,
                                size_t bytes);
egraph_status eg_backend_download(eg_backend *backend, void *to, const void *from,
                                  size_t bytes);
/// In the next two functions `backend` may be NULL, too: host memory.
egraph_status eg_backend_copy_rows(eg_backend *backend, void *to, size_t to_step,
                                   const void *from, size_t from_step, size_t bytes,
                                   size_t count);
egraph_status eg_backend_fill(eg_backend *backend, void *to, egraph_dtype dtype,
                              double value, size_t count);
egraph_status eg_backend_begin(eg_backend *backend);
egraph_status eg_backend_end(eg_backend *backend);
void eg_device_memory_destroy(eg_backend *backend, eg_device_memory *memory);
egraph_status eg_program_prepare(const eg_program *program, void *const *operands,
                                 void *const *constants);
void eg_program_destroy(eg_program *program); // NULL is allowed
void eg_launch_destroy(eg_launch *launch);    // NULL is allowed

// ---- back-ends ------------------------------------------------------------------

/// Runs every node on the reference kernel of its operator, in one thread and in any
/// memory format (operands are first converted to row-major). Other back-ends are tested
/// against it.
extern const eg_backend_vtable eg_reference_backend;
/// Runs nodes on oneDNN, and on reference kernels where oneDNN has no kernel (cpu/).
extern const eg_backend_vtable eg_cpu_backend;
/// Lets CPU back-ends created from now on run kernels on their own teams of threads
/// instead of the OpenMP runtime's threads (cpu/onednn_imports.c). Returns false and
/// changes nothing where oneDNN's imports are fixed. Lasts until the process ends.
bool eg_cpu_use_own_threads(void);

/// Compiles a node for host memory on its reference kernel, when a host back-end has no
/// other kernel. Fails with EGRAPH_E_UNSUPPORTED for opaque operators, and for inputs and
/// weights, which the caller owns.
egraph_status eg_reference_compile(egraph_allocator alloc, const eg_node_spec *spec,
                                   eg_program **out);

#define EG_CUDA_BACKEND_NAME "cuda" // a plugin (plugins.c)

/// True when `name` means the CUDA back-end, with or without a file.
bool eg_cuda_plugin_is_asked(const char *name);
/// Loads the CUDA back-end and checks that there is a device. Fails with
/// EGRAPH_E_UNSUPPORTED; the message says what is missing and how to install it.
egraph_status eg_cuda_plugin_open(const char *name, const eg_backend_vtable **out);

// ---- host memory ----------------------------------------------------------------

/// Implement memory_create and memory_destroy for back-ends with host memory: the memory
/// is zeroed, aligned to EG_DEVICE_ALIGNMENT, from the back-end's allocator.
egraph_status eg_host_memory_create(eg_backend *backend, size_t bytes,
                                    eg_device_memory *out);
void eg_host_memory_destroy(eg_backend *backend, eg_device_memory *memory);
/// Returns the number of this machine's processors that are online.
uint32_t eg_host_processors(void);
/// Appends the processor's model, family and widest vectors: "AMD EPYC 25.17 avx512".
egraph_status eg_host_describe(eg_text *out);

#endif
