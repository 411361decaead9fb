#!/usr/bin/env bash
# Installs the wheel of `make wheel` into an empty environment and uses it: a first verdict with nothing compiled yet, the program,
# the Python package, and the examples for TRL, verl and verifiers, with the package and with the program
# alone, as an archive brings it. The demonstration takes half of its steps; `DEMO_STEPS=40 make wheel-test` takes all of them, and
# compares the figures of README too.
set -euo pipefail
cd "$(dirname "$0")/.."

wheels=(target/wheels/*.whl)
megabytes=$(($(stat -c %s "${wheels[0]}") / 1000000))
[ "$megabytes" -le 40 ] || { echo "error: ${wheels[0]} has $megabytes MB; expected 40 at most" >&2; exit 1; }

begin=$(date +%s)
empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
python3 -m venv "$empty/venv"
export PATH=$empty/venv/bin:$PATH
pip install --quiet --disable-pip-version-check --no-index "${wheels[0]}"
echo '{"id": "add", "completion": "def add(a, b):\n    return a + b"}' > "$empty/completions.jsonl"
XDG_CACHE_HOME=$empty/cache grpo-2048 judge --env examples/tasks/micro.jsonl < "$empty/completions.jsonl" | grep -q '"verdict":"succeeded"'
echo "a wheel of $megabytes MB; $(($(date +%s) - begin)) s from an empty environment to the first verdict"

[ "$(command -v grpo-2048)" = "$empty/venv/bin/grpo-2048" ]
for file in man/man1/grpo-2048.1 doc/grpo-2048/THIRD-PARTY.md; do
    [ -s "$empty/venv/share/$file" ] || { echo "error: ${wheels[0]} lacks share/$file" >&2; exit 1; }
done
steps=${DEMO_STEPS:-20}
(cd "$empty" && grpo-2048 demo --steps "$steps" > demo.txt 2>&1 && grep -q "what next" demo.txt && [ -s runs/demo-001/report.html ])
python tests/readers/shown.py "$empty/demo.txt" "$steps"
python tests/readers/trackers.py "$empty/runs/demo-001"
python - "$empty/runs/demo-001/metrics.jsonl" <<'PY'
import json, sys

scores = [line["eval_game/mean_score"] for line in map(json.loads, open(sys.argv[1])) if "eval_game/mean_score" in line]
print(f"held-out mean score of the demonstration: {scores[0]:.0f}, after its last step {scores[-1]:.0f}")
assert scores[-1] > 2 * scores[0]
PY
python tests/readers/judge_package.py
python tests/readers/judge_examples.py
python tests/readers/audit_action.py "${wheels[0]}"
# That of the build may be linked once more meanwhile.
cp "$(command -v grpo-2048)" "$empty/grpo-2048"
pip uninstall --quiet --yes grpo-2048
# The program without the package, from an archive that install.sh of the same release fetches.
BIN=$empty/grpo-2048 RELEASES=file://$PWD/target/dist scripts/release.sh > /dev/null
env -u XDG_DATA_HOME -u GRPO_2048_RELEASES HOME="$empty" sh target/dist/install.sh --to "$empty/program"
PATH=$empty/program:$PATH python tests/readers/judge_examples.py
