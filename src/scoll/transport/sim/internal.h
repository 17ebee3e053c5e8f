/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the simulated network share. */
#pragma once

#include <utlist.h>

#include "base/hash.h"
#include "scoll/transport/sim/sim.h"
#include "sim/rng.h"

enum medium_work_kind {
	WORK_SEND,
	WORK_POST,
	WORK_READ,
};

struct transport_sim_region;

/* A transfer under way, from its call until its end. */
struct medium_work {
	struct transport_timeline_event event; /* its next step */
	enum medium_work_kind kind;
	struct transport_sim_port *port;
	struct transfer *transfer;
	int result;
	size_t size;
	struct medium_work *prev,
		*next; /* of the port; next: of the free ones */
	/* POST */
	uint64_t tag;
	struct iovec pieces[TRANSPORT_IOV_MAX];
	int count;
	bool is_matched; /* or cancelled: its end is on the way */
	struct medium_work *chain;
	/* READ */
	struct transport_sim_port *from;
	struct remote_piece *remote;
	int remote_count;
	uint64_t remote_offset, local_offset;
	const struct transport_sim_region *region;
	bool is_answered; /* its end is on the way, as the memory has it */
};

/* Bytes on their way. */
struct packet {
	struct transport_timeline_event event;
	struct transport_sim *sim;
	struct transport_sim_packet seen; /* as the tap sees it */
	struct transport_sim_port *from;  /* NULL: injected */
	struct transport_sim_port *to;
	uint64_t to_life;
	uint8_t *bytes; /* seen.bytes */
	bool is_taken;  /* its receiver is at it */
	bool is_kept_back;
	struct packet *prev, *next;
};

struct transport_sim_region {
	uint64_t key; /* 0: not for peers */
	struct transport_sim_port *port;
	int count;
	uint32_t answers;                         /* to peers, on their way */
	struct transport_sim_region *prev, *next; /* of the port */
	UT_hash_handle hh;
	struct iovec pieces[];
};

/* Where a node is, as a message said. */
struct transport_sim_place {
	scoll_nid_t nid;
	uint64_t address;
	UT_hash_handle hh;
};

struct transport_sim_port {
	struct transport_sim *sim;
	scoll_nid_t nid;
	uint64_t index; /* the how-manieth */
	uint64_t life;  /* rises at each start */
	bool is_open, is_severed;
	bool knows_all;
	uint64_t address; /* of this life */
	struct transport_sim_place *places;
	unsigned int side;
	uint32_t slow;
	uint64_t paused_ns;
	uint64_t send_free_ns, receive_free_ns;
	const struct transport_events *events;
	void *ctx;
	struct medium_work *works;
	struct transport_sim_region *regions;
	struct transport_sim_use use;
};

struct transport_sim {
	struct transport_sim_options options;
	struct transport_timeline *timeline;
	struct sim_rng rng;
	struct transport_sim_stats stats;
	struct transport_sim_port **ports; /* by a hash of the NID */
	size_t port_count, port_capacity;
	struct medium_work **posts; /* by a hash of port and tag */
	size_t post_count, post_capacity;
	struct transport_sim_region *regions; /* by key */
	struct packet *packets;               /* on their way */
	struct packet *packets_free;
	struct medium_work *works_free;
	void **chunks; /* of packets and works */
	size_t chunk_count;
	uint64_t hash;
	struct transport_sim_port **by_address; /* first address: 1 */
	size_t address_count;
	void (*tap)(void *ctx, const struct transport_sim_packet *packet);
	void *tap_ctx;
};

/* --- sim.c --- */

/* Memory of `size` bytes with zeros, the network's until it is destroyed. */
void *transport_sim_chunk(struct transport_sim *sim, size_t size);
struct transport_sim_port *transport_sim_port_find(struct transport_sim *sim,
						   scoll_nid_t nid);
void transport_sim_mix(struct transport_sim *sim, uint64_t value);
void transport_sim_mix_bytes(struct transport_sim *sim, const void *bytes,
			     size_t size);

/* --- address.c --- */

/* The port that it reaches by that name; NULL: it does not know the address. */
struct transport_sim_port *transport_sim_peer(
	const struct transport_sim_port *port, scoll_nid_t nid);
void transport_sim_places_free(struct transport_sim_port *port);
int transport_sim_address_get(void *ctx, scoll_nid_t nid, void *ret_bytes,
			      size_t *size);
int transport_sim_address_learn(void *ctx, scoll_nid_t nid, const void *bytes,
				size_t size);

/* --- cost.c --- */

/* By its chance; counted when it happens. */
bool transport_sim_chance(struct transport_sim *sim,
			  enum transport_sim_fault fault);
void transport_sim_count(struct transport_sim *sim,
			 enum transport_sim_fault fault);
/* Up to held_ns. */
uint64_t transport_sim_held_ns(struct transport_sim *sim);
uint64_t transport_sim_latency_ns(struct transport_sim *sim,
				  const struct transport_sim_port *from,
				  const struct transport_sim_port *to);
/* Take the sender's time; when it leaves, at the earliest. */
uint64_t transport_sim_leave_ns(struct transport_sim_port *port, size_t size);
uint64_t transport_sim_bytes_ns(const struct transport_sim *sim, size_t size);
bool transport_sim_reaches(const struct transport_sim_port *from,
			   const struct transport_sim_port *to);

/* --- work.c --- */

/* NULL: -EAGAIN. */
struct medium_work *transport_sim_work_start(struct transport_sim_port *port,
					     enum medium_work_kind kind,
					     struct transfer *transfer);
/* Its end, at that moment. */
void transport_sim_work_end(struct medium_work *work, uint64_t at_ns,
			    int result, size_t size);
/* It is no more, without an end. */
void transport_sim_work_drop(struct medium_work *work);
int transport_sim_reply_post(void *ctx, scoll_nid_t from, uint64_t tag,
			     const struct iovec *pieces, int count,
			     struct transfer *transfer);
void transport_sim_cancel(void *ctx, struct transfer *transfer);
/* A reply for a member: is there a buffer for it? */
bool transport_sim_reply_match(struct transport_sim_port *port,
			       const struct packet *packet);

/* --- packet.c --- */

int transport_sim_send(void *ctx, scoll_nid_t to, const struct iovec *pieces,
		       int count, struct transfer *transfer);
int transport_sim_reply_send(void *ctx, scoll_nid_t to, uint64_t tag,
			     const struct iovec *pieces, int count,
			     struct transfer *transfer);
/* What was kept back is on its way. */
void transport_sim_packets_go(struct transport_sim *sim);
void transport_sim_packets_free(struct transport_sim *sim);

/* --- region.c --- */

int transport_sim_region_open(void *ctx, const struct iovec *pieces, int count,
			      struct region *ret_region,
			      struct remote_piece *ret_pieces);
void transport_sim_region_close(void *ctx, struct region *region);
void transport_sim_regions_close(struct transport_sim_port *port);
void transport_sim_disconnect(void *ctx, scoll_nid_t from);
/* A read that was answered is over. */
void transport_sim_answer_end(struct medium_work *work);
int transport_sim_read(void *ctx, scoll_nid_t from,
		       const struct remote_piece *remote, int remote_count,
		       uint64_t remote_offset, const struct region *region,
		       uint64_t local_offset, size_t size,
		       struct transfer *transfer);
