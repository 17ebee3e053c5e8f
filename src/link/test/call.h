/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of call_test.c, and what they share. */
#pragma once

#include "link/test/pair.h"

#define CALL_LARGE 20000
#define CALL_KEY   77
#define CALL_WORD  UINT64_C(0xfedcba9876543210)

extern uint8_t call_out[CALL_LARGE];

/* Of bytes two parts, until it is called again. */
const struct iovec *call_halves(uint8_t *bytes, size_t size);

/* --- call_memory.c --- */
void memory_is_registered_by_its_attributes(struct pair *pair);
void each_call_writes(struct pair *pair);
void parts_are_written_and_read(struct pair *pair);
void each_call_changes_values(struct pair *pair);
void each_call_compares_values(struct pair *pair);
void memory_is_given_back(struct pair *pair);

/* --- call_object.c --- */
void counters_are_set_by_the_program(struct pair *pair);
void queues_say_what_an_error_is(struct pair *pair);
void addresses_are_looked_up_and_written(struct pair *pair);
void options_are_those_that_there_are(struct pair *pair);
void queues_may_be_as_short_as_asked_for(struct pair *pair);
