/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The software NIC's socket protocol: one packet a request, one packet a
 * reply, little-endian; the text of a control command comes as a file, whose
 * descriptor the reply has. doc/rfc/softnic.md has it in words.
 */
#pragma once

#include <stdint.h>

#include "base/bytes.h"
#include "lanes/driver/slingshot/libcxi_abi.h"

#define SOFTNIC_VERSION   1
#define WIRE_REQUEST_MAX  2048          /* bytes of a request */
#define WIRE_TEXT_MAX     1024          /* bytes of a control command */
#define WIRE_REPLY_MAX    (128u * 1024) /* bytes of a reply packet */
#define WIRE_LIST_MAX     1024          /* services in a list */
#define WIRE_DEVICE_MAX   64            /* devices in a list */

#define WIRE_DIR_VARIABLE "FAIRLEAD_SOFTNIC_DIR"
#define WIRE_DIR_DEFAULT  "/run/fairlead/softnic"

enum wire_op {
	WIRE_NONE, /* in a reply: the daemon refuses the connection */
	WIRE_GET_DEVICE_LIST,
	WIRE_OPEN_DEVICE, /* binds the connection to a NIC */
	WIRE_ALLOC_SVC,
	WIRE_DESTROY_SVC,
	WIRE_UPDATE_SVC,
	WIRE_GET_SVC,
	WIRE_GET_SVC_LIST,
	WIRE_GET_SVC_RSRC_USE,
	WIRE_GET_SVC_RSRC_LIST,
	WIRE_SVC_ENABLE,
	WIRE_SET_SVC_LPR,
	WIRE_GET_SVC_LPR,
	WIRE_SVC_SET_EXCLUSIVE_CP,
	WIRE_SVC_GET_EXCLUSIVE_CP,
	WIRE_SVC_SET_VNI_RANGE,
	WIRE_SVC_GET_VNI_RANGE,
	WIRE_SVC_SET_NETNS,
	WIRE_SVC_GET_NETNS,
	WIRE_ALLOC_LNI,
	WIRE_DESTROY_LNI,
	WIRE_CONTROL, /* a command of `fairlead-softnic ctl` */
	WIRE_OP_COUNT,
};

struct wire_request {
	enum wire_op op;
	uint32_t id;    /* NIC, service or LNI */
	uint32_t value; /* flag, LNIs per RGID, namespace, lowest VNI */
	uint32_t last;  /* highest VNI */
	struct cxi_svc_desc desc;
	char text[WIRE_TEXT_MAX + 1];
};

struct softnic_wire_reply {
	enum wire_op op;
	int32_t result;     /* what the library's function returns */
	struct reader body; /* a view into the packet */
};

/* Errors stay in the writer. */
void wire_request_encode(const struct wire_request *request,
			 struct writer *writer);
/*
 * -EPROTONOSUPPORT: another version; -EPROTO: anything else that is wrong.
 * Fields that the operation does not have are zero.
 */
int wire_request_decode(const void *bytes, size_t size,
			struct wire_request *ret_request);

/* The body follows. */
void wire_reply_encode(enum wire_op op, int32_t result, struct writer *writer);
/* As wire_request_decode. The body is read by the caller. */
int wire_reply_decode(const void *bytes, size_t size,
		      struct softnic_wire_reply *ret_reply);

/*
 * Bodies, and descriptors in requests, are the vendor's structures as
 * lanes/driver/slingshot/libcxi_abi.h has them: their layout is an ABI, and
 * both ends are on one machine. By the write_ functions and:
 */
void wire_read(struct reader *reader, void *ret_structure, size_t size);
