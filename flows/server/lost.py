"""Prefect's API that fails a command under way: what is caught, and what is said of it."""

import httpx

from flows.server.api import is_temporary, temporary_folder

# No answer at all, or one that is a refusal: a server whose database has no room says 500.
LOST = httpx.HTTPError


def said(error: httpx.HTTPError) -> str:
    """What became of the API, for people; of its answers without the URL that was asked."""
    if not isinstance(error, httpx.HTTPStatusError):
        return f"Prefect's API went away ({error})"
    answer = error.response
    where = f" ({temporary_folder()})" if is_temporary() else ""
    return f"Prefect's API answered {answer.status_code} {answer.reason_phrase}{where}"
