"""One GRPO update with PyTorch, transformers and PEFT: what `grpo-2048-bench train --peer PYTHON` runs.

All linear layers have adapters over frozen weights; with lora_r = 0 all weights are trained. The loss is computed as in
TRL's GRPOTrainer: logits of the completion tokens only, divided by the temperature, with one log-sum-exp per row. A
micro-batch of completions passes through the model at once; gradients are added up, then clipped for a step of AdamW.

Reads one JSON object from standard input:
    config, model         see measuring.py
    device, dtype         as PyTorch names them
    checkpointing         whether activations are recomputed in the backward pass
    threads               number of threads of the processor
    seed                  seed of weights and tokens
    rows                  number of completions
    micro_batch           number of them that pass through the model at once
    prompt_tokens         number of tokens of a prompt
    new_tokens            number of tokens of a completion
    lora_r, lora_alpha    rank and scale of the adapters
Prints one: wall_s and cpu_s of the update, stages with forward_s, backward_s and optimiser_s, peak_bytes (of the process,
or of the GPU's memory that tensors took).
"""

import json
import sys

import peft
import torch
from measuring import Clocks, Peak, load


def trained(work, device):
    """The model in training mode, and an optimiser of its trained weights."""
    model = load(work, device)
    if work["lora_r"] > 0:
        adapters = peft.LoraConfig(
            r=work["lora_r"], lora_alpha=work["lora_alpha"], target_modules="all-linear", task_type="CAUSAL_LM"
        )
        # Adapters are f32, as PEFT keeps them for models in other formats.
        model = peft.get_peft_model(model, adapters)
    if work["checkpointing"]:
        model.gradient_checkpointing_enable()
        model.enable_input_require_grads()
    model.train()
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return model, parameters, torch.optim.AdamW(parameters, lr=1e-6)


def run(model, parameters, optimizer, work, device):
    rows, prompt, new = work["rows"], work["prompt_tokens"], work["new_tokens"]
    ids = torch.randint(0, model.config.vocab_size, (rows, prompt + new)).to(device)
    advantages = (torch.arange(rows, device=device) % 4 - 1.5)[:, None]
    peak, clocks = Peak(device), Clocks(work, device)
    stages = {"forward_s": 0.0, "backward_s": 0.0}
    for some, their in zip(ids.split(work["micro_batch"]), advantages.split(work["micro_batch"])):
        logits = model(input_ids=some, logits_to_keep=new + 1, use_cache=False).logits[:, :-1] / 1.0
        chosen = logits.gather(-1, some[:, prompt:, None])[..., 0]
        logp = chosen - torch.stack([torch.logsumexp(row, -1) for row in logits])
        ratio = (logp - logp.detach()).exp()
        loss = -torch.minimum(ratio * their, ratio.clamp(0.8, 1.28) * their).sum() / (rows * new)
        stages["forward_s"] += clocks.stage()
        loss.backward()
        stages["backward_s"] += clocks.stage()
    torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()
    stages["optimiser_s"] = clocks.stage()
    costs = clocks.costs()
    optimizer.zero_grad()
    return {**costs, "stages": stages, "peak_bytes": peak.read()}


def main():
    work = json.load(sys.stdin)
    device = torch.device(work["device"])
    torch.set_num_threads(work["threads"])
    torch.manual_seed(work["seed"])
    model, parameters, optimizer = trained(work, device)
    if device.type == "cuda":
        # The first run compiles kernels and allocates memory, and is not measured. It is as large as the measured one,
        # which would otherwise pay for its memory and for the kernels of its shapes.
        run(model, parameters, optimizer, work, device)
    json.dump(run(model, parameters, optimizer, work, device), sys.stdout)


if __name__ == "__main__":
    main()
