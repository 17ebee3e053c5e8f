/* SPDX-License-Identifier: BSD-3-Clause */
/* The program's completions: a ring that grows, and a list of failures. */
#include <stdlib.h>
#include <string.h>

#include "link/cq.h"

#define RING_MIN   1024
#define RING_FIRST (1 << 20) /* at most, before it has grown */
#define SPARES_MIN 16 /* failures that there is memory for from the beginning */
#define SPARES_MAX 256

static struct link_cq *of(struct fid_cq *fid)
{
	return (struct link_cq *)fid;
}

static bool ring_grow(struct link_cq *cq)
{
	struct cq_entry *grown = malloc(2 * cq->size * sizeof(*grown));

	if (grown == NULL)
		return false;
	for (size_t i = cq->head; i != cq->tail; i++)
		grown[i & (2 * cq->size - 1)] = cq->ring[i & (cq->size - 1)];
	free(cq->ring);
	cq->ring = grown;
	cq->size *= 2;
	return true;
}

/*
 * It grows when it is half full, so that want of memory for a while loses
 * nothing: it is tried again with each completion.
 */
static bool ring_has_space(struct link_cq *cq)
{
	return cq->tail - cq->head < cq->size / 2 || ring_grow(cq) ||
	       cq->tail - cq->head < cq->size;
}

void cq_add(struct link_cq *cq, const struct cq_entry *entry)
{
	link_lock(&cq->lock);
	if (ring_has_space(cq)) {
		cq->ring[cq->tail & (cq->size - 1)] = *entry;
		set_seen(cq->tail, cq->tail + 1);
	} else {
		set_seen(cq->has_failure, true);
		cq->is_overrun = true;
	}
	link_unlock(&cq->lock);
	if (cq->wait.fd >= 0)
		wait_wake(&cq->wait);
}

/* The lock is held, here and below. */
static bool spare_add(struct link_cq *cq, struct cq_failure *spare)
{
	if (spare == NULL)
		return false;
	spare->next = cq->spares;
	cq->spares = spare;
	cq->spare_count++;
	return true;
}

/* Those that are spared are the last ones that are used. */
static struct cq_failure *failure_take(struct link_cq *cq)
{
	struct cq_failure *failure = NULL;

	if (cq->spare_count <= SPARES_MIN)
		failure = malloc(sizeof(*failure));
	if (failure != NULL || cq->spares == NULL)
		return failure;
	failure = cq->spares;
	cq->spares = failure->next;
	cq->spare_count--;
	return failure;
}

static void failure_put(struct link_cq *cq, struct cq_failure *failure)
{
	if (cq->spare_count == SPARES_MAX)
		free(failure);
	else
		spare_add(cq, failure);
}

void cq_fail(struct link_cq *cq, const struct fi_cq_err_entry *entry)
{
	struct cq_failure *failure;

	link_lock(&cq->lock);
	failure = failure_take(cq);
	set_seen(cq->has_failure, true);
	if (failure == NULL) {
		cq->is_overrun = true;
	} else {
		*failure = (struct cq_failure){ .entry = *entry };
		*cq->failures_end = failure;
		cq->failures_end = &failure->next;
	}
	link_unlock(&cq->lock);
	if (cq->wait.fd >= 0)
		wait_wake(&cq->wait);
}

static size_t entry_size(enum fi_cq_format format)
{
	switch (format) {
	case FI_CQ_FORMAT_CONTEXT:
		return sizeof(struct fi_cq_entry);
	case FI_CQ_FORMAT_MSG:
		return sizeof(struct fi_cq_msg_entry);
	case FI_CQ_FORMAT_DATA:
		return sizeof(struct fi_cq_data_entry);
	default:
		return sizeof(struct fi_cq_tagged_entry);
	}
}

/* Each format begins as the next larger one does. */
static size_t take(struct link_cq *cq, uint8_t *to, size_t count,
		   fi_addr_t *sources)
{
	size_t size = entry_size(cq->format), taken = 0;

	for (; taken < count && cq->head + taken != cq->tail; taken++) {
		const struct cq_entry *entry =
			&cq->ring[(cq->head + taken) & (cq->size - 1)];
		memcpy(to + taken * size, &entry->tagged, size);
		if (sources != NULL)
			sources[taken] = entry->source;
	}
	set_seen(cq->head, cq->head + taken);
	return taken;
}

static bool is_empty(const struct link_cq *cq)
{
	return peek_at(cq->head) == peek_at(cq->tail);
}

static ssize_t cq_readfrom(struct fid_cq *fid, void *buf, size_t count,
			   fi_addr_t *sources)
{
	struct link_cq *cq = of(fid);
	size_t taken;

	if (is_empty(cq))
		endpoints_progress(&cq->endpoints);
	if (is_empty(cq) && !peek_at(cq->has_failure))
		return -FI_EAGAIN;
	link_lock(&cq->lock);
	if (cq->has_failure) {
		link_unlock(&cq->lock);
		return -FI_EAVAIL;
	}
	taken = take(cq, buf, count, sources);
	link_unlock(&cq->lock);
	return taken > 0 || count == 0 ? (ssize_t)taken : -FI_EAGAIN;
}

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	return cq_readfrom(fid, buf, count, NULL);
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *entry,
			  uint64_t flags)
{
	struct link_cq *cq = of(fid);
	struct cq_failure *failure;

	link_lock(&cq->lock);
	failure = cq->failures;
	if (failure != NULL) {
		cq->failures = failure->next;
		if (cq->failures == NULL)
			cq->failures_end = &cq->failures;
	} else if (cq->is_overrun) {
		cq->is_overrun = false;
		memcpy(entry, &(struct fi_cq_err_entry){ .err = FI_EOVERRUN },
		       FAILURE_SIZE);
	} else {
		entry = NULL;
	}
	set_seen(cq->has_failure, cq->failures != NULL || cq->is_overrun);
	if (failure != NULL) {
		/* The caller's buffer for data of the error; we have none. */
		failure->entry.err_data = entry->err_data;
		failure->entry.err_data_size = 0;
		memcpy(entry, &failure->entry, FAILURE_SIZE);
		failure_put(cq, failure);
	}
	link_unlock(&cq->lock);
	return entry == NULL ? -FI_EAGAIN : 1;
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count,
			    fi_addr_t *sources, const void *condition,
			    int timeout_ms)
{
	struct link_cq *cq = of(fid);
	struct patience patience;

	patience_init(&patience, timeout_ms);
	do {
		ssize_t result = cq_readfrom(fid, buf, count, sources);
		if (result != -FI_EAGAIN)
			return result;
		if (__atomic_exchange_n(&cq->is_signalled, false,
					__ATOMIC_ACQ_REL))
			return -FI_EAGAIN;
	} while (patience_lasts(&patience));
	return -FI_EAGAIN;
}

static ssize_t cq_sread(struct fid_cq *fid, void *buf, size_t count,
			const void *condition, int timeout_ms)
{
	return cq_sreadfrom(fid, buf, count, NULL, condition, timeout_ms);
}

static int cq_signal(struct fid_cq *fid)
{
	set_seen(of(fid)->is_signalled, true);
	wait_wake(&of(fid)->wait);
	return 0;
}

static const char *cq_strerror(struct fid_cq *fid, int prov_errno,
			       const void *data, char *buf, size_t size)
{
	return link_strerror(prov_errno, buf, size);
}

static bool has_news(struct link_cq *cq)
{
	if (is_empty(cq) && !peek_at(cq->has_failure))
		endpoints_progress(&cq->endpoints);
	return !is_empty(cq) || peek_at(cq->has_failure);
}

int cq_trywait(struct link_cq *cq)
{
	bool is_signalled =
		__atomic_exchange_n(&cq->is_signalled, false, __ATOMIC_ACQ_REL);

	return wait_try(&cq->wait, has_news(cq) || is_signalled);
}

static int cq_control(struct fid *fid, int command, void *arg)
{
	return wait_control(&((struct link_cq *)fid)->wait, command, arg);
}

static void failures_free(struct cq_failure *list)
{
	for (struct cq_failure *next; list != NULL; list = next) {
		next = list->next;
		free(list);
	}
}

static void cq_free(struct link_cq *cq)
{
	failures_free(cq->failures);
	failures_free(cq->spares);
	free(cq->ring);
	free(cq);
}

static int cq_close(struct fid *fid)
{
	struct link_cq *cq = (struct link_cq *)fid;

	if (peek_at(cq->endpoints.uses) > 0)
		return -FI_EBUSY;
	wait_close(&cq->wait);
	domain_hold(cq->domain, -1);
	link_lock_fini(&cq->lock);
	endpoints_fini(&cq->endpoints);
	cq_free(cq);
	return 0;
}

static struct fi_ops cq_fid_ops = {
	.size = sizeof(cq_fid_ops),
	.close = cq_close,
	.bind = no_bind,
	.control = cq_control,
	.ops_open = no_ops_open,
};

static struct fi_ops_cq cq_ops = {
	.size = sizeof(cq_ops),
	.read = cq_read,
	.readfrom = cq_readfrom,
	.readerr = cq_readerr,
	.sread = cq_sread,
	.sreadfrom = cq_sreadfrom,
	.signal = cq_signal,
	.strerror = cq_strerror,
};

static int cq_fill(struct link_cq *cq)
{
	cq->ring = malloc(cq->size * sizeof(*cq->ring));
	if (cq->ring == NULL)
		return -FI_ENOMEM;
	while (cq->spare_count < SPARES_MIN)
		if (!spare_add(cq, malloc(sizeof(*cq->spares))))
			return -FI_ENOMEM;
	return 0;
}

int link_cq_open(struct fid_domain *domain_fid, struct fi_cq_attr *attr,
		 struct fid_cq **ret_cq, void *context)
{
	struct link_domain *domain = (struct link_domain *)domain_fid;
	struct link_cq *cq;
	int result;

	if ((attr->flags & ~FI_AFFINITY) != 0)
		return -FI_EINVAL;
	cq = calloc(1, sizeof(*cq));
	if (cq == NULL)
		return -FI_ENOMEM;
	cq->size = RING_MIN;
	while (cq->size < attr->size && cq->size < RING_FIRST)
		cq->size *= 2;
	result = cq_fill(cq);
	if (result == 0)
		result = wait_open(&cq->wait, attr->wait_obj);
	if (result != 0) {
		cq_free(cq);
		return result;
	}
	cq->fid.fid.fclass = FI_CLASS_CQ;
	cq->fid.fid.context = context;
	cq->fid.fid.ops = &cq_fid_ops;
	cq->fid.ops = &cq_ops;
	cq->domain = domain;
	cq->format = attr->format == FI_CQ_FORMAT_UNSPEC ? FI_CQ_FORMAT_TAGGED
							 : attr->format;
	cq->failures_end = &cq->failures;
	link_lock_init(&cq->lock, domain->is_threaded);
	endpoints_init(&cq->endpoints, domain);
	domain_hold(domain, 1);
	*ret_cq = &cq->fid;
	return 0;
}
