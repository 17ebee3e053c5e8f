/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A write at the file's beginning replaces the list, one behind it adds to it
 * (Linux proc_do_large_bitmap): so nothing is lost that somebody reserves
 * meanwhile.
 */
#include "lanes/driver/ethernet/rail_ports.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/driver/ethernet/naming.h"

#define RESERVED_FILE "/proc/sys/net/ipv4/ip_local_reserved_ports"
#define RANGE_FILE    "/proc/sys/net/ipv4/ip_local_port_range"
/* Every other port is a text of less; a second read would give nothing. */
#define RESERVED_MAX (256 * 1024)

/* "8080,9000-9010": which of the rails' ports, as bits. */
static unsigned int rails_in(const char *text, uint16_t port)
{
	unsigned int rails = 0;
	char *end;

	for (;; text = end + 1) {
		unsigned long first = strtoul(text, &end, 10);
		unsigned long last = first;

		if (end == text)
			return rails;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (uint32_t rail = 0; rail < ETHERNET_RAILS_MAX; rail++) {
			uint16_t own = ethernet_port(port, rail);

			if (first <= own && own <= last)
				rails |= 1u << rail;
		}
		if (*end != ',')
			return rails;
	}
}

static int reserved_rails(uint16_t port, unsigned int *ret_rails)
{
	_auto_(closep) int fd = open(RESERVED_FILE, O_RDONLY | O_CLOEXEC);
	_auto_(freep) char *text = memory_array(RESERVED_MAX, 1);
	ssize_t size;

	size = fd < 0 ? -1 : read(fd, text, RESERVED_MAX - 1);
	if (size < 0)
		return -errno;
	text[size] = '\0';
	*ret_rails = rails_in(text, port);
	return 0;
}

static int reserve(uint16_t port)
{
	_auto_(closep) int fd = open(RESERVED_FILE, O_WRONLY | O_CLOEXEC);
	char text[ETHERNET_RAILS_MAX * sizeof("65535,")];
	size_t size = 0;

	if (fd < 0)
		return -errno;
	for (uint32_t rail = 0; rail < ETHERNET_RAILS_MAX; rail++)
		size += (size_t)snprintf(text + size, sizeof(text) - size,
					 "%s%u", rail > 0 ? "," : "",
					 ethernet_port(port, rail));
	return pwrite(fd, text, size, 1) < 0 ? -errno : 0;
}

int rail_ports_reserve(uint16_t port, struct fairlead_error *ret_error)
{
	const unsigned int all = (1u << ETHERNET_RAILS_MAX) - 1;
	unsigned int rails = 0;
	int result = reserved_rails(port, &rails);

	if (result == 0 && rails == all)
		return 0;
	if (result == 0)
		result = reserve(port);
	if (result == 0)
		result = reserved_rails(port, &rails);
	if (result == 0 && rails != all)
		result = -EIO;
	if (result < 0)
		return error_set(ret_error, result, "%s: %s", RESERVED_FILE,
				 strerror(-result));
	return 1;
}

int rail_ports_check(uint16_t port, struct fairlead_error *ret_error)
{
	_auto_(fclosep) FILE *file = fopen(RANGE_FILE, "re");
	unsigned int rails = 0, first, last;

	if (!file || fscanf(file, "%u %u", &first, &last) != 2 ||
	    reserved_rails(port, &rails) < 0)
		return 0;
	for (uint32_t rail = 0; rail < ETHERNET_RAILS_MAX; rail++) {
		uint16_t own = ethernet_port(port, rail);

		if (first <= own && own <= last && !(rails & 1u << rail))
			return error_set(
				ret_error, -EADDRINUSE,
				"any program can be given UDP port %u: "
				"put it, and those of all rails, into "
				"net.ipv4.ip_local_reserved_ports",
				own);
	}
	return 0;
}
