/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lanes/driver/elan3/reply.h"
#include "fairlead.h"
#include "lanes/proto/grant.h"
#include "lanes/proto/keyfile.h"
#include "lanes/proto/seal.h"
#include "elan/capability.h"
#include "sim/rng.h"

#define PUBLIC "{\"grant_id\":7,\"key\":\"slurm/17/0\"}"

static const struct grant a_grant = {
	.grant_id = 7,
	.epoch = 3,
	.public_text = PUBLIC,
	.sealed = (const uint8_t *)"secret",
	.sealed_size = 6,
};

static void text_and_bytes_are_the_same_grant(void **state)
{
	struct fairlead_grant *first, *second;
	const void *bytes;
	size_t size;
	char *text;

	assert_int_equal(grant_format(&a_grant, &text), 0);
	assert_int_equal(fairlead_grant_parse(text, &first, NULL), 0);
	assert_int_equal(fairlead_grant_id(first), 7);
	assert_string_equal(fairlead_grant_public(first), PUBLIC);
	assert_string_equal(fairlead_grant_text(first), text);
	bytes = fairlead_grant_bytes(first, &size);
	assert_int_equal(fairlead_grant_decode(bytes, size, &second, NULL), 0);
	assert_string_equal(fairlead_grant_text(second), text);
	assert_int_equal(fairlead_grant_id(second), 7);
	fairlead_grant_destroy(first);
	fairlead_grant_destroy(second);
	fairlead_grant_destroy(NULL);
	free(text);
}

static void what_is_no_whole_grant_is_refused(void **state)
{
	static const char *const bad[] = { "", "7", "fairlead-grant:1:",
					   "fairlead-grant:1:****" };
	struct fairlead_error error;
	struct fairlead_grant *grant = NULL;
	const uint8_t *bytes;
	uint8_t copy[512];
	size_t size;
	char *text;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		error.text[0] = 0;
		assert_int_equal(fairlead_grant_parse(bad[i], &grant, &error),
				 -EBADMSG);
		assert_int_equal(error.code, -EBADMSG);
		assert_string_not_equal(error.text, "");
	}
	assert_int_equal(grant_format(&a_grant, &text), 0);
	text[strlen(text) - 1] = 0;
	assert_int_equal(fairlead_grant_parse(text, &grant, NULL), -EBADMSG);
	assert_null(grant);
	free(text);
	assert_int_equal(grant_format(&a_grant, &text), 0);
	assert_int_equal(fairlead_grant_parse(text, &grant, NULL), 0);
	bytes = fairlead_grant_bytes(grant, &size);
	assert_in_range(size, 1, sizeof(copy));
	for (size_t i = 0; i < size; i++) {
		struct fairlead_grant *other;

		memcpy(copy, bytes, size);
		copy[i] ^= 1;
		assert_true(fairlead_grant_decode(copy, size, &other, NULL) <
			    0);
		assert_int_equal(fairlead_grant_decode(bytes, i, &other, NULL),
				 -EBADMSG);
	}
	fairlead_grant_destroy(grant);
	free(text);
}

/* --- the sealed part --- */

#define CAPS 2

static const char *const nodes[] = { "n1", "n2", "n10" };

/* Keys of a cluster, and a grant of Elan that is sealed to three nodes. */
struct fixture {
	char folder[32], path[64];
	struct sim_rng rng;
	struct manager_keys keys;
	struct elan_capability caps[CAPS];
	struct writer packed, sealed;
	struct fairlead_grant *grant;
};

static void key_write(struct fixture *fixture, const struct manager_keys *keys,
		      const char *name)
{
	struct writer writer = { 0 };
	struct node_keys node;
	int fd;

	assert_int_equal(node_keys_make(keys, name, &node, NULL), 0);
	assert_int_equal(node_keys_format(&node, &writer), 0);
	fd = open(fixture->path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, writer.data, writer.size), writer.size);
	close(fd);
	writer_fini(&writer);
}

static struct fairlead_grant *grant_of(uint64_t grant_id, const char *hosts,
				       const void *sealed, size_t sealed_size)
{
	const struct grant_public public = {
		.grant_id = grant_id,
		.key = "slurm/17/0",
		.interconnect = "elan3",
		.nodes = hosts,
		.options = "layout=block,rails=0:1,contexts=3",
		.has_lane = true,
		.context = "{}",
	};
	struct fairlead_grant *grant;
	char *public_text, *text;

	assert_int_equal(grant_make(&public, 3, sealed, sealed_size,
				    &public_text, &text),
			 0);
	assert_int_equal(fairlead_grant_parse(text, &grant, NULL), 0);
	free(public_text);
	free(text);
	return grant;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct node_master masters[KEYS_MAX];
	struct elan3_reply reply = { .program = 77,
				     .cap_count = CAPS,
				     .caps = fixture->caps };
	struct rng_seam rng;

	strcpy(fixture->folder, "/tmp/fairlead-grant-XXXXXX");
	assert_non_null(mkdtemp(fixture->folder));
	snprintf(fixture->path, sizeof(fixture->path), "%s/node.key",
		 fixture->folder);
	sim_rng_init(&fixture->rng, 1);
	rng = sim_rng_seam(&fixture->rng);
	manager_keys_create(&rng, &fixture->keys);
	for (uint32_t i = 0; i < CAPS; i++) {
		struct elan_capability *cap = &fixture->caps[i];

		capability_init(cap);
		rng_fill(&rng, &cap->cap_userkey, sizeof(cap->cap_userkey));
		cap->cap_type = ELAN_CAP_TYPE_BLOCK | ELAN_CAP_TYPE_MULTI_RAIL;
		cap->cap_lowcontext = 0x400;
		cap->cap_highcontext = 0x402;
		cap->cap_lownode = 1;
		cap->cap_highnode = 10;
		cap->cap_railmask = 1u << i;
		cap->cap_bitmap[0] = 0x3800003f;
	}
	assert_int_equal(elan3_reply_encode(&reply, &fixture->packed), 0);
	manager_keys_masters(&fixture->keys, masters);
	assert_int_equal(seal_make(&rng, &masters[0], 7, nodes, 3,
				   fixture->packed.data, fixture->packed.size,
				   &fixture->sealed),
			 0);
	fixture->grant = grant_of(7, "n[1-2,10]", fixture->sealed.data,
				  fixture->sealed.size);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	unlink(fixture->path);
	rmdir(fixture->folder);
	fairlead_grant_destroy(fixture->grant);
	writer_fini(&fixture->packed);
	writer_fini(&fixture->sealed);
	free(fixture);
	return 0;
}

static void refuse(const struct fixture *fixture,
		   const struct fairlead_grant *grant, int code)
{
	struct fairlead_secret *secret = NULL;
	struct fairlead_error error = { 0 };

	assert_int_equal(fairlead_grant_open(grant, fixture->path, &secret,
					     &error),
			 code);
	assert_int_equal(error.code, code);
	assert_string_not_equal(error.text, "");
	assert_null(secret);
}

/* As fairlead-elan3(7) says that a program can. */
static void reply_check(const struct fixture *fixture, const uint8_t *at)
{
	uint32_t head[3];

	memcpy(head, at, sizeof(head));
	at += sizeof(head);
	assert_int_equal(head[0], 0xf00ff00e);
	assert_int_equal(head[1], 77);
	assert_int_equal(head[2], CAPS);
	for (uint32_t i = 0; i < CAPS; i++) {
		ELAN_CAPABILITY cap = { 0 };
		uint32_t size;

		memcpy(&size, at, sizeof(size));
		at += sizeof(size);
		memcpy(&cap, at, size);
		at += size;
		assert_memory_equal(&cap, &fixture->caps[i], sizeof(cap));
	}
}

static void sealed_part_opens_at_each_of_its_nodes(void **state)
{
	struct fixture *fixture = *state;

	for (size_t i = 0; i < 3; i++) {
		struct fairlead_secret *secret;
		const void *bytes;
		size_t size;

		key_write(fixture, &fixture->keys, nodes[i]);
		assert_int_equal(fairlead_grant_open(fixture->grant,
						     fixture->path, &secret,
						     NULL),
				 0);
		bytes = fairlead_secret_bytes(secret, &size);
		assert_int_equal(size, fixture->packed.size);
		assert_memory_equal(bytes, fixture->packed.data, size);
		reply_check(fixture, bytes);
		fairlead_secret_destroy(secret);
	}
	fairlead_secret_destroy(NULL);
}

static void sealed_part_opens_nowhere_else(void **state)
{
	struct fixture *fixture = *state;
	struct rng_seam rng = sim_rng_seam(&fixture->rng);
	struct manager_keys other, next = fixture->keys;

	key_write(fixture, &fixture->keys, "n3");
	refuse(fixture, fixture->grant, -ENXIO);
	manager_keys_create(&rng, &other); /* of a cluster with such names */
	assert_int_equal(other.keys[0].id, fixture->keys.keys[0].id);
	key_write(fixture, &other, "n1");
	refuse(fixture, fixture->grant, -EKEYREJECTED);
	assert_int_equal(manager_keys_rotate(&next, &rng, NULL), 0);
	assert_int_equal(manager_keys_activate(&next, NULL), 0);
	assert_int_equal(manager_keys_retire(&next, NULL), 0);
	key_write(fixture, &next, "n1");
	refuse(fixture, fixture->grant, -ENOKEY);
}

static void changed_grant_does_not_open(void **state)
{
	struct fixture *fixture = *state;
	const struct writer *sealed = &fixture->sealed;
	struct {
		uint64_t grant_id;
		const char *hosts;
		size_t sealed_size;
		int code;
	} cases[] = {
		{ 7, "n[1-2,10]", 0, -ENODATA },
		{ 7, "n[1-2,10]", sealed->size - 1, -EBADMSG },
		{ 8, "n[1-2,10]", sealed->size, -EKEYREJECTED },
		{ 7, "n[10,2,1]", sealed->size, -EKEYREJECTED },
		{ 7, "n[2,10,7,1]", sealed->size, -EBADMSG },
		{ 7, "n[", sealed->size, -EBADMSG },
	};

	key_write(fixture, &fixture->keys, "n1");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fairlead_grant *grant =
			grant_of(cases[i].grant_id, cases[i].hosts,
				 sealed->data, cases[i].sealed_size);

		refuse(fixture, grant, cases[i].code);
		fairlead_grant_destroy(grant);
	}
	for (size_t i = 0; i < sealed->size; i++) {
		struct fairlead_secret *secret = NULL;
		struct fairlead_grant *grant;
		int result;

		/* What is wrapped for the other nodes is theirs to see. */
		if (i >= 33 + 48 && i < 33 + 3 * 48)
			continue;
		sealed->data[i] ^= 1;
		grant = grant_of(7, "n[1-2,10]", sealed->data, sealed->size);
		sealed->data[i] ^= 1;
		result = fairlead_grant_open(grant, fixture->path, &secret,
					     NULL);
		assert_true(result == -EBADMSG || result == -ENOKEY ||
			    result == -EKEYREJECTED);
		assert_null(secret);
		fairlead_grant_destroy(grant);
	}
}

static void grant_that_says_nothing_of_nodes_does_not_open(void **state)
{
	struct fixture *fixture = *state;
	struct fairlead_grant *grant;
	char *text;

	key_write(fixture, &fixture->keys, "n1");
	assert_int_equal(grant_format(&a_grant, &text), 0);
	assert_int_equal(fairlead_grant_parse(text, &grant, NULL), 0);
	refuse(fixture, grant, -EBADMSG);
	fairlead_grant_destroy(grant);
	free(text);
}

static void key_file_that_others_can_use_is_not_used(void **state)
{
	struct fixture *fixture = *state;
	char link[64];

	refuse(fixture, fixture->grant, -ENOENT);
	key_write(fixture, &fixture->keys, "n1");
	assert_int_equal(chmod(fixture->path, 0640), 0);
	refuse(fixture, fixture->grant, -EPERM);
	assert_int_equal(chmod(fixture->path, 0600), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(fixture->path, 12345, 0), 0);
		refuse(fixture, fixture->grant, -EPERM);
		assert_int_equal(chown(fixture->path, 0, 0), 0);
	}
	snprintf(link, sizeof(link), "%s/other", fixture->folder);
	assert_int_equal(rename(fixture->path, link), 0);
	assert_int_equal(symlink(link, fixture->path), 0);
	refuse(fixture, fixture->grant, -ELOOP);
	unlink(link);
	unlink(fixture->path);
	assert_int_equal(mkdir(fixture->path, 0700), 0);
	refuse(fixture, fixture->grant, -EPERM);
	rmdir(fixture->path);
	close(open(fixture->path, O_CREAT | O_WRONLY, 0600));
	refuse(fixture, fixture->grant, -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_and_bytes_are_the_same_grant),
		cmocka_unit_test(what_is_no_whole_grant_is_refused),
		cmocka_unit_test_setup_teardown(
			sealed_part_opens_at_each_of_its_nodes, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(sealed_part_opens_nowhere_else,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(changed_grant_does_not_open,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			grant_that_says_nothing_of_nodes_does_not_open, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			key_file_that_others_can_use_is_not_used, set_up,
			tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
