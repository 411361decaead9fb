"""Blocks of the documents, for tests that run their lines."""

import pathlib
import re

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]


def block(path, start):
    """The text of the block of a document of this checkout that begins so, without its fences."""
    text = (CHECKOUT / path).read_text(encoding="utf-8")
    # A fence of more backticks may have others inside.
    fenced = re.findall(r"^(```+)\w*\n(.*?)^\1$", text, re.S | re.M)
    found = [block for _, block in fenced if block.startswith(start)]
    assert len(found) == 1, f"{path}: {len(found)} blocks that begin with {start!r}"
    return found[0]
