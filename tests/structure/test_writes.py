"""Outside the adapters nothing writes or deletes; inside, nothing without a condition."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from scenemosaic.stores.port import IfAbsent, IfMatch
from scenemosaic.stores.s3_requests import condition_parameters
from tests.structure.conditions import Package
from tests.structure.source import Source, modules
from tests.structure.writes import Finding, Walk

PRODUCT = ("scenemosaic", "tasks", "flows", "blocks", "deployments")

RAW = "a raw HTTP request"
DYNAMIC = "a client's method by a name that is no constant"
PROBE = "preflight's own probes: check_probe_key refuses every other key"
# (module, function, what) -> why it may. No entry outlives its place.
ALLOWED: dict[tuple[str, str, str], str] = {
    ("scenemosaic.stores.local", "LocalStore._publish", ".replace()"): (
        "IfMatch: the ETag was compared under the key's lock, which is still held"
    ),
    ("scenemosaic.stores.local_scratch", "_discard", ".unlink()"): (
        "hidden scratch files, never a key"
    ),
    ("scenemosaic.stores.s3_requests", "Requests.send", DYNAMIC): (
        "passes condition_parameters() on; each of its callers is judged by its operation"
    ),
    ("scenemosaic.stores.local_files", "locked", "os.open for writing"): (
        "the lock file, which holds nothing"
    ),
    ("scenemosaic.stores.local_proof", "_opened", "os.open for writing"): (
        "a lock file again, which holds nothing"
    ),
    ("scenemosaic.stores.local_files", "replace_json", "os.open for writing"): (
        "a hidden scratch file under a name that only its writer knows"
    ),
    ("scenemosaic.stores.local_files", "replace_json", ".replace()"): (
        "an object's hidden metadata, while its key's lock is held"
    ),
    ("scenemosaic.stores.gcs_requests", "Requests.send", RAW): (
        "the only one; each of its callers is judged by its operation"
    ),
    ("scenemosaic.stores.s3_probes", "S3Probes.delete", "delete_object takes no condition"): PROBE,
    (
        "scenemosaic.stores.s3_probes",
        "S3Probes.put_without_condition",
        "put_object without IfMatch or IfNoneMatch",
    ): PROBE,
    ("scenemosaic.stores.gcs_probes", "GcsProbes.delete", "delete_object takes no condition"): (
        PROBE
    ),
    ("scenemosaic.stores.azure_probes", "AzureProbes.delete", "delete_blob takes no condition"): (
        PROBE
    ),
    ("scenemosaic.stores.local_probes", "LocalProbes.delete", ".unlink()"): PROBE,
    ("scenemosaic.stores.local_probes", "_remove_empty", ".rmdir()"): "only where it is empty",
    ("scenemosaic.manifests.sql", "SqlManifest.delete_probe", "SQL DELETE"): (
        "preflight's own rows: check_probe_partition refuses every other partition"
    ),
    ("scenemosaic.preflight.memory", "Memory.remember", ".write_text()"): (
        "the user's cache of places that were checked"
    ),
    ("scenemosaic.levels", "_dataset", "open with mode 'r+'"): "GDAL's own file in memory",
    ("scenemosaic.manifests.packing", "pack", DYNAMIC): "a row's fields, not a client's methods",
    ("scenemosaic.manifests.sql", "SqlManifest._make_file", ".touch()"): (
        "an empty database, left alone where it exists"
    ),
    ("scenemosaic.sources.pin_cache", "_write", "os.replace"): (
        "the user's cache of file hashes: no output, and a stale entry is never used"
    ),
    ("scenemosaic.sources.pin_cache", "_write", "os.unlink"): "the cache's own scratch file",
    ("flows.verbs.demo_scene", "_write", "open with mode 'w'"): "the demo's input",
    ("flows.verbs.demo_scene", "make_scene", ".replace()"): (
        "the demo's scene gets its name once it is whole"
    ),
    ("flows.verbs.demo_scene", "make_scene", ".unlink()"): "its own hidden file",
    ("flows.terminal.streams", "open_closed_streams", "os.open for writing"): "/dev/null",
    ("flows.terminal.streams", "open_closed_streams", "open with mode 'w'"): "/dev/null, too",
    ("flows.terminal.streams", "drop", "os.open for writing"): "/dev/null",
    ("flows.server.temporary", "_copied", "shutil.copyfile"): (
        "the temporary server's own home, made by this process"
    ),
    ("flows.server.temporary", "_keep", ".replace()"): (
        "the user's cache of an empty Prefect database"
    ),
    ("flows.server.temporary", "_keep", "SQL as text: VACUUM"): "that cache's own scratch file",
    ("flows.server.temporary", "_keep", ".unlink()"): "that cache's own scratch file",
    ("flows.server.temporary", "_end_with_parent", "shutil.rmtree"): (
        "the temporary server's own home, made by this process"
    ),
    ("flows.server.temporary", "main", "shutil.rmtree"): "the same home, where it did not start",
}


def all_findings() -> list[Finding]:
    sources = list(modules(*PRODUCT))
    trees: dict[str, list[ast.Module]] = defaultdict(list)
    for source in sources:
        trees[source.parent].append(source.tree)
    packages = {name: Package(found) for name, found in trees.items()}
    return [
        finding
        for source in sources
        for finding in Walk(source, packages[source.parent]).findings()
    ]


def test_nothing_writes_without_a_condition() -> None:
    found = [
        str(finding)
        for finding in all_findings()
        if (finding.module, finding.function, finding.what) not in ALLOWED
    ]
    assert not found, "\n".join(found)


def test_every_allowance_is_used() -> None:
    places = {(found.module, found.function, found.what) for found in all_findings()}
    assert not ALLOWED.keys() - places, "these places write no more: take them off the list"


def test_s3s_dispatcher_makes_every_condition_a_parameter() -> None:
    assert condition_parameters(IfAbsent()) == {"IfNoneMatch": "*"}
    assert condition_parameters(IfMatch('"etag"')) == {"IfMatch": '"etag"'}


def planted(code: str, module: str) -> list[str]:
    tree = ast.parse(code)
    walk = Walk(Source(module, Path(), tree), Package([tree]))
    return [finding.what for finding in walk.findings()]


SENDER = """
class Requests:
    def send(self, operation, condition=None, **parameters):
        return getattr(self.client, xform_name(operation))(**parameters)
class Upload:
    condition: Condition
    maybe: Condition | None
    def _send(self, operation, condition=None, **parameters):
        return self.requests.send(operation, condition, **parameters)
"""
RAW_SENDER = """
def send(operation, **more):
    http.request(operation, **more)
"""
PARAMETER = """
ABSENT = {"ConditionExpression": "attribute_not_exists(w)"}
class Table:
    def put(self, row, condition):
        request = {"Item": row, **condition}
        self.call(lambda client: client.put_item(**request))
    def insert(self, row):
        self.put(row, ABSENT)
    def replace(self, row):
        self.put(row, condition={"ConditionExpression": "revision = :r"})
"""
CONDITION = """
def condition(wanted):
    if wanted is None:
        return {"IfNoneMatch": "*"}
    return {"IfMatch": wanted}
"""
NO_CONDITION = """
def condition(wanted):
    if wanted is None:
        return {}
    return {"IfMatch": wanted}
"""


@pytest.mark.parametrize(
    "code",
    [
        "open('x', 'w')",
        "open('x', mode='ab')",
        "open('x', mode)",
        "io.open('x', 'r+')",
        "path.open('wb')",
        "path.open(mode='x')",
        "rasterio.open(path, 'w', driver='GTiff')",
        "rasterio.open(path, mode='r+')",
        "from rasterio import open as raster\nraster(path, 'w')",
        "os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)",
        "path.write_text('')",
        "path.write_bytes(b'')",
        "path.touch()",
        "path.unlink(missing_ok=True)",
        "path.replace(other)",
        "path.rename(other)",
        "os.link(a, b)",
        "path.hardlink_to(b)",
        "os.replace(a, b)",
        "from os import remove\nremove(a)",
        "import os as o\no.unlink(a)",
        "shutil.rmtree(folder)",
        "from shutil import copyfile as cp\ncp(a, b)",
        "from rasterio.shutil import copy\ncopy(a, b, driver='COG')",
        "rasterio.shutil.delete(a)",
        "import numpy as np\nnp.save(path, pixels)",
        "pixels.tofile(path)",
        "client.put_object(Bucket=b, Key=k, IfNoneMatch='*')",
        "client.complete_multipart_upload(IfNoneMatch='*')",
        "client.create_multipart_upload(Bucket=b)",
        "client.upload_file('x', b, k)",
        "client.delete_object(Bucket=b, Key=k)",
        "client.copy_object(Bucket=b, IfNoneMatch='*')",
        "table.put_item(Item=i, ConditionExpression='x')",
        "getattr(client, 'put_object')(Bucket=b)",
        "retry(client.put_object, Bucket=b)",
        "connection.execute('UPDATE rows SET revision = 2')",
        "connection.execute('insert into rows values (1)')",
        "connection.execute(f'DELETE FROM {table}')",
        "connection.execute('VACUUM INTO ?', (path,))",
    ],
)
def test_outside_the_adapters_a_planted_write_is_found(code: str) -> None:
    for module in ("scenemosaic.tile", "tasks.windows", "flows.process"):
        assert planted(code, module)


@pytest.mark.parametrize(
    "code",
    [
        "client.put_object(Bucket=b, Key=k, Body=d)",
        "client.put_object(Bucket=b, **{'Key': k})",
        "client.put_object(Bucket=b, **request)",
        "retry(client.put_object, Bucket=b)",
        "partial(client.complete_multipart_upload, UploadId=u)",
        "put = client.put_object",
        "getattr(client, 'put_object')(Bucket=b)",
        NO_CONDITION + "client.put_object(Bucket=b, **condition(None))",
        "def f(wanted):\n    request = {}\n    client.put_object(**request)",
        "def f(w):\n    c = {'IfMatch': w} if w else {}\n    client.put_object(**c)",
        SENDER + "    def put(self):\n        self._send('PutObject', Key=k)",
        SENDER + "    def put(self, c: Condition | None):\n        self._send('PutObject', c)",
        SENDER + "    def end(self):\n        self._send('CompleteMultipartUpload', self.maybe)",
        SENDER + "    def rid(self, c: Condition):\n        self._send('DeleteObject', c)",
        SENDER + "    def put(self):\n        self._send(self.chosen, IfAbsent())",
        SENDER + "    def put(self):\n        retry(lambda: self._send('PutObject'))",
        RAW_SENDER + "send('InsertObject', c, params={'x': 1})",
        RAW_SENDER + "send('StartUpload', IfAbsent(), url=u)",
        RAW_SENDER + "send('DeleteObject', IfAbsent(), url=u)",
        "blob.upload_blob(data, overwrite=True)",
        "blob.commit_block_list(blocks)",
        "blob.delete_blob(match_condition=m)",
        "blob.upload_from_string(data, if_generation_match=0)",
        "client.copy_object(Bucket=b, IfNoneMatch='*')",
        "client.delete_object(Bucket=b, Key=k, IfMatch=e)",
        "client.upload_fileobj(f, b, k, ExtraArgs={'IfNoneMatch': '*'})",
        "table.put_item(Item=i)",
        PARAMETER + "    def spoil(self, row):\n        self.put(row, {})\n",
        PARAMETER + "    def spoil(self, row, other):\n        self.put(row, other)\n",
        "def put(c):\n    s3.put_object(**c)\nput({'IfMatch': e})\nput()",
        "def put(c):\n    return put(c)\ns3.put_object(**put({}))",
        "table.update_item(Key=k, UpdateExpression='x')",
        "table.delete_item(Key=k)",
        "client.batch_write_item(RequestItems=r)",
        "import sqlalchemy as sa\nsa.update(rows).values(x=1)",
        "import sqlalchemy as sa\nsa.update(rows).where(rows.c.window == w).values(x=1)",
        "from sqlalchemy import update\nupdate(rows).where(rows.c.window == w)",
        "rows.update().values(x=1)",
        "import sqlalchemy as sa\nsa.delete(rows).where(rows.c.revision == 1)",
        "rows.delete()",
        "insert(rows).values(x).on_conflict_do_update(set_=x)",
        "connection.execute(sa.text('UPDATE rows SET x = 1'))",
        "connection.exec_driver_sql('REPLACE INTO rows VALUES (1)')",
        "metadata.drop_all(engine)",
        "os.replace(a, b)",
        "scratch.replace(path)",
        "path.open('w')",
        "os.open(path, os.O_WRONLY | os.O_CREAT)",
        "path.unlink()",
    ],
)
def test_inside_the_adapters_a_planted_unconditional_write_is_found(code: str) -> None:
    for module in ("scenemosaic.stores.s3", "scenemosaic.manifests.sql"):
        assert set(planted(code, module)) - {DYNAMIC, RAW}


@pytest.mark.parametrize(
    "code",
    [
        "client.put_object(Bucket=b, Key=k, IfNoneMatch='*')",
        "client.put_object(Bucket=b, **{'Key': k, 'IfMatch': e})",
        "retry(client.put_object, Bucket=b, IfMatch=e)",
        CONDITION + "client.put_object(Bucket=b, **condition(None))",
        CONDITION + "def f(w):\n    c = condition(w)\n    client.complete_multipart_upload(**c)",
        CONDITION + "client.put_object(**{'Bucket': b, **condition(None)})",
        "def f(w):\n    c = {'IfMatch': w} if w else {'IfNoneMatch': '*'}\n    s3.put_object(**c)",
        PARAMETER,
        "blob.upload_blob(data, match_condition=MatchConditions.IfMissing)",
        "blob.stage_block(name, data)",
        RAW_SENDER
        + "def g(c):\n    return {'ifGenerationMatch': c}\n"
        + "def insert(c):\n    send('InsertObject', c, params={'f': 1, **g(c)})",
        "client.create_multipart_upload(Bucket=b)",
        "client.abort_multipart_upload(Bucket=b)",
        "table.put_item(Item=i, ConditionExpression='attribute_not_exists(w)')",
        "import sqlalchemy as sa\nsa.update(r).where(is_row, r.c.revision == 3).values(x=1)",
        "insert(rows).values(x).on_conflict_do_nothing()",
        "path.hardlink_to(scratch)",
        "os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)",
        "path.open('xb')",
    ],
)
def test_inside_the_adapters_a_conditional_write_passes(code: str) -> None:
    assert not set(planted(code, "scenemosaic.stores.s3")) - {RAW}


def test_a_raw_request_in_an_adapter_is_found() -> None:
    assert planted("session.request('PUT', url, data=data)", "scenemosaic.stores.gcs") == [RAW]


@pytest.mark.parametrize(
    "code",
    [
        "    def put(self, c: Condition):\n        self._send('PutObject', c)",
        "    def put(self):\n        self._send('PutObject', IfAbsent())",
        "    def end(self):\n        self._send('CompleteMultipartUpload', self.condition)",
        "    def head(self):\n        retry(lambda: self._send('HeadObject', Key=k))",
        "    def part(self):\n        self._send('UploadPart', Body=d)",
    ],
)
def test_a_conditional_request_by_its_name_passes(code: str) -> None:
    assert planted(SENDER + code, "scenemosaic.stores.s3") == [DYNAMIC]


@pytest.mark.parametrize(
    "code",
    [
        "open('x')",
        "open('x', 'rb')",
        "path.open('rb')",
        "rasterio.open(path, sharing=False)",
        "rasterio.open('level', 'w+', driver='MEM')",
        "rasterio.open('/vsimem/a.tif', 'w', driver='GTiff')",
        "memory.open(driver='GTiff', width=1)",
        "os.open(path, os.O_RDONLY)",
        "'a-b'.replace('-', '_')",
        "dataclasses.replace(recipe, level=6)",
        "moment.replace(microsecond=0)",
        "known.update(other)",
        "known.update({})",
        "os.path.join(a, b)",
        "pixels.copy()",
        "store.put(key, body, IfAbsent())",
        "connection.execute('SELECT 1')",
    ],
)
def test_what_only_reads_passes_everywhere(code: str) -> None:
    assert not planted(code, "scenemosaic.tile")
    assert not planted(code, "scenemosaic.stores.s3")
