"""The form of version 2: one dict for every mode, and an output with its questions beside it."""

from dataclasses import dataclass

from lawful import START, MemoryJournal, StateGraph, interrupt


@dataclass
class Order:
    item: str
    paid: bool = False


def pay(order: Order) -> dict[str, bool]:
    return {"paid": interrupt(f"Pay for the {order.item}?")}


shop = StateGraph(Order).add_node(pay).add_edge(START, "pay").compile(checkpointer=MemoryJournal())
for part in shop.stream(Order("lamp"), thread="1", stream_mode="values", version="v2"):
    print(part["type"], part["ns"], part["data"], [question.value for question in part["interrupts"]])

output = shop.invoke(Order("chair"), thread="2", version="v2")
print(output.value, output.interrupts[0].value)

# prints: values () Order(item='lamp', paid=False) []
# prints: values () Order(item='lamp', paid=False) ['Pay for the lamp?']
# prints: Order(item='chair', paid=False) Pay for the chair?
