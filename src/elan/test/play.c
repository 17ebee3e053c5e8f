/* SPDX-License-Identifier: BSD-3-Clause */
/* What players do, in processes of their own. */
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elan/client.h"
#include "elan/test/play.h"

static int of(int result)
{
	return result < 0 ? -errno : 0;
}

int become(uid_t uid)
{
	if (setgroups(0, NULL) < 0 ||
	    setresgid(SOME_GID, SOME_GID, SOME_GID) < 0 ||
	    setresuid(uid, uid, uid) < 0)
		return -errno;
	return 0;
}

static int write_pid(const char *path)
{
	char text[16];
	int size = snprintf(text, sizeof(text), "%d", getpid());
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int result = fd < 0 || write(fd, text, (size_t)size) < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return result;
}

static int clone_into(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)fd,
	};
	long pid = fd < 0 ? -1 : syscall(SYS_clone3, &args, sizeof(args));
	int result = pid < 0 ? -errno : 0;

	if (pid == 0)
		_exit(0);
	if (fd >= 0)
		close(fd);
	return result;
}

static int burn(int ms)
{
	struct rusage usage;
	volatile unsigned int number = 0;

	do {
		for (int i = 0; i < 1000000; i++)
			number += (unsigned int)i;
		getrusage(RUSAGE_SELF, &usage);
	} while (usage.ru_utime.tv_sec * 1000 + usage.ru_utime.tv_usec / 1000 <
		 ms);
	(void)number;
	return 0;
}

static int touch(int mib)
{
	size_t size = (size_t)mib << 20;
	volatile char *bytes = malloc(size);

	if (bytes == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < size; i += 4096)
		bytes[i] = 1;
	return 0;
}

static int fork_player(struct player *players, const struct script *script)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid > 0)
		return script->flags & FORK_TWICE && waitpid(pid, NULL, 0) < 0
			       ? -errno
			       : 0;
	if (script->flags & FORK_SESSION)
		setsid();
	if (script->flags & FORK_TWICE && fork() != 0)
		_exit(0);
	player_serve(players, script->value);
}

int stage_rail_set(int rail, bool is_up)
{
	const struct rms_request request = {
		.op = RMS_RAIL,
		.index = rail,
		.value = is_up,
	};

	return rms_client_call(NULL, &request);
}

int stage_take_back(uint64_t grant_id, pid_t *pids, size_t max,
		    size_t *ret_count)
{
	struct rms_client_deposit deposit = { 0 };
	int all = -ENOENT;
	int result;

	while ((result = rms_client_deposit_next(NULL, deposit.number,
						 &deposit)) == 0) {
		if (deposit.grant_id != grant_id)
			continue;
		result = rms_client_take(NULL, deposit.number, false, pids, max,
					 ret_count);
		if (result < 0 && result != -EBUSY)
			return result;
		all = all == -EBUSY ? all : result;
	}
	return result == -ENOENT ? all : result;
}

static int take_back_some(struct script *s)
{
	size_t count = 0;
	int result = stage_take_back(s->grant, s->list, LIST_MAX, &count);

	s->count = (int)count;
	return result;
}

/* With the cap of a script: RMS_ATTACH, RMS_DETACH. */
static int attach(enum rms_op op, const struct script *s)
{
	const struct rms_request request = {
		.op = op,
		.index = s->index,
		.cap = s->cap,
	};

	return rms_client_call(NULL, &request);
}

static int deposit_next(struct script *s)
{
	struct rms_client_deposit deposit;
	int result = rms_client_deposit_next(NULL, s->grant, &deposit);

	if (result < 0)
		return result;
	s->number = (int)deposit.number;
	s->grant = deposit.grant_id;
	s->uid = deposit.uid;
	s->is_ending = deposit.is_ending;
	s->attached = deposit.attached_count;
	s->cap = deposit.cap;
	return 0;
}

static struct rms_port *port; /* what a process has attached, or inherited */

/* What its descriptor for sending answers to a packet: the one below the other. */
static int send_nonsense(const char *text)
{
	int fd = rms_port_fd(port) - 1;
	int32_t answer;

	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0 ||
	    recv(fd, &answer, sizeof(answer), 0) != sizeof(answer))
		return -errno;
	return answer;
}

/* The limit is of numbers, of which those below the next one are taken. */
static int limit_descriptors(int count)
{
	struct rlimit limit;
	int next = dup(0);

	if (next < 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return -errno;
	close(next);
	limit.rlim_cur = (rlim_t)(next + count);
	return setrlimit(RLIMIT_NOFILE, &limit) < 0 ? -errno : 0;
}

static int perform_port(struct script *s)
{
	int result;

	switch (s->act) {
	case ACT_OPEN:
		return of(rms_attach(&s->cap, s->index, &port));
	case ACT_SHUT:
		result = of(rms_detach(port));
		port = NULL;
		return result;
	case ACT_SEND:
		return of(rms_send(port, s->number, s->text, strlen(s->text),
				   s->value));
	case ACT_RECV:
		result = rms_recv(port, &s->number, s->text,
				  sizeof(s->text) - 1, s->value);
		if (result < 0)
			return -errno;
		s->count = result;
		s->text[result] = '\0';
		return 0;
	default:
		return 0;
	}
}

static int perform_own(struct player *players, struct script *s)
{
	switch (s->act) {
	case ACT_DEPOSIT:
		return rms_client_deposit(NULL, s->grant, s->uid, &s->cap);
	case ACT_TAKE_BACK:
		return take_back_some(s);
	case ACT_TAKE:
		return rms_client_take(NULL, s->grant, false, NULL, 0,
				       &(size_t){ 0 });
	case ACT_DEPOSIT_NEXT:
		return deposit_next(s);
	case ACT_ATTACH:
		return attach(RMS_ATTACH, s);
	case ACT_DETACH:
		return attach(RMS_DETACH, s);
	case ACT_ROUTE:
		return rms_client_route(NULL, s->grant, s->value, NULL, 0);
	case ACT_OPEN:
	case ACT_SHUT:
	case ACT_SEND:
	case ACT_RECV:
		return perform_port(s);
	case ACT_NONSENSE:
		return send_nonsense(s->text);
	case ACT_ROOM:
		return limit_descriptors(s->value);
	case ACT_RAIL:
		return stage_rail_set(s->index, s->value);
	case ACT_FORK:
		return fork_player(players, s);
	case ACT_WRITE:
		return write_pid(s->text);
	case ACT_CLONE:
		return clone_into(s->text);
	case ACT_BURN:
		return burn(s->value);
	case ACT_TOUCH:
		return touch(s->value);
	case ACT_BECOME:
		return become(s->uid);
	case ACT_END:
		_exit(0);
	default:
		return 0;
	}
}

static int perform_program(struct script *s)
{
	switch (s->act) {
	case ACT_PRGCREATE:
		return of(rms_prgcreate(s->id, s->uid, s->value));
	case ACT_PRGDESTROY:
		return of(rms_prgdestroy(s->id));
	case ACT_PRGIDS:
		return of(rms_prgids(s->value, s->list, &s->count));
	case ACT_PRGINFO:
		return of(rms_prginfo(s->id, s->value, s->list, &s->count));
	case ACT_GETPRGID:
		return of(rms_getprgid(s->value, &s->number));
	case ACT_ADDPROC:
		return of(rms_addproc(s->id, s->value));
	case ACT_REMOVEPROC:
		return of(rms_removeproc(s->id, s->value));
	case ACT_PRGSIGNAL:
		return of(rms_prgsignal(s->id, s->value));
	case ACT_PRGSUSPEND:
		return of(rms_prgsuspend(s->id));
	case ACT_PRGCLAIM:
		return of(rms_prgclaim(s->id));
	case ACT_PRGRESUME:
		return of(rms_prgresume(s->id));
	case ACT_PRGGETSTATS:
		return of(rms_prggetstats(s->id, &s->stats));
	case ACT_SETELANSTATS:
		return of(rms_setelanstats(s->id, &s->elanstats));
	case ACT_SETCOREPATH:
		return of(rms_setcorepath(s->text));
	case ACT_GETCOREPATH:
		return of(rms_getcorepath(s->value, s->text, sizeof(s->text)));
	default:
		return 1;
	}
}

static int perform(struct player *players, struct script *s)
{
	int result = perform_program(s);

	if (result != 1)
		return result;
	switch (s->act) {
	case ACT_PRGADDCAP:
		return of(rms_prgaddcap(s->id, s->index, &s->cap));
	case ACT_SETCAP:
		return of(rms_setcap(s->index, s->value));
	case ACT_NCAPS:
		return of(rms_ncaps(&s->number));
	case ACT_MYCAP:
		return of(rms_mycap(&s->number));
	case ACT_GETCAP:
		return of(rms_getcap(s->index, &s->cap));
	case ACT_PREFCAP:
		return of(rms_prefcap(s->value, &s->number));
	case ACT_ELANINITDONE:
		return of(rms_elaninitdone(s->value));
	case ACT_PRGELANPIDS:
		return of(rms_prgelanpids(s->id, s->value, s->second, s->list,
					  &s->count));
	default:
		return perform_own(players, s);
	}
}

/* What a process plays, in whichever thread. */
struct part {
	struct player *players;
	struct player *player;
};

static void *loop(void *arg);

static void *begin_answering(void *arg)
{
	const struct part *part = arg;

	if (write(part->player->fds[1], "", 1) != 1)
		_exit(1);
	return loop(arg);
}

static void *loop(void *arg)
{
	const struct part *part = arg;
	struct script *script = part->player->script;
	pthread_t thread;
	char byte;

	while (read(part->player->fds[1], &byte, 1) == 1) {
		script->result = 0;
		if (script->act == ACT_THREAD) {
			if (pthread_create(&thread, NULL, begin_answering,
					   arg) != 0)
				break;
			pthread_exit(NULL);
		}
		script->result = perform(part->players, script);
		if (write(part->player->fds[1], "", 1) != 1)
			break;
	}
	_exit(1);
}

void player_serve(struct player *players, int n)
{
	/* It outlives this function, as the process may its first thread. */
	static struct part part;

	part = (struct part){ players, &players[n] };
	/* A signal that a test sends ends it, unless it is one to live with. */
	signal(SIGUSR1, SIG_IGN);
	part.player->script->number = getpid();
	begin_answering(&part);
	_exit(1);
}
