"""azurite with Put Block From URL, which it lacks: it reads the source by its URL."""

import base64
from urllib.parse import unquote, urlsplit

from azure.storage.blob import BlobClient

from tests import servers
from tests.stores.fronts import Answered, Asked, Front

_CODES = {403: "CannotVerifyCopySource", 404: "CannotVerifyCopySource", 416: "InvalidRange"}


class AzureFront(Front):
    """``copied`` holds the range of each copy; ``firewall`` refuses them all with 403."""

    def __init__(self, upstream: str) -> None:
        super().__init__(upstream)
        self.copied: list[str] = []
        self.firewall = False

    def answer(self, asked: Asked) -> Answered:
        if asked.query.get("comp") == "block" and "x-ms-copy-source" in asked.headers:
            return self._put_block_from_url(asked)
        return self.forward(asked)

    def _put_block_from_url(self, asked: Asked) -> Answered:
        if self.firewall:
            return refusal(403, "CannotVerifyCopySource")
        source = urlsplit(asked.headers["x-ms-copy-source"])
        assert source.query, "a source without a signature"
        wanted = {"range": asked.headers["x-ms-source-range"], "x-ms-version": "2020-04-08"}
        wanted["if-match"] = asked.headers["x-ms-source-if-match"]
        # azurite itself judges the signature.
        found = self.forward(Asked("GET", f"{source.path}?{source.query}", wanted, b""))
        if found.status == 412:
            return refusal(412, "SourceConditionNotMet")
        if found.status != 206:
            return refusal(found.status, _CODES.get(found.status, "InternalError"))
        block_id = base64.b64decode(asked.query["blockid"]).decode()
        target = BlobClient(
            f"{self.upstream}/{servers.AZURITE_ACCOUNT}", *_names(asked.path), credential=_key()
        )
        target.stage_block(block_id, found.body, len(found.body))
        self.copied.append(asked.headers["x-ms-source-range"])
        return Answered(201, b"", {"x-ms-request-id": "front"})


def refusal(status: int, code: str) -> Answered:
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>front</Message></Error>"
    headers = {"x-ms-error-code": code, "Content-Type": "application/xml"}
    return Answered(status, body.encode(), headers)


def _names(path: str) -> tuple[str, str]:
    _, _, container, blob = path.split("/", 3)
    return container, unquote(blob)


def _key() -> dict[str, str]:
    return {"account_name": servers.AZURITE_ACCOUNT, "account_key": servers.AZURITE_KEY}
