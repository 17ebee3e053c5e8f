/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the manager share. */
#pragma once

#include <jansson.h>

#include "base/hash.h"
#include "base/log.h"
#include "elan.h"
#include "leader.h"
#include "lanes/manager/engine.h"
#include "lanes/manager/store/store.h"
#include "sim/disk.h"

#define LEADER_STATE "/state"

struct process;

/* A request at the store. */
struct store_op {
	struct store_batch *batch; /* to write, or what was read */
	void (*commit_done)(void *arg, int result); /* NULL: a read */
	void (*read_done)(void *arg, int result, const struct store_row *rows,
			  size_t count);
	void *arg;
	enum store_table table;
	uint64_t id;
	char *key;
	bool is_cancelled; /* one before it has failed */
	struct store_op *prev, *next;
};

/* A client's request that is not answered. */
struct open_call {
	struct {
		uint64_t peer, id;
	} name;
	json_t *request;
	UT_hash_handle hh;
};

/* Who a connection of a client belongs to. */
struct caller {
	uint64_t peer;
	uid_t uid;
	UT_hash_handle hh;
};

struct process {
	struct leader *leader;
	unsigned int number;
	char machine[16];
	struct log log;
	struct sim_host *nodes, *clients;
	struct endpoint *endpoint;
	struct sent_round *rounds;         /* by id */
	const struct hostlist *part_nodes; /* of the part that is opened */
	struct store *store;
	struct engine *engine;
	struct engine_config_storage *config; /* the engine's */
	uint64_t epoch;
	bool is_fenced;     /* its disk belongs to another one, */
	uint64_t fenced_ms; /* since then */
	bool is_hung;       /* and does not even say no */
	bool is_stopping;
	bool is_serving;
	bool is_unwell;  /* its journal could not be read again */
	bool is_noticed; /* the operator knows that it has stopped */
	struct store_op *ops;
	uint64_t store_event, tick_event, tick_ms, end_event;
	char store_error[FAIRLEAD_ERROR_TEXT_MAX];
	struct open_call *calls;
	struct caller *callers;
	struct notify_run *notices;
	struct process *prev, *next;
};

/* A file of the state, as the backup has it. */
struct saved_file {
	const char *path;
	bool is_there;
	uint8_t *bytes;
	size_t size;
};

#define LEADER_FILES 3

struct leader {
	struct world *world;
	struct sim_rng rng;
	struct sim_disk *disk;
	struct leader_config config;
	struct process *processes; /* old ones, too */
	struct process *current;   /* NULL: none is up */
	unsigned int number_last;
	uint64_t start_event;
	uint64_t stops_seen; /* of the disk: the process died there */
	bool dies_of_power;
	bool dies_committed;
	bool wants_recovery;
	bool restored;         /* an old backup, some time ago */
	uint64_t delay_max_ms; /* of the disk */
	uint64_t backup_ms;    /* 0: there is none */
	uint64_t backup_epoch;
	bool restores, restores_whole;
	struct saved_file files[LEADER_FILES];
};

/* leader.c */
/* After each call that may have touched the disk, or moved a deadline. */
void process_settle(struct process *process);
/* True: it died in the midst of the call before. */
bool process_died(struct process *process);

/* leader_store.c */
extern const struct store_ops process_store_ops;
struct file_seam process_files(struct process *process);
void process_store_fini(struct process *process);

/* leader_ops.c: configuration, commands, clients */
extern const struct engine_ops process_engine_ops;
extern const struct net_ops process_client_ops;
extern const struct sim_network_events process_client_events;
void process_calls_fini(struct process *process);
void process_commands_fini(struct process *process);
/* Fill from leader->config; the storage has to live as long. */
struct engine_config_storage {
	struct engine_config config;
	char nodes[256];
	struct fairlead_setting slingshot[4], fabric[2], elan[ELAN_SETTINGS];
	struct core_driver_config drivers[4];
	struct engine_submitter submitters[2];
};
void leader_make_config(const struct leader *leader,
			struct engine_config_storage *storage);

/* leader_rounds.c */
extern const struct round_ops process_round_ops;
void process_endpoint_open(struct process *process);
/* The engine is gone. */
void process_endpoint_close(struct process *process);
void process_hops_take(struct process *process);

/* leader_backup.c */
void leader_put_back(struct leader *leader);
void leader_backup_fini(struct leader *leader);
