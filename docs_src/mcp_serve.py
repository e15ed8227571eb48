"""What is served: a tool that only reads, and an effect."""

from lawful import effect, tool
from lawful.mcp import Serving

STOCK = {"tea": 3, "salt": 1}


@tool(pure_read=True)
def stock(item: str) -> int:
    """How many of an item are left."""
    return STOCK.get(item, 0)


@effect("order")
def ship(order: str, item: str) -> str:
    """Ship one of an item."""
    STOCK[item] -= 1
    return f"{order}: one {item} is on its way"


desk = Serving(stock, ship, name="desk")

if __name__ == "__main__":
    print(list(desk.offers))
# prints: ['stock', 'ship']
