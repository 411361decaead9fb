"""Runs the lines that docs/turns.md shows of TRL with the real trainer: trl_turns.py DIRECTORY

`MODEL` is two layers of Qwen 3 with random weights, a tokenizer of bytes and the chat template of Qwen 3 that TRL has. What it writes
is given to it: a call of the tool with a wrong program, then with the right one or none, then words. All else is TRL's: it reads the
calls, runs them, tells the model, masks what was told, and updates. Fails unless each program was judged and rewarded as it should be.
"""

import importlib.resources
import json
import os
import pathlib
import re
import subprocess
import sys

import grpo_sandbox
import trl
from documents import block
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM, set_seed

END, BEGIN = "<|im_end|>", "<|im_start|>"


def write_model(directory):
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: at for at, letter in enumerate([END, BEGIN, *letters])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    template = importlib.resources.files(trl).joinpath("chat_templates/qwen3.jinja").read_text(encoding="utf-8")
    special = dict(eos_token=END, pad_token=END, additional_special_tokens=[BEGIN])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, chat_template=template, **special)
    fast.save_pretrained(directory)
    set_seed(0)
    sizes = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, head_dim=16)
    ends = dict(eos_token_id=0, pad_token_id=0, max_position_embeddings=16384)
    Qwen3ForCausalLM(Qwen3Config(vocab_size=len(fast), **ends, **sizes)).save_pretrained(directory)


lines = block("docs/turns.md", "from datasets import Dataset")
# A token is a byte here.
longer = lines.replace("max_steps=2,", "max_steps=2, max_completion_length=2048,")
assert longer != lines
os.chdir(sys.argv[1])
subprocess.run(["grpo-2048", "tasks", "new", "mine"], check=True, stdout=subprocess.DEVNULL)
write_model("MODEL")
tasks = [json.loads(line) for line in pathlib.Path("mine/tasks.jsonl").read_text(encoding="utf-8").splitlines()]
tasks = {task["prompt"].split("\n")[0]: task for task in tasks}
told, masks, rewards = [], [], []


def call(code):
    return f"<tool_call>\n{json.dumps({'name': 'run', 'arguments': {'code': code}})}\n</tool_call>{END}"


def written(self, prompt_ids, *_, **__):
    """What the model writes after each of these prompts, as far as `_generate_single_turn` goes."""
    answers = []
    for row, ids in enumerate(prompt_ids):
        text = self.processing_class.decode(ids)
        [task] = [task for words, task in tasks.items() if words in text.rpartition("</tools>")[2]]
        answered = re.findall(r"<tool_response>\n(.*?)\n</tool_response>", text, re.S)
        if not answered:
            answers.append(call("def nothing():\n    return 0\n"))
        elif len(answered) == 1 and row % 2 == 0:
            answers.append(call(task["reference"]))
        else:
            told.append(answered)
            answers.append(f"Done.{END}")
    return [self.processing_class.encode(answer, add_special_tokens=False) for answer in answers], None


def watched(self, *arguments):
    answer = calculate(self, *arguments)
    rewards.extend(answer.flatten().tolist())
    return answer


def looped(self, *arguments):
    answer = loop(self, *arguments)
    masks.extend(zip(answer[0], answer[2]))
    return answer


loop, calculate = trl.GRPOTrainer._tool_call_loop, trl.GRPOTrainer._calculate_rewards
trl.GRPOTrainer._generate_single_turn, trl.GRPOTrainer._calculate_rewards, trl.GRPOTrainer._tool_call_loop = written, watched, looped
exec(compile(longer, "docs/turns.md", "exec"), names := {})

count = 2 * names["settings"].generation_batch_size
assert len(told) == len(rewards) == len(masks) == count, (len(told), len(rewards), len(masks), count)
repaired = [answers for answers in told if len(answers) == 2]
assert repaired and all("every test" in last for _, last in repaired), told
assert all(answers[0].endswith("Write the whole program again, so that it passes every test.") for answers in told), told
assert rewards.count(1.0) == len(repaired) and sum(reward <= 0 for reward in rewards) == count - len(repaired), rewards
tokenizer = PreTrainedTokenizerFast.from_pretrained("MODEL")
for mask, ids in masks:
    learnt = tokenizer.decode([id for id, sampled in zip(ids, mask) if sampled])
    assert "tool_response" not in learnt and "tool_call" in learnt, learnt
print(f"TRL {trl.__version__} trained two steps on {count} conversations of {grpo_sandbox.__name__}, {len(repaired)} of them repaired, by the lines of docs/turns.md")
