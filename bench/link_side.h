/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One of the two that the benchmark `link` compares: a provider's endpoint in
 * each of two processes, and the loops that are timed. Both sides run the same
 * loops with the same options; only the provider is another.
 *
 * A side is called by the core's name, or by "fairlead=" and its links. What
 * fails ends the program.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct side;

/*
 * In both processes; they exchange addresses over `fd`. `is_napping`: who waits
 * sleeps between two looks, so that processors are not busy with waiting.
 * `is_reachable`: memory is there for side_access().
 */
struct side *side_open(const char *name, bool is_first, int fd,
		       size_t message_max, bool is_napping, bool is_reachable);
void side_close(struct side *side);

/*
 * Messages there and back, in both processes. Returns ns for one of `count`
 * rounds, one way.
 */
double side_latency(struct side *side, size_t size, unsigned int count);
/*
 * Messages from the first to the second, a window under way, each window
 * answered. Returns ns for one of `count` windows' messages.
 */
#define SIDE_WINDOW 64
double side_stream(struct side *side, size_t size, unsigned int window,
		   unsigned int count);
/*
 * Reads or writes of the second's memory by the first, a window under way.
 * Returns ns for one of `count` windows' accesses.
 */
double side_access(struct side *side, bool is_read, size_t size,
		   unsigned int window, unsigned int count);
/*
 * Receives that nothing will match, or messages that nobody expects, in both
 * processes. Returns how many there was room for.
 */
unsigned int side_post(struct side *side, unsigned int count);
unsigned int side_leave(struct side *side, unsigned int count);
/* Inserts as many addresses of peers that there are not; bytes for each. */
double side_know(struct side *side, unsigned int count);
