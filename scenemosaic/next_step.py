"""The command that comes next, as a shell takes it: with whatever its place needs."""

import shlex

from scenemosaic.errors import InputError
from scenemosaic.places import Place
from scenemosaic.roots import default_manifest, parse_manifest, parse_root, without_password


def command(verb: str, job_id: str, place: Place, *more: str) -> str:
    """``scenemosaic VERB JOB --to ROOT …``; it names the manifest where that is not the root's.

    A manifest's password is left out: it is PGPASSWORD's, or asked for.
    """
    given = [verb, job_id, *more, "--to", place.store.root, *_manifest(place)]
    return shlex.join(["scenemosaic", *given])


def _manifest(place: Place) -> list[str]:
    url = place.manifest.url
    try:
        usual = parse_manifest(default_manifest(parse_root(place.store.root))).url
    except InputError:  # a root that has none
        usual = None
    return [] if url == usual else ["--manifest", without_password(url)]
