"""Ages as people write them: ``7d``, ``12h``, ``30m``, ``90s``, ``2w``."""

from typing import Final

from scenemosaic.errors import InputError

UNITS_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def age_s(text: str, option: str) -> int:
    """An age in seconds; InputError, naming the option, for what is none."""
    number, unit = text[:-1], text[-1:]
    if unit not in UNITS_S or not (number.isascii() and number.isdecimal()):
        raise InputError(f"{option} {text!r} is no age such as 7d, 12h, 30m or 90s")
    return int(number) * UNITS_S[unit]


def spell_age(seconds: float) -> str:
    """``3.5 h``, in the largest unit of days, hours and minutes that fits."""
    for unit in ("d", "h", "m"):
        if seconds >= UNITS_S[unit]:
            return f"{seconds / UNITS_S[unit]:.1f} {unit}"
    return f"{seconds:.0f} s"
