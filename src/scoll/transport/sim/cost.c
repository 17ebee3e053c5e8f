/* SPDX-License-Identifier: BSD-3-Clause */
/* Dice, and what a transfer costs. Dice for what cannot happen are not cast. */
#include "scoll/transport/sim/internal.h"

bool transport_sim_chance(struct transport_sim *sim,
			  enum transport_sim_fault fault)
{
	uint32_t ppm = sim->options.faults_ppm[fault];

	if (ppm == 0 || !sim_rng_chance(&sim->rng, ppm))
		return false;
	transport_sim_count(sim, fault);
	return true;
}

void transport_sim_count(struct transport_sim *sim,
			 enum transport_sim_fault fault)
{
	sim->stats.faults[fault]++;
}

uint64_t transport_sim_held_ns(struct transport_sim *sim)
{
	return sim_rng_below(&sim->rng, sim->options.held_ns + 1);
}

uint64_t transport_sim_latency_ns(struct transport_sim *sim,
				  const struct transport_sim_port *from,
				  const struct transport_sim_port *to)
{
	const struct transport_sim_costs *costs = &sim->options.costs;
	uint64_t latency_ns = costs->latency_ns;

	if (from->slow > 1 || to->slow > 1)
		latency_ns *= from->slow > to->slow ? from->slow : to->slow;
	if (costs->jitter_ppm > 0)
		latency_ns += sim_rng_below(
			&sim->rng,
			latency_ns * costs->jitter_ppm / 1000000 + 1);
	return latency_ns;
}

uint64_t transport_sim_bytes_ns(const struct transport_sim *sim, size_t size)
{
	return size * sim->options.costs.byte_ps / 1000;
}

uint64_t transport_sim_leave_ns(struct transport_sim_port *port, size_t size)
{
	struct transport_sim *sim = port->sim;
	uint64_t now_ns = transport_timeline_now_ns(sim->timeline);
	uint64_t leave_ns =
		port->send_free_ns > now_ns ? port->send_free_ns : now_ns;

	port->send_free_ns = leave_ns + sim->options.costs.gap_ns * port->slow +
			     transport_sim_bytes_ns(sim, size);
	return leave_ns;
}

bool transport_sim_reaches(const struct transport_sim_port *from,
			   const struct transport_sim_port *to)
{
	return to->is_open && !to->is_severed && from->side == to->side;
}
