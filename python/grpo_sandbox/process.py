"""A `grpo-2048 judge --calls` beside this process, which any number of threads may ask."""

import importlib.metadata
import itertools
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import weakref

# The judges of this process.
_made = weakref.WeakSet()


class Process:
    """Starts the program and waits until it judges. Wrong arguments are a ValueError, all other failures a RuntimeError."""

    def __init__(self, arguments):
        self._child = _started([program(), "--quiet", "judge", "--calls", *arguments])
        self._numbers, self._lock, self._waiting = itertools.count(), threading.Lock(), {}
        self._asked, self._process = queue.SimpleQueue(), os.getpid()
        self.end = weakref.finalize(self, _end, self._child, self._asked, self._process)
        _made.add(self)
        # The threads know nothing of this object, so that it ends with its last use.
        error, begun = [], threading.Event()
        # From the start: a judge with much to say would wait until somebody reads it.
        hearing = _follow(_hand_on, self._child.stderr, error, begun)
        described = self._child.stdout.readline()
        # A judge that is killed may leave half a line.
        if not described.endswith("\n"):
            with self._child.stdin, self._child.stdout:
                status = self._child.wait()
            hearing.join()
            said = "".join(error).strip().removeprefix("error: ")
            raise (ValueError if status == 2 else RuntimeError)(said or f"the judge has ended with status {status}")
        begun.set()
        self.has_tests = json.loads(described)["has_tests"]
        _follow(_send, self._child.stdin, self._asked)
        _follow(_answers, self._child, self._waiting, self._lock)

    def ask(self, **asked):
        """The answer to a call: ``items``, a list to be judged, or ``requests``, which is None."""
        # Before the lock, which another thread may have held at the fork.
        if os.getpid() != self._process:
            raise RuntimeError("this judge was made in another process; make one in each process")
        answered, given = threading.Event(), []
        with self._lock:
            number = next(self._numbers)
            line = json.dumps({"call": number, **asked}) + "\n"
            if self._child.poll() is None:
                self._waiting[number] = (answered, given)
                self._asked.put(line)
            else:
                answered.set()
        answered.wait()
        if not given:
            raise RuntimeError(f"the judge has ended with status {self._child.wait()}")
        [answer] = given
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


def _started(command):
    try:
        # In a session of its own: Ctrl-C is for the trainer, which may want a last judgement before it ends.
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            # The last character of a judge that is killed may be half of one.
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise RuntimeError(f"cannot start the judge: {error}") from error


def _follow(what, *arguments):
    thread = threading.Thread(target=what, args=arguments, daemon=True)
    thread.start()
    return thread


def _hand_on(messages, error, begun):
    """Warnings of the judge are for whoever reads those of this process. `error` gets what ends it before it has begun."""
    with messages:
        for line in messages:
            if not begun.is_set() and (error or line.startswith("error: ")):
                error.append(line)
                continue
            try:
                sys.stderr.write(line)
            except Exception:
                # A stream that is None, closed, full or of another encoding. Who stops reading here stops the judge, once the
                # pipe is full.
                pass


def _send(calls, asked):
    """Writes calls. The thread that asks does not: after half a line, where Ctrl-C stops it, the judge reads no other."""
    try:
        with calls:
            for line in iter(asked.get, None):
                calls.write(line)
                calls.flush()
    except BrokenPipeError:
        # The judge has ended, of which those that wait hear by its answers.
        pass


def _answers(child, waiting, lock):
    """Hands each answer to the call that waits for it, and tells those that wait when no more will come."""
    with child.stdout:
        for line in child.stdout:
            # The last line of a judge that is killed may be half of one.
            if not line.endswith("\n"):
                break
            answer = json.loads(line)
            with lock:
                answered, given = waiting.pop(answer["call"])
            given.append(answer)
            answered.set()
    child.wait()
    with lock:
        calls = list(waiting.values())
    for answered, _ in calls:
        answered.set()


def _let_go():
    """Takes a fork's copies of the pipes from it: a judge ends with the process that made it, though a fork lives on."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for judging in _made:
        for pipe in (judging._child.stdin, judging._child.stdout, judging._child.stderr):
            # Not closed: the file objects would close these numbers again, of which others may be the owners by then.
            if not pipe.closed:
                os.dup2(nothing, pipe.fileno(), inheritable=False)
    os.close(nothing)


os.register_at_fork(after_in_child=_let_go)


def _end(child, asked, process):
    # A fork has a copy of this object, and the judge is not its own.
    if os.getpid() == process:
        asked.put(None)
        # SIGTERM is ignored, or blocked, where this process has it so.
        child.kill()
        child.wait()
