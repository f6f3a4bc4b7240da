// The channels of this build.
// SPDX-License-Identifier: Apache-2.0
#include "exec/channel.h"

#include <string.h>

#if EG_HAVE_MPI
#include "exec/mpi/mpi_channel.h"
#endif

typedef egraph_status (*channel_create)(const egraph_allocator *alloc,
                                        const eg_mesh *mesh,
                                        const eg_channel_options *options,
                                        eg_channel **out);

typedef struct channel_row {
  const char *name;
  channel_create create; // NULL: not in this build
  const char *remedy;
} channel_row;

static const channel_row rows[] = {
#if EG_HAVE_MPI
    {"mpi", eg_mpi_channel_create, ""},
#else
    {"mpi", NULL, "install libopenmpi-dev and configure again"},
#endif
};

static const channel_row *find_row(const char *name) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].name, name) == 0) return &rows[i];
  return NULL;
}

bool eg_channel_is_built(const char *name) {
  const channel_row *row = find_row(name);
  return row != NULL && row->create != NULL;
}

egraph_status eg_channel_open(const egraph_allocator *alloc, const char *name,
                              const eg_mesh *mesh, const eg_channel_options *options,
                              eg_channel **out) {
  const channel_row *row = find_row(name);
  if (row == NULL)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "no channel '%s' between processes; there is 'mpi'",
                   name);
  if (row->create == NULL)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "channel '%s' is not in this build; %s", name,
                   row->remedy);
  return row->create(alloc, mesh, options, out);
}
