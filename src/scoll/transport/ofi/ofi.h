/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport seam over libfabric (1.17 or later): one FI_EP_RDM endpoint
 * with FI_MSG, FI_TAGGED and FI_RMA, its own domain, completion queue and
 * address vector. It works with tcp;ofi_rxm, net and shm, and with any other
 * provider of these capabilities; doc/rfc/collectives.md says what each lacks.
 *
 * It is also the address book: NIDs mean nothing to libfabric. A peer may be
 * set, changed and forgotten at any time; where the owner says nothing, it is
 * where a message said (address_learn of the seam). Transfers under way to an address
 * that is no more end with an error; what waited for a connection goes to the
 * new one.
 *
 * Nothing happens outside of the calls, and events come from
 * transport_ofi_progress() only. One thread at a time: the owner locks.
 *
 * A peer that cannot be reached: what the provider does not take within
 * TRANSPORT_OFI_CONNECT_NS ends with -EHOSTUNREACH. What it took and does not
 * finish within TRANSPORT_OFI_SEND_NS ends with -ETIMEDOUT, where the provider
 * lets a connection be closed.
 *
 * libfabric's own habits are not ours to change, but for one: its first call
 * reads the environment (FI_*), into which FI_OFI_RXM_CM_PROGRESS_INTERVAL is
 * put before it unless it is there. An endpoint of shm handles SIGBUS, SIGSEGV, SIGTERM
 * and SIGINT to remove its files, then hands the signal on to the handler that
 * was there.
 */
#pragma once

#include "base/error.h"
#include "base/seam.h"
#include "scoll/transport/transport.h"

#define TRANSPORT_OFI_CONNECT_NS  UINT64_C(5000000000)
#define TRANSPORT_OFI_SEND_NS     UINT64_C(30000000000)
#define TRANSPORT_OFI_OPS_MAX     65536 /* transfers under way */
#define TRANSPORT_OFI_READS_MAX   1024  /* of them, reads */
#define TRANSPORT_OFI_PENDING_MAX 1024  /* of them, of one peer, not sent yet */
#define TRANSPORT_OFI_PEERS_MAX   SCOLL_NODES_MAX
#define TRANSPORT_OFI_REGIONS_MAX 65536
#define TRANSPORT_OFI_ADDRESS_MAX 256 /* bytes */

struct transport_ofi;

enum transport_ofi_flag {
	/* As if the provider had no FI_MULTI_RECV. */
	TRANSPORT_OFI_PLAIN_RECEIVES = 1u << 0,
	/* As if it wanted all memory registered (FI_MR_LOCAL). */
	TRANSPORT_OFI_LOCAL_MEMORY = 1u << 1,
};

struct transport_ofi_options {
	const char *provider; /* NULL: the first that libfabric finds */
	const char *node;     /* NULL: it chooses */
	const char *service;  /* NULL: it chooses */
	struct rng_seam rng;  /* for keys of memory */
	unsigned flags;
};

struct transport_ofi_stats {
	uint64_t sent_count, sent_bytes; /* messages and replies */
	uint64_t received_count, received_bytes;
	uint64_t oversize_count;   /* messages too large, not delivered */
	uint64_t stale_count;      /* replies that nobody waited for, dropped */
	uint64_t failed_count;     /* transfers that ended with an error */
	uint64_t allocation_count; /* of memory, for transfers and regions */
	uint64_t waiting_count;    /* now: not taken by libfabric yet */
};

/*
 * -ENODATA (no such provider, or none that has it all), -EINVAL, -EADDRINUSE,
 * -ENOMEM, ..., with the text of what failed.
 */
int transport_ofi_open(const struct transport_ofi_options *options,
		       struct transport_ofi **ret_transport,
		       struct fairlead_error *ret_error);
/*
 * Leave the network: all that is under way ends now, from inside, and nothing
 * is started any more (-ESHUTDOWN).
 */
void transport_ofi_stop(struct transport_ofi *transport);
/* Close it, with whatever is under way; no event comes any more. */
void transport_ofi_close(struct transport_ofi *transport);
/* Who takes the events; to be said before the first progress. */
void transport_ofi_listen(struct transport_ofi *transport,
			  const struct transport_events *events, void *ctx);
struct transport_seam transport_ofi_seam(struct transport_ofi *transport);

/* Whatever has come and is due. How many events there were. */
int transport_ofi_progress(struct transport_ofi *transport, uint64_t now_ns);
/* Readable when there may be something to do. The transport's. */
int transport_ofi_fd(struct transport_ofi *transport);
/*
 * When to call progress at the latest, if the descriptor shows nothing; 0:
 * now. To be asked just before each wait.
 */
uint64_t transport_ofi_deadline_ns(struct transport_ofi *transport);

/* Our address, for peers. -ENOSPC: *size is what is needed; -ESHUTDOWN. */
int transport_ofi_address(struct transport_ofi *transport, void *ret_address,
			  size_t *size);

/*
 * Say where a peer is; size 0: forget it. -EINVAL: no address of this
 * provider; -ENOSPC; -ENOMEM; -ENOENT: nothing to forget.
 */
int transport_ofi_peer_set(struct transport_ofi *transport, scoll_nid_t nid,
			   const void *address, size_t size);
/*
 * An address from text; *size: of ret_address, then of what was written. May
 * take long, as it may ask a name server, and be called while another thread is
 * inside the transport.
 */
int transport_ofi_resolve(const struct transport_ofi *transport,
			  const char *node, const char *service,
			  void *ret_address, size_t *size,
			  struct fairlead_error *ret_error);
/*
 * It died, or was born again at the same address: let go of the old one. Of a
 * peer that is alive it only breaks a connection. -ENOENT.
 */
int transport_ofi_peer_refresh(struct transport_ofi *transport,
			       scoll_nid_t nid);

void transport_ofi_stats(const struct transport_ofi *transport,
			 struct transport_ofi_stats *ret_stats);
