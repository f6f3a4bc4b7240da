// Constants of the text form of a graph.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_GRAPH_TEXT_H
#define EG_PCG_GRAPH_TEXT_H

/// Weights of at most this many elements are written with their data.
enum { EG_GRAPH_TEXT_ELEMENTS = 64, EG_GRAPH_TEXT_VERSION = 1 };

#endif
