// Substitutions of Unity, as rules with parallel operators.
//
// Their tensors have three dimensions: copies, rows, columns. What treats copies as
// copies has a meaning on a mesh: replicate and reduce along them, partition and combine
// along the others. The rest are tiles and stacks of copies. On which axis of a mesh a
// parallel operator works is not said; axes are tried until the layouts fit.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/import/import_internal.h"
#include "rewrites/lab/import/unity_text.h"

enum { MAX_PARALLEL = 8, TILE_INSTANCES = 24 };

/// The next choice of axes; false after the last.
static bool next_axes(eg_unity_form *form, uint32_t count) {
  if (count < 2 ||
      (form->axes == EG_UNITY_TWO_AXES && ++form->second >> (count - 1) != 0))
    return false;
  if (form->axes == EG_UNITY_BY_DIMENSION) form->second = 1;
  if (form->axes != EG_UNITY_TWO_AXES) form->axes++;
  return true;
}

static egraph_status try_form(eg_importer *in, const eg_unity_form *form,
                              eg_import_trial *out) {
  bool fits;
  EG_TRY(eg_unity_write(in->subst, in->number, form, &in->text, &fits));
  uint32_t instances = form->as_tiles ? TILE_INSTANCES : EG_IMPORT_INSTANCES;
  if (fits) return eg_import_try(in, instances, 1, out, NULL);
  *out = EG_TRIAL_NO_RULE;
  return eg_import_decide(in, EG_IMPORT_FOREIGN, "is too large");
}

/// As published, then under the guard that sizes are the same; sides that differ may do
/// so in what is not finite alone. A guard that nothing satisfies is none.
static egraph_status try_guards(eg_importer *in, eg_unity_form *form, eg_text *first,
                                eg_import_trial *out) {
  static const egraph_math classes[] = {EGRAPH_MATH_ASSOCIATIVE, EGRAPH_MATH_FAST};
  *out = EG_TRIAL_DIFFERENT;
  for (uint32_t i = 0; i < 4 && *out == EG_TRIAL_DIFFERENT; i++) {
    form->same_shapes = i >= 2;
    form->math = classes[i % 2];
    EG_TRY(try_form(in, form, out));
    if (i == 1) EG_TRY(eg_text_append(first, eg_text_of(&in->detail)));
  }
  if (!form->same_shapes || *out != EG_TRIAL_NO_INSTANCES) return EGRAPH_OK;
  *out = EG_TRIAL_DIFFERENT;
  return eg_import_decide(in, EG_IMPORT_REFUTED, eg_text_of(first));
}

static egraph_status try_axes(eg_importer *in, eg_unity_form *form,
                              eg_import_trial *out) {
  eg_text first;
  eg_text_init(&first, in->alloc);
  egraph_status status = try_guards(in, form, &first, out);
  eg_text_deinit(&first);
  return status;
}

/// What has no meaning on a mesh may still be true or false of its values. That it is
/// true is no rule for us.
static egraph_status judge_tiles(eg_importer *in, const char *fault) {
  eg_unity_form form = {.as_tiles = true};
  eg_import_trial trial;
  EG_TRY(try_axes(in, &form, &trial));
  in->outcome = EG_IMPORT_REFUTED;
  if (trial == EG_TRIAL_DIFFERENT) return EGRAPH_OK;
  EG_TRY(eg_import_decide(in, EG_IMPORT_FOREIGN, fault));
  if (trial != EG_TRIAL_HOLDS)
    return eg_text_append(&in->detail, "; of tiles it cannot be said");
  return eg_text_append(
      &in->detail, form.same_shapes ? "; of tiles it holds if both sides have the same "
                                      "sizes"
                                    : "; of tiles it holds");
}

/// The message of the first choice is told: most substitutions mean one axis.
static egraph_status try_all_axes(eg_importer *in, uint32_t count, eg_text *why) {
  eg_unity_form form = {.axes = EG_UNITY_ONE_AXIS};
  do {
    eg_import_trial trial;
    EG_TRY(try_axes(in, &form, &trial));
    if (trial == EG_TRIAL_HOLDS) {
      EG_TRY(eg_import_decide(in, EG_IMPORT_TESTED,
                              form.same_shapes ? "both sides of the same sizes" : ""));
      return eg_import_add(in, form.same_shapes ? EG_IMPORT_GUARDED : EG_IMPORT_TESTED);
    }
    if (trial == EG_TRIAL_DIFFERENT) {
      in->outcome = EG_IMPORT_REFUTED;
      return EGRAPH_OK;
    }
    if (form.axes == EG_UNITY_ONE_AXIS)
      EG_TRY(eg_text_append(why, eg_text_of(&in->detail)));
  } while (next_axes(&form, count));
  return judge_tiles(in, eg_text_of(why));
}

egraph_status eg_import_unity(eg_importer *in) {
  const char *fault = eg_unity_fault(in->subst);
  if (fault != NULL && eg_unity_tile_fault(in->subst) == NULL)
    return judge_tiles(in, fault);
  if (fault != NULL) return eg_import_decide(in, EG_IMPORT_FOREIGN, fault);
  uint32_t count = eg_unity_parallel_count(in->subst);
  if (count > MAX_PARALLEL)
    return eg_import_decide(in, EG_IMPORT_FOREIGN, "has too many parallel operators");
  eg_text why;
  eg_text_init(&why, in->alloc);
  egraph_status status = try_all_axes(in, count, &why);
  eg_text_deinit(&why);
  return status;
}
