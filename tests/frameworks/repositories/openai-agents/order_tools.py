from agents import function_tool

ORDERS = {7: "in transit", 8: "delivered"}


@function_tool
def order_status(order: int) -> str:
    """The status of an order."""
    return ORDERS.get(order, "not known")
