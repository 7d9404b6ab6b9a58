"""The command line's two streams: one answer on stdout, everything else on stderr."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from flows.reports.scene import error_json
from flows.terminal.progress import Progress
from flows.terminal.streams import Notes, print_answer, print_note
from scenemosaic.errors import SceneMosaicError


@dataclass(frozen=True, slots=True)
class Console:
    """How a command answers: ``as_json`` prints exactly one object."""

    as_json: bool

    def answer(self, value: Mapping[str, object], text: str) -> None:
        """The command's result, as JSON or as ``text`` for people."""
        print_answer(json.dumps(value, allow_nan=False) if self.as_json else text)

    def progress(self) -> Progress:
        """Progress on stderr: a bar where that is a terminal."""
        return Progress(notes := Notes(), notes.isatty())

    def fail(self, error: SceneMosaicError, value: Mapping[str, object] | None = None) -> int:
        """Say what is wrong in one line; the exit code."""
        complain(str(error))
        if self.as_json:
            print_answer(json.dumps(value or error_json(error), allow_nan=False))
        return error.exit_code

    def interrupted(self, code: int) -> int:
        """Say that the user stopped the command; ``code`` itself."""
        text = "interrupted; the same command goes on from there"
        complain(text)
        if self.as_json:
            error = {"kind": "interrupted", "message": text}
            print_answer(json.dumps({"error": error, "exit_code": code}))
        return code


def complain(text: str) -> None:
    """One line on stderr, whatever the message holds."""
    print_note(f"scenemosaic: {' '.join(text.split())}")


def log_to_stderr(verbose: bool) -> None:
    """Warnings of ours on stderr, and with ``verbose`` what is routine as well."""
    handler = logging.StreamHandler(Notes())
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    handler.setLevel(logging.INFO if verbose else logging.WARNING)
    for name in ("scenemosaic", "flows", "tasks"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.INFO)
        logger.propagate = False
        logger.handlers = [handler]


def shown(uri: str) -> str:
    """A URI as people write it: a path where it is a local file."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri
