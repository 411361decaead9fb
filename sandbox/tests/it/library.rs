//! The library of the sandbox: what docs/sandbox.md says that programs can import, and what stands in for a world.

use std::collections::BTreeSet;

use grpo_sandbox::{ScriptRun, TierChoice};

use crate::{LIMITS, printed, sandbox};

/// What programs can import, and why they cannot import the rest.
const DOCUMENT: &str = include_str!("../../../docs/sandbox.md");

/// Names of other systems' modules: CPython has them on Windows alone.
const WINDOWS: [&str; 4] = ["msvcrt", "nt", "winreg", "winsound"];

fn run(source: &str, seed: u64) -> ScriptRun {
    sandbox().run(source, "", seed, &LIMITS).unwrap()
}

/// The names in backquotes in the lines of the document's table between two markers, with the first cell of each line.
fn table(marker: &str) -> Vec<(String, BTreeSet<String>)> {
    let from = DOCUMENT.find(marker).unwrap_or_else(|| panic!("no table `{marker}`"));
    let rows = DOCUMENT[from..].lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let rows = rows.take_while(|line| line.starts_with('|')).map(|line| {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        let first = cells.next().unwrap().to_owned();
        let names = cells.next().unwrap().split('`').skip(1).step_by(2).flat_map(str::split_whitespace);
        (first, names.map(str::to_owned).collect())
    });
    rows.collect()
}

fn names(marker: &str) -> BTreeSet<String> {
    table(marker).into_iter().flat_map(|(_, names)| names).collect()
}

/// The modules of a list in Python that cannot be imported, each with the reason, as Python prints them.
fn not_imported(list: &str) -> String {
    printed(&format!(
        "import importlib, io, library, sys\nsys.stdout = io.StringIO()\nfailed = []\nfor name in {list}:\n    try:\n        \
         importlib.import_module(name)\n    except BaseException as error:\n        failed.append((name, repr(error)))\n\
         sys.stdout = sys.__stdout__\nprint(failed)\n"
    ))
}

#[test]
fn every_module_that_the_document_lists_is_imported() {
    let listed = names("## What can be imported");
    let list = listed.iter().collect::<Vec<_>>();
    assert_eq!(not_imported(&format!("{list:?}")), "[]\n");
    assert!(listed.len() > 130, "{} modules", listed.len());
}

#[test]
fn every_module_of_cpython_is_listed_as_one_that_can_be_imported_or_one_that_is_refused() {
    let all = printed("import sys\nprint(*sorted(n for n in sys.stdlib_module_names if n[0] != '_'))");
    let (listed, refused) = (names("## What can be imported"), names("### What is refused"));
    for name in all.split_whitespace().filter(|name| !WINDOWS.contains(name)) {
        assert!(listed.contains(name) != refused.contains(name), "{name} must be in one of the tables");
    }
}

#[test]
fn what_is_refused_says_why() {
    let rows = table("### What is refused");
    assert!(rows.len() >= 6);
    for (why, names) in rows {
        for name in names {
            let last = printed(&format!("import {name}"));
            assert!(last.starts_with("ModuleNotFoundError: No module named '"), "{name}: {last}");
            assert!(last.ends_with(&format!("in the sandbox: {why} (line 1)")), "{name}: {last}, expected {why}");
        }
    }
    assert_eq!(printed("import pandas"), "ModuleNotFoundError: No module named 'pandas' (line 1)");
    assert_eq!(printed("try:\n    import socket\nexcept ImportError as error:\n    print(error.name)"), "socket\n");
}

#[test]
fn digests_are_cpythons_own_and_those_of_openssl_are_absent() {
    let source = "import hashlib\nprint(hashlib.sha256(b'a').hexdigest()[:6], len(hashlib.algorithms_guaranteed), hasattr(hashlib, 'pbkdf2_hmac'), \
                  hasattr(hashlib, 'scrypt'), 'ripemd160' in hashlib.algorithms_available)\n";
    assert_eq!(printed(source), "ca9781 14 False False False\n");
}

/// Programs that print an error's text print another than on Linux: the document says so.
#[test]
fn errors_have_the_numbers_and_texts_of_the_interpreters_own_system() {
    let source = "import errno, os\ntry:\n    print(2.0 ** 10000)\nexcept OverflowError as error:\n    print(error)\n\
                  print(errno.ENOENT, os.strerror(44))\n";
    assert_eq!(printed(source), "(68, 'Result not representable')\n44 No such file or directory\n");
    assert!(DOCUMENT.contains("`OverflowError: (68, 'Result not representable')`"));
}

#[test]
fn every_module_of_the_store_can_be_imported() {
    let found = not_imported("[name for name in library.names() if not name.startswith('zone:')]");
    assert_eq!(found, "[]\n");
}

/// Most fuel of an import, less that of the same program without it: `docs/sandbox.md` gives these figures.
#[test]
fn a_program_pays_for_what_it_imports_alone() {
    let fuel = |source: &str| run(source, 0).fuel;
    let nothing = fuel("pass");
    assert!(nothing < 750_000, "{nothing}");
    for (module, most) in [("unittest", 300_000), ("csv", 300_000)] {
        let found = fuel(&format!("import {module}")) - nothing;
        assert!(found < most, "{module}: {found}");
    }
    let costs = &DOCUMENT[DOCUMENT.find("runs when a program imports it:").unwrap()..];
    let costs = &costs[..costs.find(';').unwrap()];
    let told: Vec<&str> = costs.split('`').collect();
    assert_eq!(told.len(), 13, "six modules: {costs}");
    for pair in told[..12].chunks(2) {
        let (told, module) = (pair[0].trim_start_matches("runs when a program imports it:"), pair[1]);
        let told: f64 = told.trim_matches(|c: char| !c.is_ascii_digit()).trim_end_matches(" M fuel").parse().unwrap();
        let found = (fuel(&format!("import {module}")) - nothing) as f64 / 1e6;
        assert!((told - 1.0..told + 1.0).contains(&found), "{module}: {found} M fuel, the document says {told}");
    }
    let collected = fuel("import gc\ngc.collect()") - nothing;
    assert!(collected < 500_000, "a full collection looks at the program's objects alone: {collected}");
}

#[test]
fn what_a_system_would_do_is_a_named_exception_and_not_the_end_of_the_program() {
    let source = "import faulthandler, os, posix, signal\nfor call in (os.abort, posix.abort, lambda: os.readlink('/x'), \
                  lambda: signal.raise_signal(2), lambda: os.close(7)):\n    try:\n        call()\n    except OSError as error:\n        \
                  print(type(error).__name__, error)\nprint(os.close(0), os.device_encoding(1), faulthandler.dump_traceback())\n";
    let refused = "PermissionError a program cannot use ";
    let expected =
        ["os.abort", "os.abort", "os.readlink", "signal.raise_signal"].map(|name| format!("{refused}{name}\n"));
    assert_eq!(printed(source), expected.concat() + "OSError [Errno 9] Bad file descriptor\nNone None None\n");
    let others = "import os, posix, signal\nfor call in (lambda: os.system('ls'), os.wait, lambda: posix.kill(1, 9), lambda: os.execvp('ls', ['ls']), \
                  signal.pause, os.get_terminal_size):\n    try:\n        call()\n    except PermissionError as error:\n        print(error)\n\
                  print(os.getuid(), os.getgid(), os.getppid(), os.sched_getaffinity(0), os.closerange(3, 9), os.readinto(0, bytearray(1)))\n\
                  print(hasattr(os, 'fork'), os.nice(5), signal.alarm(2), signal.setitimer(signal.ITIMER_REAL, 1), signal.alarm(0))\n";
    let process =
        ["system", "wait", "kill", "execv"].map(|name| format!("a program cannot use os.{name}: it is one process\n"));
    let signal = "a program cannot use signal.pause: no signal reaches it\na program cannot use os.get_terminal_size\n";
    let expected = process.concat() + signal + "1000 1000 1 {0} None 0\nFalse 0 0 (0.0, 0.0) 0\n";
    assert_eq!(printed(others), expected);
    let nothing = "import os, posix, sys, tempfile\nprint(os.access('x', os.R_OK), posix.access(path='/', mode=os.F_OK), sys._debugmallocstats())\n\
                   try:\n    tempfile.TemporaryFile()\nexcept FileNotFoundError as error:\n    print(str(error)[11:])\n";
    for last in ["", "# numpy\n"] {
        let found = printed(&format!("{nothing}{last}"));
        assert!(found.starts_with("False False None\nNo usable temporary directory found"), "{found}");
    }
}

#[test]
fn times_are_written_as_glibc_writes_them() {
    let written = |form: &str| {
        printed(&format!("import datetime\nprint(datetime.datetime(2024, 3, 5, 15, 7).strftime({form:?}), end='')"))
    };
    for (form, expected) in [
        ("%d %b, %l:%M %P", "05 Mar,  3:07 pm"),
        ("%d: 100%", "05: 100%"),
        ("%^a %^B %#p %#h", "TUE MARCH pm MAR"),
        ("%k|%-k|%0l|%-l|%3k", "15|15|03|3| 15"),
        ("%-d/%-m %_H %5d %-5d|%10a|%12F", "5/3 15 00005     5|       Tue|  2024-03-05"),
        ("%q %+ %5q %%k %%%k %é %", "%q %+ %5q %k %15 %é %"),
        ("%Ey %Od %f %y%%", "24 05 000000 24%"),
    ] {
        assert_eq!(written(form), expected, "{form}");
    }
    let of_tuples = "import time\nt = time.struct_time((2024, 3, 5, 15, 7, 9, 1, 65, 0))\nprint(time.strftime('%l%Z|%n%t|%c', t), time.strftime('%k'))";
    assert_eq!(printed(of_tuples), " 3UTC|\n\t|Tue Mar  5 15:07:09 2024 22\n");
}

#[test]
fn timeit_counts_its_loops_once() {
    let source = "import timeit\nprint(timeit.Timer('pass').autorange(), timeit.timeit('pass', number=5))\ntimeit.main(['pass'])";
    let found = printed(source);
    assert!(found.starts_with("(1, 0.001) 0.001\n1 loop, best of 5: "), "{found}");
}

#[test]
fn event_loops_wait_in_logical_time() {
    let sleepers = "import asyncio, time\nasync def f(n):\n    await asyncio.sleep(n)\n    order.append(n)\n    return n\n\
                    async def main():\n    return await asyncio.gather(f(3), f(1), f(2))\n\
                    order, start = [], time.monotonic()\nprint(asyncio.run(main()), order, round(time.monotonic() - start))\n";
    assert_eq!(printed(sleepers), "[3, 1, 2] [1, 2, 3] 3\n");
    let late = "import asyncio\nasync def main():\n    async with asyncio.timeout(5):\n        await asyncio.Event().wait()\n\
                try:\n    asyncio.run(main())\nexcept TimeoutError:\n    print('late')\n";
    assert_eq!(printed(late), "late\n");
    let spins = "import asyncio\nasync def main():\n    loop = asyncio.get_running_loop()\n    end = loop.time() + 0.1\n    \
                 while loop.time() < end:\n        await asyncio.sleep(0)\nasyncio.run(main())\nprint('ends')\n";
    assert_eq!(printed(spins), "ends\n");
    let thread = "import asyncio\nprint(asyncio.run(asyncio.to_thread(pow, 2, 5)))\n";
    assert_eq!(printed(thread), "32\n");
    let deadlock = "import asyncio\nasync def main():\n    await asyncio.Event().wait()\nasyncio.run(main())\n";
    assert!(printed(deadlock).starts_with("RuntimeError: every task waits for another"));
    let network =
        "import asyncio\nasync def main():\n    await asyncio.open_connection('localhost', 80)\nasyncio.run(main())\n";
    assert_eq!(printed(network), "PermissionError: a program has no network (line 3)");
}

#[test]
fn executors_make_a_call_when_it_is_submitted() {
    let source = "from concurrent.futures import ThreadPoolExecutor, as_completed\n\
                  with ThreadPoolExecutor(2, initializer=print, initargs=('begins',)) as pool:\n    \
                  found = [pool.submit(pow, n, 2) for n in range(4)]\n    \
                  print(sorted(f.result() for f in as_completed(found)), list(pool.map(abs, [-1, 2])))\n    \
                  print(repr(pool.submit(divmod, 1, 0).exception()))\n\
                  try:\n    pool.submit(print)\nexcept RuntimeError as error:\n    print(error)\n";
    let expected = "begins\n[0, 1, 4, 9] [1, 2]\nZeroDivisionError('division by zero')\n\
                    cannot schedule new futures after shutdown\n";
    assert_eq!(printed(source), expected);
    let processes = "from concurrent.futures import *\nif __name__ == '__main__':\n    with ProcessPoolExecutor(2) as pool:\n        \
                     print(list(pool.map(abs, [-1, 2])))\n";
    assert_eq!(printed(processes), "[1, 2]\n");
}

#[test]
fn a_module_that_was_imported_before_the_program_reloads_to_what_it_is() {
    let source = "import collections, heapq, importlib, random, sys\n\
                  print(*[importlib.reload(module) is module for module in (collections, heapq, random)])\n\
                  sys.modules.pop('json')\nimport json\nprint(json.dumps([1]), json.__spec__.name)\n";
    assert_eq!(printed(source), "True True True\n[1] json\n");
    let of_c = "import importlib, os, sys, time\nimportlib.reload(os)\ndel sys.modules['time']\nimport time\nprint(time.time() > 1e9, os.getcwd())\n";
    assert_eq!(printed(of_c), "True /\n");
    let by_hand = "from importlib.util import find_spec, module_from_spec\nfor name in 'random', 'time', 'collections':\n    \
                   spec = find_spec(name)\n    module = module_from_spec(spec)\n    spec.loader.exec_module(module)\n    print(module.__name__)\n";
    assert_eq!(printed(by_hand), "random\ntime\ncollections\n");
}

#[test]
fn limits_of_a_system_are_taken_and_told() {
    let source = "import resource\nresource.setrlimit(resource.RLIMIT_STACK, (1 << 29, resource.RLIM_INFINITY))\n\
                  print(resource.getrlimit(resource.RLIMIT_STACK), resource.getrlimit(resource.RLIMIT_AS))\n\
                  print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, len(resource.getrusage(0)))\n\
                  try:\n    resource.setrlimit(resource.RLIMIT_AS, (10, 5))\nexcept ValueError as error:\n    print(error)\n";
    assert_eq!(printed(source), "(536870912, -1) (-1, -1)\n20480 16\ncurrent limit exceeds maximum limit\n");
}

#[test]
fn entropy_follows_from_the_seed_and_moves_no_other_number() {
    let source = "import os, random, secrets, uuid\n\
                  print(os.urandom(4).hex(), uuid.uuid4(), secrets.token_hex(4), random.SystemRandom().random())\n";
    assert_eq!(run(source, 1), run(source, 1));
    assert_ne!(run(source, 1).printed, run(source, 2).printed);
    let numbers = "import random\nprint(random.random())\n";
    let after = "import random, uuid\nuuid.uuid4()\nprint(random.random())\n";
    assert_eq!(run(numbers, 3).printed, run(after, 3).printed);
    assert_eq!(printed("import os\nprint(os.urandom(4) != os.urandom(4))"), "True\n");
    // A generator without a seed is another one each time.
    let unseeded = "import _random, random\none, other = random.Random(), random.Random()\nprint(one.random() != other.random())\n\
                    random.seed()\nx = random.random()\nrandom.seed()\nprint(x != random.random(), _random.Random().random() < 1)\n\
                    print(isinstance(random.SystemRandom(), random.Random), random.Random.__module__)\n";
    assert_eq!(printed(unseeded), "True\nTrue True\nTrue random\n");
    assert_eq!(run(unseeded, 5), run(unseeded, 5));
}

#[test]
fn unittest_and_doctest_end_as_a_program_does() {
    let case = "import unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(1 + 1, ANSWER)\n\
                if __name__ == '__main__':\n    unittest.main()\n";
    assert_eq!(printed(&format!("ANSWER = 2\n{case}")), "");
    assert_eq!(printed(&format!("ANSWER = 3\n{case}")), "SystemExit: 1 (line 7)");
    assert_eq!(printed("import unittest\nunittest.main()"), "SystemExit: 5 (line 2)", "no tests");
    let asynchronous = "import asyncio, unittest\nclass T(unittest.IsolatedAsyncioTestCase):\n    async def test_it(self):\n        \
                        await asyncio.sleep(60)\nprint(unittest.main(exit=False).result.wasSuccessful())\n";
    assert_eq!(printed(asynchronous), "True\n");
    let mock = "from unittest.mock import Mock\nm = Mock(return_value=3)\nprint(m(1), m.called)\n";
    assert_eq!(printed(mock), "3 True\n");
    let examples = "def f(x):\n    '''\n    >>> f(1)\n    2\n    '''\n    return x + 1\n\
                    if __name__ == '__main__':\n    import doctest\n    print(doctest.testmod())\n";
    assert_eq!(printed(examples), "TestResults(failed=0, attempted=1)\n");
    assert!(printed(&examples.replace("x + 1", "x + 2")).contains("TestResults(failed=1, attempted=1)"));
}

#[test]
fn a_program_has_a_name_and_no_arguments() {
    assert_eq!(printed("import sys\nprint(sys.argv)"), "['program.py']\n");
    let system = "import os, platform, sys\nprint(os.path.abspath(__file__), sys.platform, platform.system(), os.path.exists(__file__))";
    for last in ["", "# numpy\n"] {
        let found = printed(&format!("{system}\n{last}"));
        assert_eq!(found, "/program.py linux Linux False\n", "docs/sandbox.md says so");
    }
    let parsed = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--n', type=int, default=3)\nprint(p.parse_args().n)\n";
    assert_eq!(printed(parsed), "3\n");
}

#[test]
fn time_is_told_in_every_way_and_selectors_wait_in_it() {
    let source = "import selectors, time\nstart = time.time()\nprint(selectors.DefaultSelector().select(2))\n\
                  print(round(time.time() - start), time.gmtime().tm_year, time.strftime('%Y', time.gmtime()))\n";
    assert_eq!(printed(source), "[]\n2 2023 2023\n");
    let kept = "import time\nclass Stopwatch:\n    now = time.perf_counter\nprint(Stopwatch().now() > 0)\n";
    assert_eq!(printed(kept), "True\n");
    let queue = "import queue\nq = queue.Queue()\nq.put(1)\nprint(q.get(timeout=1))\n";
    assert_eq!(printed(queue), "1\n");
}

#[test]
fn a_datetime_knows_the_moment() {
    let source = "import datetime as d, time\nprint(d.datetime.now().year, d.date.today().year, d.datetime.today().month)\n\
                  print(d.datetime.now(d.timezone.utc).tzname(), d.datetime.now(tz=None).tzinfo)\n\
                  first, then = d.datetime.now(), d.datetime.now()\nprint((then - first).total_seconds() == 0.001)\n\
                  class Day(d.datetime): pass\nprint(type(Day.now()).__name__, abs(d.datetime.now().timestamp() - time.time()) < 1)\n\
                  import os\nprint(os.times().elapsed > 0, time.clock_gettime(time.CLOCK_MONOTONIC) > 0)\n";
    assert_eq!(printed(source), "2023 2023 11\nUTC None\nTrue\nDay True\nTrue True\n");
    assert_eq!(printed("import datetime\nprint(datetime.datetime.utcnow().year)"), "2023\n");
}

#[test]
fn what_waits_with_a_timeout_waits_in_logical_time_and_what_waits_for_ever_is_told() {
    let timed = "import queue, threading, time\nstart, lock = time.monotonic(), threading.Lock()\n\
                 print(threading.Event().wait(2), lock.acquire(timeout=1), lock.acquire(timeout=3), lock.acquire(False))\n\
                 for q in queue.Queue(), queue.SimpleQueue():\n    try:\n        q.get(timeout=4)\n    except queue.Empty:\n        \
                 print('empty')\n\
                 threading.Timer(5, print, ['later']).start()\ntime.sleep(6)\nprint(round(time.monotonic() - start))\n";
    assert_eq!(printed(timed), "False True False False\nempty\nempty\nlater\n24\n");
    let scheduled = "import sched, time\ns = sched.scheduler()\ns.enter(2, 1, print, ['second'])\ns.enter(1, 1, print, ['first'])\ns.run()\n";
    assert_eq!(printed(scheduled), "first\nsecond\n");
    let wrong = "import threading\nl = threading.Lock()\nfor a in (False, 1), (True, -3), (True, 1e99):\n    try:\n        \
                 l.acquire(*a)\n    except (ValueError, OverflowError) as error:\n        print(type(error).__name__)\n";
    assert_eq!(printed(wrong), "ValueError\nValueError\nOverflowError\n");
    let never = "import queue\nqueue.Queue().get()\n";
    assert_eq!(printed(never), "RuntimeError: a deadlock: no other thread will release this lock (line 2)");
    assert_eq!(printed("import time\ntime.sleep(-1)"), "ValueError: sleep length must be non-negative (line 2)");
}

#[test]
fn an_exception_names_the_last_line_of_the_program_that_it_passed() {
    let source = "import json\ndef f(x):\n    return g(x)\ndef g(x):\n    return json.loads(x)\n\nf('{')\n";
    let told = printed(source);
    assert!(told.starts_with("JSONDecodeError: Expecting property name") && told.ends_with("(line 5)"), "{told}");
    // A class cannot name another line, nor can a message.
    let forged =
        "class E(Exception):\n    @property\n    def __traceback__(self):\n        return 1 / 0\n\nraise E('9\\n9')\n";
    assert_eq!(printed(forged), "E: 9 9 (line 6)");
    let elsewhere = "raise ValueError().with_traceback(None)";
    assert_eq!(printed(elsewhere), "ValueError (line 1)");
}

#[test]
fn time_zones_are_known() {
    let source = "from datetime import datetime\nfrom zoneinfo import ZoneInfo, available_timezones\n\
                  print(ZoneInfo('UTC'), datetime(2024, 7, 1, tzinfo=ZoneInfo('America/New_York')).isoformat())\n\
                  print(len(available_timezones()) > 500)\nZoneInfo('Nowhere/At_All')\n";
    assert_eq!(printed(source), "ZoneInfoNotFoundError: 'No time zone found with key Nowhere/At_All' (line 5)");
    let outside = "from zoneinfo import ZoneInfo\nfor key in '../../etc/passwd', '/etc/passwd', 'a/../b':\n    try:\n        \
                   ZoneInfo(key)\n    except ValueError as error:\n        print(str(error)[:20])\n";
    assert_eq!(printed(outside), "ZoneInfo keys must r\nZoneInfo keys may no\nZoneInfo keys must b\n");
    let known = source.rsplit_once("ZoneInfo(").unwrap().0;
    assert_eq!(printed(known), "UTC 2024-07-01T00:00:00-04:00\nTrue\n");
}

#[test]
fn what_is_logged_last_is_not_lost() {
    let source = "import logging, logging.handlers, sys\n\
                  handler = logging.handlers.MemoryHandler(10, target=logging.StreamHandler(sys.stdout))\n\
                  logging.getLogger().addHandler(handler)\nlogging.warning('kept')\n";
    assert_eq!(printed(source), "kept\n");
}

/// Its imports, then a strategy whose annotations need them.
fn annotated(imports: &str) -> String {
    format!(
        "{imports}\n\ndef strategy(board: List[List[int]]) -> Optional[str]:\n    moves: Iterable[str] = 'WASD'\n    return moves[board[0][0] % 4]\n"
    )
}

#[test]
fn imports_for_annotations_stay_in_the_compiled_tier() {
    let imports = [
        "from typing import Iterable, List, Optional",
        "from __future__ import annotations\nfrom typing import (\n    List,\n    Optional,\n)\nfrom collections.abc import Iterable",
        "'''Moves.'''\nfrom __future__ import annotations",
        "import typing\nimport random",
        "if True:\n    from typing import List",
    ];
    for imports in imports {
        let source = annotated(imports);
        let outside = sandbox().outside(&source).unwrap();
        assert!(outside.is_none(), "{imports}: {}", outside.unwrap());
        for tier in [TierChoice::Compiled, TierChoice::Interpreter] {
            let mut session = sandbox().with_tiers(tier, 0).load(&source, 0, &LIMITS).unwrap();
            assert_eq!(session.call("strategy", "[[[5]]]").unwrap(), "\"A\"", "{imports}");
        }
    }
}

#[test]
fn an_import_that_a_program_could_see_is_outside_the_compiled_tier() {
    let imports = [
        "from typing import Lists",
        "from typing import *",
        "from typing import List as list",
        "from typing import List\nList = 3",
        "from typing import List\ndef f():\n    global List\n    List = 3",
        "for List in 'ab':\n    from typing import List",
        "from __future__ import division",
        "x = 1\nfrom __future__ import annotations",
        "from .typing import List",
        "def f():\n    from typing import List",
        "def f():\n    import typing",
        "import typing as list",
        "import colorsys",
        "from collections import deque",
    ];
    for imports in imports {
        assert!(sandbox().outside(&annotated(imports)).unwrap().is_some(), "{imports}");
    }
    // A name that is used as a value is a NameError to compiled code, so the interpreter answers.
    let source =
        "from typing import List\ndef strategy(x):\n    if x:\n        return str(List[int])\n    return 'W'\n";
    let mut session = sandbox().load(source, 0, &LIMITS).unwrap();
    assert_eq!(session.call("strategy", "[0]").unwrap(), "\"W\"");
    assert_eq!(session.call("strategy", "[1]").unwrap(), "\"typing.List[int]\"");
}
