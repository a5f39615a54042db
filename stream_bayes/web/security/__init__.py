"""Who may use the page, and what every response has.

middleware       ASGI layers before the routes: host, token, CSRF, media type, size and concurrency checks
auth             the token, session cookie, CSRF token, allowed hosts and failed attempts
login            the login page, and the routes to log in and out
http_messages    the head of a request, security headers, error responses
"""
