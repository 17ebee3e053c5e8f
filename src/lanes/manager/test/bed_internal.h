/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the test bed do for each other. */
#pragma once

#include "bed.h"

extern const struct net_ops bed_net_ops;
void bed_net_fini(struct bed_net *net);
/* The oldest frame for the peer; NULL when there is none. To be freed. */
uint8_t *bed_net_take(struct bed_net *net, uint64_t peer, size_t *ret_size);

extern const struct store_ops bed_store_ops;
void bed_store_fini(struct bed *bed);

extern const struct round_ops bed_round_ops;
void bed_rounds_fini(struct bed *bed);
/* When the next one ends by itself. */
uint64_t bed_rounds_deadline_ms(const struct bed *bed);
/* End those whose time is over; who has not answered was not reached. */
void bed_rounds_expire(struct bed *bed);
/* Answer what has to do with leases. */
void bed_rounds_lease(struct bed *bed);
