"""``scenemosaic policy``: prints what least privilege means for a root; asks no service."""

import json
import textwrap

from flows.redact import public_manifest
from flows.terminal.console import Console, shown
from scenemosaic.places import Place
from scenemosaic.policy.advice import Advice, advise
from scenemosaic.policy.needs import Role
from scenemosaic.roots import parse_manifest, parse_root

_WIDTH = 100


def policy(place: Place, role: str | None, account: str | None, console: Console) -> int:
    """The policies of one role, or of all with what is the bucket's own."""
    root, url = parse_root(place.store.root), parse_manifest(place.manifest.url)
    found = advise(root, url, Role(role) if role else None, account)
    rows = public_manifest(url.url)
    value = {"root": root.uri, "manifest": rows, **found.to_json()}
    console.answer(value, f"root      {shown(root.uri)}\nmanifest  {rows}\n{as_text(found)}")
    return 0


def as_text(advice: Advice) -> str:
    """For people: each document under what takes it, then the reasons and the limits."""
    sections = [
        *(
            (f"role {role}: {kind.replace('_', ' ')}", _document(found))
            for role, offered in advice.roles.items()
            for kind, found in offered.items()
        ),
        ("bucket policy", _document(advice.bucket_policy)),
        ("lifecycle rules, beside those that the bucket has", _document(advice.lifecycle)),
        ("commands", "\n".join(advice.commands)),
        ("why each action is there", "\n".join(_reasons(advice))),
        ("what none of this can enforce", "\n".join(map(_item, advice.cannot))),
    ]
    return "\n".join(f"\n{title}\n{body}" for title, body in sections if body)


def _document(found: object) -> str:
    return "" if found is None else json.dumps(found, indent=2)


def _reasons(advice: Advice) -> list[str]:
    return [
        line
        for action, reasons in advice.why.items()
        for line in (f"  {action}", *(f"    {reason}" for reason in reasons))
    ]


def _item(text: str) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent="- ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
