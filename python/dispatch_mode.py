# Modes that see every operator that torch runs.
from torch.utils._python_dispatch import TorchDispatchMode


class DispatchMode(TorchDispatchMode):
    """Without torch.compile's protection, whose modules a mode would import at its first call in each process: 1.4 s."""

    @classmethod
    def _should_skip_dynamo(cls):
        return False
