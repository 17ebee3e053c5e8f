/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node finds its part of the sealed secrets by its name: that of its key
 * file, in the grant's host list. A changed list does no harm: each part was
 * sealed for its own node and its own grant.
 */
#include <errno.h>
#include <string.h>

#include "base/hostlist.h"
#include "fairlead_driver.h"
#include "lanes/proto/grant.h"
#include "lanes/proto/keyfile.h"
#include "lanes/proto/seal.h"

/* The node's place among those of the grant. */
static int place_find(const struct grant *grant, const char *name,
		      struct fairlead_error *error)
{
	json_t *object =
		json_loads(grant->public_text, JSON_REJECT_DUPLICATES, NULL);
	uint32_t ids[FAIRLEAD_LANE_IDS_MAX];
	struct grant_public public;
	int result;

	/* That it is an object was seen when the grant was decoded. */
	if (object == NULL)
		return error_set(error, -ENOMEM, "out of memory");
	result = grant_public_read(object, ids, &public, error);
	if (result < 0) {
		result = -EBADMSG;
		error->code = result;
	} else {
		result = hostlist_find(public.nodes, name);
		if (result == -ENOENT)
			result = error_set(error, -ENXIO,
					   "node '%s' is none of the job's",
					   name);
		else if (result < 0)
			result = error_set(error, -EBADMSG,
					   "the grant's nodes are no host "
					   "list");
	}
	json_decref(object);
	return result;
}

static int refuse(int result, const char *name, struct fairlead_error *error)
{
	if (result == -ENOKEY)
		return error_set(error, result,
				 "the grant is sealed under another key than "
				 "node '%s' has (were keys rotated?)",
				 name);
	if (result == -EKEYREJECTED)
		return error_set(error, result,
				 "the grant does not open with the key of "
				 "node '%s': it is of another cluster, or was "
				 "changed",
				 name);
	if (result == -EPERM)
		return error_set(error, -EBADMSG,
				 "the grant is sealed to fewer nodes than it "
				 "names");
	return error_set(error, result,
			 "the sealed part of the grant is damaged");
}

int grant_open(const struct grant *grant, const struct node_keys *keys,
	       struct secret *ret_secret, struct fairlead_error *ret_error)
{
	struct fairlead_error error = { 0 };
	int result, place;

	if (grant->sealed_size == 0)
		return error_set(ret_error, -ENODATA,
				 "the grant has no sealed part");
	place = place_find(grant, keys->name, &error);
	if (place < 0)
		return error_set(ret_error, place, "%s", error.text);
	result = seal_open(keys->confirms, keys->confirm_count, grant->grant_id,
			   (size_t)place, grant->sealed, grant->sealed_size,
			   ret_secret);
	return result < 0 ? refuse(result, keys->name, ret_error) : 0;
}
