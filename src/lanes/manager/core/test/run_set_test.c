/* SPDX-License-Identifier: BSD-3-Clause */
/* The set, beside a table of all its points. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/manager/core/run_set.h"
#include "sim/rng.h"

#define POSITIONS 37
#define IDS       140
#define AREAS     64
#define ROUNDS    4000
#define SEEDS     20

/* Where a position of the table is in the set: near the ends, and spread. */
static uint32_t spread(uint32_t position)
{
	return position == POSITIONS - 1 ? RUN_SET_POSITIONS - 1
					 : position * 1771;
}

struct model {
	struct run_set taken;
	bool is_busy[POSITIONS][IDS];
	struct run_area areas[AREAS]; /* in positions of the table */
	uint32_t count;
};

static struct run_area spread_area(const struct run_area *area)
{
	return (struct run_area){ .low = spread(area->low),
				  .high = spread(area->high),
				  .first = area->first,
				  .last = area->last };
}

static bool model_is_free(const struct model *model,
			  const struct run_area *area)
{
	for (uint32_t i = area->low; i <= area->high; i++)
		for (uint32_t n = area->first; n <= area->last; n++)
			if (model->is_busy[i][n])
				return false;
	return true;
}

static void model_set(struct model *model, const struct run_area *area,
		      bool is_busy)
{
	for (uint32_t i = area->low; i <= area->high; i++)
		for (uint32_t n = area->first; n <= area->last; n++)
			model->is_busy[i][n] = is_busy;
}

static uint32_t draw(const struct rng_seam *rng, uint32_t from, uint32_t to)
{
	return from + (uint32_t)(rng_u64(rng) % (to - from + 1));
}

static struct run_area area_draw(const struct rng_seam *rng)
{
	struct run_area area;

	area.low = draw(rng, 0, POSITIONS - 1);
	area.high = draw(rng, area.low, POSITIONS - 1);
	area.first = draw(rng, 0, IDS - 1);
	area.last = area.first + draw(rng, 0, 80);
	if (area.last >= IDS)
		area.last = IDS - 1;
	return area;
}

static void busy_compare(const struct model *model, uint32_t low, uint32_t high)
{
	uint64_t busy[RUN_SET_WORDS_MAX];

	run_set_busy(&model->taken, spread(low), spread(high), busy);
	for (uint32_t n = 0; n < IDS; n++) {
		struct run_area area = {
			.low = low, .high = high, .first = n, .last = n
		};

		assert_int_equal(busy[n / 64] >> n % 64 & 1,
				 !model_is_free(model, &area));
	}
}

static void step(struct model *model, const struct rng_seam *rng)
{
	struct run_area area = area_draw(rng);
	struct run_area there = spread_area(&area);
	bool is_free = model_is_free(model, &area);

	assert_int_equal(run_set_is_free(&model->taken, &there), is_free);
	if (is_free && model->count < AREAS) {
		run_set_add(&model->taken, &there);
		model_set(model, &area, true);
		model->areas[model->count++] = area;
	} else if (model->count > 0) {
		uint32_t i = draw(rng, 0, model->count - 1);

		there = spread_area(&model->areas[i]);
		run_set_remove(&model->taken, &there);
		model_set(model, &model->areas[i], false);
		model->areas[i] = model->areas[--model->count];
	}
	busy_compare(model, area.low, area.high);
}

static void random_areas_are_as_in_a_table(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct sim_rng source;
		struct rng_seam rng;
		struct model *model = calloc(1, sizeof(*model));

		sim_rng_init(&source, seed);
		rng = sim_rng_seam(&source);
		run_set_init(&model->taken, IDS);
		for (int i = 0; i < ROUNDS; i++)
			step(model, &rng);
		while (model->count > 0) {
			struct run_area area =
				spread_area(&model->areas[--model->count]);

			run_set_remove(&model->taken, &area);
		}
		/* Nothing of what was there takes memory. */
		assert_null(model->taken.root);
		run_set_fini(&model->taken);
		free(model);
	}
}

static void all_of_a_plane_can_be_busy(void **state)
{
	const struct run_area all = { .high = RUN_SET_POSITIONS - 1,
				      .last = RUN_SET_IDS_MAX - 1 };
	const struct run_area corner = { RUN_SET_POSITIONS - 1,
					 RUN_SET_POSITIONS - 1,
					 RUN_SET_IDS_MAX - 1,
					 RUN_SET_IDS_MAX - 1 };
	struct run_set set;

	run_set_init(&set, RUN_SET_IDS_MAX);
	assert_true(run_set_is_free(&set, &all));
	run_set_add(&set, &all);
	assert_false(run_set_is_free(&set, &corner));
	run_set_remove(&set, &all);
	assert_true(run_set_is_free(&set, &all));
	run_set_add(&set, &corner);
	assert_false(run_set_is_free(&set, &all));
	run_set_fini(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_areas_are_as_in_a_table),
		cmocka_unit_test(all_of_a_plane_can_be_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
