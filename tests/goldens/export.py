"""What `grpo-2048 export` writes, loaded by transformers and PEFT: are the logits those of model and adapter?

    python export.py PROGRAM [GGUF]

PROGRAM is the grpo-2048 binary. With GGUF, a .gguf file of a Llama model, that one is exported and compared too, with a
random adapter. Prints the largest difference of each case, relative to the largest logit; exits 1 above 1e-5.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file
from tokenizers import Tokenizer, models
from transformers import AutoModelForCausalLM, AutoTokenizer

from adapters import CASES, HERE, base_model

BAR = 1e-5
PROGRAM = pathlib.Path(sys.argv[1]).resolve()


def export(*arguments) -> None:
    subprocess.run([PROGRAM, "export", *map(str, arguments)], check=True, capture_output=True)


def load(directory) -> torch.nn.Module:
    return AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32, attn_implementation="eager").eval()


def logits(model, ids) -> torch.Tensor:
    with torch.no_grad():
        return model(input_ids=ids).logits


def differ(name: str, found: torch.Tensor, expected: torch.Tensor) -> bool:
    error = ((found - expected).abs().max() / expected.abs().max()).item()
    print(f"{name:32} {error:.1e}", flush=True)
    return error > BAR


def save_base(family: str, out: pathlib.Path) -> None:
    base_model(family).save_pretrained(out)
    Tokenizer(models.BPE({chr(48 + i): i for i in range(32)}, [])).save(str(out / "tokenizer.json"))
    (out / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))


def tiny(name: str, work: pathlib.Path) -> list[bool]:
    family, _ = CASES[name]
    base, adapter = work / "base", HERE / "adapters" / name
    save_base(family, base)
    ids = torch.arange(24).reshape(2, 12)
    expected = logits(PeftModel.from_pretrained(load(base), adapter).eval(), ids)
    export("--model", base, "--adapter", adapter, "--merge", "--output-dir", work / "merged")
    export("--model", base, "--adapter", adapter, "--output-dir", work / "adapter")
    merged = logits(load(work / "merged"), ids)
    adapted = logits(PeftModel.from_pretrained(load(base), work / "adapter").eval(), ids)
    return [differ(f"{name} merged", merged, expected), differ(f"{name} adapter", adapted, expected)]


def small_gguf(path: pathlib.Path, work: pathlib.Path) -> list[bool]:
    """A file of gguf_files.py exported, against the logits that were found when it was made."""
    golden = load_file(path.with_suffix(".safetensors"))
    export("--model", path, "--merge", "--output-dir", work / "model")
    return [differ(f"{path.name} merged", logits(load(work / "model"), golden["ids"]), golden["logits"])]


def gguf(path: pathlib.Path, work: pathlib.Path) -> list[bool]:
    """The file exported as it is, and with an adapter that PEFT made on the exported model."""
    text = "def strategy(board):\n    return max('WASD', key=lambda move: score(board, move))\n# 2048, 4096\n"
    export("--model", path, "--merge", "--output-dir", work / "plain")
    original = AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    tokenizer = AutoTokenizer.from_pretrained(work / "plain")
    ids = tokenizer(text, return_tensors="pt", add_special_tokens=False).input_ids
    plain = load(work / "plain")
    wrong = [differ(f"{path.name} merged", logits(plain, ids), logits(original, ids))]
    torch.manual_seed(2)
    model = get_peft_model(plain, LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", use_rslora=True)).eval()
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if "lora_B" in key:
                parameter.add_(torch.randn_like(parameter) * 0.02)
    model.save_pretrained(work / "random")
    expected = logits(model, ids)
    assert (expected - logits(original, ids)).abs().max() > 0.5
    export("--model", path, "--adapter", work / "random", "--merge", "--output-dir", work / "merged")
    wrong.append(differ(f"{path.name} with adapter", logits(load(work / "merged"), ids), expected))
    chat = tokenizer.apply_chat_template([{"role": "user", "content": "hi"}], tokenize=False)
    assert "<|im_start|>user\nhi<|im_end|>" in chat, chat
    return wrong


wrong = []
for case in CASES:
    with tempfile.TemporaryDirectory() as work:
        wrong += tiny(case, pathlib.Path(work))
for path in sorted((HERE / "gguf").glob("*.gguf")):
    with tempfile.TemporaryDirectory() as work:
        wrong += small_gguf(path, pathlib.Path(work))
if len(sys.argv) > 2:
    with tempfile.TemporaryDirectory() as work:
        wrong += gguf(pathlib.Path(sys.argv[2]), pathlib.Path(work))
sys.exit(1 if any(wrong) else 0)
