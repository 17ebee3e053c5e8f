/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fabric, domain, address vector, queue, endpoint and its rails: what the files
 * of the provider share of them. Locks are taken in this order: a rail's, an
 * endpoint's matching, a queue's; never two rails'. No core is called while
 * matching is locked.
 */
#pragma once

#include <pthread.h>

#include "link/address/address.h"
#include "link/match/match.h"
#include "link/provider.h"
#include "link/setting.h"
#include "link/wire/frame.h"

/* A lock that is none where the program serialises by itself. */
struct link_lock {
	pthread_mutex_t mutex;
	bool is_real;
};

static inline void link_lock_init(struct link_lock *lock, bool is_real)
{
	lock->is_real = is_real;
	pthread_mutex_init(&lock->mutex, NULL);
}

static inline void link_lock_fini(struct link_lock *lock)
{
	pthread_mutex_destroy(&lock->mutex);
}

static inline void link_lock(struct link_lock *lock)
{
	if (lock->is_real)
		pthread_mutex_lock(&lock->mutex);
}

static inline bool link_trylock(struct link_lock *lock)
{
	return !lock->is_real || pthread_mutex_trylock(&lock->mutex) == 0;
}

static inline void link_unlock(struct link_lock *lock)
{
	if (lock->is_real)
		pthread_mutex_unlock(&lock->mutex);
}

/* What one thread changes under a lock, and others look at without. */
#define peek_at(place)      __atomic_load_n(&(place), __ATOMIC_ACQUIRE)
#define set_seen(place, to) __atomic_store_n(&(place), to, __ATOMIC_RELEASE)

struct link_domain {
	struct fid_domain fid;
	struct fid_fabric *fabric;
	struct link_text text;
	struct core_set cores;     /* in the order of the text */
	bool is_threaded;          /* locks are real */
	int uses;                  /* objects that are open */
	uint32_t digest;           /* of the link */
	struct link_lock memory;   /* before a rail's; what follows */
	struct link_mr *mrs;       /* that peers may reach */
	struct link_ep *endpoints; /* that are enabled */
};

/* Objects that are open keep their domain open. Any thread. */
static inline void domain_hold(struct link_domain *domain, int count)
{
	__atomic_add_fetch(&domain->uses, count, __ATOMIC_ACQ_REL);
}

/* Endpoints that go on when somebody looks at a queue or counter of theirs. */
struct endpoints {
	struct link_ep **list; /* each once */
	unsigned int count;
	int uses; /* bindings */
};

/* --- address vector --- */

struct av_entry {
	bool is_used;
	uint64_t number;
	uint8_t bytes[LINK_ADDRESS_SIZE];
};

#define AV_CHUNK  256
#define AV_CHUNKS 65536

struct link_av {
	struct fid_av fid;
	struct link_domain *domain;
	enum fi_av_type type;
	struct link_lock lock;
	/* Chunks stay where they are, so that senders look without a lock. */
	struct av_entry **chunks;
	size_t count;   /* addresses below it were given out */
	size_t removed; /* of them that are free again */
	struct av_number *by_number;
	struct link_ep *endpoints; /* that are bound to it */
};

/* The entry of an address, or NULL. */
struct av_entry *av_entry_of(const struct link_av *av, fi_addr_t address);
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
	struct cq_entry *ring; /* a power of two; grows when it is full */
	size_t size, head, tail;
	struct cq_failure *failures, **failures_end;
	bool has_failure;           /* one of these, or: */
	bool is_overrun;            /* something was lost for want of memory */
	bool is_signalled;          /* fi_cq_signal: who waits stops */
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
	struct endpoints endpoints; /* that count in it */
};

/* Counts the end of an operation. NULL: nothing counts it. */
void cntr_count(struct link_cntr *cntr, bool is_well);

/* --- endpoint --- */

/* What an endpoint knows of a peer; by the address in its vector. */
struct peer {
	bool is_known;
	bool is_local;              /* rail 0 is shared memory, and used */
	bool is_direct;             /* it has us in its vector: FRAME_KNOWN */
	bool was_told;              /* that we have it in ours */
	uint32_t sequence;          /* of the last frame to it */
	uint64_t number;            /* its endpoint's */
	fi_addr_t cores[RAILS_MAX]; /* on each rail, or FI_ADDR_NOTAVAIL */
};

/* What a core's completion belongs to: its context points here. */
enum op_kind {
	OP_SEND,    /* a frame of ours */
	OP_SLAB,    /* a buffer into which a frame came */
	OP_RECEIVE, /* a receive, into which a shared rail puts the message */
	OP_ARRIVAL, /* a message nobody expected, which it puts into a buffer */
	OP_READ,    /* a part of a rendezvous */
	OP_ACCESS,  /* the program's own, to memory of a peer */
};

struct op {
	struct fi_context2 context; /* the core's; first */
	enum op_kind kind;
};

struct arrival;

/* A receive of the program's, or a slice of one that takes many messages. */
struct receive {
	struct op op;
	struct match_receive match;
	struct fi_peer_rx_entry entry; /* for a shared rail */
	struct link_ep *ep;
	struct receive *next;   /* in the list of free ones */
	struct receive *parent; /* of a slice */
	unsigned int slices;    /* of it that are under way, and other holds */
	/* Messages that it takes, in the order of their matching. */
	struct arrival *waiting, *waiting_last;
	void *context;
	uint64_t flags; /* FI_COMPLETION, FI_MULTI_RECV, ... */
	bool is_tagged;
	size_t count, size; /* of iov; bytes in all of it */
	struct iovec iov[LINK_IOV_MAX];
};

enum arrival_state {
	ARRIVAL_PENDING, /* the core is putting the data there */
	ARRIVAL_HERE,    /* the data is in `data` */
	ARRIVAL_READY,   /* it is to be read */
	ARRIVAL_FRAME,   /* no message: a frame, which is being put there */
};

/* A message that came before its receive. */
struct arrival {
	struct op op;
	struct match_message match;
	struct fi_peer_rx_entry entry; /* for a shared rail */
	struct iovec iov;
	struct link_ep *ep;
	struct rail *rail;
	struct arrival *next;
	enum arrival_state state;
	bool is_tagged;
	struct receive
		*receive; /* that took it while it was pending, or NULL */
	uint64_t flags, remote_data;
	size_t size;        /* of the message */
	struct frame frame; /* READY */
	size_t room;        /* bytes at data */
	uint8_t *data;
};

/* A buffer of a rail for frames that come, or one that goes. */
struct slab {
	struct op op;
	struct rail *rail;
	struct slab *next;
	struct slab *next_made; /* of those that were made to be sent */
	bool ends_send; /* a send of the program's ends with it, as follows */
	void *context;
	uint64_t flags;
	fi_addr_t to; /* the core's address */
	size_t size;
	uint8_t bytes[FRAME_READY_MAX + LINK_EAGER_SIZE];
};

/* A send that waits for its receiver's answer. */
struct send {
	struct op op;
	struct link_ep *ep;
	struct send *next;
	bool is_used;
	uint32_t request; /* its place in the endpoint's table */
	uint64_t number;  /* of the endpoint that has to answer */
	void *context;
	uint64_t flags;
	void *copy;
	struct fid_mr *mr;
};

/* A message that is being read from its sender. */
struct reading {
	struct op op;
	struct link_ep *ep;
	struct rail *rail;
	struct reading *next;
	struct reading *before, *after; /* of those that were issued */
	struct receive *receive;
	fi_addr_t source;
	struct frame frame;
	size_t size; /* to be read */
};

struct rail {
	struct link_ep *ep;
	unsigned int index;
	enum rail_way way;
	bool is_virtual; /* its core's mr_mode: addresses are virtual */
	struct link_lock lock;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *core;
	struct fid_ep *srx;         /* as the core returned it, or NULL */
	struct fid_peer_srx shared; /* ours, for a shared rail */
	size_t inject_size;
	struct slab *slabs; /* that are posted: all of them, in one array */
	struct slab *free_slabs, *made_slabs;
	struct slab *pending, **pending_end; /* frames that the core refused */
	struct slab *to_post;
	/* Frames for which there was no room: slabs, or of a shared rail one. */
	struct slab *came, *came_last;
	struct arrival *late;
	struct link_lock working; /* the list of work; the innermost of locks */
	struct reading *work, **work_end;
	struct reading *issued;
	struct access *free_accesses, *made_accesses;
	/* Peers by the core's address: whom a shared rail's messages are from. */
	fi_addr_t *names;
	size_t name_count;
	bool is_polling; /* callbacks of the core may be under way */
	unsigned int interval, calls; /* polled at each interval-th call */
	unsigned int owed;            /* completions that will come */
};

struct link_ep {
	struct fid_ep fid;
	struct link_domain *domain;
	struct link_av *av;
	struct link_ep *next_in_av;
	struct link_ep *prev_in_domain, *next_in_domain;
	struct link_cq *send_cq, *receive_cq;
	struct link_cntr *send_cntr, *receive_cntr, *read_cntr, *write_cntr;
	bool send_selective, receive_selective, is_enabled;
	uint64_t caps, send_flags, receive_flags;
	size_t min_multi_recv;
	uint64_t number;
	struct link_address address;
	uint8_t address_bytes[LINK_ADDRESS_SIZE];
	unsigned int rail_count;
	struct rail rails[RAILS_MAX];
	struct link_lock matching; /* all that follows */
	struct match tagged, untagged;
	struct receive *free_receives;
	struct arrival *free_arrivals;
	uint64_t unexpected, unexpected_max; /* bytes */
	struct link_lock sending;            /* the table of sends */
	struct send **sends;
	size_t send_count;
	struct send *free_sends;
	uint64_t key;        /* that was given to memory of ours last */
	struct peer **peers; /* chunks, as those of the vector */
	/* Who is not in the vector, and wants its messages to be read. */
	struct stranger *strangers;
};

int link_domain_open(struct fid_fabric *fabric, struct fi_info *info,
		     struct fid_domain **ret_domain, void *context);
int link_av_open(struct fid_domain *domain, struct fi_av_attr *attr,
		 struct fid_av **ret_av, void *context);
int link_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
		 struct fid_cq **ret_cq, void *context);
int link_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr,
		   struct fid_cntr **ret_cntr, void *context);
int link_ep_open(struct fid_domain *domain, struct fi_info *info,
		 struct fid_ep **ret_ep, void *context);
