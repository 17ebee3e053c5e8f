/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of single values: each reports what is wrong at its line. */
#pragma once

#include "lanes/config/report.h"
#include "fairlead_driver.h"

enum check_kind {
	CHECK_NAME,            /* 1..64 of [A-Za-z0-9._-] */
	CHECK_NODE_NAME,       /* one host name, or "" */
	CHECK_NODES,           /* host list without duplicates, or "" */
	CHECK_PATH,            /* absolute */
	CHECK_PATH_OR_NONE,    /* absolute, or "" */
	CHECK_ADDRESS,         /* HOST:PORT */
	CHECK_ADDRESS_OR_NONE, /* HOST:PORT, or "" */
	CHECK_LISTEN,          /* numeric ADDRESS:PORT */
	CHECK_LISTEN_OR_NONE,  /* numeric ADDRESS:PORT, or "" */
	CHECK_PLACE_OR_NONE,   /* as address_parse_listen() has it, or "" */
	CHECK_PROVIDER,        /* libfabric's, and its layers: "tcp;ofi_rxm" */
	CHECK_USER,            /* not empty */
	CHECK_DRIVER,          /* checked with the drivers */
	CHECK_SUBMITTER,       /* as check_submitter_name() has it */
	CHECK_MANAGER_OR_NONE, /* absolute path, tcp://[USER@]HOST:PORT, or "" */
};

/* Report at the line unless the value of `key` is right. */
void check_text(enum check_kind kind, const char *key, const char *value,
		unsigned int line, struct report *report);
/* 1..max seconds as milliseconds; 0 when it was reported. */
uint32_t check_seconds(const char *key, const char *value, uint32_t max,
		       unsigned int line, struct report *report);
/* A number below UINT32_MAX; false when it was reported. */
bool check_number(const char *key, const char *value, uint32_t *ret_number,
		  unsigned int line, struct report *report);
bool check_submitter_name(const char *name, unsigned int line,
			  struct report *report);
/* What the driver's manager half says to its settings. -ENOMEM. */
int check_driver(const struct fairlead_driver *driver,
		 const struct fairlead_setting *settings, size_t count,
		 struct report *report);
