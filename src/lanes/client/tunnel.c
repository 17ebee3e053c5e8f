/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plain answer of the manager is not authenticated: it ends the connection,
 * which anybody on the way can do, and does nothing else. The manager is known
 * by its uid: another process at its port can read no request and give no
 * answer.
 */
#include "lanes/client/tunnel.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "sys/credential.h"
#include "lanes/proto/frame.h"

#define SCHEME           "tcp://"
#define USER_DEFAULT     "fairlead"
#define USER_BYTES_MAX   64
#define PASSWD_BYTES_MAX 16384

struct tunnel {
	char *url;
	struct munge *munge;
	uid_t manager; /* its user */
	uint8_t nonce[ENVELOPE_NONCE_SIZE];
};

bool tunnel_is_url(const char *text)
{
	return strncmp(text, SCHEME, strlen(SCHEME)) == 0;
}

/* A number, or a name of this machine's users. */
static int find_user(const char *name, uid_t *ret_uid,
		     struct fairlead_error *ret_error)
{
	_auto_(freep) char *bytes = malloc(PASSWD_BYTES_MAX);
	struct passwd *found = NULL;
	struct passwd entry;
	char *end;

	if (bytes == NULL)
		return error_set(ret_error, -ENOMEM, "out of memory");
	if (*name >= '0' && *name <= '9') {
		errno = 0;
		*ret_uid = strtoul(name, &end, 10);
		if (*end == 0 && errno == 0 && strtoul(name, NULL, 10) < -1u)
			return 0;
	} else if (getpwnam_r(name, &entry, bytes, PASSWD_BYTES_MAX, &found) ==
			   0 &&
		   found != NULL) {
		*ret_uid = entry.pw_uid;
		return 0;
	}
	return error_set(ret_error, -EINVAL,
			 "no user '%s' here; name the user that the manager "
			 "runs as: tcp://USER@HOST:PORT",
			 name);
}

static int parse_url(const char *url, uid_t *ret_manager,
		     struct address *ret_address,
		     struct fairlead_error *ret_error)
{
	const char *rest = url + strlen(SCHEME);
	const char *at = strchr(rest, '@');
	char user[USER_BYTES_MAX + 1] = USER_DEFAULT;
	int result;

	if (at != NULL) {
		size_t size = at - rest;

		if (size == 0 || size > USER_BYTES_MAX)
			return error_set(ret_error, -EINVAL,
					 "'%s': a user has 1 to %d bytes", url,
					 USER_BYTES_MAX);
		memcpy(user, rest, size);
		user[size] = 0;
		rest = at + 1;
	}
	result = address_parse(rest, ret_address, ret_error);
	return result < 0 ? result : find_user(user, ret_manager, ret_error);
}

static int resolve(const struct address *address, struct addrinfo **ret_found,
		   struct fairlead_error *ret_error)
{
	struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICSERV | AI_ADDRCONFIG,
	};
	char port[8];
	int result;

	snprintf(port, sizeof(port), "%u", address->port);
	result = getaddrinfo(address->host, port, &hints, ret_found);
	if (result == 0)
		return 0;
	return error_set(ret_error, -ENXIO, "cannot find the host '%s': %s",
			 address->host, gai_strerror(result));
}

/* To its first address; whether it worked is seen when it is written to. */
static int begin_connect(const struct address *address, int *ret_fd,
			 struct fairlead_error *ret_error)
{
	struct addrinfo *found;
	int one = 1;
	int result = resolve(address, &found, ret_error);
	_auto_(closep) int fd = -1;

	if (result < 0)
		return result;
	fd = socket(found->ai_family,
		    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	}
	if (fd < 0 || (connect(fd, found->ai_addr, found->ai_addrlen) < 0 &&
		       errno != EINPROGRESS))
		result = error_set(ret_error, -errno,
				   "cannot connect to %s port %u: %s",
				   address->host, address->port,
				   strerror(errno));
	freeaddrinfo(found);
	if (result < 0)
		return result;
	*ret_fd = fd;
	fd = -1;
	return 0;
}

int tunnel_open(const char *url, int *ret_fd, struct tunnel **ret_tunnel,
		struct fairlead_error *ret_error)
{
	_auto_(tunnel_closep) struct tunnel *tunnel =
		calloc(1, sizeof(*tunnel));
	const char *socket = secure_getenv("FAIRLEAD_MUNGE_SOCKET");
	struct address address;
	int result;

	if (tunnel != NULL)
		tunnel->url = strdup(url);
	if (tunnel == NULL || tunnel->url == NULL)
		return error_set(ret_error, -ENOMEM, "out of memory");
	result = parse_url(url, &tunnel->manager, &address, ret_error);
	if (result == 0)
		result = munge_open(socket == NULL ? "" : socket,
				    &tunnel->munge, ret_error);
	if (result == 0 && getrandom(tunnel->nonce, sizeof(tunnel->nonce), 0) !=
				   sizeof(tunnel->nonce))
		result = error_set(ret_error, -errno, "no random numbers: %s",
				   strerror(errno));
	if (result == 0)
		result = begin_connect(&address, ret_fd, ret_error);
	if (result == 0)
		*ret_tunnel = take_ptr(tunnel);
	return result;
}

void tunnel_close(struct tunnel *tunnel)
{
	if (tunnel == NULL)
		return;
	munge_close(tunnel->munge);
	free(tunnel->url);
	free(tunnel);
}

static int add_hint(int result, struct fairlead_error *ret_error)
{
	const char *hint = munge_hint(result);
	struct fairlead_error error;

	if (ret_error != NULL && *hint != 0) {
		error = *ret_error;
		error_set(ret_error, result, "%s (%s)", error.text, hint);
	}
	return result;
}

int tunnel_wrap(struct tunnel *tunnel, const char *text, size_t size,
		struct writer *out, struct fairlead_error *ret_error)
{
	_auto_(freep) char *credential = NULL;
	uint8_t payload[ENVELOPE_PAYLOAD_SIZE];
	size_t start = out->size;
	int result;

	envelope_vouch(ENVELOPE_REQUEST, tunnel->nonce, text, size, payload);
	result = munge_seal(tunnel->munge, tunnel->manager, payload,
			    sizeof(payload), &credential, ret_error);
	if (result < 0)
		return add_hint(result, ret_error);
	write_u32(out, 0);
	result = out->result;
	if (result == 0)
		result = envelope_encode(ENVELOPE_REQUEST, credential, text,
					 size, out);
	if (result == 0) {
		frame_length(out->size - start - FRAME_LENGTH_SIZE,
			     out->data + start);
		return 0;
	}
	out->size = start;
	out->result = 0;
	return error_set(ret_error, result, "the request cannot be sent: %s",
			 strerror(-result));
}

/* Without an envelope: a refusal. */
static int read_plain(const struct tunnel *tunnel, const uint8_t *bytes,
		      size_t size, struct fairlead_error *ret_error)
{
	json_auto_t *object = NULL;
	struct client_answer answer;
	int result = client_parse(bytes, size, &object, NULL);

	if (result == 0)
		result = client_answer_open(object, &answer, NULL);
	if (result < 0 || answer.id != 0 || answer.result == 0)
		return error_set(ret_error, -EPROTO,
				 "%s: what listens there does not speak our "
				 "protocol",
				 tunnel->url);
	return error_set(ret_error, -ECONNRESET, "%s refuses: %s%s%s%s",
			 tunnel->url, answer.text,
			 answer.hint == NULL ? "" : " (",
			 answer.hint == NULL ? "" : answer.hint,
			 answer.hint == NULL ? "" : ")");
}

static int check(struct tunnel *tunnel, const struct envelope *answer,
		 struct fairlead_error *ret_error)
{
	_auto_(freep) void *payload = NULL;
	uint8_t nonce[ENVELOPE_NONCE_SIZE];
	size_t size;
	uid_t uid;
	int result = munge_unseal(tunnel->munge, answer->credential, &payload,
				  &size, &uid, ret_error);

	if (result < 0)
		return add_hint(result, ret_error);
	if (uid != tunnel->manager)
		return error_set(ret_error, -EPROTO,
				 "%s: the answer is of uid %u, and the manager "
				 "runs as %u; is its user another one? "
				 "tcp://USER@HOST:PORT",
				 tunnel->url, uid, tunnel->manager);
	result = envelope_check(ENVELOPE_ANSWER, payload, size, answer->text,
				answer->size, nonce, ret_error);
	if (result == 0 && memcmp(nonce, tunnel->nonce, sizeof(nonce)) != 0)
		result = error_set(ret_error, -EKEYREJECTED,
				   "the answer is another connection's");
	return result;
}

int tunnel_unwrap(struct tunnel *tunnel, const uint8_t *bytes, size_t size,
		  struct envelope *ret_answer, struct fairlead_error *ret_error)
{
	struct envelope answer;
	struct fairlead_error error;
	int result =
		envelope_parse(ENVELOPE_ANSWER, bytes, size, &answer, &error);

	if (result == -ENOMEM)
		return error_set(ret_error, result, "out of memory");
	if (result < 0)
		return read_plain(tunnel, bytes, size, ret_error);
	result = check(tunnel, &answer, &error);
	if (result == 0) {
		*ret_answer = answer;
		return 0;
	}
	envelope_fini(&answer);
	return error_set(ret_error, result == -ENOMEM ? result : -EPROTO,
			 "the manager's answer cannot be trusted: %s",
			 error.text);
}
