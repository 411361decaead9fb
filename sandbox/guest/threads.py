"""Threads as a program finds them: each runs where it is started, to its end or until it would wait for ever."""

import _thread
import threading

import clock

_print, _join = threading.excepthook, threading.Thread.join


def _run(bootstrap, handle, daemon):
    """In place of a thread of the system. Programs start one for its stack."""
    thread, ident = bootstrap.__self__, threading.get_ident()
    starter = threading._active[ident]
    thread._os_thread_handle = threading._make_thread_handle(ident)
    thread._waits = False
    try:
        bootstrap()
    finally:
        threading._active[ident] = starter
        if not thread._waits:
            thread._os_thread_handle._set_done()


def _excepthook(arguments, /):
    """A thread that would wait for ever is left waiting, as one that takes from a queue when all of it is done."""
    if arguments.exc_type is clock.Deadlock:
        arguments.thread._waits = True
    else:
        _print(arguments)


def _join_in_vain(thread, timeout=None):
    if thread.is_alive() and thread is not threading.current_thread():
        clock.wait_in_vain(timeout)
    else:
        # It has ended, or this is an error: nothing is waited for, and there is nothing that could wait for a time.
        _join(thread)


_stack_size = 0


def _sized_stack(size=0, /):
    """Keeps the number: every stack here has one size."""
    global _stack_size
    if size and size < 32768:
        raise ValueError(f"size not valid: {size} bytes")
    before, _stack_size = _stack_size, size
    return before


def _start_new(function, arguments, named={}, /):
    thread = threading.Thread(target=function, args=arguments, kwargs=named)
    thread.start()
    return thread.ident


threading._start_joinable_thread = _run
threading.excepthook = _excepthook
threading.Thread.join = _join_in_vain
threading.stack_size = _thread.stack_size = staticmethod(_sized_stack)
_thread.start_new_thread = _thread.start_new = staticmethod(_start_new)
threading.get_native_id = _thread.get_native_id = threading.get_ident
threading.Thread.native_id = threading.Thread.ident
