/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Root, with the duties of an operator: looks, drains, fences what is dead,
 * changes the configuration and the keys, and mends in the end. An operator's
 * word is always true here: a node that is fenced or waived has no power, and
 * gets none before that is answered. (One about a node that is up may be
 * untrue, and do no harm; but who is up when it arrives is not known here:
 * core/model.)
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clients.h"
#include "faults.h"
#include "leader.h"
#include "node.h"
#include "oracle.h"

#define LOOK_MS 5000

struct admin {
	struct world *world;
	uint64_t handle;
	uint64_t key_handle;
	bool is_mending, is_configured;
	/* The last looks, while mending. */
	bool pools_are_full, quarantine_is_empty, nodes_are_well;
	char complaint[2048]; /* the last one */
	unsigned int looks;   /* answers that are awaited */
	uint64_t mended_ms[WORLD_NODES_MAX];
	uint32_t locked; /* nodes without power until an answer comes */
};

static void ask(struct admin *admin, const char *op, json_t *members_owned,
		client_answer_fn *done, void *ctx)
{
	client_ask(admin->world->clients, CLIENT_ROOT, op, members_owned, false,
		   done, ctx);
}

static void ignore(void *ctx, json_t *answer)
{
}

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text == NULL ? "" : text;
}

/* --- the word of an operator --- */

static void lock(struct admin *admin, uint32_t nodes, bool is_locked)
{
	struct world *world = admin->world;

	if (is_locked)
		admin->locked |= nodes;
	else
		admin->locked &= ~nodes;
	for (unsigned int i = 0; i < world->node_count; i++) {
		if (nodes & 1u << i)
			node_lock_power(world->nodes[i], is_locked);
	}
}

static void on_word_taken(void *ctx)
{
	struct admin *admin = ctx;

	lock(admin, admin->locked, false);
}

/* What was lost may still arrive, a moment later. */
static void word_done(void *ctx, json_t *answer)
{
	struct admin *admin = ctx;

	sim_queue_add(admin->world->queue, 1000, on_word_taken, admin);
}

/* Nodes without power, of these. */
static uint32_t dead_nodes(const struct admin *admin, uint32_t nodes)
{
	const struct world *world = admin->world;
	uint32_t dead = 0;

	for (unsigned int i = 0; i < world->node_count; i++) {
		if (!node_is_powered(world->nodes[i]))
			dead |= nodes & 1u << i;
	}
	return dead;
}

static void forget_boots(struct admin *admin, uint32_t nodes, bool is_for_ever)
{
	struct world *world = admin->world;

	for (unsigned int i = 0; i < world->node_count; i++) {
		if (nodes & 1u << i)
			oracle_forget_boots(world->oracle, world->nodes[i],
					    is_for_ever);
	}
}

static void give_word(struct admin *admin, const char *op, uint32_t nodes,
		      json_t *members_owned)
{
	lock(admin, nodes, true);
	forget_boots(admin, nodes, false);
	coverage_hit(admin->world->coverage, "operator:%s", op);
	world_trace(admin->world, "the operator says %s of %x", op, nodes);
	ask(admin, op, members_owned, word_done, admin);
}

static void complain(struct admin *admin, const json_t *about)
{
	char *text = json_dumps(about, JSON_COMPACT);

	snprintf(admin->complaint, sizeof(admin->complaint), "%s",
		 text == NULL ? "" : text);
	free(text);
}

static json_t *one_node(unsigned int index)
{
	char name[16];

	snprintf(name, sizeof(name), "n%u", index);
	return json_pack("{s:s}", "nodes", name);
}

static void fence(struct admin *admin)
{
	unsigned int index = (unsigned int)world_below(
		admin->world, admin->world->node_count);
	uint32_t dead = dead_nodes(admin, 1u << index);

	if (admin->locked == 0 && dead != 0)
		give_word(admin, "node-fence", dead, one_node(index));
}

static void waive(struct admin *admin)
{
	uint32_t dead = dead_nodes(admin, UINT32_MAX);

	if (admin->locked == 0 && dead != 0 &&
	    oracle_is_recovering(admin->world->oracle))
		give_word(admin, "recover-waive", dead,
			  one_node((unsigned int)__builtin_ctz(dead)));
}

static void quarantine_seen(void *ctx, json_t *answer)
{
	struct admin *admin = ctx;
	struct world *world = admin->world;
	const json_t *item;
	size_t index;

	if (answer == NULL || answer_result(answer) < 0 || admin->locked != 0)
		return;
	json_array_foreach (json_object_get(answer, "identifiers"), index,
			    item) {
		uint32_t nodes =
			oracle_nodes(world->oracle, text_of(item, "nodes"));
		char id[16];

		if (nodes == 0 || dead_nodes(admin, nodes) != nodes)
			continue;
		snprintf(id, sizeof(id), "%lld",
			 json_integer_value(json_object_get(item, "id")));
		give_word(admin, "quarantine-release", nodes,
			  json_pack("{s:s, s:s, s:s, s:b}", "interconnect",
				    text_of(item, "interconnect"), "pool",
				    text_of(item, "pool"), "ids", id, "force",
				    world_percent(admin->world, 40)));
		return;
	}
}

/* --- other duties --- */

static void drain(struct admin *admin)
{
	struct world *world = admin->world;
	json_t *members =
		one_node((unsigned int)world_below(world, world->node_count));

	json_object_set_new(members, "reason", json_string("maintenance"));
	coverage_hit(world->coverage, "operator:drain");
	ask(admin, world_percent(world, 35) ? "node-drain" : "node-undrain",
	    members, ignore, NULL);
}

static void look(struct admin *admin)
{
	static const char *const ops[] = {
		"status", "list", "pools", "quarantine", "node-list", "metrics"
	};
	struct world *world = admin->world;

	ask(admin, ops[world_below(world, 6)], NULL, ignore, NULL);
	ask(admin, world_percent(world, 50) ? "list" : "pools", NULL, ignore,
	    NULL);
}

static void look_closely(struct admin *admin)
{
	struct world *world = admin->world;
	char job[32];

	snprintf(job, sizeof(job), "%s/J%llu",
		 world_percent(world, 50) ? "slurm" : "flux",
		 1 + (unsigned long long)world_below(world, 60));
	ask(admin, world_percent(world, 50) ? "explain" : "eventlog",
	    json_pack("{s:s}", "job", job), ignore, NULL);
	client_ask(world->clients, CLIENT_USER, "list", NULL, false, ignore,
		   NULL);
}

static void query(struct admin *admin)
{
	static const char *const kinds[] = { "grants", "devices", "objects" };
	struct world *world = admin->world;
	json_t *members =
		one_node((unsigned int)world_below(world, world->node_count));

	json_object_set_new(members, "what",
			    json_string(kinds[world_below(world, 3)]));
	coverage_hit(world->coverage, "operator:query");
	ask(admin, "node-query", members, ignore, NULL);
}

/* At any time: it ends nothing that was not being ended. */
static void clean(struct admin *admin)
{
	struct world *world = admin->world;
	json_t *members =
		one_node((unsigned int)world_below(world, world->node_count));

	json_object_set_new(members, "dry_run",
			    json_boolean(world_percent(world, 20)));
	coverage_hit(world->coverage, "operator:node-clean");
	ask(admin, "node-clean", members, ignore, NULL);
}

static void look_done(void *ctx, struct node *node, json_t *answer)
{
}

static void clean_all(struct node *node)
{
	node_expect_revoke(node, NODE_ANY_JOB);
	node_ask(node, 0, "clean",
		 json_pack("{s:b, s:b}", "all", 1, "force", 1), look_done,
		 NULL);
}

static void look_on_node(struct admin *admin)
{
	static const char *const ops[] = { "node-status", "devices",
					   "objects" };
	struct world *world = admin->world;
	struct node *node = world->nodes[world_below(world, world->node_count)];

	node_ask(node, 0, ops[world_below(world, 3)], NULL, look_done, NULL);
	if (world_percent(world, 20))
		node_ask(node, 0, "clean",
			 json_pack("{s:b, s:b}", "all",
				   world_percent(world, 50), "dry_run", 1),
			 look_done, NULL);
	if (world_percent(world, 10))
		node_ask(node, 0, "clean", NULL, look_done, NULL);
	if (world_percent(world, 4)) {
		coverage_hit(world->coverage, "operator:clean-all");
		clean_all(node);
	}
}

/* What is wrong in itself, and has to be refused. */
static void refused(void *ctx, json_t *answer)
{
	struct admin *admin = ctx;

	if (answer != NULL && answer_result(answer) == 0)
		world_fail(admin->world, "nonsense is obeyed: %s",
			   json_dumps(answer, JSON_COMPACT));
}

static void ask_nonsense(struct admin *admin)
{
	coverage_hit(admin->world->coverage, "operator:asks-nonsense");
	ask(admin, "node-drain",
	    json_pack("{s:s, s:s}", "nodes", "n0,n0", "reason", "x"), refused,
	    admin);
	ask(admin, "node-fence", json_pack("{s:s}", "nodes", "n77"), refused,
	    admin);
	ask(admin, "quarantine-release",
	    json_pack("{s:s, s:s}", "pool", "nothing", "ids", "3"), refused,
	    admin);
	ask(admin, "quarantine-release",
	    json_pack("{s:s, s:s}", "pool", "vni", "ids", "60000"), refused,
	    admin);
}

/* --- configuration --- */

static void change_pool(struct admin *admin)
{
	struct world *world = admin->world;
	struct leader_config *config = leader_config(world->leader);
	unsigned int first =
		WORLD_VNI_FIRST + (unsigned int)world_below(world, 6);

	snprintf(config->vni_pool, sizeof(config->vni_pool), "%u-%u", first,
		 first + (unsigned int)world_between(world,
						     world->vni_count / 2,
						     world->vni_count + 4));
	snprintf(config->fabric_pool, sizeof(config->fabric_pool), "%u-%u",
		 1 + (unsigned int)world_below(world, 3),
		 5 + (unsigned int)world_below(world, 4));
	coverage_hit(world->coverage, "operator:change-pool");
}

static void change_nodes(struct admin *admin)
{
	struct world *world = admin->world;
	struct leader_config *config = leader_config(world->leader);
	uint32_t all = (1u << world->node_count) - 1;

	if (config->nodes != all || oracle_is_recovering(world->oracle))
		config->nodes = all;
	else if (world->node_count > 1)
		config->nodes &= ~(1u << world_below(world, world->node_count));
	forget_boots(admin, all & ~config->nodes, true);
	coverage_hit(world->coverage, "operator:change-nodes");
}

static void reconfigure(struct admin *admin)
{
	struct world *world = admin->world;
	struct leader_config *config = leader_config(world->leader);

	config->is_broken = false;
	switch (world_below(world, 6)) {
	case 0:
	case 1:
		change_pool(admin);
		break;
	case 2:
	case 3:
		change_nodes(admin);
		break;
	case 4:
		config->is_reserve_fatal = !config->is_reserve_fatal;
		config->events_keep = (uint32_t)world_between(world, 3, 30);
		break;
	default:
		config->is_broken = true;
		coverage_hit(world->coverage, "operator:breaks-config");
		break;
	}
	ask(admin, "reconfigure", NULL, ignore, NULL);
}

static void configured(void *ctx, json_t *answer)
{
	struct admin *admin = ctx;

	admin->is_configured = answer != NULL && answer_result(answer) == 0;
}

static void restore_config(struct admin *admin)
{
	struct world *world = admin->world;
	struct leader_config *config = leader_config(world->leader);

	config->is_broken = false;
	config->is_reserve_fatal = true;
	config->nodes = (1u << world->node_count) - 1;
	snprintf(config->vni_pool, sizeof(config->vni_pool), "%u-%u",
		 WORLD_VNI_FIRST, WORLD_VNI_FIRST + world->vni_count - 1);
	strcpy(config->fabric_pool, "1-6");
	ask(admin, "reconfigure", NULL, configured, admin);
}

/* --- keys: staged, active, the old one retired, a step at a time --- */

static void distribute(struct admin *admin)
{
	struct world *world = admin->world;

	leader_rekey(world->leader);
	for (unsigned int i = 0; i < world->node_count; i++)
		node_rekey(world->nodes[i]);
}

static void on_keys(void *ctx);

static void keys_later(struct admin *admin)
{
	struct world *world = admin->world;

	/* No more of it once all is to be mended. */
	if (!world->is_calm && admin->key_handle == 0)
		admin->key_handle =
			sim_queue_add(world->queue,
				      world_between(world, 8000, 90000),
				      on_keys, admin);
}

static void keys_changed(struct admin *admin, int result,
			 const struct fairlead_error *error)
{
	struct world *world = admin->world;

	if (result < 0)
		world_fail(world, "keys: %s", error->text);
	coverage_hit(world->coverage, "operator:rekey");
	world_trace(world, "the keys change");
	distribute(admin);
	keys_later(admin);
}

/* As `fairlead key retire`: not while a node has not shown the active one. */
static void retire_asked(void *ctx, json_t *answer)
{
	struct admin *admin = ctx;
	struct manager_keys *keys = &admin->world->keys;
	const struct manager_key *active = manager_keys_find(keys, KEY_ACTIVE);
	struct fairlead_error error;
	const json_t *node;
	bool is_shown = answer != NULL && answer_result(answer) == 0;
	size_t index;
	int result;

	json_array_foreach (json_object_get(answer, "nodes"), index, node)
		is_shown &= json_integer_value(json_object_get(node, "key")) ==
			    active->id;
	if (!is_shown) {
		coverage_hit(admin->world->coverage, "operator:retires-later");
		keys_later(admin);
		return;
	}
	result = manager_keys_retire(keys, &error);
	keys_changed(admin, result, &error);
}

static void on_keys(void *ctx)
{
	struct admin *admin = ctx;
	struct world *world = admin->world;
	struct manager_keys *keys = &world->keys;
	struct rng_seam rng = sim_rng_seam(&world->rng);
	struct fairlead_error error;
	int result;

	admin->key_handle = 0;
	if (manager_keys_find(keys, KEY_RETIRING) != NULL) {
		ask(admin, "node-list", NULL, retire_asked, admin);
		return;
	}
	if (manager_keys_find(keys, KEY_STAGED) != NULL)
		result = manager_keys_activate(keys, &error);
	else
		result = manager_keys_rotate(keys, &rng, &error);
	keys_changed(admin, result, &error);
}

/* --- mending --- */

static void pools_seen(void *ctx, json_t *answer)
{
	struct admin *admin = ctx;
	const char *interconnect;
	json_t *pools, *pool;
	const char *name;

	admin->looks--;
	if (answer == NULL || answer_result(answer) < 0)
		return;
	admin->pools_are_full = true;
	json_object_foreach (json_object_get(answer, "pools"), interconnect,
			     pools) {
		json_object_foreach (pools, name, pool) {
			if (strcmp(text_of(pool, "free"),
				   text_of(pool, "universe")) != 0 ||
			    *text_of(pool, "held") ||
			    *text_of(pool, "quarantined") ||
			    *text_of(pool, "withheld") ||
			    *text_of(pool, "draining")) {
				admin->pools_are_full = false;
				complain(admin, pool);
			}
		}
	}
}

static void nothing_quarantined(void *ctx, json_t *answer)
{
	struct admin *admin = ctx;

	admin->looks--;
	if (answer == NULL || answer_result(answer) < 0)
		return;
	admin->quarantine_is_empty =
		json_array_size(json_object_get(answer, "identifiers")) == 0;
	if (!admin->quarantine_is_empty)
		complain(admin, answer);
}

/* Somebody has to look at that node: it reports what nobody knows. */
static void mend_node(struct admin *admin, struct node *node)
{
	struct world *world = admin->world;
	uint64_t *mended_ms = &admin->mended_ms[node_index(node)];
	uint64_t now_ms = world_now_ms(world);

	if (now_ms < *mended_ms + 20000)
		return;
	*mended_ms = now_ms;
	coverage_hit(world->coverage, "operator:mends-node");
	world_trace(world, "the operator mends %s", node_name(node));
	if (oracle_service_count(world->oracle, node) > 0 ||
	    (node_is_running(node) && node_grant_count(node) > 0)) {
		clean_all(node);
	} else {
		node_crash(node, 500);
	}
}

static void nodes_seen(void *ctx, json_t *answer)
{
	struct admin *admin = ctx;
	struct world *world = admin->world;
	json_t *nodes = json_object_get(answer, "nodes");
	json_t *item;
	size_t index;

	admin->looks--;
	if (answer == NULL || answer_result(answer) < 0)
		return;
	admin->nodes_are_well = json_array_size(nodes) == world->node_count;
	json_array_foreach (nodes, index, item) {
		unsigned int place =
			(unsigned int)atoi(text_of(item, "name") + 1);
		bool is_drained =
			json_is_true(json_object_get(item, "drained"));

		if (is_drained)
			ask(admin, "node-undrain", one_node(place), ignore,
			    NULL);
		if (is_drained ||
		    json_is_true(json_object_get(item, "drain_pending")) ||
		    strcmp(text_of(item, "state"), "up") != 0 ||
		    json_integer_value(json_object_get(item, "grants")) != 0 ||
		    json_integer_value(json_object_get(item, "pending")) != 0)
			admin->nodes_are_well = false;
		if (json_array_size(json_object_get(item, "withheld")) > 0) {
			admin->nodes_are_well = false;
			if (jobs_are_over(world->jobs))
				mend_node(admin, world->nodes[place]);
		}
	}
	if (!admin->nodes_are_well)
		complain(admin, answer);
}

/* What an old backup has brought back belongs to no job any more. */
static void leftovers_seen(void *ctx, json_t *answer)
{
	struct admin *admin = ctx;
	const json_t *item;
	size_t index;

	json_array_foreach (json_object_get(answer, "jobs"), index, item) {
		coverage_hit(admin->world->coverage,
			     "operator:releases-leftover");
		ask(admin, "release",
		    json_pack("{s:O}", "grant_id",
			      json_object_get(item, "grant_id")),
		    ignore, NULL);
	}
}

static void mend(struct admin *admin)
{
	struct world *world = admin->world;

	if (admin->looks > 0)
		return;
	/* Once more now and then: it may have been an old manager that did. */
	if (!admin->is_configured || world_percent(world, 10))
		restore_config(admin);
	if (leader_was_restored(world->leader) && jobs_are_over(world->jobs))
		ask(admin, "list", NULL, leftovers_seen, admin);
	admin->looks = 3;
	ask(admin, "pools", NULL, pools_seen, admin);
	ask(admin, "quarantine", NULL, nothing_quarantined, admin);
	ask(admin, "node-list", NULL, nodes_seen, admin);
}

const char *admin_complaint(const struct admin *admin)
{
	return admin->complaint;
}

bool admin_is_content(const struct admin *admin)
{
	return admin->pools_are_full && admin->quarantine_is_empty &&
	       admin->nodes_are_well;
}

void admin_mend(struct admin *admin)
{
	admin->is_mending = true;
	admin->pools_are_full = false;
	admin->quarantine_is_empty = false;
	admin->nodes_are_well = false;
	sim_queue_cancel(admin->world->queue, admin->key_handle);
	admin->key_handle = 0;
	restore_config(admin);
}

/* --- the round --- */

static void on_round(void *ctx)
{
	struct admin *admin = ctx;
	struct world *world = admin->world;
	uint64_t delay_ms = world_between(world, 500, 5000);

	if (admin->is_mending) {
		delay_ms = LOOK_MS;
		mend(admin);
	} else {
		uint64_t dice = world_below(world, 100);

		if (dice < 30)
			look(admin);
		else if (dice < 40)
			look_closely(admin);
		else if (dice < 50)
			drain(admin);
		else if (dice < 60)
			fence(admin);
		else if (dice < 68)
			ask(admin, "quarantine", NULL, quarantine_seen, admin);
		else if (dice < 78)
			reconfigure(admin);
		else if (dice < 82)
			query(admin);
		else if (dice < 85)
			clean(admin);
		else if (dice < 92)
			look_on_node(admin);
		else if (dice < 93)
			ask_nonsense(admin);
		else
			waive(admin);
	}
	admin->handle = sim_queue_add(world->queue, delay_ms, on_round, admin);
}

struct admin *admin_create(struct world *world)
{
	struct admin *admin = world_allocate(sizeof(*admin));

	admin->world = world;
	admin->handle = sim_queue_add(world->queue, 3000, on_round, admin);
	if (world_percent(world, 40))
		admin->key_handle =
			sim_queue_add(world->queue,
				      world_between(world, 5000, 60000),
				      on_keys, admin);
	return admin;
}

void admin_destroy(struct admin *admin)
{
	free(admin);
}
