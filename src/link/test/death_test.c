/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers that are killed: what they owe ends with an error, and nobody waits. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>

#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define LARGE           (1 << 20)

static uint8_t out[LARGE], in[LARGE];

/* A message each way, so that there is a connection. */
static void get_to_know(struct pair *pair)
{
	pair_retry(pair, fi_tinject(pair->ep, "hello", 5, pair->peer, 1));
	pair_do(fi_trecv(pair->ep, in, 5, NULL, pair->peer, 1, 0, NULL));
	pair_wait(pair, pair->receive_cq, NULL);
	pair_meet(pair);
}

static void send_large(struct pair *pair, void *context)
{
	pair_fill(out, sizeof(out), 1);
	pair_retry(pair, fi_tsend(pair->ep, out, sizeof(out), NULL, pair->peer,
				  2, context));
}

static void what_the_dead_offered_is_a_failed_receive(struct pair *pair)
{
	get_to_know(pair);
	if (!pair->is_first) {
		send_large(pair, NULL);
		pair_meet(pair);
		pair_die(pair);
	}
	pair_peek(pair, 2);
	pair_meet(pair);
	pair_outlive(pair);
	pair_do(fi_trecv(pair->ep, in, sizeof(in), NULL, pair->peer, 2, 0, in));
	struct fi_cq_err_entry failure =
		pair_wait_failure(pair, pair->receive_cq);
	pair_check(failure.err == FI_ECONNABORTED);
	pair_check(failure.op_context == in && failure.tag == 2);
}

/* Over a fabric it is being read, since the sender does nothing for that. */
static void who_dies_while_it_is_read_fails_the_receive(struct pair *pair)
{
	get_to_know(pair);
	if (!pair->is_first) {
		send_large(pair, NULL);
		pair_meet(pair);
		pair_meet_blind(pair);
		pair_meet_blind(pair);
		pair_die(pair);
	}
	pair_peek(pair, 2);
	pair_meet(pair);
	pair_meet_blind(pair);
	pair_do(fi_trecv(pair->ep, in, sizeof(in), NULL, pair->peer, 2, 0, in));
	if (pair_is_local() && getenv("LINK_TEST_PUSHED") == NULL) {
		pair_wait(pair, pair->receive_cq, NULL);
		pair_check(pair_is_filled(in, sizeof(in), 1));
		pair_meet_blind(pair);
		pair_outlive(pair);
		return;
	}
	pair_is_quiet(pair, pair->receive_cq);
	pair_meet_blind(pair);
	struct fi_cq_err_entry failure =
		pair_wait_failure(pair, pair->receive_cq);
	pair_check(failure.err == FI_ECONNABORTED);
	pair_check(failure.op_context == in && failure.tag == 2);
	pair_outlive(pair);
}

static void what_the_dead_did_not_read_is_a_failed_send(struct pair *pair)
{
	struct iovec iov = { out, 8 };
	struct fi_msg_tagged msg = { .msg_iov = &iov,
				     .iov_count = 1,
				     .addr = pair->peer,
				     .tag = 3,
				     .context = in };

	get_to_know(pair);
	if (!pair->is_first) {
		pair_peek(pair, 2);
		pair_peek(pair, 3);
		pair_meet_blind(pair);
		pair_die(pair);
	}
	send_large(pair, out);
	pair_retry(pair, fi_tsendmsg(pair->ep, &msg,
				     FI_DELIVERY_COMPLETE | FI_COMPLETION));
	pair_meet(pair);
	struct fi_cq_err_entry one = pair_wait_failure(pair, pair->send_cq);
	struct fi_cq_err_entry two = pair_wait_failure(pair, pair->send_cq);
	pair_check(one.err == FI_ECONNABORTED && two.err == FI_ECONNABORTED);
	pair_check((one.op_context == out && two.op_context == in) ||
		   (one.op_context == in && two.op_context == out));
	pair_check(one.flags == (FI_SEND | FI_TAGGED));
	pair_outlive(pair);
}

/* Of a read, and an atomic operation. */
static void both_fail(struct pair *pair)
{
	struct fi_cq_err_entry one = pair_wait_failure(pair, pair->send_cq);
	struct fi_cq_err_entry two = pair_wait_failure(pair, pair->send_cq);

	pair_check(one.err == FI_ECONNABORTED && two.err == FI_ECONNABORTED);
	pair_check((one.op_context == out && two.op_context == in) ||
		   (one.op_context == in && two.op_context == out));
	pair_check((one.flags | two.flags) == (FI_RMA | FI_ATOMIC | FI_READ));
}

/* Where messages cannot be read, what the program itself reads can be. */
static void let_the_program_read(void)
{
	if (getenv("LINK_TEST_PUSHED") != NULL)
		unsetenv("TESTCORE_FAULTS");
}

/* Over TCP the core reads, and its connection ends. */
static void what_was_asked_of_the_dead_fails(struct pair *pair)
{
	struct fid_mr *mr;

	let_the_program_read();
	pair_do(fi_mr_reg(pair->domain, in, sizeof(in),
			  FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 5, 0, &mr,
			  NULL));
	get_to_know(pair);
	if (!pair->is_first) {
		pair_meet_blind(pair);
		pair_meet_blind(pair);
		pair_die(pair);
	}
	pair_meet_blind(pair);
	pair_retry(pair, fi_read(pair->ep, out, sizeof(out), NULL, pair->peer,
				 0, 5, out));
	pair_retry(pair,
		   fi_fetch_atomic(pair->ep, out, 1, NULL, in, NULL, pair->peer,
				   0, 5, FI_UINT64, FI_SUM, in));
	pair_is_quiet(pair, pair->send_cq);
	pair_meet_blind(pair);
	both_fail(pair);
	pair_outlive(pair);
	pair_do(fi_close(&mr->fid));
}

/* Whether there is a connection at all is the core's business. */
static void what_was_asked_of_who_was_never_met_fails(struct pair *pair)
{
	struct fi_cq_err_entry failure;
	long result;

	let_the_program_read();
	if (!pair->is_first)
		pair_die(pair);
	pair_outlive(pair);
	while ((result = fi_read(pair->ep, out, 8, NULL, pair->peer, 0, 5,
				 out)) == -FI_EAGAIN)
		pair_progress(pair);
	if (result != 0) {
		pair_check(result == -FI_EHOSTUNREACH);
		return;
	}
	failure = pair_wait_failure(pair, pair->send_cq);
	pair_check(failure.err == FI_ECONNABORTED);
	pair_check(failure.op_context == out);
}

/* What was sent before it died may have been lost, and says so, or not. */
static long send_until_refused(struct pair *pair, bool is_dead)
{
	unsigned int refused = 0;

	for (;;) {
		struct fi_cq_tagged_entry entry;
		struct fi_cq_err_entry failure = { 0 };
		long result = fi_tinject(pair->ep, out, 1000, pair->peer, 4);
		if (result != 0 && result != -FI_EAGAIN)
			return result;
		refused = result == 0 ? 0 : refused + 1;
		if (!is_dead && refused == 1000)
			return result;
		pair_progress(pair);
		if (fi_cq_read(pair->send_cq, &entry, 1) == -FI_EAVAIL) {
			pair_check(fi_cq_readerr(pair->send_cq, &failure, 0) ==
				   1);
			pair_check(is_dead && failure.err == FI_ECONNABORTED);
		}
	}
}

static void sends_to_the_dead_are_refused(struct pair *pair)
{
	struct fi_cq_err_entry failure = { 0 };

	get_to_know(pair);
	if (!pair->is_first) {
		pair_meet_blind(pair);
		pair_die(pair);
	}
	pair_check(send_until_refused(pair, false) == -FI_EAGAIN);
	pair_meet_blind(pair);
	pair_check(send_until_refused(pair, true) == -FI_EHOSTUNREACH);
	pair_check(fi_tsend(pair->ep, out, sizeof(out), NULL, pair->peer, 4,
			    NULL) == -FI_EHOSTUNREACH);
	pair_outlive(pair);
	while (fi_cq_readerr(pair->send_cq, &failure, 0) == 1)
		pair_check(failure.err == FI_ECONNABORTED);
}

static void who_is_buried_is_dead_too(struct pair *pair)
{
	int status;

	get_to_know(pair);
	if (!pair->is_first)
		pair_die(pair);
	pair_outlive(pair);
	pair_check(waitpid(pair->other, &status, 0) == pair->other);
	pair->other = 0;
	pair_check(send_until_refused(pair, true) == -FI_EHOSTUNREACH);
}

static void who_is_stopped_is_not_dead(struct pair *pair)
{
	get_to_know(pair);
	if (!pair->is_first) {
		kill(getpid(), SIGSTOP);
		pair_do(fi_trecv(pair->ep, in, sizeof(in), NULL, pair->peer, 2,
				 0, in));
		pair_wait(pair, pair->receive_cq, NULL);
		pair_check(pair_is_filled(in, sizeof(in), 1));
		pair_meet(pair);
		pair_die(pair);
	}
	pair_check(waitid(P_PID, (id_t)pair->other, &(siginfo_t){ 0 },
			  WSTOPPED | WNOWAIT) == 0);
	send_large(pair, out);
	for (unsigned int i = 0; i < 1000; i++)
		pair_is_quiet(pair, pair->send_cq);
	kill(pair->other, SIGCONT);
	struct fi_cq_tagged_entry entry = pair_wait(pair, pair->send_cq, NULL);
	pair_check(entry.op_context == out);
	pair_meet(pair);
	pair_outlive(pair);
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC |
			FI_DIRECTED_RECV | FI_SOURCE,
	};
	static const struct pair_case cases[] = {
		pair_case(what_the_dead_offered_is_a_failed_receive),
		pair_case(who_dies_while_it_is_read_fails_the_receive),
		pair_case(what_the_dead_did_not_read_is_a_failed_send),
		pair_case(what_was_asked_of_the_dead_fails),
		pair_case(what_was_asked_of_who_was_never_met_fails),
		pair_case(sends_to_the_dead_are_refused),
		pair_case(who_is_buried_is_dead_too),
		pair_case(who_is_stopped_is_not_dead),
	};
	return pair_run_mortal(&setting, cases, COUNT_OF(cases));
}
