/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast trees. A tree has an address of its own, and a root among its
 * members that is the root of no other tree. Those that lack are 507, and the
 * code in the message says which:
 *
 *	01  the job has as many trees as it reserved
 *	02  no address is free
 *	03  each member is the root of another tree
 */
#include "emu/fm/core/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define ADDRESS_TEXT_SIZE 16
#define ROOT_TEXT_SIZE    24

/* What a client asks for. */
struct tree_request {
	const char *job;
	const char *step;
	const json_t *macs;
};

/* "1F:00:10": 20 bits; false when it is none. */
static bool mac_parse(const char *text, uint32_t *ret_nid)
{
	unsigned int high, middle, low;
	char rest;

	if (text == NULL ||
	    strspn(text, "0123456789ABCDEFabcdef:") != strlen(text) ||
	    sscanf(text, "%1x:%2x:%2x%c", &high, &middle, &low, &rest) != 3)
		return false;
	*ret_nid = high << 16 | middle << 8 | low;
	return true;
}

static void root_format(uint32_t nid, char root[ROOT_TEXT_SIZE])
{
	snprintf(root, ROOT_TEXT_SIZE, "00:00:00:%02X:%02X:%02X", nid >> 16,
		 nid >> 8 & 0xff, nid & 0xff);
}

static int nid_compare(const void *a, const void *b)
{
	const uint32_t first = *(const uint32_t *)a;
	const uint32_t second = *(const uint32_t *)b;

	return first < second ? -1 : first > second;
}

/* No member twice, and all of them addresses. */
static bool macs_check(const json_t *macs)
{
	const size_t count = json_array_size(macs);
	_auto_(freep) uint32_t *nids = memory_array(count, sizeof(*nids));

	for (size_t i = 0; i < count; i++)
		if (!mac_parse(json_string_value(json_array_get(macs, i)),
			       &nids[i]))
			return false;
	qsort(nids, count, sizeof(*nids), nid_compare);
	for (size_t i = 1; i < count; i++)
		if (nids[i] == nids[i - 1])
			return false;
	return count > 0;
}

static bool request_read(struct softfm_exchange *exchange,
			 struct tree_request *tree)
{
	json_int_t vni, timeout;
	json_t *macs;

	if (json_unpack(exchange->body, "{s:o, s:I, s:I, s:s, s:s}", "macs",
			&macs, "vni", &vni, "timeout", &timeout, "jobID",
			&tree->job, "jobStepID", &tree->step) < 0) {
		exchange_refuse(exchange, 400, 0,
				"needs macs, vni, timeout, jobID and "
				"jobStepID");
		return false;
	}
	exchange_name_job(exchange, tree->job);
	tree->macs = macs;
	if (vni < 1 || vni > UINT16_MAX || timeout < 1)
		exchange_refuse(exchange, 400, 0, "bad vni or timeout");
	else if (!macs_check(macs))
		exchange_refuse(exchange, 400, 0,
				"macs are no addresses, or one is there twice");
	else
		return true;
	return false;
}

static bool address_find(const struct softfm *softfm,
			 char address[ADDRESS_TEXT_SIZE])
{
	for (uint32_t i = 0; i < softfm->config->address_count; i++) {
		snprintf(address, ADDRESS_TEXT_SIZE, "%u", i);
		if (json_object_get(softfm->trees, address) == NULL)
			return true;
	}
	return false;
}

static bool root_find(const struct softfm *softfm, const json_t *macs,
		      char root[ROOT_TEXT_SIZE])
{
	for (size_t i = 0; i < json_array_size(macs); i++) {
		uint32_t nid = 0;

		mac_parse(json_string_value(json_array_get(macs, i)), &nid);
		root_format(nid, root);
		if (json_object_get(softfm->roots, root) == NULL)
			return true;
	}
	return false;
}

static void tree_add(struct softfm *softfm, const struct tree_request *tree,
		     const char *address, const char *root)
{
	json_t *steps = json_object_get(
		json_object_get(softfm->jobs, tree->job), "jobSteps");
	json_t *list = json_object_get(steps, tree->step);

	if (list == NULL) {
		list = memory_have(json_array());
		memory_check(json_object_set_new(steps, tree->step, list));
	}
	memory_check(json_array_append_new(list, json_integer(atoi(address))));
	memory_check(json_object_set_new(
		softfm->trees, address,
		json_pack("{s:s, s:s, s:s, s:O}", "jobID", tree->job,
			  "jobStepID", tree->step, "hwRoot", root, "macs",
			  tree->macs)));
	memory_check(json_object_set_new(softfm->roots, root, json_true()));
}

void softfm_tree_create(struct softfm_exchange *exchange)
{
	struct softfm *softfm = exchange->softfm;
	char address[ADDRESS_TEXT_SIZE];
	char root[ROOT_TEXT_SIZE];
	struct tree_request tree;
	const json_t *job;

	if (!request_read(exchange, &tree))
		return;
	job = json_object_get(softfm->jobs, tree.job);
	if (exchange->session != NULL &&
	    strcmp(exchange->session, tree.job) != 0) {
		exchange_refuse(exchange, 403, 0, "token of another job");
	} else if (job == NULL) {
		exchange_refuse(exchange, 404, 0, "no such job");
	} else if (softfm_job_tree_count(job) >=
		   (size_t)json_integer_value(
			   json_object_get(job, "mcastLimit"))) {
		exchange_refuse(exchange, 507, 1, "mcastLimit reached");
	} else if (!address_find(softfm, address)) {
		exchange_refuse(exchange, 507, 2, "no multicast address");
	} else if (!root_find(softfm, tree.macs, root)) {
		exchange_refuse(exchange, 507, 3, "no hardware root");
	} else {
		tree_add(softfm, &tree, address, root);
		exchange->answer->has_changed = true;
		exchange_answer(exchange, 201,
				json_pack("{s:i, s:s}", "mcastID",
					  atoi(address), "hwRoot", root));
	}
}

void softfm_tree_remove(struct softfm *softfm, const char *address)
{
	json_t *tree = json_object_get(softfm->trees, address);
	const char *step =
		json_string_value(json_object_get(tree, "jobStepID"));
	json_t *job = json_object_get(
		softfm->jobs,
		json_string_value(json_object_get(tree, "jobID")));
	json_t *steps = json_object_get(job, "jobSteps");
	json_t *list = json_object_get(steps, step);
	const json_int_t number = atoi(address);

	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_integer_value(json_array_get(list, i)) == number)
			json_array_remove(list, i);
	if (json_array_size(list) == 0)
		json_object_del(steps, step);
	json_object_del(softfm->roots,
			json_string_value(json_object_get(tree, "hwRoot")));
	json_object_del(softfm->trees, address);
}

void softfm_tree_delete(struct softfm_exchange *exchange)
{
	const json_t *tree =
		json_object_get(exchange->softfm->trees, exchange->id);
	const char *job = json_string_value(json_object_get(tree, "jobID"));

	if (tree == NULL) {
		exchange_refuse(exchange, 404, 0, "no such multicast");
		return;
	}
	exchange_name_job(exchange, job);
	if (exchange->session != NULL && strcmp(exchange->session, job) != 0) {
		exchange_refuse(exchange, 403, 0, "token of another job");
		return;
	}
	softfm_tree_remove(exchange->softfm, exchange->id);
	exchange->answer->has_changed = true;
	exchange_answer(exchange, 200, json_object());
}
