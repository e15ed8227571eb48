"""An answer cites the passages that it rests on; one that cites what was not shown is an error."""

from __future__ import annotations

import asyncio

from lawful import Err
from lawful.models import chat
from lawful.rag import Index, Turn, conversation_qa, document, retrieval_qa
from lawful.testing import Script

index = Index.open()
index.update([document("Everyone has thirty days of leave a year.", id="leave", source="handbook.md")])
model = chat("openai:gpt-5")
answers = retrieval_qa(index.sparse(3), model)
talk = conversation_qa(index.sparse(3), model)


async def main() -> None:
    said = Script().answer(model, "Thirty days a year [p1].", "As many as you like [p7].")
    said.compute(index.sparse(3), lambda question: index.words.search(str(question), 3))
    good = (await said.run(answers, "How many days of leave?")).unwrap()
    print(good.text, good.cites, good.sources)
    bad = await said.run(answers, "How many days of leave?")
    print(bad.error.message if isinstance(bad, Err) else bad)

    said = Script().answer(model, "How many days of leave has a trainee?", "Thirty, as everyone [p1].")
    said.compute(index.sparse(3), lambda question: index.words.search(str(question), 3))
    turn = Turn("And a trainee?", history=(("How many days of leave?", "Thirty days a year."),))
    print((await said.run(talk, turn)).unwrap().question)


asyncio.run(main())

# prints: Thirty days a year [leave#1]. ('leave#1',) ('handbook.md',)
# prints: the answer cites p7, which was not shown
# prints: How many days of leave has a trainee?
