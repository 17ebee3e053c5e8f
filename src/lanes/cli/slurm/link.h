/* SPDX-License-Identifier: BSD-3-Clause */
/* Which hook a link to our program stands for: Slurm gives hooks no arguments. */
#pragma once

/*
 * The first name of a hook ("prolog") on the way from path along the links: a
 * site may link to ours by a name of its own. NULL: there is none.
 */
const char *slurm_link_hook(const char *path);
