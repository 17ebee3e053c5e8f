/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * without-netfilter PROGRAM [ARGUMENT...]: as if the kernel had no netfilter.
 * It then refuses netfilter's sockets, and here a filter of system calls does,
 * with the same error.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
/* Else so many lines on. */
#define IF(value, lines) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (lines))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))

int main(int argc, char **argv)
{
	struct sock_filter lines[] = {
		LOAD(nr),
		IF(SYS_socket, 5),
		LOAD(args[0]),
		IF(AF_NETLINK, 3),
		LOAD(args[2]),
		IF(NETLINK_NETFILTER, 1),
		RETURN(SECCOMP_RET_ERRNO | EPROTONOSUPPORT),
		RETURN(SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {
		.len = sizeof(lines) / sizeof(lines[0]),
		.filter = lines,
	};

	if (argc < 2)
		return 2;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
		perror("without-netfilter");
		return 125;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
