//! Programs that read and print as people write them, and what becomes of their output.

use crate::{LIMITS, sandbox};

/// The largest of the numbers on the second line is asked for, then the third line.
const STDIN: &str = "3\n1 30 2\nlast line\n";
const STDOUT: &str = "30\nlast line\n";

/// What a program prints, or its fault in words.
fn printed(source: &str, stdin: &str) -> String {
    let run = sandbox().run(source, stdin, 0, &LIMITS).unwrap();
    run.printed.unwrap_or_else(|fault| fault.to_string())
}

#[test]
fn every_way_of_reading_a_line_reads_it() {
    let ways = [
        "read = input",
        "import sys\nread = lambda: sys.stdin.readline().rstrip('\\n')",
        "import sys\nread = sys.stdin.readline",
        "import sys\ninput = sys.stdin.readline\nread = lambda: input().rstrip()",
        "import sys\nread = lambda: sys.stdin.buffer.readline().decode().rstrip()",
        "import sys\nread = iter(sys.stdin).__next__",
        "import sys\nread = iter(sys.stdin.read().splitlines()).__next__",
        "import sys\nread = iter(sys.stdin.readlines()).__next__",
        "import sys\nread = iter(sys.stdin.buffer.read().decode().split('\\n')).__next__",
        "read = iter(open(0).read().split('\\n')).__next__",
        "read = iter(open(0)).__next__",
        "read = iter(open(0, 'rb').read().decode().split('\\n')).__next__",
        "read = iter(open('/dev/stdin').readlines()).__next__",
        "import os\nread = iter(os.read(0, 10**6).decode().split('\\n')).__next__",
        "import os\nread = iter(os.fdopen(0)).__next__",
        "import fileinput\nread = iter(fileinput.input()).__next__",
        "import io, os, sys\nsys.stdin = io.StringIO(os.read(0, 10**6).decode())\nread = input",
        "import io, os\nread = io.BytesIO(os.read(0, os.fstat(0).st_size)).readline\nread = lambda r=read: r().decode()",
        "import sys\nread = lambda: sys.__stdin__.readline()",
    ];
    for way in ways {
        let source = format!("{way}\nread()\nprint(max(map(int, read().split())))\nprint(read().rstrip())\n");
        assert_eq!(printed(&source, STDIN), STDOUT, "{way}");
    }
}

#[test]
fn every_way_of_printing_prints() {
    let ways = [
        "print(30)\nprint('last line')",
        "print(30, 'last line', sep='\\n')",
        "import sys\nsys.stdout.write('30\\nlast line\\n')",
        "import sys\nprint = lambda x: sys.stdout.write(str(x) + '\\n')\nprint(30)\nprint('last line')",
        "import sys\nsys.stdout.buffer.write(b'30\\nlast line\\n')",
        "import os\nos.write(1, b'30\\nlast line\\n')",
        "import sys\nprint(30, file=sys.__stdout__)\nprint('last line', flush=True)\nprint('no', file=sys.stderr)",
        "open(1, 'w').write('30\\nlast line\\n')",
        "import io, os, sys\nsys.stdout = io.TextIOWrapper(open(1, 'wb'))\nprint('30\\nlast line')",
        "import atexit\natexit.register(print, 'last line')\nprint(30)",
        "import io, sys\nout = sys.stdout\nsys.stdout = io.StringIO()\nprint(30)\nprint('last line')\nout.write(sys.stdout.getvalue())",
        "def main():\n    print(30)\n    print('last line')\nif __name__ == '__main__':\n    main()",
        "print(30)\nprint('last line')\nexit()",
        "import sys\nprint(30)\nprint('last line')\nsys.exit(0)",
        "import os, sys\nprint(30)\nprint('last line')\nsys.stdout.flush()\nos._exit(0)",
        "import sys, threading\nsys.setrecursionlimit(10**7)\nthreading.stack_size(1 << 27)\n\
         def main():\n    print(30)\n    print('last line')\nt = threading.Thread(target=main)\nt.start()\nt.join()",
        "import threading\ndef main():\n    print(30)\n    print('last line')\n    exit()\nthreading.Thread(target=main).start()",
    ];
    for way in ways {
        assert_eq!(printed(way, ""), STDOUT, "{way}");
    }
}

#[test]
fn at_its_end_a_program_is_not_taken_apart() {
    let left = "import atexit\nclass Left:\n    def __del__(self):\n        print('gone')\nleft, used = Left(), Left()\ndel used\n\
                atexit.register(print, 'last')\nprint('end')\n";
    assert_eq!(printed(left, ""), "gone\nend\nlast\n");
}

/// The header of contests that reads and writes by descriptors.
const FAST_IO: &str = r#"
import os, sys
from io import BytesIO, IOBase

class FastIO(IOBase):
    newlines = 0

    def __init__(self, file):
        self._fd = file.fileno()
        self.buffer = BytesIO()
        self.writable = "x" in file.mode or "r" not in file.mode
        self.write = self.buffer.write if self.writable else None

    def readline(self):
        while self.newlines == 0:
            b = os.read(self._fd, max(os.fstat(self._fd).st_size, 8192))
            self.newlines = b.count(b"\n") + (not b)
            ptr = self.buffer.tell()
            self.buffer.seek(0, 2), self.buffer.write(b), self.buffer.seek(ptr)
        self.newlines -= 1
        return self.buffer.readline()

    def flush(self):
        if self.writable:
            os.write(self._fd, self.buffer.getvalue())
            self.buffer.truncate(0), self.buffer.seek(0)

class IOWrapper(IOBase):
    def __init__(self, file):
        self.buffer = FastIO(file)
        self.flush = self.buffer.flush
        self.writable = self.buffer.writable
        self.write = lambda s: self.buffer.write(s.encode("ascii"))
        self.readline = lambda: self.buffer.readline().decode("ascii")

sys.stdin, sys.stdout = IOWrapper(sys.stdin), IOWrapper(sys.stdout)
input = lambda: sys.stdin.readline().rstrip("\r\n")
input()
print(max(map(int, input().split())))
print(input())
"#;

#[test]
fn the_header_of_contests_works() {
    assert_eq!(printed(FAST_IO, STDIN), STDOUT);
}

#[test]
fn recursion_goes_as_deep_as_contests_need_it() {
    let plain = "import sys\nsys.setrecursionlimit(10**6)\ndef f(n): return n and 1 + f(n - 1)\nprint(f(100000))\n";
    assert_eq!(printed(plain, ""), "100000\n");
    let cached = "import sys\nfrom functools import lru_cache\nsys.setrecursionlimit(10**6)\n\
                  @lru_cache(None)\ndef f(n): return n and 1 + f(n - 1)\nprint(f(1000))\n";
    assert_eq!(printed(cached, ""), "1000\n");
}

#[test]
fn a_key_that_sorts_by_itself_goes_four_hundred_deep() {
    let sorting =
        |deep: usize| printed(&format!("def f(n): return n and len(sorted([n - 1], key=f))\nprint(f({deep}))\n"), "");
    assert_eq!((sorting(400).as_str(), sorting(550).as_str()), ("1\n", "stack overflow (line 1)"));
}

#[test]
fn source_may_nest_a_hundred_deep_and_have_two_thousand_terms() {
    let source = "deep = 100\nprint(eval('(' * deep + '1' + ')' * deep), eval('abs(' * deep + '2' + ')' * deep), eval('+'.join(['1'] * 2000)))\n\
                  named = {'x': 399}\nexec('if x < 0: pass\\n' + ''.join(f'elif x == {i}: y = {i}\\n' for i in range(400)), named)\n\
                  print(named['y'])\nfor source in ['(' * 180 + '1' + ')' * 180, '+'.join(['1'] * 4000)]:\n    try:\n        \
                  eval(source)\n    except (MemoryError, RecursionError) as error:\n        print(type(error).__name__)\n";
    assert_eq!(printed(source, ""), "1 2 2000\n399\nMemoryError\nRecursionError\n");
}

#[test]
fn as_text_a_line_ends_in_one_way_and_as_bytes_it_stays() {
    let text = "import sys\nprint(ascii(input()), [ascii(line) for line in sys.stdin])\n";
    assert_eq!(printed(text, "a\r\nb\rc"), "'a' [\"'b\\\\n'\", \"'c'\"]\n");
    assert_eq!(printed("import sys\nprint(sys.stdin.buffer.read())", "a\r\nb\rc"), "b'a\\r\\nb\\rc'\n");
}

#[test]
fn output_is_whole_or_a_fault() {
    let most = 1 << 20;
    assert_eq!(printed(&format!("print('x' * {most}, end='')"), "").len(), most);
    let more = printed(
        &format!("try:\n    print('x' * {most})\nexcept OSError:\n    pass\nimport sys\nsys.stdout.flush()"),
        "",
    );
    assert_eq!(more, "OSError: [Errno 22] more than 1048576 bytes of output (line 6)");
    let caught = "import sys\ntry:\n    print('x' * 2000000)\n    sys.stdout.flush()\nexcept OSError:\n    pass\n";
    assert_eq!(printed(caught, ""), "returned more than 1048576 bytes of output");
}

#[test]
fn a_million_numbers_are_read_and_a_hundred_thousand_printed() {
    let numbers: Vec<String> = (0..1_000_000).map(|n| n.to_string()).collect();
    let source = "import sys\nnumbers = list(map(int, sys.stdin.buffer.read().split()))\nprint(sum(numbers))\n\
                  print(*numbers[:100000], sep='\\n')\n";
    let stdout = printed(source, &numbers.join(" "));
    assert!(stdout.starts_with("499999500000\n0\n1\n2\n"), "{:.100}", stdout);
    assert_eq!(stdout.lines().count(), 100_001);
}

#[test]
fn the_null_device_takes_everything_and_is_empty() {
    let silent = "import contextlib, os\nfrom pathlib import Path\nwith open(os.devnull, 'w') as null, contextlib.redirect_stdout(null):\n    \
                  print('silent')\nprint(open('/dev/null', 'wb').write(b'abc'), open(Path('/dev/null'), 'a').write('ab'))\n\
                  print([open('/dev/null').read(), open('/dev/null', 'rb').read(), list(open('/dev/null', 'r+'))])\n\
                  print(open(Path('/dev/stdin')).read())\n";
    assert_eq!(printed(silent, "in"), "3 2\n['', b'', []]\nin\n");
    let named = "import os\nf = open(os.devnull, 'w')\nprint(f.name, f.fileno(), f.readable(), os.path.exists(f.name), flush=True)\n\
                 os.dup2(f.fileno(), 1)\nprint('lost')\n";
    assert_eq!(printed(named, ""), "/dev/null 3 False True\n");
}

#[test]
fn what_is_set_in_the_environment_stays_in_the_program() {
    let source = "import os\nos.environ['OMP_NUM_THREADS'] = '1'\nos.environ.setdefault('A', 'b')\nos.environ.update(C='d')\n\
                  del os.environ['A']\nprint(os.getenv('OMP_NUM_THREADS'), dict(os.environ) == {'OMP_NUM_THREADS': '1', 'C': 'd'})\n\
                  from unittest import mock\nwith mock.patch.dict(os.environ, {'C': 'e'}):\n    print(os.environ['C'])\n\
                  print(os.environ['C'])\nos.environ['n'] = 1\n";
    let fault = printed(source, "");
    assert_eq!(fault, "TypeError: str expected, not int (line 11)");
    let without = source.rsplit_once("os.environ['n']").unwrap().0;
    assert_eq!(printed(without, ""), "1 True\ne\nd\n");
}

/// As a shell sees it: eight bits of a number, and 1 for anything else.
#[test]
fn a_script_that_exits_with_zero_has_succeeded() {
    let ends = |status: &str| printed(&format!("print('on')\nimport sys\nsys.exit({status})"), "");
    for succeeded in ["", "0", "None", "False", "256", "-512"] {
        assert_eq!(ends(succeeded), "on\n", "{succeeded}");
    }
    for failed in ["1", "-1", "257", "True", "0.0", "''", "'0'", "[0]"] {
        assert!(ends(failed).starts_with("SystemExit"), "{failed}: {}", ends(failed));
    }
    assert_eq!(printed("print('on', flush=True)\nimport sys\nsys.stdout = None", ""), "on\n");
}

/// A number closed is closed for all, and what one layer has read ahead is lost to the others.
#[test]
fn streams_are_layers_over_descriptors_as_in_cpython() {
    let bad = "OSError: [Errno 9] Bad file descriptor (line 1)";
    for (source, expected) in [
        ("print(open(0).readline(), open(0).readline())", bad),
        ("print(open(0).readline(), input())", bad),
        ("print(int(input()), open(0).read())", "1 \n"),
        ("open(1, 'w').write('a\\n')", "a\n"),
        ("open(1, 'w').write('a\\n'); print('b')", "OSError: [Errno 9] Bad file descriptor"),
        ("f = open(1, 'w'); f.write('a\\n'); print('b')", "b\na\n"),
        ("with open(0, closefd=False) as f: f.readline()\nprint(open(0).read())", "\n"),
        (
            "import io\nf = io.TextIOWrapper(io.BufferedReader(io.FileIO(0)))\nprint(f.readline() + f.read())",
            "1\n2\n3\n\n",
        ),
        ("import os\nos.fdopen(os.dup(1), 'w').write('a\\n')\nprint(open('/dev/fd/0').read(), end='')", "a\n1\n2\n3\n"),
        ("open('/dev/stdout', 'w').write('a\\n'); print('c', file=open('/dev/stderr', 'w')); print('b')", "a\nb\n"),
        (
            "import sys\nprint(sys.stdin.buffer.peek(1)[:1], sys.stdin.buffer.raw.readall(), sys.stdin.name)",
            "b'1' b'' <stdin>\n",
        ),
        ("import os, sys\nprint('a')\nos.write(1, b'b\\n')\nsys.stdout.buffer.write(b'c\\n')", "b\nc\na\n"),
        ("import os, sys\nprint('a', flush=True)\nos.write(1, b'b\\n')", "a\nb\n"),
        (
            "import os\na, b = os.dup(1), os.dup(1)\nos.close(a)\nprint(a, b, os.dup(0), open('/dev/stdout', 'w').name)",
            "3 4 3 /dev/stdout\n",
        ),
        ("import os\nos.fstat(7)", "OSError: [Errno 9] Bad file descriptor (line 2)"),
        (
            "import sys\nsys.stdout.buffer.write([72, 105])",
            "TypeError: a bytes-like object is required, not 'list' (line 2)",
        ),
        ("import sys\nsys.stdin = sys.stdin.buffer\nprint(input())", "b'1'\n"),
        ("open('input.txt')", "FileNotFoundError: [Errno 44] a program has no files: 'input.txt' (line 1)"),
        ("open('x', 'w')", "PermissionError: [Errno 2] a program has no files: 'x' (line 1)"),
        (
            "import select, sys\nwhile sys.stdin in select.select([sys.stdin], [], [], 0)[0]:\n    line = input()\n    print(line)\n    \
          if line == '2': break",
            "1\n2\n",
        ),
    ] {
        assert_eq!(printed(source, "1\n2\n3\n"), expected, "{source}");
    }
}

#[test]
fn what_streams_keep_at_the_end_is_printed() {
    for source in [
        "import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.detach(), encoding='utf-8')\nprint('last')",
        "import codecs, sys\nsys.stdout = codecs.getwriter('utf-8')(sys.stdout.detach())\nprint('last')",
        "import io, sys\nout = io.TextIOWrapper(sys.stdout.buffer)\nout.write('last\\n')",
        "import io, sys\nclass A: pass\na = A()\na.out = io.TextIOWrapper(io.BufferedWriter(sys.stdout.buffer.raw))\na.out.write('last\\n')",
        "out = open(1, 'w', closefd=False)\nout.write('last\\n')",
        "import io, weakref\nclass A:\n    @property\n    def __class__(self): raise KeyError\na = A()\n\
         out = open(1, 'w', closefd=False)\nout.write('last\\n')\nproxy = weakref.proxy(A())",
        "import sys\nout = sys.stdout\ndel sys.stdout\nout.write('last\\n')",
        "import io\nout = io.BufferedWriter(io.FileIO(1, 'w'))\nout.write(b'last\\n')",
        "import io\nout = io.BufferedWriter(open(1, 'wb', 0))\nout.write(b'last\\n')",
        "import io, os\nout = io.TextIOWrapper(io.BufferedWriter(os.fdopen(1, 'wb', 0)))\nout.write('last\\n')",
    ] {
        assert_eq!(printed(source, ""), "last\n", "{source}");
    }
}

#[test]
fn standard_output_is_handed_on_before_what_is_called_at_exit() {
    for ends in ["", "sys.exit()", "raise SystemExit(0)"] {
        let source = format!("import atexit, os, sys\nprint('a')\natexit.register(os.write, 1, b'b\\n')\n{ends}\n");
        assert_eq!(printed(&source, ""), "a\nb\n", "{ends}");
    }
    assert_eq!(printed("import atexit, os\nprint('a')\natexit.register(os._exit, 0)", ""), "a\n");
}

/// Where a program prints past `print` as well, their order tells.
#[test]
fn input_hands_on_what_is_kept() {
    for (begin, print) in [
        ("import os", "os.write(1, b'b\\n')"),
        ("from os import write", "write(1, b'b\\n')"),
        ("import sys, os as o", "o.write(1, b'b\\n')"),
        ("import posix", "posix.write(1, b'b\\n')"),
        ("import sys", "sys.stdout.buffer.write(b'b\\n')"),
        ("import sys\nout = sys.stdout", "out.buffer.raw.write(b'b\\n')"),
        ("import io", "io.FileIO(1, 'w', closefd=False).write(b'b\\n')"),
        ("import os", "os.fdopen(os.dup(1), 'w').write('b\\n')"),
        ("import sys", "open(sys.stdout.fileno(), 'w', closefd=False).write('b\\n')"),
        ("f = open(1, 'w', closefd=False)", "print('b', file=f, flush=True)"),
        ("f = open('/dev/stdout', 'w')", "print('b', file=f, flush=True)"),
        ("f = open('/dev/fd/1', 'w')", "print('b', file=f, flush=True)"),
        (
            "import sys\nout = sys.stdout\nclass Upper:\n    kept = ''\n    def write(self, text): self.kept += text\n    \
             def flush(self): self.kept = out.write(self.kept) * ''\nsys.stdout = Upper()",
            "out.write('b\\n')",
        ),
    ] {
        let source = format!("{begin}\nprint('a')\ninput()\n{print}\nprint('c')\n");
        assert_eq!(printed(&source, "\n"), "a\nb\nc\n", "{source}");
    }
}

#[test]
fn input_passes_over_errors_of_flushing_and_misses_its_streams() {
    for flush in ["", "    def flush(self): raise OSError\n", "    flush = None\n"] {
        let source = format!(
            "import os, sys\nclass Writer:\n    def write(self, text): os.write(1, text.encode())\n{flush}sys.stdout = Writer()\n\
             print(input('? '))\nsys.stdout = sys.__stdout__\n"
        );
        assert_eq!(printed(&source, "1\n"), "? 1\n", "{flush}");
    }
    assert_eq!(printed("import os, sys\nsys.stdout.close()\nos.write(1, input().encode())", "1\n"), "1");
    for name in ["stdin", "stdout"] {
        for way in [format!("sys.{name} = None"), format!("del sys.{name}")] {
            let source = format!("import sys\n{way}\ninput()");
            let expected = format!("RuntimeError: input(): lost sys.{name} (line 3)");
            assert_eq!(printed(&source, "1\n"), expected, "{way}");
        }
    }
    let own = "import sys\nclass Reader:\n    def readline(self): return self.line\nsys.stdin = Reader()\ninput()";
    assert_eq!(printed(own, ""), "AttributeError: 'Reader' object has no attribute 'line' (line 3)");
}

#[test]
fn a_program_may_enter_the_folder_that_it_lies_in() {
    let enters = "import os\nfrom pathlib import Path\nos.chdir(os.path.dirname(os.path.abspath(__file__)))\n\
                  os.chdir(Path(__file__).parent)\nprint(os.getcwd())\n";
    assert_eq!(printed(enters, ""), "/\n");
    let leaves = "import os\nos.chdir('/tmp')";
    assert_eq!(printed(leaves, ""), "PermissionError: a program cannot use os.chdir (line 2)");
}

#[test]
fn a_program_that_leaves_has_printed_what_was_flushed() {
    let leaves = |status: &str| {
        format!(
            "import atexit, os, sys\natexit.register(print, 'end')\nprint('a', flush=True)\nprint('b')\n\
             try:\n    os._exit({status})\nexcept SystemExit:\n    print('caught', flush=True)\n"
        )
    };
    assert_eq!(printed(&leaves("0"), ""), "a\n");
    assert_eq!(printed(&leaves("3"), ""), "SystemExit: 3");
    // What `input` finds kept is handed on.
    let answers = "import os\nwhile True:\n    try:\n        print(2 * int(input()))\n    except EOFError:\n        os._exit(0)\n";
    assert_eq!(printed(answers, "3\n4\n"), "6\n8\n");
    let of_thread = "import os, threading\ndef f():\n    print('a', flush=True)\n    os._exit(0)\nthreading.Thread(target=f).start()\nprint('b')\n";
    assert_eq!(printed(of_thread, ""), "a\n");
}

/// What is kept in a class does not become a method of it, as functions of C do not.
#[test]
fn a_class_may_keep_what_reads_and_writes() {
    let source = "import bisect, os\nclass Scanner:\n    input, open, write, left = input, open, os.write, bisect.bisect_left\n\
                  s = Scanner()\nprint(s.input(), s.left(range(10**12), 5), flush=True)\ns.write(1, b'2\\n')\n\
                  print(bisect.bisect_left(range(9), 3), s.open(0).read())\n";
    assert_eq!(printed(source, "1\n2\n"), "1 5\n2\n3 \n");
}

#[test]
fn a_module_has_no_input_and_its_output_is_dropped() {
    let source = "import sys\nprint('dropped')\n\ndef f(way):\n    print('dropped' * 100000)\n    \
                  return sys.stdin.read() if way else input()\n";
    let mut session = sandbox().load(source, 0, &LIMITS).unwrap();
    assert_eq!(session.call("f", "[1]").unwrap(), r#""""#);
    assert_eq!(session.call("f", "[0]").unwrap_err().to_string(), "EOFError: EOF when reading a line (line 6)");
    let exits = sandbox().load("print(__name__)\nexit(0)\n", 0, &LIMITS).err().unwrap();
    assert_eq!(exits.to_string(), "SystemExit: 0 (line 2)");
}

#[test]
fn a_script_repeats_to_the_last_unit_of_fuel() {
    let source = "import random\nprint(random.random(), hash('a'), list({'a', 'b', input()}))\n";
    let run = |seed| sandbox().run(source, "c\n", seed, &LIMITS).unwrap();
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).printed, run(2).printed);
}
