"""Calls a reward function for batches of completions, each in a fork of its own, so that nothing of a batch is left behind.

Reads a line of JSON for each batch, {"items": [..], "seconds": s}, and answers {"rewards": [..]} or {"lost": "why"}. Rewards are
texts, because JSON has neither nan nor infinities.
"""

import importlib
import importlib.util
import json
import os
import select
import signal
import sys
import time


def function(module, name):
    sys.path.insert(0, os.getcwd())
    if module.endswith(".py"):
        sys.path.insert(0, os.path.dirname(os.path.abspath(module)))
        spec = importlib.util.spec_from_file_location(os.path.basename(module)[:-3], module)
        found = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = found
        spec.loader.exec_module(found)
    else:
        found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def rewards(reward, items):
    columns = {key: [item[key] for item in items] for key in items[0]}
    prompts, completions = columns.pop("prompt"), columns.pop("completion")
    given = reward(prompts=prompts, completions=completions, **columns)
    if not hasattr(given, "__await__"):
        return given
    # As in TRL, a reward may be an `async def`, of which nothing has run yet.
    import asyncio

    return asyncio.run(awaited(given))


async def awaited(given):
    return await given


def raised(error):
    """What was raised, as far as it has a text."""
    try:
        words = f"it raised {type(error).__name__}: {error}"
    except BaseException:  # what a class of a completion says of itself may raise too
        words = f"it raised {type(error).__name__}"
    return words[:500].encode("utf-8", "replace").decode()


def child(reward, items, pipe, float=float, repr=repr, isinstance=isinstance, words=(str, bytes, bytearray), write=os.write, text=json.dumps):
    """Answers with names that are bound beforehand: a completion that runs here may have replaced those that everybody uses."""
    os.setpgid(0, 0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    try:
        given = [*rewards(reward, items)]
        # `float` reads them, and TRL's tensor does not.
        texts = [value for value in given if isinstance(value, words)]
        if texts:
            answer = text({"lost": "a reward is the text " + repr(texts[0])[:80] + ", and no number"})
        else:
            given = ["null" if value is None else '"' + repr(float(value)) + '"' for value in given]
            answer = '{"rewards": [' + ", ".join(given) + "]}"
    except BaseException as error:  # what a completion raises in the grader's own process is for the grader to catch
        answer = text({"lost": raised(error)})
    write(pipe, answer.encode() + b"\n")


def batch(reward, items, seconds, end=os._exit):
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.close(reading)
            child(reward, items, writing)
        finally:
            end(3)
    os.close(writing)
    answer, until, is_late = b"", time.monotonic() + seconds, False
    # What the batch has started may keep the pipe open: an answer ends with its line.
    while not answer.endswith(b"\n"):
        left = until - time.monotonic()
        # Nothing comes on the input before the answer: its end says that nobody waits for one any more.
        is_late = left <= 0 or reading not in select.select([reading, 0], [], [], left)[0]
        part = b"" if is_late else os.read(reading, 1 << 16)
        if not part:
            break
        answer += part
    os.close(reading)
    # The group is there for as long as nobody has waited for its first process.
    if not is_late:
        os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    try:
        os.killpg(process, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    status = os.waitpid(process, 0)[1]
    if is_late:
        return json.dumps({"lost": f"no reward within {seconds:.0f} s"})
    if not answer:
        how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit status {os.WEXITSTATUS(status)}"
        return json.dumps({"lost": f"its process ended without an answer, {how}"})
    return answer.decode().strip()


def main():
    # Only answers reach the output; a grader may print while it is imported, and later.
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    reward = function(*sys.argv[1:])
    print("{}", file=output, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        print(batch(reward, asked["items"], asked["seconds"]), file=output, flush=True)


main()
