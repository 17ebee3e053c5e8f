/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What nodes send: frames (u8 how, u16 length and bytes) reach an engine on
 * the connection of a node that is up or of one that has not registered, as
 * they are or, so that they are believed, sealed with the node's key. Whatever
 * they are, another node registers afterwards.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "fuzz.h"
#include "lanes/manager/test/bed.h"

#define FRAMES_MAX 32

enum how {
	HOW_FROM_OTHER = 1u << 0, /* else from the node that is up */
	HOW_SEALED = 1u << 1,     /* with a MAC that is right */
};

/* The frame with key id and MAC of the node behind it. */
static void receive_sealed(struct bed_node *node, const uint8_t *bytes,
			   size_t size)
{
	const char *domain = size > 0 && bytes[0] == FRAME_REGISTER
				     ? MAC_DOMAIN_REGISTER
				     : MAC_DOMAIN_CONFIRM;
	struct writer writer = { 0 };
	uint8_t tag[MAC_SIZE];

	write_bytes(&writer, bytes, size);
	write_u32(&writer, node->key.id);
	mac_make(domain, &node->key, writer.data + 1, writer.size - 1, tag);
	write_bytes(&writer, tag, sizeof(tag));
	bed_node_receive(node, writer.data, writer.size);
	writer_fini(&writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader reader = reader_of(data, size);
	struct bed *bed = bed_create();
	uint64_t client = bed_client(bed, BED_SUBMITTER);
	struct bed_node nodes[2];
	struct bed_node last;
	uint64_t grant_id;

	bed_node_up(bed, "n0", &nodes[0]);
	bed_node_connect(bed, "n1", &nodes[1]);
	grant_id = bed_reserve(bed, client, "slurm/1/0", "n0");
	bed_ask(bed, client, "apply", "{s:I}", "grant_id",
		(json_int_t)grant_id);
	bed_commit(bed);
	for (int i = 0; i < FRAMES_MAX && reader.left > 0; i++) {
		uint8_t how = read_u8(&reader);
		size_t length = read_u16(&reader);
		struct bed_node *node = &nodes[how & HOW_FROM_OTHER];
		const uint8_t *bytes;

		if (length > reader.left)
			length = reader.left;
		bytes = read_bytes(&reader, length);
		if ((how & HOW_SEALED) != 0)
			receive_sealed(node, bytes, length);
		else
			bed_node_receive(node, bytes, length);
		bed_commit(bed);
	}
	bed_node_up(bed, "n2", &last);
	bed_destroy(bed);
	return 0;
}
