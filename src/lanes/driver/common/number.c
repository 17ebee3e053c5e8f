/* SPDX-License-Identifier: BSD-3-Clause */
/* Stricter than strtoul, which takes blanks, signs and wraps negatives. */
#include "lanes/driver/common/number.h"

bool number_parse(const char *text, uint32_t min, uint32_t max,
		  uint32_t *ret_number)
{
	uint64_t number = 0;

	if (!*text || (text[0] == '0' && text[1]))
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		number = number * 10 + (uint64_t)(*text - '0');
		if (number > max)
			return false;
	}
	if (number < min)
		return false;
	*ret_number = (uint32_t)number;
	return true;
}
