/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fairlead-step-clean: delete the multicast trees of a step, with the token of
 * its job. Launchers run it at the end of each step and of each inner job,
 * since programs leave their trees behind (lanes/plugin/common/step_watch.h).
 * It reads the job's variables, so that the token is in no argument, and ends
 * in time whatever the fabric manager does.
 *
 * One PATCH is enough, if the fabric manager allows it to the token; else the
 * trees are read and deleted one by one.
 */
#include <curl/curl.h>
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "lanes/driver/slingshot/hwcoll.h"

#define REPLY_MAX         (1u << 20) /* bytes */
#define TIMEOUT_DEFAULT_S 10
#define TIMEOUT_MAX_S     3600
#define MULTICASTS        "/multicasts"
#define ADDRESS_MAX       8191
#define EXIT_USAGE        2

static const char usage[] =
	"usage: fairlead-step-clean [--step ID] [--timeout SECONDS] [--wait]\n"
	"\n"
	"Deletes the multicast trees of a step: " HWCOLL_STEP ", or "
	"--step.\n"
	"--wait: once standard input ends; errors go to the system's log.\n";

static bool is_logged; /* errors go to the system's log: the step has ended */

struct cleaning {
	CURL *easy;
	struct curl_slist *headers;
	const char *job, *step, *token, *url;
	time_t end_s; /* monotonic */
	char *body;
	struct writer reply;
	long status;
};

__attribute__((format(printf, 1, 2))) static void report(const char *format,
							 ...)
{
	static bool is_reported;
	va_list args;

	/* The first says it: an answer may have any number of addresses. */
	if (is_reported)
		return;
	is_reported = true;
	va_start(args, format);
	if (is_logged) {
		vsyslog(LOG_WARNING, format, args);
	} else {
		fputs("fairlead-step-clean: ", stderr);
		vfprintf(stderr, format, args);
		fputc('\n', stderr);
	}
	va_end(args);
}

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *ctx)
{
	struct cleaning *cleaning = ctx;

	size *= count;
	if (size > REPLY_MAX - cleaning->reply.size)
		return 0;
	write_bytes(&cleaning->reply, bytes, size);
	return size;
}

/* The status is in cleaning->status. False: there was no answer. */
static bool ask(struct cleaning *cleaning, const char *method, const char *url,
		const char *body)
{
	time_t left_s = cleaning->end_s - now_s();
	CURL *easy = cleaning->easy;
	CURLcode code;

	writer_fini(&cleaning->reply);
	cleaning->reply = (struct writer){ 0 };
	cleaning->status = 0;
	if (left_s <= 0) {
		report("gave up on step '%s' of '%s': the time is over",
		       cleaning->step, cleaning->job);
		return false;
	}
	curl_easy_setopt(easy, CURLOPT_URL, url);
	curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT, (long)left_s);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body != NULL ? body : "");
	if (body == NULL)
		curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
	code = curl_easy_perform(easy);
	memory_check(cleaning->reply.result);
	if (code == CURLE_WRITE_ERROR)
		report("the answer from %s is too large", url);
	else if (code != CURLE_OK)
		report("no answer from %s: %s", url, curl_easy_strerror(code));
	if (code != CURLE_OK)
		return false;
	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &cleaning->status);
	return true;
}

static bool is_done(const struct cleaning *cleaning)
{
	return (cleaning->status >= 200 && cleaning->status < 300) ||
	       cleaning->status == 404;
}

static bool fail(const struct cleaning *cleaning, const char *what)
{
	report("cannot %s of step '%s' of '%s': the fabric manager answers %ld",
	       what, cleaning->step, cleaning->job, cleaning->status);
	return false;
}

static bool unreadable(const struct cleaning *cleaning, const char *what)
{
	report("cannot delete the trees of step '%s' of '%s': the fabric "
	       "manager's answer %s",
	       cleaning->step, cleaning->job, what);
	return false;
}

static bool tree_delete(struct cleaning *cleaning, const json_t *address)
{
	json_int_t number = json_integer_value(address);
	char *url = memory_format("%s/%lld", cleaning->url, (long long)number);
	bool is_good;

	/* It must not be taken for 0, which may be another step's. */
	if (!json_is_integer(address) || number < 0 || number > ADDRESS_MAX)
		is_good = unreadable(cleaning, "has an address that is none");
	else
		is_good =
			ask(cleaning, "DELETE", url, NULL) &&
			(is_done(cleaning) || fail(cleaning, "delete a tree"));
	free(url);
	return is_good;
}

/* Read the trees from the job's document, and delete each. */
static bool trees_delete(struct cleaning *cleaning, const char *job_url)
{
	json_t *document, *steps, *address;
	bool is_good = true;
	size_t i;

	if (!ask(cleaning, "GET", job_url, NULL))
		return false;
	/* The job has ended: its trees went with its token. */
	if ((is_logged && cleaning->status == 401) || cleaning->status == 404)
		return true;
	if (!is_done(cleaning))
		return fail(cleaning, "read the trees");
	document = json_loadb((const char *)cleaning->reply.data,
			      cleaning->reply.size, 0, NULL);
	steps = json_object_get(document, "jobSteps");
	if (!json_is_object(steps))
		is_good = unreadable(cleaning, "has no steps");
	json_array_foreach (json_object_get(steps, cleaning->step), i, address)
		is_good &= tree_delete(cleaning, address);
	json_decref(document);
	return is_good;
}

static bool clean(struct cleaning *cleaning)
{
	const size_t size = strlen(cleaning->url) - strlen(MULTICASTS);
	char *job_url = memory_format("%.*s/jobs/%s", (int)size, cleaning->url,
				      cleaning->job);
	json_t *patch = json_pack("{s:{s:n}}", "jobSteps", cleaning->step);
	bool is_good;

	if (patch == NULL) {
		report("the step's name is not UTF-8");
		free(job_url);
		return false;
	}
	cleaning->body = memory_have(json_dumps(patch, JSON_COMPACT));
	is_good = ask(cleaning, "PATCH", job_url, cleaning->body);
	if (is_good && !is_done(cleaning))
		is_good = trees_delete(cleaning, job_url);
	json_decref(patch);
	free(cleaning->body);
	free(job_url);
	return is_good;
}

static void header_add(struct cleaning *cleaning, const char *header)
{
	cleaning->headers =
		memory_have(curl_slist_append(cleaning->headers, header));
}

static void prepare(struct cleaning *cleaning, const char *ca)
{
	char *bearer =
		memory_format("Authorization: Bearer %s", cleaning->token);
	CURL *easy = memory_have(curl_easy_init());
	struct stat status;

	header_add(cleaning, bearer);
	header_add(cleaning, "Content-Type: application/json");
	header_add(cleaning, "Accept: application/json");
	header_add(cleaning, "Expect:");
	free(bearer);
	cleaning->easy = easy;
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, cleaning->headers);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* name servers */
#endif
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, cleaning);
	/* As libfabric reads it, except that the server is always verified. */
	if (ca != NULL && ca[0] == '/')
		curl_easy_setopt(easy,
				 stat(ca, &status) == 0 &&
						 S_ISDIR(status.st_mode)
					 ? CURLOPT_CAPATH
					 : CURLOPT_CAINFO,
				 ca);
}

static bool is_url(const char *url)
{
	size_t size = strlen(url), tail = strlen(MULTICASTS);

	return strncasecmp(url, "https://", strlen("https://")) == 0 &&
	       size > tail && strcmp(url + size - tail, MULTICASTS) == 0;
}

static int run(const char *step, long timeout_s)
{
	struct cleaning cleaning = {
		.job = getenv(HWCOLL_JOB),
		.token = getenv(HWCOLL_TOKEN),
		.url = getenv(HWCOLL_URL),
		.step = step != NULL ? step : getenv(HWCOLL_STEP),
		.end_s = now_s() + timeout_s,
	};
	bool is_good;

	if (cleaning.job == NULL && cleaning.token == NULL)
		return EXIT_SUCCESS; /* a job without trees */
	if (cleaning.job == NULL || cleaning.token == NULL ||
	    cleaning.url == NULL || cleaning.step == NULL ||
	    !is_url(cleaning.url)) {
		report("the variables FI_CXI_COLL_* of the job are not "
		       "complete, or not an https URL");
		return EXIT_FAILURE;
	}
	/* The CA may be a pipe, or a file without end. */
	signal(SIGALRM, SIG_DFL);
	alarm((unsigned int)timeout_s + 2);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	prepare(&cleaning, getenv(HWCOLL_CACERT));
	is_good = clean(&cleaning);
	curl_easy_cleanup(cleaning.easy);
	curl_slist_free_all(cleaning.headers);
	writer_fini(&cleaning.reply);
	curl_global_cleanup();
	return is_good ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* The launcher keeps the other end, and ends with the step. */
static void wait_for_end(void)
{
	char byte;

	is_logged = true;
	openlog("fairlead-step-clean", LOG_PID, LOG_USER);
	while (read(STDIN_FILENO, &byte, 1) > 0 || errno == EINTR)
		errno = 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "step", required_argument, NULL, 's' },
		{ "timeout", required_argument, NULL, 't' },
		{ "wait", no_argument, NULL, 'w' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const char *step = NULL;
	long timeout_s = TIMEOUT_DEFAULT_S;
	char *end = NULL;
	bool is_waiting = false;
	int id;

	while ((id = getopt_long(argc, argv, "h", options, NULL)) >= 0) {
		if (id == 's') {
			step = optarg;
		} else if (id == 'w') {
			is_waiting = true;
		} else if (id == 't') {
			timeout_s = strtol(optarg, &end, 10);
			if (*optarg == '\0' || *end != '\0' || timeout_s < 1 ||
			    timeout_s > TIMEOUT_MAX_S)
				id = '?';
		}
		if (id == 'h' || id == '?') {
			fputs(usage, id == 'h' ? stdout : stderr);
			return id == 'h' ? EXIT_SUCCESS : EXIT_USAGE;
		}
	}
	if (optind < argc) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	if (is_waiting)
		wait_for_end();
	return run(step, timeout_s);
}
