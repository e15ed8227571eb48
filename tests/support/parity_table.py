"""Where a program shows something else than under LangGraph: which labels, in which modes, and the row that says why."""

from __future__ import annotations

from typing import NamedTuple


class Differs(NamedTuple):
    """One deliberate difference."""

    program: str
    """section.program"""
    labels: tuple[str, ...]
    row: str
    """The first cell of its row in docs/differences.md, which has the reason."""
    modes: tuple[str, ...] = ("lawful", "lenient")


STRICT = ("lawful",)
DIFFERENCES: tuple[Differs, ...] = (
    Differs("a_building.compiled_from_runnables", ("piped",), "a compiled graph among LangChain's Runnables"),
    Differs("a_building.pydantic_state", ("bad input", "coerced"), "a value of another type than declared", STRICT),
    Differs("a_building.pydantic_returns_write_what_was_set", ("end",), "a returned dataclass or model", STRICT),
    Differs("a_building.pydantic_none_is_an_update", ("end",), "a returned dataclass or model", STRICT),
    Differs("a_building.pydantic_validates_on_read", ("raised",), "a value of another type than declared", STRICT),
    Differs("a_building.undeclared_keys", ("end",), "a returned key that the state does not have", STRICT),
    Differs("a_building.drawing", ("mermaid",), "the text of a drawing"),
    Differs("a_building.drawing_subgraphs", ("deep",), "the text of a drawing"),
    Differs("a_building.sync_call_of_async_nodes", ("raised",), "`invoke` of a graph with async nodes"),
    Differs("b_channels.joins", ("next",), "`next` beside a join that is half there"),
    Differs("b_channels.a_join_left_half", ("end",), "a join of which a route may skip one source", STRICT),
    Differs("b_channels.none_as_a_value", ("end",), "a value of another type than declared", STRICT),
    Differs("b_channels.mutation_does_not_leak", ("kept",), "a list changed in place by a node"),
    Differs("b_channels.builtins_as_reducers", ("end",), "a builtin as a reducer"),
    Differs("c_steps.routes", ("none", "none in list"), "a route that its map does not have"),
    Differs("c_steps.maps_of_routes", ("missing",), "a route that its map does not have"),
    Differs("c_steps.unknown_routes", ("goto", "route", "route send", "send"), "a route, `goto` or `Send` to no node", STRICT),
    Differs("c_steps.managed_values", ("state",), "tuples and sets in a stored state"),
    Differs("c_steps.results_that_route", ("sends",), "a list of `Send` as a node's result"),
    Differs("c_steps.command_as_input", ("fresh both",), "the update of a `Command` that is a thread's first input"),
    Differs("f_state.empty_threads", ("no thread",), "`get_state` without a thread"),
    Differs("f_state.a_conflict_and_what_is_seen_then", ("state",), "state after a refused step"),
    Differs("f_state.the_savers_own_calls", ("get", "get_tuple", "list"), "`checkpointer=`"),
    Differs("i_interrupts.one_question", ("history",), "an answered question in the history"),
    Differs("i_interrupts.none_is_no_answer", ("none",), "an empty `Command()` as input"),
    Differs("i_interrupts.nothing_to_answer", ("fresh",), "an answer to a thread that has never run"),
    Differs("i_interrupts.breakpoints_of_a_call", ("empty",), "`interrupt_before=[]` of a call"),
    Differs("i_interrupts.questions_swallowed_by_handlers", ("first", "next"), "a pause inside `except Exception`"),
    Differs("i_interrupts.a_changing_question", ("end",), "a question that changed under the same id", STRICT),
    Differs("i_interrupts.answers_to_unknown_ids", ("end",), "an answer to an unknown question", STRICT),
    Differs("j_subgraphs.merged_keys", ("end",), "a subgraph's merged key", STRICT),
    Differs(
        "j_subgraphs.several_visits_of_a_memory_at_once", ("end",), "several visits of a subgraph with a memory at once"
    ),
    Differs("j_subgraphs.unknown_namespaces", ("raised",), "the state of a namespace that no subgraph has"),
    Differs(
        "j_subgraphs.a_subgraph_with_a_saver_of_its_own",
        ("held",),
        "a node that is a graph with a saver of its own",
        STRICT,
    ),
    Differs("j_subgraphs.a_subgraph_with_a_saver_of_its_own", ("unsaved",), "a graph with a journal inside one without"),
    Differs("k_travel.a_checkpoint_that_is_not_there", ("run",), "a run from a checkpoint that is not there"),
    Differs("k_travel.an_update_of_a_missing_key", ("end",), "a returned key that the state does not have", STRICT),
    Differs(
        "l_streams.deep_streams",
        (
            "['updates', 'custom']", "['updates', 'custom'] flat", "debug", "debug flat", "tasks", "tasks flat", "updates",
            "updates flat",
        ),
        "a subgraph's merged key",
        STRICT,
    ),
    Differs("l_streams.unknown_modes", ("chunks",), "a stream mode that there is not"),
    Differs("m_policies.cached_nodes", ("runs", "second"), "a cached result"),
    Differs(
        "n_functional.questions_of_parallel_tasks",
        ("first", "second"),
        "a question of a task whose result nobody takes",
    ),
    Differs("n_functional.names_of_tasks", ("name",), "the graph's name of an entrypoint"),
    Differs("p_prebuilt.commands_of_tools", ("list",), "a message without a name that a tool returns"),
)  # fmt: skip


def expected(section: str, name: str, whose: str) -> list[str]:
    """The labels under which this program is to show something else."""
    found = [d for d in DIFFERENCES if d.program == f"{section}.{name}" and whose in d.modes]
    return sorted(label for each in found for label in each.labels)
