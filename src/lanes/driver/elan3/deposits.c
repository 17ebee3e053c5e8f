/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What fairlead-rms says, for the other files of the node half, with texts. A
 * call that is broken off by the daemon's end is an error here: whoever asked
 * asks again, and finds what was done.
 */
#include "lanes/driver/elan3/node.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

#define HOLDERS_NAMED_MAX 8 /* processes in a text */

void elan3_rails_format(uint32_t rails, char text[ELAN3_RAILS_TEXT_MAX])
{
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < ELAN3_RAILS_MAX; i++) {
		if (rails >> i & 1)
			used += (size_t)snprintf(text + used,
						 ELAN3_RAILS_TEXT_MAX - used,
						 "%selan%d", used ? "+" : "",
						 i);
	}
}

int elan3_fail(const struct elan3_node *node, int result,
	       struct fairlead_error *ret_error, const char *format, ...)
{
	char what[128];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	switch (result) {
	case -ENOENT:
	case -ECONNREFUSED:
		return error_set(ret_error, -EIO,
				 "%s: fairlead-rms does not run in %s (start "
				 "fairlead-rms.service)",
				 what, node->dir);
	case -EPROTO:
	case -EPROTONOSUPPORT:
		return error_set(ret_error, -EIO,
				 "%s: fairlead-rms in %s is of another version "
				 "(restart fairlead-rms.service)",
				 what, node->dir);
	case -EIO:
		return error_set(ret_error, -EIO,
				 "%s: fairlead-rms in %s ended meanwhile, or "
				 "cannot save (its log says why)",
				 what, node->dir);
	case -ENOMEM:
		return error_set(ret_error, -ENOMEM,
				 "%s: fairlead-rms has no capacity for it",
				 what);
	case -EACCES:
		return error_set(ret_error, -EACCES, "%s: it is root's to ask",
				 what);
	default:
		return error_set(ret_error, -EIO, "%s: %s", what,
				 strerror(-result));
	}
}

int elan3_rails_read(const struct elan3_node *node,
		     struct rms_client_rails *ret_rails,
		     struct fairlead_error *ret_error)
{
	int result = rms_client_rails(node->dir, ret_rails);

	if (result < 0)
		return elan3_fail(node, result, ret_error,
				  "cannot list the rails");
	return 0;
}

/* -ENOENT can mean that, too: 0, or a negative errno with the text. */
static int daemon_check(const struct elan3_node *node, const char *what,
			struct fairlead_error *ret_error)
{
	bool is_sure;
	int result = rms_client_version(node->dir, &is_sure);

	return result < 0 ? elan3_fail(node, result, ret_error, "%s", what) : 0;
}

int elan3_deposit_next(const struct elan3_node *node,
		       struct rms_client_deposit *deposit,
		       struct fairlead_error *ret_error)
{
	int result =
		rms_client_deposit_next(node->dir, deposit->number, deposit);

	if (result == 0)
		return 1;
	if (result == -ENOENT)
		return daemon_check(node, "cannot list the capabilities",
				    ret_error);
	return elan3_fail(node, result, ret_error,
			  "cannot list the capabilities");
}

bool elan3_deposit_is_of(const struct rms_client_deposit *deposit,
			 const struct fairlead_lane *lane)
{
	return lane->id_count == ELAN3_ID_COUNT && deposit->uid == lane->uid &&
	       deposit->grant_id == lane->ids[ELAN3_ID_PROGRAM] &&
	       (uint32_t)deposit->cap.cap_lowcontext ==
		       lane->ids[ELAN3_ID_FIRST] &&
	       (uint32_t)deposit->cap.cap_highcontext ==
		       lane->ids[ELAN3_ID_LAST];
}

static void holder_add(pid_t pid, char *text, size_t capacity)
{
	size_t used = strlen(text);
	char comm[64] = "";
	char path[32];
	_auto_(closep) int fd = -1;
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? 0 : read(fd, comm, sizeof(comm) - 1);
	comm[size > 0 ? size : 0] = '\0';
	comm[strcspn(comm, "\n")] = '\0';
	text_clean(comm);
	snprintf(text + used, capacity - used, "%spid %d (%s)",
		 used ? ", " : "", (int)pid, comm);
}

int elan3_deposit_take(const struct elan3_node *node,
		       const struct rms_client_deposit *deposit,
		       bool is_dry_run, struct fairlead_error *ret_error)
{
	pid_t pids[HOLDERS_NAMED_MAX] = { 0 };
	char rails[ELAN3_RAILS_TEXT_MAX];
	char holders[512] = "";
	char more[32] = "";
	size_t count = 0;
	int result = rms_client_take(node->dir, deposit->number, is_dry_run,
				     pids, HOLDERS_NAMED_MAX, &count);

	elan3_rails_format(deposit->cap.cap_railmask, rails);
	if (result == -ENOENT)
		return daemon_check(node, "cannot take back a capability",
				    ret_error);
	if (result < 0 && result != -EBUSY)
		return elan3_fail(node, result, ret_error,
				  "%s: cannot take back capability %u", rails,
				  (uint32_t)deposit->number);
	if (result == 0)
		return 0;
	for (size_t i = 0; i < count && i < HOLDERS_NAMED_MAX; i++)
		holder_add(pids[i], holders, sizeof(holders));
	if (count > HOLDERS_NAMED_MAX)
		snprintf(more, sizeof(more), " and %zu more",
			 count - HOLDERS_NAMED_MAX);
	return error_set(ret_error, -EBUSY,
			 "%s: capability %u (program %u, contexts %d-%d) is "
			 "held by %s%s",
			 rails, (uint32_t)deposit->number,
			 (uint32_t)deposit->grant_id,
			 deposit->cap.cap_lowcontext,
			 deposit->cap.cap_highcontext, holders, more);
}
