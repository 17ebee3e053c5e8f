/* SPDX-License-Identifier: BSD-3-Clause */
/* What the environment says: faults, demands, and where to record. */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link/test/core/testcore.h"

#define FAULTS_MAX 16
#define DIE        -1

struct fault {
	char domain[8], call[12];
	bool is_each;
	unsigned int n, calls;
	int error;
};

static struct {
	char text[512]; /* from which it was made */
	unsigned int count;
	struct fault list[FAULTS_MAX];
} faults;

static int error_of(const char *name)
{
	static const struct {
		const char *name;
		int error;
	} known[] = {
		{ "die", DIE },
		{ "eagain", FI_EAGAIN },
		{ "eio", FI_EIO },
		{ "enomem", FI_ENOMEM },
		{ "enospc", FI_ENOSPC },
		{ "einval", FI_EINVAL },
		{ "enodata", FI_ENODATA },
		{ "enosys", FI_ENOSYS },
		{ "enoent", FI_ENOENT },
		{ "eacces", FI_EACCES },
		{ "econnreset", FI_ECONNRESET },
		{ "ehostunreach", FI_EHOSTUNREACH },
		{ "ecanceled", FI_ECANCELED },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(name, known[i].name) == 0)
			return known[i].error;
	fprintf(stderr, "TESTCORE_FAULTS: no error is called %s\n", name);
	abort();
}

static void fault_parse(char *text)
{
	struct fault *fault = &faults.list[faults.count++];
	char *slash = strchr(text, '/'), name[16] = "", star = 0;
	const char *call = slash == NULL ? text : slash + 1;

	*fault = (struct fault){ .n = 1 };
	if (slash != NULL)
		snprintf(fault->domain, sizeof(fault->domain), "%.*s",
			 (int)(slash - text), text);
	if (sscanf(call, "%11[a-z]:%u:%15s", fault->call, &fault->n, name) !=
		    3 &&
	    sscanf(call, "%11[a-z]:%c%u:%15s", fault->call, &star, &fault->n,
		   name) != 4) {
		fprintf(stderr, "TESTCORE_FAULTS: %s?\n", text);
		abort();
	}
	fault->is_each = star == '*';
	fault->error = error_of(name);
}

static void faults_refresh(const char *text)
{
	char copy[sizeof(faults.text)], *save = NULL;

	if (strcmp(text, faults.text) == 0)
		return;
	memset(&faults, 0, sizeof(faults));
	snprintf(faults.text, sizeof(faults.text), "%s", text);
	memcpy(copy, faults.text, sizeof(copy));
	for (char *one = strtok_r(copy, ",", &save);
	     one != NULL && faults.count < FAULTS_MAX;
	     one = strtok_r(NULL, ",", &save))
		fault_parse(one);
}

static bool fault_is_due(struct fault *fault, const struct tc_domain *domain,
			 const char *call)
{
	if (strcmp(fault->call, call) != 0 ||
	    (fault->domain[0] != '\0' &&
	     (domain == NULL || strcmp(fault->domain, domain->name) != 0)))
		return false;
	fault->calls++;
	return fault->is_each ? fault->calls % fault->n == 0
			      : fault->calls == fault->n;
}

int tc_fault(const struct tc_domain *domain, const char *call)
{
	const char *text = getenv("TESTCORE_FAULTS");
	int error = 0;

	if (text == NULL)
		return 0;
	faults_refresh(text);
	for (unsigned int i = 0; i < faults.count; i++)
		if (fault_is_due(&faults.list[i], domain, call))
			error = faults.list[i].error;
	if (error == DIE)
		raise(SIGKILL);
	return -error;
}

uint64_t tc_delay(void)
{
	const char *text = getenv("TESTCORE_DELAY");

	return text == NULL ? 0 : strtoull(text, NULL, 10);
}

uint64_t tc_mr_mode(void)
{
	static const struct {
		const char *name;
		uint64_t flag;
	} modes[] = {
		{ "local", FI_MR_LOCAL },
		{ "prov_key", FI_MR_PROV_KEY },
		{ "virt_addr", FI_MR_VIRT_ADDR },
		{ "allocated", FI_MR_ALLOCATED },
		{ "endpoint", FI_MR_ENDPOINT },
	};
	const char *text = getenv("TESTCORE_MR_MODE");
	uint64_t mode = 0;

	for (size_t i = 0; text != NULL && i < sizeof(modes) / sizeof(modes[0]);
	     i++)
		if (strstr(text, modes[i].name) != NULL)
			mode |= modes[i].flag;
	return mode;
}

void tc_record(const struct tc_domain *domain, const char *format, ...)
{
	const char *path = getenv("TESTCORE_RECORD");
	char line[256];
	va_list args;
	int used, fd;

	if (path == NULL || path[0] == '\0')
		return;
	va_start(args, format);
	used = vsnprintf(line, sizeof(line) - 16, format, args);
	va_end(args);
	used += snprintf(line + used, sizeof(line) - (size_t)used, " %s\n",
			 domain->name);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, line, (size_t)used) != used) {
		perror(path);
		abort();
	}
	close(fd);
}
