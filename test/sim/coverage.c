/* SPDX-License-Identifier: BSD-3-Clause */
/* Names are kept in a hash and sorted when they are shown. */
#include "coverage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define NAME_MAX_BYTES 128

struct entry {
	char name[NAME_MAX_BYTES];
	uint64_t count;
	bool is_expected;
	const char *excuse; /* borrowed; NULL: none */
	UT_hash_handle hh;
};

struct coverage {
	struct entry *entries;
};

struct coverage *coverage_create(void)
{
	struct coverage *coverage = calloc(1, sizeof(*coverage));

	if (coverage == NULL)
		abort();
	return coverage;
}

void coverage_destroy(struct coverage *coverage)
{
	struct entry *entry, *next;

	if (coverage == NULL)
		return;
	HASH_ITER (hh, coverage->entries, entry, next) {
		HASH_DEL(coverage->entries, entry);
		free(entry);
	}
	free(coverage);
}

static struct entry *find(const struct coverage *coverage, const char *name)
{
	struct entry *entry;

	HASH_FIND_STR(coverage->entries, name, entry);
	return entry;
}

static struct entry *get(struct coverage *coverage, const char *name)
{
	struct entry *entry = find(coverage, name);

	if (entry != NULL)
		return entry;
	entry = calloc(1, sizeof(*entry));
	if (entry == NULL)
		abort();
	snprintf(entry->name, sizeof(entry->name), "%s", name);
	HASH_ADD_STR(coverage->entries, name, entry);
	return entry;
}

void coverage_expect(struct coverage *coverage, const char *name)
{
	get(coverage, name)->is_expected = true;
}

void coverage_excuse(struct coverage *coverage, const char *name,
		     const char *reason)
{
	get(coverage, name)->excuse = reason;
}

void coverage_add(struct coverage *coverage, const char *name, uint64_t count)
{
	get(coverage, name)->count += count;
}

void coverage_hit(struct coverage *coverage, const char *format, ...)
{
	char name[NAME_MAX_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	coverage_add(coverage, name, 1);
}

void coverage_write(const struct coverage *coverage, FILE *file)
{
	const struct entry *entry;

	for (entry = coverage->entries; entry != NULL; entry = entry->hh.next)
		fprintf(file, "%" PRIu64 " %s\n", entry->count, entry->name);
}

int coverage_read(struct coverage *coverage, FILE *file)
{
	char line[NAME_MAX_BYTES + 32];

	while (fgets(line, sizeof(line), file) != NULL) {
		uint64_t count;
		int size = 0;

		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%" SCNu64 " %n", &count, &size) != 1 ||
		    size == 0)
			return -EBADMSG;
		coverage_add(coverage, line + size, count);
	}
	return 0;
}

static int compare(const struct entry *a, const struct entry *b)
{
	return strcmp(a->name, b->name);
}

unsigned int coverage_report(struct coverage *coverage, FILE *file)
{
	unsigned int missing = 0;
	const struct entry *entry;

	HASH_SORT(coverage->entries, compare);
	fprintf(file, "\n%10s  what\n", "times");
	for (entry = coverage->entries; entry != NULL; entry = entry->hh.next)
		fprintf(file, "%10" PRIu64 "  %s\n", entry->count, entry->name);
	fprintf(file, "\nout of reach of this simulation:\n");
	for (entry = coverage->entries; entry != NULL; entry = entry->hh.next) {
		if (entry->excuse != NULL)
			fprintf(file, "  %s%s: %s\n", entry->name,
				entry->count > 0 ? " (happened)" : "",
				entry->excuse);
	}
	for (entry = coverage->entries; entry != NULL; entry = entry->hh.next) {
		if (entry->is_expected && entry->count == 0 &&
		    entry->excuse == NULL) {
			fprintf(file, "NEVER HAPPENED: %s\n", entry->name);
			missing++;
		}
	}
	return missing;
}
