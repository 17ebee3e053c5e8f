/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A world for the guard: a disk, a driver with hardware, environment files and
 * a manager that signs. Each call through a seam is a step; at step `crash_at`
 * the guard is dead, so that nothing it does later has an effect, as if it had
 * been killed there.
 */
#pragma once

#include "lanes/proto/message.h"
#include "lanes/node/guard/core.h"
#include "lanes/node/guard/test/handle.h"
#include "sim/rng.h"

#define FAKE_OBJECTS_MAX 64
#define FAKE_FILES_MAX   32
#define FAKE_GRANTS_MAX  64
#define FAKE_DEVICES     2
enum fake_leaves {
	FAKE_LEAVES_NOTHING,
	FAKE_LEAVES,
	FAKE_LEAVES_BUSY,
};

#define FAKE_NODE "n1"

struct fake_object {
	bool is_there;
	bool is_busy;
	struct fairlead_object object;
};

struct fake_file {
	bool is_there;
	struct request_key key;
	uid_t uid;
	gid_t gid;
	char content[256];
};

struct world {
	struct sim_rng rng;
	struct command_key command_key;
	struct node_master master;
	struct node_keys keys;

	/* Steps: journal, driver, files. */
	unsigned int steps;
	unsigned int crash_at; /* 0: never */
	bool crashes_after;    /* the step itself has its effect */
	size_t torn_bytes;     /* of a write in which the crash is */
	bool is_dead;

	uint8_t *disk;
	size_t disk_size;
	unsigned int aside_count;
	int write_error; /* of write and replace */

	struct fake_object objects[FAKE_OBJECTS_MAX];
	const char *apply_warning;     /* a second one; NULL: none */
	int apply_error;               /* after the first device was made */
	enum fake_leaves apply_leaves; /* of that device */
	int list_error;
	unsigned int list_times; /* each object is listed so often; 0: once */
	struct fairlead_place place; /* of this node */
	int place_error;
	int tend_result;             /* of tend */
	const char *summary;         /* NULL: it says nothing */
	unsigned int question_count; /* for place and summary */
	/* What the last apply was given besides the grant's lane. */
	uint32_t apply_index, apply_node_count;
	size_t apply_members_size;
	uint8_t apply_members[16];
	size_t apply_secrets_size;
	uint8_t apply_secrets[FAIRLEAD_OUTSIDE_SECRET_MAX];
	char apply_job[FAIRLEAD_JOB_NAME_MAX + 1];
	unsigned int applies[FAKE_GRANTS_MAX]; /* by grant id */
	unsigned int revokes;                  /* of lanes, not objects */
	unsigned int revoke_alls;              /* calls that had these */
	bool driver_is_shut;

	struct fake_file files[FAKE_FILES_MAX];
	int file_error;
	int keys_error;

	uint8_t incarnation[INCARNATION_SIZE];
	struct guard_driver driver;
	struct guard *guard;

	/* The manager. */
	uint64_t epoch, life, sequence, floor;
	/* The last reply, decoded, and the CONFIRM in it. */
	struct guard_reply reply;
	bool has_confirm;
	struct confirm confirm;
	/* Of world_take and world_settle, as on the channel. */
	struct writer replies;
};

/* --- fake.c: what a guard has around it; ctx and state are the world --- */

extern const struct journal_file_ops fake_disk_ops;
extern const struct fairlead_driver fake_hardware;
extern const struct guard_ops fake_guard_ops;
/* The file of a job, or NULL. */
struct fake_file *fake_file_find(const struct world *world,
				 const struct request_key *key);

/* --- world.c: a guard's life, and who speaks to it --- */

void world_init(struct world *world);
void world_fini(struct world *world);
/* Of one test: a world whose guard has started. */
int world_setup(void **state);
int world_teardown(void **state);

/* Create the guard; its error is the caller's to check. */
int world_start(struct world *world, struct fairlead_error *ret_error);
void world_stop(struct world *world);
/* Stop, forget the crash, start, register: asserts that it does. */
void world_restart(struct world *world);
/* Register, and be greeted by the manager as it is now. */
void world_greet(struct world *world);

/*
 * Send a request; the result is the reply's. The guard is not asked when it is
 * dead, and a dead guard's reply is dropped: -ESHUTDOWN.
 */
int world_ask(struct world *world, const struct guard_request *request);
/* Send a request without a look whether the next one is there. */
void world_take(struct world *world, const struct guard_request *request);
void world_take_revoke(struct world *world, uint64_t grant_id);
void world_take_request(struct world *world, enum guard_type type,
			uint64_t number);
/* There is no next one. */
void world_settle(struct world *world);
/* The next reply has to be to such a request; as world_ask. */
int world_next(struct world *world, enum guard_type type);
/* A command; fills the fields that the world has, and signs it. */
int world_command(struct world *world, enum command_op op, uint64_t grant_id,
		  const struct writer *body);
/* The bytes that the last world_command() sent, once more. */
int world_replay(struct world *world, const void *bytes, size_t size);
void world_seal(struct world *world, enum command_op op, uint64_t grant_id,
		const struct writer *body, struct writer *ret_bytes);

/* The job of a grant: key slurm/J<id>/0, uid 1000 + id, identifier 2000 + id. */
void fake_apply_body(uint64_t grant_id, const char *nodes,
		     struct apply_body *ret_body);
void fake_revoke_body(uint64_t grant_id, struct revoke_body *ret_body);
/* These return the result that the manager gets, or -ESHUTDOWN. */
int world_apply(struct world *world, uint64_t grant_id);
int world_revoke(struct world *world, uint64_t grant_id);
int world_ack(struct world *world, uint64_t sequence);
/* The agent's requests. */
int world_request(struct world *world, enum guard_type type, uint64_t number);
/*
 * A registration, and its HELLO's result; ret_registration is written when
 * that is 0.
 */
int world_register(struct world *world, struct registration *ret_registration);

/* enum grant_state of a grant as the guard shows it, 0: not there. */
int world_state(struct world *world, uint64_t grant_id);
unsigned int world_object_count(const struct world *world, uint64_t grant_id);
unsigned int world_objects_total(const struct world *world);
struct fake_object *world_object(struct world *world, uint64_t grant_id);
const struct fake_file *world_file(const struct world *world,
				   uint64_t grant_id);
unsigned int world_files_total(const struct world *world);
