/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One table: which operation is which call of the model. A connection is
 * bound to a NIC by open_device, once; everything else but the device list
 * and control commands needs that.
 */
#include "emu/cxi/daemon/dispatch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"

_Static_assert(SOFTNIC_SERVICE_MAX <= WIRE_LIST_MAX, "one packet a list");
_Static_assert(SOFTNIC_NIC_MAX <= WIRE_DEVICE_MAX, "one packet a list");

void session_fini(struct softnic_session *session)
{
	softnic_close(session->client);
	session->client = NULL;
}

void answer_fini(struct softnic_answer *answer)
{
	writer_fini(&answer->body);
}

bool answer_is_text(const struct softnic_answer *answer)
{
	return answer->op == WIRE_CONTROL && answer->result == 0;
}

void answer_encode(const struct softnic_answer *answer, struct writer *writer)
{
	wire_reply_encode(answer->op, answer->result, writer);
	if (answer->body.size > 0 && !answer_is_text(answer))
		write_bytes(writer, answer->body.data, answer->body.size);
}

static int do_device_list(struct softnic_session *session,
			  const struct wire_request *request,
			  struct writer *body)
{
	struct cxil_devinfo infos[SOFTNIC_NIC_MAX];
	int count;

	count = softnic_device_list(session->softnic, infos);
	if (count > 0)
		write_bytes(body, infos, (size_t)count * sizeof(infos[0]));
	return count;
}

static int do_open(struct softnic_session *session,
		   const struct wire_request *request, struct writer *body)
{
	struct cxil_devinfo info;
	int result;

	if (session->client != NULL)
		return -EINVAL;
	result = softnic_open(session->softnic, &session->caller, request->id,
			      &session->client);
	if (result < 0)
		return result;
	softnic_device_info(session->client, &info);
	write_bytes(body, &info, sizeof(info));
	return 0;
}

static int do_alloc_svc(struct softnic_session *session,
			const struct wire_request *request, struct writer *body)
{
	struct cxi_svc_fail_info fail_info;
	int result;

	result = softnic_service_alloc(session->client, &request->desc,
				       &fail_info);
	if (result < 0)
		write_bytes(body, &fail_info, sizeof(fail_info));
	return result;
}

static int do_update_svc(struct softnic_session *session,
			 const struct wire_request *request,
			 struct writer *body)
{
	return softnic_service_update(session->client, &request->desc);
}

static int do_get_svc(struct softnic_session *session,
		      const struct wire_request *request, struct writer *body)
{
	struct cxi_svc_desc desc;
	int result;

	result = softnic_service_get(session->client, request->id, &desc);
	if (result == 0)
		write_bytes(body, &desc, sizeof(desc));
	return result;
}

static int do_get_svc_list(struct softnic_session *session,
			   const struct wire_request *request,
			   struct writer *body)
{
	_auto_(freep) struct cxi_svc_desc *descs =
		memory_array(SOFTNIC_SERVICE_MAX, sizeof(*descs));
	int count = softnic_service_list(session->client, descs,
					 SOFTNIC_SERVICE_MAX);

	if (count > 0)
		write_bytes(body, descs, (size_t)count * sizeof(*descs));
	return count;
}

static int do_get_use(struct softnic_session *session,
		      const struct wire_request *request, struct writer *body)
{
	struct cxi_rsrc_use use;
	int result;

	result = softnic_service_use(session->client, request->id, &use);
	if (result == 0)
		write_bytes(body, &use, sizeof(use));
	return result;
}

static int do_get_use_list(struct softnic_session *session,
			   const struct wire_request *request,
			   struct writer *body)
{
	_auto_(freep) struct cxi_rsrc_use *uses =
		memory_array(SOFTNIC_SERVICE_MAX, sizeof(*uses));
	int count = softnic_service_use_list(session->client, uses,
					     SOFTNIC_SERVICE_MAX);

	if (count > 0)
		write_bytes(body, uses, (size_t)count * sizeof(*uses));
	return count;
}

static int do_get_exclusive_cp(struct softnic_session *session,
			       const struct wire_request *request,
			       struct writer *body)
{
	bool exclusive_cp;
	int result;

	result = softnic_service_get_exclusive_cp(session->client, request->id,
						  &exclusive_cp);
	if (result == 0)
		write_u8(body, exclusive_cp);
	return result;
}

static int do_set_vni_range(struct softnic_session *session,
			    const struct wire_request *request,
			    struct writer *body)
{
	if (request->value > UINT16_MAX || request->last > UINT16_MAX)
		return -EINVAL;
	return softnic_service_set_vni_range(session->client, request->id,
					     (uint16_t)request->value,
					     (uint16_t)request->last);
}

static int do_get_vni_range(struct softnic_session *session,
			    const struct wire_request *request,
			    struct writer *body)
{
	uint16_t vni_min;
	uint16_t vni_max;
	int result;

	result = softnic_service_get_vni_range(session->client, request->id,
					       &vni_min, &vni_max);
	if (result == 0) {
		write_u16(body, vni_min);
		write_u16(body, vni_max);
	}
	return result;
}

static int do_get_netns(struct softnic_session *session,
			const struct wire_request *request, struct writer *body)
{
	uint32_t netns;
	int result;

	result =
		softnic_service_get_netns(session->client, request->id, &netns);
	if (result == 0)
		write_u32(body, netns);
	return result;
}

static int do_alloc_lni(struct softnic_session *session,
			const struct wire_request *request, struct writer *body)
{
	uint32_t lni_id;
	int result;

	result = softnic_lni_alloc(session->client, request->id, &lni_id);
	if (result == 0)
		write_u32(body, lni_id);
	return result;
}

static int do_control(struct softnic_session *session,
		      const struct wire_request *request, struct writer *body)
{
	struct fairlead_error error;
	int result;

	if (!session->is_owner)
		return -EPERM;
	result = control_run(session, request->text, body, &error);
	if (result < 0) {
		writer_fini(body);
		write_bytes(body, error.text, strlen(error.text));
	}
	return result;
}

struct operation {
	/* One of these: with a number or two and no body, or the rest. */
	int (*by_id)(struct softnic_client *client, uint32_t id);
	int (*by_value)(struct softnic_client *client, uint32_t id,
			uint32_t value);
	int (*other)(struct softnic_session *session,
		     const struct wire_request *request, struct writer *body);
};

static const struct operation operations[WIRE_OP_COUNT] = {
	[WIRE_GET_DEVICE_LIST] = { .other = do_device_list },
	[WIRE_OPEN_DEVICE] = { .other = do_open },
	[WIRE_ALLOC_SVC] = { .other = do_alloc_svc },
	[WIRE_DESTROY_SVC] = { .by_id = softnic_service_destroy },
	[WIRE_UPDATE_SVC] = { .other = do_update_svc },
	[WIRE_GET_SVC] = { .other = do_get_svc },
	[WIRE_GET_SVC_LIST] = { .other = do_get_svc_list },
	[WIRE_GET_SVC_RSRC_USE] = { .other = do_get_use },
	[WIRE_GET_SVC_RSRC_LIST] = { .other = do_get_use_list },
	[WIRE_SVC_ENABLE] = { .by_value = softnic_service_enable },
	[WIRE_SET_SVC_LPR] = { .by_value = softnic_service_set_lpr },
	[WIRE_GET_SVC_LPR] = { .by_id = softnic_service_get_lpr },
	[WIRE_SVC_SET_EXCLUSIVE_CP] = { .by_value =
						softnic_service_set_exclusive_cp },
	[WIRE_SVC_GET_EXCLUSIVE_CP] = { .other = do_get_exclusive_cp },
	[WIRE_SVC_SET_VNI_RANGE] = { .other = do_set_vni_range },
	[WIRE_SVC_GET_VNI_RANGE] = { .other = do_get_vni_range },
	[WIRE_SVC_SET_NETNS] = { .by_value = softnic_service_set_netns },
	[WIRE_SVC_GET_NETNS] = { .other = do_get_netns },
	[WIRE_ALLOC_LNI] = { .other = do_alloc_lni },
	[WIRE_DESTROY_LNI] = { .by_id = softnic_lni_free },
	[WIRE_CONTROL] = { .other = do_control },
};

static int run(struct softnic_session *session,
	       const struct wire_request *request, struct writer *body)
{
	const struct operation *operation = &operations[request->op];

	if (operation->by_id != NULL)
		return operation->by_id(session->client, request->id);
	if (operation->by_value != NULL)
		return operation->by_value(session->client, request->id,
					   request->value);
	return operation->other(session, request, body);
}

static bool needs_device(enum wire_op op)
{
	return op != WIRE_GET_DEVICE_LIST && op != WIRE_OPEN_DEVICE &&
	       op != WIRE_CONTROL;
}

int dispatch(struct softnic_session *session, const void *packet, size_t size,
	     struct softnic_answer *ret_answer)
{
	struct wire_request request;
	int result;

	result = wire_request_decode(packet, size, &request);
	if (result < 0) {
		ret_answer->result = result;
		return result;
	}
	ret_answer->op = request.op;
	if (needs_device(request.op) && session->client == NULL)
		ret_answer->result = -EBADF;
	else
		ret_answer->result = run(session, &request, &ret_answer->body);
	memory_check(ret_answer->body.result);
	return 0;
}
