"""Who may use the page, and what every response has.

middleware    checks before every request
auth          the token, sessions and failed attempts
login         logging in and out
headers       request headers, read with suspicion; safe response headers
responses     error responses that reveal nothing
"""
