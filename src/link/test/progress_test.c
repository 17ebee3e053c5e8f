/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FI_PROGRESS_AUTO: what goes on while a program computes, and the thread that it
 * takes. The program says FI_THREAD_DOMAIN, so it counts on no locks of its own.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <rdma/providers/fi_prov.h>

#include "link/test/lone.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define LARGE           (1 << 20)
#define TURNS           20
#define KEY             9
#define TAG             3

static uint8_t out[LARGE], in[LARGE];

/* --- two processes: who computes waits by pair_meet_blind() --- */

static void receive_one(struct pair *pair, unsigned int seed)
{
	memset(in, 0, sizeof(in));
	pair_do(fi_trecv(pair->ep, in, sizeof(in), NULL, pair->peer, TAG, 0,
			 NULL));
	pair_wait(pair, pair->receive_cq, NULL);
	pair_check(pair_is_filled(in, sizeof(in), seed));
}

static void a_large_message_goes_while_its_sender_computes(struct pair *pair)
{
	for (unsigned int i = 0; i < TURNS; i++) {
		if (!pair->is_first) {
			receive_one(pair, i);
			pair_meet_blind(pair);
			continue;
		}
		pair_fill(out, sizeof(out), i);
		pair_retry(pair, fi_tsend(pair->ep, out, sizeof(out), NULL,
					  pair->peer, TAG, NULL));
		pair_meet_blind(pair);
		pair_wait(pair, pair->send_cq, NULL);
	}
}

static void send_delivered(struct pair *pair, size_t size)
{
	const struct iovec iov = { out, size };
	const struct fi_msg_tagged msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = pair->peer, .tag = TAG
	};

	pair_retry(pair, fi_tsendmsg(pair->ep, &msg,
				     FI_DELIVERY_COMPLETE | FI_COMPLETION));
	pair_wait(pair, pair->send_cq, NULL);
}

/* It is delivered, as its sender knows, and nobody has looked. */
static void a_message_arrives_while_its_receiver_computes(struct pair *pair)
{
	static const size_t sizes[] = { 8, 5000, LARGE };

	for (unsigned int i = 0; i < TURNS; i++) {
		size_t size = sizes[i % COUNT_OF(sizes)];
		if (pair->is_first) {
			pair_meet_blind(pair);
			pair_fill(out, size, i);
			send_delivered(pair, size);
			pair_meet_blind(pair);
			continue;
		}
		memset(in, 0, size);
		pair_do(fi_trecv(pair->ep, in, size, NULL, FI_ADDR_UNSPEC, TAG,
				 0, NULL));
		pair_meet_blind(pair);
		pair_meet_blind(pair);
		pair_wait(pair, pair->receive_cq, NULL);
		pair_check(pair_is_filled(in, size, i));
	}
}

static void access_all(struct pair *pair)
{
	const uint64_t one = 1;
	uint64_t before;

	pair_retry(pair, fi_write(pair->ep, out + 8, LARGE - 8, NULL,
				  pair->peer, 8, KEY, NULL));
	pair_wait(pair, pair->send_cq, NULL);
	pair_retry(pair, fi_read(pair->ep, in + 8, LARGE - 8, NULL, pair->peer,
				 8, KEY, NULL));
	pair_wait(pair, pair->send_cq, NULL);
	pair_check(memcmp(in + 8, out + 8, LARGE - 8) == 0);
	for (uint64_t i = 0; i < TURNS; i++) {
		pair_retry(pair, fi_fetch_atomic(pair->ep, &one, 1, NULL,
						 &before, NULL, pair->peer, 0,
						 KEY, FI_UINT64, FI_SUM, NULL));
		pair_wait(pair, pair->send_cq, NULL);
		pair_check(before == i);
	}
}

static void memory_is_reached_while_its_owner_computes(struct pair *pair)
{
	uint64_t reads = fi_cntr_read(pair->remote_read_cntr);
	uint64_t writes = fi_cntr_read(pair->remote_write_cntr);
	struct fid_mr *mr;

	pair_fill(out, sizeof(out), 7);
	if (pair->is_first) {
		pair_meet_blind(pair);
		access_all(pair);
		pair_meet_blind(pair);
		return;
	}
	memset(in, 0, sizeof(in));
	pair_do(fi_mr_reg(pair->domain, in, sizeof(in),
			  FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr,
			  NULL));
	pair_meet_blind(pair);
	pair_meet_blind(pair);
	/* A fetching operation counts as a read. */
	pair_do(fi_cntr_wait(pair->remote_read_cntr, reads + 1 + TURNS, -1));
	pair_do(fi_cntr_wait(pair->remote_write_cntr, writes + 1, -1));
	pair_check(memcmp(in + 8, out + 8, LARGE - 8) == 0);
	pair_do(fi_close(&mr->fid));
}

static void a_call_that_waits_returns(struct pair *pair)
{
	struct fi_cq_tagged_entry entry;

	for (unsigned int i = 0; i < TURNS; i++) {
		pair_do(fi_trecv(pair->ep, in, 8, NULL, pair->peer, TAG, 0,
				 NULL));
		if (pair->is_first == (i % 2 == 0))
			pair_check(fi_cq_sread(pair->receive_cq, &entry, 1,
					       NULL, -1) == 1);
		pair_retry(pair, fi_tsend(pair->ep, out, 8, NULL, pair->peer,
					  TAG, NULL));
		pair_check(fi_cq_sread(pair->send_cq, &entry, 1, NULL, -1) ==
			   1);
		if (pair->is_first != (i % 2 == 0))
			pair_check(fi_cq_sread(pair->receive_cq, &entry, 1,
					       NULL, -1) == 1);
	}
}

/* Nobody has asked whether to wait. It may tell of what came before as well. */
static void a_descriptor_tells_what_came_by_itself(struct pair *pair)
{
	struct pollfd at = { .events = POLLIN };
	struct fi_cq_tagged_entry entry;
	uint64_t times;
	ssize_t got;

	pair_do(fi_control(&pair->receive_cq->fid, FI_GETWAIT, &at.fd));
	for (unsigned int i = 0; i < TURNS; i++) {
		if (pair->is_first) {
			pair_meet_blind(pair);
			send_delivered(pair, 8);
			pair_meet_blind(pair);
			continue;
		}
		(void)!read(at.fd, &times, sizeof(times));
		pair_do(fi_trecv(pair->ep, in, 8, NULL, FI_ADDR_UNSPEC, TAG, 0,
				 NULL));
		pair_meet_blind(pair);
		do {
			pair_check(poll(&at, 1, -1) == 1);
			(void)!read(at.fd, &times, sizeof(times));
			got = fi_cq_read(pair->receive_cq, &entry, 1);
		} while (got == -FI_EAGAIN);
		pair_check(got == 1);
		pair_meet_blind(pair);
	}
}

/* --- one process: its thread --- */

static struct lone lone; /* what is left open can still be found */

static bool lone_open(enum fi_progress progress)
{
	struct fi_info *hints = fi_allocinfo();

	hints->caps = FI_MSG | FI_TAGGED;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->data_progress = progress;
	hints->fabric_attr->prov_name = strdup("fairlead");
	if (fi_getinfo(fi_version(), NULL, NULL, 0, hints, &lone.info) != 0)
		lone.info = NULL;
	fi_freeinfo(hints);
	if (lone.info != NULL)
		lone_domain_open(&lone);
	return lone.info != NULL;
}

/* A line of a thread's status, from behind its name. */
static void status_of(const char *thread, const char *line, char text[64])
{
	char path[64], read[256];
	size_t size = strlen(line);
	FILE *file;

	text[0] = '\0';
	snprintf(path, sizeof(path), "/proc/self/task/%.16s/status", thread);
	file = fopen(path, "r");
	if (file == NULL)
		return; /* it has ended */
	while (fgets(read, sizeof(read), file) != NULL)
		if (strncmp(read, line, size) == 0)
			sscanf(read + size, " %63s", text);
	fclose(file);
}

/* How many threads of the provider's there are; and the last one. */
static unsigned int threads(char ret_last[16])
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned int count = 0;
	struct dirent *task;
	char name[64];

	pair_check(tasks != NULL);
	while ((task = readdir(tasks)) != NULL) {
		if (task->d_name[0] == '.')
			continue;
		status_of(task->d_name, "Name:", name);
		if (strcmp(name, "fairlead") != 0)
			continue;
		count++;
		snprintf(ret_last, 16, "%.15s", task->d_name);
	}
	closedir(tasks);
	return count;
}

/* The system lists one for a moment after it has ended. */
static void threads_are_gone(void)
{
	char last[16];

	while (threads(last) > 0)
		sched_yield();
}

static void a_domain_that_does_not_ask_has_no_thread(void)
{
	static const enum fi_progress models[] = { FI_PROGRESS_UNSPEC,
						   FI_PROGRESS_MANUAL };
	char last[16];

	for (unsigned int i = 0; i < COUNT_OF(models); i++) {
		if (!lone_open(models[i]))
			return;
		lone_endpoint_open(&lone);
		pair_check(threads(last) == 0);
		lone_endpoint_close(&lone);
		lone_domain_close(&lone);
	}
}

static void a_thread_is_there_from_endpoint_to_close(void)
{
	struct fid_ep *first, *second;
	char last[16];

	if (!lone_open(FI_PROGRESS_AUTO))
		return;
	pair_check(threads(last) == 0);
	lone_endpoint_open(&lone);
	pair_check(threads(last) == 1);
	first = lone.ep;
	pair_do(fi_endpoint(lone.domain, lone.info, &second, NULL));
	pair_do(fi_ep_bind(second, &lone.cq->fid, FI_TRANSMIT | FI_RECV));
	pair_do(fi_ep_bind(second, &lone.av->fid, 0));
	pair_do(fi_enable(second));
	pair_check(threads(last) == 1);
	pair_do(fi_close(&first->fid));
	lone.ep = second;
	lone_endpoint_close(&lone);
	lone_endpoint_open(&lone);
	pair_check(threads(last) == 1);
	lone_endpoint_close(&lone);
	lone_domain_close(&lone);
	threads_are_gone();
}

static void each_domain_has_a_thread_of_its_own(void)
{
	struct lone other;
	char last[16];

	if (!lone_open(FI_PROGRESS_AUTO))
		return;
	lone_endpoint_open(&lone);
	other = lone;
	pair_check(lone_open(FI_PROGRESS_AUTO));
	lone_endpoint_open(&lone);
	pair_check(threads(last) == 2);
	lone_endpoint_close(&lone);
	lone_domain_close(&lone);
	while (threads(last) != 1)
		sched_yield();
	lone_endpoint_close(&other);
	lone_domain_close(&other);
	threads_are_gone();
}

static void a_thread_takes_no_signals(void)
{
	unsigned long long blocked, wanted = 0;
	char last[16], text[64];

	if (!lone_open(FI_PROGRESS_AUTO))
		return;
	lone_endpoint_open(&lone);
	pair_check(threads(last) == 1);
	status_of(last, "SigBlk:", text);
	blocked = strtoull(text, NULL, 16);
	for (int i = 1; i < 32; i++)
		if (i != SIGKILL && i != SIGSTOP)
			wanted |= 1ULL << (i - 1);
	pair_check((blocked & wanted) == wanted);
	lone_endpoint_close(&lone);
	lone_domain_close(&lone);
}

/* Until it has gone to sleep a few times. */
static void a_thread_sleeps_when_nothing_goes_on(void)
{
	char last[16], text[64];
	unsigned long long before, now;

	if (!lone_open(FI_PROGRESS_AUTO))
		return;
	lone_endpoint_open(&lone);
	pair_check(threads(last) == 1);
	status_of(last, "voluntary_ctxt_switches:", text);
	before = strtoull(text, NULL, 10);
	do {
		sched_yield();
		status_of(last, "voluntary_ctxt_switches:", text);
		now = strtoull(text, NULL, 10);
	} while (now < before + 10);
	lone_endpoint_close(&lone);
	lone_domain_close(&lone);
}

/* Messages to itself are under way. */
static void a_process_ends_with_all_left_open(void)
{
	fi_addr_t self;

	if (!lone_open(FI_PROGRESS_AUTO))
		return;
	lone_endpoint_open(&lone);
	pair_check(fi_av_insert(lone.av, lone.name, 1, &self, 0, NULL) == 1);
	for (unsigned int i = 0; i < TURNS; i++) {
		pair_do(fi_trecv(lone.ep, in, LARGE, NULL, FI_ADDR_UNSPEC, TAG,
				 0, NULL));
		while (fi_tsend(lone.ep, out, LARGE, NULL, self, TAG, NULL) ==
		       -FI_EAGAIN)
			(void)fi_cq_read(lone.cq, NULL, 0);
	}
}

/* As libfabric does it before it unloads the library. */
static void a_library_that_is_cleaned_up_has_no_thread(void)
{
	struct fi_provider *(*provider)(void);
	Dl_info at;
	void *library;

	if (!lone_open(FI_PROGRESS_AUTO))
		return;
	lone_endpoint_open(&lone);
	pair_check(dladdr(lone.domain->ops, &at) != 0);
	library = dlopen(at.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	pair_check(library != NULL);
	*(void **)&provider = dlsym(library, "fi_prov_ini");
	provider()->cleanup();
	threads_are_gone();
	dlclose(library);
	lone_endpoint_close(&lone);
	lone_domain_close(&lone);
}

static void at_exit(void)
{
	lone_endpoint_close(&lone);
	lone_domain_close(&lone);
}

/* Its thread has ended by then, and nothing else has. */
static void a_process_closes_all_at_exit(void)
{
	pair_check(atexit(at_exit) == 0);
	if (!lone_open(FI_PROGRESS_AUTO))
		_exit(0);
	lone_endpoint_open(&lone);
}

static void run_alone(const char *name, void (*run)(void))
{
	pid_t child;
	int status;

	printf("%s\n", name);
	fflush(stdout);
	child = fork();
	pair_check(child >= 0);
	if (child == 0) {
		run();
		exit(0);
	}
	pair_check(waitpid(child, &status, 0) == child);
	pair_check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void nothing(void)
{
}

/* The thread is its parent's. */
static void a_child_ends_though_it_has_no_thread(void)
{
	if (!lone_open(FI_PROGRESS_AUTO))
		return;
	lone_endpoint_open(&lone);
	run_alone("its child", nothing);
	lone_endpoint_close(&lone);
	lone_domain_close(&lone);
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_RMA_EVENT |
			FI_DIRECTED_RECV | FI_SOURCE,
		.threading = FI_THREAD_DOMAIN,
		.wait = FI_WAIT_FD,
		.progress = FI_PROGRESS_AUTO,
	};
	static const struct pair_case cases[] = {
		pair_case(a_large_message_goes_while_its_sender_computes),
		pair_case(a_message_arrives_while_its_receiver_computes),
		pair_case(memory_is_reached_while_its_owner_computes),
		pair_case(a_call_that_waits_returns),
		pair_case(a_descriptor_tells_what_came_by_itself),
	};
	static const struct {
		const char *name;
		void (*run)(void);
	} alone[] = {
#define CASE(function) { #function, function }
		CASE(a_domain_that_does_not_ask_has_no_thread),
		CASE(a_thread_is_there_from_endpoint_to_close),
		CASE(each_domain_has_a_thread_of_its_own),
		CASE(a_thread_takes_no_signals),
		CASE(a_thread_sleeps_when_nothing_goes_on),
		CASE(a_library_that_is_cleaned_up_has_no_thread),
		CASE(a_process_ends_with_all_left_open),
		CASE(a_process_closes_all_at_exit),
		CASE(a_child_ends_though_it_has_no_thread),
	};

	for (unsigned int i = 0; i < COUNT_OF(alone); i++)
		run_alone(alone[i].name, alone[i].run);
	return pair_run(&setting, cases, COUNT_OF(cases));
}
