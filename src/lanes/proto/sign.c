/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signed is the domain text and bytes 0..83 of the header, which hold the
 * digest of the body; so the header proves epoch and life without the body.
 * Of what a root says its digest is signed, with a domain text of its own.
 * Tagged is the domain text and the message up to its tag.
 */
#include "lanes/proto/sign.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "base/cleanup.h"

#define COMMAND_MAGIC       0x434c5246u
#define COMMAND_DOMAIN      "fairlead command"
#define COMMAND_DOMAIN_SIZE 16
#define COMMAND_SIGNED_SIZE 84

#define ROOT_DOMAIN         "fairlead root"
#define ROOT_DOMAIN_SIZE    13

#define KDF_CONTEXT         "fairlead"
#define KDF_COMMAND         1
#define KDF_NODES           2
#define KDF_HOP             3
#define KDF_JOURNAL         4

_Static_assert(COMMAND_SIGNED_SIZE + crypto_sign_BYTES == COMMAND_HEADER_SIZE,
	       "the signature ends the header");
_Static_assert(ROOT_SIGNATURE_SIZE == sizeof(uint32_t) + crypto_sign_BYTES,
	       "the signature of a root");
_Static_assert(COMMAND_KEY_SIZE == crypto_sign_SECRETKEYBYTES &&
		       KEY_SIZE == crypto_sign_PUBLICKEYBYTES &&
		       KEY_SIZE == crypto_sign_SEEDBYTES &&
		       KEY_SIZE == crypto_kdf_KEYBYTES,
	       "libsodium's sizes");
_Static_assert(sizeof(KDF_CONTEXT) == crypto_kdf_CONTEXTBYTES + 1,
	       "the context of the key derivation");

static void sign_pair(const uint8_t seed[KEY_SIZE], uint8_t public[KEY_SIZE],
		      uint8_t secret[COMMAND_KEY_SIZE])
{
	uint8_t sign_seed[KEY_SIZE];

	crypto_kdf_derive_from_key(sign_seed, sizeof(sign_seed), KDF_COMMAND,
				   KDF_CONTEXT, seed);
	crypto_sign_seed_keypair(public, secret, sign_seed);
	sodium_memzero(sign_seed, sizeof(sign_seed));
}

void command_key_derive(uint32_t id, const uint8_t seed[KEY_SIZE],
			struct command_key *ret_key)
{
	uint8_t public[KEY_SIZE];

	ret_key->id = id;
	sign_pair(seed, public, ret_key->secret);
}

void command_key_fini(struct command_key *key)
{
	sodium_memzero(key, sizeof(*key));
}

void command_public_derive(uint32_t id, const uint8_t seed[KEY_SIZE],
			   struct command_public *ret_public)
{
	uint8_t secret[COMMAND_KEY_SIZE];

	ret_public->id = id;
	sign_pair(seed, ret_public->bytes, secret);
	sodium_memzero(secret, sizeof(secret));
}

void node_master_derive(uint32_t id, const uint8_t seed[KEY_SIZE],
			struct node_master *ret_master)
{
	ret_master->id = id;
	crypto_kdf_derive_from_key(ret_master->bytes, KEY_SIZE, KDF_NODES,
				   KDF_CONTEXT, seed);
}

void node_master_fini(struct node_master *master)
{
	sodium_memzero(master, sizeof(*master));
}

void node_key_derive(const struct node_master *master, const char *name,
		     struct node_key *ret_key)
{
	ret_key->id = master->id;
	crypto_generichash(ret_key->bytes, KEY_SIZE, (const uint8_t *)name,
			   strlen(name), master->bytes, KEY_SIZE);
}

void node_key_fini(struct node_key *key)
{
	sodium_memzero(key, sizeof(*key));
}

void hop_key_derive(uint32_t id, const uint8_t seed[KEY_SIZE],
		    struct hop_key *ret_key)
{
	ret_key->id = id;
	crypto_kdf_derive_from_key(ret_key->bytes, KEY_SIZE, KDF_HOP,
				   KDF_CONTEXT, seed);
}

void journal_key_derive(const uint8_t seed[KEY_SIZE], uint8_t ret_key[KEY_SIZE])
{
	crypto_kdf_derive_from_key(ret_key, KEY_SIZE, KDF_JOURNAL, KDF_CONTEXT,
				   seed);
}

const char *command_op_name(unsigned int op)
{
	static const char *const names[] = {
		[COMMAND_HELLO] = "HELLO",   [COMMAND_APPLY] = "APPLY",
		[COMMAND_REVOKE] = "REVOKE", [COMMAND_QUERY] = "QUERY",
		[COMMAND_CLEAN] = "CLEAN",   [COMMAND_ACK] = "ACK",
		[COMMAND_DRAIN] = "DRAIN",   [COMMAND_LEASE] = "LEASE",
	};

	if (op < COMMAND_HELLO || op > COMMAND_OP_MAX)
		return "?";
	return names[op];
}

static int op_check(const struct command *command)
{
	if (command->op < COMMAND_HELLO || command->op > COMMAND_OP_MAX)
		return -EOPNOTSUPP;
	if (command->grant_id == 0 &&
	    (command->op == COMMAND_APPLY || command->op == COMMAND_REVOKE))
		return -EBADMSG;
	return 0;
}

static void digest_make(const void *body, size_t size,
			uint8_t ret_digest[DIGEST_SIZE])
{
	crypto_generichash(ret_digest, DIGEST_SIZE, body, size, NULL, 0);
}

/* What the signature is made over: the domain text and the header's fields. */
struct signed_part {
	uint8_t domain[COMMAND_DOMAIN_SIZE];
	uint8_t header[COMMAND_SIGNED_SIZE];
};

static void signed_part_make(const uint8_t *header,
			     struct signed_part *ret_part)
{
	memcpy(ret_part->domain, COMMAND_DOMAIN, COMMAND_DOMAIN_SIZE);
	memcpy(ret_part->header, header, COMMAND_SIGNED_SIZE);
}

static void fields_write(const struct command *command, uint32_t key_id,
			 struct writer *writer)
{
	uint8_t digest[DIGEST_SIZE];

	digest_make(command->body, command->body_size, digest);
	write_u32(writer, COMMAND_MAGIC);
	write_u16(writer, command->version);
	write_u8(writer, command->op);
	write_u8(writer, 0);
	write_u32(writer, key_id);
	write_u64(writer, command->epoch);
	write_u64(writer, command->life);
	write_u64(writer, command->sequence);
	write_u64(writer, command->grant_id);
	write_u64(writer, command->apply_floor);
	write_bytes(writer, digest, sizeof(digest));
}

int command_seal(const struct command_key *key, const struct command *command,
		 struct writer *writer)
{
	uint8_t signature[crypto_sign_BYTES];
	size_t start = writer->size;
	struct signed_part part;

	if (command->version != WIRE_VERSION || op_check(command) < 0)
		return -EINVAL;
	fields_write(command, key->id, writer);
	if (writer->result < 0)
		return writer->result;
	signed_part_make(writer->data + start, &part);
	crypto_sign_detached(signature, NULL, (const uint8_t *)&part,
			     sizeof(part), key->secret);
	write_bytes(writer, signature, sizeof(signature));
	write_bytes(writer, command->body, command->body_size);
	return writer->result;
}

int command_header_read(const uint8_t header[COMMAND_HEADER_SIZE],
			struct command *ret_command)
{
	struct reader reader = reader_of(header, COMMAND_SIGNED_SIZE);
	struct command command = { 0 };
	bool is_header = read_u32(&reader) == COMMAND_MAGIC;

	command.version = read_u16(&reader);
	command.op = read_u8(&reader);
	if (read_u8(&reader) != 0)
		is_header = false;
	command.key_id = read_u32(&reader);
	command.epoch = read_u64(&reader);
	command.life = read_u64(&reader);
	command.sequence = read_u64(&reader);
	command.grant_id = read_u64(&reader);
	command.apply_floor = read_u64(&reader);
	memcpy(command.digest, read_bytes(&reader, DIGEST_SIZE), DIGEST_SIZE);
	if (!is_header)
		return -EBADMSG;
	*ret_command = command;
	return 0;
}

static const struct command_public *public_find(
	const struct command_public *keys, size_t key_count, uint32_t id)
{
	for (size_t i = 0; i < key_count; i++)
		if (keys[i].id == id)
			return &keys[i];
	return NULL;
}

static int header_verify(const uint8_t *header,
			 const struct command_public *keys, size_t key_count,
			 struct command *ret_command)
{
	const struct command_public *key;
	struct signed_part part;

	if (command_header_read(header, ret_command) < 0)
		return -EBADMSG;
	if (ret_command->version != WIRE_VERSION)
		return -EPROTONOSUPPORT;
	key = public_find(keys, key_count, ret_command->key_id);
	if (key == NULL)
		return -ENOKEY;
	signed_part_make(header, &part);
	if (crypto_sign_verify_detached(header + COMMAND_SIGNED_SIZE,
					(const uint8_t *)&part, sizeof(part),
					key->bytes) != 0)
		return -EKEYREJECTED;
	return 0;
}

int command_verify(const void *bytes, size_t size,
		   const struct command_public *keys, size_t key_count,
		   struct command *ret_command)
{
	uint8_t digest[DIGEST_SIZE];
	struct command command;
	int result;

	if (size < COMMAND_HEADER_SIZE)
		return -EBADMSG;
	result = header_verify(bytes, keys, key_count, &command);
	if (result < 0)
		return result;
	command.body = (const uint8_t *)bytes + COMMAND_HEADER_SIZE;
	command.body_size = size - COMMAND_HEADER_SIZE;
	digest_make(command.body, command.body_size, digest);
	if (sodium_memcmp(digest, command.digest, sizeof(digest)) != 0)
		return -EBADMSG;
	result = op_check(&command);
	if (result < 0)
		return result;
	*ret_command = command;
	return 0;
}

int command_proof_verify(const void *bytes, size_t size,
			 const struct command_public *keys, size_t key_count,
			 struct command *ret_command)
{
	struct command command;
	int result;

	if (size != COMMAND_HEADER_SIZE)
		return -EBADMSG;
	result = header_verify(bytes, keys, key_count, &command);
	if (result < 0)
		return result;
	*ret_command = command;
	return 0;
}

/* What the signature of a root is made over. */
struct root_part {
	uint8_t domain[ROOT_DOMAIN_SIZE];
	uint8_t digest[DIGEST_SIZE];
};

static void root_part_make(const void *bytes, size_t size,
			   struct root_part *ret_part)
{
	memcpy(ret_part->domain, ROOT_DOMAIN, ROOT_DOMAIN_SIZE);
	digest_make(bytes, size, ret_part->digest);
}

void root_sign(const struct command_key *key, const void *bytes, size_t size,
	       uint8_t ret_signature[ROOT_SIGNATURE_SIZE])
{
	struct root_part part;

	root_part_make(bytes, size, &part);
	for (size_t i = 0; i < sizeof(key->id); i++)
		ret_signature[i] = (uint8_t)(key->id >> 8 * i);
	crypto_sign_detached(ret_signature + sizeof(key->id), NULL,
			     (const uint8_t *)&part, sizeof(part), key->secret);
}

int root_verify(const struct command_public *keys, size_t key_count,
		const void *bytes, size_t size,
		const uint8_t signature[ROOT_SIGNATURE_SIZE])
{
	struct reader reader = reader_of(signature, ROOT_SIGNATURE_SIZE);
	const struct command_public *key =
		public_find(keys, key_count, read_u32(&reader));
	struct root_part part;

	if (key == NULL)
		return -ENOKEY;
	root_part_make(bytes, size, &part);
	return crypto_sign_verify_detached(reader.at, (const uint8_t *)&part,
					   sizeof(part), key->bytes) == 0
		       ? 0
		       : -EKEYREJECTED;
}

void mac_make(const char *domain, const struct node_key *key, const void *bytes,
	      size_t size, uint8_t ret_tag[MAC_SIZE])
{
	crypto_generichash_state state;

	crypto_generichash_init(&state, key->bytes, KEY_SIZE, MAC_SIZE);
	crypto_generichash_update(&state, (const uint8_t *)domain,
				  strlen(domain));
	crypto_generichash_update(&state, bytes, size);
	crypto_generichash_final(&state, ret_tag, MAC_SIZE);
	sodium_memzero(&state, sizeof(state));
}

int mac_verify(const char *domain, const struct node_key *key,
	       const void *bytes, size_t size, const uint8_t tag[MAC_SIZE])
{
	uint8_t expected[MAC_SIZE];

	mac_make(domain, key, bytes, size, expected);
	if (sodium_memcmp(expected, tag, MAC_SIZE) != 0)
		return -EKEYREJECTED;
	return 0;
}

void mac_combine(uint8_t combined[MAC_SIZE], const uint8_t tag[MAC_SIZE])
{
	for (size_t i = 0; i < MAC_SIZE; i++)
		combined[i] ^= tag[i];
}
