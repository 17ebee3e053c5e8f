/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program itself: how it starts, says that it serves, reads its files
 * again, and ends. FAIRLEADD names it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lanes/proto/client.h"
#include "lanes/proto/keyfile.h"
#include "sys/rng.h"
#include "sys/test/watchdog.h"

#define PATIENCE_MS   60000
#define ARGUMENTS_MAX 12
#define READY_FD      9

struct bench {
	char folder[40];
	char conf[64];
	char output[65536]; /* of all runs, standard output and error */
	pid_t pid;
	int output_fd;
	int ready_fd;
	const char *user;
	const char *fabric; /* its section; NULL: empty */
	rlim_t descriptors; /* the limit of the next start; 0: as ours */
};

static void write_file(const struct bench *bench, const char *name, mode_t mode,
		       const void *bytes, size_t size)
{
	const struct passwd *entry = getpwnam(bench->user);
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", bench->folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
	assert_int_equal(write(fd, bytes, size), size);
	if (getuid() == 0 && mode == 0600)
		assert_int_equal(fchown(fd, entry->pw_uid, entry->pw_gid), 0);
	close(fd);
}

static void write_config(const struct bench *bench, const char *more)
{
	char text[2048];

	snprintf(text, sizeof(text),
		 "cluster = \"test\"\n"
		 "manager {\n"
		 "	listen = \"127.0.0.1:0\"\n"
		 "	socket = \"%s/run/manager.sock\"\n"
		 "	state = \"%s/state\"\n"
		 "	key = \"%s/manager.key\"\n"
		 "	nodes = \"n[0-3]\"\n"
		 "	user = \"%s\"\n"
		 "	%s\n"
		 "}\n"
		 "node {\n"
		 "	name = \"n0\"\n"
		 "	manager = \"127.0.0.1:9\"\n"
		 "	socket = \"%s/run/node.sock\"\n"
		 "	run = \"%s/run/node\"\n"
		 "	jobs = \"%s/run/jobs\"\n"
		 "	key = \"%s/node.key\"\n"
		 "	user = \"%s\"\n"
		 "}\n"
		 "fabric { %s }\n",
		 bench->folder, bench->folder, bench->folder, bench->user, more,
		 bench->folder, bench->folder, bench->folder, bench->folder,
		 bench->user, bench->fabric ? bench->fabric : "");
	write_file(bench, "conf", 0644, text, strlen(text));
}

static void write_keys(const struct bench *bench)
{
	struct rng_seam rng = sys_rng();
	struct writer manager = { 0 };
	struct writer node = { 0 };
	struct manager_keys keys;
	struct node_keys node_keys;

	manager_keys_create(&rng, &keys);
	assert_int_equal(manager_keys_format(&keys, &manager), 0);
	assert_int_equal(node_keys_make(&keys, "n0", &node_keys, NULL), 0);
	assert_int_equal(node_keys_format(&node_keys, &node), 0);
	write_file(bench, "manager.key", 0600, manager.data, manager.size);
	write_file(bench, "node.key", 0600, node.data, node.size);
	writer_fini(&manager);
	writer_fini(&node);
}

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	watchdog_start(bench->output);
	assert_true(sodium_init() >= 0);
	strcpy(bench->folder, "/tmp/fairlead-daemon-XXXXXX");
	assert_non_null(mkdtemp(bench->folder));
	assert_int_equal(chmod(bench->folder, 0755), 0);
	snprintf(bench->conf, sizeof(bench->conf), "%s/conf", bench->folder);
	bench->user = "root";
	bench->output_fd = -1;
	bench->ready_fd = -1;
	write_config(bench, "");
	write_keys(bench);
	*state = bench;
	return 0;
}

static int remove_entry(const char *path, const struct stat *status, int flag,
			struct FTW *ftw)
{
	return remove(path);
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	if (bench->pid > 0) {
		kill(bench->pid, SIGKILL);
		waitpid(bench->pid, NULL, 0);
	}
	close(bench->output_fd);
	close(bench->ready_fd);
	assert_int_equal(
		nftw(bench->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
	watchdog_stop();
	free(bench);
	return 0;
}

static void limit_descriptors(rlim_t count)
{
	const struct rlimit limit = { .rlim_cur = count, .rlim_max = count };

	if (count > 0 && setrlimit(RLIMIT_NOFILE, &limit) < 0)
		_exit(125);
}

/* Start the program with these arguments, the last one NULL. */
static void start(struct bench *bench, ...)
{
	char *arguments[ARGUMENTS_MAX + 1] = { getenv("FAIRLEADD") };
	int output[2];
	int ready[2];
	size_t count = 1;
	va_list args;

	va_start(args, bench);
	while ((arguments[count] = va_arg(args, char *)) != NULL)
		assert_true(++count <= ARGUMENTS_MAX);
	va_end(args);
	/* Before others are made: none may get the number READY_FD. */
	close(bench->output_fd);
	close(bench->ready_fd);
	assert_int_equal(pipe2(output, O_CLOEXEC), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	bench->pid = fork();
	if (bench->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* when the test hangs */
		dup2(output[1], STDOUT_FILENO);
		dup2(output[1], STDERR_FILENO);
		dup2(ready[1], READY_FD);
		limit_descriptors(bench->descriptors);
		execv(arguments[0], arguments);
		_exit(126);
	}
	close(output[1]);
	close(ready[1]);
	bench->output_fd = output[0];
	bench->ready_fd = ready[0];
}

/* More of what it writes; false at its end. */
static bool read_output(struct bench *bench)
{
	struct pollfd poll_fd = { .fd = bench->output_fd, .events = POLLIN };
	size_t used = strlen(bench->output);
	ssize_t count;

	if (poll(&poll_fd, 1, PATIENCE_MS) != 1)
		fail_msg("nothing happened; so far:\n%s", bench->output);
	count = read(bench->output_fd, bench->output + used,
		     sizeof(bench->output) - 1 - used);
	assert_true(count >= 0);
	bench->output[used + (size_t)count] = 0;
	return count > 0;
}

static void wait_for(struct bench *bench, const char *words)
{
	while (strstr(bench->output, words) == NULL) {
		if (!read_output(bench))
			fail_msg("no '%s' in:\n%s", words, bench->output);
	}
}

/* Its exit code, once it has ended. */
static int finish(struct bench *bench)
{
	int status;

	while (read_output(bench))
		;
	assert_int_equal(waitpid(bench->pid, &status, 0), bench->pid);
	bench->pid = 0;
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void wait_ready(struct bench *bench)
{
	struct pollfd poll_fd = { .fd = bench->ready_fd, .events = POLLIN };
	char byte;

	assert_int_equal(poll(&poll_fd, 1, PATIENCE_MS), 1);
	if (read(bench->ready_fd, &byte, 1) != 1) {
		finish(bench);
		fail_msg("it did not start:\n%s", bench->output);
	}
}

static void serve(struct bench *bench, const char *role)
{
	char fd[8];

	snprintf(fd, sizeof(fd), "%d", READY_FD);
	start(bench, "--role", role, "--config", bench->conf, "--ready-fd", fd,
	      NULL);
	wait_ready(bench);
}

static void stop(struct bench *bench)
{
	assert_int_equal(kill(bench->pid, SIGTERM), 0);
	if (finish(bench) != 0)
		fail_msg("%s", bench->output);
}

/* The manager's answer to an op without members; to be freed. */
static json_t *ask(struct bench *bench, const char *op)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct fairlead_error error;
	struct splitter splitter;
	struct writer writer = { 0 };
	json_t *object = client_request(1, op);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const uint8_t *frame;
	char bytes[4096];
	ssize_t count;
	size_t size;
	int result;

	snprintf(address.sun_path, sizeof(address.sun_path),
		 "%s/run/manager.sock", bench->folder);
	assert_int_equal(
		connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(client_encode_stream(object, &writer), 0);
	json_decref(object);
	assert_int_equal(write(fd, writer.data, writer.size), writer.size);
	writer_fini(&writer);
	splitter_init(&splitter, CLIENT_FRAME_MAX);
	while ((result = splitter_next(&splitter, &frame, &size)) == 0) {
		count = read(fd, bytes, sizeof(bytes));
		assert_true(count > 0);
		assert_int_equal(splitter_feed(&splitter, bytes, (size_t)count),
				 0);
	}
	assert_int_equal(result, 1);
	assert_int_equal(client_parse(frame, size, &object, &error), 0);
	splitter_fini(&splitter);
	close(fd);
	return object;
}

static void a_manager_serves_and_stops(void **state)
{
	struct bench *bench = *state;
	json_t *answer;

	serve(bench, "manager");
	answer = ask(bench, "status");
	assert_int_equal(json_integer_value(json_object_get(answer, "result")),
			 0);
	assert_string_equal(
		json_string_value(json_object_get(answer, "cluster")), "test");
	json_decref(answer);
	stop(bench);
	assert_non_null(strstr(bench->output, "stopping signal=15"));
}

/* Each of them would end it, or have it listen elsewhere. */
static void environment_does_not_steer_libfabric(void **state)
{
	static const char *const names[] = { "FI_PROVIDER", "FI_TCP_IFACE",
					     "FI_OFI_RXM_BUFFER_SIZE",
					     "SCOLL_TREE" };
	struct bench *bench = *state;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		setenv(names[i], "nothing", 1);
	bench->fabric = "provider = \"tcp;ofi_rxm\"";
	write_config(bench, "");
	serve(bench, "manager");
	stop(bench);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
	assert_non_null(strstr(bench->output, "the endpoint is open "
					      "provider=tcp;ofi_rxm "
					      "host=127.0.0.1"));
}

static void assert_fabric_refused(struct bench *bench, const char *fabric,
				  const char *text)
{
	bench->fabric = fabric;
	bench->output[0] = 0;
	write_config(bench, "");
	start(bench, "--role", "manager", "--config", bench->conf, NULL);
	assert_int_equal(finish(bench), EXIT_FAILURE);
	if (strstr(bench->output, text) == NULL)
		fail_msg("no '%s' in:\n%s", text, bench->output);
}

static void fabric_that_is_not_here_is_refused_with_a_hint(void **state)
{
	struct bench *bench = *state;

	assert_fabric_refused(bench, "provider = nothing",
			      "'fi_info -l' lists those");
	assert_fabric_refused(
		bench, "provider = \"a b\"",
		"'provider': 'a b' is neither tcp nor the name of a provider");
	assert_fabric_refused(bench, "listen = \"192.0.2.1\"",
			      "'192.0.2.1' is no address of this machine");
	assert_fabric_refused(bench, "listen = \"fl-none\"",
			      "no interface 'fl-none'");
	assert_fabric_refused(bench, "listen = \"eth0:x\"",
			      "'listen': address 'eth0:x': the port");
}

/* The guard has root's rights, and nothing of those that libfabric brings. */
static void guard_has_no_libfabric(void **state)
{
	struct bench *bench = *state;
	char command[160];

	bench->fabric = "provider = \"tcp;ofi_rxm\"";
	write_config(bench, "");
	serve(bench, "both");
	snprintf(command, sizeof(command), "grep -q libfabric /proc/%d/maps",
		 bench->pid);
	assert_int_equal(system(command), 0);
	snprintf(command, sizeof(command),
		 "guard=$(pgrep -P %d) && test -n \"$guard\" && ! grep -q -E "
		 "'libfabric|psm' /proc/$guard/maps",
		 bench->pid);
	if (getuid() == 0)
		assert_int_equal(system(command), 0);
	stop(bench);
}

static void the_service_manager_is_notified(void **state)
{
	static const char *const roles[] = { "manager", "node", "both" };
	struct bench *bench = *state;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/notify",
		 bench->folder);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)),
			 0);
	setenv("NOTIFY_SOCKET", address.sun_path, 1);
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		char text[64] = "";

		serve(bench, roles[i]);
		assert_int_equal(recv(fd, text, sizeof(text) - 1, 0), 7);
		assert_string_equal(text, "READY=1");
		stop(bench);
		assert_int_equal(recv(fd, text, sizeof(text) - 1, 0), 10);
		assert_string_equal(text, "STOPPING=1");
	}
	unsetenv("NOTIFY_SOCKET");
	close(fd);
}

static void hangup_reads_the_configuration_again(void **state)
{
	struct bench *bench = *state;

	serve(bench, "manager");
	write_config(bench, "apply_timeout = 31");
	kill(bench->pid, SIGHUP);
	wait_for(bench, "info: reloaded");
	write_config(bench, "colour = red");
	kill(bench->pid, SIGHUP);
	wait_for(bench, "conf:9: 'colour': no such setting");
	json_decref(ask(bench, "status"));
	stop(bench);
}

static void all_errors_of_the_configuration_are_printed(void **state)
{
	struct bench *bench = *state;

	write_config(bench, "colour = red\nshape = round");
	start(bench, "--check-config", "--config", bench->conf, NULL);
	assert_int_equal(finish(bench), 1);
	assert_non_null(strstr(bench->output, "conf:9: "));
	assert_non_null(strstr(bench->output, "conf:10: "));
	write_config(bench, "");
	start(bench, "--check-config", "--config", bench->conf, "--role",
	      "manager", NULL);
	assert_int_equal(finish(bench), 0);
}

/* For four nodes 7 links, of which 3 may be being closed. */
static void a_limit_of_descriptors_that_is_too_low_is_said(void **state)
{
	static const char text[] = "connected_max=3 configured=4 needed=156 ";
	struct bench *bench = *state;

	bench->descriptors = 155;
	start(bench, "--check-config", "--config", bench->conf, "--role",
	      "manager", NULL);
	assert_int_equal(finish(bench), 0);
	assert_non_null(strstr(bench->output, text));
	bench->output[0] = 0;
	serve(bench, "manager");
	stop(bench);
	assert_non_null(strstr(bench->output, text));
	bench->output[0] = 0;
	bench->descriptors = 156;
	serve(bench, "manager");
	stop(bench);
	assert_null(strstr(bench->output, "descriptors"));
}

static void files_of_the_role_are_checked(void **state)
{
	struct bench *bench = *state;
	char path[64];

	snprintf(path, sizeof(path), "%s/manager.key", bench->folder);
	assert_int_equal(chmod(path, 0644), 0);
	start(bench, "--role", "manager", "--config", bench->conf, NULL);
	assert_int_equal(finish(bench), 1);
	assert_non_null(strstr(bench->output, "others can use it"));
}

static void wrong_usage_has_its_own_exit_status(void **state)
{
	static const char *const words[] = { "--role is missing",
					     "--waive goes with --recover" };
	struct bench *bench = *state;

	start(bench, "--config", bench->conf, NULL);
	assert_int_equal(finish(bench), 2);
	assert_non_null(strstr(bench->output, words[0]));
	start(bench, "--role", "manager", "--waive", "n0", NULL);
	assert_int_equal(finish(bench), 2);
	assert_non_null(strstr(bench->output, words[1]));
	start(bench, "--role", "node", "--recover", NULL);
	assert_int_equal(finish(bench), 2);
	start(bench, "--version", NULL);
	assert_int_equal(finish(bench), 0);
	assert_non_null(strstr(bench->output, "fairleadd " FAIRLEAD_VERSION));
}

static void a_second_manager_says_who_has_the_journal(void **state)
{
	struct bench *bench = *state;
	struct bench second;
	char pid[32];

	serve(bench, "manager");
	second = *bench;
	second.output_fd = -1;
	second.ready_fd = -1;
	second.output[0] = 0;
	start(&second, "--role", "manager", "--config", bench->conf, NULL);
	assert_int_equal(finish(&second), 1);
	snprintf(pid, sizeof(pid), "%d", bench->pid);
	assert_non_null(strstr(second.output, pid));
	close(second.output_fd);
	close(second.ready_fd);
	stop(bench);
}

static void a_killed_manager_leaves_a_journal_that_agrees(void **state)
{
	struct bench *bench = *state;
	int status;

	serve(bench, "manager");
	kill(bench->pid, SIGKILL);
	assert_int_equal(waitpid(bench->pid, &status, 0), bench->pid);
	start(bench, "--check-journal", "--config", bench->conf, NULL);
	assert_int_equal(finish(bench), 0);
	assert_non_null(strstr(bench->output, " 0 contradictions"));
	serve(bench, "manager");
	stop(bench);
}

static void a_recovery_can_waive_nodes(void **state)
{
	struct bench *bench = *state;
	char fd[8];
	json_t *answer;

	snprintf(fd, sizeof(fd), "%d", READY_FD);
	start(bench, "--role", "manager", "--config", bench->conf, "--recover",
	      "--waive", "n[0-2]", "--ready-fd", fd, NULL);
	wait_ready(bench);
	answer = ask(bench, "status");
	assert_string_equal(
		json_string_value(json_object_get(answer, "awaited")), "n3");
	json_decref(answer);
	stop(bench);
}

/* The real uid of the process, as the kernel says it. */
static uid_t uid_of(pid_t pid)
{
	char path[64];
	char line[256];
	unsigned int uid = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL)
		sscanf(line, "Uid: %u", &uid);
	fclose(file);
	return uid;
}

/* The library that the daemon loads, where all users can reach it. */
static void copy_library(struct bench *bench)
{
	char command[128];

	snprintf(command, sizeof(command),
		 "cp \"${FAIRLEADD%%/*}\"/../../scoll/api/libscoll.so.0 %s",
		 bench->folder);
	assert_int_equal(system(command), 0);
	assert_int_equal(setenv("LD_LIBRARY_PATH", bench->folder, 1), 0);
}

static void privileges_are_given_up(void **state)
{
	struct bench *bench = *state;
	struct stat status;
	char path[64];

	if (getuid() != 0) {
		print_message("needs root, to become somebody else\n");
		skip();
	}
	bench->user = "nobody";
	copy_library(bench);
	write_config(bench, "");
	write_keys(bench);
	serve(bench, "manager");
	assert_int_equal(uid_of(bench->pid), getpwnam("nobody")->pw_uid);
	snprintf(path, sizeof(path), "%s/state", bench->folder);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_uid, getpwnam("nobody")->pw_uid);
	assert_int_equal(status.st_mode & 07777, 0700);
	snprintf(path, sizeof(path), "%s/run", bench->folder);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_uid, 0);
	assert_int_equal(status.st_mode & 07777, 01775);
	stop(bench);
}

static void both_roles_run_in_one_daemon(void **state)
{
	struct bench *bench = *state;

	serve(bench, "both");
	json_decref(ask(bench, "status"));
	stop(bench);
}

static void a_daemon_without_its_guard_ends(void **state)
{
	struct bench *bench = *state;
	char path[64];
	char text[32] = "";
	FILE *file;

	serve(bench, "node");
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", bench->pid,
		 bench->pid);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_int_equal(kill(atoi(text), SIGKILL), 0);
	assert_int_equal(finish(bench), 1);
	assert_non_null(strstr(bench->output, "guard"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_manager_serves_and_stops),
		TEST(environment_does_not_steer_libfabric),
		TEST(fabric_that_is_not_here_is_refused_with_a_hint),
		TEST(guard_has_no_libfabric),
		TEST(the_service_manager_is_notified),
		TEST(hangup_reads_the_configuration_again),
		TEST(all_errors_of_the_configuration_are_printed),
		TEST(a_limit_of_descriptors_that_is_too_low_is_said),
		TEST(files_of_the_role_are_checked),
		TEST(wrong_usage_has_its_own_exit_status),
		TEST(a_second_manager_says_who_has_the_journal),
		TEST(a_killed_manager_leaves_a_journal_that_agrees),
		TEST(a_recovery_can_waive_nodes),
		TEST(privileges_are_given_up),
		TEST(both_roles_run_in_one_daemon),
		TEST(a_daemon_without_its_guard_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
