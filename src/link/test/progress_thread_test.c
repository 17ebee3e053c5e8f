/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread that a domain at FI_PROGRESS_AUTO takes: its life ("life"), and what
 * becomes of a child that has none ("fork").
 */
#include <dirent.h>
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/providers/fi_prov.h>

#include "link/test/lone.h"
#include "link/test/sanitizer.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define SKIP            77
#define LARGE           (1 << 20)
#define TURNS           20
#define TAG             3

static uint8_t out[LARGE], in[LARGE];
static struct lone lone; /* what is left open can still be found */

static void lone_open(enum fi_progress progress)
{
	struct fi_info *hints = fi_allocinfo();

	hints->caps = FI_MSG | FI_TAGGED;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->data_progress = progress;
	hints->fabric_attr->prov_name = strdup("fairlead");
	pair_do(fi_getinfo(fi_version(), NULL, NULL, 0, hints, &lone.info));
	fi_freeinfo(hints);
	lone_domain_open(&lone);
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
		lone_open(models[i]);
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

	lone_open(FI_PROGRESS_AUTO);
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

	lone_open(FI_PROGRESS_AUTO);
	lone_endpoint_open(&lone);
	other = lone;
	lone_open(FI_PROGRESS_AUTO);
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

	lone_open(FI_PROGRESS_AUTO);
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

	lone_open(FI_PROGRESS_AUTO);
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

	lone_open(FI_PROGRESS_AUTO);
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

	lone_open(FI_PROGRESS_AUTO);
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
	lone_open(FI_PROGRESS_AUTO);
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
	lone_open(FI_PROGRESS_AUTO);
	lone_endpoint_open(&lone);
	run_alone("its child", nothing);
	lone_endpoint_close(&lone);
	lone_domain_close(&lone);
}

int main(int argc, char **argv)
{
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
	};

	struct fi_info *info = lone_info(FI_MSG, FI_THREAD_DOMAIN);

	if (info == NULL) {
		printf("skipped: the link cannot be had here\n");
		return SKIP;
	}
	fi_freeinfo(info);
	if (argc > 1 && strcmp(argv[1], "fork") == 0) {
		if (HAS_ADDRESS_SANITIZER) {
			printf("skipped: the thread may hold a lock of the "
			       "sanitizer's allocator as the process forks\n");
			return SKIP;
		}
		run_alone("a_child_ends_though_it_has_no_thread",
			  a_child_ends_though_it_has_no_thread);
		return 0;
	}
	for (unsigned int i = 0; i < COUNT_OF(alone); i++)
		run_alone(alone[i].name, alone[i].run);
	return 0;
}
