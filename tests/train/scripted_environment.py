#!/usr/bin/env python3
"""An environment of kernelwright-train for tests: pays the share of the letter e, and misbehaves as its settings say.
settings: fault (none, die, stall, twice, refuse, kill: the trainer), at (the step that it comes with), once (a file: the fault comes while
it is not there), seconds (of a judgement), exclusive (the trainer stands still meanwhile)"""
import collections
import json
import os
import signal
import struct
import time

SOCKET = 3
incoming = os.fdopen(os.dup(SOCKET), "rb")


def read():
    head = incoming.read(4)
    return json.loads(incoming.read(struct.unpack("<I", head)[0])) if len(head) == 4 else None


def say(**message):
    body = json.dumps(message).encode()
    os.write(SOCKET, struct.pack("<I", len(body)) + body)


later = collections.deque()  # came before its turn


def judge():
    if settings.get("exclusive"):
        say(type="pause")
        while (message := read())["type"] != "paused":
            later.append(message)
    time.sleep(settings.get("seconds", 0))
    if settings.get("exclusive"):
        say(type="resume")


hello = read()
settings = hello["settings"]
say(type="welcome", protocol=hello["protocol"], tasks=["first", "second"], about="scripted")
steps = 0
while message := later.popleft() if later else read():
    if message["type"] == "begin":
        say(type="began", id=message["id"], observation={"messages": [{"role": "user", "content": f"The letter e, {message['task']}:"}], "whole": True})
    if message["type"] != "step":
        continue
    steps += 1
    reply = {"type": "stepped", "id": message["id"], "reward": message["text"].count("e") / max(len(message["text"]), 1), "done": True, "facts": {}}
    fault = settings.get("fault", "none") if steps == settings.get("at", 0) and not os.path.exists(settings.get("once", "")) else "none"
    if fault != "none":
        open(settings["once"], "w").close()
    if fault == "kill":
        os.kill(os.getppid(), signal.SIGKILL)
    if fault == "die":
        os._exit(1)
    if fault == "stall":
        time.sleep(600)
    if fault == "refuse":
        say(type="failed", id=message["id"], code="unsupported", message="quarantined")
        continue
    judge()
    say(**reply)
    if fault == "twice":
        say(**reply)
