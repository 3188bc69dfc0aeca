# The oracle: runs a problem's reference for the checker (docs/protocol.md).
#
# Theory of operation. A sandboxed process per problem, since a reference is arbitrary code too. It
# answers requests on fd 3 one by one; tensors go through the exchange, texts through a memory file. It
# knows neither tolerances nor verdicts. Importing this file runs no tensor operation; main() does.
import contextlib
import json
import os
import socket

import torch

import describe
import failures
import loading
import messages
import pages
import perturbation
import precision
import reference
from dtypes import TORCH_OF_NAME, scalar_value
from exchange import Exchange
from memory import Region
from reference import BadReference

STATUS_DONE, STATUS_FAILED, STATUS_BAD_REQUEST = 0, 1, 2
MAX_FAILURE_TEXT = 1900  # the checker shows 2000 characters
REDRAW_STREAM = 0x6B77  # added to the seed: redrawn values must not repeat the constructor's numbers

# What each request must have.
_FIELDS = {
    "setup": ("kind", "entry", "threads"),
    "describe": ("param_seed", "input_seed"),
    "attach": ("signature", "layout"),
    "generate": ("seed",),
    "state": ("seed", "redraw"),
    "run": ("precision", "mode"),
}


class BadRequest(Exception):
    """The request does not fit the protocol or what came before it."""


def main(control_fd=3):
    """Answers requests until the other side closes; never returns."""
    torch.set_grad_enabled(False)
    control = socket.socket(fileno=control_fd)
    oracle = Oracle()
    while True:
        message = messages.receive(control)
        if message is None:
            failures.flush()
            os._exit(0)
        status, text = oracle.answer(message)
        message.close()
        control.send(pages.oracle_reply(status, oracle.write_text(text)))


class Oracle:
    """The problem of one setup request and what was attached since."""

    def __init__(self):
        self._text = None  # Region
        self._kind = None
        self._entry = None
        self._module = None  # reference.Module, of module problems
        self._definition = None  # reference.Definition, once the signature is known
        self._signature = None
        self._exchange = None

    def answer(self, message):
        """(status, text) of a request; whatever the reference throws is its failure."""
        body = message.body
        op = body.get("op")
        try:
            missing = [name for name in _FIELDS.get(op, ()) if name not in body]
            if op not in _FIELDS or missing:
                raise BadRequest(f"{op!r}: unknown" if op not in _FIELDS else f"{op}: no {missing[0]}")
            return STATUS_DONE, getattr(self, f"_{op}")(body, message.fds) or ""
        except BadRequest as error:
            return STATUS_BAD_REQUEST, str(error)
        except BadReference as error:
            return STATUS_FAILED, str(error)
        except BaseException as error:
            return STATUS_FAILED, failures.describe(error, MAX_FAILURE_TEXT)

    def write_text(self, text):
        """Writes to the text memory file, cut where it ends; returns the number of bytes."""
        if self._text is None:
            return 0
        data = text.encode("utf-8", "replace")[: self._text.size]
        self._text.bytes[: len(data)] = data
        return len(data)

    def _setup(self, body, fds):
        if self._text is not None:
            raise BadRequest("setup came twice")
        self._text = Region(fds["text"], writable=True)
        torch.set_num_threads(body["threads"])
        if body.get("source") is not None:
            source = body["source"].encode()
        else:
            source = bytes(Region(fds["source"], writable=False).bytes)
        folder = loading.work_folder()
        loading.write_files(folder, [{"path": "problem.py", "size": len(source)}], source)
        try:
            loaded = loading.load(os.path.join(folder, "problem.py"), body.get("settings", ()))
        except loading.BadSetting as error:
            raise BadReference(str(error)) from error
        self._entry = getattr(loaded, body["entry"], None)
        if not callable(self._entry):
            raise BadReference(f"the problem has no {body['entry']}")
        self._kind = body["kind"]
        if self._kind == "module":
            self._module = reference.Module(loaded, self._entry)

    def _describe(self, body, fds):
        found = describe.describe(self._need_module(), body["param_seed"], body["input_seed"])
        return json.dumps(found)

    def _attach(self, body, fds):
        if self._kind is None:
            raise BadRequest("attach came before setup")
        region = Region(fds["exchange"], writable=True)
        self._signature = body["signature"]
        self._exchange = Exchange(region, self._signature, body["layout"])
        if self._module is None:
            self._definition = reference.Definition(self._entry, self._signature)
        else:
            self._module.keys = [a["state_key"] for a in self._signature["statics"]]

    def _generate(self, body, fds):
        values = self._need_module().generate(body["seed"])
        arguments = self._need_exchange().inputs()
        expected = self._signature["inputs"]
        if len(values) != len(expected):
            raise BadReference(f"get_inputs() gave {len(values)} inputs, before {len(expected)}")
        for a, target, value in zip(expected, arguments, values):
            if target is None:
                if value != a["value"]:
                    raise BadReference(f"get_inputs() changes the number {a['name']}")
                continue
            same = isinstance(value, torch.Tensor) and value.shape == target.shape
            if not same or value.dtype is not target.dtype:
                raise BadReference(f"get_inputs() changes shape or dtype of {a['name']}")
            target.copy_(value)

    def _state(self, body, fds):
        module = self._need_module()
        targets = self._need_exchange().statics()
        module.build(body["seed"])
        if body["redraw"]:
            module.redraw(body["seed"] + REDRAW_STREAM)
        state = module.state()
        for key, target in zip(module.keys, targets):
            if key not in state or state[key].shape != target.shape:
                raise BadReference(f"the module's state {key} is gone or has another shape")
            target.copy_(state[key])

    def _run(self, body, fds):
        exchange = self._need_exchange()
        chosen = self._precision(body["precision"])
        seed, scale = body.get("perturb_seed", 0), body.get("perturb_scale", 0)
        generator = torch.Generator().manual_seed(seed)

        def change(tensor):
            own = chosen.convert(tensor)
            return perturbation.perturb(own, scale, generator) if seed and scale else own

        inputs = [
            scalar_value(a) if tensor is None else change(tensor)
            for a, tensor in zip(self._signature["inputs"], exchange.inputs())
        ]
        statics = [change(tensor) for tensor in exchange.statics()]
        subject = self._module or self._definition
        function_scale = body.get("function_scale", 0)
        functions = contextlib.nullcontext()
        if seed and function_scale:
            functions = perturbation.MovedFunctions(function_scale, generator)
        with functions:
            outputs = subject.run(inputs, statics, chosen, body["mode"])
        if body["precision"] in ("declared", "second"):
            exchange.check_dtypes(outputs)
        outputs = [chosen.rounded(t) for t in outputs]
        exchange.write_outputs(outputs, wide=body["precision"] in ("float64", "second"))

    def _precision(self, name):
        if name == "declared":
            return precision.declared()
        if name == "float64":
            return precision.float64()
        if name == "second":
            return precision.second()
        if name != "lower":
            raise BadRequest(f"run: unknown precision {name!r}")
        groups = ("inputs", "statics", "outputs")
        arguments = [a for group in groups for a in self._signature[group]]
        dtypes = {TORCH_OF_NAME[a["dtype"]] for a in arguments if a["role"] != "scalar"}
        try:
            return precision.lower(dtypes)
        except ValueError as error:
            raise BadReference(str(error)) from error

    def _need_module(self):
        if self._module is None:
            raise BadRequest("this request is for modules, after setup")
        return self._module

    def _need_exchange(self):
        if self._exchange is None:
            raise BadRequest("this request needs attach first")
        return self._exchange
