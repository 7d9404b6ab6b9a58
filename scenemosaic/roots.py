"""Roots and manifest URLs: parsed once, canonical from then on."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from scenemosaic.errors import InputError, PermanentStoreError
from scenemosaic.keys import check_key

ROOT_FORMS = "a path, file:///path, s3://bucket/prefix, gs://bucket/prefix or az://container/prefix"
MANIFEST_FORMS = "sqlite:///file.db, postgresql+psycopg://host/database or dynamodb://table"
DEFAULT_TABLE = "scenemosaic-manifest"

_CLOUD = ("s3", "gs", "az")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
_CONTAINER = re.compile(r"(?=.{3,63}\Z)[a-z0-9]+(-[a-z0-9]+)*|\$(root|web|logs)")
_NAMES = {
    "az": (
        _CONTAINER,
        "a container's name, which has 3 to 63 lower-case letters, digits and "
        "single hyphens (the account is AZURE_STORAGE_ACCOUNT's, or its connection string's)",
    )
}
_BUCKET_NAMES = (
    _BUCKET,
    "a bucket's name, which has 3 to 63 lower-case letters, digits, dots and hyphens",
)
_TABLE = re.compile(r"[A-Za-z0-9_.-]{3,255}")
_REGION = re.compile(r"[a-z0-9-]{1,32}")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_TOO_FEW_SLASHES = re.compile(r"(file|s3|gs|az):/?(?!/)(.*)", re.IGNORECASE)
_SQL = ("sqlite", "postgresql")
_PASSWORDS = ("password", "sslpassword")
# Every store's keys, and Linux's paths and names, less what the longest of ours and its hidden
# files have below a root.
_MOST_PREFIX_BYTES = 1024 - 160
_MOST_PATH_BYTES, _MOST_NAME_BYTES = 4096 - 256, 255


@dataclass(frozen=True, slots=True)
class Root:
    """Where outputs go. ``bucket`` is empty for ``file``, whose ``prefix`` is an absolute path.

    ``uri`` is canonical: two spellings of one root have the same, without a slash at its end.
    """

    scheme: str
    bucket: str
    prefix: str

    @property
    def uri(self) -> str:
        if self.scheme == "file":
            return Path(self.prefix).as_uri()
        return f"{self.scheme}://{self.bucket}" + (f"/{self.prefix}" if self.prefix else "")


@dataclass(frozen=True, slots=True)
class ManifestUrl:
    """Where rows go: ``kind`` is ``sql`` or ``dynamodb``; ``url`` may hold a password.

    ``table`` and ``region`` are DynamoDB's; a region of None is the environment's.
    """

    kind: str
    url: str = field(repr=False)
    table: str = ""
    region: str | None = None


def parse_root(text: str) -> Root:
    """The root that ``text`` names. Raises InputError, which never repeats userinfo."""
    match = _SCHEME.match(text)
    if match is None:
        _check_slashes(text)
        return _local(text, text)
    scheme = match.group(1).lower()
    if scheme not in ("file", *_CLOUD):
        raise InputError(f"{scheme}:// is not a root; a root is {ROOT_FORMS}")
    parts = _split(text)
    if scheme == "file":
        if parts.netloc not in ("", "localhost"):
            raise InputError(f"{text!r}: a file:// root names no host; write file:///path")
        return _local(unquote(parts.path), text)
    return _bucket(scheme, parts.netloc, parts.path, text)


def is_there(root: Root) -> bool:
    """Whether a local root is a folder; of a cloud's nothing is known."""
    return root.scheme != "file" or looked_at(Path(root.prefix), Path.is_dir)


def check_there(text: str) -> None:
    """InputError where ``text`` is a local root without a folder; a cloud says so when asked."""
    root = parse_root(text)
    if not is_there(root):
        raise InputError(f"there is no folder {root.prefix}: is the root spelled right?")


def check_folder(root: Root) -> None:
    """InputError where a local root is a file; it need not be there."""
    if root.scheme == "file" and looked_at(Path(root.prefix), Path.is_file):
        raise InputError(f"{root.prefix} is a file, and a root is a folder")


def has_outputs(root: Root) -> bool:
    """Whether a local root was ever written to, or at least made."""
    folder = Path(root.prefix)
    hidden, manifest = folder / ".scenemosaic", folder / "manifest.db"
    return looked_at(hidden, Path.is_dir) or looked_at(manifest, Path.is_file)


def looked_at(path: Path, look: Callable[[Path], bool]) -> bool:
    """What ``look`` sees at a path. PermanentStoreError where no user of ours may see that."""
    try:
        return look(path)
    except OSError as error:
        raise PermanentStoreError(
            f"{path} cannot be looked at: {error.strerror}; check the permissions of the folders "
            "above it"
        ) from error


def default_manifest(root: Root) -> str:
    """The manifest URL of a root for which none is given, or InputError where one must be."""
    if root.scheme == "file":
        if "?" in root.prefix or "%" in root.prefix:
            raise InputError(
                f"{root.prefix}: give --manifest; SQLite's URL cannot hold a '?' or a '%'"
            )
        return f"sqlite:///{Path(root.prefix) / 'manifest.db'}"
    if root.scheme == "s3":
        return f"dynamodb://{DEFAULT_TABLE}"
    raise InputError(f"{root.uri}: give --manifest ({MANIFEST_FORMS}); this root has no default")


def parse_manifest(text: str) -> ManifestUrl:
    """The manifest that ``text`` names; SQLite's file is made absolute. Raises InputError."""
    scheme = text.partition(":")[0].lower()
    if scheme == "dynamodb":
        return _dynamodb(text)
    if scheme.partition("+")[0] not in _SQL or "://" not in text:
        raise InputError(f"a manifest is {MANIFEST_FORMS}, not a URL that begins with {scheme!r}")
    if scheme.startswith("sqlite"):
        return ManifestUrl("sql", _absolute_sqlite(text))
    return ManifestUrl("sql", text)


def holds_password(url: str) -> bool:
    """Whether a manifest's URL holds a password, which is then not to be kept or shown."""
    try:
        parts = urlsplit(url)
        return bool(parts.password) or any(n in _PASSWORDS for n, _ in parse_qsl(parts.query))
    except ValueError:  # what it is instead, parse_manifest says
        return False


def without_password(url: str) -> str:
    """A manifest's URL without its password, fit to be shown, and else as it is."""
    if not holds_password(url):
        return url
    parts = urlsplit(url)
    user, mark, host = parts.netloc.rpartition("@")
    query = [pair for pair in parse_qsl(parts.query) if pair[0] not in _PASSWORDS]
    netloc = f"{user.partition(':')[0]}{mark}{host}"
    return parts._replace(netloc=netloc, query=urlencode(query)).geturl()


def _check_slashes(text: str) -> None:
    match = _TOO_FEW_SLASHES.fullmatch(text)
    if match is None:
        return
    scheme, rest = match.group(1).lower(), match.group(2)
    right = "the path, or file:///path" if scheme == "file" else f"{scheme}://{rest}"
    raise InputError(f"{text!r} is not a root: write {right} (or ./{text} for a folder)")


def _split(text: str) -> SplitResult:
    parts = urlsplit(text)
    if "@" in parts.netloc:
        raise InputError(
            f"a root of {parts.scheme}:// holds no user, password or account before an @; leave "
            "them out"
        )
    if "?" in text or "#" in text:
        bare = text.partition("?")[0].partition("#")[0]
        raise InputError(f"a root has no query and no fragment; leave out what follows {bare!r}")
    return parts


def _local(path: str, given: str) -> Root:
    if not path or not path.isprintable():
        raise InputError(f"{given!r} is not a usable folder; a root is {ROOT_FORMS}")
    return Root("file", "", _resolved(path))


def _bucket(scheme: str, bucket: str, path: str, given: str) -> Root:
    form, what = _NAMES.get(scheme, _BUCKET_NAMES)
    if not form.fullmatch(bucket):
        raise InputError(f"{given!r}: {bucket!r} is not {what}; a root is {ROOT_FORMS}")
    prefix = path.strip("/")
    if len(prefix.encode()) > _MOST_PREFIX_BYTES:
        raise InputError(
            f"{given!r:.80}…: the prefix of a root has at most {_MOST_PREFIX_BYTES} bytes, since "
            "the keys below it have 1024"
        )
    return Root(scheme, bucket, check_key(prefix) if prefix else "")


def _dynamodb(text: str) -> ManifestUrl:
    parts = urlsplit(text)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    region = query.pop("region", None)
    if query or parts.path.strip("/") or parts.fragment or not _TABLE.fullmatch(parts.netloc):
        raise InputError("a DynamoDB manifest is dynamodb://table or dynamodb://table?region=name")
    if region is not None and not _REGION.fullmatch(region):
        raise InputError(f"{region!r} is not a region's name, such as eu-central-1")
    suffix = f"?region={region}" if region else ""
    return ManifestUrl("dynamodb", f"dynamodb://{parts.netloc}{suffix}", parts.netloc, region)


def _absolute_sqlite(text: str) -> str:
    head, _, path = text.partition(":///")
    name, mark, query = path.partition("?")
    if not name or name == ":memory:":
        return text
    return f"{head}:///{_resolved(name)}{mark}{query}"


def _resolved(path: str) -> str:
    try:
        found = str(Path(path).resolve())
    except (RuntimeError, OSError) as error:
        # RuntimeError is how pathlib reports a loop before Python 3.13.
        raise InputError(f"{path}: its symbolic links cannot be followed ({error})") from error
    name = os.fsencode(found)
    if len(name) > _MOST_PATH_BYTES or max(map(len, name.split(b"/"))) > _MOST_NAME_BYTES:
        raise InputError(
            f"{path:.80}…: a path has at most {_MOST_PATH_BYTES} bytes, and each name in it "
            f"{_MOST_NAME_BYTES}"
        )
    return found
