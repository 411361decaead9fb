"""Builds the documents as a site in target/site/html, with llms.txt. Needs mkdocs-material (`make site` fetches it).

Documents keep the paths that they have in the repository, so that their links hold; a linked file that is no document goes along. A
link to nowhere, or to a heading that is not there, ends it with an error.
"""

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "target" / "site"
SOURCE = OUT / "source"
# The pages in their order: heading, then documents.
PAGES = {
    "Start": ["README.md", "docs/using.md", "docs/tasks.md", "docs/suites.md", "docs/games.md", "docs/turns.md", "docs/evolve.md", "docs/judge.md", "docs/protocols.md", "docs/audit.md", "docs/faq.md"],
    "Training": ["docs/algorithm.md", "docs/losses.md", "docs/runs.md", "docs/trackers.md", "docs/models.md", "docs/precision.md"],
    "Larger": ["docs/gpu.md", "docs/overlap.md", "docs/vllm.md", "docs/scale.md"],
    "From elsewhere": ["docs/trl.md", "python/README.md"],
    "Inside": ["CONTRIBUTING.md", "SECURITY.md", "AGENTS.md", "docs/sandbox.md", "sandbox/README.md", "sandbox/compiled/README.md", "crates/README.md", "docs/extending.md"],
    "Results": ["docs/results.md", "CHANGELOG.md"],
}
LINK = re.compile(r"(\]\()([^)#\s]+)(#[^)\s]*)?\)")
SETTINGS = """site_name: grpo-2048
docs_dir: source
site_dir: html
theme:
  name: material
  font: false
  palette:
    - {media: "(prefers-color-scheme: light)", scheme: default, primary: black}
    - {media: "(prefers-color-scheme: dark)", scheme: slate, primary: black}
plugins: [search]
extra_css: [extra.css]
markdown_extensions: [tables, fenced_code, pymdownx.highlight, {toc: {slugify: !!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}}}]
validation: {omitted_files: warn, absolute_links: warn, unrecognized_links: warn, anchors: warn}
nav:
"""


def shown(path):
    """The page's path: a README is the index of its folder."""
    return re.sub(r"README\.md$", "index.md", path)


def carry(path, pages):
    """Copies a document with its links turned to pages and files that go along."""
    text = (ROOT / path).read_text()
    folder = (ROOT / path).parent

    def turn(match):
        target = match[2]
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        file = (folder / target).resolve()
        name = file.relative_to(ROOT).as_posix()
        if file.is_dir() and f"{name}/README.md" in pages:
            target = f"{target.rstrip('/')}/README.md"
        elif file.is_file() and name not in pages:
            copy = SOURCE / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            # As text, so that browsers show it; documents that are no pages, too.
            ending = "" if file.suffix in {".png", ".svg"} else ".txt"
            shutil.copy(file, copy.with_name(copy.name + ending))
            target += ending
        return f"{match[1]}{shown(target)}{match[3] or ''})"

    page = SOURCE / shown(path)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(LINK.sub(turn, text))
    return text


def title(text):
    return next(line[2:].strip() for line in text.splitlines() if line.startswith("# "))


def summary(text):
    """The first sentence of the first paragraph, on a line."""
    for paragraph in text.split("\n\n"):
        if not paragraph.startswith(("#", "!", "|", "```", "-", "[!")) and paragraph.strip():
            words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
            return re.split(r"(?<=[.:]) ", words)[0]
    return ""


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    pages = [page for group in PAGES.values() for page in group]
    known = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")}
    if known - set(pages):
        sys.exit(f"error: {', '.join(sorted(known - set(pages)))}: in docs/ and in no part of PAGES in scripts/site.py")
    settings, index = SETTINGS, ["# grpo-2048", "", f"> {summary((ROOT / 'README.md').read_text())}"]
    for group, documents in PAGES.items():
        settings += f"  - {group}:\n"
        index += ["", f"## {group}", ""]
        for path in documents:
            text = carry(path, pages)
            settings += f"    - {title(text)!r}: {shown(path)}\n"
            index.append(f"- [{title(text)}]({path}.txt): {summary(text)}")
            # Each page as its text, for programs that read llms.txt.
            plain = SOURCE / f"{path}.txt"
            plain.parent.mkdir(parents=True, exist_ok=True)
            plain.write_text(text)
    (SOURCE / "llms.txt").write_text("\n".join(index) + "\n")
    # Lines of code of the documents have up to 130 characters.
    (SOURCE / "extra.css").write_text(".md-grid { max-width: 1560px; } .md-typeset pre { font-size: 0.72rem; }\n")
    (OUT / "mkdocs.yml").write_text(settings)
    # Strict: a warning is an error. Quietly it would count none.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(OUT / "mkdocs.yml")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stdout, done.stderr, sep="", file=sys.stderr)
    else:
        print(f"{OUT / 'html' / 'index.html'}: {len(pages)} pages")
    sys.exit(done.returncode)


main()
