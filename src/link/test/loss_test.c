/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection checks whether a peer that has to answer is there: only
 * that nobody listens says that it is not. How the connection ends is decided
 * here, in the place of the C library.
 */
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define LARGE           (1 << 20)

static uint8_t out[LARGE], in[LARGE];
static const int *answers; /* to who connects, or NULL: as it is */
static unsigned int answer_count, asked;

int connect(int fd, const struct sockaddr *to, socklen_t size)
	__attribute__((visibility("default")));

/* What errno is when all went well says nothing. */
int connect(int fd, const struct sockaddr *to, socklen_t size)
{
	int error;

	if (answers == NULL || asked >= answer_count)
		return (int)syscall(SYS_connect, fd, to, size);
	error = answers[asked++];
	errno = error == 0 ? ECONNREFUSED : error;
	return error == 0 ? 0 : -1;
}

static void get_to_know(struct pair *pair)
{
	pair_retry(pair, fi_tinject(pair->ep, "hello", 5, pair->peer, 1));
	pair_do(fi_trecv(pair->ep, in, 5, NULL, pair->peer, 1, 0, NULL));
	pair_wait(pair, pair->receive_cq, NULL);
	pair_meet(pair);
}

static void take_after_a_stop(struct pair *pair)
{
	kill(getpid(), SIGSTOP);
	pair_do(fi_trecv(pair->ep, in, sizeof(in), NULL, pair->peer, 2, 0, in));
	pair_wait(pair, pair->receive_cq, NULL);
	pair_check(pair_is_filled(in, sizeof(in), 1));
	pair_meet(pair);
	pair_die(pair);
}

static void send_to_who_is_stopped(struct pair *pair)
{
	pair_check(waitid(P_PID, (id_t)pair->other, &(siginfo_t){ 0 },
			  WSTOPPED | WNOWAIT) == 0);
	pair_fill(out, sizeof(out), 1);
	pair_retry(pair, fi_tsend(pair->ep, out, sizeof(out), NULL, pair->peer,
				  2, out));
}

static void who_is_not_reached_for_now_is_not_lost(struct pair *pair)
{
	static const int errors[] = { EHOSTUNREACH, ETIMEDOUT, 0 };

	get_to_know(pair);
	if (!pair->is_first)
		take_after_a_stop(pair);
	answer_count = COUNT_OF(errors);
	answers = errors;
	send_to_who_is_stopped(pair);
	while (asked < answer_count)
		pair_is_quiet(pair, pair->send_cq);
	kill(pair->other, SIGCONT);
	pair_check(pair_wait(pair, pair->send_cq, NULL).op_context == out);
	pair_meet(pair);
	pair_outlive(pair);
}

static void who_refuses_is_lost(struct pair *pair)
{
	static const int errors[] = { ENETUNREACH, ECONNREFUSED };

	get_to_know(pair);
	if (!pair->is_first)
		take_after_a_stop(pair);
	answer_count = COUNT_OF(errors);
	answers = errors;
	send_to_who_is_stopped(pair);
	struct fi_cq_err_entry failure = pair_wait_failure(pair, pair->send_cq);
	pair_check(failure.err == FI_ECONNABORTED);
	pair_check(failure.op_context == out && asked == 2);
	kill(pair->other, SIGKILL);
	pair_outlive(pair);
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE,
	};
	static const struct pair_case cases[] = {
		pair_case(who_is_not_reached_for_now_is_not_lost),
		pair_case(who_refuses_is_lost),
	};
	return pair_run_mortal(&setting, cases, COUNT_OF(cases));
}
