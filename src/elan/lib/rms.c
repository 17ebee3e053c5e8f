/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of fairlead/rms.h: each is one request; its error goes to errno. */
#include "fairlead/rms.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "elan/client.h"
#include "elan/wire/peer.h"

static int fail(int result)
{
	errno = -result;
	return -1;
}

/* 0, or -1 and errno. */
static int of(int result)
{
	return result < 0 ? fail(result) : 0;
}

static int call(const struct rms_request *request)
{
	return of(rms_client_call(NULL, request));
}

static int call_number(const struct rms_request *request, int *ret_number)
{
	if (ret_number == NULL)
		return fail(-EFAULT);
	return of(rms_client_number(NULL, request, ret_number));
}

static int call_program(enum rms_op op, int id)
{
	struct rms_request request = { .op = op, .id = id };

	return call(&request);
}

static int call_process(enum rms_op op, int id, int value)
{
	struct rms_request request = { .op = op, .id = id, .value = value };

	return call(&request);
}

int rmsmod_init(void)
{
	return rms_modversion() < 0 ? -1 : 0;
}

void rmsmod_fini(void)
{
	/* A call closes what it has opened. */
}

int rms_modversion(void)
{
	bool is_sure;
	int version = rms_client_version(NULL, &is_sure);

	return version < 0 ? fail(version) : version;
}

int rms_ptrack_enabled(void)
{
	bool is_sure;
	int version = rms_client_version(NULL, &is_sure);

	return version < 0 ? fail(version) : is_sure;
}

int rms_prgcreate(int id, uid_t uid, int cpus)
{
	struct rms_request request = {
		.op = RMS_PRGCREATE,
		.id = id,
		.uid = uid,
		.value = cpus,
	};

	return call(&request);
}

int rms_prgdestroy(int id)
{
	return call_program(RMS_PRGDESTROY, id);
}

int rms_prgids(int maxids, int *prgids, int *nprgs)
{
	struct rms_request request = { .op = RMS_PRGIDS };
	_auto_(rms_answer_fini) struct rms_answer reply = { 0 };
	struct reader *body = &reply.reply.body;
	int count = 0;
	int result;

	if (maxids < 1)
		return fail(-EINVAL);
	if (prgids == NULL || nprgs == NULL)
		return fail(-EFAULT);
	result = rms_call(NULL, &request, &reply);
	if (result < 0)
		return fail(result);
	if (body->left % 4 != 0)
		return fail(-EPROTO);
	while (count < maxids && body->left > 0)
		prgids[count++] = (int)read_u32(body);
	*nprgs = count;
	return 0;
}

int rms_prginfo(int id, int maxpids, pid_t *pids, int *nprocs)
{
	int count;

	if (maxpids < 0)
		return fail(-EINVAL);
	if (nprocs == NULL || (pids == NULL && maxpids > 0))
		return fail(-EFAULT);
	count = rms_client_members(NULL, id, pids, (size_t)maxpids);
	if (count < 0)
		return fail(count);
	*nprocs = count;
	return 0;
}

int rms_getprgid(pid_t pid, int *id)
{
	struct rms_request request = { .op = RMS_GETPRGID, .value = pid };

	return call_number(&request, id);
}

int rms_addproc(int id, pid_t pid)
{
	return call_process(RMS_ADDPROC, id, pid);
}

int rms_removeproc(int id, pid_t pid)
{
	return call_process(RMS_REMOVEPROC, id, pid);
}

int rms_prgsignal(int id, int signo)
{
	return call_process(RMS_PRGSIGNAL, id, signo);
}

int rms_prgsuspend(int id)
{
	return call_program(RMS_PRGSUSPEND, id);
}

int rms_prgresume(int id)
{
	return call_program(RMS_PRGRESUME, id);
}

int rms_prgclaim(int id)
{
	return call_program(RMS_PRGCLAIM, id);
}

int rms_prgaddcap(int id, int index, const struct elan_capability *cap)
{
	struct rms_request request = {
		.op = RMS_PRGADDCAP,
		.id = id,
		.index = index,
	};

	if (cap == NULL)
		return fail(-EINVAL);
	request.cap = *cap;
	return call(&request);
}

int rms_setcap(int index, int ctx)
{
	struct rms_request request = {
		.op = RMS_SETCAP,
		.index = index,
		.value = ctx,
	};

	return call(&request);
}

int rms_ncaps(int *ncaps)
{
	struct rms_request request = { .op = RMS_NCAPS };

	return call_number(&request, ncaps);
}

int rms_mycap(int *index)
{
	struct rms_request request = { .op = RMS_MYCAP };

	return call_number(&request, index);
}

int rms_getcap(int index, struct elan_capability *cap)
{
	struct elan_capability decoded;
	int result;

	if (cap == NULL)
		return fail(-EFAULT);
	result = rms_client_cap_get(NULL, index, &decoded);
	if (result < 0)
		return fail(result);
	memcpy(cap, &decoded, capability_size(&decoded));
	return 0;
}

int rms_prefcap(int nprocess, int *index)
{
	struct rms_request request = {
		.op = RMS_PREFCAP,
		.value = nprocess,
	};

	return call_number(&request, index);
}

int rms_elaninitdone(int vp)
{
	struct rms_request request = { .op = RMS_ELANINITDONE, .value = vp };

	return call(&request);
}

int rms_prgelanpids(int id, int maxpids, int *vps, pid_t *pids, int *npids)
{
	struct rms_request request = { .op = RMS_PRGELANPIDS, .id = id };
	_auto_(rms_answer_fini) struct rms_answer reply = { 0 };
	struct reader *body = &reply.reply.body;
	int count;
	int result;

	if (maxpids < 0)
		return fail(-EINVAL);
	if (npids == NULL || ((vps == NULL || pids == NULL) && maxpids > 0))
		return fail(-EFAULT);
	result = rms_call(NULL, &request, &reply);
	if (result < 0)
		return fail(result);
	count = (int)read_u32(body);
	if (body->failed || body->left % 8 != 0)
		return fail(-EPROTO);
	for (int i = 0; i < maxpids && body->left > 0; i++) {
		vps[i] = (int)read_u32(body);
		pids[i] = (pid_t)read_u32(body);
	}
	*npids = count;
	return 0;
}

int rms_prggetstats(int id, struct rms_prgstats *stats)
{
	if (stats == NULL)
		return fail(-EFAULT);
	return of(rms_client_stats(NULL, id, stats));
}

int rms_setelanstats(int id, const struct rms_elanstats *estats)
{
	struct rms_request request = { .op = RMS_SETELANSTATS, .id = id };

	if (estats == NULL)
		return fail(-EFAULT);
	request.stats = *estats;
	return call(&request);
}

int rms_setcorepath(const char *path)
{
	struct rms_request request = { .op = RMS_SETCOREPATH };

	if (path == NULL)
		return fail(-EFAULT);
	if (strlen(path) >= sizeof(request.text))
		return fail(-ENAMETOOLONG);
	strcpy(request.text, path);
	return call(&request);
}

int rms_getcorepath(pid_t pid, char *path, int maxlen)
{
	struct rms_request request = { .op = RMS_GETCOREPATH, .value = pid };
	_auto_(rms_answer_fini) struct rms_answer reply = { 0 };
	char text[RMS_COREPATH_MAX];
	int result;

	if (path == NULL)
		return fail(-EFAULT);
	result = rms_call(NULL, &request, &reply);
	if (result < 0)
		return fail(result);
	read_text(&reply.reply.body, text, sizeof(text));
	if (!reader_is_done(&reply.reply.body))
		return fail(-EPROTO);
	if (maxlen < 0 || strlen(text) >= (size_t)maxlen)
		return fail(-ENAMETOOLONG);
	strcpy(path, text);
	return 0;
}

int rms_setpset(int psid)
{
	return fail(-ENOSYS);
}

int rms_getpset(int *psid)
{
	return fail(-ENOSYS);
}
