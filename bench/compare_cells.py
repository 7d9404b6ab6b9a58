"""The cells of the comparison: each is one command, in a process of its own."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bench.cases import PYTHON, SCRIPTS
from bench.committed import Committed
from bench.compare_places import S3, Local
from bench.measure import CommandFailed, Cost, group_cpu_s, measure, run
from bench.places import say

PROCESS = "scenemosaic process"
ENGINE = "scenemosaic without Prefect"
ASSEMBLY = "scenemosaic: assembly alone"
GDAL = "GDAL's COG driver"
RIO = "rio cogeo create"
ODC = "odc-geo save_cog_with_dask"
MERGE = "rasterio.merge (no overviews)"
COPY = "cp, or boto3's upload"
WITH_TILES, FROM_TILES, BYTES = "the scene", "its tiles", "the mosaic"


@dataclass(frozen=True)
class Scene:
    """The scene that is compared on, and how it is coded."""

    path: Path
    size: int
    kind: str
    window: int

    @property
    def predictor(self) -> int:
        return 3 if self.kind.startswith("float") else 2

    @property
    def name(self) -> str:
        return f"{self.size}² x {self.kind.partition('x')[2]} {self.kind.partition('x')[0]}"


@dataclass(frozen=True)
class Row:
    """One line: what it cost, or the reason why there is no cost."""

    scene: str
    where: str
    source: str
    name: str
    cost: Cost | None = None
    servers_s: float = 0.0
    reason: str = ""


@dataclass(frozen=True)
class Bench:
    """What all cells of a scene and a place share.

    ``local`` is the job's tiles in a folder, ``mosaic`` a copy of what becomes of them.
    """

    scene: Scene
    place: Local | S3
    prefect: str
    others_python: str
    local: Committed
    mosaic: Path

    def cells(self) -> Iterator[Row]:
        """Every cell once, one after the other."""
        place, tiles = self.place, self.local.root / "tiles" / self.local.job_id
        yield self._cell(WITH_TILES, PROCESS, self._process(), place.root("process"))
        if place.name == "local":
            engine = self._engine("process", str(self.scene.path), place.root("engine"))
            yield self._cell(WITH_TILES, ENGINE, engine, place.root("engine"))
        yield from self._others(WITH_TILES, self.scene.path)
        try:
            root = self._committed()
            prefix = place.tiles(root, self.local.job_id)
            vrt = self._vrt(tiles, prefix)
        except CommandFailed as error:
            yield self._row(FROM_TILES, ASSEMBLY, reason=_last_line(error))
            return
        assemble = self._engine("assemble", self.local.job_id, root)
        yield self._cell(FROM_TILES, ASSEMBLY, assemble, root, keep=True)
        yield from self._others(FROM_TILES, vrt, tiles, prefix)
        yield self._cell(BYTES, COPY, place.copy(self.mosaic), place.out)
        if place.name != "local":
            place.clear(root)

    def _committed(self) -> str:
        """The root of a job whose tiles all have rows, and no more."""
        self.local.rewind()
        if self.place.name == "local":
            return str(self.local.root)
        root = self.place.root("job")
        run(self._engine("commit", str(self.scene.path), root), self.place.env)
        return root

    def _others(
        self, kind: str, source: Path, tiles: Path | None = None, prefix: str | None = None
    ) -> Iterator[Row]:
        place = self.place
        made = [place.local_out]
        gdal = [PYTHON, "-m", "bench.gdal", str(source), *made]
        yield self._cell(kind, GDAL, place.made(gdal), place.out)
        yield self._cell(kind, RIO, place.made(self._rio(source)), place.out)
        odc = [self.others_python, "-m", "bench.others", "odc", str(source), place.out]
        yield self._cell(kind, ODC, [*odc, *self._coding], place.out)
        way, folder = ("cut-merge", source) if tiles is None else ("merge", tiles)
        merge = [PYTHON, "-m", "bench.others", way, str(folder), *made, *self._coding]
        merge += ["--prefix", prefix] if prefix else []
        yield self._cell(kind, MERGE, place.made(merge), place.out)

    def _cell(
        self, source: str, name: str, command: list[str], out: str, *, keep: bool = False
    ) -> Row:
        """Measure a command, and take away what it wrote (unless ``keep``)."""
        place = self.place
        before = sum(group_cpu_s(group) for group in place.groups)
        try:
            cost = measure(command, {**place.env, "PREFECT_API_URL": self.prefect})
            servers_s = sum(group_cpu_s(group) for group in place.groups) - before
            cost = replace(cost, out_bytes=place.out_bytes(out))
            row = self._row(source, name, cost, servers_s)
        except CommandFailed as error:
            row = self._row(source, name, reason=_last_line(error))
        if not keep:
            place.clear(out)
        return row

    def _row(
        self,
        source: str,
        name: str,
        cost: Cost | None = None,
        servers_s: float = 0.0,
        reason: str = "",
    ) -> Row:
        told = f"{cost.cpu_s:.2f} s CPU, {cost.wall_s:.2f} s wall" if cost else reason
        say(f"{self.scene.name}, {self.place.name}, {name} of {source}: {told}")
        return Row(self.scene.name, self.place.name, source, name, cost, servers_s, reason)

    def _vrt(self, tiles: Path, prefix: str | None) -> Path:
        target = self.place.folder / "tiles.vrt"
        command = [PYTHON, "-m", "bench.vrt", str(tiles), str(target)]
        command += ["--window", str(self.scene.window), *(["--prefix", prefix] if prefix else [])]
        run(command, self.place.env)
        return target

    def _process(self) -> list[str]:
        command = [PYTHON, "-m", "flows.cli", "process", str(self.scene.path)]
        command += ["--to", self.place.root("process"), "--window", str(self.scene.window)]
        return [*command, "--workers", "2", "--json"]

    def _engine(self, what: str, subject: str, root: str) -> list[str]:
        command = [PYTHON, "-m", "bench.engine", what, subject, root]
        return [*command, "--window", str(self.scene.window)]

    def _rio(self, source: Path) -> list[str]:
        command = [str(SCRIPTS / "rio"), "cogeo", "create", str(source), self.place.local_out]
        command += ["--quiet", "--cog-profile", "deflate", "--blocksize", "512"]
        command += ["--overview-blocksize", "512", "--overview-resampling", "average"]
        return [*command, "--co", "ZLEVEL=6", "--co", f"PREDICTOR={self.scene.predictor}"]

    @property
    def _coding(self) -> list[str]:
        scene = self.scene
        return ["--window", str(scene.window), "--predictor", str(scene.predictor)]


def _last_line(error: CommandFailed) -> str:
    return str(error).strip().splitlines()[-1][:200]
