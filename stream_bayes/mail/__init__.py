"""Mail: from raw bytes to features, to a spam probability, and to text that is safe to show.

parse       the parts of a mail, their texts and header fields, and its identity
features    batches of hashed features for the kernels, and features by name
filter      SpamFilter and its explanation
render      what people are shown of a mail: plain text, links, summaries
"""
