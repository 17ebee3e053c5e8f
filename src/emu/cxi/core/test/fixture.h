/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the core's tests share: a node with two NICs, root with NIC 0 open, and
 * short ways to make services. A test changes `config` and calls node_open
 * again where it wants another node.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cxi/core/softnic.h"

#define USER_UID  1000
#define USER_GID  100
#define OTHER_UID 1001
#define ROOT_PID  10
#define USER_PID  20

/* The ids that a fresh NIC has: default and ethernet. */
#define FIRST_ID 3

struct fixture {
	struct softnic_config config;
	struct softnic *softnic;
	struct softnic_client *root;
};

static inline struct softnic_client *client_of(struct fixture *fixture,
					       uint32_t uid, uint32_t gid,
					       uint32_t nic)
{
	struct softnic_caller caller = {
		.uid = uid,
		.gid = gid,
		.pid = uid == 0 ? ROOT_PID : USER_PID,
		.netns = 4026531840u,
		.is_privileged = uid == 0,
	};
	struct softnic_client *client = NULL;

	assert_int_equal(softnic_open(fixture->softnic, &caller, nic, &client),
			 0);
	return client;
}

static inline void node_close(struct fixture *fixture)
{
	softnic_close(fixture->root);
	softnic_destroy(fixture->softnic);
	fixture->root = NULL;
	fixture->softnic = NULL;
}

/* Boot a node of fixture->config, in place of the one there was. */
static inline void node_open(struct fixture *fixture)
{
	node_close(fixture);
	assert_int_equal(softnic_create(&fixture->config, &fixture->softnic),
			 0);
	fixture->root = client_of(fixture, 0, 0, 0);
}

static inline int fixture_setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	softnic_config_init(&fixture->config);
	fixture->config.nic_count = 2;
	node_open(fixture);
	*state = fixture;
	return 0;
}

static inline int fixture_teardown(void **state)
{
	struct fixture *fixture = *state;

	node_close(fixture);
	free(fixture);
	return 0;
}

/* As a job's: one user, one VNI, limits that are all zero. */
static inline struct cxi_svc_desc desc_of(uint32_t uid, uint16_t vni)
{
	return (struct cxi_svc_desc){
		.restricted_members = true,
		.restricted_vnis = true,
		.resource_limits = true,
		.num_vld_vnis = 1,
		.vnis = { vni },
		.members = { {
			.svc_member.uid = uid,
			.type = CXI_SVC_MEMBER_UID,
		} },
	};
}

static inline int alloc(struct fixture *fixture,
			const struct cxi_svc_desc *desc)
{
	struct cxi_svc_fail_info fail_info;

	return softnic_service_alloc(fixture->root, desc, &fail_info);
}

/* A service that must come about; returns its id. */
static inline uint32_t must_alloc(struct fixture *fixture, uint32_t uid,
				  uint16_t vni)
{
	struct cxi_svc_desc desc = desc_of(uid, vni);
	int id = alloc(fixture, &desc);

	assert_true(id > 0);
	return (uint32_t)id;
}

/* The service as listed. */
static inline struct cxi_svc_desc must_get(struct fixture *fixture, uint32_t id)
{
	struct cxi_svc_desc desc;

	assert_int_equal(softnic_service_get(fixture->root, id, &desc), 0);
	return desc;
}

#define fixture_test(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
