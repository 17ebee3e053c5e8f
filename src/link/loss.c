/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers that have died. Cores do not report it: the shared memory of a killed
 * process stays, and sends over TCP wait for a connection that is retried for
 * ever. So a peer that has not answered for long, or receives nothing, is
 * checked: a process of this node by its pid and start time, others by a
 * connection to the port of their core, or by a frame if the core reports what
 * became of it. A process that is stopped, or computes, is not lost.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "link/loss.h"
#include "link/av.h"
#include "link/clock.h"
#include "link/flow.h"
#include "link/matched.h"
#include "link/pending.h"
#include "link/presence.h"
#include "link/reach.h"
#include "link/rendezvous.h"
#include "link/rma.h"
#include "link/send.h"
#include "link/slots.h"
#include "link/unlisted.h"

#define LOCAL_NS      UINT64_C(20000000)
#define FABRIC_NS     UINT64_C(200000000)
#define FABRIC_MAX_NS UINT64_C(8000000000)
/*
 * What its kernel has still sent is there by then: a core that has not ended
 * what it puts into the program's memory waits for what does not come.
 */
#define LEFT_NS UINT64_C(2000000000)

void loss_forget(struct rail *rail, const struct peer *peer)
{
	struct loss *loss = &rail->loss;

	if (loss->refused == peer)
		loss->refused = NULL;
	if (loss->last == peer)
		loss->last = NULL;
	if (loss->probed != peer)
		return;
	loss->probed = NULL;
	close(loss->probe);
	loss->probe = -1;
}

void loss_end(struct rail *rail, struct peer *peer)
{
	loss_forget(rail, peer);
	peer_set_lost(peer);
	peer->knows_us = false;
	pending_drop(rail, peer, LOSS_ERROR);
	send_drop_of(rail, peer->number, LOSS_ERROR);
	reading_drop_of(rail, peer->number, LOSS_ERROR);
	asks_drop_of(rail, peer->number, LOSS_ERROR);
	if (rail->way == RAIL_MATCHED)
		passed_drop_of(rail, peer->number, LOSS_ERROR);
}

/*
 * The same may be said by its other rails, or not; and others may have ended
 * with it.
 */
static void lose_way(struct rail *rail, struct peer *peer)
{
	const struct flows *flows = rail->ep->flows;

	if (!flow_refused(peer->flow, rail))
		return;
	for (unsigned int i = 0; i < flows->count; i++) {
		struct loss *loss = &fabric_rail(rail->ep, i)->loss;
		loss->patience_ns = FABRIC_NS;
		loss->look_at_ns = 0;
	}
}

static void lose(struct rail *rail, struct peer *peer)
{
	if (peer->flow != NULL) {
		lose_way(rail, peer);
		return;
	}
	link_warn(EP_DATA, "a peer has ended: requests from and to it "
			   "fail\n");
	loss_end(rail, peer);
}

void loss_reported(struct rail *rail, struct peer *peer)
{
	unsigned int first = has_local(rail->ep) ? 1 : 0;

	if (!peer->is_lost && rail->ep->rail_count - first == 1)
		lose(rail, peer);
}

/* --- the next peer to probe --- */

static void ask(struct peer *peer, struct peer **list)
{
	if (peer == NULL || peer->is_lost || peer->is_checked)
		return;
	peer->is_checked = true;
	peer->next_checked = *list;
	*list = peer;
}

/* Its core has not said so. */
static void end_left(struct rail *rail, const struct peer *peer)
{
	if (clock_now_ns() - peer->lost_ns < LEFT_NS)
		return;
	reading_leave_of(rail, peer->number, LOSS_ERROR);
	accesses_leave_of(rail, peer->number, LOSS_ERROR);
	if (rail->way == RAIL_MATCHED)
		claims_leave_of(rail, peer->number, LOSS_ERROR);
}

static void ask_number(struct rail *rail, uint64_t number, void *arg)
{
	struct peer *peer = ep_peer_by_number(rail, number);

	if (peer != NULL && peer->is_lost)
		end_left(rail, peer);
	else
		ask(peer, arg);
}

static struct peer *who_is_waited_for(struct rail *rail)
{
	struct peer *list = NULL;

	send_each_old(rail, ask_number, &list);
	reading_each_old(rail, ask_number, &list);
	asks_each_old(rail, ask_number, &list);
	accesses_each_old(rail, ask_number, &list);
	if (rail->way == RAIL_MATCHED) {
		passed_each_old(rail, ask_number, &list);
		claims_each_old(rail, ask_number, &list);
	}
	if (has_flows(rail))
		flows_each_silent(rail, ask_number, &list);
	for (struct slab *slab = rail->pending; slab != NULL;
	     slab = slab->next_peer) {
		if (slab->was_seen)
			ask(slab->peer, &list);
		slab->was_seen = true;
	}
	ask(rail->loss.refused, &list);
	rail->loss.refused = NULL;
	for (struct peer *peer = list; peer != NULL; peer = peer->next_checked)
		peer->is_checked = false;
	return list;
}

/* --- by a connection --- */

/* Of others the address is none that a socket could connect to. */
static bool is_tcp(const struct rail *rail)
{
	const char *name = rail->text->provider;

	return strncmp(name, "tcp", 3) == 0 || strcmp(name, "net") == 0 ||
	       strcmp(name, "sockets") == 0;
}

/*
 * The node answers, and nobody listens there. All else passes: a cable or a
 * route that is down for now, or a queue of who computes, and accepts nobody
 * meanwhile.
 */
static bool is_refused(int error)
{
	return error == ECONNREFUSED;
}

static void probe_start(struct rail *rail, struct peer *peer)
{
	struct loss *loss = &rail->loss;
	struct sockaddr_storage to;
	size_t size = sizeof(to);
	int fd, error = 0;

	loss->last = peer;
	if (peer->cores[rail->index] == FI_ADDR_NOTAVAIL ||
	    fi_av_lookup(rail->av, peer->cores[rail->index], &to, &size) != 0)
		return;
	fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
		    0);
	if (fd < 0)
		return;
	if (connect(fd, (struct sockaddr *)&to, (socklen_t)size) != 0)
		error = errno;
	if (error == EINPROGRESS) {
		loss->probe = fd;
		loss->probed = peer;
		return;
	}
	if (is_refused(error))
		lose(rail, peer);
	close(fd);
}

/* Other cores tell what becomes of a frame: one that says nothing. */
static void frame_probe(struct rail *rail, struct peer *peer)
{
	struct link_frame frame = { .kind = FRAME_FORGET,
				    .sender = rail->ep->number,
				    .key = LINK_KEY_OF_OURS };

	rail->loss.last = peer;
	if (ep_peer(rail->ep, av_find(rail->ep->av, peer->number)) == peer)
		rail_send_frame(rail, peer, &frame, NULL, 0, NULL, false);
}

/* Whether there is one that goes on. */
static bool probe_goes_on(struct rail *rail)
{
	struct loss *loss = &rail->loss;
	struct pollfd probe = { .fd = loss->probe, .events = POLLOUT };
	struct peer *peer = loss->probed;
	int error = 0;
	socklen_t size = sizeof(error);

	if (loss->probe < 0)
		return false;
	if (poll(&probe, 1, 0) == 0)
		return true;
	getsockopt(loss->probe, SOL_SOCKET, SO_ERROR, &error, &size);
	close(loss->probe);
	loss->probe = -1;
	loss->probed = NULL;
	if (is_refused(error))
		lose(rail, peer);
	return false;
}

/* One at a time, each in its turn: who comes after the last one. */
static struct peer *turn(const struct loss *loss, struct peer *list)
{
	for (struct peer *peer = list; peer != NULL; peer = peer->next_checked)
		if (peer == loss->last && peer->next_checked != NULL)
			return peer->next_checked;
	return list;
}

/* --- the look --- */

static bool is_waiting(struct rail *rail)
{
	const struct flows *flows = rail->ep->flows;

	return rail->expected > 0 || rail->pending != NULL ||
	       rail_answering(rail)->issued != NULL ||
	       rail->matched.asking != NULL ||
	       (flows != NULL && rail->way == RAIL_FRAMED &&
		(flows->busy != NULL || flows->expected > 0)) ||
	       peek_at(rail->work) != NULL || rail->loss.refused != NULL;
}

static void look_local(struct rail *rail)
{
	struct peer *next, *list = who_is_waited_for(rail);

	for (struct peer *peer = list; peer != NULL; peer = next) {
		next = peer->next_checked;
		if (!presence_is_alive(&peer->process))
			lose(rail, peer);
	}
}

static void look_fabric(struct rail *rail)
{
	struct peer *list;

	if (probe_goes_on(rail))
		return;
	list = who_is_waited_for(rail);
	if (list != NULL && is_tcp(rail))
		probe_start(rail, turn(&rail->loss, list));
	else if (list != NULL)
		frame_probe(rail, turn(&rail->loss, list));
}

void loss_look(struct rail *rail)
{
	struct loss *loss = &rail->loss;
	bool is_local = rail->way == RAIL_SHARED;
	uint64_t first = is_local ? LOCAL_NS : FABRIC_NS, now;

	if (is_local)
		slots_look(rail);
	if (!is_waiting(rail)) {
		loss->patience_ns = 0;
		return;
	}
	now = clock_now_ns();
	if (loss->patience_ns == 0) {
		loss->patience_ns = first;
		loss->look_at_ns = now + first;
	}
	if (loss->probe >= 0)
		probe_goes_on(rail);
	if (now < loss->look_at_ns)
		return;
	loss->look_at_ns = now + loss->patience_ns;
	if (!is_local && loss->patience_ns < FABRIC_MAX_NS)
		loss->patience_ns *= 2;
	if (is_local)
		look_local(rail);
	else
		look_fabric(rail);
}
