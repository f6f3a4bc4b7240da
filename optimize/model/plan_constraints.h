// A user's demands on a plan: statements about named values, or about all values of a
// kind. Text form:
//
//   (egraph-constraints 1)              ; first in a file; `;` starts a comment
//   (pin w1 gpu=S0)                     ; produced as: w1 enters the step, is made and
//                                       ; kept, cut along dimension 0 over axis gpu; it
//                                       ; may be moved for use
//   (pin (all weights) node=R gpu=S)    ; S: whichever dimension
//   (pin x *=R)                         ; over every axis
//   (deliver y gpu=S0)                  ; delivered as: output y leaves the step
//                                       ; in this layout, however it was produced
//   (deliver (all outputs) *=?)         ; ?: R, or S of any dimension, as is cheapest
//   (forbid h S1)                       ; h is never cut along dimension 1
//   (forbid (all states) R P (axis gpu))
//   (forbid (all activations) all-gather (axis gpu) (phase backward))
//
//   (pin h.*.mlp.w1 gpu=S1)            ; all values of such names: * is any characters
//
// Layouts and moves are spelled as plans spell them (pcg/plan/plan_report.h). A name with
// blanks or parentheses is quoted. Kinds of values: EG_PLAN_KIND_LIST.
//
// A statement about a name must hold. A statement about a kind is skipped for a value
// that would keep no layout: a size that does not divide cannot be cut.
//
// An output without a statement is delivered whole to every device (R). The first deliver
// statement about an output and an axis replaces R; further statements narrow the choice.
// A value that is handed to the next step leaves as it entered, therefore a deliver
// statement also pins its entry. An input enters the step in the layout to which it is
// pinned; without a pin, the plan chooses the layout.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_MODEL_PLAN_CONSTRAINTS_H
#define EG_OPTIMIZE_MODEL_PLAN_CONSTRAINTS_H

#include "base/owner.h"
#include "pcg/parallel/mesh.h"
#include "pcg/training/phase.h"

// Kinds of values that a statement may name: id, spelling. A value may be of several.
#define EG_PLAN_KIND_LIST(X)                                                             \
  X(EG_KIND_VALUES, "values")           /* every value */                                \
  X(EG_KIND_INPUTS, "inputs")           /* that no step hands to the next */             \
  X(EG_KIND_BATCHES, "batches")         /* inputs with the first one's dimension 0 */    \
  X(EG_KIND_WEIGHTS, "weights")         /* and forward values of weights alone */        \
  X(EG_KIND_STATES, "states")           /* of the optimizer */                           \
  X(EG_KIND_SUMS, "sums")               /* of gradients, over the micro-batches */       \
  X(EG_KIND_GRADIENTS, "gradients")     /* of weights, of one micro-batch */             \
  X(EG_KIND_OUTPUTS, "outputs")         /* that no step hands to the next */             \
  X(EG_KIND_ACTIVATIONS, "activations") /* others of forward and backward, no outputs */
#define EG_PLAN_KIND_ENUM(id, name) id,
typedef enum eg_plan_kind {
  EG_PLAN_KIND_LIST(EG_PLAN_KIND_ENUM) EG_PLAN_KINDS
} eg_plan_kind;
#undef EG_PLAN_KIND_ENUM
const char *eg_plan_kind_name(eg_plan_kind kind);

typedef enum eg_plan_verb { EG_VERB_PIN, EG_VERB_DELIVER, EG_VERB_FORBID } eg_plan_verb;

/// A user's statement about one axis; a pin over several axes becomes several statements.
typedef struct eg_plan_constraint {
  const char *file; // for messages, with line and column
  uint32_t line, column;
  eg_plan_verb verb;
  const char *value; // its name; NULL: all values of a kind
  eg_plan_kind kind;
  const char *axis; // NULL: every axis
  uint16_t digits;  // bit per digit of a sharding; forbid: excluded, else allowed digits
  uint8_t moves;    // forbid: bit per eg_transition_kind
  eg_phase phase;   // forbid; EG_PHASE_COUNT: all phases
} eg_plan_constraint;
EG_VEC_DEFINE(eg_plan_constraint_rows, eg_plan_constraint);

typedef struct eg_plan_constraints {
  eg_plan_constraint_rows rows; // in the order of the text
  eg_arena arena;               // of names
} eg_plan_constraints;
EG_OWNER_DEFINE_STATIC(eg_plan_constraints, (eg_plan_constraint_rows, rows),
                       (eg_arena, arena))

/// Appends the statements of another list; its names must live as long as this list.
/// Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_constraints_copy(eg_plan_constraints *constraints,
                                       const eg_plan_constraints *from);
/// Appends the statements of a text; `file` is for messages. `has_head`: the text begins
/// with (egraph-constraints 1). Fails with EGRAPH_E_PARSE ("file:line:col: ...").
egraph_status eg_plan_constraints_parse(eg_plan_constraints *constraints,
                                        const char *file, const char *text, size_t size,
                                        bool has_head);
/// Appends the statements of a file. Fails also with EGRAPH_E_IO.
egraph_status eg_plan_constraints_read(eg_plan_constraints *constraints,
                                       const char *path);
/// Appends a statement as one line of text; parsing the line gives the same statement.
egraph_status eg_plan_constraint_print(eg_text *text, const eg_plan_constraint *row);
/// Fails with the message "file:line:col: message", the place of a user's statement.
egraph_status eg_plan_constraint_fail(const eg_plan_constraint *row, const char *format,
                                      ...) EG_PRINTF(2, 3);
/// Returns the first statement that names an axis the mesh lacks, or NULL.
const eg_plan_constraint *
eg_plan_constraints_strange(const eg_plan_constraints *constraints, const eg_mesh *mesh);

#endif
