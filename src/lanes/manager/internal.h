/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine's state, and what its files do for each other. Nothing here is
 * for others: they see engine.h.
 *
 * An event from outside goes: entry point in engine.c -> session.c, fanout/ or
 * clients.c -> core -> outputs.c (rows and outputs collect in a group) ->
 * commit.c (the group goes to disk) -> outputs.c (what was waiting is done).
 */
#pragma once

#include <jansson.h>

#include "base/hash.h"
#include "lanes/manager/engine.h"
#include "lanes/proto/client.h"
#include "lanes/proto/keyfile.h"
#include "lanes/proto/message.h"

/* --- counters for engine_metrics.c --- */

#define OPS_MAX     32 /* ops of the client protocol */
#define BUCKETS_MAX 9
#define TIME_BUCKETS                                      \
	{                                                 \
		1, 5, 10, 50, 100, 500, 1000, 5000, 30000 \
	} /* ms */
#define ROW_BUCKETS_MAX 9
#define ROW_BUCKETS                                         \
	{                                                   \
		1, 4, 16, 64, 256, 1024, 4096, 16384, 65536 \
	} /* rows of a commit */

/* How long things took. */
struct times {
	uint64_t count;
	uint64_t sum_ms;
	uint64_t buckets[BUCKETS_MAX]; /* of those up to that time */
};

void times_add(struct times *times, uint64_t took_ms);

struct op_metrics {
	struct times times;
	uint64_t failed_count;
};

enum refusal {
	REFUSAL_MALFORMED, /* not a message of the protocol */
	REFUSAL_KEY,       /* a false MAC, or a key that is not known */
	REFUSAL_REPLAYED,  /* answers to another challenge */
	REFUSAL_UNKNOWN,   /* not one of our nodes */
	REFUSAL_PROOF,     /* a claim of a higher epoch without a proof */
	REFUSAL_STALE,     /* a confirmation of another life, or of nothing */
	REFUSAL_CROWDED,   /* it had not registered when others needed room */
	REFUSAL_ADDRESS,   /* it has no endpoint for collectives */
	REFUSAL_COUNT,
};

struct counters {
	struct op_metrics ops[OPS_MAX];
	uint64_t client_refused_count;
	struct times commits; /* from submission until on disk */
	uint64_t row_count, commit_failed_count, replay_count;
	uint64_t byte_count;  /* keys and bodies of the rows */
	uint64_t commit_rows; /* of a commit of which not all is known yet */
	uint64_t row_buckets[ROW_BUCKETS_MAX]; /* commits of up to that many */
	uint64_t refusals[REFUSAL_COUNT];
	uint64_t command_count; /* that were signed */
	uint64_t answer_count;
	uint64_t lease_count; /* nodes whose lease ran out */
};

/* --- outputs.c: what becomes visible once its rows are on disk --- */

enum output_kind {
	OUTPUT_REPLY,
	OUTPUT_FANOUT,
	OUTPUT_HELLO,
	OUTPUT_ACK,
	OUTPUT_DRAIN,
	OUTPUT_TELL,
	OUTPUT_EFFECT,
	OUTPUT_EVENTS, /* read a job's events and answer with them */
};

struct output {
	enum output_kind kind;
	struct output *prev, *next;
	uint64_t token; /* REPLY, EVENTS */
	int result;     /* REPLY */
	char *text;     /* REPLY: error; DRAIN, TELL: reason; EFFECT: body */
	char *hint;     /* REPLY */
	char *members;  /* REPLY */
	struct fanout_command *command; /* FANOUT */
	char *node;                     /* HELLO, ACK, DRAIN, TELL */
	uint64_t peer;                  /* HELLO */
	uint8_t nonce[NONCE_SIZE];      /* HELLO */
	uint64_t sequence;              /* ACK; TELL: its id */
	bool is_drained;                /* DRAIN, TELL */
	uint64_t grant_id;              /* EFFECT */
	char *driver;                   /* EFFECT */
	char *effect_kind;              /* EFFECT */
	uint32_t effect_id;             /* EFFECT */
	uint32_t deadline_ms;           /* EFFECT */
	uint64_t *grants;               /* EVENTS */
	size_t grant_count;             /* EVENTS */
	json_t *view;                   /* EVENTS, or NULL: see events_read() */
};

void output_destroy(struct output *output);
DEFINE_AUTO(struct output, output_destroy)
/* Do it; frees the output. */
void output_run(struct engine *engine, struct output *output_owned);
extern const struct core_ops outputs_core_ops;

/* --- commit.c: groups of rows and what waits for them --- */

struct group {
	struct engine *engine;
	struct store_batch *batch; /* NULL: no rows yet, or submitted */
	size_t row_count;
	size_t byte_count;     /* once it is submitted */
	uint64_t submitted_ms; /* likewise */
	bool is_submitted;
	struct output *outputs;
	struct group *prev, *next;
};

void commit_store(struct engine *engine, const struct store_row *row);
void commit_output(struct engine *engine, struct output *output_owned);
/* At the end of every event: submit, or run what waits for nothing. */
void commit_flush(struct engine *engine);
/* What a client can do about a journal that failed with this errno. */
const char *commit_failure_hint(int result);
void commit_fini(struct engine *engine);

/* --- session.c: connections of nodes --- */

struct member;

struct session {
	uint64_t peer;
	char address[64];
	struct member *member;  /* whose it is; NULL: not registered */
	bool is_challenged;     /* the nonce waits for its one REGISTER */
	bool is_refused;        /* it is being closed, and heard no more */
	uint64_t challenged_ms; /* or opened */
	uint64_t challenge;     /* number of the last one */
	uint64_t heard_ms;
	uint64_t pinged_ms;
	uint8_t nonce[NONCE_SIZE];
	bool is_waiting;             /* in engine.waiting */
	struct session *prev, *next; /* there */
	UT_hash_handle hh;           /* by peer */
};

struct session *session_find(const struct engine *engine, uint64_t peer);
void session_send(struct engine *engine, struct session *session,
		  const void *frame, size_t size);
/*
 * Complete a command (op, body, grant_id and apply_floor are set) with version,
 * epoch, life and the next sequence, and append it to the writer, signed.
 */
void session_seal(struct engine *engine, struct command *command,
		  struct writer *writer);
/* The same for a node with a link, and send it there as a frame. */
void session_command(struct engine *engine, const struct member *member,
		     struct command *command);
void session_hello(struct engine *engine, uint64_t peer, const char *node,
		   const uint8_t nonce[NONCE_SIZE]);
/* Nothing is sent to a node without a link. */
void session_drain(struct engine *engine, const char *node, bool is_drained,
		   const char *reason);
/* All have to register again: the core is new. */
void session_challenge_all(struct engine *engine);
/* Tell the node why, and close. */
void session_refuse(struct engine *engine, struct session *session,
		    const char *text);
/* The same for what a node may not do: counted and logged. */
void session_reject(struct engine *engine, struct session *session,
		    enum refusal refusal, const char *text);
/* It has registered, or will not: nobody takes its place. */
void session_wait_end(struct engine *engine, struct session *session);
void session_tick(struct engine *engine, uint64_t now_ms);
uint64_t session_deadline_ms(const struct engine *engine);
void session_fini(struct engine *engine);

/* --- look.c: what nodes are asked between their registrations --- */

/* It was greeted: what it has said of itself is new. */
void look_begin(struct engine *engine, struct member *member);
/* The keys have changed: have all show that they follow. */
void look_all(struct engine *engine);
/* Ask those whose time has come. */
void look_tick(struct engine *engine, uint64_t now_ms);
/* Something of others is in the way there: do not wait. */
void look_now(struct engine *engine, const char *node);
/*
 * A lane has gone there: an answer under way may be older, and is not taken.
 * What the node had of it without a record is asked about at once.
 */
void look_gone(struct engine *engine, const char *node, uint64_t grant_id);
/*
 * What came of a node that was asked by the look of that number. It counts when
 * that was the last one.
 */
void look_answer(struct engine *engine, uint64_t number,
		 const struct fanout_answer *answer);

/* --- register.c --- */

void session_register(struct engine *engine, struct session *session,
		      const struct frame *frame);
/*
 * Tell the core what a node has. challenge: that it answers; 0 when it is no
 * registration. The errors of `tell`.
 */
int register_tell(struct engine *engine,
		  const struct registration *registration, uint64_t challenge,
		  int (*tell)(struct core *core,
			      const struct core_registration *told,
			      struct fairlead_error *ret_error),
		  struct fairlead_error *ret_error);
/* What an error of registration_open() or confirm_open() is counted as. */
enum refusal session_refusal(int result);

/* --- clients.c, ops.c: connections of clients and what they ask --- */

struct client {
	uint64_t peer;
	uid_t uid;
	bool is_remote;
	uint32_t open_count;
	UT_hash_handle hh;
};

struct open_request {
	uint64_t token;
	uint64_t peer; /* gone: nobody reads the answer */
	uint64_t id;   /* the client's */
	size_t op;     /* index in the table of ops */
	uint64_t started_ms;
	UT_hash_handle hh;
};

/*
 * Answer a request: at once, and the token is over. text: the error, or NULL;
 * hint and members may be NULL; members: compact JSON of an object.
 */
void clients_answer(struct engine *engine, uint64_t token, int result,
		    const char *text, const char *hint, const char *members);
/* The same with a tree. */
void clients_answer_json(struct engine *engine, uint64_t token,
			 json_t *members_owned);
/* Is it root's, or a submitter's? */
bool clients_goes_first(const struct engine *engine, uint64_t token);
/* Answer all that are open with an error. */
void clients_fail_all(struct engine *engine, int result, const char *text,
		      const char *hint);
void engine_clients_fini(struct engine *engine);

/*
 * Read the events of some grants from the journal, and answer with them; or,
 * with a view, answer with that: its member `grants` has items of these grants
 * in their order, which get what the events say (past.h).
 */
void events_read(struct engine *engine, uint64_t token, const uint64_t *grants,
		 size_t count, json_t *view);
void events_fini(struct engine *engine);
/* --- query.c --- */

struct call;

/* What an operator asks for is logged, with who it was. */
void call_log_act(const struct call *call);
void run_node_query(struct call *call);
void run_node_clean(struct call *call);
/* The end of its fan-out. */
void query_done(struct engine *engine, uint64_t token,
		const struct fanout_answer *answers, size_t count);

struct call {
	struct engine *engine;
	struct core_caller caller;
	uint64_t token;
	const json_t *message;
};

struct op {
	const char *name;
	enum {
		OP_FOR_ALL,
		OP_FOR_SUBMITTERS,
		OP_FOR_ROOT
	} who;
	bool is_change; /* refused by a stopped manager */
	bool needs_core;
	const char *const *members; /* besides v, id and op; ended by NULL */
	void (*run)(struct call *call);
	bool needs_caller; /* nothing is done for one who has hung up */
};

extern const struct op ops[];
extern const size_t op_count;

/* --- engine_fanout.c: commands to nodes --- */

/* Where the answers go: `owner` of struct fanout_command. */
enum command_owner {
	COMMAND_OF_CORE,   /* all together: core_fanout_done() */
	COMMAND_OF_CLIENT, /* all together: query_done() */
	COMMAND_OF_LOOK,   /* one by one: look_answer() */
	COMMAND_OF_LEASE,  /* one by one: member_leased() */
	COMMAND_OF_RECALL, /* nowhere: the nodes register */
};

void engine_fanouts_create(struct engine *engine);

/* --- halt.c: a higher epoch --- */

#define HALT_TEXT                                                         \
	"the manager has stopped: a node has obeyed a newer manager, so " \
	"this journal is old"
#define HALT_HINT                                                        \
	"stop the other manager, or if there is none: fairlead manager " \
	"recover"

/* A proof came with a registration; true: the manager has stopped. */
bool halt_check(struct engine *engine, const struct registration *registration);
/* A row of the journal: true when it was the halt's. */
bool halt_load(struct engine *engine, const struct store_row *row);
/* A recovery overcomes it. */
void halt_clear(struct engine *engine);

/* --- the engine --- */

struct engine {
	struct clock_seam clock;
	struct rng_seam rng;
	struct net_seam nodes_net;
	struct net_seam clients_net;
	struct round_seam rounds;
	struct store_seam store;
	const struct engine_ops *ops;
	void *ops_ctx;
	const struct log *log;

	struct engine_config *config; /* a deep copy */
	struct manager_keys keys;
	struct command_key command_key; /* derived from keys, as the rest */
	struct command_public publics[KEYS_MAX];
	size_t public_count;
	struct node_master masters[KEYS_MAX];
	size_t master_count;

	struct writer answer; /* to a client; borrowed while it is written */
	struct core *core;    /* NULL while the journal is to be read again */
	void (*probe)(void *ctx, const char *edge);
	void *probe_ctx;

	bool is_started;
	bool is_recovery; /* until its first commit is on disk */
	uint64_t epoch;
	uint64_t life;
	uint64_t sequence; /* last one used */
	uint64_t started_ms;
	uint64_t halted_epoch; /* 0: not halted */

	struct group *groups; /* the last one collects */
	size_t submitted_count;
	bool is_flushing;
	struct fairlead_error failure; /* of the journal; code 0: none */
	uint64_t replay_ms;            /* when to try again; core is NULL */

	struct session *sessions;
	struct session *waiting; /* to be registered; the oldest is first */
	size_t sessions_max;
	bool is_full_said;    /* that there is no room for more */
	size_t session_count; /* that are not refused */
	uint64_t challenge_last;
	uint64_t session_scan_ms;
	uint64_t reject_window_ms; /* when it began */
	uint32_t reject_count;     /* in the window */

	struct member *members; /* see member.h */
	json_t *levels;         /* of members: {driver: {level: count}} */
	bool members_are_sorted;
	uint64_t member_scan_ms;
	uint64_t lease_ms;  /* when the next LEASE goes out */
	bool is_recall_due; /* the core is new; recall.c */
	uint64_t look_last;

	struct client *clients;
	struct open_request *requests;
	uint64_t token_last;

	struct fanouts *fanouts;
	struct events_read *event_reads; /* under way, or waiting */
	bool reads_for_others; /* of these one, for others than who go first */
	struct counters counters;
};

static inline uint64_t engine_now_ms(const struct engine *engine)
{
	return clock_monotonic_ms(&engine->clock);
}

/* --- engine_config.c --- */

struct engine_config *engine_config_copy(const struct engine_config *config);
void engine_config_destroy(struct engine_config *config);
