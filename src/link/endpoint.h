/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of an endpoint do for each other. */
#pragma once

#include "link/clock.h"
#include "link/iov.h"
#include "link/objects.h"
#include "link/wire/reach.h"

/*
 * Sources of messages, for matching: an address of the vector, or of a sender
 * that is not there its number, with this bit.
 */
#define SOURCE_BY_NUMBER (UINT64_C(1) << 63)
#define SOURCE_UNKNOWN   (UINT64_MAX - 1)

/* What it is of who leaves the vector: its other address there, or its number. */
static inline uint64_t source_left(uint64_t number, fi_addr_t twin)
{
	return twin != FI_ADDR_NOTAVAIL ? twin : number | SOURCE_BY_NUMBER;
}

static inline fi_addr_t source_address(uint64_t source)
{
	return (source & SOURCE_BY_NUMBER) != 0 ? FI_ADDR_NOTAVAIL : source;
}

/* The structure that has this field at `pointer`. */
#define container(pointer, type, field) \
	((type *)((char *)(pointer)-offsetof(type, field)))

static inline struct link_ep *ep_of(const struct fid_ep *fid)
{
	return ((const struct ep_face *)fid)->ep;
}

/* Flags of what is sent, read and written: of the call, or by default. */
static inline uint64_t send_flags_with(const struct fid_ep *fid, uint64_t flags)
{
	return flags | (ep_of(fid)->send_selective ? 0 : FI_COMPLETION);
}

static inline uint64_t send_flags_of(const struct fid_ep *fid)
{
	const struct ep_face *face = (const struct ep_face *)fid;

	return send_flags_with(fid, face->send_flags);
}

/* --- endpoint.c --- */

/* Whether the first rail is shared memory. */
static inline bool has_local(const struct link_ep *ep)
{
	return ep->rails[0].way == RAIL_SHARED;
}

/* Whether it is one of several fabric rails: see flow.h. */
static inline bool has_flows(const struct rail *rail)
{
	return rail->ep->flows != NULL && rail->way == RAIL_FRAMED;
}

/* Polls the rails that are due; whether anything happened. Any thread. */
bool ep_progress(struct link_ep *ep);
/*
 * The end of a call of the program's by a rail that is locked, and is unlocked:
 * returns `result`. Who is refused makes progress, and is looked after (loss.c).
 */
ssize_t rail_tried(struct rail *rail, struct peer *peer, ssize_t result);
/* Polls those of each endpoint. */
void domain_progress(struct link_domain *domain);
/* Our address of who has an address of the core; NOTAVAIL: unknown. */
static inline fi_addr_t rail_source(const struct rail *rail, fi_addr_t core)
{
	return core < rail->source_count ? rail->sources[core]
					 : FI_ADDR_NOTAVAIL;
}

/*
 * A message or access went by a rail, which is locked; told when it is closed. Of several
 * fabric rails it is a frame or a piece (rail_carried): the rail of a message is their first.
 */
static inline void rail_carried(struct rail *rail, size_t size)
{
	rail->messages++;
	rail->bytes += size;
}
static inline void rail_used(struct rail *rail, size_t size)
{
	if (!has_flows(rail))
		rail_carried(rail, size);
}

/* It is polled at the next call, however long nothing came by it. */
static inline void rail_poll_soon(struct rail *rail)
{
	set_seen(rail->due, 0);
}

/* The rail by which a peer is sent to: of several, which share a lock, the first. */
struct rail *rail_for(struct link_ep *ep, const struct peer *peer);
/* Of several, any may bring an answer: the first stands for all. */
struct rail *rail_answering(struct rail *rail);
/* Whether what went by one may be answered by the other. */
static inline bool is_answered_by(const struct rail *sent,
				  const struct rail *rail)
{
	return sent == rail || (has_flows(sent) && has_flows(rail));
}

/* --- alias.c --- */

/* What is set once it is open: its flags, its aliases. As fi_control(). */
int ep_control(struct fid *fid, int command, void *arg);

/* --- enable.c --- */

/* Gives it a number that no other has; 0 or a negative errno. */
int ep_number(struct link_ep *ep);
/* 0 or a negative errno: then nothing is open, and it may be tried again. */
int ep_enable(struct link_ep *ep);
/* Closes what was opened, and forgets whom it reached. */
void rails_close(struct link_ep *ep);

/* --- bind.c --- */

/* As fi_ep_bind(); not when it is enabled. */
int ep_bind(struct fid *fid, struct fid *other, uint64_t flags);
/* Ends all of them: the endpoint is about to be closed. */
void ep_unbind(struct link_ep *ep);

/* --- peer.c --- */

/* What is known of an address, or NULL. */
struct peer *ep_peer(const struct link_ep *ep, fi_addr_t address);
/*
 * Makes a peer known to one rail, which is locked, if that rail can reach it.
 * 0 or a negative errno.
 */
int peer_insert_at(struct rail *rail, struct peer *peer, fi_addr_t address,
		   const struct link_address *to);
/* An address was inserted in the vector. 0, or nothing has changed. */
int ep_peer_add(struct link_ep *ep, fi_addr_t address,
		const struct link_address *of);
/* Is it about to be removed? -FI_ENOMEM: what is owed to it could not be kept. */
int ep_peer_prepare(struct link_ep *ep, fi_addr_t address);
/* It is removed. */
void ep_peer_remove(struct link_ep *ep, fi_addr_t address);
/*
 * Gives its place at a core back, or keeps it for what may still come; messages from
 * there, if they are a source's, are its twin's then. The rail is locked.
 */
void core_release(struct rail *rail, struct peer *peer, uint64_t source,
		  fi_addr_t twin);
/*
 * Whom a message is from while matching is locked: who is about to become known, or
 * is no more, by number, which the message says (or 0).
 */
uint64_t source_now(const struct link_ep *ep, uint64_t source, uint64_t number);
/* --- strangers.c: the rail is locked --- */

/*
 * Who is to be answered by a rail, by the number of its endpoint and its address:
 * it may not be in the vector. 0; -FI_ENOMEM: not now; -FI_EADDRNOTAVAIL: it cannot
 * be reached. No callback of the rail's core is under way.
 */
int ep_peer_or_stranger(struct rail *rail, uint64_t number,
			const uint8_t from[LINK_ADDRESS_SIZE],
			struct peer **ret_peer);
/* The same, but only who is known already. */
struct peer *ep_peer_by_number(struct rail *rail, uint64_t number);
/* Who is not in the vector, or NULL. */
struct peer *stranger_known(struct rail *rail, uint64_t number);
/* The same, made if need be; it may not be known to the core. */
int stranger_take(struct rail *rail, uint64_t number,
		  const uint8_t from[LINK_ADDRESS_SIZE],
		  struct peer **ret_peer);
void stranger_drop(struct rail *rail, uint64_t number);
/* One of them has ended, as a shared rail sees. */
void ep_stranger_gone(struct rail *rail, uint64_t number);
/* Forgets all. */
void strangers_drop(struct rail *rail);

/* --- cm.c --- */

extern struct fi_ops_cm link_cm_ops;

/* --- names.c --- */

/* The rail that is a place's, of names. */
struct rail *name_rail(struct link_ep *ep);
/* Begins to ask for what is in the vector by name. No rail is locked. */
int name_ask(struct link_ep *ep, fi_addr_t address,
	     const struct link_address *name);
void name_forget(struct link_ep *ep, fi_addr_t address);
/*
 * What to say of an address that is no peer: -FI_EAGAIN, it is being asked;
 * -FI_EHOSTUNREACH, for long, or no rail leads there; -FI_EINVAL, there is none.
 * Makes progress.
 */
ssize_t name_refusal(struct link_ep *ep, fi_addr_t address);
/* A HELLO or NAME has come. The rail is locked. */
void name_take(struct rail *rail, const struct link_frame *frame);
/* Goes on with questions and answers: has_names. No rail is locked. */
void names_progress(struct link_ep *ep);
void names_drop(struct link_ep *ep);

/* --- rail.c --- */

int rail_open(struct rail *rail, const struct link_core *core,
	      struct fid_fabric *fabric);
/*
 * Gives back what is registered of ours: before any rail is closed, since a buffer
 * may be known to several.
 */
void rail_unregister(struct rail *rail);
void rail_close(struct rail *rail);
/*
 * Takes in what the core has to say, and goes on with what waits. Returns whether
 * anything happened. The rail is locked.
 */
bool rail_poll(struct rail *rail);
/* The same without what waits; whether the core has nothing more to say. */
bool rail_drain(struct rail *rail);

/* --- seats.c: peers that share memory. The rail is locked. --- */

int seats_open(struct rail *rail);
/*
 * Has the core know an endpoint. Returns 0 and its address there, and whose it is;
 * -ENOENT: it is gone, or not there yet; -ENOSPC: there is no room for it.
 */
int seat_take(struct rail *rail, uint64_t number, fi_addr_t *ret_core,
	      struct presence_process *ret_process);
/* It is not in the vector any more, under any address. */
void seat_leave(struct rail *rail, fi_addr_t core);
/* Forgets who is gone and not in the vector, now and then. */
void seats_look(struct rail *rail);

/* --- slab.c: frames to and from a core --- */

/*
 * Bytes that came as a core's untagged message. -FI_ENOMEM: not now. The rail is
 * locked.
 */
int rail_take_frame(struct rail *rail, const uint8_t *bytes, size_t size);
/*
 * Sends a frame with a payload. Returns 0; -FI_EAGAIN when others wait (not
 * with `must`: it waits with them), or -FI_ENOMEM. The rail is locked. When
 * `with` is not NULL, its send ends with the frame's.
 */
struct frame_end {
	void *context;
	uint64_t flags;
};
int rail_send_frame(struct rail *rail, struct peer *peer,
		    struct link_frame *frame, const struct iovec *iov,
		    size_t count, const struct frame_end *with, bool must);
/* Hands a frame to the core. It has ended, unless -FI_EAGAIN is returned. */
ssize_t rail_slab_send(struct rail *rail, struct slab *slab);
/* A peer is removed: what is under way to it is nobody's. */
void rail_forget(struct rail *rail, const struct peer *peer);
/* A frame has ended: so has its send. */
void rail_frame_gone(struct rail *rail, struct slab *slab, int error);
/*
 * An answer will come to what was sent by it, or has come: with several fabric
 * rails perhaps by another one. The rail is locked.
 */
void rail_asked(struct rail *rail);
void rail_answered(struct rail *rail);

/* --- pending.c: frames that wait. The rail is locked. --- */

/* Whether others to this peer wait. */
bool pending_has(const struct rail *rail, const struct peer *peer);
/* The program's own may, as long as they are few. */
bool pending_has_room(const struct rail *rail, const struct peer *peer);
void pending_add(struct rail *rail, struct slab *slab);
void pending_flush(struct rail *rail);
void pending_hand_over(struct rail *rail, const struct peer *peer,
		       struct peer *to);
/* Ends those to a peer with an error. */
void pending_drop(struct rail *rail, const struct peer *peer, int error);

/* --- loss.c: peers that have ended. The rail is locked. --- */

/* What a send to it, or what it was about to send, ends with. */
#define LOSS_ERROR FI_ECONNABORTED
/* Each poll counts, so that the clock is looked at now and then only. */
static inline bool loss_is_due(struct rail *rail)
{
	return (++rail->loss.polls & 255) == 0;
}
/* Looks after whom something is owed by for long. */
void loss_look(struct rail *rail);
/* See struct owing. */
typedef void loss_tell(struct rail *rail, uint64_t number, void *arg);
static inline void owing_tell(struct rail *rail, struct owing *owing,
			      loss_tell *tell, void *arg)
{
	if (owing->is_used && owing->was_seen)
		tell(rail, owing->number, arg);
	owing->was_seen = true;
}
static inline void peer_set_lost(struct peer *peer)
{
	peer->is_lost = true;
	peer->lost_ns = clock_now_ns();
}
/* A frame to it has failed with LOSS_ERROR, and there is no other way. */
void loss_said(struct rail *rail, struct peer *peer);
/* What it owes, and what is for it, ends; it is not asked again. */
void loss_end(struct rail *rail, struct peer *peer);
/* Nothing is to be asked of this peer any more. */
void loss_forget(struct rail *rail, const struct peer *peer);

/* --- shared.c --- */

int shared_open(struct rail *rail);
/* Takes in what there was no room for before. */
void shared_retry(struct rail *rail);
void shared_drop(struct rail *rail);
/* A message nobody expected is all there. */
void shared_arrived(struct arrival *arrival,
		    const struct fi_cq_tagged_entry *entry);
void shared_arrival_failed(struct arrival *arrival);
void shared_received(struct rail *rail, struct receive *receive,
		     const struct fi_cq_tagged_entry *entry, fi_addr_t core);
void shared_failed(struct receive *receive,
		   const struct fi_cq_err_entry *entry);

/* --- receive.c --- */

/* Matching is locked; NULL without memory. */
struct receive *receive_alloc(struct link_ep *ep);
/* With room for so many bytes: of the inject size, one that was given back. */
struct arrival *arrival_alloc(struct link_ep *ep, size_t room);
/* The same, always a new one. */
struct arrival *arrival_make(struct link_ep *ep, size_t room);
void receive_free(struct link_ep *ep, struct receive *receive);
void arrival_free(struct link_ep *ep, struct arrival *arrival);
/* A message is where it belongs. */
struct message_end {
	size_t size;
	uint64_t tag, data, flags;
	fi_addr_t source;
};
/* A message that has come by a fabric. */
struct coming {
	struct message_end end; /* its source is filled in */
	uint64_t source;        /* for matching */
	uint64_t number;        /* of the sender, where it says that; or 0 */
	bool is_tagged;
	const uint8_t *payload;
	const struct link_frame *ready; /* it is to be read; or NULL */
};
/*
 * One has come, in a frame or as it is. -FI_ENOMEM: there is no room for it;
 * nothing has changed. The rail is locked.
 */
int receive_frame(struct rail *rail, const struct link_frame *frame);
int receive_message(struct rail *rail, struct coming *coming);
void receive_done(struct receive *receive, const struct message_end *end);
void receive_failed(struct receive *receive, const struct message_end *end,
		    int error, size_t missing);
/* Copies a message, and ends the receive by what fitted. */
void receive_copy(struct receive *receive, const void *data,
		  const struct message_end *end);
/*
 * A peer is known from now on, by this address: receives that name it take what came
 * from it before. And is no more: what waits is from its twin, or by number.
 */
void receive_name(struct link_ep *ep, struct peer *peer, fi_addr_t address);
void receive_unname(struct link_ep *ep, struct peer *peer, fi_addr_t address,
		    fi_addr_t twin);
/*
 * Gives an arrival to the receive that it was matched to, in any state. Matching is
 * locked; it is not any more then.
 */
void receive_give(struct receive *receive, struct arrival *arrival);
/* Puts an arrival that is complete, or to be read, into a receive. */
void receive_take(struct receive *receive, struct arrival *arrival);
struct receive *receive_of_match(struct match_receive *match);
struct arrival *arrival_of_message(struct match_message *message);
/* Gives all that is posted and kept back. */
void receive_drop_all(struct link_ep *ep);

/* --- receive_api.c --- */

ssize_t link_cancel(struct fid *fid, void *context);
/* Answers a peek, if there is a message for it, or `is_last`. */
bool peek_answer(struct link_ep *ep, const struct asked *asked, bool is_last);

/* --- send.c --- */

/* One message; `iov` is the program's. */
struct link_message {
	const struct iovec *iov;
	size_t count, size;
	fi_addr_t to;
	uint64_t tag, data; /* tag: with LINK_UNTAGGED where it has none */
	uint64_t flags; /* FI_INJECT, FI_REMOTE_CQ_DATA, FI_COMPLETION, ... */
	void *context;
};
ssize_t send_message(struct link_ep *ep, const struct link_message *message);
/* As the core's own tagged message, of at most its inject size. */
ssize_t send_injected(struct rail *rail, const struct peer *peer,
		      const struct link_message *message);
void send_completed(struct link_ep *ep, void *context, uint64_t flags);
void send_failed(struct link_ep *ep, void *context, uint64_t flags, int error);
/* A send that waits for an endpoint's answer, or NULL. `sending` is locked. */
struct send *send_find(struct link_ep *ep, uint32_t request, uint64_t number);
/* A DONE has come. Returns whether it was for one of ours. */
bool send_answered(struct link_ep *ep, const struct link_frame *frame);
/*
 * Tells by the numbers of their endpoints who has not answered a send by this
 * rail since the last call, or longer.
 */
void send_each_old(struct rail *rail,
		   void (*tell)(struct rail *rail, uint64_t number, void *arg),
		   void *arg);
/* Ends those that an endpoint has not answered. */
void send_drop_of(struct rail *rail, uint64_t number, int error);
/* An endpoint will not answer: what waits for that fails. */
void send_peer_failed(struct link_ep *ep, uint64_t number, int error);
/* What is there to be read is not any more, and all of it is given back. */
void sends_unregister(struct link_ep *ep);
void send_drop_all(struct link_ep *ep);

/* --- rendezvous.c --- */

/*
 * A message that is to be read comes with the memory that this takes: its arrival
 * has so much room, and who reads it is there.
 */
size_t reading_room(const struct rail *rail);
static inline struct arrival *arrival_around(void *room)
{
	return (struct arrival *)room - 1;
}
/* Begins to read a message, whose arrival it has from now on. */
void reading_start(struct receive *receive, struct arrival *arrival);
/* The same of one that several rails could not read: by push.c. They are locked. */
void reading_push(struct receive *receive, struct arrival *arrival, int error);
/* Goes on with what is on the rail's list of work. The rail is locked. */
void reading_work(struct rail *rail);
void reading_ended(struct reading *reading, int error);
/* As send_each_old() and send_drop_of(), of messages that are to be read. */
void reading_each_old(struct rail *rail,
		      void (*tell)(struct rail *rail, uint64_t number,
				   void *arg),
		      void *arg);
void reading_drop_of(struct rail *rail, uint64_t number, int error);
/* Ends those for the program that the core does not end. */
void reading_leave_of(struct rail *rail, uint64_t number, int error);
/* Nobody will read it: tells the sender. It is freed. No rail is locked. */
void reading_refuse(struct arrival *arrival);
/* Whether a sender has not been answered yet, for want of memory. */
bool reading_is_owed(struct rail *rail);
void readings_drop(struct rail *rail);

/* --- push.c: messages whose memory cannot be read. The rail is locked. --- */

/* Asks for one in pieces. -FI_ENOMEM: not now; otherwise it is not possible. */
int push_ask(struct reading *reading);
/* It has ended: no piece is taken for it any more. */
void push_forget(struct reading *reading);
void push_take_piece(struct rail *rail, const struct link_frame *frame);
/* -FI_ENOMEM: not now. */
int push_take_push(struct rail *rail, const struct link_frame *frame);
/* Sends what the core takes now. */
void push_work(struct rail *rail);
void push_drop_all(struct rail *rail);

/* --- memory.c: the rail is locked --- */

/* Registers memory as the core wants it. */
int rail_register(struct rail *rail, const struct fi_mr_attr *attr,
		  struct fid_mr **ret_mr);
/* The same of memory of ours, under a key of ours. */
int rail_register_own(struct rail *rail, void *bytes, size_t size,
		      uint64_t access, struct fid_mr **ret_mr);
/* A key for a registration of ours, where the core lets us choose it. */
uint64_t rail_own_key(struct rail *rail);
/*
 * Descriptors of buffers for one call of the core: what the program gave (NULL:
 * nothing), or a registration that rail_give_back() ends. `ret_descs` has room
 * for `count`, LINK_IOV_MAX at most.
 */
int rail_lend(struct rail *rail, const struct iovec *iov, size_t count,
	      uint64_t access, void *const *given, void **ret_descs,
	      struct lent *ret_lent);
void rail_give_back(struct lent *lent);
/*
 * Lets a peer read what is at `iov`: from the program's buffer, or from a copy
 * where that has several parts or may change (FI_INJECT); at each of the rails.
 * Whatever is returned, exposed_end() takes it back.
 */
int expose(struct rail *rails, unsigned int count, const struct iovec *iov,
	   size_t iov_count, uint64_t flags, struct frame_rail *ret_where,
	   struct exposed *exposed);
/* The rails are about to be closed: only the memory stays. */
void exposed_hide(struct exposed *exposed);
void exposed_end(struct exposed *exposed);
/* The descriptor of a buffer of ours; -FI_ENOMEM and the like without one. */
int rail_slab_desc(struct rail *rail, struct slab *slab, void **ret_desc);

/* --- keys.c: the rail is locked --- */

struct asker;

/*
 * What the core has to be given to reach a peer's memory. -FI_EAGAIN: the peer
 * is asked; another negative errno: there is no such memory.
 */
ssize_t keys_translate(struct rail *rail, struct peer *peer,
		       const struct fi_rma_iov *from, size_t count,
		       struct fi_rma_iov *ret_to);
/* An answer has come, of REACH_KEY_SIZE bytes without an error. */
void key_told(struct rail *rail, uint64_t number, uint64_t key, int error,
	      const uint8_t *told);
/* What was told of it did not do: it is asked for anew. */
void key_doubt(struct rail *rail, uint64_t number, uint64_t key, uint64_t core);
void key_forget(struct link_ep *ep, uint64_t number, uint64_t key);
/* What a peer wants to know; 0 or a positive errno. */
int key_tell(struct rail *rail, const struct link_frame *frame,
	     const struct reach *reach, uint8_t *ret_told);
/*
 * Who asked for one, each once; LINK_ASKERS at most. 0 or a positive errno. Reaching
 * is locked.
 */
int asker_add(struct asker **askers, uint64_t number,
	      const uint8_t from[LINK_ADDRESS_SIZE]);
/* Tells all of them that it is none any more, now or later. */
void askers_withdraw(struct rail *rail, struct asker **askers, uint64_t key);
void forgets_send(struct rail *rail);
void forgets_drop(struct rail *rail);
void keys_drop(struct rail *rail);

/* --- mr.c --- */

extern struct fi_ops_mr link_mr_ops;
/* An endpoint is enabled: what peers may reach is registered at its rails. */
int mr_endpoint_comes(struct link_ep *ep);
/* It is about to be closed, or could not be enabled. */
void mr_endpoint_goes(struct link_ep *ep);
/* Its descriptor at a rail, which is locked; NULL: it cannot be registered. */
void *mr_desc_at(struct link_mr *mr, struct rail *rail);
/*
 * What a rail's core has for a region (or NULL), which a peer wants to know: its
 * key, and the address of its beginning. 0, or a positive errno. Reaching is
 * locked.
 */
int mr_key_at(struct link_mr *mr, const struct rail *rail, uint64_t number,
	      const uint8_t from[LINK_ADDRESS_SIZE], uint64_t *ret_key,
	      uint64_t *ret_base);
/* These four with reaching locked. The region that has a key, or NULL. */
struct link_mr *mr_of_key(struct link_domain *domain, uint64_t key);
/*
 * Where a part of a region is that peers may reach so: adds at most LINK_IOV_MAX
 * places to their number. Returns 0 or a positive errno.
 */
int mr_find(struct link_domain *domain, uint64_t key, uint64_t address,
	    size_t size, uint64_t access, struct iovec *iov, size_t *count,
	    struct link_mr **ret_mr);
/* And by what a peer reads it there at a rail. 0, or a positive errno. */
int mr_place_at(const struct link_mr *mr, const struct rail *rail,
		uint64_t address, struct frame_rail *ret_place);
/* Who holds it may unlock: it is not closed before that is given back. */
void mr_hold(struct link_mr *mr, int count);
/* Counts an access to a region; NULL: to none that there is any more. */
void mr_touched(struct link_mr *mr, bool writes);

/* --- rma.c --- */

extern struct fi_ops_rma link_rma_ops;
struct link_access;
/* The core is done with a read or write. The rail is locked. */
void access_ended(struct link_access *access, int error);
/* Goes on with those of which the keys had changed. The rail is locked. */
void accesses_again(struct rail *rail);
/* As send_each_old(); ends those for the program that the core does not end. */
void accesses_each_old(struct rail *rail, loss_tell *tell, void *arg);
void accesses_leave_of(struct rail *rail, uint64_t number, int error);
void accesses_give_back(struct rail *rail);
void accesses_drop(struct rail *rail);
/*
 * The end of what was done to a peer's memory, by whatever way. Flags: FI_RMA or
 * FI_ATOMIC, FI_READ or FI_WRITE, FI_COMPLETION. Error: 0, or positive.
 */
void access_completed(struct link_ep *ep, void *context, uint64_t flags,
		      int error);
/*
 * Tells a peer that counts it what was done to its memory. -FI_ENOMEM: not now. The
 * rail is locked.
 */
int access_tell(struct rail *rail, fi_addr_t to, uint64_t key, uint64_t flags);

/* --- atomic.c --- */

extern struct fi_ops_atomic link_atomic_ops;
int link_query_atomic(struct fid_domain *domain, enum fi_datatype type,
		      enum fi_op op, struct fi_atomic_attr *attr,
		      uint64_t flags);

/* --- reach.c --- */

/* What a peer is to do to its memory; all lists are the caller's. */
struct reach_call {
	enum reach_kind kind;
	enum atomic_type type;
	enum atomic_op op;
	fi_addr_t to; /* who is known */
	const struct iovec *iov, *compare, *result;
	size_t count, compare_count, result_count; /* at most LINK_IOV_MAX */
	size_t size;                               /* bytes at iov */
	const struct reach_range *ranges;
	size_t range_count;
	uint64_t data, flags; /* as of access_completed(), and FI_INJECT, ... */
	void *context;
};
/* Sizes agree, and fit into a frame where they have to. */
ssize_t reach_peer(struct link_ep *ep, const struct reach_call *call);
/* Asks for what the core of a peer has for a key. The rail is locked. */
ssize_t reach_key(struct rail *rail, struct peer *peer, uint64_t key);
void reach_answered(struct rail *rail, const struct link_frame *frame);
/* As send_each_old() and send_drop_of(). */
void asks_each_old(struct rail *rail,
		   void (*tell)(struct rail *rail, uint64_t number, void *arg),
		   void *arg);
void asks_drop_of(struct rail *rail, uint64_t number, int error);
/* As sends_unregister(). */
void asks_unregister(struct link_ep *ep);
void asks_drop(struct link_ep *ep);

/* --- reached.c: the rail is locked --- */

/* -FI_ENOMEM: not now; nothing was done. */
int reached(struct rail *rail, const struct link_frame *frame);
/* Sends the results. No callback of the core is under way. */
void reached_answer(struct rail *rail);
void answers_drop(struct rail *rail);
void touched(struct rail *rail, const struct link_frame *frame);

/* --- eq.c --- */

/* Takes memory for so many events of ours (16 at most). 0 or -FI_ENOMEM. */
int eq_reserve(struct fid_eq *eq, size_t count);
/* The end of what was begun, or of a part of it by an error (positive). */
void eq_add(struct fid_eq *eq, uint32_t kind, struct fid *of_what,
	    void *context, uint64_t data);
void eq_fail(struct fid_eq *eq, struct fid *of_what, void *context,
	     uint64_t data, int error);
/* Who is bound to it keeps it open. */
void eq_hold(struct fid_eq *eq, int count);

/* --- domain.c: operations that an object does not have, -FI_ENOSYS --- */

int no_bind(struct fid *fid, struct fid *other, uint64_t flags);
int no_control(struct fid *fid, int command, void *arg);
int no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
		void *context);
