/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys of memory: used again, unknown, many; and descriptors of one's own. */
#include <stdlib.h>
#include <string.h>

#include <rdma/fi_rma.h>

#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define SIZE            20000
#define KEY             5

enum {
	REGIONS = 100
};

static uint8_t here[REGIONS][SIZE], out[SIZE], in[SIZE];

static struct fid_mr *expose(struct pair *pair, unsigned int i, uint64_t key)
{
	struct fid_mr *mr;

	memset(here[i], 0xee, SIZE);
	pair_do(fi_mr_reg(pair->domain, here[i], SIZE,
			  FI_REMOTE_READ | FI_REMOTE_WRITE, 0, key, 0, &mr,
			  NULL));
	return mr;
}

/* Writes to a peer's region, and reads it back. */
static void write_there(struct pair *pair, uint64_t key, unsigned int seed,
			void *desc_out, void *desc_in)
{
	pair_fill(out, SIZE - 10, seed);
	memset(in, 0, sizeof(in));
	pair_retry(pair, fi_write(pair->ep, out, SIZE - 10, desc_out,
				  pair->peer, 10, key, NULL));
	pair_wait(pair, pair->send_cq, NULL);
	pair_retry(pair, fi_read(pair->ep, in, SIZE - 10, desc_in, pair->peer,
				 10, key, NULL));
	pair_wait(pair, pair->send_cq, NULL);
	pair_check(pair_is_filled(in, SIZE - 10, seed));
}

static void check_here(unsigned int i, unsigned int seed)
{
	pair_check(here[i][9] == 0xee);
	pair_check(pair_is_filled(here[i] + 10, SIZE - 10, seed));
}

static void a_key_that_is_used_again_is_of_another_region(struct pair *pair)
{
	for (unsigned int i = 0; i < 10; i++) {
		struct fid_mr *mr = NULL;
		if (!pair->is_first)
			mr = expose(pair, i, KEY);
		pair_meet(pair);
		if (pair->is_first)
			write_there(pair, KEY, i, NULL, NULL);
		pair_meet(pair);
		if (pair->is_first)
			continue;
		check_here(i, i);
		pair_check(i == 0 || here[i - 1][10] == 0);
		memset(here[i], 0, SIZE);
		pair_do(fi_close(&mr->fid));
	}
}

static void each_region_has_its_key(struct pair *pair)
{
	struct fid_mr *mrs[REGIONS];

	for (unsigned int i = 0; !pair->is_first && i < REGIONS; i++)
		mrs[i] = expose(pair, i, 100 + i);
	pair_meet(pair);
	for (unsigned int i = 0; pair->is_first && i < REGIONS; i++)
		write_there(pair, 100 + i, i, NULL, NULL);
	pair_meet(pair);
	for (unsigned int i = 0; !pair->is_first && i < REGIONS; i++) {
		check_here(i, i);
		pair_do(fi_close(&mrs[i]->fid));
	}
}

/* Descriptors are for whatever rail a call takes. */
static void what_is_registered_here_is_used_there(struct pair *pair)
{
	struct fid_mr *mr = NULL, *from, *to;

	if (!pair->is_first) {
		mr = expose(pair, 0, KEY);
		pair_meet(pair);
		pair_meet(pair);
		check_here(0, 3);
		pair_do(fi_close(&mr->fid));
		return;
	}
	pair_do(fi_mr_reg(pair->domain, out, SIZE, FI_WRITE, 0, KEY, 0, &from,
			  NULL));
	pair_do(fi_mr_reg(pair->domain, in, SIZE, FI_READ, 0, KEY, 0, &to,
			  NULL));
	pair_meet(pair);
	for (unsigned int i = 0; i < 4; i++)
		write_there(pair, KEY, i, fi_mr_desc(from), fi_mr_desc(to));
	pair_meet(pair);
	pair_do(fi_close(&from->fid));
	pair_do(fi_close(&to->fid));
}

/* It is said at once, or as a failure. */
static void read_nothing(struct pair *pair, uint64_t key)
{
	long result;

	while ((result = fi_read(pair->ep, in, 8, NULL, pair->peer, 0, key,
				 in)) == -FI_EAGAIN)
		pair_progress(pair);
	if (result != 0) {
		pair_check(result == -FI_EKEYREJECTED);
		return;
	}
	pair_check(pair_wait_failure(pair, pair->send_cq).op_context == in);
}

static void what_has_no_key_is_not_reached(struct pair *pair)
{
	struct fid_mr *mr = NULL;

	if (pair->is_first) {
		read_nothing(pair, KEY);
		read_nothing(pair, KEY);
	}
	pair_meet(pair);
	if (!pair->is_first)
		mr = expose(pair, 0, KEY);
	pair_meet(pair);
	if (pair->is_first)
		write_there(pair, KEY, 1, NULL, NULL);
	pair_meet(pair);
	if (!pair->is_first)
		pair_do(fi_close(&mr->fid));
	pair_meet(pair);
	if (pair->is_first)
		read_nothing(pair, KEY);
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_RMA,
	};
	static const struct pair_case cases[] = {
		pair_case(a_key_that_is_used_again_is_of_another_region),
		pair_case(each_region_has_its_key),
		pair_case(what_is_registered_here_is_used_there),
		/* To TCP alone that would be the end of a connection. */
		pair_case(what_has_no_key_is_not_reached),
	};
	const char *text = getenv("FI_FAIRLEAD_LINKS");
	bool is_tcp =
		strstr(text, "tcp") != NULL || strstr(text, "net") != NULL;

	return pair_run(&setting, cases,
			COUNT_OF(cases) -
				(is_tcp && strstr(text, "shm") == NULL));
}
