/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The child reads its text from a file in memory and writes into two others:
 * nobody waits for anybody, however long they are, and the parent needs no
 * handler of SIGPIPE.
 */
#include "lanes/driver/ethernet/nft.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lanes/driver/common/trusted_path.h"
#include "lanes/driver/ethernet/nft_text.h"

/* What is read of the answer: a few counters, and those of a foreign table. */
#define ANSWER_MAX 65536
#define REASON_MAX 512
/* What a shell says then; nft has 1. */
#define EXIT_NOT_RUN   126
#define EXIT_NOT_THERE 127

static int file_make(const char *name, int *ret_fd,
		     struct fairlead_error *ret_error)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd < 0)
		return error_set(ret_error, -errno, "nft: %s", strerror(errno));
	*ret_fd = fd;
	return 0;
}

static int file_write(int fd, const char *text, size_t size,
		      struct fairlead_error *ret_error)
{
	while (size > 0) {
		ssize_t count = write(fd, text, size);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return error_set(ret_error, -errno, "nft: %s",
					 strerror(errno));
		text += count;
		size -= (size_t)count;
	}
	if (lseek(fd, 0, SEEK_SET) < 0)
		return error_set(ret_error, -errno, "nft: %s", strerror(errno));
	return 0;
}

/* The begin of what the child wrote, with a zero. */
static int file_read(int fd, char *text, size_t capacity,
		     struct fairlead_error *ret_error)
{
	size_t size = 0;

	while (size < capacity - 1) {
		ssize_t count =
			pread(fd, text + size, capacity - 1 - size, size);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return error_set(ret_error, -errno, "nft: %s",
					 strerror(errno));
		if (count == 0)
			break;
		size += (size_t)count;
	}
	text[size] = 0;
	return 0;
}

/* All signals as they are in a program that nobody has touched. */
static void reset_signals(void)
{
	const struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		sigaction(i, &action, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * It dies with us: who starts in our place writes all rules anew, and what we
 * had asked for must not come after that.
 */
static _Noreturn void become_nft(const char *path, char *const arguments[],
				 const int files[3], pid_t parent)
{
	char *const environment[] = { NULL };

	reset_signals();
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
	    chdir("/") < 0)
		_exit(EXIT_NOT_RUN);
	for (int i = 0; i < 3; i++) {
		if (dup2(files[i], i) < 0)
			_exit(EXIT_NOT_RUN);
	}
	close_range(3, ~0u, 0);
	execve(path, arguments, environment);
	if (errno == ENOENT)
		_exit(EXIT_NOT_THERE);
	dprintf(2, "cannot be run: %s\n", strerror(errno));
	_exit(EXIT_NOT_RUN);
}

static int wait_for(pid_t pid, int *ret_status)
{
	while (waitpid(pid, ret_status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

int nft_check(const char *path, struct fairlead_error *ret_error)
{
	_auto_(freep) char *resolved = NULL;

	return trusted_path_resolve("nft", path, false, &resolved, ret_error);
}

/* ret_output: NULL, or what it wrote, the caller's to close. */
static int run(const char *path, char *const arguments[], const char *text,
	       size_t size, int *ret_output, struct fairlead_error *ret_error)
{
	_auto_(closep) int input = -1;
	_auto_(closep) int output = -1;
	_auto_(closep) int errors = -1;
	char reason[REASON_MAX];
	pid_t pid, parent;
	int status, result;

	result = nft_check(path, ret_error);
	if (result == -ENOENT)
		return error_set(ret_error, -ENOPKG, "there is no '%s'", path);
	if (result == 0)
		result = file_make("nft-input", &input, ret_error);
	if (result == 0)
		result = file_make("nft-output", &output, ret_error);
	if (result == 0)
		result = file_make("nft-errors", &errors, ret_error);
	if (result == 0)
		result = file_write(input, text, size, ret_error);
	if (result < 0)
		return result;
	parent = getpid();
	pid = fork();
	if (pid == 0)
		become_nft(path, arguments, (int[3]){ input, output, errors },
			   parent);
	result = pid < 0 ? -errno : wait_for(pid, &status);
	if (result < 0)
		return error_set(ret_error, result, "cannot run '%s': %s", path,
				 strerror(-result));
	if (WIFSIGNALED(status))
		return error_set(ret_error, -EIO, "nft was ended by signal %d",
				 WTERMSIG(status));
	if (WEXITSTATUS(status) == EXIT_NOT_THERE)
		return error_set(ret_error, -ENOPKG, "there is no '%s'", path);
	if (WEXITSTATUS(status) == 0) {
		if (ret_output) {
			*ret_output = output;
			output = -1;
		}
		return 0;
	}
	result = file_read(errors, reason, sizeof(reason), ret_error);
	return result < 0 ? result : nft_text_error(reason, ret_error);
}

int nft_apply(const char *path, const void *text, size_t size,
	      struct fairlead_error *ret_error)
{
	char *const arguments[] = { "nft", "-f", "-", NULL };

	return run(path, arguments, text, size, NULL, ret_error);
}

static int list_counters(const char *path, struct nft_listing *ret_listing,
			 struct fairlead_error *ret_error)
{
	char *const arguments[] = { "nft",  "list",      "counters", "table",
				    "inet", RULES_TABLE, NULL };
	_auto_(freep) char *answer = malloc(ANSWER_MAX);
	_auto_(closep) int output = -1;
	int result;

	if (answer == NULL)
		return error_set(ret_error, -ENOMEM, "out of memory");
	result = run(path, arguments, NULL, 0, &output, ret_error);
	if (result == 0)
		result = file_read(output, answer, ANSWER_MAX, ret_error);
	if (result < 0)
		return result;
	nft_text_counters(answer, ret_listing);
	return 0;
}

int nft_table(const char *path, enum nft_table *ret_table,
	      struct nft_counters *ret_counters,
	      struct fairlead_error *ret_error)
{
	struct nft_listing listing = { 0 };
	int result = list_counters(path, &listing, ret_error);

	if (result == -ENOENT)
		*ret_table = NFT_TABLE_NONE;
	else if (result < 0)
		return result;
	else
		*ret_table =
			listing.is_ours ? NFT_TABLE_OURS : NFT_TABLE_FOREIGN;
	if (ret_counters)
		*ret_counters = listing.counters;
	return 0;
}

/* FNV-1a, since nobody makes a text for it on purpose. */
static int digest_of(int fd, uint64_t *ret_digest,
		     struct fairlead_error *ret_error)
{
	uint64_t digest = 0xcbf29ce484222325u;
	off_t size = lseek(fd, 0, SEEK_END);
	uint8_t *bytes;

	if (size <= 0)
		return error_set(ret_error, -EIO, "nft has said nothing");
	bytes = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return error_set(ret_error, -errno, "nft: %s", strerror(errno));
	for (off_t i = 0; i < size; i++)
		digest = (digest ^ bytes[i]) * 0x100000001b3u;
	munmap(bytes, (size_t)size);
	*ret_digest = digest;
	return 0;
}

int nft_digest(const char *path, uint64_t *ret_digest,
	       struct fairlead_error *ret_error)
{
	char *const arguments[] = { "nft",  "-s",        "list", "table",
				    "inet", RULES_TABLE, NULL };
	_auto_(closep) int output = -1;
	int result = run(path, arguments, NULL, 0, &output, ret_error);

	return result < 0 ? result : digest_of(output, ret_digest, ret_error);
}

int nft_table_delete(const char *path, struct fairlead_error *ret_error)
{
	/* Made if need be, so that there is one to delete. */
	static const char text[] = "table inet " RULES_TABLE "\n"
				   "delete table inet " RULES_TABLE "\n";

	return nft_apply(path, text, sizeof(text) - 1, ret_error);
}

int nft_counters(const char *path, struct nft_counters *ret_counters,
		 struct fairlead_error *ret_error)
{
	struct nft_listing listing;
	int result = list_counters(path, &listing, ret_error);

	if (result == -ENOENT)
		return error_set(ret_error, result,
				 "there is no table inet " RULES_TABLE);
	if (result < 0)
		return result;
	if (!listing.is_ours)
		return error_set(ret_error, -ENOENT,
				 "table inet " RULES_TABLE
				 " is not of this version");
	*ret_counters = listing.counters;
	return 0;
}
