/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hardware and the nodes: who has what where, and by whose order. What is
 * said to clients is looked at in oracle_answer.c.
 */
#include "oracle.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <utlist.h>

#include "base/hostlist.h"
#include "elan.h"
#include "leader.h"
#include "oracle_internal.h"

struct oracle *oracle_create(struct world *world)
{
	struct oracle *oracle = world_allocate(sizeof(*oracle));

	oracle->world = world;
	return oracle;
}

void oracle_destroy(struct oracle *oracle)
{
	struct service *service, *next_service;
	struct lane *lane, *next_lane;
	struct sent *sent, *next_sent;
	struct asked *asked, *next_asked;

	if (oracle == NULL)
		return;
	DL_FOREACH_SAFE (oracle->services, service, next_service)
		free(service);
	HASH_ITER (hh, oracle->lanes, lane, next_lane) {
		HASH_DEL(oracle->lanes, lane);
		free(lane);
	}
	HASH_ITER (hh, oracle->sent, sent, next_sent) {
		HASH_DEL(oracle->sent, sent);
		free(sent);
	}
	HASH_ITER (hh, oracle->asked, asked, next_asked) {
		HASH_DEL(oracle->asked, asked);
		free(asked);
	}
	oracle_outside_left(oracle, NULL);
	free(oracle);
}

struct lane *oracle_lane(struct oracle *oracle, const char *key)
{
	struct lane *lane;

	HASH_FIND_STR(oracle->lanes, key, lane);
	return lane;
}

struct lane *oracle_lane_by_id(struct oracle *oracle, uint64_t grant_id)
{
	struct lane *found = NULL;
	struct lane *lane;

	/* The last one: an old backup may have given the number again. */
	for (lane = oracle->lanes; lane != NULL; lane = lane->hh.next) {
		if (lane->grant_id == grant_id)
			found = lane;
	}
	return found;
}

bool lane_is_certain(const struct lane *lane)
{
	if (lane->is_over || lane->is_unsure)
		return false;
	if (lane->is_applied)
		return true;
	/* What the fabric manager refuses ends by itself. */
	return lane->ask_count == 0 &&
	       strcmp(lane->interconnect, "fabric") != 0;
}

bool lane_has_id(const struct lane *lane, uint32_t id)
{
	for (unsigned int i = 0; i < lane->id_count; i++) {
		if (lane->ids[i] == id)
			return true;
	}
	return false;
}

uint32_t oracle_nodes(struct oracle *oracle, const char *text)
{
	_auto_(hostlist_destroyp) struct hostlist *list = NULL;
	uint32_t nodes = 0;

	if (text == NULL || *text == 0)
		return 0;
	if (hostlist_parse(text, &list, NULL) < 0)
		world_fail(oracle->world, "no host list: '%s'", text);
	for (size_t i = 0; i < list->count; i++)
		nodes |= 1u << atoi(list->names[i] + 1);
	return nodes;
}

static uint32_t bit_of(const struct node *node)
{
	return 1u << node_index(node);
}

/* --- hardware --- */

static bool has_id(const struct hardware_service *service, uint32_t id)
{
	for (unsigned int i = 0; i < service->vni_count; i++) {
		if (service->vnis[i] == id)
			return true;
	}
	return false;
}

bool lanes_meet(const struct lane *a, const struct lane *b)
{
	if (strcmp(a->interconnect, b->interconnect) != 0)
		return false;
	if (strcmp(a->interconnect, "elan3") != 0)
		return true;
	/* From the lowest bit to the highest one. */
	return ffs((int)a->nodes) <= 32 - __builtin_clz(b->nodes) &&
	       ffs((int)b->nodes) <= 32 - __builtin_clz(a->nodes);
}

const struct service *oracle_find_id(const struct oracle *oracle, uint32_t id,
				     const struct lane *lane)
{
	const struct service *service;

	DL_FOREACH (oracle->services, service) {
		if (service->lane != NULL && service->lane != lane &&
		    lanes_meet(service->lane, lane) &&
		    has_id(&service->made, id))
			return service;
	}
	return NULL;
}

const struct service *oracle_find_program(const struct oracle *oracle,
					  const struct lane *lane)
{
	const struct service *service;

	DL_FOREACH (oracle->services, service) {
		if (service->lane != NULL && service->lane != lane &&
		    lane->program > 0 &&
		    service->lane->program == lane->program)
			return service;
	}
	return NULL;
}

/* Whose lane is being made, and is it right as it is? */
static struct lane *lane_of_order(struct oracle *oracle, struct node *node,
				  const struct hardware_service *made)
{
	struct world *world = oracle->world;
	const struct node_order *order = node_order(node);
	struct lane *lane;

	if (order == NULL || order->op != COMMAND_APPLY)
		world_fail(world, "%s makes a service without an APPLY",
			   node_name(node));
	lane = oracle_lane(oracle, order->key);
	if (lane == NULL || lane->ask_count == 0)
		world_fail(world,
			   "%s makes a lane of '%s', which nobody asked "
			   "for",
			   node_name(node), order->key);
	if (lane->grant_id != order->grant_id && !lane->is_unsure)
		world_fail(world, "%s makes grant %llu of '%s', which is %llu",
			   node_name(node), (unsigned long long)order->grant_id,
			   lane->key, (unsigned long long)lane->grant_id);
	if (made->uid != lane->uid)
		world_fail(world,
			   "%s makes a service of '%s' for uid %u, and "
			   "its owner is %u",
			   node_name(node), lane->key, made->uid, lane->uid);
	if (!(lane->nodes & bit_of(node)))
		world_fail(world, "%s is no node of '%s'", node_name(node),
			   lane->key);
	if (lane->revoked & bit_of(node))
		world_fail(world, "%s makes '%s' again, which was revoked",
			   node_name(node), lane->key);
	if (made->vni_count != lane->id_count && !lane->is_unsure)
		world_fail(world,
			   "%s makes a service with %u identifiers, "
			   "'%s' has %u",
			   node_name(node), made->vni_count, lane->key,
			   lane->id_count);
	if (made->nic == ELAN_DEVICE && made->svc_id != lane->program &&
	    !lane->is_unsure)
		world_fail(world, "%s makes program %u of '%s', which is %u",
			   node_name(node), made->svc_id, lane->key,
			   lane->program);
	return lane;
}

static void check_alone(struct oracle *oracle, const struct service *made)
{
	struct world *world = oracle->world;
	const struct service *other;

	for (unsigned int i = 0; i < made->made.vni_count; i++) {
		uint32_t id = made->made.vnis[i];

		if (!lane_has_id(made->lane, id) && !made->lane->is_unsure)
			world_fail(world,
				   "%s gives '%s' identifier %u, which "
				   "is not its own",
				   node_name(made->node), made->lane->key, id);
		other = oracle_find_id(oracle, id, made->lane);
		if (other != NULL)
			world_fail(
				world,
				"NEVER TWICE: identifier %u of '%s' (grant "
				"%llu) on %s is that of '%s' (grant %llu) on "
				"%s",
				id, made->lane->key,
				(unsigned long long)made->lane->grant_id,
				node_name(made->node), other->lane->key,
				(unsigned long long)other->lane->grant_id,
				node_name(other->node));
	}
	DL_FOREACH (oracle->services, other) {
		if (other == made || other->node != made->node ||
		    other->made.nic != made->made.nic)
			continue;
		if (other->lane == made->lane)
			world_fail(world, "%s makes '%s' twice on NIC %u",
				   node_name(made->node), made->lane->key,
				   made->made.nic);
		for (unsigned int i = 0;
		     other->lane == NULL && i < made->made.vni_count; i++) {
			if (has_id(&other->made, made->made.vnis[i]))
				world_fail(world,
					   "%s: '%s' shares identifier %u with "
					   "a service that is not ours",
					   node_name(made->node),
					   made->lane->key, made->made.vnis[i]);
		}
	}
}

void oracle_made(struct oracle *oracle, struct node *node,
		 const struct hardware_service *made)
{
	struct service *service = world_allocate(sizeof(*service));

	service->node = node;
	service->made = *made;
	service->made_ms = world_now_ms(oracle->world);
	DL_APPEND(oracle->services, service);
	if (node_is_foreign(node))
		return;
	service->lane = lane_of_order(oracle, node, made);
	world_trace(oracle->world, "%s NIC %u has service %u of %s",
		    node_name(node), made->nic, made->svc_id,
		    service->lane->key);
	check_alone(oracle, service);
	coverage_hit(oracle->world->coverage, "check:service-made");
}

/* May a lane that is still wanted go here? */
static void check_gone(struct oracle *oracle, struct node *node,
		       struct lane *lane)
{
	if (node_is_foreign(node)) {
		lane->lost |= bit_of(node);
		return;
	}
	if (node_expects_revoke(node, lane->key)) {
		lane->lost |= bit_of(node);
		return;
	}
	if (lane->is_over || lane->is_unsure || !lane->is_applied)
		return;
	world_fail(oracle->world,
		   "%s takes the lane of '%s' (grant %llu) "
		   "away, which is wanted",
		   node_name(node), lane->key,
		   (unsigned long long)lane->grant_id);
}

void oracle_gone(struct oracle *oracle, struct node *node, uint32_t nic,
		 uint32_t svc_id)
{
	struct service *service;

	DL_FOREACH (oracle->services, service) {
		if (service->node == node && service->made.nic == nic &&
		    service->made.svc_id == svc_id)
			break;
	}
	if (service == NULL)
		world_fail(oracle->world,
			   "%s: service %u of NIC %u goes and "
			   "was not there",
			   node_name(node), svc_id, nic);
	DL_DELETE(oracle->services, service);
	if (service->lane != NULL) {
		world_trace(oracle->world, "%s NIC %u loses service %u of %s",
			    node_name(node), nic, svc_id, service->lane->key);
		check_gone(oracle, node, service->lane);
	} else if (!node_is_foreign(node) &&
		   !node_expects_revoke(node, NODE_ANY_JOB)) {
		world_fail(
			oracle->world,
			"%s destroys service %u of NIC %u, which is not ours",
			node_name(node), svc_id, nic);
	}
	coverage_hit(oracle->world->coverage, "check:service-gone");
	free(service);
}

void oracle_cleared(struct oracle *oracle, struct node *node)
{
	struct service *service, *next;

	DL_FOREACH_SAFE (oracle->services, service, next) {
		if (service->node != node)
			continue;
		DL_DELETE(oracle->services, service);
		free(service);
	}
	oracle_nic_changed(oracle, node);
}

void oracle_nic_changed(struct oracle *oracle, struct node *node)
{
	struct lane *lane;

	for (lane = oracle->lanes; lane != NULL; lane = lane->hh.next)
		lane->lost |= lane->ask_count > 0 ? bit_of(node) : 0;
}

unsigned int oracle_service_count(const struct oracle *oracle,
				  const struct node *node)
{
	const struct service *service;
	unsigned int count = 0;

	DL_FOREACH (oracle->services, service)
		count += node == NULL || service->node == node;
	return count;
}

const struct hardware_service *oracle_service_of(const struct oracle *oracle,
						 const struct node *node,
						 const struct lane *lane)
{
	const struct service *service;

	DL_FOREACH (oracle->services, service) {
		if (service->node == node && service->lane == lane)
			return &service->made;
	}
	return NULL;
}

/* --- nodes --- */

static uint64_t hash_of(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* header: COMMAND_HEADER_SIZE bytes. */
static bool was_sent(const struct oracle *oracle, const uint8_t *header)
{
	uint64_t hash = hash_of(header, COMMAND_HEADER_SIZE);
	struct sent *sent;

	HASH_FIND(hh, oracle->sent, &hash, sizeof(hash), sent);
	return sent != NULL;
}

static bool is_command(const uint8_t *frame, size_t size)
{
	return size >= 1 + COMMAND_HEADER_SIZE && frame[0] == FRAME_COMMAND;
}

void oracle_command_sent(struct oracle *oracle, const uint8_t *header)
{
	struct sent *sent;

	if (was_sent(oracle, header))
		return;
	sent = world_allocate(sizeof(*sent));
	sent->hash = hash_of(header, COMMAND_HEADER_SIZE);
	HASH_ADD(hh, oracle->sent, hash, sizeof(sent->hash), sent);
}

void oracle_manager_sent(struct oracle *oracle, const void *frame, size_t size)
{
	const uint8_t *bytes = frame;

	oracle_no_token(oracle, "a frame", frame, size);
	if (is_command(bytes, size))
		oracle_command_sent(oracle, bytes + 1);
}

bool oracle_is_managers(const struct oracle *oracle, const void *frame,
			size_t size)
{
	const uint8_t *bytes = frame;

	return is_command(bytes, size) && was_sent(oracle, bytes + 1);
}

static void greeted(struct boots *boots, const uint8_t *incarnation)
{
	if (boots->count > 0 &&
	    memcmp(boots->last, incarnation, INCARNATION_SIZE) == 0)
		return;
	if (boots->count < 2)
		boots->count++;
	memcpy(boots->before, boots->last, INCARNATION_SIZE);
	memcpy(boots->last, incarnation, INCARNATION_SIZE);
}

const uint8_t *oracle_past_boot(const struct oracle *oracle,
				const struct node *node)
{
	const struct boots *boots = &oracle->boots[node_index(node)];

	return boots->count < 2 || boots->is_forgotten ||
			       leader_was_restored(oracle->world->leader)
		       ? NULL
		       : boots->before;
}

void oracle_forget_boots(struct oracle *oracle, const struct node *node,
			 bool is_for_ever)
{
	struct boots *boots = &oracle->boots[node_index(node)];

	boots->count = 0;
	boots->is_forgotten |= is_for_ever;
}

void oracle_apply_sent(struct oracle *oracle, const struct command *head)
{
	struct lane *lane = oracle_lane_by_id(oracle, head->grant_id);

	if (lane == NULL || (lane->apply_epoch == head->epoch &&
			     lane->apply_sequence == head->sequence))
		return;
	oracle_apply_goes_on(oracle, lane);
	lane->apply_epoch = head->epoch;
	lane->apply_sequence = head->sequence;
	for (unsigned int i = 0; i < WORLD_NODES_MAX; i++)
		lane->answers[i].answered_ms = 0;
}

void oracle_apply_answered(struct oracle *oracle, const struct command *head,
			   unsigned int node)
{
	struct lane *lane = oracle_lane_by_id(oracle, head->grant_id);

	if (lane != NULL && lane->apply_epoch == head->epoch &&
	    lane->apply_sequence == head->sequence &&
	    lane->answers[node].answered_ms == 0)
		lane->answers[node].answered_ms = world_now_ms(oracle->world);
}

/* What a node has made of an APPLY, whoever hears of it. */
static void apply_answered(struct oracle *oracle, const struct node *node,
			   const struct command *command, int result)
{
	struct lane *lane = oracle_lane_by_id(oracle, command->grant_id);
	unsigned int place = node_index(node);

	if (lane == NULL)
		return;
	if (result == 0)
		lane->answers[place].is_done = true;
	else
		lane->answers[place].results[lane->answers[place].count++ %
					     ORACLE_ANSWERS_MAX] = result;
}

void oracle_obeyed(struct oracle *oracle, struct node *node,
		   const struct command *command, const uint8_t *header,
		   int result)
{
	struct obeyed *obeyed = &oracle->obeyed[node_index(node)];
	struct world *world = oracle->world;
	struct lane *lane;

	if (!was_sent(oracle, header))
		world_fail(world, "%s believes a command that no manager sent",
			   node_name(node));
	if (command->op == COMMAND_LEASE && result == 0)
		oracle->alive_ms[node_index(node)] = world_now_ms(world);
	if (command->op == COMMAND_APPLY)
		apply_answered(oracle, node, command, result);
	if (result < 0)
		return;
	coverage_hit(world->coverage, "check:command-obeyed");
	if (obeyed->has_epoch && command->epoch < obeyed->epoch)
		world_fail(world, "OLD LEADER: %s obeys epoch %llu after %llu",
			   node_name(node), (unsigned long long)command->epoch,
			   (unsigned long long)obeyed->epoch);
	if (obeyed->has_epoch && command->epoch == obeyed->epoch &&
	    command->life != obeyed->life)
		world_fail(world, "%s obeys two managers of epoch %llu",
			   node_name(node), (unsigned long long)command->epoch);
	obeyed->has_epoch = true;
	obeyed->epoch = command->epoch;
	obeyed->life = command->life;
	if (command->op == COMMAND_HELLO) {
		if (obeyed->listed_ms > 0)
			obeyed->registered_ms = obeyed->listed_ms;
		obeyed->registered_epoch = command->epoch;
		obeyed->greeted_ms = world_now_ms(world);
		obeyed->greeted_number = obeyed->listed_number;
		greeted(&oracle->boots[node_index(node)],
			node_incarnation(node));
	}
	lane = command->op == COMMAND_REVOKE
		       ? oracle_lane_by_id(oracle, command->grant_id)
		       : NULL;
	if (lane != NULL)
		oracle_revoked(oracle, node, command->grant_id);
}

void oracle_revoked(struct oracle *oracle, struct node *node, uint64_t grant_id)
{
	struct lane *lane = oracle_lane_by_id(oracle, grant_id);

	if (lane == NULL)
		return;
	lane->revoked |= bit_of(node);
	if (oracle_service_of(oracle, node, lane) != NULL)
		world_fail(oracle->world,
			   "%s says that '%s' is revoked, and "
			   "still has it",
			   node_name(node), lane->key);
	coverage_hit(oracle->world->coverage, "check:revoked");
}

void oracle_listed(struct oracle *oracle, struct node *node, bool is_whole,
		   uint32_t number)
{
	oracle->alive_ms[node_index(node)] = world_now_ms(oracle->world);
	oracle->obeyed[node_index(node)].listed_ms =
		is_whole ? world_now_ms(oracle->world) : 0;
	oracle->obeyed[node_index(node)].listed_number = number;
}

bool oracle_has_obeyed(const struct oracle *oracle, const struct node *node,
		       uint64_t epoch)
{
	const struct obeyed *obeyed = &oracle->obeyed[node_index(node)];

	return obeyed->has_epoch && obeyed->epoch == epoch;
}

void oracle_booted(struct oracle *oracle, struct node *node)
{
	oracle->obeyed[node_index(node)] = (struct obeyed){ 0 };
}

/* --- managers --- */

void oracle_manager_started(struct oracle *oracle, bool is_recovery)
{
	struct lane *lane;

	/* Who waited has to ask again. */
	for (lane = oracle->lanes; lane != NULL; lane = lane->hh.next)
		lane->waits_ms = 0;
	oracle->is_recovering |= is_recovery;
}

void oracle_recovered(struct oracle *oracle)
{
	oracle->is_recovering = false;
}

bool oracle_is_recovering(const struct oracle *oracle)
{
	return oracle->is_recovering;
}

/* An apply that a manager has received and not answered; nor a release. */
static bool is_under_way(const struct lane *lane)
{
	return lane->asked_ms > 0 && !lane->is_applied && !lane->is_released;
}

/* What was under way may have gone on after the backup, unanswered. */
void oracle_backup_restored(struct oracle *oracle, uint64_t backup_ms)
{
	struct lane *lane;

	for (lane = oracle->lanes; lane != NULL; lane = lane->hh.next)
		lane->is_unsure |=
			lane->changed_ms >= backup_ms || is_under_way(lane);
}

/* --- the end --- */

void oracle_check_empty(struct oracle *oracle)
{
	struct world *world = oracle->world;

	for (unsigned int i = 0; i < world->node_count; i++) {
		struct node *node = world->nodes[i];
		unsigned int count = oracle_service_count(oracle, node);

		if (count > 0)
			world_fail(world,
				   "NOTHING LEFT: %u services are left "
				   "on %s",
				   count, node_name(node));
		count = hardware_count(node_hardware(node));
		if (count > 0)
			world_fail(world,
				   "%u services are left on %s that "
				   "nobody saw being made",
				   count, node_name(node));
		count = node_environment_count(node);
		if (count > 0)
			world_fail(world, "%u environment files are left on %s",
				   count, node_name(node));
		count = node_grant_count(node);
		if (count > 0)
			world_fail(world,
				   "%u grants are left in the journal "
				   "of %s",
				   count, node_name(node));
		count = node_pending_count(node);
		if (count > 0)
			world_fail(world,
				   "%s still has %u pending confirmations",
				   node_name(node), count);
	}
	coverage_hit(world->coverage, "check:nothing-left");
}
