/* SPDX-License-Identifier: BSD-3-Clause */
/* Completions, in one order with failures; and addresses. */
#include <stdlib.h>
#include <string.h>

#include "link/test/core/testcore.h"

/* --- completion queue --- */

static void add(struct tc_cq *cq, const struct tc_completion *what)
{
	struct tc_completion *new;

	if (cq == NULL)
		return;
	new = malloc(sizeof(*new));
	if (new == NULL)
		abort();
	*new = *what;
	new->next = NULL;
	new->due = cq->reads + tc_delay();
	*cq->end = new;
	cq->end = &new->next;
}

void tc_cq_fail(struct tc_cq *cq, const struct fi_cq_err_entry *entry)
{
	add(cq,
	    &(struct tc_completion){ .is_failure = true, .failure = *entry });
}

void tc_cq_add(struct tc_cq *cq, const struct fi_cq_tagged_entry *entry,
	       fi_addr_t source)
{
	int error = cq == NULL ? 0 : tc_fault(cq->domain, "complete");

	if (error == 0) {
		add(cq, &(struct tc_completion){ .entry = *entry,
						 .source = source });
		return;
	}
	tc_cq_fail(cq,
		   &(struct fi_cq_err_entry){ .op_context = entry->op_context,
					      .flags = entry->flags,
					      .tag = entry->tag,
					      .err = -error,
					      .prov_errno = error });
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

static struct tc_completion *first_due(struct tc_cq *cq)
{
	return cq->first != NULL && cq->first->due <= cq->reads ? cq->first
								: NULL;
}

static void take_first(struct tc_cq *cq)
{
	struct tc_completion *first = cq->first;

	cq->first = first->next;
	if (cq->first == NULL)
		cq->end = &cq->first;
	free(first);
}

static void progress(struct tc_cq *cq)
{
	struct tc_ep *ep;

	for (ep = cq->domain->endpoints; ep != NULL; ep = ep->next)
		if (ep->send_cq == cq || ep->receive_cq == cq)
			tc_progress(ep);
}

static ssize_t cq_readfrom(struct fid_cq *fid, void *buf, size_t count,
			   fi_addr_t *sources)
{
	struct tc_cq *cq = (struct tc_cq *)fid;
	size_t size = entry_size(cq->format), taken = 0;
	struct tc_completion *first;

	cq->reads++;
	progress(cq);
	first = first_due(cq);
	if (first == NULL)
		return -FI_EAGAIN;
	if (first->is_failure)
		return -FI_EAVAIL;
	for (; taken < count && (first = first_due(cq)) != NULL &&
	       !first->is_failure;
	     taken++) {
		memcpy((uint8_t *)buf + taken * size, &first->entry, size);
		if (sources != NULL)
			sources[taken] = first->source;
		take_first(cq);
	}
	return (ssize_t)taken;
}

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	return cq_readfrom(fid, buf, count, NULL);
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *entry,
			  uint64_t flags)
{
	struct tc_cq *cq = (struct tc_cq *)fid;
	struct tc_completion *first = first_due(cq);

	if (first == NULL || !first->is_failure)
		return -FI_EAGAIN;
	*entry = first->failure;
	take_first(cq);
	return 1;
}

static ssize_t no_sread(struct fid_cq *cq, void *buf, size_t count,
			const void *condition, int timeout)
{
	return -FI_ENOSYS;
}

static ssize_t no_sreadfrom(struct fid_cq *cq, void *buf, size_t count,
			    fi_addr_t *sources, const void *condition,
			    int timeout)
{
	return -FI_ENOSYS;
}

static int no_signal(struct fid_cq *cq)
{
	return -FI_ENOSYS;
}

static const char *cq_strerror(struct fid_cq *cq, int error, const void *data,
			       char *buf, size_t size)
{
	return fi_strerror(error < 0 ? -error : error);
}

static struct fi_ops_cq cq_ops = {
	.size = sizeof(cq_ops),
	.read = cq_read,
	.readfrom = cq_readfrom,
	.readerr = cq_readerr,
	.sread = no_sread,
	.sreadfrom = no_sreadfrom,
	.signal = no_signal,
	.strerror = cq_strerror,
};

static int cq_close(struct fid *fid)
{
	struct tc_cq *cq = (struct tc_cq *)fid;

	if (cq->uses > 0)
		return -FI_EBUSY;
	while (cq->first != NULL)
		take_first(cq);
	free(cq);
	return 0;
}

static struct fi_ops cq_fid_ops = {
	.size = sizeof(cq_fid_ops),
	.close = cq_close,
	.bind = tc_no_bind,
	.control = tc_no_control,
	.ops_open = tc_no_ops,
};

int tc_cq_open(struct fid_domain *fid, struct fi_cq_attr *attr,
	       struct fid_cq **ret_cq, void *context)
{
	struct tc_domain *domain = (struct tc_domain *)fid;
	struct tc_cq *cq;
	int result = tc_fault(domain, "cq");

	if (result == 0)
		result = tc_fault(domain, "open");
	if (result != 0)
		return result;
	if (attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC)
		return -FI_ENOSYS;
	cq = calloc(1, sizeof(*cq));
	if (cq == NULL)
		return -FI_ENOMEM;
	cq->fid.fid.fclass = FI_CLASS_CQ;
	cq->fid.fid.context = context;
	cq->fid.fid.ops = &cq_fid_ops;
	cq->fid.ops = &cq_ops;
	cq->domain = domain;
	cq->format = attr->format;
	cq->end = &cq->first;
	*ret_cq = &cq->fid;
	return 0;
}

/* --- address vector --- */

uint64_t tc_av_number(const struct tc_av *av, fi_addr_t address)
{
	return address < av->count ? av->numbers[address] : 0;
}

fi_addr_t tc_av_find(const struct tc_av *av, uint64_t number)
{
	for (size_t i = 0; i < av->count; i++)
		if (av->numbers[i] == number)
			return i;
	return FI_ADDR_NOTAVAIL;
}

static int av_insert(struct fid_av *fid, const void *addresses, size_t count,
		     fi_addr_t *ret_addresses, uint64_t flags, void *context)
{
	struct tc_av *av = (struct tc_av *)fid;
	int inserted = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t *grown = NULL;
		if (tc_fault(av->domain, "insert") == 0)
			grown = realloc(av->numbers,
					(av->count + 1) * sizeof(*grown));
		ret_addresses[i] = FI_ADDR_NOTAVAIL;
		if (grown == NULL)
			continue;
		av->numbers = grown;
		memcpy(&grown[av->count],
		       (const uint8_t *)addresses + i * sizeof(*grown),
		       sizeof(*grown));
		ret_addresses[i] = av->count++;
		inserted++;
	}
	return inserted;
}

static int av_remove(struct fid_av *fid, fi_addr_t *addresses, size_t count,
		     uint64_t flags)
{
	struct tc_av *av = (struct tc_av *)fid;

	for (size_t i = 0; i < count; i++) {
		if (tc_av_number(av, addresses[i]) == 0)
			return -FI_EINVAL;
		av->numbers[addresses[i]] = 0;
	}
	return 0;
}

static int av_lookup(struct fid_av *fid, fi_addr_t address, void *bytes,
		     size_t *size)
{
	uint64_t number = tc_av_number((struct tc_av *)fid, address);

	if (number == 0)
		return -FI_EINVAL;
	memcpy(bytes, &number, *size < sizeof(number) ? *size : sizeof(number));
	*size = sizeof(number);
	return 0;
}

static int no_service(struct fid_av *av, const char *node, const char *service,
		      fi_addr_t *address, uint64_t flags, void *context)
{
	return -FI_ENOSYS;
}

static int no_symbols(struct fid_av *av, const char *node, size_t nodes,
		      const char *service, size_t services,
		      fi_addr_t *addresses, uint64_t flags, void *context)
{
	return -FI_ENOSYS;
}

static const char *av_straddr(struct fid_av *av, const void *address, char *buf,
			      size_t *size)
{
	return "testcore";
}

static struct fi_ops_av av_ops = {
	.size = sizeof(av_ops),
	.insert = av_insert,
	.insertsvc = no_service,
	.insertsym = no_symbols,
	.remove = av_remove,
	.lookup = av_lookup,
	.straddr = av_straddr,
};

static int av_close(struct fid *fid)
{
	struct tc_av *av = (struct tc_av *)fid;

	free(av->numbers);
	free(av);
	return 0;
}

static struct fi_ops av_fid_ops = {
	.size = sizeof(av_fid_ops),
	.close = av_close,
	.bind = tc_no_bind,
	.control = tc_no_control,
	.ops_open = tc_no_ops,
};

int tc_av_open(struct fid_domain *fid, struct fi_av_attr *attr,
	       struct fid_av **ret_av, void *context)
{
	struct tc_domain *domain = (struct tc_domain *)fid;
	struct tc_av *av;
	int result = tc_fault(domain, "av");

	if (result == 0)
		result = tc_fault(domain, "open");
	if (result != 0)
		return result;
	av = calloc(1, sizeof(*av));
	if (av == NULL)
		return -FI_ENOMEM;
	av->fid.fid.fclass = FI_CLASS_AV;
	av->fid.fid.context = context;
	av->fid.fid.ops = &av_fid_ops;
	av->fid.ops = &av_ops;
	av->domain = domain;
	*ret_av = &av->fid;
	return 0;
}
