#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A fabric manager whose answers are hostile: too large, too deep, of wrong types,
# no UTF-8, endless, redirected, compressed, slow. Jobs run without multicast
# trees and learn why, the manager stays small, and no error has a secret.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/fm-lib.sh
. "$(dirname "$0")/fm-lib.sh"

[ -x /usr/bin/openssl ] || skip_all 'there is no /usr/bin/openssl to make a certificate'
address=10.203.255.254
url=https://$address:7444
cluster_up -N 2 -s softfm,slingshot.hwcoll_wait=1,slingshot.hwcoll_timeout=1
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
	-subj /CN=hostile -addext "subjectAltName=IP:$address" \
	-keyout "$work/key.pem" -out "$work/ca.pem" 2>/dev/null
chmod 644 "$work/ca.pem"
echo none none >"$work/mode"
on manager -- "$root/test/system/hostile-fm.py" $address 7444 "$work/ca.pem" "$work/key.pem" \
	"$work/mode" 3>&- >"$work/requests" 2>&1 &
echo "$url/token" >"$dir/auth/endpoint"
sed -i "s,hwcoll_url = .*,hwcoll_url = \"$url\",; s,hwcoll_ca = .*,hwcoll_ca = \"$work/ca.pem\"," \
	"$config"
fairlead manager reconfigure

is_reached() {
	json_of status | gojq -e '.external.slingshot | .connection == "up" and .debts == 0'
}

well() { # all requests are answered well from now on
	echo none none >"$work/mode"
	wait_for is_reached
}

peak() { # KiB of the manager
	awk '$1 == "VmHWM:" { print $2 }' "/proc/$(pid_of manager)/status"
}

is_small() { # what a sanitizer keeps is not the manager's
	[ "$sanitizer" != none ] || [ "$(peak)" -lt $((before + 32768)) ] ||
		fail "the manager grew from $before to $(peak) KiB"
}

refused() { # refused ANSWER REGEX: of a creation; the job runs and says why
	wait_for is_reached
	echo "create $1" >"$work/mode"
	expect_exit 0 fairlead run -N 2 -o hwcoll=on -- env
	expect_error "no external reservation: .*$2"
	lacks "$out" FI_CXI_ "the environment, with $1"
	lacks "$err" 's3cret|LD_PRELOAD' "the error of $1"
	lacks "$err" $'[\001-\010\013-\037\177]' "the error of $1"
	is "$(iconv -f UTF-8 -t UTF-8 <<<"$err")" "$err" "the error of $1"
	well
}

it 'a job has its reservation from a fabric manager that answers well'
well
expect_exit 0 fairlead run -N 2 -o hwcoll=on -- env
expect_out FI_CXI_COLL_MCAST_TOKEN=SESSION-s3cret
before=$(peak)

it 'sizes: endless bodies, headers, lines and interim answers are bounded'
for answer in endless-body endless-headers endless-header endless-status endless-continue; do
	refused $answer 'answer is too large'
done
refused huge-length ''
refused deep 'has no usable sessionToken'
is_small

it 'types and texts: what is no token of printable characters is none'
for answer in types number utf8 line empty no-content twice; do
	refused $answer 'has no usable sessionToken'
done

it 'an error shows nothing of a server that could change a screen, and no secret'
refused screen 'answers 400: .\[2J.gone hint: forged$'
lacks "$err" '^hint' 'the error'
refused echo 'answers 400$'

it 'redirects are not followed, and compressed answers stay so'
refused redirect 'answers 302'
refused redirect-file 'answers 307'
lacks "$(<"$work/requests")" followed 'the requests'
refused bomb 'has no usable sessionToken'
is_small

it 'slow, silent and broken answers delay a job by no more than its wait'
for answer in slow silent short no-http; do
	refused $answer 'not given within 1[0-9]{3} ms'
done

it 'hostile lists and access tokens: the same'
for mode in 'list utf8' 'list endless-body' 'list bomb' 'token line' 'token endless-headers' \
	'delete endless-header'; do
	echo "$mode" >"$work/mode"
	restart manager
	expect_exit 0 fairlead run -N 2 -o hwcoll=on -- true
	lacks "$err" s3cret "the error of $mode"
	well
done

it 'the clean-up of a step ends in time, and says why without the token'
cleaner=$FAIRLEAD_STEP_CLEAN
for mode in patch\ {endless-body,endless-headers,endless-header,slow,short,no-http,redirect,echo} \
	get\ {endless-body,bomb,deep,types,trees,many,utf8,silent,echo}; do
	echo "$mode" >"$work/mode"
	run on manager -- env FI_CXI_COLL_JOB_ID=emulated-g1 FI_CXI_COLL_JOB_STEP_ID=0 \
		FI_CXI_COLL_MCAST_TOKEN=T0KEN-s3cret FI_CXI_COLL_FABRIC_MGR_CACERT="$work/ca.pem" \
		FI_CXI_COLL_FABRIC_MGR_URL=$url/fabric/collectives/multicasts \
		timeout 10 "$cleaner" --timeout 2
	[ "$code" -le 1 ] || fail "exit $code with $mode: $err"
	[ "$(wc -l <<<"$err")" -eq 1 ] || fail "more than one error with $mode"
	lacks "$err" s3cret "the error of $mode"
	case $mode in
	*endless-body) expect_error 'is too large' ;;
	*deep | *types | *utf8) expect_error 'has no steps' ;;
	*trees | *many) expect_error 'has an address that is none' ;;
	esac
done
lacks "$(<"$work/requests")" '^delete .*/multicasts' 'the requests'

it 'a server without a certificate of the configured authority gets no request'
well
sed -i "s,hwcoll_ca = .*,hwcoll_ca = \"$dir/ca.pem\"," "$config"
count=$(wc -l <"$work/requests")
fairlead manager reconfigure
expect_exit 0 fairlead run -N 2 -o hwcoll=on -- true
expect_error 'no external reservation: .*certificate'
is "$(wc -l <"$work/requests")" "$count" 'requests'

it 'a name server that does not answer stops neither the manager nor a job'
well_url=$(sed -n 's/.*hwcoll_url = "\(.*\)"/\1/p' "$config")
printf 'nameserver %s\noptions timeout:10 attempts:3\n' $address >"$work/resolv.conf"
on manager -- python3 -c "import socket, time
name_server = socket.socket(type=socket.SOCK_DGRAM)
name_server.bind(('$address', 53))
time.sleep(1e6)" 3>&- &
sed -i 's,hwcoll_url = .*,hwcoll_url = "https://fabric.example:7444",' "$config"
echo https://fabric.example:7444/token >"$dir/auth/endpoint"
wait_for on manager -- grep -q ':0035 ' /proc/net/udp
kill_manager
start_by_hand manager unshare --mount sh -c 'mount --bind "$1" /etc/resolv.conf &&
	exec "$2" --role manager --config "$3"' sh "$work/resolv.conf" "$fairleadd" "$config"
wait_for timeout 10 fairlead status
failures=0
while [ "$failures" -lt 3 ]; do
	expect_exit 0 timeout 10 fairlead status --json
	failures=$(gojq .external.slingshot.results.failed <<<"$out")
done
wait_for all_are_up
expect_exit 0 timeout 10 fairlead run -N 2 -o hwcoll=on -- true
expect_error 'no answer from https://fabric.example:7444'
stop_by_hand manager
echo "$url/token" >"$dir/auth/endpoint"
sed -i "s,hwcoll_url = .*,hwcoll_url = \"$well_url\"," "$config"
restart manager

it 'no secret is in a log'
lacks "$(cat "$FAIRLEAD_CLUSTER"/*/log/*.log)" s3cret 'the logs'

story_end
