/* SPDX-License-Identifier: BSD-3-Clause */
#include "link/test/model.h"

#include <string.h>

static size_t some_size(struct sim_rng *rng, bool is_tagged)
{
	uint64_t what = sim_rng_below(rng, 20);

	if (what < 2)
		return sim_rng_below(rng, 8);
	if (what < 12)
		return 8 + sim_rng_below(rng, 200);
	if (what < 15)
		return 200 + sim_rng_below(rng, 4000);
	if (what < 18 || !is_tagged)
		return 4000 + sim_rng_below(rng, MODEL_LARGE - 4000);
	return MODEL_LARGE + sim_rng_below(rng, MODEL_LARGEST - MODEL_LARGE);
}

void model_init(struct model *model, uint64_t seed)
{
	struct sim_rng rng;

	sim_rng_init(&rng, seed);
	model->take_count = 0;
	for (uint32_t i = 0; i < MODEL_MESSAGES; i++) {
		struct model_message *m = &model->messages[i];
		*m = (struct model_message){
			.is_tagged = sim_rng_below(&rng, 4) != 0,
			.has_data = sim_rng_below(&rng, 8) == 0,
			.offset = 8 * sim_rng_below(&rng, MODEL_LARGEST / 8),
		};
		if (m->is_tagged)
			m->tag = sim_rng_below(&rng, 4) | sim_rng_below(&rng, 2)
								  << 62;
		m->size = some_size(&rng, m->is_tagged);
	}
}

uint32_t model_find(const struct model *model, const struct model_take *take)
{
	for (uint32_t i = 0; i < MODEL_MESSAGES && !take->is_nobody_s; i++) {
		const struct model_message *m = &model->messages[i];
		if (!m->is_taken && m->is_tagged == take->is_tagged &&
		    ((m->tag ^ take->tag) & ~take->ignore) == 0)
			return i;
	}
	return MODEL_NONE;
}

static void take_many(struct model *model, struct model_take *take)
{
	size_t left = take->room;
	uint32_t i;

	while (left >= MODEL_LARGE &&
	       (i = model_find(model, take)) != MODEL_NONE) {
		model->messages[i].is_taken = true;
		take->next[take->count++] = i;
		left -= model->messages[i].size;
	}
}

/* Returns whether it could have what it takes. */
static bool take_messages(struct model *model, struct model_take *take)
{
	if (take->kind == TAKE_MANY) {
		take->count = 0;
		take_many(model, take);
		return true;
	}
	if (take->kind == TAKE_ONE)
		take->first = model_find(model, take);
	take->count = take->first != MODEL_NONE;
	if (take->count == 0)
		return true;
	if (model->messages[take->first].is_taken)
		return false;
	model->messages[take->first].is_taken = true;
	return true;
}

struct model_take *model_add(struct model *model, const struct model_take *take)
{
	struct model_take *added = &model->takes[model->take_count++];

	*added = *take;
	take_messages(model, added);
	return added;
}

bool model_renew(struct model *model,
		 bool (*has_ended)(const struct model_take *take))
{
	for (uint32_t i = 0; i < MODEL_MESSAGES; i++)
		model->messages[i].is_taken = false;
	for (uint32_t i = 0; i < model->take_count; i++) {
		struct model_take *take = &model->takes[i];
		uint32_t first = take->first;
		if (take->is_out)
			continue;
		if (!take_messages(model, take))
			return false;
		if (take->kind == TAKE_ONE && has_ended(take) &&
		    take->first != first)
			return false;
	}
	return true;
}
