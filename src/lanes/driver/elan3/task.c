/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Before a task runs: it takes the context of its rank, of each capability of
 * its program, and gets the variables of RMS. The job manager has made the
 * program and forked the task in it; where nobody has given it the lane's
 * capabilities, the task claims them.
 */
#include "lanes/driver/elan3/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/driver/elan3/record.h"
#include "elan/capability.h"

static int number_set(const char *name, uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	return setenv(name, text, 1) < 0 ? -errno : 0;
}

static int variables_set(const struct elan3_share *share, uint32_t rank)
{
	int result = number_set("RMS_RANK", rank);

	if (result == 0)
		result = number_set("RMS_PROCID", rank);
	if (result == 0)
		result = number_set("RMS_NODEID", share->node);
	if (result == 0)
		result = number_set("RMS_NNODES", share->nodes);
	if (result == 0)
		result = number_set("RMS_NPROCS", share->processes);
	return result;
}

static int cap_find(const struct fairlead_lane *lane, int *ret_count,
		    struct elan_capability *ret_cap,
		    struct fairlead_error *ret_error)
{
	const struct rms_request claim = {
		.op = RMS_PRGCLAIM,
		.id = (int32_t)lane->ids[ELAN3_ID_PROGRAM],
	};
	const struct rms_request ncaps = { .op = RMS_NCAPS };
	int count = -1;
	int result = rms_client_number(NULL, &ncaps, &count);

	if (result == -ESRCH)
		return error_set(ret_error, -ESRCH,
				 "the task is in no program description (who "
				 "starts tasks has to make %u, "
				 "rms_prgcreate())",
				 lane->ids[ELAN3_ID_PROGRAM]);
	if (count == 0) {
		result = rms_client_call(NULL, &claim);
		if (result == 0)
			result = rms_client_number(NULL, &ncaps, &count);
	}
	if (count == 0)
		return error_set(ret_error, -ENOENT,
				 "the task's program has no capability, and "
				 "cannot have program %u's: %s",
				 lane->ids[ELAN3_ID_PROGRAM],
				 strerror(-result));
	if (result == 0)
		result = rms_client_cap_get(NULL, 0, ret_cap);
	if (result < 0)
		return error_set(ret_error, result,
				 "cannot read the task's capabilities from "
				 "fairlead-rms: %s",
				 strerror(-result));
	if ((uint32_t)ret_cap->cap_lowcontext != lane->ids[ELAN3_ID_FIRST] ||
	    (uint32_t)ret_cap->cap_highcontext != lane->ids[ELAN3_ID_LAST])
		return error_set(ret_error, -EINVAL,
				 "the task's program has contexts %d-%d, and "
				 "its lane %u-%u",
				 ret_cap->cap_lowcontext,
				 ret_cap->cap_highcontext,
				 lane->ids[ELAN3_ID_FIRST],
				 lane->ids[ELAN3_ID_LAST]);
	*ret_count = count;
	return 0;
}

static int place_find(const struct elan_capability *cap,
		      const struct fairlead_record *record, uint32_t rank,
		      struct elan3_share *ret_share, uint32_t *ret_context,
		      struct fairlead_error *ret_error)
{
	struct elan3_share here, there;
	uint32_t node, context;
	int result = elan3_record_decode(record, &here, ret_error);

	if (result < 0)
		return result;
	if (capability_locate(cap, rank, &node, &context) < 0 ||
	    elan3_share_of(cap, (uint32_t)cap->cap_lownode + node, &there) < 0)
		return error_set(ret_error, -EINVAL,
				 "rank %u is none of the lane's virtual "
				 "processes",
				 rank);
	if (here.nodes > 0 && there.node != here.node)
		return error_set(ret_error, -EINVAL,
				 "rank %u is on node %u of the job, and this "
				 "is node %u",
				 rank, there.node, here.node);
	*ret_share = there;
	*ret_context = context;
	return 0;
}

int elan3_task(const struct fairlead_lane *lane,
	       const struct fairlead_record *record, uint32_t rank,
	       struct fairlead_error *ret_error)
{
	struct elan_capability cap;
	struct elan3_share share = { 0 };
	uint32_t context = 0;
	int count = 0;
	int result = cap_find(lane, &count, &cap, ret_error);

	if (result == 0)
		result = place_find(&cap, record, rank, &share, &context,
				    ret_error);
	explicit_bzero(&cap, sizeof(cap));
	if (result < 0)
		return result;
	/* The first one is what rms_mycap() says then. */
	while (count-- > 0 && result == 0) {
		const struct rms_request request = {
			.op = RMS_SETCAP,
			.index = count,
			.value = (int32_t)context,
		};

		result = rms_client_call(NULL, &request);
	}
	if (result < 0)
		return error_set(ret_error, result,
				 "rank %u cannot take context %u of its "
				 "capabilities: %s",
				 rank, context, strerror(-result));
	result = variables_set(&share, rank);
	return result < 0
		       ? error_set(ret_error, result, "%s", strerror(-result))
		       : 0;
}
