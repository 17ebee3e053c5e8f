/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files in Lua by which Flux's job shells load plugins: an initrc, and those of
 * lua.d beside it. What they do is not known without running them; this reads
 * the calls whose arguments are plain texts, wherever they stand. Pure.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

enum initrc_kind {
	INITRC_LOAD,   /* plugin.load: of a file, or of a pattern */
	INITRC_SOURCE, /* source, source_if_exists: likewise, of Lua */
	INITRC_RCPATH, /* shell.source_rcpath: of lua.d beside the initrc */
};

struct initrc_call {
	enum initrc_kind kind;
	char *file;   /* "": it does not say so in a text */
	json_t *conf; /* of a load: {name: text}, null where it is no text */
};

/*
 * The next call from *rest on, which moves behind it; false: there is none, or
 * memory is out. initrc_call_fini() after a true one.
 */
bool initrc_next(const char **rest, struct initrc_call *ret_call);
void initrc_call_fini(struct initrc_call *call);
