/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a lane has in each set, once as text behind the table's, and once as what
 * nft makes of such a text: requests to the kernel, in a batch that is done
 * wholly or not at all. A program that is started, reads which rules there are,
 * and looks for a user whose name is that uid, takes longer than all else that
 * makes a lane.
 */
#include "lanes/driver/ethernet/rules_elements.h"

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#define CHAIN_MAX   64
#define PART_MAX    64
#define PARTS_MAX   4
#define KEY_MAX     (PARTS_MAX * IFNAMSIZ)
#define REGISTER    4   /* bytes; each part of a key begins with one */
#define MESSAGE_MAX 256 /* elements: an attribute has at most 64 KiB */

const char *const rules_class_words[ETHERNET_CLASS_COUNT] = {
	[ETHERNET_DEDICATED_ACCESS] = "dedicated_access",
	[ETHERNET_LOW_LATENCY] = "low_latency",
	[ETHERNET_BULK_DATA] = "bulk_data",
	[ETHERNET_BEST_EFFORT] = "best_effort",
};

enum part_type {
	PART_NONE,
	PART_DEVICE, /* its name */
	PART_ADDRESS,
	PART_NUMBER, /* of the kernel: a uid, an index */
	PART_PORT,
	PART_VNI,
};

struct part {
	enum part_type type;
	const char *name;
	const struct ip_address *address;
	uint32_t number;
};

struct element {
	struct part key[PARTS_MAX];
	/* What a map has for it, or nothing. */
	bool is_accepted;
	const char *chain; /* "class_" or "as_": goes on in that of the class */
	enum ethernet_class class;
	uint32_t priority;
};

/* The command or the requests of one set; begun by its first element. */
struct elements {
	struct writer *writer;
	void (*put)(struct elements *elements, const struct element *element);
	const char *set;
	uint16_t request; /* NFT_MSG_... */
	size_t count;     /* in what was begun */
	size_t message;   /* where it begins */
	size_t list;
};

/* --- text --- */

static void text_put_part(struct writer *writer, const struct part *part)
{
	char text[PART_MAX];

	switch (part->type) {
	case PART_DEVICE:
		snprintf(text, sizeof(text), "\"%s\"", part->name);
		break;
	case PART_ADDRESS:
		ip_address_format(part->address, text);
		break;
	case PART_NUMBER:
		/* Without a sign nft looks for who is called so first. */
		snprintf(text, sizeof(text), "\"+%u\"", part->number);
		break;
	default:
		snprintf(text, sizeof(text), "%u", part->number);
		break;
	}
	write_plain(writer, text);
}

static void text_put(struct elements *elements, const struct element *element)
{
	struct writer *writer = elements->writer;
	char text[CHAIN_MAX];

	if (elements->count++ > 0) {
		write_plain(writer, ", ");
	} else {
		write_plain(writer, "add element inet " RULES_TABLE " ");
		write_plain(writer, elements->set);
		write_plain(writer, " { ");
	}
	for (size_t i = 0; i < PARTS_MAX && element->key[i].type; i++) {
		if (i > 0)
			write_plain(writer, " . ");
		text_put_part(writer, &element->key[i]);
	}
	text[0] = 0;
	if (element->is_accepted)
		snprintf(text, sizeof(text), " : accept");
	else if (element->chain)
		snprintf(text, sizeof(text), " : goto %s%s", element->chain,
			 rules_class_words[element->class]);
	else if (element->priority)
		snprintf(text, sizeof(text), " : %x:%x",
			 element->priority >> 16, element->priority & 0xffff);
	write_plain(writer, text);
}

/* --- requests --- */

static const uint8_t zeros[NLMSG_ALIGNTO];

static void pad(struct writer *writer)
{
	write_bytes(writer, zeros, -writer->size % NLMSG_ALIGNTO);
}

static void attribute(struct writer *writer, uint16_t type, const void *data,
		      size_t size)
{
	const struct nlattr header = { (uint16_t)(NLA_HDRLEN + size), type };

	write_bytes(writer, &header, sizeof(header));
	write_bytes(writer, data, size);
	pad(writer);
}

static void attribute_text(struct writer *writer, uint16_t type,
			   const char *text)
{
	attribute(writer, type, text, strlen(text) + 1);
}

/* Where it begins. */
static size_t nest_begin(struct writer *writer, uint16_t type)
{
	size_t at = writer->size;

	attribute(writer, type | NLA_F_NESTED, NULL, 0);
	return at;
}

static void nest_end(struct writer *writer, size_t at)
{
	uint16_t size = (uint16_t)(writer->size - at);

	if (writer->result == 0)
		memcpy(writer->data + at + offsetof(struct nlattr, nla_len),
		       &size, sizeof(size));
}

static size_t message_begin(struct writer *writer, uint16_t type,
			    uint16_t flags, uint8_t family, uint8_t system)
{
	const struct nlmsghdr header = {
		.nlmsg_type = type,
		.nlmsg_flags = NLM_F_REQUEST | flags,
	};
	/* The last two bytes are a number in the network's order. */
	const uint8_t info[sizeof(struct nfgenmsg)] = { family, NFNETLINK_V0, 0,
							system };
	size_t at = writer->size;

	write_bytes(writer, &header, sizeof(header));
	write_bytes(writer, info, sizeof(info));
	return at;
}

static void message_end(struct writer *writer, size_t at)
{
	uint32_t size = (uint32_t)(writer->size - at);

	if (writer->result == 0)
		memcpy(writer->data + at + offsetof(struct nlmsghdr, nlmsg_len),
		       &size, sizeof(size));
}

static void put_frame(struct writer *writer, uint16_t type)
{
	message_end(writer, message_begin(writer, type, 0, NFPROTO_UNSPEC,
					  NFNL_SUBSYS_NFTABLES));
}

static void requests_end(struct elements *elements)
{
	if (elements->count == 0)
		return;
	nest_end(elements->writer, elements->list);
	message_end(elements->writer, elements->message);
	elements->count = 0;
}

static void requests_begin(struct elements *elements)
{
	struct writer *writer = elements->writer;
	bool is_new = elements->request == NFT_MSG_NEWSETELEM;

	if (writer->size == 0)
		put_frame(writer, NFNL_MSG_BATCH_BEGIN);
	elements->message =
		message_begin(writer,
			      NFNL_SUBSYS_NFTABLES << 8 | elements->request,
			      is_new ? NLM_F_CREATE : 0, NFPROTO_INET, 0);
	attribute_text(writer, NFTA_SET_ELEM_LIST_TABLE, RULES_TABLE);
	attribute_text(writer, NFTA_SET_ELEM_LIST_SET, elements->set);
	elements->list = nest_begin(writer, NFTA_SET_ELEM_LIST_ELEMENTS);
}

/* As the kernel has it in its registers; its size. */
static size_t part_encode(const struct part *part, uint8_t *bytes)
{
	uint32_t number = part->number;

	memset(bytes, 0, IFNAMSIZ);
	switch (part->type) {
	case PART_DEVICE:
		memcpy(bytes, part->name, strnlen(part->name, IFNAMSIZ - 1));
		return IFNAMSIZ;
	case PART_ADDRESS:
		memcpy(bytes, part->address->bytes, 16);
		return part->address->family == 4 ? 4 : 16;
	case PART_PORT:
		bytes[0] = (uint8_t)(number >> 8);
		bytes[1] = (uint8_t)number;
		return REGISTER;
	case PART_VNI:
		bytes[0] = (uint8_t)(number >> 16);
		bytes[1] = (uint8_t)(number >> 8);
		bytes[2] = (uint8_t)number;
		return REGISTER;
	default:
		memcpy(bytes, &number, sizeof(number));
		return REGISTER;
	}
}

static void put_verdict(struct writer *writer, const struct element *element)
{
	const uint8_t accept[] = { 0, 0, 0, NF_ACCEPT };
	const uint8_t go[] = { 0xff, 0xff, 0xff, (uint8_t)NFT_GOTO };
	char chain[CHAIN_MAX];
	size_t at = nest_begin(writer, NFTA_DATA_VERDICT);

	attribute(writer, NFTA_VERDICT_CODE, element->is_accepted ? accept : go,
		  sizeof(go));
	if (!element->is_accepted) {
		snprintf(chain, sizeof(chain), "%s%s", element->chain,
			 rules_class_words[element->class]);
		attribute_text(writer, NFTA_VERDICT_CHAIN, chain);
	}
	nest_end(writer, at);
}

static void put_key(struct writer *writer, const struct element *element)
{
	uint8_t key[KEY_MAX];
	size_t size = 0;
	size_t at = nest_begin(writer, NFTA_SET_ELEM_KEY);

	for (size_t i = 0; i < PARTS_MAX && element->key[i].type; i++)
		size += part_encode(&element->key[i], key + size);
	attribute(writer, NFTA_DATA_VALUE, key, size);
	nest_end(writer, at);
}

static void requests_put(struct elements *elements,
			 const struct element *element)
{
	struct writer *writer = elements->writer;
	bool has_verdict = element->is_accepted || element->chain;
	size_t one, data;

	if (elements->count == MESSAGE_MAX)
		requests_end(elements);
	if (elements->count++ == 0)
		requests_begin(elements);
	one = nest_begin(writer, NFTA_LIST_ELEM);
	put_key(writer, element);
	if ((has_verdict || element->priority) &&
	    elements->request == NFT_MSG_NEWSETELEM) {
		data = nest_begin(writer, NFTA_SET_ELEM_DATA);
		if (has_verdict)
			put_verdict(writer, element);
		else
			attribute(writer, NFTA_DATA_VALUE, &element->priority,
				  sizeof(element->priority));
		nest_end(writer, data);
	}
	nest_end(writer, one);
}

/* --- what a lane has --- */

typedef void put_lane_fn(struct elements *elements,
			 const struct rules_lane *lane, uint8_t choice);

static struct part device_part(const struct rules_lane *lane)
{
	return (struct part){ PART_DEVICE, .name = lane->device.name };
}

static struct part uid_part(const struct rules_lane *lane)
{
	return (struct part){ PART_NUMBER, .number = lane->device.alias.uid };
}

static struct part port_part(const struct rules_lane *lane)
{
	return (struct part){ PART_PORT, .number = lane->device.port };
}

static struct part vni_part(const struct rules_lane *lane)
{
	return (struct part){ PART_VNI, .number = lane->device.vni };
}

/* nft has no way to write some names that the kernel takes. */
static bool can_be_written(const char *name)
{
	return strpbrk(name, "\"*\\") == NULL;
}

/*
 * Its address on this node; none where it has none that counts here: a device that
 * somebody gave such a name is nobody's.
 */
static struct part own_part(const struct rules_lane *lane, uint8_t family)
{
	const struct ip_address *own =
		family == 6 ? &lane->device.ipv6 : &lane->device.ipv4;

	if (lane->is_netns || own->family == 0 ||
	    !can_be_written(lane->device.name))
		return (struct part){ PART_NONE };
	return (struct part){ PART_ADDRESS, .address = own };
}

static void put_sender(struct elements *elements, const struct rules_lane *lane,
		       uint8_t family)
{
	const struct element element = { .key = { device_part(lane),
						  own_part(lane, family),
						  uid_part(lane) } };

	if (element.key[1].type)
		elements->put(elements, &element);
}

static void put_owner(struct elements *elements, const struct rules_lane *lane,
		      uint8_t family)
{
	const struct element element = { .key = { own_part(lane, family),
						  uid_part(lane) } };

	if (element.key[0].type)
		elements->put(elements, &element);
}

static void put_arrival(struct elements *elements,
			const struct rules_lane *lane, uint8_t family)
{
	const struct element element = { .key = { own_part(lane, family),
						  device_part(lane) } };

	if (element.key[0].type)
		elements->put(elements, &element);
}

static void put_members(struct elements *elements,
			const struct rules_lane *lane, uint8_t family)
{
	const uint32_t index = (uint32_t)lane->device.underlay_index;

	for (size_t i = 0; i < lane->peer_count; i++) {
		const struct element element = {
			.key = { { PART_NUMBER, .number = index },
				 { PART_ADDRESS, .address = &lane->peers[i] },
				 port_part(lane),
				 vni_part(lane) }
		};

		if (lane->peers[i].family == family)
			elements->put(elements, &element);
	}
}

static void put_class(struct elements *elements, const struct rules_lane *lane,
		      uint8_t class)
{
	bool has_queue = lane->device.alias.htb_class != 0;
	const struct element element = {
		.key = { port_part(lane), vni_part(lane) },
		.is_accepted = !has_queue,
		.chain = has_queue ? "as_" : NULL,
		.class = class,
	};

	if (lane->device.alias.classes & 1u << class)
		elements->put(elements, &element);
}

static void put_first_class(struct elements *elements,
			    const struct rules_lane *lane, uint8_t choice)
{
	const struct element element = {
		.key = { port_part(lane), vni_part(lane) },
		.chain = "class_",
		.class = lane->device.alias.first_class,
	};

	elements->put(elements, &element);
}

static void put_queue(struct elements *elements, const struct rules_lane *lane,
		      uint8_t class)
{
	uint16_t minor = lane->device.alias.htb_class;
	const struct element element = {
		.key = { port_part(lane), vni_part(lane) },
		.priority = SHAPER_PRIORITY(
			shaper_leaf(minor, lane->device.alias.classes, class)),
	};

	if (minor != 0 && lane->device.alias.classes & 1u << class)
		elements->put(elements, &element);
}

static const struct {
	const char *name;
	put_lane_fn *put;
	uint8_t choice; /* a family or a class */
} sets[] = {
	{ "senders4", put_sender, 4 },
	{ "senders6", put_sender, 6 },
	{ "owners4", put_owner, 4 },
	{ "owners6", put_owner, 6 },
	{ "arrivals4", put_arrival, 4 },
	{ "arrivals6", put_arrival, 6 },
	{ "members4", put_members, 4 },
	{ "members6", put_members, 6 },
	{ "has_dedicated_access", put_class, ETHERNET_DEDICATED_ACCESS },
	{ "has_low_latency", put_class, ETHERNET_LOW_LATENCY },
	{ "has_bulk_data", put_class, ETHERNET_BULK_DATA },
	{ "has_best_effort", put_class, ETHERNET_BEST_EFFORT },
	{ "first_class", put_first_class, 0 },
	{ "queue_dedicated_access", put_queue, ETHERNET_DEDICATED_ACCESS },
	{ "queue_low_latency", put_queue, ETHERNET_LOW_LATENCY },
	{ "queue_bulk_data", put_queue, ETHERNET_BULK_DATA },
	{ "queue_best_effort", put_queue, ETHERNET_BEST_EFFORT },
};

static void put_set(struct elements *elements, size_t set,
		    const struct rules_lane *lanes, size_t count)
{
	elements->set = sets[set].name;
	elements->count = 0;
	for (size_t i = 0; i < count; i++)
		sets[set].put(elements, &lanes[i], sets[set].choice);
}

/* One command a set: fewer are read faster. */
void rules_put_elements(const struct rules_lane *lanes, size_t count,
			struct writer *writer)
{
	struct elements elements = { .writer = writer, .put = text_put };

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		put_set(&elements, i, lanes, count);
		if (elements.count > 0)
			write_plain(writer, " }\n");
	}
}

static void put_requests(uint16_t request, const struct rules_lane *lanes,
			 size_t count, struct writer *writer)
{
	struct elements elements = { .writer = writer,
				     .put = requests_put,
				     .request = request };

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		put_set(&elements, i, lanes, count);
		requests_end(&elements);
	}
	if (writer->size > 0)
		put_frame(writer, NFNL_MSG_BATCH_END);
}

void rules_write_add(const struct rules_lane *lanes, size_t count,
		     struct writer *writer)
{
	put_requests(NFT_MSG_NEWSETELEM, lanes, count, writer);
}

void rules_write_remove(const struct rules_lane *lanes, size_t count,
			struct writer *writer)
{
	put_requests(NFT_MSG_DELSETELEM, lanes, count, writer);
}
