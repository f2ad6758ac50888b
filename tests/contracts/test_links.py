"""Links between memories: within a chat, followed both ways, and only to what can be found."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memory.memories import Memories
from memory.types import Link, Relation
from tests.contracts.chats import CHAT, OTHER_CHAT, fact
from tests.fakes.clock import NOON

LATER = NOON + timedelta(minutes=10)


async def add(memories: Memories, *texts: str, chat_id: int = CHAT) -> list[int]:
    return [(await memories.add(fact(text, chat_id=chat_id))).memory.id for text in texts]


def link(from_id: int, to_id: int, weight: float = 1.0, relation: Relation = Relation.SAME_TOPIC) -> Link:
    return Link(CHAT, from_id, to_id, relation, weight)


async def test_a_link_is_found_from_both_of_its_ends(memories: Memories) -> None:
    tea, cups, dog = await add(memories, "Anna likes tea", "Anna has six cups", "Anna has a dog")
    links = [link(tea, cups, 0.5), link(dog, tea, relation=Relation.CONTRADICTS)]

    await memories.add_links(CHAT, links)

    assert await memories.linked(CHAT, [tea]) == links
    assert await memories.linked(CHAT, [cups]) == links[:1]
    assert await memories.linked(CHAT, [cups, dog, tea]) == links
    assert await memories.linked(CHAT, []) == []


async def test_a_link_that_is_known_gets_the_new_weight(memories: Memories) -> None:
    tea, cups = await add(memories, "Anna likes tea", "Anna has six cups")
    await memories.add_links(CHAT, [link(tea, cups, 0.5)])

    await memories.add_links(CHAT, [link(tea, cups, 0.7), link(tea, cups, 0.1, Relation.SUPPORTS)])

    assert {(each.relation, each.weight) for each in await memories.linked(CHAT, [cups])} == {
        (Relation.SAME_TOPIC, 0.7),
        (Relation.SUPPORTS, 0.1),
    }


async def test_links_stay_within_the_chat(memories: Memories) -> None:
    [tea], [theirs] = await add(memories, "tea"), await add(memories, "theirs", chat_id=OTHER_CHAT)

    await memories.add_links(CHAT, [link(tea, theirs), link(theirs, tea), link(tea, 10**9), link(tea, tea)])
    with pytest.raises(ValueError, match="in the chat"):
        await memories.add_links(OTHER_CHAT, [link(tea, tea)])

    assert await memories.linked(CHAT, [tea, theirs]) == []
    assert await memories.linked(OTHER_CHAT, [tea, theirs]) == []


async def test_a_link_of_another_chat_is_not_seen(memories: Memories) -> None:
    tea, cups = await add(memories, "Anna likes tea", "Anna has six cups")
    await memories.add_links(CHAT, [link(tea, cups)])

    assert await memories.linked(OTHER_CHAT, [tea, cups]) == []


async def test_a_link_to_what_is_hidden_or_replaced_leads_nowhere(memories: Memories) -> None:
    tea, cups, riga = await add(memories, "Anna likes tea", "Anna has six cups", "Anna lives in Riga")
    await memories.add_links(CHAT, [link(tea, cups), link(tea, riga)])

    oslo = await memories.supersede(CHAT, riga, fact("Anna lives in Oslo"))
    await memories.hide(CHAT, [cups], LATER)
    assert await memories.linked(CHAT, [tea, cups, riga, oslo.id]) == []

    await memories.unhide(CHAT, LATER)
    assert await memories.linked(CHAT, [tea]) == [link(tea, cups)]


async def test_history_is_no_link_to_follow(memories: Memories) -> None:
    riga, oslo = await add(memories, "Anna lives in Riga", "Anna lives in Oslo")
    await memories.supersede(CHAT, riga, fact("Anna lives in Oslo"))
    await memories.add(fact("Anna lives in Riga"))
    await memories.add_links(CHAT, [link(oslo, riga, relation=Relation.REPLACES)])

    assert await memories.linked(CHAT, [oslo]) == []
