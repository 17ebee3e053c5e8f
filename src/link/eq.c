/* SPDX-License-Identifier: BSD-3-Clause */
/* Control events, in order: those that the program writes. */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#include "link/eq.h"
#include "link/domain.h"
#include "link/wait.h"

struct link_event {
	struct link_event *prev, *next;
	uint32_t kind;
	size_t size;
	uint8_t bytes[];
};

struct link_eq {
	struct fid_eq fid;
	struct link_fabric_object *fabric;
	bool may_write; /* nobody else does */
	int uses;       /* objects that are bound to it */
	int fd;         /* readable while there are events; -1: not wanted */
	pthread_mutex_t mutex;
	pthread_cond_t came;
	struct link_event *events;
	size_t count;
};

static struct link_eq *of(struct fid_eq *fid)
{
	return (struct link_eq *)fid;
}

/* The lock is held. */
static void event_remove(struct link_eq *eq, struct link_event *event)
{
	uint64_t count;

	DL_DELETE(eq->events, event);
	eq->count--;
	free(event);
	if (eq->events == NULL && eq->fd >= 0 &&
	    read(eq->fd, &count, sizeof(count)) != sizeof(count))
		link_warn(EQ, "a descriptor that cannot be read\n");
}

static int event_add(struct link_eq *eq, uint32_t kind, const void *bytes,
		     size_t size)
{
	struct link_event *event = malloc(sizeof(*event) + size);
	const uint64_t one = 1;
	int result = 0;

	pthread_mutex_lock(&eq->mutex);
	if (event == NULL) {
		result = -FI_ENOMEM;
	} else if (eq->count == LINK_EVENTS_MAX) {
		free(event);
		result = -FI_EAGAIN;
	} else {
		event->kind = kind;
		event->size = size;
		memcpy(event->bytes, bytes, size);
		if (eq->events == NULL && eq->fd >= 0 &&
		    write(eq->fd, &one, sizeof(one)) != sizeof(one))
			link_warn(EQ, "a descriptor that cannot be written\n");
		DL_APPEND(eq->events, event);
		eq->count++;
		pthread_cond_signal(&eq->came);
	}
	pthread_mutex_unlock(&eq->mutex);
	return result;
}

void eq_hold(struct fid_eq *fid, int count)
{
	__atomic_add_fetch(&of(fid)->uses, count, __ATOMIC_ACQ_REL);
}

/* --- what libfabric calls --- */

/* The lock is held. */
static ssize_t event_take(struct link_eq *eq, uint32_t *kind, void *buf,
			  size_t size, uint64_t flags)
{
	struct link_event *event = eq->events;
	ssize_t result;

	if (event == NULL)
		return -FI_EAGAIN;
	if (event->size > size)
		return -FI_ETOOSMALL;
	memcpy(buf, event->bytes, event->size);
	*kind = event->kind;
	result = (ssize_t)event->size;
	if ((flags & FI_PEEK) == 0)
		event_remove(eq, event);
	return result;
}

static ssize_t eq_read(struct fid_eq *fid, uint32_t *kind, void *buf,
		       size_t size, uint64_t flags)
{
	struct link_eq *eq = of(fid);
	ssize_t result;

	if ((flags & ~FI_PEEK) != 0)
		return -FI_EINVAL;
	pthread_mutex_lock(&eq->mutex);
	result = event_take(eq, kind, buf, size, flags);
	pthread_mutex_unlock(&eq->mutex);
	return result;
}

/* No operation of ours ends with an event, so none has failed. */
static ssize_t eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *entry,
			  uint64_t flags)
{
	return (flags & ~FI_PEEK) != 0 ? -FI_EINVAL : -FI_EAGAIN;
}

static ssize_t eq_write(struct fid_eq *fid, uint32_t kind, const void *buf,
			size_t size, uint64_t flags)
{
	int result;

	if (!of(fid)->may_write || flags != 0 || size > LINK_EVENT_SIZE)
		return -FI_EINVAL;
	result = event_add(of(fid), kind, buf, size);
	return result != 0 ? result : (ssize_t)size;
}

static struct timespec time_in(int timeout_ms)
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += timeout_ms / 1000;
	end.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
	if (end.tv_nsec >= 1000000000) {
		end.tv_nsec -= 1000000000;
		end.tv_sec++;
	}
	return end;
}

static ssize_t eq_sread(struct fid_eq *fid, uint32_t *kind, void *buf,
			size_t size, int timeout_ms, uint64_t flags)
{
	struct link_eq *eq = of(fid);
	struct timespec end = time_in(timeout_ms < 0 ? 0 : timeout_ms);
	ssize_t result;
	int waited = 0;

	if ((flags & ~FI_PEEK) != 0)
		return -FI_EINVAL;
	pthread_mutex_lock(&eq->mutex);
	while (eq->events == NULL && waited == 0)
		waited = timeout_ms < 0
				 ? pthread_cond_wait(&eq->came, &eq->mutex)
				 : pthread_cond_timedwait(&eq->came, &eq->mutex,
							  &end);
	result = event_take(eq, kind, buf, size, flags);
	/* What is left there is for others who wait. */
	if (eq->events != NULL)
		pthread_cond_signal(&eq->came);
	pthread_mutex_unlock(&eq->mutex);
	return result;
}

static const char *eq_strerror(struct fid_eq *fid, int prov_errno,
			       const void *data, char *buf, size_t size)
{
	return link_strerror(prov_errno, buf, size);
}

static struct fi_ops_eq eq_ops = {
	.size = sizeof(eq_ops),
	.read = eq_read,
	.readerr = eq_readerr,
	.write = eq_write,
	.sread = eq_sread,
	.strerror = eq_strerror,
};

int eq_trywait(struct fid *fid)
{
	struct link_eq *eq = (struct link_eq *)fid;
	bool is_empty;

	pthread_mutex_lock(&eq->mutex);
	is_empty = eq->events == NULL;
	pthread_mutex_unlock(&eq->mutex);
	return is_empty ? 0 : -FI_EAGAIN;
}

static int eq_control(struct fid *fid, int command, void *arg)
{
	struct link_eq *eq = (struct link_eq *)fid;

	if (command == FI_GETWAITOBJ) {
		*(enum fi_wait_obj *)arg =
			eq->fd >= 0 ? FI_WAIT_FD : FI_WAIT_NONE;
		return 0;
	}
	if (command != FI_GETWAIT || eq->fd < 0)
		return -FI_ENOSYS;
	*(int *)arg = eq->fd;
	return 0;
}

static int eq_close(struct fid *fid)
{
	struct link_eq *eq = (struct link_eq *)fid;
	struct link_event *event, *next;

	if (peek_at(eq->uses) > 0)
		return -FI_EBUSY;
	DL_FOREACH_SAFE (eq->events, event, next)
		free(event);
	if (eq->fd >= 0)
		close(eq->fd);
	pthread_mutex_destroy(&eq->mutex);
	pthread_cond_destroy(&eq->came);
	fabric_hold(eq->fabric, -1);
	free(eq);
	return 0;
}

static struct fi_ops eq_fid_ops = {
	.size = sizeof(eq_fid_ops),
	.close = eq_close,
	.bind = no_bind,
	.control = eq_control,
	.ops_open = no_ops_open,
};

int link_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr,
		 struct fid_eq **ret_eq, void *context)
{
	struct link_eq *eq;
	pthread_condattr_t clock;

	if ((attr->flags & ~(FI_WRITE | FI_AFFINITY)) != 0)
		return -FI_EINVAL;
	if (attr->wait_obj > FI_WAIT_FD && attr->wait_obj != FI_WAIT_YIELD)
		return -FI_ENOSYS;
	if (attr->wait_obj == FI_WAIT_SET)
		return -FI_ENOSYS;
	eq = calloc(1, sizeof(*eq));
	if (eq == NULL)
		return -FI_ENOMEM;
	eq->fd = attr->wait_obj == FI_WAIT_FD
			 ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)
			 : -1;
	if (attr->wait_obj == FI_WAIT_FD && eq->fd < 0) {
		free(eq);
		return -FI_EMFILE;
	}
	pthread_mutex_init(&eq->mutex, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&eq->came, &clock);
	pthread_condattr_destroy(&clock);
	eq->fid.fid.fclass = FI_CLASS_EQ;
	eq->fid.fid.context = context;
	eq->fid.fid.ops = &eq_fid_ops;
	eq->fid.ops = &eq_ops;
	eq->may_write = (attr->flags & FI_WRITE) != 0;
	eq->fabric = (struct link_fabric_object *)fabric;
	fabric_hold(eq->fabric, 1);
	*ret_eq = &eq->fid;
	return 0;
}
