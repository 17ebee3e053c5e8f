/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What keys of sets are made of, once for their rules and once as a lane has
 * it. A set also says so in nft's own form (typeof), by which nft lists it.
 */
#include "lanes/driver/ethernet/rules_sets.h"

#include <arpa/inet.h>
#include <assert.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "lanes/driver/ethernet/nftables.h"

#define FIELDS_MAX   4
#define KEY_MAX      (FIELDS_MAX * IFNAMSIZ)
#define CHAIN_MAX    64
#define ELEMENTS_MAX 256 /* in a message: an attribute has at most 64 KiB */
/* VXLAN's header is behind UDP's 8 bytes. */
#define VNI_OFFSET 12

/* nft's numbers of types. */
#define NFT_TYPE_BITS     6
#define NFT_TYPE_VERDICT  0xffffff00
#define NFT_TYPE_PRIORITY 23
/* What nft keeps with a set: lists of {u8 type, u8 size, bytes}. */
#define NOTE(text) text, sizeof(text) - 1
#define NOTE_META(key)       \
	NOTE("\0\4\x9\0\0\0" \
	     "\1\6"          \
	     "\0\4" key "\0\0\0")
#define NOTE_FIELD(header, field)   \
	NOTE("\0\4\7\0\0\0"         \
	     "\1\xc"                \
	     "\0\4" header "\0\0\0" \
	     "\1\4" field "\0\0\0")
#define NOTE_BITS             \
	NOTE("\0\4\7\0\0\0"   \
	     "\1\x1e"         \
	     "\0\4\0\0\0\0"   \
	     "\1\4\0\0\0\0"   \
	     "\2\4\3\0\0\0"   \
	     "\3\4\x60\0\0\0" \
	     "\4\4\x18\0\0\0")

enum rules_field {
	FIELD_NONE,
	FIELD_DEVICE_OUT,
	FIELD_DEVICE_IN,
	FIELD_INDEX_IN,
	FIELD_UID,
	FIELD_SOURCE4,
	FIELD_TARGET4,
	FIELD_SOURCE6,
	FIELD_TARGET6,
	FIELD_PORT,
	FIELD_VNI,
};

static const struct {
	uint8_t size;
	uint8_t type; /* nft's */
	uint8_t meta; /* the key of what is none of the packet's bytes */
	uint8_t base, offset; /* of what is; base 0 is no header here */
	const char *note;     /* the expression, for nft */
	uint8_t note_size;
} fields[] = {
	[FIELD_DEVICE_OUT] = { 16, 41, NFT_META_OIFNAME, 0, 0,
			       NOTE_META("\7") },
	[FIELD_DEVICE_IN] = { 16, 41, NFT_META_IIFNAME, 0, 0, NOTE_META("\6") },
	[FIELD_INDEX_IN] = { 4, 20, NFT_META_IIF, 0, 0, NOTE_META("\4") },
	[FIELD_UID] = { 4, 24, NFT_META_SKUID, 0, 0, NOTE_META("\xa") },
	[FIELD_SOURCE4] = { 4, 7, 0, NFT_PAYLOAD_NETWORK_HEADER, 12,
			    NOTE_FIELD("\xc", "\xb") },
	[FIELD_TARGET4] = { 4, 7, 0, NFT_PAYLOAD_NETWORK_HEADER, 16,
			    NOTE_FIELD("\xc", "\xc") },
	[FIELD_SOURCE6] = { 16, 8, 0, NFT_PAYLOAD_NETWORK_HEADER, 8,
			    NOTE_FIELD("\xd", "\x8") },
	[FIELD_TARGET6] = { 16, 8, 0, NFT_PAYLOAD_NETWORK_HEADER, 24,
			    NOTE_FIELD("\xd", "\x9") },
	[FIELD_PORT] = { 2, 13, 0, NFT_PAYLOAD_TRANSPORT_HEADER, 2,
			 NOTE_FIELD("\6", "\2") },
	[FIELD_VNI] = { 3, 4, 0, NFT_PAYLOAD_TRANSPORT_HEADER, VNI_OFFSET,
			NOTE_BITS },
};

enum map {
	MAP_NONE,
	MAP_VERDICT,
	MAP_PRIORITY,
};

struct elements;
typedef void put_lane_fn(struct elements *elements,
			 const struct rules_lane *lane, uint8_t choice);

static put_lane_fn put_sender, put_owner, put_arrival, put_members, put_class,
	put_first_class, put_queue;

#define LANE_KEY                      \
	{                             \
		FIELD_PORT, FIELD_VNI \
	}

static const struct set {
	const char *name;
	enum rules_field key[FIELDS_MAX];
	enum map map;
	put_lane_fn *put; /* a lane's elements */
	uint8_t choice;   /* a family or a class */
} sets[] = {
	{ "ports", { FIELD_PORT } },
	{ "senders4",
	  { FIELD_DEVICE_OUT, FIELD_SOURCE4, FIELD_UID },
	  MAP_NONE,
	  put_sender,
	  4 },
	{ "senders6",
	  { FIELD_DEVICE_OUT, FIELD_SOURCE6, FIELD_UID },
	  MAP_NONE,
	  put_sender,
	  6 },
	{ "owners4", { FIELD_TARGET4, FIELD_UID }, MAP_NONE, put_owner, 4 },
	{ "owners6", { FIELD_TARGET6, FIELD_UID }, MAP_NONE, put_owner, 6 },
	{ "arrivals4",
	  { FIELD_TARGET4, FIELD_DEVICE_IN },
	  MAP_NONE,
	  put_arrival,
	  4 },
	{ "arrivals6",
	  { FIELD_TARGET6, FIELD_DEVICE_IN },
	  MAP_NONE,
	  put_arrival,
	  6 },
	{ "members4",
	  { FIELD_INDEX_IN, FIELD_SOURCE4, FIELD_PORT, FIELD_VNI },
	  MAP_NONE,
	  put_members,
	  4 },
	{ "members6",
	  { FIELD_INDEX_IN, FIELD_SOURCE6, FIELD_PORT, FIELD_VNI },
	  MAP_NONE,
	  put_members,
	  6 },
	{ "has_dedicated_access", LANE_KEY, MAP_VERDICT, put_class,
	  ETHERNET_DEDICATED_ACCESS },
	{ "has_low_latency", LANE_KEY, MAP_VERDICT, put_class,
	  ETHERNET_LOW_LATENCY },
	{ "has_bulk_data", LANE_KEY, MAP_VERDICT, put_class,
	  ETHERNET_BULK_DATA },
	{ "has_best_effort", LANE_KEY, MAP_VERDICT, put_class,
	  ETHERNET_BEST_EFFORT },
	{ "first_class", LANE_KEY, MAP_VERDICT, put_first_class },
	{ "queue_dedicated_access", LANE_KEY, MAP_PRIORITY, put_queue,
	  ETHERNET_DEDICATED_ACCESS },
	{ "queue_low_latency", LANE_KEY, MAP_PRIORITY, put_queue,
	  ETHERNET_LOW_LATENCY },
	{ "queue_bulk_data", LANE_KEY, MAP_PRIORITY, put_queue,
	  ETHERNET_BULK_DATA },
	{ "queue_best_effort", LANE_KEY, MAP_PRIORITY, put_queue,
	  ETHERNET_BEST_EFFORT },
};

#define SET_COUNT (sizeof(sets) / sizeof(sets[0]))

/* As their chains are called. */
const char *const rules_class_words[ETHERNET_CLASS_COUNT] = {
	[ETHERNET_DEDICATED_ACCESS] = "dedicated_access",
	[ETHERNET_LOW_LATENCY] = "low_latency",
	[ETHERNET_BULK_DATA] = "bulk_data",
	[ETHERNET_BEST_EFFORT] = "best_effort",
};

enum ethernet_class rules_class(const char *word)
{
	enum ethernet_class class = 0;

	while (strcmp(rules_class_words[class], word) != 0)
		assert(++class < ETHERNET_CLASS_COUNT);
	return class;
}

const char *rules_set_name(size_t i)
{
	return i < SET_COUNT ? sets[i].name : NULL;
}

/* --- sets --- */

static void put_note(struct writer *notes, uint8_t type, const void *value,
		     size_t size)
{
	write_u8(notes, type);
	write_u8(notes, (uint8_t)size);
	write_bytes(notes, value, size);
}

/* By which nft lists the set as `typeof ...`. */
static void put_notes(const struct set *set, struct writer *batch)
{
	static const char verdict[] = "\4\x8\0\4\1\0\0\0\1";
	static const char priority[] = "\4\xe\0\4\x9\0\0\0\1\6\0\4\2\0\0";
	struct writer notes = { 0 }, parts = { 0 }, key = { 0 };

	for (uint8_t i = 0; i < FIELDS_MAX && set->key[i]; i++)
		put_note(&parts, i, fields[set->key[i]].note,
			 fields[set->key[i]].note_size);
	put_note(&key, 0, "\xd\0\0", 4);
	put_note(&key, 1, parts.data, parts.size);
	put_note(&notes, 0, "\0\0\0", 4);
	put_note(&notes, 3, key.data, key.size);
	if (set->map == MAP_VERDICT)
		write_bytes(&notes, verdict, sizeof(verdict));
	if (set->map == MAP_PRIORITY)
		write_bytes(&notes, priority, sizeof(priority));
	nftables_attribute(batch, NFTA_SET_USERDATA, notes.data, notes.size);
	writer_fini(&notes);
	writer_fini(&parts);
	writer_fini(&key);
}

/* Each begins in a register. */
static uint32_t registers_of(enum rules_field field)
{
	return (fields[field].size + 3u) / 4;
}

static void put_set(const struct set *set, uint32_t id, struct writer *batch)
{
	size_t message = nftables_begin(batch, NFT_MSG_NEWSET, NLM_F_CREATE);
	uint32_t type = 0, size = 0;

	for (size_t i = 0; i < FIELDS_MAX && set->key[i]; i++) {
		type = type << NFT_TYPE_BITS | fields[set->key[i]].type;
		size += 4 * registers_of(set->key[i]);
	}
	nftables_text(batch, NFTA_SET_TABLE, RULES_TABLE);
	nftables_text(batch, NFTA_SET_NAME, set->name);
	nftables_u32(batch, NFTA_SET_ID, id);
	nftables_u32(batch, NFTA_SET_KEY_TYPE, type);
	nftables_u32(batch, NFTA_SET_KEY_LEN,
		     set->key[1] ? size : fields[set->key[0]].size);
	if (set->map) {
		nftables_u32(batch, NFTA_SET_FLAGS, NFT_SET_MAP);
		nftables_u32(batch, NFTA_SET_DATA_TYPE,
			     set->map == MAP_VERDICT ? NFT_TYPE_VERDICT
						     : NFT_TYPE_PRIORITY);
		nftables_u32(batch, NFTA_SET_DATA_LEN,
			     set->map == MAP_VERDICT ? 0 : sizeof(uint32_t));
	}
	if (set->key[1])
		put_notes(set, batch);
	nftables_end(batch, message);
}

/* --- keys, as rules load them --- */

static void require(uint32_t key, uint8_t value, struct writer *batch)
{
	nftables_load_meta(batch, key, 0);
	nftables_compare(batch, NFT_CMP_EQ, &value, sizeof(value));
}

static void load_field(enum rules_field field, uint32_t reg,
		       struct writer *batch)
{
	if (fields[field].offset == 0)
		nftables_load_meta(batch, fields[field].meta, reg);
	else
		nftables_load_payload(batch, fields[field].base,
				      fields[field].offset, fields[field].size,
				      reg);
}

void rules_load_key(const char *name, bool by_source, struct writer *batch)
{
	enum rules_field key[FIELDS_MAX];
	const struct set *set = sets;
	uint32_t reg = 0;

	while (strcmp(set->name, name) != 0)
		assert(++set < sets + SET_COUNT);
	memcpy(key, set->key, sizeof(key));
	for (size_t i = 0; i < FIELDS_MAX && key[i]; i++) {
		if (by_source && key[i] == FIELD_TARGET4)
			key[i] = FIELD_SOURCE4;
		if (by_source && key[i] == FIELD_TARGET6)
			key[i] = FIELD_SOURCE6;
		if (key[i] == FIELD_SOURCE4 || key[i] == FIELD_TARGET4)
			require(NFT_META_NFPROTO, NFPROTO_IPV4, batch);
		if (key[i] == FIELD_SOURCE6 || key[i] == FIELD_TARGET6)
			require(NFT_META_NFPROTO, NFPROTO_IPV6, batch);
		if (key[i] == FIELD_PORT)
			require(NFT_META_L4PROTO, IPPROTO_UDP, batch);
	}
	for (size_t i = 0; i < FIELDS_MAX && key[i]; i++) {
		load_field(key[i], reg, batch);
		reg += registers_of(key[i]);
	}
}

/* --- elements --- */

struct element {
	uint8_t key[KEY_MAX];
	size_t size;
	/* What a map has for it. */
	const char *chain; /* its name without the class; NULL: accept */
	enum ethernet_class class;
	uint32_t priority;
};

/* The requests of one set; begun by its first element. */
struct elements {
	struct writer *batch;
	const struct set *set;
	size_t count;   /* in what was begun */
	size_t message; /* where it begins */
	size_t list;
};

static void elements_end(struct elements *elements)
{
	if (elements->count == 0)
		return;
	nftables_nest_end(elements->batch, elements->list);
	nftables_end(elements->batch, elements->message);
	elements->count = 0;
}

static void elements_begin(struct elements *elements)
{
	struct writer *batch = elements->batch;

	elements->message =
		nftables_begin(batch, NFT_MSG_NEWSETELEM, NLM_F_CREATE);
	nftables_text(batch, NFTA_SET_ELEM_LIST_TABLE, RULES_TABLE);
	nftables_text(batch, NFTA_SET_ELEM_LIST_SET, elements->set->name);
	elements->list = nftables_nest(batch, NFTA_SET_ELEM_LIST_ELEMENTS);
}

static void put_data(struct elements *elements, const struct element *element)
{
	struct writer *batch = elements->batch;
	size_t data = nftables_nest(batch, NFTA_SET_ELEM_DATA);
	char chain[CHAIN_MAX];

	if (elements->set->map == MAP_PRIORITY) {
		nftables_attribute(batch, NFTA_DATA_VALUE, &element->priority,
				   sizeof(element->priority));
	} else if (element->chain) {
		snprintf(chain, sizeof(chain), "%s%s", element->chain,
			 rules_class_words[element->class]);
		nftables_verdict_data(batch, NFT_GOTO, chain);
	} else {
		nftables_verdict_data(batch, NF_ACCEPT, NULL);
	}
	nftables_nest_end(batch, data);
}

static void put(struct elements *elements, const struct element *element)
{
	struct writer *batch = elements->batch;
	size_t one, key;

	if (elements->count == ELEMENTS_MAX)
		elements_end(elements);
	if (elements->count++ == 0)
		elements_begin(elements);
	one = nftables_nest(batch, NFTA_LIST_ELEM);
	key = nftables_nest(batch, NFTA_SET_ELEM_KEY);
	nftables_attribute(batch, NFTA_DATA_VALUE, element->key, element->size);
	nftables_nest_end(batch, key);
	if (elements->set->map)
		put_data(elements, element);
	nftables_nest_end(batch, one);
}

/* With zeros up to the next register. */
static void key_add(struct element *element, const void *bytes, size_t size)
{
	memcpy(element->key + element->size, bytes, size);
	element->size += (size + 3) / 4 * 4;
}

static void key_add_device(struct element *element,
			   const struct rules_lane *lane)
{
	key_add(element, lane->device.name, IFNAMSIZ);
}

static void key_add_uid(struct element *element, const struct rules_lane *lane)
{
	key_add(element, &lane->device.alias.uid, sizeof(uint32_t));
}

static void key_add_port(struct element *element, uint16_t port)
{
	const uint16_t bytes = htons(port);

	key_add(element, &bytes, sizeof(bytes));
}

static void key_add_vni(struct element *element, const struct rules_lane *lane)
{
	const uint32_t bytes = htonl(lane->device.vni << 8);

	key_add_port(element, lane->device.port);
	key_add(element, &bytes, 3);
}

/* False: the device has no address on this node that counts. */
static bool key_add_own(struct element *element, const struct rules_lane *lane,
			uint8_t family)
{
	const struct ip_address *own =
		family == 6 ? &lane->device.ipv6 : &lane->device.ipv4;

	if (lane->is_netns || own->family == 0)
		return false;
	key_add(element, own->bytes, family == 6 ? 16 : 4);
	return true;
}

/* --- what a lane has --- */

static void put_sender(struct elements *elements, const struct rules_lane *lane,
		       uint8_t family)
{
	struct element element = { .size = 0 };

	key_add_device(&element, lane);
	if (!key_add_own(&element, lane, family))
		return;
	key_add_uid(&element, lane);
	put(elements, &element);
}

static void put_owner(struct elements *elements, const struct rules_lane *lane,
		      uint8_t family)
{
	struct element element = { .size = 0 };

	if (!key_add_own(&element, lane, family))
		return;
	key_add_uid(&element, lane);
	put(elements, &element);
}

static void put_arrival(struct elements *elements,
			const struct rules_lane *lane, uint8_t family)
{
	struct element element = { .size = 0 };

	if (!key_add_own(&element, lane, family))
		return;
	key_add_device(&element, lane);
	put(elements, &element);
}

static void put_members(struct elements *elements,
			const struct rules_lane *lane, uint8_t family)
{
	for (size_t i = 0; i < lane->peer_count; i++) {
		struct element element = { .size = 0 };

		if (lane->peers[i].family != family)
			continue;
		key_add(&element, &lane->device.underlay_index,
			sizeof(uint32_t));
		key_add(&element, lane->peers[i].bytes, family == 6 ? 16 : 4);
		key_add_vni(&element, lane);
		put(elements, &element);
	}
}

static void put_class(struct elements *elements, const struct rules_lane *lane,
		      uint8_t class)
{
	struct element element = {
		.chain = lane->device.alias.htb_class != 0 ? "as_" : NULL,
		.class = class,
	};

	key_add_vni(&element, lane);
	if (lane->device.alias.classes & 1u << class)
		put(elements, &element);
}

static void put_first_class(struct elements *elements,
			    const struct rules_lane *lane, uint8_t choice)
{
	struct element element = {
		.chain = "class_",
		.class = lane->device.alias.first_class,
	};

	key_add_vni(&element, lane);
	put(elements, &element);
}

static void put_queue(struct elements *elements, const struct rules_lane *lane,
		      uint8_t class)
{
	uint16_t minor = lane->device.alias.htb_class;
	uint8_t classes = lane->device.alias.classes;
	struct element element = {
		.priority = SHAPER_PRIORITY(shaper_leaf(minor, classes, class)),
	};

	key_add_vni(&element, lane);
	if (minor != 0 && classes & 1u << class)
		put(elements, &element);
}

void rules_put_lanes(const struct rules_lane *lanes, size_t count,
		     struct writer *batch)
{
	struct elements elements = { .batch = batch };

	for (size_t k = 0; k < SET_COUNT; k++) {
		elements.set = &sets[k];
		for (size_t i = 0; sets[k].put && i < count; i++)
			sets[k].put(&elements, &lanes[i], sets[k].choice);
		elements_end(&elements);
	}
}

void rules_write_add(const struct rules_lane *lanes, size_t count,
		     struct writer *batch)
{
	rules_put_lanes(lanes, count, batch);
	nftables_finish(batch);
}

void rules_put_sets(uint16_t port, struct writer *batch)
{
	struct elements ports = { .batch = batch, .set = sets };

	for (uint32_t i = 0; i < SET_COUNT; i++)
		put_set(&sets[i], i + 1, batch);
	for (uint32_t rail = 0; rail < ETHERNET_RAILS_MAX; rail++) {
		struct element element = { .size = 0 };

		key_add_port(&element, ethernet_port(port, rail));
		element.size = sizeof(port);
		put(&ports, &element);
	}
	elements_end(&ports);
}
