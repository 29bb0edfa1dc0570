"""Sends invoices at night; there is no agent in here."""

from orders import ORDERS


def main() -> None:
    print(f"{len(ORDERS)} invoices.")


if __name__ == "__main__":
    main()
