// Lists the links of a machine and the paths of messages: the ports of its classes of
// links (pcg/parallel/machine.h) become links of a task graph.
//
//   switch      a link out of every device and one into it; where devices share a port,
//               one out of every port and one into it, for messages that leave its
//               devices
//   fat tree    the same, and one up and one down between levels for every switch
//   torus       along every axis of the class, a wire from every device to the next one
//               and to the one before
//
// A message uses the class of the outermost axis in which its two devices differ, up to
// the receiver; over a torus it goes to the receiver's place in the torus, and on from
// there. The path of a message depends only on its two devices.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_TOPOLOGY_H
#define EG_SIM_TOPOLOGY_H

#include "base/vec.h"
#include "pcg/parallel/machine.h"

enum {
  EG_TOPOLOGY_MOST_LINKS = 1 << 24,
  EG_TOPOLOGY_MOST_PARTS = EG_MACHINE_MAX_LINKS * (4 + 2 * EG_MACHINE_MAX_LEVELS)
};

/// A range of links with one bandwidth and consecutive numbers; each link serves
/// `devices` ranks.
typedef struct eg_topology_part {
  uint32_t link;    // class
  uint32_t first;   // number of the first link
  uint32_t devices; // consecutive ranks that share a link
  double bandwidth; // bytes per second
} eg_topology_part;

typedef struct eg_topology {
  const eg_machine *machine;
  uint32_t devices, link_count, part_count;
  uint32_t first_part[EG_MACHINE_MAX_LINKS]; // first part of each class
  eg_topology_part parts[EG_TOPOLOGY_MOST_PARTS];
} eg_topology;

/// Lists the links of a machine, which is borrowed. Fails with EGRAPH_E_ARGUMENT on more
/// than EG_TOPOLOGY_MOST_LINKS.
egraph_status eg_topology_make(const eg_machine *machine, eg_topology *out);
/// Returns the index in `parts` of the range of links that contains a link.
uint32_t eg_topology_part_of(const eg_topology *topology, uint32_t link);
/// Appends the links that a message from one rank to another passes, all distinct;
/// *out_latency: seconds before it begins to send. The ports of the classes on its path
/// must be known; a message to its own device passes no link.
egraph_status eg_topology_path(const eg_topology *topology, uint32_t from, uint32_t to,
                               eg_u32s *out_links, double *out_latency);

#endif
