// Wraps GLPK; no other file includes glpk.h. Every call into GLPK happens inside guard(),
// which holds the one setjmp; jobs keep their memory in the program, never in locals, so
// that the jump loses nothing.
// SPDX-License-Identifier: Apache-2.0
#include "extract/ilp_glpk.h"

#include <float.h>
#include <glpk.h>
#include <math.h>
#include <setjmp.h>
#include <stdio.h>

enum { OUTPUT_EVERY = 100 };

EG_VEC_DEFINE(ints, int);

struct eg_lp {
  egraph_allocator alloc;
  glp_prob *problem; // NULL once GLPK has failed
  bool owns_environment;
  uint32_t columns;
  eg_lp_rows rows; // rows that GLPK has, for the bound
  eg_doubles cost, values, reduced, duals;
  eg_doubles floor, ceiling; // [column] bounds
  eg_doubles ray;            // [row] multipliers that show that there is no solution
  eg_doubles slop;           // [column] scratch: scale of rounding errors
  eg_u32s doomed;            // rows to delete
  double bound;
  jmp_buf *escape;
  char message[200];
  // GLPK's arrays count from 1.
  ints indices;
  eg_doubles numbers;
  // Arguments of the jobs (functions that guard() runs):
  const eg_lp_rows *added;
  double seconds, limit;
  uint32_t iterations; // 0: no limit
  uint64_t steps;
  bool (*stop)(void *user);
  void *stop_user;
  bool interrupted; // `stop` ended a solve, and the problem was freed
  eg_lp_state state;
};

egraph_status eg_lp_rows_init(eg_lp_rows *rows, egraph_allocator alloc) {
  eg_lp_rows_init_members(rows, alloc);
  return eg_u32s_push(&rows->begin, 0);
}

void eg_lp_rows_clear(eg_lp_rows *rows) {
  rows->begin.len = 1;
  rows->columns.len = rows->coefficients.len = rows->lower.len = 0;
}

egraph_status eg_lp_rows_item(eg_lp_rows *rows, uint32_t column, double coefficient) {
  EG_TRY(eg_doubles_push(&rows->coefficients, coefficient));
  return eg_u32s_push(&rows->columns, column);
}

egraph_status eg_lp_rows_end(eg_lp_rows *rows, double lower) {
  assert(rows->begin.len == rows->lower.len + 1);
  EG_TRY(eg_doubles_push(&rows->lower, lower));
  return eg_u32s_push(&rows->begin, (uint32_t)rows->columns.len);
}

static void on_error(void *info) {
  eg_lp *lp = info;
  longjmp(*lp->escape, 1);
}

// Keeps GLPK's last message; a non-zero result prevents GLPK from printing it. The
// simplex writes every OUTPUT_EVERY iterations, which is the only chance to interrupt it.
static int on_text(void *info, const char *text) {
  eg_lp *lp = info;
  if (lp->stop != NULL && lp->stop(lp->stop_user)) {
    lp->interrupted = true;
    longjmp(*lp->escape, 1);
  }
  size_t used = strlen(lp->message);
  for (; *text != '\0' && used + 1 < sizeof lp->message; text++)
    lp->message[used++] = *text == '\n' ? ' ' : *text;
  lp->message[used] = '\0';
  return 1;
}

typedef void (*job)(eg_lp *lp);

static egraph_status guard(eg_lp *lp, job run) {
  jmp_buf escape;
  lp->escape = &escape;
  lp->message[0] = '\0';
  glp_error_hook(on_error, lp);
  glp_term_hook(on_text, lp);
  if (setjmp(escape) != 0) {
    // Freeing the environment frees all memory of GLPK in this thread.
    (void)glp_free_env();
    lp->problem = NULL;
    lp->owns_environment = false;
    if (lp->interrupted) return EGRAPH_OK;
    return EG_FAIL(EGRAPH_E_INTERNAL, "GLPK gave up: %s", lp->message);
  }
  run(lp);
  glp_error_hook(NULL, NULL);
  glp_term_hook(NULL, NULL);
  return EGRAPH_OK;
}

static egraph_status guard_alive(eg_lp *lp, job run) {
  if (lp->interrupted) return EGRAPH_OK;
  if (lp->problem == NULL)
    return EG_FAIL(EGRAPH_E_INTERNAL, "the linear program died of an earlier error");
  return guard(lp, run);
}

static egraph_status need_scratch(eg_lp *lp, size_t count) {
  if (count <= lp->indices.len) return EGRAPH_OK;
  EG_TRY(eg_doubles_resize(&lp->numbers, count));
  return ints_resize(&lp->indices, count);
}

static void purge_job(eg_lp *lp) {
  for (size_t i = 0; i < lp->doomed.len; i++)
    lp->indices.data[i + 1] = (int)lp->doomed.data[i] + 1;
  glp_del_rows(lp->problem, (int)lp->doomed.len, lp->indices.data);
}

static void create_job(eg_lp *lp) {
  int blocks = 0;
  glp_mem_usage(&blocks, NULL, NULL, NULL);
  lp->owns_environment = blocks == 0;
  lp->problem = glp_create_prob();
  glp_set_obj_dir(lp->problem, GLP_MIN);
  if (lp->columns != 0) glp_add_cols(lp->problem, (int)lp->columns);
  for (uint32_t j = 0; j < lp->columns; j++) {
    glp_set_col_bnds(lp->problem, (int)j + 1, GLP_DB, 0.0, 1.0);
    glp_set_obj_coef(lp->problem, (int)j + 1, lp->cost.data[j]);
  }
}

static egraph_status prepare_lp(eg_lp *lp, const double *cost) {
  EG_TRY(eg_lp_rows_init(&lp->rows, lp->alloc));
  EG_TRY(eg_doubles_append(&lp->cost, cost, lp->columns));
  EG_TRY(eg_doubles_resize(&lp->values, lp->columns));
  EG_TRY(eg_doubles_resize(&lp->reduced, lp->columns));
  EG_TRY(eg_doubles_resize(&lp->floor, lp->columns));
  EG_TRY(eg_doubles_resize(&lp->slop, (size_t)2 * lp->columns));
  EG_TRY(eg_doubles_resize(&lp->ceiling, lp->columns));
  for (uint32_t j = 0; j < lp->columns; j++)
    lp->ceiling.data[j] = 1;
  return guard(lp, create_job);
}

#define LP_MEMBERS                                                                       \
  (eg_doubles, cost, values, reduced, duals, floor, ray, slop, ceiling, numbers),        \
      (eg_u32s, doomed), (ints, indices)

egraph_status eg_lp_create(egraph_allocator alloc, uint32_t columns, const double *cost,
                           eg_lp **out) {
  if (columns > (uint32_t)1 << 30)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "%u columns are too many for GLPK", columns);
  EG_HELD(eg_lp, lp);
  EG_TRY(eg_alloc(alloc, 1, sizeof *lp, &lp));
  lp->alloc = alloc;
  lp->columns = columns;
  EG_INIT_MEMBERS(lp, alloc, LP_MEMBERS);
  EG_HAND_OVER(prepare_lp(lp, cost), lp, out);
}

static void delete_job(eg_lp *lp) { glp_delete_prob(lp->problem); }

void eg_lp_destroy(eg_lp *lp) {
  if (lp == NULL) return;
  if (lp->problem != NULL && guard(lp, delete_job) == EGRAPH_OK && lp->owns_environment)
    (void)glp_free_env();
  EG_DEINIT_MEMBERS(lp, LP_MEMBERS);
  eg_lp_rows_deinit(&lp->rows);
  eg_free(lp->alloc, lp, 1, sizeof *lp);
}

static void add_rows_job(eg_lp *lp) {
  const eg_lp_rows *rows = lp->added;
  uint32_t count = eg_lp_rows_count(rows);
  int first = glp_add_rows(lp->problem, (int)count);
  for (uint32_t r = 0; r < count; r++) {
    uint32_t begin = rows->begin.data[r], length = rows->begin.data[r + 1] - begin;
    for (uint32_t i = 0; i < length; i++) {
      lp->indices.data[i + 1] = (int)rows->columns.data[begin + i] + 1;
      lp->numbers.data[i + 1] = rows->coefficients.data[begin + i];
    }
    glp_set_row_bnds(lp->problem, first + (int)r, GLP_LO, rows->lower.data[r], 0.0);
    glp_set_mat_row(lp->problem, first + (int)r, (int)length, lp->indices.data,
                    lp->numbers.data);
  }
}

static egraph_status mirror_rows(eg_lp *lp, const eg_lp_rows *rows) {
  assert(rows->begin.len == rows->lower.len + 1);
  uint32_t base = (uint32_t)lp->rows.columns.len;
  EG_TRY(eg_u32s_append(&lp->rows.columns, rows->columns.data, rows->columns.len));
  EG_TRY(eg_doubles_append(&lp->rows.coefficients, rows->coefficients.data,
                           rows->coefficients.len));
  EG_TRY(eg_doubles_append(&lp->rows.lower, rows->lower.data, rows->lower.len));
  for (uint32_t r = 0; r < eg_lp_rows_count(rows); r++)
    EG_TRY(eg_u32s_push(&lp->rows.begin, base + rows->begin.data[r + 1]));
  return EGRAPH_OK;
}

egraph_status eg_lp_add_rows(eg_lp *lp, const eg_lp_rows *rows) {
  assert(rows->columns.len == rows->coefficients.len);
  if (eg_lp_rows_count(rows) == 0) return EGRAPH_OK;
  EG_TRY(need_scratch(lp, (size_t)lp->columns + 1));
  EG_TRY(mirror_rows(lp, rows));
  EG_TRY(eg_doubles_resize(&lp->duals, eg_lp_rows_count(&lp->rows)));
  EG_TRY(eg_doubles_resize(&lp->ray, eg_lp_rows_count(&lp->rows)));
  lp->added = rows;
  return guard_alive(lp, add_rows_job);
}

static void range_job(eg_lp *lp) {
  for (size_t i = 0; i < lp->doomed.len; i++) {
    uint32_t j = lp->doomed.data[i];
    double low = lp->floor.data[j], high = lp->ceiling.data[j];
    glp_set_col_bnds(lp->problem, (int)j + 1, low < high ? GLP_DB : GLP_FX, low, high);
  }
}

egraph_status eg_lp_set_range(eg_lp *lp, uint32_t column, double lower, double upper) {
  assert(column < lp->columns && 0 <= lower && lower <= upper && upper <= 1);
  if (lp->floor.data[column] == lower && lp->ceiling.data[column] == upper)
    return EGRAPH_OK;
  lp->floor.data[column] = lower;
  lp->ceiling.data[column] = upper;
  lp->doomed.len = 0;
  EG_TRY(eg_u32s_push(&lp->doomed, column));
  return guard_alive(lp, range_job);
}

egraph_status eg_lp_fix_zero(eg_lp *lp, uint32_t column) {
  return eg_lp_set_range(lp, column, 0, 0);
}

static double activity(const eg_lp *lp, uint32_t row) {
  assert(row < eg_lp_rows_count(&lp->rows));
  double sum = 0;
  for (uint32_t i = lp->rows.begin.data[row]; i < lp->rows.begin.data[row + 1]; i++)
    sum += lp->rows.coefficients.data[i] * lp->values.data[lp->rows.columns.data[i]];
  return sum;
}

static void unmirror_doomed(eg_lp *lp) {
  eg_lp_rows *rows = &lp->rows;
  uint32_t kept = 0, item = 0, count = eg_lp_rows_count(rows), first = 0;
  size_t doomed = 0;
  for (uint32_t r = 0; r < count; r++) {
    uint32_t begin = first, end = rows->begin.data[r + 1];
    first = end;
    if (doomed < lp->doomed.len && lp->doomed.data[doomed] == r) {
      doomed++;
      continue;
    }
    for (uint32_t i = begin; i < end; i++, item++) {
      rows->columns.data[item] = rows->columns.data[i];
      rows->coefficients.data[item] = rows->coefficients.data[i];
    }
    rows->lower.data[kept] = rows->lower.data[r];
    rows->begin.data[++kept] = item;
  }
  rows->begin.len = kept + 1;
  rows->lower.len = lp->duals.len = lp->ray.len = kept;
  rows->columns.len = rows->coefficients.len = item;
}

egraph_status eg_lp_purge(eg_lp *lp, uint32_t first, double slack) {
  assert(first <= eg_lp_rows_count(&lp->rows));
  lp->doomed.len = 0;
  for (uint32_t r = first; r < eg_lp_rows_count(&lp->rows); r++)
    if (activity(lp, r) - lp->rows.lower.data[r] > slack)
      EG_TRY(eg_u32s_push(&lp->doomed, r));
  if (lp->doomed.len == 0) return EGRAPH_OK;
  EG_TRY(need_scratch(lp, lp->doomed.len + 1));
  EG_TRY(guard_alive(lp, purge_job));
  unmirror_doomed(lp);
  return EGRAPH_OK;
}

/// Finds a ray that shows an infeasible basis: no values of the other variables within
/// their bounds bring some basic variable within its bounds. The ray is the row of this
/// variable in the tableau, a combination of the program's rows.
static void find_ray(eg_lp *lp) {
  glp_prob *p = lp->problem;
  int rows = glp_get_num_rows(p), k = glp_get_unbnd_ray(p);
  for (size_t r = 0; r < lp->ray.len; r++)
    lp->ray.data[r] = 0;
  if (k == 0 || (!glp_bf_exists(p) && glp_factorize(p) != 0)) return;
  bool is_row = k <= rows;
  if ((is_row ? glp_get_row_stat(p, k) : glp_get_col_stat(p, k - rows)) != GLP_BS) return;
  double value = is_row ? glp_get_row_prim(p, k) : glp_get_col_prim(p, k - rows);
  bool below = is_row || value < lp->floor.data[k - rows - 1];
  double sign = below ? 1 : -1;
  int count = glp_eval_tab_row(p, k, lp->indices.data, lp->numbers.data);
  if (is_row) lp->ray.data[k - 1] = sign;
  for (int i = 1; i <= count; i++)
    if (lp->indices.data[i] <= rows)
      lp->ray.data[lp->indices.data[i] - 1] = -sign * lp->numbers.data[i];
}

static void solve_job(eg_lp *lp) {
  assert(lp->duals.len == eg_lp_rows_count(&lp->rows));
  glp_smcp options;
  glp_init_smcp(&options);
  options.msg_lev = lp->stop != NULL ? GLP_MSG_ON : GLP_MSG_OFF;
  options.out_frq = OUTPUT_EVERY;
  options.meth = GLP_DUALP;
  options.tol_dj = 1e-9;
  options.obj_ul = lp->limit;
  if (lp->iterations != 0) options.it_lim = (int)lp->iterations;
  double milliseconds = ceil(lp->seconds * 1e3);
  options.tm_lim = milliseconds < 1     ? 1
                   : milliseconds < 1e9 ? (int)milliseconds
                                        : INT32_MAX;
  int before = glp_get_it_cnt(lp->problem);
  int code = glp_simplex(lp->problem, &options);
  if (code == GLP_EBADB || code == GLP_ESING || code == GLP_ECOND) {
    // Starts again from the basis of slacks: new rows or bounds have spoiled the basis.
    glp_std_basis(lp->problem);
    code = glp_simplex(lp->problem, &options);
  }
  lp->steps +=
      (1 + (uint64_t)(glp_get_it_cnt(lp->problem) - before)) * eg_lp_iteration_steps(lp);
  int status = glp_get_status(lp->problem);
  lp->state = code == 0 && status == GLP_OPT      ? EG_LP_OPTIMAL
              : code == 0 && status == GLP_NOFEAS ? EG_LP_INFEASIBLE
                                                  : EG_LP_LIMIT;
  if (lp->state == EG_LP_INFEASIBLE) find_ray(lp);
  for (uint32_t j = 0; j < lp->columns; j++)
    lp->values.data[j] = glp_get_col_prim(lp->problem, (int)j + 1);
  for (uint32_t r = 0; r < lp->duals.len; r++)
    lp->duals.data[r] = glp_get_row_dual(lp->problem, (int)r + 1);
}

/// Computes a safe bound: the sum of the lower sides, less the largest amount that each
/// column can subtract, less the possible rounding error: each operation errs by at most
/// DBL_EPSILON times its result. `reduced` holds the costs and becomes the reduced costs.
/// Multipliers of ">=" rows must not be negative: negative ones are left out.
static double safe_bound(const eg_lp_rows *rows, uint32_t columns, const double *floor,
                         const double *ceiling, const double *multiplier,
                         double *restrict reduced, double *restrict slop) {
  double bound = 0, error = 0;
  for (uint32_t j = 0; j < columns; j++)
    slop[j] = 0;
  for (uint32_t r = 0; r < eg_lp_rows_count(rows); r++) {
    double weight = multiplier[r];
    if (!(weight > 0) || !isfinite(weight)) continue;
    bound += weight * rows->lower.data[r];
    error += fabs(weight * rows->lower.data[r]) + fabs(bound);
    for (uint32_t i = rows->begin.data[r]; i < rows->begin.data[r + 1]; i++) {
      uint32_t j = rows->columns.data[i];
      double product = weight * rows->coefficients.data[i];
      reduced[j] -= product;
      slop[j] += fabs(product) + fabs(reduced[j]);
    }
  }
  for (uint32_t j = 0; j < columns; j++) {
    double term = reduced[j] * (reduced[j] < 0 ? ceiling[j] : floor[j]);
    bound += term;
    error += slop[j] * fmax(fabs(ceiling[j]), fabs(floor[j])) + fabs(term) + fabs(bound);
  }
  return bound - DBL_EPSILON * error;
}

static void compute_bound(eg_lp *lp) {
  memcpy(lp->reduced.data, lp->cost.data, lp->columns * sizeof(double));
  lp->bound = safe_bound(&lp->rows, lp->columns, lp->floor.data, lp->ceiling.data,
                         lp->duals.data, lp->reduced.data, lp->slop.data);
}

bool eg_lp_ray_proves(const eg_lp_rows *rows, uint32_t columns, const double *floor,
                      const double *ceiling, const double *ray, double *scratch,
                      double *out_value) {
  for (uint32_t j = 0; j < columns; j++)
    scratch[j] = 0;
  *out_value = safe_bound(rows, columns, floor, ceiling, ray, scratch, scratch + columns);
  return *out_value > 0;
}

/// Keeps EG_LP_INFEASIBLE only if the ray proves it, and then adds enough of the ray to
/// the multipliers for a bound above any objective.
static void confirm_infeasible(eg_lp *lp) {
  double value, most = 1 + fabs(lp->limit < DBL_MAX ? lp->limit : 0);
  lp->state = EG_LP_LIMIT;
  if (!eg_lp_ray_proves(&lp->rows, lp->columns, lp->floor.data, lp->ceiling.data,
                        lp->ray.data, lp->slop.data, &value))
    return;
  compute_bound(lp);
  for (uint32_t j = 0; j < lp->columns; j++)
    most += fabs(lp->cost.data[j]);
  double share = 2 * (most + fabs(lp->bound)) / value;
  if (!isfinite(share)) return;
  for (size_t r = 0; r < lp->duals.len; r++)
    lp->duals.data[r] = fmax(lp->duals.data[r], 0) + share * fmax(lp->ray.data[r], 0);
  compute_bound(lp);
  if (lp->bound > most) lp->state = EG_LP_INFEASIBLE;
}

egraph_status eg_lp_solve(eg_lp *lp, double seconds, double objective_limit,
                          eg_lp_state *out) {
  lp->seconds = seconds;
  lp->limit = objective_limit;
  lp->state = EG_LP_LIMIT;
  EG_TRY(guard_alive(lp, solve_job));
  if (lp->state == EG_LP_INFEASIBLE) confirm_infeasible(lp);
  compute_bound(lp);
  *out = lp->state;
  return EGRAPH_OK;
}

void eg_lp_interrupt(eg_lp *lp, bool (*stop)(void *user), void *user) {
  lp->stop = stop;
  lp->stop_user = user;
}

uint64_t eg_lp_iteration_steps(const eg_lp *lp) {
  return lp->rows.columns.len + 8 * (uint64_t)lp->rows.lower.len + lp->columns;
}

uint64_t eg_lp_steps(const eg_lp *lp) { return lp->steps; }

void eg_lp_limit_iterations(eg_lp *lp, uint32_t iterations) {
  lp->iterations = iterations < INT32_MAX ? iterations : INT32_MAX;
}

const double *eg_lp_values(const eg_lp *lp) { return lp->values.data; }
const double *eg_lp_reduced_costs(const eg_lp *lp) { return lp->reduced.data; }
double eg_lp_bound(const eg_lp *lp) { return lp->bound; }
uint32_t eg_lp_row_count(const eg_lp *lp) { return eg_lp_rows_count(&lp->rows); }
const eg_lp_rows *eg_lp_rows_of(const eg_lp *lp) { return &lp->rows; }
const double *eg_lp_multipliers(const eg_lp *lp) { return lp->duals.data; }
