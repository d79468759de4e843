"""A proxy that holds the bytes of answers back and writes them every so often, several events at once.

It notes the moments just before and just after each write, as the truth log of the simulated server does: behind it, the
client can know no more than these.
"""

import re
import selectors
import socket
import threading
import time

REQUEST_ID = re.compile(rb"^x-request-id: *(\S+)\r$", re.IGNORECASE | re.MULTILINE)
# Between two events of a stream. It does not occur inside JSON or in the framing of HTTP/1.1.
EVENT_END = b"\n\n"


class Link:
    """One connection of a client, and its own connection to the server. Requests of it follow each other."""

    def __init__(self, client, server):
        self.client, self.server = client, server
        self.head, self.held, self.tail = b"", b"", b""
        self.writes = None

    def note_request(self, sent, log):
        """Finds the next request's id. What follows it belongs to its body."""
        self.head += sent
        found = REQUEST_ID.search(self.head)
        if found:
            self.writes = log.setdefault(found.group(1).decode(), [])
            self.head = b""

    def note_write(self, written, bracket):
        """An event arrives with its last byte."""
        text = self.tail + written
        self.writes += [bracket] * text.count(EVENT_END)
        self.tail = b"\n" if text.endswith(b"\n") and not text.endswith(EVENT_END) else b""


class CoalescingProxy:
    """Listens while this lasts. `brackets` has the bracket of each event of each request."""

    def __init__(self, target_port, period_s):
        self.target_port, self.period_s = target_port, period_s
        self.brackets, self.links, self.over = {}, [], False
        self.ways = selectors.DefaultSelector()
        self.thread = threading.Thread(target=self.serve)

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.ways.register(self.listener, selectors.EVENT_READ, None)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.thread.join()
        for link in list(self.links):
            self.close(link)
        self.listener.close()

    def serve(self):
        due = time.monotonic() + self.period_s
        while not self.over:
            for key, _ in self.ways.select(max(due - time.monotonic(), 0)):
                if key.data is None:
                    self.accept()
                else:
                    self.take(key.fileobj, key.data)
            if time.monotonic() >= due:
                due += self.period_s
                for link in [link for link in self.links if link.held]:
                    self.write(link)

    def accept(self):
        client, _ = self.listener.accept()
        server = socket.create_connection(("127.0.0.1", self.target_port))
        link = Link(client, server)
        for side in (client, server):
            side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.ways.register(side, selectors.EVENT_READ, link)
        self.links.append(link)

    def take(self, side, link):
        try:
            came = side.recv(1 << 16)
        except OSError:
            came = b""
        if not came:
            self.close(link)
        elif side is link.client:
            link.note_request(came, self.brackets)
            link.server.sendall(came)
        else:
            link.held += came

    def write(self, link):
        held, link.held = link.held, b""
        before = time.time_ns()
        try:
            link.client.sendall(held)
        except OSError:
            return self.close(link)
        link.note_write(held, [before, time.time_ns()])

    def close(self, link):
        if link in self.links:
            self.links.remove(link)
            for side in (link.client, link.server):
                self.ways.unregister(side)
                side.close()

    def truths(self, of_server):
        """The truth log as a client behind this proxy can see it: which event carries what is the server's to know."""
        return {name: behind(truth, self.brackets[name]) for name, truth in of_server.items() if name in self.brackets}


def behind(truth, brackets):
    if len(brackets) != len(truth["chunks"]):
        raise SystemExit(f"error: the server wrote {len(truth['chunks'])} events, the proxy {len(brackets)}")
    chunks = [[*bracket, chunk[2]] for bracket, chunk in zip(brackets, truth["chunks"])]
    return truth | {"chunks": chunks}


def self_test():
    link, log = Link(None, None), {}
    link.note_request(b"POST / HTTP/1.1\r\nX-Request", log)
    link.note_request(b"-Id: a\r\n\r\n{}", log)
    link.note_write(b"HTTP/1.1 200 OK\r\n\r\n9\r\ndata: {}\n\n\r\n9\r\ndata: {}\n", [1, 2])
    link.note_write(b"\n\r\n9\r\ndata: {}\n\n\r\n", [3, 4])
    assert log == {"a": [[1, 2], [3, 4], [3, 4]]}, log
    truth = {"chunks": [[0, 0, 0], [0, 0, 1], [0, 0, 1]]}
    assert behind(truth, log["a"])["chunks"] == [[1, 2, 0], [3, 4, 1], [3, 4, 1]]
