/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bare client of a fabric manager: libcurl, kept connections, and nothing
 * else. In bursts it reserves for so many jobs at once, and releases them.
 *
 * Usage: fm_peer URL DIRECTORY JOBS BURSTS
 *   DIRECTORY   of fairlead-softfm: ca.pem, basic/passwd
 *
 * Prints a name and a number a line: create_p50_us, create_p99_us and
 * create_max_us from the begin of a burst, creates_per_s, and deletes_per_s.
 */
#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "times.h"

#define CONNECTIONS 32 /* as many as the manager's */

struct peer {
	const char *url;
	CURLM *multi;
	CURL *easy[CONNECTIONS];
	char body[CONNECTIONS][128];
	struct curl_slist *headers;
	struct times times;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "fm_peer: %s: %s\n", what, why);
	exit(1);
}

static size_t ignore(char *bytes, size_t size, size_t count, void *ctx)
{
	return size * count;
}

static CURL *easy_make(const struct peer *peer, const char *ca,
		       const char *user)
{
	CURL *easy = curl_easy_init();

	if (easy == NULL)
		die("start", "out of memory");
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, peer->headers);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
			 (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_CAINFO, ca);
	curl_easy_setopt(easy, CURLOPT_USERPWD, user);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore);
	return easy;
}

static void send_one(struct peer *peer, size_t slot, bool is_create,
		     uint64_t job)
{
	CURL *easy = peer->easy[slot];
	char url[1024];

	snprintf(url, sizeof(url),
		 is_create ? "%s/fabric/collectives/jobs"
			   : "%s/fabric/collectives/jobs/peer-x%llu",
		 peer->url, (unsigned long long)job);
	snprintf(peer->body[slot], sizeof(peer->body[slot]),
		 "{\"jobID\": \"peer-x%llu\", \"mcastLimit\": 8}",
		 (unsigned long long)job);
	curl_easy_setopt(easy, CURLOPT_URL, url);
	curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST,
			 is_create ? "POST" : "DELETE");
	if (is_create)
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, peer->body[slot]);
	else
		curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
	curl_multi_add_handle(peer->multi, easy);
}

/* A slot whose request has ended well. */
static size_t ended(const struct peer *peer, const CURLMsg *message)
{
	CURL *easy = message->easy_handle;
	long status = 0;
	size_t slot = 0;

	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	if (message->data.result != CURLE_OK)
		die("request", curl_easy_strerror(message->data.result));
	if (status / 100 != 2)
		die("request", "the fabric manager refuses it");
	while (peer->easy[slot] != easy)
		slot++;
	curl_multi_remove_handle(peer->multi, easy);
	return slot;
}

/* All requests of a burst. Seconds. */
static double burst(struct peer *peer, bool is_create, uint64_t count)
{
	const uint64_t begun_us = times_now_us();
	uint64_t sent = 0, done = 0;
	int running;

	for (; sent < count && sent < CONNECTIONS; sent++)
		send_one(peer, sent, is_create, sent);
	while (done < count) {
		CURLMsg *message;
		int left;

		curl_multi_perform(peer->multi, &running);
		while ((message = curl_multi_info_read(peer->multi, &left)) !=
		       NULL) {
			size_t slot = ended(peer, message);

			done++;
			if (is_create)
				times_add(&peer->times,
					  times_now_us() - begun_us);
			if (sent < count)
				send_one(peer, slot, is_create, sent++);
		}
		curl_multi_perform(peer->multi, &running);
		if (running > 0)
			curl_multi_poll(peer->multi, NULL, 0, 1000, NULL);
	}
	return (double)(times_now_us() - begun_us) / 1e6;
}

static void password_read(const char *folder, char *user, size_t size)
{
	char path[4096], text[256] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/basic/passwd", folder);
	file = fopen(path, "r");
	if (file == NULL || fgets(text, sizeof(text), file) == NULL)
		die(path, "cannot read it");
	fclose(file);
	text[strcspn(text, "\r\n")] = '\0';
	snprintf(user, size, "cxi:%s", text);
}

int main(int argc, char **argv)
{
	struct peer peer = { .url = argv[1] };
	double create_s = 0, delete_s = 0;
	char ca[4096], user[512];
	uint64_t jobs, bursts;

	if (argc != 5)
		die("usage", "fm_peer URL DIRECTORY JOBS BURSTS");
	jobs = strtoull(argv[3], NULL, 10);
	bursts = strtoull(argv[4], NULL, 10);
	snprintf(ca, sizeof(ca), "%s/ca.pem", argv[2]);
	password_read(argv[2], user, sizeof(user));
	curl_global_init(CURL_GLOBAL_DEFAULT);
	peer.multi = curl_multi_init();
	peer.headers =
		curl_slist_append(NULL, "Content-Type: application/json");
	if (peer.multi == NULL || peer.headers == NULL)
		die("start", "out of memory");
	curl_multi_setopt(peer.multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS);
	for (size_t i = 0; i < CONNECTIONS; i++)
		peer.easy[i] = easy_make(&peer, ca, user);
	/* The first one makes the connections. */
	for (uint64_t i = 0; i <= bursts; i++) {
		if (i == 1) {
			create_s = delete_s = 0;
			peer.times.count = 0;
		}
		create_s += burst(&peer, true, jobs);
		delete_s += burst(&peer, false, jobs);
	}
	printf("creates_per_s %.1f\n", (double)peer.times.count / create_s);
	printf("deletes_per_s %.1f\n", (double)peer.times.count / delete_s);
	times_report(&peer.times, "create");
	for (size_t i = 0; i < CONNECTIONS; i++)
		curl_easy_cleanup(peer.easy[i]);
	curl_multi_cleanup(peer.multi);
	curl_slist_free_all(peer.headers);
	times_fini(&peer.times);
	return 0;
}
