// A form of a substitution over tensors as text of the rule language.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_IMPORT_TENSOR_TEXT_H
#define EG_REWRITES_IMPORT_TENSOR_TEXT_H

#include "rewrites/lab/import/tensor_form.h"

/// Overwrites `text` with a rule file of one rule. *out_fault is NULL, or why the form
/// has no text: sizes that cannot be said, or too long. Fails with EGRAPH_E_MEMORY.
egraph_status eg_tensor_form_write(const eg_tensor_form *form, const char *name,
                                   const char *source, eg_text *text,
                                   const char **out_fault);
/// Appends a guard as a condition of the rule language.
egraph_status eg_guard_write(const eg_tensor_form *form, const eg_guard *guard,
                             eg_text *text);

#endif
