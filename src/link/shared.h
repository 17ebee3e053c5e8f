/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages over shared memory. */
#pragma once

#include "link/receive.h"

int shared_open(struct rail *rail);
/* Takes in what did not fit before. */
void shared_retry(struct rail *rail);
void shared_drop(struct rail *rail);
/* A message nobody expected is all there. */
void shared_arrived(struct arrival *arrival,
		    const struct fi_cq_tagged_entry *entry);
void shared_arrival_failed(struct arrival *arrival);
void shared_received(struct rail *rail, struct receive *receive,
		     const struct fi_cq_tagged_entry *entry, fi_addr_t core);
void shared_failed(struct receive *receive,
		   const struct fi_cq_err_entry *entry);
