/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interconnect driver: what one kind of network means by a job's lane.
 *
 * A driver is one `const struct fairlead_driver`. It has two halves that run
 * in different processes and share nothing but what the manager sends:
 *
 *   manager half (pure: no clock, no socket, no file, no random source)
 *     configure -> (reserve -> describe)*
 *   node half (in the privileged process of a node)
 *     open -> probe -> place -> (apply -> env/task -> revoke)* -> close
 *
 * Who owns what. Identifiers (VNIs, contexts) are handed out, held and
 * quarantined by the manager's core, never by a driver: `reserve` only says
 * how many it needs of which pool. The same goes for random bytes. The driver
 * describes what a lane made on a node in a small opaque record, which the node
 * keeps in its journal and hands back to `revoke` and `env`.
 *
 * Threads: each half is called from one thread. Node operations may block for
 * a few milliseconds, never for the completion of somebody else's work: a
 * thing that cannot be taken back yet is -EBUSY, and the caller tries again.
 *
 * Errors: 0 or a negative errno, and a text where `ret_error` is given (it is
 * never NULL here). Optional operations may be NULL; they are marked.
 */
#ifndef FAIRLEAD_DRIVER_H
#define FAIRLEAD_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fairlead/error.h"
#include "fairlead/setting.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FAIRLEAD_DRIVER_ABI         5

#define FAIRLEAD_DRIVER_NAME_MAX    15   /* bytes, without the zero */
#define FAIRLEAD_POOL_NAME_MAX      15   /* bytes, without the zero */
#define FAIRLEAD_POOLS_MAX          4    /* pools of one driver */
#define FAIRLEAD_LANE_IDS_MAX       16   /* identifiers of one lane */
#define FAIRLEAD_OPTIONS_MAX        511  /* bytes, without the zero */
#define FAIRLEAD_JOB_NAME_MAX       64   /* bytes, without the zero */
#define FAIRLEAD_RECORD_MAX         8192 /* bytes of a lane's record on a node */
#define FAIRLEAD_OBJECT_IDS_MAX     4    /* identifiers shown of one object */
#define FAIRLEAD_RESOURCES_MAX      12   /* kinds of resources of a device */
#define FAIRLEAD_REASON_MAX         127  /* bytes, without the zero */
#define FAIRLEAD_SUMMARY_MAX        255  /* bytes, without the zero */
#define FAIRLEAD_PLACE_MAX          128  /* bytes of a node's place */
#define FAIRLEAD_MEMBERS_MAX        131072  /* bytes of a lane's members */
#define FAIRLEAD_POSITIONS_MAX      65536   /* positions of a pool of runs */
#define FAIRLEAD_RUN_IDS_MAX        4096    /* limit of such a pool */
#define FAIRLEAD_FILE_MAX           1048576 /* bytes of a file of a setting */
#define FAIRLEAD_SECRET_MAX         256     /* random bytes of one lane */
#define FAIRLEAD_SECRET_NODES_MAX   1024    /* nodes, with secrets in a grant */
#define FAIRLEAD_PACKED_MAX         16128 /* bytes that `pack` makes of them */
#define FAIRLEAD_OUTSIDE_MAX        255   /* bytes of an external request */
#define FAIRLEAD_OUTSIDE_SECRET_MAX 8192  /* bytes of its secret */

/*
 * A pool of identifiers that the driver wants the core to keep. An identifier
 * of most pools has one holder.
 *
 * A pool of *runs*: identifiers need be unique only within a range of
 * *positions*. A lane holds consecutive identifiers, the run, on all positions
 * of its range, and another lane may hold the same on other positions. The
 * lowest free run is taken, not the next in turn.
 */
struct fairlead_pool_spec {
	char name[FAIRLEAD_POOL_NAME_MAX + 1]; /* "vni" */
	uint32_t limit;                        /* identifiers are below it */
	const char *universe; /* id set text, owned by the driver's state */
	/*
	 * 0, or it is a pool of runs: positions are below it. Then limit is at
	 * most FAIRLEAD_RUN_IDS_MAX.
	 */
	uint32_t positions;
};

/* Consecutive identifiers, on the positions low to high. */
struct fairlead_run {
	uint32_t low;
	uint32_t high;
	uint32_t length; /* 0: none */
};

/* What a job asks for, as the driver sees it. Owned by the caller. */
struct fairlead_driver_request {
	const char *key; /* submitter/job/attempt */
	uid_t uid;
	gid_t gid;
	const char *options; /* "vnis=2,tcs=LOW_LATENCY"; "" when none */
	size_t node_count;
	const char *const *nodes;
	const uint32_t *cores; /* allocated cores, one entry a node */
	const uint32_t *tasks; /* tasks, one entry a node */
};

/* What a reservation needs. Filled by `reserve`. */
struct fairlead_plan {
	/* Identifiers wanted of each pool, by the pool's index; not of runs. */
	uint32_t counts[FAIRLEAD_POOLS_MAX];
	/* Runs that are wanted, one at most of each pool of runs. */
	struct fairlead_run runs[FAIRLEAD_POOLS_MAX];
	/*
	 * Random bytes that are drawn for the lane, at most
	 * FAIRLEAD_SECRET_MAX, for `pack`. What that makes of them alone is in
	 * the grant too: the job has at most FAIRLEAD_SECRET_NODES_MAX nodes
	 * then.
	 */
	uint32_t secret_size;
	/* False: when a pool cannot give them, the job goes on without. */
	bool is_fatal;
	/* False: nothing is to be applied on any node ("off"). */
	bool has_lane;
	/* Why no identifiers were asked for; "" when some were. */
	char reason[FAIRLEAD_REASON_MAX + 1];
	/* Checked and completed options, for the nodes. */
	char options[FAIRLEAD_OPTIONS_MAX + 1];
	/*
	 * An external reservation that the lane needs besides (see
	 * doc/rfc/external-reservations.md): what to ask the fabric manager
	 * for, as a number of multicast trees; "": none. The job's apply waits
	 * for it (`outside`). If it is refused, the apply fails, or the job
	 * goes on without it and has a warning.
	 */
	char outside[FAIRLEAD_OUTSIDE_MAX + 1];
	bool is_outside_fatal;
	/* Why the driver refuses it; "": the fabric manager decides. */
	char outside_refusal[FAIRLEAD_REASON_MAX + 1];
};

/* The fabric manager of a driver, and how jobs use it. */
struct fairlead_outside {
	uint32_t wait_ms; /* limit of a job's apply; 0: no fabric manager */
	/* A live job whose reservation vanishes: fatal, or a warning. */
	bool is_loss_fatal;
	/*
	 * For people: what one job reserves, what all jobs together can (0: not
	 * known), and the fewest nodes of a job that reserves without asking
	 * (0: none does).
	 */
	uint32_t per_job;
	uint32_t total;
	uint32_t min_nodes;
	/*
	 * For the manager's HTTPS client. Texts are the state's, NULL where
	 * they are not set.
	 */
	const char *url;         /* "https://HOST[:PORT][/PREFIX]" */
	const char *auth;        /* "oauth", "basic" or "certificate" */
	const char *credentials; /* the folder of what that needs */
	const char *ca;          /* PEM file; NULL: the system's */
	const char *prefix;      /* of names; NULL: the cluster's name */
	uint32_t timeout_ms;     /* of a request */
};

/* A job's lane: what was reserved, as both halves see it. */
struct fairlead_lane {
	uint64_t grant_id;
	uid_t uid;
	gid_t gid;
	uint32_t cores; /* on this node; 0 in the manager half */
	uint32_t tasks; /* on this node; 0 in the manager half */
	uint32_t id_count;
	/*
	 * Identifiers in the order of the pools, then of taking. Of a run there
	 * are two: the first one and the last, which may be the same.
	 */
	uint32_t ids[FAIRLEAD_LANE_IDS_MAX];
	char options[FAIRLEAD_OPTIONS_MAX + 1];
	/*
	 * In a node's apply only, else 0 and NULL: this node's index in the
	 * job's host list, how many nodes are in it, and what `assemble` made
	 * of their places; borrowed for the call. A lane without members, with
	 * a driver that has `assemble`, is one of this node alone.
	 */
	uint32_t index;
	uint32_t node_count;
	const uint8_t *members;
	size_t members_size;
	/*
	 * In a node's apply only, else NULL: the job as its job manager knows
	 * it, JOB of the key; 1 to FAIRLEAD_JOB_NAME_MAX of [A-Za-z0-9._:+=@-],
	 * neither "." nor "..". Borrowed for the call.
	 */
	const char *job;
	/*
	 * In a node's apply only, else NULL and 0: what `pack` made of the
	 * lane's secrets, as it was opened for this node. Borrowed for the call
	 * and wiped after it. 0 in a dry run too.
	 */
	const uint8_t *secrets;
	size_t secrets_size;
};

/* What of a job its secrets are packed for. Owned by the caller. */
struct fairlead_pack {
	const struct fairlead_lane *lane;
	const struct fairlead_run *runs; /* FAIRLEAD_POOLS_MAX, as reserved */
	size_t node_count;
	const char *const *nodes;
	const uint32_t *tasks; /* one entry a node */
	const uint8_t *secret; /* as many bytes as the plan wanted */
	size_t secret_size;
	/* Of its external reservation; NULL and 0: it has none. */
	const uint8_t *outside;
	size_t outside_size;
};

/*
 * Where the other nodes of a lane reach a node. The node half reports it,
 * and
 * the manager half reads it; opaque to everything in between.
 */
struct fairlead_place {
	size_t size; /* 0: not reported */
	uint8_t bytes[FAIRLEAD_PLACE_MAX];
};

struct fairlead_manager_ops {
	/*
	 * Check the settings of the section and make the state. All errors
	 * at once, one a line, each with the setting's line number. Called
	 * again, with a new state, when the configuration changes.
	 */
	int (*configure)(const struct fairlead_setting *settings, size_t count,
			 void **ret_state, struct fairlead_error *ret_error);
	void (*destroy)(void *state); /* NULL state allowed */

	/* Pools, at most FAIRLEAD_POOLS_MAX; returns how many. */
	size_t (*pools)(void *state,
			struct fairlead_pool_spec specs[FAIRLEAD_POOLS_MAX]);

	/*
	 * Decide what the request needs. -EINVAL with a text when its
	 * options are wrong.
	 */
	int (*reserve)(void *state,
		       const struct fairlead_driver_request *request,
		       struct fairlead_plan *ret_plan,
		       struct fairlead_error *ret_error);

	/*
	 * The reservation for people and scripts: the name of the event, and
	 * its context as the compact text of one JSON object without secrets:
	 * {"reservation":{"vnis":[1024]}}. `reason` as in the plan, or why
	 * nothing could be reserved. The caller frees *ret_context. -ENOMEM.
	 */
	int (*describe)(void *state, const struct fairlead_lane *lane,
			const char *reason, const char **ret_event_name,
			char **ret_context);

	/*
	 * Optional. Put together what every node of the job is given as the
	 * lane's members: the places that its nodes have reported last, in the
	 * order of its host list. Places come from nodes and are not to be
	 * trusted. The caller frees *ret_bytes; at most FAIRLEAD_MEMBERS_MAX
	 * bytes. -EINVAL with a text that names the node, when one has reported
	 * none or they do not go together: the apply fails with it, and no node
	 * is asked. -ENOMEM.
	 */
	int (*assemble)(void *state, const struct fairlead_lane *lane,
			const char *const *nodes,
			const struct fairlead_place *places, size_t count,
			uint8_t **ret_bytes, size_t *ret_size,
			struct fairlead_error *ret_error);

	/*
	 * Optional; there when a plan can want secrets, and it says that the
	 * node half takes some. Make of them what every node of the job is to
	 * know and nobody else: it is sealed to these nodes, in the grant and
	 * in the command to apply. The same for the same job each time. The
	 * caller wipes and frees *ret_bytes; at most FAIRLEAD_PACKED_MAX bytes.
	 * -EINVAL with a text, when the job cannot be what it was reserved as;
	 * -ENOMEM.
	 */
	int (*pack)(void *state, const struct fairlead_pack *pack,
		    uint8_t **ret_bytes, size_t *ret_size,
		    struct fairlead_error *ret_error);

	/* Optional; there when a plan can have an external reservation. */
	void (*outside)(void *state, struct fairlead_outside *ret_outside);
};

/* A device of this node, and how much of each resource is spoken for. */
struct fairlead_device {
	char name[32]; /* "cxi0" */
	bool is_usable;
	char detail[128]; /* what is wrong, or a description */
	uint32_t resource_count;
	struct {
		char name[16]; /* "TXQs" */
		uint32_t total;
		uint32_t reserved; /* by all objects together */
	} resources[FAIRLEAD_RESOURCES_MAX];
};

enum {
	FAIRLEAD_OBJECT_ENABLED = 1u << 0,
	FAIRLEAD_OBJECT_SYSTEM = 1u << 1,  /* the system's own; not ours */
	FAIRLEAD_OBJECT_DEFAULT = 1u << 2, /* the shared default service */
	FAIRLEAD_OBJECT_BUSY = 1u << 3,    /* somebody uses it now */
	FAIRLEAD_OBJECT_OPEN = 1u << 4,    /* any user may use it */
	/* Who is in a network namespace may, of whatever user. */
	FAIRLEAD_OBJECT_NETNS = 1u << 5,
};

/* A thing on a device that gives somebody access: a CXI service. */
struct fairlead_object {
	char device[32];
	uint32_t id; /* on this device: the service id */
	uint32_t flags;
	uint32_t uid; /* UINT32_MAX: none */
	uint32_t id_count;
	uint32_t ids[FAIRLEAD_OBJECT_IDS_MAX]; /* its VNIs */
	char detail[256]; /* limits and the like, "name=value ..." */
};

/*
 * At the beginning of a summary, before a name for how other users are kept out
 * of lanes, of [a-z0-9+-], at most 15: nodes are counted by it.
 */
#define FAIRLEAD_SUMMARY_LEVEL "enforcement "

/*
 * In a summary, before what the node lacks for more than it has now: people are
 * warned of it.
 */
#define FAIRLEAD_SUMMARY_LACKS "; lacks "

/* What was made for a lane on this node. Opaque but for the driver. */
struct fairlead_record {
	size_t size; /* 0: not known, or nothing */
	uint8_t bytes[FAIRLEAD_RECORD_MAX];
};

/* Warnings of one operation; may be called several times. */
struct fairlead_warnings {
	void (*add)(struct fairlead_warnings *warnings, const char *text);
};

/*
 * A lane that is taken back together with others. All but the answer is
 * borrowed.
 */
struct fairlead_revocation {
	const struct fairlead_lane *lane;
	const struct fairlead_record *record;
	struct fairlead_warnings *warnings;
	/* The answer: 0, or a negative errno and a text. */
	int result;
	struct fairlead_error error;
};

struct fairlead_node_ops {
	/*
	 * Check the settings, load what is needed. Called with privileges,
	 * once, before anything else. The settings stay until close. -ENOENT:
	 * the vendor's library is not there; -EPERM: it is not root's alone.
	 *
	 * The node's other process opens it too, without privileges, and only
	 * looks: probe, inherit, and apply as a dry run.
	 */
	int (*open)(const struct fairlead_setting *settings, size_t count,
		    void **ret_state, struct fairlead_error *ret_error);
	void (*close)(void *state); /* NULL allowed */

	/* Devices of this node, as they are now. -EIO with a text. */
	int (*probe)(void *state,
		     void (*emit)(void *arg,
				  const struct fairlead_device *device),
		     void *arg, struct fairlead_error *ret_error);

	/*
	 * Make the lane on every device, or on none: what was made before a
	 * failure is taken back, as far as that can be done at once; a revoke
	 * without a record follows each failure. -ENOSPC, -EIO, ... with a
	 * text that names device and resource, and what could not be taken
	 * back; -EEXIST: an identifier is in use on a device, also by this
	 * very lane, which is then left as it is; -ENODEV: the node has no
	 * device. What was scaled back to fit is a warning. is_dry_run:
	 * decide, warn, and report by further warnings what would be made;
	 * touch nothing and write no record.
	 */
	int (*apply)(void *state, const struct fairlead_lane *lane,
		     bool is_dry_run, struct fairlead_record *ret_record,
		     struct fairlead_warnings *warnings,
		     struct fairlead_error *ret_error);

	/*
	 * Take the lane back on every device. Without a record (size 0: the
	 * node died while it applied) whatever matches the lane's owner and
	 * identifiers is found and taken. Nothing there is 0. -EBUSY: still
	 * used; the text names object, device, identifier and, when it can
	 * be known, the processes that hold it. The rest is taken all the
	 * same. -EIO: cannot be known. is_dry_run: the same answer, as far as
	 * it can be known without touching anything, and warnings report what
	 * would be taken. A device that the node does not have
	 * any more holds nothing. Others' things are left alone, also when
	 * one has got the place that the record names.
	 */
	int (*revoke)(void *state, const struct fairlead_lane *lane,
		      const struct fairlead_record *record, bool is_dry_run,
		      struct fairlead_warnings *warnings,
		      struct fairlead_error *ret_error);

	/*
	 * Optional. Environment of the job's tasks on this node. A variable
	 * with the value NULL is to be unset. `lane` NULL: the job has no
	 * lane, everything of ours is to be unset.
	 */
	int (*env)(void *state, const struct fairlead_lane *lane,
		   const struct fairlead_record *record,
		   void (*emit)(void *arg, const char *name, const char *value),
		   void *arg, struct fairlead_error *ret_error);

	/*
	 * Optional. Check an environment that was inherited from an outer
	 * job: -ENODEV with a text when it names what is not there any more
	 * or is not uid's. `get` returns a variable's value or NULL; when
	 * none of the driver's is set there is nothing to check.
	 */
	int (*inherit)(void *state, uid_t uid,
		       const char *(*get)(void *arg, const char *name),
		       void *arg, struct fairlead_error *ret_error);

	/*
	 * Optional. Called in each task before exec, as the owner. Only elan3
	 * has it.
	 */
	int (*task)(const struct fairlead_lane *lane,
		    const struct fairlead_record *record, uint32_t rank,
		    struct fairlead_error *ret_error);

	/* Everything on the devices, ours or not. -EIO with a text. */
	int (*list)(void *state,
		    void (*emit)(void *arg,
				 const struct fairlead_object *object),
		    void *arg, struct fairlead_error *ret_error);

	/*
	 * Destroy one listed object (for `clean --all`). -EPERM for a system
	 * or default object, -EBUSY as in revoke, -ENOENT: it is not there
	 * any more, or its place is another's now. is_dry_run as in revoke.
	 */
	int (*destroy)(void *state, const struct fairlead_object *object,
		       bool is_dry_run, struct fairlead_error *ret_error);

	/*
	 * Optional. Where the other nodes of a lane reach this one, as it is
	 * now: asked when the node registers, and for each inventory. An error
	 * is the same as a place of size 0, with a text of why.
	 */
	int (*place)(void *state, struct fairlead_place *ret_place,
		     struct fairlead_error *ret_error);

	/*
	 * Optional. One line for people on how the driver works on this node
	 * now: "enforcement nft+bpf, refused nothing". What is missing comes
	 * last, after FAIRLEAD_SUMMARY_LACKS.
	 */
	void (*summarize)(void *state, char text[FAIRLEAD_SUMMARY_MAX + 1]);

	/*
	 * Optional. Look whether all that keeps other users out of the lanes is
	 * there; called every few seconds, so that it has to be quick. 0: it
	 * is; 1: it was not, and has been made again, with a text that says
	 * what it was; -EIO and the like: it cannot be, with a text that is
	 * empty when it has been said before.
	 */
	int (*tend)(void *state, struct fairlead_error *ret_error);

	/*
	 * Optional, for a driver that takes many lanes back in little more time
	 * than one. Each lane gets the answer that `revoke` would have given;
	 * what keeps one does not keep the others. No two are the same.
	 */
	void (*revoke_all)(void *state, struct fairlead_revocation *list,
			   size_t count);
};

struct fairlead_driver {
	uint32_t abi; /* FAIRLEAD_DRIVER_ABI */
	const char *name;
	const char *description; /* one line */
	/*
	 * The settings of its section. The node half opens with those whose
	 * change needs a restart of the node. The caller reads files that
	 * settings name: an absent one is an error at the manager only.
	 */
	const struct fairlead_settings *settings;
	/*
	 * Variables that `env` sets or unsets, ended by NULL. Nobody but
	 * Fairlead sets those that begin with FAIRLEAD_, or with the driver's
	 * name in capitals and _: one of them shows that there is a lane.
	 */
	const char *const *variables;
	/*
	 * Optional. One of them, without which the others name no lane: other
	 * job managers may set those for a job that has none. Such a job has
	 * nothing to inherit, and the others are cleared.
	 */
	const char *lane_variable;
	/*
	 * Optional, both or neither. step_variable differs from step to step:
	 * launchers set it for the tasks of each step that have step_variable_of,
	 * and run fairlead-step-clean with the driver's variables after the step.
	 */
	const char *step_variable;
	const char *step_variable_of;
	/* The event of a lane, as `describe` names it; NULL: the driver's name. */
	const char *event;
	const struct fairlead_manager_ops *manager;
	const struct fairlead_node_ops *node;
	/*
	 * Bits 1 << CAP_x of Linux: what the node half still needs once it is
	 * open; it is opened with all. The process has no others.
	 */
	uint64_t capabilities;
	/*
	 * Optional. What a lane with these options needs from the program that
	 * starts its tasks, besides the variables: "a network namespace for the
	 * tasks (isolation=netns)". NULL: nothing. options: of a request, or
	 * those that the plan has completed. A driver with a task() has it.
	 */
	const char *(*launch_needs)(const char *options);
};

#ifdef __cplusplus
}
#endif

#endif
