/* SPDX-License-Identifier: BSD-3-Clause */
/* One pass over the text, which is never changed. */
#include "link/links/links.h"

#include <stdio.h>
#include <string.h>

struct links_cursor {
	const char *text;
	size_t at;
	struct fairlead_error *error;
};

static int refuse(const struct links_cursor *c, size_t at, const char *what)
{
	return error_set(c->error, -EINVAL, "%s at character %zu of \"%s\"",
			 what, at + 1, c->text);
}

bool links_is_local(const char *provider)
{
	return strcmp(provider, "shm") == 0;
}

static int take_name(struct links_cursor *c, const char *what,
		     char ret_name[RAIL_NAME_MAX])
{
	size_t begin = c->at, size;
	size = strspn(c->text + begin, LINKS_NAME_CHARS);
	c->at += size;
	if (size == 0)
		return error_set(c->error, -EINVAL,
				 "the name of a %s is missing at character %zu "
				 "of \"%s\"",
				 what, begin + 1, c->text);
	if (size >= RAIL_NAME_MAX)
		return refuse(c, begin, "a name is too long");
	memcpy(ret_name, c->text + begin, size);
	ret_name[size] = '\0';
	return 0;
}

static bool has_rail(const struct link_text *link, const struct rail_text *rail)
{
	for (unsigned int i = 0; i < link->count; i++)
		if (strcmp(link->rails[i].provider, rail->provider) == 0 &&
		    strcmp(link->rails[i].domain, rail->domain) == 0)
			return true;
	return false;
}

static int add_rail(struct links_cursor *c, size_t begin,
		    struct link_text *link, const struct rail_text *rail)
{
	unsigned int place = link->count;
	if (has_rail(link, rail))
		return refuse(c, begin, "the same rail is there twice");
	if (link->count == RAILS_MAX)
		return refuse(c, begin, "a link has too many rails");
	if (links_is_local(rail->provider)) {
		memmove(&link->rails[1], &link->rails[0],
			link->count * sizeof(link->rails[0]));
		place = 0;
	}
	link->rails[place] = *rail;
	link->count++;
	return 0;
}

static int take_member(struct links_cursor *c, struct link_text *link)
{
	struct rail_text rail = { 0 };
	size_t begin = c->at;
	int result = take_name(c, "provider", rail.provider);
	if (result != 0)
		return result;
	if (c->text[c->at] != ':')
		return add_rail(c, begin, link, &rail);
	if (links_is_local(rail.provider))
		return refuse(c, c->at, "shared memory has no domains");
	do {
		c->at++;
		begin = c->at;
		result = take_name(c, "domain", rail.domain);
		if (result == 0)
			result = add_rail(c, begin, link, &rail);
	} while (result == 0 && c->text[c->at] == ',');
	return result;
}

static int take_link(struct links_cursor *c, struct link_text *link)
{
	int result = take_member(c, link);
	while (result == 0 && c->text[c->at] == '+') {
		c->at++;
		result = take_member(c, link);
	}
	return result;
}

int links_parse(const char *text, struct links *ret_links,
		struct fairlead_error *error)
{
	struct links_cursor c = { .text = text, .error = error };
	struct links links = { 0 };
	for (;;) {
		if (links.count == LINKS_MAX)
			return refuse(&c, c.at, "there are too many links");
		int result = take_link(&c, &links.links[links.count]);
		if (result != 0)
			return result;
		links.count++;
		if (text[c.at] != '|')
			break;
		c.at++;
	}
	if (text[c.at] != '\0')
		return refuse(&c, c.at, "unexpected character");
	*ret_links = links;
	return 0;
}

void links_format(const struct link_text *link, char *text, size_t size)
{
	size_t used = 0;
	text[0] = '\0';
	for (unsigned int i = 0; i < link->count; i++) {
		const struct rail_text *rail = &link->rails[i];
		const struct rail_text *last = i > 0 ? rail - 1 : rail;
		bool more = i > 0 && rail->domain[0] != '\0' &&
			    last->domain[0] != '\0' &&
			    strcmp(rail->provider, last->provider) == 0;
		int written =
			snprintf(text + used, size - used, "%s%s%s%s",
				 i == 0 ? ""
				 : more ? ","
					: "+",
				 more ? "" : rail->provider,
				 more || rail->domain[0] == '\0' ? "" : ":",
				 rail->domain);
		if (written < 0 || (size_t)written >= size - used)
			return;
		used += (size_t)written;
	}
}
