// Reader of machine files. Clauses may come in any order: they are counted, then read
// kind by kind in the order of the table, so that a clause finds the clauses to which
// it refers.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/sexpr.h"
#include "pcg/parallel/machine.h"

typedef struct reader {
  const char *file;
  eg_arena scratch; // memory of the expressions
  eg_machine *machine;
  eg_machine_link *links; // of the machine that is being read
  eg_machine_mesh *meshes;
  eg_reach *reaches;
  uint32_t nodes, nodes_wanted; // 0: not given
  bool has_device, uses_nodes;
} reader;

// Figures outside this range are mistakes; sums and products within it do not overflow.
static const double smallest = 1e-30, largest = 1e30;
enum { MAX_RATIO = 1000 };

// ---- atoms ------------------------------------------------------------------------

/// Reads an atom of at most `max` letters, digits, -, _ and '.'; borrowed from
/// the expression.
static egraph_status read_name(const reader *r, const eg_sexpr *expr, size_t max,
                               const char **out) {
  static const char bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "0123456789-_.";
  size_t len = expr->kind == EG_SEXPR_ATOM ? strspn(expr->text, bytes) : 0;
  if (len == 0 || len > max || expr->text[len] != '\0')
    return eg_sexpr_fail(
        r->file, expr, "expected a name of at most %zu letters, digits, -, _ and .", max);
  *out = expr->text;
  return EGRAPH_OK;
}

/// Reads the name of a link or an axis.
static egraph_status read_label(const reader *r, const eg_sexpr *expr,
                                char out[EG_MESH_NAME_SIZE]) {
  const char *name = NULL;
  EG_TRY(read_name(r, expr, EG_MESH_NAME_SIZE - 1, &name));
  if (strchr(name, '.') != NULL)
    return eg_sexpr_fail(r->file, expr, "this name may not have a '.'");
  memset(out, 0, EG_MESH_NAME_SIZE);
  memcpy(out, name, strlen(name));
  return EGRAPH_OK;
}

/// Reads the text of a form (head "text"), which may not be empty; the machine owns
/// the copy.
static egraph_status read_string(const reader *r, const eg_sexpr *form,
                                 const char **out) {
  if (form->count != 2 || form->children[1].kind != EG_SEXPR_STRING ||
      form->children[1].text[0] == '\0')
    return eg_sexpr_fail(r->file, form, "expected (%s \"text\")", form->children[0].text);
  const char *text = form->children[1].text;
  return eg_arena_string(&r->machine->memory, text, strlen(text), out);
}

/// Reads an integer from 1 to EG_MACHINE_MAX_DEVICES.
static egraph_status read_integer(const reader *r, const eg_sexpr *expr, uint32_t *out) {
  int64_t value;
  if (expr->kind != EG_SEXPR_ATOM || !eg_parse_int64(expr->text, &value) || value < 1 ||
      value > EG_MACHINE_MAX_DEVICES)
    return eg_sexpr_fail(r->file, expr, "expected a whole number from 1 to %d",
                         EG_MACHINE_MAX_DEVICES);
  *out = (uint32_t)value;
  return EGRAPH_OK;
}

/// Reads an integer like read_integer, or the word `nodes`: the number of nodes.
static egraph_status read_size(reader *r, const eg_sexpr *expr, uint32_t *out) {
  if (!eg_sexpr_is_atom(expr, "nodes")) return read_integer(r, expr, out);
  if (r->nodes == 0)
    return eg_sexpr_fail(
        r->file, expr,
        "the number of nodes is not given; add a clause such as (nodes 8)");
  r->uses_nodes = true;
  *out = r->nodes;
  return EGRAPH_OK;
}

/// Reads the number of a clause (WORD NUMBER), which must be a plausible figure.
static egraph_status read_figure(const reader *r, const eg_sexpr *form, bool may_be_zero,
                                 double *out) {
  double value = 0;
  if (form->count != 2 || form->children[1].kind != EG_SEXPR_ATOM ||
      !eg_parse_double(form->children[1].text, &value))
    return eg_sexpr_fail(r->file, form, "expected (%s number)", form->children[0].text);
  bool in_range = value >= smallest && value <= largest;
  if (!in_range && !(may_be_zero && value == 0))
    return eg_sexpr_fail(r->file, &form->children[1],
                         "%s must lie between %g and %g%s; give it in bytes, seconds, or "
                         "operations per second",
                         form->children[0].text, smallest, largest,
                         may_be_zero ? ", or be 0" : "");
  *out = value;
  return EGRAPH_OK;
}

/// Reads a number from 1 to MAX_RATIO from a clause (WORD NUMBER).
static egraph_status read_ratio(const reader *r, const eg_sexpr *form, double *out) {
  double value = 0;
  if (form->count != 2 || form->children[1].kind != EG_SEXPR_ATOM ||
      !eg_parse_double(form->children[1].text, &value) || !(value >= 1) ||
      value > MAX_RATIO)
    return eg_sexpr_fail(r->file, form, "%s is a number from 1 to %d: how many times",
                         form->children[0].kind == EG_SEXPR_ATOM ? form->children[0].text
                                                                 : "this",
                         MAX_RATIO);
  *out = value;
  return EGRAPH_OK;
}

// ---- forms of named parts ---------------------------------------------------------

/// Finds the children (NAME ...) of a clause by their names, from child `first` on. Those
/// absent are NULL.
static egraph_status find_parts(const reader *r, const eg_sexpr *form, uint32_t first,
                                const char *const *names, uint32_t count,
                                const eg_sexpr **out) {
  for (uint32_t k = 0; k < count; k++)
    out[k] = NULL;
  for (uint32_t i = first; i < form->count; i++) {
    const eg_sexpr *part = &form->children[i];
    uint32_t k = 0;
    while (k < count && !eg_sexpr_is_form(part, names[k]))
      k++;
    if (k == count) {
      char list[200] = "";
      for (uint32_t j = 0; j < count; j++)
        (void)snprintf(list + strlen(list), sizeof list - strlen(list), "%s(%s ...)",
                       j == 0 ? "" : " ", names[j]);
      return eg_sexpr_fail(r->file, part, "expected one of %s", list);
    }
    if (out[k] != NULL)
      return eg_sexpr_fail(r->file, part, "%s is given twice; remove one", names[k]);
    out[k] = part;
  }
  return EGRAPH_OK;
}

enum { MAX_MESHES = 64, MAX_NAME = 63, MAX_REACHES = 64 };

// ---- clauses ----------------------------------------------------------------------

static egraph_status parse_name(reader *r, const eg_sexpr *form) {
  const char *name = NULL;
  if (form->count != 2) return eg_sexpr_fail(r->file, form, "expected (name NAME)");
  EG_TRY(read_name(r, &form->children[1], MAX_NAME, &name));
  return eg_arena_string(&r->machine->memory, name, strlen(name), &r->machine->name);
}

static egraph_status parse_nodes(reader *r, const eg_sexpr *form) {
  if (form->count != 2) return eg_sexpr_fail(r->file, form, "expected (nodes NUMBER)");
  EG_TRY(read_integer(r, &form->children[1], &r->nodes));
  if (r->nodes_wanted != 0) r->nodes = r->nodes_wanted;
  return EGRAPH_OK;
}

static egraph_status parse_compute(reader *r, const eg_sexpr *form) {
  if (form->count != 2 || !eg_sexpr_is_atom(&form->children[1], "free"))
    return eg_sexpr_fail(r->file, form,
                         "expected (compute free); leave it out where computing costs");
  r->machine->compute_is_free = true;
  return EGRAPH_OK;
}

static egraph_status parse_collectives(reader *r, const eg_sexpr *form) {
  for (int i = 0; form->count == 2 && i < EG_COLLECTIVES_COUNT; i++)
    if (eg_sexpr_is_atom(&form->children[1], eg_collectives_name((eg_collectives)i))) {
      r->machine->collectives = (eg_collectives)i;
      return EGRAPH_OK;
    }
  return eg_sexpr_fail(r->file, form, "expected (collectives auto|ring|tree|alpa)");
}

static egraph_status parse_peaks(const reader *r, const eg_sexpr *form) {
  double *peaks = r->machine->peak_flops;
  for (uint32_t i = 1; i < form->count; i++) {
    const eg_sexpr *part = &form->children[i];
    egraph_dtype dtype;
    if (part->kind != EG_SEXPR_LIST || part->count == 0 ||
        part->children[0].kind != EG_SEXPR_ATOM ||
        !eg_dtype_find(part->children[0].text, &dtype))
      return eg_sexpr_fail(r->file, part, "expected a peak such as (float32 1e12)");
    if (peaks[dtype] != 0)
      return eg_sexpr_fail(r->file, part, "%s is given twice; remove one",
                           eg_dtype_name(dtype));
    EG_TRY(read_figure(r, part, false, &peaks[dtype]));
  }
  if (peaks[EGRAPH_FLOAT32] == 0)
    return eg_sexpr_fail(r->file, form,
                         "the peak of float32 is missing; other types default to it");
  for (int i = 0; i < EGRAPH_DTYPE_COUNT; i++)
    if (peaks[i] == 0) peaks[i] = peaks[EGRAPH_FLOAT32];
  return EGRAPH_OK;
}

static egraph_status parse_device(reader *r, const eg_sexpr *form) {
  enum { KIND, PROFILE, SLOWDOWN, BESIDE, MEMORY, BANDWIDTH, OVERHEAD, PEAK, PARTS };
  static const char *const names[PARTS] = {"kind",   "profile",   "slowdown", "beside",
                                           "memory", "bandwidth", "overhead", "peak"};
  const eg_sexpr *part[PARTS];
  eg_machine *m = r->machine;
  EG_TRY(find_parts(r, form, 1, names, PARTS, part));
  for (uint32_t i = MEMORY; i < PARTS; i++)
    if (m->compute_is_free ? i != MEMORY && part[i] != NULL : part[i] == NULL)
      return eg_sexpr_fail(r->file, form,
                           m->compute_is_free
                               ? "computing is free, so remove (%s ...)"
                               : "the device has no (%s ...); add it, or (compute free)",
                           names[i]);
  if (part[KIND] != NULL) EG_TRY(read_string(r, part[KIND], &m->device));
  if (part[PROFILE] != NULL) EG_TRY(read_string(r, part[PROFILE], &m->profile));
  if (part[SLOWDOWN] != NULL) EG_TRY(read_figure(r, part[SLOWDOWN], false, &m->slowdown));
  if (part[BESIDE] != NULL) EG_TRY(read_ratio(r, part[BESIDE], &m->beside));
  if (part[MEMORY] != NULL) EG_TRY(read_figure(r, part[MEMORY], false, &m->memory_bytes));
  r->has_device = true;
  if (m->compute_is_free) return EGRAPH_OK;
  EG_TRY(read_figure(r, part[BANDWIDTH], false, &m->bandwidth_bytes));
  EG_TRY(read_figure(r, part[OVERHEAD], true, &m->overhead_seconds));
  return parse_peaks(r, part[PEAK]);
}

// ---- what a device reaches ----------------------------------------------------------

/// Reads the source of a figure: (published "text") or (measured "text").
static egraph_status read_source(const reader *r, const eg_sexpr *form,
                                 bool *out_is_measured, const char **out_where) {
  *out_is_measured = eg_sexpr_is_form(form, "measured");
  if (!*out_is_measured && !eg_sexpr_is_form(form, "published"))
    return eg_sexpr_fail(r->file, form,
                         "a figure that a device reaches has a source: end with "
                         "(published \"table 1 of ...\") or (measured \"command\")");
  return read_string(r, form, out_where);
}

static bool read_share(const eg_sexpr *expr, double *out) {
  return expr->kind == EG_SEXPR_ATOM && eg_parse_double(expr->text, out) && *out > 0 &&
         *out <= 1;
}

/// Reads (WORK SHARE), the next point of a curve.
static egraph_status parse_reach_point(const reader *r, const eg_sexpr *form,
                                       eg_reach *reach) {
  eg_reach_point point = {.work = 0};
  if (form->kind != EG_SEXPR_LIST || form->count != 2 ||
      form->children[0].kind != EG_SEXPR_ATOM ||
      !eg_parse_double(form->children[0].text, &point.work) || point.work < smallest ||
      point.work > largest || !read_share(&form->children[1], &point.share))
    return eg_sexpr_fail(r->file, form,
                         "expected (WORK SHARE): operations (of bytes: bytes) of an "
                         "operator, and which share of the peak it reaches, above 0 and "
                         "at most 1");
  if (reach->point_count == EG_REACH_POINTS)
    return eg_sexpr_fail(r->file, form, "a curve has at most %d points", EG_REACH_POINTS);
  const eg_reach_point *last = &reach->points[reach->point_count];
  if (reach->point_count != 0 && point.work <= last[-1].work)
    return eg_sexpr_fail(r->file, form, "sort the points by their work, each once");
  if (reach->point_count != 0 &&
      point.work / point.share < last[-1].work / last[-1].share)
    return eg_sexpr_fail(r->file, form,
                         "more work would take less time than at the point before; lower "
                         "this share or raise the share before");
  reach->points[reach->point_count++] = point;
  return EGRAPH_OK;
}

static bool find_reach_kind(const eg_sexpr *expr, uint32_t *out) {
  *out = 0;
  while (*out < EG_REACH_KINDS && !eg_sexpr_is_atom(expr, eg_reach_kind_name(*out)))
    ++*out;
  return *out < EG_REACH_KINDS;
}

/// Adds a curve for operands of a type.
static egraph_status add_reach(reader *r, const eg_sexpr *form, const eg_reach *reach) {
  eg_machine *m = r->machine;
  for (uint32_t i = 0; i < m->reach_count; i++)
    if (m->reaches[i].kind == reach->kind && m->reaches[i].dtype == reach->dtype)
      return eg_sexpr_fail(r->file, form, "this curve is given twice; remove one");
  if (m->reach_count == 0) EG_NEW(&m->memory, MAX_REACHES, r->reaches);
  if (m->reach_count == MAX_REACHES)
    return eg_sexpr_fail(r->file, form, "there are more than %d curves", MAX_REACHES);
  m->reaches = r->reaches;
  r->reaches[m->reach_count++] = *reach;
  return EGRAPH_OK;
}

/// Reads (efficiency KIND TYPE ... (WORK SHARE) ... (published "...")).
static egraph_status parse_efficiency(reader *r, const eg_sexpr *form) {
  eg_reach reach = {.dtype = EGRAPH_DTYPE_COUNT};
  uint32_t first = 2, last = form->count - 1;
  egraph_dtype dtype;
  if (r->machine->compute_is_free)
    return eg_sexpr_fail(r->file, form, "computing is free, so remove (efficiency ...)");
  if (form->count < 4 || !find_reach_kind(&form->children[1], &reach.kind))
    return eg_sexpr_fail(r->file, form,
                         "expected (efficiency KIND TYPE ... (WORK SHARE) ... (published "
                         "\"...\")); KIND is product, convolution, attention, "
                         "attention-grad or bytes; without a TYPE for all types");
  while (first < last && form->children[first].kind == EG_SEXPR_ATOM) {
    if (!eg_dtype_find(form->children[first].text, &dtype))
      return eg_sexpr_fail(r->file, &form->children[first], "there is no such type");
    first++;
  }
  for (uint32_t i = first; i < last; i++)
    EG_TRY(parse_reach_point(r, &form->children[i], &reach));
  if (reach.point_count == 0)
    return eg_sexpr_fail(r->file, form, "the curve has no point; add (WORK SHARE)");
  EG_TRY(read_source(r, &form->children[last], &reach.is_measured, &reach.where));
  for (uint32_t i = 2; i < first; i++) {
    (void)eg_dtype_find(form->children[i].text, &dtype);
    reach.dtype = (uint32_t)dtype;
    EG_TRY(add_reach(r, form, &reach));
  }
  return first == 2 ? add_reach(r, form, &reach) : EGRAPH_OK;
}

/// Reads (reached SHARE (published "...")) of a link.
static egraph_status parse_reached(const reader *r, const eg_sexpr *form,
                                   eg_machine_link *link) {
  bool ignored;
  if (form->count != 3 || !read_share(&form->children[1], &link->reached))
    return eg_sexpr_fail(r->file, form,
                         "expected (reached SHARE (published \"...\")): which share of "
                         "its bandwidth exchanges reach, above 0 and at most 1");
  return read_source(r, &form->children[2], &ignored, &link->where);
}

// ---- links ------------------------------------------------------------------------

static bool find_link(const reader *r, const char *name, uint32_t *out) {
  for (*out = 0; *out < r->machine->link_count; ++*out)
    if (strcmp(r->links[*out].name, name) == 0) return true;
  return false;
}

// ---- ports ------------------------------------------------------------------------

/// Reads (DEVICES OVERSUBSCRIPTION), the next level of a fat tree, upwards.
static egraph_status parse_level(const reader *r, const eg_sexpr *form,
                                 eg_machine_link *link) {
  eg_tree_level level;
  uint32_t below = link->level_count == 0 ? link->sharers
                                          : link->levels[link->level_count - 1].devices;
  if (form->kind != EG_SEXPR_LIST || form->count != 2)
    return eg_sexpr_fail(
        r->file, form,
        "expected (DEVICES OVERSUBSCRIPTION): how many devices are below "
        "a switch, and how many times what goes up is narrower");
  EG_TRY(read_integer(r, &form->children[0], &level.devices));
  if (level.devices % below != 0 || (link->level_count != 0 && level.devices == below))
    return eg_sexpr_fail(r->file, form,
                         "a switch has whole switches and ports below it; let %" PRIu32
                         " be a multiple of %" PRIu32,
                         level.devices, below);
  if (link->level_count == EG_MACHINE_MAX_LEVELS)
    return eg_sexpr_fail(r->file, form, "a fat tree has at most %d levels",
                         EG_MACHINE_MAX_LEVELS);
  EG_TRY(read_ratio(r, form, &level.oversubscription));
  link->levels[link->level_count++] = level;
  return EGRAPH_OK;
}

/// Reads (ports switch), (ports torus) or (ports fat-tree (DEVICES
/// OVERSUBSCRIPTION) ...).
static egraph_status parse_ports(const reader *r, const eg_sexpr *form,
                                 eg_machine_link *link) {
  for (int i = EG_PORTS_UNKNOWN + 1; i < EG_PORTS_COUNT && form->count >= 2; i++)
    if (eg_sexpr_is_atom(&form->children[1], eg_ports_name((eg_ports)i)))
      link->ports = (eg_ports)i;
  bool is_tree = link->ports == EG_PORTS_FAT_TREE;
  if (link->ports == EG_PORTS_UNKNOWN || is_tree != (form->count > 2))
    return eg_sexpr_fail(r->file, form,
                         "expected (ports switch), (ports torus) or (ports fat-tree "
                         "(DEVICES OVERSUBSCRIPTION) ...)");
  if (link->ports == EG_PORTS_TORUS && link->sharers != 1)
    return eg_sexpr_fail(
        r->file, form, "devices of a torus have wires of their own; remove (shared ...)");
  for (uint32_t i = 2; i < form->count; i++)
    EG_TRY(parse_level(r, &form->children[i], link));
  return EGRAPH_OK;
}

/// Reads (through LINK) of a link whose network of ports is known.
static egraph_status parse_through(const reader *r, const eg_sexpr *form,
                                   eg_machine_link *link) {
  if (form->count != 2 || form->children[1].kind != EG_SEXPR_ATOM ||
      !find_link(r, form->children[1].text, &link->through))
    return eg_sexpr_fail(r->file, form,
                         "expected (through LINK), a link that comes before this one");
  if (link->ports == EG_PORTS_UNKNOWN)
    return eg_sexpr_fail(r->file, form,
                         "a link through another one has ports of its own; add (ports "
                         "...)");
  if (r->links[link->through].ports != EG_PORTS_SWITCH)
    return eg_sexpr_fail(
        r->file, form,
        "messages pass the ports of '%s' on their way; add (ports switch) "
        "to it",
        r->links[link->through].name);
  return EGRAPH_OK;
}

static egraph_status parse_link(reader *r, const eg_sexpr *form) {
  enum { LATENCY, BANDWIDTH, SHARED, ALPHA, BETA, PORTS, THROUGH, REACHED, PARTS };
  static const char *const names[PARTS] = {"latency", "bandwidth", "shared",  "alpha",
                                           "beta",    "ports",     "through", "reached"};
  const eg_sexpr *part[PARTS];
  eg_machine_link link = {
      .sharers = 1, .through = EG_LINK_AUTO, .reached = 1, .where = ""};
  uint32_t other;
  if (form->count < 2)
    return eg_sexpr_fail(r->file, form,
                         "expected (link NAME (latency ...) (bandwidth ...))");
  EG_TRY(read_label(r, &form->children[1], link.name));
  if (find_link(r, link.name, &other))
    return eg_sexpr_fail(r->file, form, "there are two links '%s'; rename one",
                         link.name);
  EG_TRY(find_parts(r, form, 2, names, PARTS, part));
  bool data_sheet = part[LATENCY] != NULL && part[BANDWIDTH] != NULL &&
                    part[ALPHA] == NULL && part[BETA] == NULL;
  bool direct = part[LATENCY] == NULL && part[BANDWIDTH] == NULL && part[ALPHA] != NULL &&
                part[BETA] != NULL;
  if (!data_sheet && !direct)
    return eg_sexpr_fail(r->file, form,
                         "a link has either (latency ...) and (bandwidth ...), or (alpha "
                         "...) and (beta ...)");
  EG_TRY(read_figure(r, part[data_sheet ? LATENCY : ALPHA], true, &link.latency_seconds));
  EG_TRY(read_figure(r, part[data_sheet ? BANDWIDTH : BETA], false,
                     data_sheet ? &link.bandwidth_bytes : &link.seconds_per_byte));
  if (data_sheet) link.seconds_per_byte = 1 / link.bandwidth_bytes;
  if (part[SHARED] != NULL && part[SHARED]->count != 2)
    return eg_sexpr_fail(r->file, part[SHARED], "expected (shared DEVICES)");
  if (part[SHARED] != NULL)
    EG_TRY(read_integer(r, &part[SHARED]->children[1], &link.sharers));
  if (part[PORTS] != NULL) EG_TRY(parse_ports(r, part[PORTS], &link));
  if (part[REACHED] != NULL) EG_TRY(parse_reached(r, part[REACHED], &link));
  if (part[THROUGH] != NULL) EG_TRY(parse_through(r, part[THROUGH], &link));
  r->links[r->machine->link_count++] = link;
  return EGRAPH_OK;
}

static egraph_status read_link(const reader *r, const eg_sexpr *expr, uint32_t *out) {
  if (expr->kind == EG_SEXPR_ATOM && find_link(r, expr->text, out)) return EGRAPH_OK;
  return eg_sexpr_fail(r->file, expr,
                       "there is no such link; add (link NAME (latency ...) (bandwidth "
                       "...))");
}

static egraph_status read_size_class(const reader *r, const eg_sexpr *form,
                                     eg_size_class *out) {
  double *const figures[] = {&out->most_bytes, &out->latency_seconds,
                             &out->seconds_per_byte};
  bool is_good = form->kind == EG_SEXPR_LIST && form->count == 3;
  for (uint32_t i = 0; is_good && i < 3; i++)
    is_good = form->children[i].kind == EG_SEXPR_ATOM &&
              eg_parse_double(form->children[i].text, figures[i]) &&
              fabs(*figures[i]) <= largest &&
              (i == 0 ? *figures[i] >= smallest : i == 1 || *figures[i] >= 0);
  if (is_good) return EGRAPH_OK;
  return eg_sexpr_fail(r->file, form,
                       "expected (MOST-BYTES LATENCY SECONDS-PER-BYTE), at most %g; of "
                       "large sizes the latency may be below 0",
                       largest);
}

static egraph_status read_size_classes(const reader *r, const eg_sexpr *form,
                                       eg_link_curve *out) {
  for (uint32_t i = 4; i < form->count; i++) {
    eg_size_class *made = &out->classes[out->class_count++];
    EG_TRY(read_size_class(r, &form->children[i], made));
    if (i != 4 && made->most_bytes <= made[-1].most_bytes)
      return eg_sexpr_fail(
          r->file, &form->children[i],
          "sort the classes by their bytes; each has more than the last");
  }
  return EGRAPH_OK;
}

static bool has_curve(const eg_machine_link *link, const eg_link_curve *curve) {
  for (uint32_t i = 0; i < link->curve_count; i++)
    if (link->curves[i].exchange == curve->exchange &&
        link->curves[i].devices == curve->devices)
      return true;
  return false;
}

static egraph_status parse_exchange(reader *r, const eg_sexpr *form) {
  eg_link_curve curve = {.exchange = 0}, *all;
  uint32_t at = 0;
  if (form->count < 5 || form->count > 4 + EG_SIZE_CLASSES)
    return eg_sexpr_fail(r->file, form,
                         "expected (exchange LINK KIND DEVICES (MOST-BYTES LATENCY "
                         "SECONDS-PER-BYTE) ...), at most %d classes of sizes",
                         EG_SIZE_CLASSES);
  EG_TRY(read_link(r, &form->children[1], &at));
  while (curve.exchange < EG_EXCHANGES &&
         !(eg_exchange_is_remote(curve.exchange) &&
           eg_sexpr_is_atom(&form->children[2], eg_exchange_name(curve.exchange))))
    curve.exchange++;
  if (curve.exchange == EG_EXCHANGES)
    return eg_sexpr_fail(r->file, &form->children[2],
                         "expected all-gather, reduce-scatter, all-reduce, all-to-all or "
                         "halo");
  EG_TRY(read_integer(r, &form->children[3], &curve.devices));
  EG_TRY(read_size_classes(r, form, &curve));
  eg_machine_link *link = &r->links[at];
  if (has_curve(link, &curve))
    return eg_sexpr_fail(r->file, form, "this exchange is given twice; remove one");
  EG_NEW(&r->machine->memory, link->curve_count + 1u, all);
  for (uint32_t i = 0; i < link->curve_count; i++)
    all[i] = link->curves[i];
  all[link->curve_count++] = curve;
  link->curves = all;
  return EGRAPH_OK;
}

// ---- axes ---------------------------------------------------------------------------

static egraph_status parse_axis(reader *r, const eg_sexpr *form) {
  eg_machine *m = r->machine;
  eg_machine_axis axis;
  if (form->count != 4)
    return eg_sexpr_fail(r->file, form, "expected (axis NAME SIZE LINK)");
  EG_TRY(read_label(r, &form->children[1], axis.name));
  EG_TRY(read_size(r, &form->children[2], &axis.size));
  EG_TRY(read_link(r, &form->children[3], &axis.link));
  for (uint32_t i = 0; i < m->axis_count; i++)
    if (strcmp(m->axes[i].name, axis.name) == 0)
      return eg_sexpr_fail(r->file, form, "there are two axes '%s'; rename one",
                           axis.name);
  if ((uint64_t)eg_machine_devices(m) * axis.size > EG_MACHINE_MAX_DEVICES)
    return eg_sexpr_fail(r->file, form, "the axes multiply to more than %d devices",
                         EG_MACHINE_MAX_DEVICES);
  m->axes[m->axis_count++] = axis;
  return EGRAPH_OK;
}

// ---- meshes -----------------------------------------------------------------------

/// The axes of a mesh clause; size 0 (written *) is replaced by the remaining devices.
typedef struct mesh_text {
  eg_mesh mesh;
  uint32_t links[EG_MAX_MESH_AXES];
} mesh_text;

static egraph_status parse_mesh_axis(reader *r, const eg_sexpr *form, mesh_text *out) {
  if (form->kind != EG_SEXPR_LIST || (form->count != 2 && form->count != 3))
    return eg_sexpr_fail(r->file, form, "expected (AXIS SIZE) or (AXIS SIZE LINK)");
  uint32_t at = out->mesh.axis_count, other;
  eg_mesh_axis *axis = &out->mesh.axes[at];
  EG_TRY(read_label(r, &form->children[0], axis->name));
  if (eg_mesh_find_axis(&out->mesh, axis->name, &other))
    return eg_sexpr_fail(r->file, form, "the mesh has two axes '%s'; rename one",
                         axis->name);
  axis->size = 0;
  if (!eg_sexpr_is_atom(&form->children[1], "*"))
    EG_TRY(read_size(r, &form->children[1], &axis->size));
  out->links[at] = EG_LINK_AUTO;
  if (form->count == 3) EG_TRY(read_link(r, &form->children[2], &out->links[at]));
  out->mesh.axis_count++;
  return EGRAPH_OK;
}

/// Replaces size 0 (written *) by the remaining devices, and drops axes of one device.
static egraph_status finish_mesh(const reader *r, const eg_sexpr *form,
                                 mesh_text *inout) {
  uint32_t devices = eg_machine_devices(r->machine), count = 0, open = 0;
  uint64_t product = 1;
  for (uint32_t i = 0; i < inout->mesh.axis_count; i++) {
    uint32_t size = inout->mesh.axes[i].size;
    open += size == 0;
    product *= product <= EG_MACHINE_MAX_DEVICES && size != 0 ? size : 1;
  }
  if (open > 1 || (open == 1 ? devices % product != 0 : product != devices))
    return eg_sexpr_fail(r->file, form,
                         "the sizes of a mesh must multiply to the %" PRIu32
                         " devices of the machine; at most one may be *",
                         devices);
  for (uint32_t i = 0; i < inout->mesh.axis_count; i++) {
    eg_mesh_axis axis = inout->mesh.axes[i];
    if (axis.size == 0) axis.size = (uint32_t)(devices / product);
    if (axis.size == 1) continue;
    inout->mesh.axes[count] = axis;
    inout->links[count++] = inout->links[i];
  }
  inout->mesh.axis_count = count;
  return EGRAPH_OK;
}

/// Adds a mesh, unless it differs from another mesh only in names.
static egraph_status add_mesh(reader *r, const mesh_text *text) {
  eg_machine_mesh *made = &r->meshes[r->machine->mesh_count];
  EG_TRY(eg_machine_mesh_of(r->machine, &text->mesh, text->links, made));
  for (uint32_t i = 0; i < r->machine->mesh_count; i++)
    if (r->meshes[i].mesh.axis_count == made->mesh.axis_count &&
        eg_mesh_covers(&r->meshes[i], made))
      return EGRAPH_OK;
  r->machine->mesh_count++;
  return EGRAPH_OK;
}

static egraph_status parse_mesh(reader *r, const eg_sexpr *form) {
  mesh_text text = {.mesh = {.axis_count = 0}};
  if (form->count - 1 > EG_MAX_MESH_AXES)
    return eg_sexpr_fail(r->file, form, "a mesh has at most %d axes", EG_MAX_MESH_AXES);
  for (uint32_t i = 1; i < form->count; i++)
    EG_TRY(parse_mesh_axis(r, &form->children[i], &text));
  EG_TRY(finish_mesh(r, form, &text));
  return add_mesh(r, &text);
}

/// Adds a mesh with the machine's own axes, for files without meshes.
static egraph_status add_own_mesh(reader *r) {
  mesh_text text = {.mesh = {.axis_count = 0}};
  for (uint32_t i = 0; i < r->machine->axis_count; i++) {
    const eg_machine_axis *axis = &r->machine->axes[i];
    if (axis->size == 1) continue;
    eg_mesh_axis *own = &text.mesh.axes[text.mesh.axis_count];
    memcpy(own->name, axis->name, sizeof own->name);
    own->size = axis->size;
    text.links[text.mesh.axis_count++] = EG_LINK_AUTO;
  }
  return add_mesh(r, &text);
}

// ---- files ------------------------------------------------------------------------

typedef struct clause {
  const char *name;
  egraph_status (*parse)(reader *r, const eg_sexpr *form);
  uint32_t min, max; // number of times it may occur
} clause;

enum { CLAUSES = 10, MAX_CURVES = 256 };
static const clause clauses[CLAUSES] = {
    {"name", parse_name, 1, 1},
    {"nodes", parse_nodes, 0, 1},
    {"compute", parse_compute, 0, 1},
    {"collectives", parse_collectives, 0, 1},
    {"device", parse_device, 0, 1},
    {"efficiency", parse_efficiency, 0, MAX_REACHES},
    {"link", parse_link, 0, EG_MACHINE_MAX_LINKS},
    {"exchange", parse_exchange, 0, MAX_CURVES},
    {"axis", parse_axis, 0, EG_MAX_MESH_AXES},
    {"mesh", parse_mesh, 0, MAX_MESHES},
};

static egraph_status check_head(const reader *r, const eg_sexpr *file) {
  const eg_sexpr *head = file->count != 0 ? &file->children[0] : file;
  if (file->count != 0 && eg_sexpr_is_form(head, "egraph-machine") && head->count == 2 &&
      eg_sexpr_is_atom(&head->children[1], "1"))
    return EGRAPH_OK;
  return eg_sexpr_fail(r->file, head,
                       "a machine file begins with (egraph-machine %d); this is none, or "
                       "of a newer version",
                       EG_MACHINE_TEXT_VERSION);
}

static egraph_status count_clauses(const reader *r, const eg_sexpr *file) {
  uint32_t counts[CLAUSES] = {0};
  for (uint32_t i = 1; i < file->count; i++) {
    const eg_sexpr *form = &file->children[i];
    uint32_t k = 0;
    while (k < CLAUSES && !eg_sexpr_is_form(form, clauses[k].name))
      k++;
    if (k == CLAUSES)
      return eg_sexpr_fail(r->file, form,
                           "expected (name ...), (nodes ...), (compute ...), "
                           "(collectives ...), (device ...), (efficiency ...), (link "
                           "...), (exchange ...), (axis ...) or (mesh ...)");
    if (++counts[k] > clauses[k].max)
      return eg_sexpr_fail(r->file, form, "more than %" PRIu32 " of (%s ...); remove one",
                           clauses[k].max, clauses[k].name);
  }
  for (uint32_t k = 0; k < CLAUSES; k++)
    if (counts[k] < clauses[k].min)
      return eg_sexpr_fail(r->file, file, "there is no (%s ...); add it",
                           clauses[k].name);
  return EGRAPH_OK;
}

static egraph_status parse_file(reader *r, const char *text, size_t size) {
  eg_sexpr file;
  EG_TRY(eg_sexpr_parse(&r->scratch, r->file, text, size, &file));
  EG_TRY(check_head(r, &file));
  EG_TRY(count_clauses(r, &file));
  EG_NEW(&r->machine->memory, EG_MACHINE_MAX_LINKS, r->links);
  EG_NEW(&r->machine->memory, MAX_MESHES, r->meshes);
  r->machine->links = r->links;
  r->machine->meshes = r->meshes;
  for (uint32_t k = 0; k < CLAUSES; k++)
    for (uint32_t i = 1; i < file.count; i++)
      if (eg_sexpr_is_form(&file.children[i], clauses[k].name))
        EG_TRY(clauses[k].parse(r, &file.children[i]));
  if (!r->has_device && !r->machine->compute_is_free)
    return eg_sexpr_fail(r->file, &file,
                         "there is no (device ...); add it, or (compute free)");
  if (r->nodes_wanted != 0 && !r->uses_nodes)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "%s: the number of nodes is fixed; ask for none, or add (nodes n) and "
                   "use `nodes` as a size",
                   r->file);
  return r->machine->mesh_count != 0 ? EGRAPH_OK : add_own_mesh(r);
}

egraph_status eg_machine_parse(const egraph_allocator *alloc, const char *file,
                               const char *text, size_t size, uint32_t nodes,
                               eg_machine *out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_machine machine = {.name = "",
                        .device = "",
                        .profile = "",
                        .memory_bytes = (double)INFINITY,
                        .slowdown = 1};
  reader r = {.file = file, .machine = &machine, .nodes_wanted = nodes};
  if (nodes > EG_MACHINE_MAX_DEVICES)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "%s: at most %d nodes", file,
                   EG_MACHINE_MAX_DEVICES);
  eg_arena_init(&machine.memory, heap);
  eg_arena_init(&r.scratch, heap);
  egraph_status status = parse_file(&r, text, size);
  eg_arena_deinit(&r.scratch);
  if (status == EGRAPH_OK)
    *out = machine;
  else
    eg_machine_deinit(&machine);
  return status;
}
