/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A folder of our own covers /sys/class/net. The links that were there stay,
 * and a NIC's network device is a folder with the files that are looked at.
 * Where that is not allowed everything stays as it is: only programs that use
 * the NICs by libfabric miss it.
 */
#include "emu/cluster/sysfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define NET           "/sys/class/net"
#define PCI_BUS_FIRST 0x40 /* as the software NIC has it (cxi/core/devinfo.c) */

static void put(int folder, const char *name, const char *text)
{
	_auto_(closep) int fd = openat(
		folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);

	if (fd >= 0)
		(void)!write(fd, text, strlen(text));
}

/* Only the name of the link's target counts: the address on the PCI bus. */
static void add_nic(int net, uint32_t nic)
{
	_auto_(closep) int folder = -1;
	char name[16], address[24], device[32];

	snprintf(name, sizeof(name), "hsn%u", nic);
	if (mkdirat(net, name, 0755) < 0)
		return;
	folder = openat(net, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return;
	snprintf(device, sizeof(device), "../../../0000:%02x:00.0",
		 PCI_BUS_FIRST + nic);
	(void)!symlinkat(device, folder, "device");
	/* Set, and local: as the fabric's addressing by NIC gives it. */
	snprintf(address, sizeof(address), "02:00:00:00:00:%02x\n", nic & 0xff);
	put(folder, "address", address);
	put(folder, "addr_assign_type", "3\n");
	put(folder, "operstate", "up\n");
	put(folder, "carrier", "1\n");
	put(folder, "speed", "200000\n");
}

static void keep_links(DIR *old, int net)
{
	const struct dirent *entry;

	while ((entry = readdir(old))) {
		char target[PATH_MAX];
		ssize_t size = readlinkat(dirfd(old), entry->d_name, target,
					  sizeof(target) - 1);

		if (size <= 0)
			continue;
		target[size] = '\0';
		(void)!symlinkat(target, net, entry->d_name);
	}
}

void sysfs_add_nics(uint32_t count)
{
	_auto_(closep) int net = -1;
	DIR *old;

	if (count == 0)
		return;
	old = opendir(NET);
	if (!old)
		return;
	if (mount("tmpfs", NET, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  "mode=0755,size=1m") == 0)
		net = open(NET, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (net >= 0)
		keep_links(old, net);
	closedir(old);
	for (uint32_t nic = 0; net >= 0 && nic < count; nic++)
		add_nic(net, nic);
}
