"""Rewards for programs that language models write, judged in a WebAssembly sandbox."""

import json
import os

from .native import Native

__all__ = ["Judge"]


class Judge:
    """Judges completions in one environment.

    ``env`` is "2048", a .jsonl file of tasks, a .py file with the rules of a game, or a directory with env.toml.
    ``workers`` programs run at once, without the interpreter's lock. Where there are no tasks, a program plays ``games``
    games that follow from ``seed``. ``settings`` are those of ``grpo-2048 config``, such as {"reward.tests": "all"}.

    Input that is wrong is a ValueError or a TypeError, what the machine cannot do a RuntimeError: neither is ever a
    reward of 0. A judge has threads, which a fork does not have: make one in each process.
    """

    def __init__(self, env="2048", workers=8, games=10, seed=0, settings=None):
        settings = {key: value if isinstance(value, str) else json.dumps(value) for key, value in (settings or {}).items()}
        self._native = Native(os.fspath(env), workers, games, seed, [f"{key}={value}" for key, value in settings.items()])
        self._process = os.getpid()

    def judge(self, completions, ids):
        """A dict for each completion, in their order: id, reward, verdict, passed, tests, score, fuel, parts, reason."""
        if os.getpid() != self._process:
            raise RuntimeError("this judge was made in another process; make one in each process")
        return json.loads(self._native.judge([_text(completion) for completion in completions], list(ids)))

    def reward(self, completions, id=None, **columns):
        """The rewards alone, as a reward function of TRL: ``id`` is the column that names the task of each completion."""
        if id is None:
            if self._native.has_tasks:
                raise TypeError("expected a column `id` that names the task of each completion")
            id = [""] * len(completions)
        return [judgement["reward"] for judgement in self.judge(completions, id)]


def _text(completion):
    """The text of a completion, which may be a list of chat messages."""
    if isinstance(completion, str):
        return completion
    try:
        return "".join(message["content"] or "" for message in completion)
    except (TypeError, KeyError):
        kind = type(completion).__name__
        raise TypeError(f"a completion of type {kind}: expected a str, or a list of messages with `content`") from None
