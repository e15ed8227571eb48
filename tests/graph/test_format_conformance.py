"""Third parties' formats of state classes, held to the shipped conformance suite; and formats that break its promises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, get_type_hints

import msgspec
import pytest
from hypothesis import strategies as st

from graph.test_schema_formats import Broken, RecordFormat, Trip
from lawful.core.errors import InvalidUpdateError
from lawful.core.reducers import append
from lawful.graph.channels import MISSING
from lawful.graph.formats import Field, SchemaFormat, format_of, registered
from lawful.testing.conformance_formats import FormatConformance

pytestmark = pytest.mark.property


class TestRecords(FormatConformance):
    """The sample: a base class of one's own. Rows: S1-017."""

    broken = Broken

    def make_format(self) -> SchemaFormat:
        found = format_of(Trip)
        assert found is not None
        return found

    def make_class(self) -> type[Any]:
        return Trip

    def values(self) -> st.SearchStrategy[Mapping[str, Any]]:
        return st.fixed_dictionaries(
            {"city": st.text(max_size=5), "days": st.integers(0, 9), "notes": st.lists(st.text(max_size=3), max_size=3)}
        )


class Order(msgspec.Struct):
    """A state of another library's: with defaults, plain and made anew."""

    item: str
    count: int = 1
    notes: Annotated[list[str], append] = []


class StructFormat:
    """msgspec's classes as states."""

    def recognises(self, typ: type) -> bool:
        return issubclass(typ, msgspec.Struct)

    def fields(self, typ: Any) -> Mapping[str, Field]:
        hints = get_type_hints(typ, include_extras=True)
        told = msgspec.structs.fields(typ)
        return {
            one.name: Field(
                hints[one.name], MISSING if one.default is msgspec.NODEFAULT else one.default, required=one.required
            )
            for one in told
        }

    def make(self, typ: Any, values: Mapping[str, Any]) -> Any:
        return typ(**values)

    def written(self, value: Any) -> Mapping[str, Any]:
        return msgspec.structs.asdict(value)


class TestStructs(FormatConformance):
    """Rows: S1-017."""

    def make_format(self) -> SchemaFormat:
        return StructFormat()

    def make_class(self) -> type[Any]:
        return Order

    def values(self) -> st.SearchStrategy[Mapping[str, Any]]:
        return st.fixed_dictionaries(
            {
                "item": st.text(max_size=5),
                "count": st.integers(0, 9),
                "notes": st.lists(st.text(max_size=3), max_size=3),
            }
        )


# Formats that break a promise, each by the test that must find it


class Greedy(StructFormat):
    def recognises(self, typ: type) -> bool:
        return True


class Unresolved(StructFormat):
    def fields(self, typ: Any) -> Mapping[str, Field]:
        return {
            name: Field(str(field.annotation), field.default, field.required)
            for name, field in super().fields(typ).items()
        }


class Forgetful(StructFormat):
    def written(self, value: Any) -> Mapping[str, Any]:
        return {"item": value.item}


class Spendthrift(StructFormat):
    def make(self, typ: Any, values: Any) -> Any:
        made = typ(**values)
        values.clear()
        return made


class Sharing(StructFormat):
    kept: ClassVar[dict[str, Any]] = {}

    def written(self, value: Any) -> Mapping[str, Any]:
        self.kept.update(msgspec.structs.asdict(value))
        return self.kept


class WrongType(StructFormat):
    def make(self, typ: Any, values: Any) -> Any:
        return msgspec.defstruct("Other", list(values))(**values)


class WrongDefault(StructFormat):
    def fields(self, typ: Any) -> Mapping[str, Field]:
        return {**super().fields(typ), "count": Field(int, 2, required=False)}


@pytest.mark.parametrize(
    ("form", "test"),
    [
        (Greedy, "test_it_recognises_its_classes_and_no_others"),
        (Unresolved, "test_its_fields_are_told_in_the_same_order_each_time"),
        (Forgetful, "test_what_is_made_writes_what_it_was_made_of"),
        (Spendthrift, "test_what_is_made_writes_what_it_was_made_of"),
        (WrongType, "test_what_is_made_writes_what_it_was_made_of"),
        (WrongDefault, "test_a_node_reads_it_by_attributes_and_defaults_are_there"),
        (Sharing, "test_two_instances_share_nothing"),
        (WrongType, "test_it_is_the_state_of_a_graph_and_is_stored"),
    ],
)
def test_a_broken_promise_is_found(form: type[StructFormat], test: str) -> None:
    """Rows: S1-017."""

    class Suite(TestStructs):
        def make_format(self) -> SchemaFormat:
            return form()

    suite = Suite()
    with registered(suite.make_format()), pytest.raises((AssertionError, TypeError, InvalidUpdateError)):
        getattr(suite, test)()


def test_a_format_is_registered_for_the_time_of_a_block() -> None:
    with registered(StructFormat()) as form:
        assert format_of(Order) is form
    assert format_of(Order) is None
    with registered(format_of(Trip) or RecordFormat()):
        pass
    assert format_of(Trip) is not None
