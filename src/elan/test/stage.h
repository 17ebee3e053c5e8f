/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For tests of whole programs: a fairlead-rms of the test's own in a folder of
 * its own, a cgroup of its own, and *players*, processes that do what the test
 * says and answer. Nothing here waits for a time. Whatever a test leaves behind
 * is ended: the test takes over all that its players leave.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

#include "fairlead/rms.h"

#define OWNER_UID    54321
#define OTHER_UID    54322
#define SOME_GID     54300
#define PLAYERS_MAX  12
#define EXIT_SKIPPED 77
#define LIST_MAX     64

/* What a player does. */
enum act {
	ACT_NOTHING,
	ACT_PRGCREATE, /* id, uid, value */
	ACT_PRGDESTROY,
	ACT_PRGIDS,   /* value; list, count */
	ACT_PRGINFO,  /* id, value; list, count */
	ACT_GETPRGID, /* value; number */
	ACT_ADDPROC,  /* id, value */
	ACT_REMOVEPROC,
	ACT_PRGSIGNAL,
	ACT_PRGSUSPEND,
	ACT_PRGRESUME,
	ACT_PRGADDCAP, /* id, index, cap */
	ACT_PRGCLAIM,  /* id */
	ACT_SETCAP,    /* index, value */
	ACT_NCAPS,     /* number */
	ACT_MYCAP,
	ACT_GETCAP, /* index; cap */
	ACT_PREFCAP,
	ACT_ELANINITDONE,
	ACT_PRGELANPIDS,
	ACT_PRGGETSTATS, /* id; stats */
	ACT_SETELANSTATS,
	ACT_SETCOREPATH, /* text */
	ACT_GETCOREPATH, /* value; text */
	ACT_DEPOSIT,     /* grant, uid, cap */
	ACT_TAKE_BACK,   /* grant; list, count */
	ACT_TAKE,        /* grant: the number of a deposit */
	ACT_DEPOSIT_NEXT,
	ACT_ATTACH, /* index (rail), cap */
	ACT_DETACH,
	ACT_ROUTE,    /* grant, value: ElanID */
	ACT_OPEN,     /* index (rail), cap; the player's port */
	ACT_SHUT,     /* it */
	ACT_SEND,     /* number: rank, text, value: ms */
	ACT_RECV,     /* value: ms; number: who, count, text */
	ACT_NONSENSE, /* text: a packet to what the port sends by */
	ACT_ROOM,     /* value: descriptors that it may have more */
	ACT_RAIL,     /* index, value */
	ACT_FORK,     /* value: which player; flags */
	ACT_WRITE,    /* text: a file; to it goes the player's pid */
	ACT_CLONE,    /* text: the directory of a cgroup, to have a child in */
	ACT_THREAD,   /* play on in a thread; the first one ends */
	ACT_BURN,     /* ms of its own in user mode */
	ACT_TOUCH,    /* MiB of memory */
	ACT_BECOME,   /* uid */
	ACT_END,
};

#define FORK_SESSION (1 << 0) /* in a session of its own */
#define FORK_TWICE   (1 << 1) /* its parent ends at once */

struct script {
	enum act act;
	int id, index, value, flags;
	uid_t uid;
	uint64_t grant;
	struct elan_capability cap;
	struct rms_elanstats elanstats;
	char text[1200];
	/* What came of it. */
	int result; /* 0 or a negative errno */
	int number, count;
	int list[LIST_MAX], second[LIST_MAX];
	struct rms_prgstats stats;
	bool is_ending;
	uint32_t attached;
};

struct player {
	pid_t pid; /* 0: does not play */
	int pidfd;
	int fds[2];            /* the test's end, the player's end */
	struct script *script; /* shared; as the last one left it */
};

struct stage {
	char folder[64];
	char dir[80];       /* the daemon's */
	char mount[128];    /* of cgroups; "" where there are none */
	char cgroup[400];   /* the test's, a path of the file system */
	const char *keeper; /* "group" or "search" */
	const char *rails;  /* --rails of the next daemon, or NULL */
	pid_t daemon;       /* 0: does not run */
	struct player players[PLAYERS_MAX];
};

/*
 * Of main: its arguments are the program and the keeper. A number: the test is
 * not to be run, and has said why; 0: it is.
 */
int stage_init(int argc, char **argv);
bool stage_is_group(void);

/* For cmocka: state is a stage, whose daemon runs. */
int stage_setup(void **state);
int stage_teardown(void **state);
#define stage_test(name) \
	cmocka_unit_test_setup_teardown(name, stage_setup, stage_teardown)

void daemon_start(struct stage *stage);
/*
 * As daemon_start, with this keeper, after prepare in its process, which does
 * not go on when that is below 0. Has it started.
 */
bool daemon_start_with(struct stage *stage, const char *keeper,
		       int (*prepare)(const struct stage *stage));
/* Its wait status. */
int daemon_stop(struct stage *stage, int signal);
/* kill -9, and another one. */
void daemon_again(struct stage *stage);

/* Start player n, as this user, in the test's cgroup. */
struct player *player_start(struct stage *stage, int n, uid_t uid);
/* Have player fork player n. */
struct player *player_fork(struct stage *stage, struct player *player, int n,
			   int flags);
/* Let it do that; what came of it, which is in player->script too. */
int play_script(struct player *player, const struct script *script);
#define play(player, act_, ...) \
	play_script(player, &(struct script){ .act = (act_), __VA_ARGS__ })
/* Tell it, and do not wait; has it answered; the answer. */
void play_begin(struct player *player, const struct script *script);
bool play_is_done(struct player *player);
int play_end(struct player *player);
/* Wait until it has ended. */
void player_wait(struct player *player);
bool player_has_ended(const struct player *player);

/* A player that made program id for the owner with two CPUs. */
struct player *must_create(struct stage *stage, int n, int id);
/* A valid one; contexts from 0x400 + 16 * n on, 4 of them, on nodes 0 and 1. */
struct elan_capability sample_cap(int n);
/* As root: is there a rail. */
int stage_rail_set(int rail, bool is_up);
/* As root: rms_client_take of all of a grant. -EBUSY: of one of them. */
int stage_take_back(uint64_t grant_id, pid_t *pids, size_t max,
		    size_t *ret_count);
/* How many members a program has now; -errno. */
int members_of(int id);
bool is_member(int id, pid_t pid);
/* Yield until it is true; the test fails when it never is. */
void eventually(bool (*is_true)(void *arg), void *arg);
/* The last element of a path of a process's cgroup; static. */
const char *cgroup_of(const struct stage *stage, pid_t pid);
/* A number of a file of cgroup DIR; -1: it has none. */
int64_t cgroup_number(const char *dir, const char *file, const char *key);
/* 'T', 'S', ... */
char state_of(pid_t pid);
