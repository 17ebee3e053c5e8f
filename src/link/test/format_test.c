/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completions of each format, one and several at a time, and a map of addresses
 * in place of a table: sources and destinations of messages.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define SIZE            100
#define WORD            UINT64_C(0x8877665544332211)
#define TAG             6
#define MANY            7

static enum fi_cq_format format; /* of both queues */
static uint8_t out[SIZE], in[MANY][SIZE];

static const struct {
	enum fi_cq_format format;
	size_t size;
} formats[] = {
	{ FI_CQ_FORMAT_CONTEXT, sizeof(struct fi_cq_entry) },
	{ FI_CQ_FORMAT_MSG, sizeof(struct fi_cq_msg_entry) },
	{ FI_CQ_FORMAT_DATA, sizeof(struct fi_cq_data_entry) },
	{ FI_CQ_FORMAT_UNSPEC, sizeof(struct fi_cq_tagged_entry) },
};

static size_t entry_size(void)
{
	for (unsigned int i = 0; i < COUNT_OF(formats); i++)
		if (formats[i].format == format)
			return formats[i].size;
	return 0;
}

/* What the format has, is right, and nothing was written behind it. */
static void entry_check(const uint8_t *bytes, const void *context,
			uint64_t flags, size_t len)
{
	const size_t size = entry_size();
	struct fi_cq_tagged_entry entry = { 0 };

	memcpy(&entry, bytes, size);
	pair_check(entry.op_context == context);
	pair_check(size < sizeof(struct fi_cq_msg_entry) ||
		   entry.flags == flags);
	if ((flags & FI_RECV) == 0)
		return;
	pair_check(size < sizeof(struct fi_cq_msg_entry) || entry.len == len);
	pair_check(size < sizeof(struct fi_cq_data_entry) ||
		   (flags & FI_REMOTE_CQ_DATA) == 0 || entry.data == WORD);
	pair_check(size < sizeof(struct fi_cq_tagged_entry) ||
		   (flags & FI_TAGGED) == 0 || entry.tag == TAG);
}

static void send_one(struct pair *pair, unsigned int i)
{
	uint8_t entry[sizeof(struct fi_cq_tagged_entry) + 1];
	ssize_t result;

	pair_fill(out, SIZE, i);
	pair_retry(pair, i % 2 == 0
				 ? fi_tsenddata(pair->ep, out, SIZE, NULL, WORD,
						pair->peer, TAG, &out[i])
				 : fi_send(pair->ep, out, SIZE, NULL,
					   pair->peer, &out[i]));
	memset(entry, 0xee, sizeof(entry));
	while ((result = fi_cq_read(pair->send_cq, entry, 1)) == -FI_EAGAIN)
		pair_progress(pair);
	pair_check(result == 1);
	entry_check(entry, &out[i], FI_SEND | (i % 2 == 0 ? FI_TAGGED : FI_MSG),
		    0);
	pair_check(entry[entry_size()] == 0xee);
}

static void receive_one(struct pair *pair, unsigned int i)
{
	if (i % 2 == 0)
		pair_do(fi_trecv(pair->ep, in[i], SIZE, NULL, pair->peer, TAG,
				 0, in[i]));
	else
		pair_do(fi_recv(pair->ep, in[i], SIZE, NULL, pair->peer,
				in[i]));
}

static void one_came(const uint8_t *entry, unsigned int i)
{
	entry_check(entry, in[i],
		    FI_RECV | (i % 2 == 0 ? FI_TAGGED | FI_REMOTE_CQ_DATA
					  : FI_MSG),
		    SIZE);
	pair_check(pair_is_filled(in[i], SIZE, i));
}

/* Read as many as there are, and with their sources. */
static void several_are_read_at_once(struct pair *pair)
{
	uint8_t entries[(MANY + 1) * sizeof(struct fi_cq_tagged_entry)];
	fi_addr_t sources[MANY + 1];
	const size_t size = entry_size();
	ssize_t got = 0;

	if (pair->is_first) {
		pair_meet(pair);
		for (unsigned int i = 0; i < MANY; i++)
			send_one(pair, i);
		return;
	}
	for (unsigned int i = 0; i < MANY; i++)
		receive_one(pair, i);
	pair_meet(pair);
	pair_do(fi_cntr_wait(pair->receive_cntr, MANY, -1));
	memset(entries, 0xee, sizeof(entries));
	/* As many as there is room for, and then the rest. */
	got = fi_cq_readfrom(pair->receive_cq, entries, 3, sources);
	pair_check(got == 3 && entries[3 * size] == 0xee);
	got = fi_cq_readfrom(pair->receive_cq, entries + 3 * size, MANY - 2,
			     sources + 3);
	pair_check(got == MANY - 3);
	pair_check(entries[MANY * size] == 0xee);
	for (unsigned int i = 0; i < MANY; i++) {
		one_came(entries + i * size, i);
		pair_check(sources[i] == pair->peer);
	}
}

/* As pair_wait() reads it. */
static void one_is_read_with_its_source(struct pair *pair)
{
	struct fi_cq_tagged_entry entry;
	fi_addr_t source = FI_ADDR_NOTAVAIL;

	if (pair->is_first) {
		send_one(pair, 0);
		return;
	}
	receive_one(pair, 0);
	entry = pair_wait(pair, pair->receive_cq, &source);
	one_came((const uint8_t *)&entry, 0);
	pair_check(source == pair->peer);
	/* And one by a call that waits. */
	pair_check(fi_cq_sreadfrom(pair->receive_cq, &entry, 1, &source, NULL,
				   0) == -FI_EAGAIN);
}

/* --- a map of addresses --- */

static void addresses_come_from_the_map_and_go(struct pair *pair)
{
	uint8_t name[sizeof(pair->peer_name)] = { 0 };
	size_t size = sizeof(name);
	fi_addr_t before = pair->peer, none;

	pair_do(fi_av_lookup(pair->av, pair->peer, name, &size));
	pair_check(memcmp(name, pair->peer_name, sizeof(name)) == 0);
	pair_meet(pair);
	pair_do(fi_av_remove(pair->av, &pair->peer, 1, 0));
	pair_check(fi_av_lookup(pair->av, before, name, &size) == -FI_EINVAL);
	pair_check(fi_tinject(pair->ep, out, 1, before, 1) == -FI_EINVAL);
	memset(name, 0, sizeof(name));
	none = 0;
	pair_check(fi_av_insert(pair->av, name, 1, &none, 0, NULL) == 0);
	pair_check(none == FI_ADDR_NOTAVAIL);
	pair_meet(pair);
	pair_insert(pair);
	pair_meet(pair);
	one_is_read_with_its_source(pair);
}

static int run(void)
{
	const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE,
		.av_type = FI_AV_MAP,
		.format = &format,
	};
	static const struct pair_case cases[] = {
		pair_case(several_are_read_at_once),
		pair_case(one_is_read_with_its_source),
		pair_case(addresses_come_from_the_map_and_go),
	};
	return pair_run(&setting, cases, COUNT_OF(cases));
}

/* Each in a process that has not used libfabric. */
int main(void)
{
	for (unsigned int i = 0; i < COUNT_OF(formats); i++) {
		int status = 0;
		format = formats[i].format;
		pid_t child = fork();
		pair_check(child >= 0);
		if (child == 0)
			exit(run());
		pair_check(waitpid(child, &status, 0) == child);
		pair_check(WIFEXITED(status));
		if (WEXITSTATUS(status) != 0)
			return WEXITSTATUS(status);
	}
	return 0;
}
