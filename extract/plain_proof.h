// Writes the proof of a plain bound as records that tools/check_certificate/plain.c reads
// (the head of that file describes them). A search in proof mode reports here every node
// that it drops, every split and every closed state. This module tracks the state of the
// checker, over the nodes of the original problem, and writes only records that the
// checker will accept.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_PLAIN_PROOF_H
#define EG_EXTRACT_PLAIN_PROOF_H

#include "base/owner.h"
#include "base/text.h"
#include "extract/class_graph.h"
#include "extract/dual_ascent.h"

typedef enum eg_proof_split {
  EG_PROOF_CLASS_USED,
  EG_PROOF_CLASS_UNUSED,
  EG_PROOF_NODE_WITHOUT,
  EG_PROOF_NODE_ONLY
} eg_proof_split;

typedef struct eg_proof_frame {
  eg_proof_split now;
  uint32_t item;
  bool last; // the other side is done
} eg_proof_frame;
EG_VEC_DEFINE(eg_proof_frames, eg_proof_frame);

typedef struct eg_plain_proof {
  const eg_extract_problem *problem; // borrowed
  double target; // a bound of this value or more closes a state, or drops a node
  eg_text text;
  size_t max_bytes; // limit of the text; a longer proof has failed
  bool failed, done;
  bool closed; // the current state
  eg_class_index index;
  eg_u32s gone_at, needed_at; // [node], [class]: 1 + depth of the split, 0: not
  eg_proof_frames splits;
  // The weighted sum under construction:
  double sum;
  eg_doubles rest;             // [node]
  double best;                 // largest sum of a state without splits
  size_t best_begin, best_end; // its records in the text
  size_t sum_begin;
  // Scratch.
  eg_u32s waiting, queue, set, cut_stamp, set_stamp, row;
  eg_bytes derived;
  uint32_t stamp;
} eg_plain_proof;
EG_OWNER_DEFINE_MEMBERS(eg_plain_proof, (eg_text, text), (eg_class_index, index),
                        (eg_u32s, gone_at, needed_at, waiting, queue, set, cut_stamp,
                         set_stamp, row),
                        (eg_proof_frames, splits), (eg_doubles, rest),
                        (eg_bytes, derived))

egraph_status eg_plain_proof_init(eg_plain_proof *proof, egraph_allocator alloc,
                                  const eg_extract_problem *problem, double target);

// Nodes are numbered as in the original problem. All functions fail with EGRAPH_E_MEMORY.

/// Drops node `n` if node `m` of its class can replace it; *out_gone: it was dropped.
egraph_status eg_plain_proof_worse(eg_plain_proof *proof, uint32_t n, uint32_t m,
                                   bool *out_gone);
/// Starts a weighted sum of rows.
egraph_status eg_plain_proof_begin(eg_plain_proof *proof);
/// Adds to the weighted sum the row (sum of `above`) >= 1. If `below` (nodes of one
/// class) is not empty, the row is (sum of `above`) >= (sum of `below`). Leaves out a row
/// that it cannot explain. O(nodes + edges) at most.
egraph_status eg_plain_proof_row(eg_plain_proof *proof, double weight,
                                 const uint32_t *above, uint32_t above_count,
                                 const uint32_t *below, uint32_t below_count);
/// Adds the cuts of a dual ascent with their charges. `part` gives the original node of
/// each node of the cuts. `price` holds the prices at the start, and on return the
/// final prices.
egraph_status eg_plain_proof_cuts(eg_plain_proof *proof, const uint32_t *part,
                                  const eg_cuts *cuts, double *price);
/// Ends the weighted sum of rows and drops the nodes that the sum rules out; sets
/// proof->closed when the sum reaches the target.
egraph_status eg_plain_proof_end(eg_plain_proof *proof);
/// Splits the current case of the proof in two by a class or node; the search continues
/// with case `side`.
egraph_status eg_plain_proof_split(eg_plain_proof *proof, eg_proof_split side,
                                   uint32_t item);
/// Closes the current case, or marks the proof as failed, and goes to the next case.
egraph_status eg_plain_proof_close(eg_plain_proof *proof);

static inline bool eg_plain_proof_has(const eg_plain_proof *proof, uint32_t node) {
  return proof->gone_at.data[node] == 0;
}

/// Appends a blank and the number, exactly: an integer or a C hexadecimal float. Fails
/// with EGRAPH_E_MEMORY.
egraph_status eg_certificate_double(eg_text *text, double value);

#endif
