#!/usr/bin/env python3
"""Makes the pictures of the README anew: scripts/pictures.py RUN_DIR [SECONDS]

docs/report.png is the report of RUN_DIR; docs/terminal.png is a terminal in which a run of the built-in model has trained for
SECONDS (60). Needs target/release/grpo-2048, Chromium, and `pip install pyte`, which understands what terminals are sent.
"""

import html
import os
import pathlib
import pty
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from fcntl import ioctl
from termios import TIOCSWINSZ

import pyte

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "target/release/grpo-2048"
ROWS, COLUMNS = 24, 104
TERMINAL = """<!doctype html><meta charset="utf-8"><style>
body { margin: 0; background: #23272e; color: #d7dae0; }
pre { margin: 0; padding: 14px; font: 15px/18px "DejaVu Sans Mono", monospace; }
</style><pre>%s</pre>"""


def picture(page, target, width, height, scale=1.0):
    """What Chromium shows of a page in a window of this size."""
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        sys.exit("no Chromium found: install one, or name it with CHROMIUM")
    with tempfile.TemporaryDirectory() as profile:
        arguments = [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}"]
        arguments += [f"--window-size={width},{height}", f"--force-device-scale-factor={scale}", "--virtual-time-budget=3000"]
        subprocess.run([*arguments, f"--screenshot={target}", f"file://{page}"], check=True, stderr=subprocess.DEVNULL)


def screen_after(seconds, directory):
    """The rows of a terminal in which a run has trained for so long."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(directory)
        os.environ.update(TERM="xterm", NO_COLOR="1")
        os.execv(PROGRAM, [str(PROGRAM), "train", "--steps", "200", "--output-dir", "runs/demo"])
    ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            stream.feed(os.read(terminal, 1 << 16))
    rows = [row.rstrip() for row in screen.display]
    os.kill(process, 9)
    os.waitpid(process, 0)
    while rows and not rows[-1]:
        rows.pop()
    return rows


def main():
    run = pathlib.Path(sys.argv[1]).resolve()
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 60
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        # A path that means the same to every reader.
        shutil.copytree(run, scratch / "runs/train-001", ignore=shutil.ignore_patterns("checkpoint-*", ".*"))
        subprocess.run([PROGRAM, "report", "runs/train-001", "--output", "report.html"], cwd=scratch, check=True)
        picture(scratch / "report.html", ROOT / "docs/report.png", 1280, 3300, 0.75)
        rows = screen_after(seconds, scratch)
        (scratch / "terminal.html").write_text(TERMINAL % html.escape("\n".join(rows)))
        picture(scratch / "terminal.html", ROOT / "docs/terminal.png", 980, 28 + 18 * len(rows))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main()
