/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/elan3/policy.h"

#include <string.h>

#include "base/memory.h"
#include "lanes/driver/common/options.h"
#include "lanes/driver/elan3/hosts.h"
#include "lanes/driver/elan3/settings.h"

/* --- settings --- */

void elan3_policy_fini(struct elan3_policy *policy)
{
	idset_destroy(policy->contexts);
	idset_destroy(policy->programs);
	idset_destroy(policy->down);
	for (size_t i = 0; i < ELAN3_RAILS_MAX; i++)
		idset_destroy(policy->down_ports[i]);
	*policy = (struct elan3_policy){ 0 };
}

/* One word "RAIL:ELANIDS". -EINVAL. */
static int ports_add(struct idset *ports[ELAN3_RAILS_MAX], char *word)
{
	_auto_(idset_destroyp) struct idset *set = NULL;
	char *ids = word;
	uint32_t rail;

	strsep(&ids, ":");
	if (!ids || !number_parse(word, 0, ELAN3_RAILS_MAX - 1, &rail) ||
	    memory_check(idset_parse(ids, ELAN_ID_MAX + 1, &set, NULL)) < 0)
		return -EINVAL;
	if (ports[rail])
		idset_unite(ports[rail], set);
	else
		ports[rail] = take_ptr(set);
	return 0;
}

int elan3_ports_parse(const char *text, struct idset *ports[ELAN3_RAILS_MAX],
		      struct fairlead_error *ret_error)
{
	_auto_(freep) char *words = memory_text(text);
	char *rest = words, *word;

	while ((word = strsep(&rest, " \t")) != NULL)
		if (*word != 0 && ports_add(ports, word) < 0)
			return error_set(ret_error, -EINVAL,
					 "'%.80s' is not RAIL:ELANIDS, as "
					 "1:3-5",
					 word);
	return 0;
}

void elan3_policy_init(struct elan3_policy *policy,
		       const struct elan3_settings *settings)
{
	*policy = (struct elan3_policy){
		.rail_count = settings->rail_count,
		.is_reserve_fatal = settings->is_reserve_fatal,
	};
	memory_check(idset_parse(settings->contexts, ELAN3_CONTEXT_LIMIT,
				 &policy->contexts, NULL));
	memory_check(idset_parse(settings->programs, ELAN3_PROGRAM_LIMIT,
				 &policy->programs, NULL));
	memory_check(idset_parse(settings->down, ELAN_ID_MAX + 1, &policy->down,
				 NULL));
	elan3_ports_parse(settings->down_ports, policy->down_ports, NULL);
}

bool elan3_policy_is_down(const struct elan3_policy *policy, uint32_t id,
			  uint32_t rails)
{
	if (idset_has(policy->down, id))
		return true;
	for (uint32_t i = 0; i < ELAN3_RAILS_MAX; i++)
		if ((rails >> i & 1) && policy->down_ports[i] &&
		    idset_has(policy->down_ports[i], id))
			return true;
	return false;
}

/* --- a job's options --- */

static int layout_read(const struct option *option,
		       struct elan3_request *request,
		       struct fairlead_error *ret_error)
{
	if (option->value && strcmp(option->value, "cyclic") == 0)
		request->is_cyclic = true;
	else if (!option->value || strcmp(option->value, "block") != 0)
		return error_set(ret_error, -EINVAL,
				 "option 'layout' has to be block or cyclic");
	return 0;
}

/* One set, "0+1", into a mask. */
static int set_parse(char *text, uint32_t rail_count, uint32_t used,
		     uint32_t *ret_set, struct fairlead_error *ret_error)
{
	uint32_t set = 0, rail;
	char *word;

	while ((word = strsep(&text, "+")) != NULL) {
		if (!number_parse(word, 0, rail_count - 1, &rail))
			return error_set(ret_error, -EINVAL,
					 "option 'rails': '%.40s' is no rail, "
					 "0 to %u",
					 word, rail_count - 1);
		if (((set | used) >> rail) & 1)
			return error_set(ret_error, -EINVAL,
					 "option 'rails' has rail %u twice",
					 rail);
		set |= 1u << rail;
	}
	*ret_set = set;
	return 0;
}

static int rails_read(const struct option *option, uint32_t rail_count,
		      struct elan3_request *request,
		      struct fairlead_error *ret_error)
{
	char text[FAIRLEAD_OPTIONS_MAX + 1] = "";
	uint32_t used = 0;
	char *rest = text;
	char *word;

	if (option->value)
		strcpy(text, option->value);
	request->set_count = 0;
	while ((word = strsep(&rest, ":")) != NULL) {
		uint32_t mask = 0;
		int result =
			set_parse(word, rail_count, used, &mask, ret_error);

		if (result < 0)
			return result;
		if (request->set_count == ELAN3_CAPS_MAX)
			return error_set(ret_error, -EINVAL,
					 "option 'rails' has more than %d sets",
					 ELAN3_CAPS_MAX);
		request->sets[request->set_count++] = mask;
		used |= mask;
	}
	return 0;
}

static int option_read(const struct option *option, uint32_t rail_count,
		       struct elan3_request *request,
		       struct fairlead_error *ret_error)
{
	if (strcmp(option->name, "off") == 0)
		return option_flag(option, &request->is_off, ret_error);
	if (strcmp(option->name, "contiguous") == 0)
		return option_flag(option, &request->is_contiguous, ret_error);
	if (strcmp(option->name, "layout") == 0)
		return layout_read(option, request, ret_error);
	if (strcmp(option->name, "rails") == 0)
		return rails_read(option, rail_count, request, ret_error);
	if (strcmp(option->name, "contexts") == 0)
		return option_number(option, 1,
				     ELAN3_CONTEXT_LIMIT - ELAN3_CONTEXT_FIRST,
				     &request->contexts, ret_error);
	return error_set(ret_error, -EINVAL,
			 "interconnect 'elan3' has no option '%s'",
			 option->name);
}

int elan3_request_parse(const char *text, uint32_t rail_count,
			struct elan3_request *ret_request,
			struct fairlead_error *ret_error)
{
	struct elan3_request request = { .set_count = 1, .sets = { 1 } };
	struct options options;
	int result = options_parse(&options, text, ret_error);

	for (size_t i = 0; result == 0 && i < options.count; i++)
		result = option_read(&options.items[i], rail_count, &request,
				     ret_error);
	if (result == 0)
		result = options_check_off(&options, request.is_off, ret_error);
	if (result == 0)
		*ret_request = request;
	return result;
}

static void rails_format(const struct elan3_request *request,
			 char text[FAIRLEAD_OPTIONS_MAX + 1])
{
	for (uint32_t i = 0; i < request->set_count; i++) {
		const char *before = i == 0 ? ",rails=" : ":";

		for (uint32_t rail = 0; rail < ELAN3_RAILS_MAX; rail++) {
			if (!(request->sets[i] >> rail & 1))
				continue;
			options_append(text, "%s%u", before, rail);
			before = "+";
		}
	}
}

void elan3_request_format(const struct elan3_request *request,
			  char text[FAIRLEAD_OPTIONS_MAX + 1])
{
	text[0] = 0;
	if (request->is_off) {
		options_append(text, "off");
		return;
	}
	options_append(text, "layout=%s",
		       request->is_cyclic ? "cyclic" : "block");
	rails_format(request, text);
	if (request->contexts > 0)
		options_append(text, ",contexts=%u", request->contexts);
	if (request->is_contiguous)
		options_append(text, ",contiguous");
}

uint32_t elan3_request_rails(const struct elan3_request *request)
{
	uint32_t rails = 0;

	for (uint32_t i = 0; i < request->set_count; i++)
		rails |= request->sets[i];
	return rails;
}
