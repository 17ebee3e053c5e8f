/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two rails of a core that fails on request: an error that says nothing of the
 * way to a peer does not take a rail out of use.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/fi_rma.h>

#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define LARGE           (2 << 20)
#define SMALL           200

static uint8_t out[LARGE], in[LARGE];

/* --- what is said to people meanwhile --- */

static int errors_before, said;

static void listen_begin(void)
{
	fflush(stderr);
	errors_before = dup(STDERR_FILENO);
	said = memfd_create("said", MFD_CLOEXEC);
	pair_check(errors_before >= 0 && said >= 0);
	pair_check(dup2(said, STDERR_FILENO) >= 0);
}

static bool has_said(const char *what)
{
	static char text[1 << 16];
	ssize_t size;

	fflush(stderr);
	dup2(errors_before, STDERR_FILENO);
	close(errors_before);
	size = pread(said, text, sizeof(text) - 1, 0);
	close(said);
	pair_check(size >= 0);
	text[size] = '\0';
	fputs(text, stderr);
	return strstr(text, what) != NULL;
}

static bool fails_a_rail(struct pair *pair, const char *faults,
			 void (*run)(struct pair *pair))
{
	bool has_failed;

	pair_meet(pair);
	listen_begin();
	setenv("TESTCORE_FAULTS", faults, 1);
	run(pair);
	unsetenv("TESTCORE_FAULTS");
	has_failed = has_said("does not lead to a peer any more");
	pair_meet(pair);
	return has_failed;
}

/* --- what goes on --- */

static void small_go(struct pair *pair)
{
	for (unsigned int i = 0; i < SMALL; i++) {
		pair_fill(out, 100, i);
		memset(in, 0, 100);
		pair_do(fi_trecv(pair->ep, in, 100, NULL, pair->peer, i, 0,
				 NULL));
		pair_retry(pair, fi_tsend(pair->ep, out, 100, NULL, pair->peer,
					  i, NULL));
		pair_wait(pair, pair->receive_cq, NULL);
		pair_wait(pair, pair->send_cq, NULL);
		pair_check(pair_is_filled(in, 100, i));
	}
}

static void large_go(struct pair *pair)
{
	for (unsigned int i = 0; i < 4; i++) {
		if (pair->is_first) {
			pair_fill(out, LARGE, i);
			pair_retry(pair, fi_tsend(pair->ep, out, LARGE, NULL,
						  pair->peer, i, NULL));
			pair_wait(pair, pair->send_cq, NULL);
			continue;
		}
		memset(in, 0, LARGE);
		pair_do(fi_trecv(pair->ep, in, LARGE, NULL, pair->peer, i, 0,
				 NULL));
		pair_wait(pair, pair->receive_cq, NULL);
		pair_check(pair_is_filled(in, LARGE, i));
	}
}

static void reach_what_is_not_there(struct pair *pair)
{
	for (unsigned int i = 0; i < 4 && pair->is_first; i++) {
		pair_retry(pair, fi_read(pair->ep, in, LARGE, NULL, pair->peer,
					 0, 77, NULL));
		pair_wait_failure(pair, pair->send_cq);
		pair_retry(pair, fi_write(pair->ep, in, LARGE, NULL, pair->peer,
					  0, 77, NULL));
		pair_wait_failure(pair, pair->send_cq);
	}
}

/* --- cases --- */

static void no_memory_for_a_frame_is_no_failed_rail(struct pair *pair)
{
	pair_check(!fails_a_rail(pair, "send:*3:enomem", small_go));
}

static void no_memory_for_a_read_is_no_failed_rail(struct pair *pair)
{
	pair_check(!fails_a_rail(pair, "read:*3:enomem", large_go));
}

static void a_key_that_is_refused_is_no_failed_rail(struct pair *pair)
{
	pair_check(!fails_a_rail(pair, "serve:*3:eacces", large_go));
}

static void memory_that_is_none_is_no_failed_rail(struct pair *pair)
{
	pair_check(!fails_a_rail(pair, "", reach_what_is_not_there));
}

/* After the second one nothing is read any more. */
static void what_no_rail_can_read_comes_in_pieces(struct pair *pair)
{
	(void)fails_a_rail(pair, "read:*1:eio", large_go);
}

static void what_can_be_read_again_is_read(struct pair *pair)
{
	(void)fails_a_rail(pair, "read:*5:eio", large_go);
}

static void a_way_that_is_none_is_a_failed_rail(struct pair *pair)
{
	pair_check(fails_a_rail(pair, "send:20:ehostunreach", small_go));
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE |
			FI_RMA,
	};
	static const struct pair_case cases[] = {
		pair_case(no_memory_for_a_frame_is_no_failed_rail),
		pair_case(no_memory_for_a_read_is_no_failed_rail),
		pair_case(a_key_that_is_refused_is_no_failed_rail),
		pair_case(memory_that_is_none_is_no_failed_rail),
		pair_case(a_way_that_is_none_is_a_failed_rail),
		pair_case(what_can_be_read_again_is_read),
		pair_case(what_no_rail_can_read_comes_in_pieces),
	};
	return pair_run(&setting, cases, COUNT_OF(cases));
}
