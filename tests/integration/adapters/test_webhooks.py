"""Where messages are posted to, and where they never are."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path

import pytest

from gateval.adapters.webhooks import Webhook, _wrong, post_all
from tests.helpers.certificates import self_signed
from tests.servers.webhook import webhook

BODY = b'{"text": "hello"}'


def said(url: str, *, private: bool = False, **environ: str) -> str:
    (why,) = post_all([Webhook(url, BODY, private)], environ, seconds=20)
    return why


def test_a_message_arrives_once_as_it_is() -> None:
    with webhook("/a/b") as hook:
        assert said(f"{hook.url}?wait=true") == ""
        assert hook.got == [{"text": "hello"}]
        assert hook.paths == ["/a/b?wait=true"]
        assert hook.hosts == [f"127.0.0.1:{hook.port}"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_nobody_is_followed(status: int) -> None:
    with webhook() as hook, webhook("/other") as other:
        hook.status, hook.elsewhere = status, other.url
        assert said(hook.url) == f"it leads elsewhere ({status}), and nobody is followed there"
        assert (len(hook.got), other.got) == (1, [])


@pytest.mark.parametrize("status", [400, 403, 404, 410, 429, 500, 503])
def test_what_is_not_taken_is_said_by_its_status_alone(status: int) -> None:
    with webhook() as hook:
        hook.status = status
        assert said(hook.url) == f"it answered {status}"


def test_nobody_is_waited_for_longer_than_the_limit() -> None:
    with webhook() as slow, webhook() as quick:
        slow.silent.clear()
        quick.silent.set()
        hooks = [Webhook(slow.url, BODY), Webhook(quick.url, BODY)]
        assert post_all(hooks, {}, seconds=2) == ["it did not answer within 2 s", ""]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("", "it is no URL"),
        ("hooks.slack.com/services/x", "it is no URL"),
        ("https://", "it is no URL"),
        ("https://hooks.example:port/x", "it is no URL"),
        ("https://hooks.example/a b", "it is no URL"),
        ("https://hooks.example/a\r\nX: y", "it is no URL"),
        ("https://hooks.example\\@evil.example/", "it is no URL"),
        ("https://ada:pw@hooks.example/x", "it holds a user or a password"),
        ("http://hooks.example/x", "it does not begin with https"),
        ("http://10.0.0.1/x", "it does not begin with https"),
        ("http://127.0.0.2/x", "it does not begin with https"),
        ("file:///etc/passwd", "it is no URL"),
        ("ftp://hooks.example/x", "it does not begin with https"),
        ("gopher://127.0.0.1/x", "it does not begin with https"),
        ("https://no-such-name.invalid/x", "its name is not known"),
    ],
)
def test_an_address_that_is_none_is_not_asked(url: str, why: str) -> None:
    assert said(url) == why


PRIVATE = "it is in a private network, and the policy does not say `privateNetwork: true`"
NOBODY = "its name means an address that nobody has who takes messages"


@pytest.mark.parametrize(
    ("host", "why", "private"),
    [
        ("10.1.2.3", PRIVATE, ""),
        ("172.16.0.9", PRIVATE, ""),
        ("192.168.1.1", PRIVATE, ""),
        ("100.64.0.1", PRIVATE, ""),
        ("[fd00::1]", PRIVATE, ""),
        ("[::ffff:10.1.2.3]", PRIVATE, ""),
        ("[64:ff9b::a01:203]", PRIVATE, ""),
        ("[2002:a01:203::1]", PRIVATE, ""),
        ("169.254.169.254", NOBODY, NOBODY),
        ("[fe80::1]", NOBODY, NOBODY),
        ("[::ffff:169.254.169.254]", NOBODY, NOBODY),
        ("0.0.0.0", NOBODY, NOBODY),
        ("[::]", NOBODY, NOBODY),
        ("224.0.0.1", NOBODY, NOBODY),
        ("255.255.255.255", NOBODY, NOBODY),
        ("[ff02::1]", NOBODY, NOBODY),
        ("127.0.0.2", "its name means this machine", "its name means this machine"),
        ("[::ffff:127.0.0.1]", "its name means this machine", "its name means this machine"),
        ("[64:ff9b::7f00:1]", "its name means this machine", "its name means this machine"),
        ("8.8.8.8", "", ""),
        ("[2606:4700::1111]", "", ""),
    ],
)
def test_private_networks_take_a_word_of_the_policy(host: str, why: str, private: str) -> None:
    address = ip_address(host.strip("[]"))
    assert _wrong(address, here=False, private=False) == why
    assert _wrong(address, here=False, private=True) == private
    if why:
        assert said(f"https://{host}/x") == why


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "017700000001", "127.1"])
def test_other_spellings_of_this_machine_are_no_public_address(host: str) -> None:
    assert said(f"https://{host}/x") in {
        "its name means this machine", "its name is not known",
    }  # fmt: skip


def test_the_certificate_of_the_name_is_asked_for(tmp_path: Path) -> None:
    own = self_signed(tmp_path)
    with webhook(certificate=own) as hook:
        url = f"https://localhost:{hook.port}/x"
        assert said(url) == "it cannot be reached (SSLCertVerificationError)"
        assert hook.got == []
        assert post_all([Webhook(url, BODY)], {}, str(own), 20) == [""]
        assert hook.got == [{"text": "hello"}]
        wrong = self_signed(tmp_path, "other")
    with webhook(certificate=wrong) as hook:
        url = f"https://localhost:{hook.port}/x"
        (why,) = post_all([Webhook(url, BODY)], {}, str(wrong), 20)
        assert (why, hook.got) == ("it cannot be reached (SSLCertVerificationError)", [])


def test_a_forward_proxy_is_asked_for_what_is_far() -> None:
    """One that speaks no CONNECT answers with a status, which is all that is told."""
    with webhook() as proxy:
        there = f"http://ada:pw@127.0.0.1:{proxy.port}"
        assert (
            said("https://hooks.example/x", https_proxy=there) == "it cannot be reached (OSError)"
        )
        assert said("https://10.0.0.1/x", HTTPS_PROXY=there) == PRIVATE
        assert said("https://hooks.invalid/x", https_proxy=there, no_proxy=".invalid") == (
            "its name is not known"
        )
        assert said(proxy.url, https_proxy="http://127.0.0.1:9") == "", "what is here needs none"
        assert said("https://hooks.example/x", https_proxy="socks5://127.0.0.1:1") == (
            "the proxy before it is none that speaks http"
        )
