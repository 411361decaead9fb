"""What numpy's own tests do on this machine: `expected.py TESTS TARGET` fills TARGET for `tests/numpy.rs`.

TESTS is the folder of an installed numpy, or a folder that was filled before. Each module of tests becomes MODULE.py, and
MODULE.passed names its tests that pass here, with the numpy that is installed. What passes here must pass in the sandbox.
"""

import os
import subprocess
import sys

SUITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "suite.py")
# Nothing of these is offered, or they measure the machine, its files and processes.
LEFT_OUT = (
    "f2py typing distutils pythoncapi _pyinstaller _core.tests.test_cpu_ _core.tests.test_simd _core.tests.test_mem_policy _core.tests.test_cython "
    "_core.tests.test_limited_api _core.tests.test_multithreading _core.tests.test_hashtable test_ctypeslib test_configtool "
    "test_public_api test_reloading test_scripts test_warnings test_lazyloading test_numpy_config test_extending "
    "test_argparse test__exceptions_pickle _core.tests.test_custom_dtypes test_nep50_hypothesis testing.tests"
).split()


def sources(tests):
    for folder, _, names in os.walk(tests):
        for name in sorted(names):
            if name.endswith(".py") and name.startswith(("test_", "numpy.")):
                path = os.path.relpath(f"{folder}/{name}", tests)[: -len(".py")]
                module = path if path.startswith("numpy.") else "numpy." + path.replace("/", ".")
                if not any(left_out in module for left_out in LEFT_OUT):
                    yield module, f"{folder}/{name}"


def main(tests, target):
    os.makedirs(target, exist_ok=True)
    for module, path in sorted(sources(tests)):
        with open(path) as file:
            source = file.read()
        run = subprocess.run(
            [sys.executable, SUITE], input=f"{module} 0 1000000\n{source}", capture_output=True, text=True, cwd="/tmp"
        )
        outcomes = [line.partition(" ") for line in run.stdout.splitlines() if not line.startswith("tests:")]
        passed = [name for name, _, outcome in outcomes if outcome == "passed"]
        print(f"{module}: {len(passed)} of {len(outcomes)}", run.stderr.splitlines()[-1:])
        if not passed:
            continue
        with open(f"{target}/{module}.py", "w") as file:
            file.write(source)
        with open(f"{target}/{module}.passed", "w") as file:
            file.write("".join(f"{name}\n" for name in passed))


main(*sys.argv[1:])
