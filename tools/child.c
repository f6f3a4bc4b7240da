// Output goes to unlinked temporary files, not to pipes: nobody has to drain them.
// SPDX-License-Identifier: Apache-2.0
#define _DEFAULT_SOURCE // wait4
#include "tools/child.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ARGUMENTS = 24 };

static double now_seconds(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void close_files(child *c) {
  if (c->output != NULL) (void)fclose(c->output);
  if (c->errors != NULL) (void)fclose(c->errors);
  c->output = c->errors = NULL;
}

// Only async-signal-safe calls between fork and exec.
static void become(const child *c, char **argv) {
  if (dup2(fileno(c->output), STDOUT_FILENO) >= 0 &&
      dup2(fileno(c->errors), STDERR_FILENO) >= 0)
    (void)execv("/proc/self/exe", argv);
  _exit(127);
}

bool child_start(child *c, const char *const *arguments, double patience_seconds) {
  char *argv[MAX_ARGUMENTS + 2] = {"egraph"};
  for (size_t i = 0; i < MAX_ARGUMENTS && arguments[i] != NULL; i++)
    argv[i + 1] = (char *)(uintptr_t)arguments[i]; // execv reads them only
  *c = (child){.output = tmpfile(), .errors = tmpfile(), .patience = patience_seconds};
  if (c->output != NULL && c->errors != NULL) {
    (void)fflush(NULL);
    c->started = now_seconds();
    c->pid = fork();
    if (c->pid == 0) become(c, argv);
    if (c->pid > 0) return true;
  }
  fprintf(stderr, "egraph: no child process can be started: %s\n", strerror(errno));
  c->pid = 0;
  close_files(c);
  return false;
}

static char *read_all(FILE *file) {
  long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : 0;
  char *text = malloc(size > 0 ? (size_t)size + 1 : 1);
  if (text == NULL) return NULL;
  rewind(file);
  size_t got = size > 0 ? fread(text, 1, (size_t)size, file) : 0;
  text[got] = '\0';
  return text;
}

static void keep_last_line(char *text) {
  size_t length = strlen(text);
  while (length != 0 && text[length - 1] == '\n')
    text[--length] = '\0';
  char *line = strrchr(text, '\n');
  if (line != NULL) memmove(text, line + 1, strlen(line + 1) + 1);
}

static double seconds_of(struct timeval t) {
  return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

bool child_poll(child *c, child_end *out) {
  int status;
  struct rusage used;
  if (!c->killed && now_seconds() - c->started > c->patience) {
    c->killed = true;
    (void)kill(c->pid, SIGKILL);
  }
  pid_t ended = wait4(c->pid, &status, WNOHANG, &used);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
  *out = (child_end){.killed = c->killed, .exit = 127};
  if (ended > 0) {
    out->exit = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    out->cpu_seconds = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
    out->peak_bytes = (uint64_t)used.ru_maxrss * 1024;
  }
  out->wall_seconds = now_seconds() - c->started;
  out->output = read_all(c->output);
  out->message = read_all(c->errors);
  if (out->message != NULL) keep_last_line(out->message);
  close_files(c);
  c->pid = 0;
  return true;
}
