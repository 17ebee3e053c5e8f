/* SPDX-License-Identifier: BSD-3-Clause */
#include "link/presence.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "/dev/shm/"
#define PREFIX "fairlead-"
#define SUFFIX ".here"
#define LEFT   ".left"
#define MAGIC  UINT64_C(0x32657265486c6461)
#define SHUT   UINT64_MAX /* a slot that nobody gets any more */

struct link_page {
	uint64_t magic; /* last: what is before it is there */
	uint64_t number, node;
	uint64_t started;
	int64_t process;
	uint32_t news; /* how often a peer with a slot here left */
	uint32_t is_full, is_shown, is_closed;
	uint64_t slots[PRESENCE_SLOTS]; /* from the first; 0 is free */
};

/* A file that is open: whoever made it holds a lock of it. */
struct leaf {
	int fd;
	struct link_page *page;
};

struct presence {
	uint64_t number, node;
	bool is_only, is_held;
	uint32_t seen_news; /* how many of the news */
	struct leaf leaf;
};

void presence_name(uint64_t number, char ret_name[PRESENCE_NAME_MAX])
{
	snprintf(ret_name, PRESENCE_NAME_MAX, PREFIX "%016llx",
		 (unsigned long long)number);
}

/* Of an endpoint: its file, its memory, or that under another name. */
static const char *path_of(uint64_t number, const char *suffix, char path[64])
{
	char name[PRESENCE_NAME_MAX];

	presence_name(number, name);
	snprintf(path, 64, FOLDER "%s%s", name, suffix);
	return path;
}

/* --- processes --- */

/*
 * What the kernel says of a process: a character for its state, its threads,
 * and when it started. The name that comes before may have anything in it.
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

static void leaf_close(struct leaf *leaf)
{
	munmap(leaf->page, sizeof(*leaf->page));
	close(leaf->fd);
}

/* Also whether it was taken away before it was locked: see half_bury(). */
static int leaf_make(int fd)
{
	struct stat is;

	if (ftruncate(fd, sizeof(struct link_page)) != 0 ||
	    flock(fd, LOCK_EX) != 0 || fstat(fd, &is) != 0)
		return -errno;
	return is.st_nlink == 0 ? -EAGAIN : 0;
}

static int leaf_map(const char *path, int flags, struct leaf *ret)
{
	struct stat is;
	int result = 0;

	ret->fd = open(path, flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (ret->fd < 0)
		return -errno;
	if ((flags & O_CREAT) == 0 &&
	    (fstat(ret->fd, &is) != 0 || is.st_uid != geteuid() ||
	     is.st_size < (off_t)sizeof(struct link_page)))
		result = -ENOENT;
	else if ((flags & O_CREAT) != 0)
		result = leaf_make(ret->fd);
	if (result == 0)
		ret->page =
			mmap(NULL, sizeof(struct link_page),
			     PROT_READ | PROT_WRITE, MAP_SHARED, ret->fd, 0);
	if (result == 0 && ret->page == MAP_FAILED)
		result = -ENOMEM;
	if (result != 0)
		close(ret->fd);
	return result;
}

/* That of an endpoint, if there is one. */
static int leaf_open(const char *path, struct leaf *ret)
{
	int result = leaf_map(path, 0, ret);

	if (result == 0 &&
	    __atomic_load_n(&ret->page->magic, __ATOMIC_ACQUIRE) != MAGIC) {
		leaf_close(ret);
		result = -ENOENT;
	}
	return result;
}

static int leaf_of(uint64_t number, struct leaf *ret)
{
	char path[64];
	int result = leaf_open(path_of(number, SUFFIX, path), ret);

	if (result == 0 && ret->page->number != number) {
		leaf_close(ret);
		result = -ENOENT;
	}
	return result;
}

static struct presence_process process_of(const struct link_page *page)
{
	return (struct presence_process){ (pid_t)page->process, page->started };
}

static bool is_closed(const struct link_page *page)
{
	return __atomic_load_n(&page->is_closed, __ATOMIC_ACQUIRE) != 0;
}

/*
 * Numbers of processes mean something within one pid namespace only; the lock
 * is everywhere the same, but a child of the dead may hold it.
 */
static bool leaf_is_gone(const struct leaf *leaf, uint64_t node)
{
	const struct presence_process process = process_of(leaf->page);

	if (is_closed(leaf->page))
		return true;
	if (leaf->page->node == node && !presence_is_alive(&process))
		return true;
	if (flock(leaf->fd, LOCK_SH | LOCK_NB) != 0)
		return false;
	flock(leaf->fd, LOCK_UN);
	return true;
}

/* --- slots --- */

static int page_slot_find(const struct link_page *page, uint64_t number)
{
	for (unsigned int i = 0; i < PRESENCE_SLOTS; i++)
		if (__atomic_load_n(&page->slots[i], __ATOMIC_SEQ_CST) ==
		    number)
			return (int)i;
	return -1;
}

/* All look from the first one, so that two take the same for one peer. */
static int page_slot_try(struct link_page *page, uint64_t number)
{
	int slot = page_slot_find(page, number);

	for (unsigned int i = 0; i < PRESENCE_SLOTS && slot < 0; i++) {
		uint64_t there = 0;
		if (__atomic_compare_exchange_n(&page->slots[i], &there, number,
						false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST) ||
		    there == number)
			slot = (int)i;
	}
	return slot;
}

/*
 * Who is refused goes another way for good, and the other side has to find the
 * same later. So it says that first, and looks again: what is given back after
 * that is given to nobody.
 */
static int page_slot_take(struct link_page *page, uint64_t number, bool is_only)
{
	int slot = page_slot_try(page, number);

	if (slot >= 0 || is_only)
		return slot;
	__atomic_store_n(&page->is_full, 1, __ATOMIC_SEQ_CST);
	return page_slot_try(page, number);
}

static void page_slot_free(struct link_page *page, unsigned int slot)
{
	uint64_t there = 0;

	__atomic_store_n(&page->slots[slot], 0, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&page->is_full, __ATOMIC_SEQ_CST) != 0)
		__atomic_compare_exchange_n(&page->slots[slot], &there, SHUT,
					    false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
}

static uint64_t page_slot_look(const struct link_page *page, unsigned int slot)
{
	uint64_t number = __atomic_load_n(&page->slots[slot], __ATOMIC_SEQ_CST);

	return number == SHUT ? 0 : number;
}

/* --- files of endpoints that are gone --- */

/*
 * Whether a live peer has a slot for it. Notifies such peers, so that they give
 * it back.
 */
static bool leaf_is_held(const struct leaf *leaf, uint64_t node, bool tell)
{
	bool is_held = false;

	for (unsigned int i = 0; i < PRESENCE_SLOTS; i++) {
		uint64_t number = page_slot_look(leaf->page, i);
		struct leaf other;
		if (number == 0 || number == leaf->page->number ||
		    leaf_of(number, &other) != 0)
			continue;
		if (page_slot_find(other.page, leaf->page->number) >= 0 &&
		    !leaf_is_gone(&other, node)) {
			is_held = true;
			if (tell)
				__atomic_add_fetch(&other.page->news, 1,
						   __ATOMIC_ACQ_REL);
		}
		leaf_close(&other);
		if (is_held && !tell)
			break;
	}
	return is_held;
}

static void files_remove(uint64_t number)
{
	char path[64];

	unlink(path_of(number, "", path));
	unlink(path_of(number, LEFT, path));
	unlink(path_of(number, SUFFIX, path));
}

/* Who makes one locks it at once: nobody has this one, and it says nothing. */
static void half_bury(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	uint64_t magic = 0;
	struct stat is;

	if (fd < 0)
		return;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &is) == 0 &&
	    is.st_uid == geteuid() && is.st_nlink > 0 &&
	    pread(fd, &magic, sizeof(magic), 0) >= 0 && magic == 0)
		unlink(path);
	close(fd);
}

/* Removes the file of an endpoint that is gone, unless it is still held. */
static void leaf_bury(const char *path, uint64_t node)
{
	struct leaf leaf;

	if (leaf_open(path, &leaf) != 0) {
		half_bury(path);
		return;
	}
	if (leaf_is_gone(&leaf, node) && !leaf_is_held(&leaf, node, true))
		files_remove(leaf.page->number);
	leaf_close(&leaf);
}

void presence_sweep(uint64_t node)
{
	DIR *folder = opendir(FOLDER);
	struct dirent *entry;
	char path[300];

	if (folder == NULL)
		return;
	while ((entry = readdir(folder)) != NULL) {
		size_t size = strlen(entry->d_name);
		if (size <= strlen(PREFIX SUFFIX) ||
		    strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0 ||
		    strcmp(entry->d_name + size - strlen(SUFFIX), SUFFIX) != 0)
			continue;
		snprintf(path, sizeof(path), FOLDER "%s", entry->d_name);
		leaf_bury(path, node);
	}
	closedir(folder);
}

/* --- one's own --- */

/* An endpoint that is gone had this name; others may still hold its file. */
static void leaf_replace(const char *path, uint64_t node)
{
	struct leaf leaf;

	if (leaf_open(path, &leaf) != 0) {
		half_bury(path);
		return;
	}
	if (leaf_is_gone(&leaf, node))
		files_remove(leaf.page->number);
	leaf_close(&leaf);
}

/*
 * shm believes what it finds under the name of its memory, and is ended by what
 * is too short. Whoever left it is gone, or may not have it: the name is ours.
 */
static bool memory_is_free(uint64_t number)
{
	char path[64];

	return unlink(path_of(number, "", path)) == 0 || errno == ENOENT;
}

int presence_open(uint64_t number, uint64_t node, bool is_only,
		  struct presence **ret)
{
	struct presence *presence = calloc(1, sizeof(*presence));
	char path[64], state;
	struct link_page *page;
	long threads;
	int result;

	if (presence == NULL)
		return -ENOMEM;
	path_of(number, SUFFIX, path);
	leaf_replace(path, node);
	do
		result = leaf_map(path, O_CREAT | O_EXCL, &presence->leaf);
	while (result == -EAGAIN);
	if (result == 0 && !memory_is_free(number)) {
		unlink(path);
		leaf_close(&presence->leaf);
		result = -EADDRINUSE;
	}
	if (result != 0) {
		free(presence);
		return result;
	}
	presence->number = number;
	presence->node = node;
	presence->is_only = is_only;
	page = presence->leaf.page;
	page->number = number;
	page->node = node;
	page->process = getpid();
	if (!process_look(getpid(), &state, &threads, &page->started))
		page->started = 0;
	__atomic_store_n(&page->magic, MAGIC, __ATOMIC_RELEASE);
	*ret = presence;
	return 0;
}

void presence_show(struct presence *presence)
{
	__atomic_store_n(&presence->leaf.page->is_shown, 1, __ATOMIC_RELEASE);
}

/* A child of the program's that closes it leaves what is not its own. */
static bool is_own(const struct presence *presence)
{
	return presence->leaf.page->process == getpid();
}

/* shm takes its memory away: it stays under another name meanwhile. */
void presence_leave(struct presence *presence)
{
	char memory[64], left[64];

	if (presence == NULL || !is_own(presence))
		return;
	presence->is_held =
		leaf_is_held(&presence->leaf, presence->node, false);
	if (presence->is_held)
		presence->is_held =
			link(path_of(presence->number, "", memory),
			     path_of(presence->number, LEFT, left)) == 0;
}

static void presence_end(struct presence *presence)
{
	struct link_page *page = presence->leaf.page;
	char memory[64], left[64], path[64];

	if (presence->is_held)
		rename(path_of(presence->number, LEFT, left),
		       path_of(presence->number, "", memory));
	__atomic_store_n(&page->is_closed, 1, __ATOMIC_RELEASE);
	flock(presence->leaf.fd, LOCK_UN);
	leaf_bury(path_of(presence->number, SUFFIX, path), presence->node);
	/* Those of which this one was the last. */
	for (unsigned int i = 0; i < PRESENCE_SLOTS; i++) {
		uint64_t number = page_slot_look(page, i);
		if (number != 0)
			leaf_bury(path_of(number, SUFFIX, path),
				  presence->node);
	}
}

void presence_close(struct presence *presence)
{
	if (presence == NULL)
		return;
	if (is_own(presence))
		presence_end(presence);
	leaf_close(&presence->leaf);
	free(presence);
}

int presence_join(struct presence *presence, uint64_t other,
		  struct presence_process *ret_process)
{
	struct leaf leaf;
	int result = leaf_of(other, &leaf), slot = -1;

	if (result != 0)
		return result;
	*ret_process = process_of(leaf.page);
	if (is_closed(leaf.page) ||
	    __atomic_load_n(&leaf.page->is_shown, __ATOMIC_ACQUIRE) == 0)
		result = -ENOENT;
	else if (page_slot_take(leaf.page, presence->number,
				presence->is_only) >= 0)
		slot = page_slot_take(presence->leaf.page, other,
				      presence->is_only);
	leaf_close(&leaf);
	if (result != 0)
		return result;
	return slot >= 0 ? slot : -ENOSPC;
}

bool presence_has_news(struct presence *presence)
{
	uint32_t news =
		__atomic_load_n(&presence->leaf.page->news, __ATOMIC_ACQUIRE);
	bool has_news = news != presence->seen_news;

	presence->seen_news = news;
	return has_news;
}

uint64_t presence_gone(const struct presence *presence, unsigned int slot,
		       pid_t *ret_process)
{
	uint64_t number = page_slot_look(presence->leaf.page, slot);
	struct leaf leaf;
	bool is_gone;

	*ret_process = 0;
	if (number == 0 || leaf_of(number, &leaf) != 0)
		return number;
	*ret_process = process_of(leaf.page).number;
	is_gone = leaf_is_gone(&leaf, presence->node);
	leaf_close(&leaf);
	return is_gone ? number : 0;
}

void presence_give_back(struct presence *presence, unsigned int slot)
{
	uint64_t number = page_slot_look(presence->leaf.page, slot);
	char path[64];

	page_slot_free(presence->leaf.page, slot);
	leaf_bury(path_of(number, SUFFIX, path), presence->node);
}
