"""Mail: from raw bytes to features, to a spam probability, and to text that is safe to show.

parse       ParsedMail: header fields, MIME parts and texts; message digest
features    batches of hashed features for the kernels, and features by name
filter      SpamFilter and its explanation
render      HTML to text, preview, and the whole mail as safe text
"""
