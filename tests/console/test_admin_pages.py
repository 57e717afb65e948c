"""The pages of admins: pools, clients and shards, and who may see them."""

from __future__ import annotations

import pytest

from clockwork_client import Clockwork
from clockwork_client.testing import VirtualClockwork
from tests.console.scenes import OK, Shop
from tests.console.visitor import Visitor

PAGES = ("/pools", "/clients", "/shards")


@pytest.fixture
def admin(shop: Shop) -> Visitor:
    shop.v.client("bakery", max_rate_per_second=5, jobs_per_day=100)
    return Visitor(shop.v.admin, shop.v).enter()


def test_an_admin_has_them_in_the_rail_and_others_have_not(admin: Visitor, reader: Visitor) -> None:
    for page in PAGES:
        assert f'href="{page}"' in admin.look("/").text
        assert f'href="{page}"' not in reader.look("/").text
        assert reader.get(page).status == 403
        assert "Your role may not do this" in reader.get(page).words


def test_clients_are_listed_with_their_bounds(admin: Visitor) -> None:
    words = admin.look("/clients").words
    assert "bakery" in words
    for told in ("2 clients.", "shop", "5 deliveries/s", "100 jobs a day", "active"):
        assert told in words.replace("5.0", "5")


def test_a_client_is_paused_with_a_reason_and_resumed(shop: Shop, admin: Visitor) -> None:
    answer = admin.submit("/clients/shop/pause", "/clients/shop/pause", reason="incident <7>")
    for told in ("shop is paused. What comes due is parked.", "incident <7>", "Resume"):
        assert told in answer.words
    before = len(shop.v.deliveries)
    shop.v.advance(minutes=2)
    assert len(shop.v.deliveries) == before
    assert "is resumed" in admin.submit("/clients/shop/resume", "/clients/shop/resume").words
    assert shop.v.admin.clients.get("shop").state == "ACTIVE"


def test_a_reason_that_is_refused_is_told_beside_its_field(shop: Shop, admin: Visitor) -> None:
    answer = admin.submit("/clients/shop/pause", "/clients/shop/pause", reason="x" * 2_000)
    assert (answer.status, "/reason" in answer.words) == (422, True)
    assert shop.v.admin.clients.get("shop").state == "ACTIVE"


@pytest.mark.parametrize("path", ["/clients/shop/delete", "/clients/shop/explode"])
def test_another_verb_is_not_there(admin: Visitor, path: str) -> None:
    session = admin.cookie.partition("=")[2]
    assert admin.get(path).status == 404
    assert admin.post(path, {"_token": admin.sessions.form_token(session, path)}).status == 404


def test_somebody_who_is_no_admin_pauses_no_client(shop: Shop, reader: Visitor) -> None:
    to = "/clients/shop/pause"
    token = reader.sessions.form_token(reader.cookie.partition("=")[2], to)
    reader.post(to, {"_token": token})
    assert shop.v.admin.clients.get("shop").state == "ACTIVE"


def test_shards_tell_how_far_they_are_behind(shop: Shop, admin: Visitor) -> None:
    shop.v.advance(minutes=5)
    words = admin.look("/shards").words
    used = [one for one in shop.v.admin.shards() if one.status == "used"]
    assert f"{len(used)} shards in use" in words.replace("1 shard in", "1 shards in")
    assert used
    assert words.index(" used ") < words.index(" left ")


def test_a_deployment_without_pools_says_so() -> None:
    v = VirtualClockwork("2026-03-01T00:00:00Z")
    cw: Clockwork = v.admin
    v.client("shop").schedule(OK, 1, in_=5)
    assert (
        "This deployment has no pools."
        in Visitor(
            cw,
            v,
        )
        .enter()
        .look("/pools")
        .words
    )


def test_read_only_has_no_buttons(shop: Shop) -> None:
    reader = Visitor(shop.v.admin, shop.v, is_read_only=True).enter()
    assert "/clients/shop/pause" not in reader.look("/clients").text
    assert reader.get("/clients/shop/pause").status == 404
