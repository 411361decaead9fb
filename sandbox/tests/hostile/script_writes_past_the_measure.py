# expect: raised Trap
import streams

streams._system.output.parts = [b"W" * (1 << 21)]
