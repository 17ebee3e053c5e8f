/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fairlead_fd() is watched by two watchers, since those of Flux cannot change
 * for what they watch: one is always started, the other while the library has
 * something to send.
 */
#include "lanes/plugin/flux/link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE_S     0.1
#define PAUSE_S_MAX 5.0

struct flux_link {
	flux_reactor_t *reactor;
	void (*on_ready)(void *arg);
	void *arg;
	char manager[256];
	struct fairlead *handle; /* NULL: not connected */
	flux_watcher_t *in;
	flux_watcher_t *out;
	flux_watcher_t *timer; /* until the next connection, or call */
	double pause_s;
	bool is_pausing;
	bool is_up;
	bool is_ending;
	char trouble[FAIRLEAD_ERROR_TEXT_MAX];
};

static void disconnect(struct flux_link *link)
{
	struct fairlead *handle = link->handle;

	link->handle = NULL;
	link->is_up = false;
	flux_watcher_destroy(link->in);
	flux_watcher_destroy(link->out);
	link->in = link->out = NULL;
	fairlead_close(handle);
}

/* on_ready, once, after a pause; the next one is longer. */
static void pause_then(struct flux_link *link, double pause_s)
{
	if (link->is_pausing || link->is_ending)
		return;
	link->is_pausing = true;
	flux_timer_watcher_reset(link->timer, pause_s, 0.);
	flux_watcher_start(link->timer);
}

static void fail(struct flux_link *link, const char *why)
{
	snprintf(link->trouble, sizeof(link->trouble), "%s", why);
	/* First, since who loses an answer now would ask again at once. */
	pause_then(link, link->pause_s);
	disconnect(link);
	link->pause_s = link->pause_s * 2 < PAUSE_S_MAX ? link->pause_s * 2
							: PAUSE_S_MAX;
}

static void on_timer(flux_reactor_t *reactor, flux_watcher_t *watcher,
		     int events, void *arg)
{
	struct flux_link *link = arg;

	link->is_pausing = false;
	link->on_ready(link->arg);
}

static void watch(struct flux_link *link)
{
	if (!link->handle)
		return;
	if (fairlead_events(link->handle) & POLLOUT)
		flux_watcher_start(link->out);
	else
		flux_watcher_stop(link->out);
}

static void on_event(flux_reactor_t *reactor, flux_watcher_t *watcher,
		     int events, void *arg)
{
	struct flux_link *link = arg;
	int result = fairlead_process(link->handle);

	if (result < 0) {
		char why[128];

		snprintf(why, sizeof(why),
			 "the connection to the manager is lost: %s",
			 strerror(-result));
		fail(link, why);
		return;
	}
	if (result > 0) {
		link->is_up = true;
		link->pause_s = PAUSE_S;
		link->trouble[0] = '\0';
		link->on_ready(link->arg);
	}
	watch(link);
}

static int connect_manager(struct flux_link *link)
{
	struct fairlead_error error = { 0 };
	int result = fairlead_open(*link->manager ? link->manager : NULL,
				   &link->handle, &error);

	if (result < 0) {
		link->handle = NULL;
		fail(link, error.text);
		return -EAGAIN;
	}
	link->in =
		flux_fd_watcher_create(link->reactor, fairlead_fd(link->handle),
				       FLUX_POLLIN | FLUX_POLLERR, on_event,
				       link);
	link->out =
		flux_fd_watcher_create(link->reactor, fairlead_fd(link->handle),
				       FLUX_POLLOUT, on_event, link);
	if (!link->in || !link->out) {
		fail(link, "out of memory");
		return -EAGAIN;
	}
	flux_watcher_start(link->in);
	return 0;
}

int link_ask(struct flux_link *link, const char *op, json_t *members,
	     fairlead_answer_fn *fn, void *arg)
{
	struct fairlead_error error = { 0 };
	char *text = json_dumps(members, JSON_COMPACT);
	int result = 0;

	json_decref(members);
	if (!text)
		return -ENOMEM;
	if (!link->handle)
		result = link->is_pausing ? -EAGAIN : connect_manager(link);
	if (result == 0) {
		result = fairlead_call_start(link->handle, op, text, fn, arg,
					     &error);
		/* As many as there can be are open: their answers say when. */
		if (result < 0 && result != -EAGAIN && result != -ENOMEM &&
		    result != -EMSGSIZE) {
			fail(link, error.text);
			result = -EAGAIN;
		}
	}
	free(text);
	watch(link);
	return result;
}

void link_reset(struct flux_link *link, const char *why)
{
	if (link->handle)
		fail(link, why);
}

int link_set_manager(struct flux_link *link, const char *manager)
{
	if (strlen(manager) >= sizeof(link->manager))
		return -ENAMETOOLONG;
	if (strcmp(link->manager, manager) == 0)
		return 0;
	strcpy(link->manager, manager);
	link->pause_s = PAUSE_S;
	link_reset(link, "another manager was configured");
	return 0;
}

bool link_is_up(const struct flux_link *link)
{
	return link->is_up;
}

const char *link_manager(const struct flux_link *link)
{
	return link->manager;
}

const char *link_trouble(const struct flux_link *link)
{
	return link->trouble;
}

struct flux_link *link_create(flux_t *h, void (*on_ready)(void *arg), void *arg)
{
	struct flux_link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	link->reactor = flux_get_reactor(h);
	link->on_ready = on_ready;
	link->arg = arg;
	link->pause_s = PAUSE_S;
	link->timer = flux_timer_watcher_create(link->reactor, 0., 0., on_timer,
						link);
	if (!link->timer) {
		free(link);
		return NULL;
	}
	return link;
}

void link_destroy(struct flux_link *link)
{
	if (!link)
		return;
	link->is_ending = true;
	disconnect(link);
	flux_watcher_destroy(link->timer);
	free(link);
}
