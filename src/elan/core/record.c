/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records as bytes: a version, what kind it is, then its fields. What the
 * daemon has written itself is not trusted either.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "elan/core/registry.h"

#define RECORD_VERSION 1

static void write_head(struct writer *writer, enum rms_record kind)
{
	write_u8(writer, RECORD_VERSION);
	write_u8(writer, (uint8_t)kind);
}

static void read_head(struct reader *reader, enum rms_record kind)
{
	if (read_u8(reader) != RECORD_VERSION || read_u8(reader) != kind)
		reader->failed = true;
}

static void read_cap(struct reader *reader, struct elan_capability *ret_cap)
{
	capability_read(reader, ret_cap);
	if (capability_check(ret_cap) < 0)
		reader->failed = true;
}

static bool read_bool(struct reader *reader)
{
	uint8_t value = read_u8(reader);

	if (value > 1)
		reader->failed = true;
	return value == 1;
}

static void write_process(struct writer *writer,
			  const struct rms_process *process)
{
	write_u32(writer, (uint32_t)process->pid);
	write_u64(writer, process->start);
}

static void read_process(struct reader *reader, struct rms_process *ret_process)
{
	ret_process->pid = (int32_t)read_u32(reader);
	ret_process->start = read_u64(reader);
	if (ret_process->pid <= 0)
		reader->failed = true;
}

/* A list of so many; NULL when it fails, or is empty. */
static void *read_list(struct reader *reader, size_t max, size_t size,
		       size_t size_min, size_t *ret_count)
{
	uint32_t count = read_u32(reader);
	void *items = NULL;

	if (count > max || count > reader->left / size_min)
		reader->failed = true;
	if (!reader->failed && count > 0) {
		items = memory_array(count, size);
	}
	*ret_count = items != NULL ? count : 0;
	return items;
}

static void write_usage(struct writer *writer, const struct rms_usage *usage)
{
	write_u64(writer, usage->user_us);
	write_u64(writer, usage->system_us);
	write_u64(writer, usage->faults);
	write_u64(writer, usage->memory);
	write_u64(writer, usage->memory_max);
}

static void read_usage(struct reader *reader, struct rms_usage *ret_usage)
{
	ret_usage->user_us = read_u64(reader);
	ret_usage->system_us = read_u64(reader);
	ret_usage->faults = read_u64(reader);
	ret_usage->memory = read_u64(reader);
	ret_usage->memory_max = read_u64(reader);
}

static void write_settings(struct writer *writer, const struct program *program)
{
	write_u32(writer, (uint32_t)program->setting_count);
	for (size_t i = 0; i < program->setting_count; i++) {
		const struct rms_setting *setting = &program->settings[i];

		write_u32(writer, setting->number);
		write_u32(writer, (uint32_t)setting->index);
		write_u8(writer, (uint8_t)setting->count);
		for (uint32_t j = 0; j < setting->count; j++) {
			write_u32(writer, (uint32_t)setting->contexts[j].index);
			write_u32(writer,
				  (uint32_t)setting->contexts[j].context);
		}
	}
}

static void read_settings(struct reader *reader, struct program *program)
{
	program->settings =
		read_list(reader, SETTINGS_MAX, sizeof(*program->settings), 9,
			  &program->setting_count);
	for (size_t i = 0; i < program->setting_count; i++) {
		struct rms_setting *setting = &program->settings[i];

		setting->number = read_u32(reader);
		setting->index = (int32_t)read_u32(reader);
		setting->count = read_u8(reader);
		if (setting->count > RMS_CAPS_MAX || setting->number == 0 ||
		    setting->number > program->setting_last) {
			setting->count = 0;
			reader->failed = true;
		}
		for (uint32_t j = 0; j < setting->count; j++) {
			setting->contexts[j].index = (int32_t)read_u32(reader);
			setting->contexts[j].context =
				(int32_t)read_u32(reader);
		}
	}
}

static void write_holdings(struct writer *writer, const struct program *program)
{
	write_u32(writer, (uint32_t)program->holding_count);
	for (size_t i = 0; i < program->holding_count; i++) {
		write_u32(writer, (uint32_t)program->holdings[i].index);
		write_u64(writer, program->holdings[i].deposit);
		capability_write(&program->holdings[i].cap, writer);
	}
}

static void read_holdings(struct reader *reader, struct program *program)
{
	program->holdings =
		read_list(reader, RMS_CAPS_MAX, sizeof(*program->holdings), 60,
			  &program->holding_count);
	for (size_t i = 0; i < program->holding_count; i++) {
		program->holdings[i].index = (int32_t)read_u32(reader);
		program->holdings[i].deposit = read_u64(reader);
		read_cap(reader, &program->holdings[i].cap);
	}
}

static void write_processes(struct writer *writer,
			    const struct program *program)
{
	write_u32(writer, (uint32_t)program->initialised_count);
	for (size_t i = 0; i < program->initialised_count; i++) {
		write_process(writer, &program->initialised[i].process);
		write_u32(writer, (uint32_t)program->initialised[i].vp);
	}
	write_u32(writer, (uint32_t)program->known_count);
	for (size_t i = 0; i < program->known_count; i++) {
		const struct rms_known *known = &program->known[i];

		write_process(writer, &known->process);
		write_u32(writer, (uint32_t)known->session);
		write_u32(writer, known->setting);
		write_u8(writer, known->has_left);
		write_u8(writer, known->has_ended);
	}
}

static void read_processes(struct reader *reader, struct program *program)
{
	program->initialised =
		read_list(reader, PROCESSES_MAX, sizeof(*program->initialised),
			  16, &program->initialised_count);
	for (size_t i = 0; i < program->initialised_count; i++) {
		read_process(reader, &program->initialised[i].process);
		program->initialised[i].vp = (int32_t)read_u32(reader);
	}
	program->known = read_list(reader, KNOWN_MAX, sizeof(*program->known),
				   22, &program->known_count);
	for (size_t i = 0; i < program->known_count; i++) {
		struct rms_known *known = &program->known[i];

		read_process(reader, &known->process);
		known->session = (int32_t)read_u32(reader);
		known->setting = read_u32(reader);
		known->has_left = read_bool(reader);
		known->has_ended = read_bool(reader);
	}
}

void record_encode_program(const struct program *program, struct writer *writer)
{
	write_head(writer, RECORD_PROGRAM);
	write_u32(writer, (uint32_t)program->id);
	write_u32(writer, program->uid);
	write_u32(writer, (uint32_t)program->cpus);
	write_u32(writer, (uint32_t)program->flags);
	write_u8(writer, program->is_made);
	write_text(writer, program->place);
	write_u64(writer, program->start);
	write_u64(writer, program->made_ms);
	write_u64(writer, program->ended_ms);
	write_u32(writer, program->setting_last);
	write_settings(writer, program);
	write_holdings(writer, program);
	write_processes(writer, program);
	write_u64(writer, program->elanstats.ebytes);
	write_u64(writer, program->elanstats.exfers);
	write_text(writer, program->corepath);
	write_usage(writer, &program->usage);
	write_usage(writer, &program->base);
	write_u64(writer, program->memory_ms);
	write_u64(writer, program->memory_kib_ms);
}

int record_decode_program(const void *bytes, size_t size,
			  struct program **ret_program)
{
	_auto_(program_destroyp) struct program *program =
		memory_alloc(sizeof(*program));
	struct reader reader = reader_of(bytes, size);

	read_head(&reader, RECORD_PROGRAM);
	program->id = (int32_t)read_u32(&reader);
	program->uid = read_u32(&reader);
	program->cpus = (int32_t)read_u32(&reader);
	program->flags = (int32_t)read_u32(&reader);
	program->is_made = read_bool(&reader);
	read_text(&reader, program->place, sizeof(program->place));
	program->start = read_u64(&reader);
	program->made_ms = read_u64(&reader);
	program->ended_ms = read_u64(&reader);
	program->setting_last = read_u32(&reader);
	read_settings(&reader, program);
	read_holdings(&reader, program);
	read_processes(&reader, program);
	program->elanstats.ebytes = read_u64(&reader);
	program->elanstats.exfers = read_u64(&reader);
	read_text(&reader, program->corepath, sizeof(program->corepath));
	read_usage(&reader, &program->usage);
	read_usage(&reader, &program->base);
	program->memory_ms = read_u64(&reader);
	program->memory_kib_ms = read_u64(&reader);
	if (!reader_is_done(&reader) || program->id <= 0 || program->cpus <= 0)
		return -EPROTO;
	*ret_program = take_ptr(program);
	return 0;
}

void record_encode_deposit(const struct deposit *deposit, struct writer *writer)
{
	write_head(writer, RECORD_DEPOSIT);
	write_u64(writer, deposit->number);
	write_u64(writer, deposit->grant_id);
	write_u32(writer, deposit->uid);
	write_u8(writer, deposit->is_ending);
	capability_write(&deposit->cap, writer);
	write_u32(writer, (uint32_t)deposit->node);
	write_u32(writer, (uint32_t)(deposit->route_count * ROUTE_SIZE));
	for (size_t i = 0; i < deposit->route_count; i++)
		route_encode(&deposit->routes[i], writer);
}

static void read_routes(struct reader *reader, struct deposit *deposit)
{
	const uint8_t *bytes;
	size_t size = 0;

	deposit->node = (int32_t)read_u32(reader);
	bytes = read_blob(reader, ROUTES_SIZE, &size);
	if (bytes == NULL ||
	    memory_check(routes_decode(bytes, size, &deposit->routes,
				       &deposit->route_count)) < 0)
		reader->failed = true;
}

int record_decode_deposit(const void *bytes, size_t size,
			  struct deposit *deposit)
{
	struct reader reader = reader_of(bytes, size);

	read_head(&reader, RECORD_DEPOSIT);
	deposit->number = read_u64(&reader);
	deposit->grant_id = read_u64(&reader);
	deposit->uid = read_u32(&reader);
	deposit->is_ending = read_bool(&reader);
	read_cap(&reader, &deposit->cap);
	read_routes(&reader, deposit);
	return reader_is_done(&reader) && deposit->number != 0 ? 0 : -EPROTO;
}

void record_encode_node(const struct registry *registry, struct writer *writer)
{
	write_head(writer, RECORD_NODE);
	write_u32(writer, registry->rails_up);
	write_u64(writer, registry->deposit_last);
	write_u32(writer, (uint32_t)registry->attachment_count);
	for (size_t i = 0; i < registry->attachment_count; i++) {
		const struct attachment *attachment = &registry->attachments[i];

		write_process(writer, &attachment->process);
		write_u32(writer, (uint32_t)attachment->context);
		write_u32(writer, (uint32_t)attachment->rail);
		write_u64(writer, attachment->deposit);
		write_u32(writer, (uint32_t)attachment->program);
	}
}

int record_decode_node(const void *bytes, size_t size,
		       struct registry *registry)
{
	struct reader reader = reader_of(bytes, size);
	_auto_(freep) struct attachment *attachments = NULL;
	uint64_t deposit_last;
	uint32_t rails_up;
	size_t count = 0;

	read_head(&reader, RECORD_NODE);
	rails_up = read_u32(&reader);
	deposit_last = read_u64(&reader);
	attachments = read_list(&reader, ATTACHMENTS_MAX, sizeof(*attachments),
				32, &count);
	for (size_t i = 0; i < count; i++) {
		read_process(&reader, &attachments[i].process);
		attachments[i].context = (int32_t)read_u32(&reader);
		attachments[i].rail = (int32_t)read_u32(&reader);
		attachments[i].deposit = read_u64(&reader);
		attachments[i].program = (int32_t)read_u32(&reader);
	}
	if (!reader_is_done(&reader))
		return -EPROTO;
	registry->rails_up = rails_up;
	if (deposit_last > registry->deposit_last)
		registry->deposit_last = deposit_last;
	registry->attachments = take_ptr(attachments);
	registry->attachment_count = count;
	return 0;
}
