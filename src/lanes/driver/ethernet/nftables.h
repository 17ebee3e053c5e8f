/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of nf_tables as the kernel takes them: attributes, the messages of a
 * batch, and the expressions of which rules consist. A batch is done wholly or
 * not at all. Pure.
 *
 * An expression loads into a register, or judges one. Registers have 4 bytes,
 * and are numbered from 0; a longer value takes those that follow.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

void nftables_attribute(struct writer *batch, uint16_t type, const void *data,
			size_t size);
void nftables_text(struct writer *batch, uint16_t type, const char *text);
/* Big-endian, as most numbers are. */
void nftables_u32(struct writer *batch, uint16_t type, uint32_t number);
void nftables_u64(struct writer *batch, uint16_t type, uint64_t number);
/* Returns what nftables_nest_end takes. */
size_t nftables_nest(struct writer *batch, uint16_t type);
void nftables_nest_end(struct writer *batch, size_t nest);

/* A request (NFT_MSG_...) of the family inet; an empty batch is begun by it. */
size_t nftables_begin(struct writer *batch, uint16_t request, uint16_t flags);
void nftables_end(struct writer *batch, size_t message);
/* The end of the batch; nothing in it is nothing to do. */
void nftables_finish(struct writer *batch);

void nftables_load_meta(struct writer *batch, uint32_t key, uint32_t reg);
/* From register 0. */
void nftables_store_meta(struct writer *batch, uint32_t key);
/* base: NFT_PAYLOAD_... */
void nftables_load_payload(struct writer *batch, uint32_t base, uint32_t offset,
			   uint32_t size, uint32_t reg);
/* Register 0 to where the network's header begins. has_checksum: IPv4's is set. */
void nftables_store_network(struct writer *batch, uint32_t size,
			    bool has_checksum);
/* op: NFT_EXTHDR_OP_...; is_presence: whether it is there, not what is in it. */
void nftables_load_header(struct writer *batch, uint32_t op, uint8_t type,
			  uint32_t offset, uint32_t size, bool is_presence);
/* Register 0. op: NFT_CMP_... */
void nftables_compare(struct writer *batch, uint32_t op, const void *value,
		      uint32_t size);
/* Register 0 becomes (itself & mask) ^ flip. */
void nftables_mask(struct writer *batch, const void *mask, const void *flip,
		   uint32_t size);

enum nftables_lookup {
	NFTABLES_HAS,
	NFTABLES_HAS_NOT,
	NFTABLES_VALUE,   /* the map's, into register 0 */
	NFTABLES_VERDICT, /* the map's, which is obeyed */
};
/* A key that begins in register 0. */
void nftables_look_up(struct writer *batch, const char *set,
		      enum nftables_lookup how);
void nftables_count(struct writer *batch, const char *counter);
/* type: NFT_REJECT_... */
void nftables_reject(struct writer *batch, uint32_t type, uint8_t code);
/* code: NF_ACCEPT, NFT_GOTO, ...; chain: NULL but for the last. */
void nftables_verdict_data(struct writer *batch, int code, const char *chain);
void nftables_verdict(struct writer *batch, int code, const char *chain);
