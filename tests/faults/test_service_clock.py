"""A refusal under a clock that is off says so: the provider's words do not, and a HEAD has none."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from scenemosaic.errors import PermanentStoreError
from scenemosaic.manifests import dynamodb_errors
from scenemosaic.sources import s3_errors
from scenemosaic.stores import azure_answers, gcs_answers, s3_answers
from scenemosaic.stores.s3_answers import Verdict
from scenemosaic.waiting.service_clock import clock_advice

THEIRS = "Sun, 29 Nov 2026 18:00:00 GMT"
MOMENT = datetime(2026, 11, 29, 18, 0, 0, tzinfo=UTC)
LONG_AGO = {"date": "Sun, 06 Nov 1994 08:49:37 GMT"}


@pytest.mark.parametrize(
    ("ahead", "said"),
    [
        (timedelta(hours=2), "; this machine's clock is 2.0 h ahead of the service's: set it"),
        (-timedelta(minutes=15), "; this machine's clock is 15.0 m behind the service's: set it"),
        (timedelta(minutes=3), ""),
        (-timedelta(seconds=2), ""),
    ],
)
def test_it_is_told_by_the_answers_own_date(ahead: timedelta, said: str) -> None:
    for name in ("Date", "date"):
        assert clock_advice({name: THEIRS}, lambda: MOMENT + ahead) == said


@pytest.mark.parametrize("headers", [{}, {"Date": "nonsense"}])
def test_without_a_date_nothing_is_told(headers: Mapping[str, str]) -> None:
    assert clock_advice(headers, lambda: MOMENT) == ""


def of_aws(headers: Mapping[str, str]) -> dict[str, Any]:
    """As boto3 has the refusal of a HEAD."""
    said = {"HTTPStatusCode": 403, "RequestId": "R1", "HTTPHeaders": dict(headers)}
    return {"Error": {"Code": "403", "Message": "Forbidden"}, "ResponseMetadata": said}


def of_s3(headers: Mapping[str, str]) -> Exception:
    return s3_answers.answered_error(Verdict.PERMANENT, of_aws(headers), "HeadObject", "s3://b/k")


def of_a_source(headers: Mapping[str, str]) -> Exception:
    return s3_errors.s3_error("s3://b/k: HEAD", ClientError(of_aws(headers), "HeadObject"))


def of_dynamodb(headers: Mapping[str, str]) -> Exception:
    error = ClientError(of_aws(headers), "PutItem")
    return dynamodb_errors.classify("PutItem", "table t", error)


def of_azure(headers: Mapping[str, str]) -> Exception:
    failure = azure_answers.failure_of(403, headers, "")
    return azure_answers.answered_error(Verdict.PERMANENT, failure, "GetBlob", "az://c/k")


def of_gcs(headers: Mapping[str, str]) -> Exception:
    failure = gcs_answers.failure_of(401, headers, "")
    return gcs_answers.answered_error(Verdict.PERMANENT, failure, "GetObject", "gs://b/k")


@pytest.mark.parametrize("error_of", [of_s3, of_a_source, of_dynamodb, of_azure, of_gcs])
def test_every_service_s_refusal_says_so(
    error_of: Callable[[Mapping[str, str]], Exception],
) -> None:
    error = error_of(LONG_AGO)
    assert type(error) is PermanentStoreError
    assert str(error).endswith("d ahead of the service's: set it")
    assert "clock" not in str(error_of({}))
