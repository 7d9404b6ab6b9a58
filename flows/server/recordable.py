"""Texts that Prefect may keep and show: parameters that hold no secret.

A deployment's schema refuses others before there is a run, and so a record of them.
No postponed annotations in here: they are read as they stand.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from pydantic import AfterValidator, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue

_USERINFO: Final = r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*@"
_QUERY: Final = r"([Hh][Tt][Tt][Pp][Ss]?|[Gg][Ss]|[Aa][Zz])://[^?#]*[?]"
_PASSWORD: Final = r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*:[^/?#]*@|.*[?&](ssl)?password="


@dataclass(frozen=True)
class Recordable:
    """A text that does not begin as ``secret``; ``why`` says what is to be done where it does."""

    secret: str
    why: str

    def checked(self, text: str) -> str:
        """The text itself. Raises ValueError, which does not repeat it."""
        if re.match(self.secret, text) is not None:
            raise ValueError(self.why)
        return text

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        return AfterValidator(self.checked).__get_pydantic_core_schema__(source, handler)

    def __get_pydantic_json_schema__(
        self, core: Any, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        # All of it stands in the message of whoever checks by the schema alone.
        wrong = {"description": self.why, "type": "string", "pattern": f"^({self.secret})"}
        return handler(core) | {"not": wrong}


LOCATION: Final = Recordable(
    f"{_USERINFO}|{_QUERY}",
    "leave user, password and query out, since Prefect keeps and shows parameters; "
    "the command line takes signed URLs",
)
MANIFEST: Final = Recordable(
    _PASSWORD,
    "leave the password out of the manifest's URL, since Prefect keeps and shows parameters: "
    "save it in a Secret block, nested in a Tile Manifest block",
)
