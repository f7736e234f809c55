// A program that runs croft, counts the system calls by which croft itself
// changes a file, over all of its threads, and kills it at one of them.
//
//   KILLAT_PROGRAM  the croft that is run, with the arguments of this program
//   KILLAT_LOG      a file that gets one line for each call
//   KILLAT_AT       the number of the call at which croft dies by SIGKILL, from
//                   one; 0 only counts
//
// Croft dies before the call has any effect. The programs that it started are
// not followed and live on, as they do when somebody kills croft. SQLite's own
// files are left out: what happens to them is SQLite's to answer for.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;

// call is a system call that changes something. fd and path are the numbers of
// the arguments that say what, or -1.
static const struct call {
	long nr;
	const char *name;
	int fd, path;
	int flags; // the argument with flags of open, or -1
} calls[] = {
	{SYS_write, "write", 0, -1, -1},
	{SYS_pwrite64, "pwrite", 0, -1, -1},
	{SYS_writev, "writev", 0, -1, -1},
	{SYS_copy_file_range, "copy_file_range", 2, -1, -1},
	{SYS_sendfile, "sendfile", 0, -1, -1},
	{SYS_ftruncate, "ftruncate", 0, -1, -1},
	{SYS_fallocate, "fallocate", 0, -1, -1},
	{SYS_fchmod, "fchmod", 0, -1, -1},
	{SYS_fsync, "fsync", 0, -1, -1},
	{SYS_openat, "open", 0, 1, 2},
	{SYS_mkdirat, "mkdir", 0, 1, -1},
	{SYS_mknodat, "mknod", 0, 1, -1},
	{SYS_unlinkat, "unlink", 0, 1, -1},
	{SYS_linkat, "link", 2, 3, -1},
	{SYS_symlinkat, "symlink", 1, 2, -1},
	{SYS_renameat2, "rename", 2, 3, -1},
	{SYS_renameat, "rename", 2, 3, -1},
	{SYS_fchmodat, "chmod", 0, 1, -1},
	{SYS_utimensat, "utimens", 0, 1, -1},
#ifdef SYS_rename
	{SYS_rename, "rename", -1, 1, -1},
	{SYS_open, "open", -1, 0, 1},
	{SYS_mkdir, "mkdir", -1, 0, -1},
	{SYS_rmdir, "rmdir", -1, 0, -1},
	{SYS_unlink, "unlink", -1, 0, -1},
	{SYS_link, "link", -1, 1, -1},
	{SYS_symlink, "symlink", -1, 1, -1},
	{SYS_chmod, "chmod", -1, 0, -1},
#endif
};

static void fail(const char *what)
{
	perror(what);
	if (child > 0)
		kill(child, SIGKILL);
	exit(99);
}

// text reads a string of another process.
static void text(pid_t pid, unsigned long from, char *to, size_t size)
{
	size_t n = 0;
	while (n + 1 < size) { // page by page: the next one may not be there
		size_t part = 4096 - (from + n) % 4096;
		if (part > size - 1 - n)
			part = size - 1 - n;
		struct iovec here = {to + n, part}, there = {(void *)(from + n), part};
		if (process_vm_readv(pid, &here, 1, &there, 1, 0) != (ssize_t)part)
			break;
		if (memchr(to + n, 0, part))
			return;
		n += part;
	}
	to[n] = 0;
}

// opened is what a descriptor of another process is open on.
static void opened(pid_t pid, long fd, char *to, size_t size)
{
	char link[64];
	if ((int)fd == AT_FDCWD)
		snprintf(link, sizeof link, "/proc/%d/cwd", pid);
	else
		snprintf(link, sizeof link, "/proc/%d/fd/%d", pid, (int)fd);
	ssize_t n = readlink(link, to, size - 1);
	to[n < 0 ? 0 : n] = 0;
}

static int is_file(pid_t pid, long fd)
{
	char link[64];
	struct stat st;
	snprintf(link, sizeof link, "/proc/%d/fd/%d", pid, (int)fd);
	return stat(link, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

// changes says what a call would change, or nothing.
static int changes(pid_t pid, const struct __ptrace_syscall_info *in, char *what, size_t size)
{
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		const struct call *c = &calls[i];
		if ((long)in->entry.nr != c->nr)
			continue;
		if (c->flags >= 0 && !(in->entry.args[c->flags] & (O_CREAT | O_TRUNC)))
			return 0;
		char dir[4096] = "", path[4096] = "";
		if (c->path >= 0)
			text(pid, in->entry.args[c->path], path, sizeof path);
		if (c->fd >= 0 && path[0] != '/')
			opened(pid, in->entry.args[c->fd], dir, sizeof dir);
		if (c->path < 0 && !is_file(pid, in->entry.args[c->fd]))
			return 0;
		const char *full = path[0] ? path : dir, *base = strrchr(full, '/');
		int is_device = strncmp(full, "/dev/", 5) == 0 && strncmp(full, "/dev/shm/", 9) != 0;
		if (is_device || strncmp(base ? base + 1 : full, "croft.db", 8) == 0)
			return 0;
		snprintf(what, size, "%s %s%s%s", c->name, dir, dir[0] && path[0] ? "/" : "", path);
		return 1;
	}
	return 0;
}

// die lets croft die, and then this program by the same signal.
static void die(void)
{
	kill(child, SIGKILL);
	while (waitpid(-1, 0, __WALL) > 0 || errno == EINTR)
		;
	signal(SIGKILL, SIG_DFL);
	kill(getpid(), SIGKILL);
	pause();
}

int main(int argc, char **argv)
{
	const char *program = getenv("KILLAT_PROGRAM"), *logname = getenv("KILLAT_LOG"), *n = getenv("KILLAT_AT");
	long at = n ? atol(n) : 0, count = 0;
	if (!program || !logname || argc < 1)
		fail("KILLAT_PROGRAM and KILLAT_LOG");
	FILE *log = fopen(logname, "ae");
	if (!log)
		fail(logname);
	child = fork();
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		argv[0] = (char *)program;
		execv(program, argv);
		_exit(99);
	}
	int status;
	if (child < 0 || waitpid(child, &status, 0) != child)
		fail("fork");
	if (ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) < 0)
		fail("ptrace");
	ptrace(PTRACE_SYSCALL, child, 0, 0);
	for (;;) {
		pid_t pid = waitpid(-1, &status, __WALL);
		if (pid < 0) {
			if (errno == EINTR)
				continue;
			fail("waitpid");
		}
		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			if (pid != child)
				continue; // a thread
			fclose(log);
			if (WIFSIGNALED(status)) {
				signal(WTERMSIG(status), SIG_DFL);
				kill(getpid(), WTERMSIG(status));
			}
			exit(WEXITSTATUS(status));
		}
		int sig = WSTOPSIG(status), event = status >> 16, pass = 0;
		if (sig == (SIGTRAP | 0x80)) {
			struct __ptrace_syscall_info info;
			char what[8300];
			if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof info, &info) > 0 && info.op == PTRACE_SYSCALL_INFO_ENTRY &&
			    changes(pid, &info, what, sizeof what)) {
				fprintf(log, "%ld %d %s\n", ++count, pid, what);
				if (count == at) {
					fclose(log);
					die();
				}
			}
		} else if (event == 0 && sig != SIGTRAP && sig != SIGSTOP) {
			pass = sig; // one that croft is to get
		}
		ptrace(PTRACE_SYSCALL, pid, 0, pass);
	}
}
