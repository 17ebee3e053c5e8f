/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node with two NICs, of which cxi0 is open, for whoever runs the test: its
 * uid may make services.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lanes/driver/slingshot/libcxi_abi.h"
#include "emu/cxi/test/daemon.h"

static const char *program; /* path of fairlead-softnic */

struct fixture {
	struct daemon daemon;
	struct cxil_dev *dev; /* cxi0 */
};

static inline int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	daemon_init(&fixture->daemon, program);
	/* Whoever runs the test is who may make services. */
	assert_true(daemon_start(&fixture->daemon, "--nics", "2",
				 "--owner-is-root", NULL));
	assert_int_equal(cxil_open_device(0, &fixture->dev), 0);
	*state = fixture;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *fixture = *state;

	cxil_close_device(fixture->dev);
	daemon_fini(&fixture->daemon);
	free(fixture);
	return 0;
}

static inline struct cxi_svc_desc my_desc(uint16_t vni)
{
	return (struct cxi_svc_desc){
		.restricted_members = true,
		.restricted_vnis = true,
		.resource_limits = true,
		.num_vld_vnis = 1,
		.vnis = { vni },
		.members = { {
			.svc_member.uid = geteuid(),
			.type = CXI_SVC_MEMBER_UID,
		} },
	};
}

static inline unsigned int must_alloc(struct fixture *fixture, uint16_t vni)
{
	struct cxi_svc_desc desc = my_desc(vni);
	int id = cxil_alloc_svc(fixture->dev, &desc, NULL);

	assert_true(id > 0);
	return (unsigned int)id;
}

/* Call with main's arguments before the tests. */
static inline bool node_test_init(int argc, char **argv)
{
	if (argc == 2) {
		program = argv[1];
		return true;
	}
	fprintf(stderr, "usage: %s FAIRLEAD-SOFTNIC\n", argv[0]);
	return false;
}

#define node_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
