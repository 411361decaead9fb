"""Log-probabilities, gradients, AdamW steps and GRPO updates of the tiny models, by torch, transformers and PEFT.

    python learning.py            reads {llama,qwen2,qwen3}/{config.json,model.safetensors} of decoders.py and writes
                                  {family}/learning.safetensors, and a LoRA adapter {family}/adapter with
                                  {family}/learning_lora.safetensors

tests/numbers/learning_goldens.rs repeats all of it. The loss is written out here in plain torch, a row at a time and without
padding, from the papers: clipped surrogate (Schulman et al. 2017, two clips of Yu et al. 2025), k3 penalty (Schulman
2020), entropy bonus, mean over all completion tokens.
"""

import importlib.metadata
import json
import pathlib

import peft
import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

HERE = pathlib.Path(__file__).parent
FAMILIES = ["llama", "qwen2", "qwen3"]
VERSIONS = {name: importlib.metadata.version(name) for name in ["torch", "transformers", "peft", "safetensors"]}
PROJECTIONS = [f"{name}_proj" for name in ["q", "k", "v", "o", "gate", "up", "down"]]

ADAMW = dict(lr=5e-3, betas=(0.9, 0.95), eps=1e-8)
WEIGHT_DECAY = 0.1
MAX_GRAD_NORM = 0.5
ADAMW_STEPS = 10

GRPO_STEPS, GRPO_ITERATIONS = 5, 2
TEMPERATURE, LOW, HIGH, BETA, ENTROPY = 0.8, 0.2, 0.28, 0.05, 0.01
PROMPTS = [[3, 17, 5], [9, 2, 30, 11, 4]]
COMPLETIONS = [[7, 7, 1, 19, 28, 6], [12, 0, 31, 8], [21, 15, 7, 3, 3, 26, 10], [5, 29]]


def trained(model):
    """Trained parameters by the names under which they are saved."""
    return {n.replace(".default", ""): p for n, p in model.named_parameters() if p.requires_grad}


def optimiser(model):
    parameters = list(trained(model).values())
    groups = [
        dict(params=[p for p in parameters if p.ndim > 1], weight_decay=WEIGHT_DECAY),
        dict(params=[p for p in parameters if p.ndim == 1], weight_decay=0.0),
    ]
    return torch.optim.AdamW([group for group in groups if group["params"]], **ADAMW)


def step(model, optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(trained(model).values(), MAX_GRAD_NORM)
    optimizer.step()
    return norm


def snapshot(model, prefix):
    return {f"{prefix}.{name}": value.detach().clone() for name, value in trained(model).items()}


def scored(model, ids):
    """Log-probability of each token after the first, and entropy of the distribution it was drawn from."""
    logp = torch.log_softmax(model(input_ids=torch.tensor([ids])).logits[0, :-1] / TEMPERATURE, -1)
    chosen = logp.gather(1, torch.tensor(ids[1:])[:, None])[:, 0]
    return chosen, -(logp.exp() * logp).sum(-1)


def completions(model):
    """Log-probabilities and entropies of the completions' tokens, one pair of lists a completion."""
    for index, completion in enumerate(COMPLETIONS):
        prompt = PROMPTS[index // 2]
        logp, entropy = scored(model, prompt + completion)
        yield logp[len(prompt) - 1 :], entropy[len(prompt) - 1 :]


def grpo_loss(model, sampled, reference, advantages):
    total = 0.0
    tokens = sum(map(len, COMPLETIONS))
    figures = dict(entropy=0.0, kl=0.0, low=0.0, high=0.0)
    for (logp, entropy), old, base, advantage in zip(completions(model), sampled, reference, advantages):
        ratio = (logp - old).exp()
        surrogate = torch.minimum(ratio * advantage, ratio.clamp(1 - LOW, 1 + HIGH) * advantage)
        k3 = (base - logp).exp() - (base - logp) - 1
        total = total + (-surrogate + BETA * k3 - ENTROPY * entropy).sum() / tokens
        figures["entropy"] += entropy.sum().item() / tokens
        figures["kl"] += k3.sum().item() / tokens
        figures["low"] += ((ratio < 1 - LOW) & (advantage < 0)).sum().item() / tokens
        figures["high"] += ((ratio > 1 + HIGH) & (advantage > 0)).sum().item() / tokens
    return total, figures


def learn(model, start, reference, seed):
    """`start()` puts the model where it began. Everything that the test compares with."""
    out = {}
    ids = torch.tensor([[3, 17, 5, 7, 7, 1, 19, 28, 6, 2], [9, 2, 30, 11, 4, 21, 15, 7, 3, 3]])
    out["ids"] = ids
    logp = torch.log_softmax(model(input_ids=ids).logits[:, :-1], -1).gather(2, ids[:, 1:, None])[..., 0]
    out["logp"] = logp.detach()
    (-logp.mean()).backward()
    out |= {f"grad.{name}": parameter.grad.clone() for name, parameter in trained(model).items()}

    optimizer, losses, norms = optimiser(model), [], []
    for _ in range(ADAMW_STEPS):
        logp = torch.log_softmax(model(input_ids=ids).logits[:, :-1], -1).gather(2, ids[:, 1:, None])[..., 0]
        loss = -logp.mean()
        norms.append(step(model, optimizer, loss))
        losses.append(loss.detach())
    out |= snapshot(model, "adamw") | {"adamw_losses": torch.stack(losses), "adamw_norms": torch.stack(norms)}

    start()
    torch.manual_seed(seed)
    optimizer, records, advantages, old = optimiser(model), [], [], []
    for _ in range(GRPO_STEPS):
        with torch.no_grad():
            sampled = [logp + 0.15 * torch.randn_like(logp) for logp, _ in completions(model)]
        advantages.append(torch.randn(len(COMPLETIONS)))
        old.append(torch.cat(sampled))
        record = torch.zeros(6)
        for _ in range(GRPO_ITERATIONS):
            loss, figures = grpo_loss(model, sampled, reference, advantages[-1])
            norm = step(model, optimizer, loss)
            record += torch.tensor([loss.item(), norm.item(), *figures.values()]) / GRPO_ITERATIONS
        records.append(record)
    out |= snapshot(model, "grpo")
    out |= {"advantages": torch.stack(advantages), "sampled": torch.stack(old), "grpo_records": torch.stack(records)}
    return {name: value.contiguous() for name, value in out.items()}


def fixed(model):
    with torch.no_grad():
        return [logp.detach() for logp, _ in completions(model)]


def resettable(model):
    began = {name: value.detach().clone() for name, value in trained(model).items()}

    def start():
        with torch.no_grad():
            for name, parameter in trained(model).items():
                parameter.copy_(began[name])

    return start


def save_adapter(model, out, family):
    """As PEFT saves it, without what differs from one machine or run to the next."""
    model.save_pretrained(out)
    (out / "README.md").unlink()
    config = json.loads((out / "adapter_config.json").read_text())
    config |= {"base_model_name_or_path": family, "target_modules": sorted(config["target_modules"])}
    (out / "adapter_config.json").write_text(json.dumps(config, indent=1) + "\n")


def write(family):
    out = HERE / family
    model = AutoModelForCausalLM.from_pretrained(out, dtype=torch.float32, attn_implementation="eager").eval()
    start = resettable(model)
    save_file(learn(model, start, fixed(model), 1), out / "learning.safetensors", VERSIONS)
    start()
    torch.manual_seed(2)
    settings = peft.LoraConfig(
        r=3, lora_alpha=6, target_modules=PROJECTIONS, init_lora_weights=False, task_type="CAUSAL_LM"
    )
    model = peft.get_peft_model(model, settings).eval()
    save_adapter(model, out / "adapter", family)
    with model.disable_adapter():
        reference = fixed(model)
    save_file(learn(model, resettable(model), reference, 3), out / "learning_lora.safetensors", VERSIONS)


for family in FAMILIES:
    write(family)
