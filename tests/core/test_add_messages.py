"""add_messages: appends, replaces in place by id, gives ids, reads the loose forms, removes (rule 206)."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.core.errors import ParsingError, UnknownMessage
from lawful.core.merge_messages import REMOVE_ALL_MESSAGES, prepare_messages
from lawful.core.messages import Message, RemoveMessage, Text, assistant, user
from lawful.core.reducers import add_messages
from lawful.testing import check_laws
from lawful.testing.strategies import messages

pytestmark = [pytest.mark.unit, pytest.mark.property]

IDS = st.sampled_from(["1", "2", "3", "4"])


def said(id: str, text: str) -> Message:
    return user(text).named(id)


def shown(state: Sequence[Message]) -> list[tuple[str | None, str]]:
    return [(message.id, message.text) for message in state]


def test_new_messages_are_appended_in_order() -> None:
    state = add_messages([said("1", "a")], [said("2", "b"), said("3", "c")])
    assert shown(state) == [("1", "a"), ("2", "b"), ("3", "c")]


def test_a_known_id_replaces_in_place() -> None:
    state = add_messages([said("1", "a"), said("2", "b"), said("3", "c")], [said("2", "B")])
    assert shown(state) == [("1", "a"), ("2", "B"), ("3", "c")]


def test_one_message_need_not_be_in_a_list() -> None:
    for one in (said("1", "a"), "a", ("user", "a"), {"role": "user", "content": "a"}):
        assert [message.text for message in add_messages([], one)] == ["a"]


def test_messages_without_an_id_get_one_each() -> None:
    state = add_messages([], ["a", "b", user("c")])
    ids = {message.id for message in state}
    assert len(ids) == 3
    assert None not in ids


def test_loose_forms_are_read() -> None:
    update: list[Any] = [
        "plain",
        ("ai", "tuple"),
        ("human", [{"type": "text", "text": "blocks"}]),
        {"role": "system", "content": "dict", "id": "7"},
        {"type": "human", "content": "by type"},
    ]
    state = add_messages([], update)
    assert [(message.role, message.text) for message in state] == [
        ("user", "plain"),
        ("assistant", "tuple"),
        ("user", "blocks"),
        ("system", "dict"),
        ("user", "by type"),
    ]
    assert state[3].id == "7"


def test_of_duplicates_in_one_update_the_last_wins() -> None:
    state = add_messages([], [said("1", "first"), said("2", "between"), said("1", "last")])
    assert shown(state) == [("1", "last"), ("2", "between")]


def test_a_message_is_removed_by_id() -> None:
    state = add_messages([said("1", "a"), said("2", "b")], RemoveMessage("1"))
    assert shown(state) == [("2", "b")]
    assert add_messages([said("1", "a")], [{"role": "remove", "id": "1"}]) == []


def test_removing_what_is_not_there_is_refused_and_changes_nothing() -> None:
    state = [said("first", "a")]
    with pytest.raises(UnknownMessage, match="Did you mean 'first'") as caught:
        add_messages(state, [said("2", "b"), RemoveMessage("frist")])
    assert isinstance(caught.value, ValueError)
    assert shown(state) == [("first", "a")]


def test_removal_and_return_within_one_update() -> None:
    assert shown(add_messages([said("1", "a")], [RemoveMessage("1"), said("1", "b")])) == [("1", "b")]
    assert add_messages([said("1", "a")], [said("1", "b"), RemoveMessage("1")]) == []
    assert add_messages([], [said("1", "a"), RemoveMessage("1")]) == []


def test_remove_all_forgets_what_came_before_it() -> None:
    state = [said("1", "a"), said("2", "b")]
    everything = RemoveMessage(REMOVE_ALL_MESSAGES)
    assert add_messages(state, everything) == []
    assert shown(add_messages(state, [said("3", "x"), everything, said("4", "y")])) == [("4", "y")]
    assert shown(add_messages(state, [everything, said("4", "y"), everything, said("5", "z")])) == [("5", "z")]


def test_after_remove_all_duplicates_still_merge() -> None:
    update = [RemoveMessage(REMOVE_ALL_MESSAGES), said("1", "x"), said("1", "y")]
    assert shown(add_messages([said("0", "a")], update)) == [("1", "y")]


def test_a_tuple_stays_a_tuple() -> None:
    assert add_messages((), [said("1", "a")]) == (said("1", "a"),)
    assert isinstance(add_messages([], [said("1", "a")]), list)


def test_a_pair_of_texts_that_names_no_role_is_two_messages() -> None:
    assert [message.text for message in add_messages([], ("hello", "there"))] == ["hello", "there"]
    assert [message.text for message in add_messages([], ("user", "there"))] == ["there"]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (3, "not int"),
        ([None], "not NoneType"),
        ([("usr", "x")], "Did you mean 'user'"),
        ([{"role": "asistant", "content": "x"}], "Did you mean 'assistant'"),
        ([{"content": "x"}], "needs role"),
        ([{"role": "user"}], "no content"),
        ([{"role": "user", "content": 3}], "not int"),
        ([{"role": "user", "content": [{"type": "txt", "text": "x"}]}], "Did you mean 'text'"),
        ([{"role": "user", "content": [{"type": "text", "txt": "x"}]}], "text"),
        ([{"role": "user", "content": "x", "id": 3}], "id is a str"),
    ],
)
def test_what_is_no_message_is_refused_by_name(wrong: object, told: str) -> None:
    state = [said("1", "a")]
    with pytest.raises(ParsingError, match=told):
        add_messages(state, wrong)
    assert shown(state) == [("1", "a")]


@given(st.lists(messages(IDS), max_size=5), st.lists(messages(IDS), max_size=5))
def test_ids_are_unique_and_nothing_else_moves(before: list[Message], update: list[Message]) -> None:
    state = add_messages([], before)
    after = add_messages(state, update)
    ids = [message.id for message in after]
    assert len(set(ids)) == len(ids)
    assert ids[: len(state)] == [message.id for message in state]
    last = {message.id: message for message in [*before, *update]}
    assert {message.id: message for message in after} == last


def test_without_removals_it_is_associative_and_untouching() -> None:
    states = st.lists(messages(IDS), max_size=3).map(lambda given: add_messages([], given))
    check_laws(add_messages, states, laws=["associative", "idempotent"], max_examples=40)


def test_a_prepared_update_gives_the_same_value_each_time() -> None:
    """What is stored and folded again later must not get new ids."""
    update = prepare_messages(["a", ("ai", "b"), RemoveMessage("1")])
    assert prepare_messages(update) == update
    state = [said("1", "x")]
    assert add_messages(state, update) == add_messages(state, update)
    assert add_messages.prepare is not None
    assert add_messages([], add_messages.prepare("a")) != add_messages([], "a")


def test_it_leaves_its_arguments() -> None:
    state, update = [said("1", "a")], [said("2", "b")]
    add_messages(state, update)
    assert (len(state), len(update)) == (1, 1)


def test_a_dict_in_the_state_is_read_too() -> None:
    state = add_messages([{"role": "user", "content": "a", "id": "1"}], [assistant("b").named("2")])
    assert state == [Message("user", (Text("a"),), id="1"), Message("assistant", (Text("b"),), id="2")]


STEPS = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.lists(st.one_of(st.builds(said, IDS, st.text("xy", max_size=2)), st.builds(RemoveMessage, IDS)), max_size=3),
    ),
    max_size=12,
)
"""Each step: which of the lists so far to go on from, and the update."""


@given(steps=STEPS)
def test_a_merged_list_goes_on_like_a_plain_one(steps: list[tuple[int, list[Any]]]) -> None:
    """Whatever is remembered of the ids in it, on any branch, the next merge is that of a plain copy. Rules: 206"""
    lists: list[Any] = [[]]
    for place, update in steps:
        value = lists[place % len(lists)]
        try:
            wanted = add_messages(list(value), update)
        except UnknownMessage:
            with pytest.raises(UnknownMessage):
                add_messages(value, update)
            continue
        before = list(value)
        made = add_messages(value, update)
        assert made == wanted
        assert value == before
        lists.append(made)


def test_a_merged_list_that_was_changed_is_looked_through_again() -> None:
    """And a copy of it, by any means, is a plain list. Rules: 206"""
    merged = add_messages([], [user("a").named("a")])
    merged.append(user("b").named("b"))
    assert [m.text for m in add_messages(merged, [user("new").named("b")])] == ["a", "new"]
    assert type(copy.deepcopy(merged)) is list
    assert type(copy.copy(merged)) is list
    assert copy.copy(merged) == merged
