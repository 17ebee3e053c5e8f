/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Want of memory while a sender becomes known: no message of its is lost. Each
 * allocation of the provider's is refused once, in the place of the C library.
 */
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "link/test/pair.h"
#include "link/test/sanitizer.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define SKIP            77
#define ROOM            4096 /* one message fills it, of many */

static unsigned int until_failure; /* allocations; 0: none fails */

#if !IS_SANITIZED

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *malloc(size_t size) __attribute__((visibility("default")));
void *calloc(size_t count, size_t size) __attribute__((visibility("default")));

static bool is_refused(const void *caller)
{
	Dl_info info;

	return until_failure > 0 && dladdr(caller, &info) != 0 &&
	       strstr(info.dli_fname, "libfairlead") != NULL &&
	       --until_failure == 0;
}

void *malloc(size_t size)
{
	return is_refused(__builtin_return_address(0)) ? NULL
						       : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return is_refused(__builtin_return_address(0))
		       ? NULL
		       : __libc_calloc(count, size);
}
#endif

/*
 * A receive that names the sender waits when that is not in the vector yet, and its
 * message is there already. Which address it will get is known: there is no other.
 */
static void post(struct pair *pair, uint64_t flags, unsigned int tag,
		 uint8_t room[ROOM])
{
	struct iovec iov = { room, ROOM };
	const struct fi_msg_tagged msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = 0, .tag = tag
	};

	pair_do(fi_trecvmsg(pair->ep, &msg, flags | FI_COMPLETION));
	pair_peek(pair, tag);
}

/* Returns whether an allocation has failed. */
static bool insert(struct pair *pair, unsigned int which)
{
	int inserted;
	bool has_failed;

	until_failure = which;
	inserted = fi_av_insert(pair->av, pair->peer_name, 1, &pair->peer, 0,
				NULL);
	has_failed = until_failure == 0;
	until_failure = 0;
	if (inserted != 1)
		pair_insert(pair);
	pair_check(pair->peer == 0);
	return has_failed;
}

static bool get_to_know(struct pair *pair, uint64_t flags, unsigned int which)
{
	static uint8_t room[ROOM];
	struct fi_cq_tagged_entry entry;
	bool has_failed;

	memset(room, 0, sizeof(room));
	post(pair, flags, which, room);
	has_failed = insert(pair, which);
	entry = pair_wait(pair, pair->receive_cq, NULL);
	pair_check(entry.len == 8 && pair_is_filled(room, 8, which));
	return has_failed;
}

static uint8_t word_of_other(struct pair *pair)
{
	struct pollfd other = { .fd = pair->fd, .events = POLLIN };
	uint8_t word;

	while (poll(&other, 1, 0) == 0)
		pair_progress(pair);
	pair_check(read(pair->fd, &word, 1) == 1);
	return word;
}

/* Until there is no allocation left that could fail. */
static void go(struct pair *pair, uint64_t flags)
{
	uint8_t bytes[8], goes_on = 1;

	for (unsigned int i = 1; goes_on != 0; i++) {
		if (pair->is_first) {
			pair_fill(bytes, sizeof(bytes), i);
			pair_retry(pair, fi_tinject(pair->ep, bytes, 8,
						    pair->peer, i));
			goes_on = word_of_other(pair);
			continue;
		}
		goes_on = get_to_know(pair, flags, i);
		pair_check(goes_on != 0 || i > 1);
		pair_do(fi_av_remove(pair->av, &pair->peer, 1, 0));
		pair_check(write(pair->fd, &goes_on, 1) == 1);
	}
}

static void the_message_of_a_receive_is_not_lost(struct pair *pair)
{
	go(pair, 0);
}

static void the_message_of_a_receive_of_many_is_not_lost(struct pair *pair)
{
	go(pair, FI_MULTI_RECV);
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE |
			FI_MULTI_RECV,
		.is_one_sided = true,
	};
	static const struct pair_case cases[] = {
		pair_case(the_message_of_a_receive_is_not_lost),
		pair_case(the_message_of_a_receive_of_many_is_not_lost),
	};

	if (IS_SANITIZED) {
		printf("skipped: the sanitizer has the allocator\n");
		return SKIP;
	}
	return pair_run(&setting, cases, COUNT_OF(cases));
}
