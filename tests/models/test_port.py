"""The one way through a model: invoke and stream agree, streams are bounded and close, errors and retries are as declared."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.core.errors import ConfigurationError, Failure, LLMError, NetworkError, ParsingError, ValidationError
from lawful.core.llm_errors import ModelTimeout, RateLimited
from lawful.core.messages import Message, RemoveMessage, Text, ToolCall, assistant, tool_result, user
from lawful.core.result import Err, Ok
from lawful.core.retry import RetryPolicy
from lawful.models import BlockDelta, CallDelta, Completed, Only, ReasoningDelta, Request, TextDelta, ToolSpec
from lawful.models.adapter import Clients
from lawful.models.fake import Echo, Scripted, ScriptOver
from lawful.models.pieces import FinishPiece, Piece, TextPiece
from lawful.models.port import ChatModel
from lawful.models.settings import ModelConfig
from lawful.models.streaming import BUFFER
from lawful.models.transcript import as_text

pytestmark = [pytest.mark.unit, pytest.mark.property]

QUICK = RetryPolicy(initial_interval=0.0, jitter=False)


class Slow(ChatModel[ModelConfig]):
    """Sends words for ever, and tells how many it sent and which task closed it."""

    config_class = ModelConfig

    def __init__(self, wait: float = 0.0) -> None:
        self.provider, self.name, self.config = "test", "slow", ModelConfig()
        self.wait = wait
        self.sent = 0
        self.opened: asyncio.Task[Any] | None = None
        self.closed: asyncio.Task[Any] | None = None

    async def pieces(self, request: Request, config: ModelConfig) -> AsyncIterator[Piece]:
        self.opened = asyncio.current_task()
        try:
            while True:
                await asyncio.sleep(self.wait)
                self.sent += 1
                yield TextPiece("word ")
        finally:
            self.closed = asyncio.current_task()


def test_a_text_gives_a_message() -> None:
    """Rows: S0-040, S0-046."""
    model = Scripted("Hello.")
    reply = model.invoke("Hi")
    assert (reply.text, reply.message.role, reply.finish) == ("Hello.", "assistant", "stop")
    assert [message.text for message in model.requests[0].messages] == ["Hi"]
    assert model.left == 0


@pytest.mark.parametrize(
    "prompt",
    ["Hi", user("Hi"), [("user", "Hi")], ("user", "Hi"), [{"role": "user", "content": "Hi"}], Request((user("Hi"),))],
)
def test_a_prompt_has_several_forms(prompt: Any) -> None:
    assert Echo().invoke(prompt).text == "Hi"


blocks = st.one_of(
    st.text(max_size=12).map(Text),
    st.builds(ToolCall, st.sampled_from(["a", "b"]), st.dictionaries(st.text(max_size=3), st.integers(), max_size=2)),
)


@given(st.lists(blocks, min_size=1, max_size=5), st.integers(0, 4))
async def test_stream_and_invoke_give_the_same_answer_and_the_deltas_add_up(said: list[Any], chunks: int) -> None:
    """Cases: A16.

    Rows: S0-040, S0-042."""
    message = assistant(*said)
    invoked = await Scripted(message, chunks=chunks).ainvoke("x")
    texts: dict[int, str] = {}
    async with Scripted(message, chunks=chunks).astream("x") as stream:
        async for delta in stream:
            match delta:
                case TextDelta(text, index) | ReasoningDelta(text, index) | CallDelta(index, text):
                    texts[index] = texts.get(index, "") + text
                case BlockDelta():
                    raise AssertionError("the script has none")
                case Completed(reply):
                    assert reply == stream.reply
    streamed = stream.reply
    assert (streamed.message.content, streamed.finish) == (invoked.message.content, invoked.finish)
    whole = [block.text if isinstance(block, Text) else as_text(block.args) for block in said]
    assert [texts[place] for place in sorted(texts)] == [text for text in whole if text]
    assert len(streamed.message.content) == max(len(texts), 1)


def test_sync_streams_hand_on_the_deltas_and_then_the_error() -> None:
    """Rows: S0-042, S0-055."""
    with Scripted("abc", chunks=1).stream("x") as stream:
        assert [delta.text for delta in stream if isinstance(delta, TextDelta)] == ["a", "b", "c"]
    assert stream.reply.text == "abc"
    broken = Broken(after=2)
    seen: list[str] = []
    with pytest.raises(NetworkError), broken.stream("x") as failing:
        seen.extend(failing.text())
    assert seen == ["0", "1"]


class Broken(ChatModel[ModelConfig]):
    """Fails after some pieces, as often as told, then answers."""

    config_class = ModelConfig

    def __init__(self, after: int = 0, times: int = 1, error: Failure | None = None) -> None:
        self.provider, self.name, self.config = "test", "broken", ModelConfig()
        self.after, self.times, self.error = after, times, error or NetworkError("down")
        self.calls = 0

    async def pieces(self, request: Request, config: ModelConfig) -> AsyncIterator[Piece]:
        self.calls += 1
        for number in range(self.after):
            yield TextPiece(str(number))
        if self.calls <= self.times:
            raise self.error
        yield TextPiece("ok")
        yield FinishPiece("stop")


async def test_a_retryable_error_is_tried_again_while_nothing_was_handed_on() -> None:
    model = Broken(after=2, times=2)
    model.retry = QUICK
    assert (await model.ainvoke("x")).text == "01ok"
    assert model.calls == 3
    streamed = Broken(after=1)
    streamed.retry = QUICK
    with pytest.raises(NetworkError):
        await streamed.astream("x").collect()
    assert streamed.calls == 1
    early = Broken(after=0)
    early.retry = QUICK
    assert (await early.astream("x").collect()).text == "ok"


@pytest.mark.parametrize(
    "error, calls",
    [
        (LLMError("no", retryable=False), 1),
        (LLMError("again"), 3),
        (RateLimited("x", details={"retry_after": "999"}), 1),
    ],
)
async def test_what_another_try_cannot_cure_in_time_is_not_tried_again(error: Failure, calls: int) -> None:
    model = Broken(times=9, error=error)
    model.retry = QUICK
    with pytest.raises(type(error)):
        await model.ainvoke("x")
    assert model.calls == calls


async def test_a_slow_reader_holds_the_provider_back() -> None:
    """Rows: S0-053."""
    model = Slow()
    async with model.astream("x") as stream:
        await anext(stream)
        for _ in range(300):
            await asyncio.sleep(0)
        assert model.sent <= BUFFER + 2
        for _ in range(100):
            await anext(stream)
        assert model.sent > BUFFER + 2


async def test_leaving_closes_the_providers_stream_in_the_task_that_opened_it() -> None:
    """Rows: S0-054."""
    model = Slow()
    async with model.astream("x") as stream:
        async for _ in stream:
            break
    assert model.closed is not None
    assert model.closed is model.opened
    assert model.closed.done()


async def test_a_stream_that_is_dropped_is_closed_too() -> None:
    """Rows: S0-054."""
    model = Slow()
    stream = model.astream("x")
    await anext(stream)
    del stream
    gc.collect()
    for _ in range(5):
        await asyncio.sleep(0)
    assert model.closed is not None


async def test_cancelling_the_reader_closes_the_provider() -> None:
    model = Slow(wait=0.001)

    async def read() -> None:
        async with model.astream("x") as stream:
            async for _ in stream:
                pass

    task = asyncio.ensure_future(read())
    while not model.sent:
        await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert model.closed is not None


def test_leaving_a_sync_stream_closes_it() -> None:
    """Rows: S0-054."""
    model = Slow()
    with model.stream("x") as stream:
        next(stream)
    assert model.closed is not None
    model.close()


async def test_the_deadline_of_a_call_holds() -> None:
    model = Slow(wait=60.0)
    with pytest.raises(ModelTimeout) as caught:
        await model.ainvoke("x", config=ModelConfig(timeout=0.01))
    assert caught.value.retryable
    assert model.closed is not None


async def test_sync_forms_inside_a_running_loop_name_the_async_ones() -> None:
    """Rows: S0-040."""
    calls = {"ainvoke": Echo().invoke, "astream": Echo().stream}
    for instead, call in calls.items():
        with pytest.raises(ConfigurationError, match=instead):
            call("x")
    with pytest.raises(ConfigurationError, match="abatch"):
        Echo().batch(["x"])


def test_a_batch_keeps_its_order() -> None:
    """Rows: S0-041."""
    assert [r.text for r in Echo().batch(["a", "b", "c"], max_concurrency=2) if not isinstance(r, Failure)] == [*"abc"]
    model = Scripted("one", NetworkError("down"), "three")
    told = model.batch(["1", "2", "3"], return_exceptions=True)
    assert [one.message if isinstance(one, Failure) else one.text for one in told] == ["one", "down", "three"]
    with pytest.raises(NetworkError):
        Scripted(NetworkError("down"), "two").batch(["1", "2"])


async def test_the_first_error_of_a_batch_ends_what_is_under_way() -> None:
    """Rows: S0-041."""
    slow = Slow()
    prompts = ["1", "2"]

    class Either(Slow):
        async def pieces(self, request: Request, config: ModelConfig) -> AsyncIterator[Piece]:
            if request.messages[0].text == "1":
                await asyncio.sleep(0.005)
                raise NetworkError("down")
            async for piece in slow.pieces(request, config):
                yield piece

    with pytest.raises(NetworkError):
        await Either().abatch(prompts, max_concurrency=2)
    sent = slow.sent
    await asyncio.sleep(0.005)
    assert slow.sent == sent


CALL = assistant(ToolCall("now", {}, id="c1"))


@pytest.mark.parametrize(
    "messages, said",
    [
        ([user("x"), CALL], "has no result yet"),
        ([user("x"), tool_result("c1", "noon")], "which no message before it makes"),
        ([user("x"), CALL, tool_result("c1", "noon"), tool_result("c1", "noon")], "has its answer"),
        ([user("x"), assistant(ToolCall("now", {}))], "has no id"),
        ([], "at least one message"),
    ],
)
def test_a_conversation_with_an_open_call_is_never_sent(messages: list[Message], said: str) -> None:
    model = Scripted("never")
    with pytest.raises(ValidationError, match=said):
        model.invoke(messages)
    assert model.requests == []


def test_a_call_and_its_result_in_one_record_or_two_messages_are_both_closed() -> None:
    settled = CALL.with_outcome("c1", "ok", "noon")
    assert Scripted("fine").invoke([user("x"), settled]).text == "fine"
    assert Scripted("fine").invoke([user("x"), CALL, tool_result("c1", "noon")]).text == "fine"


def test_the_strict_script_wants_each_result_right_after_its_call() -> None:
    late = [user("x"), CALL, user("still there?"), tool_result("c1", "noon")]
    with pytest.raises(ValidationError, match="before the next user message"):
        Scripted("never").invoke(late)
    assert Scripted("fine", strict=False).invoke(late).text == "fine"


def test_tools_are_checked_before_anything_is_sent() -> None:
    good = ToolSpec("weather")
    for tools, choice, said in (
        ([ToolSpec("no spaces")], "auto", "1 to 64"),
        ([good, good], "auto", "two tools"),
        ([good], Only("wether"), "Did you mean 'weather'"),
        ([], "required", "no tools"),
    ):
        model = Scripted("never")
        with pytest.raises(ValidationError, match=said):
            model.invoke("x", tools=tools, tool_choice=choice)  # pyright: ignore[reportArgumentType]
        assert model.requests == []
    with pytest.raises(ParsingError):
        Scripted("never").invoke([RemoveMessage("a")])  # pyright: ignore[reportArgumentType]


def test_a_script_that_is_over_fails_the_test() -> None:
    """Rows: S0-046."""
    model = Scripted("once", lambda request: f"{len(request.messages)} messages")
    assert [model.invoke("a").text, model.invoke("b").text] == ["once", "1 messages"]
    with pytest.raises(ScriptOver, match="2 answers"):
        model.invoke("c")


async def test_a_model_in_a_pipeline_gives_its_error_as_a_value() -> None:
    model = Scripted("yes", NetworkError("down"))
    assert isinstance(await model("x"), Ok)
    assert await model("x") == Err(NetworkError("down"))
    assert model.component_id == "scripted:script"


def test_the_answer_is_not_there_before_the_end() -> None:
    with Scripted("abc", chunks=1).stream("x") as stream:
        next(stream)
        with pytest.raises(LLMError, match="not complete"):
            _ = stream.reply


def test_threads_share_one_portal() -> None:
    model = Slow()
    seen: list[object] = []
    barrier = threading.Barrier(8)

    def use() -> None:
        barrier.wait()
        with model.stream("x") as stream:
            next(stream)
        seen.append(model._portal)  # pyright: ignore[reportPrivateUsage]

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8
    assert len(set(map(id, seen))) == 1
    model.close()


async def test_a_clients_owner_closes_it() -> None:
    own = object()
    closed: list[object] = []

    async def close(client: object) -> None:
        closed.append(client)

    given = Clients(object, close, own)
    assert given.get() is own
    await given.aclose()
    assert closed == []
    made = Clients(object, close)
    first = made.get()
    assert made.get() is first
    await made.aclose()
    assert closed == [first]
    assert made.get() is not first
