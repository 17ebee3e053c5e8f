# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What stories with MPI share. Included after lib.sh.
# shellcheck disable=SC2034,SC2154  # stories use what is set here; lib.sh sets the rest

# need_mpi PROGRAM: of tools; it is there, and what it needs
need_mpi() {
	need_root 'other users have no part in a cluster of a user'
	need_others
	[ -x /usr/sbin/nft ] || skip_all 'there is no /usr/sbin/nft (package nftables)'
	command -v mpirun.openmpi >/dev/null || skip_all 'there is no OpenMPI (package openmpi-bin)'
	[ -x "$tools/$1" ] ||
		skip_all "$1 was not built: there was no OpenMPI (package libopenmpi-dev)"
	# mpirun starts its daemons by it, as the job's owner and with its environment.
	cat >"$work/agent" <<-'END_AGENT'
		#!/bin/sh
		host=$1
		shift
		exec fairlead cluster exec --job "$MPI_JOB" "$host" -- env HOME=/tmp sh -c "$*"
	END_AGENT
	chmod 755 "$work/agent"
}

# Open MPI over the link provider, by the environment alone; that it takes
# something else is an error.
mpi_link=("FI_PROVIDER_PATH=$build/src/link" OMPI_MCA_pml=cm OMPI_MCA_mtl=ofi
	OMPI_MCA_mtl_ofi_provider_include=fairlead)

# mpi_run KEY HOSTS RANKS [NAME=VALUE...] PROGRAM...: in a job, with an environment.
# mpirun is where the manager is, and has no lane; its daemons talk to it by eth0.
mpi_run() {
	local key=$1 hosts=$2 ranks=$3 environment=()
	shift 3
	while [[ $1 == *=* ]]; do
		environment+=(-x "$1")
		shift
	done
	on manager -- env MPI_JOB="$key" mpirun.openmpi --allow-run-as-root --host "$hosts" -np "$ranks" \
		--oversubscribe --bind-to none --mca plm rsh --mca plm_rsh_agent "$work/agent" \
		--mca oob_tcp_if_include 10.203.0.0/16 "${environment[@]}" "$@"
}
