#!/usr/bin/env bash
# Checks and measures grpo-2048 on this machine's GPU: run.sh [tests|bench] [PATTERN]. Without arguments both; PATTERN
# picks rows of the table by their words. Needs the files beside it, CUDA's libraries, and for the comparisons a python3
# with torch, transformers and peft; neither Rust nor a network. What nobody measured is printed as unmeasured.
#
#   GPU_CHECK_MODEL=M  model of the fifty training steps: a .gguf file or a directory
#   GPU_CHECK_OUT=DIR  where logs are left; else results beside this file
set -uo pipefail
cd "$(dirname "$0")" || exit 2

part=${1:-all}
pattern=${2:-}
case $part in all | tests | bench) ;; *) echo "error: found '$part', expected tests or bench" >&2; exit 2 ;; esac
out=${GPU_CHECK_OUT:-$PWD/results}
mkdir -p "$out" || exit 2
rm -f "$out"/*.csv "$out"/*.failed
failures=0

# Where the wheels of PyTorch leave NVIDIA's libraries.
if [ -z "${GRPO_2048_CUDA_LIBS:-}" ] && command -v python3 >/dev/null; then
    GRPO_2048_CUDA_LIBS=$(python3 -c 'import sys; print(":".join(p for p in sys.path if p.endswith("-packages")))')
    export GRPO_2048_CUDA_LIBS
fi

# A machine that has the device must be able to use it.
hardware=no
if [ -e /dev/nvidiactl ] || [ -e /dev/dxg ] || nvidia-smi -L >/dev/null 2>&1; then
    hardware=yes
    export GPU_CHECK=1
fi
usable=no
if ./gpu-tests --exact logits_are_those_of_the_processor --nocapture >"$out/gpu.log" 2>&1; then
    grep -q "no GPU: not run" "$out/gpu.log" || usable=yes
fi
reason=$(sed -n 's/.*no GPU: not run (\(.*\))$/\1/p; s/.*GPU_CHECK=1 and no GPU: //p' "$out/gpu.log" | head -n 1)

if [ "$part" != bench ]; then
    echo "== GPU tests"
    ./gpu-tests --nocapture --test-threads 1 2>&1 | tee "$out/tests.log" | grep -E '^test |^no GPU|^error|panicked|^test result'
    [ "${PIPESTATUS[0]}" -eq 0 ] || failures=$((failures + 1))
fi
[ "$part" != tests ] || exit "$((failures > 0))"

peer=()
if [ "$usable" = yes ] && python3 -c 'import torch, transformers, peft; assert torch.cuda.is_available()' 2>/dev/null; then
    peer=(--peer python3)
fi

# The file that a command's figures are in; measures it first, once. Empty where it cannot be measured.
figures_of() {
    local command=$1 file
    [ "$usable" = yes ] || return
    file=$out/$(tr -c 'a-z0-9.\n' '-' <<<"$command")
    if [ ! -e "$file.csv" ] && [ ! -e "$file.failed" ]; then
        case $command in
            steps) fifty_steps "$file" ;;
            *) benchmark "$file" $command ;;
        esac
    fi
    [ ! -s "$file.csv" ] || echo "$file.csv"
}

# A command that this build does not have yet leaves its rows unmeasured; one that fails is a failure.
benchmark() {
    local file=$1
    shift
    if ! ./grpo-2048-bench "$1" --help >/dev/null 2>&1; then
        echo "grpo-2048-bench $1: not in this build" >&2
        return
    fi
    echo "grpo-2048-bench $*" >&2
    if ! ./grpo-2048-bench "$@" --device cuda "${peer[@]}" --csv >"$file.csv" 2>"$file.log"; then
        mv "$file.csv" "$file.failed"
        tail -n 5 "$file.log" >&2
    fi
}

fifty_steps() {
    local file=$1
    if [ -z "${GPU_CHECK_MODEL:-}" ]; then
        echo "training steps: GPU_CHECK_MODEL names no model" >&2
        return
    fi
    echo "fifty steps of $GPU_CHECK_MODEL" >&2
    rm -rf "$out/run"
    if ! ./grpo-2048 train --model "$GPU_CHECK_MODEL" --device cuda --steps 50 --groups 8 --num-generations 8 \
        --parallel-rewards 8 --output-dir "$out/run" --set train.eval_samples=0 >"$file.log" 2>&1; then
        touch "$file.failed"
        tail -n 5 "$file.log" >&2
        return
    fi
    # Means over all steps but the first, in which everything is done for the first time.
    awk '
        function number(key) { return match($0, "\"" key "\": *[0-9.e+-]+") ? substr($0, RSTART + length(key) + 3) + 0 : -1 }
        /"step_time"/ && seen++ {
            total += number("step_time"); wait += number("time/reward_wait")
            if (number("gpu/util") >= 0) { util += number("gpu/util"); read++ }
        }
        END {
            print "way,reward_wait,gpu_util"
            if (total > 0) printf "steps,%s,%s\n", wait / total, (read ? util / read / 100 : "unmeasured")
        }' "$out/run/metrics.jsonl" >"$file.csv"
}

# One figure of the first row below the names; a share becomes percent, bytes become gigabytes.
figure() {
    local file=$1 key=$2 unit=$3
    awk -F, -v key="$key" -v unit="$unit" '
        NR == 1 { for (place = 1; place <= NF; place++) if ($place == key) column = place }
        NR == 2 {
            value = column ? $column : ""
            if (value !~ /^[0-9.e+-]+$/) print "unmeasured"
            else if (unit == "%") printf "%.1f %%\n", 100 * value
            else if (unit == "GB") printf "%.1f GB\n", value / 1e9
            else printf "%.2f%s\n", value, unit
        }' "$file"
}

trimmed() { sed 's/^ *//; s/ *$//' <<<"$1"; }

table=$out/table.txt
printf '%-70s  %-12s  %-8s  %s\n' "" measured minimum goal >"$table"
while IFS='|' read -r what command key unit minimum goal; do
    case $what in '' | '#'*) continue ;; esac
    [[ $what == *"$pattern"* ]] || continue
    command=$(trimmed "$command")
    file=$(figures_of "$command")
    value=$([ -z "$file" ] || figure "$file" "$(trimmed "$key")" "$(trimmed "$unit")")
    [ ! -e "$out/$(tr -c 'a-z0-9.\n' '-' <<<"$command").failed" ] || { value=failed; failures=$((failures + 1)); }
    printf '%-70s  %-12s  %-8s  %s\n' "$(trimmed "$what")" "${value:-unmeasured}" "$(trimmed "$minimum")" "$(trimmed "$goal")" >>"$table"
done <rows.txt

echo
if [ "$usable" = yes ]; then
    echo "== $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || echo "a GPU")"
    [ ${#peer[@]} -gt 0 ] || echo "no python3 with torch, transformers and peft: nothing to compare with"
elif [ "$hardware" = yes ]; then
    echo "== the GPU of this machine cannot be used: $reason"
else
    echo "== no GPU: nothing was measured ($reason)"
fi
cat "$table"
exit "$((failures > 0))"
