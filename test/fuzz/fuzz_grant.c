/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Grants: bytes with a right digest are refused, or encode to themselves; so
 * is the text form. What a public part says keeps within its limits. No node
 * opens what the manager did not seal.
 *
 * Input: a grant up to its digest; and all of it once more as a text form.
 */
#include <errno.h>
#include <sodium.h>

#include "base/cleanup.h"
#include "fairlead_driver.h"
#include "fuzz.h"
#include "lanes/proto/grant.h"
#include "lanes/proto/keyfile.h"
#include "lanes/proto/seal.h"

#define DIGEST_SIZE 32

static void refused_check(int result, const struct fairlead_error *error)
{
	fuzz_check(result == -EBADMSG || result == -EPROTONOSUPPORT);
	fuzz_check(error->code == result && error->text[0] != 0);
}

static void public_check(const char *text)
{
	json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	uint32_t ids[FAIRLEAD_LANE_IDS_MAX];
	struct grant_public public;
	struct fairlead_error error;
	int result = grant_public_read(object, ids, &public, &error);

	if (result < 0) {
		fuzz_check(result == -EINVAL && error.text[0] != 0);
	} else {
		fuzz_check(public.id_count <= FAIRLEAD_LANE_IDS_MAX);
		fuzz_check(public.grant_id > 0 &&
			   public.grant_id <= GRANT_ID_MAX);
		fuzz_check(public.key && public.interconnect && public.nodes &&
			   public.options);
	}
	json_decref(object);
}

static void sealed_check(const struct grant *grant)
{
	const struct node_keys keys = {
		.name = "n1",
		.confirm_count = 1,
		.confirms[0] = { .id = 1, .bytes = { 1 } },
	};
	struct fairlead_error error = { 0 };
	struct secret secret;
	int result = grant_open(grant, &keys, &secret, &error);

	fuzz_check(result == -ENODATA || result == -ENXIO ||
		   result == -ENOKEY || result == -EKEYREJECTED ||
		   result == -EBADMSG);
	fuzz_check(error.code == result && error.text[0] != 0);
	fuzz_check((result == -ENODATA) == (grant->sealed_size == 0));
}

static void bytes_check(const uint8_t *data, size_t size)
{
	struct writer writer = { 0 }, again = { 0 };
	uint8_t digest[DIGEST_SIZE];
	struct fairlead_error error;
	struct grant grant;
	int result;

	crypto_generichash(digest, sizeof(digest), data, size, NULL, 0);
	write_bytes(&writer, data, size);
	write_bytes(&writer, digest, sizeof(digest));
	result = grant_decode(writer.data, writer.size, &grant, &error);
	if (result < 0) {
		refused_check(result, &error);
		writer_fini(&writer);
		return;
	}
	public_check(grant.public_text);
	sealed_check(&grant);
	fuzz_check(grant_encode(&grant, &again) == 0);
	fuzz_check(again.size == writer.size);
	fuzz_check(memcmp(again.data, writer.data, writer.size) == 0);
	grant_fini(&grant);
	writer_fini(&again);
	writer_fini(&writer);
}

static void text_check(const char *text)
{
	_auto_(freep) char *again = NULL;
	struct fairlead_error error;
	struct grant grant;
	int result = grant_parse(text, &grant, &error);

	if (result < 0) {
		refused_check(result, &error);
		return;
	}
	fuzz_check(grant_format(&grant, &again) == 0);
	fuzz_check(strcmp(text, again) == 0);
	grant_fini(&grant);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_auto_(freep) char *text = fuzz_text(data, size);

	fuzz_check(sodium_init() >= 0);
	bytes_check(data, size);
	text_check(text);
	return 0;
}
