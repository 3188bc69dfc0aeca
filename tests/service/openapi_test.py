#!/usr/bin/env python3
"""schemathesis tries a server by its OpenAPI document: so many examples a call, and sequences of calls, with answers checked against the document. Neither a
failure of the server's, nor an answer, status or content type that is not described, may come.
Usage: openapi_test.py KERNELWRIGHT|FOLDER_WITH_IT [--examples 100] [--seed 1]
The program `schemathesis` (pip install schemathesis) must be on the path, or named by SCHEMATHESIS.
exit: 0 fine, 1 not, 77 without schemathesis"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,response_headers_conformance,unsupported_method"
# A call that waits is no failure; an evaluation and an event stream wait for workers, of which there are none.
LEFT_OUT = ["/evaluate", "/evaluate/batch", "/workflow/submit", "/v1/groups/{name}/events"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--examples", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    program = options.program.resolve()
    if program.is_dir():
        program /= "kernelwright"
    tool = os.environ.get("SCHEMATHESIS") or shutil.which("schemathesis")
    if not tool:
        print("no schemathesis: nothing was tried")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen([program, "serve", "--data", f"{folder}/tasks", "--port", "0"], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
        try:
            url = server.stdout.readline().strip()
            begin = time.monotonic()
            left_out = [word for path in LEFT_OUT for word in ("--exclude-path", path)]
            done = subprocess.run([tool, "run", f"{url}/openapi.json", "--checks", CHECKS, "--max-examples", str(options.examples), "--seed", str(options.seed),
                                   "--request-timeout", "60", "--no-color", *left_out], cwd=folder)
            paths = json.load(urllib.request.urlopen(f"{url}/openapi.json", timeout=30))["paths"]
            calls = sum(len(each) for each in paths.values())
            print(f"{calls} calls are described; {options.examples} examples of each but {len(LEFT_OUT)} took {time.monotonic() - begin:.0f} s")
            assert server.poll() is None, "the server has ended"
        finally:
            server.terminate()
            server.wait()
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
