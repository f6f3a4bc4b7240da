// What the reader of machine files reads from expressions: names, sizes, figures, forms
// of named parts. All fail with EGRAPH_E_PARSE and "file:line:col: ...".
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_MACHINE_READER_H
#define EG_PCG_MACHINE_READER_H

#include "base/sexpr.h"
#include "pcg/parallel/machine.h"

typedef struct eg_machine_reader {
  const char *file;
  eg_arena scratch; // of the expressions
  eg_machine *machine;
  eg_machine_link *links; // those of the machine, while they are made
  eg_machine_mesh *meshes;
  uint32_t nodes, nodes_wanted; // 0: not given
  bool has_device, uses_nodes;
} eg_machine_reader;

/// An atom of at most `max` letters, digits, -, _ and '.'; borrowed from the expression.
egraph_status eg_machine_read_name(const eg_machine_reader *r, const eg_sexpr *expr,
                                   size_t max, const char **out);
/// The name of a link or an axis.
egraph_status eg_machine_read_label(const eg_machine_reader *r, const eg_sexpr *expr,
                                    char out[EG_MESH_NAME_SIZE]);
/// (head "text"), not empty; the text is the machine's.
egraph_status eg_machine_read_string(const eg_machine_reader *r, const eg_sexpr *form,
                                     const char **out);
/// From 1 to EG_MACHINE_MAX_DEVICES.
egraph_status eg_machine_read_integer(const eg_machine_reader *r, const eg_sexpr *expr,
                                      uint32_t *out);
/// The same, or the atom `nodes`.
egraph_status eg_machine_read_size(eg_machine_reader *r, const eg_sexpr *expr,
                                   uint32_t *out);
/// (head number) in the range of plausible figures.
egraph_status eg_machine_read_figure(const eg_machine_reader *r, const eg_sexpr *form,
                                     bool may_be_zero, double *out);
/// Finds each part of a form by its name, from child `first` on: (form ... (a ...) (b
/// ...)). Absent parts are NULL.
egraph_status eg_machine_find_parts(const eg_machine_reader *r, const eg_sexpr *form,
                                    uint32_t first, const char *const *names,
                                    uint32_t count, const eg_sexpr **out);

#endif
