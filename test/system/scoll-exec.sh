#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A command on forty nodes, through the tree and back: real daemons, each a
# member of the collectives with an address of its own, and a real munged.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

count=40
place=$FAIRLEAD_CLUSTER/exec
exec_folder=$build/examples/scoll-exec
# Addresses of this machine that no other test has.
net=127.$((1 + $$ / 250 % 99)).$(($$ % 250))
export HFI_NO_BACKTRACE=1 IPATH_NO_BACKTRACE=1 FI_TCP_IFACE=lo
export LSAN_OPTIONS=print_suppressions=0:suppressions=$root/src/scoll/transport/test/tcp.supp
export SCOLL_EXEC_SOCKET=$place/n1.sock SCOLL_EXEC_MUNGE_SOCKET=$place/munge/socket
PATH=$exec_folder:$PATH
declare -A front=()
holder=

# --- the nodes ---

make_nodes() {
	mkdir -p "$place/log" "$place/munge" "$place/home"
	chmod 755 "$FAIRLEAD_CLUSTER" "$place" "$place/munge" "$place/home"
	head -c 32 /dev/urandom >"$place/key"
	head -c 128 /dev/urandom >"$place/munge/key"
	chmod 600 "$place/key" "$place/munge/key"
	local i
	for ((i = 1; i <= count; i++)); do
		write_config "$i" false
	done
	write_config "$count" true
	if $is_root; then
		make_users
	fi
}

write_config() { # write_config NODE WHETHER-ROOT-MAY
	cat >"$place/n$1.conf" <<-END
		key = "$place/key"
		socket = "$place/n$1.sock"
		munge_socket = "$place/munge/socket"
		munged_is_shared = true
		root = $2
		timeout_max = 1000
		gossip_ms = 500
		nodes "n[1-$count]" { addresses = "$net.[1-$count]" }
	END
}

# Accounts that this story's daemons see, and nobody else.
make_users() {
	local user uid
	{
		cat /etc/passwd
		for user in "alice $alice" "bob $bob"; do
			read -r user uid <<<"$user"
			echo "$user:x:$uid:$uid::$place/home/$user:/bin/sh"
		done
		echo "carol:x:2006:2006::/nonexistent:/usr/sbin/nologin"
	} >"$place/passwd"
	{
		cat /etc/group
		echo "alice:x:$alice:"
		echo "bob:x:$bob:"
		echo 'ship:x:3001:alice'
	} >"$place/group"
	mkdir -m 700 "$place/home/alice" "$place/home/bob"
	echo 'for bob alone' >"$place/home/bob/secret"
	chown -R $alice:$alice "$place/home/alice"
	chown -R $bob:$bob "$place/home/bob"
	# shellcheck disable=SC2016  # expanded by the shell inside
	unshare --mount sh -c 'mount --bind "$1/passwd" /etc/passwd &&
		mount --bind "$1/group" /etc/group && : >"$1/is-mounted" && exec sleep infinity' \
		sh "$place" 3>&- &
	holder=$!
	wait_for test -e "$place/is-mounted"
}

start_node() { # start_node NUMBER [NAME]
	local inside=()
	[ -z "$holder" ] || inside=(nsenter --mount="/proc/$holder/ns/mnt" --)
	"${inside[@]}" "$exec_folder/scoll-execd" --verbose --config \
		"$place/n$1.conf" --node "${2:-n$1}" >>"$place/log/n$1.log" 2>&1 3>&- &
	front[$1]=$!
}

# All know that all live.
all_meet() {
	local i
	for ((i = 1; i <= count; i++)); do
		scoll-exec --socket "$place/n$i.sock" --list |
			grep -qx "alive n\[1-$count\]" || return 1
	done
}

cluster_down() {
	local i
	for i in "${!front[@]}"; do
		kill "${front[$i]}" 2>/dev/null || true
	done
	for i in "${!front[@]}"; do
		wait_for is_gone "${front[$i]}"
	done
	[ -z "$holder" ] || kill "$holder"
	kill "$munged"
	wait_for is_gone "$munged"
	# Launchers and supervisors end with what they are there for.
	wait_for no_process "$place"
	rm -rf "$FAIRLEAD_CLUSTER"
}

no_process() { # no_process TEXT: is in no command line
	! grep -lszF -f <(printf '%s' "$1") /proc/[0-9]*/cmdline >/dev/null
}

are() { # are COUNT COMMAND-LINE: so many processes have exactly this one
	[ "$(pgrep -fxc -- "$2" || true)" -eq "$1" ]
}

as() { # as UID COMMAND...
	local uid=$1
	shift
	if $is_root; then
		setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
	else
		"$@"
	fi
}

# scoll-exec, in the background: $client, its output in $work/out and err.
begin() { # begin ARGUMENT...
	local user=()
	! $is_root || user=(setpriv --reuid "$alice" --regid "$alice"
		--clear-groups)
	"${user[@]}" scoll-exec "$@" >"$work/out" 2>"$work/err" 3>&- &
	client=$!
}

end() { # its end; like expect_exit, without expecting
	code=0
	wait "$client" || code=$?
	out=$(<"$work/out")
	err=$(<"$work/err")
}

$is_root || getent passwd "$(id -u)" >/dev/null ||
	skip_all 'commands run as who has an account, and this user has none'
make_nodes
command -v munged >/dev/null || PATH=$PATH:/usr/sbin
munged --foreground --key-file="$place/munge/key" --socket="$place/munge/socket" \
	--pid-file="$place/munge/pid" --log-file="$place/munge/log" \
	--seed-file="$place/munge/seed" >"$place/log/munged.log" 2>&1 3>&- &
munged=$!
wait_for munge --no-input --socket="$place/munge/socket"
for ((i = 1; i <= count; i++)); do
	start_node $i
done
WAIT_S=120 wait_for all_meet
all="n[1-$count]"

# --- what it is for ---

it 'equal results are one line with all nodes'
expect_exit 0 as $alice scoll-exec "$all" -- echo 'all is well'
is "$out" "$all: all is well" 'output'
is "$err" '' 'errors'

it 'each other result has its own nodes'
# shellcheck disable=SC2016  # expanded on the nodes
expect_exit 0 as $alice scoll-exec "$all" -- \
	'case $SCOLL_EXEC_NODE in n3|n17) echo odd;; *) echo even; echo more;; esac'
is "$out" "n[1-2,4-16,18-$count]: even
n[1-2,4-16,18-$count]: more
n[3,17]: odd" 'output'

it 'exit codes and signals are named'
# shellcheck disable=SC2016
odd='case $SCOLL_EXEC_NODE in n5|n9) exit 3;; n6) exit 1;; n7) kill -9 $$;; esac'
expect_exit 0 as $alice scoll-exec "$all" -- "$odd"
is "$err" 'scoll-exec: n[5,9]: exited with exit code 3
scoll-exec: n6: exited with exit code 1
scoll-exec: n7: killed by signal 9 (KILL)' 'remarks'

it 'a command that does not fit in a message travels as bulk data'
long="echo $(head -c 12000 /dev/urandom | base64 -w 0)"
expect_exit 0 as $alice scoll-exec "$all" "$long | wc -c"
is "$out" "$all: 16001" 'output'

it 'answers that all differ, and are large, arrive whole'
# shellcheck disable=SC2016
expect_exit 0 as $alice scoll-exec "$all" 'yes "from $SCOLL_EXEC_NODE" | head -n 6000'
is "$(uniq -c <<<"$out" | awk '{ print $1, $2, $4 }')" \
	"$(seq 1 $count | sed 's/.*/6000 n&: n&/')" 'lines of each'

it 'answers that come one after the other are all there'
# shellcheck disable=SC2016
expect_exit 0 as $alice scoll-exec "$all" 'sleep ${SCOLL_EXEC_NODE#n}e-1; echo $SCOLL_EXEC_NODE'
is "$out" "$(seq 1 $count | sed 's/.*/n&: n&/')" 'lines'

it 'a part of the nodes is asked, in any order, through any daemon'
expect_exit 0 as $alice scoll-exec --socket "$place/n9.sock" 'n[38,2-4,40]' true
# shellcheck disable=SC2016
expect_exit 0 as $alice scoll-exec --socket "$place/n9.sock" n38,n2 'echo $SCOLL_EXEC_NODE'
is "$out" 'n38: n38
n2: n2' 'output'

# --- as whom ---

if $is_root; then
	it 'a command runs as its caller, with the groups and home of the account'
	expect_exit 0 as $alice scoll-exec "$all" 'id; pwd; umask'
	is "$out" "$all: uid=$alice(alice) gid=$alice(alice) groups=$alice(alice),3001(ship)
$all: $place/home/alice
$all: 0022" 'output'

	it 'nobody reads what is another user'"'"'s'
	expect_exit 0 as $alice scoll-exec "$all" "cat $place/home/bob/secret"
	expect_out 'Permission denied'
	lacks "$out" 'for bob' 'what was read'
	expect_error "$count\\]: exited with exit code 1"
	expect_exit 0 as $bob scoll-exec "$all" "cat $place/home/bob/secret"
	is "$out" "$all: for bob alone" 'his own'

	it 'root is refused where the configuration does not allow it'
	expect_exit 77 scoll-exec n1 id
	expect_error "root's commands are not run here"
	expect_exit 1 scoll-exec --socket "$place/n$count.sock" "n[39-40]" 'id -u'
	is "$out" 'n40: 0' 'where it is allowed'
	expect_error "n39: not run: root's commands are not run here"

	it 'who has no account or no shell on a node runs nothing'
	expect_exit 77 as 2005 scoll-exec n1 id
	expect_error 'no user 2005'
	expect_exit 0 as 2006 scoll-exec n1 id
	lacks "$out" uid= 'what was run'
	expect_error 'n1: exited with exit code 1'

	it 'no process of a daemon that is on the network has privileges'
	for i in 1 $count; do
		is "$(ps -o user= -p "${front[$i]}")" nobody 'user of the front'
		is "$(awk '/^CapEff/ { print $2 }' "/proc/${front[$i]}/status")" \
			0000000000000000 'capabilities'
	done
fi

it 'a command gets a clean environment, no input and no descriptors'
expect_exit 0 as $alice env EVIL=1 LD_PRELOAD= scoll-exec 'n[1-2]' \
	'env | cut -d= -f1 | grep -vE "^(PWD|OLDPWD|SHLVL|_)$" | sort | xargs; cat; ls /proc/self/fd | xargs'
is "$out" 'n[1-2]: HOME LOGNAME PATH SCOLL_EXEC_NODE SHELL USER
n[1-2]: 0 1 2 3' 'output' # 3 is the one of ls

# --- bad input ---

it 'bad input is refused with a reason'
for bad in 'n[ true' 'n1,n1 true' '-t 0 n1 true' '-t x n1 true' '-t 90000 n1 true' \
	'n99 true' '--colour n1 true' 'n1' '-- true' '' '-t 5000 n1 true'; do
	# shellcheck disable=SC2086  # a list of words is meant
	expect_exit 2 as $alice scoll-exec $bad
	expect_error 'scoll-exec: '
done
expect_exit 75 scoll-exec --socket "$work/nowhere" n1 true
expect_error 'No such file'

it 'messages of a liar are refused, and have nothing run'
liar=$root/test/system/exec-liar.py
reader=$(id -u)
expect_exit 0 as $alice "$liar" "$SCOLL_EXEC_SOCKET" "$SCOLL_EXEC_MUNGE_SOCKET" \
	"$reader" "$place/home/alice/made"
if $is_root; then
	# A credential of Bob's that Alice has found.
	"$liar" order "touch $place/home/bob/made" |
		as $bob munge --socket="$SCOLL_EXEC_MUNGE_SOCKET" --restrict-uid=0 \
			>"$work/found"
	expect_exit 0 as $alice "$liar" "$SCOLL_EXEC_SOCKET" found "$work/found" EPERM
fi
is "$(find "$place/home" -name made)" '' 'what was made'

it 'a credential that munged has seen before is refused, unless it is known to be shared'
sed 's/^munged_is_shared.*//; s/n\[1-40\]/n1/; s/\[1-40\]/200/; s/n1.sock/solo.sock/' \
	"$place/n1.conf" >"$place/nsolo.conf"
start_node solo n1
wait_for scoll-exec --socket "$place/solo.sock" --list
expect_exit 0 as $alice scoll-exec --socket "$place/solo.sock" n1 echo alone
is "$out" 'n1: alone' 'output'
"$liar" order "touch $place/made" |
	munge --socket="$SCOLL_EXEC_MUNGE_SOCKET" --restrict-uid="$reader" >"$work/found"
unmunge --socket="$SCOLL_EXEC_MUNGE_SOCKET" <"$work/found" >/dev/null
chmod 644 "$work/found"
expect_exit 0 "$liar" "$place/solo.sock" found "$work/found" EKEYREJECTED

it 'text of a command cannot do anything to a terminal'
expect_exit 0 as $alice scoll-exec 'n[1-2]' 'printf "\\033[2J\\233x\\r\\n"'
is "$out" 'n[1-2]: \x1b[2J\x9bx\x0d' 'made visible'

it 'what is too much output is cut, and said to be'
expect_exit 0 as $alice scoll-exec "$all" 'yes | head -c 1000000 | tr -d "\n"'
is "$(wc -c <<<"${out#*: }")" 65537 'bytes'
expect_error "$count\\]: output truncated"

# --- time, and who goes away ---

# A tree of processes with a number of their own: one in another session, one
# that has stopped itself, and what the shell waits for.
tree() { # tree NUMBER
	echo "setsid sleep $1 & sh -c 'kill -STOP \$\$; : $1' & sleep $1"
}

grown() { # grown NUMBER: on each node
	are $((2 * count)) "sleep $1" && are $count "sh -c kill -STOP .*: $1"
}

it 'a command whose time is over is killed with all that came of it'
number=91$$
expect_exit 1 as $alice scoll-exec --timeout 2 "$all" "$(tree "$number")"
expect_error "$count\\]: timed out, and was killed"
no_process "$number"

it 'a caller who interrupts it has it killed everywhere, and is told so'
number=92$$
begin "$all" "$(tree "$number")"
wait_for grown "$number"
kill -TERM "$client" # INT is ignored by what a script has in the background
end
is "$code" 1 'exit code'
expect_error "$count\\]: stopped, and was killed"
no_process "$number"

it 'a caller who dies has it killed, too'
number=93$$
begin "$all" "$(tree "$number")"
wait_for grown "$number"
kill -9 "$client"
wait_for no_process "$number"

# --- nodes that die ---

# Each node waits until the lock is let go.
: >"$place/go"
hold="echo held; exec flock -s $place/go echo done"
held="flock -s $place/go echo done"
exec {lock}<"$place/go"

it 'a relay that is killed in the middle is named, and no result of others is lost'
flock -x "$lock"
begin "$all" "$hold"
wait_for are $count "$held"
kill_pid "${front[17]}" # n18 to n32 are below it
wait_for are $((count - 1)) "$held"
flock -u "$lock"
end
is "$code" 1 'exit code'
is "$out" "n[1-16,18-$count]: held
n[1-16,18-$count]: done" 'output'
has "$err" '^scoll-exec: n17: not reached: (is dead|could not be sent)$' 'errors'

it 'while a node is dead the others answer, and it is named'
expect_exit 1 as $alice scoll-exec "$all" echo here
is "$out" "n[1-16,18-$count]: here" 'output'
has "$err" '^scoll-exec: n17: not reached: (is dead|could not be sent)$' 'errors'

it 'a command ends when the daemon that was asked dies'
flock -x "$lock"
begin --socket "$place/n2.sock" 'n[2-16]' "$hold"
wait_for are 15 "$held"
kill_pid "${front[2]}"
wait_for are 0 "$held"
flock -u "$lock"
end
is "$code" 75 'exit code'

it 'nodes that come back take part again'
start_node 17
start_node 2
WAIT_S=120 wait_for all_meet
expect_exit 0 as $alice scoll-exec --all echo back
is "$out" "$all: back" 'output'

story_end
