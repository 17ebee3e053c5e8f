/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node half: rails and deposits of fairlead-rms, which stands for the
 * kernel module. A device is a rail, "elan0". An object is a deposit on a rail
 * that is there: its id is the deposit's number, its identifiers are those of
 * the lane. Besides each rail has an object 0, what is not given to programs.
 *
 * A lane is found again by its owner and its identifiers, the program among
 * them, which is what a deposit has for a grant id.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lanes/driver/common/warnings.h"
#include "lanes/driver/elan3/elan3.h"
#include "lanes/driver/elan3/policy.h"
#include "elan/client.h"

#define ELAN3_RAILS_TEXT_MAX 256

struct elan3_node {
	const char *dir;     /* of fairlead-rms */
	uint32_t rail_count; /* that the site says a node has */
	int elan_id;         /* of this node, or -errno */
	char place_flaw[FAIRLEAD_ERROR_TEXT_MAX]; /* why it has none */
};

/* "elan0+elan2". */
void elan3_rails_format(uint32_t rails, char text[ELAN3_RAILS_TEXT_MAX]);

/*
 * The error of a call of fairlead-rms, after what could not be done, for a
 * person: what is to be done where it does not run or is of another version.
 * -EACCES and -ENOMEM (it has no capacity) stay, everything else is -EIO.
 */
int elan3_fail(const struct elan3_node *node, int result,
	       struct fairlead_error *ret_error, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* -EIO with a text. */
int elan3_rails_read(const struct elan3_node *node,
		     struct rms_client_rails *ret_rails,
		     struct fairlead_error *ret_error);

/*
 * The next deposit, from number 0 on: 1, or 0 after the last one. -EACCES where
 * the caller is not root, -EIO, with a text.
 */
int elan3_deposit_next(const struct elan3_node *node,
		       struct rms_client_deposit *deposit,
		       struct fairlead_error *ret_error);
/* Is it one of the lane's: its owner, program and contexts. */
bool elan3_deposit_is_of(const struct rms_client_deposit *deposit,
			 const struct fairlead_lane *lane);
/*
 * Take one back, or see if it could be. Not there is 0. -EBUSY with a text that
 * names device, number, program, contexts and who holds it; -EIO.
 */
int elan3_deposit_take(const struct elan3_node *node,
		       const struct rms_client_deposit *deposit,
		       bool is_dry_run, struct fairlead_error *ret_error);

/* Of fairlead_node_ops; state is a struct elan3_node. */
int elan3_apply(void *state, const struct fairlead_lane *lane, bool is_dry_run,
		struct fairlead_record *ret_record,
		struct fairlead_warnings *warnings,
		struct fairlead_error *ret_error);
int elan3_revoke(void *state, const struct fairlead_lane *lane,
		 const struct fairlead_record *record, bool is_dry_run,
		 struct fairlead_warnings *warnings,
		 struct fairlead_error *ret_error);
int elan3_list(void *state,
	       void (*emit)(void *arg, const struct fairlead_object *object),
	       void *arg, struct fairlead_error *ret_error);
int elan3_destroy(void *state, const struct fairlead_object *object,
		  bool is_dry_run, struct fairlead_error *ret_error);
int elan3_env(void *state, const struct fairlead_lane *lane,
	      const struct fairlead_record *record,
	      void (*emit)(void *arg, const char *name, const char *value),
	      void *arg, struct fairlead_error *ret_error);
int elan3_inherit(void *state, uid_t uid,
		  const char *(*get)(void *arg, const char *name), void *arg,
		  struct fairlead_error *ret_error);
int elan3_task(const struct fairlead_lane *lane,
	       const struct fairlead_record *record, uint32_t rank,
	       struct fairlead_error *ret_error);
