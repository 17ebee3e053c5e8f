/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses and networks of both families of IP, as bytes and as texts. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

#define IP_ADDRESS_TEXT_MAX 46 /* with the zero */

struct ip_address {
	uint8_t family;    /* 4, 6, or 0: none */
	uint8_t bytes[16]; /* network order; the first 4 when family is 4 */
};

bool ip_address_equal(const struct ip_address *a, const struct ip_address *b);
/* "" for none. */
void ip_address_format(const struct ip_address *address,
		       char text[IP_ADDRESS_TEXT_MAX]);
bool ip_address_parse(const char *text, struct ip_address *ret_address);
/* u8 family, then u8[4 or 16], or nothing for none. */
void ip_address_write(const struct ip_address *address, struct writer *writer);
/* Another family fails the reader; on failure the address is none. */
void ip_address_read(struct reader *reader, struct ip_address *ret_address);

/* Of all bytes that were digested before, and these. */
uint64_t ethernet_digest(uint64_t before, const void *bytes, size_t size);
#define ETHERNET_DIGEST_START UINT64_C(0xcbf29ce484222325)

/* A range of addresses that share their first prefix_size bits. */
struct ip_network {
	struct ip_address address; /* the bits behind the prefix are zero */
	uint8_t prefix_size;
};

#define IP_NETWORK_TEXT_MAX (IP_ADDRESS_TEXT_MAX + 4)

/* The one that an address lies in. */
struct ip_network ip_network_of(const struct ip_address *address,
				uint8_t prefix_size);
/* "fd46:4c00::/32". -EINVAL with a text, also for bits behind the prefix. */
int ip_network_parse(const char *text, struct ip_network *ret_network,
		     struct fairlead_error *ret_error);
void ip_network_format(const struct ip_network *network,
		       char text[IP_NETWORK_TEXT_MAX]);
bool ip_network_has(const struct ip_network *network,
		    const struct ip_address *address);
/* Do they have an address in common? */
bool ip_network_meets(const struct ip_network *a, const struct ip_network *b);
