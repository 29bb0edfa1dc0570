"""A desk that ships orders: it writes in its playground, in a database and to a server."""

import json
import os
import sqlite3
import sys
import urllib.request
from pathlib import Path

ground = Path(sys.argv[1])
order = json.load(sys.stdin)["prompt"].split()[-1].rstrip(".")

orders = json.loads((ground / "orders.json").read_text())
orders[order]["status"] = "shipped"
(ground / "orders.json").write_text(json.dumps(orders, indent=2))
(ground / "notes" / f"{order}.txt").write_text(f"Shipped order {order}.\n")

with sqlite3.connect(ground / "shop.db") as shop:
    shop.execute("UPDATE stock SET amount = amount - 1 WHERE item = ?", (orders[order]["item"],))

url = f"http://{os.environ['GATEVAL_SERVICE_LABELS']}/labels/{order}"
urllib.request.urlopen(urllib.request.Request(url, method="PUT"), timeout=10).close()

print(f"Order {order} is on its way.")
