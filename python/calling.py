# How a definition's run() wants its arguments.
import inspect


class CallError(Exception):
    """run() cannot be called with this problem's arguments; the text says why."""


class Plan:
    """destination_passing, and order: for each positional argument an index into inputs + statics."""

    def __init__(self, destination_passing, order):
        self.destination_passing = destination_passing
        self.order = order


def plan(function, given_names, output_names, destination_passing=None):
    """given_names: of inputs, then statics. destination_passing None: found from the parameters.

    A definition's statics may stand anywhere among its inputs. Where the parameters carry the
    definition's names they are followed, else the arguments come in the order inputs, statics.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        if destination_passing is None:
            raise CallError(f"the parameters of run are unknown ({error})") from error
        return Plan(destination_passing, list(range(len(given_names))))
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    positional = [p for p in parameters if p.kind in kinds]
    if destination_passing is None:
        destination_passing = _style(parameters, positional, given_names, output_names)
    names = [p.name for p in positional[: len(given_names)]]
    if sorted(names) == sorted(given_names):
        return Plan(destination_passing, [given_names.index(name) for name in names])
    return Plan(destination_passing, list(range(len(given_names))))


def _style(parameters, positional, given_names, output_names):
    """Required parameters decide; parameters with defaults only where these fit neither style."""
    returning, passing = len(given_names), len(given_names) + len(output_names)
    required = sum(p.default is inspect.Parameter.empty for p in positional)
    star = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
    if not star:
        for count in (required, len(positional)):
            if count in (returning, passing):
                return count == passing
    text = ", ".join(str(p) for p in parameters)
    raise CallError(
        f"run({text}) fits neither style: expected {returning} parameters"
        f" ({', '.join(given_names)}) to return the outputs, or {passing} with"
        f" {', '.join(output_names)} at the end to write them"
    )
