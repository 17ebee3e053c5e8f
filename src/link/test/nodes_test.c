/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A peer on this node and one on another, at once: the first process has the one by
 * shared memory, and the second, in a network of its own, by two fabric rails. Both
 * get messages, and have their memory written, read and counted in.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>

#include "link/test/cables.h"
#include "link/test/lone.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define CAPS \
	(FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE | FI_RMA | FI_ATOMIC)
#define COUNT     12 /* messages of a round, to each of the two */
#define LARGE     1000000
#define ADDS      50
#define KEY       77
#define CONTROL   UINT64_C(1000) /* a tag */
#define TURNS_MAX 1000

static const size_t sizes[] = { 8, 3000, LARGE, 0, 20000 };

/* What of a peer's memory the first one reaches. */
struct memory {
	uint8_t written[LARGE];
	uint64_t count;
};

static struct memory memory;
static int local[2]; /* between the first process and that beside it */
static pid_t beside;
static int
	said[3]; /* by the first process, the other node's, and the neighbour */

/* --- one who answers --- */

struct answerer {
	struct fid_domain *domain;
	struct fid_ep *ep;
	struct fid_cq *send_cq, *receive_cq;
	fi_addr_t peer;
};

static void progress(const struct answerer *who)
{
	(void)fi_cq_read(who->send_cq, NULL, 0);
	(void)fi_cq_read(who->receive_cq, NULL, 0);
}

static void one_ends(const struct answerer *who, struct fid_cq *cq)
{
	struct fi_cq_tagged_entry entry;
	ssize_t got;

	while ((got = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
		progress(who);
	pair_check(got == 1);
}

/* Each message is sent back, until there is to be no further round. */
static void answer(const struct answerer *who)
{
	static uint8_t bytes[LARGE];
	struct fid_mr *mr;
	char goes_on = 1;

	pair_do(fi_mr_reg(who->domain, &memory, sizeof(memory),
			  FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr,
			  NULL));
	while (goes_on) {
		for (unsigned int i = 0; i < COUNT; i++) {
			size_t size = sizes[i % COUNT_OF(sizes)];
			ssize_t result;
			pair_do(fi_trecv(who->ep, bytes, size, NULL, who->peer,
					 i, 0, NULL));
			one_ends(who, who->receive_cq);
			while ((result = fi_tsend(who->ep, bytes, size, NULL,
						  who->peer, i, NULL)) ==
			       -FI_EAGAIN)
				progress(who);
			pair_do(result);
			one_ends(who, who->send_cq);
		}
		pair_do(fi_trecv(who->ep, &goes_on, 1, NULL, who->peer, CONTROL,
				 0, NULL));
		one_ends(who, who->receive_cq);
	}
	pair_do(fi_close(&mr->fid));
}

/* The third process, beside the first. */
static void answer_beside(void)
{
	struct lone lone = { .info = lone_info(CAPS, FI_THREAD_DOMAIN) };
	uint8_t name[sizeof(lone.name)];
	struct answerer who;

	pair_check(lone.info != NULL);
	lone_domain_open(&lone);
	lone_endpoint_open(&lone);
	pair_check(write(local[1], lone.name, sizeof(name)) == sizeof(name));
	pair_check(read(local[1], name, sizeof(name)) == sizeof(name));
	who = (struct answerer){ lone.domain, lone.ep, lone.cq, lone.cq, 0 };
	pair_check(fi_av_insert(lone.av, name, 1, &who.peer, 0, NULL) == 1);
	answer(&who);
	lone_endpoint_close(&lone);
	lone_domain_close(&lone);
	exit(0);
}

/* Made when the network is there, and before anybody uses libfabric. */
static bool prepare(struct pair *pair)
{
	if (!cables_make(pair, 2))
		return false;
	if (pair->is_first) {
		pair_check(socketpair(AF_UNIX, SOCK_STREAM, 0, local) == 0);
		beside = fork();
		pair_check(beside >= 0);
		if (beside == 0) {
			pair_check(dup2(said[2], STDERR_FILENO) >= 0);
			answer_beside();
		}
	}
	pair_check(dup2(said[!pair->is_first], STDERR_FILENO) >= 0);
	return true;
}

/* --- the first one --- */

static uint8_t out[COUNT][LARGE], in[2][COUNT][LARGE];
static fi_addr_t peers[2]; /* on this node, and on the other */

static void the_neighbour_is_known(struct pair *pair)
{
	uint8_t name[64] = { 0 };
	size_t size = sizeof(name);

	if (!pair->is_first)
		return;
	pair_do(fi_getname(&pair->ep->fid, name, &size));
	pair_check(write(local[0], name, sizeof(name)) == sizeof(name));
	pair_check(read(local[0], name, sizeof(name)) == sizeof(name));
	pair_check(fi_av_insert(pair->av, name, 1, &peers[0], 0, NULL) == 1);
	peers[1] = pair->peer;
	for (unsigned int i = 0; i < COUNT; i++)
		pair_fill(out[i], LARGE, i);
}

static void messages_begin(struct pair *pair)
{
	memset(in, 0, sizeof(in));
	for (unsigned int i = 0; i < COUNT; i++)
		for (unsigned int p = 0; p < 2; p++) {
			size_t size = sizes[i % COUNT_OF(sizes)];
			pair_do(fi_trecv(pair->ep, in[p][i], LARGE, NULL,
					 peers[p], i, 0, in[p][i]));
			pair_retry(pair, fi_tsend(pair->ep, out[i], size, NULL,
						  peers[p], i, NULL));
		}
}

static uint8_t back[2][LARGE];
static uint64_t one = 1, counts[2][ADDS];

/* Those of one peer between those of the other. */
static void accesses_begin(struct pair *pair, unsigned int seed)
{
	static uint8_t data[LARGE];

	pair_fill(data, LARGE, seed);
	for (unsigned int p = 0; p < 2; p++)
		pair_retry(pair, fi_write(pair->ep, data, LARGE, NULL, peers[p],
					  0, KEY, NULL));
	for (unsigned int i = 0; i < ADDS; i++)
		for (unsigned int p = 0; p < 2; p++)
			pair_retry(pair, fi_fetch_atomic(
						 pair->ep, &one, 1, NULL,
						 &counts[p][i], NULL, peers[p],
						 offsetof(struct memory, count),
						 KEY, FI_UINT64, FI_SUM, NULL));
}

static void messages_are_back(struct pair *pair)
{
	for (unsigned int n = 0; n < 2 * COUNT; n++) {
		fi_addr_t source = FI_ADDR_NOTAVAIL;
		struct fi_cq_tagged_entry entry =
			pair_wait(pair, pair->receive_cq, &source);
		size_t at = (size_t)((uint8_t *)entry.op_context - in[0][0]);
		unsigned int p = at / sizeof(in[0]) != 0, i = entry.tag;
		pair_check(source == peers[p]);
		pair_check(i < COUNT && entry.op_context == in[p][i]);
		pair_check(entry.len == sizes[i % COUNT_OF(sizes)]);
		pair_check(pair_is_filled(in[p][i], entry.len, i));
	}
}

static void memory_is_as_it_was_written(struct pair *pair, unsigned int seed)
{
	static uint64_t added;

	for (unsigned int p = 0; p < 2; p++)
		pair_retry(pair, fi_read(pair->ep, back[p], LARGE, NULL,
					 peers[p], 0, KEY, NULL));
	for (unsigned int n = 0; n < 2; n++)
		pair_wait(pair, pair->send_cq, NULL);
	for (unsigned int i = 0; i < ADDS; i++, added++)
		for (unsigned int p = 0; p < 2; p++)
			pair_check(counts[p][i] == added);
	for (unsigned int p = 0; p < 2; p++)
		pair_check(pair_is_filled(back[p], LARGE, seed));
}

static void tell(struct pair *pair, char goes_on)
{
	for (unsigned int p = 0; p < 2; p++)
		pair_retry(pair, fi_tinject(pair->ep, &goes_on, 1, peers[p],
					    CONTROL));
}

/* Until each cable has had a good part: a busy machine may take one for silent. */
static void all_goes_to_both_at_once(struct pair *pair)
{
	bool goes_on = true;

	if (!pair->is_first) {
		const struct answerer who = { pair->domain, pair->ep,
					      pair->send_cq, pair->receive_cq,
					      pair->peer };
		answer(&who);
		return;
	}
	for (unsigned int turn = 0; goes_on; turn++) {
		uint64_t before[2] = { cable_bytes(0), cable_bytes(1) };
		pair_check(turn < TURNS_MAX);
		messages_begin(pair);
		accesses_begin(pair, turn);
		messages_are_back(pair);
		for (unsigned int n = 0; n < 2 * (COUNT + 1 + ADDS); n++)
			pair_wait(pair, pair->send_cq, NULL);
		memory_is_as_it_was_written(pair, turn);
		goes_on = cable_bytes(0) - before[0] < LARGE / 2 ||
			  cable_bytes(1) - before[1] < LARGE / 2;
		tell(pair, goes_on);
	}
	int status = 0;
	while (waitpid(beside, &status, WNOHANG) == 0)
		pair_progress(pair);
	pair_check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	pair_do(fi_av_remove(pair->av, &peers[0], 1, 0));
}

/* --- what went by which rail, as is said when an endpoint is closed --- */

static const char *text_of(unsigned int process)
{
	static char text[1 << 16];
	ssize_t got = pread(said[process], text, sizeof(text) - 1, 0);

	pair_check(got >= 0);
	text[got] = '\0';
	return text;
}

static bool is_as_it_must_be(void)
{
	unsigned long long shared = pair_messages_by(text_of(0), true),
			   other = pair_messages_by(text_of(0), false),
			   strange = pair_messages_by(text_of(1), true) +
				     pair_messages_by(text_of(2), false);

	printf("%llu messages by shared memory, %llu by the fabric; the others "
	       "%llu in a way that does not lead to the first\n",
	       shared, other, strange);
	return shared >= COUNT && other >= COUNT && strange == 0;
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = CAPS,
		.threading = FI_THREAD_DOMAIN,
		.prepare = prepare,
	};
	static const struct pair_case cases[] = {
		pair_case(the_neighbour_is_known),
		pair_case(all_goes_to_both_at_once),
	};
	int result, error = dup(STDERR_FILENO);

	setenv("FI_LOG_LEVEL", "info", 1);
	setenv("FI_LOG_PROV", "fairlead", 1);
	/* What other tests say of the interface is not true here. */
	unsetenv("FI_TCP_IFACE");
	unsetenv("FI_NET_IFACE");
	for (unsigned int i = 0; i < COUNT_OF(said); i++)
		said[i] = memfd_create("said", 0);
	result = pair_run(&setting, cases, COUNT_OF(cases));
	pair_check(dup2(error, STDERR_FILENO) >= 0);
	if (result == 0 && !is_as_it_must_be())
		result = 1;
	for (unsigned int i = 0; i < COUNT_OF(said) && result == 1; i++)
		fputs(text_of(i), stderr);
	return result;
}
