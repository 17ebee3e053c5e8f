/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a task does before it runs: it is a process of the job's owner, in the
 * job's program. Usage: FAIRLEAD-RMS KEEPER.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lanes/driver/test/elan3_world.h"
#include "elan/client.h"
#include "elan/test/play.h"

/* What the task was and became, as it says itself. */
struct outcome {
	int result;
	int contexts[2]; /* of its capabilities; -1: none */
	int index;       /* rms_mycap() */
	char error[FAIRLEAD_ERROR_TEXT_MAX];
	char variables[128]; /* rank procid nodeid nnodes nprocs */
};

/* How far its launcher has gone. */
enum launcher {
	NO_PROGRAM,
	OTHER_PROGRAM, /* which is not the lane's */
	NO_CAPABILITY,
	BOTH,
};

static const char *value(const char *name)
{
	const char *text = getenv(name);

	return text ? text : "-";
}

static int program_of(enum launcher launcher)
{
	return launcher == OTHER_PROGRAM ? WORLD_PROGRAM + 1 : WORLD_PROGRAM;
}

static void prepare(const struct world *world, const struct fairlead_lane *lane,
		    enum launcher launcher)
{
	char path[420];
	char pid[16];
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof(path), "%s/cgroup.procs", world->stage->cgroup);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	fd = world->stage->cgroup[0] ? open(path, O_WRONLY) : -1;
	if (fd >= 0 && write(fd, pid, strlen(pid)) < 0)
		_exit(10);
	if (launcher != NO_PROGRAM &&
	    rms_prgcreate(program_of(launcher), OWNER_UID, 2) < 0)
		_exit(11);
	if (become(OWNER_UID) < 0)
		_exit(12);
	for (uint32_t i = 0; launcher == BOTH && i < 2; i++) {
		struct elan_capability cap = world_cap(lane, i);

		if (rms_prgaddcap(WORLD_PROGRAM, (int)i, &cap) < 0)
			_exit(13);
	}
}

static void become_task(const struct fairlead_lane *lane,
			const struct fairlead_record *record, uint32_t rank,
			struct outcome *outcome)
{
	struct fairlead_error error = { 0 };
	struct elan_capability cap;

	outcome->result = elan3_node_ops.task(lane, record, rank, &error);
	snprintf(outcome->error, sizeof(outcome->error), "%s", error.text);
	for (int i = 0; i < 2; i++)
		outcome->contexts[i] =
			rms_getcap(i, &cap) < 0 ? -1 : cap.cap_mycontext;
	if (rms_mycap(&outcome->index) < 0)
		outcome->index = -1;
	snprintf(outcome->variables, sizeof(outcome->variables),
		 "%s %s %s %s %s", value("RMS_RANK"), value("RMS_PROCID"),
		 value("RMS_NODEID"), value("RMS_NNODES"), value("RMS_NPROCS"));
}

static struct outcome run(const struct world *world,
			  const struct fairlead_lane *lane,
			  const struct fairlead_record *record,
			  enum launcher launcher, uint32_t rank)
{
	struct outcome outcome = { 0 };
	int answer[2];
	int status;
	pid_t pid;

	assert_int_equal(pipe(answer), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prepare(world, lane, launcher);
		become_task(lane, record, rank, &outcome);
		_exit(write(answer[1], &outcome, sizeof(outcome)) !=
		      sizeof(outcome));
	}
	close(answer[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read(answer[0], &outcome, sizeof(outcome)),
			 sizeof(outcome));
	close(answer[0]);
	if (launcher != NO_PROGRAM)
		assert_int_equal(rms_prgdestroy(program_of(launcher)), 0);
	return outcome;
}

static void a_task_gets_the_context_of_its_rank(void **state)
{
	struct world *world = *state;
	struct fairlead_lane lane = world_lane(world, "0:1");
	struct fairlead_record record;
	struct outcome outcome;

	assert_int_equal(world_apply(world, &lane, &record), 0);
	outcome = run(world, &lane, &record, BOTH, 2);
	assert_string_equal(outcome.error, "");
	assert_int_equal(outcome.result, 0);
	assert_int_equal(outcome.contexts[0], WORLD_FIRST);
	assert_int_equal(outcome.contexts[1], WORLD_FIRST);
	assert_int_equal(outcome.index, 0);
	assert_string_equal(outcome.variables, "2 2 1 3 5");
	outcome = run(world, &lane, &record, BOTH, 3);
	assert_int_equal(outcome.result, 0);
	assert_int_equal(outcome.contexts[0], WORLD_FIRST + 1);
	assert_int_equal(outcome.contexts[1], WORLD_FIRST + 1);
	assert_string_equal(outcome.variables, "3 3 1 3 5");
}

static void a_task_claims_what_its_program_lacks(void **state)
{
	struct world *world = *state;
	struct fairlead_lane lane = world_lane(world, "0:1");
	struct fairlead_record record;
	struct outcome outcome;

	assert_int_equal(world_apply(world, &lane, &record), 0);
	lane.secrets = NULL;
	lane.secrets_size = 0;
	outcome = run(world, &lane, &record, NO_CAPABILITY, 3);
	assert_string_equal(outcome.error, "");
	assert_int_equal(outcome.contexts[0], WORLD_FIRST + 1);
	assert_int_equal(outcome.contexts[1], WORLD_FIRST + 1);
	assert_string_equal(outcome.variables, "3 3 1 3 5");
}

static void a_rank_of_another_node_is_refused(void **state)
{
	struct world *world = *state;
	struct fairlead_lane lane = world_lane(world, "0:1");
	struct fairlead_record record;
	struct outcome outcome;

	assert_int_equal(world_apply(world, &lane, &record), 0);
	outcome = run(world, &lane, &record, BOTH, 4);
	assert_int_equal(outcome.result, -EINVAL);
	assert_has(outcome.error, "rank 4 is on node 2 of the job");
	assert_int_equal(outcome.contexts[0], ELAN_CAP_UNINITIALISED);
	assert_string_equal(outcome.variables, "- - - - -");
	outcome = run(world, &lane, &record, BOTH, 5);
	assert_int_equal(outcome.result, -EINVAL);
	assert_has(outcome.error, "rank 5 is none");
	/* In a program of another lane. */
	lane.ids[ELAN3_ID_LAST]++;
	outcome = run(world, &lane, &record, BOTH, 2);
	assert_int_equal(outcome.result, -EINVAL);
	assert_has(outcome.error, "and its lane 1030-1032");
}

static void a_task_that_was_not_prepared_says_what_lacks(void **state)
{
	struct world *world = *state;
	struct fairlead_lane lane = world_lane(world, "0:1");
	struct fairlead_record record;
	struct outcome outcome;

	assert_int_equal(world_apply(world, &lane, &record), 0);
	outcome = run(world, &lane, &record, NO_PROGRAM, 2);
	assert_int_equal(outcome.result, -ESRCH);
	assert_has(outcome.error, "rms_prgcreate()");
	outcome = run(world, &lane, &record, OTHER_PROGRAM, 2);
	assert_int_equal(outcome.result, -ENOENT);
	assert_has(outcome.error, "cannot have program 77's");
	assert_int_equal(outcome.contexts[0], -1);
	outcome = run(world, &lane, &(struct fairlead_record){ .size = 1 },
		      BOTH, 2);
	assert_int_equal(outcome.result, -EBADMSG);
	daemon_stop(world->stage, SIGKILL);
	outcome = run(world, &lane, &record, NO_PROGRAM, 2);
	assert_int_equal(outcome.result, -ECONNREFUSED);
	daemon_start(world->stage);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		world_test(a_task_gets_the_context_of_its_rank),
		world_test(a_task_claims_what_its_program_lacks),
		world_test(a_rank_of_another_node_is_refused),
		world_test(a_task_that_was_not_prepared_says_what_lacks),
	};
	int result = stage_init(argc, argv);

	if (result != 0)
		return result;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
