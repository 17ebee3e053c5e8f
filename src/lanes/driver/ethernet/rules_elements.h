/* SPDX-License-Identifier: BSD-3-Clause */
/* What rules.c and its elements have in common. Pure. */
#pragma once

#include "lanes/driver/ethernet/rules.h"

/* As chains and definitions of the table call the classes. */
extern const char *const rules_class_words[ETHERNET_CLASS_COUNT];

/* All elements of these lanes as text for nft, which follows the table's. */
void rules_put_elements(const struct rules_lane *lanes, size_t count,
			struct writer *writer);
