// A machine for which plans are made: figures of a device's computing and memory, and the
// links between devices (format: machines/README.md; DESIGN section 7).
//
// The axes of a machine are its structure: (axis node 2 ...) (axis gpu 8 ...) has ranks
// 0..15, axis 0 slowest, as in a mesh. A mesh is one arrangement of these ranks. Each of
// its axes has a link, by default the slowest link of the machine's axes whose coordinate
// changes along it:
//
//   axes (node 2) (gpu 8)
//   mesh (node 2) (pair 2) (quad 4)    links of node, gpu, gpu
//   mesh (all 16)                      link of node
//
// The cost of computing on a machine may be zero: plans are then compared by
// communication alone, and "seconds" are in the unit of the links.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_MACHINE_H
#define EG_PCG_MACHINE_H

#include "pcg/parallel/mesh.h"

enum {
  EG_MACHINE_MAX_DEVICES = 1 << 20,
  EG_MACHINE_MAX_LINKS = 16, // classes of links
  EG_MACHINE_MAX_LEVELS = 4, // of a fat tree
  EG_MACHINE_TEXT_VERSION = 1
};
#define EG_LINK_AUTO UINT32_MAX

// Algorithms by which collectives are priced: id, spelling. Formulas: sim/collective.h.
#define EG_COLLECTIVES_LIST(X)                                                           \
  X(EG_COLLECTIVES_AUTO, "auto") /* the best of ring and tree, for each size */          \
  X(EG_COLLECTIVES_RING, "ring") /* as many rounds as devices, least traffic */          \
  X(EG_COLLECTIVES_TREE, "tree") /* rounds as the logarithm of the devices */            \
  X(EG_COLLECTIVES_ALPA, "alpa") /* Alpa's, with its tie constants */
typedef enum eg_collectives {
  EG_COLLECTIVES_LIST(EG_ENUM_ID) EG_COLLECTIVES_COUNT
} eg_collectives;
const char *eg_collectives_name(eg_collectives collectives);

/// Seconds of exchanges up to a size: latency + bytes / speed.
typedef struct eg_size_class {
  double most_bytes;       // ignored in the last class, which has no limit
  double latency_seconds;  // below 0 if seconds grow faster than bytes
  double seconds_per_byte; // >= 0
} eg_size_class;

enum { EG_SIZE_CLASSES = 8 };
/// Measured seconds of one kind of exchange, in place of a formula. Bytes are
/// eg_transition_bytes; of a halo, the bytes that arrive from both sides.
typedef struct eg_link_curve {
  uint32_t exchange; // an eg_transition_kind that is not local, or EG_EXCHANGE_HALO
  uint32_t devices;  // number along the axis; > 1
  uint32_t class_count;
  eg_size_class classes[EG_SIZE_CLASSES]; // in ascending order of size
} eg_link_curve;

/// A measured point of the curve of an exchange: bytes and seconds.
typedef struct eg_exchange_point {
  uint32_t exchange, devices; // as in eg_link_curve
  double bytes, seconds;
  double spread; // half the distance of the quartiles
  uint32_t samples;
} eg_exchange_point;
EG_VEC_DEFINE(eg_exchange_points, eg_exchange_point);

// What a device reaches of its peak: kinds of work, id, spelling.
#define EG_REACH_LIST(X)                                                                 \
  X(EG_REACH_PRODUCT, "product")               /* by operations */                       \
  X(EG_REACH_CONVOLUTION, "convolution")       /* by operations */                       \
  X(EG_REACH_ATTENTION, "attention")           /* by operations */                       \
  X(EG_REACH_ATTENTION_GRAD, "attention-grad") /* by operations */                       \
  X(EG_REACH_BYTES, "bytes")                   /* read and written, by every operator */
typedef enum eg_reach_kind { EG_REACH_LIST(EG_ENUM_ID) EG_REACH_KINDS } eg_reach_kind;
const char *eg_reach_kind_name(uint32_t kind);

/// A share of the peak (of BYTES, of the bandwidth) that an operator of this work
/// reaches.
typedef struct eg_reach_point {
  double work;  // operations or bytes; > 0
  double share; // > 0, at most 1
} eg_reach_point;

enum { EG_REACH_POINTS = 16 };
/// The seconds of a kind of work: proportional to the work up to the first point and from
/// the last point on, in between linear from point to point; they never fall with work.
typedef struct eg_reach {
  uint32_t kind;     // eg_reach_kind
  uint32_t dtype;    // of operand 0; EGRAPH_DTYPE_COUNT: types without a curve
  bool is_measured;  // else published
  const char *where; // the figures come from
  uint32_t point_count;
  eg_reach_point points[EG_REACH_POINTS]; // by work, which differs
} eg_reach;

/// Returns the seconds of some work on a device with this peak per second.
double eg_reach_seconds(const eg_reach *reach, double work, double peak);

// How the ports of a class of links are joined to a network: id, spelling.
#define EG_PORTS_LIST(X)                                                                 \
  X(EG_PORTS_UNKNOWN, "")          /* not given: a formula prices exchanges */           \
  X(EG_PORTS_SWITCH, "switch")     /* any to any, each at its full bandwidth */          \
  X(EG_PORTS_FAT_TREE, "fat-tree") /* switches of switches, with narrower links up */    \
  X(EG_PORTS_TORUS, "torus")       /* wires to both neighbours along each axis */
typedef enum eg_ports { EG_PORTS_LIST(EG_ENUM_ID) EG_PORTS_COUNT } eg_ports;
const char *eg_ports_name(eg_ports ports);

/// Switches of one level of a fat tree. The link up from a switch, and the link down,
/// carry what the ports below the switch carry, divided by `oversubscription`. Switches
/// of the last level are joined by a switch of unlimited bandwidth.
typedef struct eg_tree_level {
  uint32_t devices;        // number of neighbouring ranks below one switch
  double oversubscription; // >= 1
} eg_tree_level;

/// A class of links of a machine. A device has the bandwidth in and out at the same time.
typedef struct eg_machine_link {
  char name[EG_MESH_NAME_SIZE];
  double latency_seconds;  // alpha: latency of a message; >= 0
  double seconds_per_byte; // beta; > 0
  double bandwidth_bytes;  // 1 / beta where the file gives it, else 0
  double reached;          // share of the bandwidth that exchanges reach; 1: not given
  const char *where;       // this share comes from, or ""
  uint32_t sharers;        // neighbouring ranks that share one port; 1: each has its own
  uint32_t curve_count;
  const eg_link_curve *curves; // of exchanges measured over the link
  eg_ports ports;
  uint32_t through;     // class whose ports messages pass, too (PCIe to a NIC); or AUTO
  uint32_t level_count; // of a fat tree, beginning at the devices
  eg_tree_level levels[EG_MACHINE_MAX_LEVELS];
} eg_machine_link;

typedef struct eg_machine_axis {
  char name[EG_MESH_NAME_SIZE];
  uint32_t size;
  uint32_t link; // index in eg_machine.links
} eg_machine_axis;

/// The link of one device along a mesh axis, when all devices communicate along
/// this axis.
typedef struct eg_mesh_link {
  uint32_t link;                    // EG_LINK_AUTO: none, the axis has one device
  double latency_seconds;           // alpha
  double seconds_per_byte;          // beta between neighbours: rings, halos
  double exchange_seconds_per_byte; // beta between any two, if sharers use a port at once
  uint32_t curve_count;
  const eg_link_curve *curves; // of the machine's link; they replace these figures
} eg_mesh_link;

/// One arrangement of a machine's devices as a mesh. Axes of meshes in a file are larger
/// than 1; no axis: a single device.
typedef struct eg_machine_mesh {
  eg_mesh mesh;
  eg_collectives collectives;
  eg_mesh_link links[EG_MAX_MESH_AXES];
  uint32_t idle; // a bit for each axis along which all devices do the same (see parts)
} eg_machine_mesh;

typedef struct eg_machine {
  const char *name;
  const char *device;      // kind, in words; "" when not given
  const char *profile;     // key in a profile database; "host": of this host; "": none
  bool compute_is_free;    // the figures of the device are then 0, except memory
  double memory_bytes;     // of a device; INFINITY: no limit
  double bandwidth_bytes;  // of a device's memory, per second
  double overhead_seconds; // of a kernel
  double slowdown; // factor on the seconds of the profile; 1 unless the file gives it
  double beside;   // factor on computing while the device exchanges; 0: not given
  double peak_flops[EGRAPH_DTYPE_COUNT]; // per second
  bool has_assumed_peak; // the peak is a guess: reports print no share of it
  uint32_t reach_count;
  const eg_reach *reaches; // of this device; one for a kind and a type
  bool uses_reached;       // prices follow them, and links have the bandwidth they reach
  eg_collectives collectives;
  uint32_t axis_count, link_count, mesh_count;
  eg_machine_axis axes[EG_MAX_MESH_AXES];
  eg_machine_link *links;
  eg_machine_mesh *meshes; // distinct, at least one; in the order of the file
  eg_arena memory;         // of names, links and meshes
} eg_machine;

/// Prices by what the device and links reach, instead of their data sheets, from now on.
/// Fails with EGRAPH_E_ARGUMENT where the machine does not say what they reach.
egraph_status eg_machine_use_reached(eg_machine *machine);
/// Returns the curve of a kind of work on operands of a type; NULL: the data sheet
/// counts.
const eg_reach *eg_machine_reach(const eg_machine *machine, eg_reach_kind kind,
                                 egraph_dtype dtype);

/// Fills a mesh of all devices of the machine with its links. `links` has the link of
/// each axis (EG_LINK_AUTO: the slowest along it); NULL: all EG_LINK_AUTO. Fails with
/// EGRAPH_E_ARGUMENT when the mesh has another number of devices.
egraph_status eg_machine_mesh_of(const eg_machine *machine, const eg_mesh *mesh,
                                 const uint32_t *links, eg_machine_mesh *out);

/// Like eg_machine_mesh_of without `links`, but a mesh of the machine file, or a part of
/// such a mesh, gets the links given in the file. No axis is marked as idle.
egraph_status eg_machine_find_mesh(const eg_machine *machine, const eg_mesh *mesh,
                                   eg_machine_mesh *out);
uint32_t eg_machine_devices(const eg_machine *machine);

// ---- parts of a machine: meshes with fewer devices at work ----------------------------
//
// Devices along an idle axis do the same work. Often no plan can use all devices: a batch
// of 64 is cut into at most 64 parts, and an axis of 512 devices is used as a whole or
// not at all. The part (idle 8)(node 64) of that mesh uses 64 devices. Parts go down to
// one device, by one prime factor at a time, from the outermost axis on. Every plan of a
// smaller machine is therefore a plan of a larger machine, too:
//
//   node=4,gpu=2    idle=2,node=2,gpu=2    idle=4,gpu=2    idle=8

EG_VEC_DEFINE(eg_machine_meshes, eg_machine_mesh);

/// Appends the distinct parts of the machine's meshes (meshes whose first axis is idle),
/// those with the fewest idle devices first. Fails with EGRAPH_E_MEMORY.
egraph_status eg_mesh_parts_add(const eg_machine *machine, eg_machine_meshes *out);
/// Returns how many groups of devices do the same work: the product of the idle axes.
uint32_t eg_mesh_idle_places(const eg_machine_mesh *mesh);
/// True when every plan of `part` is also a plan of `mesh` with its outer axes idle.
bool eg_mesh_covers(const eg_machine_mesh *mesh, const eg_machine_mesh *part);

// ---- files (machine_parse.c), machines by name and this host (machine_load.c) -------

/// Reads a machine file. `nodes` replaces the number in its clause (nodes n); 0 keeps it.
/// `file` is for messages. Fails with EGRAPH_E_PARSE ("file:line:col: ..."),
/// EGRAPH_E_ARGUMENT (no size of the file is `nodes`), EGRAPH_E_MEMORY.
egraph_status eg_machine_parse(const egraph_allocator *alloc, const char *file,
                               const char *text, size_t size, uint32_t nodes,
                               eg_machine *out);
/// Reads a shipped machine or a file (a name with a '/' or ending in ".machine"); "*n"
/// behind the name is the number of nodes: "dgx-h100*16", "my.machine". "host" is this
/// host, a rank per processor; "host*4" has four ranks; ranks of "host-mpi*4" are
/// processes. ":reached" at the end: eg_machine_use_reached. Fails also with EGRAPH_E_IO.
egraph_status eg_machine_load(const egraph_allocator *alloc, const char *name,
                              eg_machine *out);
/// True when a name asks for what a machine reaches: it ends with ":reached".
bool eg_machine_asks_reached(const char *name);
/// True when a name that eg_machine_load takes is a name of this host; *out_ranks is the
/// number behind the name, or 0.
bool eg_machine_is_host(const char *name, uint32_t *out_ranks);
/// Returns the channel between ranks of this host: "local" (threads) for "host", "mpi"
/// (processes) for "host-mpi". `name` is a name of this host.
const char *eg_machine_host_channel(const char *name);
void eg_machine_deinit(eg_machine *machine);

/// Figures of one processor of this host, and of messages between two ranks.
typedef struct eg_host_figures {
  bool has_device;                    // each rank has a device, not a processor
  double device_bytes;                // of the device's memory; 0: not known
  double peak_flops, bandwidth_bytes; // per second, float32
  double overhead_seconds;            // of a kernel
  double latency_seconds, link_bytes; // of a message; bytes per second
} eg_host_figures;
/// Figures of a plain CPU core and of threads, assumed without measurements.
extern const eg_host_figures eg_host_figures_assumed;

/// Appends a machine file for this host with `ranks` ranks (0: one per processor that is
/// online), each with its part of the memory, and with its part of a processor where
/// there are fewer processors than ranks. Measurements in a profile database are more
/// exact than the figures.
egraph_status eg_machine_host_print(eg_text *text, uint32_t ranks,
                                    const eg_host_figures *figures);

#endif
