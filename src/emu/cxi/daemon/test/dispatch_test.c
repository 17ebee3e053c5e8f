/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests and control commands against a model, without a socket. */
#include "emu/cxi/daemon/dispatch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BOOT_ID "01234567-89ab-4cde-8f01-23456789abcd"

struct fixture {
	struct softnic *softnic;
	struct softnic_session session;
	uint32_t nic_changed; /* number of the last one */
	unsigned int reboots;
};

static int nic_changed(void *ctx, uint32_t nic)
{
	struct fixture *fixture = ctx;

	fixture->nic_changed = nic;
	return 0;
}

static int reboot_node(void *ctx, char ret_boot_id[BOOT_ID_SIZE])
{
	struct fixture *fixture = ctx;

	fixture->reboots++;
	strcpy(ret_boot_id, BOOT_ID);
	return softnic_reboot(fixture->softnic);
}

static const char *boot_id(void *ctx)
{
	return BOOT_ID;
}

static int setup(void **state)
{
	static const struct control_ops ops = {
		.nic_changed = nic_changed,
		.reboot = reboot_node,
		.boot_id = boot_id,
	};
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct softnic_config config;

	assert_non_null(fixture);
	softnic_config_init(&config);
	config.nic_count = 2;
	assert_int_equal(softnic_create(&config, &fixture->softnic), 0);
	fixture->nic_changed = UINT32_MAX;
	fixture->session = (struct softnic_session){
		.softnic = fixture->softnic,
		.caller = { .uid = 0, .pid = 7, .is_privileged = true },
		.is_owner = true,
		.control = &ops,
		.control_ctx = fixture,
	};
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	session_fini(&fixture->session);
	softnic_destroy(fixture->softnic);
	free(fixture);
	return 0;
}

/* What comes back: the result; the caller finishes the answer. */
static int ask(struct fixture *fixture, const struct wire_request *request,
	       struct softnic_answer *ret_answer)
{
	struct writer writer = { 0 };

	*ret_answer = (struct softnic_answer){ 0 };
	wire_request_encode(request, &writer);
	assert_int_equal(dispatch(&fixture->session, writer.data, writer.size,
				  ret_answer),
			 0);
	assert_int_equal(ret_answer->op, request->op);
	writer_fini(&writer);
	return ret_answer->result;
}

static int ask_id(struct fixture *fixture, enum wire_op op, uint32_t id)
{
	struct wire_request request = { .op = op, .id = id };
	struct softnic_answer answer;
	int result = ask(fixture, &request, &answer);

	answer_fini(&answer);
	return result;
}

/* Run a control command; its text, which the caller frees, or NULL. */
static char *control(struct fixture *fixture, const char *command,
		     int *ret_result)
{
	struct wire_request request = { .op = WIRE_CONTROL };
	struct softnic_answer answer;
	char *text;

	strcpy(request.text, command);
	*ret_result = ask(fixture, &request, &answer);
	text = strndup(answer.body.data != NULL ? (char *)answer.body.data : "",
		       answer.body.size);
	assert_non_null(text);
	answer_fini(&answer);
	return text;
}

static void assert_control(struct fixture *fixture, const char *command,
			   int expected, const char *expected_text)
{
	int result;
	char *text = control(fixture, command, &result);

	assert_string_equal(text, expected_text);
	assert_int_equal(result, expected);
	free(text);
}

static void nothing_works_before_a_device_is_open(void **state)
{
	struct fixture *fixture = *state;

	for (unsigned int op = WIRE_ALLOC_SVC; op < WIRE_CONTROL; op++)
		assert_int_equal(ask_id(fixture, op, 1), -EBADF);
	assert_int_equal(ask_id(fixture, WIRE_GET_DEVICE_LIST, 0), 2);
	assert_int_equal(ask_id(fixture, WIRE_OPEN_DEVICE, 2), -ENOENT);
	assert_int_equal(ask_id(fixture, WIRE_OPEN_DEVICE, 1), 0);
	assert_int_equal(ask_id(fixture, WIRE_OPEN_DEVICE, 0), -EINVAL);
	assert_int_equal(ask_id(fixture, WIRE_GET_SVC, 1), 0);
	assert_int_equal(ask_id(fixture, WIRE_GET_SVC_LIST, 0), 2);
}

static void garbage_is_answered_once(void **state)
{
	struct fixture *fixture = *state;
	struct writer packet = { 0 };
	struct softnic_answer answer = { 0 };
	struct softnic_wire_reply reply;

	assert_int_equal(dispatch(&fixture->session, "\x01\xff\x00\x00", 4,
				  &answer),
			 -EPROTO);
	answer_encode(&answer, &packet);
	assert_int_equal(wire_reply_decode(packet.data, packet.size, &reply),
			 0);
	assert_int_equal(reply.op, WIRE_NONE);
	assert_int_equal(reply.result, -EPROTO);
	writer_fini(&packet);
	answer_fini(&answer);
}

static void failed_allocation_carries_fail_info(void **state)
{
	struct fixture *fixture = *state;
	struct wire_request request = { .op = WIRE_ALLOC_SVC };
	struct cxi_svc_fail_info info;
	struct softnic_answer answer;
	struct reader reader;

	assert_int_equal(ask_id(fixture, WIRE_OPEN_DEVICE, 0), 0);
	request.desc.resource_limits = true;
	request.desc.limits.txqs =
		(struct cxi_limits){ .max = 1024, .res = 1024 };
	assert_int_equal(ask(fixture, &request, &answer), -ENOSPC);
	reader = reader_of(answer.body.data, answer.body.size);
	wire_read(&reader, &info, sizeof(info));
	assert_true(reader_is_done(&reader));
	assert_int_equal(info.rsrc_avail[CXI_RSRC_TYPE_TXQ], 1023);
	answer_fini(&answer);
}

static void range_beyond_16_bits_is_invalid(void **state)
{
	struct fixture *fixture = *state;
	struct wire_request request = {
		.op = WIRE_SVC_SET_VNI_RANGE,
		.id = 3,
		.value = 65536 + 64,
		.last = 65536 + 127,
	};
	struct softnic_answer answer;

	assert_int_equal(ask_id(fixture, WIRE_OPEN_DEVICE, 0), 0);
	assert_int_equal(ask_id(fixture, WIRE_ALLOC_SVC, 0), 3);
	assert_int_equal(ask(fixture, &request, &answer), -EINVAL);
	answer_fini(&answer);
	request.value = 64;
	request.last = 127;
	assert_int_equal(ask(fixture, &request, &answer), 0);
	answer_fini(&answer);
}

static void control_is_for_the_owner(void **state)
{
	struct fixture *fixture = *state;

	fixture->session.is_owner = false;
	assert_control(fixture, "reboot", -EPERM, "");
	assert_int_equal(fixture->reboots, 0);
}

static void control_says_what_is_wrong(void **state)
{
	static const char *const cases[][2] = {
		{ "", "unknown command ''" },
		{ "dumb", "unknown command 'dumb'" },
		{ "dump all", "'all' is not of the form key=value" },
		{ "dump color=1", "unknown key 'color'" },
		{ "dump nic=0", "'dump' does not take all of these keys" },
		{ "fault op=alloc_svc", "'fault' needs more keys" },
		{ "fault op=alloc errno=EIO", "'alloc' is no value for 'op'" },
		{ "fault op=get_svc errno=EIEIO",
		  "'EIEIO' is no value for 'errno'" },
		{ "fault op=get_svc errno=5", "'5' is no value for 'errno'" },
		{ "fault op=get_svc errno=EIO nth=0",
		  "'0' is no value for 'nth'" },
		{ "fault op=get_svc errno=EIO nic=16",
		  "'16' is no value for 'nic'" },
		{ "fault op=get_svc errno=EIO nic=2",
		  "fault: Invalid argument" },
		{ "fault op=get_svc errno=EIO count=0",
		  "fault: Invalid argument" },
		{ "remove nic=0 nic=1", "'nic' is given twice" },
		{ "remove nic=", "'' is no value for 'nic'" },
		{ "remove nic=0x", "'0x' is no value for 'nic'" },
		{ "busy nic=0 svc=3 ms=soon", "'soon' is no value for 'ms'" },
		{ "busy nic=0 svc=9 ms=1", "busy: Invalid argument" },
		{ "use nic=0 svc=1 type=XX count=1",
		  "'XX' is no value for 'type'" },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_control(fixture, cases[i][0], -EINVAL, cases[i][1]);
}

static void faults_are_spent_and_cleared(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask_id(fixture, WIRE_OPEN_DEVICE, 0), 0);
	assert_control(fixture, "fault errno=ENOSPC op=get_svc nth=2", 0, "");
	assert_int_equal(ask_id(fixture, WIRE_GET_SVC, 1), 0);
	assert_int_equal(ask_id(fixture, WIRE_GET_SVC, 1), -ENOSPC);
	assert_int_equal(ask_id(fixture, WIRE_GET_SVC, 1), 0);
	assert_control(fixture, "fault errno=EIO op=get_svc count=3", 0, "");
	assert_int_equal(ask_id(fixture, WIRE_GET_SVC, 1), -EIO);
	assert_control(fixture, "clear", 0, "");
	assert_int_equal(ask_id(fixture, WIRE_GET_SVC, 1), 0);
}

static void busy_and_use_hold_a_service(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask_id(fixture, WIRE_OPEN_DEVICE, 0), 0);
	assert_control(fixture, "busy svc=2 nic=0 ms=forever", 0, "");
	assert_int_equal(ask_id(fixture, WIRE_DESTROY_SVC, 2), -EBUSY);
	assert_control(fixture, "busy svc=2 nic=0 ms=release", 0, "");
	assert_control(fixture, "use svc=2 nic=0 type=PTE count=9", 0, "");
	assert_int_equal(ask_id(fixture, WIRE_DESTROY_SVC, 2), -EBUSY);
	assert_control(fixture, "use svc=2 nic=0 type=PTE count=9", -ENOSPC,
		       "use: No space left on device");
	assert_control(fixture, "use svc=2 nic=0 type=PTE count=70000", -ENOSPC,
		       "use: No space left on device");
	assert_control(fixture, "use svc=2 nic=0 type=PTE count=-9", 0, "");
	assert_control(fixture, "busy svc=2 nic=0 ms=10", 0, "");
	assert_int_equal(ask_id(fixture, WIRE_DESTROY_SVC, 2), -EBUSY);
	softnic_advance(fixture->softnic, 10);
	assert_int_equal(ask_id(fixture, WIRE_DESTROY_SVC, 2), 0);
}

static void nics_come_and_go_and_the_daemon_gets_events(void **state)
{
	struct fixture *fixture = *state;

	assert_control(fixture, "remove nic=1", 0, "");
	assert_int_equal(fixture->nic_changed, 1);
	fixture->nic_changed = UINT32_MAX;
	assert_control(fixture, "remove nic=1", -ENODEV,
		       "remove: No such device");
	assert_int_equal(fixture->nic_changed, UINT32_MAX);
	assert_int_equal(ask_id(fixture, WIRE_GET_DEVICE_LIST, 0), 1);
	assert_control(fixture, "restore nic=1", 0, "");
	assert_int_equal(fixture->nic_changed, 1);
	assert_control(fixture, "restore nic=1", -EEXIST,
		       "restore: File exists");
	assert_int_equal(ask_id(fixture, WIRE_GET_DEVICE_LIST, 0), 2);
}

static void reboot_tells_the_new_boot_id(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask_id(fixture, WIRE_OPEN_DEVICE, 0), 0);
	assert_control(fixture, "reboot", 0, BOOT_ID "\n");
	assert_int_equal(fixture->reboots, 1);
	assert_int_equal(ask_id(fixture, WIRE_GET_SVC, 1), -EIO);
}

static void dump_is_a_text(void **state)
{
	struct fixture *fixture = *state;
	struct wire_request request = { .op = WIRE_CONTROL, .text = "dump" };
	struct writer packet = { 0 };
	struct softnic_wire_reply reply;
	struct softnic_answer answer;
	const char *id;
	json_t *dump;

	assert_int_equal(ask(fixture, &request, &answer), 0);
	assert_true(answer_is_text(&answer));
	answer_encode(&answer, &packet);
	assert_int_equal(wire_reply_decode(packet.data, packet.size, &reply),
			 0);
	assert_int_equal(reply.body.left, 0);
	dump = json_loadb((char *)answer.body.data, answer.body.size, 0, NULL);
	assert_non_null(dump);
	assert_int_equal(json_unpack(dump, "{s:s}", "boot_id", &id), 0);
	assert_string_equal(id, BOOT_ID);
	json_decref(dump);
	writer_fini(&packet);
	answer_fini(&answer);
}

static void largest_list_fits_one_packet(void **state)
{
	struct fixture *fixture = *state;
	struct wire_request request = { .op = WIRE_GET_SVC_LIST };
	struct writer packet = { 0 };
	struct softnic_answer answer;

	assert_int_equal(ask_id(fixture, WIRE_OPEN_DEVICE, 0), 0);
	for (unsigned int i = 3; i <= SOFTNIC_SERVICE_MAX; i++) {
		struct wire_request alloc = {
			.op = WIRE_ALLOC_SVC,
			.desc.resource_limits = true,
		};

		assert_true(ask(fixture, &alloc, &answer) > 0);
		answer_fini(&answer);
	}
	assert_int_equal(ask(fixture, &request, &answer), SOFTNIC_SERVICE_MAX);
	answer_encode(&answer, &packet);
	assert_true(packet.size <= WIRE_REPLY_MAX);
	writer_fini(&packet);
	answer_fini(&answer);
}

#define session_test(name) \
	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		session_test(nothing_works_before_a_device_is_open),
		session_test(garbage_is_answered_once),
		session_test(failed_allocation_carries_fail_info),
		session_test(range_beyond_16_bits_is_invalid),
		session_test(control_is_for_the_owner),
		session_test(control_says_what_is_wrong),
		session_test(faults_are_spent_and_cleared),
		session_test(busy_and_use_hold_a_service),
		session_test(nics_come_and_go_and_the_daemon_gets_events),
		session_test(reboot_tells_the_new_boot_id),
		session_test(dump_is_a_text),
		session_test(largest_list_fits_one_packet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
