import argparse

from order_desk.agent import Shop, agent


def main() -> None:
    parser = argparse.ArgumentParser(prog="order-desk")
    parser.add_argument("question")
    asked = parser.parse_args()
    shop = Shop(orders={7: "in transit", 8: "delivered"})
    print(agent.run_sync(asked.question, deps=shop).output)


if __name__ == "__main__":
    main()
