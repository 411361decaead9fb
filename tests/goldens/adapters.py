"""LoRA adapters made by PEFT on the tiny models of decoders.py, and the logits they give.

    python adapters.py [NAME..]   writes adapters/NAME/{adapter_config.json,adapter_model.safetensors,expected.safetensors}

crates/decoder/src/tests/adapters.rs loads them and must find the same numbers.
"""

import json
import pathlib
import sys

import peft
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

HERE = pathlib.Path(__file__).parent
CASES = {
    "llama-all": ("llama", dict(r=4, lora_alpha=8, target_modules="all-linear")),
    "llama-attention": ("llama", dict(r=2, lora_alpha=5, target_modules=["q_proj", "v_proj"], lora_dropout=0.1)),
    "qwen2-rslora": ("qwen2", dict(r=4, lora_alpha=6, target_modules="all-linear", use_rslora=True)),
    "qwen3-second-layer": (
        "qwen3",
        dict(r=3, lora_alpha=3, target_modules=["gate_proj", "k_proj", "o_proj"], layers_to_transform=[1]),
    ),
    "mistral-all": ("mistral", dict(r=2, lora_alpha=4, target_modules="all-linear")),
    "phi3-all": ("phi3", dict(r=2, lora_alpha=4, target_modules="all-linear")),
    "gemma2-all": ("gemma2", dict(r=2, lora_alpha=4, target_modules="all-linear")),
    "gemma3-all": ("gemma3", dict(r=2, lora_alpha=4, target_modules="all-linear")),
    "qwen3_moe-attention": (
        "qwen3_moe",
        dict(r=2, lora_alpha=4, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"]),
    ),
}


def base_model(family: str) -> torch.nn.Module:
    return AutoModelForCausalLM.from_pretrained(HERE / family, dtype=torch.float32, attn_implementation="eager").eval()


def write(name: str) -> None:
    family, settings = CASES[name]
    torch.manual_seed(1)
    model = get_peft_model(base_model(family), LoraConfig(task_type="CAUSAL_LM", **settings)).eval()
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if "lora_" in key:
                parameter.add_(torch.randn_like(parameter) * 0.3)
        ids = torch.randint(0, model.config.vocab_size, (2, 11))
        logits = model(input_ids=ids).logits
        with model.disable_adapter():
            without = model(input_ids=ids).logits
    assert (logits - without).abs().max() > 0.1
    out = HERE / "adapters" / name
    model.save_pretrained(out)
    (out / "README.md").unlink(missing_ok=True)
    config = json.loads((out / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = family
    if isinstance(config["target_modules"], list):
        config["target_modules"].sort()
    (out / "adapter_config.json").write_text(json.dumps(config, indent=1) + "\n")
    versions = {"torch": torch.__version__, "peft": peft.__version__}
    save_file({"ids": ids, "logits": logits.contiguous()}, out / "expected.safetensors", versions)


if __name__ == "__main__":
    for case in sys.argv[1:] or CASES:
        write(case)
