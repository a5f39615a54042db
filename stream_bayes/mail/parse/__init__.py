"""Parsing of mails, whatever their bytes are, in bounded time.

parts       MIME parts, decoded texts and header fields
identity    message digest and Message-ID; imports no kernels
"""
