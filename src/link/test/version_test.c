/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library says nothing to a libfabric that it was not built for. This
 * program is that libfabric: its fi_version() is found first.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>

#include <rdma/fabric.h>
#include <rdma/providers/fi_prov.h>

static uint32_t version;

__attribute__((visibility("default"))) uint32_t fi_version(void)
{
	return version;
}

int main(int argc, char **argv)
{
	static const struct {
		uint32_t version;
		bool is_served;
	} cases[] = {
		{ FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), true },
		{ FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION + 1), false },
		{ FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION - 1), false },
		{ FI_VERSION(FI_MAJOR_VERSION + 1, FI_MINOR_VERSION), false },
	};
	void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	struct fi_provider *(*init)(void) = NULL;
	int bad = 0;

	if (library != NULL)
		*(void **)&init = dlsym(library, "fi_prov_ini");
	if (init == NULL) {
		fprintf(stderr, "no library: %s\n", dlerror());
		return 1;
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		version = cases[i].version;
		if ((init() != NULL) == cases[i].is_served)
			continue;
		fprintf(stderr, "%u.%u is %sserved\n", FI_MAJOR(version),
			FI_MINOR(version), cases[i].is_served ? "not " : "");
		bad++;
	}
	return bad > 0;
}
