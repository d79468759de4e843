"""A server that keeps its cores busy: processes that count loops beside a simulated server, all in one session.

The kernel shares cores between sessions first, as between two terminals. Within its session, the server comes before its
busy processes, so that it writes on time. `python3 busy_server.py FILE COUNT COMMAND ...`
starts COUNT processes that count in FILE, then becomes COMMAND.
"""

import mmap
import os
import struct
import sys
import time

SLOT = struct.Struct("<Q")
LOOP = range(2_000)


def loops(path):
    """How many loops all processes have done."""
    with open(path, "rb") as file:
        return sum(count for (count,) in SLOT.iter_unpack(file.read()))


def count_loops(path, slot, parent):
    with open(path, "r+b") as file:
        slots = mmap.mmap(file.fileno(), 0)
    count = 0
    while os.getppid() == parent:
        for _ in LOOP:
            pass
        count += 1
        SLOT.pack_into(slots, slot * SLOT.size, count)


def main():
    path, count, *command = sys.argv[1:]
    with open(path, "wb") as file:
        file.write(bytes(SLOT.size * int(count)))
    parent = os.getpid()
    for slot in range(int(count)):
        if os.fork() == 0:
            os.nice(19)
            count_loops(path, slot, parent)
            os._exit(0)
    os.execv(command[0], command)


class Work:
    """Loops a second since this was made."""

    def __init__(self, path):
        self.path, self.since, self.before = path, time.monotonic(), loops(path)

    def rate(self):
        return (loops(self.path) - self.before) / (time.monotonic() - self.since)


def self_test(folder):
    path = folder / "loops"
    path.write_bytes(SLOT.pack(3) + SLOT.pack(4))
    work = Work(path)
    assert work.before == 7
    path.write_bytes(SLOT.pack(30) + SLOT.pack(47))
    assert work.rate() > 0


if __name__ == "__main__":
    main()
