from agents import function_tool

ORDERS = {7: "in transit", 8: "delivered"}


@function_tool(description_override="The status of an order.")
async def order_status(order: int) -> str:
    return ORDERS.get(order, "not known")
