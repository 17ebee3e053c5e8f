/* SPDX-License-Identifier: BSD-3-Clause */
#include "link/presence.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "/dev/shm/"
#define PREFIX "fairlead-"
#define SUFFIX ".here"
#define MAGIC  UINT64_C(0x31657265486c6461)

struct page {
	uint64_t magic; /* last: what is before it is there */
	uint64_t number, node;
	uint64_t started;
	int64_t process;
	uint64_t places[PRESENCE_PLACES]; /* from the first; 0 is free */
};

struct presence {
	uint64_t number;
	struct page *page;
};

void presence_name(uint64_t number, char ret_name[PRESENCE_NAME_MAX])
{
	snprintf(ret_name, PRESENCE_NAME_MAX, PREFIX "%016llx",
		 (unsigned long long)number);
}

static void path_of(uint64_t number, char path[64])
{
	char name[PRESENCE_NAME_MAX];

	presence_name(number, name);
	snprintf(path, 64, FOLDER "%s" SUFFIX, name);
}

/* --- processes --- */

/*
 * What the kernel says of a process: a letter for its state, its threads, and
 * when it started. The name that comes before may have anything in it.
 */
static bool process_look(pid_t process, char *ret_state, long *ret_threads,
			 uint64_t *ret_started)
{
	char path[32], text[512], *at;
	unsigned long long started = 0;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)process);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	at = strrchr(text, ')');
	if (at == NULL ||
	    sscanf(at,
		   ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d "
		   "%*d %*d %*d %ld %*d %llu",
		   ret_state, ret_threads, &started) != 3)
		return false;
	*ret_started = started;
	return true;
}

bool presence_is_alive(const struct presence_process *process)
{
	uint64_t started = 0;
	long threads = 0;
	char state = 0;

	if (kill(process->number, 0) != 0 && errno == ESRCH)
		return false;
	if (!process_look(process->number, &state, &threads, &started))
		return kill(process->number, 0) == 0 || errno != ESRCH;
	if (process->started != 0 && process->started != started)
		return false;
	/* The first thread may have ended, and others not. */
	return state != 'X' && (state != 'Z' || threads > 1);
}

/* --- files --- */

static struct page *page_map(const char *path, int flags)
{
	struct stat is;
	void *page;
	int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return NULL;
	if ((flags & O_CREAT) != 0
		    ? ftruncate(fd, sizeof(struct page)) != 0
		    : fstat(fd, &is) != 0 || is.st_uid != geteuid() ||
			      is.st_size < (off_t)sizeof(struct page)) {
		close(fd);
		errno = ENOENT;
		return NULL;
	}
	page = mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
	close(fd);
	return page == MAP_FAILED ? NULL : page;
}

int presence_open(uint64_t number, uint64_t node, struct presence **ret)
{
	struct presence *presence = malloc(sizeof(*presence));
	char path[64], state;
	long threads;

	if (presence == NULL)
		return -ENOMEM;
	path_of(number, path);
	presence->number = number;
	presence->page = page_map(path, O_RDWR | O_CREAT | O_EXCL);
	if (presence->page == NULL) {
		int result = -errno;
		free(presence);
		return result;
	}
	presence->page->number = number;
	presence->page->node = node;
	presence->page->process = getpid();
	if (!process_look(getpid(), &state, &threads, &presence->page->started))
		presence->page->started = 0;
	__atomic_store_n(&presence->page->magic, MAGIC, __ATOMIC_RELEASE);
	*ret = presence;
	return 0;
}

void presence_close(struct presence *presence)
{
	char path[64];

	if (presence == NULL)
		return;
	path_of(presence->number, path);
	/* A child of the program's that closes it leaves what is not its own. */
	if (presence->page->process == getpid())
		unlink(path);
	munmap(presence->page, sizeof(*presence->page));
	free(presence);
}

/* The place of a number, taken if it has none. All look from the first one. */
static bool place_take(struct page *page, uint64_t number)
{
	for (unsigned int i = 0; i < PRESENCE_PLACES; i++) {
		uint64_t there = 0;
		if (__atomic_compare_exchange_n(&page->places[i], &there,
						number, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE) ||
		    there == number)
			return true;
	}
	return false;
}

int presence_join(struct presence *presence, uint64_t other,
		  struct presence_process *ret_process)
{
	struct page *page;
	char path[64];
	bool has_room;

	path_of(other, path);
	page = page_map(path, O_RDWR);
	if (page == NULL)
		return errno == ENOENT ? -ENOENT : -errno;
	if (__atomic_load_n(&page->magic, __ATOMIC_ACQUIRE) != MAGIC ||
	    page->number != other) {
		munmap(page, sizeof(*page));
		return -ENOENT;
	}
	*ret_process = (struct presence_process){ (pid_t)page->process,
						  page->started };
	has_room = place_take(page, presence->number) &&
		   place_take(presence->page, other);
	munmap(page, sizeof(*page));
	return has_room ? 0 : -ENOSPC;
}

static void sweep_one(const char *name, uint64_t node)
{
	struct presence_process process;
	char path[300], memory[300];
	struct page *page;
	bool is_left;

	snprintf(path, sizeof(path), FOLDER "%s", name);
	page = page_map(path, O_RDWR);
	if (page == NULL)
		return;
	process = (struct presence_process){ (pid_t)page->process,
					     page->started };
	is_left = __atomic_load_n(&page->magic, __ATOMIC_ACQUIRE) == MAGIC &&
		  page->node == node && process.number > 0 &&
		  !presence_is_alive(&process);
	munmap(page, sizeof(*page));
	if (!is_left)
		return;
	snprintf(memory, sizeof(memory), FOLDER "%.*s",
		 (int)(strlen(name) - strlen(SUFFIX)), name);
	unlink(memory);
	unlink(path);
}

void presence_sweep(uint64_t node)
{
	DIR *folder = opendir(FOLDER);
	struct dirent *entry;

	if (folder == NULL)
		return;
	while ((entry = readdir(folder)) != NULL) {
		size_t size = strlen(entry->d_name);
		if (size > strlen(PREFIX SUFFIX) &&
		    strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0 &&
		    strcmp(entry->d_name + size - strlen(SUFFIX), SUFFIX) == 0)
			sweep_one(entry->d_name, node);
	}
	closedir(folder);
}
