"""Who may import whom: deployments -> flows -> {tasks, blocks} -> scenemosaic."""

import ast
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import packages_distributions

import pytest

from tests.structure.source import REPOSITORY, Source, modules

MAY_IMPORT = {
    "scenemosaic": set[str](),
    "tasks": {"scenemosaic"},
    "blocks": {"scenemosaic"},
    "flows": {"scenemosaic", "tasks", "blocks"},
    "deployments": {"scenemosaic", "tasks", "blocks", "flows"},
}
# The clouds' and databases' libraries stay behind the two ports, and behind reading sources.
READERS = ("scenemosaic.queues.", "scenemosaic.sources.s3_")
AWS = ("scenemosaic.stores.", "scenemosaic.manifests.", "scenemosaic.waiting.boto_sessions.")
ONLY_IN = {
    "sqlalchemy": ("scenemosaic.manifests.",),
    "boto3": (*AWS, *READERS),
    "botocore": (*AWS, *READERS),
    "azure": ("scenemosaic.stores.",),
    "google": ("scenemosaic.stores.",),
    "requests": ("scenemosaic.stores.", "scenemosaic.discovery."),
    "scenemosaic.stores.azure": ("scenemosaic.stores.",),
    "scenemosaic.stores.gcs": ("scenemosaic.stores.",),
    "scenemosaic.stores.local": ("scenemosaic.stores.",),
    "scenemosaic.stores.s3": ("scenemosaic.stores.",),
    "scenemosaic.manifests.sql": ("scenemosaic.manifests.",),
    "scenemosaic.manifests.dynamodb": ("scenemosaic.manifests.",),
}
# Users install these extras for what needs them.
EXTRAS = ("azure", "azure-blocks", "gcs", "gcs-blocks", "postgresql", "stac", "dask", "ray")
# A library that another one brings and shows in its own interface.
COMES_WITH = {
    "botocore": "boto3",
    "google_crc32c": "google-cloud-storage",
    "httpx": "prefect",
    "mypy_boto3_dynamodb": "boto3",  # for type checkers alone
    "mypy_boto3_s3": "boto3",
    "pydantic": "prefect",
    "pystac": "pystac-client",
    "requests": "google-cloud-storage",
    "urllib3": "boto3",
    "uvicorn": "prefect",
}
# What decides, and touches no file, store or raster: the standard library, numpy, each other.
PURE = {
    f"scenemosaic.{name}"
    for name in (
        "bandmath.apply", "bandmath.cast", "bandmath.computed", "bandmath.evaluate",
        "bandmath.parser", "bandmath.program", "bandmath.tree",
        "canonical", "crc32", "dtypes", "errors", "gaps", "grids.grid", "image_metadata", "keys",
        "ledger.days", "ledger.rules",
        "ledger.state", "ledger.survey", "ledger.text", "manifests.port", "moments",
        "plans.item_facts", "plans.pin", "recipes.recipe_rules", "recipes.window_choice",
        "stores.port", "tiff.ifd", "tiff.layout", "tiff.runs", "words",
    )
}  # fmt: skip
_PACKAGES = ("bandmath", "grids", "ledger", "plans", "recipes", "stores", "tiff")
# isal and imagecodecs compute a CRC-32 and nothing else here.
PURE_MAY_IMPORT = {
    "imagecodecs",
    "isal",
    "numpy",
    "scenemosaic",
    *(f"scenemosaic.{name}" for name in _PACKAGES),
    *PURE,
}


def imported(tree: ast.AST, module: str) -> Iterator[str]:
    """Dotted names that a module imports, ``import_module("...")`` among them."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=name, level=level, names=names):
                above = module.split(".")[:-level] if level else []
                base = ".".join([*above, *([name] if name else [])])
                yield from (base, *(f"{base}.{alias.name}" for alias in names))
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__")
                | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield name


def wrong(module: str, names: Iterator[str]) -> Iterator[str]:
    """Every import that a module may not have, with the reason."""
    package = module.split(".")[0]
    for name in names:
        top = name.split(".")[0]
        if top in MAY_IMPORT and top != package and top not in MAY_IMPORT[package]:
            yield f"{module} imports {name}: {package} may not import {top}"
        if package == "scenemosaic" and top.split("_")[0] == "prefect":
            yield f"{module} imports {name}: the engine knows no Prefect"
        for guarded, homes in ONLY_IN.items():
            inside = f"{module}.".startswith(homes)
            if (name == guarded or name.startswith(f"{guarded}.")) and not inside:
                yield f"{module} imports {name}: only {homes} may"
        if module in PURE and top not in sys.stdlib_module_names and not is_pure(name):
            yield f"{module} imports {name}: it decides, and what it imports decides too"


def is_pure(name: str) -> bool:
    """Whether a dotted name is a module that pure modules may import, or something in one."""
    return name in PURE_MAY_IMPORT or name.rpartition(".")[0] in {"isal", "numpy", *PURE}


def test_every_pure_module_is_there() -> None:
    assert not PURE - {source.name for source in modules("scenemosaic")}


def test_every_import_points_the_right_way() -> None:
    found = [
        line
        for source in modules(*MAY_IMPORT)
        for line in wrong(source.name, imported(source.tree, source.package_name))
    ]
    assert not found, "\n".join(found)


def circle(sources: Sequence[Source], part: Callable[[str], str]) -> list[str]:
    """Parts that import each other in a circle, the first one again at the end; none is right."""
    names = {source.name for source in sources}
    above: dict[str, set[str]] = {}
    for source in sources:
        found = {name for name in imported(source.tree, source.package_name) if name in names}
        above.setdefault(part(source.name), set()).update(map(part, found - set(MAY_IMPORT)))
    try:
        TopologicalSorter({name: known - {name} for name, known in above.items()}).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def folder(name: str) -> str:
    """The folder of its package that a module lies in, or its own name."""
    return ".".join(name.split(".")[:2])


def test_no_module_and_no_folder_imports_in_a_circle() -> None:
    # A package's face hands on what lies in it, as soon as somebody asks for it.
    files = [source for source in modules(*MAY_IMPORT) if source.path.name != "__init__.py"]
    assert circle(files, lambda name: name) == []
    for package in ("scenemosaic", "flows"):
        assert circle(list(modules(package)), folder) == []


def test_a_planted_circle_of_folders_is_found() -> None:
    code = {
        "scenemosaic.a.one": "from scenemosaic.b import two",
        "scenemosaic.b.two": "",
        "scenemosaic.b.three": "import scenemosaic.a.one",
    }
    planted = [Source(name, REPOSITORY / "x.py", ast.parse(text)) for name, text in code.items()]
    assert circle(planted, lambda name: name) == []
    assert set(circle(planted, folder)) == {"scenemosaic.a", "scenemosaic.b"}


def test_the_packages_are_there_to_be_checked() -> None:
    found = {source.name.split(".")[0] for source in modules(*MAY_IMPORT)}
    assert found >= {"scenemosaic", "tasks", "flows"}


def test_every_library_is_declared() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    declared = [*project["dependencies"], *(one for name in EXTRAS for one in extras[name])]
    known = {re.match(r"[\w.-]+", one).group().lower() for one in declared}  # type: ignore[union-attr]
    homes = {
        name: {one.lower() for one in found} for name, found in packages_distributions().items()
    }
    missing = {
        f"{source.name} imports {top}"
        for source in modules(*MAY_IMPORT)
        for top in {name.split(".")[0] for name in imported(source.tree, source.package_name)}
        if top not in sys.stdlib_module_names and top not in MAY_IMPORT
        and COMES_WITH.get(top) not in known and not homes.get(top, set()) & known
    }  # fmt: skip
    assert not missing, f"declare them in pyproject.toml: {sorted(missing)}"


def test_flows_keep_their_annotations_as_objects() -> None:
    lines = [
        str(source.path.relative_to(REPOSITORY))
        for source in modules("flows", "blocks")
        if "__future__.annotations" in imported(source.tree, source.package_name)
    ]
    assert not lines, f"Prefect's served runs fail with postponed annotations: {lines}"


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("scenemosaic.grids.grid", "import prefect.flows"),
        ("scenemosaic.grids.grid", "def f():\n    from prefect_aws import AwsCredentials"),
        ("scenemosaic.grids.grid", "from tasks.windows import commit"),
        ("scenemosaic.job", "from importlib import import_module\nimport_module('flows.cli')"),
        ("scenemosaic.job", "from scenemosaic.stores.s3 import S3Store"),
        ("scenemosaic.job", "from .stores import s3"),
        ("scenemosaic.plans.plan", "import sqlalchemy as sa"),
        ("scenemosaic.grids.grid", "import rasterio"),
        ("scenemosaic.gaps", "from scenemosaic.manifests import open_manifest"),
        ("scenemosaic.tiff.layout", "from scenemosaic.tiff import template"),
        ("tasks.windows", "from blocks import store"),
        ("tasks.windows", "import flows"),
        ("blocks.store", "import tasks.windows"),
        ("flows.process", "import deployments.policy"),
    ],
)
def test_a_planted_wrong_import_is_found(module: str, code: str) -> None:
    package = module.rpartition(".")[0]
    assert list(wrong(module, imported(ast.parse(code), f"{package}.x")))


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("flows.process", "from tasks import windows\nfrom blocks.store import StoreBlock"),
        ("tasks.windows", "import prefect\nfrom scenemosaic.job import assemble"),
        ("scenemosaic.stores.s3", "import boto3\nfrom . import port"),
        ("scenemosaic.stores", "from scenemosaic.stores.s3 import S3Store"),
        ("scenemosaic.job", "from scenemosaic.stores import open_store"),
        (
            "scenemosaic.tiff.layout",
            "import numpy.typing as npt\nfrom scenemosaic.grids.grid import Grid",
        ),
        ("scenemosaic.tiff.layout", "from scenemosaic.tiff import ifd\nimport struct"),
    ],
)
def test_a_right_import_passes(module: str, code: str) -> None:
    assert not list(wrong(module, imported(ast.parse(code), f"{module}.x")))
