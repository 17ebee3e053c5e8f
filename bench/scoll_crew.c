/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All processes are forked before any of them has an instance, for that must
 * not be forked. They find each other by shared memory. A service's memory is
 * kept from request to request, so that it asks the system for none.
 */
#include "scoll_crew.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_NS     INT64_C(30000000000)
#define BULK_BANDWIDTH 1000000 /* estimate: nothing is to time out */
#define CHAIN          SCOLL_TREE_USER

/* A request of one process: the buffers of its children, and its own reply. */
struct crew_work {
	struct crew *crew;
	struct crew_work *next; /* while free */
	struct crew_call *call; /* at the root */
	int child_count;
	int child_room;
	uint8_t up[CREW_UP_MAX];
	uint8_t children[];
};

struct crew_barrier {
	unsigned int here;
	unsigned int turn;
};

static void fail(const char *what, int result)
{
	errno = -result;
	rounds_die(what);
}

static void allocations_tell(struct crew *crew)
{
	if (crew->allocations != NULL)
		crew->slots[crew->index].allocations =
			__atomic_load_n(crew->allocations, __ATOMIC_RELAXED);
}

bool crew_allocations(const struct crew *crew, uint64_t *ret_count)
{
	uint64_t count = 0;

	for (unsigned int i = 0; i < crew->options.count; i++)
		count += crew->slots[i].allocations;
	*ret_count = count;
	return crew->allocations != NULL;
}

/* --- the service --- */

static struct crew_work *work_take(struct crew *crew, scoll_request_t *request)
{
	int children = scoll_request_nchildren(request);
	struct crew_work **at = &crew->free, *work;

	while (*at != NULL && (*at)->child_room < children)
		at = &(*at)->next;
	work = *at;
	if (work != NULL) {
		*at = work->next;
	} else {
		work = calloc(1, sizeof(*work) +
					 (size_t)children * crew->options.up);
		if (work == NULL)
			rounds_die("allocate");
		work->crew = crew;
		work->child_room = children;
	}
	work->call = NULL;
	work->child_count = children;
	memset(work->up, 1 << crew->index % 8, crew->options.up);
	for (int i = 0; i < children; i++) {
		int result = scoll_reply_buffer_post(
			i, work->children + (size_t)i * crew->options.up,
			crew->options.up, request, NULL);

		if (result < 0)
			fail("post a buffer", result);
	}
	return work;
}

static void work_give(struct crew_work *work)
{
	work->next = work->crew->free;
	work->crew->free = work;
}

/* The pattern, and where it is looked at. */
#define BULK_STEP 4093

static uint8_t bulk_byte(size_t at)
{
	return (uint8_t)(1 | (at ^ at >> 8 ^ at >> 16 ^ at >> 24));
}

static int pre_request(scoll_request_t *request)
{
	struct crew *crew = scoll_request_service(request);

	crew->slots[crew->index].reached_ns = rounds_now_ns();
	allocations_tell(crew);
	request->srq_private = work_take(crew, request);
	crew->bulk_iov.iov_len = request->srq_bulk_len;
	request->srq_bulk_iovs = &crew->bulk_iov;
	request->srq_bulk_niov = request->srq_bulk_len > 0 ? 1 : 0;
	if (request->srq_bulk_len > crew->options.bulk)
		return -EMSGSIZE;
	for (size_t at = 0; at < request->srq_bulk_len; at += BULK_STEP)
		crew->bulk[at] = 0;
	return 0;
}

static int incoming_request(scoll_request_t *request,
			    const scoll_target_t *target)
{
	struct crew *crew = scoll_request_service(request);
	size_t size = request->srq_bulk_len;

	if (crew->options.request != NULL && !scoll_request_is_root(request))
		crew->options.request(crew, request->srq_buf,
				      (size_t)request->srq_len);
	if (size == 0 || scoll_request_is_root(request))
		return 0;
	if (request->srq_bulk_status < 0)
		return request->srq_bulk_status;
	for (size_t at = 0; at < size; at += BULK_STEP) {
		if (crew->bulk[at] != bulk_byte(at))
			return -EBADMSG;
	}
	return 0;
}

static unsigned int failures_count(const scoll_request_t *request)
{
	struct scoll_failure failure;
	unsigned int count = 0;
	uint64_t cursor = 0;

	while (scoll_request_failure_next(request, &cursor, &failure) == 1)
		count++;
	return count;
}

static void post_reply(scoll_request_t *request)
{
	struct crew_work *work = request->srq_private;
	size_t up = work->crew->options.up;
	struct crew_call *call = work->call;

	for (int i = 0; i < work->child_count; i++)
		for (size_t j = 0; j < up; j++)
			work->up[j] |= work->children[(size_t)i * up + j];
	if (!scoll_request_is_root(request)) {
		scoll_reply(request, work->up, up);
		return;
	}
	memcpy(call->up, work->up, up);
	call->status = scoll_request_status(request);
	call->failure_count = failures_count(request);
	call->is_done = true;
	work_give(work);
	if (call->done != NULL)
		call->done(call);
}

static void reply_out(scoll_request_t *request)
{
	work_give(request->srq_private);
}

static const struct scoll_service_ops service = {
	.size = sizeof(service),
	.pre_request = pre_request,
	.incoming_request = incoming_request,
	.post_reply = post_reply,
	.reply_out = reply_out,
};

void crew_send(struct crew *crew, scoll_group_t *group, const void *bytes,
	       size_t size, size_t bulk, struct crew_call *call)
{
	scoll_duration_t timeout = crew->options.timeout;
	struct crew_work *work;
	scoll_request_t *request;
	int result;

	crew->bulk_iov.iov_len = bulk;
	request = scoll_bcast_new(group, bytes, (int)size, &crew->bulk_iov,
				  bulk > 0 ? 1 : 0, 0,
				  timeout != 0 ? timeout : TIMEOUT_NS, NULL);
	if (request == NULL)
		rounds_die("make a request");
	allocations_tell(crew);
	work = work_take(crew, request);
	work->call = call;
	request->srq_private = work;
	call->is_done = false;
	call->depth = (unsigned int)scoll_request_depth(request);
	result = scoll_bcast_send(request);
	if (result < 0)
		fail("send a request", result);
}

/* --- progress --- */

void crew_run(struct crew *crew, const bool *is_done)
{
	while (is_done == NULL || !*is_done) {
		int result = crew->options.is_polling
				     ? scoll_progress(crew->scoll)
				     : scoll_wait(crew->scoll, -1);

		if (result < 0)
			fail("progress", result);
	}
}

void crew_meet(struct crew *crew)
{
	struct crew_barrier *barrier = crew->barrier;
	unsigned int turn = __atomic_load_n(&barrier->turn, __ATOMIC_ACQUIRE);

	if (__atomic_add_fetch(&barrier->here, 1, __ATOMIC_ACQ_REL) ==
	    crew->options.count) {
		barrier->here = 0;
		__atomic_store_n(&barrier->turn, turn + 1, __ATOMIC_RELEASE);
	}
	while (__atomic_load_n(&barrier->turn, __ATOMIC_ACQUIRE) == turn)
		scoll_wait(crew->scoll, 1000000);
}

/* --- who we are --- */

scoll_nid_t crew_nid(unsigned int index)
{
	return (scoll_nid_t)2 << 48 | (0x0a000001u + index);
}

/* A chain: the plainest tree of one's own. */
static void chain_node(const struct scoll_tree_shape *shape, uint32_t rank,
		       struct scoll_tree_node *ret_node)
{
	*ret_node = (struct scoll_tree_node){
		.parent = rank > 0 ? rank - 1 : 0,
		.size = shape->node_count - rank,
		.depth = shape->node_count - rank - 1,
	};
}

static uint32_t chain_children(const struct scoll_tree_shape *shape,
			       uint32_t rank, uint32_t *ret_ranks,
			       uint32_t capacity)
{
	if (rank + 1 == shape->node_count)
		return 0;
	if (capacity > 0)
		ret_ranks[0] = rank + 1;
	return 1;
}

static const struct scoll_tree_ops chain = {
	.size = sizeof(chain),
	.name = "chain",
	.node = chain_node,
	.children = chain_children,
};

static void namespace_enter(const struct crew *crew)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s%u", crew->options.namespace,
		 crew->index);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET) < 0)
		rounds_die(path);
	close(fd);
}

static int tree_read(const struct crew *crew, scoll_tree_type_t *ret_tree,
		     struct fairlead_error *ret_error)
{
	if (strcmp(crew->options.tree, chain.name) != 0)
		return scoll_tree_parse(NULL, crew->options.tree, ret_tree,
					ret_error);
	*ret_tree = SCOLL_TREE(CHAIN, 0);
	return 0;
}

static void instance_open(struct crew *crew)
{
	static const uint8_t key[32] = "a key that all of the crew have";
	static const struct scoll_tree_kind kind = { CHAIN, &chain };
	struct fairlead_error error = { 0 };
	char address[32] = "127.0.0.1";
	struct scoll_params params = {
		.size = sizeof(params),
		.nid = crew_nid(crew->index),
		.provider = crew->options.provider,
		.node = address,
		.rtt = crew->options.rtt,
		.bulk_segment = crew->options.bulk_segment,
		.bulk_bandwidth = BULK_BANDWIDTH,
		.tree_kinds = &kind,
		.tree_kind_count = 1,
	};
	int result = tree_read(crew, &params.tree, &error);

	if (crew->options.namespace != NULL)
		snprintf(address, sizeof(address), "10.77.0.%u",
			 crew->index + 1);

	if (result == 0 && crew->options.is_sealed) {
		result = scoll_key_authenticator_create(params.nid, key,
							&crew->auth);
		params.authenticator = crew->auth;
	}
	if (result == 0)
		result = scoll_init(&params, &crew->scoll, &error);
	if (result < 0) {
		fprintf(stderr, "%s: %s\n", program_invocation_short_name,
			error.text);
		exit(1);
	}
	result = scoll_service_register(crew->scoll, CREW_SERVICE, &service,
					crew);
	if (result < 0)
		fail("register a service", result);
}

static void addresses_tell(struct crew *crew)
{
	struct crew_slot *slot = &crew->slots[crew->index];
	int result;

	slot->address_size = sizeof(slot->address);
	result = scoll_address(crew->scoll, slot->address, &slot->address_size);
	crew_meet(crew);
	for (unsigned int i = 0; result == 0 && i < crew->options.count; i++)
		result = scoll_peer_address(crew->scoll, crew_nid(i),
					    crew->slots[i].address,
					    crew->slots[i].address_size);
	if (result < 0)
		fail("tell an address", result);
	crew_meet(crew);
}

static void bulk_make(struct crew *crew)
{
	crew->bulk = calloc(1, crew->options.bulk + 1);
	if (crew->bulk == NULL)
		rounds_die("allocate");
	crew->bulk_iov.iov_base = crew->bulk;
	for (size_t at = 0; crew->index == 0 && at < crew->options.bulk; at++)
		crew->bulk[at] = bulk_byte(at);
}

void crew_open(struct crew *crew, const struct crew_options *options,
	       struct rounds *rounds)
{
	memset(crew, 0, sizeof(*crew));
	crew->options = *options;
	crew->slots = rounds_shared(options->count * sizeof(*crew->slots));
	crew->allocations = dlsym(RTLD_DEFAULT, "bench_allocations");
	crew->barrier = rounds_shared(sizeof(*crew->barrier));
	for (unsigned int i = 1; i < options->count && crew->index == 0; i++) {
		if (rounds_fork(rounds) == 0)
			crew->index = i;
	}
	if (options->namespace != NULL)
		namespace_enter(crew);
	bulk_make(crew);
	instance_open(crew);
	addresses_tell(crew);
}

void crew_close(struct crew *crew)
{
	scoll_fini(crew->scoll);
	scoll_key_authenticator_destroy(crew->auth);
	free(crew->bulk);
	while (crew->free != NULL) {
		struct crew_work *work = crew->free;

		crew->free = work->next;
		free(work);
	}
}

/* --- groups --- */

struct creation {
	bool is_done;
	int status;
	scoll_group_t *group;
};

static void created(int status, scoll_group_t *group, const void *private_data)
{
	struct creation *creation = (struct creation *)private_data;

	creation->status = status;
	creation->group = group;
	creation->is_done = true;
}

scoll_group_t *crew_group(struct crew *crew, unsigned int first,
			  unsigned int count, bool populate_now)
{
	unsigned int indexes[CREW_MAX];

	for (unsigned int i = 0; i < count; i++)
		indexes[i] = (first + i) % crew->options.count;
	return crew_group_of(crew, indexes, count, populate_now);
}

scoll_group_t *crew_group_of(struct crew *crew, const unsigned int *indexes,
			     unsigned int count, bool populate_now)
{
	static const scoll_tag_t tag = { "bench" };
	scoll_target_t targets[CREW_MAX];
	struct creation creation = { .is_done = false };
	int result;

	for (unsigned int i = 0; i < count; i++)
		targets[i] = (scoll_target_t){ crew_nid(indexes[i]), &tag, 1 };
	result = scoll_group_create(crew->scoll, CREW_SERVICE, "crew", targets,
				    (int)count, SCOLL_TREE_DEFAULT,
				    populate_now, created, &creation);
	if (result == 0)
		crew_run(crew, &creation.is_done);
	if (result < 0 || creation.status < 0)
		fail("make a group", result < 0 ? result : creation.status);
	return creation.group;
}
