"""A bar chart of rows that were measured side by side, as SVG. The axis of times is logarithmic: a ratio is a distance."""

import html
import math

WIDTH, NAMES, RATIOS, ROW, BAR, TOP = 860, 190, 70, 34, 12, 74
COLOURS = {"troupe": "#2f6f4f", "pytorch": "#c96a3c"}
LABELS = {"troupe": "Troupe", "pytorch": "PyTorch"}


def time_text(us):
    for limit, unit, factor in [(1e3, "us", 1), (1e6, "ms", 1e-3), (math.inf, "s", 1e-6)]:
        if us < limit:
            return f"{us * factor:.3g} {unit}"


def ratio_text(ratio):
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"


def draw(title, results):
    """`results`: dictionaries with `name`, `troupe` and `pytorch` (microseconds) and `ratio`."""
    low = math.floor(math.log10(min(min(row["troupe"], row["pytorch"]) for row in results)))
    high = math.ceil(math.log10(max(max(row["troupe"], row["pytorch"]) for row in results)))
    left, right, bottom = NAMES, WIDTH - RATIOS, TOP + ROW * len(results)

    def x_of(us):
        return left + (right - left) * (math.log10(us) - low) / (high - low)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 16}" font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="white"/>', f'<text x="12" y="24" font-size="16">{html.escape(title)}</text>']
    x = 12
    for side, label in LABELS.items():
        parts += [f'<rect x="{x}" y="36" width="12" height="12" fill="{COLOURS[side]}"/>', f'<text x="{x + 18}" y="46">{label}</text>']
        x += 90
    parts += [f'<text x="{x}" y="46" fill="#555">shorter is faster</text>',
              f'<text x="{WIDTH - 12}" y="{TOP - 6}" text-anchor="end" fill="#555">ratio</text>']
    for power in range(low, high + 1):
        at = x_of(10**power)
        parts += [f'<line x1="{at:.1f}" y1="{TOP}" x2="{at:.1f}" y2="{bottom}" stroke="#ddd"/>',
                  f'<text x="{at:.1f}" y="{TOP - 6}" text-anchor="middle" fill="#555">{time_text(10**power)}</text>']
    for index, row in enumerate(results):
        y = TOP + index * ROW + 4
        parts += [f'<text x="{NAMES - 8}" y="{y + 16}" text-anchor="end">{html.escape(row["name"].split("/", 1)[1])}</text>',
                  f'<text x="{WIDTH - 12}" y="{y + 16}" text-anchor="end">{ratio_text(row["ratio"])}</text>']
        for place, side in enumerate(LABELS):
            end, top = x_of(row[side]), y + place * (BAR + 1)
            parts.append(f'<rect x="{left}" y="{top}" width="{max(1, end - left):.1f}" height="{BAR}" fill="{COLOURS[side]}"/>')
            inside = end > right - 60
            parts.append(f'<text x="{end - 4 if inside else end + 4:.1f}" y="{top + 10}" font-size="10" '
                         f'text-anchor="{"end" if inside else "start"}" fill="{"white" if inside else "#333"}">{time_text(row[side])}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
