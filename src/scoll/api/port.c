/* SPDX-License-Identifier: BSD-3-Clause */
/* Gossip's messages: one buffer each, from a fixed number. */
#include "scoll/api/port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/cleanup.h"

#define MESSAGES_MAX  256 /* under way; what is more is lost, as gossip may be */
#define MESSAGE_BYTES (GOSSIP_MESSAGE_SIZE_MAX + SCOLL_SEAL_MAX)

struct port_message {
	struct transfer transfer;  /* first */
	struct port_message *next; /* while free */
	uint8_t bytes[MESSAGE_BYTES];
};

struct scoll_port {
	struct transport transport;
	struct roster *roster;
	struct gossip *gossip;
	struct port_options options;
	struct port_message *messages;
	struct port_message *free;
	uint64_t refused_count;
};

static int message_send(void *ctx, uint64_t nid, const void *bytes, size_t size)
{
	struct scoll_port *port = ctx;
	const struct scoll_authenticator *auth = port->options.authenticator;
	struct transport_seam seam = transport_seam_of(&port->transport);
	struct port_message *message = port->free;
	struct iovec piece;
	int result;

	if (message == NULL)
		return -ENOBUFS;
	memcpy(message->bytes, bytes, size);
	if (auth != NULL) {
		auth->seal(auth->ctx, nid, bytes, size, message->bytes + size);
		size += auth->seal_size;
	}
	piece = (struct iovec){ message->bytes, size };
	result = seam.ops->send(seam.ctx, nid, &piece, 1, &message->transfer);
	if (result == 0)
		LL_DELETE(port->free, message);
	return result;
}

/* 0: the sender that it names has sealed it. */
static int message_verify(struct scoll_port *port, const uint8_t *bytes,
			  size_t *size)
{
	const struct scoll_authenticator *auth = port->options.authenticator;
	uint64_t from;
	int result;

	if (auth == NULL)
		return 0;
	if (*size <= auth->seal_size)
		return -EBADMSG;
	*size -= auth->seal_size;
	result = gossip_sender(bytes, *size, &from);
	if (result < 0)
		return result;
	return auth->verify(auth->ctx, from, bytes, *size, bytes + *size);
}

static void received(void *ctx, uint64_t now_ns, const void *bytes, size_t size)
{
	struct scoll_port *port = ctx;
	struct transport_seam seam = transport_seam_of(&port->transport);
	uint64_t from;

	if (message_verify(port, bytes, &size) < 0 ||
	    gossip_receive(port->gossip, now_ns, bytes, size) < 0)
		port->refused_count++;
	else if (seam.ops->sent_by != NULL &&
		 gossip_sender(bytes, size, &from) == 0)
		seam.ops->sent_by(seam.ctx, from);
}

static void done(void *ctx, uint64_t now_ns, struct transfer *transfer,
		 int result, size_t size)
{
	struct scoll_port *port = ctx;
	struct port_message *message = (struct port_message *)(void *)transfer;

	LL_PREPEND(port->free, message);
}

static const struct transport_events events = {
	.received = received,
	.done = done,
};

/* Since 1970: higher in each start of the cluster than in those before. */
static uint64_t cycle_by_the_clock(const struct port_options *options)
{
	uint64_t cycle_ns =
		options->cycle_ns > 0 ? options->cycle_ns : GOSSIP_CYCLE_NS;

	return clock_wall_us(&options->clock) * 1000 / cycle_ns;
}

static int gossip_start(struct scoll_port *port, uint64_t now_ns)
{
	static const struct gossip_ops ops = { .send = message_send };
	struct gossip_options options = {
		.nid = port->options.nid,
		.boot_nonce = rng_u64(&port->options.rng),
		.cycle_ns = port->options.cycle_ns,
		.first_cycle = cycle_by_the_clock(&port->options),
		.ops = &ops,
		.ctx = port,
		.rng = port->options.rng,
	};
	int result = roster_create(port->options.members,
				   port->options.member_count, &port->roster);

	if (result < 0)
		return result;
	options.roster = port->roster;
	return gossip_create(&options, now_ns, &port->gossip);
}

int port_service(const char *service, char ret_text[PORT_SERVICE_MAX])
{
	unsigned long number;
	int size;

	if (service[strspn(service, "0123456789")] != '\0') {
		size = snprintf(ret_text, PORT_SERVICE_MAX, "%s-gossip",
				service);
	} else {
		number = strtoul(service, NULL, 10);
		if (number == 0 || number >= 65535)
			return -EINVAL;
		size = snprintf(ret_text, PORT_SERVICE_MAX, "%lu", number + 1);
	}
	return size < PORT_SERVICE_MAX ? 0 : -EINVAL;
}

int port_open(const struct port_options *options, uint64_t now_ns,
	      struct scoll_port **ret_port, struct fairlead_error *ret_error)
{
	struct scoll_port *port = calloc(1, sizeof(*port));
	int result;

	if (port != NULL)
		port->messages = calloc(MESSAGES_MAX, sizeof(*port->messages));
	if (port == NULL || port->messages == NULL) {
		port_close(port);
		return error_set(ret_error, -ENOMEM, "out of memory");
	}
	port->options = *options;
	for (int i = 0; i < MESSAGES_MAX; i++)
		LL_PREPEND(port->free, &port->messages[i]);
	result = transport_open(&options->transport, &port->transport,
				ret_error);
	if (result == 0) {
		port->transport.kind->listen(port->transport.ctx, &events,
					     port);
		result = gossip_start(port, now_ns);
		if (result == -EINVAL || result == -EEXIST)
			error_set(
				ret_error, result,
				result == -EINVAL
					? "nid is not in gossip_members"
					: "a node is twice in gossip_members");
		else if (result < 0)
			error_set(ret_error, result, "cannot gossip: %s",
				  strerror(-result));
	}
	if (result < 0) {
		port_close(port);
		return result;
	}
	*ret_port = port;
	return 0;
}

void port_close(struct scoll_port *port)
{
	if (port == NULL)
		return;
	transport_close(&port->transport);
	gossip_destroy(port->gossip);
	roster_destroy(port->roster);
	free(port->messages);
	free(port);
}

void port_leave(struct scoll_port *port, uint64_t now_ns)
{
	gossip_leave(port->gossip, now_ns);
}

struct discovery *port_discovery(struct scoll_port *port)
{
	return gossip_discovery(port->gossip);
}

const struct transport *port_transport(const struct scoll_port *port)
{
	return port != NULL ? &port->transport : NULL;
}

void port_run(struct scoll_port *port, uint64_t now_ns)
{
	port->transport.kind->progress(port->transport.ctx, now_ns);
	if (gossip_deadline_ns(port->gossip) <= now_ns)
		gossip_run(port->gossip, now_ns);
}

uint64_t port_due_ns(struct scoll_port *port)
{
	uint64_t transport_ns =
		port->transport.kind->deadline_ns(port->transport.ctx);
	uint64_t gossip_ns = gossip_deadline_ns(port->gossip);

	return transport_ns < gossip_ns ? transport_ns : gossip_ns;
}

uint64_t port_refused_count(const struct scoll_port *port)
{
	return port->refused_count;
}
