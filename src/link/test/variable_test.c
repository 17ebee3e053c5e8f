/* SPDX-License-Identifier: BSD-3-Clause */
/* What a site says of links: by which variable, and what is said of mistakes. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link/test/pair.h"
#include "link/test/said.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* The first of them that is set counts. */
static const char *const names[] = { "FI_FAIRLEAD_LINKS", "FI_LNX_PROV_LINKS",
				     "FI_LINKX_PROV_LINKS" };

#define LANE "FAIRLEAD_INTERFACES"

static void all_unset(void)
{
	for (unsigned int i = 0; i < COUNT_OF(names); i++)
		unsetenv(names[i]);
}

static struct fi_info *ask(void)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	pair_check(hints != NULL);
	hints->mode = FI_CONTEXT;
	hints->fabric_attr->prov_name = strdup("fairlead");
	if (fi_getinfo(fi_version(), NULL, NULL, 0, hints, &info) != 0)
		info = NULL;
	fi_freeinfo(hints);
	return info;
}

static bool is_among(const struct fi_info *list, const char *core)
{
	while (list != NULL && strstr(list->domain_attr->name, core) == NULL)
		list = list->next;
	return list != NULL;
}

/* Whether the links are these, by the names of their domains. */
static bool is_answered(const char *first, const char *second)
{
	struct fi_info *info = ask();
	bool is_it = info != NULL &&
		     strcmp(info->domain_attr->name, first) == 0 &&
		     (info->next == NULL) == (second == NULL) &&
		     (second == NULL ||
		      strcmp(info->next->domain_attr->name, second) == 0);

	fi_freeinfo(info);
	return is_it;
}

/* Whether there is no answer, and that is said meanwhile. */
static bool is_refused(const char *because)
{
	struct fi_info *info;
	const char *said;

	said_begin();
	info = ask();
	said = said_end();
	if (info == NULL && strstr(said, because) != NULL)
		return true;
	fputs(said, stderr);
	fi_freeinfo(info);
	return false;
}

static void each_name_is_understood(void)
{
	for (unsigned int i = 0; i < COUNT_OF(names); i++) {
		all_unset();
		setenv(names[i], "testcore:tc1|shm", 1);
		pair_check(is_answered("testcore:tc1", "shm"));
		setenv(names[i], "shm+testcore:tc0,tc1", 1);
		pair_check(is_answered("shm+testcore:tc0,tc1", NULL));
	}
}

static void the_first_name_counts(void)
{
	static const char *const texts[] = { "testcore:tc0", "testcore:tc1",
					     "shm" };

	for (unsigned int i = 0; i < COUNT_OF(names); i++)
		setenv(names[i], texts[i], 1);
	for (unsigned int i = 0; i < COUNT_OF(names); i++) {
		pair_check(is_answered(texts[i], NULL));
		/* One that is empty says as little as none. */
		if (i % 2 == 0)
			setenv(names[i], "", 1);
		else
			unsetenv(names[i]);
	}
}

/* Of what is wrong nothing else is made: not what the next one says. */
static void what_is_wrong_is_said_by_name_and_place(void)
{
	for (unsigned int i = 0; i < COUNT_OF(names); i++) {
		char because[128];
		all_unset();
		for (unsigned int k = i; k < COUNT_OF(names); k++)
			setenv(names[k], k == i ? "shm+testcore:" : "shm", 1);
		snprintf(because, sizeof(because),
			 "%s: the name of a domain is missing at character 14",
			 names[i]);
		pair_check(is_refused(because));
	}
}

static void which_provider_is_missing_is_said(void)
{
	all_unset();
	setenv(names[0], "shm+nosuch:tc0", 1);
	pair_check(is_refused("nosuch:tc0 is not there"));
	setenv(names[0], "shm+testcore:tc0,tc7", 1);
	pair_check(is_refused("testcore:tc7 is not there"));
	/* The others are there, if several were named. */
	setenv(names[0], "shm+nosuch|testcore:tc0", 1);
	pair_check(is_answered("testcore:tc0", NULL));
}

/* By any spelling that libfabric takes for its name. */
static void it_joins_no_link_of_its_own(void)
{
	all_unset();
	setenv(names[0], "shm+fairlead", 1);
	pair_check(is_refused("fairlead cannot be joined by itself"));
	setenv(names[0], "FairLead:tc0", 1);
	pair_check(is_refused("cannot be joined by itself"));
	setenv(names[0], "fairlead;ofi_rxm", 1);
	pair_check(is_refused("cannot be joined by itself"));
}

/* An order that is promised is kept, or there is no link. */
static void a_buffer_that_is_too_small_for_a_frame_is_refused(void)
{
	all_unset();
	setenv(names[0], "tcp;ofi_rxm", 1);
	setenv("FI_OFI_RXM_BUFFER_SIZE", "383", 1);
	pair_check(is_refused("FI_OFI_RXM_BUFFER_SIZE is less than 384"));
	setenv("FI_OFI_RXM_BUFFER_SIZE", "384", 1);
	pair_check(is_answered("tcp;ofi_rxm:lo", NULL));
	unsetenv("FI_OFI_RXM_BUFFER_SIZE");
}

/* What is sent within a job stays in its lane, or is not sent. */
static void without_its_lane_nothing_is_offered(void)
{
	all_unset();
	setenv(LANE, "e0,,e1", 1);
	pair_check(is_refused(LANE ": the name of a device is missing"));
	setenv(LANE, "nosuch0", 1);
	pair_check(is_refused("tcp;ofi_rxm:nosuch0 is not there"));
	unsetenv(LANE);
}

/* The first device that libfabric lists is none of its, as a rule. */
static void without_a_device_a_rail_is_those_of_the_lane(void)
{
	for (unsigned int i = 0; i < COUNT_OF(names); i++) {
		all_unset();
		setenv(LANE, "tc1", 1);
		setenv(names[i], "shm+testcore", 1);
		pair_check(is_answered("shm+testcore:tc1", NULL));
		setenv(LANE, "tc1,tc0", 1);
		pair_check(is_answered("shm+testcore:tc1,tc0", NULL));
	}
	setenv(LANE, "lo", 1);
	setenv(names[0], "shm+tcp;ofi_rxm", 1);
	pair_check(is_answered("shm+tcp;ofi_rxm:lo", NULL));
	unsetenv(LANE);
}

static void a_device_that_is_none_of_the_lane_is_refused(void)
{
	all_unset();
	setenv(LANE, "tc1", 1);
	setenv(names[0], "shm+testcore:tc0", 1);
	pair_check(is_refused("testcore:tc0 is no device of this job's lane"));
	setenv(names[0], "shm+testcore:tc1", 1);
	pair_check(is_answered("shm+testcore:tc1", NULL));
	/* The others are there, if several were named. */
	setenv(names[0], "testcore:tc0|testcore|shm", 1);
	pair_check(is_answered("testcore:tc1", "shm"));
	unsetenv(LANE);
}

static void where_nothing_is_named_shared_memory_is_joined(void)
{
	struct fi_info *list;

	all_unset();
	list = ask();
	pair_check(list != NULL);
	for (struct fi_info *info = list; info != NULL; info = info->next)
		pair_check(strncmp(info->domain_attr->name, "shm+", 4) == 0);
	pair_check(is_among(list, "tcp;ofi_rxm"));
	fi_freeinfo(list);
}

static unsigned int descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned int count = 0;

	pair_check(folder != NULL);
	while (readdir(folder) != NULL)
		count++;
	closedir(folder);
	return count;
}

/* Nothing of the others stays open, and it is there when they are all. */
static void one_that_fails_leaves_nothing(void)
{
	static const char *const faults[] = { "fabric:1:eio", "fabric:2:eio" };
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fi_info *info;
	unsigned int before;

	all_unset();
	setenv(names[0], "shm+testcore:tc0,tc1", 1);
	info = ask();
	pair_check(info != NULL);
	pair_do(fi_fabric(info->fabric_attr, &fabric, NULL));
	before = descriptors();
	for (unsigned int i = 0; i < COUNT_OF(faults); i++) {
		setenv("TESTCORE_FAULTS", faults[i], 1);
		pair_check(fi_domain(fabric, info, &domain, NULL) == -FI_EIO);
		pair_check(descriptors() == before);
	}
	unsetenv("TESTCORE_FAULTS");
	pair_do(fi_domain(fabric, info, &domain, NULL));
	pair_do(fi_close(&domain->fid));
	pair_check(descriptors() == before);
	pair_do(fi_close(&fabric->fid));
	fi_freeinfo(info);
}

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
		pair_case(each_name_is_understood),
		pair_case(the_first_name_counts),
		pair_case(what_is_wrong_is_said_by_name_and_place),
		pair_case(which_provider_is_missing_is_said),
		pair_case(it_joins_no_link_of_its_own),
		pair_case(a_buffer_that_is_too_small_for_a_frame_is_refused),
		pair_case(without_its_lane_nothing_is_offered),
		pair_case(without_a_device_a_rail_is_those_of_the_lane),
		pair_case(a_device_that_is_none_of_the_lane_is_refused),
		pair_case(where_nothing_is_named_shared_memory_is_joined),
		pair_case(one_that_fails_leaves_nothing),
	};

	for (unsigned int i = 0; i < COUNT_OF(cases); i++) {
		printf("%s\n", cases[i].name);
		fflush(stdout);
		cases[i].run();
	}
	return 0;
}
