/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traffic between the two nodes of a pair, and what it takes. Sockets are IPv4.
 */
#pragma once

#include <stdint.h>

/* Sockets of both nodes; either may be -1. */
struct ends {
	int sender, receiver;
};

/*
 * Connect them, of TCP, as the owner; the receiver's socket becomes the
 * accepted one.
 */
struct ends traffic_tcp(int sender, int receiver);
void traffic_close(struct ends *ends);

/*
 * Times of single packets of 64 bytes, sent and received by this thread; the
 * middle one, ns. UDP: one way, each time sent by the address at which the
 * receiver is bound. TCP: half of there and back.
 */
uint64_t traffic_udp_ns(const struct ends *ends, unsigned int count);
uint64_t traffic_tcp_ns(const struct ends *ends, unsigned int count);

/*
 * All flows (of TCP) at once, for so long, each with two processes; what has
 * come of each, Mbit/s. is_pinned: all senders on the first processor, all
 * receivers on the second one. The flows are over then: only closing is left.
 */
void traffic_flow(const struct ends *ends, unsigned int count,
		  unsigned int milliseconds, int is_pinned, double ret_mbit[]);

/* This process stays on that processor, or on the only one. */
void traffic_pin(int which);
