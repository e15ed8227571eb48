"""Models, tools and messages of langchain's as ours, and ours as langchain's."""

from __future__ import annotations

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from lawful.compat import LangchainModel, as_langchain_model, from_langchain, to_langchain
from lawful.models.fake import Scripted

theirs = LangchainModel(GenericFakeChatModel(messages=iter([AIMessage("from langchain")])))
print(theirs.invoke("hi").text)

ours = as_langchain_model(Scripted("from lawful"))
print(ours.invoke("hi").text)

message = AIMessage("Tea.", id="m1")
print(to_langchain(from_langchain(message)) == message)
# prints: from langchain
# prints: from lawful
# prints: True
