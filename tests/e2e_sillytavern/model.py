"""A model that answers at once, or when it is told to, and remembers every prompt it was given."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Model:
    """The part of an OpenAI-compatible service that SillyTavern speaks to."""

    def __init__(self) -> None:
        """Listen on a free port of this machine."""
        self.prompts: list[str] = []
        self._may_answer = threading.Event()
        self._may_answer.set()
        model = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                self._answer({"object": "list", "data": [{"id": "mock", "object": "model"}]})

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
                self._answer(model._reply(asked))

            def _answer(self, value: dict[str, Any]) -> None:
                body = json.dumps(value).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Where SillyTavern finds it."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def last_prompt(self) -> str:
        """Everything the model was told the last time."""
        return self.prompts[-1]

    def hold(self) -> None:
        """Let whoever asks wait."""
        self._may_answer.clear()

    def release(self) -> None:
        """Answer everybody."""
        self._may_answer.set()

    def stop(self) -> None:
        """Close the port."""
        self.release()
        self._server.shutdown()
        self._server.server_close()

    def _reply(self, asked: dict[str, Any]) -> dict[str, Any]:
        messages = [str(message.get("content")) for message in asked.get("messages", [])]
        self.prompts.append("\n".join(messages))
        number = len(self.prompts)
        self._may_answer.wait(60)
        message = {"role": "assistant", "content": f"Answer {number}."}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        return {"id": f"answer-{number}", "object": "chat.completion", "model": "mock", "choices": [choice]}
