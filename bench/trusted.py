"""The trusted comparison of bench/mutants.py: is a kernel wrong, whatever the gym says. Shares no code with the gym's checker.

A *case* is a set of inputs at one shape. Its error budget is what honest kernels need: from the reference in float64, the reference at its own precision, the
reference in float64 on inputs moved by a rounding, and the honest kernel that the mutant was made of. A mutant differs when some element is more than
TIMES budgets off, and more than TIMES what the honest kernel itself is off there. `worker` runs groups of mutants of one kernel.
"""

import hashlib
import math
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", folder) for folder in ("tests/writer", "python/tests", "python")]

TIMES = 4  # beyond the budget
NEAR = 0.3  # of the budget: not equivalent for certain
GUARD = 4096  # bytes on both sides of a tensor
BESIDE_INPUTS = 0xFF  # each byte of their guards: NaN for floats
BESIDE = 0xFE  # of other tensors' guards: large, and not the NaN that a kernel may store
MAX_ELEMENTS = {"cuda": 2**26, "cpu": 2**23}  # of a case's inputs and outputs together; about 80 bytes each
MAX_UNANNOUNCED = {"cuda": 2**23, "cpu": 2**15}
SEQUENTIAL = 5  # roundings of a sum of L terms from left to right grow with sqrt(L)


def start(device):
    global torch, suite, reference, loading
    if device == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"
    import torch
    import loading
    import reference
    import suite

    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.set_default_device(device)
    first_configuration_only()


def first_configuration_only():
    """Autotuners take their first configuration, as the gym does for the first key when nothing is timed."""
    from triton.runtime import autotuner

    original = autotuner.Autotuner.__init__

    def init(self, fn, arg_names, configs, *rest, **named):
        original(self, fn, arg_names, configs[:1], *rest, **named)

    autotuner.Autotuner.__init__ = init


# ---- memory ----
def is_intact(memory, beside):
    return bool((memory[:GUARD] == beside).all()) and bool((memory[-GUARD:] == beside).all())


class Guards:
    """While it is entered, what torch.empty and its like make lies between guards."""

    NAMES = ("empty", "empty_like", "zeros", "zeros_like")

    def __init__(self, beside):
        self.memories, self.beside = [], beside

    def __enter__(self):
        self.originals = {name: getattr(torch, name) for name in self.NAMES}
        for name in self.NAMES:
            setattr(torch, name, self.maker(name))
        return self

    def __exit__(self, *_):
        for name, original in self.originals.items():
            setattr(torch, name, original)

    def maker(self, name):
        original = self.originals[name]

        def make(*arguments, **named):
            plain = original(*arguments, **named)
            if not plain.is_contiguous() or not plain.numel():
                return plain
            made = self.tensor(tuple(plain.shape), plain.dtype)
            if name.startswith("zeros"):
                made.zero_()
            return made

        return make

    def tensor(self, shape, dtype):
        """Ones between guards of another pattern: NaN that a kernel stores shows there too."""
        count = math.prod(shape) * self.originals["empty"]((), dtype=dtype).element_size()
        memory = torch.full((count + 2 * GUARD,), self.beside, dtype=torch.uint8)
        memory[GUARD:GUARD + count] = 255
        self.memories.append(memory)
        return memory[GUARD:GUARD + count].view(dtype).view(shape)

    def broken_at(self, outputs):
        """Whether something was written beside one of these tensors. Scratch memory does not count: no result shows it."""
        places = {out.untyped_storage().data_ptr() for out in outputs if isinstance(out, torch.Tensor)}
        return not all(is_intact(memory, self.beside) for memory in self.memories if memory.untyped_storage().data_ptr() in places)


# ---- candidates ----
class Candidate:
    """A kernel's run() over inputs in the definition's order. In either calling style; a .cu through device_launch."""

    def __init__(self, text, language, definition, folder, statics=()):
        self.language = language
        if language == "cuda":
            import device_launch

            self.launcher = device_launch.Candidate(text, definition, statics)
            return
        name = hashlib.sha256(text.encode()).hexdigest()[:20]
        path = os.path.join(folder, f"k{name}.py")
        with open(path, "w") as file:
            file.write(text)
        self.entry = loading.load(path).run
        count = self.entry.__code__.co_argcount
        self.passes_outputs = count == len(definition["inputs"]) + len(definition["outputs"])

    def __call__(self, given, want, axes, zeros_beside=False):
        """(outputs, None) or (None, what went wrong beside the values). zeros_beside: what is read beside a tensor is 0."""
        own = [copied(value, 0 if zeros_beside else BESIDE_INPUTS) for value in given]
        with Guards(0 if zeros_beside else BESIDE) as guards:
            if self.language == "cuda" or self.passes_outputs:
                outputs = [guards.tensor(tuple(w.shape), w.dtype) for w in want]
                self.launcher(own, outputs, axes) if self.language == "cuda" else self.entry(*own, *outputs)
            else:
                outputs = reference.as_outputs(self.entry(*own))
        if torch.get_default_device().type == "cuda":
            torch.cuda.synchronize()
        if guards.broken_at(outputs):
            return None, "writes beside an output"
        if not all(map(same_bytes, own, given)):
            return None, "writes to an input"
        if len(outputs) != len(want):
            return None, f"{len(outputs)} outputs instead of {len(want)}"
        for out, w in zip(outputs, want):
            if out.shape != w.shape or out.dtype != w.dtype:
                return None, f"{list(out.shape)} {out.dtype} instead of {list(w.shape)} {w.dtype}"
        return outputs, None


def same_bytes(a, b):
    return not isinstance(a, torch.Tensor) or torch.equal(*(v.contiguous().view(-1).view(torch.uint8) for v in (a, b)))


def copied(value, beside):
    """A tensor's copy between guards."""
    if not isinstance(value, torch.Tensor) or not value.numel():
        return value
    count = value.numel() * value.element_size()
    memory = torch.full((count + 2 * GUARD,), beside, dtype=torch.uint8)
    out = memory[GUARD:GUARD + count].view(value.dtype).view(value.shape)
    out.copy_(value)
    return out


# ---- cases ----
HARD = ("spikes", "large mean", "scaled down", "negative", "constant rows", "ties", "multiples", "mixed rows")


def made_hard(value, kind):
    """Ordinary values [..., N] of a floating input, made hard."""
    if not isinstance(value, torch.Tensor) or not value.is_floating_point() or not value.dim() or not value.numel():
        return value
    wide = value.float()
    spread = float(wide.square().mean().sqrt()) or 1.0
    if kind == "spikes":
        flat = wide.flatten().clone()
        flat[7 % flat.numel()::1024] *= 1000
        wide = flat.view(wide.shape)
    elif kind == "large mean":
        wide = wide + 100 * spread
    elif kind == "scaled down":
        wide = wide / 100
    elif kind == "negative":
        wide = -wide.abs()
    elif kind == "constant rows":
        wide = wide[..., :1].expand(wide.shape)
    elif kind == "ties":
        wide = wide.flatten()[torch.arange(wide.numel()) % min(4, wide.numel())].view(wide.shape)
    elif kind == "multiples":
        step = 2.0 ** round(math.log2(spread / 2))
        wide = (wide / step).round() * step
    elif kind == "mixed rows":
        rows = wide.clone().view(-1, wide.shape[-1])
        for i, one in enumerate(HARD[:-1]):
            if i < len(rows):
                rows[i::len(HARD)] = made_hard(rows[i::len(HARD)].contiguous(), one)
        wide = rows.view(wide.shape)
    return wide.to(value.dtype)


def may_be_hard(policy, tensor):
    free = policy.get("distribution", "default") in ("default", "normal", "spikes", "one_hot", "wide_range")
    return tensor["shape"] is not None and policy.get("domain", "any") == "any" and free


class Problem:
    """A definition with its cases: (label, axes, workload, hard kind or None, seed), cheap ones first."""

    def __init__(self, name, target):
        self.name, self.target = name, target
        self.problem = suite.Definition(name, target)
        self.definition, self.policy = self.problem.definition, self.problem.policy
        self.statics = self.policy.get("static", [])
        with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
            file.write(self.definition["reference"])
        self.run = loading.load(file.name).run
        os.remove(file.name)
        self.device = "cuda" if target == "cuda" else "cpu"

    def elements(self, axes):
        tensors = [*self.definition["inputs"].values(), *self.definition["outputs"].values()]
        return sum(math.prod(axes[a] for a in t["shape"]) for t in tensors if t["shape"] is not None)

    def axes_of(self, workload):
        return {name: axis.get("value", workload["axes"].get(name)) for name, axis in self.definition["axes"].items()}

    def published(self):
        """The workload that a benchmark would publish: the first that is timed, else the largest."""
        tables = self.policy.get("workloads", {})
        timed = [w for w in self.problem.workloads if tables.get(w["uuid"], {}).get("timed", True)]
        return timed[0] if timed else max(self.problem.workloads, key=lambda w: self.elements(self.axes_of(w)))

    def unannounced(self):
        """Shapes beside the workloads', where the problem promises that any may come."""
        if not self.policy.get("any_shape"):
            return []
        names = self.problem.axes
        long = (1025, 4099, 70001) if self.target == "cuda" else (131, 2053)
        shapes = [[(7, 13, 37, 5, 3)[i % 5] for i, _ in enumerate(names)], [1] * len(names)]
        shapes += [[1 if i == k else 13 for i, _ in enumerate(names)] for k, _ in enumerate(names)]
        shapes += [[size if i == k else 3 for i, _ in enumerate(names)] for k, _ in enumerate(names) for size in long]
        shapes += [[64] * len(names), [33] * len(names)]
        constants = {name: axis["value"] for name, axis in self.definition["axes"].items() if "value" in axis}
        return [{**constants, **dict(zip(names, shape))} for shape in shapes]

    def cases(self):
        """In the order in which they are tried: cheap ones, then the published shape."""
        most, first = MAX_ELEMENTS[self.device], self.problem.workloads[0]
        own = [(self.axes_of(w), w) for w in self.problem.workloads]
        own = sorted((one for one in own if self.elements(one[0]) <= most), key=lambda one: self.elements(one[0]))
        out = [("workload", axes, w, None) for axes, w in own[:-1]]
        out += [("unannounced", axes, None, None) for axes in self.unannounced() if self.elements(axes) <= MAX_UNANNOUNCED[self.device]]
        if own:
            hard_at = own[0]
            if any(may_be_hard(self.input_policy(n, hard_at[1]), t) for n, t in self.definition["inputs"].items()):
                out += [("hard", hard_at[0], hard_at[1], kind) for kind in HARD]
            out.append(("workload", *own[-1], None))
            if len(own) > 1 and any(may_be_hard(self.input_policy(n, first), t) for n, t in self.definition["inputs"].items()):
                out.append(("hard", *own[-1], "mixed rows"))
        seen, unique = set(), []
        for label, axes, workload, hard in out:
            key = (tuple(axes.items()), workload and workload["uuid"], hard)
            if key not in seen:
                seen.add(key)
                unique.append((label, axes, workload, hard))
        return unique

    def input_policy(self, name, workload):
        own = self.policy.get("workloads", {}).get(workload["uuid"], {}).get("inputs", {}) if workload else {}
        return {**self.policy.get("inputs", {}).get(name, {}), **own.get(name, {})}

    def draw(self, axes, workload, hard, seed):
        """Inputs in the definition's order."""
        generator = torch.Generator(self.device).manual_seed(seed)
        given = []
        for name, tensor in self.definition["inputs"].items():
            policy = self.input_policy(name, workload)
            if tensor["shape"] is None:
                given.append((workload or self.problem.workloads[0])["inputs"][name]["value"])
                continue
            value = suite.drawn([axes[a] for a in tensor["shape"]], tensor["dtype"], policy, generator)
            given.append(made_hard(value, hard) if hard and may_be_hard(policy, tensor) else value)
        return given

    def outputs(self, given):
        return [out.contiguous() for out in reference.as_outputs(self.run(*given))]


# ---- budgets ----
def wide(given):
    return [v.double() if isinstance(v, torch.Tensor) and v.is_floating_point() else v for v in given]


def moved(given, generator):
    """In float64, each floating element a rounding of its own dtype up or down."""
    out = []
    for value in given:
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            sign = torch.randint(0, 2, value.shape, generator=generator).double() * 2 - 1
            value = value.double() * (1 + sign * torch.finfo(value.dtype).eps / 2)
        out.append(value)
    return out


def rows_of(tensor):
    """The tensor as rows of its last dimension; all of it where that has fewer than 32 elements."""
    return tensor.reshape(-1, tensor.shape[-1]) if tensor.dim() and tensor.shape[-1] >= 32 else tensor.reshape(1, -1)


def by_row(tensor):
    """Each element's row's mean."""
    rows = rows_of(tensor)
    return rows.mean(1, keepdim=True).expand(rows.shape).reshape(tensor.shape)


class Case:
    """Inputs with what is right for them. Raises where reference or honest kernel cannot run there."""

    def __init__(self, problem, label, axes, workload, hard, seed, honest):
        self.problem, self.axes = problem, axes
        varying = {name: axes[name] for name in problem.problem.axes}
        self.label = f"{label} {varying}{' ' + hard if hard else ''}"
        self.given = problem.draw(axes, workload, hard, seed)
        self.want = problem.outputs(self.given)
        exact = self.in_float64(wide(self.given))
        large = sum(w.numel() for w in self.want) > 2**25
        generator = torch.Generator(problem.device).manual_seed(seed + 1)
        self.moved = [self.in_float64(moved(self.given, generator)) for _ in range(1 if large else 2)]
        self.exact = [(w if e is None else e).double() for e, w in zip(exact, self.want)]
        got, wrong = honest(self.given, self.want, axes)
        if wrong:
            raise RuntimeError(f"the honest kernel {wrong}")
        total = sum(v.numel() for v in self.given if isinstance(v, torch.Tensor) and v.is_floating_point())
        self.terms = min(65536, max(1, total // max(1, max(w.numel() for w in self.want))))
        self.allowed = [self.budget(i, got[i]) if w.is_floating_point() else None for i, w in enumerate(self.want)]
        self.moved = [[None if w.is_floating_point() else m for m, w in zip(run, self.want)] for run in self.moved]
        self.honest = self.score(got)[0]
        if self.honest > 16:
            raise RuntimeError(f"the honest kernel is {self.honest:.1f} budgets off")

    def in_float64(self, given):
        """Of each output, or None where the reference has no such result."""
        try:
            outputs = self.problem.outputs(given)
        except Exception:
            return [None] * len(self.want)
        return [o if o.shape == w.shape and (o.is_floating_point() == w.is_floating_point()) else None for o, w in zip(outputs, self.want)]

    def budget(self, i, got):
        exact, dtype = self.exact[i], self.want[i].dtype
        eps, narrow = torch.finfo(dtype).eps, torch.finfo(dtype).bits < 32
        error = torch.maximum((self.want[i].double() - exact).abs(), (got.double() - exact).abs()).nan_to_num(0, 0, 0)
        change = torch.zeros_like(error)
        for run in self.moved:
            if run[i] is not None:
                change = torch.maximum(change, (run[i].double() - exact).abs().nan_to_num(0, 0, 0))
        size = exact.abs().nan_to_num(0, 0, 0)
        error, change = torch.maximum(error, 2 * by_row(error)), torch.maximum(change, 4 * by_row(change))
        most = torch.maximum(4 * error, (2 if narrow else 4) * eps * size)
        most = torch.maximum(most, torch.maximum((2 if narrow else 8) * change, eps * by_row(size)))
        of_sum = torch.finfo(torch.float32).eps / eps if narrow else 1
        return most + SEQUENTIAL * math.sqrt(self.terms) * of_sum * torch.maximum(change, eps * size) + torch.finfo(dtype).tiny

    def score(self, outputs):
        """(the worst element in budgets, in words). Of whole numbers each wrong one counts as many budgets as make a difference."""
        worst, words = 0.0, ""
        for i, (got, want) in enumerate(zip(outputs, self.want)):
            value, where = self.float_score(i, got) if want.is_floating_point() else self.whole_score(i, got, outputs)
            if value > worst:
                worst, words = value, f"output {i}: {where}"
        return worst, words

    def float_score(self, i, got):
        exact = self.exact[i]
        judged = exact.isfinite() & self.want[i].double().isfinite()
        ratio = (got.double() - exact).abs() / self.allowed[i]
        ratio = torch.where(judged, ratio.nan_to_num(math.inf, math.inf, math.inf), 0.0)
        if not ratio.numel():
            return 0.0, ""
        place = int(ratio.argmax())
        return float(ratio.flatten()[place]), f"{float(got.flatten()[place])} instead of {float(exact.flatten()[place])} at {place}"

    def whole_score(self, i, got, outputs):
        wrong = got != self.want[i]
        for run in self.moved:
            if run[i] is not None:
                wrong &= run[i] == self.want[i]
        wrong &= ~self.equally_good(i, got, outputs)
        count = int(wrong.sum())
        return 1.1 * TIMES * count, f"{count} of {got.numel()} whole numbers wrong"

    def equally_good(self, i, got, outputs):
        """Where another index has the value that the right one has."""
        name = list(self.problem.definition["outputs"])[i]
        policy = self.problem.policy.get("outputs", {}).get(name, {})
        none = torch.zeros_like(got, dtype=torch.bool)
        if policy.get("check") not in ("argmax_of", "topk_of"):
            return none
        inputs = list(self.problem.definition["inputs"])
        if policy["of"] not in inputs:
            return none
        values, axis = self.given[inputs.index(policy["of"])], policy.get("axis", -1)
        index, right = (v.long() if v.dim() == values.dim() else v.long().unsqueeze(axis) for v in (got, self.want[i]))
        inside = (index >= 0) & (index < values.shape[axis])
        same = inside & (values.gather(axis, index.clamp(0, values.shape[axis] - 1)) == values.gather(axis, right))
        if same.shape[axis] > 1:  # each index once
            ordered = index.sort(axis).values
            repeated = (ordered.diff(dim=axis) == 0).any(axis, keepdim=True)
            same &= ~repeated
        return same.view(got.shape)


# ---- verdicts ----
class Group:
    """One kernel: its cases, made when they are first needed, and its candidates."""

    def __init__(self, task, folder):
        self.task, self.folder = task, folder
        self.problem = Problem(task["problem"], task["target"])
        self.honest = self.candidate(task["honest"])
        self.made, self.left_out = {}, {}

    def candidate(self, text):
        return Candidate(text, self.task["language"], self.problem.definition, self.folder, self.problem.statics)

    def case(self, number, description):
        """None where it cannot be judged."""
        if number not in self.made and number not in self.left_out:
            try:
                self.made[number] = Case(self.problem, *description, seed=1000 + number, honest=self.honest)
            except Exception as error:
                self.left_out[number] = f"{description[0]} {description[1]} {description[3] or ''}: {type(error).__name__}: {str(error)[:200]}"
        return self.made.get(number)

    def compare(self, mutant, on_progress):
        """Tries all cases until one shows a difference. A mutant that wrote beside its tensors may have changed a case: the honest kernel is asked again."""
        for _ in range(3):
            number, row = self.compared(mutant, on_progress)
            if number is None or row.get("fatal") or self.is_sound(number):
                break
            self.made.clear()
        return row

    def is_by_neighbours(self, candidate, case):
        """Whether a mutant is wrong in this case only by what it reads beside its tensors: zeros there make it right."""
        try:
            outputs, wrong = candidate(case.given, case.want, case.axes, zeros_beside=True)
        except Exception:
            return False
        return not wrong and case.score(outputs)[0] <= TIMES * max(1.0, case.honest)

    def is_sound(self, number):
        case = self.made[number]
        outputs, wrong = self.honest(case.given, case.want, case.axes)
        return not wrong and case.score(outputs)[0] <= 2 * max(1.0, case.honest)

    def compared(self, mutant, on_progress):
        """(the case that showed a difference or None, the row)"""
        worst, words, ran, candidate = 0.0, "", 0, None
        try:
            candidate = self.candidate(mutant["text"])
        except Exception as error:
            return None, {"status": "not compiled", "how": in_words(error)}
        for number, description in enumerate(self.problem.cases()):
            on_progress()
            case = self.case(number, description)
            if case is None:
                continue
            on_progress()
            for _ in range(3 if mutant["racy"] else 1):
                try:
                    outputs, wrong = candidate(case.given, case.want, case.axes)
                except Exception as error:
                    row = {"how": in_words(error), "case": case.label, "fatal": is_fault(error)}
                    if "out of memory" in row["how"]:
                        return None, {"status": "left out", **row}
                    return None, {"status": "differs" if ran or row["fatal"] else "not compiled", **row}
                ran += 1
                if wrong:
                    return number, {"status": "differs", "how": wrong, "case": case.label}
                score, where = case.score(outputs)
                if score > worst:
                    worst, words = score, f"{case.label}: {where}"
                if score > TIMES * max(1.0, case.honest):
                    return number, {"status": "differs", "how": where, "case": case.label, "budgets": score, "beside": self.is_by_neighbours(candidate, case)}
        if not ran:
            return None, {"status": "left out", "how": "; ".join(self.left_out.values())[:400] or "no shape is small enough"}
        return None, {"status": "near" if worst > NEAR else "equivalent", "how": words, "budgets": worst, "cases": ran}

    def kernelbench(self, mutant, on_progress):
        """Five trials on the published shape with its ordinary inputs, torch.allclose: at 1e-2, as first published, and at the precision table of today."""
        workload = self.problem.published()
        axes = self.problem.axes_of(workload)
        passed = {"1e-2": True, "by precision": True}
        try:
            candidate = self.candidate(mutant["text"])
            for trial in range(5):
                on_progress()
                given = self.problem.draw(axes, workload, None, 424242 + trial)
                want = self.problem.outputs(given)
                on_progress()
                outputs = plain_outputs(candidate, given, want, axes)
                for out, w in zip(outputs, want):
                    table = 1e-4 if w.dtype in (torch.float32, torch.float64) else 1e-2
                    for key, bound in (("1e-2", 1e-2), ("by precision", table)):
                        passed[key] &= out.shape == w.shape and allclose(out, w, bound)
                passed = {key: value and len(outputs) == len(want) for key, value in passed.items()}
        except Exception as error:
            row = {"how": in_words(error), "fatal": is_fault(error)}
            return row if "out of memory" in row["how"] else {"passed": {key: False for key in passed}, **row}
        return {"passed": passed}


def plain_outputs(candidate, given, want, axes):
    """As KernelBench calls: nothing is poisoned or guarded, and the inputs are handed over as they are."""
    if candidate.language == "cuda" or candidate.passes_outputs:
        outputs = [torch.empty_like(w) for w in want]
        candidate.launcher(given, outputs, axes) if candidate.language == "cuda" else candidate.entry(*given, *outputs)
    else:
        outputs = reference.as_outputs(candidate.entry(*given))
    if torch.get_default_device().type == "cuda":
        torch.cuda.synchronize()
    return outputs


def allclose(got, want, bound):
    """A dtype that differs raises, as there; booleans and whole numbers are compared by their values."""
    if got.dtype != want.dtype:
        raise RuntimeError(f"{got.dtype} did not match {want.dtype}")
    if not want.is_floating_point():
        return torch.equal(got, want) if want.dtype is torch.bool else torch.allclose(got.double(), want.double(), atol=bound, rtol=bound)
    return torch.allclose(got, want, atol=bound, rtol=bound)


def in_words(error):
    return f"{type(error).__name__}: {str(error).strip()[:300]}"


def is_fault(error):
    return any(word in str(error).lower() for word in ("illegal", "misaligned", "cuda error", "launch failure", "device-side", "out of memory", "unspecified"))


def worker(channel, device):
    """Answers groups: {"kind", "problem", "language", "target", "honest", "mutants": [{"name", "text", "racy"}]} with ("row", name, row) for each mutant,
    ("turn", name) before it, ("working",) between cases and ("done",). Ends after a fault: the CUDA context is lost with it."""
    start(device)
    with tempfile.TemporaryDirectory() as folder:
        while (task := channel.recv()) is not None:
            group = Group(task, folder)
            for mutant in task["mutants"]:
                channel.send(("turn", mutant["name"]))
                row = getattr(group, task["kind"])(mutant, lambda: channel.send(("working",)))
                fatal = row.pop("fatal", False)
                channel.send(("row", mutant["name"], row))
                if fatal:
                    channel.close()
                    os._exit(1)
            channel.send(("done",))
            del group
            if device == "cuda":
                torch.cuda.empty_cache()
