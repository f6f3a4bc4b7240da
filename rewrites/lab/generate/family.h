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
// A template with `each` makes one template for every combination. `:operands` is the
// number of operands, by default the fewest that the operator takes. Operands that
// `:leaves` numbers are inputs or weights, not computed; so are all but the first two of
// the others. `:kernel` gives the last dimensions of the second operand. An operator
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
  double number;        // of a constant: every element
  eg_attr fill;         // that number, as the value of a fill
  uint32_t group, rank; // the rank-th leaf of its group, a line of the file
} eg_family_leaf;

typedef struct eg_family_template {
  eg_attrs attrs;
  uint32_t operand_count;
  uint32_t leaves; // bit of an operand: it is an input or weight
  eg_ints ends;    // last dimensions of operand 1; none: any
} eg_family_template;

/// Lives in the arena it was read into.
typedef struct eg_family {
  const char *name, *about;
  uint32_t max_elements;
  eg_family_leaf *leaves;
  uint32_t leaf_count;
  uint64_t constants; // bits of leaves
  eg_family_template *templates;
  uint32_t template_count;
  uint64_t hash; // of its canonical text: a state file is of one family
} eg_family;

/// Families of a text, or those shipped with the library. `visit` may be NULL.
typedef egraph_status eg_family_visit(void *user, const eg_family *family);
egraph_status eg_families_read(eg_arena *arena, const char *file, const char *text,
                               size_t size, eg_family_visit *visit, void *user);
egraph_status eg_families_read_builtin(eg_arena *arena, eg_family_visit *visit,
                                       void *user);
/// A shipped family, or, where the name ends with ".family", the first one of that file.
/// Fails with EGRAPH_E_ARGUMENT, which lists the names.
egraph_status eg_family_find(eg_arena *arena, const char *name, eg_family *out);

/// The families shipped with the library; the list is generated at build time
/// (cmake/EmbedFiles.cmake).
typedef struct eg_builtin_family_file {
  const char *name; // "convolution.family"
  const unsigned char *text;
  size_t size;
} eg_builtin_family_file;

extern const eg_builtin_family_file eg_builtin_family_files[];
extern const size_t eg_builtin_family_file_count;

#endif
