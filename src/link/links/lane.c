/* SPDX-License-Identifier: BSD-3-Clause */
#include "link/links/lane.h"

#include <string.h>

int lane_check(const char *lane, struct fairlead_error *error)
{
	for (size_t at = 0, size;; at += size + 1) {
		size = strspn(lane + at, LINKS_NAME_CHARS);
		if (size == 0)
			return error_set(error, -EINVAL,
					 "the name of a device is missing at "
					 "character %zu of \"%s\"",
					 at + 1, lane);
		if (size >= RAIL_NAME_MAX)
			return error_set(error, -EINVAL,
					 "a name is too long at character %zu "
					 "of \"%s\"",
					 at + 1, lane);
		if (lane[at + size] == '\0')
			return 0;
		if (lane[at + size] != ',')
			return error_set(error, -EINVAL,
					 "unexpected character at character "
					 "%zu of \"%s\"",
					 at + size + 1, lane);
	}
}

/* The device at *at, which then is behind it; false: there are no more. */
static bool next_device(const char **at, char ret_name[RAIL_NAME_MAX])
{
	size_t size = strcspn(*at, ",");

	if (size == 0)
		return false;
	memcpy(ret_name, *at, size);
	ret_name[size] = '\0';
	*at += size;
	*at += **at == ',';
	return true;
}

static bool has_device(const char *lane, const char *name)
{
	char device[RAIL_NAME_MAX];

	while (next_device(&lane, device))
		if (strcmp(device, name) == 0)
			return true;
	return false;
}

static bool has_rail(const struct link_text *link, const struct rail_text *rail)
{
	for (unsigned int i = 0; i < link->count; i++)
		if (strcmp(link->rails[i].provider, rail->provider) == 0 &&
		    strcmp(link->rails[i].domain, rail->domain) == 0)
			return true;
	return false;
}

static bool is_open(const struct rail_text *rail)
{
	return !links_is_local(rail->provider) && rail->domain[0] == '\0';
}

/* At most so many devices; those that the link has already are left out. */
static void add_devices(const char *lane, struct link_text *link,
			const struct rail_text *of, unsigned int most)
{
	struct rail_text rail = *of;

	for (unsigned int i = 0; i < most && next_device(&lane, rail.domain);
	     i++)
		if (!has_rail(link, &rail))
			link->rails[link->count++] = rail;
}

int lane_confine(const char *lane, struct link_text *link,
		 struct fairlead_error *error)
{
	struct link_text confined = { 0 };
	unsigned int open = 0;

	for (unsigned int i = 0; i < link->count; i++) {
		const struct rail_text *rail = &link->rails[i];
		if (is_open(rail))
			open++;
		else if (!links_is_local(rail->provider) &&
			 !has_device(lane, rail->domain))
			return error_set(error, -EINVAL,
					 "%s:%s is no device of this job's "
					 "lane, which has %s",
					 rail->provider, rail->domain, lane);
	}
	for (unsigned int i = 0; i < link->count; i++) {
		const struct rail_text *rail = &link->rails[i];
		if (is_open(rail))
			add_devices(lane, &confined, rail,
				    (RAILS_MAX - (link->count - open)) / open);
		else if (!has_rail(&confined, rail))
			confined.rails[confined.count++] = *rail;
	}
	*link = confined;
	return 0;
}
