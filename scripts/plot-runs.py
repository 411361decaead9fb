#!/usr/bin/env python3
"""Draws the learning curves of runs as one SVG: scripts/plot-runs.py OUT.svg RUN_DIR [RUN_DIR ...]

Reads metrics.jsonl of each run; needs nothing but Python's standard library.
"""

import json
import pathlib
import sys

COLOURS = ["#2563eb", "#d97706", "#059669", "#9333ea", "#dc2626", "#475569"]
WIDTH, HEIGHT = 470, 270
LEFT, TOP, RIGHT, BOTTOM = 58, 40, 16, 34
SMOOTH = 9


def read(run):
    """Steps and held-out evaluations of a run."""
    steps, evaluations = [], []
    for line in (pathlib.Path(run) / "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        (evaluations if "eval_reward" in record else steps).append(record)
    return steps, sorted(evaluations, key=lambda record: record["step"])


def smoothed(points):
    """Centred moving average."""
    half = SMOOTH // 2
    window = [points[max(0, at - half) : at + half + 1] for at in range(len(points))]
    return [(point[0], sum(y for _, y in near) / len(near)) for point, near in zip(points, window)]


def nice(top):
    """A step for about five grid lines up to `top`."""
    power = 10 ** (len(str(int(max(top, 1)))) - 1) if top >= 1 else 0.01
    for factor in (0.1, 0.2, 0.5, 1, 2, 5, 10):
        if top / (power * factor) <= 6:
            return power * factor
    return power * 10


class Panel:
    """One plot: curves over steps, with horizontal reference lines."""

    def __init__(self, title, last, top, percent=False):
        self.last, self.top, self.percent = max(last, 1), top or 1, percent
        self.parts = [f'<text x="{LEFT}" y="22" class="title">{title}</text>']
        self.axes()

    def at(self, step, value):
        x = LEFT + step / self.last * (WIDTH - LEFT - RIGHT)
        return x, HEIGHT - BOTTOM - min(value, self.top) / self.top * (HEIGHT - TOP - BOTTOM)

    def axes(self):
        grid, value = nice(self.top), 0.0
        while value <= self.top * 1.001:
            _, y = self.at(0, value)
            label = f"{value:.0%}" if self.percent else (f"{value:,.0f}" if self.top >= 10 else f"{value:.2f}")
            self.parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" class="grid"/>')
            self.parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" class="label" text-anchor="end">{label}</text>')
            value += grid
        for share in range(5):
            step = self.last * share / 4
            x, y = self.at(step, 0)
            first = "" if share else "step "
            self.parts.append(f'<text x="{x:.1f}" y="{y + 18:.1f}" class="label" text-anchor="middle">{first}{step:.0f}</text>')

    def reference(self, value, words):
        x, y = self.at(self.last, value)
        self.parts.append(f'<path d="M{LEFT} {y:.1f}H{x}" class="reference"/>')
        self.parts.append(f'<text x="{LEFT + 4}" y="{y - 4:.1f}" class="label">{words}</text>')

    def curve(self, points, colour, marks=False, dashed=False):
        if not points:
            return
        places = [self.at(*point) for point in points]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        dash = ' stroke-dasharray="5 3"' if dashed else ""
        self.parts.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.8"{dash}/>')
        if marks:
            self.parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]

    def interval(self, step, low, high, colour):
        (x, bottom), (_, top) = self.at(step, low), self.at(step, high)
        self.parts.append(f'<path d="M{x:.1f} {bottom:.1f}V{top:.1f}" stroke="{colour}" stroke-width="1.2" opacity=".6"/>')


def main(out, *runs):
    read_runs = [(pathlib.Path(run).name, *read(run)) for run in runs]
    for run, (_, steps, _) in zip(runs, read_runs):
        if not any("game/mean_score" in step for step in steps):
            sys.exit(f"error: {run}: found no step with scores of games; grpo-2048 report draws runs on tasks")
    last = max(steps[-1]["step"] for _, steps, _ in read_runs)
    held_out = "eval_game/mean_score"
    # A run may have been told to evaluate nothing (train.eval_samples = 0).
    highest = max((record[held_out] for _, _, evaluations in read_runs for record in evaluations), default=0)
    for _, steps, _ in read_runs:
        trained = [(step["step"], step["game/mean_score"]) for step in steps if "game/mean_score" in step]
        highest = max(highest, *(score for _, score in smoothed(trained)))
    entropy = max(step["entropy"] for _, steps, _ in read_runs for step in steps if "entropy" in step)
    panels = [
        Panel("mean score of its programs, held-out games", last, highest * 1.12),
        Panel("mean score of its programs, training games", last, highest * 1.12),
        Panel("programs that play to the end (line), distinct (dashed)", last, 1.0, percent=True),
        Panel("entropy, nats a token", last, entropy * 1.1),
    ]
    for value, words in ((2324, "fixed cycle"), (14815, "competent one-move player")):
        if value < highest * 1.12:
            panels[0].reference(value, words)
    for (_, steps, evaluations), colour in zip(read_runs, COLOURS):
        panels[0].curve([(record["step"], record[held_out]) for record in evaluations], colour, marks=True)
        for record in evaluations:
            ends = [record.get(f"{held_out}_{end}") for end in ("low", "high")]
            if None not in ends:
                panels[0].interval(record["step"], *ends, colour)
        curves = {"game/mean_score": [], "game/frac_played": [], "programs/frac_unique": [], "entropy": []}
        for step in steps:
            for key, points in curves.items():
                if key in step:
                    points.append((step["step"], step[key]))
        panels[1].curve(smoothed(curves["game/mean_score"]), colour)
        panels[2].curve(smoothed(curves["game/frac_played"]), colour)
        panels[2].curve(smoothed(curves["programs/frac_unique"]), colour, dashed=True)
        panels[3].curve(smoothed(curves["entropy"]), colour)
    legend = "".join(
        f'<circle cx="{LEFT + 130 * at}" cy="{2 * HEIGHT + 16}" r="4" fill="{colour}"/>'
        f'<text x="{LEFT + 130 * at + 9}" y="{2 * HEIGHT + 20}" class="label">{name}</text>'
        for at, ((name, _, _), colour) in enumerate(zip(read_runs, COLOURS))
    )
    placed = "".join(
        f'<g transform="translate({WIDTH * (at % 2)} {HEIGHT * (at // 2)})">{"".join(panel.parts)}</g>'
        for at, panel in enumerate(panels)
    )
    style = (
        "text{font-family:system-ui,sans-serif;fill:#334155}.title{font-size:14px;font-weight:600}"
        ".label{font-size:11px}.grid{stroke:#e2e8f0}.reference{stroke:#94a3b8;stroke-dasharray:3 3}"
    )
    pathlib.Path(out).write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {2 * HEIGHT + 34}" width="{2 * WIDTH}">'
        f'<style>{style}</style><rect width="100%" height="100%" fill="#fff"/>{placed}{legend}</svg>\n'
    )


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
