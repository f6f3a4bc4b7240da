// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/compare/chart.h"

#include <math.h>
#include <string.h>

#include "tools/bench/compare/searches.h"
#include "tools/console.h"

// ---- what is compared --------------------------------------------------------------

double row_seconds(const compare_row *row) {
  if (!row_is(row, STATUS_FITS)) return NAN;
  double simulated = row_number(row, COL_SIMULATED);
  return isfinite(simulated) ? simulated : row_number(row, COL_COST);
}

static bool is_own(const compare_row *row) {
  const search_entry *search = search_find(row_cell(row, COL_SEARCH));
  return search != NULL &&
         (search->kind == SEARCH_OWN || search->kind == SEARCH_OWN_OVERLAP);
}

/// True when two rows belong to one panel of the chart: they differ only in the search.
static bool is_same_panel(const compare_row *a, const compare_row *b) {
  static const compare_column columns[] = {COL_MODEL, COL_MACHINE, COL_DEVICES,
                                           COL_SCALING, COL_TYPE};
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
    if (strcmp(row_cell(a, columns[i]), row_cell(b, columns[i])) != 0) return false;
  return true;
}

bool rows_have_own(const compare_row *const *rows, size_t count, const compare_row *row) {
  for (size_t i = 0; i < count; i++)
    if (is_own(rows[i]) && is_same_panel(rows[i], row)) return true;
  return false;
}

double rows_own_seconds(const compare_row *const *rows, size_t count,
                        const compare_row *row) {
  double best = NAN;
  for (size_t i = 0; i < count; i++)
    if (is_own(rows[i]) && is_same_panel(rows[i], row))
      best = fmin(best, row_seconds(rows[i])); // fmin passes over NAN
  return best;
}

/// Returns the seconds that the bars of a panel are relative to: the seconds of the
/// product's own best row, or of the best row if the product has none; NAN: no row fits.
static double panel_unit(const compare_row *const *rows, size_t count,
                         const compare_row *row) {
  double own = rows_own_seconds(rows, count, row), best = NAN;
  for (size_t i = 0; i < count; i++)
    if (is_same_panel(rows[i], row)) best = fmin(best, row_seconds(rows[i]));
  return isfinite(own) ? own : best;
}

// ---- the picture -----------------------------------------------------------------

enum {
  PANELS_ABREAST = 3,
  PANEL_WIDTH = 400,
  LINE_HEIGHT = 17,
  NAME_WIDTH = 112,
  BAR_WIDTH = 150, // for MOST_RATIO
  MARGIN = 12,
  HEAD_HEIGHT = 58
};
static const double MOST_RATIO = 3;

/// Writes text inside an element: without markup, and without characters that XML lacks.
static void write_escaped(FILE *file, const char *text) {
  for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
    if (*c == '&')
      fprintf(file, "&amp;");
    else if (*c == '<')
      fprintf(file, "&lt;");
    else if (*c < 0x20 || *c > 0x7e) // names of models and machines are ASCII
      fputc('?', file);
    else
      fputc(*c, file);
  }
}

static void write_text(FILE *file, double x, double y, const char *class,
                       const char *text) {
  fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
  write_escaped(file, text);
  fprintf(file, "</text>\n");
}

/// Writes a row's bar in the chart, with its label; bars are relative to `unit` seconds.
static void write_bar(FILE *file, const compare_row *row, double unit, double x,
                      double y) {
  char label[96];
  double seconds = row_seconds(row), ratio = seconds / unit;
  double left = x + NAME_WIDTH, base = y + LINE_HEIGHT - 5;
  write_text(file, left - 6, base, is_own(row) ? "name own" : "name",
             row_cell(row, COL_SEARCH));
  if (!isfinite(seconds)) {
    double missing = row_number(row, COL_SHORT);
    if (row_is(row, STATUS_TOO_LARGE) && isfinite(missing))
      (void)snprintf(label, sizeof label, "does not fit: %s short",
                     bytes_text(missing).text);
    else
      (void)snprintf(label, sizeof label, "%s", row_cell(row, COL_STATUS));
    write_text(file, left + 4, base, "none", label);
    return;
  }
  bool is_relative = isfinite(ratio) && unit > 0;
  double shown = is_relative ? fmin(ratio, MOST_RATIO) : 1;
  double width = BAR_WIDTH * shown / MOST_RATIO;
  fprintf(file,
          "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" class=\"%s\"/>\n",
          left, y + 2, width, LINE_HEIGHT - 4,
          is_own(row)                       ? "bar own"
          : is_relative && ratio < 1 - 1e-6 ? "bar ahead"
                                            : "bar");
  if (is_relative)
    (void)snprintf(label, sizeof label, "%.2fx, %s%s", ratio, seconds_text(seconds).text,
                   ratio > MOST_RATIO ? " (bar cut)" : "");
  else
    (void)snprintf(label, sizeof label, "%s", seconds_text(seconds).text);
  write_text(file, left + width + 5, base, "value", label);
}

static bool begins_panel(const compare_row *const *rows, size_t at) {
  for (size_t i = 0; i < at; i++)
    if (is_same_panel(rows[i], rows[at])) return false;
  return true;
}

/// Writes the panel that begins with row `first`, and counts its rows; NULL: only counts.
static size_t write_panel(FILE *file, const compare_row *const *rows, size_t count,
                          size_t first, double x, double y) {
  char title[160];
  const compare_row *row = rows[first];
  size_t in_panel = 0;
  double unit = panel_unit(rows, count, row);
  (void)snprintf(title, sizeof title, "%.40s, %.10s of %.40s, %.10s",
                 row_cell(row, COL_MODEL), row_cell(row, COL_DEVICES),
                 row_cell(row, COL_MACHINE), row_cell(row, COL_TYPE));
  if (file != NULL) write_text(file, x, y + 12, "title", title);
  y += LINE_HEIGHT + 2;
  for (size_t i = first; i < count; i++) {
    if (!is_same_panel(rows[i], row)) continue;
    if (file != NULL)
      write_bar(file, rows[i], unit, x, y + (double)in_panel * LINE_HEIGHT);
    in_panel++;
  }
  return in_panel;
}

/// Writes the panels, each below the column that is the shortest so far; with file NULL
/// it only computes their lower end.
static double write_panels(FILE *file, const compare_row *const *rows, size_t count) {
  double bottom[PANELS_ABREAST], lowest = HEAD_HEIGHT;
  for (int i = 0; i < PANELS_ABREAST; i++)
    bottom[i] = HEAD_HEIGHT;
  for (size_t i = 0; i < count; i++) {
    if (!begins_panel(rows, i)) continue;
    int at = 0;
    for (int k = 1; k < PANELS_ABREAST; k++)
      if (bottom[k] < bottom[at]) at = k;
    size_t in_panel =
        write_panel(file, rows, count, i, MARGIN + (double)at * PANEL_WIDTH, bottom[at]);
    bottom[at] += LINE_HEIGHT * (double)(in_panel + 1) + 2 * MARGIN;
    lowest = fmax(lowest, bottom[at]);
  }
  return lowest;
}

void rows_write_svg(FILE *file, const compare_row *const *rows, size_t count) {
  int width = PANELS_ABREAST * PANEL_WIDTH + 2 * MARGIN;
  double height = write_panels(NULL, rows, count);
  fprintf(file,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
          "viewBox=\"0 0 %d %.0f\">\n"
          "<style>text{font:11px "
          "sans-serif;fill:#222}.title{font-weight:bold}.name{text-anchor:end}.own{font-"
          "weight:bold}.none{fill:#888}.bar{fill:#a8b4c4}rect.own{fill:#1f5fa8}.ahead{"
          "fill:#c8553d}.head{font-size:15px;font-weight:bold}</style>\n"
          "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
          width, height, width, height);
  write_text(file, MARGIN, 22, "head",
             "Seconds of a step, exchanges beside computing, relative to egraph's best, "
             "or to the best row where egraph has none");
  write_text(file, MARGIN, 40, "note",
             "Shorter is better. Blue: egraph. Red: ahead of it. Graphs for one device "
             "are compared by their cost.");
  (void)write_panels(file, rows, count);
  fprintf(file, "</svg>\n");
}
