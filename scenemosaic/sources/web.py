"""HTTP(S) sources: one request with a deadline, redirects followed to HTTP(S) alone.

``http_proxy`` and ``SSL_CERT_FILE`` of the environment are honoured, as GDAL honours them.
"""

import functools
import http.client
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from scenemosaic.waiting.deadlines import Deadlines, timed_connection, within

_SCHEMES: Final = ("http://", "https://")
_Http: Any = timed_connection(http.client.HTTPConnection)
_Https: Any = timed_connection(http.client.HTTPSConnection)


@contextmanager
def asked(
    url: str, deadlines: Deadlines, method: str = "GET", headers: Mapping[str, str] | None = None
) -> Iterator[Any]:
    """The answer to a request, an ``http.client.HTTPResponse``, while the context lasts.

    Raises urllib's HTTPError for a status of 400 and more, OSError and HTTPException where
    there is no answer; TimeoutError also where it drips beyond the deadline.
    """
    request = urllib.request.Request(url, method=method, headers=dict(headers or {}))
    with within(deadlines), _opener().open(request, timeout=deadlines.silence_s) as answer:
        yield answer


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Keeps a HEAD a HEAD, and leads to no other scheme."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if not newurl.lower().startswith(_SCHEMES):
            raise urllib.error.URLError("it redirects to another scheme than http(s)")
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
