"""The table at a soak's end. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence

from tests.soak.schedule import DECK, Verb
from tests.soak.soak import Soak


def table(
    soak: Soak,
    outcomes: Counter[tuple[str, str]],
    counts: Mapping[str, int],
    violations: Sequence[str],
    seconds: float,
) -> str:
    """What was done, what died, how runs ended, what was looked at, and what is wrong."""
    lines = [f"soak of {seconds / 60:.1f} minutes, seed {soak.seed}", "", "done (left out)"]
    lines += [
        _line(verb.value, f"{soak.done[verb]} ({soak.skipped[verb]})")
        for verb in Verb
        if verb not in DECK
    ]
    lines += ["", "killed (was not there, or came too late)"]
    lines += [
        _line(verb.value, f"{soak.done[verb]} ({soak.skipped[verb]})")
        for verb in Verb
        if verb in DECK
    ]
    lines += ["", "flow runs by final state"]
    lines += [_line(f"{flow} {state}", str(n)) for (flow, state), n in sorted(outcomes.items())]
    lines += ["", "looked at"]
    lines += [_line(name, str(count)) for name, count in counts.items()]
    if violations:
        return "\n".join([*lines, "", f"{len(violations)} VIOLATIONS", *violations])
    return "\n".join([*lines, "", "nothing lost, doubled or left open"])


def _line(name: str, value: str) -> str:
    return f"  {name:<48} {value:>12}"
