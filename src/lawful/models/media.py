"""How pictures, recordings and documents are written for a provider: as addresses, as base64, or not at all; pure."""

from __future__ import annotations

from lawful.core.errors import ValidationError
from lawful.core.messages import Audio, File, Image, NonStandard, Video

Media = Image | Audio | Video | File


def data_url(block: Media) -> str:
    """The bytes of a block that has them as base64, as an address of their own."""
    return f"data:{block.mime_type};base64,{block.base64}"


def address(block: Media) -> str:
    """A block's address: its own, or its bytes as one."""
    return block.url or data_url(block)


def file_name(block: Media) -> str:
    """The name that the block gives its file, or one that says its kind."""
    given = (block.extras or {}).get("filename")
    kind = (block.mime_type or "application/octet-stream").rpartition("/")[2]
    return str(given) if given else f"file.{kind}"


def cannot(where: str, block: object, why: str = "") -> ValidationError:
    """The error for a block that this provider's wire cannot carry; nothing was sent."""
    kind = type(block).__name__
    return ValidationError(
        f"{where} cannot be sent {'an' if kind[0] in 'AEIOU' else 'a'} {kind} block{f': {why}' if why else ''}",
        component="models",
        operation=where,
        details={"block": kind},
    )


def goes_to(block: NonStandard, where: str) -> bool:
    """Whether a provider's own block is for ``where``: one that it made itself, or one that the caller wrote."""
    return not block.private or block.private_for(where) is not None


def in_words(block: Media) -> str:
    """What stands for a picture or a recording that a model made, where a wire takes these from the user only."""
    return f"[{type(block).__name__.lower()} made by the assistant]"
