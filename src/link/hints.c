/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether the hints of fi_getinfo can be met. What asks for more than there is
 * gets nothing, what asks for less is met. Old programs know less of the
 * structures than there is of them: see is_known().
 */
#include <string.h>

#include "link/hints.h"
#include "link/setting.h"

static bool is_known(uint32_t version)
{
	return !FI_VERSION_LT(version, FI_VERSION(1, 5));
}

/* A program without a class has this one. */
static bool is_class_refused(uint32_t class)
{
	return class != FI_TC_UNSPEC && class != FI_TC_BEST_EFFORT;
}

static const char *domain_refused(const struct fi_domain_attr *attr,
				  uint32_t version)
{
	if (attr == NULL)
		return NULL;
	if (attr->mr_key_size > LINK_KEY_SIZE)
		return "keys have 7 bytes at most";
	if (!is_known(version))
		return NULL;
	if ((attr->caps & ~CAPS_DOMAIN) != 0)
		return "a capability that domains have not";
	if (attr->auth_key_size != 0)
		return "domains have no authorization key";
	if (is_class_refused(attr->tclass))
		return "domains have no traffic class";
	return NULL;
}

static const char *endpoint_refused(const struct fi_ep_attr *attr,
				    uint32_t version)
{
	if (attr == NULL)
		return NULL;
	if (attr->type != FI_EP_UNSPEC && attr->type != FI_EP_RDM)
		return "endpoints are of the type FI_EP_RDM";
	if (attr->protocol != FI_PROTO_UNSPEC)
		return "the protocol is another one";
	if ((attr->mem_tag_format & LINK_UNTAGGED) != 0 &&
	    attr->mem_tag_format != TAG_GENERIC)
		return "tags have 63 bits";
	if (is_known(version) && attr->auth_key_size != 0)
		return "endpoints have no authorization key";
	return NULL;
}

static const char *transmit_refused(const struct fi_tx_attr *attr,
				    uint32_t version)
{
	if (attr == NULL)
		return NULL;
	if ((attr->caps & ~CAPS_ALL) != 0)
		return "a capability that there is not";
	if ((attr->op_flags & ~OP_FLAGS) != 0)
		return "a flag that no operation has";
	if (attr->comp_order != 0)
		return "sends complete in no order";
	if (is_known(version) && is_class_refused(attr->tclass))
		return "endpoints have no traffic class";
	return NULL;
}

static const char *receive_refused(const struct fi_rx_attr *attr)
{
	if (attr == NULL)
		return NULL;
	if ((attr->caps & ~CAPS_ALL) != 0)
		return "a capability that there is not";
	if ((attr->op_flags & ~OP_FLAGS) != 0)
		return "a flag that no operation has";
	if (attr->comp_order != 0)
		return "receives complete in no order";
	return NULL;
}

const char *hints_refused(const struct fi_info *hints, uint32_t version)
{
	const char *why;

	if (hints == NULL)
		return NULL;
	if ((hints->caps & ~CAPS_ALL) != 0)
		return "a capability that there is not";
	if ((why = endpoint_refused(hints->ep_attr, version)) != NULL ||
	    (why = domain_refused(hints->domain_attr, version)) != NULL ||
	    (why = transmit_refused(hints->tx_attr, version)) != NULL)
		return why;
	return receive_refused(hints->rx_attr);
}

/* --- sizes and counts --- */

struct amount {
	const char *name;
	size_t asked, offered;
};
#define amount(part, field)                                              \
	{                                                                \
#part "->" #field, hints->part->field, info->part->field \
	}

static const char *first_above(const struct amount *amounts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (amounts[i].asked > amounts[i].offered)
			return amounts[i].name;
	return NULL;
}
#define first_of(amounts) \
	first_above(amounts, sizeof(amounts) / sizeof((amounts)[0]))

static const char *domain_unmet(const struct fi_info *hints,
				const struct fi_info *info, uint32_t version)
{
	if (hints->domain_attr == NULL)
		return NULL;
	const struct amount of_all[] = {
		amount(domain_attr, cq_data_size),
		amount(domain_attr, cq_cnt),
		amount(domain_attr, ep_cnt),
		amount(domain_attr, tx_ctx_cnt),
		amount(domain_attr, rx_ctx_cnt),
		amount(domain_attr, max_ep_tx_ctx),
		amount(domain_attr, max_ep_rx_ctx),
		amount(domain_attr, max_ep_stx_ctx),
		amount(domain_attr, max_ep_srx_ctx),
	};
	const struct amount of_known[] = {
		amount(domain_attr, cntr_cnt),
		amount(domain_attr, mr_iov_limit),
		amount(domain_attr, max_err_data),
		amount(domain_attr, mr_cnt),
#if BUILD_IS_AT_LEAST(1, 20)
		amount(domain_attr, max_ep_auth_key),
#endif
	};
	const char *why = first_of(of_all);

	return why != NULL || !is_known(version) ? why : first_of(of_known);
}

static const char *endpoint_unmet(const struct fi_info *hints,
				  const struct fi_info *info)
{
	if (hints->ep_attr == NULL)
		return NULL;
	const struct amount of_all[] = {
		amount(ep_attr, protocol_version),
		amount(ep_attr, max_msg_size),
		amount(ep_attr, tx_ctx_cnt),
		amount(ep_attr, rx_ctx_cnt),
	};
	const struct amount of_order[] = {
		amount(ep_attr, max_order_raw_size),
		amount(ep_attr, max_order_war_size),
		amount(ep_attr, max_order_waw_size),
	};
	const char *why = first_of(of_all);

	return why != NULL || (info->caps & (FI_RMA | FI_ATOMIC)) == 0
		       ? why
		       : first_of(of_order);
}

static const char *queues_unmet(const struct fi_info *hints,
				const struct fi_info *info)
{
	uint64_t order = info->tx_attr->msg_order;
	const char *why = NULL;

	if (hints->tx_attr != NULL) {
		const struct amount amounts[] = {
			amount(tx_attr, inject_size),
			amount(tx_attr, size),
			amount(tx_attr, iov_limit),
			amount(tx_attr, rma_iov_limit),
		};
		why = first_of(amounts);
		if ((hints->tx_attr->msg_order & ~order) != 0)
			why = "tx_attr->msg_order";
	}
	if (why == NULL && hints->rx_attr != NULL) {
		const struct amount amounts[] = {
			amount(rx_attr, total_buffered_recv),
			amount(rx_attr, size),
			amount(rx_attr, iov_limit),
		};
		why = first_of(amounts);
		if ((hints->rx_attr->msg_order & ~order) != 0)
			why = "rx_attr->msg_order";
	}
	return why;
}

const char *hints_unmet(const struct fi_info *hints, const struct fi_info *info,
			uint32_t version)
{
	const char *why;

	if (hints == NULL)
		return NULL;
	if ((why = domain_unmet(hints, info, version)) != NULL ||
	    (why = endpoint_unmet(hints, info)) != NULL)
		return why;
	return queues_unmet(hints, info);
}
