/* Preloaded by faults.py: from torture_arm on, the n-th call that changes a file fails with an error, or kills. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static long countdown = -1, calls = 0;
static int failure = 0;

void torture_arm(long number, int error) { calls = 0; countdown = number; failure = error; }
long torture_calls(void) { return calls; }

/* Whether this call is to fail; a failure of -1 kills the process. A countdown of 0 only counts. */
static int hit(void) {
  if (countdown < 0) return 0;
  calls++;
  if (countdown == 0 || calls != countdown) return 0;
  if (failure < 0) kill(getpid(), SIGKILL);
  errno = failure;
  return 1;
}

/* Not standard output and standard error, where a test collects messages. */
static int regular(int fd) { struct stat s; return fd > 2 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode); }

#define WRAP(type, name, parameters, arguments, condition)                 \
  type name parameters {                                                   \
    static type(*plain) parameters;                                        \
    if (!plain) plain = dlsym(RTLD_NEXT, #name);                           \
    if ((condition) && hit()) return -1;                                   \
    return plain arguments;                                                \
  }
WRAP(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size), regular(fd))
WRAP(ssize_t, pwrite64, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at), regular(fd))
WRAP(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count), regular(fd))
WRAP(int, fsync, (int fd), (fd), 1)
WRAP(int, fdatasync, (int fd), (fd), 1)
WRAP(int, rename, (const char *from, const char *to), (from, to), 1)
WRAP(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to), 1)
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), 1)
WRAP(int, unlink, (const char *path), (path), 1)
WRAP(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags), 1)
WRAP(int, rmdir, (const char *path), (path), 1)
