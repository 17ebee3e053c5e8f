/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A daemon for tests that gives prepared answers:
 *
 *	fake-daemon SCRIPT LOG PROGRAM [ARGUMENT ...]
 *
 * runs the program with FAIRLEAD_SOCKET and FAIRLEAD_NODE_SOCKET naming a
 * socket that it serves until the program ends, and exits as the program did.
 *
 * A line of the script is `OP ANSWER`: the members of the answer as a JSON
 * object (result is 0 unless it says otherwise), or one of !close (the
 * connection), !silent (no answer), !garbage. Several lines of one op are used
 * in their order; the last one stays. A text "@now", or "@now+SECONDS", is the
 * time of the answer in microseconds. Requests go to the log as they came, a
 * line each, but for what the protocol puts around them.
 */
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lanes/proto/client.h"

#define LINES_MAX 64

struct line {
	char *op;
	char *answer;
	bool is_used;
};

struct script {
	struct line lines[LINES_MAX];
	size_t count;
	FILE *log;
};

static void script_load(struct script *script, const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t capacity = 0;

	if (!file)
		err(1, "%s", path);
	while (getline(&text, &capacity, file) > 0) {
		char *space = strchr(text, ' ');

		if (!space || script->count == LINES_MAX)
			errx(1, "%s: bad line: %s", path, text);
		*space = 0;
		space[strcspn(space + 1, "\n") + 1] = 0;
		script->lines[script->count++] = (struct line){
			.op = strdup(text),
			.answer = strdup(space + 1),
		};
	}
	free(text);
	fclose(file);
}

/* The next unused line of the op, or its last one; NULL: it has none. */
static const char *script_next(struct script *script, const char *op)
{
	struct line *found = NULL;

	for (size_t i = 0; i < script->count; i++) {
		if (strcmp(script->lines[i].op, op) != 0)
			continue;
		found = &script->lines[i];
		if (!found->is_used)
			break;
	}
	if (!found)
		return NULL;
	found->is_used = true;
	return found->answer;
}

static void send_all(int fd, const void *bytes, size_t size)
{
	/* The client may be gone: that is its business. */
	if (send(fd, bytes, size, MSG_NOSIGNAL) < 0 && errno != EPIPE &&
	    errno != ECONNRESET)
		err(1, "send");
}

static void send_object(int fd, const json_t *object)
{
	struct writer writer = { 0 };

	if (client_encode_stream(object, &writer) < 0)
		errx(1, "an answer cannot be encoded");
	send_all(fd, writer.data, writer.size);
	writer_fini(&writer);
}

/* Put times in the place of their texts. */
static json_t *fill_times(json_t *value_owned)
{
	const char *text = json_string_value(value_owned);
	struct timespec now;
	const char *name;
	json_t *value;
	size_t i;

	if (text && strncmp(text, "@now", 4) == 0) {
		clock_gettime(CLOCK_REALTIME, &now);
		value = json_integer((now.tv_sec + atoll(text + 4)) * 1000000 +
				     now.tv_nsec / 1000);
		json_decref(value_owned);
		return value;
	}
	json_object_foreach (value_owned, name, value)
		json_object_set_new(value_owned, name,
				    fill_times(json_incref(value)));
	json_array_foreach (value_owned, i, value)
		json_array_set_new(value_owned, i,
				   fill_times(json_incref(value)));
	return value_owned;
}

/* False: the connection is to be closed. */
static bool answer(struct script *script, int fd, const json_t *request)
{
	const char *op = json_string_value(json_object_get(request, "op"));
	const char *text = script_next(script, op ? op : "");
	json_auto_t *object = NULL;

	if (!text) {
		object = client_error(client_id(request), -EOPNOTSUPP,
				      "the script has no such op", op);
		send_object(fd, object);
		return true;
	}
	if (strcmp(text, "!close") == 0)
		return false;
	if (strcmp(text, "!silent") == 0)
		return true;
	if (strcmp(text, "!garbage") == 0) {
		send_all(fd, "\4\0\0\0null", 8);
		return true;
	}
	object = fill_times(json_loads(text, JSON_REJECT_DUPLICATES, NULL));
	if (!json_is_object(object))
		errx(1, "bad answer in the script: %s", text);
	json_object_set_new(object, "v", json_integer(CLIENT_VERSION));
	json_object_set(object, "id", json_object_get(request, "id"));
	if (!json_object_get(object, "result"))
		json_object_set_new(object, "result", json_integer(0));
	send_object(fd, object);
	return true;
}

static void log_request(struct script *script, const json_t *request)
{
	json_auto_t *copy = json_copy((json_t *)request);

	json_object_del(copy, "v");
	json_object_del(copy, "id");
	json_dumpf(copy, script->log, JSON_COMPACT);
	putc('\n', script->log);
}

static void serve(struct script *script, int fd)
{
	struct splitter splitter;
	uint8_t bytes[65536];
	bool is_open = true;
	ssize_t size;

	splitter_init(&splitter, CLIENT_FRAME_MAX);
	while (is_open && (size = read(fd, bytes, sizeof(bytes))) > 0) {
		const uint8_t *frame;
		size_t frame_size;
		json_t *request;

		if (splitter_feed(&splitter, bytes, size) < 0)
			errx(1, "the client sent no frame");
		while (is_open &&
		       splitter_next(&splitter, &frame, &frame_size) > 0) {
			if (client_parse(frame, frame_size, &request, NULL) < 0)
				errx(1, "the client sent no JSON");
			log_request(script, request);
			is_open = answer(script, fd, request);
			json_decref(request);
		}
	}
	splitter_fini(&splitter);
	close(fd);
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(address.sun_path))
		errx(1, "%s is too long", path);
	strcpy(address.sun_path, path);
	if (fd < 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, 8) < 0)
		err(1, "%s", path);
	return fd;
}

static pid_t start(char **argv, const char *path)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (pid > 0)
		return pid;
	setenv("FAIRLEAD_SOCKET", path, 0);
	setenv("FAIRLEAD_NODE_SOCKET", path, 0);
	execvp(argv[0], argv);
	err(127, "%s", argv[0]);
}

/* Serve until the program has ended: its status. */
static int run(struct script *script, int listener, pid_t pid)
{
	struct pollfd fds[] = {
		{ .fd = syscall(SYS_pidfd_open, pid, 0), .events = POLLIN },
		{ .fd = listener, .events = POLLIN },
	};
	int status;

	if (fds[0].fd < 0)
		err(1, "pidfd_open");
	for (;;) {
		if (poll(fds, 2, -1) < 0)
			err(1, "poll");
		if (fds[1].revents)
			serve(script,
			      accept4(listener, NULL, NULL, SOCK_CLOEXEC));
		else if (fds[0].revents)
			break;
	}
	if (waitpid(pid, &status, 0) < 0)
		err(1, "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/fairlead-fake-XXXXXX";
	struct script script = { 0 };
	char path[64];
	int listener, status;

	if (argc < 4)
		errx(2, "usage: fake-daemon SCRIPT LOG PROGRAM ...");
	script_load(&script, argv[1]);
	script.log = fopen(argv[2], "we");
	if (script.log)
		setlinebuf(script.log); /* the program's children may look */
	if (!script.log || !mkdtemp(folder))
		err(1, "%s", argv[2]);
	snprintf(path, sizeof(path), "%s/sock", folder);
	listener = listen_at(path);
	status = run(&script, listener, start(argv + 3, path));
	close(listener);
	unlink(path);
	rmdir(folder);
	fclose(script.log);
	for (size_t i = 0; i < script.count; i++) {
		free(script.lines[i].op);
		free(script.lines[i].answer);
	}
	return status;
}
