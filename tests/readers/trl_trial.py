"""Runs the lines that README.md shows of TRL, as they stand there, with the real trainer and a tiny model: trl_trial.py DIRECTORY

The directory becomes that of a reader: `mine` by `grpo-2048 tasks new mine`, and `MODEL`, two layers of Qwen 2 with random weights and
a tokenizer of bytes. Fails unless the trainer has asked the judge for every completion of both steps.
"""

import os
import subprocess
import sys

import grpo_sandbox
import trl
from documents import block
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM, set_seed

CHAT = "{% for message in messages %}{{ message['role'] + ': ' + message['content'] + '<|end|>' }}{% endfor %}assistant: "


def write_model(directory):
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: at for at, letter in enumerate(["<|end|>", *letters])}, merges=[]))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>", pad_token="<|end|>", chat_template=CHAT)
    fast.save_pretrained(directory)
    set_seed(0)
    sizes = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1)
    Qwen2ForCausalLM(Qwen2Config(vocab_size=len(fast), eos_token_id=0, pad_token_id=0, **sizes)).save_pretrained(directory)


lines = block("README.md", "from datasets import Dataset")
assert lines == block("docs/judge.md", "from datasets import Dataset"), "README.md and docs/judge.md show other lines"
os.chdir(sys.argv[1])
subprocess.run(["grpo-2048", "tasks", "new", "mine"], check=True, stdout=subprocess.DEVNULL)
write_model("MODEL")

judged, judge = [], grpo_sandbox.Judge.judge


def watched(self, completions, ids):
    judgements = judge(self, completions, ids)
    judged.extend(judgements)
    return judgements


grpo_sandbox.Judge.judge = watched
exec(compile(lines, "README.md", "exec"), names := {})
assert names["settings"].max_steps == 2 and len(judged) == 2 * names["settings"].generation_batch_size, len(judged)
assert all(judgement["verdict"] for judgement in judged)
print(f"TRL {trl.__version__} trained two steps on {len(judged)} rewards of {grpo_sandbox.__name__}, by the lines of README.md")
