"""Rendering of mails for people: text, never markup, with nothing hidden in it.

summary     subject, sender and preview, one line each
reader      the whole mail as spans of text and links; plain and HTML versions compared
spans       SpanBuilder: bounded spans of text and links
html        HTML to text: tokenizer, text runs, hidden text found by its style
links       the host that a link really leads to
sanitize    invisible and direction-changing characters made visible
"""
