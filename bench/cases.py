"""What is measured: each case is a command, with what must be laid before it each time."""

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from bench.committed import Committed
from bench.measure import Cost, group_cpu_s, measure, run
from bench.server import PrefectServer, with_server

PYTHON = sys.executable
SCRIPTS = Path(sys.executable).parent


@dataclass(frozen=True)
class Place:
    """Where a bench works: its scratch folder, the scene, the options and environment."""

    folder: Path
    scene: Path
    window: int
    predictor: int
    env: Mapping[str, str]
    level: int | None = None
    block: int | None = None

    @property
    def coding(self) -> list[str]:
        """Options of ours that the command line and the engine's script both take."""
        level = [] if self.level is None else ["--level", str(self.level)]
        block = [] if self.block is None else ["--block-size", str(self.block)]
        return ["--window", str(self.window), *block, *level]

    @property
    def root(self) -> Path:
        """The root that a measured run writes; emptied before each."""
        return self.folder / "root"

    @property
    def out(self) -> Path:
        """The file that a measured command writes; removed before each."""
        return self.folder / "out.tif"

    def out_bytes(self) -> int:
        """The size of the raster that the last measured command wrote; 0 where there is none."""
        written = [self.out, *self.root.glob("mosaics/*/mosaic.tif")]
        return next((path.stat().st_size for path in written if path.exists()), 0)

    def clear(self) -> None:
        """Remove what the last measured command wrote."""
        shutil.rmtree(self.root, ignore_errors=True)
        self.out.unlink(missing_ok=True)


@dataclass(frozen=True)
class Beside:
    """Seconds by name: of a process's first turn, and of each later one."""

    first: Mapping[str, float]
    later: Sequence[Mapping[str, float]]

    def spread(self, name: str) -> str:
        """``median (least)`` of the later turns."""
        took = [turn[name] for turn in self.later]
        return f"{median(took):.3f} ({min(took):.3f})"

    def ratio(self, name: str, other: str) -> float:
        """The median of the ratio within a turn."""
        return median(turn[name] / turn[other] for turn in self.later)


@dataclass(frozen=True)
class Case:
    """One line of the table. ``run`` measures it once, after laying what it needs."""

    name: str
    run: Callable[[], Cost]


def commit(place: Place, scene: Path, name: str) -> Committed:
    """Write a scene's tiles and rows into a root of its own, unmeasured."""
    root = place.folder / name
    told = run(_engine("commit", str(scene), root, place), place.env)
    saved = place.folder / f"{name}-manifest"
    saved.mkdir()
    for path in root.glob("manifest.db*"):
        shutil.copyfile(path, saved / path.name)
    return Committed.found(root, told["job_id"], saved)


def assembly(place: Place, committed: Committed, name: str) -> Case:
    """Assembly alone, by the engine in a process of its own."""
    command = _engine("assemble", committed.job_id, committed.root, place)

    def once() -> Cost:
        committed.rewind()
        cost = measure(command, place.env)
        return replace(cost, out_bytes=committed.mosaic.stat().st_size)

    return Case(name, once)


def beside_cp(place: Place, committed: Committed, turns: int) -> Beside:
    """Assembly and ``cp`` turn by turn, in one process."""
    committed.rewind()
    work = [committed.job_id, str(committed.root), str(committed.manifest)]
    command = [PYTHON, "-m", "bench.assembly", *work, str(place.folder), "--turns", str(turns)]
    told = run(command, place.env)
    return Beside(told["first"], told["later"])


def flow(place: Place, server: PrefectServer | None, name: str) -> tuple[Case, list[float]]:
    """``scenemosaic process``; the list takes the server's CPU seconds of each run."""
    command = [PYTHON, "-m", "flows.cli", "process", str(place.scene), "--to", str(place.root)]
    command += [*place.coding, "--workers", "2", "--json"]
    env = with_server(place.env, server) if server else place.env
    served: list[float] = []

    def once() -> Cost:
        place.clear()
        before = group_cpu_s(server.group) if server else 0.0
        cost = measure(command, env, first=lambda: _has_tile(place.root))
        cost = replace(cost, out_bytes=place.out_bytes())
        if server:
            served.append(group_cpu_s(server.group) - before)
        return cost

    return Case(name, once), served


def engine(place: Place, name: str) -> Case:
    """Plan, two threads of windows and assembly in one process, without Prefect."""
    return simple(place, name, _engine("process", str(place.scene), place.root, place))


def gdal(place: Place, name: str, source: Path, threads: int) -> Case:
    """GDAL's COG driver."""
    command = [PYTHON, "-m", "bench.gdal", str(source), str(place.out), "--threads", str(threads)]
    return simple(place, name, command)


def rio_cogeo(place: Place, name: str) -> Case:
    """``rio cogeo create`` with the same compression, blocks and resampling."""
    command = [str(SCRIPTS / "rio"), "cogeo", "create", str(place.scene), str(place.out), "--quiet"]
    command += ["--cog-profile", "deflate", "--blocksize", "512", "--overview-blocksize", "512"]
    command += ["--overview-resampling", "average", "--co", "ZLEVEL=6"]
    command += ["--co", f"PREDICTOR={place.predictor}"]
    return simple(place, name, command)


def cp(place: Place, name: str, source: Path) -> Case:
    """``cp`` of a file."""
    return simple(place, name, ["cp", str(source), str(place.out)])


def tiles_vrt(place: Place, committed: Committed) -> Path:
    """A VRT over the job's tiles."""
    target = place.folder / "tiles.vrt"
    tiles = committed.root / "tiles" / committed.job_id
    run([PYTHON, "-m", "bench.vrt", str(tiles), str(target), "--window", str(place.window)],
        place.env)  # fmt: skip
    return target


def assembled(place: Place, committed: Committed) -> Path:
    """A copy of the job's mosaic, as bytes for ``cp`` to copy."""
    assembly(place, committed, "").run()
    target = place.folder / "mosaic.tif"
    shutil.copyfile(committed.mosaic, target)
    return target


def simple(place: Place, name: str, command: list[str]) -> Case:
    """A command that writes the place's file or root, which are empty before."""

    def once() -> Cost:
        place.clear()
        cost = measure(command, place.env)
        return replace(cost, out_bytes=place.out_bytes())

    return Case(name, once)


def _engine(what: str, subject: str, root: Path, place: Place) -> list[str]:
    return [PYTHON, "-m", "bench.engine", what, subject, str(root), *place.coding]


def _has_tile(root: Path) -> bool:
    return any((root / "tiles").glob("*/[0-9]*_[0-9]*.tif"))
