/* SPDX-License-Identifier: BSD-3-Clause */
#include "sys/daemon_loop.h"

#include <errno.h>
#include <signal.h>

#include "sys/ready.h"

static void on_signal(uv_signal_t *handle, int number)
{
	struct daemon_loop *loop = handle->data;

	log_info(loop->log, "stopping signal=%d", number);
	ready_tell_stopping();
	uv_stop(&loop->uv);
}

int daemon_loop_init(struct daemon_loop *loop, const struct log *log)
{
	static const int numbers[] = { SIGTERM, SIGINT };
	int result = uv_loop_init(&loop->uv);

	if (result < 0)
		return result;
	loop->log = log;
	for (size_t i = 0; i < 2; i++) {
		uv_signal_init(&loop->uv, &loop->signals[i]);
		loop->signals[i].data = loop;
		uv_signal_start(&loop->signals[i], on_signal, numbers[i]);
	}
	return 0;
}

int daemon_loop_run(struct daemon_loop *loop, int ready_fd)
{
	ready_tell(ready_fd);
	return uv_run(&loop->uv, UV_RUN_DEFAULT) < 0 ? -EIO : 0;
}

static void close_handle(uv_handle_t *handle, void *arg)
{
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

void daemon_loop_fini(struct daemon_loop *loop)
{
	uv_walk(&loop->uv, close_handle, NULL);
	uv_run(&loop->uv, UV_RUN_DEFAULT);
	uv_loop_close(&loop->uv);
}
