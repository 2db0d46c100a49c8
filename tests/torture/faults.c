/* Makes one system call of a program fail, be cut short, or be its last. Preloaded; what is to happen stands in the
 * environment:
 *
 *   FAULT_DIR     only calls on files of this folder count
 *   FAULT_CALLS   which calls, as in "write,fsync"
 *   FAULT_NTH     which of them, from 1
 *   FAULT_ON      if set, every later one as well
 *   FAULT_HOW     errno:N        it fails with this number
 *                 short          a write writes half, and says so
 *                 short+errno:N  the same, and the calls behind it fail
 *                 kill-before    the program is killed in front of it
 *                 kill-half      the program is killed when half of a write is done
 *                 kill-after     the program is killed behind it
 *   FAULT_LOG     a line is appended to this file when it happens
 *   FAULT_SYNCS   each sync that was done, and each rename, is a line of this file: what, how long, which file, its name
 *   FAULT_RANDOM  a number: random bytes are made of it
 *   FAULT_BOOT    a file that is read in the place of the number of this boot
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static const char *dir, *calls, *how, *logfile;
static size_t dir_len;
static long nth;
static int from_then_on;
static long counted;

__attribute__((constructor)) static void begin(void) {
    dir = getenv("FAULT_DIR");
    calls = getenv("FAULT_CALLS");
    how = getenv("FAULT_HOW");
    logfile = getenv("FAULT_LOG");
    const char *number = getenv("FAULT_NTH");
    nth = number ? atol(number) : 0;
    from_then_on = getenv("FAULT_ON") != NULL;
    dir_len = dir ? strlen(dir) : 0;
}

static int listed(const char *name) {
    size_t len = strlen(name);
    for (const char *at = calls; at && *at;) {
        const char *end = strchrnul(at, ',');
        if ((size_t)(end - at) == len && memcmp(at, name, len) == 0) return 1;
        at = *end ? end + 1 : end;
    }
    return 0;
}

static int inside(const char *path) {
    return dir && path && strncmp(path, dir, dir_len) == 0 && (path[dir_len] == '/' || path[dir_len] == 0);
}

static const char *path_of(int fd, char *buffer, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = syscall(SYS_readlinkat, AT_FDCWD, link, buffer, size - 1);
    if (len < 0) return NULL;
    buffer[len] = 0;
    return buffer;
}

static void note(const char *name, const char *path) {
    if (!logfile) return;
    int fd = syscall(SYS_openat, AT_FDCWD, logfile, O_WRONLY | O_CREAT | O_APPEND, 0600);
    char line[4200];
    int len = snprintf(line, sizeof line, "%s %s\n", name, path);
    if (fd >= 0) {
        if (syscall(SYS_write, fd, line, len) < 0) _exit(99);
        syscall(SYS_close, fd);
    }
}

/* Notes what is on disk from here on. */
static void synced(const char *what, int fd, const char *path) {
    const char *to = getenv("FAULT_SYNCS");
    struct stat data;
    if (!to || !inside(path) || (fd >= 0 ? syscall(SYS_fstat, fd, &data) : syscall(SYS_stat, path, &data)) < 0) return;
    int log = syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_APPEND, 0600);
    char line[4300];
    int len = snprintf(line, sizeof line, "%s %lld %llu %s\n", what, (long long)data.st_size,
                       (unsigned long long)data.st_ino, path);
    if (log >= 0) {
        if (syscall(SYS_write, log, line, len) < 0) _exit(99);
        syscall(SYS_close, log);
    }
}

static void die(void) {
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) pause();
}

enum { NOTHING, FAIL, SHORT, KILL_BEFORE, KILL_HALF, KILL_AFTER };

/* What is to happen to this call. With FAIL, errno is set. */
static int happens(const char *name, const char *path) {
    if (!nth || !how || !inside(path) || !listed(name)) return NOTHING;
    long this = __atomic_add_fetch(&counted, 1, __ATOMIC_SEQ_CST);
    int late = this > nth;
    if (this < nth || (late && !from_then_on && strncmp(how, "short+", 6) != 0)) return NOTHING;
    if (!late) note(name, path);
    const char *error = strstr(how, "errno:");
    if (strncmp(how, "short", 5) == 0 && !late && strstr(name, "write")) return SHORT;
    if (error) {
        errno = atoi(error + 6);
        return FAIL;
    }
    if (strncmp(how, "short", 5) == 0) return strstr(name, "write") ? SHORT : NOTHING;
    if (strcmp(how, "kill-before") == 0) return KILL_BEFORE;
    if (strcmp(how, "kill-half") == 0) return strstr(name, "write") ? KILL_HALF : KILL_BEFORE;
    if (strcmp(how, "kill-after") == 0) return KILL_AFTER;
    return NOTHING;
}

/* Does a call, or what is to happen in its place. */
#define DO(type, name, path, call)                         \
    int what_ = happens(name, path);                       \
    if (what_ == FAIL) return (type)-1;                    \
    if (what_ == KILL_BEFORE || what_ == KILL_HALF) die(); \
    type result_ = (call);                                 \
    if (what_ == KILL_AFTER) die();                        \
    return result_

#define DO_WRITE(name, fd, len, call, half)                \
    char buffer_[4096];                                    \
    const char *path_ = path_of(fd, buffer_, sizeof buffer_); \
    int what_ = happens(name, path_);                      \
    if (what_ == FAIL) return -1;                          \
    if (what_ == KILL_BEFORE) die();                       \
    if ((what_ == SHORT || what_ == KILL_HALF) && len > 1) { \
        ssize_t result_ = (half);                          \
        if (what_ == KILL_HALF) die();                     \
        return result_;                                    \
    }                                                      \
    ssize_t result_ = (call);                              \
    if (what_ == KILL_AFTER || what_ == KILL_HALF) die();  \
    return result_

#define FD_PATH(fd)   \
    char buffer_[4096]; \
    const char *path_ = path_of(fd, buffer_, sizeof buffer_)

static const char *boot(const char *path) {
    const char *other = getenv("FAULT_BOOT");
    return other && strcmp(path, "/proc/sys/kernel/random/boot_id") == 0 ? other : path;
}

static int opened(const char *name, int at, const char *path, int flags, mode_t mode) {
    (void)name;
    path = boot(path);
    DO(int, "open", path, (int)syscall(SYS_openat, at, path, flags, mode));
}

#define MODE                        \
    mode_t mode = 0;                \
    if (flags & (O_CREAT | O_TMPFILE)) { \
        va_list list;               \
        va_start(list, flags);      \
        mode = va_arg(list, mode_t); \
        va_end(list);               \
    }

int open(const char *path, int flags, ...) { MODE return opened("open", AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE return opened("open", AT_FDCWD, path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { MODE return opened("open", at, path, flags, mode); }

ssize_t write(int fd, const void *bytes, size_t len) {
    DO_WRITE("write", fd, len, syscall(SYS_write, fd, bytes, len), syscall(SYS_write, fd, bytes, len / 2));
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t at) {
    DO_WRITE("pwrite", fd, len, syscall(SYS_pwrite64, fd, bytes, len, at), syscall(SYS_pwrite64, fd, bytes, len / 2, at));
}

ssize_t read(int fd, void *bytes, size_t len) {
    FD_PATH(fd);
    DO(ssize_t, "read", path_, syscall(SYS_read, fd, bytes, len));
}

ssize_t pread64(int fd, void *bytes, size_t len, off64_t at) {
    FD_PATH(fd);
    DO(ssize_t, "read", path_, syscall(SYS_pread64, fd, bytes, len, at));
}

static int sync_of(long number, int fd, const char *path) {
    int result = (int)syscall(number, fd);
    if (result == 0) synced("sync", fd, path);
    return result;
}

int fdatasync(int fd) {
    FD_PATH(fd);
    DO(int, "fdatasync", path_, sync_of(SYS_fdatasync, fd, path_));
}

int fsync(int fd) {
    FD_PATH(fd);
    DO(int, "fsync", path_, sync_of(SYS_fsync, fd, path_));
}

int ftruncate64(int fd, off64_t len) {
    FD_PATH(fd);
    DO(int, "ftruncate", path_, (int)syscall(SYS_ftruncate, fd, len));
}

int flock(int fd, int operation) {
    FD_PATH(fd);
    DO(int, "flock", path_, (int)syscall(SYS_flock, fd, operation));
}

int fchmod(int fd, mode_t mode) {
    FD_PATH(fd);
    DO(int, "fchmod", path_, (int)syscall(SYS_fchmod, fd, mode));
}

off64_t lseek64(int fd, off64_t at, int whence) {
    FD_PATH(fd);
    DO(off64_t, "lseek", path_, syscall(SYS_lseek, fd, at, whence));
}

static int rename_of(const char *from, const char *to) {
    int result = (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
    if (result == 0) synced("rename", -1, to);
    return result;
}

int rename(const char *from, const char *to) { DO(int, "rename", to, rename_of(from, to)); }

int unlink(const char *path) { DO(int, "unlink", path, (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0)); }

int mkdir(const char *path, mode_t mode) { DO(int, "mkdir", path, (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode)); }

int statx(int at, const char *restrict path, int flags, unsigned mask, struct statx *restrict data) {
    char buffer_[4096];
    /* Rust asks with no path at all whether there is such a call; the header says that nobody does. */
    const char *volatile given = path;
    const char *whole = given && *given ? given : path_of(at, buffer_, sizeof buffer_);
    DO(int, "stat", whole, (int)syscall(SYS_statx, at, path, flags, mask, data));
}

ssize_t getrandom(void *bytes, size_t len, unsigned flags) {
    const char *seed = getenv("FAULT_RANDOM");
    if (!seed) return syscall(SYS_getrandom, bytes, len, flags);
    static uint64_t drawn;
    uint64_t state = strtoull(seed, NULL, 10) * 0x9E3779B97F4A7C15u;
    for (size_t n = 0; n < len; n++) {
        uint64_t x = state + __atomic_add_fetch(&drawn, 1, __ATOMIC_SEQ_CST) * 0xD1342543DE82EF95u;
        x ^= x >> 32;
        x *= 0xBF58476D1CE4E5B9u;
        x ^= x >> 29;
        ((unsigned char *)bytes)[n] = (unsigned char)(x >> 24);
    }
    return (ssize_t)len;
}
