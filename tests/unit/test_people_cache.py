"""Ids of people are known for a while, so that a name which was taken away gets a new one."""

from sayso.stores.people import PeopleCache


def test_an_id_is_read_again_after_a_minute() -> None:
    """Another process may have erased the person."""
    now = [100.0]
    cache = PeopleCache(lambda: now[0])
    cache.put("default", "ann", "p_1")
    now[0] += 59
    assert cache.get("default", "ann") == "p_1"
    assert cache.get("other", "ann") is None
    now[0] += 2
    assert cache.get("default", "ann") is None


def test_an_id_can_be_forgotten() -> None:
    """At once, by whoever has erased the person."""
    cache = PeopleCache(lambda: 0.0)
    cache.put("default", "ann", "p_1")
    cache.forget("default", "ann")
    cache.forget("default", "bob")
    assert cache.get("default", "ann") is None
