"""A job's whole life on S3 and DynamoDB, act by act: which requests each role sends."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from flows.cli import run
from scenemosaic import job, keys
from scenemosaic.errors import PermanentStoreError
from scenemosaic.job import JobSpec, Run
from scenemosaic.ledger.book import DEFAULT_NAME, Wanted, open_book
from scenemosaic.mosaic.top import Box
from scenemosaic.planning import PlanOptions
from scenemosaic.stores import open_store
from scenemosaic.top_boxes.committing import make_boxes
from tests import servers
from tests.faults.proxy import Fault, Proxy, Rule, no_faults, once
from tests.faults.wire import Request
from tests.jobs.assembling import WINDOW, is_complete, is_part
from tests.jobs.conftest import write_scene
from tests.policy.requests import Sent


def is_put_to(kind: str, name: str = "") -> Callable[[Request], bool]:
    return lambda seen: (
        seen.method == "PUT" and f"/some/root/{kind}/" in seen.path and seen.path.endswith(name)
    )


def first_of(*accidents: Rule) -> Rule:
    """The first of the accidents that a request meets."""
    return lambda seen: next((fault for one in accidents if (fault := one(seen))), None)


@dataclass
class Life:
    """Acts are done in order; ``sent`` holds what each role's acts asked of the services."""

    seen: list[Sent]
    root: str
    manifest: str
    endpoint: str
    sent: dict[str, list[Sent]] = field(default_factory=lambda: defaultdict(list))

    @contextmanager
    def by(self, role: str) -> Iterator[None]:
        before = len(self.seen)
        yield
        self.sent[role] += self.seen[before:]

    def back_door(self) -> tuple[Any, str, str]:
        """A plain client, which is not recorded, with the root's bucket and prefix."""
        bucket, _, prefix = self.root.removeprefix("s3://").partition("/")
        return servers.aws_client("s3", self.endpoint), bucket, f"{prefix}/"

    def command(self, role: str, *arguments: str, code: int = 0) -> None:
        self.plain(role, *arguments, "--manifest", self.manifest, code=code)

    def plain(self, role: str, *arguments: str, code: int = 0) -> None:
        with self.by(role):
            assert run(arguments) == code, arguments


def live(life: Life, scene: Path, front: Proxy) -> None:
    """Every act once, and the accidents that make rarer requests necessary."""
    life.command("operator", "init", life.root)
    spec = work(life, scene, front)
    waive(life, spec, scene, front)
    assemble(life, spec, front)
    assemble_in_stages(life, scene, front)
    publish(life, spec, scene, front)
    repair(life, spec, scene, front)
    operate(life, spec)


def work(life: Life, scene: Path, front: Proxy) -> JobSpec:
    with life.by("worker"):
        options = PlanOptions(window=WINDOW)
        spec = job.plan_job([str(scene)], life.root, life.manifest, options)
        assert job.finished(spec) is None
        job.prepare(spec)
        assert len(job.missing_windows(spec)) == 2
        for name in ("first", "second"):  # the second is refused, reads back, and records it
            front.rule = once(Fault.RESET, is_put_to("audit"))
            job.publish_plan(spec, Run(name, name))
            job.commit_windows(spec, [0], Run(name, name))
    return spec


def assemble(life: Life, spec: JobSpec, front: Proxy) -> None:
    with life.by("assembler"):
        loaded = job.load_job(spec.plan.job_id, life.root, life.manifest)
        assert not job.find_gaps(loaded).missing
        front.rule = once(Fault.REFUSE_403, is_part)
        with pytest.raises(PermanentStoreError):  # and the upload is ended
            job.assemble(loaded, Run("first", "first"))
        front.rule = first_of(
            once(Fault.RESET, is_complete),  # uploads that are left are looked for
            once(Fault.REFUSE_403, is_put_to("mosaics", "item.json")),
        )
        with pytest.raises(PermanentStoreError):  # the next one's preview is refused
            job.assemble(loaded, Run("second", "second"))
        front.rule = once(Fault.RESET, is_put_to("audit"))
        assert job.assemble(loaded, Run("third", "third")).item
        front.rule = no_faults
        assert job.assemble(loaded, Run("fourth", "fourth")).outcome == "already-present"


def assemble_in_stages(life: Life, scene: Path, front: Proxy) -> None:
    """The same scene without a waiver: more parts than the store is said to take."""
    options = PlanOptions(window=WINDOW, collection="stages")
    spec = job.plan_job([str(scene)], life.root, life.manifest, options)
    other = Run("other", "other")
    job.publish_plan(spec, other)
    job.commit_windows(spec, job.missing_windows(spec), other)
    with life.by("worker"):
        make_boxes(spec, [Box(1, 0, 0)], other)
    with life.by("assembler"):
        front.rule = once(Fault.REFUSE_403, is_part)
        with pytest.raises(PermanentStoreError):
            job.assemble(spec, Run("first", "first"))
        front.rule = once(Fault.RESET, is_complete)
        assert job.assemble(spec, Run("second", "second")).outcome == "written"
    front.rule = no_faults


def publish(life: Life, spec: JobSpec, scene: Path, front: Proxy) -> None:
    for name, job_id in {"first": spec.plan.job_id, "second": another(life, scene)}.items():
        # What the first creates the second changes; each is refused by its own lost write.
        front.rule = first_of(*(once(Fault.RESET, is_put_to(kind)) for kind in ("ledger", "audit")))
        place = (job_id, "--to", life.root, "--slots", "3")
        life.command("publisher", "publish", *place, "--run-id", name)
    front.rule = no_faults


def another(life: Life, scene: Path) -> str:
    """A second job, which nobody records."""
    small = write_scene(scene.with_name("small.tif"), 300, 300)
    spec = job.plan_job([str(small)], life.root, life.manifest, PlanOptions())
    run_ = Run("another", "another")
    job.publish_plan(spec, run_)
    job.commit_windows(spec, job.missing_windows(spec), run_)
    job.assemble(spec, run_)
    return spec.plan.job_id


def waive(life: Life, spec: JobSpec, scene: Path, front: Proxy) -> None:
    front.rule = once(Fault.RESET, is_put_to("audit"))
    place = (spec.plan.job_id, "--to", life.root, "--window", "0000_0001", "--source", str(scene))
    life.command("operator", "waive", *place, "--reason", "no other take")
    front.rule = no_faults


def repair(life: Life, spec: JobSpec, scene: Path, front: Proxy) -> None:
    """One tile was written over, past all guards; one is gone; and a waived one has a source.

    So it goes with the plan.
    """
    door, bucket, prefix = life.back_door()
    key, place = partial(keys.tile_key, spec.plan.job_id), (spec.plan.job_id, "--to", life.root)
    source = ("--source", str(scene))
    door.put_object(Bucket=bucket, Key=prefix + key("0000_0000"), Body=b"something else")
    front.rule = once(Fault.RESET, is_put_to("audit"))
    life.command("repairer", "repair", *place, *source)
    door.delete_object(Bucket=bucket, Key=prefix + key("0000_0000"))
    life.command("repairer", "repair", *place, *source)
    front.rule = once(Fault.REFUSE_403, is_part)
    life.command("repairer", "repair", *place, *source, "--window", "0000_0001", code=5)
    front.rule = once(Fault.RESET, is_complete)
    life.command("repairer", "repair", *place, *source)
    front.rule = no_faults
    plan = prefix + keys.plan_key(spec.plan.job_id)
    door.put_object(Bucket=bucket, Key=plan, Body=b"{}")
    life.command("repairer", "repair", *place, *source)
    door.delete_object(Bucket=bucket, Key=plan)
    life.command("repairer", "repair", *place, *source)


def operate(life: Life, spec: JobSpec) -> None:
    leave_an_upload(life, keys.mosaic_key(spec.plan.job_id, 9))
    leave_an_upload(life, keys.stage_key(spec.plan.job_id, "0" * 32))
    life.command("operator", "preflight", life.root, "--rounds", "2", "--policy")
    for verb in ("status", "verify"):
        life.command("operator", verb, spec.plan.job_id, "--to", life.root)
    clear_a_ledger(life, spec)
    life.command("operator", "gc", life.root, "--older-than", "0s", "--abort")


def clear_a_ledger(life: Life, spec: JobSpec) -> None:
    """A publisher that died while it held the ledger."""
    wanted = Wanted("dead", spec.plan.job_id, 3, "UTC", "somebody")
    open_book(open_store(life.root), DEFAULT_NAME).reserve(wanted)
    ledger = (DEFAULT_NAME, "--to", life.root)
    life.plain("operator", "ledger", "show", *ledger)
    life.plain("operator", "ledger", "clear", *ledger, "--run-id", "dead", "--reason", "it died")


def leave_an_upload(life: Life, key: str) -> None:
    door, bucket, prefix = life.back_door()
    door.create_multipart_upload(Bucket=bucket, Key=prefix + key)
