// A library that is loaded before libc into every git that Croft runs. It
// counts the calls by which git changes something on disk, over all processes
// together, and makes one of them go wrong.
//
//   WRITEPOINTS_COUNT  a file of at least 8 bytes that holds the counter
//   WRITEPOINTS_AT     the number of the call that goes wrong, from one
//   WRITEPOINTS_HOW    git     git and its children die by SIGKILL
//                      croft   so does the process that started git, before
//                      nospace the call fails with ENOSPC
//                      full    so does every later one that needs space
//                      io      the call fails with EIO
//                      place   so does every WRITEPOINTS_CALL on a path that ends
//                              in WRITEPOINTS_PATH, whatever its number
//   WRITEPOINTS_LOG    a file to which one line is added for each call
//
// What goes wrong does so before the call has any effect.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static long *counter;
static long at = -1;
static char how;
static int logfd = -1;
static const char *place_call, *place_path;

__attribute__((constructor)) static void begin(void)
{
	const char *count = getenv("WRITEPOINTS_COUNT"), *n = getenv("WRITEPOINTS_AT");
	const char *mode = getenv("WRITEPOINTS_HOW"), *log = getenv("WRITEPOINTS_LOG");
	if (!count)
		return;
	int fd = syscall(SYS_openat, AT_FDCWD, count, O_RDWR | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	void *page = mmap(0, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	syscall(SYS_close, fd);
	if (page == MAP_FAILED)
		return;
	counter = page;
	if (n)
		at = atol(n);
	if (mode)
		how = mode[0];
	place_call = getenv("WRITEPOINTS_CALL");
	place_path = getenv("WRITEPOINTS_PATH");
	if (log)
		logfd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
}

// starter is the process that started git: the parent of the leader of the
// process group, which Croft makes for each git.
static pid_t starter(void)
{
	char path[64], text[512];
	snprintf(path, sizeof path, "/proc/%d/stat", (int)getpgrp());
	int fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	long n = syscall(SYS_read, fd, text, sizeof text - 1);
	syscall(SYS_close, fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	char *after = strrchr(text, ')'), state;
	int parent = 0;
	if (!after || sscanf(after + 1, " %c %d", &state, &parent) != 2)
		return 0;
	return parent;
}

static void die(void)
{
	pid_t croft = how == 'c' ? starter() : 0;
	if (croft > 1)
		kill(croft, SIGKILL);
	kill(0, SIGKILL);
	for (;;)
		pause();
}

enum need { frees, takes };

// is_place reports whether a call on a path is one that always fails.
static int is_place(const char *call, const char *path)
{
	if (!place_call || !place_path || strcmp(call, place_call))
		return 0;
	size_t have = strlen(path), want = strlen(place_path);
	return have >= want && !strcmp(path + have - want, place_path);
}

// hit counts a call and reports whether it has to fail; errno is set then.
static int hit(const char *call, const char *path, enum need space)
{
	if (!counter)
		return 0;
	long n = __atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST);
	if (logfd >= 0) {
		char line[1024];
		int len = snprintf(line, sizeof line, "%ld %d %s %s\n", n, (int)getpid(), call, path);
		if (len >= (int)sizeof line)
			len = sizeof line - 1;
		syscall(SYS_write, logfd, line, len);
	}
	int is_now = n == at;
	switch (how) {
	case 'g':
	case 'c':
		if (is_now)
			die();
		return 0;
	case 'n':
		errno = ENOSPC;
		return is_now;
	case 'f':
		errno = ENOSPC;
		return is_now || (n > at && space == takes);
	case 'i':
		errno = EIO;
		return is_now;
	case 'p':
		errno = EIO;
		return is_place(call, path);
	}
	return 0;
}

// hit_file is hit for a call on an open file. Only regular files count: what
// goes into a pipe is on no disk.
static int hit_file(const char *call, int fd, enum need space)
{
	struct stat st;
	int saved = errno;
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		errno = saved;
		return 0;
	}
	char link[64], path[768] = "";
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	long n = logfd >= 0 || how == 'p' ? readlink(link, path, sizeof path - 1) : 0;
	path[n > 0 ? n : 0] = 0;
	errno = saved;
	return hit(call, path, space);
}

#define REAL(result, name, ...)                     \
	static result (*real)(__VA_ARGS__);         \
	if (!real)                                  \
		real = dlsym(RTLD_NEXT, name);

static int changes(const char *path, int flags)
{
	return ((flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC)) && strncmp(path, "/dev/", 5);
}

#define OPEN(name)                                                          \
	int name(const char *path, int flags, ...)                          \
	{                                                                   \
		REAL(int, #name, const char *, int, ...)                    \
		va_list args;                                               \
		va_start(args, flags);                                      \
		mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;   \
		va_end(args);                                               \
		if (changes(path, flags) && hit("open", path, takes))       \
			return -1;                                          \
		return real(path, flags, mode);                             \
	}
OPEN(open)
OPEN(open64)

#define OPEN2(name)                                              \
	int name(const char *path, int flags)                    \
	{                                                        \
		REAL(int, #name, const char *, int)              \
		if (changes(path, flags) && hit("open", path, takes)) \
			return -1;                               \
		return real(path, flags);                        \
	}
OPEN2(__open_2)
OPEN2(__open64_2)

#define PATH1(name, space)                    \
	int name(const char *path)            \
	{                                     \
		REAL(int, #name, const char *) \
		if (hit(#name, path, space))  \
			return -1;            \
		return real(path);            \
	}
PATH1(unlink, frees)
PATH1(rmdir, frees)

#define PATH2(name)                                             \
	int name(const char *from, const char *to)              \
	{                                                       \
		REAL(int, #name, const char *, const char *)    \
		if (hit(#name, to, takes))                      \
			return -1;                              \
		return real(from, to);                          \
	}
PATH2(rename)
PATH2(link)
PATH2(symlink)

#define PATHMODE(name)                                  \
	int name(const char *path, mode_t mode)         \
	{                                               \
		REAL(int, #name, const char *, mode_t)  \
		if (hit(#name, path, takes))            \
			return -1;                      \
		return real(path, mode);                \
	}
PATHMODE(mkdir)
PATHMODE(chmod)

#define TEMPLATE(name)                         \
	int name(char *path)                   \
	{                                      \
		REAL(int, #name, char *)       \
		if (hit("open", path, takes))  \
			return -1;             \
		return real(path);             \
	}
TEMPLATE(mkstemp)
TEMPLATE(mkstemp64)

#define FD1(name)                                   \
	int name(int fd)                            \
	{                                           \
		REAL(int, #name, int)               \
		if (hit_file(#name, fd, takes))     \
			return -1;                  \
		return real(fd);                    \
	}
FD1(fsync)
FD1(fdatasync)

#define TRUNCATE(name)                                  \
	int name(int fd, off64_t size)                  \
	{                                               \
		REAL(int, #name, int, off64_t)          \
		if (hit_file("ftruncate", fd, takes))   \
			return -1;                      \
		return real(fd, size);                  \
	}
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

ssize_t write(int fd, const void *data, size_t size)
{
	REAL(ssize_t, "write", int, const void *, size_t)
	if (hit_file("write", fd, takes))
		return -1;
	return real(fd, data, size);
}

#define PWRITE(name)                                                       \
	ssize_t name(int fd, const void *data, size_t size, off64_t offset) \
	{                                                                  \
		REAL(ssize_t, #name, int, const void *, size_t, off64_t)   \
		if (hit_file("write", fd, takes))                          \
			return -1;                                         \
		return real(fd, data, size, offset);                       \
	}
PWRITE(pwrite)
PWRITE(pwrite64)

#define FOPEN(name)                                                   \
	FILE *name(const char *path, const char *mode)                \
	{                                                             \
		REAL(FILE *, #name, const char *, const char *)       \
		if ((mode[0] != 'r' || strchr(mode, '+')) && strncmp(path, "/dev/", 5) && hit("open", path, takes)) \
			return NULL;                                  \
		return real(path, mode);                              \
	}
FOPEN(fopen)
FOPEN(fopen64)

// What was printed to a stream is written when it is flushed or closed, by a
// call inside libc that cannot be seen from here.
static int pending(FILE *f)
{
	int flags = f ? fcntl(fileno(f), F_GETFL) : -1;
	return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

int fflush(FILE *f)
{
	REAL(int, "fflush", FILE *)
	if (pending(f) && hit_file("write", fileno(f), takes))
		return EOF;
	return real(f);
}

int fclose(FILE *f)
{
	REAL(int, "fclose", FILE *)
	if (pending(f) && hit_file("write", fileno(f), takes)) {
		int reason = errno;
		int null = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_WRONLY | O_CLOEXEC, 0);
		if (null >= 0) { // what is in the buffer does not reach the file
			syscall(SYS_dup3, null, fileno(f), O_CLOEXEC);
			syscall(SYS_close, null);
		}
		real(f);
		errno = reason;
		return EOF;
	}
	return real(f);
}
