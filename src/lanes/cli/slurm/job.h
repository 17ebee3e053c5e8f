/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job as the environment of Slurm's hooks has it. Slurm's own variables are
 * checked, since sites wrap hooks in scripts of theirs; SPANK_FAIRLEAD is the
 * user's and may be anything.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "fairlead_driver.h"

/*
 * The attempt of a key is the restart count. If that was used, since Slurm's
 * ids started over, it is so much higher, and again, at most so many times.
 */
#define SLURM_ATTEMPT_STEP  65536
#define SLURM_ATTEMPT_TRIES 128

#define SLURM_GID_UNKNOWN   ((gid_t)-1)

/*
 * Bytes of all SPANK variables of a job together, with their names and zeros.
 * They are the user's, and there may be more than a node's Slurm can run a hook
 * with: it would drain the node for that.
 */
#define SLURM_SPANK_MAX 1048576

/* "4294967294_4294967294", with its zero */
#define SLURM_JOB_TEXT_MAX 24

struct slurm_job {
	uint32_t id;
	uint32_t array; /* 0: it is of none */
	uint32_t array_task;
	uint32_t leader;   /* of a heterogeneous job, else the job itself */
	bool is_component; /* of a heterogeneous job, the leader too */
	uid_t uid;
	gid_t gid; /* SLURM_GID_UNKNOWN: not said */
	uint32_t restart_count;
	const char *nodes;     /* of this component; NULL: not said */
	const char *all_nodes; /* of all components; NULL but for the leader */
	const char *cores;     /* run-length list along nodes; NULL: not said */
	const char *node;      /* where the hook runs; NULL at the controller */
	/* What the user asked for; see slurm_job_options(). */
	char interconnect[FAIRLEAD_DRIVER_NAME_MAX + 1]; /* "": the default */
	char options[FAIRLEAD_OPTIONS_MAX + 1];
};

/*
 * variable: getenv, or a test's. Texts are its, borrowed. -EINVAL with a text
 * that names the variable that is missing or wrong. What the user asked for
 * is not read yet.
 */
int slurm_job_read(char *(*variable)(const char *name),
		   struct slurm_job *ret_job, struct fairlead_error *ret_error);

/*
 * The job in an argument of Slurm's commands: ARRAY_TASK where it is of an
 * array. Its id alone may be the array's, and mean all its jobs.
 */
void slurm_job_format(const struct slurm_job *job,
		      char ret_text[SLURM_JOB_TEXT_MAX]);

/*
 * Read what the user asked for (job_options.h); "" and NULL: nothing. -EINVAL
 * with a text for the user.
 */
int slurm_job_options(const char *text, struct slurm_job *job,
		      struct fairlead_error *ret_error);

/*
 * Look how much of the environment (ended by NULL) a user has a say in. -E2BIG
 * with a text for him: it is more than SLURM_SPANK_MAX.
 */
int slurm_job_spank_check(char *const *environment,
			  struct fairlead_error *ret_error);
