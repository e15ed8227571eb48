"""The tests that every format of state classes must pass.

In a test module of your own::

    from lawful.testing.conformance_formats import FormatConformance

    class TestMyFormat(FormatConformance):
        def make_format(self):
            return MyFormat()

        def make_class(self):
            return Order

        def values(self):
            return st.fixed_dictionaries({"item": st.text(), "count": st.integers()})

pytest then runs every promise of `lawful.graph.formats.SchemaFormat` against it. ``make_class`` gives a class of the format,
``values`` a strategy of a value for each of its fields, by name. With ``broken``, a class of the format with an annotation
that does not resolve, it is also held to say so.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ForwardRef, TypedDict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lawful.graph.builder import StateGraph
from lawful.graph.channels import MISSING
from lawful.graph.command import START
from lawful.graph.formats import SchemaFormat, registered
from lawful.journal.memory import MemoryJournal

_QUIET = settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors, HealthCheck.function_scoped_fixture],
)


class _Typed(TypedDict):
    a: int


@dataclass
class _Plain:
    a: int = 0


class FormatConformance:
    """Subclass it as ``Test…`` and give it ``make_format``, ``make_class`` and ``values``."""

    broken: Any = None
    """A class of the format whose annotations do not resolve; None leaves that out."""

    def make_format(self) -> SchemaFormat:
        """The format; one that is registered already is given as it is."""
        raise NotImplementedError

    def make_class(self) -> type[Any]:
        """A class of the format."""
        raise NotImplementedError

    def values(self) -> st.SearchStrategy[Mapping[str, Any]]:
        """A value for each field of that class."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _registered(self) -> Iterator[None]:
        with registered(self.make_format()):
            yield

    def _all(self, data: st.DataObject) -> dict[str, Any]:
        drawn = dict(data.draw(self.values(), label="values"))
        assert set(drawn) == set(self.make_format().fields(self.make_class())), "values() must have every field"
        return drawn

    def _some(self, data: st.DataObject) -> dict[str, Any]:
        """Values for what is required, and for some of the rest."""
        drawn, fields = self._all(data), self.make_format().fields(self.make_class())
        left = [name for name in drawn if not fields[name].required and data.draw(st.booleans(), label=f"no {name}")]
        return {name: value for name, value in drawn.items() if name not in left}

    def test_it_recognises_its_classes_and_no_others(self) -> None:
        """What other formats know, and what is no state at all, is left to them."""
        form = self.make_format()
        assert form.recognises(self.make_class()) is True
        for stranger in (_Typed, _Plain, dict, list, int, str, type(None), object, Exception, type, SchemaFormat):
            assert form.recognises(stranger) is False, stranger

    def test_its_fields_are_told_in_the_same_order_each_time(self) -> None:
        form, typ = self.make_format(), self.make_class()
        fields = form.fields(typ)
        assert list(fields) == list(form.fields(typ))
        assert fields, "a state has at least one field"
        for name, field in fields.items():
            assert isinstance(name, str), name  # pyright: ignore[reportUnnecessaryIsInstance]
            assert name.isidentifier(), name
            assert not isinstance(field.annotation, (str, ForwardRef)), f"{name}: {field.annotation!r} is not resolved"
            if field.default is not MISSING:
                assert not field.required, f"{name} has a default and is required"

    def test_an_annotation_that_does_not_resolve_is_a_name_error(self) -> None:
        if self.broken is None:
            pytest.skip("broken is not given")
        with pytest.raises(NameError):
            self.make_format().fields(self.broken)

    @_QUIET
    @given(st.data())
    def test_what_is_made_writes_what_it_was_made_of(self, data: st.DataObject) -> None:
        """And nothing else but defaults; making it and asking it change nothing that was given."""
        form, typ, values = self.make_format(), self.make_class(), self._some(data)
        before, fields = copy.deepcopy(values), form.fields(typ)
        made = form.make(typ, values)
        assert type(made) is typ
        written = dict(form.written(made))
        assert {name: written[name] for name in before if name in written} == before
        assert set(before) <= set(written) <= set(fields)
        for name in set(written) - set(before):
            default = fields[name].default
            assert default is MISSING or written[name] == default, name
        assert dict(form.written(made)) == written
        assert values == before

    @_QUIET
    @given(st.data())
    def test_a_node_reads_it_by_attributes_and_defaults_are_there(self, data: st.DataObject) -> None:
        form, typ, values = self.make_format(), self.make_class(), self._some(data)
        made = form.make(typ, values)
        for name, field in form.fields(typ).items():
            if name in values:
                assert getattr(made, name) == values[name]
            elif field.default is not MISSING:
                assert getattr(made, name) == field.default

    @_QUIET
    @given(st.data())
    def test_two_instances_share_nothing(self, data: st.DataObject) -> None:
        """Nor with what was told of them: the caller may do with it what it likes."""
        form, typ = self.make_format(), self.make_class()
        one, two = form.make(typ, self._all(data)), form.make(typ, self._all(data))
        told = form.written(one)
        before = copy.deepcopy(dict(told))
        form.written(two)
        assert dict(told) == before
        if isinstance(told, dict):
            told.clear()  # pyright: ignore[reportUnknownMemberType]
        assert dict(form.written(one)) == before

    @_QUIET
    @given(st.data())
    def test_it_is_the_state_of_a_graph_and_is_stored(self, data: st.DataObject) -> None:
        """A node gets an instance, what it returns is written, and another process finds it again."""
        form, typ, values = self.make_format(), self.make_class(), self._all(data)
        fields = form.fields(typ)
        seen: list[Any] = []

        def look(state: Any) -> Any:
            seen.append(state)
            return form.make(typ, {name: value for name, value in values.items() if fields[name].required})

        look.__annotations__["state"] = typ
        journal = MemoryJournal()
        builder: Any = StateGraph(typ).add_node("look", look).add_edge(START, "look")
        result = builder.compile(checkpointer=journal).invoke(values, thread="t")
        assert [type(each) for each in seen] == [typ]
        assert set(result) == set(fields)
        again = builder.compile(checkpointer=journal).get_state("t")
        assert again.values == result
