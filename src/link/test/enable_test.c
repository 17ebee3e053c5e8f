/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An endpoint that could not be enabled, since something of a rail failed: it
 * has nothing open, and is enabled when it is tried again.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link/address/address.h"
#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define LARGE           100000
#define KEY             5

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_av *av;
static uint8_t out[LARGE], in[LARGE];

struct side {
	struct fid_cq *cq;
	struct fid_ep *ep;
	fi_addr_t address;
};

/* --- what there is --- */

static unsigned int lines_with(const char *path, const char *text)
{
	FILE *file = fopen(path, "r");
	unsigned int count = 0;
	char line[1024];

	pair_check(file != NULL);
	while (fgets(line, sizeof(line), file) != NULL)
		count += strstr(line, text) != NULL;
	fclose(file);
	return count;
}

struct open {
	unsigned int descriptors, mappings, files;
};

/*
 * Files of other processes come and go meanwhile. Whose one is says a word of
 * it: of ours the ninth, of the core's one by its version.
 */
static bool is_file_ours(const char *name)
{
	pid_t words[24] = { 0 };
	char path[300];
	FILE *file;

	snprintf(path, sizeof(path), "/dev/shm/%s", name);
	file = fopen(path, "r");
	if (file == NULL)
		return false;
	(void)!fread(words, sizeof(words), 1, file);
	fclose(file);
	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (words[i] == getpid())
			return true;
	return false;
}

static struct open open_now(void)
{
	struct open open = { 0 };
	struct dirent *entry;
	DIR *folder = opendir("/proc/self/fd");

	pair_check(folder != NULL);
	while (readdir(folder) != NULL)
		open.descriptors++;
	closedir(folder);
	folder = opendir("/dev/shm");
	pair_check(folder != NULL);
	while ((entry = readdir(folder)) != NULL)
		open.files += strncmp(entry->d_name, "fairlead-", 9) == 0 &&
			      is_file_ours(entry->d_name);
	closedir(folder);
	open.mappings = lines_with("/proc/self/maps", "/dev/shm/fairlead-");
	return open;
}

static bool is_as_before(struct open before)
{
	struct open now = open_now();

	return now.descriptors == before.descriptors &&
	       now.mappings == before.mappings && now.files == before.files;
}

/* --- endpoints --- */

static void side_open(struct side *side)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED };

	pair_do(fi_cq_open(domain, &cq, &side->cq, NULL));
	pair_do(fi_endpoint(domain, info, &side->ep, NULL));
	pair_do(fi_ep_bind(side->ep, &side->cq->fid, FI_TRANSMIT | FI_RECV));
	pair_do(fi_ep_bind(side->ep, &av->fid, 0));
}

static void side_insert(struct side *side)
{
	uint8_t name[LINK_ADDRESS_SIZE];
	size_t size = sizeof(name);

	pair_do(fi_getname(&side->ep->fid, name, &size));
	pair_check(fi_av_insert(av, name, 1, &side->address, 0, NULL) == 1);
}

static void side_close(struct side *side)
{
	pair_do(fi_close(&side->ep->fid));
	pair_do(fi_close(&side->cq->fid));
}

static void next_of(struct side *side, struct side *other)
{
	struct fi_cq_tagged_entry entry;
	ssize_t result;

	while ((result = fi_cq_read(side->cq, &entry, 1)) == -FI_EAGAIN)
		(void)fi_cq_read(other->cq, NULL, 0);
	pair_check(result == 1);
}

static void send_one(struct side *from, struct side *to, size_t size)
{
	ssize_t result;

	pair_fill(out, size, (unsigned int)size);
	memset(in, 0, size);
	pair_do(fi_trecv(to->ep, in, size, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
	while ((result = fi_tsend(from->ep, out, size, NULL, to->address, 1,
				  NULL)) == -FI_EAGAIN) {
		(void)fi_cq_read(from->cq, NULL, 0);
		(void)fi_cq_read(to->cq, NULL, 0);
	}
	pair_do(result);
	next_of(to, from);
	next_of(from, to);
	pair_check(pair_is_filled(in, size, (unsigned int)size));
}

static void messages_go(struct side *a, struct side *b)
{
	static const size_t sizes[] = { 8, LARGE };

	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		send_one(a, b, sizes[i]);
		send_one(b, a, sizes[i]);
	}
}

/* --- cases --- */

/* Who had a slot for one that is gone lets go of its shared memory. */
static bool is_as_before_for(struct side *other, struct open before)
{
	for (unsigned int i = 0; i < 1000; i++)
		(void)fi_cq_read(other->cq, NULL, 0);
	return is_as_before(before);
}

/* Fails as requested, and once more with whatever is opened first. */
static void enable_fails(struct side *side, struct side *other,
			 const char *faults)
{
	struct open before = open_now();
	size_t size = 0;

	for (unsigned int i = 0; i < 2; i++) {
		setenv("TESTCORE_FAULTS", i == 0 ? faults : "open:*1:enospc",
		       1);
		pair_check(fi_enable(side->ep) ==
			   (i == 0 ? -FI_EIO : -FI_ENOSPC));
		pair_check(is_as_before_for(other, before));
		pair_check(fi_getname(&side->ep->fid, NULL, &size) ==
			   -FI_EOPBADSTATE);
		pair_check(fi_recv(side->ep, in, 1, NULL, FI_ADDR_UNSPEC,
				   NULL) == -FI_EOPBADSTATE);
		pair_check(fi_cq_read(side->cq, NULL, 0) == -FI_EAGAIN);
	}
	unsetenv("TESTCORE_FAULTS");
}

static void enabled_after(struct side *other, const char *faults)
{
	struct open before = open_now();
	struct side side;

	printf("%s\n", faults);
	fflush(stdout);
	side_open(&side);
	enable_fails(&side, other, faults);
	pair_do(fi_enable(side.ep));
	side_insert(&side);
	messages_go(&side, other);
	pair_do(fi_av_remove(av, &side.address, 1, 0));
	side_close(&side);
	pair_check(is_as_before_for(other, before));
}

static void closed_after(struct side *other, const char *faults)
{
	struct open before = open_now();
	struct side side;

	side_open(&side);
	enable_fails(&side, other, faults);
	side_close(&side);
	pair_check(is_as_before_for(other, before));
}

/* Sends to who was in the vector before say so, when no rail leads there. */
static void who_is_not_reached_is_refused(struct side *other)
{
	struct side side;

	side_open(&side);
	setenv("TESTCORE_FAULTS", "insert:*1:eio", 1);
	pair_do(fi_enable(side.ep));
	unsetenv("TESTCORE_FAULTS");
	pair_check(fi_tinject(side.ep, out, 1, other->address, 1) ==
		   -FI_EHOSTUNREACH);
	pair_check(fi_tinject(side.ep, out, 1, other->address + 1, 1) ==
		   -FI_EINVAL);
	side_close(&side);
}

static unsigned int rail_count(const char *links)
{
	unsigned int count = 1;

	for (; *links != '\0'; links++)
		count += *links == ',';
	return count;
}

static bool all_open(void)
{
	struct fi_info *hints = fi_allocinfo();
	struct fi_av_attr attr = { .type = FI_AV_TABLE };

	hints->caps = FI_MSG | FI_TAGGED | FI_RMA;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup("fairlead");
	if (fi_getinfo(fi_version(), NULL, NULL, 0, hints, &info) != 0)
		info = NULL;
	fi_freeinfo(hints);
	if (info == NULL)
		return false;
	pair_do(fi_fabric(info->fabric_attr, &fabric, NULL));
	pair_do(fi_domain(fabric, info, &domain, NULL));
	pair_do(fi_av_open(domain, &attr, &av, NULL));
	return true;
}

int main(void)
{
	static const char *const calls[] = { "domain",   "cq",   "av",
					     "endpoint", "bind", "enable",
					     "getname",  "mr" };
	const char *links = getenv("FI_FAIRLEAD_LINKS");
	struct open before;
	struct side other;
	struct fid_mr *mr;
	char faults[32];

	if (!all_open()) {
		printf("skipped: no link \"%s\" here\n", links);
		return 77;
	}
	pair_do(fi_mr_reg(domain, out, sizeof(out), FI_REMOTE_READ, 0, KEY, 0,
			  &mr, NULL));
	side_open(&other);
	before = open_now();
	pair_do(fi_enable(other.ep));
	/* Its own file, and the core's. */
	pair_check(open_now().files ==
		   before.files + (strstr(links, "shm") != NULL ? 2 : 0));
	side_insert(&other);
	if (strstr(links, "shm") == NULL)
		who_is_not_reached_is_refused(&other);
	for (size_t i = 0; i < COUNT_OF(calls); i++)
		for (unsigned int n = 1; n <= rail_count(links); n++) {
			snprintf(faults, sizeof(faults), "%s:%u:eio", calls[i],
				 n);
			enabled_after(&other, faults);
			closed_after(&other, faults);
		}
	side_close(&other);
	pair_check(open_now().files == before.files);
	pair_do(fi_close(&mr->fid));
	pair_do(fi_close(&av->fid));
	pair_do(fi_close(&domain->fid));
	pair_do(fi_close(&fabric->fid));
	fi_freeinfo(info);
	return 0;
}
