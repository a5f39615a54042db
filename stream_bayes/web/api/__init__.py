"""The HTTP API.

app        the application: routes, static files, error handlers, and the composed security middleware
routes     every route of the API, and the health checks
metrics    Prometheus metrics
"""
