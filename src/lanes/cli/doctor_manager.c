/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manager, and through it the nodes. A node reads its clock while it
 * answers: the answer's time is the error of the comparison.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/memory.h"
#include "lanes/cli/doctor.h"
#include "lanes/cli/output.h"
#include "lanes/cli/remote.h"
#include "sys/credential.h"

#define CLOCK_WARN_S 1.0
#define DEBT_WARN_S  3600

static void check_epoch(struct doctor *doctor, const json_t *status)
{
	long long epoch = output_number(status, "epoch");
	const char *warning = output_text(status, "warning");

	if (json_is_true(json_object_get(status, "halted")))
		doctor_say(doctor, DOCTOR_FAIL, "manager",
			   "run 'fairlead manager recover'",
			   "it has met an epoch above its own (%lld), and has "
			   "stopped granting",
			   epoch);
	else if (json_is_true(json_object_get(status, "recovering")))
		doctor_say(doctor, DOCTOR_WARN, "manager",
			   "wait for the nodes, or 'fairlead manager waive' "
			   "those that will not come",
			   "recovering in epoch %lld; awaited: %s", epoch,
			   output_text(status, "awaited"));
	else if (*warning)
		doctor_say(doctor, DOCTOR_FAIL, "manager",
			   "start the nodes' fairleadd; if this manager runs "
			   "on a copy of another's journal, stop it",
			   "epoch %lld: %s", epoch, warning);
	else
		doctor_say(doctor, DOCTOR_OK, "manager", NULL,
			   "at work in epoch %lld, version %s", epoch,
			   output_text(status, "version"));
	if (strcmp(output_text(status, "version"), FAIRLEAD_VERSION) != 0)
		doctor_say(doctor, DOCTOR_WARN, "version",
			   "restart fairleadd after an upgrade",
			   "the manager is version %s, this "
			   "program " FAIRLEAD_VERSION,
			   output_text(status, "version"));
}

static void check_pool(struct doctor *doctor, const char *driver,
		       const char *name, const json_t *pool)
{
	long long free_count = output_number(pool, "free");
	long long quarantined = output_number(pool, "quarantined");
	long long withheld = output_number(pool, "withheld");

	if (free_count == 0)
		doctor_say(doctor, DOCTOR_FAIL, "pool",
			   "'fairlead pools' shows who has it; enlarge it, or "
			   "release what is not needed",
			   "%s %s: nothing is free", driver, name);
	else
		doctor_say(doctor, DOCTOR_OK, "pool", NULL,
			   "%s %s: %lld of %lld are free", driver, name,
			   free_count,
			   (long long)output_number(pool, "universe"));
	if (quarantined > 0)
		doctor_say(doctor, DOCTOR_WARN, "quarantine",
			   "'fairlead quarantine list' says which nodes have "
			   "to confirm",
			   "%s %s: %lld identifiers wait for nodes", driver,
			   name, quarantined);
	if (withheld > 0)
		doctor_say(doctor, DOCTOR_WARN, "withheld identifiers",
			   "'fairlead node list' says where; 'fairlead node "
			   "query NODE objects' shows the holders",
			   "%s %s: %lld are in use on nodes by something that "
			   "is of no lane there",
			   driver, name, withheld);
}

static void check_pools(struct doctor *doctor, const json_t *pools)
{
	const char *driver, *name;
	json_t *of_driver, *pool;

	json_object_foreach ((json_t *)pools, driver, of_driver)
		json_object_foreach (of_driver, name, pool)
			check_pool(doctor, driver, name, pool);
}

static void check_counts(struct doctor *doctor, const json_t *nodes)
{
	long long down = output_number(nodes, "down");
	long long drained = output_number(nodes, "drained");

	if (down > 0)
		doctor_say(doctor, DOCTOR_WARN, "nodes",
			   "'fairlead node list' names them; 'fairlead node "
			   "fence' those that are gone",
			   "%lld are down", down);
	if (drained > 0)
		doctor_say(doctor, DOCTOR_WARN, "nodes",
			   "'fairlead node list' says why; 'fairlead node "
			   "undrain' when it is fixed",
			   "%lld are drained", drained);
	if (down == 0 && drained == 0)
		doctor_say(doctor, DOCTOR_OK, "nodes", NULL, "%lld are up",
			   (long long)output_number(nodes, "up"));
}

/* A fabric manager, and the reservations there. */
static void check_external(struct doctor *doctor, const char *driver,
			   const json_t *external)
{
	const char *connection = output_text(external, "connection");
	const char *why = output_text(external, "why");
	const char *failure = output_text(external, "failure");
	char age[OUTPUT_DURATION_MAX];

	output_duration(output_real(external, "connection_s"), age);
	if (strcmp(connection, "down") == 0)
		doctor_say(doctor, DOCTOR_FAIL, "fabric manager",
			   "start it, and see that this machine reaches its "
			   "URL; until then jobs do without it, or fail where "
			   "they must have it",
			   "%s: no answer for %s: %s", driver, age, why);
	else if (strcmp(connection, "denied") == 0)
		doctor_say(doctor, DOCTOR_FAIL, "fabric manager",
			   "put valid credentials where the driver's settings "
			   "say, then 'fairlead manager reconfigure'",
			   "%s: it refuses the manager's credentials: %s",
			   driver, why);
	else if (strcmp(connection, "unknown") == 0)
		doctor_say(doctor, DOCTOR_SKIP, "fabric manager",
			   "retry in some seconds",
			   "%s: no request has ended yet", driver);
	else
		doctor_say(doctor, DOCTOR_OK, "fabric manager", NULL,
			   "%s: it answers; reservations held: %lld", driver,
			   (long long)output_number(external, "held"));
	if (output_real(external, "oldest_s") < DEBT_WARN_S)
		return;
	output_duration(output_real(external, "oldest_s"), age);
	doctor_say(doctor, DOCTOR_WARN, "external reservations",
		   "the manager goes on trying; where the fabric manager "
		   "refuses, an administrator can delete them there",
		   "%s: %lld of jobs that are over are still to be released, "
		   "that of grant %lld for %s%s%s",
		   driver, (long long)output_number(external, "debts"),
		   (long long)output_number(external, "oldest_grant"), age,
		   *failure ? ": " : "", failure);
}

static void check_externals(struct doctor *doctor, const json_t *externals)
{
	const char *driver;
	json_t *external;

	json_object_foreach ((json_t *)externals, driver, external)
		check_external(doctor, driver, external);
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* The node's clock was read between the two moments. */
static void check_clock(struct doctor *doctor, const char *node,
			const json_t *answer, double begin_s, double end_s)
{
	double theirs_s = output_real(answer, "time_us") / 1e6;
	double off_s = 0;

	if (theirs_s < begin_s)
		off_s = theirs_s - begin_s;
	else if (theirs_s > end_s)
		off_s = theirs_s - end_s;
	if (off_s > CLOCK_WARN_S || off_s < -CLOCK_WARN_S)
		doctor_say(doctor, DOCTOR_WARN, "clock",
			   "set the clocks by NTP: times in events are hard "
			   "to compare otherwise",
			   "the clock of %s is off by %+.1f s", node, off_s);
	else
		doctor_say(doctor, DOCTOR_OK, "clock", NULL,
			   "%s agrees with this machine", node);
}

/* False: no node can be asked. */
static bool query(struct doctor *doctor, struct fairlead *handle,
		  const char *const *names, size_t count)
{
	_auto_(freep) char *nodes = memory_have(hostlist_format(names, count));
	json_auto_t *answers = NULL;
	struct fairlead_error error;
	const json_t *item;
	double begin_s = now_s(), end_s;
	size_t i;

	if (remote_try(handle, "node-query",
		       json_pack("{s:s, s:s}", "nodes", nodes, "what",
				 "objects"),
		       &answers, &error) < 0) {
		doctor_say(doctor, DOCTOR_SKIP, "nodes' clocks and devices",
			   error.code == -EPERM ? "retry as root" : NULL,
			   "the nodes cannot be asked: %s", error.text);
		return false;
	}
	end_s = now_s();
	json_array_foreach (json_object_get(answers, "answers"), i, item) {
		const json_t *answer = json_object_get(item, "answer");
		const char *node = output_text(item, "node");

		if (output_number(item, "result") < 0) {
			doctor_say(doctor, DOCTOR_FAIL, "node",
				   "run 'fairlead doctor' there; the section "
				   "'fabric' may give its endpoint an address "
				   "that the manager cannot reach, or its key "
				   "file lacks the active key",
				   "%s does not answer: %s", node,
				   output_text(item, "error"));
			continue;
		}
		check_clock(doctor, node, answer, begin_s, end_s);
		doctor_check_objects(doctor, node, answer);
	}
	return true;
}

static void say_withheld(struct doctor *doctor, const json_t *node)
{
	const json_t *item;
	size_t i;

	json_array_foreach (json_object_get(node, "lost"), i, item)
		doctor_say(doctor, DOCTOR_WARN, "lost lane",
			   "'fairlead eventlog' says why; release the job: "
			   "what is left there is taken back then",
			   "%s does not have the lane of grant %lld %s any "
			   "more",
			   output_text(node, "name"),
			   (long long)output_number(item, "grant_id"),
			   output_text(item, "key"));
	json_array_foreach (json_object_get(node, "withheld"), i, item) {
		_auto_(freep) char *ids =
			output_ids(json_object_get(item, "ids"));
		bool is_lost = *output_text(item, "device") &&
			       output_number(item, "grant_id") != 0;

		_auto_(freep) char *name =
			memory_format("%s %s/%lld", output_text(node, "name"),
				      output_text(item, "device"),
				      (long long)output_number(item, "object"));

		if (is_lost)
			json_object_set_new(doctor->known_objects, name,
					    json_true());
		doctor_say(doctor, DOCTOR_WARN, "withheld identifiers",
			   is_lost ? "leave it while the job runs; releasing "
				     "the job takes it back"
				   : "'fairlead node query NODE objects' shows "
				     "the holders",
			   "%s uses %s %s: %s", output_text(node, "name"),
			   output_text(item, "interconnect"), ids,
			   output_text(item, "why"));
	}
}

static void check_nodes(struct doctor *doctor, struct fairlead *handle)
{
	const char *names[REMOTE_QUERY_NODES];
	json_auto_t *answer = NULL;
	struct fairlead_error error;
	bool may_query = true;
	const json_t *nodes, *node;
	size_t i, count = 0;

	if (remote_try(handle, "node-list", NULL, &answer, &error) < 0) {
		doctor_say(doctor, DOCTOR_FAIL, "nodes", NULL, "%s",
			   error.text);
		return;
	}
	nodes = json_object_get(answer, "nodes");
	json_array_foreach (nodes, i, node) {
		say_withheld(doctor, node);
		if (strcmp(output_text(node, "state"), "up") == 0)
			names[count++] = output_text(node, "name");
		if (count == REMOTE_QUERY_NODES ||
		    (count > 0 && i + 1 == json_array_size(nodes))) {
			may_query = may_query &&
				    query(doctor, handle, names, count);
			count = 0;
		}
	}
	doctor_check_levels(doctor, nodes);
}

void doctor_check_munge(struct doctor *doctor, const char *munge_socket)
{
	_auto_(munge_closep) struct munge *munge = NULL;
	_auto_(freep) char *credential = NULL;
	_auto_(freep) void *payload = NULL;
	struct fairlead_error error;
	size_t size;
	uid_t uid;
	int result = munge_open(munge_socket, &munge, &error);

	if (result == 0)
		result = munge_seal(munge, geteuid(), "", 0, &credential,
				    &error);
	if (result == 0)
		result = munge_unseal(munge, credential, &payload, &size, &uid,
				      &error);
	if (result < 0)
		doctor_say(doctor, DOCTOR_FAIL, "MUNGE", munge_hint(result),
			   "clients over TCP need it: %s", error.text);
	else
		doctor_say(doctor, DOCTOR_OK, "MUNGE", NULL,
			   "makes and reads credentials of uid %u", uid);
}

void doctor_check_manager(struct doctor *doctor, const char *socket_path)
{
	_auto_(fairlead_closep) struct fairlead *handle = NULL;
	json_auto_t *status = NULL;
	struct fairlead_error error;

	if (fairlead_open(socket_path, &handle, &error) < 0) {
		doctor_say(doctor, DOCTOR_FAIL, "manager",
			   "start fairleadd; its log says why when it does "
			   "not stay",
			   "%s", error.text);
		return;
	}
	if (remote_try(handle, "status", NULL, &status, &error) < 0) {
		doctor_say(doctor, DOCTOR_FAIL, "manager", NULL, "%s",
			   error.text);
		return;
	}
	check_epoch(doctor, status);
	/* It does not serve without one. */
	doctor_say(doctor, DOCTOR_OK, "endpoint", NULL, "manager: it is open");
	check_pools(doctor, json_object_get(status, "pools"));
	check_externals(doctor, json_object_get(status, "external"));
	check_counts(doctor, json_object_get(status, "nodes"));
	check_nodes(doctor, handle);
}
