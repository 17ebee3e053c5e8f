/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/fm/daemon/certificate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "sys/files.h"
#include "sys/rng.h"

#define LIFE_S      (10 * 365 * 86400L)
#define PEM_MAX     16384 /* bytes */
#define SERIAL_SIZE 8

/* A certificate and its key. */
struct identity {
	gnutls_x509_crt_t certificate;
	gnutls_x509_privkey_t key;
};

static void identity_fini(struct identity *identity)
{
	if (identity->certificate != NULL)
		gnutls_x509_crt_deinit(identity->certificate);
	if (identity->key != NULL)
		gnutls_x509_privkey_deinit(identity->key);
}

/* *result stays what it was, once it is an error. */
static void try(int *result, int next)
{
	if (*result >= 0)
		*result = next;
}

static void identity_init(struct identity *identity, int *result)
{
	*identity = (struct identity){ 0 };
	try(result, gnutls_x509_crt_init(&identity->certificate));
	try(result, gnutls_x509_privkey_init(&identity->key));
}

/* A key, and a certificate that lacks what differs and the signature. */
static void identity_begin(struct identity *identity, const char *name,
			   int *result)
{
	const struct rng_seam rng = sys_rng();
	uint8_t serial[SERIAL_SIZE];
	time_t now = time(NULL);

	identity_init(identity, result);
	if (*result < 0)
		return;
	rng_fill(&rng, serial, sizeof(serial));
	serial[0] &= 0x7f;
	try(result,
	    gnutls_x509_privkey_generate(
		    identity->key, GNUTLS_PK_ECDSA,
		    GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0));
	if (*result < 0)
		return;
	try(result, gnutls_x509_crt_set_version(identity->certificate, 3));
	try(result, gnutls_x509_crt_set_serial(identity->certificate, serial,
					       sizeof(serial)));
	/* Clocks of clients may be a little behind. */
	try(result, gnutls_x509_crt_set_activation_time(identity->certificate,
							now - 86400));
	try(result, gnutls_x509_crt_set_expiration_time(identity->certificate,
							now + LIFE_S));
	try(result, gnutls_x509_crt_set_dn_by_oid(
			    identity->certificate, GNUTLS_OID_X520_COMMON_NAME,
			    0, name, (unsigned int)strlen(name)));
	try(result,
	    gnutls_x509_crt_set_key(identity->certificate, identity->key));
}

static void identity_sign(struct identity *identity,
			  const struct identity *issuer, int *result)
{
	if (*result >= 0)
		*result =
			gnutls_x509_crt_sign2(identity->certificate,
					      issuer->certificate, issuer->key,
					      GNUTLS_DIG_SHA256, 0);
}

static void authority_make(struct identity *authority, const char *name,
			   int *result)
{
	identity_begin(authority, name, result);
	if (*result < 0)
		return;
	try(result, gnutls_x509_crt_set_ca_status(authority->certificate, 1));
	try(result, gnutls_x509_crt_set_key_usage(authority->certificate,
						  GNUTLS_KEY_KEY_CERT_SIGN));
	identity_sign(authority, authority, result);
}

static void address_add(gnutls_x509_crt_t certificate, const char *address,
			int *result)
{
	char host[64];
	uint8_t bytes[16];
	unsigned int size = 4;
	const char *colon = strrchr(address, ':');

	snprintf(host, sizeof(host), "%.*s", (int)(colon - address), address);
	if (host[0] == '[') {
		memmove(host, host + 1, strlen(host));
		host[strcspn(host, "]")] = '\0';
		size = 16;
	}
	if (inet_pton(size == 4 ? AF_INET : AF_INET6, host, bytes) == 1)
		try(result, gnutls_x509_crt_set_subject_alt_name(
				    certificate, GNUTLS_SAN_IPADDRESS, bytes,
				    size, GNUTLS_FSAN_APPEND));
}

static void name_add(gnutls_x509_crt_t certificate, const char *name,
		     int *result)
{
	try(result, gnutls_x509_crt_set_subject_alt_name(
			    certificate, GNUTLS_SAN_DNSNAME, name,
			    (unsigned int)strlen(name), GNUTLS_FSAN_APPEND));
}

static void server_make(struct identity *server,
			const struct identity *authority, const char *address,
			const char *name, int *result)
{
	identity_begin(server, "fairlead-softfm", result);
	if (*result < 0)
		return;
	name_add(server->certificate, "localhost", result);
	if (name != NULL)
		name_add(server->certificate, name, result);
	address_add(server->certificate, address, result);
	identity_sign(server, authority, result);
}

static char *certificate_format(const struct identity *identity, int *result)
{
	gnutls_datum_t text = { 0 };
	char *copy = NULL;

	try(result, gnutls_x509_crt_export2(identity->certificate,
					    GNUTLS_X509_FMT_PEM, &text));
	if (*result >= 0)
		copy = memory_format("%.*s", (int)text.size, text.data);
	gnutls_free(text.data);
	return copy;
}

static char *key_format(const struct identity *identity, int *result)
{
	gnutls_datum_t text = { 0 };
	char *copy = NULL;

	try(result, gnutls_x509_privkey_export2_pkcs8(
			    identity->key, GNUTLS_X509_FMT_PEM, NULL,
			    GNUTLS_PKCS_PLAIN, &text));
	if (*result >= 0)
		copy = memory_format("%.*s", (int)text.size, text.data);
	gnutls_free(text.data);
	return copy;
}

/* Both files; the key is ours alone. */
static int identity_save(const struct identity *identity, const char *dir,
			 const char *name, struct fairlead_error *ret_error)
{
	const struct file_seam files = sys_files();
	int result = 0;
	_auto_(freep) char *path = memory_format("%s/%s.pem", dir, name);
	_auto_(freep) char *key_path =
		memory_format("%s/%s-key.pem", dir, name);
	_auto_(freep) char *text = certificate_format(identity, &result);
	_auto_(freep) char *key = key_format(identity, &result);

	if (result < 0)
		return error_set(ret_error, -EIO, "cannot make '%s': %s", path,
				 gnutls_strerror(result));
	result = files.ops->replace(files.ctx, key_path, key, strlen(key));
	if (result == 0)
		result =
			files.ops->replace(files.ctx, path, text, strlen(text));
	/* Clients of any user read it. */
	if (result == 0 && chmod(path, 0644) < 0)
		result = -errno;
	return result < 0
		       ? error_set(ret_error, result, "cannot write '%s': %s",
				   path, strerror(-result))
		       : 0;
}

/* Of an earlier run. -ENOENT: there is none. */
static int authority_load(const char *dir, struct identity *authority)
{
	const struct file_seam files = sys_files();
	_auto_(freep) char *path = memory_format("%s/ca.pem", dir);
	_auto_(freep) char *key_path = memory_format("%s/ca-key.pem", dir);
	_auto_(freep) uint8_t *bytes = memory_alloc(PEM_MAX);
	_auto_(freep) uint8_t *key_bytes = memory_alloc(PEM_MAX);
	int size = files.ops->load(files.ctx, path, bytes, PEM_MAX);
	int key_size = files.ops->load(files.ctx, key_path, key_bytes, PEM_MAX);
	gnutls_datum_t text = { bytes, (unsigned int)size };
	gnutls_datum_t key = { key_bytes, (unsigned int)key_size };
	int result = 0;

	if (size < 0 || key_size < 0)
		return size < 0 ? size : key_size;
	identity_init(authority, &result);
	try(&result, gnutls_x509_crt_import(authority->certificate, &text,
					    GNUTLS_X509_FMT_PEM));
	try(&result, gnutls_x509_privkey_import(authority->key, &key,
						GNUTLS_X509_FMT_PEM));
	return result < 0 ? -EBADMSG : 0;
}

/* The authority of the folder. */
static int authority_get(const char *dir, struct identity *authority,
			 struct fairlead_error *ret_error)
{
	struct identity client = { 0 };
	int status = 0;
	int result = authority_load(dir, authority);

	if (result != -ENOENT)
		return result < 0 ? error_set(ret_error, result,
					      "cannot use '%s/ca.pem': %s; "
					      "remove it to have a new one",
					      dir, strerror(-result))
				  : 0;
	authority_make(authority, "fairlead-softfm CA", &status);
	identity_begin(&client, "fairlead", &status);
	identity_sign(&client, authority, &status);
	if (status < 0)
		result = error_set(ret_error, -EIO,
				   "cannot make certificates: %s",
				   gnutls_strerror(status));
	else
		result = identity_save(&client, dir, "client", ret_error);
	/* Last, since it is what says that all is there. */
	if (result == 0)
		result = identity_save(authority, dir, "ca", ret_error);
	identity_fini(&client);
	return result;
}

int certificates_make(const char *dir, const char *address, const char *name,
		      bool is_foreign, struct certificates *ret_certificates,
		      struct fairlead_error *ret_error)
{
	struct identity authority = { 0 }, foreign = { 0 }, server = { 0 };
	int status = 0;
	int result = authority_get(dir, &authority, ret_error);

	*ret_certificates = (struct certificates){ 0 };
	if (result == 0) {
		if (is_foreign)
			authority_make(&foreign, "another CA", &status);
		server_make(&server, is_foreign ? &foreign : &authority,
			    address, name, &status);
		ret_certificates->ca = certificate_format(&authority, &status);
		ret_certificates->server = certificate_format(&server, &status);
		ret_certificates->server_key = key_format(&server, &status);
		if (status < 0) {
			certificates_fini(ret_certificates);
			result = error_set(ret_error, -EIO,
					   "cannot make certificates: %s",
					   gnutls_strerror(status));
		}
	}
	identity_fini(&authority);
	identity_fini(&foreign);
	identity_fini(&server);
	return result;
}

void certificates_fini(struct certificates *certificates)
{
	free(certificates->ca);
	free(certificates->server);
	free(certificates->server_key);
	*certificates = (struct certificates){ 0 };
}
