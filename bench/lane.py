# SPDX-License-Identifier: BSD-3-Clause
"""What lanes on plain Ethernet cost, between two nodes with a veth between
them: packets and streams through a lane, packets of others on the node, to
make a lane and to take it back, to look after lanes, and whether rates are
kept."""
import json
import os
import shutil
import statistics
import subprocess

import manager
import report

NAME = "lane"
US, MS, GBIT, MBIT = 1e-3, 1e-6, 1e-6, 1e-3
LEVELS = ["vxlan", "nft+bpf", "netns"]
LATENCY_AIM_US = 3
OTHERS_AIM_US = 0.5
STREAM_AIM = 0.9
BURST_AIM = 10
TEND_AIM_MS = 20
EXIT_SKIPPED = 77
LINK_MBIT = 1000
# Bytes on the link over bytes of TCP in them, where packets are full.
HEADERS_LANE = 1514 / 1398
HEADERS_NODE = 1514 / 1448

TITLES = {
    "vxlan": "VXLAN without rules", "nft+bpf": "nft and BPF",
    "netns": "namespace of the job, nft and BPF",
    "nft+bpf,4": "nft and BPF, 4 VNIs", "shaped": "nft, BPF and HTB",
    "script": "a script of ip, bridge and nft",
}


class Result:
    """The lists that the program prints, by what, who and lanes."""

    def __init__(self, options, *arguments):
        folder = os.path.join(options.work, f"{NAME}-{arguments[0]}")
        os.mkdir(folder)
        words = [options.programs.lane, arguments[0], folder, *arguments[1:]]
        done = subprocess.run([str(word) for word in words], text=True,
                              stdout=subprocess.PIPE, check=False)
        if done.returncode == EXIT_SKIPPED:
            raise manager.Skipped(done.stdout.strip())
        if done.returncode != 0:
            raise SystemExit(f"bench: failed: {' '.join(map(str, words))}")
        self.lists = json.loads(done.stdout)

    def get(self, what, who, lanes, scale):
        return [value * scale for value in self.lists[f"{what}/{who}/{lanes}"]]

    def cells(self, what, who, lanes, scale, is_more_better=False):
        return list(report.best_and_median(
            self.get(what, who, lanes, scale), is_more_better))

    def over(self, what, who, lanes, base, scale):
        """How much more than the other in the same round."""
        return statistics.median(
            one - other for one, other in zip(
                self.get(what, who, lanes, scale), self.get(*base, scale)))

    def ratio(self, what, who, lanes, base):
        return statistics.median(
            one / other for one, other in zip(
                self.get(what, who, lanes, 1), self.get(*base, 1)))


def lane_count(lanes):
    return f"{lanes} lane{'' if lanes == 1 else 's'}"


def latency(options, result, many):
    """Packets of 64 bytes through a lane."""
    bare = {kind: (f"node-{kind}", "bare", 0) for kind in ("udp", "tcp")}
    rows = [["veth", *result.cells(*bare["udp"], US), "",
             *result.cells(*bare["tcp"], US), "", ""]]
    plotted = []
    for level in LEVELS:
        for lanes in (1, many):
            row = [f"{TITLES[level]}, {lane_count(lanes)}"]
            for kind in ("udp", "tcp"):
                row += result.cells(f"lane-{kind}", level, lanes, US)
                row.append(result.over(f"lane-{kind}", level, lanes,
                                       bare[kind], US))
            row.append(f"<= {LATENCY_AIM_US}" if level == "nft+bpf" else "")
            rows.append(row)
        plotted.append([level] + [
            result.cells("lane-udp", level, lanes, US)[1]
            for lanes in (1, many)])
    report.table("64 bytes through a lane, us: UDP one way, TCP half of there "
                 "and back; sender and receiver are one thread", [
                     "path", "UDP best", "median", "over veth", "TCP best",
                     "median", "over veth", "aim, over veth"], rows)
    base = result.cells(*bare["udp"], US)[1]
    report.plot(options.folder, "lane_latency",
                "64 bytes through a lane, UDP one way, median", "", "us",
                ["1 lane", f"{many} lanes"], [["veth", base, base], *plotted])


def streams(result, many):
    bare = ("node-flow", "bare", 0)
    rows = [["veth", *result.cells(*bare, GBIT, True), "", ""]]
    for level in LEVELS:
        for lanes in (1, many):
            rows.append([f"{TITLES[level]}, {lane_count(lanes)}",
                         *result.cells("lane-flow", level, lanes, GBIT, True),
                         result.ratio("lane-flow", level, lanes, bare),
                         f">= {STREAM_AIM}"])
    report.table("one stream of TCP through a lane, Gbit/s; each node has a "
                 "processor", [
                     "path", "best", "median", "over veth", "aim"], rows)


def others(options, result, many):
    """Packets that have nothing to do with lanes, on a node that has some."""
    bare = {kind: (f"node-{kind}", "bare", 0) for kind in ("udp", "tcp")}
    rows = [["no driver", *result.cells(*bare["udp"], US), "",
             *result.cells(*bare["tcp"], US), "", ""]]
    plotted = []
    for level in LEVELS[1:]:
        counts = [lanes for lanes in (0, 1, many)
                  if f"node-udp/{level}/{lanes}" in result.lists]
        for lanes in counts:
            row = [f"{TITLES[level]}, {lane_count(lanes)}"]
            for kind in ("udp", "tcp"):
                row += result.cells(f"node-{kind}", level, lanes, US)
                row.append(result.over(f"node-{kind}", level, lanes,
                                       bare[kind], US))
            rows.append([*row, f"<= {OTHERS_AIM_US}"])
        if len(counts) == 3:
            plotted.append([level] + [result.over("node-udp", level, lanes,
                                                  bare["udp"], US)
                                      for lanes in counts])
    report.table("what all others on the node pay: 64 bytes over the veth "
                 "itself, us", [
                     "node", "UDP best", "median", "more", "TCP best",
                     "median", "more", "aim, more"], rows)
    report.plot(options.folder, "lane_others",
                "what others pay for 64 bytes over the veth, UDP one way", "",
                "us more", ["no lane", "1 lane", f"{many} lanes"], plotted)


def making(options, many):
    rounds = 3 if options.is_smoke else 51
    peer = os.path.join(os.path.dirname(os.path.realpath(__file__)),
                        "lane_peer")
    result = Result(options, "apply", many, rounds, peer)
    rows, plotted = [], []
    for who in ("nft+bpf", "nft+bpf,4", "shaped", "netns", "script"):
        medians = []
        for lanes in (0, many):
            row = [f"{TITLES[who]}, {lane_count(lanes)} there"]
            for what in ("apply", "revoke"):
                best, median = result.cells(what, who, lanes, MS)
                row += [best, median, 1e3 / median,
                        result.ratio(what, "script", lanes,
                                     (what, who, lanes))]
                medians.append(median)
            rows.append(row)
        plotted.append([who] + medians)
    report.table("to make a lane on one node, with one peer, and to take it "
                 "back, ms", [
                     "what", "apply best", "median", "a second",
                     "script over it", "revoke best", "median", "a second",
                     "script over it"], rows)
    report.plot(options.folder, "lane_making",
                "to make a lane and to take it back, median", "", "ms",
                ["apply, none there", "revoke, none there",
                 f"apply, {many} there", f"revoke, {many} there"], plotted)


def burst(options):
    """Many lanes of one node taken back, one by one and together."""
    lanes, rounds = (5, 1) if options.is_smoke else (100, 7)
    result = Result(options, "burst", lanes, rounds)
    rows = []
    for who in ("nft+bpf", "shaped"):
        row = [TITLES[who]]
        for what in ("one by one", "together"):
            best, median = result.cells(what, who, lanes, MS)
            row += [best, median, lanes * 1e3 / median]
        row.append(result.ratio("one by one", who, lanes,
                                ("together", who, lanes)))
        rows.append([*row, f">= {BURST_AIM}"])
    report.table(f"to take {lanes} lanes back on one node, ms", [
        "what", "one by one best", "median", "a second", "together best",
        "median", "a second", "one by one over it", "aim"], rows)


def tending(options):
    """Looking after lanes that nobody has touched, as each lease does."""
    many, more, rounds = (3, 5, 2) if options.is_smoke else (200, 500, 51)
    result = Result(options, "tend", many, more, rounds)
    rows = []
    for who in ("nft+bpf", "netns"):
        for lanes in (0, many, more):
            if f"tend/{who}/{lanes}" in result.lists:
                rows.append([f"{TITLES[who]}, {lane_count(lanes)}",
                             *result.cells("tend", who, lanes, MS),
                             f"<= {TEND_AIM_MS}"])
    report.table("to look after the lanes of a node, ms", [
        "node", "best", "median", "aim"], rows)


def aim(who):
    """Least and most Mbit/s on the link, or None."""
    if who.isdigit():
        return int(who), None
    if who.startswith("max"):
        return None, int(who[3:])
    return (LINK_MBIT / 10, None) if who == "rest" else (None, None)


CONTESTS = {
    "nothing-asked": ["lane"], "reserved-600": ["600"], "max-300": ["max300"],
    "600-200-rest": ["600", "200", "rest"],
    "600-200-lane-rest": ["600", "200", "lane", "rest"],
    "600-max300-rest": ["600", "max300", "rest"],
}
ASKED = {"600": "reserved 600", "200": "reserved 200", "max300": "max 300",
         "lane": "asks for nothing", "rest": "no lane"}


def rates(options):
    rounds, milliseconds = (1, 300) if options.is_smoke else (5, 3000)
    result = Result(options, "rates", rounds, milliseconds)
    rows = []
    for contest, flows in CONTESTS.items():
        for who in flows:
            values = result.get(contest, who, 4, MBIT)
            headers = HEADERS_NODE if who == "rest" else HEADERS_LANE
            least, most = aim(who)
            text = f">= {least:g}" if least else f"<= {most:g}" if most else ""
            together = " + ".join(ASKED[one] for one in flows if one != who)
            rows.append([f"{ASKED[who]}, beside: {together or 'nobody'}",
                         min(values), statistics.median(values), max(values),
                         statistics.median(values) * headers, text])
    report.table(f"streams of TCP at once over a link of {LINK_MBIT} Mbit/s "
                 "(HTB), Mbit/s", [
                     "who", "least", "median", "most",
                     "median with headers", "aim, with headers"], rows)


def run(options):
    if options.programs.lane is None:
        raise manager.Skipped("the driver `ethernet` is not built")
    for tool in ("ip", "bridge", "nft"):
        if shutil.which(tool) is None:
            raise manager.Skipped(f"{tool} is not installed")
    # Rounds of packets, and of streams; short ones, so that neighbours see
    # the same machine.
    many, packets, slices = 200, (101, 500), (11, 1000)
    if options.is_smoke:
        many, packets, slices = 3, (2, 50), (2, 20)
    result = Result(options, "traffic", many, *packets, *slices)
    latency(options, result, many)
    streams(result, many)
    others(options, result, many)
    making(options, many)
    burst(options)
    tending(options)
    rates(options)
