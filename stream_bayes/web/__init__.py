"""The web page: people label what the worker requests, and operators see the state of the worker.

The page reads the log and the newest checkpoints, and writes nothing but labels.

api                  the ASGI application, its routes and metrics
services             what the routes call: labelling, predictions, posteriors, writing to the log
readmodel            the state of the page, built from the log
security             authentication, login, middleware and security headers
schemas              JSON bodies of requests and responses
static               the page itself: HTML, CSS and JavaScript
server               uvicorn with a listening socket, limits and log output
graceful_shutdown    ends event streams on shutdown
"""
