import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import app


class Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"{os.environ['APP_TITLE']}\n{app.page()}\n".encode())


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Pages).serve_forever()
