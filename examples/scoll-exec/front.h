/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The half of the daemon without privileges: a member of the collectives, and
 * where clients of this node connect. It cannot read credentials; what it is
 * told to have run it hands to the launcher.
 */
#pragma once

#include <scoll.h>
#include <uv.h>

#include "base/log.h"
#include "config.h"
#include "run.h"
#include "sys/net.h"

struct front {
	const struct exec_config *config;
	const struct log *log;
	uv_loop_t *loop;
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
	uv_signal_t signals[2];
	int exit_code;
};

struct front_options {
	const struct exec_config *config;
	const struct log *log;
	int launcher_fd;    /* taken over */
	const uint8_t *key; /* 32 bytes, of all members */
};

/* In two steps: the socket is made while we may still do that. */
int front_open(struct front *front, const struct front_options *options,
	       struct fairlead_error *ret_error);
/* Until SIGTERM or SIGINT: 0, or -EPIPE: the launcher is gone. */
int front_run(struct front *front, const struct front_options *options,
	      struct fairlead_error *ret_error);
