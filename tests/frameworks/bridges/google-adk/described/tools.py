def order_status(order: int) -> str:
    """The status of an order."""
    return "in transit"
