import sys

from order_crew.crew import OrderCrew


def run() -> None:
    question = sys.argv[1]
    print(OrderCrew().crew().kickoff(inputs={"question": question}).raw)


if __name__ == "__main__":
    run()
