"""Parsing of raw mails.

parsed_mail   ParsedMail: a mail that is parsed once, with its header fields, MIME parts and decoded sections
mime          MIME parts: types, file names, texts and inner parts
dates         dates of a mail: of the server that received it, and of its Date field
identity      message digest: what identifies a mail wherever it is stored
"""
