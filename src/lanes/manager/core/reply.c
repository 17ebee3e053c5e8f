/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers to clients. */
#include <stdio.h>

#include "base/text.h"
#include "lanes/manager/core/out.h"

void core_reply_done(struct core *core, uint64_t token, const char *members)
{
	struct core_reply reply = { .members = members };

	core->ops->reply(core->ops_ctx, token, &reply);
}

char *core_json_text(json_t *tree_owned)
{
	char *text = memory_have(json_dumps(tree_owned, JSON_COMPACT));

	json_decref(tree_owned);
	return text;
}

void core_reply_failed(struct core *core, uint64_t token, int code,
		       const char *hint, const char *text, const char *members)
{
	struct core_reply reply = {
		.result = code,
		.text = text,
		.hint = hint,
		.members = members,
	};

	core->ops->reply(core->ops_ctx, token, &reply);
}

void core_reply_error(struct core *core, uint64_t token, enum edge edge,
		      int code, const char *hint, const char *format, ...)
{
	char text[FAIRLEAD_ERROR_TEXT_MAX];
	va_list args;
	int size;

	va_start(args, format);
	size = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (size >= (int)sizeof(text))
		text_cut(text, sizeof(text));
	text_clean(text);
	core_hit(core, edge);
	core_reply_failed(core, token, code, hint, text, NULL);
}
