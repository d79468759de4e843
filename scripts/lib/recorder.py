"""A server that keeps what is sent to it, and answers all of it the same. Python's standard library only."""

import http.server
import json
import threading


class Recorder:
    """`kept` are (path, content type, body) in the order in which they came."""

    def __init__(self, answer):
        kept = self.kept = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                kept.append((self.path, self.headers.get("Content-Type", ""), body))
                said = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = f"127.0.0.1:{self.http.server_port}"

    def close(self):
        self.http.shutdown()
