"""The server seen by Python's http.client: kept connections, chunks, events. usage: http_client.py PORT"""

import http.client
import json
import sys


def check(what, expected, got):
    if expected != got:
        sys.exit(f"{what}: expected {expected!r}, got {got!r}")


def ask(connection, method, path, body=None, headers={}, chunked=False):
    connection.request(method, path, body, headers, encode_chunked=chunked)
    response = connection.getresponse()
    return response.status, response.read(), response


connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=20)
connection.connect()
port = connection.sock.getsockname()[1]
for i in range(3):
    status, body, response = ask(connection, "GET", "/hello")
    check("GET", (200, {"hello": "world"}), (status, json.loads(body)))
    check("kept alive", port, connection.sock.getsockname()[1])
check("Date", True, response.getheader("Date").endswith(" GMT"))
status, body, _ = ask(connection, "HEAD", "/hello")
check("HEAD", (200, b""), (status, body))
status, body, _ = ask(connection, "POST", "/echo", iter([b"one", b"two"]), {"Transfer-Encoding": "chunked"}, True)
check("chunked POST", (200, b"onetwo"), (status, body))
status, body, _ = ask(connection, "POST", "/json", "{", {"Content-Type": "application/json"})
check("malformed JSON", 400, status)
check("its message", True, "line 1" in json.loads(body)["error"]["message"])
status, body, response = ask(connection, "GET", "/events?count=1000")
check("type of events", "text/event-stream", response.getheader("Content-Type"))
check("events", 1001, body.count(b"data: "))
check("the same connection all along", port, connection.sock.getsockname()[1])
