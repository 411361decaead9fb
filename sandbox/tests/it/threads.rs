//! Threads as CPython has them, though each runs where it is started.

/// What a program prints, or its fault in words.
fn printed(source: &str) -> String {
    crate::printed(&format!("from threading import *\n{source}"))
}

#[test]
fn an_exception_in_a_thread_is_shown_by_its_hook_and_the_program_goes_on() {
    let raises = "def work():\n    done.append(1)\n    raise ValueError('boom')\ndone = []\n";
    let goes_on = format!("{raises}t = Thread(target=work)\nt.start()\nt.join()\nprint(done, t.is_alive())");
    assert_eq!(printed(&goes_on), "[1] False\n");
    let hook = format!(
        "{raises}import threading\nthreading.excepthook = lambda told: print(told.exc_type.__name__, told.thread.name)\n\
         Thread(target=work, name='w').start()"
    );
    assert_eq!(printed(&hook), "ValueError w\n");
    let shown = format!(
        "{raises}import contextlib, io\nwith contextlib.redirect_stderr(io.StringIO()) as shown:\n    \
         Thread(target=work, name='w').start()\nprint(shown.getvalue())"
    );
    let shown = printed(&shown);
    assert!(shown.starts_with("Exception in thread w:\nTraceback"), "{shown}");
    assert!(shown.ends_with("line 4, in work\nValueError: boom\n\n"), "{shown}");
    // As in CPython, an exit ends the thread alone.
    assert_eq!(printed("Thread(target=exit, args=(3,)).start()\nprint('on')"), "on\n");
}

#[test]
fn a_thread_is_the_current_one_while_it_runs() {
    let source = "def outer():\n    inner = Thread(target=lambda: print(current_thread().name), name='inner')\n    inner.start()\n    \
                  inner.join()\n    print(current_thread().name, current_thread().is_alive(), active_count())\n\
                  class Own(Thread):\n    def run(self):\n        print(self is current_thread(), current_thread() is main_thread())\n\
                  Thread(target=outer, name='outer').start()\nOwn().start()\nprint(current_thread().name)\n";
    assert_eq!(printed(source), "inner\nouter True 1\nTrue False\nMainThread\n");
    let numbers =
        "import threading\nprint(current_thread().native_id == threading.get_native_id(), Thread().native_id)";
    assert_eq!(printed(numbers), "True None\n");
    let low = "import _thread\n_thread.start_new_thread(print, ('low',), {'end': '.'})\nprint(stack_size(1 << 26), stack_size(), _thread.get_native_id() > 0)";
    assert_eq!(printed(low), "low.0 67108864 True\n");
}

#[test]
fn a_thread_is_started_once_and_joined_after_that() {
    let source = "t = Thread(target=print)\nfor call in t.join, t.start, t.join, t.start, current_thread().join:\n    try:\n        \
                  call()\n    except RuntimeError as error:\n        print(error)\nprint(t.is_alive(), t.ident is not None)\n";
    let expected = "cannot join thread before it is started\n\nthreads can only be started once\ncannot join current thread\nFalse True\n";
    assert_eq!(printed(source), expected);
    let without_init = "class T(Thread):\n    def __init__(self): pass\nT().start()";
    assert_eq!(printed(without_init), "RuntimeError: thread.__init__() not called (line 4)");
}

#[test]
fn a_thread_that_has_ended_is_joined_at_once_whatever_the_limit() {
    let source = "ts = [Thread(target=print, args=(n,)) for n in range(5)]\nfor t, limit in zip(ts, [5, 0, -1, None, 0.5]):\n    \
                  t.start()\n    t.join(limit)\n    t.join(timeout=limit)\nprint(any(t.is_alive() for t in ts))\n\
                  for call in Thread().join, current_thread().join:\n    try:\n        call(1)\n    except RuntimeError as error:\n        \
                  print(error)\n";
    let expected = "0\n1\n2\n3\n4\nFalse\ncannot join thread before it is started\ncannot join current thread\n";
    assert_eq!(printed(source), expected);
}

#[test]
fn a_thread_that_would_wait_for_ever_is_left_waiting() {
    let workers = "import queue, time\ndef work():\n    while True:\n        done.append(q.get() ** 2)\n        q.task_done()\n\
                   q, done = queue.Queue(), []\nfor n in range(3):\n    q.put(n)\n\
                   ts = [Thread(target=work, daemon=True) for _ in range(2)]\nfor t in ts:\n    t.start()\nq.join()\n\
                   print(done, ts[0].is_alive())\nstart = time.monotonic()\nts[0].join(5)\nprint(round(time.monotonic() - start))\n\
                   ts[0].join()\n";
    let deadlock = "RuntimeError: a deadlock: no other thread will release this lock (line 18)";
    assert_eq!(printed(workers), deadlock, "a wait without an end is told where it is");
    let within = workers.rsplit_once("ts[0]").unwrap().0;
    assert_eq!(printed(within), "[0, 1, 4] True\n5\n");
}
