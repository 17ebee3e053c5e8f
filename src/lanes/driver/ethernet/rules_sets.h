/* SPDX-License-Identifier: BSD-3-Clause */
/* The table's sets, for its rules (rules.c). Pure. */
#pragma once

#include "lanes/driver/ethernet/rules.h"

/* Classes as chains and sets are called by them. */
extern const char *const rules_class_words[ETHERNET_CLASS_COUNT];
enum ethernet_class rules_class(const char *word);

/* All of them, with the ports of VXLAN, but without elements of lanes. */
void rules_put_sets(uint16_t port, struct writer *batch);
/*
 * Load the set's key into registers, from 0 on, of packets that have all of it.
 * by_source: the source's address in place of the destination's.
 */
void rules_load_key(const char *set, bool by_source, struct writer *batch);
/* Elements of these lanes; the batch goes on. */
void rules_put_lanes(const struct rules_lane *lanes, size_t count,
		     struct writer *batch);
