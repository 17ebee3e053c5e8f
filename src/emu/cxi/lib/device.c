/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices: found, opened and closed, and how a request gets to the daemon.
 * The daemon knows a process by its connection, so a device that is closed,
 * or whose process dies, loses its LNIs as with the kernel. A forked child
 * has to open devices of its own.
 */
#include "emu/cxi/lib/device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

static const char *node_dir(void)
{
	const char *dir = secure_getenv(WIRE_DIR_VARIABLE);

	return dir != NULL && dir[0] != '\0' ? dir : WIRE_DIR_DEFAULT;
}

void exchange_fini(struct exchange *exchange)
{
	free(exchange->packet);
	*exchange = (struct exchange){ 0 };
}

static int exchange_on(int socket, const struct wire_request *request,
		       struct exchange *ret_exchange)
{
	struct exchange exchange = { 0 };
	int result;

	*ret_exchange = exchange;
	exchange.packet = malloc(WIRE_REPLY_MAX);
	if (exchange.packet == NULL)
		return -ENOMEM;
	result = peer_call(socket, request, exchange.packet, &exchange.reply,
			   NULL);
	if (result < 0) {
		exchange_fini(&exchange);
		return result == -EUSERS ? result : -EIO;
	}
	*ret_exchange = exchange;
	return exchange.reply.result;
}

int device_exchange(struct device *device, const struct wire_request *request,
		    struct exchange *ret_exchange)
{
	int result;

	pthread_mutex_lock(&device->lock);
	result = exchange_on(device->socket, request, ret_exchange);
	pthread_mutex_unlock(&device->lock);
	return result;
}

int device_call(struct cxil_dev *dev, const struct wire_request *request)
{
	_auto_(exchange_fini) struct exchange exchange = { 0 };

	if (dev == NULL)
		return -EINVAL;
	return device_exchange((struct device *)dev, request, &exchange);
}

int device_read(struct cxil_dev *dev, enum wire_op op, uint32_t id,
		void *ret_body, size_t size)
{
	const struct wire_request request = { .op = op, .id = id };
	_auto_(exchange_fini) struct exchange exchange = { 0 };
	int result;

	if (dev == NULL || ret_body == NULL)
		return -EINVAL;
	result = device_exchange((struct device *)dev, &request, &exchange);
	if (result < 0)
		return result;
	if (exchange.reply.body.left != size)
		return -EIO;
	wire_read(&exchange.reply.body, ret_body, size);
	return result;
}

static int read_devices(struct exchange *exchange, int count,
			struct cxil_device_list **ret_list)
{
	_auto_(freep) struct cxil_device_list *list = NULL;

	if (count > WIRE_DEVICE_MAX)
		return -EIO;
	list = calloc(1, sizeof(*list) + (size_t)count * sizeof(list->info[0]));
	if (list == NULL)
		return -ENOMEM;
	wire_read(&exchange->reply.body, list->info,
		  (size_t)count * sizeof(list->info[0]));
	if (!reader_is_done(&exchange->reply.body))
		return -EIO;
	list->count = (uint32_t)count;
	*ret_list = take_ptr(list);
	return 0;
}

int cxil_get_device_list(struct cxil_device_list **ret_list)
{
	struct wire_request request = { .op = WIRE_GET_DEVICE_LIST };
	_auto_(exchange_fini) struct exchange exchange = { 0 };
	_auto_(closep) int socket = -1;
	int result = 0;

	if (ret_list == NULL)
		return -EINVAL;
	socket = packet_connect(node_dir());
	if (socket >= 0)
		result = exchange_on(socket, &request, &exchange);
	else if (socket != -ENOENT && socket != -ECONNREFUSED)
		result = socket;
	if (result < 0)
		return result;
	/* Without a daemon there are no devices, as without the driver. */
	return read_devices(&exchange, result, ret_list);
}

void cxil_free_device_list(struct cxil_device_list *list)
{
	free(list);
}

static int open_file(uint32_t dev_id)
{
	_auto_(freep) char *path = NULL;
	int fd;

	if (asprintf(&path, "%s/dev/cxi%u", node_dir(), dev_id) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int connect_device(struct device *device, uint32_t dev_id)
{
	struct wire_request request = {
		.op = WIRE_OPEN_DEVICE,
		.id = dev_id,
	};
	_auto_(exchange_fini) struct exchange exchange = { 0 };
	int result;

	device->file = open_file(dev_id);
	if (device->file < 0)
		return device->file;
	device->socket = packet_connect(node_dir());
	if (device->socket < 0)
		return device->socket == -ECONNREFUSED ? -ENOENT
						       : device->socket;
	result = exchange_on(device->socket, &request, &exchange);
	if (result < 0)
		return result;
	wire_read(&exchange.reply.body, &device->dev.info,
		  sizeof(device->dev.info));
	return reader_is_done(&exchange.reply.body) ? 0 : -EIO;
}

static void device_destroy(struct device *device)
{
	if (device == NULL)
		return;
	pthread_mutex_destroy(&device->lock);
	closep(&device->socket);
	closep(&device->file);
	free(device);
}
DEFINE_AUTO(struct device, device_destroy)

int cxil_open_device(uint32_t dev_id, struct cxil_dev **ret_dev)
{
	_auto_(device_destroyp) struct device *device = NULL;
	int result;

	if (ret_dev == NULL)
		return -EINVAL;
	device = calloc(1, sizeof(*device));
	if (device == NULL)
		return -ENOMEM;
	device->socket = -1;
	device->file = -1;
	pthread_mutex_init(&device->lock, NULL);
	result = connect_device(device, dev_id);
	if (result < 0)
		return result;
	*ret_dev = &take_ptr(device)->dev;
	return 0;
}

void cxil_close_device(struct cxil_dev *dev)
{
	device_destroy((struct device *)dev);
}
