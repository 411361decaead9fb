"""Tiny models as llama.cpp stores them, in every quantisation that people bring, with the numbers of transformers.

    python gguf_files.py          writes gguf/NAME.{gguf,safetensors,json}

Weights go through the gguf package: it quantises and dequantises them, and transformers computes the logits with the
dequantised ones. Blocks that the package can only read (the K kinds) are drawn at random. Tokenizers are made with the
pipelines of the models' own tokenizer.json and stored as llama.cpp's converter stores them. crates/decoder/src/tests/gguf.rs
loads the files and must find the same logits and the same tokens.
"""

import json
import pathlib

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Kind
from safetensors.torch import save_file
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config, Qwen3Config

OUT = pathlib.Path(__file__).parent / "gguf"
CONTROL, USER_DEFINED, NORMAL = 3, 4, 1
CASED = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
TEXTS = [
    "def strategy(board):\n    return 'W' if board[0][0] == 2048 else \"A\"\n",
    "  It'S we'LL 123456 x1y22\r\n\r\n\tend   ",
    "Caf\u00e9 cafe\u0301 \u00fc\u4f60\u597d \U0001f600 na\u00efve",
    "<|im_start|>user\nhi<|im_end|><tool_call>{}</tool_call><|eot_id|>",
    "\n\n   \n for i in range(16): pass # 4,096",
]
CORPUS = TEXTS * 3 + ["strategy board return range left right up down merge score = max(moves, key=value)"]


def split(pattern: str) -> pre_tokenizers.PreTokenizer:
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), byte_level])


def tokenizer(pre: str) -> Tokenizer:
    tok = Tokenizer(models.BPE(ignore_merges=pre == "llama-bpe"))
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if pre == "qwen2":
        tok.normalizer = normalizers.NFC()
        tok.pre_tokenizer = split(CASED % r"\p{N}")
    elif pre == "llama-bpe":
        tok.pre_tokenizer = split(CASED % r"\p{N}{1,3}")
    else:
        tok.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level])
    tok.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tok.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=330, initial_alphabet=alphabet, show_progress=False))
    if pre == "llama-bpe":
        # A token that no merges lead to: only a tokenizer that looks for whole pieces first finds it.
        described = json.loads(tok.to_str())
        vocab = described["model"]["vocab"]
        vocab["Ġ" + "naïve".encode().decode("latin-1")] = len(vocab)
        tok = Tokenizer.from_str(json.dumps(described))
    ends = ["<|end_of_text|>", "<|eot_id|>"] if pre == "llama-bpe" else ["<|endoftext|>", "<|im_end|>", "<|im_start|>"]
    tok.add_special_tokens([AddedToken(end, normalized=False, special=True) for end in ends])
    tok.add_tokens([AddedToken("<tool_call>", normalized=False), AddedToken("</tool_call>", normalized=False)])
    return tok


def write_tokens(writer: gguf.GGUFWriter, tok: Tokenizer, pre: str) -> dict:
    described = json.loads(tok.to_str())
    vocab = sorted(tok.get_vocab(with_added_tokens=True).items(), key=lambda item: item[1])
    kinds = {added["content"]: CONTROL if added["special"] else USER_DEFINED for added in described["added_tokens"]}
    end = "<|eot_id|>" if pre == "llama-bpe" else "<|im_end|>"
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list([token for token, _ in vocab])
    writer.add_token_types([kinds.get(token, NORMAL) for token, _ in vocab])
    writer.add_token_merges([" ".join(merge) for merge in described["model"]["merges"]])
    writer.add_eos_token_id(tok.token_to_id(end))
    writer.add_bos_token_id(tok.token_to_id(next(iter(kinds))))
    stops = [tok.token_to_id(token) for token in kinds if token in ("<|end_of_text|>", "<|endoftext|>", end)]
    encoded = [{"text": text, "ids": tok.encode(text, add_special_tokens=False).ids} for text in TEXTS]
    for entry in encoded:
        entry["decoded"] = tok.decode(entry["ids"], skip_special_tokens=True)
    return {"eos": tok.token_to_id(end), "stop_ids": sorted(stops), "texts": encoded}


def drawn_blocks(kind: Kind, shape, rng) -> np.ndarray:
    """Random blocks of a kind that the package cannot write; scales are small, everything else is any byte."""
    block, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = rng.integers(0, 256, (shape[0], shape[1] // block, size), dtype=np.uint8)
    places = {Kind.Q2_K: (80, 82), Kind.Q3_K: (108,), Kind.Q4_K: (0, 2), Kind.Q5_K: (0, 2), Kind.Q6_K: (208,)}[kind]
    for place in places:
        scale = rng.uniform(2e-4, 6e-4, blocks.shape[:2]).astype(np.float16)
        blocks[:, :, place : place + 2] = scale[..., None].view(np.uint8)
    return blocks.reshape(shape[0], -1)


def stored(weight: np.ndarray, kind: Kind, rng) -> np.ndarray:
    if kind in (Kind.Q2_K, Kind.Q3_K, Kind.Q4_K, Kind.Q5_K, Kind.Q6_K):
        return drawn_blocks(kind, weight.shape, rng)
    return gguf.quantize(weight, kind)


def permuted(weight: np.ndarray, heads: int) -> np.ndarray:
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def unpermuted(weight: np.ndarray, heads: int) -> np.ndarray:
    rows, columns = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def gguf_name(name: str) -> str:
    module, kind = name.rsplit(".", 1)
    if module.startswith("model.layers."):
        _, _, layer, part = module.split(".", 3)
        return f"blk.{layer}.{NAMES[part]}.{kind}"
    return f"{NAMES[module]}.{kind}"


def write_header(writer: gguf.GGUFWriter, config) -> None:
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_rope_dimension_count(head_dim)
    rope = config.rope_parameters
    if rope["rope_type"] == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rope["factor"])
    if rope["rope_type"] == "llama3":
        # As convert_hf_to_gguf.py writes them.
        base = rope["rope_theta"] ** (torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)
        old, low, high = rope["original_max_position_embeddings"], rope["low_freq_factor"], rope["high_freq_factor"]
        divisors = []
        for frequency in 1.0 / base:
            length = 2 * torch.pi / frequency
            smooth = (old / length - low) / (high - low)
            middle = 1 / ((1 - smooth) / rope["factor"] + smooth)
            divisors.append(1.0 if length < old / high else rope["factor"] if length > old / low else float(middle))
        writer.add_tensor("rope_freqs.weight", np.array(divisors, dtype=np.float32))


def write(name: str, config, pre: str, kinds: dict[str, Kind]) -> None:
    torch.manual_seed(3)
    rng = np.random.default_rng(3)
    tok = tokenizer(pre)
    config.vocab_size = tok.get_vocab_size(with_added_tokens=True)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").float().eval()
    writer = gguf.GGUFWriter(OUT / f"{name}.gguf", config.model_type)
    write_header(writer, config)
    expected = write_tokens(writer, tok, pre)
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
            turned = heads.get(key.split(".")[-2]) if config.model_type == "llama" and parameter.dim() == 2 else None
            weight = parameter.numpy().copy()
            weight = permuted(weight, turned) if turned else weight
            short = key.replace("model.layers.", "").removesuffix(".weight")
            kind = kinds.get(short, Kind.F32) if weight.ndim == 2 else Kind.F32
            blocks = stored(weight, kind, rng)
            writer.add_tensor(gguf_name(key), blocks, raw_dtype=kind)
            back = gguf.dequantize(blocks, kind).astype(np.float32).reshape(weight.shape)
            parameter.copy_(torch.from_numpy(unpermuted(back, turned) if turned else back))
        ids = torch.randint(0, config.vocab_size, (1, 13))
        logits = model(input_ids=ids).logits
    whole = tok.token_to_id("Ġ" + "naïve".encode().decode("latin-1"))
    assert (pre == "llama-bpe") == any(whole in entry["ids"] for entry in expected["texts"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert logits.std() > 0.05, logits.std()
    save_file({"ids": ids, "logits": logits}, OUT / f"{name}.safetensors")
    expected["kinds"] = sorted({kind.name for kind in kinds.values()})
    (OUT / f"{name}.json").write_text(json.dumps(expected) + "\n")


SMALL = dict(hidden_size=16, intermediate_size=24, num_hidden_layers=2, max_position_embeddings=64)
HEADS = dict(num_attention_heads=4, num_key_value_heads=2)
LLAMA3 = dict(
    rope_type="llama3",
    rope_theta=500000.0,
    factor=8.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=8192,
)
QUANTISED = {
    "model.embed_tokens": Kind.Q8_0,
    "lm_head": Kind.Q4_1,
    "0.self_attn.q_proj": Kind.Q4_K,
    "0.self_attn.k_proj": Kind.Q5_K,
    "0.self_attn.v_proj": Kind.Q6_K,
    "0.self_attn.o_proj": Kind.Q4_0,
    "0.mlp.gate_proj": Kind.Q5_0,
    "0.mlp.up_proj": Kind.Q3_K,
    "0.mlp.down_proj": Kind.Q2_K,
    "1.self_attn.q_proj": Kind.BF16,
    "1.self_attn.k_proj": Kind.F16,
    "1.self_attn.v_proj": Kind.Q8_0,
    "1.self_attn.o_proj": Kind.Q5_1,
    "1.mlp.gate_proj": Kind.Q4_K,
    "1.mlp.up_proj": Kind.Q4_0,
    "1.mlp.down_proj": Kind.Q6_K,
}
OUT.mkdir(exist_ok=True)
wide = dict(SMALL, hidden_size=256, intermediate_size=256, head_dim=16)
write("llama-quantised", LlamaConfig(**wide, **HEADS, rope_parameters=LLAMA3, tie_word_embeddings=False), "llama-bpe", QUANTISED)
linear = dict(rope_type="linear", rope_theta=10000.0, factor=2.0)
write("smollm-linear", LlamaConfig(**SMALL, **HEADS, rope_parameters=linear, tie_word_embeddings=True), "smollm", {})
plain = dict(rope_type="default", rope_theta=1000000.0)
half = {f"{layer}.self_attn.q_proj": Kind.F16 for layer in range(2)}
write("qwen2", Qwen2Config(**SMALL, **HEADS, rope_parameters=plain, tie_word_embeddings=True), "qwen2", half)
write("qwen3", Qwen3Config(**SMALL, **HEADS, head_dim=6, rope_parameters=plain, tie_word_embeddings=False), "qwen2", {})
