/* SPDX-License-Identifier: BSD-3-Clause */
/* An object is a grant's by driver, owner and all of its identifiers. */
#include "lanes/node/guard/core.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const uint32_t ids[] = { 1024, 1030 };
static const struct holding holding = {
	.driver = "slingshot",
	.uid = 1000,
	.ids = ids,
	.id_count = 2,
};

static bool has(const char *driver, struct fairlead_object object)
{
	return holding_has(&holding, driver, &object);
}

static void object_with_some_or_all_ids_is_the_grants(void **state)
{
	assert_true(has("slingshot",
			(struct fairlead_object){ .uid = 1000,
						  .id_count = 2,
						  .ids = { 1030, 1024 } }));
	assert_true(has("slingshot",
			(struct fairlead_object){
				.uid = 1000, .id_count = 1, .ids = { 1030 } }));
}

static void object_with_another_id_is_not(void **state)
{
	assert_false(has("slingshot",
			 (struct fairlead_object){ .uid = 1000,
						   .id_count = 2,
						   .ids = { 1024, 1031 } }));
	assert_false(has("slingshot", (struct fairlead_object){
					      .uid = 1000,
					      .id_count = 3,
					      .ids = { 1024, 1030, 1031 } }));
}

static void object_without_ids_is_nobodys(void **state)
{
	assert_false(has("slingshot", (struct fairlead_object){ .uid = 1000 }));
}

static void object_of_another_owner_or_driver_is_not(void **state)
{
	struct fairlead_object object = { .uid = 1001,
					  .id_count = 1,
					  .ids = { 1024 } };

	assert_false(has("slingshot", object));
	object.uid = 1000;
	assert_false(has("ethernet", object));
	assert_true(has("slingshot", object));
}

/* Ids of objects come again: they say nothing. */
static void id_of_the_object_does_not_matter(void **state)
{
	struct fairlead_object object = {
		.id = 1024, .uid = 1000, .id_count = 1, .ids = { 7 }
	};

	assert_false(has("slingshot", object));
	object.ids[0] = 1024;
	object.id = 7;
	assert_true(has("slingshot", object));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(object_with_some_or_all_ids_is_the_grants),
		cmocka_unit_test(object_with_another_id_is_not),
		cmocka_unit_test(object_without_ids_is_nobodys),
		cmocka_unit_test(object_of_another_owner_or_driver_is_not),
		cmocka_unit_test(id_of_the_object_does_not_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
