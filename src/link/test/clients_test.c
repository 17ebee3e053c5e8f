/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A server, and clients that come one after the other: far more than shared
 * memory takes at a time. Each asks, is answered, and closes, or is killed. The
 * server finds them in its address vector, or knows none of them.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link/test/lone.h"

#define SKIP          77
#define CLIENTS       1000
#define CLIENTS_SHORT (SLOTS + 4)
#define SLOTS         256 /* what shared memory takes */
#define MANY          (SLOTS + 2)
#define TAG           7

static fi_addr_t insert(struct lone *side, const uint8_t *name)
{
	fi_addr_t address;

	pair_check(fi_av_insert(side->av, name, 1, &address, 0, NULL) == 1);
	return address;
}

static void say(struct lone *side, const void *bytes, size_t size, fi_addr_t to)
{
	ssize_t result;

	while ((result = fi_tsend(side->ep, bytes, size, NULL, to, TAG,
				  NULL)) == -FI_EAGAIN)
		(void)fi_cq_read(side->cq, NULL, 0);
	pair_do(result);
	pair_check((lone_wait(side, NULL).flags & FI_SEND) != 0);
}

static fi_addr_t hear(struct lone *side, void *bytes, size_t size)
{
	fi_addr_t source = FI_ADDR_UNSPEC;

	pair_do(fi_trecv(side->ep, bytes, size, NULL, FI_ADDR_UNSPEC, TAG, 0,
			 NULL));
	pair_check((lone_wait(side, &source).flags & FI_RECV) != 0);
	return source;
}

/* --- clients --- */

struct question {
	unsigned int index;
	bool is_last;
	uint8_t name[64];
};

static bool is_only(void)
{
	return strcmp(getenv("FI_FAIRLEAD_LINKS"), "shm") == 0;
}

static void ask_at(struct lone *client, fi_addr_t to, unsigned int index,
		   bool is_last)
{
	struct question question = { .index = index, .is_last = is_last };
	unsigned int answer = 0;

	memcpy(question.name, client->name, sizeof(question.name));
	say(client, &question, sizeof(question), to);
	hear(client, &answer, sizeof(answer));
	pair_check(answer == index + 1);
}

static void ask(struct lone *client, const uint8_t *server, unsigned int index,
		bool is_last)
{
	lone_endpoint_open(client);
	ask_at(client, insert(client, server), index, is_last);
}

/* Every one is killed: so it is a process of its own. */
static void be_mortals(struct lone *client, const uint8_t *server,
		       unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		int status;
		pid_t child = fork();
		pair_check(child >= 0);
		if (child == 0) {
			lone_domain_open(client);
			ask(client, server, i, i == count - 1);
			kill(getpid(), SIGKILL);
		}
		pair_check(waitpid(child, &status, 0) == child);
		pair_check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
}

static void be_clients(struct lone *client, const uint8_t *server,
		       unsigned int count)
{
	lone_domain_open(client);
	for (unsigned int i = 0; i < count; i++) {
		ask(client, server, i, i == count - 1);
		lone_endpoint_close(client);
	}
	lone_domain_close(client);
}

/*
 * All are there at once; where they have no other way than shared memory, not
 * all.
 */
static void be_many(struct lone *client, const uint8_t *server,
		    unsigned int count)
{
	struct lone *clients = calloc(count, sizeof(*clients));

	lone_domain_open(client);
	for (unsigned int i = 0; i < count; i++) {
		fi_addr_t to;
		clients[i] = *client;
		lone_endpoint_open(&clients[i]);
		if (fi_av_insert(clients[i].av, server, 1, &to, 0, NULL) != 1) {
			struct lone *first = &clients[i - SLOTS];
			pair_check(is_only() && i >= SLOTS);
			lone_endpoint_close(first);
			first->ep = NULL;
			/* The server gives its slot back some time. */
			while (fi_av_insert(clients[i].av, server, 1, &to, 0,
					    NULL) != 1)
				sched_yield();
		}
		ask_at(&clients[i], to, i, i == count - 1);
	}
	pair_check((clients[0].ep == NULL) == is_only());
	for (unsigned int i = 0; i < count; i++)
		if (clients[i].ep != NULL)
			lone_endpoint_close(&clients[i]);
	lone_domain_close(client);
	free(clients);
}

/* --- the server --- */

/* It knows each for as long as it answers. */
static void serve(struct lone *server)
{
	struct question question = { 0 };

	for (unsigned int i = 0; !question.is_last; i++) {
		fi_addr_t source = hear(server, &question, sizeof(question)),
			  client = insert(server, question.name);
		const unsigned int answer = question.index + 1;

		pair_check(source == FI_ADDR_NOTAVAIL);
		pair_check(question.index == i);
		say(server, &answer, sizeof(answer), client);
		pair_do(fi_av_remove(server->av, &client, 1, 0));
	}
}

static void run(struct lone *server, unsigned int count,
		void (*be)(struct lone *client, const uint8_t *server,
			   unsigned int count))
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	pair_check(child >= 0);
	if (child == 0) {
		struct lone client = { .info = fi_dupinfo(server->info) };
		be(&client, server->name, count);
		exit(0);
	}
	serve(server);
	pair_check(waitpid(child, &status, 0) == child);
	pair_check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* All but some have been answered by shared memory. */
static void close_and_look(struct lone *server, unsigned long long count,
			   unsigned long long others)
{
	static char text[1 << 16];
	int before = dup(STDERR_FILENO), said = memfd_create("said", 0);

	pair_check(before >= 0 && said >= 0 && dup2(said, STDERR_FILENO) >= 0);
	lone_endpoint_close(server);
	dup2(before, STDERR_FILENO);
	pair_check(pread(said, text, sizeof(text) - 1, 0) > 0);
	printf("%llu answers by shared memory, %llu by the fabric\n",
	       pair_messages_by(text, true), pair_messages_by(text, false));
	pair_check(pair_messages_by(text, true) == count - others);
	pair_check(pair_messages_by(text, false) == others);
}

/* Of each kind of those that come one after the other. */
static unsigned int count_of_clients(void)
{
	const char *length = getenv("FAIRLEAD_TEST");

	if (length == NULL || strcmp(length, "short") != 0)
		return CLIENTS;
	return is_only() ? CLIENTS_SHORT : 0;
}

int main(void)
{
	struct lone server = { 0 };
	unsigned int count = count_of_clients();

	setenv("FI_LOG_LEVEL", "info", 1);
	setenv("FI_LOG_PROV", "fairlead", 1);
	setenv("FI_LOG_SUBSYS", "ep_ctrl", 1);
	server.info = lone_info(FI_TAGGED | FI_SOURCE | FI_DIRECTED_RECV,
				FI_THREAD_DOMAIN);
	if (server.info == NULL) {
		printf("skipped: no link \"%s\" here\n",
		       getenv("FI_FAIRLEAD_LINKS"));
		return SKIP;
	}
	lone_domain_open(&server);
	lone_endpoint_open(&server);
	if (count > 0) {
		printf("who closes, and is removed\n");
		run(&server, count, be_clients);
		printf("who is killed, and is removed\n");
		run(&server, count, be_mortals);
	}
	/* The last ones are given back. */
	for (unsigned int i = 0; i < 1000; i++)
		(void)fi_cq_read(server.cq, NULL, 0);
	printf("more at once than it takes\n");
	run(&server, MANY, be_many);
	close_and_look(&server, 2 * count + MANY, is_only() ? 0 : MANY - SLOTS);
	lone_domain_close(&server);
	return 0;
}
