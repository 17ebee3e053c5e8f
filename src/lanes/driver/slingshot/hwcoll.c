/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/slingshot/hwcoll.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/text.h"
#include "lanes/driver/common/options.h"

#define SEED_SIZE      32 /* bytes: of the key that encrypts the token */
#define MULTICAST_PATH "/fabric/collectives/multicasts"
/* A tree needs two; libfabric takes a missing number for "never". */
#define MIN_NODES_UNSET 2

int hwcoll_option(const char *value, struct hwcoll_request *ret_request,
		  struct fairlead_error *ret_error)
{
	struct hwcoll_request request = { .choice = HWCOLL_TREES };

	if (value != NULL && strcmp(value, "on") == 0)
		request.choice = HWCOLL_ON;
	else if (value != NULL && strcmp(value, "off") == 0)
		request.choice = HWCOLL_OFF;
	else if (value == NULL ||
		 !number_parse(value, 1, HWCOLL_TREES_MAX, &request.trees))
		return error_set(ret_error, -EINVAL,
				 "option 'hwcoll' is on, off or a number of "
				 "multicast trees from 1 to %d",
				 HWCOLL_TREES_MAX);
	*ret_request = request;
	return 0;
}

/* Why a job cannot have what it asks for; NULL: it may. */
static const char *refusal_of(const struct hwcoll_settings *settings,
			      size_t node_count, bool has_lane,
			      const struct hwcoll_request *request)
{
	if (!has_lane)
		return "hwcoll: a job without VNIs cannot use a tree";
	if (settings->url[0] == '\0')
		return "hwcoll: this site has no fabric manager";
	if (node_count < 2)
		return "hwcoll: a job of one node has no use for a tree";
	if (request->choice == HWCOLL_TREES && request->trees > settings->trees)
		return "hwcoll: more trees than this site gives to a job; see "
		       "'fairlead pools'";
	return NULL;
}

void hwcoll_plan(const struct hwcoll_settings *settings, size_t node_count,
		 struct hwcoll_request *request, struct fairlead_plan *plan)
{
	const char *refusal;

	if (request->choice == HWCOLL_OFF)
		return;
	refusal = refusal_of(settings, node_count, plan->has_lane, request);
	if (request->choice == HWCOLL_AUTOMATIC &&
	    (refusal != NULL || settings->min_nodes == 0 ||
	     node_count < settings->min_nodes))
		return;
	if (request->choice != HWCOLL_TREES)
		request->trees = settings->trees;
	snprintf(plan->outside, sizeof(plan->outside), "%u", request->trees);
	if (refusal == NULL)
		plan->secret_size = SEED_SIZE;
	else
		text_fit(plan->outside_refusal, sizeof(plan->outside_refusal),
			 refusal);
}

static const char *text_or_null(const char *text)
{
	return text[0] == '\0' ? NULL : text;
}

void hwcoll_outside(const struct hwcoll_settings *settings,
		    struct fairlead_outside *ret_outside)
{
	*ret_outside = (struct fairlead_outside){
		.wait_ms = settings->url[0] == '\0' ? 0 : settings->wait_ms,
		.is_loss_fatal = settings->is_loss_fatal,
		.per_job = settings->trees,
		.total = settings->addresses,
		.min_nodes = settings->min_nodes,
		.url = text_or_null(settings->url),
		.auth = settings->auth,
		.credentials = settings->credentials,
		.ca = text_or_null(settings->ca),
		.prefix = text_or_null(settings->prefix),
		.timeout_ms = settings->timeout_ms,
	};
}

static void add(struct writer *writer, const char *name, const char *value,
		size_t size)
{
	write_bytes(writer, name, strlen(name));
	write_u8(writer, '=');
	write_bytes(writer, value, size);
	write_u8(writer, '\0');
}

static void add_number(struct writer *writer, const char *name, uint32_t number)
{
	char text[12];

	snprintf(text, sizeof(text), "%u", number);
	add(writer, name, text, strlen(text));
}

int hwcoll_pack(const struct hwcoll_settings *settings,
		const struct fairlead_pack *pack, uint32_t trees,
		uint8_t **ret_bytes, size_t *ret_size,
		struct fairlead_error *ret_error)
{
	const char *name = (const char *)pack->outside;
	const char *token;
	char url[1024];
	struct writer writer = { 0 };

	*ret_bytes = NULL;
	*ret_size = 0;
	if (pack->outside_size == 0)
		return 0;
	token = memchr(name, '\n', pack->outside_size);
	if (token == NULL)
		return error_set(ret_error, -EINVAL,
				 "the reservation of multicast trees has no "
				 "token");
	snprintf(url, sizeof(url), "%s" MULTICAST_PATH, settings->url);
	add(&writer, HWCOLL_JOB, name, (size_t)(token - name));
	token++;
	add(&writer, HWCOLL_TOKEN, token,
	    pack->outside_size - (size_t)(token - name));
	add(&writer, HWCOLL_URL, url, strlen(url));
	add_number(&writer, HWCOLL_MIN_NODES,
		   settings->min_nodes > 0 ? settings->min_nodes
					   : MIN_NODES_UNSET);
	add_number(&writer, HWCOLL_ADDRESSES, trees);
	if (settings->node_ca[0] != '\0')
		add(&writer, HWCOLL_CACERT, settings->node_ca,
		    strlen(settings->node_ca));
	memory_check(writer.result);
	assert(writer.size <= FAIRLEAD_PACKED_MAX);
	*ret_bytes = writer.data;
	*ret_size = writer.size;
	return 0;
}
