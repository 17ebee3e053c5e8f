/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a job manager does on a node for a job on Elan, for stories. As root:
 *
 *	elan3-job run PROGRAM FIRST LAST UID RANK...
 *		make the program, and have a task of that user for each rank:
 *		prepared by the driver, attached on the first rail of each of
 *		its capabilities. It says so, and waits to be killed, with a
 *		child, one that was forked twice, and one in a new session
 *	elan3-job members PROGRAM   how many there are
 *	elan3-job kill PROGRAM      all of them, and forget it
 *	elan3-job claim PROGRAM UID as this user, in a program 900000 + UID
 *		that is made for it; exits with the error
 */
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lanes/driver/driver.h"
#include "fairlead/rms.h"
#include "elan/client.h"

#define OTHER 900000 /* and above: programs of no lane */

static int number(const char *text)
{
	return (int)strtol(text, NULL, 10);
}

static void must(int result, const char *what)
{
	if (result >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static void become(int uid)
{
	must(setgroups(0, NULL), "setgroups");
	must(setresgid((gid_t)uid, (gid_t)uid, (gid_t)uid), "setresgid");
	must(setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid), "setresuid");
}

static int attach(int rail, const struct elan_capability *cap)
{
	const struct rms_request request = {
		.op = RMS_ATTACH,
		.index = rail,
		.cap = *cap,
	};

	return rms_client_call(NULL, &request);
}

/* On the lowest rail of each. */
static void attach_all(void)
{
	struct elan_capability cap;
	int count;

	must(rms_ncaps(&count), "rms_ncaps");
	for (int i = 0; i < count; i++) {
		memset(&cap, 0, sizeof(cap));
		must(rms_getcap(i, &cap), "rms_getcap");
		errno = -attach(__builtin_ctz(cap.cap_railmask), &cap);
		must(errno == 0 ? 0 : -1, "attach");
		printf(" rail %d context %d", __builtin_ctz(cap.cap_railmask),
		       cap.cap_mycontext);
	}
}

/* Three that try to be nobody's. */
static void hide(void)
{
	for (int way = 0; way < 3; way++) {
		if (fork() != 0)
			continue;
		if (way > 0)
			setsid();
		if (way == 1 && fork() != 0)
			_exit(0);
		signal(SIGTERM, SIG_IGN);
		for (;;)
			pause();
	}
}

static void task_run(const struct fairlead_lane *lane, uint32_t rank)
{
	const struct fairlead_record record = { .size = 0 };
	struct fairlead_error error = { 0 };

	become((int)lane->uid);
	if (driver_find("elan3")->node->task(lane, &record, rank, &error) < 0) {
		fprintf(stderr, "rank %u: %s\n", rank, error.text);
		exit(1);
	}
	printf("rank %s node %s of %s processes %s", getenv("RMS_RANK"),
	       getenv("RMS_NODEID"), getenv("RMS_NNODES"),
	       getenv("RMS_NPROCS"));
	attach_all();
	printf("\n");
	fflush(stdout);
	hide();
	for (;;)
		pause();
}

static int run(int argc, char **argv)
{
	struct fairlead_lane lane = {
		.id_count = 3,
		.ids = { (uint32_t)number(argv[2]), (uint32_t)number(argv[3]),
			 (uint32_t)number(argv[4]) },
		.uid = (uid_t)number(argv[5]),
	};

	must(rms_prgcreate(number(argv[2]), lane.uid, argc - 6),
	     "rms_prgcreate");
	for (int i = 6; i < argc; i++)
		if (fork() == 0)
			task_run(&lane, (uint32_t)number(argv[i]));
	while (wait(NULL) > 0 || errno == EINTR)
		;
	return 0;
}

static int end(int program)
{
	int count = 1;

	must(rms_prgsignal(program, SIGKILL), "rms_prgsignal");
	while (count > 0)
		must(rms_prginfo(program, 0, NULL, &count), "rms_prginfo");
	must(rms_prgdestroy(program), "rms_prgdestroy");
	return 0;
}

static int claim(int program, int uid)
{
	int result;

	must(rms_prgcreate(OTHER + uid, (uid_t)uid, 1), "rms_prgcreate");
	become(uid);
	result = rms_prgclaim(program) < 0 ? errno : 0;
	if (result != 0)
		fprintf(stderr, "%s\n", strerror(result));
	return result;
}

int main(int argc, char **argv)
{
	int count;

	if (argc > 6 && strcmp(argv[1], "run") == 0)
		return run(argc, argv);
	if (argc == 4 && strcmp(argv[1], "claim") == 0)
		return claim(number(argv[2]), number(argv[3]));
	if (argc == 3 && strcmp(argv[1], "kill") == 0)
		return end(number(argv[2]));
	if (argc != 3 || strcmp(argv[1], "members") != 0)
		return 2;
	must(rms_prginfo(number(argv[2]), 0, NULL, &count), "rms_prginfo");
	printf("%d\n", count);
	return 0;
}
