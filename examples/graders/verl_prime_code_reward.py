"""verl's `prime_code` as a reward, for `grpo-2048 check --grader examples/graders/verl_prime_code_reward.py:reward`.

Needs `pip install verl`. The columns are those of APPS and TACO, which verl's scorer reads.
"""

from verl.utils.reward_score.prime_code import compute_score


def reward(completions, entry_point, inputs, outputs, **columns):
    rewards = []
    for text, name, given, expected in zip(completions, entry_point, inputs, outputs):
        tests = {"inputs": given, "outputs": expected}
        if name:
            tests["fn_name"] = name
        rewards.append(float(compute_score(text, tests, continuous=True)[0]))
    return rewards
