// Families: the operators, attributes and operands from which terms are enumerated.
//
//   file     := (egraph-families 1) family*
//   family   := (family NAME (about "text") (elements N)? (inputs leaf*) (weights leaf*)?
//                (constants constant*)? (operators template*))
//   leaf     := (NAME COUNT "float32[4,4]")          NAME1, NAME2, ..., of one type
//   constant := (NAME "float32[]" 2.0)            a weight, all elements of which are
//   this template := (OP choice* (:operands N)? (:leaves [i ...])? (:kernel [n ...])?)
//   choice   := :attribute value | :attribute (each value value ...)
//
// A template with `each` expands to one template for every combination. `:operands` is
// the number of operands, by default the fewest that the operator takes. Operands listed
// in `:leaves` are inputs or weights, not computed; so are all other operands except the
// first two. `:kernel` gives the last dimensions of the second operand. An operator
// without operands is a constant. Results of more than `elements` elements are left out.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GENERATE_FAMILY_H
#define EG_REWRITES_GENERATE_FAMILY_H

#include "base/sexpr.h"
#include "ops/ops.h"

enum { EG_FAMILY_MAX_LEAVES = 48, EG_FAMILY_MAX_TEMPLATES = 400 };

typedef struct eg_family_leaf {
  const char *name; // "a2"
  eg_type type;
  bool is_weight, is_constant;
  double number;        // constant: the value of every element
  eg_attr fill;         // the same number as the value of a fill
  uint32_t group, rank; // leaf number `rank` of its group; a group is a line of the file
} eg_family_leaf;

typedef struct eg_family_template {
  eg_attrs attrs;
  uint32_t operand_count;
  uint32_t leaves; // bits of operands that are inputs or weights
  eg_ints ends;    // last dimensions of operand 1; empty: any
} eg_family_template;

/// A family, in the arena into which it was read.
typedef struct eg_family {
  const char *name, *about;
  uint32_t max_elements;
  eg_family_leaf *leaves;
  uint32_t leaf_count;
  uint64_t constants; // bits of the leaves that are constants
  eg_family_template *templates;
  uint32_t template_count;
  uint64_t hash; // hash of its canonical text: a state file belongs to one family
} eg_family;

/// Reads the families of a text and calls `visit` (may be NULL) for each.
typedef egraph_status eg_family_visit(void *user, const eg_family *family);
egraph_status eg_families_read(eg_arena *arena, const char *file, const char *text,
                               size_t size, eg_family_visit *visit, void *user);
egraph_status eg_families_read_builtin(eg_arena *arena, eg_family_visit *visit,
                                       void *user);
/// Finds a family that the library contains, or the first family of a file when the name
/// ends with ".family". Fails with EGRAPH_E_ARGUMENT, whose message lists the names.
egraph_status eg_family_find(eg_arena *arena, const char *name, eg_family *out);

/// The families shipped with the library; the list is generated at build time
/// (cmake/EmbedFiles.cmake).
typedef struct eg_builtin_family_file {
  const char *name; // for example "convolution.family"
  const unsigned char *text;
  size_t size;
} eg_builtin_family_file;

extern const eg_builtin_family_file eg_builtin_family_files[];
extern const size_t eg_builtin_family_file_count;

#endif
