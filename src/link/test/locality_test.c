/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two processes of one machine of which the second one has something of its
 * own: a namespace, a user, a folder for shared memory, a rule that forbids to
 * read other processes. What cannot be had over shared memory then goes by the
 * fabric, all of it; and what both have in common by shared memory alone. How
 * much went by which rail is logged as an endpoint is closed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/fi_rma.h>

#include "link/test/cables.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define LARGE           300000
#define KEY             5
#define SKIP            77
#define NOBODY          65534

/* --- what is the second one's own: false, with errno, where it cannot be had --- */

static bool own_nothing(void)
{
	return true;
}

static bool own_cgroups(void)
{
	return unshare(CLONE_NEWCGROUP) == 0;
}

static bool own_mounts(void)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static bool file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool is_well = fd >= 0 &&
		       write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return is_well;
}

/* With the same ids and all capabilities, so that nothing else differs. */
static bool own_users(void)
{
	char uid[32], gid[32];

	snprintf(uid, sizeof(uid), "%u %u 1", getuid(), getuid());
	snprintf(gid, sizeof(gid), "%u %u 1", getgid(), getgid());
	return unshare(CLONE_NEWUSER) == 0 &&
	       file_write("/proc/self/setgroups", "deny") &&
	       file_write("/proc/self/uid_map", uid) &&
	       file_write("/proc/self/gid_map", gid) &&
	       prctl(PR_SET_DUMPABLE, 1) == 0;
}

/* Only a child is in it; its parent ends as it does. */
static bool own_processes(void)
{
	int status = 0;
	pid_t child;

	if (unshare(CLONE_NEWPID) != 0)
		return false;
	child = fork();
	if (child <= 0)
		return child == 0;
	waitpid(child, &status, 0);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static bool own_ipc(void)
{
	return unshare(CLONE_NEWIPC) == 0;
}

static bool own_host_name(void)
{
	return unshare(CLONE_NEWUTS) == 0;
}

static bool own_folder(void)
{
	return own_mounts() && mount("none", "/dev/shm", "tmpfs", 0, NULL) == 0;
}

static bool folder_that_is_read_only(void)
{
	return own_mounts() &&
	       mount("none", "/dev/shm", "tmpfs", MS_RDONLY, NULL) == 0;
}

static bool folder_without_space(void)
{
	return own_mounts() &&
	       mount("none", "/dev/shm", "tmpfs", 0, "size=1m") == 0;
}

static bool no_folder(void)
{
	return own_mounts() && mount("none", "/dev", "tmpfs", 0, NULL) == 0;
}

static bool other_user(void)
{
	return setresuid(NOBODY, NOBODY, NOBODY) == 0 &&
	       prctl(PR_SET_DUMPABLE, 1) == 0;
}

static bool other_group(void)
{
	return setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
	       prctl(PR_SET_DUMPABLE, 1) == 0;
}

static bool fewer_capabilities(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct caps[2];

	if (syscall(SYS_capget, &header, caps) != 0)
		return false;
	if ((caps[0].permitted & (1U << CAP_SYS_BOOT)) == 0) {
		errno = EPERM;
		return false;
	}
	caps[0].effective &= ~(1U << CAP_SYS_BOOT);
	caps[0].permitted &= ~(1U << CAP_SYS_BOOT);
	return syscall(SYS_capset, &header, caps) == 0;
}

static bool reads_forbidden(void)
{
	pair_forbid_reads();
	return true;
}

static bool not_to_be_read(void)
{
	return prctl(PR_SET_DUMPABLE, 0) == 0;
}

/* As the setting of another machine: the rule itself is the kernel's. */
static bool yama(void)
{
	static const char scope[] = "/proc/sys/kernel/yama/ptrace_scope";
	char file[] = "/dev/shm/fairlead-test-XXXXXX";
	int fd;

	if (access(scope, F_OK) != 0)
		return false;
	fd = mkstemp(file);
	if (fd < 0)
		return false;
	bool is_well = write(fd, "1\n", 2) == 2 && own_mounts() &&
		       mount(file, scope, NULL, MS_BIND, NULL) == 0;
	close(fd);
	unlink(file);
	return is_well;
}

static bool hooks(void)
{
	return setenv("FI_HOOK", "noop", 1) == 0;
}

static bool other_node(void)
{
	return setenv("FI_FAIRLEAD_NODE", "another", 1) == 0;
}

static const struct own {
	const char *name;
	bool (*get)(void);
	bool shares; /* memory */
	bool has_cable;
	bool is_short; /* is in a short run, and over shared memory alone */
} owns[] = {
	{ "nothing of its own", own_nothing, true, .is_short = true },
	{ "a cgroup namespace", own_cgroups, true },
	{ "a mount namespace", own_mounts, true },
	{ "a user namespace", own_users, .is_short = true },
	{ "a pid namespace", own_processes, .is_short = true },
	{ "an ipc namespace", own_ipc },
	{ "a uts namespace", own_host_name },
	{ "a network namespace", own_nothing, .has_cable = true,
	  .is_short = true },
	{ "its own /dev/shm", own_folder, .is_short = true },
	{ "a /dev/shm that is read only", folder_that_is_read_only },
	{ "a /dev/shm without space", folder_without_space, .is_short = true },
	{ "no /dev/shm", no_folder },
	{ "another user", other_user, .is_short = true },
	{ "another group", other_group },
	{ "fewer capabilities", fewer_capabilities },
	{ "no right to read", reads_forbidden, .is_short = true },
	{ "memory not to be read", not_to_be_read },
	{ "ptrace_scope 1", yama },
	{ "another FI_FAIRLEAD_NODE", other_node },
	{ "hooks of libfabric's", hooks },
};

/* With shared memory alone it would be none at all. */
static bool is_to_be_run(const struct own *it)
{
	const char *length = getenv("FAIRLEAD_TEST");

	if (strcmp(getenv("FI_FAIRLEAD_LINKS"), "shm") == 0)
		return it->is_short && it->get != folder_without_space;
	return it->is_short || length == NULL || strcmp(length, "short") != 0;
}

static const struct own *own;
static int said[2]; /* by either process */

/* The library is loaded first: its folder may be closed to others. */
static void library_load(void)
{
	struct fi_info *info;

	if (fi_getinfo(fi_version(), NULL, NULL, 0, NULL, &info) == 0)
		fi_freeinfo(info);
}

static bool prepare(struct pair *pair)
{
	bool is_had = true;

	pair_check(dup2(said[!pair->is_first], STDERR_FILENO) >= 0);
	if (own->has_cable && !cables_make(pair, 1))
		return false;
	if (!pair->is_first) {
		library_load();
		errno = 0;
		is_had = own->get();
		if (!is_had)
			printf("skipped: %s cannot be had here: %s\n",
			       own->name, strerror(errno));
		fflush(stdout);
		pair_check(write(pair->fd, &is_had, 1) == 1);
	} else {
		pair_check(read(pair->fd, &is_had, 1) == 1);
	}
	return is_had;
}

/* --- what goes there and back --- */

static uint8_t out[LARGE], in[LARGE], here[LARGE];
static const size_t sizes[] = { 8, 3000, LARGE };

static void messages_arrive(struct pair *pair)
{
	for (unsigned int i = 0; i < COUNT_OF(sizes); i++) {
		pair_fill(out, sizes[i], i + pair->is_first);
		memset(in, 0, sizes[i]);
		pair_do(fi_trecv(pair->ep, in, sizes[i], NULL, pair->peer, i, 0,
				 NULL));
		pair_retry(pair, fi_tsend(pair->ep, out, sizes[i], NULL,
					  pair->peer, i, NULL));
		pair_check(pair_wait(pair, pair->receive_cq, NULL).len ==
			   sizes[i]);
		pair_wait(pair, pair->send_cq, NULL);
		pair_check(pair_is_filled(in, sizes[i], i + !pair->is_first));
	}
}

static void memory_is_reached(struct pair *pair)
{
	struct fid_mr *mr;

	pair_do(fi_mr_reg(pair->domain, here, sizeof(here),
			  FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr,
			  NULL));
	for (unsigned int i = 0; i < COUNT_OF(sizes); i++) {
		pair_fill(out, sizes[i], 10 + i + pair->is_first);
		pair_meet(pair);
		pair_retry(pair, fi_write(pair->ep, out, sizes[i], NULL,
					  pair->peer, 0, KEY, NULL));
		pair_wait(pair, pair->send_cq, NULL);
		memset(in, 0, sizes[i]);
		pair_retry(pair, fi_read(pair->ep, in, sizes[i], NULL,
					 pair->peer, 0, KEY, NULL));
		pair_wait(pair, pair->send_cq, NULL);
		pair_check(
			pair_is_filled(in, sizes[i], 10 + i + pair->is_first));
		pair_meet(pair);
		pair_check(pair_is_filled(here, sizes[i],
					  10 + i + !pair->is_first));
	}
	pair_do(fi_close(&mr->fid));
}

/* With shared memory alone there is no other way. */
static void nobody_is_reached(struct pair *pair)
{
	fi_addr_t address = 0;

	pair_check(fi_av_insert(pair->av, pair->peer_name, 1, &address, 0,
				NULL) == 0);
	pair_check(address == FI_ADDR_NOTAVAIL);
}

/* --- by which rail --- */

/* What one process has said. */
static const char *text_of(unsigned int process)
{
	static char text[1 << 16];
	ssize_t got = pread(said[process], text, sizeof(text) - 1, 0);

	pair_check(got >= 0);
	text[got] = '\0';
	return text;
}

static unsigned long long messages_by(bool is_shared)
{
	return pair_messages_by(text_of(0), is_shared) +
	       pair_messages_by(text_of(1), is_shared);
}

static bool is_as_it_must_be(bool has_fabric)
{
	unsigned long long shared = messages_by(true),
			   other = messages_by(false);

	printf("%s: %llu messages by shared memory, %llu by the fabric\n",
	       own->name, shared, other);
	if (own->shares)
		return shared > 0 && other == 0;
	return shared == 0 && (other > 0) == has_fabric;
}

static int run(void)
{
	const bool has_fabric = strcmp(getenv("FI_FAIRLEAD_LINKS"), "shm") != 0;
	const bool is_refused = !has_fabric && !own->shares;
	const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_RMA | FI_DIRECTED_RECV |
			FI_SOURCE,
		.prepare = prepare,
		.inserts_itself = is_refused,
	};
	static const struct pair_case reached[] = {
		pair_case(messages_arrive),
		pair_case(memory_is_reached),
	};
	static const struct pair_case refused[] = {
		pair_case(nobody_is_reached),
	};
	int result = is_refused
			     ? pair_run(&setting, refused, COUNT_OF(refused))
			     : pair_run(&setting, reached, COUNT_OF(reached));

	return result == 0 && !is_as_it_must_be(has_fabric) ? 1 : result;
}

/* Returns whether it went well, or cannot be had; which was said then. */
static bool one_is_well(void)
{
	int status = 0;
	pid_t child;

	for (unsigned int i = 0; i < 2; i++)
		said[i] = memfd_create("said", 0);
	fflush(stdout);
	child = fork();
	pair_check(child >= 0);
	if (child == 0) {
		if (own->has_cable) {
			setenv("FI_TCP_IFACE", "e0", 1);
			setenv("FI_NET_IFACE", "e0", 1);
		}
		exit(run());
	}
	pair_check(waitpid(child, &status, 0) == child);
	bool is_well = WIFEXITED(status) && (WEXITSTATUS(status) == 0 ||
					     WEXITSTATUS(status) == SKIP);
	for (unsigned int i = 0; i < 2; i++) {
		if (!is_well)
			fprintf(stderr, "%s: failed\n%s", own->name,
				text_of(i));
		close(said[i]);
	}
	return is_well;
}

int main(void)
{
	int result = 0;

	setenv("FI_LOG_LEVEL", "info", 1);
	setenv("FI_LOG_PROV", "fairlead", 1);
	for (unsigned int i = 0; i < COUNT_OF(owns); i++) {
		own = &owns[i];
		if (is_to_be_run(own) && !one_is_well())
			result = 1;
	}
	return result;
}
