/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The networks between the containers: of the manager and its nodes, br0, where
 * a node has eth0; and one for each rail, br1 and on, where it has eth1 and on.
 * A veth joins each NIC with its bridge: pI_R, of node I and its ethR.
 */
#include "emu/cluster/internal.h"

#include <stdarg.h>
#include <stdio.h>

#include "emu/cluster/container.h"

#define LINES_MAX 2048

struct ip_lines {
	char text[LINES_MAX];
	size_t used;
};

static void add(struct ip_lines *lines, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add(struct ip_lines *lines, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	lines->used += (size_t)vsnprintf(lines->text + lines->used,
					 sizeof(lines->text) - lines->used,
					 format, args);
	va_end(args);
}

int cluster_network_create(struct cluster *cluster,
			   struct fairlead_error *ret_error)
{
	struct ip_lines lines = { 0 };
	int result;

	add(&lines, "link set lo up\n");
	for (uint32_t i = 0; i <= cluster->rail_count; i++)
		add(&lines, "link add br%u type bridge\nlink set br%u up\n", i,
		    i);
	add(&lines, "addr add " CLUSTER_MANAGER_HOST "/16 dev br0\n");
	result = container_ip(&cluster->fabric, lines.text, ret_error);
	for (uint32_t i = 0; i < cluster->node_count && result == 0; i++)
		result = cluster_network_join(cluster, &cluster->nodes[i],
					      ret_error);
	return result;
}

int cluster_network_join(struct cluster *cluster, struct cluster_node *node,
			 struct fairlead_error *ret_error)
{
	uint32_t index = (uint32_t)(node - cluster->nodes);
	struct ip_lines ports = { 0 }, nics = { 0 };
	int result;

	add(&nics, "link set lo up\n");
	for (uint32_t i = 0; i <= cluster->rail_count; i++) {
		add(&ports,
		    "link add p%u_%u type veth peer name eth%u netns %d\n"
		    "link set p%u_%u master br%u up\n",
		    index, i, i, (int)node->holder.pid, index, i, i);
		add(&nics,
		    "addr add 10.%u.0.%u/16 dev eth%u\n"
		    "link set eth%u up\n",
		    CLUSTER_SUBNET_FIRST + i, index + 1, i, i);
	}
	result = container_ip(&cluster->fabric, ports.text, ret_error);
	if (result == 0)
		result = container_ip(&node->holder, nics.text, ret_error);
	return result;
}

int cluster_network_leave(struct cluster *cluster,
			  const struct cluster_node *node,
			  struct fairlead_error *ret_error)
{
	uint32_t index = (uint32_t)(node - cluster->nodes);
	struct ip_lines lines = { 0 };

	for (uint32_t i = 0; i <= cluster->rail_count; i++)
		add(&lines, "link del p%u_%u\n", index, i);
	return container_ip(&cluster->fabric, lines.text, ret_error);
}
