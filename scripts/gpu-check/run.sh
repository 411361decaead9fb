#!/usr/bin/env bash
# Checks and measures grpo-2048 on this machine's GPU: run.sh [PART ..], without arguments all parts in this order:
#
#   facts       the GPU, the libraries, the tests that compare it with the processor, seconds of the first translation
#   kernels     what a token and an update spend their time on, kernel by kernel (needs ncu)
#   decoding    tokens a second, against the rate of the memory; CUDA graphs off and on
#   sanitizers  memory errors and races (needs compute-sanitizer)
#   updates     operations a second, micro-batches, peak memory
#   peers       the same work in PyTorch (needs a python3 with torch, transformers and peft)
#   training    fifty steps twice, whose weights must be the same; waiting and utilisation
#
# All parts take about 40 minutes. Needs the files beside it, a driver (580 or later; 550 for an archive made with CUDA=12),
# cuBLAS and cuRAND: those of an installed CUDA, or of the python3 in PATH (pip install nvidia-cublas nvidia-curand, for CUDA 12
# nvidia-cublas-cu12 nvidia-curand-cu12), or in the folders of GRPO_2048_CUDA_LIBS. Needs neither Rust nor a network. A part
# ends after PART_SECONDS (520), and goes on after what fails in it; "facts" says first whether the program can use the GPU,
# and if not why, and ends the run. Results are in results/ and in one archive, results.tar.gz; the table comes last. What
# nobody measured is printed as unmeasured.
#
#   GPU_CHECK_MODEL=M    model of the fifty training steps, a .gguf file or a directory; else the built-in one
#   GPU_CHECK_OUT=DIR    where results are left; else results beside this file. What is measured there is not measured again,
#                        unless it is of other programs, another device or a rehearsal
#   GPU_CHECK_SMALL=1    a rehearsal: the smallest model and batches, everything else as ever
#   GPU_CHECK_DEVICE=D   another device than cuda, for a rehearsal on a processor
set -uo pipefail
# Paths are those of the folder that this is started in.
model=${GPU_CHECK_MODEL:-builtin}
if [ "$model" != builtin ]; then
    [ -e "$model" ] || { echo "error: GPU_CHECK_MODEL: found no $model, expected a .gguf file or a directory" >&2; exit 2; }
    model=$(realpath "$model")
fi
[ -z "${GPU_CHECK_OUT:-}" ] || GPU_CHECK_OUT=$(realpath -m "$GPU_CHECK_OUT")
cd "$(dirname "$0")" || exit 2

all=(facts kernels decoding sanitizers updates peers training)
parts=("$@")
[ $# -gt 0 ] || parts=("${all[@]}")
for part in "${parts[@]}"; do
    [[ " ${all[*]} " == *" $part "* ]] || { echo "error: found '$part', expected one of ${all[*]}" >&2; exit 2; }
done
out=${GPU_CHECK_OUT:-$PWD/results}
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
small=${GPU_CHECK_SMALL:-0}
device=${GPU_CHECK_DEVICE:-cuda}
# What figures are of, in the names of their files: a table has those of one kind.
kind=$(cat grpo-2048 grpo-2048-bench old/grpo-2048-bench 2>/dev/null | sha256sum | head -c 8)-$device
[ "$small" = 0 ] || kind+=-small
failures=0
rm -f "$out/failures.txt"

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

# Seconds that are left of this part.
left() { echo $((deadline - SECONDS > 1 ? deadline - SECONDS : 1)); }

# A file name out of words.
named() { tr -c 'a-z0-9.\n' '-' <<<"$1"; }

# Runs a command for at most so many seconds and of the part; what it prints goes to a file of this name.
logged() {
    local seconds=$1 name=$2 status
    shift 2
    [ "$seconds" -le "$(left)" ] || seconds=$(left)
    echo "== $part: $name" >&2
    timeout -k 5 "$seconds" "$@" >"$out/$name.log" 2>&1
    status=$?
    if [ "$status" -ne 0 ]; then
        failures=$((failures + 1))
        echo "failed ($status): $*" | tee -a "$out/failures.txt" >&2
        tail -n 3 "$out/$name.log" >&2
    fi
    return "$status"
}

# The command of a benchmark as it is run: in a rehearsal with the smallest of everything.
sized() {
    if [ "$small" = 1 ]; then
        sed -E 's/--random-weights [^ ]+/--model builtin/; s/--batch [0-9]+/--batch 4/; s/--groups [0-9]+/--groups 2/
            s/--new-tokens [0-9]+/--new-tokens 6 --prompt-tokens 5/; s/--rounds [0-9]+/--rounds 1/; s/--lora-r [1-9][0-9]*/--lora-r 4/
            s/--micro-batch [0-9]+/--micro-batch 2/g; s/ --peer-[a-z-]+ [^ ]+//g' <<<"$1"
    else
        echo "$1"
    fi
}

# Runs a benchmark once, with the program of a folder, and leaves its JSON under its own name.
benchmark() {
    local folder=$1 command=$2 file
    shift 2
    file=$(named "$kind-$folder-$command")
    [ ! -s "$out/$file.json" ] || return 0
    # shellcheck disable=SC2046
    if logged 400 "$file" "$folder/grpo-2048-bench" $(sized "$command") --device "$device" --json "$@"; then
        grep '^{' "$out/$file.log" | tail -n 1 >"$out/$file.json"
    fi
}

rows_of() { awk -F ' *[|] *' -v part="$1" '$2 == part { print $3 }' rows.txt | sort -u; }

facts() {
    ! command -v nvidia-smi >/dev/null || logged 30 gpu nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem --format=csv
    logged 60 doctor ./grpo-2048 doctor
    grep -A 1 -E '^[a-z]+ +(program|gpu|cuda|device) ' "$out/doctor.log" | tee -a "$out/facts.txt"
    if [ "$device" = cuda ] && ! grep -qE '^ok +cuda ' "$out/doctor.log"; then
        echo "failed: the program cannot use the GPU, so there is nothing to measure; see the line of cuda above" |
            tee -a "$out/failures.txt"
        exit 1
    fi
    # The first start translates candle's kernels, later ones find them in the driver's cache.
    local start CUDA_CACHE_PATH=$out/driver-cache
    export CUDA_CACHE_PATH
    rm -rf "$CUDA_CACHE_PATH"
    for state in cold warm; do
        start=$SECONDS
        logged 120 "translation-$state" ./gpu-tests --exact logits_are_those_of_the_processor --nocapture
        echo "$state start and one test: $((SECONDS - start)) s" | tee -a "$out/facts.txt"
    done
    rm -rf "$CUDA_CACHE_PATH"
    unset CUDA_CACHE_PATH
    local some=()
    [ "$small" = 0 ] || some=(--exact tokens_drawn_on_the_gpu_are_those_that_their_numbers_fall_on)
    logged 300 tests ./gpu-tests --test-threads 1 --nocapture "${some[@]}"
    grep -E '^test .*FAILED|^test result' "$out/tests.log"
    benchmark . "generate --random-weights smollm2-135m --batch 8 --groups 2 --new-tokens 32 --rounds 1"
    benchmark . "train --random-weights smollm2-135m --batch 8 --groups 2 --new-tokens 32 --rounds 1"
}

kernels() {
    command -v ncu >/dev/null || { echo "no ncu: kernels are not measured one by one"; return; }
    local metrics=gpu__time_duration.sum,dram__throughput.avg.pct_of_peak_sustained_elapsed
    metrics+=,sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active
    local token="generate --device cuda --random-weights qwen2.5-1.5b --lora-r 32 --batch 64 --groups 8 --new-tokens 24 --rounds 1
        --set rollout.cuda_graphs=false"
    local update="train --device cuda --random-weights qwen2.5-1.5b --lora-r 32 --micro-batch 16 --batch 16 --groups 2
        --new-tokens 512 --rounds 1"
    for folder in . old; do
        [ -x "$folder/grpo-2048-bench" ] || continue
        # shellcheck disable=SC2086
        logged 150 "$(named "ncu-token-$folder")" ncu --clock-control none --csv --metrics "$metrics" -s 3000 -c 130 \
            "$folder/grpo-2048-bench" $token
    done
    # shellcheck disable=SC2086
    logged 200 ncu-update ncu --clock-control none --csv --metrics "$metrics" -s 2000 -c 400 ./grpo-2048-bench $update
}

decoding() {
    local folder command
    for folder in . old; do
        [ -x "$folder/grpo-2048-bench" ] || continue
        while read -r command; do benchmark "$folder" "$command"; done < <(rows_of decoding)
    done
    benchmark . "generate --random-weights qwen2.5-1.5b --lora-r 32 --batch 64 --groups 8 --new-tokens 512 --rounds 1" \
        --set rollout.cuda_graphs=false --against rollout.cuda_graphs=true
}

sanitizers() {
    command -v compute-sanitizer >/dev/null || { echo "no compute-sanitizer: nothing was looked for"; return; }
    local tool
    for tool in memcheck racecheck initcheck synccheck; do
        logged 70 "sanitizer-$tool" compute-sanitizer --tool "$tool" --error-exitcode 9 ./gpu-tests --exact \
            tokens_drawn_on_the_gpu_are_those_that_their_numbers_fall_on
    done
    logged 120 sanitizer-update compute-sanitizer --error-exitcode 9 ./gpu-tests --exact every_gradient_is_that_of_the_processor
}

updates() {
    local command base="train --random-weights qwen2.5-1.5b --lora-r 32 --batch 64 --groups 8 --new-tokens 512 --rounds 1"
    while read -r command; do benchmark . "$command"; done < <(rows_of updates)
    benchmark . "$base --micro-batch 4" --against grpo.micro_batch=32 --against grpo.gradient_checkpointing=on
    benchmark . "train --random-weights qwen2.5-1.5b --lora-r 32 --batch 16 --groups 2 --new-tokens 2048 --micro-batch 4 --rounds 1"
}

peers() {
    if ! python3 -c 'import torch, transformers, peft; assert torch.cuda.is_available()' 2>/dev/null; then
        echo "no python3 with torch, transformers, peft and a GPU: nothing to compare with"
        [ "$small" = 1 ] || return
    fi
    local command peer=(--peer python3)
    [ "$small" = 0 ] || peer=()
    while read -r command; do benchmark . "$command" "${peer[@]}"; done < <(rows_of peers)
}

# One run of training steps, its weights' digests in a file of this name.
trained() {
    local name=$1 steps=50 groups=8 generations=8
    shift
    [ "$small" = 0 ] || { steps=2 groups=1 generations=2; set -- "$@" --set rollout.max_completion_length=24; }
    rm -rf "$out/$name"
    logged 250 "$name" ./grpo-2048 train --device "$device" --steps "$steps" --groups "$groups" --num-generations "$generations" --seed 1 \
        --parallel-rewards 8 --output-dir "$out/$name" --set train.eval_samples=0 --set train.preflight=false "$@" || return
    (cd "$out/$name" && find . -name '*.safetensors' | sort | xargs sha256sum) >"$out/$name.digests"
}

training() {
    trained built-in-1
    trained built-in-2
    if [ -s "$out/built-in-1.digests" ] && [ -s "$out/built-in-2.digests" ]; then
        if cmp -s "$out/built-in-1.digests" "$out/built-in-2.digests"; then
            echo "two runs of one seed: the same bits" | tee -a "$out/facts.txt"
        else
            echo "failed: two runs of one seed have other bits" | tee -a "$out/facts.txt" "$out/failures.txt"
            failures=$((failures + 1))
        fi
    fi
    local run=built-in-1
    if [ "$model" != builtin ]; then
        run=steps
        trained "$run" --model "$model"
        trained steps-ahead --model "$model" --steps-ahead 1
    fi
    trained little-memory --set train.gpu_memory_fraction=0.1
    [ ! -s "$out/$run/metrics.jsonl" ] || means_of "$out/$run/metrics.jsonl" >"$out/$kind-steps.json"
}

# Means over all steps but the first, in which everything is done for the first time.
means_of() {
    awk '
        function number(key) { return match($0, "\"" key "\": *[0-9.e+-]+") ? substr($0, RSTART + length(key) + 3) + 0 : -1 }
        /"step_time"/ && seen++ {
            total += number("step_time"); wait += number("time/reward_wait")
            if (number("gpu/util") >= 0) { util += number("gpu/util"); read++ }
        }
        END {
            if (total <= 0) exit
            printf "{\"rows\":[{\"reward_wait\":{\"median\":%s}", wait / total
            if (read) printf ",\"gpu_util\":{\"median\":%s}", util / read / 100
            print "}]}"
        }' "$1"
}

# The median of a figure in the first row of a file: a share becomes percent, bytes become gigabytes.
figure() {
    local file=$1 key=$2 unit=$3 value
    value=$(sed 's/.*"rows":\[//' "$file" | grep -oE "\"$key\":\{[^}]*\"median\":[0-9.e+-]+" | head -n 1 | sed 's/.*"median"://')
    [ -n "$value" ] || return
    case $unit in
        %) awk -v x="$value" 'BEGIN { printf "%.1f %%", 100 * x }' ;;
        GB) awk -v x="$value" 'BEGIN { printf "%.1f GB", x / 1e9 }' ;;
        *) awk -v x="$value" 'BEGIN { printf "%.2fx", x }' ;;
    esac
}

# The rates of the device that a file was measured beside.
rates_of() {
    local of=copied_bytes_per_s
    for of in copied_bytes_per_s matmul_flops_per_s; do
        grep -oE "\"$of\":\{[^}]*\"median\":[0-9.e+-]+" "$1" | sed 's/.*"median"://' | awk '{ printf "%.1f ", $1 / 1e12 }'
    done
}

table() {
    printf '%-82s  %-12s  %-8s  %-8s  %s\n' "" measured minimum goal "TB/s, TFLOP/s beside it"
    local what part command key unit minimum goal file value
    while IFS='|' read -r what part command key unit minimum goal; do
        case $what in '' | '#'*) continue ;; esac
        read -r command <<<"$command"
        read -r key <<<"$key"
        read -r unit <<<"$unit"
        file=$out/$(named "$kind-.-$command").json
        [ "$command" != steps ] || file=$out/$kind-steps.json
        value=
        [ ! -s "$file" ] || value=$(figure "$file" "$key" "$unit")
        printf '%-82s  %-12s  %-8s  %-8s  %s\n' "$what" "${value:-unmeasured}" "$minimum" "$goal" \
            "$([ ! -s "$file" ] || rates_of "$file")"
    done <rows.txt
}

for part in "${parts[@]}"; do
    deadline=$((SECONDS + ${PART_SECONDS:-520}))
    "$part"
done
table >"$out/table.txt"
tar -czf "$out.tar.gz" --exclude '*.safetensors' -C "$(dirname "$out")" "$(basename "$out")"
echo
[ "$hardware" = yes ] || echo "== no GPU was found on this machine"
[ ! -s "$out/failures.txt" ] || sed 's/^/== /' "$out/failures.txt"
echo "== all results: $out.tar.gz"
cat "$out/table.txt"
exit "$((failures > 0))"
