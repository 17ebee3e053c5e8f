/* SPDX-License-Identifier: BSD-3-Clause */
#include "link/test/pair.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIP 77

static const char *who = "?";

void pair_check_at(bool holds, const char *what, const char *file, int line)
{
	if (holds)
		return;
	fprintf(stderr, "%s:%d: %s process: %s\n", file, line, who, what);
	_exit(1);
}

void pair_do_at(long result, const char *what, const char *file, int line)
{
	if (result == 0)
		return;
	fprintf(stderr, "%s:%d: %s process: %s: %ld (%s)\n", file, line, who,
		what, result, fi_strerror((int)-result));
	_exit(1);
}

void pair_progress(struct pair *pair)
{
	(void)fi_cq_read(pair->send_cq, NULL, 0);
	(void)fi_cq_read(pair->receive_cq, NULL, 0);
}

static void tell(struct pair *pair, const void *bytes, size_t size)
{
	pair_check(write(pair->fd, bytes, size) == (ssize_t)size);
}

static void hear(struct pair *pair, void *bytes, size_t size)
{
	uint8_t *at = bytes;

	while (size > 0) {
		struct pollfd other = { .fd = pair->fd, .events = POLLIN };
		if (pair->ep != NULL)
			pair_progress(pair);
		if (poll(&other, 1, pair->ep == NULL ? -1 : 0) == 0)
			continue;
		ssize_t got = read(pair->fd, at, size);
		pair_check(got > 0);
		at += got;
		size -= (size_t)got;
	}
}

void pair_meet(struct pair *pair)
{
	char here = 'x', there = 0;

	tell(pair, &here, 1);
	hear(pair, &there, 1);
	pair_check(there == here);
}

struct fi_cq_tagged_entry pair_wait(struct pair *pair, struct fid_cq *cq,
				    fi_addr_t *ret_source)
{
	struct fi_cq_tagged_entry entry;
	fi_addr_t source;
	ssize_t result;

	while ((result = fi_cq_readfrom(cq, &entry, 1, &source)) == -FI_EAGAIN)
		pair_progress(pair);
	if (result == -FI_EAVAIL) {
		struct fi_cq_err_entry failure = { 0 };
		fi_cq_readerr(cq, &failure, 0);
		fprintf(stderr, "%s process: a completion failed: %s\n", who,
			fi_strerror(failure.err));
	}
	pair_check(result == 1);
	if (ret_source != NULL)
		*ret_source = source;
	return entry;
}

struct fi_cq_err_entry pair_wait_failure(struct pair *pair, struct fid_cq *cq)
{
	struct fi_cq_err_entry failure = { 0 };
	struct fi_cq_tagged_entry entry;
	ssize_t result;

	while ((result = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
		pair_progress(pair);
	pair_check(result == -FI_EAVAIL);
	pair_check(fi_cq_readerr(cq, &failure, 0) == 1);
	return failure;
}

void pair_is_quiet(struct pair *pair, struct fid_cq *cq)
{
	struct fi_cq_tagged_entry entry;

	for (unsigned int i = 0; i < 1000; i++)
		pair_check(fi_cq_read(cq, &entry, 1) == -FI_EAGAIN);
}

void pair_fill(void *bytes, size_t size, unsigned int seed)
{
	uint8_t *at = bytes;

	for (size_t i = 0; i < size; i++)
		at[i] = (uint8_t)(seed * 31 + i * 7 + (i >> 8));
}

bool pair_is_filled(const void *bytes, size_t size, unsigned int seed)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < size; i++)
		if (at[i] != (uint8_t)(seed * 31 + i * 7 + (i >> 8)))
			return false;
	return true;
}

/* --- an endpoint --- */

static struct fi_info *info_find(const struct pair_setting *setting)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;

	pair_check(hints != NULL);
	hints->caps = setting->caps;
	hints->mode = FI_CONTEXT;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->threading = setting->threading;
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
	hints->fabric_attr->prov_name = strdup("fairlead");
	if (fi_getinfo(fi_version(), NULL, NULL, 0, hints, &info) != 0)
		info = NULL;
	fi_freeinfo(hints);
	return info;
}

void pair_insert(struct pair *pair)
{
	pair_check(fi_av_insert(pair->av, pair->peer_name, 1, &pair->peer, 0,
				NULL) == 1);
}

static void endpoint_open(struct pair *pair, const struct pair_setting *setting)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_av_attr av = { .type = FI_AV_TABLE };
	struct fi_cntr_attr cntr = { .events = FI_CNTR_EVENTS_COMP };
	uint8_t here[64];
	size_t size = sizeof(here);

	pair_do(fi_fabric(pair->info->fabric_attr, &pair->fabric, NULL));
	pair_do(fi_domain(pair->fabric, pair->info, &pair->domain, NULL));
	pair_do(fi_cq_open(pair->domain, &cq, &pair->send_cq, NULL));
	pair_do(fi_cq_open(pair->domain, &cq, &pair->receive_cq, NULL));
	pair_do(fi_av_open(pair->domain, &av, &pair->av, NULL));
	struct fid_ep *ep;
	pair_do(fi_endpoint(pair->domain, pair->info, &ep, NULL));
	pair_do(fi_ep_bind(ep, &pair->send_cq->fid,
			   FI_TRANSMIT | setting->bind_flags));
	pair_do(fi_ep_bind(ep, &pair->receive_cq->fid,
			   FI_RECV | setting->bind_flags));
	pair_do(fi_cntr_open(pair->domain, &cntr, &pair->send_cntr, NULL));
	pair_do(fi_cntr_open(pair->domain, &cntr, &pair->receive_cntr, NULL));
	pair_do(fi_cntr_open(pair->domain, &cntr, &pair->write_cntr, NULL));
	pair_do(fi_ep_bind(ep, &pair->write_cntr->fid, FI_WRITE));
	pair_do(fi_ep_bind(ep, &pair->send_cntr->fid, FI_SEND));
	pair_do(fi_ep_bind(ep, &pair->receive_cntr->fid, FI_RECV));
	pair_do(fi_ep_bind(ep, &pair->av->fid, 0));
	pair_do(fi_enable(ep));
	pair_do(fi_getname(&ep->fid, here, &size));
	pair_check(size == sizeof(here));
	tell(pair, here, sizeof(here));
	hear(pair, pair->peer_name, sizeof(pair->peer_name));
	pair->peer = FI_ADDR_NOTAVAIL;
	if (pair->is_first || !setting->is_one_sided)
		pair_insert(pair);
	pair->ep = ep;
}

static void endpoint_close(struct pair *pair)
{
	pair_do(fi_close(&pair->ep->fid));
	pair_do(fi_close(&pair->av->fid));
	pair_do(fi_close(&pair->write_cntr->fid));
	pair_do(fi_close(&pair->send_cntr->fid));
	pair_do(fi_close(&pair->receive_cntr->fid));
	pair_do(fi_close(&pair->send_cq->fid));
	pair_do(fi_close(&pair->receive_cq->fid));
	pair_do(fi_close(&pair->domain->fid));
	pair_do(fi_close(&pair->fabric->fid));
	fi_freeinfo(pair->info);
}

static int run_side(const struct pair_setting *setting,
		    const struct pair_case *cases, unsigned int count,
		    bool is_first, int fd)
{
	struct pair pair = { .is_first = is_first, .fd = fd };

	who = is_first ? "first" : "second";
	pair.info = info_find(setting);
	if (pair.info == NULL) {
		if (is_first)
			printf("skipped: no link \"%s\" here\n",
			       getenv("FI_FAIRLEAD_LINKS"));
		return SKIP;
	}
	endpoint_open(&pair, setting);
	for (unsigned int i = 0; i < count; i++) {
		pair_meet(&pair);
		if (is_first) {
			printf("%s\n", cases[i].name);
			fflush(stdout);
		}
		cases[i].run(&pair);
		pair_meet(&pair);
		pair_is_quiet(&pair, pair.send_cq);
		pair_is_quiet(&pair, pair.receive_cq);
	}
	pair_meet(&pair);
	endpoint_close(&pair);
	return 0;
}

int pair_run(const struct pair_setting *setting, const struct pair_case *cases,
	     unsigned int count)
{
	int fds[2], status = 0, mine;
	pid_t child;

	pair_check(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	child = fork();
	pair_check(child >= 0);
	close(fds[child == 0 ? 0 : 1]);
	mine = run_side(setting, cases, count, child != 0,
			fds[child == 0 ? 1 : 0]);
	if (child == 0)
		exit(mine);
	pair_check(waitpid(child, &status, 0) == child);
	if (mine == SKIP)
		return SKIP;
	return mine == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0
									  : 1;
}
