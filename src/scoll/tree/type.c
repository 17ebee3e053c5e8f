/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * type = name [ ":" option ]    option = digits [ "." digits ]
 *
 * The number is the option over its type's unit, rounded to the nearest. Where
 * the unit is 1 there is no fraction. Written is the shortest fraction that
 * reads back as the same option.
 */
#include <stdio.h>
#include <string.h>

#include "base/versioned.h"
#include "scoll/tree/internal.h"

#define FRACTION_DIGITS_MAX 6
#define NAME_MAX_BYTES      24 /* leaves bytes for an option */
#define NUMBER_MAX          UINT64_C(1000000000)
#define UNIT_MAX            16384 /* times that, and 10^6, in 64 bits */

static const struct scoll_tree_ops *const builtin[] = {
	[1] = &tree_flat, [2] = &tree_binomial, [3] = &tree_knomial,
	[4] = &tree_kary, [5] = &tree_logp,
};

#define BUILTIN_COUNT (sizeof(builtin) / sizeof(builtin[0]))

const struct scoll_tree_ops *tree_type_ops(const struct tree_types *types,
					   uint32_t number)
{
	if (number < BUILTIN_COUNT)
		return builtin[number];
	if (types != NULL && number >= SCOLL_TREE_USER &&
	    number < SCOLL_TREE_USER + TREE_TYPES_USER_MAX)
		return types->ops_ref[number - SCOLL_TREE_USER];
	return NULL;
}

static uint64_t unit(const struct scoll_tree_ops *ops)
{
	return ops->option_unit == 0 ? 1 : ops->option_unit;
}

/* Its number, or 0. */
static uint32_t number_of(const struct tree_types *types, const char *name,
			  size_t size)
{
	for (uint32_t i = 1; i < SCOLL_TREE_USER + TREE_TYPES_USER_MAX; i++) {
		const struct scoll_tree_ops *ops = tree_type_ops(types, i);

		if (ops != NULL && strlen(ops->name) == size &&
		    memcmp(ops->name, name, size) == 0)
			return i;
	}
	return 0;
}

static int name_check(const char *name)
{
	size_t size;

	if (name == NULL)
		return -EINVAL;
	size = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
	return size > 0 && size <= NAME_MAX_BYTES && name[size] == 0 ? 0
								     : -EINVAL;
}

int tree_types_add(struct tree_types *types, uint32_t number,
		   const struct scoll_tree_ops *ops)
{
	if (number < SCOLL_TREE_USER ||
	    number >= SCOLL_TREE_USER + TREE_TYPES_USER_MAX)
		return -EINVAL;
	if (ops->size < sizeof(*ops) ||
	    !versioned_is_known(ops, ops->size, sizeof(*ops)) ||
	    name_check(ops->name) < 0 || ops->node == NULL ||
	    ops->children == NULL || ops->option_min > ops->option_max ||
	    ops->option_max > TREE_OPTION_MAX || ops->option_unit > UNIT_MAX)
		return -EINVAL;
	if (tree_type_ops(types, number) != NULL ||
	    number_of(types, ops->name, strlen(ops->name)) != 0)
		return -EEXIST;
	types->ops_ref[number - SCOLL_TREE_USER] = ops;
	return 0;
}

int tree_type_check(const struct tree_types *types, scoll_tree_type_t type)
{
	const struct scoll_tree_ops *ops =
		tree_type_ops(types, type >> TREE_OPTION_BITS);
	uint32_t option = type & TREE_OPTION_MAX;

	if (ops == NULL)
		return -ENOENT;
	return option < ops->option_min || option > ops->option_max ? -EINVAL
								    : 0;
}

/* A number times scale, rounded; -EINVAL when it is none. */
static int64_t number_parse(const char *text, uint64_t scale)
{
	uint64_t value = 0, power = 1;
	const char *at = text;
	size_t digits = 0;

	for (; *at >= '0' && *at <= '9'; at++, digits++)
		if ((value = value * 10 + (uint64_t)(*at - '0')) > NUMBER_MAX)
			return -EINVAL;
	if (digits == 0)
		return -EINVAL;
	if (*at == '.' && scale > 1) {
		const char *fraction = ++at;

		for (; *at >= '0' && *at <= '9'; at++, power *= 10) {
			if (at - fraction == FRACTION_DIGITS_MAX)
				return -EINVAL;
			value = value * 10 + (uint64_t)(*at - '0');
		}
		if (at == fraction)
			return -EINVAL;
	}
	if (*at != 0)
		return -EINVAL;
	return (int64_t)((value * scale + power / 2) / power);
}

/* Returns text, with as many digits behind the point as it takes. */
static const char *number_format(uint64_t option, uint64_t scale,
				 char ret_text[SCOLL_TREE_TEXT])
{
	uint64_t power = 1;

	snprintf(ret_text, SCOLL_TREE_TEXT, "%llu",
		 (unsigned long long)(option / scale));
	for (int digits = 1; number_parse(ret_text, scale) != (int64_t)option &&
			     digits <= FRACTION_DIGITS_MAX;
	     digits++) {
		uint64_t value;

		power *= 10;
		value = (option * power + scale / 2) / scale;
		snprintf(ret_text, SCOLL_TREE_TEXT, "%llu.%0*llu",
			 (unsigned long long)(value / power), digits,
			 (unsigned long long)(value % power));
	}
	return ret_text;
}

static int option_parse(const struct scoll_tree_ops *ops, const char *text,
			uint32_t *ret_option, struct fairlead_error *ret_error)
{
	char least[SCOLL_TREE_TEXT], most[SCOLL_TREE_TEXT];
	int64_t option;

	if (ops->option_max == 0) {
		if (text != NULL)
			return error_set(ret_error, -EINVAL,
					 "tree '%s' takes no option, but has "
					 "'%s'",
					 ops->name, text);
		*ret_option = 0;
		return 0;
	}
	number_format(ops->option_min, unit(ops), least);
	number_format(ops->option_max, unit(ops), most);
	if (text == NULL)
		return error_set(ret_error, -EINVAL,
				 "tree '%s' needs an option from %s to %s, "
				 "such as '%s:%s'",
				 ops->name, least, most, ops->name, least);
	option = number_parse(text, unit(ops));
	if (option < ops->option_min || option > ops->option_max)
		return error_set(ret_error, -EINVAL,
				 "option '%s' of tree '%s' is not a number "
				 "from %s to %s",
				 text, ops->name, least, most);
	*ret_option = (uint32_t)option;
	return 0;
}

int tree_type_parse(const struct tree_types *types, const char *text,
		    scoll_tree_type_t *ret_type,
		    struct fairlead_error *ret_error)
{
	const char *colon = strchr(text, ':');
	size_t size = colon == NULL ? strlen(text) : (size_t)(colon - text);
	uint32_t number = number_of(types, text, size);
	uint32_t option = 0;
	int result;

	if (number == 0)
		return error_set(ret_error, -EINVAL,
				 "there is no tree '%.*s': choose flat, "
				 "binomial, knomial:K, kary:K, logp:L/O or one "
				 "that was registered",
				 (int)(size < 64 ? size : 64), text);
	result = option_parse(tree_type_ops(types, number),
			      colon == NULL ? NULL : colon + 1, &option,
			      ret_error);
	if (result < 0)
		return result;
	*ret_type = SCOLL_TREE(number, option);
	return 0;
}

const char *tree_type_format(const struct tree_types *types,
			     scoll_tree_type_t type,
			     char ret_text[SCOLL_TREE_TEXT])
{
	const struct scoll_tree_ops *ops =
		tree_type_ops(types, type >> TREE_OPTION_BITS);
	char option[SCOLL_TREE_TEXT];

	if (tree_type_check(types, type) < 0)
		snprintf(ret_text, SCOLL_TREE_TEXT, "?");
	else if (ops->option_max == 0)
		snprintf(ret_text, SCOLL_TREE_TEXT, "%s", ops->name);
	else
		snprintf(ret_text, SCOLL_TREE_TEXT, "%s:%s", ops->name,
			 number_format(type & TREE_OPTION_MAX, unit(ops),
				       option));
	return ret_text;
}
