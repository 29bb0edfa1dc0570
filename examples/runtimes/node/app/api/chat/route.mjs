// A parcel desk behind a route, as a chat page asks it. It has never heard of Gateval.
const PARCELS = { "P-1001": "in Lyon" };

export async function POST(request) {
  const { messages } = await request.json();
  const question = messages.at(-1).parts.map((part) => part.text).join("");
  const number = /P-\d+/.exec(question)?.[0];
  if (!number) return new Response("Which number does your parcel have?");
  return new Response(`Your parcel ${number} is ${PARCELS[number] ?? "not known here"}.`);
}
