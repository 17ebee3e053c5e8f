/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/ethernet/nftables.h"

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <string.h>

/* --- attributes and messages --- */

void nftables_attribute(struct writer *batch, uint16_t type, const void *data,
			size_t size)
{
	static const uint8_t zeros[NLMSG_ALIGNTO];
	const struct nlattr header = { (uint16_t)(NLA_HDRLEN + size), type };

	write_bytes(batch, &header, sizeof(header));
	write_bytes(batch, data, size);
	write_bytes(batch, zeros, -batch->size % NLMSG_ALIGNTO);
}

void nftables_text(struct writer *batch, uint16_t type, const char *text)
{
	nftables_attribute(batch, type, text, strlen(text) + 1);
}

void nftables_u32(struct writer *batch, uint16_t type, uint32_t number)
{
	const uint32_t bytes = __builtin_bswap32(number);

	nftables_attribute(batch, type, &bytes, sizeof(bytes));
}

void nftables_u64(struct writer *batch, uint16_t type, uint64_t number)
{
	const uint64_t bytes = __builtin_bswap64(number);

	nftables_attribute(batch, type, &bytes, sizeof(bytes));
}

size_t nftables_nest(struct writer *batch, uint16_t type)
{
	size_t at = batch->size;

	nftables_attribute(batch, type | NLA_F_NESTED, NULL, 0);
	return at;
}

void nftables_nest_end(struct writer *batch, size_t nest)
{
	uint16_t size = (uint16_t)(batch->size - nest);

	memcpy(batch->data + nest + offsetof(struct nlattr, nla_len), &size,
	       sizeof(size));
}

static size_t message_begin(struct writer *batch, uint16_t type, uint16_t flags,
			    uint8_t family, uint8_t system)
{
	const struct nlmsghdr header = {
		.nlmsg_type = type,
		.nlmsg_flags = NLM_F_REQUEST | flags,
	};
	/* The last two bytes are a number in the network's order. */
	const uint8_t info[sizeof(struct nfgenmsg)] = { family, NFNETLINK_V0, 0,
							system };
	size_t at = batch->size;

	write_bytes(batch, &header, sizeof(header));
	write_bytes(batch, info, sizeof(info));
	return at;
}

static void put_frame(struct writer *batch, uint16_t type)
{
	nftables_end(batch, message_begin(batch, type, 0, NFPROTO_UNSPEC,
					  NFNL_SUBSYS_NFTABLES));
}

size_t nftables_begin(struct writer *batch, uint16_t request, uint16_t flags)
{
	if (batch->size == 0)
		put_frame(batch, NFNL_MSG_BATCH_BEGIN);
	return message_begin(batch, NFNL_SUBSYS_NFTABLES << 8 | request, flags,
			     NFPROTO_INET, 0);
}

void nftables_end(struct writer *batch, size_t message)
{
	uint32_t size = (uint32_t)(batch->size - message);

	memcpy(batch->data + message + offsetof(struct nlmsghdr, nlmsg_len),
	       &size, sizeof(size));
}

void nftables_finish(struct writer *batch)
{
	if (batch->size > 0)
		put_frame(batch, NFNL_MSG_BATCH_END);
}

/* --- expressions --- */

struct expression {
	size_t element, data;
};

static struct expression begin(struct writer *batch, const char *name)
{
	struct expression expression;

	expression.element = nftables_nest(batch, NFTA_LIST_ELEM);
	nftables_text(batch, NFTA_EXPR_NAME, name);
	expression.data = nftables_nest(batch, NFTA_EXPR_DATA);
	return expression;
}

static void end(struct writer *batch, struct expression expression)
{
	nftables_nest_end(batch, expression.data);
	nftables_nest_end(batch, expression.element);
}

static void put_register(struct writer *batch, uint16_t type, uint32_t reg)
{
	nftables_u32(batch, type, NFT_REG32_00 + reg);
}

static void put_value(struct writer *batch, uint16_t type, const void *value,
		      uint32_t size)
{
	size_t nest = nftables_nest(batch, type);

	nftables_attribute(batch, NFTA_DATA_VALUE, value, size);
	nftables_nest_end(batch, nest);
}

/* One of numbers only: pairs of type and number. */
#define put_numbers(batch, name, ...)                                \
	put_pairs(batch, name, (const uint32_t[][2]){ __VA_ARGS__ }, \
		  sizeof((const uint32_t[][2]){ __VA_ARGS__ }) /     \
			  sizeof(uint32_t[2]))

static void put_pairs(struct writer *batch, const char *name,
		      const uint32_t pairs[][2], size_t count)
{
	struct expression expression = begin(batch, name);

	for (size_t i = 0; i < count; i++)
		nftables_u32(batch, (uint16_t)pairs[i][0], pairs[i][1]);
	end(batch, expression);
}

void nftables_load_meta(struct writer *batch, uint32_t key, uint32_t reg)
{
	put_numbers(batch, "meta", { NFTA_META_KEY, key },
		    { NFTA_META_DREG, NFT_REG32_00 + reg });
}

void nftables_store_meta(struct writer *batch, uint32_t key)
{
	put_numbers(batch, "meta", { NFTA_META_KEY, key },
		    { NFTA_META_SREG, NFT_REG32_00 });
}

void nftables_load_payload(struct writer *batch, uint32_t base, uint32_t offset,
			   uint32_t size, uint32_t reg)
{
	put_numbers(batch, "payload", { NFTA_PAYLOAD_DREG, NFT_REG32_00 + reg },
		    { NFTA_PAYLOAD_BASE, base },
		    { NFTA_PAYLOAD_OFFSET, offset },
		    { NFTA_PAYLOAD_LEN, size });
}

void nftables_store_network(struct writer *batch, uint32_t size,
			    bool has_checksum)
{
	put_numbers(batch, "payload", { NFTA_PAYLOAD_SREG, NFT_REG32_00 },
		    { NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER },
		    { NFTA_PAYLOAD_OFFSET, 0 }, { NFTA_PAYLOAD_LEN, size },
		    { NFTA_PAYLOAD_CSUM_TYPE, has_checksum
						      ? NFT_PAYLOAD_CSUM_INET
						      : NFT_PAYLOAD_CSUM_NONE },
		    { NFTA_PAYLOAD_CSUM_OFFSET, has_checksum ? 10 : 0 });
}

void nftables_load_header(struct writer *batch, uint32_t op, uint8_t type,
			  uint32_t offset, uint32_t size, bool is_presence)
{
	struct expression header = begin(batch, "exthdr");

	put_register(batch, NFTA_EXTHDR_DREG, 0);
	nftables_attribute(batch, NFTA_EXTHDR_TYPE, &type, sizeof(type));
	nftables_u32(batch, NFTA_EXTHDR_OFFSET, offset);
	nftables_u32(batch, NFTA_EXTHDR_LEN, size);
	nftables_u32(batch, NFTA_EXTHDR_OP, op);
	if (is_presence)
		nftables_u32(batch, NFTA_EXTHDR_FLAGS, NFT_EXTHDR_F_PRESENT);
	end(batch, header);
}

void nftables_compare(struct writer *batch, uint32_t op, const void *value,
		      uint32_t size)
{
	struct expression compare = begin(batch, "cmp");

	put_register(batch, NFTA_CMP_SREG, 0);
	nftables_u32(batch, NFTA_CMP_OP, op);
	put_value(batch, NFTA_CMP_DATA, value, size);
	end(batch, compare);
}

void nftables_mask(struct writer *batch, const void *mask, const void *flip,
		   uint32_t size)
{
	struct expression bitwise = begin(batch, "bitwise");

	put_register(batch, NFTA_BITWISE_SREG, 0);
	put_register(batch, NFTA_BITWISE_DREG, 0);
	nftables_u32(batch, NFTA_BITWISE_LEN, size);
	put_value(batch, NFTA_BITWISE_MASK, mask, size);
	put_value(batch, NFTA_BITWISE_XOR, flip, size);
	end(batch, bitwise);
}

void nftables_look_up(struct writer *batch, const char *set,
		      enum nftables_lookup how)
{
	struct expression lookup = begin(batch, "lookup");

	nftables_text(batch, NFTA_LOOKUP_SET, set);
	put_register(batch, NFTA_LOOKUP_SREG, 0);
	if (how == NFTABLES_VALUE)
		put_register(batch, NFTA_LOOKUP_DREG, 0);
	if (how == NFTABLES_VERDICT)
		nftables_u32(batch, NFTA_LOOKUP_DREG, NFT_REG_VERDICT);
	if (how == NFTABLES_HAS_NOT)
		nftables_u32(batch, NFTA_LOOKUP_FLAGS, NFT_LOOKUP_F_INV);
	end(batch, lookup);
}

void nftables_count(struct writer *batch, const char *counter)
{
	struct expression reference = begin(batch, "objref");

	nftables_u32(batch, NFTA_OBJREF_IMM_TYPE, NFT_OBJECT_COUNTER);
	nftables_text(batch, NFTA_OBJREF_IMM_NAME, counter);
	end(batch, reference);
}

void nftables_reject(struct writer *batch, uint32_t type, uint8_t code)
{
	struct expression reject = begin(batch, "reject");

	nftables_u32(batch, NFTA_REJECT_TYPE, type);
	nftables_attribute(batch, NFTA_REJECT_ICMP_CODE, &code, sizeof(code));
	end(batch, reject);
}

void nftables_verdict_data(struct writer *batch, int code, const char *chain)
{
	size_t nest = nftables_nest(batch, NFTA_DATA_VERDICT);

	nftables_u32(batch, NFTA_VERDICT_CODE, (uint32_t)code);
	if (chain)
		nftables_text(batch, NFTA_VERDICT_CHAIN, chain);
	nftables_nest_end(batch, nest);
}

void nftables_verdict(struct writer *batch, int code, const char *chain)
{
	struct expression immediate = begin(batch, "immediate");
	size_t data;

	nftables_u32(batch, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
	data = nftables_nest(batch, NFTA_IMMEDIATE_DATA);
	nftables_verdict_data(batch, code, chain);
	nftables_nest_end(batch, data);
	end(batch, immediate);
}
