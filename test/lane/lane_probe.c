/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lane-probe [--uid UID] [--netns FILE] [--device NAME] [--from ADDRESS] VERB
 * ...
 *
 *	tcp-connect ADDRESS PORT        until there is a connection, or none
 *	tcp-listen ADDRESS PORT         until somebody has connected
 *	udp-send ADDRESS PORT TEXT
 *	udp-receive ADDRESS PORT        until something has come
 *	raw-vxlan PEER PORT VNI MAC FROM TO TO-PORT TEXT
 *
 * What a user of a network namespace can do, for scripts: who waits says so in
 * a first line, "ready". The last line says how it ended. Exit codes: 0 done, 1
 * refused, 2 the command line is wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "probe.h"

#define TEXT_MAX 128

struct act {
	struct probe_actor actor;
	struct probe_call call;
};

static void usage(void)
{
	fprintf(stderr,
		"usage: lane-probe [--uid UID] [--netns FILE] [--device NAME] "
		"[--from ADDRESS] VERB ...\n");
	exit(2);
}

static uint32_t number(const char *text, uint32_t max)
{
	char *end;
	unsigned long result = strtoul(text, &end, 10);

	if (end == text || *end || result > max)
		usage();
	return (uint32_t)result;
}

static struct probe_end end_parse(const char *address, const char *port)
{
	struct probe_end end = { .port = (uint16_t)number(port, UINT16_MAX) };

	if (!ip_address_parse(address, &end.address))
		usage();
	return end;
}

static int refused(int error)
{
	printf("refused: %s\n", strerror(-error));
	return 1;
}

/* Until the socket has something to say. */
static void wait_for(int fd, short events)
{
	struct pollfd poll_fd = { .fd = fd, .events = events };

	while (poll(&poll_fd, 1, -1) < 0 && errno == EINTR)
		;
}

static int begin(const struct act *act, bool is_waiting)
{
	int fd = probe_open(&act->actor, &act->call);

	if (fd >= 0 && is_waiting) {
		puts("ready");
		fflush(stdout);
	}
	return fd;
}

/* --- verbs --- */

static int tcp_connect(struct act *act, char **args)
{
	int fd, result;

	act->call.type = SOCK_STREAM;
	act->call.to = end_parse(args[0], args[1]);
	fd = begin(act, false);
	if (fd < 0)
		return refused(fd);
	wait_for(fd, POLLOUT);
	result = probe_connected(fd);
	if (result < 0)
		return refused(result);
	puts("connected");
	return 0;
}

static int tcp_listen(struct act *act, char **args)
{
	int fd, result;

	act->call.type = SOCK_STREAM;
	act->call.is_listening = true;
	act->call.from = end_parse(args[0], args[1]);
	fd = begin(act, true);
	if (fd < 0)
		return refused(fd);
	wait_for(fd, POLLIN);
	result = probe_accept(fd);
	if (result < 0)
		return refused(result);
	puts("accepted");
	return 0;
}

static int udp_send(struct act *act, char **args)
{
	int fd;

	act->call.type = SOCK_DGRAM;
	act->call.to = end_parse(args[0], args[1]);
	act->call.bytes = args[2];
	act->call.size = strlen(args[2]);
	fd = begin(act, false);
	if (fd < 0)
		return refused(fd);
	puts("sent");
	return 0;
}

static int udp_receive(struct act *act, char **args)
{
	char text[TEXT_MAX + 1];
	ssize_t size;
	int fd;

	act->call.type = SOCK_DGRAM;
	act->call.from = end_parse(args[0], args[1]);
	fd = begin(act, true);
	if (fd < 0)
		return refused(fd);
	wait_for(fd, POLLIN);
	size = probe_receive(fd, text, TEXT_MAX);
	if (size < 0)
		return refused((int)size);
	printf("received: %.*s\n", (int)size, text);
	return 0;
}

static int raw_vxlan(struct act *act, char **args)
{
	uint8_t packet[PROBE_FORGED_MAX];
	struct probe_forgery forgery = {
		.vni = number(args[2], ETHERNET_VNI_LIMIT - 1),
		.from = end_parse(args[4], "7000"),
		.to = end_parse(args[5], args[6]),
		.text = args[7],
	};
	uint8_t *mac = forgery.to_mac;
	int fd;

	if (sscanf(args[3], "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx", &mac[0],
		   &mac[1], &mac[2], &mac[3], &mac[4], &mac[5]) != 6 ||
	    forgery.from.address.family != forgery.to.address.family ||
	    strlen(forgery.text) > TEXT_MAX)
		usage();
	act->call.type = SOCK_DGRAM;
	act->call.to = end_parse(args[0], args[1]);
	act->call.bytes = packet;
	act->call.size = probe_forge(&forgery, packet);
	fd = begin(act, false);
	if (fd < 0)
		return refused(fd);
	puts("sent");
	return 0;
}

static const struct {
	const char *name;
	int arguments;
	int (*run)(struct act *act, char **args);
} verbs[] = {
	{ "tcp-connect", 2, tcp_connect }, { "tcp-listen", 2, tcp_listen },
	{ "udp-send", 3, udp_send },       { "udp-receive", 2, udp_receive },
	{ "raw-vxlan", 8, raw_vxlan },
};

static void option_take(struct act *act, int option)
{
	switch (option) {
	case 'u':
		act->actor.uid = number(optarg, UINT32_MAX - 1);
		break;
	case 'n':
		act->actor.netns = open(optarg, O_RDONLY | O_CLOEXEC);
		if (act->actor.netns < 0)
			exit(refused(-errno));
		break;
	case 'd':
		act->call.device = optarg;
		break;
	case 'f':
		act->call.from = end_parse(optarg, "0");
		break;
	default:
		usage();
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "uid", required_argument, NULL, 'u' },
		{ "netns", required_argument, NULL, 'n' },
		{ "device", required_argument, NULL, 'd' },
		{ "from", required_argument, NULL, 'f' },
		{ NULL },
	};
	struct act act = { .actor.netns = -1 };
	int option;

	while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1)
		option_take(&act, option);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (optind < argc && strcmp(argv[optind], verbs[i].name) == 0 &&
		    argc - optind - 1 == verbs[i].arguments)
			return verbs[i].run(&act, argv + optind + 1);
	}
	usage();
}
