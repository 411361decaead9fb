"""The event loop of a program: nothing comes from outside, so it waits for its own timers, in logical time."""

import clock

from . import base_events, events

__all__ = ("SelectorEventLoop", "EventLoop")

# What a reading of the loop's clock adds to it, in seconds: so that `while loop.time() < end` ends, and small beside
# the delays by which programs order their tasks.
_READING = 1e-5


class _Timers:
    """In place of a selector: waiting takes the clock to the next timer, and nothing else happens meanwhile."""

    def __init__(self, loop):
        self._loop = loop

    def select(self, timeout):
        if timeout is None:
            raise RuntimeError("every task waits for another: nothing is left that could happen")
        if timeout > 0:
            self._loop._now += timeout
            clock.wait(timeout)
        return ()


class SelectorEventLoop(base_events.BaseEventLoop):
    def __init__(self, selector=None):
        super().__init__()
        self._now = clock.seconds()
        self._clock_resolution = 1e-9
        self._selector = _Timers(self)

    def time(self):
        self._now += _READING
        return self._now

    def _process_events(self, found):
        pass

    def _write_to_self(self):
        pass

    async def _make_subprocess_transport(self, *_, **__):
        raise PermissionError("a program is one process")


class _DefaultEventLoopPolicy(events._BaseDefaultEventLoopPolicy):
    _loop_factory = SelectorEventLoop


EventLoop = SelectorEventLoop
