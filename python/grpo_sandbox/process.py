"""A `grpo-2048 judge --calls` beside this process, which any number of threads may ask."""

import importlib.metadata
import itertools
import json
import os
import shutil
import subprocess
import sys
import threading
import weakref


class Process:
    """Starts the program and waits until it judges. Wrong arguments are a ValueError, all other failures a RuntimeError."""

    def __init__(self, arguments):
        # In a session of its own: Ctrl-C is for the trainer, which may want a last judgement before it ends.
        self._child = subprocess.Popen(
            [program(), "--quiet", "judge", "--calls", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )
        self._numbers, self._lock, self._waiting = itertools.count(), threading.Lock(), {}
        described = self._child.stdout.readline()
        if not described:
            said = self._child.stderr.read().strip()
            raise (ValueError if self._child.wait() == 2 else RuntimeError)(said[7:] if said.startswith("error: ") else said)
        self.has_tests = json.loads(described)["has_tests"]
        # The threads know nothing of this object, so that it ends with its last use.
        for follow in [(_hand_on, self._child.stderr), (_answers, self._child, self._waiting, self._lock)]:
            threading.Thread(target=follow[0], args=follow[1:], daemon=True).start()
        self._process = os.getpid()
        self.end = weakref.finalize(self, _end, self._child, self._process)

    def ask(self, **asked):
        """The answer to a call: ``items``, a list to be judged, or ``requests``, which is None."""
        # Before the lock, which another thread may have held at the fork.
        if os.getpid() != self._process:
            raise RuntimeError("this judge was made in another process; make one in each process")
        answered = threading.Event()
        with self._lock:
            number = next(self._numbers)
            if self._child.poll() is None:
                self._waiting[number] = [answered, None]
                try:
                    self._child.stdin.write(json.dumps({"call": number, **asked}) + "\n")
                    self._child.stdin.flush()
                except BrokenPipeError:
                    answered.set()
            else:
                answered.set()
        answered.wait()
        with self._lock:
            _, answer = self._waiting.pop(number, (None, None))
        if answer is None:
            raise RuntimeError(f"the judge has ended with status {self._child.wait()}")
        if "error" in answer:
            raise (ValueError if answer["is_input"] else RuntimeError)(answer["error"])
        return answer


def program():
    """The program that the wheel brought, or the one on the PATH."""
    try:
        files = importlib.metadata.files("grpo-2048") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    places = [file.locate() for file in files if file.name == "grpo-2048" and file.parent.name != "grpo-2048"]
    # `pip install --target DIR` puts programs into DIR/bin.
    places.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin", "grpo-2048"))
    for place in places:
        if os.access(place, os.X_OK) and os.path.isfile(place):
            return os.fspath(place)
    found = shutil.which("grpo-2048")
    if found is None:
        raise RuntimeError("the program grpo-2048 is neither beside the module grpo_sandbox nor on the PATH")
    return found


def _hand_on(messages):
    """Warnings of the judge are for whoever reads those of this process."""
    for line in messages:
        sys.stderr.write(line)


def _answers(child, waiting, lock):
    """Hands each answer to the call that waits for it, and tells those that wait when no more will come."""
    for line in child.stdout:
        answer = json.loads(line)
        with lock:
            call = waiting[answer["call"]]
            call[1] = answer
        call[0].set()
    child.wait()
    with lock:
        calls = list(waiting.values())
    for answered, _ in calls:
        answered.set()


def _end(child, process):
    # A fork has a copy of this object, and the judge is not its own.
    if os.getpid() == process:
        child.terminate()
        child.wait()
        child.stdin.close()
