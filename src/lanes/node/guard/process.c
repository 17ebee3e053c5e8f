/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard's process: it opens what it needs, gives up all privileges but
 * those of the drivers' work, and answers requests until its agent is gone.
 *
 * It ends by the end of its channel and not by signals, so that what it has
 * begun is finished also when the whole service is stopped.
 */
#include "lanes/node/guard/guard.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "lanes/node/guard/files.h"
#include "sys/fd.h"
#include "sys/rng.h"
#include "sys/secret.h"

#define CHANNEL_FD    3
#define LOCK_PAUSE_MS 50
/* Replies to one request plus all deferred revokes. */
#define REPLIES_MAX (4u * GUARD_MESSAGE_MAX)

struct process {
	const struct guard_options *options;
	int run_fd, jobs_fd;
	struct journal_store store;
	char journal_path[PATH_MAX];
	struct guard_driver drivers[GUARD_DRIVERS_MAX];
	struct guard *guard;
};

/* --- seams --- */

static int keys_load(void *ctx, struct node_keys *ret_keys,
		     struct fairlead_error *ret_error)
{
	struct process *process = ctx;
	char text[KEYFILE_SIZE_MAX];
	ssize_t size = secret_read(process->options->key, text, sizeof(text),
				   ret_error);
	int result;

	if (size < 0)
		return (int)size;
	result = node_keys_parse(text, (size_t)size, ret_keys, ret_error);
	sodium_memzero(text, sizeof(text));
	return result < 0
		       ? error_prefix(ret_error, "'%s'", process->options->key)
		       : 0;
}

static int environment_write(void *ctx, const struct request_key *key,
			     uid_t uid, gid_t gid, const void *bytes,
			     size_t size)
{
	struct process *process = ctx;

	return environment_file_write(process->jobs_fd, key, uid, gid, bytes,
				      size);
}

static int environment_remove(void *ctx, const struct request_key *key)
{
	struct process *process = ctx;

	return environment_file_remove(process->jobs_fd, key);
}

/* --- beginning --- */

/* The guard before us may be finishing its last request. */
static int run_lock(const struct process *process,
		    struct fairlead_error *ret_error)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_MS * 1000000 };

	for (uint32_t waited_ms = 0;; waited_ms += LOCK_PAUSE_MS) {
		if (flock(process->run_fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (waited_ms >= process->options->patience_ms)
			break;
		nanosleep(&pause, NULL);
	}
	return error_set(ret_error, -EBUSY,
			 "another fairleadd has the journal in '%s'",
			 process->options->run);
}

void guard_drivers_open(const struct guard_driver_options *wanted, size_t count,
			const struct log *log, struct guard_driver *ret_drivers)
{
	for (size_t i = 0; i < count; i++) {
		struct guard_driver *driver = &ret_drivers[i];
		struct fairlead_error error;

		driver->driver = wanted[i].driver;
		driver->is_open =
			wanted[i].driver->node->open(wanted[i].settings,
						     wanted[i].setting_count,
						     &driver->state,
						     &error) == 0;
		if (driver->is_open)
			continue;
		log_warning(log,
			    "a driver cannot be opened driver=%s error=\"%s\"",
			    wanted[i].driver->name, error.text);
		snprintf(driver->detail, sizeof(driver->detail), "%.*s",
			 DRIVER_DETAIL_MAX, error.text);
	}
}

void guard_drivers_close(const struct guard_driver *drivers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (drivers[i].is_open)
			drivers[i].driver->node->close(drivers[i].state);
	}
}

static uint64_t drivers_capabilities(const struct guard_options *options)
{
	uint64_t capabilities = 0;

	for (size_t i = 0; i < options->driver_count; i++)
		capabilities |= options->drivers[i].driver->capabilities;
	return capabilities;
}

/* --- privileges --- */

static void cap_freep(cap_t *capabilities)
{
	if (*capabilities)
		cap_free(*capabilities);
}

static bool is_kept(cap_value_t capability, uint64_t more)
{
	return capability == CAP_CHOWN ||
	       (capability < 64 && (more >> capability & 1));
}

static int set_fill(cap_t now, cap_t then, uint64_t more)
{
	for (cap_value_t i = 0; i < cap_max_bits(); i++) {
		cap_flag_value_t has;

		if (!is_kept(i, more))
			continue;
		if (cap_get_flag(now, i, CAP_PERMITTED, &has) < 0 ||
		    cap_set_flag(then, CAP_PERMITTED, 1, &i, has) < 0 ||
		    cap_set_flag(then, CAP_EFFECTIVE, 1, &i, has) < 0)
			return -errno;
	}
	return 0;
}

/*
 * Give up every capability but CAP_CHOWN, which gives environment files to
 * their owners, and `more` (bits 1 << CAP_x, what the drivers need), for good.
 * What is not there cannot be given up: a guard without privileges stays
 * without.
 */
static int privileges_drop(uint64_t more, struct fairlead_error *ret_error)
{
	_auto_(cap_freep) cap_t now = cap_get_proc();
	_auto_(cap_freep) cap_t then = cap_init();
	int result;

	if (!now || !then)
		return error_set(ret_error, -errno,
				 "cannot read capabilities: %s",
				 strerror(errno));
	/*
	 * Without CAP_SETPCAP the bounding set stays. It bounds what an exec
	 * can gain, and no_new_privs, below, lets none gain anything.
	 */
	for (cap_value_t i = 0; i < cap_max_bits(); i++) {
		if (!is_kept(i, more) && cap_drop_bound(i) < 0 &&
		    errno != EPERM)
			return error_set(ret_error, -errno,
					 "cannot give up a capability: %s",
					 strerror(errno));
	}
	result = set_fill(now, then, more);
	if (result < 0)
		return error_set(ret_error, result,
				 "cannot keep a capability: %s",
				 strerror(-result));
	if (cap_reset_ambient() < 0 || cap_set_proc(then) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_set(ret_error, -errno,
				 "cannot give up capabilities: %s",
				 strerror(errno));
	return 0;
}

/* --- beginning and end --- */

static int process_begin(struct process *process,
			 uint8_t incarnation[INCARNATION_SIZE],
			 struct fairlead_error *ret_error)
{
	static const struct guard_ops ops = {
		.load_keys = keys_load,
		.write_environment = environment_write,
		.remove_environment = environment_remove,
	};
	const struct guard_options *options = process->options;
	struct guard_config config = {
		.name = options->name,
		.software = FAIRLEAD_VERSION,
		.drivers = process->drivers,
		.driver_count = options->driver_count,
		.rng = sys_rng(),
		.ops = &ops,
		.ops_ctx = process,
		.log = options->log,
	};
	int result;

	if (options->driver_count > GUARD_DRIVERS_MAX || sodium_init() < 0)
		return error_set(ret_error, -E2BIG, "too many drivers");
	result = incarnation_file_read(options->incarnation, incarnation,
				       ret_error);
	if (result == 0)
		result = directory_open(options->run, 0700, &process->run_fd,
					ret_error);
	if (result == 0)
		result = directory_open(options->jobs, 0711, &process->jobs_fd,
					ret_error);
	if (result == 0)
		result = run_lock(process, ret_error);
	if (result < 0)
		return result;
	guard_drivers_open(options->drivers, options->driver_count,
			   options->log, process->drivers);
	result = privileges_drop(drivers_capabilities(options), ret_error);
	if (result < 0)
		return result;
	memcpy(config.incarnation, incarnation, INCARNATION_SIZE);
	config.journal = journal_store_begin(&process->store, process->run_fd);
	snprintf(process->journal_path, sizeof(process->journal_path),
		 "%s/" JOURNAL_STORE_NAME, process->options->run);
	config.journal.path = process->journal_path;
	return guard_create(&config, &process->guard, ret_error);
}

static void process_end(struct process *process)
{
	guard_destroy(process->guard);
	guard_drivers_close(process->drivers, process->options->driver_count);
	journal_store_end(&process->store);
	closep(&process->run_fd);
	closep(&process->jobs_fd);
}

/* --- the channel --- */

static int message_write(int fd, const struct writer *message)
{
	uint8_t length[FRAME_LENGTH_SIZE];
	int result = message->result;

	frame_length(message->size, length);
	if (result == 0)
		result = fd_write(fd, length, sizeof(length));
	if (result == 0)
		result = fd_write(fd, message->data, message->size);
	return result;
}

/* Size of the message, 0 at the end of the channel, or a negative errno. */
static ssize_t message_read(int fd, uint8_t **ret_bytes)
{
	_auto_(freep) uint8_t *bytes = NULL;
	uint8_t head[FRAME_LENGTH_SIZE];
	struct reader reader = reader_of(head, sizeof(head));
	ssize_t got = fd_read(fd, head, sizeof(head));
	size_t size;

	if (got <= 0)
		return got;
	size = read_u32(&reader);
	if (got < (ssize_t)sizeof(head) || size == 0 ||
	    size > GUARD_MESSAGE_MAX)
		return -EBADMSG;
	bytes = memory_alloc(size);
	got = fd_read(fd, bytes, size);
	if (got < (ssize_t)size)
		return got < 0 ? got : -EBADMSG;
	*ret_bytes = take_ptr(bytes);
	return got;
}

static bool has_message(int fd)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };

	return poll(&poller, 1, 0) > 0;
}

/* One request, and when no other is there, the replies that wait for that. */
static int request_answer(struct process *process, const uint8_t *request,
			  size_t size)
{
	struct writer replies = { .limit = REPLIES_MAX };
	int result = guard_take(process->guard, request, size, &replies);

	if (result == 0 && guard_is_waiting(process->guard) &&
	    !has_message(CHANNEL_FD))
		result = guard_settle(process->guard, &replies);
	if (result == 0)
		result = fd_write(CHANNEL_FD, replies.data, replies.size);
	writer_fini(&replies);
	return result;
}

/* Nobody is there any more to read the replies. */
static void finish(struct process *process)
{
	struct writer ignored = { .limit = REPLIES_MAX };

	(void)guard_settle(process->guard, &ignored);
	writer_fini(&ignored);
}

static int requests_answer(struct process *process)
{
	for (;;) {
		_auto_(freep) uint8_t *request = NULL;
		ssize_t size = message_read(CHANNEL_FD, &request);
		int result;

		if (size <= 0) {
			finish(process);
			return (int)size;
		}
		result = request_answer(process, request, (size_t)size);
		if (result < 0)
			return result;
	}
}

static int hello_write(int result, const struct fairlead_error *error,
		       const uint8_t incarnation[INCARNATION_SIZE])
{
	struct guard_reply hello = {
		.result = result,
		.bytes = incarnation,
		.size = INCARNATION_SIZE,
	};
	struct writer message = { 0 };

	if (result < 0)
		memcpy(hello.text, error->text, sizeof(error->text));
	result = guard_reply_encode(&hello, &message);
	if (result == 0)
		result = message_write(CHANNEL_FD, &message);
	writer_fini(&message);
	return result;
}

static int child_run(const struct guard_options *options)
{
	struct process process = {
		.options = options,
		.run_fd = -1,
		.jobs_fd = -1,
		.store = { .fd = -1 },
	};
	uint8_t incarnation[INCARNATION_SIZE] = { 0 };
	struct fairlead_error error = { .text = "" };
	int result, said;

	result = process_begin(&process, incarnation, &error);
	said = hello_write(result, &error, incarnation);
	if (result == 0)
		result = said;
	if (result == 0)
		result = requests_answer(&process);
	/* The agent can be gone at any moment: that is the end, not an error. */
	if (result < 0 && result != -EPIPE && result != -ECONNRESET)
		log_error(options->log, "the guard ends error=\"%s\"",
			  error.text[0] ? error.text : strerror(-result));
	process_end(&process);
	return result == 0 ? 0 : 1;
}

/* Nothing of the parent is left but its memory, standard streams and log. */
static int child_isolate(int fd)
{
	const int ignored[] = { SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGPIPE };

	if (dup2(fd, CHANNEL_FD) < 0 || close_range(CHANNEL_FD + 1, ~0u, 0) < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	umask(022);
	prctl(PR_SET_NAME, "fairlead-guard");
	secret_hide_process();
	return chdir("/") < 0 ? -errno : 0;
}

/* --- the parent's side --- */

static int hello_read(struct guard_handle *handle,
		      struct fairlead_error *ret_error)
{
	_auto_(freep) uint8_t *bytes = NULL;
	struct guard_reply hello;
	ssize_t size = message_read(handle->fd, &bytes);
	int result;

	if (size <= 0 || guard_reply_decode(bytes, (size_t)size, &hello) < 0)
		return error_set(ret_error, -EPIPE,
				 "the guard ended before it began");
	result = hello.result;
	if (result < 0)
		error_set(ret_error, result, "%s", hello.text);
	else if (hello.size == INCARNATION_SIZE)
		memcpy(handle->incarnation, hello.bytes, INCARNATION_SIZE);
	guard_reply_fini(&hello);
	return result;
}

int guard_start(const struct guard_options *options,
		struct guard_handle *ret_handle,
		struct fairlead_error *ret_error)
{
	struct guard_handle handle = { .fd = -1 };
	int ends[2], result;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return error_set(ret_error, -errno, "cannot make a socket: %s",
				 strerror(errno));
	handle.pid = fork();
	if (handle.pid < 0) {
		result = -errno;
		close(ends[0]);
		close(ends[1]);
		return error_set(ret_error, result, "cannot fork: %s",
				 strerror(-result));
	}
	if (handle.pid == 0)
		_exit(child_isolate(ends[1]) < 0 ? 1 : child_run(options));
	close(ends[1]);
	handle.fd = ends[0];
	result = hello_read(&handle, ret_error);
	if (result < 0) {
		guard_stop(&handle);
		return result;
	}
	*ret_handle = handle;
	return 0;
}

void guard_stop(struct guard_handle *handle)
{
	close(handle->fd);
	while (waitpid(handle->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
