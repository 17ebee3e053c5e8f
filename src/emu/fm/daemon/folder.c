/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/fm/daemon/folder.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "emu/fm/core/softfm.h"
#include "sys/files.h"
#include "sys/rng.h"

#define TEXT_MAX  256        /* bytes of a credential */
#define STATE_MAX (64 << 20) /* bytes */
#define CLIENT_ID "fairlead"

static int fail(const char *path, int result, struct fairlead_error *ret_error)
{
	return error_set(ret_error, result, "cannot use '%s': %s", path,
			 strerror(-result));
}

static int text_write(const char *dir, const char *name, const char *text,
		      struct fairlead_error *ret_error)
{
	const struct file_seam files = sys_files();
	_auto_(freep) char *path = memory_format("%s/%s", dir, name);
	int result = files.ops->replace(files.ctx, path, text, strlen(text));

	return result < 0 ? fail(path, result, ret_error) : 0;
}

/* The text of a file, which has a default's or else is unpredictable. */
static int text_get(const char *dir, const char *name, const char *text,
		    char **ret_text, struct fairlead_error *ret_error)
{
	const struct file_seam files = sys_files();
	const struct rng_seam rng = sys_rng();
	_auto_(freep) char *path = memory_format("%s/%s", dir, name);
	char buffer[TEXT_MAX + 1];
	uint8_t bytes[16];
	int size = files.ops->load(files.ctx, path, buffer, TEXT_MAX);

	if (size < 0 && size != -ENOENT)
		return fail(path, size, ret_error);
	if (size >= 0) {
		buffer[size] = '\0';
		buffer[strcspn(buffer, "\r\n")] = '\0';
	} else if (text == NULL) {
		rng_fill(&rng, bytes, sizeof(bytes));
		sodium_bin2hex(buffer, sizeof(buffer), bytes, sizeof(bytes));
	}
	*ret_text = memory_text(size < 0 && text != NULL ? text : buffer);
	return size >= 0 ? 0 : text_write(dir, name, *ret_text, ret_error);
}

int softfm_credentials_get(const char *dir,
			   struct softfm_credentials *ret_credentials,
			   struct fairlead_error *ret_error)
{
	static const char *const folders[] = { "auth", "basic" };
	const struct file_seam files = sys_files();
	struct softfm_credentials *made = ret_credentials;
	int result = 0;

	*made = (struct softfm_credentials){ 0 };
	for (size_t i = 0; i < 2; i++) {
		_auto_(freep) char *path =
			memory_format("%s/%s", dir, folders[i]);

		result = files.ops->make_directory(files.ctx, path);
		if (result < 0)
			return fail(path, result, ret_error);
	}
	result = text_get(dir, "auth/client-id", CLIENT_ID, &made->client_id,
			  ret_error);
	if (result == 0)
		result = text_get(dir, "auth/client-secret", NULL,
				  &made->client_secret, ret_error);
	if (result == 0)
		result = text_get(dir, "basic/passwd", NULL, &made->password,
				  ret_error);
	return result;
}

void softfm_credentials_fini(struct softfm_credentials *credentials)
{
	free(credentials->client_id);
	free(credentials->client_secret);
	free(credentials->password);
}

int softfm_url_write(const char *dir, const char *url,
		     struct fairlead_error *ret_error)
{
	_auto_(freep) char *endpoint =
		memory_format("%s" SOFTFM_TOKEN_PATH, url);
	_auto_(freep) char *path = memory_format("%s/url", dir);
	int result = text_write(dir, "auth/endpoint", endpoint, ret_error);

	/* Last: clients that wait for it find the others. */
	if (result == 0)
		result = text_write(dir, "url", url, ret_error);
	if (result == 0 && chmod(path, 0644) < 0)
		result = fail(path, -errno, ret_error);
	return result;
}

int softfm_state_load(struct softfm *softfm, const char *path,
		      struct fairlead_error *ret_error)
{
	const struct file_seam files = sys_files();
	_auto_(freep) char *text = memory_alloc(STATE_MAX);
	json_error_t error;
	json_t *state;
	int size = files.ops->load(files.ctx, path, text, STATE_MAX);
	int result;

	if (size == -ENOENT)
		return size;
	if (size < 0)
		return fail(path, size, ret_error);
	state = json_loadb(text, (size_t)size, 0, &error);
	if (state == NULL)
		return error_set(ret_error, -EINVAL, "'%s' line %d: %s", path,
				 error.line, error.text);
	result = softfm_load(softfm, state, ret_error);
	json_decref(state);
	return result < 0 ? error_prefix(ret_error, "'%s'", path) : 0;
}

int softfm_state_save(const struct softfm *softfm, const char *path)
{
	const struct file_seam files = sys_files();
	json_t *state = softfm_save(softfm);
	_auto_(freep) char *text = memory_have(json_dumps(state, JSON_COMPACT));

	json_decref(state);
	return files.ops->replace(files.ctx, path, text, strlen(text));
}
