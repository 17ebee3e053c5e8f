# SPDX-License-Identifier: BSD-3-Clause
"""Tables on the terminal, and plots by gnuplot."""
import os
import shutil
import statistics
import subprocess
import sys
import time


def best_and_median(values, is_more_better=True):
    best = max(values) if is_more_better else min(values)
    return best, statistics.median(values)


def number(value):
    """Three digits that mean something."""
    if isinstance(value, str):
        return value
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


class Style:
    """How tables are printed; bench/run says it once."""

    is_markdown = False
    begun = time.monotonic()


def progress(text):
    """What is measured now, beside the tables: for who waits."""
    print(f"[{time.monotonic() - Style.begun:5.0f} s] {text}", file=sys.stderr,
          flush=True)


def table(title, head, rows):
    """The first column is text, the others are numbers or text."""
    cells = [list(head)] + [[row[0]] + [number(cell) for cell in row[1:]]
                            for row in rows]
    if Style.is_markdown:
        cells.insert(1, ["---"] + ["--:"] * (len(head) - 1))
        print(f"\n{title}:\n\n" + "\n".join(
            "| " + " | ".join(map(str, row)) + " |" for row in cells))
        return
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    print(f"\n{title}\n")
    for i, row in enumerate(cells):
        print("  " + row[0].ljust(widths[0]) + "".join(
            "  " + cell.rjust(width)
            for cell, width in zip(row[1:], widths[1:])))
        if i == 0:
            print("  " + "  ".join("-" * width for width in widths))


COMMON = """set terminal svg size 800,480 font 'sans,12' background '#ffffff'
set datafile separator tab
set title '{title}'
set key outside top right
set grid ytics
set xlabel '{xlabel}'
set ylabel '{ylabel}'
"""
BARS = """set xtics noenhanced
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.8 border -1
set boxwidth 0.9
set yrange [*<0:0<*]
"""


LABEL_MAX = 12  # longer ones would run into each other


def draw(folder, name, script):
    """By gnuplot, to NAME.svg; where it cannot be, it is said."""
    if shutil.which("gnuplot") is None:
        print("  (no plot: gnuplot is not installed)")
        return
    if not os.access(folder, os.W_OK):
        print(f"  (no plot: '{folder}' cannot be written)")
        return
    path = os.path.join(folder, name + ".svg")
    script = f"set output '{path}'\n" + script
    subprocess.run(["gnuplot"], input=script, text=True, check=True)
    print(f"\n  plot: {path}")


def plot(folder, name, title, xlabel, ylabel, head, rows):
    """Groups of bars: a row is a group's label and its values."""
    lines = ["\t".join([str(row[0])] + [f"{value:.6g}" for value in row[1:]])
             for row in rows]
    script = COMMON.format(title=title, xlabel=xlabel, ylabel=ylabel) + BARS
    if max(len(str(row[0])) for row in rows) > LABEL_MAX:
        script += "set xtics rotate by -25\n"
    script += "$data << END\n" + "\n".join(lines) + "\nEND\n"
    script += "plot " + ", ".join(
        f"$data using {i + 2}:xtic(1) title '{label}'"
        for i, label in enumerate(head)) + "\n"
    draw(folder, name, script)


def curves(folder, name, title, xlabel, ylabel, lines, is_linear=False):
    """Lines over a logarithmic axis: a label each, and its points."""
    script = COMMON.format(title=title, xlabel=xlabel, ylabel=ylabel) + (
        "set logscale x\nset format x '%.0s%c'\n")
    script += "set yrange [0:*]\n" if is_linear else "set logscale y\n"
    for i, (_, points) in enumerate(lines):
        script += f"$data{i} << END\n" + "".join(
            f"{x}\t{y:.6g}\n" for x, y in points) + "END\n"
    script += "plot " + ", ".join(
        f"$data{i} with linespoints pt 7 ps 0.5 lw 2 title '{label}'"
        for i, (label, _) in enumerate(lines)) + "\n"
    draw(folder, name, script)
