#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What libfabric's cxi provider says to a fabric manager, for the first member of
# a group: libfabric-coll.sh COMMAND..., with the job's variables.
#
#   join=MAC,MAC,..  make a group's tree; prints its address and root, or the
#                    prov_errno of the join
#   close[=ADDRESS]  close the group that was joined last, or this one
#   wait=COMMAND     run it, and go on
#   abort            end by SIGKILL: groups that are open keep their trees
#
# Exit code: of the last command, 0 or 1. Requests have 5 s each; 409 is tried
# again after 100 ms, without end.
set -u
export HOME=/ # gojq looks for ~/.jq, which may be somebody else's

MCAST_INUSE=2048 HWROOT_INUSE=2049 MCAST_INVALID=2050 HWROOT_INVALID=2051
CURL_FAILED=2052 SERVER_ERR=2054

url=${FI_CXI_COLL_FABRIC_MGR_URL:-}
shopt -s nocasematch
[[ $url =~ ^https?://. ]] || url=
shopt -u nocasematch
groups=()

verify() { # the option of curl for FI_CXI_COLL_FABRIC_MGR_CACERT
	local ca=${FI_CXI_COLL_FABRIC_MGR_CACERT:-no}
	if [ "$ca" = no ]; then
		echo --insecure
	elif [ "$ca" != yes ] && [ -d "$ca" ]; then
		echo "--capath $ca"
	elif [ "$ca" != yes ]; then
		[ -f "$ca" ] || exec sleep infinity # as the real one
		echo "--cacert $ca"
	fi
}

status='' body=''
ask() { # ask METHOD URL [BODY]: into $status and $body; 000: no answer
	local file
	file=$(mktemp)
	while :; do
		# shellcheck disable=SC2046  # an option and its value
		status=$(curl --silent --max-time 5 $(verify) --request "$1" --output "$file" \
			--write-out '%{http_code}' -H Expect: -H 'Accept: application/json' \
			-H 'Content-Type: application/json' -H 'charset: utf-8' \
			-H @<(printf 'Authorization: Bearer %s' "$FI_CXI_COLL_MCAST_TOKEN") ${3:+--data-binary "$3"} "$2") ||
			status=000
		[ "$status" = 409 ] || break
		sleep 0.1
	done
	body=$(<"$file")
	rm -f "$file"
}

# value FILTER: of the answer; nothing when it is no such JSON
value() {
	gojq -r "$1" <<<"$body" 2>/dev/null || :
}

# The 20 bits of a root of six octets, as a member's MAC; else nothing.
root_member() {
	sed -n 's/^00:00:00:0*\([0-9A-F]\):\([0-9A-F][0-9A-F]:[0-9A-F][0-9A-F]\)$/\1:\2/Ip' |
		tr a-f A-F
}

made() { # made MACS: of an answer 200 or 201; else $error
	local id root
	error=$MCAST_INVALID
	id=$(value '.mcastID | select(type == "number" and . == floor and . >= 0 and . < 8192)')
	[ -n "$id" ] || return
	root=$(value '.hwRoot | select(type == "string")' | root_member)
	error=$HWROOT_INVALID
	[[ -n $root && ",$1," == *",$root,"* ]] || return
	groups+=("$id")
	printf 'joined %s %s\n' "$id" "$root"
}

refusal() { # the prov_errno of any other status
	local message code=0
	case $status in
	400) echo $HWROOT_INUSE ;;
	507)
		message=$(value '.message | select(type == "string")')
		[[ $message != *:* ]] || code=${message%%:*}
		case ${code: -2} in
		01 | 02) echo $MCAST_INUSE ;;
		03) echo $HWROOT_INUSE ;;
		*) echo $SERVER_ERR ;;
		esac
		;;
	*) echo $SERVER_ERR ;;
	esac
}

join() {
	local text macs=\'${1//,/\',\'}\' error
	if [ -z "$url" ] || [ -z "${FI_CXI_COLL_JOB_ID+x}" ] || [ -z "${FI_CXI_COLL_MCAST_TOKEN+x}" ]; then
		echo "prov_errno $CURL_FAILED"
		return 1
	fi
	text="{'macs':[$macs],'vni': ${SLINGSHOT_VNIS%%,*},'timeout':${FI_CXI_COLL_TIMEOUT_USEC:-20000000},"
	text+="'jobID':'$FI_CXI_COLL_JOB_ID','jobStepID':'${FI_CXI_COLL_JOB_STEP_ID-(null)}'}"
	ask POST "$url" "${text//\'/\"}"
	case $status in
	200 | 201) made "$1" && return ;;
	*) error=$(refusal) ;;
	esac
	echo "prov_errno $error"
	return 1
}

close() { # close [ADDRESS]
	local id=${1:-${groups[-1]}}
	[ $# -eq 1 ] || unset 'groups[-1]'
	ask DELETE "$url/$id"
	case $status in
	200 | 201) echo "closed $id" ;;
	*)
		echo "prov_errno $CURL_FAILED"
		return 1
		;;
	esac
}

code=0
for command; do
	case $command in
	join=*) join "${command#*=}" ;;
	close) close ;;
	close=*) close "${command#*=}" ;;
	wait=*) eval "${command#*=}" ;;
	abort) kill -KILL $$ ;;
	*) echo "what is $command?" ;;
	esac
	code=$?
done
exit $code
