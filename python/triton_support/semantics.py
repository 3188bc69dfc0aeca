# Where Triton's interpreter differs from a GPU, it is made to follow the GPU: what is right here must be right there.
import copy
import types

import numpy as np

from triton.runtime import _allocation

from . import accesses, arithmetic, grid, language, libdevice, sources

_WIDEST_ACCESS = 16  # the bytes of a thread's widest access: what alignment and contiguity beyond that promise changes nothing
_OPERATORS = "add sub mul truediv floordiv mod and or xor lshift rshift lt le gt ge eq ne".split()


def install(interpreter):
    """Changes triton.runtime.interpreter for the rest of the process's life."""
    np.seterr(all="ignore")  # a GPU computes with NaN and infinity without a word
    builder = interpreter.InterpreterBuilder
    builder.create_splat = _splat_of(interpreter, builder.create_splat)
    builder.create_extern_elementwise = _library_call_of(interpreter)
    builder.create_assume = _assume
    arithmetic.install(interpreter)
    accesses.add_narrow_atomics(interpreter)
    accesses.check_vector_accesses(interpreter)
    masked = MaskedLanes(interpreter)
    _ask_for_an_allocator(interpreter)
    interpreter._patch_lang_core = _with_checked_hints(interpreter, interpreter._patch_lang_core)
    interpreter.InterpretedFunction.rewrite = _rewrite_of(interpreter)
    _rewrite_combinations(interpreter)
    grid.install(interpreter)
    language.install(interpreter)
    _give_way_to_tensors(interpreter.tl)
    libdevice.install(interpreter.interpreter_semantic)
    return masked


def _rewrite_of(interpreter):
    """The function that is interpreted, from the text that is its identity, with the variables that it captures."""
    rewritten = {}

    def rewrite(function):
        python = function.fn
        if python not in rewritten:
            source = sources.source_of(python)
            rewritten[python] = python if source is None else rewritten_from(source.tree, python)
        return rewritten[python]

    def rewritten_from(tree, python):
        tree = interpreter.FunctionRewriter.ast_transformer.visit(copy.deepcopy(tree))
        tree = language.BoolOperators().visit(tree)
        code = sources.code_of(tree, python)
        sources.kernel_codes.add(code)
        for name, value in vars(interpreter).items():
            python.__globals__.setdefault(name, value)
        cells = dict(zip(python.__code__.co_freevars, python.__closure__ or ()))
        closure = tuple(cells[name] for name in code.co_freevars)
        made = types.FunctionType(code, python.__globals__, python.__name__, python.__defaults__, closure)
        made.__kwdefaults__, made.__annotations__ = python.__kwdefaults__, python.__annotations__
        made.__qualname__, made.__module__ = python.__qualname__, python.__module__
        return made

    return rewrite


def _rewrite_combinations(interpreter):
    """tl.reduce and tl.associative_scan call the Python function under triton.jit: not the text that was hashed."""
    operation = interpreter.ReduceScanOpInterface
    start = operation.__init__

    def init(self, axis, combine_fn):
        if not sources.is_of_triton(combine_fn):
            combine_fn = types.SimpleNamespace(fn=combine_fn.rewrite())
        start(self, axis, combine_fn)

    operation.__init__ = init


def _splat_of(interpreter, create_splat):
    """Comparisons of scalars stay truth values where they meet a block: Triton's interpreter makes numbers of their operands' type
    of them."""

    def splat(builder, result, value):
        if value.data.dtype == np.bool_:
            return interpreter.TensorHandle(np.full(result.shape, value.data), interpreter.tl.int1)
        return create_splat(builder, result, value)

    return splat


class MaskedLanes:
    """Loads whose masked lanes have no `other`: zeros, which is what Triton emits for NVIDIA's GPUs.

    poison: the largest and the smallest values in turns instead, to see whether a kernel relies on the zeros (NaN would be lost in a
    maximum). met: such a lane was loaded since the start.
    """

    def __init__(self, interpreter):
        self.poison = False
        self.met = False
        self._interpreter = interpreter
        self._other_is_given = False
        semantic, builder = interpreter.interpreter_semantic, interpreter.InterpreterBuilder
        load_legacy, create_masked_load = semantic._load_legacy, builder.create_masked_load

        def load_and_say(pointers, mask, other, *more):
            # Of an `other` of one element that is zero Triton asks whether it is true, and drops it.
            self._other_is_given = other is not None
            return load_legacy(pointers, mask, other, *more)

        def masked_load(own, pointers, mask, other, *more, **options):
            if other is None and not self._other_is_given and not np.asarray(mask.data).all():
                self.met = True
                if self.poison:
                    dtype = pointers.get_element_ty()
                    other = interpreter.TensorHandle(self._ends(np.shape(pointers.data), dtype), dtype)
            self._other_is_given = False
            return create_masked_load(own, pointers, mask, other, *more, **options)

        semantic._load_legacy, builder.create_masked_load = load_and_say, masked_load

    def _ends(self, shape, dtype):
        kind = self._interpreter._get_np_dtype(dtype)
        if kind.kind == "f":
            ends = [np.inf, -np.inf]
        elif dtype.is_bf16():
            ends = [0x7F80, 0xFF80]
        elif dtype.is_fp8():
            ends = [0x7F, 0xFF]
        elif kind.kind == "b":
            ends = [True, False]
        else:
            ends = [np.iinfo(kind).max, np.iinfo(kind).min]
        return np.resize(np.array(ends, dtype=kind), shape)


def _ask_for_an_allocator(interpreter):
    """tl.make_tensor_descriptor in a kernel needs memory of triton.set_allocator's; a TensorDescriptor of the host's does not."""
    semantic = interpreter.interpreter_semantic
    make, convert = semantic.make_tensor_descriptor, interpreter._implicit_cvt
    of_the_host = []

    def make_checked(*args, **kwargs):
        allocator = _allocation._allocator
        allocator = allocator.get() if hasattr(allocator, "get") else allocator
        if not of_the_host and isinstance(allocator, _allocation.NullAllocator):
            raise RuntimeError(
                "Kernel requires a runtime memory allocation, but no allocator was set. Use triton.set_allocator to specify an allocator."
            )
        return make(*args, **kwargs)

    def converted(argument):
        if not isinstance(argument, interpreter.TensorDescriptor):
            return convert(argument)
        of_the_host.append(argument)
        try:
            return convert(argument)
        finally:
            of_the_host.pop()

    semantic.make_tensor_descriptor, interpreter._implicit_cvt = make_checked, converted


def _library_call_of(interpreter):
    def call(builder, library, path, symbol, arguments, dtype, is_pure):
        if library or path:
            raise NotImplementedError(f"{symbol} is not of libdevice: it cannot be interpreted")
        kind = interpreter._get_np_dtype(dtype)
        return interpreter.TensorHandle(libdevice.call(symbol, [a.data for a in arguments], kind), dtype.scalar)

    return call


def _assume(builder, condition):
    if not condition:
        raise RuntimeError("tl.assume is given what does not hold")


def _with_checked_hints(interpreter, patch_core):
    """Triton's change of tl.multiple_of and its like, with the promise looked at: the compiler relies on it."""

    def patch(language, scope):
        patch_core(language, scope)
        for name, holds in (("multiple_of", _are_multiples), ("max_contiguous", _are_contiguous), ("max_constancy", _are_constant)):
            scope.set_attr(language, name, checked(name, getattr(language, name), holds))

    def checked(name, hint, holds):
        def check(input, values, **more):
            many = values if isinstance(values, (list, tuple)) else [values]
            many = [int(value.value if isinstance(value, interpreter.tl.constexpr) else value) for value in many]
            data, step = np.asarray(input), 1
            if isinstance(input, interpreter.tl.tensor):
                data = input.handle.data
                if input.dtype.is_ptr():
                    step = max(1, input.dtype.element_ty.primitive_bitwidth // 8)
            data = np.atleast_1d(data)
            if len(many) == data.ndim and not all(holds(data, axis, value, step) for axis, value in enumerate(many)):
                raise RuntimeError(f"tl.{name}(..., {many}) does not hold in program {interpreter.interpreter_builder.grid_idx}")
            return hint(input, values, **more)

        return check

    return patch


def _follow(data, axis, step):
    """Whether each element but the first along axis is `step` more than the one before, or 0: offsets that are folded back in the
    tail go there, and what their lanes load is not stored."""
    after_the_first = np.moveaxis(np.moveaxis(data, axis, 0)[1:], 0, axis)
    return (np.diff(data, axis=axis) == np.array(step).astype(data.dtype)) | (after_the_first == 0)


def _are_multiples(data, axis, value, step):
    """The first of each contiguous run is a multiple of the power of two in value, as far as a GPU uses it."""
    value = min(value & -value, _WIDEST_ACCESS)
    firsts = np.ones(data.shape, dtype=bool)
    np.moveaxis(firsts, axis, 0)[1:] = ~np.moveaxis(_follow(data, axis, step), axis, 0)
    return not (data[firsts] % np.array(max(1, value)).astype(data.dtype)).any()


def _are_contiguous(data, axis, value, step):
    return _in_groups(_follow(data, axis, step), axis, value)


def _are_constant(data, axis, value, step):
    return _in_groups(_follow(data, axis, 0), axis, value)


def _in_groups(follow, axis, value):
    """Whether each group of `value` elements hangs together."""
    size = max(1, min(value, _WIDEST_ACCESS))
    inside = np.arange(1, follow.shape[axis] + 1) % size != 0
    return bool(np.compress(inside, follow, axis=axis).all())


def _give_way_to_tensors(language):
    """A global constant on the left of a tensor: the tensor computes, as it does in the compiler."""
    constant, tensor = language.constexpr, language.tensor
    for name in _OPERATORS:
        name = f"__{name}__"
        setattr(constant, name, _unless(tensor, getattr(constant, name)))


def _unless(tensor, own):
    return lambda constant, other: NotImplemented if isinstance(other, tensor) else own(constant, other)
