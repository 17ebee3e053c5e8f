/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manager's core: pools, jobs, nodes, quarantine, recovery. Pure.
 *
 * The core gets events (a request, a node's message, the passing of
 * time) and decides at once. A decision is three things, given out through
 * struct core_ops in this order: rows for the journal, and then what becomes
 * visible outside (answers, commands to nodes, acknowledgements, drains). The
 * caller lets nothing become visible before the rows that were given out
 * before it are on disk. When that fails the caller destroys the core and
 * makes a new one from the journal; nobody outside has seen the difference.
 *
 * Life cycle: core_create, core_load for each row of the journal, core_start,
 * then events in any order, core_destroy. One thread. The clock is a seam;
 * the core wants core_tick() at core_deadline_ms() at the latest. The
 * operations in struct core_ops must not call the core.
 *
 * One event gives out at most about 50,000 rows: what could cause more (such
 * as a fence of the whole cluster) has a maximum and is refused, or goes in
 * steps.
 *
 * Of what always holds (ARCHITECTURE.md) the core alone keeps:
 *  - an identifier is in exactly one of free, held, quarantined; withheld and
 *    draining only ever add to what is not free;
 *  - an identifier leaves quarantine only when each node of its last holder
 *    has confirmed verifiably, was fenced, or was waived by an operator;
 *  - a key is used once; grant ids rise for ever.
 *
 * Fenced. A node's registration with another incarnation proves that what it
 * held is gone, since a registration is a barrier for APPLY (node-protocol):
 * the caller must number HELLO before any APPLY that it makes afterwards. It
 * proves nothing while an APPLY of the same grant is under way; that grant is
 * then undone as if the node had failed.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/seam.h"
#include "fairlead_driver.h"
#include "lanes/manager/store/row.h"

struct core;
struct outside_end;     /* core/outside.h */
struct outside_request; /* core/outside.h */
struct request;         /* lanes/proto/request.h */

#define CORE_NODES_MAX        131072  /* nodes, with those that are leaving */
#define CORE_DRIVERS_MAX      8       /* interconnects that are turned on */
#define CORE_JOBS_MAX         262144  /* grants that still hold something */
#define CORE_JOB_GRANTS_MAX   256     /* of them under one SUBMITTER/JOB */
#define CORE_TOMBSTONES_MAX   1048576 /* released keys that are remembered */
#define CORE_TRACES_MAX       1024   /* failed requests whose events are kept */
#define CORE_NODE_JOBS_MAX    4096   /* live grants on one node */
#define CORE_NAMED_NODES_MAX  16384  /* that an operator names at once */
#define CORE_FENCED_JOBS_MAX  4096   /* live grants of all nodes of a fence */
#define CORE_WAIVED_IDS_MAX   1024   /* identifiers given back at once */
#define CORE_FORCED_PARTS_MAX 16384  /* parts on nodes that are up, likewise */
#define CORE_WAITERS_MAX      1024   /* open applies and releases of a grant */
#define CORE_ADDRESS_MAX      64     /* bytes of a node's address */
#define CORE_REPORTS_MAX      16384  /* things that a node should not hold */
#define CORE_PLACES_MAX       16     /* drivers that report a place */
#define CORE_GROUPS_MAX       64     /* different texts of nodes in an answer */
#define CORE_VIEW_BYTES_MAX   786432 /* then a view says that there is more */
#define CORE_VIEW_JOBS_MAX    8192   /* that one view looks at, likewise */

/* Bytes that the engine adds to the view of a node, at most. */
#define CORE_NODE_ADDED_MAX 1280

/* One driver that the configuration turns on. */
struct core_driver_config {
	const struct fairlead_driver *driver;
	const struct fairlead_setting *settings;
	size_t setting_count;
};

/* Kept by reference, with all it points to, until another one is taken. */
struct core_config {
	const char *cluster;      /* name, before those of reservations */
	const char *nodes;        /* host list; "" is allowed */
	const char *interconnect; /* default of requests */
	uint32_t apply_timeout_ms;
	uint32_t revoke_timeout_ms;
	uint32_t events_keep; /* released grants whose events are kept */
	const struct core_driver_config *drivers;
	size_t driver_count;
};

enum core_fanout_op {
	CORE_FANOUT_APPLY,
	CORE_FANOUT_REVOKE,
};

/* A command to a set of nodes. Borrowed: valid during the call only. */
struct core_fanout {
	uint64_t id; /* comes back in core_fanout_done; unique for ever */
	enum core_fanout_op op;
	uint64_t apply_floor;
	uint32_t timeout_ms;
	/* Nodes that are asked, all of them up; the command names them. */
	const char *const *nodes;
	size_t node_count;
	/* The lane (cores and tasks are 0) and what an APPLY needs besides. */
	const struct fairlead_lane *lane;
	const char *key; /* "" in a REVOKE: it has been forgotten */
	const char *driver;
	const char *cores; /* run-length lists; NULL for REVOKE */
	const char *tasks;
	/* Made by the driver from the nodes' places; NULL: nothing. */
	const uint8_t *members;
	size_t members_size;
	/* The lane's secrets, as `seal` gave them; NULL: it has none. */
	const uint8_t *sealed;
	size_t sealed_size;
};

/* A lane's secrets, for the nodes of its grant and nobody else. Borrowed. */
struct core_secrets {
	uint64_t grant_id;
	const char *const *nodes; /* in the order of the job's host list */
	size_t node_count;
	const uint8_t *seed; /* random bytes of this job alone */
	size_t seed_size;
	const uint8_t *packed; /* what is to be sealed */
	size_t packed_size;
};

/* One node's verified answer to a fan-out, or that there was none. */
struct core_answer {
	const char *node;
	int result;       /* 0; -EBUSY; -ETIMEDOUT: none in time; -EHOSTUNREACH:
			     not connected; any other errno of the node */
	const char *text; /* reason, or warnings; "" when none */
	/* The node's incarnation that answered; zero where there was none. */
	uint8_t incarnation[16];
};

/* An answer to a client; borrowed in the call. */
struct core_reply {
	int result;       /* 0 or a negative errno */
	const char *text; /* the error; NULL when result is 0 */
	const char *hint; /* a remedy, or NULL */
	/* The answer's further members: compact text of an object, or NULL. */
	const char *members;
};

struct core_ops {
	/* A row for the journal. Copied by the callee. */
	void (*store)(void *ctx, const struct store_row *row);
	/* The rest waits until the rows so far are on disk. */
	void (*reply)(void *ctx, uint64_t token,
		      const struct core_reply *reply);
	void (*fanout)(void *ctx, const struct core_fanout *fanout);
	/* A late confirmation was taken in: it need not be repeated. */
	void (*acknowledge)(void *ctx, const char *node, uint64_t sequence);
	/*
	 * Notify the node that it gets no more jobs, or again. A node that
	 * registers assumes it is not drained until it gets this message.
	 */
	void (*drain)(void *ctx, const char *node, bool is_drained,
		      const char *reason);
	/*
	 * Tell the site's tools the same; core_notified() is to say how that
	 * has ended. No second call of a node is made before, but by another
	 * core.
	 */
	void (*notify)(void *ctx, uint64_t id, const char *node,
		       bool is_drained, const char *reason);
	/* Send it to the driver's fabric manager; core_outside_done(). */
	void (*outside)(void *ctx, const struct outside_request *request);
	/* Query a node that is up soon (core_observe). */
	void (*look)(void *ctx, const char *node);
	/* Append a secret of a grant as the journal keeps it, encrypted. */
	void (*encrypt)(void *ctx, uint64_t grant_id, const void *secret,
			size_t size, struct writer *writer);
	/*
	 * Append what was encrypted. 0; 1: it is to be encrypted again, under
	 * another key (core_rekey); or an error with a text, which is that of
	 * core_start. NULL: secrets stay encrypted, since the core is never
	 * started.
	 */
	int (*decrypt)(void *ctx, uint64_t grant_id, const void *bytes,
		       size_t size, struct writer *writer,
		       struct fairlead_error *ret_error);
	/*
	 * Append the secrets, sealed to the nodes. They give the same bytes
	 * each time, while the nodes have the same keys.
	 */
	void (*seal)(void *ctx, const struct core_secrets *secrets,
		     struct writer *writer);
};

/*
 * Make a core with empty pools. -EINVAL with all errors of the configuration
 * in the text, one a line. ops, clock, rng and log are kept by
 * reference; the clock's wall time is that of events, rng gives the random
 * bytes of lanes with secrets (NULL: nothing is reserved by this core).
 */
int core_create(const struct core_config *config, const struct core_ops *ops,
		void *ops_ctx, const struct clock_seam *clock,
		const struct rng_seam *rng, const struct log *log,
		struct core **ret_core, struct fairlead_error *ret_error);
void core_destroy(struct core *core);
DEFINE_AUTO(struct core, core_destroy)

/* The tables that a core is made of, in the order in which it loads them. */
#define CORE_LOAD_COUNT 6
extern const enum store_table core_load_order[CORE_LOAD_COUNT];

/*
 * Take in one row of the journal, table after table (EVENT rows are not
 * needed); jobs by rising ids. -EBADMSG
 * with a text that names the row when it cannot be read or contradicts
 * another one; -EINVAL when the configuration lacks what it needs (an
 * interconnect that still has grants).
 */
int core_load(struct core *core, const struct store_row *row,
	      struct fairlead_error *ret_error);

/*
 * Begin: the epoch is on disk already, and is higher than that of any core
 * before on this journal, also in this process. Jobs that were in the middle
 * of an apply are undone; revokes go on as nodes register. is_recovery: an
 * operator asks for it: every identifier counts as used until each configured
 * node has registered or was waived; grant ids jump. A recovery that was
 * under way goes on in any case. -EBADMSG: the rows contradict each other;
 * -EINVAL as in core_load; where it is no recovery, the error of ops->decrypt.
 */
int core_start(struct core *core, uint64_t epoch, bool is_recovery,
	       struct fairlead_error *ret_error);

/* On the monotonic clock; DEADLINE_NONE. */
uint64_t core_deadline_ms(const struct core *core);
void core_tick(struct core *core);

/*
 * Take a new configuration, or refuse it whole (-EINVAL, all errors). What is
 * in use is never forgotten: identifiers outside the new universe are
 * draining, nodes that left are leaving. *ret_changes: one line a change, for
 * people; the caller frees it.
 */
int core_configure(struct core *core, const struct core_config *config,
		   char **ret_changes, struct fairlead_error *ret_error);

/* Encrypt the secrets in the journal again. */
void core_rekey(struct core *core);

/* How a request of ops->outside has ended. */
void core_outside_done(struct core *core, uint64_t id,
		       const struct outside_end *end);

/* --- what clients ask; each is answered by ops->reply with the token --- */

/* The client, as the caller of the core has authenticated it. */
struct core_caller {
	uid_t uid;
	bool is_root;
	const char *submitter; /* name, or NULL */
};

/* What a client names: exactly one of these is set. */
struct core_selector {
	uint64_t grant_id;
	const char *key; /* SUBMITTER/JOB/ATTEMPT */
	const char *job; /* SUBMITTER/JOB: all its grants */
};

/*
 * What an operator says may touch this much: CORE_OPERATOR_FEW grants (or
 * nodes, of a recovery), or 1 in CORE_OPERATOR_SHARE. Above both it is -E2BIG,
 * unless forced.
 */
#define CORE_OPERATOR_FEW   8
#define CORE_OPERATOR_SHARE 20

/* An operator's unverifiable assertion; recorded in events. */
struct core_operator {
	uid_t uid;
	bool is_forced; /* repeated after it was refused */
};

void core_reserve(struct core *core, const struct core_caller *caller,
		  const struct request *request, uint64_t token);
void core_apply(struct core *core, const struct core_caller *caller,
		uint64_t grant_id, uint64_t token);
/*
 * grace_ms: how long nodes that have the lane may take it back by themselves
 * before they are asked; such a release is answered at once. 0: they are asked
 * now, and the answer comes when they have answered. A release without grace
 * ends that of an earlier one, and so does a restart.
 */
void core_release(struct core *core, const struct core_caller *caller,
		  const struct core_selector *selector, uint32_t grace_ms,
		  uint64_t token);
/* node-drain, node-undrain, node-fence, quarantine-release, recover-waive */
void core_node_drain(struct core *core, const char *nodes, bool is_drained,
		     const char *reason, uint64_t token);
void core_node_fence(struct core *core, const struct core_operator *by,
		     const char *nodes, uint64_t token);
/*
 * driver NULL: there is one pool of that name only. -EBUSY: a node that is up
 * has a confirmation pending. Forced, what such a node still has stays withheld
 * until it says that it is gone; it is asked soon.
 */
void core_quarantine_release(struct core *core, const struct core_operator *by,
			     const char *driver, const char *pool,
			     const char *ids, uint64_t token);
void core_recover_waive(struct core *core, const struct core_operator *by,
			const char *nodes, uint64_t token);

/* --- what nodes say; already verified by the caller --- */

/* The node has a record of the grant, and nothing of it on its devices. */
#define CORE_GRANT_LOST 4

struct core_inventory_grant {
	uint64_t grant_id;
	uint8_t state; /* 1 applying, 2 applied, 3 revoking, 4 lost */
	const char *driver;
	uint32_t id_count;
	const uint32_t *ids;
};

struct core_inventory_object {
	const char *driver;
	const char *device;
	uint32_t object_id;
	uint32_t uid;
	uint32_t id_count;
	const uint32_t *ids;
};

/* The node's place for a driver: how other nodes of a lane reach it. */
struct core_inventory_place {
	const char *driver;
	struct fairlead_place place;
};

struct core_registration {
	const char *node;
	uint8_t incarnation[16];
	const char *version;
	/* Where it is to be reached, at most CORE_ADDRESS_MAX bytes. */
	const uint8_t *address;
	size_t address_size;
	const struct core_inventory_grant *grants;
	size_t grant_count;
	bool has_pending; /* a confirmation of what is not there may follow */
	const struct core_inventory_object *objects; /* not ours */
	size_t object_count;
	/* Drivers that could not list all of their objects. */
	const char *const *unlisted;
	size_t unlisted_count;
	/* Those before are forgotten; at most CORE_PLACES_MAX. */
	const struct core_inventory_place *places;
	size_t place_count;
	/* Number of the challenge that it answers; they rise as they are made
	 * in the life of a core. */
	uint64_t challenge;
};

/*
 * A node has proven who it is. Another incarnation than the last one fences
 * what the node held. Identifiers that it holds and the core does not know are
 * withheld for as long as it reports them (see core_observe), or its driver
 * cannot tell; grants that the core has released are revoked again. -ENOENT:
 * not one of our nodes. -ESTALE: it is late, since one that answers a later
 * challenge was taken; nothing changes. -EEXIST: the incarnation is one that
 * the node has left before, so that two machines go by one name (or one was
 * restored from a snapshot); nothing changes, and an operator ends it with
 * core_node_fence.
 */
int core_register(struct core *core,
		  const struct core_registration *registration,
		  struct fairlead_error *ret_error);

/*
 * What a node that is up has, as it says when it is asked: what it reported
 * before and should not have is over, or still there, or new; applies that come
 * after it go by the places in it. Nothing is fenced by it, and that it lacks a
 * grant proves nothing; the version is not looked at. One that is not up in
 * that incarnation says nothing: -ESTALE. -E2BIG as in core_register.
 */
int core_observe(struct core *core, const struct core_registration *seen,
		 struct fairlead_error *ret_error);
/* True while something is withheld since the node reports what is not ours. */
bool core_node_withholds(const struct core *core, const char *name);
/* True while one of these is of a grant whose record the node has lost. */
bool core_node_has_of(const struct core *core, const char *name,
		      uint64_t grant_id);
/* The node's lease has run out. */
void core_node_lost(struct core *core, const char *node);
/*
 * It has registered, and was not lost since. A node that left the
 * configuration, and is forgotten, has to register again when it is back.
 */
bool core_node_is_up(const struct core *core, const char *node);

/* Where a node's endpoint is, by its last registration. */
struct core_node_endpoint {
	const char *name;
	const uint8_t *incarnation;
	const uint8_t *address; /* the core's, until its next call */
	size_t address_size;
};

/*
 * The next one of our nodes that has registered once: *cursor starts at 0; 1
 * and its endpoint, or 0 when there are no more.
 */
int core_node_endpoint_next(const struct core *core, uint32_t *cursor,
			    struct core_node_endpoint *ret_endpoint);
/* False: it is not one of ours, or has never registered. */
bool core_node_endpoint(const struct core *core, const char *name,
			struct core_node_endpoint *ret_endpoint);

/* Why the node is drained; NULL when it is not. */
const char *core_node_drained(const struct core *core, const char *node);

struct core_confirmation {
	const char *node;
	uint8_t incarnation[16];
	uint64_t grant_id;
	uint64_t sequence;
	int result; /* 0: revoked; -EBUSY: gives up for now, wants a drain */
	const char *text; /* of a 0: why, where the job still had the lane */
};

/* Of a node's own accord; acknowledged in any case. */
void core_confirm(struct core *core,
		  const struct core_confirmation *confirmation);

/* A fan-out is over: one answer for each node that was asked. */
void core_fanout_done(struct core *core, uint64_t fanout_id,
		      const struct core_answer *answers, size_t count);

/* A call of `notify` has ended: 0, or a negative errno, and it is made again. */
void core_notified(struct core *core, const char *node, uint64_t id,
		   int result);

/*
 * --- views: new JSON objects with the members of the client protocol's
 * answers; NULL when memory is out. What only the caller knows is left to it
 * (seen_ms of a node). Long ones stop at CORE_VIEW_BYTES_MAX or
 * CORE_VIEW_JOBS_MAX and have `more`, and `after`: what the next view is given
 * as that. NULL or 0 begins. ---
 */

json_t *core_view_status(const struct core *core);
json_t *core_view_pools(const struct core *core);
json_t *core_view_nodes(const struct core *core,
			const struct core_caller *caller, const char *after);
json_t *core_view_quarantine(const struct core *core, uint64_t after);

struct core_filter {
	const char *state; /* NULL: any */
	const char *interconnect;
	bool has_uid;
	uid_t uid;
	size_t limit; /* 0: as many as there are */
	uint64_t after;
};

/* -EINVAL with a text: no job can be of this state or interconnect. */
int core_filter_check(const struct core *core, const struct core_filter *filter,
		      struct fairlead_error *ret_error);
json_t *core_view_list(const struct core *core,
		       const struct core_caller *caller,
		       const struct core_filter *filter);
/*
 * What is meant and live; else what is over and remembered: its state is
 * `gone`, and what became of it is in its events. -ENOENT, -EPERM with a text.
 */
int core_view_explain(const struct core *core, const struct core_caller *caller,
		      const struct core_selector *selector, json_t **ret_view,
		      struct fairlead_error *ret_error);
/*
 * Which grants a selector means, for reading their events: the first
 * `capacity` of them by rising ids. The count, or -ENOENT, -EPERM.
 */
int core_select(const struct core *core, const struct core_caller *caller,
		const struct core_selector *selector, uint64_t *ret_ids,
		size_t capacity, struct fairlead_error *ret_error);
/* Append counters and gauges, in Prometheus' text format. */
void core_metrics(const struct core *core, struct writer *out);
/* False: no node of this name was ever configured, or it is forgotten. */
bool core_has_node(const struct core *core, const char *name);
/* True when recovering; names of the nodes still awaited, caller frees. */
bool core_is_recovering(const struct core *core, char **ret_awaited);

/*
 * Coverage for the simulator: called at each edge of the state machines
 * ("job:reserved->applying", "id:quarantined->free") and at each error that
 * is given out ("error:reserve:-EAGAIN"). NULL by default. core_edges: all
 * that there are, ended by NULL.
 */
const char *const *core_edges(void);
void core_set_probe(struct core *core,
		    void (*probe)(void *ctx, const char *edge), void *ctx);
