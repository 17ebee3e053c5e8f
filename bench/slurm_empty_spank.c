/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A SPANK plugin that does nothing, wherever ours does something: what any
 * plugin costs a job.
 */
#include <stddef.h>

#pragma GCC visibility push(default)
#include <slurm/spank.h>

SPANK_PLUGIN(empty, 1)
#pragma GCC visibility pop

static int option_taken(int val, const char *text, int is_remote)
{
	return 0;
}

static struct spank_option option = {
	.name = (char *)"empty",
	.arginfo = (char *)"TEXT",
	.usage = (char *)"does nothing",
	.has_arg = 1,
	.cb = option_taken,
};

int slurm_spank_init(spank_t spank, int argc, char **argv)
{
	spank_context_t context = spank_context();

	if (context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR ||
	    context == S_CTX_REMOTE)
		spank_option_register(spank, &option);
	return 0;
}

int slurm_spank_init_post_opt(spank_t spank, int argc, char **argv)
{
	return 0;
}

int slurm_spank_user_init(spank_t spank, int argc, char **argv)
{
	return 0;
}

int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
	return 0;
}
