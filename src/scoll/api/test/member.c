/* SPDX-License-Identifier: BSD-3-Clause */
/* Members and their commands. */
#include "scoll/api/test/member.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "scoll/api/test/clock.h"

#define NOBODY 65534

static void die(const char *what)
{
	perror(what);
	abort();
}

/* --- a forger's authenticator --- */

static void forge(void *ctx, scoll_nid_t to, const void *bytes, size_t count,
		  uint8_t *ret_seal)
{
	memset(ret_seal, 0x5a, 16);
}

static int believe(void *ctx, scoll_nid_t from, const void *bytes, size_t count,
		   const uint8_t *seal)
{
	return 0;
}

/* --- the member --- */

struct life {
	struct person person;
	scoll_nid_t peers[CROWD_MAX];
	int peer_count;
	unsigned news[CROWD_MAX]; /* of a node: bits of enum scoll_liveness */
};

static void on_peer(struct life *life, char *words)
{
	uint8_t address[MEMBER_ADDRESS_MAX];
	char hex[2 * MEMBER_ADDRESS_MAX + 1];
	uint64_t nid;

	if (sscanf(words, "%" SCNu64 " %1200s", &nid, hex) != 2)
		die(words);
	if (scoll_peer_address(life->person.scoll, nid, address,
			       child_hex_read(hex, address, sizeof(address))) <
	    0)
		die("scoll_peer_address");
	if (life->peer_count < CROWD_MAX)
		life->peers[life->peer_count++] = nid;
	printf("ok\n");
}

static void created(int status, scoll_group_t *group, const void *private)
{
	*(scoll_group_t **)private = group;
}

static void on_attack(struct life *life)
{
	static const scoll_tag_t tag = { "tag" };
	static struct outcome outcome;
	struct scoll_stats before = { .size = sizeof(before) };
	struct scoll_stats stats = { .size = sizeof(stats) };
	scoll_target_t targets[CROWD_MAX + 1];
	scoll_group_t *group = NULL;
	scoll_request_t *request;

	targets[0] = (scoll_target_t){ life->person.nid, &tag, 1 };
	for (int i = 0; i < life->peer_count; i++)
		targets[i + 1] = (scoll_target_t){ life->peers[i], &tag, 1 };
	if (scoll_group_create(life->person.scoll, CROWD_SERVICE, "evil",
			       targets, life->peer_count + 1, SCOLL_TREE_FLAT,
			       false, created, &group) < 0)
		die("scoll_group_create");
	request = crowd_request(&life->person, group, "evil", 4, NULL, 0, 0,
				&outcome);
	scoll_stats(life->person.scoll, &before);
	if (request == NULL || scoll_bcast_send(request) < 0)
		die("scoll_bcast_send");
	/* A child that it was not sent to would not get the abort. */
	do {
		scoll_wait(life->person.scoll, 1000000);
		scoll_stats(life->person.scoll, &stats);
	} while (stats.messages_sent <
		 before.messages_sent + (uint64_t)life->peer_count);
	for (int i = 0; i < 100; i++)
		scoll_wait(life->person.scoll, 1000000);
	scoll_bcast_abort(request);
	while (!outcome.is_done)
		scoll_wait(life->person.scoll, 1000000);
	printf("ok %d %d\n", outcome.status, outcome.error_count);
}

static void notified(void *ctx, scoll_nid_t nid, enum scoll_liveness news)
{
	struct life *life = ctx;

	life->news[nid - crowd_nid(0)] |= 1u << news;
}

static void on_settle(struct life *life, int index, uint32_t deaths)
{
	scoll_t *scoll = life->person.scoll;
	scoll_nid_t nid = crowd_nid(index);

	while (scoll_is_stealthy(scoll) ||
	       scoll_peer_query(scoll, nid) != SCOLL_ALIVE ||
	       scoll_peer_deaths(scoll, nid) < deaths)
		scoll_wait(scoll, 100000000);
	if (scoll_progress(scoll) < 0) /* the last news */
		die("scoll_progress");
	printf("ok %" PRIu32 " %u\n", scoll_peer_deaths(scoll, nid),
	       life->news[index]);
}

static void command(struct life *life, char *line)
{
	struct scoll_stats stats = { .size = sizeof(stats) };
	uint32_t deaths;
	int index, seconds;

	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, "peer ", 5) == 0) {
		on_peer(life, line + 5);
	} else if (strcmp(line, "count") == 0) {
		scoll_stats(life->person.scoll, &stats);
		printf("ok %d %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		       life->person.request_count, stats.messages_refused,
		       stats.groups, stats.requests_active);
	} else if (strcmp(line, "replies") == 0) {
		printf("ok %d\n", life->person.reply_count);
	} else if (sscanf(line, "skip %d", &seconds) == 1) {
		clock_skip(seconds);
		printf("ok\n");
	} else if (strncmp(line, "mute ", 5) == 0) {
		life->person.is_mute = line[5] == '1';
		printf("ok\n");
	} else if (strcmp(line, "attack") == 0) {
		on_attack(life);
	} else if (sscanf(line, "settle %d %" SCNu32, &index, &deaths) == 2) {
		on_settle(life, index, deaths);
	} else {
		die(line);
	}
}

static void wait_for_line(struct life *life)
{
	struct pollfd fds[] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = scoll_fd(life->person.scoll), .events = POLLIN },
	};

	for (;;) {
		scoll_duration_t wait = scoll_timeout(life->person.scoll);

		poll(fds, 2, wait < 0 ? -1 : (int)((wait + 999999) / 1000000));
		if (fds[0].revents != 0)
			return;
		if (scoll_progress(life->person.scoll) < 0)
			die("scoll_progress");
	}
}

/* Its part of the network is there when a line has come. */
static void apart(const char *host)
{
	char line[CHILD_ANSWER_MAX], command[128];

	if (unshare(CLONE_NEWNET) != 0)
		die("unshare");
	printf("ok\n");
	if (fgets(line, sizeof(line), stdin) == NULL)
		exit(0);
	snprintf(command, sizeof(command),
		 "ip addr add %s/24 dev e0 && ip link set e0 up && "
		 "ip link set lo up",
		 host);
	if (system(command) != 0)
		die(command);
}

static void test_arguments(int argc, char **argv, const char **ret_provider)
{
	if (argc > 1)
		*ret_provider = argv[1];
	if (argc > 2)
		cmocka_set_test_filter(argv[2]);
}

int member_main(int argc, char **argv, const char **ret_provider)
{
	static struct life life;
	static const struct scoll_authenticator forger = {
		.size = sizeof(forger),
		.seal_size = 16,
		.seal = forge,
		.verify = believe,
	};
	uint8_t address[MEMBER_ADDRESS_MAX];
	char line[CHILD_ANSWER_MAX];
	size_t size = sizeof(address);
	bool is_forger;

	if (argc < 7 || strcmp(argv[1], "member") != 0) {
		test_arguments(argc, argv, ret_provider);
		return -1;
	}
	child_prepare();
	if (argc > 7)
		apart(argv[4]);
	is_forger = argv[6][0] == '1';
	if (argv[6][0] == 'g')
		crowd_gossip_count = atoi(argv[6] + 1);
	person_open_as(&life.person, atoi(argv[2]), argv[3],
		       argv[4][0] != '\0' ? argv[4] : NULL,
		       argv[5][0] != '\0' ? argv[5] : NULL,
		       argv[6][0] == 'g' ? SCOLL_DISCOVERY_GOSSIP
					 : SCOLL_DISCOVERY_GIVEN,
		       is_forger ? &forger : NULL);
	/* Not before: nobody may not load the plug-in from a home. */
	if (is_forger && setuid(NOBODY) != 0)
		die("setuid");
	scoll_peer_notify(life.person.scoll, notified, &life);
	if (scoll_address(life.person.scoll, address, &size) < 0)
		die("scoll_address");
	printf("ok ");
	child_hex_write(stdout, address, size);
	printf("\n");
	for (;;) {
		wait_for_line(&life);
		if (fgets(line, sizeof(line), stdin) == NULL)
			break;
		command(&life, line);
	}
	person_close(&life.person);
	return 0;
}

/* --- the test's side --- */

void member_start_apart(struct member *member, int index, const char *provider,
			const char *host)
{
	char number[16], answer[CHILD_ANSWER_MAX];
	const char *argv[] = { "member", number, provider, host,
			       "",       "0",    "apart",  NULL };

	snprintf(number, sizeof(number), "%d", index);
	child_start(&member->child, argv);
	child_hear(&member->child, answer);
}

void member_start_joined(struct member *member)
{
	child_tell(&member->child, "%s", "");
}

static void start(struct member *member, int index, const char *provider,
		  const char *host, const char *service, const char *kind)
{
	char number[16];
	const char *argv[] = { "member",
			       number,
			       provider,
			       host != NULL ? host : "",
			       service != NULL ? service : "",
			       kind,
			       NULL };

	snprintf(number, sizeof(number), "%d", index);
	child_start(&member->child, argv);
}

void member_start_begin(struct member *member, int index, const char *provider,
			const char *host, const char *service, bool is_forger)
{
	start(member, index, provider, host, service, is_forger ? "1" : "0");
}

void member_start_gossip(struct member *member, int index, const char *provider,
			 const char *host)
{
	char kind[16];

	snprintf(kind, sizeof(kind), "g%d", crowd_gossip_count);
	start(member, index, provider, host, NULL, kind);
	member_start_end(member);
}

void member_start_end(struct member *member)
{
	char answer[CHILD_ANSWER_MAX];

	child_hear(&member->child, answer);
	member->address_size = child_hex_read(answer, member->address,
					      sizeof(member->address));
}

void member_start(struct member *member, int index, const char *provider,
		  const char *host, const char *service, bool is_forger)
{
	member_start_begin(member, index, provider, host, service, is_forger);
	member_start_end(member);
}

const char *member_hear(struct member *member, struct person *root,
			char answer[CHILD_ANSWER_MAX])
{
	struct pollfd fd = { .fd = fileno(member->child.out),
			     .events = POLLIN };

	while (poll(&fd, 1, 0) == 0)
		scoll_wait(root->scoll, 1000000);
	return child_hear(&member->child, answer);
}

static void tell(struct member *member, struct person *root, scoll_nid_t nid,
		 const uint8_t *address, size_t size)
{
	char answer[CHILD_ANSWER_MAX];

	fprintf(member->child.in, "peer %" PRIu64 " ", nid);
	child_hex_write(member->child.in, address, size);
	child_tell(&member->child, "%s", "");
	member_hear(member, root, answer);
}

/* Node 0 is the person. */
void members_welcome(struct member *members, int count, int index,
		     struct person *root)
{
	struct member *new = &members[index];
	uint8_t address[MEMBER_ADDRESS_MAX];
	size_t size = sizeof(address);

	if (scoll_peer_address(root->scoll, crowd_nid(index), new->address,
			       new->address_size) < 0 ||
	    scoll_address(root->scoll, address, &size) < 0)
		die("addresses");
	tell(new, root, root->nid, address, size);
	for (int i = 1; i <= count; i++) {
		if (i == index || members[i].child.pid == 0)
			continue;
		tell(&members[i], root, crowd_nid(index), new->address,
		     new->address_size);
		tell(new, root, crowd_nid(i), members[i].address,
		     members[i].address_size);
	}
}

void members_meet(struct member *members, int count, struct person *root)
{
	uint8_t address[MEMBER_ADDRESS_MAX];
	size_t size = sizeof(address);

	if (scoll_address(root->scoll, address, &size) < 0)
		die("scoll_address");
	for (int i = 1; i <= count; i++) {
		if (scoll_peer_address(root->scoll, crowd_nid(i),
				       members[i].address,
				       members[i].address_size) < 0)
			die("scoll_peer_address");
		tell(&members[i], root, root->nid, address, size);
		for (int j = 1; j <= count; j++) {
			if (j != i)
				tell(&members[i], root, crowd_nid(j),
				     members[j].address,
				     members[j].address_size);
		}
	}
}
