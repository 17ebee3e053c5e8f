/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cluster of the collectives in one process and in virtual time: each member
 * is a real struct scoll_core, with a discovery that tests set, on a simulated
 * network. Everything random comes from the seed.
 *
 * The test service (service.c) runs on every member. It holds the library to
 * what include/scoll.h promises: it frees and poisons each buffer at the first
 * moment at which it may, and what it sees is checked by the oracle
 * (oracle.c), which ends the process when something is broken.
 *
 *	cluster_create -> cluster_group_*, job_new, job_send, cluster_crash ...
 *	-> cluster_run_* -> cluster_destroy
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../sim/coverage.h"
#include "base/cleanup.h"
#include "scoll/core/core.h"
#include "scoll/core/membership.h"
#include "scoll/member/given.h"
#include "scoll/member/gossip.h"
#include "scoll/transport/sim/sim.h"
#include "sim/rng.h"

#define CLUSTER_SERVICE 7
#define CLUSTER_MS      UINT64_C(1000000)
#define CLUSTER_SECOND  UINT64_C(1000000000)
/* The exit status that means a broken invariant and nothing else. */
#define CLUSTER_EXIT_BROKEN 3

struct cluster;
struct job;
struct visit;
struct team;

/* What a member's service does with a request. */
enum conduct {
	CONDUCT_PLAIN,     /* replies in post_reply */
	CONDUCT_LATE,      /* replies within P */
	CONDUCT_EARLY,     /* replies in incoming_request, a leaf */
	CONDUCT_REFUSE,    /* pre_request fails */
	CONDUCT_FAIL,      /* incoming_request fails */
	CONDUCT_OVERDUE,   /* replies long after everybody has given up */
	CONDUCT_ABORT,     /* aborts in incoming_request */
	CONDUCT_ABORT_OWN, /* aborts some time later */
	CONDUCT_TOO_MUCH,  /* its reply is larger than the buffer */
	CONDUCT_NO_BULK,   /* sets no buffer for bulk data */
	CONDUCT_HURRY,     /* lowers P */
	CONDUCT_COUNT,
};

const char *conduct_text(enum conduct conduct);
/* A word for an error type, for reports. */
const char *error_text(enum scoll_error_type type);

struct cluster_options {
	uint64_t seed;
	uint32_t node_count;
	struct transport_sim_costs costs;
	uint32_t faults_ppm[TRANSPORT_SIM_FAULT_COUNT];
	uint64_t held_ns;
	uint32_t window;
	scoll_tree_type_t tree; /* 0: binomial */
	enum scoll_order order;
	uint64_t rtt_ns; /* 0: 100 ms */
	size_t bulk_segment;
	uint64_t bulk_bandwidth;
	uint64_t group_lifetime_ns;
	bool is_sealed;
	/*
	 * Member 0 knows where everybody is, and shares it; the others know
	 * what they learn from messages. Needs seals.
	 */
	bool is_first_alone_in_knowing;
	/* One discovery for all, counts instead of lists: for very many. */
	bool is_lean;
	/* Members gossip; 0: tests set their discovery. */
	uint64_t gossip_cycle_ns;
	uint32_t gossip_lost_ppm; /* of its messages */
	uint64_t
		callback_delay_ns; /* up to so much before callbacks are called */
	bool is_verbose;
	struct coverage *coverage; /* NULL: none */
};

struct member {
	struct cluster *cluster;
	uint32_t index;
	scoll_nid_t nid;
	struct transport_sim_port *port;
	struct scoll_core *core; /* NULL: it is down */
	struct given *given;
	struct gossip *gossip; /* instead of it */
	uint64_t *seen;        /* what its gossip says of each: see gossip.c */
	uint64_t seen_epoch;
	bool was_stealthy;
	struct scoll_authenticator auth;
	struct sim_rng rng;
	struct transport_timeline_event timer, pump, gossip_timer;
	uint64_t timer_ns;
	uint64_t life;
	uint64_t disturbed_ns; /* the last time that something befell it */
	bool was_disturbed;
	uint64_t away_ns; /* until then it did not gossip as all others do */
	bool is_slow, is_starved;
	bool is_bare; /* its service is not registered */
	bool is_leaving;
	bool is_pumping;
	uint32_t drift; /* its service's idea of OOB groups is another one */
	struct visit *visits; /* that are not over */
	void *oob_targets;    /* of the last call of its oobgrp */
	uint32_t oob_calls;
};

struct cluster {
	struct cluster_options options;
	struct transport_timeline *timeline;
	struct transport_sim *sim;
	struct sim_rng rng;
	struct memberships *memberships;
	struct given *given; /* lean: of all */
	struct roster *roster;
	struct member *members;
	uint32_t count;
	struct job **jobs;
	uint32_t job_count;
	uint32_t jobs_open; /* sent and not ended */
	struct team **teams;
	uint32_t team_count;
	struct visit *visits_free;
	void **chunks;
	uint32_t chunk_count;
	uint64_t noise_ns; /* the last moment at which the network failed */
	bool is_noisy;     /* it fails now */
	/* Until then members may not agree on who lives. */
	uint64_t unsettled_ns;
	uint64_t detect_ns; /* at most until a change is known to all */
	bool was_noisy;
	bool is_cut; /* not all hear each other */
	uint64_t stuck_ns, stuck_count;
	struct transport_timeline_event alarm; /* of cluster_run_until */
	uint32_t conduct_ppm; /* of a service that does not do as it should */
	void (*ended)(struct cluster *cluster, struct job *job);
	void (*left)(struct cluster *cluster, uint32_t index);
	void *user;
};

struct cluster *cluster_create(const struct cluster_options *options);
/* Everything is given back and checked. NULL is allowed. */
void cluster_destroy(struct cluster *cluster);
DEFINE_AUTO(struct cluster, cluster_destroy)

uint64_t cluster_now_ns(const struct cluster *cluster);
uint64_t cluster_below(struct cluster *cluster, uint64_t n);
bool cluster_percent(struct cluster *cluster, unsigned int percent);
void cluster_hit(struct cluster *cluster, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void cluster_trace(struct cluster *cluster, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Something is broken: say how to see it again, and end. */
void cluster_fail(struct cluster *cluster, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));
/* Memory with zeros, the cluster's. */
void *cluster_chunk(struct cluster *cluster, size_t size);
/* Memory with zeros; the caller frees it. */
void *must_calloc(size_t count, size_t size);

/* Until nothing is to happen any more. */
void cluster_run(struct cluster *cluster);
/* Until it is that late. */
void cluster_run_until(struct cluster *cluster, uint64_t until_ns);
/* Until all jobs have ended. */
void cluster_run_jobs(struct cluster *cluster);
/* Of all that the network has seen, and of what the members are in now. */
uint64_t cluster_hash(struct cluster *cluster);
/* Callbacks that wait, then the next deadline. After each call of the core. */
void member_go_on(struct member *member);
struct member *cluster_member(struct cluster *cluster, scoll_nid_t nid);

/* --- what befalls members --- */

/* Memory, buffers, regions: gone at once. No discovery is updated. */
void cluster_crash(struct cluster *cluster, uint32_t index);
/* A new life with a new nonce. No discovery is updated. */
void cluster_boot(struct cluster *cluster, uint32_t index);
/* It stops in good order, and is closed when it is idle. */
void cluster_leave(struct cluster *cluster, uint32_t index);
void cluster_pause(struct cluster *cluster, uint32_t index, uint64_t until_ns);
/* No gossip went from it or to it until then. */
void cluster_away(struct cluster *cluster, uint32_t index, uint64_t until_ns);
void cluster_disturb(struct cluster *cluster, uint32_t index);
/* Members may not agree on who lives for a while. */
void cluster_unsettle(struct cluster *cluster);
/* Update the member's discovery. */
void cluster_tell(struct cluster *cluster, uint32_t index, uint32_t about,
		  enum scoll_liveness news);
void cluster_tell_all(struct cluster *cluster, uint32_t about,
		      enum scoll_liveness news);
/* Its service goes, or comes back. -EBUSY: it is in use. */
int cluster_service_set(struct cluster *cluster, uint32_t index, bool is_there);
/* The k-th allocation of the core from now on fails. */
void cluster_starve(struct cluster *cluster, uint32_t index, uint64_t k);

/* --- gossip.c --- */

/* A member starts to gossip, or does no more. */
void member_gossip_start(struct member *member);
void member_gossip_stop(struct member *member);
struct discovery *member_discovery(const struct member *member);
/* Nobody gossips any more, so that there is an end; all see what they see. */
void cluster_hush(struct cluster *cluster);
/* Until when a change that happens now may not be known to all. */
uint64_t gossip_detect_ns(const struct cluster_options *options);
/* From the start until all take part. */
uint64_t gossip_settle_ns(const struct cluster_options *options);

/* --- groups: team.c --- */

struct team {
	struct cluster *cluster;
	uint32_t number;
	uint32_t owner; /* who has the handle */
	uint64_t owner_life;
	scoll_group_t *group; /* NULL: not there (yet, or any more) */
	bool is_oob, is_closed;
	bool was_notified; /* its callback was called */
	int status;        /* of it */
	uint32_t *nodes;   /* indexes of members, in the order of the group */
	uint32_t node_count;
	uint32_t entity_count;
	uint64_t made_ns;
	char name[32];
};

/* Tags of a member: 1 to 3, by its index. */
uint32_t member_tag_count(uint32_t index);
void member_tag(uint32_t index, uint32_t number, scoll_tag_t *ret_tag);
/* Returns scoll_group_create's. nodes are copied. */
int team_create(struct cluster *cluster, uint32_t owner, const uint32_t *nodes,
		uint32_t count, bool populate_now, struct team **ret_team);
/* A team of all that an out-of-band group names. */
int team_oob(struct cluster *cluster, uint32_t owner, const uint32_t *nodes,
	     uint32_t count, struct team **ret_team);
/* The same out-of-band group at another member. */
int team_oob_again(struct cluster *cluster, uint32_t owner,
		   const struct team *other, struct team **ret_team);
void team_destroy(struct team *team);
int team_oobgrp(void *service_private, const scoll_oobgrp_id_t *oobid,
		const scoll_target_t **ret_targets);
void teams_free(struct cluster *cluster);

/* --- requests: job.c, oracle.c --- */

struct job_options {
	uint32_t payload_size; /* at least 4 */
	uint32_t bulk_size;
	uint32_t part_entries; /* of one part of a reply; 0: all in one */
	unsigned int flags;
	uint64_t timeout_ns;   /* P */
	const uint32_t *nodes; /* a subset; NULL: all */
	uint32_t node_count;
	bool is_mean; /* services may misbehave */
};

enum job_state {
	JOB_NEW,
	JOB_SENT,
	JOB_ENDED,
	JOB_LOST, /* its root is no more */
};

/* What is known of a member's part in a job. */
struct job_node {
	int32_t parent; /* index of a member; -1: not known */
	uint64_t life;
	uint64_t run_ns;              /* its incoming_request */
	uint64_t reported_ns;         /* its parent's service saw its end */
	uint8_t pre_count, run_count; /* in all its lives */
	uint8_t conduct;
	bool is_member;
	bool is_good;      /* it ran, and its service found nothing wrong */
	bool has_erred;    /* its service or its memory */
	bool has_answered; /* the root's service got its answer */
	bool is_failed;    /* in the root's list of failures */
	bool is_groupless; /* because it does not know the group */
	bool is_missed;    /* because somebody takes it for dead */
};

struct job {
	struct cluster *cluster;
	struct team *team;
	struct job_options options;
	uint32_t number;
	uint32_t root;
	uint64_t root_life;
	enum job_state state;
	scoll_request_t *request;
	struct visit *visit;
	struct job_node *nodes; /* by index of the member */
	uint32_t node_count;    /* of the tree, with a root that is extra */
	uint32_t depth;
	uint8_t *payload;
	uint8_t *bulk;
	struct iovec *iovs;
	int iov_count;
	uint64_t sent_ns, deadline_ns, ended_ns;
	uint64_t last_run_ns; /* the last incoming_request */
	int status;           /* scoll_request_status */
	uint32_t failure_count, answer_count;
	uint64_t entity_answers;
	bool is_aborted; /* by the root */
	bool is_disturbed;
};

/* A negative errno: of scoll_bcast_new. */
int job_new(struct team *team, const struct job_options *options,
	    struct job **ret_job);
/* scoll_bcast_send's; on failure the request is freed. */
int job_send(struct job *job);
/* Both; the test ends if one fails. */
struct job *job_start(struct team *team, const struct job_options *options);
void job_abort(struct job *job);
/* Its buffers are the user's again, who frees them. */
void job_release(struct job *job);
void jobs_free(struct cluster *cluster);
uint8_t job_byte(uint32_t number, size_t at);
enum conduct job_conduct(const struct job *job, uint32_t index);

/* The root's post_reply. */
void oracle_job_ended(struct job *job, scoll_request_t *request);
/* Nothing is under way: nothing may be left. */
void oracle_quiet(struct cluster *cluster);
/* Also the groups are gone. */
void oracle_groups_gone(struct cluster *cluster);
/*
 * With gossip: the stealth of a member is over (I7); it takes another one for
 * dead (I8); somebody was down for so long that all must know it (I8).
 */
void oracle_stealth_over(struct member *member);
void oracle_taken_for_dead(const struct member *member, uint32_t about);
void oracle_death_known(struct cluster *cluster, uint32_t about);

/* --- the service: service.c --- */

struct buffer {
	struct buffer *next;
	int child; /* -1: a reply of ours */
	size_t size;
	uint8_t *bytes;
};

struct visit_child {
	uint32_t index; /* of the member */
	uint32_t nodes;
	int parts;
	uint32_t *entries; /* of all parts so far */
	uint32_t entry_count;
	bool is_ended;
	int status;
};

struct visit {
	struct transport_timeline_event late;
	struct visit *prev, *next; /* of the member; next: of the free ones */
	struct member *member;
	uint64_t life;
	struct job *job;
	scoll_request_t *request;
	bool is_root, is_over;
	bool was_pre, is_refused, was_run, was_post, has_replied, has_erred;
	bool is_library_reply; /* the library has reported an error */
	bool is_aborted;
	enum conduct conduct;
	int child_count;
	struct visit_child *children;
	struct buffer *buffers;
	uint32_t *good;
	uint32_t good_count, good_capacity;
	uint32_t answer_count;
	uint64_t entity_count;
	uint8_t *bulk;
	struct iovec *iovs;
};

extern const struct scoll_service_ops service_ops;
/* Of a root: buffers for all children are posted. A negative errno. */
int visit_root(struct job *job);
/* The member is no more: its memory goes. */
void visits_drop(struct member *member);
void visit_close(struct visit *visit);
