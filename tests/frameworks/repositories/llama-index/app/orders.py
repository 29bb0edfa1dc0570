ORDERS = {7: "in transit", 8: "delivered"}


def order_status(order: int) -> str:
    """The status of an order."""
    return ORDERS.get(order, "not known")
