"""What langchain's models say inside a node, told to the run's streams and listeners token by token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lawful.core import events as ev
from lawful.core.context import Slot
from lawful.core.lazy import late
from lawful.core.messages import fresh_id
from lawful.core.teller import code_of
from lawful.core.telling import NOSTREAM

if TYPE_CHECKING:
    from langchain_core.callbacks.base import BaseCallbackHandler as _Base
else:
    _Base = late("langchain_core.callbacks.base", "BaseCallbackHandler", extra="langchain")


class _Call:
    __slots__ = ("id", "metadata", "tags", "told")

    def __init__(self, tags: list[str], metadata: dict[str, Any]) -> None:
        self.id = fresh_id()
        self.tags = tags
        self.metadata = metadata
        self.told = False


class TokenHandler(_Base):
    """Listens to the models of one attempt of a node."""

    run_inline = True

    def __init__(self, task: Slot) -> None:
        self._task = task
        self._calls: dict[Any, _Call] = {}

    def on_chat_model_start(
        self,
        serialized: Any,
        messages: Any,
        *,
        run_id: Any,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A call begins."""
        told = {k: v for k, v in (metadata or {}).items() if k.startswith("ls_")}
        call = self._calls[run_id] = _Call(list(tags or ()), told)
        self._tell(ev.LLMStarted(str(told.get("ls_model_name") or kwargs.get("name") or "langchain"), call.id))

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, run_id: Any, **kwargs: Any) -> None:
        """A piece came."""
        call, message = self._calls.get(run_id), getattr(chunk, "message", None)
        if call is None or message is None:
            return
        call.told = True
        self._tell(ev.LLMChunk(call.id, str(message.text)))
        self._say(message, call, piece=True)

    def on_llm_end(self, response: Any, *, run_id: Any, **kwargs: Any) -> None:
        """The answer is complete."""
        call = self._calls.pop(run_id, None)
        if call is None:
            return
        first = response.generations[0] if response.generations else ()
        message = getattr(first[0], "message", None) if first else None
        hub = self._task.run.hub
        if message is not None and not call.told:
            if message.id is None:
                message.id = call.id  # so that the node's own return of it is known for the same
            self._tell(ev.LLMChunk(call.id, str(message.text)))
            self._say(message, call, piece=False)
        elif message is not None and hub is not None and message.id and NOSTREAM not in call.tags:
            hub.seen(self._task, message.id)
        usage = getattr(message, "usage_metadata", None)
        self._tell(ev.LLMEnded(call.id, ev.Usage(usage["input_tokens"], usage["output_tokens"]) if usage else None))

    def on_llm_error(self, error: BaseException, *, run_id: Any, **kwargs: Any) -> None:
        """It failed."""
        call = self._calls.pop(run_id, None)
        if call is not None:
            self._tell(ev.LLMFailed(call.id, code_of(error), str(error)))

    def _tell(self, event: ev.Event) -> None:
        slot = self._task
        if slot.closed:
            return
        slot.touch()
        if slot.run.teller is not None:
            slot.run.teller.tell(slot.run, event)

    def _say(self, message: Any, call: _Call, *, piece: bool) -> None:
        slot = self._task
        if slot.run.hub is not None and not slot.closed:
            slot.run.hub.say(slot, message, piece=piece, tags=call.tags, metadata=call.metadata)
            slot.run.hub.press()


class StreamingTokenHandler(TokenHandler):
    """The same where somebody reads the pieces: a handler with these two makes a model stream inside ``invoke``."""

    def tap_output_iter(self, run_id: Any, output: Any) -> Any:
        return output

    def tap_output_aiter(self, run_id: Any, output: Any) -> Any:
        return output


def listening(task: Slot) -> TokenHandler | None:
    """What listens to the models of this attempt; nothing where nobody would be told.

    A model is made to stream only for a reader of pieces (the modes ``messages`` and ``events``, a listener): a stream is
    another request, with other headers, figures and failures than the one that the node asked for.
    """
    hub, teller = task.run.hub, task.run.teller
    if hub is None and teller is None:
        return None
    pieces = teller is not None or (hub is not None and hub.tells_pieces)
    return (StreamingTokenHandler if pieces else TokenHandler)(task)
