/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends: of devices, of processes that hold LNIs, of NICs, of the node, of the
 * daemon. Usage: death_test PATH-OF-fairlead-softnic.
 */
#include "emu/cxi/test/node_fixture.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define EVENTUALLY_SECONDS 60

/*
 * The death of a process reaches the daemon on another connection than the
 * next request, so the service may be busy for a moment.
 */
static void assert_destroyed_eventually(struct fixture *fixture,
					unsigned int id)
{
	time_t deadline = time(NULL) + EVENTUALLY_SECONDS;
	int result;

	while ((result = cxil_destroy_svc(fixture->dev, id)) == -EBUSY &&
	       time(NULL) < deadline)
		sched_yield();
	assert_int_equal(result, 0);
}

/* A child that holds an LNI of the service until it is killed. */
static pid_t hold_in_child(unsigned int id)
{
	int ready[2];
	char byte = 0;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct cxil_lni *lni;
		struct cxil_dev *dev;

		if (cxil_open_device(0, &dev) == 0 &&
		    cxil_alloc_lni(dev, &lni, id) == 0)
			byte = 1;
		if (write(ready[1], &byte, 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 1);
	close(ready[0]);
	return pid;
}

static void without_a_daemon_there_are_no_devices(void **state)
{
	struct fixture *fixture = *state;
	struct cxil_device_list *list = NULL;
	struct cxil_dev *dev = NULL;

	daemon_stop(&fixture->daemon, SIGKILL);
	assert_int_equal(cxil_get_device_list(&list), 0);
	assert_int_equal(list->count, 0);
	cxil_free_device_list(list);
	/* The file is there, nobody behind it. */
	assert_int_equal(cxil_open_device(0, &dev), -ENOENT);
	assert_true(daemon_start(&fixture->daemon, NULL));
	daemon_stop(&fixture->daemon, SIGTERM);
	assert_int_equal(cxil_get_device_list(&list), 0);
	assert_int_equal(list->count, 0);
	cxil_free_device_list(list);
}

static void closing_a_device_frees_its_lnis(void **state)
{
	struct fixture *fixture = *state;
	unsigned int id = must_alloc(fixture, 1024);
	struct cxil_dev *second = NULL;
	struct cxil_lni *lni = NULL;

	assert_int_equal(cxil_open_device(0, &second), 0);
	assert_int_equal(cxil_alloc_lni(second, &lni, id), 0);
	assert_int_equal(cxil_destroy_svc(fixture->dev, id), -EBUSY);
	cxil_close_device(second);
	free(lni); /* the test's part: the device is not there to do it */
	assert_destroyed_eventually(fixture, id);
}

static void killed_holder_lets_go(void **state)
{
	struct fixture *fixture = *state;
	unsigned int id = must_alloc(fixture, 1024);
	pid_t pid = hold_in_child(id);

	assert_int_equal(cxil_destroy_svc(fixture->dev, id), -EBUSY);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_destroyed_eventually(fixture, id);
}

static void freed_lni_lingers_as_configured(void **state)
{
	struct fixture *fixture = *state;
	struct cxil_lni *lni = NULL;
	unsigned int id;

	cxil_close_device(fixture->dev);
	daemon_stop(&fixture->daemon, SIGTERM);
	assert_true(daemon_start(&fixture->daemon, "--cleanup-ms", "86400000",
				 "--owner-is-root", NULL));
	assert_int_equal(cxil_open_device(0, &fixture->dev), 0);
	id = must_alloc(fixture, 1024);
	assert_int_equal(cxil_alloc_lni(fixture->dev, &lni, id), 0);
	assert_int_equal(cxil_destroy_lni(lni), 0);
	assert_int_equal(cxil_destroy_svc(fixture->dev, id), -EBUSY);
}

static void removed_device_is_gone_until_restored(void **state)
{
	struct fixture *fixture = *state;
	struct cxil_device_list *list = NULL;
	struct cxil_dev *again = NULL;
	struct cxil_lni *lni = NULL;
	struct cxi_svc_desc desc;
	unsigned int id = must_alloc(fixture, 1024);

	assert_int_equal(cxil_alloc_lni(fixture->dev, &lni, id), 0);
	assert_int_equal(daemon_ctl(&fixture->daemon, "remove nic=0"), 0);
	assert_int_equal(cxil_get_device_list(&list), 0);
	assert_int_equal(list->count, 1);
	assert_string_equal(list->info[0].device_name, "cxi1");
	cxil_free_device_list(list);
	assert_int_equal(cxil_open_device(0, &again), -ENOENT);
	assert_int_equal(cxil_destroy_svc(fixture->dev, id), -EIO);
	assert_int_equal(cxil_destroy_lni(lni), -EIO); /* and frees it */
	assert_int_equal(daemon_ctl(&fixture->daemon, "restore nic=0"), 0);
	assert_int_equal(cxil_get_svc(fixture->dev, 1, &desc), -EIO);
	assert_int_equal(cxil_open_device(0, &again), 0);
	assert_int_equal(cxil_get_svc(again, 1, &desc), 0);
	assert_int_equal(cxil_get_svc(again, id, &desc), -EINVAL);
	cxil_close_device(again);
}

static void reboot_cuts_off_and_is_another_incarnation(void **state)
{
	struct fixture *fixture = *state;
	char *before = daemon_read(&fixture->daemon, "boot_id");
	unsigned int id = must_alloc(fixture, 1024);
	struct cxil_dev *again = NULL;
	struct cxi_svc_desc desc;
	char *after;

	assert_non_null(before);
	assert_int_equal(strlen(before), 37);
	assert_int_equal(daemon_ctl(&fixture->daemon, "reboot"), 0);
	after = daemon_read(&fixture->daemon, "boot_id");
	assert_non_null(after);
	assert_string_not_equal(before, after);
	assert_int_equal(cxil_get_svc(fixture->dev, 1, &desc), -EIO);
	assert_int_equal(cxil_open_device(0, &again), 0);
	assert_int_equal(cxil_get_svc(again, id, &desc), -EINVAL);
	cxil_close_device(again);
	free(before);
	free(after);
}

static void killed_daemon_starts_again_as_a_reboot(void **state)
{
	struct fixture *fixture = *state;
	char *before = daemon_read(&fixture->daemon, "boot_id");
	struct cxi_svc_desc desc;
	char *after;

	must_alloc(fixture, 1024);
	daemon_stop(&fixture->daemon, SIGKILL);
	assert_int_equal(cxil_get_svc(fixture->dev, 1, &desc), -EIO);
	assert_true(daemon_start(&fixture->daemon, "--owner-is-root", NULL));
	after = daemon_read(&fixture->daemon, "boot_id");
	assert_non_null(before);
	assert_non_null(after);
	assert_string_not_equal(before, after);
	cxil_close_device(fixture->dev);
	assert_int_equal(cxil_open_device(0, &fixture->dev), 0);
	assert_int_equal(must_alloc(fixture, 1024), 3);
	free(before);
	free(after);
}

static void second_daemon_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct daemon second = fixture->daemon;
	struct cxi_svc_desc desc;

	second.pid = 0;
	assert_false(daemon_start(&second, NULL));
	assert_int_equal(cxil_get_svc(fixture->dev, 1, &desc), 0);
}

static void clean_end_leaves_no_file(void **state)
{
	struct fixture *fixture = *state;
	int status = daemon_stop(&fixture->daemon, SIGTERM);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(rmdir(fixture->daemon.dir), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		node_test(without_a_daemon_there_are_no_devices),
		node_test(closing_a_device_frees_its_lnis),
		node_test(killed_holder_lets_go),
		node_test(freed_lni_lingers_as_configured),
		node_test(removed_device_is_gone_until_restored),
		node_test(reboot_cuts_off_and_is_another_incarnation),
		node_test(killed_daemon_starts_again_as_a_reboot),
		node_test(second_daemon_is_refused),
		node_test(clean_end_leaves_no_file),
	};

	if (!node_test_init(argc, argv))
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
