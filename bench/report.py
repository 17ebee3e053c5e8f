# SPDX-License-Identifier: BSD-3-Clause
"""Tables on the terminal, and plots by gnuplot."""
import os
import shutil
import statistics
import subprocess


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


PLOT = """set terminal svg size 800,480 font 'sans,12' background '#ffffff'
set output '{path}'
set datafile separator tab
set xtics noenhanced
set title '{title}'
set key outside top right
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.8 border -1
set boxwidth 0.9
set grid ytics
set yrange [*<0:0<*]
set xlabel '{xlabel}'
set ylabel '{ylabel}'
"""


LABEL_MAX = 12  # longer ones would run into each other


def plot(folder, name, title, xlabel, ylabel, head, rows):
    """Groups of bars: a row is a group's label and its values."""
    if shutil.which("gnuplot") is None:
        print("  (no plot: gnuplot is not installed)")
        return
    if not os.access(folder, os.W_OK):
        print(f"  (no plot: '{folder}' cannot be written)")
        return
    path = os.path.join(folder, name + ".svg")
    lines = ["\t".join([str(row[0])] + [f"{value:.6g}" for value in row[1:]])
             for row in rows]
    script = PLOT.format(path=path, title=title, xlabel=xlabel, ylabel=ylabel)
    if max(len(str(row[0])) for row in rows) > LABEL_MAX:
        script += "set xtics rotate by -25\n"
    script += "$data << END\n" + "\n".join(lines) + "\nEND\n"
    script += "plot " + ", ".join(
        f"$data using {i + 2}:xtic(1) title '{label}'"
        for i, label in enumerate(head)) + "\n"
    subprocess.run(["gnuplot"], input=script, text=True, check=True)
    print(f"\n  plot: {path}")
