# SPDX-License-Identifier: BSD-3-Clause
"""Trees of the collectives: how long a broadcast takes, over the least that
any tree could take. Simulated, the same numbers on every machine."""
import manager
import report

NAME = "scoll_trees"
TREES = ["logp", "knomial", "kary", "ascending", "binomial", "flat"]
WRONG = ["logp_half", "logp_double"]


def ratios(result, names):
    return [result[name] / result["optimum"] for name in names]


def run(options):
    latencies = [1, 8] if options.is_smoke else [1, 2, 4, 8, 16, 32]
    counts = [10, 100] if options.is_smoke else [100, 1000, 10000, 100000]
    results = {
        (latency, count): manager.numbers([
            options.programs.scoll_trees, "--latency", str(latency),
            "--nodes", str(count)])
        for latency in latencies for count in counts}
    report.table("completion of a broadcast over the optimum T*, exact "
                 "(aims: logp 1.02, k-nomial 1.35)", [
        "l/o, nodes", "T* in o", "logp", "k-nomial", "K", "ascending",
        "k-ary", "K", "by rank", "binomial", "flat"],
        [[f"{latency}, {count:,}", one["optimum"], *ratios(one, ["logp"]),
          *ratios(one, ["knomial"]), f"{one['knomial_option']:.0f}",
          *ratios(one, ["ascending", "kary"]), f"{one['kary_option']:.0f}",
          *ratios(one, ["literal", "binomial", "flat"])]
         for (latency, count), one in results.items()])
    wrong = {point: ratios(one, ["logp_jitter", "logp_half",
                                 "logp_half_jitter", "logp_double",
                                 "logp_double_jitter"])
             for point, one in results.items()}
    report.table("logp, with 20 % jitter, and made for a wrong l/o, over T* "
                 "(aim with both: 1.25)", [
        "l/o, nodes", "jitter", "half l/o", "with jitter", "twice l/o",
        "with jitter"],
        [[f"{latency}, {count:,}", *row]
         for (latency, count), row in wrong.items()])
    both = [row[i] for row in wrong.values() for i in (2, 4)]
    met = sum(value <= 1.25 for value in both)
    print(f"\n  wrong l/o and jitter: mean {sum(both) / len(both):.3f}, worst "
          f"{max(both):.3f}, {met} of {len(both)} within 1.25")
    plotted = [name for name in TREES if name != "flat"]
    count = counts[-2]
    report.plot(options.folder, NAME + "_latency",
                f"broadcast to {count:,} nodes over the optimum",
                "latency over gap", "time / T*", plotted,
                [[latency, *ratios(results[latency, count], plotted)]
                 for latency in latencies])
    latency = 8
    report.plot(options.folder, NAME + "_nodes",
                f"broadcast at latency {latency} over the optimum",
                "nodes", "time / T*", plotted,
                [[f"{count:,}", *ratios(results[latency, count], plotted)]
                 for count in counts])
