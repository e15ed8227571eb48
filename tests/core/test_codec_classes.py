"""Registered classes come back as themselves; a class that has gone, changed or grown newer is a typed error with the bytes."""

from __future__ import annotations

import enum
import queue
import threading
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import InitVar, dataclass, field
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypedDict, TypeVar

import msgspec
import pydantic
import pytest

from lawful.core import codec
from lawful.core.errors import ConfigurationError, CorruptRecord, UnknownType, ValidationError
from lawful.core.questions import Approved, Principal, Question, Reply
from support.exact import cases, exact

pytestmark = pytest.mark.unit

T = TypeVar("T")
Number: Any = TypeVar("Number", int, float)


class Colour(enum.Enum):
    RED = object()
    BLUE = "blue"
    AZURE = "blue"


class Level(enum.IntEnum):
    LOW = 1


class Name(enum.StrEnum):
    A = "a"


class Mode(enum.Flag):
    R = 1
    W = 2


class Point(NamedTuple):
    x: int
    y: tuple[int, ...] = ()


@dataclass
class Item:
    name: str
    tags: list[str] = field(default_factory=lambda: [])
    made: int = field(init=False, default=0)
    given: InitVar[int] = 0
    shared: ClassVar[list[int]] = []

    def __post_init__(self, given: int) -> None:
        self.made = given


@dataclass(frozen=True, slots=True)
class Frozen:
    item: Item
    colour: Colour = Colour.BLUE


@dataclass
class Box(Generic[T]):
    inside: T


class Doc(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    title: str
    body: bytes | msgspec.UnsetType = msgspec.UNSET
    more: dict[str, Any] = {}


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(validate_by_name=True)
    number: int = pydantic.Field(alias="num", default=3)
    when: list[int] = []
    _seen: int = pydantic.PrivateAttr(default=7)


class Open(pydantic.BaseModel, extra="allow"):
    a: int


class Root(pydantic.RootModel[list[int]]):
    pass


@pydantic.dataclasses.dataclass
class Checked:
    n: int


def fresh(*classes: type) -> codec.Registry:
    registry = codec.default.child()
    for cls in classes:
        registry.register(cls)
    return registry


def model() -> Model:
    made = Model(num=5)  # type: ignore[call-arg]
    made._seen = 9  # pyright: ignore[reportPrivateUsage]
    return made


VALUES: list[Any] = [
    Colour.RED,
    Level.LOW,
    Name.A,
    Mode.R,
    Mode.R | Mode.W,
    Mode(0),
    Point(1, (2,)),
    Item("a", ["t"], 4),
    Frozen(Item("a"), Colour.AZURE),
    Box(Box((1, 2))),
    Doc(title="t"),
    Doc(title="t", body=b"b", more={"k": (1,)}),
    model(),
    Model(),
    Open(a=1, b=[Point(1)]),  # type: ignore[call-arg]
    Root([1, 2]),
    Checked(3),
    Question(id="q", value={"ask": (1,)}, details={"k": Principal("p", ("r",))}),
    Approved(True, "me"),
    Reply("q", {1: 2}),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda v: f"{type(v).__name__} {v!r:.24}")
@pytest.mark.parametrize("inside", [False, True])
def test_each_kind_comes_back_as_itself(value: Any, inside: bool) -> None:
    if inside:
        value = {"k": [value, (value,)], "big": ["x" * 600, value]}
    registry = fresh(Colour, Level, Name, Mode, Point, Item, Frozen, Box, Doc, Model, Open, Root, Checked)
    kept: dict[bytes, bytes] = {}

    def chunk(data: bytes) -> bytes:
        kept[codec.digest16(data)] = data
        return codec.digest16(data)

    assert exact(registry.decode(registry.encode(value)), value)
    assert exact(registry.decode(registry.encode(value, chunk=chunk), chunks=kept), value)


def test_what_equality_does_not_show_comes_back_too() -> None:
    registry = fresh(Model, Item, Doc)
    back = registry.decode(registry.encode(model()))
    assert back._seen == 9
    assert back.model_fields_set == {"number"}
    assert registry.decode(registry.encode(Model())).model_fields_set == set()
    assert registry.decode(registry.encode(Item("a", [], 4))).made == 4
    assert registry.decode(registry.encode(Doc(title="t"))).body is msgspec.UNSET


def test_reading_runs_no_constructor_of_a_dataclass_or_model() -> None:
    ran: list[str] = []

    @dataclass
    class Loud:
        n: int

        def __post_init__(self) -> None:
            ran.append("dataclass")

    class LoudModel(pydantic.BaseModel):
        n: int

        def model_post_init(self, context: Any, /) -> None:
            ran.append("model")

    registry = fresh(Loud, LoudModel)
    blob = registry.encode([Loud(1), LoudModel(n=2)])
    ran.clear()
    loud, other = registry.decode(blob)
    assert (loud.n, other.n, ran) == (1, 2, [])


# A05: the class has gone, or is no longer what it was.


def gone(version: int = 1) -> bytes:
    registry = fresh()

    @dataclass
    class Invoice:
        cents: int

    registry.register(Invoice, id="shop:Invoice", version=version)
    return registry.encode({"bill": Invoice(500)})


def test_a_class_that_has_gone_is_an_error_with_the_bytes() -> None:
    blob = gone()
    with pytest.raises(UnknownType, match="shop:Invoice") as caught:
        fresh().decode(blob, where="key 'bill' of thread 't1'")
    assert caught.value.raw == blob
    assert "key 'bill' of thread 't1'" in caught.value.message


@dataclass
class Bill:
    amount: float
    currency: str = "EUR"


def test_an_upcaster_under_the_old_id_makes_it_load_again() -> None:
    registry = fresh()
    registry.register(
        Bill,
        id="shop:Invoice",
        version=3,
        upcast={
            1: lambda old: {"euros": old["cents"] / 100},
            2: lambda old: {"amount": old["euros"], "currency": "EUR"},
        },
    )
    assert registry.decode(gone(1)) == {"bill": Bill(5.0)}
    assert registry.decode(registry.encode(Bill(1.0, "CHF"))) == Bill(1.0, "CHF")


def test_a_gap_in_the_upcasters_or_a_newer_version_is_an_unknown_type() -> None:
    registry = fresh()
    registry.register(Bill, id="shop:Invoice", version=3, upcast={2: lambda old: old})
    for blob, why in ((gone(1), "no up-caster leads on from 1"), (gone(4), "version 4")):
        with pytest.raises(UnknownType, match=why) as caught:
            registry.decode(blob)
        assert caught.value.raw == blob


def test_a_retired_type_loads_as_what_its_reader_makes_and_is_not_written() -> None:
    registry = fresh()
    registry.retired("shop:Invoice", lambda old: ("was an invoice", old["cents"]))
    assert registry.decode(gone()) == {"bill": ("was an invoice", 500)}


def test_fields_added_since_get_their_default_and_lost_ones_are_refused() -> None:
    def stored(cls: type, value: Any) -> bytes:
        registry = fresh()
        registry.register(cls, id="x:Y")
        return registry.encode(value)

    @dataclass
    class One:
        a: int

    @dataclass
    class Two:
        a: int
        b: list[int] = field(default_factory=lambda: [1])

    reader = fresh()
    reader.register(Two, id="x:Y")
    first, second = reader.decode(stored(One, [One(1), One(2)]))
    assert (first, second) == (Two(1), Two(2))
    assert first.b is not second.b
    reader = fresh()
    reader.register(One, id="x:Y")
    with pytest.raises(UnknownType, match=r"'b'.*up-caster"):
        reader.decode(stored(Two, Two(1)))

    class NeedsMore(msgspec.Struct):
        a: int
        c: str

    reader = fresh()
    reader.register(NeedsMore, id="x:Y")
    with pytest.raises(UnknownType, match="'c'"):
        reader.decode(stored(One, One(1)))


def test_a_member_that_has_gone_is_an_unknown_type() -> None:
    registry = fresh()
    registry.register(Colour, id="x:Colour")
    blob = registry.encode(Colour.RED)

    class Later(enum.Enum):
        BLUE = "blue"

    reader = fresh()
    reader.register(Later, id="x:Colour")
    with pytest.raises(UnknownType, match="RED"):
        reader.decode(blob)


def test_a_child_knows_its_parent_and_not_the_reverse() -> None:
    parent = codec.Registry()
    child = parent.child()
    child.register(Point)
    with pytest.raises(ValidationError, match="Point"):
        parent.encode(Point(1))
    parent.register(Bill)
    assert child.decode(child.encode([Point(1), Bill(2.0)])) == [Point(1), Bill(2.0)]
    assert {f"{__name__}:Point", f"{__name__}:Bill"} <= set(child.ids())


def test_an_id_belongs_to_one_class() -> None:
    registry = fresh()
    registry.register(Point, id="p")
    with pytest.raises(ConfigurationError, match="belongs"):
        registry.register(Bill, id="p")
    registry.register(Point, id="p", version=2)
    with pytest.raises(ConfigurationError, match="up-casters"):
        registry.register(Bill, upcast={1: lambda old: old})


def test_a_class_of_its_own_making_needs_both_functions() -> None:
    class Money:
        def __init__(self, cents: int) -> None:
            self.cents = cents

    registry = fresh()
    with pytest.raises(ConfigurationError, match="encode="):
        registry.register(Money)
    with pytest.raises(ConfigurationError, match="both"):
        registry.register(Money, encode=lambda money: money.cents)
    registry.register(Money, encode=lambda money: (money.cents,), decode=lambda told: Money(told[0]))
    assert registry.decode(registry.encode([Money(7)]))[0].cents == 7


def test_what_a_class_cannot_decode_is_a_corrupt_record() -> None:
    registry = fresh()
    registry.register(queue.Queue, id="q", encode=lambda q: q.maxsize, decode=lambda told: told["maxsize"])
    blob = registry.encode(queue.Queue(2))
    with pytest.raises(CorruptRecord) as caught:
        registry.decode(blob)
    assert caught.value.raw == blob


# What a state's annotations register.


class Inner(TypedDict):
    doc: Doc | None


class Tree(pydantic.BaseModel):
    kids: list[Tree] = []
    point: Point | None = None


class Base(msgspec.Struct):
    pass


class Derived(Base):
    level: Level


class State(TypedDict, total=False):
    a: Annotated[list[Tree], "reducer"]
    b: dict[str, tuple[Item, ...]] | None
    c: Inner
    d: Literal[Colour.RED, "x"]
    e: Mapping[str, Base]
    f: Box[Frozen]
    g: Any
    h: type_hole


type_hole = typing.NewType("type_hole", Mode)  # type: ignore[valid-newtype]


def test_an_annotation_registers_all_that_it_names() -> None:
    registry = codec.default.child()
    for key, note in typing.get_type_hints(State, include_extras=True).items():
        registry.register_annotation(note, where=key)
    value = {
        "a": [Tree(kids=[Tree()], point=Point(1))],
        "b": {"k": (Item("i"),)},
        "c": {"doc": Doc(title="t")},
        "d": Colour.RED,
        "e": {"k": Derived(Level.LOW)},
        "f": Box(Frozen(Item("i"))),
        "h": Mode.W,
    }
    assert exact(registry.decode(registry.encode(value)), value)
    with pytest.raises(ValidationError, match="Bill"):
        registry.encode({"g": Bill(1.0)})


class Opaque:
    pass


class Closer(Protocol):
    def close(self) -> None: ...


@pytest.mark.parametrize(
    "note",
    cases(
        type(threading.Lock()),
        threading.Event,
        Callable[[int], int],
        Callable,
        type,
        type[int],
        Iterator[int],
        typing.Generator[int, None, None],
        type(typing),
        type(lambda: 0),
        Opaque,
        dict[str, list[Opaque | None]],
        ValueError,
        queue.Queue,
        range,
        Box[Opaque],
    ),
    ids=str,
)
def test_what_cannot_be_stored_is_told_when_the_graph_is_built(note: Any) -> None:
    with pytest.raises(ConfigurationError, match="client") as caught:
        codec.default.child().register_annotation(note, where="client")
    assert "untracked" in caught.value.message


@pytest.mark.parametrize(
    "note", [Any, object, None, int, list, list[Number], Mapping[str, Any], Closer, "Unresolved", tuple[()], Tree]
)
def test_what_says_little_is_checked_when_it_is_written(note: Any) -> None:
    codec.default.child().register_annotation(note, where="key")


class Event(pydantic.BaseModel):
    at: int = 0


class Started(Event):
    by: Point


class Watched(Event):
    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
    lock: threading.Event


def test_a_subclass_that_cannot_be_stored_does_not_stop_a_graph_from_being_built() -> None:
    registry = codec.default.child()
    registry.register_annotation(list[Event], where="events")
    value = [Event(), Started(by=Point(1))]
    assert exact(registry.decode(registry.encode(value)), value)
    with pytest.raises(ValidationError, match=r"events\[0\]\.lock.*Event"):
        registry.encode([Watched(lock=threading.Event())], where="events")


def test_naming_the_base_of_all_models_registers_none_of_them() -> None:
    registry = codec.default.child()
    registry.register_annotation(pydantic.BaseModel, where="any")
    with pytest.raises(ValidationError, match="Started"):
        registry.encode(Started(by=Point(1)))


def test_classes_within_a_function_are_found_as_far_as_their_names_are() -> None:
    class Unseen(msgspec.Struct):
        pass

    @dataclass
    class Node:
        kids: list[Node]
        point: Point | None = None
        other: Unseen | None = None

    registry = codec.default.child()
    registry.register_annotation(Node, where="tree")
    value = Node([Node([])], Point(1))
    assert exact(registry.decode(registry.encode(value)), value)
    with pytest.raises(ValidationError, match="Unseen"):
        registry.encode(Node([], None, Unseen()))


def test_the_librarys_own_classes_need_no_registration() -> None:
    from lawful.core.crdt import GSet
    from lawful.core.messages import Message, RemoveMessage, Text, ToolCall

    value = [
        Message("assistant", (Text(text="a" * 600, id="1"), ToolCall(name="t", args={"k": [1]}, id="c")), id="m"),
        RemoveMessage("m"),
        GSet(frozenset({1, "a"})),
    ]
    blob = codec.encode(value)
    assert exact(codec.decode(blob), value)
    assert b"lawful:Message" in blob
    assert b"lawful.core" not in blob


def test_what_a_constructor_refuses_is_a_corrupt_record() -> None:
    registry = fresh()

    class Lookalike(msgspec.Struct):
        role: str
        content: tuple[int, ...]

    registry.register(Lookalike, id="lawful:Message")
    blob = registry.encode(Lookalike("user", ()))
    with pytest.raises(CorruptRecord, match="empty") as caught:
        codec.decode(blob)
    assert caught.value.raw == blob


def test_two_classes_of_one_name_do_not_disturb_each_other() -> None:
    def make() -> Any:
        @dataclass
        class Local:
            n: int

        return Local

    one, two = make(), make()
    for cls in (one, two):
        registry = codec.default.child()
        registry.register_annotation(cls, where="k")
        assert registry.decode(registry.encode(cls(1))) == cls(1)
