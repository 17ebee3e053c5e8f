/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fi-domain PROVIDER: open every domain that a provider of libfabric has here,
 * and print its name. On a NIC that takes what the NIC's driver gives to a
 * process, and nothing of what carries messages.
 */
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION FI_VERSION(1, 17)

static int open_one(struct fi_info *info)
{
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	int result = fi_fabric(info->fabric_attr, &fabric, NULL);

	if (result < 0)
		return result;
	result = fi_domain(fabric, info, &domain, NULL);
	if (result == 0)
		fi_close(&domain->fid);
	fi_close(&fabric->fid);
	return result;
}

int main(int argc, char **argv)
{
	struct fi_info *hints = fi_allocinfo();
	struct fi_info *list = NULL;
	const char *last = "";
	int result;

	if (argc != 2 || hints == NULL)
		return 2;
	hints->fabric_attr->prov_name = strdup(argv[1]);
	hints->mode = ~0ull;
	hints->domain_attr->mode = ~0ull;
	hints->domain_attr->mr_mode = ~(FI_MR_BASIC | FI_MR_SCALABLE);
	result = fi_getinfo(VERSION, NULL, NULL, 0, hints, &list);
	for (struct fi_info *info = list; result == 0 && info != NULL;
	     info = info->next) {
		const char *name = info->domain_attr->name;

		if (strcmp(name, last) == 0)
			continue; /* another kind of endpoint on it */
		last = name;
		result = open_one(info);
		if (result == 0)
			puts(name);
	}
	if (result < 0)
		fprintf(stderr, "fi-domain: %s: %s\n", argv[1],
			fi_strerror(-result));
	fi_freeinfo(list);
	fi_freeinfo(hints);
	return result < 0 ? 1 : 0;
}
