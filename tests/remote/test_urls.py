"""URLs that are none: said at once, for good, and without what may be a signature."""

import json
from pathlib import Path
from typing import Any

import pytest

from flows.cli import run
from scenemosaic.discovery.given import given_sources
from scenemosaic.discovery.prefix import below
from scenemosaic.discovery.stac import Search, search
from scenemosaic.errors import InputError, PermanentStoreError
from scenemosaic.sources.byte_ranges import range_reader
from scenemosaic.sources.locations import canonical_location
from scenemosaic.sources.pins import pin_source
from tests.discovery.test_given import described
from tests.plan.web import Site

BAD = [
    ("http://127.0.0.1:9/a b.tif?sig=SECRET", r"127\.0\.0\.1:9/a%20b\.tif: percent-encode"),
    ("http://127.0.0.1:9/ä.tif?sig=SECRET", r"/%C3%A4\.tif: percent-encode"),
    ("HTTP://127.0.0.1:9/a\tb.tif?sig=SECRET", r"/a%09b\.tif: percent-encode"),
    ("https://127.0.0.1:9/\udce4.tif?sig=SECRET", "percent-encode"),
    ("http://127.0.0.1:9/a.tif?sig=SECRET x", r"/a\.tif: percent-encode its URL .* its query"),
    ("http://127.0.0.1:39697x/a.tif?sig=SECRET", "its port is no number from 1 to 65535"),
    ("http://127.0.0.1:99999/a.tif?sig=SECRET", "its port is no number"),
    ("http://127.0.0.1:0/a.tif?sig=SECRET", "its port is no number"),
    ("http://user:SECRET/x@127.0.0.1/a.tif", "its port is no number"),
    ("http://ä.example/a.tif?sig=SECRET", "no host's name.*xn--"),
    ("http://a..b/a.tif?sig=SECRET", "no host's name"),
    (f"http://{'a' * 64}.example/a.tif?sig=SECRET", "no host's name"),
    ("http://user:SECRET@[::1/a.tif?sig=SECRET", "not a source's URI"),
    ("http://127.0.0.1:9/a.tif?sig=SECRET\0", "not a source: 'http://127"),
]


@pytest.mark.parametrize(("url", "words"), BAD)
def test_a_url_that_is_none_is_bad_input(url: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        canonical_location(url)
    assert "SECRET" not in str(caught.value)
    assert "SECRET" not in str(caught.value.__cause__)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (
            "s3://bucket/in/a\tb ä.tif",
            r"s3://bucket/in/a\\tb ä\.tif: a key with a tab.*copy the ob",
        ),
        ("s3://bucket/a\n.tif", r"s3://bucket/a\\n\.tif: a key"),
        ("s3://bucket/\udce4.tif", r"s3://bucket/\\udce4\.tif: a key"),
        # Split, it would be another file's.
        ("file:///tmp/a\nb.tif", r"file:///tmp/a\\nb\.tif: give the path itself"),
    ],
)
def test_a_key_that_no_plan_holds_is_named(place: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        canonical_location(place)


@pytest.mark.parametrize(
    "url",
    [
        "https://host.example:8443/a%20b.tif?sig=a%2Fb+c=",
        "http://[::1]:80/a.tif",
        "http://xn--4ca.example./%C3%A4.tif",
        "http://host_name/~a'(b)!.tif",
        "s3://bucket/a b ä.tif",
    ],
)
def test_what_is_a_url_stays_as_it_is(url: str) -> None:
    assert canonical_location(url) == url


@pytest.mark.parametrize("url", [BAD[0][0], BAD[1][0], BAD[5][0]])
@pytest.mark.parametrize("command", ["plan", "process", "listed", "stac"])
def test_the_command_line_tells_it(
    url: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    to = ["--to", str(tmp_path / "root"), "--json"]
    (tmp_path / "list.txt").write_text(f"{url}\n")
    given = {
        "plan": ["plan", url, "--json"],
        "process": ["process", url, *to],
        "listed": ["backfill", "--list", str(tmp_path / "list.txt"), *to],
        "stac": ["backfill", "--stac", url.replace("/a b", "/ä"), *to],
    }
    assert run(given[command]) == 2
    shown = capsys.readouterr()
    assert "SECRET" not in shown.out + shown.err
    assert "percent-encode" in shown.err or "its port is no number" in shown.err


REDIRECTS = [
    "http://127.0.0.1:9x/a.tif?sig=SECRET",
    "http://127.0.0.1:99999/a.tif?sig=SECRET",
    "http://a..b/a.tif?sig=SECRET",
    "http://[::1/a.tif?sig=SECRET",
    "http://user:SECRET@127.0.0.1/a.tif?sig=SECRET",
    "file:///etc/passwd?sig=SECRET",
    "ftp://127.0.0.1/a.tif?sig=SECRET",
    "/moved.tif?sig=SECRET",
]


@pytest.mark.parametrize("target", REDIRECTS)
def test_a_redirect_to_no_url_is_for_good_and_not_repeated(site: Site, target: str) -> None:
    site.more["redirects"] = {"/moved.tif": target, "/moved.tif?sig=SECRET": target}
    site.apply()
    location = f"{site.url}/moved.tif"
    for ask in (pin_source, lambda one: range_reader(one, 4)(0, 4)):
        with pytest.raises(PermanentStoreError, match=r"/moved\.tif: .*redirect") as caught:
            ask(location)
        assert "SECRET" not in str(caught.value)


def test_a_redirect_to_a_host_alone_is_asked(site: Site) -> None:
    site.more["redirects"] = {"/moved.tif": f"{site.url}?a ä"}
    site.apply()
    with pytest.raises(InputError, match="no such object"):
        pin_source(f"{site.url}/moved.tif")
    assert [line.split()[1] for line in site.asked()] == ["/moved.tif", "/?a%20%E4"]


@pytest.mark.parametrize("url", [url for url, _ in BAD])
def test_an_item_s_link_is_held_to_the_same(site: Site, url: str) -> None:
    value = described((site.folder / "a.tif").read_bytes())
    value["assets"]["visual"]["href"] = url
    (site.folder / "item.json").write_text(json.dumps(value))
    with pytest.raises(InputError) as caught:
        given_sources([f"{site.url}/item.json"])
    assert "SECRET" not in str(caught.value)


def catalog(site: Site, rel: str, href: str) -> str:
    value: dict[str, Any] = {
        "type": "Catalog",
        "id": "c",
        "description": "d",
        "stac_version": "1.0.0",
        "links": [{"rel": rel, "href": href}],
    }
    (site.folder / "catalog.json").write_text(json.dumps(value))
    return f"{site.url}/catalog.json?sig=SECRET"


@pytest.mark.parametrize("rel", ["item", "child"])
def test_a_catalog_s_link_to_no_host_is_refused_by_itself(site: Site, rel: str) -> None:
    place = catalog(site, rel, "http://127.0.0.1:9x/item.json?sig=SECRET")
    (found,) = search(Search(place))
    assert "its port is no number" in str(found.refused)
    assert "SECRET" not in f"{found}"


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("http://127.0.0.1:9x?sig=SECRET", "its port is no number"),
        ("http://[::1?sig=SECRET", "not a source's URI"),
        ("http://user:SECRET@127.0.0.1", "credentials"),
    ],
)
def test_an_api_that_is_a_host_alone_is_held_to_the_same(place: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        list(search(Search(place)))
    assert "SECRET" not in str(caught.value)


def test_a_url_as_a_prefix_is_told_without_its_query() -> None:
    with pytest.raises(InputError, match="can be listed") as caught:
        list(below("http://127.0.0.1/a?sig=SECRET"))
    assert "SECRET" not in str(caught.value)
