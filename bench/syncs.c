/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts a daemon's syncs from outside: preloaded into it, this passes fsync
 * and fdatasync on to the kernel, and counts them in the file that the
 * variable BENCH_SYNCS names (8 bytes, of this machine's order).
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic uint64_t *sync_count;

__attribute__((constructor)) static void open_counter(void)
{
	const char *path = getenv("BENCH_SYNCS");
	int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
	void *page;

	if (fd < 0)
		return;
	page = mmap(NULL, sizeof(*sync_count), PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
	close(fd);
	if (page != MAP_FAILED)
		sync_count = page;
}

static void count(void)
{
	if (sync_count != NULL)
		atomic_fetch_add_explicit(sync_count, 1, memory_order_relaxed);
}

__attribute__((visibility("default"))) int fdatasync(int fd)
{
	count();
	return (int)syscall(SYS_fdatasync, fd);
}

__attribute__((visibility("default"))) int fsync(int fd)
{
	count();
	return (int)syscall(SYS_fsync, fd);
}
