/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libmunge gives the payload of an expired or replayed credential, too; here
 * such a one has none. Each call has a context of its own, since libmunge's
 * are not for several threads. libmunge writes to munged's socket with write():
 * should munged die meanwhile, the SIGPIPE is not to reach the program.
 */
#include "sys/credential.h"

#include <dlfcn.h>
#include <munge.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libmunge.so.2"

/* The functions of libmunge that are used, each without its "munge_". */
#define FUNCTIONS(function)                                                  \
	function(encode) function(decode) function(strerror)                 \
		function(ctx_create) function(ctx_destroy) function(ctx_set) \
			function(ctx_strerror)

struct munge {
	void *library;
	char *socket;
#define MEMBER(name) __typeof__(munge_##name) *name;
	FUNCTIONS(MEMBER)
#undef MEMBER
};

static int find_functions(struct munge *munge, struct fairlead_error *ret_error)
{
	const char *missing = NULL;

#define FIND(function)                                               \
	munge->function = dlsym(munge->library, "munge_" #function); \
	if (munge->function == NULL)                                 \
		missing = "munge_" #function;
	FUNCTIONS(FIND)
#undef FIND
	if (missing != NULL)
		return error_set(ret_error, -ENOPKG, LIBRARY " has no '%s'",
				 missing);
	return 0;
}

int munge_open(const char *socket, struct munge **ret_munge,
	       struct fairlead_error *ret_error)
{
	_auto_(munge_closep) struct munge *munge = calloc(1, sizeof(*munge));
	int result;

	if (munge != NULL)
		munge->socket = strdup(socket);
	if (munge == NULL || munge->socket == NULL)
		return error_set(ret_error, -ENOMEM, "out of memory");
	munge->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (munge->library == NULL)
		return error_set(ret_error, -ENOPKG,
				 "clients over TCP need MUNGE, install "
				 "libmunge2 and munge: %s",
				 dlerror());
	result = find_functions(munge, ret_error);
	if (result == 0)
		*ret_munge = take_ptr(munge);
	return result;
}

void munge_close(struct munge *munge)
{
	if (munge == NULL)
		return;
	if (munge->library != NULL)
		dlclose(munge->library);
	free(munge->socket);
	free(munge);
}

const char *munge_hint(int code)
{
	switch (code) {
	case -ENOPKG:
		return "install libmunge2 and munge";
	case -EHOSTDOWN:
		return "start munged on this machine: systemctl start munge";
	case -EKEYEXPIRED:
		return "set the clocks of the machines by NTP";
	case -EKEYREJECTED:
		return "all machines need one MUNGE key and the same users";
	default:
		return "";
	}
}

static int code_of(munge_err_t error)
{
	switch (error) {
	case EMUNGE_NO_MEMORY:
		return -ENOMEM;
	case EMUNGE_SOCKET:
	case EMUNGE_TIMEOUT:
	case EMUNGE_SNAFU:
		return -EHOSTDOWN;
	case EMUNGE_CRED_EXPIRED:
	case EMUNGE_CRED_REWOUND:
		return -EKEYEXPIRED;
	default:
		return -EKEYREJECTED;
	}
}

/* Say what libmunge says; ctx may be NULL. */
static int fail(const struct munge *munge, munge_ctx_t ctx, munge_err_t error,
		struct fairlead_error *ret_error)
{
	const char *text = ctx == NULL ? NULL : munge->ctx_strerror(ctx);

	if (text == NULL)
		text = munge->strerror(error);
	return error_set(ret_error, code_of(error), "MUNGE: %s", text);
}

static munge_err_t make_context(const struct munge *munge, munge_ctx_t *ret_ctx)
{
	munge_ctx_t ctx = munge->ctx_create();
	munge_err_t error = ctx == NULL ? EMUNGE_NO_MEMORY : EMUNGE_SUCCESS;

	if (error == EMUNGE_SUCCESS && *munge->socket != 0)
		error = munge->ctx_set(ctx, MUNGE_OPT_SOCKET, munge->socket);
	*ret_ctx = ctx;
	return error;
}

struct sigpipe {
	bool was_pending; /* somebody else's */
	sigset_t mask;
};

static void sigpipe_hold(struct sigpipe *held)
{
	sigset_t set;

	sigpending(&set);
	held->was_pending = sigismember(&set, SIGPIPE);
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, &held->mask);
}

/* Forget the one that came meanwhile. */
static void sigpipe_release(const struct sigpipe *held)
{
	const struct timespec no_time = { 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	if (!held->was_pending)
		sigtimedwait(&set, NULL, &no_time);
	pthread_sigmask(SIG_SETMASK, &held->mask, NULL);
}

int munge_seal(const struct munge *munge, uid_t reader, const void *payload,
	       size_t size, char **ret_credential,
	       struct fairlead_error *ret_error)
{
	char *credential = NULL;
	struct sigpipe held;
	munge_ctx_t ctx;
	munge_err_t error = make_context(munge, &ctx);
	int result = 0;

	sigpipe_hold(&held);
	if (error == EMUNGE_SUCCESS)
		error = munge->ctx_set(ctx, MUNGE_OPT_UID_RESTRICTION, reader);
	if (error == EMUNGE_SUCCESS)
		error = munge->encode(&credential, ctx, payload, (int)size);
	sigpipe_release(&held);
	if (error != EMUNGE_SUCCESS)
		result = fail(munge, ctx, error, ret_error);
	munge->ctx_destroy(ctx);
	if (result == 0)
		*ret_credential = credential;
	return result;
}

int munge_unseal(const struct munge *munge, const char *credential,
		 void **ret_payload, size_t *ret_size, uid_t *ret_uid,
		 struct fairlead_error *ret_error)
{
	_auto_(freep) void *payload = NULL;
	struct sigpipe held;
	munge_ctx_t ctx;
	munge_err_t error = make_context(munge, &ctx);
	int result = 0;
	int size = 0;
	uid_t uid;
	gid_t gid;

	sigpipe_hold(&held);
	if (error == EMUNGE_SUCCESS)
		error = munge->decode(credential, ctx, &payload, &size, &uid,
				      &gid);
	sigpipe_release(&held);
	if (error != EMUNGE_SUCCESS)
		result = fail(munge, ctx, error, ret_error);
	munge->ctx_destroy(ctx);
	if (result < 0)
		return result;
	*ret_payload = take_ptr(payload);
	*ret_size = (size_t)size;
	*ret_uid = uid;
	return 0;
}
