"""Chats rendered by transformers, from templates that use what the templates of models use.

    python chat.py [DIR]          writes chat/expected.json (from DIR/*.jinja, into DIR)

The templates in chat/ are ours, in the shapes of the families: chatml-tools as Qwen2.5, thinking as Qwen3, headers as
Llama 3, brackets as Llama 2; smollm2 is that model's own. Point the script at a directory with other templates to check
those: crates/rollout/src/prompt/tests.rs reads chat/.
"""

import datetime
import json
import pathlib
import sys

import transformers
from transformers.utils import chat_template_utils

HERE = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "chat"
TOKENS = {"bos_token": "<|begin|>", "eos_token": "<|end|>"}
TURNS = {
    "one": [("user", "Write a player.\n")],
    "system": [("system", " You write players. "), ("user", "  corner first\n\nplease ")],
    "conversation": [
        ("system", "Rules:\n- W, A, S, D"),
        ("user", "one"),
        ("assistant", "```python\ndef strategy(board):\n    return 'W'\n```"),
        ("user", "another <b>\"é\" & '2048'</b>"),
    ],
    "thoughts": [("user", "a"), ("assistant", "<think>\nhm\n</think>\n\nyes"), ("user", "b"), ("assistant", "<think>x</think>no")],
    "wrong-order": [("user", "a"), ("user", "b")],
}


class Day(datetime.datetime):
    """The day that the program says is today."""

    @classmethod
    def now(cls, tz=None):
        return cls(2024, 7, 26)


def render(template: str, messages: list[dict], add_generation_prompt: bool) -> dict:
    compiled = chat_template_utils._compile_jinja_template(template)
    try:
        text = compiled.render(
            messages=messages,
            tools=None,
            documents=None,
            add_generation_prompt=add_generation_prompt,
            enable_thinking=False,
            **TOKENS,
        )
    except Exception as error:
        return {"error": str(error)}
    return {"expected": text}


# The function that templates get reads the clock of this module.
chat_template_utils.datetime = Day
results = []
for path in sorted(HERE.glob("*.jinja")):
    for turns in TURNS.values():
        messages = [{"role": role, "content": content} for role, content in turns]
        for open_turn in (True, False):
            rendered = render(path.read_text(), messages, open_turn)
            results.append(
                {"template": path.name, **TOKENS, "messages": messages, "add_generation_prompt": open_turn, **rendered}
            )
(HERE / "expected.json").write_text(json.dumps(results, indent=0, ensure_ascii=False) + "\n")
print(len(results), "renderings,", sum("error" in result for result in results), "refused", transformers.__version__)
