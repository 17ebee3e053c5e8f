/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Grants as callers hold them: decoded, with both of their forms made once, so
 * that what a caller is given stays valid as long as the grant. The sealed part
 * is opened when it is asked for, and the key is not kept.
 */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "fairlead.h"
#include "lanes/proto/grant.h"
#include "lanes/proto/keyfile.h"
#include "lanes/proto/seal.h"
#include "sys/secret.h"

struct fairlead_grant {
	struct grant grant;
	uint8_t *bytes;
	size_t size;
	char *text;
};

DEFINE_AUTO(struct fairlead_grant, fairlead_grant_destroy)

static int make_forms(struct fairlead_grant *grant)
{
	struct writer writer = { 0 };
	int result = grant_encode(&grant->grant, &writer);

	if (result == 0) {
		grant->bytes = writer_take(&writer, &grant->size);
		if (!grant->bytes)
			result = -ENOMEM;
	}
	writer_fini(&writer);
	return result < 0 ? result : grant_format(&grant->grant, &grant->text);
}

/* Take over what was decoded, or the error of decoding it. */
static int finish(struct fairlead_grant *grant_owned, int result,
		  struct fairlead_grant **ret_grant,
		  struct fairlead_error *ret_error)
{
	_auto_(fairlead_grant_destroyp) struct fairlead_grant *grant =
		grant_owned;

	if (result < 0)
		return result;
	result = make_forms(grant);
	if (result < 0)
		return error_set(ret_error, result, "cannot keep the grant: %s",
				 strerror(-result));
	*ret_grant = take_ptr(grant);
	return 0;
}

int fairlead_grant_parse(const char *text, struct fairlead_grant **ret_grant,
			 struct fairlead_error *ret_error)
{
	struct fairlead_grant *grant = calloc(1, sizeof(*grant));

	if (!grant)
		return error_set(ret_error, -ENOMEM, "out of memory");
	return finish(grant, grant_parse(text, &grant->grant, ret_error),
		      ret_grant, ret_error);
}

int fairlead_grant_decode(const void *bytes, size_t size,
			  struct fairlead_grant **ret_grant,
			  struct fairlead_error *ret_error)
{
	struct fairlead_grant *grant = calloc(1, sizeof(*grant));

	if (!grant)
		return error_set(ret_error, -ENOMEM, "out of memory");
	return finish(grant,
		      grant_decode(bytes, size, &grant->grant, ret_error),
		      ret_grant, ret_error);
}

void fairlead_grant_destroy(struct fairlead_grant *grant)
{
	if (!grant)
		return;
	grant_fini(&grant->grant);
	free(grant->bytes);
	free(grant->text);
	free(grant);
}

uint64_t fairlead_grant_id(const struct fairlead_grant *grant)
{
	return grant->grant.grant_id;
}

const char *fairlead_grant_public(const struct fairlead_grant *grant)
{
	return grant->grant.public_text;
}

const char *fairlead_grant_text(const struct fairlead_grant *grant)
{
	return grant->text;
}

const void *fairlead_grant_bytes(const struct fairlead_grant *grant,
				 size_t *ret_size)
{
	*ret_size = grant->size;
	return grant->bytes;
}

/* --- the sealed part --- */

struct fairlead_secret {
	struct secret secret;
};

static int keys_read(const char *path, struct node_keys *ret_keys,
		     struct fairlead_error *error)
{
	char text[KEYFILE_SIZE_MAX];
	ssize_t size = secret_read(path, text, sizeof(text), error);
	int result;

	if (size < 0)
		return (int)size;
	result = node_keys_parse(text, (size_t)size, ret_keys, error);
	sodium_memzero(text, sizeof(text));
	return result < 0 ? error_prefix(error, "'%s'", path) : 0;
}

int fairlead_grant_open(const struct fairlead_grant *grant,
			const char *key_path,
			struct fairlead_secret **ret_secret,
			struct fairlead_error *ret_error)
{
	struct fairlead_error error = { 0 };
	struct fairlead_secret *secret;
	struct node_keys keys;
	int result = keys_read(key_path ? key_path : FAIRLEAD_NODE_KEY, &keys,
			       &error);

	if (result < 0)
		return error_set(ret_error, result, "%s", error.text);
	secret = calloc(1, sizeof(*secret));
	result = secret ? grant_open(&grant->grant, &keys, &secret->secret,
				     ret_error)
			: error_set(ret_error, -ENOMEM, "out of memory");
	node_keys_fini(&keys);
	if (result == 0)
		*ret_secret = secret;
	else
		fairlead_secret_destroy(secret);
	return result;
}

const void *fairlead_secret_bytes(const struct fairlead_secret *secret,
				  size_t *ret_size)
{
	*ret_size = secret->secret.size;
	return secret->secret.bytes;
}

void fairlead_secret_destroy(struct fairlead_secret *secret)
{
	if (!secret)
		return;
	secret_fini(&secret->secret);
	free(secret);
}
