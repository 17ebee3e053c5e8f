/* SPDX-License-Identifier: BSD-3-Clause */
/* Event queues, and descriptors to wait by. */
#include <poll.h>
#include <string.h>

#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static bool is_readable(int fd)
{
	struct pollfd at = { .fd = fd, .events = POLLIN };

	return poll(&at, 1, 0) == 1;
}

static void events_come_in_their_order(struct pair *pair)
{
	struct fi_eq_attr attr = { .flags = FI_WRITE, .wait_obj = FI_WAIT_FD };
	struct fid *fids[1];
	struct fi_eq_entry entry = { .fid = &pair->fabric->fid };
	struct fid_eq *eq;
	uint32_t event;
	int fd = -1;

	pair_do(fi_eq_open(pair->fabric, &attr, &eq, NULL));
	pair_do(fi_control(&eq->fid, FI_GETWAIT, &fd));
	fids[0] = &eq->fid;
	pair_do(fi_trywait(pair->fabric, fids, 1));
	pair_check(!is_readable(fd));
	pair_check(fi_eq_sread(eq, &event, &entry, sizeof(entry), 0, 0) ==
		   -FI_EAGAIN);
	for (uint64_t i = 0; i < 3; i++) {
		entry.data = i;
		pair_check(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof(entry),
				       0) == sizeof(entry));
	}
	pair_check(is_readable(fd));
	pair_check(fi_trywait(pair->fabric, fids, 1) == -FI_EAGAIN);
	pair_check(fi_eq_read(eq, &event, &entry, 1, 0) == -FI_ETOOSMALL);
	for (uint64_t i = 0; i < 6; i++) {
		memset(&entry, 0, sizeof(entry));
		pair_check(fi_eq_sread(eq, &event, &entry, sizeof(entry), -1,
				       i % 2 == 0 ? FI_PEEK : 0) ==
			   sizeof(entry));
		pair_check(event == FI_NOTIFY && entry.data == i / 2);
		pair_check(entry.fid == &pair->fabric->fid);
	}
	pair_check(!is_readable(fd));
	pair_check(fi_eq_read(eq, &event, &entry, sizeof(entry), 0) ==
		   -FI_EAGAIN);
	pair_do(fi_close(&eq->fid));
}

static void a_queue_of_the_provider_s_is_not_written(struct pair *pair)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_NONE };
	struct fid_eq *eq;
	int word = 0;

	pair_do(fi_eq_open(pair->fabric, &attr, &eq, NULL));
	pair_check(fi_eq_write(eq, FI_NOTIFY, &word, sizeof(word), 0) ==
		   -FI_EINVAL);
	pair_do(fi_close(&eq->fid));
}

static void send_one(struct pair *pair, int *bytes)
{
	pair_retry(pair, fi_send(pair->ep, bytes, sizeof(*bytes), NULL,
				 pair->peer, NULL));
}

/* As programs do: ask whether to wait, wait, look. */
static void wait_by(struct pair *pair, struct fid *fid, int fd)
{
	struct pollfd at = { .fd = fd, .events = POLLIN };

	if (fi_trywait(pair->fabric, &fid, 1) == 0)
		pair_check(poll(&at, 1, -1) == 1);
}

static void a_descriptor_wakes_up_who_waits(struct pair *pair)
{
	struct fi_cq_tagged_entry entry;
	enum fi_wait_obj kind;
	uint64_t before = fi_cntr_read(pair->receive_cntr);
	int fd = -1, cntr_fd = -1, bytes = 0;
	ssize_t result;

	pair_do(fi_control(&pair->receive_cq->fid, FI_GETWAIT, &fd));
	pair_do(fi_control(&pair->receive_cq->fid, FI_GETWAITOBJ, &kind));
	pair_check(kind == FI_WAIT_FD);
	pair_do(fi_control(&pair->receive_cntr->fid, FI_GETWAIT, &cntr_fd));
	for (unsigned int i = 0; i < 20; i++) {
		pair_do(fi_recv(pair->ep, &bytes, sizeof(bytes), NULL,
				FI_ADDR_UNSPEC, NULL));
		if (pair->is_first) {
			send_one(pair, &bytes);
			pair_wait(pair, pair->send_cq, NULL);
		}
		while ((result = fi_cq_read(pair->receive_cq, &entry, 1)) ==
		       -FI_EAGAIN)
			wait_by(pair, &pair->receive_cq->fid, fd);
		pair_check(result == 1);
		while (fi_cntr_read(pair->receive_cntr) <= before + i)
			wait_by(pair, &pair->receive_cntr->fid, cntr_fd);
		if (!pair->is_first) {
			send_one(pair, &bytes);
			pair_wait(pair, pair->send_cq, NULL);
		}
	}
}

static void a_signal_wakes_up_who_waits(struct pair *pair)
{
	struct fid *fids[] = { &pair->receive_cq->fid };
	struct fi_cq_tagged_entry entry;

	pair_do(fi_cq_signal(pair->receive_cq));
	pair_check(fi_trywait(pair->fabric, fids, 1) == -FI_EAGAIN);
	pair_do(fi_cq_signal(pair->receive_cq));
	pair_check(fi_cq_sread(pair->receive_cq, &entry, 1, NULL, -1) ==
		   -FI_EAGAIN);
}

/* As programs do that count whatever can be counted. */
static void a_counter_is_bound_to_what_is_not_counted(struct pair *pair)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP };
	struct fid_cntr *cntr;
	struct fid_ep *ep;

	pair_do(fi_cntr_open(pair->domain, &attr, &cntr, NULL));
	pair_do(fi_endpoint(pair->domain, pair->info, &ep, NULL));
	pair_check(fi_ep_bind(ep, &cntr->fid, FI_REMOTE_WRITE) == -FI_EINVAL);
	pair_do(fi_ep_bind(ep, &cntr->fid,
			   FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE));
	pair_do(fi_close(&ep->fid));
	pair_do(fi_close(&cntr->fid));
}

static void what_is_not_offered_is_refused(struct pair *pair)
{
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE, .flags = FI_EVENT };
	struct fi_poll_attr poll_attr = { 0 };
	struct fid_poll *set;
	struct fid_av *av;

	pair_check(fi_av_open(pair->domain, &av_attr, &av, NULL) == -FI_ENOSYS);
	pair_check(fi_poll_open(pair->domain, &poll_attr, &set) == -FI_ENOSYS);
	pair_check(fi_av_insertsym(pair->av, "n", 2, "7", 2, NULL, 0, NULL) ==
		   -FI_ENOSYS);
}

/* No thread of the provider's would signal it. */
static void a_condition_is_no_object_to_wait_by(struct pair *pair)
{
	struct fi_cq_attr attr = { .wait_obj = FI_WAIT_MUTEX_COND };
	struct fid_cq *cq;

	pair_check(fi_cq_open(pair->domain, &attr, &cq, NULL) == -FI_ENOSYS);
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE,
		.wait = FI_WAIT_FD,
	};
	static const struct pair_case cases[] = {
		pair_case(events_come_in_their_order),
		pair_case(a_queue_of_the_provider_s_is_not_written),
		pair_case(a_descriptor_wakes_up_who_waits),
		pair_case(a_signal_wakes_up_who_waits),
		pair_case(a_counter_is_bound_to_what_is_not_counted),
		pair_case(a_condition_is_no_object_to_wait_by),
		pair_case(what_is_not_offered_is_refused),
	};
	return pair_run(&setting, cases, COUNT_OF(cases));
}
