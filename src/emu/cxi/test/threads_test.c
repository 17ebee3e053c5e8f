/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One device shared by threads, and one for each: usage: threads_test
 * PATH-OF-fairlead-softnic.
 */
#include "lanes/driver/slingshot/libcxi_abi.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "emu/cxi/test/daemon.h"

#define THREADS 4
#define ROUNDS  100

struct worker {
	pthread_t thread;
	uint16_t vni;
	struct cxil_dev *shared;
	int failures;
};

#define expect(worker, condition)                                      \
	((condition) ? (void)0                                         \
		     : (void)((worker)->failures++,                    \
			      fprintf(stderr, "%s:%d: %s\n", __FILE__, \
				      __LINE__, #condition)))

static void use_device(struct worker *worker, struct cxil_dev *dev)
{
	struct cxi_svc_desc desc = {
		.restricted_vnis = true,
		.resource_limits = true,
		.num_vld_vnis = 1,
		.vnis = { worker->vni },
	};
	struct cxi_svc_desc back = { 0 };
	struct cxil_svc_list *list = NULL;
	struct cxil_lni *lni = NULL;
	int id = cxil_alloc_svc(dev, &desc, NULL);

	expect(worker, id > 0);
	if (id <= 0)
		return;
	expect(worker, cxil_get_svc(dev, (unsigned int)id, &back) == 0);
	expect(worker, back.vnis[0] == worker->vni);
	expect(worker, cxil_get_svc_list(dev, &list) == 0);
	cxil_free_svc_list(list);
	expect(worker, cxil_alloc_lni(dev, &lni, (unsigned int)id) == 0);
	expect(worker, cxil_destroy_svc(dev, (unsigned int)id) == -EBUSY);
	if (lni != NULL)
		expect(worker, cxil_destroy_lni(lni) == 0);
	expect(worker, cxil_destroy_svc(dev, (unsigned int)id) == 0);
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	for (int i = 0; i < ROUNDS; i++) {
		struct cxil_dev *own = NULL;
		int result = cxil_open_device(1, &own);

		expect(worker, result == 0);
		use_device(worker, worker->shared);
		if (result == 0)
			use_device(worker, own);
		cxil_close_device(own);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct worker workers[THREADS] = { 0 };
	struct cxil_dev *shared = NULL;
	struct daemon daemon;
	int failures = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: %s FAIRLEAD-SOFTNIC\n", argv[0]);
		return 2;
	}
	daemon_init(&daemon, argv[1]);
	if (!daemon_start(&daemon, "--nics", "2", "--owner-is-root",
			  "--generation", "13", NULL) ||
	    cxil_open_device(0, &shared) < 0) {
		daemon_fini(&daemon);
		return 1;
	}
	for (int i = 0; i < THREADS; i++) {
		workers[i].vni = (uint16_t)(1024 + i);
		workers[i].shared = shared;
		if (pthread_create(&workers[i].thread, NULL, work,
				   &workers[i]) != 0)
			abort();
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		failures += workers[i].failures;
	}
	cxil_close_device(shared);
	daemon_fini(&daemon);
	return failures > 0;
}
