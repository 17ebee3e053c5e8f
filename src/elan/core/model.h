/* SPDX-License-Identifier: BSD-3-Clause */
/* What the registry knows; keepers see programs. */
#pragma once

#include "base/cleanup.h"
#include "base/seam.h"
#include "elan/capability.h"
#include "elan/core/keeper.h"
#include "elan/route.h"
#include "elan/wire/wire.h"

#define PLACE_MAX    1024  /* bytes of a program's place, with its zero */
#define SETTINGS_MAX 4096  /* different settings among a program's members */
#define KNOWN_MAX    32768 /* processes that a keeper writes down */
#define PROCESSES_MAX \
	16000 /* that are listed, or said that they are initialised */
#define DEPOSITS_MAX    1024
#define ATTACHMENTS_MAX 16384

/* Who asks, as the kernel says. */
struct caller {
	struct rms_process process;
	uint32_t uid; /* effective */
};

/* A capability of a program. */
struct rms_holding {
	int32_t index;
	uint64_t deposit; /* its number, or 0: root's own */
	struct elan_capability cap;
};

/* What a process has set by rms_setcap(), and what it forks has with it. */
struct rms_setting {
	uint32_t number; /* from 1 on */
	int32_t index;   /* the one that was used last */
	uint32_t count;
	struct {
		int32_t index;
		int32_t context; /* from the low one */
	} contexts[RMS_CAPS_MAX];
};

/* A process that has initialised the interconnect. */
struct initialised {
	struct rms_process process;
	int32_t vp;
};

/* What a keeper has to remember of processes that nothing holds. */
struct rms_known {
	struct rms_process process;
	int32_t session;
	uint32_t setting;
	bool has_left;  /* by root's word: it and what it forks are out */
	bool has_ended; /* kept for its session, which others are in */
};

struct program {
	int32_t id;
	uint32_t uid;
	int32_t cpus;
	int32_t flags; /* KILLED, SUSPEND, ERROR; the others are worked out */
	bool is_made;  /* false while its place and first member are made */
	char place[PLACE_MAX];
	uint64_t start;    /* of what can be found by search, in ticks */
	uint64_t made_ms;  /* monotonic */
	uint64_t ended_ms; /* 0: it has members, or nobody has looked */
	struct rms_holding *holdings; /* the newest is first */
	size_t holding_count;
	struct rms_setting *settings;
	size_t setting_count;
	uint32_t setting_last; /* the highest number that was given */
	struct initialised *initialised;
	size_t initialised_count;
	struct rms_known *known;
	size_t known_count;
	struct rms_elanstats elanstats;
	char corepath[RMS_COREPATH_MAX];
	struct rms_usage
		usage; /* the most that was seen of each; of memory the last */
	struct rms_usage base;       /* of its first member, before */
	uint64_t memory_ms;          /* when memory was looked at */
	uint64_t memory_kib_ms;      /* KiB times ms */
	bool is_changed;             /* a keeper has changed it */
	struct program *prev, *next; /* by rising id */
};

struct deposit {
	uint64_t number;
	uint64_t grant_id;
	uint32_t uid;
	bool is_ending; /* being taken back: nobody gets it any more */
	struct elan_capability cap;
	int32_t node;         /* this one's ElanID; -1: nobody has said */
	struct route *routes; /* of the lane's nodes */
	size_t route_count;
	struct deposit *prev, *next;
};

struct attachment {
	struct rms_process process;
	int32_t context; /* absolute */
	int32_t rail;
	uint64_t deposit; /* or 0 */
	int32_t program;
};

struct registry {
	struct keeper_seam keeper;
	struct notes_seam notes;
	struct clock_seam clock;
	struct program *programs;
	size_t program_count;
	struct deposit *deposits;
	size_t deposit_count;
	uint64_t deposit_last; /* the highest number that was given */
	struct attachment *attachments;
	size_t attachment_count;
	uint32_t rails_up;
	struct route adapter; /* where other nodes reach this one's */
	/* Called for each that is detached; or NULL. */
	void (*detached)(void *ctx, const struct attachment *attachment);
	void *detached_ctx;
};

/* --- among the files of this module --- */

void program_destroy(struct program *program);
DEFINE_AUTO(struct program, program_destroy)
/* With its routes. NULL is allowed. */
void deposit_destroy(struct deposit *deposit);
DEFINE_AUTO(struct deposit, deposit_destroy)
void registry_insert(struct registry *registry, struct program *program);
struct program *registry_program(struct registry *registry, int32_t id);
/* The caller's own, and what it has set in it. -ESRCH. */
int registry_mine(struct registry *registry, const struct caller *caller,
		  struct program **ret_program, uint32_t *ret_setting);
/* The program of a pid; 0: the caller's. -ESRCH. */
int registry_program_with(struct registry *registry,
			  const struct caller *caller, int32_t pid,
			  struct program **ret_program);
/* One that the caller may act on: as root or owner. -ESRCH, -EACCES. */
int registry_owned(struct registry *registry, const struct caller *caller,
		   int32_t id, struct program **ret_program);
/*
 * Detach all that an answer of true is for. Saves; what cannot be saved is
 * detached all the same, since those who are attached again are looked at when
 * a later daemon starts.
 */
int registry_detach_all(struct registry *registry,
			bool (*is_meant)(const struct attachment *attachment,
					 const void *arg),
			const void *arg);
/* What is saved of it is gone. Frees it; nobody is attached by it any more. */
void registry_forget_program(struct registry *registry,
			     struct program *program);
/* It has no members. Frees it. -ECHILD: it has. */
int registry_drop_program(struct registry *registry, struct program *program);
struct deposit *registry_deposit(struct registry *registry, uint64_t number);

int registry_save_program(struct registry *registry, struct program *program);
int registry_save_deposit(struct registry *registry,
			  const struct deposit *deposit);
int registry_save_node(struct registry *registry);

void record_encode_program(const struct program *program,
			   struct writer *writer);
int record_decode_program(const void *bytes, size_t size,
			  struct program **ret_program);
void record_encode_deposit(const struct deposit *deposit,
			   struct writer *writer);
/* Into one that has nothing; destroy it in any case. */
int record_decode_deposit(const void *bytes, size_t size,
			  struct deposit *deposit);
void record_encode_node(const struct registry *registry, struct writer *writer);
/* Into a registry that has none of it. */
int record_decode_node(const void *bytes, size_t size,
		       struct registry *registry);
