/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two processes with an endpoint each, that know each other's address. Both run
 * the same cases in the same order; a case asks which of them it is in. The
 * link is that of FI_FAIRLEAD_LINKS. With LINK_TEST_PUSHED nobody may read other
 * processes' memory, from when both know each other; with LINK_TEST_APART they
 * share none; with LINK_TEST_SILENT the core for tests does not say what became of
 * what it has for a process that ended. With LINK_TEST_AUTO endpoints go on by
 * themselves (FI_PROGRESS_AUTO).
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

struct pair {
	bool is_first;
	int fd; /* to the other process, for what no endpoint shall carry */
	pid_t other; /* the other process, as the first one knows it */
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *send_cq, *receive_cq;
	struct fid_cntr *send_cntr, *receive_cntr, *read_cntr, *write_cntr;
	/* Of what the other did to memory; FI_RMA_EVENT, or NULL. */
	struct fid_cntr *remote_read_cntr, *remote_write_cntr;
	struct fid_av *av;
	struct fid_ep *ep;
	fi_addr_t peer;
	uint8_t peer_name[64]; /* or shorter */
	char service[16];      /* of this node, at which nobody is */
};

/* As in assert(), but says which process, and ends it. */
#define pair_check(condition) \
	pair_check_at(condition, #condition, __FILE__, __LINE__)
void pair_check_at(bool holds, const char *what, const char *file, int line);
/* A call of libfabric that has to return 0. */
#define pair_do(call) pair_do_at((long)(call), #call, __FILE__, __LINE__)
void pair_do_at(long result, const char *what, const char *file, int line);

/* From now on this process reads nobody's memory. */
void pair_forbid_reads(void);
/* Inserts the other's address, where that was left to the case. */
void pair_insert(struct pair *pair);

/* Waits until both processes are here; endpoints progress meanwhile. */
void pair_meet(struct pair *pair);

/* The next completion of a queue. A failure ends the process. */
struct fi_cq_tagged_entry pair_wait(struct pair *pair, struct fid_cq *cq,
				    fi_addr_t *ret_source);
/* The next one has to be a failure. */
struct fi_cq_err_entry pair_wait_failure(struct pair *pair, struct fid_cq *cq);
/* There is none, also after some progress. */
void pair_is_quiet(struct pair *pair, struct fid_cq *cq);

/* Repeats a call while it says -FI_EAGAIN, and makes progress. */
#define pair_retry(pair, call)                                      \
	do {                                                        \
		long pair_result;                                   \
		while ((pair_result = (long)(call)) == -FI_EAGAIN)  \
			pair_progress(pair);                        \
		pair_do_at(pair_result, #call, __FILE__, __LINE__); \
	} while (0)
void pair_progress(struct pair *pair);

/*
 * Where several threads read the queues: the context of all that is under way is
 * an atomic_bool, which whoever reads the completion sets.
 */
void pair_tell(struct pair *pair);
void pair_wait_done(struct pair *pair, atomic_bool *done);
#define pair_retry_done(pair, call)                           \
	do {                                                  \
		long taken;                                   \
		while ((taken = (long)(call)) == -FI_EAGAIN)  \
			pair_tell(pair);                      \
		pair_do_at(taken, #call, __FILE__, __LINE__); \
	} while (0)

/* Bytes that follow from a seed, and whether these are they. */
void pair_fill(void *bytes, size_t size, unsigned int seed);
bool pair_is_filled(const void *bytes, size_t size, unsigned int seed);

struct pair_case {
	const char *name;
	void (*run)(struct pair *pair);
};
#define pair_case(function)         \
	{                           \
#function, function \
	}

/* Hints that the cases need; the default asks for messages of both kinds. */
struct pair_setting {
	uint64_t caps;
	uint64_t bind_flags; /* FI_SELECTIVE_COMPLETION */
	enum fi_threading threading;
	int mr_mode;           /* what memory of theirs can bear */
	enum fi_wait_obj wait; /* of queues and counters */
	bool is_one_sided; /* the second does not insert the first's address */
	bool inserts_itself; /* neither does: that is left to the cases */
	/*
	 * The first is at a service of this node: the second inserts that, and
	 * the first inserts nothing.
	 */
	bool is_named;
	/*
	 * Called in both processes before anything else, or NULL. Returns false
	 * when what is needed cannot be had here.
	 */
	bool (*prepare)(struct pair *pair);
	bool has_sockets; /* addresses are those of sockets */
	/* Changes what fi_getinfo is asked for; or NULL. */
	void (*ask)(struct fi_info *hints);
	enum fi_progress progress;
	enum fi_av_type av_type; /* UNSPEC: a table */
	/* NULL: tagged. What a smaller one lacks is 0 where it is waited for. */
	const enum fi_cq_format *format;
};

/*
 * Runs the cases in two processes. Returns what main() should: 0, or 1 when one
 * failed; 77 when the link is not there, with the reason.
 */
int pair_run(const struct pair_setting *setting, const struct pair_case *cases,
	     unsigned int count);

/*
 * The same, but each case has two processes of its own, of which the second one
 * is killed (pair_die()) before the case ends.
 */
int pair_run_mortal(const struct pair_setting *setting,
		    const struct pair_case *cases, unsigned int count);
void pair_die(struct pair *pair) __attribute__((noreturn));
/* Until the other is no more; the endpoint progresses meanwhile. */
void pair_outlive(struct pair *pair);
/* Until the other has met, or stopped: with no progress meanwhile. */
void pair_meet_blind(struct pair *pair);
/* Until a message is there that nobody expects. */
void pair_peek(struct pair *pair, uint64_t tag);
/*
 * What went by the rail of shared memory, or by the others, as endpoints have said
 * when they were closed (FI_LOG_LEVEL=info).
 */
unsigned long long pair_messages_by(const char *said, bool is_shared);
/* Whether the link has shared memory, and both processes use it. */
bool pair_is_local(void);
