# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The verbs of stories with a real Flux: a broker in each emulated node, as a
# system instance has them, with our plugins. The instance's owner is a plain
# user, and so are its jobs, but for those of flux-guests.sh: others' need
# flux-security, which this Flux may not have. Included after lib.sh.
# shellcheck disable=SC2034,SC2154  # stories use what is set here; lib.sh sets

alice=$(id -u games) # with a name, and without rights
flux=$work/flux
plugins=$build/src/lanes/plugin/flux
flux_nodes=()
flux_access=() # lines of [access]
flux_munged=   # of a story that has one
declare -A brokers=() # by node

need_flux() {
	need_root 'a Flux of a plain user, in nodes of a cluster'
	need_others
	command -v flux >/dev/null || skip_all 'no flux here'
	anybody flux --version >/dev/null ||
		skip_all 'only its owner can run this flux'
	[ "$sanitizer" = none ] ||
		skip_all 'flux does not load plugins that are built with a sanitizer'
	[ -e "$plugins/fairlead-jobtap.so" ] ||
		skip_all 'the plugins of Flux are not built'
}

# --- the brokers ---

write_flux_conf() { # write_flux_conf COUNT [LINE...]
	local count=$1 i
	shift
	{
		echo '[bootstrap]'
		echo "curve_cert = '$flux/cert'"
		echo 'default_port = 8050'
		echo 'default_bind = "tcp://*:%p"'
		echo 'hosts = ['
		for ((i = 0; i < count; i++)); do
			echo "{ host = 'n$i', connect = 'tcp://10.203.0.$((i + 1)):8050' },"
		done
		echo ']'
		printf '%s\n' '[access]' 'allow-root-owner = true' "${flux_access[@]}"
		echo '[resource]'
		echo 'noverify = true'
		echo '[[resource.config]]'
		echo "hosts = 'n[0-$((count - 1))]'"
		echo "cores = '${flux_cores:-0-1}'"
		printf '%s\n' '[job-manager]' \
			"plugins = [ { load = '$plugins/fairlead-jobtap.so' } ]" \
			'[fairlead]' "manager = '$FAIRLEAD_SOCKET'"
		[ $# -eq 0 ] || printf '%s\n' "$@"
	} >"$flux/conf/flux.toml"
	chmod 644 "$flux/conf/flux.toml"
}

# shellcheck disable=SC2120
write_shell_conf() { # write_shell_conf [LUA]: more members of the plugin's conf
	cat >"$flux/shell.lua" <<-END
		plugin.load { file = "*.so", conf = {} }
		plugin.load { file = "$plugins/fairlead-shell.so", conf = { ${1:-} } }
		if shell.options.userrc then source (shell.options.userrc) end
	END
	chmod 644 "$flux/shell.lua"
}

broker_up() { # broker_up NODE...
	local node
	for node; do
		on "$node" --user "$alice" -- env HOME="$flux" flux broker \
			--config-path="$flux/conf" -Srundir="$flux/run.$node" \
			-Sstatedir="$flux/state.$node" \
			-Slocal-uri="local://$flux/run.$node/local" \
			-Slog-stderr-level=6 -Slog-stderr-mode=local \
			-Sbroker.rc2_none -Sbroker.quorum="${#flux_nodes[@]}" \
			-Sconf.shell_initrc="$flux/shell.lua" \
			>>"$flux/log/$node" 2>&1 3>&- &
		wait_for pgrep -P $!
		brokers[$node]=$(pgrep -P $!)
	done
}

fx() { # fx COMMAND...: flux, as the owner, on the first node, bounded
	on n0 --user "$alice" -- env HOME="$flux" timeout 120 flux "$@"
}

is_flux_up() {
	[ "$(fx resource list -s free,allocated -no '{nnodes}' | awk '{n += $1} END {print n}')" -eq "${#flux_nodes[@]}" ]
}

flux_up() { # flux_up COUNT [LINE OF [fairlead]...]: after cluster_up
	local count=$1 i
	export FLUX_URI=local://$flux/run.n0/local
	mkdir -p "$flux/conf" "$flux/log"
	flux keygen "$flux/cert"
	write_flux_conf "$@"
	write_shell_conf ''
	for ((i = 0; i < count; i++)); do
		flux_nodes+=("n$i")
		mkdir -p "$flux/state.n$i" "$flux/run.n$i"
		chmod 700 "$flux/state.n$i"
		: >"$flux/log/n$i"
	done
	chown -R "$alice" "$flux"
	printf 'flux {\n    commands = "%s"\n}\n' "$(dirname "$(command -v flux)")" >>"$config"
	sed -i "/submitter \"run\"/a submitter \"flux\" { uid = $alice }" "$config"
	expect_exit 0 fairlead manager reconfigure
	broker_up "${flux_nodes[@]}"
	wait_for is_flux_up
}

# As systemd would end it: the first broker, and the others with it.
flux_stop() {
	local node
	fx shutdown --quiet
	for node in "${flux_nodes[@]}"; do
		wait_for is_gone "${brokers[$node]}"
	done
}

flux_kill() { # kill -9 of every broker
	local node
	for node in "${flux_nodes[@]}"; do
		kill -9 "${brokers[$node]}"
	done
	for node in "${flux_nodes[@]}"; do
		wait_for is_gone "${brokers[$node]}"
	done
}

# What Flux knows by now is on disk, also of one that is killed.
flux_sync() {
	fx kvs put --sync story=1
}

# Called at the end, also of a story that fails.
job_manager_down() {
	local pid
	for pid in "${brokers[@]}" ${flux_munged:+"$flux_munged"}; do
		kill -9 "$pid" 2>/dev/null || true
	done
}

# --- what Flux says ---

plain() { # plain JOB: its id as keys have it
	flux job id --to=f58plain "$1"
}

entries() { # entries JOB: its eventlog, as JSON, an entry a line
	fx job eventlog --format=json "$1"
}

# Names of events, in a line, from the begin of RUN on. When the job's shells
# have released its nodes is not ours to say.
flux_events() { # flux_events JOB
	entries "$1" | gojq -rs '[.[].name] | .[index("alloc") + 1:] - ["release"] | join(" ")'
}

flux_event() { # flux_event JOB NAME: the contexts of these events, as an array
	entries "$1" | gojq -s --arg n "$2" '[.[] | select(.name == $n).context]'
}

expect_flux_events() { # expect_flux_events JOB NAME...
	local id=$1
	shift
	is "$(flux_events "$id")" "$*" "events of $id"
}

note_of() { # note_of JOB: why it was refused
	flux_event "$1" exception | gojq -r '.[] | select(.type == "cray-slingshot").note'
}

await_event() { # await_event JOB NAME
	fx job wait-event -q -t 60 "$1" "$2"
}

is_idle() { # is_idle COUNT: so many nodes are free
	[ "$(fx resource list -s free -no '{nnodes}')" -eq "$1" ]
}

drained() { # "NODES REASON", a line each
	fx resource drain -no '{nodelist} {reason}'
}

has_drained() { # has_drained PATTERN: it may follow the end of the job
	drained | grep -qE "$1"
}

submit() { # submit [OPTION...] COMMAND...: into $job
	expect_exit 0 fx submit "$@"
	job=$out
}

# What a task knows of its lane; fails where its service does not let it in.
cat >"$work/show" <<'END'
#!/bin/sh
[ -z "$SLINGSHOT_VNIS" ] || cxi-lni >/dev/null || exit 1
echo "$(hostname) vnis=$SLINGSHOT_VNIS service=$SLINGSHOT_SVC_IDS device=$SLINGSHOT_DEVICES tcs=$SLINGSHOT_TCS"
END
cat >"$work/hold" <<END
#!/bin/sh
$work/show && exec sleep inf
END
chmod 755 "$work/show" "$work/hold"

shown() { # shown FILE COUNT: so many tasks have printed their lane
	[ "$(grep -c 'vnis=' "$1")" -eq "$2" ]
}

hold() { # hold TASKS [OPTION...]: a job that stays, in $job; $out: of its tasks
	local tasks=$1
	shift
	: >"$work/hold.out"
	chown "$alice" "$work/hold.out"
	submit -n "$tasks" --output="$work/hold.out" "$@" "$work/hold"
	wait_for shown "$work/hold.out" "$tasks"
	out=$(<"$work/hold.out")
}

# Nothing of any job is there: nodes idle, pool whole.
expect_flux_clean() { # expect_flux_clean IDLE
	wait_for is_idle "$1"
	wait_for is_pool held ''
	wait_for is_pool quarantined ''
	expect_clean
	is "$(fx jobtap query fairlead-jobtap.so | gojq -c .jobs)" '{}' \
		'lanes that the plugin knows of'
}
