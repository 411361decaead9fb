"""Rewards for programs that language models write, judged in a WebAssembly sandbox."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional, Union

from .process import Process

__all__ = ["Conversation", "Judge"]

# Bytes of the longest completion that the judge takes.
_LONGEST = 4 << 20

# What a message without content has in its place.
_IN_PLACE = ("tool_calls", "function_call", "refusal", "reasoning_content")

_Completion = Union[str, Iterable[Mapping[str, Any]]]
_Id = Union[str, int]


class Judge:
    """Judges completions in one environment.

    ``env`` is "2048", a .jsonl file of tasks, a .py file with the rules of a game, or a directory with env.toml.
    ``workers`` programs run at once, in a process that ends with the judge. Where there are no tasks, a program plays
    ``games`` games that follow from ``seed``. ``settings`` are those of ``grpo-2048 config``, such as {"reward.tests": "all"}.

    Input that is wrong is a ValueError or a TypeError, what the machine cannot do a RuntimeError: neither is ever a
    reward of 0. A judge belongs to the process that made it: make one in each.
    """

    def __init__(
        self,
        env: Union[str, "os.PathLike[str]"] = "2048",
        workers: int = 8,
        games: int = 10,
        seed: int = 0,
        settings: Optional[Mapping[str, Any]] = None,
    ) -> None:
        arguments = [f"--env={os.fspath(env)}"]
        arguments += [f"--parallel-rewards={workers}"] if workers else ["--sequential"]
        if settings is not None and not isinstance(settings, Mapping):
            kind = type(settings).__name__
            raise TypeError(f'settings of type {kind}: expected a dict, such as {{"reward.tests": "all"}}')
        # The program refuses what is said of games where there are tasks.
        arguments += [f"--{name}={value}" for name, value, default in [("games", games, 10), ("seed", seed, 0)] if value != default]
        for key, value in (settings or {}).items():
            arguments.append(f"--set={key}={value if isinstance(value, str) else json.dumps(value)}")
        self._judging = Process(arguments)

    def judge(self, completions: Iterable[_Completion], ids: Iterable[_Id]) -> list[dict[str, Any]]:
        """A dict for each completion, in their order: id, reward, verdict, passed, tests, score, fuel, parts, reason,
        feedback."""
        texts = [_text(completion, f"completions[{at}]") for at, completion in enumerate(_several(completions, "completions"))]
        ids = [_id(id) for id in _several(ids, "ids")]
        if len(texts) != len(ids):
            raise ValueError(f"{len(texts)} completions and {len(ids)} ids: expected an id for each")
        items = [{"id": id, "completion": text} for id, text in zip(ids, texts)]
        return self._judging.ask(items=items)["judgements"]

    def requests(self) -> list[dict[str, Any]]:
        """What a policy is asked for, a dict for each task (in a game, for each style of play): id, system, prompt, held_out.
        The prompt has the tests that are shown, and where neither these nor the text name the function, how the program begins."""
        return self._judging.ask(requests=None)["requests"]

    def reward(self, completions: Sequence[_Completion], id: Optional[Iterable[_Id]] = None, **columns: Any) -> list[float]:
        """The rewards alone, as a reward function of TRL: ``id`` is the column that names the task of each completion."""
        if id is None:
            if self._judging.has_tests:
                raise TypeError("expected a column `id` that names the task of each completion")
            id = [""] * len(completions)
        return [judgement["reward"] for judgement in self.judge(completions, id)]

    def __reduce__(self):
        raise TypeError("a judge cannot be pickled; make one in each process")


class Conversation:
    """Several attempts at one task: a program is tried, its author is told, and writes again.

    The interface is that of TRL's ``environment_factory``: TRL calls ``reset`` with the columns of a row, offers the method
    ``run`` to the model as a tool, and asks for ``get_reward`` in the end. One judge serves any number of conversations:

        judge = Judge(env="tasks.jsonl")
        GRPOTrainer(..., environment_factory=lambda: Conversation(judge))    # the data set has a column `id`

    The reward is that of the last program, or with ``best=True`` that of the best; ``empty`` where none was tried. TRL
    tells the model whatever ``run`` raises. So what is not the model's own mistake, such as an id that names no task or a
    judge that has ended, is raised by ``get_reward`` again, until the next ``reset``.
    """

    def __init__(self, judge: Judge, best: bool = False, empty: float = 0.0) -> None:
        self._judge, self._best, self._empty = judge, best, empty
        self._id, self._judgements, self._error = "", [], None

    def reset(self, **row: Any) -> None:
        """Begins anew with the task that the column ``id`` names."""
        if "id" not in row and self._judge._judging.has_tests:
            raise TypeError("expected a column `id` that names the task")
        self._id, self._judgements, self._error = row.get("id", ""), [], None

    def run(self, code: str) -> str:
        """
        Runs a Python program on the tests of the task and says what came of it.

        Args:
            code: The whole program.

        Returns:
            What failed, or that every test is passed.
        """
        # What is wrong with the text is for the model to mend, and no reason to end the training.
        code = _program(code)
        try:
            judgement = self._judge.judge([code], [self._id])[0]
        except Exception as error:
            self._error = error
            raise
        self._judgements.append(judgement)
        return judgement["feedback"]

    def get_reward(self) -> float:
        """The reward of the programs that were tried since ``reset``, or the error for which one was not judged."""
        if self._error is not None:
            raise self._error
        rewards = [judgement["reward"] for judgement in self._judgements]
        if not rewards:
            return self._empty
        return max(rewards) if self._best else rewards[-1]


def _several(given, what):
    """The same list. The characters of a text are one as well, which nobody means."""
    if isinstance(given, str):
        raise TypeError(f"{what} is a str: expected a list of them")
    return given


def _id(id):
    """The name of a task. Rows of data sets have integers."""
    if type(id) is int:
        # Others would arrive as numbers that are no integers.
        if not -(2**63) <= id < 2**64:
            raise ValueError(f"an id of {id}: expected an int from -2**63 to 2**64 - 1, or a str")
        return id
    if not isinstance(id, str):
        raise TypeError(f"an id of type {type(id).__name__}: expected a str or an int, the name of a task")
    return _sendable(id, "an id")


def _program(code):
    """The program that a model hands to a tool."""
    if not isinstance(code, str):
        raise TypeError(f"a program of type {type(code).__name__}: expected a str")
    return _short(_sendable(code, "a program"), "a program")


def _text(completion, place):
    """The text of a completion. Of a list of chat messages it is what the policy wrote, and not what it was told."""
    if not isinstance(completion, str):
        if isinstance(completion, (bytes, Mapping)) or not isinstance(completion, Iterable):
            kind = type(completion).__name__
            raise TypeError(f"{place}: a completion of type {kind}: expected a str, or a list of messages with `content`")
        written = [_written(message, f"{place}[{at}]") for at, message in enumerate(completion)]
        completion = "\n".join(text for text in written if text is not None)
    return _short(_sendable(completion, f"{place}: a completion"), f"{place}: a completion")


def _written(message, place):
    """What the policy wrote in a message: None if it only calls tools, or if the message is another's. TRL hands over the answers of
    tools among those of the policy."""
    # Looking for a key in a text or a list is no error, and finds a word.
    if not hasattr(message, "get"):
        raise TypeError(f"{place}: a message of type {type(message).__name__}: expected a dict with `content`")
    role = message.get("role")
    if role is not None and not isinstance(role, str):
        raise TypeError(f"{place}: a `role` of type {type(role).__name__}: expected a str, such as assistant")
    if role not in (None, "assistant"):
        return None
    # openai leaves out what is None: `model_dump(exclude_none=True)`.
    if "content" not in message and all(message.get(key) is None for key in _IN_PLACE):
        keys = ", ".join(f"`{key}`" for key in message) or "no key"
        raise TypeError(f"{place}: a message with {keys}: expected `content`, or `tool_calls` where it only calls tools")
    content = message.get("content")
    try:
        return _content(content)
    except (TypeError, KeyError):
        kind = type(content).__name__
        raise TypeError(f"{place}: a `content` of type {kind}: expected a str, a list of parts with `text`, or None") from None


def _content(content):
    """The text of a content: of a list of parts, as with images, that of its texts. None if the message only calls tools."""
    if content is None or isinstance(content, str):
        return content
    if not isinstance(content, (list, tuple)):
        raise TypeError
    return "".join(part["text"] for part in content if _is_text(part))


def _is_text(part):
    kind = part["type"] if "type" in part else None
    return kind is None or kind in ("text", "output_text")


def _short(text, what):
    """The same text, which is short enough for the judge."""
    size = len(text.encode("utf-8"))
    if size > _LONGEST:
        raise ValueError(f"{what} of {size} bytes: expected at most {_LONGEST}")
    return text


def _sendable(text, what):
    """The same text, which the judge can read."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        found = f"{what} with half of a surrogate pair, {text[error.start]!a} at character {error.start}"
        raise ValueError(f"{found}: expected text that UTF-8 can encode") from None
    return text
