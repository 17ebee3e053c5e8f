/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Texts come from nodes: they are made clean and cut before they are compared,
 * so that what is shown as one is one. An errno without a text gets the
 * system's words for it.
 */
#include "lanes/manager/core/group.h"

#include <assert.h>
#include <stdio.h>

#include "base/json_text.h"
#include "lanes/manager/core/core.h"
#include "lanes/manager/core/fit.h"

void groups_fini(struct groups *groups)
{
	for (size_t i = 0; i < groups->count; i++) {
		free(groups->list[i].text);
		free(groups->list[i].nodes);
	}
	free(groups->list);
	*groups = (struct groups){ 0 };
}

static const char *words(int code, const char *text)
{
	if (text == NULL || text[0] == 0)
		text = code < 0 ? strerrordesc_np(-code) : "";
	return text == NULL ? "unknown error" : text;
}

static struct group *find(struct groups *groups, int code, const char *text)
{
	for (size_t i = 0; i < groups->count; i++) {
		struct group *group = &groups->list[i];

		if (group->code == code && strcmp(group->text, text) == 0)
			return group;
	}
	return NULL;
}

static struct group *add(struct groups *groups, int code, const char *text)
{
	struct group *group;

	if (groups->count == CORE_GROUPS_MAX)
		return NULL;
	groups->list = memory_resize(groups->list, groups->count + 1,
				     sizeof(*groups->list));
	group = &groups->list[groups->count++];
	*group = (struct group){ .code = code,
				 .text = memory_text_or_null(text) };
	return group;
}

void groups_add(struct groups *groups, int code, const char *text,
		uint32_t node)
{
	char clean[GROUP_TEXT_MAX + 1];
	struct group *group;

	text_fit(clean, sizeof(clean), words(code, text));
	groups->node_count++;
	group = find(groups, code, clean);
	if (group == NULL)
		group = add(groups, code, clean);
	if (group == NULL) {
		groups->more++;
		return;
	}
	if (group->node_count > 0 &&
	    group->nodes[group->node_count - 1] == node)
		return;
	if (group->node_count == group->node_capacity) {
		group->node_capacity = memory_more(group->node_capacity);
		group->nodes = memory_resize(group->nodes, group->node_capacity,
					     sizeof(*group->nodes));
	}
	group->nodes[group->node_count++] = node;
}

/* Host list of a group; the caller frees it. */
static char *group_nodes_text(const struct group *group,
			      const struct nodes *nodes)
{
	const char **names = memory_array(group->node_count, sizeof(*names));
	char *text;

	for (size_t i = 0; i < group->node_count; i++)
		names[i] = nodes_at(nodes, group->nodes[i])->name;
	text = memory_have(hostlist_format(names, group->node_count));
	free(names);
	return text;
}

char *groups_json(const struct groups *groups, const struct nodes *nodes,
		  bool has_errno)
{
	struct json_text text = { 0 };

	write_plain(&text.writer, "[");
	for (size_t i = 0; i < groups->count; i++) {
		const struct group *group = &groups->list[i];
		_auto_(freep) char *names = group_nodes_text(group, nodes);

		write_plain(&text.writer, i > 0 ? "," : "");
		json_text_begin(&text);
		json_text_string(&text, "nodes", names);
		json_text_string(&text, "text", group->text);
		if (has_errno)
			json_text_signed(&text, "errno", group->code);
		json_text_end(&text);
	}
	write_plain(&text.writer, "]");
	return memory_have(json_text_take(&text));
}

void groups_format(const struct groups *groups, const struct nodes *nodes,
		   char *text, size_t capacity)
{
	size_t used = 0;

	assert(capacity >= sizeof("..."));
	text[0] = 0;
	for (size_t i = 0; i < groups->count && used < capacity; i++) {
		char *names = group_nodes_text(&groups->list[i], nodes);
		int size = snprintf(text + used, capacity - used, "%s%s: %s",
				    i > 0 ? "; " : "", names,
				    groups->list[i].text);

		used += (size_t)size;
		free(names);
	}
	if (groups->more > 0 && used < capacity)
		used += (size_t)snprintf(text + used, capacity - used,
					 "; and %zu more", groups->more);
	if (used >= capacity)
		text_cut(text, capacity);
	text_clean(text);
}
