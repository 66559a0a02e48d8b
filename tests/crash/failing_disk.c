/* Loaded before the C library (LD_PRELOAD) into a service under test: lets calls on files fail as a
 * full or broken disk lets them. The file that FAILING_DISK names says which, a line each:
 *
 *     full PART        what makes a file with PART in its path longer gets ENOSPC
 *     broken PART      fsync and fdatasync of such a file get EIO
 *     unwritable PART  what writes to such a file gets EIO
 *     unreadable PART  what reads from it does
 *
 * While there is no such file, nothing fails. What was written to a file before can be written again
 * on a full disk, as its blocks are its own.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Whether a rule of this kind holds for the file. Signal handlers write, too: nothing here allocates. */
static int is_ruled(const char *kind, int fd)
{
    const char *name = getenv("FAILING_DISK");
    char link[64], path[4096], text[1024];
    int before = errno, found = 0;
    int rules = name == NULL ? -1 : open(name, O_RDONLY | O_CLOEXEC);
    ssize_t length = 0, size = 0;

    if (rules >= 0) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        length = readlink(link, path, sizeof path - 1);
        size = read(rules, text, sizeof text - 1);
        close(rules);
    }
    if (length > 0 && size > 0) {
        char *rest = text, *line;
        path[length] = text[size] = 0;
        while (!found && (line = strsep(&rest, "\n")) != NULL) {
            const char *part = line + strcspn(line, " ");
            if (*part == ' ' && strncmp(line, kind, strlen(kind)) == 0)
                found = strstr(path, part + 1) != NULL;
        }
    }
    errno = before;
    return found;
}

/* Why nothing can be written to a file at this place, or 0; a negative place is where it is written
 * next.
 */
static int write_error(int fd, off_t start, size_t size)
{
    struct stat status;

    if (is_ruled("unwritable", fd))
        return EIO;
    if (!is_ruled("full", fd) || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return 0;
    if (start < 0)
        start = fcntl(fd, F_GETFL) & O_APPEND ? status.st_size : lseek(fd, 0, SEEK_CUR);
    return start + (off_t)size > status.st_size ? ENOSPC : 0;
}

static size_t total(const struct iovec *parts, int count)
{
    size_t size = 0;

    while (count-- > 0)
        size += parts[count].iov_len;
    return size;
}

/* The call itself, unless there is an error to fail with. */
#define UNLESS(error, call) \
    ({ int error_ = (error); error_ ? (errno = error_, -1) : (call); })
#define WHERE_THERE_IS_ROOM(fd, start, size, call) UNLESS(write_error(fd, start, size), call)
#define WHERE_IT_READS(fd, call) UNLESS(is_ruled("unreadable", fd) ? EIO : 0, call)
#define WHERE_IT_WORKS(fd, call) UNLESS(is_ruled("broken", fd) ? EIO : 0, call)

ssize_t write(int fd, const void *data, size_t size)
{
    return WHERE_THERE_IS_ROOM(fd, -1, size, REAL(write)(fd, data, size));
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    return WHERE_THERE_IS_ROOM(fd, -1, total(parts, count), REAL(writev)(fd, parts, count));
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
    return WHERE_THERE_IS_ROOM(fd, at, size, REAL(pwrite)(fd, data, size, at));
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at)
{
    return WHERE_THERE_IS_ROOM(fd, at, size, REAL(pwrite64)(fd, data, size, at));
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
    return WHERE_THERE_IS_ROOM(fd, at, total(parts, count), REAL(pwritev)(fd, parts, count, at));
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at)
{
    return WHERE_THERE_IS_ROOM(fd, at, total(parts, count), REAL(pwritev64)(fd, parts, count, at));
}

int fallocate(int fd, int mode, off_t at, off_t size)
{
    return WHERE_THERE_IS_ROOM(fd, at, size, REAL(fallocate)(fd, mode, at, size));
}

int posix_fallocate(int fd, off_t at, off_t size)
{
    int error = write_error(fd, at, size);

    return error ? error : REAL(posix_fallocate)(fd, at, size);
}

int posix_fallocate64(int fd, off64_t at, off64_t size)
{
    int error = write_error(fd, at, size);

    return error ? error : REAL(posix_fallocate64)(fd, at, size);
}

ssize_t pread(int fd, void *data, size_t size, off_t at)
{
    return WHERE_IT_READS(fd, REAL(pread)(fd, data, size, at));
}

ssize_t pread64(int fd, void *data, size_t size, off64_t at)
{
    return WHERE_IT_READS(fd, REAL(pread64)(fd, data, size, at));
}

ssize_t preadv(int fd, const struct iovec *parts, int count, off_t at)
{
    return WHERE_IT_READS(fd, REAL(preadv)(fd, parts, count, at));
}

ssize_t preadv64(int fd, const struct iovec *parts, int count, off64_t at)
{
    return WHERE_IT_READS(fd, REAL(preadv64)(fd, parts, count, at));
}

int fsync(int fd)
{
    return WHERE_IT_WORKS(fd, REAL(fsync)(fd));
}

int fdatasync(int fd)
{
    return WHERE_IT_WORKS(fd, REAL(fdatasync)(fd));
}
