/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is remembered of a node, and the names of a chunk of indexes:
 *
 *	node   u32 serial, u8[16] incarnation, u8 n, u8[16] past[n], u8 flags
 *	       (1 drained, 2 by us, 4 unnotified), text reason, text version, blob
 *	       address, u64 accounted, u8 n, places[n] {text driver, blob bytes},
 *	       u32 n, reports[n] {u8 kind, u64 grant_id, u32 object_id, u32 uid,
 *	       text driver, text device, u8 n, u32 ids[n]}
 *	names  u32 n, text names[n]; "" is an index that is not in use, and never
 *	       the last
 *
 * Texts are of valid length in memory already: registrations are checked.
 */
#include "lanes/manager/core/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "lanes/manager/core/core.h"
#include "lanes/proto/names.h"

#define REPORT_SIZE_MIN 26 /* bytes of a report without texts and ids */

enum {
	FLAG_DRAINED = 1,
	FLAG_BY_US = 2,
	FLAG_UNNOTIFIED = 4,
	FLAGS_ALL = 7,
};

static void report_encode(const struct report *report, struct writer *writer)
{
	write_u8(writer, (uint8_t)report->kind);
	write_u64(writer, report->grant_id);
	write_u32(writer, report->object_id);
	write_u32(writer, report->uid);
	write_text(writer, report->driver);
	write_text(writer, report->device);
	write_u8(writer, (uint8_t)report->id_count);
	for (uint32_t i = 0; i < report->id_count; i++)
		write_u32(writer, report->ids[i]);
}

void record_encode_node(const struct node *node, struct writer *writer)
{
	uint8_t flags = 0;

	flags |= node->is_drained ? FLAG_DRAINED : 0;
	flags |= node->is_drained_by_us ? FLAG_BY_US : 0;
	flags |= node->is_unnotified ? FLAG_UNNOTIFIED : 0;
	record_begin(writer);
	write_u32(writer, node->serial);
	write_bytes(writer, node->incarnation, NODE_INCARNATION);
	write_u8(writer, (uint8_t)node->past_count);
	for (uint32_t i = 0; i < node->past_count; i++)
		write_bytes(writer, node->past[i], NODE_INCARNATION);
	write_u8(writer, flags);
	write_text(writer, node->reason);
	write_text(writer, node->version);
	write_blob(writer, node->address, node->address_size);
	write_u64(writer, node->accounted);
	write_u8(writer, (uint8_t)node->place_count);
	for (uint32_t i = 0; i < node->place_count; i++) {
		write_text(writer, node->places[i].driver);
		write_blob(writer, node->places[i].bytes, node->places[i].size);
	}
	write_u32(writer, node->report_count);
	for (uint32_t i = 0; i < node->report_count; i++)
		report_encode(&node->reports[i], writer);
	record_end(writer);
}

static bool report_decode(struct reader *reader, struct report *report)
{
	uint32_t kind = read_u8(reader);

	report->kind = (enum report_kind)kind;
	report->grant_id = read_u64(reader);
	report->object_id = read_u32(reader);
	report->uid = read_u32(reader);
	read_text(reader, report->driver, sizeof(report->driver));
	read_text(reader, report->device, sizeof(report->device));
	report->id_count = read_u8(reader);
	if (kind >= REPORT_KIND_COUNT || report->id_count > NODE_REPORT_IDS_MAX)
		return false;
	for (uint32_t i = 0; i < report->id_count; i++)
		report->ids[i] = read_u32(reader);
	return name_is_driver(report->driver);
}

static bool reports_decode(struct reader *reader, struct node *node)
{
	uint32_t count = read_u32(reader);

	if (count > CORE_REPORTS_MAX || count > reader->left / REPORT_SIZE_MIN)
		return false;
	node->reports = memory_array(count, sizeof(*node->reports));
	node->report_count = count;
	for (uint32_t i = 0; i < count; i++)
		if (!report_decode(reader, &node->reports[i]))
			return false;
	return true;
}

static bool place_decode(struct reader *reader, struct node_place *place)
{
	size_t size = 0;
	const uint8_t *bytes;

	read_text(reader, place->driver, sizeof(place->driver));
	bytes = read_blob(reader, sizeof(place->bytes), &size);
	if (bytes == NULL || size == 0)
		return false;
	place->size = (uint8_t)size;
	memcpy(place->bytes, bytes, size);
	return name_is_driver(place->driver);
}

static bool places_decode(struct reader *reader, struct node *node)
{
	uint8_t count = read_u8(reader);

	if (count > NODE_PLACES_MAX)
		return false;
	if (count == 0)
		return true;
	node->places = memory_array(count, sizeof(*node->places));
	node->place_count = count;
	for (uint8_t i = 0; i < count; i++)
		if (!place_decode(reader, &node->places[i]))
			return false;
	return true;
}

/* "" is NULL in memory. */
static char *text_decode(struct reader *reader, size_t size_max)
{
	char *text = read_text_alloc(reader, size_max);

	if (text != NULL && text[0] == 0) {
		free(text);
		text = NULL;
	}
	return text;
}

static void incarnation_decode(struct reader *reader, uint8_t *incarnation)
{
	const uint8_t *bytes = read_bytes(reader, NODE_INCARNATION);

	if (bytes != NULL)
		memcpy(incarnation, bytes, NODE_INCARNATION);
}

static void address_decode(struct reader *reader, struct node *node)
{
	size_t size = 0;
	const uint8_t *bytes = read_blob(reader, sizeof(node->address), &size);

	node->address_size = (uint32_t)size;
	if (bytes != NULL)
		memcpy(node->address, bytes, size);
}

static bool fields_decode(struct reader *reader, struct node *node)
{
	uint8_t flags;

	node->serial = read_u32(reader);
	incarnation_decode(reader, node->incarnation);
	node->past_count = read_u8(reader);
	if (node->serial > JOB_SERIAL_MAX || node->past_count > NODE_PAST_MAX ||
	    (node->past_count > 0 && node->past_count >= node->serial))
		return false;
	for (uint32_t i = 0; i < node->past_count; i++)
		incarnation_decode(reader, node->past[i]);
	flags = read_u8(reader);
	node->is_drained = flags & FLAG_DRAINED;
	node->is_drained_by_us = flags & FLAG_BY_US;
	node->is_unnotified = flags & FLAG_UNNOTIFIED;
	node->reason = text_decode(reader, NODE_REASON_MAX);
	node->version = text_decode(reader, NODE_VERSION_MAX);
	address_decode(reader, node);
	node->accounted = read_u64(reader);
	return (flags & ~FLAGS_ALL) == 0 &&
	       (node->is_drained || !node->is_drained_by_us) &&
	       places_decode(reader, node) && reports_decode(reader, node);
}

int record_decode_node(struct node *node, const void *body, size_t size,
		       struct fairlead_error *ret_error)
{
	struct node decoded = *node;
	struct reader reader;
	bool is_good;
	int result = record_open(body, size, &reader, ret_error);

	if (result < 0)
		return result;
	is_good = fields_decode(&reader, &decoded);
	result = record_check(&reader, is_good, ret_error);
	if (result < 0) {
		free(decoded.reason);
		free(decoded.version);
		free(decoded.reports);
		free(decoded.places);
		return result;
	}
	decoded.is_stored = true;
	*node = decoded;
	return 0;
}

void record_encode_names(const struct nodes *nodes, uint32_t chunk,
			 struct writer *writer)
{
	uint32_t count = NODE_CHUNK;

	while (count > 0 &&
	       nodes_at(nodes, chunk * NODE_CHUNK + count - 1) == NULL)
		count--;
	record_begin(writer);
	write_u32(writer, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct node *node =
			nodes_at(nodes, chunk * NODE_CHUNK + i);

		write_text(writer, node == NULL ? "" : node->name);
	}
	record_end(writer);
}

void record_names_destroy(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

int record_decode_names(const void *body, size_t size, char ***ret_names,
			size_t *ret_count, struct fairlead_error *ret_error)
{
	bool is_good = true;
	struct reader reader;
	uint32_t count;
	char **names;
	int result = record_open(body, size, &reader, ret_error);

	if (result < 0)
		return result;
	count = read_u32(&reader);
	if (count > NODE_CHUNK)
		return record_check(&reader, false, ret_error);
	names = memory_array(count, sizeof(*names));
	for (uint32_t i = 0; i < count; i++) {
		names[i] = read_text_alloc(&reader, HOSTLIST_NAME_MAX);
		is_good = is_good && names[i] != NULL &&
			  (names[i][0] == 0 || name_is_node(names[i]));
	}
	if (count > 0 && names[count - 1] != NULL)
		is_good = is_good && names[count - 1][0] != 0;
	result = record_check(&reader, is_good, ret_error);
	if (result < 0) {
		record_names_destroy(names, count);
		return result;
	}
	*ret_names = names;
	*ret_count = count;
	return 0;
}
