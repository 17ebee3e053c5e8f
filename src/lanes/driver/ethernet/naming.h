/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a lane is called: its devices, hardware addresses and addresses follow
 * from VNI, rail and the node's number in the job, so that every node of the
 * job computes the same ones and nobody has to be asked.
 *
 *	device   fl4242 on rail 0, fl4242r1 on rail 1
 *	MAC      02:VV:VV:VV:NN:NN
 *	IPv6     PPPP:PPPP:RRVV:VVVV::NNNN/64, PPPP:PPPP the site's /32
 *	IPv4     a network for each pair of VNI and rail, cut from the site's
 *
 * V: the VNI's 24 bits, N: the node's number in the job's host list, from 1, R:
 * the rail. Pure.
 */
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanes/driver/ethernet/address.h"
#include "fairlead_driver.h"

#define ETHERNET_VNI_LIMIT   (1u << 24) /* VNIs are below it */
#define ETHERNET_VNIS_MAX    4          /* VNIs of a lane */
#define ETHERNET_RAILS_MAX   4          /* rails of a node */
#define ETHERNET_DEVICES_MAX (ETHERNET_VNIS_MAX * ETHERNET_RAILS_MAX)
#define ETHERNET_NODES_MAX   65534 /* nodes of a lane */
#define ETHERNET_MAC_SIZE    6
#define ETHERNET_PORT        4789
#define ETHERNET_PORT_MIN    1024 /* least and greatest of rail 0 */
#define ETHERNET_PORT_MAX    65500
#define ETHERNET_PORT_ROCE   4791 /* of RoCEv2: no rail has it */
#define ETHERNET_MTU_MIN     1280 /* of a lane's device: IPv6 asks for it */

/* Bytes that VXLAN puts around a packet, over IPv4 or IPv6. */
static inline uint32_t ethernet_overhead(uint8_t family)
{
	return family == 6 ? 70 : 50;
}

/* The site's networks, from which those of lanes are cut. */
struct ethernet_networks {
	struct ip_network ipv6; /* always a /32 */
	struct ip_network ipv4; /* family 0: lanes have IPv6 only */
	uint8_t ipv4_lane_size; /* prefix of one lane's network on one rail */
	uint16_t port;          /* of VXLAN on rail 0; see ethernet_port */
};

/*
 * VXLAN's UDP port on a rail: first + rail, but past RoCEv2's, which others
 * need on the same NICs. first is not RoCEv2's.
 */
uint16_t ethernet_port(uint16_t first, uint32_t rail);
/* The rail that has the port; ETHERNET_RAILS_MAX: none has. */
uint32_t ethernet_rail(uint16_t first, uint16_t port);

/* fd46:4c00::/32, 100.64.0.0/10 with /22 for a lane, 4789. */
extern const struct ethernet_networks ethernet_networks_default;

/*
 * IPv4 networks, and so VNIs, that fit: a power of two. VNIs have the same
 * IPv4 network when they are equal modulo this number. 0: no IPv4.
 */
uint32_t ethernet_ipv4_lanes(const struct ethernet_networks *networks);
/* Nodes that a lane's IPv4 network has addresses for. */
uint32_t ethernet_ipv4_nodes(const struct ethernet_networks *networks);

/* What a device of a lane is called and has, on the node with that number. */
struct ethernet_names {
	char device[IFNAMSIZ];
	uint8_t mac[ETHERNET_MAC_SIZE];
	struct ip_address ipv6;
	struct ip_address ipv4; /* family 0: none */
	uint8_t ipv4_prefix_size;
	uint16_t port;
};

#define ETHERNET_IPV6_PREFIX_SIZE 64

/* number: from 1. */
void ethernet_name(const struct ethernet_networks *networks, uint32_t vni,
		   uint32_t rail, uint32_t number,
		   struct ethernet_names *ret_names);
/* False: no device of ours is called so. */
bool ethernet_device_parse(const char *device, uint32_t *ret_vni,
			   uint32_t *ret_rail);

/*
 * What a device says of itself in its alias, by which it is known after a
 * crash:
 * "fairlead:grant=9:uid=20001:gid=20001:tcs=0xa:tc=1:class=17:vnis=4242:job=77".
 */
#define ETHERNET_ALIAS_MAX 224 /* bytes, with the zero; the kernel has 256 */

struct ethernet_alias {
	uint64_t grant_id;
	uint32_t uid;
	uint32_t gid;
	uint8_t classes;     /* bits 1 << enum ethernet_class (policy.h) */
	uint8_t first_class; /* enum ethernet_class */
	uint16_t htb_class;  /* minor number of its class in HTB; 0: none */
	uint32_t vni_count;  /* of the lane, in its order */
	uint32_t vnis[ETHERNET_VNIS_MAX];
	char job[FAIRLEAD_JOB_NAME_MAX + 1]; /* "": not said */
};

/* As a lane's job has to be: fit for a name in a path. */
bool ethernet_job_is_valid(const char *job);
void ethernet_alias_format(const struct ethernet_alias *alias,
			   char text[ETHERNET_ALIAS_MAX]);
/* False: the text is not one that we wrote. */
bool ethernet_alias_parse(const char *text, struct ethernet_alias *ret_alias);
