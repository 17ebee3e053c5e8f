/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wiring of roles and signals. An orderly stop lets the manager finish what is
 * on its way to the disk; the loop ends when the last handle is closed.
 */
#include "lanes/daemon/daemon.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <uv.h>

#include "lanes/config/config.h"
#include "lanes/driver/driver.h"
#include "lanes/manager/manager.h"
#include "lanes/node/role.h"
#include "sys/descriptors.h"
#include "sys/ready.h"

#define SIGNAL_COUNT 3

struct daemon {
	uv_loop_t loop;
	uv_signal_t signals[SIGNAL_COUNT];
	uv_async_t end; /* a role has to end, and says so from within */
	struct log *log;
	struct descriptor_shares shares; /* of each role */
	struct manager *manager;
	struct node_role *node;
	int result;
	struct fairlead_error *error;
};

size_t daemon_driver_count(void)
{
	size_t count = 0;

	while (driver_table[count] != NULL)
		count++;
	return count;
}

static void close_handles(struct daemon *daemon)
{
	for (size_t i = 0; i < SIGNAL_COUNT; i++)
		uv_close((uv_handle_t *)&daemon->signals[i], NULL);
	uv_close((uv_handle_t *)&daemon->end, NULL);
}

static void on_manager_stopped(void *ctx)
{
	close_handles(ctx);
}

/* The second time, all is on its way already. */
static void stop(struct daemon *daemon)
{
	struct manager *manager = daemon->manager;
	struct node_role *node = daemon->node;

	daemon->manager = NULL;
	daemon->node = NULL;
	if (node != NULL)
		node_stop(node);
	if (manager != NULL)
		manager_stop(manager, on_manager_stopped, daemon);
	else if (node != NULL)
		close_handles(daemon);
}

static void on_end(uv_async_t *async)
{
	stop(async->data);
}

static void on_node_ended(void *ctx, const char *why)
{
	struct daemon *daemon = ctx;

	daemon->result = error_set(daemon->error, -EPIPE, "%s", why);
	uv_async_send(&daemon->end);
}

static void on_signal(uv_signal_t *handle, int number)
{
	struct daemon *daemon = handle->data;

	if (number == SIGHUP) {
		if (daemon->manager != NULL)
			manager_reload(daemon->manager);
		if (daemon->node != NULL)
			node_reload(daemon->node);
		return;
	}
	log_info(daemon->log, "stopping signal=%d", number);
	ready_tell_stopping();
	stop(daemon);
}

static void open_handles(struct daemon *daemon)
{
	static const int numbers[SIGNAL_COUNT] = { SIGHUP, SIGTERM, SIGINT };

	for (size_t i = 0; i < SIGNAL_COUNT; i++) {
		uv_signal_init(&daemon->loop, &daemon->signals[i]);
		daemon->signals[i].data = daemon;
		uv_signal_start(&daemon->signals[i], on_signal, numbers[i]);
	}
	uv_async_init(&daemon->loop, &daemon->end, on_end);
	daemon->end.data = daemon;
}

static int load(const struct fairleadd_options *options,
		struct config **ret_config, struct fairlead_error *ret_error)
{
	_auto_(freep) char *errors = NULL;
	int result =
		config_load(options->config_path, options->roles, driver_table,
			    daemon_driver_count(), ret_config, &errors);

	if (result < 0)
		return error_set(ret_error, result, "%s", errors);
	return 0;
}

static int start_manager(struct daemon *daemon,
			 const struct fairleadd_options *from)
{
	const struct manager_options options = {
		.loop = &daemon->loop,
		.config_path = from->config_path,
		.roles = from->roles,
		.drivers = driver_table,
		.driver_count = daemon_driver_count(),
		.shares = &daemon->shares,
		.is_recovery = from->is_recovery,
		.waive = from->waive,
		.log = daemon->log,
	};
	struct config *config;
	int result = load(from, &config, daemon->error);

	return result < 0 ? result
			  : manager_start(&options, config, &daemon->manager,
					  daemon->error);
}

static int start_node(struct daemon *daemon,
		      const struct fairleadd_options *from,
		      const struct guard_handle *guard)
{
	const struct node_options options = {
		.loop = &daemon->loop,
		.config_path = from->config_path,
		.roles = from->roles,
		.drivers = driver_table,
		.driver_count = daemon_driver_count(),
		.guard = guard,
		.shares = &daemon->shares,
		.log = daemon->log,
		.ended = on_node_ended,
		.ended_ctx = daemon,
	};
	struct config *config;
	int result = load(from, &config, daemon->error);

	return result < 0 ? result
			  : node_start(&options, config, &daemon->node,
				       daemon->error);
}

static size_t role_count(unsigned int roles)
{
	return (size_t)__builtin_popcount(roles);
}

static struct descriptor_shares share_descriptors(unsigned int roles)
{
	size_t count = role_count(roles);

	return descriptors_share(descriptors_want(count * DESCRIPTORS_OF_ROLE) /
				 count);
}

void daemon_check_capacity(const struct config *config, unsigned int roles,
			   const struct log *log)
{
	struct descriptor_shares shares;

	if ((roles & CONFIG_ROLE_MANAGER) == 0)
		return;
	shares = share_descriptors(roles);
	manager_limits_check(config, role_count(roles), &shares, log);
}

int daemon_run(const struct fairleadd_options *options,
	       const struct guard_handle *guard, struct log *log,
	       struct fairlead_error *ret_error)
{
	struct daemon daemon = { .log = log, .error = ret_error };

	uv_loop_init(&daemon.loop);
	open_handles(&daemon);
	daemon.shares = share_descriptors(options->roles);
	if (daemon.result == 0 && (options->roles & CONFIG_ROLE_MANAGER) != 0)
		daemon.result = start_manager(&daemon, options);
	if (daemon.result == 0 && (options->roles & CONFIG_ROLE_NODE) != 0)
		daemon.result = start_node(&daemon, options, guard);
	if (daemon.result == 0) {
		log_info(log, "serving version=%s", FAIRLEAD_VERSION);
		ready_tell(options->ready_fd);
	} else if (daemon.manager != NULL) {
		stop(&daemon);
	} else {
		close_handles(&daemon);
	}
	uv_run(&daemon.loop, UV_RUN_DEFAULT);
	uv_loop_close(&daemon.loop);
	return daemon.result;
}
