"""An agent that takes its tool from an MCP server, wherever COURIERS_MCP_URL leads.

Real agents leave this to the MCP client of their framework; it is a POST of JSON, in any language.
"""

import json
import os
import re
import sys
import urllib.error
import urllib.request


def find_courier(parcel: str) -> str:
    params = {"name": "find_courier", "arguments": {"parcel": parcel}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    url, body = os.environ["COURIERS_MCP_URL"], json.dumps(call).encode()
    with urllib.request.urlopen(url, body, timeout=10) as answer:  # noqa: S310 - as configured
        said = json.load(answer)["result"]
    text: str = said["content"][0]["text"]
    if said["isError"]:
        raise LookupError(text)
    return text


number = re.search(r"P-\d{4}", sys.stdin.read())
if number is None:
    print("Which parcel do you mean?")
else:
    try:
        print(f"{number.group()} is with {json.loads(find_courier(number.group()))['courier']}.")
    except LookupError as error:
        print(f"I cannot say: {error}.")
    except urllib.error.URLError:
        print("Our couriers cannot be reached at the moment; please ask again later.")
