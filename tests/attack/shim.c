/* System calls that fail, or kill the process, at a given one of those that touch files below a folder.
 *
 * ATTACK_FOLDER is the folder, ATTACK_AT the number of the call, ATTACK_WITH an errno, or 0 to kill the process in that call, in the
 * midst of a write. Without ATTACK_AT the calls are counted, and their number is written to ATTACK_COUNT at the end. The process stops
 * before it opens the file ATTACK_STOP once there is the file ATTACK_AFTER. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NEXT(name) static __typeof__(&name) next; if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static atomic_long calls;

static int below(const char *path) {
    const char *folder = getenv("ATTACK_FOLDER");
    return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

/* Whether the call is the one that fails. */
static int strikes(void) {
    const char *at = getenv("ATTACK_AT");
    long call = ++calls;
    return at && call == atol(at);
}

static int fail(void) {
    int with = atoi(getenv("ATTACK_WITH"));
    if (!with) raise(SIGKILL);
    errno = with;
    return -1;
}

static int open_below(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("ATTACK_COUNT");
    FILE *file = path && !getenv("ATTACK_AT") ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%ld\n", (long)calls);
        fclose(file);
    }
}

ssize_t write(int fd, const void *bytes, size_t count) {
    NEXT(write);
    if (open_below(fd) && strikes()) {
        int with = atoi(getenv("ATTACK_WITH"));
        /* Half of it arrives: a death in the midst, or a disk that is full after some bytes. */
        if (with == 0 || with == ENOSPC) next(fd, bytes, count / 2);
        return fail();
    }
    return next(fd, bytes, count);
}

#define ON_FILE(result, name, arguments, names)        \
    result name arguments {                            \
        NEXT(name);                                    \
        if (open_below(fd) && strikes()) return fail(); \
        return next names;                             \
    }
ON_FILE(ssize_t, read, (int fd, void *bytes, size_t count), (fd, bytes, count))
ON_FILE(int, fsync, (int fd), (fd))
ON_FILE(int, fdatasync, (int fd), (fd))
ON_FILE(int, ftruncate64, (int fd, off64_t length), (fd, length))

#define ON_PATH(name, arguments, names)                \
    int name arguments {                               \
        NEXT(name);                                    \
        if (below(path) && strikes()) return fail();   \
        return next names;                             \
    }
ON_PATH(unlink, (const char *path), (path))
ON_PATH(mkdir, (const char *path, mode_t mode), (path, mode))
ON_PATH(rename, (const char *path, const char *to), (path, to))

int open64(const char *path, int flags, ...) {
    NEXT(open64);
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    const char *stop = getenv("ATTACK_STOP");
    if (stop && strcmp(path, stop) == 0 && access(getenv("ATTACK_AFTER"), F_OK) == 0) raise(SIGSTOP);
    if (below(path) && strikes()) return fail();
    return next(path, flags, mode);
}
