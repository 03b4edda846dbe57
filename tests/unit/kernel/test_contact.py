"""What the log says of a state that goes on."""

from __future__ import annotations

from structlog.testing import capture_logs

from matins.kernel.contact import AGAIN_S, Contact


def test_a_state_is_written_when_it_begins_now_and_then_meanwhile_and_at_its_end() -> None:
    now = 1000.0
    contact = Contact(lambda: now, "peer.away", "peer.back", work="claims")
    with capture_logs() as logs:
        contact.worked()
        for _ in range(2 * int(AGAIN_S) + 10):  # a failure each second
            contact.failed(ConnectionError("refused"), held=3)
            now += 1
        contact.worked()
        contact.worked()
        contact.failed("once more")
    assert [(line["event"], line.get("failures"), line.get("for_s")) for line in logs] == [
        ("peer.away", None, None),
        ("peer.away", 301, 300.0),
        ("peer.away", 601, 600.0),
        ("peer.back", 610, 610.0),
        ("peer.away", None, None),
    ]
    assert logs[0]["error"] == "refused"
    assert logs[1]["held"] == 3
    assert all(line["work"] == "claims" for line in logs)
