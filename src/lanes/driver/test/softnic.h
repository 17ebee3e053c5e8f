/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A software NIC for one test of the driver: the daemon, the settings by which
 * the driver finds it, and processes that use a service. The environment
 * variables SOFTNIC and LIBCXI say which daemon and which library; meson sets
 * them. Whatever goes wrong here fails the running test.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "emu/cxi/test/daemon.h"
#include "fairlead_driver.h"

#define SOFTNIC_SETTINGS 3 /* library, emulation, device_path */

struct softnic {
	struct daemon daemon;
	char device_path[96];
	struct fairlead_setting settings[SOFTNIC_SETTINGS];
};

/*
 * Start the daemon with further options. This process's uid counts as root
 * there, and LNIs that are freed do not linger.
 */
#define softnic_start(softnic, ...)                                      \
	(softnic_init(softnic),                                          \
	 assert_true(daemon_start(&(softnic)->daemon, "--owner-is-root", \
				  "--cleanup-ms", "0", __VA_ARGS__, NULL)))
void softnic_init(struct softnic *softnic);
void softnic_stop(struct softnic *softnic);
/* One control command; it must succeed. */
void softnic_control(const struct softnic *softnic, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A uid that is not root's, and as which this process can act. */
uid_t softnic_owner(void);

/* A process that holds an LNI. */
struct lni_holder {
	pid_t pid;
	int release;
};

/*
 * Allocate an LNI of a service as softnic_owner(), in a process of its own.
 * 0: holder has it until lni_release(); or the library's negative errno.
 */
int lni_hold(struct lni_holder *holder, uint32_t dev_id, uint32_t svc_id);
/* Returns when the LNI has been freed and its process has ended. */
void lni_release(struct lni_holder *holder);
/* How many of `count` LNIs one process can have at once, for the tests' end. */
uint32_t lni_fill(uint32_t dev_id, uint32_t svc_id, uint32_t count);
/* As lni_hold, and released at once. */
int lni_try(uint32_t dev_id, uint32_t svc_id);
