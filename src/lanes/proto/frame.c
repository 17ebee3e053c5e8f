/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The length of a frame is checked as soon as its four bytes are there, and
 * memory grows with the bytes that came, never with what a length promises.
 * The buffer is moved together at each feed: what is left then is less than
 * one frame, or the caller did not read what it was given.
 */
#include "lanes/proto/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_MIN  4096
#define CAPACITY_KEEP 65536 /* a larger buffer is freed once it is empty */

int frame_parse(const void *bytes, size_t size, struct frame *ret_frame)
{
	const uint8_t *at = bytes;

	if (size == 0)
		return -EBADMSG;
	if (size > FRAME_SIZE_MAX)
		return -EMSGSIZE;
	if (at[0] < FRAME_CHALLENGE || at[0] > FRAME_REFUSE)
		return -EBADMSG;
	if ((at[0] == FRAME_PING || at[0] == FRAME_PONG) && size > 1)
		return -EBADMSG;
	*ret_frame = (struct frame){
		.type = (enum frame_type)at[0],
		.payload = at + 1,
		.size = size - 1,
	};
	return 0;
}

void frame_begin(struct writer *writer, enum frame_type type)
{
	writer->limit = FRAME_SIZE_MAX;
	write_u8(writer, (uint8_t)type);
}

void frame_length(size_t size, uint8_t ret_length[FRAME_LENGTH_SIZE])
{
	for (size_t i = 0; i < FRAME_LENGTH_SIZE; i++)
		ret_length[i] = (uint8_t)(size >> (8 * i));
}

void splitter_init(struct splitter *splitter, size_t size_max)
{
	*splitter = (struct splitter){ .size_max = size_max };
}

void splitter_fini(struct splitter *splitter)
{
	free(splitter->data);
	splitter_init(splitter, splitter->size_max);
}

/*
 * Length of the frame that begins at `begin`: 1 when the frame is whole, 0
 * when bytes of it are missing, or an error.
 */
static int measure(const struct splitter *splitter, size_t *ret_size)
{
	struct reader reader;
	size_t size;

	if (splitter->end - splitter->begin < FRAME_LENGTH_SIZE)
		return 0;
	reader = reader_of(splitter->data + splitter->begin,
			   splitter->end - splitter->begin);
	size = read_u32(&reader);
	if (size == 0)
		return -EBADMSG;
	if (size > splitter->size_max)
		return -EMSGSIZE;
	if (reader.left < size)
		return 0;
	*ret_size = size;
	return 1;
}

static int reserve(struct splitter *splitter, size_t size)
{
	size_t left = splitter->end - splitter->begin;
	size_t capacity = splitter->capacity;
	uint8_t *data;

	if (splitter->begin > 0) {
		memmove(splitter->data, splitter->data + splitter->begin, left);
		splitter->begin = 0;
		splitter->end = left;
	}
	if (size > SIZE_MAX / 4 - left)
		return -ENOMEM;
	if (capacity < CAPACITY_MIN)
		capacity = CAPACITY_MIN;
	while (capacity < left + size)
		capacity *= 2;
	if (capacity == splitter->capacity)
		return 0;
	data = realloc(splitter->data, capacity);
	if (data == NULL)
		return -ENOMEM;
	splitter->data = data;
	splitter->capacity = capacity;
	return 0;
}

int splitter_feed(struct splitter *splitter, const void *bytes, size_t size)
{
	size_t frame_size;
	int result = splitter->result;

	if (result < 0)
		return result;
	result = measure(splitter, &frame_size);
	if (result > 0)
		result = -ENOBUFS;
	if (result == 0 && size > 0)
		result = reserve(splitter, size);
	if (result < 0) {
		splitter->result = result;
		return result;
	}
	if (size == 0)
		return 0;
	memcpy(splitter->data + splitter->end, bytes, size);
	splitter->end += size;
	result = measure(splitter, &frame_size);
	if (result < 0)
		splitter->result = result;
	return splitter->result;
}

int splitter_next(struct splitter *splitter, const uint8_t **ret_bytes,
		  size_t *ret_size)
{
	size_t size;
	int result = splitter->result;

	if (result == 0)
		result = measure(splitter, &size);
	if (result < 0)
		splitter->result = result;
	if (result == 0 && splitter->begin == splitter->end &&
	    splitter->capacity > CAPACITY_KEEP)
		splitter_fini(splitter);
	if (result <= 0)
		return result;
	*ret_bytes = splitter->data + splitter->begin + FRAME_LENGTH_SIZE;
	*ret_size = size;
	splitter->begin += FRAME_LENGTH_SIZE + size;
	return 1;
}
