"use client";

import { useState } from "react";

export default function Page() {
  const [reply, setReply] = useState("");
  const ask = async (message: string) => {
    const response = await fetch("/chat", { method: "POST", body: JSON.stringify({ message }) });
    setReply((await response.json()).reply);
  };
  return <input aria-label={reply} onBlur={(event) => ask(event.target.value)} />;
}
