/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The endpoints of this machine's roles. A daemon that runs has opened its own,
 * or says why not. Where none runs an endpoint is opened here, as that daemon
 * would, and closed again: libscoll is loaded for it.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/address.h"
#include "base/cleanup.h"
#include "lanes/cli/doctor.h"
#include "lanes/cli/output.h"
#include "lanes/endpoint/environment.h"
#include "lanes/endpoint/place.h"
#include "scoll.h"

#define CHECK   "endpoint"
#define LIBRARY "libscoll.so.0"
#define MEND    "mend the section 'fabric' of the configuration"

typedef int init_fn(const struct scoll_params *params, scoll_t **ret_scoll,
		    struct fairlead_error *ret_error);
typedef void fini_fn(scoll_t *scoll);

static void names_free(struct addrinfo **names)
{
	if (*names != NULL)
		freeaddrinfo(*names);
}

/* From where this machine reaches the manager; nothing is sent. "": unknown. */
static void local_address(const char *manager, char ret_host[INET6_ADDRSTRLEN])
{
	_auto_(names_free) struct addrinfo *names = NULL;
	const struct addrinfo hints = { .ai_socktype = SOCK_DGRAM };
	struct sockaddr_storage local = { 0 };
	socklen_t size = sizeof(local);
	_auto_(closep) int fd = -1;
	struct address address;

	*ret_host = '\0';
	if (address_parse(manager, &address, NULL) < 0 ||
	    getaddrinfo(address.host, "1", &hints, &names) != 0)
		return;
	fd = socket(names->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, names->ai_addr, names->ai_addrlen) < 0 ||
	    getsockname(fd, (struct sockaddr *)&local, &size) < 0)
		return;
	(void)getnameinfo((struct sockaddr *)&local, size, ret_host,
			  INET6_ADDRSTRLEN, NULL, 0, NI_NUMERICHOST);
}

static int place_find(const struct config *config, bool is_manager,
		      struct endpoint_place *ret_place,
		      struct fairlead_error *ret_error)
{
	char local[INET6_ADDRSTRLEN];
	struct address bound = { 0 }, named = { 0 };
	struct place_terms terms = {
		.listen = config->fabric.listen,
		.bound = local,
		.name = "",
	};

	if (is_manager) {
		address_parse(config->manager.listen, &bound, NULL);
		address_parse(config->node.manager, &named, NULL);
		terms.listen = config_fabric_of_manager(&config->fabric);
		terms.bound = bound.host;
		terms.name = named.host;
	} else {
		local_address(config->node.manager, local);
	}
	if (*terms.listen == '\0' && *terms.bound == '\0')
		return error_set(ret_error, -EHOSTUNREACH,
				 "it is at the address from which the manager "
				 "'%s' is reached, and that is not known",
				 config->node.manager);
	return place_choose(&terms, ret_place, ret_error);
}

static int try_open(const struct config *config,
		    const struct endpoint_place *place,
		    struct fairlead_error *ret_error)
{
	char port[8];
	const struct scoll_params params = {
		.size = sizeof(params),
		.nid = 1,
		.provider = config->fabric.provider,
		.node = place->host,
		.service = place->port != 0 ? port : NULL,
		.tree = SCOLL_TREE_KNOMIAL(4),
		.discovery = SCOLL_DISCOVERY_GIVEN,
	};
	struct fairlead_error error;
	void *library = NULL;
	init_fn *init = NULL;
	fini_fn *fini = NULL;
	scoll_t *scoll;
	int result;

	snprintf(port, sizeof(port), "%u", place->port);
	/* Never closed: what it has brought cannot be unloaded. */
	if (environment_prepare(config->fabric.provider) == 0)
		library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (library != NULL) {
		init = (init_fn *)dlsym(library, "scoll_init");
		fini = (fini_fn *)dlsym(library, "scoll_fini");
	}
	if (init == NULL || fini == NULL)
		return error_set(ret_error, -ELIBACC,
				 "cannot load " LIBRARY ", or libfabric: %s",
				 dlerror());
	result = init(&params, &scoll, &error);
	if (result == -ENODATA)
		return error_set(ret_error, result,
				 "libfabric has no provider '%s' that can do "
				 "messages, tags and RMA at %s",
				 config->fabric.provider, place->host);
	if (result < 0)
		return error_set(ret_error, result,
				 "provider '%s' at %s%s%s: %s",
				 config->fabric.provider, place->host,
				 place->port != 0 ? ", port " : "",
				 place->port != 0 ? port : "", error.text);
	fini(scoll);
	return 0;
}

static int become(const struct passwd *user, struct fairlead_error *ret_error)
{
	if (initgroups(user->pw_name, user->pw_gid) == 0 &&
	    setresgid(user->pw_gid, user->pw_gid, user->pw_gid) == 0 &&
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid) == 0)
		return 0;
	return error_set(ret_error, -errno, "become user '%s': %s",
			 user->pw_name, strerror(errno));
}

/* As the daemon, which has given up privileges before it opens its own. */
static int try_open_as(const struct passwd *user, const struct config *config,
		       const struct endpoint_place *place,
		       struct fairlead_error *ret_error)
{
	struct fairlead_error error = { 0 };
	_auto_(closep) int answer = -1;
	int ends[2];
	ssize_t size;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set(ret_error, -errno, "%s", strerror(errno));
	answer = ends[0];
	pid = fork();
	if (pid == 0) {
		error.code = become(user, &error);
		if (error.code == 0)
			error.code = try_open(config, place, &error);
		size = write(ends[1], &error, sizeof(error));
		_exit(size == (ssize_t)sizeof(error) ? 0 : 1);
	}
	close(ends[1]);
	if (pid < 0)
		return error_set(ret_error, -errno, "%s", strerror(errno));
	size = read(answer, &error, sizeof(error));
	waitpid(pid, NULL, 0);
	if (size != (ssize_t)sizeof(error))
		return error_set(ret_error, -EPIPE,
				 "who tried it as user '%s' has died",
				 user->pw_name);
	if (error.code < 0)
		*ret_error = error;
	return error.code;
}

static const char *advice_of(int result)
{
	switch (result) {
	case -ELIBACC:
		return "install libfabric (libfabric1), and the libscoll that "
		       "came with fairleadd";
	case -ENODATA:
		return "'fi_info -l' lists the providers that there are; set "
		       "'provider' in the section 'fabric'";
	case -EADDRINUSE:
		return "'ss -tlnp' names who listens there; end it, or set "
		       "another port in the section 'fabric'";
	case -EMFILE:
	case -ENFILE:
		return "raise the limit of descriptors ('ulimit -n'), and ask "
		       "again";
	case -EACCES:
	case -EPERM:
		return "ports below 1024 are root's: set another one in the "
		       "section 'fabric', or let the user use what the "
		       "provider needs";
	case -EHOSTUNREACH:
		return "set 'listen' in the section 'fabric', or mend "
		       "'manager' in the section 'node'";
	default:
		return MEND;
	}
}

void doctor_try_endpoint(struct doctor *doctor, bool is_manager)
{
	const char *role = is_manager ? "manager" : "node";
	const char *as = geteuid() == 0 ? "root" : "yourself";
	const struct passwd *user = NULL;
	struct fairlead_error error;
	struct endpoint_place place;
	char port[8];
	int result;

	if (doctor->config == NULL)
		return;
	result = place_find(doctor->config, is_manager, &place, &error);
	if (geteuid() == 0)
		user = getpwnam(is_manager ? doctor->config->manager.user
					   : doctor->config->node.user);
	if (result == 0)
		result = user != NULL && user->pw_uid != 0
				 ? try_open_as(user, doctor->config, &place,
					       &error)
				 : try_open(doctor->config, &place, &error);
	if (user != NULL)
		as = user->pw_name;
	snprintf(port, sizeof(port), "%u", result < 0 ? 0 : place.port);
	if (result < 0)
		doctor_say(doctor, DOCTOR_FAIL, CHECK, advice_of(result),
			   "%s: %s (tried as %s)", role, error.text, as);
	else
		doctor_say(doctor, DOCTOR_OK, CHECK, NULL,
			   "%s: provider '%s' opens at %s%s%s (tried as %s)",
			   role, doctor->config->fabric.provider, place.host,
			   place.port != 0 ? ", port " : "",
			   place.port != 0 ? port : "", as);
}

void doctor_check_endpoint(struct doctor *doctor, const json_t *status)
{
	const json_t *endpoint = json_object_get(status, "endpoint");
	const char *text = output_text(endpoint, "text");

	if (!endpoint)
		doctor_say(doctor, DOCTOR_SKIP, CHECK, NULL,
			   "node: its daemon is older, and does not say");
	else if (json_is_true(json_object_get(endpoint, "open")))
		doctor_say(doctor, DOCTOR_OK, CHECK, NULL, "node: %s", text);
	else if (*text == '\0')
		doctor_say(doctor, DOCTOR_WARN, CHECK,
			   "see to the link to the manager",
			   "node: it is opened when the manager is reached");
	else
		doctor_say(doctor, DOCTOR_FAIL, CHECK,
			   MEND "; it is tried again when the manager is "
				"reached again",
			   "node: %s", text);
}
