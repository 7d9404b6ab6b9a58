"""Queues of a test's own, with a dead-letter queue, and a look past the adapter."""

import json
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus

from tests import servers

MOST_A_BATCH = 10


@dataclass(frozen=True)
class Queues:
    """A queue that moves a message to the dead-letter queue after ``most`` deliveries."""

    endpoint: str
    url: str
    dead_url: str

    @property
    def client(self) -> Any:
        return servers.aws_client("sqs", self.endpoint)

    @property
    def arn(self) -> str:
        return arn_of(self.client, self.url)

    def send(self, bodies: Iterable[str]) -> None:
        every, client = list(bodies), self.client
        for start in range(0, len(every), MOST_A_BATCH):
            entries = [
                {"Id": str(number), "MessageBody": body}
                for number, body in enumerate(every[start : start + MOST_A_BATCH])
            ]
            answer = client.send_message_batch(QueueUrl=self.url, Entries=entries)
            assert not answer.get("Failed")

    def left(self) -> int:
        """Messages in the queue, hidden ones too."""
        return depth(self.client, self.url)

    def dead(self) -> list[str]:
        """The bodies in the dead-letter queue; none of them is taken away."""
        return list(_bodies(self.client, self.dead_url))


def make_queues(endpoint: str, most: int, hidden_s: int = 30) -> Queues:
    client, name = servers.aws_client("sqs", endpoint), f"sm-{uuid.uuid4().hex[:12]}"
    dead_url = client.create_queue(QueueName=f"{name}-dead")["QueueUrl"]
    redrive = {"deadLetterTargetArn": arn_of(client, dead_url), "maxReceiveCount": most}
    attributes = {"RedrivePolicy": json.dumps(redrive), "VisibilityTimeout": str(hidden_s)}
    url = client.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    # A server that reads the request names itself as it was called; others do not.
    return Queues(endpoint, _at(endpoint, url), _at(endpoint, dead_url))


def arn_of(client: Any, url: str) -> str:
    answer = client.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    return str(answer["Attributes"]["QueueArn"])


def depth(client: Any, url: str) -> int:
    names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
    answer = client.get_queue_attributes(QueueUrl=url, AttributeNames=list(names))
    return sum(int(answer["Attributes"][name]) for name in names)


def created(bucket: str, key: str, etag: str = "0123456789abcdef0123456789abcdef") -> str:
    """S3's own message that an object came; its key is spelled as S3 spells it."""
    spelled = quote_plus(key, safe="/")
    record = {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "awsRegion": servers.REGION,
        "eventTime": "2024-05-01T10:20:30.000Z",
        "eventName": "ObjectCreated:Put",
        "userIdentity": {"principalId": "AWS:AIDA"},
        "requestParameters": {"sourceIPAddress": "127.0.0.1"},
        "responseElements": {"x-amz-request-id": "C3D13FE58DE4C810"},
        "s3": {
            "s3SchemaVersion": "1.0",
            "configurationId": "scenes",
            "bucket": {
                "name": bucket,
                "ownerIdentity": {"principalId": "A3NL"},
                "arn": f"arn:aws:s3:::{bucket}",
            },
            "object": {"key": spelled, "size": 1024, "eTag": etag, "sequencer": "0055AED6"},
        },
    }
    return json.dumps({"Records": [record]})


def _at(endpoint: str, url: str) -> str:
    return f"{endpoint}/{'/'.join(url.split('/')[3:])}"


def _bodies(client: Any, url: str) -> Iterator[str]:
    while True:
        answer = client.receive_message(
            QueueUrl=url, MaxNumberOfMessages=MOST_A_BATCH, VisibilityTimeout=600
        )
        if not answer.get("Messages"):
            return
        yield from (one["Body"] for one in answer["Messages"])
