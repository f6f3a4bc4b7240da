// The channel between processes, as mpirun starts them: every collective, in a program
// that starts MPI itself and in one that leaves it to the channel; ranks that do not
// come, fail, or run something else; with it as the control of channels on devices.
// Usage: mpirun -n 4 mpi_ranks suite|own|late|...
// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>
#include <stdlib.h>

#include "exec/device_channel.h"
#include "tests/unit/channel_suite.h"

#define EXPECT(condition, ...)                                                           \
  do {                                                                                   \
    if (!(condition)) complain(__LINE__, __VA_ARGS__);                                   \
  } while (0)

static void complain(int line, const char *what) {
  fprintf(stderr, "mpi_ranks.c:%d: %s; last error: %s\n", line, what,
          egraph_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

static egraph_status open_channel(const char *mesh_text, double deadline,
                                  eg_channel **out) {
  eg_mesh mesh;
  EG_TRY(eg_mesh_parse(mesh_text, &mesh));
  eg_channel_options options = {.deadline_seconds = deadline};
  return eg_channel_open(NULL, "mpi", &mesh, &options, out);
}

static void must_open(const char *mesh_text, double deadline, eg_channel **out) {
  EXPECT(open_channel(mesh_text, deadline, out) == EGRAPH_OK, "the channel opens");
}

static bool failed_with(egraph_status status, egraph_status code, const char *part) {
  return status == code && strstr(egraph_last_error(), part) != NULL;
}

static egraph_status reduce(eg_channel *channel, size_t count) {
  static float x[40000];
  return eg_channel_run(channel, &(eg_collective){.kind = EG_COLLECTIVE_ALL_REDUCE,
                                                  .dtype = EGRAPH_FLOAT32,
                                                  .count = count,
                                                  .send = x,
                                                  .recv = x});
}

// ---- modes ------------------------------------------------------------------------

static void run_suite(void) {
  static const char *const meshes[] = {"a=4", "a=2,b=2", "a=1,b=4"};
  for (int i = 0; i < 3; i++) {
    eg_channel *channel;
    must_open(meshes[i], 60, &channel);
    EXPECT(channel_suite(channel) == EGRAPH_OK, "collectives give what was sent");
    eg_channel_destroy(channel);
  }
  eg_channel *channel;
  EXPECT(failed_with(open_channel("a=3", 60, &channel), EGRAPH_E_ARGUMENT,
                     "the mesh has 3 devices, but mpirun started 4 processes"),
         "a mesh of another size is refused");
}

// MPI starts and ends with the channel.
static void run_own(void) {
  eg_channel *channel;
  must_open("a=2,b=2", 60, &channel);
  EXPECT(channel_suite(channel) == EGRAPH_OK, "collectives give what was sent");
  eg_channel_destroy(channel);
  int is_ended = 0;
  MPI_Finalized(&is_ended);
  EXPECT(is_ended, "MPI has ended");
  EXPECT(failed_with(open_channel("a=2,b=2", 60, &channel), EGRAPH_E_ARGUMENT,
                     "MPI has ended"),
         "MPI does not start twice");
}

// Rank 0 comes when all others have given up: they say so outside the channel.
static void run_late(void) {
  eg_channel *channel;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  must_open("gpu=4", 60, &channel);
  channel->deadline_seconds = 0.2;
  char byte = 0;
  for (int other = 1; rank == 0 && other < 4; other++)
    MPI_Recv(&byte, 1, MPI_BYTE, other, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  // Larger than what MPI sends on its own: requests stay behind.
  EXPECT(failed_with(reduce(channel, 40000), EGRAPH_E_CANCELLED, "rank 0 did not come"),
         "rank 0 is missed");
  EXPECT(
      failed_with(eg_channel_barrier(channel), EGRAPH_E_CANCELLED, "rank 0 did not come"),
      "and stays so");
  if (rank != 0) MPI_Send(&byte, 1, MPI_BYTE, 0, 7, MPI_COMM_WORLD);
  eg_channel_destroy(channel);
}

static void run_abort(void) {
  eg_channel *channel;
  must_open("gpu=4", 3600, &channel);
  egraph_status status = EGRAPH_OK;
  for (int i = 0; status == EGRAPH_OK; i++) {
    if (channel->rank == 1 && i == 10)
      status =
          eg_channel_abort(channel, EG_FAIL(EGRAPH_E_UNSUPPORTED, "no kernel for this"));
    else
      status = reduce(channel, 1000);
  }
  EXPECT(failed_with(status, EGRAPH_E_UNSUPPORTED, "no kernel for this"),
         "all end as rank 1 did");
  EXPECT(failed_with(reduce(channel, 1), EGRAPH_E_UNSUPPORTED, "rank 1 failed"),
         "and stay so");
  eg_channel_destroy(channel);
}

static void run_mismatch(void) {
  eg_channel *channel;
  must_open("gpu=4", 3600, &channel);
  EXPECT(failed_with(reduce(channel, channel->rank == 2 ? 7 : 8), EGRAPH_E_ARGUMENT,
                     "all ranks must run the same program"),
         "ranks that differ are told");
  eg_channel_destroy(channel);
}

// Devices that are none (tests/distant). Their transport knows the ranks of one process
// only, so here it waits for the others as for ranks that are lost.
static void run_device(void) {
  char cuda[4096], nccl[4096];
  const char *file = getenv("DISTANT_PLUGIN");
  (void)snprintf(cuda, sizeof cuda, "cuda:%s", file != NULL ? file : "");
  (void)snprintf(nccl, sizeof nccl, "nccl:%s", file != NULL ? file : "");
  eg_channel *control, *channel;
  eg_backend *backend;
  EXPECT(eg_backend_create(NULL, cuda, &(eg_backend_options){.threads = 1}, &backend) ==
             EGRAPH_OK,
         "the back-end opens");
  must_open("a=2,b=2", 60, &control);
  EXPECT(eg_device_channel_create(NULL, control, backend, NULL, &channel) == EGRAPH_OK,
         "the channel opens");
  EXPECT(channel_suite(channel) == EGRAPH_OK, "collectives give what was sent");
  eg_channel_destroy(channel);
  eg_channel_destroy(control);
  must_open("gpu=4", 0.5, &control);
  EXPECT(failed_with(eg_device_channel_create(NULL, control, backend, nccl, &channel),
                     EGRAPH_E_CANCELLED, "within 0.5 s"),
         "a transport that never joins ends all");
  eg_channel_destroy(control);
  eg_backend_destroy(backend);
}

typedef struct mode {
  const char *name;
  void (*run)(void);
  bool starts_mpi;
} mode;

static const mode modes[] = {
    {"suite", run_suite, true},       {"own", run_own, false},
    {"late", run_late, true},         {"abort", run_abort, true},
    {"mismatch", run_mismatch, true}, {"device", run_device, true}};

int main(int argc, char **argv) {
  for (size_t i = 0; argc == 2 && i < sizeof modes / sizeof *modes; i++) {
    if (strcmp(modes[i].name, argv[1]) != 0) continue;
    if (modes[i].starts_mpi) MPI_Init(NULL, NULL);
    modes[i].run();
    if (modes[i].starts_mpi) MPI_Finalize();
    return 0;
  }
  fprintf(stderr, "usage: mpi_ranks suite|own|late|abort|mismatch|device\n");
  return 2;
}
