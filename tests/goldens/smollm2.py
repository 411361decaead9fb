"""Greedy continuation of a fixed prompt by SmolLM2-135M-Instruct, read from its GGUF file by transformers.

    make smollm2 && python smollm2.py        writes smollm2.json

The weights are dequantised to f32 by transformers' own reader, with its own undoing of the row order.
"""

import json
import pathlib

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer

HERE = pathlib.Path(__file__).parent
MODEL = HERE.parent.parent / "models" / "smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
PROMPT = (
    "<|im_start|>user\nWrite a Python function `def strategy(board)` that plays 2048 and returns one of "
    '"W", "A", "S", "D".<|im_end|>\n<|im_start|>assistant\n```python\ndef strategy(board):'
)
TOKENS = 48

torch.set_num_threads(2)
tokenizer = AutoTokenizer.from_pretrained(MODEL, gguf_file=FILE)
model = AutoModelForCausalLM.from_pretrained(MODEL, gguf_file=FILE, dtype=torch.float32).eval()
ids = tokenizer(PROMPT, add_special_tokens=False, return_tensors="pt").input_ids
continuation, top = [], []
with torch.no_grad():
    sequence = ids
    for _ in range(TOKENS):
        logits = model(sequence).logits[0, -1]
        values, indices = torch.log_softmax(logits, -1).topk(2)
        continuation.append(int(indices[0]))
        # How far the runner-up is: where it is close, another order of summation may choose the other.
        top.append([round(float(value), 4) for value in values])
        sequence = torch.cat([sequence, indices[:1].reshape(1, 1)], 1)
result = {
    "prompt": PROMPT,
    "prompt_ids": ids[0].tolist(),
    "continuation_ids": continuation,
    "continuation": tokenizer.decode(continuation),
    "top_two_log_probs": top,
    "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
}
(HERE / "smollm2.json").write_text(json.dumps(result) + "\n")
