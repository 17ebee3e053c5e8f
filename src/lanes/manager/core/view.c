/* SPDX-License-Identifier: BSD-3-Clause */
/* Pieces of views: members, and arrays that fit into an answer. */
#include "lanes/manager/core/view.h"

void view_array_init(struct view_array *array)
{
	*array = (struct view_array){ .items = memory_have(json_array()) };
}

/* One always fits: the parts of an item have their own maxima. */
static bool has_room(struct view_array *array, size_t bytes)
{
	if (array->bytes > 0 && array->bytes + bytes > CORE_VIEW_BYTES_MAX)
		array->has_more = true;
	else
		array->bytes += bytes;
	return !array->has_more;
}

bool view_array_add(struct view_array *array, json_t *item_owned, size_t bytes)
{
	if (!has_room(array, bytes)) {
		json_decref(item_owned);
		return false;
	}
	if (json_array_append_new(array->items, item_owned) < 0)
		memory_end();
	return true;
}

bool view_array_extend(struct view_array *array, json_t *items_owned,
		       size_t bytes)
{
	bool is_taken = has_room(array, bytes);

	if (is_taken && json_array_extend(array->items, items_owned) < 0)
		memory_end();
	json_decref(items_owned);
	return is_taken;
}

json_t *view_array_end(struct view_array *array, const char *name,
		       json_t *after_owned)
{
	json_t *object = memory_have(json_object());

	view_set(object, name, array->items);
	if (array->has_more)
		view_set(object, "more", json_true());
	if (array->has_more && after_owned != NULL)
		view_set(object, "after", after_owned);
	else
		json_decref(after_owned);
	array->items = NULL;
	return object;
}

void view_set(json_t *object, const char *name, json_t *value_owned)
{
	if (json_object_set_new(object, name, value_owned) < 0)
		memory_end();
}

void view_text(json_t *object, const char *name, const char *text)
{
	view_set(object, name, json_string(text));
}

void view_number(json_t *object, const char *name, uint64_t number)
{
	view_set(object, name, json_integer((json_int_t)number));
}

void view_moment(json_t *object, const char *name, uint64_t time_us)
{
	view_set(object, name, json_real((double)time_us / 1e6));
}
