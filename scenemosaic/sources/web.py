"""HTTP(S) sources: one request with a deadline, redirects followed to HTTP(S) alone.

A server that is busy, or breaks the connection off, is asked again, as boto3 and GDAL do.
``http_proxy`` and ``SSL_CERT_FILE`` of the environment are honoured, as GDAL honours them.
"""

import functools
import http.client
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from scenemosaic.errors import InputError
from scenemosaic.sources.locations import check_host
from scenemosaic.waiting.deadlines import Deadlines, timed_connection, within
from scenemosaic.waiting.retry import Pacer, RetryPolicy, system_effects
from scenemosaic.waiting.retry_after import retry_after_s

_SCHEMES: Final = ("http://", "https://")
# As often as boto3 asks for a source on S3.
_AGAIN: Final = RetryPolicy(attempts=4, base_s=1.0, deadline_s=30.0)
_Http: Any = timed_connection(http.client.HTTPConnection)
_Https: Any = timed_connection(http.client.HTTPSConnection)


def is_transient(status: int) -> bool:
    """Whether an HTTP status says that the same request may do later."""
    return status in (408, 425, 429) or status >= 500


class UnusableUrl(urllib.error.URLError):
    """Nobody can be asked under a URL, or under one that it leads to; the text holds neither."""


@contextmanager
def asked(
    url: str, deadlines: Deadlines, method: str = "GET", headers: Mapping[str, str] | None = None
) -> Iterator[Any]:
    """The answer to a request, an ``http.client.HTTPResponse``, while the context lasts.

    Raises urllib's HTTPError for a status of 400 and more, OSError and HTTPException where
    there is no answer; TimeoutError also where it drips beyond the deadline. UnusableUrl, an
    OSError, stands for those that would repeat a URL; HTTPError's text may still do so.
    """
    request = urllib.request.Request(url, method=method, headers=dict(headers or {}))
    pacer = Pacer(_AGAIN, system_effects())
    while True:
        with within(deadlines):
            answer = _opened(request, deadlines.silence_s, pacer)
            if answer is not None:
                with answer:
                    yield answer
                return


def _opened(request: urllib.request.Request, timeout_s: float, pacer: Pacer) -> Any | None:
    """The answer; None, after a pause, where it was none that lasts. Silence is not borne twice."""
    try:
        return _opener().open(request, timeout=timeout_s)
    except urllib.error.HTTPError as error:
        if not is_transient(error.code) or not pacer.again(
            retry_after_s(dict(error.headers.items()))
        ):
            raise
        error.close()
    except OSError as error:
        reason = getattr(error, "reason", error)
        if not isinstance(reason, ConnectionError) or not pacer.again():
            raise
    except (http.client.InvalidURL, ValueError):
        raise UnusableUrl("its URL, its proxy's or the one that it redirects to is none") from None
    return None


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Keeps a HEAD a HEAD, and leads to no other scheme."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if not newurl.lower().startswith(_SCHEMES):
            fp.close()
            raise UnusableUrl("it redirects to another scheme than http(s)")
        try:
            check_host(newurl)
        except InputError:
            fp.close()
            raise UnusableUrl("it redirects to a URL whose host or port is none") from None
        following = super().redirect_request(req, fp, code, msg, headers, newurl)
        if following is not None:
            following.method = req.get_method()
        return following


class _HttpHandler(urllib.request.HTTPHandler):
    def http_open(self, req: Any) -> Any:
        return self.do_open(_Http, req)


class _HttpsHandler(urllib.request.HTTPSHandler):
    def https_open(self, req: Any) -> Any:
        return self.do_open(_Https, req)


@functools.cache
def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_Redirects, _HttpHandler, _HttpsHandler)
