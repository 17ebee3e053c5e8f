/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run a fuzz target on every file of the given folders, so that a corpus is an
 * ordinary test with any compiler. A folder without files is an error.
 */
#include <dirent.h>

#include "base/cleanup.h"
#include "fuzz.h"

static int file_run(const char *path)
{
	FILE *file = fopen(path, "rb");
	_auto_(freep) uint8_t *data = NULL;
	long size = -1;

	if (file != NULL && fseek(file, 0, SEEK_END) == 0)
		size = ftell(file);
	if (size >= 0)
		data = malloc((size_t)size);
	if (data == NULL || fseek(file, 0, SEEK_SET) != 0 ||
	    fread(data, 1, (size_t)size, file) != (size_t)size) {
		perror(path);
		exit(1);
	}
	fclose(file);
	printf("%s\n", path);
	fflush(stdout);
	return LLVMFuzzerTestOneInput(data, (size_t)size);
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
	int failed = argc < 2;

	for (int i = 1; i < argc; i++) {
		struct dirent **entries = NULL;
		int count = scandir(argv[i], &entries, is_visible, alphasort);

		if (count <= 0) {
			fprintf(stderr, "%s: no files\n", argv[i]);
			failed = 1;
		}
		for (int k = 0; k < count; k++) {
			char path[4096];

			snprintf(path, sizeof(path), "%s/%s", argv[i],
				 entries[k]->d_name);
			failed |= file_run(path);
			free(entries[k]);
		}
		free(entries);
	}
	return failed;
}
