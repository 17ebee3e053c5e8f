/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * librms: program descriptions and capabilities of the Elan interconnect, by
 * the calls that RMS offered, on a Linux without its kernel module.
 *
 * A *program description* is a set of processes on this node under one number,
 * which its members cannot leave: what a member forks is a member, whatever
 * session it is in and whoever its parent has become. It is signalled,
 * suspended, resumed, ended and accounted for as a whole. It holds
 * *capabilities*, each under an index, and each member has for an index a
 * *context*, by which it is known to the interconnect.
 *
 *	rms_prgcreate(id, uid, cpus);           root: the caller is in
 *	rms_prgaddcap(id, 0, &capability);      or rms_prgclaim(id);
 *	setuid(uid);
 *	for each task: fork
 *	        rms_setcap(0, number of the task);
 *	        exec
 *	...
 *	rms_prgsignal(id, SIGKILL);
 *	rms_prgdestroy(id);                     root, from outside
 *
 * The authority is a daemon of root's, fairlead-rms(8), to which each call
 * connects. It takes the caller to be who the kernel says that it is at the
 * moment of the call: process, and *effective* uid. So a call after fork() or
 * setuid() is the new process's, or the new user's, and there is no descriptor
 * to close in between. "Root" is uid 0; "the owner" is the uid that a program
 * was made for. How members are kept, and what is kept where the kernel has no
 * cgroups of version 2, is in fairlead-rms(8).
 *
 * Errors: 0 on success (or what the call says), -1 and errno on failure. On
 * failure nothing is written to what a pointer refers to. Beside what each call
 * lists, every call may fail with
 *
 *	ENOENT, ECONNREFUSED  there is no daemon
 *	EUSERS                it has too many clients
 *	EIO                   it ended during the call, and what was asked may
 *	                      have been done
 *	EPROTO, EPROTONOSUPPORT  it is of another version
 *	EACCES                it cannot see the caller's process, which is in a
 *	                      PID namespace beside its own
 *	EMFILE, ENFILE, ENOMEM
 *
 * Threads: any thread may call at any time; a member is a process, never a
 * thread. No call is interrupted by a signal. All pointers are the caller's
 * before and after, and may not be NULL unless that is said (EFAULT, or EINVAL
 * where the call lists it).
 *
 * Manual: librms(3), fairlead-rms(8).
 */
#ifndef FAIRLEAD_RMS_H
#define FAIRLEAD_RMS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* --- capabilities --- */

#define ELAN_CAP_UNINITIALISED  (-1)
#define ELAN_CAP_VERSION_NUMBER 0x00010002

/* How virtual processes lie over nodes and contexts, in cap_type. */
#define ELAN_CAP_TYPE_BLOCK  1 /* node by node */
#define ELAN_CAP_TYPE_CYCLIC 2 /* one of each node, then the next */
#define ELAN_CAP_TYPE_KERNEL 3 /* never a program's */
#define ELAN_CAP_TYPE_MASK   0x0fff
/* Flags beside it. */
#define ELAN_CAP_TYPE_HWTEST        (1 << 12)
#define ELAN_CAP_TYPE_MULTI_RAIL    (1 << 13)
#define ELAN_CAP_TYPE_NO_BITMAP     (1 << 14) /* each bit counts as set */
#define ELAN_CAP_TYPE_BROADCASTABLE (1 << 15)

#define ELAN_MAX_RAILS              31
#define ELAN_MAX_VPS                16384 /* nodes times contexts of a capability */
#define ELAN_BITMAPSIZE             512 /* words of a bitmap */

/* The contexts that are given to programs, first and last. */
#define ELAN_RMS_BASE_CONTEXT_NUM 0x400
#define ELAN_RMS_TOP_CONTEXT_NUM  0x7ff

/* A secret: a process admitted with it can be sent to. */
struct elan_userkey {
	uint32_t key_values[4];
};

/*
 * 2096 bytes, of which the bitmap begins at 48. Contexts are absolute, nodes
 * are ElanIDs; a range includes both its ends.
 */
struct elan_capability {
	struct elan_userkey cap_userkey;
	int32_t cap_version; /* ELAN_CAP_VERSION_NUMBER */
	uint16_t cap_type;
	uint16_t cap_spare;
	int32_t cap_lowcontext;
	int32_t cap_highcontext;
	int32_t cap_mycontext; /* of one process; else ELAN_CAP_UNINITIALISED */
	int32_t cap_lownode;
	int32_t cap_highnode;
	uint32_t cap_railmask; /* bit N: rail N */
	/*
	 * Which of nodes times contexts are virtual processes: bit context +
	 * node * contexts with BLOCK, node + context * nodes with CYCLIC, both
	 * counted from the low ends.
	 */
	uint32_t cap_bitmap[ELAN_BITMAPSIZE];
};

/* The name that programs of the time use. */
typedef struct elan_capability ELAN_CAPABILITY;

/* --- programs --- */

/* Of prg_flags. */
#define RMS_PRG_RUNNING 0x01 /* it has members */
#define RMS_PRG_ZOMBIE  0x02 /* it has none any more, and is not destroyed */
#define RMS_PRG_NODE    0x04 /* never set */
#define RMS_PRG_KILLED  0x08 /* it got SIGKILL: nobody joins it any more */
#define RMS_PRG_SUSPEND 0x10
#define RMS_PRG_ERROR   0x80 /* its cgroup was taken away by somebody else */

/* What one version of the interface has to do with another. */
#define RMS_MODVERSION   6

#define RMS_CAPS_MAX     16   /* capabilities of one program */
#define RMS_PROGRAMS_MAX 1024 /* programs of one node */
#define RMS_COREPATH_MAX 1024 /* bytes of a path, with its zero */

/* What a program has used, from rms_prgcreate() on. */
struct rms_prgstats {
	uint64_t etime;    /* ms since it was made, to its last member's end */
	uint64_t atime;    /* ms: etime times its CPUs */
	uint64_t utime;    /* ms on CPUs in user mode, of all it ever had */
	uint64_t stime;    /* ms on CPUs in the kernel */
	uint64_t pageflts; /* page faults; see librms(3) */
	uint64_t memint;   /* MiB times seconds, as far as it was looked at */
	uint64_t ebytes;   /* bytes on the interconnect, as reported */
	uint64_t exfers;   /* transfers there, as reported */
	uint64_t mem;      /* bytes of memory, the most that was seen */
	int32_t ncpus;     /* as given to rms_prgcreate() */
	int32_t flags;     /* RMS_PRG_ */
};

/* What a program reports of the interconnect. */
struct rms_elanstats {
	uint64_t ebytes;
	uint64_t exfers;
};

/*
 * Is there a daemon. Need not be called, and nothing has to be closed: it is
 * here for programs that call it. Anybody.
 */
int rmsmod_init(void);
void rmsmod_fini(void);
/* RMS_MODVERSION of the daemon. Anybody. */
int rms_modversion(void);
/*
 * 1: the kernel keeps members in; 0: they are looked for, and one that hides
 * can be lost (fairlead-rms(8), "Without cgroups"). Anybody.
 */
int rms_ptrack_enabled(void);

/*
 * Make a program description and be its first member, with all that the caller
 * forks from now on. id: above 0. uid: its owner. cpus: of this node that it
 * was given, above 0; a figure for the accounts.
 *
 * EACCES  the caller is not root
 * EINVAL  there is a program of this id, or the caller is in one; id or cpus is
 *         not above 0
 * ENOMEM  there are RMS_PROGRAMS_MAX, or the kernel gives no cgroup
 */
int rms_prgcreate(int id, uid_t uid, int cpus);
/*
 * Forget a program that has no members any more.
 *
 * EACCES  the caller is not root
 * ESRCH   no such program
 * ECHILD  it has members, of which the caller may be one. Not where
 *         rms_ptrack_enabled() is 0: there they are forgotten with it
 */
int rms_prgdestroy(int id);
/*
 * The programs of this node: at most maxids of them into prgids, lowest first;
 * nprgs: how many those are. Anybody.
 *
 * EINVAL  maxids is below 1
 */
int rms_prgids(int maxids, int *prgids, int *nprgs);
/*
 * The members of a program: at most maxpids of them into pids (NULL where
 * maxpids is 0); nprocs: how many there are, also when that is more. Anybody.
 *
 * ESRCH   no such program
 * EINVAL  maxpids is below 0
 */
int rms_prginfo(int id, int maxpids, pid_t *pids, int *nprocs);
/*
 * The program that a process is in; pid 0: the caller. Anybody.
 *
 * ESRCH  no such process, or it is in none
 */
int rms_getprgid(pid_t pid, int *id);
/*
 * Put a process into a program, or take it out of it. With what it forks later;
 * what it has forked before stays where it is.
 *
 * Adding is for root and the owner; the owner's process has to be the owner's
 * with all its uids, and in the cgroup in which the program was made, not below
 * it. Removing is for root; where rms_ptrack_enabled() is 0, for the owner too.
 *
 * ESRCH   no such program or process; it is a member of one already (adding),
 *         or not of this one (removing)
 * EACCES  not for this caller; or the program was killed (adding)
 * ENOMEM  the kernel does not move it; why is in the daemon's log
 */
int rms_addproc(int id, pid_t pid);
int rms_removeproc(int id, pid_t pid);

/*
 * Send a signal to every member, the caller included where it is one; 0: to
 * none, but check. SIGKILL ends the program for good: a fork that is under way
 * does not get away, and nobody joins it later. Root and the owner, also for
 * members that have other uids.
 *
 * ESRCH   no such program
 * EACCES  not for this caller
 * EINVAL  no such signal
 * EAGAIN  members fork faster than they are found; SIGKILL does end them
 */
int rms_prgsignal(int id, int signo);
/*
 * Stop all members, and have them go on. A member that suspends its own program
 * returns from the call when it goes on. Once is enough, however often it was
 * suspended. Root and the owner.
 *
 * ESRCH   no such program
 * EACCES  not for this caller
 */
int rms_prgsuspend(int id);
int rms_prgresume(int id);

/* --- the capabilities of a program --- */

/*
 * Give a program a capability, under an index from 0 on. An index may be used
 * again: the newest counts, and contexts that members have set stay as numbers.
 * What cap_mycontext says is not kept.
 *
 * Root; and the owner, for a capability that was deposited for it on this node
 * (a lane's, by its interconnect's driver). A program has no other way to one.
 *
 * EINVAL  cap is NULL, or no valid capability; index is below 0
 * ESRCH   no such program
 * EACCES  not for this caller; or the capability is not one that was deposited
 *         for the program's owner, or is being taken back
 * ENOMEM  it has RMS_CAPS_MAX
 */
int rms_prgaddcap(int id, int index, const struct elan_capability *cap);
/*
 * Give a program all capabilities that were deposited for it on this node: for
 * its number and its owner, under indices from 0 on. A lane's driver knows
 * their keys; who starts the job need not. Again is no error. RMS had no such
 * call. Root and the owner.
 *
 * ESRCH   no such program
 * EACCES  not for this caller; or they are being taken back
 * EINVAL  nothing was deposited for it
 * ENOMEM  it has RMS_CAPS_MAX
 */
int rms_prgclaim(int id);
/*
 * Be, from now on, at context ctx of the capability of this index: counted from
 * its low context. With all that is forked from now on. Members.
 *
 * ESRCH   the caller is in no program
 * EINVAL  its program has no capability of this index, or that has no such
 *         context
 * ENOMEM  its members have set more than is kept, or the kernel gives no cgroup
 *         for it
 */
int rms_setcap(int index, int ctx);
/*
 * How many capabilities the caller's program has. Members.
 *
 * ESRCH  the caller is in no program
 */
int rms_ncaps(int *ncaps);
/*
 * The index that the caller, or who forked it, used last in rms_setcap(); 0
 * before it was called. Members.
 *
 * ESRCH  the caller is in no program
 */
int rms_mycap(int *index);
/*
 * A capability of the caller's program. cap_mycontext is the caller's context,
 * or ELAN_CAP_UNINITIALISED where it has set none. Of the bitmap only those
 * words are written that nodes times contexts need: 48 bytes and 4 for each
 * begun 32. Members: it has the key.
 *
 * ESRCH   the caller is in no program
 * EINVAL  its program has no capability of this index
 */
int rms_getcap(int index, struct elan_capability *cap);
/*
 * The capability for a job of so many processes: the lowest index of those with
 * the fewest virtual processes that are enough. Members.
 *
 * ESRCH   the caller is in no program
 * EINVAL  no capability of it has as many, or nprocess is below 1
 */
int rms_prefcap(int nprocess, int *index);

/*
 * Say that the caller has initialised the interconnect, as this virtual process
 * (from 0 on). It is the process's alone, what it forks has none. Members.
 *
 * ESRCH   the caller is in no program
 * EINVAL  vp is below 0, or ELAN_MAX_VPS or above
 */
int rms_elaninitdone(int vp);
/*
 * The members that have said so: at most maxpids of them; npids: how many there
 * are. vps and pids may be NULL where maxpids is 0. Anybody.
 *
 * ESRCH   no such program
 * EINVAL  maxpids is below 0
 */
int rms_prgelanpids(int id, int maxpids, int *vps, pid_t *pids, int *npids);

/* --- accounts --- */

/*
 * What a program has used. id below 0: the caller's own. Root, the owner, and
 * for their own program members.
 *
 * ESRCH   no such program, or the caller is in none
 * EACCES  not for this caller
 */
int rms_prggetstats(int id, struct rms_prgstats *stats);
/*
 * Report what was moved on the interconnect, in all; it takes the place of what
 * was reported before. id below 0: the caller's own. Root, the owner, and for
 * their own program members.
 *
 * ESRCH, EACCES  as rms_prggetstats()
 */
int rms_setelanstats(int id, const struct rms_elanstats *estats);

/*
 * A path for core files, kept with the program of the caller (of which it is to
 * be the owner, or root) and returned for the pid of a member.
 * Nothing is made of it here: it is for a handler of the kernel's core_pattern.
 *
 * ESRCH         the caller, or pid (0: the caller), is in no program; asking:
 *               no path was set
 * EACCES        not for this caller. Asking is for root, the owner and members
 * ENAMETOOLONG  it does not fit RMS_COREPATH_MAX, or maxlen
 */
int rms_setcorepath(const char *path);
int rms_getcorepath(pid_t pid, char *path, int maxlen);

/* --- messages --- */

/*
 * What the Elan libraries did with a capability, as far as it takes to use one:
 * RMS had no such calls. A *port* is a place at which a process is attached;
 * processes attached by the same capability can send to it, by *rank* (its
 * number among the virtual processes, as RMS_RANK), and nobody else can.
 */
#define RMS_MESSAGE_MAX 8192 /* bytes of a message */

struct rms_port;

/*
 * Attach the caller to context cap->cap_mycontext (absolute) of a capability of
 * its program, on a rail: as rms_getcap() gives it after rms_setcap(). The key
 * has to be right. It is attached until rms_detach(), or its end; what it forks
 * is not. Members.
 *
 * ESRCH     the caller is in no program
 * EINVAL    its program has no such capability with this key, or that is being
 *           taken back, or it has no such context or rail
 * ENETDOWN  the rail is not there
 * EBUSY     somebody is attached there, which can be the caller
 * ENODEV    it is not known which of the capability's nodes this one is: it was
 *           deposited for no lane
 * ENOENT    the capability has no virtual process there
 * ENOMEM
 */
int rms_attach(const struct elan_capability *cap, int rail,
	       struct rms_port **port);
/*
 * Be there no more, and free the port: no other thread may use it. It is freed
 * also where this fails, with an error that every call may have. NULL: EFAULT.
 */
int rms_detach(struct rms_port *port);
/*
 * Send to a rank, and wait until the message is in the receiver's hands; at
 * most timeout_ms milliseconds, or for ever when that is below 0. One thread
 * after the other. Messages from one port to another come in the order in which
 * they were sent, and once. There may be nobody yet, or nobody who receives.
 *
 * EINVAL        the capability has no such rank
 * EMSGSIZE      size is above RMS_MESSAGE_MAX
 * EHOSTUNREACH  the rank is on another node whose adapter's address is not
 *               known
 * ETIMEDOUT     nobody has taken it, as far as is known: it may come still
 * EPERM         the caller is not who attached
 * ECONNRESET    the port is not attached any more: the program or its
 *               capability is gone, or the daemon was started again
 */
int rms_send(struct rms_port *port, int rank, const void *bytes, size_t size,
	     int timeout_ms);
/*
 * The next message: into bytes, of which there are size, and its rank: who sent
 * it (may be NULL). Returns how many bytes it has. Waits as rms_send().
 *
 * EMSGSIZE    it is longer, and lost
 * ETIMEDOUT   there was none
 * ECONNRESET  as rms_send()
 */
int rms_recv(struct rms_port *port, int *rank, void *bytes, size_t size,
	     int timeout_ms);
/* A descriptor that is readable when there is a message; the port's. */
int rms_port_fd(const struct rms_port *port);

/* Linux has no processor sets: ENOSYS. Use cpusets of cgroups. */
int rms_setpset(int psid);
int rms_getpset(int *psid);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
