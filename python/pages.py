# The pages and structs of src/gym/protocol.h, at the same offsets (its test pins them).
#
# Go and done are plain 8-byte loads and stores, each a single aligned access of the interpreter. The
# checker's freeze and thaw between them order everything else.
import struct

MAX_SETS = 64
MAX_INPUTS = 32
MAX_OUTPUTS = 8
MAX_RANK = 8
MAX_KERNELS = 32

OP_PREPARE, OP_CALL, OP_NULL_CALL, OP_EXIT = 1, 2, 3, 4
STATE_READY, STATE_FAILED = 1, 2
FAILURE_LOAD, FAILURE_ENTRY_MISSING, FAILURE_EXCEPTION = 1, 2, 3
FAILURE_OUTPUT_KIND, FAILURE_OUTPUT_COUNT, FAILURE_UNSUPPORTED = 4, 5, 6
STYLE_DESTINATION_PASSING, STYLE_RETURNING = 1, 2

COMMAND_BYTES = 4096 + 8 * MAX_SETS * MAX_INPUTS + 8 * MAX_SETS * MAX_OUTPUTS
REPORT_BYTES = 144
REPLY_BYTES = 4096 + REPORT_BYTES * MAX_SETS * MAX_OUTPUTS
_INPUT_OFFSETS = 4096
_OUTPUT_OFFSETS = 4096 + 8 * MAX_SETS * MAX_INPUTS

_KERNELS = 1024  # of the reply page: where its KernelReports begin

_LAUNCHES = struct.Struct("<IIQI")
_KERNEL = struct.Struct("<32sQQ16x")
_REPORT_TAIL = struct.Struct("<II8q8q")
_ORACLE_REPLY = struct.Struct("<IIQ6Q")


class CommandPage:
    """What the checker asks for."""

    def __init__(self, view, input_count, output_count):
        self.launch_seq = view[0:8].cast("Q")
        self._op_and_calls = view[8:16].cast("I")
        self.set_of_call = view[64 : 64 + 4 * MAX_SETS].cast("I")
        # One row of offsets for each set, as bytes: a dictionary key, and cheap to read.
        self.input_rows = _rows(view, _INPUT_OFFSETS, MAX_INPUTS, input_count)
        self.output_rows = _rows(view, _OUTPUT_OFFSETS, MAX_OUTPUTS, output_count)

    @property
    def op(self):
        return self._op_and_calls[0]

    @property
    def calls(self):
        return self._op_and_calls[1]


def _rows(view, start, width, used):
    return [view[start + 8 * width * s :][: 8 * used] for s in range(MAX_SETS)]


class ReplyPage:
    """What the executor says. State and failure are set before the value that announces them."""

    def __init__(self, view):
        self.view = view
        self.done_seq = view[0:8].cast("Q")
        self._words = view[8:40].cast("I")
        self.device_times = view[88:104].cast("Q")  # of the calls, of all on the stream
        self.call_bytes = view[104:112].cast("Q")

    def set_style(self, style):
        self._words[2] = style

    def set_ready(self):
        self._words[0] = STATE_READY

    def set_failed(self, failure):
        self._words[1] = failure
        self._words[0] = STATE_FAILED

    def set_call(self, call):
        self._words[7] = call

    def set_launches(self, library_calls, kernels, configurations=0, masked_lanes=False):
        """kernels: (identity, launches, programs) each; those beyond MAX_KERNELS are only counted. configurations: the most that
        a tuner had to choose from; masked_lanes: some were loaded without `other`."""
        for number, kernel in enumerate(kernels[:MAX_KERNELS]):
            start = _KERNELS + _KERNEL.size * number
            self.view[start : start + _KERNEL.size] = _KERNEL.pack(*kernel)
        self.view[64 : 64 + _LAUNCHES.size] = _LAUNCHES.pack(len(kernels), configurations, library_calls, masked_lanes)

    def report(self, call, output):
        """The OutputReport of one output, as (offset, everything after it)."""
        start = 4096 + REPORT_BYTES * (MAX_OUTPUTS * call + output)
        return self.view[start : start + 8].cast("Q"), self.view[start + 8 : start + REPORT_BYTES]


def report_tail(dtype_number, shape, stride):
    """OutputReport without its offset."""
    padding = [0] * (MAX_RANK - len(shape))
    return _REPORT_TAIL.pack(dtype_number, len(shape), *shape, *padding, *stride, *padding)


def oracle_reply(status, text_bytes):
    return _ORACLE_REPLY.pack(status, 0, text_bytes, 0, 0, 0, 0, 0, 0)
