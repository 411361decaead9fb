"""LoRA dropout by PEFT, under masks that are given to it.

    python dropout.py             reads llama/ with its adapter and dropout/masks.safetensors, which
                                  `cargo test --release --lib the_masks_of_dropout -- --ignored` writes, and writes
                                  dropout/expected.safetensors: log-probabilities and gradients of every LoRA matrix

Masks come from the program's own generator, which no other library has; that they are Bernoulli is tested there. What is
compared is all the rest: where PEFT applies them, and what becomes of the gradients.
"""

import importlib.metadata
import pathlib

import peft
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

HERE = pathlib.Path(__file__).parent
VERSIONS = {name: importlib.metadata.version(name) for name in ["torch", "transformers", "peft", "safetensors"]}
IDS = torch.tensor([[3, 17, 5, 7, 7, 1, 19, 28, 6, 2], [9, 2, 30, 11, 4, 21, 15, 7, 3, 3]])


class Masked(torch.nn.Module):
    """Stands in for torch.nn.Dropout."""

    def __init__(self, factors):
        super().__init__()
        self.factors = factors

    def forward(self, x):
        return x * self.factors.reshape(x.shape)


base = AutoModelForCausalLM.from_pretrained(HERE / "llama", dtype=torch.float32, attn_implementation="eager")
model = peft.PeftModel.from_pretrained(base, HERE / "llama" / "adapter", is_trainable=True).train()
masks = load_file(HERE / "dropout" / "masks.safetensors")
for name, module in model.named_modules():
    if isinstance(module, peft.tuners.lora.Linear):
        module.lora_dropout["default"] = Masked(masks.pop(name.removeprefix("base_model.model.")))
assert not masks, f"masks of no module: {sorted(masks)}"

logp = torch.log_softmax(model(input_ids=IDS).logits[:, :-1], -1).gather(2, IDS[:, 1:, None])[..., 0]
(-logp.mean()).backward()
expected = {"ids": IDS, "logp": logp.detach()}
for name, parameter in model.named_parameters():
    if parameter.requires_grad:
        expected[f"grad.{name.replace('.default', '')}"] = parameter.grad
save_file({name: value.contiguous() for name, value in expected.items()}, HERE / "dropout" / "expected.safetensors", VERSIONS)
