"""An S3 emulator that tells a copied part's checksum, as S3 does and emulators do not."""

import base64
import dataclasses
import re
import zlib
from typing import Any
from urllib.parse import unquote

from tests import servers
from tests.stores.fronts import Answered, Asked, Front

_END = b"</CopyPartResult>"
_CHECKSUM = "<ChecksumCRC32>{}</ChecksumCRC32>"


class S3Front(Front):
    """``completed`` holds what each completion said of its parts' checksums."""

    def __init__(self, upstream: str) -> None:
        super().__init__(upstream)
        self.completed: list[list[str]] = []
        self._told: set[str] = set()

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST" and "uploadId" in asked.query:
            self.completed.append(re.findall(_CHECKSUM.format("(.*?)"), asked.body.decode()))
            # The emulator knows nothing of these.
            asked = dataclasses.replace(asked, body=self._without_told(asked.body.decode()))
        answered = self.forward(asked)
        if "x-amz-copy-source-range" not in asked.headers or _END not in answered.body:
            return answered
        crc = zlib.crc32(self._source(asked)).to_bytes(4, "big")
        self._told.add(base64.b64encode(crc).decode())
        told = _CHECKSUM.format(base64.b64encode(crc).decode()).encode()
        kept = {name: said for name, said in answered.headers.items() if name != "Content-Length"}
        return Answered(answered.status, answered.body.replace(_END, told + _END), kept)

    def _without_told(self, body: str) -> bytes:
        for told in self._told:
            body = body.replace(_CHECKSUM.format(told), "")
        return body.encode()

    def _source(self, asked: Asked) -> bytes:
        bucket, _, key = unquote(asked.headers["x-amz-copy-source"]).lstrip("/").partition("/")
        client: Any = servers.aws_client("s3", self.upstream)
        wanted = asked.headers["x-amz-copy-source-range"]
        return bytes(client.get_object(Bucket=bucket, Key=key, Range=wanted)["Body"].read())
