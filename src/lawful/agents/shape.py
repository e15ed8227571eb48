"""The type that an agent's answer must have: how the model is asked for it, and the reading of what it says."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from lawful.core.messages import assistant
from lawful.core.result import Err
from lawful.models.output import OutputForm, form_of
from lawful.models.values import Profile, Reply, Request


class Shape(Struct, frozen=True):
    """An output type, ready to be asked for and read."""

    form: OutputForm[Any]

    def ask(self, request: Request) -> Request:
        """The request, asking for this type too."""
        return self.form.ask(request)

    def read(self, text: str) -> Any:
        """The value that ``text`` is. Raises: ParsingError with the text and what is wrong with it."""
        found = self.form.read(Reply(assistant(text)))
        if isinstance(found, Err):
            raise found.error
        return found.value


def shape_of(typ: Any, profile: Profile = Profile()) -> Shape | None:
    """The shape of an output type; None for none, and for str, which is any text.

    A model that cannot be held to a schema is asked in words: a tool would end the loop and not the turn.

    Raises: ConfigurationError, for what has no JSON Schema.
    """
    if typ is None or typ is str:
        return None
    return Shape(form_of(typ, profile, "schema" if profile.schema else "prompt"))
