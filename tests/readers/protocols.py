"""Environments and tools of examples/judge, used by the real packages of those they are for, as far as these are installed.

    protocols.py [PACKAGE ..]    these alone, and an error where one of them is not installed
"""

import asyncio
import contextlib
import importlib.metadata
import importlib.util
import json
import os
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import urllib.request

from documents import block

RIGHT = "```python\ndef add(a, b):\n    return a + b\n```"
WRONG = "def add(a, b):\n    return 7"
TASKS = os.path.abspath("examples/tasks/micro.jsonl")
os.environ["JUDGE_ENV"] = TASKS


def module(path):
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextlib.contextmanager
def served(command, health, **options):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    try:
        for _ in range(300):
            assert process.poll() is None, f"{command}: ended with {process.returncode}"
            with contextlib.suppress(OSError), urllib.request.urlopen(health, timeout=5):
                break
            time.sleep(0.2)
        else:
            raise AssertionError(f"{health}: no answer")
        yield
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def held_out():
    """A file of one task, which is held out and has an integer for a name."""
    tests = [{"args": "(1, 2)", "expected": "3"}, {"args": "(5, 5)", "expected": "10"}]
    task = {"id": 7, "prompt": "Write `add(a, b)`, the sum.", "entry_point": "add", "tests": tests, "split": "held_out"}
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.write(json.dumps(task) + "\n")
        file.flush()
        yield file.name


async def refused(words, asked):
    """Asks for what OpenEnv answers with an error of these words."""
    try:
        answer = await asked
    except RuntimeError as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"expected an error with {words!r}, found {answer}")


def openenv():
    """A server of OpenEnv's own framework, asked by OpenEnv's client over its WebSocket."""
    from openenv.core import GenericEnvClient

    address = f"127.0.0.1:{(port := free_port())}"
    command = [sys.executable, "-m", "uvicorn", "server:app", "--port", str(port)]
    with served(command, f"http://{address}/health", cwd="examples/judge/openenv"):

        async def play():
            async with GenericEnvClient(f"http://{address}") as one, GenericEnvClient(f"http://{address}") as other:
                began = await one.reset(id="add", turns=2)
                assert "add(a, b)" in began.observation["prompt"] and not began.done, began
                assert (await other.reset(seed=1)).observation["id"] != (await other.reset(seed=2)).observation["id"]
                wrong = await one.step({"program": WRONG})
                assert (wrong.reward, wrong.done, wrong.observation["verdict"]) == (0.0, False, "wrong_answer"), wrong
                assert "add(1, 2) gave 7, expected 3" in wrong.observation["feedback"], wrong
                right = await one.step({"program": RIGHT})
                assert (right.reward, right.done, right.observation["verdict"]) == (1.0, True, "succeeded"), right
                state = await one.state()
                assert (state["id"], state["step_count"], state["turns"]) == ("add", 2, 2), state
                await refused("the episode is over", one.step({"program": WRONG}))
                assert (await one.state())["step_count"] == 2, "what is refused is no step"
                await one.reset(id="add")
                assert (await one.step({"program": WRONG})).done, "an episode of one program, after another one"
                await refused("the episode is over", one.step({"program": RIGHT}))
                await refused("no task 'nope'", other.reset(id="nope"))
                assert (await other.reset()).observation["prompt"], "an error ends no connection"

        asyncio.run(play())
        # The lines of docs/protocols.md; the last of them is what they give.
        *lines, last = block("docs/protocols.md", "from openenv.core import").replace("127.0.0.1:8000", address.removeprefix("http://")).splitlines()
        body = "\n".join([*lines, last.replace("step.reward", "return step.reward", 1)])
        exec("async def page():\n" + textwrap.indent(body, "    "), names := {})
        assert asyncio.run(names["page"]())[:3] == (1.0, True, "succeeded")

    async def play_held_out(address):
        async with GenericEnvClient(f"http://{address}") as env:
            await refused("no task for training", env.reset())
            await refused("no task for training", env.reset(seed=3))
            assert (await env.reset(id=7)).observation["id"] == "7"
            assert (await env.step({"program": RIGHT})).reward == 1.0

    address = f"127.0.0.1:{(port := free_port())}"
    command = [sys.executable, "-m", "uvicorn", "server:app", "--port", str(port)]
    with held_out() as tasks:
        environment = {**os.environ, "JUDGE_ENV": tasks}
        with served(command, f"http://{address}/health", cwd="examples/judge/openenv", env=environment):
            asyncio.run(play_held_out(address))


def verifiers():
    """The taskset of the installed package, found by its name and scored by verifiers' own code, in one turn and in several."""
    from verifiers.v1.utils.loaders import load_taskset, taskset_config_type

    config = taskset_config_type("grpo-2048-tasks").model_validate({"id": "grpo-2048-tasks", "source": TASKS})
    tasks = list(load_taskset(config).load())
    add = next(task for task in tasks if task.data.id == "add")
    assert len(tasks) > 10 and add.data.prompt and add.data.system_prompt, add
    for text, expected in [(RIGHT, 1.0), (WRONG, 0.0)]:
        reply = type("Reply", (), {"last_reply": text})
        assert asyncio.run(add.judged(reply)) == expected
    verifiers_turns()


def verifiers_turns():
    """verifiers' own episodes of the package's environment, with a model behind HTTP whose answers are given to it."""
    import http.server
    import threading

    import verifiers.v1 as vf
    from verifiers.v1.clients.client import ModelContext
    from verifiers.v1.configs.client import EvalClientConfig
    from verifiers.v1.utils.loaders import load_environment, resolve_env_config

    asked = []

    class Model(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            messages = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
            asked.append([message["content"] for message in messages if message["role"] == "user"])
            delta = {"role": "assistant", "content": WRONG if len(asked[-1]) == 1 else RIGHT}
            chunk = {"id": "a", "object": "chat.completion.chunk", "created": 0, "model": "given"}
            chunks = [[{"index": 0, "delta": delta}], [{"index": 0, "delta": {}, "finish_reason": "stop"}]]
            events = [json.dumps(chunk | {"choices": choices}) for choices in chunks] + ["[DONE]"]
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write("".join(f"data: {event}\n\n" for event in events).encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["GIVEN_KEY"] = "none"
    client = EvalClientConfig(base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key_var="GIVEN_KEY")

    async def episode(turns):
        taskset = {"id": "grpo-2048-tasks", "source": TASKS}
        settings = {"taskset": taskset, "turns": turns}
        environment = load_environment(resolve_env_config(settings))
        add = next(task for task in environment.taskset.load() if task.data.id == "add")
        async with environment.serving():
            found = await environment.run_episode(add, ModelContext(model="given", client=client))
        assert not found.errors, found.errors
        [trace] = found.traces
        assert not trace.errors, trace.errors
        return trace.reward

    for turns, reward, prompts in [(1, 0.0, [1]), (3, 1.0, [1, 2])]:
        asked.clear()
        assert asyncio.run(episode(turns)) == reward
        assert [len(words) for words in asked] == prompts, asked
    assert "add(1, 2) gave 7, expected 3" in asked[-1][1], asked
    server.shutdown()


def verl():
    """The tool that verl's registry makes of the file, called as `ToolAgentLoop` calls it, and the score of the answer."""
    from verl.tools.tool_registry import initialize_tools_from_config

    sys.path.insert(0, os.getcwd())
    [tool] = initialize_tools_from_config("examples/judge/verl_tools.yaml")

    async def call(code):
        instance, _ = await tool.create(create_kwargs={"id": "add"})
        try:
            response, reward, _ = await tool.execute(instance, {"code": code}, agent_data=None)
        finally:
            await tool.release(instance)
        return response.text, reward

    async def calls():
        return await asyncio.gather(call(RIGHT), call(WRONG))

    (passed, full), (failed, none) = asyncio.run(calls())
    assert (passed, full, none) == ("The program passes every test.", 1.0, 0.0) and "gave 7" in failed, (passed, failed)
    compute_score = module("examples/judge/verl_reward.py").compute_score
    assert compute_score("tasks", RIGHT, "add", {"index": 0})["score"] == 1.0


def nemo_gym():
    """The resources server's own routes, with requests as agents of NeMo-Gym send them."""
    from fastapi.testclient import TestClient
    from nemo_gym import base_resources_server
    from nemo_gym.server_utils import ServerClient

    app = module("examples/judge/nemo_gym/app.py")

    def client_of(tasks):
        named = dict(host="127.0.0.1", port=free_port(), entrypoint="app.py", name="programs", domain="coding", env=tasks)
        server = app.ProgramServer(config=app.ProgramServerConfig(**named), server_client=ServerClient.model_construct())
        return TestClient(server.setup_webserver(), raise_server_exceptions=False)

    def request(text, id="add", refusal=None):
        content = [] if text is None else [{"type": "output_text", "text": text, "annotations": []}]
        content += [] if refusal is None else [{"type": "refusal", "refusal": refusal}]
        output = [{"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}]
        response = dict(id="r", created_at=0.0, model="m", object="response", output=output)
        response.update(parallel_tool_calls=True, tool_choice="auto", tools=[])
        asked = [{"role": "user", "content": "Add."}]
        return {"responses_create_params": {"input": asked}, "response": response, "verifier_metadata": {"id": id}}

    with client_of(TASKS) as client:
        # NeMo-Gym before 0.5 verifies nothing again.
        if hasattr(base_resources_server, "ReverifyMode"):
            assert client.get("/reverify_mode").json() == "stateless"
        assert client.post("/seed_session", json={}).status_code == 200
        for text, reward, verdict in [(RIGHT, 1.0, "succeeded"), (WRONG, 0.0, "wrong_answer"), ("No.", -0.1, "no_function")]:
            answer = client.post("/verify", json=request(text)).json()
            assert (answer["reward"], answer["verdict"]) == (reward, verdict), answer
            assert answer["verifier_metadata"] == {"id": "add"} and answer["response"]["id"] == "r", answer
        assert client.post("/verify", json=request(RIGHT, "nope")).status_code == 500, "a mistake is no reward"
        for text, verdict in [(None, "no_function"), (RIGHT, "succeeded")]:
            answer = client.post("/verify", json=request(text, refusal="I would rather not.")).json()
            assert answer["verdict"] == verdict, answer
        # As in the judge, messages are lines of their own.
        several = request("I add them.")
        several["response"]["output"] += request("def add(a, b):\n    return a + b")["response"]["output"]
        assert client.post("/verify", json=several).json()["verdict"] == "succeeded"
    with held_out() as tasks, client_of(tasks) as client:
        for name in (7, "7"):
            answer = client.post("/verify", json=request(RIGHT, name)).json()
            assert (answer["reward"], answer["verifier_metadata"]) == (1.0, {"id": name}), answer


def sandbox_fusion():
    """The client of SandboxFusion, asking the program itself."""
    from sandbox_fusion import RunCodeRequest, run_code, set_endpoint

    address = f"127.0.0.1:{free_port()}"
    with served(["grpo-2048", "judge", "--env", TASKS, "--serve", address], f"http://{address}/health"):
        set_endpoint(f"http://{address}")
        answer = run_code(RunCodeRequest(code="print(int(input()) + 1)", language="python", stdin="41"))
        assert (answer.status.value, answer.run_result.stdout) == ("Success", "42\n"), answer
        failed = run_code(RunCodeRequest(code="1 / 0", language="python"))
        assert failed.status.value == "Failed" and "ZeroDivisionError" in failed.run_result.stderr, failed


CLIENTS = {"openenv-core": openenv, "verifiers": verifiers, "verl": verl, "nemo-gym": nemo_gym, "sandbox-fusion": sandbox_fusion}


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


for package in sys.argv[1:] or filter(version, CLIENTS):
    assert version(package), f"{package} is not installed"
    CLIENTS[package]()
    print(f"{package} {version(package)}: {CLIENTS[package].__doc__}")
