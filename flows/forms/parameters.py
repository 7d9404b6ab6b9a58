"""What people fill into a form: parameters that say what is found, checked before anything starts.

Commands check theirs with these too, without Prefect: nothing in here imports it.
No postponed annotations in here: Prefect reads them as they stand.
"""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from blocks.forms import LeftOut
from blocks.validation import as_value_error
from flows.engines.batches import MAX_WINDOWS
from flows.engines.engine import EngineName
from flows.server.recordable import LOCATION, MANIFEST
from scenemosaic.discovery.found import MOST_SOURCE_CHARS
from scenemosaic.errors import InputError
from scenemosaic.keys import LEDGER_PATTERN, LEDGER_RULE, ledger_key
from scenemosaic.plans.plan import utc_datetime

MOST_WORKERS = 256
MOST_AT_ONCE = 50
_WHOLE = r"^(/|[A-Za-z][A-Za-z0-9+.-]*:)"

Mode = Literal["missing", "again"]


def _whole_path(to: str) -> str:
    if re.match(_WHOLE, to) is None:
        raise ValueError(
            "a flow takes a whole path or a URI: a relative path would depend on where it runs"
        )
    return to


def _moment(text: str) -> str:
    with as_value_error():
        utc_datetime(text)
    return text


# What flows have in common. Their descriptions stand in each flow's docstring: Prefect shows those.
Text = Annotated[str, Field(min_length=1, max_length=MOST_SOURCE_CHARS)]
Location = Annotated[Text, LOCATION]
MOST_SOURCES = 1000
Sources = Annotated[
    list[Location],
    Field(min_length=1, max_length=MOST_SOURCES, examples=[["s3://bucket/scenes/a.tif"]]),
]
GivenSources = Annotated[
    Annotated[list[Location], Field(max_length=MOST_SOURCES)] | None,
    Field(examples=[["/data/scenes/a.tif"]]),
    LeftOut(),
]
To = Annotated[
    Annotated[Location, AfterValidator(_whole_path), Field(json_schema_extra={"pattern": _WHOLE})]
    | None,
    Field(examples=["s3://bucket/mosaics", "/data/mosaics"]),
    LeftOut(),
]
Manifest = Annotated[
    Annotated[Text, MANIFEST] | None,
    Field(examples=["dynamodb://scenemosaic-manifest", "sqlite:////data/manifest.db"]),
    LeftOut(),
]
BlockName = Annotated[str, Field(pattern=r"^[a-z0-9-]+$", max_length=100)]
Store = Annotated[BlockName | None, Field(examples=["production"]), LeftOut()]
# No date: a form could not repeat a time that a command was given, nor can people type one.
Taken = Annotated[
    Annotated[
        str,
        AfterValidator(_moment),
        Field(
            json_schema_extra={
                "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
                r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?$"
            }
        ),
    ]
    | None,
    Field(examples=["2024-05-01", "2024-05-01T10:20:30Z"]),
    LeftOut(),
]
Asset = Annotated[
    Annotated[str, Field(min_length=1, max_length=200)] | None,
    Field(examples=["visual"]),
    LeftOut(),
]
Title = Annotated[
    Annotated[str, Field(min_length=1, max_length=200)] | None,
    Field(examples=["Harz, May 2024"]),
    LeftOut(),
]
Workers = Annotated[
    Annotated[int, Field(ge=1, le=MOST_WORKERS)] | None, Field(examples=[4]), LeftOut()
]
EngineChoice = Annotated[EngineName, Field()]
EngineAddress = Annotated[
    Annotated[str, Field(min_length=1, max_length=200)] | None,
    Field(examples=["tcp://10.0.0.7:8786"]),
    LeftOut(),
]
Readers = Annotated[int, Field(ge=1, le=MOST_WORKERS, examples=[8])]
WindowsPerTask = Annotated[
    Annotated[int, Field(ge=1, le=MAX_WINDOWS)] | None, Field(examples=[50]), LeftOut()
]
_JOB_ID = r"[0-9a-f]{32}"


def _whole(job_id: str) -> str:
    if re.fullmatch(_JOB_ID, job_id) is None:
        raise ValueError(
            "a flow takes a job's whole ID, all 32 hex digits; only commands take the first of them"
        )
    return job_id


JobId = Annotated[
    str,
    AfterValidator(_whole),
    Field(
        json_schema_extra={"pattern": f"^{_JOB_ID}$"}, examples=["5f0c3b1d9a7e4c2f8b6d0e1a2c3b4d5e"]
    ),
]
ReusedJob = Annotated[JobId | None, Field(examples=["5f0c3b1d9a7e4c2f8b6d0e1a2c3b4d5e"]), LeftOut()]
WindowName = Annotated[str, Field(pattern=r"^[0-9]{4,}_[0-9]{4,}$")]
Windows = Annotated[
    Annotated[list[WindowName], Field(max_length=10_000)] | None,
    Field(examples=[["0007_0012"]]),
    LeftOut(),
]


def _ledger(name: str) -> str:
    try:
        ledger_key(name)
    except InputError:  # which repeats the name
        raise ValueError(LEDGER_RULE) from None
    return name


LedgerName = Annotated[
    str,
    AfterValidator(_ledger),
    Field(
        json_schema_extra={"pattern": f"^{LEDGER_PATTERN}$"},
        examples=["publish"],
    ),
]
IngestName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,56}$", examples=["nightly"])]
QueueUrl = Annotated[
    str,
    Field(
        pattern=r"^https?://[^/@?#\s]+/[^?#\s]+$",
        max_length=1000,
        examples=["https://sqs.eu-central-1.amazonaws.com/123456789012/scenes"],
    ),
]
ListenS = Annotated[int, Field(ge=1, le=86_400, examples=[300])]
HiddenS = Annotated[int, Field(ge=2, le=43_200, examples=[300])]
Slots = Annotated[int, Field(ge=1, le=100, examples=[1])]
TimeZone = Annotated[str, Field(min_length=1, max_length=100, examples=["Europe/Berlin"])]
ApproveWithin = Annotated[int, Field(ge=1, le=31 * 86_400, examples=[86_400])]
RunId = Annotated[
    Annotated[str, Field(min_length=1, max_length=200)] | None,
    Field(examples=["nightly-1"]),
    LeftOut(),
]
Age = Annotated[str, Field(pattern=r"^[0-9]+[smhdw]$", examples=["2h", "30m", "1d"])]
AtOnce = Annotated[int, Field(ge=1, le=MOST_AT_ONCE, examples=[4])]
Deployment = Annotated[
    Annotated[str, Field(pattern=r"^([^/]+/[^/]+)?$", max_length=500)] | None,
    Field(examples=["process-scene/default"]),
    LeftOut(),
]
Attempt = Annotated[int, Field(ge=1, le=1000, examples=[1])]
