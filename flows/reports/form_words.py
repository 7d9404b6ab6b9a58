"""Messages in the words of a form: errors of the engine name command-line options. Pure."""

import re
from collections.abc import Mapping
from typing import Final

# What a person at a form reads of an option; a command is left as a shell takes it.
FIELDS: Final[Mapping[str, str]] = {
    **{
        f"--{name.replace('_', '-')}": f"recipe.{name}"
        for name in (
            *("window", "block_size", "compress", "level", "effort", "resampling", "categorical"),
            *("whole_bits", "bands", "expression", "unscale", "dtype", "nodata", "crs"),
            *("resolution", "bounds", "method", "warp_resampling", "collection"),
        )
    },
    "--accept-new-source": "accept_new_source",
    "--asset": "asset",
    "--datetime": "taken",
    "--deep": "deep",
    "--engine-address": "engine_address",
    "--manifest": "manifest",
    "--reuse": "reuse",
    "--slots": "slots",
    "--source": "sources",
    "--strict-history": "strict_history",
    "--title": "title",
}
_ARGUMENTS: Final[Mapping[str, str]] = {"sources": "SOURCE", "job_id": "JOB"}
_COMMAND: Final = r"`[^`]*`|scenemosaic [a-z]+ [^;]*"
_PIECE: Final = re.compile(rf"(?P<command>{_COMMAND})|(?P<option>--[a-z]+(-[a-z]+)*)")


def in_form_words(text: str) -> str:
    """``text`` with fields instead of options, but for those of a whole command."""
    return _PIECE.sub(lambda found: FIELDS.get(found[0], found[0]), text)


def as_option(field: str) -> str:
    """What a command calls the parameter of its flow that ``field`` is a part of."""
    name = field.partition(".")[0]
    return _ARGUMENTS.get(name, f"--{name.replace('_', '-')}")
