/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manager half. It turns a job's options into a number of VNIs and
 * completed options, and puts the places of its nodes together.
 *
 * VNIs that are equal modulo the number of IPv4 networks share one, so a pool
 * with two such VNIs would hand out two lanes that are one.
 */
#include "lanes/driver/ethernet/ethernet.h"

#include "base/memory.h"
#include "lanes/driver/ethernet/members.h"
#include "lanes/driver/ethernet/settings.h"

#define EVENT_NAME "ethernet"

/* Two VNIs of the pool with one IPv4 network. */
static bool find_shared(const struct idset *pool, uint32_t lanes,
			uint32_t ret_vnis[2])
{
	_auto_(idset_destroyp) struct idset *taken = NULL;

	if (!lanes)
		return false;
	memory_check(idset_create(lanes, &taken));
	idset_foreach (vni, pool) {
		if (!idset_has(taken, vni % lanes)) {
			idset_add(taken, vni % lanes);
			continue;
		}
		ret_vnis[1] = vni;
		ret_vnis[0] = idset_next(pool, 0);
		while (ret_vnis[0] % lanes != vni % lanes)
			ret_vnis[0] = idset_next(pool, ret_vnis[0] + 1);
		return true;
	}
	return false;
}

/* The setting to blame for something about the pool and the networks. */
static const char *pool_setting(const struct settings *settings)
{
	static const char *const names[] = { "vni_pool", "ipv4_network",
					     "ipv4_lane_size" };
	size_t i = 0;

	while (i < 2 && !settings_find(settings, names[i]))
		i++;
	return names[i];
}

static void check_pool(const struct settings *settings,
		       const struct ethernet_settings *values)
{
	const struct ethernet_networks *networks = &values->networks;
	uint32_t lanes = ethernet_ipv4_lanes(networks);
	_auto_(idset_destroyp) struct idset *pool = NULL;
	char text[IP_NETWORK_TEXT_MAX];
	uint32_t vnis[2];

	if (vnis_check(&ethernet_vnis, values->vnis.pool, &pool, NULL) < 0 ||
	    !find_shared(pool, lanes, vnis))
		return;
	ip_network_format(&networks->ipv4, text);
	settings_fail(settings, pool_setting(settings),
		      "VNIs %u and %u would have one IPv4 network: %s has %u "
		      "lanes of /%u; take a larger ipv4_network, a higher "
		      "ipv4_lane_size, fewer VNIs in a row, or ipv4_network "
		      "none",
		      vnis[0], vnis[1], text, lanes, networks->ipv4_lane_size);
}

static int configure(const struct fairlead_setting *list, size_t count,
		     void **ret_state, struct fairlead_error *ret_error)
{
	struct settings_errors errors = { 0 };
	const struct settings settings = { list, count, &errors };
	struct ethernet_settings values;
	int result;

	ethernet_settings_read(&settings, &values);
	check_pool(&settings, &values);
	result = settings_finish(&errors, ret_error);
	if (result < 0)
		return result;
	*ret_state = vnis_state_create(&values.vnis, sizeof(values));
	return 0;
}

static size_t pools(void *data,
		    struct fairlead_pool_spec specs[FAIRLEAD_POOLS_MAX])
{
	return vnis_pools(&ethernet_vnis, data, specs);
}

static int reserve(void *data, const struct fairlead_driver_request *request,
		   struct fairlead_plan *ret_plan,
		   struct fairlead_error *ret_error)
{
	const struct ethernet_settings *state = data;
	struct ethernet_request asked;
	struct fairlead_plan plan = { 0 };
	int result;

	result = ethernet_request_parse(request->options, &state->policy,
					state->vnis.default_count, &asked,
					ret_error);
	if (result == 0 && asked.vni_count > 0)
		result = ethernet_members_check(request->node_count,
						&state->networks, ret_error);
	if (result < 0)
		return result;
	vnis_plan(&state->vnis, asked.vni_count, asked.is_off, &plan);
	ethernet_request_format(&asked, plan.options);
	*ret_plan = plan;
	return 0;
}

static int describe(void *data, const struct fairlead_lane *lane,
		    const char *reason, const char **ret_event_name,
		    char **ret_context)
{
	*ret_context = vnis_describe(lane, reason);
	*ret_event_name = EVENT_NAME;
	return 0;
}

static int read_place(const struct fairlead_place *bytes, const char *node,
		      struct ethernet_place *ret_place,
		      struct fairlead_error *ret_error)
{
	int result = -EBADMSG;

	if (bytes->size == 0)
		return error_set(
			ret_error, -EINVAL,
			"node %s has not reported its addresses; is its "
			"driver ethernet usable?",
			node);
	if (bytes->size <= sizeof(bytes->bytes))
		result = ethernet_place_decode(bytes->bytes, bytes->size,
					       ret_place);
	if (result == -EPROTONOSUPPORT)
		return error_set(
			ret_error, -EINVAL,
			"node %s reports its addresses in version %u, and the "
			"manager's is %d: update fairlead on %s",
			node, bytes->bytes[0], ETHERNET_PLACE_VERSION,
			bytes->bytes[0] < ETHERNET_PLACE_VERSION
				? "the node"
				: "the manager's host");
	if (result < 0)
		return error_set(ret_error, -EINVAL,
				 "the addresses that node %s reports cannot be "
				 "read; are both daemons of one version?",
				 node);
	return 0;
}

static int encode(const struct ethernet_members *members, uint8_t **ret_bytes,
		  size_t *ret_size, struct fairlead_error *ret_error)
{
	struct writer writer = { .limit = FAIRLEAD_MEMBERS_MAX };
	int result = ethernet_members_encode(members, &writer);
	uint8_t *bytes = writer_take(&writer, ret_size);

	if (result == -EMSGSIZE)
		return error_set(ret_error, result,
				 "the addresses of %u nodes on %u rails take "
				 "more than %d bytes; addresses that rise by "
				 "one from node to node take few",
				 members->node_count, members->rail_count,
				 FAIRLEAD_MEMBERS_MAX);
	*ret_bytes = memory_have(bytes);
	return 0;
}

static int assemble(void *data, const struct fairlead_lane *lane,
		    const char *const *nodes,
		    const struct fairlead_place *places, size_t count,
		    uint8_t **ret_bytes, size_t *ret_size,
		    struct fairlead_error *ret_error)
{
	const struct ethernet_settings *state = data;
	struct ethernet_members members = { .networks = state->networks };
	_auto_(freep) struct ethernet_place *decoded =
		memory_array(count, sizeof(*decoded));
	int result = 0;

	for (size_t i = 0; result == 0 && i < count; i++)
		result = read_place(&places[i], nodes[i], &decoded[i],
				    ret_error);
	if (result == 0)
		result = ethernet_members_make(decoded, nodes, count, &members,
					       ret_error);
	if (result < 0)
		return result;
	result = encode(&members, ret_bytes, ret_size, ret_error);
	ethernet_members_fini(&members);
	return result;
}

const struct fairlead_manager_ops ethernet_manager_ops = {
	.configure = configure,
	.destroy = vnis_state_destroy,
	.pools = pools,
	.reserve = reserve,
	.describe = describe,
	.assemble = assemble,
};
