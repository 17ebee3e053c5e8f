/* SPDX-License-Identifier: BSD-3-Clause */
/* What drivers have in common whose lanes are made of VNIs. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/idset.h"
#include "base/error.h"
#include "base/settings.h"
#include "fairlead_driver.h"

/* What a driver's VNIs are, for its setting vni_pool. */
struct vnis {
	uint32_t limit;    /* VNIs are below it */
	const char *range; /* that a pool must be within, for people */
	/* Optional. Why it cannot be a pool; NULL: it can. 0 is no VNI. */
	const char *(*flaw)(const struct idset *pool);
};

/* Can the text be the pool? ret_pool may be NULL. -EINVAL with a text. */
int vnis_check(const struct vnis *vnis, const char *text,
	       struct idset **ret_pool, struct fairlead_error *ret_error);

/* What the manager half needs of the settings; first in those of a driver. */
struct vnis_settings {
	const char *pool; /* id set */
	uint32_t default_count;
	bool is_reserve_fatal;
};

/* Their rows of the table of settings; pool_type: of the setting vni_pool. */
#define VNIS_SETTINGS(pool_type, pool_default, pool_help, count_max)         \
	{ "vni_pool",                                                        \
	  &(pool_type),                                                      \
	  offsetof(struct vnis_settings, pool),                              \
	  pool_default,                                                      \
	  0,                                                                 \
	  pool_help },                                                       \
		VNIS_SETTING(                                                \
			"default_vnis", settings_number, default_count, "1", \
			"Default number of VNIs of a job. 0: jobs have a "   \
			"lane only on request.",                             \
			count_max),                                          \
		VNIS_SETTING(                                                \
			"reserve_fatal", settings_bool, is_reserve_fatal,    \
			"true",                                              \
			"*true*: a job that cannot get its VNIs fails. "     \
			"*false*: "                                          \
			"it runs without a lane, and its event says why.",   \
			0)
#define VNIS_SETTING(name, type, member, value, help, max)                     \
	{                                                                      \
		name, &type, offsetof(struct vnis_settings, member), value, 0, \
			help, 0, max                                           \
	}

/*
 * The state of a manager half: a copy of its settings, `size` bytes that begin
 * with these, and of the pool's text.
 */
void *vnis_state_create(const struct vnis_settings *settings, size_t size);
/* For fairlead_manager_ops. */
void vnis_state_destroy(void *state);
/* The pool "vni", of such a state. */
size_t vnis_pools(const struct vnis *vnis, const void *state,
		  struct fairlead_pool_spec specs[FAIRLEAD_POOLS_MAX]);
/*
 * The plan of a lane with that many VNIs; none: there is no lane, and why.
 */
void vnis_plan(const struct vnis_settings *settings, uint32_t count,
	       bool is_off, struct fairlead_plan *plan);

/*
 * describe's context: {"reservation":{"vnis":[1024]},"vnis":[1024]}. The
 * document has the VNIs in "reservation", the programs that exist read them
 * from the context itself: both are there. The caller frees it.
 */
char *vnis_describe(const struct fairlead_lane *lane, const char *reason);
