"""Looking at a pipeline before it runs: walking, explaining, drawing, optimising, JSON; none of it calls a step."""

from __future__ import annotations

import json
import pkgutil
from typing import Any

import pytest
from inline_snapshot import snapshot

import lawful.pipeline
from lawful.core.errors import (
    ConfigurationError,
    DocumentLoaderError,
    EmbeddingError,
    NetworkError,
    ParsingError,
    VectorStoreError,
)
from lawful.core.result import Err, Ok, Result
from lawful.pipeline import (
    Pipeline,
    Registry,
    branch,
    count,
    draw,
    draw_mermaid,
    each,
    explain,
    from_json,
    identity,
    names,
    optimise,
    pure,
    run_sync,
    step,
    switch,
    to_json,
    walk,
)
from lawful.pipeline.nodes import Lambda
from support.pipelines import LEAVES, SAME, AnyPipeline, balanced, both, either, left, right, seq

pytestmark = pytest.mark.unit

registry = Registry()


@registry.component("embed", effects=("llm.embed",), errors=(EmbeddingError,))
async def embed(text: str) -> Result[list[float], EmbeddingError]:
    raise AssertionError(f"called with {text!r}")


@registry.component("find")
async def find(vector: list[float]) -> Result[list[str], VectorStoreError | NetworkError]:
    raise AssertionError(f"called with {vector!r}")


@step(catch=OSError, error=DocumentLoaderError)
def load(name: str) -> Result[str, ParsingError]:
    raise AssertionError(f"called with {name!r}")


@step
def shady(name: str) -> str:
    raise AssertionError(f"called with {name!r}")


@registry.choice("many", total=True)
def many(found: list[str]) -> bool:
    raise AssertionError(f"called with {found!r}")


strip = pure(str.strip)
listed = pure(list[str])
tree = strip >> embed >> find >> branch(many, each(load), listed)


def test_walking_meets_wholes_before_parts_left_to_right() -> None:
    """Rows: S0-020."""
    kinds = [type(node).__name__ for node in walk((strip & load) >> SAME)]
    assert kinds == ["Seq", "Par", "Lambda", "Lambda", "Id"]
    assert count(tree) == 10
    assert names(tree) == ["strip", "embed", "find", "many", "load", "list"]


def test_explain_tells_steps_effects_and_errors() -> None:
    told = explain(tree)
    assert told.table() == snapshot("""\
step   kind       effects    errors
strip  pure       -          -
embed  component  llm.embed  EmbeddingError
find   component  -          NetworkError, VectorStoreError
many   choice     -          -
load   step       -          DocumentLoaderError, ParsingError
list   pure       -          -
can escape: DocumentLoaderError, EmbeddingError, NetworkError, ParsingError, VectorStoreError\
""")
    assert told.components == ("embed", "find")
    assert told.effects == ("llm.embed",)
    assert json.loads(json.dumps(told.to_json()))["steps"][1] == {
        "name": "embed",
        "kind": "component",
        "effects": ["llm.embed"],
        "errors": ["EmbeddingError"],
    }


def test_what_a_fallback_handles_does_not_escape() -> None:
    assert explain(load | strip).escapes == ()
    assert explain(embed | find_text).escapes == ("NetworkError",)
    assert explain(strip | find_text).escapes == ()
    assert explain(shady).escapes == ("Failure",)


@step(errors=(NetworkError,))
def find_text(text: str) -> str:
    return text


def test_drawn_as_an_outline() -> None:
    assert draw((tree | listed_alone) & identity(str)) == snapshot("""\
at once
  first that succeeds
    in order
      strip
      embed (component)
      find (component)
      many?
        True: each, 8 at once
          load
        otherwise: list
    alone
  identity\
""")


def alone(text: str) -> list[str]:
    return [text]


listed_alone = pure(alone)


def test_drawn_as_mermaid() -> None:
    assert draw_mermaid(pure(abs, 'a "b" <c>') >> (pure(str) | pure(hex))) == snapshot("""\
flowchart TD
  in([in]) --> n1
  n4 --> out([out])
  n1["a #34;b#34; #60;c#62;"]
  n2["str"]
  n3["hex"]
  n4(("first that succeeds"))
  n2 -. error .-> n3
  n2 --> n4
  n3 --> n4
  n1 --> n2\
""")


def test_optimise_fuses_drops_and_prunes() -> None:
    chain = identity(str) >> strip >> pure(str.upper) >> identity() >> pure(len)
    fused = optimise(chain)
    assert isinstance(fused, Lambda)
    assert fused.name == "strip >> upper >> len"
    assert run_sync(fused, " ab ") == Ok(2)
    assert names(optimise(strip >> load >> pure(str.upper) >> pure(len))) == ["strip", "load", "upper >> len"]
    assert names(optimise(strip | load)) == ["strip"]
    assert names(optimise(load | strip)) == ["load", "strip"]
    assert count(optimise(identity(int) >> identity(int))) == 1
    assert names(optimise(each(strip >> pure(len)))) == ["strip >> len"]
    assert optimise(embed, []) is embed


def test_a_step_is_never_fused_and_never_pruned_unless_total() -> None:
    @step(total=True)
    def sure(text: str) -> str:
        return text

    assert names(optimise(shady >> shady)) == ["shady", "shady"]
    assert names(optimise(shady | strip)) == ["shady", "strip"]
    assert names(optimise(sure | strip)) == ["sure"]
    assert names(optimise(branch(many, sure_list, listed) | shady_list)) == ["many", "list", "list"]
    assert names(optimise(branch(bool, sure_list, listed) | shady_list)) == ["bool", "list", "list", "shady_list"]


sure_list = pure(list[str])


@step
def shady_list(found: list[str]) -> list[str]:
    return found


def test_json_names_components_and_comes_back() -> None:
    short: Pipeline[str, Any] = embed >> find >> branch(many, each(SAME, at_once=3), SAME)
    told = to_json(short)
    assert told == snapshot(
        {
            "version": 1,
            "nodes": [
                {"kind": "Prim", "component": "embed"},
                {"kind": "Prim", "component": "find"},
                {"kind": "Seq", "parts": [0, 1]},
                {"kind": "Id"},
                {"kind": "Each", "parts": [3], "at_once": 3},
                {"kind": "Id"},
                {"kind": "Branch", "parts": [4, 5], "when": "many", "cases": [True]},
                {"kind": "Seq", "parts": [2, 6]},
            ],
        }
    )
    assert to_json(from_json(told, registry)) == told


def size(text: str) -> int:
    return len(text)


@pytest.mark.parametrize(
    "pipeline, said",
    [
        (embed >> find >> pure(len), "the step 'len' is a plain function"),
        (switch(size, {1: SAME}, otherwise=SAME), "asks a plain function"),
        (switch(registry.choice("size")(size), {1.5: SAME}, otherwise=SAME), "the case 1.5"),
    ],
)
def test_what_json_cannot_say_is_refused_by_name(pipeline: AnyPipeline, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        to_json(pipeline)


@pytest.mark.parametrize(
    "told, said",
    [
        ({"version": 2}, "not a pipeline of version 1"),
        ({"version": 1, "nodes": None}, "not a pipeline"),
        ({"version": 1, "nodes": [{"kind": "Prim", "component": "embedd"}]}, "Did you mean 'embed'?"),
        ({"version": 1, "nodes": [{"kind": "Sek"}]}, "Did you mean 'Seq'?"),
        ({"version": 1, "nodes": [{"kind": "Seq", "parts": [0, 0]}]}, "node 0 needs 2 parts"),
        ({"version": 1, "nodes": [{"kind": "Id"}, {"kind": "Each", "parts": [0], "at_once": 0}]}, "at least 1, not 0"),
        ({"version": 1, "nodes": [{"kind": "Id"}, {"kind": "Each", "parts": [-1], "at_once": 1}]}, "node 1 needs 1"),
        ({"version": 1, "nodes": [3]}, "node 0 is not an object"),
        ({"version": 1, "nodes": [{"kind": 3}]}, "unknown kind"),
    ],
)
def test_json_that_is_wrong_is_refused_at_its_place(told: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        from_json(told, registry)
    assert said in refused.value.message


def test_a_name_means_one_component() -> None:
    with pytest.raises(ConfigurationError, match="two components"):
        registry.component("embed")(lambda text: text)


@pytest.mark.parametrize("nest, join", [(left, seq), (right, both), (balanced, either), (right, seq)])
def test_no_nest_is_too_deep_to_be_looked_at(nest: Any, join: Any) -> None:
    deep: AnyPipeline = nest(join, embed)
    assert count(deep) == 2 * LEAVES - 1
    assert draw(deep).count("\n") == LEAVES
    assert draw_mermaid(deep).count("embed") == LEAVES
    assert len(explain(deep).steps) == LEAVES
    told = to_json(deep)
    assert to_json(from_json(told, registry)) == told
    assert names(optimise(deep)) == ["embed"] * LEAVES


def test_the_face_gives_functions_also_where_modules_were_imported() -> None:
    modules = {info.name for info in pkgutil.iter_modules(lawful.pipeline.__path__)}
    face: list[str] = vars(lawful.pipeline)["__all__"]
    assert modules & set(face) == set()
    assert all(getattr(lawful.pipeline, name) is not None for name in face)


def test_a_long_chain_of_pure_functions_becomes_one() -> None:
    for nest in (left, right, balanced):
        assert run_sync(optimise(nest(seq, pure(_next))), 0) == Ok(LEAVES)


def _next(n: Any) -> Any:
    return n + 1


def test_a_deep_pipeline_can_be_printed_and_compared() -> None:
    deep = right(seq, embed)
    assert repr(deep) == "<Seq>"
    assert repr(embed) == "<Prim embed>"
    assert deep != right(seq, embed)


def test_an_err_value_of_a_named_step_is_an_error() -> None:
    def bad(_: int) -> Result[int, ParsingError]:
        return Err(ParsingError("bad"))

    assert run_sync(Registry().component("bad")(bad), 1) == Err(ParsingError("bad"))
