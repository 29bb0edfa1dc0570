"""Files that are routes by where they stand are asked as their frameworks ask them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateval.domain.trials.trial import Answer
from tests.helpers.candidates import ask, bridged_agent
from tests.integration.candidates.test_bridges import (
    answered,
    needs_node,
    world_of,
)

PAGE = """
export default async function handler(req, res) {
  if (req.method !== "POST") return res.status(405).json({ error: "no" });
  const { messages } = req.body;
  const said = `${req.query.x ?? "-"} ${req.headers["content-type"]} ${messages.at(-1).content}`;
  %s
}
"""
STREAMED = """
  res.writeHead(200, { "Content-Type": "text/plain" });
  for (const piece of said.split(" ")) res.write(`${piece}|`);
  setTimeout(() => res.end(), 5);
"""
EDGE = """
export const config = { runtime: "edge" };
export default async function handler(request) {
  const { messages } = await request.json();
  return new Response(`edge ${messages.at(-1).content}`);
}
"""
SVELTE = """
import { shout } from "$lib/voice";
import { env } from "$env/dynamic/private";
import { MISSING_KEY as key, OTHER } from "$env/static/private";
import { dev } from "$app/environment";
export const POST = async ({ request, params, url, cookies, locals }) => {
  const { messages } = await request.json();
  const session = await locals.getSession();
  const seen = [typeof env.PATH, key, OTHER, dev, url.pathname, cookies.get("a"), session, Object.keys(params).length];
  return new Response(`${shout(messages.at(-1).content)} ${seen.join(",")}`);
};
"""
REMIX = """
export const loader = () => null;
export async function action({ request, params, context }) {
  const { prompt } = await request.json();
  return { reply: `remix ${prompt ?? "-"}` };
}
"""


@needs_node
@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("pages/api/chat.mjs", PAGE % "res.status(200).json({ reply: said });", "- application/json Where is it?"),
        ("src/pages/api/chat.js", "export const config = {};" + PAGE % STREAMED, "-|application/json|Where|is|it?|"),
        ("pages/api/talk/send.js", EDGE, "edge Where is it?"),
        ("src/routes/api/chat/+server.js", SVELTE, "WHERE IS IT? string,,,false,/api/chat,,,0"),
        ("pages/api/told.cjs", "exports.default = (req, res) => res.send(`told ${req.body.prompt}`);", "told Where is it?"),
        ("app/api/[team]/chat/[id]/route.js", "export const POST = async (request, { params }) => Response.json({ said: Object.values(await params).join() });", "gateval,gateval"),
        ("app/api/chat/route.js", "import 'server-only';\nexport const POST = async (request) => Response.json({ said: (await request.json()).messages[0].content });", "Where is it?"),
        ("app/api/made/route.js", "const handle = (said) => async (request) => Response.json({ said });\nexport const POST = handle('made');", "made"),
        ("app/api/old/route.cjs", "require('server-only');\nexports.POST = async (request) => Response.json({ said: (await request.json()).messages[0].content });", "Where is it?"),
        ("app/routes/api.chat.js", REMIX, "remix Where is it?"),
    ],
)  # fmt: skip
def test_a_file_is_a_route_by_where_it_stands(
    tmp_path: Path, path: str, text: str, said: str
) -> None:
    world = world_of(tmp_path)
    world.write("package.json", '{"type": "module"}')
    world.write("src/lib/voice.js", "export const shout = (text) => text.toUpperCase();\n")
    world.write(path.replace(".mjs", ".js"), text)
    agent = bridged_agent("node", path.replace(".mjs", ".js"))
    given = answered(world, agent, ask(payload={"prompt": "Where is it?"}))
    assert isinstance(given, Answer), given
    assert given.output == said


@needs_node
def test_a_page_that_fails_says_with_which_status(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.write("package.json", '{"type": "module"}')
    world.write("pages/api/chat.js", PAGE % "res.status(500).json({ error: said });")
    given = answered(world, bridged_agent("node", "pages/api/chat.js"), ask())
    assert not isinstance(given, Answer)
    assert "the route answered with status 500" in str(given)
