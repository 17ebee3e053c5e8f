/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a packet to the model and back, without any socket: what the daemon
 * does with a request, and what the fuzzer feeds.
 */
#pragma once

#include "base/bytes.h"
#include "base/error.h"
#include "emu/cxi/core/softnic.h"
#include "emu/cxi/wire/wire.h"

#define BOOT_ID_SIZE 37 /* bytes of a UUID's text, with its zero */

/* What control commands do outside of the model. */
struct control_ops {
	/* The NIC was removed or came back. */
	int (*nic_changed)(void *ctx, uint32_t nic);
	/* Reboot the node; the text of the new boot id. */
	int (*reboot)(void *ctx, char ret_boot_id[BOOT_ID_SIZE]);
	/* The text of the boot id. */
	const char *(*boot_id)(void *ctx);
};

/* One connection. */
struct softnic_session {
	struct softnic *softnic;
	struct softnic_caller caller;
	bool is_owner;                 /* may use control commands */
	struct softnic_client *client; /* the NIC it has open, or NULL */
	const struct control_ops *control;
	void *control_ctx;
};

/* Its LNIs go into cleanup. */
void session_fini(struct softnic_session *session);

/* What is to be sent back. */
struct softnic_answer {
	enum wire_op op;
	int result;
	struct writer body;
};

void answer_fini(struct softnic_answer *answer);
/* Is its body a text, which goes into a file instead of the packet. */
bool answer_is_text(const struct softnic_answer *answer);
/* The packet. Errors: writer's. */
void answer_encode(const struct softnic_answer *answer, struct writer *writer);

/*
 * Do what the packet asks and fill in a zeroed answer. The model's time has
 * been advanced. -EPROTO, -EPROTONOSUPPORT: the packet is no request; the
 * answer says so and the connection is to be closed after it.
 */
int dispatch(struct softnic_session *session, const void *packet, size_t size,
	     struct softnic_answer *ret_answer);

/*
 * Do a control command, "verb key=value ...". Text for the user goes into
 * body on success and into ret_error on failure.
 */
int control_run(struct softnic_session *session, const char *command,
		struct writer *body, struct fairlead_error *ret_error);
