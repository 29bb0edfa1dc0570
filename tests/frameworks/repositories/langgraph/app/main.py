import argparse

from app.graph import graph


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--question", required=True)
    question = parser.parse_args().question
    state = graph.invoke({"messages": [("user", question)]})
    print(state["messages"][-1].text)


if __name__ == "__main__":
    main()
