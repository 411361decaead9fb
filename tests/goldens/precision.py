"""How far PyTorch and PEFT are off in half formats: what tests/numbers/precision.rs is held to.

    python precision.py           reads {llama,qwen2,qwen3}/{config.json,model.safetensors,adapter} of learning.py; prints

Root mean square of the difference to f32 as a share of that of the value, in roundings of the format: of logits, of all
gradients together, and of the gradient that is farthest off. The same tokens and the same loss as in the test.
"""

import math
import pathlib

import peft
import torch
from transformers import AutoModelForCausalLM

HERE = pathlib.Path(__file__).parent
IDS = torch.tensor([(place * 7 + place * place) % 32 for place in range(36)]).reshape(3, 12)
ROUNDINGS = {torch.bfloat16: 1 / 256, torch.float16: 1 / 2048}
LOSS_SCALE = 65536


def run(family, adapted, dtype):
    model = AutoModelForCausalLM.from_pretrained(HERE / family, dtype=dtype, attn_implementation="eager")
    if adapted:
        model = peft.PeftModel.from_pretrained(model, HERE / family / "adapter", is_trainable=True)
    logits = model.eval()(input_ids=IDS).logits.float()
    logp = torch.log_softmax(logits[:, :-1], -1).gather(2, IDS[:, 1:, None])[..., 0]
    (-logp.mean() * LOSS_SCALE).backward()
    return logits.detach(), {n: p.grad.float() for n, p in model.named_parameters() if p.requires_grad}


for family in ["llama", "qwen2", "qwen3"]:
    for adapted in [False, True]:
        exact, expected = run(family, adapted, torch.float32)
        for dtype, rounding in ROUNDINGS.items():
            logits, found = run(family, adapted, dtype)
            off = {name: (found[name] - expected[name]).norm().item() for name in found}
            size = {name: expected[name].norm().item() for name in found}
            together = math.hypot(*off.values()) / math.hypot(*size.values())
            worst = max(found, key=lambda name: off[name] / size[name])
            print(
                f"{family}{' with LoRA' if adapted else ''}, {dtype}: logits"
                f" {(logits - exact).norm() / exact.norm() / rounding:.1f}, gradients {together / rounding:.1f},"
                f" {worst} {off[worst] / size[worst] / rounding:.1f}"
            )
