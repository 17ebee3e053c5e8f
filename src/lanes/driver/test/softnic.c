/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Everything waits for a descriptor, nothing for the clock: an LNI is held
 * when its process says so.
 */
#include "lanes/driver/test/softnic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lanes/driver/slingshot/libcxi_abi.h"

#define OWNER_UID 64001

static const char *required_env(const char *name)
{
	const char *value = getenv(name);

	if (!value)
		fail_msg("the environment has no %s", name);
	return value;
}

void softnic_init(struct softnic *softnic)
{
	daemon_init(&softnic->daemon, required_env("SOFTNIC"));
	snprintf(softnic->device_path, sizeof(softnic->device_path), "%s/dev",
		 softnic->daemon.dir);
	softnic->settings[0] =
		(struct fairlead_setting){ "library", required_env("LIBCXI"),
					   1 };
	softnic->settings[1] =
		(struct fairlead_setting){ "emulation", "true", 2 };
	softnic->settings[2] =
		(struct fairlead_setting){ "device_path", softnic->device_path,
					   3 };
}

void softnic_stop(struct softnic *softnic)
{
	assert_int_equal(daemon_stop(&softnic->daemon, SIGTERM), 0);
	daemon_fini(&softnic->daemon);
}

void softnic_control(const struct softnic *softnic, const char *format, ...)
{
	char command[256];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	if (daemon_ctl(&softnic->daemon, command) != 0)
		fail_msg("softnic: '%s' failed", command);
}

uid_t softnic_owner(void)
{
	return geteuid() == 0 ? OWNER_UID : geteuid();
}

struct lni_functions {
	__typeof__(&cxil_open_device) open_device;
	__typeof__(&cxil_alloc_lni) alloc_lni;
	__typeof__(&cxil_destroy_lni) destroy_lni;
};

/* The child: say what came of it, wait for a byte from `release`. */
static void use_lni(const struct lni_functions *functions, uint32_t dev_id,
		    uint32_t svc_id, int answer, int release)
{
	struct cxil_lni *lni = NULL;
	struct cxil_dev *dev;
	int result = 0;
	char byte;

	if (geteuid() == 0 && (setresgid(OWNER_UID, OWNER_UID, OWNER_UID) < 0 ||
			       setresuid(OWNER_UID, OWNER_UID, OWNER_UID) < 0))
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of uid would clear it */
	result = functions->open_device(dev_id, &dev);
	if (result == 0)
		result = functions->alloc_lni(dev, &lni, svc_id);
	if (write(answer, &result, sizeof(result)) != sizeof(result))
		_exit(1);
	if (result == 0 && read(release, &byte, 1) == 1)
		functions->destroy_lni(lni);
	_exit(0);
}

int lni_hold(struct lni_holder *holder, uint32_t dev_id, uint32_t svc_id)
{
	void *library = dlopen(required_env("LIBCXI"), RTLD_NOW);
	struct lni_functions functions;
	int answer[2];
	int release[2];
	int result;

	assert_non_null(library);
	functions.open_device = dlsym(library, "cxil_open_device");
	functions.alloc_lni = dlsym(library, "cxil_alloc_lni");
	functions.destroy_lni = dlsym(library, "cxil_destroy_lni");
	assert_int_equal(pipe(answer), 0);
	assert_int_equal(pipe(release), 0);
	holder->pid = fork();
	assert_true(holder->pid >= 0);
	if (holder->pid == 0) {
		close(release[1]);
		use_lni(&functions, dev_id, svc_id, answer[1], release[0]);
	}
	close(answer[1]);
	close(release[0]);
	holder->release = release[1];
	assert_int_equal(read(answer[0], &result, sizeof(result)),
			 sizeof(result));
	close(answer[0]);
	dlclose(library);
	if (result < 0) {
		close(holder->release);
		assert_int_equal(waitpid(holder->pid, NULL, 0), holder->pid);
		holder->pid = 0;
	}
	return result;
}

void lni_release(struct lni_holder *holder)
{
	int status;

	assert_int_equal(write(holder->release, "", 1), 1);
	close(holder->release);
	assert_int_equal(waitpid(holder->pid, &status, 0), holder->pid);
	assert_int_equal(status, 0);
	holder->pid = 0;
}

/* The child: all that it can have are gone with it. */
static void fill_lnis(const struct lni_functions *functions, uint32_t dev_id,
		      uint32_t svc_id, uint32_t count, int answer)
{
	struct cxil_lni *lni = NULL;
	struct cxil_dev *dev;
	uint32_t had = 0;

	if (geteuid() == 0 && (setresgid(OWNER_UID, OWNER_UID, OWNER_UID) < 0 ||
			       setresuid(OWNER_UID, OWNER_UID, OWNER_UID) < 0))
		_exit(1);
	if (functions->open_device(dev_id, &dev) < 0)
		_exit(1);
	while (had < count && functions->alloc_lni(dev, &lni, svc_id) == 0)
		had++;
	_exit(write(answer, &had, sizeof(had)) != sizeof(had));
}

uint32_t lni_fill(uint32_t dev_id, uint32_t svc_id, uint32_t count)
{
	void *library = dlopen(required_env("LIBCXI"), RTLD_NOW);
	struct lni_functions functions;
	uint32_t had;
	int answer[2];
	int status;
	pid_t pid;

	assert_non_null(library);
	functions.open_device = dlsym(library, "cxil_open_device");
	functions.alloc_lni = dlsym(library, "cxil_alloc_lni");
	assert_int_equal(pipe(answer), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		fill_lnis(&functions, dev_id, svc_id, count, answer[1]);
	close(answer[1]);
	assert_int_equal(read(answer[0], &had, sizeof(had)), sizeof(had));
	close(answer[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	dlclose(library);
	return had;
}

int lni_try(uint32_t dev_id, uint32_t svc_id)
{
	struct lni_holder holder = { 0 };
	int result = lni_hold(&holder, dev_id, svc_id);

	if (result == 0)
		lni_release(&holder);
	return result;
}
