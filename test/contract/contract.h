/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every driver has to do, as tests against struct fairlead_driver alone.
 * A driver passes them unchanged; what differs is its fixture: which devices
 * there are, and how to bring about what no operation of a driver does (a
 * device that fails, a process that uses a lane). A bug that is found in one
 * driver becomes a case here.
 *
 *	int main(void)
 *	{
 *		return contract_run(&fixture);
 *	}
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fairlead_driver.h"

struct contract_fixture {
	const struct fairlead_driver *driver;
	const char *options;      /* of a job that wants a lane */
	const char *options_none; /* of one that wants none; NULL: no such */
	const char *options_bad;  /* well formed, and refused */
	/* How variables begin that only some lanes have; NULL: none. */
	const char *some_variables;
	uint32_t device_count; /* 0: the driver makes nothing on nodes */
	uid_t owner;           /* the user of hold and use; set by start */

	/* A fresh node with all its devices; settings for both halves. */
	void (*start)(struct contract_fixture *fixture);
	void (*stop)(struct contract_fixture *fixture);
	struct fairlead_setting settings[8];
	size_t setting_count;

	/* The rest may be NULL where device_count is 0; else there are two. */

	/* The next thing that is made on the second device fails. */
	void (*fail_second)(struct contract_fixture *fixture);
	/* The second device is gone. */
	void (*remove_second)(struct contract_fixture *fixture);
	/* Use an object as the owner: 0 or a negative errno. */
	int (*use)(struct contract_fixture *fixture,
		   const struct fairlead_object *object);
	/* Use it until let_go; returns the process that does, 0: none. */
	pid_t (*hold)(struct contract_fixture *fixture,
		      const struct fairlead_object *object);
	void (*let_go)(struct contract_fixture *fixture);
};

/* Run all cases; returns what main() returns. */
int contract_run(struct contract_fixture *fixture);
/*
 * Those of the manager half, of a driver that has no node half. Its lanes are
 * as if there were devices (device_count).
 */
int contract_run_manager(struct contract_fixture *fixture);

/* --- for the cases --- */

#define CONTRACT_OBJECTS_MAX  64
#define CONTRACT_WARNINGS_MAX 64

struct contract {
	struct contract_fixture *fixture;
	const struct fairlead_driver *driver;
	const struct fairlead_manager_ops *manager;
	const struct fairlead_node_ops *node; /* NULL: it has no node half */
	void *manager_state;
	void *node_state;
};

/* cmocka's set-up and tear-down: the fixture's world, both halves. */
int contract_open(void **state);
int contract_close(void **state);

struct object_list {
	uint32_t count;
	struct fairlead_object list[CONTRACT_OBJECTS_MAX];
};

void objects_read(const struct contract *contract, struct object_list *list);
/* Fails the test unless both have the same objects, in any state of use. */
void objects_assert_equal(const struct object_list *a,
			  const struct object_list *b);
/* The lane's objects among those that are there now. */
void objects_of(const struct contract *contract,
		const struct fairlead_lane *lane, struct object_list *list);

struct warning_list {
	struct fairlead_warnings warnings; /* first */
	uint32_t count;
	char list[CONTRACT_WARNINGS_MAX][600];
};

void warnings_init(struct warning_list *list);

/* The job that is asked for. */
#define CONTRACT_NODES 2
extern const char *const contract_nodes[CONTRACT_NODES];
extern const uint32_t contract_tasks[CONTRACT_NODES];

/* What the driver plans for these options; must succeed. */
void plan_make(const struct contract *contract, const char *options,
	       struct fairlead_plan *ret_plan);
/*
 * A lane as the core would make it from the fixture's options. Lanes with
 * another number have other identifiers.
 */
void lane_make(const struct contract *contract, uint32_t number, uid_t uid,
	       struct fairlead_lane *ret_lane);

/* Make the lane; must succeed. */
void lane_apply(const struct contract *contract,
		const struct fairlead_lane *lane,
		struct fairlead_record *record);
/* 0 or -EBUSY; anything else fails the test. */
int lane_revoke(const struct contract *contract,
		const struct fairlead_lane *lane,
		const struct fairlead_record *record,
		struct fairlead_error *ret_error);

/* An error that a person can read: code, one line or more, no full stop. */
void error_assert(const struct fairlead_error *error, int code);

/* A user that a lane is not for. */
#define OTHER_USER(contract) ((contract)->fixture->owner + 1)
/* The driver makes nothing on nodes: cases expect no objects. */
static inline bool makes_nothing(const struct contract *contract)
{
	return contract->fixture->device_count == 0;
}

#define CONTRACT_CASE(name) \
	cmocka_unit_test_setup_teardown(name, contract_open, contract_close)

extern const struct CMUnitTest contract_manager_cases[];
extern const size_t contract_manager_case_count;
extern const struct CMUnitTest contract_apply_cases[];
extern const size_t contract_apply_case_count;
extern const struct CMUnitTest contract_revoke_cases[];
extern const size_t contract_revoke_case_count;
extern const struct CMUnitTest contract_env_cases[];
extern const size_t contract_env_case_count;
