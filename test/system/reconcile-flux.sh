#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# As reconcile.sh, with the list of jobs of a real Flux.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

need_root 'a Flux beside the daemons'
command -v flux >/dev/null || skip_all 'no flux here'
cluster_up -N 2 --nics 1

# An instance of Flux for as long as the story; its commands find it by FLUX_URI.
mkfifo "$work/uri" "$work/end"
flux start --test-size=1 sh -c "echo \$FLUX_URI >$work/uri; read line <$work/end" \
	>"$work/flux.log" 2>&1 3>&- &
flux_pid=$!
job_manager_down() { # called at the end, also of a story that fails
	kill "$flux_pid" 2>/dev/null || true
}
FLUX_URI=$(<"$work/uri")
export FLUX_URI
commands=$(dirname "$(command -v flux)")
{ cat "$config" && printf 'flux {\n\tcommands = "%s"\n}\n' "$commands"; } >"$work/flux.conf"

reconcile() { # reconcile [OPTION...]
	fairlead reconcile --flux --config "$work/flux.conf" "$@"
}

live() { # keys of live grants, in a line
	json_of list | gojq -r '[.jobs[] | select(.state == "active" or
		.state == "reserved").key] | sort | join(" ")'
}

is_flux_job() { # is_flux_job ID STATE
	[ "$(flux jobs -n -o '{state}' "$1")" = "$2" ]
}

it 'releases nothing while Flux has no job'
reserve flux/fzzz/0 n0 >"$work/grant"
expect_exit 1 reconcile
expect_error 'Flux lists no job at all'
is "$(live)" flux/fzzz/0 'live grants'

it 'keeps the grants of jobs that wait and run, and releases others'
running=$(flux job id --to=f58plain "$(flux submit sleep inf)")
waiting=$(flux job id --to=f58plain "$(flux submit --urgency=0 true)")
over=$(flux job id --to=f58plain "$(flux submit true)")
wait_for is_flux_job "$running" RUN
wait_for is_flux_job "$over" INACTIVE
for id in $running $waiting $over; do
	reserve "flux/$id/0" n1 >"$work/grant"
done
expect_exit 0 reconcile
expect_out "flux/$over/0 .*released$"
expect_out 'flux/fzzz/0 .*released$'
is "$(live | wc -w)" 2 'live grants'
has "$(live)" "flux/$running/0" 'live grants'
has "$(live)" "flux/$waiting/0" 'live grants'

it 'is refused within a job, whose jobs are others'
expect_exit 1 flux run flux start fairlead reconcile --flux --config "$work/flux.conf"
expect_error 'an instance of Flux within a job'
is "$(live | wc -w)" 2 'live grants'

it 'releases nothing while Flux is down'
flux cancel --all
echo end >"$work/end"
wait "$flux_pid"
expect_exit 75 reconcile --force
expect_error "flux' failed"
is "$(live | wc -w)" 2 'live grants'

story_end
