// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "tools/exchanges_told.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { STALE_DAYS = 30, DAY_SECONDS = 86400 };

static void tell(int64_t date, const char *channel, uint32_t ranks) {
  char day[16] = "-";
  struct tm parts;
  time_t seconds = (time_t)date;
  int64_t days = ((int64_t)time(NULL) - date) / DAY_SECONDS;
  bool is_mpi = strcmp(channel, "mpi") == 0;
  if (gmtime_r(&seconds, &parts) != NULL)
    (void)strftime(day, sizeof day, "%Y-%m-%d", &parts);
  if (date != 0)
    printf("exchanges   measured %s between %u ranks over %s", day, ranks, channel);
  else
    printf("exchanges   priced by two figures of messages, not by kind and size");
  if (date == 0 || days > STALE_DAYS)
    printf("; %segraph profile --collectives --ranks %u%s measures them%s",
           is_mpi ? "mpirun " : "", ranks, is_mpi ? " --channel mpi" : "",
           date != 0 ? " again" : "");
  printf("\n");
}

egraph_status exchanges_tell(const char *machine, uint32_t ranks,
                             const cost_flags *flags) {
  egraph_costs *costs = NULL;
  int64_t date = 0;
  if (machine == NULL || !is_this_host(machine) || ranks < 2) return EGRAPH_OK;
  const char *channel = strncmp(machine, "host-mpi", 8) == 0 ? "mpi" : "local";
  egraph_status status = open_plan_costs(flags, machine, &costs);
  if (status == EGRAPH_OK && costs != NULL)
    status = egraph_costs_exchanges(costs, channel, ranks, NULL, NULL, &date);
  egraph_costs_destroy(costs);
  if (status == EGRAPH_OK) tell(date, channel, ranks);
  return status;
}
