/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The half of the daemon without privileges: a member of the collectives, which
 * clients of this node connect to. It cannot read credentials, and has the
 * launcher run the commands.
 */
#pragma once

#include <scoll.h>
#include <uv.h>

#include "base/log.h"
#include "config.h"
#include "run.h"
#include "sys/daemon_loop.h"
#include "sys/net.h"

struct front {
	const struct exec_config *config;
	const struct log *log;
	struct daemon_loop loop;
	scoll_t *scoll;
	struct scoll_authenticator *auth;
	struct net *net;
	struct runs *runs;
	struct exec_client *clients;
	struct exec_ask *asks;
	struct exec_job *jobs;
	uv_poll_t scoll_poll;
	uv_timer_t scoll_timer, tick;
	uv_prepare_t prepare;
	uv_check_t check;
	int exit_code;
};

struct front_options {
	const struct exec_config *config;
	const struct log *log;
	int launcher_fd;    /* taken over */
	const uint8_t *key; /* 32 bytes, of all members */
};

/* Opens the socket, before privileges are dropped. */
int front_open(struct front *front, const struct front_options *options,
	       struct fairlead_error *ret_error);
/* Until SIGTERM or SIGINT: 0. -EPIPE: the launcher ended. */
int front_run(struct front *front, const struct front_options *options,
	      struct fairlead_error *ret_error);
