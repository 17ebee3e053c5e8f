/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/cli/reconcile/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lanes/cli/child.h"
#include "lanes/cli/slurm/commands.h"
#include "lanes/cli/slurm/settings.h"

typedef int parse_fn(const char *text, size_t size,
		     struct job_listing **ret_listing,
		     struct fairlead_error *ret_error);

static int run_list(const char *commands, const char *const *argv,
		    parse_fn *parse, struct job_listing **ret_listing,
		    struct fairlead_error *ret_error)
{
	_auto_(freep) char *text = NULL;
	size_t size = 0;
	int result = child_run(commands, argv, CHILD_TIMEOUT_MS, &text, &size,
			       ret_error);

	return result < 0 ? result : parse(text, size, ret_listing, ret_error);
}

/* --- Slurm --- */

static const struct config_job_manager *slurm_section(
	const struct config *config)
{
	return &config->slurm;
}

/* Slurm shows others their own jobs only, where PrivateData says so. */
static int slurm_check(const struct config_job_manager *section,
		       const char *manager, struct fairlead_error *ret_error)
{
	static const char *const argv[] = { "scontrol", "show", "config",
					    NULL };
	_auto_(freep) char *text = NULL;
	_auto_(freep) char *private = NULL;
	_auto_(freep) char *user = NULL;
	uid_t uid;
	int result;

	slurm_commands_prepare(section);
	result = child_run(section->commands, argv, CHILD_TIMEOUT_MS, &text,
			   NULL, ret_error);
	if (result < 0)
		return result;
	user = slurm_setting(text, "SlurmUser");
	private = slurm_setting(text, "PrivateData");
	if (!slurm_setting_uid(user, &uid))
		return error_set(ret_error, -EINVAL,
				 "'scontrol show config' does not say who "
				 "SlurmUser is");
	if (geteuid() != 0 && geteuid() != uid)
		return error_set(ret_error, -EPERM,
				 "only root and Slurm's user, %s, are sure to "
				 "be shown all jobs (PrivateData=%s)",
				 user, private ? private : "none");
	if (geteuid() == 0 && uid != 0 && strncmp(manager, "tcp://", 6) == 0)
		return error_set(ret_error, -EPERM,
				 "over TCP root is a user like others, and is "
				 "not shown whose grants there are; call this "
				 "as Slurm's user, %s",
				 user);
	return 0;
}

static int slurm_list(const struct config_job_manager *section,
		      struct job_listing **ret_listing,
		      struct fairlead_error *ret_error)
{
	static const char *const argv[] = LISTING_SQUEUE;

	return run_list(section->commands, argv, listing_parse_slurm,
			ret_listing, ret_error);
}

static const struct reconcile_source slurm = {
	.option = "slurm",
	.title = "Slurm",
	.section = slurm_section,
	.check = slurm_check,
	.list = slurm_list,
	.is_name = listing_is_slurm_name,
};

/* --- Flux --- */

static const struct config_job_manager *flux_section(
	const struct config *config)
{
	return &config->flux;
}

/* In a job of Flux's the commands ask the instance that the job is. */
static int flux_check(const struct config_job_manager *section,
		      const char *manager, struct fairlead_error *ret_error)
{
	static const char *const argv[] = { "flux", "getattr", "instance-level",
					    NULL };
	_auto_(freep) char *text = NULL;
	int result = child_run(section->commands, argv, CHILD_TIMEOUT_MS, &text,
			       NULL, ret_error);

	if (result == 0 && strcmp(text, "0\n") != 0)
		return error_set(ret_error, -EINVAL,
				 "this is an instance of Flux within a job, "
				 "which has no lanes of its own; call this "
				 "outside of it");
	return result;
}

static int flux_list(const struct config_job_manager *section,
		     struct job_listing **ret_listing,
		     struct fairlead_error *ret_error)
{
	static const char *const argv[] = LISTING_FLUX;

	return run_list(section->commands, argv, listing_parse_flux,
			ret_listing, ret_error);
}

static const struct reconcile_source flux = {
	.option = "flux",
	.title = "Flux",
	.section = flux_section,
	.check = flux_check,
	.list = flux_list,
	.is_name = listing_is_flux_name,
};

const struct reconcile_source *const reconcile_sources[] = { &slurm, &flux,
							     NULL };
