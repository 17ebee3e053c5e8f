/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The last colon parts host and port; a host with colons of its own stands in
 * brackets. What has no port needs none. Whether the host exists is not asked
 * here.
 */
#include "base/address.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PORT_DIGITS_MAX 5

static int parse_port(const char *text, uint16_t *ret_port)
{
	size_t digits = strspn(text, "0123456789");
	unsigned long port;

	if (digits == 0 || digits > PORT_DIGITS_MAX || text[digits] != 0)
		return -EINVAL;
	port = strtoul(text, NULL, 10);
	if (port > UINT16_MAX)
		return -EINVAL;
	*ret_port = (uint16_t)port;
	return 0;
}

static bool is_bare_ipv6(const char *text)
{
	const char *colon = strchr(text, ':');

	return text[0] != '[' && colon != NULL &&
	       strchr(colon + 1, ':') != NULL;
}

int address_parse_listen(const char *text, struct address *ret_address,
			 struct fairlead_error *ret_error)
{
	struct address address = { 0 };
	size_t size = strlen(text);
	bool is_host = is_bare_ipv6(text) || strchr(text, ':') == NULL;

	if (size >= 2 && text[0] == '[' && text[size - 1] == ']') {
		text++;
		size -= 2;
		is_host = true;
	}
	if (!is_host)
		return address_parse(text, ret_address, ret_error);
	if (size == 0 || size > ADDRESS_HOST_MAX || strpbrk(text, "[ ") != NULL)
		return error_set(ret_error, -EINVAL,
				 "'%s' is neither an address nor an interface",
				 text);
	memcpy(address.host, text, size);
	*ret_address = address;
	return 0;
}

int address_parse(const char *text, struct address *ret_address,
		  struct fairlead_error *ret_error)
{
	struct address address = { 0 };
	const char *colon = strrchr(text, ':');
	const char *host = text;
	size_t size;

	if (colon == NULL)
		return error_set(ret_error, -EINVAL,
				 "address '%s' is not HOST:PORT", text);
	size = (size_t)(colon - text);
	if (size >= 2 && host[0] == '[' && host[size - 1] == ']') {
		host++;
		size -= 2;
	} else if (memchr(host, ':', size) != NULL) {
		return error_set(ret_error, -EINVAL,
				 "address '%s': an IPv6 address stands in "
				 "brackets, [HOST]:PORT",
				 text);
	}
	if (size == 0 || size > ADDRESS_HOST_MAX)
		return error_set(ret_error, -EINVAL,
				 "address '%s': the host has 1 to %d bytes",
				 text, ADDRESS_HOST_MAX);
	if (parse_port(colon + 1, &address.port) < 0)
		return error_set(ret_error, -EINVAL,
				 "address '%s': the port is a number from 0 "
				 "to 65535",
				 text);
	memcpy(address.host, host, size);
	*ret_address = address;
	return 0;
}
