# Autotuning without a clock: configurations are chosen by a rule, after a launch for trial as a GPU's tuning makes many.
import dataclasses

from triton.runtime.autotuner import Autotuner

MAX_TEXT = 200  # of a configuration


@dataclasses.dataclass(frozen=True)
class Choice:
    """What one tuner took for one key."""

    kernel: str
    configurations: int  # that it had to choose from
    chosen: int  # the number of one of them, in the candidate's order
    text: str  # of that one: "BLOCK: 128, num_warps: 4, ..."


class Tuning:
    """Stands in for the measurements of triton.autotune in this process.

    The n-th key that a kernel is tuned for takes the n-th configuration of those that compile, in the candidate's order, and `first`
    more: 0 where verdicts are made, others to tell how many configurations are wrong. not_this_one: exceptions that mean that a
    configuration cannot be used, as Triton's own tuning takes them. Compiler and interpreter choose alike.
    given: numbers of the configurations that the first choices take instead of the rule's. One that cannot be used is an error then.
    """

    def __init__(self, first, not_this_one, given=()):
        self.choosing = False  # a launch now is a trial of a configuration
        self.choices = []  # Choice, in their order, of tuners that had more than one configuration
        self._first = first
        self._not_this_one = not_this_one
        self._given = list(given)
        self._keys = {}  # tuner -> keys seen

    @property
    def configurations(self):
        """The most that a tuner of the candidate's had to choose from; 0: none."""
        return max((choice.configurations for choice in self.choices), default=0)

    def install(self):
        tuning = self
        Autotuner.run = lambda tuner, *args, **kwargs: tuning.run(tuner, args, kwargs)

    def run(self, tuner, args, kwargs):
        tuner.nargs = dict(zip(tuner.arg_names, args))
        key = _key(tuner, args, kwargs)
        config = tuner.cache.get(key)
        if config is None and len(tuner.configs) == 1:
            config = tuner.cache[key] = tuner.configs[0]
        if config is None:
            config = tuner.cache[key] = self._choose(tuner, args, kwargs)
        return _launch(tuner, config, args, kwargs)

    def _choose(self, tuner, args, kwargs):
        configs = list(tuner.prune_configs(kwargs))
        if not configs:
            raise RuntimeError("autotune: pruning left no configuration")
        numbers = self._order(tuner, len(configs))
        for tried, number in enumerate(numbers, 1):
            config = configs[number]
            self.choosing = len(configs) > 1
            try:
                self._try_out(tuner, config, args, kwargs)
            except self._not_this_one:
                if tried == len(numbers):
                    raise
                continue
            finally:
                self.choosing = False
            tuner.nargs = dict(zip(tuner.arg_names, args))
            tuner.pre_hook({**tuner.nargs, **kwargs, **config.all_kwargs()}, reset_only=True)
            if len(configs) > 1:
                self.choices.append(Choice(tuner.base_fn.__name__, len(configs), number, str(config)[:MAX_TEXT]))
            return config
        raise RuntimeError("autotune: no configuration is left")

    def _order(self, tuner, count):
        """The numbers of the configurations to try, the first one that compiles is taken."""
        key = self._keys[tuner] = self._keys.get(tuner, -1) + 1
        if count > 1 and len(self.choices) < len(self._given):
            number = self._given[len(self.choices)]
            if not 0 <= number < count:
                raise RuntimeError(f"autotune: there is no configuration {number} of {count}")
            return [number]
        start = (self._first + key) % count
        return [*range(start, count), *range(start)]

    def _try_out(self, tuner, config, args, kwargs):
        """One of the launches that tuning measures, with its hooks: what it leaves in memory is there afterwards."""
        chosen = config.all_kwargs()
        conflicts = kwargs.keys() & config.kwargs.keys()
        if conflicts:
            raise ValueError(f"Conflicting meta-parameters: {', '.join(conflicts)}. Make sure that you don't re-define auto-tuned symbols.")
        given = {**tuner.nargs, **kwargs, **chosen}
        if config.pre_hook is not None:
            config.pre_hook(given)
        tuner.pre_hook(given)
        try:
            tuner.fn.run(*args, **kwargs, **chosen)
        except Exception as error:
            tuner.post_hook(given, exception=error)
            raise
        tuner.post_hook(given, exception=None)


def _launch(tuner, config, args, kwargs):
    tuner.nargs = dict(zip(tuner.arg_names, args))
    tuner.best_config = config
    chosen = config.all_kwargs()
    if config.pre_hook is not None:
        config.pre_hook({**tuner.nargs, **kwargs, **chosen})
    value = tuner.fn.run(*args, **kwargs, **chosen)
    tuner.nargs = None
    return value


def _key(tuner, args, kwargs):
    given = {**dict(zip(tuner.arg_names, args)), **kwargs}
    words = [str(given[name]) for name in tuner.keys if name in given]
    words += [str(value.dtype) for name, value in given.items() if name in tuner.arg_names and hasattr(value, "dtype")]
    return tuple(words)
