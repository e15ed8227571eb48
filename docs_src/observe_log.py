"""A run's log lines and what it cost."""

import json

from lawful import Agent
from lawful.core.events import Event
from lawful.core.messages import assistant
from lawful.models.fake import Scripted
from lawful.models.prices import Price
from lawful.models.values import Reply, Usage
from lawful.observe import Costs, JsonLog

costs = Costs({"scripted:script": Price(prompt=2.0, completion=10.0)})  # dollars for a million tokens
log = JsonLog()  # as a listener it logs each line by `logging`; here they are looked at


def look(event: Event) -> None:
    line = json.loads(log.line(event))
    print(line["event"], sorted(line.keys() - {"event", "run_id", "seq", "time"}))


agent = Agent(Scripted(Reply(assistant("It is sunny."), usage=Usage(prompt=900, completion=20))), name="helper")
agent.invoke("Do I need a coat?", on_event=[costs, look])
print(costs.total.calls, costs.total.usage.total, costs.total.money)
# prints: run_started ['graph']
# prints: state_updated []
# prints: node_started ['node', 'span', 'step']
# prints: llm_started ['model', 'span']
# prints: llm_chunk ['span']
# prints: llm_ended ['span', 'usage']
# prints: node_ended ['node', 'span']
# prints: state_updated []
# prints: run_finished []
# prints: 1 920 0.002
