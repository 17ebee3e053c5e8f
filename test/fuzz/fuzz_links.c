/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Texts of links, and the same as a lane: refused with a text, or each link
 * written and read again, and confined.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "link/links/lane.h"

static void confine(const char *lane, const struct link_text *link)
{
	struct link_text confined = *link;
	struct fairlead_error error = { 0 };

	if (lane_confine(lane, &confined, &error) != 0) {
		fuzz_check(error.code == -EINVAL && error.text[0] != '\0');
		return;
	}
	fuzz_check(confined.count >= 1 && confined.count <= RAILS_MAX);
	for (unsigned int i = 0; i < confined.count; i++) {
		const struct rail_text *rail = &confined.rails[i];
		fuzz_check(links_is_local(rail->provider) ||
			   strstr(lane, rail->domain) != NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char again[4096];
	struct links links, back;
	struct fairlead_error error = { 0 };
	char *text = strndup((const char *)data, size);

	fuzz_check(text != NULL);
	bool is_lane = lane_check(text, NULL) == 0;

	if (links_parse(text, &links, &error) != 0) {
		fuzz_check(error.code == -EINVAL && error.text[0] != '\0');
		free(text);
		return 0;
	}
	for (unsigned int i = 0; i < links.count; i++) {
		confine("f0,f1,f2,f3,f4", &links.links[i]);
		if (is_lane)
			confine(text, &links.links[i]);
	}
	free(text);
	for (unsigned int i = 0; i < links.count; i++) {
		links_format(&links.links[i], again, sizeof(again));
		fuzz_check(links_parse(again, &back, &error) == 0);
		fuzz_check(back.count == 1);
		fuzz_check(memcmp(&back.links[0], &links.links[i],
				  sizeof(back.links[0])) == 0);
	}
	return 0;
}
