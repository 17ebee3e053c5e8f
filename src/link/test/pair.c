/* SPDX-License-Identifier: BSD-3-Clause */
#include "link/test/pair.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SKIP      77
#define LOOKS_MAX 1000 /* about 10 ms of them */

static const char *who = "?";

void pair_check_at(bool holds, const char *what, const char *file, int line)
{
	if (holds)
		return;
	fprintf(stderr, "%s:%d: %s process: %s\n", file, line, who, what);
	_exit(1);
}

/* Looks of this thread in a row, since it last had what it waited for. */
static _Thread_local unsigned int looks;

void pair_do_at(long result, const char *what, const char *file, int line)
{
	looks = 0;
	if (result == 0)
		return;
	fprintf(stderr, "%s:%d: %s process: %s: %ld (%s)\n", file, line, who,
		what, result, fi_strerror((int)-result));
	_exit(1);
}

void pair_progress(struct pair *pair)
{
	static const struct timespec pause = { .tv_nsec = 200000 };

	(void)fi_cq_read(pair->send_cq, NULL, 0);
	(void)fi_cq_read(pair->receive_cq, NULL, 0);
	/*
	 * Where many tests share few processors, the other one is waited for; and
	 * until a peer is known to be dead, not with all of a processor.
	 */
	if (looks++ < LOOKS_MAX)
		sched_yield();
	else
		nanosleep(&pause, NULL);
}

static void tell_from(struct fid_cq *cq)
{
	struct fi_cq_tagged_entry entry;
	ssize_t count = fi_cq_read(cq, &entry, 1);

	pair_check(count == 1 || count == -FI_EAGAIN);
	if (count == 1)
		atomic_store((atomic_bool *)entry.op_context, true);
}

void pair_tell(struct pair *pair)
{
	tell_from(pair->send_cq);
	tell_from(pair->receive_cq);
}

void pair_wait_done(struct pair *pair, atomic_bool *done)
{
	while (!atomic_load(done))
		pair_tell(pair);
}

static void tell(struct pair *pair, const void *bytes, size_t size)
{
	pair_check(write(pair->fd, bytes, size) == (ssize_t)size);
}

static void hear(struct pair *pair, void *bytes, size_t size)
{
	uint8_t *at = bytes;

	looks = 0;
	while (size > 0) {
		struct pollfd other = { .fd = pair->fd, .events = POLLIN };
		if (pair->ep != NULL)
			pair_progress(pair);
		if (poll(&other, 1, pair->ep == NULL ? -1 : 0) == 0)
			continue;
		ssize_t got = read(pair->fd, at, size);
		pair_check(got > 0);
		at += got;
		size -= (size_t)got;
	}
}

void pair_meet(struct pair *pair)
{
	char here = 'x', there = 0;

	tell(pair, &here, 1);
	hear(pair, &there, 1);
	pair_check(there == here);
}

void pair_meet_blind(struct pair *pair)
{
	char here = 'x', there = 0;

	tell(pair, &here, 1);
	pair_check(read(pair->fd, &there, 1) == 1 && there == here);
}

void pair_die(struct pair *pair)
{
	kill(getpid(), SIGKILL);
	abort();
}

void pair_outlive(struct pair *pair)
{
	struct pollfd other = { .fd = pair->fd, .events = POLLIN };
	char there;

	while (poll(&other, 1, 0) == 0)
		pair_progress(pair);
	pair_check(read(pair->fd, &there, 1) <= 0);
}

void pair_peek(struct pair *pair, uint64_t tag)
{
	struct fi_msg_tagged msg = { .addr = FI_ADDR_UNSPEC, .tag = tag };
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry failure = { 0 };

	for (;;) {
		pair_do(fi_trecvmsg(pair->ep, &msg, FI_PEEK | FI_COMPLETION));
		ssize_t result;
		while ((result = fi_cq_read(pair->receive_cq, &entry, 1)) ==
		       -FI_EAGAIN)
			pair_progress(pair);
		if (result == 1)
			return;
		fi_cq_readerr(pair->receive_cq, &failure, 0);
		pair_check(failure.err == FI_ENOMSG);
	}
}

static bool is_apart(void)
{
	return getenv("LINK_TEST_APART") != NULL;
}

bool pair_is_local(void)
{
	return !is_apart() &&
	       strncmp(getenv("FI_FAIRLEAD_LINKS"), "shm", 3) == 0;
}

unsigned long long pair_messages_by(const char *said, bool is_shared)
{
	static const char what[] = " has sent ";
	unsigned long long sum = 0;

	for (const char *at = said; (at = strstr(at, what)) != NULL; at++) {
		bool is_it = strncmp(at - 4, " shm", 4) == 0;
		if (is_it == is_shared)
			sum += strtoull(at + strlen(what), NULL, 10);
	}
	return sum;
}

struct fi_cq_tagged_entry pair_wait(struct pair *pair, struct fid_cq *cq,
				    fi_addr_t *ret_source)
{
	struct fi_cq_tagged_entry entry = { 0 };
	fi_addr_t source;
	ssize_t result;

	looks = 0;
	while ((result = fi_cq_readfrom(cq, &entry, 1, &source)) == -FI_EAGAIN)
		pair_progress(pair);
	if (result == -FI_EAVAIL) {
		struct fi_cq_err_entry failure = { 0 };
		fi_cq_readerr(cq, &failure, 0);
		fprintf(stderr, "%s process: a completion failed: %s\n", who,
			fi_strerror(failure.err));
	}
	pair_check(result == 1);
	if (ret_source != NULL)
		*ret_source = source;
	return entry;
}

struct fi_cq_err_entry pair_wait_failure(struct pair *pair, struct fid_cq *cq)
{
	struct fi_cq_err_entry failure = { 0 };
	struct fi_cq_tagged_entry entry;
	ssize_t result;

	while ((result = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
		pair_progress(pair);
	pair_check(result == -FI_EAVAIL);
	pair_check(fi_cq_readerr(cq, &failure, 0) == 1);
	return failure;
}

void pair_is_quiet(struct pair *pair, struct fid_cq *cq)
{
	struct fi_cq_tagged_entry entry;

	for (unsigned int i = 0; i < 1000; i++)
		pair_check(fi_cq_read(cq, &entry, 1) == -FI_EAGAIN);
}

void pair_fill(void *bytes, size_t size, unsigned int seed)
{
	uint8_t *at = bytes;

	for (size_t i = 0; i < size; i++)
		at[i] = (uint8_t)(seed * 31 + i * 7 + (i >> 8));
}

bool pair_is_filled(const void *bytes, size_t size, unsigned int seed)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < size; i++)
		if (at[i] != (uint8_t)(seed * 31 + i * 7 + (i >> 8)))
			return false;
	return true;
}

/* --- an endpoint --- */

/* A port that is free: one that was just given to us, and given back. */
static void service_find(char text[16])
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t size = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	pair_check(bind(fd, (struct sockaddr *)&in, sizeof(in)) == 0);
	pair_check(getsockname(fd, (struct sockaddr *)&in, &size) == 0);
	snprintf(text, 16, "%u", ntohs(in.sin_port));
	close(fd);
}

static struct fi_info *info_find(const struct pair_setting *setting,
				 const struct pair *pair)
{
	const char *node = setting->is_named ? "127.0.0.1" : NULL;
	const char *service = setting->is_named ? pair->service : NULL;
	uint64_t flags = setting->is_named && pair->is_first ? FI_SOURCE : 0;

	struct fi_info *hints = fi_allocinfo(), *info = NULL;

	pair_check(hints != NULL);
	hints->caps = setting->caps;
	hints->mode = FI_CONTEXT;
	hints->ep_attr->type = FI_EP_RDM;
	if (setting->has_sockets)
		hints->addr_format = FI_SOCKADDR_IN;
	hints->domain_attr->threading = setting->threading;
	hints->domain_attr->mr_mode = setting->mr_mode;
	hints->domain_attr->av_type = setting->av_type;
	hints->domain_attr->data_progress = setting->progress;
	if (getenv("LINK_TEST_AUTO") != NULL)
		hints->domain_attr->control_progress =
			hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
	hints->fabric_attr->prov_name = strdup("fairlead");
	if (setting->ask != NULL)
		setting->ask(hints);
	if (fi_getinfo(fi_version(), node, service, flags, hints, &info) != 0)
		info = NULL;
	fi_freeinfo(hints);
	return info;
}

void pair_insert(struct pair *pair)
{
	pair_check(fi_av_insert(pair->av, pair->peer_name, 1, &pair->peer, 0,
				NULL) == 1);
}

static void endpoint_open(struct pair *pair, const struct pair_setting *setting)
{
	struct fi_cq_attr cq = { .format = setting->format == NULL
						   ? FI_CQ_FORMAT_TAGGED
						   : *setting->format,
				 .wait_obj = setting->wait };
	struct fi_av_attr av = { .type = setting->av_type };
	struct fi_cntr_attr cntr = { .events = FI_CNTR_EVENTS_COMP,
				     .wait_obj = setting->wait };
	uint8_t here[64] = { 0 };
	size_t size = sizeof(here);

	if (av.type == FI_AV_UNSPEC)
		av.type = FI_AV_TABLE;
	pair_do(fi_fabric(pair->info->fabric_attr, &pair->fabric, NULL));
	pair_do(fi_domain(pair->fabric, pair->info, &pair->domain, NULL));
	pair_do(fi_cq_open(pair->domain, &cq, &pair->send_cq, NULL));
	pair_do(fi_cq_open(pair->domain, &cq, &pair->receive_cq, NULL));
	pair_do(fi_av_open(pair->domain, &av, &pair->av, NULL));
	struct fid_ep *ep;
	pair_do(fi_endpoint(pair->domain, pair->info, &ep, NULL));
	pair_do(fi_ep_bind(ep, &pair->send_cq->fid,
			   FI_TRANSMIT | setting->bind_flags));
	pair_do(fi_ep_bind(ep, &pair->receive_cq->fid,
			   FI_RECV | setting->bind_flags));
	pair_do(fi_cntr_open(pair->domain, &cntr, &pair->send_cntr, NULL));
	pair_do(fi_cntr_open(pair->domain, &cntr, &pair->receive_cntr, NULL));
	pair_do(fi_cntr_open(pair->domain, &cntr, &pair->write_cntr, NULL));
	pair_do(fi_cntr_open(pair->domain, &cntr, &pair->read_cntr, NULL));
	pair_do(fi_ep_bind(ep, &pair->read_cntr->fid, FI_READ));
	if ((setting->caps & FI_RMA_EVENT) != 0) {
		pair_do(fi_cntr_open(pair->domain, &cntr,
				     &pair->remote_read_cntr, NULL));
		pair_do(fi_cntr_open(pair->domain, &cntr,
				     &pair->remote_write_cntr, NULL));
		pair_do(fi_ep_bind(ep, &pair->remote_read_cntr->fid,
				   FI_REMOTE_READ));
		pair_do(fi_ep_bind(ep, &pair->remote_write_cntr->fid,
				   FI_REMOTE_WRITE));
	}
	pair_do(fi_ep_bind(ep, &pair->write_cntr->fid, FI_WRITE));
	pair_do(fi_ep_bind(ep, &pair->send_cntr->fid, FI_SEND));
	pair_do(fi_ep_bind(ep, &pair->receive_cntr->fid, FI_RECV));
	pair_do(fi_ep_bind(ep, &pair->av->fid, 0));
	pair_do(fi_enable(ep));
	pair_do(fi_getname(&ep->fid, here, &size));
	pair_check(size == (setting->has_sockets ? sizeof(struct sockaddr_in)
						 : sizeof(here)));
	tell(pair, here, sizeof(here));
	hear(pair, pair->peer_name, sizeof(pair->peer_name));
	pair->peer = FI_ADDR_NOTAVAIL;
	if (setting->is_named && !pair->is_first)
		pair_check(fi_av_insert(pair->av, pair->info->dest_addr, 1,
					&pair->peer, 0, NULL) == 1);
	else if (setting->is_named)
		(void)0;
	else if (!setting->inserts_itself &&
		 (pair->is_first || !setting->is_one_sided))
		pair_insert(pair);
	pair->ep = ep;
}

static void endpoint_close(struct pair *pair)
{
	pair_do(fi_close(&pair->ep->fid));
	pair_do(fi_close(&pair->av->fid));
	pair_do(fi_close(&pair->write_cntr->fid));
	pair_do(fi_close(&pair->read_cntr->fid));
	if (pair->remote_read_cntr != NULL) {
		pair_do(fi_close(&pair->remote_read_cntr->fid));
		pair_do(fi_close(&pair->remote_write_cntr->fid));
	}
	pair_do(fi_close(&pair->send_cntr->fid));
	pair_do(fi_close(&pair->receive_cntr->fid));
	pair_do(fi_close(&pair->send_cq->fid));
	pair_do(fi_close(&pair->receive_cq->fid));
	pair_do(fi_close(&pair->domain->fid));
	pair_do(fi_close(&pair->fabric->fid));
	fi_freeinfo(pair->info);
}

/* As a sandbox does, and the core for tests. */
void pair_forbid_reads(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, filter };
	struct iovec iov = { &program, 1 };

	pair_check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	pair_check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
	pair_check(process_vm_readv(getpid(), &iov, 1, &iov, 1, 0) == -1 &&
		   errno == EPERM);
	setenv("TESTCORE_FAULTS", "read:*1:eio", 1);
}

static bool side_open(struct pair *pair, const struct pair_setting *setting)
{
	who = pair->is_first ? "first" : "second";
	if (setting->prepare != NULL && !setting->prepare(pair)) {
		if (pair->is_first)
			printf("skipped: this system does not allow it\n");
		return false;
	}
	if (is_apart())
		setenv("FI_FAIRLEAD_NODE", who, 1);
	pair->info = info_find(setting, pair);
	if (pair->info == NULL) {
		if (pair->is_first)
			printf("skipped: no link \"%s\" here\n",
			       getenv("FI_FAIRLEAD_LINKS"));
		return false;
	}
	endpoint_open(pair, setting);
	if (getenv("LINK_TEST_PUSHED") != NULL)
		pair_forbid_reads();
	if (getenv("LINK_TEST_SILENT") != NULL)
		setenv("TESTCORE_FAULTS", "gone:*1:eio", 1);
	return true;
}

static void case_begin(struct pair *pair, const struct pair_case *it)
{
	pair_meet(pair);
	if (pair->is_first) {
		printf("%s\n", it->name);
		fflush(stdout);
	}
}

static int run_side(struct pair *pair, const struct pair_setting *setting,
		    const struct pair_case *cases, unsigned int count)
{
	if (!side_open(pair, setting))
		return SKIP;
	for (unsigned int i = 0; i < count; i++) {
		case_begin(pair, &cases[i]);
		cases[i].run(pair);
		pair_meet(pair);
		pair_is_quiet(pair, pair->send_cq);
		pair_is_quiet(pair, pair->receive_cq);
	}
	pair_meet(pair);
	endpoint_close(pair);
	return 0;
}

/* Makes the second process, and says in which of both it returns. */
static struct pair split(void)
{
	struct pair pair = { 0 };
	int fds[2];

	fflush(stdout);
	service_find(pair.service);
	pair_check(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	pair.other = fork();
	pair_check(pair.other >= 0);
	pair.is_first = pair.other != 0;
	if (!pair.is_first)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	pair.fd = fds[pair.is_first ? 0 : 1];
	close(fds[pair.is_first ? 1 : 0]);
	return pair;
}

int pair_run(const struct pair_setting *setting, const struct pair_case *cases,
	     unsigned int count)
{
	struct pair pair;
	int status = 0, mine;

	pair = split();
	mine = run_side(&pair, setting, cases, count);
	if (!pair.is_first)
		exit(mine);
	pair_check(waitpid(pair.other, &status, 0) == pair.other);
	if (mine == SKIP)
		return SKIP;
	return mine == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0
									  : 1;
}

/* One of the cases, in a process that has not used libfabric. */
static int run_mortal(const struct pair_setting *setting,
		      const struct pair_case *it)
{
	struct pair pair = split();
	int status = 0;

	if (!side_open(&pair, setting)) {
		if (!pair.is_first)
			exit(SKIP);
		waitpid(pair.other, &status, 0);
		return SKIP;
	}
	case_begin(&pair, it);
	it->run(&pair);
	pair_check(pair.is_first);
	endpoint_close(&pair);
	if (pair.other == 0)
		return 0; /* the case has seen to that */
	pair_check(waitpid(pair.other, &status, 0) == pair.other);
	pair_check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	return 0;
}

int pair_run_mortal(const struct pair_setting *setting,
		    const struct pair_case *cases, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		int status = 0;
		pid_t child = fork();
		pair_check(child >= 0);
		if (child == 0)
			exit(run_mortal(setting, &cases[i]));
		pair_check(waitpid(child, &status, 0) == child);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	}
	return 0;
}
