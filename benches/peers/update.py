"""One GRPO update of SmolLM2-135M with LoRA: grpo-2048 against PyTorch, transformers and PEFT, on one thread each.

    pip install -r tests/goldens/requirements.txt && make smollm2
    cargo bench --bench update --no-run           # names the binary
    python benches/peers/update.py target/release/deps/update-HASH

Both sides train rank 16 on all linear layers over the same frozen f32 weights: eight completions of 128 tokens behind
prompts of 168, in one batch, forward, backward, clipping and a step of AdamW. The loss on PyTorch's side is computed as
TRL's GRPOTrainer does: logits of the completion tokens alone, divided by the temperature, a log-sum-exp a row. Sides
take turns; processor seconds, so that other programs matter little; memory is what the update adds to the loaded
model. Prints a table of medians and ratios.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

MODEL = pathlib.Path(__file__).parent.parent.parent / "models" / "smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
ROUNDS = int(os.environ.get("ROUNDS", 3))
PROMPT, COMPLETION, ROWS = 168, 128, 8


def status(name):
    for line in open("/proc/self/status"):
        if line.startswith(name + ":"):
            return 1024 * int(line.split()[1])


def torch_side(checkpointing):
    import peft
    import torch
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(MODEL, gguf_file=FILE, dtype=torch.float32)
    model = peft.get_peft_model(
        model, peft.LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
    )
    if checkpointing:
        model.gradient_checkpointing_enable()
        model.enable_input_require_grads()
    model.train()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-5)
    ids = (torch.arange(ROWS * (PROMPT + COMPLETION)) * 7919 % 49_000).reshape(ROWS, -1)
    advantages = (torch.arange(ROWS) % 4 - 1.5)[:, None]
    open("/proc/self/clear_refs", "w").write("5")
    before, start = status("VmRSS"), time.process_time()
    logits = model(input_ids=ids, logits_to_keep=COMPLETION + 1, use_cache=False).logits[:, :-1] / 1.0
    chosen = logits.gather(-1, ids[:, PROMPT:, None])[..., 0]
    logp = chosen - torch.stack([torch.logsumexp(row, -1) for row in logits])
    ratio = (logp - logp.detach()).exp()
    loss = -torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.28) * advantages).mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(trained, 1.0)
    optimizer.step()
    seconds = time.process_time() - start
    peak = status("VmHWM")
    print(json.dumps({"cpu_seconds": seconds, "update_bytes": peak - before, "peak_bytes": peak}))


def run(command):
    environment = os.environ | {"RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "CANDLE_NUM_THREADS": "1"}
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    return json.loads(output.strip().splitlines()[-1])


def main(binary):
    model = str(MODEL / FILE)
    sides = {
        "torch + PEFT": [sys.executable, __file__, "--torch", "kept"],
        "torch + PEFT, checkpointing": [sys.executable, __file__, "--torch", "recomputed"],
        "grpo-2048, one batch": [binary, model, "8"],
        "grpo-2048, micro-batch 2": [binary, model, "2"],
        "grpo-2048, one batch, checkpointing": [binary, model, "8", "recomputed"],
        "grpo-2048, micro-batch 1, checkpointing": [binary, model, "1", "recomputed"],
    }
    results = {name: [] for name in sides}
    for _ in range(ROUNDS):
        for name, command in sides.items():
            results[name].append(run(command))
    median = {
        name: {key: statistics.median(result[key] for result in found) for key in ["cpu_seconds", "update_bytes", "peak_bytes"]}
        for name, found in results.items()
    }
    first = next(iter(median.values()))
    print(f"{'':42}{'CPU s':>8}{'x':>7}{'update MB':>11}{'x':>7}{'peak MB':>9}")
    for name, row in median.items():
        print(
            f"{name:42}{row['cpu_seconds']:8.1f}{row['cpu_seconds'] / first['cpu_seconds']:7.2f}"
            f"{row['update_bytes'] / 1e6:11.0f}{row['update_bytes'] / first['update_bytes']:7.2f}"
            f"{row['peak_bytes'] / 1e6:9.0f}"
        )


if sys.argv[1] == "--torch":
    torch_side(sys.argv[2] == "recomputed")
else:
    main(sys.argv[1])
