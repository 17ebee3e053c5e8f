/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fabric, domain, address vector, queue, endpoint and its rails: what the files
 * of the provider share of them.
 *
 * Locks are taken in this order: an address vector's changing; a domain's memory;
 * an endpoint's asking; a rail's, never two; a domain's reaching; an endpoint's
 * matching. Within any of these, and none within another: an endpoint's sending
 * and naming, a rail's working, an address vector's, a queue's, that of who is
 * bound to it. No core is called while matching is locked.
 */
#pragma once

#include "base/hash.h"
#include "link/address/address.h"
#include "link/lock.h"
#include "link/match/match.h"
#include "link/match/offload.h"
#include "link/presence.h"
#include "link/provider.h"
#include "link/setting.h"
#include "link/wire/frame.h"

struct link_fabric_object {
	struct fid_fabric fid;
	int uses; /* domains and event queues that are open */
};

static inline void fabric_hold(struct link_fabric_object *fabric, int count)
{
	__atomic_add_fetch(&fabric->uses, count, __ATOMIC_ACQ_REL);
}

/* What a queue or counter is waited for by; see wait.c. */
struct wait {
	enum fi_wait_obj kind;
	int fd; /* -1: there is none */
	unsigned int pause_ns;
};

/*
 * Endpoints that go on when somebody looks at a queue or counter of theirs. Who
 * looks takes no lock, and may meet one that is being closed: so places are freed
 * with the queue only, and the memory of endpoints with their domain (what is left
 * of them then: see ep_progress()).
 */
struct bound {
	struct bound *next;
	struct link_ep *ep; /* NULL: a place for another one */
};

struct endpoints {
	struct link_lock lock; /* of changes */
	struct bound *first;   /* each endpoint once */
	int uses;              /* bindings */
};

/* The thread of a domain at FI_PROGRESS_AUTO; see progress.c. */
struct progress {
	bool is_wanted;
	struct endpoints endpoints; /* that are enabled */
	pid_t process;              /* whose the thread is; 0: there is none */
	pthread_t thread;
	bool is_over;                 /* the thread is to end */
	struct progress *prev, *next; /* of all that have a thread */
};

struct link_domain {
	struct fid_domain fid;
	struct fid_fabric *fabric;
	struct fid_eq *eq; /* or NULL */
	struct link_text text;
	struct core_set cores; /* in the order of the text */
	bool is_threaded;      /* locks are real */
	int uses;              /* objects that are open */
	uint32_t digest;       /* of the link */
	uint32_t format;       /* of addresses: see format.h */
	uint64_t name_wait_ns; /* for who is known by name only */
	size_t atomic_max;     /* bytes of values in one operation */
	/* Of memory: its addresses are virtual, its keys are chosen here. */
	bool is_virtual, chooses_keys;
	struct link_lock memory; /* before a rail's; what follows */
	uint64_t last_key;       /* that was chosen */
	struct link_mr *mrs;     /* that peers may reach */
	/* By key; changes need both locks. Held while memory is reached. */
	struct link_lock reaching;
	struct link_mr *by_key;
	struct link_ep *endpoints; /* that are enabled */
	struct link_ep *spare;     /* memory of those that were closed */
	struct progress progress;
};

/* Objects that are open keep their domain open. Any thread. */
static inline void domain_hold(struct link_domain *domain, int count)
{
	__atomic_add_fetch(&domain->uses, count, __ATOMIC_ACQ_REL);
}

/* --- bind.c --- */

void endpoints_init(struct endpoints *all, const struct link_domain *domain);
void endpoints_fini(struct endpoints *all);
/* Who counts in it, or completes to it, keeps it open. Any thread. */
static inline void endpoints_hold(struct endpoints *all, int count)
{
	__atomic_add_fetch(&all->uses, count, __ATOMIC_ACQ_REL);
}
/* An endpoint is in it once, however often it was added. 0, or -FI_ENOMEM. */
int endpoints_add(struct endpoints *all, struct link_ep *ep);
void endpoints_remove(struct endpoints *all, const struct link_ep *ep);
/* Has each go on; whether anything happened. Any thread. */
bool endpoints_progress(const struct endpoints *all);

/* --- address vector --- */

struct av_entry {
	bool is_used;
	unsigned int uses; /* how often it was inserted, and not removed */
	bool is_named;     /* no address yet: see names.c */
	uint64_t number;
	uint8_t bytes[LINK_ADDRESS_SIZE];
};

#define AV_CHUNK  256
#define AV_CHUNKS 65536

struct link_av {
	struct fid_av fid;
	struct link_domain *domain;
	enum fi_av_type type;
	struct link_lock changing; /* one at a time; before all others */
	struct link_lock lock;
	/* Chunks stay where they are, so that senders look without a lock. */
	struct av_entry **chunks;
	size_t count;   /* addresses below it were given out */
	size_t removed; /* of them that are free again */
	struct av_number *by_number;
	struct link_ep *endpoints; /* that are bound to it */
	struct fid_eq *eq;         /* or NULL */
	bool has_events;           /* insertions end with an event */
};

/* The entry of an address, or NULL. */
struct av_entry *av_entry_of(const struct link_av *av, fi_addr_t address);
/* What it is; 0, or a negative errno when there is none. */
int av_address(struct link_av *av, fi_addr_t at,
	       struct link_address *ret_address);
/* An answer has come for a name: this is its address from now on. */
int av_settle(struct link_av *av, fi_addr_t at, const uint8_t *bytes,
	      struct link_address *address);
/* Another address of the same endpoint, or FI_ADDR_NOTAVAIL. */
fi_addr_t av_twin(struct link_av *av, uint64_t number, fi_addr_t address);
/* The address of an endpoint by its number, or FI_ADDR_NOTAVAIL. */
fi_addr_t av_find(struct link_av *av, uint64_t number);

/* --- completion queue --- */

struct cq_entry {
	struct fi_cq_tagged_entry tagged;
	fi_addr_t source;
};

struct cq_failure {
	struct cq_failure *next;
	struct fi_cq_err_entry entry;
};

struct link_cq {
	struct fid_cq fid;
	struct link_domain *domain;
	enum fi_cq_format format;
	struct link_lock lock;
	struct cq_entry *ring; /* a power of two; grows in time */
	size_t size, head, tail;
	struct cq_failure *failures, **failures_end;
	struct cq_failure *spares; /* for those to come */
	unsigned int spare_count;
	bool has_failure;  /* one of these, or: */
	bool is_overrun;   /* something was lost for want of memory */
	bool is_signalled; /* fi_cq_signal: who waits stops */
	struct wait wait;
	int polls;                  /* poll sets that it is in */
	struct endpoints endpoints; /* that complete to it */
};

/* What is lost for want of memory is said by the next read: FI_EOVERRUN. */
void cq_add(struct link_cq *cq, const struct cq_entry *entry);
void cq_fail(struct link_cq *cq, const struct fi_cq_err_entry *entry);

/* --- counter --- */

struct link_cntr {
	struct fid_cntr fid;
	struct link_domain *domain;
	uint64_t value, errors;
	uint64_t told; /* of both, what poll sets have said */
	struct wait wait;
	int polls;                  /* poll sets that it is in */
	struct endpoints endpoints; /* that count in it */
	struct link_domain *memory; /* memory of which counts in it, or NULL */
};

/* Counts the end of an operation. NULL: nothing counts it. */
void cntr_count(struct link_cntr *cntr, bool is_well);

/* --- endpoint --- */

/* What an endpoint knows of a peer; by the address in its vector. */
struct peer {
	bool is_known;
	bool is_local;      /* rail 0 is shared memory, and used */
	bool knows_us;      /* it has us in its vector, and says so: KNOWN */
	bool was_told;      /* that we have it in ours */
	bool was_greeted;   /* and asked for that: FRAME_GREET */
	bool wants_events;  /* FRAME_TOUCHED */
	bool is_lost;       /* its process has ended: */
	uint64_t lost_ns;   /* when that was found */
	bool is_asked;      /* for now: loss.c */
	uint16_t under_way; /* frames that the core has, or may have */
	uint16_t unsaid;    /* of them those of whose end it does not tell */
	struct peer *next_asked;
	struct presence_process process; /* of who is local */
	uint32_t sequence;               /* of the last frame to it */
	uint64_t number;                 /* its endpoint's */
	fi_addr_t cores[RAILS_MAX];      /* on each rail, or FI_ADDR_NOTAVAIL */
	struct flow *flow; /* several fabric rails lead there; else NULL */
};

/* What a core's completion belongs to: its context points here. */
enum link_op_kind {
	OP_SEND,    /* a frame of ours */
	OP_SLAB,    /* a buffer into which a frame came */
	OP_RECEIVE, /* a receive, into which a shared rail puts the message */
	OP_ARRIVAL, /* a message nobody expected, which it puts into a buffer */
	OP_READ,    /* a rendezvous */
	OP_PIECE,   /* a part of one that goes over several rails */
	OP_ACCESS,  /* the program's own, to memory of a peer */
	OP_GIVEN,   /* a receive that a matching core has */
	OP_CLAIM,   /* a message that is claimed from it, in two steps */
	OP_PASSED,  /* a send as the core's own message */
};

struct link_op {
	struct fi_context2 context; /* the core's; first */
	enum link_op_kind kind;
};

/*
 * What a core has for a peer, or from it, whose end it tells. The peer may have
 * ended, and the core not say so: then it ends for the program, and what the core
 * says later is for nobody.
 */
struct owing {
	bool is_used;
	bool was_seen;   /* waits since before the last look */
	uint64_t number; /* of the peer's endpoint */
};

/* Registrations of buffers for as long as a core uses them. */
struct lent {
	unsigned int count;
	struct fid_mr *mrs[LINK_IOV_MAX];
};

/* Memory of ours that a peer reads; all zero: none. */
struct exposed {
	const void *data;
	void *copy; /* of what the program may change, or has in parts */
	struct fid_mr *mrs[RAILS_MAX]; /* on each rail by which it is read */
};

struct arrival;

/* A receive of the program's, or a slice of one that takes many messages. */
struct receive {
	struct link_op op;
	struct match_receive match;
	struct fi_peer_rx_entry entry; /* for a shared rail */
	struct link_ep *ep;
	struct receive *next;   /* in the list of free ones */
	struct receive *parent; /* of a slice */
	unsigned int slices;    /* of it that are under way */
	unsigned int holds;     /* of who looks at it without the lock */
	bool is_full;           /* no more slices are taken */
	/* Messages that it takes, in the order of their matching. */
	struct arrival *waiting, *waiting_last;
	void *context;
	uint64_t flags; /* FI_COMPLETION, FI_MULTI_RECV, ... */
	bool is_tagged;
	bool is_cancelled;  /* at the core, or many; by the program */
	size_t count, size; /* of iov; bytes in all of it */
	struct iovec iov[LINK_IOV_MAX];
};

enum arrival_state {
	ARRIVAL_PENDING, /* the core is putting the data there */
	ARRIVAL_HERE,    /* the data is in `data` */
	ARRIVAL_READY,   /* it is to be read */
	ARRIVAL_FRAME,   /* no message: a frame, which is being put there */
	ARRIVAL_CLAIMED, /* a matching core has it for us */
	ARRIVAL_TAKEN,   /* it is being put into its receive */
};

/* A message that came before its receive. */
struct arrival {
	struct link_op op;
	struct match_message match;
	struct fi_peer_rx_entry entry; /* for a shared rail */
	struct iovec iov;
	struct link_ep *ep;
	struct rail *rail;
	struct arrival *next, *before;
	enum arrival_state state;
	bool is_tagged;
	struct receive
		*receive; /* that took it while it was pending, or NULL */
	uint64_t flags, remote_data;
	size_t size;             /* of the message */
	struct link_frame frame; /* READY */
	struct owing owing;      /* TAKEN, by a matching core */
	size_t room;             /* bytes at data */
	uint8_t *data;
};

/* What it counts for where what waits is bounded. */
static inline uint64_t arrival_cost(const struct arrival *arrival)
{
	return sizeof(*arrival) + arrival->room;
}

/* A buffer of a rail for frames or direct messages that come, or one that goes. */
struct slab {
	struct link_op op;
	struct rail *rail;
	struct slab *next;
	struct slab *next_made; /* of those that were made to be sent */
	/* Of frames that wait: whose they are, and of the first of each peer
	 * the last, and the next peer's first. */
	struct peer *peer;
	struct slab *last, *next_peer;
	uint16_t ends;  /* so many frames have ended when this one has */
	bool is_told;   /* the core has to tell its end */
	bool was_seen;  /* waits since before the last look: loss.c */
	bool is_direct; /* it came as a message, with a tag: direct.c */
	bool ends_send; /* a send of the program's ends with it, as follows */
	void *context;
	uint64_t flags;
	fi_addr_t to;   /* the core's address */
	fi_addr_t core; /* of a direct one: its sender's there */
	uint64_t tag;
	/* Of a flow: kept until it is acknowledged, and while a core has it. */
	struct flow *flow;
	struct rail *at; /* whose core has it, or NULL */
	bool is_kept;
	uint32_t sequence;
	struct fid_mr *mrs[RAILS_MAX]; /* where a core wants it registered */
	size_t size;
	uint8_t bytes[]; /* of one that goes LINK_FRAME_SIZE */
};

/* A send that waits for its receiver's answer. */
struct send {
	struct link_op op;
	struct link_ep *ep;
	struct rail *rail; /* by which it went */
	struct send *next;
	bool is_used;
	bool was_seen;    /* waits since before the last look: loss.c */
	uint32_t request; /* its place in the endpoint's table */
	uint64_t number;  /* of the endpoint that has to answer */
	void *context;
	uint64_t flags;
	size_t size;
	uint32_t turn; /* how often its place was used */
	bool is_pushed;
	struct exposed exposed;
};

/* A message that is being read from its sender; in its arrival's room. */
struct reading {
	struct link_op op;
	struct link_ep *ep;
	struct rail *rail;
	struct reading *next;
	struct reading *before, *after; /* of those that were issued */
	bool was_seen; /* waits since before the last look: loss.c */
	struct lent lent;
	/* NULL: it has ended for the program; its sender may be unanswered. */
	struct receive *receive;
	fi_addr_t source;
	struct link_frame frame;
	size_t size; /* to be read */
	int error; /* by which it ended; with a receive it is to be asked for */
	/* Sent in pieces, since it cannot be read: push.c */
	bool is_pushed;
	uint32_t reader;
	size_t got;
	UT_hash_handle hh;
};

/* A FI_PEEK of the program's that waits until the core has said what it has. */
struct asked {
	struct asked *next;
	bool is_tagged;
	bool is_heard; /* the claim under way began after it */
	fi_addr_t source;
	uint64_t tag, ignore, flags;
	void *context;
};

/* What a rail has for a core that matches tags: see matched.c. */
struct matched {
	uint64_t tag_mask; /* bits that the core's tags have */
	size_t iov_limit;
	struct receive *to_give, **to_give_end; /* it refused them for now */
	struct arrival *to_take, **to_take_end; /* by the rail's working */
	struct arrival *asking; /* those whose claim is under way */
	struct passed *free_passed, *made_passed;
	bool must_recall;
};

/* Whom a core of shared memory knows; see seats.c. */
struct seat {
	fi_addr_t core; /* or FI_ADDR_NOTAVAIL */
	struct presence_process process;
};

struct rail {
	/* What stays when the endpoint is closed: see ep_progress(). */
	struct link_ep *ep;
	unsigned int index;
	const struct rail_text *text;
	enum rail_way way;
	bool is_open; /* to who polls; changes with asking locked, too */
	uint64_t due; /* by ticks: the next look */
	struct link_lock lock;
	struct link_lock working; /* the list of work; the innermost of locks */
	/* What does not; the first of it: */
	uint64_t mr_mode;       /* its core's */
	bool is_virtual;        /* to its core addresses are */
	bool has_other_keys;    /* it chooses them, or wants such addresses */
	struct known_key *keys; /* of peers */
	struct fid_mr *slabs_mr;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *core;
	bool is_core_enabled;
	struct fid_ep *srx;         /* as the core returned it, or NULL */
	struct fid_peer_srx shared; /* ours, for a shared rail */
	size_t inject_size;
	size_t eager_size;  /* of a message in a frame, at most */
	size_t direct_size; /* without one; 0 where none goes so */
	uint8_t *slabs;     /* that are posted: all of them, in one array */
	size_t slab_size;   /* bytes in each of these */
	struct slab *free_slabs, *made_slabs;
	struct slab
		*pending; /* frames that the core refused: each peer's first */
	struct slab *to_post;
	/* Frames for which there was no room: slabs, or of a shared rail one. */
	struct slab *came, *came_last;
	struct arrival *late;
	bool is_starved; /* a message waits for memory: many.c */
	/* Frames that came by a shared rail: its core does not tell of these. */
	unsigned int taken;
	bool has_refused; /* it was asked for a place, and there was no room */
	/* Of a shared rail: what its core keeps for want of room here; seats. */
	struct kept *kept, *kept_last;
	struct seat *seats;
	bool seats_are_due;               /* somebody may be gone */
	struct reading *work, **work_end; /* by working */
	struct reading *issued;
	struct reading *readers; /* of them those that get pieces */
	uint32_t last_reader;
	struct push *pushes; /* messages that are sent in pieces */
	struct link_access *free_accesses, *made_accesses;
	struct link_access *again; /* of which the keys are asked for */
	struct link_answer *answers, **answers_end; /* to what was reached */
	struct link_answer *free_answers;
	struct strangers {
		struct stranger *by_number, *oldest;
	} strangers; /* who is not in the vector, and is to be answered */
	struct remembered *remembered; /* who may send without being there */
	struct asker *forgets; /* who is to hear that a key is none any more */
	struct matched matched;
	/* By the core's address: whom messages without a frame are from. */
	fi_addr_t *sources;
	size_t source_count;
	bool is_polling;          /* callbacks of the core may be under way */
	uint64_t woke;            /* by ticks: the last event */
	unsigned int owed;        /* completions that will come */
	uint64_t messages, bytes; /* of ours that went by it, accesses too */
	struct loss {
		unsigned int polls;
		uint64_t look_at_ns, patience_ns;
		struct peer *refused; /* whom the core could not send to */
		int probe;            /* a socket, or -1 */
		struct peer *probed;  /* who is asked by it */
		struct peer *last;    /* who was asked before */
	} loss;
	/* Of several: */
	const char *name;     /* of its device, for people */
	uint64_t speed;       /* bits a second, or 0 */
	uint64_t load;        /* bytes that are being read */
	struct piece *pieces; /* of which */
};

/* What programs call: an endpoint, or another way to it with flags of its own. */
struct ep_face {
	struct fid_ep fid;
	struct link_ep *ep;
	uint64_t send_flags, receive_flags; /* of operations without flags */
};

struct link_ep {
	struct ep_face face;
	/* What stays when it is closed: see ep_progress(). */
	struct link_domain *domain;
	unsigned int rail_count;
	bool has_names; /* questions or introductions */
	struct link_lock matching, sending, asking, naming;
	/* What does not, with much of the rails; the first of it: */
	struct link_av *av;
	struct link_ep *next_in_av;
	int aliases; /* that are open */
	struct link_ep *prev_in_domain, *next_in_domain;
	struct link_cq *send_cq, *receive_cq;
	struct link_cntr *send_cntr, *receive_cntr, *read_cntr, *write_cntr;
	struct link_cntr *remote_read_cntr, *remote_write_cntr;
	bool send_selective, receive_selective, is_enabled;
	uint64_t caps;
	size_t min_multi_recv;
	uint64_t number;
	bool is_numbered;          /* by its name */
	struct rail_address place; /* of its name; size 0: none */
	bool may_move;             /* if another endpoint is there already */
	struct link_address address;
	uint8_t address_bytes[LINK_ADDRESS_SIZE];
	struct presence *presence; /* with a local rail */
	struct rail *matched;      /* that of the rails, or NULL */
	/* By matching: */
	struct match tagged, untagged;
	struct offload offload; /* of the tagged ones */
	struct asked *asked, **asked_end;
	struct receive *free_receives;
	struct arrival *free_arrivals;
	uint64_t unexpected, unexpected_max; /* bytes */
	/* By sending: the table of sends, */
	struct send **sends;
	size_t send_count;
	struct send *free_sends;
	struct link_ask *
		*asks; /* and its like for what peers are asked to do */
	size_t ask_count;
	struct link_ask *free_asks;
	uint64_t key;        /* that was given to memory of ours last */
	struct peer **peers; /* chunks, as those of the vector */
	/* Who is known by name only; see names.c. */
	struct link_question *questions;    /* by asking */
	struct introduction *introductions; /* by naming */
	struct flows *flows; /* with several fabric rails; else NULL */
	struct rail rails[RAILS_MAX];
};

int link_domain_open(struct fid_fabric *fabric, struct fi_info *info,
		     struct fid_domain **ret_domain, void *context);
int link_av_open(struct fid_domain *domain, struct fi_av_attr *attr,
		 struct fid_av **ret_av, void *context);
/* Of addresses in that format. */
int av_insert_as(struct link_av *av, uint32_t format, const void *addresses,
		 size_t count, fi_addr_t *ret_addresses, uint64_t flags,
		 void *context);
int link_av_insertsvc(struct fid_av *av, const char *node, const char *service,
		      fi_addr_t *address, uint64_t flags, void *context);
int link_av_insertsym(struct fid_av *av, const char *node, size_t nodes,
		      const char *service, size_t services,
		      fi_addr_t *addresses, uint64_t flags, void *context);
int link_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
		 struct fid_cq **ret_cq, void *context);
int link_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr,
		   struct fid_cntr **ret_cntr, void *context);
int link_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr,
		 struct fid_eq **ret_eq, void *context);
int link_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr,
		   struct fid_poll **ret_poll);
int link_trywait(struct fid_fabric *fabric, struct fid **fids, int count);
int link_ep_open(struct fid_domain *domain, struct fi_info *info,
		 struct fid_ep **ret_ep, void *context);
/* The memory of endpoints that were closed: with their domain. */
void eps_destroy(struct link_domain *domain);
