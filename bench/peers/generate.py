"""Samples completions with transformers' `generate`: what `grpo-2048-bench generate --peer PYTHON` runs.

Reads one JSON object from standard input:
    config, model    see measuring.py
    device, dtype    as PyTorch names them
    threads          number of threads of the processor
    seed             seed of weights, prompts and sampling
    groups, rows     number of prompts, and of completions of all prompts
    prompt_tokens    number of tokens of a prompt
    new_tokens       number of tokens of a completion; none ends earlier
Prints one: wall_s and cpu_s of the whole batch, prefill_s (until the first token is drawn), peak_bytes (of the process,
or of the GPU's memory that tensors took).
"""

import json
import sys

import torch
import transformers
from measuring import Clocks, Peak, load


class FirstToken(transformers.StoppingCriteria):
    """Measures the time until the first token."""

    def __init__(self, clocks):
        self.clocks, self.seconds = clocks, None

    def __call__(self, input_ids, scores, **kwargs):
        if self.seconds is None:
            self.seconds = self.clocks.stage()
        return torch.zeros(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)


def run(model, work, device, new_tokens):
    rows, length = work["rows"], work["prompt_tokens"]
    prompts = torch.randint(0, model.config.vocab_size, (work["groups"], length))
    ids = prompts.repeat_interleave(rows // work["groups"], 0).to(device)
    peak, clocks = Peak(device), Clocks(work, device)
    first = FirstToken(clocks)
    with torch.inference_mode():
        out = model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            do_sample=True,
            temperature=1.0,
            top_k=0,
            top_p=1.0,
            max_new_tokens=new_tokens,
            min_new_tokens=new_tokens,
            eos_token_id=None,
            pad_token_id=0,
            use_cache=True,
            stopping_criteria=transformers.StoppingCriteriaList([first]),
        )
    costs = clocks.costs()
    assert out.shape == (rows, length + new_tokens), out.shape
    return {**costs, "prefill_s": first.seconds, "peak_bytes": peak.read()}


def main():
    work = json.load(sys.stdin)
    device = torch.device(work["device"])
    torch.set_num_threads(work["threads"])
    torch.manual_seed(work["seed"])
    model = load(work, device).eval()
    # The model's own generation config may have other settings of sampling.
    model.generation_config = transformers.GenerationConfig()
    if device.type == "cuda":
        # The first run compiles kernels and allocates memory, and is not measured.
        run(model, work, device, 4)
    json.dump(run(model, work, device, work["new_tokens"]), sys.stdout)


if __name__ == "__main__":
    main()
