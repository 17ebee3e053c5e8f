/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program that serialises by itself pays for locks: nothing. The provider's are
 * counted here, in the place of the C library's.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define TURNS           20

static const size_t sizes[] = { 8, 5000, 100000 };

static bool is_counting;
static unsigned int locks;

int pthread_mutex_lock(pthread_mutex_t *mutex)
	__attribute__((visibility("default")));
int pthread_mutex_trylock(pthread_mutex_t *mutex)
	__attribute__((visibility("default")));

static void count(const void *caller)
{
	Dl_info info;

	if (is_counting && dladdr(caller, &info) != 0 &&
	    strstr(info.dli_fname, "libfairlead") != NULL)
		locks++;
}

static int call(const char *name, pthread_mutex_t *mutex)
{
	int (*of_libc)(pthread_mutex_t *);

	*(void **)&of_libc = dlsym(RTLD_NEXT, name);
	return of_libc(mutex);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	count(__builtin_return_address(0));
	return call("pthread_mutex_lock", mutex);
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	count(__builtin_return_address(0));
	return call("pthread_mutex_trylock", mutex);
}

static void exchange(struct pair *pair, size_t size, unsigned int seed)
{
	static uint8_t out[100000], in[100000];

	pair_fill(out, size, seed);
	pair_do(fi_trecv(pair->ep, in, size, NULL, pair->peer, 1, 0, NULL));
	pair_retry(pair,
		   fi_tsend(pair->ep, out, size, NULL, pair->peer, 1, NULL));
	pair_wait(pair, pair->send_cq, NULL);
	pair_wait(pair, pair->receive_cq, NULL);
	pair_check(pair_is_filled(in, size, seed));
	fi_cntr_read(pair->send_cntr);
}

static void messages_go(struct pair *pair)
{
	is_counting = true;
	for (unsigned int i = 0; i < TURNS; i++)
		exchange(pair, sizes[i % COUNT_OF(sizes)], i);
	is_counting = false;
}

static void messages_take_no_lock(struct pair *pair)
{
	messages_go(pair);
	pair_check(locks == 0);
}

static void messages_take_locks(struct pair *pair)
{
	messages_go(pair);
	pair_check(locks > TURNS);
}

int main(int argc, char **argv)
{
	static const struct pair_case none = pair_case(messages_take_no_lock);
	static const struct pair_case some = pair_case(messages_take_locks);
	struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE,
		.threading = FI_THREAD_DOMAIN,
	};
	bool is_domain = argc > 1 && strcmp(argv[1], "domain") == 0;

	if (!is_domain)
		setting.threading = FI_THREAD_COMPLETION;
	return pair_run(&setting, is_domain ? &none : &some, 1);
}
