#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Configurations as people write them: every error at once, each with its line,
# and nothing is started or changed.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

cluster_up -N 2 --nics 1 -s slingshot.vni_pool=1024-1031
bad=$work/bad.conf

it 'all errors are reported at once, each with its line'
cat >"$bad" <<END
cluster = "a b"
manager {
    nodes = "n[0-1],n1"
    listen = "somewhere"
    apply_timeout = "-3"
    speed = "high"
    interconnect = "slingshoot"
    submitter "a/b" { uid = 5 }
    submitter "twin" { uid = 7 }
    submitter "other" { uid = 7 }
}
driver "slingshot" {
    vni_pool = "1-20,70000"
    default_vnis = 5
    colour = "red"
    max_txqs = "many"
}
driver "elan9" {
}
node {
    socket = "relative/path"
}
log { level = "loud" }
END
for role in '' '--role manager'; do
	# shellcheck disable=SC2086  # a list of words is meant
	expect_exit 1 "$fairleadd" --check-config $role --config "$bad"
	for line in '1: .*a b' '3: .*n1.*twice' '4: .*somewhere' '5: .*-3' \
		'6: .*speed' '7: .*slingshoot' '8: .*a/b' '10: .*twin' \
		'13: .*vni_pool' '14: .*default_vnis' "15: .*'colour'" \
		'16: .*max_txqs' '18: .*elan9' '21: .*relative/path' '23: .*loud'; do
		expect_error "bad.conf:$line"
	done
done

it 'text that is no configuration says where it stops making sense'
printf 'manager {\n    nodes = "n0"\n' >"$bad"
expect_exit 1 "$fairleadd" --check-config --config "$bad"
expect_error 'bad.conf:1: section is not closed'
head -c 4096 /dev/urandom >"$bad"
expect_exit 1 "$fairleadd" --check-config --config "$bad"
expect_error 'bad.conf'
head -c 1048577 /dev/zero | tr '\0' '#' >"$bad"
expect_exit 1 "$fairleadd" --check-config --config "$bad"
expect_error 'over 1 MiB'

it 'a file that is not there, or that others can write, is said'
expect_exit 1 "$fairleadd" --check-config --config "$work/none.conf"
expect_error 'none.conf.*No such file'
cp "$config" "$bad"
chmod 666 "$bad"
expect_exit 1 "$fairleadd" --check-config --role manager --config "$bad"
expect_error 'can be written by others'
rm "$bad"

it 'a manager with a bad configuration does not start'
sed 's/vni_pool = .*/vni_pool = "10"/' "$config" >"$bad"
expect_exit 1 on manager -- "$fairleadd" --role manager --config "$bad"
expect_error 'bad.conf:[0-9]+: .*vni_pool.*VNI 10'

it 'a running one keeps the old one, whole'
before=$(json_of pools)
cp "$config" "$work/good.conf"
sed -i 's/vni_pool = .*/vni_pool = "2000-2001"\n    default_vnis = "9"/' "$config"
expect_exit 1 fairlead manager reconfigure
expect_error 'fairlead.conf:[0-9]+: .*default_vnis'
is "$(json_of pools)" "$before" 'pools'
kill -HUP "$(pid_of manager)"
wait_for grep -q 'default_vnis' "$FAIRLEAD_CLUSTER/manager/log/fairleadd.log"
is "$(json_of pools)" "$before" 'pools'
cat "$work/good.conf" >"$config"
chmod 666 "$config"
expect_exit 1 fairlead manager reconfigure
expect_error 'can be written by others'
chmod 644 "$config"
expect_exit 0 fairlead manager reconfigure

it 'keys that others can read, or that are another'"'"'s, are refused'
chmod 644 "$FAIRLEAD_CLUSTER/manager.key"
expect_exit 1 on manager -- "$fairleadd" --check-config --role manager --config "$config"
expect_error 'manager.key.*(mode 0644|chmod 600)'
chmod 600 "$FAIRLEAD_CLUSTER/manager.key"
expect_exit 0 on manager -- "$fairleadd" --check-config --role manager --config "$config"

it 'a damaged key file is refused, and none of it is quoted'
sed 's/^key 1 active .*/key 1 active zz1122/' "$FAIRLEAD_CLUSTER/manager.key" >"$work/bad.key"
chmod 600 "$work/bad.key"
expect_exit 1 fairlead key show "$work/bad.key"
expect_error 'bad.key.*line 3'
lacks "$err" 'zz1122' 'the error'

it 'wrong command lines are refused before anything is done'
expect_exit 2 "$fairleadd" --role king
expect_exit 2 "$fairleadd"
expect_exit 2 "$fairleadd" --role manager --waive n0
expect_exit 2 "$fairleadd" --role manager extra
for daemon in "$fairleadd" "$softnic" "$build/src/elan/service/fairlead-rms"; do
	expect_exit 2 "$daemon" --ready-fd 999
	expect_error "'999' is no value for --ready-fd"
done
for command in '' frobnicate 'reserve a/b' 'reserve a/b --nodes n0 --colour red' \
	'apply' 'apply minus-one' 'release' 'release a/b/c/d' 'node drain' \
	'quarantine release vni' 'run' 'status extra' 'list --user'; do
	# shellcheck disable=SC2086
	expect_exit 2 fairlead $command
	expect_hint "'fairlead.*--help' shows what it takes"
done

story_end
