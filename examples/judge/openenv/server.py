"""OpenEnv: an environment whose action is a program, served over a WebSocket as OpenEnv's clients ask.

    JUDGE_ENV=tasks.jsonl uvicorn server:app --port 8000

`reset(id="add")` begins with that task, `reset(seed=7)` with the task for training of that number, and `reset()` with the next one of
the connection. An episode ends with a program that passes, or after `turns` programs (`reset(turns=3)`; 1 if nothing is said).
"""

import os

from grpo_sandbox import Judge
from openenv.core.env_server import Action, Environment, Observation, State, create_app

judge = Judge(env=os.environ.get("JUDGE_ENV", "examples/tasks/micro.jsonl"))
REQUESTS = {request["id"]: request for request in judge.requests()}
TRAINED_ON = [request for request in REQUESTS.values() if not request["held_out"]]


class ProgramAction(Action):
    program: str  # the text of a completion, with a program in it


class ProgramObservation(Observation):
    id: str
    system: str = ""
    prompt: str = ""
    verdict: str = ""
    passed: int = 0
    tests: int = 0
    feedback: str = ""  # what the author may be told before writing again


class ProgramState(State):
    id: str = ""
    turns: int = 1


class ProgramEnvironment(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self._state, self._resets, self._is_over = ProgramState(), 0, False

    def reset(self, seed=None, episode_id=None, id=None, turns=1):
        if id is None and not TRAINED_ON:
            raise ValueError(f"no task for training; held-out ones are asked by their id, such as {next(iter(REQUESTS))!r}")
        number = self._resets if seed is None else seed
        # Data sets have integers as names of tasks.
        request = TRAINED_ON[number % len(TRAINED_ON)] if id is None else REQUESTS.get(str(id))
        if request is None:
            raise ValueError(f"no task {id!r}; there are {len(REQUESTS)}, such as {next(iter(REQUESTS))!r}")
        self._resets, self._is_over = self._resets + 1, False
        self._state = ProgramState(episode_id=episode_id or f"{request['id']}-{self._resets}", id=request["id"], turns=turns)
        return ProgramObservation(id=request["id"], system=request["system"], prompt=request["prompt"])

    def step(self, action, timeout_s=None):
        if not self._state.id:
            raise ValueError("reset comes before step")
        if self._is_over:
            raise ValueError("the episode is over; reset comes before the next program")
        judged = judge.judge([action.program], [self._state.id])[0]
        self._state.step_count += 1
        self._is_over = judged["verdict"] == "succeeded" or self._state.step_count >= self._state.turns
        told = {key: judged[key] for key in ("id", "verdict", "passed", "tests", "feedback", "reward")}
        return ProgramObservation(**told, done=self._is_over)

    @property
    def state(self):
        return self._state


app = create_app(ProgramEnvironment, ProgramAction, ProgramObservation, env_name="grpo_2048", max_concurrent_envs=512)
