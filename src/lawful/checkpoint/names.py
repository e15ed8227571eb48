"""What LangGraph's savers have beside what a journal has: deletion in async programs, and a word on the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lawful.core.errors import nearest
from lawful.core.lazy import late

_SAVERS: Final = frozenset(
    (
        "aget", "aget_delta_channel_history", "aget_tuple", "alist", "aput", "aput_writes", "config_specs",
        "delete_for_runs", "adelete_for_runs", "get", "get_delta_channel_history", "get_next_version", "get_tuple", "list",
        "put", "put_writes",
    )
)  # fmt: skip
_SERDE: Final = frozenset(("serde", "with_allowlist"))


class SaverNames:
    """For a journal that bears the name of one of LangGraph's savers."""

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread, beside the event loop."""
        journal: Any = self
        await late("asyncio").to_thread(journal.delete_thread, thread_id)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread, beside the event loop."""
        journal: Any = self
        await late("asyncio").to_thread(journal.copy_thread, source_thread_id, target_thread_id)

    if not TYPE_CHECKING:  # to a type checker no name is known that is not there

        def __getattr__(self, name: str) -> Any:
            hint = ""
            if name in _SAVERS:
                hint = " A saver here is a journal; JournalSaver(journal, graph=graph) of lawful.compat has LangGraph's calls."
            elif name in _SERDE:
                hint = " Values are stored by registered codecs: `from lawful import codec`."
            elif not name.startswith("_"):
                hint = nearest(name, [each for each in dir(type(self)) if not each.startswith("_")])
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}.{hint}", name=name, obj=self
            )
