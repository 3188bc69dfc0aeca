# The tensors that a candidate gets, over the mapped input and output sets.
from dtypes import TORCH_OF_NAME

# The checker moves the buffers about: without a bound, views of all places seen would pile up.
MAX_CACHED = 4096


class Arguments:
    """Argument tuples by set and offsets. Making a view costs 3 us, finding the tuple again 0.3 us."""

    def __init__(self, signature, order, command, inputs, outputs, fixed):
        """order: indices into inputs + statics. outputs: Regions, or None where results are returned.
        fixed: position in inputs + statics -> value that every call gets (scalars, statics)."""
        self._specs = [(TORCH_OF_NAME[a["dtype"]], a["shape"]) for a in signature["inputs"]]
        self._output_specs = [(TORCH_OF_NAME[a["dtype"]], a["shape"]) for a in signature["outputs"]]
        self._order = order
        self._fixed = fixed
        self._command = command
        self._inputs = inputs
        self._outputs = outputs
        self._cache = {}
        self._used = []

    def of_set(self, number):
        """The arguments of a call on this set, at the offsets that the command page says now."""
        key = (number, self._command.input_rows[number].tobytes())
        if self._outputs is not None:
            key += (self._command.output_rows[number].tobytes(),)
        found = self._cache.get(key)
        if found is None:
            if len(self._cache) >= MAX_CACHED:
                self._cache.clear()
            found = self._cache[key] = self._build(number)
        self._used.append((key, found))
        return found

    def forget_changed(self):
        """After a launch: drops tensors whose shape a candidate may have changed in place (x.t_())."""
        given = len(self._order)
        for key, arguments in self._used:
            changed = any(getattr(a, "_version", 0) != 0 for a in arguments[:given])
            for (_, shape), output in zip(self._output_specs, arguments[given:]):
                changed = changed or list(output.shape) != shape or not output.is_contiguous()
            if changed:
                self._cache.pop(key, None)
        self._used.clear()

    def _build(self, number):
        offsets = self._command.input_rows[number].cast("Q")
        given = {}
        for i, (dtype, shape) in enumerate(self._specs):
            if i not in self._fixed:
                given[i] = self._inputs[number].tensor(dtype, shape, offsets[i])
        given.update(self._fixed)
        arguments = [given[i] for i in self._order]
        if self._outputs is not None:
            offsets = self._command.output_rows[number].cast("Q")
            for j, (dtype, shape) in enumerate(self._output_specs):
                arguments.append(self._outputs[number].tensor(dtype, shape, offsets[j]))
        return tuple(arguments)
