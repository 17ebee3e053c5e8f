/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whose turn it is. A connection that has more frames than a turn is not read
 * and waits in a list; once in each round of the loop everybody in the list
 * gets a turn. One that is clogged is no part of the list: what was written to
 * it brings it back. A listener at which many connect at once waits likewise.
 * An idle handle keeps the loop going round as long as somebody waits.
 */
#include "sys/net_internal.h"

static void on_turns_closed(uv_handle_t *handle)
{
	struct net *net = handle->data;

	net->has_turns = false;
	net_released(net);
}

void net_turns_close(struct net *net)
{
	if (net->has_turns)
		uv_close((uv_handle_t *)&net->turns, on_turns_closed);
}

/* Who has to wait again waits for the next round. */
static void on_round(uv_idle_t *handle)
{
	struct net *net = handle->data;
	const struct connection *one;
	size_t count;

	uv_idle_stop(handle);
	if (net->has_crowd)
		net_listen_turn(net);
	DL_COUNT(net->waiting, one, count);
	for (; count > 0 && net->waiting != NULL; count--) {
		struct connection *connection = net->waiting;

		connection_wait_end(connection);
		connection_take(connection);
	}
	if (net->waiting != NULL || net->has_crowd)
		uv_idle_start(handle, on_round);
}

void net_turns_start(struct net *net)
{
	if (!net->has_turns) {
		uv_idle_init(net->loop, &net->turns);
		net->turns.data = net;
		net->has_turns = true;
	}
	uv_idle_start(&net->turns, on_round);
}

void connection_wait(struct connection *connection)
{
	struct net *net = connection->net;

	connection->is_clogged = connection_is_clogged(connection);
	if (connection->is_clogged)
		return;
	DL_APPEND(net->waiting, connection);
	connection->is_waiting = true;
	net_turns_start(net);
}

void connection_wait_end(struct connection *connection)
{
	if (connection->is_waiting)
		DL_DELETE(connection->net->waiting, connection);
	connection->is_waiting = false;
	connection->is_clogged = false;
}

bool connection_is_clogged(const struct connection *connection)
{
	size_t most = connection->net->options.clog_bytes;

	return most > 0 &&
	       uv_stream_get_write_queue_size(&connection->stream) > most;
}

void connection_flowed(struct connection *connection)
{
	if (connection->state == CONNECTION_OPEN && connection->is_clogged &&
	    !connection_is_clogged(connection))
		connection_wait(connection);
}
