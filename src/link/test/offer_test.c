/* SPDX-License-Identifier: BSD-3-Clause */
/* What fi_getinfo says of links. The variable names two. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

static struct fi_info *ask(const char *fabric)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;
	int result;

	assert_non_null(hints);
	hints->fabric_attr->prov_name = strdup("fairlead");
	if (fabric != NULL)
		hints->fabric_attr->name = strdup(fabric);
	result = fi_getinfo(fi_version(), NULL, NULL, 0, hints, &info);
	fi_freeinfo(hints);
	if (result == -FI_ENODATA)
		return NULL;
	assert_int_equal(result, 0);
	return info;
}

/* Else programs that choose among equal ones could not reach each other. */
static void each_link_is_a_fabric_of_its_own(void **state)
{
	struct fi_info *info = ask(NULL);

	assert_string_equal(info->fabric_attr->name, "shm+tcp;ofi_rxm");
	assert_non_null(info->next);
	assert_string_equal(info->next->fabric_attr->name, "tcp;ofi_rxm");
	assert_null(info->next->next);
	fi_freeinfo(info);
}

static void a_fabric_is_found_by_its_name_and_opened(void **state)
{
	struct fi_info *info = ask("tcp;ofi_rxm");
	struct fid_fabric *fabric;

	assert_non_null(info);
	assert_null(info->next);
	assert_string_equal(info->fabric_attr->name, "tcp;ofi_rxm");
	assert_int_equal(fi_fabric(info->fabric_attr, &fabric, NULL), 0);
	assert_int_equal(fi_close(&fabric->fid), 0);
	fi_freeinfo(info);
	assert_null(ask("net"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_link_is_a_fabric_of_its_own),
		cmocka_unit_test(a_fabric_is_found_by_its_name_and_opened),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
