/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The job managers whose lists grants are compared with. Their commands run as
 * the caller, with its environment but for what would have them leave jobs out
 * of a list.
 */
#pragma once

#include "lanes/cli/reconcile/listing.h"
#include "lanes/config/config.h"

struct reconcile_source {
	const char *option; /* "slurm" */
	const char *title;  /* "Slurm" */
	const struct config_job_manager *(*section)(
		const struct config *config);
	/*
	 * Does the caller see all jobs, and those of this cluster, and does the
	 * manager, where it is, show him their grants? Called before `list`.
	 * -EPERM, -EINVAL, or as child_run() says.
	 */
	int (*check)(const struct config_job_manager *section,
		     const char *manager, struct fairlead_error *ret_error);
	/* One list. As child_run() says, and listing_parse_slurm(). */
	int (*list)(const struct config_job_manager *section,
		    struct job_listing **ret_listing,
		    struct fairlead_error *ret_error);
	bool (*is_name)(const char *name);
};

/* All of them, ended by NULL. */
extern const struct reconcile_source *const reconcile_sources[];
