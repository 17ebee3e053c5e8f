/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A grant goes through the hands of job managers, files and environments. The
 * digest finds what got lost on the way; that it is not forged is checked
 * where it counts, by the grant id at the manager. Its sizes are such that the
 * answer to a reserve, which has the grant as text and the public part again,
 * fits a frame.
 */
#include "lanes/proto/grant.h"

#include <errno.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/json_text.h"
#include "fairlead_driver.h"
#include "lanes/proto/keyfile.h"
#include "lanes/proto/client.h"
#include "lanes/proto/seal.h"

#define GRANT_MAGIC       0x54475246u
#define GRANT_VERSION     1
#define GRANT_DIGEST_SIZE 32
#define GRANT_FIXED_SIZE  (4 + 2 + 2 + 8 + 8 + 4 + 4 + GRANT_DIGEST_SIZE)
#define GRANT_SIZE_MAX    (GRANT_FIXED_SIZE + GRANT_PUBLIC_MAX + GRANT_SEALED_MAX)
#define BASE64            sodium_base64_VARIANT_URLSAFE_NO_PADDING

_Static_assert(SEAL_SIZE(FAIRLEAD_SECRET_NODES_MAX, FAIRLEAD_PACKED_MAX) <=
		       GRANT_SEALED_MAX,
	       "the largest lane with secrets fits a grant");

int grant_public_format(const struct grant_public *public, char **ret_text)
{
	struct json_text text = { .writer.limit = GRANT_PUBLIC_MAX + 1 };
	char *taken;

	json_text_begin(&text);
	json_text_number(&text, "grant_id", public->grant_id);
	json_text_string(&text, "key", public->key);
	json_text_string(&text, "interconnect", public->interconnect);
	json_text_string(&text, "nodes", public->nodes);
	json_text_number(&text, "uid", public->uid);
	json_text_number(&text, "gid", public->gid);
	json_text_numbers(&text, "ids", public->ids, public->id_count);
	json_text_string(&text, "options", public->options);
	json_text_bool(&text, "has_lane", public->has_lane);
	json_text_object(&text, "context");
	json_text_members(&text, public->context);
	json_text_end(&text);
	json_text_end(&text);
	taken = json_text_take(&text);
	if (taken == NULL)
		return text.writer.result;
	*ret_text = taken;
	return 0;
}

static int ids_read(const json_t *object, uint32_t *ids, uint32_t *ret_count,
		    struct fairlead_error *ret_error)
{
	const json_t *array = json_object_get(object, "ids");
	const json_t *id;
	size_t i;

	if (!json_is_array(array) ||
	    json_array_size(array) > FAIRLEAD_LANE_IDS_MAX)
		return error_set(ret_error, -EINVAL,
				 "'ids' has to be an array of at most %d "
				 "numbers",
				 FAIRLEAD_LANE_IDS_MAX);
	json_array_foreach (array, i, id) {
		json_int_t number = json_integer_value(id);

		if (!json_is_integer(id) || number < 0 || number > UINT32_MAX)
			return error_set(ret_error, -EINVAL,
					 "'ids' has what is no number of an "
					 "identifier");
		ids[i] = (uint32_t)number;
	}
	*ret_count = (uint32_t)json_array_size(array);
	return 0;
}

static int texts_read(const json_t *object, struct grant_public *public,
		      struct fairlead_error *ret_error)
{
	const struct {
		const char *name;
		const char **text;
	} texts[] = { { "key", &public->key },
		      { "interconnect", &public->interconnect },
		      { "nodes", &public->nodes },
		      { "options", &public->options } };
	int result = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts) && result == 0;
	     i++)
		result = members_text(object, texts[i].name, MEMBER_REQUIRED,
				      texts[i].text, ret_error);
	return result;
}

int grant_public_read(const json_t *object, uint32_t *ids,
		      struct grant_public *ret_public,
		      struct fairlead_error *ret_error)
{
	struct grant_public public = { .ids = ids };
	int64_t grant_id = 0, uid = 0, gid = 0;
	int result = members_number(object, "grant_id", MEMBER_REQUIRED, 1,
				    GRANT_ID_MAX, &grant_id, ret_error);

	if (result == 0)
		result = texts_read(object, &public, ret_error);
	if (result == 0)
		result = members_number(object, "uid", MEMBER_REQUIRED, 0,
					UINT32_MAX, &uid, ret_error);
	if (result == 0)
		result = members_number(object, "gid", MEMBER_REQUIRED, 0,
					UINT32_MAX, &gid, ret_error);
	if (result == 0)
		result = ids_read(object, ids, &public.id_count, ret_error);
	if (result == 0)
		result = members_bool(object, "has_lane", MEMBER_REQUIRED,
				      &public.has_lane, ret_error);
	if (result < 0)
		return result;
	public.grant_id = (uint64_t)grant_id;
	public.uid = (uint32_t)uid;
	public.gid = (uint32_t)gid;
	*ret_public = public;
	return 0;
}

static bool is_object(const char *text, size_t size)
{
	json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	/* jansson passes over a zero byte behind a number. */
	bool result = json_is_object(json) && memchr(text, 0, size) == NULL;

	json_decref(json);
	return result;
}

static void digest_make(const void *bytes, size_t size,
			uint8_t ret_digest[GRANT_DIGEST_SIZE])
{
	crypto_generichash(ret_digest, GRANT_DIGEST_SIZE, bytes, size, NULL, 0);
}

/* As grant_encode, of a public part that is known to be an object. */
static int encode(const struct grant *grant, struct writer *writer)
{
	size_t public_size = strlen(grant->public_text);
	uint8_t digest[GRANT_DIGEST_SIZE];
	size_t start = writer->size;

	if (grant->grant_id == 0 || grant->grant_id > GRANT_ID_MAX)
		return -EINVAL;
	if (public_size > GRANT_PUBLIC_MAX ||
	    grant->sealed_size > GRANT_SEALED_MAX)
		return -EMSGSIZE;
	write_u32(writer, GRANT_MAGIC);
	write_u16(writer, GRANT_VERSION);
	write_u16(writer, 0);
	write_u64(writer, grant->grant_id);
	write_u64(writer, grant->epoch);
	write_blob(writer, grant->public_text, public_size);
	write_blob(writer, grant->sealed, grant->sealed_size);
	if (writer->result == 0) {
		digest_make(writer->data + start, writer->size - start, digest);
		write_bytes(writer, digest, sizeof(digest));
	}
	if (writer->result < 0)
		writer->size = start;
	return writer->result;
}

int grant_encode(const struct grant *grant, struct writer *writer)
{
	if (!is_object(grant->public_text, strlen(grant->public_text)))
		return -EINVAL;
	return encode(grant, writer);
}

/* Magic, version, sizes and digest. */
static int frame_check(const void *bytes, size_t size,
		       struct fairlead_error *error)
{
	struct reader reader = reader_of(bytes, size);
	uint8_t digest[GRANT_DIGEST_SIZE];
	uint32_t version;

	if (size < GRANT_FIXED_SIZE || size > GRANT_SIZE_MAX ||
	    read_u32(&reader) != GRANT_MAGIC)
		return error_set(error, -EBADMSG, "not a grant");
	version = read_u16(&reader);
	if (version != GRANT_VERSION)
		return error_set(error, -EPROTONOSUPPORT,
				 "grant of version %u, only %d is known",
				 version, GRANT_VERSION);
	digest_make(bytes, size - GRANT_DIGEST_SIZE, digest);
	if (memcmp((const uint8_t *)bytes + size - GRANT_DIGEST_SIZE, digest,
		   GRANT_DIGEST_SIZE) != 0)
		return error_set(error, -EBADMSG,
				 "the grant is damaged: its digest is wrong");
	return 0;
}

int grant_decode(const void *bytes, size_t size, struct grant *ret_grant,
		 struct fairlead_error *ret_error)
{
	_auto_(freep) char *public_text = NULL;
	_auto_(freep) uint8_t *sealed = NULL;
	struct grant grant = { 0 };
	const uint8_t *sealed_view, *public_view;
	struct reader reader;
	size_t public_size;
	int result;

	result = frame_check(bytes, size, ret_error);
	if (result < 0)
		return result;
	reader = reader_of((const uint8_t *)bytes + 6,
			   size - GRANT_DIGEST_SIZE - 6);
	result = read_u16(&reader) == 0 ? 0 : -EBADMSG;
	grant.grant_id = read_u64(&reader);
	grant.epoch = read_u64(&reader);
	public_view = read_blob(&reader, GRANT_PUBLIC_MAX, &public_size);
	sealed_view = read_blob(&reader, GRANT_SEALED_MAX, &grant.sealed_size);
	if (result < 0 || !reader_is_done(&reader) || grant.grant_id == 0 ||
	    grant.grant_id > GRANT_ID_MAX ||
	    !is_object((const char *)public_view, public_size))
		return error_set(ret_error, -EBADMSG, "not a grant");
	public_text = strndup((const char *)public_view, public_size);
	sealed = malloc(grant.sealed_size + 1);
	if (public_text == NULL || sealed == NULL)
		return error_set(ret_error, -ENOMEM, "out of memory");
	memcpy(sealed, sealed_view, grant.sealed_size);
	grant.public_text = take_ptr(public_text);
	grant.sealed = take_ptr(sealed);
	*ret_grant = grant;
	return 0;
}

void grant_fini(struct grant *grant)
{
	free((void *)grant->public_text);
	free((void *)grant->sealed);
	*grant = (struct grant){ 0 };
}

/*
 * As sodium_bin2base64(), which takes many times as long so as not to tell by
 * its time what it encodes: here that is public, or sealed.
 */
static void base64_encode(const uint8_t *bytes, size_t size, char *ret_text)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz"
				     "0123456789-_";
	for (; size >= 3; size -= 3, bytes += 3) {
		uint32_t bits = (uint32_t)bytes[0] << 16 |
				(uint32_t)bytes[1] << 8 | bytes[2];

		*ret_text++ = digits[bits >> 18];
		*ret_text++ = digits[bits >> 12 & 63];
		*ret_text++ = digits[bits >> 6 & 63];
		*ret_text++ = digits[bits & 63];
	}
	if (size > 0) {
		uint32_t bits =
			(uint32_t)bytes[0] << 8 | (size > 1 ? bytes[1] : 0);

		*ret_text++ = digits[bits >> 10];
		*ret_text++ = digits[bits >> 4 & 63];
		if (size > 1)
			*ret_text++ = digits[bits << 2 & 63];
	}
	*ret_text = 0;
}

static int text_of(const struct writer *writer, char **ret_text)
{
	const size_t prefix_size = strlen(GRANT_TEXT_PREFIX);
	size_t text_size = sodium_base64_encoded_len(writer->size, BASE64);
	char *text = malloc(prefix_size + text_size);

	if (text == NULL)
		return -ENOMEM;
	memcpy(text, GRANT_TEXT_PREFIX, prefix_size);
	base64_encode(writer->data, writer->size, text + prefix_size);
	*ret_text = text;
	return 0;
}

int grant_format(const struct grant *grant, char **ret_text)
{
	struct writer writer = { 0 };
	int result = grant_encode(grant, &writer);

	if (result == 0)
		result = text_of(&writer, ret_text);
	writer_fini(&writer);
	return result;
}

int grant_make(const struct grant_public *public, uint64_t epoch,
	       const uint8_t *sealed, size_t sealed_size, char **ret_public,
	       char **ret_text)
{
	struct grant grant = { .grant_id = public->grant_id,
			       .epoch = epoch,
			       .sealed = sealed,
			       .sealed_size = sealed_size };
	_auto_(freep) char *public_text = NULL;
	struct writer writer = { 0 };
	int result = grant_public_format(public, &public_text);

	if (result < 0)
		return result;
	grant.public_text = public_text;
	result = encode(&grant, &writer);
	if (result == 0)
		result = text_of(&writer, ret_text);
	writer_fini(&writer);
	if (result == 0)
		*ret_public = take_ptr(public_text);
	return result;
}

int grant_parse(const char *text, struct grant *ret_grant,
		struct fairlead_error *ret_error)
{
	const size_t prefix_size = strlen(GRANT_TEXT_PREFIX);
	_auto_(freep) uint8_t *bytes = NULL;
	size_t text_size, size;
	const char *end;

	if (strncmp(text, GRANT_TEXT_PREFIX, prefix_size) != 0)
		return error_set(ret_error, -EBADMSG,
				 "a grant begins with '%s'", GRANT_TEXT_PREFIX);
	text += prefix_size;
	text_size = strnlen(text, 2 * GRANT_SIZE_MAX);
	bytes = malloc(text_size + 1);
	if (bytes == NULL)
		return error_set(ret_error, -ENOMEM, "out of memory");
	if (sodium_base642bin(bytes, text_size, text, text_size, NULL, &size,
			      &end, BASE64) != 0 ||
	    end != text + text_size)
		return error_set(ret_error, -EBADMSG,
				 "the grant is damaged: not URL-safe base64");
	return grant_decode(bytes, size, ret_grant, ret_error);
}

/*
 * --- opening it at a node ---
 *
 * A node finds its part of the sealed secrets by its name: that of its key
 * file, in the grant's host list. A changed list does no harm: each part was
 * sealed for its own node and its own grant.
 */

/* The node's place among those of the grant. */
static int place_find(const struct grant *grant, const char *name,
		      struct fairlead_error *error)
{
	json_t *object =
		json_loads(grant->public_text, JSON_REJECT_DUPLICATES, NULL);
	uint32_t ids[FAIRLEAD_LANE_IDS_MAX];
	struct grant_public public;
	int result;

	/* That it is an object was seen when the grant was decoded. */
	if (object == NULL)
		return error_set(error, -ENOMEM, "out of memory");
	result = grant_public_read(object, ids, &public, error);
	if (result < 0) {
		result = -EBADMSG;
		error->code = result;
	} else {
		result = hostlist_find(public.nodes, name);
		if (result == -ENOENT)
			result = error_set(error, -ENXIO,
					   "node '%s' is none of the job's",
					   name);
		else if (result < 0)
			result = error_set(error, -EBADMSG,
					   "the grant's nodes are no host "
					   "list");
	}
	json_decref(object);
	return result;
}

static int refuse(int result, const char *name, struct fairlead_error *error)
{
	if (result == -ENOKEY)
		return error_set(error, result,
				 "the grant is sealed under another key than "
				 "node '%s' has (were keys rotated?)",
				 name);
	if (result == -EKEYREJECTED)
		return error_set(error, result,
				 "the grant does not open with the key of "
				 "node '%s': it is of another cluster, or was "
				 "changed",
				 name);
	if (result == -EPERM)
		return error_set(error, -EBADMSG,
				 "the grant is sealed to fewer nodes than it "
				 "names");
	return error_set(error, result,
			 "the sealed part of the grant is damaged");
}

int grant_open(const struct grant *grant, const struct node_keys *keys,
	       struct secret *ret_secret, struct fairlead_error *ret_error)
{
	struct fairlead_error error = { 0 };
	int result, place;

	if (grant->sealed_size == 0)
		return error_set(ret_error, -ENODATA,
				 "the grant has no sealed part");
	place = place_find(grant, keys->name, &error);
	if (place < 0)
		return error_set(ret_error, place, "%s", error.text);
	result = seal_open(keys->confirms, keys->confirm_count, grant->grant_id,
			   (size_t)place, grant->sealed, grant->sealed_size,
			   ret_secret);
	return result < 0 ? refuse(result, keys->name, ret_error) : 0;
}
