"""A journal under a cipher, and what happens when the key is not there."""

from typing import TypedDict

from lawful import START, StateGraph
from lawful.core.errors import CannotDecrypt
from lawful.journal.cipher import Cipher
from lawful.stores import AESGCM, EncryptedJournal, SQLiteJournal


class State(TypedDict):
    said: str


def answer(state: State) -> State:
    return {"said": state["said"].upper()}


def graph(cipher: Cipher):
    journal = EncryptedJournal(SQLiteJournal("talk.db"), cipher)
    return StateGraph(State).add_node(answer).add_edge(START, "answer").compile(checkpointer=journal)


old, new = AESGCM.new_key(), AESGCM.new_key()  # in production: from where your keys are kept
graph(AESGCM({"2026-10": old}, current="2026-10")).invoke({"said": "hello"}, thread="t")

rotated = graph(AESGCM({"2026-10": old, "2026-11": new}, current="2026-11"))
print(rotated.get_state("t").values)
with open("talk.db", "rb") as file:
    print(b"HELLO" in file.read())

try:
    graph(AESGCM({"2026-11": new}, current="2026-11")).get_state("t")
except CannotDecrypt as error:
    print(error.details["thread"], error.details["key"])
# prints: {'said': 'HELLO'}
# prints: False
# prints: t 2026-10
