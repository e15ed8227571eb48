"""Every event of a run and of the graph inside it; and a listener of a run that nobody streams."""

from typing import TypedDict

from lawful import START, StateGraph
from lawful.core.events import Event, NodeEnded, NodeStarted, RunFinished, RunStarted


class Page(TypedDict, total=False):
    size: int


def fetch(page: Page) -> Page:
    return {"size": 512}


inner = StateGraph(Page).add_node(fetch).add_edge(START, "fetch").compile(name="inner")
graph = StateGraph(Page).add_node("site", inner).add_edge(START, "site").compile(name="outer")
for event in graph.stream_events({}):
    inside = "> " if event.parent_run_id else ""
    match event:
        case RunStarted(name):
            print(f"{inside}run of {name}")
        case NodeStarted(node):
            print(f"{inside}{node} starts")
        case NodeEnded(node):
            print(f"{inside}{node} ends")
        case RunFinished():
            print(f"{inside}end: {event.outcome}")
        case _:
            pass

heard: list[Event] = []
graph.invoke({}, on_event=heard.append)
print(len(heard), {event.run_id.partition(".")[0] == heard[0].run_id for event in heard})

# prints: run of outer
# prints: site starts
# prints: > run of inner
# prints: > fetch starts
# prints: > fetch ends
# prints: > end: success
# prints: site ends
# prints: end: success
# prints: 10 {True}
