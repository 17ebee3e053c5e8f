/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cxi-lni: may I use this lane? Allocates an LNI for each device and service,
 * given by options or by a job's environment, as whoever runs it, and says
 * what came of each in one line. Works on any libcxi.so.1.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lanes/driver/slingshot/libcxi_abi.h"

#define EXIT_FAILED 1
#define EXIT_USAGE  2
#define LANE_MAX    64 /* devices with a service each */

/* What a lane is held by on one device. */
struct cxi_lni_holding {
	struct cxil_dev *dev;
	struct cxil_lni *lni;
};

struct cxi_lni_options {
	const char *devices; /* comma list of names, or NULL */
	const char *services;
	bool holds;
	bool shows_help;
};

static const char *const usage =
	"usage: cxi-lni [--device cxiN --service ID] [--hold]\n"
	"Without a device, SLINGSHOT_DEVICES and SLINGSHOT_SVC_IDS say "
	"which.\n";

static int parse_options(int argc, char **argv,
			 struct cxi_lni_options *ret_options)
{
	static const struct option long_options[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "service", required_argument, NULL, 's' },
		{ "hold", no_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int id;

	while ((id = getopt_long(argc, argv, "", long_options, NULL)) >= 0) {
		if (id == 'd')
			ret_options->devices = optarg;
		else if (id == 's')
			ret_options->services = optarg;
		else if (id == 'o')
			ret_options->holds = true;
		else if (id == 'h')
			ret_options->shows_help = true;
		else
			return -EINVAL;
	}
	if (optind < argc ||
	    (ret_options->devices == NULL) != (ret_options->services == NULL))
		return -EINVAL;
	return 0;
}

static int parse_device(const char *name, uint32_t *ret_dev_id)
{
	char *end;
	unsigned long number;

	if (strncmp(name, "cxi", 3) != 0 || name[3] < '0' || name[3] > '9')
		return -ENODEV;
	number = strtoul(name + 3, &end, 10);
	if (*end != '\0' || number > UINT32_MAX)
		return -ENODEV;
	*ret_dev_id = (uint32_t)number;
	return 0;
}

static void let_go(struct cxi_lni_holding *holding)
{
	if (holding->lni != NULL)
		cxil_destroy_lni(holding->lni);
	cxil_close_device(holding->dev);
}

static int allocate(const char *device, const char *service,
		    struct cxi_lni_holding *holding)
{
	uint32_t dev_id;
	char *end;
	long id;
	int result;

	errno = 0;
	id = strtol(service, &end, 10);
	if (errno != 0 || end == service || *end != '\0')
		return -EINVAL;
	result = parse_device(device, &dev_id);
	if (result == 0)
		result = cxil_open_device(dev_id, &holding->dev);
	if (result == 0)
		result = cxil_alloc_lni(holding->dev, &holding->lni,
					(unsigned int)id);
	return result;
}

static int try_lane(const char *device, const char *service,
		    struct cxi_lni_holding *holding)
{
	int result = allocate(device, service, holding);

	if (result < 0)
		printf("%s service %s: %s (%s)\n", device, service,
		       strerrorname_np(-result), strerror(-result));
	else
		printf("LNI %u allocated on %s service %s\n", holding->lni->id,
		       device, service);
	return result;
}

/* Cut a comma list in place. Returns how many words, at most LANE_MAX. */
static size_t split(char *text, char **words)
{
	char *rest = NULL;
	size_t count = 0;

	for (char *word = strtok_r(text, ",", &rest);
	     word != NULL && count < LANE_MAX;
	     word = strtok_r(NULL, ",", &rest))
		words[count++] = word;
	return count;
}

/* holdings: LANE_MAX of them; what was allocated is in them in any case. */
static int try_lanes(const struct cxi_lni_options *options,
		     struct cxi_lni_holding *holdings)
{
	_auto_(freep) char *devices_text = strdup(options->devices);
	_auto_(freep) char *services_text = strdup(options->services);
	char *devices[LANE_MAX];
	char *services[LANE_MAX];
	size_t count;
	int result = 0;

	if (devices_text == NULL || services_text == NULL)
		return -ENOMEM;
	count = split(devices_text, devices);
	if (count == 0 || count != split(services_text, services)) {
		fprintf(stderr, "cxi-lni: %s and %s do not go together\n",
			options->devices, options->services);
		return -EINVAL;
	}
	for (size_t i = 0; i < count; i++) {
		int error = try_lane(devices[i], services[i], &holdings[i]);

		if (error < 0)
			result = error;
	}
	fflush(stdout);
	return result;
}

/* Until standard input ends, or SIGTERM. */
static int hold(int signals)
{
	struct pollfd fds[] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};
	char drained[256];

	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (fds[1].revents)
			return 0;
		if (fds[0].revents &&
		    read(STDIN_FILENO, drained, sizeof(drained)) <= 0)
			return 0;
	}
}

static int block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static int run(const struct cxi_lni_options *options)
{
	struct cxi_lni_holding holdings[LANE_MAX] = { 0 };
	int signals = options->holds ? block_signals() : -1;
	int result;

	result = try_lanes(options, holdings);
	if (result == 0 && options->holds)
		result = signals < 0 ? -errno : hold(signals);
	for (size_t i = 0; i < LANE_MAX; i++)
		let_go(&holdings[i]);
	return result;
}

int main(int argc, char **argv)
{
	struct cxi_lni_options options = { 0 };

	if (parse_options(argc, argv, &options) < 0) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	if (options.shows_help) {
		fputs(usage, stdout);
		return 0;
	}
	if (options.devices == NULL) {
		options.devices = getenv("SLINGSHOT_DEVICES");
		options.services = getenv("SLINGSHOT_SVC_IDS");
	}
	if (options.devices == NULL || options.services == NULL) {
		fputs("cxi-lni: no lane in the environment\n", stderr);
		return EXIT_FAILED;
	}
	return run(&options) < 0 ? EXIT_FAILED : 0;
}
