"""Graphs that change under their threads: fingerprints, migrations, and what is told before anything runs."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest

from lawful.core.errors import GraphBuildError, ResumeRefused
from lawful.core.reducers import reducer
from lawful.graph import START, AcceptNode, Command, ConvertKey, RenameKey, RenameNode, Send, StateGraph, interrupt
from lawful.graph.fingerprint import fingerprint, read
from lawful.graph.upgrade import judge
from lawful.journal.port import Journal
from support.graphs import Drive, concat, on
from support.pausing import Calls, Log, asked, chain, ids

pytestmark = pytest.mark.unit


def first(state: Any) -> dict[str, Any]:
    return {"log": ["first"]}


def ask(state: Any) -> dict[str, Any]:
    return {"log": [str(interrupt("who?"))]}


def last(state: Any) -> dict[str, Any]:
    return {"log": ["last"]}


def graph_of(*pairs: tuple[str, Any], schema: Any = Log, migrations: tuple[Any, ...] = (), strict: bool = True) -> Any:
    builder: Any = StateGraph(schema, strict=strict, name="g")
    return builder.add_sequence(list(pairs)).add_edge(START, pairs[0][0]).migrate(*migrations)


OLD = (("first", first), ("ask", ask), ("last", last))
NEW = (("first", first), ("ask_user", ask), ("last", last))
RENAMED = RenameNode("ask", "ask_user")


def test_a_fingerprint_tells_what_threads_depend_on_and_nothing_else() -> None:
    """Equal for the same graph with other bodies, other for each kind of change; it survives storing.

    Rows: S1-S07, S4-003
    """

    def other(state: Any) -> dict[str, Any]:
        return {"log": ["something else"]}

    def told(builder: Any) -> Any:
        return fingerprint(builder.compile().program)

    base = told(graph_of(*OLD))
    assert told(graph_of(("first", other), ("ask", other), ("last", other))) == base
    assert read(base.stored()) == base
    assert read(base.stored()).digest == base.digest

    class Other(TypedDict, total=False):
        log: Annotated[list[str], reducer(version=2)(concat)]
        word: str
        n: int

    def joined(rule: str) -> Any:
        made: Any = StateGraph(Log).add_node("a", first).add_node("b", first).add_node("c", last)
        return made.add_edge(START, "a").add_edge(START, "b").add_edge(["a", "b"], "c", join=rule)

    changed = [
        graph_of(*NEW),
        graph_of(*NEW, migrations=(RENAMED,)),
        graph_of(*OLD[:2]),
        graph_of(*OLD).add_edge("first", "last"),
        graph_of(*OLD, schema=Other),
        graph_of(*OLD, migrations=(ConvertKey("n", abs),)),
        _versioned(ask=2),
        joined("all"),
        joined("activated"),
    ]
    seen = [base, *map(told, changed)]
    assert len({each.digest for each in seen}) == len(seen)


def _versioned(*migrations: Any, name: str = "ask", **versions: int) -> Any:
    builder: Any = StateGraph(Log, name="g")
    for node, body in (("first", first), (name, ask), ("last", last)):
        builder.add_node(node, body, version=versions.get(node, 1))
    builder.add_edge(START, "first").add_edge("first", name).add_edge(name, "last")
    return builder.migrate(*migrations)


def test_a_thread_that_waits_at_another_version_of_a_node_is_told_and_refused(drive: Drive, journal: Journal) -> None:
    """Only the node that it waits at counts; AcceptNode lets it go on, a rename changes nothing of that. Rows: S1-S07."""
    drive.invoke(_versioned().compile(journal), {"log": []}, on("t"))
    assert [v.resumable for v in _versioned(first=2, last=3).compile(journal).check_upgrade()] == [True]
    new = _versioned(ask=2).compile(journal)
    (verdict,) = new.check_upgrade()
    assert [(f.what, f.name) for f in verdict.findings] == [("version", "ask")]
    assert "version 1, which is version 2 now" in verdict.findings[0].text
    with pytest.raises(ResumeRefused, match=r"AcceptNode\('ask', 1\)"):
        drive.invoke(new, Command(resume="ada"), on("t"))
    renamed = _versioned(RenameNode("ask", "asks"), name="asks", asks=2).compile(journal)
    assert [f.name for f in renamed.check_upgrade()[0].findings] == ["asks"]
    accepting = _versioned(AcceptNode("ask", 1), ask=2).compile(journal)
    assert [v.resumable for v in accepting.check_upgrade()] == [True]
    assert drive.invoke(accepting, Command(resume="ada"), on("t"))["log"] == ["first", "ada", "last"]
    drive.invoke(accepting, {"log": []}, on("u"))
    back = {v.thread: v.resumable for v in _versioned().compile(journal).check_upgrade()}
    assert back == {"u": False}


def test_a_wrong_version_of_a_node_is_refused_when_it_is_added() -> None:
    for wrong in (0, True, "2", None):
        with pytest.raises(GraphBuildError, match="'a': version is an int"):
            StateGraph(Log).add_node("a", first, version=wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(GraphBuildError, match="there is no such node"):
        graph_of(*OLD, migrations=(AcceptNode("asks", 1),)).compile()


def test_a_renamed_node_goes_on_where_it_was(drive: Drive, journal: Journal) -> None:
    """Its question keeps its id, what had finished beside it is not run again, history is told in the names of now.

    Rows: S1-S07
    """
    calls = Calls()

    def quick(state: Any) -> dict[str, Any]:
        calls("quick")
        return {"log": ["quick"]}

    def build(name: str, side: str, *migrations: Any) -> Any:
        builder: Any = StateGraph(Log, name="g").add_node(name, ask).add_node(side, quick).add_node("z", last)
        builder.add_edge(START, name).add_edge(START, side).add_edge([name, side], "z")
        return builder.migrate(*migrations).compile(checkpointer=journal)

    (question,) = asked(drive.invoke(build("ask", "quick"), {"log": []}, on("t")))
    renames = (RenameNode("ask", "halfway"), RenameNode("halfway", "ask_user"), RenameNode("quick", "swift"))
    new = build("ask_user", "swift", *renames)
    head = drive.get_state(new, on("t"))
    assert (head.next, [q.id for q in head.interrupts]) == (("ask_user",), [question.id])
    assert sorted(drive.get_state_history(new, on("t"))[0].next) == ["ask_user", "swift"]
    done = drive.invoke(new, Command(resume={question.id: "ada"}), on("t"))
    assert (sorted(done["log"]), calls.of("quick")) == (["ada", "last", "quick"], 1)
    assert drive.get_state(new, on("t")).values == done
    without = build("ask_user", "swift")
    drive.invoke(new, {"log": []}, on("u"))
    with pytest.raises(ResumeRefused, match=r"keep RenameNode\('ask', 'ask_user'\)"):
        drive.invoke(without, None, on("u"))


def test_a_rename_keeps_the_namespace_of_a_graph_inside(drive: Drive, journal: Journal) -> None:
    """A paused one is gone on with, and one with a memory remembers. Rows: S1-S07."""

    def count(state: Log) -> Log:
        return {"n": state.get("n", 0) + 1}

    def build(name: str, *migrations: Any) -> Any:
        builder: Any = StateGraph(Log, name="g").add_node(name, chain(drive, first, ask))
        builder.add_node(f"keep_{name}", chain(drive, count, checkpointer=True))
        builder.add_edge(START, f"keep_{name}").add_edge(f"keep_{name}", name)
        return builder.migrate(*migrations).compile(checkpointer=journal)

    drive.invoke(build("hold"), {"log": []}, on("t"))
    new = build("held", RenameNode("hold", "held"), RenameNode("keep_hold", "keep_held"))
    assert drive.get_state(new, on("t"), subgraphs=True).tasks[0].state.next == ("ask",)
    assert drive.invoke(new, Command(resume="ada"), on("t"))["log"] == ["first", "ada"]
    assert drive.invoke(new, {"log": [], "n": 0}, on("t"))["n"] == 1
    assert drive.get_state(new, on("t", ns="keep_hold")).values["n"] == 1


class Order(TypedDict, total=False):
    log: Annotated[list[str], concat]
    euros: int
    note: str


class Priced(TypedDict, total=False):
    log: Annotated[list[str], concat]
    euros: str
    remark: str


def cents(euros: int) -> str:
    return f"{euros * 100} cents"


MOVED = (ConvertKey("euros", cents), RenameKey("note", "remark"))


def pay(state: Any) -> dict[str, Any]:
    return {"euros": 7, "note": "paid"}


@pytest.mark.parametrize("stop", ["ask", "last"])
def test_keys_are_renamed_and_values_converted_as_they_are_read(drive: Drive, journal: Journal, stop: str) -> None:
    """Once each, however often: the run goes on in the new form, and is read in it; the old history too.

    Rows: S1-S07
    """
    nodes = (("pay", pay), ("ask", ask), ("last", last))
    old = graph_of(*nodes, schema=Order).compile(checkpointer=journal, interrupt_before=[stop])
    drive.invoke(old, {"log": ["in"], "euros": 1, "note": "n"}, on("t"))
    if stop == "last":
        drive.invoke(old, None, on("t"))
        drive.invoke(old, Command(resume="ada"), on("t"))
    new = graph_of(*nodes, schema=Priced, migrations=MOVED).compile(checkpointer=journal)
    head = drive.get_state(new, on("t"))
    assert {k: head.values[k] for k in ("euros", "remark")} == {"euros": "700 cents", "remark": "paid"}
    seen = [(e.values.get("euros"), e.values.get("remark")) for e in drive.get_state_history(new, on("t"))]
    assert seen[-2:] == [("100 cents", "n"), (None, None)]
    assert set(seen[:-2]) == {("700 cents", "paid")}
    drive.invoke(new, None, on("t"))
    done = drive.invoke(new, Command(resume="bob"), on("t")) if stop == "ask" else drive.get_state(new, on("t")).values
    assert (done["euros"], done["remark"]) == ("700 cents", "paid")
    assert drive.get_state(new, on("t")).values == done
    told = [e.values.get("euros") for e in drive.get_state_history(new, on("t"))]
    assert set(told) == {"700 cents", "100 cents", None}
    with pytest.raises(ResumeRefused, match="'remark'"):
        drive.invoke(old, {"log": []}, on("t"))


def test_unfinished_writes_are_brought_to_the_form_of_now(drive: Drive, journal: Journal) -> None:
    """A plain key's by its conversion; a merged key's need their own, or the thread is refused by name.

    Rows: S1-S07
    """

    class Old(TypedDict, total=False):
        log: Annotated[list[str], concat]
        euros: int

    class New(TypedDict, total=False):
        log: Annotated[list[str], concat]
        euros: str

    def quick(state: Any) -> dict[str, Any]:
        return {"euros": 7, "log": ["quick"]}

    def build(schema: Any, *migrations: Any) -> Any:
        builder: Any = StateGraph(schema, name="g").add_node("quick", quick).add_node("ask", ask)
        builder.add_edge(START, "quick").add_edge(START, "ask").migrate(*migrations)
        return builder.compile(checkpointer=journal)

    def loud(log: list[str]) -> list[str]:
        return [word.upper() for word in log]

    for thread in ("t", "u"):
        drive.invoke(build(Old), {"log": ["in"], "euros": 1}, on(thread))
    priced = ConvertKey("euros", cents)
    with pytest.raises(ResumeRefused, match=r"'log' in its old form: ConvertKey needs update="):
        drive.invoke(build(New, priced, ConvertKey("log", loud)), Command(resume="ada"), on("t"))
    new = build(New, priced, ConvertKey("log", loud, update=loud))
    done = drive.invoke(new, Command(resume="ada"), on("t"))
    assert (done["log"], done["euros"]) == (["IN", "ada", "QUICK"], "700 cents")
    assert drive.get_state(new, on("t")).values == done
    assert drive.get_state_history(new, on("t"))[0].values == done
    drive.update_state(new, on("u"), {"log": ["by hand"]}, as_node="ask")
    told = drive.get_state(new, on("u")).values
    assert (sorted(told["log"]), told["euros"]) == (["IN", "QUICK", "by hand"], "700 cents")


def test_an_input_that_waits_is_brought_to_the_form_of_now(drive: Drive, journal: Journal) -> None:
    """And Sends keep what they were given. Rows: S1-S07."""
    old = graph_of(("last", last), schema=Order).compile(checkpointer=journal)
    drive.update_state(old, on("t"), {"log": ["in"], "euros": 3, "note": "n"}, as_node="__input__")
    new = graph_of(("last", last), schema=Priced, migrations=MOVED).compile(checkpointer=journal)
    done = drive.invoke(new, None, on("t"))
    assert done == {"log": ["in", "last"], "euros": "300 cents", "remark": "n"}


def test_a_send_to_a_renamed_node_arrives(drive: Drive, journal: Journal) -> None:
    """Rows: S1-S07."""

    def work(state: Any) -> dict[str, Any]:
        return {"log": [state["word"]]}

    def build(name: str, *migrations: Any) -> Any:
        builder: Any = StateGraph(Log, name="g").add_node("first", first).add_node(name, work).add_edge(START, "first")
        builder.add_conditional_edges("first", lambda s: [Send(name, {"word": w}) for w in "ab"], [name])  # type: ignore
        return builder.migrate(*migrations).compile(checkpointer=journal)

    drive.invoke(build("work"), {"log": []}, on("t"), interrupt_before=["work"])
    new = build("labour", RenameNode("work", "labour"))
    assert drive.get_state(new, on("t")).next == ("labour", "labour")
    assert drive.invoke(new, None, on("t"))["log"] == ["first", "a", "b"]


def test_what_does_not_fit_is_named_with_the_nearest_and_the_remedy(drive: Drive, journal: Journal) -> None:
    """Before anything is written, for going on and for new input as far as that touches it.

    Rows: S1-S07
    """
    drive.invoke(graph_of(*OLD, schema=Order).compile(journal), {"log": [], "euros": 1, "note": "n"}, on("t"))
    stored = list(journal.history("t"))

    class Narrow(TypedDict, total=False):
        log: Annotated[list[str], concat]
        euros: str
        notes: str

    new = graph_of(("first", first), ("asks", ask), schema=Narrow).compile(journal)
    says = r"'ask'.*Did you mean 'asks'.*RenameNode.*'note'.*'notes'.*RenameKey.*'euros'.*ConvertKey"
    with pytest.raises(ResumeRefused, match=says):
        drive.invoke(new, Command(resume="ada"), on("t"))
    with pytest.raises(ResumeRefused, match=r"'note'") as refused:
        drive.invoke(new, {"log": []}, on("t"))
    assert "'ask'" not in str(refused.value), "new input ends what was pending"
    assert list(journal.history("t")) == stored


def test_migrations_that_cannot_be_meant_are_refused_at_build() -> None:
    """Rows: S1-S07."""
    wrong: list[tuple[Any, str]] = [
        (RenameNode("ask", "ask_usr"), "'ask_user'"),
        (RenameNode("first", "ask_user"), "still there"),
        (RenameKey("note", "wrd"), "'word'"),
        (RenameKey("n", "word"), "still there"),
        (ConvertKey("nn", abs), "'n'"),
        (ConvertKey("n", abs, version=1), "versions are 2"),
        ("ask -> ask_user", "takes RenameNode"),
    ]
    for migration, says in wrong:
        with pytest.raises(GraphBuildError, match=says):
            graph_of(*NEW, migrations=(migration,)).compile()
    with pytest.raises(GraphBuildError, match="said once"):
        graph_of(*NEW, migrations=(ConvertKey("n", abs), ConvertKey("n", int))).compile()


def test_what_an_upgrade_means_is_told_for_each_paused_thread(drive: Drive, journal: Journal) -> None:
    """Of this graph only, and of graphs inside too; nothing is run or written by looking.

    Rows: S1-S07
    """

    def build(inner: tuple[Any, ...], *migrations: Any, name: str = "g", schema: Any = Log) -> Any:
        inside = graph_of(*inner, schema=Log, migrations=migrations).compile()
        builder: Any = StateGraph(schema, name=name).add_node("hold", inside).add_node("ask", ask)
        return builder.add_edge(START, "ask").add_edge("ask", "hold").compile(checkpointer=journal)

    old = build(OLD)
    for thread in ("outer", "inner", "ended"):
        drive.invoke(old, {"log": []}, on(thread))
    for thread in ("inner", "ended"):
        drive.invoke(old, Command(resume="1"), on(thread))
    drive.invoke(old, Command(resume="2"), on("ended"))
    drive.invoke(build(OLD, name="another"), {"log": []}, on("other"))
    before = {t.thread: list(journal.history(t.thread)) for t in journal.threads()}
    assert [(v.thread, v.waits, v.changed, v.findings) for v in old.check_upgrade()] == [
        ("inner", ("hold", "ask"), False, ()),
        ("outer", ("ask",), False, ()),
    ]
    inner, outer = build(NEW).check_upgrade()
    assert (outer.resumable, inner.resumable, inner.changed) == (True, False, True)
    assert [(f.what, f.name) for f in inner.findings] == [("node", "ask")]
    inner, outer = build(NEW, RENAMED).check_upgrade()
    assert (outer.resumable, inner.resumable, inner.changed) == (True, True, True)
    assert {t.thread: list(journal.history(t.thread)) for t in journal.threads()} == before
    assert drive.invoke(build(NEW, RENAMED), Command(resume="ada"), on("inner"))["log"][-2:] == ["ada", "last"]


def test_a_thread_that_cannot_be_read_is_told_as_such(drive: Drive, journal: Journal) -> None:
    """Rows: S1-S07."""

    class Turned(TypedDict, total=False):
        log: Annotated[list[str], reducer(version=2)(concat)]

    old = graph_of(*OLD).compile(checkpointer=journal, interrupt_before=["last"])
    drive.invoke(old, {"log": []}, on("t"))
    drive.invoke(old, Command(resume="ada"), on("t"))
    stored = journal.chain("t")
    assert stored is not None
    told = judge(graph_of(*OLD, schema=Turned).compile().program, "t", {"": stored})
    assert told is not None
    assert [f.what for f in told.findings] == (["record"] if stored.tip.snapshot is None else [])


def test_names_of_questions_are_those_of_the_first_name(drive: Drive, journal: Journal) -> None:
    """A visit after the rename has the id that it would have had before: effects are keyed alike. Rows: S1-S07."""
    old = graph_of(*OLD).compile(checkpointer=journal)
    new = graph_of(*NEW, migrations=(RENAMED,)).compile(checkpointer=journal)
    one = ids(asked(drive.invoke(old, {"log": []}, on("t"))))
    drive.update_state(new, on("t"), None)
    assert ids(asked(drive.invoke(new, None, on("t")))) == one
