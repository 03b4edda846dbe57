"""The request on the wire: the URL as it was written, and one head that nothing can break."""

from __future__ import annotations

import pytest

from matins.kernel.request import read_url, request_bytes


@pytest.mark.parametrize(
    "target",
    [
        "/a%2Fb%27c%2ed",
        "/a/../b/./c",
        "//a///b",
        "/%zz%",
        "/a%2f?sig=%2B%2f+/=&&x=%27'()*",
        "/?",
        "/a?",
        "/a?b?c=[1]@:!$,;~",
    ],
)
def test_path_and_query_go_out_byte_for_byte(target: str) -> None:
    assert read_url(f"https://bucket.example.com{target}").target == target


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://h/ä?ö=ü", "/%C3%A4?%C3%B6=%C3%BC"),
        ('http://h/a"<>\\^`{|}b', "/a%22%3C%3E%5C%5E%60%7B%7C%7Db"),
        ("http://h/a b", "/a%20b"),
    ],
)
def test_only_what_may_not_stand_in_a_url_is_encoded(url: str, target: str) -> None:
    assert read_url(url).target == target


@pytest.mark.parametrize(
    ("url", "target"),
    [("http://h", "/"), ("http://h?a=1", "/?a=1"), ("http://h/a#b?c", "/a"), ("http://h#b", "/")],
)
def test_a_url_always_has_a_path_and_its_fragment_stays_at_home(url: str, target: str) -> None:
    assert read_url(url).target == target


@pytest.mark.parametrize(
    ("url", "origin", "header"),
    [
        ("http://Example.com/", ("example.com", 80, False), "example.com"),
        ("https://example.com:443/", ("example.com", 443, True), "example.com"),
        ("http://example.com:443/", ("example.com", 443, False), "example.com:443"),
        ("http://[2001:db8::1]:81/", ("2001:db8::1", 81, False), "[2001:db8::1]:81"),
        (
            "https://münchen.example/",
            ("xn--mnchen-3ya.example", 443, True),
            "xn--mnchen-3ya.example",
        ),
        ("http://my_service:8080/", ("my_service", 8080, False), "my_service:8080"),
    ],
)
def test_the_host_is_named_as_dns_and_servers_know_it(
    url: str, origin: tuple[str, int, bool], header: str
) -> None:
    read = read_url(url)
    assert (tuple(read.origin), read.host_header) == (origin, header)


@pytest.mark.parametrize(
    "url", ["ftp://h/", "http:///a", "http://h:99999/", "http://\u2100.example/"]
)
def test_a_url_that_leads_nowhere_is_refused(url: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 # any message will do
        read_url(url)


def test_the_framing_is_ours_whatever_headers_a_job_has() -> None:
    headers = {"content-length": "1", "Transfer-Encoding": "chunked", "connection": "keep-alive"}
    sent = request_bytes("POST", read_url("http://h/a"), headers, b"body")
    assert sent == (
        b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody"
    )


def test_a_method_with_a_meaning_for_bodies_tells_that_there_is_none() -> None:
    assert b"Content-Length: 0" in request_bytes("POST", read_url("http://h/"), {}, None)
    assert b"Content-Length" not in request_bytes("GET", read_url("http://h/"), {}, None)


def test_credentials_of_the_url_are_sent_unless_the_job_has_its_own() -> None:
    url = read_url("http://ada:p%40ss@h/")
    assert b"\r\nAuthorization: Basic YWRhOnBAc3M=\r\n" in request_bytes("GET", url, {}, None)
    sent = request_bytes("GET", url, {"authorization": "Bearer x"}, None)
    assert b"Basic" not in sent


def test_a_host_header_of_the_jobs_own_replaces_ours() -> None:
    sent = request_bytes("GET", read_url("http://127.0.0.1/"), {"host": "virtual"}, None)
    assert sent.lower().count(b"host:") == 1


@pytest.mark.parametrize("mark", ["\r", "\n", "\0"])
def test_no_header_breaks_the_head(mark: str) -> None:
    with pytest.raises(ValueError, match="line break or NUL"):
        request_bytes("GET", read_url("http://h/"), {"X": f"a{mark}b"}, None)
