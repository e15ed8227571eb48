"""What is known before a run: dry runs, annotations held against the wiring, calls of models, the environment; nothing acts."""

from __future__ import annotations

import ast
import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest
from hypothesis import given, settings
from inline_snapshot import snapshot

import lawful.pipeline
from lawful.core.errors import ConfigurationError, Error, LLMError, NetworkError, ParsingError
from lawful.core.result import Err, Ok, Result
from lawful.core.retry import RetryPolicy
from lawful.pipeline import (
    Pipeline,
    Registry,
    Run,
    always,
    branch,
    check,
    count,
    draw,
    dry_run,
    each,
    explain,
    from_json,
    guard,
    identity,
    in_turn,
    names,
    optimise,
    par,
    pure,
    retry,
    rewrites,
    run,
    run_sync,
    step,
    switch,
    timeout,
    to_json,
)
from lawful.pipeline.drying import UNKNOWN
from lawful.pipeline.nodes import Par
from support.pipelines import ANY, LEAVES, LOG, AnyPipeline, left, right, seq

pytestmark = pytest.mark.unit

registry = Registry()


@registry.component("embed", effects=["llm.embed"], kind="model")
async def embed(text: str) -> Result[list[float], NetworkError]:
    raise AssertionError(text)


@registry.component("chat", effects=["llm.chat"], kind="model")
async def chat(text: str) -> Result[str, LLMError]:
    raise AssertionError(text)


@registry.component("mail", effects=["mail.send"], kind="tool")
def mail(text: str) -> Result[str, NetworkError]:
    raise AssertionError(text)


@registry.component("agent", kind="agent")
def agent(text: str) -> str:
    raise AssertionError(text)


@step
def plain(text: str) -> str:
    raise AssertionError(text)


def shout(text: str) -> str:
    return text.upper()


# Dry runs


def test_a_dry_run_lists_effects_and_performs_none() -> None:
    told = dry_run(pure(shout) >> chat >> (mail & pure(len)), "hi")
    assert [str(step) for step in told.steps] == [
        "would do chat on 'HI', effects: llm.chat",
        "would do mail on an input not known yet, effects: mail.send",
    ]
    assert told.effects == ("llm.chat", "mail.send")
    assert told.value is UNKNOWN
    assert dry_run(pure(shout) & pure(len), "hi").value == ("HI", 2)


def test_a_dry_run_says_what_only_might_happen() -> None:
    tree = branch(str.isupper, mail, chat) >> (plain | mail)
    assert [(s.step, s.sure) for s in dry_run(tree, "hi").steps] == [
        ("isupper", True), ("mail", False), ("chat", False), ("plain", True), ("mail", False),
    ]  # fmt: skip
    assert [(s.step, s.sure) for s in dry_run(pure(shout) | mail, "hi").steps] == []
    many = dry_run(pure(str.split) >> each(chat), "a b")
    assert [(s.step, s.input) for s in many.steps] == [("chat", "a"), ("chat", "b")]
    assert [(s.step, s.sure) for s in dry_run(chat >> pure(str.split) >> each(mail), "x").steps][1] == ("mail", False)


def test_a_dry_run_goes_on_from_answers_that_are_assumed() -> None:
    tree = chat >> branch(str.isupper, mail, plain)
    told = dry_run(tree, "hi", assume={"chat": "LOUD", "isupper": True, "mail": Ok("sent")})
    assert (told.value, told.steps) == ("sent", ())
    told = dry_run((chat | plain) >> mail, "hi", assume={"chat": Err(LLMError("down")), "plain": "x"})
    assert [(s.step, s.input, s.sure) for s in told.steps] == [("mail", "x", True)]
    assert dry_run(chat >> mail, "hi", assume={"chat": LLMError("down")}).steps == ()
    with pytest.raises(ConfigurationError, match="Did you mean 'chat'"):
        dry_run(tree, "hi", assume={"chta": ""})


@pytest.mark.property
@settings(max_examples=60, deadline=None)
@given(ANY)
def test_a_dry_run_calls_no_step(t: AnyPipeline) -> None:
    LOG.clear()
    told = dry_run(t, 0)
    assert LOG == []
    assert {s.step for s in told.steps} <= {*names(t), "checked"}


def test_a_dry_run_goes_through_policies_and_pairs_in_turn() -> None:
    tree = guard(retry(timeout(in_turn(chat, mail), 5)), before=[shout])
    assert [s.step for s in dry_run(tree, "x").steps] == ["shout", "chat", "mail"]
    assert dry_run(branch(always(False), mail, pure(shout)), "a").value == "A"


def test_a_step_that_works_on_its_input_alone_is_called_by_a_dry_run() -> None:
    @step(acts=False, catch=ValueError, error=ParsingError)
    def number(text: str) -> int:
        return int(text)

    assert dry_run(number, "3").value == 3
    assert [s.step for s in dry_run(number | mail, "x").steps] == ["mail"]
    assert dry_run(number | mail, "3").steps == ()
    assert dry_run(chat >> number, "x").value is UNKNOWN
    with pytest.raises(ConfigurationError, match="it acts"):
        step(acts=False, effects=["mail"])


# Annotations


def numbers(text: str) -> list[int]:
    return [len(text)]


def total(found: Sequence[float]) -> float:
    return sum(found)


def lookup(key: int) -> Result[dict[str, int], NetworkError]:
    raise AssertionError(key)


async def size(table: dict[str, int]) -> int:
    return len(table)


UNTYPED: AnyPipeline = pure(lambda thing: thing)
LOOKUP: AnyPipeline = step(lookup)
SHOUT: AnyPipeline = pure(shout)
SIZE: AnyPipeline = step(size)


def test_check_finds_what_does_not_fit() -> None:
    """Rows: S0-029."""
    bad = pure(numbers) >> LOOKUP >> SIZE >> SHOUT
    assert [str(one) for one in check(bad)] == [
        "lookup takes int, but numbers gives list[int]",
        "shout takes str, but size gives int",
    ]
    assert [str(one) for one in check(SHOUT & LOOKUP)] == ["lookup takes int, but the input of shout gives str"]
    assert len(check(branch(str.isupper, SHOUT, LOOKUP))) == 1
    assert [one.step for one in check(pure(numbers) >> each(SHOUT))] == ["shout"]
    assert check(SHOUT >> each(LOOKUP)) == ()  # a text is a sequence; what is in it is not looked at


def test_check_accepts_what_fits_and_what_nobody_can_tell() -> None:
    good: list[Any] = [
        pure(numbers) >> pure(total),
        step(lookup) >> step(size),
        identity(str) >> pure(shout) >> identity(),
        UNTYPED >> pure(shout),
        (pure(shout) | pure(str.strip)) >> pure(numbers),
        par(pure(shout), pure(numbers)),
        retry(timeout(pure(numbers), 3)) >> each(step(lookup)) >> each(step(size)),
        switch(len, {1: pure(shout)}, otherwise=pure(str.strip)) >> pure(len),
        embed >> pure(total),
    ]
    for tree in good:
        assert check(tree) == ()


# Models, calls, errors


def test_explain_tells_models_tools_and_the_most_calls() -> None:
    twice = RetryPolicy(max_attempts=2)
    tree = retry(chat | chat, twice) >> branch(str.isupper, chat >> chat, mail >> chat) >> (embed & chat)
    told = explain(tree)
    assert (told.models, told.tools, told.model_calls) == (("chat", "embed"), ("mail",), 8)
    assert "model calls: at most 8" in told.table()
    assert told.to_json()["model_calls"] == 8
    assert explain(pure(str.split) >> each(chat)).model_calls is None
    assert explain(pure(str.split) >> each(mail)).model_calls == 0
    assert explain(agent).model_calls is None
    assert "model calls: no bound" in explain(agent).table()
    assert explain(guard(retry(mail), before=[shout])).escapes == ("NetworkError", "ValidationError")


# Rewrites


@step(independent=True)
async def see(text: str) -> str:
    raise AssertionError(text)


def test_independent_steps_are_hoisted_constant_branches_decided_and_told() -> None:
    """Rows: S0-027, S0-210."""
    tree = identity(str) >> in_turn(see >> pure(str.strip), see) >> branch(always(True), pure(str), pure(repr))
    made = optimise(tree)
    assert draw(made).splitlines() == [
        "in order",
        "  at once, as if in turn",
        "    in order",
        "      see",
        "      strip",
        "    see",
        "  str",
    ]
    assert [(one.name, one.before - one.after, one.gone) for one in rewrites(tree)] == [
        ("drop_identity", 2, ()),
        ("constant_branch", 2, ("always True", "repr")),
        ("hoist_independent", 0, ()),
    ]
    assert all(one.sound_for for one in rewrites(tree))
    kept = optimise(in_turn(see, plain))
    assert isinstance(kept, Par)
    assert kept.order == "in turn"
    assert len(explain(tree).steps) - len(explain(made).steps) == 2
    same = left(seq, plain, 50)
    assert optimise(same) is same
    assert rewrites(same) == ()


async def test_ahead_has_the_outcome_of_in_turn_whoever_is_first() -> None:
    order: list[str] = []

    def look(name: str, wait: int, end: Any) -> AnyPipeline:
        async def go(_: Any) -> Any:
            order.append(name)
            for _n in range(wait):
                await asyncio.sleep(0)
            return end

        return step(independent=True, name=name)(go)

    down, bad = NetworkError("down"), ParsingError("bad")
    slow_bad = optimise(in_turn(look("a", 5, Err(down)), look("b", 1, Err(bad))))
    assert await run(slow_bad, 1) == Err(down)
    assert order == ["a", "b"]
    assert await run(optimise(in_turn(look("a", 5, Ok(1)), look("b", 1, Err(bad)))), 1) == Err(bad)
    assert await run(optimise(in_turn(look("a", 1, Err(down)), look("b", 99, Ok(1)))), 1) == Err(down)
    assert await run(optimise(in_turn(look("a", 9, Ok(1)), look("b", 1, Ok(2)))), 1) == Ok((1, 2))


# The environment


@dataclass(frozen=True)
class Env:
    key: str
    limit: int = 3


class Keyed(Protocol):
    key: str


@step
def uses(text: str, run: Run[Env]) -> str:
    return f"{text} {run.env.key} {run.env.limit}"


@step
async def uses_part(text: str, run: Run[Keyed]) -> str:
    return f"{text} {run.env.key}"


class Method:
    def __init__(self) -> None:
        self.calls = 0

    def ask(self, text: str, run: Run[Any]) -> str:
        self.calls += 1
        return f"{text} {run.env}"

    def __call__(self, text: str, run: Run[Any]) -> str:
        return self.ask(text, run)


def test_steps_get_the_environment_that_the_caller_gives() -> None:
    """Rows: S0-060, S0-061."""
    tree = uses >> uses_part
    assert run_sync(tree, "a", env=Env("k")) == Ok("a k 3 k")
    assert run_sync(tree, "a", env=Env("other", 9)) == Ok("a other 9 other")
    method = Method()
    assert run_sync(step(method.ask) >> step(method), "a", env=1) == Ok("a 1 1")


@pytest.mark.parametrize("env, said", [(None, "given none"), ({"key": "k"}, "given a dict")])
def test_an_environment_that_does_not_fit_is_told_before_anything_runs(env: Any, said: str) -> None:
    method = Method()
    end = run_sync(step(method) >> (uses | identity(str)), "a", env=env)
    assert isinstance(end, Err)
    assert isinstance(end.error, ConfigurationError)
    assert "step 'uses' needs an environment of Env" in end.error.message
    assert said in end.error.message
    assert method.calls == 0


def test_an_environment_that_lacks_a_member_is_told_with_the_nearest() -> None:
    @dataclass
    class Other:
        keys: str = ""

    end = run_sync(uses_part, "a", env=Other())
    assert isinstance(end, Err)
    assert "has no 'key'. Did you mean 'keys'?" in end.error.message


# What building does not do


@pytest.mark.property
def test_building_looking_and_rewriting_open_nothing_and_call_nothing() -> None:
    """Rows: S0-001, S0-019."""
    acts = ("open", "socket.", "subprocess.", "os.system", "_thread.start_new_thread")
    seen: list[str] = []
    watching = False

    def hook(name: str, args: Any) -> None:
        if watching and name.startswith(acts):
            seen.append(name)

    sys.addaudithook(hook)

    @settings(max_examples=100, deadline=None, database=None)
    @given(ANY, ANY)
    def build(a: AnyPipeline, b: AnyPipeline) -> None:
        nonlocal watching
        LOG.clear()
        watching = True
        tree = (a >> b) & (b | a)
        for look in (explain, draw, optimise, count, check):
            look(tree)
        watching = False
        assert LOG == []

    build()
    assert seen == []


def test_only_the_interpreter_calls_steps() -> None:
    """Rows: S0-017."""
    folder = Path(next(iter(lawful.pipeline.__path__)))
    callers = {
        path.name
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"leaf.run", "frame.run", "leaf.component"}
    }
    assert callers == {"leaves.py", "machine.py", "drying.py"}  # the last for pure functions only


def test_operators_bind_as_the_page_says() -> None:
    """Rows: S0-018."""
    a, b, c = pure(str.strip), pure(str.upper), pure(str.lower)
    assert draw(a >> b & c | b) == snapshot("""\
first that succeeds
  at once
    in order
      strip
      upper
    lower
  upper\
""")
    end: Result[Any, Error] = run_sync(a >> b & c, " x ")
    assert end == Ok(("X", " x "))


@pytest.mark.parametrize("nest, join", [(right, seq), (left, in_turn)])
def test_no_nest_is_too_deep_for_what_looks_ahead(nest: Any, join: Any) -> None:
    deep: AnyPipeline = nest(join, chat)
    assert len(dry_run(deep, "x").steps) == LEAVES
    check(deep)
    assert explain(deep).model_calls == LEAVES
    assert count(optimise(deep)) == 2 * LEAVES - 1


def test_in_turn_and_fallback_nests_run_however_deep() -> None:
    same: AnyPipeline = identity()
    for nest in (left, right):
        assert isinstance(run_sync(nest(in_turn, same), 1), Ok)


def test_the_error_of_the_last_fallback_has_those_before_as_its_causes() -> None:
    """Rows: S0-016."""
    errors: list[Error] = [NetworkError("a"), LLMError("b"), ParsingError("c")]

    def failing(error: Error) -> Pipeline[int, int]:
        def fail(_: int) -> Result[int, Error]:
            return Err(error)

        return step(name=error.message)(fail)

    a, b, c = map(failing, errors)
    for tree in (a | (b | c), (a | b) | c):
        end = run_sync(tree, 1)
        assert isinstance(end, Err)
        chain: list[Any] = []
        link: BaseException | None = end.error
        while link is not None:
            chain.append(link)
            link = link.__cause__
        assert chain == errors[::-1]
    assert errors[2].__cause__ is None  # whoever holds the error itself sees no change


def test_orders_and_constants_survive_json() -> None:
    """Rows: S0-021."""
    tree = in_turn(chat, branch(always(True), mail, chat))
    told = to_json(tree)
    assert to_json(from_json(told, registry)) == told
    assert draw(from_json(told, registry)) == draw(tree)
    nodes: Any = told["nodes"]
    nodes[-1]["order"] = "in trun"
    with pytest.raises(ConfigurationError, match="Did you mean 'in turn'"):
        from_json(told, registry)
