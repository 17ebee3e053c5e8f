/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a cluster is, between commands: `cluster.json` in its directory. It is
 * replaced as a whole after every process that was started, so that `down`
 * finds what a command that died halfway has left.
 */
#include "emu/cluster/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define STATE_VERSION 1
#define LOCK_STEPS    200
#define LOCK_STEP_NS  10000000 /* 10 ms */

void cluster_path(const struct cluster *cluster, char *path, const char *format,
		  ...)
{
	size_t used;
	va_list args;

	used = (size_t)snprintf(path, CLUSTER_PATH_MAX, "%s/", cluster->dir);
	va_start(args, format);
	if (used < CLUSTER_PATH_MAX)
		vsnprintf(path + used, CLUSTER_PATH_MAX - used, format, args);
	va_end(args);
}

void cluster_default_dir(char *dir, size_t capacity)
{
	const char *named = secure_getenv("FAIRLEAD_CLUSTER");

	if (named != NULL && named[0] == '/')
		snprintf(dir, capacity, "%s", named);
	else if (geteuid() == 0)
		snprintf(dir, capacity, "/var/lib/fairlead-cluster");
	else
		snprintf(dir, capacity, "/tmp/fairlead-cluster-%u", geteuid());
}

void cluster_socket(const struct cluster *cluster, char *path, size_t capacity)
{
	snprintf(path, capacity, "%s/manager/run/manager.sock", cluster->dir);
}

struct cluster_node *cluster_node_find(struct cluster *cluster,
				       const char *name)
{
	for (uint32_t i = 0; i < cluster->node_count; i++)
		if (strcmp(cluster->nodes[i].name, name) == 0)
			return &cluster->nodes[i];
	return NULL;
}

static json_t *process_to_json(const struct cluster_process *process)
{
	return json_pack("{s:I, s:I}", "pid", (json_int_t)process->pid, "start",
			 (json_int_t)process->start);
}

static struct cluster_process process_from_json(const json_t *json)
{
	return (struct cluster_process){
		.pid = (pid_t)json_integer_value(json_object_get(json, "pid")),
		.start = (uint64_t)json_integer_value(
			json_object_get(json, "start")),
	};
}

static json_t *cluster_to_json(const struct cluster *cluster)
{
	json_t *nodes = json_array();

	for (uint32_t i = 0; i < cluster->node_count; i++) {
		const struct cluster_node *node = &cluster->nodes[i];

		json_array_append_new(
			nodes,
			json_pack("{s:s, s:o, s:o, s:o, s:o}", "name",
				  node->name, "holder",
				  process_to_json(&node->holder), "softnic",
				  process_to_json(&node->softnic), "rms",
				  process_to_json(&node->rms), "daemon",
				  process_to_json(&node->daemon)));
	}
	return json_pack("{s:i, s:b, s:b, s:o, s:I, s:I, s:I, s:s, s:s, s:o, "
			 "s:o, s:o}",
			 "version", STATE_VERSION, "user_mode",
			 cluster->is_user_mode, "has_softfm",
			 cluster->has_softfm, "softfm",
			 process_to_json(&cluster->softfm), "nics",
			 (json_int_t)cluster->nic_count, "rails",
			 (json_int_t)cluster->rail_count, "elan",
			 (json_int_t)cluster->elan_count, "generation",
			 cluster->generation, "cgroup", cluster->cgroup,
			 "fabric", process_to_json(&cluster->fabric), "manager",
			 process_to_json(&cluster->manager), "nodes", nodes);
}

int cluster_state_save(const struct cluster *cluster,
		       struct fairlead_error *ret_error)
{
	json_auto_t *state = cluster_to_json(cluster);
	char path[CLUSTER_PATH_MAX], temporary[CLUSTER_PATH_MAX];

	cluster_path(cluster, path, "cluster.json");
	cluster_path(cluster, temporary, "cluster.json.new");
	if (state == NULL ||
	    json_dump_file(state, temporary, JSON_INDENT(2)) < 0 ||
	    rename(temporary, path) < 0)
		return error_set(ret_error, -EIO, "cannot write '%s': %s", path,
				 strerror(errno));
	return 0;
}

static void text_from_json(const json_t *json, const char *name, char *text,
			   size_t capacity)
{
	const char *value = json_string_value(json_object_get(json, name));

	snprintf(text, capacity, "%s", value ? value : "");
}

static void node_from_json(const json_t *json, struct cluster_node *node)
{
	text_from_json(json, "name", node->name, sizeof(node->name));
	node->holder = process_from_json(json_object_get(json, "holder"));
	node->softnic = process_from_json(json_object_get(json, "softnic"));
	node->rms = process_from_json(json_object_get(json, "rms"));
	node->daemon = process_from_json(json_object_get(json, "daemon"));
}

int cluster_state_load(const char *dir, struct cluster *cluster,
		       struct fairlead_error *ret_error)
{
	json_auto_t *state = NULL;
	const json_t *nodes;
	char path[CLUSTER_PATH_MAX];
	json_error_t error;

	snprintf(cluster->dir, sizeof(cluster->dir), "%s", dir);
	cluster_path(cluster, path, "cluster.json");
	if (access(path, F_OK) < 0)
		return error_set(ret_error, -ENOENT,
				 "no emulated cluster is up in '%s'; start "
				 "one with 'fairlead cluster up'",
				 dir);
	state = json_load_file(path, 0, &error);
	nodes = json_object_get(state, "nodes");
	if (json_integer_value(json_object_get(state, "version")) !=
		    STATE_VERSION ||
	    json_array_size(nodes) > CLUSTER_NODES_MAX)
		return error_set(ret_error, -EBADMSG,
				 "'%s' is not the state of a cluster of this "
				 "version: %s",
				 path, error.text);
	cluster->is_user_mode =
		json_is_true(json_object_get(state, "user_mode"));
	cluster->has_softfm =
		json_is_true(json_object_get(state, "has_softfm"));
	cluster->softfm = process_from_json(json_object_get(state, "softfm"));
	cluster->nic_count =
		(uint32_t)json_integer_value(json_object_get(state, "nics"));
	cluster->rail_count =
		(uint32_t)json_integer_value(json_object_get(state, "rails"));
	cluster->elan_count =
		(uint32_t)json_integer_value(json_object_get(state, "elan"));
	text_from_json(state, "generation", cluster->generation,
		       sizeof(cluster->generation));
	text_from_json(state, "cgroup", cluster->cgroup,
		       sizeof(cluster->cgroup));
	cluster->fabric = process_from_json(json_object_get(state, "fabric"));
	cluster->manager = process_from_json(json_object_get(state, "manager"));
	cluster->node_count = (uint32_t)json_array_size(nodes);
	for (uint32_t i = 0; i < cluster->node_count; i++)
		node_from_json(json_array_get(nodes, i), &cluster->nodes[i]);
	return 0;
}

int cluster_lock(struct cluster *cluster, struct fairlead_error *ret_error)
{
	const struct timespec step = { .tv_nsec = LOCK_STEP_NS };
	char path[CLUSTER_PATH_MAX];

	cluster_path(cluster, path, "lock");
	cluster->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (cluster->lock_fd < 0)
		return error_set(ret_error, -errno, "cannot open '%s': %s",
				 path, strerror(errno));
	/* What a command that was killed had just forked lets go soon. */
	for (uint32_t i = 0; flock(cluster->lock_fd, LOCK_EX | LOCK_NB) < 0 &&
			     errno == EWOULDBLOCK && i < LOCK_STEPS;
	     i++)
		nanosleep(&step, NULL);
	if (flock(cluster->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return error_set(ret_error, -EBUSY,
				 "another command is changing the cluster in "
				 "'%s'; wait for it",
				 cluster->dir);
	return 0;
}
