# The oracle: runs a problem's reference for the checker (docs/protocol.md).
#
# Theory of operation. A sandboxed process per problem, since a reference is arbitrary code too. It
# answers requests on fd 3 one by one; tensors go through the exchange, texts through a memory file. It
# knows neither tolerances nor verdicts. Importing this file runs no tensor operation; main() does.
import contextlib
import functools
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
import roofline
from dtypes import TORCH_OF_NAME, scalar_value
from device_memory import READ, DeviceRegion
from exchange import Exchange, tensors_at
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
    "map": ("region", "bytes"),
    "generate": ("seed",),
    "state": ("seed", "redraw"),
    "run": ("precision", "mode"),
    "roofline": ("mode",),
}


def _versions(values):
    """A number of each that grows when it is written to; 0 where it is no tensor."""
    return [value._version if isinstance(value, torch.Tensor) else 0 for value in values]


class BadRequest(Exception):
    """The request does not fit the protocol or what came before it."""


def gpu_of(setup):
    """The GPU of a setup request, made ready; None: references run on the processor."""
    if setup.get("device") is None:
        return None
    os.environ.pop("LD_PRELOAD", None)
    device = torch.device("cuda", setup["device"])
    torch.cuda.set_device(device)
    # The precision of the declared types.
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    return device


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
        self._maker = None  # of inputs: the module, or reference.CustomInputs
        self._definition = None  # reference.Definition, once the signature is known
        self._signature = None
        self._exchange = None
        self._device = None  # where references run; None: the processor
        self._regions = {}  # the GPU's memory of a "map" request
        self._written = None  # places of inputs that the reference writes to; None: no run has shown it

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
        self._device = gpu_of(body)
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
            self._module = self._maker = reference.Module(loaded, self._entry)
        elif body.get("custom_inputs") is not None:
            self._maker = reference.CustomInputs(loaded, **body["custom_inputs"])

    def _describe(self, body, fds):
        found = describe.describe(self._need_module(), body["param_seed"], body["input_seed"])
        return json.dumps(found)

    def _attach(self, body, fds):
        if self._kind is None:
            raise BadRequest("attach came before setup")
        # On a GPU most inputs lie elsewhere, and of large outputs only parts are written.
        region = Region(fds["exchange"], writable=True, sparse=self._device is not None)
        self._signature = body["signature"]
        self._exchange = Exchange(region, self._signature, body["layout"])
        if self._module is None:
            self._definition = reference.Definition(self._entry, self._signature)
            if self._maker is not None:
                self._maker.arguments = self._signature["inputs"]
        else:
            self._module.keys = [a["state_key"] for a in self._signature["statics"]]

    def _map(self, body, fds):
        if self._device is None:
            raise BadRequest("map is for a GPU")
        region = DeviceRegion(fds["memory"], body["bytes"], self._device.index, READ)
        self._regions[body["region"]] = region

    def _generate(self, body, fds):
        if self._maker is None:
            raise BadRequest("this definition's inputs are not its own to make")
        arguments = self._need_exchange().inputs()
        values = self._maker.generate(body["seed"])
        expected = self._signature["inputs"]
        made_by = self._maker.inputs_name
        if len(values) != len(expected):
            raise BadReference(f"{made_by} gave {len(values)} inputs, before {len(expected)}")
        for a, target, value in zip(expected, arguments, values):
            if target is None:
                if value != a["value"]:
                    raise BadReference(f"{made_by} changes the number {a['name']}")
                continue
            same = isinstance(value, torch.Tensor) and value.shape == target.shape
            if not same or value.dtype is not target.dtype:
                raise BadReference(f"{made_by} gives {a['name']} another shape or dtype")
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
        """Text: the places of the inputs that the reference writes to, as JSON; "" for none."""
        self._run_somewhere(body)
        return json.dumps(sorted(self._written)) if self._written else ""

    def _roofline(self, body, fds):
        """Text: what the GPU allows for this workload, as JSON; "" where references run on the processor."""
        self._need_exchange()
        if self._device is None:
            return ""
        arguments = self._signature["inputs"] + self._signature["statics"]
        dtypes = [TORCH_OF_NAME[a["dtype"]] for a in arguments if a["role"] != "scalar"]
        try:
            given = functools.partial(self._outputs_in, precision.declared(), self._device, body)
            return json.dumps(roofline.measure(given, self._device, dtypes))
        finally:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()

    def _run_somewhere(self, body):
        if self._device is None:
            return self._run_on(None, body)
        try:
            return self._run_on(self._device, body)
        except BadReference:
            raise
        except Exception as error:
            failures.log("on the processor, since the GPU failed: " + failures.describe(error))
        finally:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()  # candidates need the memory
        return self._run_on(torch.device("cpu"), body)

    def _given(self, body, group):
        """The tensors of "inputs" or "statics", where they lie."""
        place = body.get(group + "_at")
        if place is None:
            exchange = self._need_exchange()
            return exchange.inputs() if group == "inputs" else exchange.statics()
        if place["region"] not in self._regions:
            raise BadRequest(f"run: no region {place['region']}")
        return tensors_at(self._regions[place["region"]], self._signature[group], place["offsets"])

    def _run_on(self, device, body):
        exchange = self._need_exchange()
        outputs = None
        for chosen, places in self._precisions(body["precision"]):
            found = self._outputs_in(chosen, device, body)
            if body["precision"] in ("declared", "second"):
                exchange.check_dtypes(found)
            pairs = zip(outputs or found, found)
            outputs = [new if place in places else old for place, (old, new) in enumerate(pairs)]
        wide = body["precision"] in ("float64", "second")
        exchange.write_outputs(outputs, wide, body.get("selected"))

    def _outputs_in(self, chosen, device, body):
        chosen.device = device
        seed, scale = body.get("perturb_seed", 0), body.get("perturb_scale", 0)
        generator = torch.Generator(device or "cpu").manual_seed(seed)
        chosen.generator = generator if seed else None

        def change(tensor):
            own = chosen.convert(tensor)
            return perturbation.perturb(own, scale, generator) if seed and scale else own

        inputs = [
            scalar_value(a) if tensor is None else change(tensor)
            for a, tensor in zip(self._signature["inputs"], self._guarded(self._given(body, "inputs")))
        ]
        versions = _versions(inputs)
        statics = [change(tensor) for tensor in self._given(body, "statics")]
        subject = self._module or self._definition
        function_scale = body.get("function_scale", 0)
        with contextlib.ExitStack() as stack:
            if device is not None:
                stack.enter_context(device)  # of tensors that the reference makes
            if seed and function_scale:
                stack.enter_context(perturbation.MovedFunctions(function_scale, generator))
            outputs = subject.run(inputs, statics, chosen, body["mode"])
        changed = {i for i, (old, new) in enumerate(zip(versions, _versions(inputs))) if old != new}
        self._written = changed | (self._written or set())
        return [chosen.rounded(t) for t in outputs]

    def _guarded(self, tensors):
        """The given tensors, with copies in the place of those that the reference writes to."""
        first = self._written is None
        return [t.clone() if t is not None and (first or i in self._written) else t for i, t in enumerate(tensors)]

    def _precisions(self, name):
        """The runs that a request wants, each with the outputs that it is for; of one run: all."""
        if name == "declared":
            return [(precision.declared(), ())]
        if name == "float64":
            return [(precision.float64(), ())]
        if name == "second":
            return [(precision.second(), ())]
        if name != "lower":
            raise BadRequest(f"run: unknown precision {name!r}")
        places = {}
        for place, a in enumerate(self._signature["outputs"]):
            dtype = TORCH_OF_NAME[a["dtype"]]
            if dtype.is_floating_point and dtype.itemsize > 1:
                places.setdefault(dtype, []).append(place)
        if not places:
            raise BadReference("there is no lower precision: no output is float64, float32, float16 or bfloat16")
        return [(precision.lower(dtype), of) for dtype, of in places.items()]

    def _need_module(self):
        if self._module is None:
            raise BadRequest("this request is for modules, after setup")
        return self._module

    def _need_exchange(self):
        if self._exchange is None:
            raise BadRequest("this request needs attach first")
        return self._exchange
