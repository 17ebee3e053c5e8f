/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an MPI library and its transport have to do, as cases that all ranks run
 * together. Each checks all data that it gets.
 */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* As in assert(), but says which rank, and ends the job. */
#define check(condition) check_at(condition, #condition, __FILE__, __LINE__)
void check_at(bool holds, const char *what, const char *file, int line);

/* Bytes that follow from a seed, and whether these are they. */
void bytes_fill(void *bytes, size_t size, int seed);
bool are_bytes(const void *bytes, size_t size, int seed);
/* Zeroed, and never NULL, also of no bytes. */
void *bytes_new(size_t size);

struct world {
	int rank, size;
	const char *program; /* for those that it starts */
};

/* From none to beyond what any transport sends at once. */
extern const int check_sizes[];
extern const int check_size_count;
#define CHECK_SIZE_MAX (1 << 20)

struct check_case {
	const char *name;
	void (*run)(const struct world *world);
};
#define check_case(function)        \
	{                           \
#function, function \
	}

struct check_group {
	const char *name;
	int threads; /* what MPI_Init_thread has to provide */
	const struct check_case *cases;
	int count;
};
extern const struct check_group point_cases, together_cases, window_cases,
	thread_cases, spawn_cases;

/* What a process does that was started by one of ours. */
void spawn_child(void);
