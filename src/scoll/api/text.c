/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Node ids, trees and errors as text.
 *
 *	nid  = address "@" net    net = name [ number ]
 *
 * The networks are Lustre's, with its numbers; what it does not know is
 * "netTYPE.NUMBER". Where addresses are those of IPv4 they are written so,
 * else in decimal.
 */
#include "scoll/api/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NID(type, number, address)                                 \
	((scoll_nid_t)(type) << 48 | (scoll_nid_t)(number) << 32 | \
	 (scoll_nid_t)(address))

struct scoll_net {
	const char *name;
	uint16_t type;
	bool is_ip;
};

static const struct scoll_net nets[] = {
	{ "tcp", 2, true },   { "o2ib", 5, true },  { "lo", 9, true },
	{ "gni", 13, false }, { "kfi", 16, false },
};

#define NET_COUNT (sizeof(nets) / sizeof(nets[0]))

/* Digits up to `end`, without a sign or zeros in front. */
static int number_parse(const char *text, const char *end, uint64_t max,
			uint64_t *ret_number)
{
	uint64_t number = 0;

	if (text == end || (text[0] == '0' && text + 1 != end))
		return -EINVAL;
	for (; text < end; text++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		number = number * 10 + (uint64_t)(*text - '0');
		if (number > max)
			return -EINVAL;
	}
	*ret_number = number;
	return 0;
}

static int ip_parse(const char *text, const char *end, uint64_t *ret_address)
{
	uint64_t address = 0;

	for (int i = 0; i < 4; i++) {
		const char *dot =
			i < 3 ? memchr(text, '.', (size_t)(end - text)) : end;
		uint64_t byte;

		if (dot == NULL || number_parse(text, dot, 255, &byte) < 0)
			return -EINVAL;
		address = address << 8 | byte;
		text = dot + 1;
	}
	*ret_address = address;
	return 0;
}

/* The net's type and number, and whether its addresses are dotted. */
static int net_parse(const char *text, uint64_t *ret_type, uint64_t *ret_number,
		     bool *ret_is_ip)
{
	const char *end = text + strlen(text);
	const char *dot = strchr(text, '.');

	*ret_number = 0;
	*ret_is_ip = false;
	if (strncmp(text, "net", 3) == 0 && dot != NULL) {
		if (number_parse(text + 3, dot, UINT16_MAX, ret_type) < 0)
			return -EINVAL;
		return number_parse(dot + 1, end, UINT16_MAX, ret_number);
	}
	for (size_t i = 0; i < NET_COUNT; i++) {
		size_t size = strlen(nets[i].name);

		if (strncmp(text, nets[i].name, size) != 0)
			continue;
		*ret_type = nets[i].type;
		*ret_is_ip = nets[i].is_ip;
		if (text[size] == '\0')
			return 0;
		return number_parse(text + size, end, UINT16_MAX, ret_number);
	}
	return -EINVAL;
}

int scoll_nid_parse(const char *text, scoll_nid_t *ret_nid)
{
	const char *at = strchr(text, '@');
	uint64_t type = 0, number = 0, address = 0;
	bool is_ip = false;
	int result;

	if (at == NULL || strlen(text) >= SCOLL_NID_TEXT ||
	    net_parse(at + 1, &type, &number, &is_ip) < 0)
		return -EINVAL;
	if (is_ip)
		result = ip_parse(text, at, &address);
	else
		result = number_parse(text, at, UINT32_MAX, &address);
	if (result < 0)
		return result;
	*ret_nid = NID(type, number, address);
	return 0;
}

const char *scoll_nid_format(scoll_nid_t nid, char text[SCOLL_NID_TEXT])
{
	unsigned type = (unsigned)(nid >> 48), number = nid >> 32 & 0xffff;
	unsigned address = (unsigned)nid;
	char net[16], suffix[8] = "";
	bool is_ip = false;

	snprintf(net, sizeof(net), "net%u.%u", type, number);
	if (number != 0)
		snprintf(suffix, sizeof(suffix), "%u", number);
	for (size_t i = 0; i < NET_COUNT; i++) {
		if (nets[i].type != type)
			continue;
		snprintf(net, sizeof(net), "%s%s", nets[i].name, suffix);
		is_ip = nets[i].is_ip;
	}
	if (is_ip)
		snprintf(text, SCOLL_NID_TEXT, "%u.%u.%u.%u@%s", address >> 24,
			 address >> 16 & 255, address >> 8 & 255, address & 255,
			 net);
	else
		snprintf(text, SCOLL_NID_TEXT, "%u@%s", address, net);
	return text;
}

int scoll_tree_parse(const scoll_t *scoll, const char *text,
		     scoll_tree_type_t *ret_tree,
		     struct fairlead_error *ret_error)
{
	int result;

	if (scoll == NULL)
		return tree_type_parse(NULL, text, ret_tree, ret_error);
	scoll_lock(scoll);
	result = tree_type_parse(&scoll->tree_types, text, ret_tree, ret_error);
	scoll_unlock(scoll);
	return result;
}

const char *scoll_tree_format(const scoll_t *scoll, scoll_tree_type_t tree,
			      char text[SCOLL_TREE_TEXT])
{
	if (scoll == NULL)
		return tree_type_format(NULL, tree, text);
	scoll_lock(scoll);
	tree_type_format(&scoll->tree_types, tree, text);
	scoll_unlock(scoll);
	return text;
}

const char *scoll_error_type_text(enum scoll_error_type type)
{
	static const char *const texts[SCOLL_ERROR_COUNT] = {
		[SCOLL_ERROR_NONE] = "no error",
		[SCOLL_ERROR_NET_SEND] = "could not be sent",
		[SCOLL_ERROR_PEER_DEAD] = "peer died",
		[SCOLL_ERROR_PEER_REBOOT] = "peer rebooted",
		[SCOLL_ERROR_TIMEOUT] = "no reply in time",
		[SCOLL_ERROR_NO_SERVICE] = "no such service there",
		[SCOLL_ERROR_NO_GROUP] = "group not known there",
		[SCOLL_ERROR_DIGEST] = "other members there",
		[SCOLL_ERROR_NOT_PARENT] = "sender is not its parent",
		[SCOLL_ERROR_PRE_REQUEST] = "refused by the service",
		[SCOLL_ERROR_REQUEST] = "failed in the service",
		[SCOLL_ERROR_BULK] = "bulk data did not arrive",
		[SCOLL_ERROR_ABORTED] = "aborted",
		[SCOLL_ERROR_PROTO_VERSION] = "other version of the protocol",
		[SCOLL_ERROR_NOMEM] = "out of memory or over a limit",
		[SCOLL_ERROR_REPLY_SIZE] = "reply larger than the buffer",
		[SCOLL_ERROR_STEALTH] = "has just started",
	};

	if ((unsigned)type >= SCOLL_ERROR_COUNT || texts[type] == NULL)
		return "unknown error";
	return texts[type];
}
