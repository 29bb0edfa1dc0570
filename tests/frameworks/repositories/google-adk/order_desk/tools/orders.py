ORDERS = {7: "in transit", 8: "delivered"}


def order_status(order: int) -> dict[str, str]:
    """The status of an order."""
    return {"status": ORDERS.get(order, "not known")}
