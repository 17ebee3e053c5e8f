/* SPDX-License-Identifier: BSD-3-Clause */
/* The status of a broken invariant is higher than any other, and wins. */
#include "shares.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void run_fn(const void *ctx, unsigned int share,
		    struct coverage *coverage);

static pid_t share_start(unsigned int share, run_fn *run, const void *ctx,
			 FILE **ret_file)
{
	int fds[2];
	pid_t pid;

	if (pipe(fds) < 0 || (pid = fork()) < 0) {
		perror("cannot start a process");
		exit(1);
	}
	if (pid == 0) {
		struct coverage *coverage = coverage_create();
		FILE *file = fdopen(fds[1], "w");

		close(fds[0]);
		run(ctx, share, coverage);
		coverage_write(coverage, file);
		coverage_destroy(coverage);
		exit(fclose(file) == 0 ? 0 : 1);
	}
	close(fds[1]);
	*ret_file = fdopen(fds[0], "r");
	return pid;
}

int shares_run(unsigned int count, run_fn *run, const void *ctx,
	       struct coverage *coverage)
{
	pid_t pids[SHARES_MAX];
	FILE *files[SHARES_MAX];
	int result = 0;

	if (count == 1) {
		run(ctx, 0, coverage);
		return 0;
	}
	fflush(stdout);
	for (unsigned int i = 0; i < count; i++)
		pids[i] = share_start(i, run, ctx, &files[i]);
	for (unsigned int i = 0; i < count; i++) {
		int status;

		if (coverage_read(coverage, files[i]) < 0 && result == 0)
			result = 1;
		fclose(files[i]);
		if (waitpid(pids[i], &status, 0) < 0 || !WIFEXITED(status))
			status = 1;
		else
			status = WEXITSTATUS(status);
		if (status > result)
			result = status;
	}
	return result;
}

uint64_t shares_number(const char *text, uint64_t most)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno != 0 || end == text || *end != 0 || value > most ||
	    *text == '-') {
		fprintf(stderr, "'%s' is not a number up to %" PRIu64 "\n",
			text, most);
		exit(2);
	}
	return value;
}

int shares_end(int result, struct coverage *coverage, bool is_printed,
	       bool is_complete, uint64_t seed, uint64_t count)
{
	unsigned int missing = 0;

	if (result == 0 && is_printed)
		missing = coverage_report(coverage, stdout);
	coverage_destroy(coverage);
	if (result == 0)
		printf("%" PRIu64 " seeds from %" PRIu64
		       ": no invariant was broken\n",
		       count, seed);
	return result == 0 && is_complete && missing > 0 ? 1 : result;
}
