/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of fairlead/rms.h: each is one request, and errno what came of it. */
#include "fairlead/rms.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "elan/wire/peer.h"

static int fail(int result)
{
	errno = -result;
	return -1;
}

/* 0, or -1 and errno. The reply is finished in any case. */
static int call(const struct wire_request *request, struct peer_reply *reply)
{
	int result = peer_call(NULL, request, reply);

	return result < 0 ? fail(result) : 0;
}

static int call_plain(const struct wire_request *request)
{
	_auto_(peer_reply_fini) struct peer_reply reply = { 0 };

	return call(request, &reply);
}

/* A reply that is one number. */
static int call_number(const struct wire_request *request, int *ret_number)
{
	_auto_(peer_reply_fini) struct peer_reply reply = { 0 };
	int number;

	if (ret_number == NULL)
		return fail(-EFAULT);
	if (call(request, &reply) < 0)
		return -1;
	number = (int)read_u32(&reply.reply.body);
	if (!reader_is_done(&reply.reply.body))
		return fail(-EPROTO);
	*ret_number = number;
	return 0;
}

static int call_program(enum wire_op op, int id)
{
	struct wire_request request = { .op = op, .id = id };

	return call_plain(&request);
}

static int call_process(enum wire_op op, int id, int value)
{
	struct wire_request request = { .op = op, .id = id, .value = value };

	return call_plain(&request);
}

static int ask_version(int *ret_version, bool *ret_is_sure)
{
	struct wire_request request = { .op = WIRE_VERSION_GET };
	_auto_(peer_reply_fini) struct peer_reply reply = { 0 };

	if (call(&request, &reply) < 0)
		return -1;
	*ret_version = (int)read_u32(&reply.reply.body);
	*ret_is_sure = read_u8(&reply.reply.body) != 0;
	return reader_is_done(&reply.reply.body) ? 0 : fail(-EPROTO);
}

int rmsmod_init(void)
{
	bool is_sure;
	int version;

	return ask_version(&version, &is_sure);
}

void rmsmod_fini(void)
{
	/* A call closes what it has opened. */
}

int rms_modversion(void)
{
	bool is_sure;
	int version;

	return ask_version(&version, &is_sure) < 0 ? -1 : version;
}

int rms_ptrack_enabled(void)
{
	bool is_sure;
	int version;

	return ask_version(&version, &is_sure) < 0 ? -1 : is_sure;
}

int rms_prgcreate(int id, uid_t uid, int cpus)
{
	struct wire_request request = {
		.op = WIRE_PRGCREATE,
		.id = id,
		.uid = uid,
		.value = cpus,
	};

	return call_plain(&request);
}

int rms_prgdestroy(int id)
{
	return call_program(WIRE_PRGDESTROY, id);
}

int rms_prgids(int maxids, int *prgids, int *nprgs)
{
	struct wire_request request = { .op = WIRE_PRGIDS };
	_auto_(peer_reply_fini) struct peer_reply reply = { 0 };
	struct reader *body = &reply.reply.body;
	int count = 0;

	if (maxids < 1)
		return fail(-EINVAL);
	if (prgids == NULL || nprgs == NULL)
		return fail(-EFAULT);
	if (call(&request, &reply) < 0)
		return -1;
	if (body->left % 4 != 0)
		return fail(-EPROTO);
	while (count < maxids && body->left > 0)
		prgids[count++] = (int)read_u32(body);
	*nprgs = count;
	return 0;
}

int rms_prginfo(int id, int maxpids, pid_t *pids, int *nprocs)
{
	struct wire_request request = { .op = WIRE_PRGINFO, .id = id };
	_auto_(peer_reply_fini) struct peer_reply reply = { 0 };
	struct reader *body = &reply.reply.body;
	int count;

	if (maxpids < 0)
		return fail(-EINVAL);
	if (nprocs == NULL || (pids == NULL && maxpids > 0))
		return fail(-EFAULT);
	if (call(&request, &reply) < 0)
		return -1;
	count = (int)read_u32(body);
	if (body->failed || body->left % 4 != 0)
		return fail(-EPROTO);
	for (int i = 0; i < maxpids && body->left > 0; i++)
		pids[i] = (pid_t)read_u32(body);
	*nprocs = count;
	return 0;
}

int rms_getprgid(pid_t pid, int *id)
{
	struct wire_request request = { .op = WIRE_GETPRGID, .value = pid };

	return call_number(&request, id);
}

int rms_addproc(int id, pid_t pid)
{
	return call_process(WIRE_ADDPROC, id, pid);
}

int rms_removeproc(int id, pid_t pid)
{
	return call_process(WIRE_REMOVEPROC, id, pid);
}

int rms_prgsignal(int id, int signo)
{
	return call_process(WIRE_PRGSIGNAL, id, signo);
}

int rms_prgsuspend(int id)
{
	return call_program(WIRE_PRGSUSPEND, id);
}

int rms_prgresume(int id)
{
	return call_program(WIRE_PRGRESUME, id);
}

int rms_prgclaim(int id)
{
	return call_program(WIRE_PRGCLAIM, id);
}

int rms_prgaddcap(int id, int index, const struct elan_capability *cap)
{
	struct wire_request request = {
		.op = WIRE_PRGADDCAP,
		.id = id,
		.index = index,
	};

	if (cap == NULL)
		return fail(-EINVAL);
	request.cap = *cap;
	return call_plain(&request);
}

int rms_setcap(int index, int ctx)
{
	struct wire_request request = {
		.op = WIRE_SETCAP,
		.index = index,
		.value = ctx,
	};

	return call_plain(&request);
}

int rms_ncaps(int *ncaps)
{
	struct wire_request request = { .op = WIRE_NCAPS };

	return call_number(&request, ncaps);
}

int rms_mycap(int *index)
{
	struct wire_request request = { .op = WIRE_MYCAP };

	return call_number(&request, index);
}

int rms_getcap(int index, struct elan_capability *cap)
{
	struct wire_request request = { .op = WIRE_GETCAP, .index = index };
	_auto_(peer_reply_fini) struct peer_reply reply = { 0 };
	const struct reader *body = &reply.reply.body;
	struct elan_capability decoded;

	if (cap == NULL)
		return fail(-EFAULT);
	if (call(&request, &reply) < 0)
		return -1;
	if (capability_decode(body->at, body->left, &decoded) < 0)
		return fail(-EPROTO);
	memcpy(cap, &decoded, capability_short_size(&decoded));
	return 0;
}

int rms_prefcap(int nprocess, int *index)
{
	struct wire_request request = {
		.op = WIRE_PREFCAP,
		.value = nprocess,
	};

	return call_number(&request, index);
}

int rms_elaninitdone(int vp)
{
	struct wire_request request = { .op = WIRE_ELANINITDONE, .value = vp };

	return call_plain(&request);
}

int rms_prgelanpids(int id, int maxpids, int *vps, pid_t *pids, int *npids)
{
	struct wire_request request = { .op = WIRE_PRGELANPIDS, .id = id };
	_auto_(peer_reply_fini) struct peer_reply reply = { 0 };
	struct reader *body = &reply.reply.body;
	int count;

	if (maxpids < 0)
		return fail(-EINVAL);
	if (npids == NULL || ((vps == NULL || pids == NULL) && maxpids > 0))
		return fail(-EFAULT);
	if (call(&request, &reply) < 0)
		return -1;
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
	struct wire_request request = { .op = WIRE_PRGGETSTATS, .id = id };
	_auto_(peer_reply_fini) struct peer_reply reply = { 0 };
	struct rms_prgstats decoded;

	if (stats == NULL)
		return fail(-EFAULT);
	if (call(&request, &reply) < 0)
		return -1;
	wire_read_stats(&reply.reply.body, &decoded);
	if (!reader_is_done(&reply.reply.body))
		return fail(-EPROTO);
	*stats = decoded;
	return 0;
}

int rms_setelanstats(int id, const struct rms_elanstats *estats)
{
	struct wire_request request = { .op = WIRE_SETELANSTATS, .id = id };

	if (estats == NULL)
		return fail(-EFAULT);
	request.stats = *estats;
	return call_plain(&request);
}

int rms_setcorepath(const char *path)
{
	struct wire_request request = { .op = WIRE_SETCOREPATH };

	if (path == NULL)
		return fail(-EFAULT);
	if (strlen(path) >= sizeof(request.text))
		return fail(-ENAMETOOLONG);
	strcpy(request.text, path);
	return call_plain(&request);
}

int rms_getcorepath(pid_t pid, char *path, int maxlen)
{
	struct wire_request request = { .op = WIRE_GETCOREPATH, .value = pid };
	_auto_(peer_reply_fini) struct peer_reply reply = { 0 };
	char text[RMS_COREPATH_MAX];

	if (path == NULL)
		return fail(-EFAULT);
	if (call(&request, &reply) < 0)
		return -1;
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
