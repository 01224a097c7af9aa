"""Runs the benchmark of scale and draws its curves: `draw.py <the benchmark> --svg FILE [--only nodes]`.

Prints the benchmark's lines as they come, then a table. Both axes are logarithmic: what costs the same for each item, however
many there are, is a level line.
"""

import argparse
import collections
import html
import json
import math
import pathlib
import subprocess

PANELS = {  # the first word of a curve: title, what is counted
    "nodes": ("A call to every node, per node", "nodes"),
    "in_flight": ("A call, so many in flight", "calls in flight"),
    "payload": ("A new tensor, per KiB", "KiB"),
    "references": ("References to one owner, each", "references"),
    "boundaries": ("A chain of calls and its backward pass, per boundary", "boundaries"),
    "parameters": ("Parameters of one owner, each", "parameters"),
}
COLOURS = ["#2f6f4f", "#c96a3c", "#3c66c9"]
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 430, 250, 58, 54, 36


def time_text(us):
    for limit, unit, factor in [(1, "ns", 1e3), (1e3, "us", 1), (1e6, "ms", 1e-3), (math.inf, "s", 1e-6)]:
        if us < limit:
            return f"{us * factor:.3g} {unit}"


def count_text(count):
    for size, unit in [(1_000_000, "M"), (1_000, "k")]:
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return str(count)


def panel(name, series, left, top):
    """One panel as SVG; `series`: for each curve its points (items, microseconds)."""
    title, unit = PANELS[name]
    points = [point for curve in series.values() for point in curve]
    x_low, x_high = (math.log10(f(x for x, _ in points)) for f in (min, max))
    y_low, y_high = math.floor(math.log10(min(y for _, y in points))), math.ceil(math.log10(max(y for _, y in points)))
    right, bottom = left + WIDTH - 14, top + HEIGHT - BOTTOM

    def place(x, y):
        across = (math.log10(x) - x_low) / (x_high - x_low or 1)
        return left + LEFT + (right - left - LEFT) * across, bottom - (bottom - top - TOP) * (math.log10(y) - y_low) / (y_high - y_low or 1)

    parts = [f'<text x="{left + 12}" y="{top + 20}" font-size="14">{html.escape(title)}</text>']
    at = left + 12
    for colour, curve in zip(COLOURS, series):
        parts += [f'<rect x="{at}" y="{top + 29}" width="10" height="10" fill="{colour}"/>',
                  f'<text x="{at + 14}" y="{top + 38}" fill="#333">{html.escape(curve.replace("_", " "))}</text>']
        at += 30 + 7 * len(curve)
    for power in range(y_low, y_high + 1):
        _, y = place(points[0][0], 10**power)
        parts += [f'<line x1="{left + LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="#ddd"/>',
                  f'<text x="{left + LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#555">{time_text(10.0**power)}</text>']
    for x in sorted({x for x, _ in points}):
        across, _ = place(x, points[0][1])
        parts.append(f'<text x="{across:.1f}" y="{bottom + 16}" text-anchor="middle" font-size="10" fill="#555">{count_text(x)}</text>')
    parts.append(f'<text x="{right}" y="{bottom + 29}" text-anchor="end" font-size="10" fill="#555">{html.escape(unit)}</text>')
    for colour, curve in zip(COLOURS, series.values()):
        line = " ".join("{:.1f},{:.1f}".format(*place(*point)) for point in curve)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += ['<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="{}"/>'.format(*place(*point), colour) for point in curve]
    return "\n".join(parts)


def draw(curves):
    rows = (len(curves) + 1) // 2
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {rows * HEIGHT}" font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="white"/>']
    parts += [panel(name, series, index % 2 * WIDTH, index // 2 * HEIGHT) for index, (name, series) in enumerate(curves.items())]
    return "\n".join([*parts, "</svg>"]) + "\n"


def print_table(curves):
    print("| curve | one item, when there are so many |\n|---|---|")
    for name, series in curves.items():
        for curve, points in series.items():
            print(f"| {name}, {curve.replace('_', ' ')} | {', '.join(f'{count_text(x)}: {time_text(y)}' for x, y in points)} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--svg", help="the file of a picture of the curves", required=True)
    parser.add_argument("--only", choices=list(PANELS))
    options = parser.parse_args()
    command = [options.program] + (["--only", options.only] if options.only else [])
    curves = collections.defaultdict(lambda: collections.defaultdict(list))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        for line in program.stdout:
            print(line, end="", flush=True)
            point = json.loads(line)
            _, name, curve, items = point["name"].split("/")
            curves[name][curve].append((int(items), point["median"]))
    if program.returncode != 0:
        raise SystemExit(program.returncode)
    print_table(curves)
    pathlib.Path(options.svg).write_text(draw(curves))


main()
