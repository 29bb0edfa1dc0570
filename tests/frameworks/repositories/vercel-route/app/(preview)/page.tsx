"use client";

export default function Page() {
  return <form action="/api/chat" method="post" />;
}
