"""A proxy that signs every prompt. Try it: portico exec --proxy signature "Hello".

In Portico's settings: {"proxies": {"signature": {"command": "python3", "args": ["/path/to/proxy.py"]}}}
"""

import json

from portico.proxy import Message, Proxy, run


class Signature(Proxy):
    name = "signature"
    client_methods = frozenset({"session/prompt"})

    def from_client(self, message: Message) -> None:
        params = json.loads(bytes(message.params))
        params["prompt"].append({"type": "text", "text": "Signed, the user."})
        self.forward_right(message.with_params(params))


if __name__ == "__main__":
    run(Signature())
