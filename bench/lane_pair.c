/* SPDX-License-Identifier: BSD-3-Clause */
#include "lane_pair.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lanes/driver/ethernet/ethernet.h"
#include "lanes/driver/ethernet/gate_cgroup.h"
#include "lanes/driver/ethernet/namespace.h"
#include "lanes/driver/ethernet/gate.h"

#define FIRST_VNI    4096 /* of the default pool */
#define VNIS_OF_LANE 2    /* so far apart; the last one may have more */
#define PATH_SIZE    256
#define SETTINGS_MAX 16
#define NODES        2
#define EXIT_SKIPPED 77

const char *const pair_level_names[PAIR_LEVEL_COUNT] = {
	[PAIR_BARE] = "bare",       [PAIR_NO_RULES] = "vxlan",
	[PAIR_GUARDED] = "nft+bpf", [PAIR_NETNS] = "netns",
	[PAIR_SHAPED] = "shaped",
};

struct node {
	int netns;
	void *state; /* of the driver; NULL: bare */
	char cgroup[PATH_SIZE];
	char pins[PATH_SIZE];
	char namespaces[PATH_SIZE];
	struct fairlead_record records[PAIR_LANES_MAX];
};

struct pair {
	enum pair_level level;
	struct node nodes[NODES];
	struct fairlead_lane lanes[PAIR_LANES_MAX];
	uint8_t *members; /* the same for all lanes */
	size_t members_size;
	void *manager;
};

static char folder[PATH_SIZE / 2];
static char cgroup_home[PATH_SIZE / 2]; /* where we were, and are */
static char cgroup_root[PATH_SIZE / 2]; /* of ours */
static int home;
static unsigned int pair_count;

static const char *const node_names[NODES] = { "n0", "n1" };

__attribute__((noreturn, format(printf, 1, 2))) static void die(
	const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "lane: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(1);
}

static void check(int result, const char *what,
		  const struct fairlead_error *error)
{
	if (result < 0)
		die("%s: %s", what, error->text);
}

/* --- the machine --- */

static void skip(const char *why)
{
	printf("%s\n", why);
	exit(EXIT_SKIPPED);
}

static int netns_open(void)
{
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die("/proc/self/ns/net: %s", strerror(errno));
	return fd;
}

static void enter(int netns)
{
	if (setns(netns, CLONE_NEWNET) < 0)
		die("setns: %s", strerror(errno));
}

/* This process goes into it: sockets that it makes are of that cgroup. */
static void cgroup_enter(const char *path)
{
	char file[PATH_SIZE];
	int fd;

	snprintf(file, sizeof(file), "%s/cgroup.procs", path);
	fd = open(file, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		die("%s: %s", file, strerror(errno));
	close(fd);
}

static void cgroups_begin(void)
{
	char path[PATH_MAX], line[PATH_SIZE / 4] = "";
	struct fairlead_error error;
	FILE *file = fopen("/proc/self/cgroup", "re");

	if (gate_cgroup_root(path, &error) < 0)
		skip(error.text);
	while (file && fgets(line, sizeof(line), file) &&
	       strncmp(line, "0::", 3) != 0)
		;
	if (!file || strncmp(line, "0::", 3) != 0)
		skip("this process is in no cgroup of version 2");
	fclose(file);
	line[strcspn(line, "\n")] = 0;
	snprintf(cgroup_home, sizeof(cgroup_home), "%.60s%s", path, line + 3);
	snprintf(cgroup_root, sizeof(cgroup_root), "%.60s/fairlead-bench-%d",
		 path, getpid());
	if (mkdir(cgroup_root, 0755) < 0)
		die("%s: %s", cgroup_root, strerror(errno));
}

void pair_begin(const char *path)
{
	if (geteuid() != 0)
		skip("namespaces are root's to make");
	snprintf(folder, sizeof(folder), "%s", path);
	if (unshare(CLONE_NEWNET | CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("bpf", "/sys/fs/bpf", "bpf", 0, NULL) < 0 ||
	    mount("fairlead", folder, "tmpfs", 0, "mode=755") < 0)
		skip("no namespaces, or no file system of BPF, can be made");
	home = netns_open();
	cgroups_begin();
}

void pair_end(void)
{
	rmdir(cgroup_root);
}

void pair_run(const struct pair *pair, int node, const char *command)
{
	int status;

	enter(pair->nodes[node].netns);
	status = system(command);
	enter(home);
	if (status != 0)
		die("'%s' ended with %d", command, status);
}

/* A mount of sysfs shows the namespace in which it was made. */
void pair_part(const struct pair *pair)
{
	int second = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 2 : 1; /* bits */
	char command[256];

	for (int i = 0; i < NODES; i++) {
		snprintf(command, sizeof(command),
			 "unshare -m sh -c 'mount -t sysfs sysfs /sys && "
			 "echo %d > "
			 "/sys/class/net/eth0/queues/rx-0/rps_cpus'",
			 i == 0 ? 1 : second);
		pair_run(pair, i, command);
	}
}

/* --- nodes --- */

/* A node's address on the veth. */
static struct ip_address underlay_of(int node)
{
	return (struct ip_address){
		.family = 4, .bytes = { 10, 77, 0, (uint8_t)(node + 1) }
	};
}

static void node_make(struct node *node, int number)
{
	if (unshare(CLONE_NEWNET) < 0)
		die("unshare: %s", strerror(errno));
	node->netns = netns_open();
	snprintf(node->cgroup, sizeof(node->cgroup), "%s/%u-%d", cgroup_root,
		 pair_count, number);
	snprintf(node->namespaces, sizeof(node->namespaces), "%s/%u-%d", folder,
		 pair_count, number);
	if (mkdir(node->cgroup, 0755) < 0)
		die("%s: %s", node->cgroup, strerror(errno));
}

/* Neighbours are fixed, so that nothing of them is measured. */
static void link_make(struct pair *pair)
{
	char command[512];

	snprintf(command, sizeof(command),
		 "ip link add eth0 address 02:77:00:00:00:01 type veth "
		 "peer name eth0 address 02:77:00:00:00:02 "
		 "netns /proc/%d/fd/%d",
		 getpid(), pair->nodes[1].netns);
	pair_run(pair, 0, command);
	for (int i = 0; i < NODES; i++) {
		snprintf(command, sizeof(command),
			 "ip link set lo up && "
			 "ip link set eth0 addrgenmode none && "
			 "ip link set eth0 up && "
			 "ip address add 10.77.0.%d/24 dev eth0 && "
			 "ip neighbour add 10.77.0.%d dev eth0 "
			 "lladdr 02:77:00:00:00:0%d nud permanent",
			 i + 1, 2 - i, 2 - i);
		pair_run(pair, i, command);
	}
}

static void driver_open(const struct pair *pair, int number,
			const char *link_rate)
{
	struct node *node = (struct node *)&pair->nodes[number];
	struct fairlead_setting settings[SETTINGS_MAX];
	struct fairlead_error error;
	size_t count = 0;
	int result;

	snprintf(node->pins, sizeof(node->pins), "/sys/fs/bpf/%u-%d",
		 pair_count, number);
#define SET(name_, value_) \
	settings[count++] = (struct fairlead_setting){ name_, value_, 0 }
	SET("devices", "eth0");
	SET("bpf_pins", node->pins);
	SET("cgroup", node->cgroup);
	SET("namespaces", node->namespaces);
	if (pair->level == PAIR_SHAPED) {
		SET("shaping", "true");
		SET("link_rate", link_rate);
	}
#undef SET
	enter(node->netns);
	result = ethernet_node_ops.open(settings, count, &node->state, &error);
	enter(home);
	check(result, "open", &error);
}

/* --- lanes --- */

static void members_make(struct pair *pair)
{
	static const struct fairlead_setting settings[] = {
		{ "rate_reserved", "900M", 0 },
		{ "isolation", "host,netns", 0 },
	};
	struct fairlead_place places[NODES];
	struct fairlead_lane lane = { .id_count = 1, .ids = { FIRST_VNI } };
	struct fairlead_error error;

	check(ethernet_manager_ops.configure(settings, 2, &pair->manager,
					     &error),
	      "configure", &error);
	for (int i = 0; i < NODES; i++)
		check(ethernet_node_ops.place(pair->nodes[i].state, &places[i],
					      &error),
		      "place", &error);
	check(ethernet_manager_ops.assemble(pair->manager, &lane, node_names,
					    places, NODES, &pair->members,
					    &pair->members_size, &error),
	      "assemble", &error);
}

struct pair *pair_create(enum pair_level level, const char *link_rate)
{
	struct pair *pair = calloc(1, sizeof(*pair));

	if (!pair)
		die("out of memory");
	pair->level = level;
	for (int i = 0; i < NODES; i++)
		node_make(&pair->nodes[i], i);
	enter(home);
	link_make(pair);
	if (level != PAIR_BARE) {
		for (int i = 0; i < NODES; i++)
			driver_open(pair, i, link_rate);
		members_make(pair);
	}
	pair_count++;
	return pair;
}

void pair_destroy(struct pair *pair)
{
	if (!pair)
		return;
	for (int i = 0; i < NODES; i++) {
		ethernet_node_ops.close(pair->nodes[i].state);
		close(pair->nodes[i].netns);
		rmdir(pair->nodes[i].cgroup);
	}
	ethernet_manager_ops.destroy(pair->manager);
	free(pair->members);
	free(pair);
}

static void on_warning(struct fairlead_warnings *warnings, const char *text)
{
	die("a warning, and so not what is to be measured: %s", text);
}

/* The lane as the manager would have it. */
static void lane_reserve(struct pair *pair, uint32_t number,
			 const char *options)
{
	struct fairlead_lane *lane = &pair->lanes[number];
	char asked[FAIRLEAD_OPTIONS_MAX + 1];
	struct fairlead_driver_request request = {
		.key = "bench/1/0",
		.uid = PAIR_OWNER,
		.gid = PAIR_OWNER,
		.options = asked,
		.node_count = NODES,
		.nodes = node_names,
	};
	struct fairlead_plan plan;
	struct fairlead_error error;

	snprintf(asked, sizeof(asked), "isolation=%s%s%s%s",
		 pair->level == PAIR_NETNS ? "netns" : "host",
		 strstr(options, "reserved") ? "" : ",reserved=none",
		 *options ? "," : "", options);
	check(ethernet_manager_ops.reserve(pair->manager, &request, &plan,
					   &error),
	      asked, &error);
	*lane = (struct fairlead_lane){
		.grant_id = number + 1,
		.uid = PAIR_OWNER,
		.gid = PAIR_OWNER,
		.id_count = plan.counts[0],
	};
	for (uint32_t i = 0; i < lane->id_count; i++)
		lane->ids[i] = FIRST_VNI + number * VNIS_OF_LANE + i;
	memcpy(lane->options, plan.options, sizeof(lane->options));
}

void pair_apply(struct pair *pair, int node, uint32_t number,
		const char *options)
{
	struct fairlead_warnings warnings = { .add = on_warning };
	struct fairlead_lane lane;
	struct fairlead_error error;
	int result;

	if (pair->lanes[number].grant_id == 0)
		lane_reserve(pair, number, options);
	lane = pair->lanes[number];
	lane.index = (uint32_t)node;
	lane.node_count = NODES;
	lane.members = pair->members;
	lane.members_size = pair->members_size;
	enter(pair->nodes[node].netns);
	result = ethernet_node_ops.apply(pair->nodes[node].state, &lane, false,
					 &pair->nodes[node].records[number],
					 &warnings, &error);
	enter(home);
	check(result, "apply", &error);
}

void pair_revoke(struct pair *pair, int node, uint32_t number)
{
	struct fairlead_warnings warnings = { .add = on_warning };
	struct fairlead_error error;
	int result;

	enter(pair->nodes[node].netns);
	result = ethernet_node_ops.revoke(pair->nodes[node].state,
					  &pair->lanes[number],
					  &pair->nodes[node].records[number],
					  false, &warnings, &error);
	enter(home);
	check(result, "revoke", &error);
}

void pair_revoke_all(struct pair *pair, int node, uint32_t count)
{
	struct fairlead_warnings warnings = { .add = on_warning };
	static struct fairlead_revocation list[PAIR_LANES_MAX];

	for (uint32_t i = 0; i < count; i++)
		list[i] = (struct fairlead_revocation){
			.lane = &pair->lanes[i],
			.record = &pair->nodes[node].records[i],
			.warnings = &warnings,
		};
	enter(pair->nodes[node].netns);
	ethernet_node_ops.revoke_all(pair->nodes[node].state, list, count);
	enter(home);
	for (uint32_t i = 0; i < count; i++)
		check(list[i].result, "revoke", &list[i].error);
}

void pair_tend(struct pair *pair, int node)
{
	struct fairlead_error error;
	int result;

	enter(pair->nodes[node].netns);
	result = ethernet_node_ops.tend(pair->nodes[node].state, &error);
	enter(home);
	if (result != 0)
		die("tend: %s", error.text);
}

void pair_strip(const struct pair *pair)
{
	struct fairlead_error error;
	int result;

	for (int i = 0; i < NODES; i++) {
		pair_run(pair, i, "nft delete table inet fairlead");
		enter(pair->nodes[i].netns);
		result = gate_leave(pair->nodes[i].pins, &error);
		enter(home);
		check(result, "detach the gate", &error);
	}
}

/* In a lane, on its first device. */
static struct ip_address address_of(int node, uint32_t number)
{
	struct ethernet_names names;

	ethernet_name(&ethernet_networks_default,
		      FIRST_VNI + number * VNIS_OF_LANE, 0, (uint32_t)node + 1,
		      &names);
	return names.ipv4;
}

/* --- sockets --- */

void pair_be_owner(void)
{
	if (setresuid(PAIR_OWNER, PAIR_OWNER, 0) < 0)
		die("setresuid: %s", strerror(errno));
}

void pair_be_root(void)
{
	if (setresuid(0, 0, 0) < 0)
		die("setresuid: %s", strerror(errno));
}

static void enter_place(const struct pair *pair, int node, int lane)
{
	char path[NAMESPACE_PATH_MAX];
	int fd;

	if (lane < 0 || pair->level != PAIR_NETNS) {
		enter(pair->nodes[node].netns);
		return;
	}
	namespace_path(pair->nodes[node].namespaces, pair->lanes[lane].grant_id,
		       path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	enter(fd);
	close(fd);
}

int pair_socket(const struct pair *pair, int node, int type, int lane)
{
	struct ip_address own =
		lane < 0 ? underlay_of(node) : address_of(node, (uint32_t)lane);
	struct sockaddr_in address = { .sin_family = AF_INET };
	int fd;

	memcpy(&address.sin_addr, own.bytes, sizeof(address.sin_addr));
	cgroup_enter(pair->nodes[node].cgroup);
	enter_place(pair, node, lane);
	pair_be_owner();
	fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		die("bind: %s", strerror(errno));
	pair_be_root();
	enter(home);
	cgroup_enter(cgroup_home);
	return fd;
}
