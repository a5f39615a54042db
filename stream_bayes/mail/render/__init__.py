"""What people are shown of a mail: text, never markup, with nothing hidden in it.

summary         subject, sender and preview
reader          the whole mail as spans of text and links
alternatives    whether the plain and the HTML version of a mail say the same
spans           bounded pieces of text and links
html            HTML to text, without what its styles hide
html_tokens     HTML as tags and texts, as browsers tokenize it
links           the host a link really leads to
sanitize        invisible and direction-changing characters made visible
"""
