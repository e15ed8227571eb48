"""A node is answered from what it gave before on equal input; who may share that is said by the policy."""

from __future__ import annotations

from typing import TypedDict

from lawful import START, CachePolicy, MemoryCache, StateGraph


class Page(TypedDict, total=False):
    url: str
    words: int


def count(page: Page) -> Page:
    print("counting", page.get("url"))
    return {"words": 120}


def address(page: Page) -> str:
    return page.get("url", "")


policy = CachePolicy(key_func=address, ttl=60, scope="shared")
graph = StateGraph(Page).add_node(count, cache_policy=policy).add_edge(START, "count").compile(cache=MemoryCache())
for url in ("a", "b", "a"):
    print(list(graph.stream({"url": url})))
graph.clear_cache(["count"])
print(graph.invoke({"url": "a"}))

# prints: counting a
# prints: [{'count': {'words': 120}}]
# prints: counting b
# prints: [{'count': {'words': 120}}]
# prints: [{'count': {'words': 120}, '__metadata__': {'cached': True}}]
# prints: counting a
# prints: {'url': 'a', 'words': 120}
