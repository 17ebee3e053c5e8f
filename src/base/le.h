/* SPDX-License-Identifier: BSD-3-Clause */
/* Little-endian numbers at any place: what processors do in one instruction. */
#pragma once

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline void le_put16(uint8_t *at, uint16_t value)
{
	value = htole16(value);
	memcpy(at, &value, sizeof(value));
}

static inline void le_put32(uint8_t *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
}

static inline void le_put64(uint8_t *at, uint64_t value)
{
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
}

static inline uint16_t le_get16(const uint8_t *at)
{
	uint16_t value;
	memcpy(&value, at, sizeof(value));
	return le16toh(value);
}

static inline uint32_t le_get32(const uint8_t *at)
{
	uint32_t value;
	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

static inline uint64_t le_get64(const uint8_t *at)
{
	uint64_t value;
	memcpy(&value, at, sizeof(value));
	return le64toh(value);
}
